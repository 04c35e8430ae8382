"""The decorator: forms, settings, names, and every kind of callable."""

import asyncio
import functools
import gc
import inspect
import weakref
from typing import Any

import pytest
from loopwright.tools import (
    Context,
    DuplicateTool,
    InvalidToolName,
    SchemaError,
    Tool,
    ToolDefinitionError,
    ToolSet,
    UnknownTool,
    as_tool,
    tool,
)


def add(a: int, b: int = 2) -> int:
    """Add numbers."""
    return a + b


async def add_later(a: int) -> int:
    """Add later."""
    return a


def test_bare() -> None:
    made = tool(add)
    assert isinstance(made, Tool)
    assert made(1) == 3
    assert made(1, b=5) == 6
    assert (made.name, made.description, made.risk, made.read_only) == ("add", "Add numbers.", "cautious", False)
    assert (made.timeout, made.max_output, made.is_async, made.idempotent) == (None, None, False, False)
    assert made.function is add
    assert made.__doc__ == "Add numbers."
    assert inspect.unwrap(made) is add
    assert "add" in repr(made)


def test_with_settings() -> None:
    @tool(name="plus", description="Sum.", risk="confirm", timeout=1.5, max_output=10, idempotent=True)
    def add(a: int) -> int:
        return a

    assert (add.name, add.description, add.risk, add.timeout, add.max_output) == ("plus", "Sum.", "confirm", 1.5, 10)
    assert add.idempotent
    assert add(4) == 4


@pytest.mark.parametrize(
    ("settings", "risk"),
    [
        ({}, "cautious"),
        ({"read_only": True}, "safe"),
        ({"read_only": True, "risk": "confirm"}, "confirm"),
        ({"risk": "dangerous"}, "dangerous"),
    ],
)
def test_risk_of_a_tool(settings: dict[str, Any], risk: str) -> None:
    assert tool(add, **settings).risk == risk


def test_read_only_is_idempotent_unless_said() -> None:
    assert tool(add, read_only=True).idempotent
    assert not tool(add, read_only=True, idempotent=False).idempotent


@pytest.mark.parametrize(
    "settings",
    [
        *({"risk": "huge"}, {"timeout": 0}, {"timeout": -1}, {"timeout": float("nan")}, {"timeout": "5"}),
        *({"timeout": float("inf")}, {"timeout": 1e13}, {"max_output": 0}, {"max_output": 2.5}, {"max_output": 10**30}),
        *({"read_only": "no"}, {"read_only": 1}, {"idempotent": "yes"}, {"description": 5}),
    ],
)
def test_wrong_settings(settings: dict[str, Any]) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        tool(add, **settings)
    assert "test_tool.py" in caught.value.message
    assert caught.value.hint


def test_async() -> None:
    made = tool(add_later)
    assert made.is_async
    assert asyncio.run(made(4)) == 4


def test_async_through_partial_and_object() -> None:
    class Later:
        async def __call__(self, a: int) -> int:
            return a

    assert tool(functools.partial(add_later), name="x").is_async
    made = tool(Later())
    assert made.is_async
    assert made.name == "later"


def test_partial_hides_what_it_fixes() -> None:
    made = tool(functools.partial(add, b=40))
    assert made.name == "add"
    assert made.description == "Add numbers."
    assert list(made.schema["properties"]) == ["a"]
    assert asyncio.run(made.call({"a": 2})) == 42
    first = tool(functools.partial(add, 1), name="first")
    assert list(first.schema["properties"]) == ["b"]
    assert asyncio.run(first.call({"b": 2})) == 3
    nested = tool(functools.partial(functools.partial(add, a=1), b=1), name="nested")
    assert nested.schema["properties"] == {}


def test_lambda_needs_a_name() -> None:
    with pytest.raises(InvalidToolName, match="lambda"):
        tool(lambda: 1)
    assert asyncio.run(tool(lambda: 1, name="one").call({})) == 1


class Counter:
    """Counts."""

    def __init__(self, start: int) -> None:
        self.value = start

    @tool
    def increase(self, by: int) -> int:
        """Count up."""
        self.value += by
        return self.value

    @tool(name="later")
    async def increase_later(self, by: int = 1) -> int:
        """Count up later."""
        self.value += by
        return self.value

    @tool
    @classmethod
    def make(cls, start: int) -> int:
        """Make one."""
        return cls(start).value

    @classmethod
    @tool
    def make_inside(cls, start: int) -> int:
        """Make one."""
        return cls(start).value

    @tool
    @staticmethod
    def double(n: int) -> int:
        """Double."""
        return 2 * n

    @staticmethod
    @tool
    def triple(n: int) -> int:
        """Triple."""
        return 3 * n

    def plain(self, n: int) -> int:
        """Plain."""
        return self.value + n

    def __call__(self, n: int) -> int:
        """Call it."""
        return self.value * n


def test_methods() -> None:
    one, two = Counter(1), Counter(10)
    assert one.increase(1) == 2
    assert asyncio.run(two.increase.call({"by": 5})) == 15
    assert asyncio.run(one.increase_later.call({})) == 3
    assert list(one.increase.schema["properties"]) == ["by"]
    assert one.increase.schema is two.increase.schema
    assert one.increase.description == "Count up."
    assert (one.increase_later.name, one.increase_later.is_async) == ("later", True)
    bound = tool(one.plain)
    assert (bound.name, list(bound.schema["properties"])) == ("plain", ["n"])
    assert asyncio.run(bound.call({"n": 1})) == 4


def test_method_from_the_class_needs_its_object() -> None:
    with pytest.raises(SchemaError, match="without its object"):
        _ = Counter.increase.schema


@pytest.mark.parametrize("holder", [Counter, Counter(1)])
def test_class_and_static_methods(holder: Any) -> None:
    assert holder.make(4) == 4
    assert asyncio.run(as_tool(holder.make).call({"start": 4})) == 4
    assert asyncio.run(as_tool(holder.make_inside).call({"start": 4})) == 4
    assert list(as_tool(holder.make_inside).schema["properties"]) == ["start"]
    assert asyncio.run(as_tool(holder.double).call({"n": 4})) == 8
    assert asyncio.run(as_tool(holder.triple).call({"n": 4})) == 12


def test_callable_object() -> None:
    made = tool(Counter(3))
    assert (made.name, made.description) == ("counter", "Call it.")
    assert asyncio.run(made.call({"n": 2})) == 6


def test_decorated_function_keeps_its_signature() -> None:
    def logged(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    made = tool(logged(add))
    assert list(made.schema["properties"]) == ["a", "b"]
    assert asyncio.run(made.call({"a": 1})) == 3
    # A plain wrapper hands out a coroutine.
    assert asyncio.run(tool(logged(add_later)).call({"a": 1})) == 1


def generate() -> Any:
    yield 1


async def generate_later() -> Any:
    yield 1


@pytest.mark.parametrize("wrong", [generate, generate_later, Counter, int])
def test_generators_and_classes_are_refused(wrong: Any) -> None:
    with pytest.raises(SchemaError):
        tool(wrong)


@pytest.mark.parametrize("wrong", [3, None, "text"])
def test_what_is_no_function_is_refused(wrong: Any) -> None:
    with pytest.raises(ToolDefinitionError):
        as_tool(wrong)


def test_twice_decorated_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="already"):
        tool(tool(add))


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("get weather", "get_weather"),
        ("größe", "groe"),
        ("a.b/c", "a_b_c"),
        ("", "my_tool"),
        ("x" * 65, "x" * 64),
        ("été", "ete"),
        ("天気", "my_tool"),
        ("new\nline", "new_line"),
    ],
)
def test_invalid_names_come_with_a_suggestion(name: str, suggestion: str) -> None:
    with pytest.raises(InvalidToolName) as caught:
        tool(add, name=name)
    assert caught.value.hint == f"try name={suggestion!r}"
    assert caught.value.code == "invalid_tool_name"


@pytest.mark.parametrize("name", ["a", "A-b_9", "x" * 64])
def test_valid_names(name: str) -> None:
    assert tool(add, name=name).name == name


def test_set_finds_lists_and_suggests() -> None:
    tools = ToolSet([add, tool(add_later)])
    assert tools.names == ("add", "add_later")
    assert len(tools) == 2
    assert "add" in tools
    assert tools["add"](1) == 3
    assert [each["name"] for each in tools.definitions()] == ["add", "add_later"]
    assert set(tools.definitions()[0]) == {"name", "description", "schema"}
    with pytest.raises(UnknownTool, match="did you mean add_later"):
        tools.get("add_latr")
    with pytest.raises(UnknownTool, match="there are: add, add_later"):
        tools.get("zzz" * 10_000)


def test_duplicates_name_both_places() -> None:
    @tool(name="add")
    def other(a: int) -> int:
        return a

    tools = ToolSet([add])
    with pytest.raises(DuplicateTool) as caught:
        tools.add(other)
    assert caught.value.message.count("test_tool.py:") == 2
    assert str(add.__code__.co_firstlineno) in caught.value.message
    assert "add_2" in (caught.value.hint or "")
    # The very same function is no duplicate.
    tools.add(add)
    assert len(tools) == 1


def test_same_method_of_two_objects_is_a_duplicate() -> None:
    with pytest.raises(DuplicateTool):
        ToolSet([Counter(1).increase, Counter(1).increase])
    one = Counter(1)
    assert len(ToolSet([one.increase, one.increase])) == 1


def test_locals_of_the_caller_are_not_kept_alive() -> None:
    class Big:
        pass

    def scope() -> tuple[Any, Any]:
        big = Big()

        @tool
        def made(a: "int") -> int:
            return a

        return made, weakref.ref(big)

    made, reference = scope()
    gc.collect()
    assert reference() is None
    assert made.bind({"a": 1}) == {"a": 1}


def test_context_can_not_be_changed() -> None:
    context = Context({"db": 1}, run_id="r", call_id="c", round=2, attempt=3)
    assert (context.deps, context.run_id, context.call_id, context.round, context.attempt) == (
        {"db": 1},
        "r",
        "c",
        2,
        3,
    )
    assert not context.cancelled
    for name in ("deps", "run_id", "anything"):
        with pytest.raises(AttributeError):
            setattr(context, name, 1)
        with pytest.raises(AttributeError):
            delattr(context, name)
    context.emit("nobody hears it")
