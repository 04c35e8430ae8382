"""Patterns of paths: `*`, `?`, `[...]` within a name, `**` over folders, `{a,b}` for alternatives.

No pattern, however hostile, takes more than the product of its length and the path's.
"""

from __future__ import annotations

import fnmatch
import re

__all__ = ["Pattern"]

_MOST_ALTERNATIVES = 64
_LONGEST = 500


class Pattern:
    """A compiled pattern. Raises `ValueError` for what is no pattern."""

    __slots__ = ("_alternatives",)

    def __init__(self, pattern: str) -> None:
        if not pattern or len(pattern) > _LONGEST or "\0" in pattern:
            message = f"a pattern has 1 to {_LONGEST} characters"
            raise ValueError(message)
        self._alternatives: list[list[re.Pattern[str] | None]] = []
        for each in _alternatives(pattern.removeprefix("./")):
            parts = [part for part in each.split("/") if part]
            self._alternatives.append([None if part == "**" else re.compile(fnmatch.translate(part)) for part in parts])

    def matches(self, path: str) -> bool:
        """Whether the whole of `path` fits, its parts divided by '/'."""
        names = path.split("/")
        return any(_fits(parts, names) for parts in self._alternatives)


def _fits(parts: list[re.Pattern[str] | None], names: list[str]) -> bool:
    # reached[i]: the parts so far fit the first i names.
    reached = [True] + [False] * len(names)
    for part in parts:
        following = [False] * (len(names) + 1)
        if part is None:
            open_end = False
            for index, here in enumerate(reached):
                open_end = open_end or here
                following[index] = open_end
        else:
            for index, name in enumerate(names):
                if reached[index] and part.match(name):
                    following[index + 1] = True
        reached = following
    return reached[-1]


def _alternatives(pattern: str) -> list[str]:
    found = [""]
    position = 0
    while position < len(pattern):
        close = pattern.find("}", position)
        begin = pattern.find("{", position)
        if begin < 0 or close < begin or "{" in pattern[begin + 1 : close]:
            return [each + pattern[position:] for each in found]
        choices = pattern[begin + 1 : close].split(",")
        before = pattern[position:begin]
        found = [f"{each}{before}{choice}" for each in found for choice in choices]
        if len(found) > _MOST_ALTERNATIVES:
            message = f"more than {_MOST_ALTERNATIVES} alternatives"
            raise ValueError(message)
        position = close + 1
    return found
