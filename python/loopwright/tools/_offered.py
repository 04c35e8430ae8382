"""What a run offers of toolsets: asked for before its first request, or taken from the journal that it goes on with.

What can't be asked costs a run those tools and no more.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright._effects import Raised
from loopwright.errors import LoopwrightError, ToolError

from ._context import RunContext
from ._declared import DeclaredTool, definition_of, renamed
from ._sets import ASKING
from ._tool import suggest_name
from ._toolset import ToolSet

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from ._sets import Places, Toolset
    from ._tool import Tool

__all__ = ["Offered", "asked", "changed", "free_name", "gone", "merged", "offer", "offer_sync", "recall", "recalled"]

_LOG = logging.getLogger("loopwright.toolset")
_LONGEST_NAME = 64
_ENGINES = frozenset({"spawn", "find_tools"})
"""Names of the engine's own tools, which no toolset takes."""
_NO_ARGUMENTS = {"type": "object", "properties": {}}


class Offered:
    """What the runs of an agent and its sub-agents offer, by the kind of the sub-agent; `""` is the run itself."""

    __slots__ = ("key", "kinds")

    def __init__(self, kinds: Mapping[str, ToolSet]) -> None:
        self.kinds = kinds
        self.key = tuple(tuple(tools) for tools in kinds.values())

    def of(self, kind: str, own: ToolSet) -> ToolSet:
        """The tools of a sub-agent of that kind; `own` where it has no toolsets."""
        return self.kinds.get(kind, own)


async def offer(places: Places, deps: Any = None) -> Offered:
    """Asks all toolsets for their tools, at once, for a run with these deps."""
    context = RunContext(deps)
    token = ASKING.set(context)
    try:
        listed = await asyncio.gather(*(_listed(own, sets, context) for own, sets in places.values()))
    finally:
        ASKING.reset(token)
    return Offered(dict(zip(places, listed, strict=True)))


def offer_sync(places: Places, deps: Any = None) -> Offered:
    """`offer` where there is no event loop to await it in."""
    from loopwright._driver._side import SideLoop

    side, over, found = SideLoop(), threading.Event(), []

    def heard(sent: Any) -> None:
        found.append(sent)
        over.set()

    try:
        stop = side.start(offer(places, deps), "loopwright toolsets", heard)
        try:
            over.wait()
        except BaseException:
            stop()
            raise
    finally:
        side.close()
    if isinstance(found[0], Raised):
        raise found[0].error
    offered: Offered = found[0]
    return offered


async def _listed(own: ToolSet, sets: Sequence[Toolset], context: RunContext[Any]) -> ToolSet:
    found = await asyncio.gather(*(asked(each, context) for each in sets))
    return merged(own, list(zip(sets, found, strict=True)))


async def asked(each: Toolset, context: RunContext[Any], most: float | None = None) -> list[Tool[..., Any, Any]]:
    """The tools of a toolset, within so many seconds; or what stands for them where they can't be had."""
    try:
        return list(await asyncio.wait_for(each.listed(context), most))
    except Exception as error:
        if isinstance(error, asyncio.TimeoutError):
            error = ToolError(f"the tools of {each.name!r} were not listed within {most:g} s", "timed_out")
        if each.required:
            raise error from None
        _LOG.warning("the run goes on without the tools of %s: %s", each.name, error)
        return [_missing(each, error)]


def _missing(each: Toolset, error: Exception) -> Tool[..., Any, Any]:
    """What stands for tools that can't be had: whoever calls it is told why."""
    said = _said(error)
    hint = error.hint if isinstance(error, LoopwrightError) else None

    async def serve(_: dict[str, Any], __: RunContext[Any]) -> Any:
        raise ToolError(said, "unreachable", hint or "go on without these tools, and say so")

    about = f"The tools of {each.name!r} can't be had in this run. Calling this only says why."
    return DeclaredTool(
        serve, name=suggest_name(each.name), description=about, schema=_NO_ARGUMENTS, read_only=True, effects=()
    )


def merged(own: ToolSet, listed: Sequence[tuple[Toolset, Sequence[Tool[..., Any, Any]]]]) -> ToolSet:
    """All tools of a run under names of their own.

    Functions keep theirs. A toolset's tool whose name another one has, too, is named after its toolset, and so is the
    other: no server can take the place of a tool by listing its name.
    """
    counted = Counter(tool.name for _, tools in listed for tool in tools)
    found = ToolSet(own)
    waiting: list[tuple[Toolset, Tool[..., Any, Any]]] = []
    for each, tools in listed:
        for tool in tools:
            if counted[tool.name] == 1 and tool.name not in own and tool.name not in _ENGINES:
                found.add(tool)
            else:
                waiting.append((each, tool))
    for each, tool in waiting:
        found.add(renamed(tool, free_name(suggest_name(f"{each.name}_{tool.name}"), found)))
    return found


def free_name(name: str, taken: Container[str]) -> str:
    """`name`, or with a number behind it where it is taken."""
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name[: _LONGEST_NAME - 4]}_{number}"
    return found


def recall(places: Places, turn: Mapping[str, Any]) -> Offered:
    """What the run of a journal offered: its tools as the journal has them, and nobody is asked.

    A tool is looked for when it is called; one that is no longer what the run was told of gives `tool_changed`.
    """
    kinds: dict[str, ToolSet] = {}
    for kind, (own, sets) in places.items():
        there = turn_at(turn, kind)
        tools = ToolSet(own)
        for definition in there.get("tools", ()):
            if definition["name"] not in own:
                tools.add(recalled(definition, sets))
        kinds[kind] = tools
    return Offered(kinds)


def turn_at(turn: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """The configuration of a sub-agent of that kind; an empty one where the run had none."""
    for name in kind.split("/") if kind else ():
        agents = (turn.get("children") or {}).get("agents", ())
        turn = next((agent["turn"] for agent in agents if agent["name"] == name), {})
    return turn


def recalled(definition: Mapping[str, Any], sets: Sequence[Toolset]) -> Tool[..., Any, Any]:
    """A tool that a run was told of so, which is looked for when it is called."""
    name, flow = definition["name"], definition.get("flow") or {}
    told = definition.get("description") or "", definition["schema"]
    was = (*told, definition.get("risk", "cautious"), bool(definition.get("read_only")), flow)

    async def serve(arguments: dict[str, Any], context: RunContext[Any]) -> Any:
        found = await _found_again(name, sets, context)
        if (*definition_of(found), found.risk, found.read_only, _flow_of(name, found)) != was:
            raise changed(name)
        return await found.call(arguments, context)

    async def asks(context: RunContext[Any], call: Any) -> bool:
        found = await _found_again(name, sets, context)
        return await wants_asking(found, context, call)

    tool = DeclaredTool(
        serve,
        name=name,
        description=told[0],
        schema=told[1],
        risk=definition.get("risk", "cautious"),
        read_only=bool(definition.get("read_only")),
        timeout=definition.get("timeout"),
        max_output=definition.get("max_output"),
        trust=flow.get("trust"),
        effects=flow.get("effects"),
    )
    tool.asks, tool.is_deferred = asks, bool(definition.get("deferred"))
    tool.volatile = tuple(definition.get("volatile", ()))
    return tool


async def wants_asking(tool: Tool[..., Any, Any], context: RunContext[Any], call: Any) -> bool:
    """Whether a person is to be asked about a call."""
    if not callable(tool.asks):
        return tool.asks
    if inspect.iscoroutinefunction(tool.asks):
        return bool(await tool.asks(context, call))
    # One that blocks holds up no loop.
    said = await asyncio.to_thread(tool.asks, context, call)
    return bool(await said if inspect.isawaitable(said) else said)


async def _found_again(name: str, sets: Sequence[Toolset], context: RunContext[Any]) -> Tool[..., Any, Any]:
    """The tool that a run was told of by that name. Where two toolsets could mean it none is taken."""
    token = ASKING.set(context)
    try:
        listed = await asyncio.gather(*(each.listed(context) for each in sets), return_exceptions=True)
    finally:
        ASKING.reset(token)
    found: list[Tool[..., Any, Any]] = []
    failure: BaseException | None = None
    for each, tools in zip(sets, listed, strict=True):
        if isinstance(tools, BaseException):
            failure = tools
            continue
        found += [tool for tool in tools if name in (tool.name, suggest_name(f"{each.name}_{tool.name}"))]
    if len(found) == 1:
        return found[0]
    if isinstance(failure, Exception) and not found:
        raise ToolError(_said(failure), "unreachable", "go on without it, and say so")
    raise gone(name)


def _flow_of(name: str, tool: Tool[..., Any, Any]) -> dict[str, Any]:
    effects = None if tool.effects is None else sorted(tool.effects)
    return _core.tool_flow(name, tool.read_only, tool.trust, effects)


def _said(error: BaseException) -> str:
    return error.message if isinstance(error, LoopwrightError) else f"{type(error).__name__}: {error}"


def changed(name: str) -> ToolError:
    """A tool that is not what the run was told of."""
    message = f"the tool {name!r} is no longer what it was when the run began, and was not called"
    return ToolError(message, "tool_changed", "go on without it; the next run is told of it anew, and asks")


def gone(name: str) -> ToolError:
    """A tool that is not there any more."""
    message = f"the tool {name!r} is not there any more"
    return ToolError(message, "tool_gone", "go on without it")
