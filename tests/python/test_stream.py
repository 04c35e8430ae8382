"""Events as they happen: text while it comes, resets, progress, and leaving early."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import threading
import time
from typing import Any

import pytest
from loopwright import Agent, RunContext, UsageError, tool
from loopwright.events import (
    ArgumentsDelta,
    Reset,
    Retry,
    RoundFinished,
    RoundStarted,
    RunFinished,
    TextDelta,
    ToolProgress,
    ToolUseDelta,
)
from loopwright.models import Call
from loopwright.run import Signal
from loopwright.testing import ScriptedModel, call, calls, fault, text
from ways import LEFT_BARE, agent_at, eventually, run

LONG = "The quick brown fox jumps over the lazy dog, again and again and again."


@tool(read_only=True)
def look(query: str) -> str:
    """Look."""
    return query.upper()


def test_a16_text_comes_while_it_is_written(serve: Any, wire: str) -> None:
    server = serve(text(LONG).slowly(0.02))
    seen: list[tuple[float, str]] = []

    async def main() -> Any:
        stream = agent_at(server, wire).stream("go")
        async for event in stream:
            match event:
                case TextDelta(text=piece):
                    seen.append((time.monotonic(), piece))
        return stream.result

    result = asyncio.run(main())
    assert "".join(piece for _, piece in seen) == LONG == result.final
    assert len(seen) >= 3
    assert seen[-1][0] - seen[0][0] > 0.04, "it came all at once"


def test_a16_run_sync_streams_to_its_callback(serve: Any, wire: str) -> None:
    server = serve(text(LONG).slowly(0.01))
    events: list[Any] = []
    result = agent_at(server, wire).run_sync("go", on_event=events.append)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == LONG
    assert isinstance(events[-1], RunFinished)
    assert events[-1].result is result


def test_calls_stream_too(serve: Any, wire: str) -> None:
    server = serve(calls(Call("look", {"query": "some longer words here"}), text="Wait."), "done")
    _, events = run(agent_at(server, wire, tools=[look]), "go", "stream")
    assert [event.name for event in events if isinstance(event, ToolUseDelta)] == ["look"]
    arguments = "".join(event.text for event in events if isinstance(event, ArgumentsDelta))
    assert '"some longer words here"' in arguments
    names = [type(event).__name__ for event in events]
    assert names.index("ToolUseDelta") < names.index("RoundFinished") < names.index("ToolStarted")


def test_a_repeated_attempt_after_visible_output_announces_itself(serve: Any, wire: str) -> None:
    server = serve(dataclasses.replace(text(LONG), piece=6).but(fault.cut(after=6)), LONG)
    agent = agent_at(server, wire, retry={"base": 0.01})
    result, events = run(agent, "go", "stream")
    assert result.final == LONG
    kinds = [type(event) for event in events]
    assert kinds.count(Reset) == kinds.count(Retry) == 1
    at = kinds.index(Reset)
    before = "".join(event.text for event in events[:at] if isinstance(event, TextDelta))
    after = "".join(event.text for event in events[at:] if isinstance(event, TextDelta))
    assert before
    assert LONG.startswith(before)
    assert after == LONG
    assert result.transcript == LONG


def test_no_reset_where_nothing_was_shown(serve: Any, wire: str) -> None:
    server = serve(fault.status(529), "fine")
    _, events = run(agent_at(server, wire, retry={"base": 0.01}), "go", "stream")
    kinds = [type(event) for event in events]
    assert Retry in kinds
    assert Reset not in kinds


def test_x04_drafts_stream_and_only_the_end_is_final() -> None:
    _, events = run(Agent(ScriptedModel([call("look", query="a"), "done"]), tools=[look]), "go", "stream")
    assert [event.round for event in events if isinstance(event, RoundStarted)] == [1, 2]
    assert [event.round for event in events if isinstance(event, RoundFinished)] == [1, 2]
    assert sum(isinstance(event, RunFinished) for event in events) == 1


def test_tools_report_progress_from_any_thread(way: str) -> None:
    @tool
    async def work(context: RunContext[None]) -> str:
        """Work."""
        context.emit("here")
        await asyncio.to_thread(context.emit, "from a thread")
        await asyncio.sleep(0.05)
        return "ok"

    @tool
    def plain(context: RunContext[None]) -> str:
        """Work."""
        context.emit("plain")
        return "ok"

    events: list[Any] = []
    agent = Agent(ScriptedModel([call("work"), call("plain"), "done"]), tools=[work, plain])
    if way == "stream":
        _, events = run(agent, "go", way)
    else:
        run(agent, "go", way, on_event=events.append)
    progress = [(event.name, event.text) for event in events if isinstance(event, ToolProgress)]
    assert progress == [("work", "here"), ("work", "from a thread"), ("plain", "plain")]


def test_progress_from_a_thread_wakes_the_consumer_at_once() -> None:
    @tool
    async def work(context: RunContext[None]) -> str:
        """Work."""
        threading.Timer(0.05, context.emit, ["soon"]).start()
        await asyncio.sleep(1.0)
        return "ok"

    async def main() -> float:
        began = time.monotonic()
        async with Agent(ScriptedModel([call("work"), "done"]), tools=[work]).stream("go") as stream:
            async for event in stream:
                if isinstance(event, ToolProgress):
                    return time.monotonic() - began
        raise AssertionError

    assert asyncio.run(main()) < 0.6


def test_breaking_out_ends_the_run(serve: Any, wire: str) -> None:
    server = serve(text(LONG).slowly(0.05))

    async def main() -> Any:
        async with agent_at(server, wire).stream("go") as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    break
        assert await asyncio.to_thread(eventually, lambda: server.open_connections == 0, 0.5)
        assert len(asyncio.all_tasks()) == 1
        return stream.result

    result = asyncio.run(main())
    assert result.stop_reason == "cancelled"
    assert result.best_draft
    assert LONG.startswith(result.best_draft)


@LEFT_BARE
def test_a_stream_that_nobody_holds_any_more_ends(serve: Any) -> None:
    server = serve(text(LONG).slowly(0.05))

    async def main() -> None:
        async for event in agent_at(server).stream("go"):
            if isinstance(event, TextDelta):
                break
        gc.collect()
        await asyncio.sleep(0.05)
        assert await asyncio.to_thread(eventually, lambda: server.open_connections == 0, 0.5)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


def test_a_stream_that_is_never_asked_sends_nothing(serve: Any) -> None:
    server = serve("hi")

    async def main() -> None:
        stream = agent_at(server).stream("go")
        with pytest.raises(UsageError, match="has not ended") as caught:
            _ = stream.result
        assert caught.value.code == "not_finished"
        await stream.aclose()

    asyncio.run(main())
    assert server.requests == []


def test_cancel_and_interrupt_of_a_stream(serve: Any) -> None:
    server = serve(text(LONG).slowly(0.05))

    async def main() -> Any:
        stream = agent_at(server).stream("go")
        async for event in stream:
            if isinstance(event, TextDelta):
                stream.cancel()
        return stream.result

    result = asyncio.run(main())
    assert result.stop_reason == "cancelled"

    async def between() -> Any:
        stream = Agent(ScriptedModel([call("look", query="a"), "never"]), tools=[look]).stream("go")
        async for event in stream:
            if type(event).__name__ == "ToolStarted":
                stream.interrupt()
        return stream.result

    result = asyncio.run(between())
    assert result.stop_reason == "user_interrupt"
    assert result.messages.to_dicts()[2]["content"][0]["content"][0]["text"] == "A"


def test_an_error_in_the_callback_is_the_callers(serve: Any) -> None:
    server = serve(text(LONG).slowly(0.05), text(LONG).slowly(0.05))

    def fails(event: Any) -> None:
        if isinstance(event, TextDelta):
            raise LookupError("mine")

    async def main() -> None:
        with pytest.raises(LookupError, match="mine") as caught:
            await agent_at(server).run("go", on_event=fails)
        # While the error is held, nothing of the run goes on.
        assert await asyncio.to_thread(eventually, lambda: server.open_connections == 0, 0.5)
        assert len(asyncio.all_tasks()) == 1
        assert caught.value.__context__ is None

    asyncio.run(main())
    with pytest.raises(LookupError, match="mine") as caught:
        agent_at(server).run_sync("go", on_event=fails)
    assert eventually(lambda: server.open_connections == 0, 0.5)
    assert caught.value.__context__ is None


def test_callbacks_may_be_async(serve: Any) -> None:
    seen: list[Any] = []

    async def on_event(event: Any) -> None:
        await asyncio.sleep(0)
        seen.append(event)

    agent = agent_at(serve("hi"))
    asyncio.run(agent.run("go", on_event=on_event))
    assert isinstance(seen[-1], RunFinished)
    with pytest.raises(UsageError, match="without an event loop"):
        agent.run_sync("go", on_event=on_event)


def test_a_signal_may_stop_several_runs(serve: Any) -> None:
    server = serve(fault.hangs(), repeat_last=True)
    signal = Signal()
    agent = agent_at(server)

    async def main() -> list[Any]:
        runs = [asyncio.create_task(agent.run("go", signal=signal)) for _ in range(5)]
        await asyncio.to_thread(eventually, lambda: len(server.requests) == 5)
        signal.cancel()
        return await asyncio.wait_for(asyncio.gather(*runs), 1)

    assert {result.stop_reason for result in asyncio.run(main())} == {"cancelled"}
    assert signal.is_set
    assert agent.run_sync("go", signal=signal).stop_reason == "cancelled", "a signal that is set stops what comes"
    assert len(server.requests) <= 6


def test_events_travel_between_processes(serve: Any) -> None:
    import pickle

    from loopwright.events import ProviderDelta, ToolUseDelta

    seen: list[Any] = []
    server = serve(call("look", query="a"), text("done"))
    agent_at(server, tools=[look]).run_sync("go", on_event=seen.append)
    assert {"TextDelta", "ToolUseDelta", "ArgumentsDelta", "RunFinished"} <= {type(event).__name__ for event in seen}
    for event in [*seen, ProviderDelta("web_search", "search", 1), ToolUseDelta("1", "look")]:
        again = pickle.loads(pickle.dumps(event))  # noqa: S301 - its own
        assert repr(again) == repr(event)
        assert type(again) is type(event)
