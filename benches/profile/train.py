"""What the compiler is shown: runs of an agent against each of the three protocols, over a real socket.

`make profile` runs this with an instrumented build of the extension module. One run alone, many at once, streamed and
not, with text beside the calls and two calls at once now and then, journals written; a model in memory; a stream that
breaks off. It checks that every run ended as it should: the profile of something broken would be worse than none.

Usage: python benches/profile/train.py [one in how many of the conversations, 1 for all]
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from typing import Any

from loopwright import Agent, Budget, Model, Result, tool
from loopwright.events import RunFinished
from loopwright.models import Call
from loopwright.testing import Reply, ScriptedModel, WireServer, call, calls, fault, text

PROMPT = "Look every key up, then say so."
FINAL = (
    "Every key was looked up, every value was found, and nothing is left to do for this task. The values differ from "
    "one key to the next, as they should: **alpha** comes first, then the others in the order in which they were asked."
)
TURNS = 10
# Conversations of each kind for each protocol. The more there are, the less what happens once a process counts for.
ALONE, TOGETHER, STREAMED = 150, 100, 60
BUDGET = Budget(tool_rounds=1_000, rounds=1_000, wall_time=600)


@tool(read_only=True)
async def lookup(key: str, limit: int = 3) -> str:
    """Look a key up."""
    return f"value of {key}, the first {limit}"


@tool(risk="safe")
def note(line: str) -> str:
    """Write a line down."""
    return f"noted: {line}"


def script() -> list[Reply]:
    """Ten rounds of calls, then the answer."""
    steps = []
    for turn in range(TURNS):
        if turn == 3:
            pair = Call("lookup", {"key": "left"}), Call("lookup", {"key": "right", "limit": 7})
            steps.append(calls(*pair, text="Two of them can be looked up at once."))
        elif turn == 6:
            steps.append(call("note", line='halfway: "alpha" and \u00e4 few more'))
        else:
            steps.append(call("lookup", key=f"key-{turn:05}"))
    return [*steps, text(FINAL)]


def serve() -> None:
    """The provider, in a process of its own: it is not what the compiler should look at."""
    breaks_off = [text(FINAL).but(fault.cut(after=4)), text(FINAL)] * 40
    with WireServer(script(), by_turn=True) as whole, WireServer(breaks_off) as cut:
        print(whole.url, cut.url, flush=True)
        sys.stdin.read()


def ended(result: Result) -> None:
    """Refuses a run that is not what the script says."""
    if result.final != FINAL or result.rounds not in {1, TURNS + 1}:
        sys.exit(f"a run ended otherwise: {result!r}")


async def streamed(agent: Agent) -> None:
    last = None
    async for event in agent.stream(PROMPT):
        last = event
    if not isinstance(last, RunFinished):
        sys.exit(f"a stream ended with {last!r}")
    ended(last.result)


async def spoken_to(provider: str, url: str, cut: str, journals: str, one_in: int) -> None:
    """All kinds of runs with one protocol."""
    options: dict[str, Any] = {"tools": [lookup, note], "budget": BUDGET}
    agent = Agent(Model(f"{provider}:fake", base_url=url, api_key="k"), journal=journals, **options)
    for _ in range(ALONE // one_in):
        ended(await agent.run(PROMPT))
    for result in await asyncio.gather(*[agent.run(PROMPT) for _ in range(TOGETHER // one_in)]):
        ended(result)
    for _ in range(STREAMED // one_in):
        await streamed(agent)
    await asyncio.gather(*[streamed(agent) for _ in range(STREAMED // one_in)])
    broken = Agent(Model(f"{provider}:fake", base_url=cut, api_key="k"), **options)
    for _ in range(max(1, 4 // one_in)):
        await streamed(broken)


async def in_memory(one_in: int) -> None:
    """The loop alone."""
    agent = Agent(ScriptedModel(script(), by_turn=True, keep_requests=False), tools=[lookup, note], budget=BUDGET)
    for _ in range(ALONE // one_in):
        ended(await agent.run(PROMPT))


def main() -> None:
    if sys.argv[1:] == ["serve"]:
        serve()
        return
    one_in = int(sys.argv[1]) if sys.argv[1:] else 1
    unseen = {**os.environ, "LLVM_PROFILE_FILE": os.devnull}
    server = subprocess.Popen(
        [sys.executable, __file__, "serve"], env=unseen, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdin is not None
    assert server.stdout is not None
    whole, cut = server.stdout.readline().split()
    try:
        with tempfile.TemporaryDirectory() as journals:
            for provider in ("openai-chat", "anthropic", "openai"):
                asyncio.run(spoken_to(provider, whole, cut, journals, one_in))
            asyncio.run(in_memory(one_in))
    finally:
        server.stdin.close()
        server.wait()


if __name__ == "__main__":
    main()
