"""Draws the rooms into docs/architecture.md, from Cargo's own graph. `--check` only says whether the picture is up to date.

An arrow leads from a room to one that it is built with; where a longer way leads there, too, the arrow is left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
START, END = "<!-- rooms: drawn by tests/rooms.py -->\n", "<!-- end of rooms -->"


def graph() -> dict[str, set[str]]:
    """The rooms, and which others each is built with; the extension module is `src`."""
    told = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    found = {}
    for package in json.loads(told)["packages"]:
        needs = [need["name"] for need in package["dependencies"] if need["kind"] is None]
        found[package["name"]] = {name for name in needs if name.startswith("loopwright-")}
    return {
        name.removeprefix("loopwright-") if name != "loopwright" else "src": {
            need.removeprefix("loopwright-") for need in needs
        }
        for name, needs in found.items()
        if name != "loopwright-testing"
    }


def reachable(rooms: dict[str, set[str]], room: str) -> set[str]:
    """All that a room stands on."""
    below: set[str] = set()
    waiting = [*rooms[room]]
    while waiting:
        other = waiting.pop()
        if other not in below:
            below.add(other)
            waiting += rooms[other]
    return below


def picture(rooms: dict[str, set[str]]) -> str:
    """The graph for Mermaid."""
    lines = ["```mermaid", "flowchart TD"]
    for room in sorted(rooms):
        longer = {below for other in rooms[room] for below in reachable(rooms, other)}
        lines += [f"    {room} --> {other}" for other in sorted(rooms[room] - longer)]
    return "\n".join([*lines, "```", ""])


def current(text: str) -> str:
    """The page with the picture of today."""
    before, rest = text.split(START)
    return f"{before}{START}{picture(graph())}{END}{rest.split(END, 1)[1]}"


def main() -> int:
    """1 if the page was to be checked and is not up to date."""
    text = PAGE.read_text(encoding="utf-8")
    new = current(text)
    if "--check" in sys.argv:
        if new != text:
            print("docs/architecture.md is stale: make docs")
        return int(new != text)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
