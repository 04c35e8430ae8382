"""Exceptions of user code: models, tools, hooks, sources, approvers.

`GeneratorExit` is among it, though it is no `Exception`: it has a meaning only where a generator or a coroutine is
being closed, and in a function of a person's it is a failure like any other.
"""

from __future__ import annotations

from ._clean_error import for_logs
from .errors import LoopwrightError

RAISED = (Exception, GeneratorExit)
"""What is handled; the rest ends the process."""
_STOPPING = (StopIteration, StopAsyncIteration, GeneratorExit)


def closes(error: BaseException) -> bool:
    """Whether an error that a coroutine of ours has caught means that it is being closed itself: nobody's code raised
    it then, so there is no frame of anybody's in it.
    """
    return isinstance(error, GeneratorExit) and (error.__traceback__ is None or error.__traceback__.tb_next is None)


def stopping(error: BaseException) -> BaseException | None:
    """The exception that means something else to the loops, generators and coroutines that it would pass through;
    Python may have put it into words already. `None` where the error is none.
    """
    if isinstance(error, _STOPPING):
        return error
    cause = error.__cause__ if isinstance(error, RuntimeError) else None
    return cause if isinstance(cause, (StopIteration, StopAsyncIteration)) else None


def log_raised(room: str, what: str, error: BaseException) -> None:
    """Logs what code of somebody else's raised, where a run goes on with no more than its words. Errors of the package
    are such words themselves.
    """
    if not isinstance(error, LoopwrightError):
        import logging

        logging.getLogger(f"loopwright.{room}").warning("%s raised an exception", what, exc_info=for_logs(error))
