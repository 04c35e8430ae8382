"""Helpers of the tests of functions around something."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from loopwright import replay, tool
from loopwright.events import Reset, TextDelta
from loopwright.hooks import Hook, HookContext

KINDS = ["sync", "async"]


def around(
    stage: str, kind: str, function: Callable[[HookContext[Any], Callable[..., Any]], Any], **options: Any
) -> Hook:
    """A function around something, plain or async, that says what it does by a plain one.

    That one calls `call_next` and is given what came of it; an async one has a thread for it.
    """
    if kind == "sync":
        return Hook(stage, function, **options)

    async def later(context: HookContext[Any], call_next: Callable[..., Any]) -> Any:
        return await asyncio.to_thread(function, context, call_next)

    return Hook(stage, later, **{"name": function.__name__, **options})


def texts(events: list[Any]) -> list[str]:
    """What was shown, each time anew after a `Reset`."""
    shown = [""]
    for event in events:
        if isinstance(event, Reset):
            shown.append("")
        elif isinstance(event, TextDelta):
            shown[-1] += event.text
    return shown


def identical(result: Any) -> bool:
    assert result.journal is not None
    return replay(result.journal).identical


@tool(read_only=True)
def look(path: str) -> str:
    """Looks."""
    return f"content of {path}"


class Odd:
    """Nothing that has a form."""
