"""A command as a child process that can neither outlive us nor fill our memory.

The child leads a session of its own, so that all it started can be ended with it. Of its output the head and the tail
are kept while it is read. Our own pipe, instead of asyncio's, lets us stop waiting for a grandchild that keeps the
other end open.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


async def run(  # noqa: PLR0915 - one life, from birth to burial
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str] | None,
    timeout: float,
    keep: int,
    most: int,
) -> Finished:
    """Run `argv` for at most `timeout` seconds and `most` bytes of output, of which about `keep` are kept.

    Whatever happens, cancellation included, nothing of its process group is left.
    """
    loop = asyncio.get_running_loop()
    began = time.monotonic()
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
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
    exited: asyncio.Future[int] = asyncio.ensure_future(process.wait())
    stopped: str | None = None
    try:
        both: set[asyncio.Future[Any]] = {exited, flooded}
        done, _ = await asyncio.wait(both, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if exited not in done:
            stopped = "output" if flooded in done else "timeout"
            _signal(process.pid, signal.SIGTERM)
            await asyncio.wait({exited}, timeout=_GRACE)
        else:
            await asyncio.wait({ended}, timeout=_LAST_WORDS)
    finally:
        # What it left in the background ends with it.
        _signal(process.pid, signal.SIGKILL)
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
    return Finished(returncode=process.returncode, output=output, seconds=time.monotonic() - began, stopped=stopped)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _signal(group: int, number: signal.Signals) -> None:
    # The group's number stays taken as long as one of its processes lives; when all are gone there is nobody to hit.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
