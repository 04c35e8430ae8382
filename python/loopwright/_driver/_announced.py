"""Work whose announcement a reader has, in an event loop: it begins unless the reader is to leave.

The end of a reader may be asked for while it looks at an event. The loop tells it as soon as it waits: what was to be
called before comes first, and so does a timer that is due.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ._generator import BEGIN
from ._work import cancelling

if TYPE_CHECKING:
    from ._generator import Driver

_TURNS = 3
"""Turns of an event loop within which it has told a task of a deadline that has passed, or of a scope that was left."""


class Announced:
    """Begins work that was announced: at once, after a turn of the loop, or beside a reader who looks at it."""

    __slots__ = ("beside", "in_turn", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.beside: asyncio.Handle | None = None
        # Whether the loop itself has called, and all others have had their turn.
        self.in_turn = False

    def may_begin(self, driver: Driver) -> bool:
        """Whether it begins at once where its reader asks for what comes next; else it begins in a turn of the loop."""
        told = self._may_be_told()
        if self.beside is not None:
            self.beside.cancel()
        if told:
            self.loop.call_at(self.loop.time(), self._begin, driver, driver.told.next_work())
        return not told

    def _may_be_told(self) -> bool:
        """Whether the reader, whose task is running, may be told to end as soon as it waits: it is marked so, or the
        loop has something to call. A loop that does not show what it has may have anything.
        """
        if getattr(asyncio.current_task(), "_must_cancel", True):
            return True
        calls, timers = getattr(self.loop, "_ready", None), getattr(self.loop, "_scheduled", None)
        if calls is None or timers is None or any(not (call is self.beside or call.cancelled()) for call in calls):
            return True
        return bool(timers) and timers[0].when() <= self.loop.time()

    def begin_beside(self, driver: Driver) -> None:
        """Begins it while its reader, whose task is running, looks at the announcement, if that takes longer than the
        loop needs to tell of a cancellation.
        """
        reader = asyncio.current_task()
        self._turn(driver, reader, cancelling(reader), driver.told.next_work(), _TURNS)

    def _turn(self, driver: Driver, reader: asyncio.Task[Any] | None, before: int, command: Any, turns: int) -> None:
        if command is None or driver.told.next_work() is not command:
            return
        if turns:
            self.beside = self.loop.call_soon(self._turn, driver, reader, before, command, turns - 1)
        elif not driver.reading and cancelling(reader) == before:
            self._begin(driver, command)

    def _begin(self, driver: Driver, command: Any) -> None:
        """Begins it, unless it has begun since, or the reader is to leave."""
        if command is None or driver.told.next_work() is not command or driver.told_to_leave():
            return
        self.in_turn = True
        try:
            driver.go(BEGIN)
        finally:
            self.in_turn = False
