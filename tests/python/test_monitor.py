"""What a run does with what its senses say of the prompt."""

from __future__ import annotations

from typing import Any

import pytest
from loopwright import Agent, Monitor, SubAgent, UsageError, tool
from loopwright.events import IntentAssessed
from loopwright.hooks import Hook, Hooks, Veto
from loopwright.messages import Message
from loopwright.testing import ScriptedModel, call, text

VAGUE = ["Delete it.", "Fix this please", "Drop the table"]
STEPS = "Stop the service, delete the old volumes, then recreate them and restart it."
SIDE_BY_SIDE = "Read the changelog of httpx and also read the changelog of aiohttp."


def _run(prompt: str, *replies: Any, **options: Any) -> tuple[Any, ScriptedModel, list[Any]]:
    model = ScriptedModel(list(replies) or [text("done")])
    events: list[Any] = []
    result = Agent(model, **options).run_sync(prompt, on_event=events.append)
    return result, model, [event for event in events if isinstance(event, IntentAssessed)]


@pytest.mark.parametrize("prompt", VAGUE)
def test_s13_what_is_vague_is_asked_about(prompt: str) -> None:
    result, model, told = _run(prompt, monitor=Monitor(intent="act"), journal=True)
    assert (result.stop_reason, model.requests, told[0].decision) == ("ambiguous", [], "ask_first")
    assert result.final == told[0].question
    assert result.messages[-1].text == result.final
    agent = Agent(ScriptedModel([text("The one of last year is gone.")]), monitor=Monitor(intent="act"))
    events: list[Any] = []
    again = agent.resume_sync(result.journal, answer="The old one.", on_event=events.append)
    assert again.final == "The one of last year is gone."
    names = [type(event).__name__ for event in events]
    assert names.index("IntentAssessed") < names.index("RoundStarted") < names.index("RoundFinished")
    assert len({event.event_id for event in events}) == len(events)


@pytest.mark.parametrize("mode", ["tell", None])
@pytest.mark.parametrize("prompt", [*VAGUE, STEPS, SIDE_BY_SIDE])
def test_x05_words_stop_nothing_unless_they_are_to(prompt: str, mode: Any) -> None:
    monitor = None if mode is None else Monitor(intent=mode)
    result, model, told = _run(prompt, monitor=monitor, instructions="Be brief.")
    assert result.final == "done"
    assert len(told) == 1
    assert told[0].instruction is None
    assert model.requests[0].system == "Be brief."


def test_s13_off_is_one_word() -> None:
    result, model, told = _run("Delete it.", monitor=Monitor(intent="off"))
    assert (result.final, told, result.plans) == ("done", [], [])
    assert model.requests[0].system is None


@pytest.mark.parametrize(("prompt", "decision"), [(STEPS, "plan_with_rollback"), (SIDE_BY_SIDE, "direct")])
def test_s13_a_decision_reaches_the_model_as_one_instruction(prompt: str, decision: str) -> None:
    result, model, told = _run(prompt, monitor=Monitor(intent="act"), instructions="Be brief.")
    assert (result.final, told[0].decision) == ("done", decision)
    assert told[0].instruction
    assert model.requests[0].system == f"Be brief.\n\n{told[0].instruction}"
    assert result.plans[0].instruction == told[0].instruction


@pytest.mark.parametrize("prompt", ["What is 2 + 2?", "Read a.txt"])
def test_s13_what_is_plain_needs_no_instruction(prompt: str) -> None:
    result, model, told = _run(prompt, monitor=Monitor(intent="act"))
    assert (result.final, told[0].decision, told[0].instruction) == ("done", "direct", None)
    assert model.requests[0].system is None


def test_s13_work_for_a_sub_agent_is_one_instruction_too() -> None:
    explore = SubAgent("explore", model=ScriptedModel([text("It is in core.")]))
    result, model, told = _run(
        "Explore the repository and tell me how the scheduler works",
        monitor=Monitor(intent="act"),
        agents=[explore],
    )
    assert (result.final, told[0].decision, told[0].sub_agents) == ("done", "delegate", ["explore"])
    assert told[0].instruction in str(model.requests[0].system)


@pytest.mark.parametrize("before", ["Which one?", "Welche Datei soll ich löschen?", "Which? ", "什么\uff1f"])
def test_s13_an_answer_is_not_asked_about_again(before: str) -> None:
    model = ScriptedModel([text("done")])
    history = [Message("user", "Tidy up."), Message("assistant", before)]
    result = Agent(model, monitor=Monitor(intent="act")).run_sync("Delete it.", messages=history)
    assert result.final == "done"


def test_s13_the_hook_sees_question_evidence_and_sub_agents() -> None:
    seen: list[Any] = []
    hook = Hook("post_assess", lambda context: seen.append(context.subject))
    _run("Delete it.", hooks=hook)
    assert seen[0].question
    assert ["destructive", "Delete"] in seen[0].evidence
    explore = SubAgent("explore", model=ScriptedModel([text("It is in core.")]))
    _run("Explore the repository and tell me how the scheduler works", hooks=hook, agents=[explore])
    assert seen[1].sub_agents == ["explore"]


def test_s13_hooks_see_the_assessment_before_the_question_is_put() -> None:
    hooks = Hooks([Hook("post_assess", lambda context: Veto("not here"))])
    result, model, _ = _run("Delete it.", hooks=hooks, monitor=Monitor(intent="act"))
    assert (result.stop_reason, result.message, model.requests) == ("hook_veto", "not here", [])


@pytest.mark.parametrize("stage", ["pre_assess", "post_assess", "pre_reason", "pre_llm", "post_tool", "pre_output"])
def test_s13_a_hook_that_fails_leaves_a_warning(stage: Any) -> None:
    @tool
    def look(n: int) -> str:
        """Looks."""
        return "seen"

    def broken(context: Any) -> None:
        message = "no such column: mood"
        raise LookupError(message)

    hook = Hook(stage, broken, name="mood", on_error="skip")
    result, _, _ = _run("What is there?", call("look", n=1), text("a thing"), tools=[look], hooks=hook)
    assert result.final == "a thing"
    warning = next(each for each in result.warnings if each.startswith("hook_failed"))
    assert "mood" in warning
    assert "no such column" in warning


def test_a_monitor_names_what_is_wrong() -> None:
    with pytest.raises(UsageError, match="'loud'"):
        Monitor(intent="loud")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="monitor"):
        Agent(ScriptedModel([]), monitor="act")  # type: ignore[arg-type]
