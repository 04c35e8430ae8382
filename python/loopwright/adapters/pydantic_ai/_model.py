"""A model of pydantic-ai whose requests are the engine's."""

from __future__ import annotations

from contextlib import aclosing, asynccontextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model, StreamedResponse
from pydantic_ai.usage import RequestUsage

from loopwright import LoopwrightError, Message
from loopwright._dataclasses import dataclass, field
from loopwright.adapters._history import KEPT, kept_of, to_ours
from loopwright.adapters._request import Answer, Definition, Requests, Shown, is_of_provider
from loopwright.events import ArgumentsDelta, Reset, ToolUseDelta
from loopwright.signal import Signal

from ._messages import FORM, parts_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping

    from pydantic_ai.messages import ModelMessage, ModelResponseStreamEvent
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

    from loopwright import Usage
    from loopwright._run_options import ModelLike
    from loopwright.adapters._request import Piece

__all__ = ["LoopwrightModel"]

_SAME = ("temperature", "top_p", "max_tokens", "parallel_tool_calls", "seed", "extra_headers", "extra_body")
_FINISH = {
    "tool_use": "tool_call",
    "output_limit": "length",
    "refusal": "content_filter",
    "content_filter": "content_filter",
}
_EFFORTS = ("low", "medium", "high")
_SYSTEM = KEPT


class LoopwrightModel(Model):
    """A model for `pydantic_ai.Agent`: a name (`provider:model`), a `loopwright.Model` or an object with `respond`.

    Of the settings of pydantic-ai it knows those that have a word here; `timeout` belongs to the `loopwright.Model`.
    What a provider refuses for good is a `ModelAPIError`, so that a `FallbackModel` goes on.
    """

    def __init__(self, model: ModelLike, *, settings: ModelSettings | None = None, profile: Any = None) -> None:
        super().__init__(settings=settings, profile=profile)
        self._requests = Requests(model)

    @property
    def model_name(self) -> str:
        """How the model is shown; never holds a key."""
        return self._requests.model

    @property
    def system(self) -> str:
        """Whose model it is."""
        return _SYSTEM

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The answer to a request."""
        said, tools, settings, _ = self._asked(messages, model_settings, model_request_parameters)
        try:
            answer = await self._requests.answer(said, tools, settings)
        except LoopwrightError as error:
            raise self._failed(error) from error
        (response,) = FORM.write(answer.message)
        if FORM.read(response) != [answer.message]:
            response = FORM.keep(response, kept_of(answer.message, plain=False))
        response.usage = _usage(answer.usage)
        response.model_name = answer.model
        response.provider_name = _SYSTEM
        response.finish_reason = _FINISH.get(answer.stop, "stop")
        return response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: Any = None,
    ) -> AsyncGenerator[StreamedResponse, None]:
        """The answer to a request as it comes. A part that starts again under its index replaces what was shown."""
        del run_context
        said, tools, settings, parameters = self._asked(messages, model_settings, model_request_parameters)
        signal = Signal()
        async with aclosing(self._requests.stream(said, tools, settings, signal=signal)) as pieces:
            yield _Streamed(parameters, pieces, self, signal)

    def _asked(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> tuple[list[Message], list[Definition], dict[str, Any], ModelRequestParameters]:
        """The request in our words, and its parameters as they hold."""
        settings, parameters = self.prepare_request(model_settings, model_request_parameters)
        history = to_ours(FORM, messages, whole=False)
        told = _instructions(messages, parameters)
        offered = [*parameters.function_tools, *parameters.output_tools]
        tools = [Definition(each.name, each.description or "", each.parameters_json_schema) for each in offered]
        own = _settings(settings or {}, forced=bool(tools) and not parameters.allow_text_output)
        return ([Message.system(told), *history] if told else history), tools, own, parameters

    def _failed(self, error: LoopwrightError) -> Exception:
        return ModelAPIError(self.model_name, str(error)) if is_of_provider(error) else error


def _instructions(messages: list[ModelMessage], parameters: ModelRequestParameters) -> str:
    if parameters.instruction_parts is not None:
        return "\n\n".join(part.content for part in parameters.instruction_parts)
    told = [said for each in messages if (said := getattr(each, "instructions", None))]
    return told[-1] if told else ""


def _settings(settings: Mapping[str, Any], *, forced: bool) -> dict[str, Any]:
    """The settings in our words."""
    found = {name: settings[name] for name in _SAME if settings.get(name) is not None}
    if settings.get("stop_sequences"):
        found["stop"] = list(settings["stop_sequences"])
    if settings.get("thinking") in _EFFORTS:
        found["effort"] = settings["thinking"]
    choice = settings.get("tool_choice")
    if choice in ("auto", "none", "required"):
        found["tool_choice"] = "any" if choice == "required" else choice
    elif isinstance(choice, (list, tuple)) and len(choice) == 1:
        found["tool_choice"] = choice[0]
    elif forced:
        found["tool_choice"] = "any"
    return found


def _usage(used: Usage) -> RequestUsage:
    details = {"reasoning_tokens": used.reasoning_tokens} if used.reasoning_tokens else {}
    return RequestUsage(
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cache_read_tokens=used.cache_read_tokens,
        cache_write_tokens=used.cache_write_tokens,
        details=details,
    )


@dataclass
class _Streamed(StreamedResponse):
    """An answer as it comes. What counts in the end are the parts of the whole answer."""

    _pieces: AsyncGenerator[Piece | Answer, None]
    _model: LoopwrightModel
    _signal: Signal
    _at: datetime = field(default_factory=lambda: datetime.now(tz=timezone.utc))
    _named: str = ""
    _void: Any = None

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        shown = Shown()
        try:
            async for piece in self._pieces:
                if isinstance(piece, Answer):
                    for event in self._ended(piece, shown):
                        yield event
                    return
                for event in self._events(piece, shown):
                    yield event
        except LoopwrightError as error:
            if self.cancelled:
                return
            raise self._model._failed(error) from error  # noqa: SLF001 - two halves of one model

    def _events(self, piece: Piece, shown: Shown) -> Iterator[ModelResponseStreamEvent]:
        shown.add(piece)
        if isinstance(piece, Reset):
            self._void = self._void or self._anew()
            return
        events = list(self._told(piece))
        yield from self._replacing(events)

    def _told(self, piece: Any) -> Iterator[ModelResponseStreamEvent]:
        manager = self._parts_manager
        if piece.type == "text_delta":
            yield from manager.handle_text_delta(vendor_part_id=("text", piece.block), content=piece.text)
        elif piece.type == "reasoning_delta":
            yield from manager.handle_thinking_delta(vendor_part_id=("thinking", piece.block), content=piece.text)
        else:
            said: dict[str, Any] = {}
            if isinstance(piece, ToolUseDelta):
                said = {"tool_name": piece.name, "tool_call_id": piece.call_id}
            elif isinstance(piece, ArgumentsDelta):
                said = {"args": piece.text}
            event = manager.handle_tool_call_delta(vendor_part_id=("call", piece.block), **said)
            if event is not None:
                yield event

    def _anew(self) -> Any:
        """Begins with no parts; gives those that were there."""
        void = self._parts_manager
        del self.__dict__["_parts_manager"]
        return void

    def _replacing(self, events: list[ModelResponseStreamEvent]) -> Iterator[ModelResponseStreamEvent]:
        """Events, the first of which ends a part that is void: it is looked for among those that were there."""
        if self._void is not None and events:
            parts = self._parts_manager
            self.__dict__["_parts_manager"], self._void = self._void, None
            yield events.pop(0)
            self.__dict__["_parts_manager"] = parts
        yield from events

    def _ended(self, answer: Answer, shown: Shown) -> Iterator[ModelResponseStreamEvent]:
        self._named, self._usage = answer.model, _usage(answer.usage)
        self.finish_reason = _FINISH.get(answer.stop, "stop")
        parts = parts_of(answer.message)
        if FORM.read(ModelResponse(parts=parts)) != [answer.message]:
            self.metadata = {KEPT: kept_of(answer.message, plain=False)}
        signed = any(getattr(part, "signature", None) for part in parts)
        if not signed and self._void is None and shown.is_whole(answer.message):
            return
        # Broken arguments were mended, a call was left out, or a signature came with the whole answer.
        self._void = self._void or self._anew()
        manager = self._parts_manager
        yield from self._replacing(
            [manager.handle_part(vendor_part_id=("whole", at), part=part) for at, part in enumerate(parts)]
        )

    async def close_stream(self) -> None:
        """Ends the request."""
        self._signal.cancel()

    @property
    def model_name(self) -> str:
        """Who answers, as the provider names it."""
        return self._named or self._model.model_name

    @property
    def provider_name(self) -> str:
        """Whose model it is."""
        return _SYSTEM

    @property
    def provider_url(self) -> None:
        """Nothing: a model may live in several places."""
        return

    @property
    def timestamp(self) -> datetime:
        """When the request was made."""
        return self._at
