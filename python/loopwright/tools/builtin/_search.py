"""Finding files by name and by what they hold."""

from __future__ import annotations

import json
import os
import stat
import sys
from typing import TYPE_CHECKING, Annotated, Any

from loopwright.tools._errors import ToolError
from loopwright.tools._tool import tool

from . import _beneath, _process
from ._glob import Pattern

if TYPE_CHECKING:
    from ._workspace import Place, Workspace

__all__ = ["Searching"]

_MOST_FILES = 1_000
_MOST_HITS = 1_000
_LONGEST_PATTERN = 1_000
_SECONDS = 10.0


class Searching:
    """Tools that find things in a workspace. Folders of caches and dependencies are skipped."""

    def __init__(self, workspace: Workspace, *, seconds: float = _SECONDS) -> None:
        self._workspace = workspace
        self._seconds = seconds

    @tool(read_only=True, timeout=60)
    def glob_files(
        self,
        pattern: Annotated[str, "like **/*.py, src/*.{ts,tsx} or docs/**/index.md"],
        path: Annotated[str, "the folder to look in, relative to the workspace"] = ".",
    ) -> str:
        """Find files by name. '*' stays within a name, '**' goes through folders. Skips .git, node_modules etc."""
        try:
            compiled = Pattern(pattern)
        except ValueError as error:
            message = f"{pattern[:60]!r} is no pattern: {error}"
            raise ToolError(message, code="invalid_pattern", hint="use *, **, ?, [abc] and {a,b}") from error
        place = self._workspace.locate(path)
        found: list[str] = []
        more = False
        with self._workspace.folder(place) as folder:
            for each in _beneath.walk(folder):
                if each.is_folder or not compiled.matches(each.path):
                    continue
                if len(found) >= _MOST_FILES:
                    more = True
                    break
                found.append(_joined(place, each.path))
        if not found:
            return f"no file fits {pattern!r}" + ("" if "**" in pattern else "; '**/' goes into folders")
        if more:
            found.append(f"[more than {_MOST_FILES} files: narrow the pattern]")
        return "\n".join(found)

    @tool(read_only=True)
    async def search_files(
        self,
        pattern: Annotated[str, "a regular expression of Python, matched line by line"],
        path: Annotated[str, "the folder or file to look in, relative to the workspace"] = ".",
        glob: Annotated[str | None, "only files that fit, like *.py or src/**/*.rs"] = None,
        ignore_case: Annotated[bool, "whether A is a"] = False,  # noqa: FBT002
        max_hits: Annotated[int, "at most this many lines"] = 100,
    ) -> str:
        """Search the text of files. Gives path:line: text. Skips .git, node_modules and the like, and binary files."""
        if not pattern or len(pattern) > _LONGEST_PATTERN or "\0" in pattern:
            message = f"a pattern has 1 to {_LONGEST_PATTERN} characters"
            raise ToolError(message, code="invalid_pattern", hint="shorten it")
        if glob:
            try:
                Pattern(glob)
            except ValueError as error:
                message = f"{glob[:60]!r} is no pattern of paths: {error}"
                raise ToolError(message, code="invalid_pattern", hint="use *, **, ?, [abc] and {a,b}") from error
        place = self._workspace.locate(path)
        order = {
            "pattern": pattern,
            "glob": glob,
            "ignore_case": ignore_case,
            "most": min(max(max_hits, 1), _MOST_HITS),
            "seconds": self._seconds,
        }
        if _is_file(place):
            with self._workspace.file(place), self._workspace.parent(place) as (folder, name):
                finished = await self._work({**order, "folder": folder, "file": name, "glob": None}, folder)
            base = _above(place)
        else:
            with self._workspace.folder(place) as folder:
                finished = await self._work({**order, "folder": folder, "file": None}, folder)
            base = place
        return self._told(finished, pattern, base)

    async def _work(self, order: dict[str, Any], folder: int) -> _process.Finished:
        if not sys.executable:
            message = "there is no Python program to search with"
            raise ToolError(message, code="unavailable", hint="use the shell")
        worker = os.path.join(os.path.dirname(__file__), "_search_worker.py")  # noqa: PTH118, PTH120
        return await _process.run(
            [sys.executable, "-I", "-S", "-B", worker, json.dumps(order)],
            cwd="/",
            env={"LC_ALL": "C.UTF-8"},
            timeout=self._seconds,
            keep=8 * 1024 * 1024,
            most=16 * 1024 * 1024,
            pass_fds=(folder,),
        )

    def _told(self, finished: _process.Finished, pattern: str, base: Place) -> str:
        lines: list[str] = []
        closing: dict[str, Any] = {}
        for raw in (finished.head + finished.tail).splitlines():
            try:
                said = json.loads(raw)
            except ValueError:
                continue
            if "path" in said:
                lines.append(f"{_joined(base, said['path'])}:{said['line']}: {said['text']}")
            else:
                closing.update(said)
        if "error" in closing:
            message = f"{pattern[:100]!r} is no regular expression: {closing['error']}"
            raise ToolError(message, code="invalid_pattern", hint="escape ( ) [ ] { } . * + ? with a backslash")
        if finished.stopped is None and "files" not in closing:
            message = f"the search ended early (status {finished.returncode})"
            raise ToolError(message, code="search_failed", hint="search fewer files with glob, or use the shell")
        if finished.stopped is not None:
            if not lines:
                message = f"the search for {pattern[:100]!r} did not end within {self._seconds:g} s"
                raise ToolError(
                    message, code="timeout", hint="avoid nested repeats like (a+)+, or search fewer files with glob"
                )
            lines.append(f"[stopped after {self._seconds:g} s: there may be more]")
        elif closing.get("more"):
            lines.append("[there are more: narrow the search, or raise max_hits]")
        if not lines:
            skipped = f", {closing['skipped']} skipped" if closing.get("skipped") else ""
            return f"no line fits ({closing.get('files', 0)} files searched{skipped})"
        return "\n".join(lines)


def _is_file(place: Place) -> bool:
    try:
        return not stat.S_ISDIR(os.lstat(place.real).st_mode)
    except OSError:
        return False


def _joined(base: Place, path: str) -> str:
    return path if base.shown == "." else f"{base.shown}/{path}"


def _above(place: Place) -> Place:
    from ._workspace import Place

    return Place(place.start, place.steps[:-1], place.shown.rpartition("/")[0] or ".")
