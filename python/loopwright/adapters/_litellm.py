"""A provider of litellm whose requests are the engine's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import litellm
from litellm import CustomLLM, ModelResponse
from litellm.llms.custom_llm import CustomLLMError

from loopwright import LoopwrightError, Message, Messages, Model, UsageError
from loopwright import wire as wires

from ._history import KEPT, KnownHistories
from ._request import Definition, Requests, is_of_provider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from loopwright._run_options import ModelLike

    from ._request import Answer

__all__ = ["LoopwrightLLM", "register"]

_WIRE = "openai_chat"
_NAME = KEPT
_SAME = ("temperature", "top_p", "parallel_tool_calls", "seed", "extra_headers", "extra_body")
_EFFORTS = ("low", "medium", "high")
_THEIRS = ("provider_specific_fields", "thinking_blocks", "images")
"""Members of litellm's messages that are no provider's."""
_STATUS = {"rate_limited": 429, "overloaded": 529, "auth": 401, "bad_request": 400, "timeout": 408}


def register(models: Mapping[str, ModelLike] | None = None, *, name: str = _NAME) -> LoopwrightLLM:
    """Makes `litellm.completion(model="loopwright/…")` ask our models, by name (`provider:model`) or of `models`."""
    handler = LoopwrightLLM(models)
    others = [each for each in litellm.custom_provider_map if each["provider"] != name]
    litellm.custom_provider_map = [*others, {"provider": name, "custom_handler": handler}]
    litellm.utils.custom_llm_setup()
    return handler


class LoopwrightLLM(CustomLLM):
    """A provider for `litellm.custom_provider_map`. `models` are models of yours by the names that litellm asks for.

    Nothing can be taken back from a stream of litellm, so an answer is shown when it is whole.
    """

    def __init__(self, models: Mapping[str, ModelLike] | None = None) -> None:
        super().__init__()
        self._models = dict(models or {})
        self._requests: dict[tuple[str, str | None, str | None], Requests] = {}
        self._known: KnownHistories[list[Message]] = KnownHistories([], lambda before, new: [*before, *_read(new)])

    def completion(self, model: str, messages: list[Any], *_: Any, **options: Any) -> ModelResponse:
        """The answer to a request."""
        requests, asked = self._asked(model, messages, options)
        try:
            found = list(requests.stream_sync(*asked))
        except LoopwrightError as error:
            raise _failed(error) from error
        return _response(cast("Answer", found[-1]), model)

    async def acompletion(self, model: str, messages: list[Any], *_: Any, **options: Any) -> ModelResponse:
        """The answer to a request."""
        requests, asked = self._asked(model, messages, options)
        try:
            return _response(await requests.answer(*asked), model)
        except LoopwrightError as error:
            raise _failed(error) from error

    def streaming(self, model: str, messages: list[Any], *_: Any, **options: Any) -> Iterator[Any]:
        """The answer to a request, when it is whole."""
        yield from _chunks(self.completion(model, messages, **options))

    async def astreaming(self, model: str, messages: list[Any], *_: Any, **options: Any) -> AsyncIterator[Any]:
        """The answer to a request, when it is whole."""
        for chunk in _chunks(await self.acompletion(model, messages, **options)):
            yield chunk

    def _asked(
        self, model: str, messages: list[Any], options: dict[str, Any]
    ) -> tuple[Requests, tuple[list[Message], list[Definition], dict[str, Any]]]:
        """Whom to ask, and the request in our words."""
        place = (model, options.get("api_base") or None, options.get("api_key") or None)
        if place not in self._requests:
            own = self._models.get(model)
            self._requests[place] = Requests(own or Model(model, base_url=place[1], api_key=place[2]))
        given = options.get("optional_params") or {}
        tools = [_definition(each) for each in given.get("tools") or ()]
        return self._requests[place], (self._known.of(_plain(messages)), tools, _settings(given))


def _plain(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """Messages as litellm writes them: Chat Completions, and what it adds to answers of ours and of others."""
    told = [each if isinstance(each, dict) else each.model_dump() for each in messages]
    return [{name: each[name] for name in each if each[name] or name == "content"} for each in told]


def _read(told: Sequence[dict[str, Any]]) -> list[Message]:
    found = list(Messages([{name: each[name] for name in each if name not in _THEIRS} for each in told]))
    for at, each in enumerate(told if len(found) == len(told) else ()):
        kept = (each.get("provider_specific_fields") or {}).get(KEPT)
        ours = Message.from_dict(kept) if kept else None
        if ours is not None and _seen(ours) == _seen(found[at]):
            found[at] = ours
    return found


def _seen(message: Message) -> tuple[str, list[tuple[str, str]]]:
    return message.text, [(use.call_id, use.name) for use in message.tool_uses]


def _definition(tool: dict[str, Any]) -> Definition:
    told = tool.get("function")
    if told is None:
        message = f"the tool {tool.get('type')!r:.60} runs at a provider, and its form is that of another one"
        raise UsageError(message, "unsupported_tool", "give functions")
    nothing = {"type": "object", "properties": {}}
    return Definition(told["name"], told.get("description") or "", told.get("parameters") or nothing)


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    found = {name: given[name] for name in _SAME if given.get(name) is not None}
    most = given.get("max_completion_tokens") or given.get("max_tokens")
    if most:
        found["max_tokens"] = most
    if given.get("stop"):
        found["stop"] = [given["stop"]] if isinstance(given["stop"], str) else list(given["stop"])
    if given.get("reasoning_effort") in _EFFORTS:
        found["effort"] = given["reasoning_effort"]
    choice = given.get("tool_choice")
    if isinstance(choice, dict):
        choice = choice.get("function", {}).get("name")
    if choice:
        found["tool_choice"] = "any" if choice == "required" else choice
    return found


def _failed(error: LoopwrightError) -> Exception:
    if not is_of_provider(error):
        return error
    return CustomLLMError(status_code=_STATUS.get(error.code, 500), message=str(error))


def _response(answer: Answer, model: str) -> ModelResponse:
    """The answer as Chat Completions have it."""
    stop = "tool_use" if answer.message.tool_uses else "end_turn"
    made = wires.Response(answer.message, stop=stop, usage=answer.usage, model=model)
    response = ModelResponse(**json.loads(made.to_wire(_WIRE)))
    told = response.choices[0].message
    told.provider_specific_fields = {**(told.provider_specific_fields or {}), KEPT: answer.message.to_dict()}
    return response


def _chunks(response: ModelResponse) -> Iterator[dict[str, Any]]:
    (choice,) = response.choices
    calls = choice.message.tool_calls or []
    for at, call in enumerate(calls):
        function = {"name": call.function.name, "arguments": call.function.arguments}
        use = {"id": call.id, "type": "function", "function": function, "index": at}
        text = choice.message.content or "" if at == 0 else ""
        yield {"text": text, "tool_use": use, "is_finished": False, "finish_reason": "", "usage": None, "index": 0}
    used = response.usage
    usage = {name: getattr(used, name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
    text = "" if calls else choice.message.content or ""
    reason = "tool_calls" if calls else "stop"
    yield {"text": text, "tool_use": None, "is_finished": True, "finish_reason": reason, "usage": usage, "index": 0}
