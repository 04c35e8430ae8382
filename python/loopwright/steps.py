"""Runs step by step: what the model answered, each call before it runs, the end.

`Agent.iter` gives them. The events of a stream drive the run here as everywhere: the run goes on when the next step is
asked for, and a call waits until then.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeAlias, cast

from ._dataclasses import dataclass, field
from ._repr import redacted_repr
from ._typed import Output
from .errors import UsageError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    from typing_extensions import Self

    from ._run_options import Prompt
    from ._stream import RunStream
    from .events import RoundFinished
    from .messages import Message
    from .result import Messages, Result

    Step: TypeAlias = "ModelStep | ToolStep | EndStep[Output]"

__all__ = ["EndStep", "ModelStep", "RunIter", "ToolStep"]


def _future() -> asyncio.Future[Any]:
    import asyncio

    return asyncio.get_running_loop().create_future()


@dataclass(frozen=True)
class ModelStep:
    """The model has answered a request; none of the calls of the answer has begun."""

    type: ClassVar[Literal["model"]] = "model"
    round: int
    """The number of the request, from 1."""
    message: Message
    """What it answered: text, calls."""
    messages: Messages
    """All that was said so far, with that."""
    usage: Mapping[str, int]
    """The tokens of the request: `input`, `output`, `cache_read`, …"""


@dataclass(frozen=True, eq=False)
class ToolStep:
    """A call that is about to run: it does when the next step is asked for.

    `answer` gives the model a result in its place, `deny` says why it does not run. The guard has let it pass, and
    whoever is asked has agreed. What sub-agents do is no step of the run.
    """

    type: ClassVar[Literal["tool"]] = "tool"
    name: str
    """The tool."""
    arguments: Any
    """What the model gave it."""
    call_id: str
    round: int
    """The number of the request that it is part of."""
    event_id: int = field(default=0, init=False, repr=False)
    _decided: asyncio.Future[tuple[str, Any] | None] = field(default_factory=_future, init=False, repr=False)

    def answer(self, value: Any) -> None:
        """The tool does not run, and this is what it gave: text, data, pictures, as tools give it."""
        self._decide(("answer", value))

    def deny(self, why: str) -> None:
        """The tool does not run, and the model reads why."""
        if not isinstance(why, str):
            message = f"the reason why a call does not run can't be {why!r:.100}"
            raise UsageError(message, "invalid_value", "say in words why not")
        self._decide(("deny", why))

    def _decide(self, decision: tuple[str, Any] | None) -> None:
        if not self._decided.done():
            self._decided.set_result(decision)
        elif decision is not None:
            message = f"it was decided on the call of {self.name!r} already"
            raise UsageError(message, "decided_before", "answer or deny it once, before the next step")


@dataclass(frozen=True)
class EndStep(Generic[Output]):
    """The run has ended."""

    type: ClassVar[Literal["end"]] = "end"
    result: Result[Output]
    """What it gave."""


class RunIter(Generic[Output]):
    """The steps of a run, for `async with` and `async for`. It goes on when the next step is asked for.

    ::

        async with agent.iter("Tidy up.") as run:
            async for step in run:
                match step.type:
                    case "model":
                        print(step.message.text)
                    case "tool" if step.name == "delete":
                        step.deny("nothing is deleted today")
                    case "end":
                        print(step.result.output)

    The clock of the budget stands still while a step is looked at. Leaving the block ends the run, as it does with
    streams. An error that ends a run is raised where the next step is asked for.
    """

    def __init__(self, stream: RunStream[Output]) -> None:
        stream._progress.steps = True
        self._stream = stream
        # The call that is decided on before the next step.
        self._open: ToolStep | None = None
        # An answer that hooks look at first.
        self._answer: RoundFinished | None = None
        self._ready: deque[Step[Output]] = deque()
        # Requests before the conversation that is under way, and the last one of it.
        self._before = self._last = 0

    def send(self, message: Prompt) -> None:
        """Says something more: the model reads it in the next request. After its last answer that is one more request,
        unless a limit forbids it. Raises a `UsageError` with the code `run_ended` after the end.
        """
        self._stream.send(message)

    @property
    def result(self) -> Result[Output]:
        """What the run gave, once it has ended."""
        return self._stream.result

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Step[Output]:
        if self._open is not None:
            self._open._decide(None)
            self._open = None
        if (driver := self._stream._progress.driver) is not None:
            driver.told.read_on()
        while not self._ready:
            self._take(await self._stream.__anext__())
        step = self._ready.popleft()
        if type(step) is ToolStep:
            self._open = step
        if (driver := self._stream._progress.driver) is not None:
            driver.run.hold()
        return step

    def _take(self, event: Any) -> None:
        """The steps that an event is."""
        hooked = event.type in ("hook_answered", "hook_failed")
        if self._answer is not None and not hooked:
            self._answered(self._answer)
            self._answer = None
        if type(event) is ToolStep:
            object.__setattr__(event, "round", self._before + event.round)
            self._ready.append(event)
        elif event.type == "round_finished" and event.path is None:
            if event.round <= self._last:
                # What was said to an answer, and another agent, go on in a conversation that counts anew.
                self._before += self._last
            self._last = event.round
            driver = self._stream._progress.driver
            if driver is not None and "post_llm" in driver.plan.hooks:
                self._answer = event
            else:
                self._answered(event)
        elif event.type == "run_finished" and event.result.error is None:
            # An error is raised behind it.
            self._ready.append(EndStep(cast("Result[Output]", event.result)))

    def _answered(self, event: RoundFinished) -> None:
        from .result import Messages

        driver = self._stream._progress.driver
        if driver is None:
            return
        messages = Messages(driver.run.messages)
        at = max((at for at, each in enumerate(messages) if each.role == "assistant"), default=None)
        if at is not None:
            number = self._before + event.round
            self._ready.append(ModelStep(number, messages[at], Messages(messages[: at + 1]), event.usage))

    async def aclose(self) -> None:
        """Ends the run if it has not ended."""
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<RunIter {self._stream.state}>"


redacted_repr(ToolStep)
