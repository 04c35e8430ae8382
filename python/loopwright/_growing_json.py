"""JSON that is still being written: where it stands, which elements of its list are whole, and what it holds so far.

It is read once, piece by piece, however long it becomes. Only JSON that is written as JSON has whole elements; what
must be mended is judged when all of it is there.
"""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["GrowingJson"]

_OUTSIDE = re.compile(r'["{}\[\],:]')
_INSIDE = re.compile(r'["\\]')
_HALF_WORD = re.compile(r"\s*(?:-|t|tr|tru|f|fa|fal|fals|n|nu|nul)?\s*\Z")
"""Nothing, or the beginning of a literal: no value yet."""
_HALF_ESCAPE = re.compile(
    r"(?<!\\)(?:\\\\)*(?P<cut>\\(?:u[0-9a-fA-F]{0,3})?|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?)\Z"
)
"""The beginning of an escape, or the first half of a pair of them."""
_LONGEST_ESCAPE = 12
_OPEN, _CLOSE = frozenset("{["), frozenset("}]")


class GrowingJson:
    """The first object in a text that grows; where `lists` says so, the first list or object. Brackets in prose are
    passed over once they close, if what they hold is no JSON.

    The list whose elements are given is the outermost value, or the member `within` of that.
    """

    __slots__ = (
        "_at",
        "_begun",
        "_depth",
        "_inside",
        "_item",
        "_last",
        "_lists",
        "_members",
        "_opens",
        "_stack",
        "_start",
        "_text",
        "_within",
        "over",
    )

    def __init__(self, *, lists: bool = True, within: str = "value") -> None:
        self._opens = _OPEN if lists else frozenset("{")
        self._within = json.dumps(within)
        self._text = ""
        self._at = 0
        # Where the outermost value begins, and whether it was closed.
        self._start = -1
        self.over = False
        self._stack: list[str] = []
        # Where the member that is being written begins, for each bracket that is open.
        self._members: list[int] = []
        # Within a string: where that begins.
        self._inside = -1
        # The last bracket, comma or colon, and where it stands.
        self._last = ""
        self._begun = -1
        # How many brackets are open where the elements are, and where the one begins that is being written.
        self._depth = 0
        self._item = -1
        self._lists = 0

    def add(self, piece: str) -> list[tuple[int, str]]:
        """The text goes on; gives the elements that have become whole, as JSON text, with the number of their list."""
        self._text += piece
        whole: list[tuple[int, str]] = []
        text, at = self._text, self._at
        while not self.over:
            if self._inside >= 0:
                found = _INSIDE.search(text, at)
                if found is None:
                    at = len(text)
                    break
                at = found.end()
                if found.group() == "\\":
                    if at == len(text):
                        at -= 1
                        break
                    at += 1
                else:
                    self._inside = -1
                continue
            found = _OUTSIDE.search(text, at)
            if found is None:
                at = len(text)
                break
            at = found.end()
            self._sign(found.group(), at, whole)
        self._at = at
        return whole

    def _sign(self, sign: str, end: int, whole: list[tuple[int, str]]) -> None:
        if self._start < 0:
            if sign not in self._opens:
                return
            self._start, self._depth, self._last = end - 1, 0, ""
        if sign == '"':
            self._inside = end - 1
            return
        if sign in _CLOSE or sign == ",":
            self._element(end - 1, whole)
        if sign in _OPEN:
            if sign == "[" and not self._depth and (not self._stack or self._is_around(end - 1)):
                self._depth, self._item = len(self._stack) + 1, end
                self._lists += 1
            self._stack.append(sign)
            self._members.append(end)
        elif sign in _CLOSE:
            self._stack.pop()
            self._members.pop()
            self.over = not self._stack and self._is_json(end)
        elif sign == ",":
            self._members[-1] = end - 1
        self._last, self._begun = sign, end - 1

    def _is_around(self, at: int) -> bool:
        """Whether the list that begins here is the member of the outermost object that holds the elements."""
        return len(self._stack) == 1 and self._text[self._members[0] : at].strip(", \t\r\n:") == self._within

    def _is_json(self, end: int) -> bool:
        """Whether the value that was closed is JSON; what is not was prose, or is for others to mend."""
        try:
            json.loads(self._text[self._start : end])
        except (ValueError, RecursionError):
            self._start = self._item = -1
            return False
        return True

    def _element(self, end: int, whole: list[tuple[int, str]]) -> None:
        """An element of the list ends here, if it is that list which is open."""
        if self._item < 0 or len(self._stack) != self._depth:
            return
        text = self._text[self._item : end].strip()
        # Behind a bracket that closes an empty list, or behind a comma too many, stands nothing.
        if text:
            whole.append((self._lists, text))
        self._item = -1 if self._text[end] != "," else end + 1

    def so_far(self) -> Any:
        """What it holds so far, mended by `repair_json`: without a key that has no value yet, a word that is begun and
        half an escape. `None` where nothing has begun.
        """
        if self._start < 0:
            return None
        from ._core import repair_json

        try:
            return json.loads(repair_json(self._text[self._start : self._end()]).json)
        except (ValueError, RecursionError):
            return None

    def _end(self) -> int:
        """Up to where it is taken."""
        text = self._text
        if self.over:
            return self._at
        in_object = self._stack[-1] == "{"
        if self._inside >= 0:
            if in_object and self._last != ":":
                return self._members[-1]
            at = max(self._inside + 1, len(text) - _LONGEST_ESCAPE)
            while text[at - 1] == "\\":
                at -= 1
            half = _HALF_ESCAPE.search(text, at)
            return len(text) if half is None else half.start("cut")
        if self._last == ":" or (self._last != "" and self._last not in _CLOSE and not in_object):
            if _HALF_WORD.match(text, self._begun + 1):
                return self._members[-1]
        elif in_object and self._last not in _CLOSE:
            return self._members[-1]
        return len(text)
