"""What goes on, in short sentences: `Reading src/lib.rs`, `Looking through 24 files`."""

from __future__ import annotations

import contextlib
import json
import re
from typing import Any

from loopwright.guard import redact

from .text import fit, one_line

__all__ = ["arguments_of", "doing", "excerpt"]

_SENTENCES = {
    "spawn": ("Waiting for {agent}", ("agent",)),
    "read_file": ("Reading {path}", ("path",)),
    "list_folder": ("Listing {path}", ("path",)),
    "glob_files": ("Looking for files like {pattern}", ("pattern",)),
    "search_files": ("Searching for “{pattern}”", ("pattern",)),
    "write_file": ("Writing {path}", ("path",)),
    "edit_file": ("Editing {path}", ("path",)),
    "shell": ("Running {command}", ("command",)),
    "fetch": ("Fetching {url}", ("url",)),
}
_DEFAULTS = {"path": "the folder"}
_LONGEST_VALUE = 60
_LOOKED_AT = 1_000
_MESSAGE = re.compile(r'"message":\s*"((?:[^"\\]|\\.)+)')


def doing(name: str, arguments: Any) -> str:
    """What a call of a tool does, as one line."""
    template, fields = _SENTENCES.get(name, ("", ()))
    given = arguments if isinstance(arguments, dict) else {}
    values = {field: given.get(field, _DEFAULTS.get(field)) for field in fields}
    if not template or any(not isinstance(value, str) or not value.strip() for value in values.values()):
        shown = arguments_of(arguments)
        return f"Using {one_line(name)}" + (f" with {shown}" if shown else "")
    text = template.format(**{field: one_line(redact(str(value)[:_LOOKED_AT])) for field, value in values.items()})
    if name == "read_file" and isinstance(given.get("start_line"), int) and given["start_line"] > 1:
        text += f" from line {given['start_line']}"
    if name == "search_files" and isinstance(given.get("path"), str) and given["path"] not in ("", "."):
        text += f" in {one_line(given['path'])}"
    return text


def arguments_of(arguments: Any) -> str:
    """A call's arguments, shortened: `city=Oslo, days=3`."""
    if not isinstance(arguments, dict):
        return "" if arguments is None else fit(one_line(redact(_value(arguments))), _LONGEST_VALUE)
    return ", ".join(
        fit(one_line(redact(f"{name}={_value(value)}")), len(one_line(str(name))) + 1 + _LONGEST_VALUE)
        for name, value in arguments.items()
    )


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text[:_LOOKED_AT]


def excerpt(text: str, columns: int, *, is_error: bool = False) -> str:
    """The beginning of what a tool gave, as one line; of an error its message."""
    if is_error and (found := _MESSAGE.search(text)) is not None:
        # What is cut off in the middle is no JSON; the message is there all the same.
        with contextlib.suppress(ValueError):
            text = json.loads(f'"{found[1]}"', strict=False)
    # Before it is cut: half a key is not known for one.
    return fit(one_line(redact(text[:_LOOKED_AT])), columns)
