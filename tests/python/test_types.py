"""Mistakes that type checkers find before a run is paid for: each marked line of `tests/typing_wrong` is refused by both."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from test_stubs import pyright
from test_stubs import run as checker

PROGRAMS = Path(__file__).parents[1] / "typing_wrong"


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("program", "fewest"), [("front_door.py", 19), ("hooks.py", 18), ("names.py", 5)])
def test_each_mistake_is_refused(tmp_path: Path, program: str, fewest: int) -> None:
    lines = (PROGRAMS / program).read_text(encoding="utf-8").splitlines()
    marked = {number for number, line in enumerate(lines, 1) if "# E" in line and not line.startswith("#")}
    (tmp_path / program).write_text("\n".join(lines), encoding="utf-8")
    _, said = checker("mypy", "--strict", "--config-file", os.devnull, program, cwd=tmp_path)
    by_mypy = {int(line) for line in re.findall(rf"{program}:(\d+): error", said)}
    by_pyright = {line for _, line, _ in pyright(tmp_path)}
    assert len(marked) >= fewest
    assert (sorted(marked - by_mypy), sorted(marked - by_pyright)) == ([], [])
