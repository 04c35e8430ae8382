"""Exceptions of user code as logs and events may have them: without secrets in their words.

An exception whose words are clean is handed on as it is. Any other is copied, in its own class where that can be made
anew, with its traceback and the exceptions that it came from.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Clean = Callable[[str], str]

__all__ = ["clean_error", "for_logs", "without_keys"]

_MOST = 100
"""Exceptions of a chain that are looked at."""
_MOST_VALUES = 1000
"""Values of an exception that are looked at: what it holds may be endless."""


def for_logs(error: BaseException) -> BaseException:
    """The exception without secrets and personal data: logs go to whoever reads them."""
    from .guard import redact

    return clean_error(error, redact)


def without_keys(error: BaseException) -> BaseException:
    """The exception without the keys of this process, in whatever form."""
    from ._core import without_own_keys

    return clean_error(error, without_own_keys)


def clean_error(error: BaseException, clean: Clean) -> BaseException:
    """The exception itself if `clean` changes none of its words; else a copy that says what `clean` leaves."""
    chain = _chain(error)
    if all(clean(text) == text for each in chain for text in _words(each)):
        return error
    copies: dict[int, BaseException] = {}
    for each in reversed(chain):
        copies[id(each)] = _copy(each, clean, copies)
    for each in chain:
        copy = copies[id(each)]
        copy.__cause__ = copies.get(id(each.__cause__))
        copy.__context__ = copies.get(id(each.__context__))
        copy.__suppress_context__ = each.__suppress_context__
    return copies[id(error)]


def _chain(error: BaseException) -> list[BaseException]:
    """The exception, those that it came from, and those that it holds."""
    found: list[BaseException] = []
    left: list[Any] = [error]
    while left and len(found) < _MOST:
        each = left.pop()
        if isinstance(each, BaseException) and not any(each is known for known in found):
            found.append(each)
            left += [each.__cause__, each.__context__, *_held(each)]
    return found


def _held(error: BaseException) -> tuple[Any, ...]:
    held = getattr(error, "exceptions", None)
    return held if isinstance(held, tuple) else ()


def _words(error: BaseException) -> list[str]:
    """All that a traceback, `str`, `repr` and the fields of an exception say."""
    found: list[str] = []
    for say in (str, repr):
        with contextlib.suppress(Exception):
            found.append(say(error))
    left: list[Any] = [error.args, getattr(error, "__dict__", {})]
    for _ in range(_MOST_VALUES):
        if not left:
            break
        value = left.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            left += value
        elif isinstance(value, dict):
            left += value.values()
    return found


def _copy(error: BaseException, clean: Clean, copies: dict[int, BaseException]) -> BaseException:
    def cleaned(value: Any) -> Any:
        if isinstance(value, str):
            return clean(value)
        if type(value) in (list, tuple):
            return type(value)(cleaned(each) for each in value)
        if type(value) is dict:
            return {name: cleaned(each) for name, each in value.items()}
        return copies.get(id(value), value) if isinstance(value, BaseException) else value

    kind = type(error)
    try:
        arguments = cleaned(error.args)
        copy = kind.__new__(kind, *arguments)
        copy.args = arguments
        copy.__dict__.update(cleaned(error.__dict__))
        same = all(clean(text) == text for text in _words(copy))
    except Exception:  # noqa: BLE001 - a class of others: whatever it does, its words stay out
        same = False
    if not same:
        words = next(iter(_words(error)), "")
        copy = type(kind.__name__, (Exception,), {"__module__": kind.__module__})(clean(words))
    return copy.with_traceback(error.__traceback__)
