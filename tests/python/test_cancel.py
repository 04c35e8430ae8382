"""Cancelling behaves as asyncio people expect, is quick, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import threading
import time
from typing import Any

import pytest
from loopwright import Agent, Budget, RunContext, UsageError, replay, tool
from loopwright.events import TextDelta, ToolStarted
from loopwright.models import Call
from loopwright.run import Signal
from loopwright.testing import ScriptedModel, call, calls, fault, text
from ways import LEFT_BARE, agent_at, eventually, open_files, run, threads, words


@tool
async def forever() -> str:
    """Never ends."""
    await asyncio.sleep(60)
    return "no"


@tool(read_only=True)
def quick(n: int) -> int:
    """Quick."""
    return n


def test_cancelling_the_task_stops_the_request_within_100_ms(serve: Any, wire: str) -> None:
    server = serve(fault.hangs())
    agent = agent_at(server, wire)

    async def main() -> None:
        before, others = open_files(), threads()
        task = asyncio.create_task(agent.run("go"))
        assert await asyncio.to_thread(eventually, lambda: server.open_connections == 1)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - began < 0.1
        assert await asyncio.to_thread(eventually, lambda: server.open_connections == 0, 0.1)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        left = {name for name in threads() - others if not name.startswith("asyncio")}
        assert not left
        assert await asyncio.to_thread(eventually, lambda: len(open_files() - before) <= 3)

    asyncio.run(main())


def test_cancelling_in_the_middle_of_a_stream(serve: Any, wire: str) -> None:
    server = serve(text(words(50)).slowly(0.05))

    async def main() -> None:
        seen: list[Any] = []

        async def consume() -> None:
            async for event in agent_at(server, wire).stream("go"):
                seen.append(event)

        task = asyncio.create_task(consume())
        assert await asyncio.to_thread(eventually, lambda: any(isinstance(each, TextDelta) for each in seen))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(eventually, lambda: server.open_connections == 0, 0.1)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_cancelling_while_tools_run_cancels_them() -> None:
    said: list[str] = []

    @tool
    async def careful() -> str:
        """Cleans up."""
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0.01)
            said.append("cleaned up")
            raise
        return "no"

    async def main() -> None:
        agent = Agent(ScriptedModel([calls(Call("careful"), Call("careful"))]), tools=[careful])
        task = asyncio.create_task(agent.run("go"))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    assert said
    assert set(said) == {"cleaned up"}


def test_a_plain_tool_hears_that_nobody_waits() -> None:
    heard = threading.Event()

    @tool
    def long(context: RunContext[None]) -> str:
        """Long."""
        while not context.cancelled:
            time.sleep(0.005)
        heard.set()
        return "stopped"

    async def main() -> None:
        task = asyncio.create_task(Agent(ScriptedModel([call("long")]), tools=[long]).run("go"))
        await asyncio.sleep(0.05)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - began < 0.1

    asyncio.run(main())
    assert heard.wait(1)
    assert eventually(lambda: "tool long" not in threads())


@pytest.mark.parametrize("twice", [False, True])
def test_a_tool_that_ignores_its_cancellation_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    twice: bool,
) -> None:
    from loopwright._driver import _async

    # Who cancels once more waits no longer.
    monkeypatch.setattr(_async, "GRACE", 30 if twice else 0.2)
    stop = False

    @tool
    async def stubborn() -> str:
        """Ignores."""
        while not stop:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.05)
        return "late"

    async def main() -> None:
        nonlocal stop
        task = asyncio.create_task(Agent(ScriptedModel([call("stubborn")]), tools=[stubborn]).run("go"))
        await asyncio.sleep(0.05)
        began = time.monotonic()
        task.cancel()
        if twice:
            await asyncio.sleep(0.1)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - began < 1
        stop = True
        await asyncio.sleep(0.15)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    assert ("tool stubborn has not ended within" in caplog.text) != twice


def test_a_tool_that_ignores_its_cancellation_is_given_up_without_a_loop(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from loopwright._driver import _side

    monkeypatch.setattr(_side, "GRACE", 0.2)
    stop, signal = False, Signal()

    @tool
    async def stubborn() -> str:
        """Ignores."""
        signal.cancel()
        while not stop:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.02)
        return "late"

    began = time.monotonic()
    result = Agent(ScriptedModel([call("stubborn")]), tools=[stubborn]).run_sync("go", signal=signal)
    assert result.stop_reason == "cancelled"
    assert time.monotonic() - began < 2
    assert eventually(lambda: "tool stubborn has not ended within" in caplog.text)


def test_asyncio_timeout_around_a_run(serve: Any) -> None:
    server = serve(fault.hangs(), fault.hangs())

    async def main() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(agent_at(server).run("go"), 0.1)
        if sys.version_info >= (3, 11):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await agent_at(server).run("go")
        task = asyncio.current_task()
        assert task is not None
        if sys.version_info >= (3, 11):
            assert task.cancelling() == 0

    asyncio.run(main())


@pytest.mark.skipif(sys.version_info < (3, 11), reason="no TaskGroup")
def test_in_a_task_group_and_no_group_of_exceptions_leaks(serve: Any) -> None:
    server = serve(fault.status(401), repeat_last=True)

    async def main() -> None:
        with pytest.raises(UsageError):
            await agent_at(server).run("go")
        with pytest.raises(ExceptionGroup) as caught:
            async with asyncio.TaskGroup() as group:
                group.create_task(agent_at(server).run("go"))
        # The group is the caller's own, with one plain error in it.
        assert [type(error) for error in caught.value.exceptions] == [UsageError]

    asyncio.run(main())


def test_cancelled_before_it_starts() -> None:
    async def main() -> None:
        model = ScriptedModel(["never"])
        task = asyncio.create_task(Agent(model).run("go"))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert model.requests == []

    asyncio.run(main())
    gc.collect()


def test_the_journal_of_a_cancelled_run_is_whole(tmp_path: Any) -> None:
    path = tmp_path / "run.jsonl"

    async def main() -> None:
        agent = Agent(ScriptedModel([call("forever")]), tools=[forever])
        task = asyncio.create_task(agent.run("go", journal=path))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    found = replay(path)
    assert found.identical
    assert found.outcome is not None
    assert found.outcome["stop"] == "cancelled"
    kinds = [block["type"] for message in found.messages for block in message["content"]]
    assert kinds.count("tool_use") == kinds.count("tool_result") == 1


def test_messages_of_a_cancelled_run_go_on_in_the_next(serve: Any, wire: str, way: str) -> None:
    server = serve(calls(Call("forever"), Call("quick", {"n": 1}), text="Wait."), "welcome back")
    stop = Signal()
    agent = agent_at(server, wire, tools=[forever, quick])
    timer = threading.Timer(0.4, stop.cancel)
    timer.start()
    result, _ = run(agent, "first", way, signal=stop)
    timer.join()
    assert result.stop_reason == "cancelled"
    assert result.partial
    again = agent.run_sync("second", messages=result.messages)
    assert again.final == "welcome back"
    # The provider saw a legal history: each call answered before the next prompt.
    body = server.requests[-1]["body"]
    if wire == "anthropic":
        blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
        uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
        given = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    elif wire == "chat":
        uses = [c["id"] for m in body["messages"] for c in m.get("tool_calls") or []]
        given = [m["tool_call_id"] for m in body["messages"] if m["role"] == "tool"]
    elif wire == "gemini":
        parts = [part for content in body["contents"] for part in content["parts"]]
        uses = [part["functionCall"]["id"] for part in parts if "functionCall" in part]
        given = [part["functionResponse"]["id"] for part in parts if "functionResponse" in part]
    elif wire == "bedrock":
        blocks = [block for message in body["messages"] for block in message["content"]]
        uses = [block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block]
        given = [block["toolResult"]["toolUseId"] for block in blocks if "toolResult" in block]
    else:
        uses = [i["call_id"] for i in body["input"] if i.get("type") == "function_call"]
        given = [i["call_id"] for i in body["input"] if i.get("type") == "function_call_output"]
    assert uses == given
    assert len(uses) == 2
    assert "second" in str(body)


def test_an_interrupt_waits_for_the_running_tools(way: str) -> None:
    stop = Signal()

    @tool
    async def work() -> str:
        """Work."""
        stop.interrupt()
        await asyncio.sleep(0.05)
        return "whole"

    model = ScriptedModel([call("work"), "never"])
    result, _ = run(Agent(model, tools=[work]), "go", way, signal=stop)
    assert result.stop_reason == "user_interrupt"
    assert len(model.requests) == 1
    assert result.messages[2]["content"][0]["content"][0]["text"] == "whole"


def test_a_task_of_ours_cancelled_from_outside_is_no_deadlock() -> None:
    async def main() -> Any:
        stream = Agent(ScriptedModel([call("forever"), "went on"]), tools=[forever]).stream("go")
        async for event in stream:
            if isinstance(event, ToolStarted):
                # It begins within a few turns of the loop, while its event is looked at.
                for _ in range(5):
                    await asyncio.sleep(0)
                (task,) = [each for each in asyncio.all_tasks() if "tool forever" in each.get_name()]
                task.cancel()
        return stream.result

    result = asyncio.run(main())
    assert result.tool_calls[0].failure == "exception"
    assert result.final == "went on"


def test_the_loop_may_end_in_the_middle(serve: Any) -> None:
    server = serve(fault.hangs(), "later")
    agent = agent_at(server)

    async def main() -> None:
        task = asyncio.create_task(agent.run("go"))
        await asyncio.to_thread(eventually, lambda: server.open_connections == 1)
        assert not task.done()
        # `asyncio.run` cancels what is left.

    asyncio.run(main())
    assert eventually(lambda: server.open_connections == 0, 0.5)
    assert asyncio.run(agent.run("go")).final == "later"


@LEFT_BARE
def test_a_loop_closed_without_a_goodbye_leaves_no_descriptors(serve: Any) -> None:
    server = serve(text(words(50)).slowly(0.05), "a", "b")
    agent = agent_at(server)
    before = open_files()
    loop = asyncio.new_event_loop()
    stream = agent.stream("go")
    loop.run_until_complete(stream.__anext__())
    loop.close()
    del stream, loop
    gc.collect()
    # The next run notices.
    assert asyncio.run(agent.run("go")).final in {"a", "b"}
    gc.collect()
    sockets = {each for each in open_files() - before if "socket" in each}
    assert len(sockets) <= 4, sockets


def test_a_limit_of_time_leaves_no_task() -> None:
    async def main() -> None:
        agent = Agent(ScriptedModel([call("forever")]), tools=[forever], budget=Budget(wall_time=0.1))
        assert (await agent.run("go")).stop_reason == "wall_time"
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


@pytest.mark.parametrize("way", ["run_sync", "stream"])
def test_a_deadline_keeps_what_had_streamed(serve: Any, wire: str, way: str) -> None:
    server = serve(text(words(200)).slowly(0.02))
    seen: list[Any] = []
    agent = agent_at(server, wire, budget=Budget(wall_time=0.5))
    if way == "run_sync":
        result = agent.run_sync("go", on_event=seen.append)
    else:
        result, seen = run(agent, "go", way)
    shown = "".join(event.text for event in seen if isinstance(event, TextDelta))
    assert result.stop_reason == "wall_time"
    assert result.final is None
    assert result.messages[-1].role == "assistant"
    assert result.messages[-1].text.startswith("word-")
    assert result.messages[-1].text.startswith(shown)


@pytest.mark.parametrize("way", ["run_sync", "stream"])
def test_what_a_stopped_stream_had_cost_is_counted(serve: Any, way: str) -> None:
    # Anthropic says at the start what the prompt costs; the other wires say it at the end.
    server = serve(text(words(200)).slowly(0.02))
    agent = agent_at(server, "anthropic", budget=Budget(wall_time=0.5))
    result = agent.run_sync("go", on_event=lambda event: None) if way == "run_sync" else run(agent, "go", way)[0]
    assert result.stop_reason == "wall_time"
    assert result.usage.input_tokens == 10


@pytest.mark.parametrize("way", ["run_sync", "stream"])
def test_d41_what_was_shown_stays_where_the_answer_was_whole_when_somebody_cancelled(
    serve: Any, wire: str, way: str
) -> None:
    for delay in (0.0, 0.002, 0.01):
        server = serve(text("All of it at once."))
        agent = agent_at(server, wire)
        if way == "run_sync":
            signal, seen = Signal(), []

            def heard(event: Any, signal: Signal = signal, seen: list[Any] = seen, delay: float = delay) -> None:
                seen.append(event)
                if isinstance(event, TextDelta):
                    time.sleep(delay)
                    signal.cancel()

            result = agent.run_sync("go", on_event=heard, signal=signal)
        else:

            async def main(agent: Any = agent, delay: float = delay) -> tuple[Any, list[Any]]:
                stream, seen = agent.stream("go"), []
                async for event in stream:
                    seen.append(event)
                    if isinstance(event, TextDelta):
                        # The answer's end comes while nobody looks.
                        time.sleep(delay)  # noqa: ASYNC251
                        stream.cancel()
                return stream.result, seen

            result, seen = asyncio.run(main())
        shown = "".join(event.text for event in seen if isinstance(event, TextDelta))
        kept = result.messages[-1]
        # Pieces that nobody has looked at yet may have come, too.
        assert kept.role == "assistant" and shown and kept.text.startswith(shown)
        if result.stop_reason == "cancelled":
            assert result.best_draft == kept.text
        else:
            assert result.stop_reason == "natural"
