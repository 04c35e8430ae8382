"""One hub for each event loop: what Rust finishes arrives here, in batches, on the loop's own thread.

A bridge lives as long as runs use it; when the last one has ended and no other has followed, its pipe is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from time import monotonic
from typing import TYPE_CHECKING, Any

from . import _core
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Bridge", "running_loop"]


def running_loop() -> asyncio.AbstractEventLoop:
    """The loop of the task that calls; where there is none, or one of another kind, an error that says what to do."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        message = "what is awaited here needs a running event loop of asyncio, and there is none"
        hint = "call run_sync instead, which needs none; under trio in a thread: trio.to_thread.run_sync"
        raise UsageError(message, "no_event_loop", hint) from None


_SLICE = 0.001
"""Seconds in each round of an event loop for work that is done where it is started."""


class Bridge:
    """Delivers what arrives to whoever waits for it. Get one with `enter`, give it back with `leave`."""

    __slots__ = ("__weakref__", "_deliver", "_ending", "_fileno", "_last", "_loop", "_renewing", "_until", "hub")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.hub = _core.Hub()
        self._fileno = self.hub.fileno()
        self._loop = weakref.ref(loop)
        self._deliver: dict[int, Callable[[Any], None]] = {}
        self._last = 0
        self._ending = False
        # Until when work may be done where it is started, and whether the next round of the loop puts that off.
        self._until = monotonic() + _SLICE
        self._renewing = False
        loop.add_reader(self._fileno, self._drain)

    @classmethod
    def enter(cls, deliver: Callable[[Any], None]) -> tuple[Bridge, int]:
        """The bridge of the running loop, and the key under which `deliver` is called with what arrives."""
        loop = asyncio.get_running_loop()
        bridge = _bridges.get(loop)
        if bridge is None:
            with _lock:
                # Loops that were closed in the middle of a run never said goodbye.
                for closed in [other for other in _bridges if other.is_closed()]:
                    _bridges.pop(closed).hub.close()
                bridge = _bridges[loop] = cls(loop)
        bridge._last += 1
        bridge._deliver[bridge._last] = deliver
        return bridge, bridge._last

    def has_time(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether work may be done here and now; if not, all who wait for the loop get their turn first."""
        if monotonic() < self._until:
            return True
        if not self._renewing:
            self._renewing = True
            loop.call_soon(self._renew)
        return False

    def _renew(self) -> None:
        self._renewing = False
        self._until = monotonic() + _SLICE

    def leave(self, key: int) -> None:
        """Nothing is delivered under `key` any more."""
        if self._deliver.pop(key, None) is None or self._deliver or self._ending:
            return
        self._ending = True
        loop = self._loop()
        if loop is not None and loop.is_running():
            # A run that begins right after this one finds all of it still there.
            loop.call_soon(self._end)
        else:
            self._end()

    def _end(self) -> None:
        """Closes what no run uses."""
        self._ending = False
        if self._deliver:
            return
        loop = self._loop()
        if loop is not None:
            with _lock:
                if _bridges.get(loop) is self:
                    del _bridges[loop]
            if not loop.is_closed():
                with contextlib.suppress(OSError, ValueError, RuntimeError):
                    loop.remove_reader(self._fileno)
        self.hub.close()

    def _drain(self) -> None:
        self._until = monotonic() + _SLICE
        deliver = self._deliver
        for key, item in self.hub.drain():
            take = deliver.get(key)
            if take is not None:
                take(item)


_lock = threading.Lock()
_bridges: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Bridge] = weakref.WeakKeyDictionary()
