"""Answers on a terminal: Markdown as people read it where `rich` is installed, else wrapped words.

What is rendered was cleaned before: nothing in it steers the terminal. Links are written out, for a name may hide where
it leads.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from .text import wrap

if TYPE_CHECKING:
    from .screen import Screen

__all__ = ["Renderer", "renderer_of", "rich_version"]

_WIDEST = 120
"""Columns of a line of prose at most: longer ones are hard to follow."""
_ITEM = re.compile(r" *(?:[-*+]|\d{1,9}[.)]|>) +")
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_ENDS = re.compile(r"\s*$| {0,3}(?:```|~~~|#)")
"""Lines at which a block may end."""
_CODES = re.compile(r"\x1b\[[\d;]*m")
_TRAILING = re.compile(r"(?: |\x1b\[[\d;]*m)+(?=\n|\Z)")
_EMPTY = re.compile(r"\A(?:(?:\x1b\[[\d;]*m)*\n)+|(?:\n(?:\x1b\[[\d;]*m)*)+\Z")
"""Lines before and behind a block that show nothing."""
_LOOKS = {
    "markdown.h1": "bold underline",
    "markdown.h2": "bold",
    "markdown.h3": "bold",
    "markdown.h4": "italic",
    "markdown.code": "cyan",
    "markdown.block_quote": "italic",
    "markdown.table.border": "dim",
    "markdown.table.header": "bold",
    "markdown.item.number": "bold",
}
"""Colours that can be read on light and on dark."""


class Renderer(Protocol):
    """How an answer is shown."""

    def whole(self, text: str) -> int:
        """How much of a text that goes on can be shown for good: a number of characters."""
        ...

    def render(self, text: str, columns: int) -> str:
        """The text as it is shown."""
        ...


def renderer_of(screen: Screen) -> Renderer:
    """Who renders answers on this screen."""
    if screen.out_is_live and rich_version() is not None:
        return _Rich(colour=screen.has_colour)
    return _Words()


def rich_version() -> str | None:
    """The version of `rich` that can be used; `None` where there is none."""
    try:
        import rich.markdown  # noqa: F401
    except ImportError:
        return None
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("rich")
    except PackageNotFoundError:
        return "unknown"


class _Words:
    """Lines, broken between words; code stays as it is."""

    def __init__(self) -> None:
        self._in_code = False

    def whole(self, text: str) -> int:
        return text.rfind("\n") + 1

    def render(self, text: str, columns: int) -> str:
        lines = []
        for line in text.split("\n"):
            fence = _FENCE.match(line) is not None
            self._in_code = self._in_code != fence
            if self._in_code or fence:
                lines.append(line)
                continue
            item = _ITEM.match(line)
            lines.append(wrap(line, min(columns, _WIDEST), margin=None if item is None else len(item[0])))
        return "\n".join(lines)


class _Rich:
    """Blocks, as `rich` sets them."""

    def __init__(self, *, colour: bool) -> None:
        from markdown_it import MarkdownIt

        self._colour = colour
        # What looks like HTML may be `Vec<u8>`: it is text.
        self._parser = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")
        self._begun = False

    def whole(self, text: str) -> int:
        cut = text.rfind("\n") + 1
        if not cut or not _ENDS.match(text[text.rfind("\n", 0, cut - 1) + 1 : cut]):
            return 0
        lines = text[:cut].split("\n")
        blocks = [token.map for token in self._parser.parse(text[:cut]) if token.level == 0 and token.map]
        if not blocks:
            return 0
        start, end = blocks[-1]
        if _is_over(lines[start:end]):
            start = end
        elif len(blocks) == 1:
            return 0
        return sum(len(line) + 1 for line in lines[:start])

    def render(self, text: str, columns: int) -> str:
        lines, blocks, at = text.split("\n"), [], 0
        spans = [token.map for token in self._parser.parse(text) if token.level == 0 and token.map]
        for start, end in [*spans, [len(lines), len(lines)]]:
            # What is no block says where links lead.
            blocks.append("\n".join(lines[at:start]).strip())
            blocks.append(self._block("\n".join(lines[start:end]), columns) if end > start else "")
            at = end
        shown = "\n\n".join(block for block in blocks if block)
        gap = "\n" if self._begun and shown else ""
        self._begun = self._begun or bool(shown)
        return gap + shown

    def _block(self, text: str, columns: int) -> str:
        from io import StringIO

        from rich.console import Console
        from rich.theme import Theme

        console = Console(
            file=StringIO(),
            width=min(columns, _WIDEST),
            force_terminal=True,
            color_system="standard",
            legacy_windows=False,
            emoji=False,
            markup=False,
            highlight=False,
            theme=Theme(_LOOKS),
        )
        with console.capture() as capture:
            console.print(_document(text, self._parser), end="")
        shown = _EMPTY.sub("", _TRAILING.sub(_only_codes, capture.get()))
        return shown if self._colour else _CODES.sub("", shown)


def _is_over(lines: list[str]) -> bool:
    """Whether a block is a heading or closed code: nothing that comes can be part of it."""
    first = lines[0].lstrip() if lines else ""
    if first.startswith("#"):
        return True
    mark = first[:1]
    if first[:3] not in ("```", "~~~"):
        return False
    marks = len(first) - len(first.lstrip(mark))
    last = lines[-1].strip()
    return len(lines) > 1 and len(last) >= marks and not last.strip(mark)


def _only_codes(found: re.Match[str]) -> str:
    return "".join(_CODES.findall(found[0]))


def _document(text: str, parser: Any) -> Any:
    """The text as `rich` prints it: headings at the left, links written out, colours of the terminal's own."""
    from rich.markdown import Heading, Markdown

    class LeftHeading(Heading):
        def __rich_console__(self, console: Any, options: Any) -> Any:
            self.text.justify = "left"
            yield self.text

    class Document(Markdown):
        elements: ClassVar = {**Markdown.elements, "heading_open": LeftHeading}

    found = Document("", code_theme="ansi_dark", hyperlinks=False)
    found.parsed = parser.parse(text)
    return found
