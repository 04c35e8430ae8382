"""`Model`: a model with its place and its settings, wherever a model's name may stand; over real sockets."""

from __future__ import annotations

import copy
import dataclasses
import gc
import json
import weakref
from pathlib import Path
from typing import Any

import loopwright
import pytest
from loopwright import Agent, Grounded, LoopwrightError, Model, Monitor, Research, SubAgent, UsageError, replay, tool
from loopwright.context import ContextPolicy
from loopwright.hooks import ModelChoice, Router
from loopwright.models import Responds
from loopwright.roles import Role, Sanity, ask_sync
from loopwright.testing import ScriptedModel, call, fault, recorded, text
from loopwright.testing._strict import anthropic, mistral, openai_chat, refuse
from loopwright.tools import ProviderTool, WebSearch
from strict import Strict
from test_roles import SUMMED, looks, slow
from ways import KEY, WIRES, run

SECRET = "sk-very-secret-0123456789abcdef"


@tool(read_only=True)
def look(n: int = 0) -> str:
    """Looks."""
    return f"seen {n}"


def bodies(server: Any) -> list[dict[str, Any]]:
    return [request["body"] for request in server.requests]


def at(server: Any, name: str = "openai-chat:m", **options: Any) -> Model:
    return Model(name, **{"base_url": server.url, "api_key": KEY, **options})


def told(result: Any, code: str) -> list[str]:
    return [warning for warning in result.warnings if warning.startswith(f"{code}:")]


# ---- what it is ----


def test_it_is_frozen_equal_by_value_and_shows_no_secret() -> None:
    given: Any = {"temperature": 0.3, "extra_headers": {"x-team": SECRET}, "extra_body": {"user": SECRET}}
    model = Model(
        "openai:m", base_url=f"http://h/v1?key={SECRET}", api_key=SECRET, headers={"x": SECRET}, settings=given
    )
    assert SECRET not in repr(model)
    assert "temperature" in repr(model)
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        model.settings["temperature"] = 1.0
    given["temperature"] = 9.0
    assert model.settings["temperature"] == 0.3, "what was given is nobody else's"
    assert model == dataclasses.replace(model)
    assert hash(model) == hash(dataclasses.replace(model))
    assert copy.deepcopy(model) == model
    assert model != Model("openai:m")


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"base_url": 5}, "invalid_option", "base_url can't be 5"),
        ({"base_url": "ftp://x"}, "invalid_url", "base_url"),
        ({"api_key": 5}, "invalid_option", "api_key"),
        ({"api_key": f"{SECRET}\n{SECRET}"}, "invalid_key", "api_key"),
        ({"headers": {"a b": "c"}}, "invalid_header", "a b"),
        ({"headers": "x"}, "invalid_option", "headers"),
        ({"timeouts": {"idel": 1}}, "invalid_timeout", "idel"),
        ({"timeouts": {"idle": -1.0}}, "invalid_timeout", "idle"),
        ({"retry": {"attempts": "x"}}, "invalid_option", "retry.attempts"),
        ({"price": {"input": -1, "output": 1}}, "invalid_number", "price.input"),
        ({"tool_format": 5}, "invalid_option", "tool_format"),
        ({"read_markup": "yes"}, "invalid_option", "read_markup"),
        ({"fallback": "openai:x"}, "invalid_option", "fallback"),
        ({"escalate_to": 5}, "invalid_option", "escalate_to"),
        ({"settings": [1]}, "invalid_option", "settings"),
        ({"settings": {"temprature": 0.2}}, "invalid_option", "did you mean temperature?"),
        ({"settings": {"temperature": "hot"}}, "invalid_option", "temperature"),
        ({"settings": {"temperature": float("nan")}}, "invalid_option", "temperature"),
        ({"settings": {"top_p": -1}}, "invalid_number", "top_p"),
        ({"settings": {"max_tokens": 0}}, "invalid_number", "max_tokens"),
        ({"settings": {"stop": [5]}}, "invalid_option", "stop"),
        ({"settings": {"effort": "extreme"}}, "invalid_option", "effort"),
        ({"settings": {"tool_choice": 5}}, "invalid_option", "tool_choice"),
        ({"settings": {"parallel_tool_calls": "no"}}, "invalid_option", "parallel_tool_calls"),
        ({"settings": {"cache": "yes"}}, "invalid_option", "cache"),
        ({"settings": {"seed": 1.5}}, "invalid_option", "seed"),
        ({"settings": {"seed": 2**63}}, "invalid_option", "seed"),
        ({"settings": {"extra_body": {"messages": []}}}, "invalid_option", "'messages'"),
        ({"settings": {"extra_body": {"stream": True}}}, "invalid_option", "'stream'"),
        ({"settings": {"extra_body": {"a": {1}}}}, "invalid_option", "extra_body"),
        ({"settings": {"extra_body": {"a": float("inf")}}}, "invalid_option", "extra_body"),
        ({"settings": {"extra_headers": {"a": 5}}}, "invalid_option", "headers"),
        ({"profile": {"limt": "max_tokens"}}, "invalid_profile", "did you mean limit?"),
        ({"profile": {"limit": "most"}}, "invalid_profile", "limit can't be"),
        ({"profile": 5}, "invalid_option", "profile"),
        ({"profile": "/nowhere/hosts.toml"}, "invalid_profile", "/nowhere/hosts.toml"),
    ],
)
def test_what_cannot_be_is_said_when_it_is_made(options: Any, code: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        Model("openai-chat:m", **options)
    assert caught.value.code == code, caught.value
    assert words in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        (5, "unknown_model", "text"),
        ("gpt-4o", "unknown_model", "openai:gpt-4o"),
        ("openia:gpt-4o", "unknown_provider", "did you mean openai"),
        ("mycompany:llama", "unknown_provider", 'openai-chat:llama with base_url="http'),
        ("openai:", "unknown_model", "names no model"),
    ],
)
def test_a_name_that_nobody_knows_says_what_to_write(name: Any, code: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        Model(name)
    assert caught.value.code == code
    assert words in str(caught.value)


def test_a_key_may_be_missing_until_a_run_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    model = Model("mistral:m")
    agent = Agent(model)
    for look in (agent.check, lambda: agent.run_sync("?"), lambda: agent.start("?")):
        with pytest.raises(UsageError, match="MISTRAL_API_KEY") as caught:
            look()
    assert caught.value.code == "missing_key"


def test_the_protocol_that_had_its_name_is_told_todays() -> None:
    own = ScriptedModel(["hi"])
    assert isinstance(own, Responds)
    assert isinstance(Model("ollama:m"), Model)
    for other in (own, "ollama:m", ScriptedModel):
        assert not isinstance(other, Model)
    with pytest.raises(ImportError, match=r"loopwright\.models\.Model is now loopwright\.models\.Responds"):
        loopwright.models.Model  # type: ignore[attr-defined] # noqa: B018


# ---- where it may stand ----


def test_an_agent_takes_it_as_it_takes_a_name(serve: Any, wire: str, way: str) -> None:
    server = serve("Hello.", key=KEY)
    settings: Any = {"temperature": 0.25, "max_tokens": 77, "extra_headers": {"x-tier": "flex"}}
    model = at(server, WIRES[wire], headers={"x-team": "docs"}, settings=settings, price={"input": 1, "output": 2})
    result, _ = run(Agent(model), "Hi.", way)
    assert result.final == "Hello."
    assert result.cost is not None
    request = server.requests[0]
    sent = json.dumps(request["body"])
    assert "0.25" in sent
    assert "77" in sent
    assert {("x-team", "docs"), ("x-tier", "flex")} <= {tuple(pair) for pair in request["headers"]}


def test_what_it_is_is_said_once_and_settings_are_defaults(serve: Any) -> None:
    server = serve("a", "b", repeat_last=True)
    model = at(server, settings={"temperature": 0.1, "stop": ["X"], "cache": False}, retry={"attempts": 1})
    Agent(Role(model, base_url=server.url)).run_sync("go")
    for option, value in {"base_url": "http://other/v1", "api_key": "other"}.items():
        with pytest.raises(UsageError, match=option) as caught:
            Agent(Role(model, **{option: value}))  # type: ignore[arg-type]
        assert caught.value.code == "invalid_option"
        assert KEY not in str(caught.value)
    Agent(model, settings={"temperature": 0.9, "stop": ["Y"]}).run_sync("go")
    assert [(body["temperature"], body["stop"]) for body in bodies(server)] == [(0.1, ["X"]), (0.9, ["Y"])]
    with pytest.raises(UsageError, match="base_url"):
        Agent(Role(model, base_url="http://other/v1"))
    with pytest.raises(UsageError, match="fallback"):
        Agent(Role(dataclasses.replace(model, fallback=["ollama:b"]), fallback=["ollama:a"]))


def test_a_chain_crosses_hosts_with_what_each_is_asked(serve: Any, way: str) -> None:
    first, second = serve(fault.status(400 + 1)), serve("From the second.")
    extra = {"chat_template_kwargs": {"enable_thinking": False}}
    behind = at(second, "anthropic:b", settings={"temperature": None, "top_p": 0.4, "stop": ["END"]})
    model = at(
        first, settings={"temperature": 0.7, "max_tokens": 50, "extra_body": extra, "seed": 3}, fallback=[behind]
    )
    result, _ = run(Agent(model), "go", way, journal=True)
    assert result.final == "From the second."
    one, two = bodies(first)[0], bodies(second)[0]
    assert (one["temperature"], one["max_tokens"], one["seed"], one["chat_template_kwargs"]) == (
        0.7,
        50,
        3,
        extra["chat_template_kwargs"],
    )
    assert "temperature" not in two
    assert (two["max_tokens"], two["top_p"], two["stop_sequences"]) == (50, 0.4, ["END"])
    assert "chat_template_kwargs" not in two, "it was written for another host"
    assert told(result, "adapted"), "Anthropic has no seed, and it is told"
    assert result.journal is not None
    assert replay(result.journal).identical


def test_a_role_takes_it_with_its_settings(serve: Any) -> None:
    main = serve(*looks(4, "slow"), by_turn=True)
    summer = serve(text(json.dumps(SUMMED)), repeat_last=True)
    small = at(summer, settings={"temperature": None, "top_p": 0.3, "extra_body": {"think": False}})
    for given in (small, Role(small), Role("rules", fallback=[small])):
        before = len(summer.requests)
        agent = Agent(
            Model("anthropic:m", base_url=main.url, api_key=KEY), tools=[slow], context=ContextPolicy(summarizer=given)
        )
        agent.run_sync("Look around.")
        asked = bodies(summer)[before:]
        assert asked
        assert all(body["top_p"] == 0.3 and body["think"] is False for body in asked)
        assert all("temperature" not in body for body in asked), "W11: no built-in value either"
    # Requests of the runs before may still be under way there.
    other = serve(text(json.dumps(SUMMED)), repeat_last=True)
    warm = Role(at(other, settings={"temperature": None}), temperature=0.9)
    agent = Agent(
        Model("anthropic:m", base_url=main.url, api_key=KEY), tools=[slow], context=ContextPolicy(summarizer=warm)
    )
    agent.run_sync("Look around.")
    assert all(body["temperature"] == 0.9 for body in bodies(other))


def test_a_role_that_is_asked_outside_of_a_run_takes_it(serve: Any) -> None:
    server = serve(text('{"n": 1}'), repeat_last=True)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    for settings, temperature in (({}, 0.2), ({"temperature": None}, None), ({"temperature": 0.0}, 0.0)):
        answer = ask_sync(at(server, settings=settings), "How many?", schema)
        assert answer.value == {"n": 1}, answer.problems
        assert bodies(server)[-1].get("temperature") == temperature


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"retry": {"attempts": 2}}, "retry"),
        ({"tool_format": "text"}, "tool_format"),
        ({"escalate_to": "ollama:big"}, "escalate_to"),
        ({"settings": {"tool_choice": "none"}}, "tool_choice"),
    ],
)
def test_what_holds_for_a_run_is_said_by_its_first_model(options: Any, words: str) -> None:
    odd = Model("ollama:odd", **options)
    for make in (
        lambda: Agent(Model("ollama:m", fallback=[odd])),
        lambda: Agent(Role("ollama:m", fallback=[odd])),
        lambda: Agent("ollama:m", context=ContextPolicy(summarizer=odd)),
        lambda: Agent("ollama:m", monitor=Monitor(sanity=Sanity(odd))),
        lambda: Agent(Model("ollama:m", escalate_to=odd)),
        lambda: Grounded("ollama:m", judge=odd),
        lambda: ModelChoice(odd),
    ):
        with pytest.raises(UsageError, match=words):
            make()


def test_a_sub_agent_takes_it_and_shares_what_its_parents_model_says(serve: Any, way: str) -> None:
    main = serve(call("spawn", agent="own", task="x"), call("spawn", agent="same", task="y"), "All done.", by_turn=True)
    # A sub-agent of the same model is asked at its host.
    main = serve(
        call("spawn", agent="own", task="x"), call("spawn", agent="same", task="y"), "from the same", "All done."
    )
    other = serve("from its own")
    own = SubAgent("own", "does", model=at(other, "anthropic:sub", settings={"top_p": 0.2}))
    model = at(main, settings={"seed": 5, "extra_body": {"user": "u1"}})
    result, _ = run(Agent(model, agents=[own, SubAgent("same", "does")]), "go", way)
    assert result.final == "All done."
    assert bodies(other)[0]["top_p"] == 0.2
    assert "user" not in bodies(other)[0]
    assert len(bodies(main)) == 4
    assert all((body["seed"], body["user"]) == (5, "u1") for body in bodies(main))


def test_a_choice_and_an_escalation_take_it(serve: Any, way: str) -> None:
    first, chosen = serve(), serve("Chosen.", repeat_last=True)
    strong = at(chosen, "anthropic:strong", settings={"top_p": 0.6}, price={"input": 3, "output": 15})
    main = at(first, settings={"max_tokens": 40, "extra_body": {"a": 1}})
    for choose in (lambda _: strong, ModelChoice(strong), lambda _: ModelChoice(strong, 0.9)):
        result, _ = run(Agent(Router(choose, default=main)), "go", way, journal=True)
        assert result.final == "Chosen."
        assert result.model == "anthropic:strong"
        body = bodies(chosen)[-1]
        assert (body["top_p"], body["max_tokens"]) == (0.6, 40)
        assert "a" not in body
        assert result.cost is not None
        assert replay(result.journal).identical

    @tool(read_only=True)
    def fails(n: int = 0) -> str:
        """Fails."""
        raise ValueError(str(n))

    weak = serve(*(call("fails", n=n) for n in range(12)))
    model = at(weak, escalate_to=strong, settings={"extra_body": {"a": 1}})
    result, _ = run(Agent(model, tools=[fails], monitor=Monitor(stuck=None)), "go", way)
    assert result.final == "Chosen."
    assert bodies(chosen)[-1]["top_p"] == 0.6


def test_a_judge_and_a_research_take_it(serve: Any, tmp_path: Any) -> None:
    (tmp_path / "a.md").write_text("A failed request is retried up to 3 times.\n")
    answer = "A failed request is retried up to 3 times. [a.md:1]"
    main, judge = serve(answer), serve(text('{"verdict": "pass"}'))
    judging = at(judge, settings={"temperature": 0.0, "seed": 2})
    docs = Grounded(at(main), sources=[tmp_path], judge=judging)
    assert docs.run_sync("How often is a failed request retried?").verified
    assert (bodies(judge)[0]["temperature"], bodies(judge)[0]["seed"]) == (0.0, 2)
    server = serve("{}", repeat_last=True)
    research = Research(at(server, settings={"temperature": None, "seed": 4}), corpus=tmp_path)
    research.run_sync("How often is a failed request retried?")
    assert bodies(server)
    assert all(body["seed"] == 4 and "temperature" not in body for body in bodies(server)), "W11"


# ---- keys ----


def test_a_function_gives_the_key_before_each_request(serve: Any, way: str, tmp_path: Any) -> None:
    keys = iter([f"{SECRET}1", f"{SECRET}2"])
    server = serve(call("look"), "done")
    seen: list[str] = []

    def key() -> str:
        seen.append(next(keys))
        return seen[-1]

    agent = Agent(at(server, api_key=key), tools=[look], journal=tmp_path)
    assert seen == [], "nobody has asked yet"
    result, events = run(agent, "go", way)
    assert result.final == "done"
    assert seen == [f"{SECRET}1", f"{SECRET}2"]
    assert SECRET not in repr((agent, vars(agent), result, events))
    assert all(SECRET not in path.read_text() for path in tmp_path.iterdir())
    only = serve("yes", key="right")
    assert run(Agent(Model("openai-chat:m", base_url=only.url, api_key=lambda: "right")), "go", way)[0].final == "yes"


@pytest.mark.parametrize("wrong", ["raises", "none", "empty", "odd"])
def test_a_function_that_gives_no_key_fails_that_request(serve: Any, way: str, wrong: str) -> None:
    def key() -> Any:
        if wrong == "raises":
            raise ValueError(SECRET)
        return {"none": None, "empty": " ", "odd": f"{SECRET}\n{SECRET}"}[wrong]

    server, other = serve("never"), serve("From another.")
    with pytest.raises(LoopwrightError) as caught:
        run(Agent(at(server, api_key=key)), "go", way)
    assert caught.value.code == "auth"
    assert SECRET not in str(caught.value)
    assert server.requests == []
    chained = at(server, api_key=key, fallback=[at(other, "anthropic:b")])
    assert run(Agent(chained), "go", way)[0].final == "From another."
    with pytest.raises(UsageError, match="async"):

        async def later() -> str:
            return SECRET

        at(server, api_key=later)


def test_a_function_that_holds_its_agent_is_given_up_with_it() -> None:
    class Vault:
        agent: Any = None

        def read(self) -> str:
            return SECRET

    vault = Vault()
    vault.agent = Agent(Model("openai:m", api_key=vault.read))
    gone = weakref.ref(vault)
    del vault
    gc.collect()
    assert gone() is None


# ---- settings ----


def test_every_setting_is_sent_or_told(serve: Any, wire: str, way: str) -> None:
    server = serve(call("look"), "done")
    settings: Any = {"seed": 11, "parallel_tool_calls": False, "extra_body": {"metadata": {"user_id": "u"}}}
    result, _ = run(Agent(at(server, WIRES[wire], settings=settings), tools=[look]), "go", way)
    assert result.final == "done"
    for body in bodies(server):
        assert body["metadata"] == {"user_id": "u"}
        seed = {"chat": body.get("seed"), "gemini": body.get("generationConfig", {}).get("seed")}.get(wire)
        assert (seed == 11) is (wire in ("chat", "gemini"))
        parallel = {
            "anthropic": body.get("tool_choice", {}).get("disable_parallel_tool_use") if wire == "anthropic" else None
        }
        assert body.get("parallel_tool_calls") is (False if wire in ("chat", "responses") else None)
        assert parallel["anthropic"] is (True if wire == "anthropic" else None)
    left_out = {word for word in ("seed", "parallel_tool_calls") for each in told(result, "adapted") if word in each}
    both = {"seed", "parallel_tool_calls"}
    lacks = {"anthropic": {"seed"}, "responses": {"seed"}, "gemini": {"parallel_tool_calls"}, "bedrock": both}
    assert left_out == lacks.get(wire, set())


LIMITED = [
    {"max_uses": 2},
    {"allowed_domains": ["a.org"]},
    {"blocked_domains": ["b.org"]},
    {"allowed_domains": ["a.org"], "blocked_domains": ["x.a.org"]},
]
SEARCHES = {
    "anthropic": [True, *LIMITED[:3]],
    "chat": [True],
    "responses": [True, *LIMITED[:2]],
    "gemini": [True],
    "bedrock": [],
}


@pytest.mark.parametrize("asked", [True, *LIMITED], ids=str)
def test_w20_a_search_that_a_host_has_not_is_told_and_never_made_wider(
    serve: Any, wire: str, way: str, asked: Any
) -> None:
    server = serve("done")
    result, _ = run(Agent(at(server, WIRES[wire]), tools=[WebSearch(**({} if asked is True else asked))]), "go", way)
    assert result.final == "done"
    is_sent = "search" in json.dumps(bodies(server)[0]).lower()
    assert is_sent is (asked in SEARCHES[wire])
    assert len(told(result, "adapted")) == (0 if is_sent else 1), result.warnings


def test_w20_a_search_of_the_first_host_does_not_end_a_chain(serve: Any, wire: str, way: str) -> None:
    first, second = serve(fault.status(401)), serve("From the second.")
    model = at(first, "anthropic:m", fallback=[at(second, WIRES[wire])])
    result, _ = run(Agent(model, tools=[look, WebSearch(max_uses=3)]), "go", way)
    assert result.final == "From the second."
    assert "search" in json.dumps(bodies(first)[0])


@pytest.mark.parametrize(
    ("model", "host", "sent", "asked_for"),
    [
        ("gemini:gemini-2.5-flash", "gemini", False, False),
        ("gemini:gemini-3-flash-preview", "gemini", True, True),
        ("gemini:gemini-flash-latest", "gemini", True, True),
        ("vertex:gemini-3-flash-preview", "vertex", True, False),
        ("vertex:gemini-2.0-flash", "vertex", False, False),
    ],
)
@pytest.mark.parametrize("own", ["search", "code"])
def test_w20_gemini_takes_tools_of_its_own_beside_others_where_it_can(
    serve: Any, way: str, model: str, host: str, sent: bool, asked_for: bool, own: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(call("look"), "done", strict=host)
    given: Any = WebSearch() if own == "search" else ProviderTool({"codeExecution": {}})
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    result, _ = run(Agent(at(server, model), tools=[look, given], settings={"tool_choice": "auto"}), "go", way)
    assert result.final == "done"
    kinds = {kind for tool in bodies(server)[0]["tools"] for kind in tool}
    assert ("functionDeclarations" in kinds, len(kinds)) == (True, 1 + sent)
    assert ("includeServerSideToolInvocations" in bodies(server)[0].get("toolConfig", {})) is asked_for
    assert len(told(result, "adapted")) == (0 if sent else 1), result.warnings


STOPS = ["A", "\n", "B", "C", "D", "E", "F"]


@pytest.mark.parametrize(
    ("model", "host", "sent", "notes"),
    [
        ("anthropic:claude-opus-4-6", "anthropic", ["A", "B", "C", "D", "E", "F"], 2),
        ("anthropic:claude-opus-4-0", "anthropic", ["A", "B", "C", "D", "E", "F"], 2),
        ("gemini:gemini-3-pro", "gemini", ["A", "\n", "B", "C", "D"], 1),
        ("azure:gpt-4.1", "azure", ["A", "\n", "B", "C"], 2),
        ("azure:gpt-5-mini", "azure", [], 3),
        ("openai-chat:gpt-5-chat-latest", "vllm", STOPS, 1),
        ("openai-chat:my-own", "vllm", STOPS, 0),
    ],
)
def test_w20_what_a_model_takes_of_sampling_and_stops_goes_out(
    serve: Any, way: str, model: str, host: str, sent: Any, notes: int
) -> None:
    server = serve("done", strict=None if host == "vllm" else host)
    settings: Any = {"temperature": 0.5, "top_p": 0.9, "effort": "low", "stop": STOPS}
    result, _ = run(Agent(at(server, model, settings=settings)), "go", way)
    assert (result.final, len(bodies(server))) == ("done", 1)
    body = {**bodies(server)[0], **bodies(server)[0].get("generationConfig", {})}
    found = [body[name] for name in ("stop", "stop_sequences", "stopSequences") if name in body]
    assert found == ([sent] if sent else [])
    assert len(told(result, "adapted")) == notes, result.warnings
    taken = not any(name in model for name in ("opus-4-6", "gpt-5-mini"))
    assert ("top_p" in body or "topP" in body) is taken


def test_w20_a_field_of_a_table_leaves_the_others_of_it(serve: Any, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    server = serve("done", strict="vertex")
    model = at(
        server, "vertex:claude-opus-4-0", profile={"body": {"stop_limit": 1}}, settings={"stop": ["a", "b", " "]}
    )
    result, _ = run(Agent(model), "go", way)
    body = bodies(server)[0]
    assert (result.final, body["anthropic_version"], body["stop_sequences"]) == ("done", "vertex-2023-10-16", ["a"])


@pytest.mark.parametrize(
    ("model", "profile", "settings", "sent"),
    [
        (
            "openai-chat:gpt-5", {"limit": "max_tokens"}, {"max_tokens": 9},
            {"max_tokens": 9, "max_completion_tokens": None},
        ),
        (
            "openai-chat:o9", {"limit": "max_completion_tokens"}, {"max_tokens": 9},
            {"max_tokens": None, "max_completion_tokens": 9},
        ),
        ("anthropic:claude-opus-5", {"refuses": []}, {"temperature": 0.5}, {"temperature": 0.5}),
        ("anthropic:claude-opus-5", {"refuses": ["stop"]}, {"stop": ["a"]}, {"stop_sequences": None}),
    ],
)  # fmt: skip
def test_w20_what_a_profile_says_goes_before_what_names_decide(
    serve: Any, way: str, model: str, profile: Any, settings: Any, sent: Any
) -> None:
    server = serve("done", strict=None)
    run(Agent(at(server, model, profile=profile, settings=settings)), "go", way)
    assert {name: bodies(server)[0].get(name) for name in sent} == sent


def test_w20_a_router_is_asked_for_an_effort_whatever_the_model(serve: Any, way: str) -> None:
    server = serve("done")
    run(Agent(at(server, "openrouter:anthropic/claude-sonnet-4.5", settings={"effort": "low"})), "go", way)
    assert bodies(server)[0]["reasoning"] == {"effort": "low"}


def test_w20_a_profile_of_ones_own_takes_what_a_models_name_refuses(serve: Any, way: str) -> None:
    server = serve("done")
    model = at(server, "openai-chat:nova-of-mine", settings={"effort": "low"}, profile={"refuses": []})
    result, _ = run(Agent(model), "go", way)
    assert (bodies(server)[0]["reasoning_effort"], result.warnings) == ("low", [])


@pytest.mark.parametrize(
    ("model", "told_of"),
    [
        ("anthropic:m", False),
        ("bedrock:anthropic.claude-sonnet-4-6", False),
        ("bedrock:amazon.nova-pro-v1:0", True),
        ("gemini:gemini-3-pro", True),
        ("openai:gpt-5", True),
    ],
)
def test_w20_a_cache_of_an_hour_is_asked_for_or_told(serve: Any, way: str, model: str, told_of: bool) -> None:
    server = serve("done")
    result, _ = run(Agent(at(server, model), settings={"cache": "1h"}), "go", way)
    assert ("hour" in " ".join(told(result, "adapted"))) is told_of, result.warnings


def test_w20_stop_sequences_are_sent_or_told(serve: Any, wire: str, way: str) -> None:
    server = serve("done")
    result, _ = run(Agent(at(server, WIRES[wire]), settings={"stop": ["END"]}), "go", way)
    assert result.final == "done"
    assert ("END" in json.dumps(bodies(server)[0])) is (wire != "responses")
    assert bool(told(result, "adapted")) is (wire == "responses")


@pytest.mark.parametrize("choice", ["auto", "any", "none", None])
def test_w20_a_search_alone_goes_with_any_choice(serve: Any, wire: str, way: str, choice: Any) -> None:
    server = serve("done")
    settings: Any = {"parallel_tool_calls": False}
    agent = Agent(at(server, WIRES[wire], settings=settings), tools=[WebSearch()], settings={"tool_choice": choice})
    result, _ = run(agent, "go", way)
    assert (result.final, len(bodies(server))) == ("done", 1)
    assert not told(result, "without_tools")


def test_w20_a_refused_search_leaves_the_other_tools(serve: Any, way: str) -> None:
    refused = "Web search options not supported with this model."
    body = {"error": {"message": refused, "type": "invalid_request_error", "param": "web_search_options", "code": None}}
    server = serve(recorded(400, "application/json", json.dumps(body)), call("look"), "done")
    result, _ = run(Agent(at(server, "openai-chat:gpt-4.1"), tools=[look, WebSearch()]), "go", way)
    assert result.final == "done"
    assert ["tools" in body for body in bodies(server)] == [True] * 3
    assert ["web_search_options" in body for body in bodies(server)] == [True, False, False]
    assert "web_search" in told(result, "left_out")[0]


def test_w20_a_temperature_beyond_a_host_is_its_highest(serve: Any, wire: str, way: str) -> None:
    server = serve("done")
    result, _ = run(Agent(at(server, WIRES[wire]), settings={"temperature": 1.5}), "go", way)
    body = bodies(server)[0]
    sent = {**body, **body.get("generationConfig", {}), **body.get("inferenceConfig", {})}["temperature"]
    is_lower = wire in ("anthropic", "bedrock")
    assert sent == (1.0 if is_lower else 1.5)
    assert bool(told(result, "adapted")) is is_lower


def test_a_body_is_merged_deep_and_over_everything_else(serve: Any, way: str) -> None:
    server = serve("done")
    extra = {"temperature": 2, "generationConfig": {"topK": 5, "thinkingConfig": {"includeThoughts": False}}}
    settings: Any = {"temperature": 0.5, "effort": "low", "extra_body": extra}
    run(Agent(at(server, "gemini:gemini-2.5-flash", settings=settings)), "go", way)
    config = bodies(server)[0]["generationConfig"]
    assert (config["topK"], config["temperature"]) == (5, 0.5)
    assert config["thinkingConfig"] == {"thinkingBudget": 1024, "includeThoughts": False}
    assert bodies(server)[0]["temperature"] == 2


def test_what_is_sent_stands_in_the_journal_but_for_headers(serve: Any, way: str) -> None:
    server = serve("done")
    settings: Any = {"seed": 99, "extra_body": {"tier": "flex"}, "extra_headers": {"x-secret": SECRET}}
    result, _ = run(Agent(at(server, settings=settings)), "go", way, journal=True)
    assert result.journal is not None
    config = json.dumps(json.loads(result.journal.splitlines()[0]))
    assert '"seed": 99' in config
    assert '"tier": "flex"' in config
    assert SECRET not in result.journal
    assert replay(result.journal).identical


def unknown_seed(body: dict[str, Any]) -> None:
    """A server of OpenAI's chat that knows no seed."""
    openai_chat(body)
    refuse("seed" in body, "seed")


def test_w6_a_seed_that_is_refused_by_name_is_left_out(serve: Any, way: str) -> None:
    server = serve("one", "two")
    with Strict(server, unknown_seed, names_parameter=True) as provider:
        agent = Agent(Model("openai-chat:m", base_url=provider.url, api_key=KEY, settings={"seed": 3}))
        result, _ = run(agent, "go", way)
        again = agent.run_sync("go")
    assert (result.final, again.final) == ("one", "two")
    assert provider.refusals == ["seed"]
    assert "seed" in told(result, "left_out")[0]
    assert "seed" in told(again, "adapted")[0]


def test_w11_a_parameter_is_left_out_at_a_strict_server(serve: Any, way: str) -> None:
    server = serve(call("look"), "done")
    settings: Any = {"temperature": None, "max_tokens": None, "parallel_tool_calls": None, "cache": None}
    with Strict(server, anthropic) as provider:
        model = Model("anthropic:m", base_url=provider.url, api_key=KEY, settings=settings)
        result, _ = run(Agent(model, tools=[look]), "go", way)
    assert provider.refusals == []
    assert result.final == "done"
    assert all("temperature" not in body for body in bodies(server))


# ---- profiles ----


def deployment(body: dict[str, Any]) -> None:
    """A deployment whose name says nothing of what it refuses."""
    openai_chat(body)
    for field in ("stream_options", "max_tokens", "temperature"):
        refuse(field in body, f"Unsupported parameter: {field}")


def test_w20_a_profile_says_what_a_deployment_takes(serve: Any, way: str, tmp_path: Path) -> None:
    takes: dict[str, Any] = {"limit": "max_completion_tokens", "refuses": ["stream_options", "temperature"]}
    file = tmp_path / "hosts.toml"
    file.write_text('[takes]\nlimit = "max_completion_tokens"\nrefuses = ["stream_options", "temperature"]\n')
    for profile in (takes, file, str(file)):
        server = serve("done")
        with Strict(server, deployment) as provider:
            settings: Any = {"temperature": 0.5, "max_tokens": 90}
            model = Model("openai-chat:prod-7", base_url=provider.url, api_key=KEY, settings=settings, profile=profile)
            result, _ = run(Agent(model), "go", way)
        assert provider.refusals == []
        assert result.final == "done"
        assert bodies(server)[0]["max_completion_tokens"] == 90
        assert "temperature" in told(result, "adapted")[0]


def test_w20_a_provider_of_ones_own_is_named_by_a_file(
    serve: Any, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(call("look"), "done", key="from-env")
    file = tmp_path / "hosts.toml"
    file.write_text(
        f'[provider.mycompany]\nwire = "openai_chat"\nbase = "{server.url}/v1"\nkeys = ["MYCOMPANY_KEY"]\n'
        "takes = { call_id = 9 }\n"
    )
    monkeypatch.setenv("MYCOMPANY_KEY", "from-env")
    with Strict(server, mistral) as provider:
        text_ = file.read_text().replace(server.url, provider.url)
        (tmp_path / "strict.toml").write_text(text_)
        del provider
    agent = Agent(Model("mycompany:llama", profile=file), tools=[look])
    assert agent.model == "mycompany:llama"
    result, _ = run(agent, "go", way, journal=True)
    assert result.final == "done"
    ids = [use["id"] for message in bodies(server)[1]["messages"] for use in message.get("tool_calls", ())]
    assert [len(each) for each in ids] == [9]
    assert replay(result.journal).identical
    with pytest.raises(UsageError, match="did you mean") as caught:
        Model("mycompani:llama", profile=file)
    assert "mycompany" in str(caught.value)
    # A model of the same provider is found where the first one is.
    down, other = fault.status(401), serve("other", key="from-env")
    del other
    first = serve(down, "from the second", key="from-env")
    file.write_text(file.read_text().replace(server.url, first.url))
    chained = Agent(Model("mycompany:a", profile=file, fallback=["mycompany:b"]))
    assert run(chained, "go", way)[0].final == "from the second"
    assert [body["model"] for body in bodies(first)] == ["a", "b"]


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("[takes]\nlimt = 1\n", ["hosts.toml", "limt", "did you mean limit?"]),
        ("[takes]\ncall_id = 'nine'\n", ["hosts.toml", "call_id", "whole number"]),
        ("[provider.a]\nbase = 'http://x'\n", ["hosts.toml", "provider.a", "wire"]),
        ("[provider.a]\nwire = 'morse'\nbase = 'http://x'\n", ["hosts.toml", "wire", "morse"]),
        ("[provider.a.takes]\noutput = ['rhyme']\n", ["hosts.toml", "output", "schema"]),
        ("[hosts]\n", ["hosts.toml", "hosts", "[takes]"]),
        ("[takes\n", ["hosts.toml", "line 1"]),
    ],
)
def test_w20_a_wrong_file_is_named_with_its_field(tmp_path: Path, toml: str, words: list[str]) -> None:
    file = tmp_path / "hosts.toml"
    file.write_text(toml)
    with pytest.raises(UsageError) as caught:
        Model("openai-chat:m", profile=file)
    assert caught.value.code == "invalid_profile"
    assert all(word in str(caught.value) for word in words), caught.value


def test_errors_of_a_host_with_a_key_in_its_headers_show_none(serve: Any) -> None:
    echo = f'{{"error": {{"message": "no {SECRET}", "type": "invalid_request_error"}}}}'
    server = serve(recorded(401, "application/json", echo))
    with pytest.raises(LoopwrightError) as caught:
        Agent(at(server, settings={"extra_headers": {"x-token": SECRET}})).run_sync("go")
    assert SECRET not in str(caught.value)
