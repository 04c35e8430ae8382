"""HTML as text that a model can read: headings, lists, links and tables as Markdown, scripts and styles gone.

A reader of its own: `html.parser` takes quadratic time on tags that never end, and pages are hostile. This one goes
over the text once. It forgives everything, as browsers do; it need not build a tree.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["to_text"]

_LONGEST = 2_000_000
_LONGEST_TAG = 4_000
_LONGEST_LINK = 500
# Until their own end, nothing in these is a tag.
_RAW = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "textarea", "title", "xmp"})
_BLOCKS = frozenset(
    {"p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "ul", "ol", "dl", "dt", "dd"}
    | {"table", "tr", "form", "fieldset", "figure", "figcaption", "blockquote", "address", "details", "summary"}
    | {"h1", "h2", "h3", "h4", "h5", "h6"}
)
_PARAGRAPHS = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "table", "blockquote", "ul", "ol"})
_OPENING = {
    **{f"h{level}": f"\n\n{'#' * level} " for level in range(1, 7)},
    "br": "\n",
    "hr": "\n\n---\n\n",
    "li": "\n- ",
    "td": " | ",
    "th": " | ",
}
_NAME = re.compile(r"</?([a-zA-Z][a-zA-Z0-9:-]{0,40})")
_ATTRIBUTE = re.compile(r"""([a-zA-Z-]{1,40})\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")


def to_text(page: str, *, base: str = "") -> tuple[str, str]:
    """The title of the page, and its text. Links are made whole with `base`."""
    writer = _Writer(base)
    for text, tag, source in _pieces(page[:_LONGEST]):
        if text:
            writer.text(html.unescape(text))
        if tag == "title":
            writer.title = " ".join(html.unescape(source).split())[:500]
        elif tag.startswith("/"):
            writer.close(tag[1:])
        elif tag:
            writer.open(tag, source)
    return writer.title, writer.result()


def _pieces(page: str) -> Iterator[tuple[str, str, str]]:  # noqa: C901, PLR0912 - one pass over hostile text
    """The page as text, each with the tag that follows it and the tag's source; of a title, what is in it."""
    position = 0
    close = -1
    pending = 0
    while True:
        begin = page.find("<", position)
        if begin < 0:
            break
        # The next '>' serves all '<' before it: without that, unclosed tags would cost a search each.
        if close < begin:
            close = page.find(">", begin)
            if close < 0:
                break
        if page.startswith("<!--", begin):
            end = page.find("-->", begin + 4)
            yield page[pending:begin], "", ""
            if end < 0:
                return
            position = pending = end + 3
            continue
        match = _NAME.match(page, begin)
        if match is None and page[begin + 1 : begin + 2] not in ("!", "?"):
            position = begin + 1
            continue
        end = _tag_end(page, begin, close)
        if end - begin > _LONGEST_TAG:
            position = begin + 1
            continue
        text, source = page[pending:begin], page[begin:end]
        position = pending = end + 1
        if match is None:
            yield text, "", ""
            continue
        name = match[1].lower()
        if source.startswith("</"):
            yield text, f"/{name}", ""
        elif name in _RAW and not source.endswith("/"):
            ending = re.compile(f"</{name}", re.IGNORECASE).search(page, position)
            inside = page[position : ending.start()] if ending else page[position:]
            yield text, name if name == "title" else "", inside if name == "title" else ""
            if ending is None:
                return
            position = pending = ending.start()
        else:
            yield text, name, source
    yield page[pending:], "", ""


def _tag_end(page: str, begin: int, close: int) -> int:
    """Where a tag ends: at a '>' that is in no quotes. Few tags have one in quotes, so few are looked at twice."""
    for _ in range(4):
        source = page[begin : min(close, begin + _LONGEST_TAG)]
        if source.count('"') % 2 == 0:
            return close
        following = page.find(">", close + 1, begin + _LONGEST_TAG)
        if following < 0:
            return close
        close = following
    return close


class _Writer:
    def __init__(self, base: str) -> None:
        self.title = ""
        self._base = base
        self._out: list[str] = []
        self._literal = 0
        self._link: str | None = None
        self._link_start = 0

    def text(self, text: str) -> None:
        self._out.append(text if self._literal else re.sub(r"\s+", " ", text))

    def open(self, tag: str, source: str) -> None:
        if tag in _OPENING:
            self._out.append(_OPENING[tag])
        elif tag == "pre":
            self._literal += 1
            self._out.append("\n\n```\n")
        elif tag == "a":
            self._begin_link(_attribute(source, "href"))
        elif tag == "img":
            text = " ".join(_attribute(source, "alt").split())
            if text:
                self._out.append(f"[picture: {text[:200]}]")
        elif tag in _BLOCKS:
            self._out.append("\n\n" if tag in _PARAGRAPHS else "\n")

    def close(self, tag: str) -> None:
        if tag == "pre" and self._literal:
            self._literal -= 1
            self._out.append("\n```\n\n")
        elif tag == "a":
            self._end_link()
        elif tag in _BLOCKS:
            self._out.append("\n\n" if tag in _PARAGRAPHS else "\n")

    def result(self) -> str:
        self._end_link()
        lines: list[str] = []
        literal = False
        for line in "".join(self._out).split("\n"):
            if line.strip() == "```":
                literal = not literal
            kept = line.rstrip() if literal else re.sub(r" {2,}", " ", line).strip()
            if kept or (lines and lines[-1]):
                lines.append(kept)
        return "\n".join(lines).strip()

    def _begin_link(self, target: str) -> None:
        self._end_link()
        target = target.strip()
        if not target or len(target) > _LONGEST_LINK or target.lower().startswith(("#", "javascript:", "data:")):
            return
        try:
            self._link = urljoin(self._base, target)
        except ValueError:
            return
        self._link_start = len(self._out)

    def _end_link(self) -> None:
        if self._link is None:
            return
        text = " ".join("".join(self._out[self._link_start :]).split())
        if text:
            self._out[self._link_start :] = [f"[{text}]({self._link})"]
        self._link = None


def _attribute(source: str, name: str) -> str:
    for match in _ATTRIBUTE.finditer(source):
        if match[1].lower() == name:
            return html.unescape(match[2] or match[3] or match[4] or "")
    return ""
