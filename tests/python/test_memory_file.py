"""A file of preferences that several share, and that things happen to (M5): nothing of another's is forgotten."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from loopwright import LoopwrightError, Memory

PERSON = {"file_line_removed", "file_line_learned", "file_line_changed"}


def prefer(memory: Memory, *texts: str, user: str | None = None) -> None:
    for text in texts:
        memory.remember(text, "semantic", category="preference", trust="user", user=user)


def preferences(memory: Memory, user: str | None = None) -> set[str]:
    return {hit.text for hit in memory.newest() if hit.category == "preference" and hit.user == user}


def persons(memory: Memory) -> set[str]:
    return {event.type for event in memory.audit()} & PERSON


def test_m5_users_and_a_run_without_one_share_a_file(tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    memory = Memory(tmp_path / "m.db")
    prefer(memory, "Answer in German.", "Use tabs.", user="ann")
    prefer(memory, "Answer in French.", user="bob")
    prefer(memory, "Be brief.")
    for _ in range(2):
        for user in ("ann", "bob", None):
            memory.sync_file(file, user)
    text = file.read_text()
    for line in ("Answer in German.", "Use tabs.", "Answer in French.", "Be brief."):
        assert text.count(line) == 1
    assert preferences(memory, "ann") == {"Answer in German.", "Use tabs."}
    assert preferences(memory, "bob") == {"Answer in French."}
    assert preferences(memory) == {"Be brief."}
    assert persons(memory) == set()
    # A line is removed by hand: whose it was forgets it, whoever looks first.
    file.write_text("".join(line for line in text.splitlines(keepends=True) if "tabs" not in line))
    for user in ("bob", None, "ann"):
        memory.sync_file(file, user)
    assert preferences(memory, "ann") == {"Answer in German."}
    assert preferences(memory, "bob") == {"Answer in French."}
    assert [(event.user, event.detail["lines"]) for event in memory.audit(type="file_line_removed")] == [("ann", 1)]
    # A line of somebody else's is changed: that one hears of it.
    file.write_text(file.read_text().replace("in French", "in Norwegian"))
    assert memory.sync_file(file, "ann") == {"written": 0, "learned": 0, "changed": 0, "removed": 0}
    memory.sync_file(file, "bob")
    assert preferences(memory, "bob") == {"Answer in Norwegian."}
    assert preferences(memory, "ann") == {"Answer in German."}


def test_m5_stores_share_a_file(tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    stores = [Memory(tmp_path / "a.db"), Memory(tmp_path / "b.db"), Memory(":memory:")]
    # Each has memories of the numbers 1 and 2.
    for number, memory in enumerate(stores):
        prefer(memory, f"First wish of {number}.", f"Second wish of {number}.")
    for _ in range(3):
        for memory in stores:
            memory.sync_file(file)
    for number, memory in enumerate(stores):
        assert preferences(memory) == {f"First wish of {number}.", f"Second wish of {number}."}
        assert persons(memory) == set()
    assert file.read_text().count("wish of") == 6
    text = file.read_text()
    file.write_text("".join(line for line in text.splitlines(keepends=True) if "Second wish of 1." not in line))
    for memory in stores:
        memory.sync_file(file)
    assert [len(preferences(memory)) for memory in stores] == [2, 1, 2]


@pytest.mark.parametrize(
    "happens",
    [
        lambda text: "",
        lambda text: "\n \n",
        lambda text: "# Notes\n\nSomething else.\n",
        lambda text: text.replace("## Preferences", "## What I like"),
        lambda text: text.replace("## Preferences", "### Preferences"),
        lambda text: text.partition("## Preferences")[0],
        # Cut while it was written: in the middle of a line, in the middle of a mark.
        lambda text: text[: text.index("Use tabs") + 6],
        lambda text: text[: text.index("<!--", text.index("Use tabs")) + 6],
        lambda text: text.replace("## Preferences", "## Prefs").replace("Use tabs", "Use spaces", 0)[: len(text) // 2],
    ],
)
def test_m5_a_file_that_something_happened_to_takes_nothing_with_it(tmp_path: Path, happens) -> None:
    file = tmp_path / "MEMORY.md"
    memory = Memory(tmp_path / "m.db")
    wishes = {"Answer in German.", "Use tabs.", "Never use emojis."}
    prefer(memory, *sorted(wishes))
    memory.sync_file(file)
    file.write_text(happens(file.read_text()))
    done = memory.sync_file(file)
    assert (done["removed"], done["learned"], done["changed"]) == (0, 0, 0)
    assert preferences(memory) == wishes
    assert persons(memory) == set()
    # All of them stand in the file, once.
    memory.sync_file(file)
    assert [file.read_text().count(wish) for wish in sorted(wishes)] == [1, 1, 1]
    # And a person may remove one then.
    if "## Preferences" in file.read_text().splitlines():
        file.write_text("".join(line for line in file.read_text().splitlines(keepends=True) if "emojis" not in line))
        assert memory.sync_file(file)["removed"] == 1


def test_m5_what_a_person_does_is_taken_in(tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    memory = Memory(tmp_path / "m.db")
    prefer(memory, "Only one.")
    memory.sync_file(file)
    # The last line that there is, removed from a file that still has its heading.
    file.write_text("".join(line for line in file.read_text().splitlines(keepends=True) if "Only one" not in line))
    assert memory.sync_file(file)["removed"] == 1
    assert preferences(memory) == set()
    # Without a line break at the end, with another sign, and with a copy of a line that was changed.
    prefer(memory, "Pay -200 EUR at most.", "Use C.")
    memory.sync_file(file)
    file.write_text(file.read_text().replace("-200 EUR", "200 EUR") + "- Use C++.")
    assert memory.sync_file(file) == {"written": 0, "learned": 1, "changed": 1, "removed": 0}
    assert preferences(memory) == {"Pay 200 EUR at most.", "Use C.", "Use C++."}
    line = next(line for line in file.read_text().splitlines() if "Use C." in line)
    file.write_text(file.read_text().replace(line, f"{line}\n{line.replace('Use C.', 'Use D.')}"))
    assert memory.sync_file(file)["learned"] == 1
    assert preferences(memory) >= {"Use C.", "Use D."}


def test_m5_a_person_who_says_what_a_page_said_says_it(tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    memory = Memory(tmp_path / "m.db")
    memory.remember("Answer in German.", "semantic", category="preference", trust="untrusted")
    file.write_text("## Preferences\n\n- Answer in German.\n")
    memory.sync_file(file)
    memory.sync_file(file)
    assert {hit.trust for hit in memory.newest()} == {"untrusted", "user"}
    assert file.read_text().count("German") == 1


def test_m5_a_file_is_the_same_by_whatever_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(tmp_path / "m.db")
    prefer(memory, "Use tabs.", "Be brief.")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path)
    # Before it is there, and by another name than afterwards.
    memory.sync_file("link/MEMORY.md")
    file = tmp_path / "real" / "MEMORY.md"
    file.write_text("".join(line for line in file.read_text().splitlines(keepends=True) if "tabs" not in line))
    assert memory.sync_file(file)["removed"] == 1
    assert preferences(memory) == {"Be brief."}


def test_m5_line_ends_and_marks_of_others_stay(tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    memory = Memory(tmp_path / "m.db")
    prefer(memory, "Use tabs.")
    other = "- Somebody else's. <!-- 1 0123abcd -->"
    file.write_bytes(
        f"\ufeff## Preferences\r\n\r\n{other}\r\n- Mine <!-- a note -->\r\n- Buy <!-- 3 pears -->\r\n".encode()
    )
    memory.sync_file(file)
    text = file.read_bytes().decode()
    assert text.startswith("\ufeff## Preferences\r\n")
    assert f"{other}\r\n" in text
    assert text.count("\n") == text.count("\r\n")
    assert preferences(memory) == {"Use tabs.", "Mine a note", "Buy 3 pears"}


def test_m5_a_mark_of_a_change_that_was_never_kept_harms_nothing(tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    memory = Memory(tmp_path / "m.db")
    prefer(memory, "Use tabs.", "Be brief.")
    memory.sync_file(file)
    tag = file.read_text().rpartition("<!-- ")[2].split()[1]
    # The file was written and the store was not: a number that is nobody's, and one that somebody else got since.
    mine = memory.remember("The office closes at six.", "semantic")
    file.write_text(f"{file.read_text()}- Buy pears. <!-- 99 {tag} -->\n- Buy plums. <!-- {mine} {tag} -->\n")
    assert memory.sync_file(file) == {"written": 0, "learned": 2, "changed": 0, "removed": 0}
    assert preferences(memory) == {"Use tabs.", "Be brief.", "Buy pears.", "Buy plums."}
    assert memory.why(mine).state == "live"
    # What was forgotten meanwhile leaves the file and is not learned from it again.
    (hit,) = [hit for hit in memory.newest() if hit.text == "Use tabs."]
    memory.forget(hit, erase=True)
    file.write_text(f"{file.read_text()}- Use tabs. <!-- {hit.id} {tag} -->\n")
    memory.sync_file(file)
    assert "tabs" not in file.read_text()
    assert "Use tabs." not in preferences(memory)


def test_m5_many_at_once(tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    stores = [Memory(tmp_path / f"{number}.db") for number in range(3)] + [Memory(tmp_path / "0.db")]
    users = ("ann", None, "bob", "cid")
    for number, (memory, user) in enumerate(zip(stores, users, strict=True)):
        prefer(memory, f"Wish {number}.", user=user)
    wrong: list[BaseException] = []

    def sync(memory: Memory, user: str | None) -> None:
        for _ in range(4):
            try:
                memory.sync_file(file, user)
            except LoopwrightError as error:
                if error.code != "memory_file":
                    wrong.append(error)

    threads = [threading.Thread(target=sync, args=pair) for pair in zip(stores, users, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    for number, (memory, user) in enumerate(zip(stores, users, strict=True)):
        memory.sync_file(file, user)
        assert preferences(memory, user) == {f"Wish {number}."}
        assert persons(memory) == set()
    assert [file.read_text().count(f"Wish {number}.") for number in range(4)] == [1, 1, 1, 1]
    assert os.listdir(tmp_path).count("MEMORY.md") == 1
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


@pytest.mark.parametrize(
    "happens",
    [
        lambda text: "",
        lambda text: None,
        lambda text: "# My own notes\n\nNothing of yours.\n",
        lambda text: text.partition("## Preferences")[0],
        lambda text: "# Memory\n\n## Preferences\n",
        lambda text: "".join(text.splitlines(keepends=True)[:-3]),
    ],
    ids=["emptied", "deleted", "replaced", "headless", "template", "cut between lines"],
)
def test_m5_whoever_comes_first_to_a_file_that_lost_its_lines_wipes_nobody_else(tmp_path: Path, happens) -> None:
    file = tmp_path / "MEMORY.md"
    one, other = Memory(tmp_path / "one.db"), Memory(tmp_path / "other.db")
    known = [(one, "sam", "Be brief."), (one, "ann", "Use tabs."), (one, None, "Say please."), (other, "ann", "Use 2.")]
    for memory, user, wish in known:
        prefer(memory, wish, user=user)
    for memory, user, _ in known * 2:
        memory.sync_file(file, user)
    text = happens(file.read_text())
    file.unlink() if text is None else file.write_text(text)
    for memory, user, _ in known * 2:
        memory.sync_file(file, user)
    for memory, user, wish in known:
        assert wish in preferences(memory, user)
        assert persons(memory) == set()
        assert file.read_text().count(wish) == 1
    before = file.read_text()
    one.sync_file(file, "sam")
    assert file.read_text() == before, "nothing moves where nothing changed"
    # Removed by hand it is gone, though it was the only one.
    file.write_text("".join(line for line in before.splitlines(keepends=True) if "tabs" not in line))
    for memory, user, _ in known:
        memory.sync_file(file, user)
    assert preferences(one, "ann") == set()
    assert preferences(other, "ann") == {"Use 2."}
