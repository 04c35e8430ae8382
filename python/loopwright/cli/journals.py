"""Where the journals of runs go: a place that was named, or the project's store if it can be written to."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright._journal_paths import is_store, locate_journal, project_store
from loopwright._plan import unwritten
from loopwright._urls import is_url
from loopwright.errors import UsageError

from .text import one_line

if TYPE_CHECKING:
    from loopwright import Result
    from loopwright._journal_paths import JournalPath

    from .screen import Screen

__all__ = ["found", "journal_of", "journal_place"]

_HOME = Path(".loopwright")


def journal_place(named: str | None, screen: Screen, *, wanted: bool) -> str | None:
    """The store, the folder or the file for the journal of a run, what holds it made if it is missing; `None` for no
    journal.
    """
    if not wanted:
        return None
    place = project_store() if named is None else named
    if is_url(place):
        return place
    folder = Path(place).parent if is_store(place) or place.endswith(".jsonl") else Path(place)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        if named is None and folder == _HOME:
            _keep_private()
    except OSError as error:
        reason = error.strerror or str(error)
        if named is not None:
            message = f"no journal can be written to {named!r}: {reason}"
            raise UsageError(message, unwritten(error), "give another place, or --no-journal") from error
        screen.say(f"warning: no journal, for {one_line(str(folder))} can't be written to: {reason}")
        return None
    return place


def journal_of(result: Result[Any]) -> str | None:
    """Where the journal of a run is, for people."""
    if result.journal is None or "\n" in result.journal:
        return None
    return one_line(f"{result.journal}, run {result.run_id}" if is_store(result.journal) else result.journal)


def found(named: str, place: str | None) -> JournalPath:
    """The journal that is given as a path, or as the name of a run or the beginning of one."""
    if is_url(where := place if place is not None else project_store()) and not Path(named).is_file():
        return locate_journal(where, named)
    if place is None or Path(named).is_file():
        there = locate_journal(named)
        if there.run is not None or Path(there.path or "").is_file():
            return there
    elif Path(place).exists():
        return locate_journal(place, named)
    message = f"there is no journal {named!r}, and no run of that name in {where!r}"
    raise UsageError(message, "journal_not_found", "give the path of a journal, or --journal PLACE")


def _keep_private() -> None:
    """Journals hold all that was said and read; they do not belong in a repository."""
    marker = _HOME / ".gitignore"
    if not marker.exists():
        marker.write_text("*\n", encoding="utf-8")
