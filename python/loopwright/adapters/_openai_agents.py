"""A model of the OpenAI Agents SDK whose requests are the engine's."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from agents import FunctionTool, Handoff, Model, ModelProvider, ModelResponse, Usage
from openai.types.responses import Response as TheirResponse
from openai.types.responses import ResponseCompletedEvent, ResponseCreatedEvent, ResponseTextDeltaEvent
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails

from loopwright import Message, Messages, UsageError
from loopwright import wire as wires
from loopwright.events import Reset
from loopwright.messages import ToolUse

from ._history import KEPT, put_aside, taken_aside
from ._request import Answer, Definition, Requests

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

    from loopwright._run_options import ModelLike

__all__ = ["LoopwrightModel", "LoopwrightProvider", "from_items", "to_items"]

_NAME = "openai_agents"
_WIRE = "openai_responses"
_PREFIX = f"{KEPT}:"
_SAME = ("temperature", "top_p", "max_tokens", "parallel_tool_calls", "extra_headers", "extra_body")
_EFFORTS = ("low", "medium", "high")


def to_items(messages: Iterable[Message | Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A history for `Runner.run(agent, ...)`: messages of ours, or dicts of any provider.

    Nothing is lost: what the Responses API has no place for stands in an item of reasoning before the message, where
    `from_items` finds it, and which no provider is sent.
    """
    return [item for message in Messages(messages) for item in _kept_items(message)]


def from_items(items: Sequence[Any]) -> Messages:
    """The messages of a history of the SDK (`result.to_input_list()`), for `Agent.run(messages=...)` and all else."""
    found: list[Message] = []
    plain: list[Any] = []
    at = 0
    while at < len(items):
        item = items[at]
        at += 1
        kept = _kept(item)
        if kept is None:
            plain.append(item)
            continue
        made = _items(kept)
        group = list(items[at : at + len(made)])
        if _seen(group) == _seen(made):
            # What the SDK made of it: ids, and which of them are done.
            own = kept if group == made or kept.extra is not None else put_aside(kept, _NAME, [item, *group])
            found += [*_read(plain), own]
            plain, at = [], at + len(made)
    return Messages([*found, *_read(plain)])


def _read(items: Sequence[Any]) -> list[Message]:
    request = wires.decode_request(_WIRE, {"model": KEPT, "input": list(items)})
    return [*([] if request.system is None else [request.system]), *request.messages]


def _seen(items: Sequence[Any]) -> list[Any]:
    """What items say, whatever their ids are."""
    blocks = [block for message in _read(items) for block in message.content]
    return [
        (block.call_id, block.name, block.arguments_json) if isinstance(block, ToolUse) else getattr(block, "text", "")
        for block in blocks
    ]


def _items(message: Message) -> list[dict[str, Any]]:
    """A message as items of the Responses API."""
    found: list[dict[str, Any]] = json.loads(f"[{wires.encode_message(_WIRE, message)}]")
    return found


def _kept_items(message: Message) -> list[dict[str, Any]]:
    message, theirs = taken_aside(message, _NAME)
    made = _items(message)
    if theirs is not None and _seen(theirs[1:]) == _seen(made):
        return theirs
    if _read(made) == [message]:
        return made
    kept = {"type": "reasoning", "id": f"rs_{uuid4().hex}", "summary": []}
    return [{**kept, "encrypted_content": _PREFIX + message.to_json()}, *made]


def _kept(item: Any) -> Message | None:
    """The message that an item of reasoning keeps."""
    sealed = str(item.get("encrypted_content") or "") if isinstance(item, dict) else ""
    return Message.from_json(sealed[len(_PREFIX) :]) if sealed.startswith(_PREFIX) else None


class LoopwrightModel(Model):
    """A model for `agents.Agent`: a name (`provider:model`), a `loopwright.Model` or an object with `respond`.

    What a torn stream had shown is void where another `response.created` comes; the last event holds the whole answer.
    """

    def __init__(self, model: ModelLike) -> None:
        self._requests = Requests(model)

    async def get_response(
        self,
        system_instructions: str | None,
        input: Any,  # noqa: A002 - the name of the SDK
        model_settings: Any,
        tools: list[Any],
        output_schema: Any,
        handoffs: list[Any],
        tracing: Any,
        **others: Any,
    ) -> ModelResponse:
        """The answer to a request."""
        del tracing
        asked = _asked(system_instructions, input, model_settings, [*tools, *handoffs], output_schema, others)
        answer = await self._requests.answer(*asked)
        response = _response(answer)
        return ModelResponse(output=response.output, usage=_usage(answer), response_id=None)

    async def stream_response(
        self,
        system_instructions: str | None,
        input: Any,  # noqa: A002 - the name of the SDK
        model_settings: Any,
        tools: list[Any],
        output_schema: Any,
        handoffs: list[Any],
        tracing: Any,
        **others: Any,
    ) -> AsyncIterator[Any]:
        """The answer to a request as it comes."""
        del tracing
        asked = _asked(system_instructions, input, model_settings, [*tools, *handoffs], output_schema, others)
        begun = _begun()
        yield ResponseCreatedEvent(type="response.created", response=begun, sequence_number=0)
        number = 0
        async with aclosing(self._requests.stream(*asked)) as pieces:
            async for piece in pieces:
                number += 1
                if isinstance(piece, Answer):
                    yield ResponseCompletedEvent(
                        type="response.completed", response=_response(piece, begun), sequence_number=number
                    )
                elif isinstance(piece, Reset):
                    yield ResponseCreatedEvent(type="response.created", response=begun, sequence_number=number)
                elif piece.type == "text_delta":
                    yield ResponseTextDeltaEvent(
                        type="response.output_text.delta",
                        delta=piece.text,
                        item_id=f"msg_{begun.id}",
                        output_index=piece.block,
                        content_index=0,
                        logprobs=[],
                        sequence_number=number,
                    )


class LoopwrightProvider(ModelProvider):
    """Models by their names: `RunConfig(model_provider=LoopwrightProvider())`, `Agent(model="ollama:qwen3")`.

    `default` is the model of agents that name none.
    """

    def __init__(self, default: ModelLike | None = None) -> None:
        self._default = default

    def get_model(self, model_name: str | None) -> Model:
        """The model of this name."""
        model = model_name or self._default
        if model is None:
            message = "the agent names no model"
            raise UsageError(message, "unknown_model", "write provider:model, or LoopwrightProvider(default=...)")
        return LoopwrightModel(model)


def _asked(
    instructions: str | None, given: Any, settings: Any, tools: list[Any], output: Any, others: dict[str, Any]
) -> tuple[list[Message], list[Definition], dict[str, Any], dict[str, Any] | None]:
    """The request in our words."""
    for name in ("previous_response_id", "conversation_id", "prompt"):
        if others.get(name) is not None:
            message = f"{name} names what OpenAI's server keeps"
            raise UsageError(message, "unsupported_option", "leave it out: the history is sent whole")
    history = [Message.user(given)] if isinstance(given, str) else list(from_items(given))
    told = [Message.system(instructions)] if instructions else []
    schema = None if output is None or output.is_plain_text() else output.json_schema()
    return [*told, *history], [_definition(each) for each in tools], _settings(settings), schema


def _definition(tool: Any) -> Definition:
    if isinstance(tool, FunctionTool):
        return Definition(tool.name, tool.description, tool.params_json_schema)
    if isinstance(tool, Handoff):
        return Definition(tool.tool_name, tool.tool_description, tool.input_json_schema)
    message = f"a {type(tool).__name__} runs at OpenAI, and other models have none"
    raise UsageError(message, "unsupported_tool", "give function tools and handoffs")


def _settings(settings: Any) -> dict[str, Any]:
    found = {name: value for name in _SAME if (value := getattr(settings, name, None)) is not None}
    effort = getattr(getattr(settings, "reasoning", None), "effort", None)
    if effort in _EFFORTS:
        found["effort"] = effort
    choice = getattr(settings, "tool_choice", None)
    if choice is not None:
        found["tool_choice"] = "any" if choice == "required" else choice
    return found


def _begun() -> TheirResponse:
    message = Message.assistant("")
    made = json.loads(wires.Response(message, id=f"resp_{uuid4().hex}", model=KEPT).to_wire(_WIRE))
    return TheirResponse.model_validate({**made, "output": []})


def _response(answer: Answer, begun: TheirResponse | None = None) -> TheirResponse:
    """The answer as OpenAI would send it."""
    stop = "tool_use" if answer.message.tool_uses else "end_turn"
    made = wires.Response(answer.message, stop=stop, usage=answer.usage, model=answer.model)
    told = json.loads(made.to_wire(_WIRE))
    kept = _kept_items(answer.message)
    if _kept(kept[0]) is not None:
        told["output"] = [kept[0], *[each for each in told["output"] if each["type"] != "reasoning"]]
    return TheirResponse.model_validate({**told, "id": begun.id if begun is not None else f"resp_{uuid4().hex}"})


def _usage(answer: Answer) -> Usage:
    used = answer.usage
    return Usage(
        requests=1,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        total_tokens=used.total_tokens,
        input_tokens_details=InputTokensDetails.model_construct(cached_tokens=used.cache_read_tokens),
        output_tokens_details=OutputTokensDetails(reasoning_tokens=used.reasoning_tokens),
    )
