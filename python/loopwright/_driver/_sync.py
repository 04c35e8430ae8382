"""The driver without an event loop: a run in the calling thread, its tools in threads."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright._threads import drop

from ._generator import ASKED, OVER, WAIT, Driver
from ._waits import Waits
from ._work import cancelling

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from loopwright._plan import Plan

    from ._jobs import Job

_PATIENCE = 0.05
"""Seconds between two looks for Ctrl-C."""
_LONG_PATIENCE = 1.0
"""The same in threads that Ctrl-C does not reach."""


def _task_around() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


class SyncDriver(Driver):
    """Drives a run in the calling thread. Tools run in threads; async tools in one event loop of the run's own."""

    def __init__(
        self, plan: Plan, run: _core.Run, run_id: str, deps: Any, *, watch: bool, after: Driver | None = None
    ) -> None:
        super().__init__(plan, run, run_id, deps, watch=watch, after=after)
        self.hub = _core.Hub(wakes=False)
        self.delivers: dict[int, Callable[[Any], None]] = {}
        self.keys = itertools.count(self.key + 1)
        self.wanted: deque[Callable[[], None]] = deque()
        self.thread = threading.get_ident()
        self.patience = _PATIENCE if threading.current_thread() is threading.main_thread() else _LONG_PATIENCE
        self.waits = Waits()
        self.closed = False
        # The task of a running event loop that is held up meanwhile, and how often somebody wanted it cancelled before.
        self.around = _task_around()
        self.cancelled_before = cancelling(self.around)

    def events(self, start: _core.Event | list[_core.Command], signal: Any = None) -> Generator[Any, None, None]:
        """Runs to the end, from its start or from the open commands of a run that broke off; gives what is told on the
        way.
        """
        self.generator = generator = self.turns(start, signal)
        try:
            effect = self.pump(None)
            while effect is not OVER:
                if effect is WAIT:
                    self.wait()
                else:
                    yield from effect
                effect = self.pump(ASKED)
        finally:
            generator.close()
            self.close()

    def may_begin(self) -> bool:
        self.heed_cancellation()
        return True

    def heed_cancellation(self) -> None:
        """Ends the run where the task was cancelled in which it holds up an event loop."""
        if cancelling(self.around) > self.cancelled_before:
            # Ctrl-C under `asyncio.run` only cancels the task, which can't be told while this thread is busy.
            raise asyncio.CancelledError

    def wait(self) -> None:
        """Waits for what comes next: an answer, a tool, a timer. Short waits, so that Ctrl-C gets through."""
        self.heed_cancellation()
        idle = not self.wanted
        if idle:
            left = self.waits.left(self.patience)
            if self.timers:
                left = min(left, min(self.timers.values()) - self.run.now())
            self.hub.wait(max(0.0, left))
        if idle or self.requests.calls or self.requests.asides:
            for key, item in self.hub.drain():
                deliver = self.arrived if key == self.key else self.delivers.get(key)
                if deliver is not None:
                    deliver(item)
        # Those that are there: what comes of them must not keep timers waiting.
        for _ in range(len(self.wanted)):
            self.wanted.popleft()()
        for job, limit in self.waits.lapsed():
            if not job.dropped:
                self.resume(job, limit.lapse())
        if self.timers:
            self.ring()

    def begin(self, job: Job) -> None:
        job.work = job.function(*job.arguments)
        self.resume(job, None)

    def resume(self, job: Job, sent: Any) -> None:
        """Work goes on with what it waited for, here."""
        self.waits.end(job)
        work = job.work
        if work is None:
            return
        try:
            effect = work.send(sent)
        except StopIteration as end:
            event = end.value
        except BaseException as error:  # noqa: BLE001 - raised where the run is awaited
            self.failed(job, error)
            return
        else:
            self.wait_for(job, effect)
            return
        self.ended(job, event)

    def wait_for(self, job: Job, effect: Any) -> None:
        """Has it done what work waits for, elsewhere."""
        job.waits = token = object()

        def heard(sent: Any) -> None:
            if self.closed:
                drop(sent)
            else:
                self.soon(lambda: self.heard(job, token, sent))

        self.waits.begin(job, effect, f"loopwright {self.run_id} {job.what}", heard)

    def heard(self, job: Job, token: object, sent: Any) -> None:
        """Something was given, unless nobody waits for it any more."""
        if job.waits is token and not job.dropped:
            self.resume(job, sent)
        else:
            drop(sent)

    def stop(self, job: Job) -> None:
        self.waits.stop(job)
        # Later: a question behind it may be of no use any more, too.
        self.soon(job.close)

    def soon(self, function: Callable[[], None]) -> None:
        self.wanted.append(function)
        self.hub.poke()

    def hear(self, deliver: Callable[[Any], None]) -> int:
        key = next(self.keys)
        self.delivers[key] = deliver
        return key

    def hear_no_more(self, key: int) -> None:
        self.delivers.pop(key, None)

    def noticed(self) -> None:
        if threading.get_ident() != self.thread:
            self.hub.poke()

    def close(self) -> None:
        """Nothing of the run is left behind but threads of plain tools that do not end."""
        self.closed = True
        self.let_go()
        while self.wanted:
            self.wanted.popleft()()
        self.hub.close()
        self.waits.close()
