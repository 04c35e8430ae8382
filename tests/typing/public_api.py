"""Checked by `mypy --strict`, never run: what people write against the public API has the types they expect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loopwright import Agent, Budget, Messages, Result, RunContext, replay, tool
from loopwright.events import (
    AgentFinished,
    AgentStarted,
    ApprovalDecided,
    ApprovalRequested,
    ArgumentsDelta,
    Assessed,
    CallJudged,
    ChildText,
    Compacted,
    Draft,
    Event,
    GoalDrifted,
    HandedOff,
    HookAnswered,
    HookFailed,
    IntentAssessed,
    MemoryRecalled,
    ModelChosen,
    Paused,
    PhaseFinished,
    PhaseStarted,
    ProviderDelta,
    ReasoningDelta,
    RequestHeld,
    Reset,
    Resumed,
    Retry,
    RoleAnswered,
    RoleFailed,
    RoundFinished,
    RoundStarted,
    RunFinished,
    SanityChecked,
    SearchCompleted,
    SearchStarted,
    Status,
    Summarized,
    Supervised,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolsLoaded,
    ToolStarted,
    ToolUseDelta,
    Warned,
)
from loopwright.journal import Replay
from loopwright.run import Signal
from typing_extensions import assert_never, assert_type

if TYPE_CHECKING:
    from loopwright import Approval


@dataclass
class City:
    name: str
    people: int


@tool(read_only=True)
def population(city: str) -> int:
    """How many people live in a city."""
    return len(city)


@tool
async def remember(fact: str, context: RunContext[list[str]]) -> None:
    """Keep a fact."""
    context.deps.append(fact)


def approve(question: Approval) -> bool:
    return question.risk == "confirm"


def tools_stay_functions() -> None:
    assert_type(population("Oslo"), int)
    assert_type(population.name, str)


async def answers_have_a_type() -> None:
    agent = Agent(
        "offline:extractive", tools=[population, remember], output_type=City, deps_type=list[str], guard=approve
    )
    result = await agent.run("Which?", deps=[], budget=Budget(rounds=3), signal=Signal())
    assert_type(result, Result[City])
    assert_type(result.output, City)
    assert_type(result.output.people, int)
    assert_type(result.final, str | None)
    assert_type(result.messages, Messages)
    again = agent.run_sync("And now?", messages=result.messages, deps=[])
    assert_type(again.output, City)
    assert_type(replay("run.jsonl"), Replay)


def what_happened(event: Event) -> str:
    """The match is exhaustive: a new kind of event fails the check until it is named here."""
    match event:
        case TextDelta(text=text) | ReasoningDelta(text=text) | ArgumentsDelta(text=text):
            return assert_type(text, str)
        case ToolUseDelta(name=name) | ProviderDelta(name=name):
            return assert_type(name, str)
        case RoundStarted(round=number) | Reset(round=number) | RoundFinished(round=number):
            return str(assert_type(number, int))
        case Retry(reason=reason, delay=delay):
            return f"{reason}, {assert_type(delay, float)} s"
        case HandedOff(by=by, to=to):
            return f"{assert_type(by, str)} to {to}"
        case RequestHeld(reason=reason, seconds=seconds):
            return f"{reason}, {assert_type(seconds, float | None)} s"
        case ToolStarted(name=name) | ToolProgress(name=name) | ToolFinished(name=name):
            return assert_type(name, str)
        case SearchStarted(query=query) | SearchCompleted(query=query):
            return assert_type(query, str)
        case CallJudged(name=name, verdict=verdict):
            return name + assert_type(verdict, str)
        case ApprovalRequested(name=name, risk=risk):
            return name + assert_type(risk, str)
        case ApprovalDecided(allowed=allowed):
            return str(assert_type(allowed, bool))
        case Compacted(before=before, after=after, kept=kept):
            return f"{assert_type(before, int)} {assert_type(after, int)} {assert_type(kept['messages'], int)}"
        case IntentAssessed(decision=decision):
            return assert_type(decision, str)
        case GoalDrifted(state=state):
            return assert_type(state, str)
        case Warned(message=message):
            return assert_type(message, str)
        case Assessed(decision=decision, rule=rule):
            return assert_type(decision, str) + assert_type(rule, str)
        case PhaseStarted(phase=phase) | PhaseFinished(phase=phase):
            return assert_type(phase, str)
        case Draft(text=text) | Status(text=text) | ChildText(text=text):
            return assert_type(text, str)
        case AgentStarted(child=child) | AgentFinished(child=child):
            return assert_type(child, str)
        case Paused(waiting=waiting):
            return str(assert_type(waiting, list[str]))
        case Resumed(after=after):
            return str(assert_type(after, float))
        case HookAnswered(answer=answer, reason=why):
            return assert_type(answer, str) + (assert_type(why, str | None) or "")
        case HookFailed(error=error, stop=stop):
            return f"{assert_type(error, str)} {assert_type(stop, bool)}"
        case ModelChosen(model=model, confidence=confidence):
            return f"{assert_type(model, str)} {assert_type(confidence, float)}"
        case ToolsLoaded(names=names):
            return " ".join(assert_type(names, list[str]))
        case MemoryRecalled(hits=hits, ids=ids):
            return f"{assert_type(hits, int)} {assert_type(ids, list[int])}"
        case RoleAnswered(role=role) | RoleFailed(role=role):
            return assert_type(role, str)
        case SanityChecked(on_track=fine) | Supervised(allowed=fine):
            return str(assert_type(fine, bool))
        case Summarized(by=by):
            return assert_type(by, str)
        case RunFinished(result=result):
            return result.stop_reason
        case _:
            assert_never(event)


async def streams_have_a_type() -> None:
    agent = Agent("offline:extractive", output_type=City)
    stream = agent.stream("Which?")
    async for event in stream:
        assert_type(event, Event)
    assert_type(stream.result.output, City)
