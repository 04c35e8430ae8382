"""Names that a class had before: errors that say today's. Data that was written under them is read."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ._dataclasses import wrap_method
from ._words import UnknownOption

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "EVENTS",
    "EVENT_TYPES",
    "EVENT_TYPES_WRITTEN",
    "names_before",
    "read_under",
    "renamed",
    "under_new_name",
    "under_new_names",
]

T = TypeVar("T")

EVENTS = {
    "ApprovalAsked": "ApprovalRequested",
    "ChildFinished": "AgentFinished",
    "ChildStarted": "AgentStarted",
    "Warning": "Warned",
}
"""Events, by the names that their classes had before."""
EVENT_TYPES = {
    "approval_asked": "approval_requested",
    "child_finished": "agent_finished",
    "child_started": "agent_started",
    "warning": "warned",
}
"""Their types, by those before: the ones of the machine, in which journals are written."""
EVENT_TYPES_WRITTEN = {now: before for before, now in EVENT_TYPES.items()}

_BEFORE: dict[type[Any], Mapping[str, str]] = {}


def renamed(**names: str) -> Callable[[type[T]], type[T]]:
    """Decorates a class whose fields have new names: `renamed(before="now")`."""

    def decorate(kind: type[T]) -> type[T]:
        def init_of(start: Any) -> Any:
            @functools.wraps(start)
            def init(self: T, *values: Any, **given: Any) -> None:
                for old in given.keys() & names.keys():
                    raise UnknownOption(f"{kind.__name__} has no option {old}", hint=f"here it is {names[old]}")
                start(self, *values, **given)

            return init

        wrap_method(kind, "__init__", init_of)
        read_under(kind, **names)
        return kind

    return decorate


def read_under(kind: type[Any], **names: str) -> None:
    """Whoever asks for an attribute by its name before is told today's: `read_under(kind, before="now")`."""
    _BEFORE[kind] = names
    for old, new in names.items():
        setattr(kind, old, property(functools.partial(_refuse, kind, old, new)))


def under_new_names(kind: type[Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """Plain data for a class, whichever names it was written under: the engine and older versions have the old ones."""
    names = _BEFORE.get(kind, {})
    return {names.get(name, name): value for name, value in told.items()}


def names_before(kind: type[Any]) -> dict[str, str]:
    """The names under which the engine and its journals write those fields of a class that have others today."""
    return {new: old for old, new in _BEFORE.get(kind, {}).items()}


def under_new_name(module: Mapping[str, Any], old: str, names: Mapping[str, str]) -> NoReturn:
    """Says what a module, given by its names, calls today what it is asked for under the name that it had before."""
    place, new = module["__name__"], names.get(old)
    if new is None:
        message = f"module {place!r} has no attribute {old!r}"
        raise AttributeError(message)
    # An `AttributeError` would be shown by no `from … import …`.
    message = f"{place}.{old} is now {place}.{new}"
    raise ImportError(message, name=place)


def _refuse(kind: type[Any], old: str, new: str, _: Any) -> Any:
    message = f"{kind.__name__}.{old} is now {kind.__name__}.{new}"
    raise AttributeError(message)
