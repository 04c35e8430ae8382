"""Every end speaks, and what ended with a question, a pause or a limit goes on with an answer."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from loopwright import Agent, Budget, Grounded, Journal, Monitor, Result, UsageError, tool
from loopwright.models import Call, Response
from loopwright.testing import ScriptedModel, call, calls, text

if TYPE_CHECKING:
    from pathlib import Path


@tool
def look(n: int) -> str:
    """Looks."""
    return "the same as before"


@tool
def fail(n: int) -> str:
    """Fails."""
    message = "the disk is full"
    raise OSError(message)


def _endless(name: str) -> list[Any]:
    return [call(name, n=n) for n in range(12)]


ENDS: dict[str, tuple[list[Any], dict[str, Any], str]] = {
    "natural": ([text("All is done.")], {}, "done"),
    "needs_user_input": ([text("Shall I keep a.txt or b.txt?")], {}, "asks you something"),
    "check_in": (_endless("look"), {"monitor": Monitor(pause_every=2)}, "after 2 requests"),
    "no_progress": ([call("look", n=1)] * 12, {}, '"look"'),
    "repeated_failures": ([call("fail", n=1)] * 12, {}, '"fail"'),
    "tool_rounds": (_endless("look"), {"budget": Budget(tool_rounds=2)}, "`tool_rounds`"),
    "rounds": (_endless("look"), {"budget": Budget(rounds=2)}, "`rounds`"),
    "tokens": (_endless("look"), {"budget": Budget(tokens=30)}, "`tokens`"),
}


@pytest.mark.parametrize("stop", ENDS)
def test_s09_every_end_says_what_happened_and_what_to_do(stop: str) -> None:
    steps, options, words = ENDS[stop]
    result = Agent(ScriptedModel(list(steps)), tools=[look, fail], **options).run_sync("Look at it.")
    assert result.stop_reason == stop
    assert result.message is not None
    assert words in result.message
    assert result.message in str(result) or str(result) == result.final
    assert stop == "natural" or "nswer the run" in result.message
    for other in (copy.deepcopy(result), Result.from_dict(json.loads(json.dumps(result.to_dict())))):
        assert (other.message, str(other)) == (result.message, str(result))


def test_s09_what_was_said_last_stands_before_the_words() -> None:
    steps = [calls(Call("look", {"n": 1}), text="I begin with the first part.")]
    result = Agent(ScriptedModel(steps), tools=[look], monitor=Monitor(pause_every=1)).run_sync("Read it all.")
    assert (result.stop_reason, result.final) == ("check_in", None)
    assert str(result) == f"{result.best_draft}\n\n{result.message}" if result.best_draft else str(result.message)
    assert Agent(ScriptedModel([Response("Cut in the mid", stop="max_tokens")])).run_sync("x").message


def test_s09_an_unverified_draft_is_not_shown_as_the_answer(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("The valve opens at 3 bar.\n")
    result = Grounded(ScriptedModel([text("The valve opens at 9 bar [1].")] * 3), sources=[tmp_path]).run_sync(
        "When does the valve open?"
    )
    assert result.final is None
    assert "9 bar" not in str(result).split("What is wrong")[0]


@pytest.mark.parametrize("stop", [stop for stop in ENDS if stop != "natural"])
@pytest.mark.parametrize("place", ["folder", "store", "memory"])
def test_s10_a_run_goes_on_with_an_answer(stop: str, place: str, tmp_path: Path) -> None:
    steps, options, _ = ENDS[stop]
    journal: Any = {"folder": tmp_path, "store": Journal(tmp_path / "runs.db"), "memory": True}[place]
    first = Agent(ScriptedModel(list(steps)), tools=[look, fail], journal=journal, **options).run_sync("Look at it.")
    model = ScriptedModel([text("It is b.txt then.")])
    agent = Agent(model, tools=[look, fail], journal=journal, **options)
    where: Any = first.journal if place != "store" else tmp_path / "runs.db"
    again = agent.resume_sync(where, run=first.run_id if place == "store" else None, answer="Keep b.txt.")
    if stop == "tokens":
        # Not even the first request fits, whatever is answered.
        assert again.stop_reason == "tokens"
        return
    assert (again.final, again.run_id == first.run_id) == ("It is b.txt then.", False)
    assert list(again.messages)[: len(first.messages)] == list(first.messages)
    assert "Keep b.txt." in str(list(again.messages)[len(first.messages)])
    assert again.rounds == 1
    if place == "memory":
        assert "Keep b.txt." in str(again.journal)
    elif place == "store":
        assert {run.id for run in Journal(where).runs()} == {first.run_id, again.run_id}
    else:
        assert len(list(tmp_path.glob("*.jsonl"))) == 2


def test_s10_an_answer_can_be_answered_again() -> None:
    agent = Agent(ScriptedModel([text("Red or blue?"), text("Light or dark?"), text("Done.")]), journal=True)
    first = agent.run_sync("Paint it.")
    second = agent.resume_sync(str(first.journal), answer="blue")
    assert second.stop_reason == "needs_user_input"
    third = agent.resume_sync(str(second.journal), answer="dark")
    assert [message.text for message in third.messages] == [
        "Paint it.",
        "Red or blue?",
        "blue",
        "Light or dark?",
        "dark",
        "Done.",
    ]


def test_s10_a_run_that_broke_off_waits_for_no_answer(tmp_path: Path) -> None:
    result = Agent(ScriptedModel([text("Red or blue?")]), journal=tmp_path).run_sync("Paint it.")
    path = tmp_path / f"{result.run_id}.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    agent = Agent(ScriptedModel([text("x")]), journal=tmp_path)
    with pytest.raises(UsageError) as caught:
        agent.resume_sync(path, answer="blue")
    assert caught.value.code == "run_not_ended"
    assert "without an answer" in str(caught.value.hint)


def test_s10_an_empty_answer_is_a_mistake(tmp_path: Path) -> None:
    result = Agent(ScriptedModel([text("Red or blue?")]), journal=tmp_path).run_sync("Paint it.")
    with pytest.raises(UsageError):
        Agent(ScriptedModel([text("x")])).resume_sync(str(result.journal), answer="")
