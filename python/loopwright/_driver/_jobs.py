"""Work that a run has under way."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from loopwright._threads import drop
from loopwright.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable

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
