"""Histories of pydantic-ai as messages of ours, and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic_ai import messages as theirs

from loopwright import Document, Messages, UsageError
from loopwright._dataclasses import replace
from loopwright.adapters._history import KEPT, from_ours, to_ours
from loopwright.messages import Image, Message, PlainText, Text, Thinking, ToolResult, ToolUse, Url

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from loopwright.messages import Block

__all__ = ["FORM", "content_of", "from_messages", "parts_of", "to_messages"]


def to_messages(messages: Iterable[Message | Mapping[str, Any]]) -> list[theirs.ModelMessage]:
    """A history for pydantic-ai (`message_history=`): messages of ours, or dicts of any provider.

    Nothing is lost: what pydantic-ai has no place for stands in the metadata of its messages, where `from_messages`
    finds it.
    """
    return from_ours(FORM, Messages(messages))


def from_messages(history: Sequence[theirs.ModelMessage]) -> Messages:
    """The messages of a history of pydantic-ai (`result.all_messages()`), for `Agent.run(messages=...)` and all else.

    Nothing is lost: `to_messages` gives the very history back, times and usage included.
    """
    return Messages(to_ours(FORM, list(history)))


class _Form:
    """Messages as pydantic-ai writes them."""

    name = "pydantic_ai"

    def read(self, message: theirs.ModelMessage) -> list[Message]:
        if isinstance(message, theirs.ModelResponse):
            blocks = [block for part in message.parts if (block := _of_answer(part)) is not None]
            return [Message("assistant", tuple(blocks))]
        found: list[Message] = []
        said: list[Block] = []
        for part in message.parts:
            if isinstance(part, theirs.SystemPromptPart):
                found.extend([Message("user", tuple(said))] if said else [])
                said = []
                found.append(Message.system(part.content))
            else:
                said.extend(_of_request(part))
        return [*found, Message("user", tuple(said))] if said or not found else found

    def write(self, message: Message) -> list[theirs.ModelMessage]:
        if message.role == "assistant":
            return [theirs.ModelResponse(parts=parts_of(message))]
        if message.role != "user":
            return [theirs.ModelRequest(parts=[theirs.SystemPromptPart(content=message.text)])]
        parts: list[theirs.ModelRequestPart] = []
        said: list[Any] = []
        for block in message.content:
            if isinstance(block, ToolResult):
                parts.extend(_prompt(said))
                said = []
                parts.append(_returned(block))
            else:
                said.append(_content(block))
        return [theirs.ModelRequest(parts=[*parts, *_prompt(said)])]

    def dump(self, message: theirs.ModelMessage) -> dict[str, Any]:
        found: list[dict[str, Any]] = theirs.ModelMessagesTypeAdapter.dump_python([message], mode="json")
        return found[0]

    def load(self, dumped: dict[str, Any]) -> theirs.ModelMessage:
        return theirs.ModelMessagesTypeAdapter.validate_python([dumped])[0]

    def kept(self, message: theirs.ModelMessage) -> dict[str, Any] | None:
        return (message.metadata or {}).get(KEPT)

    def keep(self, message: theirs.ModelMessage, ours: dict[str, Any]) -> theirs.ModelMessage:
        return replace(message, metadata={**(message.metadata or {}), KEPT: ours})


FORM = _Form()


def _of_answer(part: theirs.ModelResponsePart) -> Block | None:
    """A part of an answer; nothing of what a provider ran itself."""
    if isinstance(part, theirs.TextPart):
        return Text(part.content)
    if isinstance(part, theirs.ThinkingPart):
        return Thinking(part.content, part.signature)
    if not isinstance(part, theirs.ToolCallPart):
        return None
    written = part.args if isinstance(part.args, str) else json.dumps(part.args or {})
    try:
        invalid = None if isinstance(json.loads(written or "{}"), dict) else written
    except ValueError:
        invalid = written
    return ToolUse(part.tool_call_id, part.tool_name, "{}" if invalid else written or "{}", invalid)


def _of_request(part: theirs.ModelRequestPart) -> list[Block]:
    """What a part of a request says; nothing of what is no word to the model."""
    if isinstance(part, theirs.UserPromptPart):
        given = [part.content] if isinstance(part.content, str) else part.content
        return [block for each in given if (block := _of_user(each)) is not None]
    if isinstance(part, theirs.ToolReturnPart):
        return [_result(part)]
    # Retries have several classes, by the version; all of them have words for the model.
    words = getattr(part, "model_response", None)
    if words is None:
        return []
    name = getattr(part, "tool_name", None)
    said = Text(words())
    return [said if name is None else ToolResult(part.tool_call_id, name, (said,), is_error=True)]


def _result(part: theirs.ToolReturnPart) -> ToolResult:
    several = part.content if isinstance(part.content, (list, tuple)) else [part.content]
    files = (theirs.FileUrl, theirs.BinaryContent)
    if any(isinstance(each, files) for each in several):
        blocks = [
            _of_user(each) if isinstance(each, files) else Text(each if isinstance(each, str) else json.dumps(each))
            for each in several
        ]
        content = tuple(block for block in blocks if block is not None)
    else:
        content = (Text(part.model_response_str()),)
    return ToolResult(part.tool_call_id, part.tool_name, content, is_error=part.outcome != "success")


def _of_user(content: Any) -> Block | None:
    if isinstance(content, str):
        return Text(content)
    if isinstance(content, theirs.TextContent):
        return Text(content.content)
    if isinstance(content, theirs.ImageUrl):
        return Image.from_url(content.url)
    if isinstance(content, theirs.DocumentUrl):
        return Document.from_url(content.url)
    if isinstance(content, theirs.BinaryContent) and content.is_image:
        return Image.from_bytes(content.data, content.media_type)
    if isinstance(content, theirs.BinaryContent) and content.is_document:
        return Document.from_bytes(content.data, content.media_type)
    if isinstance(content, theirs.CachePoint):
        return None
    message = f"a {type(content).__name__} has no form that a model here can be sent"
    raise UsageError(message, "unsupported_content", "send text, pictures or documents")


def parts_of(message: Message) -> list[theirs.ModelResponsePart]:
    """The parts of an answer."""
    parts: list[theirs.ModelResponsePart] = []
    for block in message.content:
        if isinstance(block, Text):
            parts.append(theirs.TextPart(content=block.text))
        elif isinstance(block, Thinking):
            # The framework may show a signature to the model it is of alone.
            name = KEPT if block.signature else None
            parts.append(theirs.ThinkingPart(content=block.text, signature=block.signature, provider_name=name))
        elif isinstance(block, ToolUse):
            args = block.arguments_json if block.invalid is None else block.invalid
            parts.append(theirs.ToolCallPart(tool_name=block.name, args=args, tool_call_id=block.call_id))
    return parts


def content_of(blocks: Sequence[Block]) -> Any:
    """Blocks of a tool's result as pydantic-ai's tools give them."""
    if all(isinstance(each, Text) for each in blocks):
        return "".join(each.text for each in blocks if isinstance(each, Text))
    return [_content(each) for each in blocks]


def _returned(block: ToolResult) -> theirs.ToolReturnPart:
    outcome = "failed" if block.is_error else "success"
    return theirs.ToolReturnPart(
        tool_name=block.name, content=content_of(block.content), tool_call_id=block.call_id, outcome=outcome
    )


def _prompt(said: list[Any]) -> list[theirs.UserPromptPart]:
    if not said:
        return []
    return [theirs.UserPromptPart(content=said[0] if len(said) == 1 and isinstance(said[0], str) else said)]


def _content(block: Block) -> Any:
    """A block as pydantic-ai's users write it; of what they can't, its name."""
    if isinstance(block, Text):
        return block.text
    if isinstance(block, (Image, Document)):
        if isinstance(block.source, Url):
            kind = theirs.ImageUrl if isinstance(block, Image) else theirs.DocumentUrl
            return kind(url=block.source.url)
        if isinstance(block.source, PlainText):
            return block.source.data
        if block.data is not None:
            return theirs.BinaryContent(data=block.data, media_type=block.media_type or "application/octet-stream")
    return f"[{getattr(block, 'name', None) or getattr(block, 'kind', None) or type(block).__name__.lower()}]"
