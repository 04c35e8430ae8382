"""Loopwright: the agentic-loop engine.

    from loopwright import Agent, tool

    @tool(read_only=True)
    def population(city: str) -> int:
        "How many people live in a city."
        return {"Oslo": 717_710}[city]

    agent = Agent("anthropic:claude-sonnet-4-5", tools=[population])
    print(agent.run_sync("How many people live in Oslo?").output)

Importing this is cheap: each name is loaded when it is first used. What is not here stands in a room that is named by
what it is about: `loopwright.tokens`, `loopwright.journal`, `loopwright.run`, …
"""

from __future__ import annotations

# What type checkers take for true. `typing` itself is slow to import.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from ._approval import Approval as Approval
    from ._core import __version__ as __version__
    from ._handoff import Handoff as Handoff
    from ._instrument import Instrumentation as Instrumentation
    from ._model import Model as Model
    from ._model import ModelSettings as ModelSettings
    from ._output import Output as Output
    from ._replay import replay as replay
    from .agent import Agent as Agent
    from .budget import Budget as Budget
    from .children import SubAgent as SubAgent
    from .context import ContextPolicy as ContextPolicy
    from .errors import LoopwrightError as LoopwrightError
    from .errors import ModelError as ModelError
    from .errors import ProviderError as ProviderError
    from .errors import ToolError as ToolError
    from .errors import UsageError as UsageError
    from .grounded import Grounded as Grounded
    from .guard import Edit as Edit
    from .guard import Guard as Guard
    from .hooks import Hooks as Hooks
    from .journal import Journal as Journal
    from .memory import Memory as Memory
    from .messages import Document as Document
    from .messages import Message as Message
    from .monitor import Monitor as Monitor
    from .research import Research as Research
    from .result import Messages as Messages
    from .result import Result as Result
    from .result import Usage as Usage
    from .tools import Image as Image
    from .tools import RunContext as RunContext
    from .tools import Tool as Tool
    from .tools import Toolset as Toolset
    from .tools import tool as tool

# All names of the top, and where each lives. `_moved` has those that were here before.
_HOMES = {
    "Agent": "agent",
    "Approval": "_approval",
    "Budget": "budget",
    "ContextPolicy": "context",
    "Document": "messages",
    "Edit": "guard",
    "Grounded": "grounded",
    "Guard": "guard",
    "Handoff": "_handoff",
    "Hooks": "hooks",
    "Image": "tools",
    "Instrumentation": "_instrument",
    "Journal": "journal",
    "LoopwrightError": "errors",
    "Memory": "memory",
    "Message": "messages",
    "Messages": "result",
    "Model": "_model",
    "ModelError": "errors",
    "ModelSettings": "_model",
    "Monitor": "monitor",
    "Output": "_output",
    "ProviderError": "errors",
    "Research": "research",
    "Result": "result",
    "RunContext": "tools",
    "SubAgent": "children",
    "Tool": "tools",
    "ToolError": "errors",
    "Toolset": "tools",
    "Usage": "result",
    "UsageError": "errors",
    "__version__": "_core",
    "replay": "_replay",
    "tool": "tools",
}

# Type checkers have the names above, and no others.
if not TYPE_CHECKING:
    __all__ = list(_HOMES)

    def __getattr__(name: str) -> Any:
        home = _HOMES.get(name)
        if home is None and name.startswith("_"):
            message = f"module 'loopwright' has no attribute {name!r}"
            raise AttributeError(message)
        if home is None:
            from ._moved import elsewhere

            return elsewhere(name)
        from importlib import import_module

        value = getattr(import_module(f".{home}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return list(_HOMES)
