"""Prices: found by name, laid over each other, and what they make of a run."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Budget, Model, UsageError, budget, prices
from loopwright.models import Response
from loopwright.testing import ScriptedModel
from ways import KEY


def test_the_examples_hold() -> None:
    for module in (prices, budget):
        found = doctest.testmod(module)
        assert found.attempted
        assert not found.failed


def test_x01_d49_a_run_has_a_cost_without_being_told_prices(serve: Any) -> None:
    reply = Response("Hello.", input_tokens=1_000, output_tokens=100)
    for name, cost in {
        "anthropic:claude-sonnet-4-5-20250929": (1_000 * 3.0 + 100 * 15.0) / 1e6,
        "openai-chat:gpt-4o-mini": (1_000 * 0.15 + 100 * 0.6) / 1e6,
        "ollama:qwen3": 0.0,
        "anthropic:nobody-knows": None,
    }.items():
        server = serve(reply)
        result = Agent(Model(name, base_url=server.url, api_key=KEY)).run_sync("hi")
        assert result.cost == (cost if cost is None else pytest.approx(cost)), name
    assert Agent("offline:extractive").run_sync("hi").cost == 0.0
    server = serve(reply)
    own = Agent(Model("openai-chat:gpt-4o", base_url=server.url, api_key=KEY, price={"input": 1.0, "output": 0.0}))
    assert own.run_sync("hi").cost == pytest.approx(0.001), "what is given goes first"


def test_x01_a_limit_on_the_cost_that_can_not_be_kept_is_said(serve: Any) -> None:
    server = serve("hello")
    agent = Agent(Model("anthropic:nobody-knows", base_url=server.url, api_key=KEY), budget=Budget(cost=1.0))
    assert any(warning.startswith("cost_unknown") for warning in agent.run_sync("hi").warnings)


def test_x01_answers_are_bounded_by_the_money_that_is_left() -> None:
    model = ScriptedModel([Response("x", input_tokens=10, output_tokens=5)])
    Agent(Model(model, price={"input": 1.0, "output": 10.0}), budget=Budget(cost=0.01)).run_sync("hi")
    sent = model.requests[0].to_wire("anthropic")
    assert int(sent.split('"max_tokens":')[1].split(",")[0].rstrip("}")) <= 1_000
    poor = Agent(
        Model(ScriptedModel(["x"]), price={"input": 1.0, "output": 10.0}), budget=Budget(cost=0.00001)
    ).run_sync("hi")
    assert poor.stop_reason == "cost"
    assert poor.rounds == 0


def test_x01_a_table_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "my prices.toml"
    path.write_text('as_of = "2030-01-01"\n[own]\n"m" = { input = 1, output = 2.5 }\n')
    code = f"""
from loopwright import prices
prices.load({str(path)!r})
assert prices.of("own:m") == (1.0, 2.5, None, None)
assert prices.of("anthropic:claude-sonnet-4-5")
assert prices.as_of() == "2030-01-01"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    code = "from loopwright import prices; print(prices.of('own:m').output)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"LOOPWRIGHT_PRICES": str(path), "PATH": "/usr/bin"},
    )
    assert done.stdout.strip() == "2.5", done.stderr


@pytest.mark.parametrize(
    ("text", "code"),
    [("[own]\nm = {input = -1, output = 1}", "invalid_prices"), ("[own", "invalid_prices"), (None, "prices_not_found")],
)
def test_x01_a_table_that_is_none_is_named_and_changes_nothing(tmp_path: Path, text: str | None, code: str) -> None:
    path = tmp_path / "broken.toml"
    if text is not None:
        path.write_text(text)
    before = prices.names()
    with pytest.raises(UsageError, match="broken") as caught:
        prices.load(path)
    assert caught.value.code == code
    assert prices.names() == before


def test_a14_x01_iterations_by_the_words_of_the_task() -> None:
    for task, rounds in {
        "What is the capital of Norway?": 3,
        "Fix the bug in parser.rs": 5,
        "Explore the code base and find where A and B are.": 10,
        "Delete the old branches, then drop the staging database and purge all its caches.": 15,
    }.items():
        assert Budget.for_task(task).rounds == rounds, task
    assert Budget.for_task("What?", "breaking", tokens=7) == Budget(rounds=15, tokens=7)
    agent = Agent(ScriptedModel(["ok"] * 3), budget=Budget(rounds="auto"))
    run = agent.run_sync("What is the capital of Norway?", journal=True)
    assert '"iterations":3' in str(run.journal)
    run = agent.run_sync("Fix the bug in parser.rs", journal=True)
    assert '"iterations":5' in str(run.journal)


def test_what_is_kept_for_an_hour_costs_twice_the_input() -> None:
    price = prices.Price(3.0, 15.0, 0.3, 3.75)
    counts = {"input": 1_000_000, "cache_write": 400_000}
    assert price.cost(**counts) == pytest.approx(0.6 * 3 + 0.4 * 3.75)
    assert price.cost(**counts, cache_write_hour=400_000) == pytest.approx(0.6 * 3 + 0.4 * 6)
    assert price.cost(**counts, cache_write_hour=100_000) == pytest.approx(0.6 * 3 + 0.3 * 3.75 + 0.1 * 6)
    with pytest.raises(UsageError, match="-1"):
        price.cost(input=-1)
