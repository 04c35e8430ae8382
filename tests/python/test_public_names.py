"""Every public name is what it says, in whatever order names are first used."""

from __future__ import annotations

import subprocess
import sys
import types

import loopwright
import loopwright.guard
import loopwright.senses
from loopwright import Signal
from loopwright.testing import ScriptedModel


def test_no_public_name_is_a_module():
    for name in loopwright.__all__:
        assert not isinstance(getattr(loopwright, name), types.ModuleType), name


def test_every_public_object_says_what_it_is_and_no_secret():
    silent = [
        name
        for name in loopwright.__all__
        if isinstance(kind := getattr(loopwright, name), type)
        and kind.__repr__ is object.__repr__
        and not getattr(kind, "_is_protocol", False)
    ]
    assert not silent, silent
    secret = "ghp_" + "x9K2mQ7vLp4RzT8wB3" + "nYc6HdF1sJg5UeA0Xo"
    config = {"model": "m", "system": f"The token is {secret}."}
    counter = loopwright.TokenCounter("gpt-4o")
    signal, parser, machine = Signal(), loopwright.ToolCallParser(), loopwright.TurnMachine(config)
    agent = loopwright.Agent(ScriptedModel(["hi"]), instructions=secret)
    things = [
        loopwright.Approvals(),
        loopwright.GoalDrift(f"rotate {secret}"),
        loopwright.MachineConfig.turn(config),
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
    if not module.name.endswith("__main__"):
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


def test_c12_d10_d12_c25_c20_d31_x24_guard_and_senses_are_at_the_top():
    names = "assess_risk Policy Approvals classify_sensitivity redact Sensitivity SensitivityLevel Risk RiskContext"
    for name in names.split():
        assert getattr(loopwright, name) is getattr(loopwright.guard, name), name
    names = "StuckDetector Momentum Breakpoint next_step signals continuation assess_intent GoalDrift"
    for name in names.split():
        assert getattr(loopwright, name) is getattr(loopwright.senses, name), name
