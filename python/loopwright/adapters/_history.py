"""Histories of another framework in and out, without loss.

What one side has no place for travels in the other side's own place for such things: theirs in the `extra` of ours,
ours in the metadata of theirs. It counts as long as nobody has changed what both sides can see; then what is seen
counts.
"""

from __future__ import annotations

import json
import threading
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from loopwright._dataclasses import replace
from loopwright.messages import Extra, Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["KEPT", "Form", "KnownHistories", "bare", "from_ours", "kept_of", "put_aside", "taken_aside", "to_ours"]

KEPT = "loopwright"
"""The member of another framework's metadata that holds a message of ours."""
_WIRE = "offline"
"""The wire whose fields no provider is ever sent."""

_CONVERSATIONS = 64
"""Histories that go on at once; of others the next request is read from its beginning."""

T = TypeVar("T")


class Form(Protocol[T]):
    """How another framework writes messages."""

    name: str

    def read(self, theirs: T) -> list[Message]:
        """What of a message of theirs ours can say: one of ours, or several."""
        ...

    def write(self, message: Message) -> list[T]:
        """What of a message of ours theirs can say: one of theirs, or several."""
        ...

    def dump(self, theirs: T) -> dict[str, Any]:
        """All of a message of theirs, for JSON."""
        ...

    def load(self, dumped: dict[str, Any]) -> T:
        """The message that was dumped."""
        ...

    def kept(self, theirs: T) -> dict[str, Any] | None:
        """What a message of theirs keeps of ours (`kept_of`); `None` where it does not come from us."""
        ...

    def keep(self, theirs: T, kept: dict[str, Any]) -> T:
        """A message of theirs that keeps something of ours."""
        ...


def kept_of(message: Message, *, plain: bool, whole: bool = False) -> dict[str, Any]:
    """What a message of theirs keeps of ours: all of it, unless it says so in `plain`. It is `whole` where it was made
    of ours, and holds nothing beside it.
    """
    return {**({} if plain else {"message": message.to_dict()}), **({"whole": True} if whole else {})}


def put_aside(message: Message, name: str, theirs: Any) -> Message:
    """A message of ours that holds what the framework of this name wrote."""
    # In one order, so that the same message is always the same.
    return replace(message, extra=Extra(_WIRE, json.dumps({name: theirs}, sort_keys=True, ensure_ascii=False)))


def taken_aside(message: Message, name: str) -> tuple[Message, Any]:
    """A message of ours without what the framework of this name wrote, and that; `None` where it holds nothing."""
    extra = message.extra
    theirs = extra.fields.get(name) if extra is not None and extra.wire == _WIRE else None
    return (message, None) if theirs is None else (replace(message, extra=None), theirs)


def bare(messages: Iterable[Message]) -> list[Message]:
    """Messages of ours without what any framework wrote."""
    return [
        replace(each, extra=None) if each.extra is not None and each.extra.wire == _WIRE else each for each in messages
    ]


def to_ours(form: Form[T], history: Sequence[T], *, whole: bool = True) -> list[Message]:
    """The messages of a history of theirs. Those that only go to a model need not hold the `whole` of it."""
    found: list[Message] = []
    at = 0
    while at < len(history):
        message, taken = _of_kept(form, history, at)
        ours = form.read(history[at]) if message is None else [message]
        made_of_ours = (form.kept(history[at]) or {}).get("whole", False)
        if whole and not made_of_ours and ours and ours[0].extra is None:
            ours[0] = put_aside(ours[0], form.name, form.dump(history[at]))
        found.extend(ours)
        at += taken
    return found


def from_ours(form: Form[T], messages: Iterable[Message]) -> list[T]:
    """The history of theirs that says what these messages do."""
    given = list(messages)
    found: list[T] = []
    at = 0
    while at < len(given):
        dumped, taken = _of_dumped(form, given, at)
        found.extend(dumped)
        at += taken
        if dumped:
            continue
        message, _ = taken_aside(given[at], form.name)
        made = form.write(message)
        if made:
            made[0] = form.keep(made[0], kept_of(message, plain=_all(form, made) == [message], whole=True))
        found.extend(made)
        at += 1
    return found


def _of_kept(form: Form[T], history: Sequence[T], at: int) -> tuple[Message | None, int]:
    """The message that a message of theirs keeps, where they still say what it says, and how many of theirs do."""
    kept = (form.kept(history[at]) or {}).get("message")
    if kept is None:
        return None, 1
    message = Message.from_dict(kept)
    made = form.write(message)
    same = _all(form, history[at : at + len(made)]) == _all(form, made)
    return (message, len(made)) if same else (None, 1)


def _of_dumped(form: Form[T], given: Sequence[Message], at: int) -> tuple[list[T], int]:
    """The message of theirs that these were read from, where they still say what it says, and how many they are."""
    _, dumped = taken_aside(given[at], form.name)
    if dumped is None:
        return [], 0
    theirs = form.load(dumped)
    ours = to_ours(form, [theirs], whole=False)
    same = [taken_aside(each, form.name)[0] for each in given[at : at + len(ours)]] == ours
    return ([theirs], len(ours)) if same else ([], 0)


def _all(form: Form[T], history: Iterable[T]) -> list[Message]:
    return [message for theirs in history for message in form.read(theirs)]


class KnownHistories(Generic[T]):
    """What was made of histories. What comes of one that goes on where a known one ended is made from there: each
    request of a conversation holds all that was said before it.
    """

    def __init__(self, empty: T, grown: Callable[[T, list[Any]], T]) -> None:
        self._empty, self._grown = empty, grown
        self._lock = threading.Lock()
        self._known: list[tuple[list[Any], T]] = []

    def of(self, history: Iterable[Any]) -> T:
        """What a history is; `grown` makes it of what its beginning is, and of the rest."""
        given = list(history)
        with self._lock:
            known = [each for each in self._known if given[: len(each[0])] == each[0]]
        before, made = max(known, key=lambda each: len(each[0]), default=([], self._empty))
        new = given[len(before) :]
        if not new:
            return made
        made = self._grown(made, new)
        # Whoever changes a message in place has another history; ours can't be changed.
        own = [each if isinstance(each, Message) else deepcopy(each) for each in new]
        with self._lock:
            others = [each for each in self._known if each[0] is not before]
            self._known = [*others[1 - _CONVERSATIONS :], ([*before, *own], made)]
        return made
