"""A memory that an older version wrote: it opens, keeps what it knows, and is read by the rules of this one."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from loopwright import Memory

DATA = Path(__file__).parent.parent / "data" / "memory"


def older(folder: Path) -> tuple[Path, Path]:
    """The store and the file of preferences that version 2 of the tables wrote."""
    folder.mkdir(exist_ok=True)
    path, file = folder / "old.db", folder / "MEMORY.md"
    with sqlite3.connect(path) as store:
        store.executescript((DATA / "version-2.sql").read_text())
        store.execute("UPDATE memory_files SET path = ?", (os.path.realpath(file),))
    store.close()
    file.write_text((DATA / "version-2.md").read_text())
    return path, file


def test_m3_a_memory_of_an_older_version_keeps_its_facts(tmp_path: Path) -> None:
    path, _ = older(tmp_path)
    assert len(Memory(path, read_only=True).newest()) == 11
    memory = Memory(path)
    assert len(memory.newest()) == 11
    assert memory.stats()["live"] == 11
    assert memory.recall("Is the main valve open?", 1)[0].trust == "verified"
    # What it knows is known by the rules of now.
    known = {hit.text: hit.id for hit in memory.newest()}
    assert (
        memory.remember("The main valve  is open.", "semantic", trust="untrusted") == known["The main valve is open."]
    )
    assert memory.remember("Zo\u00eb lives in Oslo.", "semantic", user="ann", trust="user") == 3
    for text in ("The main valve is not open.", "Use C++."):
        assert memory.remember(text, "semantic", trust="untrusted") not in known.values()
    assert memory.why(known["The main valve is open."]).trust == "verified"
    memory.remember("I take the train to Bergen.", trust="user")
    (made,) = memory.consolidate().promoted
    assert memory.why(made).trust == "user"
    memory.close()
    assert len(Memory(path).newest()) == 15


def test_m5_marks_of_an_older_version_are_known_by_what_they_say(tmp_path: Path) -> None:
    path, file = older(tmp_path)
    memory = Memory(path)
    # Whoever has no lines in it, or another store, takes none of them.
    assert memory.sync_file(file) == {"written": 1, "learned": 0, "changed": 0, "removed": 0}
    other = Memory(tmp_path / "other.db")
    other.sync_file(file)
    assert other.newest() == []
    assert memory.sync_file(file, "ann") == {"written": 0, "learned": 0, "changed": 0, "removed": 0}
    text = file.read_text()
    assert [text.count(line) for line in ("I prefer tabs.", "Answer in German.", "Be brief.")] == [1, 1, 1]
    file.write_text("".join(line for line in text.splitlines(keepends=True) if "German" not in line))
    memory.sync_file(file)
    assert memory.sync_file(file, "ann")["removed"] == 1
    assert {hit.text for hit in memory.newest() if hit.category == "preference"} == {"I prefer tabs.", "Be brief."}
    # An edit of before can't be told from a line of somebody else's: nothing is lost.
    path, file = older(tmp_path / "edited")
    file.write_text(file.read_text().replace("I prefer tabs.", "I prefer spaces."))
    memory = Memory(path)
    memory.sync_file(file, "ann")
    assert {hit.text for hit in memory.newest() if hit.user == "ann" and hit.category == "preference"} == {
        "I prefer tabs.",
        "I prefer spaces.",
        "Answer in German.",
    }


def test_m7_what_an_older_version_left_is_erased(tmp_path: Path) -> None:
    path, _ = older(tmp_path)
    memory = Memory(path)
    word = b"rumpelstilzchen"
    assert word in path.read_bytes().lower()
    memory.forget(9, erase=True)
    assert not any(word in part.read_bytes().lower() for part in tmp_path.iterdir())
    memory.forget_user("ann")
    for gone in (b"biscuit", b"zoe\xcc\x88", b"prefer tabs", b"in german"):
        assert not any(gone in part.read_bytes().lower() for part in tmp_path.iterdir()), gone
    assert memory.recall("Is the main valve open?")


def test_m5_relations_of_an_older_version_are_of_the_user_of_their_memory(tmp_path: Path) -> None:
    path, _ = older(tmp_path)
    with sqlite3.connect(path) as store:
        store.executescript("""
            INSERT INTO memory_relations (subject, subject_key, relation, object, object_key, memory, trust, stored_at)
            VALUES ('Bo', 'bo', 'has', 'Rex', 'rex', 3, 2, 0.0), ('Bo', 'bo', 'has', 'tea', 'tea', NULL, 2, 0.0);
        """)
    store.close()
    for read_only in (True, False):
        memory = Memory(path, read_only=read_only)
        assert {one.entity for one in memory.neighbours("Bo", user="ann")} == {"Rex", "tea"}
        assert {one.entity for one in memory.neighbours("Bo", user="eve")} == {"tea"}
        memory.close()
