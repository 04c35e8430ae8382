"""`McpServer`: the tools, prompts and resources of a server, as a toolset of an agent."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from loopwright.errors import LoopwrightError
from loopwright.tools._offered import changed, gone
from loopwright.tools._sets import Toolset

from ._installed import McpError
from ._loop import OPEN, carried_out, carried_out_sync

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from loopwright.messages import Message
    from loopwright.tools import Context
    from loopwright.tools._declared import DeclaredTool

    from ._connection import Connection
    from ._definitions import Rules

__all__ = ["McpServer"]

_BROKEN = frozenset({"closed", "refused", "unreachable", "too_large"})
_CLOSING = 8.0


class Room:
    """How much progress of a call is told: a burst, and then so much a second. A server may flood."""

    _BURST, _A_SECOND = 50.0, 10.0

    def __init__(self) -> None:
        self._left, self._at = self._BURST, time.monotonic()

    def taken(self) -> bool:
        """Whether one more may be told."""
        now = time.monotonic()
        self._left, self._at = min(self._BURST, self._left + (now - self._at) * self._A_SECOND), now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class McpServer(Toolset):
    """A server of tools; `loopwright.mcp.http` and `loopwright.mcp.stdio` make one.

    Nothing is contacted until a run begins. The connection then stays for later runs, of any thread and any event loop,
    until `aclose` or `close`, or the process ends. One that broke is opened anew by the next call.
    """

    def __init__(
        self,
        name: str,
        where: str,
        way: Callable[[Any], Any],
        rules: Rules,
        *,
        era: str | None,
        connect_timeout: float,
        required: bool,
    ) -> None:
        self.name, self.required = name, required
        self._where, self._way, self._rules, self._era = where, way, rules, era
        self._connect_timeout = connect_timeout
        self._connection: Connection | None = None
        self._lock: asyncio.Lock | None = None
        self._listing: asyncio.Lock | None = None
        self._tools: list[DeclaredTool] | None = None
        self._digests: dict[str, str] = {}
        self._holds_until: float | None = None
        # What each tool was when it was listed first, and which have been another one since.
        self._first: dict[str, str] = {}
        self._changed: set[str] = set()

    def __repr__(self) -> str:
        return f"<McpServer {self.name!r} at {self._where}>"

    # ---- for agents ----

    async def tools(self) -> Sequence[DeclaredTool]:
        """Its tools by name: listed once for a connection, and again when the server says that they changed or their
        time is up. Raises `McpError` where it can't be reached.
        """
        return await carried_out(self._listed())

    async def aclose(self) -> None:
        """Ends the connection, and the program behind it."""
        await carried_out(self._hang_up())

    def close(self) -> None:
        """`aclose` without asyncio."""
        carried_out_sync(self._hang_up(), _CLOSING)

    # ---- for programs ----

    async def prompts(self) -> list[str]:
        """The names of its prompts. Raises `McpError`."""
        found = await carried_out(self._with_client(lambda client: client.list_prompts()))
        return sorted(each.name for each in found.prompts)

    async def prompt(self, name: str, **arguments: str) -> list[Message]:
        """A prompt, as messages to begin a run with: `agent.run(..., messages=await server.prompt("review"))`.

        It is text of the server's author: look at it before a model does. Raises `McpError`.
        """
        from loopwright.messages import Message

        from ._results import shown

        found = await carried_out(self._with_client(lambda client: client.get_prompt(name, arguments)))
        made = {"user": Message.user, "assistant": Message.assistant}
        return [made[each.role](getattr(shown(each.content), "text", "[a picture]")) for each in found.messages]

    async def resources(self) -> list[str]:
        """The addresses of its resources. Raises `McpError`."""
        found = await carried_out(self._with_client(lambda client: client.list_resources()))
        return sorted(str(each.uri) for each in found.resources)

    async def read(self, uri: str) -> str:
        """The text of a resource. Raises `McpError`."""
        from ._results import text_of

        found = await carried_out(self._with_client(lambda client: client.read_resource(uri)))
        return text_of(found.contents)

    def source(self, *uris: str) -> Callable[[str], Awaitable[list[dict[str, str]]]]:
        """A source for `Grounded`: the texts of these resources, or of all that the server lists.

        ::

            answer = await Grounded("openai:gpt-5", sources=[server.source("docs://handbook")]).run("Who may sign?")
        """

        async def resources(_: str) -> list[dict[str, str]]:
            wanted = uris or await self.resources()
            texts = await asyncio.gather(*(self.read(uri) for uri in wanted))
            return [{"id": uri, "text": text} for uri, text in zip(wanted, texts, strict=True) if text]

        resources.__name__ = self.name
        return resources

    # ---- in the loop of the connections ----

    async def _connected(self) -> Connection:
        from ._connection import Connection

        if self._lock is None:
            self._lock = asyncio.Lock()
        async with self._lock:
            there = self._connection
            if there is not None and there.open:
                return there
            if there is not None:
                await self._drop(there)
            connection = Connection(self.name, self._way, self._era, self._connect_timeout, self._rules.timeout)
            await connection.opened()
            self._connection, self._tools = connection, None
            OPEN.add(self)
            return connection

    async def _drop(self, connection: Connection) -> None:
        if self._connection is connection:
            self._connection = None
            OPEN.discard(self)
        await connection.close()

    def _forget(self) -> object:
        """What a forked process leaves to its parent: the connection."""
        left = self._connection, self._lock, self._listing
        self._connection = self._lock = self._listing = self._tools = None
        return left

    async def _hang_up(self) -> None:
        if self._connection is not None:
            await self._drop(self._connection)

    async def _with_client(self, ask: Callable[[Any], Awaitable[Any]]) -> Any:
        connection = await self._connected()
        return await self._told(connection, ask(connection.client), self._rules.timeout)

    async def _told(self, connection: Connection, answer: Awaitable[Any], seconds: float) -> Any:
        """What the server answers within a time. Raises `McpError`; a connection that broke is let go."""
        try:
            return await asyncio.wait_for(answer, seconds)
        except asyncio.CancelledError:
            raise
        except (Exception, asyncio.TimeoutError) as error:
            failure = connection.failure(error)
            if failure.code in _BROKEN or not connection.open:
                await self._drop(connection)
            raise failure from error

    async def _listed(self) -> list[DeclaredTool]:
        await self._newest(await self._connected(), timed=True)
        return list(self._tools or ())

    async def _newest(self, connection: Connection, *, timed: bool) -> None:
        """Lists the tools where that is due; of those who want it at once, one does."""
        if self._listing is None:
            self._listing = asyncio.Lock()
        async with self._listing:
            over = timed and self._holds_until is not None and time.monotonic() >= self._holds_until
            if self._tools is None or connection.stale or over:
                await self._list(connection)

    async def _list(self, connection: Connection) -> None:
        from ._definitions import digest_of, tools_of

        listed, holds = await self._told(connection, connection.list_tools(), self._connect_timeout)
        self._holds_until = None if holds is None else time.monotonic() + holds
        before = {(tool.name, tool.__dict__["_digest"]): tool for tool in self._tools or ()}
        digests: dict[str, str] = {}
        for each in listed:
            digests.setdefault(each.name, digest_of(each))
        found = tools_of(self.name, listed, self._rules, self._was_another, self._served)
        self._digests = digests
        for tool in found:
            tool.__dict__["_digest"] = (tool.description, str(tool.schema), tool.risk)
        self._tools = [before.get((tool.name, tool.__dict__["_digest"]), tool) for tool in found]

    def _was_another(self, name: str, digest: str) -> bool:
        if self._first.setdefault(name, digest) != digest:
            self._changed.add(name)
        return name in self._changed

    def _served(self, name: str, digest: str) -> Callable[[dict[str, Any], Context[Any]], Awaitable[Any]]:
        async def serve(arguments: dict[str, Any], context: Context[Any]) -> Any:
            loop = asyncio.get_running_loop()
            return await carried_out(self._call(name, digest, arguments, context, loop))

        return serve

    async def _call(
        self,
        name: str,
        digest: str,
        arguments: dict[str, Any],
        context: Context[Any],
        loop: asyncio.AbstractEventLoop,
    ) -> Any:
        from ._connection import CALL, Waiting
        from ._results import plain, result_of

        connection = await self._connected()
        await self._newest(connection, timed=False)
        if name not in self._digests:
            raise gone(name)
        if self._digests[name] != digest:
            raise changed(name)

        room = Room()

        async def told(progress: float, total: float | None, message: str | None) -> None:
            if room.taken():
                of = f"{progress:g} of {total:g}" if total is not None else f"{progress:g}"
                context.emit(f"{of}: {plain(message)}" if message else of)

        waiting = Waiting(context, loop)
        connection.waiting.append(waiting)
        CALL.set(waiting)
        try:
            call = connection.client.call_tool(name, arguments, progress_callback=told)
            # The engine minds the time of a call.
            result = await self._told(connection, call, self._rules.timeout + 1.0)
        finally:
            connection.waiting.remove(waiting)
        try:
            return result_of(name, result)
        except LoopwrightError:
            raise
        except Exception as error:
            message = f"the server {self.name!r} gave what can't be read: {type(error).__name__}"
            raise McpError(message, "malformed", "the server is at fault: tell whoever runs it") from error
