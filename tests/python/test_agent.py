"""Runs from prompt to result, over real sockets and with scripted models."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from typing import Any

import pytest
from loopwright import Agent, Budget, Model, Result, RunContext, ToolError, tool
from loopwright.events import RoundFinished, SearchCompleted, ToolFinished, ToolStarted
from loopwright.messages import Message
from loopwright.models import Call, Response
from loopwright.testing import ScriptedModel, call, calls, response, text
from loopwright.tools import WebSearch
from ways import agent_at, model_of, run, streams, tools_of


@tool(read_only=True)
def population(city: str) -> int:
    """How many people live in a city.

    Args:
        city: Its name.
    """
    known = {"Oslo": 717_710, "Bergen": 291_940}
    if city not in known:
        raise ToolError(f"no such city: {city}", code="unknown_city", hint="use the English name")
    return known[city]


@tool
async def slowly(word: str) -> str:
    """Take a little while."""
    await asyncio.sleep(0.01)
    return word[::-1]


def test_a01_a_prompt_and_a_model_are_enough(serve: Any, wire: str, way: str) -> None:
    server = serve("hello there")
    result, _ = run(agent_at(server, wire), "hi", way)
    assert result.final == "hello there"
    assert result.stop_reason == "natural"
    assert result.rounds == 1
    assert result.tool_calls == []
    assert Budget().rounds == 10
    path, body = server.requests[0]["path"], server.requests[0]["body"]
    if wire == "gemini":
        method = "streamGenerateContent?alt=sse" if way == "stream" else "generateContent"
        assert path == f"/v1beta/models/test:{method}"
    assert model_of(server.requests[0]) == "test"
    assert streams(server.requests[0]) is (way == "stream")
    assert not body.get("tools")


def test_a07_tools_run_and_their_results_reach_the_model(serve: Any, wire: str, way: str) -> None:
    server = serve(
        calls(Call("population", {"city": "Oslo"}), Call("slowly", {"word": "abc"}), text="Let me look."),
        text("717,710 people."),
    )
    agent = agent_at(server, wire, tools=[population, slowly], instructions="Be brief.", budget=Budget(rounds=5))
    result, events = run(agent, "How many live in Oslo?", way)
    assert result.final == "717,710 people."
    assert result.output == result.final
    assert result.transcript == "Let me look.\n\n717,710 people." or result.transcript.startswith("Let me look.")
    assert [(each.name, each.arguments, each.failure) for each in result.tool_calls] == [
        ("population", {"city": "Oslo"}, None),
        ("slowly", {"word": "abc"}, None),
    ]
    assert result.rounds == 2
    assert result.tool_rounds == 1
    assert result.duration > 0
    assert result.usage.input_tokens == 20
    assert result.usage.total_tokens == result.usage.input_tokens + result.usage.output_tokens
    roles = [message["role"] for message in result.messages.to_dicts()]
    assert roles == ["user", "assistant", "user", "assistant"]
    results = result.messages.to_dicts()[2]["content"]
    assert [block["content"][0]["text"] for block in results] == ["717710", "cba"]
    asked = [block["id"] for block in result.messages.to_dicts()[1]["content"] if block["type"] == "tool_use"]
    assert [block["id"] for block in results] == asked

    first, second = (request["body"] for request in server.requests)
    assert len(tools_of(first)) == 2
    shown = str(second)
    assert "717710" in shown
    assert "cba" in shown
    assert "Be brief." in shown
    if way == "stream":
        kinds = [type(event).__name__ for event in events]
        assert kinds[:2] == ["IntentAssessed", "RoundStarted"]
        assert kinds[-1] == "RunFinished"
        assert {event.name for event in events if isinstance(event, ToolStarted)} == {"population", "slowly"}
        assert {event.excerpt for event in events if isinstance(event, ToolFinished)} == {"717710", "cba"}


def test_a02_settings_reach_the_wire(serve: Any, wire: str) -> None:
    server = serve("ok")
    agent = agent_at(
        server,
        wire,
        settings={"max_tokens": 16_000, "temperature": 0.25, "stop": ["END"] if wire != "responses" else ()},
        tools=[population],
    )
    agent.run_sync("hi")
    body = server.requests[0]["body"]
    limits = {
        "chat": "max_completion_tokens",
        "responses": "max_output_tokens",
        "gemini": "maxOutputTokens",
        "bedrock": "maxTokens",
    }
    settings = body.get("generationConfig") or body.get("inferenceConfig") or body
    assert settings.get(limits.get(wire), settings.get("max_tokens")) == 16_000
    assert settings["temperature"] == 0.25
    (offered,) = tools_of(body)
    assert offered.get("function", offered)["name"] == "population"


def test_a02_the_providers_own_search_counts_and_tells(serve: Any) -> None:
    search = {
        "id": "",
        "model": "",
        "message": {
            "role": "assistant",
            "content": [
                {
                    "type": "provider",
                    "wire": "anthropic",
                    "raw": {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "oslo"}},
                },
                {
                    "type": "provider",
                    "wire": "anthropic",
                    "raw": {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
                },
                {"type": "text", "text": "found"},
            ],
        },
        "stop": "end_turn",
        "usage": {"input": 5, "output": 5, "provider_tool_uses": 1},
    }
    server = serve(response(search))
    agent = agent_at(server, "anthropic", tools=[WebSearch(max_uses=3)])
    result, events = run(agent, "search", "stream")
    assert result.final == "found"
    tools = server.requests[0]["body"]["tools"]
    assert tools[0]["name"] == "web_search"
    assert tools[0]["max_uses"] == 3
    # A12, A15: how many, and an event for each.
    assert result.searches == 1
    done = [event for event in events if isinstance(event, SearchCompleted)]
    assert [(event.query, event.count) for event in done] == [("oslo", 1)]


def test_a03_x02_text_of_all_rounds_adds_up(way: str) -> None:
    script = [
        calls(Call("population", {"city": "Oslo"}), text="First I look at Oslo."),
        calls(Call("population", {"city": "Bergen"}), text="Then at Bergen."),
        text("Oslo is bigger."),
    ]
    result, _ = run(Agent(ScriptedModel(script), tools=[population]), "which is bigger?", way)
    assert result.final == "Oslo is bigger."
    for part in ("First I look at Oslo.", "Then at Bergen.", "Oslo is bigger."):
        assert result.transcript.count(part) == 1
    assert result.transcript.index("First") < result.transcript.index("Then") < result.transcript.index("bigger")


def test_x02_the_best_draft_stays_when_a_limit_ends_the_run() -> None:
    script = [calls(Call("population", {"city": "Oslo"}), text="So far: nothing.")] * 3
    result = Agent(ScriptedModel(script), tools=[population], budget=Budget(rounds=2)).run_sync("count")
    assert result.final is None
    assert result.partial
    assert result.hit_ceiling
    assert result.best_draft == "So far: nothing."
    assert str(result) == f"So far: nothing.\n\n{result.message}"


def test_a09_a_single_request_without_a_follow_up(way: str) -> None:
    model = ScriptedModel([call("population", city="Oslo"), text("never asked for")])
    result, _ = run(Agent(model, tools=[population], budget=Budget(rounds=1)), "once", way)
    assert result.stop_reason == "rounds"
    assert len(model.requests) == 1
    # A06: the limit is told, and the history is legal: the call has its result.
    assert result.warnings
    uses = [
        block["id"]
        for message in result.messages.to_dicts()
        for block in message["content"]
        if block["type"] == "tool_use"
    ]
    given = [
        block["id"]
        for message in result.messages.to_dicts()
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    assert uses == given == ["call_0_0"]
    single = Agent(ScriptedModel(["yes"]), budget=Budget(rounds=1)).run_sync("assess")
    assert (single.final, single.stop_reason) == ("yes", "natural")


def test_a11_calls_are_logged_with_iteration_query_and_time() -> None:
    @tool(read_only=True)
    def look(query: str) -> str:
        """Look something up."""
        time.sleep(0.02)
        return query

    script = [call("look", query="a"), call("look", query="b"), text("done")]
    result = Agent(ScriptedModel(script), tools=[look]).run_sync("go")
    first, second = result.tool_calls
    assert (first.round, first.arguments) == (1, {"query": "a"})
    assert (second.round, second.arguments) == (2, {"query": "b"})
    assert first.duration >= 0.02
    assert second.at >= first.at + first.duration


def test_a13_each_round_is_timed(serve: Any) -> None:
    server = serve(text("slow").after(0.1))
    result, events = run(agent_at(server), "go", "stream")
    assert [each["iteration"] for each in result.iterations] == [1]
    assert 0.1 <= result.iterations[0]["duration"] < 2
    assert [event.duration >= 0.1 for event in events if isinstance(event, RoundFinished)] == [True]


def test_a18_a_request_has_a_time_limit(serve: Any, wire: str) -> None:
    server = serve(text("too late").after(5.0), "in time")
    agent = agent_at(server, wire, timeouts={"first_byte": 0.2}, retry={"base": 0.01})
    began = time.monotonic()
    result = agent.run_sync("go")
    assert result.final == "in time"
    assert time.monotonic() - began < 3
    assert result.iterations[0]["attempts"] == 2


def test_d19_the_whole_request_is_limited_too(serve: Any) -> None:
    server = serve(text("x" * 400).slowly(0.1), text("fine"))
    result = agent_at(server, timeouts={"total": 0.5}, retry={"base": 0.01}).run_sync("go", on_event=lambda _: None)
    assert result.final == "fine"


def test_d02_x01_limits_of_a_run_replace_those_of_the_agent() -> None:
    script = [call("population", city="Oslo")] * 9
    agent = Agent(ScriptedModel(script, by_turn=True), tools=[population])
    result = agent.run_sync("go", budget=Budget(rounds=2))
    assert (result.stop_reason, result.rounds) == ("rounds", 2)
    assert Budget.for_complexity("simple").rounds == 3


def test_x01_wall_time_ends_a_run(way: str) -> None:
    @tool
    async def forever() -> str:
        """Never ends."""
        await asyncio.sleep(60)
        return "no"

    agent = Agent(ScriptedModel([call("forever")]), tools=[forever], budget=Budget(wall_time=0.2))
    began = time.monotonic()
    result, _ = run(agent, "go", way)
    assert result.stop_reason == "wall_time"
    assert time.monotonic() - began < 2


def test_x01_wall_time_ends_a_run_whose_model_hangs(way: str) -> None:
    class Hangs:
        async def respond(self, _request: Any) -> str:
            await asyncio.sleep(60)
            return "no"

    began = time.monotonic()
    result, _ = run(Agent(Hangs(), budget=Budget(wall_time=0.2)), "go", way)
    assert result.stop_reason == "wall_time"
    assert time.monotonic() - began < 2


def test_c27_calls_that_only_read_run_at_once_and_come_back_in_order(way: str) -> None:
    running = 0
    most = 0
    lock = threading.Lock()

    @tool(read_only=True)
    def look(n: int) -> int:
        """Look."""
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.05 * (4 - n))
        with lock:
            running -= 1
        return n * n

    script = [calls(*[Call("look", {"n": n}) for n in range(4)]), text("done")]
    result, _ = run(Agent(ScriptedModel(script), tools=[look]), "go", way)
    assert most == 4
    given = [block["content"][0]["text"] for block in result.messages.to_dicts()[2]["content"]]
    assert given == ["0", "1", "4", "9"]


def test_c27_calls_that_write_run_one_after_the_other(way: str) -> None:
    log: list[str] = []

    @tool(risk="safe")
    async def write(name: str) -> str:
        """Write."""
        log.append(f"+{name}")
        await asyncio.sleep(0.02)
        log.append(f"-{name}")
        return name

    script = [calls(*[Call("write", {"name": name}) for name in "abc"]), text("done")]
    run(Agent(ScriptedModel(script), tools=[write]), "go", way)
    assert log == ["+a", "-a", "+b", "-b", "+c", "-c"]


def test_a_tools_exception_is_a_structured_result(way: str) -> None:
    @tool
    def broken(n: int) -> str:
        """Breaks."""
        raise ValueError(f"can't do {n}")

    script = [
        calls(Call("broken", {"n": 1}), Call("population", {"city": "Atlantis"}), Call("missing", {})),
        text("sorry"),
    ]
    result, _ = run(Agent(ScriptedModel(script), tools=[broken, population]), "go", way)
    assert result.stop_reason == "natural"
    assert [each.failure for each in result.tool_calls] == ["exception", "unknown_city", "unknown_tool"]
    blocks = result.messages.to_dicts()[2]["content"]
    assert all(block["is_error"] for block in blocks)
    assert "ValueError: can't do 1" in str(blocks[0])
    assert "use the English name" in str(blocks[1])
    assert "Traceback" not in str(blocks)


def test_wrong_arguments_go_back_to_the_model(way: str) -> None:
    script = [
        call("population", city=["Oslo"]),
        calls(Call("population", '{"city": "Os')),
        call("population", city="Oslo"),
        text("717,710"),
    ]
    result, _ = run(Agent(ScriptedModel(script), tools=[population]), "go", way)
    assert result.final == "717,710"
    failures = [each.failure for each in result.tool_calls]
    assert failures[0] == "invalid_arguments"
    assert failures[1] is not None
    assert failures[2] is None


def test_tools_see_deps_their_call_and_context_variables(way: str) -> None:
    who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")
    seen: list[tuple[Any, ...]] = []

    @tool
    def plain(context: RunContext[dict[str, int]]) -> str:
        """Plain."""
        seen.append(("plain", who.get(), context.deps["n"], context.call_id, context.run_id))
        return "ok"

    @tool
    async def other(context: RunContext[dict[str, int]]) -> str:
        """Async."""
        seen.append(("other", context.deps["n"], context.call_id, context.run_id))
        return "ok"

    who.set("me")
    script = [call("plain"), call("other"), text("done")]
    result, _ = run(Agent(ScriptedModel(script), tools=[plain, other]), "go", way, deps={"n": 7})
    assert seen == [("plain", "me", 7, "call_0_0", result.run_id), ("other", 7, "call_1_0", result.run_id)]


def test_async_tools_see_context_variables_too() -> None:
    who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")
    seen: list[str] = []

    @tool
    async def look() -> str:
        """Look."""
        seen.append(who.get())
        task = asyncio.current_task()
        assert task is not None
        seen.append(task.get_name())
        return "ok"

    async def main() -> None:
        who.set("me")
        result = await Agent(ScriptedModel([call("look"), "done"]), tools=[look]).run("go")
        assert seen == ["me", f"loopwright {result.run_id} tool look"]

    asyncio.run(main())


def test_an_agent_may_be_a_tool_of_another(way: str) -> None:
    inner = Agent(ScriptedModel(["42"] * 2), name="inner")

    @tool
    async def ask(question: str) -> str:
        """Ask another agent."""
        return (await inner.run(question)).final or ""

    @tool
    async def ask_sync(question: str) -> str:
        """Ask another agent, without await, inside a running loop."""
        return inner.run_sync(question).final or ""

    script = [call("ask", question="?"), call("ask_sync", question="?"), "done"]
    result, _ = run(Agent(ScriptedModel(script), tools=[ask, ask_sync]), "go", way)
    given = [message["content"][0]["content"][0]["text"] for message in result.messages.to_dicts()[2::2]]
    assert given == ["42", "42"]


def test_a_tool_that_calls_its_own_agent(way: str) -> None:
    depth = 0

    @tool
    async def deeper() -> str:
        """One level down."""
        nonlocal depth
        depth += 1
        if depth == 5:
            return "bottom"
        return (await agent.run("go on")).final or ""

    agent = Agent(ScriptedModel([call("deeper"), "done"], by_turn=True), tools=[deeper])
    result, _ = run(agent, "go", way)
    assert result.final == "done"
    assert depth == 5


def test_usage_and_cost_add_up() -> None:
    script = [
        Response("", [Call("population", {"city": "Oslo"})], input_tokens=1000, output_tokens=100),
        Response("done", input_tokens=2000, output_tokens=200),
    ]
    agent = Agent(Model(ScriptedModel(script), price={"input": 3.0, "output": 15.0}), tools=[population])
    result = agent.run_sync("go")
    assert (result.usage.input_tokens, result.usage.output_tokens, result.usage.total_tokens) == (3000, 300, 3300)
    assert result.cost == pytest.approx(3000 * 3e-6 + 300 * 15e-6)
    assert Agent(ScriptedModel(script), tools=[population]).run_sync("go").cost is None


def test_a_model_of_ones_own_reads_the_messages_it_is_given(way: str) -> None:
    seen: list[list[Message]] = []

    class Own:
        name = "own"

        def respond(self, request: Any) -> Response:
            given = request.messages
            seen.append(list(given))
            assert [given[at] for at in range(len(given))] == seen[-1] == list(reversed([*reversed(given)]))
            assert given[-1] == seen[-1][-1] and given[:1] == seen[-1][:1] and seen[-1][0] in given
            with pytest.raises(IndexError):
                given[len(given)]
            with pytest.raises(TypeError):
                given["0"]
            last = given[-1]
            return Response("", [Call("population", {"city": "Oslo"})]) if last.role == "user" and last.text else "done"

    result, _ = run(Agent(Own(), tools=[population]), "go", way)
    assert result.final == "done"
    assert [[message.role for message in each] for each in seen] == [["user"], ["user", "assistant", "user"]]
    assert seen[0][0].text == "go"
    assert seen[1] == list(result.messages)[:-1]


def test_many_prompts_may_be_blocks(serve: Any, wire: str) -> None:
    server = serve("ok")
    agent_at(server, wire).run_sync(["one", {"type": "text", "text": "two"}])
    shown = str(server.requests[0]["body"])
    assert "one" in shown
    assert "two" in shown


def test_a_result_can_be_read_at_a_glance() -> None:
    result = Agent(ScriptedModel(["x" * 100])).run_sync("go")
    assert isinstance(result, Result)
    assert len(repr(result)) < 120
    assert repr(Agent(ScriptedModel([]), tools=[population])) == "<Agent scripted tools=[population]>"
