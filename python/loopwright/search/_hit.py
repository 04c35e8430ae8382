"""What a search finds, and what comes of hostile answers: bounded text, addresses of the web, nothing else."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

from loopwright._dataclasses import asdict, dataclass
from loopwright._json import read
from loopwright.errors import ModelError, ProviderError, UsageError

__all__ = ["Hit", "SearchRecord"]

_TITLE = 500
_SNIPPET = 4_000
_URL = 4_000
_TEXT = 400_000
_DATE = 100
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)


@dataclass(frozen=True)
class Hit:
    """One thing that a search found."""

    title: str
    """What it is called."""
    url: str
    """Where it is."""
    snippet: str = ""
    """What the search engine shows of it."""
    text: str | None = None
    """All of its text, where that came along; otherwise it has to be fetched."""
    published: str | None = None
    """When it was published, as the search engine says."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    @classmethod
    def of(cls, given: Any) -> Hit:
        """A hit from a `Hit`, a dict with its fields, or an address.

        >>> Hit.of({"url": "https://example.org/", "title": "An <b>example</b>", "content": "Of &amp; for."})
        Hit(title='An example', url='https://example.org/', snippet='Of & for.', text=None, published=None)
        """
        if isinstance(given, Hit):
            return given
        if isinstance(given, str):
            given = {"url": given}
        if not isinstance(given, Mapping):
            message = f"a search gave {type(given).__name__}, not a hit"
            raise UsageError(message, "invalid_value", "give Hit(title, url, snippet), or a dict of its fields")
        hit = hit_of(given, snippet=("snippet", "content", "description"), published=("published", "publishedDate"))
        if hit is None:
            raise UsageError("a hit has no url", "invalid_value", "give Hit(title, url, snippet)")
        return hit


@dataclass(frozen=True)
class SearchRecord:
    """A search that was made."""

    query: str
    """What was asked."""
    provider: str
    """Who was asked."""
    at: float
    """When, in seconds since 1970."""
    duration: float
    """How long it took, in seconds."""
    hits: tuple[Hit, ...] = ()
    """What was found."""
    error: str | None = None
    """The code of what went wrong, if something did."""


def one_line(value: Any, most: int) -> str:
    """Text of an answer without markup, on one line."""
    if not isinstance(value, str):
        return ""
    text = html.unescape(_TAG.sub("", value[: most * 4]))
    return " ".join(_UNSEEN.sub("", _plain(text)).split())[:most]


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def hit_of(
    item: Mapping[str, Any],
    *,
    snippet: tuple[str, ...] = ("content",),
    text: tuple[str, ...] = ("text", "raw_content"),
    published: tuple[str, ...] = ("published",),
) -> Hit | None:
    """The hit that an entry of an answer is, if it is one."""

    def first(names: tuple[str, ...]) -> str | None:
        return next((item[name] for name in names if isinstance(item.get(name), str) and item[name]), None)

    url = item.get("url")
    if not isinstance(url, str) or not url.strip() or len(url) > _URL:
        return None
    whole = first(text)
    dated = first(published)
    return Hit(
        title=one_line(item.get("title"), _TITLE) or one_line(url, _TITLE),
        url=_UNSEEN.sub("", _plain(url.strip())),
        snippet=one_line(first(snippet), _SNIPPET),
        text=None if whole is None else _UNSEEN.sub("", _plain(whole[:_TEXT])),
        published=None if dated is None else one_line(dated, _DATE),
    )


def web_hits(items: Any, k: int, **names: tuple[str, ...]) -> list[Hit]:
    """The hits among the entries of an answer: of the web, each address once, at most `k`."""
    found: dict[str, Hit] = {}
    for item in items[:1000] if isinstance(items, list) else []:
        hit = hit_of(item, **names) if isinstance(item, Mapping) else None
        if hit is not None and hit.url.lower().startswith(("http://", "https://")):
            found.setdefault(hit.url, hit)
        if len(found) >= k:
            break
    return list(found.values())


def parsed(body: bytes, provider: str) -> dict[str, Any]:
    """The JSON object of an answer."""
    try:
        found = read(body, "the answer")
    except ModelError as error:
        message = f"{provider} answered with what is no JSON"
        raise ProviderError(message, "invalid_body", "check the address") from error
    if not isinstance(found, dict):
        message = f"{provider} answered with JSON that is no object"
        raise ProviderError(message, "invalid_body", "check the address")
    return found
