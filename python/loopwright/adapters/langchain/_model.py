"""A chat model of LangChain whose requests are the engine's."""

from __future__ import annotations

from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field, PrivateAttr

from loopwright import UsageError
from loopwright.adapters._history import KEPT, kept_of, to_ours
from loopwright.adapters._request import Answer, Definition, Requests, Shown
from loopwright.events import Reset, ToolUseDelta

from ._messages import FORM, answered, blocks_of_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from langchain_core.language_models import LanguageModelInput
    from langchain_core.runnables import Runnable
    from langchain_core.tools import BaseTool

    from loopwright.adapters._request import Piece

__all__ = ["ChatLoopwright", "ReplacingChunk"]


class ReplacingChunk(AIMessageChunk):
    """A piece of an answer. One that `replaces` makes void what came before: the answer began anew, or its end is not
    what had streamed. Sums of pieces know that.
    """

    replaces: bool = False

    def __add__(self, other: Any) -> Any:
        pieces = [self, *other] if isinstance(other, (list, tuple)) else [self, other]
        if not all(isinstance(each, AIMessageChunk) for each in pieces):
            return super().__add__(other)
        anew = [at for at, each in enumerate(pieces) if getattr(each, "replaces", False)]
        first, *rest = pieces[anew[-1] :] if anew else pieces
        whole = AIMessageChunk.__add__(first, rest) if rest else first.model_copy()
        if anew:
            whole.replaces = True
        return whole


class ChatLoopwright(BaseChatModel):
    """A chat model: `model` is a name (`provider:model`), a `loopwright.Model` or an object with `respond`.

    `settings` are those of `loopwright.ModelSettings`: `{"temperature": 0, "max_tokens": 2_000}`. Where a stream was
    torn after something was shown, a chunk that `replaces` comes, and the sum of the chunks is the whole answer;
    where events of LangChain are streamed that can't take anything back, an answer is shown when it is whole.
    """

    source: Any = Field(alias="model")
    settings: dict[str, Any] = Field(default_factory=dict)
    _requests: Requests = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Looks at the model and its settings."""
        super().model_post_init(context)
        self._requests = Requests(self.source)

    @property
    def _llm_type(self) -> str:
        return KEPT

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self._requests.model, **self.settings}

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: Any = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with tools that it may call: whatever LangChain takes for one."""
        return self.bind(tools=[convert_to_openai_tool(each) for each in tools], tool_choice=tool_choice, **kwargs)

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        del run_manager
        found = list(self._requests.stream_sync(*self._asked(messages, stop, kwargs)))
        return _result(found[-1])

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        del run_manager
        return _result(await self._requests.answer(*self._asked(messages, stop, kwargs)))

    def _stream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        chunks = _Chunks(live=_takes_back(run_manager))
        with closing(self._requests.stream_sync(*self._asked(messages, stop, kwargs))) as pieces:
            for piece in pieces:
                if (chunk := chunks.of(piece)) is not None:
                    if run_manager is not None:
                        run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                    yield chunk

    async def _astream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        chunks = _Chunks(live=_takes_back(run_manager))
        async with aclosing(self._requests.stream(*self._asked(messages, stop, kwargs))) as pieces:
            async for piece in pieces:
                if (chunk := chunks.of(piece)) is not None:
                    if run_manager is not None:
                        await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                    yield chunk

    def _asked(
        self, messages: list[BaseMessage], stop: list[str] | None, options: dict[str, Any]
    ) -> tuple[list[Any], list[Definition], dict[str, Any]]:
        """The request in our words."""
        tools = [_definition(each) for each in options.pop("tools", None) or ()]
        settings = {**self.settings, **({"stop": stop} if stop else {})}
        choice = _choice(options.pop("tool_choice", None))
        if choice is not None:
            settings["tool_choice"] = choice
        if options.pop("response_format", None) is not None:
            message = "an answer of a schema is asked for as a call here"
            raise UsageError(
                message, "unsupported_option", "give response_format=ToolStrategy(...), or the class alone"
            )
        # Words of LangChain to models of others; what is left is looked at as settings of ours are.
        for name in ("strict", "ls_structured_output_format", "stream"):
            options.pop(name, None)
        settings.update({name: value for name, value in options.items() if value is not None})
        return to_ours(FORM, messages, whole=False), tools, settings


def _definition(tool: dict[str, Any]) -> Definition:
    told = tool.get("function")
    if told is None:
        message = f"the tool {tool.get('type')!r:.60} runs at a provider, and its form is that of another one"
        raise UsageError(message, "unsupported_tool", "give functions; loopwright.tools has a WebSearch for its agents")
    nothing = {"type": "object", "properties": {}}
    return Definition(told["name"], told.get("description") or "", told.get("parameters") or nothing)


def _choice(choice: Any) -> str | None:
    if isinstance(choice, dict):
        choice = choice.get("function", choice).get("name")
    return "any" if choice in (True, "required", "any") else choice or None


def _takes_back(run_manager: Any) -> bool:
    """Whether nobody streams blocks of content, which once begun stay."""
    handlers = getattr(run_manager, "handlers", ())
    return not any("V2Streaming" in kind.__name__ for each in handlers for kind in type(each).__mro__)


def _metadata(answer: Answer) -> dict[str, Any]:
    """What goes with an answer as LangChain has it."""
    used = answer.usage
    return {
        "usage_metadata": {
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "total_tokens": used.total_tokens,
            "input_token_details": {"cache_read": used.cache_read_tokens, "cache_creation": used.cache_write_tokens},
            "output_token_details": {"reasoning": used.reasoning_tokens},
        },
        "response_metadata": {"model_name": answer.model, "model_provider": KEPT, "finish_reason": answer.stop},
    }


def _kept(answer: Answer) -> dict[str, Any]:
    plain = FORM.read(answered(answer.message)) == [answer.message]
    return {} if plain else {KEPT: kept_of(answer.message, plain=False)}


def _result(answer: Any) -> ChatResult:
    message = answered(answer.message).model_copy(update={"additional_kwargs": _kept(answer), **_metadata(answer)})
    return ChatResult(generations=[ChatGeneration(message=message)])


class _Chunks:
    """The pieces of an answer as LangChain's chunks."""

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self._shown = Shown()
        self._anew = False

    def of(self, piece: Piece | Answer) -> ChatGenerationChunk | None:
        """The chunk for a piece; nothing where nobody need see it yet."""
        if isinstance(piece, Answer):
            return self._last(piece)
        if not self._live:
            return None
        self._shown.add(piece)
        if isinstance(piece, Reset):
            self._anew = True
            return None
        return self._chunk(**self._said(piece))

    def _said(self, piece: Any) -> dict[str, Any]:
        if isinstance(piece, ToolUseDelta):
            call = {"name": piece.name, "args": "", "id": piece.call_id, "index": piece.block}
            return {"content": "", "tool_call_chunks": [{**call, "type": "tool_call_chunk"}]}
        if piece.type == "arguments_delta":
            call = {"name": None, "args": piece.text, "id": None, "index": piece.block}
            return {"content": "", "tool_call_chunks": [{**call, "type": "tool_call_chunk"}]}
        if piece.type == "reasoning_delta":
            return {"content": [{"type": "reasoning", "reasoning": piece.text, "index": piece.block}]}
        if any(kind == "reasoning_delta" for kind, _ in self._shown.texts):
            return {"content": [{"type": "text", "text": piece.text, "index": piece.block}]}
        return {"content": piece.text}

    def _chunk(self, **parts: Any) -> ChatGenerationChunk:
        chunk = ReplacingChunk(replaces=self._anew, **parts)
        self._anew = False
        return ChatGenerationChunk(message=chunk)

    def _last(self, answer: Answer) -> ChatGenerationChunk:
        rest: dict[str, Any] = {"content": ""}
        if not self._live or self._anew or not self._shown.is_whole(answer.message):
            # Broken arguments were mended, a call was left out, or nothing was shown.
            calls = [
                {
                    "name": use.name,
                    "args": use.arguments_json,
                    "id": use.call_id,
                    "index": at,
                    "type": "tool_call_chunk",
                }
                for at, use in enumerate(answer.message.tool_uses)
            ]
            rest = {"content": blocks_of_text(answer.message), "tool_call_chunks": calls}
            self._anew = self._live and bool(self._shown.texts or self._shown.calls or self._anew)
        return self._chunk(**rest, additional_kwargs=_kept(answer), chunk_position="last", **_metadata(answer))
