"""The bridge between tokio's threads and Python: exit, fork, a busy loop, a thousand runs, and nothing left behind."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from typing import Any

import pytest
from loopwright import Agent, Model, ProviderError, tool
from loopwright.events import TextDelta
from loopwright.testing import ScriptedModel, call, fault, text
from ways import LEFT_BARE, agent_at, eventually, open_files, threads


@tool(read_only=True)
def double(n: int) -> int:
    """Double."""
    return 2 * n


@tool
async def later(n: int) -> int:
    """Double, later."""
    await asyncio.sleep(0)
    return 2 * n


# Each ends as hastily as it can, with calls under way that tokio will want to tell of.
EXITS = {
    "after a run": """
        agent.run_sync("go")
    """,
    "after an async run": """
        asyncio.run(agent.run("go"))
    """,
    "with a stream open": """
        async def main():
            async for event in agent.stream("go"):
                os.write(1, b"")
                break
        asyncio.run(main())
    """,
    "with calls under way": """
        async def main():
            tasks = [asyncio.create_task(agent.run("go")) for _ in range(8)]
            await asyncio.sleep(0.01)
        asyncio.run(main())
    """,
    "with threads that run": """
        agent.run_sync("go")
        for _ in range(4):
            threading.Thread(target=agent.run_sync, args=("go",), daemon=True).start()
        time.sleep(0.01)
    """,
    "by an exception": """
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        task = loop.create_task(agent.run("go"))
        loop.run_until_complete(asyncio.sleep(0.005))
        sys.exit(0)
    """,
}

HEAD = """
import asyncio, os, sys, threading, time
from loopwright import Agent, Model, ProviderError, tool
@tool(read_only=True)
def double(n: int) -> int:
    "Double."
    return 2 * n
agent = Agent(Model("anthropic:any", base_url=sys.argv[1]), tools=[double])
"""


def exits(url: str, how: str, times: int) -> None:
    """Runs a script that ends right after use so many times, a few at once; none may crash or hang."""
    code = HEAD + textwrap.dedent(EXITS[how])

    def once(_: int) -> tuple[int, bytes]:
        done = subprocess.run([sys.executable, "-c", code, url], capture_output=True, timeout=60, check=False)
        return done.returncode, done.stderr

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(once, range(times)))
    # Python itself complains of tasks that were pending at its end; a crash has a code, and says more.
    bad = [(code, error) for code, error in results if code or b"Fatal" in error or b"panicked" in error]
    assert not bad, f"{len(bad)} of {times}: {bad[0]}"


@pytest.mark.parametrize("how", list(EXITS))
def test_exit_right_after_use(serve: Any, how: str) -> None:
    server = serve(call("double", n=2), text("word " * 20).slowly(0.002), by_turn=True)
    exits(server.url, how, 4)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_exit_right_after_use_300_times(serve: Any) -> None:
    server = serve(call("double", n=2), text("word " * 20).slowly(0.002), by_turn=True)
    for how in EXITS:
        exits(server.url, how, 50)


def _child(url: str, out: Any) -> None:
    agent = Agent(Model("anthropic:any", base_url=url), tools=[double, later])
    results = [agent.run_sync("go").final, asyncio.run(agent.run("go")).final]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results += [result.final for result in pool.map(lambda _: agent.run_sync("go"), range(4))]
    out.send(results)
    out.close()


def test_fork_with_runs_before_and_after(serve: Any) -> None:
    server = serve(call("double", n=2), call("later", n=2), "done", by_turn=True)
    agent = agent_at(server, tools=[double, later])
    fork = multiprocessing.get_context("fork")
    for _ in range(5):
        assert agent.run_sync("go").final == "done"
        assert asyncio.run(agent.run("go")).final == "done"
        parents, children = fork.Pipe()
        with warnings.catch_warnings():
            # Newer Pythons warn of any fork beside threads.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = fork.Process(target=_child, args=(server.url, children))
            child.start()
        children.close()
        assert parents.poll(30), "the child hangs"
        assert parents.recv() == ["done"] * 6
        parents.close()
        child.join(10)
        assert child.exitcode == 0
        child.close()
        assert agent.run_sync("go").final == "done"


def test_fork_while_runs_are_under_way(serve: Any) -> None:
    server = serve(call("double", n=2), text("word " * 20).slowly(0.005), by_turn=True)
    agent = agent_at(server, tools=[double, later])
    stop = threading.Event()
    finals: list[str | None] = []

    def keep_on() -> None:
        while not stop.is_set():
            finals.append(agent.run_sync("go").final)

    workers = [threading.Thread(target=keep_on) for _ in range(3)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(10):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    code = 0 if asyncio.run(agent.run("go")).final else 2
                finally:
                    os._exit(code)
            end = time.monotonic() + 30
            while time.monotonic() < end:
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    break
                time.sleep(0.005)
            else:
                os.kill(pid, 9)
                os.waitpid(pid, 0)
                pytest.fail("the child hangs")
            assert os.waitstatus_to_exitcode(status) == 0
    finally:
        stop.set()
        for worker in workers:
            worker.join(20)
    assert set(finals) == {"word " * 20}


def test_a_busy_loop_gets_everything_in_order(serve: Any) -> None:
    words = " ".join(str(n) for n in range(400))
    server = serve(text(words), repeat_last=True)

    async def main() -> None:
        busy = True

        async def burn() -> None:
            while busy:
                end = time.perf_counter() + 0.02
                while time.perf_counter() < end:
                    pass
                await asyncio.sleep(0)

        burning = asyncio.create_task(burn())

        async def one() -> None:
            pieces = [event.text async for event in agent_at(server).stream("go") if isinstance(event, TextDelta)]
            assert "".join(pieces) == words

        await asyncio.wait_for(asyncio.gather(*(one() for _ in range(20))), 30)
        busy = False
        await burning

    asyncio.run(main())


def test_runs_that_follow_each_other_at_once_take_nothing_from_one_another(serve: Any) -> None:
    """Two runs end before the loop has turned once, and between what is done about that a third begins."""
    agent = agent_at(serve("done"))
    quick = Agent(ScriptedModel(["a", "b"], by_turn=False))

    async def main() -> None:
        await quick.run("go")
        third = asyncio.create_task(agent.run("go"))
        await quick.run("go")
        assert (await asyncio.wait_for(third, 10)).final == "done"

    asyncio.run(main())


def test_no_thread_of_ours_needs_the_interpreter(serve: Any) -> None:
    """While Python computes without a pause, the I/O goes on: the whole answer is there when Python looks again."""
    server = serve(text("x" * 20_000))

    async def main() -> None:
        task = asyncio.create_task(agent_at(server).run("go"))
        await asyncio.sleep(0)
        before = sys.getswitchinterval()
        sys.setswitchinterval(10.0)
        try:
            end = time.perf_counter() + 0.5
            while time.perf_counter() < end:
                pass
        finally:
            sys.setswitchinterval(before)
        began = time.perf_counter()
        assert len((await task).final or "") == 20_000
        assert time.perf_counter() - began < 0.1

    asyncio.run(main())


@pytest.mark.slow
def test_a_thousand_runs_at_once(serve: Any) -> None:
    server = serve(call("later", n=1), call("double", n=2), "done", by_turn=True)
    agent = agent_at(server, tools=[later, double])

    async def main() -> list[Any]:
        results = await asyncio.gather(*(agent.run(f"go {n}") for n in range(1000)))
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return results

    results = asyncio.run(main())
    assert [result.final for result in results] == ["done"] * 1000
    assert [result.messages.to_dicts()[0]["content"][0]["text"] for result in results] == [
        f"go {n}" for n in range(1000)
    ]
    assert {len(result.messages) for result in results} == {6}


def test_a_thousand_runs_of_a_scripted_model_at_once() -> None:
    agent = Agent(ScriptedModel([call("later", n=1), "done"], by_turn=True, keep_requests=False), tools=[later])

    async def main() -> list[Any]:
        return await asyncio.gather(*(agent.run("go") for _ in range(1000)))

    assert [result.final for result in asyncio.run(main())] == ["done"] * 1000


def test_a_thousand_runs_cancelled_at_once(serve: Any) -> None:
    server = serve(fault.hangs(), repeat_last=True)
    agent = agent_at(server)

    async def main() -> None:
        tasks = [asyncio.create_task(agent.run("go")) for _ in range(300)]
        await asyncio.to_thread(eventually, lambda: server.open_connections >= 300, 20)
        began = time.monotonic()
        for task in tasks:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(each) for each in done} == {asyncio.CancelledError}
        assert time.monotonic() - began < 2
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    assert eventually(lambda: server.open_connections == 0, 2)


@LEFT_BARE
def test_nothing_is_left_behind(serve: Any) -> None:
    server = serve(call("later", n=1), call("double", n=2), text("done"), by_turn=True)
    agent = agent_at(server, tools=[later, double])

    def rounds() -> None:
        for _ in range(5):
            agent.run_sync("go")

            async def main() -> None:
                await agent.run("go")
                async for _ in agent.stream("go"):
                    pass
                async for event in agent.stream("go"):
                    if type(event).__name__ == "ToolStarted":
                        break
                gc.collect()
                task = asyncio.create_task(agent.run("go"))
                await asyncio.sleep(0.001)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                assert asyncio.all_tasks() == {asyncio.current_task()}

            asyncio.run(main())

    rounds()
    gc.collect()
    before, others = len(open_files()), threads()
    for _ in range(4):
        rounds()
    gc.collect()
    assert eventually(lambda: threads() <= others)
    # The client keeps a few connections to the server for the next request; both ends are ours here.
    assert eventually(lambda: len(open_files()) <= before + 4), (before, open_files())


def test_runs_that_fail_or_are_cancelled_leave_no_descriptors_for_the_collector() -> None:
    @tool
    async def waits() -> str:
        """Wait."""
        await asyncio.sleep(30)
        return "never"

    failing = Agent(Model("anthropic:any", base_url="http://127.0.0.1:1", api_key="k", retry={"attempts": 1}))
    waiting = Agent(ScriptedModel([call("waits")], by_turn=True), tools=[waits])

    async def main() -> None:
        for _ in range(20):
            with pytest.raises(ProviderError):
                await failing.run("go")
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(waiting.run("go"), 0.005)

    asyncio.run(main())
    gc.collect()
    gc.disable()
    try:
        before = len(open_files())
        asyncio.run(main())
        assert len(open_files()) <= before + 4
    finally:
        gc.enable()


def test_runs_are_freed(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import weakref

    from loopwright import _recent

    # The plugin of pytest keeps the last ones, for reports of tests that fail.
    monkeypatch.setattr(_recent, "kept", None)

    server = serve("x" * 1000, repeat_last=True)
    agent = agent_at(server)
    gc.collect()
    gc.disable()
    try:
        result: Any = agent.run_sync("go")
        freed = [weakref.ref(result.messages)] if hasattr(result.messages, "__weakref__") else []
        freed.append(weakref.ref(result))

        async def main() -> None:
            stream = agent.stream("go")
            freed.append(weakref.ref(stream))
            async for _ in stream:
                pass
            freed.append(weakref.ref(stream.result))

        asyncio.run(main())
        del result
        assert [each() for each in freed] == [None] * len(freed), "only the collector of cycles could free these"
    finally:
        gc.enable()
