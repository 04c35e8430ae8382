"""`loopwright ask`: an answer from the files of a folder; each statement names its source and is checked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright.errors import UsageError

from .answer_writer import show_answer
from .conduct import conduct
from .exit_codes import exit_code
from .journals import journal_place
from .past import labels
from .report import error_line, result_json, show_ending, show_words
from .screen import Screen, Style
from .show import Watcher
from .sources import show_sources
from .task_agent import located, named_model
from .text import clean, one_line, wrap
from .trace import show_trace, trace_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from loopwright import LoopwrightError, Result

__all__ = ["ask"]

_OFFLINE = "offline:extractive"
_KEYS = {"ANTHROPIC_API_KEY": "anthropic", "OPENAI_API_KEY": "openai", "OPENROUTER_API_KEY": "openrouter"}


def ask(arguments: argparse.Namespace, past: Callable[[Any, Any, Any], Result[Any]] | None = None) -> int:
    """Answers a question, or goes on with an answer that has a `past`; gives the exit code."""
    from loopwright import Budget
    from loopwright.grounded import Grounded

    screen = Screen(quiet=arguments.quiet, bare=arguments.json)
    for folder in arguments.folders:
        _check(folder)
    limits = {"verify_attempts": arguments.attempts, "wall_time": arguments.max_time}
    model = _model(arguments, screen)
    grounded = Grounded(
        located(model, arguments.base_url),
        sources=arguments.folders,
        profile=arguments.profile,
        gather="wide",
        budget=Budget(**{name: limit for name, limit in limits.items() if limit is not None}),
        journal=journal_place(arguments.journal, screen, wanted=not arguments.no_journal),
    )
    about = labels(arguments, model=model, folders=[str(Path(folder).absolute()) for folder in arguments.folders])
    grounded.about(about)
    watcher = Watcher(screen, drafts=True)

    def go(stop: Any) -> Result[Any]:
        if past is not None:
            return past(grounded, watcher, stop)
        return grounded.run_sync(arguments.question, on_event=watcher, signal=stop)

    result, failure = conduct(screen, go)
    code = exit_code(result.stop_reason, failure)
    if arguments.json:
        screen.answer(result_json(result, failure, trace=trace_of(watcher.trace)))
    else:
        _show(result, screen, failure, arguments.profile)
        if arguments.trace:
            show_trace(result, watcher.trace, screen)
    if failure is not None:
        screen.say(error_line(failure), style=Style.RED)
    if arguments.json or not arguments.trace:
        show_ending(result, screen)
    return code


def _model(arguments: argparse.Namespace, screen: Screen) -> str:
    """The model that was named, here or in the environment; otherwise the one that needs nothing."""
    named = named_model(arguments)
    if named is not None:
        return named
    if arguments.base_url:
        message = "--base-url needs a model to ask there"
        raise UsageError(message, "no_model", "add --model PROVIDER:NAME, or set LOOPWRIGHT_MODEL")
    _suggest(screen, os.environ)
    return _OFFLINE


def _show(result: Result[Any], screen: Screen, failure: LoopwrightError | None, profile: str) -> None:
    screen.gap()
    if result.final is not None:
        if profile == "markdown":
            show_answer(screen, clean(result.final))
        else:
            text = clean(result.final)
            screen.answer(wrap(text, screen.columns) if screen.out_is_live else text)
        show_sources(result, screen)
    show_words(result, screen, failure)
    if result.final is not None:
        return
    if result.best_draft:
        # Never on stdout: whoever reads that takes it for an answer.
        screen.note("The best draft, which is not verified:")
        screen.note(clean(result.best_draft), style=Style.DIM)


def _check(folder: str) -> None:
    if not Path(folder).exists():
        message = f"there is no folder {one_line(folder)!r}"
        raise UsageError(message, "no_folder", "give --in the path of a folder with text files")


def _suggest(screen: Screen, env: Mapping[str, str]) -> None:
    """Says once how a model can be had. None is ever taken because a key happens to be there."""
    for key, provider in _KEYS.items():
        if env.get(key, "").strip():
            screen.note(f"{key} is set; no model is used unless you name one: --model {provider}:NAME", style=Style.DIM)
            return
    if env.get("OLLAMA_HOST", "").strip():
        screen.note("OLLAMA_HOST is set; to ask a local model, add --model ollama:NAME", style=Style.DIM)
