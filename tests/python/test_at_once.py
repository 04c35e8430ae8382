"""Work that is over at once is done where it is started, and what a result is asked for is made then: nobody notices."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import dataclasses
import pickle
from typing import Any

import pytest
from loopwright import Agent, Budget, Monitor, Result, RunContext, _core, tool
from loopwright.models import Call, Response, answer_event, answer_json
from loopwright.testing import ScriptedModel, call

COLOUR: contextvars.ContextVar[str] = contextvars.ContextVar("colour", default="none")
ODD: list[Any] = [
    "text",
    "",
    'with "quotes", \\ and \n',
    "grüße 👍 \u007f \u2028 \x01",
    Response("t", [Call("a", {"b": [1, 2.5, -0.0, 1e22, True, None, "ü", {"c": {}}], "d": ()}, "id")], "hm"),
    Response(
        calls=[Call("a", '{"broken', ""), Call("b")], stop="max_tokens", input_tokens=3, output_tokens=4, model="m"
    ),
    Response(calls=(Call("a", {"n": 2**70}), Call("b", {1: 2}), Call("c", [])), stop="why not"),
    Response("t", stop="other"),
    Response("half \ud83d", [Call("a", {"k": "half \ud83d"})]),
]


@pytest.mark.parametrize("answer", ODD, ids=range(len(ODD)))
def test_an_answer_read_where_it_stands_is_the_same_as_by_its_canonical_form(answer: Any) -> None:
    long_way = _core.Event.generated(5, answer_json(answer, 2)).to_json()
    assert answer_event(5, answer, 2).to_json() == long_way


def test_what_is_no_answer_is_said_as_ever() -> None:
    for wrong in (Response(3), Response(calls=[Call("a", {"f": float})])):  # type: ignore[arg-type]
        with pytest.raises(Exception, match=r"invalid|serializable"):
            answer_event(1, wrong, 0)


def test_a_tool_that_is_over_at_once_ran_in_a_task_of_its_own() -> None:
    asyncio.run(own_tasks())


async def own_tasks() -> None:
    seen: list[Any] = []

    @tool
    async def look(context: RunContext[None]) -> str:
        """Looks."""
        seen.append((asyncio.current_task(), COLOUR.get(), context.call_id))
        COLOUR.set("red")
        return "seen"

    @tool
    async def wait() -> str:
        """Waits in the middle."""
        before = asyncio.current_task()
        await asyncio.wait_for(asyncio.sleep(0), 5)
        assert asyncio.current_task() is before
        return "waited"

    COLOUR.set("blue")
    script = [call("look"), call("look"), call("wait"), "Done."]
    result = await Agent(ScriptedModel(script), tools=[look, wait]).run("go")
    assert result.final == "Done." and [each.failure for each in result.tool_calls] == [None, None, None]
    own = asyncio.current_task()
    assert [colour for _, colour, _ in seen] == ["blue", "blue"], "each has the caller's variables, and no other's"
    assert len({task for task, _, _ in seen} - {own}) == 2
    assert COLOUR.get() == "blue" and asyncio.current_task() is own
    assert asyncio.all_tasks() == {own}


def test_a_run_that_never_waits_leaves_others_their_turn_and_ends_when_it_is_cancelled() -> None:
    asyncio.run(others_turn())


async def others_turn() -> None:
    class Model:
        async def respond(self, request: Any) -> Response:
            return Response(calls=[Call("count", {"n": request.turns})])

    turns = 0

    @tool
    async def count(n: int) -> str:
        """Counts."""
        nonlocal turns
        turns = n
        return f"{n} is counted"

    agent = Agent(Model(), tools=[count], budget=Budget(tool_rounds=10**6, rounds=10**6), monitor=Monitor(stuck=None))
    task = asyncio.ensure_future(agent.run("go"))
    ticks: list[int] = []
    for _ in range(20):
        await asyncio.sleep(0)
        ticks.append(turns)
    assert ticks[-1] - ticks[0] < 20_000 and not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_result_is_made_when_it_is_asked_for_and_copied_whole() -> None:
    @tool
    def look() -> str:
        """Looks."""
        return "seen"

    def made() -> Result[Any]:
        return Agent(ScriptedModel([call("look"), "Done."]), tools=[look]).run_sync("go")

    whole, late = made(), made()
    assert whole.rounds == 2 and whole.tool_rounds == 1 and whole.usage.total_tokens > 0 and len(whole.iterations) == 2
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = late.nothing  # type: ignore[attr-defined]
    for copied in (pickle.loads(pickle.dumps(late)), copy.copy(made()), dataclasses.replace(made())):  # noqa: S301
        assert copied.tool_calls[0].name == "look" and copied.warnings == [] and copied.roles == {}
        assert copied.transcript == "Done." and copied.cost is None and copied.plans == whole.plans
    assert Result.from_dict(late.to_dict()) == late
    late.warnings.append("kept")
    assert late.warnings == ["kept"]
