"""Recorded runs as cases: what they hold, and how they are played with the agent of today, without network or effects."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from loopwright import Agent, Budget, Guard, Journal, ToolError, UsageError, evals, tool
from loopwright.guard import Policy
from loopwright.hooks import AddContext, Hook
from loopwright.messages import Message
from loopwright.testing import ScriptedModel, WireServer, call, calls, fault, no_real_requests, text

JOURNALS = Path(__file__).parents[1] / "data" / "journals"
FORBID = """
[[rule]]
id = "closed"
verdict = "forbid"
why = "the stores are closed"
tool = ["stock"]
[rule.examples]
match = [{ tool = "stock" }]
no_match = [{ tool = "look" }]
"""


@pytest.fixture
def ran():
    return []


@pytest.fixture
def stock(ran):
    @tool
    def stock(part: str) -> int:
        "How many of a part there are."
        ran.append(part)
        if part == "none":
            raise ToolError("there is no such part", "gone")
        return 120

    return stock


def stores(stock, *script, **options):
    return Agent(ScriptedModel([*script] or [call("stock", part="bolts"), "There are 120."]), tools=[stock], **options)


def test_the_runs_of_a_store_are_cases_the_oldest_first(tmp_path, stock):
    agent = stores(stock, call("stock", part="bolts"), "There are 120.", "None.", journal=tmp_path / "runs.db")
    first, second = agent.run_sync("How many bolts?"), agent.run_sync("And nuts?", messages=[Message.user("Hello.")])
    cases = evals.recorded(tmp_path / "runs.db")
    assert [case.run for case in cases] == [first.run_id, second.run_id]
    assert [case.prompt.text for case in cases] == ["How many bolts?", "And nuts?"]
    assert [case.expected for case in cases] == ["There are 120.", "None."]
    assert [message.text for message in cases[1].before] == ["Hello."]
    assert cases[0].stop_reason == "natural"
    assert [case.run for case in evals.recorded(tmp_path / "runs.db", second.run_id[:8])] == [second.run_id]


def test_files_and_folders_of_journals_are_cases_and_unfinished_runs_are_none(tmp_path, stock):
    result = stores(stock).run_sync("How many bolts?", journal=tmp_path)
    path = Path(result.journal)
    (tmp_path / "cut.jsonl").write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    assert [case.run for case in evals.recorded(tmp_path)] == [result.run_id]
    assert [case.expected for case in evals.recorded(path)] == ["There are 120."]
    assert [case.expected for case in evals.recorded(path.read_text())] == ["There are 120."]


def test_a_run_is_played_without_tools_models_or_people(tmp_path, stock, ran):
    with WireServer([call("stock", part="bolts"), text("There are 120.")]) as server:
        from loopwright import Model

        agent = Agent(Model("anthropic:m", base_url=server.url, api_key="k"), tools=[stock], guard=lambda _: True)
        agent.run_sync("How many bolts?", journal=tmp_path / "one.jsonl")
    ran.clear()
    today = Agent("anthropic:m", tools=[stock])
    (case,) = evals.recorded(tmp_path / "one.jsonl")
    with no_real_requests():
        played = evals.play_sync(today, case)
    assert played.same, played.change
    assert played.result.output == "There are 120."
    assert not ran


def test_retries_of_then_are_no_decision(tmp_path, stock):
    with WireServer([fault.status(529), call("stock", part="bolts"), text("There are 120.")]) as server:
        from loopwright import Model

        model = Model("anthropic:m", base_url=server.url, api_key="k", retry={"base": 0.01, "cap": 0.02})
        Agent(model, tools=[stock]).run_sync("How many bolts?", journal=tmp_path / "one.jsonl")
    (case,) = evals.recorded(tmp_path / "one.jsonl")
    assert evals.play_sync(Agent("anthropic:m", tools=[stock]), case).same


def test_failures_of_tools_are_played_as_they_were(tmp_path, stock, ran):
    agent = stores(stock, calls(call("stock", part="none"), call("stock", part="bolts")), "There are 120.")
    agent.run_sync("How many?", journal=tmp_path / "one.jsonl")
    ran.clear()
    (case,) = evals.recorded(tmp_path / "one.jsonl")
    played = evals.play_sync(agent, case)
    assert played.same, played.change
    assert [made.failure for made in played.result.tool_calls] == ["gone", None]
    assert not ran


def test_a_person_answers_as_then(tmp_path):
    paid = []

    @tool(risk="confirm")
    def pay(amount: int) -> str:
        "Pay."
        paid.append(amount)
        return "paid"

    script = [calls(call("pay", amount=3), call("pay", amount=30)), "Paid 3."]
    agent = Agent(ScriptedModel(script), tools=[pay], guard=lambda asked: asked.arguments["amount"] < 5 or "too much")
    agent.run_sync("Pay 3 and 30.", journal=tmp_path / "one.jsonl")
    assert paid == [3]
    (case,) = evals.recorded(tmp_path / "one.jsonl")
    played = evals.play_sync(Agent("openai:gpt-5", tools=[pay]), case)
    assert played.same, played.change
    assert [made.failure for made in played.result.tool_calls] == [None, "denied"]
    assert paid == [3]


def test_a_policy_that_forbids_a_call_is_the_first_decision_that_changed(tmp_path, stock):
    agent = stores(stock)
    agent.run_sync("How many bolts?", journal=tmp_path / "one.jsonl")
    (case,) = evals.recorded(tmp_path / "one.jsonl")
    played = evals.play_sync(agent.clone(guard=Guard(policy=Policy.from_toml(FORBID))), case)
    assert not played.same
    change = played.change
    assert (change.round, change.what, change.before, change.now) == (1, "verdict", "allow", "forbid")
    assert change.event == 2
    assert str(change) == 'round 1: the call stock {"part": "bolts"} was allow, and is forbid now (event 2)'


def test_a_tool_that_is_gone_is_a_change(tmp_path, stock):
    agent = stores(stock)
    agent.run_sync("How many bolts?", journal=tmp_path / "one.jsonl")
    (case,) = evals.recorded(tmp_path / "one.jsonl")
    played = evals.play_sync(agent.clone(tools=[]), case)
    assert not played.same
    assert (played.change.round, played.change.what) == (1, "decision")
    assert "continue" in played.change.before


def test_a_limit_that_ends_the_run_earlier_is_named(tmp_path, stock):
    agent = stores(stock)
    agent.run_sync("How many bolts?", journal=tmp_path / "one.jsonl")
    (case,) = evals.recorded(tmp_path / "one.jsonl")
    played = evals.play_sync(agent.clone(budget=Budget(rounds=1)), case)
    assert not played.same
    assert (played.change.round, played.change.what) == (1, "decision")
    assert "limit" in played.change.now


def test_a_call_that_was_never_recorded_is_not_run(tmp_path, stock, ran):
    agent = stores(stock)
    agent.run_sync("How many bolts?", journal=tmp_path / "one.jsonl")
    ran.clear()
    (case,) = evals.recorded(tmp_path / "one.jsonl")
    from loopwright.hooks import Replace

    other = agent.clone(hooks=Hook("pre_tool", lambda context: Replace({"part": "nuts"})))
    played = evals.play_sync(other, case)
    assert not ran
    assert not played.same
    assert played.change.what == "call"
    assert "nuts" in played.change.now


def test_a_run_that_asks_more_than_was_recorded_is_a_change_and_no_error(tmp_path):
    Agent(ScriptedModel(["Let me look into the file first."])).run_sync("Hello.", journal=tmp_path / "one.jsonl")
    (case,) = evals.recorded(tmp_path / "one.jsonl")

    @tool(name="extra")
    def extra() -> str:
        "Nothing."
        return ""

    played = evals.play_sync(Agent("openai:gpt-5", output_type=int, tools=[extra]), case)
    assert not played.same
    assert played.change is not None


def test_instructions_that_decide_nothing_are_no_change(tmp_path, stock):
    agent = stores(stock)
    agent.run_sync("How many bolts?", journal=tmp_path / "one.jsonl")
    (case,) = evals.recorded(tmp_path / "one.jsonl")
    assert evals.play_sync(agent.clone(instructions="Be brief."), case).same
    assert evals.play_sync(
        agent.clone(hooks=Hook("pre_assess", lambda context: AddContext("It is Sunday."))), case
    ).same


def test_hooks_and_settings_of_the_agent_stay_as_they_are(tmp_path, stock):
    agent = stores(stock)
    agent.run_sync("How many bolts?", journal=tmp_path / "one.jsonl")
    (case,) = evals.recorded(tmp_path / "one.jsonl")
    evals.play_sync(agent, case)
    assert agent.model == "scripted"
    assert not agent._given["hooks"]


def test_playing_works_within_a_running_loop(tmp_path, stock):
    agent = stores(stock)
    agent.run_sync("How many bolts?", journal=tmp_path / "one.jsonl")
    (case,) = evals.recorded(tmp_path / "one.jsonl")

    async def main():
        return await asyncio.gather(evals.play(agent, case), evals.play(agent, case))

    assert [played.same for played in asyncio.run(main())] == [True, True]


@pytest.mark.parametrize("name", ["grounded_verified", "research_by_rules"])
def test_a_run_of_another_machine_is_a_case_that_no_agent_plays(name):
    (case,) = evals.recorded(JOURNALS / f"{name}.jsonl")
    with pytest.raises(UsageError) as refused:
        evals.play_sync(Agent(ScriptedModel([])), case)
    assert refused.value.code == "other_machine"


@pytest.mark.parametrize(
    "name", ["children_at_once", "tools_that_fail", "tools_in_rounds", "approval_denied_then_other", "retries"]
)
def test_recorded_journals_of_all_kinds_are_cases(name):
    (case,) = evals.recorded(JOURNALS / f"{name}.jsonl")
    assert case.prompt.text
    assert case.expected


def test_places_where_nothing_is(tmp_path):
    with pytest.raises(UsageError) as missing:
        evals.recorded(tmp_path / "none.db")
    assert missing.value.code == "journal_not_found"
    (tmp_path / "empty").mkdir()
    assert evals.recorded(tmp_path / "empty") == []
    (tmp_path / "text.jsonl").write_text("hello\n")
    with pytest.raises(UsageError) as damaged:
        evals.recorded(tmp_path / "text.jsonl")
    assert damaged.value.code == "invalid_journal"


def test_a_store_is_a_dataset_of_pydantic_evals(tmp_path, stock):
    pytest.importorskip("pydantic_evals")
    agent = stores(stock, call("stock", part="bolts"), "There are 120.", call("stock", part="bolts"), "There are 120.")
    run = agent.run_sync("How many bolts?", journal=tmp_path / "runs.db").run_id
    assert len(Journal(tmp_path / "runs.db").runs()) == 1
    dataset = evals.dataset(tmp_path / "runs.db")
    (case,) = dataset.cases
    assert (case.name, case.inputs, case.expected_output) == (run, "How many bolts?", "There are 120.")
    report = asyncio.run(dataset.evaluate(evals.task(agent), progress=False))
    assert report.cases[0].assertions["EqualsExpected"].value is True
