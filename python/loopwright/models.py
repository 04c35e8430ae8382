"""Models: where they live, and models of one's own written in Python.

A model is named `provider:model` (`anthropic:claude-sonnet-4-5`, `ollama:qwen3`, …), alone or in a `loopwright.Model`
that says where it lives and how it is asked; or it is any object with a `respond` method (`Responds`) that takes a
`Request` and gives a `Response` or plain text, or with a `stream` method (`Streams`) that gives pieces. Each may be
plain or async.

::

    from loopwright import Agent
    from loopwright.models import Call, Request, Response

    class Mine:
        def stream(self, request: Request):
            yield from ("You said ", request.last_text, ".")
            yield Response(input_tokens=12, output_tokens=5)       # if it likes

    print(Agent(Mine()).run_sync("Hello").output)
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from . import _core
from ._core import Request
from ._dataclasses import dataclass, field
from ._renamed import renamed
from .errors import ModelError, ProviderError

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Awaitable, Iterable, Sequence

    from ._core import Event

__all__ = ["Call", "InvalidAnswer", "ModelFailure", "Request", "Responds", "Response", "Streams"]


@renamed(id="call_id")
@dataclass(frozen=True)
class Call:
    """A tool call in a `Response`. `arguments` is a dict, or the JSON text of one; of any other text the model is told
    that its arguments are invalid.
    """

    name: str
    arguments: Any = field(default_factory=dict)
    call_id: str = ""


@dataclass(frozen=True)
class Reasoning:
    """A piece of reasoning in what doubles of the package stream; models of one's own say it in their `Response`."""

    text: str


class Whole:
    """The whole answer behind its pieces, in whatever form a double has it."""

    __slots__ = ("answer",)

    def __init__(self, answer: Any) -> None:
        self.answer = answer


@dataclass(frozen=True)
class Response:
    """What a model answers: text, tool calls, or both.

    `stop` is one of `end_turn`, `tool_use`, `max_tokens`, `stop_sequence`, `pause_turn`, `refusal`,
    `content_filter`, `context_window`; by default what the content says.
    """

    text: str = ""
    calls: Sequence[Call] = ()
    reasoning: str = ""
    stop: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    model: str = ""

    def to_dict(self, turn: int = 0) -> dict[str, Any]:
        """The canonical form. Calls without an id get one from `turn` and their place."""
        content: list[dict[str, Any]] = []
        if self.reasoning:
            content.append({"type": "thinking", "text": self.reasoning})
        if self.text:
            content.append({"type": "text", "text": self.text})
        for place, call in enumerate(self.calls):
            block: dict[str, Any] = {
                "type": "tool_use",
                "id": call.call_id or f"call_{turn}_{place}",
                "name": call.name,
                "input": {},
            }
            arguments = _told(call.arguments) if isinstance(call.arguments, str) else call.arguments
            block["invalid" if isinstance(arguments, str) else "input"] = arguments
            content.append(block)
        stop = self.stop or ("tool_use" if self.calls else "end_turn")
        return {
            "id": f"response_{turn}",
            "model": self.model,
            "message": {"role": "assistant", "content": content},
            "stop": stop if stop in STOPS else {"other": stop},
            "usage": {"input": self.input_tokens, "output": self.output_tokens},
        }

    def to_json(self, turn: int = 0) -> str:
        """The canonical form as text. Halves of characters, which no UTF-8 can carry, are replaced."""
        text = _written(self.to_dict(turn))
        if "\\ud" in text:
            from .tools._result import clean_text

            text = clean_text(json.dumps(self.to_dict(turn), ensure_ascii=False))
        return text


def arguments_of(call: Call) -> dict[str, Any] | str:
    """The arguments of a call: a dict that JSON can carry, or the text that is none."""
    if isinstance(call.arguments, str):
        return _told(call.arguments)
    _written(call.arguments)
    return call.arguments  # type: ignore[no-any-return]


def _told(text: str) -> dict[str, Any] | str:
    """The arguments that text says, nothing where it says none; the text itself where it is no JSON object."""
    from . import _json

    if not text.strip():
        return {}
    try:
        value = _json.read(text, "the arguments")
    except ModelError:
        return text
    return value if isinstance(value, dict) else text


def _written(answer: Any) -> str:
    try:
        return json.dumps(answer, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"the answer of a model of one's own has no JSON form: {error}"
        raise InvalidAnswer(message, hint="give calls whose arguments are dicts that JSON can carry") from error


class InvalidAnswer(ModelError, TypeError):
    """A model of one's own gave what is no answer."""

    default_code = "invalid_answer"


STOPS = frozenset(
    {
        "end_turn",
        "tool_use",
        "max_tokens",
        "stop_sequence",
        "pause_turn",
        "refusal",
        "content_filter",
        "context_window",
    }
)
"""Why an answer ends, in the canonical form; any other reason travels as `{"other": …}`."""


class ModelFailure(ProviderError):
    """Raised by a model of one's own: the engine treats it as it treats a provider's failure, retries included.

    `code` is the kind: `rate_limited`, `overloaded`, `server`, `timeout`, `cut`, `auth`, `bad_request`, …
    """

    default_code = "server"

    def __init__(
        self,
        message: str,
        code: str | None = None,
        hint: str | None = None,
        *,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, code, hint)
        self.retry_after = retry_after


@runtime_checkable
class Responds(Protocol):
    """A model of one's own.

    A plain `respond` is called in a thread where a run has an event loop, with the context variables of the run, so
    that it may take its time; in `run_sync` it is called in the caller's thread. Where it takes microseconds, an
    attribute `inline = True` has it called at once, in the loop.
    """

    def respond(
        self, request: Request, /
    ) -> Response | str | dict[str, Any] | Awaitable[Response | str | dict[str, Any]]:
        """The answer to a request."""
        ...


@runtime_checkable
class Streams(Protocol):
    """A model of one's own that streams; a plain one in a thread, as `respond` is called.

    A class may have `respond` as well: `stream` is taken where somebody watches the run. Whoever leaves the run closes
    the stream. One that raises `ModelFailure` in the middle has failed as a provider fails: what was shown is void.
    """

    def stream(self, request: Request, /) -> Iterable[str | Call | Response] | AsyncIterable[str | Call | Response]:
        """The pieces of the answer: text, calls, and at the end, if it likes, a `Response` that says the rest (usage,
        reasoning, why it stops).
        """
        ...


def is_own(model: object) -> bool:
    """Whether something is a model of one's own."""
    # An agent streams, and is no model.
    if isinstance(model, type) or hasattr(model, "run_sync"):
        return False
    return callable(getattr(model, "respond", None)) or callable(getattr(model, "stream", None))


def streams(model: Any, *, watched: bool) -> bool:
    """Whether a model of one's own is asked for pieces."""
    if not watched and callable(getattr(model, "respond", None)):
        return False
    return callable(getattr(model, "stream", None))


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "Model":
            message = f"{__name__}.Model is now {__name__}.Responds; loopwright.Model is a model by its name"
            raise ImportError(message, name=__name__)
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)


def answer_event(command_id: int, answer: object, turn: int) -> Event:
    """The event for what a model of one's own gave."""
    if type(answer) is Response or type(answer) is str:
        event = _core.Event.answered(command_id, answer, turn)
        if event is not None:
            return event
    return _core.Event.generated(command_id, answer_json(answer, turn))


def answer_json(answer: object, turn: int) -> str:
    """The canonical form of what a model of one's own gave."""
    if isinstance(answer, str):
        answer = Response(answer)
    if isinstance(answer, Response):
        return answer.to_json(turn)
    if isinstance(answer, dict):
        return _written(answer)
    from . import wire
    from .messages import Message

    if isinstance(answer, Message):
        answer = wire.Response(answer, stop="tool_use" if answer.tool_uses else "end_turn")
    if isinstance(answer, wire.Response):
        return answer.to_json()
    message = f"a model's respond() must give a Response or text, not {type(answer).__name__}: {answer!r:.80}"
    raise InvalidAnswer(message, hint="give a Response, text, or a dict in the canonical form")
