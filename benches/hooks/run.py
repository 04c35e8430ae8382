"""What hooks cost: CPU time of a turn (a request and a tool call) in memory, with and without hooks, journal on disk.

Usage: python benches/hooks/run.py [turns] [repeats]. Prints a table; the least of the repeats counts.
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

from loopwright import Agent, Budget, Monitor, tool
from loopwright.hooks import STAGES, Hook, audit, content_safety
from loopwright.models import Call, Response


class Model:
    """Asks for one lookup a turn, then answers."""

    name = "memory"

    def __init__(self, turns: int) -> None:
        self.turns = turns

    def respond(self, request: Any) -> Response:
        turn = request.turns
        if turn < self.turns:
            return Response(calls=[Call("lookup", {"key": f"k{turn:05}"})], input_tokens=100, output_tokens=10)
        return Response("Every key was looked up.", input_tokens=100, output_tokens=10)


@tool(read_only=True, risk="safe")
async def lookup(key: str) -> str:
    """Look a key up."""
    return f"the value of {key}"


def nothing(_: Any) -> None:
    """A hook that has nothing to say."""


async def nothing_later(_: Any) -> None:
    """The same, to be awaited."""


INSIDE = [stage for stage in STAGES if not stage.endswith("_reflect")]


def cases(folder: str) -> dict[str, list[Any]]:
    """What is measured."""
    return {
        "no hooks": [],
        "`pre_llm`, `post_llm`, inline": [Hook(stage, nothing, inline=True) for stage in ("pre_llm", "post_llm")],
        "all stages of a run, inline": [Hook(stage, nothing, inline=True) for stage in INSIDE],
        "`pre_tool`, async": [Hook("pre_tool", nothing_later)],
        "`pre_tool`, in a thread": [Hook("pre_tool", nothing)],
        "all stages, in a thread": [Hook(stage, nothing) for stage in INSIDE],
        "`content_safety()`": [content_safety()],
        "`audit(path)`": [audit(os.path.join(folder, "audit.jsonl"), stages=INSIDE)],
    }


def cpu() -> float:
    """Seconds of CPU time so far, all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    print(f"| hooks | CPU ms a turn (least of {repeats} runs of {turns} turns), journal on |")
    print("| --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name, hooks in cases(folder).items():
            agent = Agent(
                Model(turns),
                tools=[lookup],
                hooks=hooks,
                monitor=Monitor(stuck=None),
                context=False,
                budget=Budget(rounds=turns + 9, tool_rounds=turns + 9),
                journal=Path(folder),
            )
            asyncio.run(agent.run("Look every key up."))
            best = float("inf")
            for _ in range(repeats):
                gc.collect()
                before = cpu()
                asyncio.run(agent.run("Look every key up."))
                best = min(best, (cpu() - before) / (turns + 1) * 1000)
            print(f"| {name} | {best:.3f} |", flush=True)


if __name__ == "__main__":
    main()
