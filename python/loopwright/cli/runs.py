"""`loopwright runs`: the runs of a store, the newest first; and runs of a Postgres from any machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright._journal_paths import is_store, project_store
from loopwright._urls import is_url
from loopwright.errors import UsageError
from loopwright.guard import redact, redact_json

from .exit_codes import OK
from .screen import Screen, Style
from .text import clean, fit, one_line

if TYPE_CHECKING:
    import argparse

    from loopwright import Journal
    from loopwright.journal import RunInfo

__all__ = ["runs"]

_NAME = 16


def runs(arguments: argparse.Namespace) -> int:
    """Lists the runs of a store, or sees to one of a Postgres; gives the exit code."""
    if arguments.view != "list":
        return _VIEWS[arguments.view](arguments)
    from loopwright import Journal

    place = arguments.journal if arguments.journal is not None else project_store()
    if not is_store(place) and Path(place).is_dir():
        message = f"{place!r} is a folder; each of its files is the journal of one run"
        raise UsageError(message, "journal_not_found", "give a store: a path that ends in .db")
    if arguments.journal is not None and not is_url(place) and not Path(place).exists():
        message = f"there is no store {place!r}"
        raise UsageError(message, "journal_not_found", "give the path of a store that runs wrote to")
    screen = Screen(bare=arguments.json)
    journal = Journal(place)
    place, found = journal.path, journal.runs()
    if arguments.json:
        screen.answer(json.dumps({"store": place, "runs": [_json(run) for run in found]}))
        return OK
    if not found:
        screen.say(f"{one_line(place)} holds no run")
    for run in found:
        line = _line(run)
        screen.answer(fit(line, screen.columns) if screen.out_is_live else line, style=_STYLES.get(run.state))
    return OK


def _start(arguments: argparse.Namespace) -> int:
    journal, prompt = _of(arguments, "what the run is to do")
    name = journal.start(prompt, run_id=arguments.run_id, queue=arguments.queue)
    _say(arguments, {"run": name}, name)
    return OK


def _cancel(arguments: argparse.Namespace) -> int:
    journal, run = _of(arguments, "the name of a run")
    journal.cancel(run)
    _say(arguments, {"run": run, "cancelled": True}, f"{run} is cancelled")
    return OK


def _show(arguments: argparse.Namespace) -> int:
    """What is known of a run, and what it waits for."""
    journal, start = _of(arguments, "the name of a run")
    name = journal.find(start)
    run = next(each for each in journal.runs() if each.id == name)
    asked = journal.pending(name) if is_url(journal.path) else []
    waits = [{"call": each.call_id, "name": each.name, "arguments": each.arguments, "why": each.why} for each in asked]
    lines = [_line(run), *(f"waits: {one_line(each.call_id)}  {redact(clean(each.shown))}" for each in asked)]
    _say(arguments, {**_json(run), "waits": json.loads(redact_json(json.dumps(waits)))}, "\n".join(lines))
    return OK


def _answer(arguments: argparse.Namespace) -> int:
    journal, run = _of(arguments, "the name of a run")
    asked = [each.call_id for each in journal.pending(run)]
    call = arguments.call if arguments.call is not None or len(asked) != 1 else asked[0]
    if call is None or arguments.words is None:
        message = f"the run {run!r} waits for an answer to {', '.join(asked) or 'nothing'}"
        raise UsageError(message, "no_such_call", "loopwright runs answer RUN yes|no|REASON --call ID")
    said = {"yes": True, "no": False}.get(arguments.words, arguments.words)
    journal.answer(run, {call: said})
    _say(arguments, {"run": run, "call": call}, f"{run} is answered")
    return OK


_VIEWS = {"start": _start, "show": _show, "answer": _answer, "cancel": _cancel}


def _of(arguments: argparse.Namespace, wanted: str) -> tuple[Journal, str]:
    from loopwright import Journal

    if arguments.what is None:
        message = f"runs {arguments.view} wants {wanted}"
        raise UsageError(message, "invalid_option", f"loopwright runs {arguments.view} …")
    return Journal(arguments.journal if arguments.journal is not None else project_store()), arguments.what


def _say(arguments: argparse.Namespace, told: dict[str, Any], words: str) -> None:
    Screen(bare=arguments.json).answer(json.dumps(told) if arguments.json else words)


_STYLES = {"running": Style.BOLD, "waiting": Style.BOLD, "broken off": Style.RED, "failed": Style.RED}


def _line(run: RunInfo) -> str:
    when = run.begun.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    state = run.state if run.stop_reason is None else f"{run.state} ({run.stop_reason})"
    cost = "" if run.cost is None else f"  {run.cost:.4f}"
    return f"{run.id:{_NAME}}  {when}  {state}{cost}  {one_line(run.model)}  {_prompt(run)}"


def _prompt(run: RunInfo) -> str:
    return redact(one_line(clean(run.prompt)))


def _json(run: RunInfo) -> dict[str, Any]:
    return {
        "run": run.id,
        "begun": run.begun.isoformat(),
        "ended": None if run.ended is None else run.ended.isoformat(),
        "model": run.model,
        "prompt": redact(run.prompt),
        "state": run.state,
        "stop_reason": run.stop_reason,
        "cost": run.cost,
        "tokens": run.tokens,
        "events": run.events,
    }
