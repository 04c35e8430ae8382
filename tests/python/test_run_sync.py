"""`run_sync`: in scripts, threads, pytest, and inside a running loop, with nothing left behind."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any

import pytest
from loopwright import Agent, Model, ProviderError, UsageError, tool
from loopwright.models import Call, ModelFailure, Response
from loopwright.run import Signal
from loopwright.testing import ScriptedModel, WireServer, call, calls, fault, text
from ways import agent_at, eventually, run, threads


@tool(read_only=True)
def double(n: int) -> int:
    """Double."""
    return 2 * n


@tool
async def later(n: int) -> int:
    """Double, later."""
    await asyncio.sleep(0.01)
    return 2 * n


def test_inside_a_running_loop(serve: Any) -> None:
    server = serve(call("later", n=3), call("double", n=4), "six and eight")
    agent = agent_at(server, tools=[later, double])

    async def notebook_cell() -> str | None:
        return agent.run_sync("go").final

    assert asyncio.run(notebook_cell()) == "six and eight"


def test_in_many_threads_at_once(serve: Any) -> None:
    server = serve(call("later", n=3), call("double", n=4), "done", by_turn=True)
    agent = agent_at(server, tools=[later, double])
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda _: agent.run_sync("go"), range(64)))
    assert {result.final for result in results} == {"done"}
    assert len({result.run_id for result in results}) == 64
    assert eventually(lambda: not any(name.startswith(("tool", "loopwright")) for name in threads()))


def test_needs_no_event_loop() -> None:
    code = """
        import asyncio, asyncio.events
        def refuse(*_):
            raise AssertionError("an event loop was made")
        asyncio.new_event_loop = asyncio.events.new_event_loop = refuse
        asyncio.run = refuse
        from loopwright import Agent, Model, tool
        from loopwright.testing import WireServer, call
        @tool
        def double(n: int) -> int:
            "Double."
            return 2 * n
        with WireServer([call("double", n=4), "eight"], strict="any") as server:
            result = Agent(Model("anthropic:any", base_url=server.url), tools=[double]).run_sync("go")
        assert result.final == "eight"
        print("fine")
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("fine\n", "")


def test_async_tools_of_a_run_share_one_loop_that_ends_with_it() -> None:
    loops: list[Any] = []

    @tool
    async def where() -> str:
        """Where."""
        loops.append(asyncio.get_running_loop())
        return threading.current_thread().name

    script = [call("where"), call("where"), "done"]
    Agent(ScriptedModel(script), tools=[where]).run_sync("go")
    Agent(ScriptedModel(script), tools=[where]).run_sync("go")
    assert loops[0] is loops[1]
    assert loops[2] is loops[3]
    assert loops[0] is not loops[2]
    assert all(loop.is_closed() for loop in loops)
    assert "loopwright async tools" not in threads()


def test_async_models_of_ones_own_work_too() -> None:
    class Slow:
        name = "slow"
        asked = 0

        async def respond(self, _request: Any) -> str:
            await asyncio.sleep(0.01)
            Slow.asked += 1
            if Slow.asked == 1:
                raise ModelFailure("try again", "overloaded")
            return "fine"

    agent = Agent(Model(Slow(), retry={"base": 0.01}))
    assert agent.run_sync("go").final == "fine"
    Slow.asked = 0
    assert asyncio.run(agent.run("go")).final == "fine"


def test_model_failures_are_retried_whether_raised_sync_or_async(way: str) -> None:
    script = [ModelFailure("busy", "overloaded", retry_after=0.01), ModelFailure("busy", "rate_limited"), "fine"]
    result, _ = run(Agent(Model(ScriptedModel(script), retry={"base": 0.01})), "go", way)
    assert result.final == "fine"
    assert result.iterations[0]["attempts"] == 3
    with pytest.raises(ProviderError) as caught:
        run(Agent(ScriptedModel([ModelFailure("no", "permission")])), "go", way)
    assert caught.value.code == "permission"
    assert caught.value.result is not None


def test_a_plain_tool_that_hangs_is_given_up() -> None:
    stop = threading.Event()

    @tool(timeout=0.2)
    def hangs() -> str:
        """Hangs."""
        stop.wait(30)
        return "never"

    began = time.monotonic()
    result = Agent(ScriptedModel([call("hangs"), "sorry"]), tools=[hangs]).run_sync("go")
    stop.set()
    assert time.monotonic() - began < 2
    assert result.final == "sorry"
    assert result.tool_calls[0].failure == "timeout"


def test_an_async_tool_that_lets_a_cancellation_escape(way: str) -> None:
    @tool
    async def odd() -> str:
        """Odd."""
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        future.cancel()
        return await future

    result, _ = run(Agent(ScriptedModel([call("odd"), "went on"]), tools=[odd]), "go", way)
    assert result.final == "went on"
    assert result.tool_calls[0].failure == "exception"


def test_a_signal_stops_it_from_another_thread(serve: Any) -> None:
    server = serve(fault.hangs())
    stop = Signal()
    timer = threading.Timer(0.2, stop.cancel)
    timer.start()
    began = time.monotonic()
    result = agent_at(server).run_sync("go", signal=stop)
    timer.join()
    assert result.stop_reason == "cancelled"
    assert time.monotonic() - began < 0.6
    assert eventually(lambda: server.open_connections == 0, 0.3)


def test_ctrl_c_stops_the_request(serve: Any) -> None:
    server = serve(fault.hangs())
    pressed: list[float] = []

    def press() -> None:
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, press)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            agent_at(server).run_sync("go")
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - pressed[0] < 0.15
    timer.join()
    assert eventually(lambda: server.open_connections == 0, 0.3)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="there Ctrl-C is an exception in event loops too")
def test_ctrl_c_stops_it_inside_a_running_loop(serve: Any) -> None:
    server = serve(fault.hangs())
    pressed: list[float] = []

    def press() -> None:
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    async def main() -> None:
        agent_at(server).run_sync("go")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, press)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(main())
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - pressed[0] < 0.15
    timer.join()
    assert eventually(lambda: server.open_connections == 0, 0.3)


def test_a_task_that_was_cancelled_before_may_still_clean_up(serve: Any) -> None:
    server = serve("fine")
    found: list[Any] = []

    async def main() -> None:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            found.append(agent_at(server).run_sync("go").final)
            raise

    async def whole() -> None:
        task = asyncio.create_task(main())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(whole())
    assert found == ["fine"]


def test_a_signal_may_be_sent_by_a_signal_handler(serve: Any) -> None:
    server = serve(fault.hangs())
    stop = Signal()
    before = signal.signal(signal.SIGUSR1, lambda *_: stop.cancel())
    timer = threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGUSR1])
    timer.start()
    try:
        assert agent_at(server).run_sync("go", signal=stop).stop_reason == "cancelled"
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)


def test_two_loops_in_two_threads_at_once(serve: Any) -> None:
    server = serve(call("later", n=3), call("double", n=4), "done", by_turn=True)
    agent = agent_at(server, tools=[later, double])

    def loop(_: int) -> list[Any]:
        async def main() -> list[Any]:
            return await asyncio.gather(*(agent.run("go") for _ in range(20)))

        return asyncio.run(main())

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = [result for found in pool.map(loop, range(4)) for result in found]
    assert [result.final for result in results] == ["done"] * 80


def test_runs_in_uvloop() -> None:
    uvloop = pytest.importorskip("uvloop")
    with WireServer([call("later", n=3), call("double", n=4), text("done").slowly(0.01)]) as server:
        loop = uvloop.new_event_loop()
        try:

            async def main() -> Any:
                stream = agent_at(server, tools=[later, double]).stream("go")
                async for _ in stream:
                    pass
                return stream.result

            assert loop.run_until_complete(main()).final == "done"
        finally:
            loop.close()


def test_the_request_a_model_of_ones_own_sees() -> None:
    seen: list[Any] = []

    def look(request: Any) -> Response:
        seen.append((request.model, request.turns, request.last_text, len(request.messages)))
        return Response("ok")

    Agent(ScriptedModel([call("double", n=1), look]), tools=[double]).run_sync("first")
    assert seen == [("scripted", 1, "2", 3)]


def test_a_plain_function_may_hand_out_an_awaitable(way: str) -> None:
    class Later:
        def __await__(self) -> Any:
            yield from asyncio.sleep(0).__await__()
            return "later"

    async def work(n: int) -> str:
        await asyncio.sleep(0)
        if n < 0:
            raise ValueError("below zero")
        return f"got {n}"

    @tool
    def wrapped(n: int) -> Any:
        """As a decorator in between does."""
        return work(n)

    @tool
    def odd() -> Any:
        """Not even a coroutine."""
        return Later()

    asked = calls(Call("wrapped", {"n": 1}), Call("wrapped", {"n": -1}), Call("odd", {}))
    result = run(Agent(ScriptedModel([asked, "done"]), tools=[wrapped, odd]), "go", way)[0]
    assert [call.failure for call in result.tool_calls] == [None, "exception", None]
    got = [block.text for block in result.messages[2].content]
    assert got[0] == "got 1"
    assert "ValueError: below zero" in got[1]
    assert got[2] == "later"


def test_the_time_of_a_tool_counts_what_it_hands_out_too(way: str) -> None:
    ended = threading.Event()

    async def work() -> str:
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()
        return "never"

    @tool(timeout=0.1)
    def wrapped() -> Any:
        """Wait."""
        return work()

    result = run(Agent(ScriptedModel([call("wrapped"), "done"]), tools=[wrapped]), "go", way)[0]
    assert [call.failure for call in result.tool_calls] == ["timeout"]
    assert ended.wait(5)


@pytest.mark.parametrize("how", ["cancel", "interrupt"])
def test_a_signal_that_was_given_before_the_run_began(way: str, how: str) -> None:
    signal = Signal()
    getattr(signal, how)()
    result = run(Agent(ScriptedModel([call("look"), "late"]), tools=[tool(look)]), "go", way, signal=signal)[0]
    assert result.stop_reason == {"cancel": "cancelled", "interrupt": "user_interrupt"}[how]
    assert result.final is None


def look() -> str:
    """Look."""
    return "x"


def test_without_an_event_loop_of_asyncio_what_is_awaited_says_what_to_do() -> None:
    """As under trio, whose tasks are no tasks of asyncio."""
    with WireServer(["done"]) as server:
        for start in (agent_at(server).run("go"), agent_at(server).stream("go").__anext__()):
            with pytest.raises(UsageError, match="run_sync") as caught:
                start.send(None)  # type: ignore[union-attr]
            assert caught.value.code == "no_event_loop"
        assert not server.requests
