"""Finding files by name and by what they hold."""

from __future__ import annotations

import os
import stat
import time
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

from loopwright._core import LinePattern
from loopwright.tools._context import RunContext  # noqa: TC001 - the engine reads the signature
from loopwright.tools._errors import ToolError
from loopwright.tools._tool import tool

from ._beneath import open_regular

if TYPE_CHECKING:
    from collections.abc import Generator

    from ._workspace import Place, Workspace

__all__ = ["Searching"]

_MOST_FILES = 1_000
_MOST_HITS = 1_000
_LARGEST = 20 * 1024 * 1024
_SECONDS = 10.0


class Searching:
    """Tools that find things in a workspace. What ignore files name, caches and dependencies are left out."""

    def __init__(self, workspace: Workspace, *, seconds: float = _SECONDS) -> None:
        self._workspace = workspace
        self._seconds = seconds

    @tool(read_only=True, timeout=60)
    def glob_files(
        self,
        pattern: Annotated[str, "like **/*.py, src/*.{ts,tsx} or docs/**/index.md"],
        path: Annotated[str, "the folder to look in, relative to the workspace"] = ".",
    ) -> str:
        """Find files by name. '*' stays within a name, '**' goes through folders.

        Leaves out what .gitignore names, and .git, node_modules etc.; to look there, name the folder as path.
        """
        place = self._workspace.locate(path)
        found: list[str] = []
        with closing(self._workspace.walk(place, glob=pattern)) as entries:
            for each in entries:
                if len(found) >= _MOST_FILES:
                    found.append(f"[more than {_MOST_FILES} files: narrow the pattern]")
                    break
                found.append(_joined(place, each.path))
        if not found:
            return f"no file fits {pattern!r}" + ("" if "**" in pattern else "; '**/' goes into folders")
        return "\n".join(found)

    @tool(read_only=True, timeout=60)
    def search_files(
        self,
        pattern: Annotated[
            str, "a regular expression, matched line by line; without look-ahead, look-behind and back-references"
        ],
        context: RunContext[Any],
        path: Annotated[str, "the folder or file to look in, relative to the workspace"] = ".",
        glob: Annotated[str | None, "only files that fit, like *.py or src/**/*.rs"] = None,
        ignore_case: Annotated[bool, "whether A is a"] = False,  # noqa: FBT002
        max_hits: Annotated[int, "at most this many lines"] = 100,
    ) -> str:
        """Search the text of files. Gives path:line: text.

        Leaves out binary files, what .gitignore names, and .git, node_modules etc.; to look there, name it as path.
        """
        expression = LinePattern(pattern, ignore_case=ignore_case)
        left = min(max(max_hits, 1), _MOST_HITS)
        end = time.monotonic() + self._seconds
        lines: list[str] = []
        files = skipped = 0
        ended = None

        def is_cancelled() -> bool:
            return context.cancelled

        with closing(self._files(self._workspace.locate(path), glob or None)) as found:
            for shown, folder, name in found:
                seconds = end - time.monotonic()
                if context.cancelled or seconds < 0:
                    ended = "over"
                    break
                data = _data(folder, name)
                searched = None if data is None else expression.lines(data, left - len(lines), seconds, is_cancelled)
                if searched is None:
                    skipped += 1
                    continue
                files += 1
                hits, ended = searched
                lines.extend(f"{shown}:{number}: {text}" for number, text in hits)
                if ended is not None:
                    break
        if ended == "over":
            if not lines:
                message = f"the search for {pattern[:100]!r} did not end within {self._seconds:g} s"
                raise ToolError(message, code="timeout", hint="search fewer files with glob, or a folder below")
            lines.append(f"[stopped after {self._seconds:g} s: there may be more]")
        elif ended == "more":
            lines.append("[there are more: narrow the search, or raise max_hits]")
        if not lines:
            return f"no line fits ({files} files searched{f', {skipped} skipped' if skipped else ''})"
        return "\n".join(lines)

    def _files(self, place: Place, glob: str | None) -> Generator[tuple[str, int, str], None, None]:
        """How each regular file is shown, the folder that holds it, open, and its name there."""
        if _is_file(place):
            with self._workspace.file(place), self._workspace.parent(place) as (folder, name):
                yield place.shown, folder, name
            return
        with closing(self._workspace.walk(place, glob=glob, anywhere=True)) as entries:
            for each in entries:
                if stat.S_ISREG(each.mode):
                    yield _joined(place, each.path), each.folder, each.name


def _data(folder: int, name: str) -> bytes | None:
    """What a file holds; `None` if it can't be read or is too large."""
    try:
        with open(open_regular(folder, name), "rb") as file:  # noqa: PTH123 - a descriptor
            data = file.read(_LARGEST + 1)
    except OSError:
        return None
    return data if len(data) <= _LARGEST else None


def _is_file(place: Place) -> bool:
    try:
        return not stat.S_ISDIR(os.lstat(place.real).st_mode)
    except OSError:
        return False


def _joined(base: Place, path: str) -> str:
    return path if base.shown == "." else f"{base.shown}/{path}"
