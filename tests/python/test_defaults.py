"""What an option is that nobody gave: the engine and the classes of the package say the same."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
from loopwright import Budget, ContextPolicy, _core
from loopwright.monitor import MomentumPolicy, StuckPolicy


def engine(group: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options of a group in a machine that was given these of them."""
    state = json.loads(_core.TurnMachine(json.dumps({"model": "m", group: given})).save())
    found = [config[group] for config in configs(state) if group in config]
    assert found, f"no configuration with {group}"
    return {name: value for name, value in found[0].items() if name not in given}


def configs(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [found for each in value for found in configs(each)]
    if not isinstance(value, dict):
        return []
    below = [found for each in value.values() for found in configs(each)]
    return [value, *below] if "tools" in value and "budget" in value else below


@pytest.mark.parametrize(
    ("group", "given", "ours"),
    [
        ("budget", {}, Budget()),
        ("context", {"budget": 1_000}, ContextPolicy()),
        ("stuck", {}, StuckPolicy()),
        ("momentum", {}, MomentumPolicy()),
    ],
)
def test_defaults_of_the_package_are_those_of_the_engine(group: str, given: dict[str, Any], ours: Any) -> None:
    theirs = engine(group, given)
    # The policy of a context is what to change of the engine's own.
    both = {
        each.name: getattr(ours, each.name) for each in fields(ours) if each.name in theirs and each.name != "policy"
    }
    assert len(both) > 3
    assert both == {name: theirs[name] for name in both}
