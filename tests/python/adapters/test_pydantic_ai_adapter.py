"""`loopwright.adapters.pydantic_ai` against the real package, over real sockets."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from adapter_cases import ANSWER, ASKED, CALL, FAULTS, OURS, PIECES, model_at, weather

pydantic_ai = pytest.importorskip("pydantic_ai")

from loopwright import Agent as Ours  # noqa: E402
from loopwright import ContextPolicy, Message, Messages, RunContext, tool  # noqa: E402
from loopwright.adapters import pydantic_ai as adapter  # noqa: E402
from loopwright.messages import Document, Image, Thinking, ToolResult, ToolUse  # noqa: E402
from loopwright.models import Call, Response  # noqa: E402
from loopwright.testing import ScriptedModel, call, fault  # noqa: E402
from pydantic import BaseModel  # noqa: E402
from pydantic_ai import Agent, BinaryContent, ImageUrl, ModelRetry  # noqa: E402
from pydantic_ai.exceptions import ModelAPIError  # noqa: E402
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, UserPromptPart  # noqa: E402
from pydantic_ai.models.fallback import FallbackModel  # noqa: E402
from pydantic_ai.toolsets import FunctionToolset  # noqa: E402


class City(BaseModel):
    name: str
    people: int


def agent_over(model: Any, **options: Any) -> Agent[Any, Any]:
    return Agent(adapter.LoopwrightModel(model), instructions="Be brief.", tools=[weather], **options)


@pytest.mark.parametrize("streamed", [False, True])
def test_an_agent_survives_each_of_the_eight_faults(serve: Any, wire: str, struck: str, streamed: bool) -> None:
    server = serve(FAULTS[struck], call("weather", **CALL), PIECES)
    agent = agent_over(model_at(server, wire))

    async def run() -> Any:
        if not streamed:
            return await agent.run("How is Oslo?")
        async with agent.iter("How is Oslo?") as steps:
            async for node in steps:
                if Agent.is_model_request_node(node):
                    async with node.stream(steps.ctx) as events:
                        [event async for event in events]
        return steps.result

    result = asyncio.run(run())
    assert result.output == ANSWER
    assert ASKED == ["Oslo"], "a tool ran twice, or on broken arguments"
    kinds = [part.part_kind for message in result.all_messages() for part in message.parts]
    assert kinds == ["user-prompt", "tool-call", "tool-return", "text"], "what was void stands in the history"


def test_text_streams_as_it_comes(serve: Any, wire: str) -> None:
    agent = agent_over(model_at(serve(PIECES), wire))

    async def run() -> list[str]:
        async with agent.run_stream("How is Oslo?") as stream:
            return [said async for said in stream.stream_text(debounce_by=None)]

    said = asyncio.run(run())
    assert len(said) > 3
    assert said[-1] == ANSWER


def test_typed_output_is_a_call_and_streams(serve: Any, wire: str) -> None:
    server = serve(call("final_result", name="Oslo", people=717_710))
    agent = Agent(adapter.LoopwrightModel(model_at(server, wire)), output_type=City)

    async def run() -> City:
        async with agent.run_stream("Oslo?") as stream:
            return [each async for each in stream.stream_output(debounce_by=None)][-1]

    assert asyncio.run(run()) == City(name="Oslo", people=717_710)
    choice = server.requests[0]["body"]["tool_choice"]
    assert choice in ({"type": "any"}, "required")


def test_settings_instructions_and_usage_cross(serve: Any) -> None:
    server = serve(PIECES)
    settings = {"temperature": 0.25, "max_tokens": 77, "stop_sequences": ["END"], "parallel_tool_calls": False}
    result = asyncio.run(agent_over(model_at(server, "anthropic"), model_settings=settings).run("Hi"))
    body = server.requests[0]["body"]
    assert (body["temperature"], body["max_tokens"], body["stop_sequences"]) == (0.25, 77, ["END"])
    assert body["tool_choice"]["disable_parallel_tool_use"] is True
    assert "Be brief." in str(body["system"])
    assert result.usage.input_tokens > 0
    assert result.usage.output_tokens > 0


def test_thinking_goes_back_with_its_signature(serve: Any) -> None:
    thinking = Thinking("Where is Oslo?", "sig-1")
    said = Message("assistant", (thinking, ToolUse.of("c1", "weather", CALL)))
    reply = {"message": said.to_dict(), "stop": "tool_use", "usage": {"input": 1, "output": 1}, "model": "test"}
    from loopwright.testing._wire import response

    server = serve(response(reply), PIECES)
    result = asyncio.run(agent_over(model_at(server, "anthropic")).run("How is Oslo?"))
    assert result.output == ANSWER
    (sent,) = [each for each in server.requests[1]["body"]["messages"] if each["role"] == "assistant"]
    assert sent["content"][0] == {"type": "thinking", "thinking": "Where is Oslo?", "signature": "sig-1"}


def test_a_provider_that_refuses_lets_a_fallback_model_go_on(serve: Any) -> None:
    down = serve(fault.status(401))
    up = serve(PIECES)
    models = [adapter.LoopwrightModel(model_at(each, "chat")) for each in (down, up)]
    with pytest.raises(ModelAPIError, match="401") as caught:
        asyncio.run(Agent(models[0]).run("Hi"))
    assert caught.value.model_name == "openai-chat:test"
    down = serve(fault.status(401))
    models[0] = adapter.LoopwrightModel(model_at(down, "chat"))
    assert asyncio.run(Agent(FallbackModel(*models)).run("Hi")).output == ANSWER


def test_a_peer_that_is_down_is_an_error_that_says_what_to_do() -> None:
    from loopwright import Model

    model = Model("openai-chat:test", base_url="http://127.0.0.1:9", api_key="k", retry={"attempts": 1})
    with pytest.raises(ModelAPIError, match=r"127\.0\.0\.1:9") as caught:
        asyncio.run(Agent(adapter.LoopwrightModel(model)).run("Hi"))
    assert getattr(caught.value.__cause__, "hint", None)


def test_our_tools_run_there_with_deps_and_tell_the_model_what_failed() -> None:
    @tool(read_only=True)
    def whose(context: RunContext[str], number: int) -> str:
        """Whose it is."""
        return f"{context.deps}'s {number} {context.call_id}"

    @tool
    def breaks() -> str:
        """Breaks."""
        raise ValueError("it broke")

    script = [Call("whose", {"number": "x"}), Call("whose", {"number": 7}, "c7"), Call("breaks"), "Done."]
    toolset = adapter.LoopwrightToolset([whose, breaks])
    agent = Agent(adapter.LoopwrightModel(ScriptedModel(script)), deps_type=str, toolsets=[toolset])
    result = asyncio.run(agent.run("Go.", deps="Ann"))
    given = [part.content for each in result.all_messages() for part in each.parts if part.part_kind == "tool-return"]
    assert result.output == "Done."
    assert "invalid_arguments" in given[0]
    assert given[1] == "Ann's 7 c7"
    assert "ValueError: it broke" in given[2]


def test_what_a_person_is_asked_about_here_waits_for_a_person_there() -> None:
    from pydantic_ai import DeferredToolRequests, DeferredToolResults

    done = []

    @tool(risk="confirm")
    def pay(amount: int) -> str:
        """Pays."""
        done.append(amount)
        return "paid"

    model = adapter.LoopwrightModel(ScriptedModel([Call("pay", {"amount": 5}, "p1"), "It is paid."]))
    agent = Agent(model, toolsets=[adapter.LoopwrightToolset([pay])], output_type=[str, DeferredToolRequests])
    waits = asyncio.run(agent.run("Pay 5."))
    assert [each.tool_name for each in waits.output.approvals] == ["pay"]
    assert done == []
    answers = DeferredToolResults(approvals={"p1": True})
    result = asyncio.run(agent.run(message_history=waits.all_messages(), deferred_tool_results=answers))
    assert result.output == "It is paid."
    assert done == [5]


def test_their_tools_run_in_our_agent() -> None:
    theirs: FunctionToolset[Any] = FunctionToolset()

    @theirs.tool_plain
    def add(a: int, b: int) -> int:
        """Adds."""
        if a == 0:
            raise ModelRetry("a may not be zero")
        return a + b

    async def run() -> Any:
        calls = [Call("add", {"a": 1, "b": "x"}), Call("add", {"a": 0, "b": 1}), Call("add", {"a": 1, "b": 2})]
        tools = await adapter.from_toolset(theirs)
        assert tools[0].description == "Adds."
        return await Ours(ScriptedModel([*calls, "3"]), tools=tools).run("1 + 2?")

    first, second, third = asyncio.run(run()).tool_calls
    assert "valid integer" in (first.result or "")
    assert "a may not be zero" in (second.result or "")
    assert third.result == "3"


def test_histories_of_theirs_come_back_as_they_were() -> None:
    agent = agent_over(ScriptedModel([Call("weather", CALL), ANSWER]))
    result = asyncio.run(agent.run(["Look: ", BinaryContent(b"\x89PNG\r\n\x1a\n", media_type="image/png")]))
    image = ModelRequest(parts=[UserPromptPart(content=["And?", ImageUrl(url="https://example.com/a.png")])])
    history = [*result.all_messages(), image]
    ours = adapter.from_messages(history)
    assert [each.role for each in ours] == ["user", "assistant", "user", "assistant", "user"]
    assert ours[1].tool_uses[0].arguments == CALL
    again = Messages.from_json(ours.to_json())
    # As they are kept: pydantic-ai reads a picture as another class than it was given as.
    dumped = ModelMessagesTypeAdapter.dump_json
    assert dumped(adapter.to_messages(again)) == dumped(history)
    more = Ours(ScriptedModel(["Yes."])).run_sync("Sure?", messages=again)
    assert dumped(adapter.to_messages(more.messages)[: len(history)]) == dumped(history)


def test_histories_of_ours_come_back_as_they_were() -> None:
    picture = Image.from_bytes(b"\x89PNG\r\n\x1a\n", "image/png")
    mine = Messages(
        [
            Message.system("Be brief."),
            Message.developer("And kind."),
            Message.user("Look: ", picture, Document.from_text("A page.", name="a.txt")),
            Message("assistant", (Thinking("Hm.", "sig"), ToolUse.of("c1", "weather", CALL))),
            Message("user", (ToolResult("c1", "weather", (picture,)),)),
            Message("assistant", (ToolUse("c2", "weather", "{}", '{"city": "Os'),)),
            Message("user", (ToolResult.failed("c2", "weather", ToolFailureLike()),)),
            Message.assistant("Done."),
        ]
    )
    theirs = adapter.to_messages(mine)
    kept = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(theirs))
    assert adapter.from_messages(kept) == mine
    dicts = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
    assert [each.kind for each in adapter.to_messages(dicts)] == ["request", "response"]


def ToolFailureLike() -> Any:
    from loopwright.messages import ToolFailure

    return ToolFailure("invalid_arguments", "no JSON", "try again")


def test_what_was_changed_there_counts() -> None:
    (theirs,) = adapter.to_messages([Message("assistant", (Thinking("Hm.", "sig"), Message.assistant("A").content[0]))])
    theirs.parts[-1].content = "B"
    assert adapter.from_messages([theirs])[0].text == "B"


def test_a_context_policy_holds_requests_and_what_left_is_recalled() -> None:
    sent: list[int] = []

    @tool(read_only=True)
    def page(number: int) -> str:
        """A page."""
        return f"page {number}: " + f"word{number} " * 400

    class Reader:
        def respond(self, request: Any) -> Any:
            sent.append(len(request.to_json()))
            if len(sent) <= 12:
                return Response(calls=[Call("page", {"number": len(sent)})])
            if len(sent) == 13:
                return Response(calls=[Call("recall", {"find": "page 1:"})])
            return "Done."

    agent = Agent(
        adapter.LoopwrightModel(Reader()),
        toolsets=[adapter.LoopwrightToolset([page])],
        capabilities=[adapter.Compaction(ContextPolicy(budget=4_000))],
    )
    result = asyncio.run(agent.run("Read."))
    assert result.output == "Done."
    assert max(sent) < 4_000 * 6, "a request outgrew the budget"
    assert max(sent) < sum(sent[:6])
    returned = [p for each in result.all_messages() for p in each.parts if p.part_kind == "tool-return"]
    (recalled,) = [each for each in returned if each.tool_name == "recall"]
    assert "word1" in str(recalled.content)


def test_a_policy_without_a_budget_is_refused() -> None:
    from loopwright import UsageError

    with pytest.raises(UsageError, match="budget"):
        adapter.Compaction(ContextPolicy(window=1_000))


def test_a_model_that_repeats_itself_is_told_and_then_stopped() -> None:
    heard: list[str] = []

    class Stuck:
        def respond(self, request: Any) -> Any:
            heard.append(request.to_json())
            return Response(calls=[Call("weather", CALL)])

    from loopwright import ModelError

    agent = agent_over(Stuck(), capabilities=[adapter.StuckDetection()])
    with pytest.raises(ModelError) as caught:
        asyncio.run(agent.run("How is Oslo?"))
    assert caught.value.code == "no_progress"
    assert "times in a row" in heard[-1]
    assert len(ASKED) < 8


def test_calls_that_a_model_wrote_are_called(serve: Any) -> None:
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    def write(messages: list[Any], info: Any) -> ModelResponse:
        if len(messages) > 1:
            return ModelResponse(parts=[TextPart(content=ANSWER)])
        return ModelResponse(
            parts=[TextPart(content='Well. <tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>')]
        )

    agent = Agent(FunctionModel(write), tools=[weather], capabilities=[adapter.ExtractedCalls()])
    assert asyncio.run(agent.run("How is Oslo?")).output == ANSWER
    assert ASKED == ["Oslo"]


def test_a_stream_that_is_left_ends_its_request(serve: Any) -> None:
    server = serve(PIECES.but(fault.stalls(after=5)), PIECES)

    async def run() -> None:
        agent = agent_over(model_at(server, "anthropic"))
        async with agent.run_stream("Hi") as stream:
            async for _ in stream.stream_text(debounce_by=None):
                await stream.cancel()

    asyncio.run(asyncio.wait_for(run(), 20))
    assert server.pending == 1


def test_what_has_no_form_here_is_refused() -> None:
    from loopwright import UsageError
    from pydantic_ai import VideoUrl

    with pytest.raises(UsageError, match="VideoUrl"):
        asyncio.run(agent_over(ScriptedModel(["x"])).run([VideoUrl(url="https://example.com/a.mp4")]))


def test_the_engines_own_tool_is_a_tool_there() -> None:
    agent = Agent(
        adapter.LoopwrightModel(ScriptedModel([Call("weather", CALL), ANSWER])),
        toolsets=[adapter.LoopwrightToolset([OURS], id="ours")],
    )
    assert asyncio.run(agent.run("How is Oslo?")).output == ANSWER
    assert ASKED == ["Oslo"]
