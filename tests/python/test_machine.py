"""The bare machine: stepped by hand, saved and loaded, and driven by the example's driver with the same journal."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, UsageError, replay, tool
from loopwright._run_options import varied
from loopwright.machine import MachineConfig, MachineEvent, TurnMachine
from loopwright.models import Call, Response, answer_json
from loopwright.testing import ScriptedModel, call, calls

EXAMPLE = Path(__file__).parents[2] / "examples" / "machine" / "pure_asyncio_driver.py"


@tool(read_only=True)
async def population(city: str) -> int:
    """How many people live in a city."""
    return {"Oslo": 717_710, "Bergen": 291_940}[city]


@tool(risk="confirm")
async def remove(path: str) -> str:
    """Remove a file."""
    return path


SCRIPTS: dict[str, list[Any]] = {
    "plain": ["hello"],
    "tools": [
        calls(Call("population", {"city": "Oslo"}), Call("population", {"city": "Bergen"}), text="Both."),
        call("population", city="Bergen"),
        Response("done", input_tokens=7, output_tokens=3),
    ],
    "failures": [call("population", city="Atlantis"), call("missing"), calls(Call("population", "{")), "gave up"],
    "denied": [call("remove", path="a"), "then not"],
    "limit": [call("population", city="Oslo")] * 10,
}


def example() -> Any:
    spec = importlib.util.spec_from_file_location("pure_asyncio_driver", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_TIMES = {"sum", "at", "duration", "run", "expires", "expires_in"}


def timeless(value: Any) -> Any:
    """A journal without what the clock says."""
    if isinstance(value, dict):
        return {key: timeless(each) for key, each in value.items() if key not in _TIMES}
    return [timeless(each) for each in value] if isinstance(value, list) else value


def lines(journal: str) -> list[Any]:
    return [timeless(json.loads(line)) for line in journal.splitlines()]


def agent_of(script: list[Any]) -> Agent[Any, Any]:
    return Agent(ScriptedModel(script), tools=[population, remove])


@pytest.mark.parametrize("name", list(SCRIPTS))
def test_a_driver_of_pure_asyncio_gives_the_same_journal(name: str) -> None:
    by_agent = asyncio.run(agent_of(SCRIPTS[name]).run("go", journal=True, seed=7))
    by_thread = agent_of(SCRIPTS[name]).run_sync("go", journal=True, seed=7)
    agent = varied(agent_of(SCRIPTS[name]), {"seed": 7})
    machine = TurnMachine(agent._plan(agent.budget, stream=False).config)
    model = ScriptedModel(SCRIPTS[name])

    async def ask(command: Any) -> str:
        return answer_json(model.respond(command.request), command.request.turns)

    tools = {"population": population.function, "remove": remove.function}
    outcome = asyncio.run(example().drive(machine, "go", ask, tools))
    journal = machine.take_journal()
    assert outcome["stop"] == by_agent.stop_reason == by_thread.stop_reason
    assert lines(journal) == lines(by_agent.journal or "") == lines(by_thread.journal or "")
    assert len(lines(journal)) > 2
    # Each replays, and the replays agree with what was recorded.
    for text in (journal, by_agent.journal, by_thread.journal):
        assert replay(text or "").identical


def test_the_driver_of_the_example_is_short() -> None:
    source = inspect.getsource(example().drive)
    body = [line for line in source.splitlines()[3:] if line.strip() and '"""' not in line]
    assert len(body) <= 32, len(body)
    text = EXAMPLE.read_text()
    assert "_core" not in text
    assert "_driver" not in text


CONFIG: dict[str, Any] = {
    "model": "any",
    "tools": [{"name": "look", "schema": {"type": "object"}, "read_only": True}],
}


def start() -> MachineEvent:
    return MachineEvent.start([{"role": "user", "content": [{"type": "text", "text": "go"}]}])


def answer(id: int, text: str) -> MachineEvent:
    return MachineEvent.generated(id, Response(text).to_json())


def test_stepped_by_hand() -> None:
    machine = TurnMachine(CONFIG)
    assert not machine.finished
    commands = machine.step(start(), 0.5)
    assert [command.kind for command in commands] == ["timer", "emit", "emit", "generate"]
    timer, _, _, generate = commands
    assert timer.at == pytest.approx(300.5)
    assert generate.request is not None
    assert (generate.attempt, generate.request.model, generate.request.last_text) == (1, "any", "go")
    assert machine.waiting
    body = json.loads(generate.request.to_wire("anthropic"))
    assert body["tools"][0]["name"] == "look"
    assert generate.id is not None
    asked = MachineEvent.generated(generate.id, Response("", [Call("look", {"a": 1}, "c1")]).to_json())
    (execute,) = [command for command in machine.step(asked, 1.0) if command.kind == "execute"]
    (each,) = execute.calls
    assert (each.call_id, each.name, each.arguments, each.round) == ("c1", "look", {"a": 1}, 1)
    assert execute.parallel
    (again,) = [
        command
        for command in machine.step(MachineEvent.executed(execute.id, "c1", "seen"), 1.5)
        if command.kind == "generate"
    ]
    assert again.request is not None
    assert again.request.last_text == "seen"
    (finish,) = [command for command in machine.step(answer(again.id, "done"), 2.0) if command.kind == "finish"]
    assert finish.outcome is not None
    assert finish.outcome["final"] == "done"
    assert finish.outcome["duration"] == pytest.approx(1.5)
    assert machine.finished
    assert machine.waiting == []
    assert machine.step(answer(again.id, "late"), 3.0) == []
    assert replay(machine.take_journal()).identical


def test_saved_and_loaded_between_any_two_steps() -> None:
    script = [Response("", [Call("look", {}, "c1")]), Response("done")]

    def play(*, reload: bool) -> list[list[str]]:
        machine = TurnMachine(CONFIG)
        event: MachineEvent | None = start()
        left, all_commands, at = list(script), [], 0.0
        while event is not None:
            if reload:
                machine = TurnMachine.load(machine.save())
            at += 1
            commands = machine.step(event, at)
            all_commands.append([command.to_json() for command in commands])
            event = None
            for command in commands:
                if command.kind == "generate":
                    event = MachineEvent.generated(command.id, left.pop(0).to_json())
                elif command.kind == "execute":
                    event = MachineEvent.executed(command.id, "c1", "seen")
        assert machine.finished
        return all_commands

    assert play(reload=True) == play(reload=False)


def test_events_survive_as_json() -> None:
    events = [
        start(),
        answer(3, "hi"),
        MachineEvent.failed(3, "rate_limited", "slow down", retry_after=2.5),
        MachineEvent.executed(4, "c1", "text"),
        MachineEvent.executed(4, "c1", [{"type": "text", "text": "ü"}], is_error=True),
        MachineEvent.tool_failed(4, "c1", "exception", "why", "what to do"),
        MachineEvent.decided(5, "hash", "deny", "no"),
        MachineEvent.fired(6),
        MachineEvent.interrupt("after_round"),
    ]
    for event in events:
        assert MachineEvent.from_json(event.to_json()).to_json() == event.to_json()


def test_what_makes_no_sense_is_refused_with_words() -> None:
    wrong: list[Any] = [
        lambda: TurnMachine({"model": ""}),
        lambda: TurnMachine({"model": "x", "nonsense": 1}),
        lambda: TurnMachine(3),
        lambda: TurnMachine({"model": "x", "tools": [{"name": "a b", "schema": {}}]}),
        lambda: TurnMachine.load("{}"),
        lambda: TurnMachine.load("not json"),
        lambda: MachineEvent.generated(1, {"a": 1}),
        lambda: MachineEvent.generated(1, object()),
        lambda: MachineEvent.executed(1, "c", [float("nan")]),
        lambda: MachineEvent.failed(1, "no_such_kind", "x"),
        lambda: MachineEvent.decided(1, "h", "maybe"),
        lambda: MachineEvent.interrupt("later"),
        lambda: MachineEvent.from_json("{}"),
        lambda: MachineConfig.turn({"model": "x", "budget": {"iterations": -1}}),
    ]
    for attempt in wrong:
        with pytest.raises(UsageError) as caught:
            attempt()
        assert caught.value.message
    machine = TurnMachine(CONFIG)
    machine.step(start())
    (refusal,) = machine.step(start())
    assert refusal.kind == "refuse"
    assert refusal.why


def test_huge_and_exact_numbers_pass_through() -> None:
    config = {**CONFIG, "tools": [{"name": "look", "schema": {"type": "object"}}]}
    machine = TurnMachine(config)
    (generate,) = [command for command in machine.step(start()) if command.kind == "generate"]
    big = 123456789012345678901234567890
    asked = {"n": big, "f": 1.5, "s": "ü\n\u2028", "deep": [[[{"a": None, "b": True}]]]}
    commands = machine.step(MachineEvent.generated(generate.id, Response("", [Call("look", asked, "c")]).to_json()))
    (execute,) = [command for command in commands if command.kind == "execute"]
    assert execute.calls[0].arguments == asked
