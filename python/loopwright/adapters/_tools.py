"""What agents of others need to know of our tools and of what their calls give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopwright import Message

if TYPE_CHECKING:
    from loopwright import Tool
    from loopwright.messages import Block
    from loopwright.tools import Outcome

__all__ = ["blocks_of", "is_asked_about"]

_UNASKED = ("safe", "cautious")


def is_asked_about(tool: Tool[..., Any, Any]) -> bool:
    """Whether a person is asked before each call of it."""
    return tool.risk not in _UNASKED or tool.asks is True


def blocks_of(outcome: Outcome) -> tuple[Block, ...]:
    """What the model reads of a call, failures included."""
    return Message.from_dict({"role": "user", "content": outcome.content}).content
