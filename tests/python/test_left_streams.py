"""N12: a stream that was left ends its run, and a run does not go ahead of whoever reads it."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Iterator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Budget, Grounded, Research, RunContext, SubAgent, UsageError, replay, tool
from loopwright.events import (
    ApprovalRequested,
    Paused,
    Resumed,
    RoundStarted,
    RunFinished,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from loopwright.testing import ScriptedModel, call, text
from ways import LEFT_BARE, agent_at, eventually

pytestmark = [pytest.mark.timeout(30), LEFT_BARE]
STEPS = 8


@pytest.fixture(scope="module", autouse=True)
def _collected() -> Iterator[None]:
    """Streams in circles are collected before other tests begin, which leave none."""
    yield
    gc.collect()


class Effects:
    """A tool with an effect, and how often it began."""

    def __init__(self, *, plain: bool = False) -> None:
        self.ran: list[int] = []

        @tool(name="work")
        async def work(n: int) -> str:
            """Works."""
            self.ran.append(n)
            return str(n)

        @tool(name="work")
        def work_plain(n: int) -> str:
            """Works."""
            self.ran.append(n)
            return str(n)

        self.tool = work_plain if plain else work


def agent_of(effects: Effects, *, at_once: bool = False, **options: Any) -> Agent[Any, Any]:
    return Agent(ScriptedModel(_replies(at_once)), tools=[effects.tool], **options)


def _replies(at_once: bool) -> list[Any]:
    from loopwright.models import Call, Response

    asked = [Call("work", {"n": n}) for n in range(1, STEPS + 1)]
    return [Response("", asked), "done"] if at_once else [*(Response("", [each]) for each in asked), "done"]


def ended_and_free(agent: Agent[Any, Any], place: Path) -> bool:
    """Whether the run of a journal has ended, and nobody holds the journal."""
    with pytest.raises(UsageError, match="has ended") as caught:
        agent.resume_sync(place)
    return caught.value.code != "journal_in_use"


class Gone(Exception):
    """The reader went away."""


async def by_break(stream: Any, until: type) -> None:
    async for event in stream:
        if isinstance(event, until):
            break


async def by_exception(stream: Any, until: type) -> None:
    with suppress(Gone):
        async for event in stream:
            if isinstance(event, until):
                raise Gone


async def by_outer(stream: Any, until: type) -> None:
    async def outer() -> Any:
        async for event in stream:
            yield event

    made = outer()
    async for event in made:
        if isinstance(event, until):
            break
    await made.aclose()


async def by_return(stream: Any, until: type) -> None:
    async def read() -> Any:
        async for event in stream.events():
            if isinstance(event, until):
                return event
        return None

    await read()


async def by_cancel(stream: Any, until: type) -> None:
    async def read() -> None:
        async for event in stream:
            if isinstance(event, until):
                await asyncio.sleep(30)

    task = asyncio.create_task(read())
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.wait([task])


async def by_timeout(stream: Any, until: type) -> None:
    async def read() -> None:
        async for event in stream:
            if isinstance(event, until):
                await asyncio.sleep(30)

    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(read(), 0.05)


async def by_context(stream: Any, until: type) -> None:
    async with stream as opened:
        async for event in opened:
            if isinstance(event, until):
                break


WAYS = [by_break, by_exception, by_outer, by_return, by_cancel, by_timeout, by_context]


@pytest.mark.parametrize("named", [False, True], ids=["dropped", "held"])
@pytest.mark.parametrize("at_once", [False, True], ids=["rounds", "one answer"])
@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
@pytest.mark.parametrize("leave", WAYS)
def test_n12_nothing_begins_after_the_reader_has_left(leave: Any, plain: bool, at_once: bool, named: bool) -> None:
    effects = Effects(plain=plain)

    async def main() -> None:
        held = []
        stream = agent_of(effects, at_once=at_once).stream("go")
        if named:
            held.append(stream)
        left = leave(stream, ToolFinished)
        del stream
        await left
        del left
        ran = list(effects.ran)
        await asyncio.sleep(0.15)
        assert effects.ran == ran, "something began after the reader had left"
        assert len(ran) == (len(ran) if at_once else 1)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


@pytest.mark.parametrize("until", [RoundStarted, ToolStarted], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
def test_n12_what_was_announced_does_not_begin_once_the_reader_has_left(until: type, plain: bool) -> None:
    effects = Effects(plain=plain)
    agent = agent_of(effects)

    async def main() -> None:
        await by_break(agent.stream("go"), until)
        await asyncio.sleep(0.1)

    asyncio.run(main())
    assert effects.ran == []

    def leave(event: Any) -> None:
        if isinstance(event, until):
            raise Gone

    with pytest.raises(Gone):
        agent_of(effects).run_sync("go", on_event=leave)
    with pytest.raises(Gone):
        asyncio.run(agent_of(effects).run("go", on_event=leave))
    time.sleep(0.1)
    assert effects.ran == []


@pytest.mark.parametrize("at_once", [False, True])
def test_n12_a_run_does_not_go_ahead_of_its_reader(at_once: bool) -> None:
    effects = Effects()

    async def main() -> list[tuple[int, int]]:
        seen: list[tuple[int, int]] = []
        finished = 0
        async for event in agent_of(effects, at_once=at_once).stream("go"):
            await asyncio.sleep(0.01)
            finished += isinstance(event, ToolFinished)
            seen.append((finished, len(effects.ran)))
        return seen

    seen = asyncio.run(main())
    assert seen[-1] == (STEPS, STEPS)
    assert seen[0] == (0, 0)
    if not at_once:
        assert all(ran <= finished + 1 for finished, ran in seen), seen


def test_n12_no_request_goes_out_while_an_event_is_held(serve: Any, wire: str) -> None:
    effects = Effects()
    server = serve(*(call("work", n=n) for n in range(1, 4)), "done")

    async def main() -> None:
        stream = agent_at(server, wire, tools=[effects.tool]).stream("go")
        first = await stream.__anext__()
        assert first is not None
        await asyncio.sleep(0.1)
        # The round that it announces may have begun, and no more.
        assert len(server.requests) <= 1
        assert effects.ran == []
        # Whoever reads on has all of it.
        events = [event async for event in stream]
        assert isinstance(events[-1], RunFinished)
        assert stream.result.final == "done"

    asyncio.run(main())
    assert effects.ran == [1, 2, 3]


def test_n12_a_reader_that_left_has_its_connection_closed_and_its_journal_free(
    serve: Any, wire: str, tmp_path: Path
) -> None:
    server = serve(text("word " * 200).slowly(0.02), "again")
    agent = agent_at(server, wire)
    place = tmp_path / "one.jsonl"

    async def main() -> None:
        stream = agent.stream("go", journal=place)
        with pytest.raises(Gone) as held:
            async for event in stream:
                if isinstance(event, TextDelta):
                    raise Gone
        # The stream and the traceback live on.
        assert ended_and_free(agent, place)
        assert await asyncio.to_thread(eventually, lambda: server.open_connections == 0, 0.5)
        await asyncio.sleep(0)
        assert stream.result.stop_reason == "cancelled"
        assert held.value is not None

    asyncio.run(main())
    assert replay(place).identical


def test_n12_no_tool_begins_after_a_run_was_cancelled(serve: Any, wire: str) -> None:
    effects = Effects()

    async def main() -> None:
        for delay in (0.0, 0.002, 0.005, 0.01, 0.02):
            server = serve(*(call("work", n=n) for n in range(1, 9)), "done")
            task = asyncio.create_task(agent_at(server, wire, tools=[effects.tool]).run("go"))
            await asyncio.sleep(delay)
            task.cancel()
            ran = len(effects.ran)
            await asyncio.wait([task])
            await asyncio.sleep(0.02)
            assert len(effects.ran) == ran, delay

    asyncio.run(main())


def test_n12_a_cancelled_run_starts_nothing_even_when_the_answer_is_there() -> None:
    """The answer comes in the very round of the loop in which the task is cancelled."""
    effects = Effects()

    async def main() -> None:
        answer = asyncio.get_running_loop().create_future()

        class Late:
            async def respond(self, request: Any) -> Any:
                await answer
                return _replies(False)[0]

        task = asyncio.create_task(Agent(Late(), tools=[effects.tool]).run("go"))
        await asyncio.sleep(0.01)
        answer.set_result(None)
        task.cancel()
        await asyncio.wait([task])
        await asyncio.sleep(0.02)

    asyncio.run(main())
    assert effects.ran == []


def test_n12_a_stream_in_a_circle_ends_when_it_is_collected(serve: Any, tmp_path: Path) -> None:
    server = serve(text("word " * 200).slowly(0.02))
    agent = agent_at(server)
    place = tmp_path / "one.jsonl"

    async def main() -> None:
        async def begin() -> None:
            circle: dict[str, Any] = {}
            circle["self"], circle["stream"] = circle, agent.stream("go", journal=place)
            circle["event"] = await circle["stream"].__anext__()
            circle["next"] = await circle["stream"].__anext__()

        await begin()
        # Collected by another thread: nothing of the loop may be touched there.
        thread = threading.Thread(target=gc.collect)
        thread.start()
        thread.join()
        await asyncio.sleep(0.1)
        assert ended_and_free(agent, place)
        assert await asyncio.to_thread(eventually, lambda: server.open_connections == 0, 0.5)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


def test_n12_a_loop_that_was_closed_leaves_no_journal_held(serve: Any, tmp_path: Path) -> None:
    server = serve(text("word " * 200).slowly(0.02))
    agent = agent_at(server)
    place = tmp_path / "one.jsonl"
    loop = asyncio.new_event_loop()
    stream = agent.stream("go", journal=place)

    async def read(events: Any) -> None:
        for _ in range(3):
            await events.__anext__()

    loop.run_until_complete(read(stream))
    loop.close()
    del stream
    assert ended_and_free(agent, place)


def test_n12_a_stream_that_was_never_asked_runs_nothing(tmp_path: Path) -> None:
    effects = Effects()

    async def main() -> None:
        stream = agent_of(effects).stream("go", journal=tmp_path / "one.jsonl")
        _ = stream.__aiter__()
        del _
        await asyncio.sleep(0.02)
        await stream.aclose()
        async with aclosing(agent_of(effects).stream("go")):
            pass

    asyncio.run(main())
    assert effects.ran == [] and not (tmp_path / "one.jsonl").exists()


def test_n12_a_question_to_a_person_is_put_while_its_event_is_looked_at() -> None:
    effects = Effects()

    async def main() -> Any:
        put: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        said: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        async def approve(_: Any) -> bool:
            put.set_result(None)
            return await said

        @tool(risk="dangerous")
        async def wipe() -> str:
            """Wipes."""
            effects.ran.append(1)
            return "gone"

        stream = Agent(ScriptedModel([call("wipe"), "done"]), tools=[wipe], guard=approve).stream("go")
        async for event in stream:
            if isinstance(event, ApprovalRequested):
                await asyncio.wait_for(put, 2)
                said.set_result(True)
                await asyncio.sleep(0.02)
                assert effects.ran == [], "what came of it was not told yet"
        return stream.result

    assert asyncio.run(main()).final == "done"
    assert effects.ran == [1]


def test_n12_the_clock_stands_still_for_a_slow_reader() -> None:
    effects = Effects()

    async def main() -> Any:
        stream = agent_of(effects, budget=Budget(wall_time=0.5)).stream("go")
        async for event in stream:
            if isinstance(event, (ToolStarted, RoundStarted)):
                await asyncio.sleep(0.1)
        return stream.result

    result = asyncio.run(main())
    assert result.stop_reason == "natural" and result.final == "done"
    assert result.duration < 0.5
    assert len(effects.ran) == STEPS

    # Work that is under way has its time all the same.
    @tool
    async def wait() -> str:
        """Waits."""
        await asyncio.sleep(20)
        return "late"

    async def held() -> Any:
        stream = Agent(ScriptedModel([call("wait"), "done"]), tools=[wait], budget=Budget(wall_time=0.3)).stream("go")
        async for event in stream:
            if isinstance(event, ToolStarted):
                await asyncio.sleep(0.4)
        return stream.result

    began = time.monotonic()
    assert asyncio.run(held()).stop_reason == "wall_time"
    assert 0.3 < time.monotonic() - began < 2


def test_n12_memory_stays_small_while_nobody_reads(serve: Any) -> None:
    long = " ".join(f"word-{n * n:x}" for n in range(20_000))
    server = serve(text(long))

    @tool
    async def chatty(context: RunContext[None]) -> str:
        """Tells a lot."""
        for n in range(50_000):
            context.emit(f"step {n}")
            if n % 1000 == 0:
                await asyncio.sleep(0)
        ended.set()
        return "told"

    ended = asyncio.Event()

    async def main() -> None:
        stream = Agent(ScriptedModel([call("chatty"), "done"]), tools=[chatty]).stream("go")
        seen: list[Any] = []
        async for event in stream:
            if isinstance(event, ToolProgress) and not isinstance(seen[-1], ToolProgress):
                # Nobody reads meanwhile.
                await asyncio.wait_for(ended.wait(), 60)
            seen.append(event)
        told = [event.text for event in seen if isinstance(event, ToolProgress)]
        assert told[-1] == "step 49999"
        assert len(told) < 5_000
        whole = agent_at(server).stream("go")
        first, words = True, ""
        async for event in whole:
            if isinstance(event, TextDelta):
                words += event.text
                if first:
                    await asyncio.sleep(0.5)
                    first = False
        assert words == long

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["grounded", "research", "sub-agents"])
def test_n12_other_agents_end_too(docs: Path, kind: str) -> None:
    from handbook import QUESTION, TIDES

    begun: list[str] = []

    def searched(question: str) -> Any:
        begun.append(question)
        return [TIDES]

    def fetched(url: str) -> Any:
        begun.append(url)
        return TIDES["text"]

    effects = Effects()

    async def main() -> None:
        if kind == "grounded":
            stream: Any = Grounded("offline:extractive", sources=[docs, searched]).stream(QUESTION)
        elif kind == "research":
            stream = Research("offline:extractive", search=[searched], fetch=fetched).stream("What causes the tides?")
        else:
            helper = SubAgent("helper", "Helps.", model=ScriptedModel(_replies(False)), tools=[effects.tool])
            lead = ScriptedModel([call("task", agent="helper", task="work"), "done"])
            stream = Agent(lead, agents=[helper]).stream("go")
        await stream.__anext__()
        await asyncio.sleep(0.1)
        # What the event announces may have begun, and no more.
        ahead = list(begun)
        assert len(ahead) <= 3 and effects.ran == []
        del stream
        await asyncio.sleep(0.1)
        assert begun == ahead and effects.ran == []
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


@pytest.mark.parametrize("until", [RoundStarted, ToolStarted, ToolFinished], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("at_once", [False, True], ids=["rounds", "one answer"])
@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
def test_n12_a_reader_may_wait_for_a_pause_within_its_loop(until: type, at_once: bool, plain: bool) -> None:
    effects = Effects(plain=plain)

    async def main() -> None:
        stream = agent_of(effects, at_once=at_once).stream("go")
        whole = [type(event) async for event in agent_of(Effects(plain=plain), at_once=at_once).stream("go")]
        seen: list[type] = []
        async for event in stream:
            seen.append(type(event))
            if isinstance(event, until) and stream.state == "running" and Resumed not in seen:
                stream.pause()
                assert await asyncio.wait_for(stream.until_paused(), 5)
                ran = len(effects.ran)
                await asyncio.sleep(0.02)
                assert stream.state == "paused" and len(effects.ran) == ran
                stream.resume()
        assert [kind for kind in seen if kind not in (Paused, Resumed)] == whole, (
            "no event is lost or changes its place"
        )
        assert stream.result.final == "done"

    asyncio.run(main())
    assert effects.ran == list(range(1, STEPS + 1))


def test_n12_waiting_for_a_pause_that_never_comes_ends_with_the_run() -> None:
    effects = Effects()

    async def main() -> None:
        stream = agent_of(effects).stream("go")
        seen = []
        async for event in stream:
            if not seen:
                assert not await stream.until_paused()
            seen.append(event)
        assert isinstance(seen[-1], RunFinished)
        assert stream.result.final == "done"
        # Another task reads: it would take the events.
        other = agent_of(Effects()).stream("go")
        reader = asyncio.ensure_future(other.__anext__())
        await asyncio.sleep(0)
        if not reader.done():
            with pytest.raises(UsageError) as caught:
                await other.until_paused()
            assert caught.value.code == "being_read" and caught.value.hint
        await reader
        await other.aclose()

    asyncio.run(main())


def test_n12_the_result_of_a_stream_that_was_left_is_there_once_it_is_closed() -> None:
    effects = Effects()

    async def main() -> None:
        stream = agent_of(effects).stream("go")
        async for event in stream:
            if isinstance(event, ToolStarted):
                break
        with pytest.raises(UsageError) as caught:
            _ = stream.result
        assert caught.value.code == "not_finished" and "await stream.aclose()" in (caught.value.hint or "")
        await stream.aclose()
        assert stream.result.stop_reason == "cancelled"

    asyncio.run(main())


@pytest.mark.parametrize("at_once", [False, True], ids=["rounds", "one answer"])
def test_n12_a_tool_that_is_cancelled_from_outside_before_its_first_step_fails(at_once: bool) -> None:
    effects = Effects()

    async def main() -> Any:
        stopped: list[Any] = []
        mine = asyncio.current_task()

        def factory(loop: Any, work: Any, **options: Any) -> Any:
            made = asyncio.Task(work, loop=loop, **options)
            frame = getattr(work, "cr_frame", None)
            function = frame and frame.f_locals.get("function")
            if getattr(function, "__name__", "") == "run_tool" and len(stopped) < 2:
                stopped.append(made)
                made.cancel()
            return made

        loop = asyncio.get_running_loop()
        loop.set_task_factory(factory)
        result = await asyncio.wait_for(agent_of(effects, at_once=at_once).run("go"), 5)
        loop.set_task_factory(None)
        assert len(stopped) == 2 and asyncio.all_tasks() == {mine}
        return result

    result = asyncio.run(main())
    assert result.final == "done"
    assert [call.failure for call in result.tool_calls] == ["exception"] * 2 + [None] * (STEPS - 2)
    assert effects.ran == list(range(3, STEPS + 1))


@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
def test_w24_break_stops_the_request_and_the_tools_that_are_under_way(serve: Any, wire: str, plain: bool) -> None:
    ended: list[str] = []

    @tool(name="work")
    async def work(context: RunContext[Any]) -> str:
        """Works."""
        context.emit("begun")
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return "ok"

    @tool(name="work")
    def work_plain(context: RunContext[Any]) -> str:
        """Works."""
        context.emit("begun")
        while not context.cancelled:
            time.sleep(0.005)
        ended.append("cancelled")
        return "ok"

    async def main() -> None:
        server = serve(call("work"), "done")
        await by_break(agent_at(server, wire, tools=[work_plain if plain else work]).stream("go"), ToolProgress)
        assert await asyncio.to_thread(eventually, lambda: ended == ["cancelled"], 2.0)
        await asyncio.sleep(0.05)
        assert len(server.requests) == 1
        words = serve(text("word " * 200).slowly(0.02))
        await by_break(agent_at(words, wire).stream("go"), TextDelta)
        assert await asyncio.to_thread(eventually, lambda: words.open_connections == 0, 2.0)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())
