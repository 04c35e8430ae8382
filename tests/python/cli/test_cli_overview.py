"""`loopwright` alone, and `loopwright help`."""

from __future__ import annotations

import re
import shlex
import sys
from typing import TYPE_CHECKING

import pytest
from loopwright.cli.arguments import parser
from loopwright.cli.commands import COMMANDS
from loopwright.cli.exit_codes import TABLE
from loopwright.cli.text import width

if TYPE_CHECKING:
    from collections.abc import Callable


def test_loopwright_alone_shows_every_command_with_an_example(loopwright: Callable) -> None:
    ended = loopwright()
    assert (ended.code, ended.err) == (0, "")
    words = " ".join(ended.out.split())
    for name, command in COMMANDS.items():
        assert command.example in words, name
        assert " ".join(command.summary.split()) in words, name
    assert loopwright("--help").out == loopwright("help").out == ended.out


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "mcp"])
def test_every_example_is_understood(name: str) -> None:
    _, *arguments = shlex.split(COMMANDS[name].example)
    assert parser().parse_args(arguments).command == name


def test_helps_are_without_the_table_of_exit_codes(loopwright: Callable) -> None:
    ended = loopwright("help", "run")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == loopwright("run", "--help").out
    assert "loopwright help exit-codes" in ended.out
    assert "abstained" not in ended.out
    assert loopwright("help", "exit-codes").out.split() == TABLE.split()
    assert ".loopwright/journal.db" in loopwright("help", "files").out
    assert loopwright("help", "nothing").code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize("columns", [60, 100, 200])
def test_the_overview_fits_the_terminal(terminal: Callable, columns: int) -> None:
    shown = terminal(columns=columns)
    assert shown.end() == 0
    lines = shown.text.splitlines()
    assert len(lines) > 30 or columns == 200
    assert all(width(line) <= columns for line in lines), [line for line in lines if width(line) > columns]
    beside = any(re.search(r"loopwright runs +list the runs", line) for line in lines)
    assert beside == (columns == 200)
