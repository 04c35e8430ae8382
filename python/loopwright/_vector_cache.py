"""Vectors that were made before, by the content of their texts: in memory, and in a file where there is one."""

from __future__ import annotations

import hashlib
import threading
from array import array
from collections import OrderedDict
from typing import TYPE_CHECKING

from .errors import UsageError

if TYPE_CHECKING:
    import os
    import sqlite3
    from collections.abc import Iterable

__all__ = ["VectorCache", "content_key", "shared_cache"]

_NUMBERS = 8 << 20
"""Numbers that the cache of the process holds: 64 MiB, some 5,000 vectors of 1,536 numbers."""


def content_key(maker: str, text: str) -> bytes:
    """What a text's vector is kept under; `maker` is whatever else decides about it."""
    content = b"\0".join(part.encode("utf-8", "surrogatepass") for part in (maker, text))
    return hashlib.blake2b(content, digest_size=16).digest()


class VectorCache:
    """Vectors by the content of their texts, the last used of them if there are more numbers than `numbers`.

    With `path` they are kept in that file as well, which several processes may share.
    """

    def __init__(self, numbers: float = _NUMBERS, path: str | os.PathLike[str] | None = None) -> None:
        self._most = numbers
        self._held: OrderedDict[bytes, array[float]] = OrderedDict()
        self._numbers = 0
        self._lock = threading.Lock()
        self._file = None if path is None else _opened(path)

    def found(self, keys: Iterable[bytes]) -> dict[bytes, list[float]]:
        """The vectors that are known."""
        known: dict[bytes, list[float]] = {}
        for key in keys:
            with self._lock:
                vector = self._held.get(key)
                if vector is not None:
                    self._held.move_to_end(key)
            if vector is None and self._file is not None:
                with self._lock:
                    row = self._file.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
                if row is not None:
                    vector = array("d", row[0])
                    self._hold(key, vector)
            if vector is not None:
                known[key] = vector.tolist()
        return known

    def keep(self, made: dict[bytes, list[float]]) -> None:
        """Keeps what was made."""
        packed = {key: array("d", vector) for key, vector in made.items()}
        for key, vector in packed.items():
            self._hold(key, vector)
        if self._file is not None:
            with self._lock, self._file:
                rows = [(key, vector.tobytes()) for key, vector in packed.items()]
                self._file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()

    def _hold(self, key: bytes, vector: array[float]) -> None:
        with self._lock:
            before = self._held.pop(key, None)
            self._numbers += len(vector) - (0 if before is None else len(before))
            self._held[key] = vector
            while self._numbers > self._most and self._held:
                self._numbers -= len(self._held.popitem(last=False)[1])


def _opened(path: str | os.PathLike[str]) -> sqlite3.Connection:
    import os
    import sqlite3

    try:
        file = sqlite3.connect(os.fspath(path), timeout=30.0, check_same_thread=False)
        file.execute("PRAGMA journal_mode = WAL")
        file.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID")
    except sqlite3.Error as error:
        message = f"the cache {os.fspath(path)!r} can't be opened: {error}"
        raise UsageError(message, "invalid_cache", "give the path of a file that a cache wrote, or of none") from error
    return file


_shared: dict[str | None, VectorCache] = {}
_sharing = threading.Lock()
_MOST_FILES = 16


def shared_cache(path: str | os.PathLike[str] | None) -> VectorCache:
    """The cache of this process: the one in memory, or that of a file."""
    import os

    name = None if path is None else os.path.abspath(os.fspath(path))  # noqa: PTH100 - no path of a text
    with _sharing:
        cache = _shared.get(name)
        if cache is None:
            files = [known for known in _shared if known is not None]
            if name is not None and len(files) >= _MOST_FILES:
                _shared.pop(files[0]).close()
            cache = _shared[name] = VectorCache(path=name)
    return cache


def _forget() -> None:
    """A forked child opens files of its own."""
    global _sharing  # noqa: PLW0603 - the parent's may be held by a thread that is not there
    _sharing = threading.Lock()
    _shared.clear()


def _register() -> None:
    import os

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forget)


_register()
