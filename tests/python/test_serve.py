"""A served model, asked by the official clients of both vendors over real sockets; faults strike upstream."""

from __future__ import annotations

import dataclasses
import json
import logging
import threading
import time
import urllib.error
import urllib.request
from typing import Any

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("anthropic")
pytest.importorskip("openai")
import anthropic
import openai
from loopwright import Model, UsageError
from loopwright.guard import Policy
from loopwright.models import Call, Response
from loopwright.serve import app
from loopwright.testing import Reply, ScriptedModel, WireServer, call, calls, fault, response, text
from serving import (
    CHAT_TOOLS,
    CLAUDE_TOOLS,
    HI,
    NAMES,
    RESPONSES_TOOLS,
    SCHEMA,
    at,
    chat_stream,
    doors,
    listening,
)

WORDS = 'The quick brown fox jumps over the lazy dog – naïve, 北京, 🎉, "quoted".'  # noqa: RUF001
PIECES = dataclasses.replace(text(WORDS), piece=6)
LOOK = calls(Call("weather", {"city": "Oslo"}, "c1"), Call("weather", {"city": "Bergen"}, "c2"), text="Let me look.")
BROKEN = calls(Call("weather", '{"city": "Os'))
THOUGHT = dataclasses.replace(
    response(Response("Let me look.", [Call("weather", {"city": "Oslo"})], reasoning="Where is Oslo?")), piece=6
)
FAULTS: dict[str, list[Reply]] = {
    "429": [fault.status(429), PIECES],
    "500": [fault.status(500), PIECES],
    "529": [fault.status(529), PIECES],
    "early error": [fault.error_event(after=0), PIECES],
    "error amid a text": [PIECES.but(fault.error_event(after=5)), PIECES],
    "torn amid a text": [PIECES.but(fault.cut(after=5)), PIECES],
    "ends amid a text": [PIECES.but(fault.ends(after=4)), PIECES],
    "closes": [fault.closes(), PIECES],
}
UPSTREAMS = list(NAMES)


@pytest.mark.parametrize("wire", UPSTREAMS)
def test_chat_completions_answer_whole_and_streamed(wire: str) -> None:
    with doors(wire) as served:
        served.upstream.push(PIECES)
        whole = served.gpt.chat.completions.create(model="any", messages=HI)
        assert (whole.choices[0].message.content, whole.choices[0].finish_reason, whole.model) == (WORDS, "stop", "any")
        assert whole.usage is not None
        assert whole.usage.prompt_tokens == 10
        assert abs(whole.created - time.time()) < 600
        served.upstream.push(PIECES)
        options: Any = {"stream_options": {"include_usage": True}}
        chunks = list(served.gpt.chat.completions.create(model="any", messages=HI, stream=True, **options))
        pieces = [each.choices[0].delta.content for each in chunks if each.choices and each.choices[0].delta.content]
        assert "".join(pieces) == WORDS
        assert len(pieces) > 4
        assert chunks[-1].usage is not None
        assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens


@pytest.mark.parametrize("wire", UPSTREAMS)
def test_chat_completions_have_calls_and_take_their_results(wire: str) -> None:
    with doors(wire) as served:
        served.upstream.push(LOOK)
        said = served.gpt.chat.completions.create(model="m", messages=HI, tools=CHAT_TOOLS).choices[0]
        assert said.finish_reason == "tool_calls"
        assert [json.loads(each.function.arguments) for each in said.message.tool_calls] == [
            {"city": "Oslo"},
            {"city": "Bergen"},
        ]
        results = [
            {"role": "tool", "tool_call_id": each.id, "content": f"sunny {at}"}
            for at, each in enumerate(said.message.tool_calls)
        ]
        served.upstream.push(LOOK)
        words, made, reason = chat_stream(served.gpt, tools=CHAT_TOOLS)
        assert (words, reason) == ("Let me look.", "tool_calls")
        assert [(name, json.loads(arguments)) for name, arguments in made] == [
            ("weather", {"city": "Oslo"}),
            ("weather", {"city": "Bergen"}),
        ]
        served.upstream.push("It is sunny.")
        history: Any = [*HI, said.message, *results]
        final = served.gpt.chat.completions.create(model="m", messages=history, tools=CHAT_TOOLS)
        assert final.choices[0].message.content == "It is sunny."
        sent = json.dumps(served.upstream.requests[-1]["body"])
        assert "sunny 0" in sent
        assert "sunny 1" in sent


@pytest.mark.parametrize("wire", UPSTREAMS)
def test_messages_answer_whole_and_streamed_with_calls(wire: str) -> None:
    with doors(wire) as served:
        served.upstream.push(PIECES)
        whole = served.claude.messages.create(model="claude", max_tokens=99, messages=HI, system="Be kind.")
        assert (whole.content[0].text, whole.stop_reason, whole.usage.input_tokens) == (WORDS, "end_turn", 10)
        assert "Be kind." in json.dumps(served.upstream.requests[-1]["body"])
        served.upstream.push(PIECES)
        with served.claude.messages.stream(model="claude", max_tokens=99, messages=HI) as stream:
            pieces = list(stream.text_stream)
            last = stream.get_final_message()
        assert "".join(pieces) == WORDS == last.content[0].text
        assert len(pieces) > 4
        assert last.usage.output_tokens == whole.usage.output_tokens
        served.upstream.push(LOOK)
        with served.claude.messages.stream(model="claude", max_tokens=99, messages=HI, tools=CLAUDE_TOOLS) as stream:
            last = stream.get_final_message()
        assert last.stop_reason == "tool_use"
        assert [each.type for each in last.content] == ["text", "tool_use", "tool_use"]
        assert [each.input for each in last.content[1:]] == [{"city": "Oslo"}, {"city": "Bergen"}]
        results = [{"type": "tool_result", "tool_use_id": each.id, "content": "sunny"} for each in last.content[1:]]
        history: Any = [*HI, {"role": "assistant", "content": last.content}, {"role": "user", "content": results}]
        served.upstream.push("It is sunny.")
        final = served.claude.messages.create(model="m", max_tokens=9, messages=history, tools=CLAUDE_TOOLS)
        assert final.content[0].text == "It is sunny."


@pytest.mark.parametrize("wire", UPSTREAMS)
def test_responses_answer_whole_and_streamed_with_calls(wire: str) -> None:
    with doors(wire) as served:
        served.upstream.push(PIECES)
        whole = served.gpt.responses.create(model="m", input="hi", instructions="Be kind.")
        assert (whole.output_text, whole.status) == (WORDS, "completed")
        served.upstream.push(LOOK)
        with served.gpt.responses.stream(model="m", input="hi", tools=RESPONSES_TOOLS) as stream:
            events = list(stream)
            last = stream.get_final_response()
        assert [each.sequence_number for each in events if hasattr(each, "sequence_number")][:3] == [0, 1, 2]
        assert last.output_text == "Let me look."
        assert [json.loads(each.arguments) for each in last.output if each.type == "function_call"] == [
            {"city": "Oslo"},
            {"city": "Bergen"},
        ]
        words = "".join(each.delta for each in events if each.type == "response.output_text.delta")
        assert words == "Let me look."


@pytest.mark.parametrize("wire", UPSTREAMS)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_upstream_is_seen_by_no_client(name: str, wire: str) -> None:
    with doors(wire) as served:
        for reply in FAULTS[name]:
            served.upstream.push(reply)
        assert chat_stream(served.gpt)[0] == WORDS
        for reply in FAULTS[name]:
            served.upstream.push(reply)
        with served.claude.messages.stream(model="m", max_tokens=99, messages=HI) as stream:
            assert "".join(stream.text_stream) == WORDS
        assert served.upstream.pending == 0


@pytest.mark.parametrize("wire", UPSTREAMS)
def test_calls_reach_clients_whole_after_torn_streams_and_broken_arguments(wire: str) -> None:
    with doors(wire) as served:
        for first, second in ((THOUGHT.but(fault.cut(after=9)), THOUGHT), (BROKEN, call("weather", city="Oslo"))):
            served.upstream.push(first)
            served.upstream.push(second)
            _, made, reason = chat_stream(served.gpt, tools=CHAT_TOOLS)
            assert [(name, json.loads(arguments)) for name, arguments in made] == [("weather", {"city": "Oslo"})]
            assert reason == "tool_calls"


def test_calls_that_a_model_writes_into_its_words_are_calls() -> None:
    written = 'I look.\n<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>'
    with WireServer() as upstream, doors(model=at(upstream, read_markup=True)) as served:
        upstream.push(text(written))
        words, made, reason = chat_stream(served.gpt, tools=CHAT_TOOLS)
        assert [(name, json.loads(arguments)) for name, arguments in made] == [("weather", {"city": "Oslo"})]
        assert (words.strip(), reason) == ("I look.", "tool_calls")


def test_an_answer_that_comes_anew_in_other_words_ends_the_stream_with_an_error_or_is_sent_whole() -> None:
    torn, other = PIECES.but(fault.cut(after=5)), text("Something else altogether.")
    with doors() as served:
        served.upstream.push(torn)
        served.upstream.push(other)
        with pytest.raises(openai.APIError, match="other words"):
            chat_stream(served.gpt)
        served.upstream.push(torn)
        served.upstream.push(other)
        with (
            pytest.raises(anthropic.APIStatusError, match="other words"),
            served.claude.messages.stream(model="m", max_tokens=9, messages=HI) as stream,
        ):
            list(stream)
    with doors(whole=True) as served:
        served.upstream.push(torn)
        served.upstream.push(other)
        assert chat_stream(served.gpt)[0] == "Something else altogether."


def test_words_before_calls_that_could_not_be_made_stay_and_what_follows_goes_on() -> None:
    with doors() as served:
        for _ in range(2):
            served.upstream.push(calls(Call("weather", '{"city": "Os'), text="Wait. "))
            served.upstream.push(calls(Call("weather", {"city": "Oslo"}), text="Now I look."))
        words, made, _ = chat_stream(served.gpt, tools=CHAT_TOOLS)
        assert words == "Wait. Now I look."
        assert len(made) == 1
        with served.claude.messages.stream(model="m", max_tokens=9, messages=HI, tools=CLAUDE_TOOLS) as stream:
            last = stream.get_final_message()
        assert [each.type for each in last.content] == ["text", "tool_use"]
        assert last.content[0].text == "Wait. Now I look."


def test_reasoning_comes_before_words_with_its_signature() -> None:
    signed = {
        "message": {
            "role": "assistant",
            "content": [
                {"type": "thinking", "text": "Hm, hm.", "signature": "c2lnbmF0dXJl"},
                {"type": "text", "text": "Yes."},
            ],
        },
        "stop": "end_turn",
        "usage": {"input": 3, "output": 4},
    }
    with doors("anthropic") as served:
        served.upstream.push(response({"id": "r", "model": "m", **signed}))
        with served.claude.messages.stream(model="m", max_tokens=9, messages=HI) as stream:
            last = stream.get_final_message()
        assert [each.type for each in last.content] == ["thinking", "text"]
        assert (last.content[0].thinking, last.content[0].signature) == ("Hm, hm.", "c2lnbmF0dXJl")
        history: Any = [*HI, {"role": "assistant", "content": last.content}, *HI]
        served.upstream.push("Well.")
        served.claude.messages.create(model="m", max_tokens=9, messages=history)
        sent = served.upstream.requests[-1]["body"]["messages"][1]["content"][0]
        assert (sent["thinking"], sent["signature"]) == ("Hm, hm.", "c2lnbmF0dXJl")


def test_an_answer_by_a_schema_is_checked_before_a_client_sees_it() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    wanted: Any = {"type": "json_schema", "json_schema": {"name": "number", "schema": schema, "strict": True}}
    with doors() as served:
        served.upstream.push(text('{"n": 3}'))
        answer = served.gpt.chat.completions.create(model="m", messages=HI, response_format=wanted)
        assert json.loads(answer.choices[0].message.content or "") == {"n": 3}


def test_settings_go_upstream_and_fields_of_the_same_wire_through() -> None:
    with doors() as served:
        served.upstream.push("a")
        served.gpt.chat.completions.create(
            model="m",
            messages=HI,
            temperature=0.5,
            max_completion_tokens=77,
            seed=5,
            stop=["END"],
            frequency_penalty=0.25,
            tools=CHAT_TOOLS,
            tool_choice="required",
        )
        sent = served.upstream.requests[-1]["body"]
        assert (sent["temperature"], sent["seed"], sent["stop"], sent["frequency_penalty"]) == (0.5, 5, ["END"], 0.25)
        assert 77 in (sent.get("max_tokens"), sent.get("max_completion_tokens"))
        assert sent["tool_choice"] == "required"


@pytest.mark.parametrize(
    ("field", "value"), [("n", 2), ("logprobs", True), ("frequency_penalty", 0.5), ("modalities", ["audio"])]
)
def test_a_field_that_cannot_be_carried_is_named(field: str, value: Any) -> None:
    with doors("anthropic") as served, pytest.raises(openai.BadRequestError) as caught:
        served.gpt.chat.completions.create(model="m", messages=HI, **{field: value})
    assert caught.value.param == field
    assert caught.value.code == "unsupported_field"
    assert served.upstream.requests == []


def test_tools_that_run_at_a_provider_and_begun_answers_are_refused() -> None:
    with doors("anthropic") as served:
        tool: Any = {"type": "web_search_20250305", "name": "web_search"}
        with pytest.raises(anthropic.BadRequestError, match=r"tools\[0\]"):
            served.claude.messages.create(model="m", max_tokens=9, messages=HI, tools=[tool])
        begun: Any = [*HI, {"role": "assistant", "content": "It is"}]
        with pytest.raises(anthropic.BadRequestError, match="messages"):
            served.claude.messages.create(model="m", max_tokens=9, messages=begun)


def test_marks_for_caches_are_the_engines_own() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    said: Any = [{"role": "user", "content": [{"type": "text", "text": f"part {at}", **mark}]} for at in range(5)]
    history = [each for one in said for each in (one, {"role": "assistant", "content": "yes"})][:-1]
    with doors("anthropic") as served:
        served.upstream.push("a")
        system: Any = [{"type": "text", "text": "Be kind.", **mark}]
        served.claude.messages.create(model="m", max_tokens=9, messages=history, system=system)
        sent = json.dumps(served.upstream.requests[-1]["body"])
    assert 1 <= sent.count("cache_control") <= 4
    assert "part 4" in sent


@pytest.mark.parametrize(
    ("reply", "kind", "other"),
    [
        (fault.status(400, message="no such thing"), openai.BadRequestError, anthropic.BadRequestError),
        (fault.status(401), openai.InternalServerError, anthropic.InternalServerError),
        (fault.status(429), openai.RateLimitError, anthropic.RateLimitError),
    ],
)
def test_a_refusal_upstream_has_the_shape_of_each_vendor(reply: Reply, kind: Any, other: Any) -> None:
    with WireServer([reply], repeat_last=True) as upstream:
        model = Model("openai-chat:test", base_url=upstream.url, api_key="sk-upstream", retry={"attempts": 1})
        with doors(model=model) as served:
            for stream in (False, True):
                with pytest.raises(kind):
                    served.gpt.chat.completions.create(model="m", messages=HI, stream=stream)
                with pytest.raises(other) as caught:
                    served.claude.messages.create(model="m", max_tokens=9, messages=HI, stream=stream)
                assert caught.value.body["type"] == "error"
                assert caught.value.response.headers["x-should-retry"] == "false"


def posted(url: str, body: bytes, **headers: str) -> tuple[int, dict[str, Any]]:
    request = urllib.request.Request(url, body, {"content-type": "application/json", **headers})  # noqa: S310
    try:
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"3",
        b'"\xff"',
        b"{}",
        b'{"model": "m"}',
        b'{"model": "m", "messages": []}',
        b'{"model": "m", "messages": "hi"}',
        b'{"model": 3, "messages": [{"role": "user", "content": "hi"}]}',
        b'{"model": "m", "messages": [{"content": "hi"}]}',
        b'{"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": [{}]}',
        b'{"model": "m", "messages": [{"role": "user", "content": "hi"}], "temperature": "hot"}',
        b'{"model": "m", "messages": [{"role": "user", "content": "hi"}], "temperature": -3}',
        b'{"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream_options": 3}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_request_is_a_400_in_the_shape_of_the_vendor(body: bytes) -> None:
    with doors() as served:
        status, told = posted(f"{served.url}/v1/chat/completions", body)
        assert (status, set(told["error"])) == (400, {"message", "type", "param", "code"})
        status, told = posted(f"{served.url}/v1/messages", body)
        assert (status, told["type"], told["error"]["type"]) == (400, "error", "invalid_request_error")
        assert served.upstream.requests == []


def test_routes_methods_sizes_and_pages_of_browsers() -> None:
    body = json.dumps({"model": "m", "messages": HI}).encode()
    with doors(max_body=1000) as served:
        assert posted(f"{served.url}/v1/completions", body)[0] == 404
        assert posted(f"{served.url}/v1/models", body)[0] == 405
        assert posted(f"{served.url}/v1/chat/completions", body + b" " * 1000)[0] == 413
        assert posted(f"{served.url}/v1/chat/completions", body, origin="https://evil.example")[0] == 403
        assert served.upstream.requests == []


def test_a_key_is_wanted_where_one_is_set_and_no_log_has_any(caplog: Any) -> None:
    caplog.set_level(logging.DEBUG)
    with doors(key="sk-client-secret-9") as served:
        served.upstream.push("a")
        served.gpt.chat.completions.create(model="m", messages=HI)
    with WireServer(["a", "b"]) as upstream, listening(app(at(upstream), key="right-horse")) as url:
        for wrong in ("wrong-horse", "right-hors", "right-horse2"):
            with openai.OpenAI(base_url=f"{url}/v1", api_key=wrong, max_retries=0) as gpt:
                with pytest.raises(openai.AuthenticationError):
                    gpt.chat.completions.create(model="m", messages=HI)
        with anthropic.Anthropic(base_url=url, api_key="right-horse") as claude:
            assert claude.messages.create(model="m", max_tokens=9, messages=HI).content[0].text == "a"
        with openai.OpenAI(base_url=f"{url}/v1", api_key="right-horse") as gpt:
            assert gpt.chat.completions.create(model="m", messages=HI).choices[0].message.content == "b"
        sent = json.dumps(upstream.requests)
    logged = caplog.text
    assert "right-horse" not in sent + logged
    assert "sk-client-secret-9" not in logged
    assert "sk-upstream" not in logged


def test_models_are_listed_and_several_are_chosen_by_their_names() -> None:
    models = {"fast": ScriptedModel(["quick"]), "deep": ScriptedModel(["slow"])}
    with doors(model=models) as served:
        assert [each.id for each in served.gpt.models.list()] == ["deep", "fast"]
        assert [each.id for each in served.claude.models.list()] == ["deep", "fast"]
        assert served.gpt.models.retrieve("deep").id == "deep"
        answer = served.gpt.chat.completions.create(model="deep", messages=HI)
        assert answer.choices[0].message.content == "slow"
        with pytest.raises(openai.NotFoundError):
            served.gpt.chat.completions.create(model="other", messages=HI)
        with pytest.raises(anthropic.NotFoundError):
            served.claude.messages.create(model="other", max_tokens=9, messages=HI)
        with pytest.raises(openai.NotFoundError):
            served.gpt.models.retrieve("other")


def test_tokens_are_counted_without_asking_anybody() -> None:
    with doors() as served:
        few = served.claude.messages.count_tokens(model="m", messages=HI).input_tokens
        long: Any = [{"role": "user", "content": "hello world " * 100}]
        many = served.claude.messages.count_tokens(
            model="m", messages=long, tools=CLAUDE_TOOLS, system="s"
        ).input_tokens
        assert 0 < few < 30
        assert 200 <= many < 600
        assert served.gpt.responses.input_tokens.count(model="m", input="hello world " * 100).input_tokens >= 200
        assert served.upstream.requests == []


def test_long_histories_are_compacted() -> None:
    filler = "The harbour opens at seven and closes at nine. " * 60
    said = [{"role": "user", "content": f"{filler} {at}"} for at in range(12)]
    history: Any = [each for one in said for each in (one, {"role": "assistant", "content": filler})][:-1]
    with doors(context=4000) as served:
        served.upstream.push("done")
        answer = served.gpt.chat.completions.create(model="m", messages=history)
        assert answer.choices[0].message.content == "done"
        sent = served.upstream.requests[-1]["body"]["messages"]
    assert len(json.dumps(sent)) < len(json.dumps(history)) / 3
    assert " 11" in json.dumps(sent[-1])


def test_calls_that_the_policy_forbids_reach_no_client() -> None:
    rules = '[[rule]]\nid = "no-oslo"\nverdict = "forbid"\nwhy = "it is closed"\ntool = "wipe"\n'
    rules += '[rule.examples]\nmatch = [{tool = "wipe"}]\nno_match = [{tool = "weather"}]\n'
    tools: Any = [*CHAT_TOOLS, {"type": "function", "function": {"name": "wipe", "parameters": SCHEMA}}]
    with doors(policy=Policy.from_toml(rules)) as served:
        served.upstream.push(calls(Call("wipe", {"city": "Oslo"}), Call("weather", {"city": "Oslo"})))
        served.upstream.push(call("weather", city="Bergen"))
        _, made, _ = chat_stream(served.gpt, tools=tools)
        assert [(name, json.loads(arguments)) for name, arguments in made] == [("weather", {"city": "Bergen"})]
        assert "it is closed" in json.dumps(served.upstream.requests[-1]["body"])


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_goes_takes_the_request_upstream_along(stream: bool) -> None:
    with doors() as served:
        served.upstream.push(dataclasses.replace(text("word " * 2000), piece=4, event_delay=0.05))
        gone = threading.Event()

        def ask() -> None:
            try:
                with openai.OpenAI(base_url=f"{served.url}/v1", api_key="k", max_retries=0, timeout=0.5) as gpt:
                    answer: Any = gpt.chat.completions.create(model="m", messages=HI, stream=stream)
                    if stream:
                        next(iter(answer))
                        answer.close()
            except openai.APITimeoutError:
                pass
            gone.set()

        threading.Thread(target=ask).start()
        assert gone.wait(20)
        until = time.monotonic() + 20
        while served.upstream.open_connections and time.monotonic() < until:
            time.sleep(0.02)
        assert served.upstream.open_connections == 0


def test_many_clients_at_once_get_their_own_answers() -> None:
    with WireServer(["the same"], repeat_last=True) as upstream, listening(app(at(upstream))) as url:
        found: list[str] = []

        def ask(number: int) -> None:
            with openai.OpenAI(base_url=f"{url}/v1", api_key="k") as gpt:
                tools: Any = [{"type": "function", "function": {"name": f"tool_{number % 5}", "parameters": SCHEMA}}]
                found.append(chat_stream(gpt, tools=tools)[0])

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert found == ["the same"] * 12
        offered = sorted(each["body"]["tools"][0]["function"]["name"] for each in upstream.requests)
        assert offered == sorted(f"tool_{number % 5}" for number in range(12))


@pytest.mark.parametrize("options", [{"key": ""}, {"key": 3}, {"context": 0}, {"policy": "nowhere.toml"}])
def test_options_that_cannot_be_are_usage_errors(options: Any) -> None:
    with pytest.raises(UsageError):
        app(ScriptedModel(["a"]), **options)
    with pytest.raises(UsageError):
        app({})
