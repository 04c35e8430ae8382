"""What may run, and what may be shown: policies, approvals, risk, sensitivity. Useful without an agent.

Importing this is cheap; each name is loaded when it is first used.
"""

from __future__ import annotations

# What type checkers take for true. `typing` itself is slow to import.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from ._approvals import Approvals, Edit, Kept, Request, Returned
    from ._commands import Commands
    from ._guard import Guard, Sandbox
    from ._policy import Decision, Policy, PolicyError, Rule
    from ._risk import Part, Risk, RiskContext, assess_risk
    from ._sensitivity import (
        Redacted,
        Sensitivity,
        SensitivityHit,
        SensitivityLevel,
        classify_sensitivity,
        redact,
        redact_json,
        redact_with_hits,
        sensitivity_detectors,
    )

_HOMES = {
    "Approvals": "_approvals",
    "Commands": "_commands",
    "Decision": "_policy",
    "Edit": "_approvals",
    "Guard": "_guard",
    "Kept": "_approvals",
    "Part": "_risk",
    "Policy": "_policy",
    "PolicyError": "_policy",
    "Redacted": "_sensitivity",
    "Request": "_approvals",
    "Returned": "_approvals",
    "Risk": "_risk",
    "RiskContext": "_risk",
    "Rule": "_policy",
    "Sandbox": "_guard",
    "Sensitivity": "_sensitivity",
    "SensitivityHit": "_sensitivity",
    "SensitivityLevel": "_sensitivity",
    "assess_risk": "_risk",
    "classify_sensitivity": "_sensitivity",
    "redact": "_sensitivity",
    "redact_json": "_sensitivity",
    "redact_with_hits": "_sensitivity",
    "sensitivity_detectors": "_sensitivity",
}

__all__ = [
    "Approvals",
    "Commands",
    "Decision",
    "Edit",
    "Guard",
    "Kept",
    "Part",
    "Policy",
    "PolicyError",
    "Redacted",
    "Request",
    "Returned",
    "Risk",
    "RiskContext",
    "Rule",
    "Sandbox",
    "Sensitivity",
    "SensitivityHit",
    "SensitivityLevel",
    "assess_risk",
    "classify_sensitivity",
    "redact",
    "redact_json",
    "redact_with_hits",
    "sensitivity_detectors",
]


if not TYPE_CHECKING:
    # Seen by a type checker, it would make each misspelt name an `Any`.

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
