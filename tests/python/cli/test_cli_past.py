"""`loopwright resume`, `fork` and `diff`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from loopwright import Journal
from loopwright.testing import WireServer, call, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "some notes"
    folder.mkdir()
    (folder / "a.md").write_text("The breaker opens after 3 failures.\n")
    return folder


def test_c28_an_answer_that_broke_off_is_resumed_by_name(loopwright: Callable, tmp_path: Path, notes: Path) -> None:
    runs = tmp_path / ".loopwright" / "runs"
    whole = loopwright(
        "ask", "When does the breaker open?", "--in", str(notes), "--json", "--journal", ".loopwright/runs"
    )
    assert whole.code == 0
    path = tmp_path / json.loads(whole.out)["journal"]
    assert path.parent == runs
    lines = path.read_text().splitlines(keepends=True)
    cut = runs / "cafe0001.jsonl"
    cut.write_text("".join(lines[:2]))
    ended = loopwright("resume", "cafe")
    assert ended.code == 0
    assert "after 3 failures" in ended.out
    again = loopwright("resume", "cafe")
    assert again.code == 2
    assert "has ended" in again.err
    same = loopwright("diff", "cafe", path.stem)
    assert (same.code, same.out.strip()) == (0, "the same events, and the same commands")


def test_a_task_is_resumed_and_forked_with_its_model_and_tools(loopwright: Callable, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("a line\n")
    with WireServer(
        [call("read_file", path="x.txt"), text("It holds a line."), text("again"), text("other")]
    ) as server:
        ended = loopwright("run", "look", "--model", "anthropic:m", "--base-url", server.url, "--json")
        name, store = json.loads(ended.out)["run_id"], Journal(tmp_path / json.loads(ended.out)["journal"])
        lines = store.text(name).splitlines(keepends=True)
        cut = tmp_path / "cut.jsonl"
        events = next(n for n, line in enumerate(lines) if '"executed"' in line)
        cut.write_text("".join(lines[: events + 1]))
        resumed = loopwright("resume", str(cut), "--json")
        assert resumed.code == 0, resumed.err
        assert json.loads(resumed.out)["final"] == "again"
        forked = loopwright("fork", name[:9], "--at", str(events), "--result", "two lines", "--json")
        assert forked.code == 0, forked.err
        found = json.loads(forked.out)
        assert found["final"] == "other"
        assert "two lines" in json.dumps(server.requests[-1]["body"])
    parting = loopwright("diff", name, found["run_id"], "--json")
    assert parting.code == 1
    assert json.loads(parting.out)["parting"]["seq"] == events


@pytest.mark.parametrize("command", ["resume", "fork"])
def test_a_run_goes_on_at_another_server(loopwright: Callable, tmp_path: Path, command: str) -> None:
    with WireServer([text("never seen again")]) as server:
        to = ("--model", "anthropic:m", "--base-url", server.url, "--json", "--journal", "one.jsonl")
        assert loopwright("run", "the task", *to).code == 0
    path = tmp_path / "one.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    with WireServer([text("from the other")]) as server:
        more = () if command == "resume" else ("--at", "1", "--prompt", "And now?")
        ended = loopwright(command, "one.jsonl", *more, "--base-url", server.url, "--json")
        assert ended.code == 0, ended.err
        assert json.loads(ended.out)["final"] == "from the other"
        assert server.requests[0]["body"]["model"] == "m"


def test_what_is_not_there_is_said(loopwright: Callable, tmp_path: Path) -> None:
    from loopwright import Agent
    from loopwright.testing import ScriptedModel

    for command in (["resume", "nothing"], ["fork", "nothing", "--at", "1"], ["diff", "a", "b"]):
        ended = loopwright(*command)
        assert ended.code == 2
        assert "no journal" in ended.err
    Agent(ScriptedModel(["x"])).run_sync("go", journal=tmp_path / "own.jsonl")
    ended = loopwright("resume", "own.jsonl")
    assert ended.code == 2
    assert "agent.resume" in ended.err
    data = bytearray((tmp_path / "own.jsonl").read_bytes())
    data[-40] ^= 1
    (tmp_path / "own.jsonl").write_bytes(data)
    ended = loopwright("replay", "own.jsonl")
    assert ended.code == 2
    assert "damaged at line 3" in ended.out


def test_d46_runs_are_listed_and_found_by_their_names(loopwright: Callable, tmp_path: Path) -> None:
    assert loopwright("runs").code == 0
    with WireServer([text("one"), text("two")]) as server:
        to = ("--model", "anthropic:m", "--base-url", server.url, "--json")
        first = json.loads(loopwright("run", "the first task", *to).out)
        loopwright("run", "another", *to, "--journal", "other.db")
    listed = loopwright("runs")
    assert listed.code == 0
    assert first["run_id"] in listed.out
    assert "finished (natural)" in listed.out
    assert "the first task" in listed.out
    (run,) = json.loads(loopwright("runs", "--json").out)["runs"]
    assert (run["run"], run["state"], run["prompt"]) == (first["run_id"], "finished", "the first task")
    (other,) = json.loads(loopwright("runs", "--json", "--journal", "other.db").out)["runs"]
    assert loopwright("replay", first["run_id"][:6]).code == 0
    assert loopwright("replay", other["run"][:6], "--journal", "other.db").code == 0
    assert loopwright("replay", other["run"][:6]).code == 2
    assert loopwright("resume", first["run_id"]).code == 2
    assert loopwright("runs", "--journal", "nothing.db").code == 2


def test_s10_a_question_is_answered_by_the_name_of_its_run(loopwright: Callable, tmp_path: Path) -> None:
    steps = [text("Shall I write it in red or in blue?"), text("It is blue now.")]
    with WireServer(steps) as server:
        asked = loopwright("run", "paint", "--model", "anthropic:m", "--base-url", server.url)
        assert asked.code == 7
        assert "asks you something" in asked.err
        command = next(line for line in asked.err.splitlines() if "loopwright answer" in line).split()
        answered = loopwright("answer", command[command.index("answer") + 1], "blue", "--json")
        assert answered.code == 0, answered.err
        found = json.loads(answered.out)
        assert found["final"] == "It is blue now."
        assert [message["role"] for message in found["messages"]] == ["user", "assistant", "user", "assistant"]
    unknown = loopwright("answer", "nosuchrun", "blue")
    assert unknown.code == 2
    assert "nosuchrun" in unknown.err


def test_s10_a_run_that_went_in_circles_is_answered(loopwright: Callable, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("a line\n")
    with WireServer([*[call("read_file", path="x.txt")] * 6, text("I read it.")]) as server:
        stuck = loopwright("run", "look", "--model", "anthropic:m", "--base-url", server.url, "--json")
        found = json.loads(stuck.out)
        assert (stuck.code, found["stop_reason"]) == (8, "no_progress")
        assert "read_file" in found["message"]
        used = len(server.requests)
    with WireServer([text("I read it.")]) as server:
        answered = loopwright("answer", found["run_id"], "say what you saw", "--base-url", server.url, "--json")
        assert answered.code == 0, answered.err
        assert "say what you saw" in json.dumps(server.requests[-1]["body"])
    assert used < 7
