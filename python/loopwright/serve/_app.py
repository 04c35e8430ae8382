"""The application: routes, keys, and requests from their first byte to their last."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
from collections.abc import Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from loopwright.adapters._request import Answer, Requests
from loopwright.errors import UsageError
from loopwright.guard import Guard
from loopwright.models import is_own

from ._asked import asked_of, canonical
from ._errors import error_body, error_event, headers_of, status_of, typed
from ._live import EventWriter, response_of, stamped

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from loopwright._run_options import ModelLike
    from loopwright.context import ContextPolicy
    from loopwright.guard import Policy

    from ._asked import Asked

    Receive = Callable[[], Awaitable[Mapping[str, Any]]]
    Send = Callable[[dict[str, Any]], Awaitable[None]]

__all__ = ["Application", "app"]

_ANSWERS: Mapping[str, str] = {
    "/chat/completions": "openai_chat",
    "/responses": "openai_responses",
    "/messages": "anthropic",
}
_COUNTS: Mapping[str, str] = {"/messages/count_tokens": "anthropic", "/responses/input_tokens": "openai_responses"}
_LARGEST = 32 * 1024 * 1024
_JSON = (b"content-type", b"application/json")
_EVENTS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


def app(
    model: ModelLike | Mapping[str, ModelLike],
    *,
    key: str | None = None,
    context: ContextPolicy | int | None = None,
    policy: Policy | str | os.PathLike[str] | None = None,
    whole: bool = False,
    max_body: int = _LARGEST,
) -> Application:
    """An ASGI application that answers as OpenAI's and Anthropic's APIs do.

    Args:
        model: A model, which answers whatever name is asked for; or several by the names that clients ask for.
        key: The key that clients must have.
        context: Tokens that a request takes at most, or a `ContextPolicy` with a `budget`: longer histories are
            compacted. Tools for what left are not offered, since tools run at the client.
        policy: Rules for calls, or the path of their file: of a call that they forbid the model is told, and answers
            anew; the client gets none of it.
        whole: Whether streams are sent when the answer is whole, which survives a provider's stream that breaks off in
            the middle of words. Otherwise words are sent as they come, and calls when they are whole.
        max_body: Bytes of a request's body at most.
    """
    return Application(model, key=key, context=context, policy=policy, whole=whole, max_body=max_body)


class _Upstream:
    """A model that is asked, and what it speaks."""

    def __init__(self, model: ModelLike, guard: Guard | None) -> None:
        self.requests = Requests(model, guard)
        self.wire = self.requests.wire
        self.name = None if self.wire is None else self.requests.model


class Application:
    """What `app` makes: call it as ASGI servers do."""

    def __init__(
        self,
        model: ModelLike | Mapping[str, ModelLike],
        *,
        key: str | None,
        context: ContextPolicy | int | None,
        policy: Policy | str | os.PathLike[str] | None,
        whole: bool,
        max_body: int,
    ) -> None:
        if key is not None and (not isinstance(key, str) or not key.strip()):
            raise UsageError("key is the text that clients must send", "invalid_option", "give text, or None")
        several = isinstance(model, Mapping) and not is_own(model)
        models: dict[str, Any] = dict(model) if several else {"": model}  # type: ignore[arg-type]
        if not models:
            raise UsageError("there is no model to serve", "unknown_model", "give one, or a dict of them by name")
        guard = None if policy is None else Guard(policy=policy)
        self._models = {name: _Upstream(each, guard) for name, each in models.items()}
        self._only = None if several else self._models[""]
        self._key = None if key is None else key.encode()
        self._whole, self._largest = whole, max_body
        self._views = None if context is None else _views(context, self._only)

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """One request, or the life of the server."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        if scope["type"] != "http":
            raise UsageError(f"nothing is offered over {scope['type']}", "no_route", "ask over HTTP")
        path = scope["path"].removeprefix(scope.get("root_path", "")).removeprefix("/v1")
        headers = dict(scope["headers"])
        wire = (
            _ANSWERS.get(path)
            or _COUNTS.get(path)
            or ("anthropic" if b"anthropic-version" in headers else "openai_chat")
        )
        try:
            self._admit(scope["method"], path, headers)
            if path in _ANSWERS:
                await self._answered(wire, await self._body(receive, headers), receive, send)
            elif path in _COUNTS:
                await _sent(send, 200, self._counted(wire, await self._body(receive, headers)))
            else:
                await _sent(send, 200, self._listed(path.removeprefix("/models").removeprefix("/")))
        except Exception as error:  # noqa: BLE001 - no request ends without an answer
            told = typed(error)
            await _sent(send, status_of(told), error_body(wire, told), headers_of(told))

    def _admit(self, method: str, path: str, headers: Mapping[bytes, bytes]) -> None:
        """Raises an error for who may not ask, and for what nobody answers."""
        if b"origin" in headers:
            message = "pages of browsers are not answered, since any page could ask"
            raise UsageError(message, "origin", "ask from a program, or through a server of yours")
        if self._key is not None:
            given = headers.get(b"x-api-key") or headers.get(b"authorization", b"")
            bare = given[7:] if given[:7].lower() == b"bearer " else given
            if not hmac.compare_digest(bare.strip(), self._key):
                raise UsageError("the key is not the one that this server wants", "unauthorized", "send the right key")
        posts = path in _ANSWERS or path in _COUNTS
        if not posts and path != "/models" and not path.startswith("/models/"):
            there = ", ".join(f"/v1{each}" for each in (*_ANSWERS, *_COUNTS, "/models"))
            raise UsageError(f"there is nothing at {path[:200]!r}", "no_route", f"there are {there}")
        if method != ("POST" if posts else "GET"):
            wanted = "POST" if posts else "GET"
            raise UsageError(f"{method} is not answered here", "no_method", f"send it as {wanted}")

    async def _body(self, receive: Receive, headers: Mapping[bytes, bytes]) -> bytes:
        told = headers.get(b"content-length", b"0")
        size = int(told) if told.isdigit() else 0
        parts: list[bytes] = []
        while size <= self._largest:
            received = await receive()
            if received["type"] == "http.disconnect":
                raise UsageError("the client has gone", "gone", "stay for the answer")
            parts.append(received.get("body", b""))
            if not received.get("more_body"):
                break
            size = sum(map(len, parts))
        if size > self._largest or sum(map(len, parts)) > self._largest:
            message = f"the body has more than {self._largest:,} bytes"
            raise UsageError(message, "too_large", "send less at once")
        return b"".join(parts)

    def _upstream(self, name: str) -> _Upstream:
        found = self._only or self._models.get(name)
        if found is None:
            message = f"there is no model {name[:200]!r} here"
            raise UsageError(message, "unknown_model", f"there are {', '.join(sorted(self._models))}")
        return found

    async def _answered(self, wire: str, body: bytes, receive: Receive, send: Send) -> None:
        """An answer, until it is sent or the client goes; with the client goes what was asked upstream."""
        answering = asyncio.ensure_future(self._answer(wire, body, send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            if not answering.done():
                answering.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await answering

    async def _answer(self, wire: str, body: bytes, send: Send) -> None:
        model = json.loads(body).get("model", "") if self._only is None else ""
        upstream = self._upstream(model)
        asked = asked_of(wire, body, upstream.wire)
        name = uuid4().hex
        pieces = self._pieces(upstream, asked)
        if not asked.stream:
            async with aclosing(pieces):
                answer = [each async for each in pieces if isinstance(each, Answer)][-1]
            shown = response_of(wire, answer, asked.model, name).to_wire(wire)
            await _sent(send, 200, stamped(shown))
            return
        writer = EventWriter(wire, asked.model, name, usage=asked.usage, whole=self._whole, upstream=upstream.wire)
        begun = False
        try:
            async with aclosing(pieces):
                async for each in pieces:
                    made = writer.end(each) if isinstance(each, Answer) else writer.piece(each)
                    if made and not begun:
                        begun = True
                        await send({"type": "http.response.start", "status": 200, "headers": _EVENTS})
                    if made:
                        await send({"type": "http.response.body", "body": made, "more_body": True})
        except Exception as error:
            # Before the first byte it is an answer of its own.
            if not begun:
                raise
            await send(
                {
                    "type": "http.response.body",
                    "body": error_event(wire, typed(error), writer.number),
                    "more_body": True,
                }
            )
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _pieces(self, upstream: _Upstream, asked: Asked) -> AsyncGenerator[Any, None]:
        messages = asked.messages
        if self._views is not None:
            messages = self._views.of(messages)
        return upstream.requests.stream(messages, asked.tools, asked.settings, asked.schema)

    def _counted(self, wire: str, body: bytes) -> dict[str, Any]:
        from loopwright.tokens import count_tokens

        told = canonical(wire, body)
        upstream = self._upstream(told["model"])
        model = None if upstream.name is None else upstream.name.rpartition(":")[2]
        found = int(count_tokens(told, model))
        if wire == "anthropic":
            return {"input_tokens": found}
        return {"object": "response.input_tokens", "input_tokens": found}

    def _listed(self, wanted: str) -> dict[str, Any]:
        """The models, in a form that has what the clients of both vendors look for; or the one that is wanted."""
        names = sorted(self._models) if self._only is None else [wanted or self._only.name or "model"]
        if wanted:
            self._upstream(wanted)
            return _model(wanted)
        data = [_model(name) for name in names]
        return {"object": "list", "data": data, "has_more": False, "first_id": names[0], "last_id": names[-1]}


def _model(name: str) -> dict[str, Any]:
    anthropic = {"type": "model", "display_name": name, "created_at": "1970-01-01T00:00:00Z"}
    return {"id": name, "object": "model", "created": 0, "owned_by": "loopwright", **anthropic}


def _views(context: ContextPolicy | int, only: _Upstream | None) -> Any:
    from loopwright.adapters._senses import Views, checked_policy

    return Views(checked_policy(context), None if only is None else only.name)


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _sent(
    send: Send, status: int, body: dict[str, Any] | str, headers: list[tuple[bytes, bytes]] | None = None
) -> None:
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    data = text.encode("utf-8", "replace")
    length = (b"content-length", str(len(data)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [_JSON, length, *(headers or ())]})
    await send({"type": "http.response.body", "body": data})
