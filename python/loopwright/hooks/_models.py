"""Which model a run goes on with, as somebody says who is asked before its first request."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from loopwright._dataclasses import dataclass
from loopwright._model import Model, is_model, only_first
from loopwright.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopwright.messages import Message
    from loopwright.models import Responds

__all__ = ["ModelChoice", "ModelContext", "Router", "choice_of"]


@dataclass(frozen=True)
class ModelChoice:
    """A model, and how sure whoever chose it is.

    From 0.8 up the choice is enforced; from 0.5 up it is a suggestion, which is told and holds only for an agent with
    `Router(accept_suggestions=True)`; below it is told and does not hold.
    """

    model: str | Model
    """`provider:model`, a `Model`, or the name of another model of the agent's own provider."""
    confidence: float = 1.0
    reason: str = ""

    def __post_init__(self) -> None:
        if is_model(self.model):
            only_first(self.model, "which is chosen")
        elif not isinstance(self.model, str) or not self.model.strip():
            message = f"a model is named by text, not {self.model!r:.100}"
            raise UsageError(message, "unknown_model", "write provider:model, or give a Model")
        number = isinstance(self.confidence, (int, float)) and not isinstance(self.confidence, bool)
        if not number or not math.isfinite(self.confidence) or not 0 <= self.confidence <= 1:
            message = f"the confidence of a choice can't be {self.confidence!r:.100}"
            raise UsageError(message, "invalid_number", "give a number from 0 to 1")


@dataclass(frozen=True)
class Router:
    """Who chooses the model of each run, before its first request: `Agent(Router(choose, default="openai:gpt-5"))`."""

    choose: Callable[[ModelContext], Any] | ModelChoice
    """A function, sync or async, that takes a `ModelContext` and gives a `ModelChoice`, a name, a `Model` or `None`; or
    a `ModelChoice` for all runs."""
    default: str | Model | Responds | None = None
    """The model that a run has otherwise."""
    accept_suggestions: bool = False
    """Whether a choice that is not sure enough to be enforced, but is a suggestion, holds too."""


@dataclass(frozen=True)
class ModelContext:
    """What whoever chooses may know."""

    prompt: Message
    model: str
    """The model that is used otherwise."""
    run_id: str
    deps: Any

    @property
    def text(self) -> str:
        """The prose of the prompt."""
        return self.prompt.text


def choice_of(answer: object) -> ModelChoice | None:
    """What was said, as a choice. A name alone is a choice without doubt."""
    if answer is None or isinstance(answer, ModelChoice):
        return answer
    if isinstance(answer, str) or is_model(answer):
        return ModelChoice(answer)
    message = f"a choice of the model can't be {answer!r:.100}"
    raise UsageError(message, "invalid_answer", "give a ModelChoice, a name, or None")
