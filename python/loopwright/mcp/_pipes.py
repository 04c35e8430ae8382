"""The way to a server that is a program: its pipes, with a bound on what one message may hold.

The official package's own transport keeps a line until it ends, however long. Here a line beyond the bound ends the
connection, the last of what the program writes to stderr is kept for errors, and the program never outlives it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from loopwright._core import without_own_keys
from loopwright.guard import redact

from ._installed import McpError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence

__all__ = ["Words", "pipes"]

_FLUSH = 0.5
_EXIT = 2.0
_KILLED = 1.0
_KEPT = 2_000
_SECRET = 8
"""Signs of the shortest value that is hidden."""


class Words:
    """The last that a program wrote to stderr, and why its connection ended."""

    def __init__(self) -> None:
        self._bytes = b""
        self._secrets: list[str] = []
        self.ended: McpError | None = None

    def hide(self, values: Iterable[str]) -> None:
        """Values that are told to nobody: what the program was given in its environment may be keys."""
        self._secrets += [each for each in values if len(each) >= _SECRET]

    def add(self, more: bytes) -> None:
        """More of them."""
        self._bytes = (self._bytes + more)[-_KEPT:]

    @property
    def last(self) -> str:
        """The last line that says something, without keys."""
        lines = [line.strip() for line in self._bytes.decode(errors="replace").splitlines() if line.strip()]
        said = redact(without_own_keys(lines[-1])) if lines else ""
        for secret in self._secrets:
            said = said.replace(secret, "[redacted]")
        return said[:300]


@asynccontextmanager
async def pipes(
    command: Sequence[str],
    environment: Mapping[str, str] | None,
    folder: str | None,
    largest: int,
    words: Words,
) -> AsyncGenerator[Any, None]:
    """A transport for `mcp.Client`. The program sees `environment` and the few variables that are safe to inherit."""
    words.hide((environment or {}).values())
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**get_default_environment(), **(environment or {})},
        cwd=folder,
        limit=largest,
        start_new_session=os.name != "nt",
    )
    to_session, from_program = anyio.create_memory_object_stream[Any](0)
    to_program, from_session = anyio.create_memory_object_stream[Any](0)
    tasks = [
        asyncio.ensure_future(_read(process, to_session, largest, words)),
        asyncio.ensure_future(_write(process, from_session, to_session)),
        asyncio.ensure_future(_listen(process, words)),
    ]
    try:
        yield from_program, to_program
    finally:
        to_program.close()
        from_program.close()
        try:
            with anyio.CancelScope(shield=True):
                await asyncio.wait([tasks[1]], timeout=_FLUSH)
                await _end(process)
        finally:
            _kill(process, signal.SIGKILL if os.name != "nt" else signal.SIGTERM)
            for task in tasks:
                task.cancel()
            # Python closes it only when it is collected, where a descendant holds a pipe.
            transport = getattr(process, "_transport", None)
            if transport is not None:
                transport.close()
            for stream in (to_session, from_session):
                stream.close()


async def _read(process: asyncio.subprocess.Process, to_session: Any, largest: int, words: Words) -> None:
    assert process.stdout is not None, "it has pipes"  # noqa: S101 - a fault of ours
    with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        async with to_session:
            while True:
                try:
                    line = await process.stdout.readline()
                except ValueError:
                    message = f"the server sent a message of more than {largest:,} bytes"
                    words.ended = McpError(message, "too_large", "ask for less at once")
                    return
                if not line:
                    return
                if line.isspace():
                    continue
                try:
                    item: Any = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
                except ValueError as error:
                    item = error
                await to_session.send(item)


async def _write(process: asyncio.subprocess.Process, from_session: Any, to_session: Any) -> None:
    assert process.stdin is not None, "it has pipes"  # noqa: S101 - a fault of ours
    try:
        async for sent in from_session:
            process.stdin.write(sent.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await process.stdin.drain()
    except (OSError, anyio.ClosedResourceError, anyio.BrokenResourceError):
        # The session shall hear of the end, and wait for no answer.
        await to_session.aclose()


async def _listen(process: asyncio.subprocess.Process, words: Words) -> None:
    assert process.stderr is not None, "it has pipes"  # noqa: S101 - a fault of ours
    while more := await process.stderr.read(4096):
        words.add(more)


async def _end(process: asyncio.subprocess.Process) -> None:
    """As the specification has it: close its input, wait, ask it to end, end it."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    if not await _gone(process, _EXIT):
        _kill(process, signal.SIGTERM)
        await _gone(process, _KILLED)


async def _gone(process: asyncio.subprocess.Process, seconds: float) -> bool:
    ends = anyio.current_time() + seconds
    # Not `process.wait`, which waits for whoever inherited the pipes, too.
    while process.returncode is None and anyio.current_time() < ends:  # noqa: ASYNC110
        await anyio.sleep(0.01)
    return process.returncode is not None


def _kill(process: asyncio.subprocess.Process, how: signal.Signals) -> None:
    """The program and all that it started: its group has its number."""
    with contextlib.suppress(OSError):
        if os.name == "nt":
            process.terminate()
        else:
            os.killpg(process.pid, how)
