"""An event loop for what is awaited where the caller has none."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Any

from loopwright._awaited import OURS, awaited
from loopwright._effects import Raised, Within
from loopwright._threads import drop
from loopwright._user_code import closes

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

    def start(self, effect: Any, name: str, done: Callable[[Any], None]) -> Callable[[], None]:
        """Awaits something in a task of this name; `done` hears there what it gave. Gives what cancels it."""
        tasks: list[asyncio.Task[Any]] = []

        def begin() -> None:
            tasks.append(self.loop.create_task(_heard(effect), name=name))
            tasks[0].add_done_callback(over)

        def over(task: asyncio.Task[Any]) -> None:
            if task.cancelled():
                # Before its first step.
                drop(effect.effect if type(effect) is Within else effect)
                done(Raised(asyncio.CancelledError()))
            else:
                done(task.result())

        def cancel() -> None:
            tasks[0].cancel()

        def cancel_soon() -> None:
            # What is closed has cancelled all.
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(cancel)

        self.loop.call_soon_threadsafe(begin)
        return cancel_soon

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(GRACE)


async def _heard(effect: Any) -> Any:
    try:
        return await (awaited(effect) if type(effect) in OURS else effect)
    except BaseException as error:
        if closes(error):
            raise
        return Raised(error)
