"""Toolsets seen through another: with a prefix, under other names, in part, or with another risk.

A view lists what the toolset behind it lists and changes nothing there. The same tool gives the same changed tool each
time, so that what is made of it is kept.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ._declared import at_risk, renamed
from ._errors import ToolDefinitionError
from ._sets import Toolset
from ._tool import is_valid_name, suggest_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ._tool import RiskLevel, Tool

__all__ = ["filtered", "prefixed", "renamed_by", "with_risk"]

_LOG = logging.getLogger("loopwright.toolset")


class _View(Toolset):
    """What `see` makes of the tools of another toolset."""

    def __init__(self, behind: Toolset, see: Callable[[list[Tool[..., Any]]], list[Tool[..., Any]]]) -> None:
        self.behind, self.see = behind, see
        self.name, self.required = behind.name, behind.required

    async def tools(self) -> Sequence[Tool[..., Any]]:
        return self.see(list(await self.behind.tools()))

    async def aclose(self) -> None:
        await self.behind.aclose()

    def __repr__(self) -> str:
        return f"<view of {self.behind!r}>"


def prefixed(behind: Toolset, prefix: str) -> Toolset:
    """All tools as `prefix_name`."""
    if not isinstance(prefix, str) or not is_valid_name(prefix):
        message = f"{prefix!r} is no prefix for tools: 1 to 64 letters, digits, '_' and '-'"
        raise ToolDefinitionError(message, hint=f"try {suggest_name(str(prefix))!r}")
    return _View(behind, lambda tools: [renamed(tool, suggest_name(f"{prefix}_{tool.name}")) for tool in tools])


def renamed_by(behind: Toolset, names: Mapping[str, str]) -> Toolset:
    """Some tools under other names."""
    wrong = next((new for new in names.values() if not isinstance(new, str) or not is_valid_name(new)), None)
    if wrong is not None:
        message = f"{wrong!r} is no name for a tool: 1 to 64 letters, digits, '_' and '-'"
        raise ToolDefinitionError(message, hint=f"try {suggest_name(str(wrong))!r}")

    def see(tools: list[Tool[..., Any]]) -> list[Tool[..., Any]]:
        _tell_unknown(behind, set(names), tools)
        return [renamed(tool, names[tool.name]) if tool.name in names else tool for tool in tools]

    return _View(behind, see)


def filtered(behind: Toolset, keep: Callable[[Tool[..., Any]], bool]) -> Toolset:
    """The tools of which `keep` is true."""
    if not callable(keep):
        message = f"{keep!r} is no function of a tool"
        raise ToolDefinitionError(message, hint="give one that says of a tool whether it is offered")
    return _View(behind, lambda tools: [tool for tool in tools if keep(tool)])


def with_risk(behind: Toolset, risk: RiskLevel, names: Sequence[str]) -> Toolset:
    """The tools of those names, or all, with another risk."""
    from ._tool import _RISKS

    if risk not in _RISKS:
        message = f"{risk!r} is no risk"
        raise ToolDefinitionError(message, hint=f"one of {', '.join(_RISKS)}")

    def see(tools: list[Tool[..., Any]]) -> list[Tool[..., Any]]:
        _tell_unknown(behind, set(names), tools)
        return [at_risk(tool, risk) if not names or tool.name in names else tool for tool in tools]

    return _View(behind, see)


def _tell_unknown(behind: Toolset, names: set[str], tools: list[Tool[..., Any]]) -> None:
    for name in sorted(names - {tool.name for tool in tools}):
        _LOG.warning("%s has no tool named %r", behind.name, name)
