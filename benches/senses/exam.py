"""Streams of honest work and of real loops, against the detector of repetition with its defaults.

    python benches/senses/exam.py tests/data/senses/list_1.jsonl.gz

Each line is one stream: its name, its tools, its rounds (calls with their results, or what the model said and thought),
whether it is honest, and by the end of which round a sensible operator would want a loop found. Honest streams must
never be found stuck; a loop counts as found in whichever round, and as found in time by that one.
"""

from __future__ import annotations

import gzip
import json
import sys
from typing import Any

from loopwright.monitor import StuckDetector, StuckPolicy, ToolRules


def found_in(stream: dict[str, Any]) -> tuple[int, str] | None:
    """The first round, from 1, with a verdict, and its pattern."""
    acting = {tool["name"]: ToolRules(acts=True) for tool in stream["tools"] if not tool["read_only"]}
    detector = StuckDetector(StuckPolicy(tools=acting))
    for number, turn in enumerate(stream["rounds"], 1):
        verdict = None
        for said in (turn.get("reasoning"), turn.get("text")):
            if said:
                # As it streams: in pieces.
                for at in range(0, len(said), 7):
                    verdict = verdict or detector.feed(said[at : at + 7])
                detector.end_reply()
        if turn.get("calls"):
            pairs = [
                ((call["name"], call["arguments"]), RuntimeError(call["result"]) if call["error"] else call["result"])
                for call in turn["calls"]
            ]
            verdict = verdict or detector.record_round(pairs)
        elif turn.get("text"):
            verdict = verdict or detector.record_text(turn["text"])
        if verdict is not None:
            return number, verdict.pattern
    return None


def main(path: str) -> int:
    """Prints each stream that came out wrong, and the figures."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        streams = [(stream["name"], stream) for stream in map(json.loads, lines)]
    stopped = found = in_time = 0
    for name, stream in streams:
        verdict = found_in(stream)
        if stream["kind"] == "honest":
            stopped += verdict is not None
            if verdict:
                print(f"{name}: honest, and stopped in round {verdict[0]} as {verdict[1]}")
            continue
        found += verdict is not None
        in_time += verdict is not None and verdict[0] <= stream["found_by"]
        if verdict is None or verdict[0] > stream["found_by"]:
            print(f"{name}: a loop, found in {verdict}, wanted by {stream['found_by']}")
    honest = sum(stream["kind"] == "honest" for _, stream in streams)
    print(f"honest: {stopped} of {honest} stopped; loops: {found} of {len(streams) - honest} found, {in_time} in time")
    return stopped or len(streams) - honest - found


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1]), 1))
