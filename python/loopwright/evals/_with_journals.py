"""Recorded runs, replayed by themselves, played with the agent of today, or asked anew."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

from loopwright._replay import replay
from loopwright.errors import LoopwrightError

from ._outcome import Outcome, unexpected
from ._play import first_change, play

if TYPE_CHECKING:
    from loopwright import Agent

    from ._recorded import Recorded

__all__ = ["run_recorded"]

_LONGEST = 300


def run_recorded(
    cases: list[Recorded], agent: Agent[Any, Any] | None, options: dict[str, Any], at_once: int, *, live: bool
) -> list[Outcome]:
    """Runs the cases, so many at once: without an agent they are replayed, with one played, or asked anew (`live`)."""
    if agent is None:
        return [_replayed(case) for case in cases]
    places = asyncio.Semaphore(at_once)

    async def one(case: Recorded) -> Outcome:
        async with places:
            try:
                return await (_asked(agent, case, options) if live else _played(agent, case))
            except LoopwrightError as error:
                return Outcome(case.run, passed=False, expected=case.expected, error=_words(error))

    async def all_of_them() -> list[Outcome]:
        return await asyncio.gather(*map(one, cases))

    return asyncio.run(all_of_them())


def _replayed(case: Recorded) -> Outcome:
    outcome = Outcome(case.run, passed=False, expected=case.expected)
    try:
        found = replay(case.text)
    except LoopwrightError as error:
        outcome.error = _words(error)
        return outcome
    outcome.passed = found.identical
    outcome.output = (found.outcome or {}).get("final")
    outcome.metrics = {"events": found.events}
    if found.damage is not None:
        outcome.reasons.append(f"damaged at line {found.damage['line']}: {found.damage['why']}")
    elif found.divergence is not None:
        apart = found.divergence
        outcome.reasons.append(
            f"event {apart['seq']}: expected {_brief(apart.get('expected'))}, got {_brief(apart.get('got'))}"
        )
        if apart.get("reason"):
            outcome.reasons.append(str(apart["reason"]))
    return outcome


def _brief(command: Any) -> str:
    text = command if isinstance(command, str) else json.dumps(command)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


async def _played(agent: Agent[Any, Any], case: Recorded) -> Outcome:
    began = time.monotonic()
    played = await play(agent, case)
    outcome = Outcome(case.run, played.same, expected=case.expected, duration=time.monotonic() - began)
    if played.result is not None:
        outcome.output = played.result.final
        _figures(outcome, played.result)
    if played.change is not None:
        outcome.reasons.append(str(played.change))
    elif played.error is not None:
        outcome.error = _words(played.error)
    return outcome


async def _asked(agent: Agent[Any, Any], case: Recorded, options: dict[str, Any]) -> Outcome:
    began = time.monotonic()
    result = await agent.run(case.prompt, messages=case.before, **{"journal": True, **options})
    same = result.final == case.expected
    outcome = Outcome(case.run, same, result.final, case.expected, duration=time.monotonic() - began)
    _figures(outcome, result)
    if not same:
        outcome.reasons.append(unexpected(case.expected, result.final))
        change = first_change(case.text, result.journal or "")
        if change is not None:
            outcome.reasons.append(str(change))
    return outcome


def _figures(outcome: Outcome, result: Any) -> None:
    outcome.metrics = {
        "requests": result.rounds,
        "tool_calls": len(result.tool_calls),
        "input_tokens": result.usage.input_tokens,
        "output_tokens": result.usage.output_tokens,
    }
    if result.cost is not None:
        outcome.metrics["cost"] = result.cost
    outcome.attributes = {"stop_reason": result.stop_reason, "run_id": result.run_id}


def _words(error: LoopwrightError) -> str:
    return f"{type(error).__name__}: {error.message}"
