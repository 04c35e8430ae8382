"""What became of a case, whoever ran it."""

from __future__ import annotations

from typing import Any

from loopwright._dataclasses import dataclass, field

__all__ = ["Outcome", "unexpected"]


@dataclass
class Outcome:
    """What became of a case. It passed if its run gave an answer and nothing that judges it says no."""

    name: str
    passed: bool
    output: Any = None
    expected: Any = None
    reasons: list[str] = field(default_factory=list)
    """Why it did not pass, in words."""
    error: str | None = None
    """What broke its run off, where something did."""
    metrics: dict[str, float] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    duration: float | None = None
    """Seconds."""

    @property
    def state(self) -> str:
        """`passed`, `failed` or `error`."""
        return "passed" if self.passed else "failed" if self.error is None else "error"


def unexpected(expected: Any, got: Any) -> str:
    """Says how an answer differs from what is expected."""
    return f"expected {_shown(expected)}, got {_shown(got)}"


def _shown(value: Any) -> str:
    return f"“{value}”" if isinstance(value, str) else "nothing" if value is None else repr(value)
