"""What the detector says about real runs: one line for each run, and what it saw where it spoke.

python benches/senses/trajectories.py FOLDER [--long]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from loopwright.monitor import StuckDetector, StuckPolicy


def rounds(messages: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """A run as what the detector takes: `user`, `text` and `round`, in order."""
    found: list[tuple[str, Any]] = []
    results = {m.get("tool_call_id"): m for m in messages if m["role"] == "tool"}
    for message in messages:
        calls = message.get("tool_calls") or []
        if message["role"] == "user":
            found.append(("user", message["content"]))
        elif message["role"] == "assistant" and calls:
            pairs = []
            for call in calls:
                result = results.get(call["id"])
                if result is not None:
                    pairs.append((call, {"content": result["content"], "is_error": bool(result.get("is_error"))}))
            found.append(("round", pairs))
        elif message["role"] == "assistant":
            found.append(("text", message["content"] or ""))
    return found


def verdicts(messages: list[dict[str, Any]], policy: StuckPolicy | None = None) -> list[tuple[int, int, Any]]:
    """Where a pattern was found: call rounds, the place in the run, the verdict. A pattern that goes on counts once."""
    detector = StuckDetector(policy)
    found: list[tuple[int, int, Any]] = []
    count, on = 0, None
    for at, (kind, what) in enumerate(rounds(messages)):
        if kind == "user":
            detector.reset()
            on = None
            continue
        if kind == "text":
            said = detector.feed(what)
            detector.end_reply()
            verdict = said or detector.record_text(what)
        else:
            count += 1
            verdict = detector.record_round(what)
        if verdict is None:
            on = None
        elif on is not None and on == verdict.pattern:
            found[-1] = (found[-1][0], found[-1][1], verdict)
        else:
            found.append((count, at, verdict))
            on = verdict.pattern
    return found


def main() -> None:
    folder = Path(sys.argv[1])
    long = "--long" in sys.argv
    for path in sorted(folder.glob("*.json")):
        if path.name == "index.json":
            continue
        run = json.loads(path.read_text(encoding="utf-8"))
        calls = sum(len(pairs) for kind, pairs in rounds(run["messages"]) if kind == "round")
        found = verdicts(run["messages"])
        print(f"{path.stem}: {calls} calls, {len(found)} verdicts")
        for at, _, verdict in found:
            print(f"    round {at}: {verdict.pattern}, {verdict.rounds} rounds: {verdict.sentence}")
            if long:
                for member in verdict.members:
                    print(f"        {member.tool} {member.arguments!r}")


if __name__ == "__main__":
    main()
