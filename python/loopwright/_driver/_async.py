"""The driver of asyncio: a run in the task of whoever awaits it, its tools as tasks beside that."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from loopwright._bridge import Bridge

from ._alarm import Alarm
from ._announced import Announced
from ._generator import ARRIVED, ASKED, OVER, WAIT, Driver
from ._tasks import begin_later, begin_now, carry
from ._work import GRACE, given_up

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from loopwright import _core
    from loopwright._plan import Plan

    from ._jobs import Job


class AsyncDriver(Driver):
    """Drives a run in the task that iterates over `batches`.

    What arrives is fed to the machine at once, where it arrives: the iterating task is woken only when there is
    something to tell, or when the run has ended.
    """

    in_loop = True

    def __init__(
        self, plan: Plan, run: _core.Run, run_id: str, deps: Any, *, watch: bool, after: Driver | None = None
    ) -> None:
        super().__init__(plan, run, run_id, deps, watch=watch, after=after)
        self.loop = asyncio.get_running_loop()
        # Tools see the context variables of the caller, wherever the event came from that starts them.
        self.variables: contextvars.Context = contextvars.copy_context()
        self.thread = threading.get_ident()
        self.announced = Announced(self.loop)
        self.alarm = Alarm(self.loop)
        self.ending: set[asyncio.Task[Any]] = set()
        self.bridge, self.key = Bridge.enter(self.arrived)
        self.hub = self.bridge.hub

    async def batches(
        self, start: _core.Event | list[_core.Command], signal: Any = None
    ) -> AsyncGenerator[list[Any], None]:
        """Runs to the end, from its start or from the open commands of a run that broke off; gives what is told on the
        way, all that is there at once.
        """
        self.generator = generator = self.turns(start, signal)
        try:
            effect = self.pump(None)
            self.alarm.set(self)
            while effect is not OVER:
                if effect is WAIT:
                    self.waker = self.loop.create_future()
                    try:
                        await self.waker
                    finally:
                        self.waker = None
                else:
                    if self.told.put_off:
                        # The last event is told by itself: what it announces begins while it is looked at, if that
                        # takes longer than the loop needs to tell the reader of a cancellation.
                        if len(effect) > 1:
                            yield effect[:-1]
                        self.announced.begin_beside(self)
                        effect = effect[-1:]
                    yield effect
                effect = self.pump(ASKED)
                self.alarm.set(self)
        finally:
            generator.close()
            await self.close()

    def may_begin(self) -> bool:
        return self.announced.may_begin(self)

    def begin(self, job: Job) -> None:
        """Begins a task. Other tasks get their turn all the same where it may be over at once, and who watches is told
        of a step before the next but one is taken.
        """
        now = False
        if job.now:
            now = not (self.watch and self.hurried) and (self.announced.in_turn or self.bridge.has_time(self.loop))
            self.hurried = True
        work, name = carry(self, job, job.function), f"loopwright {self.run_id} {job.what}"
        job.task = task = (begin_now if now else begin_later)(self.loop, work, name, self.variables)
        if task.cancelled() or not task.done():
            task.add_done_callback(partial(self.unbegun, job))
        if job.dropped and not task.done():
            self.stop(job)

    def unbegun(self, job: Job, task: asyncio.Task[None]) -> None:
        """A task is done; one that was cancelled before its first step has told nobody."""
        self.ending.discard(task)
        if job.work is None:
            self.lost(job)

    def stop(self, job: Job) -> None:
        # Not there yet while it takes its first step.
        if job.task is not None:
            self.ending.add(job.task)
            job.task.cancel()
        elif job.work is None:
            job.close()

    def dropped(self) -> None:
        """Whoever read has gone, and nobody comes to close the run: it ends now. May be called from any thread."""
        if self.loop.is_closed() or (threading.get_ident() == self.thread and not self.pumping):
            self.abandon()
        else:
            self.soon(self.abandon)

    def abandon(self) -> None:
        """Ends the run without waiting for anybody."""
        if self.observer is not None:
            self.observer.end(None)
        if self.loop.is_closed():
            # Tasks can't be told anything.
            self.requests.forget()
            self.jobs.clear()
        if self.generator is not None:
            self.generator.close()
        self.let_go()

    def go(self, why: str = ARRIVED) -> None:
        super().go(why)
        if self.timers or self.alarm.at is not None:
            self.alarm.set(self)

    def soon(self, function: Callable[[], None]) -> None:
        # If the loop still runs.
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(function)

    def hear(self, deliver: Callable[[Any], None]) -> int:
        return Bridge.enter(deliver)[1]

    def hear_no_more(self, key: int) -> None:
        self.bridge.leave(key)

    def noticed(self) -> None:
        if threading.get_ident() == self.thread:
            self.wake()
        else:
            self.soon(self.wake)

    def wake(self) -> None:
        if self.waker is not None and not self.waker.done():
            self.waker.set_result(None)

    async def close(self) -> None:
        """Nothing of the run is left behind: no call, no timer, no task, no hold of its journal."""
        self.let_go()
        if self.ending:
            _, left = await asyncio.wait(self.ending, timeout=GRACE)
            given_up(left)

    def let_go(self) -> None:
        super().let_go()
        self.bridge.leave(self.key)
        self.alarm.stop()
