"""What is at hand, as a search: a folder, a list of documents, or anything that can search already."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .errors import UsageError

__all__ = ["corpus_of"]

_TEXT = {".md", ".txt", ".rst", ".html", ".htm", ".json", ".yaml", ".yml", ".toml", ".csv", ".py", ".rs", ".adoc"}
_MOST_FILES = 2_000
_MOST_BYTES = 1_000_000
_SHORTEST = 3
_WORD = re.compile(r"\w+")


def corpus_of(given: Any) -> Any:
    """An object with `search`."""
    if callable(getattr(given, "search", None)):
        return given
    if isinstance(given, (str, os.PathLike)):
        folder = Path(given)
        if not folder.exists():
            message = f"there is no folder {str(given)!r}"
            raise UsageError(message, "folder_not_found", "give the path of a folder with text files")
        return _Corpus(lambda: list(_files(folder)))
    if isinstance(given, Iterable) and not isinstance(given, (bytes, Mapping)):
        documents = [_document(each, at) for at, each in enumerate(given)]
        return _Corpus(lambda: documents)
    message = f"corpus can't be {given!r:.100}"
    raise UsageError(message, "invalid_option", "give a folder, a list of documents, or an object with search")


def _document(given: Any, at: int) -> dict[str, str]:
    if isinstance(given, str):
        return {"title": "", "url": f"document {at + 1}", "text": given}
    if isinstance(given, Mapping) and isinstance(given.get("text"), str):
        return {
            "title": str(given.get("title") or ""),
            "url": str(given.get("url") or f"document {at + 1}"),
            "text": given["text"],
        }
    message = f"document {at + 1} holds no text"
    raise UsageError(
        message, "invalid_option", "give texts, or dicts with text, and title and url where they have them"
    )


def _files(folder: Path) -> Iterable[dict[str, str]]:
    paths = [folder] if folder.is_file() else sorted(folder.rglob("*"))
    seen = 0
    for path in paths:
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts) if path != folder else False
        if hidden or path.suffix.lower() not in _TEXT or not path.is_file() or path.stat().st_size > _MOST_BYTES:
            continue
        try:
            text = path.read_text("utf-8", "replace")
        except OSError:
            continue
        title = ""
        if path.suffix.lower() in (".html", ".htm"):
            from .tools.builtin._html import to_text

            title, text = to_text(text)
        elif path.suffix.lower() == ".md":
            title = next((line.lstrip("# ") for line in text.splitlines() if line.startswith("# ")), "")
        name = path.name if path == folder else path.relative_to(folder).as_posix()
        yield {"title": title or name, "url": name, "text": text}
        seen += 1
        if seen >= _MOST_FILES:
            return


def _words(text: str) -> list[str]:
    return [word[:6] for word in _WORD.findall(text.lower()) if len(word) >= _SHORTEST]


class _Corpus:
    """Documents ranked by the words that they share with a query."""

    def __init__(self, read: Any) -> None:
        self._read = read
        self._documents: list[tuple[dict[str, str], Counter[str]]] | None = None

    def search(self, query: str, k: int) -> list[dict[str, str]]:
        """The best documents, whole."""
        if self._documents is None:
            self._documents = [(each, Counter(_words(f"{each['title']} {each['text']}"))) for each in self._read()]
        words = set(_words(query))
        many = len(self._documents) or 1
        average = sum(counts.total() for _, counts in self._documents) / many or 1.0
        holding = {word: sum(word in counts for _, counts in self._documents) for word in words}
        scored = []
        for at, (document, counts) in enumerate(self._documents):
            length = 0.25 + 0.75 * counts.total() / average
            score = sum(
                math.log(1 + (many - holding[word] + 0.5) / (holding[word] + 0.5))
                * counts[word]
                * 2.2
                / (counts[word] + 1.2 * length)
                for word in sorted(words)
                if counts[word]
            )
            if score > 0:
                scored.append((-score, at, document))
        return [
            {**document, "snippet": document["text"][:200]}
            for _, _, document in sorted(scored, key=lambda one: one[:2])[:k]
        ]
