"""Writing and editing files: whole or not at all.

A new version is written beside the old one and takes its place in one step, so a crash leaves one of the two. What
the file was (encoding, line ends, permissions) it stays.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import Counter
from typing import TYPE_CHECKING, Annotated

from loopwright.tools._errors import ToolError
from loopwright.tools._tool import tool

from ._beneath import open_regular
from ._text import decode, is_binary

if TYPE_CHECKING:
    from ._workspace import Place, Workspace

__all__ = ["Writing"]

_LARGEST = 10 * 1024 * 1024
_SHOWN_LINES = 10


class Writing:
    """Tools that change files of a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @tool(risk="cautious", idempotent=True, timeout=60)
    def write_file(
        self,
        path: Annotated[str, "the file, relative to the workspace; missing folders are made"],
        content: Annotated[str, "the whole new content"],
    ) -> str:
        """Write a file, new or in place of the old one. To change a part of a file use edit_file."""
        place = self._workspace.locate(path)
        data = _encoded(content)
        if len(data) > _LARGEST:
            message = f"{len(data):,} bytes are more than a file may have"
            raise ToolError(message, code="file_too_large", hint=f"at most {_LARGEST:,} bytes")
        with self._workspace.parent(place, create=True) as (folder, name):
            try:
                old = _old(folder, name)
                _replace(folder, name, data)
            except OSError as error:
                raise self._workspace.failure(error, place) from error
        lines = _count(content)
        if old is None:
            return f"created {place.shown} ({lines} lines, {len(data):,} bytes)"
        before = Counter(decode(old).text.splitlines())
        after = Counter(content.splitlines())
        added, removed = (after - before).total(), (before - after).total()
        return f"replaced {place.shown} ({lines} lines, {len(data):,} bytes; +{added} -{removed} lines)"

    @tool(risk="cautious", timeout=60)
    def edit_file(
        self,
        path: Annotated[str, "the file, relative to the workspace"],
        old_text: Annotated[str, "the text to replace, exactly as it stands in the file, without line numbers"],
        new_text: Annotated[str, "the text to put there"],
        replace_all: Annotated[bool, "replace every occurrence; otherwise there must be exactly one"] = False,  # noqa: FBT002
    ) -> str:
        """Replace a piece of text in a file."""
        if not old_text:
            message = "old_text is empty"
            raise ToolError(message, code="no_match", hint="give the text to replace; new files are for write_file")
        if old_text == new_text:
            message = "old_text and new_text are the same"
            raise ToolError(message, code="no_change", hint="nothing to do")
        place = self._workspace.locate(path)
        with self._workspace.parent(place) as (folder, name):
            try:
                data, status = _whole(folder, name, place)
                file = decode(data)
                old, new = _with_line_ends(file.text, old_text, new_text)
                edited, first, count = _edited(file.text, old, new, place, every=replace_all)
                try:
                    encoded = file.encode(edited)
                except UnicodeEncodeError as error:
                    message = f"{place.shown!r} is {file.encoding}, which has no {error.object[error.start]!r}"
                    raise ToolError(message, code="encoding", hint="use plain letters, or rewrite the file") from error
                _unchanged(folder, name, status, place)
                _replace(folder, name, encoded)
            except OSError as error:
                raise self._workspace.failure(error, place) from error
        where = f"line {first}" if count == 1 else f"{count} places, the first at line {first}"
        return f"edited {place.shown} at {where}\n{_snippet(edited, first, new)}"


def _encoded(content: str) -> bytes:
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        message = f"the content holds a broken character at {error.start}"
        raise ToolError(message, code="encoding", hint="write plain Unicode") from error


def _count(content: str) -> int:
    return content.count("\n") + (1 if content and not content.endswith("\n") else 0)


def _old(folder: int, name: str) -> bytes | None:
    """The file as it is, for the report; its first bytes if it is large."""
    try:
        descriptor = open_regular(folder, name)
    except FileNotFoundError:
        return None
    except PermissionError:
        # Not readable, but perhaps writable.
        return b""
    with open(descriptor, "rb") as file:  # noqa: PTH123
        return file.read(_LARGEST)


def _whole(folder: int, name: str, place: Place) -> tuple[bytes, os.stat_result]:
    with open(open_regular(folder, name), "rb") as file:  # noqa: PTH123
        status = os.fstat(file.fileno())
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        message = f"{place.shown!r} has more than {_LARGEST:,} bytes"
        raise ToolError(message, code="file_too_large", hint="edit it with the shell")
    if is_binary(data[:8192]):
        message = f"{place.shown!r} is a binary file"
        raise ToolError(message, code="binary_file", hint="only text can be edited")
    return data, status


def _with_line_ends(text: str, old: str, new: str) -> tuple[str, str]:
    """A model writes plain line feeds; a file of Windows has a carriage return before each."""
    if "\r\n" not in text or "\r" in old or (old in text and "\n" not in old + new):
        return old, new
    if text.count("\r\n") != text.count("\n"):
        return old, new
    return old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")


def _edited(text: str, old: str, new: str, place: Place, *, every: bool) -> tuple[str, int, int]:
    places = _occurrences(text, old)
    if not places:
        message = f"old_text is not in {place.shown!r}"
        raise ToolError(message, code="no_match", hint=_near(text, old))
    if len(places) > 1 and not every:
        numbers = ", ".join(str(text.count("\n", 0, each) + 1) for each in places[:_SHOWN_LINES])
        more = ", …" if len(places) > _SHOWN_LINES else ""
        message = f"old_text is in {place.shown!r} {len(places)} times, at lines {numbers}{more}"
        raise ToolError(message, code="many_matches", hint="add lines around it until it is unique, or set replace_all")
    if len(text) + len(places) * (len(new) - len(old)) > _LARGEST:
        message = f"{place.shown!r} would have more than {_LARGEST:,} characters"
        raise ToolError(message, code="file_too_large", hint="replace less at once")
    return text.replace(old, new), text.count("\n", 0, places[0]) + 1, len(places)


def _occurrences(text: str, old: str) -> list[int]:
    found: list[int] = []
    position = text.find(old)
    while position >= 0:
        found.append(position)
        position = text.find(old, position + len(old))
    return found


def _near(text: str, old: str) -> str:
    """Where it stands but for spaces, or where its first line stands."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    wanted = [" ".join(line.split()) for line in old.splitlines()]
    wanted = wanted or [""]
    firsts = [index for index, line in enumerate(lines) if wanted[0] and line == wanted[0]]
    for index in firsts[:1000]:
        if lines[index : index + len(wanted)] == wanted:
            return f"it stands at line {index + 1} with other spaces or line ends: copy it exactly"
    if firsts:
        return f"only its first line stands there, at line {firsts[0] + 1}: read the file again"
    return "read the file and copy the text exactly, without line numbers"


def _unchanged(folder: int, name: str, status: os.stat_result, place: Place) -> None:
    now = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if (now.st_ino, now.st_mtime_ns, now.st_size) != (status.st_ino, status.st_mtime_ns, status.st_size):
        message = f"{place.shown!r} was changed by somebody else just now"
        raise ToolError(message, code="conflict", hint="read it again, then edit")


def _replace(folder: int, name: str, data: bytes) -> None:
    mode = None
    try:
        present = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        pass
    else:
        if stat.S_ISDIR(present.st_mode):
            raise IsADirectoryError
        if stat.S_ISLNK(present.st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        # Replacing needs no right to the file itself; a file that is marked read-only shall stay so.
        if not os.access(name, os.W_OK, dir_fd=folder):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        mode = stat.S_IMODE(present.st_mode)
    temporary = f".{name[:200]}.{os.urandom(6).hex()}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o666, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123
            file.write(data)
            file.flush()
            os.fsync(descriptor)
            if mode is not None:
                os.fchmod(descriptor, mode)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(temporary, dir_fd=folder)
        raise


def _snippet(text: str, first: int, new: str) -> str:
    lines = text.splitlines()
    begin = max(first - 3, 0)
    end = min(first + min(new.count("\n"), 20) + 2, len(lines))
    return "\n".join(f"{begin + index + 1:>6}\t{line[:300]}" for index, line in enumerate(lines[begin:end]))
