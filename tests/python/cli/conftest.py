"""Fixtures that run the command line."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from command_line import COMMAND, Ended, Terminal, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def loopwright(tmp_path: Path) -> Callable[..., Ended]:
    """Runs the command line in an empty folder, without a terminal."""

    def run(*arguments: str, cwd: Path | None = None, **more: str) -> Ended:
        done = subprocess.run(
            [*COMMAND, *arguments],
            cwd=cwd or tmp_path,
            env=environment(**more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Ended(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    return run


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Runs the command line in an empty folder, on a terminal."""
    opened: list[Terminal] = []

    def run(*arguments: str, cwd: Path | None = None, columns: int = 80, **more: str) -> Terminal:
        opened.append(Terminal(arguments, cwd or tmp_path, environment(**more), columns))
        return opened[-1]

    yield run
    for each in opened:
        each.close()
