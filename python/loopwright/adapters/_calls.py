"""Calls that a model wrote into its text, as calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from loopwright._dataclasses import replace
from loopwright.extraction import extract
from loopwright.messages import Message, Text, ToolUse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["with_calls"]


def with_calls(message: Message, tools: Iterable[Any] | Mapping[str, Any] | None) -> Message:
    """The answer with the calls that its text holds. One that has calls of its own stays as it is."""
    if message.tool_uses or not message.text:
        return message
    found = extract(message.text, tools)
    if not found.calls:
        return message
    uses = [
        ToolUse.of(call.call_id or f"call_{uuid4().hex[:12]}", call.name, call.arguments)
        for call in found.calls
        if call.complete
    ]
    rest = [block for block in message.content if not isinstance(block, Text)]
    said = [Text(found.prose.strip())] if found.prose.strip() else []
    return replace(message, content=(*rest, *said, *uses))
