"""Runs while they go on, and what is told of them: streams, handles, the signal that stops one, calls, sub-agents.

::

    from loopwright.run import Signal

    signal = Signal()
    await agent.run("Count the files.", signal=signal)      # and elsewhere: signal.interrupt()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._partial import Partial
from ._stream import RunStream
from ._sync_stream import SyncStream
from .children import ChildRun
from .result import ToolCall
from .signal import Signal

if TYPE_CHECKING:
    from .handle import ChildStatus, RunHandle
    from .steps import EndStep, ModelStep, RunIter, ToolStep

__all__ = [
    "ChildRun",
    "ChildStatus",
    "EndStep",
    "ModelStep",
    "Partial",
    "RunHandle",
    "RunIter",
    "RunStream",
    "Signal",
    "SyncStream",
    "ToolCall",
    "ToolStep",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        # Handles and steps need asyncio, which is slow to import.
        if name in ("ChildStatus", "RunHandle"):
            from . import handle

            return getattr(handle, name)
        if name in ("EndStep", "ModelStep", "RunIter", "ToolStep"):
            from . import steps

            return getattr(steps, name)
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
