"""Bytes of files as text, and back without loss.

UTF-8 where it is UTF-8; else UTF-16 with a mark; else Latin-1, in which every byte is a character. Binary files are
told by what is in them, not by their names.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Decoded", "decode", "is_binary"]

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_UTF8_MARK = b"\xef\xbb\xbf"


class Decoded(NamedTuple):
    """A text and how to write it back."""

    text: str
    encoding: str
    mark: bytes

    def encode(self, text: str) -> bytes:
        """`text` in the bytes that the file uses. `UnicodeEncodeError` if it can't."""
        return self.mark + text.encode(self.encoding)


def is_binary(head: bytes) -> bool:
    """Whether a file that begins so is no text."""
    return b"\0" in head and not head.startswith(_UTF16)


def decode(data: bytes) -> Decoded:
    """`data` as text."""
    if data.startswith(_UTF16):
        encoding = "utf-16-le" if data.startswith(_UTF16[0]) else "utf-16-be"
        try:
            return Decoded(data[2:].decode(encoding), encoding, data[:2])
        except UnicodeDecodeError:
            return Decoded(data.decode("latin-1"), "latin-1", b"")
    mark = _UTF8_MARK if data.startswith(_UTF8_MARK) else b""
    try:
        return Decoded(data[len(mark) :].decode(), "utf-8", mark)
    except UnicodeDecodeError:
        return Decoded(data.decode("latin-1"), "latin-1", b"")
