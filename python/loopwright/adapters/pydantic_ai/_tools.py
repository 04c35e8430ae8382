"""Tools of ours as a toolset of pydantic-ai, and toolsets of pydantic-ai as tools of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai import RunContext as TheirContext
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_ai.usage import RunUsage
from pydantic_core import SchemaValidator, ValidationError, core_schema

from loopwright import RunContext, ToolError
from loopwright.adapters._tools import blocks_of, is_asked_about
from loopwright.tools import DeclaredTool, as_tool

from ._messages import content_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from loopwright import Tool

__all__ = ["LoopwrightToolset", "from_toolset"]

_ANY = SchemaValidator(core_schema.any_schema())


class LoopwrightToolset(AbstractToolset[Any]):
    """Tools of ours for `pydantic_ai.Agent(toolsets=[...])`: functions, or what `@tool` makes of them.

    Arguments are checked and results are written as in our own runs, and a call that fails tells the model why; it
    ends no run. What a person is asked about here (`risk="confirm"` and more) is `unapproved` there: the run waits for
    `DeferredToolResults`. `deps` of the run are `context.deps` of ours.
    """

    def __init__(self, tools: Sequence[Tool[..., Any, Any] | Callable[..., Any]], *, id: str | None = None) -> None:
        self._id = id
        self._tools = {each.name: each for each in map(as_tool, tools)}

    @property
    def id(self) -> str | None:
        """The name of the toolset."""
        return self._id

    async def get_tools(self, ctx: TheirContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools as pydantic-ai has them."""
        del ctx
        return {name: self._offered(tool) for name, tool in self._tools.items()}

    def _offered(self, tool: Tool[..., Any, Any]) -> ToolsetTool[Any]:
        kind = "unapproved" if is_asked_about(tool) else "function"
        definition = ToolDefinition(
            name=tool.name, description=tool.description, parameters_json_schema=tool.schema, kind=kind
        )
        return ToolsetTool(toolset=self, tool_def=definition, max_retries=1, args_validator=_ANY)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: TheirContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """What a call gives the model."""
        del tool
        context = RunContext(ctx.deps, run_id=ctx.run_id or "", call_id=ctx.tool_call_id or "")
        outcome = await self._tools[name].run(tool_args, context)
        return content_of(blocks_of(outcome))


async def from_toolset(toolset: AbstractToolset[Any], *, deps: Any = None) -> list[DeclaredTool]:
    """The tools of a toolset of pydantic-ai for an agent of ours. Each gets `deps` of the run, or these.

    What needs an approval there has the risk `confirm` here; a `ModelRetry` is a `ToolError`, which the model reads.
    """
    context = TheirContext(deps=deps, model=TestModel(), usage=RunUsage())
    return [_taken(toolset, tool, deps) for tool in (await toolset.get_tools(context)).values()]


def _taken(toolset: AbstractToolset[Any], tool: ToolsetTool[Any], deps: Any) -> DeclaredTool:
    told = tool.tool_def

    async def serve(arguments: dict[str, Any], ours: RunContext[Any]) -> Any:
        context = TheirContext(
            deps=deps if ours.deps is None else ours.deps,
            model=TestModel(),
            usage=RunUsage(),
            tool_name=told.name,
            tool_call_id=ours.call_id,
            tool_call_approved=True,
            run_id=ours.run_id,
        )
        try:
            checked = tool.args_validator.validate_python(arguments, context=None)
            async with toolset:
                return await toolset.call_tool(told.name, checked, context, tool)
        except ValidationError as error:
            problem = f"the arguments of {told.name!r} do not fit: {error}"
            raise ToolError(problem, "invalid_arguments", "mend what is named there") from None
        except ModelRetry as error:
            raise ToolError(error.message, "retry", "try again with what it says") from error

    return DeclaredTool(
        serve,
        name=told.name,
        description=told.description or "",
        schema=told.parameters_json_schema,
        risk="confirm" if told.kind == "unapproved" else None,
        timeout=told.timeout,
        origin="pydantic-ai",
    )
