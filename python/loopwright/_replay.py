"""Replaying journals: the same events, fed to a new machine, must give the same commands."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from .errors import UsageError
from .result import Messages

if TYPE_CHECKING:
    from .guard import Policy

__all__ = ["Replay", "replay"]


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
    messages: Messages
    steps: list[list[str]]
    """The commands of each event, as the journal holds them."""

    @property
    def identical(self) -> bool:
        """Whether the replay gave the very commands of the journal."""
        return self.divergence is None


def replay(journal: str | os.PathLike[str], *, policy: Policy | None = None) -> Replay:
    """Replays a journal: a path, or its lines as text.

    A run replays with the policy it ran with, which stands in its journal; a journal whose policy was changed is an
    error. With `policy`, so is one whose run went by another.
    """
    text = journal if isinstance(journal, str) and "\n" in journal else _read(journal)
    found, messages, steps = _core.replay(text, None if policy is None else policy.digest)
    return Replay(
        run=found["run"],
        events=found["events"],
        commands=found["commands"],
        divergence=found["divergence"],
        outcome=found["outcome"],
        truncated=found["truncated"],
        messages=Messages(messages),
        steps=steps,
    )


def _read(path: str | os.PathLike[str]) -> str:
    try:
        data = Path(path).read_bytes()
        # The last line may have been cut anywhere, also inside a character.
        whole = data.rfind(b"\n") + 1
        return data[:whole].decode() + data[whole:].decode(errors="replace")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"the journal {os.fspath(path)!r} can't be read: {reason}"
        raise UsageError(message, "journal_not_found", "give the path of a .jsonl file that a run wrote") from error
