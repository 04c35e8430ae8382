"""Tools are compiled once, and what was changed is compiled anew."""

from __future__ import annotations

import copy
import pickle
import time
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from loopwright import Agent, UsageError, tool
from loopwright.extraction import PreparedTools, ToolCallParser, extract
from loopwright.testing import ScriptedModel

WRITTEN = "<function=f>\n<parameter=x>\n1\n</parameter>\n</function>"


def typed(kind: Any) -> dict[str, Any]:
    """A schema whose `x` is of this type."""
    return {"type": "object", "properties": {"x": {"type": kind, "enum": [1, "1", True]}}, "required": ["x"]}


def shape(make: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    """A way to declare the tool `f`."""
    return make


SHAPES = [
    shape(lambda schema: [{"name": "f", "input_schema": schema}]),
    shape(lambda schema: [{"type": "function", "function": {"name": "f", "parameters": schema}}]),
    shape(lambda schema: {"f": schema}),
    shape(lambda schema: [("f", schema), "g"]),
    shape(lambda schema: (SimpleNamespace(name="f", schema=schema),)),
]


def x_of(tools: Any) -> Any:
    """What `x` is in the written call."""
    return extract(WRITTEN, tools).calls[0].arguments["x"]  # type: ignore[index]


@pytest.mark.parametrize("make", SHAPES)
def test_e11_a_list_that_was_changed_in_place_is_read_anew(make: Callable[[dict[str, Any]], Any]) -> None:
    schema = typed("string")
    tools = make(schema)
    for _ in range(3):
        assert x_of(tools) == "1"
        schema["properties"]["x"]["type"] = "integer"
        assert x_of(tools) == 1
        schema["properties"]["x"]["type"] = ["string", "null"]
        assert x_of(tools) == "1"
        schema["properties"]["x"]["type"] = "zzz"
        with pytest.raises(UsageError, match="#/properties/x/type"):
            x_of(tools)
        schema["properties"]["x"]["type"] = "string"


def test_e11_numbers_that_python_takes_for_equal_are_told_apart() -> None:
    # An enum of `1` or `True` alone says what its value is.
    for value, read in ((1, 1), (True, True), (1, 1), (1.0, 1), (True, True)):
        tools = [("f", {"properties": {"x": {"const": value}}})]
        call = "<function=f>\n<parameter=x>\n%s\n</parameter>\n</function>"
        for written, fits in ((str(read).lower(), True), ("true" if read is not True else "1", False)):
            found = extract(call % written, tools)
            assert any(problem.kind == "wrong_type" for problem in found.problems) is not fits, (value, written)


def test_e11_a_tool_that_was_added_taken_out_or_renamed_is_noticed() -> None:
    definition = {"name": "g", "input_schema": typed("string")}
    tools = [definition]
    assert not extract(WRITTEN, tools).calls
    definition["name"] = "f"
    assert x_of(tools) == "1"
    tools.clear()
    assert not extract(WRITTEN, tools).calls
    tools.append({"name": "f"})
    assert x_of(tools) == 1


def test_e11_a_function_is_read_anew_when_it_changed() -> None:
    def f(x: str) -> str:
        """Do it."""
        return x

    assert x_of([f]) == "1"
    f.__annotations__["x"] = int
    assert x_of([f]) == 1


def test_e11_prepared_tools_say_the_same_as_the_list() -> None:
    @tool
    def f(x: str, y: int = 1) -> str:
        """Do it."""
        return x * y

    prepared = PreparedTools([f])
    assert prepared.names == ("f",)
    assert list(prepared) == [f]
    assert len(prepared) == 1
    assert repr(prepared) == "PreparedTools([f])"
    assert extract(WRITTEN, prepared) == extract(WRITTEN, [f])
    parser = ToolCallParser(prepared)
    assert [event.type for event in [*parser.feed(WRITTEN), *parser.finish()]][-1] == "call_finished"
    assert PreparedTools(prepared).names == ("f",)
    agent = Agent(ScriptedModel(["hi"]), tools=prepared)
    assert agent.tools.names == ("f",)
    schema = typed("string")
    kept = PreparedTools({"f": schema})
    for same in (kept, copy.copy(kept), pickle.loads(pickle.dumps(kept))):  # noqa: S301 - our own
        assert x_of(same) == "1"
    schema["properties"]["x"]["type"] = "integer"
    assert x_of(kept) == "1"
    for wrong in (3, "f", {"name": "f"}):
        with pytest.raises(UsageError, match="tools are a list"):
            PreparedTools(wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="#/type"):
        PreparedTools([("f", {"type": "zzz"})])


class Odd(Mapping[str, Any]):
    """A mapping of one's own."""

    def __init__(self, **values: Any) -> None:
        self.values_ = values

    def __getitem__(self, key: str) -> Any:
        return self.values_[key]

    def __iter__(self) -> Any:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)


def test_e11_what_is_no_plain_data_is_never_remembered() -> None:
    class Loud:
        """Compares with nothing."""

        def __eq__(self, other: object) -> bool:
            raise RuntimeError

        __hash__ = None  # type: ignore[assignment]

    endless: dict[str, Any] = typed("string")
    endless["properties"]["y"] = endless
    for _ in range(2):
        assert x_of(Odd(f=typed("string"))) == "1"
        with pytest.raises(UsageError, match="can't be written as JSON"):
            extract("x", [("f", {"default": Loud()})])
        with pytest.raises(UsageError, match="can't be written as JSON"):
            extract("x", [("f", endless)])
    for at in range(20):
        assert x_of([("f", typed("string" if at % 2 else "integer") | {"title": f"{at}"})]) == ("1" if at % 2 else 1)


def test_e11_schemas_are_compiled_once() -> None:
    tools = [{"name": f"tool_{at}", "input_schema": typed("string") | {"title": f"{at}"}} for at in range(40)]
    text = ("Let me look. " * 30)[:360] + '<tool_call>{"name": "tool_1", "arguments": {"x": "1"}}</tool_call>'

    def shortest(given: Any) -> float:
        best = float("inf")
        for _ in range(7):
            start = time.thread_time_ns()
            for _ in range(50):
                extract(text, given)
            best = min(best, time.thread_time_ns() - start)
        return best

    alone = shortest(None)
    # Compiling takes fifty times as long as reading.
    assert shortest(PreparedTools(tools)) < 2 * alone
    assert shortest(tools) < 12 * alone
