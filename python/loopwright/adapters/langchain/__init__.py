"""LangChain over our models, tools and histories both ways: `pip install 'loopwright[langchain]'`.

::

    from langchain.agents import create_agent
    from loopwright.adapters.langchain import ChatLoopwright

    agent = create_agent(ChatLoopwright(model="anthropic:claude-sonnet-4-5"), tools=[search])

Attempts, fallback models, torn streams and broken arguments are the engine's; all else is LangChain's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._messages import from_messages, to_messages
    from ._middleware import Compaction, ExtractedCalls, StuckDetection
    from ._model import ChatLoopwright
    from ._parser import CallParser
    from ._tools import from_tools, to_tools

__all__ = [
    "CallParser",
    "ChatLoopwright",
    "Compaction",
    "ExtractedCalls",
    "StuckDetection",
    "from_messages",
    "from_tools",
    "to_messages",
    "to_tools",
]

_HOMES = {
    "CallParser": "_parser",
    "ChatLoopwright": "_model",
    "Compaction": "_middleware",
    "ExtractedCalls": "_middleware",
    "StuckDetection": "_middleware",
    "from_messages": "_messages",
    "from_tools": "_tools",
    "to_messages": "_messages",
    "to_tools": "_tools",
}
# What is of agents; the rest needs `langchain-core` alone.
_OF_AGENTS = "_middleware"

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        from importlib import import_module

        from loopwright._extras import need

        need("langchain-core", __name__, extra="langchain", oldest="1.5", below="2")
        if _HOMES[name] == _OF_AGENTS:
            need("langchain", __name__, extra="langchain", oldest="1.2", below="2")
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
