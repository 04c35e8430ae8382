"""Budgets that count no rounds: a run ends where it makes no progress, or at its time, its tokens or its money."""

from __future__ import annotations

from typing import Any

import pytest
from loopwright import Agent, Budget, UsageError, tool
from loopwright.testing import ScriptedModel, call


@tool(read_only=True)
def look(page: int) -> str:
    """Look at a page."""
    return f"page {page}"


def looks(pages: int) -> list[Any]:
    """A script that reads so many pages, and answers."""
    return [*(call("look", page=page) for page in range(pages)), "That was all."]


def test_as_many_rounds_as_make_progress() -> None:
    agent = Agent(ScriptedModel(looks(60)), tools=[look], budget=Budget.by_progress())
    result = agent.run_sync("Read all of it.")
    assert (result.stop_reason, result.rounds, len(result.tool_calls)) == ("natural", 61, 60)


def test_without_progress_it_ends() -> None:
    script = [call("look", page=1) for _ in range(60)]
    result = Agent(ScriptedModel(script), tools=[look], budget=Budget.by_progress()).run_sync("Read all of it.")
    assert result.stop_reason == "no_progress"
    assert result.rounds < 8


@pytest.mark.parametrize(("limit", "reason"), [({"tokens": 400}, "tokens"), ({"wall_time": 0.0}, "wall_time")])
def test_its_other_limits_hold(limit: dict[str, Any], reason: str) -> None:
    agent = Agent(ScriptedModel(looks(60)), tools=[look], budget=Budget.by_progress(**limit))
    assert agent.run_sync("Read all of it.").stop_reason == reason


def test_a_count_is_an_end_that_names_the_option_and_goes_on() -> None:
    agent = Agent(ScriptedModel(looks(30)), tools=[look])
    first = agent.run_sync("Read all of it.", journal=True)
    assert first.stop_reason == "tool_rounds"
    assert "resume" in first.message and "budget=" in first.message
    whole = agent.resume_sync(first, budget=Budget.by_progress())
    assert whole.stop_reason == "natural"
    assert whole.text == "That was all."


def test_what_is_left_of_a_budget() -> None:
    budget = Budget(rounds=5, tool_rounds=None, tokens=100, cost=None)
    left = budget.less(rounds=7, tool_rounds=3, tokens=40, cost=1.0, wall_time=10)
    assert (left.rounds, left.tool_rounds, left.tokens, left.cost, left.wall_time) == (0, None, 60, None, 290.0)


@pytest.mark.parametrize("wrong", [{"rounds": -1}, {"tool_rounds": "many"}, {"wall_time": float("inf")}])
def test_wrong_limits_are_typed_errors(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as raised:
        Budget.by_progress(**wrong)
    assert raised.value.code == "invalid_budget"
