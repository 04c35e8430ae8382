"""What may run, and what may be shown. Useful without an agent.

Importing this is cheap; each name is loaded when it is first used.
"""

from __future__ import annotations

# What type checkers take for true. `typing` itself is slow to import.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from ._risk import Part, Risk, RiskContext, assess_risk

_HOMES = {
    "Part": "_risk",
    "Risk": "_risk",
    "RiskContext": "_risk",
    "assess_risk": "_risk",
}

__all__ = [
    "Part",
    "Risk",
    "RiskContext",
    "assess_risk",
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
