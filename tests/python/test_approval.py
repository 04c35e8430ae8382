"""Who is asked before a call that may do harm, and what counts as a yes."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Approval, Budget, Guard, SubAgent, replay, tool
from loopwright.events import ApprovalDecided, ApprovalRequested
from loopwright.models import Call, Response
from loopwright.testing import ScriptedModel, call
from ways import run


def remove_into(log: list[str]) -> Any:
    @tool(risk="confirm")
    def remove(path: str) -> str:
        """Remove a file."""
        log.append(path)
        return f"removed {path}"

    return remove


def agent_of(approve: Any, log: list[str], timeout: float | None = None, **options: Any) -> Agent[Any, Any]:
    model = ScriptedModel([call("remove", path="a.txt"), "done"])
    return Agent(model, tools=[remove_into(log)], guard=Guard(approve=approve, timeout=timeout), **options)


async def says_yes(_question: Approval) -> bool:
    await asyncio.sleep(0.01)
    return True


class Yes:
    async def __call__(self, _question: Approval) -> str:
        await asyncio.sleep(0)
        return "allow"


@pytest.mark.parametrize(
    "approve", [lambda _: True, lambda _: "allow", says_yes, Yes(), lambda question: says_yes(question)]
)
def test_c15_a_yes_lets_the_call_run(approve: Any, way: str) -> None:
    log: list[str] = []
    result, events = run(agent_of(approve, log), "remove a", way)
    assert log == ["a.txt"]
    assert result.tool_calls[0].failure is None
    if way == "stream":
        assert [event.risk for event in events if isinstance(event, ApprovalRequested)] == ["confirm"]
        assert [event.allowed for event in events if isinstance(event, ApprovalDecided)] == [True]


def fails(_question: Approval) -> bool:
    raise OSError("no terminal")


async def fails_later(_question: Approval) -> bool:
    raise OSError("no terminal")


@pytest.mark.parametrize(
    ("approve", "why"),
    [
        (None, "nobody is there to ask"),
        (lambda _: False, "the person said no"),
        (lambda _: None, "the person said no"),
        (lambda _: "it is the wrong file", "it is the wrong file"),
        (lambda _: 1, "no decision"),
        (lambda _: [True], "no decision"),
        (fails, "no terminal"),
        (fails_later, "no terminal"),
    ],
)
def test_c15_all_else_is_a_no_that_the_model_reads(approve: Any, why: str, way: str) -> None:
    log: list[str] = []
    result, _ = run(agent_of(approve, log), "remove a", way)
    assert log == []
    assert result.final == "done"
    assert result.tool_calls[0].failure == "denied"
    assert why in str(result.messages[2])


def test_c21_abort_ends_the_run(way: str) -> None:
    log: list[str] = []
    result, _ = run(agent_of(lambda _: "abort", log), "remove a", way)
    assert result.stop_reason == "destructive_operation"
    assert log == []


def test_the_question_says_what_why_and_until_when(way: str) -> None:
    seen: list[Approval] = []

    def approve(question: Approval) -> bool:
        seen.append(question)
        return True

    run(agent_of(approve, [], timeout=30.0), "remove a", way)
    (question,) = seen
    assert (question.name, question.arguments, question.risk) == ("remove", {"path": "a.txt"}, "confirm")
    assert question.call_id == "call_0_0"
    assert question.why
    assert 25 < question.expires_in <= 30


@pytest.mark.parametrize("kind", ["blocks", "waits", "returns a coroutine"])
def test_d15_x09_silence_until_the_deadline_is_a_no(way: str, kind: str) -> None:
    released = threading.Event()

    def blocks(_question: Approval) -> bool:
        released.wait(20)
        return True

    async def waits(_question: Approval) -> bool:
        await asyncio.sleep(20)
        return True

    approve = {"blocks": blocks, "waits": waits, "returns a coroutine": lambda question: waits(question)}[kind]
    log: list[str] = []
    began = time.monotonic()
    result, _ = run(agent_of(approve, log, timeout=0.2), "remove a", way)
    assert time.monotonic() - began < 2
    released.set()
    assert result.final == "done"
    assert result.tool_calls[0].failure in {"expired", "denied"}
    time.sleep(0.02)
    assert log == [], "a yes that comes late is no yes"


def test_a_person_who_thinks_does_not_hold_up_the_loop() -> None:
    def blocks(_question: Approval) -> bool:
        time.sleep(0.3)
        return True

    async def main() -> None:
        task = asyncio.create_task(agent_of(blocks, []).run("go"))
        longest = 0.0
        while not task.done():
            began = time.monotonic()
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - began)
        assert (await task).tool_calls[0].failure is None
        assert longest < 0.2

    asyncio.run(main())


def test_wall_time_holds_while_somebody_is_asked(way: str) -> None:
    async def waits(_question: Approval) -> bool:
        await asyncio.sleep(20)
        return True

    result, _ = run(agent_of(waits, [], budget=Budget(wall_time=0.2)), "remove a", way)
    assert result.stop_reason == "wall_time"


def test_the_budget_of_questions_is_kept(way: str) -> None:
    asked: list[Approval] = []

    def approve(question: Approval) -> bool:
        asked.append(question)
        return True

    log: list[str] = []
    agent = agent_of(approve, log, budget=Budget(approvals=0))
    run(agent, "remove a", way)
    assert asked == []
    assert log == []


def test_an_approver_that_lets_a_cancellation_escape_is_a_no(way: str) -> None:
    async def approve(_question: Approval) -> bool:
        raise asyncio.CancelledError

    @tool(risk="confirm")
    def dangerous() -> str:
        """Never reached."""
        raise AssertionError

    agent = Agent(ScriptedModel([call("dangerous"), "done"]), tools=[dangerous], guard=approve)
    result = run(agent, "go", way)[0]
    assert [each.failure for each in result.tool_calls] == ["denied"]
    assert result.final == "done"


@pytest.mark.parametrize("going_on", ["run_sync", "run"])
def test_d44_a_run_that_goes_on_tells_anew_who_is_asked_and_until_when(tmp_path: Path, going_on: str) -> None:
    heard: list[Any] = []
    run(agent_of(lambda _: True, [], journal=tmp_path / "whole.jsonl", timeout=40.0), "remove a", "run_sync")
    lines = (tmp_path / "whole.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    asked = next(at for at, line in enumerate(lines) if '"approval_asked"' in line)
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(lines[: asked + 1]), encoding="utf-8")
    told = json.loads(lines[asked])["commands"]
    (first,) = (each["emit"]["notice"] for each in told if "approval_asked" in str(each))
    log: list[str] = []
    agent = Agent(ScriptedModel(["done"]), tools=[remove_into(log)], guard=lambda _: True)
    if going_on == "run":
        result = asyncio.run(agent.resume(cut, on_event=heard.append))
    else:
        result = agent.resume_sync(cut, on_event=heard.append)
    assert (result.final, log) == ("done", ["a.txt"])
    names = [type(event).__name__ for event in heard]
    assert names.index("ApprovalRequested") < names.index("ApprovalDecided")
    (again,) = [event for event in heard if isinstance(event, ApprovalRequested)]
    assert (again.call_id, again.name, again.risk, again.expires) == (
        first["id"], first["name"], first["risk"], first["expires"],
    )  # fmt: skip
    assert replay(cut).identical


def test_d44_a_question_that_waited_is_told_anew_when_its_time_begins(way: str) -> None:
    """Two sub-agents ask a person who sees one question at a time."""

    def approve(_question: Approval) -> bool:
        time.sleep(0.15)
        return True

    def child(name: str) -> SubAgent:
        return SubAgent(
            name, "removes", tools=[remove_into([])], model=ScriptedModel([call("remove", path=name), "gone"])
        )

    both = Response(calls=[Call("spawn", {"agent": name, "task": "remove it"}) for name in ("one", "two")])
    parent = Agent(ScriptedModel([both, "done"]), agents=[child("one"), child("two")], guard=approve)
    result, events = run(parent, "go", way)
    assert result.final == "done"
    if way == "stream":
        asked = [event for event in events if isinstance(event, ApprovalRequested)]
        assert len(asked) == 3, "each is asked; the one that waited is told again"
        assert asked[2].expires >= asked[1].expires + 100_000
