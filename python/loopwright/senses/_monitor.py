"""What an agent does with what its senses say of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from loopwright.errors import UsageError

__all__ = ["Monitor"]


@dataclass(frozen=True)
class Monitor:
    """How a run acts on what its senses say.

    >>> Monitor(intent="act")
    Monitor(intent='act')

    `intent` is what the words of the prompt are worth (`assess_intent`):

    - `"tell"`: they are told as the event `IntentAssessed`, and stop nothing.
    - `"act"`: where something should be asked first, the run pauses with that question (`stop_reason` `"ambiguous"`,
      `result.final` is the question; `agent.resume(run, answer=…)` goes on). Of every other decision the model hears in
      one instruction, which the event holds.
    - `"off"`: nobody looks at them.
    """

    intent: Literal["tell", "act", "off"] = "tell"

    def __post_init__(self) -> None:
        if self.intent not in ("tell", "act", "off"):
            message = f"intent of a Monitor can't be {self.intent!r:.100}"
            raise UsageError(message, "invalid_option", "give 'tell', 'act' or 'off'")
