"""Tools of ours as tools of LangChain, and theirs as ours."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from langchain_core.tools import StructuredTool, ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ValidationError

from loopwright import RunContext, ToolError
from loopwright.adapters._tools import blocks_of, is_asked_about
from loopwright.tools import DeclaredTool, as_tool

from ._messages import content_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langchain_core.tools import BaseTool

    from loopwright import Tool

__all__ = ["from_tools", "to_tools"]


def to_tools(tools: Sequence[Tool[..., Any, Any] | Callable[..., Any]], *, deps: Any = None) -> list[StructuredTool]:
    """Tools of ours for `create_agent(tools=...)`: functions, or what `@tool` makes of them. `deps` are `context.deps`.

    Arguments are checked and results are written as in our own runs, and a call that fails is a tool message with the
    status `error`. A call that a person is asked about here (`risk="confirm"` and more) is an `interrupt` of the graph,
    which goes on with `Command(resume=True)`, or with the reason why not.
    """
    return [_given(as_tool(each), deps) for each in tools]


def _given(tool: Tool[..., Any, Any], deps: Any) -> StructuredTool:
    async def run(**arguments: Any) -> Any:
        if is_asked_about(tool):
            _ask(tool, arguments)
        outcome = await tool.run(arguments, RunContext(deps))
        content = content_of(blocks_of(outcome))
        if outcome.is_error:
            raise ToolException(content if isinstance(content, str) else outcome.text)
        return content

    def run_sync(**arguments: Any) -> Any:
        return asyncio.run(run(**arguments))

    return StructuredTool(
        name=tool.name,
        description=tool.description or tool.name,
        args_schema=tool.schema,
        func=run_sync,
        coroutine=run,
        handle_tool_error=True,
        metadata={"risk": tool.risk},
    )


def _ask(tool: Tool[..., Any, Any], arguments: dict[str, Any]) -> None:
    """Asks whoever runs the graph. Raises a `ToolException`, which the model reads, for a no."""
    from langgraph.types import interrupt

    said = interrupt({"tool": tool.name, "arguments": arguments, "risk": tool.risk})
    if said is not True:
        raise ToolException(f"the call was not allowed: {said if isinstance(said, str) else 'no reason was given'}")


def from_tools(tools: Sequence[BaseTool]) -> list[DeclaredTool]:
    """Tools of LangChain for an agent of ours. A `ToolException` is a `ToolError`, which the model reads."""
    return [_taken(each) for each in tools]


def _taken(tool: BaseTool) -> DeclaredTool:
    async def serve(arguments: dict[str, Any], context: RunContext[Any]) -> Any:
        del context
        try:
            return await tool.ainvoke(arguments)
        except ValidationError as error:
            message = f"the arguments of {tool.name!r} do not fit: {error}"
            raise ToolError(message, "invalid_arguments", "mend what is named there") from None
        except ToolException as error:
            raise ToolError(str(error), "tool_failed", "try something else") from error

    told = convert_to_openai_tool(tool)["function"]
    return DeclaredTool(
        serve,
        name=told["name"],
        description=told.get("description") or "",
        schema=told.get("parameters") or {"type": "object", "properties": {}},
        origin="langchain",
    )
