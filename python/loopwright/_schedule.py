"""Consolidation of memory that comes round by itself, in a thread of its own."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ._user_code import RAISED
from .errors import UsageError

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._memory_types import Consolidated
    from .memory import Memory


class Schedule:
    """Consolidation that comes round by itself. It never ends the program by failing: `error` says what went wrong."""

    def __init__(self, memory: Memory, every: float, repeats: int) -> None:
        if not every > 0:
            raise UsageError("every is a number of seconds above zero", "invalid_value", "give seconds, say every=3600")
        self.every = every
        self.runs = 0
        self.last: Consolidated | None = None
        """What was done last."""
        self.error: BaseException | None = None
        """What went wrong last time, if something did."""
        self._memory = memory
        self._repeats = repeats
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._work, name="loopwright-memory", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        import time

        while True:
            try:
                last = self._memory._core.consolidated_at()
                wait = 0.0 if last is None else max(0.0, last + self.every - time.time())
            except Exception as error:  # noqa: BLE001  (kept for who looks)
                self.error, wait = error, self.every
            if self._end.wait(min(wait, self.every)):
                return
            try:
                self.last, self.error = self._memory.consolidate(repeats=self._repeats), None
                self.runs += 1
            except RAISED as error:
                self.error = error
                if self._end.wait(self.every):
                    return

    def stop(self, timeout: float = 5.0) -> None:
        """Ends it; what is under way is waited for."""
        self._end.set()
        self._thread.join(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
