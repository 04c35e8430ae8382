"""The tool whose call is the answer of a run: its arguments are, or what a function gives for them.

The machine ends a run with the call that the tool takes. One that it does not take is told to the model as the failure
of any tool is, with what is wrong about it.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from .tools._declared import DeclaredTool
from .tools._errors import DuplicateTool, InvalidOutput, SchemaError
from .tools._run import TAKEN
from .tools._tool import Tool, as_tool, suggest_name
from .tools._toolset import ToolSet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._output import OutputType
    from .errors import LoopwrightError
    from .result import Result

__all__ = ["explained", "taken", "with_answer"]

_NAME = "final_answer"
_ENDS = "Call it when nothing else is left to do: the run ends with it."


def with_answer(tools: ToolSet, output: OutputType[Any]) -> ToolSet:
    """The tools of an agent, and the one that its answer is a call of."""
    asked = output.asked
    tool = _of_type(output) if asked.call is None else _of_function(asked.call, asked.name)
    if tool.name in tools:
        message = f"the answer is a call of {tool.name!r}, and another tool is named so"
        hint = "take that one out of tools, or name the answer: Output(name=...)"
        raise DuplicateTool(message, hint=hint)
    tool.answers = {"attempts": asked.attempts, "gives": asked.call is not None}
    output.tool = tool.name
    return ToolSet([*tools, tool])


def _of_type(output: OutputType[Any]) -> Tool[..., Any, Any]:
    name = _NAME if output.asked.name is None else suggest_name(output.asked.name)

    async def take(arguments: dict[str, Any], _: Any) -> str:
        try:
            output.check(arguments)
        except InvalidOutput as error:
            error.hint = f"call {name} again with arguments that fit"
            raise
        return TAKEN

    return DeclaredTool(
        take,
        name=name,
        description=f"Gives the answer. {_ENDS}",
        schema=output.schema,
        risk="safe",
        read_only=True,
        trust="trusted",
        effects=[],
        origin=f"the output_type {output.name}",
    )


def _of_function(function: Any, name: str | None) -> Tool[..., Any, Any]:
    tool: Tool[..., Any, Any] = copy(as_tool(function))
    if name is not None:
        tool.name = suggest_name(name)
    tool._description = f"{tool.description}\n\nWhat it gives is the answer. {_ENDS}".strip()  # noqa: SLF001 - a copy
    return tool


def taken(output: OutputType[Any], result: Result[Any], given: Mapping[str, tuple[str, Any]]) -> Any:
    """The output of a run that ended with a text: what a function gave, unless others have changed that since.

    Raises `InvalidOutput` for what is none.
    """
    final = result.final or ""
    if output.asked.call is None:
        return output.parse(final)
    made = [each for each in result.tool_calls if each.name == output.tool and each.call_id in given]
    if not made:
        message = f"the answer is no call of {output.tool!r}"
        raise InvalidOutput(message, hint=f"call {output.tool}; what it gives is the answer")
    # Of several calls in one answer the first counts.
    text, value = given[next(each for each in made if each.round == made[-1].round).call_id]
    if text == final:
        return value
    try:
        return output.parse(final)
    except SchemaError as error:
        message = f"the answer was changed, and no {output.name} can be read from its text"
        raise InvalidOutput(message, hint="let hooks leave the answer, or return data from the function") from error


def explained(error: LoopwrightError, raised: Mapping[Any, BaseException]) -> LoopwrightError:
    """The error of a run whose answers were not taken, with what was raised about the last one."""
    last = next(reversed([each for (path, _, _), each in raised.items() if path is None]), None)
    if isinstance(error, InvalidOutput) and last is not None:
        error.problems, error.__cause__ = getattr(last, "problems", error.problems), last
    return error
