"""The wire server: Anthropic Messages, OpenAI Chat Completions and Responses, Gemini and Bedrock over a real socket.

It plays a script: one reply for each request, in order, written in the protocol that was asked in, streamed if the
request asks for a stream. Faults strike where a provider's would.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright._dataclasses import dataclass, replace
from loopwright._options import check, whole
from loopwright.errors import UsageError
from loopwright.models import Call, Response

from ._batches import Batch, BatchDesk, Batches
from ._counted import counted, embedded
from ._strict import PROVIDERS, Refused, refusal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from typing_extensions import Self

__all__ = ["Reply", "WireServer", "call", "calls", "fault", "recorded", "response", "text"]


@dataclass(frozen=True)
class Reply:
    """One reply. Times in seconds.

    `delay` passes before the first byte, `event_delay` between two events of a stream; `piece` is the number of bytes
    of text in one delta; `chunk` cuts the body into pieces of so many bytes, wherever that falls.
    """

    answer: dict[str, Any] | None = None
    fault: Any = None
    delay: float = 0.0
    event_delay: float = 0.0
    piece: int = 16
    chunk: int | None = None

    def after(self, seconds: float) -> Reply:
        """The same, later."""
        return replace(self, delay=seconds)

    def slowly(self, seconds: float) -> Reply:
        """The same, with a pause between two events."""
        return replace(self, event_delay=seconds)

    def but(self, failing: Reply) -> Reply:
        """The same answer with another reply's fault: `text("…").but(fault.cut(after=2))`."""
        return replace(self, fault=failing.fault)

    def to_dict(self) -> dict[str, Any]:
        """The form that the server reads."""
        found: dict[str, Any] = {
            "delay_ms": round(self.delay * 1000),
            "chunk_delay_ms": round(self.event_delay * 1000),
            "piece": self.piece,
            "chunk": self.chunk,
            "fault": self.fault,
        }
        if self.answer is not None:
            found["answer"] = self.answer
        return found


def text(words: str) -> Reply:
    """A reply of plain text, which ends the turn."""
    return Reply({"text": words})


def call(name: str, /, **arguments: Any) -> Reply:
    """A reply that asks for one tool call."""
    return calls(Call(name, arguments))


def calls(*wanted: Call | Reply, text: str = "") -> Reply:
    """A reply that asks for tool calls, after some text or none: `calls(call("a"), call("b", n=1))`. Arguments that are
    text are sent as they are.
    """
    made = called(*wanted)
    if any(isinstance(each.arguments, str) for each in made):
        return response(Response(text, made))
    shown = [
        {"name": each.name, "input": each.arguments, **({"id": each.call_id} if each.call_id else {})} for each in made
    ]
    return Reply({"tool_uses": {"text": text, "calls": shown}})


def called(*wanted: object) -> list[Call]:
    """Calls, as `call` gives them or as `Call`."""
    found: list[Call] = []
    for each in wanted:
        uses = (each.answer or {}).get("tool_uses") if isinstance(each, Reply) and each.fault is None else None
        if isinstance(each, Call):
            found.append(each)
        elif uses is not None and not uses["text"]:
            found.extend(Call(use["name"], use["input"], use.get("id", "")) for use in uses["calls"])
        else:
            message = f"a call can't be {each!r:.100}"
            raise UsageError(message, "invalid_script", 'give call("name", argument=...), or a Call')
    return found


def response(answer: Response | dict[str, Any]) -> Reply:
    """A reply of a whole response: stop reason, usage, reasoning and all; a dict is in the canonical form."""
    if isinstance(answer, dict):
        found = answer
    else:
        found = answer.to_dict()
        blocks = [block for block in found["message"]["content"] if block["type"] == "tool_use"]
        for call, block in zip(answer.calls, blocks, strict=True):
            if isinstance(call.arguments, str):
                # A wire carries what a model wrote.
                block["input"], block["invalid"] = {}, call.arguments
    return Reply({"message": {**found, "id": found.get("id", "") if isinstance(answer, dict) else ""}})


def recorded(status: int, content_type: str, body: str | dict[str, Any]) -> Reply:
    """A reply as it was recorded, whatever is asked."""
    shown = body if isinstance(body, str) else json.dumps(body)
    return Reply({"recorded": {"status": status, "content_type": content_type, "body": shown}})


class fault:  # noqa: N801 - reads as a module of faults
    """Replies that go wrong."""

    @staticmethod
    def status(
        status: int,
        *,
        retry_after: float | str | None = None,
        message: str | None = None,
        should_retry: bool | None = None,
    ) -> Reply:
        """An error status, in the provider's shape; `should_retry` is what its header `x-should-retry` says."""
        after = None if retry_after is None else str(retry_after)
        shown = {"status": status, "retry_after": after, "message": message, "should_retry": should_retry}
        return Reply(fault={"status": shown})

    @staticmethod
    def cut(*, after: int = 2) -> Reply:
        """The connection is reset after so many events of the stream."""
        return Reply({"text": "some words that will be cut off"}, fault={"cut_after": {"events": after}})

    @staticmethod
    def error_event(*, after: int = 0) -> Reply:
        """A provider's error event inside a 200 stream."""
        return Reply({"text": "some words before the error"}, fault={"error_event": {"after_events": after}})

    @staticmethod
    def ends(*, after: int = 2) -> Reply:
        """The stream ends in good order without its last events."""
        return Reply({"text": "some words without an end"}, fault={"end_after": {"events": after}})

    @staticmethod
    def stalls(*, after: int = 2) -> Reply:
        """The stream goes silent and stays open."""
        return Reply({"text": "some words and then silence"}, fault={"stall_after": {"events": after}})

    @staticmethod
    def hangs() -> Reply:
        """Never answered."""
        return Reply(fault="hang")

    @staticmethod
    def closes() -> Reply:
        """Closed without an answer."""
        return Reply(fault="close")

    @staticmethod
    def malformed() -> Reply:
        """JSON that breaks off, with status 200."""
        return Reply(fault="broken_json")

    @staticmethod
    def not_json() -> Reply:
        """A web page with status 200."""
        return Reply(fault="not_json")

    @staticmethod
    def empty() -> Reply:
        """Status 200 and nothing else."""
        return Reply(fault="empty_body")


class WireServer:
    """A provider on `127.0.0.1`, as a context manager.

    Args:
        replies: What it says, in order.
        by_turn: Reply number n goes to requests whose history holds n answers, so that many runs can play the same
            script at once.
        repeat_last: The last reply is given for ever.
        key: Requests without this key are refused with 401.
        strict: The provider whose documented refusals hold before the script is asked: `anthropic`, `openai`, `azure`,
            `mistral`, `groq`, `deepseek`, `gemini`, `bedrock`, `vertex`, or `any`, which goes by the path. No reply is
            used up.
        batches: How it treats batches (`Batches`); the script answers their requests.
        concurrency: Requests that may be under way at once; those beyond are refused with 429.
        requests_per_minute: Requests of a minute, likewise. The headers of the provider say how many are left.
        tokens_per_minute: Tokens of a minute, likewise. The prompt is counted as for `/messages/count_tokens`, the
            answer as the provider of each wire documents it: OpenAI and Azure by its limit (`max_tokens`) where one is
            given, Bedrock by that until it is known, Anthropic as it is, Gemini not at all.
        minute: Seconds of that minute: a test may have none to spare.
        fixed_minutes: Minutes follow each other; else the last one counts, whenever it is looked at.
        stored: Answers over the Responses API are kept by their ids unless a request says `store: false`. One that
            names an answer (`previous_response_id`) goes on from it, or is refused as OpenAI refuses it where the
            answer is not known; `server.stored` shows the conversations, and `server.forget()` forgets them. Over a
            WebSocket the last answer is known whatever was stored.
        refuse_sockets: The status with which a WebSocket is refused (`/responses`); without one it opens.
        socket_answers: Answers that one WebSocket gives; the next request over it hears that the connection has reached
            its limit (`websocket_connection_limit_reached`).

    It counts tokens (`/messages/count_tokens`, `/responses/input_tokens`, `:countTokens`) and makes embeddings
    (`/embeddings`, `:embedContent`, `:batchEmbedContents`) as well, and takes batches (`/files`, `/batches`,
    `/messages/batches`), which `server.batches` shows.
    """

    def __init__(
        self,
        replies: Iterable[Reply | Response | Call | Sequence[Call | Reply] | str] = (),
        *,
        by_turn: bool = False,
        repeat_last: bool = False,
        key: str | None = None,
        strict: str | None = None,
        batches: Batches = Batches(),  # noqa: B008 - it never changes
        concurrency: int | None = None,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        minute: float = 60.0,
        fixed_minutes: bool = False,
        stored: bool = False,
        refuse_sockets: int | None = None,
        socket_answers: int | None = None,
    ) -> None:
        check(concurrency=concurrency, requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute)
        if strict is not None and strict not in PROVIDERS:
            message = f"nothing is known of what {strict!r} refuses"
            raise UsageError(message, "unknown_provider", f"give one of {', '.join(PROVIDERS)}")
        self._strict = strict
        self.refusals: list[Refused] = []
        """What was refused: the words, and `source`, the page where it is documented."""
        self._script = {
            "replies": [_reply(each).to_dict() for each in listed("replies", replies)],
            "by_turn": bool(by_turn),
            "repeat_last": bool(repeat_last),
            "key": key,
            "strict": strict is not None,
            "rates": {
                "concurrency": concurrency,
                "requests_per_minute": requests_per_minute,
                "tokens_per_minute": tokens_per_minute,
                "minute": float(minute),
                "fixed": bool(fixed_minutes),
            },
            "stored": bool(stored),
            "refuse_sockets": refuse_sockets,
            "socket_answers": socket_answers,
        }
        if key is not None and not isinstance(key, str):
            message = f"key can't be {type(key).__name__}"
            raise UsageError(message, "invalid_option", "give text")
        self._server: _core.WireServer | None = None
        self._batches = BatchDesk(batches, self._answer)

    def start(self) -> Self:
        """Starts it, if it does not run."""
        if self._server is None:
            self._server = _core.WireServer(json.dumps(self._script), self._before)
        return self

    def _answer(self, path: str, body: str) -> tuple[int, str]:
        return self._running.answer(path, body)

    def _before(self, path: str, body: str) -> tuple[int, str] | None:
        """What is answered without the script: refusals, counts, vectors and batches."""
        bare = path.partition("?")[0]
        about = self._batches.answered(bare, body)
        if about is not None or not body:
            return about
        asked = json.loads(body)
        answer = counted(bare, asked) or embedded(bare, asked)
        if answer is not None:
            return 200, json.dumps(answer)
        refused = None if self._strict is None else refusal(self._strict, path, asked)
        if refused is None:
            return None
        status, shown, why = refused
        self.refusals.append(why)
        return status, json.dumps(shown)

    def stop(self) -> None:
        """Stops it; all connections are closed."""
        if self._server is not None:
            self._server.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def _running(self) -> _core.WireServer:
        if self._server is None:
            message = "the server has not been started"
            raise UsageError(message, "not_started", "use it as a context manager, or call start()")
        return self._server

    @property
    def url(self) -> str:
        """Its address: `http://127.0.0.1:PORT`."""
        return self._running.url

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What it received: `method`, `path`, `headers` and `body` (parsed where it is JSON). Keys are left out. The
        method of what came over a WebSocket is `WEBSOCKET`.
        """
        found: list[dict[str, Any]] = json.loads(self._running.requests())
        for request in found:
            with contextlib.suppress(ValueError):
                request["body"] = json.loads(request["body"])
        return found

    @property
    def batches(self) -> list[Batch]:
        """The batches that it was given."""
        return list(self._batches.made)

    @property
    def stored(self) -> dict[str, list[dict[str, Any]]]:
        """The conversations that it has kept, by the ids of the answers that they end with: all items, in order."""
        found: dict[str, list[dict[str, Any]]] = json.loads(self._running.stored())
        return found

    def forget(self, response_id: str | None = None) -> None:
        """Forgets an answer that it has kept, or all."""
        self._running.forget(response_id)

    def push(self, reply: Reply | Response | Call | Sequence[Call | Reply] | str) -> None:
        """Adds a reply at the end of the script."""
        self._running.push(json.dumps(_reply(reply).to_dict()))

    @property
    def pending(self) -> int:
        """Replies that have not been given."""
        return self._running.pending

    @property
    def limited(self) -> int:
        """Requests that were over a limit, and refused with 429."""
        return self._running.limited

    @property
    def open_connections(self) -> int:
        """Connections that are open now."""
        return self._running.connections[0]

    @property
    def open_sockets(self) -> int:
        """Connections that are a WebSocket now."""
        return self._running.sockets[0]

    @property
    def total_sockets(self) -> int:
        """Connections that ever became a WebSocket."""
        return self._running.sockets[1]

    @property
    def bytes_read(self) -> int:
        """Bytes that it has read, heads of requests and frames among them."""
        return self._running.bytes_read

    def cut_sockets(self) -> None:
        """Cuts each WebSocket that is open, without a word."""
        self._running.cut_sockets()

    @property
    def total_connections(self) -> int:
        """Connections that were ever opened."""
        return self._running.connections[1]


def listed(what: str, values: object) -> list[Any]:
    """A script as a list: a text alone would be played letter by letter."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        message = f"{what} can't be {values!r:.100}"
        raise UsageError(message, "invalid_script", f"give a list of {what}")
    return list(values)


def _reply(reply: object) -> Reply:
    if isinstance(reply, str):
        whole("a reply", reply)
        return text(reply)
    if isinstance(reply, Response):
        return response(reply)
    if isinstance(reply, Call):
        return calls(reply)
    if isinstance(reply, (list, tuple)):
        return calls(*reply)
    if not isinstance(reply, Reply):
        message = f"a reply can't be {reply!r:.100}"
        raise UsageError(message, "invalid_script", "give text, a Response, a Call, or what text, call and fault give")
    return reply
