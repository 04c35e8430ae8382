"""Checks of an agent's options: each error names the option, what it got, and what would do.

The machine checks what it is given; what is checked here is what it never sees.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import _core
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "check",
    "functions",
    "labels",
    "names",
    "of_run",
    "policies",
    "settings",
    "texts",
    "whole",
    "written",
]

_TIMEOUTS = ("connect", "first_byte", "idle", "total")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63


_FORMS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "base_url": (lambda value: isinstance(value, str), "text"),
    "api_key": (lambda value: isinstance(value, str) or callable(value), "text, or a function that gives it"),
    "cache": (lambda value: isinstance(value, bool) or value == "1h", "True, False or '1h'"),
    "tool_format": (lambda value: isinstance(value, str), "'native', 'text' or the name of a dialect"),
    "tool_choice": (lambda value: isinstance(value, str), "'auto', 'none', 'any' or the name of a tool"),
    "monitor": (lambda value: hasattr(value, "intent"), "a loopwright.Monitor"),
    "guard.approve": (
        lambda value: callable(value) or value == "suspend",
        "a function that takes an Approval, an Approvals, or 'suspend'",
    ),
    "guard.on_cautious": (lambda value: value in ("run", "intent", "ask"), "'run', 'intent' or 'ask'"),
    "guard.workspace": (lambda value: isinstance(value, (str, os.PathLike)), "the path of a folder"),
    "name": (lambda value: isinstance(value, str), "text"),
    "description": (lambda value: isinstance(value, str), "text"),
    "escalate_to": (lambda value: isinstance(value, str) or _is_model(value), "provider:model, or a Model"),
    "concurrency": (_is_count, "a whole number from 1 up"),
    "requests_per_minute": (_is_count, "a whole number from 1 up"),
    "tokens_per_minute": (_is_count, "a whole number from 1 up"),
}
_OF_MACHINE = {
    "instructions": "system",
    "guard.timeout": "approval_timeout",
    "monitor.pause_every": "check_in",
    "monitor.warn_rounds_left": "wind_down",
}
"""Options that the machine has by other names."""
_PLAIN = {"api_key", "headers"}
"""Never shown, not even where they are wrong."""


def _is_model(value: object) -> bool:
    from ._model import is_model

    return is_model(value)


def check(**options: Any) -> None:
    """Raises a `UsageError` for the first option that can't be what it is. `None` is an option that was not given."""
    of_machine: dict[str, Any] = {}
    for option, value in options.items():
        if value is None:
            continue
        form = _FORMS.get(option)
        if form is not None and not form[0](value):
            raise _wrong(option, value, form[1])
        # The name of a folder may hold what no text can.
        if option != "guard.workspace":
            whole(option, value)
        if option == "timeouts":
            _check_timeouts(value)
        elif form is None:
            of_machine[_OF_MACHINE.get(option, option)] = _plain(option, value)
    try:
        _core.check_options(json.dumps(of_machine))
    except UsageError as error:
        for option, word in _OF_MACHINE.items():
            if error.message.startswith(f"{word} "):
                raise UsageError(option + error.message.removeprefix(word), error.code, error.hint) from None
        raise


def _plain(option: str, value: object) -> object:
    """An option as the machine can read it."""
    if isinstance(value, Mapping):
        value = {key: each for key, each in value.items() if each is not None}
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        raise _wrong(option, value, "a value that JSON can hold") from None
    return value


def of_run(*, signal: object = None, on_event: object = None) -> None:
    """The same for what a run is given."""
    if signal is not None and not hasattr(signal, "attach"):
        raise _wrong("signal", signal, "a loopwright.run.Signal")
    if on_event is not None and not callable(on_event):
        raise _wrong("on_event", on_event, "a function that takes an event")


def whole(what: str, value: object) -> None:
    """Raises a `UsageError` where a text can't be sent: Python's may hold halves of characters, UTF-8 may not."""
    if not isinstance(value, str):
        return
    try:
        value.encode()
    except UnicodeEncodeError:
        message = f"{what} holds half of a character (a lone surrogate), which no UTF-8 can carry"
        raise UsageError(message, "invalid_text", "decode its bytes with errors='replace'") from None


def written(config: Mapping[str, Any]) -> str:
    """A machine's configuration as JSON. Descriptions and types bring text that nobody has looked at yet."""
    text = json.dumps(config)
    if "\\ud" in text:
        _look("", config)
    return text


def _look(place: str, value: object) -> None:
    """Finds what can't be sent; the configuration is as deep as the schemas in it."""
    left: list[tuple[str, object]] = [(place, value)]
    while left:
        at, each = left.pop()
        whole(at, each)
        if isinstance(each, Mapping):
            for key, inner in each.items():
                whole(f"a name in {at}" if at else "a name", key)
                left.append((f"{at}.{key}" if at else str(key), inner))
        elif isinstance(each, (list, tuple)):
            left.extend((f"{at}[{index}]", inner) for index, inner in enumerate(each))


def _check_timeouts(value: object) -> None:
    if not isinstance(value, Mapping):
        raise _wrong("timeouts", value, f"a dict with {', '.join(_TIMEOUTS)}")
    for key, each in value.items():
        if key not in _TIMEOUTS:
            message = f"there is no time limit named {key!r}"
            raise UsageError(message, "invalid_timeout", f"use {', '.join(_TIMEOUTS[:-1])} or {_TIMEOUTS[-1]}")
        number = isinstance(each, (int, float)) and not isinstance(each, bool) and math.isfinite(each)
        if each is not None and not number:
            raise _wrong(f"timeouts[{key!r}]", each, "a finite number")


def names(headers: object) -> list[tuple[str, str]]:
    """Headers as pairs."""
    if not isinstance(headers, Mapping) or not all(
        isinstance(name, str) and isinstance(value, str) for name, value in headers.items()
    ):
        raise _wrong("headers", headers, "a dict of text to text")
    for pair in headers.items():
        for text in pair:
            whole("headers", text)
    return list(headers.items())


def texts(option: str, value: object) -> list[str]:
    """A list of texts; a text alone is a list of one."""
    if isinstance(value, str):
        value = [value]
    found: list[Any] = list(value) if isinstance(value, Iterable) and not isinstance(value, Mapping) else [None]
    if not all(isinstance(each, str) and each for each in found):
        raise _wrong(option, value, "a list of texts that are not empty")
    return found


def policies(*, stuck: object, momentum: object) -> dict[str, Any]:
    """The settings of the senses: nothing for the usual ones, `None` for those that are off."""
    found: dict[str, Any] = {}
    for option, value in (("stuck", stuck), ("momentum", momentum)):
        if value is True:
            continue
        if value is None or value is False:
            found[option] = None
            continue
        from .monitor import MomentumPolicy, StuckPolicy

        kind = StuckPolicy if option == "stuck" else MomentumPolicy
        if not isinstance(value, kind):
            raise _wrong(f"monitor.{option}", value, f"a {kind.__name__}, True or None")
        found[option] = value.as_dict()
    return found


def labels(value: object) -> dict[str, Any]:
    """What journals say about whose run it is."""
    if value is None:
        return {}
    try:
        if isinstance(value, Mapping):
            found: dict[str, Any] = json.loads(json.dumps(dict(value)))
            return found
    except (TypeError, ValueError):
        pass
    raise _wrong("metadata", value, "a mapping that JSON can hold")


def _wrong(option: str, value: object, wanted: str) -> UsageError:
    shown = type(value).__name__ if option in _PLAIN else repr(value)[:100]
    return UsageError(f"{option} can't be {shown}", "invalid_option", f"give {wanted}")


def settings(name: str, given: object) -> dict[str, Any]:
    """A mapping of names to values, all of whose numbers are finite; what is none is named with its place."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        message = f"{name} can't be {given!r:.100}"
        raise UsageError(message, "invalid_option", "give a dict of names to values")
    waiting: list[tuple[str, Any]] = [(name, given)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting.extend((f"{place}.{key}", each) for key, each in value.items())
        elif isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"{place} is {value}", "invalid_number", "give a finite number")
    return {str(key): value for key, value in given.items()}


def functions(given: object) -> tuple[Any, ...]:
    """Tools, as they were given."""
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        message = f"tools can't be {given!r:.100}"
        raise UsageError(message, "invalid_option", "give a list of functions")
    return tuple(given)
