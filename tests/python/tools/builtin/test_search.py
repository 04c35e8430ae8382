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
from loopwright.tools.builtin._glob import Pattern
from loopwright.tools.builtin._search import Searching
from loopwright.tools.builtin._workspace import Workspace


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


@pytest.mark.parametrize("pattern", ["", "x" * 501, "a\0", "{a,b}" * 7])
def test_patterns_that_are_none(tree: Any, pattern: str) -> None:
    assert tree.fails("glob_files", pattern=pattern)["kind"] == "invalid_pattern"
    if pattern:
        assert tree.fails("search_files", pattern="x", glob=pattern)["kind"] == "invalid_pattern"


@pytest.mark.parametrize("pattern", ["*a" * 200 + "b", "**/" * 150 + "b", "[a" * 100, "{" * 400, "?*" * 200])
def test_hostile_globs_end_soon(pattern: str) -> None:
    began = time.monotonic()
    assert not Pattern(pattern).matches("/".join(["a" * 250] * 60))
    assert time.monotonic() - began < 2


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
    (box.root / "f").write_text("x" * 50_000 + "needle" + "y" * 50_000)
    text = box.ok("search_files", pattern="needle")
    assert "needle" in text
    assert len(text) < 400


def searching(root: Path, seconds: float) -> Searching:
    return Searching(Workspace(root), seconds=seconds)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){25}b"])
def test_catastrophic_expressions_are_stopped(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "f").write_text("a" * 60 + "!")
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


@pytest.mark.parametrize(
    "pattern", ["((a{1000}){1000}){1000}", "(" * 400, "(?P<a>x)" * 120, "[" * 900, "(?i" + "a" * 900]
)
def test_hostile_expressions_end_soon(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "f").write_text("a" * 1_000)
    began = time.monotonic()
    asyncio.run(searching(tmp_path, 1.0).search_files.run({"pattern": pattern}))
    assert time.monotonic() - began < 4


def test_what_was_found_before_the_time_was_up_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("aaa\n")
    (tmp_path / "b").write_text("a" * 60 + "!")
    text = asyncio.run(searching(tmp_path, 0.5).search_files.run({"pattern": "^(a+)+$"})).text
    assert text.startswith("a:1: aaa\n[stopped after")


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
