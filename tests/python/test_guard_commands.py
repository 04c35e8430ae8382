"""`loopwright.guard.Commands`: what a user says of programs, where it holds, and how wrong records are told."""

from __future__ import annotations

import copy

import pytest
from loopwright import Agent, UsageError, replay, tool
from loopwright.guard import Commands, Guard, Policy, RiskContext, assess_risk
from loopwright.testing import ScriptedModel, call

RECORDS = """
[[program]]
names = "shipit"
reads = ["= /", "status = -q"]
rules = ["confirm own.push: push -> puts the work before everybody"]
safe = ["shipit status"]
cautious = ["shipit list"]
confirm = ["shipit push"]
"""


@pytest.fixture
def records(tmp_path):
    path = tmp_path / "my-commands.toml"
    path.write_text(RECORDS)
    return path


@tool(risk="confirm")
def shell(command: str) -> str:
    """Runs a command."""
    return f"ran {command}"


# What the built-in shell is: its line says all there is to know.
shell.by_arguments = True


def run(guard, line, **options):
    asked = []

    def approve(question):
        asked.append(question)
        return False

    answers = [call("shell", command=line), "Done."]
    agent = Agent(ScriptedModel(answers), tools=[shell], guard=Guard(approve=approve, **guard), **options)
    return agent.run_sync("Go on."), asked


def test_records_hold_in_a_run_and_its_journal_replays_without_their_file(records, tmp_path):
    place = tmp_path / "run.jsonl"
    result, asked = run({"commands": records}, "shipit status -q", journal=place)
    assert result.output == "Done." and not asked
    records.unlink()
    assert replay(place).identical
    assert "puts the work before everybody" in place.read_text(encoding="utf-8")
    _, asked = run({}, "shipit status -q")
    assert len(asked) == 1
    _, asked = run({"commands": Commands.from_toml(RECORDS)}, "shipit push")
    assert asked[0].rules == ("risk:own.push",) and "puts the work before everybody" in asked[0].why


def test_records_hold_for_risk_and_for_policies(records):
    here = RiskContext(commands=records)
    assert assess_risk("shipit status", context=here) == "safe"
    assert assess_risk(("bash", {"command": "shipit push"}), context=here).asks
    assert assess_risk("shipit status") == "cautious"
    decided = Policy().decide("shell", {"command": "shipit push"}, commands=str(records))
    assert decided.verdict == "ask" and decided.rules == ("risk:own.push",)


def test_wrong_records_are_told_with_file_line_and_way_out(tmp_path, records):
    path = tmp_path / "wrong.toml"
    for text, line in [
        (RECORDS + "safe = 3\n", 9),
        (RECORDS.replace("shipit list", "shipit push"), 7),
        (RECORDS + "unknown = []\n", 9),
        (RECORDS + RECORDS, 10),
        ("[[program]]\nnames = 'git'\nabout = '-x'\nsafe = ['git -x']\n", 3),
    ]:
        path.write_text(text)
        for make in (lambda: Guard(commands=path), lambda: assess_risk("ls", context=RiskContext(commands=path))):
            with pytest.raises(UsageError) as raised:
                make()
            assert f"{path}, line {line}" in str(raised.value), text
            assert raised.value.hint
    path.write_bytes(b"# a\n\xff")
    with pytest.raises(UsageError, match="line 2: the byte 0xff"):
        Commands.load(path)
    with pytest.raises(UsageError, match="can't be read"):
        Guard(commands=tmp_path / "none.toml")
    for wrong in (lambda: Guard(commands=3), lambda: Commands.load(3), lambda: Commands.from_toml(3)):
        with pytest.raises(UsageError):
            wrong()


def test_records_are_values(records):
    one = Commands.load(records)
    same = [copy.copy(one), copy.deepcopy(one), Guard(commands=one).commands, Commands.load(records)]
    assert all(other == one and hash(other) == hash(one) for other in same)
    assert one != Commands.from_toml(RECORDS)
    assert repr(one) == "<Commands of 1 programs>"


def test_the_records_of_a_sub_agent_are_those_of_the_run(records):
    child = Agent(ScriptedModel(["x"]), name="child", description="helps", guard=Guard(commands=records))
    with pytest.raises(UsageError, match="says of programs what the run"):
        Agent(ScriptedModel(["x"]), agents=[child]).run_sync("x")
