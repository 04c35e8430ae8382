"""The fence around a workspace: paths from a model, turned into open files that lie inside it.

A path is first resolved, links and all, and checked; then it is opened step by step without following links. Whoever
swaps a folder for a link in between gets an error, not a file outside.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from loopwright._core import FolderWalk
from loopwright.tools._errors import ToolDefinitionError, ToolError

from ._beneath import SpecialFileError, found, open_folder, open_regular

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from ._beneath import Found

__all__ = ["Place", "Workspace"]

_LONGEST_PATH = 4096
_MOST_STEPS = 100
_DEEPEST = 64
_MOST_ENTRIES = 200_000


class Place:
    """A checked path: where it starts, the steps from there, and how a model names it."""

    __slots__ = ("shown", "start", "steps")

    def __init__(self, start: str, steps: list[str], shown: str) -> None:
        self.start = start
        self.steps = steps
        self.shown = shown

    @property
    def real(self) -> str:
        """The path in the file system."""
        return os.path.join(self.start, *self.steps)  # noqa: PTH118 - pathlib is not loaded otherwise


class Workspace:
    """A folder, and the right to what is in it."""

    __slots__ = ("allow_outside", "root")

    def __init__(self, root: str | Path, *, allow_outside: bool = False) -> None:
        self.root = os.path.realpath(root)
        self.allow_outside = allow_outside
        if not os.path.isdir(self.root):  # noqa: PTH112
            message = f"the workspace {str(root)!r} is no folder"
            raise ToolDefinitionError(message, code="invalid_workspace", hint="make it first")

    def locate(self, path: str) -> Place:
        """`path` as a model wrote it, checked. It need not exist."""
        if not path or "\0" in path or len(path) > _LONGEST_PATH or path.count("/") > _MOST_STEPS:
            message = f"{path[:60]!r} is no path"
            raise ToolError(
                message, code="invalid_path", hint="give a path relative to the workspace, like src/main.py"
            )
        try:
            wanted = os.path.expanduser(path) if path == "~" or path.startswith("~/") else path  # noqa: PTH111
            real = os.path.realpath(os.path.join(self.root, wanted))  # noqa: PTH118
        except (OSError, ValueError) as error:
            message = f"{path[:60]!r} is no path: {error}"
            raise ToolError(message, code="invalid_path", hint="check the spelling") from error
        fence = self.root.rstrip("/") + "/"
        if real == self.root or real.startswith(fence):
            relative = real[len(fence) :]
            return Place(self.root, relative.split("/") if relative else [], relative or ".")
        if self.allow_outside:
            return Place("/", [step for step in real.split("/") if step], real)
        message = f"{path!r} leads out of the workspace"
        raise ToolError(message, code="outside_workspace", hint="stay inside; paths are relative to the workspace")

    @contextmanager
    def folder(self, place: Place) -> Iterator[int]:
        """The folder at `place`, open."""
        with self._told(place):
            start = os.open(place.start, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                descriptor = open_folder(start, place.steps)
            finally:
                os.close(start)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def parent(self, place: Place, *, create: bool = False) -> Iterator[tuple[int, str]]:
        """The folder that holds `place`, open, and the name in it. `create` makes what is missing on the way."""
        if not place.steps:
            message = f"{place.shown!r} is a folder"
            raise ToolError(message, code="is_a_folder", hint="name a file in it")
        *steps, name = place.steps
        with self._told(place):
            start = os.open(place.start, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                if create:
                    _make(start, steps)
                descriptor = open_folder(start, steps)
            finally:
                os.close(start)
        try:
            yield descriptor, name
        finally:
            os.close(descriptor)

    @contextmanager
    def file(self, place: Place) -> Iterator[int]:
        """The regular file at `place`, open for reading."""
        with self.parent(place) as (folder, name):
            with self._told(place):
                descriptor = open_regular(folder, name)
            try:
                yield descriptor
            finally:
                os.close(descriptor)

    def walk(
        self, place: Place, *, depth: int = _DEEPEST, glob: str | None = None, anywhere: bool = False
    ) -> Generator[Found, None, None]:
        """What is below the folder `place`, folders before what they hold, in order of names.

        Left out is what ignore files name; folders of caches and dependencies are there, and nothing in them. With
        `glob` only what fits and is no folder is there; with `anywhere` it is enough that the name alone fits.
        """
        paths = FolderWalk(place.real, depth=depth, most=_MOST_ENTRIES, glob=glob, anywhere=anywhere)
        with self.folder(place) as start:
            yield from found(start, paths)

    @contextmanager
    def _told(self, place: Place) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self.failure(error, place) from error

    def failure(self, error: OSError, place: Place) -> ToolError:
        """What an error of the system means, for a model."""
        name = place.shown
        if isinstance(error, SpecialFileError):
            return ToolError(f"{name!r} is a pipe, socket or device", code="not_a_file", hint="give a regular file")
        if isinstance(error, FileNotFoundError):
            return ToolError(f"{name!r} does not exist", code="file_not_found", hint=self._near(place))
        if isinstance(error, IsADirectoryError):
            return ToolError(f"{name!r} is a folder", code="is_a_folder", hint="list it with list_folder")
        if isinstance(error, NotADirectoryError):
            if _is_link(place):
                return _swapped(name)
            return ToolError(f"{name!r}: a part of the path is no folder", code="not_a_folder", hint=self._near(place))
        if isinstance(error, PermissionError):
            return ToolError(f"{name!r}: permission denied", code="permission_denied", hint="ask the user for access")
        if error.errno == errno.ELOOP:
            return _swapped(name)
        text = error.strerror or type(error).__name__
        return ToolError(f"{name!r}: {text.lower()}", code="file_error", hint="try another path")

    def _near(self, place: Place) -> str:
        """What is there instead: the nearest folder that exists, and names in it that look alike."""
        import difflib

        steps = list(place.steps)
        while steps:
            missing = steps.pop()
            folder = os.path.join(place.start, *steps)  # noqa: PTH118
            try:
                with os.scandir(folder) as listing:
                    names = [entry.name for entry, _ in zip(listing, range(2000), strict=False)]
            except OSError:
                continue
            prefix = f"{'/'.join(steps)}/" if steps else ""
            lower = {name.lower(): name for name in names}
            close = difflib.get_close_matches(missing.lower()[:200], lower, n=3, cutoff=0.6)
            if close:
                return f"did you mean {' or '.join(repr(prefix + lower[name]) for name in close)}?"
            shown = ", ".join(sorted(names)[:10]) or "nothing"
            return f"{prefix or './'} holds {shown}{', …' if len(names) > 10 else ''}"  # noqa: PLR2004 - a line
        return "look around with list_folder"


def _swapped(name: str) -> ToolError:
    message = f"{name!r} turned into a symbolic link, or is a circle of links"
    return ToolError(message, code="outside_workspace", hint="use the path of the file itself")


def _is_link(place: Place) -> bool:
    path = place.start
    for step in place.steps:
        path = f"{path.rstrip('/')}/{step}"
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            return False
        if stat.S_ISLNK(mode):
            return True
    return False


def _make(start: int, steps: list[str]) -> None:
    current = start
    try:
        for step in steps:
            with suppress(FileExistsError):
                os.mkdir(step, dir_fd=current)
            following = open_folder(current, [step])
            if current != start:
                os.close(current)
            current = following
    finally:
        if current != start:
            os.close(current)
