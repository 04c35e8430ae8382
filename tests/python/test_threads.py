"""Many threads at once, on things that they share. Where Python has no global lock they really run at once; elsewhere
the same tests hold, and mean less.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import os
import pickle
import subprocess
import sys
import sysconfig
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from loopwright import Agent, LoopwrightError, Message, Messages, replay, tool
from loopwright.machine import MachineEvent, TurnMachine
from loopwright.models import Call, Response
from loopwright.run import Signal
from loopwright.testing import ScriptedModel, UnexpectedRequest, WireServer, call, calls, text
from loopwright.wire import StreamDecoder
from ways import WIRES, agent_at, eventually, threads

THREADS = 8


def together(work: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    """What `work` gives in each of `count` threads, which begin at the same moment; what it raises is raised."""
    gate = threading.Barrier(count)
    results: list[Any] = [None] * count
    failures: list[BaseException] = []

    def body(number: int) -> None:
        gate.wait()
        try:
            results[number] = work(number)
        except BaseException as error:
            failures.append(error)

    crowd = [threading.Thread(target=body, args=(number,), daemon=True) for number in range(count)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    if failures:
        raise failures[0]
    return results


def python(code: str) -> str:
    """What a program prints, in a process of its own, where a crash is seen; warnings are errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        env={name: value for name, value in os.environ.items() if name != "PYTHON_GIL"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@tool(read_only=True)
def double(n: int) -> int:
    """Double."""
    return 2 * n


@tool
async def later(n: int) -> int:
    """Double, later."""
    await asyncio.sleep(0)
    return 2 * n


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has its global lock")
def test_nothing_of_ours_brings_the_global_lock_back() -> None:
    # Python warns, and a warning is an error here, when a module does not say that it can do without.
    said = python("""
        import sys
        from loopwright import *
        from loopwright.testing import WireServer, call
        import loopwright.cli
        @tool
        def double(n: int) -> int:
            "Double."
            return 2 * n
        with WireServer([call("double", n=4), "eight"], strict="any") as server:
            agent = Agent(Model("anthropic:any", base_url=server.url), tools=[double])
            print(agent.run_sync("go").final)
        print(sys._is_gil_enabled())
    """)
    assert said == "eight\nFalse\n"


def test_runs_of_one_agent_at_one_server(serve: Any) -> None:
    script = [calls(Call("later", {"n": 3}), Call("double", {"n": 4})), call("double", n=5), text("done")]
    server = serve(*script, by_turn=True)
    agents = [agent_at(server, wire, tools=[later, double]) for wire in WIRES]
    each = 5

    def work(number: int) -> list[Any]:
        results = []
        for turn in range(each):
            agent = agents[(number + turn) % len(agents)]
            events: list[Any] = []
            results.append(agent.run_sync("go", journal=True))
            results.append(agent.run_sync("go", on_event=events.append))
            assert events[-1].result is results[-1]
            results.append(asyncio.run(agent.run("go", on_event=events.append)))
        return results

    results = list(itertools.chain(*together(work)))
    assert len({result.run_id for result in results}) == len(results) == THREADS * each * 3
    for result in results:
        assert result.final == "done"
        assert [block.text for message in result.messages for block in message.tool_results] == ["6", "8", "10"]
        assert result.dropped == 0
        assert result.journal is None or replay(result.journal).identical
    assert len(server.requests) == 3 * len(results)
    assert eventually(lambda: not any(name.startswith(("tool", "loopwright")) for name in threads()))


def test_runs_in_the_tasks_of_many_loops(serve: Any) -> None:
    agent = agent_at(serve(call("later", n=3), text("done " * 20), by_turn=True), tools=[later])

    async def one() -> str:
        return "".join([event.text async for event in agent.stream("go") if type(event).__name__ == "TextDelta"])

    async def several() -> list[str]:
        return await asyncio.gather(*(one() for _ in range(5)))

    # Loops come and go all the time.
    found = together(lambda _: [asyncio.run(several()) for _ in range(4)])
    assert {text for loops in found for texts in loops for text in texts} == {"done " * 20}


def test_one_signal_ends_the_runs_of_all_threads(serve: Any) -> None:
    agent = agent_at(serve(text("word " * 1000).slowly(0.05), by_turn=True))
    signal = Signal()
    begun = threading.Barrier(THREADS + 1)

    def work(_number: int) -> str:
        first = True

        def heard(event: Any) -> None:
            nonlocal first
            if first and type(event).__name__ == "TextDelta":
                first = False
                begun.wait(30)

        return agent.run_sync("go", on_event=heard, signal=signal).stop_reason

    def cancel() -> None:
        begun.wait(30)
        signal.cancel()

    watcher = threading.Thread(target=cancel)
    watcher.start()
    assert together(work) == ["cancelled"] * THREADS
    watcher.join()


def test_messages_are_read_and_continued_by_all(serve: Any) -> None:
    agent = agent_at(serve(call("double", n=4), "eight", "nine", by_turn=True), tools=[double])
    shared = agent.run_sync("go").messages
    before = shared.to_json()
    said = list(shared)

    def work(number: int) -> None:
        for turn in range(50):
            assert list(shared) == said
            assert shared[-1].text == "eight"
            assert pickle.loads(pickle.dumps(shared)) == shared  # noqa: S301 - our own
            assert [hash(message) for message in shared] == [hash(message) for message in said]
            more = shared + [Message.user(f"{number} {turn}")]
            assert len(more) == len(shared) + 1
            assert more[-1].text == f"{number} {turn}"
            assert Messages.from_json(shared.to_json()) == shared
        result = agent.run_sync(f"and {number}?", messages=shared)
        assert result.final == "nine"
        assert result.messages[: len(said)] == said
        assert result.messages[len(said)].text == f"and {number}?"

    together(work)
    assert shared.to_json() == before


def test_threads_that_step_one_machine_are_served_in_turn() -> None:
    config = {
        "model": "any",
        "tools": [{"name": "look", "schema": {"type": "object"}, "read_only": True}],
        "budget": {"iterations": 50, "tool_rounds": 50},
    }
    start = MachineEvent.start([{"role": "user", "content": [{"type": "text", "text": "go"}]}])
    rounds = 10
    for _ in range(10):
        machine = TurnMachine(config)
        given: list[Any] = []
        read: list[str] = []
        work = _steps_and_looks(machine, start, rounds, given, read)
        together(work)
        read.append(machine.take_journal())
        kinds = Counter(command.kind for command in given)
        assert (kinds["generate"], kinds["execute"], kinds["finish"]) == (rounds + 1, rounds, 1)
        # One thread looked on, one began, and the others were told that the run had begun.
        assert kinds["refuse"] == THREADS - 2
        assert len({command.id for command in given if command.kind in ("generate", "execute")}) == 2 * rounds + 1
        (finish,) = [command for command in given if command.kind == "finish"]
        assert finish.outcome["final"] == "done"
        again = replay("".join(read))
        assert again.identical
        assert again.messages == Messages(machine.messages)


def _steps_and_looks(
    machine: TurnMachine, start: MachineEvent, rounds: int, given: list[Any], read: list[str]
) -> Callable[[int], None]:
    begun = threading.Barrier(THREADS - 1)

    def look_on() -> None:
        while not machine.finished:
            assert isinstance(TurnMachine.load(machine.save()).waiting, list)
            assert len(machine.messages) <= 2 + 2 * rounds
            read.append(machine.take_journal())

    def answer(command: Any) -> None:
        if command.kind == "generate":
            turn = command.request.turns
            asked = [Call("look", {"n": turn}, f"c{turn}")] if turn < rounds else []
            said = Response("" if asked else "done", asked).to_json(turn)
            given.extend(machine.step(MachineEvent.generated(command.id, said)))
        elif command.kind == "execute":
            (call,) = command.calls
            given.extend(machine.step(MachineEvent.executed(command.id, call.call_id, f"seen at {call.call_id}")))

    def work(number: int) -> None:
        if number == 0:
            look_on()
            return
        given.extend(machine.step(start))
        begun.wait()
        seen = 0
        while not machine.finished:
            # Each answers all that is asked, so all answers but one come too late.
            while seen < len(given):
                answer(given[seen])
                seen += 1

    return work


def test_a_decoder_that_threads_share_gives_values_or_typed_errors() -> None:
    over = threading.Event()

    def collect() -> None:
        # Halts all threads again and again, wherever they are.
        while not over.wait(0.001):
            gc.collect()

    collector = threading.Thread(target=collect)
    collector.start()
    try:
        for _ in range(5):
            decoder = StreamDecoder("anthropic")
            failed: list[LoopwrightError] = []

            def work(number: int, decoder: Any = decoder, failed: Any = failed) -> None:
                for chunk in (b"event: ping\n", b'data: {"type": "ping"}\n\n', b"data: {]\n\n", b"\xff\n\n"):
                    try:
                        decoder.feed(chunk)
                        assert decoder.done in (True, False)
                        if number == 0:
                            decoder.finish()
                    except LoopwrightError as error:
                        failed.append(error)

            together(work)
            assert failed
    finally:
        over.set()
        collector.join()


def test_a_scripted_model_gives_each_step_once() -> None:
    steps = [f"step {number}" for number in range(200)]
    model = ScriptedModel(steps)
    agent = Agent(model)

    def work(_number: int) -> list[str | None]:
        found = []
        while True:
            try:
                found.append(agent.run_sync("go").final)
            except UnexpectedRequest:
                return found

    assert sorted(itertools.chain(*together(work))) == sorted(steps)
    model.assert_complete()
    assert len(model.requests) == len(steps) + THREADS


def test_what_is_made_when_first_needed_may_be_needed_by_all_at_once() -> None:
    said = python("""
        import dataclasses, threading
        from loopwright._core import WireServer
        @dataclasses.dataclass
        class Answer:
            value: int
        def double(n: int) -> int:
            "Double."
            return 2 * n
        call = {"answer": {"tool_uses": {"text": "", "calls": [{"name": "double", "input": {"n": 4}}]}}}
        server = WireServer({"replies": [call, {"answer": {"text": '{"value": 8}'}}], "by_turn": True})
        gate, found = threading.Barrier(8), []
        def work():
            gate.wait()
            from loopwright import Agent, Model
            agent = Agent(Model("anthropic:any", base_url=server.url), tools=[double], output_type=Answer)
            found.append(agent.run_sync("go").output.value)
        crowd = [threading.Thread(target=work) for _ in range(8)]
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join()
        server.stop()
        print(found)
    """)
    assert said == f"{[8] * 8}\n"


def test_the_environment_may_change_while_it_is_read() -> None:
    # The C library's own table of variables moves when it grows.
    said = python("""
        import os, threading, time
        from loopwright import Agent, UsageError
        os.environ["ANTHROPIC_API_KEY"] = "k"
        end = time.monotonic() + 2
        def read():
            while time.monotonic() < end:
                Agent("anthropic:any")
        def change(prefix):
            while time.monotonic() < end:
                for number in range(500):
                    os.environ[f"{prefix}_{number}"] = "x" * 50
                for number in range(500):
                    del os.environ[f"{prefix}_{number}"]
        crowd = [threading.Thread(target=read) for _ in range(6)]
        crowd += [threading.Thread(target=change, args=("LOOPWRIGHT_TEST_A",))]
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join()
        del os.environ["ANTHROPIC_API_KEY"]
        try:
            Agent("anthropic:any").check()
        except UsageError as error:
            print(error.code)
    """)
    assert said == "missing_key\n"


def test_tools_report_from_many_threads_and_nothing_is_lost(serve: Any) -> None:
    from loopwright import RunContext

    reports = 50

    @tool
    def busy(context: RunContext[Any]) -> str:
        """Report."""
        together(lambda number: [context.emit(f"{number} {turn}") for turn in range(reports)])
        return "reported"

    for way in ("sync", "async"):
        agent = agent_at(serve(call("busy"), "done", by_turn=True), tools=[busy])
        heard: list[Any] = []
        began = time.monotonic()
        if way == "sync":
            result = agent.run_sync("go", on_event=heard.append)
        else:
            result = asyncio.run(agent.run("go", on_event=heard.append))
        assert time.monotonic() - began < 30
        assert result.final == "done"
        told = [event.text for event in heard if type(event).__name__ == "ToolProgress"]
        assert Counter(told) == Counter(f"{number} {turn}" for number in range(THREADS) for turn in range(reports))
        # What one thread said stays in order.
        for number in range(THREADS):
            mine = [text for text in told if text.startswith(f"{number} ")]
            assert mine == [f"{number} {turn}" for turn in range(reports)]


def test_a_server_is_looked_at_while_it_serves() -> None:
    with WireServer(["Hi."], repeat_last=True) as server:
        agent = agent_at(server)

        def work(number: int) -> None:
            for _ in range(10):
                if number % 2:
                    assert agent.run_sync("go").final == "Hi."
                else:
                    assert all(json.dumps(request["body"]) for request in server.requests)
                    server.push("Hi.")
                    assert server.pending >= 0
                    # The one is asked for after the other, and connections may come between.
                    still_open = server.open_connections
                    assert server.total_connections >= still_open

        together(work)
        assert len(server.requests) == 10 * THREADS // 2
