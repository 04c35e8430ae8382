"""A person answers later: the run ends with its questions, and goes on with the answers in any process."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Approval, Edit, Guard, Journal, Result, Toolset, UsageError, replay, tool
from loopwright.errors import NoOutput
from loopwright.events import Paused, RunFinished
from loopwright.guard import Returned
from loopwright.models import Call, Response
from loopwright.page.site import data_of
from loopwright.testing import ScriptedModel, call, calls

LATER = Guard(approve="suspend")
paid: list[tuple[int, str]] = []
WAYS = ("run_sync", "run", "stream", "start")


@pytest.fixture(autouse=True)
def _nothing_paid() -> None:
    paid.clear()


@tool(risk="confirm")
def pay(amount: int, to: str) -> str:
    """Pays somebody."""
    paid.append((amount, to))
    return f"{amount} paid to {to}"


@tool(read_only=True)
def look(what: str = "") -> str:
    """Looks."""
    return f"seen {what}"


def agent(*steps: Any, **options: Any) -> Agent[None, str]:
    return Agent(ScriptedModel(list(steps)), **{"tools": [pay, look], "guard": LATER, **options})


def run(way: str, one: Agent[None, str], journal: Path, prompt: str = "Pay Ann 500.") -> Result[str]:
    async def streamed() -> Result[str]:
        async with one.stream(prompt, journal=journal) as stream:
            events = [event async for event in stream]
        assert isinstance(events[-1], RunFinished)
        assert [type(each) for each in events].count(Paused) == 1
        return stream.result

    async def started() -> Result[str]:
        return await one.start(prompt, journal=journal)

    if way == "run_sync":
        return one.run_sync(prompt, journal=journal)
    if way == "run":
        return asyncio.run(one.run(prompt, journal=journal))
    return asyncio.run(streamed() if way == "stream" else started())


def store(tmp_path: Path, kind: str) -> Path:
    return tmp_path / {"store": "runs.db", "file": "one.jsonl", "folder": "runs"}[kind]


@pytest.mark.parametrize("kind", ["store", "file", "folder"])
@pytest.mark.parametrize("way", WAYS)
def test_n3_a_run_is_left_with_its_question_and_goes_on_with_the_answer(way: str, kind: str, tmp_path: Path) -> None:
    left = run(way, agent(call("pay", amount=500, to="Ann")), store(tmp_path, kind))
    assert (left.stop_reason, left.ok, left.final, paid) == ("suspended", False, None, [])
    assert left.message is not None
    assert "Resume the run with the answers" in left.message
    (question,) = left.pending
    assert (question.name, question.arguments, question.risk) == ("pay", {"amount": 500, "to": "Ann"}, "confirm")
    assert "amount: 500" in question.shown
    with pytest.raises(NoOutput, match="suspended"):
        _ = left.output
    done = agent("Paid.").resume_sync(left, {question.call_id: True})
    assert (done.output, done.stop_reason, done.pending, paid) == ("Paid.", "natural", [], [(500, "Ann")])
    assert replay(str(done.journal), done.run_id).identical


def test_n3_an_edit_pays_what_the_person_wrote_and_a_no_is_told_to_the_model(tmp_path: Path) -> None:
    place = tmp_path / "runs.db"
    left = agent(call("pay", amount=500, to="Ann")).run_sync("Pay Ann 500.", journal=place)
    edit = {left.pending[0].call_id: Edit({"amount": 50, "to": "Ann"})}
    assert agent("Paid 50.").resume_sync(left, edit).output == "Paid 50."
    assert paid == [(50, "Ann")]
    left = agent(call("pay", amount=500, to="Ann")).run_sync("Pay Ann 500.", journal=place)
    model = ScriptedModel(["I did not."])
    refused = Agent(model, tools=[pay, look], guard=LATER).resume_sync(left, {left.pending[0].call_id: "ask me in May"})
    assert (refused.output, paid) == ("I did not.", [(50, "Ann")])
    assert "ask me in May" in model.requests[0].to_json()


def test_n3_all_questions_of_a_round_are_pending_at_once_and_some_may_be_answered(tmp_path: Path) -> None:
    three = calls(*[call("pay", amount=each, to="Ann") for each in (1, 2)], call("look", what="around"))
    left = agent(three).run_sync("Pay twice.", journal=tmp_path / "runs.db")
    first, second = left.pending
    assert [each.arguments["amount"] for each in left.pending] == [1, 2]
    again = agent().resume_sync(left, {first.call_id: True})
    assert (again.stop_reason, [each.arguments["amount"] for each in again.pending]) == ("suspended", [2])
    assert again.run_id == left.run_id
    done = agent("Both are done.").resume_sync(again, {second.call_id: False})
    assert (done.output, paid) == ("Both are done.", [(1, "Ann")])
    whole = agent(three).run_sync("Pay twice.", journal=tmp_path / "runs.db")
    answers = {each.call_id: True for each in whole.pending}
    assert agent("Both are done.").resume_sync(whole, answers).ok
    assert paid == [(1, "Ann"), (1, "Ann"), (2, "Ann")]


def test_n3_what_is_under_way_is_heard_out_before_the_run_is_left(tmp_path: Path) -> None:
    @tool(read_only=True)
    async def slow() -> str:
        """Takes its time."""
        await asyncio.sleep(0.05)
        return "it was slow"

    both = calls(call("pay", amount=1, to="Ann"), call("slow"))
    one = Agent(ScriptedModel([both]), tools=[pay, slow], guard=LATER)
    left = asyncio.run(one.run("Both.", journal=tmp_path / "runs.db"))
    assert len(left.pending) == 1
    model = ScriptedModel(["Done."])
    Agent(model, tools=[pay, slow], guard=LATER).resume_sync(left, {left.pending[0].call_id: True})
    assert "it was slow" in model.requests[0].to_json()
    assert "1 paid to Ann" in model.requests[0].to_json()


def test_n3_questions_of_sub_agents_are_pending_with_their_path(tmp_path: Path) -> None:
    def lead(*steps: Any, clerk: Any) -> Agent[None, str]:
        inner = Agent(ScriptedModel(clerk), tools=[pay], name="clerk", description="Pays.")
        return Agent(ScriptedModel(list(steps)), agents=[inner], guard=LATER)

    started = call("spawn", agent="clerk", task="Pay Ann 7.")
    left = lead(started, clerk=[call("pay", amount=7, to="Ann")]).run_sync("Have Ann paid.", journal=tmp_path / "r.db")
    (question,) = left.pending
    assert question.agent == "clerk"
    assert question.call_id.startswith(f"{question.path}/")
    done = lead("Ann has it.", clerk=["Paid 7."]).resume_sync(left, {question.call_id: True})
    assert (done.output, paid) == ("Ann has it.", [(7, "Ann")])


def test_n3_the_answer_comes_in_another_process_by_the_name_of_the_run(tmp_path: Path) -> None:
    left = agent(call("pay", amount=5, to="Ann")).run_sync("Pay.", journal=tmp_path / "runs.db")
    assert [each.ended for each in Journal(tmp_path / "runs.db").runs()] == [None]
    program = f"""
        from loopwright import Agent, Guard, tool
        from loopwright.testing import ScriptedModel

        @tool(risk="confirm")
        def pay(amount: int, to: str) -> str:
            "Pays somebody."
            print(amount, to)
            return "paid"

        @tool(read_only=True)
        def look(what: str = "") -> str:
            "Looks."
            return "seen"

        agent = Agent(ScriptedModel(["Paid."]), tools=[pay, look], guard=Guard(approve="suspend"))
        place = {str(tmp_path / "runs.db")!r}
        print(agent.resume_sync(place, {{{left.pending[0].call_id!r}: True}}, run={left.run_id!r}).output)
    """
    told = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True, timeout=60
    )
    assert told.stdout.split() == ["5", "Ann", "Paid."]


def test_n3_where_the_guard_asks_a_person_the_answers_go_first(tmp_path: Path) -> None:
    two = calls(*[call("pay", amount=each, to="Ann") for each in (1, 2)])
    left = agent(two).run_sync("Pay twice.", journal=tmp_path / "runs.db")
    asked: list[Approval] = []
    there = Guard(approve=lambda question: asked.append(question) is None)
    done = agent("Done.", guard=there).resume_sync(left, {left.pending[0].call_id: False})
    assert (done.output, [each.arguments["amount"] for each in asked], paid) == ("Done.", [2], [(2, "Ann")])


def test_n3_an_answer_is_for_one_call_of_the_run_alone(tmp_path: Path) -> None:
    left = agent(call("pay", amount=1, to="Ann")).run_sync("Pay.", journal=tmp_path / "runs.db")
    name = left.pending[0].call_id
    # The model calls the next one by the same id.
    again = agent(Response(calls=[Call("pay", {"amount": 9_000, "to": "Eve"}, name)]))
    second = again.resume_sync(left, {name: True})
    assert (second.stop_reason, paid) == ("suspended", [(1, "Ann")])
    assert second.pending[0].arguments == {"amount": 9_000, "to": "Eve"}


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ({"nobody": True}, "no_such_call"),
        ("8f2c", "invalid_answers"),
        ({"x": 5}, "invalid_answers"),
        ({"x": Edit({"amount": float("nan")})}, "invalid_answers"),
    ],
)
def test_n3_answers_that_do_not_fit_are_errors_and_the_run_stays_as_it_is(
    answers: Any, code: str, tmp_path: Path
) -> None:
    left = agent(call("pay", amount=1, to="Ann")).run_sync("Pay.", journal=tmp_path / "runs.db")
    with pytest.raises(UsageError) as caught:
        agent("Paid.").resume_sync(left, answers)
    assert caught.value.code == code
    assert caught.value.hint
    assert agent("Paid.").resume_sync(left, {left.pending[0].call_id: True}).output == "Paid."


def test_n3_a_run_without_a_journal_can_not_be_left() -> None:
    with pytest.raises(UsageError) as caught:
        agent(call("pay", amount=1, to="Ann")).run_sync("Pay.")
    assert caught.value.code == "no_journal"
    assert paid == []


def test_n3_pending_calls_are_kept_by_copies_and_by_json(tmp_path: Path) -> None:
    left = agent(call("pay", amount=1, to="Ann")).run_sync("Pay.", journal=tmp_path / "runs.db")
    assert pickle.loads(pickle.dumps(left)).pending == left.pending  # noqa: S301 - our own
    told = json.loads(json.dumps(left.to_dict()))
    assert Result.from_dict(told).pending == left.pending


def test_n3_an_answer_to_what_was_shown_is_none_to_what_an_edit_made_of_it(tmp_path: Path) -> None:
    @tool(risk="confirm")
    def shell(command: str) -> str:
        """Runs a command."""
        paid.append((0, command))
        return "done"

    def runs(*steps: Any) -> Agent[None, str]:
        return Agent(ScriptedModel(list(steps)), tools=[shell], guard=LATER, journal=tmp_path / "shell.db")

    left = runs(call("shell", command="rm -r build")).run_sync("Clean up.")
    name = left.pending[0].call_id
    riskier = runs().resume_sync(left, {name: Edit({"command": "git push --force origin main"})})
    assert (riskier.stop_reason, riskier.pending[0].risk) == ("suspended", "dangerous")
    # The page that shows the first call is still open somewhere.
    for source, given in ((left, {}), (str(tmp_path / "shell.db"), {"run": left.run_id})):
        with pytest.raises(UsageError) as caught:
            runs("no").resume_sync(source, {name: True}, **given)  # type: ignore[arg-type]
        assert caught.value.code == "no_such_call"
    assert paid == []
    assert runs("Done.").resume_sync(riskier, {riskier.pending[0].call_id: True}).output == "Done."
    assert paid == [(0, "git push --force origin main")]


@pytest.mark.parametrize("answer", ["\ud800", "", Edit("text"), Edit(None), Edit([1]), Edit({"to": "\ud800"}), None, 1])
def test_n3_an_answer_that_no_journal_holds_leaves_the_run_as_it_is(answer: Any, tmp_path: Path) -> None:
    left = agent(call("pay", amount=1, to="Ann")).run_sync("Pay.", journal=tmp_path / "runs.db")
    name = left.pending[0].call_id
    with pytest.raises(UsageError) as caught:
        agent("no").resume_sync(left, {name: answer})
    assert caught.value.code == "invalid_answers"
    assert agent("Paid.").resume_sync(left, {name: True}).output == "Paid."


def test_n3_further_attempts_of_a_run_that_was_left_keep_their_journals_beside_it(tmp_path: Path) -> None:
    def typed(*steps: Any) -> Agent[None, int]:
        return Agent(ScriptedModel(list(steps)), tools=[pay], guard=LATER, output_type=int)

    place = tmp_path / "runs.db"
    left = typed(call("pay", amount=1, to="Ann")).run_sync("Pay.", journal=place)
    assert typed("no number", "3").resume_sync(left, {left.pending[0].call_id: True}).output == 3
    later = typed("no number", call("pay", amount=2, to="Ann")).run_sync("Pay.", journal=place)
    assert [each.arguments["amount"] for each in later.pending] == [2]
    assert typed("4").resume_sync(later, {later.pending[0].call_id: True}).output == 4


def test_n3_calls_that_need_nobody_do_not_hide_the_questions_behind_them(tmp_path: Path) -> None:
    gap = calls(call("pay", amount=1, to="Ann"), call("look"), call("pay", amount=2, to="Ann"))
    left = agent(gap).run_sync("Pay twice.", journal=tmp_path / "runs.db")
    first, second = left.pending
    with pytest.raises(UsageError) as caught:
        agent().resume_sync(left, {second.call_id: False})
    assert caught.value.code == "answer_first"
    assert first.call_id in caught.value.message
    assert agent("Done.").resume_sync(left, {second.call_id: False, first.call_id: True}).output == "Done."
    assert paid == [(1, "Ann")]


def test_n3_what_links_led_to_when_they_were_shown_is_agreed_to(tmp_path: Path) -> None:
    @tool(risk="confirm")
    def wipe(path: str) -> str:
        """Deletes a file."""
        paid.append((0, path))
        return "gone"

    (tmp_path / "link").symlink_to("/etc/nowhere")

    def wiper(*steps: Any) -> Agent[None, str]:
        guard = Guard(approve="suspend", workspace=tmp_path)
        return Agent(ScriptedModel(list(steps)), tools=[wipe], guard=guard, journal=tmp_path / "runs.db")

    left = wiper(call("wipe", path="link")).run_sync("Wipe.")
    assert left.pending[0].links
    assert wiper("Done.").resume_sync(left, {left.pending[0].call_id: True}).output == "Done."
    assert len(paid) == 1
    # Where it leads elsewhere by the time of the answer, nothing runs.
    again = wiper(call("wipe", path="link")).run_sync("Wipe.")
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("/etc/passwd")
    asked = wiper().resume_sync(again, {again.pending[0].call_id: True})
    assert (asked.stop_reason, len(paid)) == ("suspended", 1)
    assert "/etc/passwd" in asked.pending[0].links.values()


def test_n3_the_rounds_of_a_run_that_was_left_can_be_traced(tmp_path: Path) -> None:
    left = agent(call("pay", amount=1, to="Ann")).run_sync("Pay.", journal=tmp_path / "runs.db")
    assert len(left.trace()) == 1
    done = agent("Paid.").resume_sync(left, {left.pending[0].call_id: True})
    assert len(done.trace()) == 2


def test_n3_a_run_is_left_though_somebody_paused_it_and_let_it_go_on(tmp_path: Path) -> None:
    @tool(read_only=True)
    async def slow() -> str:
        """Takes its time."""
        await asyncio.sleep(0.2)
        return "slow"

    async def main() -> Result[str]:
        # The question waits behind the slow call, or beside it.
        both = calls(call("slow"), call("pay", amount=1, to="Ann"))
        one = Agent(ScriptedModel([both]), tools=[pay, slow], guard=LATER, journal=tmp_path / "runs.db")
        handle = one.start("Both.")
        await asyncio.sleep(0.05)
        handle.pause()
        handle.resume()
        return await asyncio.wait_for(handle, 20)

    assert len(asyncio.run(main()).pending) == 1


@pytest.mark.parametrize("place", [True, None])
def test_n3_a_journal_in_memory_is_none_to_be_left_in(place: Any) -> None:
    with pytest.raises(UsageError) as caught:
        agent(call("pay", amount=1, to="Ann")).run_sync("Pay.", journal=place)
    assert caught.value.code == "no_journal"


def broken_off(tmp_path: Path, one: Agent[None, str]) -> Path:
    """The journal of a run that was killed while its first call was under way."""
    place = tmp_path / "whole.jsonl"
    one.run_sync("Stamp it.", journal=place)
    lines = place.read_text(encoding="utf-8").splitlines(keepends=True)
    (first,) = [at for at, line in enumerate(lines) if '{"executed"' in line][:1]
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(lines[:first]), encoding="utf-8")
    return cut


@tool
def stamp(letter: str) -> str:
    """Stamps a letter."""
    paid.append((0, letter))
    return f"stamped {letter}"


STAMPED: dict[str, tuple[Any, str | None, int]] = {
    "again": (True, None, 2),
    "no": (False, "unknown", 1),
    "why": ("it was lost", "unknown", 1),
    "gave": (Returned("stamped yesterday"), None, 1),
}


@pytest.mark.parametrize("answer", STAMPED)
@pytest.mark.parametrize("where", ["agent", "sub-agent", "toolset"])
def test_n3_a_call_in_doubt_is_pending_until_somebody_knows(answer: str, where: str, tmp_path: Path) -> None:
    def one(*steps: Any, clerk: Any = ()) -> Agent[None, str]:
        if where == "agent":
            return Agent(ScriptedModel(list(steps or clerk)), tools=[stamp], guard=LATER)
        if where == "toolset":
            offered = Toolset(lambda context: [stamp])
            return Agent(ScriptedModel(list(steps or clerk)), tools=[offered], guard=LATER)
        inner = Agent(ScriptedModel(list(clerk)), tools=[stamp], name="clerk", description="Stamps.")
        return Agent(ScriptedModel(list(steps)), agents=[inner], guard=LATER)

    script = [call("stamp", letter="A"), "Stamped."]
    lead = [call("spawn", agent="clerk", task="Stamp it.")] if where == "sub-agent" else []
    done = ["Done."] if lead else []
    cut = broken_off(tmp_path, one(*lead, *done, clerk=script))
    shown = data_of(cut)["pending"]
    left = one().resume_sync(cut)
    (question,) = left.pending
    assert [(each["kind"], each["call_id"]) for each in shown] == [(question.kind, question.call_id)]
    assert (left.stop_reason, question.kind, question.name, question.arguments) == (
        "suspended",
        "in_doubt",
        "stamp",
        {"letter": "A"},
    )
    assert "may have taken effect" in question.why
    assert (question.agent, "/" in question.call_id) == (("clerk", True) if lead else (None, False))
    assert json.loads(json.dumps(dataclasses.asdict(question)))["expires_in"] is None
    with pytest.raises(UsageError, match="can't be Edit") as caught:
        one().resume_sync(left, {question.call_id: Edit({"letter": "B"})})
    assert caught.value.hint is not None and "Returned(value)" in caught.value.hint
    # It is pending for as long as nobody says anything.
    assert [each.call_id for each in one().resume_sync(cut).pending] == [question.call_id]
    said, failure, count = STAMPED[answer]
    after = one(*done, clerk=script[1:]).resume_sync(left, {question.call_id: said})
    assert after.ok, after.message
    assert len(paid) == count
    calls_of = after.children[0].result.tool_calls if lead else after.tool_calls
    assert [each.failure for each in calls_of] == [failure]
    if isinstance(said, Returned):
        assert [each.result for each in calls_of] == ["stamped yesterday"]
    assert replay(str(after.journal)).identical
