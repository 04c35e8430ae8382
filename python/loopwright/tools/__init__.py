"""Tools: functions that a model may call.

    from loopwright.tools import tool

    @tool(read_only=True)
    def weather(city: str) -> str:
        "The weather in a city."

Importing this costs next to nothing; schemas are made when they are first needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._context import CancelFlag, RunContext
from ._errors import (
    DuplicateTool,
    InvalidArguments,
    InvalidOutput,
    InvalidToolName,
    LoopwrightError,
    NotSerialisable,
    SchemaError,
    ToolDefinitionError,
    ToolError,
    ToolTimeout,
    UnknownTool,
)
from ._result import DEFAULT_MAX_OUTPUT, Image, Text, limit_text, to_content
from ._tool import Effect, RiskLevel, Tool, Trust, as_tool, tool
from ._toolset import ToolSet

Context = RunContext
"""What `RunContext` was called before."""

if TYPE_CHECKING:
    from ._declared import DeclaredTool
    from ._provided import ProviderTool, WebSearch
    from ._run import Outcome
    from ._sets import Toolset
    from .builtin import builtin_tools

__all__ = [
    "DEFAULT_MAX_OUTPUT",
    "CancelFlag",
    "Context",
    "DeclaredTool",
    "DuplicateTool",
    "Effect",
    "Image",
    "InvalidArguments",
    "InvalidOutput",
    "InvalidToolName",
    "LoopwrightError",
    "NotSerialisable",
    "Outcome",
    "ProviderTool",
    "RiskLevel",
    "RunContext",
    "SchemaError",
    "Text",
    "Tool",
    "ToolDefinitionError",
    "ToolError",
    "ToolSet",
    "ToolTimeout",
    "Toolset",
    "Trust",
    "UnknownTool",
    "WebSearch",
    "as_tool",
    "builtin_tools",
    "limit_text",
    "to_content",
    "tool",
]


if not TYPE_CHECKING:
    # Seen by a type checker, it would make each misspelt name an `Any`.

    def __getattr__(name: str) -> Any:
        if name == "DeclaredTool":
            from ._declared import DeclaredTool

            return DeclaredTool
        if name == "Outcome":
            from ._run import Outcome

            return Outcome
        if name == "Toolset":
            from ._sets import Toolset

            return Toolset
        if name in ("ProviderTool", "WebSearch"):
            from . import _provided

            return getattr(_provided, name)
        if name == "builtin_tools":
            from .builtin import builtin_tools

            return builtin_tools
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
