"""Text that others wrote, made fit for a terminal: no control characters, no escapes, no hidden reordering."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Cleaner", "clean", "fit", "one_line", "plural", "seconds", "visible", "width", "wrap"]

_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]+[0-~]|[0-Z\\`-~])"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_UNFINISHED = re.compile(r"(?:\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\n]*\x1b?|[ -/]*)|\x9b[0-?]*[ -/]*)\Z")
# Controls but tab and newline; overrides of the writing direction; invisible tags; what is no character at all.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
_LINE_BREAK = re.compile("\r\n?|[\x85\u2028\u2029\x0b\x0c]")
_HELD = 512
_TENTHS_UNTIL = 9.95
_MINUTE = 60


def clean(text: str) -> str:
    """`text` without escapes and control characters but tab and newline."""
    return _CONTROL.sub("", _LINE_BREAK.sub("\n", _ESCAPE.sub("", text)))


def one_line(text: str) -> str:
    """`clean`, with all white space as single spaces."""
    return " ".join(clean(text).split())


def visible(text: str) -> str:
    """`text` with what a person can't see written out, for whoever has to judge it."""
    from loopwright._approval import visible as written_out

    return written_out(text.replace("\r\n", "\n"))


class Cleaner:
    """`clean` for text that comes in pieces: an escape that is cut in two is still one."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """What can be shown so far."""
        text = self._held + text
        self._held = ""
        unfinished = _UNFINISHED.search(text[-_HELD:])
        if unfinished is not None:
            start = len(text) - len(unfinished[0])
            self._held, text = text[start:], text[:start]
        elif text.endswith("\r"):
            self._held, text = "\r", text[:-1]
        return clean(text)


def width(text: str) -> int:
    """The columns that one line of text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(letter) for letter in text)


def _columns(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in ("W", "F") else 1


def fit(text: str, columns: int) -> str:
    """One line of text in at most so many columns, with `…` where it was cut."""
    if columns <= 0:
        return ""
    # A letter takes no more columns than two; combining marks without end take none, and are cut all the same.
    if len(text) <= columns * 4 and width(text) <= columns:
        return text
    taken = 0
    for at, letter in enumerate(text[: columns * 4]):
        taken += _columns(letter)
        if taken > columns - 1:
            return text[:at].rstrip() + "…"
    return text[: columns * 4] + "…"


def wrap(text: str, columns: int, margin: int | None = None) -> str:
    """Each line of `text` in lines of at most so many columns, broken between words.

    What goes on is indented by `margin`, or as its line is.
    """
    return "\n".join(part for line in text.split("\n") for part in _wrapped(line, columns, margin))


def _wrapped(line: str, columns: int, indent: int | None) -> Iterator[str]:
    if width(line) <= columns:
        yield line
        return
    margin = " " * min(len(line) - len(line.lstrip()) if indent is None else indent, columns // 2)
    current, taken, bare = "", 0, True
    for piece in re.findall(r" +|[^ ]+", line):
        size = width(piece)
        if taken + size > columns and not bare and not piece.isspace():
            yield current.rstrip()
            current, taken = margin, len(margin)
        current, taken = current + piece, taken + size
        bare = bare and piece.isspace()
    yield current.rstrip()


def plural(count: int, one: str, many: str | None = None) -> str:
    """`1 file`, `2 files`, `1,200 files`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def seconds(duration: float) -> str:
    """A duration as people say it."""
    if duration < 1:
        return f"{duration * 1000:.0f} ms"
    if duration < _TENTHS_UNTIL:
        return f"{duration:.1f} s"
    minutes, rest = divmod(round(duration), _MINUTE)
    if minutes == 0 or (minutes, rest) == (1, 0):
        return f"{minutes * _MINUTE + rest} s"
    return f"{minutes} min" + (f" {rest} s" if rest else "")
