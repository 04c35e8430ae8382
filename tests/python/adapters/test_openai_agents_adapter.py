"""`loopwright.adapters.openai_agents` against the real package, over real sockets."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from adapter_cases import ANSWER, ASKED, CALL, FAULTS, PIECES, model_at, weather

agents = pytest.importorskip("agents")

from agents import Agent, ModelSettings, RunConfig, Runner, WebSearchTool, function_tool  # noqa: E402
from loopwright import Agent as Ours  # noqa: E402
from loopwright import Message, Messages, ProviderError, UsageError  # noqa: E402
from loopwright.adapters import openai_agents as adapter  # noqa: E402
from loopwright.messages import Thinking, ToolResult, ToolUse  # noqa: E402
from loopwright.models import Call, Response  # noqa: E402
from loopwright.testing import ScriptedModel, call, text  # noqa: E402
from pydantic import BaseModel  # noqa: E402

agents.set_tracing_disabled(disabled=True)


class City(BaseModel):
    name: str
    people: int


def agent_over(model: Any, **options: Any) -> Agent[Any]:
    tools = [function_tool(weather)]
    return Agent(name="a", instructions="Be brief.", model=adapter.LoopwrightModel(model), tools=tools, **options)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_run_survives_each_of_the_eight_faults(serve: Any, wire: str, struck: str, streamed: bool) -> None:
    server = serve(FAULTS[struck], call("weather", **CALL), PIECES)
    agent = agent_over(model_at(server, wire))

    async def run() -> Any:
        if not streamed:
            return await Runner.run(agent, "How is Oslo?")
        stream = Runner.run_streamed(agent, "How is Oslo?")
        [event async for event in stream.stream_events()]
        return stream

    result = asyncio.run(run())
    assert result.final_output == ANSWER
    assert ASKED == ["Oslo"], "a tool ran twice, or on broken arguments"
    kinds = [each.get("type", "message") for each in result.to_input_list() if each.get("type") != "reasoning"]
    assert kinds == ["message", "function_call", "function_call_output", "message"]


def test_text_streams_as_it_comes(serve: Any, wire: str) -> None:
    agent = agent_over(model_at(serve(PIECES), wire))

    async def run() -> list[str]:
        events = Runner.run_streamed(agent, "Hi").stream_events()
        return [
            event.data.delta
            async for event in events
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
        ]

    said = asyncio.run(run())
    assert len(said) > 3
    assert "".join(said) == ANSWER


def test_an_answer_of_a_schema(serve: Any, wire: str) -> None:
    server = serve(text('Here you are: {"name": "Oslo", "people": 7}'))
    agent = Agent(name="a", model=adapter.LoopwrightModel(model_at(server, wire)), output_type=City)
    assert asyncio.run(Runner.run(agent, "Oslo?")).final_output == City(name="Oslo", people=7)
    assert "additionalProperties" in str(server.requests[0]["body"]), "the provider was not told of the schema"


def test_handoffs_settings_and_names_cross(serve: Any) -> None:
    server = serve(call("transfer_to_billing"), PIECES)
    billing = Agent(name="billing", instructions="You bill.", model="openai-chat:test")
    front = Agent(name="front", model="openai-chat:test", handoffs=[billing])

    class Provider(adapter.LoopwrightProvider):
        def get_model(self, model_name: str | None) -> Any:
            assert model_name == "openai-chat:test"
            return adapter.LoopwrightModel(model_at(server, "chat"))

    settings = ModelSettings(temperature=0.25, max_tokens=77, tool_choice="required")
    config = RunConfig(model_provider=Provider(), model_settings=settings)
    result = asyncio.run(Runner.run(front, "My bill?", run_config=config))
    assert (result.final_output, result.last_agent.name) == (ANSWER, "billing")
    body = server.requests[0]["body"]
    assert (body["temperature"], body["tool_choice"]) == (0.25, "required")
    assert 77 in (body.get("max_tokens"), body.get("max_completion_tokens"))


def test_a_provider_makes_models_by_name() -> None:
    provider = adapter.LoopwrightProvider(default=ScriptedModel([ANSWER]))
    agent = Agent(name="a")
    assert asyncio.run(Runner.run(agent, "Hi", run_config=RunConfig(model_provider=provider))).final_output == ANSWER
    with pytest.raises(UsageError, match="names no model"):
        adapter.LoopwrightProvider().get_model(None)


def test_thinking_goes_back_with_its_signature(serve: Any) -> None:
    from loopwright.testing._wire import response

    said = Message("assistant", (Thinking("Where is Oslo?", "sig-1"), ToolUse.of("c1", "weather", CALL)))
    reply = {"message": said.to_dict(), "stop": "tool_use", "usage": {"input": 1, "output": 1}, "model": "test"}
    server = serve(response(reply), PIECES)
    assert asyncio.run(Runner.run(agent_over(model_at(server, "anthropic")), "Oslo?")).final_output == ANSWER
    (sent,) = [each for each in server.requests[1]["body"]["messages"] if each["role"] == "assistant"]
    assert sent["content"][0] == {"type": "thinking", "thinking": "Where is Oslo?", "signature": "sig-1"}


def test_histories_of_theirs_come_back_as_they_were() -> None:
    agent = agent_over(ScriptedModel([Call("weather", CALL), Response(ANSWER, reasoning="Hm.")]))
    history = asyncio.run(Runner.run(agent, "How is Oslo?")).to_input_list()
    ours = adapter.from_items(history)
    assert [each.role for each in ours] == ["user", "assistant", "user", "assistant"]
    again = adapter.to_items(Messages.from_json(ours.to_json()))
    assert again[1:] == history[1:]
    assert (again[0]["role"], again[0]["content"]) == ("user", "How is Oslo?")
    more = Ours(ScriptedModel(["Yes."])).run_sync("Sure?", messages=ours)
    assert asyncio.run(
        Runner.run(agent_over(ScriptedModel(["Ok."])), adapter.to_items([*more.messages, Message.user("Why?")]))
    ).final_output


def test_histories_of_ours_come_back_as_they_were() -> None:
    mine = Messages(
        [
            Message.user("Look."),
            Message("assistant", (Thinking("Hm.", "sig"), ToolUse.of("c1", "weather", CALL))),
            Message("user", (ToolResult("c1", "weather", Message.user("sunny").content),)),
            Message.assistant("Done."),
        ]
    )
    assert adapter.from_items(adapter.to_items(mine)) == mine


def test_a_peer_that_is_down_is_an_error_that_says_what_to_do() -> None:
    from loopwright import Model

    model = Model("openai-chat:test", base_url="http://127.0.0.1:9", api_key="k", retry={"attempts": 1})
    with pytest.raises(ProviderError, match=r"127\.0\.0\.1:9") as caught:
        asyncio.run(Runner.run(agent_over(model), "Hi"))
    assert caught.value.hint


def test_what_has_no_form_here_is_refused() -> None:
    agent = Agent(name="a", model=adapter.LoopwrightModel(ScriptedModel(["x"])), tools=[WebSearchTool()])
    with pytest.raises(UsageError, match="WebSearchTool"):
        asyncio.run(Runner.run(agent, "Hi"))
    with pytest.raises(UsageError, match="previous_response_id"):
        asyncio.run(Runner.run(agent_over(ScriptedModel(["x"])), "Hi", previous_response_id="r1"))


def test_every_fault_has_a_name_of_its_own() -> None:
    assert len(FAULTS) == 8
