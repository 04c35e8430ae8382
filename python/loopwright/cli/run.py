"""`loopwright run`: a task, a model, and the built-in tools in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopwright._run_options import varied

from .answer_writer import show_answer
from .conduct import conduct
from .exit_codes import exit_code
from .past import labels
from .report import error_line, result_json, show_ending, show_words
from .screen import Screen, Style
from .show import Watcher
from .task_agent import task_agent
from .text import clean

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from loopwright import Result

__all__ = ["run"]


def run(arguments: argparse.Namespace, past: Callable[[Any, Any, Any], Result[Any]] | None = None) -> int:
    """Runs a task, or goes on with one that has a `past`; gives the exit code."""
    screen = Screen(quiet=arguments.quiet, bare=arguments.json)
    agent, settled, _ = task_agent(arguments, screen)
    agent = varied(agent, {"metadata": labels(arguments, **settled)})
    watcher = Watcher(screen, tools=agent.tools.names)

    def go(stop: Any) -> Result[Any]:
        if past is not None:
            return past(agent, watcher, stop)
        result: Result[Any] = agent.run_sync(arguments.task, on_event=watcher, signal=stop)
        return result

    result, failure = conduct(screen, go)
    code = exit_code(result.stop_reason, failure)
    if arguments.json:
        screen.answer(result_json(result, failure))
    elif result.final is not None:
        if not watcher.has_shown(result.final):
            screen.gap()
            show_answer(screen, clean(result.final))
    elif result.best_draft and not watcher.has_shown(result.best_draft):
        screen.note("There is no final answer. What was said last:")
        screen.note(clean(result.best_draft))
    if failure is not None:
        screen.say(error_line(failure), style=Style.RED)
    show_words(result, screen, failure)
    show_ending(result, screen)
    return code
