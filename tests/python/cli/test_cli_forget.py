"""`loopwright forget`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from loopwright import Agent, Journal, Memory
from loopwright.testing import ScriptedModel

if TYPE_CHECKING:
    from pathlib import Path


def kept(path: Path) -> None:
    """Runs and memories of two users."""
    with Memory(path) as memory:
        for user in ("sam", "ann"):
            memory.remember(f"The boat of {user} is called Biscuit.", "semantic", user=user)
    with Journal(path) as journal:
        for user in ("sam", "ann"):
            Agent(ScriptedModel(["ok"])).run_sync("Hello.", user=user, journal=journal)


def test_m7_a_user_is_forgotten_by_one_command(tmp_path: Path, loopwright: Any) -> None:
    path = tmp_path / ".loopwright" / "journal.db"
    path.parent.mkdir()
    kept(path)
    would = loopwright("forget", "--user", "sam", "--dry-run")
    assert (would.code, would.out) == (0, "would forget of sam: 1 run, 1 memory\n")
    refused = loopwright("forget", "--user", "sam")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert len(Journal(path).runs()) == 2
    done = loopwright("forget", "--user", "sam", "--yes", "--json")
    told = json.loads(done.out)
    assert (done.code, told["known"], len(told["runs"]), len(told["memories"])) == (0, True, 1, 1)
    assert len(Journal(path).runs()) == 1
    with Memory(path) as memory:
        assert [hit.user for hit in memory.newest()] == ["ann"]
    assert loopwright("forget", "--user", "sam", "--yes").out == "forgotten of sam: nothing is kept\n"


def test_m7_the_places_that_are_named_are_the_only_ones(tmp_path: Path, loopwright: Any) -> None:
    path = tmp_path / "m.db"
    kept(path)
    assert "1 run\n" in loopwright("forget", "--user", "sam", "--journal", "m.db", "--yes").out
    with Memory(path) as memory:
        assert len(memory.newest()) == 2
    assert "1 memory" in loopwright("forget", "--user", "sam", "--memory", "m.db", "--yes").out
    done = loopwright("forget", "--user", "sam")
    assert (done.code, "there is no store" in done.err) == (2, True)
    assert loopwright("forget").code == 2


def test_m7_a_person_is_asked_first(tmp_path: Path, terminal: Any) -> None:
    kept(tmp_path / "m.db")
    for answer, left, code in (("n", 2, 130), ("y", 1, 0)):
        screen = terminal("forget", "--user", "sam", "--journal", "m.db")
        screen.until("Delete it for good? [y/N] ")
        assert "1 run" in screen.text
        screen.type(answer + "\r")
        assert screen.end() == code
        assert len(Journal(tmp_path / "m.db").runs()) == left
