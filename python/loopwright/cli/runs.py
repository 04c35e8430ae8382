"""`loopwright runs`: the runs of a store, the newest first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright._journal_paths import is_store, project_store
from loopwright.errors import UsageError
from loopwright.guard import redact

from .exit_codes import OK
from .screen import Screen, Style
from .text import clean, fit, one_line

if TYPE_CHECKING:
    import argparse

    from loopwright.journal import RunInfo

__all__ = ["runs"]

_NAME = 16


def runs(arguments: argparse.Namespace) -> int:
    """Lists the runs of a store; gives the exit code."""
    from loopwright import Journal

    place = arguments.journal if arguments.journal is not None else project_store()
    if not is_store(place) and Path(place).is_dir():
        message = f"{place!r} is a folder; each of its files is the journal of one run"
        raise UsageError(message, "journal_not_found", "give a store: a path that ends in .db")
    if arguments.journal is not None and not Path(place).exists():
        message = f"there is no store {place!r}"
        raise UsageError(message, "journal_not_found", "give the path of a store that runs wrote to")
    screen = Screen(bare=arguments.json)
    found = Journal(place).runs()
    if arguments.json:
        screen.answer(json.dumps({"store": place, "runs": [_json(run) for run in found]}))
        return OK
    if not found:
        screen.say(f"{one_line(place)} holds no run")
    for run in found:
        when = run.begun.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        state = run.state if run.stop_reason is None else f"{run.state} ({run.stop_reason})"
        cost = "" if run.cost is None else f"  {run.cost:.4f}"
        line = f"{run.id:{_NAME}}  {when}  {state}{cost}  {one_line(run.model)}  {_prompt(run)}"
        screen.answer(fit(line, screen.columns) if screen.out_is_live else line, style=_STYLES.get(run.state))
    return OK


_STYLES = {"running": Style.BOLD, "broken off": Style.RED}


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
