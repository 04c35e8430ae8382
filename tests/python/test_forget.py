"""Forgetting a user (M7): runs and memories go by one call, and no byte of the user's words is left."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import loopwright
import pytest
from loopwright import Agent, Journal, Memory, SubAgent, UsageError, replay, tool
from loopwright.after import AfterTurn
from loopwright.memory import MemoryPolicy
from loopwright.testing import ScriptedModel, call
from traces import copies, reader

WORDS = ("Thaddeus", "Biscuit", 'Quillon "the 5%" Łódź', "Wilhelmina", "Zanzibar")
PLACES = ("runs.db", "runs", "one.jsonl")


@tool(read_only=True)
def look(place: str) -> str:
    "Looks somewhere."
    return f"{place}: nothing but Zanzibar. " * 200


def memory_in(folder: Path) -> Memory:
    return Memory(folder / "m.db", session="desk")


def agent_of(memory: Memory, file: Path, answers: list[Any], **options: Any) -> Agent[Any, Any]:
    after = AfterTurn(reflection=True, memory_file=file)
    policy = MemoryPolicy(memory, after=after)
    return Agent(ScriptedModel([*answers, *["ok"] * 20]), memory=policy, tools=[look], **options)


@pytest.mark.parametrize("place", PLACES[:2])
def test_m7_a_users_runs_and_memories_go_by_one_call(tmp_path: Path, place: str) -> None:
    memory, file, journal = memory_in(tmp_path), tmp_path / "MEMORY.md", tmp_path / place
    explore = SubAgent("explore", "finds things", tools=[look])
    answers = [
        [call("look", place=WORDS[2]), call("spawn", agent="explore", task="Find Wilhelmina.")],
        "Wilhelmina is in Zanzibar.",
        "Biscuit is a fine name, Thaddeus.",
    ]
    agent = agent_of(memory, file, answers, agents=[explore])
    mine = agent.run_sync(
        "My dog is called Biscuit, says Wilhelmina.", user="Thaddeus", session="at Thaddeus's", journal=journal
    )
    assert mine.children, "a sub-agent has run"
    others = [
        agent.run_sync("I prefer pears over plums. My cat is called Pixel.", user=user, journal=journal)
        for user in ("ann", "Thaddeusz", "thaddeus")
    ]
    others.append(agent.run_sync("Good day.", journal=journal))
    assert agent.drain_sync(30) == []
    memory.relate("Thaddeus", "knows", "Wilhelmina", "the register", user="Thaddeus")
    own = [word for word in WORDS if copies(tmp_path, word)]
    assert own == list(WORDS)

    would = loopwright.journal.forget("Thaddeus", journal=journal, memory=memory, dry_run=True)
    assert (would.runs, would.dry_run, would.known) == ((mine.run_id,), True, True)
    assert [word for word in WORDS if copies(tmp_path, word)] == own, "nothing went"
    assert {"thaddeus"} == set(would.similar)

    gone = loopwright.journal.forget("Thaddeus", journal=journal, memory=memory)
    assert dataclasses.replace(gone, dry_run=True) == would, "what was said before is what went"
    assert len(gone.memories) > 1
    assert (gone.relations, gone.stays) == (1, ())
    assert gone.audit > 3
    # The names that begin as this one, or are written otherwise, are other people's.
    left = {key: count for key, count in copies(tmp_path, *WORDS).items() if not key.endswith("Thaddeus")}
    assert left == {}
    for user in ("Thaddeusz", "thaddeus"):
        loopwright.journal.forget(user, journal=journal, memory=memory)
    assert copies(tmp_path, *WORDS) == {}
    memory.close()
    Journal(journal).close()
    assert copies(tmp_path, *WORDS) == {}

    again = loopwright.journal.forget("Thaddeus", journal=journal, memory=tmp_path / "m.db")
    assert (again.known, again.runs, again.memories) == (False, (), ())
    for other in (others[0], others[-1]):
        name = other.run_id if journal.suffix else None
        assert replay(other.journal or "", name).identical
    with Memory(tmp_path / "m.db") as memory:
        assert {hit.user for hit in memory.newest()} == {"ann", None}
        assert memory.recall("cat", user="ann")
    assert "pears" in file.read_text(encoding="utf-8")


def test_m7_attempts_and_what_was_recovered_beside_a_file_go_with_it(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    Agent(ScriptedModel(["Zanzibar."])).run_sync("Where is Zanzibar?", user="sam", journal=path)
    lines = path.read_bytes()
    (tmp_path / "one-2.jsonl").write_bytes(lines)
    (tmp_path / "one-recovered-1.jsonl").write_bytes(lines)
    (tmp_path / "one.jsonl.saved").write_bytes(b"loopwright saved 1\nZanzibar")
    other = Agent(ScriptedModel(["Hello."])).run_sync("Say hello.", user="ann", journal=tmp_path / "one-3.jsonl")
    report = loopwright.journal.forget("sam", journal=path)
    assert len(report.files) == 3
    assert [found.name for found in tmp_path.iterdir()] == ["one-3.jsonl"]
    assert replay(other.journal or "").identical


def test_m7_what_was_recovered_beside_a_store_goes_with_it(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    Agent(ScriptedModel(["Zanzibar."])).run_sync("Where is Zanzibar?", user="sam", journal=store)
    Journal(store).close()
    (tmp_path / "runs-recovered-1.db").write_bytes(store.read_bytes())
    loopwright.journal.forget("sam", journal=store)
    assert copies(tmp_path, "Zanzibar") == {}


def test_m7_big_results_and_what_is_saved_of_a_run_that_broke_off_go_too(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    code = """
        import os, signal, sys
        from loopwright import Agent, Budget, tool
        from loopwright.testing import ScriptedModel, call

        @tool(read_only=True)
        def look(number: int) -> str:
            "Looks."
            if number == 299:
                os.kill(os.getpid(), signal.SIGKILL)
            return f"{number} Zanzibar " * 200

        model = ScriptedModel([call("look", number=number) for number in range(300)])
        budget = Budget(rounds=400, tool_rounds=400, wall_time=100)
        Agent(model, tools=[look], budget=budget, monitor=None).run_sync("Look.", user="sam", journal=sys.argv[1])
    """
    died = subprocess.run([sys.executable, "-c", textwrap.dedent(code), str(store)], check=False, timeout=100)
    assert died.returncode < 0
    # Before this process opens it: two libraries of SQLite in one process take each other's locks.
    with contextlib.closing(sqlite3.connect(store)) as file:
        assert file.execute("SELECT count(*) FROM journal_saved").fetchone() == (1,)
        assert file.execute("SELECT count(*) FROM journal_pieces").fetchone()[0] > 0
    kept = Agent(ScriptedModel(["Hello."])).run_sync("Say hello.", user="ann", journal=store)
    (broken,) = [run for run in Journal(store).runs() if run.state == "broken off"]
    assert loopwright.journal.forget("sam", journal=Journal(store)).runs == (broken.id,)
    assert copies(tmp_path, "Zanzibar") == {}
    assert replay(store, kept.run_id).identical


def test_m7_a_run_that_goes_on_stays_its_users(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    memory = memory_in(tmp_path)
    agent = agent_of(memory, tmp_path / "MEMORY.md", ["Which one?", "Zanzibar it is.", "Another."])
    first = agent.run_sync("My boat is called Biscuit. Where to?", user="sam", journal=store)
    answered = agent.resume_sync(store, run=first.run_id, answer="My home is Zanzibar.")
    forked = agent.fork_sync(store, 1, run=first.run_id, journal=store)
    assert agent.drain_sync(30) == []
    assert {hit.user for hit in memory.newest()} == {"sam"}, "nothing of it is everybody's"
    report = loopwright.journal.forget("sam", journal=store, memory=memory)
    assert set(report.runs) == {first.run_id, answered.run_id, forked.run_id}
    assert copies(tmp_path, "Zanzibar", "Biscuit") == {}


def test_m7_forks_of_older_journals_and_of_other_users(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    model = ScriptedModel(["ok"] * 9)
    first = Agent(model).run_sync("Where is Zanzibar?", user="sam", journal=store)
    lines = Journal(store).text(first.run_id)
    head = json.loads(lines.split("\n")[0])
    # Forks did not say whose they are.
    bare = {**head, "run": "bare", "about": {"forked_from": first.run_id, "forked_at": 1}}
    fork = tmp_path / "older" / "bare.jsonl"
    fork.parent.mkdir()
    fork.write_text("\n".join([json.dumps(bare), *lines.split("\n")[1:]]), encoding="utf-8")
    anns = Agent(model).fork_sync(store, 1, run=first.run_id, journal=store, user="ann")
    report = loopwright.journal.forget("sam", journal=[store, fork.parent])
    assert set(report.runs) == {first.run_id, "bare"}
    (stays,) = report.stays
    assert anns.run_id in stays.what
    assert "'ann'" in stays.why
    assert not fork.exists()
    assert [run.id for run in Journal(store).runs()] == [anns.run_id]
    Journal(store).delete(anns.run_id)
    assert copies(tmp_path, "Zanzibar") == {}


def test_m7_memory_knows_of_runs_whose_journals_name_nobody(tmp_path: Path) -> None:
    store, memory = tmp_path / "runs.db", memory_in(tmp_path)
    agent = agent_of(memory, tmp_path / "MEMORY.md", [])
    run = agent.run_sync("My boat is called Biscuit.", user="sam", journal=store)
    other = agent.run_sync("My boat is called Pixel.", journal=store)
    assert agent.drain_sync(30) == []
    older = tmp_path / "older"
    older.mkdir()
    for each in (run, other):
        head, _, rest = Journal(store).text(each.run_id).partition("\n")
        bare = {name: value for name, value in json.loads(head).items() if name != "about"}
        (older / f"{each.run_id}.jsonl").write_text(json.dumps(bare) + "\n" + rest, encoding="utf-8")
    Journal(store).delete(run.run_id)
    report = loopwright.journal.forget("sam", journal=older, memory=memory)
    assert report.runs == (run.run_id,)
    assert copies(tmp_path, "Biscuit") == {}
    assert [path.stem for path in older.iterdir()] == [other.run_id]


def test_m7_an_agents_own_user_stands_in_its_journals(tmp_path: Path) -> None:
    store, memory = tmp_path / "runs.db", memory_in(tmp_path)
    agent = Agent(ScriptedModel(["ok"] * 4), memory=MemoryPolicy(memory, after=None))
    run = agent.whom("sam").run_sync("Where is Zanzibar?", journal=store)
    asked = agent.whom("ann").run_sync("Where is Zanzibar?", user="sam", journal=store)
    anns = agent.whom("ann").run_sync("Hello.", journal=store)
    assert set(loopwright.journal.forget("sam", journal=store).runs) == {run.run_id, asked.run_id}
    assert [found.id for found in Journal(store).runs()] == [anns.run_id]


GOING = """
    import sys
    from loopwright import Agent, tool
    from loopwright.testing import ScriptedModel, call

    @tool(idempotent=True)
    def wait() -> str:
        "Waits."
        print("waiting", flush=True)
        sys.stdin.readline()
        return "waited"

    model = ScriptedModel([call("wait"), "Zanzibar."])
    Agent(model, tools=[wait]).run_sync("Where is Zanzibar?", user="sam", journal=sys.argv[1])
"""


@pytest.mark.parametrize("place", PLACES)
def test_m7_nothing_goes_while_a_run_of_the_user_is_under_way(tmp_path: Path, place: str) -> None:
    path = tmp_path / place
    memory = memory_in(tmp_path)
    memory.remember("The boat is called Biscuit.", "semantic", user="sam")
    command = [sys.executable, "-c", textwrap.dedent(GOING), str(path)]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "waiting\n"
    with pytest.raises(UsageError) as caught:
        loopwright.journal.forget("sam", journal=path, memory=memory)
    assert caught.value.code == "journal_in_use"
    assert caught.value.hint
    assert memory.recall("boat", user="sam"), "nothing was deleted"
    (told,) = loopwright.journal.forget("sam", journal=path, memory=memory, dry_run=True).stays
    assert "under way" in told.why
    assert loopwright.journal.forget("ann", journal=path, memory=memory).known is False, (
        "another user is in nobody's way"
    )
    other.communicate("\n")
    assert len(loopwright.journal.forget("sam", journal=path, memory=memory).runs) == 1
    assert copies(tmp_path, "Zanzibar", "Biscuit") == {}


def test_m7_a_reader_in_the_way_is_told_and_the_same_call_forgets_the_rest(tmp_path: Path) -> None:
    store, memory = tmp_path / "runs.db", memory_in(tmp_path)
    agent = agent_of(memory, tmp_path / "MEMORY.md", [])
    run = agent.run_sync("My boat is called Biscuit.", user="sam", journal=store)
    assert agent.drain_sync(30) == []
    other = reader(store)
    with pytest.raises(UsageError) as caught:
        loopwright.journal.forget("sam", journal=store, memory=memory)
    assert caught.value.code == "erase_unfinished"
    other.communicate("\n")
    report = loopwright.journal.forget("sam", journal=store, memory=memory)
    assert report.runs == (run.run_id,)
    assert report.memories
    assert Journal(store).runs() == []
    assert copies(tmp_path, "Biscuit") == {}


def test_m7_one_file_may_hold_runs_and_memories(tmp_path: Path) -> None:
    path = tmp_path / "all.db"
    agent = agent_of(Memory(path), tmp_path / "MEMORY.md", [])
    agent.run_sync("My boat is called Biscuit.", user="sam", journal=path)
    kept = agent.run_sync("My boat is called Pixel.", user="ann", journal=path)
    assert agent.drain_sync(30) == []
    assert asyncio.run(loopwright.journal.aforget("sam", journal=path, memory=path)).known
    assert copies(tmp_path, "Biscuit") == {}
    assert replay(path, kept.run_id).identical
    with Memory(path) as memory:
        assert memory.recall("boat", user="ann")


def test_m7_whose_runs_can_not_be_told_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    run = Agent(ScriptedModel(["Zanzibar."])).run_sync("Where?", user="sam", journal=folder)
    whole = Path(run.journal or "").read_bytes()
    (folder / "torn.jsonl").write_bytes(whole[:40])
    # What the sum of the first line says is nothing to whose it is.
    (folder / "flipped.jsonl").write_bytes(whole.replace(b'"pace":2', b'"pace":3'))
    report = loopwright.journal.forget("sam", journal=folder)
    assert len(report.files) == 2
    assert [(Path(each.what).name, "can't be told" in each.why) for each in report.stays] == [("torn.jsonl", True)]


def test_m7_a_damaged_store_is_told_before_anything_goes(tmp_path: Path) -> None:
    store, memory = tmp_path / "runs.db", memory_in(tmp_path)
    memory.remember("The boat is called Biscuit.", "semantic", user="sam")
    Agent(ScriptedModel(["Zanzibar. " * 5_000])).run_sync("Where?", user="sam", journal=store)
    Journal(store).close()
    store.write_bytes(store.read_bytes()[:-8192])
    with pytest.raises(UsageError) as caught:
        loopwright.journal.forget("sam", journal=store, memory=memory)
    assert caught.value.code == "damaged_store"
    assert memory.recall("boat", user="sam")


@pytest.mark.parametrize(
    ("user", "options", "code"),
    [
        ("", {"journal": "runs.db"}, "invalid_value"),
        (None, {"journal": "runs.db"}, "invalid_value"),
        ("sam", {}, "invalid_value"),
        ("sam", {"journal": 3}, "invalid_value"),
        ("sam", {"memory": 3}, "invalid_value"),
        ("sam", {"journal": "none.db"}, "journal_not_found"),
        ("sam", {"memory": "none.db"}, "store_not_found"),
    ],
)
def test_m7_what_can_not_be_forgotten_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: Any, options: dict[str, Any], code: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        loopwright.journal.forget(user, **options)
    assert caught.value.code == code
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == [], "and nothing is made"
