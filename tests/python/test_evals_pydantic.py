"""Agents as tasks of the real `pydantic-evals`: outputs, metrics, attributes and spans of cases, and runs that fail."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

import pytest
from loopwright import Agent, Instrumentation, UsageError, evals, tool
from loopwright.models import ModelFailure, Response
from loopwright.testing import ScriptedModel, call

pytest.importorskip("pydantic_evals")

from pydantic_evals import Case, Dataset
from pydantic_evals import evaluators as judges
from pydantic_evals.evaluators import EqualsExpected, HasMatchingSpan


@tool(read_only=True)
def stock(part: str) -> int:
    "How many of a part there are."
    return 120


def stores(*more: object, **options: object) -> Agent:
    script = [call("stock", part="bolts"), "There are 120.", *more]
    return Agent(ScriptedModel(script), tools=[stock], name="stores", **options)


def run(dataset: Dataset, task: object) -> object:
    return asyncio.run(dataset.evaluate(task, progress=False, max_concurrency=1))


def one(case: Case, *evaluators: object) -> Dataset:
    return Dataset(name="parts", cases=[case], evaluators=evaluators)


BOLTS = Case(name="bolts", inputs="How many bolts?", expected_output="There are 120.")


def test_an_agent_is_a_task_whose_output_is_judged_and_whose_cost_is_counted():
    report = run(one(BOLTS, EqualsExpected()), evals.task(stores()))
    (case,) = report.cases
    assert report.name == "stores"
    assert case.output == "There are 120."
    assert case.assertions["EqualsExpected"].value is True
    assert case.metrics["requests"] == 2
    assert case.metrics["tool_calls"] == 1
    assert case.metrics["input_tokens"] > case.metrics["output_tokens"] > 0
    assert "cost" not in case.metrics, "a model of one's own has no price"
    assert case.attributes["stop_reason"] == "natural"
    assert case.attributes["model"] == "scripted"
    assert len(case.attributes["run_id"]) == 16
    assert "journal" not in case.attributes


def test_cost_is_told_where_the_price_is_known():
    from loopwright import Model

    model = Model(ScriptedModel([Response("Yes.", input_tokens=1_000_000)]), price={"input": 3.0, "output": 15.0})
    report = run(one(Case(inputs="Well?")), evals.task(Agent(model)))
    assert report.cases[0].metrics["cost"] == pytest.approx(3.0)


def test_the_journal_of_a_case_is_named_where_one_is_kept(tmp_path):
    report = run(one(BOLTS), evals.task(stores(), journal=tmp_path / "runs.db"))
    assert report.cases[0].attributes["journal"] == str(tmp_path / "runs.db")


def test_inputs_that_are_no_text_are_json_or_what_the_caller_makes_of_them():
    @dataclass
    class Question:
        part: str

    model = ScriptedModel(["ok", "ok", "ok"])
    dataset = Dataset(name="parts", cases=[Case(inputs=Question("nüts")), Case(inputs={"part": "nuts"})])
    run(dataset, evals.task(Agent(model)))
    assert [json.loads(request.last_text) for request in model.requests] == [{"part": "nüts"}, {"part": "nuts"}]
    run(one(Case(inputs=Question("nuts"))), evals.task(Agent(model), prompt=lambda given: f"How many {given.part}?"))
    assert model.requests[2].last_text == "How many nuts?"


def test_outputs_are_of_the_type_of_the_agent():
    @dataclass
    class City:
        name: str

    agent = Agent(ScriptedModel([Response('{"name": "Oslo"}')]), output_type=City)
    report = run(one(Case(inputs="Where?", expected_output=City("Oslo")), EqualsExpected()), evals.task(agent))
    assert report.cases[0].assertions["EqualsExpected"].value is True


def test_a_run_that_fails_is_a_failed_case_and_the_others_go_on():
    script = [ModelFailure("no such model", "not_found"), "There are 120."]
    dataset = Dataset(name="parts", cases=[Case(name="broken", inputs="Well?"), BOLTS])
    report = run(dataset, evals.task(Agent(ScriptedModel(script), name="stores")))
    assert [case.name for case in report.cases] == ["bolts"]
    (failure,) = report.failures
    assert failure.name == "broken"
    assert "no such model" in failure.error_message


def test_a_run_that_a_limit_ended_is_a_failed_case_that_says_which():
    from loopwright import Budget

    agent = stores(budget=Budget(rounds=1))
    report = run(one(BOLTS), evals.task(agent))
    assert not report.cases
    assert "NoOutput" in report.failures[0].error_message
    assert "rounds" in report.failures[0].error_message


def test_a_model_that_is_put_in_its_place_is_asked():
    agent = Agent("openai:gpt-5")
    with agent.override(model=ScriptedModel(["There are 120."])):
        report = run(one(BOLTS, EqualsExpected()), evals.task(agent))
    assert report.cases[0].assertions["EqualsExpected"].value is True


def test_the_task_runs_without_an_evaluation_around_it():
    assert asyncio.run(evals.task(stores())("How many bolts?")) == "There are 120."


def test_an_option_that_there_is_not_is_refused_when_the_task_is_made():
    with pytest.raises(UsageError, match="temprature"):
        evals.task(stores(), temprature=1)


def test_what_is_no_agent_is_refused():
    with pytest.raises(UsageError) as refused:
        evals.task("stores")
    assert refused.value.code == "invalid_agent"


@pytest.fixture
def tracer(monkeypatch):
    trace = pytest.importorskip("opentelemetry.trace")
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    provider = sdk.TracerProvider()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield provider
    provider.shutdown()


def test_spans_of_a_traced_agent_are_judged_and_nothing_is_counted_twice(tracer):
    agent = stores(instrument=Instrumentation(content=True))
    asked = [HasMatchingSpan(query={"has_attributes": {"gen_ai.tool.name": "stock"}})]
    if hasattr(judges, "ToolCorrectness"):
        # The first versions have none of these.
        asked += [judges.ToolCorrectness(expected_tools=["stock"]), judges.MaxModelRequests(max_requests=2)]
    (case,) = run(one(BOLTS, *asked), evals.task(agent)).cases
    assert [each.value for each in case.assertions.values()] == [True] * len(case.assertions)
    plain = run(one(BOLTS), evals.task(stores(instrument=False))).cases[0]
    same = ("requests", "input_tokens", "output_tokens", "tool_calls")
    assert {name: case.metrics[name] for name in same} == {name: plain.metrics[name] for name in same}
