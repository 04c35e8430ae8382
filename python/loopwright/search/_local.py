"""A corpus at hand: files of folders, texts, or an index that somebody made."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from loopwright import _core
from loopwright._gather import beside
from loopwright.errors import UsageError

from ._base import Methodical, Search
from ._hit import Hit

__all__ = ["LocalCorpus"]


_DOCUMENTS = 500_000
"""Texts of a corpus in memory; whoever gives them may go on for ever."""


class LocalCorpus(Search):
    r"""Searches what is at hand; nothing leaves the machine.

    `source` is a folder or several (their text files, ignore files honoured), a dict of name to text, a list of texts
    (or of pairs, or of dicts with `title`, `url` and `text`), or an index with a `search(query, k)` method. Files are
    read when the first query comes. Hits carry their whole text.

    >>> corpus = LocalCorpus({"wings.md": "# Lift\n\nA wing lifts 3 kN.", "heat.md": "Heat flows."})
    >>> [(hit.url, hit.snippet) for hit in corpus.search_sync("what does a wing lift")]
    [('local:wings.md', 'A wing lifts 3 kN.')]
    """

    name = "LocalCorpus"

    def __init__(self, source: Any, **options: Any) -> None:
        super().__init__(**options)
        self._index: _core.LocalIndex | None = None
        self._inner: Search | None = None
        self._folders: list[str] = []
        self._titles: list[tuple[str, str]] = []
        if isinstance(source, (str, os.PathLike)):
            self._folders = [os.fspath(source)]
        elif isinstance(source, Mapping):
            self._take(source.items())
        elif callable(getattr(source, "search", None)):
            self._inner = Methodical(source.search, timeout=self.timeout)
        elif isinstance(source, Iterable):
            listed = list(islice(source, _DOCUMENTS + 1))
            if len(listed) > _DOCUMENTS:
                message = f"the corpus has more than {_DOCUMENTS:,} texts"
                raise UsageError(message, "invalid_value", "give a folder, or an index of your own with search")
            if listed and all(isinstance(each, os.PathLike) for each in listed):
                self._folders = [os.fspath(each) for each in listed]
            else:
                self._take(listed)
        else:
            message = f"a corpus is a folder, texts or an index, not {type(source).__name__}"
            raise UsageError(message, "invalid_value", "give a path, a dict of name to text, or a list of texts")
        for folder in self._folders:
            if not Path(folder).exists():
                message = f"the folder {folder} can't be read: it is not there"
                raise UsageError(message, "folder_not_found", "check the path of the folder")

    def _take(self, given: Iterable[Any]) -> None:
        texts: list[tuple[str, str]] = []
        for number, each in enumerate(given, 1):
            title, url, text = _document(each, number)
            texts.append((title, text))
            self._titles.append((title, url))
        self._index = _core.LocalIndex(texts)

    @property
    def problems(self) -> list[str]:
        """What could not be read: path and reason. Known after the first query."""
        return self._index.problems if self._index is not None else []

    async def find(self, query: str, k: int) -> list[Hit]:
        if self._inner is not None:
            return await self._inner.find(query, k)
        found: list[Hit] = await beside(self._found, query, k)
        return found

    def _found(self, query: str, k: int) -> list[Hit]:
        if self._index is None:
            self._index = _core.LocalIndex.of_folders(self._folders)
        hits = []
        for at, _, (start, end), _, line in self._index.search(query, k):
            document = self._index.document(at)
            if document is None:
                continue
            name, text = document
            title, url = self._titles[at] if self._titles else (name, self._place(name, line))
            hits.append(Hit(title, url, " ".join(text[start:end].split()), text))
        return hits

    def _place(self, name: str, line: int) -> str:
        from urllib.parse import quote

        if len(self._folders) == 1:
            root = Path(self._folders[0]).resolve()
            return (root if root.is_file() else root / name).as_uri() + f"#L{line}"
        return f"local:{quote(name)}#L{line}"

    def __repr__(self) -> str:
        held = f"{len(self._index)} texts" if self._index is not None else ", ".join(self._folders) or "an index"
        return f"<LocalCorpus {held}>"


def _document(each: Any, number: int) -> tuple[str, str, str]:
    """Title, address and text of what stands for a document."""
    from urllib.parse import quote

    title: Any
    text: Any
    url: Any
    if isinstance(each, str):
        title, text, url = f"text {number}", each, None
    elif isinstance(each, Hit):
        title, text, url = each.title, each.text or each.snippet, each.url
    elif isinstance(each, Mapping):
        text, url = each.get("text"), each.get("url")
        title = each.get("title") or each.get("name") or f"text {number}"
    elif isinstance(each, (tuple, list)) and len(each) == 2:  # noqa: PLR2004 - a pair
        (title, text), url = each, None
    else:
        title, text, url = "", None, None
    if not isinstance(text, str) or not isinstance(title, str):
        message = f"text {number} is {type(each).__name__}, not a text"
        raise UsageError(message, "invalid_value", "give texts, pairs of name and text, or dicts with a text")
    clean = text.encode("utf-8", "replace").decode()
    title = title.encode("utf-8", "replace").decode()
    return title, url if isinstance(url, str) and url else f"local:{quote(title)}", clean
