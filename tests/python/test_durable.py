"""Runs on an engine: each crash point, people who take days, and a journal that the engine's record alone decides."""

from __future__ import annotations

import asyncio
import collections
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Budget, Edit, Journal, RunContext, UsageError, durable, replay, tool
from loopwright.errors import LoopwrightError
from loopwright.guard import Guard
from loopwright.machine import MachineEvent, TurnMachine
from loopwright.memory import Memory
from loopwright.messages import ToolResult
from loopwright.models import ModelFailure
from loopwright.testing import ScriptedModel, call


class Crash(BaseException):
    """The worker dies here."""


class Engine:
    """What an engine records, in memory: it dies before the work of a step, after it, or after the record of it."""

    run_id = "order-17"
    limit = 1 << 20

    def __init__(self, record: list[Any] | None = None, cut: tuple[int, str] | None = None, said: Any = True) -> None:
        self.record = [] if record is None else record
        self.cut, self.at, self.said = cut, 0, said
        self.told: list[Any] = []
        self.slept: list[float] = []
        self.questions: list[tuple[Any, float | None]] = []

    async def step(self, name: str, work: durable.Work) -> str:
        at, self.at = self.at, self.at + 1
        if at < len(self.record):
            assert self.record[at][0] == name
            return str(self.record[at][1])
        self.dies(at, "before")
        value = await work()
        self.dies(at, "done")
        self.record.append((name, value))
        self.dies(at, "after")
        return value

    def dies(self, at: int, when: str) -> None:
        if self.cut == (at, when):
            raise Crash

    async def gather(self, steps: Sequence[tuple[str, durable.Work]]) -> list[str]:
        return [await self.step(*each) for each in steps]

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def ask(self, question: durable.Question, seconds: float | None) -> durable.Answer | None:
        self.questions.append((question, seconds))
        said = self.said(question) if callable(self.said) else self.said
        return said if said is None or isinstance(said, dict) else durable.answer_to(question, said)

    async def tell(self, events: Sequence[Any]) -> None:
        self.told.extend(events)


@tool(read_only=True)
async def look(n: int) -> str:
    """Looks."""
    return f"saw {n}"


def payer(effects: collections.Counter[str], **options: Any) -> Any:
    @tool(risk="confirm", **options)
    async def pay(n: int) -> str:
        """Pays."""
        effects[f"pay {n}"] += 1
        return f"paid {n}"

    return pay


class Busy:
    """A model that is overloaded at the first request of each process, and asks for two looks, a payment, an answer."""

    name = "busy"
    inline = True

    def respond(self, request: Any) -> Any:
        from loopwright.models import Call, Response

        if request.turns == 0:
            return Response("", [Call("look", {"n": 1}), Call("look", {"n": 2})])
        return Response("", [Call("pay", {"n": 1})]) if request.turns == 1 else "All done."


def driven(agent: Agent[Any, Any], engine: Engine, prompt: str = "pay 1, please", **options: Any) -> Any:
    return asyncio.run(durable.drive(agent, prompt, engine=engine, **options))


def test_the_record_decides_the_journal_byte_for_byte() -> None:
    tries: list[int] = []

    def first(_: Any) -> Any:
        tries.append(1)
        if len(tries) == 1:
            raise ModelFailure("busy", "overloaded")
        return [call("look", n=1), call("look", n=2)]

    helper = Agent(
        ScriptedModel([call("look", n=7), "seen"], by_turn=True), tools=[look], name="helper", description="h"
    )
    script = [first, call("spawn", agent="helper", task="look"), call("pay", n=1), "All done."]
    agent = Agent(ScriptedModel(script, by_turn=True), tools=[look, payer(collections.Counter())], agents=[helper])
    one = Engine()
    result = driven(agent, one)
    assert (result.output, result.stop_reason, result.run_id) == ("All done.", "natural", "order-17")
    assert len(one.slept) == 1 and [question["name"] for question, _ in one.questions] == ["pay"]
    assert [name for name, _ in one.record].count("fence") == 1
    two = Engine(one.record)
    again = driven(agent, two)
    assert again.journal == result.journal and replay(result.journal).identical
    assert again == result and len(tries) == 2
    assert [event.to_dict() for event in two.told] == [event.to_dict() for event in one.told]
    assert {event.type for event in one.told} >= {"tool_started", "tool_finished", "agent_finished"}


def crashed(agent: Agent[Any, Any], cuts: Sequence[tuple[int, str]]) -> tuple[Any, list[Any]]:
    """A run that dies at each of these points, and then goes on to its end."""
    record: list[Any] = []
    for cut in (*cuts, None):
        try:
            return driven(agent, Engine(record, cut)), record
        except Crash:
            continue
    raise AssertionError("it never ended")


def every_cut(agent: Agent[Any, Any], effects: collections.Counter[str], most: int) -> collections.Counter[str]:
    """What becomes of a run that dies at each point, and at each pair of points."""
    _, record = crashed(agent, ())
    points = [(at, when) for at in range(len(record)) for when in ("before", "done", "after")]
    found: collections.Counter[str] = collections.Counter()
    # What is recorded is not done again, so the second death comes no earlier than the first.
    pairs = itertools.combinations_with_replacement(points, 2) if most > 1 else ()
    for cuts in itertools.chain(([point] for point in points), pairs):
        effects.clear()
        result, record = crashed(agent, cuts)
        unknown = any('"unknown"' in value for _, value in record)
        found["cases"] += 1
        found["ended"] += result.output == "All done."
        found["twice"] += effects["pay 1"] > 1
        found["never, and not told"] += effects["pay 1"] == 0 and not unknown
        found["unknown"] += unknown
    return found


@pytest.mark.parametrize(("deaths", "cases"), [(1, 24), pytest.param(2, 324, marks=pytest.mark.slow)])
def test_a_worker_that_dies_anywhere_does_nothing_twice(deaths: int, cases: int) -> None:
    effects: collections.Counter[str] = collections.Counter()
    agent = Agent(Busy(), tools=[look, payer(effects)])
    found = every_cut(agent, effects, deaths)
    assert found["cases"] == found["ended"] == cases
    assert found["twice"] == found["never, and not told"] == 0 < found["unknown"]


def test_without_fences_the_same_test_sees_payments_twice() -> None:
    effects: collections.Counter[str] = collections.Counter()
    agent = Agent(Busy(), tools=[look, payer(effects, idempotent=True)])
    found = every_cut(agent, effects, 1)
    assert found["cases"] == found["ended"] and found["twice"] > 0


ELSEWHERE = """
import json, sys
sys.path.insert(0, sys.argv[1])
import collections, test_durable as t
agent = t.Agent(t.Busy(), tools=[t.look, t.payer(collections.Counter())])
record = json.loads(sys.stdin.read())
print(json.dumps(t.driven(agent, t.Engine(record)).journal))
"""


def test_another_host_comes_to_the_same_journal(tmp_path: Path) -> None:
    agent = Agent(Busy(), tools=[look, payer(collections.Counter())])
    engine = Engine()
    result = driven(agent, engine)
    assert str(Path.cwd()) not in engine.record[0][1]
    here = {**os.environ, "HOME": str(tmp_path), "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}
    here["PYTHONPATH"] = os.pathsep.join(sys.path)
    given = json.dumps(engine.record)
    command = [sys.executable, "-c", ELSEWHERE, str(Path(__file__).parent)]
    said = subprocess.run(command, input=given, capture_output=True, text=True, env=here, cwd=tmp_path, check=True)
    assert json.loads(said.stdout) == result.journal


def test_another_version_of_the_program_goes_on_as_the_run_began() -> None:
    agent = Agent(Busy(), tools=[look, payer(collections.Counter())])
    record: list[Any] = []
    with pytest.raises(Crash):
        driven(agent, Engine(record, (4, "after")))
    later = agent.clone(instructions="Be brief.", budget=Budget(rounds=1))
    assert driven(later, Engine(record)).output == "All done."
    # Where the configuration is the workflow's input, no step records it.
    engine = Engine()
    assert driven(agent, engine, machine=agent.machine().to_json()).output == "All done."
    assert [name for name, _ in engine.record][:2] == ["generate", "look"]


# ---- people ----


def test_an_answer_after_thirty_days_costs_no_time() -> None:
    agent = Agent(Busy(), tools=[look, payer(collections.Counter())], guard=Guard(timeout=30 * 86_400.0))
    engine = Engine()
    result = driven(agent, engine)
    assert engine.questions[0][1] == pytest.approx(30 * 86_400.0)
    assert (result.stop_reason, result.output) == ("natural", "All done.") and result.duration < 60
    engine = Engine()
    driven(agent.clone(guard=Guard(timeout=None)), engine)
    assert engine.questions[0][1] is None


def test_silence_is_a_no_for_that_call_alone() -> None:
    effects: collections.Counter[str] = collections.Counter()
    agent = Agent(Busy(), tools=[look, payer(effects)], guard=Guard(timeout=30 * 86_400.0))
    result = driven(agent, Engine(said=lambda _: None))
    assert (result.stop_reason, result.output, effects["pay 1"]) == ("natural", "All done.", 0)
    assert result.tool_calls[-1].failure == "denied"


def test_an_answer_to_another_call_is_none() -> None:
    effects: collections.Counter[str] = collections.Counter()
    agent = Agent(Busy(), tools=[look, payer(effects)])
    said = iter([{"hash": "another", "decision": "allow", "reason": None, "arguments": None}, False])
    engine = Engine(said=lambda _: next(said))
    assert driven(agent, engine).output == "All done."
    assert len(engine.questions) == 2 and effects["pay 1"] == 0


def test_a_person_may_change_the_arguments() -> None:
    effects: collections.Counter[str] = collections.Counter()
    agent = Agent(Busy(), tools=[look, payer(effects)])
    driven(agent, Engine(said=lambda question: Edit({"n": 2}) if question["arguments"] == {"n": 1} else True))
    assert effects == {"pay 2": 1}
    with pytest.raises(UsageError) as caught:
        durable.answer_to({"call_id": "a"}, 7)  # type: ignore[typeddict-item]
    assert caught.value.code == "invalid_answers"


def test_a_function_that_approves_is_asked_once_and_recorded() -> None:
    asked: list[str] = []

    async def approve(question: Any) -> bool:
        asked.append(question.name)
        return True

    agent = Agent(Busy(), tools=[look, payer(collections.Counter())], guard=approve)
    engine = Engine()
    result = driven(agent, engine)
    assert driven(agent, Engine(engine.record)).journal == result.journal
    assert asked == ["pay"] and not engine.questions


# ---- what goes wrong ----


def test_what_a_step_raises_is_raised_each_time_that_it_is_played() -> None:
    class Broken:
        name = "broken"
        asked = 0

        def respond(self, _: Any) -> str:
            Broken.asked += 1
            raise ZeroDivisionError("no")

    engine = Engine()
    for _ in range(2):
        with pytest.raises(LoopwrightError, match="ZeroDivisionError: no"):
            driven(Agent(Broken()), engine)
        engine = Engine(engine.record)
    assert Broken.asked == 1


def test_what_is_larger_than_the_engine_takes_is_an_error_and_no_record() -> None:
    engine = Engine()
    engine.limit = 10_000
    with pytest.raises(UsageError) as caught:
        driven(Agent(ScriptedModel(["x" * 20_000])), engine)
    assert caught.value.code == "payload_too_large" and "10000" in str(caught.value)
    assert max(len(value) for name, value in engine.record if name != "machine") < 100


def test_what_would_be_lost_is_refused_before_anything_is_done() -> None:
    model = ScriptedModel([])
    other = Agent(ScriptedModel([]), name="other", description="o")
    for options in ({"handoffs": [other]}, {"memory": Memory(":memory:")}):
        engine = Engine()
        with pytest.raises(UsageError) as caught:
            driven(Agent(model, **options), engine)
        assert caught.value.code == "not_durable" and not engine.record


def test_an_answer_of_another_type_is_asked_for_again() -> None:
    agent = Agent(ScriptedModel(["no", "[1]"], by_turn=False), output_type=list[int])
    engine = Engine()
    result = driven(agent, engine)
    assert (result.output, result.run_id) == ([1], "order-17-2")
    assert driven(agent, Engine(engine.record)).journal == result.journal
    with pytest.raises(LoopwrightError) as caught:
        driven(Agent(ScriptedModel(["no", "no", "no"]), output_type=list[int]), Engine())
    assert caught.value.code == "invalid_output"


def test_runs_wait_for_different_times_before_they_try_again() -> None:
    slept = set()
    for run_id in ("a", "b", "c"):
        tries: list[int] = []

        def first(_: Any, tries: list[int] = tries) -> str:
            tries.append(1)
            if len(tries) == 1:
                raise ModelFailure("busy", "overloaded")
            return "ok"

        engine = Engine()
        assert driven(Agent(ScriptedModel([first], by_turn=True)), engine, run_id=run_id).run_id == run_id
        slept.add(engine.slept[0])
    assert len(slept) == 3


def test_instructions_that_are_asked_for_and_memory_are_steps(tmp_path: Path) -> None:
    from loopwright.memory import MemoryPolicy

    asked: list[str] = []

    def instructions(context: RunContext[Any]) -> str:
        asked.append(context.run_id)
        return f"You serve {context.deps}."

    memory = Memory(str(tmp_path / "memory.db"))
    memory.remember("The boat is red.")
    model = ScriptedModel(["It is red."], by_turn=True)
    agent = Agent(model, instructions=instructions, memory=MemoryPolicy(memory, after=None))
    engine = Engine()
    result = driven(agent, engine, "Which colour has the boat?", deps="Sam")
    assert result.output == "It is red." and asked == ["order-17"]
    assert model.requests[0].system == "You serve Sam."
    assert driven(agent, Engine(engine.record), "Which colour has the boat?").journal == result.journal
    assert len(asked) == len(model.requests) == 1
    assert {name for name, _ in engine.record} >= {"machine", "hook", "recall", "generate"}


def test_time_that_steps_take_ends_a_run_and_time_between_them_does_not() -> None:
    async def slow(_: Any) -> Any:
        await asyncio.sleep(0.05)
        return [call("look", n=1)]

    agent = Agent(ScriptedModel([slow] * 20, by_turn=True), tools=[look], budget=Budget(wall_time=0.12, rounds=None))
    engine = Engine()
    result = driven(agent, engine)
    assert result.stop_reason == "wall_time"
    assert driven(agent, Engine(engine.record)).journal == result.journal


@pytest.mark.parametrize(("module", "package"), [("dbos", "dbos"), ("restate", "restate")])
def test_an_engine_that_is_not_installed_is_said_with_what_to_install(
    module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib

    monkeypatch.setitem(sys.modules, package, None)
    adapter = importlib.import_module(f"loopwright.durable.{module}")
    find = getattr(adapter, f"_{module}")
    find.cache_clear()
    with pytest.raises(UsageError) as caught:
        find()
    assert caught.value.code == "missing_package" and f"loopwright[{package}]" in str(caught.value)


def test_a_journal_in_postgres_without_its_package_is_said_with_what_to_install() -> None:
    code = """
import sys
from importlib import metadata
def gone(name): raise metadata.PackageNotFoundError(name)
metadata.version = gone
from loopwright import Journal, UsageError
try:
    Journal("postgresql://db/runs").runs()
except UsageError as error:
    print(error.code, error.hint)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "missing_extra pip install 'loopwright[postgres]'\n"


def test_workers_and_queues_are_for_journals_that_are_shared(tmp_path: Path) -> None:
    agent, journal = Agent(ScriptedModel(["Done."])), Journal(tmp_path / "runs.db")
    for wanted in (
        lambda: durable.Worker(agent, journal),
        lambda: journal.start("Go."),
        lambda: journal.pending("a"),
        lambda: journal.answer("a", {}),
    ):
        with pytest.raises(UsageError) as caught:
            wanted()
        assert caught.value.code == "not_shared"


# ---- one command ----


def test_one_command_is_carried_out_by_itself() -> None:
    keys: list[tuple[str, str]] = []

    @tool(read_only=True)
    def key(context: RunContext[Any], n: int) -> str:
        "Tells its key."
        keys.append((context.run_id, context.deps))
        if n == 2:
            raise ValueError("two")
        return "seen"

    agent = Agent(ScriptedModel([[call("key", n=1), call("key", n=2)], "done"]), tools=[key])
    machine = TurnMachine(agent.machine(), run="order-3")
    start = [{"role": "user", "content": [{"type": "text", "text": "go"}]}]

    async def main() -> Any:
        events, lines = [MachineEvent.start(start)], ""
        while True:
            for command in machine.step(events.pop(0)):
                lines += machine.take_journal()
                if command.kind == "finish":
                    return command.outcome
                if command.kind in ("generate", "execute"):
                    for each in command.calls or [None]:
                        given = {"run_id": "order-3", "deps": "d", "journal": lines}
                        events.append(await agent.carry_out(command, each, **given))
                elif command.kind == "timer":
                    with pytest.raises(UsageError) as caught:
                        await agent.carry_out(command)
                    assert caught.value.code == "not_work"
                if command.kind == "execute":
                    with pytest.raises(UsageError) as caught:
                        await agent.carry_out(command)
                    assert caught.value.code == "no_such_call"

    assert asyncio.run(main())["final"] == "done"
    assert keys == [("order-3", "d")] * 2
    results = [block for message in machine.messages for block in message.content if isinstance(block, ToolResult)]
    assert [block.is_error for block in results] == [False, True]
