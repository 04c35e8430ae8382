"""Threads for the work of others, which see the caller's context variables and keep no process from ending."""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import os
import queue
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["drop", "in_thread", "in_worker", "tried"]

_IDLE = 2.0
"""Seconds that a thread waits for more to do."""


def in_thread(name: str, work: Callable[[], Any], done: Callable[[Any], None] | None = None) -> None:
    """Runs `work` in a thread that sees the caller's context variables and keeps no process from ending."""
    variables = contextvars.copy_context()

    def run() -> None:
        value = variables.run(work)
        if done is not None:
            done(value)

    threading.Thread(target=run, name=name, daemon=True).start()


def tried(function: Callable[[Any], Any], argument: Any) -> Any:
    """What `function` gives, or what it raises."""
    try:
        return function(argument)
    except BaseException as error:  # noqa: BLE001 - handed to who waits
        return error


def drop(value: object) -> None:
    """Closes a coroutine that nobody will await."""
    if inspect.iscoroutine(value):
        value.close()


# ---- threads that are used again ----

_lock = threading.Lock()
_idle: list[_Worker] = []


class _Worker:
    """A thread that does one thing after the other, and ends when nobody wants it for a while."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[tuple[Callable[[], Any], Callable[[Any], None]]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="loopwright hook", daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                work, done = self.jobs.get(timeout=_IDLE)
            except queue.Empty:
                with _lock:
                    if self in _idle:
                        _idle.remove(self)
                        return
                continue
            value = work()
            with _lock:
                _idle.append(self)
            # Who waits may be gone by now.
            with contextlib.suppress(Exception):
                done(value)
            del work, done, value


def in_worker(work: Callable[[], Any], done: Callable[[Any], None]) -> None:
    """Does `work` in a thread that sees the caller's context variables; `done` gets what it gave, in that thread."""
    variables = contextvars.copy_context()
    with _lock:
        worker = _idle.pop() if _idle else None
    if worker is None:
        worker = _Worker()
    worker.jobs.put((lambda: variables.run(work), done))


def _forked() -> None:
    """In a process that was forked: its parent's threads are not here."""
    global _lock  # noqa: PLW0603
    _lock = threading.Lock()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
