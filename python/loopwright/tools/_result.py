"""What a tool returns, as blocks of a message.

Text stays text, data becomes compact JSON, pictures become image blocks. What has no such form is named with its
type and its place in the result: a model is never shown a `repr` by accident. Long text keeps its head and its tail.
"""

from __future__ import annotations

import base64
import json
import math
from typing import TYPE_CHECKING, Any

from ._errors import NotSerialisable

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

__all__ = ["DEFAULT_MAX_OUTPUT", "Image", "Text", "clean_text", "limit_text", "to_content"]

DEFAULT_MAX_OUTPUT = 20_000
"""Characters of text in one result, unless the tool says otherwise."""

_FEWEST = 12
"""Fewer characters than these are shown without a line that says how many are missing."""
_NOTHING = "done (no output)"
_DEEPEST = 100
_MOST_VALUES = 1_000_000
"""More than these are no result that a model could read: a range of a billion, or lists that hold each other twice."""
_LARGEST_IMAGE = 20 * 1024 * 1024


class Text:
    """A text block, for results of several blocks."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        from loopwright.guard import redact

        return f"Text({redact(self.text[:4_000])[:40]!r})"


class Image:
    """A picture for the model: its bytes, or the path of a file that is read when the result is made."""

    __slots__ = ("_data", "_media_type", "path")

    def __init__(
        self,
        data: bytes | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        media_type: str | None = None,
    ) -> None:
        if (data is None) == (path is None):
            message = "an Image is made of either data or a path"
            raise ValueError(message)
        self._data = data
        self.path = path
        self._media_type = media_type

    def to_block(self) -> dict[str, Any]:
        """The block. Raises `NotSerialisable` if there is no picture."""
        data = self._data if self._data is not None else self._read()
        media_type = self._media_type or image_type(data)
        if media_type is None:
            message = f"{self!r} is no picture that a model can see"
            raise NotSerialisable(message, hint="PNG, JPEG, GIF or WebP; or give media_type")
        return image_block(data, media_type)

    def _read(self) -> bytes:
        if self.path is None:
            return b""
        try:
            with open(self.path, "rb") as file:  # noqa: PTH123 - pathlib is not loaded otherwise
                data = file.read(_LARGEST_IMAGE + 1)
        except OSError as error:
            message = f"the picture {str(self.path)!r} can't be read: {error.strerror}"
            raise NotSerialisable(message, hint="give a path that exists when the tool returns") from error
        return data

    def __repr__(self) -> str:
        return f"Image(path={str(self.path)!r})" if self.path is not None else f"Image({len(self._data or b'')} bytes)"


def to_content(value: object, *, max_output: int = DEFAULT_MAX_OUTPUT) -> tuple[list[dict[str, Any]], bool]:
    """The blocks of a message that hold `value`, and whether text was left out to keep them short.

    Raises `NotSerialisable`, which names what has no form and where it is.
    """
    if type(value) is str and len(value) <= max_output and value.isascii():
        # What most tools give.
        return [{"type": "text", "text": value}], False
    if isinstance(value, (list, tuple)) and any(isinstance(each, (Image, Text)) or _of_message(each) for each in value):
        blocks = [_block(each, f"result[{index}]") for index, each in enumerate(value)]
    else:
        blocks = [_block(value, "result")]
    return _limited(blocks, max_output)


def limit_text(text: str, limit: int = DEFAULT_MAX_OUTPUT) -> tuple[str, bool]:
    """`text`, and whether it had to lose its middle to have at most `limit` characters.

    The line that tells of it counts: whoever holds the same limit again finds nothing to do.
    """
    if len(text) <= limit:
        return text, False
    kept = limit - len(_left_out(len(text))) - 2
    if kept < _FEWEST:
        return f"{text[: _boundary(text, max(0, limit - 1))]}…"[: max(0, limit)], True
    head = _boundary(text, kept - kept // 3)
    tail = _boundary(text, len(text) - kept // 3, step=1)
    return f"{text[:head]}\n{_left_out(tail - head)}\n{text[tail:]}", True


def _left_out(count: int) -> str:
    return f"[… {count:,} characters left out …]"


def clean_text(text: str) -> str:
    """`text` without lone surrogates, which no UTF-8 can carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return str(text)


def image_type(data: bytes) -> str | None:
    """The MIME type of a picture, told by its first bytes."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def image_block(data: bytes, media_type: str) -> dict[str, Any]:
    """An image block in our own form."""
    if len(data) > _LARGEST_IMAGE:
        message = f"a picture of {len(data):,} bytes or more is too large"
        raise NotSerialisable(message, hint=f"at most {_LARGEST_IMAGE:,} bytes; scale it down")
    encoded = base64.b64encode(data).decode("ascii")
    return {"type": "image", "source": {"base64": {"media_type": media_type, "data": encoded}}}


def to_jsonable(value: object, path: str = "result") -> Any:
    """`value` made of what JSON has. Raises `NotSerialisable` with the place of what can't be."""
    return _Converter().convert(value, path, 0)


def _of_message(value: object) -> bool:
    """Whether this is a `Text`, `Image` or `Document` of `loopwright.messages`, which is not loaded for it."""
    return type(value).__module__ == "loopwright.messages" and hasattr(value, "to_block")


def _message_block(value: Any, path: str) -> dict[str, Any]:
    from loopwright.errors import UsageError

    try:
        block: dict[str, Any] = value.to_block()
    except UsageError as error:
        message = f"{path} has no JSON form: {error.message}"
        raise NotSerialisable(message, hint=error.hint) from error
    return block


def _block(value: object, path: str) -> dict[str, Any]:
    if isinstance(value, Image):
        return value.to_block()
    if _of_message(value):
        return _message_block(value, path)
    if isinstance(value, Text):
        return {"type": "text", "text": clean_text(value.text)}
    if value is None:
        return {"type": "text", "text": _NOTHING}
    if isinstance(value, str) and not _is_enum(value):
        return {"type": "text", "text": clean_text(value)}
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)
        media_type = image_type(data)
        if media_type is None:
            message = f"{path} is {len(data)} bytes of no known picture format"
            raise NotSerialisable(message, hint="return text, or decode the bytes; PNG, JPEG, GIF and WebP are shown")
        return image_block(data, media_type)
    plain = to_jsonable(value, path)
    if isinstance(plain, str):
        return {"type": "text", "text": clean_text(plain)}
    try:
        text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (ValueError, RecursionError) as error:
        message = f"{path} has no JSON form: {error}"
        raise NotSerialisable(message, hint="return something simpler") from error
    return {"type": "text", "text": clean_text(text)}


def _limited(blocks: list[dict[str, Any]], limit: int) -> tuple[list[dict[str, Any]], bool]:
    """The limit is shared by all text of a result: many short blocks are one long one."""
    behind = sum(len(block["text"]) for block in blocks if block["type"] == "text")
    if behind <= limit:
        return blocks, False
    kept: list[dict[str, Any]] = []
    left, skipped, is_cut = limit, 0, False
    for block in blocks:
        if block["type"] != "text":
            kept.append(block)
            continue
        size = len(block["text"])
        behind -= size
        # Room for the words about what comes behind.
        room = left - (len(_left_out(behind)) if behind else 0)
        if is_cut or (room <= 0 < size):
            skipped, is_cut = skipped + size, True
        elif size <= room:
            kept.append(block)
            left -= size
        else:
            text, is_cut = limit_text(block["text"], room)
            kept.append({**block, "text": text})
            left -= len(text)
    if skipped:
        words = _left_out(skipped)
        kept.append({"type": "text", "text": words if len(words) <= left else "…"})
    return kept, True


def _boundary(text: str, position: int, step: int = -1) -> int:
    """The nearest place from `position` on that does not cut a character from the marks that belong to it."""
    import unicodedata

    for _ in range(16):
        if not 0 < position < len(text):
            break
        joined = text[position] in "\u200d\ufe0f" or text[position - 1] == "\u200d"
        if not joined and not unicodedata.combining(text[position]):
            break
        position += step
    return position


def _is_enum(value: object) -> bool:
    return hasattr(type(value), "__members__")


class _Converter:
    """Walks a value, with the chain of containers above it to find circles."""

    def __init__(self) -> None:
        self._above: set[int] = set()
        self._values = 0

    def convert(self, value: Any, path: str, depth: int) -> Any:
        self._values += 1
        if self._values > _MOST_VALUES:
            message = f"the result holds more than {_MOST_VALUES:,} values"
            raise NotSerialisable(message, hint="return a part of it, or what it comes to")
        if value is None or isinstance(value, bool):
            return value
        if _is_enum(value):
            return self.convert(value.value, path, depth + 1)
        if isinstance(value, str):
            return str(value)
        if isinstance(value, int):
            return self._integer(int(value), path)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else _not_finite(value)
        if depth > _DEEPEST:
            message = f"{_short(path)} is nested deeper than {_DEEPEST}"
            raise NotSerialisable(message, hint="return something flatter")
        if id(value) in self._above:
            message = f"{_short(path)} holds itself"
            raise NotSerialisable(message, hint="return data without circles")
        self._above.add(id(value))
        try:
            return self._structure(value, path, depth)
        finally:
            self._above.discard(id(value))

    def _integer(self, value: int, path: str) -> int:
        if value.bit_length() > 4096:  # noqa: PLR2004 - Python refuses to print much more
            message = f"{path} is a number of {value.bit_length()} bits"
            raise NotSerialisable(message, hint="return it as text")
        return value

    def _structure(self, value: Any, path: str, depth: int) -> Any:  # noqa: C901
        kind = type(value)
        if isinstance(value, dict):
            return self._mapping(value.items(), path, depth)
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return self._mapping(zip(kind._fields, value, strict=False), path, depth, attributes=False)
        if isinstance(value, (list, tuple)):
            return [self.convert(each, f"{path}[{index}]", depth + 1) for index, each in enumerate(value)]
        if hasattr(kind, "model_dump"):
            return self._model(value, path)
        fields = getattr(kind, "__dataclass_fields__", None)
        if fields is not None and not isinstance(value, type):
            pairs = ((name, getattr(value, name)) for name in fields if _is_field(fields[name]))
            return self._mapping(pairs, path, depth, attributes=True)
        scalar = _scalar(value)
        if scalar is not None:
            return scalar
        if isinstance(value, (set, frozenset)):
            return self._set(value, path, depth)
        from collections import abc, deque

        if isinstance(value, abc.Mapping):
            return self._mapping(value.items(), path, depth)
        if isinstance(value, (deque, range, abc.KeysView, abc.ValuesView, abc.ItemsView)):
            return [self.convert(each, f"{path}[{index}]", depth + 1) for index, each in enumerate(value)]
        if kind.__module__ == "numpy" and hasattr(value, "tolist"):
            return self.convert(value.tolist(), path, depth + 1)
        raise _not_serialisable(value, path)

    def _mapping(self, pairs: Any, path: str, depth: int, *, attributes: bool = False) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            place = f"{path}.{key}" if attributes else f"{path}[{_short(repr(key))}]"
            found[_key(key, path)] = self.convert(value, place, depth + 1)
        return found

    def _set(self, value: Any, path: str, depth: int) -> list[Any]:
        items = [self.convert(each, f"{path}{{…}}", depth + 1) for each in value]
        # Sets have no order; the same result must give the same text.
        return sorted(items, key=lambda each: json.dumps(each, ensure_ascii=False, sort_keys=True))

    def _model(self, value: Any, path: str) -> Any:
        try:
            return value.model_dump(mode="json")
        except Exception as error:
            message = f"{path} is a {_type_name(value)} that can't be dumped: {str(error).splitlines()[0]}"
            raise NotSerialisable(message, hint="return a model of plain types") from error


def _is_field(field: Any) -> bool:
    return getattr(getattr(field, "_field_type", None), "name", "_FIELD") == "_FIELD"


def _key(key: Any, path: str) -> str:
    if _is_enum(key):
        key = key.value
    if isinstance(key, str):
        return str(key)
    if key is None or isinstance(key, (bool, int, float)):
        return json.dumps(key)
    scalar = _scalar(key)
    if scalar is not None:
        return scalar
    message = f"{_short(path)} has a {_type_name(key)} as a key"
    raise NotSerialisable(message, hint="JSON has text as keys only")


def _scalar(value: object) -> str | None:
    """Types of the standard library that have one obvious text."""
    import datetime as dt
    import decimal
    import fractions
    import os
    import uuid

    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, (decimal.Decimal, uuid.UUID, fractions.Fraction, dt.timedelta)):
        return str(value)
    if isinstance(value, os.PathLike):
        path = os.fspath(value)
        return path if isinstance(path, str) else os.fsdecode(path)
    return None


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _not_serialisable(value: object, path: str) -> NotSerialisable:
    name = _type_name(value)
    hints: list[tuple[Callable[[], bool], str]] = [
        (lambda: isinstance(value, (bytes, bytearray, memoryview)), "decode it, or return pictures as Image(...)"),
        (lambda: hasattr(value, "__await__"), "await it in the tool"),
        (lambda: hasattr(value, "__next__") or hasattr(value, "__anext__"), "return a list"),
        (lambda: isinstance(value, (Image, Text)), "return blocks in a plain list: [Text(...), Image(...)]"),
    ]
    hint = next((text for test, text in hints if test()), "return text, plain data, a dataclass or a pydantic model")
    close = getattr(value, "close", None)
    if hasattr(value, "cr_frame") and close is not None:
        # A coroutine nobody will await: say so once, here, and not again as a warning.
        close()
    article = "an" if name[:1].lower() in "aeiou" else "a"
    return NotSerialisable(f"{_short(path)} is {article} {name}", hint=hint)


def _type_name(value: object) -> str:
    kind = type(value)
    module = kind.__module__
    return kind.__qualname__ if module in ("builtins", "__main__") else f"{module}.{kind.__qualname__}"


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:120]}…{text[-60:]}"  # noqa: PLR2004 - a line
