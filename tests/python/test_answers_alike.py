"""What an answer asks for is read alike whatever wire it came over."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from answers import Provider
from loopwright import Agent, Budget, Model, Result, tool
from loopwright.events import Retry
from ways import KEY, WIRES, words

MOST = Budget().calls_per_round
"""Calls of one answer that run."""


@pytest.fixture
def provide() -> Iterator[Any]:
    started: list[Provider] = []

    def start(wire: str, asked: list[tuple[str, Any]]) -> Provider:
        started.append(Provider(wire, asked))
        return started[-1]

    yield start
    for provider in started:
        provider.server.shutdown()
        provider.server.server_close()


def heard(provider: Provider, wire: str, tools: list[Any], *, watch: bool) -> tuple[Result[Any], list[Any]]:
    agent = Agent(Model(WIRES[wire], base_url=provider.url, api_key=KEY), tools=tools)
    events: list[Any] = []
    result = agent.run_sync("Go.", **({"on_event": events.append} if watch else {}))
    return result, events


@tool(read_only=True)
def ping() -> str:
    """Pings."""
    return "pong"


@pytest.mark.parametrize("watch", [True, False], ids=["watched", "unwatched"])
@pytest.mark.parametrize("text", ["", "  ", " \n", "null", " null ", None, "{}", '""', "[]", '"null"'])
def test_arguments_that_say_nothing_are_an_empty_object(provide: Any, wire: str, text: Any, watch: bool) -> None:
    provider = provide(wire, [("ping", text)])
    result, events = heard(provider, wire, [ping], watch=watch)
    assert result.final == "Done."
    assert [(each.name, each.failure) for each in result.tool_calls] == [("ping", None)]
    assert not [event for event in events if isinstance(event, Retry)]
    assert len(provider.bodies) == 2
    assert provider.sent_arguments() == [{}]


@pytest.mark.parametrize("text", ['"text"', "[1]", '"true"', "0"])
def test_other_arguments_that_are_no_object_are_refused(provide: Any, wire: str, text: str) -> None:
    provider = provide(wire, [("ping", text)])
    result, _ = heard(provider, wire, [ping], watch=True)
    assert [(each.name, each.failure) for each in result.tool_calls] == [("ping", "invalid_arguments")]
    assert len(provider.bodies) == 2


@pytest.mark.timeout(120)
@pytest.mark.parametrize("watch", [True, False], ids=["watched", "unwatched"])
def test_so_many_calls_of_an_answer_run_and_all_are_answered(provide: Any, wire: str, watch: bool) -> None:
    ran: list[int] = []

    @tool(read_only=True)
    async def count(n: int) -> str:
        """Counts."""
        ran.append(n)
        return "ok"

    many = MOST + 200
    provider = provide(wire, [("count", json.dumps({"n": n})) for n in range(many)])
    result, events = heard(provider, wire, [count], watch=watch)
    assert result.final == "Done."
    assert not [event for event in events if isinstance(event, Retry)]
    assert sorted(ran) == list(range(MOST))
    failures = [each.failure for each in result.tool_calls]
    assert len(failures) == many and failures[MOST:] == ["not_run"] * 200 and not any(failures[:MOST])
    last = json.dumps(provider.bodies[1])
    assert len(provider.bodies) == 2 and last.count(f"the first {MOST} calls of an answer run") == 200


def test_calls_written_as_text_are_bound_alike(serve: Any) -> None:
    ran: list[int] = []

    @tool(read_only=True)
    async def count(n: int) -> str:
        """Counts."""
        ran.append(n)
        return "ok"

    from loopwright.testing import text
    from ways import agent_at

    written = "".join(f'<tool_call>{{"name": "count", "arguments": {{"n": {n}}}}}</tool_call>' for n in range(MOST + 5))
    server = serve(text(written), words(3))
    result = agent_at(server, "chat", tools=[count], read_markup=True).run_sync("Go.")
    assert sorted(ran) == list(range(MOST))
    assert [each.failure for each in result.tool_calls][MOST:] == ["not_run"] * 5
