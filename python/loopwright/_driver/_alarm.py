"""The timers of a run, in an event loop: one handle for the first that is due."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

    from ._generator import Driver

_PUNCTUAL = 0.002
"""Seconds that a timer of an event loop may be early."""
_STANDSTILL = 0.02
"""Seconds between two looks at a clock that stands still."""


class Alarm:
    """Rings when the first timer of a run is due."""

    __slots__ = ("at", "handle", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.at: float | None = None
        self.handle: asyncio.TimerHandle | None = None

    def set(self, driver: Driver) -> None:
        """Timers may have come and gone."""
        timers = driver.timers
        at = min(timers.values()) if timers else None
        if at != self.at:
            self.stop()
            if at is not None:
                self._wait(driver, at, 0.0)

    def stop(self) -> None:
        """It does not ring."""
        if self.handle is not None:
            self.handle.cancel()
        self.handle = self.at = None

    def _wait(self, driver: Driver, at: float, least: float) -> None:
        self.at = at
        self.handle = self.loop.call_later(max(least, at - driver.run.now()), self._ring, driver)

    def _ring(self, driver: Driver) -> None:
        at, self.handle, self.at = self.at, None, None
        if not driver.ring(_PUNCTUAL) and at is not None:
            # The clock stood still meanwhile, or does so now.
            self._wait(driver, at, _STANDSTILL)
