"""Functions around a request to the model, in three ways to run."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from arounds import KINDS, Odd, around, identical, look, texts
from loopwright import Agent, Budget, Grounded, LoopwrightError, Model, Research, SubAgent
from loopwright.events import HookFailed, Reset, TextDelta
from loopwright.hooks import (
    CallModel,
    CallModelAsync,
    CallSubject,
    CallToolAsync,
    Hook,
    HookContext,
    HookError,
    Hooks,
    RequestSubject,
)
from loopwright.messages import Message
from loopwright.models import ModelFailure, Request
from loopwright.models import Response as Written
from loopwright.testing import ScriptedModel, WireServer, call, fault
from loopwright.wire import Response
from test_research import PAGES, TIDES, Researcher
from ways import agent_at, eventually, run, words

Serve = Callable[..., WireServer]


def test_d03_a_request_is_made_again_and_answered_from_a_cache(serve: Serve, wire: str, way: str) -> None:
    hooks = Hooks()
    kept: dict[str, Response] = {}
    failed: list[str] = []

    @hooks.around_model
    def cache(context: HookContext[RequestSubject], call_next: CallModel) -> Response:
        key = context.subject.text
        if key not in kept:
            kept[key] = call_next()
        return kept[key]

    @hooks.around_model
    async def again(context: HookContext[RequestSubject], call_next: CallModelAsync) -> Response:
        try:
            return await call_next()
        except ModelFailure as failure:
            failed.append(failure.code)
            return await call_next(temperature=0.5)

    server = serve(fault.status(503), "It is sunny.")
    agent = agent_at(server, wire, hooks=hooks)
    first, _ = run(agent, "How is the weather?", way, journal=True)
    second, _ = run(agent, "How is the weather?", way, journal=True)
    assert [first.output, second.output] == ["It is sunny."] * 2
    assert failed == ["overloaded"]
    bodies = [json.dumps(each["body"]) for each in server.requests]
    assert ["0.5" in body for body in bodies] == [False, True]
    assert first.rounds == second.rounds == 1
    assert (first.usage.total_tokens > 0, second.usage.total_tokens) == (True, 0)
    assert identical(first)
    assert identical(second)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "answer", ["Forty-two.", Written("Forty-two."), Message.assistant("Forty-two."), Response("Forty-two.")]
)
def test_d03_what_a_function_returns_is_the_answer(serve: Serve, way: str, kind: str, answer: Any) -> None:
    def other(context: HookContext[Any], call_next: Callable[..., Any]) -> Any:
        said = call_next()
        assert said.message.text == "Six by nine."
        return answer

    server = serve("Six by nine.")
    result, events = run(agent_at(server, hooks=around("around_model", kind, other)), "?", way, journal=True)
    assert (result.output, result.messages[-1].text, len(server.requests)) == ("Forty-two.", "Forty-two.", 1)
    assert result.usage.total_tokens > 0, "the model was asked all the same"
    assert identical(result)
    if way == "stream":
        assert texts(events) == ["Six by nine.", "Forty-two."]


def test_d03_functions_stand_in_order_the_first_outermost(serve: Serve, way: str) -> None:
    seen: list[str] = []
    hooks = Hooks()

    @hooks.around_model
    def first(context: HookContext[RequestSubject], call_next: CallModel) -> Response:
        seen.append(f"first {context.subject.system} {context.round} {context.spent.iterations} {context.deps}")
        answer = call_next(system="From the first.")
        seen.append("first again")
        return answer

    @hooks.around_model
    async def second(context: HookContext[RequestSubject], call_next: CallModelAsync) -> Response:
        seen.append(f"second {context.subject.system}")
        answer = await call_next()
        seen.append("second again")
        return answer

    server = serve(call("look", path="a"), "Done.")
    agent = agent_at(server, hooks=hooks, instructions="Plain.", deps_type=str, tools=[look])
    result, _ = run(agent, "go", way, deps="mine", journal=True)
    assert seen[:4] == ["first Plain. 1 1 mine", "second From the first.", "second again", "first again"]
    assert seen[4] == "first Plain. 2 2 mine"
    assert all("From the first." in json.dumps(each["body"]) for each in server.requests)
    assert result.output == "Done."
    assert identical(result)


def test_d03_an_answer_that_is_passed_on_streams_as_it_comes(serve: Serve) -> None:
    server = serve("one two three four five six seven eight nine ten")
    plain = run(agent_at(serve("one two three four five six seven eight nine ten")), "go", "stream")[1]
    hooks = [Hook("around_model", lambda context, call_next: call_next())]
    _, events = run(agent_at(server, hooks=hooks), "go", "stream")
    pieces = [event.text for event in events if isinstance(event, TextDelta)]
    assert pieces == [event.text for event in plain if isinstance(event, TextDelta)]
    assert len(pieces) > 1
    assert not any(isinstance(event, Reset) for event in events)


def test_d03_what_was_shown_of_an_answer_that_does_not_count_is_void(serve: Serve, wire: str) -> None:
    async def twice(context: HookContext[RequestSubject], call_next: CallModelAsync) -> Response:
        await call_next()
        return await call_next()

    server = serve("A draft.", "The answer.")
    result, events = run(agent_at(server, wire, hooks=Hook("around_model", twice)), "go", "stream", journal=True)
    assert texts(events) == ["A draft.", "The answer."]
    assert result.output == "The answer."
    one = run(agent_at(serve("The answer."), wire), "go", "run")[0]
    two = run(agent_at(serve("A draft."), wire), "go", "run")[0]
    assert result.usage.total_tokens == one.usage.total_tokens + two.usage.total_tokens
    assert identical(result)


def test_d03_a_failure_in_the_middle_of_a_stream_is_made_good(serve: Serve) -> None:
    def steady(context: HookContext[RequestSubject], call_next: CallModel) -> Response | str:
        try:
            return call_next()
        except ModelFailure as failure:
            return f"Sorry: {failure.code}."

    server = serve(fault.cut(after=6))
    agent = agent_at(server, hooks=Hook("around_model", steady))
    result, events = run(agent, "go", "stream", journal=True)
    assert (result.output, len(server.requests)) == ("Sorry: cut.", 1)
    assert texts(events)[0]
    assert texts(events)[1:] == ["Sorry: cut."]
    assert identical(result)


def test_d03_a_failure_that_is_let_through_is_retried_by_the_engine(serve: Serve, way: str) -> None:
    seen: list[str] = []

    def watch(context: HookContext[RequestSubject], call_next: CallModel) -> Response:
        seen.append("asked")
        return call_next()

    server = serve(fault.status(503), "Here.")
    agent = agent_at(server, hooks=Hook("around_model", watch), retry={"base": 0.01})
    result, events = run(agent, "go", way, journal=True)
    assert (result.output, seen) == ("Here.", ["asked", "asked"])
    assert not any(isinstance(event, HookFailed) for event in events)
    assert identical(result)


def test_d03_a_function_may_say_that_the_model_failed(way: str) -> None:
    def closed(context: HookContext[RequestSubject], call_next: CallModel) -> Response:
        raise ModelFailure("closed on Sundays", "quota")

    model = ScriptedModel(["never"])
    with pytest.raises(LoopwrightError) as caught:
        run(Agent(model, hooks=Hook("around_model", closed)), "go", way)
    assert caught.value.code == "quota"
    assert "closed on Sundays" in caught.value.message
    assert model.requests == []


class Own:
    """A model of one's own that raises the first time."""

    def __init__(self) -> None:
        self.asked = 0

    def respond(self, request: Request) -> str:
        self.asked += 1
        if self.asked == 1:
            message = "not plugged in"
            raise ConnectionError(message)
        return "Plugged in."


def test_d03_what_a_model_of_ones_own_raises_can_be_caught_or_let_through(way: str) -> None:
    def again(context: HookContext[RequestSubject], call_next: CallModel) -> Response:
        try:
            return call_next()
        except ConnectionError:
            return call_next()

    result, _ = run(Agent(Own(), hooks=Hook("around_model", again)), "go", way)
    assert result.output == "Plugged in."
    with pytest.raises(ConnectionError, match="not plugged in"):
        run(Agent(Own(), hooks=Hook("around_model", lambda context, call_next: call_next())), "go", way)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("asks", [False, True])
def test_d03_a_failing_function_is_an_event_and_is_left_out(serve: Serve, way: str, kind: str, asks: bool) -> None:
    def broken(context: HookContext[Any], call_next: Callable[..., Any]) -> Any:
        if asks:
            call_next()
        raise KeyError("oops")

    server = serve("Well.")
    agent = agent_at(server, hooks=around("around_model", kind, broken))
    result, events = run(agent, "go", way, journal=True)
    assert (result.output, len(server.requests)) == ("Well.", 1)
    assert any("broken" in warning and "oops" in warning for warning in result.warnings)
    assert identical(result)
    if way == "stream":
        assert [(each.stage, each.name, each.stop) for each in events if isinstance(each, HookFailed)] == [
            ("post_llm", "broken", False)
        ]
        assert texts(events) == ["Well."]


@pytest.mark.parametrize("asks", [False, True])
def test_d03_a_failing_function_ends_the_run_where_it_says_so(serve: Serve, way: str, asks: bool) -> None:
    def broken(context: HookContext[RequestSubject], call_next: CallModel) -> Response:
        if asks:
            call_next()
        raise KeyError("oops")

    def outer(context: HookContext[RequestSubject], call_next: CallModel) -> Response | str:
        try:
            return call_next()
        except HookError:
            return "never mind"

    hooks = [Hook("around_model", outer), Hook("around_model", broken, on_error="stop")]
    server = serve("Well.")
    with pytest.raises(HookError) as caught:
        run(agent_at(server, hooks=hooks), "go", way, journal=True)
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.result is not None
    assert caught.value.result.stop_reason == "hook_failed"
    assert identical(caught.value.result)
    assert len(server.requests) == asks


@pytest.mark.parametrize("answer", [None, 3, Odd(), Message.user("You."), {"role": "assistant"}, b"x", ["a"]])
def test_d03_what_is_no_answer_is_a_failure_of_its_function(serve: Serve, way: str, answer: Any) -> None:
    server = serve("Well.")
    result, _ = run(agent_at(server, hooks=Hook("around_model", lambda context, call_next: answer)), "go", way)
    assert (result.output, len(server.requests)) == ("Well.", 1)
    assert len(result.warnings) == 1


def test_d03_a_call_of_the_next_that_nobody_awaits_is_none(serve: Serve, way: str) -> None:
    async def forgets(context: HookContext[RequestSubject], call_next: CallModelAsync) -> Any:
        return call_next()

    server = serve("Well.")
    result, _ = run(agent_at(server, hooks=Hook("around_model", forgets)), "go", way)
    assert (result.output, len(server.requests)) == ("Well.", 1)
    assert len(result.warnings) == 1


def test_d03_a_request_takes_what_pre_llm_takes(serve: Serve, way: str) -> None:
    raised: list[str] = []

    def curious(context: HookContext[RequestSubject], call_next: Any) -> Any:
        for given, named in ((("x",), {}), ((), {"bogus": 1}), ((), {"messages": []}), ((), {"system": object()})):
            try:
                call_next(*given, **named)
            except LoopwrightError as error:
                raised.append(error.code)
        return call_next(max_tokens=5)

    server = serve("Well.")
    result, _ = run(agent_at(server, hooks=Hook("around_model", curious), settings={"max_tokens": 3}), "go", way)
    assert result.output == "Well."
    assert raised == ["invalid_replacement"] * 3 + ["invalid_answer"]
    assert server.requests[0]["body"]["max_tokens"] == 3, "a limit is not lifted"


def test_d03_of_two_requests_at_once_one_is_shown(serve: Serve, way: str) -> None:
    async def race(context: HookContext[RequestSubject], call_next: CallModelAsync) -> Response:
        answers = await asyncio.gather(call_next(), call_next())
        return answers[1]

    server = serve("The same.", "The same.")
    result, events = run(agent_at(server, hooks=Hook("around_model", race)), "go", way, journal=True)
    assert (result.output, len(server.requests)) == ("The same.", 2)
    assert identical(result)
    if way == "stream":
        assert texts(events)[-1] == "The same."
        assert len(texts(events)) <= 2


def test_d03_a_request_that_takes_too_long_is_stopped_and_made_again(serve: Serve, way: str) -> None:
    async def impatient(context: HookContext[RequestSubject], call_next: CallModelAsync) -> Response:
        try:
            return await asyncio.wait_for(call_next(), 0.3)
        except (TimeoutError, asyncio.TimeoutError):
            return await call_next()

    server = serve(fault.stalls(), "In time.")
    result, events = run(agent_at(server, hooks=Hook("around_model", impatient)), "go", way, journal=True)
    assert (result.output, len(server.requests)) == ("In time.", 2)
    assert eventually(lambda: server.open_connections <= 1), "the first is closed"
    assert identical(result)
    if way == "stream":
        assert texts(events)[-1] == "In time."


@pytest.mark.parametrize("kind", KINDS)
def test_d03_a_function_may_have_a_time_limit(serve: Serve, way: str, kind: str) -> None:
    left = threading.Event()

    def slow(context: HookContext[Any], call_next: Callable[..., Any]) -> Any:
        left.wait(5)
        return call_next()

    server = serve("Well.")
    result, _ = run(agent_at(server, hooks=around("around_model", kind, slow, timeout=0.1)), "go", way)
    left.set()
    assert (result.output, len(server.requests)) == ("Well.", 1)
    assert any("no answer within 0.1 s" in warning for warning in result.warnings)


@pytest.mark.parametrize("kind", KINDS)
def test_d03_a_cancelled_run_ends_inside_of_a_function(serve: Serve, kind: str) -> None:
    began, ended = threading.Event(), threading.Event()
    raised: list[BaseException] = []

    def waits(context: HookContext[Any], call_next: Callable[..., Any]) -> Any:
        while True:
            began.set()
            try:
                return call_next()
            except Exception:  # noqa: S112 - as who tries again for ever
                continue
            except BaseException as error:
                raised.append(error)
                ended.set()
                raise

    async def main() -> Any:
        stream = agent_at(serve(fault.stalls()), hooks=around("around_model", kind, waits)).stream("go")

        async def cancel() -> None:
            await asyncio.to_thread(began.wait, 10)
            stream.cancel()

        task = asyncio.ensure_future(cancel())
        async for _ in stream:
            pass
        await task
        return stream.result

    result = asyncio.run(main())
    assert result.stop_reason == "cancelled"
    assert eventually(ended.is_set)
    assert isinstance(raised[0], asyncio.CancelledError)


def test_d03_the_time_of_a_run_holds_inside_of_a_function(serve: Serve, way: str) -> None:
    async def waits(context: HookContext[RequestSubject], call_next: CallModelAsync) -> Response:
        await asyncio.sleep(60)
        return await call_next()

    server = serve("never")
    agent = agent_at(server, hooks=Hook("around_model", waits), budget=Budget(wall_time=0.3))
    result, _ = run(agent, "go", way)
    assert (result.stop_reason, server.requests) == ("wall_time", [])


def test_d03_what_calls_the_next_ends_with_its_function(serve: Serve, way: str) -> None:
    kept: list[Any] = []

    def keeps(context: HookContext[RequestSubject], call_next: CallModel) -> Response:
        kept.append(call_next)
        return call_next()

    server = serve("Well.")
    assert run(agent_at(server, hooks=Hook("around_model", keeps)), "go", way)[0].output == "Well."
    with pytest.raises(LoopwrightError) as caught:
        kept[0]()
    assert (caught.value.code, len(server.requests)) == ("call_refused", 1)


def test_d03_a_plain_function_may_hand_out_something_to_await(serve: Serve, way: str) -> None:
    async def really(call_next: Any) -> Any:
        return await call_next()

    server = serve("Well.")
    hooks = Hook("around_model", lambda context, call_next: really(call_next))
    assert run(agent_at(server, hooks=hooks), "go", way)[0].output == "Well."


def test_d03_functions_stand_around_what_sub_agents_do_too(serve: Serve, way: str) -> None:
    seen: list[Any] = []
    hooks = Hooks()

    @hooks.around_model
    def model(context: HookContext[RequestSubject], call_next: CallModel) -> Response | str:
        seen.append((context.stage, context.path, context.round))
        answer = call_next()
        return "I looked." if context.agent == "explore" and not answer.message.tool_uses else answer

    @hooks.around_tool
    async def tools(context: HookContext[CallSubject], call_next: CallToolAsync) -> Any:
        seen.append((context.stage, context.path, context.round))
        return await call_next()

    server = serve(call("spawn", agent="explore", task="Look around."), "Done.")
    child = ScriptedModel([call("look", path="a"), "never said"])
    agents = [SubAgent("explore", "Looks around.", model=child, tools=[look])]
    result, _ = run(agent_at(server, hooks=hooks, agents=agents), "go", way, journal=True)
    assert result.output == "Done."
    assert seen == [
        ("around_model", None, 1),
        ("around_model", "explore", 1),
        ("around_tool", "explore", 1),
        ("around_model", "explore", 2),
        ("around_model", None, 2),
    ]
    assert "I looked." in str(result.tool_calls[0].result)
    assert identical(result)


def test_d03_functions_stand_around_the_requests_of_a_research(way: str) -> None:
    seen: list[str] = []

    def watch(context: HookContext[RequestSubject], call_next: CallModel) -> Response:
        seen.append(context.stage)
        return call_next()

    model = Researcher()
    research = Research(
        model, corpus=PAGES, budget=Budget(rounds=99, research_cycles=2), hooks=Hook("around_model", watch)
    )
    result, _ = run(research, TIDES, way, journal=True)
    assert result.stop_reason == "verified"
    assert seen == ["around_model"] * len(model.requests)
    assert identical(result)


def test_d03_functions_stand_around_the_requests_of_a_grounded_answer(serve: Serve, way: str, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("The breaker opens after 3 failures.\n")
    seen: list[str] = []

    def watch(context: HookContext[RequestSubject], call_next: CallModel) -> Response:
        seen.append(context.stage)
        return call_next()

    server = serve("The breaker opens after 3 failures [1].")
    model = Model("anthropic:test", base_url=server.url, api_key="k")
    result, _ = run(Grounded(model, sources=[tmp_path], hooks=[Hook("around_model", watch)]), "When does it open?", way)
    assert "3 failures" in result.output
    assert seen == ["around_model"] * len(server.requests)


@pytest.mark.parametrize(
    ("budget", "price"),
    [(Budget(tokens=400), None), (Budget(cost=0.0004), {"input": 1.0, "output": 1.0})],
)
def test_d03_the_budget_of_a_run_holds_inside_of_a_function(serve: Serve, way: str, budget: Budget, price: Any) -> None:
    refused: list[str] = []

    async def again(context: HookContext[RequestSubject], call_next: CallModelAsync) -> Response:
        answer = await call_next()
        for _ in range(9):
            try:
                answer = await call_next()
            except LoopwrightError as error:
                refused.append(error.code)
        return answer

    server = serve(*[words(60)] * 10)
    agent = agent_at(server, hooks=Hook("around_model", again), budget=budget, price=price)
    result, _ = run(agent, words(60), way, journal=True)
    assert 1 < len(server.requests) < 10
    assert refused == ["over_budget"] * (10 - len(server.requests))
    assert result.usage.total_tokens <= 400
    assert result.output == words(60)
    assert identical(result)


def test_d03_the_faster_of_two_requests_counts_and_the_other_is_stopped(serve: Serve, way: str) -> None:
    async def race(context: HookContext[RequestSubject], call_next: CallModelAsync) -> Response:
        both = [asyncio.ensure_future(call_next()) for _ in range(2)]
        done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()

    server = serve(fault.stalls(), "I was faster.")
    result, events = run(agent_at(server, hooks=Hook("around_model", race)), "go", way, journal=True)
    assert (result.output, len(server.requests)) == ("I was faster.", 2)
    assert eventually(lambda: server.open_connections <= 1)
    assert identical(result)
    if way == "stream":
        assert texts(events)[-1] == "I was faster."


def test_d03_a_run_that_ends_behind_an_answer_keeps_what_was_shown(serve: Serve) -> None:
    async def ponders(context: HookContext[RequestSubject], call_next: CallModelAsync) -> Response:
        answer = await call_next()
        await asyncio.sleep(60)
        return answer

    async def main() -> Any:
        stream = agent_at(serve("A thought."), hooks=Hook("around_model", ponders)).stream("go")
        async for event in stream:
            if isinstance(event, TextDelta) and event.text.endswith("."):
                asyncio.get_running_loop().call_later(0.1, stream.cancel)
        return stream.result

    result = asyncio.run(main())
    assert (result.stop_reason, result.best_draft) == ("cancelled", "A thought.")
