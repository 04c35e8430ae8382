"""One connection to a server: a task that holds it open until it is told to end."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from typing import TYPE_CHECKING, Any

import mcp_types
from mcp import Client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from loopwright._core import __version__

from ._installed import McpError, failure_of
from ._pipes import Words
from ._questions import answered

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopwright.tools import Context

__all__ = ["CALL", "Connection", "Waiting"]

_MOST_PAGES = 100
_MOST_TOOLS = 512
_CLOSING = 6.0


CALL: contextvars.ContextVar[Waiting | None] = contextvars.ContextVar("loopwright mcp call", default=None)
"""The call that what runs now is a part of."""


class Waiting:
    """A call that waits for its server, and the loop of whoever made it."""

    def __init__(self, context: Context[Any], loop: asyncio.AbstractEventLoop) -> None:
        self.context, self.loop = context, loop


class Connection:
    """A client of the official package, in the loop of the connections."""

    def __init__(
        self, server: str, way: Callable[[Words], Any], era: str | None, seconds: float, patience: float
    ) -> None:
        self.server, self.era, self.seconds, self.patience = server, era, seconds, patience
        self.words = Words()
        self.stale = False
        self.waiting: list[Waiting] = []
        self._ending = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.client = Client(
            way(self.words),
            mode="legacy" if era == "2025-11-25" else "auto",
            elicitation_callback=self._asked,
            message_handler=self._heard,
            client_info=mcp_types.Implementation(name="loopwright", version=__version__),
            cache=None,
        )
        self._task = asyncio.ensure_future(self._live())

    async def opened(self) -> None:
        """Waits until it is open. Raises `McpError`."""
        try:
            await asyncio.wait_for(asyncio.shield(self._ready), self.seconds)
        except asyncio.CancelledError:
            self._task.cancel()
            raise
        except (Exception, asyncio.TimeoutError) as error:  # noqa: BLE001 - all of it is told in our words
            await self.close()
            raise self.failure(error) from None

    @property
    def open(self) -> bool:
        """Whether it may still be used."""
        return not self._task.done() and self.words.ended is None

    def failure(self, error: BaseException) -> McpError:
        """What went wrong, in our words."""
        return self.words.ended or failure_of(error, self.server, self.words.last)

    async def close(self) -> None:
        """Ends it, and the program behind it, in a bounded time."""
        self._ending.set()
        if not self._ready.done() or self._ready.cancelled():
            self._task.cancel()
        _, left = await asyncio.wait([self._task], timeout=_CLOSING)
        if left:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=1.0)

    async def _live(self) -> None:
        try:
            async with self.client:
                self._check_era()
                listener = asyncio.ensure_future(self._listen())
                try:
                    if not self._ready.done():
                        self._ready.set_result(None)
                    await self._ending.wait()
                finally:
                    listener.cancel()
                    await asyncio.wait([listener], timeout=1.0)
        except BaseException as error:  # noqa: BLE001 - told to whoever waits; nobody else would hear of it
            if not self._ready.done():
                self._ready.set_exception(_plain(error))
                # Whoever waited may have gone.
                self._ready.exception()

    def _check_era(self) -> None:
        spoken = self.client.protocol_version
        if self.era is not None and self.era != "2025-11-25" and spoken not in MODERN_PROTOCOL_VERSIONS:
            message = f"the server {self.server!r} speaks {spoken}, not {self.era}"
            raise McpError(message, "wrong_era", "leave era= out, or update the server")

    async def _listen(self) -> None:
        """Hears of changed tools, where they are told by subscription."""
        capable = self.client.server_capabilities.tools
        if self.client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not (capable and capable.list_changed):
            return
        with contextlib.suppress(Exception):
            async with self.client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self.stale = True

    async def _heard(self, message: Any) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self.stale = True

    async def _asked(self, context: Any, params: Any) -> Any:  # noqa: ARG002 - as the package calls it
        """A server asks something in a call: the one that this is a part of, or the only one under way.

        Where it can't be told whose call it is nobody is asked: it might be another person's.
        """
        waiting = CALL.get() or (self.waiting[0] if len(self.waiting) == 1 else None)
        if waiting is None:
            return await answered(self.server, None, params, self.patience)
        if waiting.loop.is_closed():
            return mcp_types.ElicitResult(action="cancel")
        question = asyncio.run_coroutine_threadsafe(
            answered(self.server, waiting.context, params, self.patience), waiting.loop
        )
        said = asyncio.wrap_future(question)
        try:
            await asyncio.wait([said])
        except asyncio.CancelledError:
            question.cancel()
            raise
        # Whoever was asked may have gone, and that ends the question alone.
        return mcp_types.ElicitResult(action="cancel") if said.cancelled() else said.result()

    async def list_tools(self) -> tuple[list[Any], float | None]:
        """All tools, and for how many seconds the listing holds, where the server says it. Raises `McpError`."""
        was, self.stale = self.stale, False
        try:
            return await self._list_tools()
        except BaseException:
            self.stale = self.stale or was
            raise

    async def _list_tools(self) -> tuple[list[Any], float | None]:
        if self.client.server_capabilities.tools is None:
            return [], None
        found: list[Any] = []
        cursor: str | None = None
        holds: float | None = None
        for _ in range(_MOST_PAGES):
            page = await self.client.list_tools(cursor=cursor)
            found += page.tools
            if page.ttl_ms:
                holds = min(page.ttl_ms / 1000, holds or page.ttl_ms / 1000)
            cursor = page.next_cursor
            if cursor is None or len(found) >= _MOST_TOOLS:
                return found[:_MOST_TOOLS], holds
        message = f"the list of tools of the server {self.server!r} does not end"
        raise McpError(message, "too_large", "the server is at fault: tell whoever runs it")


def _plain(error: BaseException) -> Exception:
    return error if isinstance(error, Exception) else ConnectionError(f"{type(error).__name__}: {error}")
