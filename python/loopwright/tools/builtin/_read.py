"""Reading files and folders. Whatever their size, memory and answer stay small."""

from __future__ import annotations

import os
import stat
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, BinaryIO

from loopwright.tools._errors import ToolError
from loopwright.tools._result import image_type
from loopwright.tools._tool import tool

from ._text import decode, is_binary

if TYPE_CHECKING:
    from ._beneath import Found
    from ._workspace import Place, Workspace

__all__ = ["Reading"]

_MOST_CHARACTERS = 40_000
_MOST_LINES = 2_000
_LONGEST_LINE = 2_000
_SCANNED = 256 * 1024 * 1024
_WHOLE = 8 * 1024 * 1024
_PIECE = 64 * 1024
_MOST_ENTRIES = 1_000


class Reading:
    """Tools that look at a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @tool(read_only=True, timeout=60, max_output=_MOST_CHARACTERS + 4_000)
    def read_file(
        self,
        path: Annotated[str, "the file, relative to the workspace"],
        start_line: Annotated[int, "the first line to show, counted from 1"] = 1,
        end_line: Annotated[int | None, "the last line to show; without it as many as fit"] = None,
    ) -> str:
        """Read a text file. Lines come with their numbers; long files come in parts."""
        if start_line < 1 or (end_line is not None and end_line < start_line):
            message = f"lines {start_line} to {end_line} are no range"
            raise ToolError(message, code="invalid_range", hint="start_line counts from 1; end_line is not before it")
        place = self._workspace.locate(path)
        with self._workspace.file(place) as descriptor, open(descriptor, "rb", closefd=False) as file:
            size = os.fstat(descriptor).st_size
            head = file.read(8192)
            if is_binary(head):
                raise _binary(place, head, size)
            file.seek(0)
            if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
                return _read_wide(file, place, start_line, end_line)
            return _read_lines(file, place, start_line, end_line)

    @tool(read_only=True, timeout=60)
    def list_folder(
        self,
        path: Annotated[str, "the folder, relative to the workspace"] = ".",
        depth: Annotated[int, "how many levels to show, 1 to 5"] = 1,
    ) -> str:
        """List a folder: folders end with '/', files come with their size in bytes, links with where they lead.

        Leaves out what .gitignore names.
        """
        place = self._workspace.locate(path)
        lines: list[str] = []
        with closing(self._workspace.walk(place, depth=min(max(depth, 1), 5))) as entries:
            for found in entries:
                if len(lines) >= _MOST_ENTRIES:
                    lines.append(f"[more than {_MOST_ENTRIES} entries: list a folder below, or use glob_files]")
                    break
                lines.append(_entry_line(found))
        return "\n".join(lines) or "(empty folder)"


def _entry_line(found: Found) -> str:
    if stat.S_ISDIR(found.mode):
        return f"{found.path}/"
    if stat.S_ISLNK(found.mode):
        try:
            return f"{found.path} -> {os.readlink(found.name, dir_fd=found.folder)}"
        except OSError:
            return f"{found.path} -> ?"
    return f"{found.path} ({found.size:,})" if stat.S_ISREG(found.mode) else f"{found.path} (no regular file)"


def _binary(place: Place, head: bytes, size: int) -> ToolError:
    kind = image_type(head)
    what = f"a picture ({kind})" if kind else "a binary file"
    return ToolError(f"{place.shown!r} is {what} of {size:,} bytes", code="binary_file", hint="only text can be read")


def _read_lines(file: BinaryIO, place: Place, start: int, end: int | None) -> str:
    shown: list[bytes] = []
    number = 0
    size = 0
    last = min(end if end is not None else start + _MOST_LINES - 1, start + _MOST_LINES - 1)
    scanned = 0
    full = False
    while number < last:
        line, used = _line(file)
        if not used:
            break
        number += 1
        scanned += used
        if scanned > _SCANNED:
            message = f"{place.shown!r} is too large to read from line {start}"
            raise ToolError(message, code="file_too_large", hint="use search_files, or cut it with the shell")
        if number >= start:
            size += len(line) + 8
            if size > _MOST_CHARACTERS and shown:
                number -= 1
                full = True
                break
            shown.append(line)
    rest, complete = _count_lines(file, _SCANNED - scanned)
    total = number + rest + (1 if full else 0)
    if not shown:
        if total == 0:
            return "(empty file)"
        message = f"{place.shown!r} has {total:,} lines; there is no line {start}"
        raise ToolError(message, code="invalid_range", hint=f"start_line may be 1 to {total}")
    text, note = _decoded(shown)
    lines = [f"{start + index:>6}\t{each}" for index, each in enumerate(text)]
    if note:
        lines.append(note)
    finish = start + len(shown) - 1
    if finish < total and (end is None or finish < end):
        of = f"{total:,}" if complete else f"more than {total:,}"
        lines.append(f"[lines {start} to {finish} of {of}; go on with start_line={finish + 1}]")
    return "\n".join(lines)


def _line(file: BinaryIO) -> tuple[bytes, int]:
    """The next line, cut where it is too long, and how many bytes it took in the file."""
    line = file.readline(_LONGEST_LINE * 4)
    used = len(line)
    piece = line
    while piece and not piece.endswith(b"\n") and used < _SCANNED:
        piece = file.readline(_PIECE)
        used += len(piece)
    return line.rstrip(b"\r\n"), used


def _count_lines(file: BinaryIO, most: int) -> tuple[int, bool]:
    count = 0
    last = b"\n"
    while most > 0:
        piece = file.read(min(_PIECE * 16, most))
        if not piece:
            return count + (0 if last.endswith(b"\n") else 1), True
        count += piece.count(b"\n")
        most -= len(piece)
        last = piece[-1:]
    return count, False


def _decoded(lines: list[bytes]) -> tuple[list[str], str]:
    """Line by line, so that one bad line does not spoil the rest; a line that was cut may end inside a character."""
    found: list[str] = []
    odd = False
    for line in lines:
        cut = len(line) >= _LONGEST_LINE * 4
        text = decode(line)
        if cut and text.encoding == "latin-1":
            string = line.decode("utf-8", "ignore")
        else:
            string = text.text
            odd = odd or text.encoding == "latin-1"
        if len(string) > _LONGEST_LINE:
            string = f"{string[:_LONGEST_LINE]}… [line cut]"
        found.append(string)
    return found, "[not UTF-8: some lines are shown as Latin-1]" if odd else ""


def _read_wide(file: BinaryIO, place: Place, start: int, end: int | None) -> str:
    """UTF-16: read whole, since lines can't be told by bytes."""
    import io

    data = file.read(_WHOLE + 1)
    if len(data) > _WHOLE:
        message = f"{place.shown!r} is UTF-16 and larger than {_WHOLE:,} bytes"
        raise ToolError(message, code="file_too_large", hint="convert it to UTF-8 first")
    text = decode(data).text
    return _read_lines(io.BytesIO(text.encode("utf-8", "replace")), place, start, end)
