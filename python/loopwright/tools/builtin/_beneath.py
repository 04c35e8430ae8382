"""Walking folders without ever following a symbolic link, from an open folder downwards.

A path that was checked and is then opened by name may mean another file by then. Here each step is opened relative to
the folder before, so what is below the start stays below it. Standard library only: the search worker runs this file
alone, outside the package.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SKIPPED = frozenset(
    {".git", ".hg", ".svn", "node_modules", "target", ".venv", "venv", "__pycache__", ".tox", ".nox"}
    | {".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".cache", ".idea"}
)
"""Folders that hold what others made: nobody looks there unless asked."""

DEEPEST = 64
_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Found(NamedTuple):
    """One entry below the start."""

    path: str
    is_folder: bool
    is_link: bool
    size: int
    mode: int


def open_folder(start: int, steps: Sequence[str]) -> int:
    """A descriptor of the folder that `steps` lead to from the folder `start`."""
    current = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=start) if not steps else start
    for index, step in enumerate(steps):
        last = index == len(steps) - 1
        flags = (os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC) if last else _STEP
        try:
            following = os.open(step, flags, dir_fd=current)
        finally:
            if current != start:
                os.close(current)
        current = following
    return current


def open_regular(folder: int, name: str) -> int:
    """A descriptor of a regular file for reading; `IsADirectoryError` or `OSError` for anything else."""
    # Without O_NONBLOCK a named pipe would keep us waiting for a writer.
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    mode = os.fstat(file).st_mode
    if stat.S_ISREG(mode):
        return file
    os.close(file)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError
    raise SpecialFileError


class SpecialFileError(OSError):
    """A pipe, a socket or a device."""


def walk(start: int, *, depth: int = DEEPEST, most: int = 200_000) -> Iterator[Found]:
    """What is below the folder `start`, folders before what they hold, in order of names.

    Folders that can't be read are left out, and so is what is deeper than `depth` or more than `most` entries.
    """
    waiting: list[Found | None] = [None]
    seen = 0
    while waiting and seen < most:
        folder = waiting.pop()
        if folder is not None:
            yield folder
        path = folder.path if folder is not None else ""
        steps = path.split("/") if path else []
        if len(steps) >= depth:
            continue
        entries = _entries(start, path, steps, most - seen)
        seen += len(entries)
        folders: list[Found | None] = []
        for found in sorted(entries):
            if found.is_folder and found.path.rpartition("/")[2] not in SKIPPED:
                folders.append(found)
            else:
                yield found
        waiting.extend(reversed(folders))


def _entries(start: int, path: str, steps: list[str], most: int) -> list[Found]:
    entries: list[Found] = []
    try:
        descriptor = open_folder(start, steps)
    except OSError:
        return entries
    try:
        with os.scandir(descriptor) as listing:
            for entry in listing:
                if len(entries) >= most:
                    break
                found = _found(entry, path)
                if found is not None:
                    entries.append(found)
    except OSError:
        # What was read so far is better than nothing.
        pass
    finally:
        os.close(descriptor)
    return entries


def _found(entry: os.DirEntry[str], folder: str) -> Found | None:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    path = f"{folder}/{entry.name}" if folder else entry.name
    mode = status.st_mode
    return Found(path, stat.S_ISDIR(mode), stat.S_ISLNK(mode), status.st_size, mode)
