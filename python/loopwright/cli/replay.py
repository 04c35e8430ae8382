"""`loopwright replay`: feeds a journal to a new machine and says whether it gave the same commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from loopwright._dataclasses import asdict
from loopwright.errors import LoopwrightError
from loopwright.guard import redact, redact_json

from . import journals
from .exit_codes import DIVERGED, OK, UNREADABLE
from .report import error_line, failure_json
from .screen import Screen, Style
from .text import clean, fit, one_line, plural, seconds

if TYPE_CHECKING:
    import argparse

    from loopwright.journal import Replay, RoundTrace

__all__ = ["replay"]

_LONGEST = 2_000


def replay(arguments: argparse.Namespace) -> int:
    """Replays a journal; gives the exit code."""
    from loopwright import journal

    screen = Screen(bare=arguments.json)
    rounds: list[RoundTrace] = []
    try:
        place = journals.found(arguments.file, arguments.journal)
        found = journal.replay(place.path or "", place.run)
        if arguments.trace:
            rounds = journal.trace(place.path or "", place.run)
    except LoopwrightError as error:
        if arguments.json:
            screen.answer(failure_json(error, UNREADABLE))
        screen.say(error_line(error), style=Style.RED)
        return UNREADABLE
    code = UNREADABLE if found.damage else OK if found.identical else DIVERGED
    if arguments.json:
        traced = [asdict(each) for each in rounds] if arguments.trace else None
        drifts = _drifts(found) if arguments.drift else None
        steps = arguments.steps or arguments.commands
        screen.answer(_json(found, code, steps=steps, trace=traced, drifts=drifts))
    elif arguments.commands:
        for step in found.steps:
            for command in step:
                screen.answer(redact_json(command))
    else:
        _tell(found, screen, steps=arguments.steps)
        _tell_more(rounds, _drifts(found) if arguments.drift else None, screen)
    if not found.identical and arguments.commands:
        screen.say("The replay gave other commands than the journal.", style=Style.RED)
    return code


def _tell_round(found: RoundTrace, screen: Screen) -> None:
    """One round of the trace."""

    def row(name: str, text: str) -> None:
        screen.answer(fit(f"  {name:<10}{redact(one_line(text))}", max(screen.columns, 100)))

    where = f"round {found.round}" + (f" of machine {found.machine}" if found.machine else "")
    screen.answer("")
    how = f"{seconds(found.duration)}, {plural(found.attempts, 'attempt')}, {found.emission}"
    screen.answer(fit(one_line(f"{where}: {found.model}, {how}"), max(screen.columns, 100)), style=Style.BOLD)
    tools = ", ".join(found.tools) or "no tools"
    row("asked", f"{plural(found.messages, 'message')}; {tools}")
    usage = f"{found.usage.get('input', 0):,} tokens in, {found.usage.get('output', 0):,} out"
    thought = f", {plural(found.reasoning, 'character')} of reasoning" if found.reasoning else ""
    row("answered", f"{plural(found.text, 'character')}{thought}, {usage}, {found.stop or 'no end'}")
    if found.decision:
        row("decided", f"{found.decision} by {found.rule}: {found.saw}")
    for call in found.calls:
        how = "text " if call.written else ""
        ended = {None: "no result", True: "failed", False: "gave"}[call.is_error]
        row(
            f"{how}call",
            f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)} [{call.verdict or 'not judged'}]",
        )
        row("", f"{ended} {plural(call.length, 'character')} in {seconds(call.duration)}: {call.excerpt}")
    for line in (*found.hooks, *found.notes):
        row("note", line)


def _drifts(found: Replay) -> list[dict[str, Any]]:
    """When the conversation left its goal and came back, with the number of the event."""
    drifts = []
    for number, step in enumerate(found.steps, start=1):
        for command in step:
            if '"goal_drifted"' not in command:
                continue
            notice = json.loads(command).get("emit", {}).get("notice", {})
            while notice.get("type") == "child":
                notice = notice["told"]
            if notice.get("type") == "goal_drifted":
                drifts.append({"event": number, **{key: value for key, value in notice.items() if key != "type"}})
    return drifts


def _tell_more(rounds: list[RoundTrace], drifts: list[dict[str, Any]] | None, screen: Screen) -> None:
    for each in rounds:
        _tell_round(each, screen)
    if drifts is not None:
        _tell_drift(drifts, screen)


def _tell_drift(drifts: list[dict[str, Any]], screen: Screen) -> None:
    if not drifts:
        screen.answer("The conversation kept to its goal.")
    for drift in drifts:
        goal = fit(redact(one_line(str(drift["goal"]))), _LONGEST)
        what = "left its goal" if drift["state"] == "drifted" else "is back at its goal"
        measured = f"{drift['anchor']:.2f} from it, {drift['step']:.2f} from what was said before"
        screen.answer(f"event {drift['event']}: the conversation {what} “{goal}” ({measured})")


def _json(found: Replay, code: int, *, steps: bool, trace: Any = None, drifts: Any = None) -> str:
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
    if trace is not None:
        told["trace"] = trace
    if drifts is not None:
        told["drifts"] = drifts
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
