"""Work that is done elsewhere: the run is left, and goes on with what the work gave, in any process."""

from __future__ import annotations

import pytest
from loopwright import Agent, Budget, Guard, SubAgent, ToolError, UsageError, replay, tool
from loopwright.guard import Returned
from loopwright.result import Result
from loopwright.testing import ScriptedModel, call, calls, text
from loopwright.tools import Toolset


@tool
def look(place: str) -> str:
    """Looks at a place."""
    return f"{place} is fine"


@tool(deferred=True)
def paint(wall: str) -> str:
    """Has somebody paint a wall."""
    raise AssertionError(wall)


def allow(_):
    return True


def seen(result):
    return " ".join(message.to_json() for message in result.messages)


def agent_of(*replies, tools=(look, paint), **options):
    return Agent(ScriptedModel([*replies]), tools=[*tools], **{"guard": allow, **options})


@pytest.mark.parametrize("place", ["folder", "store"])
def test_a_run_is_left_and_goes_on_with_what_the_work_gave(tmp_path, place):
    journal = tmp_path if place == "folder" else tmp_path / "runs.db"
    result = agent_of(call("paint", wall="north"), journal=journal).run_sync("Paint.")
    assert result.stop_reason == "suspended"
    (waits,) = result.pending
    assert (waits.kind, waits.name, waits.arguments) == ("external", "paint", {"wall": "north"})
    (told,) = Result.from_dict(result.to_dict()).pending
    assert told.kind == "external"
    again = agent_of(text("It is green."), journal=journal)
    done = again.resume_sync(result, {waits.call_id: Returned({"colour": "green"})})
    assert done.final == "It is green."
    assert done.tool_calls[0].failure is None
    assert "green" in done.tool_calls[0].result
    assert replay(done.journal, done.run_id).identical


def test_what_failed_elsewhere_is_told_as_a_failure(tmp_path):
    result = agent_of(call("paint", wall="north"), journal=tmp_path).run_sync("Paint.")
    failed = Returned(ToolError("the ladder broke", "no_ladder"))
    done = agent_of(text("Sad."), journal=tmp_path).resume_sync(result, {result.pending[0].call_id: failed})
    assert done.tool_calls[0].failure == "no_ladder"
    assert done.final == "Sad."


def test_several_calls_wait_together_and_others_run_meanwhile(tmp_path):
    script = calls(call("look", place="a"), call("paint", wall="n"), call("paint", wall="s"))
    result = agent_of(script, journal=tmp_path).run_sync("Paint.")
    assert [each.arguments["wall"] for each in result.pending] == ["n", "s"]
    first, second = (each.call_id for each in result.pending)
    with pytest.raises(UsageError) as error:
        agent_of(text("never"), journal=tmp_path).resume_sync(result, {second: Returned("grey")})
    assert error.value.code == "answer_first"
    half = agent_of(text("never"), journal=tmp_path).resume_sync(result, {first: Returned("green")})
    assert half.stop_reason == "suspended"
    assert [each.arguments["wall"] for each in half.pending] == ["s"]
    done = agent_of(text("Done."), journal=tmp_path).resume_sync(half, {second: Returned("grey")})
    assert done.final == "Done."
    assert all(word in seen(done) for word in ("a is fine", "green", "grey"))


def test_both_answers_at_once(tmp_path):
    script = calls(call("paint", wall="n"), call("paint", wall="s"))
    result = agent_of(script, journal=tmp_path).run_sync("Paint.")
    given = {each.call_id: Returned(each.arguments["wall"] * 3) for each in result.pending}
    done = agent_of(text("Done."), journal=tmp_path).resume_sync(result, given)
    assert done.final == "Done."
    assert "nnn" in seen(done)
    assert "sss" in seen(done)


def test_what_is_no_answer_is_refused(tmp_path):
    result = agent_of(call("paint", wall="n"), journal=tmp_path).run_sync("Paint.")
    for answers, code in [
        ({result.pending[0].call_id: True}, "invalid_answers"),
        ({"nobody": Returned(1)}, "no_such_call"),
    ]:
        with pytest.raises(UsageError) as error:
            agent_of(text("never"), journal=tmp_path).resume_sync(result, answers)
        assert error.value.code == code
    # Nothing was lost by that.
    done = agent_of(text("Done."), journal=tmp_path).resume_sync(result, {result.pending[0].call_id: Returned(None)})
    assert done.final == "Done."


def test_without_a_journal_it_is_an_error_at_once_and_arguments_are_checked_before():
    with pytest.raises(UsageError) as error:
        agent_of(text("never")).run_sync("Paint.")
    assert error.value.code == "no_journal"


def test_wrong_arguments_come_back_to_the_model(tmp_path):
    result = agent_of(call("paint", fence="n"), text("Sorry."), journal=tmp_path).run_sync("Paint.")
    assert result.tool_calls[0].failure == "invalid_arguments"
    assert result.final == "Sorry."


def test_a_person_decides_first(tmp_path):
    risky = Toolset([look]).deferred().with_risk("confirm")
    ask = Guard(approve="suspend")
    script = call("look", place="a")
    result = agent_of(script, tools=[risky], guard=ask, journal=tmp_path).run_sync("Look.")
    (question,) = result.pending
    assert question.kind == "approval"
    with pytest.raises(UsageError):
        agent_of(text("x"), tools=[risky], guard=ask, journal=tmp_path).resume_sync(
            result, {question.call_id: Returned("no")}
        )
    left = agent_of(text("x"), tools=[risky], guard=ask, journal=tmp_path).resume_sync(result, {question.call_id: True})
    (waits,) = left.pending
    assert waits.kind == "external"
    done = agent_of(text("Done."), tools=[risky], guard=ask, journal=tmp_path).resume_sync(
        left, {waits.call_id: Returned("seen")}
    )
    assert done.final == "Done."
    denied = agent_of(script, text("No."), tools=[risky], guard=lambda _: False, journal=tmp_path).run_sync("Look.")
    assert denied.final == "No."


def test_a_toolset_and_a_sub_agent_defer_too(tmp_path):
    def parts(*replies, worker=()):
        helper = SubAgent("helper", "helps", model=ScriptedModel([*worker]), tools=[Toolset([look]).deferred()])
        return Agent(ScriptedModel([*replies]), agents=[helper], guard=allow, journal=tmp_path)

    result = parts(call("spawn", agent="helper", task="Look."), worker=[call("look", place="a")]).run_sync("Go.")
    assert result.stop_reason == "suspended"
    (waits,) = result.pending
    assert waits.path == "helper"
    done = parts(text("done"), worker=[text("worked")]).resume_sync(result, {waits.call_id: Returned("elsewhere")})
    assert done.final == "done"


def test_tools_that_are_asked_for_each_round_defer_too(tmp_path):
    def listing(_):
        return [paint]

    result = agent_of(call("paint", wall="n"), tools=[Toolset(listing)], journal=tmp_path).run_sync("Paint.")
    (waits,) = result.pending
    again = agent_of(text("Done."), tools=[Toolset(listing)], journal=tmp_path)
    assert again.resume_sync(result, {waits.call_id: Returned("green")}).final == "Done."


def test_a_run_that_was_left_is_read_from_every_line(tmp_path):
    path = tmp_path / "run.jsonl"
    result = agent_of(call("paint", wall="n")).run_sync("Paint.", journal=path)
    assert result.stop_reason == "suspended"
    lines = path.read_text().splitlines()
    for kept in range(2, len(lines) + 1):
        cut = tmp_path / f"cut{kept}.jsonl"
        cut.write_text("\n".join(lines[:kept]) + "\n")
        told = any('"generated"' in line for line in lines[:kept])
        left = agent_of(*([] if told else [call("paint", wall="n")])).resume_sync(cut)
        assert left.stop_reason == "suspended", kept
        done = agent_of(text("Done.")).resume_sync(left, {left.pending[0].call_id: Returned("x")})
        assert done.final == "Done.", kept


def test_the_time_that_the_work_takes_does_not_count(tmp_path):
    budget = Budget(wall_time=30.0)
    result = agent_of(call("paint", wall="n"), budget=budget, journal=tmp_path).run_sync("Paint.")
    done = agent_of(text("Done."), budget=budget, journal=tmp_path).resume_sync(
        result, {result.pending[0].call_id: Returned("x")}
    )
    assert done.final == "Done."
