"""What an engine does for a run: five verbs, and nothing of agents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from loopwright._approval import decision_of, is_answer
from loopwright.errors import UsageError

if TYPE_CHECKING:
    from loopwright.events import Event, UnknownEvent

__all__ = ["Answer", "Engine", "Question", "Work", "answer_to"]

Work = Callable[[], Awaitable[str]]
"""What a step does: it gives JSON, which the engine records."""


class Question(TypedDict):
    """What a person is asked about a call; anything here can be JSON."""

    id: int
    run_id: str
    """The name of the engine's workflow, to which the answer goes."""
    call_id: str
    name: str
    arguments: Any
    risk: str
    why: str
    hash: str
    """What binds an answer to this very call."""
    agent: str | None
    """The sub-agent that wants it."""


class Answer(TypedDict):
    """What a person said, bound to the call that was shown; `answer_to` makes it."""

    hash: str
    decision: str
    reason: str | None
    arguments: str | None


class Engine(Protocol):
    """What remembers, waits and asks for a run. All of it may come again after a crash, in the same order: what was
    recorded is given as it was.
    """

    run_id: str
    """The name of the run: that of the engine's own workflow."""
    limit: int
    """Bytes that a step may give at most."""

    async def step(self, name: str, work: Work) -> str:
        """Does some work and records what it gives, at least once: what is recorded is never done again."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Waits, whatever becomes of this process."""
        ...

    async def ask(self, question: Question, seconds: float | None) -> Answer | None:
        """Waits for a person; `None` when the seconds are over."""
        ...

    async def gather(self, steps: Sequence[tuple[str, Work]]) -> list[str]:
        """Steps at the same time: begun in their order, and given in it."""
        ...

    async def tell(self, events: Sequence[Event | UnknownEvent]) -> None:
        """Passes on what happens to whoever watches, where somebody does."""
        ...


def answer_to(question: Question, said: Any) -> Answer:
    """What a person said to a question: `True`, `False`, the reason of a no, or `Edit({...})`, bound to that call."""
    if not is_answer(said):
        message = f"the answer to the call {question['call_id']!r} can't be {said!r:.100}"
        raise UsageError(message, "invalid_answers", "give True, False, the reason of a no, or Edit({...})")
    decision, reason, arguments = decision_of(said)
    return {"hash": question["hash"], "decision": decision, "reason": reason, "arguments": arguments}
