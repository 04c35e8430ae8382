"""Checking parsed JSON: what a schema says of JSON must hold, whatever the Python values are like.

A strict model takes a date only from a date where it checks Python values, but from text where it checks JSON; a
`Literal` of an enum's member only from the member, or from its value.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

__all__ = ["as_json", "checked"]


def checked(validator: Any, value: object) -> Any:
    """`value`, parsed JSON, as what `validator` (of pydantic's core) makes of it. Raises its `ValidationError`."""
    try:
        # The fast way, and the usual one.
        return validator.validate_python(value)
    except ValidationError as error:
        return as_json(validator, value, error)


def as_json(validator: Any, value: object, error: ValidationError) -> Any:
    """The same for a value that `validate_python` refused with `error`."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        raise error from None
    try:
        return validator.validate_json(text)
    except ValidationError as closer:
        # Half surrogate pairs and numbers of thousands of digits are none of its JSON.
        raise (error if _is_unread(closer) else closer) from None


def _is_unread(error: ValidationError) -> bool:
    return error.errors(include_url=False, include_context=False, include_input=False)[0]["type"] == "json_invalid"
