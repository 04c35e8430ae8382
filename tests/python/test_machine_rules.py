"""The bare machine through the Python API, fed with every event in any order: rules that draw, and what must hold."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from loopwright import replay
from loopwright.machine import MachineConfig, MachineEvent, TurnMachine
from loopwright.models import Call, Response, answer_json

CONFIG = {
    "model": "m",
    "tools": [
        {"name": name, "schema": {"type": "object"}, "risk": risk, "read_only": read_only}
        for name, risk, read_only in (("look", "safe", True), ("write", "cautious", False), ("rm", "confirm", False))
    ],
    "budget": {"iterations": 6, "tool_rounds": 4, "approvals": 3, "wall_time": 100.0},
    "retry": {"attempts": 2},
    "stuck": None,
    "momentum": None,
    "read_markup": True,
    "seed": 7,
}
NAMES = st.sampled_from(["look", "write", "rm", "rm", "rm", "nobody", ""])
ARGUMENTS = st.one_of(*[st.builds(lambda n: {"n": n}, st.integers(0, 9))] * 4, st.sampled_from(["{", "[]", {}]))
CALLS = st.lists(st.builds(Call, NAMES, ARGUMENTS, st.sampled_from(["", "a", "b"])), max_size=3)
WORDS = st.sampled_from(["", "done", "I'll look.", '<tool_call>{"name": "look", "arguments": {}}</tool_call>'])
ANSWERS = st.builds(lambda text, calls: Response(text, calls, input_tokens=3, output_tokens=2), WORDS, CALLS)
FAILURES = st.sampled_from(["overloaded", "cut", "auth", "bad_request", "rate_limited", "timeout"])


def lawful(messages: list[dict[str, Any]]) -> None:
    """Each reply with calls is followed by exactly one result for each, in order, and results stand nowhere else."""
    wanted: list[str] = []
    for message in messages:
        found = [b["tool_result"]["id"] for b in message["content"] if "tool_result" in b]
        if not found:
            found = [b["id"] for b in message["content"] if b.get("type") == "tool_result"]
        assert found == wanted, messages
        uses = [b.get("tool_use", b) for b in message["content"] if "tool_use" in b or b.get("type") == "tool_use"]
        wanted = [use["id"] for use in uses]
        assert len(set(wanted)) == len(wanted)
    assert not wanted, "the last calls have no results"


class AnyOrder(RuleBasedStateMachine):
    """A driver that does what it likes, and knows what the machine may not do."""

    def __init__(self) -> None:
        super().__init__()
        self.machine = TurnMachine(MachineConfig.turn(json.dumps(CONFIG)))
        self.journal = self.machine.take_journal()
        self.open: dict[str, dict[int, Any]] = {"generate": {}, "execute": {}, "approve": {}, "timer": {}}
        self.started: set[str] = set()
        self.allowed: set[str] = set()
        self.closed: list[int] = [77]
        self.now = 0.0
        self.begun = False
        self.outcome: dict[str, Any] | None = None
        self.used = 0
        self.requests = 0

    def feed(self, event: MachineEvent) -> None:
        ended = self.outcome is not None
        commands = self.machine.step(event, self.now)
        self.journal += self.machine.take_journal()
        assert not (ended and commands), "something after the end"
        for command in commands:
            assert self.outcome is None, "something after the end"
            kind, number = command.kind, command.id
            if kind == "generate":
                assert not (self.open["generate"] or self.open["execute"] or self.open["approve"])
                lawful(json.loads(command.request.to_json())["messages"] if hasattr(command.request, "to_json") else [])
                self.requests += command.attempt == 1
                assert self.requests <= 6
                self.open["generate"][number] = command
            elif kind == "execute":
                for call in command.calls:
                    assert call.call_id not in self.started, "a call starts twice"
                    assert call.name in ("look", "write", "rm")
                    assert call.name != "rm" or call.call_id in self.allowed, "it runs and nobody allowed it"
                    self.started.add(call.call_id)
                self.open["execute"][number] = [call.call_id for call in command.calls]
            elif kind == "approve":
                assert not self.open["approve"]
                self.open["approve"][number] = command
            elif kind == "timer":
                self.open["timer"][number] = command.at
            elif kind == "abort":
                assert any(found.pop(number, None) is not None for found in self.open.values())
                self.closed.append(number)
            elif kind == "finish":
                self.outcome = command.outcome

    def close(self, kind: str, number: int) -> None:
        self.open[kind].pop(number)
        self.closed.append(number)

    @initialize()
    def start(self) -> None:
        self.begun = True
        self.feed(MachineEvent.start('[{"role": "user", "content": [{"type": "text", "text": "go"}]}]'))

    @rule(again=st.just(0))
    def start_again(self, again: int) -> None:
        self.feed(MachineEvent.start('[{"role": "user", "content": [{"type": "text", "text": "again"}]}]'))

    @precondition(lambda self: self.open["generate"])
    @rule(answer=ANSWERS)
    def answers(self, answer: Response) -> None:
        number = next(iter(self.open["generate"]))
        self.used += 5
        self.close("generate", number)
        self.feed(MachineEvent.generated(number, answer_json(answer, self.requests)))

    @precondition(lambda self: self.open["generate"])
    @rule(kind=FAILURES, visible=st.booleans())
    def fails(self, kind: str, visible: bool) -> None:
        number = next(iter(self.open["generate"]))
        self.close("generate", number)
        self.feed(MachineEvent.failed(number, kind, "it failed", visible=visible))

    @precondition(lambda self: self.open["execute"])
    @rule(which=st.integers(0, 5), well=st.booleans())
    def tool_ends(self, which: int, well: bool) -> None:
        number = next(iter(self.open["execute"]))
        calls = self.open["execute"][number]
        call = calls.pop(which % len(calls))
        if not calls:
            self.close("execute", number)
        done = MachineEvent.executed(number, call, "ok")
        self.feed(done if well else MachineEvent.tool_failed(number, call, "unknown", "nobody knows"))

    @precondition(lambda self: self.open["approve"])
    @rule(decision=st.sampled_from(["allow", "allow", "allow", "deny", "abort"]), right=st.integers(0, 3).map(bool))
    def decides(self, decision: str, right: bool) -> None:
        number, question = next(iter(self.open["approve"].items()))
        self.close("approve", number)
        if decision == "allow" and right:
            self.allowed.add(json.loads(question.to_json())["approve"]["call"]["id"])
        self.feed(MachineEvent.decided(number, question.hash if right else "wrong", decision, "so"))

    @precondition(lambda self: self.open["timer"])
    @rule(which=st.integers(0, 5), early=st.booleans())
    def fires(self, which: int, early: bool) -> None:
        number = sorted(self.open["timer"])[which % len(self.open["timer"])]
        if not early:
            self.now = max(self.now, self.open["timer"][number])
        self.close("timer", number)
        self.feed(MachineEvent.fired(number))

    @rule(how=st.sampled_from(["cancel", "after_round", "after_round"]), rarely=st.integers(0, 9))
    def interrupts(self, how: str, rarely: int) -> None:
        if rarely == 0:
            self.feed(MachineEvent.interrupt(how))

    @rule(which=st.integers(0, 9), kind=st.integers(0, 4))
    def comes_late(self, which: int, kind: int) -> None:
        number = self.closed[which % len(self.closed)]
        self.feed(
            [
                MachineEvent.generated(number, answer_json(Response("late"), 0)),
                MachineEvent.failed(number, "cut", "late"),
                MachineEvent.executed(number, "a", "late"),
                MachineEvent.decided(number, "", "allow"),
                MachineEvent.fired(number),
            ][kind]
        )

    @rule(seconds=st.floats(0, 30))
    def waits(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def is_saved_and_loaded(self) -> None:
        state = self.machine.save()
        self.machine = TurnMachine.load(state)
        assert self.machine.save() == state
        # Its journal begins anew; what it does is held against the whole one no more.
        self.journal = ""

    @invariant()
    def something_is_waited_for_or_it_has_ended(self) -> None:
        if self.outcome is not None:
            assert self.machine.finished
            assert not any(self.open.values()), self.open
            assert self.outcome["spent"]["usage"]["input"] + self.outcome["spent"]["usage"]["output"] == self.used
            lawful(json.loads(self.machine.messages.to_json()))
            assert "tool_call>" not in (self.outcome["final"] or "")
        elif self.begun:
            assert any(self.open.values())
            assert self.machine.waiting

    def teardown(self) -> None:
        if self.outcome is None and self.begun:
            self.feed(MachineEvent.interrupt("cancel"))
            assert self.outcome is not None, "cancel ends it from every state"
        lawful(json.loads(self.machine.messages.to_json()))
        if self.journal:
            found = replay(self.journal)
            assert found.identical
            assert found.outcome is not None


@pytest.mark.parametrize("seed", range(1))
def test_the_api_keeps_the_rules_in_every_order(seed: int) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        AnyOrder,
        settings=settings(max_examples=150, stateful_step_count=40, deadline=None, suppress_health_check=checks),
    )
