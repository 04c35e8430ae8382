"""`loopwright resume`, `fork` and `diff`: runs that have a journal already."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright.errors import UsageError
from loopwright.guard import redact, redact_json

from .exit_codes import DIVERGED, OK
from .screen import Screen, Style
from .text import clean, fit, one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopwright import Result

__all__ = ["diff", "fork", "labels", "resume"]

_KEPT = {
    "run": ("model", "base_url", "workspace", "no_shell", "system", "max_rounds", "max_time", "policy", "cautious"),
    "research": ("model", "base_url", "folders", "search", "style", "cycles", "max_time"),
    "ask": ("model", "base_url", "folders", "profile", "attempts", "max_time"),
}
_LONGEST = 2_000


def labels(arguments: argparse.Namespace, **settled: Any) -> dict[str, Any]:
    """What a journal keeps, so that its run can be started again: never a key."""
    kept = {name: getattr(arguments, name) for name in _KEPT[arguments.command]}
    return {"command": arguments.command, "arguments": {**kept, **settled}}


def resume(arguments: argparse.Namespace) -> int:
    """Goes on with a run that broke off; gives the exit code."""
    path = _find(arguments)

    def go_on(agent: Any, on_event: Any, signal: Any) -> Result[Any]:
        result: Result[Any] = agent.resume_sync(path, on_event=on_event, signal=signal)
        return result

    return _again(arguments, path, go_on)


def fork(arguments: argparse.Namespace) -> int:
    """Starts a run that begins as another one did; gives the exit code."""
    path = _find(arguments)
    at, prompt, given = arguments.at, arguments.prompt, arguments.result

    def go_on(agent: Any, on_event: Any, signal: Any) -> Result[Any]:
        result: Result[Any] = agent.fork_sync(
            path, at, prompt=prompt, tool_result=given, on_event=on_event, signal=signal
        )
        return result

    return _again(arguments, path, go_on)


def _again(arguments: argparse.Namespace, path: str, go_on: Callable[[Any, Any, Any], Result[Any]]) -> int:
    """Makes the agent that the journal speaks of, and lets it go on."""
    from loopwright import _core
    from loopwright._replay import journal_text

    about = _core.journal_head(journal_text(path))[1]
    told = json.loads(about) if about else {}
    command = told.get("command") if isinstance(told, dict) else None
    if command not in _KEPT or not isinstance(told.get("arguments"), dict):
        message = f"the journal {path!r} was not written by `loopwright run` or `ask`"
        hint = "make its agent in Python, and call agent.resume(path) or agent.fork(path, at)"
        raise UsageError(message, "unknown_agent", hint)
    kept = {name: told["arguments"].get(name) for name in _KEPT[command]}
    if getattr(arguments, "model", None):
        kept["model"], kept["base_url"] = arguments.model, arguments.base_url
    common = {name: getattr(arguments, name) for name in ("journal", "json", "quiet")}
    given = argparse.Namespace(command=command, task="", question="", trace=False, no_journal=False, **kept, **common)
    if command == "run":
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
    import loopwright

    screen = Screen(bare=arguments.json)
    left, right = (_found(name, arguments.journal) for name in (arguments.left, arguments.right))
    found = loopwright.diff(left, right)
    if arguments.json:
        told = (
            None if found is None else {"seq": found.seq, "what": found.what, "left": found.left, "right": found.right}
        )
        screen.answer(redact_json(json.dumps({"identical": found is None, "parting": told})))
    elif found is None:
        screen.answer("the same events, and the same commands", style=Style.BOLD)
    else:
        where = "They are made of other things" if found.what == "machine" else f"They part at event {found.seq}"
        what = {"event": "what happened", "commands": "what was decided", "end": "one has ended"}.get(found.what)
        screen.answer(where + (f": {what}" if what else ""), style=Style.BOLD)
        for name, side in ((left, found.left), (right, found.right)):
            screen.answer(f"  {one_line(Path(name).stem)}: {fit(redact(clean(side or 'nothing')), _LONGEST)}")
    return OK if found is None else DIVERGED


def _find(arguments: argparse.Namespace) -> str:
    return _found(arguments.run, arguments.journal)


def _found(named: str, folder: str | None) -> str:
    """The path of a journal that is given as a path or as the name of a run, or the beginning of one."""
    if Path(named).is_file():
        return named
    runs = Path(folder) if folder is not None else Path(".loopwright") / "runs"
    matches = sorted(path for path in runs.glob("*.jsonl") if path.name.startswith(named)) if named else []
    exact = [path for path in matches if path.stem == named]
    if len(exact or matches) == 1:
        return str((exact or matches)[0])
    if matches:
        message = f"{named!r} may be {', '.join(path.stem for path in matches[:5])}"
        raise UsageError(message, "ambiguous_run", "write more of the name")
    message = f"there is no journal {named!r}, and no run of that name in {str(runs)!r}"
    raise UsageError(message, "journal_not_found", "give the path of a .jsonl file, or --journal DIR")
