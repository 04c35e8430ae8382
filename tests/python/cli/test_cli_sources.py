"""What `loopwright ask` prints: the answer, and after it the sources that it rests on, each as a place that exists."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from loopwright.testing import WireServer, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "boats.md").write_text("# Boats\n\nThe ferry Seagull has a green sail.\n\nThe tug Otter has none.\n")
    (folder / "tide.md").write_text("# Tide\n\nThe tide is high at noon on Fridays.\n")
    (folder / "cook.md").write_text("# Cook\n\nThe soup is pumpkin.\n")
    return folder


def parts(out: str) -> tuple[str, list[tuple[str, int, str]]]:
    """The answer, and the sources as path, line and words."""
    answer, heading, sources = out.partition("\n\nSources\n")
    assert heading, out
    found = [re.fullmatch(r"  (\S+):(\d+)  (.+)", line) for line in sources.splitlines()]
    assert all(found), sources
    return answer, [(each[1], int(each[2]), each[3]) for each in found if each]


def test_e23_the_answer_comes_first_and_then_the_places_it_cites(loopwright: Callable, notes: Path) -> None:
    ended = loopwright("ask", "What colour is the sail of the ferry Seagull?", "--in", str(notes), "--quiet")
    answer, sources = parts(ended.out)
    assert (ended.code, ended.err) == (0, "")
    assert "The ferry Seagull has a green sail." in answer
    assert {f"{path}:{line}" for path, line, _ in sources} == set(re.findall(r"\[([^\[\]]+:\d+)\]", answer))
    for path, line, words in sources:
        stands = (notes / path).read_text().splitlines()[line - 1]
        assert stands.startswith(words.rstrip("…")) or words.startswith(stands)


def test_e23_a_models_answer_is_followed_by_what_it_cites_and_nothing_else(loopwright: Callable, notes: Path) -> None:
    said = "The tide is high at noon on Fridays. [tide.md:3] The ferry Seagull has a green sail. [boats.md:3]"
    with WireServer([text(said)]) as server:
        to = ["--model", "openai-chat:m", "--base-url", server.url]
        ended = loopwright("ask", "When is the tide high, and which sail has the Seagull?", "--in", str(notes), *to)
    answer, sources = parts(ended.out)
    assert (ended.code, answer) == (0, said)
    assert sorted(place[:2] for place in sources) == [("boats.md", 3), ("tide.md", 3)]


def test_e23_json_holds_the_answer_and_its_sources(loopwright: Callable, notes: Path) -> None:
    found = json.loads(loopwright("ask", "When is the tide high?", "--in", str(notes), "--json").out)
    assert "The tide is high at noon" in found["final"]
    first = found["sources"][0]
    assert (first["kind"], first["reference"], first["line"]) == ("file", "tide.md", 3)
    assert "The tide is high at noon on Fridays." in first["text"]
    assert f"[{first['reference']}:{first['line']}]" in found["final"]


def test_e23_without_sources_there_is_no_list(loopwright: Callable, notes: Path) -> None:
    ended = loopwright("ask", "Who wrote the Brandenburg concertos?", "--in", str(notes))
    assert ended.code == 3
    assert "Sources" not in ended.out
