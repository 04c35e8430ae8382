"""`loopwright memory` and `loopwright audit`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from loopwright import Agent, Journal, Memory
from loopwright.after import AfterTurn
from loopwright.memory import MemoryPolicy
from loopwright.testing import ScriptedModel, WireServer, text

if TYPE_CHECKING:
    from pathlib import Path


def remembered(path: Path) -> int:
    memory = Memory(path)
    agent = Agent(ScriptedModel(["It is 1, 2 and 3."]), memory=MemoryPolicy(memory, after=AfterTurn(reflection=True)))
    agent.run_sync("My dog is called Biscuit. Which numbers are there?")
    assert agent.drain_sync(30) == []
    number = next(hit.id for hit in memory.newest() if hit.category == "fact")
    memory.close()
    return number


def test_d42_d29_what_is_remembered_and_why_and_what_happened_can_be_seen(tmp_path: Path, loopwright: Any) -> None:
    path = tmp_path / "a b.db"
    number = remembered(path)
    there = ("--memory", str(path))
    done = loopwright("memory", *there)
    assert done.code == 0, done.err
    assert "My dog is called Biscuit." in done.out
    assert "Biscuit" in loopwright("memory", "list", "dog", *there).out
    assert "from run " in loopwright("memory", "why", str(number), *there).out
    found = json.loads(loopwright("memory", "work", "--json", *there).out)["work"]
    assert {one["state"] for one in found} == {"done"}
    assert "adversarial" in loopwright("memory", "reflections", *there).out
    assert "numbers" in loopwright("memory", "reflections", *there).out
    assert "episode_kept" in loopwright("audit", *there).out
    events = json.loads(loopwright("audit", "--type", "run_finished", "--json", *there).out)["events"]
    assert [event["detail"]["stop"] for event in events] == ["natural"]
    assert str(number) in loopwright("memory", "forget", str(number), *there).out
    assert "Biscuit" not in loopwright("memory", "list", "dog", *there).out
    assert "memory_forgotten" in loopwright("audit", "--last", "5m", *there).out


def test_d42_what_is_wrong_is_said(tmp_path: Path, loopwright: Any) -> None:
    for arguments in (("memory",), ("audit",), ("memory", "list", "--memory", str(tmp_path / "none.db"))):
        done = loopwright(*arguments)
        assert done.code == 2
        assert "there is no store" in done.err
    remembered(tmp_path / "m.db")
    done = loopwright("memory", "why", "Biscuit", "--memory", "m.db")
    assert (done.code, "number of a memory" in done.err) == (2, True)
    assert loopwright("memory", "why", "4711", "--memory", "m.db").code == 2


def test_d24_runs_of_the_command_line_remember(tmp_path: Path, loopwright: Any) -> None:
    with WireServer([text("Nice."), text("Biscuit.")]) as server:
        about = ("--model", "openai-chat:any", "--base-url", server.url, "--memory", "m.db")
        assert loopwright("run", "My dog is called Biscuit.", *about, OPENAI_API_KEY="k").code == 0
        assert loopwright("run", "What is my dog called?", *about, OPENAI_API_KEY="k").code == 0
        body = json.dumps(server.requests[1]["body"])
    assert "My dog is called Biscuit." in body


def test_a_store_that_holds_journals_alone_remembers_nothing(tmp_path: Path, loopwright: Any) -> None:
    store = tmp_path / ".loopwright" / "journal.db"
    Agent(ScriptedModel(["Hi."])).run_sync("Hello", journal=store)
    Journal(store).close()
    before = store.read_bytes()
    for arguments, said in (
        (("memory",), "nothing is remembered"),
        (("memory", "list", "cat"), "nothing is remembered"),
        (("memory", "work"), "no work is known"),
        (("memory", "reflections"), "nothing was learned"),
        (("audit",), "the audit holds no such event"),
    ):
        done = loopwright(*arguments)
        assert (done.code, said in done.err + done.out) == (0, True), (arguments, done)
    done = loopwright("memory", "why", "1")
    assert (done.code, "unknown_memory" in done.err or "no memory" in done.err) == (2, True), done
    assert store.read_bytes() == before, "looking changes nothing"
    assert loopwright("memory", "forget", "1").code == 2
    assert loopwright("runs").code == 0
    (tmp_path / "empty.db").touch()
    done = loopwright("memory", "--memory", "empty.db")
    assert (done.code, (tmp_path / "empty.db").stat().st_size) == (0, 0)
