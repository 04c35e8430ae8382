"""`RunStream`: the events of a run as they happen, and its result when they have ended.

The run does not go ahead of its reader: a request or a tool begins when all events before it have been read. Leaving
the loop ends the run. So the generator that drives the run refers neither to the stream nor to who iterates over it.

An answer that is not of the type that was asked for is sent back to the model within the same stream; what the attempts
before it used counts.
"""

from __future__ import annotations

import contextlib
import warnings
from collections import deque
from contextlib import aclosing
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, cast

from ._attempts import Attempts, Progress
from ._instrument import observing
from ._options import of_run
from ._prepared import Prepared
from ._typed import Output
from .errors import UsageError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
    from types import AsyncGeneratorType

    from . import _core
    from ._continue import Begun
    from ._driver import AsyncDriver
    from ._partial import Given, Partial
    from ._plan import Plan
    from ._run_options import Prompt
    from ._running import Running
    from .budget import Budget
    from .events import Event
    from .result import Result
    from .signal import Signal

__all__ = ["RunStream"]

T = TypeVar("T")

_END_FIRST = "iterate over the stream to its end first, or, once the loop was left, `await stream.aclose()`"


class Seat:
    """Who reads a stream: one loop at a time."""

    __slots__ = ("taken", "who", "whole")

    def __init__(self) -> None:
        self.who: object = None
        # Whether it needs all events there are.
        self.whole = False
        # Whether anybody has had an event.
        self.taken = False

    def take(self, who: object, *, whole: bool, over: bool) -> None:
        """Somebody begins to read; with `whole` it needs all events there are."""
        if self.who is not None and (whole or not over):
            raise _being_read()
        if whole and self.taken:
            message = "events of the stream were read before, and are missing here"
            hint = "begin with text(), outputs() or items(); once it was read, take stream.result"
            raise UsageError(message, "read_before", hint)
        self.who, self.whole = who, whole
        self.taken = True

    def take_one(self) -> None:
        """Somebody wants the next event, outside of a loop."""
        if self.who is not None and self.whole:
            raise _being_read()
        self.taken = True

    def leave(self, who: object) -> bool:
        """Somebody has gone; whether it was the one who read."""
        if self.who is not who:
            return False
        self.who = None
        return True


def _being_read() -> UsageError:
    message = "the stream is being read already"
    return UsageError(message, "being_read", "read it in one loop: over its events, text(), outputs() or items()")


class RunStream(Generic[Output]):
    """The events of a run. Iterate over it once; `result` is there when the iteration has ended.

    `text`, `outputs` and `items` read the same run in other words: its text, its output while that is written, and the
    elements of a list.

    The run waits for whoever iterates: no request and no tool begins before all events that came earlier were taken,
    and the clock of the budget stands still meanwhile. Leaving the loop by `break`, by an exception or by cancellation
    ends the run: nothing begins any more, what is under way is cancelled, and the journal is free. `async with` and
    `aclose` wait until all of that is done; `result` then holds what the run had reached. A stream that was left
    without either says so with a `ResourceWarning`.
    """

    def __init__(
        self,
        agent: Running[Any, Output],
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
        self._progress: Progress[AsyncDriver, Output] = Progress(observing(agent))
        self._closing: asyncio.Task[None] | None = None
        self._seat = Seat()
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

    def send(self, message: Prompt) -> None:
        """Says something more, from any thread: the model reads it in the next request. After its last answer that is
        one more request. Raises a `UsageError` with the code `run_ended` once the run has ended.
        """
        if type(self._agent)._machine is not Prepared._machine:
            wrong = "a grounded answer or a research is about one question, and hears nothing more"
            raise UsageError(wrong, "no_conversation", "let an Agent have it as a tool")
        self._progress.say(message)

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
        return self._progress.state

    @property
    def journal(self) -> str | None:
        """Where the journal is, or its lines where it is kept in memory."""
        return self._progress.journal

    def __repr__(self) -> str:
        return f"<RunStream {self.state} of {self._agent!r}>"

    def events(self) -> AsyncIterator[Event]:
        """The events, each with the next `event_id`; the same as iterating over the stream itself."""
        return _Reader(self)

    def text(self) -> AsyncIterator[str]:
        """All text of the answer so far, each time that it has grown; the last one is the answer. An answer that is
        begun anew, as after a `Reset`, is given by itself.
        """
        from ._partial import Texts

        return _Drawn(self, Texts())

    def outputs(self) -> AsyncIterator[Partial[Output]]:
        """What the output holds so far: `data` at once, `value` once that fits the type; the last is `done`."""
        from ._partial import Outputs

        return _Drawn(self, Outputs(self._agent._output))

    def items(self: RunStream[list[T]]) -> AsyncIterator[T]:
        """The elements of an `output_type=list[…]`, each once, as soon as it is whole.

        From an element on that is not of the type they wait, until the answer is whole or the model has written it
        again. Raises `UsageError` with the code `no_items` where the output is no list.
        """
        from ._partial import Items

        return _Drawn(self, Items(self._agent._output))

    def __aiter__(self) -> AsyncIterator[Event]:
        return _Reader(self)

    def __anext__(self) -> Awaitable[Event]:
        self._seat.take_one()
        return self._first() if self._kept else self._events.__anext__()

    async def _first(self) -> Event:
        return self._kept.popleft()

    async def aclose(self) -> None:
        """Ends the run if it has not ended."""
        self._progress.bare = False
        if self._closing is not None:
            import asyncio

            await asyncio.wait([self._closing])
        await self._events.aclose()

    if not TYPE_CHECKING:  # checkers know that it can't be iterated over like this

        def __iter__(self) -> NoReturn:
            message = "a run streams its events to `async for`; without an event loop use agent.stream_sync(...)"
            raise TypeError(message)

    async def __aenter__(self) -> RunStream[Output]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        # Whoever is made by halves has nothing to end.
        progress = getattr(self, "_progress", None)
        if progress is None:
            return
        if progress.driver is not None and not self._events.ag_running:
            progress.driver.dropped()
        if progress.bare:
            way = "iter(…) as run" if progress.steps else "stream(…) as stream"
            left_bare(self._agent, f"async with agent.{way}", f"await {way.rsplit(maxsplit=1)[-1]}.aclose()", self)

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

    __slots__ = ("_mark", "_next", "_seat", "_stream", "_whole")

    def __init__(self, stream: RunStream[Any], *, whole: bool = False) -> None:
        self._stream = stream
        self._next = stream._events.__anext__
        self._seat = stream._seat
        self._whole = whole
        # What the stream knows it by, which must not hold it.
        self._mark = object()

    def __aiter__(self) -> _Reader:
        return self

    def __anext__(self) -> Awaitable[Event]:
        stream = self._stream
        if self._seat.who is not self._mark:
            self._seat.take(self._mark, whole=self._whole, over=stream._events.ag_frame is None)
        return stream._first() if stream._kept else self._next()

    async def aclose(self) -> None:
        """Ends the run if it has not ended."""
        await self._stream.aclose()

    def __del__(self) -> None:
        if self._seat.leave(self._mark):
            self._stream._left()


class _Drawn(Generic[T]):
    """One loop over what is drawn from the events of a stream. It is gone when the loop was left, as a reader is."""

    __slots__ = ("_given", "_reader", "_ready")

    def __init__(self, stream: RunStream[Any], given: Given[T]) -> None:
        self._reader = _Reader(stream, whole=True)
        self._given = given
        self._ready: deque[T] = deque()

    def __aiter__(self) -> _Drawn[T]:
        return self

    async def __anext__(self) -> T:
        ready = self._ready
        while not ready:
            ready.extend(self._given.feed(await self._reader.__anext__()))
        return ready.popleft()

    async def aclose(self) -> None:
        """Ends the run if it has not ended."""
        await self._reader.aclose()


def left_bare(agent: Running[Any, Any], opened: str, closed: str, stream: object) -> None:
    """Says of a stream that nobody ended it; it was ended when it was dropped."""
    kind = type(stream).__name__
    said = f"{kind} of {agent!r} was left before its end, and its run was ended: use `{opened}`, or `{closed}`"
    warnings.warn(said, ResourceWarning, stacklevel=3, source=stream)


async def _closed(events: AsyncGenerator[Event, None]) -> None:
    """Closes a generator whose reader has gone; nobody is there who would hear what goes wrong on the way."""
    with contextlib.suppress(Exception):
        await events.aclose()


@cache
def _asynchronous() -> tuple[Callable[[], object], type[AsyncDriver]]:
    """Loaded by the first run; an import costs thousands of instructions each time, even of what is there."""
    from ._bridge import running_loop
    from ._driver import AsyncDriver

    return running_loop, AsyncDriver


async def _followed(
    progress: Progress[AsyncDriver, Output],
    agent: Running[Any, Output],
    conversation: _core.History | None,
    deps: Any,
    limits: Budget,
    journal: Any,
    signal: Signal | None,
    *,
    watch: bool,
    begin: Callable[[Plan], Begun] | None,
) -> AsyncGenerator[Event, None]:
    """Drives a run in the event loop, with all its attempts; gives what they tell."""
    running_loop, driver_type = _asynchronous()
    running_loop()
    attempts = Attempts(
        agent, driver_type, conversation, deps, limits, journal, begin=begin, progress=progress, watch=watch
    )
    while attempts.more:
        await attempts.alist_tools()
        with attempts as (driver, start):
            async with aclosing(driver.batches(start, signal)) as batches:
                async for batch in batches:
                    for event in batch:
                        yield event
    result, following = attempts.end()
    last = attempts.last(result, await following.aend(result))
    if watch:
        for event in last:
            yield event
    _checked(result)


async def _heard_out(stream: RunStream[Output], on_event: Callable[[Event], Any] | None) -> Result[Output]:
    """The result of a stream, all of whose events were heard."""
    of_run(on_event=on_event)
    from inspect import isawaitable

    async with stream:
        async for event in stream:
            if on_event is not None:
                answer = on_event(event)
                if isawaitable(answer):
                    await answer
    return stream.result


def _checked(result: Result[Output]) -> Result[Output]:
    if result.error is not None:
        raise result.error
    return result


def _heard(answer: object) -> None:
    """What a plain `on_event` gave is nothing; a coroutine would never run, and nobody would know."""
    from inspect import isawaitable

    if isawaitable(answer):
        getattr(answer, "close", bool)()
        message = "run_sync calls on_event without an event loop, and it gave something to await"
        raise UsageError(message, "invalid_callback", "give a plain function, or await run")
