"""The way to a server over HTTP: the official package's transport, over a client that reads no more than a bound."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from ._installed import McpError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping

    from ._pipes import Words

__all__ = ["web"]


class _Bounded(httpx2.AsyncByteStream):
    """A body that fails where it grows beyond the bound."""

    def __init__(self, inner: Any, largest: int, words: Words) -> None:
        self._inner, self._left, self._largest, self._words = inner, largest, largest, words

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            self._left -= len(chunk)
            if self._left < 0:
                message = f"the server sent a message of more than {self._largest:,} bytes"
                # The transport tells only that the connection ended.
                self._words.ended = McpError(message, "too_large", "ask for less at once")
                raise self._words.ended
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


@asynccontextmanager
async def web(
    url: str,
    headers: Mapping[str, str] | Callable[[], Mapping[str, str]],
    auth: Any,
    largest: int,
    connect_timeout: float,
    words: Words,
) -> AsyncGenerator[Any, None]:
    """A transport for `mcp.Client`. Headers that a function gives are asked for before each request."""

    async def add_headers(request: httpx2.Request) -> None:
        request.headers.update(headers() if callable(headers) else headers)

    async def bound(response: httpx2.Response) -> None:
        # The package bounds each event of a stream itself.
        if "text/event-stream" not in response.headers.get("content-type", ""):
            response.stream = _Bounded(response.stream, largest, words)

    client = httpx2.AsyncClient(
        auth=auth,
        timeout=httpx2.Timeout(connect_timeout, read=300.0),
        event_hooks={"request": [add_headers], "response": [bound]},
    )
    async with (
        client,
        streamable_http_client(url, http_client=client, max_sse_event_size=largest) as streams,
    ):
        yield streams
