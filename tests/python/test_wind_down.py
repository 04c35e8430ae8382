"""Near the end of its rounds the model is told, and each time more plainly."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from loopwright import Budget, Guard, Monitor, UsageError, tool
from loopwright.guard import Approvals
from loopwright.testing import WireServer, call, text
from ways import agent_at, forbids_tools, run

Serve = Callable[..., WireServer]


@tool
def look(n: int) -> str:
    """Look."""
    return f"page {n}"


WORDS = {
    3: "[3 tool rounds are left. Keep to what the answer needs.]",
    2: "[Two tool rounds are left. Call only what the answer still lacks, then answer.]",
    1: "[One tool round is left. Answer now unless one more call is indispensable.]",
    0: "[No tool rounds are left. Answer now, with what you have.]",
}


@pytest.mark.parametrize("wind_down", [0, 1, 2, 3])
def test_d20_instructions_escalate_from_round_to_round(serve: Serve, wire: str, way: str, wind_down: int) -> None:
    server = serve(*[call("look", n=n) for n in range(5)], text("done"))
    agent = agent_at(
        server, wire, tools=[look], budget=Budget(tool_rounds=5), monitor=Monitor(warn_rounds_left=wind_down)
    )
    result, _ = run(agent, "read on", way)
    assert result.final == "done"
    for left, request in zip([4, 3, 2, 1, 0], server.requests[1:], strict=True):
        body = json.dumps(request["body"])
        told = [words for words in WORDS.values() if words in body]
        assert told == [WORDS[each] for each in (3, 2, 1, 0) if left <= each <= max(wind_down, 1)]
    # Bedrock has no word that forbids calls, and wants the tools of those that stand in a history.
    assert forbids_tools(server.requests[-1]["body"]) or wire == "bedrock", "at last tools are off"


@pytest.mark.parametrize("limit", ["tokens", "cost"])
def test_d18_x01_what_is_nearly_used_up_is_told_where_few_rounds_are_left_too(
    serve: Serve, wire: str, way: str, limit: str
) -> None:
    server = serve(*[call("look", n=n) for n in range(3)], text("done"))
    budgets = {"tokens": Budget(tool_rounds=4, tokens=300), "cost": Budget(tool_rounds=4, cost=0.001)}
    agent = agent_at(server, wire, tools=[look], budget=budgets[limit], price={"input": 3.0, "output": 3.0})
    result, _ = run(agent, "read on", way)
    asked = [json.dumps(request["body"]) for request in server.requests[1:]]
    word = {"tokens": "[The tokens are nearly used up.", "cost": "[The money is nearly used up."}[limit]
    assert asked
    assert word in asked[-1], (result.stop_reason, asked[-1])
    assert WORDS[1] not in asked[-1]


def test_d07_rounds_of_tools_are_limited(serve: Serve, wire: str, way: str) -> None:
    """Eight by default; then tools are off, and a model that calls all the same is not obeyed."""
    ran: list[int] = []

    @tool
    def step(n: int) -> str:
        """Take a step."""
        ran.append(n)
        return f"step {n}"

    for budget, most in ((None, 8), (Budget(tool_rounds=2), 2), (Budget(tool_rounds=1), 1)):
        ran.clear()
        server = serve(*[call("step", n=n) for n in range(20)])
        result, _ = run(agent_at(server, wire, tools=[step]), "go", way, budget=budget)
        assert (result.stop_reason, result.tool_rounds, ran) == ("tool_rounds", most, list(range(most)))
        assert result.hit_ceiling
        assert any("tool rounds" in warning for warning in result.warnings)


def test_d20_by_default_two_rounds_are_announced(serve: Serve) -> None:
    server = serve(*[call("look", n=n) for n in range(8)], text("done"))
    agent_at(server, tools=[look]).run_sync("read on")
    told = [[left for left, words in WORDS.items() if words in json.dumps(each["body"])] for each in server.requests]
    assert told[5:] == [[], [2], [2, 1], [2, 1, 0]]


def test_d20_our_words_are_not_the_users(serve: Serve) -> None:
    """`tool rounds are left`, which we say, authorises no call, nor does it in the run that goes on with it."""
    asked: list[str] = []

    @tool(name="call_needs", risk="cautious")
    def needs(what: str) -> str:
        """Call what it needs."""
        return "called"

    def ask(request: object) -> bool:
        asked.append(str(request))
        return False

    server = serve(call("look", n=1), call("call_needs", what="x"), text("done"))
    agent = agent_at(
        server,
        tools=[look, needs],
        guard=Guard(approve=Approvals(ask), on_cautious="intent"),
        budget=Budget(tool_rounds=3),
    )
    result = agent.run_sync("hello")
    assert result.tool_calls[1].failure == "denied"
    server = serve(call("call_needs", what="x"), text("done"))
    again = agent_at(server, tools=[look, needs], guard=Guard(approve=Approvals(ask), on_cautious="intent")).run_sync(
        "hello", messages=result.messages
    )
    assert again.tool_calls[0].failure == "denied"


def test_d20_wrong_numbers_are_errors(serve: Serve) -> None:
    with pytest.raises(UsageError, match="warn_rounds_left"):
        agent_at(serve("x"), monitor=Monitor(warn_rounds_left=-1))
