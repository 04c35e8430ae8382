"""The codecs from Python, against recordings of the real providers: nothing is lost, streams may be cut anywhere."""

import functools
import json
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from loopwright import Message, ProviderError, UsageError, tool, wire
from loopwright.events import ArgumentsDelta, ProviderDelta, ReasoningDelta, TextDelta, ToolUseDelta
from loopwright.messages import (
    Document,
    Extra,
    FileId,
    Image,
    ProviderBlock,
    Text,
    Thinking,
    ToolFailure,
    ToolResult,
    ToolUse,
)
from loopwright.result import Usage

RECORDED = Path(__file__).parents[2] / "../shared/data/recorded"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


class Exchange(NamedTuple):
    name: str
    wire: str
    path: str
    request: Any
    status: int
    response: Any


@functools.cache
def recorded() -> list[Exchange]:
    found = []
    for file in sorted(RECORDED.glob("*/*.json")):
        for place, each in enumerate(json.loads(file.read_text())):
            if "/chat/completions" in each["path"]:
                name = "openai_chat"
            else:
                name = "openai_responses" if "/responses" in each["path"] else "anthropic"
            where = f"{file.stem}[{place}]"
            found.append(Exchange(where, name, each["path"], each["request"], each["status"], each["response"]))
    return found


def exchanges(**wanted: Any) -> list[Exchange]:
    """Those whose request or response is of a type; the test is skipped where the recordings are not at hand."""
    if not RECORDED.is_dir():
        pytest.skip(f"there are no recordings in {RECORDED}")
    found = [each for each in recorded() if all(isinstance(getattr(each, name), kind) for name, kind in wanted.items())]
    found = [each for each in found if "count_tokens" not in each.path or "response" not in wanted]
    assert found
    return found


def good(**wanted: Any) -> list[Exchange]:
    return [each for each in exchanges(**wanted) if each.status == 200]


def streams() -> list[Exchange]:
    found = [each for each in good(response=str) if "data:" in each.response]
    assert {each.wire for each in found} == {"anthropic", "openai_chat", "openai_responses"}
    return found


def same(one: Any, other: Any) -> bool:
    """Semantically equal, and 1 is not 1.0 and not true."""
    if isinstance(one, str):
        one = json.loads(one)
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def seen(delta: Any) -> tuple[Any, ...]:
    return (delta.type, *(getattr(delta, name) for name in type(delta).__match_args__))


def read(name: str, *chunks: bytes) -> tuple[wire.Response, list[tuple[Any, ...]]]:
    decoder = wire.StreamDecoder(name)
    deltas = [seen(delta) for chunk in chunks for delta in decoder.feed(chunk)]
    response = decoder.finish()
    return response, deltas + [seen(delta) for delta in decoder.last]


def test_recorded_requests_are_rebuilt_from_our_own_types() -> None:
    for each in exchanges(request=dict):
        request = wire.decode_request(each.wire, each.request)
        assert same(request.to_wire(each.wire), each.request), each.name
        assert wire.Request.from_json(request.to_json()) == request

        # All messages as Python objects, and back: the very same text.
        messages = [Message.from_json(message.to_json()) for message in request.messages]
        assert wire.Messages(messages).to_json() == request.messages.to_json(), each.name
        again = wire.Request(
            request.model,
            messages,
            system=request.system,
            tools=request.tools,
            tool_choice=request.tool_choice,
            parallel_tool_calls=request.parallel_tool_calls,
            max_tokens=request.max_tokens,
            temperature=request.temperature,
            top_p=request.top_p,
            stop=request.stop,
            effort=request.effort,
            output=request.output,
            cache=request.cache,
            stream=request.stream,
            extra=request.extra,
        )
        assert same(again.to_wire(each.wire), each.request), each.name


def test_recorded_answers_are_written_again() -> None:
    for each in good(response=dict):
        response = wire.decode_response(each.wire, json.dumps(each.response).encode())
        assert same(response.to_wire(each.wire), each.response), each.name
        assert wire.Response.from_json(response.to_json()) == response
        assert pickle.loads(pickle.dumps(response)) == response  # noqa: S301 - our own
        message = response.message
        assert message.role == "assistant"
        assert Message.from_json(message.to_json()) == message
        assert dict(json_members(response.to_json()))["message"] == message.to_json()
        counts = each.response.get("usage") or {}
        assert response.usage.output_tokens == counts.get("output_tokens", counts.get("completion_tokens", 0)), (
            each.name
        )
        assert response.model == (each.response.get("model") or "")


def json_members(text: str) -> list[tuple[str, str]]:
    from loopwright import _core

    return _core.json_members(text)


def test_recorded_streams_give_the_same_wherever_they_are_cut() -> None:
    for each in streams():
        data = each.response.encode()
        whole = read(each.wire, data)
        response, deltas = whole
        assert read(each.wire, *(data[at : at + 1] for at in range(len(data)))) == whole, each.name
        # Samples in even steps, and around all that is not ASCII.
        near = [at for at in range(1, len(data)) if data[at] > 127][:20]
        for at in sorted({*range(0, len(data) + 1, len(data) // 300 + 1), *near}):
            assert read(each.wire, data[:at], data[at:]) == whole, f"{each.name} cut at {at}"
        assert read(each.wire, *(data[at : at + 7] for at in range(0, len(data), 7))) == whole

        # The deltas are the message.
        for place, block in enumerate(response.message.content):
            text = "".join(delta[1] for delta in deltas if delta[0] == "text_delta" and delta[-1] == place)
            thought = "".join(delta[1] for delta in deltas if delta[0] == "reasoning_delta" and delta[-1] == place)
            written = "".join(delta[1] for delta in deltas if delta[0] == "arguments_delta" and delta[-1] == place)
            if isinstance(block, Text):
                assert text == block.text
            elif isinstance(block, Thinking):
                assert thought == block.text
            elif isinstance(block, ToolUse):
                assert json.loads(written or "{}") == block.arguments
                assert ("tool_use_delta", block.call_id, block.name, place) in deltas
            else:
                assert isinstance(block, ProviderBlock)
                assert any(delta[0] == "provider_delta" and delta[1] == block.kind for delta in deltas)


def test_recorded_streams_that_break_off_say_so() -> None:
    broken = 0
    for each in streams():
        data = each.response.encode()
        whole, _ = read(each.wire, data)
        for at in range(0, len(data) * 3 // 4, len(data) // 20 + 1):
            decoder = wire.StreamDecoder(each.wire)
            decoder.feed(data[:at])
            partial = decoder.partial()
            assert partial is None or whole.message.text.startswith(partial.message.text)
            assert not decoder.done
            try:
                stands, code = decoder.finish(), None
            except ProviderError as error:
                stands, code = None, error.code
            # Where its end was said before it broke off, it stands.
            assert code == "cut" or (stands is not None and stands.message == whole.message), each.name
            broken += code == "cut"
    assert broken > 100


def test_answers_streamed_by_us_are_the_same() -> None:
    for each in good(response=dict):
        response = wire.decode_response(each.wire, each.response)
        events = wire.encode_stream(each.wire, response, piece=5)
        text = "".join((f"event: {name}\n" if name else "") + f"data: {data}\n\n" for name, data in events)
        again, _ = read(each.wire, text.encode())
        assert again.message == response.message, each.name
        assert (again.stop, again.usage, again.id) == (response.stop, response.usage, response.id)


def test_recorded_refusals() -> None:
    refusals = [each for each in exchanges(response=dict) if each.status != 200]
    for each in refusals:
        error = wire.decode_error(each.status, each.response)
        assert isinstance(error, ProviderError)
        assert (error.code, error.status) == ("bad_request", 400)
        assert each.response["error"]["message"] in error.message


def test_classes_of_deltas_are_those_of_events() -> None:
    decoder = wire.StreamDecoder("anthropic")
    answer = wire.Response(
        Message.assistant(
            Thinking("hm", "signed", extra=Extra("anthropic", "{}")),
            "hi",
            ToolUse.of("c", "f", {"a": 1}),
            ProviderBlock("anthropic", '{"type":"server_tool_use","id":"s","name":"web_search","input":{}}'),
        ),
        stop="tool_use",
    )
    events = wire.encode_stream("anthropic", answer)
    data = "".join(f"event: {name}\ndata: {data}\n\n" for name, data in events).encode()
    kinds = {type(delta) for delta in decoder.feed(memoryview(data))}
    assert kinds == {TextDelta, ReasoningDelta, ToolUseDelta, ArgumentsDelta, ProviderDelta}
    assert decoder.done
    assert decoder.finish().message == answer.message


# What each wire wants.


def body(name: str, *messages: Message, **settings: Any) -> Any:
    settings.setdefault("max_tokens", 100)
    return json.loads(wire.Request("m", messages, **settings).to_wire(name))


def test_images_as_each_wire_wants_them() -> None:
    message = Message.user("what?", Image.from_bytes(PNG), Image.from_url("https://example.org/a.png"))
    inline, address = message.content[1:]
    encoded = inline.source.data
    assert body("anthropic", message)["messages"][0]["content"][1:] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": encoded}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
    ]
    assert body("openai-chat", message)["messages"][0]["content"][1:] == [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded}"}},
        {"type": "image_url", "image_url": {"url": address.url}},
    ]
    sent = body("openai-responses", message)["input"][0]["content"][1:]
    assert [part["type"] for part in sent] == ["input_image", "input_image"]
    assert [part["image_url"] for part in sent] == [f"data:image/png;base64,{encoded}", address.url]


def test_documents_as_each_wire_wants_them() -> None:
    pdf = Document.from_bytes(b"%PDF-1.7 x", name="a.pdf")
    notes = Document.from_text("some notes", name="notes.txt")
    message = Message.user("read", pdf, notes)
    encoded = pdf.source.data
    first, second = body("anthropic", message)["messages"][0]["content"][1:]
    assert first["source"] == {"type": "base64", "media_type": "application/pdf", "data": encoded}
    assert first["title"] == "a.pdf"
    assert second["source"] == {"type": "text", "media_type": "text/plain", "data": "some notes"}
    first = body("openai_chat", message)["messages"][0]["content"][1]
    assert first == {
        "type": "file",
        "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{encoded}"},
    }
    first = body("openai_responses", message)["input"][0]["content"][1]
    assert (first["type"], first["filename"]) == ("input_file", "a.pdf")
    assert first["file_data"] == f"data:application/pdf;base64,{encoded}"
    for name in wire.WIRES[:4]:
        assert "some notes" in json.dumps(body(name, message))


def test_results_of_tools_as_each_wire_wants_them() -> None:
    history = [
        Message.user("go"),
        Message.assistant(ToolUse.of("c1", "f", {"a": 1}), ToolUse.of("c2", "g", {})),
        Message.user(
            ToolResult("c1", "f", ("fine",)),
            ToolResult.failed("c2", "g", ToolFailure("denied", "nobody allowed it", "ask first")),
        ),
    ]
    shown = {"error": {"kind": "denied", "message": "nobody allowed it", "hint": "ask first"}}
    first, second = body("anthropic", *history)["messages"][2]["content"]
    assert (first["tool_use_id"], second["is_error"]) == ("c1", True)
    text = second["content"] if isinstance(second["content"], str) else second["content"][0]["text"]
    assert json.loads(text) == shown
    sent = body("openai_chat", *history)["messages"]
    assert [(each["role"], each.get("tool_call_id")) for each in sent[2:]] == [("tool", "c1"), ("tool", "c2")]
    assert json.loads(sent[3]["content"]) == shown
    sent = body("openai_responses", *history)["input"]
    outputs = [each for each in sent if each.get("type") == "function_call_output"]
    assert [each["call_id"] for each in outputs] == ["c1", "c2"]
    assert json.loads(outputs[1]["output"]) == shown


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*(keys(each) for each in value.values()))
    return set().union(*(keys(each) for each in value)) if isinstance(value, list) else set()


FOREIGN = {"signature", "thinking", "citations", "cache_control", "tool_use_id", "encrypted_content", "caller"}


@pytest.mark.parametrize("other", ["openai-chat", "openai-responses", "gemini"])
def test_a_history_of_anthropic_is_legal_elsewhere(other: str) -> None:
    cache = Extra.of("anthropic", {"cache_control": {"type": "ephemeral"}})
    cited = Extra.of("anthropic", {"citations": [{"type": "web_search_result_location", "url": "https://e.org"}]})
    found = [{"type": "web_search_result", "encrypted_content": "secret"}]
    history = [
        Message("user", (Text("who won?", cache),)),
        Message.assistant(
            Thinking("let me think", "signed by them"),
            Thinking(redacted="all encrypted"),
            ProviderBlock(
                "anthropic", '{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"q"}}'
            ),
            ProviderBlock(
                "anthropic",
                json.dumps({"type": "web_search_tool_result", "tool_use_id": "s1", "content": found}),
            ),
            Text("Norway won", cited),
            ToolUse("c1", "save", '{"who": "Norway"}', extra=Extra.of("anthropic", {"caller": {"type": "direct"}})),
        ),
        Message.user(ToolResult("c1", "save", ("saved",), extra=cache)),
        Message.assistant("Done."),
        Message.user("thanks"),
    ]
    home = body("anthropic", *history)
    assert keys(home) >= FOREIGN
    sent = body(other, *history)
    assert not keys(sent) & FOREIGN
    shown = json.dumps(sent)
    assert "web_search" not in shown
    assert "signed by them" not in shown
    assert "let me think" not in shown
    assert "secret" not in shown
    assert "Norway won" in shown
    # Every call has its result, and every result its call.
    if other == "openai-chat":
        messages = sent["messages"]
        assert [each["role"] for each in messages] == ["user", "assistant", "tool", "assistant", "user"]
        assert messages[1]["tool_calls"][0]["id"] == messages[2]["tool_call_id"] == "c1"
    elif other == "gemini":
        contents = sent["contents"]
        assert [each["role"] for each in contents] == ["user", "model", "user", "model", "user"]
        assert (
            contents[1]["parts"][1]["functionCall"]["id"] == contents[2]["parts"][0]["functionResponse"]["id"] == "c1"
        )
    else:
        kinds = [each.get("type", "message") for each in sent["input"]]
        assert kinds == ["message", "message", "function_call", "function_call_output", "message", "message"]


def test_recorded_histories_of_anthropic_are_legal_elsewhere() -> None:
    checked = 0
    for each in good(response=dict):
        if each.wire != "anthropic":
            continue
        message = wire.decode_response("anthropic", each.response).message
        results = [Message.user(*(ToolResult(use.call_id, use.name, ("ok",)) for use in message.tool_uses))]
        history = [Message.user("go"), message, *(results if message.tool_uses else [Message.user("on")])]
        for other in ("openai_chat", "openai_responses", "gemini"):
            sent = body(other, *history)
            # Arguments and schemas are the models' own; the rest must hold nothing of Anthropic's.
            assert not keys(sent) & FOREIGN, each.name
            assert len(sent.get("messages") or sent.get("input") or sent["contents"]) >= 2
        checked += 1
    assert checked


def test_recorded_histories_of_openai_are_legal_at_anthropic() -> None:
    checked = 0
    for each in good(response=dict):
        if each.wire == "anthropic":
            continue
        message = wire.decode_response(each.wire, each.response).message
        results = Message.user(*(ToolResult(use.call_id, use.name, ("ok",)) for use in message.tool_uses))
        sent = body("anthropic", Message.user("go"), message, results if message.tool_uses else Message.user("on"))
        assert not keys(sent) & {"encrypted_content", "summary", "annotations", "logprobs", "status", "phase"}, (
            each.name
        )
        for turn in sent["messages"]:
            blocks = turn["content"] if isinstance(turn["content"], list) else [{"type": "text"}]
            assert {block["type"] for block in blocks} <= {"text", "tool_use", "tool_result"}, each.name
        checked += 1
    assert checked


def test_tools_of_all_forms() -> None:
    @tool
    def population(city: str) -> int:
        """How many people live in a city."""
        return len(city)

    mine = {"name": "mine", "description": "d", "schema": {"type": "object", "properties": {}}}
    theirs = {"provider": {"wire": "anthropic", "raw": {"type": "bash_20250124", "name": "bash"}}}
    request = wire.Request(
        "m", [Message.user("x")], tools=[population, mine, {"web_search": {"max_uses": 2}}, theirs], max_tokens=9
    )
    assert [next(iter(each)) for each in request.tools] == ["function", "function", "web_search", "provider"]
    sent = json.loads(request.to_wire("anthropic"))["tools"]
    assert [each["name"] for each in sent] == ["population", "mine", "web_search", "bash"]
    assert sent[0]["input_schema"]["required"] == ["city"]
    only = wire.Request("m", [Message.user("x")], tools=[theirs])
    with pytest.raises(UsageError, match="anthropic"):
        only.to_wire("openai_chat")


def test_views_of_a_request_and_a_response() -> None:
    request = wire.Request(
        "m",
        [Message.user("x")],
        system="Be brief.",
        tool_choice="f",
        tools=[{"name": "f", "schema": {"type": "object"}}],
        temperature=0.5,
        stop=["END"],
        effort="low",
        stream=True,
        extra=Extra("anthropic", '{"service_tier":"auto","x":1.50}'),
    )
    assert (request.model, request.temperature, request.tool_choice) == ("m", 0.5, "f")
    assert (request.stop, request.effort, request.stream, request.max_tokens) == (["END"], "low", True, None)
    assert request.system == Message.system("Be brief.")
    assert request.messages == [Message.user("x")]
    assert request.extra == Extra("anthropic", '{"service_tier":"auto","x":1.50}')
    assert '"x":1.50' in request.to_wire("anthropic")
    assert "service_tier" not in wire.Request("m", [Message.user("x")], extra=request.extra).to_wire("openai_chat")
    assert request == wire.Request.from_json(request.to_json().encode())
    assert Extra("openai-chat", "{}") == Extra.of("openai_chat", {})
    assert request != wire.Request("m", [Message.user("y")])

    response = wire.Response("hi", stop="strange", usage=Usage(1, 2), id="r", model="m")
    assert (response.stop, response.usage.total_tokens, response.id, response.model) == ("strange", 3, "r", "m")
    assert response.to_dict()["stop"] == {"other": "strange"}
    assert response.message == Message.assistant("hi")
    for name in wire.WIRES[:4]:
        back = wire.decode_response(name, response.to_wire(name))
        assert (back.message.text, back.usage) == ("hi", Usage(1, 2))


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (401, '{"error":{"message":"bad key"}}', "auth"),
        (403, "{}", "permission"),
        (404, b"<html>", "not_found"),
        (429, {"error": {"message": "slow down"}}, "rate_limited"),
        (529, b"\xff\xfe", "overloaded"),
        (400, '{"error":{"message":"prompt is too long"}}', "context_too_long"),
        (400, '{"error":{"code":"insufficient_quota"}}', "quota"),
        (500, "", "server"),
    ],
)
def test_errors_of_providers_have_a_code(status: int, body: Any, code: str) -> None:
    error = wire.decode_error(status, body, retry_after=1.5)
    assert (error.code, error.status, error.retry_after) == (code, status, 1.5)
    assert isinstance(error, UsageError if code == "auth" else ProviderError)
    assert str(status) in error.message


@pytest.mark.parametrize("name", wire.WIRES[:4])
@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"x"', b"\xff", "\ud800", "[" * 5000])
def test_malformed_bodies_are_clear_errors(name: str, text: Any) -> None:
    with pytest.raises(UsageError):
        wire.decode_request(name, text)
    with pytest.raises((UsageError, ProviderError)) as caught:
        wire.decode_response(name, text)
    assert caught.value.code in ("invalid_body", "invalid_value", "invalid_text")


@pytest.mark.parametrize("name", wire.WIRES[:4])
def test_malformed_streams_are_clear_errors(name: str) -> None:
    decoder = wire.StreamDecoder(name)
    with pytest.raises(ProviderError) as caught:
        decoder.feed(b"event: message_start\ndata: {broken\n\n")
    assert caught.value.code == "invalid_body"
    with pytest.raises(ProviderError) as caught:
        wire.StreamDecoder(name).finish()
    assert caught.value.code == "cut"


def test_unknown_wires_are_named() -> None:
    request = wire.Request("m", [Message.user("x")])
    tries = [
        lambda: request.to_wire("anthropics"),
        lambda: wire.decode_request("anthropics", "{}"),
        lambda: wire.decode_response("anthropics", "{}"),
        lambda: wire.StreamDecoder("anthropics"),
        lambda: Message.user("x").to_wire("anthropics"),
    ]
    for attempt in tries:
        with pytest.raises(UsageError, match=r'"anthropics".*openai_chat') as caught:
            attempt()
        assert caught.value.code == "unknown_wire"


def test_what_a_wire_has_no_form_for_is_named() -> None:
    uploaded = wire.Request("m", [Message.user(Image(FileId("file_1")))])
    with pytest.raises(UsageError, match="image"):
        uploaded.to_wire("openai_chat")
    assert "file_1" in uploaded.to_wire("openai_responses")
    with pytest.raises(UsageError, match="stop"):
        wire.Request("m", [Message.user("x")], stop=["END"]).to_wire("openai_responses")
    with pytest.raises(UsageError, match="model"):
        wire.Request("", [Message.user("x")]).to_wire("anthropic")


def test_wrong_arguments_are_usage_errors() -> None:
    with pytest.raises(UsageError, match=r"wire\.Request"):
        wire.encode_request("anthropic", {"model": "m"})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"wire\.Response"):
        wire.encode_response("anthropic", "text")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"effort|hard"):
        wire.Request("m", [Message.user("x")], effort="hard")
    with pytest.raises(UsageError, match="list of messages"):
        wire.Request("m", "hello")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="tool"):
        wire.Request("m", [Message.user("x")], tools=[1])  # type: ignore[list-item]
    with pytest.raises(UsageError):
        wire.decode_request("anthropic", 5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="JSON"):
        wire.Request("m", [Message.user("x")], temperature=float("nan"))
