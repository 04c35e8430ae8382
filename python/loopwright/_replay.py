"""Replaying journals: the same events, fed to a new machine, must give the same commands."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from .errors import UsageError
from .result import Messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .guard import Policy

__all__ = ["Diff", "Replay", "diff", "journal_text", "naming", "replay"]


@dataclass(frozen=True)
class Replay:
    """What a replay gave. `identical` says whether all commands were the same, bit for bit."""

    run: str
    events: int
    commands: int
    divergence: dict[str, Any] | None
    """The first difference: `seq` of the event, place of the `command`, `expected` and `got`."""
    outcome: dict[str, Any] | None
    """How the run ended, if it did."""
    truncated: bool
    """Whether the last line was cut, as after a crash."""
    damage: dict[str, Any] | None
    """The first `line` that is not as it was written, and `why`; what stands before it counts."""
    messages: Messages
    steps: list[list[str]]
    """The commands of each event, as the journal holds them."""

    @property
    def identical(self) -> bool:
        """Whether the journal is whole as far as it goes, and the replay gave its very commands."""
        return self.divergence is None and self.damage is None


def replay(journal: str | os.PathLike[str], *, policy: Policy | None = None) -> Replay:
    """Replays a journal: a path, or its lines as text.

    A run replays with the policy it ran with, which stands in its journal; a journal whose policy was changed is an
    error. With `policy`, so is one whose run went by another.
    """
    with naming(journal):
        found, messages, steps = _core.replay(journal_text(journal), None if policy is None else policy.digest)
    return Replay(
        run=found["run"],
        events=found["events"],
        commands=found["commands"],
        divergence=found["divergence"],
        outcome=found["outcome"],
        truncated=found["truncated"],
        damage=found["damage"],
        messages=Messages(messages),
        steps=steps,
    )


@dataclass(frozen=True)
class Diff:
    """Where two runs part. `seq` is the number of the first event that differs, 0 if only their configuration does."""

    seq: int
    what: str
    """`event`, `commands`, `machine`, or `end` where one has no further events."""
    left: str | None
    """What the one has there, as JSON."""
    right: str | None
    """What the other has there, as JSON."""


def diff(left: str | os.PathLike[str], right: str | os.PathLike[str]) -> Diff | None:
    """The first difference of two journals (paths, or their lines as text), times aside; `None` if there is none."""
    with naming(left):
        _core.journal_head(journal_text(left))
    with naming(right):
        found = _core.compare_journals(journal_text(left), journal_text(right))
    return None if found is None else Diff(**found)


@contextlib.contextmanager
def naming(journal: str | os.PathLike[str]) -> Iterator[None]:
    """Says in errors about what a journal holds which file it is."""
    try:
        yield
    except UsageError as error:
        named = os.fspath(journal)
        if "\n" in named or repr(named) in error.message:
            raise
        raise UsageError(f"{named!r}: {error.message}", error.code, error.hint) from error


def journal_text(journal: str | os.PathLike[str]) -> str:
    """The lines of a journal that is given as its path or as its lines."""
    if isinstance(journal, str) and "\n" in journal:
        return journal
    return _read(journal)


def _read(path: str | os.PathLike[str]) -> str:
    try:
        # A line may have been cut inside a character; sums tell what is whole.
        return Path(path).read_bytes().decode(errors="replace")
    except OSError as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"the journal {os.fspath(path)!r} can't be read: {reason}"
        raise UsageError(message, "journal_not_found", "give the path of a .jsonl file that a run wrote") from error
