"""Passages of folders by their meaning, for grounded answers that are given an embedder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._gather import beside
from ._lookups import vectors_of
from ._vector_cache import VectorCache, content_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["FolderSource"]

_HITS = 5
_MOST = 5_000
"""Passages of the folders that are embedded; more are left to their words."""
_BATCH = 64
_SHORT, _LONG = 600, 1_200
"""Characters of a passage: it ends at the first empty line behind the one, and at any line behind the other."""


class FolderSource:
    """The passages of folders that are nearest to the question. Their vectors are made once, and kept."""

    def __init__(self, folders: tuple[str, ...], embedder: Callable[[list[str]], Any], hits: int = _HITS) -> None:
        self.name = "embedder"
        self._folders = folders
        self.embedder = embedder
        self._hits = hits
        # Their number is bounded by that of the passages.
        self._known = VectorCache(float("inf"))

    async def find(self, question: str) -> list[dict[str, Any]]:
        pieces: list[tuple[str, int, str]] = await beside(self._read)
        if not pieces:
            return []
        keys = [content_key("", text) for _, _, text in pieces]
        known = self._known.found(keys)
        missing = {key: text for key, (_, _, text) in zip(keys, pieces, strict=True) if key not in known}
        waiting = list(missing.items())
        for at in range(0, len(waiting), _BATCH):
            batch = waiting[at : at + _BATCH]
            made = await vectors_of(self.embedder, [text for _, text in batch])
            new = dict(zip((key for key, _ in batch), map(_unit, made), strict=True))
            self._known.keep(new)
            known.update(new)
        asked = _unit((await vectors_of(self.embedder, [question]))[0])
        best: list[int] = await beside(self._best, [known[key] for key in keys], asked)
        return [_document(*pieces[at]) for at in best]

    def _read(self) -> list[tuple[str, int, str]]:
        from . import _core

        index = _core.LocalIndex.of_folders(list(self._folders))
        found: list[tuple[str, int, str]] = []
        for at in range(len(index)):
            name, text = index.document(at) or ("", "")
            for line, piece in _pieces(text):
                found.append((name, line, piece))
                if len(found) >= _MOST:
                    return found
        return found

    def _best(self, vectors: list[list[float]], asked: list[float]) -> list[int]:
        scores = [_cosine(vector, asked) for vector in vectors]
        order = sorted(range(len(vectors)), key=lambda at: (-scores[at], at))
        return order[: self._hits]


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Passages, each with its first line."""
    start, held, length = 1, [], 0
    for number, line in enumerate(text.splitlines(), 1):
        held.append(line)
        length += len(line) + 1
        if (length >= _SHORT and not line.strip()) or length >= _LONG:
            if length > held.count("") + 1 and "".join(held).strip():
                yield start, "\n".join(held)[: _LONG * 4]
            start, held, length = number + 1, [], 0
    if "".join(held).strip():
        yield start, "\n".join(held)[: _LONG * 4]


def _document(name: str, line: int, text: str) -> dict[str, Any]:
    # The empty lines before it give it the place that it has in its file.
    whole = "\n" * (line - 1) + text.encode("utf-8", "replace").decode()
    return {"kind": "file", "reference": name, "text": whole, "found": True}


def _unit(vector: list[float]) -> list[float]:
    length = sum(value * value for value in vector) ** 0.5
    return [value / length for value in vector] if length else vector


def _cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=False))
