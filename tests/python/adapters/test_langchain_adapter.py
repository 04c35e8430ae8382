"""`loopwright.adapters.langchain` against the real package, over real sockets."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from adapter_cases import ANSWER, ASKED, CALL, FAULTS, OURS, PIECES, model_at, weather

pytest.importorskip("langchain_core")
pytest.importorskip("langchain.agents")

from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import ToolException
from langchain_core.tools import tool as their_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from loopwright import Agent as Ours
from loopwright import ContextPolicy, Message, Messages, ModelError, RunContext, UsageError, tool
from loopwright.adapters import langchain as adapter
from loopwright.messages import Document, Image, Thinking, ToolFailure, ToolResult, ToolUse
from loopwright.models import Call, Response
from loopwright.testing import ScriptedModel, call, fault
from pydantic import BaseModel

QUESTION = {"messages": [("user", "How is Oslo?")]}
WAYS = ("ainvoke", "invoke", "astream", "stream")


class City(BaseModel):
    """A city."""

    name: str
    people: int


def agent_over(model: Any, **options: Any) -> Any:
    tools = options.pop("tools", [weather])
    return create_agent(adapter.ChatLoopwright(model=model), tools, system_prompt="Be brief.", **options)


def ended(agent: Any, way: str) -> list[Any]:
    """The messages of a run, in each of the four ways; what streams is the sum of its chunks."""

    async def streamed() -> list[Any]:
        async for mode, each in agent.astream(QUESTION, stream_mode=["messages", "values"]):
            last = each if mode == "values" else None
        return last["messages"]

    if way == "ainvoke":
        return asyncio.run(agent.ainvoke(QUESTION))["messages"]
    if way == "invoke":
        return agent.invoke(QUESTION)["messages"]
    if way == "astream":
        return asyncio.run(streamed())
    return [each for mode, each in agent.stream(QUESTION, stream_mode=["messages", "values"]) if mode == "values"][-1][
        "messages"
    ]


@pytest.mark.parametrize("way", WAYS)
def test_create_agent_survives_each_of_the_eight_faults(serve: Any, wire: str, struck: str, way: str) -> None:
    server = serve(FAULTS[struck], call("weather", **CALL), PIECES)
    messages = ended(agent_over(model_at(server, wire)), way)
    assert [each.type for each in messages] == ["human", "ai", "tool", "ai"], "what was void stands in the history"
    assert messages[1].tool_calls[0]["args"] == CALL
    assert messages[-1].text == ANSWER
    assert ASKED == ["Oslo"], "a tool ran twice, or on broken arguments"


def test_the_sum_of_chunks_is_the_answer_whatever_was_taken_back(serve: Any, wire: str) -> None:
    model = adapter.ChatLoopwright(model=model_at(serve(FAULTS["torn amid a call"], PIECES, PIECES), wire))

    async def run() -> list[Any]:
        return [chunk async for chunk in model.astream("Hi")]

    chunks = asyncio.run(run())
    assert len(chunks) > 5
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole = whole + chunk
    assert whole.text == ANSWER
    front, back = chunks[0] + chunks[1:4], chunks[4] + chunks[5:]
    assert (front + back).text == ANSWER
    assert [each.text for each in model.stream("Hi")][-1] == ""


def test_events_that_take_nothing_back_show_whole_answers(serve: Any) -> None:
    agent = agent_over(model_at(serve(FAULTS["torn amid a call"], PIECES), "anthropic"))

    async def run() -> Any:
        try:
            stream = await agent.astream_events(QUESTION, version="v3")
        except NotImplementedError:
            pytest.skip("this version streams no such events")
        return (await stream.output())["messages"][-1]

    assert asyncio.run(run()).text == ANSWER


def test_typed_answers_are_calls(serve: Any, wire: str) -> None:
    server = serve(*[call("City", name="Oslo", people=7)] * 2)
    model = adapter.ChatLoopwright(model=model_at(server, wire))
    assert model.with_structured_output(City).invoke("Oslo?") == City(name="Oslo", people=7)
    agent = create_agent(model, response_format=City)
    assert agent.invoke(QUESTION)["structured_response"] == City(name="Oslo", people=7)


def test_settings_usage_and_metadata_cross(serve: Any) -> None:
    server = serve(PIECES)
    model = adapter.ChatLoopwright(model=model_at(server, "anthropic"), settings={"temperature": 0.25})
    answer = model.invoke([SystemMessage("Be brief."), HumanMessage("Hi")], stop=["END"], max_tokens=77)
    body = server.requests[0]["body"]
    assert (body["temperature"], body["max_tokens"], body["stop_sequences"]) == (0.25, 77, ["END"])
    assert answer.usage_metadata["output_tokens"] > 0
    assert answer.response_metadata["model_provider"] == "loopwright"


def test_thinking_goes_back_with_its_signature(serve: Any) -> None:
    from loopwright.testing._wire import response

    said = Message("assistant", (Thinking("Where is Oslo?", "sig-1"), ToolUse.of("c1", "weather", CALL)))
    reply = {"message": said.to_dict(), "stop": "tool_use", "usage": {"input": 1, "output": 1}, "model": "test"}
    server = serve(response(reply), PIECES)
    assert ended(agent_over(model_at(server, "anthropic")), "astream")[-1].text == ANSWER
    (sent,) = [each for each in server.requests[1]["body"]["messages"] if each["role"] == "assistant"]
    assert sent["content"][0] == {"type": "thinking", "thinking": "Where is Oslo?", "signature": "sig-1"}


def test_a_peer_that_is_down_is_an_error_that_says_what_to_do() -> None:
    from loopwright import Model, ProviderError

    model = Model("openai-chat:test", base_url="http://127.0.0.1:9", api_key="k", retry={"attempts": 1})
    with pytest.raises(ProviderError, match=r"127\.0\.0\.1:9") as caught:
        adapter.ChatLoopwright(model=model).invoke("Hi")
    assert caught.value.hint


def test_a_key_that_is_refused_is_an_error(serve: Any) -> None:
    with pytest.raises(UsageError, match="401"):
        adapter.ChatLoopwright(model=model_at(serve(fault.status(401)), "chat")).invoke("Hi")


@pytest.mark.parametrize("way", ["ainvoke", "invoke"])
def test_our_tools_run_there_with_deps_and_tell_the_model_what_failed(way: str) -> None:
    @tool(read_only=True)
    def whose(context: RunContext[str], number: int) -> str:
        """Whose it is."""
        return f"{context.deps}'s {number}"

    @tool
    def breaks() -> str:
        """Breaks."""
        raise ValueError("it broke")

    script = [Call("whose", {"number": "x"}), Call("whose", {"number": 7}), Call("breaks"), "Done."]
    agent = agent_over(ScriptedModel(script), tools=adapter.to_tools([whose, breaks], deps="Ann"))
    given = [each for each in ended(agent, way) if each.type == "tool"]
    assert [each.status for each in given] == ["error", "success", "error"]
    assert "invalid_arguments" in given[0].text
    assert given[1].text == "Ann's 7"
    assert "ValueError: it broke" in given[2].text


@pytest.mark.parametrize(("said", "paid"), [(True, ["paid"]), ("too much", [])])
def test_what_a_person_is_asked_about_here_interrupts_there(said: Any, paid: list[str]) -> None:
    done: list[str] = []

    @tool(risk="confirm")
    def pay(amount: int) -> str:
        """Pays."""
        done.append("paid")
        return f"paid {amount}"

    model = ScriptedModel([Call("pay", {"amount": 5}), "Well."])
    agent = agent_over(model, tools=adapter.to_tools([pay]), checkpointer=InMemorySaver())
    here: Any = {"configurable": {"thread_id": "1"}}
    (question,) = agent.invoke(QUESTION, here)["__interrupt__"]
    assert question.value == {"tool": "pay", "arguments": {"amount": 5}, "risk": "confirm"}
    assert done == []
    messages = agent.invoke(Command(resume=said), here)["messages"]
    assert done == paid
    assert messages[-2].status == ("success" if paid else "error")
    assert paid or "too much" in messages[-2].text


def test_their_tools_run_in_our_agent() -> None:
    @their_tool
    def add(a: int, b: int) -> int:
        """Adds."""
        if a == 0:
            raise ToolException("a may not be zero")
        return a + b

    calls = [Call("add", {"a": 1, "b": "x"}), Call("add", {"a": 0, "b": 1}), Call("add", {"a": 1, "b": 2})]
    tools = adapter.from_tools([add])
    assert tools[0].description == "Adds."
    first, second, third = Ours(ScriptedModel([*calls, "3"]), tools=tools).run_sync("1 + 2?").tool_calls
    assert "valid integer" in (first.result or "")
    assert "a may not be zero" in (second.result or "")
    assert third.result == "3"


def test_histories_of_theirs_come_back_as_they_were() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    begun = [SystemMessage("Be brief."), HumanMessage([{"type": "text", "text": "How is Oslo?"}, image], id="h1")]
    agent = create_agent(adapter.ChatLoopwright(model=ScriptedModel([Call("weather", CALL), ANSWER])), [weather])
    history = agent.invoke({"messages": begun})["messages"]
    history.append(AIMessage("", invalid_tool_calls=[{"id": "x", "name": "weather", "args": '{"c', "error": None}]))
    history.append(ToolMessage("no", tool_call_id="x", status="error", artifact={"why": 1}))
    ours = adapter.from_messages(history)
    assert [each.role for each in ours] == ["system", "user", "assistant", "user", "assistant", "assistant", "user"]
    again = Messages.from_json(ours.to_json())
    assert adapter.to_messages(again) == history
    more = Ours(ScriptedModel(["Yes."])).run_sync("Sure?", messages=ours[:5])
    assert adapter.to_messages(more.messages)[:5] == history[:5]


def test_histories_of_ours_come_back_as_they_were() -> None:
    from langchain_core.messages import messages_from_dict, messages_to_dict

    picture = Image.from_bytes(b"\x89PNG\r\n\x1a\n", "image/png")
    wrong = ToolFailure("invalid_arguments", "no JSON", "try again")
    results = (ToolResult("c1", "weather", (picture,)), ToolResult.failed("c2", "weather", wrong))
    mine = Messages(
        [
            Message.system("Be brief."),
            Message.developer("And kind."),
            Message.user("Look: ", picture, Document.from_text("A page.", name="a.txt")),
            Message(
                "assistant",
                (Thinking("Hm.", "sig"), ToolUse.of("c1", "weather", CALL), ToolUse("c2", "weather", "{}", '{"c')),
            ),
            Message("user", (*results, *Message.user("And?").content)),
            Message.assistant("Done."),
        ]
    )
    theirs = adapter.to_messages(mine)
    assert [each.type for each in theirs] == ["system", "system", "human", "ai", "tool", "tool", "human", "ai"]
    assert adapter.from_messages(messages_from_dict(messages_to_dict(theirs))) == mine


def test_what_was_changed_there_counts() -> None:
    (theirs,) = adapter.to_messages([Message("assistant", (Thinking("Hm.", "sig"), *Message.assistant("A").content))])
    theirs.content[-1]["text"] = "B"
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

    middleware = [adapter.Compaction(ContextPolicy(budget=4_000))]
    agent = agent_over(Reader(), tools=adapter.to_tools([page]), middleware=middleware)
    messages = agent.invoke(QUESTION, {"recursion_limit": 100})["messages"]
    assert messages[-1].text == "Done."
    assert max(sent) < 4_000 * 6, "a request outgrew the budget"
    assert len(messages) == 28, "the state keeps all"
    (recalled,) = [each for each in messages if each.type == "tool" and each.name == "recall"]
    assert "word1" in recalled.text


def test_a_model_that_repeats_itself_is_told_and_then_stopped() -> None:
    heard: list[str] = []

    class Stuck:
        def respond(self, request: Any) -> Any:
            heard.append(request.to_json())
            return Response(calls=[Call("weather", CALL)])

    with pytest.raises(ModelError) as caught:
        agent_over(Stuck(), middleware=[adapter.StuckDetection()]).invoke(QUESTION)
    assert caught.value.code == "no_progress"
    assert "times in a row" in heard[-1]
    assert len(ASKED) < 8


WRITTEN = 'Well. <tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>'


def test_calls_that_a_model_wrote_are_parsed() -> None:
    found = (FakeListChatModel(responses=[WRITTEN]) | adapter.CallParser(tools=[OURS])).invoke("How is Oslo?")
    assert found.text == "Well."
    assert [(each["name"], each["args"]) for each in found.tool_calls] == [("weather", CALL)]
    plain = FakeListChatModel(responses=["No call."]) | adapter.CallParser()
    assert plain.invoke("x").text == "No call."


def test_calls_that_a_model_wrote_are_called() -> None:
    class Writer(FakeListChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

    agent = create_agent(Writer(responses=[WRITTEN, ANSWER]), [weather], middleware=[adapter.ExtractedCalls()])
    assert agent.invoke(QUESTION)["messages"][-1].text == ANSWER
    assert ASKED == ["Oslo"]


def test_what_has_no_form_here_is_refused() -> None:
    model = adapter.ChatLoopwright(model=ScriptedModel(["x"]))
    with pytest.raises(UsageError, match="audio"):
        model.invoke([HumanMessage([{"type": "audio", "base64": "AAAA", "mime_type": "audio/wav"}])])
    with pytest.raises(UsageError, match="web_search"):
        model.bind_tools([{"type": "web_search"}]).invoke("x")
    with pytest.raises(UsageError, match="temprature"):
        model.invoke("x", temprature=1)
