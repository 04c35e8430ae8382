"""The example of docs/mcp.md runs as it stands, and its table names the errors that there are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp")

PAGE = Path(__file__).parents[2] / "docs" / "mcp.md"


def test_the_example_runs_as_it_stands(tmp_path):
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "agent.py").write_text(example)
    done = subprocess.run(
        [sys.executable, "-W", "error", "agent.py"],
        check=False,
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("It weighs 3 kg.\n", "")


def test_every_kind_of_failure_in_the_page_is_one_of_the_errors():
    from loopwright.mcp import McpError

    table = PAGE.read_text(encoding="utf-8").split("the result's kind")[1].split("\n\n")[0]
    told = {
        each for each in re.findall(r"`([a-z_]+)`", table) if each not in ("max_message", "era", "confirm", "required")
    }
    assert told <= set(re.findall(r"`(\w+)`", McpError.__doc__))
