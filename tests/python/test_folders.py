"""Researches and grounded answers over folders as they are: empty, locked, looped, huge, and full of what is no text."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from loopwright import Grounded, LoopwrightError, Research

OFFLINE = "offline:extractive"
QUESTION = "How often is a failed request retried?"
TEXT = (
    "# Retries\n\nA failed request is tried again up to 3 times by the client of the service.\n\n"
    "Then it is given up and told to the caller of the function.\n"
)


def asked(folder: Any, kind: str) -> Any:
    if kind == "research":
        return Research(corpus=folder).run_sync(QUESTION)
    return Grounded(OFFLINE, sources=folder).run_sync(QUESTION)


KINDS = pytest.mark.parametrize("kind", ["research", "grounded"])


@KINDS
def test_a_folder_with_nothing_to_read_holds_no_answer(tmp_path: Path, kind: str) -> None:
    assert asked(tmp_path, kind).stop_reason == "abstained"
    (tmp_path / "a.bin").write_bytes(os.urandom(10_000))
    (tmp_path / "sub").mkdir()
    assert asked(tmp_path, kind).stop_reason == "abstained"


@KINDS
def test_names_with_spaces_and_other_letters_are_names(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "my docs \u00fc"
    folder.mkdir()
    (folder / "a b \u00df.md").write_text(TEXT)
    result = asked(str(folder), kind)
    assert result.verified
    assert result.sources[0].reference == "a b \u00df.md"


@KINDS
def test_loops_of_links_end(tmp_path: Path, kind: str) -> None:
    (tmp_path / "net.md").write_text(TEXT)
    os.symlink(tmp_path, tmp_path / "self")
    os.symlink(tmp_path / "x", tmp_path / "y")
    os.symlink(tmp_path / "y", tmp_path / "x")
    assert asked(tmp_path, kind).verified


@KINDS
def test_what_can_not_be_read_is_told_and_the_rest_is_read(tmp_path: Path, kind: str) -> None:
    (tmp_path / "net.md").write_text(TEXT)
    (tmp_path / "huge.md").write_text("retry request failed " * 200_000)
    (tmp_path / "noise.md").write_bytes(os.urandom(100_000))
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 x")
    (tmp_path / "broken.ipynb").write_text("{" * 9_000)
    os.mkfifo(tmp_path / "pipe.md")
    result = asked(tmp_path, kind)
    assert result.verified
    assert any("huge.md" in warning for warning in result.warnings) or "more)" in result.warnings[0]


@KINDS
def test_a_folder_that_is_not_there_is_an_error_of_usage(tmp_path: Path, kind: str) -> None:
    with pytest.raises(LoopwrightError) as caught:
        asked(tmp_path / "nowhere", kind)
    assert caught.value.code == "folder_not_found"


LOCKED = f"""
import os, sys, tempfile
from pathlib import Path
folder = Path(tempfile.mkdtemp())
(folder / "net.md").write_text({TEXT!r})
(folder / "secret.md").write_text("x")
(folder / "sub").mkdir()
(folder / "all").mkdir()
from loopwright import Grounded, Research
import loopwright.search, loopwright._corpus, loopwright._lookups, asyncio
if os.geteuid() == 0:
    for path in [folder, *folder.iterdir()]:
        os.chown(path, 65534, 65534)
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
os.chmod(folder / "secret.md", 0)
os.chmod(folder / "sub", 0)
for result in (Research(corpus=folder).run_sync({QUESTION!r}), Grounded({OFFLINE!r}, sources=folder).run_sync({QUESTION!r})):
    assert result.verified, result
    assert "secret.md" in " ".join(result.warnings), result.warnings
os.chmod(folder / "all", 0)
for result in (
    Research(corpus=folder / "all").run_sync({QUESTION!r}),
    Grounded({OFFLINE!r}, sources=folder / "all").run_sync({QUESTION!r}),
):
    assert result.stop_reason == "abstained", result
    assert "denied" in " ".join(result.warnings), result.warnings
print("done")
"""


def test_files_and_folders_without_permission_are_told(tmp_path: Path) -> None:
    script = tmp_path / "locked.py"
    script.write_text(LOCKED)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "done\n", done.stderr
