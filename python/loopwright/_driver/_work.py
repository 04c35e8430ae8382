"""What drivers need to know of the work of others, and what is left of it that nobody waits for."""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any

from loopwright.errors import LoopwrightError
from loopwright.tools._run import Outcome

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable


GRACE = 5.0
"""Seconds that tools have to end after they were cancelled."""
UNREADABLE = (LoopwrightError, ValueError, RecursionError)
"""What reading the arguments of a call raises where Python can't hold them."""


def unreadable(error: BaseException) -> Outcome:
    """The outcome of a call whose arguments Python can't hold."""
    hint = "call the tool again with shorter numbers"
    return Outcome([], failure={"kind": "invalid_arguments", "message": f"the arguments: {error}", "hint": hint})


def given_up(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Says by name which tasks did not end in time after they were cancelled: nobody waits for them any more."""
    for task in tasks:
        message = "%s has not ended within %g s of being cancelled, and is left to itself"
        logging.getLogger("loopwright.tool").warning(message, task.get_name(), GRACE)


def cancelling(task: asyncio.Task[Any] | None) -> int:
    """How often a task was asked to end; always 0 on Python 3.10, where Ctrl-C is an exception in event loops too."""
    count = getattr(task, "cancelling", None)
    return count() if count is not None else 0


def is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
