#!/usr/bin/env python3
"""Extraction from Python beside `json_repair` and `jiter`: prints a line of JSON for each figure.

Figures are the thread's CPU time, the shortest of many runs. Whoever isn't installed is left out; stderr says so.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import loopwright

CHUNK = 4
TOOLS = {"write": {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}}
#: What would take longer than this in one run isn't run.
PATIENCE = 20.0

clock = time.thread_time_ns


def code(size: int) -> str:
    """Source code, as the benchmarks in Rust have it."""
    lines, length, at = [], 0, 0
    while length < size:
        line = (
            f"fn step_{at}(state: &mut State, input: &str) -> Result<Step, Error> {{\n",
            '    let name = state.names.get(input).ok_or("no such name")?;\n',
            "    // What was read so far stays; the rest is read again after the next event.\n",
            f"    Ok(Step::Next {{ name, place: state.place + {at} }})\n}}\n\n",
        )[at % 4]
        lines.append(line)
        length += len(line)
        at += 1
    return "".join(lines)[:size]


def json_call(size: int) -> str:
    """A call with one long argument."""
    arguments = json.dumps({"path": "src/step.rs", "content": code(size)})
    return f'I\'ll write it.\n<tool_call>\n{{"name": "write", "arguments": {arguments}}}\n</tool_call>'


def broken(size: int) -> str:
    """An object with what models get wrong most, and no end."""
    rows, length, at = ['{"rows": [\n'], 0, 0
    while length < size:
        row = (
            f'  {{"id": {at}, "name": "the {at}th of them", "tags": ["new", "open",]}},\n',
            f'  {{id: {at}, "name": "it has a bare key" "tags": []}},\n',
            f'  {{"id": {at}, "name": \'single quotes\', "done": True}}, // checked\n',
            f'  {{"id": {at}, "name": "as it should be", "tags": ["closed"]}},\n',
        )[at % 4]
        rows.append(row)
        length += len(row)
        at += 1
    return "".join(rows)


def pieces(text: str) -> list[str]:
    """As a model's deltas have it."""
    return [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)]


def shortest(run: Callable[[], Any], budget: float = 0.7) -> float:
    """Seconds of the shortest run."""
    best, spent, times = float("inf"), 0.0, 0
    while times < 3 or spent < budget:
        start = clock()
        run()
        took = (clock() - start) / 1e9
        best, spent, times = min(best, took), spent + took, times + 1
        if spent > 5:
            break
    return best


def say(task: str, size: int, who: str, seconds: float, units: int, unit: str, right: bool = True) -> None:
    """One figure."""
    line = {"task": task, "size": size, "who": who, "seconds": seconds, "units": units, "unit": unit, "right": right}
    print(json.dumps(line), flush=True)


def streams() -> None:
    """A long argument in short pieces: ours by events, jiter by parsing anew all that came so far."""
    try:
        import jiter
    except ImportError:
        jiter = None
        print("jiter is not installed: left out", file=sys.stderr)
    slow = False
    for size in (2_000, 20_000, 200_000):
        chunks = pieces(json_call(size))

        def ours(chunks: list[str] = chunks) -> str:
            parser = loopwright.extraction.ToolCallParser(TOOLS)
            feed, call = parser.feed, None
            for chunk in chunks:
                for event in feed(chunk):
                    if event.type == "call_finished":
                        call = event.call
            for event in parser.finish():
                if event.type == "call_finished":
                    call = event.call
            return call.arguments_json if call else ""

        right = json.loads(ours())["content"] == code(size)
        say("python-json-chunks", size, "loopwright", shortest(ours), len(chunks), "chunk", right)
        if jiter is None or slow:
            continue
        arguments = json.dumps({"path": "src/step.rs", "content": code(size)})
        parts = [part.encode() for part in pieces(arguments)]

        def theirs(parts: list[bytes] = parts) -> Any:
            so_far, value = b"", None
            for part in parts:
                so_far += part
                value = jiter.from_json(so_far, partial_mode="trailing-strings")
            return value

        start = clock()
        right = theirs()["content"] == code(size)
        took = (clock() - start) / 1e9
        say("python-json-chunks", size, "jiter (arguments alone)", took, len(parts), "chunk", right)
        slow = took * 100 > PATIENCE


def single() -> None:
    """One `feed` of four characters, by itself."""
    head = '<tool_call>\n{"name": "write", "arguments": {"content": "'
    for task, before, chunk in (
        ("python-feed-in-call", head, "text"),
        ("python-feed-in-prose", "Well, ", "text"),
        ("python-feed-bytes", head, b"text"),
    ):
        times = 20_000
        best = float("inf")
        for _ in range(15):
            parser = loopwright.extraction.ToolCallParser(TOOLS)
            parser.feed(before)
            feed = parser.feed
            every = range(times)
            start = clock()
            for _ in every:
                feed(chunk)
            best = min(best, (clock() - start) / 1e9)
        say(task, CHUNK, "loopwright", best, times, "feed")

    def nothing(_chunk: str) -> list[str]:
        return []

    best = float("inf")
    for _ in range(15):
        start = clock()
        for _ in range(20_000):
            nothing("text")
        best = min(best, (clock() - start) / 1e9)
    say("python-feed-in-call", CHUNK, "an empty function of Python's own", best, 20_000, "feed")


def whole() -> None:
    """Whole replies, and mending."""
    reply = 'Let me see.\n<tool_call>\n{"name": "write", "arguments": {"path": "a", "content": "b"}}\n</tool_call>'

    def many() -> None:
        for _ in range(200):
            loopwright.extraction.extract(reply)

    say("python-extract-small", len(reply), "loopwright", shortest(many), 200, "reply")
    declared = {"tools": TOOLS}

    def with_tools() -> None:
        for _ in range(200):
            loopwright.extraction.extract(reply, **declared)

    say("python-extract-small", len(reply), "loopwright, a tool declared", shortest(with_tools), 200, "reply")
    large = json_call(200_000)
    say(
        "python-extract",
        200_000,
        "loopwright",
        shortest(lambda: loopwright.extraction.extract(large)),
        len(large),
        "byte",
    )

    def makes() -> None:
        for _ in range(200):
            loopwright.extraction.ToolCallParser()

    say("python-new", 1, "loopwright", shortest(makes), 200, "parser")

    repair = loopwright.extraction.repair_json
    try:
        import json_repair
    except ImportError:
        json_repair = None
        print("json_repair is not installed: left out", file=sys.stderr)
    slow = False
    for size in (2_000, 20_000, 200_000):
        text = broken(size)
        right = bool(json.loads(repair(text).json))
        say("python-repair", size, "loopwright", shortest(lambda text=text: repair(text)), len(text), "byte", right)
        if json_repair is None or slow:
            continue
        start = clock()
        right = bool(json.loads(json_repair.repair_json(text)))
        took = (clock() - start) / 1e9
        say("python-repair", size, "json_repair", took, len(text), "byte", right)
        slow = took * 10 > PATIENCE


if __name__ == "__main__":
    single()
    streams()
    whole()
