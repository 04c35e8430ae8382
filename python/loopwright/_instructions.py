"""Instructions that functions give: they are asked before each request, and what they say is an event of the run.

So a journal holds it, and a replay asks nobody.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from .errors import UsageError
from .hooks import Hook, Replace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .hooks import HookContext

__all__ = ["asking", "run_context"]

_LONGEST = 60.0
"""Seconds that all functions of an agent have together."""


def asking(functions: Sequence[Callable[..., Any]]) -> Hook:
    """Who asks the functions: their texts follow the instructions that never change, so that the prompt's cache holds
    up to there. A function takes a `RunContext`, or nothing.
    """
    takes = [_takes_context(function) for function in functions]

    async def instructions(context: HookContext) -> Any:
        if context.path is not None:
            # A sub-agent has its own.
            return None
        run = run_context(context)
        texts: list[str] = [] if context.subject.system is None else [context.subject.system]
        for function, takes_context in zip(functions, takes, strict=True):
            text = function(run) if takes_context else function()
            if inspect.isawaitable(text):
                text = await text
            if text is None:
                continue
            if not isinstance(text, str):
                name = getattr(function, "__name__", type(function).__name__)
                message = f"the instructions of {name} are {type(text).__name__}, not text"
                raise UsageError(message, "invalid_answer", "return text, or None for nothing")
            if text:
                texts.append(text)
        return Replace({"system": "\n\n".join(texts)}) if texts else None

    return Hook("pre_llm", instructions, timeout=_LONGEST, on_error="stop", name="instructions")


def _takes_context(function: Callable[..., Any]) -> bool:
    try:
        return bool(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return True


def run_context(context: HookContext) -> Any:
    """A run as whoever is asked before its next request sees it."""
    from .tools import RunContext

    request = context.subject
    return RunContext(
        context.deps, run_id=context.run_id, round=max(0, context.round - 1), messages=lambda: request.messages
    )
