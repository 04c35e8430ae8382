"""Orphaned turns: the process died after the last event of their run, before they were queued.

A run with a journal is noted down in memory when it begins. Whoever comes next looks into the journals of those whose
process is gone: what has ended is queued, once, and what broke off is left to whoever resumes it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from ._journal_paths import locate_journal
from .errors import LoopwrightError, UsageError

if TYPE_CHECKING:
    from .memory import Memory

__all__ = ["find"]


def find(memory: Memory) -> int:
    """Queues the turns that were lost; gives how many."""
    found = 0
    ended: dict[str, set[str]] = {}
    for lost in json.loads(memory._core.lost_turns()):
        try:
            text = _text(lost, ended)
        except UsageError as error:
            if error.code != "journal_not_found":
                continue
            # Nobody can resume what is not there any more.
            memory._core.settle_turn(json.dumps(lost), None)
            continue
        if text is not None:
            try:
                found += memory._core.settle_turn(json.dumps(lost), text)
            except LoopwrightError:
                # A journal that can't be read is no reason to leave the others.
                continue
    return found


def _text(lost: dict[str, Any], ended: dict[str, set[str]]) -> str | None:
    """The journal of a run, if it has ended: of those that have not, as little as can be is read."""
    path, run = lost["journal"], lost["run"]
    if not Path(path).exists():
        raise UsageError(
            f"there is no journal {path!r}",
            "journal_not_found",
            "nothing can be taken from a run whose journal is gone",
        )
    place = locate_journal(path, run)
    if place.run is not None:
        if path not in ended:
            runs = json.loads(_core.journal_runs(path))
            ended[path] = {one["run"] for one in runs if one["stop"] is not None}
        return place.read() if run in ended[path] else None
    try:
        whole = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path!r} can't be read: {error}", "journal_unreadable", "check who may read the file"
        ) from error
    return whole.decode(errors="replace") if b"finish" in whole else None
