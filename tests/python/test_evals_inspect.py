"""Agents as solvers of the real `inspect-ai`: what its log holds of their runs, its limits, and runs that fail."""

from __future__ import annotations

import pytest
from loopwright import Agent, Budget, Model, ToolError, UsageError, evals, tool
from loopwright.models import ModelFailure, Response
from loopwright.testing import ScriptedModel, call, calls

pytest.importorskip("inspect_ai")

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes

# Streams and loops that inspect leaves behind, and what it asks of its own dependencies.
pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning"
)


@tool(read_only=True)
def stock(part: str) -> int:
    "How many of a part there are."
    if part == "none":
        raise ToolError("there is no such part", "gone")
    return 120


SCRIPT = [call("stock", part="bolts"), "There are 120."]
BOLTS = Sample(input="How many bolts?", target="120", id="bolts")


@pytest.fixture
def run(tmp_path):
    def run(solver, *samples, **options):
        task = Task(dataset=[*(samples or (BOLTS,))], solver=solver, scorer=includes())
        options = {"model": None, "display": "none", "log_dir": str(tmp_path), "max_samples": 1, **options}
        (log,) = evaluate(task, **options)
        return log

    return run


def stores(script=SCRIPT, **options):
    return Agent(ScriptedModel(script), tools=[stock], name="stores", **options)


def events(log, kind):
    return [event for event in log.samples[0].events if event.event == kind]


def test_an_agent_is_a_solver_whose_answer_is_scored(run):
    log = run(evals.solver(stores()))
    assert log.status == "success", log.error
    assert log.results.scores[0].metrics["accuracy"].value == 1.0
    assert log.samples[0].output.completion == "There are 120."


def test_the_log_holds_the_messages_the_calls_and_their_results(run):
    sample = run(evals.solver(stores())).samples[0]
    assert [message.role for message in sample.messages] == ["user", "assistant", "tool", "assistant"]
    (called,) = sample.messages[1].tool_calls
    assert (called.function, called.arguments) == ("stock", {"part": "bolts"})
    assert sample.messages[2].tool_call_id == called.id
    assert sample.messages[2].text == "120"


def test_the_log_holds_each_request_with_its_usage_and_each_call_as_events(run):
    log = run(evals.solver(stores()))
    asked = events(log, "model")
    assert len(asked) == 2
    assert [event.output.stop_reason for event in asked] == ["tool_calls", "stop"]
    assert asked[0].tools[0].name == "stock"
    assert [message.role for message in asked[1].input] == ["user", "assistant", "tool"]
    (called,) = events(log, "tool")
    assert (called.function, called.arguments, called.result) == ("stock", {"part": "bolts"}, "120")
    (usage,) = log.samples[0].model_usage.values()
    assert usage.input_tokens == sum(event.output.usage.input_tokens for event in asked) > 0
    assert usage.output_tokens > 0
    assert list(log.stats.model_usage) == list(log.samples[0].model_usage) == ["loopwright/scripted"]


def test_a_failed_call_is_an_error_in_the_log(run):
    log = run(evals.solver(stores([call("stock", part="none"), "There are 120."])))
    (called,) = events(log, "tool")
    assert "there is no such part" in called.error.message
    assert "there is no such part" in log.samples[0].messages[2].error.message


def test_two_calls_at_once_are_two_events(run):
    log = run(evals.solver(stores([calls(call("stock", part="a"), call("stock", part="b")), "There are 120."])))
    assert [event.arguments for event in events(log, "tool")] == [{"part": "a"}, {"part": "b"}]


def test_the_price_of_a_run_is_in_the_log(run):
    model = Model(ScriptedModel([Response("120", input_tokens=1_000_000)]), price={"input": 3.0, "output": 15.0})
    log = run(evals.solver(Agent(model)))
    assert log.samples[0].output.metadata["loopwright"]["cost"] == pytest.approx(3.0)


def test_a_conversation_of_the_sample_is_the_history_of_the_run(run):
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    model = ScriptedModel(["120"])
    talk = [
        ChatMessageSystem(content="Be brief."),
        ChatMessageUser(content="Hello."),
        ChatMessageAssistant(content="Hello!"),
        ChatMessageUser(content="How many bolts?"),
    ]
    log = run(evals.solver(Agent(model)), Sample(input=talk, target="120"))
    assert log.status == "success", log.error
    request = model.requests[0]
    assert "Be brief." in request.system
    assert [message.text for message in request.messages] == ["Hello.", "Hello!", "How many bolts?"]
    assert [message.role for message in log.samples[0].messages] == ["system", "user", "assistant", "user", "assistant"]


def test_a_run_that_fails_is_an_error_of_its_sample_and_the_others_go_on(run):
    agent = stores([ModelFailure("no such model", "not_found"), "There are 120."])
    log = run(evals.solver(agent), Sample(input="Well?", target="x", id=1), BOLTS, fail_on_error=False)
    assert log.status == "success"
    failed, passed = sorted(log.samples, key=lambda sample: str(sample.id))
    assert "no such model" in failed.error.message
    assert passed.output.completion == "There are 120."


def test_a_run_that_a_limit_ended_has_no_answer_and_says_why(run):
    log = run(evals.solver(stores(budget=Budget(rounds=1))))
    sample = log.samples[0]
    assert sample.error is None
    assert sample.output.completion == ""
    assert sample.output.metadata["loopwright"]["stop_reason"] == "rounds"
    assert log.results.scores[0].metrics["accuracy"].value == 0.0


def test_a_limit_of_inspect_ends_the_run(run):
    ran = []

    @tool(read_only=True)
    def count() -> int:
        "Counts."
        ran.append(1)
        return len(ran)

    agent = Agent(ScriptedModel([call("count")] * 7 + ["120"]), tools=[count])
    log = run(evals.solver(agent), token_limit=60)
    assert log.samples[0].limit.type == "token"
    assert len(ran) < 7


def test_a_model_that_is_put_in_its_place_is_asked(run):
    agent = Agent("openai:gpt-5")
    with agent.override(model=ScriptedModel(["There are 120."]), everywhere=True):
        log = run(evals.solver(agent))
    assert log.results.scores[0].metrics["accuracy"].value == 1.0


def test_the_solver_is_an_agent_that_others_hand_over_to(run):
    from inspect_ai.agent import as_tool, is_agent

    agent = evals.solver(stores(description="knows the stock"))
    assert is_agent(agent)
    assert as_tool(agent) is not None


def test_an_option_that_there_is_not_is_refused_when_the_solver_is_made():
    with pytest.raises(UsageError, match="temprature"):
        evals.solver(stores(), temprature=1)


def test_inspects_model_answers_in_the_place_of_the_agents_own_where_told(run):
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    asked = ModelOutput.for_tool_call("mockllm/model", "stock", {"part": "bolts"})
    outputs = [asked, ModelOutput.from_content("mockllm/model", "There are 120, says inspect.")]
    for each in outputs:
        # Without it the double counts with a vocabulary that it fetches.
        each.usage = ModelUsage(input_tokens=7, output_tokens=3, total_tokens=10)
    model = get_model("mockllm/model", custom_outputs=outputs)
    log = run(evals.solver(stores(["never asked"]), inspect_model=True), model=model)
    assert log.status == "success", log.error
    assert log.samples[0].output.completion == "There are 120, says inspect."
    assert [event.model for event in events(log, "model")] == ["mockllm/model", "mockllm/model"]
    assert [event.function for event in events(log, "tool")] == ["stock"]


def test_without_a_model_of_inspects_that_is_said(run):
    log = run(evals.solver(stores(), inspect_model=True))
    assert log.status == "error"
    assert "--model" in log.error.message
