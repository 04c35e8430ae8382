"""Hosts of one wire that take different things: what one refuses is left out or asked for in another way, and told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from loopwright import Agent, Model, ProviderError, UsageError, tool
from loopwright.context import ContextPolicy
from loopwright.models import Call
from loopwright.roles import Role
from loopwright.testing import WireServer, calls, fault, recorded, response, text
from loopwright.testing._strict import Refused, mistral, refuse
from pydantic import BaseModel
from strict import Strict
from ways import KEY, run


class City(BaseModel):
    name: str


@tool(read_only=True)
def weather(city: str = "Oslo") -> str:
    """The weather."""
    return f"sunny in {city}"


def at(model: str, url: str, **options: Any) -> Agent[Any, Any]:
    return Agent(Model(model, base_url=url, api_key=KEY), **options)


def told(result: Any, code: str) -> list[str]:
    return [warning for warning in result.warnings if warning.startswith(f"{code}:")]


def test_providers_are_named_with_their_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    with pytest.raises(UsageError, match="MISTRAL_API_KEY") as caught:
        Agent("mistral:mistral-large-latest").run_sync("hi")
    assert caught.value.code == "missing_key"
    with pytest.raises(UsageError) as caught:
        Agent("mistrel:m").run_sync("hi")
    assert "did you mean mistral?" in str(caught.value)
    assert "base_url" in str(caught.value)


def strict_mistral(body: dict[str, Any]) -> None:
    """Mistral's order of roles and ids, and no fields that it does not know."""
    mistral(body)
    for field in ("stream_options", "max_completion_tokens"):
        refuse(field in body, f"body.{field}: Extra inputs are not permitted")
    for message in body["messages"]:
        for use in message.get("tool_calls", ()):
            refuse(len(use["id"]) != 9 or not use["id"].isalnum(), "Tool call id must be a-z, A-Z, 0-9, length of 9")


def test_w3_a_run_of_many_rounds_is_legal_at_mistral(serve: Any, way: str) -> None:
    rounds = [calls(Call("weather", {"city": f"city {at}"}, call_id=f"call_{at}")) for at in range(7)]
    server = serve(*rounds, text("Done."))
    with Strict(server, strict_mistral) as provider:
        result, _ = run(
            at("mistral:mistral-large-latest", provider.url, tools=[weather], settings={"max_tokens": 99}), "go", way
        )
    assert provider.refusals == []
    assert result.final == "Done."


@pytest.mark.parametrize(
    ("model", "with_tool", "form"),
    [
        ("deepseek:deepseek-chat", True, "json_object"),
        ("groq:llama-3.3-70b-versatile", True, None),
        ("minimax:MiniMax-M2", False, None),
        ("lmstudio:qwen3", True, "json_schema"),
    ],
)
def test_w7_a_typed_answer_without_schemas(serve: Any, way: str, model: str, with_tool: bool, form: str | None) -> None:
    script = [calls(Call("weather", {}, call_id="a"))] if with_tool else []
    server = serve(*script, text('```json\n{"name": "Oslo"}\n```' if form is None else '{"name": "Oslo"}'))
    options: dict[str, Any] = {"tools": [weather]} if with_tool else {}
    result, _ = run(at(model, server.url, output_type=City, **options), "Where?", way)
    assert server.refusals == []
    assert result.output == City(name="Oslo")
    bodies = [request["body"] for request in server.requests]
    assert [body.get("response_format", {}).get("type") for body in bodies] == [form] * len(bodies)
    assert all(bool(body.get("tools")) is with_tool for body in bodies)
    assert len(told(result, "adapted")) == (0 if form == "json_schema" else 1), result.warnings


def no_schema(body: dict[str, Any]) -> None:
    """A server of OpenAI's chat that knows neither schemas nor JSON mode beside tools."""
    kind = body.get("response_format", {}).get("type")
    refuse(kind == "json_schema", "This response_format type is unavailable now")
    refuse(kind and body.get("tools"), "json mode cannot be combined with tool/function calling")


def test_w6_w7_a_host_that_nobody_knows_is_asked_as_it_says(serve: Any, way: str) -> None:
    server = serve(calls(Call("weather", {}, call_id="a")), text('{"name": "Oslo"}'), text('{"name": "Rome"}'))
    with Strict(server, no_schema, words_alone=True) as provider:
        agent = at("openai-chat:local", provider.url, output_type=City, tools=[weather])
        result, _ = run(agent, "Where?", way)
        assert result.output == City(name="Oslo")
        assert [call.failure for call in result.tool_calls] == [None], "the tools stay"
        assert len(provider.refusals) == 2
        assert len(told(result, "left_out")) == 2
        # The agent remembers what its host refuses, and still tells.
        later = agent.run_sync("And now?")
        assert later.output == City(name="Rome")
        assert len(provider.refusals) == 2
    assert told(later, "adapted")
    assert not told(result, "without_tools")


def no_sampling(body: dict[str, Any]) -> None:
    """A model that reasons behind a name that says nothing."""
    refuse("temperature" in body, "temperature")


def test_w6_a_parameter_that_is_refused_by_name_is_left_out(serve: Any, way: str) -> None:
    server = serve(text("one"), text("two"))
    with Strict(server, no_sampling, names_parameter=True) as provider:
        agent = at("openai-chat:deployment", provider.url, settings={"temperature": 0.3})
        result, _ = run(agent, "go", way)
        again = agent.run_sync("go")
    assert (result.final, again.final) == ("one", "two")
    assert provider.refusals == ["temperature"]
    assert "temperature" in told(result, "left_out")[0]
    assert "temperature" in told(again, "adapted")[0]


def not_supported(body: dict[str, Any]) -> None:
    """A host that says in plain words what it does not take, wherever its wire has the parameter."""
    given = [body, *(body.get(name, {}) for name in ("generationConfig", "inferenceConfig"))]
    refuse(any("temperature" in each for each in given), "temperature is not supported by this model")


HOSTS = ["openai-chat:deployment", "openai-responses:deployment", "anthropic:deployment", "gemini:deployment"]


@pytest.mark.parametrize("name", [*HOSTS, "bedrock:deployment"])
def test_w6_a_parameter_that_is_refused_in_plain_words_is_left_out(serve: Any, way: str, name: str) -> None:
    server = serve(text("one"), text("two"))
    with Strict(server, not_supported, words_alone=True) as provider:
        agent = at(name, provider.url, settings={"temperature": 0.3, "top_p": 0.9, "max_tokens": 99})
        result, _ = run(agent, "go", way)
        again = agent.run_sync("go")
    assert (result.final, again.final) == ("one", "two")
    assert len(provider.refusals) == 1, "asked once more, and remembered"
    assert told(result, "left_out")[0].startswith("left_out: temperature is refused")
    assert "takes no temperature" in told(again, "adapted")[0]
    body = server.requests[-1]["body"]
    assert "0.9" in json.dumps(body) and "99" in json.dumps(body), "nothing else went"


def test_w6_words_of_a_refusal_that_name_nothing_of_the_request_leave_nothing_out(serve: Any) -> None:
    def no_such_history(body: dict[str, Any]) -> None:
        refuse(True, "Invalid messages: the temperature of the reactor is not supported as an input")

    with Strict(serve(), no_such_history, words_alone=True) as provider:
        for settings in ({}, {"top_p": 0.9}):
            with pytest.raises(ProviderError, match="reactor"):
                at("openai-chat:deployment", provider.url, settings=settings).run_sync("go")
        assert len(provider.refusals) == 2


def test_w11_roles_work_with_models_that_take_no_temperature(serve: Any) -> None:
    from test_roles import SUMMED, looks, slow

    main = serve(*looks(4, "slow"), by_turn=True)
    summer = serve(text(json.dumps(SUMMED)), repeat_last=True)
    with Strict(summer, no_sampling) as provider:
        role = Role("openai-chat:gpt-5-mini", base_url=provider.url, api_key=KEY)
        agent = Agent(
            Model("anthropic:main", base_url=main.url, api_key=KEY),
            tools=[slow],
            context=ContextPolicy(summarizer=role),
        )
        result = agent.run_sync("Look around.")
    assert provider.refusals == []
    assert summer.requests
    assert len(told(result, "adapted")) == 1, result.warnings


def groq_failure(generation: str) -> Any:
    error = {
        "message": "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
        "type": "invalid_request_error",
        "code": "tool_use_failed",
        "failed_generation": generation,
    }
    return recorded(400, "application/json", {"error": error})


def test_w6_a_failed_generation_is_read_or_asked_for_once_more(serve: Any, way: str) -> None:
    server = serve(groq_failure('<function=weather>{"city": "Rome"}</function>'), text("Sunny."))
    result, _ = run(at("groq:m", server.url, tools=[weather]), "go", way)
    assert result.final == "Sunny."
    assert [(call.arguments["city"], call.failure) for call in result.tool_calls] == [("Rome", None)]
    server = serve(groq_failure("weather of Rome"), calls(Call("weather", {}, call_id="a")), text("Sunny."))
    result, _ = run(at("groq:m", server.url, tools=[weather]), "go", way)
    assert result.final == "Sunny."
    assert all(request["body"].get("tools") for request in server.requests)
    server = serve(groq_failure("no"), repeat_last=True)
    with pytest.raises(ProviderError) as caught:
        at("groq:m", server.url, tools=[weather]).run_sync("go")
    assert caught.value.code == "invalid_body"
    assert "could not read what it wrote" in str(caught.value)
    assert len(server.requests) == 2


def test_w12_the_reason_behind_a_router_is_told(serve: Any) -> None:
    raw = json.dumps({"error": {"message": "the messages are of no use", "code": "bad"}})
    error = {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw, "provider_name": "X"}}
    server = serve(recorded(400, "application/json", {"error": error}))
    with pytest.raises(ProviderError, match="the messages are of no use"):
        at("openrouter:x/y", server.url).run_sync("go")


def test_refusals_of_these_rules_are_refusals() -> None:
    for rule, body in [
        (no_schema, {"response_format": {"type": "json_schema"}}),
        (no_sampling, {"temperature": 1}),
        (strict_mistral, {"stream_options": {}, "messages": [{"role": "user", "content": "x"}]}),
    ]:
        with pytest.raises(Refused):
            rule(body)


def filtered(**below: Any) -> Any:
    """A refusal of Azure's content filter."""
    error = {"message": "The response was filtered due to the prompt triggering Azure's content management policy.",
        "param": "prompt", "type": None, "status": 400, **below}  # fmt: skip
    return recorded(400, "application/json", json.dumps({"error": error}))


@pytest.mark.parametrize(
    "below",
    [{"code": "content_filter"}, {"code": None, "innererror": {"code": "ResponsibleAIPolicyViolation"}}],
    ids=["code", "innererror"],
)
def test_w25_a_content_filter_is_told_as_one(serve: Any, way: str, below: dict[str, Any]) -> None:
    server = serve(filtered(**below))
    with pytest.raises(ProviderError) as caught:
        run(at("openai-chat:deployment", server.url, tools=[weather]), "go", way)
    assert caught.value.code == "content_filter"
    assert caught.value.hint
    assert len(server.requests) == 1, "neither again nor without tools"


def test_w26_a_request_that_is_too_large_is_shortened_or_told(serve: Any, way: str) -> None:
    large = recorded(413, "text/html", "<html><h1>413 Request Entity Too Large</h1></html>")
    server = serve(large)
    with pytest.raises(ProviderError) as caught:
        run(at("openai-chat:m", server.url), "go", way)
    assert (caught.value.code, caught.value.result.stop_reason) == ("request_too_large", "context_window")
    assert len(server.requests) == 1


class Own:
    """A model of one's own."""

    name = "own"

    def __init__(self, *answers: Any, later: bool = False) -> None:
        self.answers, self.later = list(answers), later

    def respond(self, request: Any) -> Any:
        answer = self.answers[request.turns]
        if not self.later:
            return answer

        async def soon() -> Any:
            return answer

        return soon()


@pytest.mark.parametrize("later", [False, True], ids=["now", "later"])
def test_w28_the_answer_of_a_model_of_ones_own_is_seen_in_one_piece(later: bool) -> None:
    from loopwright.events import ArgumentsDelta, ReasoningDelta, TextDelta
    from loopwright.models import Response

    asks = Response("I look.", [Call("weather", {"city": "Rome"})], reasoning="Hm.")
    agent = Agent(Own(asks, "Sunny.", later=later), tools=[weather])
    result, events = run(agent, "go", "stream")
    assert result.final == "Sunny."
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["I look.", "Sunny."]
    assert [event.text for event in events if isinstance(event, ReasoningDelta)] == ["Hm."]
    assert [json.loads(event.text) for event in events if isinstance(event, ArgumentsDelta)] == [{"city": "Rome"}]


def test_w28_calls_written_as_text_are_no_text_of_a_model_of_ones_own() -> None:
    from loopwright.events import TextDelta

    written = 'I look. <tool_call>{"name": "weather", "arguments": {"city": "Rome"}}</tool_call>'
    agent = Agent(Model(Own(written, "Sunny."), tool_format="hermes"), tools=[weather])
    result, events = run(agent, "go", "stream")
    assert [call.name for call in result.tool_calls] == ["weather"]
    shown = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert "tool_call" not in shown
    assert "I look." in shown


@pytest.mark.parametrize("thought", [False, True])
def test_w3_a_budget_for_thinking_waits_until_the_calls_before_were_thought_about(thought: bool) -> None:
    budget: Any = {"max_tokens": 4000, "extra_body": {"thinking": {"type": "enabled", "budget_tokens": 1024}}}
    asked = calls(Call("weather", {}, call_id="a"))
    thinking = {"type": "thinking", "text": "Rome first.", "signature": "c2lnbmVk"}
    use = {"type": "tool_use", "id": "b", "name": "weather", "input": {"city": "Rome"}}
    content = [thinking, use] if thought else [use]
    again = response(
        {
            "message": {"role": "assistant", "content": content},
            "stop": "tool_use",
            "model": "m",
            "usage": {"input": 1, "output": 1},
        }
    )
    with (
        WireServer([asked, fault.status(500)]) as first,
        WireServer([again, text("Done.")], strict="anthropic") as server,
    ):
        other = Model("anthropic:claude-sonnet-4-5", base_url=server.url, api_key=KEY, settings=budget)
        model = Model("openai-chat:gpt-4o", base_url=first.url, api_key=KEY, fallback=[other], retry={"attempts": 1})
        result = Agent(model, tools=[weather]).run_sync("go")
        sent = [request["body"].get("thinking") is not None for request in server.requests]
        refusals = server.refusals
    assert (result.final, refusals) == ("Done.", [])
    assert sent == [False, thought], "the calls before the first request were made by another host"
    assert len(told(result, "adapted")) == 1, result.warnings
