"""Gemini end to end: agents over real sockets, the codec by its name, and the wire server that speaks it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from loopwright import Agent, Message, Model, ProviderError, tool, wire
from loopwright.events import TextDelta
from loopwright.messages import Image
from loopwright.models import Call
from loopwright.testing import WireServer, call, calls, fault, recorded, text
from pydantic import BaseModel
from ways import KEY, run

MODEL = "gemini:gemini-2.5-flash"
WHOLE = "/v1beta/models/gemini-2.5-flash:generateContent"
STREAMED = "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)


@tool(read_only=True)
def population(city: str) -> int:
    """How many live there.

    Args:
        city: The city.
    """
    return {"Oslo": 700_000, "Bergen": 290_000}[city]


class Answer(BaseModel):
    city: str
    count: int


def agent(server: WireServer, model: str = MODEL, retry: Any = None, **options: Any) -> Agent[Any, Any]:
    return Agent(Model(model, base_url=server.url, api_key=KEY, retry=retry), **options)


def said(*parts: dict[str, Any], finish: str | None = "STOP", **beside: Any) -> dict[str, Any]:
    """An answer, or a chunk of a stream, as the API writes it."""
    candidate = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "gemini-2.5-flash", "responseId": "r1", **beside}


def streamed(*chunks: dict[str, Any]) -> Any:
    return recorded(200, "text/event-stream", "".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks))


@pytest.mark.parametrize("variable", ["GEMINI_API_KEY", "GOOGLE_API_KEY"])
@pytest.mark.parametrize("at", ["GEMINI_BASE_URL", "base_url"])
def test_the_key_comes_from_the_environment_and_goes_into_a_header(
    monkeypatch: pytest.MonkeyPatch, way: str, variable: str, at: str
) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, KEY)
    with WireServer([text("Hello.")], key=KEY) as server:
        if at == "GEMINI_BASE_URL":
            monkeypatch.setenv(at, f"{server.url}/v1beta")
        result, events = run(Agent(Model(MODEL, base_url=None if at == "GEMINI_BASE_URL" else server.url)), "Hi.", way)
        assert result.final == "Hello."
        (request,) = server.requests
    assert request["path"] == (STREAMED if way == "stream" else WHOLE)
    headers = dict(request["headers"])
    assert headers["x-goog-api-key"] == "***"
    assert "authorization" not in headers
    assert KEY not in json.dumps(request)
    assert "model" not in request["body"]
    if way == "stream":
        assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Hello."


def test_a_missing_key_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(Exception, match="GEMINI_API_KEY"):
        Agent(MODEL).run_sync("?")


def test_parallel_calls_are_answered_in_one_content(serve: Any, way: str) -> None:
    wanted = [Call("population", {"city": "Oslo"}), Call("population", {"city": "Bergen"})]
    server = serve(calls(*wanted, text="I look."), "990000 in all.")
    result, _ = run(agent(server, tools=[population], instructions="Be brief."), "How many?", way)
    assert result.final == "990000 in all."
    assert [each.failure for each in result.tool_calls] == [None, None]
    first, second = (each["body"] for each in server.requests)
    assert first["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    (declared,) = first["tools"][0]["functionDeclarations"]
    assert declared["parametersJsonSchema"]["required"] == ["city"]
    roles = [content["role"] for content in second["contents"]]
    assert roles == ["user", "model", "user"]
    results = [part["functionResponse"] for part in second["contents"][2]["parts"]]
    assert [(each["name"], each["response"]) for each in results] == [
        ("population", {"output": "700000"}),
        ("population", {"output": "290000"}),
    ]
    called = [part["functionCall"]["id"] for part in second["contents"][1]["parts"][1:]]
    assert called == [each["id"] for each in results]


def test_signatures_go_back_on_the_very_parts_they_came_with(serve: Any, way: str) -> None:
    oslo = {"functionCall": {"name": "population", "args": {"city": "Oslo"}}, "thoughtSignature": "sig-a"}
    bergen = {"functionCall": {"name": "population", "args": {"city": "Bergen"}}}
    thought = {"text": "I need both.", "thought": True}
    end = {"text": "990000", "thoughtSignature": "sig-b"}
    answers = [said(thought, oslo, bergen), said(end), said({"text": "You are welcome."})]
    server = serve(
        *(streamed(each) if way == "stream" else recorded(200, "application/json", each) for each in answers)
    )
    model = agent(server, tools=[population])
    result, _ = run(model, "How many?", way)
    run(model, "Thanks.", way, messages=result.messages)
    last = server.requests[2]["body"]["contents"]
    assert last[1] == {"role": "model", "parts": [thought, oslo, bergen]}, "calls without ids are sent without"
    assert last[3] == {"role": "model", "parts": [end]}
    results = [part["functionResponse"] for part in last[2]["parts"]]
    assert [(each["name"], each["response"]["output"]) for each in results] == [
        ("population", "700000"),
        ("population", "290000"),
    ]
    assert all("id" not in each for each in results)
    # The thoughts and signatures of Gemini are nobody else's.
    with WireServer(["Fine."]) as other:
        Agent(Model("openai-chat:m", base_url=other.url, api_key=KEY)).run_sync("And?", messages=result.messages)
        sent = json.dumps(other.requests[0]["body"])
    assert "sig-" not in sent
    assert "gemini_call_" in sent, "other wires want ids"


def test_a_typed_answer(serve: Any, way: str) -> None:
    server = serve('{"city": "Oslo", "count": 3}')
    result, _ = run(agent(server, output_type=Answer), "How many?", way)
    assert result.output == Answer(city="Oslo", count=3)
    config = server.requests[0]["body"]["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"]["additionalProperties"] is False


def test_a_typed_answer_beside_tools_is_asked_for_in_words_by_older_models(serve: Any) -> None:
    for model, enforced in ((MODEL, False), ("gemini:gemini-3-pro-preview", True)):
        server = serve(call("population", city="Oslo"), '{"city": "Oslo", "count": 3}')
        result = agent(server, model, tools=[population], output_type=Answer).run_sync("How many?")
        assert result.output == Answer(city="Oslo", count=3)
        for request in server.requests:
            body = request["body"]
            assert ("responseJsonSchema" in body.get("generationConfig", {})) is enforced
            assert ('"count"' in json.dumps(body.get("systemInstruction", {})).replace("\\", "")) is not enforced


def test_a_picture_goes_in(serve: Any, way: str) -> None:
    server = serve("A dot.")
    result, _ = run(agent(server), ["What is it?", Image.from_bytes(PNG)], way)
    assert result.final == "A dot."
    assert server.requests[0]["body"]["contents"][0]["parts"][1]["inlineData"]["mimeType"] == "image/png"


def test_effort_is_a_budget_or_a_level(serve: Any) -> None:
    for model, thinking in (
        (MODEL, {"thinkingBudget": 24576, "includeThoughts": True}),
        ("gemini:gemini-3-flash", {"thinkingLevel": "high", "includeThoughts": True}),
    ):
        server = serve("ok")
        agent(server, model, settings={"effort": "high"}).run_sync("Go.")
        assert server.requests[0]["body"]["generationConfig"]["thinkingConfig"] == thinking


def test_calls_of_another_model_get_a_signature_where_newer_models_want_one(serve: Any) -> None:
    first = serve(call("population", city="Oslo"), "700000")
    history = (
        Agent(Model("anthropic:m", base_url=first.url, api_key=KEY), tools=[population]).run_sync("Oslo?").messages
    )
    for model, signed in ((MODEL, False), ("gemini:gemini-3-pro-preview", True)):
        server = serve("Yes.")
        agent(server, model, tools=[population]).run_sync("Sure?", messages=history)
        part = server.requests[0]["body"]["contents"][1]["parts"][0]
        assert ("thoughtSignature" in part) is signed


@pytest.mark.parametrize("listed", [False, True])
def test_w16_an_error_says_how_long_to_wait(serve: Any, way: str, listed: bool) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.3s"}]
    error: Any = {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED", "details": details}}
    body = json.dumps([error] if listed else error)
    server = serve(recorded(429, "application/json", body), text("Done."))
    begun = time.monotonic()
    result, _ = run(agent(server, retry={"base": 0.001}), "Go.", way)
    assert result.final == "Done."
    assert time.monotonic() - begun >= 0.3, "as long as it asked for"


@pytest.mark.parametrize(
    ("status", "word", "code"),
    [
        (400, "INVALID_ARGUMENT", "bad_request"),
        (401, "UNAUTHENTICATED", "auth"),
        (403, "PERMISSION_DENIED", "permission"),
        (404, "NOT_FOUND", "not_found"),
    ],
)
def test_w16_refusals_in_a_list_have_their_kind(serve: Any, way: str, status: int, word: str, code: str) -> None:
    error = [{"error": {"code": status, "message": "no such thing", "status": word}}]
    server = serve(recorded(status, "application/json", json.dumps(error)))
    with pytest.raises(Exception, match="no such thing") as caught:
        run(agent(server), "Go.", way)
    assert caught.value.code == code  # type: ignore[attr-defined]
    assert len(server.requests) == 1


def test_failures_that_pass_are_tried_again(serve: Any, way: str) -> None:
    server = serve(fault.status(503), fault.error_event(after=1), fault.closes(), text("Done."))
    result, _ = run(agent(server, retry={"base": 0.001, "attempts": 5}), "Go.", way)
    assert result.final == "Done."
    assert len(server.requests) == 4


def test_w19_a_malformed_call_is_sampled_again(serve: Any, way: str) -> None:
    body = said(finish="MALFORMED_FUNCTION_CALL")
    broken = streamed(body) if way == "stream" else recorded(200, "application/json", body)
    server = serve(broken, text("Done."))
    result, _ = run(agent(server, tools=[population], retry={"base": 0.001}), "Go.", way)
    assert (result.final, len(server.requests)) == ("Done.", 2)
    server = serve(broken, broken)
    with pytest.raises(ProviderError, match="MALFORMED_FUNCTION_CALL"):
        run(agent(server, retry={"base": 0.001, "attempts": 2}), "Go.", way)


def test_w19_a_filtered_answer_is_no_success(serve: Any, way: str) -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}}
    ends = []
    for body in (said({"text": "I"}, finish="SAFETY"), blocked):
        server = serve(streamed(body) if way == "stream" else recorded(200, "application/json", body))
        result, _ = run(agent(server), "Go.", way)
        ends.append(result.stop_reason)
        assert result.stop_reason != "complete", "a filter cut it"
    assert ends[0] == ends[1]


def test_w19_a_stream_ends_without_a_mark(serve: Any) -> None:
    counts = {"promptTokenCount": 7, "candidatesTokenCount": 3, "thoughtsTokenCount": 2, "totalTokenCount": 12}
    server = serve(
        streamed(
            said({"text": "Hm.", "thought": True}, finish=None),
            said({"text": "Hel"}, finish=None),
            said({"text": "lo."}, finish=None),
            said({"text": ""}, usageMetadata=counts),
        )
    )
    result, events = run(agent(server), "Go.", "stream")
    assert result.final == "Hello."
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Hello."
    assert (result.usage.input_tokens, result.usage.output_tokens) == (7, 5)
    server = serve(streamed(said({"text": "Hel"}, finish=None)), text("Hello again."))
    result, _ = run(agent(server, retry={"base": 0.001}), "Go.", "stream")
    assert result.final == "Hello again.", "what has no end is tried again"


def test_the_codec_has_the_name_of_the_wire() -> None:
    request = wire.Request("gemini-2.5-flash", [Message.user("hi")], system="Be brief.", max_tokens=9)
    body = json.loads(wire.encode_request("gemini", request))
    assert body["contents"] == [{"role": "user", "parts": [{"text": "hi"}]}]
    assert json.loads(wire.encode_request("gemini", wire.decode_request("gemini", body))) == body
    answer = said({"text": "Hello."}, usageMetadata={"promptTokenCount": 3})
    response = wire.decode_response("gemini", answer)
    assert (response.message.text, response.id, response.usage.input_tokens) == ("Hello.", "r1", 3)
    assert json.loads(wire.encode_response("gemini", response)) == answer
    decoder = wire.StreamDecoder("gemini")
    for name, data in wire.encode_stream("gemini", response, piece=2):
        assert name == ""
        decoder.feed(f"data: {data}\n\n".encode())
    assert decoder.finish() == response
    assert json.loads(wire.encode_message("gemini", Message.user("x"))) == {"role": "user", "parts": [{"text": "x"}]}
    failure = wire.decode_error(429, json.dumps([{"error": {"code": 429, "message": "slow"}}]))
    assert "slow" in str(failure)
