"""How well things go, what to say next, and why a loop hands back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

from loopwright import _core
from loopwright._dataclasses import asdict, dataclass
from loopwright.errors import UsageError

from ._words import wanted_text

__all__ = ["Breakpoint", "Momentum", "MomentumPolicy", "Standing", "continuation"]


class Breakpoint(str, Enum):
    """Why a loop hands back to people; `Breakpoint.of(result.stop_reason)` is one of them, or `None`.

    >>> Breakpoint.of("natural")
    <Breakpoint.TASK_COMPLETE: 'task_complete'>
    """

    USER_INTERRUPT = "user_interrupt"
    """Somebody stopped it."""
    DESTRUCTIVE_OPERATION = "destructive_operation"
    """It would have destroyed something."""
    MAX_ITERATIONS = "max_iterations"
    """It used up its requests."""
    NO_PROGRESS = "no_progress"
    """It goes round in circles."""
    LOW_MOMENTUM = "low_momentum"
    """Too little succeeds."""
    REPEATED_FAILURES = "repeated_failures"
    """The same error again and again."""
    TASK_COMPLETE = "task_complete"
    """It is done."""
    NEEDS_USER_INPUT = "needs_user_input"
    """It needs to know something."""
    AMBIGUOUS = "ambiguous"
    """What is asked can be read in more than one way."""

    @classmethod
    def of(cls, stop_reason: str) -> Breakpoint | None:
        """The breakpoint of a `stop_reason`; `None` where it is none (a limit of money, an error)."""
        name = _core.breakpoint_of(wanted_text(stop_reason, "stop_reason"))
        return None if name is None else cls(name)


@dataclass(frozen=True)
class MomentumPolicy:
    """When momentum is slow, and when it is too low."""

    window: int = 10
    """Results that count; at most 64."""
    slow: float = 0.5
    """Below this it is slow."""
    pause: float = 0.3
    """Below this it is time to pause; 0 turns that off."""
    least: int = 3
    """Results before anything is judged."""

    def __post_init__(self) -> None:
        try:
            _core.Momentum(json.dumps(asdict(self)))
        except (TypeError, ValueError) as error:
            raise UsageError(f"invalid MomentumPolicy: {error}", "invalid_option", "give numbers") from error

    def as_dict(self) -> dict[str, Any]:
        """The policy in the form of a machine's configuration."""
        return asdict(self)


class Momentum:
    """The share of the last calls that succeeded, `(s + 2) / (n + 2)`.

    >>> momentum = Momentum()
    >>> for succeeded in (False, False, False):
    ...     momentum.record(succeeded)
    >>> momentum.score, momentum.pace
    (0.4, 'slow')
    """

    def __init__(self, policy: MomentumPolicy | None = None) -> None:
        policy = MomentumPolicy() if policy is None else policy
        if not isinstance(policy, MomentumPolicy):
            message = f"policy is {type(policy).__name__}, not a MomentumPolicy"
            raise UsageError(message, "invalid_option", "give MomentumPolicy(...), or nothing")
        self.policy = policy
        self._core = _core.Momentum(json.dumps(policy.as_dict()))

    def record(self, succeeded: bool) -> None:  # noqa: FBT001 - it is the one thing there is
        """Takes the next result."""
        # A text that tells of a failure would be as true as any.
        if not isinstance(succeeded, (bool, int)):
            message = f"succeeded is {type(succeeded).__name__}, not a bool"
            raise UsageError(message, "invalid_value", "say whether the result was a success")
        self._core.record(bool(succeeded))

    @property
    def score(self) -> float:
        """From 0 to 1; 1 before any result."""
        return self._core.score()

    @property
    def pace(self) -> str:
        """`good`, `slow` or `pause`."""
        return self._core.pace()

    @property
    def should_slow_down(self) -> bool:
        """Whether more fails than should."""
        return self.pace != "good"

    @property
    def should_pause(self) -> bool:
        """Whether it is time to stop and look."""
        return self.pace == "pause"

    def to_json(self) -> str:
        """All it knows, as JSON text."""
        return json.dumps({"policy": asdict(self.policy), "momentum": json.loads(self._core.to_json())})

    @classmethod
    def from_json(cls, text: str) -> Momentum:
        """Momentum that goes on where another was saved."""
        try:
            saved = json.loads(text)
            momentum = cls(MomentumPolicy(**saved["policy"]))
            momentum._core = _core.Momentum(json.dumps(saved["policy"]), json.dumps(saved["momentum"]))
        except (TypeError, KeyError, ValueError) as error:
            raise UsageError(f"invalid momentum: {error}", "invalid_value", "give what to_json gave") from error
        return momentum

    def __repr__(self) -> str:
        return f"<Momentum {self.score:.2f} {self.pace}>"


@dataclass(frozen=True)
class Standing:
    """Where a loop stands, for `continuation`."""

    next_step: str | None = None
    """What the model said it would do next."""
    succeeded: bool | None = None
    """Whether the last calls succeeded; `None` before any."""
    failure: str | None = None
    """What failed, in words."""
    stuck: bool = False
    """Whether it seems stuck."""


def continuation(state: Standing | Mapping[str, Any]) -> str | None:
    """What to say so that a model goes on; the first that applies.

    The stated next step, "Continue." after calls that succeeded, a word about the failure, a word of reflection where
    it seems stuck, nothing.

    >>> continuation(Standing(next_step="read the file", succeeded=True))
    'Proceed with: read the file'
    >>> continuation({"succeeded": True})
    'Continue.'
    >>> continuation(Standing()) is None
    True
    """
    if not isinstance(state, (Standing, Mapping)):
        message = f"state is {type(state).__name__}, not a Standing"
        raise UsageError(message, "invalid_value", "give a Standing, or a dict of its fields")
    plain = asdict(state) if isinstance(state, Standing) else dict(state)
    try:
        text = json.dumps(plain)
    except (TypeError, ValueError) as error:
        raise UsageError(f"invalid state: {error}", "invalid_value", "give a Standing") from error
    return _core.continuation(text)
