"""`loopwright resume`, `answer`, `fork` and `diff`: runs that have a journal already."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright.errors import UsageError
from loopwright.guard import redact, redact_json

from .exit_codes import DIVERGED, OK
from .journals import found
from .screen import Screen, Style
from .text import clean, fit, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from loopwright import Result
    from loopwright._journal_paths import JournalPath

__all__ = ["answer", "diff", "fork", "kept_arguments", "labels", "resume"]

_OF_WORK = (
    "model",
    "base_url",
    "workspace",
    "no_shell",
    "system",
    "max_rounds",
    "max_time",
    "policy",
    "cautious",
    "memory",
)
_KEPT = {
    "run": _OF_WORK,
    "chat": _OF_WORK,
    "research": ("model", "base_url", "folders", "search", "style", "cycles", "max_time"),
    "ask": ("model", "base_url", "folders", "profile", "attempts", "max_time"),
}
_LONGEST = 2_000


def labels(arguments: argparse.Namespace, **settled: Any) -> dict[str, Any]:
    """What a journal keeps, so that its run can be started again: never a key."""
    kept = {name: getattr(arguments, name) for name in _KEPT[arguments.command]}
    return {"command": arguments.command, "arguments": {**kept, **settled}}


def kept_arguments(told: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that `labels` kept in a journal; `None` for those it has not."""
    return {name: told["arguments"].get(name) for name in _KEPT[told["command"]]}


def resume(arguments: argparse.Namespace) -> int:
    """Goes on with a run that broke off; gives the exit code."""
    place = found(arguments.run, arguments.journal)

    def go_on(agent: Any, on_event: Any, signal: Any) -> Result[Any]:
        result: Result[Any] = agent.resume_sync(
            place.path, run=place.run, on_divergence=arguments.on_divergence, on_event=on_event, signal=signal
        )
        return result

    return _again(arguments, place, go_on)


def answer(arguments: argparse.Namespace) -> int:
    """Goes on with a run that has ended, as a new one that is given the answer; gives the exit code."""
    from loopwright import Research

    place = found(arguments.run, arguments.journal)

    def go_on(agent: Any, on_event: Any, signal: Any) -> Result[Any]:
        if isinstance(agent, Research):
            message = f"the run {place.name} is a research, which asks nothing"
            raise UsageError(message, "no_question", 'ask anew, with `loopwright research "…"`')
        result: Result[Any] = agent.resume_sync(
            place.path, run=place.run, answer=arguments.answer, on_event=on_event, signal=signal
        )
        return result

    return _again(arguments, place, go_on)


def fork(arguments: argparse.Namespace) -> int:
    """Starts a run that begins as another one did; gives the exit code."""
    place = found(arguments.run, arguments.journal)
    at, prompt, given = arguments.at, arguments.prompt, arguments.result

    def go_on(agent: Any, on_event: Any, signal: Any) -> Result[Any]:
        result: Result[Any] = agent.fork_sync(
            place.path, at, run=place.run, prompt=prompt, tool_result=given, on_event=on_event, signal=signal
        )
        return result

    return _again(arguments, place, go_on)


def _again(arguments: argparse.Namespace, place: JournalPath, go_on: Callable[[Any, Any, Any], Result[Any]]) -> int:
    """Makes the agent that the journal speaks of, and lets it go on."""
    from loopwright import _core

    about = _core.journal_head(place.head())[1]
    told = json.loads(about) if about else {}
    command = told.get("command") if isinstance(told, dict) else None
    if command not in _KEPT or not isinstance(told.get("arguments"), dict):
        message = f"the journal {place.name} was not written by `loopwright run`, `chat`, `ask` or `research`"
        hint = "make its agent in Python, and call agent.resume(path) or agent.fork(path, at)"
        raise UsageError(message, "unknown_agent", hint)
    kept = kept_arguments(told)
    if getattr(arguments, "model", None):
        kept["model"], kept["base_url"] = arguments.model, arguments.base_url
    elif arguments.base_url:
        kept["base_url"] = arguments.base_url
    common = {name: getattr(arguments, name) for name in ("journal", "json", "quiet")}
    given = argparse.Namespace(command=command, task="", question="", trace=False, no_journal=False, **kept, **common)
    if command in ("run", "chat"):
        from .run import run

        return run(given, go_on)
    if command == "research":
        from .research import research

        given.out = None
        return research(given, go_on)
    from .ask import ask

    return ask(given, go_on)


def diff(arguments: argparse.Namespace) -> int:
    """Shows where two runs part; gives the exit code."""
    from loopwright import journal

    screen = Screen(bare=arguments.json)
    left, right = (found(name, arguments.journal) for name in (arguments.left, arguments.right))
    parting = journal.diff(left.path or "", right.path or "", left_run=left.run, right_run=right.run)
    if arguments.json:
        told = None if parting is None else {name: getattr(parting, name) for name in ("seq", "what", "left", "right")}
        screen.answer(redact_json(json.dumps({"identical": parting is None, "parting": told})))
    elif parting is None:
        screen.answer("the same events, and the same commands", style=Style.BOLD)
    else:
        where = "They are made of other things" if parting.what == "machine" else f"They part at event {parting.seq}"
        what = {"event": "what happened", "commands": "what was decided", "end": "one has ended"}.get(parting.what)
        screen.answer(where + (f": {what}" if what else ""), style=Style.BOLD)
        for name, side in ((left, parting.left), (right, parting.right)):
            called = one_line(name.run or Path(name.path or "").stem)
            screen.answer(f"  {called}: {fit(redact(clean(side or 'nothing')), _LONGEST)}")
    return OK if parting is None else DIVERGED
