"""Ctrl-C: the first ends the run after this round, the second at once, the third the program.

Where a run is one answer of many (`at_once`), the first ends it at once, and the second breaks it off.
"""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING, Any

from loopwright.signal import Signal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .screen import Screen

__all__ = ["interruptible"]


@contextlib.contextmanager
def interruptible(screen: Screen, *, at_once: bool = False) -> Iterator[Signal]:
    """A signal for a run; Ctrl-C gives it while this lasts."""
    stop = Signal()
    presses = 0

    def pressed(_number: int, _frame: Any) -> None:
        nonlocal presses
        presses += 1
        if presses == 1 and not at_once:
            screen.say("Stopping after this round. Ctrl-C again stops at once.")
            stop.interrupt()
        else:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            stop.cancel()

    try:
        before = signal.signal(signal.SIGINT, pressed)
    except ValueError:
        yield stop
        return
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
