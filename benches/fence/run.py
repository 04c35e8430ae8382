"""What the fence costs: the same command behind it and without it, in turn, in one run.

`python benches/fence/run.py` prints the median time of `true` by the built-in shell, and of a build step that does some
work of its own (`python -c pass`), both ways, with their ratio.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time

from loopwright._core import fence_support
from loopwright.tools import ToolSet
from loopwright.tools.builtin import builtin_tools

ROUNDS = 200
COMMANDS = {"true": "true", "python": f"{sys.executable} -c pass"}


async def seconds(tools: ToolSet, command: str) -> float:
    """The time of one command."""
    began = time.perf_counter()
    outcome = await tools["shell"].run({"command": command})
    took = time.perf_counter() - began
    if "exit code 0" not in outcome.text:
        raise SystemExit(outcome.text)
    return took


async def measure(folder: str) -> None:
    """Prints a line for each command."""
    fenced, free = (ToolSet(builtin_tools(folder, sandbox=on)) for on in (True, False))
    for name, command in COMMANDS.items():
        times: dict[bool, list[float]] = {True: [], False: []}
        for at in range(ROUNDS + 10):
            for on in (True, False) if at % 2 else (False, True):
                took = await seconds(fenced if on else free, command)
                if at >= 10:  # noqa: PLR2004 - the first warm the caches
                    times[on].append(took)
        behind, without = (statistics.median(times[on]) * 1000 for on in (True, False))
        print(f"{name:8} behind the fence {behind:.2f} ms, without {without:.2f} ms, ratio {behind / without:.2f}")


def main() -> None:
    """Measures, where there is a fence."""
    missing = fence_support()[2]
    if missing is not None:
        raise SystemExit(f"there is no fence here: {missing}")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(folder))


if __name__ == "__main__":
    main()
