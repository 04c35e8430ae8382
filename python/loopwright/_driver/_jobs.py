"""Work that a run has under way, and how its tasks begin: at once where they can, else in the next round of the loop.

A coroutine that waits for nothing is over after its first step. Taken where it is started, that step costs the loop no
round; it is a task's step all the same, with its own context variables and `asyncio.current_task()`.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from loopwright._threads import drop
from loopwright.errors import InternalError

if TYPE_CHECKING:
    import contextvars
    from collections.abc import Callable, Coroutine

    from loopwright._effects import Work
    from loopwright.tools._context import CancelFlag


class Job:
    """Work for a command: a generator, what it waits for, and what tells a tool that nobody waits for it any more."""

    __slots__ = (
        "arguments",
        "command_id",
        "dropped",
        "flag",
        "function",
        "now",
        "stop",
        "task",
        "waits",
        "what",
        "work",
    )

    def __init__(
        self,
        command_id: int,
        what: str,
        function: Callable[..., Work],
        arguments: tuple[Any, ...],
        flag: CancelFlag | None,
        *,
        now: bool,
    ) -> None:
        self.command_id = command_id
        self.what = what
        self.function = function
        self.arguments = arguments
        self.flag = flag
        # Whether it may be over at once.
        self.now = now
        # Nobody waits for it any more.
        self.dropped = False
        # Once it has begun.
        self.work: Work | None = None
        # Its task where it has one; not yet while that takes its first step.
        self.task: asyncio.Task[None] | None = None
        # Names what it waits for elsewhere, and stops that.
        self.waits: object = None
        self.stop: Callable[[], None] | None = None

    def close(self) -> None:
        """It goes on no more; a coroutine that it was to await would complain that nobody did."""
        if self.work is not None:
            self.work.close()
        else:
            for each in self.arguments:
                drop(each)


def cancelled_from_outside(error: BaseException) -> BaseException:
    """What breaks a run off whose work has failed so: it can't know what became of work that was cancelled."""
    if isinstance(error, asyncio.CancelledError):
        return InternalError("a task of the run was cancelled from outside")
    return error


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
