"""`RunStream`: the events of a run as they happen, and its result when they have ended.

An answer that is not of the type that was asked for is sent back to the model within the same stream; what the attempts
before it used counts.
"""

from __future__ import annotations

import inspect
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Generic, cast

from ._options import of_run
from ._remember import Following
from ._typed import Output
from .errors import LoopwrightError, UsageError
from .messages import Message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from . import _core
    from ._continue import Begun
    from ._driver import AsyncDriver, Driver
    from ._plan import Plan
    from ._running import Running
    from .budget import Budget
    from .events import Event, RunFinished
    from .result import Result
    from .signal import Signal

__all__ = ["RunStream"]


_OUTPUT_ATTEMPTS = 3


class RunStream(Generic[Output]):
    """The events of a run. Iterate over it once; `result` is there when the iteration has ended.

    Whoever leaves the iteration early ends the run with `aclose`, or lets `async with` do it; `result` then holds what
    the run had reached.
    """

    def __init__(
        self,
        agent: Running[Output],
        conversation: _core.History | None,
        deps: Any,
        budget: Budget,
        journal: Any,
        signal: Signal | None,
        *,
        watch: bool,
        begin: Callable[[Plan], Begun] | None = None,
    ) -> None:
        if signal is None and watch:
            from .signal import Signal

            signal = Signal()
        self._agent = agent
        self._conversation = conversation
        of_run(signal=signal)
        self._deps = deps
        self._budget = budget
        self._journal = journal
        self._signal = signal
        self._watch = watch
        self._begin = begin
        self._result: Result[Any] | None = None
        self._driver: AsyncDriver | None = None
        self._path: str | None = None
        self._lines: str | None = None
        self._over = False
        self._events = self._run()

    @property
    def result(self) -> Result[Output]:
        """What the run gave."""
        if self._result is None:
            message = "the run has not ended"
            raise UsageError(message, "not_finished", "iterate over the stream to its end first")
        return cast("Result[Output]", self._result)

    def cancel(self) -> None:
        """End the run at once; its last events still come."""
        if self._signal is not None:
            self._signal.cancel()

    def interrupt(self) -> None:
        """End the run between two rounds."""
        if self._signal is not None:
            self._signal.interrupt()

    def pause(self) -> None:
        """Start nothing new after what is under way; the time of the run stands still then."""
        if self._signal is not None:
            self._signal.pause()

    def resume(self) -> None:
        """Go on after a pause."""
        if self._signal is not None:
            self._signal.resume()

    def leave(self) -> None:
        """Leaves the run as it is, for `Agent.resume`: iterating raises a `UsageError` with the code `suspended`."""
        if self._driver is not None:
            self._driver.interrupt_soon("leave")

    @property
    def state(self) -> str:
        """`running`, `pausing`, `paused` or `done`."""
        if self._driver is not None:
            return self._driver.run.state
        return "done" if self._over else "running"

    @property
    def journal(self) -> str | None:
        """Where the journal is, or its lines where it is kept in memory."""
        if self._path is not None:
            return self._path
        return self._lines if self._driver is None else self._driver.run.journal

    def __repr__(self) -> str:
        return f"<RunStream {self.state} of {self._agent!r}>"

    def events(self) -> AsyncIterator[Event]:
        """The events, each with the next `event_id`; the same as iterating over the stream itself."""
        return self._events

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events

    def __anext__(self) -> Awaitable[Event]:
        return self._events.__anext__()

    async def aclose(self) -> None:
        """Ends the run if it has not ended."""
        await self._events.aclose()  # type: ignore[attr-defined]

    async def __aenter__(self) -> RunStream[Output]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _run(self) -> AsyncIterator[Event]:
        # In full: what is relative is resolved by code in Python each time.
        from loopwright._bridge import running_loop
        from loopwright._driver import AsyncDriver

        running_loop()
        agent, conversation, limits = self._agent, self._conversation, self._budget
        earlier: Result[Any] | None = None
        prompt_at = None if conversation is None else len(conversation) - 1
        driver: AsyncDriver | None = None
        before: Following | None = None
        for attempt in range(_OUTPUT_ATTEMPTS):
            plan = agent._plan(limits, stream=self._watch)
            begin, self._begin = self._begin, None
            begun = begin(plan) if begin is not None else agent._begun(plan, self._journal, attempt, conversation)
            run, path, name = begun.run, begun.path, begun.name
            driver = AsyncDriver(plan, run, name, self._deps, watch=self._watch, after=driver)
            self._driver, self._path = driver, path
            following = Following(agent._remember, driver, prompt_at, path, before)
            batches = driver.batches(begun.start, self._signal)
            try:
                try:
                    with following:
                        async with aclosing(batches):
                            async for batch in batches:
                                for event in batch:
                                    yield event
                finally:
                    # Nobody is there to be paused any more, and the journal is not held.
                    self._driver, self._lines, self._over = None, run.journal, True
            except LoopwrightError as error:
                agent._explain(error, driver, run, plan, name, path, earlier)
                raise
            except BaseException:
                if driver.outcome is not None:
                    self._result = agent._finish(driver, run, plan, name, path, earlier)[0]
                raise
            result, feedback = agent._finish(driver, run, plan, name, path, earlier)
            _caused(result, driver)
            if feedback is None or attempt + 1 == _OUTPUT_ATTEMPTS:
                break
            conversation, limits = _once_more(result, earlier, feedback, limits)
            earlier, before = result, following
        agent._reflect(result, self._deps)
        warned: list[Event] = [*await following.aend(result)]
        self._result = result
        if self._watch:
            for event in [*warned, _last(driver, result)]:
                yield event
        _checked(result)


def _last(driver: Driver | None, result: Result[Any]) -> RunFinished:
    """The last event of a run."""
    from .events import RunFinished

    event = RunFinished(result)
    if driver is not None:
        driver.numbered(event)
    return event


async def _heard_out(stream: RunStream[Output], on_event: Callable[[Event], Any] | None) -> Result[Output]:
    """The result of a stream, all of whose events were heard."""
    of_run(on_event=on_event)
    async with stream:
        async for event in stream:
            if on_event is not None:
                answer = on_event(event)
                if inspect.isawaitable(answer):
                    await answer
    return stream.result


def _checked(result: Result[Any]) -> Result[Any]:
    if result.error is not None:
        raise result.error
    return result


def _caused(result: Result[Any], driver: Driver) -> None:
    """An error that a hook has made says what the hook raised."""
    if result.error is not None and driver.hook_error is not None:
        result.error.__cause__ = driver.hook_error


def _once_more(
    result: Result[Any], earlier: Result[Any] | None, feedback: str, budget: Budget
) -> tuple[_core.History, Budget]:
    """The conversation with the feedback, and what the last attempt left of the budget."""
    from dataclasses import replace

    def spent(of: Callable[[Result[Any]], Any]) -> Any:
        return of(result) - (0 if earlier is None else of(earlier))

    messages = result.messages._history.extended(f"[{Message.user(feedback).to_json()}]")
    left = replace(
        budget,
        iterations=max(0, budget.iterations - spent(lambda result: result.rounds)),
        tool_rounds=max(0, budget.tool_rounds - spent(lambda result: result.tool_rounds)),
        wall_time=max(0.0, budget.wall_time - spent(lambda result: result.duration)),
        tokens=None if budget.tokens is None else max(0, budget.tokens - spent(lambda result: result.usage.total)),
        cost=None if budget.cost is None else max(0.0, budget.cost - spent(lambda result: result.known_cost or 0.0)),
    )
    return messages, left


def _heard(answer: object) -> None:
    """What a plain `on_event` gave is nothing; a coroutine would never run, and nobody would know."""
    if inspect.isawaitable(answer):
        getattr(answer, "close", bool)()
        message = "run_sync calls on_event without an event loop, and it gave something to await"
        raise UsageError(message, "invalid_callback", "give a plain function, or await run")
