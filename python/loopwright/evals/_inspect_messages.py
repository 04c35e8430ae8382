"""Messages of `inspect-ai` as ours, and ours as those of its log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopwright.errors import UsageError
from loopwright.result import Messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from loopwright.messages import Message
    from loopwright.models import Response

__all__ = ["answer_of", "conversation", "from_ours", "output_of", "tools_of"]

_STOPS = {
    "tool_use": "tool_calls",
    "max_tokens": "max_tokens",
    "context_window": "model_length",
    "content_filter": "content_filter",
    "refusal": "content_filter",
}
_GO_ON = "Go on."


def conversation(messages: Iterable[Any]) -> tuple[Messages, Message, str | None]:
    """What was said before, the prompt, and the instructions, of the messages of a sample."""
    from loopwright.messages import Message

    said, system = [], []
    for message in messages:
        if message.role == "system":
            system.append(message.text)
            continue
        told: dict[str, Any] = {"role": message.role, "content": _content(message)}
        if message.role == "tool":
            told["tool_call_id"] = message.tool_call_id or ""
        if message.role == "assistant" and message.tool_calls:
            told["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.function, "arguments": call.arguments}}
                for call in message.tool_calls
            ]
        said.append(told)
    prompt = Message.user(_GO_ON)
    if said and said[-1]["role"] == "user":
        prompt = Messages([said.pop()])[0]
    return Messages(_with_written_arguments(said)), prompt, "\n\n".join(system) or None


def _with_written_arguments(said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same, with arguments as text, as the form of Chat Completions has them."""
    import json

    for message in said:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.dumps(call["function"]["arguments"])
    return said


def _content(message: Any) -> str | list[dict[str, Any]]:
    if isinstance(message.content, str):
        return message.content
    parts: list[dict[str, Any]] = []
    for part in message.content:
        if part.type == "text":
            parts.append({"type": "text", "text": part.text})
        elif part.type == "image":
            parts.append({"type": "image_url", "image_url": {"url": part.image}})
        elif part.type != "reasoning":
            text = f"a message of a sample holds {part.type}, which an agent can't be given"
            raise UsageError(text, "invalid_messages", "give text and images")
    return parts


def from_ours(messages: Iterable[Mapping[str, Any]], model: str = "", *, system: str | None = None) -> list[Any]:
    """Messages in the canonical form, as inspect's log holds them, behind what the instructions are."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser

    found: list[Any] = [ChatMessageSystem(content=system)] if system else []
    for message in messages:
        blocks = message["content"]
        if message["role"] == "assistant":
            calls = [_call(block) for block in blocks if block["type"] == "tool_use"]
            said = {"content": _parts(blocks), "tool_calls": calls or None, "model": model or None}
            found.append(ChatMessageAssistant(**said, source="generate"))
            continue
        found += [
            ChatMessageTool(
                content=_parts(block["content"]),
                tool_call_id=block["id"],
                function=block.get("name"),
                error=failure(block),
            )
            for block in blocks
            if block["type"] == "tool_result"
        ]
        parts = _parts([block for block in blocks if block["type"] != "tool_result"])
        if parts:
            speaker = ChatMessageSystem if message["role"] == "system" else ChatMessageUser
            found.append(speaker(content=parts))
    return found


def failure(result: Mapping[str, Any]) -> Any:
    """The error of a tool's result; `None` where there is none."""
    from inspect_ai.tool import ToolCallError

    if not result.get("is_error"):
        return None
    told = result.get("failure") or {}
    kind = told.get("kind", "unknown")
    known = {"timeout": "timeout", "denied": "approval"}
    return ToolCallError(known.get(kind, "unknown"), told.get("message") or "the call failed")


def _call(block: Mapping[str, Any]) -> Any:
    from inspect_ai.tool import ToolCall

    invalid = block.get("invalid")
    return ToolCall(
        id=block["id"],
        function=block["name"],
        arguments=block["input"] if isinstance(block["input"], dict) else {},
        parse_error=None if invalid is None else f"no JSON object: {invalid:.200}",
    )


def _parts(blocks: Iterable[Mapping[str, Any]]) -> str | list[Any]:
    """Content; text alone where there is nothing else."""
    from inspect_ai.model import ContentImage, ContentReasoning, ContentText

    parts: list[Any] = []
    for block in blocks:
        kind = block["type"]
        if kind == "text":
            parts.append(ContentText(text=block["text"]))
        elif kind == "thinking":
            parts.append(ContentReasoning(reasoning=block.get("text", "")))
        elif kind == "image":
            parts.append(ContentImage(image=_address(block["source"])))
        elif kind != "tool_use":
            parts.append(ContentText(text=f"[{kind}]"))
    if all(isinstance(part, ContentText) for part in parts):
        return "\n".join(part.text for part in parts)
    return parts


def _address(source: Mapping[str, Any]) -> str:
    if "url" in source:
        return str(source["url"])
    told = source.get("base64") or source
    return f"data:{told.get('media_type', 'image/png')};base64,{told.get('data', '')}"


def output_of(response: Mapping[str, Any], model: str) -> Any:
    """An answer in the canonical form, as inspect's output of a model."""
    from inspect_ai.model import ChatCompletionChoice, ModelOutput, ModelUsage

    (message,) = from_ours([response["message"]], model)
    used = response.get("usage") or {}
    read, written = used.get("cache_read", 0), used.get("cache_write", 0)
    given, answered = used.get("input", 0), used.get("output", 0)
    usage = ModelUsage(
        # Those that were read from the cache and written to it are told beside it.
        input_tokens=max(given - read - written, 0),
        output_tokens=answered,
        total_tokens=given + answered,
        input_tokens_cache_read=read or None,
        input_tokens_cache_write=written or None,
        reasoning_tokens=used.get("reasoning") or None,
    )
    stop = response.get("stop")
    stop = _STOPS.get(stop, "stop") if isinstance(stop, str) else "unknown"
    return ModelOutput(model=model, choices=[ChatCompletionChoice(message=message, stop_reason=stop)], usage=usage)


def answer_of(output: Any) -> Response:
    """What inspect's model answered, as the answer of one of ours."""
    from loopwright.models import Call, Response

    message, used = output.message, output.usage
    parts = message.content if isinstance(message.content, list) else ()
    # What is no object of JSON is told to the model as that.
    calls = [Call(call.function, call.parse_error or call.arguments, call.id) for call in message.tool_calls or ()]
    stops = {theirs: ours for ours, theirs in _STOPS.items()}
    stop = "refusal" if output.stop_reason == "content_filter" else stops.get(output.stop_reason)
    cached = 0 if used is None else (used.input_tokens_cache_read or 0) + (used.input_tokens_cache_write or 0)
    return Response(
        text=message.text,
        calls=calls,
        reasoning="\n".join(part.reasoning for part in parts if part.type == "reasoning"),
        stop=stop,
        input_tokens=0 if used is None else used.input_tokens + cached,
        output_tokens=0 if used is None else used.output_tokens,
        model=output.model or "",
    )


def tools_of(tools: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Tools on offer, as inspect's log holds them."""
    from inspect_ai.tool import ToolInfo, ToolParams
    from pydantic import ValidationError

    found = []
    for tool in (each["function"] for each in tools if "function" in each):
        try:
            parameters = ToolParams.model_validate(tool["schema"])
        except ValidationError:
            # What inspect has no words for is left out of its log.
            parameters = ToolParams()
        found.append(ToolInfo(name=tool["name"], description=tool.get("description") or "", parameters=parameters))
    return found
