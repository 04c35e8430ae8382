"""Handoffs: another agent goes on with the run, with what is left of its budget."""

from __future__ import annotations

import asyncio
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from loopwright import (
    Agent,
    Approval,
    Budget,
    Grounded,
    Guard,
    Handoff,
    Journal,
    Memory,
    Messages,
    Research,
    UsageError,
    replay,
    tool,
)
from loopwright.events import HandedOff, RunFinished
from loopwright.hooks import Hook
from loopwright.testing import ScriptedModel, UnexpectedRequest, call, calls, no_real_requests
from ways import eventually

WAYS = ("run_sync", "run", "stream", "stream_sync", "start")
done: list[int] = []


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    done.clear()


@tool(risk="confirm")
def refund(order: int) -> str:
    """Gives money back."""
    done.append(order)
    return f"refunded {order}"


def billing(*steps: Any, **options: Any) -> Agent[None, str]:
    usual = {"name": "billing", "description": "Settles bills.", "tools": [refund], "instructions": "You settle bills."}
    return Agent(ScriptedModel(list(steps)), **{**usual, **options})


def front(*steps: Any, to: Any, **options: Any) -> Agent[None, str]:
    usual = {"name": "front", "guard": Guard(approve=lambda _: True), "instructions": "You greet."}
    return Agent(ScriptedModel(list(steps)), handoffs=to, **{**usual, **options})


def told(way: str, agent: Agent[None, str], **options: Any) -> tuple[Any, list[Any]]:
    async def main() -> tuple[Any, list[Any]]:
        if way == "run":
            return await agent.run("My money.", **options), []
        if way == "start":
            return await agent.start("My money.", **options), []
        async with agent.stream("My money.", **options) as stream:
            events = [event async for event in stream]
        return stream.result, events

    if way == "run_sync":
        return agent.run_sync("My money.", **options), []
    if way == "stream_sync":
        with agent.stream_sync("My money.", **options) as stream:
            events = list(stream)
        return stream.result, events
    return asyncio.run(main())


@pytest.mark.parametrize("way", WAYS)
def test_n11_another_agent_goes_on_with_the_run(way: str, tmp_path: Path) -> None:
    asked = ScriptedModel([call("refund", order=7), "You have it back."])
    agent = front(call("transfer_to_billing", reason="money"), to=[billing().clone(model=asked)])
    result, events = told(way, agent, journal=tmp_path / "runs.db")
    assert (result.output, result.agent, result.stop_reason, done) == ("You have it back.", "billing", "natural", [7])
    assert result.rounds == 3
    assert [made.name for made in result.tool_calls] == ["transfer_to_billing", "refund"]
    assert result.messages[0].text == "My money."
    assert asked.requests[0].system is not None
    assert "You settle bills." in asked.requests[0].to_json()
    assert "You greet." not in asked.requests[0].to_json()
    if events:
        (event,) = [event for event in events if isinstance(event, HandedOff)]
        assert (event.type, event.by, event.to) == ("handed_off", "front", "billing")
        assert [type(event) for event in events].count(RunFinished) == 1
    names = [each.id for each in Journal(tmp_path / "runs.db").runs()]
    assert len(names) == 2
    assert all(replay(tmp_path / "runs.db", name).identical for name in names)


def test_n11_the_budget_is_one() -> None:
    endless = billing(*[call("refund", order=each) for each in range(9)])
    agent = front(call("transfer_to_billing"), to=[endless], budget=Budget(rounds=4))
    result = agent.run_sync("My money.")
    assert (result.stop_reason, result.rounds, result.agent) == ("rounds", 4, "billing")
    assert result.usage.input_tokens > 0


def test_n11_the_guard_is_that_of_the_first_agent() -> None:
    asked: list[str] = []
    agent = front(
        call("transfer_to_billing"),
        to=[billing(call("refund", order=7), "I may not.", guard=Guard(approve=lambda _: True))],
        guard=Guard(approve=lambda question: bool(asked.append(question.name))),
    )
    assert agent.run_sync("My money.").output == "I may not."
    assert (asked, done) == (["refund"], [])


@pytest.mark.parametrize(
    ("history", "seen"),
    [("all", 3), ("none", 1), (lambda messages: messages[:1], 1), (lambda messages: Messages(messages[-2:]), 2)],
)
def test_n11_what_the_next_agent_sees(history: Any, seen: int) -> None:
    model = ScriptedModel(["Hello."])
    agent = front(call("transfer_to_desk"), to=[Handoff(billing().clone(model=model), name="desk", history=history)])
    assert agent.run_sync("My money.").ok
    assert len(model.requests[0].messages) == seen


def test_n11_agents_hand_on_and_back_and_what_is_first_counts() -> None:
    second = billing(call("transfer_to_sales"), tools=[], handoffs=[Agent(ScriptedModel(["Sold."]), name="sales")])
    both = calls(call("transfer_to_billing"), call("transfer_to_other"))
    agent = front(both, to=[second, Handoff(billing("no"), name="other")])
    result = agent.run_sync("My money.")
    assert (result.output, result.agent, result.rounds) == ("Sold.", "sales", 3)
    assert "the run was stopped before this call" in (result.tool_calls[1].result or "")


def test_n11_a_handoff_is_offered_when_its_condition_holds() -> None:
    def of(deps: str) -> str:
        model = ScriptedModel(["Hello."])
        only = Handoff(billing(), when=lambda context: bool(context.deps == "vip"))
        agent: Agent[Any, str] = Agent(model, handoffs=[only], deps_type=str)
        agent.run_sync("Hi.", deps=deps)
        return str(model.requests[0].tools)

    assert "transfer_to_billing" in of("vip")
    assert "transfer_to_billing" not in of("other")


def test_n11_a_segment_is_suspended_and_resumed_by_the_first_agent(tmp_path: Path) -> None:
    def made(*steps: Any, then: list[Any]) -> Agent[None, str]:
        return front(*steps, to=[billing(*then)], guard=Guard(approve="suspend"), journal=tmp_path / "runs.db")

    left = made(call("transfer_to_billing"), then=[call("refund", order=7)]).run_sync("My money.")
    assert (left.stop_reason, left.agent, [each.name for each in left.pending]) == ("suspended", "billing", ["refund"])
    result = made(then=["You have it back."]).resume_sync(left, {left.pending[0].call_id: True})
    assert (result.output, result.agent, done) == ("You have it back.", "billing", [7])
    with pytest.raises(UsageError) as caught:
        front(to=[Agent(ScriptedModel([]), name="sales")]).resume_sync(left)
    assert caught.value.code == "missing_handoff"


def test_n11_an_override_gives_its_model_to_those_who_go_on() -> None:
    agent = Agent("openai:gpt-5", handoffs=[Agent("openai:gpt-5", name="billing")])
    model = ScriptedModel([call("transfer_to_billing"), "Hello."])
    with no_real_requests(), agent.override(model=model):
        assert agent.run_sync("Hi.").output == "Hello."


@pytest.mark.parametrize(
    "given",
    [
        ["billing"],
        [Agent(ScriptedModel([]))],
        "billing",
        5,
        [lambda: None],
    ],
)
def test_n11_what_can_not_be_handed_over_to_is_an_error(given: Any) -> None:
    with pytest.raises(UsageError) as caught:
        Agent(ScriptedModel([]), handoffs=given)
    assert caught.value.code == "invalid_handoff"
    assert caught.value.hint


def test_n11_an_agent_with_handoffs_is_copied() -> None:
    agent = Agent("offline:extractive", handoffs=[Agent("offline:extractive", name="billing")])
    again = pickle.loads(pickle.dumps(agent))  # noqa: S301 - ours
    assert again.tools.names == agent.tools.names == ("transfer_to_billing",)


def test_n11_a_handoff_is_no_payment_and_nobody_is_asked() -> None:
    third = Agent(ScriptedModel(["I know screens."]), name="screens")
    second = Agent(ScriptedModel([call("transfer_to_screens")]), name="desk", handoffs=[third])
    first = Agent(ScriptedModel([call("transfer_to_desk")]), handoffs=[second])
    result = first.run_sync("My screen flickers.")
    assert (result.agent, result.output) == ("screens", "I know screens.")


def test_n11_questions_to_a_person_are_of_one_budget() -> None:
    asked: list[Approval] = []
    agent = front(
        call("refund", order=1),
        call("transfer_to_billing"),
        to=[billing(call("refund", order=2), "done")],
        tools=[refund],
        guard=Guard(approve=lambda question: asked.append(question) is None),
        budget=Budget(approvals=1),
    )
    agent.run_sync("My money.")
    assert [each.arguments["order"] for each in asked] == [1]


def test_n11_a_question_names_the_agent_that_the_run_was_handed_over_to(tmp_path: Path) -> None:
    asked: list[Approval] = []
    agent = front(
        call("refund", order=1),
        call("transfer_to_billing"),
        to=[billing(call("refund", order=2), "done")],
        tools=[refund],
        guard=Guard(approve=lambda question: asked.append(question) is None),
    )
    agent.run_sync("My money.")
    assert [(each.arguments["order"], each.agent, each.path) for each in asked] == [
        (1, None, None),
        (2, "billing", None),
    ]
    later = front(
        call("transfer_to_billing"),
        to=[billing(call("refund", order=2), "done")],
        guard=Guard(approve="suspend"),
        journal=tmp_path / "runs.db",
    )
    assert [each.agent for each in later.run_sync("My money.").pending] == ["billing"]


def test_n11_a_script_that_is_used_up_behind_a_handoff_says_where() -> None:
    agent = front("never", to=[billing("I never speak: the override holds for all.")])
    script = ScriptedModel([call("transfer_to_billing")])
    with agent.override(model=script), pytest.raises(UnexpectedRequest, match="asked once more, behind .*billing"):
        agent.run_sync("My money.")


def test_n11_what_a_person_wrote_last_is_the_request_of_a_segment(tmp_path: Path) -> None:
    before = Messages([{"role": "user", "content": "old"}, {"role": "assistant", "content": "older"}])
    third = ScriptedModel(["Hello."])
    sales = Handoff(Agent(third, name="sales"), history="none")
    second = billing(call("transfer_to_sales"), tools=[], handoffs=[sales])
    agent = front(call("transfer_to_billing"), to=[Handoff(second, history="none")])
    result = agent.run_sync("My money.", messages=before)
    assert [message.text for message in third.requests[0].messages] == ["My money."]
    assert [message.text for message in result.new_messages] == ["My money.", "Hello."]
    # Of a run that goes on, too.
    model = ScriptedModel(["Hello."])

    def paid_back(*steps: Any) -> Agent[None, str]:
        to = [Handoff(Agent(model, name="sales"), history="none")]
        return front(*steps, to=to, tools=[refund], guard=Guard(approve="suspend"), journal=tmp_path / "runs.db")

    left = paid_back(call("refund", order=1)).run_sync("My money.", messages=before)
    more = paid_back(call("transfer_to_sales")).resume_sync(left, {left.pending[0].call_id: False})
    assert more.output == "Hello."
    assert [message.text for message in model.requests[0].messages] == ["My money."]


def test_n11_a_guard_of_the_next_agent_is_not_loosened() -> None:
    own = billing(call("refund", order=7), "I may not.", guard=Guard(approve=lambda _: False, on_cautious="ask"))
    result = Agent(ScriptedModel([call("transfer_to_billing")]), handoffs=[own]).run_sync("My money.")
    assert (result.output, done) == ("I may not.", [])


def test_n11_memory_knows_whom_a_segment_is_for(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "m.db")
    agent = front(call("transfer_to_billing"), to=[billing("You have it.", memory=memory)])
    agent.run_sync("My money, please.", user="sam", session="trip")
    assert eventually(lambda: len(memory.episodes("trip")) == 1, 30)
    (episode,) = memory.episodes("trip")
    assert (episode.user, episode.session) == ("sam", "trip")


def test_n11_hooks_of_both_agents_are_asked_once() -> None:
    heard: list[str] = []
    hooks = [Hook("pre_llm", lambda _: heard.append("hook"), inline=True)]
    agent = front(call("transfer_to_billing"), to=[billing("Hello.", hooks=hooks)], hooks=hooks)
    assert agent.run_sync("Hi.").rounds == 2
    assert heard == ["hook", "hook"]


def test_n11_names_that_models_can_not_say_and_those_that_are_one_to_them() -> None:
    named = [Handoff(Agent(ScriptedModel([])), name=name) for name in ("Продажи", "Возврат")]
    assert len({each.tool_name for each in named}) == 2
    assert all(each.tool_name.isascii() for each in named)
    for pair in (("a b", "a-b"), ("Billing", "billing"), ("x" * 70 + "1", "x" * 70 + "2")):
        with pytest.raises(UsageError, match="two handoffs have the tool") as caught:
            Agent(ScriptedModel([]), handoffs=[Handoff(Agent(ScriptedModel([])), name=name) for name in pair])
        assert caught.value.code == "invalid_handoff"


def test_n11_whoever_answers_from_sources_hands_nothing_over(tmp_path: Path) -> None:
    for make in (lambda: Grounded(ScriptedModel([]), sources=tmp_path, handoffs=[billing()]),):
        with pytest.raises(UsageError) as caught:
            make()
        assert caught.value.code == "invalid_handoff"
    with pytest.raises(UsageError):
        Research(ScriptedModel([]), handoffs=[billing()])


def test_n11_a_history_that_fails_says_so() -> None:
    agent = front(call("transfer_to_billing"), to=[Handoff(billing("x"), history=lambda _: 1 / 0)])
    with pytest.raises(UsageError, match="history of the handoff to 'billing' failed: ZeroDivisionError") as caught:
        agent.run_sync("Hi.")
    assert caught.value.code == "handoff_failed"


def test_n11_a_handoff_without_a_key_is_found_before_anything_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    agent = front(call("refund", order=1), to=[Agent("openai:gpt-5", name="billing")], tools=[refund])
    with pytest.raises(UsageError) as caught:
        agent.run_sync("My money.")
    assert caught.value.code == "missing_key"
    assert done == []


@dataclass
class Case:
    order: int
    why: Literal["broken", "late"]


BEFORE = [
    {"role": "user", "content": "My name is Sam, and order 7 came late."},
    {"role": "assistant", "content": "I'm sorry, Sam."},
]


@pytest.mark.parametrize("typed", [False, True])
def test_n11_the_next_agent_sees_the_request_and_a_summary_of_the_rest(*, typed: bool, tmp_path: Path) -> None:
    model = ScriptedModel(["Hello."])
    kind = Case if typed else None
    to = Handoff(billing().clone(model=model), name="desk", history="summary", input_type=kind)
    said = {"details": {"order": 7, "why": "late"}} if typed else {"reason": "money"}
    agent = front(call("transfer_to_desk", **said), to=[to])
    assert agent.run_sync("I want my money back.", messages=BEFORE, journal=tmp_path / "r.db").ok
    *notes, request = [message.text for message in model.requests[0].messages]
    assert request == "I want my money back."
    assert "order 7 came late" in notes[0] and "no instructions" in notes[0]
    assert notes[1:] == (['transfer_to_desk: {"details": {"order": 7, "why": "late"}}'] if typed else [])
    alone = ScriptedModel(["Hello."])
    first = front(
        call("transfer_to_desk", **said), to=[Handoff(billing().clone(model=alone), name="desk", history="summary")]
    )
    assert typed or first.run_sync("I want my money back.").ok
    assert typed or len(alone.requests[0].messages) == 1


def test_n11_what_is_handed_over_has_its_type() -> None:
    model, lead = (
        ScriptedModel(["Hello."]),
        ScriptedModel(
            [
                call("transfer_to_desk", details={"order": "x"}),
                call("transfer_to_desk", details={"order": 7, "why": "late"}),
            ]
        ),
    )
    agent = Agent(lead, handoffs=[Handoff(billing().clone(model=model), name="desk", input_type=Case)])
    result = agent.run_sync("My money.")
    assert [each.failure for each in result.tool_calls] == ["invalid_arguments", None]
    assert "order" in lead.requests[1].to_json() and '"late"' in model.requests[0].to_json()
    for wrong in ("sumary", 3):
        with pytest.raises(UsageError, match="history of a handoff"):
            Handoff(agent, name="a", history=wrong)  # type: ignore[arg-type]
