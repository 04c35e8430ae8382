"""Limits of a host and key: requests wait for their turn, say so, and cost no attempt; over real sockets."""

from __future__ import annotations

import asyncio
import gc
import json
import urllib.error
import urllib.request
from typing import Any

import pytest
from loopwright import Agent, Budget, Model, ProviderError, SubAgent, UsageError, prices, replay, tool
from loopwright.events import RequestHeld, Retry, RoundStarted, TextDelta, from_dict, to_dict
from loopwright.models import Call
from loopwright.roles import Role
from loopwright.run import Signal
from loopwright.testing import WireServer, call, calls, fault, text
from ways import KEY, WIRES, run

LIMITS = ("concurrency", "requests_per_minute", "tokens_per_minute")


@tool(read_only=True)
def look() -> str:
    """Looks."""
    return "seen"


def at(server: Any, name: str = "openai-chat:m", **options: Any) -> Model:
    return Model(name, **{"base_url": server.url, "api_key": KEY, **options})


def held(events: list[Any]) -> list[RequestHeld]:
    return [event for event in events if isinstance(event, RequestHeld)]


def until_held(agent: Agent, **options: Any) -> tuple[Any, list[Any]]:
    """A run that is cancelled as soon as one of its requests waits; its result, and all that was told."""
    signal, events = Signal(), []

    def heard(event: Any) -> None:
        events.append(event)
        if isinstance(event, RequestHeld):
            signal.cancel()

    return agent.run_sync("go", on_event=heard, signal=signal, **options), events


# ---- what may be said ----


@pytest.mark.parametrize("option", LIMITS)
@pytest.mark.parametrize("wrong", [0, -1, True, False, float("nan"), 1.5, 3.0, "3", 2**63, [1]])
def test_what_is_no_limit_is_named_when_the_model_is_made(option: str, wrong: Any) -> None:
    with pytest.raises(UsageError) as raised:
        Model("openai:m", api_key=KEY, **{option: wrong})
    assert raised.value.code == "invalid_option"
    assert option in str(raised.value)
    assert "a whole number from 1 up" in str(raised.value)


def test_limits_stand_in_the_model_and_in_no_agent() -> None:
    model = Model("openai:m", api_key=KEY, concurrency=4, requests_per_minute=60, tokens_per_minute=2**63 - 1)
    assert "concurrency=4, requests_per_minute=60, tokens_per_minute=9223372036854775807" in repr(model)
    assert model != Model("openai:m", api_key=KEY)
    assert "concurrency" not in repr(Model("openai:m", api_key=KEY, concurrency=None))
    with pytest.raises(TypeError):
        Agent(Model("openai:m", api_key=KEY), concurrency=4)  # type: ignore[call-arg]
    for option in LIMITS:
        with pytest.raises(UsageError, match=option):
            WireServer(**{option: 0})


def test_prices_carry_their_date() -> None:
    year, month, day = prices.as_of().split("-")
    assert int(year) >= 2026
    assert 1 <= int(month) <= 12
    assert 1 <= int(day) <= 31


# ---- waiting ----


def test_a_request_that_waits_says_so_and_costs_no_attempt(serve: Any, way: str) -> None:
    server = serve("Hello.", repeat_last=True)
    agent = Agent(at(server, requests_per_minute=1, timeouts={"total": 5}))
    assert run(agent, "go", way)[0].final == "Hello."
    result, events = until_held(agent, journal=True)
    (waits,) = held(events)
    assert server.url == f"http://{waits.host}"
    assert waits.reason == "requests_per_minute"
    assert waits.seconds is not None
    assert 30 < waits.seconds < 61
    assert result.stop_reason == "cancelled"
    assert not [event for event in events if isinstance(event, Retry)]
    assert [event.round for event in events if isinstance(event, RoundStarted)] == [1]
    assert len(server.requests) == 1, "nothing was sent"
    assert from_dict(json.loads(json.dumps(to_dict(waits)))) == waits
    assert replay(result.journal).identical
    assert "round_started" in result.journal
    assert "request_held" not in result.journal, "it stands in no journal"


def test_the_time_of_the_run_goes_on_and_that_of_the_request_does_not(serve: Any) -> None:
    server = serve("Hello.", repeat_last=True)
    # The request's own limits are far shorter than the wait, and would be another reason.
    limits = {"total": 0.05, "first_byte": 0.05}
    agent = Agent(at(server, requests_per_minute=1), budget=Budget(wall_time=0.5))
    assert agent.run_sync("go").final == "Hello."
    hasty = Agent(at(server, requests_per_minute=1, timeouts=limits), budget=Budget(wall_time=0.5))
    result = hasty.run_sync("go")
    assert (result.stop_reason, len(server.requests)) == ("wall_time", 1)


def test_all_agents_of_a_host_and_key_share_it_and_others_do_not(serve: Any) -> None:
    server, other = serve("Hello.", repeat_last=True), serve("Hello.", repeat_last=True)
    limited = Agent(at(server, requests_per_minute=1))
    assert limited.run_sync("go").final == "Hello."
    # One that says nothing of a limit, one that says more, another model.
    for model in (at(server), at(server, requests_per_minute=100), at(server, "openai-chat:n")):
        assert until_held(Agent(model))[0].stop_reason == "cancelled"
    for model in (at(server, api_key="sk-of-somebody-else"), at(other)):
        assert Agent(model).run_sync("go").final == "Hello."
    assert len(server.requests) == 2
    del limited
    gc.collect()
    assert Agent(at(server)).run_sync("go").final == "Hello.", "nobody limits it any more"


def test_a_refusal_holds_all_runs_and_only_the_refused_one_tries_again(serve: Any) -> None:
    server = serve(fault.status(429, retry_after=1), "Hello.", repeat_last=True)
    agent = Agent(at(server))
    events: list[Any] = []

    async def main() -> list[Any]:
        refused = asyncio.Event()

        def heard(event: Any) -> None:
            events.append(event)
            if isinstance(event, Retry):
                refused.set()

        first = asyncio.create_task(agent.run("go", on_event=heard))
        await refused.wait()
        others = [agent.run("go", on_event=events.append) for _ in range(20)]
        return await asyncio.gather(first, *others)

    assert {result.final for result in asyncio.run(main())} == {"Hello."}
    assert len([event for event in events if isinstance(event, Retry)]) == 1
    reasons = [event.reason for event in held(events)]
    assert len(reasons) >= 20
    assert set(reasons) == {"provider"}
    assert len(server.requests) == 22, "and none of them was refused"


def test_whoever_comes_back_late_is_not_waited_for(serve: Any) -> None:
    server = serve(fault.status(429, retry_after=3600), "Hello.", repeat_last=True)
    other = serve("From elsewhere.", repeat_last=True)
    agent = Agent(at(server, fallback=[at(other)]))
    for _ in range(3):
        assert agent.run_sync("go").final == "From elsewhere."
    assert len(server.requests) == 1, "the others knew"


# ---- what is under way ----


@pytest.mark.parametrize("wire", WIRES)
def test_no_more_are_under_way_than_may_be(serve: Any, wire: str) -> None:
    replies = [call("look"), text("Hello. " * 20).slowly(0.0005)]
    with WireServer(replies, by_turn=True, concurrency=5) as server:
        agent = Agent(at(server, WIRES[wire], concurrency=5), tools=[look])

        async def streamed() -> str:
            return "".join([event.text async for event in agent.stream("go") if isinstance(event, TextDelta)])

        async def main() -> list[Any]:
            return await asyncio.gather(*(agent.run("go") for _ in range(30)), *(streamed() for _ in range(30)))

        results = asyncio.run(main())
        assert {each if isinstance(each, str) else each.final for each in results} == {"Hello. " * 20}
        assert (server.limited, len(server.requests)) == (0, 120)


def test_a_thousand_runs_of_one_limit_are_never_one_too_many() -> None:
    with WireServer(["Hello."], repeat_last=True, concurrency=10) as server:
        agent = Agent(at(server, concurrency=10), budget=Budget(wall_time=100))

        async def main() -> list[Any]:
            return await asyncio.gather(*(agent.run("go") for _ in range(1000)))

        assert {result.final for result in asyncio.run(main())} == {"Hello."}
        assert (server.limited, len(server.requests)) == (0, 1000)
        assert server.total_connections < 100, "and share few connections"


def test_roles_and_sub_agents_wait_in_the_same_line() -> None:
    spawns = [Call("spawn", {"agent": "explore", "task": f"find {what}"}) for what in "AB"]
    with WireServer([calls(*spawns), text("here").after(0.2), "there", "both found"], concurrency=1) as server:
        lead = Agent(at(server, concurrency=1), agents=[SubAgent("explore", "finds things")])
        events: list[Any] = []
        result = lead.run_sync("Explore the code and find A and B", on_event=events.append)
        assert (result.final, server.limited) == ("both found", 0)
        assert [(event.reason, event.seconds, event.path) for event in held(events)] == [
            ("concurrency", None, "explore#2")
        ]
    with WireServer(["Hello."], repeat_last=True, concurrency=2) as server:
        chain = Role(at(server, concurrency=2), fallback=[at(server, "openai-chat:n")])
        agent = Agent(chain)

        async def main() -> list[Any]:
            return await asyncio.gather(*(agent.run("go") for _ in range(50)))

        assert {result.final for result in asyncio.run(main())} == {"Hello."}
        assert server.limited == 0


@pytest.mark.parametrize("how", ["closed", "cancelled"])
def test_a_stream_that_is_left_gives_its_place_back(serve: Any, how: str) -> None:
    server = serve(text("word " * 2000).slowly(0.005), "Hello.", repeat_last=True)
    agent = Agent(at(server, concurrency=1))

    async def leave() -> None:
        async with agent.stream("go") as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    break

    async def main() -> None:
        if how == "closed":
            await leave()
        else:
            seen = asyncio.Event()
            first = agent.run("go", on_event=lambda event: isinstance(event, TextDelta) and seen.set())
            task = asyncio.create_task(first)
            await seen.wait()
            waiting = asyncio.create_task(agent.run("go"))
            await asyncio.sleep(0.01)
            waiting.cancel()
            task.cancel()
            await asyncio.gather(task, waiting, return_exceptions=True)
        assert (await agent.run("go")).final == "Hello."

    asyncio.run(asyncio.wait_for(main(), 30))
    assert len(server.requests) == 2


# ---- tokens ----


def asked_at_once(agents: list[Agent], runs: int, events: list[Any]) -> list[Any]:
    """The answers of many runs with prompts of any length."""

    async def main() -> list[Any]:
        each = (agents[at % len(agents)].run("Go on. " * (1 + at % 9), on_event=events.append) for at in range(runs))
        return await asyncio.gather(*each)

    return asyncio.run(main())


@pytest.mark.parametrize("wire", WIRES)
def test_runs_of_one_limit_never_take_too_many_tokens(wire: str) -> None:
    """Each sets far more aside than it takes in the end: without that all would have been sent at once."""
    with WireServer([call("look"), "Hello."], by_turn=True, tokens_per_minute=60_000) as server:
        events: list[Any] = []
        agent = Agent(at(server, WIRES[wire], tokens_per_minute=60_000), tools=[look], budget=Budget(wall_time=50))
        results = asked_at_once([agent], 200, events)
        assert {result.final for result in results} == {"Hello."}
        assert (server.limited, len(server.requests)) == (0, 400)
        assert "tokens_per_minute" in {event.reason for event in held(events)}


@pytest.mark.parametrize("wire", ["chat", "responses"])
@pytest.mark.parametrize("fixed", [False, True])
def test_a_limit_of_tokens_is_learned_from_headers(wire: str, fixed: bool) -> None:
    """With answers that are limited and such that are not, streamed all of them."""
    options: dict[str, Any] = {"tokens_per_minute": 6_000, "minute": 0.5, "fixed_minutes": fixed}
    with WireServer([call("look"), "Hello."], by_turn=True, **options) as server:
        events: list[Any] = []
        settings = [{}, {"max_tokens": 30}, {"max_tokens": 200}]
        agents = [Agent(at(server, WIRES[wire], settings=each), tools=[look]) for each in settings]
        assert agents[0].run_sync("go").final == "Hello."
        results = asked_at_once(agents, 200, events)
        assert {result.final for result in results} == {"Hello."}
        assert (server.limited, len(server.requests)) == (0, 402)
        assert {event.reason for event in held(events)} == {"provider"}


# ---- the double ----


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("fixed", [False, True])
def test_the_double_refuses_what_is_over_its_limit_as_the_provider_does(wire: str, fixed: bool) -> None:
    with WireServer(["Hello."], repeat_last=True, requests_per_minute=3, fixed_minutes=fixed) as server:
        # Keys of their own: what one has heard holds nobody else.
        models = [at(server, WIRES[wire], api_key=f"{KEY}-{number}", retry={"attempts": 1}) for number in range(5)]

        async def main() -> list[Any]:
            runs = (Agent(model).run("go") for model in models)
            return await asyncio.gather(*runs, return_exceptions=True)

        ended = asyncio.run(main())
        errors = [each for each in ended if isinstance(each, ProviderError)]
        assert [(error.code, error.status) for error in errors] == [("rate_limited", 429)] * 2
        assert (len(ended), server.limited) == (5, 2)


BODIES: dict[str, tuple[str, dict[str, Any]]] = {
    "anthropic": (
        "/v1/messages",
        {"model": "m", "max_tokens": 400, "messages": [{"role": "user", "content": "Say hello."}]},
    ),
    "chat": (
        "/v1/chat/completions",
        {"model": "m", "max_tokens": 400, "messages": [{"role": "user", "content": "Say hello."}]},
    ),
    "responses": (
        "/v1/responses",
        {"model": "m", "max_output_tokens": 400, "input": [{"role": "user", "content": "Say hello."}]},
    ),
    "gemini": (
        "/v1beta/models/m:generateContent",
        {
            "contents": [{"role": "user", "parts": [{"text": "Say hello."}]}],
            "generationConfig": {"maxOutputTokens": 400},
        },
    ),
    "bedrock": (
        "/model/m/converse",
        {"messages": [{"role": "user", "content": [{"text": "Say hello."}]}], "inferenceConfig": {"maxTokens": 400}},
    ),
}
NAMES = {
    "anthropic": "anthropic-ratelimit-{unit}-{part}",
    "chat": "x-ratelimit-{part}-{unit}",
    "responses": "x-ratelimit-{part}-{unit}",
}


def post(server: WireServer, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any], dict[str, str]]:
    asked = urllib.request.Request(server.url + path, json.dumps(body).encode())  # noqa: S310
    try:
        with urllib.request.urlopen(asked, timeout=20) as answer:  # noqa: S310
            return answer.status, json.load(answer), dict(answer.headers)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error), dict(error.headers)


@pytest.mark.parametrize("wire", WIRES)
def test_the_double_counts_tokens_as_each_provider_documents_it(wire: str) -> None:
    path, body = BODIES[wire]
    with WireServer(["Hello. " * 40], repeat_last=True, tokens_per_minute=500) as server:
        said = [post(server, path, body) for _ in range(9)]
    statuses = [status for status, _, _ in said]
    # The prompt takes some tokens, the answer 70, its limit 400.
    taken = {"gemini": 9, "chat": 1, "responses": 1}.get(wire)
    answered = statuses.count(200)
    assert statuses == [200] * answered + [429] * (9 - answered)
    assert answered == taken if taken else 1 <= answered <= 8
    assert server.limited == 9 - answered
    for unit in ["tokens", "input-tokens", "output-tokens"] if wire == "anthropic" else ["tokens"]:
        name = NAMES.get(wire, "x-ratelimit-{part}-{unit}")
        left = [int(headers[name.format(unit=unit, part="remaining")]) for _, _, headers in said]
        assert left == sorted(left, reverse=True)
        assert left[0] < 500
        assert {headers[name.format(unit=unit, part="limit")] for _, _, headers in said} == {"500"}
        assert all(name.format(unit=unit, part="reset") in headers for _, _, headers in said)
    if wire == "gemini":
        return
    error, headers = said[-1][1], said[-1][2]
    assert 0 < float(headers["retry-after"]) <= 60
    if wire == "anthropic":
        assert error["error"]["type"] == "rate_limit_error"
    elif wire == "bedrock":
        assert error["__type"].endswith("ThrottlingException")
    else:
        assert (error["error"]["type"], error["error"]["code"]) == ("tokens", "rate_limit_exceeded")
