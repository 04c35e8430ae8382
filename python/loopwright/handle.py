"""`RunHandle`: a run that goes on by itself, and can be paused, resumed, stopped, watched and awaited."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, Generic

from ._dataclasses import dataclass
from ._typed import Output
from .errors import UsageError
from .events import AgentFinished, AgentStarted, Paused, Resumed, RunFinished

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator

    from ._run_options import Prompt
    from ._stop_reason import StopReason
    from .agent import RunStream
    from .events import Event
    from .result import Result

__all__ = ["ChildStatus", "RunHandle"]


_KEPT = 10_000


@dataclass
class ChildStatus:
    """A sub-agent of a run: `state` is `running` or `done`."""

    name: str
    path: str
    task: str
    state: str = "running"
    stop_reason: StopReason | None = None


class RunHandle(Generic[Output]):
    """A run that was started with `Agent.start`.

    ::

        run = agent.start("…")
        run.pause()                     # nothing new starts after what is under way
        await run.until_paused()
        run.resume()
        result = await run              # or: run.cancel(), which keeps what was reached

    `cancel` ends the run with what it has reached as the result. Cancelling the task that awaits it ends it, too.
    """

    def __init__(self, stream: RunStream[Output]) -> None:
        self._stream = stream
        self._kept: deque[Event] = deque(maxlen=_KEPT)
        self._queues: list[asyncio.Queue[Event | None]] = []
        self._children: dict[str, ChildStatus] = {}
        self._settled = asyncio.Event()
        self._ended = False
        self._running = asyncio.Event()
        self._running.set()
        self._task: asyncio.Task[Result[Output]] = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> Result[Output]:
        try:
            async with self._stream as stream:
                async for event in stream:
                    self._heard(event)
            return self._stream.result
        finally:
            # Whoever waits for a pause, or for events, waits no longer.
            self._ended = True
            self._settled.set()
            self._running.set()
            for queue in self._queues:
                queue.put_nowait(None)

    def _heard(self, event: Event) -> None:
        if isinstance(event, AgentStarted):
            self._children[event.child] = ChildStatus(event.name, event.child, event.task)
        elif isinstance(event, AgentFinished) and event.child in self._children:
            child = self._children[event.child]
            child.state, child.stop_reason = "done", event.stop_reason
        elif isinstance(event, Paused):
            self._running.clear()
            self._settled.set()
        elif isinstance(event, Resumed):
            self._settled.clear()
            self._running.set()
        self._kept.append(event)
        for queue in self._queues:
            queue.put_nowait(event)

    def cancel(self) -> None:
        """End at once; what was reached is the result (`stop_reason` is `cancelled`)."""
        self._stream.cancel()

    def interrupt(self) -> None:
        """End when the running tools are done."""
        self._stream.interrupt()

    def send(self, message: Prompt) -> None:
        """Says something more: the model reads it in the next request. Raises a `UsageError` with the code `run_ended`
        once the run has ended.
        """
        self._stream.send(message)

    def pause(self) -> None:
        """Start nothing new after what is under way."""
        self._stream.pause()

    def resume(self) -> None:
        """Go on."""
        if not self._ended:
            self._settled.clear()
        self._stream.resume()

    async def until_paused(self) -> bool:
        """Waits until nothing is under way any more; false if the run has ended instead."""
        await self._settled.wait()
        return self.state == "paused"

    async def suspend(self) -> str | None:
        """Pauses, waits until nothing is under way, and leaves the run as it is, for `Agent.resume` later or elsewhere.

        Gives the journal: its path, or its lines where it was kept in memory. Whoever awaits the run gets a
        `UsageError` with the code `suspended`. If the run ends before it stands still, its result stands.
        """
        self.pause()
        if not await self.until_paused():
            return self._stream.journal
        self._stream.leave()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            # Known here; whoever awaits the run hears of it, too.
            self._task.exception()
        return self._stream.journal

    @property
    def state(self) -> str:
        """`running`, `pausing`, `paused` or `done`."""
        return "done" if self._task.done() else self._stream.state

    @property
    def children(self) -> list[ChildStatus]:
        """The sub-agents so far: those that run, and those that are done."""
        return list(self._children.values())

    @property
    def result(self) -> Result[Output]:
        """What the run gave, once it has ended."""
        if not self._task.done():
            raise UsageError("the run has not ended", "not_finished", "await it first")
        return self._task.result()

    def done(self) -> bool:
        """Whether it has ended."""
        return self._task.done()

    async def events(self) -> AsyncIterator[Event]:
        """What happened so far (the last 10,000 events), and what happens from now on."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        for earlier in self._kept:
            queue.put_nowait(earlier)
        if self._task.done():
            queue.put_nowait(None)
        else:
            self._queues.append(queue)
        try:
            while (event := await queue.get()) is not None:
                yield event
                if isinstance(event, RunFinished):
                    return
        finally:
            if queue in self._queues:
                self._queues.remove(queue)

    def __await__(self) -> Generator[Any, None, Result[Output]]:
        return self._task.__await__()

    def __repr__(self) -> str:
        return f"<RunHandle {self.state}>"
