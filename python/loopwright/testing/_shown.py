"""A run in a few lines, for the report of a test that failed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from loopwright.guard import redact

if TYPE_CHECKING:
    from loopwright.result import Result

__all__ = ["shown"]

_WIDTH = 100
_MESSAGES = 12


def shown(result: Result[Any]) -> str:
    """The run: what was said, called and given, without secrets."""
    usage = result.usage
    head = f"run {result.run_id}: {result.rounds} rounds, {usage.total_tokens} tokens, {result.stop_reason}"
    messages = list(result.messages)
    left = len(messages) - _MESSAGES
    lines = [head, *([f"  ... {left} messages before"] if left > 0 else [])]
    for message in messages[-_MESSAGES:]:
        said = [_call(call.name, call.arguments) for call in message.tool_uses]
        given = [f"{'failed: ' if each.is_error else ''}{_text(each)}" for each in message.tool_results]
        if message.text:
            said.insert(0, message.text)
        role = "tool" if given else str(message.role)
        lines.extend(_line(role, text) for text in (*said, *given))
    if result.error is not None:
        lines.append(_line("error", f"{type(result.error).__name__}: {result.error}"))
    return redact("\n".join(lines))


def _line(role: str, text: str) -> str:
    # Redacted before it is cut: half a key is no key that anybody finds.
    flat = " ".join(redact(text).split())
    return f"  {role:<10} {flat if len(flat) <= _WIDTH else flat[: _WIDTH - 1] + '…'}"


def _call(name: str, arguments: Any) -> str:
    if isinstance(arguments, dict):
        return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
    return f"{name}({arguments!r})"


def _text(result: Any) -> str:
    content = result.content
    if isinstance(content, str):
        return content
    return " ".join(getattr(block, "text", None) or json.dumps(str(block)) for block in content)
