"""Classes whose methods are written late are what `dataclasses` makes of the same bodies."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
import threading
from typing import Any, ClassVar, Generic, TypeVar

import pytest
from loopwright import _dataclasses as late
from loopwright._dataclasses import wrap_method

T = TypeVar("T")
# Type checkers see `dataclasses` in its place, so here it has another name.
LATE: Any = late


def body(made: Any, **options: Any) -> Any:
    """A class with all that a body may hold, as `made` writes it."""

    @made.dataclass(**options)
    class Point:
        """A place."""

        kind: ClassVar[str] = "point"
        x: int
        y: int = 2
        tags: list[str] = made.field(default_factory=list)
        note: str | None = made.field(default=None, repr=False, compare=False)
        given: bool = made.field(default=True, kw_only=True)

        @property
        def both(self) -> int:
            return self.x + self.y

    return Point


OPTIONS: list[dict[str, Any]] = [
    {},
    {"frozen": True},
    {"frozen": True, "repr": False},
    {"frozen": True, "eq": False},
    {"kw_only": True},
    {"order": True},
    {"unsafe_hash": True},
    {"slots": True},
    {"frozen": True, "slots": True},
]


def told(kind: Any) -> list[Any]:
    """What can be seen of a class and its instances, with places in memory left out."""

    def attempt(look: Any) -> Any:
        try:
            return look()
        except Exception as error:
            return type(error), str(error)

    one = kind(x=1)
    seen = [
        lambda: str(inspect.signature(kind)),
        lambda: repr(one) if "object at" not in repr(one) else "plain",
        lambda: kind(x=1) == one,
        lambda: kind(x=1, note="n") == one,
        lambda: kind(x=2) < one,
        lambda: isinstance(hash(one), int) and (hash(one) == hash(kind(x=1))),
        lambda: kind(1, 3).both,
        lambda: kind(),
        lambda: kind(1, 2, [], None, False),
        lambda: setattr(one, "x", 5),
        # `dataclasses` itself is at a loss here where a class has slots and is frozen.
        lambda: setattr(one, "new", 5) if hasattr(one, "__dict__") else None,
        lambda: delattr(one, "y"),
        lambda: str(kind.y),
        lambda: str(kind.note),
        lambda: str(kind.tags),
        lambda: kind.__match_args__,
        lambda: [(each.name, each.default, each.kw_only) for each in dataclasses.fields(kind)],
        lambda: dataclasses.replace(one, x=9).x,
        lambda: dataclasses.asdict(one),
        lambda: kind(x=1).tags is kind(x=1).tags,
        lambda: kind.__doc__,
        lambda: copy.deepcopy(one) == one,
        lambda: dataclasses.is_dataclass(kind),
    ]
    return [attempt(each) for each in seen]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_class_is_what_dataclasses_makes_of_it(options: dict[str, Any]) -> None:
    assert told(body(LATE, **options)) == told(body(dataclasses, **options))


FIRST_LOOKS: dict[str, Any] = {
    "fields": dataclasses.fields,
    "is_dataclass": dataclasses.is_dataclass,
    "signature": inspect.signature,
    "match": lambda kind: kind.__match_args__,
    "repr": lambda kind: repr(object.__new__(kind)) if "x" in vars(object.__new__(kind)) else kind.__repr__,
    "equal": lambda kind: kind.__eq__,
    "made": lambda kind: kind(x=1),
    "hash": lambda kind: kind.__hash__,
}


@pytest.mark.parametrize("look", FIRST_LOOKS)
def test_whatever_is_looked_at_first(look: str) -> None:
    kind = body(LATE, frozen=True)
    FIRST_LOOKS[look](kind)
    assert told(kind) == told(body(dataclasses, frozen=True))


def test_bases_are_written_before_what_is_built_on_them() -> None:
    @LATE.dataclass(frozen=True)
    class Base(Generic[T]):
        a: T
        b: int = LATE.field(default=1, kw_only=True)

    @LATE.dataclass(frozen=True)
    class Further(Base[int]):
        c: int = 3

    class Plain(Further):
        pass

    assert repr(Plain(1)).endswith("Plain(a=1, b=1, c=3)")
    assert Further(1, 2, b=5) == Further(1, c=2, b=5)
    assert Base("x") != Further("x")  # type: ignore[comparison-overlap]
    with pytest.raises(dataclasses.FrozenInstanceError):
        Plain(1).c = 4


def test_a_base_with_slots() -> None:
    @LATE.dataclass(frozen=True, slots=True)
    class Base:
        a: int
        b: list[int] = LATE.field(default_factory=list)

    @LATE.dataclass(frozen=True, slots=True)
    class Further(Base):
        c: int = 2

    one = Further(1)
    assert repr(one).endswith("Further(a=1, b=[], c=2)")
    assert not hasattr(one, "__dict__")
    assert Further.__slots__ == ("c",)


def test_a_base_of_dataclasses_own() -> None:
    @dataclasses.dataclass(frozen=True)
    class Base:
        a: int

    @LATE.dataclass(frozen=True)
    class Further(Base):
        b: int = 2

    assert repr(Further(1)).endswith("Further(a=1, b=2)")


def test_a_method_is_wrapped_once_it_is_written() -> None:
    kind = body(LATE)
    wrap_method(kind, "__repr__", lambda plain: lambda self: plain(self).upper())
    assert "X=1" in repr(kind(x=1))
    wrap_method(kind, "__repr__", lambda plain: lambda self: f"<{plain(self)}>")
    assert repr(kind(x=1)).startswith("<")


def test_threads_that_come_at_once_all_find_it_written() -> None:
    """No thread sees the class between two states."""
    failures: list[BaseException] = []
    for _ in range(30):
        kind = body(LATE, frozen=True)
        start = threading.Barrier(8)

        def make(kind: Any = kind, start: threading.Barrier = start) -> None:
            start.wait()
            try:
                assert kind(x=1, y=3).both == 4
                assert kind(x=1) == kind(x=1)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=make) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert not failures


def test_what_was_pickled_is_read_where_nothing_was_written_yet() -> None:
    from loopwright import Budget

    data = pickle.dumps(Budget(tokens=7))
    script = (
        "import sys, pickle; one = pickle.loads(sys.stdin.buffer.read())\n"
        "assert repr(one) == 'Budget(tokens=7)', repr(one)\nassert one == pickle.loads(pickle.dumps(one))"
    )
    subprocess.run([sys.executable, "-c", script], input=data, check=True, timeout=60)
