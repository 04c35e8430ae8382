"""A turn whose process died after its run's last event, before it was queued, is queued by the next one, once."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
from loopwright import Agent, Memory
from loopwright.testing import ScriptedModel
from ways import program

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")

DIES = """
    import os, signal, sys
    from loopwright import Agent
    from loopwright._remember import Remembering
    from loopwright.testing import ScriptedModel
    import asyncio

    def dies(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    Remembering.end = dies
    agent = Agent(ScriptedModel(["Nice."]), memory=sys.argv[1], journal=sys.argv[2])
    whose = {"user": "ann", "session": "s"}
    if sys.argv[3] == "sync":
        agent.run_sync("My cat is called Pixel.", **whose)
    else:
        asyncio.run(agent.run("My cat is called Pixel.", **whose))
"""

NEXT = """
    import sys
    from loopwright import Agent
    from loopwright.testing import ScriptedModel
    print(Agent(ScriptedModel(["Hi."]), memory=sys.argv[1]).drain_sync(30))
"""


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("place", ["runs", "one run.jsonl", "p.db"])
def test_x18_a_turn_that_was_not_queued_any_more_is_queued_by_the_next_process(
    tmp_path: Path, place: str, way: str
) -> None:
    path = tmp_path / "m.db"
    process = program(DIES, path, tmp_path / place, way)
    assert process.wait(60) == -signal.SIGKILL
    process.communicate()
    with Memory(path) as memory:
        assert [one for one in memory.work() if one.kind == "turn"] == [], "it died before"
    # Several come at once.
    following = [program(NEXT, path) for _ in range(3)]
    for one in following:
        assert one.communicate(timeout=90) == ("[]\n", "")
    with Memory(path) as memory:
        (episode,) = memory.episodes()
        assert (episode.user, episode.session, episode.turn_count) == ("ann", "s", 1)
        assert 0 < episode.started_at <= episode.ended_at <= time.time()
        assert [hit.text for hit in memory.newest(kinds=["semantic"])] == ["My cat is called Pixel."]
        told = [one.type for one in memory.audit(turn=episode.run)]
        assert told.count("work_queued") == told.count("run_finished") == 1
        assert "round_started" in told
        assert json.loads(memory._core.lost_turns()) == []
    assert program(NEXT, path).communicate(timeout=60) == ("[]\n", "")
    with Memory(path) as memory:
        assert len(memory.episodes()) == 1


def test_x18_a_run_that_broke_off_is_remembered_when_it_has_been_resumed(tmp_path: Path) -> None:
    code = """
        import os, signal, sys
        from loopwright import Agent, tool
        from loopwright.testing import ScriptedModel, call

        @tool(read_only=True, idempotent=True)
        def look() -> str:
            "Looks."
            if sys.argv[3] == "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            return "a cat"

        agent = Agent(ScriptedModel([call("look"), "A cat."], by_turn=True), tools=[look], memory=sys.argv[1])
        if sys.argv[3] == "dies":
            agent.run_sync("My cat is called Pixel.", journal=sys.argv[2])
        print(agent.resume_sync(sys.argv[2]).final, agent.drain_sync(30))
    """
    path, journal = tmp_path / "m.db", tmp_path / "run.jsonl"
    process = program(code, path, journal, "dies")
    assert process.wait(60) == -signal.SIGKILL
    process.communicate()
    assert program(NEXT, path).communicate(timeout=60) == ("[]\n", "")
    with Memory(path) as memory:
        assert memory.episodes() == [], "it has not ended"
    assert program(code, path, journal, "goes on").communicate(timeout=60) == ("A cat. []\n", "")
    with Memory(path) as memory:
        assert len(memory.episodes()) == 1
        assert json.loads(memory._core.lost_turns()) == []


def test_x18_a_journal_that_is_gone_or_damaged_holds_nothing_up(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    for name in ("gone.jsonl", "damaged.jsonl", "whole.jsonl"):
        process = program(DIES, path, tmp_path / name, "sync")
        assert process.wait(60) == -signal.SIGKILL
        process.communicate()
        # At once: the next process takes up what the one before it left.
        journal = tmp_path / name
        if name == "gone.jsonl":
            journal.unlink()
        elif name == "damaged.jsonl":
            journal.write_bytes(journal.read_bytes().replace(b"Pixel", b"Xelpi", 1))
    agent = Agent(ScriptedModel(["Hi."]), memory=path)
    assert agent.drain_sync(30) == []
    assert agent.memory is not None
    assert len(agent.memory.episodes()) == 1


def test_attempts_at_a_typed_answer_are_one_turn(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    agent = Agent(ScriptedModel(["no number", "7"]), memory=path, journal=tmp_path / "p.db", output_type=int)
    assert agent.run_sync("Count.").output == 7
    assert agent.drain_sync(30) == []
    assert agent.memory is not None
    assert len(agent.memory.episodes()) == 1
    with Memory(path) as memory:
        rows = memory.work()
    assert len([one for one in rows if one.kind == "turn"]) == 1
