"""Texts that no UTF-8 can carry, and numbers that no JSON can, wherever they are given: each error says where."""

from __future__ import annotations

import math
from typing import Annotated, Any

import pytest
from loopwright import Agent, Budget, Guard, LoopwrightError, Model, Monitor, UsageError, tool
from loopwright.testing import ScriptedModel, WireServer, call, text
from loopwright.tools import SchemaError
from pydantic import BaseModel, Field
from ways import agent_at, run

HALF = "half \ud800"


@pytest.mark.parametrize(
    ("where", "model", "options"),
    [
        ("base_url", {"base_url": f"http://{HALF}"}, {}),
        ("api_key", {"api_key": HALF}, {}),
        ("headers", {"headers": {"x": HALF}}, {}),
        ("headers", {"headers": {HALF: "x"}}, {}),
        ("instructions", {}, {"instructions": HALF}),
        ("name", {}, {"name": HALF}),
        ("tool_choice", {}, {"settings": {"tool_choice": HALF}}),
    ],
)
def test_an_option_with_half_a_character_is_named(where: str, model: dict[str, Any], options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="half of a character") as caught:
        Agent(Model("openai-chat:x", **{"base_url": "http://localhost:1", "api_key": "k", **model}), **options)
    assert (caught.value.code, caught.value.message.split()[0]) == ("invalid_text", where)
    assert caught.value.hint


def test_a_models_name_and_a_policys_file_with_half_a_character() -> None:
    with pytest.raises(UsageError, match="name"):
        Agent(Model(f"anthropic:{HALF}", api_key="k"))
    with pytest.raises(LoopwrightError) as caught:
        Agent(ScriptedModel(["x"]), guard=Guard(policy=HALF))
    assert caught.value.code


def test_descriptions_with_half_a_character_are_named_where_they_stand() -> None:
    def first(x: int) -> int:
        """Fine."""
        return x

    @tool(description=HALF)
    def second(x: int) -> int:
        return x

    with pytest.raises(UsageError, match=r"^tools\[1\]\.description holds half") as caught:
        Agent(ScriptedModel(["x"]), tools=[first, second])
    assert caught.value.code == "invalid_text"

    def third(x: Annotated[int, HALF]) -> int:
        """Fine."""
        return x

    with pytest.raises(SchemaError, match="third"):
        Agent(ScriptedModel(["x"]), tools=[third])


class Limits(BaseModel):
    most: float = math.inf
    words: str = HALF
    table: dict[str, float] = {"a": math.nan}


def test_defaults_that_json_lacks_are_kept_and_not_shown(way: str) -> None:
    def look(
        limits: Limits,
        most: float = math.inf,
        words: str = HALF,
        below: Annotated[float, Field(le=math.inf)] = 1.0,
        title: str = "shown",
    ) -> str:
        """Look."""
        return f"{limits.most} {limits.words == HALF} {most} {words == HALF} {below}"

    with WireServer([call("look", limits={}), text("ok")]) as server:
        result, _ = run(agent_at(server, tools=[look]), "go", way)
        sent = server.requests[0]["body"]["tools"][0]
    assert result.tool_calls[0].failure is None
    said = next(block.text for message in result.messages for use in message.tool_results for block in use.content)
    assert said == "inf True inf True 1.0"
    schema = next(
        value
        for value in [sent.get("input_schema"), sent.get("parameters"), sent.get("function", {}).get("parameters")]
        if value
    )
    assert schema["properties"]["title"]["default"] == "shown"
    assert "default" not in schema["properties"]["most"]
    assert "default" not in schema["properties"]["words"]


@pytest.mark.parametrize(
    ("where", "use"),
    [
        ("seed", lambda model: Agent(model).run_sync("?", seed=2**70)),
        ("max_tokens", lambda model: Agent(model, settings={"max_tokens": 2**70})),
        ("monitor.pause_every", lambda model: Agent(model, monitor=Monitor(pause_every=2**40))),
        ("retry", lambda model: Agent(Model(model, retry={"attempts": 2**40}))),
        ("retry", lambda model: Agent(Model(model, retry={"attempts": 1.5}))),
        ("retry", lambda model: Agent(Model(model, retry={"attempts": -1}))),
    ],
)
def test_numbers_beyond_all_use_are_named(where: str, use: Any) -> None:
    with pytest.raises(UsageError, match=where) as caught:
        use(ScriptedModel(["x"]))
    assert caught.value.code == "invalid_option"
    assert caught.value.hint


@pytest.mark.parametrize("limit", ["tool_rounds", "rounds", "approvals", "tokens", "children", "depth"])
def test_a_budget_beyond_all_use_is_named(limit: str) -> None:
    with pytest.raises(UsageError, match=limit) as caught:
        Budget(**{limit: 2**70})
    assert (caught.value.code, bool(caught.value.hint)) == ("invalid_budget", True)


def test_a_list_of_whole_messages_is_no_prompt() -> None:
    with pytest.raises(UsageError) as caught:
        Agent(ScriptedModel(["x"])).run_sync([{"role": "user", "content": "hi"}])  # type: ignore[list-item]
    assert caught.value.code == "invalid_prompt"
    assert "messages=" in (caught.value.hint or "")
    before = Agent(ScriptedModel(["x"])).run_sync("go", messages=[{"role": "user", "content": "hi"}]).messages
    assert [message.text for message in before] == ["hi", "go", "x"]


def test_a_result_that_raises_while_it_is_written_is_told_to_the_model(way: str) -> None:
    class Odd(dict):  # type: ignore[type-arg]
        def items(self) -> Any:
            raise ValueError("not now")

        __iter__ = keys = values = items

    def plain() -> Any:
        """Give it."""
        return Odd(a=1)

    async def later() -> Any:
        """Give it."""
        return Odd(a=1)

    script = [call("plain"), call("later"), "ok"]
    result, _ = run(Agent(ScriptedModel(script), tools=[plain, later]), "go", way)
    assert (result.final, [each.failure for each in result.tool_calls]) == ("ok", ["exception", "exception"])
