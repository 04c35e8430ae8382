"""Histories of LangChain as messages of ours, and back."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

from langchain_core import messages as theirs

from loopwright import Document, Messages, UsageError
from loopwright.adapters._history import KEPT, from_ours, to_ours
from loopwright.messages import Image, Message, PlainText, Text, Thinking, ToolResult, ToolUse, Url

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from loopwright.messages import Block

__all__ = ["FORM", "blocks_of_text", "content_of", "from_messages", "to_messages"]


def to_messages(messages: Iterable[Message | Mapping[str, Any]]) -> list[theirs.BaseMessage]:
    """A history for LangChain: messages of ours, or dicts of any provider.

    Nothing is lost: what LangChain has no place for stands in `additional_kwargs`, where `from_messages` finds it.
    """
    return from_ours(FORM, Messages(messages))


def from_messages(history: Sequence[theirs.BaseMessage]) -> Messages:
    """The messages of a history of LangChain (`state["messages"]`), for `Agent.run(messages=...)` and all else.

    Nothing is lost: `to_messages` gives the very history back, ids and usage included.
    """
    return Messages(to_ours(FORM, list(history)))


class _Form:
    """Messages as LangChain writes them."""

    name = "langchain"

    def read(self, message: theirs.BaseMessage) -> list[Message]:
        if isinstance(message, theirs.AIMessage):
            return [Message("assistant", (*_of_answer(message.content), *_calls(message)))]
        if isinstance(message, theirs.SystemMessage):
            return [Message.system(message.text)]
        said = _of_user(message)
        if isinstance(message, theirs.ToolMessage):
            name = message.name or ""
            return [
                Message("user", (ToolResult(message.tool_call_id, name, said, is_error=message.status == "error"),))
            ]
        if isinstance(message, theirs.HumanMessage):
            return [Message("user", said)]
        message_ = f"a {type(message).__name__} has no form that a model here can be sent"
        raise UsageError(message_, "unsupported_message", "send system, human, AI and tool messages")

    def write(self, message: Message) -> list[theirs.BaseMessage]:
        if message.role == "assistant":
            return [answered(message)]
        if message.role != "user":
            return [theirs.SystemMessage(message.text)]
        found: list[theirs.BaseMessage] = []
        said: list[Block] = []
        for block in message.content:
            if isinstance(block, ToolResult):
                status = "error" if block.is_error else "success"
                content = content_of(block.content)
                found.append(theirs.ToolMessage(content, tool_call_id=block.call_id, name=block.name, status=status))
            else:
                said.append(block)
        return [*found, *([theirs.HumanMessage(content_of(said))] if said or not found else [])]

    def dump(self, message: theirs.BaseMessage) -> dict[str, Any]:
        return theirs.messages_to_dict([message])[0]

    def load(self, dumped: dict[str, Any]) -> theirs.BaseMessage:
        return theirs.messages_from_dict([dumped])[0]

    def kept(self, message: theirs.BaseMessage) -> dict[str, Any] | None:
        return message.additional_kwargs.get(KEPT)

    def keep(self, message: theirs.BaseMessage, ours: dict[str, Any]) -> theirs.BaseMessage:
        return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, KEPT: ours}})


FORM = _Form()


def answered(message: Message) -> theirs.AIMessage:
    """An answer as LangChain has it."""
    uses, broken = [], []
    for use in message.tool_uses:
        call = {"id": use.call_id, "name": use.name}
        if use.invalid is None:
            uses.append({**call, "args": use.arguments, "type": "tool_call"})
        else:
            broken.append({**call, "args": use.invalid, "error": None, "type": "invalid_tool_call"})
    return theirs.AIMessage(content=blocks_of_text(message), tool_calls=uses, invalid_tool_calls=broken)


def blocks_of_text(message: Message) -> Any:
    """What an answer says beside its calls."""
    found: list[dict[str, Any]] = []
    for block in message.content:
        if isinstance(block, Text):
            found.append({"type": "text", "text": block.text})
        elif isinstance(block, Thinking):
            found.append({"type": "reasoning", "reasoning": block.text})
    return _plain(found)


def content_of(blocks: Sequence[Block]) -> Any:
    """Blocks as LangChain's content: text where that is all, standard blocks otherwise."""
    return _plain([_content(block) for block in blocks])


def _plain(found: list[dict[str, Any]]) -> Any:
    if not found:
        return ""
    return found[0]["text"] if len(found) == 1 and found[0]["type"] == "text" else found


def _content(block: Block) -> dict[str, Any]:
    """A block in LangChain's form; of what has none, its name."""
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, (Image, Document)):
        kind = {"type": "image" if isinstance(block, Image) else "file"}
        if isinstance(block.source, Url):
            return {**kind, "url": block.source.url}
        if isinstance(block.source, PlainText):
            return {"type": "text", "text": block.source.data}
        if block.data is not None:
            mime = block.media_type or "application/octet-stream"
            return {**kind, "base64": b64encode(block.data).decode(), "mime_type": mime}
    name = getattr(block, "name", None) or getattr(block, "kind", None) or type(block).__name__.lower()
    return {"type": "text", "text": f"[{name}]"}


def _calls(message: theirs.AIMessage) -> list[ToolUse]:
    found = [ToolUse(call["id"] or "", call["name"], _written(call["args"])) for call in message.tool_calls]
    broken = [
        ToolUse(call["id"] or "", call["name"] or "", "{}", call["args"] or "") for call in message.invalid_tool_calls
    ]
    return found + broken


def _written(arguments: Any) -> str:
    """Arguments as models mostly write them."""
    return json.dumps(arguments, separators=(",", ":"), ensure_ascii=False)


def _of_answer(content: Any) -> list[Block]:
    """What an answer says; nothing of what a provider ran itself, whose calls stand elsewhere."""
    found: list[Block] = []
    for each in [content] if isinstance(content, str) else content:
        if isinstance(each, str):
            found.extend([Text(each)] if each else [])
        elif each.get("type") == "text":
            found.append(Text(each.get("text", "")))
        elif each.get("type") in ("reasoning", "thinking"):
            found.append(Thinking(each.get("reasoning") or each.get("thinking") or ""))
    return found


def _of_user(message: theirs.BaseMessage) -> tuple[Block, ...]:
    if isinstance(message.content, str):
        return (Text(message.content),) if message.content else ()
    return tuple(_block(each) for each in message.content_blocks)


def _block(each: Any) -> Block:
    kind = each.get("type")
    if kind == "text":
        return Text(each["text"])
    data = each.get("base64")
    if kind == "image" and data:
        return Image.from_bytes(b64decode(data), each.get("mime_type"))
    if kind == "image" and each.get("url"):
        return Image.from_url(each["url"])
    if kind == "file" and data:
        return Document.from_bytes(b64decode(data), each.get("mime_type"))
    if kind == "file" and each.get("url"):
        return Document.from_url(each["url"])
    if kind == "text-plain" and each.get("text"):
        return Document.from_text(each["text"])
    message = f"content of the type {str(kind)[:40]!r} has no form that a model here can be sent"
    raise UsageError(message, "unsupported_content", "send text, pictures or documents")
