"""The retrieve room alone: searching, adding, saving, embedders, and what is none of it."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import pytest
from loopwright import UsageError, citations, retrieve
from loopwright.memory import hashing
from loopwright.retrieve import Index, fuse, quote, topics

TEXTS = ["The wait between attempts doubles.", "Oslo lies by a fjord.", "The authentication of users takes a key."]


def test_examples_in_the_docstrings_run():
    for room in (retrieve, citations):
        assert doctest.testmod(room).failed == 0
        assert doctest.testmod(room).attempted > 0


def test_x15_words_find_and_substrings_do_not():
    index = Index(TEXTS)
    assert index.search("How long is the wait?")[0].id == 0
    assert index.search("then") == [] and index.search("") == [] and index.search("the") == []
    assert index.search("fjords in Oslo", k=1)[0].text == TEXTS[1]
    assert index.missing("zebra fjord") == ["zebra"]
    assert len(index.search("wait fjord key", k=2)) == 2 and index.search("wait", k=0) == []


def test_added_passages_are_found_and_numbers_stay():
    index = Index(TEXTS)
    index.add("A zeppelin lands.")
    index.add([f"Filler number {at} about the weather of day {at}." for at in range(100)])
    assert index.search("zeppelin")[0].id == 3 and len(index) == 104
    assert index.search("weather of day 77")[0].text.endswith("day 77.")
    with pytest.raises(UsageError):
        index.add([3])


@pytest.mark.parametrize("embedder", [None, hashing])
def test_saved_and_loaded_it_finds_the_same(tmp_path: Path, embedder):
    index = Index([*TEXTS, "odd \ud800 text", "Zeilen\nund ümläute"], embedder=embedder)
    path = tmp_path / "an index.jsonl"
    index.save(path)
    again = Index.load(path, embedder=embedder)
    for query in ("wait", "users of Oslo", "ümläute"):
        assert again.search(query) == index.search(query)
    path.write_text(path.read_text()[:-5])
    with pytest.raises(UsageError) as caught:
        Index.load(path, embedder=embedder)
    assert caught.value.code == "index_file"


def test_a_file_that_is_no_index_is_refused(tmp_path: Path):
    for name, text in {
        "a": "",
        "b": "[]",
        "c": "{}",
        "d": json.dumps({"format": "x", "version": 1}),
        "e": "\0",
    }.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(UsageError):
            Index.load(tmp_path / name)
    with pytest.raises(UsageError):
        Index.load(tmp_path / "none")
    Index(TEXTS, embedder=hashing).save(tmp_path / "i")
    with pytest.raises(UsageError) as caught:
        Index.load(tmp_path / "i")
    assert caught.value.code == "embedder_changed"


def test_an_embedder_finds_what_no_word_does():
    def embed(texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] if "fjord" in text or "inlet" in text else [0.0, 1.0] for text in texts]

    index = Index(TEXTS, embedder=embed)
    assert index.search("inlet", k=1)[0].id == 1
    # A guess at the answer is averaged with the query, never used alone.
    assert index.search("wait", k=1, like="an inlet")[0].id == 0
    with pytest.raises(UsageError):
        Index(TEXTS, embedder=lambda texts: [[1.0]])


def test_rankings_are_joined_by_rank():
    assert fuse([[1, 2, 3], [2, 1, 3]], k=3) == [1, 2, 3]
    assert fuse([[1, 2], [2, 1]], k=1, weights=[1, 3]) == [2]
    with pytest.raises(UsageError):
        fuse([[1]], weights=[])


def test_quotes_come_with_places_and_silence_with_the_words():
    said = quote("How does the wait double?", [{"reference": "a.md", "text": TEXTS[0]}])
    assert said.text == f"{TEXTS[0]} [a.md:1]" and said.quotes[0].source == 1 and said.coverage > 0.8
    said = quote("Who keeps the zebra?", TEXTS)
    assert not said and said.missing == ("keeps", "zebra") and said.coverage < 0.45
    assert topics(["tides and moons", "moons and tides", "tides"], most=1) == ["tides"]
