"""Tools that are declared by a name, a description and a JSON schema, as other programs list theirs.

There is no Python function whose hints say what arguments there are: one coroutine function takes them all as they
came.
"""

from __future__ import annotations

import copy
import inspect
from typing import TYPE_CHECKING, Any

from loopwright._dataclasses import dataclass

from ._errors import InvalidArguments
from ._problems import summary
from ._tool import Tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from ._context import RunContext
    from ._tool import Effect, RiskLevel, Trust

__all__ = ["DeclaredTool", "asked_about", "at_risk", "deferred", "definition_of", "found", "renamed"]


class DeclaredTool(Tool[..., Any, Any]):
    """A tool whose schema was given: `serve` is awaited with its arguments, a dict, and the call's `RunContext`."""

    def __init__(
        self,
        serve: Callable[[dict[str, Any], RunContext[Any]], Awaitable[Any]],
        *,
        name: str,
        description: str,
        schema: dict[str, Any],
        risk: RiskLevel | None = None,
        read_only: bool = False,
        idempotent: bool | None = None,
        timeout: float | None = None,
        max_output: int | None = None,
        trust: Trust | None = None,
        effects: Iterable[Effect] | None = None,
        origin: str | None = None,
    ) -> None:
        async def served(arguments: dict[str, Any], context: RunContext[Any]) -> Any:
            return await serve(arguments, context)

        super().__init__(
            served,
            name=name,
            description=description,
            risk=risk,
            read_only=read_only,
            idempotent=idempotent,
            timeout=timeout,
            max_output=max_output,
            trust=trust,
            effects=effects,
        )
        self.__doc__ = description
        self._schema = schema
        self._origin = origin

    @property
    def description(self) -> str:
        """What it does, for the model."""
        return self._description or ""

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the arguments. Do not change it: it is shared."""
        return self._schema

    @property
    def is_async(self) -> bool:
        """Always: `serve` is awaited."""
        return True

    @property
    def context_parameter(self) -> str | None:
        """Every call is told its `RunContext`."""
        return "context"

    @property
    def location(self) -> str:
        """Where it comes from."""
        return self._origin or super().location

    def bind(self, arguments: object) -> dict[str, Any]:
        """The arguments as they are; whoever declared the schema checks them. Raises `InvalidArguments` for what is no
        JSON object.
        """
        if not isinstance(arguments, dict):
            problem = {"where": "arguments", "what": "must be a JSON object", "got": type(arguments).__name__}
            raise InvalidArguments(summary(f"the arguments of {self.name!r} do not fit", [problem]), problems=[problem])
        return {"arguments": arguments}


def renamed(tool: Tool[..., Any, Any], name: str) -> Tool[..., Any, Any]:
    """`tool` under another name; the same object each time it is asked for."""
    return _altered(tool, "name", name)


def at_risk(tool: Tool[..., Any, Any], risk: RiskLevel) -> Tool[..., Any, Any]:
    """`tool` with another risk; the same object each time it is asked for."""
    return tool if tool.risk == risk else _altered(tool, "risk", risk)


def found(tool: Tool[..., Any, Any]) -> Tool[..., Any, Any]:
    """`tool` for a model that has to find it; the same object each time it is asked for."""
    return tool if tool.is_found else _altered(tool, "is_found", value=True)


def deferred(tool: Tool[..., Any, Any]) -> Tool[..., Any, Any]:
    """`tool` whose work is done elsewhere; the same object each time it is asked for."""
    return tool if tool.is_deferred else _altered(tool, "is_deferred", value=True)


def asked_about(tool: Tool[..., Any, Any], asks: bool | Callable[..., Any]) -> Tool[..., Any, Any]:  # noqa: FBT001
    """`tool` with calls about which a person is asked; the same object each time it is asked for. Of two functions that
    say about which, either may.
    """
    if tool.asks is True or tool.asks == asks:
        return tool
    if callable(tool.asks) and callable(asks):
        asks = _Either(tool.asks, asks)
    return _altered(tool, "asks", asks)


@dataclass(frozen=True)
class _Either:
    """Asks where one of two does."""

    one: Callable[..., Any]
    other: Callable[..., Any]

    async def __call__(self, context: RunContext[Any], call: Any) -> bool:
        for each in (self.one, self.other):
            said = each(context, call)
            if await said if inspect.isawaitable(said) else said:
                return True
        return False


def _altered(tool: Tool[..., Any, Any], field: str, value: object) -> Tool[..., Any, Any]:
    known: dict[tuple[str, object], Tool[..., Any, Any]] = tool.__dict__.setdefault("_altered", {})
    if (field, value) not in known:
        other = copy.copy(tool)
        # What was made of the tool itself is not made of its copy.
        other.__dict__.pop("_altered", None)
        setattr(other, field, value)
        known[field, value] = other
    return known[field, value]


def definition_of(tool: Tool[..., Any, Any]) -> tuple[str, dict[str, Any]]:
    """What a model was told of a tool, its name aside: two tools of one definition are the same to it."""
    return tool.description, tool.schema
