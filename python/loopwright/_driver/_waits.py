"""What work waits for where there is no event loop: threads, until when, and a loop beside for what is awaited."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from loopwright._effects import AGAIN, Beside, Within

from ._side import SideLoop

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._jobs import Job


class Waits:
    """Has it done what work waits for."""

    __slots__ = ("_limits", "_side")

    def __init__(self) -> None:
        # Of what is done in threads, by the work that waits for it: until when, and what is to be within that time.
        self._limits: dict[Job, tuple[float, Within]] = {}
        self._side: SideLoop | None = None

    def begin(self, job: Job, effect: Any, name: str, heard: Callable[[Any], None]) -> None:
        """Has something done elsewhere; `heard` is told there what it gave."""
        if effect is AGAIN:
            heard(None)
            return
        inner = effect.effect if type(effect) is Within else effect
        if type(inner) is Beside:
            if inner is not effect:
                self._limits[job] = (time.monotonic() + effect.seconds, effect)
            inner.begin(heard)
            return
        if self._side is None:
            self._side = SideLoop()
        job.stop = self._side.start(effect, name, heard)

    def end(self, job: Job) -> None:
        """Work waits no longer."""
        self._limits.pop(job, None)
        job.waits = job.stop = None

    def stop(self, job: Job) -> None:
        """Nobody wants any more what work waits for."""
        if job.stop is not None:
            job.stop()
        self.end(job)

    def left(self, most: float) -> float:
        """Seconds until the time of something is up; so many at most."""
        if not self._limits:
            return most
        return min(most, *(ends - time.monotonic() for ends, _ in self._limits.values()))

    def lapsed(self) -> list[tuple[Job, Within]]:
        """Work that waits for something whose time is up."""
        if not self._limits:
            return []
        now = time.monotonic()
        return [(job, limit) for job, (ends, limit) in self._limits.items() if ends <= now]

    def close(self) -> None:
        """Ends the loop beside."""
        if self._side is not None:
            self._side.close()
