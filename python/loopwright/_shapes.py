"""Histories of dicts that come back as they are: which shape they are in, and whether it has what they hold.

A history is of one shape. What the shape does not have is an error that names the message and the key, never an empty
message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ._any_messages import in_form, readable
from ._json import written as dumped
from .errors import UsageError
from .messages import Message

__all__ = ["SHAPES", "known_shape", "read_in", "writer_of", "written_in"]

SHAPES = ("canonical", "anthropic", "openai_chat")
"""The shapes of messages: `Message` objects or dicts in our own form, Anthropic's, Chat Completions'."""


def read_in(messages: Iterable[Any], shape: str | None, first: int = 0) -> tuple[list[Any], str]:
    """Messages and their shape; of the Responses API and Gemini, as `Message` objects. The first has the index `first`
    in errors.
    """
    given = _listed(messages)
    if shape is None:
        given = readable(given)
        return given, _shape(given)
    in_form(given, known_shape(shape), first)
    return given, shape


def _listed(messages: Iterable[Any]) -> list[Any]:
    if isinstance(messages, (str, bytes, Mapping, Message)) or not isinstance(messages, Iterable):
        message = f"messages are a list of messages, not {type(messages).__name__}"
        raise UsageError(message, "invalid_messages", "put it into a list")
    return list(messages)


def known_shape(shape: str) -> str:
    if shape in SHAPES:
        return shape
    message = f"there is no shape {shape!r}"
    raise UsageError(message, "unknown_shape", f"use one of {', '.join(SHAPES)}")


def _shape(messages: Sequence[Any]) -> str:
    """The shape of messages, where their members or their blocks tell it."""
    if messages and isinstance(messages[0], Message):
        return "canonical"
    for message in messages:
        if not isinstance(message, Mapping):
            continue
        if message.get("role") in {"tool", "function"} or "tool_calls" in message or "function_call" in message:
            return "openai_chat"
        content = message.get("content")
        found = [_shape_of_block(block) for block in content] if isinstance(content, (list, tuple)) else []
        known = next(filter(None, found), None)
        if known is not None:
            return known
    system = any(
        isinstance(message, Mapping) and message.get("role") in {"system", "developer"} for message in messages
    )
    # Instructions stand inside the history on Chat Completions alone; bare texts are the same on both.
    return "openai_chat" if system else "anthropic"


def _shape_of_block(block: object) -> str | None:
    """The shape that a block can only have, if there is but one."""
    if not isinstance(block, Mapping):
        return None
    kind = block.get("type")
    if kind in {"image_url", "input_audio", "file", "refusal"}:
        return "openai_chat"
    if (
        kind == "provider"
        or (kind == "tool_result" and "tool_use_id" not in block)
        or (kind == "thinking" and "thinking" not in block)
    ):
        return "canonical"
    if kind in {"thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document"}:
        return "anthropic"
    return None


def _plain(message: Any) -> Any:
    if isinstance(message, Mapping):
        return message if isinstance(message, dict) else dict(message)
    shown = f"a message is a Message or a dict, not {type(message).__name__}"
    raise UsageError(shown, "invalid_messages", "give Message.user('…'), or a dict with role and content")


def writer_of(messages: list[Any], shape: str) -> Callable[[Any, int], str]:
    """How a message of this history is written where it is not read as it is."""
    if not messages or isinstance(messages[0], Message):
        return written_in

    def of_dicts(message: Any, at: int) -> str:
        if isinstance(message, Message):
            shown = f"message {at} is a Message; this history is one of dicts ({shape})"
            raise UsageError(shown, "invalid_messages", "give messages of one shape")
        return written_in(message, at)

    return of_dicts


def written_in(message: Any, at: int) -> str:
    """The JSON text of a message."""
    if isinstance(message, Message):
        try:
            return message.to_json()
        except UsageError as error:
            shown = f"message {at}: {error.message}"
            raise UsageError(shown, error.code, error.hint) from None
    if not isinstance(message, Mapping):
        shown = f"message {at} is a {type(message).__name__}, and no message"
        raise UsageError(shown, "invalid_messages", "give messages of one shape: Message objects or dicts")
    content = message.get("content")
    parts = content if isinstance(content, (list, tuple)) else ()
    for own in (message, *(part for part in parts if isinstance(part, Mapping))):
        wrong = next((key for key in own if not isinstance(key, str)), None)
        if wrong is not None:
            shown = f"message {at} has a key that is no text: {wrong!r}"
            raise UsageError(shown, "invalid_message", "use dicts with text as keys, lists, text, numbers")
    return dumped(_plain(message), f"message {at}")
