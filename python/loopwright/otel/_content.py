"""What was said, in the form of the conventions, without secrets."""

from __future__ import annotations

import json
import re
from typing import Any

from loopwright.guard import redact, redact_json

__all__ = ["excerpt", "messages", "output", "plain", "shown", "tools"]

_EXCERPT = 200
"""Characters of the excerpts of results."""
_LAST_WORD = re.compile(r"[\w.+/=~%-]{8,}…?\Z")


def shown(value: Any) -> str:
    """A value as JSON, without secrets."""
    return redact_json(json.dumps(value, ensure_ascii=False, default=str))


def plain(text: object) -> str:
    """A text, without secrets."""
    return redact(str(text))


def excerpt(text: str) -> str:
    """The beginning of a text, without secrets: a word that the cut may have parted is left out, since half a key is
    not known as one.
    """
    whole = len(text) < _EXCERPT
    return redact(text if whole else _LAST_WORD.sub("…", text))


def messages(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages of requests."""
    return [{"role": _role(message), "parts": _parts(message)} for message in given]


def output(message: dict[str, Any], finish: str) -> list[dict[str, Any]]:
    """The message of an answer, and why it ended."""
    return [{"role": "assistant", "parts": _parts(message), "finish_reason": finish}]


def tools(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools of a request."""
    known = ("name", "description")
    found = [each.get("function", each) for each in given]
    return [{"type": "function", **{name: each[name] for name in known if name in each}} for each in found]


def _role(message: dict[str, Any]) -> str:
    blocks = message.get("content") or []
    results = [isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks]
    return "tool" if results and all(results) else str(message.get("role", "user"))


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "content": content}]
    return [_part(block) for block in content or []]


def _part(block: dict[str, Any]) -> dict[str, Any]:
    kind = block.get("type")
    if kind == "text":
        return {"type": "text", "content": block.get("text", "")}
    if kind == "thinking":
        return {"type": "reasoning", "content": block.get("text", "")}
    if kind == "tool_use":
        return {
            "type": "tool_call",
            "id": block.get("id"),
            "name": block.get("name"),
            "arguments": block.get("input"),
        }
    if kind == "tool_result":
        inner = [part.get("text", "") for part in block.get("content") or [] if isinstance(part, dict)]
        return {"type": "tool_call_response", "id": block.get("id"), "response": "".join(inner)}
    # Pictures and documents are named, not told.
    return {"type": str(kind)}
