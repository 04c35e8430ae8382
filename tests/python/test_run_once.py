"""Runs of one name: begun once, gone on with by whoever comes again, and told of when they have ended."""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Budget, Journal, RunContext, UsageError, tool
from loopwright.errors import LoopwrightError
from loopwright.guard import Approvals, Guard
from loopwright.machine import MachineEvent, TurnMachine, config_from_json
from loopwright.testing import ScriptedModel, call

PLACES = ("r.db", "runs")


@tool
def pay(n: int) -> str:
    """Pays."""
    return f"paid {n}"


def model() -> ScriptedModel:
    return ScriptedModel([call("pay", n=1), "done"], by_turn=True)


@pytest.mark.parametrize("place", PLACES)
def test_one_that_has_ended_gives_its_result_and_does_nothing(tmp_path: Path, place: str) -> None:
    one = model()
    agent = Agent(one, tools=[pay], journal=tmp_path / place)
    options: Any = {"run_id": "order-7", "on_existing": "resume"}
    first = agent.run_sync("go", **options)
    asked = len(one.requests)

    async def again() -> list[Any]:
        async with agent.stream("go", **options) as stream:
            events = [event async for event in stream]
        assert events[-1].type == "run_finished"
        return [await agent.run("go", **options), stream.result, await agent.start("go", **options)]

    with agent.stream_sync("go", **options) as stream:
        list(stream)
    for result in (agent.run_sync("go", **options), stream.result, *asyncio.run(again())):
        assert (result.output, result.run_id, result.usage) == (first.output, "order-7", first.usage)
        assert [each.result for each in result.tool_calls] == [each.result for each in first.tool_calls]
        assert result.messages == first.messages
    assert len(one.requests) == asked == 2
    assert agent.run_sync("go", run_id="order-8", on_existing="resume").run_id == "order-8"


BROKEN = """
import os, sys
from loopwright import Agent, RunContext, tool
from loopwright.testing import ScriptedModel, call

@tool(idempotent=True)
def pay(context: RunContext, n: int) -> str:
    "Pays."
    with open(sys.argv[2], "a") as file:
        file.write(context.idempotency_key + chr(10))
    if len(open(sys.argv[2]).readlines()) == 1:
        os._exit(9)
    return "paid"

agent = Agent(ScriptedModel([call("pay", n=1), "done"], by_turn=True), tools=[pay], journal=sys.argv[1])
print(agent.run_sync("go", run_id="order-7", on_existing="resume").output)
"""


@pytest.mark.parametrize("place", PLACES)
def test_one_that_was_killed_goes_on_and_its_call_has_the_same_key(tmp_path: Path, place: str) -> None:
    keys = tmp_path / "keys"
    command = [sys.executable, "-c", BROKEN, str(tmp_path / place), str(keys)]
    assert subprocess.run(command, check=False).returncode == 9
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "done\n"
    first, second = keys.read_text().split()
    assert first == second and len(first) == 32


def test_keys_differ_by_run_and_by_call(tmp_path: Path) -> None:
    keys: list[str] = []

    @tool
    def look(context: RunContext[None]) -> str:
        "Looks."
        keys.append(context.idempotency_key)
        return "seen"

    agent = Agent(ScriptedModel([[call("look"), call("look")], call("look"), "x"], by_turn=True), tools=[look])
    agent.run_sync("go", run_id="a")
    agent.run_sync("go", run_id="b")
    assert len(set(keys)) == 6
    assert RunContext().idempotency_key == ""


@pytest.mark.parametrize("place", PLACES)
def test_of_many_that_begin_at_once_one_does_it(tmp_path: Path, place: str) -> None:
    done: list[int] = []

    @tool
    def book(n: int) -> str:
        "Books."
        done.append(n)
        return "booked"

    said: list[str] = []
    gate = threading.Barrier(6)

    def run() -> None:
        script = ScriptedModel([call("book", n=1), "done"], by_turn=True)
        agent = Agent(script, tools=[book], journal=tmp_path / place)
        gate.wait()
        try:
            said.append(agent.run_sync("go", run_id="order-7", on_existing="resume").output)
        except UsageError as error:
            said.append(error.code)

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [1], said
    assert "done" in said and set(said) <= {"done", "run_exists", "journal_in_use"}


@pytest.mark.parametrize("left", ["", '{"run":"ord', None])
def test_one_that_was_killed_before_anything_happened_is_begun(tmp_path: Path, left: str | None) -> None:
    agent = Agent(model(), tools=[pay], journal=tmp_path)
    if left is None:
        agent.run_sync("go", run_id="order-7")
        left = (tmp_path / "order-7.jsonl").read_text().partition("\n")[0] + "\n"
    (tmp_path / "order-7.jsonl").write_text(left)
    assert agent.run_sync("go", run_id="order-7", on_existing="resume").output == "done"


def test_further_attempts_at_an_answer_belong_to_the_run(tmp_path: Path) -> None:
    one = ScriptedModel(["no", "[1]"])
    agent = Agent(one, output_type=list[int], journal=tmp_path / "r.db")
    options: Any = {"run_id": "order-8", "on_existing": "resume"}
    assert agent.run_sync("?", **options).output == [1]
    again = agent.run_sync("?", **options)
    assert (again.output, again.run_id, len(one.requests)) == ([1], "order-8-2", 2)


def test_a_name_is_needed_and_a_journal_in_a_file() -> None:
    agent = Agent(model(), tools=[pay])
    for options, code in (
        ({"on_existing": "resume"}, "invalid_option"),
        ({"on_existing": "again", "run_id": "a"}, "invalid_option"),
        ({"on_existing": "resume", "run_id": "a"}, "no_journal"),
    ):
        with pytest.raises(UsageError) as caught:
            agent.run_sync("go", **options)
        assert caught.value.code == code


def test_a_name_that_comes_to_be_there_meanwhile_is_told(tmp_path: Path) -> None:
    from loopwright._plan import named_run

    agent = Agent(model(), tools=[pay])
    plan = agent._plan(agent.budget, stream=False)
    for place in (Journal(tmp_path / "r.db"), tmp_path / "order-7.jsonl"):
        named_run(plan, "order-7", place, 0)[0].close()
        with pytest.raises(UsageError) as caught:
            named_run(plan, "order-7", place, 0)
        assert caught.value.code == "run_exists"


# ---- what crosses between processes ----


def again(one: Any) -> Any:
    return pickle.loads(pickle.dumps(one))  # noqa: S301 - our own


def test_a_configuration_holds_no_folder_of_this_host(tmp_path: Path) -> None:
    inner = Agent(model(), tools=[pay], name="helper", description="helps", guard=Guard(workspace=tmp_path))
    agent = Agent(model(), tools=[pay], agents=[inner], guard=Guard(workspace=tmp_path))
    config = agent.machine()
    text = config.to_json()
    assert str(tmp_path) not in text and str(Path.home()) not in text
    assert config_from_json(text).to_json() == again(config).to_json() == text
    assert agent.machine(Budget(rounds=3)).to_json() != text
    for wrong in ("", "[]", '{"turns":{}}', "null"):
        with pytest.raises(UsageError) as caught:
            config_from_json(wrong)
        assert caught.value.code == "invalid_config"


def test_a_machine_and_its_events_cross_to_another_process() -> None:
    agent = Agent(model(), tools=[pay])
    start = MachineEvent.start([{"role": "user", "content": [{"type": "text", "text": "go"}]}])
    machine = TurnMachine(agent.machine(), run="order-7")
    machine.step(again(start))
    assert again(machine).save() == machine.save()
    assert again(start).to_json() == start.to_json()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(str.upper, ("ok",)) == "OK"
        assert pool.apply(Agent.run_sync, (agent, "go")).output == "done"


def approve(question: Any) -> bool:
    return question.name == "pay"


@pytest.mark.parametrize("name", ["pickle", "cloudpickle"])
def test_agents_cross_to_another_process_with_their_tools_and_who_approves(name: str) -> None:
    pickler = pytest.importorskip(name)
    one = model()
    guard = Guard(approve=Approvals(approve, timeout=7.0))
    agent = Agent(one, tools=[pay], guard=guard, output_type=str, budget=Budget(rounds=5))
    result = agent.run_sync("go")
    other = pickle.loads(pickler.dumps(agent))  # noqa: S301 - our own
    assert other.run_sync("go").output == result.output == "done"
    assert other.machine().to_json() == agent.machine().to_json()
    with agent.stream_sync("go") as stream:
        events = list(stream)
    for each in (*events, result, pay):
        assert type(pickle.loads(pickler.dumps(each))) is type(each)  # noqa: S301 - our own


def test_tools_of_a_main_program_cross_by_value(tmp_path: Path) -> None:
    pytest.importorskip("cloudpickle")
    program = """
import cloudpickle, sys
from loopwright import Agent, tool
from loopwright.testing import ScriptedModel, call

def made():
    @tool
    def pay(n: int) -> str:
        "Pays."
        return f"paid {n}"
    return Agent(ScriptedModel([call("pay", n=1), "done"], by_turn=True), tools=[pay])

open(sys.argv[1], "wb").write(cloudpickle.dumps(made()))
"""
    place = tmp_path / "agent"
    subprocess.run([sys.executable, "-c", program, str(place)], check=True)
    assert pickle.loads(place.read_bytes()).run_sync("go").tool_calls[0].result == "paid 1"  # noqa: S301 - our own


def test_an_error_crosses_with_its_result() -> None:
    class Broken:
        name = "broken"

        def respond(self, request: Any) -> str:
            from loopwright.models import ModelFailure

            raise ModelFailure("no", "auth")

    with pytest.raises(LoopwrightError) as caught:
        Agent(Broken()).run_sync("go", run_id="order-7")
    error = again(caught.value)
    assert (error.code, error.result.run_id, error.result.stop_reason) == (caught.value.code, "order-7", "error")
    assert error.result.error is error
    # What no pickle can hold stays here.
    vars(caught.value.result)["output"] = lambda: 1
    assert again(caught.value).result is None


def test_a_person_may_take_any_time() -> None:
    seen: list[float] = []

    @tool(risk="confirm")
    def wipe(n: int) -> str:
        "Wipes."
        return "wiped"

    def approve(question: Any) -> bool:
        seen.append(question.expires_in)
        return True

    guard = Guard(approve=approve, timeout=None)
    agent = Agent(ScriptedModel([call("wipe", n=1), "done"]), tools=[wipe], guard=guard)
    assert agent.run_sync("wipe it").output == "done" and seen == [float("inf")]
    for seconds, told in (({"timeout": None}, float("inf")), ({}, 5.0), ({"timeout": 9.0}, 9.0)):
        guard = Guard(approve=Approvals(approve, timeout=5.0), **seconds)
        Agent(ScriptedModel([call("wipe", n=1), "done"]), tools=[wipe], guard=guard).run_sync("wipe it")
        assert told - 1 <= seen[-1] <= told
    assert Guard().timeout == 60.0


# ---- cancelled by name ----

WAITS = """
import asyncio, pathlib, sys
from loopwright import Agent

class Slow:
    name = "slow"
    async def respond(self, request):
        try:
            pathlib.Path(sys.argv[2]).touch()
            await asyncio.sleep(3_600)
        finally:
            print("the call ended", flush=True)

agent = Agent(Slow(), journal=sys.argv[1])
result = asyncio.run(agent.run("go", run_id="order-7", on_existing="resume"))
print(result.stop_reason, result.run_id)
"""


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.timeout(120)
def test_a_run_is_cancelled_by_its_name_from_another_process(tmp_path: Path, place: str) -> None:
    asked = tmp_path / "asked"
    command = [sys.executable, "-c", WAITS, str(tmp_path / place), str(asked)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while not asked.exists():
            assert process.poll() is None
        Journal(tmp_path / place).cancel("order-7")
        assert process.communicate()[0] == "the call ended\ncancelled order-7\n"
    # It has ended so, for whoever comes again.
    agent = Agent(model(), tools=[pay], journal=tmp_path / place)
    assert agent.run_sync("go", run_id="order-7", on_existing="resume").stop_reason == "cancelled"
    assert agent.run_sync("go", run_id="order-8").output == "done"


@pytest.mark.parametrize("place", PLACES)
def test_a_run_may_be_cancelled_before_it_begins(tmp_path: Path, place: str) -> None:
    one = model()
    agent = Agent(one, tools=[pay], journal=tmp_path / place)
    Journal(tmp_path / place).cancel("order-7")
    result = asyncio.run(agent.run("go", run_id="order-7"))
    assert result.stop_reason == "cancelled" and not result.tool_calls and len(one.requests) <= 1
    for wrong in ("../x", ""):
        with pytest.raises(UsageError):
            Journal(tmp_path / place).cancel(wrong)
