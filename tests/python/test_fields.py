"""Plain data becomes instances of the classes that describe it, by their fields."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from loopwright._fields import each_of, made


@dataclass(frozen=True)
class Found:
    name: str
    lines: tuple[int, ...]
    score: float = 0.5
    note: str | None = None


def test_fields_are_read_by_their_names() -> None:
    told = {"name": "a", "lines": [1, 2], "note": None, "newer": {"x": 1}}
    assert made(Found, told) == Found("a", (1, 2))
    assert made(Found, told, lines=(3,), score=1.0) == Found("a", (3,), 1.0)
    assert each_of(Found, [told, {**told, "name": "b"}]) == (Found("a", (1, 2)), Found("b", (1, 2)))


def test_a_field_that_must_be_told_is_missed() -> None:
    with pytest.raises(TypeError, match="lines"):
        made(Found, {"name": "a"})
