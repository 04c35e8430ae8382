"""`WireServer(strict=…)`: a double that refuses what a provider documents to refuse, counts tokens and makes vectors."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from typing import Any

import pytest
from loopwright import Agent, Model, UsageError, tool
from loopwright.testing import WireServer, call, text
from loopwright.testing._strict import PROVIDERS

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi."}]}
CLAUDE = {**CHAT, "max_tokens": 9}
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "Hi."}]}]}
VERTEX = "/v1/projects/p/locations/global/publishers"
USED = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "1"}
FUNCTION = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}
FUNCTION_RESULT = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
SOURCE = r"^([\w-]+\.)+\w+/\S+|^[\w-]+/[\w.-]+(#\d+|: \S+/\S+|: openapi.yaml)"
CALLED = {"id": "c" * 9, "type": "function", "function": {"name": "f", "arguments": "{}"}}


def post(url: str, path: str, body: Any) -> tuple[int, Any]:
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
    asked = urllib.request.Request(url + path, json.dumps(body).encode(), headers)  # noqa: S310
    try:
        with urllib.request.urlopen(asked, timeout=20) as answer:  # noqa: S310
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


REFUSED = [
    ("anthropic", "/v1/messages", {**CLAUDE, "frequency_penalty": 1}, "Extra inputs"),
    ("anthropic", "/v1/messages", CHAT, "max_tokens: Field required"),
    ("anthropic", "/v1/messages", {**CLAUDE, "tools": [{"name": "a b", "input_schema": {}}]}, "tools.0.name"),
    ("anthropic", "/v1/messages", {**CLAUDE, "system": [
        {"type": "text", "text": str(at), "cache_control": {"type": "ephemeral"}} for at in range(5)]}, "maximum of 4"),
    ("anthropic", "/v1/messages", {**CLAUDE, "messages": [*CHAT["messages"], {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "x"}]}, *CHAT["messages"]]}, "signature"),
    ("openai", "/v1/chat/completions", {**CHAT, "messages": [
        {"role": "tool", "tool_call_id": "x", "content": "1"}]}, "'tool' must follow"),
    ("openai", "/v1/responses", {"model": "m", "input": [
        {"type": "function_call_output", "call_id": "x", "output": "1"}]}, "No tool call found"),
    ("azure", "/openai/deployments/d/chat/completions", CHAT, "Resource not found"),
    ("azure", "/chat/completions?api-version=1", CHAT, "Resource not found"),
    ("mistral", "/v1/chat/completions", {**CHAT, "messages": [
        *CHAT["messages"], {"role": "assistant", "content": "", "tool_calls": [CALLED]},
        {"role": "tool", "tool_call_id": "c" * 9, "content": "1"}, *CHAT["messages"]]}, "Unexpected role 'user'"),
    ("groq", "/v1/chat/completions", {**CHAT, "logprobs": True}, "'logprobs' is unsupported"),
    ("groq", "/v1/chat/completions", {**CHAT, "response_format": {"type": "json_object"}, "tools": [
        {"type": "function", "function": {"name": "f", "parameters": {}}}]}, "json mode cannot"),
    ("deepseek", "/chat/completions", {**CHAT, "messages": [{"role": "developer", "content": "x"}]}, "unknown variant"),
    ("gemini", "/v1beta/models/m:generateContent", {"contents": [
        {"role": "assistant", "parts": [{"text": "Hi."}]}]}, "valid role"),
    ("gemini", "/v1beta/models/m:generateContent", {"contents": [{"role": "user", "parts": []}]}, "must not be empty"),
    ("gemini", "/v1beta/models/m:generateContent", {"contents": []}, "contents is not specified"),
    ("gemini", "/v1beta/models/m:generateContent", {"contents": [FUNCTION, *GEMINI["contents"]]}, "immediately after"),
    ("gemini", "/v1beta/models/m:generateContent", {"contents": [
        *GEMINI["contents"], FUNCTION, *GEMINI["contents"]]}, "number of function response parts"),
    ("bedrock", "/model/m/converse", {"messages": [{"role": "user", "content": [{"text": ""}]}]}, "blank"),
    ("any", "/v1/messages", {"max_tokens": 9}, "documented shape"),
    ("anthropic", "/v1/messages", {**CLAUDE, "messages": [{"role": "user", "content": [{"type": "image", "source": {
        "type": "base64", "media_type": "image/tiff", "data": "AAAA"}}]}]}, "source.media_type"),
    ("anthropic", "/v1/messages", {**CLAUDE, "messages": [*CHAT["messages"], {"role": "assistant", "content": [
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}]}]}, "corresponding `server_tool_use`"),
    ("anthropic", "/v1/messages", {**CLAUDE, "messages": [*CHAT["messages"], {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "x", "signature": "s"}]}]}, "final block"),
    ("anthropic", "/v1/messages", {**CLAUDE, "tool_choice": {"type": "any"}}, "while providing tools"),
    ("anthropic", "/v1/messages", {**CLAUDE, "messages": [*CHAT["messages"], {"role": "assistant", "content": [
        USED, USED]}, {"role": "user", "content": [RESULT, RESULT]}]}, "must be unique"),
    ("anthropic", "/v1/messages", {**CLAUDE, "messages": [*CHAT["messages"], {"role": "assistant", "content": [
        {**USED, "name": "f" * 201}]}, {"role": "user", "content": [RESULT]}]}, "at most 200 characters"),
    ("anthropic", "/v1/messages", {**CLAUDE, "thinking": {"type": "enabled", "budget_tokens": 1024}, "messages": [
        *CHAT["messages"], {"role": "assistant", "content": [USED]}, {"role": "user", "content": [RESULT]}]},
        "Expected `thinking`"),
    ("anthropic", "/v1/messages", {**CLAUDE, "messages": [{"role": "tool", "content": "x"}]}, "role"),
    ("anthropic", "/v1/messages", {**CLAUDE, "tools": [{"name": "f", "input_schema": {}}] * 2}, "must be unique"),
    ("vertex", f"{VERTEX}/anthropic/models/c:rawPredict", CLAUDE, "model: Extra inputs"),
    ("vertex", f"{VERTEX}/anthropic/models/c:rawPredict", {"messages": CHAT["messages"], "max_tokens": 9},
        "anthropic_version"),
    ("openai", "/v1/chat/completions", {**CHAT, "parallel_tool_calls": True}, "only allowed when 'tools'"),
    ("openai", "/v1/chat/completions", {**CHAT, "tools": []}, "too short"),
    ("openai", "/v1/chat/completions", {**CHAT, "messages": [
        {"role": "user", "content": [{"type": "input_text", "text": "x"}]}]}, "Invalid value: 'input_text'"),
    ("openai", "/v1/chat/completions", {**CHAT, "messages": [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file-1"}}]}]}, "no address"),
    ("openai", "/v1/responses", {"model": "m", "input": [
        {"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}]}, "Invalid value: 'input_text'"),
    ("openai", "/v1/responses", {"model": "m", "input": [
        {"role": "assistant", "id": "x", "content": "Hi."}]}, "begins with 'msg'"),
    ("openai", "/v1/responses", {"model": "m", "input": [
        {"type": "reasoning", "id": "rs_1", "summary": []}, {"role": "user", "content": "Hi."}]}, "required following"),
    ("openai", "/v1/responses", {"model": "m", "input": [{"type": "reasoning", "id": "rs_1"}]}, "summary"),
    ("gemini", "/v1beta/models/gemini-3-pro:generateContent", {"contents": [*GEMINI["contents"],
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}]}, "thought_signature"),
    ("bedrock", "/model/m/converse", {"messages": [{"role": "user", "content": [
        {"text": "x"}, {"image": {"format": "tiff", "source": {"bytes": "AAAA"}}}]}]}, "image.format"),
    ("bedrock", "/model/m/converse", {"messages": [{"role": "user", "content": [
        {"document": {"format": "pdf", "name": "a", "source": {"bytes": "AAAA"}}}]}]}, "text block must be included"),
    ("bedrock", "/model/m/converse", {"messages": [{"role": "user", "content": [
        {"text": "x"}, {"document": {"format": "pdf", "name": "a.b", "source": {"bytes": "AAAA"}}}]}]}, "document.name"),
    ("bedrock", "/model/m/converse", {"messages": [{"role": "user", "content": [
        {"text": "x"}, *[{"cachePoint": {"type": "default"}}] * 5]}]}, "cachePoint"),
    ("bedrock", "/model/m/converse", {"messages": [{"role": "user", "content": [{"text": "x"}]}] * 2}, "alternate"),
    ("bedrock", "/model/m/converse", {"messages": [{"role": "user", "content": [{"text": "x"}]}, {
        "role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}]}]}, "toolConfig"),
    ("mistral", "/v1/chat/completions", {**CHAT, "messages": [
        *CHAT["messages"], {"role": "assistant", "content": "", "tool_calls": [{**CALLED, "id": "call_0"}]},
        {"role": "tool", "tool_call_id": "call_0", "content": "1"}]}, "Tool call id was call_0"),
    ("mistral", "/v1/chat/completions", {**CHAT, "messages": [
        *CHAT["messages"], {"role": "assistant", "content": ""}, *CHAT["messages"]]}, "content or tool_calls"),
    ("deepseek", "/v1/responses", {"model": "m", "input": [CALL, {"role": "assistant", "content": "x"}, {
        "type": "function_call_output", "call_id": "c", "output": "1"}]}, "No tool output found"),
    ("deepseek", "/anthropic/v1/messages", {**CLAUDE, "messages": [
        *CHAT["messages"], {"role": "system", "content": "x"}]}, "expected `user` or `assistant`"),
    ("openai", "/v1/responses", {"model": "m", "input": [
        {"type": "reasoning", "id": "rs_1", "summary": []}, {"role": "assistant", "content": "Hi."}]}, "following item"),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "path", "body", "words"), REFUSED)
def test_a_request_that_the_provider_refuses_is_refused_with_its_own_error(
    provider: str, path: str, body: Any, words: str
):
    with WireServer([text("Fine.")], strict=provider) as server:
        status, shown = post(server.url, path, body)
        assert (status, server.pending) == (404 if provider == "azure" else 400, 1)
        assert words in json.dumps(shown)
        (refused,) = server.refusals
        assert re.search(SOURCE, refused.source), "it names a page, a file of a repository or a thread"
        assert {"type", "__type"} & shown.keys() or "message" in shown.get("error", shown)


ACCEPTED = {
    "anthropic": ("/v1/messages", CLAUDE),
    "openai": ("/v1/responses", {"model": "m", "input": "Hi."}),
    "azure": ("/openai/deployments/d/chat/completions?api-version=2025-01-01", CHAT),
    "mistral": ("/v1/chat/completions", CHAT),
    "groq": ("/v1/chat/completions", CHAT),
    "deepseek": ("/chat/completions", CHAT),
    "gemini": ("/v1beta/models/m:generateContent", GEMINI),
    "bedrock": ("/model/m/converse", {"messages": [{"role": "user", "content": [{"text": "Hi."}]}]}),
    "vertex": (f"{VERTEX}/google/models/m:generateContent", GEMINI),
    "any": ("/v1/messages", CLAUDE),
}


RECORDED = [
    # Taken by the provider in a recording of another project, however a page reads.
    ("anthropic", "/v1/messages", {**CLAUDE, "messages": [{"role": "assistant", "content": "Hi."}, *CHAT["messages"]]}),
    ("anthropic", "/v1/messages", {**CLAUDE, "messages": [*CHAT["messages"], {"role": "system", "content": "Be good."}]}),
    ("anthropic", "/v1/messages", {**CLAUDE, "tool_choice": {"type": "auto"}}),
    ("anthropic", "/v1/messages", {**CLAUDE, "tools": [{"name": "f" * 128, "input_schema": {"type": "object"}}]}),
    ("anthropic", "/v1/messages", {**CLAUDE, "messages": [
        *CHAT["messages"], {"role": "assistant", "content": [USED]}, {"role": "user", "content": [RESULT]},
        {"role": "assistant", "content": [USED]}, {"role": "user", "content": [RESULT]}]}),
    ("anthropic", "/v1/messages", {**CLAUDE, "messages": [
        *CHAT["messages"], {"role": "assistant", "content": [USED]}, {"role": "assistant", "content": [
            {**USED, "id": "u"}]}, {"role": "user", "content": [RESULT, {**RESULT, "tool_use_id": "u"}]}]}),
    ("openai", "/v1/responses", {"model": "m", "input": [{"role": "user", "content": ""}], "instructions": "Hi."}),
    ("openai", "/v1/responses", {"model": "m", "conversation": "conv_1", "input": [
        {"type": "function_call_output", "call_id": "c", "output": "1"}]}),
    ("openai", "/v1/responses", {"model": "m", "tool_choice": "auto", "input": [
        {"role": "user", "content": "Hi."}, {"type": "additional_tools", "role": "developer", "tools": []}]}),
    ("mistral", "/v1/chat/completions", {**CHAT, "messages": [
        *CHAT["messages"], {"role": "assistant", "content": [{"type": "thinking", "thinking": []}], "tool_calls": []},
        *CHAT["messages"]]}),
    ("gemini", "/v1beta/models/m:generateContent", {"contents": [*GEMINI["contents"], *GEMINI["contents"]]}),
    ("gemini", "/v1beta/models/m:generateContent", {"contents": [{"role": "user", "parts": [{"text": ""}]}]}),
    ("gemini", "/v1beta/models/m:generateContent", {"contents": [
        *GEMINI["contents"], FUNCTION, FUNCTION, {"role": "user", "parts": FUNCTION_RESULT["parts"] * 2}]}),
    ("gemini", "/v1beta/models/m:generateContent", {**GEMINI, "generationConfig": {"responseJsonSchema": {
        "type": "object", "properties": {"a": {"type": "string", "default": "x", "pattern": "^x$"}}}}}),
    ("bedrock", "/model/m/converse", {"messages": [
        {"role": "assistant", "content": [{"text": "Hi."}]}, {"role": "user", "content": [{"text": "\n"}]}]}),
    ("bedrock", "/model/m/converse", {"messages": [{"role": "user", "content": [{"text": "x"}]}], "outputConfig": {
        "textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": json.dumps({
            "type": "object", "additionalProperties": False, "properties": {"a": {"type": "string", "minLength": 1}},
            "required": ["a"]})}}}}}),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "path", "body"), RECORDED)
def test_a_request_that_was_recorded_as_taken_is_taken(provider: str, path: str, body: Any):
    with WireServer([text("Fine.")], strict=provider) as server:
        assert (post(server.url, path, body)[0], server.refusals) == (200, [])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_request_that_the_provider_takes_gets_its_reply(provider: str):
    path, body = ACCEPTED[provider]
    with WireServer([text("Fine.")], strict=provider) as server:
        status, shown = post(server.url, path, body)
        assert (status, server.refusals, server.pending) == (200, [], 0)
        assert "Fine." in json.dumps(shown)


def test_a_provider_has_no_other_wire_and_no_other_name():
    with WireServer([text("Fine.")], strict="anthropic") as server:
        assert post(server.url, "/v1/chat/completions", CHAT)[0] == 404
    with pytest.raises(UsageError) as caught:
        WireServer(strict="antropic")
    assert (caught.value.code, "anthropic" in str(caught.value.hint)) == ("unknown_provider", True)


@tool
def look_up(key: str) -> str:
    """Looks a key up."""
    return f"{key}: 8080"


@pytest.mark.parametrize(
    ("model", "strict"),
    [
        ("anthropic:claude-sonnet-4-5", "anthropic"),
        ("openai-chat:gpt-4o", "openai"),
        ("openai-responses:gpt-4o", "openai"),
        ("gemini:gemini-2.5-flash", "gemini"),
    ],
)
def test_runs_hold_against_a_strict_double(model: str, strict: str):
    with WireServer([call("look_up", key="port"), text("8080.")], strict=strict) as server:
        result = Agent(Model(model, base_url=server.url, api_key="k"), tools=[look_up]).run_sync("Which port?")
        assert (result.final, server.refusals) == ("8080.", [])


def test_tokens_are_counted_and_texts_embedded():
    with WireServer(strict="any") as server:
        few = post(server.url, "/v1/messages/count_tokens", CLAUDE)[1]["input_tokens"]
        more = post(server.url, "/v1/messages/count_tokens", {**CLAUDE, "system": "Be brief. " * 50})[1]["input_tokens"]
        assert 5 < few < few + 100 < more
        assert post(server.url, "/v1/responses/input_tokens", {"input": "Hi."})[1]["input_tokens"] > 0
        assert post(server.url, "/v1beta/models/m:countTokens", GEMINI)[1]["totalTokens"] > 0
        texts = ["the port is 8080", "the port is 9090", "a cat sleeps"]
        found = post(server.url, "/v1/embeddings", {"model": "e", "input": texts, "dimensions": 256})[1]
        one, two, three = (each["embedding"] for each in found["data"])
        near, far = (sum(a * b for a, b in zip(one, other, strict=True)) for other in (two, three))
        assert len(one) == 256
        assert near > far + 0.3
        part = {"content": {"parts": [{"text": "a cat"}]}}
        many = post(server.url, "/v1beta/models/m:batchEmbedContents", {"requests": [part, part]})[1]
        assert [len(each["values"]) for each in many["embeddings"]] == [64, 64]
