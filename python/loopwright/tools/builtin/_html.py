"""HTML as text that a model can read: headings, lists, links and tables as Markdown, scripts and styles gone."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

__all__ = ["to_text"]

_LONGEST = 2_000_000
_HIDDEN = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "select"})
_BLOCKS = frozenset(
    {"p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "ul", "ol", "dl", "dt", "dd"}
    | {"table", "tr", "form", "fieldset", "figure", "figcaption", "blockquote", "address", "details", "summary"}
)
_HEADINGS = {"h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### ", "h5": "##### ", "h6": "###### "}
_PARAGRAPHS = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "table", "blockquote", "pre", "ul", "ol"})
# The parser of older Pythons takes quadratic time on these when they never end.
_COMMENTS = re.compile(r"<!--.*?(?:-->|\Z)|<!\[CDATA\[|<\?[^>]{0,1000}>?", re.DOTALL)


def to_text(html: str, *, base: str = "") -> tuple[str, str]:
    """The title of the page, and its text."""
    reader = _Reader(base)
    reader.feed(_COMMENTS.sub("", html[:_LONGEST]))
    reader.close()
    return reader.result()


class _Reader(HTMLParser):
    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self._base = base
        self._out: list[str] = []
        self._title: list[str] = []
        self._in_title = False
        self._hidden = ""
        self._depth = 0
        self._literal = 0
        self._link: str | None = None
        self._link_start = 0

    def handle_starttag(  # noqa: C901, PLR0912 - a table of tags, written out
        self, tag: str, attrs: list[tuple[str, str | None]]
    ) -> None:
        if self._hidden:
            self._depth += tag == self._hidden
            return
        if tag in _HIDDEN:
            self._hidden, self._depth = tag, 1
        elif tag == "title":
            self._in_title = True
        elif tag == "br":
            self._out.append("\n")
        elif tag == "hr":
            self._out.append("\n\n---\n\n")
        elif tag == "li":
            self._out.append("\n- ")
        elif tag in _HEADINGS:
            self._out.append(f"\n\n{_HEADINGS[tag]}")
        elif tag in ("td", "th"):
            self._out.append(" | ")
        elif tag == "pre":
            self._literal += 1
            self._out.append("\n\n```\n")
        elif tag == "a":
            self._begin_link(dict(attrs).get("href"))
        elif tag == "img":
            text = (dict(attrs).get("alt") or "").strip()
            if text:
                self._out.append(f"[picture: {text[:200]}]")
        elif tag in _BLOCKS:
            self._out.append("\n\n" if tag in _PARAGRAPHS else "\n")

    def handle_endtag(self, tag: str) -> None:
        if self._hidden:
            self._depth -= tag == self._hidden
            if self._depth <= 0:
                self._hidden = ""
            return
        if tag == "title":
            self._in_title = False
        elif tag == "pre" and self._literal:
            self._literal -= 1
            self._out.append("\n```\n\n")
        elif tag == "a":
            self._end_link()
        elif tag in _HEADINGS or tag in _BLOCKS:
            self._out.append("\n\n" if tag in _PARAGRAPHS else "\n")

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        if self._in_title:
            self._title.append(data)
        elif self._literal:
            self._out.append(data)
        else:
            self._out.append(re.sub(r"\s+", " ", data))

    def result(self) -> tuple[str, str]:
        self._end_link()
        lines: list[str] = []
        literal = False
        for line in "".join(self._out).split("\n"):
            if line.strip() == "```":
                literal = not literal
            kept = line.rstrip() if literal else re.sub(r" {2,}", " ", line).strip()
            if kept or (lines and lines[-1]):
                lines.append(kept)
        return " ".join("".join(self._title).split()), "\n".join(lines).strip()

    def _begin_link(self, target: str | None) -> None:
        self._end_link()
        if not target or target.startswith(("#", "javascript:", "data:")) or len(target) > 500:  # noqa: PLR2004
            return
        try:
            self._link = urljoin(self._base, target.strip())
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
