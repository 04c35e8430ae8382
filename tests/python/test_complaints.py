"""What people complain of in other loops, each as a run that would show it. `docs/complaints.md` is the list."""

from __future__ import annotations

import ast
import asyncio
import json
import re
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Approval, Budget, Journal, LoopwrightError, Monitor, Result, replay, tool
from loopwright.events import ToolStarted
from loopwright.models import Call
from loopwright.run import Signal
from loopwright.testing import ScriptedModel, WireServer, call, calls, fault, text
from ways import agent_at, run

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "complaints.md"
ROUNDS = Budget(rounds=500, tool_rounds=500, wall_time=600.0)


@tool(read_only=True)
def look(n: int) -> str:
    """Looks."""
    return f"saw {n}"


def lawful(messages: list[dict[str, Any]]) -> None:
    """Each reply with calls is followed by one message that has exactly one result for each, in order."""
    for at, message in enumerate(messages):
        if isinstance(message["content"], str):
            continue
        wanted = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        assert len(wanted) == len(set(wanted))
        if wanted:
            found = [b["tool_use_id"] for b in messages[at + 1]["content"] if b["type"] == "tool_result"]
            assert found == wanted


def bodies(server: WireServer) -> list[list[dict[str, Any]]]:
    """The messages of each request to Anthropic's wire."""
    return [request["body"]["messages"] for request in server.requests]


def test_every_theme_of_the_page_names_tests_that_exist() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| **")]
    assert len(rows) >= 13
    known = set()
    for path in [*(ROOT / "tests").rglob("*.py"), *(ROOT / "crates").rglob("*.rs")]:
        source = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            names = [
                n.name for n in ast.walk(ast.parse(source)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
            ]
        else:
            names = re.findall(r"fn (\w+)\(", source)
        known.update((path.relative_to(ROOT).as_posix(), name) for name in names)
    for row in rows:
        named = re.findall(r"`((?:tests|crates)/[\w/.]+): (\w+)`", row)
        assert named, row
        for entry in named:
            assert entry in known, f"{entry} is named in docs/complaints.md and is no test"


# ---- cancellation leaves broken state; aborted work is repeated ----


def test_after_a_cancel_in_a_tool_the_history_goes_on_and_nothing_is_repeated(serve: Any, wire: str, way: str) -> None:
    effects: list[int] = []
    signal = Signal()

    @tool
    def write(n: int) -> str:
        """Writes."""
        effects.append(n)
        if n == 2:
            signal.cancel()
            time.sleep(0.05)
        return f"wrote {n}"

    server = serve(calls(Call("write", {"n": 1}), Call("write", {"n": 2}), Call("write", {"n": 3})), text("on we go"))
    agent = agent_at(server, wire, tools=[write])
    first, _ = run(agent, "go", way, signal=signal)
    assert first.stop_reason == "cancelled"
    assert effects == [1, 2], "what had not begun does not begin"
    second = agent.run_sync("and now?", messages=first.messages)
    assert second.final == "on we go"
    assert effects == [1, 2], "aborted work is not done again"
    if wire == "anthropic":
        lawful(bodies(server)[-1])


# ---- HITL: a missing decision executes, answers are misrouted ----


def test_a_missing_decision_is_a_no(serve: Any, way: str) -> None:
    ran: list[str] = []

    @tool(risk="confirm")
    def remove(name: str) -> str:
        """Removes."""
        ran.append(name)
        return "gone"

    for answer in (None, "", 0, [], object()):
        server = serve(calls(Call("remove", {"name": "a"})), text("well"))
        result, _ = run(agent_at(server, tools=[remove], guard=lambda question, answer=answer: answer), "go", way)
        assert result.final == "well"
    assert ran == []


def test_two_questions_at_once_get_each_their_own_answer(serve: Any, way: str) -> None:
    ran: list[str] = []

    @tool(risk="confirm")
    def remove(name: str) -> str:
        """Removes."""
        ran.append(name)
        return f"{name} is gone"

    server = serve(calls(*(Call("remove", {"name": name}) for name in "abcd")), text("done"))

    def approve(question: Approval) -> bool:
        return question.arguments["name"] in "bd"

    result, _ = run(agent_at(server, tools=[remove], guard=approve), "go", way)
    assert ran == ["b", "d"]
    assert [found.failure is None for found in result.tool_calls] == [False, True, False, True]


# ---- speed and size of state ----


def test_state_on_disk_grows_with_the_run_and_not_with_its_square(tmp_path: Path) -> None:
    def size(rounds: int) -> int:
        model = ScriptedModel([*(call("look", n=n) for n in range(rounds)), "done"])
        agent = Agent(model, tools=[look], monitor=Monitor(stuck=None, momentum=None), budget=ROUNDS)
        assert agent.run_sync("go", journal=tmp_path / f"{rounds}.jsonl").final == "done"
        return (tmp_path / f"{rounds}.jsonl").stat().st_size

    assert size(200) < 2.3 * size(100)


# ---- usage is wrong ----


def test_usage_counts_every_attempt_once(serve: Any, way: str) -> None:
    once = agent_at(serve(text("some words"))).run_sync("go").usage
    server = serve(fault.status(529), fault.error_event(after=0), text("some words"))
    result, _ = run(agent_at(server, retry={"base": 0.01}), "go", way)
    assert result.usage.output_tokens == once.output_tokens
    assert result.usage.input_tokens >= once.input_tokens
    assert result.iterations[0]["attempts"] == 3


# ---- the model: never stops, gives wrong, double and unknown ids ----


def test_a_model_that_never_stops_calling_tools_ends_with_what_there_is(serve: Any, way: str) -> None:
    with WireServer([calls(Call("look", {"n": 1}), text="Still looking.")], repeat_last=True) as server:
        agent = agent_at(
            server, tools=[look], monitor=Monitor(stuck=None, momentum=None), budget=Budget(rounds=6, tool_rounds=4)
        )
        result, _ = run(agent, "go", way)
        lawful(bodies(server)[-1])
    assert result.hit_ceiling
    assert result.stop_reason in ("tool_rounds", "rounds")
    assert len(server.requests) <= 6
    assert "Still looking." in result.transcript


def test_ids_that_stand_twice_or_came_before_run_each_call_once(serve: Any, wire: str, way: str) -> None:
    seen: list[int] = []

    @tool
    def write(n: int) -> str:
        """Writes."""
        seen.append(n)
        return f"wrote {n}"

    same = [
        Call("write", {"n": 1}, call_id="same"),
        Call("write", {"n": 2}, call_id="same"),
        Call("write", {"n": 3}, call_id=""),
    ]
    server = serve(calls(*same), calls(Call("write", {"n": 4}, call_id="same")), text("done"))
    result, _ = run(agent_at(server, wire, tools=[write]), "go", way)
    assert result.final == "done"
    assert seen == [1, 2, 3, 4]
    assert len({found.call_id for found in result.tool_calls}) == 4
    if wire == "anthropic":
        lawful(bodies(server)[-1])


def test_calls_of_tools_that_nobody_has_are_told_to_the_model(serve: Any, wire: str, way: str) -> None:
    server = serve(calls(Call("nobody", {}), Call("look", {"n": 1}), Call("", {})), text("done"))
    result, _ = run(agent_at(server, wire, tools=[look]), "go", way)
    assert result.final == "done"
    assert [found.failure is None for found in result.tool_calls if found.name == "look"] == [True]
    assert all(found.failure for found in result.tool_calls if found.name != "look")


# ---- the network: slow, cut, malformed ----


def test_a_slow_answer_is_waited_for(serve: Any, wire: str, way: str) -> None:
    words = "one word after the other " * 4
    result, _ = run(agent_at(serve(text(words).slowly(0.01)), wire), "go", way)
    assert result.final is not None
    assert result.final.strip() == words.strip()


SSE = "text/event-stream"
START = (
    'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant",'
    '"model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}\n\n'
)
MALFORMED = {
    "no json": START + "event: content_block_delta\ndata: {not json}\n\n",
    "half an event": START + 'event: content_block_delta\ndata: {"type":"content_block_del',
    "a delta of nothing": START + 'data: {"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"x"}}\n\n',
    "null bytes": START + "\0\0\0\n\n",
    "only comments": ": hello\n\n: still here\n\n",
    "a list": "data: []\n\n",
    "a number": "data: 1\n\ndata: 2\n\n",
    "deep": "data: " + "[" * 100_000 + "\n\n",
    "never ends a line": "data: " + "x" * 1_000_000,
}  # fmt: skip


@pytest.mark.parametrize("name", list(MALFORMED))
def test_streams_that_are_malformed_are_tried_again_and_told(serve: Any, name: str) -> None:
    from loopwright.testing import recorded

    broken = recorded(200, SSE, MALFORMED[name])
    events: list[Any] = []
    server = serve(broken, text("done"))
    result = agent_at(server, retry={"base": 0.01}).run_sync("go", on_event=events.append)
    assert result.final == "done"
    server = serve(*[broken] * 6)
    with pytest.raises(LoopwrightError) as caught:
        agent_at(server, retry={"base": 0.001, "cap": 0.01}).run_sync("go", on_event=events.append)
    assert caught.value.result is not None


# ---- tools: hang, raise, give 50 MB or bytes that are no text ----


def test_a_tool_that_hangs_is_given_up_and_the_run_goes_on(serve: Any, way: str) -> None:
    gone = threading.Event()

    @tool(timeout=0.1)
    def stuck() -> str:
        """Hangs."""
        gone.wait(5)
        return "too late"

    server = serve(call("stuck"), text("without it"))
    result, _ = run(agent_at(server, tools=[stuck]), "go", way)
    gone.set()
    assert (result.final, [found.failure for found in result.tool_calls]) == ("without it", ["timeout"])


class Odd(Exception):
    """An exception whose text can't be had."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("error", [ValueError("no"), Odd(), KeyError("x"), AssertionError(), RecursionError("deep")])
def test_whatever_a_tool_raises_is_a_result(serve: Any, way: str, error: Exception) -> None:
    @tool
    def breaks() -> str:
        """Breaks."""
        raise error

    server = serve(call("breaks"), text("well"))
    result, _ = run(agent_at(server, tools=[breaks]), "go", way)
    assert result.final == "well"
    assert result.tool_calls[0].failure


def test_a_tool_that_gives_50_mb_is_cut_for_the_model_and_says_so(serve: Any, wire: str, way: str) -> None:
    @tool(read_only=True, max_output=2_000)
    def much() -> str:
        """Gives much."""
        return "0123456789" * 5_000_000

    @tool(read_only=True)
    def much_too() -> str:
        """Gives as much, and says nothing of a limit."""
        return "0123456789" * 5_000_000

    server = serve(calls(Call("much", {}), Call("much_too", {})), text("done"))
    result, _ = run(agent_at(server, wire, tools=[much, much_too]), "go", way)
    assert result.final == "done"
    assert len(json.dumps(server.requests[-1]["body"])) < 1_000_000, "the model gets what fits"


@pytest.mark.parametrize(
    "given", [b"\xff\xfe\x00 bytes", b"", "half a \ud83d character", "null \0 byte", bytearray(b"\x80"), float("nan")]
)
def test_what_a_tool_gives_that_is_no_text_is_a_result_all_the_same(
    serve: Any, wire: str, way: str, given: Any
) -> None:
    @tool
    def odd() -> Any:
        """Gives something odd."""
        return given

    server = serve(call("odd"), text("done"))
    result, _ = run(agent_at(server, wire, tools=[odd]), "go", way, journal=True)
    assert result.final == "done"
    assert replay(result.journal or "").identical


# ---- budget kills lose the work ----


@pytest.mark.parametrize("budget", [Budget(tokens=60), Budget(wall_time=0.3), Budget(rounds=2), Budget(tool_rounds=1)])
def test_a_limit_keeps_what_was_found(serve: Any, way: str, budget: Budget) -> None:
    with WireServer([calls(Call("look", {"n": 1}), text="Something was found.")], repeat_last=True) as server:
        agent = agent_at(server, tools=[look], monitor=Monitor(stuck=None, momentum=None), budget=budget)
        result, _ = run(agent, "go", way)
    assert result.hit_ceiling
    assert "Something was found." in result.transcript
    assert result.best_draft
    again = Agent(ScriptedModel(["It goes on."]), tools=[look]).run_sync("go on", messages=result.messages)
    assert again.final == "It goes on."


# ---- resume: tools twice, stuck in running ----


def test_x18_a_run_that_broke_off_never_stays_running(tmp_path: Path) -> None:
    store = tmp_path / "p.db"
    program = (
        "import os, sys\nfrom loopwright import Agent, tool\nfrom loopwright.testing import ScriptedModel, call\n"
        "@tool\ndef die() -> str:\n    'Dies.'\n    os.kill(os.getpid(), 9)\n    return ''\n"
        "Agent(ScriptedModel([call('die')]), tools=[die]).run_sync('go', journal=sys.argv[1])\n"
    )
    import sys

    for _ in range(3):
        assert subprocess.run([sys.executable, "-c", program, str(store)], check=False).returncode == -9
    assert [found.state for found in Journal(store).runs()] == ["broken off"] * 3

    @tool
    def die() -> str:
        """Does not run again: nobody knows whether it took effect."""
        raise AssertionError

    for found in Journal(store).runs():
        result = Agent(ScriptedModel(["It may have happened."]), tools=[die]).resume_sync(store, run=found.id)
        assert [each.failure for each in result.tool_calls] == ["unknown"]
    assert {found.state for found in Journal(store).runs()} == {"finished"}


def test_x18_a_run_that_an_exception_ends_never_stays_running(tmp_path: Path) -> None:
    store = tmp_path / "p.db"

    def broken(event: Any) -> None:
        if isinstance(event, ToolStarted):
            raise RuntimeError("the callback breaks")

    agent = Agent(ScriptedModel([call("look", n=1), "done"] * 3), tools=[look], journal=store)
    with pytest.raises(RuntimeError, match="the callback breaks"):
        agent.run_sync("go", on_event=broken)

    async def cancelled() -> None:
        task = asyncio.create_task(agent.run("go", on_event=lambda event: asyncio.sleep(10)))
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(cancelled())
    states = {found.state for found in Journal(store).runs()}
    assert states <= {"finished", "broken off"}, states


def test_nothing_that_waits_costs_anything(serve: Any) -> None:
    """Cancelled or hung, a run steps its machine for events alone."""
    server = serve(fault.hangs())
    signal = Signal()
    threading.Timer(0.3, signal.cancel).start()
    result: Result[Any] = agent_at(server).run_sync("go", signal=signal, journal=True)
    assert result.stop_reason == "cancelled"
    assert (result.journal or "").count("\n") <= 4, "start, cancel, and nothing between"
