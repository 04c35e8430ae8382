"""The tests of an agent, as a suite for pytest. No key, no network: nothing here can reach a provider by accident.

python -m pytest examples/test_shop.py
python examples/test_shop.py anthropic:claude-sonnet-4-5 "How many bolts?"      the same agent, with a real model
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from loopwright import Agent, Approval, Budget, Model, Result, RunContext, ToolError, tool
from loopwright.testing import ScriptedModel, WireServer, call, fault, no_real_requests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# ---- the agent -------------------------------------------------------------------------------------------------------


@dataclass
class Shop:
    """What a run is given."""

    stock: dict[str, int]
    orders: list[tuple[str, int]] = field(default_factory=list)


@tool(read_only=True)
def in_stock(context: RunContext[Shop], part: str) -> int:
    """How many of a part there are."""
    if part not in context.deps.stock:
        raise ToolError(f"there is no part {part!r}", code="unknown_part", hint="use the plural")
    return context.deps.stock[part]


@tool(risk="confirm")
def order(context: RunContext[Shop], part: str, number: int) -> str:
    """Order parts. This costs money."""
    context.deps.orders.append((part, number))
    return f"{number} {part} are on their way"


def approve(question: Approval) -> bool | str:
    return question.arguments["number"] <= 100 or "at most 100 at a time"


agent = Agent(
    "anthropic:claude-sonnet-4-5",
    instructions="You keep a shop.",
    tools=[in_stock, order],
    deps_type=Shop,
    guard=approve,
    budget=Budget(rounds=6),
)

# ---- its tests -------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _nothing_leaves() -> Iterator[None]:
    with no_real_requests():
        yield


@pytest.fixture
def shop() -> Shop:
    return Shop({"bolts": 120})


def played(shop: Shop, model: ScriptedModel) -> Result[str]:
    """A run with a script in the place of the model; each step of it must be asked for."""
    with agent.override(model=model):
        result = agent.run_sync("How many bolts? Order some.", deps=shop)
    model.assert_complete()
    return result


def test_a_wrong_name_is_explained_to_the_model(shop: Shop) -> None:
    model = ScriptedModel([call("in_stock", part="bolt"), call("in_stock", part="bolts"), "There are 120."])
    result = played(shop, model)
    assert [made.failure for made in result.tool_calls] == ["unknown_part", None]
    assert "use the plural" in model.requests[1].last_text


@pytest.mark.parametrize(("number", "ordered"), [(100, [("bolts", 100)]), (101, [])])
def test_large_orders_are_refused(shop: Shop, number: int, ordered: list[tuple[str, int]]) -> None:
    played(shop, ScriptedModel([call("order", part="bolts", number=number), "Well."]))
    assert shop.orders == ordered


def test_a_model_that_never_ends_is_ended(shop: Shop) -> None:
    with agent.override(model=ScriptedModel([call("in_stock", part="bolts")] * 20)):
        result = agent.run_sync("How many bolts?", deps=shop)
    assert result.stop_reason == "no_progress"
    assert result.rounds < 6


def test_an_overloaded_provider_is_asked_again(shop: Shop) -> None:
    with WireServer([fault.status(529), "There are 120."]) as server:
        there = Model("anthropic:any", base_url=server.url, api_key="k", retry={"base": 0.01})
        with agent.override(model=there):
            assert agent.run_sync("How many bolts?", deps=shop).output == "There are 120."
        assert len(server.requests) == 2


def test_a_run_replays(shop: Shop, assert_replays: Callable[[Any], None]) -> None:
    with agent.override(model=ScriptedModel([call("in_stock", part="bolts"), "120."])):
        assert_replays(agent.run_sync("How many bolts?", deps=shop, journal=True))


if __name__ == "__main__":
    print(agent.run_sync(sys.argv[2], deps=Shop({"bolts": 120}), model=sys.argv[1]).text)
