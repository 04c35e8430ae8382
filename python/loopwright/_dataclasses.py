"""Dataclasses whose methods are written when they are first needed, with the names of `dataclasses`.

`dataclasses` compiles some five functions for each class, a third of a millisecond, where a class is defined. A program
uses few of the classes that it loads, so here a class is handed to `dataclasses` at the first look at one of those
functions, or at its fields. What comes of it is the same.
"""

from __future__ import annotations

from _thread import RLock
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

__all__ = ["asdict", "dataclass", "field", "fields", "is_dataclass", "replace", "wrap_method"]

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
else:

    def dataclass(kind: type[Any] | None = None, /, **options: Any) -> Any:
        """As `dataclasses.dataclass`."""
        return (lambda each: _Unwritten.put_off(each, options)) if kind is None else _Unwritten.put_off(kind, options)

    def field(**options: Any) -> Any:
        """As `dataclasses.field`."""
        return _Field(options)

    def replace(one: Any, /, **changes: Any) -> Any:
        """As `dataclasses.replace`."""
        from dataclasses import replace

        return replace(one, **changes)

    def fields(one: Any) -> Any:
        """As `dataclasses.fields`."""
        from dataclasses import fields

        return fields(one)

    def asdict(one: Any, **options: Any) -> Any:
        """As `dataclasses.asdict`."""
        from dataclasses import asdict

        return asdict(one, **options)

    def is_dataclass(one: Any) -> bool:
        """As `dataclasses.is_dataclass`."""
        return hasattr(one if isinstance(one, type) else type(one), "__dataclass_fields__")


_ONE_BY_ONE = RLock()
_METHODS = ("__init__", "__repr__", "__eq__", "__hash__")
_ATTRIBUTES = ("__dataclass_fields__", "__dataclass_params__", "__match_args__", "__signature__")
_WITH_SLOTS = ("__getstate__", "__setstate__")
# What stands in the namespace of a class and belongs to it alone.
_OF_THE_CLASS_ALONE = ("__dict__", "__weakref__", "__slots__")
# What is written here for all frozen classes alike.
_OF_FROZEN = ("__setattr__", "__delattr__")


class _Field:
    """What `field(...)` said, until the class is written."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    def written(self) -> Any:
        from dataclasses import field

        return field(**self.options)


class _Later:
    """Stands for what `dataclasses` writes: whoever looks at it has the class written, and gets that."""

    def __init__(self, unwritten: _Unwritten, name: str) -> None:
        self.unwritten, self.name = unwritten, name

    def __get__(self, one: Any, kind: Any = None) -> Any:
        unwritten = self.unwritten
        unwritten.write()
        try:
            found = vars(unwritten.kind)[self.name]
        except KeyError:
            # The base class has it, or nobody.
            return getattr(super(unwritten.kind, kind if one is None else one), self.name)
        own = getattr(found, "__get__", None)
        return found if own is None else own(one, kind)


class _Unwritten:
    """A class that `dataclasses` has not seen yet."""

    def __init__(self, kind: type[Any], options: dict[str, Any]) -> None:
        self.kind, self.options = kind, options
        self.defaults: dict[str, Any] = {}
        self.slots: tuple[str, ...] = ()
        self.wrappers: list[tuple[str, Callable[[Any], Any]]] = []
        self.done = False

    @classmethod
    def put_off(cls, kind: type[Any], options: dict[str, Any]) -> type[Any]:
        """The class with something in place of each function that will be written."""
        self = cls(kind, options)
        for name, value in list(vars(kind).items()):
            if isinstance(value, _Field):
                self.defaults[name] = value
                # A default can be seen on the class, as with `dataclasses`.
                if "default" in value.options:
                    setattr(kind, name, value.options["default"])
                else:
                    delattr(kind, name)
        if options.get("slots"):
            self._lay_out()
        own = vars(self.kind)
        for name in (*_METHODS, *_ATTRIBUTES, *(_WITH_SLOTS if self.slots else ())):
            if own.get(name) is None:
                setattr(self.kind, name, _Later(self, name))
        if options.get("frozen"):
            _freeze(self.kind)
        return self.kind

    def _lay_out(self) -> None:
        """Puts a class with a place for each field instead of the one without: Python lays a class out once."""
        plain = self.kind
        described = [name for name, what in plain.__annotations__.items() if not what.startswith("ClassVar")]
        inherited = {name for base in plain.__mro__[1:] for name in getattr(base, "__slots__", ())}
        self.slots = tuple(name for name in described if name not in inherited)
        body = {name: value for name, value in vars(plain).items() if name not in _OF_THE_CLASS_ALONE}
        for name in described:
            if name in body:
                default = body.pop(name)
                self.defaults.setdefault(name, default)
        like: Any = type(plain)
        self.kind = like(plain.__name__, plain.__bases__, {**body, "__slots__": self.slots})
        self.kind.__qualname__ = plain.__qualname__

    def write(self) -> None:
        """Lets `dataclasses` write a class with the same body, and takes over what it wrote.

        Each function takes its place at once, so that no thread ever sees the class without.
        """
        with _ONE_BY_ONE:
            if self.done:
                return
            from dataclasses import dataclass as written

            kind = self.kind
            body = {
                name: value
                for name, value in vars(kind).items()
                if not isinstance(value, _Later) and name not in (*_OF_THE_CLASS_ALONE, *self.slots)
            }
            for name, default in self.defaults.items():
                body[name] = default.written() if isinstance(default, _Field) else default
            if self.options.get("frozen"):
                for name in _OF_FROZEN:
                    del body[name]
            body["__qualname__"] = kind.__qualname__
            before = dict(body)
            like: Any = type(kind)
            model = written(**self.options)(like(kind.__name__, kind.__bases__, body))
            ours = vars(model)
            for name, wrapper in self.wrappers:
                setattr(model, name, wrapper(ours[name]))
            for name, value in list(ours.items()):
                own = name in before or name in _OF_THE_CLASS_ALONE or name in _OF_FROZEN
                if not own and not isinstance(value, MemberDescriptorType):
                    setattr(kind, name, value)
            for name, value in list(vars(kind).items()):
                if isinstance(value, _Later):
                    delattr(kind, name)
            self.done = True


def _freeze(kind: type[Any]) -> None:
    """Refuses what changes an instance, with the words of `dataclasses`."""

    def assign(self: Any, name: str, value: Any) -> None:
        _refuse(kind, self, name, "assign to")
        super(kind, self).__setattr__(name, value)

    def delete(self: Any, name: str) -> None:
        _refuse(kind, self, name, "delete")
        super(kind, self).__delattr__(name)

    for name, function in (("__setattr__", assign), ("__delattr__", delete)):
        function.__name__, function.__qualname__ = name, f"{kind.__qualname__}.{name}"
        setattr(kind, name, function)


def _refuse(kind: Any, one: Any, name: str, what: str) -> None:
    if type(one) is kind or name in kind.__dataclass_fields__:
        from dataclasses import FrozenInstanceError

        message = f"cannot {what} field {name!r}"
        raise FrozenInstanceError(message)


def wrap_method(kind: type[Any], name: str, wrapper: Callable[[Any], Any]) -> None:
    """Puts what `wrapper` makes of a class's method in its place, once the method is written."""
    found = vars(kind).get(name)
    if isinstance(found, _Later):
        found.unwritten.wrappers.append((name, wrapper))
    else:
        setattr(kind, name, wrapper(getattr(kind, name)))
