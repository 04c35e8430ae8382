"""All at once: hooks, sub-agents, pauses, budgets, streams that break, people who are slow, roles that answer rubbish."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from loopwright import (
    Agent,
    Budget,
    ContextPolicy,
    Guard,
    LoopwrightError,
    Model,
    Monitor,
    SubAgent,
    events,
    replay,
    tool,
)
from loopwright.hooks import STAGES, AddContext, Hook, HookContext, Replace, Veto
from loopwright.models import Call
from loopwright.roles import Role, Sanity
from loopwright.testing import WireServer, call, calls, fault, recorded, text
from ways import KEY, agent_at, run

Serve = Callable[..., WireServer]
RUBBISH = ["", "{", "null", "[]", '{"facts":7}', "x" * 5000, '{"on_track": "maybe"}', "```json\n{}\n```"]
FAULTS = [
    lambda: fault.cut(after=3),
    lambda: fault.ends(after=2),
    lambda: fault.error_event(after=1),
    fault.malformed,
    lambda: fault.status(529),
    lambda: fault.status(429, retry_after=0.01),
]


@tool(read_only=True)
def look(n: int = 0) -> str:
    """Looks."""
    return f"seen {n}"


@tool(risk="confirm")
def rm(path: str = "x") -> str:
    """Removes."""
    return f"{path} is gone"


@tool(read_only=True, timeout=0.05)
def hangs() -> str:
    """Hangs."""
    time.sleep(0.3)
    return "late"


class Chaos:
    """A world, drawn from a number."""

    def __init__(self, seed: int, serve: Serve) -> None:
        self.draw = draw = random.Random(seed)  # noqa: S311 - the same world each time
        self.budget = Budget(
            rounds=draw.choice([2, 4, 12]),
            tool_rounds=draw.choice([1, 3, 8]),
            approvals=draw.choice([0, 1, 5]),
            tokens=draw.choice([None, None, 3000]),
            wall_time=draw.choice([60.0, 60.0, 0.5]),
            cost=draw.choice([None, None, 0.00005]),
        )
        main = serve(*(self.reply(0) for _ in range(14)), "end", repeat_last=True)
        children = serve(*(self.reply(1) for _ in range(30)), "end", repeat_last=True)
        said = (text(draw.choice(RUBBISH)).after(draw.choice([0, 0, 0.05, 3])) for _ in range(20))
        role = {"base_url": serve(*said, repeat_last=True).url, "api_key": KEY, "timeout": 0.3}
        roles: Any = {
            "context": ContextPolicy(summarizer=Role("openai-chat:s", **role)),  # type: ignore[arg-type]
            "monitor": Monitor(
                sanity=Sanity("openai-chat:c", interval=1, wait=draw.random() < 0.3, **role)  # type: ignore[arg-type]
            ),
        }
        stages = [stage for stage in STAGES if not stage.endswith("reflect")]
        child = Model("openai-chat:k", base_url=children.url, api_key=KEY)
        self.agent: Agent[Any, Any] = Agent(
            Model("anthropic:m", base_url=main.url, api_key=KEY, price={"input": 1.0, "output": 5.0}),
            tools=[look, rm, hangs],
            agents=[SubAgent(n, tools=[look, rm, hangs], model=child) for n in "ab"],
            hooks=[self.hook(stage) for stage in draw.sample(stages, draw.randint(0, 4))],
            guard=Guard(approve=self.approve, timeout=0.2),
            **(roles if draw.random() < 0.7 else {}),
        )

    def reply(self, depth: int) -> Any:
        draw, kind = self.draw, self.draw.random()
        if kind < 0.35:
            reply = text(draw.choice(["done", "all fine", "I am not sure. What now?", ""]))
        elif kind < 0.6:
            names = [draw.choice(["look", "hangs", "nope"]) for _ in range(draw.randint(1, 3))]
            reply = calls(*(Call(name, {"n": draw.randrange(3)} if draw.random() < 0.8 else {}) for name in names))
        elif kind < 0.75 or depth:
            reply = call("rm", path=str(draw.randrange(3)))
        else:
            spawned = [Call("spawn", {"agent": draw.choice("ab"), "task": "t"}) for _ in range(draw.randint(1, 3))]
            reply = calls(*spawned)
        if draw.random() < 0.12:
            reply = reply.but(draw.choice(FAULTS)())
        return reply.slowly(0.002) if draw.random() < 0.3 else reply

    def hook(self, stage: str) -> Hook:
        def acts(context: HookContext) -> Any:
            kind = self.draw.random()
            if kind < 0.04:
                raise ValueError("it broke")
            if kind < 0.07:
                time.sleep(0.08)
            return {0: AddContext("by the way"), 1: Veto("no"), 2: Replace("z")}.get(int(kind * 20) - 2)

        return Hook(stage, acts, timeout=0.05, on_error=self.draw.choice(["skip", "skip", "stop"]))

    def approve(self, _question: Any) -> Any:
        time.sleep(self.draw.choice([0, 0, 0.02, 0.3]))
        return self.draw.choice([True, False, "abort", "once", 7])

    async def meddle(self, handle: Any) -> None:
        for _ in range(self.draw.randint(0, 3)):
            await asyncio.sleep(self.draw.random() * 0.15)
            kind = self.draw.random()
            if kind < 0.5:
                handle.pause()
                await asyncio.wait_for(handle.until_paused(), 5)
                handle.resume()
            elif kind < 0.6:
                handle.cancel()
            elif kind < 0.7:
                handle.interrupt()

    async def run(self) -> tuple[Any, list[Any]]:
        handle = self.agent.start("Look at it and remove x, please.", budget=self.budget, journal=True)
        meddling = asyncio.ensure_future(self.meddle(handle))
        told = [event async for event in handle.events()]
        try:
            result = await asyncio.wait_for(handle, 20)
        except LoopwrightError as error:
            result = error.result  # type: ignore[attr-defined]
        await meddling
        return result, told


@pytest.mark.parametrize("seed", range(24))
def test_d45_x01_whatever_comes_together_a_run_ends_within_its_budget_and_replays(serve: Serve, seed: int) -> None:
    chaos = Chaos(seed, serve)
    result, told = asyncio.run(asyncio.wait_for(chaos.run(), 40))
    assert replay(result.journal).identical
    waiting: list[str] = []
    for message in result.messages:
        blocks = message.to_dict()["content"]
        results = [block["id"] for block in blocks if block["type"] == "tool_result"]
        assert results == waiting, "each call has its one result, right behind it"
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert waiting == []
    budget = chaos.budget
    assert result.rounds <= budget.rounds
    assert budget.tokens is None or result.usage.total_tokens <= budget.tokens + 1500, "a round of answers, at most"
    numbers = [event.event_id for event in told]
    assert numbers == sorted(set(numbers))
    assert isinstance(told[-1], events.RunFinished)
    begun = sorted(event.child for event in told if isinstance(event, events.AgentStarted))
    assert begun == sorted(event.child for event in told if isinstance(event, events.AgentFinished))


def wipes(wire: str, depth: int) -> Any:
    """A reply that calls `wipe`, with arguments as they are written."""
    arguments = '{"path": "/etc", "more": ' + "[" * depth + "]" * depth + "}"
    if wire == "gemini":
        part = '{"functionCall": {"name": "wipe", "args": ' + arguments + "}}"
        content = f'{{"role": "model", "parts": [{part}]}}'
        return recorded(
            200, "application/json", f'{{"candidates": [{{"content": {content}, "finishReason": "STOP"}}]}}'
        )
    if wire == "bedrock":
        block = '{"toolUse": {"toolUseId": "c1", "name": "wipe", "input": ' + arguments + "}}"
        message = f'{{"role": "assistant", "content": [{block}]}}'
        return recorded(200, "application/json", f'{{"output": {{"message": {message}}}, "stopReason": "tool_use"}}')
    if not wire.startswith("anthropic"):
        return calls(Call("wipe", arguments))
    block = '{"type": "tool_use", "id": "t", "name": "wipe", "input": ' + arguments + "}"
    head = '{"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use", '
    return recorded(200, "application/json", f'{head}"content": [{block}], "usage": {{}}}}')


@pytest.mark.parametrize("depth", [101, 130, 5_000, 200_000])
def test_d10_arguments_nested_too_deep_reach_no_tool_and_end_no_run(
    serve: Any, wire: str, way: str, depth: int
) -> None:
    """A guard that saw nothing in them would let anything through, and who reads them by recursion would fall."""
    ran = []

    @tool(risk="confirm")
    def wipe(path: str, more: Any = None) -> str:
        """Wipes."""
        ran.append(path)
        return "wiped"

    server = serve(wipes(wire, depth), text("I did not."))
    result, _ = run(agent_at(server, wire, tools=[wipe], guard=lambda _: True), "go", way)
    assert result.final == "I did not."
    assert ran == []
    if depth > 400 and wire in ("anthropic", "gemini", "bedrock"):
        assert not result.tool_calls, "the whole answer is nested too deep"
    else:
        assert [(each.failure, each.arguments) for each in result.tool_calls] == [("invalid_arguments", {})]
    assert result.to_dict()


def test_d10_arguments_of_a_fair_depth_are_judged_and_run(serve: Any, wire: str) -> None:
    ran = []

    @tool(risk="confirm")
    def wipe(path: str, more: Any = None) -> str:
        """Wipes."""
        ran.append(path)
        return "wiped"

    server = serve(wipes(wire, 99), text("I did."))
    result, _ = run(agent_at(server, wire, tools=[wipe], guard=lambda _: True), "go", "run")
    assert (result.final, ran) == ("I did.", ["/etc"])


def test_an_answer_nested_too_deep_is_a_typed_failure(serve: Any, wire: str, way: str) -> None:
    deep = "[" * 50_000 + "]" * 50_000
    body = '{"id": "x", "content": [], "choices": [], "output": [], "more": ' + deep + "}"
    server = serve(recorded(200, "application/json", body), text("Here."))
    result, _ = run(agent_at(server, wire), "go", way)
    assert result.final == "Here."
