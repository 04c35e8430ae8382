"""`Worker`: carries out the runs that are queued in a Postgres, beside other workers on other machines."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import threading
from typing import TYPE_CHECKING, Any

from loopwright._journal_paths import path_of
from loopwright._postgres._queue import claim, done, hand_over, left
from loopwright._postgres._store import LEASE, store_at
from loopwright._stream import _heard_out
from loopwright._urls import full_url, is_url
from loopwright.errors import LoopwrightError, UsageError
from loopwright.journal import Journal
from loopwright.signal import Signal

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from loopwright._postgres._queue import Job
    from loopwright._postgres._store import Store
    from loopwright._stream import RunStream
    from loopwright.agent import Agent

__all__ = ["Worker"]

_POLL = 1.0
"""Seconds between two looks at the queue, where no notice comes."""
_AGAIN = ("journal_in_use", "journal_failed")
"""What keeps a run from being begun now, and not for good."""
_LOG = logging.getLogger("loopwright.worker")


class Worker:
    """Claims queued runs, at most `concurrency` at the same time, and carries them out with an agent.

    ::

        journal = Journal("postgresql://db/runs")
        journal.start("Pay Ann.", run_id="order-17")            # anywhere
        await Worker(agent, journal, concurrency=64).run()      # on any number of machines

    A run is a worker's own while that gives signs of life: `lease` seconds after the last one another worker goes on
    with it, as `Agent.resume` does. `run` ends when `drain` is called (on SIGTERM by itself): what is under way is
    brought to where it can be left, and handed to other workers; what is not there after `grace` seconds is theirs when
    the lease is over.
    """

    def __init__(
        self,
        agent: Agent[Any, Any],
        journal: Journal | str | os.PathLike[str],
        *,
        concurrency: int = 64,
        queue: str = "default",
        lease: float = LEASE,
        grace: float = 30.0,
        deps: Any = None,
    ) -> None:
        path = path_of(journal)
        if not is_url(path):
            message = f"a worker shares its journal with others, and {path!r} is a file"
            raise UsageError(message, "not_shared", "give Journal('postgresql://…')")
        if not isinstance(concurrency, int) or concurrency < 1:
            raise UsageError(f"concurrency can't be {concurrency!r}", "invalid_option", "give a number from 1")
        if lease < 1:
            raise UsageError(f"lease can't be {lease!r}", "invalid_option", "give seconds, at least 1")
        self.agent, self.path, self.deps = agent, path, deps
        self.concurrency, self.queue, self.grace = concurrency, queue, grace
        self._store: Store = store_at(path)
        self._store.lease = lease
        self._tasks: dict[asyncio.Task[None], RunStream[Any] | None] = {}
        self._draining = False
        self._woken: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def drain(self) -> None:
        """Claims nothing more, and hands over what is under way. May be called from any thread."""
        self._draining = True
        self._wake()

    async def run(self, *, until_empty: bool = False) -> None:
        """Works until it is drained; with `until_empty` until no run of the queue is left that can be worked at."""
        self._loop, self._woken = asyncio.get_running_loop(), asyncio.Event()
        over = threading.Event()
        listener = threading.Thread(target=_listen, args=(self, over), name="loopwright worker", daemon=True)
        listener.start()
        try:
            with _on_sigterm(self._loop, self.drain):
                while not self._draining:
                    free = self.concurrency - len(self._tasks)
                    jobs = await self._claimed(free) if free else []
                    for job in jobs:
                        task = asyncio.ensure_future(self._one(job))
                        self._tasks[task] = None
                        task.add_done_callback(self._ended)
                    if until_empty and not self._tasks and not await asyncio.to_thread(left, self.path, self.queue):
                        break
                    if not jobs or len(jobs) == free:
                        await self._pause()
                await self._hand_over()
        finally:
            over.set()
            await asyncio.to_thread(self._store.call, lambda _: None)

    async def _claimed(self, free: int) -> list[Job]:
        try:
            return await asyncio.to_thread(claim, self._store, self.queue, free)
        except UsageError as error:
            if error.code != "journal_failed":
                raise
            # The database is away: others wait for it, too.
            _LOG.warning("%s", error)
            return []

    async def _pause(self) -> None:
        assert self._woken is not None, "it runs"  # noqa: S101 - a fault of ours
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._woken.wait(), _POLL)
        self._woken.clear()

    def _wake(self) -> None:
        if self._loop is not None and self._woken is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._woken.set)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        self._wake()
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.error("a run ended the worker's task", exc_info=error)

    async def _one(self, job: Job) -> None:
        """One run, as far as it comes here."""
        given = dict(job.input)
        prompt, name = given.pop("prompt"), job.hold.run
        once = {"run_id": name, "on_existing": "resume", "journal": Journal(self.path), "signal": Signal()}
        try:
            stream = self.agent._stream("run", prompt, self.deps, {**given, **once}, watch=False)
            task = asyncio.current_task()
            assert task is not None, "it runs"  # noqa: S101 - a fault of ours
            self._tasks[task] = stream
            result = await _heard_out(stream, None)
        except LoopwrightError as error:
            if error.code == "suspended":
                hand_over(self._store, job)
            elif error.code in _AGAIN:
                hand_over(self._store, job, self._store.lease / 4)
            elif error.code != "lease_lost":
                # Where the run has ended, its journal says how.
                done(
                    self._store, job, "done" if error.result is not None else "failed", f"{error.code}: {error.message}"
                )
        except Exception as error:  # noqa: BLE001 - of the agent's own functions: the others go on
            _LOG.exception("the run %s failed", name)
            done(self._store, job, "failed", f"{type(error).__name__}: {error}")
        else:
            done(self._store, job, "waiting" if result.stop_reason == "suspended" else "done", None)

    async def _hand_over(self) -> None:
        """Brings what is under way to where it can be left, and leaves it there."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self.grace
        paused: set[Any] = set()
        while self._tasks and loop.time() < until:
            for stream in [each for each in self._tasks.values() if each is not None]:
                if stream.state == "running" and stream not in paused:
                    stream.pause()
                    paused.add(stream)
                elif stream.state == "paused":
                    stream.leave()
            await asyncio.wait(list(self._tasks), timeout=0.02)
        for hold in list(self._store.held.values()):
            if hold.worker:
                # What is still under way writes nothing more, and is another worker's when the lease is over.
                message = f"the worker ends, and the run {hold.run!r} is under way"
                hold.lost = UsageError(message, "lease_lost", "another worker goes on with it after the lease")
                self._store.let_go(hold)
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=5.0)


def _listen(worker: Worker, over: threading.Event) -> None:
    """Wakes the worker when something is ready. Without a connection it looks by itself, each second."""
    import psycopg

    while not over.is_set():
        try:
            with psycopg.connect(full_url(worker.path), autocommit=True, connect_timeout=5) as connection:
                connection.execute("listen loopwright")
                while not over.is_set():
                    for notice in connection.notifies(timeout=1.0, stop_after=1):
                        if notice.payload == f"ready {worker.queue}" or notice.payload.startswith("cancelled "):
                            worker._wake()
                            worker._store.looked = 0.0
        except psycopg.Error:
            over.wait(1.0)


@contextlib.contextmanager
def _on_sigterm(loop: asyncio.AbstractEventLoop, drain: Callable[[], None]) -> Any:
    """Drains on SIGTERM; elsewhere than in the main thread whoever runs it calls `drain`."""
    try:
        loop.add_signal_handler(signal.SIGTERM, drain)
    except (NotImplementedError, RuntimeError, ValueError):
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
