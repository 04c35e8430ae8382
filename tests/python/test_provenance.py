"""W8, W9: a run that goes from host to host of one wire and back, in front of servers as strict as theirs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from loopwright import Agent, Message, Model, tool
from loopwright.models import Call
from loopwright.testing import calls, recorded, text
from loopwright.testing._strict import mistral, openai_chat, refuse
from strict import Strict
from ways import KEY, run


@tool(read_only=True)
def weather(city: str = "Oslo") -> str:
    """The weather."""
    return f"sunny in {city}"


def at(model: str, url: str, **options: Any) -> Agent[Any, Any]:
    return Agent(Model(model, base_url=url, api_key=KEY), tools=[weather], **options)


def thought(use: str, words: str = "I must look.") -> Any:
    """An answer with reasoning and a call, as DeepSeek and Kimi give it."""
    call = {"id": use, "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    message = {"role": "assistant", "content": "", "reasoning_content": words, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return recorded(200, "application/json", json.dumps(body))


def no_reasoning(body: dict[str, Any]) -> None:
    """Groq and Mistral: https://github.com/janhq/jan/issues/8136."""
    openai_chat(body)
    for at_, message in enumerate(body["messages"]):
        for member in ("reasoning", "reasoning_content", "reasoning_details"):
            refuse(member in message, f"'messages.{at_}' : property '{member}' is unsupported")


def strict_mistral(body: dict[str, Any]) -> None:
    mistral(body)
    no_reasoning(body)


def wants_reasoning(body: dict[str, Any]) -> None:
    """DeepSeek and Kimi: https://github.com/earendil-works/pi/issues/4251."""
    openai_chat(body)
    for at_, message in enumerate(body["messages"]):
        lacks = message.get("tool_calls") and not message.get("reasoning_content")
        refuse(
            lacks, f"thinking is enabled but reasoning_content is missing in assistant tool call message at index {at_}"
        )


def test_w08_a_run_of_a_host_that_requires_reasoning_is_legal_there(serve: Any, way: str) -> None:
    server = serve(thought("a", "First."), thought("b", "Second."), text("Done."))
    with Strict(server, wants_reasoning) as provider:
        result, _ = run(at("deepseek:deepseek-reasoner", provider.url), "go", way)
    assert provider.refusals == []
    assert result.final == "Done."
    last = server.requests[-1]["body"]["messages"]
    assert [message.get("reasoning_content") for message in last if message["role"] == "assistant"] == [
        "First.",
        "Second.",
    ]


@pytest.mark.parametrize(
    ("there", "rule"), [("groq:openai/gpt-oss-20b", no_reasoning), ("mistral:mistral-large-latest", strict_mistral)]
)
def test_w08_a_history_goes_to_another_host_and_comes_back_whole(serve: Any, way: str, there: str, rule: Any) -> None:
    ours = serve(thought("a"), text("Sunny."), thought("b", "Once more."), text("Still."))
    theirs = serve(calls(Call("weather", {}, call_id="c")), text("Sunny there."))
    with Strict(ours, wants_reasoning) as own, Strict(theirs, rule) as other:
        first, _ = run(at("moonshot:kimi-k2-thinking", own.url), "The weather?", way)
        assert [message.host for message in first.messages if message.tool_uses] == [own.url.removeprefix("http://")]
        second = at(there, other.url).run_sync("And there?", messages=first.messages)
        assert other.refusals == []
        assert "I must look." not in json.dumps([request["body"] for request in theirs.requests])
        # Saved and read in between, as a store does.
        saved = [Message.from_json(message.to_json()) for message in second.messages]
        assert saved == list(second.messages)
        third = at("moonshot:kimi-k2-thinking", own.url).run_sync("And now?", messages=saved)
    assert own.refusals == []
    assert (second.final, third.final) == ("Sunny there.", "Still.")
    body = ours.requests[-1]["body"]["messages"]
    reasoned = [message["reasoning_content"] for message in body if message.get("tool_calls")]
    assert (reasoned[0], reasoned[2]) == ("I must look.", "Once more.")
    assert reasoned[1] not in ("", "I must look.")


def test_w08_a_chain_of_fallbacks_crosses_hosts_of_one_wire(serve: Any, way: str) -> None:
    refused = recorded(401, "application/json", '{"error": {"message": "no"}}')
    first = serve(thought("a"), refused)
    second = serve(text("Taken over."))
    with Strict(second, no_reasoning) as other:
        fallback = Model("groq:openai/gpt-oss-20b", base_url=other.url, api_key=KEY)
        model = Model("deepseek:deepseek-reasoner", base_url=first.url, api_key=KEY, fallback=[fallback])
        agent = Agent(model, tools=[weather])
        result, _ = run(agent, "go", way)
    assert other.refusals == []
    assert result.final == "Taken over."


def unsigned(words: str) -> Any:
    """An answer as Kimi gives it over the wire of Anthropic: reasoning has no signature."""
    content = [
        {"type": "thinking", "thinking": words, "signature": ""},
        {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}},
    ]
    body = {"id": "1", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": "tool_use", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
    return recorded(200, "application/json", json.dumps(body))


def wants_thinking(body: dict[str, Any]) -> None:
    """Kimi over the wire of Anthropic refuses a call without the reasoning before it."""
    for at_, message in enumerate(body["messages"]):
        kinds = [block["type"] for block in message["content"] if isinstance(block, dict)]
        lacks = "tool_use" in kinds and "thinking" not in kinds
        refuse(
            lacks, f"thinking is enabled but reasoning_content is missing in assistant tool call message at index {at_}"
        )


def test_w09_reasoning_without_a_signature_goes_back_to_its_host(serve: Any, way: str) -> None:
    # Anthropic itself refuses what Kimi wants.
    server = serve(unsigned("I must look."), text("Done."), strict=None)
    with Strict(server, wants_thinking) as provider:
        result, _ = run(at("anthropic:kimi-k2-thinking", provider.url), "go", way)
    assert provider.refusals == []
    assert result.final == "Done."
