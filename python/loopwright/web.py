"""Pages of the web as text, with everything in between that a hostile one may try.

    page = await fetch_page("https://example.org/")
    for chunk in page.chunks:
        print(chunk.heading, page.text[chunk.start : chunk.end])

Fetching is done by the engine's own client: limits on size, time and redirections, `robots.txt` honoured, private
addresses refused where they are connected to. HTML becomes Markdown without menus, banners and what is hidden. See
`docs/research.md`.
"""

from __future__ import annotations

from typing import Any

from . import _core
from ._dataclasses import asdict, dataclass, field
from .errors import UsageError

__all__ = ["Chunk", "Link", "Page", "fetch_page", "fetch_page_sync", "read_page"]


@dataclass(frozen=True)
class Chunk:
    """A few sentences of a page."""

    text: str
    """What they say."""
    start: int
    """Where they start in the page's text, in characters."""
    end: int
    """Where they end."""
    byte_start: int
    """Where they start in the page's text, in bytes of UTF-8."""
    byte_end: int
    """Where they end, in bytes."""
    heading: str
    """The headings they stand under, outermost first, joined by ` > `."""
    line: int
    """Their first line, counted from 1."""
    end_line: int
    """Their last line."""


@dataclass(frozen=True)
class Link:
    """A link in a page's text."""

    text: str
    """What it says."""
    url: str
    """Where it leads, made whole."""
    start: int
    """Where it starts in the page's text, in characters."""
    end: int
    """Where it ends."""


@dataclass(frozen=True)
class Page:
    """A page as text."""

    url: str
    """Where it was at last, after redirections."""
    title: str
    """Its title."""
    text: str = field(repr=False)
    """Its text; of HTML, as Markdown."""
    chunks: list[Chunk] = field(repr=False)
    """The text in passages of a few sentences, in order."""
    charset: str
    """The encoding that it was read in."""
    content_type: str | None = None
    """The content type, as the server wrote it."""
    status: int = 200
    """The HTTP status."""
    size: int = 0
    """Bytes that were read, unpacked."""
    truncated: bool = False
    """Whether there is more than this text."""
    broken: bool = False
    """Whether bytes did not fit the encoding: there are replacement characters."""
    published: str | None = None
    """When it was published, as it says."""
    description: str | None = field(default=None, repr=False)
    """What it says it is about."""
    language: str | None = None
    """Its language, as it says."""
    canonical: str | None = field(default=None, repr=False)
    """The address that it says it should be known by."""
    links: list[Link] = field(default_factory=list, repr=False)
    """Links in the text."""

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return asdict(self)


def _options(
    *,
    timeout: float,
    max_bytes: int,
    max_chars: int,
    max_redirects: int,
    allow_private: bool,
    robots: bool,
    too_large: str,
    sentences: int,
    inline_links: bool,
) -> dict[str, Any]:
    if too_large not in ("cut", "error"):
        raise UsageError(f"too_large is {too_large!r}", "invalid_option", 'say "cut" or "error"')
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout < float("inf"):
        raise UsageError(f"timeout is {timeout!r}", "invalid_option", "give a positive number of seconds")
    counts = {
        "max_bytes": max_bytes,
        "max_chars": max_chars,
        "max_redirects": max_redirects,
        "sentences": sentences,
    }
    for name, count in counts.items():
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < 1 << 40:
            raise UsageError(f"{name} is {count!r}", "invalid_option", "give a whole number")
    return {
        **counts,
        "timeout": float(timeout),
        "allow_private": bool(allow_private),
        "robots": bool(robots),
        "refuse_longer": too_large == "error",
        "inline_links": bool(inline_links),
    }


def _address(url: object) -> str:
    if not isinstance(url, str):
        raise UsageError(f"url is {type(url).__name__}, not a text", "invalid_value", "give a str")
    return url.encode("utf-8", "replace").decode()


def _asked(url: object) -> str:
    """The address of a page that is fetched."""
    from ._real_requests import check_url

    address = _address(url)
    check_url(address, "fetch_page")
    return address


def _page(given: dict[str, Any]) -> Page:
    text = given["text"]
    chunks = [
        Chunk(text[start:end], start, end, first, last, heading, line, end_line)
        for (start, end), (first, last), heading, (line, end_line) in given.pop("passages")
    ]
    links = [Link(text[start:end], url, start, end) for start, end, url in given.pop("links")]
    return Page(chunks=chunks, links=links, **given)


async def fetch_page(
    url: str,
    *,
    timeout: float = 20.0,
    max_bytes: int = 2 << 20,
    max_chars: int = 40_000,
    max_redirects: int = 5,
    allow_private: bool = False,
    robots: bool = True,
    too_large: str = "cut",
    sentences: int = 4,
    inline_links: bool = False,
) -> Page:
    """Fetches a page and gives its text, in chunks of so many sentences; with `sentences=0` without chunks.

    What goes wrong is a `LoopwrightError` with a code: `private_address`, `robots`, `timeout`, `too_many_redirects`,
    `http_status`, `not_text`, `compressed_bomb`, `too_large`, `invalid_body`, `connect`, `tls`, `cut`, `invalid_url`.

    `max_bytes` counts what a body becomes, unpacked; a longer one is cut (`page.truncated`), or an error with
    `too_large="error"`. `allow_private` allows hosts of this machine and of private networks; `robots=False` passes
    over `robots.txt`. With `inline_links` the text has links written out; otherwise they are in `page.links`.
    """
    from ._native_future import native_result

    address = _asked(url)
    options = _options(
        timeout=timeout,
        max_bytes=max_bytes,
        max_chars=max_chars,
        max_redirects=max_redirects,
        allow_private=allow_private,
        robots=robots,
        too_large=too_large,
        sentences=sentences,
        inline_links=inline_links,
    )
    return _page(await native_result(lambda hub, key: hub.fetch(key, address, options)))


def fetch_page_sync(
    url: str,
    *,
    timeout: float = 20.0,
    max_bytes: int = 2 << 20,
    max_chars: int = 40_000,
    max_redirects: int = 5,
    allow_private: bool = False,
    robots: bool = True,
    too_large: str = "cut",
    sentences: int = 4,
    inline_links: bool = False,
) -> Page:
    """`fetch_page` without an event loop; other threads go on meanwhile."""
    options = _options(
        timeout=timeout,
        max_bytes=max_bytes,
        max_chars=max_chars,
        max_redirects=max_redirects,
        allow_private=allow_private,
        robots=robots,
        too_large=too_large,
        sentences=sentences,
        inline_links=inline_links,
    )
    return _page(_core.fetch_text(_asked(url), options))


def read_page(
    body: bytes | str,
    *,
    url: str = "",
    content_type: str | None = "text/html",
    max_bytes: int = 64 << 20,
    max_chars: int = 1 << 30,
    sentences: int = 4,
    inline_links: bool = False,
) -> Page:
    r"""Reads a page that came some other way. Nothing is fetched.

    >>> page = read_page("<title>Wings</title><nav>Home</nav><h1>Lift</h1><p>It is 3 kN. It grows.</p>")
    >>> page.title, page.text
    ('Wings', '# Lift\n\nIt is 3 kN. It grows.')
    >>> [(chunk.heading, chunk.text) for chunk in page.chunks]
    [('Lift', 'It is 3 kN. It grows.')]
    """
    if isinstance(body, str):
        body = body.encode("utf-8", "replace")
        if content_type is not None:
            content_type = f"{content_type.split(';')[0]}; charset=utf-8"
    if not isinstance(body, bytes):
        raise UsageError(f"body is {type(body).__name__}", "invalid_value", "give bytes or a str")
    options = _options(
        timeout=1.0,
        max_bytes=max_bytes,
        max_chars=max_chars,
        max_redirects=0,
        allow_private=False,
        robots=False,
        too_large="cut",
        sentences=sentences,
        inline_links=inline_links,
    )
    return _page(_core.read_text(body, _address(url), content_type, options))
