"""Work as tasks of asyncio. They begin at once where they can, else in the next round of the event loop.

A coroutine that waits for nothing is over after its first step. Taken where it is started, that step costs the loop no
round; it is a task's step all the same, with its own context variables and `asyncio.current_task()`.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from loopwright._awaited import OURS, awaited
from loopwright._effects import Raised
from loopwright._user_code import closes

if TYPE_CHECKING:
    import contextvars
    from collections.abc import Callable, Coroutine

    from loopwright._effects import Work

    from ._generator import Driver
    from ._jobs import Job


async def carry(driver: Driver, job: Job, function: Callable[..., Work]) -> None:
    """Work as a task: what it waits for is awaited here."""
    sent = event = None
    job.work = work = function(*job.arguments)
    try:
        while True:
            effect, sent = work.send(sent), None
            try:
                sent = await (awaited(effect) if type(effect) in OURS else effect)
            except BaseException as error:
                if job.dropped or closes(error):
                    raise
                sent = Raised(error)
    except StopIteration as end:
        event = end.value
    except BaseException as error:
        work.close()
        driver.failed(job, error)
        if isinstance(error, asyncio.CancelledError):
            raise
        return
    # Here, where no error is being handled: what follows may raise its own.
    driver.ended(job, event)


def begin_later(
    loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, None], name: str, variables: contextvars.Context
) -> asyncio.Task[None]:
    """A task with a copy of `variables`."""
    return variables.run(loop.create_task, work, name=name)


if sys.version_info >= (3, 12):

    def begin_now(
        loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, None], name: str, variables: contextvars.Context
    ) -> asyncio.Task[None]:
        """The same; its first step is over when this returns, unless the loop makes its tasks in its own way."""
        if loop.get_task_factory() is not None:
            return begin_later(loop, work, name, variables)
        return asyncio.Task(work, loop=loop, name=name, context=variables.copy(), eager_start=True)

else:
    from asyncio.tasks import _enter_task, _leave_task

    def begin_now(
        loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, None], name: str, variables: contextvars.Context
    ) -> asyncio.Task[None]:
        """The same; its first step is over when this returns, unless the loop makes its tasks in its own way."""
        task: asyncio.Task[None]
        plain = type(loop).create_task is asyncio.BaseEventLoop.create_task
        if sys.version_info >= (3, 11) and plain and loop.get_task_factory() is None:
            # As the loop itself would make it, with two calls less.
            task = asyncio.Task(work, loop=loop, name=name, context=variables.copy())
        else:
            task = begin_later(loop, work, name, variables)
        # Before Python 3.12 a task can't be told to begin: its first step stands last in the loop's line.
        line = getattr(loop, "_ready", None)
        last = bool(line) and getattr(getattr(line[-1], "_callback", None), "__self__", None) is task  # type: ignore[index]
        if not last:
            return task
        step: Any = line.pop()  # type: ignore[union-attr]
        outer = asyncio.current_task(loop)
        if outer is None:
            step._run()
            return task
        _leave_task(loop, outer)
        try:
            step._run()
        finally:
            _enter_task(loop, outer)
        return task
