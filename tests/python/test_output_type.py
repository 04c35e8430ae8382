"""Answers of a type: the schema goes to the provider, the value comes back, mistakes go to the model."""

from __future__ import annotations

import dataclasses
import datetime
import json
from typing import Any, Literal

import pytest
from loopwright import Agent, Budget, Model, ModelError, tool
from loopwright.errors import NoOutput
from loopwright.models import Call, Response
from loopwright.testing import ScriptedModel, call, text
from loopwright.tools import InvalidOutput, SchemaError
from pydantic import BaseModel, ConfigDict, Field, field_validator
from ways import agent_at, run


class City(BaseModel):
    name: str
    people: int = Field(ge=0)


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


class Bill(BaseModel):
    """Strict: text is a date in JSON, and in JSON alone."""

    model_config = ConfigDict(strict=True)
    when: datetime.date
    lines: tuple[int, ...]


OSLO = '{"name": "Oslo", "people": 717710}'


@tool(read_only=True)
def look(query: str) -> str:
    """Look."""
    return query


def test_the_schema_reaches_the_wire_and_the_value_comes_back(serve: Any, wire: str, way: str) -> None:
    server = serve(text(OSLO))
    result, _ = run(agent_at(server, wire, output_type=City), "Oslo?", way)
    assert result.output == City(name="Oslo", people=717_710)
    assert result.final == OSLO
    shown = json.dumps(server.requests[0]["body"])
    assert "people" in shown
    assert "City" in shown or wire in ("anthropic", "gemini", "bedrock"), "not all wires have a name for a schema"


@pytest.mark.parametrize(
    ("kind", "answer", "value"),
    [
        (int, '{"value": 3}', 3),
        (int, "3", 3),
        (list[str], '{"value": ["a"]}', ["a"]),
        (Literal["yes", "no"], '{"value": "yes"}', "yes"),
        (Literal["yes", "no"], "yes", "yes"),
        (Point, '{"x": 1}', Point(1.0)),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (City, f"Here it is:\n```json\n{OSLO}\n```\nGood luck!", City(name="Oslo", people=717_710)),
        (City, f"It is {OSLO}, I think.", City(name="Oslo", people=717_710)),
        (Bill, '{"when": "2026-01-02", "lines": [1]}', Bill(when=datetime.date(2026, 1, 2), lines=(1,))),
    ],
)
def test_of_any_type(kind: Any, answer: str, value: Any) -> None:
    assert Agent(ScriptedModel([answer]), output_type=kind).run_sync("go").output == value


def test_after_tools(way: str) -> None:
    model = ScriptedModel([call("look", query="a"), OSLO])
    result, _ = run(Agent(model, tools=[look], output_type=City), "go", way)
    assert result.output == City(name="Oslo", people=717_710)
    assert [each.name for each in result.tool_calls] == ["look"]


def test_a_mistake_goes_back_and_everything_is_counted(way: str) -> None:
    script = [
        Response("", [Call("look", {"query": "a"})]),
        Response('{"name": "Oslo", "people": -1}', input_tokens=10, output_tokens=5),
        Response(OSLO, input_tokens=20, output_tokens=6),
    ]
    model = ScriptedModel(script)
    agent = Agent(Model(model, price={"input": 1.0, "output": 1.0}), tools=[look], output_type=City)
    result, events = run(agent, "go", way)
    assert result.output == City(name="Oslo", people=717_710)
    assert "greater than or equal to 0" in model.requests[-1].last_text
    assert result.rounds == len(model.requests) == 3
    assert len(result.iterations) == 3
    assert [each.name for each in result.tool_calls] == ["look"]
    assert (result.usage.input_tokens, result.usage.output_tokens) == (30, 11)
    assert result.cost == pytest.approx(41e-6)
    assert len(result.messages) == 6
    if way == "stream":
        assert [type(event).__name__ for event in events].count("RunFinished") == 1


def test_no_third_mistake_is_forgiven(way: str) -> None:
    with pytest.raises(InvalidOutput) as caught:
        run(Agent(ScriptedModel(["no", "still no", "never"]), output_type=City), "go", way)
    assert isinstance(caught.value, ModelError)
    result = caught.value.result
    assert result is not None
    assert (result.final, result.rounds) == ("never", 3)
    with pytest.raises(NoOutput):
        result.output  # noqa: B018


def test_attempts_share_the_budget(way: str) -> None:
    model = ScriptedModel(["no", "still no", "never"])
    result, _ = run(Agent(model, output_type=City, budget=Budget(rounds=2)), "go", way)
    assert result.stop_reason == "rounds"
    assert len(model.requests) == 2
    with pytest.raises(NoOutput, match="rounds"):
        result.output  # noqa: B018
    price = {"input": 1_000_000.0, "output": 0.0}
    model = ScriptedModel([Response("no", input_tokens=1)] * 3)
    result, _ = run(Agent(Model(model, price=price), output_type=City, budget=Budget(cost=1.5)), "go", way)
    assert result.stop_reason == "cost"
    assert len(model.requests) == 2
    assert result.cost == pytest.approx(2.0)


def test_without_a_type_the_output_is_the_text() -> None:
    result = Agent(ScriptedModel(["hi"])).run_sync("go")
    assert result.output == result.final == "hi"


def test_a_limit_leaves_no_output() -> None:
    agent = Agent(ScriptedModel([call("look", query="a")]), tools=[look], output_type=City, budget=Budget(rounds=1))
    result = agent.run_sync("go")
    assert result.stop_reason == "rounds"
    with pytest.raises(NoOutput, match="rounds"):
        result.output  # noqa: B018


class _Odd(Exception):
    def __str__(self) -> str:
        return "odd\nwords"


@pytest.mark.parametrize("error", [KeyError("zip"), TypeError(), ZeroDivisionError("by zero"), _Odd(), StopIteration()])
def test_a_check_that_breaks_is_a_mistake_of_the_answer(error: Exception, way: str) -> None:
    class Checked(BaseModel):
        name: str

        @field_validator("name")
        @classmethod
        def known(cls, name: str) -> str:
            if name != "Oslo":
                raise error
            return name

    model = ScriptedModel(['{"name": "Atlantis"}', '{"name": "Oslo"}'])
    result, _ = run(Agent(model, output_type=Checked), "go", way)
    assert result.output == Checked(name="Oslo")
    assert type(error).__name__ in model.requests[-1].last_text
    with pytest.raises(InvalidOutput) as caught:
        run(Agent(ScriptedModel(['{"name": "Atlantis"}'] * 3), output_type=Checked), "go", way)
    assert type(caught.value.__cause__) in (type(error), RuntimeError)
    assert caught.value.result is not None
    assert caught.value.result.final == '{"name": "Atlantis"}'


@pytest.mark.parametrize("function", [lambda: 1, print, City.model_dump_json, City(name="Oslo", people=1).model_dump])
def test_a_function_is_no_type(function: Any) -> None:
    with pytest.raises(SchemaError, match="is no type"):
        Agent(ScriptedModel(["1"]), output_type=function).run_sync("go")


@pytest.mark.parametrize("error", [KeyError("zip"), RuntimeError(), RecursionError("deep")])
def test_a_type_that_breaks_while_its_schema_is_made(error: Exception) -> None:
    class Broken:
        @classmethod
        def __get_pydantic_core_schema__(cls, *_: Any) -> Any:
            raise error

    with pytest.raises(SchemaError, match="Broken"):
        Agent(ScriptedModel(["x"]), output_type=Broken).run_sync("go")

    def wants(thing: Broken) -> str:
        """Want."""
        return str(thing)

    with pytest.raises(SchemaError, match="wants"):
        Agent(ScriptedModel(["x"]), tools=[tool(wants)]).run_sync("go")
