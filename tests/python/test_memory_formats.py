"""A file of preferences that a formatter, an editor or a merge wrote anew (M5, M7): nothing is lost, nothing changes hands."""

from __future__ import annotations

import itertools
import logging
import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from loopwright import Memory

LONG = (
    "I prefer green tea - no milk, well-steeped - with a little honey in the early hours, and never before 7. Ask me."
)
WISHES = [
    ("one", "sam", LONG),
    ("one", "sam", "Pay -200 EUR at most."),
    ("one", "ann", "Always answer in German."),
    ("one", "ann", 'I prefer `snake_case` and *never* <b>tabs</b> over 2 spaces & "quotes".'),
    ("one", None, "[ ] stands for what is open."),
    ("other", "sam", "I prefer jazz in the evening, and silence in the morning - always."),
    ("other", "ann", "Call me Dr. Ann; never Annie."),
]
WHO = [("one", "sam"), ("one", "ann"), ("one", None), ("other", "sam"), ("other", "ann")]
MARK = r"<!-- \d+ \w{8} -->"


def lines(change: Callable[[str], str]) -> Callable[[str], str]:
    """Changes the items of a text, line by line."""

    def changed(text: str) -> str:
        return "".join(change(line) if line.startswith("- ") else line for line in text.splitlines(keepends=True))

    return changed


def wrapped(width: int, indent: str, **how: bool) -> Callable[[str], str]:
    def wrap(line: str) -> str:
        return "\n".join(textwrap.wrap(line.rstrip(), width, subsequent_indent=indent, **how)) + "\n"

    return lines(wrap)


def escaped(line: str) -> str:
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def numbered(text: str) -> str:
    count = itertools.count(1)
    return re.sub(r"\n- ", lambda _: f"\n{next(count)}. ", text)


FORMS: dict[str, Callable[[str], str]] = {
    "indent": lambda text: textwrap.indent(text, "  ", lambda line: line.startswith(("- ", "<!-- end"))),
    "tab": lambda text: text.replace("\n- ", "\n\t- "),
    "deep": lambda text: text.replace("\n- ", "\n      *   "),
    "plus": lambda text: text.replace("\n- ", "\n+ "),
    "bullet": lambda text: text.replace("\n- ", "\n• "),
    "dash": lambda text: text.replace("\n- ", "\n\N{EN DASH} "),
    "numbers": numbered,
    "brackets": lambda text: text.replace("\n- ", "\n1) "),
    "checkbox": lambda text: text.replace("\n- ", "\n- [ ] "),
    "ticked": lambda text: text.replace("\n- ", "\n* [x] "),
    "no break spaces": lambda text: text.replace("\n- ", "\n-\u00a0"),
    "quote": lambda text: text.replace("\n- ", "\n> - "),
    "all quoted": lambda text: textwrap.indent(text, "> ", lambda _: True),
    "no bullet": lambda text: text.replace("\n- ", "\n"),
    "no bullet, indent": lambda text: text.replace("\n- ", "\n    "),
    "no bullet, paragraphs": lambda text: text.replace("\n- ", "\n\n"),
    "table": lines(lambda line: f"| {line[2:].rstrip()} |\n"),
    "table of two columns": lines(lambda line: f"| {line[2:].rstrip().replace(' <!--', ' | <!--')} |\n"),
    "wrapped": wrapped(60, "  ", break_on_hyphens=False),
    "wrapped at hyphens": wrapped(30, "  "),
    "wrapped without indent": wrapped(44, "", break_on_hyphens=False),
    "wrapped, indent": lambda text: wrapped(50, "    ", break_on_hyphens=False)(text).replace("\n- ", "\n  - "),
    "wrapped, quote": wrapped(60, "> "),
    "wrapped, hard breaks": lambda text: re.sub(r"\n  (?=\S)", "\\\\\n  ", wrapped(60, "  ")(text)),
    "mark on the next line": lambda text: re.sub(rf" ({MARK})", r"\n  \1", text),
    "mark on the next line, no indent": lambda text: re.sub(rf" ({MARK})", r"\n\1", text),
    "mark behind a blank line": lambda text: re.sub(rf" ({MARK})", r"\n\n  \1", text),
    "mark before the line": lambda text: re.sub(rf"\n- (.*) ({MARK})", r"\n\2\n- \1", text),
    "mark first": lambda text: re.sub(rf"\n- (.*) ({MARK})", r"\n- \2 \1", text),
    "mark over two lines": lambda text: re.sub(r"(<!-- \d+) (\w{8} -->)", r"\1\n  \2", text),
    "marks close up": lambda text: text.replace("<!-- ", "<!--").replace(" -->", "-->"),
    "marks in large letters": lambda text: re.sub(r"<!-- .*? -->", lambda found: found[0].upper(), text),
    "em dashes": lambda text: text.replace("--", "—"),
    "en dashes": lambda text: re.sub(
        "--| - ", lambda found: found[0].replace("--", "-").replace("-", "\N{EN DASH}"), text
    ),
    "smart quotes": lambda text: re.sub(r'"(\w+)"', r"“\1”", text),
    "escaped": escaped,
    "escaped twice": lambda text: (
        re.sub(r"([<>\-!*_`\[\]&])", r"\\\1", text).replace("\n\\- ", "\n- ").replace("\\#", "#")
    ),
    "escaped as prettier does": lines(lambda line: "- " + line[2:].replace("*", "_").replace("[ ]", "\\[ ]")),
    "blank lines between": lambda text: text.replace("\n- ", "\n\n- ").replace("\n<!-- end", "\n\n<!-- end"),
    "blank lines squeezed": lambda text: re.sub(r"\n\n+", "\n", text),
    "carriage returns": lambda text: text.replace("\n", "\r\n"),
    "mark of byte order": lambda text: "\ufeff" + text,
    "no last line break": lambda text: text.rstrip("\n"),
    "spaces at the end": lambda text: text.replace("\n", "  \n"),
    "sorted": lambda text: "## Preferences\n\n" + "\n".join(sorted(text.partition("## Preferences")[2].splitlines())),
    "turned around": lambda text: (
        "## Preferences\n\n" + "\n".join(text.partition("## Preferences")[2].splitlines()[::-1])
    ),
    "ends at the bottom": lambda text: (
        re.sub(r"<!-- end \w+ -->\n", "", text) + "".join(re.findall(r"<!-- end \w+ -->\n", text))
    ),
    "ends at the top": lambda text: re.sub(r"<!-- end \w+ -->\n", "", text).replace(
        "## Preferences\n", "## Preferences\n" + "".join(re.findall(r"<!-- end \w+ -->\n", text))
    ),
    "no comments": lambda text: re.sub(r"[ \n]*<!--.*?-->", "", text),
    "no comments, indent": lambda text: re.sub(r"[ \n]*<!--.*?-->", "", text).replace("\n- ", "\n  - "),
    "no comments, wrapped": lambda text: wrapped(60, "  ")(re.sub(r"[ \n]*<!--.*?-->", "", text)),
    "no marks": lambda text: re.sub(rf" {MARK}", "", text),
    "no marks of some": lambda text: re.sub(rf" {MARK}", "", text, count=4),
    "another section": lambda text: text.replace("- ", "## Other\n\n- ", 1),
    "another heading": lambda text: text.replace("## Preferences", "## Vorlieben"),
    "setext heading": lambda text: text.replace("## Preferences", "Preferences\n-----------"),
    "merge": lambda text: text.replace("- ", "<<<<<<< HEAD\n- ", 1) + "=======\n" + text + ">>>>>>> other\n",
    "twice": lambda text: text + "\n" + text,
    "a nested list": lambda text: text.replace("\n- ", "\n- What I like:\n  - ", 1).replace("- What I like:\n", ""),
}


def stores(folder: Path) -> dict[str, Memory]:
    """Two stores with the wishes of two users and of nobody, in one file."""
    made = {name: Memory(folder / f"{name}.db") for name in ("one", "other")}
    for name, user, wish in WISHES:
        made[name].remember(wish, "semantic", category="preference", trust="user", user=user)
    for name, user in WHO * 2:
        made[name].sync_file(folder / "MEMORY.md", user)
    return made


def kept(made: dict[str, Memory]) -> set[tuple[str, str | None, str]]:
    return {(name, hit.user, hit.text) for name, memory in made.items() for hit in memory.newest()}


@pytest.mark.parametrize("first", [0, 2, 4])
@pytest.mark.parametrize("form", FORMS)
def test_m5_a_file_in_another_form_loses_nothing_and_gives_nothing_away(tmp_path: Path, form: str, first: int) -> None:
    file = tmp_path / "MEMORY.md"
    made = stores(tmp_path)
    before = file.read_bytes().decode()
    after = FORMS[form](before)
    assert after != before
    file.write_bytes(after.encode())
    for name, user in (WHO[first:] + WHO[:first]) * 3:
        done = made[name].sync_file(file, user)
        assert {done[what] for what in ("learned", "changed", "removed")} == {0}, (name, user)
    assert kept(made) == set(WISHES)
    # At rest, and all of it stands there.
    rest = file.read_text()
    for name, user in WHO:
        made[name].sync_file(file, user)
    assert file.read_text() == rest
    for memory in made.values():
        memory.close()


@pytest.mark.parametrize(
    "form",
    ["indent", "numbers", "no bullet", "wrapped", "mark on the next line", "escaped", "quote", "ends at the bottom"],
)
def test_m5_in_any_form_a_person_changes_removes_and_adds(tmp_path: Path, form: str) -> None:
    file = tmp_path / "MEMORY.md"
    made = stores(tmp_path)
    file.write_text(FORMS[form](file.read_text()))
    text = file.read_text().replace("in German", "in Norwegian")
    # Gone with its mark, on however many lines that is.
    text = re.sub(r"\n[^\n]*Call me Dr\. Ann; never Annie\.\s*\S*!--.*?--\S*(?=\n)", "", text, flags=re.DOTALL)
    assert "Annie" not in text
    file.write_text(text + "\n  + [ ] Use metres.\n")
    for name, user in WHO * 2:
        made[name].sync_file(file, user)
    want = {wish for wish in WISHES if "German" not in wish[2] and "Annie" not in wish[2]}
    assert kept(made) == want | {("one", "ann", "Always answer in Norwegian."), ("one", "sam", "Use metres.")}


def test_m5_a_line_without_a_mark_that_says_what_others_say_is_not_learned(tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    made = stores(tmp_path)
    # A piece of sam's, all of another store's, and one that is new.
    file.write_text(
        "## Preferences\n\n- I prefer green tea - no milk\n- Call me Dr. Ann; never Annie.\n- I prefer rum.\n"
    )
    assert made["one"].sync_file(file, None)["learned"] == 1
    assert kept(made) == {*WISHES, ("one", None, "I prefer rum.")}
    # What nobody says any more may be learned by whoever comes.
    memory = Memory(tmp_path / "third.db")
    assert memory.sync_file(file)["learned"] == 2


def test_m5_a_line_of_a_page_whose_mark_was_lost_is_not_lent_the_trust_of_a_person(tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    memory = Memory(tmp_path / "m.db")
    memory.remember("Answer in German.", "semantic", category="preference", trust="untrusted")
    memory.sync_file(file)
    file.write_text(re.sub(f" {MARK}", "", file.read_text()))
    memory.sync_file(file)
    assert [hit.trust for hit in memory.newest()] == ["untrusted"]


@pytest.mark.parametrize(
    "text", ["1. Use tabs.", "[x] is done.", "- dashes", "> 5 EUR", "# is a sign.", "a <!-- 1 0123abcd --> b"]
)
def test_m5_what_looks_like_markdown_is_read_as_it_was_written(tmp_path: Path, text: str) -> None:
    file = tmp_path / "MEMORY.md"
    memory = Memory(tmp_path / "m.db")
    memory.remember(text, "semantic", category="preference", trust="user")
    for _ in range(3):
        assert set(memory.sync_file(file).values()) <= {0, 1}
    assert [hit.text for hit in memory.newest()] == [text]
    assert memory.sync_file(file) == {"written": 0, "learned": 0, "changed": 0, "removed": 0}


@pytest.mark.parametrize("how", ["memory", "user"])
@pytest.mark.parametrize("form", FORMS)
def test_m7_erased_words_leave_a_file_of_any_form(tmp_path: Path, form: str, how: str) -> None:
    file = tmp_path / "MEMORY.md"
    made = stores(tmp_path)
    memory = made["one"]
    number = next(hit.id for hit in memory.newest() if hit.text == LONG)
    file.write_bytes(FORMS[form](file.read_bytes().decode()).encode())
    gone = memory.forget(number, erase=True) if how == "memory" else memory.forget_user("sam")
    text = file.read_text()
    for word in ("green", "steeped", "honey"):
        assert word not in text
    assert gone.left_in == ()
    for word in ("jazz", "Annie", "German"):
        assert word in text


def test_m7_words_that_stand_in_somebodys_own_line_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "MEMORY.md"
    memory = Memory(tmp_path / "m.db")
    number = memory.remember("Use tabs.", "semantic", category="preference", trust="user", user="sam")
    memory.sync_file(file, "sam")
    file.write_text(
        file.read_text()
        + "\n## Notes\n\nSam once said: Use tabs. We did not.\n\nI talked to Sam.\nWho said: Use tabs.\n"
    )
    with caplog.at_level(logging.WARNING, "loopwright.memory"):
        gone = memory.forget(number, erase=True)
    assert gone == [number]
    assert gone.left_in == (str(file),)
    assert str(file) in caplog.text
    assert file.read_text().count("Use tabs.") == 2
    assert memory.forget_user("sam").left_in == ()


def test_m7_a_name_that_is_written_otherwise_is_told(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "m.db")
    for user in ("Zo\u00eb Quill", "zoe\u0308  quill", "bob"):
        memory.remember(f"I prefer {user}.", "semantic", user=user)
    gone = memory.forget_user("ZOE\u0308 QUILL")
    assert not gone.known
    assert set(gone.similar) == {"Zo\u00eb Quill", "zoe\u0308  quill"}
    assert len(memory.newest()) == 3
    gone = memory.forget_user("Zo\u00eb Quill")
    assert gone.known
    assert gone.similar == ("zoe\u0308  quill",)
    assert memory.forget_user("nobody").similar == ()
    assert memory.forget(memory.newest()[0].id).similar == ()
