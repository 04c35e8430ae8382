"""JSON that was written elsewhere, by a model, a provider or a page: read and written in one place.

Python's own reader takes more than JSON has (`NaN`, numbers beyond every float), and gives up on the rest with errors
of its own: whole numbers of thousands of digits, values nested thousands deep.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from .errors import ModelError, UsageError

__all__ = ["read", "read_shown", "written"]

# What only an exponent of three digits or hundreds of digits can make: a float that is infinite.
_FAR = re.compile(r"[eE]\+?[0-9]{3}|[0-9]{300}")


def read(text: str | bytes, what: str, *, infinite: bool = False) -> Any:
    """The value of JSON text that somebody else wrote; of a name that stands twice, the last. `what` names it in the
    error. With `infinite` a number that is out of range is infinite: for what is only looked at.

    Raises `ModelError` with the code `unreadable_json` where it is no JSON, or JSON that Python can't hold: a number
    that is too long or out of range, values nested too deep.
    """
    try:
        told = text if isinstance(text, str) else text.decode(json.detect_encoding(text))
        if infinite or _FAR.search(told) is None:
            return json.loads(told, parse_constant=_refused)
        return json.loads(told, parse_constant=_refused, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        message = f"{what} can't be parsed by Python: {reason}"
        raise ModelError(message, "unreadable_json", "write plain JSON with shorter numbers and less nesting") from None


def read_shown(text: str) -> Any:
    """The value of well-formed JSON for somebody who looks at it; a number that is too long stands there as text."""
    try:
        return json.loads(text)
    except ValueError:
        return json.loads(text, parse_int=_whole_or_text)


def written(value: Any, what: str) -> str:
    """JSON text of a value that somebody gave. Raises `UsageError` where it has none: circles, bytes, NaN."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        message = f"{what} can't be written as JSON: {error}"
        raise UsageError(message, "invalid_value", "use dicts with text as keys, lists, text, numbers") from None


def _refused(name: str) -> NoReturn:
    message = f"{name} is no number of JSON"
    raise ValueError(message)


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        message = f"the number {text[:20]} is out of range"
        raise ValueError(message)
    return value


def _whole_or_text(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text
