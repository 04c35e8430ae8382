"""Carrying out what generators of ours ask for, in an event loop."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from ._effects import Again, Beside, Raised, Within
from ._threads import drop
from ._user_code import closes

if TYPE_CHECKING:
    from ._effects import Work

__all__ = ["OURS", "awaited", "carried"]

OURS = frozenset({Again, Beside, Within})
"""Effects that are no awaitables themselves."""


async def awaited(effect: Any) -> Any:
    """What is sent for an effect. Whoever waits for it may be cancelled, and only that is raised here."""
    if type(effect) is Within:
        return await _in_time(effect)
    if type(effect) is Again:
        return await asyncio.sleep(0)
    return await _beside(effect)


def _beside(effect: Beside) -> asyncio.Future[Any]:
    loop = asyncio.get_running_loop()
    given: asyncio.Future[Any] = loop.create_future()

    def done(sent: Any) -> None:
        # Without a loop there is nobody left who could hear.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, given, sent)

    effect.begin(done)
    return given


def _settle(given: asyncio.Future[Any], sent: Any) -> None:
    if given.done():
        drop(sent)
    else:
        given.set_result(sent)


def _lapse(given: asyncio.Future[Any], limit: Within) -> None:
    if not given.done():
        given.set_result(limit.lapse())


async def _in_time(limit: Within) -> Any:
    """Not `asyncio.wait_for`: that waits for ever on what swallows its cancellation."""
    effect = limit.effect
    if type(effect) is Beside:
        given = _beside(effect)
        # Not `asyncio.wait`, which costs as much as the way to the thread and back.
        lapse = given.get_loop().call_later(limit.seconds, _lapse, given, limit)
        try:
            return await given
        finally:
            lapse.cancel()
    task = asyncio.ensure_future(effect)
    try:
        await asyncio.wait({task}, timeout=limit.seconds)
        if not task.done():
            return limit.lapse()
        if task.cancelled():
            return Raised(asyncio.CancelledError("it was cancelled, and not by the run"))
        error = task.exception()
        return task.result() if error is None else Raised(error)
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(_forget)


def _forget(task: asyncio.Future[Any]) -> None:
    """Nobody asks what became of it."""
    if not task.cancelled():
        task.exception()


async def carried(work: Work) -> Any:
    """What a generator of ours returns, carried out in the caller's own task."""
    sent = None
    try:
        while True:
            try:
                effect = work.send(sent)
            except StopIteration as ended:
                return ended.value
            try:
                sent = await (awaited(effect) if type(effect) in OURS else effect)
            except asyncio.CancelledError:
                raise
            except BaseException as error:
                if closes(error):
                    raise
                sent = Raised(error)
    finally:
        work.close()
