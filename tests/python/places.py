"""The places at which models live, each with its wire, and answers as their providers write them: reasoning with proof,
tools that the provider runs, blocks that nobody knows yet, and calls that run at once.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

from loopwright import Model, wire
from loopwright.testing import Reply, WireServer, recorded, response
from ways import KEY

PROJECT = "our-project"


@dataclass(frozen=True)
class Place:
    """A provider: the model that is asked there, the wire of its bodies, and the rules of its strict double."""

    model: str
    wire: str
    strict: str

    def server(self, replies: list[Reply]) -> WireServer:
        return WireServer(replies, strict=self.strict).start()

    def at(self, server: WireServer, **options: Any) -> Model:
        return Model(self.model, base_url=server.url, api_key=KEY, **options)


PLACES = {
    "anthropic": Place("anthropic:claude-sonnet-4-5", "anthropic", "anthropic"),
    "chat": Place("openai-chat:gpt-4o", "openai_chat", "openai"),
    "responses": Place("openai-responses:gpt-5", "openai_responses", "openai"),
    "gemini": Place("gemini:gemini-3-pro-preview", "gemini", "gemini"),
    "bedrock": Place("bedrock:us.anthropic.claude-x-v1:0", "bedrock", "bedrock"),
    "azure": Place("azure:our-gpt", "openai_chat", "azure"),
    "vertex": Place("vertex:gemini-3-pro-preview", "gemini", "vertex"),
    "vertex-claude": Place("vertex:claude-sonnet-4-5@20250929", "anthropic", "vertex"),
}


@dataclass(frozen=True)
class Turn:
    """What an answer holds. `calls` are names of tools and their arguments; text of arguments goes as it is."""

    text: str = ""
    thinks: bool = False
    hidden: bool = False
    provider_tool: bool = False
    unknown: bool = False
    calls: tuple[tuple[str, Any], ...] = ()


@dataclass
class Answer:
    """An answer as a provider writes it, and the pieces of its text that must come back to it, byte for byte."""

    body: str
    proofs: list[str] = field(default_factory=list)


class Writer:
    """Writes the answers of one place; proofs and ids of two answers differ."""

    def __init__(self, name: str, label: str, *, numbers_anew: bool = False) -> None:
        """`numbers_anew`: each answer gives its calls the same ids again, as small servers do."""
        self.place, self._label, self._count, self._anew = PLACES[name], label, 0, numbers_anew
        self._proofs: list[str] = []

    def proof(self) -> str:
        """A text that only this place may be told, in the alphabet of base64."""
        self._count += 1
        proof = base64.b64encode(f"{self._label}:{self._count:03}".encode()).decode()
        self._proofs.append(proof)
        return proof

    def unknown(self, **fields: Any) -> dict[str, Any]:
        """A block of a kind to come, with a number that no reader may write anew."""
        block = {**fields, "new": self.proof(), "number": "1.50e0"}
        self._proofs[-1] = _text(block)
        return block

    def _id(self, kind: str, tag: str, at: int) -> str:
        return f"{kind}_{at}" if self._anew else f"{kind}_{tag}_{at}"

    def answer(self, turn: Turn) -> Answer:
        self._proofs = []
        self._count += 1
        body = getattr(self, f"_{self.place.wire}")(turn, f"{self._label}{self._count}")
        return Answer(_text(body), self._proofs)

    def _anthropic(self, turn: Turn, tag: str) -> dict[str, Any]:
        content: list[Any] = []
        if turn.thinks:
            content.append({"type": "thinking", "thinking": "Let me see.", "signature": self.proof()})
        if turn.hidden:
            content.append({"type": "redacted_thinking", "data": self.proof()})
        if turn.provider_tool:
            found = {"type": "web_search_result", "url": "https://example.org/", "title": "A page", "page_age": None}
            found["encrypted_content"] = self.proof()
            used = {"type": "server_tool_use", "id": f"srvtoolu_{tag}", "name": "web_search", "input": {"query": "x"}}
            result = {"type": "web_search_tool_result", "tool_use_id": used["id"], "content": [found]}
            cited = {"type": "web_search_result_location", "url": "https://example.org/", "title": "A page"}
            cited |= {"cited_text": "so", "encrypted_index": self.proof()}
            content += [used, result, {"type": "text", "text": "It says so.", "citations": [cited]}]
        if turn.unknown:
            content.append(self.unknown(type="future_block"))
        if turn.text:
            content.append({"type": "text", "text": turn.text})
        for at, (name, given) in enumerate(turn.calls):
            content.append(
                {"type": "tool_use", "id": self._id("toolu", tag, at), "name": name, "input": _object(given)}
            )
        return {
            "id": f"msg_{tag}", "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": "tool_use" if turn.calls else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }  # fmt: skip

    def _openai_chat(self, turn: Turn, tag: str) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
        # As OpenRouter and others of this wire give it.
        proved = [{"type": "reasoning.encrypted", "data": self.proof(), "index": 0}] if turn.thinks else []
        proved += [{"type": "reasoning.text", "text": "Hm.", "signature": self.proof()}] if turn.hidden else []
        proved += [self.unknown(type="reasoning.future")] if turn.unknown else []
        if proved:
            message["reasoning_details"] = proved
        if turn.calls:
            message["tool_calls"] = [
                {
                    "id": self._id("call", tag, at),
                    "type": "function",
                    "function": {"name": name, "arguments": _arguments(given)},
                }
                for at, (name, given) in enumerate(turn.calls)
            ]
        finish = "tool_calls" if turn.calls else "stop"
        return {
            "id": f"chatcmpl-{tag}", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }  # fmt: skip

    def _openai_responses(self, turn: Turn, tag: str) -> dict[str, Any]:
        output: list[Any] = []
        if turn.thinks or turn.hidden:
            summary = [{"type": "summary_text", "text": "Let me see."}] if turn.thinks else []
            output.append(
                {"type": "reasoning", "id": f"rs_{tag}", "summary": summary, "encrypted_content": self.proof()}
            )
        if turn.provider_tool:
            action = {"type": "search", "query": self.proof()}
            output.append({"type": "web_search_call", "id": f"ws_{tag}", "status": "completed", "action": action})
        if turn.unknown:
            output.append(self.unknown(type="future_item", id=f"fu_{tag}"))
        if turn.text:
            part = {"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []}
            output.append(
                {"type": "message", "id": f"msg_{tag}", "role": "assistant", "status": "completed", "content": [part]}
            )
        for at, (name, given) in enumerate(turn.calls):
            call = {"type": "function_call", "id": f"fc_{tag}_{at}", "call_id": self._id("call", tag, at), "name": name}
            output.append({**call, "arguments": _arguments(given), "status": "completed"})
        return {
            "id": f"resp_{tag}", "object": "response", "created_at": 1, "status": "completed", "model": "m",
            "output": output, "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
        }  # fmt: skip

    def _gemini(self, turn: Turn, tag: str) -> dict[str, Any]:
        parts: list[Any] = []
        if turn.thinks:
            parts.append({"text": "Let me see.", "thought": True})
        if turn.provider_tool:
            parts.append(
                {"executableCode": {"language": "PYTHON", "code": "print(1)"}, "thoughtSignature": self.proof()}
            )
            parts.append({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": self.proof()}})
        if turn.unknown:
            parts.append({"futureData": self.unknown()})
        if turn.text:
            parts.append({"text": turn.text, **({"thoughtSignature": self.proof()} if turn.hidden else {})})
        for at, (name, given) in enumerate(turn.calls):
            call: dict[str, Any] = {"functionCall": {"name": name, "args": _object(given)}}
            if turn.hidden:
                call["functionCall"]["id"] = self._id("c", tag, at)
            if at == 0:
                # The newer models sign the first of several calls.
                call["thoughtSignature"] = self.proof()
            parts.append(call)
        content = {"role": "model", "parts": parts}
        return {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "modelVersion": "m",
            "responseId": tag, "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        }  # fmt: skip

    def _bedrock(self, turn: Turn, tag: str) -> dict[str, Any]:
        content: list[Any] = []
        if turn.thinks:
            thought = {"text": "Let me see.", "signature": self.proof()}
            content.append({"reasoningContent": {"reasoningText": thought}})
        if turn.hidden:
            content.append({"reasoningContent": {"redactedContent": self.proof()}})
        if turn.provider_tool:
            used = {"toolUseId": f"srv_{tag}", "name": "nova_code_interpreter", "input": {"code": self.proof()}}
            content.append({"toolUse": {**used, "type": "server_tool_use"}})
            result = {"toolUseId": used["toolUseId"], "type": "nova_code_interpreter_result", "status": "success"}
            content.append({"toolResult": {**result, "content": [{"json": {"stdOut": self.proof()}}]}})
        if turn.unknown:
            content.append({"futureBlock": self.unknown()})
        if turn.text:
            content.append({"text": turn.text})
        for at, (name, given) in enumerate(turn.calls):
            content.append(
                {"toolUse": {"toolUseId": self._id("tooluse", tag, at), "name": name, "input": _object(given)}}
            )
        return {
            "output": {"message": {"role": "assistant", "content": content}},
            "stopReason": "tool_use" if turn.calls else "end_turn", "metrics": {"latencyMs": 1},
            "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15},
        }  # fmt: skip


def _object(given: Any) -> Any:
    """Arguments on a wire that takes objects alone."""
    return given if isinstance(given, dict) else {"n": given}


def _arguments(given: Any) -> str:
    return given if isinstance(given, str) else json.dumps(given)


def _text(value: Any) -> str:
    """Without white space, and with the number as no library would write it."""
    return json.dumps(value, separators=(",", ":")).replace('"1.50e0"', "1.50e0")


def reply(place: Place, answer: Answer, *, streamed: bool) -> tuple[Reply, list[str]]:
    """The answer as it stands, or as a stream of the wire gives it, and the pieces of its text that must come back."""
    if not streamed:
        return recorded(200, "application/json", answer.body), answer.proofs
    # The script of a server is JSON that Python writes.
    proofs = [json.dumps(json.loads(each)) if each.startswith("{") else each for each in answer.proofs]
    return response(json.loads(wire.decode_response(place.wire, answer.body).to_json())), proofs
