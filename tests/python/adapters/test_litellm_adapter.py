"""`loopwright.adapters.litellm` against the real package, over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from adapter_cases import ANSWER, CALL, FAULTS, PIECES, model_at

litellm = pytest.importorskip("litellm")

from loopwright import Message  # noqa: E402
from loopwright.adapters import litellm as adapter  # noqa: E402
from loopwright.messages import Thinking, ToolUse  # noqa: E402
from loopwright.testing import ScriptedModel, call, fault  # noqa: E402

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "Weather.", "parameters": SCHEMA}}]
QUESTION: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How is Oslo?"}]
WAYS = ("acompletion", "completion", "astream", "stream")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = list(litellm.custom_provider_map)
    yield
    litellm.custom_provider_map = before


def asked(model: Any, messages: list[Any], way: str, **options: Any) -> Any:
    """The answer of a model, in each of the four ways."""
    adapter.register({"mine": model})
    options = {"model": "loopwright/mine", "messages": messages, "num_retries": 0, **options}

    async def streamed() -> Any:
        return litellm.stream_chunk_builder([each async for each in await litellm.acompletion(stream=True, **options)])

    if way == "acompletion":
        found = asyncio.run(litellm.acompletion(**options))
    elif way == "completion":
        found = litellm.completion(**options)
    elif way == "astream":
        found = asyncio.run(streamed())
    else:
        found = litellm.stream_chunk_builder(list(litellm.completion(stream=True, **options)))
    return found.choices[0].message


@pytest.mark.parametrize("way", WAYS)
def test_a_loop_survives_each_of_the_eight_faults(serve: Any, wire: str, struck: str, way: str) -> None:
    server = serve(FAULTS[struck], call("weather", **CALL), PIECES)
    model = model_at(server, wire)
    first = asked(model, QUESTION, way, tools=TOOLS)
    (made,) = first.tool_calls
    assert (made.function.name, made.function.arguments.replace(" ", "")) == ("weather", '{"city":"Oslo"}')
    given = {"role": "tool", "tool_call_id": made.id, "content": "sunny"}
    assert asked(model, [*QUESTION, first, given], way, tools=TOOLS).content == ANSWER


def test_a_model_is_named_where_it_is_asked(serve: Any) -> None:
    server = serve(PIECES)
    adapter.register()
    found = litellm.completion(
        model="loopwright/anthropic:test",
        messages=QUESTION,
        api_base=server.url,
        api_key="k",
        temperature=0.25,
        max_tokens=77,
        stop="END",
    )
    assert found.choices[0].message.content == ANSWER
    assert found.usage.total_tokens > 0
    body = server.requests[0]["body"]
    assert (body["temperature"], body["max_tokens"], body["stop_sequences"]) == (0.25, 77, ["END"])
    assert "Be brief." in str(body["system"])


def test_thinking_goes_back_with_its_signature(serve: Any) -> None:
    from loopwright.testing._wire import response

    said = Message("assistant", (Thinking("Where is Oslo?", "sig-1"), ToolUse.of("c1", "weather", CALL)))
    reply = {"message": said.to_dict(), "stop": "tool_use", "usage": {"input": 1, "output": 1}, "model": "test"}
    server = serve(response(reply), PIECES)
    model = model_at(server, "anthropic")
    first = asked(model, QUESTION, "completion", tools=TOOLS)
    given = {"role": "tool", "tool_call_id": "c1", "content": "sunny"}
    assert asked(model, [*QUESTION, first, given], "completion", tools=TOOLS).content == ANSWER
    (sent,) = [each for each in server.requests[1]["body"]["messages"] if each["role"] == "assistant"]
    assert sent["content"][0] == {"type": "thinking", "thinking": "Where is Oslo?", "signature": "sig-1"}


def test_a_refusal_has_its_status_and_a_peer_that_is_down_is_said(serve: Any) -> None:
    from loopwright import Model

    with pytest.raises(Exception, match="401"):
        asked(model_at(serve(fault.status(401)), "chat"), QUESTION, "completion")
    down = Model("openai-chat:test", base_url="http://127.0.0.1:9", api_key="k", retry={"attempts": 1})
    with pytest.raises(Exception, match=r"127\.0\.0\.1:9"):
        asked(down, QUESTION, "completion")


def test_registering_twice_leaves_one_provider() -> None:
    adapter.register()
    adapter.register({"mine": ScriptedModel(["a"])})
    assert [each["provider"] for each in litellm.custom_provider_map].count("loopwright") == 1
