#!/usr/bin/env python3
"""Damages JSON objects by one token and counts how often each repairer gives back what was meant.

A token is one of `" { } [ ] : , \\` or a newline: one is deleted, doubled, swapped with the character behind it, or
put in anywhere. What is still valid after that isn't counted. The objects are written here, and with `--calls` they are
the arguments of real tool calls too.

    python benches/extract/repairs.py --calls FOLDER

`json_repair` must be installed beside `loopwright`; FOLDER holds runs of agents as JSON.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
from pathlib import Path
from typing import Any

import json_repair
import loopwright

TOKENS = '"{}[]:,\\\n'
OBJECTS: list[dict[str, Any]] = [
    {"city": "Oslo", "days": 3},
    {"path": "src/main.rs", "content": 'fn main() {\n    println!("hi");\n}\n', "create": True},
    {"items": [1, 2.5, "three", None], "nested": {"a": [{"b": "c, d"}, {}]}},
    {"query": "SELECT * FROM t WHERE a = 'x, y'", "limit": 10},
    {"text": 'He said "no" and left: {really}.', "tags": ["a", "b"], "n": -3},
    {"edits": [{"old": "a: 1", "new": "a: 2"}, {"old": "[x]", "new": ""}], "dry_run": False},
]


def damaged(text: str, draw: random.Random) -> str:
    at = draw.choice([at for at, character in enumerate(text) if character in TOKENS])
    way = draw.choice(["delete", "double", "swap", "insert"])
    if way == "delete":
        return text[:at] + text[at + 1 :]
    if way == "double":
        return text[:at] + text[at] + text[at:]
    if way == "swap":
        return text[:at] + text[at + 1 : at + 2] + text[at] + text[at + 2 :]
    at = draw.randrange(1, len(text))
    return text[:at] + draw.choice(TOKENS) + text[at:]


def valid(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def compare(objects: list[dict[str, Any]], count: int, seed: int) -> collections.Counter[str]:
    draw = random.Random(seed)  # noqa: S311 - damage, not secrets
    found: collections.Counter[str] = collections.Counter()
    while found["damaged"] < count:
        meant = draw.choice(objects)
        text = damaged(json.dumps(meant, indent=draw.choice([None, None, 2])), draw)
        if valid(text):
            continue
        found["damaged"] += 1
        found["loopwright"] += loopwright.extraction.repair_json(text).value == meant
        found["json_repair"] += json_repair.loads(text) == meant
    return found


def arguments(folder: Path) -> list[dict[str, Any]]:
    """The objects that stand under `arguments` or `input` anywhere in the files, of 20 to 2,000 characters."""
    kept: dict[str, dict[str, Any]] = {}

    def walk(value: Any) -> None:
        if isinstance(value, list):
            for inner in value:
                walk(inner)
        elif isinstance(value, dict):
            for key, inner in value.items():
                if key in {"arguments", "input"}:
                    keep(inner)
                walk(inner)

    def keep(found: Any) -> None:
        if isinstance(found, str) and found.startswith("{") and valid(found):
            found = json.loads(found)
        if isinstance(found, dict) and 20 <= len(text := json.dumps(found)) <= 2_000:
            kept.setdefault(text, found)

    for path in sorted([*folder.rglob("*.json"), *folder.rglob("*.jsonl")]):
        text = path.read_text(encoding="utf-8", errors="replace")
        for part in [text] if path.suffix == ".json" else text.splitlines():
            if valid(part):
                walk(json.loads(part))
    return list(kept.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=Path)
    parser.add_argument("--count", type=int, default=4_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sets = {f"{len(OBJECTS)} objects": OBJECTS}
    if options.calls:
        real = arguments(options.calls)
        sets[f"{len(real)} arguments of real calls"] = real
    print("| given back as they were meant | loopwright | json_repair |\n| --- | --- | --- |")
    for name, objects in sets.items():
        found = compare(objects, options.count, options.seed)
        share = [f"{100 * found[who] / found['damaged']:.1f} %" for who in ("loopwright", "json_repair")]
        print(f"| {name}, damaged {found['damaged']} times | {share[0]} | {share[1]} |")


if __name__ == "__main__":
    main()
