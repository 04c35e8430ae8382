"""A run with a person at hand: Ctrl-C ends it, and an error that ends it leaves what it had reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopwright.errors import LoopwrightError

from .interrupts import interruptible

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopwright import Result
    from loopwright.run import Signal

    from .screen import Screen

__all__ = ["conduct"]


def conduct(
    screen: Screen, run: Callable[[Signal], Result[Any]], *, one_of_many: bool = False
) -> tuple[Result[Any], LoopwrightError | None]:
    """The result, and the error that ended the run, if one did. An error without a result is raised.

    The screen closes with the run, unless it is one of many: then Ctrl-C ends it at once.
    """
    screen.begin()
    with interruptible(screen, at_once=one_of_many) as stop:
        try:
            return run(stop), None
        except LoopwrightError as error:
            if error.result is None:
                raise
            return error.result, error
        finally:
            screen.drop_draft()
            screen.status(None)
            if not one_of_many:
                screen.close()
