"""`loopwright research`: a question, researched in cycles; a report whose statements name their sources."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from loopwright._dataclasses import replace
from loopwright.errors import UsageError

from .answer_writer import show_answer
from .ask import _check, _model
from .conduct import conduct
from .exit_codes import exit_code
from .journals import journal_place
from .past import labels
from .report import error_line, result_json, show_ending, show_words
from .screen import Screen, Style
from .show import Watcher
from .task_agent import located
from .text import clean, one_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from loopwright.research import ResearchResult

__all__ = ["research"]

_FORMS = {".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html", ".json": "json"}


def research(arguments: argparse.Namespace, past: Callable[[Any, Any, Any], Any] | None = None) -> int:
    """Researches a question, or goes on with a research that has a `past`; gives the exit code."""
    from loopwright.research import _BUDGET, Research

    screen = Screen(quiet=arguments.quiet, bare=arguments.json)
    _check_places(arguments)
    form = _form(arguments.out)
    limits = {"research_cycles": arguments.cycles, "wall_time": arguments.max_time}
    model = _model(arguments, screen)
    runner = Research(
        located(model, arguments.base_url),
        search=[*_folders(arguments.folders), *_providers(arguments.search)],
        style=arguments.style,
        budget=replace(_BUDGET, **{name: limit for name, limit in limits.items() if limit is not None}),
        journal=journal_place(arguments.journal, screen, wanted=not arguments.no_journal),
    )
    about = labels(arguments, model=model, folders=[str(Path(folder).absolute()) for folder in arguments.folders])
    runner.about(about)
    watcher = Watcher(screen, drafts=True)

    def go(stop: Any) -> ResearchResult:
        if past is not None:
            result: ResearchResult = past(runner, watcher, stop)
            return result
        return runner.run_sync(arguments.question, on_event=watcher, signal=stop)

    told, failure = conduct(screen, go)
    result = cast("ResearchResult", told)
    code = exit_code(result.stop_reason, failure)
    if arguments.out is not None and result.report:
        _write(arguments.out, result, form)
        screen.note(f"report: {one_line(arguments.out)}", style=Style.DIM)
    if arguments.json:
        screen.answer(result_json(result, failure, report=result.report))
    elif result.final is not None:
        screen.gap()
        show_answer(screen, clean(result.final))
    elif result.best_draft:
        screen.note("What there was when it ended:")
        screen.note(clean(result.best_draft), style=Style.DIM)
    if failure is not None:
        screen.say(error_line(failure), style=Style.RED)
    show_words(result, screen, failure)
    show_ending(result, screen)
    return code


def _write(path: str, result: ResearchResult, form: str) -> None:
    text = {"markdown": result.markdown, "html": result.html, "json": result.json}[form]
    try:
        Path(path).write_text(text, "utf-8")
    except OSError as error:
        message = f"the report can't be written to {one_line(path)!r}: {error.strerror or error}"
        raise UsageError(message, "output", "give the path of a file that can be written") from error


def _form(out: str | None) -> str:
    form = _FORMS.get(Path(out).suffix.lower()) if out is not None else "markdown"
    if form is None:
        message = f"the ending of {one_line(out or '')!r} says nothing of its form"
        raise UsageError(message, "invalid_option", "use .md, .html or .json")
    return form


def _check_places(arguments: argparse.Namespace) -> None:
    for folder in arguments.folders:
        _check(folder)
    if not arguments.folders and not arguments.search:
        message = "research needs something to search"
        raise UsageError(message, "no_search", "add --in FOLDER, or --search PROVIDER")


def _folders(folders: list[str]) -> list[Any]:
    from loopwright._corpus import corpus_of

    return [corpus_of(folder) for folder in folders]


def _providers(names: list[str]) -> list[Any]:
    if not names:
        return []
    from loopwright import search

    found: list[Any] = []
    for name in names:
        kind, _, rest = name.partition(":")
        if kind == "searxng":
            found.append(search.SearXNG(rest or None))
        elif name == "brave":
            found.append(search.Brave())
        elif name == "tavily":
            found.append(search.Tavily())
        elif kind in ("anthropic", "openai", "openai-responses") and rest:
            found.append(search.ProviderSearch(name))
        else:
            message = f"there is no search engine {one_line(name)!r:.100}"
            raise UsageError(
                message,
                "invalid_option",
                "use searxng:URL, brave, tavily, or a model whose provider searches, like anthropic:NAME",
            )
    return found
