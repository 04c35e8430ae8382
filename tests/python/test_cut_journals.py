"""Journals that a crash has cut, or somebody has changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from loopwright import Agent, UsageError, replay
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
