"""The official clients of the providers at the wire server: it speaks their protocols, streams, tools, errors and all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from loopwright.models import Call
from loopwright.testing import Reply, WireServer, call, calls, fault, text

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")

WORDS = "The quick brown fox jumps over the lazy dog – naïve, 北京, 🎉."  # noqa: RUF001
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TWO = calls(
    Call("population", {"city": "Oslo"}, "c1"),
    Call("population", {"city": "Bergen", "n": [1, 2.5]}, "c2"),
    text="Wait.",
)


@pytest.fixture
def claude() -> Iterator[Any]:
    with WireServer() as server, anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0) as client:
        client.push = server.push
        client.seen = lambda: server.requests
        yield client


@pytest.fixture
def gpt() -> Iterator[Any]:
    with WireServer() as server, openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0) as client:
        client.push = server.push
        client.seen = lambda: server.requests
        yield client


HI: Any = [{"role": "user", "content": "hi"}]


def test_anthropic_whole(claude: Any) -> None:
    claude.push(text(WORDS))
    message = claude.messages.create(model="m", max_tokens=50, messages=HI)
    assert message.content[0].text == WORDS
    assert (message.role, message.stop_reason, message.model, message.type) == ("assistant", "end_turn", "m", "message")
    assert message.usage.input_tokens == 10
    assert message.usage.output_tokens > 0
    assert claude.seen()[0]["path"] == "/v1/messages"


def test_anthropic_streamed(claude: Any) -> None:
    claude.push(Reply({"text": WORDS}, chunk=5))
    with claude.messages.stream(model="m", max_tokens=50, messages=HI) as stream:
        pieces = list(stream.text_stream)
        message = stream.get_final_message()
    assert "".join(pieces) == WORDS == message.content[0].text
    assert len(pieces) > 2
    assert message.stop_reason == "end_turn"


def test_anthropic_tools(claude: Any) -> None:
    tools: Any = [{"name": "population", "description": "People.", "input_schema": SCHEMA}]
    claude.push(TWO)
    message = claude.messages.create(model="m", max_tokens=50, messages=HI, tools=tools)
    assert message.stop_reason == "tool_use"
    uses = [block for block in message.content if block.type == "tool_use"]
    assert [(use.id, use.name, use.input) for use in uses] == [
        ("c1", "population", {"city": "Oslo"}),
        ("c2", "population", {"city": "Bergen", "n": [1, 2.5]}),
    ]
    claude.push(TWO)
    with claude.messages.stream(model="m", max_tokens=50, messages=HI, tools=tools) as stream:
        streamed = stream.get_final_message()
    assert [block.to_dict() for block in streamed.content] == [block.to_dict() for block in message.content]
    # The client's own tool loop goes round.
    claude.push("done")
    results = [{"type": "tool_result", "tool_use_id": use.id, "content": "5"} for use in uses]
    history: Any = [*HI, {"role": "assistant", "content": message.content}, {"role": "user", "content": results}]
    assert claude.messages.create(model="m", max_tokens=50, messages=history, tools=tools).content[0].text == "done"


def test_openai_chat_whole(gpt: Any) -> None:
    gpt.push(text(WORDS))
    answer = gpt.chat.completions.create(model="m", messages=HI)
    choice = answer.choices[0]
    assert (choice.message.content, choice.finish_reason, choice.index) == (WORDS, "stop", 0)
    assert (answer.object, answer.model) == ("chat.completion", "m")
    assert answer.usage.prompt_tokens == 10
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_openai_chat_streamed(gpt: Any) -> None:
    gpt.push(Reply({"text": WORDS}, chunk=7))
    chunks = list(
        gpt.chat.completions.create(model="m", messages=HI, stream=True, stream_options={"include_usage": True})
    )
    pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    assert "".join(pieces) == WORDS
    assert len(pieces) > 2
    assert [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason] == ["stop"]
    assert chunks[-1].usage.prompt_tokens == 10


def test_openai_chat_tools(gpt: Any) -> None:
    tools: Any = [{"type": "function", "function": {"name": "population", "parameters": SCHEMA}}]
    gpt.push(TWO)
    message = gpt.chat.completions.create(model="m", messages=HI, tools=tools).choices[0].message
    asked = [(each.id, each.function.name, json.loads(each.function.arguments)) for each in message.tool_calls]
    assert asked == [
        ("c1", "population", {"city": "Oslo"}),
        ("c2", "population", {"city": "Bergen", "n": [1, 2.5]}),
    ]
    gpt.push(TWO)
    with gpt.chat.completions.stream(model="m", messages=HI, tools=tools) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion().choices[0]
    assert final.finish_reason == "tool_calls"
    assert [(e.id, e.function.name, json.loads(e.function.arguments)) for e in final.message.tool_calls] == asked
    gpt.push("done")
    results = [{"role": "tool", "tool_call_id": each.id, "content": "5"} for each in message.tool_calls]
    history: Any = [*HI, message, *results]
    assert gpt.chat.completions.create(model="m", messages=history, tools=tools).choices[0].message.content == "done"


def test_openai_responses_whole(gpt: Any) -> None:
    gpt.push(text(WORDS))
    answer = gpt.responses.create(model="m", input="hi")
    assert answer.output_text == WORDS
    assert (answer.status, answer.object, answer.model) == ("completed", "response", "m")
    assert answer.usage.input_tokens == 10
    assert gpt.seen()[0]["path"] == "/v1/responses"


def test_openai_responses_streamed(gpt: Any) -> None:
    gpt.push(Reply({"text": WORDS}, chunk=11))
    with gpt.responses.stream(model="m", input="hi") as stream:
        pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert "".join(pieces) == WORDS == final.output_text
    assert len(pieces) > 2


def test_openai_responses_tools(gpt: Any) -> None:
    tools: Any = [{"type": "function", "name": "population", "parameters": SCHEMA, "strict": False}]
    gpt.push(TWO)
    answer = gpt.responses.create(model="m", input="hi", tools=tools)
    uses = [item for item in answer.output if item.type == "function_call"]
    asked = [(use.call_id, use.name, json.loads(use.arguments)) for use in uses]
    assert asked == [
        ("c1", "population", {"city": "Oslo"}),
        ("c2", "population", {"city": "Bergen", "n": [1, 2.5]}),
    ]
    gpt.push(TWO)
    events = list(gpt.responses.create(model="m", input="hi", tools=tools, stream=True))
    done = [event.item for event in events if event.type == "response.output_item.done"]
    streamed = [(i.call_id, i.name, json.loads(i.arguments)) for i in done if i.type == "function_call"]
    assert streamed == asked
    assert events[-1].type == "response.completed"
    gpt.push("done")
    results: Any = [{"type": "function_call_output", "call_id": use.call_id, "output": "5"} for use in uses]
    assert gpt.responses.create(model="m", input=[*HI, *answer.output, *results], tools=tools).output_text == "done"


STATUSES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    429: "RateLimitError",
    500: "InternalServerError",
}


@pytest.mark.parametrize("status", list(STATUSES))
def test_errors_are_theirs(claude: Any, gpt: Any, status: int) -> None:
    asks = [
        (anthropic, claude, lambda: claude.messages.create(model="m", max_tokens=5, messages=HI)),
        (openai, gpt, lambda: gpt.chat.completions.create(model="m", messages=HI)),
        (openai, gpt, lambda: gpt.responses.create(model="m", input="hi")),
    ]
    for package, client, ask in asks:
        client.push(fault.status(status, retry_after=7, message="because"))
        with pytest.raises(getattr(package, STATUSES[status])) as caught:
            ask()
        assert caught.value.status_code == status
        assert "because" in str(caught.value)
        assert caught.value.response.headers["retry-after"] == "7"


def test_an_error_inside_a_stream_is_theirs(claude: Any, gpt: Any) -> None:
    claude.push(fault.error_event(after=3))
    with pytest.raises(anthropic.APIError), claude.messages.stream(model="m", max_tokens=5, messages=HI) as stream:
        stream.get_final_message()
    gpt.push(fault.error_event(after=3))
    with pytest.raises(openai.APIError):
        list(gpt.chat.completions.create(model="m", messages=HI, stream=True))


def test_their_retries_meet_the_script(claude: Any) -> None:
    claude.push(fault.status(529, retry_after=0))
    claude.push(call("population", city="Oslo"))
    retrying = claude.with_options(max_retries=2)
    message = retrying.messages.create(model="m", max_tokens=5, messages=HI)
    assert message.content[0].name == "population"
    assert len(claude.seen()) == 2


def test_a_wrong_key_is_refused() -> None:
    with WireServer(["hi"], key="right") as server:
        with openai.OpenAI(base_url=f"{server.url}/v1", api_key="wrong", max_retries=0) as client:
            with pytest.raises(openai.AuthenticationError):
                client.chat.completions.create(model="m", messages=HI)
        with anthropic.Anthropic(base_url=server.url, api_key="right", max_retries=0) as client:
            assert client.messages.create(model="m", max_tokens=5, messages=HI).content[0].text == "hi"
