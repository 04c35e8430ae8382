"""N12: nothing begins any more once the end of a run's reader was asked for, whoever asked and however, within the code
that looks at an event.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from loopwright import Agent, tool
from loopwright.events import CallJudged, RoundFinished, RoundStarted, ToolFinished, ToolStarted
from loopwright.models import Call, Response
from loopwright.testing import ScriptedModel, call
from ways import LEFT_BARE, agent_at

pytestmark = [pytest.mark.timeout(30), LEFT_BARE]
STEPS = 4


@pytest.fixture(scope="module", autouse=True)
def _collected() -> Iterator[None]:
    """Streams in circles are collected before other tests begin, which leave none."""
    yield
    gc.collect()


class Began:
    """Tools of three kinds, and which of their calls began."""

    def __init__(self) -> None:
        self.calls: list[int] = []

        @tool
        async def later(n: int) -> str:
            """Works."""
            self.calls.append(n)
            await asyncio.sleep(0.005)
            return str(n)

        @tool
        def plain(n: int) -> str:
            """Works."""
            self.calls.append(n)
            return str(n)

        @tool(read_only=True)
        def look(n: int) -> str:
            """Looks."""
            self.calls.append(n)
            return str(n)

        self.tools = [later, plain, look]

    def agent(self, name: str, *, at_once: bool) -> Agent[Any, Any]:
        asked = [Call(name, {"n": n}) for n in range(STEPS)]
        rounds = [Response("", asked)] if at_once else [Response("", [each]) for each in asked]
        return Agent(ScriptedModel([*rounds, "done"]), tools=self.tools)


def this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


async def in_a_task(body: Callable[[], Any]) -> None:
    task = asyncio.ensure_future(body())
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()


def read_by(ask: Callable[[], None], linger: Callable[[], Any] | None) -> Callable[..., Any]:
    """Reads a stream up to an event of a kind, asks for its own end there, and reads on."""

    async def read(agent: Agent[Any, Any], until: type, began: Began) -> list[int]:
        before: list[list[int]] = []

        async def body() -> None:
            async for event in agent.stream("go"):
                if isinstance(event, until) and not before:
                    before.append(list(began.calls))
                    ask()
                    if linger is not None:
                        await linger()

        await in_a_task(body)
        return before[0]

    return read


async def by_callback(agent: Agent[Any, Any], until: type, began: Began) -> list[int]:
    before: list[list[int]] = []

    async def body() -> None:
        def hear(event: Any) -> None:
            if isinstance(event, until) and not before:
                before.append(list(began.calls))
                this_task().cancel()

        await agent.run("go", on_event=hear)

    await in_a_task(body)
    return before[0]


def by_deadline(linger: bool) -> Callable[..., Any]:
    async def read(agent: Agent[Any, Any], until: type, began: Began) -> list[int]:
        """A deadline that passes while the body holds the loop up."""
        before: list[list[int]] = []

        async def body() -> None:
            asyncio.get_running_loop().call_later(0.3, this_task().cancel)
            ends = time.monotonic() + 0.31
            async for event in agent.stream("go"):
                if isinstance(event, until) and not before:
                    before.append(list(began.calls))
                    time.sleep(max(0.0, ends - time.monotonic()))  # noqa: ASYNC251 - the loop is held up
                    if linger:
                        await asyncio.sleep(0.05)

        await in_a_task(body)
        return before[0]

    return read


def by_scope(linger: bool) -> Callable[..., Any]:
    async def read(agent: Agent[Any, Any], until: type, began: Began) -> list[int]:
        anyio = pytest.importorskip("anyio")
        before: list[list[int]] = []
        with anyio.CancelScope() as scope:
            async for event in agent.stream("go"):
                if isinstance(event, until) and not before:
                    before.append(list(began.calls))
                    scope.cancel()
                    if linger:
                        await anyio.sleep(0.05)
        return before[0]

    return read


async def cleans_up() -> None:
    """Waits, and takes turns of the loop to put things in order once it is told to end."""
    try:
        await asyncio.sleep(1)
    finally:
        for _ in range(10):
            await asyncio.sleep(0)


WAYS = {
    "itself": read_by(lambda: this_task().cancel() and None, None),
    "itself, and waits": read_by(lambda: this_task().cancel() and None, lambda: asyncio.sleep(0.05)),
    "itself, and takes turns": read_by(lambda: this_task().cancel() and None, cleans_up),
    "callback": by_callback,
    "deadline": by_deadline(False),
    "deadline, and waits": by_deadline(True),
    "scope": by_scope(False),
    "scope, and waits": by_scope(True),
}


@pytest.mark.parametrize("at_once", [False, True], ids=["rounds", "one answer"])
@pytest.mark.parametrize(
    "until", [RoundFinished, CallJudged, ToolStarted, ToolFinished], ids=lambda kind: kind.__name__
)
@pytest.mark.parametrize("name", ["later", "plain", "look"])
@pytest.mark.parametrize("way", WAYS)
def test_n12_no_tool_begins_after_its_reader_was_asked_to_end(way: str, name: str, until: type, at_once: bool) -> None:
    if way == "itself, and takes turns" and sys.version_info < (3, 11):
        pytest.skip("no task tells before Python 3.11 that it was asked to end")
    began = Began()

    async def main() -> list[int]:
        before: list[int] = await WAYS[way](began.agent(name, at_once=at_once), until, began)
        await asyncio.sleep(0.05)
        return before

    # What had begun beside it may have: calls of one answer that only read begin together.
    assert asyncio.run(main()) == began.calls


def test_n12_no_request_goes_out_either(serve: Any, wire: str) -> None:
    began = Began()
    server = serve(*(call("plain", n=n) for n in range(STEPS)), "done")

    async def body() -> None:
        seen = 0
        async for event in agent_at(server, wire, tools=began.tools).stream("go"):
            seen += isinstance(event, RoundStarted)
            if seen == 2:
                this_task().cancel()

    async def main() -> None:
        await in_a_task(body)
        await asyncio.sleep(0.1)

    asyncio.run(main())
    assert began.calls == [0]
    assert len(server.requests) == 1


@pytest.mark.parametrize("name", ["later", "plain", "look"])
def test_n12_a_reader_that_overcomes_a_cancellation_gets_the_whole_run(name: str) -> None:
    began = Began()

    async def main() -> list[str]:
        kinds = []
        async for event in began.agent(name, at_once=False).stream("go"):
            kinds.append(type(event).__name__)
            if isinstance(event, (RoundFinished, ToolStarted)):
                this_task().cancel()
                try:
                    await asyncio.sleep(1)
                except asyncio.CancelledError:
                    pass
        return kinds

    assert asyncio.run(main())[-1] == "RunFinished"
    assert began.calls == list(range(STEPS))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="no task tells before Python 3.11 that it was asked to end")
@pytest.mark.parametrize("until", [RoundFinished, ToolStarted, ToolFinished], ids=lambda kind: kind.__name__)
def test_n12_nor_does_a_run_without_a_loop_of_its_own_go_on(until: type) -> None:
    began = Began()
    before: list[list[int]] = []

    async def body() -> None:
        def hear(event: Any) -> None:
            if isinstance(event, until) and not before:
                before.append(list(began.calls))
                this_task().cancel()

        began.agent("plain", at_once=False).run_sync("go", on_event=hear)

    asyncio.run(in_a_task(body))
    assert before == [began.calls]
