"""`Toolset`: tools that are known only when a run begins.

An agent's own functions are known when it is made. What a toolset offers is asked for before the first request of each
run, and stands in the run's journal from then on: a run that is replayed or resumed asks nobody for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from ._toolset import ToolSet

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._tool import Tool

__all__ = ["Places", "Toolset", "kinds_of", "split"]


class Toolset:
    """Tools that are listed when a run begins: those of a server, of a plug-in, of a user.

    Give it to `Agent(tools=[...])` beside functions. A subclass says what there is in `tools` and gives back what it
    holds in `aclose`.

    ::

        class Team(Toolset):
            name = "team"

            async def tools(self) -> list[Tool]:
                return [as_tool(each) for each in await load_tools()]
    """

    name: str = "tools"
    """What it is called: it stands before the names of its tools where another tool is named the same."""
    required: bool = False
    """Whether a run that can't have its tools fails before it begins."""

    async def tools(self) -> Sequence[Tool[..., Any]]:
        """The tools of a run that begins now, always in the same order. May be called from any event loop.

        As long as nothing has changed it gives the very same objects: what is made of them is kept. What it raises
        costs the run these tools, unless they are `required`.
        """
        raise NotImplementedError

    async def aclose(self) -> None:
        """Gives back what it holds: connections, processes. A later run may take them up again."""

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def split(tools: Iterable[Any]) -> tuple[ToolSet, tuple[Toolset, ...]]:
    """Functions and tools of one's own; and toolsets, each once. Raises a `ToolDefinitionError` for anything else."""
    if callable(tools) or isinstance(tools, (str, bytes)) or not isinstance(tools, Iterable):
        return ToolSet(cast("Iterable[Any]", tools)), ()
    given = list(tools)
    sets = dict.fromkeys(each for each in given if isinstance(each, Toolset))
    return ToolSet(each for each in given if not isinstance(each, Toolset)) if sets else ToolSet(given), tuple(sets)


Places = dict[str, tuple[ToolSet, tuple[Toolset, ...]]]
"""Who has toolsets: the tools of one's own and the toolsets, by the kind of the sub-agent."""


def kinds_of(own: ToolSet, sets: tuple[Toolset, ...], agents: Iterable[Any], places: Callable[[Any], Places]) -> Places:
    """Who has toolsets, among an agent and its sub-agents."""
    found: Places = {"": (own, sets)} if sets else {}
    for agent in agents:
        for kind, place in places(agent).items():
            found[f"{agent.name}/{kind}" if kind else agent.name] = place
    return found
