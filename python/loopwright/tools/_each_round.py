"""What a run offers of toolsets that are asked before each of its requests.

What they give is an event of the run, where it is another thing than before: a replay asks nobody, and a run that is
resumed knows what it was told of.
"""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Any

from loopwright.hooks import Hook
from loopwright.hooks._answers import Offer

from ._offered import asked, merged, recalled
from ._sets import ASKING
from ._toolset import ToolSet, told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from loopwright._driver import Driver
    from loopwright.hooks import HookContext

    from ._sets import Places
    from ._tool import Tool

__all__ = ["EachRound"]

_LONGEST = 60.0
"""Seconds that all toolsets have together."""
_EACH = 30.0
"""Seconds that one has; then the run goes on without its tools."""


class EachRound:
    """The tools that a run and its sub-agents were offered last, by the path of the sub-agent."""

    __slots__ = ("_places", "_texts", "_tools")

    def __init__(self, places: Places) -> None:
        self._places = places
        self._tools: dict[str | None, Mapping[str, Tool[..., Any, Any]]] = {}
        self._texts: dict[str | None, str] = {}

    def hook(self, driver: Driver, command_id: int | None) -> Hook | None:
        """Who is asked before a request of that turn; `None` where nobody is."""
        kind, path = driver.kind_of(command_id), driver.who(command_id)[1]
        if kind not in self._places:
            return None
        own = driver.at(command_id).tools
        return Hook("pre_llm", partial(self._ask, kind, path, own), timeout=_LONGEST, on_error="stop", name="tools")

    async def _ask(
        self, kind: str, path: str | None, own: Mapping[str, Tool[..., Any, Any]], context: HookContext
    ) -> Offer | None:
        from loopwright._instructions import run_context

        run = run_context(context)
        _, sets = self._places[kind]
        token = ASKING.set(run)
        try:
            listed = await asyncio.gather(*(asked(each, run, _EACH) for each in sets))
        finally:
            ASKING.reset(token)
        tools = [
            tool for tool in merged(ToolSet(own.values()), list(zip(sets, listed, strict=True))) if tool.name not in own
        ]
        text = json.dumps([told(tool) for tool in tools])
        self._tools[path] = {tool.name: tool for tool in tools}
        if self._texts.get(path) == text:
            return None
        self._texts[path] = text
        return Offer(text)

    def tool(self, driver: Driver, command_id: int | None, name: str) -> Tool[..., Any, Any] | None:
        """A tool that the turn was offered: in a run that was resumed it is looked for when it is called."""
        kind, path = driver.kind_of(command_id), driver.who(command_id)[1]
        found = self._tools.get(path, {}).get(name)
        if found is not None:
            return found
        definition = driver.run.tool_of(command_id or 0, name)
        return None if definition is None else recalled(json.loads(definition), self._places.get(kind, (None, ()))[1])
