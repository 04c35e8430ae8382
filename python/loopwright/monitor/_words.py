"""Text as the senses take it."""

from __future__ import annotations

import re

from loopwright.errors import UsageError

_HALVES = re.compile("[\ud800-\udfff]")


def wanted_text(given: object, name: str) -> str:
    """The text, with halves of characters replaced, one for one, so that places stay what they are."""
    if not isinstance(given, str):
        message = f"{name} is {type(given).__name__}, not a text"
        raise UsageError(message, "invalid_value", "give a str; decode bytes first")
    if given.isascii():
        return given
    return _HALVES.sub("\ufffd", given)
