"""Conversations: turns that follow one another, each a run of its own that names the run before it in its journal."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

from loopwright._dataclasses import dataclass
from loopwright.errors import UsageError

from .journals import found

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from loopwright import Messages, Result, Usage
    from loopwright._journal_paths import JournalPath
    from loopwright.journal import Replay

__all__ = ["AFTER", "Conversation", "Past", "Turn", "last_chat"]

AFTER = "after"
"""The label of a run that names the run before it."""
_LONGEST = 10_000
"""Turns of one conversation at most: journals of others may name each other in a circle."""


@dataclass(frozen=True)
class Turn:
    """What was asked, and all that was said up to the answer."""

    prompt: str
    run: str
    messages: Messages
    usage: Usage
    cost: float | None
    duration: float

    @classmethod
    def of(cls, prompt: str, result: Result[Any]) -> Turn:
        """The turn that a run was."""
        return cls(prompt, result.run_id, result.messages, result.usage, result.cost, result.duration)


class Past:
    """A turn of a store, read when somebody looks at it."""

    def __init__(self, place: JournalPath) -> None:
        from loopwright import _core

        self.place = place
        self.run, about, _ = _core.journal_head(place.head())
        told = json.loads(about) if about else {}
        self.labels: Mapping[str, Any] = told if isinstance(told, dict) else {}

    @property
    def is_chat(self) -> bool:
        """Whether `loopwright chat` wrote it."""
        return self.labels.get("command") == "chat" and isinstance(self.labels.get("arguments"), dict)

    @cached_property
    def replayed(self) -> Replay:
        """What a replay gives of it."""
        from loopwright import replay

        return replay(self.place.path, self.place.run)

    @property
    def has_ended(self) -> bool:
        """Whether the run came to its end."""
        return self.replayed.outcome is not None

    def turn(self, before: int) -> Turn:
        """The turn that it was, behind so many messages."""
        from loopwright import Usage

        outcome = self.replayed.outcome or {}
        spent = outcome.get("spent") or {}
        tokens = spent.get("usage") or {}
        usage = Usage(
            input_tokens=tokens.get("input", 0),
            output_tokens=tokens.get("output", 0),
            cache_read_tokens=tokens.get("cache_read", 0),
        )
        messages = self.replayed.messages
        prompt = messages[before].text if before < len(messages) else ""
        return Turn(prompt, self.run, messages, usage, spent.get("cost"), outcome.get("duration", 0.0))


class Conversation:
    """Turns in their order."""

    def __init__(self, turns: list[Turn] | None = None) -> None:
        self.turns = turns or []

    @property
    def head(self) -> str | None:
        """The run of the last turn."""
        return self.turns[-1].run if self.turns else None

    @property
    def messages(self) -> Messages | None:
        """All that was said."""
        return self.turns[-1].messages if self.turns else None

    def undo(self, count: int) -> list[Turn]:
        """Takes back the last turns; gives them, the last one first."""
        count = min(count, len(self.turns))
        return [self.turns.pop() for _ in range(count)]

    def fork(self, at: int) -> Conversation:
        """Another conversation that begins with the first `at` turns of this one."""
        return Conversation(self.turns[:at])

    @classmethod
    def of(cls, last: Past) -> Conversation:
        """The conversation whose last turn this is."""
        found = cls()
        for past in reversed([*_before(last)]):
            before = len(found.messages or ())
            turn = past.turn(before)
            # What was never answered is no part of it.
            if len(turn.messages) > before + 1:
                found.turns.append(turn)
        return found


def _before(last: Past) -> Iterator[Past]:
    """The turns from the last one back to the first; one that was deleted ends them."""
    past: Past | None = last
    seen: set[str] = set()
    while past is not None and past.run not in seen and len(seen) < _LONGEST:
        seen.add(past.run)
        yield past
        before = past.labels.get(AFTER)
        past = _past(before, past.place.path) if isinstance(before, str) and before else None


def _past(run: str, store: str | None) -> Past | None:
    try:
        return Past(found(run, store))
    except UsageError as error:
        if error.code != "journal_not_found":
            raise
        return None


def last_chat(store: str) -> Past:
    """The turn of a chat that was begun last."""
    from loopwright import Journal

    for run in Journal(store).runs():
        past = Past(found(run.id, store))
        if past.is_chat:
            return past
    message = f"{store!r} holds no conversation"
    raise UsageError(message, "journal_not_found", "begin one: loopwright chat --model PROVIDER:NAME")
