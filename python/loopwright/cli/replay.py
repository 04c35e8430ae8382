"""`loopwright replay`: feeds a journal to a new machine and says whether it gave the same commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from loopwright.errors import LoopwrightError
from loopwright.guard import redact, redact_json

from . import journals
from .exit_codes import DIVERGED, OK, UNREADABLE
from .report import error_line, failure_json
from .screen import Screen, Style
from .text import clean, fit, one_line, plural

if TYPE_CHECKING:
    import argparse

    from loopwright import Replay

__all__ = ["replay"]

_LONGEST = 2_000


def replay(arguments: argparse.Namespace) -> int:
    """Replays a journal; gives the exit code."""
    import loopwright

    screen = Screen(bare=arguments.json)
    try:
        place = journals.found(arguments.file, arguments.journal)
        found = loopwright.replay(place.path or "", place.run)
    except LoopwrightError as error:
        if arguments.json:
            screen.answer(failure_json(error, UNREADABLE))
        screen.say(error_line(error), style=Style.RED)
        return UNREADABLE
    code = UNREADABLE if found.damage else OK if found.identical else DIVERGED
    if arguments.json:
        screen.answer(_json(found, code, steps=arguments.steps or arguments.commands))
    elif arguments.commands:
        for step in found.steps:
            for command in step:
                screen.answer(redact_json(command))
    else:
        _tell(found, screen, steps=arguments.steps)
    if not found.identical and arguments.commands:
        screen.say("The replay gave other commands than the journal.", style=Style.RED)
    return code


def _json(found: Replay, code: int, *, steps: bool) -> str:
    told: dict[str, Any] = {
        "run": found.run,
        "identical": found.identical,
        "exit_code": code,
        "events": found.events,
        "commands": found.commands,
        "divergence": found.divergence,
        "truncated": found.truncated,
        "damage": found.damage,
        "outcome": found.outcome,
    }
    if steps:
        told["steps"] = found.steps
    return redact_json(json.dumps(told))


def _tell(found: Replay, screen: Screen, *, steps: bool) -> None:
    screen.answer(f"run {one_line(found.run)}: {plural(found.events, 'event')}, {plural(found.commands, 'command')}")
    if steps:
        for number, step in enumerate(found.steps, start=1):
            screen.answer(f"  event {number}: {', '.join(_kind(command) for command in step) or 'nothing to do'}")
    if found.truncated:
        screen.answer("The last line is cut off, as after a crash; all before it counts.")
    if found.damage:
        line, why = found.damage["line"], one_line(found.damage["why"])
        screen.answer(f"damaged at line {line}: {why}; only what stands before it counts", style=Style.RED)
    divergence = found.divergence
    if divergence is None and found.damage:
        screen.answer("up to there every command is the same, bit for bit")
    elif divergence is None:
        screen.answer("identical: every command is the same, bit for bit", style=Style.BOLD)
    else:
        screen.answer(f"diverged at event {divergence['seq']}, command {divergence['command'] + 1}", style=Style.RED)
        screen.answer(f"  expected: {_command(divergence.get('expected'))}")
        screen.answer(f"  got:      {_command(divergence.get('got'))}")
    outcome = found.outcome
    if outcome is None:
        screen.answer("The run had not ended.")
        return
    screen.answer(f"It ended with {outcome['stop']} after {plural(outcome['spent']['iterations'], 'request')}.")
    said = outcome["final"] if outcome["final"] is not None else outcome["best_draft"]
    if said:
        screen.answer(f"  “{fit(redact(one_line(said)), screen.columns - 5)}”")


def _command(command: str | None) -> str:
    return "no command" if command is None else fit(redact(clean(command)), _LONGEST)


def _kind(command: str) -> str:
    """What a command is called, in the journal's form."""
    try:
        found = json.loads(command)
    except ValueError:
        return fit(one_line(command), 40)
    if isinstance(found, dict):
        name = found.get("type") or found.get("kind") or next(iter(found), "")
        return one_line(str(name))
    return one_line(str(found))
