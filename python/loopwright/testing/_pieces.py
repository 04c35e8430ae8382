"""Answers cut into pieces, as models write them. What people see as one character stays whole."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from loopwright._dataclasses import replace
from loopwright.models import Call, Reasoning, Response, Whole

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["cut", "pieces_of"]

_JOINER = "\u200d"


def cut(text: str, size: int) -> Iterator[str]:
    """A text in pieces of so many characters, or a few more where a character goes on."""
    at = 0
    while at < len(text):
        end = min(at + size, len(text))
        while end < len(text) and _goes_on(text, end):
            end += 1
        yield text[at:end]
        at = end


def _goes_on(text: str, at: int) -> bool:
    """Whether the character at a place belongs to the one before it."""
    before, here = text[at - 1], text[at]
    if here < "\u0300":
        return (before, here) == ("\r", "\n")
    if _JOINER in (before, here) or unicodedata.category(here).startswith("M"):
        return True
    # The second half of a pair, the tone of a skin, the second letter of a flag.
    if "\udc00" <= here <= "\udfff":
        return "\ud800" <= before <= "\udbff"
    if "\U0001f3fb" <= here <= "\U0001f3ff":
        return True
    if not "\U0001f1e6" <= here <= "\U0001f1ff":
        return False
    letters = 0
    while letters < at and "\U0001f1e6" <= text[at - 1 - letters] <= "\U0001f1ff":
        letters += 1
    return letters % 2 == 1


def pieces_of(answer: Any, size: int) -> Iterator[Any]:
    """The pieces of an answer, and at the end what they don't say."""
    if isinstance(answer, str):
        yield from cut(answer, size)
    elif isinstance(answer, Response):
        for thought in cut(answer.reasoning, size):
            yield Reasoning(thought)
        yield from cut(answer.text, size)
        yield from answer.calls
        yield replace(answer, text="", calls=(), reasoning="")
    else:
        whole = _canonical(answer)
        for block in whole.get("message", {}).get("content", ()):
            if block.get("type") == "text":
                yield from cut(block["text"], size)
            elif block.get("type") == "thinking":
                for thought in cut(block.get("text") or "", size):
                    yield Reasoning(thought)
            elif block.get("type") == "tool_use":
                yield Call(block["name"], block.get("invalid") or block.get("input") or {}, block.get("id", ""))
        yield Whole(answer)


def _canonical(answer: Any) -> dict[str, Any]:
    """What is shown of an answer that is passed on as it is."""
    import json

    from loopwright.models import answer_json

    found: dict[str, Any] = answer if isinstance(answer, dict) else json.loads(answer_json(answer, 0))
    return found
