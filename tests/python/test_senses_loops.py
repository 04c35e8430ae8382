"""K2 to K5: what hides a loop, and what only looks like one, in an agent."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest
from loopwright import Agent, Budget, Monitor, UsageError, tool
from loopwright.models import Response
from loopwright.monitor import StuckPolicy, ToolRules
from loopwright.testing import ScriptedModel, call, response, text
from ways import agent_at

BUDGET = Budget.by_progress()
NUMBERS = itertools.count(1)


@tool
def send(to: str, text: str) -> dict[str, Any]:
    """Send a message."""
    return {"ok": True, "messageId": f"{next(NUMBERS):x}-a7"}


@tool
def order(part: str) -> dict[str, Any]:
    """Order a part."""
    return {"receipt": f"R{next(NUMBERS)}"}


def run(tools: list[Any], script: list[Any], **options: Any) -> Any:
    return Agent(ScriptedModel(script), tools=tools, budget=BUDGET, **options).run_sync("Do it.")


def test_k5_the_same_message_under_fresh_ids_ends() -> None:
    result = run([send], [call("send", to="sam", text="late") for _ in range(20)])
    assert (result.stop_reason, len(result.tool_calls) < 6) == ("no_progress", True)


def test_k5_what_a_tool_declares() -> None:
    policy = StuckPolicy(tools={"order": ToolRules(volatile=["receipt"])})
    script = [call("order", part="bolt") for _ in range(20)]
    declared = run([order], script, monitor=Monitor(stuck=policy))
    learned = run([order], script)
    assert (declared.stop_reason, learned.stop_reason) == ("no_progress", "no_progress")
    assert len(declared.tool_calls) < len(learned.tool_calls)


@pytest.mark.parametrize("words", ["HTTP 503 Service Unavailable", "429 Too Many Requests", "connection refused"])
def test_k3_a_service_that_is_down_is_no_loop(words: str) -> None:
    @tool(read_only=True)
    def fetch(order: int) -> str:
        """Fetch an order."""
        raise ConnectionError(words)

    result = run([fetch], [*(call("fetch", order=number) for number in range(6)), "The shop is down."])
    assert (result.stop_reason, result.text) == ("natural", "The shop is down.")
    assert "with the same error" not in "".join(str(message) for message in result.messages)


@pytest.mark.parametrize(
    ("action", "reason", "told"),
    [("warn", "no_progress", True), ("end", "no_progress", False), ("tell", "natural", True)],
)
def test_a_policy_says_what_happens(action: Any, reason: str, told: bool) -> None:
    @tool(read_only=True)
    def state() -> str:
        """Say how it is."""
        return "idle"

    script = [*(call("state") for _ in range(6)), "It is idle."]
    policy = StuckPolicy(on={"repeated_call": action})
    result = run([state], script, monitor=Monitor(stuck=policy))
    words = "".join(str(message) for message in result.messages)
    assert (result.stop_reason, "with the same arguments" in words) == (reason, told)


@pytest.mark.parametrize("on", [{"loop": "tell"}, {"cycle": "stop"}, ["cycle"]])
def test_wrong_actions_are_typed_errors(on: Any) -> None:
    with pytest.raises(UsageError) as raised:
        StuckPolicy(on=on)
    assert raised.value.code == "invalid_option"


THOUGHT = "Let me look at the dates once more before I say anything. "


@pytest.mark.timeout(30)
def test_k2_reasoning_that_repeats_itself_is_cut_while_it_streams(serve: Any, wire: str) -> None:
    # The server stalls long before its thoughts are over: only a cut gets past it.
    endless = replace(response(Response("Monday.", reasoning=THOUGHT * 400)), fault={"stall_after": {"events": 300}})
    server = serve(endless, text("Monday."))
    result = agent_at(server, wire).run_sync("When was it?", on_event=lambda _: None)
    assert (result.stop_reason, result.text) == ("natural", "Monday.")
    assert len(server.requests) == 2
    assert "says the same" in json.dumps(server.requests[1]["body"])


def test_k5_what_a_decorated_tool_declares() -> None:
    @tool(volatile=["visitors"])
    def page(name: str) -> dict[str, Any]:
        """Look at a page."""
        return {"visitors": next(NUMBERS), "text": "closed"}

    result = run([page], [call("page", name="home") for _ in range(20)])
    assert (result.stop_reason, len(result.tool_calls) < 6) == ("no_progress", True)
    with pytest.raises(UsageError, match="volatile"):
        tool(volatile="visitors")(lambda: 1)
