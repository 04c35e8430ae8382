"""What is below an open folder, opened step by step without ever following a symbolic link.

A path that was checked and is then opened by name may mean another file by then. Here each step is opened relative to
the folder before, so what is below the start stays below it.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Found(NamedTuple):
    """One entry below the start. Its folder is open as long as nothing else is asked for."""

    path: str
    mode: int
    size: int
    folder: int
    name: str


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


def found(start: int, paths: Iterable[str]) -> Iterator[Found]:
    """Those of `paths` that are below the folder `start` now, and are reached without following a link."""
    held: str | None = None
    folder = -1
    try:
        for path in paths:
            parent, _, name = path.rpartition("/")
            try:
                if parent != held:
                    if held is not None:
                        held = None
                        os.close(folder)
                    folder = open_folder(start, parent.split("/") if parent else [])
                    held = parent
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except OSError:
                continue
            yield Found(path, status.st_mode, status.st_size, folder, name)
    finally:
        if held is not None:
            os.close(folder)
