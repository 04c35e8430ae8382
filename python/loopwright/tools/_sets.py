"""`Toolset`: tools that are known only when a run begins.

An agent's own functions are known when it is made. What a toolset offers is asked for before the first request of each
run, and stands in the run's journal from then on: a run that is replayed or resumed asks nobody for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, cast

from ._context import RunContext
from ._errors import ToolDefinitionError
from ._tool import Tool, ToolDeps, as_tool
from ._toolset import ToolSet

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from loopwright.hooks import CallSubject

    from ._tool import PlainFunction, RiskLevel

__all__ = ["ASKING", "Places", "Toolset", "asking_run", "kinds_of", "split"]

ASKING: ContextVar[RunContext[Any]] = ContextVar("loopwright_asking")
"""The run whose tools are listed."""


def asking_run() -> RunContext[Any]:
    """The run whose tools are listed; one that knows nothing where it is none."""
    found: RunContext[Any] | None = ASKING.get(None)
    return RunContext() if found is None else found


class Toolset(Generic[ToolDeps]):
    """Tools that are listed when a run begins: those of a server, of a plug-in, of a user.

    Give it to `Agent(tools=[...])` beside functions. `Toolset([f, g], name="files")` holds tools that are there, for
    `prefixed`, `filtered` and the like. A subclass says what there is in `tools` and gives back what it
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
    _held: tuple[Tool[..., Any, Any], ...] = ()
    _lists: Callable[[RunContext[Any]], Any] | None = None

    def __init__(
        self,
        tools: Iterable[Tool[..., Any, ToolDeps] | PlainFunction] | Callable[[RunContext[ToolDeps]], Any] = (),
        *,
        name: str | None = None,
    ) -> None:
        if name is not None:
            self.name = name
        if isinstance(tools, Iterable):
            self._held = tuple(as_tool(each) for each in tools)
        elif callable(tools) and not isinstance(tools, Tool):
            self._lists = tools
        else:
            message = f"a toolset holds a list of tools, not {type(tools).__name__}"
            raise ToolDefinitionError(message, hint="put it into a list: Toolset([...])")

    async def tools(self, *_args: Any, **_kwargs: Any) -> Sequence[Tool[..., Any, Any]]:
        """The tools of a run that begins now, always in the same order. May be called from any event loop.

        As long as nothing has changed it gives the very same objects: what is made of them is kept. What it raises
        costs the run these tools, unless they are `required`. Written as `tools(self, context)` it is asked before each
        request of the run, with its `RunContext`; what it gives then is an event of the run.
        """
        return self._held

    @property
    def is_dynamic(self) -> bool:
        """Whether it is asked before each request, and not once when a run begins."""
        switched = any(callable(tool.enabled) for tool in self._held)
        return switched or self._lists is not None or _takes_context(type(self).tools)

    async def listed(self, context: RunContext[Any]) -> Sequence[Tool[..., Any, Any]]:
        """What it offers a run just now."""
        if self._lists is not None:
            if inspect.iscoroutinefunction(self._lists):
                given = await self._lists(context)
            else:
                import asyncio  # slow to import: agents without such toolsets do without

                given = await asyncio.to_thread(self._lists, context)
                given = await given if inspect.isawaitable(given) else given
        else:
            given = await (self.tools(context) if _takes_context(type(self).tools) else self.tools())
        return [tool for tool in map(as_tool, given) if tool.enabled is True or await _is_on(tool, context)]

    def __repr__(self) -> str:
        held = f" of {', '.join(tool.name for tool in self._held)}" if self._held else ""
        return f"<{type(self).__name__} {self.name!r}{held}>"

    def prefixed(self, prefix: str) -> Toolset[ToolDeps]:
        """The same toolset, with all its tools named `prefix_name`.

        ::

            agent = Agent(model, tools=[mcp.http(url).prefixed("gh").with_risk("confirm", "gh_delete_branch")])

        A name that becomes longer than 64 signs is cut. Raises a `ToolDefinitionError` for a prefix that providers
        refuse.
        """
        from ._views import prefixed

        return prefixed(self, prefix)

    def renamed(self, names: Mapping[str, str]) -> Toolset[ToolDeps]:
        """The same toolset, with the tools of these names under the names that they lead to.

        A name that it does not list is logged as a warning. Raises a `ToolDefinitionError` for names that providers
        refuse.
        """
        from ._views import renamed_by

        return renamed_by(self, dict(names))

    def filtered(self, keep: Callable[[RunContext[ToolDeps], Tool[..., Any, Any]], bool]) -> Toolset[ToolDeps]:
        """The same toolset, with those tools of which `keep(context, tool)` is true; it is asked at the begin of each
        run. A function of the tool alone will do, too.
        """
        from ._views import filtered

        return filtered(self, keep)

    def prepared(
        self,
        change: Callable[
            [RunContext[ToolDeps], Tool[..., Any, Any]],
            Tool[..., Any, Any] | Awaitable[Tool[..., Any, Any] | None] | None,
        ],
    ) -> Toolset[ToolDeps]:
        """The same toolset, asked before each request, with what `change(context, tool)` makes of each tool: the tool,
        another one in its place, or `None` where it is not offered in this round.
        """
        from ._views import prepared

        return prepared(self, change)

    def without(self, *names: str) -> Toolset[ToolDeps]:
        """The same toolset, without the tools of these names."""
        return self.filtered(lambda _, tool: tool.name not in names)

    def asking(
        self, *names: str, when: Callable[[RunContext[ToolDeps], CallSubject], bool | Awaitable[bool]] | None = None
    ) -> Toolset[ToolDeps]:
        """The same toolset, where a person is asked before a call of the tools of these names, or of all without names,
        whatever the guard says of it; what it forbids stays forbidden. With `when`, about those calls of which
        `when(context, call)` is true; where it raises, too.
        """
        from ._views import asking

        return asking(self, names, when)

    def with_risk(self, risk: RiskLevel, *names: str) -> Toolset[ToolDeps]:
        """The same toolset, where the tools of these names, or all without names, are as risky as `risk` says.

        What a server says of its tools never lowers their risk; this is the word of whoever writes the program, and
        may. Raises a `ToolDefinitionError` for an unknown risk.
        """
        from ._views import with_risk

        return with_risk(self, risk, names)

    def deferred(self) -> Toolset[ToolDeps]:
        """The same toolset, whose work is done elsewhere: with a call of its tools the run ends with the stop reason
        `suspended`, `result.pending` has the call with the kind `external`, and
        `agent.resume(result, {call_id: Returned(value)})` goes on with what it gave. The run needs a journal in a file.
        """
        from ._views import elsewhere

        return elsewhere(self)

    def found_by_search(self) -> Toolset[ToolDeps]:
        """The same toolset, whose tools are in no request until the model has found them.

        ::

            agent = Agent(model, tools=[search, mcp.http(url).prefixed("gh").found_by_search()])

        Instead of them requests hold one tool, `find_tools`, for all such toolsets of the agent. What the model finds
        with it by words, or by names, is described in its result and stands behind the other tools from the next
        request on; a call of a tool that was not found yet runs all the same, and brings it there. Each is told of by
        the event `ToolsLoaded`.
        """
        from ._views import found_by_search

        return found_by_search(self)

    async def aclose(self) -> None:
        """Gives back what it holds: connections, processes. A later run may take them up again."""

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


async def _is_on(tool: Tool[..., Any, Any], context: RunContext[Any]) -> bool:
    """Whether a tool is offered in the round that begins."""
    said = tool.enabled(context) if callable(tool.enabled) else tool.enabled
    return bool(await said if inspect.isawaitable(said) else said)


def _takes_context(tools: Callable[..., Any]) -> bool:
    """Whether a toolset's own `tools` takes the run that it is asked for."""
    wanted = [*inspect.signature(tools).parameters.values()][1:]
    return any(each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) for each in wanted)


def split(tools: Iterable[Any]) -> tuple[ToolSet, tuple[Toolset, ...]]:
    """Functions and tools of one's own; and toolsets, each once. Raises a `ToolDefinitionError` for anything else."""
    if callable(tools) or isinstance(tools, (str, bytes)) or not isinstance(tools, Iterable):
        return ToolSet(cast("Iterable[Any]", tools)), ()
    given = list(tools)
    sets = dict.fromkeys(each for each in given if isinstance(each, Toolset))
    switched = [each for each in given if isinstance(each, Tool) and each.enabled is not True]
    if not sets and not switched:
        return ToolSet(given), ()
    own = ToolSet(each for each in given if not isinstance(each, Toolset) and each not in switched)
    return own, (*sets, *([Toolset(switched)] if switched else ()))


Places = dict[str, tuple[ToolSet, tuple[Toolset, ...]]]
"""Who has toolsets: the tools of one's own and the toolsets, by the kind of the sub-agent."""


def kinds_of(own: ToolSet, sets: tuple[Toolset, ...], agents: Iterable[Any], places: Callable[[Any], Places]) -> Places:
    """Who has toolsets, among an agent and its sub-agents."""
    found: Places = {"": (own, sets)} if sets else {}
    for agent in agents:
        for kind, place in places(agent).items():
            found[f"{agent.name}/{kind}" if kind else agent.name] = place
    return found
