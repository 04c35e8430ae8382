"""Questions to a person: what is shown, and what counts as a yes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import _core

__all__ = ["Approval", "decision_of"]


@dataclass(frozen=True)
class Approval:
    """A call that waits for a person. `expires_in` is in seconds; silence until then is a no."""

    tool: str
    arguments: Any
    risk: str
    why: str
    call_id: str
    expires_in: float

    @classmethod
    def of(cls, command: _core.Command, now: float) -> Approval:
        """The question of an `approve` command."""
        call = command.calls[0]
        return cls(
            tool=call.name,
            arguments=call.arguments,
            risk=command.risk or "dangerous",
            why=command.why or "",
            call_id=call.id,
            expires_in=max(0.0, (command.at or 0.0) - now),
        )


def decision_of(answer: object) -> tuple[str, str | None]:
    """What an approver's answer means. Only `True` and `"allow"` are a yes; what is not understood is a no."""
    if answer is True or answer == "allow":
        return "allow", None
    if answer == "abort":
        return "abort", None
    if answer is False or answer is None or answer == "deny":
        return "deny", "the person said no"
    if isinstance(answer, str):
        return "deny", answer
    return "deny", f"the answer {answer!r} is no decision"
