"""`SyncStream`: the events of a run in the caller's thread, without asyncio, and its result when they have ended.

The run does not go ahead of its reader, and leaving the loop ends it, as with `RunStream`; here all of that is done by
the time the loop was left.
"""

from __future__ import annotations

from collections import deque
from contextlib import closing
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, cast

from ._attempts import Progress
from ._instrument import observing
from ._options import of_run
from ._stream import Seat, _checked, left_bare
from ._typed import Output
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from types import GeneratorType

    from . import _core
    from ._continue import Begun
    from ._driver import SyncDriver
    from ._partial import Given, Partial
    from ._plan import Plan
    from ._running import Running
    from .budget import Budget
    from .events import Event
    from .result import Result
    from .signal import Signal

__all__ = ["SyncStream"]

T = TypeVar("T")


class SyncStream(Generic[Output]):
    """The events of a run. Iterate over it once, or over `text`, `outputs` or `items`; `result` is there when the
    iteration has ended.

    The run waits for whoever iterates: no request and no tool begins before all events that came earlier were taken.
    Leaving the loop by `break` or by an exception ends the run, and so do `close` and the end of a `with` block;
    `result` then holds what the run had reached.
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
        begin: Callable[[Plan], Begun] | None = None,
    ) -> None:
        if signal is None:
            from .signal import Signal

            signal = Signal()
        of_run(signal=signal)
        self._agent = agent
        self._signal = signal
        self._progress: Progress[SyncDriver, Output] = Progress(observing(agent))
        self._seat = Seat()
        self._events = cast(
            "GeneratorType[Event, None, None]",
            _followed(self._progress, agent, conversation, deps, budget, journal, signal, begin=begin),
        )

    @property
    def result(self) -> Result[Output]:
        """What the run gave."""
        if self._progress.result is None:
            message = "the run has not ended"
            hint = "iterate over the stream to its end first, or, once the loop was left, call stream.close()"
            raise UsageError(message, "not_finished", hint)
        return self._progress.result

    def cancel(self) -> None:
        """End the run at once, from any thread; its last events still come."""
        self._signal.cancel()

    def interrupt(self) -> None:
        """End the run between two rounds, from any thread."""
        self._signal.interrupt()

    def close(self) -> None:
        """Ends the run if it has not ended. While another thread waits for the next event, that one ends it."""
        self._progress.bare = False
        if self._events.gi_running:
            self._signal.cancel()
        else:
            self._events.close()

    @property
    def state(self) -> str:
        """`running`, `pausing`, `paused` or `done`."""
        return self._progress.state

    @property
    def journal(self) -> str | None:
        """Where the journal is, or its lines where it is kept in memory."""
        return self._progress.journal

    if not TYPE_CHECKING:  # checkers know that it can't be iterated over like this

        def __aiter__(self) -> NoReturn:
            message = "stream_sync gives its events to a plain `for`; in an event loop use agent.stream(...)"
            raise TypeError(message)

    def __repr__(self) -> str:
        return f"<SyncStream {self.state} of {self._agent!r}>"

    def events(self) -> Iterator[Event]:
        """The events, each with the next `event_id`; the same as iterating over the stream itself."""
        return _SyncReader(self)

    def text(self) -> Iterator[str]:
        """All text of the answer so far, each time that it has grown; the last one is the answer. An answer that is
        begun anew, as after a `Reset`, is given by itself.
        """
        from ._partial import Texts

        return _SyncDrawn(self, Texts())

    def outputs(self) -> Iterator[Partial[Output]]:
        """What the output holds so far: `data` at once, `value` once that fits the type; the last is `done`."""
        from ._partial import Outputs

        return _SyncDrawn(self, Outputs(self._agent._output))

    def items(self: SyncStream[list[T]]) -> Iterator[T]:
        """The elements of an `output_type=list[…]`, each once, as soon as it is whole.

        From an element on that is not of the type they wait, until the answer is whole or the model has written it
        again. Raises `UsageError` with the code `no_items` where the output is no list.
        """
        from ._partial import Items

        return _SyncDrawn(self, Items(self._agent._output))

    def __iter__(self) -> Iterator[Event]:
        return _SyncReader(self)

    def __next__(self) -> Event:
        self._seat.take_one()
        return self._next()

    def _next(self) -> Event:
        if self._events.gi_running:
            message = "another thread reads the stream"
            raise UsageError(message, "being_read", "read it in one loop; cancel() may be called from any thread")
        return next(self._events)

    def __enter__(self) -> SyncStream[Output]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # Whoever is made by halves has nothing to end.
        progress = getattr(self, "_progress", None)
        if progress is not None and progress.bare:
            self._events.close()
            left_bare(self._agent, "with agent.stream_sync(…) as stream", "stream.close()", self)


class _SyncReader:
    """One loop over the events of a stream. It is gone when the loop was left, whoever still holds the stream."""

    __slots__ = ("_mark", "_stream", "_whole")

    def __init__(self, stream: SyncStream[Any], *, whole: bool = False) -> None:
        self._stream = stream
        self._whole = whole
        self._mark = object()

    def __iter__(self) -> _SyncReader:
        return self

    def __next__(self) -> Event:
        stream = self._stream
        if stream._seat.who is not self._mark:
            stream._seat.take(self._mark, whole=self._whole, over=stream._events.gi_frame is None)
        return stream._next()

    def close(self) -> None:
        """Ends the run if it has not ended."""
        self._stream.close()

    def __del__(self) -> None:
        if self._stream._seat.leave(self._mark):
            self._stream.close()


class _SyncDrawn(Generic[T]):
    """One loop over what is drawn from the events of a stream. It is gone when the loop was left, as a reader is."""

    __slots__ = ("_given", "_reader", "_ready")

    def __init__(self, stream: SyncStream[Any], given: Given[T]) -> None:
        self._reader = _SyncReader(stream, whole=True)
        self._given = given
        self._ready: deque[T] = deque()

    def __iter__(self) -> _SyncDrawn[T]:
        return self

    def __next__(self) -> T:
        ready = self._ready
        while not ready:
            ready.extend(self._given.feed(next(self._reader)))
        return ready.popleft()

    def close(self) -> None:
        """Ends the run if it has not ended."""
        self._reader.close()


def _followed(
    progress: Progress[SyncDriver, Output],
    agent: Running[Any, Output],
    conversation: _core.History | None,
    deps: Any,
    limits: Budget,
    journal: Any,
    signal: Signal | None,
    *,
    begin: Callable[[Plan], Begun] | None,
) -> Generator[Event, None, None]:
    """Drives a run in the thread that reads, with all its attempts; gives what they tell."""
    attempts = agent._attempts(conversation, limits, deps, journal, progress, watch=True, begin=begin)
    while attempts.more:
        attempts.list_tools()
        with attempts as (driver, start), closing(driver.events(start, signal)) as events:
            yield from events
    result, following = attempts.end()
    yield from attempts.last(result, following.end(result))
    _checked(result)
