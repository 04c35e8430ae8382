"""The debug trace of every round: a view of the events in the journal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import loopwright
import pytest
from loopwright import Agent, SubAgent, UsageError, tool
from loopwright.cli.main import main
from loopwright.hooks import Hook, Veto
from loopwright.models import Call, Response
from loopwright.testing import ScriptedModel, WireServer, call, calls, fault, response, text
from ways import agent_at, run

Serve = Callable[..., WireServer]


@tool(read_only=True)
def look(path: str) -> str:
    """Look."""
    if path == "no":
        raise ValueError("no such file")
    return f"content of {path}"


def test_d44_every_round_is_traced(serve: Serve, wire: str, way: str) -> None:
    server = serve(
        calls(Call("look", {"path": "a"}), Call("look", {"path": "no"})),
        fault.status(529),
        response(Response("It is done.", reasoning="hm" if wire == "anthropic" else "")),
    )
    agent = agent_at(server, wire, tools=[look], retry={"base": 0.01})
    result, _ = run(agent, "go", way, journal=True)
    first, second = result.trace()
    assert (first.run, first.machine, first.round, first.model) == (result.run_id, 0, 1, "test")
    assert (first.tools, first.messages, first.attempts) == (["look"], 1, 1)
    assert first.stream is (way == "stream")
    assert first.emission == ("streamed" if way == "stream" else "whole")
    assert (first.decision, first.rule) == ("continue", "tool_calls")
    assert [(each.name, each.arguments, each.is_error, each.written) for each in first.calls] == [
        ("look", {"path": "a"}, False, False),
        ("look", {"path": "no"}, True, False),
    ]
    assert first.calls[0].excerpt == "content of a"
    assert first.calls[0].length == len("content of a")
    assert first.calls[0].verdict == "allow"
    assert (second.round, second.messages, second.attempts) == (2, 3, 2)
    assert any("attempt 1 failed" in note for note in second.notes)
    assert (second.text, second.decision, second.rule, second.calls) == (11, "complete", "completion", [])
    assert second.at > first.at
    assert sum(each.usage["input"] for each in (first, second)) == result.usage.input_tokens
    assert loopwright.journal.trace(result.journal) == [first, second]


def test_d44_calls_written_as_text_and_hooks_are_told_apart(serve: Serve, way: str) -> None:
    markup = '<tool_call>\n{"name": "look", "arguments": {"path": "b"}}\n</tool_call>'
    server = serve(text(markup), text("done"))
    hooks = [Hook("pre_tool", lambda _: Veto("not now"), name="guard"), Hook("pre_llm", lambda _: 7, name="odd")]
    agent = agent_at(server, "chat", tools=[look], tool_format="hermes", hooks=hooks)
    result, _ = run(agent, "go", way, journal=True)
    first, _ = result.trace()
    assert [(each.name, each.written) for each in first.calls] == [("look", True)]
    assert "pre_tool guard: veto (not now)" in first.hooks
    assert any(line.startswith("pre_llm odd: failed") for line in first.hooks)


def test_d44_the_command_line_shows_it(serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = serve(call("look", path="a"), text("done"))
    path = tmp_path / "a run.jsonl"
    agent_at(server, tools=[look]).run_sync("go", journal=path)
    assert main(["replay", str(path), "--trace"]) == 0
    shown = capsys.readouterr().out
    for words in (
        "round 1",
        "call      look",
        "content of a",
        "decided   continue by tool_calls",
        "round 2",
        "complete",
    ):
        assert words in shown
    assert main(["replay", str(path), "--trace", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert [each["round"] for each in found["trace"]] == [1, 2]


def test_d44_a_run_of_a_store_is_traced_like_any_other(serve: Serve, tmp_path: Path) -> None:
    server = serve(call("look", path="a"), text("done"))
    result = agent_at(server, tools=[look]).run_sync("go", journal=tmp_path / "all runs.db")
    assert [each.round for each in result.trace()] == [1, 2]
    assert loopwright.journal.trace(tmp_path / "all runs.db", result.run_id) == result.trace()


def test_d44_rounds_of_sub_agents_that_run_at_once_are_told_apart() -> None:
    models = {name: ScriptedModel([call("look", path=name), f"{name} is dry."]) for name in ("roof", "cellar")}
    children = [SubAgent(name, f"knows the {name}", tools=[look], model=model) for name, model in models.items()]
    asked = calls(*(Call("spawn", {"agent": name, "task": "How is it?"}) for name in models))
    result = Agent(ScriptedModel([asked, "Both are dry."]), agents=children).run_sync("How is the house?", journal=True)
    found = result.trace()
    assert sorted((each.agent, each.round) for each in found) == [
        ("", 1), ("", 2), ("cellar", 1), ("cellar", 2), ("roof", 1), ("roof", 2),
    ]  # fmt: skip
    for each in found:
        told = [(one.name, one.arguments, one.verdict, one.is_error) for one in each.calls]
        if each.agent:
            assert told == ([("look", {"path": each.agent}, "allow", False)] if each.round == 1 else [])
        elif each.round == 1:
            assert [one[0] for one in told] == ["spawn", "spawn"]
            assert [one[1]["agent"] for one in told] == ["roof", "cellar"]
        assert each.decision == ("continue" if each.round == 1 else "complete")


def test_d44_damage_and_absence(serve: Serve, tmp_path: Path) -> None:
    server = serve(call("look", path="a"), text("done"))
    path = tmp_path / "run.jsonl"
    result = agent_at(server, tools=[look]).run_sync("go", journal=path)
    assert len(result.trace()) == 2
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:3], lines[3].replace("content", "c0ntent"), *lines[4:]]))
    assert len(loopwright.journal.trace(path)) == 1
    for end in range(1, len(lines)):
        path.write_text("".join(lines[:end]) + lines[end][: len(lines[end]) // 2])
        assert len(loopwright.journal.trace(path)) <= 2
    with pytest.raises(UsageError) as caught:
        agent_at(serve("done")).run_sync("go").trace()
    assert caught.value.code == "no_journal"
    with pytest.raises(UsageError):
        loopwright.journal.trace(tmp_path / "none.jsonl")
