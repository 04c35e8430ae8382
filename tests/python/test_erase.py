"""Erasing (M7): the words are in no byte of the store, its log, and the files beside it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Journal, LoopwrightError, Memory, UsageError, tool
from loopwright.after import AfterTurn
from loopwright.memory import MemoryPolicy
from loopwright.testing import ScriptedModel, call
from traces import copies, reader

WORD = "Zanzibar"


@pytest.mark.parametrize("word", [WORD, "Müller-Łódź", 'Ann "the 5%" O\'Hara'])
def test_m7_a_memory_that_was_erased_is_in_no_table_and_no_byte(tmp_path: Path, word: str) -> None:
    memory = Memory(tmp_path / "m.db", session=f"call with {word}")
    file = tmp_path / "MEMORY.md"
    about: dict[str, Any] = {"tags": [word], "entities": [word], "speaker": word, "source": f"mail of {word}"}
    fact = memory.remember(f"{word} likes olives.", "semantic", category="preference", trust="user", **about)
    memory.remember(f"{word} likes olives.", "semantic", category="preference", trust="untrusted", source="page")
    made = memory.remember(f"A summary, in which {word} came up.", derived_from=[fact])
    memory.relate(word, "prefers", "olives", fact)
    kept = memory.remember("The office closes at six.", "semantic", session="other")
    memory.sync_file(file)
    memory.remember(f"{word} likes olives.", "semantic", category="preference", trust="user", tags=["again"])
    assert copies(tmp_path, word)
    gone = memory.forget(fact, erase=True)
    assert {fact, made} <= set(gone)
    # While it is open, and when it was closed.
    assert copies(tmp_path, word) == {}
    assert memory.recall("olives") == []
    assert [hit.id for hit in memory.newest()] == [kept]
    assert memory.neighbours("olives") == []
    assert memory.why(fact).state == "forgotten"
    assert memory.forget(fact, erase=True)[:1] == [fact], "again is no error"
    memory.close()
    assert copies(tmp_path, word) == {}
    assert "olives" not in file.read_text()


def test_m7_what_was_forgotten_before_can_be_erased(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "m.db")
    ids = [memory.remember(f"{WORD} number {number} " + "x" * 5_000, "semantic") for number in range(40)]
    for number in ids:
        memory.forget(number)
    assert copies(tmp_path, WORD)
    for number in ids:
        memory.forget(number, erase=True)
    assert copies(tmp_path, WORD) == {}


def test_m7_a_user_is_forgotten_in_one_call(tmp_path: Path) -> None:
    @tool(read_only=True)
    def look(place: str) -> str:
        "Looks somewhere."
        return f"{place}: nothing but {WORD}."

    memory = Memory(tmp_path / "m.db")
    file = tmp_path / "MEMORY.md"
    model = ScriptedModel([call("look", place="Quillon"), "Biscuit is a fine name, Thaddeus."] + ["ok"] * 20)
    agent = Agent(model, memory=MemoryPolicy(memory, after=AfterTurn(reflection=True, memory_file=file)), tools=[look])
    thaddeus = agent.whom("Thaddeus", "Thaddeus at home")
    thaddeus.run_sync("My dog is called Biscuit. I prefer quinces over apples. Look at Quillon, please.")
    thaddeus.run_sync("My sister Wilhelmina works at Quillon Corp. What do you think of that?")
    agent.whom("ann", "Ann").run_sync("I prefer pears over plums. My cat is called Pixel. What now?")
    assert agent.drain_sync(30) == []
    memory.relate("Thaddeus", "knows", "Wilhelmina", "the register", trust="verified")
    memory.sync_file(file, "ann")
    words = ("Thaddeus", "Biscuit", "quinces", "Quillon", "Wilhelmina")
    assert {word for word in words if copies(tmp_path, word)} == set(words)
    before = len(memory.audit())
    gone = memory.forget_user("Thaddeus")
    assert len(gone) > 3
    assert gone.known
    assert gone.relations == 1
    assert gone.audit > 3
    assert copies(tmp_path, *words) == {}
    assert memory.forget_user("Thaddeus") == []
    assert memory.audit(user="Thaddeus") == []
    assert len(memory.audit()) >= before, "that something happened stays"
    assert [hit.user for hit in memory.newest()] == ["ann"] * len(memory.newest())
    assert any("Pixel" in hit.text for hit in memory.recall("cat"))
    assert "pears" in file.read_text()
    assert memory.audit(user="ann")
    with sqlite3.connect(tmp_path / "m.db") as direct, pytest.raises(sqlite3.IntegrityError, match="only grows"):
        direct.execute("UPDATE audit SET type = 'other'")
    memory.close()
    assert copies(tmp_path, *words) == {}


def test_m7_work_that_waits_or_failed_is_erased_with_its_user(tmp_path: Path) -> None:
    def broken(prompt: str) -> str:
        raise RuntimeError(f"no answer about {WORD}")

    memory = Memory(tmp_path / "m.db")
    after = AfterTurn(reflection=True, reflector=broken, consolidate_every=None)
    agent = Agent(ScriptedModel(["ok"] * 4), memory=MemoryPolicy(memory, after=after))
    agent.run_sync(f"My boat is called {WORD}. Is that nice?", user="sam")
    agent.drain_sync(3)
    assert copies(tmp_path, WORD)
    assert memory.forget_user("sam").work == 1
    assert copies(tmp_path, WORD) == {}
    agent.drain_sync(10)
    assert copies(tmp_path, WORD) == {}, "nobody brings it back"
    assert memory.newest() == []


def test_m7_a_memory_takes_the_work_of_its_run_along(tmp_path: Path) -> None:
    def broken(prompt: str) -> str:
        raise RuntimeError("no answer")

    memory = Memory(tmp_path / "m.db")
    after = AfterTurn(reflection=True, reflector=broken, consolidate_every=None)
    agent = Agent(ScriptedModel([f"{WORD} it is.", "ok"]), memory=MemoryPolicy(memory, after=after))
    agent.run_sync(f"My boat is called {WORD}. Is that nice?")
    agent.drain_sync(3)
    (fact,) = memory.newest(kinds=["semantic"])
    memory.forget(fact, erase=True)
    assert copies(tmp_path, WORD) == {}
    agent.drain_sync(10)
    assert copies(tmp_path, WORD) == {}


@pytest.mark.parametrize("user", ["", "  ", None, 3])
def test_m7_nobody_is_no_user(user: Any) -> None:
    memory = Memory(":memory:")
    memory.remember("Everybody's.", "semantic")
    with pytest.raises(UsageError) as caught:
        memory.forget_user(user)
    assert caught.value.code == "invalid_value"
    assert memory.forget_user("nobody") == []
    assert not memory.forget_user("nobody").known
    assert len(memory.newest()) == 1


def test_m7_a_reader_in_the_way_is_told_and_the_same_call_finishes(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    memory = Memory(path, patience=0.2)
    fact = memory.remember(f"{WORD} is far.", "semantic", user="sam")
    other = reader(path)
    with pytest.raises(LoopwrightError) as caught:
        memory.forget(fact, erase=True)
    assert caught.value.code == "erase_unfinished"
    assert "m.db-wal" in str(caught.value)
    assert caught.value.hint
    assert memory.recall(WORD) == [], "forgotten it is"
    other.communicate("\n")
    memory.forget(fact, erase=True)
    assert copies(tmp_path, WORD) == {}
    # Connections that are open and read nothing are in nobody's way.
    second = Memory(path)
    second.recall("anything")
    fact = second.remember(f"{WORD} is far.", "semantic", user="sam")
    memory.forget_user("sam")
    assert copies(tmp_path, WORD) == {}
    assert second.newest() == []


def run(model: list[Any], prompt: str, **options: Any) -> Any:
    return Agent(ScriptedModel(model), **options).run_sync(prompt)


def test_m7_a_deleted_run_is_in_no_byte_of_its_store(tmp_path: Path) -> None:
    store = tmp_path / "p.db"

    @tool(read_only=True)
    def read(page: int) -> str:
        "Reads a page."
        return f"{WORD} {page} " * 300

    pages = [call("read", page=number) for number in range(60)]
    gone = run([*pages, f"All about {WORD}."], f"Tell me about {WORD}.", tools=[read], journal=store)
    kept = run(["Hello."], "Say hello.", journal=store)
    assert copies(tmp_path, WORD)
    Journal(store).delete(gone.run_id)
    assert copies(tmp_path, WORD) == {}
    assert [found.id for found in Journal(store).runs()] == [kept.run_id]
    assert Journal(store).events(kept.run_id)
    with pytest.raises(UsageError):
        Journal(store).delete(gone.run_id)
    Journal(store).close()
    assert copies(tmp_path, WORD) == {}


def test_m7_deleting_a_run_that_a_reader_is_at_is_finished_by_the_same_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "p.db"
    gone = run([f"{WORD}."], f"Where is {WORD}?", journal=store)
    other = reader(store)
    with pytest.raises(LoopwrightError) as caught:
        Journal(store).delete(gone.run_id)
    assert caught.value.code == "erase_unfinished"
    assert [(found.id, found.prompt, found.events) for found in Journal(store).runs()] == [(gone.run_id, "", 0)]
    other.communicate("\n")
    Journal(store).delete(gone.run_id[:8])
    assert Journal(store).runs() == []
    assert copies(tmp_path, WORD) == {}


def test_m7_a_run_in_a_file_goes_with_what_was_saved_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    done = run([f"{WORD}."], f"Where is {WORD}?", journal=path)
    (tmp_path / "one.jsonl.saved").write_bytes(b"loopwright saved 1\n" + WORD.encode())
    with pytest.raises(UsageError):
        Journal(path).delete("another")
    assert path.exists()
    Journal(path).delete(done.run_id)
    assert copies(tmp_path, WORD) == {}
    assert list(tmp_path.iterdir()) == []


def test_m7_erasing_any_copy_erases_the_words(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "m.db")
    tellings: list[Any] = ["untrusted", "verified", "user"]
    ids = {trust: memory.remember(f"{WORD} is far.", "semantic", trust=trust) for trust in tellings}
    assert ids["user"] == ids["verified"]
    assert set(memory.forget(ids["untrusted"], erase=True)) == set(ids.values())
    assert copies(tmp_path, WORD) == {}
