"""`loopwright replay`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from loopwright import Agent
from loopwright.testing import ScriptedModel, WireServer, call, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def journal(loopwright: Callable, tmp_path: Path) -> Path:
    """The journal of a run with a tool."""
    (tmp_path / "x.txt").write_text("a line\n")
    with WireServer([call("read_file", path="x.txt"), text("It holds a line.")]) as server:
        ended = loopwright(
            "run", "look", "--model", "anthropic:m", "--base-url", server.url, "--journal", "my runs", "--json"
        )
    return tmp_path / json.loads(ended.out)["journal"]


def test_the_same_commands_come_again(loopwright: Callable, journal: Path) -> None:
    ended = loopwright("replay", str(journal))
    assert ended.code == 0
    assert journal.stem in ended.out
    assert "identical" in ended.out
    assert "It ended with natural after 2 requests." in ended.out
    assert "It holds a line." in ended.out
    assert ended.err == ""


def test_commands_are_those_of_the_journal_bit_for_bit(loopwright: Callable, journal: Path) -> None:
    ended = loopwright("replay", str(journal), "--commands")
    lines = ended.out.splitlines()
    written = list(journal.read_text().splitlines()[1:])
    assert len(lines) == sum(len(json.loads(line)["commands"]) for line in written)
    at = 0
    for line in written:
        commands = line[line.index('"commands":[') + len('"commands":[') : line.rindex('],"sum":')]
        count = len(json.loads(line)["commands"])
        assert ",".join(lines[at : at + count]) == commands
        at += count


def test_steps_and_json(loopwright: Callable, journal: Path) -> None:
    ended = loopwright("replay", str(journal), "--steps")
    assert "event 1: timer, emit, emit, generate\n" in ended.out
    found = json.loads(loopwright("replay", str(journal), "--json").out)
    assert found["identical"] is True
    assert found["outcome"]["stop"] == "natural"
    assert "steps" not in found
    assert len(json.loads(loopwright("replay", str(journal), "--json", "--steps").out)["steps"]) == found["events"]


def test_a_journal_that_was_changed_diverges(loopwright: Callable, journal: Path) -> None:
    # As a version without sums would have written it.
    changed = re.sub(r',"sum":"[0-9a-f]{16}"', "", journal.read_text()).replace('"loopwright":2', '"loopwright":1')
    journal.write_text(changed.replace("It holds a line.", "It holds two lines.", 1))
    assert journal.read_text() != changed
    ended = loopwright("replay", str(journal))
    assert ended.code == 1
    assert "diverged at event" in ended.out
    assert "expected: " in ended.out
    assert "got:      " in ended.out
    assert "identical" not in ended.out
    as_json = loopwright("replay", str(journal), "--json")
    assert as_json.code == 1
    found = json.loads(as_json.out)
    assert found["identical"] is False
    assert found["divergence"]["expected"] != found["divergence"]["got"]
    assert loopwright("replay", str(journal), "--commands").code == 1


def test_a_line_that_was_cut_is_said(loopwright: Callable, journal: Path) -> None:
    journal.write_bytes(journal.read_bytes()[:-40])
    ended = loopwright("replay", str(journal))
    assert ended.code == 0
    assert "cut off" in ended.out
    assert "The run had not ended." in ended.out


@pytest.mark.parametrize(
    "content", [None, b"", b"not a journal\n", b"\xff\xfe\x00", b'{"loopwright":999}\n', b"{}\n{}\n"]
)
def test_what_is_no_journal_is_2(loopwright: Callable, tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "no journal.jsonl"
    if content is not None:
        path.write_bytes(content)
    ended = loopwright("replay", str(path))
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith("error: ")
    assert ended.err.count("\n") == 1
    as_json = loopwright("replay", str(path), "--json")
    assert as_json.code == 2
    assert json.loads(as_json.out)["exit_code"] == 2


def test_a_run_of_many_events_can_be_forked_at_any_of_them(tmp_path: Path, loopwright: Any) -> None:
    Agent(ScriptedModel(["Hi."])).run_sync("Hello", journal=tmp_path / "run.jsonl")
    done = loopwright("fork", "run.jsonl", "--at", "100000")
    assert (done.code, "--at" in done.err) == (2, False), done.err
    for wrong in ("0", "-1", "x", "1.5", "9" * 40):
        done = loopwright("fork", "run.jsonl", "--at", wrong)
        assert (done.code, "is no number of an event" in done.err or "expected one argument" in done.err) == (2, True)
