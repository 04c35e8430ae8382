"""The front door: an agent's groups, the options of runs, `clone` and `override`, and the words of other frameworks."""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import pickle
import threading
from pathlib import Path
from typing import Annotated, Any

import pytest
from loopwright import (
    Agent,
    Budget,
    Grounded,
    Guard,
    Model,
    Monitor,
    Output,
    Research,
    RunContext,
    SubAgent,
    Toolset,
    UsageError,
    replay,
    tool,
)
from loopwright._words import UnknownOption
from loopwright.context import ContextPolicy
from loopwright.errors import HookError, NoOutput
from loopwright.hooks import ModelChoice, Router
from loopwright.journal import Journal, events_of
from loopwright.memory import Memory
from loopwright.models import Call
from loopwright.roles import Sanity
from loopwright.testing import ScriptedModel, WireServer, call, calls, text
from loopwright.tools import ProviderTool, WebSearch
from ways import run


@tool
def stock(context: RunContext[dict[str, int]], part: str) -> int:
    """How many of a part there are."""
    return context.deps[part]


@tool(risk="confirm")
def pay(amount: int) -> str:
    """Pay somebody."""
    return f"{amount} paid"


def pickled(one: Any) -> Any:
    return pickle.loads(pickle.dumps(one))  # noqa: S301


def test_an_agent_has_at_most_eighteen_options() -> None:
    options = [name for name in inspect.signature(Agent.__init__).parameters if name != "self"]
    assert len(options) <= 18
    assert {"system", "max_tokens", "base_url", "roles"}.isdisjoint(options)


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("system_prompt", "instructions"),
        ("message_history", "messages"),
        ("result_type", "output_type"),
        ("response_format", "output_type"),
        ("max_turns", "Budget(rounds=...)"),
        ("usage_limits", "budget"),
        ("model_settings", "settings"),
        ("toolsets", "tools"),
        ("mcp_servers", "tools"),
        ("can_use_tool", "guard"),
        ("checkpointer", "journal"),
        ("middleware", "hooks"),
        ("context_schema", "deps_type"),
        ("toolz", "did you mean tools?"),
        ("budgte", "did you mean budget?"),
    ],
)
def test_a_word_of_another_framework_is_told_ours(word: str, ours: str) -> None:
    with pytest.raises(UnknownOption) as caught:
        Agent(ScriptedModel([]), **{word: None})
    assert isinstance(caught.value, TypeError) and isinstance(caught.value, UsageError)
    assert caught.value.code == "unknown_option" and word in str(caught.value) and ours in str(caught.value)


@pytest.mark.parametrize("method", ["run_sync", "stream", "start"])
def test_a_run_tells_the_right_word_too(method: str) -> None:
    with pytest.raises(UnknownOption, match="here it is messages"):
        getattr(Agent(ScriptedModel([])), method)("?", message_history=[])
    with pytest.raises(UnknownOption, match="did you mean budget"):
        getattr(Agent(ScriptedModel([])), method)("?", budgets=None)


WORDS_OF_0_1 = {
    "instructions": ("system",),
    "Model(": (
        "base_url",
        "api_key",
        "headers",
        "price",
        "timeouts",
        "retry",
        "escalate_to",
        "tool_format",
        "read_markup",
    ),
    "settings={": ("max_tokens", "temperature", "top_p", "stop", "effort", "tool_choice", "cache"),
    "Guard(approve=": ("approve", "approvals"),
    "Guard(on_cautious=": ("cautious",),
    "Guard(policy=": ("policy",),
    "Guard(workspace=": ("workspace",),
    "Guard(timeout=": ("approval_timeout",),
    "Monitor(stuck=": ("stuck",),
    "Monitor(momentum=": ("momentum",),
    "Monitor(pause_every=": ("check_in",),
    "Monitor(warn_rounds_left=": ("wind_down",),
    "Budget(children=": ("max_children",),
    "Budget(depth=": ("max_depth",),
    'Budget(rounds="auto")': ("complexity",),
    "tools=[ProviderTool(": ("provider_tools",),
    "tools=[WebSearch(": ("web_search",),
    "Router(choose": ("choose_model",),
    "accept_suggestions": ("take_suggestions",),
    "Journal(path, durable=": ("durable",),
    "MemoryPolicy(store, recall=": ("recall",),
    "MemoryPolicy(store, after=": ("after",),
    "ContextPolicy(summarizer=": ("roles",),
    "run(..., metadata=": ("labels",),
    "run(..., seed=": ("seed",),
    "run(..., user=": ("user",),
    "run(..., session=": ("session",),
}


@pytest.mark.parametrize(("now", "word"), [(now, word) for now, words in WORDS_OF_0_1.items() for word in words])
def test_a_word_of_0_1_is_an_error_that_says_todays(now: str, word: str) -> None:
    given: Any = {word: 1}
    with pytest.raises(UnknownOption) as caught:
        Agent(ScriptedModel([]), **given)
    assert (caught.value.code, caught.value.message) == ("unknown_option", f"Agent has no option {word}")
    assert now in str(caught.value.hint)
    if now in ("Model(", "settings={"):
        assert word in str(caught.value.hint)
    with pytest.raises(UnknownOption, match="here it is"):
        Agent(ScriptedModel([])).clone(**given)


@pytest.mark.parametrize("word", ["base_url", "approve", "retry"])
def test_a_word_of_0_1_is_an_error_of_grounded_answers_and_of_research_too(word: str) -> None:
    given: Any = {word: 1}
    with pytest.raises(UnknownOption, match="here it is"):
        Grounded(ScriptedModel([]), **given)
    with pytest.raises(UnknownOption, match="here it is"):
        Research(ScriptedModel([]), corpus=["A text."], **given)


def test_instructions_of_functions_follow_those_that_never_change(way: str) -> None:
    seen: list[tuple[Any, int, int]] = []

    async def who(context: RunContext[dict[str, int]]) -> str:
        seen.append((context.deps["bolts"], context.round, len(context.messages)))
        return f"Round {len(seen)}."

    model = ScriptedModel([call("stock", part="bolts"), "There are 120."])
    agent = Agent(model, instructions=[who, "Be brief.", lambda: None, lambda: "Say please."], tools=[stock])
    result, _ = run(agent, "How many?", way, deps={"bolts": 120})
    assert result.output == "There are 120."
    assert seen == [(120, 0, 1), (120, 1, 3)]
    assert [request.system for request in model.requests] == [
        "Be brief.\n\nRound 1.\n\nSay please.",
        "Be brief.\n\nRound 2.\n\nSay please.",
    ]


def test_instructions_that_fail_end_the_run(way: str) -> None:
    def broken(_: RunContext[None]) -> Any:
        raise KeyError("no user")

    with pytest.raises(HookError, match="no user"):
        run(Agent(ScriptedModel(["Hi."]), instructions=broken), "?", way)
    with pytest.raises(HookError, match="not text"):
        run(Agent(ScriptedModel(["Hi."]), instructions=lambda: 3), "?", way)
    with pytest.raises(UsageError, match="instructions can't be 3"):
        Agent(ScriptedModel([]), instructions=3)


def test_instructions_of_functions_stand_in_the_journal(tmp_path: Any) -> None:
    agent = Agent(ScriptedModel(["Hi."]), instructions=lambda: "The word is swordfish.")
    result = agent.run_sync("?", journal=tmp_path)
    assert "swordfish" in Path(result.journal).read_text(encoding="utf-8")
    assert replay(result.journal).divergence is None


def test_settings_merge_from_the_model_over_the_agent_to_the_run() -> None:
    with WireServer([text("a"), text("b")]) as server:
        model = Model("openai-chat:m", base_url=server.url, api_key="k", settings={"temperature": 0.1, "seed": 1})
        agent = Agent(model, settings={"temperature": 0.2, "top_p": 0.5})
        agent.run_sync("?")
        agent.run_sync("?", settings={"top_p": 0.9, "max_tokens": 7})
        bodies = [request["body"] for request in server.requests]
    assert [(body["temperature"], body["top_p"], body["seed"]) for body in bodies] == [(0.2, 0.5, 1), (0.2, 0.9, 1)]
    assert 7 in bodies[1].values()
    with pytest.raises(UsageError, match="did you mean temperature"):
        Agent("offline:extractive", settings={"temprature": 1})
    with pytest.raises(UsageError, match="did you mean temperature"):
        agent.run_sync("?", settings={"temprature": 1})


def test_options_of_a_run_hold_for_that_run_alone(way: str) -> None:
    model, other = ScriptedModel(["a", "c"]), ScriptedModel([call("pay", amount=5), "b"])
    agent = Agent(model, instructions="Be brief.")
    asked: list[Any] = []
    options = {
        "model": other,
        "instructions": "Say please.",
        "tools": [pay],
        "approve": lambda question: asked.append(question) or True,
        "run_id": "my-run",
        "user": "sam",
        "session": "monday",
        "metadata": {"order": 7},
        "seed": 3,
        "journal": True,
    }
    assert run(agent, "?", way)[0].output == "a"
    result, _ = run(agent, "Pay 5.", way, **options)
    assert (result.output, result.run_id, [each.name for each in result.tool_calls]) == ("b", "my-run", ["pay"])
    assert result.tool_calls[0].failure is None and len(asked) == 1
    assert other.requests[0].system == "Be brief.\n\nSay please."
    first = result.journal.splitlines()[0]
    assert '"order":7' in first.replace(" ", "") and '"sam"' in first and '"monday"' in first
    assert run(agent, "?", way)[0].output == "c"
    assert model.requests[1].system == "Be brief." and not model.requests[1].tools


@pytest.mark.parametrize(
    ("option", "value"),
    [("run_id", "a/b"), ("run_id", ""), ("user", " "), ("session", 3), ("metadata", 3), ("approve", 3), ("model", 3)],
)
def test_options_of_a_run_that_can_not_be(option: str, value: Any) -> None:
    with pytest.raises(UsageError):
        Agent(ScriptedModel(["a"])).run_sync("?", **{option: value})


def test_an_agent_without_a_model_wants_one_at_the_run() -> None:
    agent = Agent(instructions="Be brief.")
    with pytest.raises(UsageError) as caught:
        agent.run_sync("?")
    assert caught.value.code == "no_model"
    assert agent.run_sync("?", model=ScriptedModel(["a"])).output == "a"


def test_a_router_chooses_the_model_of_a_run() -> None:
    with WireServer([text("a"), text("b")]) as server:
        place = {"base_url": server.url, "api_key": "k"}
        strong = Model("openai-chat:strong", **place)
        router = Router(
            lambda context: ModelChoice(strong) if "hard" in context.text else None,
            default=Model("openai-chat:weak", **place),
        )
        agent = Agent(router)
        assert [agent.run_sync(prompt).output for prompt in ("easy", "a hard one")] == ["a", "b"]
        assert [request["body"]["model"] for request in server.requests] == ["weak", "strong"]


def test_what_the_provider_runs_stands_among_the_tools() -> None:
    with WireServer([text("a")]) as server:
        search, own = WebSearch(max_uses=2), ProviderTool({"type": "code_execution_20250522", "name": "code_execution"})
        agent = Agent(Model("anthropic:m", base_url=server.url, api_key="k"), tools=[pay, search, own])
        agent.run_sync("?")
        tools = server.requests[0]["body"]["tools"]
    assert [each["name"] for each in tools] == ["pay", "code_execution", "web_search"]
    assert tools[-1]["max_uses"] == 2
    with pytest.raises(UsageError, match="two WebSearch"):
        Agent("offline:extractive", tools=[search, WebSearch()])


def test_a_clone_differs_in_what_was_said_and_a_word_that_is_none_is_told() -> None:
    agent = Agent(ScriptedModel(["a", "b"]), instructions="Be brief.", budget=Budget(rounds=2))
    other = agent.clone(instructions="Be long.", name="long")
    assert (other.run_sync("?").output, agent.run_sync("?").output) == ("a", "b")
    assert (other.name, agent.name, other.budget) == ("long", None, Budget(rounds=2))
    with pytest.raises(UnknownOption, match="here it is instructions"):
        agent.clone(system="x")


def test_an_override_holds_in_its_context_and_nowhere_else() -> None:
    agent = Agent("openai:gpt-5", tools=[stock], agents=[SubAgent("explore", "looks")])
    seen: list[str] = []

    async def both() -> None:
        async def inside(name: str, wait: asyncio.Event, go: asyncio.Event) -> None:
            with agent.override(model=ScriptedModel([call("stock", part="bolts"), name]), deps={"bolts": 3}):
                go.set()
                await wait.wait()
                seen.append((await agent.run("?")).output)

        one, two = asyncio.Event(), asyncio.Event()
        await asyncio.gather(inside("one", two, one), inside("two", one, two))

    asyncio.run(both())
    assert sorted(seen) == ["one", "two"]
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        agent.run_sync("?")


def test_an_override_reaches_sub_agents_and_other_threads_where_it_shall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    explore = SubAgent("explore", "looks", model="openai:gpt-5-mini")
    agent = Agent("openai:gpt-5", agents=[explore, Agent("openai:gpt-5", name="other", description="other")])
    model = ScriptedModel([call("spawn", agent="explore", task="look"), "found", "done"])
    with agent.override(model=model):
        result = agent.run_sync("?")
    assert (result.output, result.children[0].result.output) == ("done", "found")
    found: list[Any] = []

    def elsewhere() -> None:
        try:
            found.append(agent.run_sync("?").output)
        except UsageError as error:
            found.append(error.code)

    for everywhere in (False, True):
        with agent.override(model=ScriptedModel(["here"]), everywhere=everywhere):
            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
    assert found == ["missing_key", "here"]


def test_check_looks_for_keys_at_once_and_tells_what_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    agent = Agent("openai:a-model-of-tomorrow")
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        agent.check()
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert [said.split(" of ")[0] for said in agent.check()] == ["the price", "the window"]
    assert Agent(ScriptedModel([])).check() == []


def look(query: str) -> str:
    """Look."""
    return query


def test_agents_results_and_groups_travel(way: str) -> None:
    agent: Any = Agent(
        Model("openai:gpt-5", settings={"seed": 3}, retry={"attempts": 2}),
        tools=[look],
        guard=Guard(on_cautious="ask"),
        monitor=Monitor(pause_every=3),
        budget=Budget(rounds=3),
        journal=Journal("runs.db", durable=True),
    )
    for other in (pickled(agent), copy.deepcopy(agent), copy.copy(agent)):
        with other.override(model=ScriptedModel([call("look", query="a"), "done"])):
            result = other.run_sync("?", journal=True)
        assert (result.output, other.budget, result.tool_calls[0].failure) == ("done", Budget(rounds=3), "denied")
    result, _ = run(Agent(ScriptedModel(["a"])), "?", way)
    for same in (pickled(result), copy.deepcopy(result)):
        assert (same, same.output, same.ok) == (result, "a", True)


def test_a_decorated_tool_travels() -> None:
    agent: Any = pickled(Agent(ScriptedModel([call("pay", amount=5), "done"]), tools=[pay, tool(look, name="find")]))
    result = agent.run_sync("?", approve=lambda question: True)
    assert result.tool_calls[0].failure is None
    assert agent.tools.names == ("pay", "find") or list(agent.tools.names) == ["pay", "find"]


def test_whose_agent_it_is_stays_when_a_run_has_options() -> None:
    memory = Memory(":memory:")
    sam = Agent(ScriptedModel(["ok"] * 4, keep_requests=True), memory=memory).whom("sam")
    for agent in (sam, sam.clone(name="other")):
        agent.run_sync("My dog is called Biscuit.", settings={"temperature": 0.1})
    assert sam.drain_sync(10) == []
    model = ScriptedModel(["ok"])
    Agent(model, memory=memory).run_sync("What is my dog called?", user="eve")
    assert "Biscuit" not in str(model.requests[0].to_json())


def test_instructions_of_functions_are_not_those_of_sub_agents() -> None:
    child = ScriptedModel(["found"])
    model = ScriptedModel([call("spawn", agent="explore", task="look"), "done"])
    explore = SubAgent("explore", "looks", instructions="Search.", model=child)
    Agent(model, instructions=["Lead.", lambda: "The card is 4111."], agents=[explore]).run_sync("?")
    assert "4111" in str(model.requests[0].system) and "4111" not in str(child.requests[0].system)


def test_an_override_within_another_keeps_what_it_does_not_say() -> None:
    agent = Agent("openai:gpt-5", tools=[stock], instructions="Be long.")
    for everywhere in (False, True):
        model = ScriptedModel([call("stock", part="bolts"), "done"])
        with (
            agent.override(model=model, deps={"bolts": 3}, everywhere=everywhere),
            agent.override(instructions="Be brief.", everywhere=everywhere),
        ):
            result = agent.run_sync("?")
        assert (result.output, result.tool_calls[0].failure) == ("done", None)
        assert model.requests[0].system == "Be brief."


def test_an_override_of_the_model_asks_no_other_model() -> None:
    with WireServer([]) as server:
        real = Model("openai-chat:m", base_url=server.url, api_key="k")
        agent = Agent(
            real,
            tools=[look],
            context=ContextPolicy(summarizer=real),
            monitor=Monitor(sanity=Sanity(real, interval=1)),
            guard=Guard(supervisor=real),
        )
        with agent.override(model=ScriptedModel([call("look", query="a"), "done"])):
            assert agent.run_sync("?").output == "done"
        assert server.requests == []


def test_who_filters_tools_is_plain() -> None:
    async def admin(_: Any, __: Any) -> bool:
        return False

    with pytest.raises(Exception, match="can't be async"):
        Toolset([pay]).filtered(admin)  # type: ignore[arg-type]
    model = ScriptedModel(["a"])
    Agent(model, tools=[Toolset([pay]).filtered(lambda c, t: admin(c, t))]).run_sync("?")
    assert "pay" not in str(model.requests[0].tools)


def test_a_key_that_comes_later_is_found_whatever_the_run_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    inner = Agent("openai:gpt-5", name="inner", description="x", agents=[SubAgent("deep", "y")])
    agent = Agent(ScriptedModel(["a"] * 3), agents=[inner, SubAgent("shared", "z")])
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        agent.run_sync("?", user="sam")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert agent.run_sync("?", user="sam").output == "a"
    plan = agent._plan(agent.budget, stream=False)
    assert {kind: each.endpoint is inner._endpoint for kind, each in plan.agents.items()} == {
        "inner": True,
        "inner/deep": True,
        "shared": False,
    }


def test_what_a_run_says_goes_before_what_its_agent_says() -> None:
    model = ScriptedModel(["a"] * 3)
    agent = Agent(model, instructions="Old.", settings={"temperature": 0.1}, monitor=Monitor(pause_every=3))
    agent.run_sync("?", instructions="New.", settings={"temperature": 0.9})
    agent.clone(instructions="New.").run_sync("?")
    agent.run_sync("?")
    assert [request.system for request in model.requests] == ["Old.\n\nNew.", "New.", "Old."]
    assert [json.loads(request.to_json()).get("temperature") for request in model.requests] == [0.9, 0.1, 0.1]
    assert agent.clone(monitor=Monitor(pause_every=9))._config["check_in"] == 9


def test_a_run_of_a_name_that_is_there_is_told_so(tmp_path: Any) -> None:
    for place in (tmp_path / "r.db", tmp_path / "runs"):
        agent = Agent(ScriptedModel(["a", "b"]), journal=place)
        agent.run_sync("?", run_id="order-7")
        with pytest.raises(UsageError) as caught:
            agent.run_sync("?", run_id="order-7")
        assert caught.value.code == "run_exists" and "order-7" in str(caught.value)
    model = ScriptedModel(["no", "[1]"])
    result = Agent(model, output_type=list[int], journal=tmp_path / "r.db").run_sync("?", run_id="order-8")
    assert (result.output, result.run_id) == ([1], "order-8-2")


def test_headers_and_members_of_bodies_are_merged() -> None:
    with WireServer([text("a")]) as server:
        body = {"metadata": {"a": 1}}
        model = Model(
            "openai-chat:m",
            base_url=server.url,
            api_key="k",
            settings={"extra_headers": {"x-a": "1"}, "extra_body": body},
        )
        agent = Agent(model, settings={"extra_headers": {"x-b": "2"}})
        agent.run_sync("?", settings={"extra_body": {"metadata": {"b": 2}}, "extra_headers": {"x-a": "3"}})
        request = server.requests[0]
    assert request["body"]["metadata"] == {"a": 1, "b": 2}
    headers = dict(request["headers"])
    assert (headers["x-a"], headers["x-b"]) == ("3", "2")


@pytest.mark.parametrize("method", ["stream", "start", "stream_sync"])
def test_who_hears_by_iterating_is_given_no_function(method: str) -> None:
    with pytest.raises(UnknownOption, match="on_event"):
        getattr(Agent(ScriptedModel([])), method)("?", on_event=print)


def test_no_output_is_an_error_that_says_why(way: str) -> None:
    agent = Agent(ScriptedModel([call("look", query="a")]), tools=[look], budget=Budget(rounds=1))
    result, _ = run(agent, "?", way)
    assert (result.ok, result.text, result.stop_reason) == (False, None, "rounds")
    with pytest.raises(NoOutput, match="'rounds'") as caught:
        result.output  # noqa: B018
    assert caught.value.code == "no_output" and caught.value.result is result
    assert getattr(result, "output", "nothing") == "nothing"


def test_new_messages_are_those_of_this_run(way: str) -> None:
    agent = Agent(ScriptedModel(["a", "b"]))
    first, _ = run(agent, "one", way)
    second, _ = run(agent, "two", way, messages=first.messages)
    assert [message.text for message in second.messages] == ["one", "a", "two", "b"]
    assert [message.text for message in second.new_messages] == ["two", "b"]


def test_how_an_output_is_asked_for(way: str) -> None:
    model = ScriptedModel(["no", "no"])
    with pytest.raises(Exception, match="no") as caught:
        run(Agent(model, output_type=Annotated[list[int], Output(attempts=2)]), "?", way)
    assert len(model.requests) == 2 and caught.value.result is not None
    model = ScriptedModel(["[1, 2]"])
    agent = Agent(model, instructions="Count.", output_type=Annotated[list[int], Output(mode="text")])
    assert run(agent, "?", way)[0].output == [1, 2]
    system = str(model.requests[0].system)
    assert system.startswith("Count.\n\nAnswer with one JSON value") and '"array"' in system
    for wrong in ({"mode": "any"}, {"attempts": 0}, {"name": 3}):
        with pytest.raises(UsageError):
            Output(**wrong)


def test_a_budget_that_follows_the_words_of_the_prompt() -> None:
    model = ScriptedModel([call("look", query="a")] * 20)
    agent = Agent(model, tools=[look], budget=Budget(rounds="auto", tool_rounds=50), monitor=Monitor(stuck=None))
    assert agent.run_sync("What is the capital of Norway?").rounds == 3
    assert repr(Budget(rounds="auto")) == "Budget(rounds='auto')"
    with pytest.raises(UsageError, match="rounds can't be 'many'"):
        Budget(rounds="many")


def test_limits_of_sub_agents_are_those_of_the_budget() -> None:
    start = [Call("spawn", {"agent": "explore", "task": name}) for name in ("a", "b")]
    model = ScriptedModel([calls(*start), "done"])
    agent = Agent(model, agents=[SubAgent("explore", "looks", model=ScriptedModel(["x"] * 2))])
    result = agent.run_sync("?", budget=Budget(children=1))
    assert [child.task for child in result.children] == ["a"]


def test_a_toolset_of_tools_that_are_there_filtered_by_the_deps() -> None:
    model = ScriptedModel(["a", "b"])
    tools = Toolset([pay, look], name="bank").prefixed("bank")
    agent = Agent(model, tools=[tools.filtered(lambda context, tool: context.deps or tool.name != "bank_pay")])
    agent.run_sync("?", deps=False)
    agent.run_sync("?", deps=True)
    offered = [[next(iter(each.values()))["name"] for each in request.tools] for request in model.requests]
    assert offered == [["bank_look"], ["bank_pay", "bank_look"]]


def test_the_own_model_may_be_given_with_how_it_is_asked() -> None:
    price = {"input": 1.0, "output": 1.0}
    agent = Agent(Model(ScriptedModel(["a"]), price=price, settings={"temperature": 0.5}))
    result = agent.run_sync("?")
    assert result.output == "a" and result.cost is not None
    with pytest.raises(UsageError, match="base_url says where a model lives"):
        Model(ScriptedModel([]), base_url="http://localhost")


def test_a_resumed_run_takes_a_result_and_an_answer(tmp_path: Any) -> None:
    model = ScriptedModel([*[call("look", query=str(n)) for n in range(2)], "done"])
    agent = Agent(model, tools=[look], monitor=Monitor(pause_every=2), journal=tmp_path / "runs.db")
    paused = agent.run_sync("?")
    assert (paused.stop_reason, paused.ok) == ("check_in", False)
    result = agent.resume_sync(paused, answer="go on", budget=Budget(rounds=5))
    assert result.output == "done"
    assert events_of(result.journal, result.run_id)
