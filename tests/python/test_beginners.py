"""What a newcomer gets wrong, or would wait for: the error has the word, the log says who, the checker knows the type."""

from __future__ import annotations

import copy
import dataclasses
import logging
import os
import pickle
from typing import Any

import loopwright
import pytest
from loopwright import Agent, Approval, Budget, Grounded, Guard, Journal, Model, Research, UsageError, tool
from loopwright.errors import LoopwrightError
from loopwright.testing import ScriptedModel, call
from test_stubs import run as checker


@tool(risk="confirm")
def pay(amount: int) -> str:
    "Pay."
    return f"{amount} paid"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Budget(max_tokens=9), r"Budget has no option max_tokens \(here it is tokens\)"),
        (lambda: Budget(timeout=9), r"here it is wall_time"),
        (lambda: Budget(round=9), r"did you mean rounds\?"),
        (lambda: Model("ollama:m", timeout=9), r"Model has no option timeout \(here it is timeouts="),
        (lambda: Guard(aprove=print), r"Guard has no option aprove \(did you mean approve\?\)"),
        (lambda: tool(requires_approval=True), r'@tool has no option requires_approval \(here it is risk="confirm"\)'),
        (lambda: Agent("ollama:m").override(modle="x"), r"override has no option modle \(did you mean model\?\)"),
        (lambda: Grounded("ollama:m", folder="x"), r"Grounded has no option folder \(there are model, sources, "),
        (lambda: Research(folder="x"), r"Research has no option folder \(there are model, search, corpus, "),
    ],
)
def test_an_option_that_there_is_not_is_named_with_the_right_word(make: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said) as caught:
        make()
    assert caught.value.code == "unknown_option"  # type: ignore[attr-defined]


def test_a_member_of_another_framework_is_named_with_ours() -> None:
    result = Agent(ScriptedModel([call("pay", amount=5), "Done."]), tools=[pay], guard=lambda _: True).run_sync("Pay.")
    for thing, name, here in [
        (result, "final_output", "output"),
        (result, "data", "output"),
        (result, "all_messages", "messages"),
        (result.usage, "prompt_tokens", "input_tokens"),
        (result.tool_calls[0], "args", "arguments"),
        (Agent("ollama:m"), "invoke", "run_sync"),
    ]:
        with pytest.raises(AttributeError, match=f"no attribute '{name}': here it is {here}"):
            getattr(thing, name)
        assert not hasattr(thing, "nothing_of_the_kind")
    for thing in (result.usage, result.tool_calls[0]):
        assert copy.deepcopy(thing) == pickle.loads(pickle.dumps(thing)) == thing  # noqa: S301


def test_a_notebook_completes_what_a_result_holds() -> None:
    result = Agent(ScriptedModel(["Done."])).run_sync("Go.")
    assert {"usage", "cost", "tool_calls", "children", "message", "output"} <= {*dir(result)}


def test_an_approver_that_forgot_its_return_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def approve(question: Approval) -> Any:
        assert question.name == "pay"

    model = ScriptedModel([call("pay", amount=5), "Done."])
    with caplog.at_level(logging.WARNING, "loopwright.approval"):
        result = Agent(model, tools=[pay], guard=approve).run_sync("Pay.")
    assert result.tool_calls[0].failure == "denied"
    assert [record.getMessage() for record in caplog.records] == [
        "the approver gave None for a call of pay, which is a no: return True, or why not"
    ]


def test_a_draft_that_is_sent_back_is_no_warning(caplog: pytest.LogCaptureFixture, tmp_path: Any) -> None:
    (tmp_path / "pay.md").write_text("A week on call is paid with 400 euros.\n")
    drafts = ["A week on call is paid with 500 euros. [pay.md:1]", "A week on call is paid with 400 euros. [pay.md:1]"]
    with caplog.at_level(logging.INFO, "loopwright.grounded"):
        result = Grounded(ScriptedModel(drafts), sources=[tmp_path]).run_sync("How is a week on call paid?")
    assert result.verified
    assert result.attempts == 2
    assert [record.levelname for record in caplog.records if record.event == "verification_failed"] == ["INFO"]  # type: ignore[attr-defined]
    assert not [record for record in caplog.records if record.levelno > logging.INFO]


def test_limits_of_a_host_are_none_of_a_model_of_ones_own() -> None:
    with pytest.raises(UsageError, match=r"concurrency counts requests .* \(hold a semaphore in its respond\)"):
        Model(ScriptedModel([]), concurrency=8)


def test_a_journal_says_what_its_run_was_told_about_itself(tmp_path: Any) -> None:
    journal = Journal(tmp_path / "runs.db")
    agent = Agent(ScriptedModel(["Done."]), journal=journal)
    run = agent.run_sync("Go.", metadata={"letter": 3}, user="sam", session="monday").run_id
    assert journal.about(run) == {"letter": 3, "user": "sam", "session": "monday"}


def test_errors_that_pages_name_are_at_the_top() -> None:
    for error in (loopwright.tools.InvalidOutput, loopwright.errors.NoOutput):
        assert issubclass(error, LoopwrightError)


@pytest.mark.timeout(300)
def test_the_result_of_a_streamed_research_is_typed(tmp_path: Any) -> None:
    program = tmp_path / "streamed.py"
    program.write_text(
        "from loopwright import Research\nfrom loopwright.research import ResearchResult\n"
        "async def main() -> ResearchResult:\n"
        "    async with Research().stream('x') as stream:\n"
        "        pass\n"
        "    print(stream.result.report, stream.result.markdown.upper())\n"
        "    return stream.result\n"
    )
    code, said = checker("mypy", "--strict", "--config-file", os.devnull, str(program), cwd=tmp_path)
    assert code == 0, said


@dataclasses.dataclass
class Shop:
    name: str


class Bare:
    pass


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([Shop, int], r"which is no type \(for one of them write Shop \| int, for several list\[Shop \| int\]\)"),
        ((Shop,), r"for one of them write Shop"),
        ("Shop", r"give the type itself, not its name: output_type=Shop"),
        (3, "give a dataclass"),
        (Bare, r"no schema can be made of Bare: nothing says which fields it, .* \(give a dataclass"),
        (list[Bare], r"no schema can be made of list: nothing says which fields"),
    ],
)
def test_what_is_no_type_of_answers_is_told_in_plain_words(given: Any, said: str) -> None:
    with pytest.raises(LoopwrightError, match=said) as caught:
        Agent(ScriptedModel([]), output_type=given)
    assert "pydantic-core" not in str(caught.value)
    assert "arbitrary_types" not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("google-gla:gemini-2.5-pro", "did you mean gemini"),
        ("google_vertexai:gemini-2.5-pro", "did you mean vertex"),
        ("openai/gpt-5", "such as openai:gpt-5, or openrouter:openai/gpt-5"),
    ],
)
def test_models_as_others_name_them(model: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Agent(model)


def test_a_stream_for_the_other_kind_of_loop_says_so() -> None:
    agent = Agent(ScriptedModel(["a", "b"]))
    with pytest.raises(TypeError, match=r"`async for`; without an event loop use agent\.stream_sync"):
        list(agent.stream("Go."))  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"plain `for`; in an event loop use agent\.stream\("):
        aiter(agent.stream_sync("Go."))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "room"),
    [("Returned", "guard"), ("NoOutput", "errors"), ("ScriptedModel", "testing"), ("TextDelta", "events")],
)
def test_a_name_of_a_room_that_is_looked_for_at_the_top_is_told(name: str, room: str) -> None:
    with pytest.raises(ImportError, match=f"it is loopwright.{room}.{name}"):
        exec(f"from loopwright import {name}", {})  # noqa: S102 - a line of a beginner


def test_no_real_requests_of_an_agent_says_where_it_is() -> None:
    with pytest.raises(AttributeError, match=r"loopwright\.testing\.no_real_requests"):
        _ = Agent("ollama:m").no_real_requests  # type: ignore[attr-defined]
