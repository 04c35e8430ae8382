"""Journals that a crash has cut, or somebody has changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from loopwright import Agent, Journal, UsageError, replay
from loopwright.testing import ScriptedModel


def test_a_journal_cut_anywhere_replays_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    Agent(ScriptedModel(["Grüße, ü 🚀"])).run_sync("Sag Grüße", journal=path)
    data = path.read_bytes()
    events = replay(path).events
    header = data.index(b"\n") + 1
    for end in range(header, len(data)):
        path.write_bytes(data[:end])
        found = replay(path)
        assert found.identical
        lines = data[:end].count(b"\n") - 1
        # A line that lacks nothing but its end is whole.
        assert found.events == lines + (not found.truncated and data[end - 1 : end] != b"\n")
        assert found.events <= events


def test_bytes_that_are_no_text_are_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"\xff\n{}\n")
    with pytest.raises(UsageError, match=r"run\.jsonl"):
        replay(path)


@pytest.mark.parametrize("broken", ["cut", "torn", "damaged", "store"])
def test_d46_a_run_of_which_no_event_is_left_is_an_error_and_no_endless_wait(tmp_path: Path, broken: str) -> None:
    path, agent = tmp_path / "run.jsonl", Agent(ScriptedModel(["Hello."]))
    agent.run_sync("Say hello.", journal=path)
    first, second = path.read_text(encoding="utf-8").splitlines(keepends=True)[:2]
    rest = {"torn": second[:40], "damaged": second.replace("Say", "Sat")}.get(broken, "")
    path.write_text(first + rest, encoding="utf-8")
    place = path
    if broken == "store":
        place = tmp_path / "p.db"
        Journal(place).import_run(path)
    before = {each.name for each in tmp_path.iterdir()}
    with pytest.raises(UsageError) as caught:
        agent.resume_sync(place)
    assert caught.value.code == "run_not_begun"
    assert caught.value.hint
    assert {each.name for each in tmp_path.iterdir() if "-recovered-" in each.name} == set()
    assert before <= {each.name for each in tmp_path.iterdir()}
    assert path.read_text(encoding="utf-8") == first + rest


@pytest.mark.parametrize(
    "machine", ['{"turn":{"model":"m"}}', '{"turn":{"model":"m","later":1}}', '{"swarm":{}}', "[]"]
)
@pytest.mark.parametrize("version", [0, 3, 9_000_000_000])
def test_d46_a_journal_of_another_version_is_told_so_whatever_else_it_says(
    tmp_path: Path, machine: str, version: int
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(
        f'{{"loopwright":{version},"run":"r","machine":{machine},"more":1}}\n{{"seq":1}}\n', encoding="utf-8"
    )
    agent = Agent(ScriptedModel(["Hello."]))
    for call in (lambda: replay(path), lambda: agent.resume_sync(path), lambda: agent.fork_sync(path, 1)):
        with pytest.raises(UsageError, match=f"version {version}") as caught:
            call()
        assert caught.value.code == "journal_version"
        assert caught.value.hint
    assert [each.name for each in tmp_path.iterdir()] == ["run.jsonl"]
