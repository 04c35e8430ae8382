"""Calls about which a person is asked because a function says so, whatever the guard says of them.

What it said is an event of the run, as the answer of a hook; a replay does not ask it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from loopwright._user_code import RAISED, log_raised
from loopwright.hooks import Hook
from loopwright.hooks._answers import Ask

from ._context import RunContext
from ._offered import wants_asking

if TYPE_CHECKING:
    from loopwright.hooks import HookContext

    from ._tool import Tool

__all__ = ["asking_about"]

_LONGEST = 30.0
"""Seconds that whoever says it has; then a person is asked."""


def asking_about(tool: Tool[..., Any, Any]) -> Hook:
    """Who says whether a person is asked about a call of a tool; about one of which nobody says it in time one is."""

    async def asks(context: HookContext) -> Ask | None:
        call: Any = context.subject
        run = RunContext(context.deps, run_id=context.run_id, call_id=call.call_id, round=max(0, context.round - 1))
        try:
            wanted = await asyncio.wait_for(wants_asking(tool, run, call), _LONGEST)
        except asyncio.TimeoutError:
            return Ask("whether it needs a person was not said in time")
        except RAISED as error:
            log_raised("tool", f"who says whether calls of {tool.name} are asked about", error)
            return Ask("whether it needs a person could not be found out")
        return Ask("this call is for a person to decide") if wanted else None

    return Hook("pre_tool", asks, timeout=2 * _LONGEST, on_error="stop", name="asking")
