"""What is at hand, as a search of whole documents: a folder, documents, or anything that can search already."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import unquote

from .errors import UsageError

__all__ = ["corpus_of"]

_PATIENCE = 600.0
"""Seconds: the first search reads all files."""


def corpus_of(given: Any) -> Any:
    """An object with `search`."""
    if callable(getattr(given, "search", None)) and not isinstance(given, (str, os.PathLike)):
        return given
    if isinstance(given, bytes):
        message = f"corpus can't be {given!r:.100}"
        raise UsageError(message, "invalid_option", "give a folder, a list of documents, or an object with search")
    return _Corpus(given)


class _Corpus:
    """Documents by their names: where a folder lies says nothing about what stands in it."""

    def __init__(self, given: Any) -> None:
        from .search import LocalCorpus

        self._corpus = LocalCorpus(given, timeout=_PATIENCE)

    @property
    def problems(self) -> list[str]:
        """What could not be read: path and reason. Known after the first query."""
        return self._corpus.problems

    async def search(self, query: str, k: int) -> list[dict[str, str]]:
        """The best documents, whole."""
        found = []
        for hit in await self._corpus.search(query, k):
            url, title, text = hit.url, hit.title, hit.text or hit.snippet
            if url.startswith("file:"):
                url = title
            elif url.startswith("local:"):
                url = unquote(url.partition("#")[0].removeprefix("local:"))
            if title == url:
                title = _heading(text) or title
            found.append({"title": title, "url": url, "snippet": hit.snippet, "text": text})
        return found


def _heading(text: str) -> str:
    """The first heading of Markdown, if it begins with one."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return first[2:].strip() if first.startswith("# ") else ""
