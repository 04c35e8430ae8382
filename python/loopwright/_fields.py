"""Plain data, as the engine tells it, as instances of the dataclasses that describe it.

The fields of a class are the one description of what it holds: what is added to a class is read by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ._dataclasses import fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["each_of", "made"]

T = TypeVar("T")


def made(kind: type[T], told: Mapping[str, Any], **others: Any) -> T:
    """An instance of a dataclass: its fields out of `told`, lists as tuples, and `others` as they are.

    What `told` lacks is the default of its field; what it has besides is left out.
    """
    described: Any = kind
    names = [each.name for each in fields(described) if each.name in told and each.name not in others]
    given = {name: told[name] for name in names}
    return kind(**{name: tuple(value) if type(value) is list else value for name, value in given.items()}, **others)


def each_of(kind: type[T], told: Iterable[Mapping[str, Any]]) -> tuple[T, ...]:
    """An instance for each."""
    return tuple(made(kind, one) for one in told)
