"""The `repr()` of objects that hold what was said and done: as of dataclasses, without secrets and personal data.

What a log, a debugger or a failing test prints is the `repr()`; the fields hold everything as it is.
"""

from __future__ import annotations

from threading import local
from typing import Any, TypeVar

from ._dataclasses import fields, wrap_method

__all__ = ["brief", "given_repr", "redacted_repr", "shown"]

_under_way = local()
Kind = TypeVar("Kind")


def redacted_repr(*classes: type[Any]) -> None:
    """Takes secrets out of what `repr()` gives for these classes."""
    for each in classes:
        wrap_method(each, "__repr__", _redacted)


def _redacted(plain: Any) -> Any:
    def shown(self: Any) -> str:
        # What lies inside is looked through once, with what is around it.
        if getattr(_under_way, "inside", False):
            return str(plain(self))
        from .guard import redact

        _under_way.inside = True
        try:
            text = str(plain(self))
        finally:
            _under_way.inside = False
        return redact(text)

    shown.__name__, shown.__qualname__ = "__repr__", getattr(plain, "__qualname__", "__repr__")
    return shown


def given_repr(one: Any) -> str:
    """A dataclass as it was made: only what is not the default."""
    from dataclasses import MISSING

    shown = []
    for field in fields(one):
        value = getattr(one, field.name)
        usual = field.default if field.default_factory is MISSING else field.default_factory()
        if field.repr and (usual is MISSING or type(usual) is not type(value) or usual != value):
            shown.append(f"{field.name}={value!r}")
    return f"{type(one).__name__}({', '.join(shown)})"


def shown(kind: type[Kind]) -> type[Kind]:
    """Decorates a class that people look at: a `repr()` in a few words, and what notebooks show of it.

    Both stand in `loopwright.page`, which is loaded when somebody looks.
    """
    each: Any = kind
    each.__repr__, each._repr_html_, each._repr_markdown_ = _in_words, _as_html, _as_markdown
    return kind


def _in_words(self: object) -> str:
    from .page.words import in_words

    return in_words(self)


def _as_html(self: object) -> str | None:
    from .page.notebook import as_html

    return as_html(self)


def _as_markdown(self: object) -> str | None:
    from .page.notebook import as_markdown

    return as_markdown(self)


def brief(value: object) -> str:
    """`repr()` of whatever was given wrongly, cut short: of what nests too deep, or can't be shown, its type."""
    try:
        return f"{value!r:.100}"
    except Exception:  # noqa: BLE001 - any class may have a `__repr__` of its own; huge integers have none
        return f"a value of type {type(value).__name__}"
