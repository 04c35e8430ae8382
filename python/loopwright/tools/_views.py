"""Toolsets seen through another: with a prefix, under other names, in part, or with another risk.

A view lists what the toolset behind it lists and changes nothing there. The same tool gives the same changed tool each
time, so that what is made of it is kept.
"""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any

from ._context import RunContext  # noqa: TC001 - read at run time
from ._declared import asked_about, at_risk, deferred, found, renamed
from ._errors import ToolDefinitionError
from ._sets import Toolset, asking_run
from ._tool import Tool, is_valid_name, suggest_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from ._tool import RiskLevel

__all__ = ["asking", "elsewhere", "filtered", "found_by_search", "prefixed", "prepared", "renamed_by", "with_risk"]

_LOG = logging.getLogger("loopwright.toolset")


class _View(Toolset[Any]):
    """What `see` makes of the tools of another toolset."""

    def __init__(
        self,
        behind: Toolset[Any],
        see: Callable[[list[Tool[..., Any, Any]]], list[Tool[..., Any, Any]] | Awaitable[list[Tool[..., Any, Any]]]],
        *,
        always: bool = False,
    ) -> None:
        self.behind, self.see, self.always = behind, see, always
        self.name, self.required = behind.name, behind.required

    @property
    def is_dynamic(self) -> bool:
        return self.always or self.behind.is_dynamic

    async def tools(self, *args: Any, **_: Any) -> Sequence[Tool[..., Any, Any]]:
        return await self.listed(args[0] if args else asking_run())

    async def listed(self, context: RunContext[Any]) -> Sequence[Tool[..., Any, Any]]:
        seen = self.see(list(await self.behind.listed(context)))
        return await seen if inspect.isawaitable(seen) else seen

    async def aclose(self) -> None:
        await self.behind.aclose()

    def __repr__(self) -> str:
        return f"<view of {self.behind!r}>"


def prefixed(behind: Toolset[Any], prefix: str) -> Toolset[Any]:
    """All tools as `prefix_name`."""
    if not isinstance(prefix, str) or not is_valid_name(prefix):
        message = f"{prefix!r} is no prefix for tools: 1 to 64 letters, digits, '_' and '-'"
        raise ToolDefinitionError(message, hint=f"try {suggest_name(str(prefix))!r}")
    return _View(behind, lambda tools: [renamed(tool, suggest_name(f"{prefix}_{tool.name}")) for tool in tools])


def renamed_by(behind: Toolset[Any], names: Mapping[str, str]) -> Toolset[Any]:
    """Some tools under other names."""
    wrong = next((new for new in names.values() if not isinstance(new, str) or not is_valid_name(new)), None)
    if wrong is not None:
        message = f"{wrong!r} is no name for a tool: 1 to 64 letters, digits, '_' and '-'"
        raise ToolDefinitionError(message, hint=f"try {suggest_name(str(wrong))!r}")

    def see(tools: list[Tool[..., Any, Any]]) -> list[Tool[..., Any, Any]]:
        _tell_unknown(behind, set(names), tools)
        return [renamed(tool, names[tool.name]) if tool.name in names else tool for tool in tools]

    return _View(behind, see)


def filtered(behind: Toolset[Any], keep: Callable[..., bool]) -> Toolset[Any]:
    """The tools of which `keep` is true."""
    if not callable(keep):
        message = f"{keep!r} is no function of a tool"
        raise ToolDefinitionError(message, hint="give one that says of a tool whether it is offered")
    if inspect.iscoroutinefunction(keep):
        message = "who says which tools are offered can't be async"
        raise ToolDefinitionError(message, hint="give a plain function, which may read what the deps hold")
    both = _takes_both(keep)

    def see(tools: list[Tool[..., Any, Any]]) -> list[Tool[..., Any, Any]]:
        if not both:
            return [tool for tool in tools if _kept(keep(tool))]
        context = asking_run()
        return [tool for tool in tools if _kept(keep(context, tool))]

    return _View(behind, see)


def _kept(answer: object) -> bool:
    """Whether a tool is offered: nothing that would have to be awaited says so."""
    if inspect.isawaitable(answer):
        getattr(answer, "close", bool)()
        message = "who says which tools are offered gave something to await"
        raise ToolDefinitionError(message, hint="give a plain function")
    return bool(answer)


def _takes_both(keep: Callable[..., bool]) -> bool:
    """Whether a function wants the run beside the tool."""
    try:
        wanted = [
            each
            for each in inspect.signature(keep).parameters.values()
            if each.default is each.empty or each.kind is each.VAR_POSITIONAL
        ]
    except (TypeError, ValueError):
        return True
    return len(wanted) > 1 or any(each.kind is each.VAR_POSITIONAL for each in wanted)


def with_risk(behind: Toolset[Any], risk: RiskLevel, names: Sequence[str]) -> Toolset[Any]:
    """The tools of those names, or all, with another risk."""
    from ._tool import _RISKS

    if risk not in _RISKS:
        message = f"{risk!r} is no risk"
        raise ToolDefinitionError(message, hint=f"one of {', '.join(_RISKS)}")

    def see(tools: list[Tool[..., Any, Any]]) -> list[Tool[..., Any, Any]]:
        _tell_unknown(behind, set(names), tools)
        return [at_risk(tool, risk) if not names or tool.name in names else tool for tool in tools]

    return _View(behind, see)


def asking(behind: Toolset[Any], names: Sequence[str], when: Callable[..., Any] | None) -> Toolset[Any]:
    """The tools of those names, or all, about whose calls a person is asked."""
    if isinstance(when, str) or not (when is None or callable(when)):
        message = f"{when!r} is no function of a call"
        raise ToolDefinitionError(
            message, hint="give one that says of a RunContext and a call whether a person is asked"
        )

    def see(tools: list[Tool[..., Any, Any]]) -> list[Tool[..., Any, Any]]:
        _tell_unknown(behind, set(names), tools)
        asks = True if when is None else when
        return [asked_about(tool, asks) if not names or tool.name in names else tool for tool in tools]

    return _View(behind, see)


def prepared(behind: Toolset[Any], change: Callable[..., Any]) -> Toolset[Any]:
    """What `change` makes of each tool, asked before each request."""
    if not callable(change):
        message = f"{change!r} is no function of a tool"
        raise ToolDefinitionError(message, hint="give one of a RunContext and a tool that gives a tool, or None")

    async def see(tools: list[Tool[..., Any, Any]]) -> list[Tool[..., Any, Any]]:
        context = asking_run()
        made: list[Tool[..., Any, Any]] = []
        for tool in tools:
            given = change(context, tool)
            given = await given if inspect.isawaitable(given) else given
            if given is not None and not isinstance(given, Tool):
                message = f"{given!r:.100} was made of the tool {tool.name!r}, and is none"
                raise ToolDefinitionError(message, hint="give a tool, or None for none in this round")
            made += [] if given is None else [given]
        return made

    return _View(behind, see, always=True)


def elsewhere(behind: Toolset[Any]) -> Toolset[Any]:
    """All tools, whose work is done elsewhere."""
    return _View(behind, lambda tools: [deferred(tool) for tool in tools])


def found_by_search(behind: Toolset[Any]) -> Toolset[Any]:
    """All tools, for a model that has to find them."""
    return _View(behind, lambda tools: [found(tool) for tool in tools])


def _tell_unknown(behind: Toolset[Any], names: set[str], tools: list[Tool[..., Any, Any]]) -> None:
    for name in sorted(names - {tool.name for tool in tools}):
        _LOG.warning("%s has no tool named %r", behind.name, name)
