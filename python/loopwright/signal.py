"""Stopping a run from outside: from another task, another thread, or a signal handler."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Signal"]


class Signal:
    """Ends the runs it was given to, with what they have reached as their result.

    ::

        signal = Signal()
        task = asyncio.create_task(agent.run("…", signal=signal))
        signal.interrupt()          # when the running tools are done
        signal.cancel()             # at once
        result = await task         # result.stop_reason is "user_interrupt" or "cancelled"
    """

    __slots__ = ("_how", "_listeners", "_lock", "_paused")

    def __init__(self) -> None:
        # A signal handler may come between two steps of the very thread that holds the lock.
        self._lock = threading.RLock()
        self._listeners: list[Callable[[str], None]] = []
        self._how: str | None = None
        self._paused = False

    def cancel(self) -> None:
        """End at once: what is under way is aborted."""
        self._send("cancel")

    def interrupt(self) -> None:
        """End between two rounds, when the running tools are done."""
        self._send("after_round")

    def pause(self) -> None:
        """Start nothing new after what is under way; the time of the run stands still then."""
        self._turn(paused=True)

    def resume(self) -> None:
        """Go on after a pause."""
        self._turn(paused=False)

    @property
    def is_paused(self) -> bool:
        """Whether somebody wants a pause."""
        return self._paused

    @property
    def is_set(self) -> bool:
        """Whether somebody wants an end."""
        return self._how is not None

    @property
    def how(self) -> str | None:
        """`"cancel"` or `"after_round"`, once somebody wants an end."""
        return self._how

    def __repr__(self) -> str:
        return f"<Signal {self._how or ('pause' if self._paused else 'not set')}>"

    def _send(self, how: str) -> None:
        with self._lock:
            if self._how != "cancel":
                self._how = how
            listeners = list(self._listeners)
        for listener in listeners:
            listener(how)

    def _turn(self, *, paused: bool) -> None:
        with self._lock:
            if self._paused == paused:
                return
            self._paused = paused
            listeners = list(self._listeners)
        for listener in listeners:
            listener("pause" if paused else "resume")

    def attach(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """For drivers: `listener` is told how to end, to pause or to resume; what is given back detaches it."""
        with self._lock:
            self._listeners.append(listener)
            how, paused = self._how, self._paused
        if paused:
            listener("pause")
        if how is not None:
            listener(how)

        def detach() -> None:
            with self._lock:
                self._listeners.remove(listener)

        return detach
