"""A command as a child process that can neither outlive us nor fill our memory.

The child leads a session of its own, or a process group where a fence stands around it, so that all it started can be
ended with it. Of its output the head and the tail are kept while it is read. Our own pipe, instead of asyncio's, lets
us stop waiting for a grandchild that keeps the other end open.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loopwright import _core

__all__ = ["Finished", "run"]

_CHUNK = 64 * 1024
_GRACE = 0.5
_LAST_WORDS = 0.1


class Finished:
    """How a command ended, and what it wrote."""

    __slots__ = ("head", "returncode", "seconds", "stopped", "tail", "total")

    def __init__(self, *, returncode: int | None, output: _Kept, seconds: float, stopped: str | None) -> None:
        self.returncode = returncode
        self.head = bytes(output.head)
        self.tail = bytes(output.tail)
        self.total = output.total
        self.seconds = seconds
        self.stopped = stopped
        """Why we ended it: "timeout", "output", or `None` if it ended by itself."""

    @property
    def left_out(self) -> int:
        """Bytes between head and tail that are gone."""
        return self.total - len(self.head) - len(self.tail)


class _Kept:
    """The first and the last bytes of a stream."""

    def __init__(self, keep: int) -> None:
        self.head = bytearray()
        self.tail = bytearray()
        self.total = 0
        self._head = keep - keep // 2
        self._tail = keep // 2

    def add(self, chunk: bytes) -> None:
        self.total += len(chunk)
        room = self._head - len(self.head)
        if room > 0:
            self.head += chunk[:room]
            chunk = chunk[room:]
        if chunk:
            self.tail += chunk
            if len(self.tail) > self._tail:
                del self.tail[: len(self.tail) - self._tail]


async def run(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str] | None,
    timeout: float,
    keep: int,
    most: int,
    fence: _core.Fence | None = None,
) -> Finished:
    """Run `argv` for at most `timeout` seconds and `most` bytes of output, of which about `keep` are kept.

    A `fence` has variables of its own, and `env` is not looked at.

    Whatever happens, cancellation included, nothing of its process group is left.
    """
    loop = asyncio.get_running_loop()
    began = time.monotonic()
    if fence is not None:
        pid, reading = fence.spawn(argv, cwd)
        exited = _ended(pid, loop)
    else:
        pid, reading, exited = await _start(argv, cwd, env)
    os.set_blocking(reading, False)

    output = _Kept(keep)
    ended: asyncio.Future[None] = loop.create_future()
    flooded: asyncio.Future[None] = loop.create_future()

    def readable() -> None:
        try:
            chunk = os.read(reading, _CHUNK)
        except BlockingIOError:
            return
        if not chunk:
            loop.remove_reader(reading)
            _settle(ended)
            return
        output.add(chunk)
        if output.total > most:
            _settle(flooded)

    loop.add_reader(reading, readable)
    stopped: str | None = None
    try:
        both: set[asyncio.Future[Any]] = {exited, flooded}
        done, _ = await asyncio.wait(both, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if exited not in done:
            stopped = "output" if flooded in done else "timeout"
            _signal(pid, signal.SIGTERM)
            await asyncio.wait({exited}, timeout=_GRACE)
        else:
            await asyncio.wait({ended}, timeout=_LAST_WORDS)
    finally:
        # What it left in the background ends with it.
        _signal(pid, signal.SIGKILL)
        try:
            await asyncio.wait({exited}, timeout=5)
            if not ended.done():
                await asyncio.wait({ended}, timeout=_LAST_WORDS)
        finally:
            loop.remove_reader(reading)
            os.close(reading)
            if not exited.done():
                exited.cancel()
            ended.cancel()
            flooded.cancel()
    code = exited.result() if exited.done() and not exited.cancelled() else None
    return Finished(returncode=code, output=output, seconds=time.monotonic() - began, stopped=stopped)


async def _start(
    argv: Sequence[str], cwd: str, env: Mapping[str, str] | None
) -> tuple[int, int, asyncio.Future[int | None]]:
    """Starts a command without a fence: its process, the end of a pipe with its output, and when it ends."""
    reading, writing = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=writing,
            stderr=asyncio.subprocess.STDOUT,
            cwd=cwd,
            env=None if env is None else dict(env),
            start_new_session=True,
        )
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    return process.pid, reading, asyncio.ensure_future(process.wait())


def _ended(pid: int, loop: asyncio.AbstractEventLoop) -> asyncio.Future[int | None]:
    """When a child of ours ends, and how: `None` where somebody else has asked the system first."""
    future: asyncio.Future[int | None] = loop.create_future()

    def settle(code: int | None) -> None:
        if not future.done():
            future.set_result(code)

    def wait() -> None:
        try:
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        except ChildProcessError:
            code = None
        # The loop may be closed: nobody waits any more.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, code)

    threading.Thread(target=wait, name=f"waits for {pid}", daemon=True).start()
    return future


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _signal(group: int, number: signal.Signals) -> None:
    # The group's number stays taken as long as one of its processes lives; when all are gone there is nobody to hit.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
