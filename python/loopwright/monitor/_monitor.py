"""What an agent does with what its senses say of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from loopwright._dataclasses import dataclass
from loopwright._repr import given_repr
from loopwright.errors import UsageError

if TYPE_CHECKING:
    from loopwright.roles import RoleLike

    from ._momentum import MomentumPolicy
    from ._stuck import StuckPolicy

__all__ = ["Monitor"]


@dataclass(frozen=True, repr=False)
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
    """What the words of the prompt are worth."""
    stuck: StuckPolicy | bool | None = True
    """When repetition ends a run: a `StuckPolicy`, `True` for the usual one, `None` for never. The model is told once
    before."""
    momentum: MomentumPolicy | bool | None = True
    """When too little success ends a run: a `MomentumPolicy`, `True` for the usual one, `None` for never."""
    pause_every: int | None = None
    """Pause (`stop_reason` `"check_in"`) after every so many rounds."""
    warn_rounds_left: int = 2
    """From so many tool rounds left on the model is told of them, the plainer the fewer; with none left it is told to
    answer."""
    sanity: RoleLike | None = None
    """Who looks whether the run is still sane: `"rules"`, a model, or a `loopwright.roles.Sanity`, which says when."""

    def __repr__(self) -> str:
        return given_repr(self)

    def __post_init__(self) -> None:
        if self.intent not in ("tell", "act", "off"):
            message = f"intent of a Monitor can't be {self.intent!r:.100}"
            raise UsageError(message, "invalid_option", "give 'tell', 'act' or 'off'")
