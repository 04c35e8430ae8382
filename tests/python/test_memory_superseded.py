"""What is asked is no fact (M1), and what is no longer so is not told as if it were (M9)."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from pathlib import Path

import pytest
from loopwright import Agent, Memory, UsageError
from loopwright.testing import ScriptedModel


def test_m1_a_question_asked_often_does_not_hide_what_answers_it() -> None:
    memory = Memory(":memory:")
    memory.remember("Sam lives in Oslo.")
    agent = Agent(ScriptedModel([f"I think it is place {n}." for n in range(24)]), memory=memory)
    for _ in range(20):
        agent.run_sync("Where does Sam live these days, can you tell me?")
        assert agent.drain_sync(20) == []
    assert memory.recall("Where does Sam live these days, can you tell me?", limit=3)[0].text == "Sam lives in Oslo."
    told = [hit for hit in memory.newest(1000) if hit.category in ("prompt", "summary")]
    assert len(told) == 1, "the newest answer to a question counts"
    assert not any(hit.text.startswith("Where") for hit in memory.newest(1000))


def test_m1_the_same_episode_again_counts() -> None:
    memory = Memory(":memory:")
    agent = Agent(ScriptedModel(["In Oslo."] * 5), memory=memory)
    for _ in range(4):
        agent.run_sync("Where does Sam live?", user="sam")
        assert agent.drain_sync(20) == []
    (episode,) = memory.newest(100, user="sam")
    assert (episode.seen, episode.category) == (4, "summary")
    assert len(memory.episodes()) == 1
    assert len(memory.why(episode).sources) == 4, "each run is known"
    # Requests do not become facts, however often they are made.
    agent = Agent(ScriptedModel(["Done."] * 5), memory=memory)
    for _ in range(4):
        agent.run_sync("Write a poem about the harbour of Oslo.", user="sam")
        agent.drain_sync(20)
    assert memory.consolidate().promoted == ()


@pytest.mark.parametrize("kind", ["semantic", "episodic"])
def test_m9_what_is_so_now_stands_before_what_was(kind: str) -> None:
    memory = Memory(":memory:")
    old = memory.remember("I live in Oslo.", kind, user="sam", trust="user")
    others = memory.remember("I live in Rome.", kind, user="ann", trust="user")
    new = memory.remember("I live in Bergen now.", kind, user="sam", trust="user")
    hits = memory.recall("Where do I live?", user="sam")
    assert hits[0].id == new
    told = str(memory.inject("Where do I live?", user="sam"))
    if kind == "semantic":
        assert [hit.id for hit in hits] == [new]
        assert "Oslo" not in told
    else:
        # What happened stays; it is marked as what was.
        assert [(hit.id, hit.superseded_by) for hit in hits] == [(new, None), (old, new)]
        assert f'outdated="superseded by memory {new}"' in told
    assert (memory.why(old).state, memory.why(old).superseded_by) == ("superseded", new)
    assert memory.why(others).state == "live"
    known = {hit.id: hit.superseded_by for hit in memory.recall("Where do I live?", user="sam", outdated=True)}
    assert known == {new: None, old: new}
    # Whoever moves back lives there again.
    back = memory.remember("I live in Oslo.", kind, user="sam", trust="user")
    assert memory.recall("Where do I live?", user="sam")[0].id == back != old


def test_m9_only_what_is_trusted_as_far_and_said_later_outdates() -> None:
    memory = Memory(":memory:")
    memory.remember("Sam lives in Oslo.", "semantic", trust="verified")
    memory.remember("Sam lives in Bergen now.", "semantic", trust="untrusted")
    hits = memory.recall("Where does Sam live?")
    assert [(hit.text, hit.superseded_by) for hit in hits] == [
        ("Sam lives in Oslo.", None),
        ("Sam lives in Bergen now.", None),
    ]
    now = time.time()
    memory = Memory(":memory:")
    memory.remember("The deadline is 7 May.", "semantic", at=now - 10)
    memory.remember("The deadline is 3 May.", "semantic", at=now - 1000)
    assert [hit.text for hit in memory.recall("When is the deadline?")] == ["The deadline is 7 May."]


def test_m9_changes_of_mind_in_conversations(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "m.db")
    said = [
        "I work at Acme.",
        "My favourite colour is blue.",
        "The deadline is 3 May.",
        "I have a dog called Rex.",
        "Where do I work?",
        "I've joined Weaver.",
        "Actually, my favourite colour is green.",
        "The deadline has been moved to 7 May.",
        "I have a cat now.",
    ]
    agent = Agent(ScriptedModel(["ok"] * len(said)), memory=memory)
    for words in said:
        agent.run_sync(words, user="sam")
        assert agent.drain_sync(20) == []
    for question, fact, was in [
        ("Where do I work? Which company?", "I've joined Weaver.", "Acme"),
        ("What is my favourite colour?", "green", "blue"),
        ("When is the deadline?", "7 May", "3 May"),
    ]:
        hits = memory.recall(question, limit=3, user="sam")
        assert not any(was in hit.text for hit in hits), question
        if "company" not in question:
            assert any(fact in hit.text for hit in hits), question
    assert any("Rex" in hit.text for hit in memory.recall("Do I have a dog?", user="sam"))
    assert [one.entity for one in memory.neighbours("sam", "works_at", user="sam")] in ([], ["Weaver"])
    memory.close()
    assert b"I work at Acme" in (tmp_path / "m.db").read_bytes()
    memory = Memory(tmp_path / "m.db")
    memory.forget_user("sam")
    memory.close()
    assert b"Acme" not in (tmp_path / "m.db").read_bytes()


def test_m9_days_that_are_told_from_today() -> None:
    memory = Memory(":memory:")
    noon = datetime(2026, 11, 26, 12, tzinfo=timezone.utc).timestamp()
    for days in range(12):
        memory.remember(f"Lunch was soup number {days}.", at=noon - days * 86_400)
    hits = memory.recall("Which soup was for lunch yesterday?", limit=3, now=noon + 3 * 86_400)
    assert hits
    # A day off is the same day: clocks stand in zones.
    told = {hit.text for hit in memory.recall("Which lunch soup did we have nine days ago?", 3, now=noon + 3 * 86_400)}
    assert told == {f"Lunch was soup number {days}." for days in (5, 6, 7)}
    memory.remember("The meeting is tomorrow.", "semantic", at=noon)
    assert 'said="2026-11-26"' in str(memory.inject("When is the meeting?"))


def test_m9_milliseconds_are_no_seconds() -> None:
    memory = Memory(":memory:")
    for about in ({"at": time.time() * 1000}, {"expires": time.time() * 1000}):
        with pytest.raises(UsageError) as caught:
            memory.remember("It rained.", **about)
        assert caught.value.code == "invalid_value"
        assert "milliseconds" in (caught.value.hint or "")
    assert memory.stats()["live"] == 0


def test_m6_a_second_telling_widens() -> None:
    memory = Memory(":memory:")
    soon, later = time.time() + 1000, time.time() + 9000
    first = memory.remember("Ann lives in Oslo.", "semantic", trust="user", tags=["home"], expires=soon)
    again = memory.remember(
        "Ann lives in Oslo.",
        "semantic",
        trust="user",
        tags=["move"],
        entities=["Ann", "harbour"],
        at=5.0,
        expires=later,
    )
    assert first == again
    (hit,) = memory.recall("Where does Ann live?")
    assert (hit.seen, hit.tags, hit.at) == (2, ("home", "move"), 5.0)
    assert "harbour" in hit.entities
    (still,) = memory.recall("Where does Ann live?", now=later - 10)
    assert still.id == first
    sure = memory.remember("Ann lives in Oslo.", "semantic", trust="verified")
    assert memory.recall("Where does Ann live?")[0].id == sure
    spoken = memory.remember("Ann lives in Oslo.", "semantic", trust="user", speaker="Bob")
    assert memory.recall("Where does Ann live?", speaker="Bob")[0].id == spoken
