"""Answers that are asked for as a call of a tool, on every wire and in every way to run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any, Union

import pytest
from loopwright import Agent, Budget, Guard, Handoff, Output, UsageError, replay, tool
from loopwright.hooks import Hook, HookContext, Replace
from loopwright.testing import ScriptedModel, call, calls, text
from loopwright.tools import DuplicateTool, InvalidOutput
from pydantic import BaseModel, Field
from test_strict_providers import ANSWERS
from ways import agent_at, run, tools_of


class City(BaseModel):
    name: str
    people: int = Field(ge=0)


class Nowhere(BaseModel):
    why: str


BY_CALL = Annotated[City, Output(mode="tool")]
OSLO = City(name="Oslo", people=717_710)
GIVEN = call("final_answer", name="Oslo", people=717_710)


@tool(read_only=True)
def look(query: str) -> str:
    """Look."""
    return f"seen {query}"


def chosen(body: dict[str, Any]) -> Any:
    """The choice of tools that the body of a request makes."""
    return body.get("tool_choice") or body.get("toolConfig", {}).get(
        "functionCallingConfig", body.get("toolConfig", {}).get("toolChoice")
    )


def is_forced(body: dict[str, Any]) -> bool:
    return "final_answer" in json.dumps(chosen(body))


def test_the_arguments_of_a_call_are_the_answer(serve: Any, wire: str, way: str) -> None:
    server = serve(GIVEN)
    result, _ = run(agent_at(server, wire, output_type=BY_CALL), "Oslo?", way)
    assert server.refusals == []
    assert (result.output, result.stop_reason, result.rounds) == (OSLO, "natural", 1)
    assert json.loads(result.final) == {"name": "Oslo", "people": 717_710}
    (asked,) = server.requests
    assert [each.get("name") or each["function"]["name"] for each in tools_of(asked["body"])] == ["final_answer"]
    assert is_forced(asked["body"])
    assert [(each.name, each.arguments) for each in result.tool_calls] == [("final_answer", OSLO.model_dump())]


def test_what_was_said_goes_on_at_a_strict_provider(serve: Any, wire: str) -> None:
    server = serve(GIVEN, text("Yes."))
    result = agent_at(server, wire, output_type=BY_CALL).run_sync("Oslo?")
    more = agent_at(server, wire).run_sync("Really?", messages=result.messages)
    assert server.refusals == []
    assert more.output == "Yes."


@pytest.mark.parametrize(("kind", "answer", "enforced"), ANSWERS, ids=lambda each: str(each)[:30])
def test_types_of_all_kinds_are_arguments(serve: Any, wire: str, kind: Any, answer: Any, enforced: bool) -> None:
    server = serve(call("final_answer", **answer))
    by_call = Annotated[kind, Output(mode="tool")]
    result = agent_at(server, wire, output_type=by_call).run_sync("Answer.")
    assert server.refusals == []
    assert json.loads(result.final) == answer, enforced
    assert result.output is not None or answer == {"value": None}


def test_other_tools_come_first_and_mistakes_go_back(serve: Any, wire: str, way: str) -> None:
    server = serve(call("look", query="Oslo"), call("final_answer", name="Oslo", people=-1), GIVEN)
    result, _ = run(agent_at(server, wire, tools=[look], output_type=BY_CALL), "Oslo?", way)
    assert server.refusals == []
    assert (result.output, result.rounds) == (OSLO, 3)
    assert not any(is_forced(each["body"]) for each in server.requests)
    assert "greater than or equal to 0" in json.dumps(server.requests[-1]["body"])


def test_no_further_mistake_is_forgiven(way: str) -> None:
    asked = Annotated[City, Output(mode="tool", attempts=2)]
    model = ScriptedModel([call("final_answer", name="Oslo"), call("final_answer", people=1), GIVEN])
    with pytest.raises(InvalidOutput, match="name: is required") as caught:
        run(Agent(model, output_type=asked), "go", way)
    assert caught.value.problems[0]["where"] == "name"
    assert caught.value.result is not None
    assert (caught.value.result.rounds, len(model.requests)) == (2, 2)
    assert replay(Agent(ScriptedModel([GIVEN]), output_type=asked).run_sync("go", journal=True).journal).identical


@pytest.mark.parametrize("words", ["It is Oslo.", "Which city do you mean?", '{"name": "Oslo", "people": 717710}'])
def test_words_in_its_place_are_sent_back_and_the_call_is_forced(serve: Any, wire: str, words: str) -> None:
    server = serve(text(words), GIVEN)
    result = agent_at(server, wire, tools=[look], output_type=BY_CALL).run_sync("Oslo?", journal=True)
    assert server.refusals == []
    assert (result.output, result.rounds) == (OSLO, 2)
    assert [is_forced(each["body"]) for each in server.requests] == [False, True]
    assert replay(result.journal).identical


def test_words_count_as_attempts(way: str) -> None:
    model = ScriptedModel(["Oslo.", call("final_answer", name="Oslo"), "Oslo!", GIVEN])
    with pytest.raises(InvalidOutput, match="no call of"):
        run(Agent(model, output_type=BY_CALL), "go", way)
    assert len(model.requests) == 3


def test_where_nothing_else_is_left_the_call_is_forced_and_runs() -> None:
    model = ScriptedModel([call("look", query="a"), calls(call("look", query="b"), GIVEN)])
    agent = Agent(model, tools=[look], output_type=BY_CALL, budget=Budget(rounds=2, tool_rounds=1))
    result = agent.run_sync("go")
    assert (result.output, result.stop_reason) == (OSLO, "natural")
    assert '"tool_choice":{"tool":"final_answer"}' in model.requests[1].to_json()
    assert [each.failure for each in result.tool_calls] == [None, "not_run", None]
    # A wrong one finds no further request.
    model = ScriptedModel([call("final_answer", name="Oslo")])
    assert Agent(model, output_type=BY_CALL, budget=Budget(rounds=1)).run_sync("go").stop_reason == "rounds"


def test_the_same_mistake_again_and_again_is_counted_as_attempts_alone() -> None:
    model = ScriptedModel([*[call("final_answer", name="Oslo")] * 7, GIVEN])
    agent = Agent(model, output_type=Annotated[City, Output(mode="tool", attempts=8)])
    assert agent.run_sync("go").output == OSLO


def test_streams_give_what_the_arguments_hold_so_far(serve: Any, wire: str) -> None:
    server = serve(text("Let me see."), GIVEN)
    agent = agent_at(server, wire, tools=[look], output_type=BY_CALL)
    with agent.stream_sync("Oslo?") as stream:
        partial = list(stream.outputs())
    assert partial[-1].done
    assert partial[-1].value == stream.result.output == OSLO
    assert partial[-1].data == OSLO.model_dump()
    assert not any("see" in str(each.data) for each in partial)
    server = serve(call("final_answer", value=[{"name": "Oslo", "people": 1}, {"name": "Bergen", "people": 2}]))

    async def main() -> list[City]:
        many = agent_at(server, wire, output_type=Annotated[list[City], Output(mode="tool")])
        async with many.stream("Norway?") as stream:
            return [each async for each in stream.items()]

    assert [each.name for each in asyncio.run(main())] == ["Oslo", "Bergen"]


def test_a_partial_output_comes_before_the_end() -> None:
    model = ScriptedModel([call("look", query='{"name": "no"}'), GIVEN])
    agent = Agent(model, tools=[look], output_type=BY_CALL)
    with agent.stream_sync("Oslo?") as stream:
        partial = [each.data for each in stream.outputs()]
    assert partial[-1] == OSLO.model_dump()
    assert {"name": "no"} not in partial


def test_a_union_is_one_tool() -> None:
    asked = Annotated[Union[City, Nowhere], Output(mode="tool", name="place")]
    model = ScriptedModel([call("place", value={"why": "no such place"})])
    assert Agent(model, output_type=asked).run_sync("go").output == Nowhere(why="no such place")


def test_a_sub_agent_answers_by_a_call_too(serve: Any, wire: str) -> None:
    task = call("spawn", agent="scout", task="Find Oslo.")
    server = serve(task, call("final_answer", name="Oslo", people="?"), GIVEN, text("Done."))
    scout = agent_at(server, wire, name="scout", description="Finds cities.", output_type=BY_CALL)
    result = agent_at(server, wire, agents=[scout]).run_sync("go", journal=True)
    assert server.refusals == []
    (child,) = result.children
    assert (json.loads(child.final or ""), child.stop_reason) == (OSLO.model_dump(), "natural")
    assert "717710" in json.dumps(server.requests[-1]["body"])
    assert replay(result.journal).identical


def test_whoever_goes_on_answers_in_its_own_way() -> None:
    desk = Agent(ScriptedModel([call("look", query="a"), GIVEN]), name="desk", tools=[look], output_type=BY_CALL)
    front = Agent(ScriptedModel([call("transfer_to_desk")]), output_type=BY_CALL, handoffs=[Handoff(desk)])
    result = front.run_sync("go")
    assert (result.output, result.agent) == (OSLO, "desk")
    # An answer beside a handoff is the answer.
    front = Agent(ScriptedModel([calls(GIVEN, call("transfer_to_desk"))]), output_type=BY_CALL, handoffs=[desk])
    result = front.run_sync("go")
    assert (result.output, result.stop_reason, len(result.messages)) == (OSLO, "natural", 3)


def test_a_run_that_was_left_goes_on_to_its_answer(tmp_path: Path) -> None:
    @tool(risk="confirm")
    def pay(amount: int) -> str:
        """Pays."""
        return f"paid {amount}"

    model = ScriptedModel([call("pay", amount=3), GIVEN])
    agent = Agent(model, tools=[pay], output_type=BY_CALL, guard=Guard(approve="suspend"), journal=tmp_path / "runs.db")
    left = agent.run_sync("go")
    assert left.stop_reason == "suspended"
    result = agent.resume_sync(left, {left.pending[0].call_id: True})
    assert (result.output, result.stop_reason) == (OSLO, "natural")
    assert replay(tmp_path / "runs.db", left.run_id).identical


def test_an_answer_that_stands_beside_a_question_waits_for_it() -> None:
    @tool(risk="confirm")
    def pay(amount: int) -> str:
        """Pays."""
        return f"paid {amount}"

    for allowed in (True, False):
        model = ScriptedModel([calls(GIVEN, call("pay", amount=3))])
        result = Agent(
            model, tools=[pay], output_type=BY_CALL, guard=Guard(approve=lambda _, yes=allowed: yes)
        ).run_sync("go")
        assert (result.output, result.tool_calls[1].failure) == (OSLO, None if allowed else "denied")


def test_hooks_see_the_answer_and_may_change_it() -> None:
    seen: list[str] = []

    def redact(context: HookContext) -> Replace:
        seen.append(context.subject.text)
        return Replace(context.subject.text.replace("Oslo", "[city]"))

    agent = Agent(ScriptedModel([GIVEN]), output_type=BY_CALL, hooks=[Hook("pre_output", redact)])
    assert agent.run_sync("go").output.name == "[city]"
    assert json.loads(seen[0]) == OSLO.model_dump()


def test_names_and_options_that_can_not_be() -> None:
    @tool
    def final_answer() -> str:
        """Another."""
        return ""

    with pytest.raises(DuplicateTool, match="final_answer") as caught:
        Agent(ScriptedModel([]), tools=[final_answer], output_type=BY_CALL)
    assert "Output(name=" in (caught.value.hint or "")
    with pytest.raises(UsageError, match="mode"):
        Output(mode="call")  # type: ignore[arg-type]
    agent = Agent(ScriptedModel([GIVEN]), output_type=BY_CALL)
    assert agent.tools.names == ("final_answer",)
    assert agent.clone(output_type=City).tools.names == ()
