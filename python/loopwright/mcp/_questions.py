"""What a server asks in the middle of a call, put to whoever approves the run's calls.

Both eras ask alike here: by a request of its own (2025-11-25), or by a result that wants more (2026-07-28).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopwright._approval import Approval, Edit, decision_of
from loopwright.cli.text import clean

if TYPE_CHECKING:
    from loopwright.tools import Context

__all__ = ["answered"]

_LONGEST = 1_000


async def answered(server: str, context: Context[Any] | None, params: Any, seconds: float) -> Any:
    """The answer to a question of a server: values that a person gave with `Edit`, a yes that the defaults suffice for,
    or a no. Where nobody is there to ask it is declined.
    """
    from mcp_types import ElicitResult

    if context is None:
        return ElicitResult(action="decline")
    said = await context.ask(_question(server, context, params, seconds))
    if isinstance(said, Edit):
        content = _fitting(said.arguments, params)
        return ElicitResult(action="cancel") if content is None else ElicitResult(action="accept", content=content)
    decision = decision_of(said)[0]
    if decision == "abort":
        return ElicitResult(action="cancel")
    if decision not in ("allow", "remembered"):
        return ElicitResult(action="decline")
    if params.mode == "url":
        return ElicitResult(action="accept")
    content = _fitting(_defaults(params), params)
    return ElicitResult(action="cancel") if content is None else ElicitResult(action="accept", content=content)


def _question(server: str, context: Context[Any], params: Any, seconds: float) -> Approval:
    said = clean(params.message)[:_LONGEST]
    if params.mode == "url":
        arguments: dict[str, Any] = {"url": clean(params.url)}
        why = f"the server {server!r} asks you to open this address: {said}"
    else:
        arguments = {name: each.get("default") for name, each in _fields(params).items()}
        why = f"the server {server!r} asks: {said} (answer with Edit({{...}}))"
    return Approval(f"{server} asks", arguments, "confirm", why, context.call_id, seconds)


def _fields(params: Any) -> dict[str, Any]:
    fields = params.requested_schema.get("properties", {})
    return {name: each for name, each in fields.items() if isinstance(each, dict)} if isinstance(fields, dict) else {}


def _defaults(params: Any) -> dict[str, Any]:
    return {name: each["default"] for name, each in _fields(params).items() if each.get("default") is not None}


def _fitting(given: Any, params: Any) -> dict[str, Any] | None:
    """What was given, without what was not asked for; nothing where something is missing."""
    if params.mode == "url" or not isinstance(given, dict):
        return None
    fields = _fields(params)
    found = {name: value for name, value in given.items() if name in fields and value is not None}
    found = {**_defaults(params), **found}
    return found if all(name in found for name in params.requested_schema.get("required", ())) else None
