"""Every public name is what it says, in whatever order names are first used."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import types
import warnings
from operator import attrgetter
from pathlib import Path

import loopwright
import pytest
from loopwright._moved import MOVED
from loopwright.extraction import ToolCallParser
from loopwright.guard import Approvals
from loopwright.machine import MachineConfig, TurnMachine
from loopwright.monitor import GoalDrift
from loopwright.run import Signal
from loopwright.testing import ScriptedModel
from loopwright.tokens import TokenCounter

TOP = Path(loopwright.__file__)


def told(caught: list[warnings.WarningMessage]) -> list[tuple[str, str, int]]:
    """Each warning, its file and its line."""
    return [(str(each.message), each.filename, each.lineno) for each in caught]


def test_issue_31_the_top_has_at_most_35_names_and_all_who_look_see_the_same():
    assert len(loopwright.__all__) <= 35
    assert sorted(loopwright.__all__) == dir(loopwright) == sorted({*dir(loopwright)})
    (typed,) = (
        each
        for each in ast.parse(TOP.read_text(encoding="utf-8")).body
        if isinstance(each, ast.If) and isinstance(each.test, ast.Name)
    )
    imported = [
        (name.name, name.asname)
        for each in typed.body
        # Rooms may be seen as well: `from . import tokens as tokens`.
        if isinstance(each, ast.ImportFrom) and each.module is not None and each.level == 1
        for name in each.names
    ]
    # `as` is what hands a name on to whoever imports this module.
    assert all(name == shown for name, shown in imported)
    assert sorted(name for name, _ in imported) == dir(loopwright)


@pytest.mark.parametrize("name", MOVED)
def test_a_name_that_moved_is_still_found_and_says_where_it_is(name: str, tmp_path: Path):
    room, _, last = f"loopwright.{MOVED[name]}".rpartition(".")
    home = importlib.import_module(room)
    assert last in home.__all__ and name not in loopwright.__all__
    program = tmp_path / "program.py"
    program.write_text(f"import loopwright\nby_attribute = loopwright.{name}\n\nfrom loopwright import {name} as it\n")
    found: dict[str, object] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(compile(program.read_text(), program, "exec"), found)  # noqa: S102 - as a program would
    assert found["by_attribute"] is found["it"] is getattr(home, last)
    says = f"loopwright.{name} is now {room}.{last}"
    assert told(caught) == [(says, str(program), 2), (says, str(program), 4)]
    assert {each.category for each in caught} == {DeprecationWarning}


def test_the_page_for_those_who_come_from_0_1_has_each_name_that_moved():
    page = (TOP.parents[2] / "docs" / "coming-from-0.1.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `loopwright\.(\w+)` \| (`\w+`(?:, `\w+`)*) \|$", page, re.MULTILINE)
    told = {name: f"{room}.{name}" for room, names in rows for name in re.findall(r"\w+", names)}
    assert {**told, "Context": "RunContext"} == MOVED


def test_the_room_that_has_another_name_now_is_found_and_says_so(tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text("\nfrom loopwright.senses import StuckDetector\n")
    code = f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert f"{program}:2: DeprecationWarning: loopwright.senses is now loopwright.monitor" in done.stderr


def test_a_name_that_never_was_says_those_that_are_near():
    near = "did you mean loopwright.tokens.count_tokens"
    with pytest.raises(AttributeError, match=rf"module 'loopwright' has no attribute 'count_token'; {near}"):
        loopwright.count_token  # noqa: B018
    with pytest.raises(
        ImportError, match=r"cannot import name 'Agnet' from 'loopwright'; did you mean loopwright\.Agent"
    ):
        exec("from loopwright import Agnet")  # noqa: S102 - as a program would
    with pytest.raises(AttributeError, match="^module 'loopwright' has no attribute 'xyzzy'$"):
        loopwright.xyzzy  # noqa: B018
    with pytest.raises(AttributeError, match="^module 'loopwright' has no attribute '__wrapped__'$"):
        loopwright.__wrapped__  # noqa: B018


def test_a_room_is_there_without_an_import_of_its_own():
    code = "import loopwright; print(loopwright.tokens.count_tokens('Hello', model='gpt-4o'))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "1\n", done.stderr


def test_no_public_name_is_a_module():
    for name in loopwright.__all__:
        assert not isinstance(getattr(loopwright, name), types.ModuleType), name


def test_every_public_object_says_what_it_is_and_no_secret():
    public = [*loopwright.__all__, *MOVED.values()]
    silent = [
        name
        for name in public
        if isinstance(kind := attrgetter(name)(loopwright), type)
        and kind.__repr__ is object.__repr__
        and not getattr(kind, "_is_protocol", False)
    ]
    assert not silent, silent
    secret = "ghp_" + "x9K2mQ7vLp4RzT8wB3" + "nYc6HdF1sJg5UeA0Xo"
    config = {"model": "m", "system": f"The token is {secret}."}
    counter = TokenCounter("gpt-4o")
    signal, parser, machine = Signal(), ToolCallParser(), TurnMachine(config)
    agent = loopwright.Agent(ScriptedModel(["hi"]), instructions=secret)
    things = [
        Approvals(),
        GoalDrift(f"rotate {secret}"),
        MachineConfig.turn(config),
        agent.stream("hi"),
        counter,
        signal,
        parser,
        machine,
    ]
    for thing in things:
        said = repr(thing)
        assert type(thing).__name__ in said, said
        assert " at 0x" not in said, said
        assert secret not in said, said
    signal.pause()
    parser.finish()
    assert repr(signal) == "<Signal pause>"
    assert repr(parser) == "<ToolCallParser finished>"
    assert repr(counter) == "<TokenCounter o200k_base, ratio 1.00>"
    assert repr(machine) == "<TurnMachine running: 0 messages>"


def test_no_public_name_is_hidden_by_a_module_that_was_imported_before():
    code = """
import importlib, pkgutil, types, loopwright
for module in pkgutil.walk_packages(loopwright.__path__, "loopwright."):
    # What is behind the doors of adapters needs packages of others.
    behind = module.name.startswith("loopwright.adapters.") and "._" in module.name
    if module.name not in ("loopwright.__main__", "loopwright.senses") and not behind:
        importlib.import_module(module.name)
hidden = [name for name in loopwright.__all__ if isinstance(getattr(loopwright, name), types.ModuleType)]
assert not hidden, hidden
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_everything_at_once():
    code = "from loopwright import *; assert callable(replay) and callable(tool); print(__version__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == loopwright.__version__, done.stderr
