"""Streams that are closed (`>&-`): the command does what it does, and says its exit code."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import COMMAND, environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="closing streams is for shells of Unix")

CLOSED = [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"]


def shell(tmp_path: Path, arguments: list[str], closed: str) -> subprocess.CompletedProcess[bytes]:
    line = f"{shlex.join([*COMMAND, *arguments])} {closed}"
    return subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, env=environment(), capture_output=True, timeout=60, check=False
    )


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "net.md").write_text("# Retries\n\nA failed request is tried again up to 3 times.\n")
    return tmp_path


ASKED = ["ask", "How often is a failed request tried again?", "--in", "docs"]


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--version"], 0),
        (["--help"], 0),
        (["runs"], None),
        ([*ASKED, "--json"], 0),
        (ASKED, 0),
        (["replay", "nothing.jsonl"], 2),
        (["no-such-command"], 2),
    ],
)
def test_a_closed_stream_ends_no_command(docs: Path, arguments: list[str], code: int | None, closed: str) -> None:
    ended = shell(docs, arguments, closed)
    usual = shell(docs, arguments, "")
    assert ended.returncode == usual.returncode, ended.stderr
    assert code is None or ended.returncode == code
    assert b"Traceback" not in ended.stdout + ended.stderr
    assert b"internal" not in ended.stderr
    if ">&-" not in closed.replace("2>&-", ""):
        assert bool(ended.stdout) == bool(usual.stdout)


@pytest.mark.parametrize("closed", CLOSED)
def test_nothing_of_an_answer_gets_into_a_file_that_is_opened_later(docs: Path, closed: str) -> None:
    assert shell(docs, [*ASKED, "--journal", "runs.db"], closed).returncode == 0
    listed = shell(docs, ["runs", "--journal", "runs.db", "--json"], "")
    assert listed.returncode == 0 and b"tried again" in listed.stdout
    assert (docs / "runs.db").read_bytes().startswith(b"SQLite format 3\0")
