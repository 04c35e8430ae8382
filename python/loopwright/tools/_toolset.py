"""The tools of one agent, by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ._errors import DuplicateTool, ToolDefinitionError, UnknownTool
from ._tool import Tool, as_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["ToolSet", "told"]


class ToolSet:
    """Tools in the order in which they were added, each name once."""

    __slots__ = ("_tools",)

    def __init__(self, tools: Iterable[Tool[..., Any, Any] | Callable[..., Any]] = ()) -> None:
        self._tools: dict[str, Tool[..., Any, Any]] = {}
        if callable(tools) or isinstance(tools, (str, bytes)) or not isinstance(tools, Iterable):
            message = f"tools are a list of functions, not {type(tools).__name__}"
            raise ToolDefinitionError(message, hint="put it into a list: tools=[...]")
        for each in tools:
            self.add(each)

    def add(self, tool: Tool[..., Any, Any] | Callable[..., Any]) -> Tool[..., Any, Any]:
        """Add a tool, or a function as a tool. The very same tool twice is once."""
        added = as_tool(tool)
        present = self._tools.setdefault(added.name, added)
        if present is not added and present.function is not added.function and present.function != added.function:
            message = f"two tools are named {added.name!r}: {present.location} and {added.location}"
            raise DuplicateTool(message, hint=f"rename one: @tool(name={_free_name(added.name, self._tools)!r})")
        return present

    def get(self, name: str) -> Tool[..., Any, Any]:
        """The tool of that name. Raises `UnknownTool`, which names those that are near."""
        found = self._tools.get(name)
        if found is None:
            import difflib

            near = difflib.get_close_matches(str(name)[:100], self._tools, n=3, cutoff=0.5)
            offered = near or list(self._tools)[:20]
            message = f"there is no tool {str(name)[:100]!r}"
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(offered) or 'none'}"
            raise UnknownTool(message, hint=hint)
        return found

    def definitions(self) -> list[dict[str, Any]]:
        """What a model is told of all of them. Raises `SchemaError` for the first that has no schema."""
        return [each.definition() for each in self._tools.values()]

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(self._tools)

    def __getitem__(self, name: str) -> Tool[..., Any, Any]:
        return self.get(name)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[Tool[..., Any, Any]]:
        return iter(tuple(self._tools.values()))

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"ToolSet({', '.join(self._tools)})"


def told(tool: Tool[..., Any, Any]) -> dict[str, Any]:
    """What a machine is told of a tool."""
    from loopwright import _core

    effects = None if tool.effects is None else sorted(tool.effects)
    return {
        **tool.definition(),
        "schema": tool.schema,
        "risk": tool.risk,
        "read_only": tool.read_only,
        "timeout": tool.timeout,
        "max_output": tool.max_output,
        "flow": _core.tool_flow(tool.name, tool.read_only, tool.trust, effects),
        **({} if tool.answers is None else {"answer": tool.answers}),
        **({"volatile": list(tool.volatile)} if tool.volatile else {}),
        **({"found": True} if tool.is_found else {}),
        **({"asks": True} if tool.asks is True else {}),
        **({"deferred": True} if tool.is_deferred else {}),
    }


def _free_name(name: str, taken: Iterable[str]) -> str:
    used = set(taken)
    number = 2
    while f"{name[:60]}_{number}" in used:
        number += 1
    return f"{name[:60]}_{number}"
