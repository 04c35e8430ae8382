"""Where the journals of runs go: a folder that was named, or `.loopwright/runs` here if it can be written to."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from loopwright.errors import UsageError

from .text import one_line

if TYPE_CHECKING:
    from .screen import Screen

__all__ = ["journal_folder"]

_HOME = Path(".loopwright")


def journal_folder(named: str | None, screen: Screen, *, wanted: bool) -> str | None:
    """The folder for the journal of a run, made if it is missing; `None` for no journal."""
    if not wanted:
        return None
    folder = _HOME / "runs" if named is None else Path(named)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        if named is None:
            _keep_private()
    except OSError as error:
        reason = error.strerror or str(error)
        if named is not None:
            message = f"no journal can be written to {named!r}: {reason}"
            raise UsageError(message, "journal", "give another folder, or --no-journal") from error
        screen.say(f"warning: no journal, for {one_line(str(folder))} can't be written to: {reason}")
        return None
    return str(folder)


def _keep_private() -> None:
    """Journals hold all that was said and read; they do not belong in a repository."""
    marker = _HOME / ".gitignore"
    if not marker.exists():
        marker.write_text("*\n", encoding="utf-8")
