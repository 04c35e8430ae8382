"""What the rules of sanity say about real runs, and about the same runs with a fault put into them.

python benches/senses/sanity.py FOLDER [--show]

Every run is cut into windows: its first request, and some rounds of it. A window of a run in which nobody has marked a
cycle counts as sane; each window also gets one fault of each kind at its end: the last call again and again, a cycle of
two, calls that fail alike, rounds of another run, a file that was to be left alone, success said over a failure. Runs
are halved by name before anything is looked at: rules may be mended by the first half alone, the second is held out.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from loopwright.roles import check_sanity

WINDOWS = (6, 12, 24)
Round = list[dict[str, Any]]

ERRORS = [
    "Traceback (most recent call last):\n  File \"run.py\", line {n}\nModuleNotFoundError: No module named 'tomli'",
    "bash: line {n}: permission denied: ./configure",
    "Exit code 127\n/bin/bash: line 1: gmake: command not found",
    "error[E0432]: unresolved import `crate::wire`\n  --> src/main.rs:{n}:5",
]


def rounds_of(messages: list[dict[str, Any]]) -> tuple[str, list[Round]]:
    """The last request that is followed by work, and its rounds."""
    best: tuple[str, list[Round]] = ("", [])
    asked, rounds = "", list[Round]()
    results = {m.get("tool_call_id"): m for m in messages if m["role"] == "tool"}
    said = ""
    for message in messages:
        if message["role"] == "user":
            asked, rounds, said = str(message["content"]), [], ""
        elif message["role"] == "assistant":
            calls = [call for call in message.get("tool_calls") or [] if call["id"] in results]
            if not calls:
                said = message.get("content") or ""
                continue
            text = message.get("content") or said
            said = ""
            pairs = [(call, results[call["id"]]) for call in calls]
            rounds.append(
                [
                    {
                        "said": text,
                        "name": call["name"],
                        "arguments": call["arguments"] if isinstance(call["arguments"], dict) else {"x": str(call)},
                        "result": str(result["content"]),
                        "failed": bool(result.get("is_error")),
                    }
                    for call, result in pairs
                ]
            )
        if len(rounds) > len(best[1]):
            best = (asked, list(rounds))
    return best


def messages_of(asked: str, rounds: list[Round], last: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": asked}]}]
    for number, calls in enumerate(rounds):
        reply: list[dict[str, Any]] = [{"type": "text", "text": calls[0]["said"]}] if calls[0]["said"].strip() else []
        results = []
        for place, call in enumerate(calls):
            name = f"c{number}_{place}"
            reply.append({"type": "tool_use", "id": name, "name": call["name"], "input": call["arguments"]})
            block: dict[str, Any] = {
                "type": "tool_result",
                "id": name,
                "name": call["name"],
                "content": [{"type": "text", "text": call["result"]}],
            }
            if call["failed"]:
                block["is_error"] = True
            results.append(block)
        found += [{"role": "assistant", "content": reply}, {"role": "user", "content": results}]
    if last:
        found.append({"role": "assistant", "content": [{"type": "text", "text": last}]})
    return found


def changed(call: dict[str, Any]) -> str | None:
    """A file that the call writes, where that is plain."""
    command = str(call["arguments"].get("command", ""))
    found = re.search(r"(?:sed -i\S*(?: -e)? (?:'[^']*'|\"[^\"]*\") |> ?)([\w./-]+\.\w{1,5})\b", command)
    if found and "/dev/" not in found.group(1):
        return found.group(1)
    path = call["arguments"].get("path") or call["arguments"].get("file_path")
    if isinstance(path, str) and re.search(r"edit|write|create|replace", call["name"], re.IGNORECASE):
        return path
    return None


def faults(asked: str, rounds: list[Round], others: list[Round], chance: random.Random) -> dict[str, Any]:
    """The window with a fault of each kind, where it can have one."""
    found: dict[str, Any] = {}
    last = rounds[-1]
    found["loop"] = messages_of(asked, [*rounds, *([last] * chance.randint(3, 5))])
    if len(rounds) > 1 and rounds[-1] != rounds[-2]:
        found["loop of two"] = messages_of(asked, [*rounds, *(rounds[-2:] * 3)])
    error = chance.choice(ERRORS)
    flagged = chance.random() < 0.5
    tries = []
    for n in range(chance.randint(4, 6)):
        call = dict(last[0], result=error.format(n=n + 3), failed=flagged, said="")
        call["arguments"] = {**call["arguments"], "attempt": n}
        tries.append([call])
    found["stuck"] = messages_of(asked, [*rounds, *tries])
    if len(others) >= 5:
        start = chance.randrange(len(others) - 4)
        found["drift"] = messages_of(asked, [*rounds, *others[start : start + 5]])
    files = [name for calls in rounds for call in calls if not call["failed"] and (name := changed(call))]
    if files:
        name = chance.choice(files)
        words = chance.choice(["Do not modify {}.", "Leave {} alone.", "You must not change {}."])
        found["forbidden file"] = messages_of(f"{asked}\n\n{words.format(name)}", rounds)
    failed = [dict(last[0], result=f"FAILED tests/test_all.py::test_{len(asked)}\n1 failed, 12 passed", failed=True)]
    words = chance.choice(["All done: the issue is fixed.", "The task is complete, all tests pass.", "Done!"])
    found["said over a failure"] = messages_of(asked, [*rounds, failed], words)
    return found


# A call that fails again and again is either.
CIRCLES = {"loop", "stuck"}
WANTED = {
    "loop": CIRCLES,
    "loop of two": CIRCLES,
    "stuck": CIRCLES,
    "drift": {"drift"},
    "forbidden file": {"contradiction"},
    "said over a failure": {"contradiction"},
}


def main() -> None:
    folder, show = Path(sys.argv[1]), "--show" in sys.argv
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    cycles = {each["file"] for each in index if each["label_exact_cycle"] or each["label_near_cycle"]}
    runs = []
    for path in sorted(folder.glob("*.json")):
        if path.name != "index.json":
            asked, rounds = rounds_of(json.loads(path.read_text(encoding="utf-8"))["messages"])
            if len(rounds) >= 4 and path.name not in cycles:
                runs.append((path.stem, asked, rounds))
    for half, name in enumerate(("the half that rules may be mended by", "the half that was held out")):
        mine = runs[half::2]
        chance = random.Random(half)  # noqa: S311 - the same faults each time
        counts: Counter[tuple[str, str]] = Counter()
        sane = alarms = 0
        kinds: Counter[str] = Counter()
        for at, (run, asked, rounds) in enumerate(mine):
            # A donor from elsewhere: another run on the same project is no drift.
            project = run.rsplit("-", 1)[0]
            donors = [other for other in mine if other[0].rsplit("-", 1)[0] != project]
            others = donors[at % len(donors)][2]
            for length in WINDOWS:
                for start in range(0, max(1, len(rounds) - length + 1), length):
                    window = rounds[start : start + length]
                    sane += 1
                    found = check_sanity(messages_of(asked, window))
                    if found.concerns:
                        alarms += 1
                        kinds.update(each.kind for each in found.concerns)
                        if show:
                            print(f"  {run} {start}+{length}: {[(c.kind, c.text[:160]) for c in found.concerns]}")
                    for kind, messages in faults(asked, window, others, chance).items():
                        said = {each.kind for each in check_sanity(messages).concerns}
                        counts[kind, "all"] += 1
                        counts[kind, "seen"] += bool(WANTED[kind] & said)
                        if show and not WANTED[kind] & said:
                            print(f"  missed {kind}: {run} {start}+{length}, said {said or 'nothing'}")
        faulty = sum(count for (_, what), count in counts.items() if what == "all")
        seen = sum(count for (_, what), count in counts.items() if what == "seen")
        rate = alarms / sane
        recall = seen / faulty
        print(f"{name}: {len(mine)} runs, {sane} windows, {faulty} faults")
        print(f"  false alarms {alarms} of {sane} ({rate:.1%}) {dict(kinds)}")
        for kind in WANTED:
            print(f"  {kind}: {counts[kind, 'seen']} of {counts[kind, 'all']}")
        print(f"  recall {recall:.1%}, precision {recall / (recall + rate):.1%} where every second window has a fault")


if __name__ == "__main__":
    main()
