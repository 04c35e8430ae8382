"""Agents of pydantic-ai over our models, tools and histories both ways: `pip install 'loopwright[pydantic-ai]'`.

::

    from pydantic_ai import Agent
    from loopwright.adapters.pydantic_ai import LoopwrightModel

    agent = Agent(LoopwrightModel("anthropic:claude-sonnet-4-5"))

Attempts, fallback models, torn streams and broken arguments are the engine's; all else is pydantic-ai's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._context import Compaction, ExtractedCalls, StuckDetection
    from ._messages import from_messages, to_messages
    from ._model import LoopwrightModel
    from ._tools import LoopwrightToolset, from_toolset

__all__ = [
    "Compaction",
    "ExtractedCalls",
    "LoopwrightModel",
    "LoopwrightToolset",
    "StuckDetection",
    "from_messages",
    "from_toolset",
    "to_messages",
]

_HOMES = {
    "ExtractedCalls": "_context",
    "LoopwrightModel": "_model",
    "LoopwrightToolset": "_tools",
    "Compaction": "_context",
    "from_messages": "_messages",
    "from_toolset": "_tools",
    "StuckDetection": "_context",
    "to_messages": "_messages",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        from importlib import import_module

        from loopwright._extras import need

        need("pydantic-ai-slim", __name__, extra="pydantic-ai", oldest="2.30", below="3")
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
