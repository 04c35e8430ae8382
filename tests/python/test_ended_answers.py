"""An answer whose end was said stands, whatever becomes of its stream or its connection behind that (W4)."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from loopwright import ProviderError, tool
from loopwright.testing import WireServer, call, fault, text
from ways import agent_at, run

SAID = "The harbour falls dry at low water."


@tool(read_only=True)
def look(n: int = 0) -> str:
    """Look."""
    return f"seen {n}"


def events_of(wire: str, reply: Any) -> int:
    """How many events the wire server streams for a reply."""
    with WireServer([reply]) as server:
        said = {"role": "user", "content": "Look."}
        named = {"model": "m", "stream": True}
        path, asked = {
            "anthropic": ("/v1/messages", {**named, "max_tokens": 9, "messages": [said]}),
            "chat": ("/v1/chat/completions", {**named, "messages": [said]}),
            "responses": ("/v1/responses", {**named, "input": [said]}),
            "gemini": (
                "/v1beta/models/m:streamGenerateContent?alt=sse",
                {"contents": [{"role": "user", "parts": [{"text": "Look."}]}]},
            ),
            "bedrock": ("/model/m/converse-stream", {"messages": [{"role": "user", "content": [{"text": "Look."}]}]}),
        }[wire]
        body = json.dumps(asked).encode()
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as link:
            head = f"POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
            link.sendall(head.encode() + body)
            found = b""
            while piece := link.recv(65536):
                found += piece
    # Each frame says once what kind of content it holds.
    return found.count(b":content-type" if wire == "bedrock" else b"data: ")


# Of the last events of each wire, how many may be missing once the end was said.
SPARE = {"anthropic": [1], "chat": [1, 2], "responses": [0], "gemini": [0], "bedrock": [1]}
FAULTS = {"reset": fault.cut, "silence": fault.stalls, "error": fault.error_event, "end": fault.ends}


@pytest.mark.parametrize("how", list(FAULTS))
@pytest.mark.parametrize("calls", [False, True], ids=["words", "calls"])
def test_w4_a_stream_that_breaks_behind_its_end_stands(serve: Any, wire: str, how: str, calls: bool) -> None:
    for spare in SPARE[wire]:
        reply = call("look", n=3) if calls else text(SAID)
        broken = reply.but(FAULTS[how](after=events_of(wire, reply) - spare))
        server = serve(*([broken, text(SAID)] if calls else [broken]))
        begun = time.monotonic()
        result, events = run(agent_at(server, wire, tools=[look]), "Look.", "stream")
        assert result.final == SAID, (how, spare)
        assert len(server.requests) == (2 if calls else 1), "one paid attempt"
        assert [each.failure for each in result.tool_calls] == ([None] if calls else [])
        assert not [each for each in events if type(each).__name__ in ("Retry", "Reset")]
        assert time.monotonic() - begun < 6
        if wire == "anthropic":
            assert result.usage.total_tokens > 0


def test_w4_without_the_end_being_said_it_is_tried_again(serve: Any, wire: str) -> None:
    reply = text(SAID)
    broken = reply.but(fault.cut(after=events_of(wire, reply) - max(SPARE[wire]) - 1))
    server = serve(broken, text(SAID))
    result, _ = run(agent_at(server, wire, retry={"base": 0.01}), "Look.", "stream")
    assert result.final == SAID
    assert len(server.requests) == 2


# ---- servers of a few lines, for what no wire server would send ----


@contextlib.contextmanager
def raw_server(head: str, body: bytes, then: str) -> Iterator[tuple[str, list[bytes]]]:
    """Answers every request with these bytes; then resets, closes, or stays silent."""
    asked: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))
    held: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                link, _ = listener.accept()
            except OSError:
                return
            held.append(link)
            with contextlib.suppress(OSError):
                answer(link)

    def answer(link: socket.socket) -> None:
        request = b""
        while b"\r\n\r\n" not in request:
            piece = link.recv(65536)
            if not piece:
                return
            request += piece
        length = int(request.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        while len(request.split(b"\r\n\r\n", 1)[1]) < length:
            request += link.recv(65536)
        asked.append(request)
        link.sendall(f"HTTP/1.1 200 OK\r\n{head}\r\n".encode() + body)
        if then == "reset":
            time.sleep(0.05)
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        if then != "silence":
            link.close()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
    finally:
        listener.close()
        for link in held:
            link.close()


class At:
    def __init__(self, url: str) -> None:
        self.url = url


CHUNK = {"id": "c1", "object": "chat.completion.chunk", "model": "m"}


def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
    return "data: " + json.dumps({**CHUNK, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}) + "\n\n"


USAGE = "data: " + json.dumps({**CHUNK, "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}) + "\n\n"
ENDED = chunk({"role": "assistant", "content": SAID}) + chunk({}, "stop")


@pytest.mark.parametrize("then", ["reset", "silence", "closed"])
@pytest.mark.parametrize(
    ("behind", "used"),
    [
        ("", 0),
        (USAGE, 10),
        ('data: {"id": 1, \n\ndata: x\n\n', 0),
        (USAGE + "<html>504 Gateway Time-out</html>", 10),
        ('data: {"error": {"message": "upstream", "code": 502}}\n\n', 0),
        ("event: error\ndata: broken\n\n", 0),
        ('data: {"choices": [{"ind', 0),
        (": ping\n\n" * 3, 0),
    ],
)
def test_w4_rubbish_behind_the_end_takes_nothing_back(behind: str, used: int, then: str) -> None:
    with raw_server("content-type: text/event-stream\r\nconnection: close\r\n", (ENDED + behind).encode(), then) as (
        url,
        asked,
    ):
        result, _ = run(agent_at(At(url), "chat"), "Look.", "stream")  # type: ignore[arg-type]
    assert result.final == SAID
    assert len(asked) == 1
    assert result.usage.total_tokens == used


WHOLE = {
    "anthropic": {"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": SAID}],
                  "stop_reason": "end_turn", "usage": {"input_tokens": 7, "output_tokens": 3}},
    "chat": {"id": "c1", "object": "chat.completion", "model": "m", "usage": {"prompt_tokens": 7, "completion_tokens": 3},
             "choices": [{"index": 0, "message": {"role": "assistant", "content": SAID}, "finish_reason": "stop"}]},
    "responses": {"id": "r1", "object": "response", "model": "m", "status": "completed", "usage": {"input_tokens": 7, "output_tokens": 3},
                  "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": SAID}]}]},
    "gemini": {"candidates": [{"content": {"parts": [{"text": SAID}], "role": "model"}, "finishReason": "STOP"}],
               "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 3}},
    "bedrock": {"output": {"message": {"role": "assistant", "content": [{"text": SAID}]}}, "stopReason": "end_turn",
                "usage": {"inputTokens": 7, "outputTokens": 3, "totalTokens": 10}},
}  # fmt: skip


@pytest.mark.parametrize("then", ["reset", "silence", "closed"])
@pytest.mark.parametrize("framing", ["close", "chunked", "longer"])
def test_w4_a_whole_answer_without_the_end_of_its_body_stands(wire: str, framing: str, then: str) -> None:
    body = json.dumps(WHOLE[wire]).encode()
    head = "content-type: application/json\r\n"
    if framing == "chunked":
        head, body = head + "transfer-encoding: chunked\r\n", f"{len(body):x}\r\n".encode() + body + b"\r\n"
    elif framing == "longer":
        head += f"content-length: {len(body) + 50}\r\n"
    with raw_server(head, body, then) as (url, asked):
        result, _ = run(agent_at(At(url), wire), "Look.", "run")  # type: ignore[arg-type]
    assert (result.final, len(asked)) == (SAID, 1)
    assert result.usage.total_tokens == 10


def test_w4_half_an_answer_is_tried_again(wire: str) -> None:
    body = json.dumps(WHOLE[wire]).encode()[:-20]
    with raw_server("content-type: application/json\r\nconnection: close\r\n", body, "reset") as (url, asked):
        with pytest.raises(ProviderError):
            run(agent_at(At(url), wire, retry={"attempts": 2, "base": 0.01}), "Look.", "run")  # type: ignore[arg-type]
    assert len(asked) == 2
