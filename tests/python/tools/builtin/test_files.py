"""Reading, listing, writing and editing, with the odd files of real folders."""

import os
import socket
import stat
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from loopwright.tools import ToolDefinitionError
from loopwright.tools.builtin import builtin_tools


def permissions_hold() -> bool:
    """Root with all its rights may read and write everything."""
    with tempfile.NamedTemporaryFile() as file:
        os.chmod(file.name, 0)
        return not os.access(file.name, os.R_OK)


not_as_root = pytest.mark.skipif(not permissions_hold(), reason="this user may read and write everything")


def test_risks(box: Any) -> None:
    risks = {each.name: (each.risk, each.read_only) for each in box.tools}
    assert risks == {
        "read_file": ("safe", True),
        "list_folder": ("safe", True),
        "glob_files": ("safe", True),
        "search_files": ("safe", True),
        "write_file": ("cautious", False),
        "edit_file": ("cautious", False),
        "shell": ("confirm", False),
        "fetch": ("cautious", True),
    }


def test_schemas(box: Any) -> None:
    for each in box.tools.definitions():
        assert each["description"], each["name"]
        assert each["schema"]["additionalProperties"] is False
        for name, parameter in each["schema"]["properties"].items():
            assert parameter.get("description"), (each["name"], name)


def test_workspace_must_exist(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for wrong in (tmp_path / "absent", file):
        with pytest.raises(ToolDefinitionError, match="is no folder"):
            builtin_tools(wrong)


# --- the fence


@pytest.fixture
def fenced(box: Any, tmp_path: Path) -> Any:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    (box.root / "link").symlink_to(outside)
    (box.root / "file_link").symlink_to(outside / "secret.txt")
    (box.root / "dangling").symlink_to(outside / "new.txt")
    (box.root / "chain").symlink_to("link")
    (box.root / "circle").symlink_to("circle")
    (box.root / "inside").mkdir()
    (box.root / "inside" / "a.txt").write_text("fine")
    (box.root / "good_link").symlink_to("inside")
    (tmp_path / "work space evil").mkdir()
    (tmp_path / "work space evil" / "secret.txt").write_text("secret")
    return box


OUTSIDE = [
    "../outside/secret.txt",
    "../work space evil/secret.txt",
    "inside/../../outside/secret.txt",
    "/etc/passwd",
    "link/secret.txt",
    "chain/secret.txt",
    "file_link",
    "dangling",
    "link/../outside/secret.txt",
    "~/.profile",
    "~",
    "..",
    "/",
]


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("read_file", {}),
        ("list_folder", {}),
        ("glob_files", {"pattern": "**"}),
        ("search_files", {"pattern": "secret"}),
        ("write_file", {"content": "x"}),
        ("edit_file", {"old_text": "secret", "new_text": "x"}),
    ],
)
def test_paths_that_lead_out_are_refused(fenced: Any, tmp_path: Path, name: str, more: Any, path: str) -> None:
    assert fenced.fails(name, path=path, **more)["kind"] == "outside_workspace"
    assert sorted(each.name for each in (tmp_path / "outside").iterdir()) == ["secret.txt"]
    assert (tmp_path / "outside" / "secret.txt").read_text() == "secret"


def test_links_that_stay_inside_are_followed(fenced: Any) -> None:
    assert "fine" in fenced.ok("read_file", path="good_link/a.txt")
    assert "fine" in fenced.ok("read_file", path=str(fenced.root / "inside" / "a.txt"))
    fenced.ok("write_file", path="good_link/b.txt", content="b")
    assert (fenced.root / "inside" / "b.txt").read_text() == "b"


def test_walks_do_not_follow_links_out(fenced: Any) -> None:
    assert "secret" not in fenced.ok("search_files", pattern="secret|fine").replace("secret.txt", "")
    assert "link/secret.txt" not in fenced.ok("glob_files", pattern="**")
    listing = fenced.ok("list_folder", depth=5)
    assert "link/secret.txt" not in listing
    assert "link -> " in listing


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5_000, "x" * 300, "circle", "a/" * 2_000 + "b", "\udcff"])
@pytest.mark.parametrize("name", ["read_file", "list_folder", "write_file"])
def test_hostile_paths_are_refused(fenced: Any, name: str, path: str) -> None:
    if (name, path) == ("write_file", "\udcff"):
        return
    more = {"content": "x"} if name == "write_file" else {}
    assert fenced.run(name, path=path, **more).is_error


def test_allow_outside(make_box: Any, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "other.txt").write_text("other")
    box = make_box(root, allow_outside=True)
    assert "other" in box.ok("read_file", path="../other.txt")
    assert "other" in box.ok("read_file", path=str(tmp_path / "other.txt"))
    box.ok("write_file", path=str(tmp_path / "new" / "x"), content="x")
    assert (tmp_path / "new" / "x").read_text() == "x"
    assert f"{tmp_path}/other.txt:1: other" in box.ok("search_files", path=str(tmp_path), pattern="other")


def test_swapping_a_folder_for_a_link_does_not_let_out(box: Any, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("SECRET")
    folder, link = box.root / "d", box.root / "l"
    folder.mkdir()
    (folder / "f").write_text("fine")
    link.symlink_to(outside)
    stop = threading.Event()

    def swap() -> None:
        spare = box.root / "spare"
        while not stop.is_set():
            folder.rename(spare)
            link.rename(folder)
            folder.rename(link)
            spare.rename(folder)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        until = time.monotonic() + 0.7
        reads = 0
        # On a busy machine it takes longer to look often enough.
        while reads <= 10 or time.monotonic() < until:
            assert "SECRET" not in box.run("read_file", path="d/f").text
            box.run("edit_file", path="d/f", old_text="SECRET", new_text="BROKEN")
            box.run("list_folder", path="d")
            reads += 1
    finally:
        stop.set()
        thread.join()
    assert (outside / "f").read_text() == "SECRET"


# --- read_file


def test_lines_are_numbered(box: Any) -> None:
    (box.root / "a b.txt").write_text("one\ntwo\nthree\n")
    assert box.ok("read_file", path="a b.txt") == "     1\tone\n     2\ttwo\n     3\tthree"


@pytest.mark.parametrize(
    ("first", "last", "numbers", "goes_on"),
    [
        (1, None, [1, 2, 3], False),
        (2, None, [2, 3], False),
        (2, 2, [2], False),
        (3, 99, [3], False),
        (1, 2, [1, 2], False),
    ],
)
def test_ranges(box: Any, first: int, last: int | None, numbers: list[int], goes_on: bool) -> None:
    (box.root / "f").write_text("a\nb\nc")
    text = box.ok("read_file", path="f", start_line=first, end_line=last)
    assert [int(line.split("\t")[0]) for line in text.splitlines()] == numbers
    assert ("go on" in text) is goes_on


@pytest.mark.parametrize(("first", "last"), [(0, None), (-1, None), (3, 2), (5, None)])
def test_ranges_that_are_none(box: Any, first: int, last: int | None) -> None:
    (box.root / "f").write_text("a\nb\nc\n")
    assert box.fails("read_file", path="f", start_line=first, end_line=last)["kind"] == "invalid_range"


def test_long_files_come_in_parts_that_join(box: Any) -> None:
    lines = [f"line {n} " + "x" * (n % 80) for n in range(1, 6_001)]
    (box.root / "f").write_text("\n".join(lines) + "\n")
    seen: list[str] = []
    start = 1
    for _ in range(50):
        outcome = box.run("read_file", path="f", start_line=start)
        assert not outcome.truncated
        shown = outcome.text.splitlines()
        closing = shown.pop() if shown[-1].startswith("[") else ""
        seen.extend(line.split("\t", 1)[1] for line in shown)
        if not closing:
            break
        assert "of 6,000" in closing
        start = int(closing.rsplit("=", 1)[1].rstrip("]"))
    assert seen == lines


def test_huge_line_and_huge_file_stay_small(box: Any) -> None:
    with (box.root / "line").open("wb") as file:
        file.write(b"x" * 30_000_000 + b"\nend\n")
    text = box.ok("read_file", path="line")
    assert len(text) < 3_000
    assert text.endswith("     2\tend")
    with (box.root / "sparse").open("wb") as file:
        file.write(b"text\n")
        file.truncate(10_000_000_000)
    assert box.fails("read_file", path="sparse")["kind"] == "binary_file"
    with (box.root / "many").open("wb") as file:
        file.write(b"\n" * 20_000_000)
    assert "of 20,000,000" in box.ok("read_file", path="many", end_line=None)


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"", "(empty file)"),
        (b"\n", "     1\t"),
        (b"a\r\nb\r\n", "     1\ta\n     2\tb"),
        ("größe\n".encode("latin-1"), "größe"),
        ("größe\n".encode("utf-16"), "größe"),
        (b"\xef\xbb\xbfmark", "     1\tmark"),
        ("天" * 3_000, "line cut"),
    ],
)
def test_encodings(box: Any, data: Any, shown: str) -> None:
    (box.root / "f").write_bytes(data if isinstance(data, bytes) else data.encode())
    assert shown in box.ok("read_file", path="f")


@pytest.mark.parametrize("data", [b"\x7fELF\0\0", b"\x89PNG\r\n\x1a\n\0\0", b"text\0text"])
def test_binary_files_are_not_read(box: Any, data: bytes) -> None:
    (box.root / "f").write_bytes(data)
    failure = box.fails("read_file", path="f")
    assert failure["kind"] == "binary_file"
    assert ("picture" in failure["message"]) == data.startswith(b"\x89PNG")


def test_missing_files_come_with_a_suggestion(box: Any) -> None:
    (box.root / "src").mkdir()
    (box.root / "src" / "Main.py").write_text("")
    failure = box.fails("read_file", path="src/mian.py")
    assert failure["kind"] == "file_not_found"
    assert failure["hint"] == "did you mean 'src/Main.py'?"
    assert box.fails("read_file", path="scr/main.py")["hint"] == "did you mean 'src'?"
    assert box.fails("read_file", path="src/zzzzzzz")["hint"] == "src/ holds Main.py"
    assert box.fails("read_file", path="src/Main.py/x")["kind"] == "not_a_folder"


def test_folder_pipe_and_socket_instead_of_a_file(box: Any) -> None:
    (box.root / "d").mkdir()
    assert box.fails("read_file", path="d")["kind"] == "is_a_folder"
    assert box.fails("read_file", path=".")["kind"] == "is_a_folder"
    assert box.fails("write_file", path="d", content="")["kind"] == "is_a_folder"
    os.mkfifo(box.root / "pipe")
    assert box.fails("read_file", path="pipe")["kind"] == "not_a_file"
    assert box.fails("edit_file", path="pipe", old_text="a", new_text="b")["kind"] == "not_a_file"
    assert box.fails("write_file", path="pipe", content="x")["kind"] == "not_a_file"
    with socket.socket(socket.AF_UNIX) as unix:
        here = os.getcwd()
        os.chdir(box.root)
        try:
            unix.bind("s")
        finally:
            os.chdir(here)
        assert box.run("read_file", path="s").is_error


@not_as_root
def test_permission_denied(box: Any) -> None:
    (box.root / "f").write_text("x")
    (box.root / "f").chmod(0)
    assert box.fails("read_file", path="f")["kind"] == "permission_denied"


# --- list_folder


def test_listing(box: Any) -> None:
    assert box.ok("list_folder") == "(empty folder)"
    (box.root / "b").mkdir()
    (box.root / "b" / "deep").mkdir()
    (box.root / "b" / "deep" / "x").write_text("12345")
    (box.root / "a.txt").write_text("x" * 1234)
    (box.root / ".git").mkdir()
    (box.root / ".git" / "HEAD").write_text("")
    assert box.ok("list_folder").splitlines() == [".git/", "a.txt (1,234)", "b/"]
    assert box.ok("list_folder", depth=3).splitlines() == [".git/", "a.txt (1,234)", "b/", "b/deep/", "b/deep/x (5)"]
    assert box.ok("list_folder", path="b/deep") == "x (5)"
    assert box.fails("list_folder", path="a.txt")["kind"] == "not_a_folder"
    assert box.fails("list_folder", path="c")["kind"] == "file_not_found"


def test_listing_of_names_that_are_no_utf8(box: Any) -> None:
    (Path(os.fsdecode(os.fsencode(box.root) + b"/\xff"))).write_text("")
    assert "\ufffd" in box.ok("list_folder")
    assert "\ufffd" in box.ok("glob_files", pattern="*")


def test_listing_of_many(box: Any) -> None:
    for number in range(1_200):
        (box.root / f"f{number:04}").touch()
    lines = box.ok("list_folder").splitlines()
    assert lines[-1].startswith("[more than 1000")


# --- write_file


def test_writing(box: Any) -> None:
    assert box.ok("write_file", path="a b/c/d.txt", content="ü\ny\n") == "created a b/c/d.txt (2 lines, 5 bytes)"
    assert (box.root / "a b/c/d.txt").read_text() == "ü\ny\n"
    report = box.ok("write_file", path="a b/c/d.txt", content="ü\nz\nw\n")
    assert report == "replaced a b/c/d.txt (3 lines, 7 bytes; +2 -1 lines)"
    assert [each.name for each in (box.root / "a b/c").iterdir()] == ["d.txt"]


def test_writing_keeps_permissions_and_readers(box: Any) -> None:
    file = box.root / "run.sh"
    file.write_text("old")
    file.chmod(0o755)
    with file.open() as reader:
        box.ok("write_file", path="run.sh", content="new")
        assert reader.read() == "old"
    assert stat.S_IMODE(file.stat().st_mode) == 0o755


def test_writing_through_a_file_is_refused(box: Any) -> None:
    (box.root / "f").write_text("")
    assert box.fails("write_file", path="f/x", content="")["kind"] == "not_a_folder"


def test_writing_what_can_not_be_written(box: Any) -> None:
    assert box.fails("write_file", path="f", content="\ud800")["kind"] == "encoding"
    assert box.fails("write_file", path="f", content="x" * 11_000_000)["kind"] == "file_too_large"
    assert list(box.root.iterdir()) == []


@not_as_root
def test_read_only_files_stay(box: Any) -> None:
    (box.root / "f").write_text("old")
    (box.root / "f").chmod(0o444)
    assert box.fails("write_file", path="f", content="new")["kind"] == "permission_denied"
    assert (box.root / "f").read_text() == "old"


# --- edit_file


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a = 1\nb = 2\n", "a = 1", "a = 3", b"a = 3\nb = 2\n"),
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny", b"x\r\ny\r\nc\r\n"),
        (b"a\r\nb\r\n", "b", "b\nc", b"a\r\nb\r\nc\r\n"),
        (b"a\r\nb\nc\n", "b\nc", "x", b"a\r\nx\n"),
        ("größe x".encode("latin-1"), "x", "ä", "größe ä".encode("latin-1")),
        ("größe x".encode("utf-16"), "x", "天", "größe 天".encode("utf-16")),
        (b"\xef\xbb\xbfa", "a", "b", b"\xef\xbb\xbfb"),
        (b"delete me\nkeep\n", "delete me\n", "", b"keep\n"),
        (b"a.b", "a.b", "\\1", b"\\1"),
    ],
)
def test_editing(box: Any, before: bytes, old: str, new: str, after: bytes) -> None:
    (box.root / "f").write_bytes(before)
    (box.root / "f").chmod(0o640)
    report = box.ok("edit_file", path="f", old_text=old, new_text=new)
    assert (box.root / "f").read_bytes() == after
    assert report.startswith("edited f at line ")
    assert stat.S_IMODE((box.root / "f").stat().st_mode) == 0o640


def test_edit_reports_where(box: Any) -> None:
    (box.root / "f").write_text("".join(f"line {n}\n" for n in range(1, 21)))
    report = box.ok("edit_file", path="f", old_text="line 10\n", new_text="TEN\nTEN\n")
    assert report.startswith("edited f at line 10\n")
    assert "    10\tTEN\n    11\tTEN\n    12\tline 11" in report


@pytest.mark.parametrize(
    ("text", "old", "kind", "words"),
    [
        ("a\nb\na\n", "a", "many_matches", "2 times, at lines 1, 3"),
        ("x\n" * 30, "x", "many_matches", "…"),
        ("a\n", "b", "no_match", "read the file"),
        ("def f():\n    return  1\n", "def f():\n\treturn 1", "no_match", "at line 1 with other spaces"),
        ("def f():\n    pass\n", "def f():\n    return 2", "no_match", "first line stands there, at line 1"),
        ("", "a", "no_match", ""),
        ("a", "", "no_match", "empty"),
        ("a\0b", "a", "binary_file", ""),
    ],
)
def test_edits_that_do_not_fit(box: Any, text: str, old: str, kind: str, words: str) -> None:
    (box.root / "f").write_text(text)
    failure = box.fails("edit_file", path="f", old_text=old, new_text="new")
    assert failure["kind"] == kind
    assert words in failure["message"] + failure["hint"]
    assert (box.root / "f").read_text() == text


def test_replace_all(box: Any) -> None:
    (box.root / "f").write_text("a b a\na")
    assert "3 places, the first at line 1" in box.ok(
        "edit_file", path="f", old_text="a", new_text="aa", replace_all=True
    )
    assert (box.root / "f").read_text() == "aa b aa\naa"


def test_an_edit_can_not_blow_a_file_up(box: Any) -> None:
    (box.root / "f").write_text("a" * 100_000)
    failure = box.fails("edit_file", path="f", old_text="a", new_text="b" * 100_000, replace_all=True)
    assert failure["kind"] == "file_too_large"
    assert (box.root / "f").read_text() == "a" * 100_000


def test_edits_that_change_nothing_or_can_not_be_encoded(box: Any) -> None:
    (box.root / "f").write_bytes("größe".encode("latin-1"))
    assert box.fails("edit_file", path="f", old_text="e", new_text="e")["kind"] == "no_change"
    assert box.fails("edit_file", path="f", old_text="e", new_text="天")["kind"] == "encoding"
    assert box.fails("edit_file", path="g", old_text="e", new_text="x")["kind"] == "file_not_found"
    assert box.fails("edit_file", path=".", old_text="e", new_text="x")["kind"] == "is_a_folder"
