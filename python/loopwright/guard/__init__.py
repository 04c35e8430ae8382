"""What may run: policies, approvals, and what decides about a call before it runs. Useful without an agent.

Importing this is cheap; each name is loaded when it is first used.
"""

from __future__ import annotations

# What type checkers take for true. `typing` itself is slow to import.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from ._approvals import Approvals, Edit, Kept, Request
    from ._policy import Decision, Policy, PolicyError, Rule

_HOMES = {
    "Approvals": "_approvals",
    "Decision": "_policy",
    "Edit": "_approvals",
    "Kept": "_approvals",
    "Policy": "_policy",
    "PolicyError": "_policy",
    "Request": "_approvals",
    "Rule": "_policy",
}

__all__ = [
    "Approvals",
    "Decision",
    "Edit",
    "Kept",
    "Policy",
    "PolicyError",
    "Request",
    "Rule",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
