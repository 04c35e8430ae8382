"""The codecs: what a provider's API takes and gives, as our own types and back, without any I/O.

::

    body = wire.encode_request("anthropic", wire.Request("claude-sonnet-4-5", [Message.user("hi")], max_tokens=99))
    response = wire.decode_response("anthropic", send(body))
    print(response.message.text, response.stop, response.usage.total_tokens)

Every codec works in both directions, and each loses nothing: decode then encode gives semantically equal JSON, and a
stream gives the same response as the whole answer, wherever its bytes were cut. Names of wires are in `WIRES`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from . import _core
from ._json import read as parsed
from ._json import written as dumped
from ._renamed import under_new_names
from ._repr import shown
from .errors import LoopwrightError, UsageError
from .messages import Extra, Message, checked, decoded, extra_json, message_of, messages_json
from .models import STOPS
from .result import Messages, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ._core import ArgumentsDelta, ProviderDelta, ReasoningDelta, TextDelta, ToolUseDelta
    from .tools import Tool

    Delta: TypeAlias = TextDelta | ReasoningDelta | ToolUseDelta | ArgumentsDelta | ProviderDelta

__all__ = [
    "WIRES",
    "Request",
    "Response",
    "StreamDecoder",
    "decode_error",
    "decode_request",
    "decode_response",
    "encode_message",
    "encode_request",
    "encode_response",
    "encode_stream",
]

WIRES = ("anthropic", "openai_chat", "openai_responses", "gemini", "bedrock", "offline")
"""The wires: Anthropic Messages, OpenAI Chat Completions, OpenAI Responses, Gemini, Bedrock's Converse, and the
built-in extractive model's. A dash is as good as an underscore."""

Body: TypeAlias = str | bytes | Mapping[str, Any]
"""A body as it came, or parsed."""


class _Canonical:
    """JSON text in the canonical form, looked at member by member."""

    __slots__ = ("_found", "_json")

    _json: str
    _found: dict[str, str] | None

    def _fill(self, text: str) -> None:
        self._json, self._found = text, None

    def to_json(self) -> str:
        """The canonical form; `from_json` reads it."""
        return self._json

    def to_dict(self) -> dict[str, Any]:
        """The canonical form, parsed by Python."""
        found: dict[str, Any] = parsed(self._json, "the canonical form")
        return found

    def _raw(self, name: str) -> str | None:
        found = self._found
        if found is None:
            found = self._found = dict(_core.json_members(self._json))
        return found.get(name)

    def _get(self, name: str, otherwise: Any = None) -> Any:
        raw = self._raw(name)
        return otherwise if raw is None else parsed(raw, f"`{name}`")

    @property
    def extra(self) -> Extra | None:
        """Fields of one wire that have no place in the common shape."""
        raw = self._raw("extra")
        if raw is None:
            return None
        members = dict(_core.json_members(raw))
        return Extra(json.loads(members["wire"]), members["fields"])

    def __eq__(self, other: object) -> bool:
        return self._json == other._json if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._json)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self).from_json, (self._json,))  # type: ignore[attr-defined]


@shown
class Request(_Canonical):
    """What is asked of a model, in one shape for all wires.

    Args:
        model: The model's name, as the provider knows it.
        messages: The history.
        system: Instructions that stand before the history.
        tools: Tools on offer: `loopwright.Tool`s, dicts with `name`, `description` and `schema`, or dicts in the
            canonical form (`{"function": …}`, `{"web_search": …}`, `{"provider": {"wire": …, "raw": …}}`).
        tool_choice: `"auto"`, `"none"`, `"any"`, or the name of a tool.
        parallel_tool_calls: Whether several tools may be used in one answer.
        max_tokens: Tokens of the answer.
        temperature: Sampling temperature.
        top_p: Nucleus sampling.
        stop: Stop sequences.
        effort: `"low"`, `"medium"` or `"high"`.
        output: The schema of the answer: a dict with `name` and `schema`.
        cache: Whether the provider may cache the prompt's prefix.
        stream: Whether the answer shall be streamed.
        extra: Fields to send to one wire.
    """

    __slots__ = ()

    def __init__(
        self,
        model: str,
        messages: Messages | Iterable[Message | Mapping[str, Any]],
        *,
        system: str | Message | None = None,
        tools: Sequence[Tool[..., Any, Any] | Mapping[str, Any]] = (),
        tool_choice: str | None = None,
        parallel_tool_calls: bool | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        stop: Sequence[str] = (),
        effort: str | None = None,
        output: Mapping[str, Any] | None = None,
        cache: bool | Literal["1h"] = False,
        stream: bool | None = None,
        extra: Extra | None = None,
    ) -> None:
        rest = {
            "model": model,
            "tools": [_tool(tool) for tool in tools],
            "tool_choice": tool_choice if tool_choice in (None, "auto", "none", "any") else {"tool": tool_choice},
            "parallel_tool_calls": parallel_tool_calls,
            "max_tokens": max_tokens,
            "temperature": temperature,
            "top_p": top_p,
            "stop": list(stop),
            "effort": effort,
            "output": None if output is None else dict(output),
            "cache": cache,
            "stream": stream,
        }
        history = messages.to_json() if isinstance(messages, Messages) else messages_json(messages)
        parts = [dumped(rest, "the request")[:-1], f',"messages":{history}']
        if system is not None:
            said = Message.system(system) if isinstance(system, str) else message_of(system)
            parts.append(f',"system":{said.to_json()}')
        parts.append(extra_json(extra))
        self._fill(checked(_core.canonical_request, "".join((*parts, "}"))))

    @classmethod
    def from_json(cls, text: str | bytes) -> Request:
        """A request from the canonical form."""
        request = cls.__new__(cls)
        request._fill(checked(_core.canonical_request, decoded(text)))
        return request

    def to_wire(self, wire: str) -> str:
        """The body that `wire` wants."""
        return encode_request(wire, self)

    @property
    def model(self) -> str:
        """The model's name, as the provider knows it."""
        return cast("str", self._get("model", ""))

    @property
    def messages(self) -> Messages:
        """The history."""
        return Messages.from_json(self._raw("messages") or "[]")

    @property
    def system(self) -> Message | None:
        """Instructions that stand before the history."""
        raw = self._raw("system")
        return None if raw is None else Message.from_json(raw)

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools on offer, in the canonical form: each has one key, `function`, `web_search` or `provider`."""
        return cast("list[dict[str, Any]]", self._get("tools", []))

    @property
    def tool_choice(self) -> str | None:
        """`"auto"`, `"none"`, `"any"`, or the name of a tool."""
        choice = self._get("tool_choice")
        return cast("str | None", choice["tool"] if isinstance(choice, dict) else choice)

    @property
    def parallel_tool_calls(self) -> bool | None:
        """Whether several tools may be used in one answer."""
        return cast("bool | None", self._get("parallel_tool_calls"))

    @property
    def max_tokens(self) -> int | None:
        """Tokens of the answer."""
        return cast("int | None", self._get("max_tokens"))

    @property
    def temperature(self) -> float | None:
        """Sampling temperature."""
        return cast("float | None", self._get("temperature"))

    @property
    def top_p(self) -> float | None:
        """Nucleus sampling."""
        return cast("float | None", self._get("top_p"))

    @property
    def stop(self) -> list[str]:
        """Stop sequences."""
        return cast("list[str]", self._get("stop", []))

    @property
    def effort(self) -> str | None:
        """`"low"`, `"medium"` or `"high"`."""
        return cast("str | None", self._get("effort"))

    @property
    def output(self) -> dict[str, Any] | None:
        """The schema of the answer."""
        return cast("dict[str, Any] | None", self._get("output"))

    @property
    def cache(self) -> bool | Literal["1h"]:
        """Whether the provider may cache the prompt's prefix; `"1h"` for an hour."""
        return cast("bool", self._get("cache", False))

    @property
    def stream(self) -> bool | None:
        """Whether the answer shall be streamed."""
        return cast("bool | None", self._get("stream"))


class Response(_Canonical):
    """What a model answered, in one shape for all wires."""

    __slots__ = ()

    def __init__(
        self,
        message: Message | str,
        *,
        stop: str = "end_turn",
        usage: Usage | None = None,
        id: str = "",
        model: str = "",
    ) -> None:
        said = Message.assistant(message) if isinstance(message, str) else message_of(message)
        used = usage or Usage()
        rest = {
            "id": id,
            "model": model,
            "stop": stop if stop in STOPS else {"other": stop},
            "usage": {name: getattr(used, field) for name, field in _USAGE.items()},
        }
        text = f'{dumped(rest, "the response")[:-1]},"message":{said.to_json()}}}'
        self._fill(checked(_core.canonical_response, text))

    @classmethod
    def from_json(cls, text: str | bytes) -> Response:
        """A response from the canonical form."""
        response = cls.__new__(cls)
        response._fill(checked(_core.canonical_response, decoded(text)))
        return response

    def to_wire(self, wire: str) -> str:
        """The answer as `wire` would write it."""
        return encode_response(wire, self)

    @property
    def id(self) -> str:
        """The provider's id of the answer."""
        return cast("str", self._get("id", ""))

    @property
    def model(self) -> str:
        """The model that answered, as the provider names it."""
        return cast("str", self._get("model", ""))

    @property
    def message(self) -> Message:
        """What it said."""
        return Message.from_json(self._raw("message") or "")

    @property
    def stop(self) -> str:
        """Why it stopped: `end_turn`, `tool_use`, `max_tokens`, `stop_sequence`, `pause_turn`, `refusal`,
        `content_filter`, `context_window`, or the provider's own word.
        """
        stop = self._get("stop")
        return cast("str", stop["other"] if isinstance(stop, dict) else stop)

    @property
    def usage(self) -> Usage:
        """Tokens used."""
        return Usage(**under_new_names(Usage, self._get("usage")))

    def __repr__(self) -> str:
        from .guard import redact

        return f"<Response {self.stop}: {redact(self.message.text[:4_000])[:60]!r}>"


# Tokens in the canonical form, and in `Usage`.
_USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_tokens",
    "cache_write_hour": "cache_write_hour_tokens",
    "reasoning": "reasoning_tokens",
    "provider_tool_uses": "provider_tool_uses",
}


def encode_request(wire: str, request: Request) -> str:
    """The body that `wire` wants. A `UsageError` names what the wire has no form for."""
    return _core.encode_request(wire, _json_of(request, Request))


def decode_request(wire: str, body: Body) -> Request:
    """A request body of `wire`. A `UsageError` says what is wrong with one that can't be read."""
    return Request.from_json(checked(_core.decode_request, wire, _text(body)))


def encode_response(wire: str, response: Response) -> str:
    """The answer as `wire` would write it."""
    return _core.encode_response(wire, _json_of(response, Response))


def decode_response(wire: str, body: Body) -> Response:
    """A whole answer of `wire`. A `ProviderError` says what is wrong with one that can't be read."""
    return Response.from_json(checked(_core.decode_response, wire, _text(body)))


def encode_message(wire: str, message: Message) -> str:
    """One message as an element of the history of `wire`, or several, separated by commas."""
    return _core.encode_message(wire, message_of(message).to_json())


def encode_stream(wire: str, response: Response, *, piece: int = 16) -> list[tuple[str, str]]:
    """The answer as the server-sent events (name, data) that `wire` would stream; a name is empty where the wire has
    none. Text comes in pieces of about `piece` bytes.
    """
    return _core.encode_stream(wire, _json_of(response, Response), piece)


class StreamDecoder:
    """A streamed answer, decoded as its bytes come.

    ::

        decoder = StreamDecoder("anthropic")
        for chunk in chunks:
            for delta in decoder.feed(chunk):
                print(delta)
        response = decoder.finish()

    Bytes may be cut anywhere. The classes of deltas are in `loopwright.events`.
    """

    __slots__ = ("_decoder", "last")

    last: list[Delta]
    """What became new when the bytes ended, for a server that leaves out the last empty line."""

    def __init__(self, wire: str) -> None:
        self._decoder = _core.StreamDecoder(wire)
        self.last = []

    def feed(self, chunk: bytes | bytearray | memoryview) -> list[Delta]:
        """Takes bytes; gives what is new. An error inside the stream is raised as a `ProviderError`."""
        return self._decoder.feed(bytes(chunk))

    @property
    def done(self) -> bool:
        """Whether the wire's last event has been seen: what may follow is of no interest."""
        return self._decoder.done

    def finish(self) -> Response:
        """The bytes have ended: the answer. One that broke off is a `ProviderError` of code `cut`."""
        text, self.last = self._decoder.finish()
        return Response.from_json(text)

    def partial(self) -> Response | None:
        """What has come so far and is whole enough to stand in a history."""
        text = self._decoder.partial()
        return None if text is None else Response.from_json(text)


def decode_error(status: int, body: Body, retry_after: float | None = None) -> LoopwrightError:
    """What an HTTP answer that is no success means, as the error which a run would end with.

    It is a `ProviderError`, or a `UsageError` where the key is wrong. Its `code` says how it failed (`rate_limited`,
    `overloaded`, `context_too_long`, …); `status`, `retry_after` and `request_id` are what the provider said.
    """
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else _text(body)
    error, failure = checked(_core.decode_failure, status, text, retry_after)
    said = json.loads(failure)
    for name in ("status", "retry_after", "request_id"):
        setattr(error, name, said.get(name))
    return error


def _tool(tool: Any) -> Any:
    definition = getattr(tool, "definition", None)
    if definition is not None:
        return {"function": definition()}
    if isinstance(tool, Mapping):
        return {"function": dict(tool)} if "name" in tool else dict(tool)
    message = f"a tool is a Tool or a dict, not {type(tool).__name__}"
    raise UsageError(message, "invalid_value", "make tools of functions with @tool")


def _json_of(it: Any, kind: type[Request | Response]) -> str:
    if isinstance(it, kind):
        return it.to_json()
    message = f"this wants a wire.{kind.__name__}, not {type(it).__module__}.{type(it).__name__}"
    raise UsageError(message, "invalid_value", f"wire.{kind.__name__}.from_json reads the canonical form")


def _text(body: object) -> str:
    if isinstance(body, Mapping):
        return dumped(dict(body), "the body")
    if isinstance(body, (str, bytes, bytearray, memoryview)):
        return decoded(body if isinstance(body, str) else bytes(body))
    message = f"a body is text, bytes or a dict, not {type(body).__name__}"
    raise UsageError(message, "invalid_body", "give the body as it is sent, or the dict that it is made of")
