"""An event loop for async tools where the caller has none."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

from loopwright.errors import InternalError

from ._work import GRACE, given_up

if TYPE_CHECKING:
    from collections.abc import Callable


class SideLoop:
    """An event loop in a thread of its own, for async tools of a run that has no loop. Gone with the run."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._work, name="loopwright async tools", daemon=True)
        self.thread.start()

    def _work(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            tasks = asyncio.all_tasks(self.loop)
            for task in tasks:
                task.cancel()
            if tasks:
                _, left = self.loop.run_until_complete(asyncio.wait(tasks, timeout=GRACE))
                given_up(left)
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()

    def start(self, coroutine: Any, broken: Callable[[BaseException], None]) -> Callable[[], None]:
        """Starts a task; gives what cancels it."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)

        wanted = False

        def cancel() -> None:
            nonlocal wanted
            wanted = True
            future.cancel()

        def done(future: Any) -> None:
            if future.cancelled():
                if not wanted:
                    broken(InternalError("a task of the run was cancelled from outside"))
            elif future.exception() is not None:
                broken(future.exception())

        future.add_done_callback(done)
        return cancel

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(GRACE)
