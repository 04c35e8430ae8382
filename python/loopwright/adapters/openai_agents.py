"""Agents of the OpenAI Agents SDK over our models, histories both ways: `pip install 'loopwright[openai-agents]'`.

::

    from agents import Agent, Runner
    from loopwright.adapters.openai_agents import LoopwrightModel

    agent = Agent(name="helper", model=LoopwrightModel("anthropic:claude-sonnet-4-5"))

Attempts, fallback models, torn streams and broken arguments are the engine's; all else is that of the SDK.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._openai_agents import LoopwrightModel, LoopwrightProvider, from_items, to_items

__all__ = ["LoopwrightModel", "LoopwrightProvider", "from_items", "to_items"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        from loopwright._extras import need

        need("openai-agents", __name__, extra="openai-agents", oldest="0.17", below="1")
        from . import _openai_agents

        return getattr(_openai_agents, name)
