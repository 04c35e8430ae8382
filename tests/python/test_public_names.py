"""Every public name is what it says, in whatever order names are first used."""

from __future__ import annotations

import subprocess
import sys
import types

import loopwright
import loopwright.guard
import loopwright.senses


def test_no_public_name_is_a_module():
    for name in loopwright.__all__:
        assert not isinstance(getattr(loopwright, name), types.ModuleType), name


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
