"""llmock, a provider that breaks on purpose and grades its client: each wire under each fault, streamed and whole.

A cell is one run of an agent with a tool against a server of its own; its verdict is llmock's, and the run must end as
the fault lets it: with the whole answer where a second attempt gets one, with a typed failure where none does.
"""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from llmock.scenarios import Delay, Fail, Reply, SlowFirstToken, StreamFault, ToolCall, ToolFault
from llmock.testing import LLMockServer
from llmock.verdict import judge
from loopwright import Agent, LoopwrightError, Model, tool
from outcome import Cell

WIRES = {
    "anthropic": ("anthropic:claude-sonnet-4-5", "anthropic"),
    "openai_chat": ("openai-chat:gpt-4.1", "openai"),
    "openai_responses": ("openai-responses:gpt-4.1", "openai"),
    "gemini": ("gemini:gemini-2.5-flash", "gemini"),
    "mistral": ("mistral:mistral-large-latest", "mistral"),
    "groq": ("groq:llama-3.3-70b-versatile", "groq"),
    "together": ("together:meta-llama/Llama-3.3-70B-Instruct-Turbo", "together"),
    "xai": ("xai:grok-4", "xai"),
}
SAID = "The answer of the model, long enough to come in several pieces, ends with a word: finished."


@tool(read_only=True)
def population(city: str) -> int:
    "How many people live in a city."
    return 717_710


@dataclass(frozen=True)
class Fault:
    """What breaks, and how a run may end then."""

    name: str
    behaviors: tuple[Any, ...]
    codes: frozenset[str] = frozenset()
    streams: bool = False
    options: dict[str, Any] = field(default_factory=dict)


def fails(status: int, *codes: str, times: int | None = 1, retry_after: float | None = None) -> Fault:
    name = f"status {status}" + (" for ever" if times is None else "") + (", retry-after" if retry_after else "")
    return Fault(name, (Fail(status, retry_after=retry_after, times=times),), frozenset(codes))


FAULTS = [
    Fault("none", ()),
    fails(429, retry_after=0.5),
    fails(429),
    fails(500),
    fails(502),
    fails(503),
    fails(529),
    fails(503, "overloaded", "server", "unavailable", times=None),
    fails(400, "bad_request"),
    fails(401, "auth"),
    fails(403, "permission", "auth"),
    fails(404, "not_found"),
    fails(422, "bad_request", "invalid_request"),
    Fault("slow answer", (Delay(0.3),)),
    Fault("slow first token", (SlowFirstToken(0.5),), streams=True),
    Fault("disconnect", (StreamFault("disconnect", 2),), streams=True),
    Fault("truncate", (StreamFault("truncate", 2),), streams=True),
    Fault("truncate at once", (StreamFault("truncate", 0),), streams=True),
    Fault("malformed", (StreamFault("malformed", 2),), streams=True),
    Fault("stall", (StreamFault("stall", 2, stall_seconds=30),), streams=True, options={"timeouts": {"idle": 2.0}}),
    Fault("arguments that are no JSON", (ToolFault("malformed_arguments"),)),
    Fault("a tool that was never offered", (ToolFault("unknown_tool"),)),
    Fault("a call, then a disconnect", (Reply(tool_calls=(ToolCall("population", {"city": "Oslo"}),)),
                                        StreamFault("disconnect", 1)), streams=True),
]  # fmt: skip


def run(wire: str, fault: Fault, streamed: bool) -> Cell:
    name, provider = WIRES[wire]
    with LLMockServer() as server:
        state = server.state
        # Where the tool call itself is at fault, the server makes it up, and the answer behind it.
        made_up = any(isinstance(behavior, ToolFault) for behavior in fault.behaviors)
        state.scenarios.add(*fault.behaviors, *([] if made_up else [Reply(text=SAID, times=None)]))
        retry = {"attempts": 4, "base": 0.5, "cap": 2.0}
        model = Model(name, base_url=server.base_url(provider), api_key="k", retry=retry, **fault.options)
        agent = Agent(model, tools=[population])
        ended = ""
        final: str | None = None
        try:
            result = asyncio.run(_streamed(agent)) if streamed else agent.run_sync("How many people live in Oslo?")
            final = result.final
            ended = result.error.code if result.error is not None else str(result.stop_reason)
        except LoopwrightError as error:
            ended = error.code
        verdict = judge(state.journal.records())
    wrong = [f"{finding.severity} {finding.code}" for finding in verdict.findings]
    if fault.codes:
        if ended not in fault.codes:
            wrong.append(f"ended as {ended}, not {' or '.join(sorted(fault.codes))}")
    elif final is None or (not made_up and final != SAID):
        wrong.append(f"ended as {ended} with {final!r:.80}")
    return Cell("llmock", wire, f"{fault.name}, {'streamed' if streamed else 'whole'}", wrong)


async def _streamed(agent: Agent[Any]) -> Any:
    async with agent.stream("How many people live in Oslo?") as stream:
        async for _ in stream:
            pass
        return stream.result


def cells(only: str = "") -> list[Cell]:
    jobs = [
        (wire, fault, streamed)
        for wire in WIRES
        for fault in FAULTS
        for streamed in ([True] if fault.streams else [False, True])
        if only in f"{wire} {fault.name}"
    ]
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda job: judged(*job), jobs))


def judged(wire: str, fault: Fault, streamed: bool) -> Cell:
    """A cell, which is looked at again where llmock only warned: a second attempt that begins before its server has
    seen the first one's connection closed counts as another call there, and the first as one that gave up.
    """
    cell = run(wire, fault, streamed)
    warned = cell.wrong and all(wrong.startswith("warning ") for wrong in cell.wrong)
    return run(wire, fault, streamed) if warned else cell


if __name__ == "__main__":
    for cell in cells(sys.argv[1] if len(sys.argv) > 1 else ""):
        if cell.wrong:
            print(cell.wire, "|", cell.case, "|", "; ".join(cell.wrong))
