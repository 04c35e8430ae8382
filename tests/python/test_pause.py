"""Pausing: nothing new starts after what is under way, the time stands still, and another process may go on."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from loopwright import Agent, Approval, Budget, Guard, SubAgent, UsageError, replay, tool
from loopwright.events import Paused, Resumed, RoundStarted, TextDelta, ToolFinished, ToolStarted
from loopwright.models import Call, Response
from loopwright.run import Signal
from loopwright.testing import ScriptedModel, call, calls, text
from ways import agent_at, eventually, words


def told(events: list[Any], *kinds: type) -> list[str]:
    return [type(each).__name__ for each in events if isinstance(each, kinds)]


def test_d45_pause_while_streaming(serve: Any, wire: str) -> None:
    server = serve(calls(Call("look", {}), text="some words " * 10).slowly(0.02), "the end")

    @tool(read_only=True)
    def look() -> str:
        """Looks."""
        return "seen"

    async def main() -> None:
        run = agent_at(server, wire, tools=[look]).start("go", journal=True)
        seen: list[Any] = []
        async for event in run.events():
            seen.append(event)
            if isinstance(event, TextDelta) and run.state == "running":
                run.pause()
            if isinstance(event, Paused):
                break
        assert run.state == "paused"
        assert "some words" in "".join(each.text for each in seen if isinstance(each, TextDelta)), "it was heard out"
        assert told(seen, ToolStarted) == [], "nothing new starts"
        await asyncio.sleep(0.2)
        assert run.state == "paused"
        assert len(server.requests) == 1
        run.resume()
        result = await run
        assert result.final == "the end"
        assert result.duration < 1
        assert replay(result.journal).identical

    asyncio.run(main())


def test_d45_pause_while_tools_run() -> None:
    release = threading.Event()

    @tool(read_only=True)
    def slow(n: int) -> str:
        """Slow."""
        release.wait(5)
        return f"done {n}"

    model = ScriptedModel([calls(Call("slow", {"n": 1}), Call("slow", {"n": 2})), "end"])

    async def main() -> None:
        run = Agent(model, tools=[slow]).start("go", journal=True)
        seen: list[Any] = []

        async def watch() -> None:
            async for event in run.events():
                seen.append(event)

        watching = asyncio.create_task(watch())
        assert await asyncio.to_thread(eventually, lambda: len(told(seen, ToolStarted)) == 2)
        run.pause()
        await asyncio.sleep(0.05)
        assert run.state == "pausing"
        assert told(seen, Paused) == []
        release.set()
        assert await run.until_paused()
        assert told(seen, ToolFinished, Paused) == ["ToolFinished", "ToolFinished", "Paused"]
        assert len(model.requests) == 1
        run.resume()
        result = await run
        await watching
        assert result.final == "end"
        assert told(seen, Paused, Resumed, RoundStarted) == ["RoundStarted", "Paused", "Resumed", "RoundStarted"]
        assert replay(result.journal).identical

    asyncio.run(main())


def test_d45_pause_while_a_person_is_asked() -> None:
    ran: list[int] = []

    @tool(risk="confirm")
    def delete() -> str:
        """Deletes."""
        ran.append(1)
        return "gone"

    async def main() -> None:
        said = asyncio.Event()
        asked = asyncio.Event()

        async def approve(_question: Approval) -> bool:
            asked.set()
            await said.wait()
            return True

        agent = Agent(ScriptedModel([call("delete"), "end"]), tools=[delete], guard=Guard(approve=approve, timeout=0.5))
        run = agent.start("delete it", journal=True)
        await asked.wait()
        run.pause()
        assert await run.until_paused(), "a question is no work: the run stands still around it"
        await asyncio.sleep(0.8)
        said.set()
        await asyncio.sleep(0.1)
        assert ran == [], "agreed, and not started"
        assert run.state == "paused"
        run.resume()
        result = await run
        assert ran == [1], "the time to answer stood still, too"
        assert result.final == "end"
        assert replay(result.journal).identical

    asyncio.run(main())


def test_d45_x01_the_time_of_a_run_stands_still(serve: Any) -> None:
    @tool(read_only=True)
    def look() -> str:
        """Looks."""
        return "seen"

    async def main() -> None:
        agent = Agent(ScriptedModel([call("look"), "end"]), tools=[look], budget=Budget(wall_time=0.6))
        signal = Signal()
        signal.pause()
        run = agent.start("go", signal=signal, journal=True)
        assert await run.until_paused()
        await asyncio.sleep(1.0)
        run.resume()
        result = await run
        assert result.final == "end"
        assert result.duration < 0.5
        assert replay(result.journal).identical
        # And it still runs out.
        hang = Agent(Slow(), budget=Budget(wall_time=0.5)).start("go", journal=True)
        hang.pause()
        await asyncio.sleep(0.1)
        hang.resume()
        began = time.monotonic()
        result = await hang
        assert result.stop_reason == "wall_time"
        assert time.monotonic() - began < 1.5
        assert replay(result.journal).identical

    class Slow:
        async def respond(self, _request: Any) -> str:
            await asyncio.sleep(30)
            return "late"

    asyncio.run(main())


def test_d45_timers_set_before_a_pause_are_set_again() -> None:
    """The run's time limit was set before the pause; it comes later by as long as the run stood still."""

    class Model:
        name = "own"

        def __init__(self) -> None:
            self.calls = 0

        async def respond(self, _request: Any) -> Any:
            self.calls += 1
            await asyncio.sleep(0.05 if self.calls == 1 else 0.45)
            return Response(calls=[Call("look")]) if self.calls == 1 else "end"

    @tool(read_only=True)
    def look() -> str:
        """Looks."""
        return "seen"

    async def main() -> None:
        run = Agent(Model(), tools=[look], budget=Budget(wall_time=0.8)).start("go", journal=True)
        run.pause()
        assert await run.until_paused()
        await asyncio.sleep(0.6)
        run.resume()
        result = await run
        assert result.final == "end", "0.05 + 0.45 of 0.8 seconds, whatever the clock says"
        assert replay(result.journal).identical

    asyncio.run(main())


@pytest.mark.parametrize("how", ["cancel", "interrupt"])
def test_d45_a_paused_run_can_be_ended(how: str) -> None:
    @tool(read_only=True)
    def look() -> str:
        """Looks."""
        return "seen"

    async def main() -> None:
        run = Agent(ScriptedModel([call("look"), "end"]), tools=[look]).start("go", journal=True)
        run.pause()
        assert await run.until_paused()
        getattr(run, how)()
        result = await asyncio.wait_for(run, 2)
        assert result.stop_reason == ("cancelled" if how == "cancel" else "user_interrupt")
        assert replay(result.journal).identical
        assert Agent(ScriptedModel(["fine"])).run_sync("and now?", messages=result.messages).final == "fine"

    asyncio.run(main())


def test_d45_cancelling_the_task_of_a_paused_run() -> None:
    async def main() -> None:
        run = Agent(ScriptedModel(["end"])).start("go")
        run.pause()
        await run.until_paused()

        async def wait() -> Any:
            return await run

        task = asyncio.create_task(wait())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert run.done()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_d45_children_pause_with_their_parent() -> None:
    async def main() -> None:
        gate = asyncio.Event()

        @tool(read_only=True)
        async def look() -> str:
            """Looks."""
            await gate.wait()
            return "seen"

        child = ScriptedModel([call("look"), "found"], by_turn=True)
        spawn = Call("spawn", {"agent": "explore", "task": "x"})
        agent = Agent(
            ScriptedModel([calls(spawn, spawn), "end"]), agents=[SubAgent("explore", tools=[look], model=child)]
        )
        run = agent.start("go", journal=True)
        assert await asyncio.to_thread(eventually, lambda: len(child.requests) == 2)
        run.pause()
        await asyncio.sleep(0.05)
        assert run.state == "pausing"
        gate.set()
        assert await run.until_paused()
        assert len(child.requests) == 2
        run.resume()
        result = await run
        assert result.final == "end"
        assert [each.final for each in result.children] == ["found", "found"]
        assert replay(result.journal).identical

    asyncio.run(main())


def test_d45_pausing_a_run_without_asyncio() -> None:
    signal = Signal()
    ran: list[float] = []

    @tool
    def work() -> str:
        """Works."""
        ran.append(time.monotonic())
        if len(ran) == 1:
            signal.pause()
            threading.Timer(0.4, signal.resume).start()
        return "done"

    agent = Agent(ScriptedModel([call("work"), call("work"), "end"]), tools=[work])
    result = agent.run_sync("go", signal=signal, journal=True)
    assert result.final == "end"
    assert ran[1] - ran[0] >= 0.4
    assert result.duration < 0.35
    assert replay(result.journal).identical


def test_d45_pause_and_resume_twice_change_nothing() -> None:
    async def main() -> None:
        run = Agent(ScriptedModel(["end"])).start("go", journal=True)
        run.resume()
        run.pause()
        run.pause()
        await run.until_paused()
        run.resume()
        run.resume()
        assert (await run).final == "end"
        run.pause()
        assert run.state == "done"
        run.resume()

    asyncio.run(main())


GO_ON = """
import sys
from loopwright import Agent, tool
from loopwright.testing import ScriptedModel, call

@tool
def work(n: int) -> str:
    "Works."
    with open(sys.argv[2], "a") as file:
        file.write(f"{n}\\n")
    return f"did {n}"

model = ScriptedModel([call("work", n=1), call("work", n=2), "end"], by_turn=True)
result = Agent(model, tools=[work]).resume_sync(sys.argv[1])
print(result.final, result.stop_reason)
"""


def test_d45_a_paused_run_goes_on_in_another_process(tmp_path: Any) -> None:
    place, log = tmp_path / "a run.jsonl", tmp_path / "log"

    @tool
    def work(n: int) -> str:
        """Works."""
        with log.open("a") as file:
            file.write(f"{n}\n")
        return f"did {n}"

    async def main() -> None:
        model = ScriptedModel([call("work", n=1), call("work", n=2), "end"], by_turn=True)
        run = Agent(model, tools=[work]).start("go", journal=place)
        async for event in run.events():
            if isinstance(event, ToolStarted):
                run.pause()
                break
        assert await run.suspend() == str(place)
        with pytest.raises(UsageError) as caught:
            await run
        assert caught.value.code == "suspended"

    asyncio.run(main())
    assert log.read_text() == "1\n"
    assert json.loads(place.read_text().splitlines()[-1])["seq"]
    done = subprocess.run(
        [sys.executable, "-c", GO_ON, str(place), str(log)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.strip() == "end natural", done.stderr
    assert log.read_text() == "1\n2\n"
    assert replay(place).identical


def test_d45_a_suspended_run_goes_on_here(tmp_path: Any) -> None:
    async def main() -> None:
        agent = Agent(ScriptedModel(["end"], by_turn=True))
        run = agent.start("go", journal=tmp_path / "run.jsonl")
        run.pause()
        path = await run.suspend()
        result = await agent.resume(str(path))
        assert result.final == "end"
        ended = agent.start("go", journal=tmp_path / "other.jsonl")
        await ended
        assert await ended.suspend() == str(tmp_path / "other.jsonl"), "nothing to suspend"

    asyncio.run(main())


def test_d45_ctrl_c_twice_while_paused(tmp_path: Any) -> None:
    """A run that stands still hears of the first Ctrl-C, too."""
    signal = Signal()
    signal.pause()
    agent = Agent(ScriptedModel(["end"]))
    threading.Timer(0.2, signal.interrupt).start()
    result = agent.run_sync("go", signal=signal)
    assert result.stop_reason == "user_interrupt"


def test_d45_a_streaming_answer_that_is_cancelled_while_pausing_is_kept(serve: Any) -> None:
    server = serve(text(words(100)).slowly(0.03))

    async def main() -> None:
        run = agent_at(server).start("go", journal=True)
        async for event in run.events():
            if isinstance(event, TextDelta):
                break
        run.pause()
        await asyncio.sleep(0.1)
        run.cancel()
        result = await run
        assert result.stop_reason == "cancelled"
        assert str(result.best_draft).startswith("word")
        assert replay(result.journal).identical
        assert await asyncio.to_thread(eventually, lambda: server.open_connections == 0)

    asyncio.run(main())


def test_d45_a_run_that_has_ended_is_waited_for_by_nobody() -> None:
    async def main() -> None:
        run = Agent(ScriptedModel(["hi"])).start("x")
        await run
        run.resume()
        assert await asyncio.wait_for(run.until_paused(), 10) is False
        await asyncio.wait_for(run.suspend(), 10)

    asyncio.run(main())
