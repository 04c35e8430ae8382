"""Finding files by name and by content."""

import asyncio
import gc
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from loopwright.tools import Outcome
from loopwright.tools.builtin._search import Searching
from loopwright.tools.builtin._workspace import Workspace

SLOW = ["(?i)(?:ab?c?d?){800}x|^b$", "(?i)(?:a[bc]?d?){1500}x"]
"""They say so much that each character of a long line takes a while."""


@pytest.fixture
def tree(box: Any) -> Any:
    for path, text in {
        "a.py": "import os\nneedle = 1\n",
        "src/b.py": "x\nNeedle\n",
        "src/deep/c d.rs": "needle here",
        ".git/config": "needle",
        "node_modules/x/index.js": "needle",
        "target/debug/out.txt": "needle",
        ".venv/lib/x.py": "needle",
        ".github/workflow.yml": "needle: 1",
        "doc.md": "nothing",
    }.items():
        file = box.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (box.root / "binary").write_bytes(b"needle\0needle")
    (box.root / "latin").write_bytes("größe needle".encode("latin-1"))
    return box


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("**/*.py", ["a.py", "src/b.py"]),
        ("*.py", ["a.py"]),
        ("./*.py", ["a.py"]),
        ("**/*.{py,rs}", ["a.py", "src/b.py", "src/deep/c d.rs"]),
        ("src/**", ["src/b.py", "src/deep/c d.rs"]),
        ("src/*/*", ["src/deep/c d.rs"]),
        ("[ad].??", ["a.py", "doc.md"][:1]),
        ("**/.github/*.yml", [".github/workflow.yml"]),
    ],
)
def test_globs(tree: Any, pattern: str, files: list[str]) -> None:
    assert sorted(tree.ok("glob_files", pattern=pattern).splitlines()) == files


def test_glob_without_hits_and_below_a_folder(tree: Any) -> None:
    assert tree.ok("glob_files", pattern="*.rs") == "no file fits '*.rs'; '**/' goes into folders"
    assert tree.ok("glob_files", pattern="*.py", path="src") == "src/b.py"
    # Skipped folders are open to those who ask.
    assert tree.ok("glob_files", pattern="**/*.js", path="node_modules") == "node_modules/x/index.js"
    assert tree.fails("glob_files", pattern="*", path="sr")["kind"] == "file_not_found"


@pytest.mark.parametrize("pattern", ["", "x" * 501, "a\0", "{a,b", "a}", "[b-a]"])
def test_patterns_that_are_none(tree: Any, pattern: str) -> None:
    assert tree.fails("glob_files", pattern=pattern)["kind"] == "invalid_pattern"
    if pattern:
        assert tree.fails("search_files", pattern="x", glob=pattern)["kind"] == "invalid_pattern"


@pytest.mark.parametrize(
    "pattern",
    ["*a" * 200 + "b", "**/" * 150 + "b", "[a" * 100, "{" * 400, "?*" * 200, "{a,b}" * 80, "{" * 200 + "b" + "}" * 200],
)
def test_hostile_globs_end_soon(box: Any, pattern: str) -> None:
    folder = box.root.joinpath(*["a" * 250] * 14)
    folder.mkdir(parents=True)
    for number in range(50):
        (folder / f"{number:03}{'a' * 200}").touch()
    began = time.monotonic()
    outcome = box.run("glob_files", pattern=pattern)
    assert outcome.failure["kind"] == "invalid_pattern" if outcome.failure else outcome.text.startswith("no file fits")
    assert time.monotonic() - began < 2


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("*.py", ["a.py", "ä.py", "{x}.py"]),
        ("?.py", ["a.py", "ä.py"]),
        ("[a-z].py", ["a.py"]),
        ("[!a-z].py", ["ä.py"]),
        ("[ä-ü].py", ["ä.py"]),
        ("ä.*", ["ä.py"]),
        (r"\{x\}.py", ["{x}.py"]),
        ("{a,ä}{,.bak}.py", ["a.py", "ä.py"]),
        ("**", ["a.py", "b/c/d.txt", "b/d.txt", "ä.py", "{x}.py"]),
        ("b/**/d.txt", ["b/c/d.txt", "b/d.txt"]),
        ("b/*", ["b/d.txt"]),
        ("b?d.txt", []),
        ("b*d.txt", []),
        ("**/d.{txt,md}", ["b/c/d.txt", "b/d.txt"]),
    ],
)
def test_what_globs_mean(box: Any, pattern: str, fits: list[str]) -> None:
    (box.root / "b" / "c").mkdir(parents=True)
    for name in ("a.py", "ä.py", "{x}.py", "b/d.txt", "b/c/d.txt"):
        (box.root / name).write_text("x")
    found = box.ok("glob_files", pattern=pattern)
    assert ([] if found.startswith("no file fits") else sorted(found.splitlines())) == sorted(fits)


@pytest.fixture
def ignoring(box: Any) -> Any:
    for path, text in {
        ".gitignore": "*.key\n/secrets/\n.env\nbuild/*\n!build/keep.txt\n",
        "a.txt": "needle",
        ".env": "needle",
        "deploy.key": "needle",
        "secrets/a.txt": "needle",
        "build/out.txt": "needle",
        "build/keep.txt": "needle",
        "sub/.gitignore": "b.txt\n",
        "sub/b.txt": "needle",
        "sub/c.txt": "needle",
        "sub/deploy.key": "needle",
        "sub/.ignore": "d.txt\n",
        "sub/d.txt": "needle",
        "sub/secrets/e.txt": "needle",
    }.items():
        file = box.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return box


def test_what_ignore_files_name_is_not_found(ignoring: Any) -> None:
    there = ["a.txt", "build/keep.txt", "sub/c.txt", "sub/secrets/e.txt"]
    found = ignoring.ok("search_files", pattern="needle").splitlines()
    assert [line.split(":")[0] for line in found] == there
    for pattern in ("**/*.{txt,key}", "**/.env"):
        found = ignoring.ok("glob_files", pattern=pattern).splitlines()
        assert found == (there if "txt" in pattern else [f"no file fits {pattern!r}"])
    listing = ignoring.ok("list_folder", depth=5)
    files = [line.split(" ")[0] for line in listing.splitlines() if not line.endswith("/")]
    assert [path for path in files if "ignore" not in path] == there
    for hidden in ("key", "secrets/a", ".env", "out.txt"):
        assert hidden not in listing
    # The rules of folders around the one that is asked for hold in it.
    assert ignoring.ok("search_files", pattern="needle", path="sub").splitlines() == [
        "sub/c.txt:1: needle",
        "sub/secrets/e.txt:1: needle",
    ]


def test_what_is_named_itself_is_open_though_it_is_ignored(ignoring: Any) -> None:
    assert "needle" in ignoring.ok("read_file", path=".env")
    assert ignoring.ok("search_files", pattern="needle", path="deploy.key") == "deploy.key:1: needle"
    assert ignoring.ok("glob_files", pattern="*", path="secrets") == "secrets/a.txt"
    ignoring.ok("edit_file", path="deploy.key", old_text="needle", new_text="thread")
    assert (ignoring.root / "deploy.key").read_text() == "thread"


def test_rules_around_a_repository_do_not_hold_in_it(make_box: Any, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*\n")
    root = tmp_path / "repository" / "part"
    root.mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    (tmp_path / "repository" / ".gitignore").write_text("*.key\n")
    for name in ("a.txt", "a.key"):
        (root / name).write_text("needle")
    assert make_box(root).ok("search_files", pattern="needle") == "a.txt:1: needle"


def test_ignore_files_that_are_none_hold_nobody_up(tree: Any) -> None:
    os.mkfifo(tree.root / "src" / ".gitignore")
    (tree.root / "src" / "deep" / ".gitignore").symlink_to("/dev/zero")
    began = time.monotonic()
    assert "a.py:2: needle = 1" in tree.ok("search_files", pattern="needle")
    assert "src/b.py" not in tree.ok("glob_files", pattern="**")
    assert time.monotonic() - began < 5


def test_swapping_a_folder_for_a_link_shows_nothing_from_outside(box: Any, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "x").mkdir(parents=True)
    for place, names in ((outside, ("f", "SECRET")), (outside / "x", ("f", "SECRET"))):
        for name in names:
            (place / name).write_text("SECRET")
    folder, link = box.root / "d", box.root / "l"
    (folder / "x").mkdir(parents=True)
    for place in (folder, folder / "x"):
        (place / "f").write_text("fine")
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
        looks = 0
        while looks <= 10 or time.monotonic() < until:
            for name, more in (
                ("search_files", {"pattern": "SECRET|fine"}),
                ("search_files", {"pattern": "SECRET", "path": "d"}),
                ("glob_files", {"pattern": "**"}),
                ("list_folder", {"depth": 3}),
            ):
                assert "SECRET" not in box.run(name, **more).text.replace("'SECRET'", "")
            looks += 1
    finally:
        stop.set()
        thread.join()


def test_searching(tree: Any) -> None:
    found = tree.ok("search_files", pattern="needle").splitlines()
    assert sorted(found) == [
        ".github/workflow.yml:1: needle: 1",
        "a.py:2: needle = 1",
        "latin:1: größe needle",
        "src/deep/c d.rs:1: needle here",
    ]
    assert "src/b.py:2: Needle" in tree.ok("search_files", pattern="^needle$", ignore_case=True)
    assert tree.ok("search_files", pattern=r"\bneedle\b", glob="*.rs") == "src/deep/c d.rs:1: needle here"
    assert tree.ok("search_files", pattern="needle", glob="src/**/*.rs") == "src/deep/c d.rs:1: needle here"
    assert tree.ok("search_files", pattern="needle", path="a.py") == "a.py:2: needle = 1"
    assert tree.ok("search_files", pattern="needle", path="src/deep/c d.rs") == "src/deep/c d.rs:1: needle here"
    assert tree.ok("search_files", pattern="absent").startswith("no line fits (6 files searched, 1 skipped)")


def test_searching_what_is_not_there(tree: Any) -> None:
    assert tree.fails("search_files", pattern="x", path="scr")["kind"] == "file_not_found"
    assert tree.fails("search_files", pattern="(")["kind"] == "invalid_pattern"
    assert tree.fails("search_files", pattern="")["kind"] == "invalid_pattern"
    assert tree.fails("search_files", pattern="a\0")["kind"] == "invalid_pattern"


def test_hits_are_limited(box: Any) -> None:
    (box.root / "f").write_text("hit\n" * 5_000)
    lines = box.ok("search_files", pattern="hit", max_hits=7).splitlines()
    assert len(lines) == 8
    assert lines[-1].startswith("[there are more")
    assert not box.run("search_files", pattern="hit", max_hits=10**9).is_error


def test_searching_a_file_of_nothing_but_lines(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("ab\n" * 2_000_000 + "needle\r\n")
    outcome = asyncio.run(searching(tmp_path, 30).search_files.run({"pattern": "needle$"}))
    assert outcome.text == "f:2000001: needle"


def test_tools_work_on_a_loop_in_another_thread(tree: Any) -> None:
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(tree.ok("search_files", pattern="needle", path="a.py")))
    thread.start()
    thread.join(20)
    assert found == ["a.py:2: needle = 1"]


def test_long_lines_are_cut_around_the_hit(box: Any) -> None:
    for before in (50_000, 3_000_000):
        (box.root / "f").write_text("x" * before + "needle" + "y" * 50_000)
        text = box.ok("search_files", pattern="needle")
        assert "needle" in text
        assert len(text) < 400


def searching(root: Path, seconds: float) -> Searching:
    return Searching(Workspace(root), seconds=seconds)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){25}b"])
def test_no_expression_runs_away(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "f").write_text("a" * 60 + "!")
    began = time.monotonic()
    outcome = asyncio.run(searching(tmp_path, 10).search_files.run({"pattern": pattern}))
    assert outcome.text == "no line fits (1 files searched)"
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("pattern", SLOW)
def test_long_expressions_over_long_lines_are_stopped(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "f").write_text(("a" * 99_000 + "!\n") * 100)
    ticks = 0

    async def main() -> Outcome:
        nonlocal ticks
        task = asyncio.ensure_future(searching(tmp_path, 0.4).search_files.run({"pattern": pattern}))
        while not task.done():
            await asyncio.sleep(0.02)
            ticks += 1
        return task.result()

    began = time.monotonic()
    failure = asyncio.run(main()).failure
    assert failure is not None
    assert failure["kind"] == "timeout"
    assert time.monotonic() - began < 4
    # The loop went on meanwhile.
    assert ticks > 5


def test_a_search_that_nobody_waits_for_ends(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / f"f{number}").write_text(("a" * 99_000 + "!\n") * 2)

    def searches() -> list[threading.Thread]:
        return [each for each in threading.enumerate() if each.name == "tool search_files"]

    async def main() -> None:
        task = asyncio.ensure_future(searching(tmp_path, 60).search_files.run({"pattern": SLOW[0]}))
        await asyncio.sleep(0.2)
        assert searches()
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(main())
    began = time.monotonic()
    while searches() and time.monotonic() - began < 20:
        time.sleep(0.02)
    assert searches() == []


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("(?<=a)b", "look-around"),
        ("a(?!b)", "look-around"),
        (r"(a)\1", "backreferences"),
        (r"(?P<x>a)(?P=x)", "flag"),
        ("a{1000}{1000}{1000}", "too large"),
        ("(", "unclosed group"),
    ],
)
def test_an_expression_that_can_not_be_read_says_why_and_what_to_do(tree: Any, pattern: str, what: str) -> None:
    failure = tree.fails("search_files", pattern=pattern)
    assert failure["kind"] == "invalid_pattern"
    assert what in failure["message"]
    assert "plainer expression" in failure["hint"]


def test_lines_are_found_wherever_they_fit(box: Any) -> None:
    (box.root / "f").write_text("ends here\n" + "x" * 511 + " end\n" + "ü" * 30_000 + "end\nA1\r\n\nlast ÄB")

    def numbers(**more: Any) -> list[str]:
        return [line.split(":")[1] for line in box.ok("search_files", **more).splitlines()]

    assert numbers(pattern="end$") == ["2", "3"]
    assert numbers(pattern=r"\bend\b") == ["2"]
    assert numbers(pattern=r"^$") == ["5"]
    assert numbers(pattern=r"^\w\d$") == ["4"]
    assert numbers(pattern="äb$", ignore_case=True) == ["6"]
    (box.root / "f").write_bytes("größe".encode("utf-16"))
    assert box.ok("search_files", pattern="größe") == "f:1: größe"


@pytest.mark.parametrize(
    "pattern", ["((a{1000}){1000}){1000}", "(" * 400, "(?P<a>x)" * 120, "[" * 900, "(?i" + "a" * 900]
)
def test_hostile_expressions_end_soon(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "f").write_text("a" * 1_000)
    began = time.monotonic()
    asyncio.run(searching(tmp_path, 1.0).search_files.run({"pattern": pattern}))
    assert time.monotonic() - began < 4


def test_what_was_found_before_the_time_was_up_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("b\n")
    (tmp_path / "b").write_text(("a" * 99_000 + "!\n") * 100)
    text = asyncio.run(searching(tmp_path, 0.5).search_files.run({"pattern": SLOW[0]})).text
    assert text.startswith("a:1: b\n[stopped after")


def test_deep_folders_end(box: Any) -> None:
    here = os.getcwd()
    os.chdir(box.root)
    try:
        for _ in range(200):
            os.mkdir("d")
            os.chdir("d")
        Path("f").write_text("needle")
    finally:
        os.chdir(here)
    assert "no file" in box.ok("glob_files", pattern="**/f")
    assert "no line" in box.ok("search_files", pattern="needle")


def test_no_descriptors_are_left(tree: Any) -> None:
    def count() -> int:
        gc.collect()  # what earlier tests left to the collector is no matter of this one
        return len(os.listdir("/proc/self/fd"))

    calls: list[tuple[str, dict[str, Any]]] = [
        ("glob_files", {"pattern": "**"}),
        ("search_files", {"pattern": "needle"}),
        ("search_files", {"pattern": "("}),
        ("read_file", {"path": "a.py"}),
        ("read_file", {"path": "absent"}),
        ("read_file", {"path": "binary"}),
        ("list_folder", {"depth": 3}),
        ("write_file", {"path": "n/e/w", "content": "x"}),
        ("write_file", {"path": "a.py/x", "content": "x"}),
        ("edit_file", {"path": "doc.md", "old_text": "absent", "new_text": "x"}),
        ("shell", {"command": "true"}),
    ]
    for name, arguments in calls:
        tree.run(name, **arguments)
    before = count()
    for name, arguments in calls * 3:
        tree.run(name, **arguments)
    assert count() <= before
