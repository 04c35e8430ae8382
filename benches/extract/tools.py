#!/usr/bin/env python3
"""What knowing the tools costs a reply: `extract` with 40 tools beside `extract` without any, in one run.

Prints a line of JSON for each way to give the tools: microseconds of the thread's CPU time (the shortest of many runs)
and the ratio to a reply that is read without tools. Ends with 1 where a ratio is above its aim.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from loopwright import tool
from loopwright.extraction import PreparedTools, extract

TOOLS = 40
#: How many times as long as without tools reading a reply may take.
AIMS = {"prepared": 1.25, "a list of dicts": 5.0, "a list of tools": 8.0}


def schema(at: int) -> dict[str, Any]:
    """A schema as tools of files have it."""
    properties = {
        "path": {"type": "string", "description": "Where the file is, from the top."},
        "mode": {"type": "string", "enum": ["fast", "slow"]},
        f"count_{at}": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"type": "string"}},
    }
    return {"type": "object", "properties": properties, "required": ["path"], "additionalProperties": False}


def reply() -> str:
    """400 bytes, with a call at their end."""
    call = {"name": "tool_3", "arguments": {"path": "src/a.py", "mode": "fast", "count_3": 4, "tags": ["x", "y"]}}
    written = f"<tool_call>{json.dumps(call)}</tool_call>"
    return ("Let me look. " * 40)[: 400 - len(written)] + written


def shortest(run: Callable[[], Any], times: int = 300) -> float:
    """Microseconds of one run, of the shortest series."""
    best = float("inf")
    for _ in range(9):
        start = time.thread_time_ns()
        for _ in range(times):
            run()
        best = min(best, (time.thread_time_ns() - start) / times / 1e3)
    return best


def main() -> int:
    """All ways in turn."""
    text = reply()
    definitions = [{"name": f"tool_{at}", "input_schema": schema(at)} for at in range(TOOLS)]

    def one(path: str, count: int = 1) -> str:
        """Does it."""
        return path * count

    ways = {
        "prepared": PreparedTools(definitions),
        "a list of dicts": definitions,
        "a list of tools": [tool(one, name=f"tool_{at}") for at in range(TOOLS)],
    }
    alone = shortest(lambda: extract(text))
    failed = False
    for way, tools in ways.items():
        took = shortest(lambda tools=tools: extract(text, tools))
        ratio = round(took / alone, 2)
        failed |= ratio > AIMS[way]
        line = {"tools": way, "us": round(took, 2), "without": round(alone, 2), "ratio": ratio, "aim": AIMS[way]}
        print(json.dumps(line), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
