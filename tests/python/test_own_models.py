"""Models of one's own: those that stream, those that take their time, and those that give rubbish."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from loopwright import Agent, Budget, LoopwrightError, ModelError, tool
from loopwright.events import Reset, TextDelta, ToolFinished
from loopwright.models import Call, ModelFailure, Responds, Response, Streams
from loopwright.roles import Role
from loopwright.run import Signal

KINDS = ["plain", "async"]


@tool(read_only=True)
def stock(part: str) -> int:
    """How many of a part there are."""
    return 120


class Plain:
    """Streams as a plain generator, and says which of its methods was taken."""

    def __init__(self, *rounds: list[Any]) -> None:
        self.rounds = list(rounds)
        self.taken: list[str] = []
        self.closed = 0
        self.threads: set[int] = set()

    def stream(self, request: Any) -> Iterator[Any]:
        self.taken.append("stream")
        self.threads.add(threading.get_ident())
        try:
            for piece in self.rounds.pop(0):
                if isinstance(piece, BaseException):
                    raise piece
                yield piece() if callable(piece) else piece
        finally:
            self.closed += 1


class Async(Plain):
    """The same as an async generator."""

    async def stream(self, request: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        self.taken.append("stream")
        try:
            for piece in self.rounds.pop(0):
                if isinstance(piece, BaseException):
                    raise piece
                given = piece() if callable(piece) else piece
                yield await given if asyncio.iscoroutine(given) else given
                await asyncio.sleep(0)
        finally:
            self.closed += 1


def made(kind: str, *rounds: list[Any]) -> Plain:
    return (Plain if kind == "plain" else Async)(*rounds)


def texts(events: list[Any]) -> list[str]:
    return [event.text for event in events if isinstance(event, TextDelta)]


ROUNDS = (
    ["Let me ", "see.", Call("stock", {"part": "bolts"})],
    ["There ", "are ", "120.", Response(input_tokens=30, output_tokens=7)],
)


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_are_told_as_they_come_and_calls_become_calls(kind):
    async def main() -> Any:
        model = made(kind, *ROUNDS)
        events = []
        async with Agent(model, tools=[stock]).stream("Bolts?") as stream:
            async for event in stream:
                events.append(event)
        return model, events, stream.result

    model, events, result = asyncio.run(main())
    assert texts(events) == ["Let me ", "see.", "There ", "are ", "120."]
    assert result.final == "There are 120."
    assert [call.arguments for call in result.tool_calls] == [{"part": "bolts"}]
    assert (result.usage.input_tokens, result.usage.output_tokens) == (30, 7)
    assert model.closed == 2
    assert any(isinstance(event, ToolFinished) for event in events)


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_are_told_without_an_event_loop(kind):
    model, events = made(kind, *ROUNDS), []
    result = Agent(model, tools=[stock]).run_sync("Bolts?", on_event=events.append)
    assert texts(events) == ["Let me ", "see.", "There ", "are ", "120."]
    assert result.final == "There are 120."
    assert result.messages[1].text == "Let me see."
    if kind == "plain":
        assert model.threads == {threading.get_ident()}


@pytest.mark.parametrize("kind", KINDS)
def test_a_piece_is_told_before_the_next_is_asked_for(kind):
    seen: list[str] = []
    order: list[str] = []
    model = made(kind, ["a", lambda: order.append(f"asked with {seen}") or "b"])
    Agent(model).run_sync("x", on_event=lambda event: seen.append(event.text) if isinstance(event, TextDelta) else None)
    if kind == "plain":
        assert order == ["asked with ['a']"]
    assert seen == ["a", "b"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_only_streams_answers_runs_that_nobody_watches(kind):
    assert asyncio.run(Agent(made(kind, ["a", "b"])).run("x")).final == "ab"
    assert Agent(made(kind, ["a", "b"])).run_sync("x").final == "ab"


def test_stream_is_taken_where_somebody_watches_and_respond_else():
    class Both(Plain):
        def respond(self, request: Any) -> str:
            self.taken.append("respond")
            return "whole"

    model = Both(["pie", "ces"])
    agent = Agent(model)
    assert agent.run_sync("x").final == "whole"
    assert agent.run_sync("x", on_event=lambda _: None).final == "pieces"
    assert model.taken == ["respond", "stream"]
    assert isinstance(model, Streams)
    assert isinstance(model, Responds)


@pytest.mark.parametrize("kind", KINDS)
def test_text_between_calls_stays_where_it_is(kind):
    model = made(kind, ["a", Call("stock", {"part": "x"}), "b", Call("stock", {"part": "y"}), "c"], ["done"])
    events: list[Any] = []
    result = Agent(model, tools=[stock]).run_sync("x", on_event=events.append)
    kinds = [type(block).__name__ for block in result.messages[1].content]
    assert kinds == ["Text", "ToolUse", "Text", "ToolUse", "Text"]
    assert texts(events) == ["a", "b", "c", "done"]
    assert [event.block for event in events if isinstance(event, TextDelta)][:3] == [0, 2, 4]


@pytest.mark.parametrize("kind", KINDS)
def test_a_failure_in_the_middle_voids_what_was_shown_and_is_tried_again(kind):
    model = made(kind, ["half an ", ModelFailure("gone", "overloaded", retry_after=0.0)], ["whole"])
    events: list[Any] = []
    result = Agent(model).run_sync("x", on_event=events.append)
    assert result.final == "whole"
    shown = [
        event.text if isinstance(event, TextDelta) else "RESET"
        for event in events
        if isinstance(event, (TextDelta, Reset))
    ]
    assert shown == ["half an ", "RESET", "whole"]
    assert model.closed == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_failure_that_is_not_transient_ends_the_run(kind):
    model = made(kind, ["half", ModelFailure("no such key", "auth")])
    with pytest.raises(LoopwrightError) as raised:
        Agent(model).run_sync("x", on_event=lambda _: None)
    assert raised.value.code == "auth"


@pytest.mark.parametrize("kind", KINDS)
def test_another_exception_is_raised_as_it_is(kind):
    for run in (
        lambda agent: agent.run_sync("x", on_event=lambda _: None),
        lambda agent: agent.run_sync("x"),
        lambda agent: asyncio.run(agent.run("x")),
    ):
        with pytest.raises(KeyError, match="mine"):
            run(Agent(made(kind, ["a", KeyError("mine")])))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        (["a", 5], "the stream of .* gave int 5 as piece 2"),
        ([None], "gave NoneType None as piece 1"),
        ([{"text": "a"}], "gave dict"),
        (["a", Response(), "b"], "gave str 'b' after its Response"),
        (["a", Response("other")], "whose text is str 'other'"),
        ([Call("", {})], "a Call whose name is ''"),
        ([Call("stock", {"part": {1, 2}})], "has no JSON form"),
    ],
)
def test_rubbish_is_a_typed_error_that_says_what_it_was(kind, pieces, said):
    model = made(kind, pieces)
    with pytest.raises(ModelError, match=said) as raised:
        Agent(model, tools=[stock]).run_sync("x", on_event=lambda _: None)
    assert raised.value.code == "invalid_answer"
    assert raised.value.hint
    assert model.closed == 1


@pytest.mark.parametrize("given", [None, "text", 5, {"a": 1}, Response("x")])
def test_a_stream_that_is_none_says_so(given):
    class Wrong:
        def stream(self, request: Any) -> Any:
            return given

    for run in (lambda agent: agent.run_sync("x"), lambda agent: asyncio.run(agent.run("x"))):
        with pytest.raises(ModelError, match=r"stream\(\) of Wrong gave") as raised:
            run(Agent(Wrong()))
        assert raised.value.code == "invalid_answer"


def test_rubbish_of_respond_is_a_typed_error_too():
    class Wrong:
        def respond(self, request: Any) -> Any:
            return 5

    for run in (lambda agent: agent.run_sync("x"), lambda agent: asyncio.run(agent.run("x"))):
        with pytest.raises(ModelError, match="not int: 5"):
            run(Agent(Wrong()))


def test_a_final_response_may_say_all_or_repeat_it():
    for pieces in ([Response("all")], ["a", "ll", Response("all")], ["all", Response()]):
        events: list[Any] = []
        result = Agent(Plain(list(pieces))).run_sync("x", on_event=events.append)
        assert result.final == "all"
        assert "".join(texts(events)) == "all"


# ---- leaving ----


@pytest.mark.parametrize("kind", KINDS)
def test_leaving_the_run_closes_the_stream(kind):
    more, closed = threading.Event(), threading.Event()

    class Endless:
        if kind == "plain":

            def stream(self, request: Any) -> Iterator[str]:
                try:
                    yield "a"
                    while True:
                        more.wait(10)
                        yield "b"
                finally:
                    closed.set()

        else:

            async def stream(self, request: Any) -> AsyncIterator[str]:
                try:
                    while True:
                        yield "a"
                finally:
                    await asyncio.sleep(0)
                    closed.set()

    async def main() -> None:
        async with Agent(Endless()).stream("x") as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    break
        more.set()

    asyncio.run(main())
    assert closed.wait(10)


@pytest.mark.parametrize("kind", KINDS)
def test_a_signal_closes_the_stream_without_an_event_loop_and_keeps_what_came(kind):
    signal, closed = Signal(), []

    class Endless:
        if kind == "plain":

            def stream(self, request: Any) -> Iterator[str]:
                try:
                    while True:
                        yield "a"
                finally:
                    closed.append(True)

        else:

            async def stream(self, request: Any) -> AsyncIterator[str]:
                try:
                    while True:
                        yield "a"
                finally:
                    closed.append(True)

    shown: list[str] = []

    def heard(event: Any) -> None:
        if isinstance(event, TextDelta):
            shown.append(event.text)
            if len(shown) == 3:
                signal.cancel()

    result = Agent(Endless()).run_sync("x", on_event=heard, signal=signal)
    assert result.stop_reason == "cancelled"
    assert closed == [True]
    assert result.messages[-1].text.startswith("aaa")


@pytest.mark.parametrize("kind", KINDS)
def test_a_time_limit_closes_the_stream_and_keeps_what_came(kind):
    closed = threading.Event()

    class Endless:
        if kind == "plain":

            def stream(self, request: Any) -> Iterator[str]:
                try:
                    while True:
                        yield "a"
                        threading.Event().wait(0.001)
                finally:
                    closed.set()

        else:

            async def stream(self, request: Any) -> AsyncIterator[str]:
                try:
                    while True:
                        yield "a"
                        await asyncio.sleep(0.001)
                finally:
                    closed.set()

    agent = Agent(Endless(), budget=Budget(wall_time=0.2))
    result = agent.run_sync("x", on_event=lambda _: None)
    assert result.stop_reason == "wall_time"
    assert closed.wait(10)
    assert result.messages[-1].text.startswith("a")
    closed.clear()
    result = asyncio.run(agent.run("x", on_event=lambda _: None))
    assert result.stop_reason == "wall_time"
    assert closed.wait(10)


# ---- threads ----


@pytest.mark.parametrize("method", ["respond", "stream"])
def test_n5_plain_models_hold_up_no_event_loop(method):
    # Each waits until all of them were asked: where one held up the loop, none would end.
    everybody = threading.Barrier(10, timeout=30)

    class Slow:
        def answer(self) -> str:
            everybody.wait()
            return "done"

        def respond(self, request: Any) -> str:
            assert method == "respond"
            return self.answer()

        def stream(self, request: Any) -> Iterator[str]:
            yield self.answer()

    class Streaming:
        stream = Slow.stream
        answer = Slow.answer

    agent = Agent(Slow() if method == "respond" else Streaming())

    async def main() -> list[Any]:
        return await asyncio.gather(*(agent.run("x") for _ in range(10)))

    assert [result.final for result in asyncio.run(main())] == ["done"] * 10


def test_inline_models_and_those_of_run_sync_are_asked_in_the_callers_thread():
    class Here:
        inline = True

        def __init__(self) -> None:
            self.threads: list[int] = []

        def respond(self, request: Any) -> str:
            self.threads.append(threading.get_ident())
            return "x"

        def stream(self, request: Any) -> Iterator[str]:
            self.threads.append(threading.get_ident())
            yield "x"

    model = Here()
    asyncio.run(Agent(model).run("x"))
    asyncio.run(Agent(model).run("x", on_event=lambda _: None))
    Here.inline = False
    Agent(model).run_sync("x")
    Agent(model).run_sync("x", on_event=lambda _: None)
    assert model.threads == [threading.get_ident()] * 4
    asyncio.run(Agent(model).run("x"))
    asyncio.run(Agent(model).run("x", on_event=lambda _: None))
    assert threading.get_ident() not in model.threads[4:]


def test_context_variables_travel_into_the_thread():
    who = contextvars.ContextVar("who", default="nobody")

    class Asking:
        def respond(self, request: Any) -> str:
            return who.get()

        def stream(self, request: Any) -> Iterator[str]:
            yield who.get()
            who.set("somebody else")
            yield f", {who.get()}"

    async def main() -> None:
        who.set("Sam")
        assert (await Agent(Asking()).run("x")).final == "Sam"
        assert (await Agent(Asking()).run("x", on_event=lambda _: None)).final == "Sam, somebody else"
        assert who.get() == "Sam"

    asyncio.run(main())


def test_a_plain_function_that_hands_out_an_awaitable_is_awaited():
    class Wrapped:
        def respond(self, request: Any) -> Any:
            async def later() -> str:
                await asyncio.sleep(0)
                return "later"

            return later()

        def stream(self, request: Any) -> Any:
            async def pieces() -> AsyncIterator[str]:
                yield "la"
                yield "ter"

            return pieces()

    for heard in (None, lambda _: None):
        assert asyncio.run(Agent(Wrapped()).run("x", on_event=heard)).final == "later"
        assert Agent(Wrapped()).run_sync("x", on_event=heard).final == "later"


def test_roles_and_sub_agents_may_stream_only():
    from loopwright import SubAgent

    parent = Plain([Call("spawn", {"agent": "door", "task": "Look."})], ["done"])
    child = Plain(["op", "en"])
    agent = Agent(parent, agents=[SubAgent("door", "looks", model=child)])
    events: list[Any] = []
    result = agent.run_sync("x", on_event=events.append)
    assert result.final == "done"
    assert [event.text for event in events if type(event).__name__ == "ChildText"] == ["op", "en"]
    chain = Role(Plain([ModelFailure("gone", "auth")]), fallback=[Plain(["the ", "other"])])
    assert Agent(chain).run_sync("x").final == "the other"


def test_calls_written_into_text_are_not_shown_as_text():
    said = '<tool_call>{"name": "stock", "arguments": {"part": "bolts"}}</tool_call>'
    model = Plain(["See: ", *said], ["120"])
    events: list[Any] = []
    result = Agent(model, tools=[stock]).run_sync("x", on_event=events.append)
    assert result.final == "120"
    assert "tool_call" not in "".join(texts(events))


def test_halves_of_characters_are_replaced():
    events: list[Any] = []
    result = Agent(Plain(["a\ud83d", "b"])).run_sync("x", on_event=events.append)
    assert result.final == "a\ufffdb"
    assert "".join(texts(events)) == "a\ufffdb"
