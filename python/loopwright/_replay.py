"""Replaying journals: the same events, fed to a new machine, must give the same commands."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from . import _core
from ._dataclasses import dataclass
from ._fields import made
from ._journal_paths import locate_journal
from ._repr import shown
from .errors import UsageError
from .result import Messages

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from ._journal_paths import JournalPath
    from .guard import Policy

__all__ = ["Diff", "Replay", "diff", "journal_text", "naming", "replay"]


@shown
@dataclass(frozen=True)
class Replay:
    """What a replay gave. `identical` says whether all commands were the same, bit for bit."""

    run: str
    events: int
    commands: int
    divergence: dict[str, Any] | None
    """The first difference: `seq` of the event, place of the `command`, `expected` and `got`; and the `reason`: what
    changed of the rules since the journal was written.
    """
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


def replay(journal: str | os.PathLike[str] | None, run: str | None = None, *, policy: Policy | None = None) -> Replay:
    """Replays a journal: a path, or its lines as text; or the run of a store; or a run of the project by its name.

    A run replays with the policy it ran with, which stands in its journal; a journal whose policy was changed is an
    error. With `policy`, so is one whose run went by another. A run without a journal raises `no_journal`.
    """
    place = locate_journal(journal, run)
    with naming(place):
        found, messages, steps = _core.replay(place.read(), None if policy is None else policy.digest)
    return made(Replay, found, messages=Messages(messages), steps=steps)


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


def diff(
    left: str | os.PathLike[str] | None,
    right: str | os.PathLike[str] | None,
    *,
    left_run: str | None = None,
    right_run: str | None = None,
) -> Diff | None:
    """The first difference of two journals (paths, or their lines as text), times aside; `None` if there is none.

    `left_run` and `right_run` name the runs of stores.
    """
    one, other = locate_journal(left, left_run), locate_journal(right, right_run)
    with naming(one):
        _core.journal_head(one.head())
    with naming(other):
        found = _core.compare_journals(one.read(), other.read())
    return None if found is None else Diff(**found)


@contextlib.contextmanager
def naming(place: JournalPath) -> Iterator[None]:
    """Says in errors about what a journal holds which one it is."""
    try:
        yield
    except UsageError as error:
        if place.text is not None or repr(place.path) in error.message:
            raise
        raise UsageError(f"{place.name}: {error.message}", error.code, error.hint) from error


def journal_text(journal: str | os.PathLike[str], run: str | None = None) -> str:
    """The lines of a journal."""
    return locate_journal(journal, run).read()
