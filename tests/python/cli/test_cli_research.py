"""`loopwright research`: over a folder, without a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with spaces in its name."""
    folder = tmp_path / "harbour notes"
    folder.mkdir()
    (folder / "opening hours.md").write_text(
        "# Opening hours\n\nThe harbour opens at seven in the morning. It closes when the last boat is in. "
        "On Sundays the harbour opens at nine in the morning.\n"
    )
    (folder / "tide.md").write_text(
        "# Tide\n\nThe tide in the harbour is high at noon on Fridays. Boats wait outside until the tide is high.\n"
    )
    return folder


def test_b32_a_report_with_sources_and_a_file(loopwright: Callable, notes: Path, tmp_path: Path) -> None:
    out = tmp_path / "my report.html"
    ended = loopwright("research", "When does the harbour open?", "--in", str(notes), "--out", str(out))
    assert ended.code == 0
    assert "opens at seven in the morning" in ended.out
    assert "opening hours.md" in ended.out
    assert "not an LLM" in ended.out
    assert "Searching for" in ended.err
    assert "Planning cycle 2" in ended.err
    assert "answer" not in ended.err
    assert out.read_text("utf-8").startswith("<!doctype html>")
    assert "identical" in loopwright("replay", ended.err.rpartition(", run ")[2].split()[0]).out


def test_b32_as_json_and_in_other_styles(loopwright: Callable, notes: Path) -> None:
    ended = loopwright("research", "When does the harbour open?", "--in", str(notes), "--json", "--style", "progress")
    found = json.loads(ended.out)
    assert found["report"]["bibliography"]
    assert "| cycle |" in found["final"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "something to search"),
        (("--in", "nowhere"), "no folder"),
        (("--search", "altavista"), "no search engine"),
        (("--search", "anthropic:"), "no search engine"),
        (("--in", ".", "--out", "x.pdf"), "says nothing of its form"),
    ],
)
def test_what_can_not_work_is_said(loopwright: Callable, arguments: tuple[str, ...], words: str) -> None:
    ended = loopwright("research", "When?", *arguments)
    assert ended.code == 2
    assert words in ended.err


def test_asked_to_create_without_a_model_it_says_in_one_sentence_that_it_can_not(
    loopwright: Callable, notes: Path
) -> None:
    ended = loopwright("research", "Write me a poem about the harbour", "--in", str(notes))
    assert ended.code == 3
    assert "not an LLM" in ended.out
    assert "--model" in ended.out
    assert ended.out.count(". ") == 0
