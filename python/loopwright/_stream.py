"""`RunStream`: the events of a run as they happen, and its result when they have ended.

The run does not go ahead of its reader: a request or a tool begins when all events before it have been read. Leaving
the loop ends the run. So the generator that drives the run refers neither to the stream nor to who iterates over it.

An answer that is not of the type that was asked for is sent back to the model within the same stream; what the attempts
before it used counts.
"""

from __future__ import annotations

import contextlib
import inspect
from collections import deque
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Generic, cast

from ._options import of_run
from ._remember import Following
from ._typed import Output
from .errors import LoopwrightError, UsageError
from .messages import Message

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
    from types import AsyncGeneratorType

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
_END_FIRST = "iterate over the stream to its end first, or, once the loop was left, `await stream.aclose()`"


class RunStream(Generic[Output]):
    """The events of a run. Iterate over it once; `result` is there when the iteration has ended.

    The run waits for whoever iterates: no request and no tool begins before all events that came earlier were taken,
    and the clock of the budget stands still meanwhile. Leaving the loop by `break`, by an exception or by cancellation
    ends the run: nothing begins any more, what is under way is cancelled, and the journal is free. `async with` and
    `aclose` wait until all of that is done; `result` then holds what the run had reached.
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
        of_run(signal=signal)
        self._agent = agent
        self._signal = signal
        self._progress: _Progress[Output] = _Progress()
        self._closing: asyncio.Task[None] | None = None
        # Read ahead of the loop.
        self._kept: deque[Event] = deque()
        self._events = cast(
            "AsyncGeneratorType[Event, None]",
            _followed(self._progress, agent, conversation, deps, budget, journal, signal, watch=watch, begin=begin),
        )

    @property
    def result(self) -> Result[Output]:
        """What the run gave."""
        if self._progress.result is None:
            message = "the run has not ended"
            raise UsageError(message, "not_finished", _END_FIRST)
        return self._progress.result

    def cancel(self) -> None:
        """End the run at once; its last events still come."""
        if self._signal is not None:
            self._signal.cancel()

    def interrupt(self) -> None:
        """End the run between two rounds."""
        if self._signal is not None:
            self._signal.interrupt()

    def pause(self) -> None:
        """Start nothing new after what is under way; the time of the run stands still then. What was announced and
        begins only when its event was read is under way: within the loop wait for the pause by `until_paused`.
        """
        if self._signal is not None:
            self._signal.pause()

    async def until_paused(self) -> bool:
        """Reads on until nothing is under way any more; false if the run has ended instead. The events read meanwhile
        are kept for the loop. Raises `UsageError` with the code `being_read` where another task waits for the next one.
        """
        while self.state != "paused":
            if self._events.ag_running:
                message = "another task reads the stream"
                raise UsageError(message, "being_read", "wait for `Paused` there, or take `Agent.start`")
            try:
                self._kept.append(await self._events.__anext__())
            except StopAsyncIteration:
                return False
        return True

    def resume(self) -> None:
        """Go on after a pause."""
        if self._signal is not None:
            self._signal.resume()

    def leave(self) -> None:
        """Leaves the run as it is, for `Agent.resume`: iterating raises a `UsageError` with the code `suspended`."""
        if self._progress.driver is not None:
            self._progress.driver.interrupt_soon("leave")

    @property
    def state(self) -> str:
        """`running`, `pausing`, `paused` or `done`."""
        if self._progress.driver is not None:
            return self._progress.driver.run.state
        return "done" if self._progress.over else "running"

    @property
    def journal(self) -> str | None:
        """Where the journal is, or its lines where it is kept in memory."""
        progress = self._progress
        if progress.path is not None:
            return progress.path
        return progress.lines if progress.driver is None else progress.driver.run.journal

    def __repr__(self) -> str:
        return f"<RunStream {self.state} of {self._agent!r}>"

    def events(self) -> AsyncIterator[Event]:
        """The events, each with the next `event_id`; the same as iterating over the stream itself."""
        return _Reader(self)

    def __aiter__(self) -> AsyncIterator[Event]:
        return _Reader(self)

    def __anext__(self) -> Awaitable[Event]:
        return self._first() if self._kept else self._events.__anext__()

    async def _first(self) -> Event:
        return self._kept.popleft()

    async def aclose(self) -> None:
        """Ends the run if it has not ended."""
        if self._closing is not None:
            import asyncio

            await asyncio.wait([self._closing])
        await self._events.aclose()

    async def __aenter__(self) -> RunStream[Output]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        # Whoever is made by halves has nothing to end.
        progress = getattr(self, "_progress", None)
        if progress is not None and progress.driver is not None and not self._events.ag_running:
            progress.driver.dropped()

    def _left(self) -> None:
        """Whoever iterated has gone: the run ends now, and what ends with it is waited for in the background."""
        driver = self._progress.driver
        if driver is not None and not self._events.ag_running:
            driver.dropped()
            driver.soon(self._close_soon)

    def _close_soon(self) -> None:
        events = self._events
        if self._closing is None and not events.ag_running and events.ag_frame is not None:
            import asyncio

            self._closing = asyncio.ensure_future(_closed(events))


class _Reader:
    """One loop over the events of a stream. It is gone when the loop was left, whoever still holds the stream."""

    __slots__ = ("_next", "_stream")

    def __init__(self, stream: RunStream[Any]) -> None:
        self._stream = stream
        self._next = stream._events.__anext__

    def __aiter__(self) -> _Reader:
        return self

    def __anext__(self) -> Awaitable[Event]:
        return self._stream._first() if self._stream._kept else self._next()

    async def aclose(self) -> None:
        """Ends the run if it has not ended."""
        await self._stream.aclose()

    def __del__(self) -> None:
        self._stream._left()


class _Progress(Generic[Output]):
    """How far the run of a stream has come; its generator writes it down, and the stream tells."""

    __slots__ = ("driver", "lines", "over", "path", "result")

    def __init__(self) -> None:
        self.result: Result[Output] | None = None
        self.driver: AsyncDriver | None = None
        self.path: str | None = None
        self.lines: str | None = None
        self.over = False


async def _closed(events: AsyncGenerator[Event, None]) -> None:
    """Closes a generator whose reader has gone; nobody is there who would hear what goes wrong on the way."""
    with contextlib.suppress(Exception):
        await events.aclose()


async def _followed(
    progress: _Progress[Output],
    agent: Running[Output],
    conversation: _core.History | None,
    deps: Any,
    limits: Budget,
    journal: Any,
    signal: Signal | None,
    *,
    watch: bool,
    begin: Callable[[Plan], Begun] | None,
) -> AsyncGenerator[Event, None]:
    """Drives a run, and further ones while its answer is not of the type; gives what they tell."""
    # In full: what is relative is resolved by code in Python each time.
    from loopwright._bridge import running_loop
    from loopwright._driver import AsyncDriver

    running_loop()
    earlier: Result[Any] | None = None
    prompt_at = None if conversation is None else len(conversation) - 1
    driver: AsyncDriver | None = None
    before: Following | None = None
    for attempt in range(_OUTPUT_ATTEMPTS):
        plan = agent._plan(limits, stream=watch)
        begun = begin(plan) if begin is not None else agent._begun(plan, journal, attempt, conversation)
        begin = None
        run, path, name = begun.run, begun.path, begun.name
        try:
            driver = AsyncDriver(plan, run, name, deps, watch=watch, after=driver)
            progress.driver, progress.path = driver, path
            following = Following(agent._remember, driver, prompt_at, path, before)
            batches = driver.batches(begun.start, signal)
            try:
                with following:
                    async with aclosing(batches):
                        async for batch in batches:
                            for event in batch:
                                yield event
            except LoopwrightError as error:
                agent._explain(error, driver, run, plan, name, path, earlier)
                raise
            except BaseException:
                if driver.outcome is not None:
                    progress.result = agent._finish(driver, run, plan, name, path, earlier)[0]
                raise
        finally:
            # Nobody is there to be paused any more. The journal is free, however long a traceback holds the run.
            progress.driver, progress.lines, progress.over = None, run.journal, True
            run.close()
        result, feedback = agent._finish(driver, run, plan, name, path, earlier)
        _caused(result, driver)
        if feedback is None or attempt + 1 == _OUTPUT_ATTEMPTS:
            break
        conversation, limits = _once_more(result, earlier, feedback, limits)
        earlier, before = result, following
    agent._reflect(result, deps)
    warned: list[Event] = [*await following.aend(result)]
    progress.result = result
    if watch:
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
