"""The sources of an answer, as `path:line` with what stands there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .screen import Style
from .text import fit, one_line, plural, width

if TYPE_CHECKING:
    from loopwright import Result
    from loopwright.grounded import Source

    from .screen import Screen

__all__ = ["cited", "show_sources"]

_SHOWN = 8
_LEAST = 12
_SAME = 24
_NUMBER = re.compile(r"\[(\d{1,4}(?:\s*,\s*\d{1,4})*)\]")


def show_sources(result: Result[Any], screen: Screen) -> None:
    """The sources that the answer names; without any, nothing."""
    sources = cited(result)
    if not sources:
        return
    screen.answer("")
    screen.answer("Sources", style=Style.BOLD)
    for source in sources[:_SHOWN]:
        place = one_line(str(source))
        space = screen.columns - width(place) - 5
        words = fit(_telling(source, result.final or ""), space) if space >= _LEAST else ""
        screen.answer(f"  {place}" + (f"  {screen.styled(words, Style.DIM)}" if words else ""))
    if len(sources) > _SHOWN:
        screen.answer(f"  and {plural(len(sources) - _SHOWN, 'more', 'more')}")


def cited(result: Result[Any]) -> list[Source]:
    """Those of the sources that stand in the answer, in their order, each place once."""
    text = result.final or ""
    numbers = {int(number) for group in _NUMBER.findall(text) for number in group.split(",")}
    found: dict[str, Source] = {}
    for number, source in enumerate(result.sources, start=1):
        place = str(source)
        if _names(text, place) or number in numbers or (source.kind == "tool" and f"[{source.reference}" in text):
            found.setdefault(place, source)
    return list(found.values())


def _telling(source: Source, answer: str) -> str:
    """The source's words from where the answer uses them, if it does so literally; else from their beginning."""
    text, at = one_line(source.text), answer.find(str(source))
    said = one_line(answer[: max(at, 0)].rpartition("]")[2]).rstrip(" [")
    start = text.find(said[:_SAME]) if len(said) >= _SAME else -1
    return f"…{text[start:]}" if start > 0 else text


def _names(text: str, place: str) -> bool:
    """Whether `place` stands in the text, and not as the beginning of a longer number."""
    at = text.find(place)
    while at >= 0:
        if not text[at + len(place) : at + len(place) + 1].isdigit():
            return True
        at = text.find(place, at + 1)
    return False
