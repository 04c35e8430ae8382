"""What a run gives: the answer, how it came about, and why it ended."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    from ._core import History
    from .errors import LoopwrightError

__all__ = ["Messages", "Result", "Source", "ToolCall", "Usage"]

Output = TypeVar("Output")


class Messages(Sequence[dict[str, Any]]):
    """The messages of a run, in order, in the canonical form. They stay in Rust until one is looked at."""

    __slots__ = ("_history",)

    def __init__(self, history: History) -> None:
        self._history = history

    def __len__(self) -> int:
        return len(self._history)

    @overload
    def __getitem__(self, at: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, at: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, at: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        length = len(self._history)
        if not -length <= at < length:
            message = f"there are {length} messages, none at {at}"
            raise IndexError(message)
        found: dict[str, Any] = json.loads(self._history.json(at % length))
        return found

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Messages):
            return self._history == other._history
        if isinstance(other, Sequence):
            return list(self) == list(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} messages>"


@dataclass(frozen=True)
class Usage:
    """Tokens. `input` holds cached tokens too, `output` holds reasoning too."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    provider_tool_uses: int = 0

    @property
    def total(self) -> int:
        """All tokens."""
        return self.input + self.output


@dataclass(frozen=True)
class ToolCall:
    """A call that the model asked for. `failure` names what went wrong, if something did; times in seconds."""

    id: str
    name: str
    input: Any
    iteration: int
    at: float
    duration: float
    failure: str | None = None


@dataclass(frozen=True)
class Source:
    """What an answer may rest on: lines `line` to `end_line` of `reference`."""

    kind: str
    reference: str
    line: int
    end_line: int
    text: str
    score: float
    heading: str = ""

    def __str__(self) -> str:
        return f"{self.reference}:{self.line}"


@dataclass(frozen=True)
class Result(Generic[Output]):
    """What a run gives.

    `final` is the answer (verified, where the machine verifies), or `None`; `best_draft` is the best there is where
    `final` is missing; `transcript` is all prose of the run. `stop_reason` says why it ended.
    """

    final: str | None
    output: Output
    """The answer as `output_type`; the same as `final` without one."""
    transcript: str
    best_draft: str | None
    messages: Messages
    usage: Usage
    cost: float | None
    """Money for the tokens, where the prices are known."""
    stop_reason: str
    tool_calls: list[ToolCall]
    rounds: int
    """Requests to the model."""
    tool_rounds: int
    duration: float
    """Seconds."""
    run_id: str
    model: str
    verified: bool | None = None
    message: str | None = None
    """What to tell people where no answer passed verification."""
    attempts: int = 0
    sources: list[Source] = field(default_factory=list)
    searches: int = 0
    warnings: list[str] = field(default_factory=list)
    iterations: list[dict[str, Any]] = field(default_factory=list)
    """Seconds and attempts of each request."""
    error: LoopwrightError | None = None
    journal: str | None = None
    """Where the journal is, or its lines where it was kept in memory."""
    dropped: int = 0
    """Answers that came late or twice."""

    @property
    def hit_ceiling(self) -> bool:
        """Whether a limit of the budget ended the run."""
        return self.stop_reason in _LIMITS

    @property
    def partial(self) -> bool:
        """Whether there is no answer, only what was said so far."""
        return self.final is None

    def __str__(self) -> str:
        return self.final or self.message or self.best_draft or ""

    def __repr__(self) -> str:
        said = self.final if self.final is not None else self.best_draft
        shown = None if said is None else (said if len(said) <= _SHOWN else said[: _SHOWN - 1] + "…")
        return f"<Result {self.stop_reason} after {self.rounds} rounds: {shown!r}>"


_LIMITS = frozenset({"max_iterations", "tool_rounds", "wall_time", "tokens", "cost"})
_SHOWN = 60


def from_outcome(outcome: dict[str, Any], *, messages: History, run_id: str, model: str, journal: str | None) -> Any:
    """The result for how a machine ended."""
    spent = outcome["spent"]
    return Result(
        final=outcome["final"],
        output=outcome["final"],
        transcript=outcome["transcript"],
        best_draft=outcome["best_draft"],
        messages=Messages(messages),
        usage=Usage(**spent["usage"]),
        cost=spent["cost"],
        stop_reason=outcome["stop"],
        tool_calls=[ToolCall(**call) for call in outcome["tool_calls"]],
        rounds=spent["iterations"],
        tool_rounds=spent["tool_rounds"],
        duration=outcome["duration"],
        run_id=run_id,
        model=model,
        verified=outcome["verified"],
        message=outcome.get("message"),
        attempts=outcome["attempts"],
        sources=[Source(**source) for source in outcome["sources"]],
        searches=outcome["searches"],
        warnings=outcome["warnings"],
        iterations=outcome["iterations"],
        journal=journal,
        dropped=outcome["dropped"],
    )


def error_of(outcome: dict[str, Any]) -> LoopwrightError | None:
    """The error that ended a run, as an exception."""
    error = outcome["error"]
    if error is None:
        return None
    from . import errors

    kinds = {
        "usage": errors.UsageError,
        "model": errors.ModelError,
        "tool": errors.ToolError,
        "provider": errors.ProviderError,
    }
    kind = kinds.get(error["guilt"], errors.InternalError)
    return kind(error["message"], error["code"], error.get("hint"))
