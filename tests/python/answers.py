"""A server of somebody else's that asks for calls, on five wires: arguments go over the socket as they are written."""

from __future__ import annotations

import json
import struct
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def chat(asked: list[tuple[str, Any]], streams: bool) -> list[Any]:
    named = [
        {"index": at, "id": f"c{at}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for at, (name, arguments) in enumerate(asked)
    ]
    finish = "tool_calls" if asked else "stop"
    said = {"role": "assistant", "content": None if asked else "Done."}
    head = {"id": "a", "object": "chat.completion", "created": 1, "model": "m"}
    if not streams:
        message = {**said, "tool_calls": named} if asked else said
        return [{**head, "choices": [{"index": 0, "message": message, "finish_reason": finish}]}]
    chunks = [{**said, "tool_calls": [{**each, "function": {**each["function"], "arguments": ""}}]} for each in named]
    chunks += [{"tool_calls": [{"index": each["index"], "function": each["function"]}]} for each in named]
    head["object"] += ".chunk"
    events = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in chunks or [said]]
    return [*events, {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}, "[DONE]"]


def anthropic(asked: list[tuple[str, Any]], streams: bool) -> list[Any]:
    def input_of(text: Any) -> Any:
        # A stream carries any text, a whole answer JSON alone.
        return None if streams or text is None or not text.strip() else json.loads(text)

    blocks: list[dict[str, Any]] = [
        {"type": "tool_use", "id": f"c{at}", "name": name, "input": input_of(text)}
        for at, (name, text) in enumerate(asked)
    ] or [{"type": "text", "text": "Done."}]
    stop = "tool_use" if asked else "end_turn"
    whole = {
        "id": "a",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    if not streams:
        return [{**whole, "content": blocks, "stop_reason": stop}]
    events: list[Any] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
    for at, block in enumerate(blocks):
        begun = {**block, "input": {}} if asked else {**block, "text": ""}
        events.append({"type": "content_block_start", "index": at, "content_block": begun})
        delta = {"type": "text_delta", "text": "Done."}
        if asked:
            delta = {"type": "input_json_delta", "partial_json": asked[at][1] or ""}
        events.append({"type": "content_block_delta", "index": at, "delta": delta})
        events.append({"type": "content_block_stop", "index": at})
    return [
        *events,
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]


def responses(asked: list[tuple[str, Any]], streams: bool) -> list[Any]:
    items: list[dict[str, Any]] = [
        {
            "type": "function_call",
            "id": f"f{at}",
            "call_id": f"c{at}",
            "name": name,
            "arguments": text,
            "status": "completed",
        }
        for at, (name, text) in enumerate(asked)
    ]
    said = {"type": "output_text", "text": "Done.", "annotations": []}
    items = items or [{"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [said]}]
    whole = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": items}
    if not streams:
        return [whole]
    events: list[Any] = [{"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}}]
    for at, item in enumerate(items):
        place = {"output_index": at, "item_id": item["id"]}
        begun = {**item, "arguments": ""} if asked else {**item, "content": []}
        events.append({"type": "response.output_item.added", "output_index": at, "item": begun})
        if asked:
            arguments = item["arguments"]
            events.append({"type": "response.function_call_arguments.delta", **place, "delta": arguments})
            events.append({"type": "response.function_call_arguments.done", **place, "arguments": arguments})
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    return [*events, {"type": "response.completed", "response": whole}]


def gemini(asked: list[tuple[str, Any]], streams: bool) -> list[Any]:
    def called(name: str, text: Any) -> dict[str, Any]:
        if text is None or not text.strip():
            return {"functionCall": {"name": name}}
        return {"functionCall": {"name": name, "args": json.loads(text)}}

    parts: list[dict[str, Any]] = [called(name, text) for name, text in asked] or [{"text": "Done."}]
    counts = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    head = {"usageMetadata": counts, "modelVersion": "m", "responseId": "a"}

    def chunk(parts: list[dict[str, Any]], **end: str) -> dict[str, Any]:
        return {"candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0, **end}], **head}

    if not streams:
        return [chunk(parts, finishReason="STOP")]
    return [*(chunk([part]) for part in parts), chunk([{"text": ""}], finishReason="STOP")]


def bedrock(asked: list[tuple[str, Any]], streams: bool) -> list[Any]:
    def input_of(text: Any) -> Any:
        # A stream carries any text, a whole answer JSON alone.
        return {} if text is None or not text.strip() else json.loads(text)

    usage = {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1}}
    stop = "tool_use" if asked else "end_turn"
    if not streams:
        blocks: list[dict[str, Any]] = [
            {"toolUse": {"toolUseId": f"c{at}", "name": name, "input": input_of(text)}}
            for at, (name, text) in enumerate(asked)
        ] or [{"text": "Done."}]
        return [{"output": {"message": {"role": "assistant", "content": blocks}}, "stopReason": stop, **usage}]
    events: list[Any] = [("messageStart", {"role": "assistant"})]
    for at, (name, text) in enumerate(asked):
        place = {"contentBlockIndex": at}
        events.append(("contentBlockStart", {"start": {"toolUse": {"toolUseId": f"c{at}", "name": name}}, **place}))
        events.append(("contentBlockDelta", {"delta": {"toolUse": {"input": text or ""}}, **place}))
        events.append(("contentBlockStop", place))
    if not asked:
        events.append(("contentBlockDelta", {"delta": {"text": "Done."}, "contentBlockIndex": 0}))
    return [*events, ("messageStop", {"stopReason": stop}), ("metadata", usage)]


def frame(name: str, data: Any) -> bytes:
    """An event as a frame of `application/vnd.amazon.eventstream`."""
    headers = b"".join(
        bytes([len(key)]) + key.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for key, value in ((":message-type", "event"), (":event-type", name))
    )
    payload = json.dumps(data).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    body = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return body + struct.pack(">I", zlib.crc32(body))


ANSWERS = {"chat": chat, "anthropic": anthropic, "responses": responses, "gemini": gemini, "bedrock": bedrock}


class Provider:
    """A server that asks for calls once, and is content then; it keeps what it is sent."""

    def __init__(self, wire: str, asked: list[tuple[str, Any]]) -> None:
        self.bodies: list[Any] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                provider.bodies.append(body)
                streams = bool(body.get("stream")) or ":stream" in self.path or self.path.endswith("/converse-stream")
                events = ANSWERS[wire](asked if len(provider.bodies) == 1 else [], streams)
                if streams and wire == "bedrock":
                    data = b"".join(frame(*each) for each in events)
                elif streams:
                    lines = (each if isinstance(each, str) else json.dumps(each) for each in events)
                    data = "".join(f"data: {line}\n\n" for line in lines).encode()
                else:
                    data = json.dumps(events[0]).encode()
                self.send_response(200)
                self.send_header("content-type", "text/event-stream" if streams else "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def sent_arguments(self) -> list[Any]:
        """The arguments of the calls in the last request."""
        found: list[Any] = []

        def look(value: Any) -> None:
            if isinstance(value, list):
                for each in value:
                    look(each)
            elif isinstance(value, dict):
                if value.get("type") == "tool_use":
                    found.append(value["input"])
                elif "functionCall" in value:
                    found.append(value["functionCall"]["args"])
                elif "toolUse" in value:
                    found.append(value["toolUse"]["input"])
                elif "arguments" in value and "name" in value:
                    found.append(json.loads(value["arguments"]))
                else:
                    look(list(value.values()))

        look([self.bodies[-1].get(key) for key in ("messages", "input", "contents")])
        return found
