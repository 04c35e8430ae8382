"""Journals: every run replays bit for bit, files and memory, whole or cut."""

from __future__ import annotations

import asyncio
import json
import os
import re
from typing import Any

import pytest
from loopwright import Agent, Budget, Journal, Model, UsageError, replay, tool
from loopwright.journal import diff
from loopwright.models import ModelFailure
from loopwright.run import Signal
from loopwright.testing import ScriptedModel, call, fault, text
from ways import agent_at, run


@tool(read_only=True)
def look(query: str) -> str:
    """Look."""
    return query


@tool(risk="confirm")
def remove(path: str) -> str:
    """Remove."""
    return path


SCRIPTS: dict[str, list[Any]] = {
    "text": ["hello"],
    "tools": [call("look", query="a"), call("look", query="b"), "done"],
    "retries": [ModelFailure("x", "overloaded"), ModelFailure("x", "cut"), "done"],
    "denied": [call("remove", path="x"), "done"],
    "limit": [call("look", query=str(n)) for n in range(9)],
    "stuck": [call("look", query="same")] * 9,
}


@pytest.mark.parametrize("name", list(SCRIPTS))
def test_every_run_replays(tmp_path: Any, way: str, name: str) -> None:
    agent = Agent(
        Model(ScriptedModel(SCRIPTS[name]), retry={"base": 0.01}), tools=[look, remove], budget=Budget(rounds=6)
    )
    result, _ = run(agent, "go", way, journal=tmp_path, seed=7)
    assert result.journal == str(tmp_path / f"{result.run_id}.jsonl")
    found = replay(result.journal)
    assert found.identical
    assert found.divergence is None
    assert found.run == result.run_id
    assert not found.truncated
    assert found.messages == result.messages
    assert found.outcome is not None
    assert found.outcome["stop"] == result.stop_reason
    assert found.outcome["final"] == result.final


def test_over_the_wire_with_faults(serve: Any, wire: str, way: str, tmp_path: Any) -> None:
    server = serve(
        fault.status(529), call("look", query="a"), text("some more words " * 6).but(fault.cut(after=6)), "done"
    )
    agent = agent_at(server, wire, tools=[look], retry={"base": 0.01}, journal=tmp_path)
    options = {} if way == "stream" else {"on_event": lambda _: None}
    result, _ = run(agent, "go", way, **options)
    assert replay(result.journal or "").identical
    assert result.final == "done"


def test_in_memory(way: str) -> None:
    result, _ = run(Agent(ScriptedModel(["hi\nthere"])), "line\nbreak", way, journal=True)
    assert result.journal is not None
    assert replay(result.journal).identical
    assert json.loads(result.journal.splitlines()[0])["run"] == result.run_id


def test_a_journal_that_was_cut_replays_as_far_as_it_goes(tmp_path: Any) -> None:
    result = Agent(ScriptedModel(SCRIPTS["tools"]), tools=[look]).run_sync("go", journal=True)
    whole = (result.journal or "").encode()
    path = tmp_path / "cut.jsonl"
    first = whole.index(b"\n") + 1
    for length in range(first, len(whole), 61):
        if whole[length : length + 1] == b"\n":
            continue  # a line that lacks nothing but its end is whole
        path.write_bytes(whole[:length])
        found = replay(path)
        assert found.identical
        assert found.truncated is (whole[length - 1 : length] != b"\n")
        assert found.outcome is None


def test_a_journal_that_was_changed_says_where() -> None:
    result = Agent(ScriptedModel(SCRIPTS["tools"]), tools=[look]).run_sync("go", journal=True)
    text = (result.journal or "").replace('"text":"a"', '"text":"A"', 1)
    assert text != result.journal
    found = replay(text)
    assert not found.identical
    assert found.damage is not None
    assert found.damage["line"] == 4
    assert found.events == 2


def test_a_journal_of_the_first_version_has_no_sums_and_says_where_it_differs() -> None:
    result = Agent(ScriptedModel(SCRIPTS["tools"]), tools=[look]).run_sync("go", journal=True)
    first = re.sub(r',"sum":"[0-9a-f]{16}"', "", result.journal or "").replace('"loopwright":2', '"loopwright":1')
    assert replay(first).identical
    found = replay(first.replace('"text":"a"', '"text":"A"', 1))
    assert not found.identical
    assert found.divergence is not None
    assert found.divergence["seq"] == 3


def test_what_is_no_journal(tmp_path: Any) -> None:
    with pytest.raises(UsageError) as caught:
        replay(tmp_path / "missing.jsonl")
    assert caught.value.code == "journal_not_found"
    for content in (b"", b"nonsense\n", b"{}\n", b"\xff\xfe\n", b'{"loopwright":99,"run":"x","machine":{}}\n'):
        path = tmp_path / "odd.jsonl"
        path.write_bytes(content)
        with pytest.raises(UsageError):
            replay(path)


def test_a_journal_grows_while_the_run_goes_on(tmp_path: Any) -> None:
    path = tmp_path / "run.jsonl"
    sizes: list[int] = []

    @tool
    def watch() -> str:
        """Watch."""
        sizes.append(path.stat().st_size)
        return "ok"

    journal = Journal(tmp_path / "runs.db", durable=True)
    agent = Agent(ScriptedModel([call("watch"), call("watch"), "done"]), tools=[watch], journal=journal)
    result = agent.run_sync("go", journal=path)
    assert 0 < sizes[0] < sizes[1] < path.stat().st_size
    assert result.journal == str(path)
    assert replay(path).identical


def test_further_attempts_have_journals_of_their_own(tmp_path: Any, way: str) -> None:
    path = tmp_path / "run.jsonl"
    result, _ = run(Agent(ScriptedModel(["no", "nor this", "3"]), output_type=int), "go", way, journal=path)
    assert result.output == 3
    assert sorted(os.listdir(tmp_path)) == ["run-2.jsonl", "run-3.jsonl", "run.jsonl"]
    assert all(replay(tmp_path / name).identical for name in os.listdir(tmp_path))
    assert result.journal == str(tmp_path / "run-3.jsonl")


def test_a_run_that_was_stopped_replays() -> None:
    signal = Signal()

    @tool
    async def stops() -> str:
        """Stops."""
        signal.cancel()
        await asyncio.sleep(60)
        return "no"

    result = asyncio.run(Agent(ScriptedModel([call("stops")]), tools=[stops]).run("go", signal=signal, journal=True))
    assert result.stop_reason == "cancelled"
    assert replay(result.journal or "").identical


def test_n2_a_run_without_a_journal_is_told_so() -> None:
    result = Agent(ScriptedModel(["Hello."])).run_sync("Hi.")
    for read in (replay, lambda journal: diff(journal, journal), Agent(ScriptedModel([])).resume_sync):
        with pytest.raises(UsageError) as caught:
            read(result.journal)
        assert caught.value.code == "no_journal"
