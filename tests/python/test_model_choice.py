"""Which model a run goes on with: chosen by confidence, and stronger where too little succeeds."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest
from loopwright import Agent, Budget, LoopwrightError, Model, Monitor, UsageError, prices, replay, tool
from loopwright.events import ModelChosen, RoundStarted
from loopwright.hooks import ModelChoice, ModelContext, Router
from loopwright.messages import Message
from loopwright.testing import ScriptedModel, WireServer, call, fault, text
from ways import KEY, WIRES, agent_at, model_of, run, words

Serve = Callable[..., WireServer]


@tool
def fails(n: int) -> str:
    """Fail."""
    raise ValueError(f"no {n}")


@pytest.mark.parametrize(
    ("confidence", "suggestions", "mode", "used"),
    [
        (0.9, False, "enforce", True),
        (0.8, False, "enforce", True),
        (0.79, False, "suggest", False),
        (0.79, True, "suggest", True),
        (0.5, True, "suggest", True),
        (0.49, True, "defer", False),
    ],
)
def test_d06_confidence_enforces_suggests_or_defers(
    serve: Serve, wire: str, way: str, confidence: float, *, suggestions: bool, mode: str, used: bool
) -> None:
    provider = WIRES[wire].partition(":")[0]
    seen: list[ModelContext] = []

    async def choose(context: ModelContext) -> ModelChoice:
        await asyncio.sleep(0)
        seen.append(context)
        return ModelChoice(f"{provider}:strong", confidence, "it is long")

    server = serve("done")
    model = Model(WIRES[wire], base_url=server.url, api_key=KEY)
    agent = Agent(Router(choose, default=model, accept_suggestions=suggestions))
    result, events = run(agent, "prove it", way, journal=True, deps=3)
    assert result.final == "done"
    assert model_of(server.requests[0]) == ("strong" if used else "test"), "by its own name"
    names = (f"{provider}:strong", WIRES[wire]) if used else (WIRES[wire], None)
    assert (result.model, result.asked_model) == names
    assert [(each.text, each.model, each.deps, each.run_id) for each in seen] == [
        ("prove it", "test", 3, result.run_id)
    ]
    if way == "stream":
        chosen = [event for event in events if isinstance(event, ModelChosen)]
        told = ModelChosen(1, f"{provider}:strong", "test", confidence, mode, used, "it is long")
        assert chosen == [told]
        started = [event.model for event in events if isinstance(event, RoundStarted)]
        assert started == [f"{provider}:strong" if used else "test"]
    assert result.journal is not None
    assert replay(result.journal).identical
    assert (f'"model":"{provider}:strong","messages"' in result.journal) is used, "the journal knows which model it was"


def test_d06_a_choice_may_be_a_name_or_nothing(serve: Serve, way: str) -> None:
    for answer, model in (("haiku", "haiku"), (None, "test")):
        server = serve("done")
        result, _ = run(agent_at(server, choose=lambda _, answer=answer: answer), "go", way)
        assert model_of(server.requests[0]) == model
        assert result.model == f"anthropic:{model}", "of the same provider"
    server = serve("done")
    run(agent_at(server, choose=ModelChoice("haiku", 1.0)), "go", way)
    assert model_of(server.requests[0]) == "haiku"


@pytest.mark.parametrize("how", ["raises", "nonsense", "unknown", "late"])
def test_d06_a_choice_that_goes_wrong_leaves_the_model(
    serve: Serve, way: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def choose(context: ModelContext) -> Any:
        if how == "raises":
            raise ValueError("no idea")
        if how == "late":
            await asyncio.sleep(9)
        return 7 if how == "nonsense" else "nobody:strong"

    server = serve("done")
    agent = agent_at(server, choose=choose)
    object.__setattr__(agent._chooser, "timeout", 0.2)
    result, _ = run(agent, "go", way)
    assert result.final == "done"
    assert model_of(server.requests[0]) == "test"
    assert any(warning.startswith("model_not_chosen: ") for warning in result.warnings)


def test_d06_another_provider_is_reached_at_its_own_address(
    serve: Serve, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, other = serve("never"), serve("from the other")
    monkeypatch.setenv("OPENAI_BASE_URL", other.url)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    agent = agent_at(own, choose=lambda _: "openai-chat:gpt-x")
    result, _ = run(agent, "go", way)
    assert result.final == "from the other"
    assert own.requests == []
    assert other.requests[0]["body"]["model"] == "gpt-x"


def test_d06_too_little_success_escalates_once(serve: Serve, wire: str, way: str) -> None:
    provider = WIRES[wire].partition(":")[0]
    server = serve(*[call("fails", n=n) for n in range(24)], text("never"))
    agent = agent_at(
        server,
        wire,
        tools=[fails],
        monitor=Monitor(stuck=None),
        escalate_to=f"{provider}:strong",
        budget=Budget(tool_rounds=30, rounds=30),
    )
    result, events = run(agent, "go", way, journal=True)
    models = [model_of(request) for request in server.requests]
    assert models[0] == "test"
    assert models[-1] == "strong"
    assert models == sorted(models, reverse=True), "once, and not back"
    assert result.stop_reason == "low_momentum", "the stronger model is held to the same"
    if way == "stream":
        chosen = [event for event in events if isinstance(event, ModelChosen)]
        assert [(each.mode, each.used, each.model) for each in chosen] == [("escalate", True, f"{provider}:strong")]
    assert result.journal is not None
    assert replay(result.journal).identical


@pytest.mark.parametrize("how", ["chosen", "escalated"])
def test_d06_x01_what_the_other_model_used_costs_what_that_model_costs(serve: Serve, way: str, how: str) -> None:
    strong, weak = prices.of("anthropic:claude-opus-4-5"), prices.of("anthropic:claude-haiku-4-5")
    assert strong is not None
    assert weak is not None
    script = [text("done")] if how == "chosen" else [*[call("fails", n=n) for n in range(12)], text("done")]
    server = serve(*script)
    model = Model("anthropic:claude-haiku-4-5", base_url=server.url, api_key=KEY)
    agent = Agent(Router(lambda _: "claude-opus-4-5", default=model))
    if how == "escalated":
        model = dataclasses.replace(model, escalate_to="anthropic:claude-opus-4-5")
        agent = Agent(model, tools=[fails], monitor=Monitor(stuck=None))
    result, _ = run(agent, "go", way, journal=True)
    models = [model_of(request) for request in server.requests]
    cost = sum({"claude-opus-4-5": strong, "claude-haiku-4-5": weak}[model].output for model in models)
    assert "claude-opus-4-5" in models
    each = result.usage.output_tokens / len(models)
    assert result.cost is not None
    assert result.cost > result.usage.output_tokens * weak.output / 1e6
    assert result.cost >= cost * min(each, 1) / 1e6
    assert replay(str(result.journal)).identical


def test_d06_x01_a_chosen_model_without_a_price_leaves_the_cost_unknown(serve: Serve, way: str) -> None:
    server = serve("done")
    agent = Agent(
        Router(
            lambda _: "anthropic:nobody-knows",
            default=Model("anthropic:claude-haiku-4-5", base_url=server.url, api_key=KEY),
        ),
        budget=Budget(cost=1.0),
    )
    result, _ = run(agent, "go", way)
    assert (result.final, result.cost) == ("done", None)
    assert any(warning.startswith("cost_unknown") for warning in result.warnings)


def test_d06_a19_a_chosen_model_is_asked_though_the_first_is_down(serve: Serve, wire: str, way: str) -> None:
    server = serve(*[fault.status(503)] * 4, "done")
    agent = agent_at(server, wire, retry={"base": 0.01})
    with pytest.raises(LoopwrightError):
        run(agent, "go", way, budget=Budget(rounds=1, wall_time=2.0))
    assert len(server.requests) == 4
    chosen = agent_at(server, wire, choose=lambda _: "other")
    result, _ = run(chosen, "go", way)
    assert (result.final, model_of(server.requests[-1])) == ("done", "other")
    assert result.duration < 10, "it does not wait for the first one"


@pytest.mark.parametrize("how", ["chosen", "escalated"])
def test_d06_c26_the_window_is_that_of_the_other_model(serve: Serve, way: str, how: str) -> None:
    turns = [[Message.user(words(250)), Message.assistant(words(250))] for _ in range(12)]
    before = [message for turn in turns for message in turn]
    server = serve("done") if how == "chosen" else serve(*[call("fails", n=n) for n in range(12)], "done")
    model = Model("openai-chat:gpt-4o", base_url=server.url, api_key=KEY)
    agent = Agent(Router(lambda _: "gpt-4", default=model))
    if how == "escalated":
        agent = Agent(dataclasses.replace(model, escalate_to="gpt-4"), tools=[fails], monitor=Monitor(stuck=None))
    result, _ = run(agent, "go", way, messages=before, journal=True)
    sizes = {
        model: max(
            len(json.dumps(request["body"]["messages"]))
            for request in server.requests
            if request["body"]["model"] == model
        )
        for model in {request["body"]["model"] for request in server.requests}
    }
    assert sizes["gpt-4"] < 8_192 * 4, sizes
    assert how == "chosen" or sizes["gpt-4o"] > 8_192 * 4
    assert replay(str(result.journal)).identical


def test_d06_a_run_resumes_with_the_model_that_was_chosen(serve: Serve, tmp_path: Any) -> None:
    @tool
    def look(path: str) -> str:
        """Look."""
        return path

    path = tmp_path / "run.jsonl"
    server = serve(call("look", path="a"), text("done"))
    choose = lambda _: "anthropic:strong"
    agent_at(server, choose=choose, tools=[look]).run_sync("go", journal=path)
    lines = path.read_text().splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(lines[:-1]))
    server = serve("done again")
    result = agent_at(server, choose=choose, tools=[look]).resume_sync(cut)
    assert result.final == "done again"
    assert model_of(server.requests[0]) == "strong"


def test_d06_wrong_choices_are_errors() -> None:
    with WireServer(["done"]) as server:
        for options in (
            {"choose": 3},
            {"escalate_to": "nobody:strong"},
            {"escalate_to": " "},
        ):
            with pytest.raises(LoopwrightError):
                agent_at(server, **options)  # type: ignore[arg-type]
    for wrong in (lambda: ModelChoice(""), lambda: ModelChoice("m", 2.0), lambda: ModelChoice("m", float("nan"))):
        with pytest.raises(LoopwrightError):
            wrong()


def test_d06_whoever_takes_over_is_named_by_text() -> None:
    with pytest.raises(UsageError, match="escalate_to") as caught:
        Agent(Model(ScriptedModel([]), escalate_to=ScriptedModel([])))  # type: ignore[arg-type]
    assert (caught.value.code, bool(caught.value.hint)) == ("invalid_option", True)


def test_d06_json_of_a_choice_is_plain() -> None:
    assert json.dumps(vars(ModelChoice("m", 0.5, "r"))) == '{"model": "m", "confidence": 0.5, "reason": "r"}'
