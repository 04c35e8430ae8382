"""The event loop that all connections live in, in a thread of its own.

A connection outlasts the run that opened it, and runs come from any event loop or none. So connections belong to no
caller's loop: what they do is handed over, and whoever waits for it may be cancelled.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from ._server import McpServer

__all__ = ["OPEN", "carried_out", "carried_out_sync"]

_Given = TypeVar("_Given")
_GRACE = 6.0
"""Seconds that the end of the process waits for servers to end."""
_locks = [threading.Lock()]
_loops: dict[int, asyncio.AbstractEventLoop] = {}

OPEN: weakref.WeakSet[McpServer] = weakref.WeakSet()
"""Servers with a connection."""


def _loop() -> asyncio.AbstractEventLoop:
    with _locks[0]:
        # A process that was forked has the loop, and not its thread.
        loop = _loops.get(os.getpid())
        if loop is None:
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            thread = threading.Thread(target=_work, args=(loop,), name="loopwright mcp", daemon=True)
            thread.start()
            atexit.register(_end, os.getpid(), loop, thread)
        return loop


def _work(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()


_left_behind: list[object] = []


def _in_child() -> None:
    """A forked process has the connections, and not the loop that they live in: it opens its own. The parent's stay
    open, so nothing of them is closed here.
    """
    _locks[0] = threading.Lock()
    _left_behind.extend([server._forget() for server in list(OPEN)])
    OPEN.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


async def carried_out(work: Coroutine[Any, Any, _Given]) -> _Given:
    """What `work` gives, in the loop of the connections. Cancelling it here cancels it there."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, _loop()))


def carried_out_sync(work: Coroutine[Any, Any, _Given], timeout: float | None = None) -> _Given:
    """The same for a caller without an event loop."""
    return asyncio.run_coroutine_threadsafe(work, _loop()).result(timeout)


def _end(process: int, loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    """The process ends: so do the servers that it started."""
    if process != os.getpid():
        return

    async def close() -> None:
        await asyncio.wait_for(asyncio.gather(*(each._hang_up() for each in list(OPEN))), _GRACE)

    with contextlib.suppress(Exception):
        asyncio.run_coroutine_threadsafe(close(), loop).result(_GRACE)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(1.0)
    if not loop.is_running():
        loop.close()
