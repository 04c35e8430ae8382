"""How a request should be taken up, before anything is done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from loopwright import _core
from loopwright._dataclasses import dataclass
from loopwright.errors import UsageError

from ._signals import Span
from ._words import wanted_text

__all__ = ["SUB_AGENTS", "Evidence", "Intent", "IntentDecision", "IntentSignals", "assess_intent"]

IntentDecision: TypeAlias = Literal["ask_first", "plan_with_rollback", "parallelize", "delegate", "direct"]
"""What to do with a request."""

SUB_AGENTS: tuple[str, ...] = ("explore", "code", "research", "plan")
"""The kinds of sub-agents that are suggested where nobody says which there are."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Words that gave a signal."""

    signal: str
    words: Span


@dataclass(frozen=True, slots=True)
class IntentSignals:
    """What was seen in a request."""

    is_exploratory: bool = False
    """Something is looked for where it is not known."""
    is_code_task: bool = False
    """It is about code."""
    is_planning_task: bool = False
    """A plan is asked for."""
    is_complex: bool = False
    """Several steps, much at once, or more than twenty words."""
    is_destructive: bool = False
    """Something would be destroyed."""
    is_multi_step: bool = False
    """Steps that follow each other."""
    has_independent_parts: bool = False
    """Parts that don't need each other."""
    is_question: bool = False
    """A question, and no more."""
    is_ambiguous: bool = False
    """A reference to nothing, or an act without a target."""
    is_research: bool = False
    """Knowledge is gathered."""
    is_irreversible: bool = False
    """What it does can't be called back."""
    is_conversational: bool = False
    """A greeting, thanks, a yes."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What was decided about a request, and why."""

    decision: IntentDecision
    confidence: float
    """How likely the decision is the right one, from 0 to 1."""
    signals: IntentSignals
    evidence: tuple[Evidence, ...]
    """The words that gave the signals."""
    scores: Mapping[str, float]
    """The votes for each decision."""
    sub_agents: tuple[str, ...]
    """Kinds of sub-agents that fit, at most three, of those that there are."""
    question: str | None
    """What to ask the user, where something should be asked."""
    escalated: bool
    """It would have been done directly, were that not so unsure."""
    plan: bool
    """A plan should be noted down before it begins."""


def _text(message: object) -> str:
    if isinstance(message, str):
        return message
    if isinstance(message, Mapping):
        content = message.get("content", "")
        if isinstance(content, str):
            return content
        blocks = content if isinstance(content, Iterable) else ()
        return "\n".join(str(block.get("text") or "") for block in blocks if isinstance(block, Mapping))
    text = getattr(message, "text", None)
    if isinstance(text, str):
        return text
    problem = f"history holds {type(message).__name__}, which is no message"
    raise UsageError(problem, "invalid_history", "give texts, messages, or dicts with content")


def assess_intent(
    message: str, history: Iterable[Any] | None = None, *, sub_agents: Iterable[str] = SUB_AGENTS
) -> Intent:
    """How to take up a request: ask first, plan with a way back, split, hand on, or do it.

    `history` holds what was said before (texts, messages or dicts): a reference may find there what it means.
    `sub_agents` are the kinds that there are; without any, what would be handed on is direct, with a plan.
    The answer is advice: words stop nothing, the gate stands before the tool call.

    >>> assess_intent("Delete it.").question
    'What does “it” refer to?'
    >>> assess_intent("Delete it.", ["I wrote /tmp/report.csv."]).decision
    'direct'
    >>> seen = assess_intent("Stop the service, delete the old volumes and then restart it")
    >>> seen.decision, seen.sub_agents
    ('plan_with_rollback', ('plan',))
    >>> [(one.signal, one.words.text) for one in seen.evidence if one.signal == "destructive"]
    [('destructive', 'delete')]
    >>> assess_intent("How do I delete a branch in git?").decision
    'direct'
    """
    words = wanted_text(message, "message")
    if history is not None and (isinstance(history, (str, Mapping)) or not isinstance(history, Iterable)):
        problem = f"history is {type(history).__name__}, not a list of messages"
        raise UsageError(problem, "invalid_history", "give texts, messages, or dicts with content, in a list")
    said = [wanted_text(_text(one), "a message of the history") for one in history or ()]
    decision, confidence, names, evidence, scores, kinds, question, escalated, plan = _core.assess_intent(
        words, said, list(sub_agents)
    )
    return Intent(
        decision=decision,  # type: ignore[arg-type]
        confidence=confidence,
        signals=IntentSignals(**dict.fromkeys(names, True)),
        evidence=tuple(Evidence(signal, Span.at(message, place)) for signal, place in evidence),
        scores=dict(scores),
        sub_agents=tuple(kinds),
        question=question,
        escalated=escalated,
        plan=plan,
    )
