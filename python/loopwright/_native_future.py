"""Futures of work that the compiled part does on its own threads, awaited on an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._bridge import Bridge, running_loop

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from ._core import Hub, WebTask

__all__ = ["native_result"]


async def native_result(start: Callable[[Hub, int], WebTask]) -> Any:
    """Starts something with a hub and a key, and gives what arrives under it. Cancelled with the task that waits."""
    arrived: asyncio.Future[Any] = running_loop().create_future()

    def deliver(item: Any) -> None:
        if not arrived.done():
            arrived.set_result(item)

    bridge, key = Bridge.enter(deliver)
    try:
        task = start(bridge.hub, key)
        try:
            item = await arrived
        except BaseException:
            task.abort()
            raise
    finally:
        bridge.leave(key)
    if isinstance(item, BaseException):
        raise item
    return item
