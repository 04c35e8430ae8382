"""Whether a conversation still serves its goal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from loopwright import _core
from loopwright._dataclasses import dataclass
from loopwright._embedders import embedder_of
from loopwright.errors import UsageError
from loopwright.messages import checked

from ._signals import Span
from ._words import wanted_text

if TYPE_CHECKING:
    from loopwright._model import Model

__all__ = ["Drift", "DriftEvent", "DriftState", "Embedder", "GoalDrift"]

DriftState: TypeAlias = Literal["on_goal", "drifted"]
"""Whether the conversation serves its goal."""

Embedder: TypeAlias = Callable[[Any], Any]
"""Takes a list of texts and gives their vectors, or takes one text and gives its vector."""

MOST_EVENTS = 50


@dataclass(frozen=True, slots=True)
class DriftEvent:
    """A change of state."""

    message: int
    """Which message changed it, counted from 1."""
    before: DriftState
    after: DriftState
    step: float
    anchor: float


@dataclass(frozen=True, slots=True)
class Drift:
    """What is to be said of a message."""

    step: float
    """How far it is from the message before: 0 is the same subject, 1 is another."""
    anchor: float
    """How far it is from the goal."""
    state: DriftState
    """The state now."""
    event: DriftEvent | None
    """The change of state, if this message made one."""
    phrases: tuple[Span, ...]
    """Phrases that announce a change of course."""
    shared: tuple[str, ...]
    """Words that the message shares with the goal, as stems."""
    evidence: float
    """How much the message says, from 0 to 1: what says nothing can't drift."""


class GoalDrift:
    """The goal of a conversation, and how its messages stand to it.

    `step` compares with the message before, `anchor` with the goal, which nothing overwrites: only `revise` does, for
    the user. The state changes to `drifted` at `enter` and back at `leave`. Words alone decide, unless there is an
    `embedder`: a model's name, a `Model`, or any callable that turns texts into vectors; its own background is measured
    once, with twelve texts.

    >>> drift = GoalDrift("Refactor the authentication module to use signed tokens")
    >>> drift.observe("which tokens does the login page use now?").state
    'on_goal'
    >>> seen = drift.observe("what should I cook for dinner with chicken and rice?")
    >>> seen.state, seen.event.before
    ('drifted', 'on_goal')
    >>> drift.revise("Plan a dinner for six")
    >>> drift.state
    'on_goal'
    """

    __slots__ = ("_core", "_embedder", "_one_by_one", "events", "on_change")

    def __init__(
        self,
        goal: str,
        *,
        embedder: Embedder | str | Model | None = None,
        enter: float = 0.75,
        leave: float = 0.45,
        on_change: Callable[[DriftEvent], object] | None = None,
    ) -> None:
        embedder = embedder_of(embedder)
        if embedder is not None and not callable(embedder):
            message = f"embedder is {type(embedder).__name__}, which can't be called"
            raise UsageError(message, "invalid_option", "give a function that turns texts into vectors")
        self._core = checked(_core.GoalDrift, wanted_text(goal, "goal"), enter, leave)
        self.events: list[DriftEvent] = []
        """The last changes of state, at most 50."""
        self.on_change = on_change
        self._begin(embedder)

    def _begin(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._one_by_one = False
        if embedder is not None:
            background = self._core.background()
            vectors = self._embed([*background, self._core.goal(), self._core.last()])
            checked(self._core.use_vectors, vectors[:-2], vectors[-2], vectors[-1])

    @property
    def goal(self) -> str:
        """The goal."""
        return self._core.goal()

    @property
    def former_goals(self) -> list[str]:
        """Goals that the user gave up, oldest first."""
        return self._core.former_goals()

    @property
    def state(self) -> DriftState:
        """Whether the conversation serves its goal."""
        return self._core.state()  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"<GoalDrift {self.state}: {_core.redact(self.goal)!r:.100}>"

    def observe(self, message: str) -> Drift:
        """Takes the next message."""
        message = wanted_text(message, "message")
        before = self.state
        vector = None if self._embedder is None else self._embed([message])[0]
        step, anchor, _, changed, evidence, phrases, shared = checked(self._core.observe, message, vector)
        event = None
        if changed:
            event = DriftEvent(self._core.seen(), before, self.state, step, anchor)
            self.events.append(event)
            del self.events[:-MOST_EVENTS]
        seen = Drift(
            step,
            anchor,
            self.state,
            event,
            tuple(Span.at(message, place) for place, _ in phrases),
            tuple(shared),
            evidence,
        )
        if event is not None and self.on_change is not None:
            self.on_change(event)
        return seen

    def revise(self, goal: str) -> None:
        """The user has another goal now. The state begins anew."""
        goal = wanted_text(goal, "goal")
        vector = None if self._embedder is None or not goal.strip() else self._embed([goal])[0]
        checked(self._core.revise, goal, vector)

    def to_json(self) -> str:
        """The conversation as text, for `from_json`; the embedder and the events are not part of it."""
        return self._core.to_json()

    @classmethod
    def from_json(
        cls,
        text: str,
        *,
        embedder: Embedder | None = None,
        on_change: Callable[[DriftEvent], object] | None = None,
    ) -> GoalDrift:
        """A conversation that was saved."""
        self = cls.__new__(cls)
        self._core = checked(_core.GoalDrift.from_json, text)
        self.events = []
        self.on_change = on_change
        self._begin(embedder)
        return self

    def _embed(self, texts: list[str]) -> list[list[float]]:
        """The vectors of some texts, from an embedder of either kind."""
        embedder = self._embedder
        if embedder is None:
            return []
        if not self._one_by_one:
            try:
                given = embedder(texts)
            except (TypeError, AttributeError):
                # It wants one text at a time.
                self._one_by_one = True
            else:
                if vectors := _vectors(given, len(texts)):
                    return vectors
        vectors = []
        for text in texts:
            given = embedder(text)
            one = _vector(given) or next(iter(_vectors(given, 1) or []), None)
            if one is None:
                message = "the embedder gave no vectors"
                raise UsageError(
                    message, "invalid_vectors", "an embedder takes a list of texts and gives a list of vectors"
                )
            vectors.append(one)
        self._one_by_one = True
        return vectors


def _vector(given: Any) -> list[float] | None:
    try:
        return [float(number) for number in given] or None
    except (TypeError, ValueError):
        return None


def _vectors(given: Any, count: int) -> list[list[float]] | None:
    rows = list(given) if isinstance(given, Sequence) or hasattr(given, "__iter__") else []
    vectors = [vector for row in rows if (vector := _vector(row))]
    return vectors if len(vectors) == len(rows) == count else None
