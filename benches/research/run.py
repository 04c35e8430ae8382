"""Draws gain, coverage and trend of a research over a fixed corpus: a table and a picture for docs/research.md.

    python benches/research/run.py           # rewrites the table and docs/research.svg
    python benches/research/run.py --check   # fails where they are not what is drawn now

The corpus is the handbook of the tests; a plan may search once and a search gives one page, so that the
cycles have something left to find. The outline is given: no topic comes on the way.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from loopwright import Budget, Research
from loopwright.events import PhaseFinished

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE, PICTURE = ROOT / "docs/research.md", ROOT / "docs/research.svg"
QUESTION = "How are snapshots of the server written and restored?"
BEGIN, END = "<!-- measured by benches/research/run.py -->\n", "<!-- end of what was measured -->\n"
WIDE, HIGH, EDGE = 640, 260, 40


def measured() -> tuple[list[dict[str, Any]], dict[str, str]]:
    """What each cycle came to, and why it ended. The set-up has no gain: the history of the design starts at 1."""
    told: list[dict[str, Any]] = []

    def heard(event: object) -> None:
        if isinstance(event, PhaseFinished) and event.phase == "analyse":
            told.append({"cycle": event.attempt, **event.output})

    pages = sorted((ROOT / "tests/data/handbook").glob("*.md"))
    research = Research(
        corpus=ROOT / "tests/data/handbook",
        outline=[page.read_text("utf-8").splitlines()[0].lstrip("# ") for page in pages],
        limits={"hits": 1, "searches": 1},
        explore=False,
        budget=Budget(rounds=99, research_cycles=12),
    )
    result = research.run_sync(QUESTION, on_event=heard)
    return told, result.report["stopped"]


def table(cycles: list[dict[str, Any]], stopped: dict[str, str]) -> str:
    lines = ["| cycle | read | kept | coverage | gain | trend |", "| --- | --- | --- | --- | --- | --- |"]
    for one in cycles:
        gain = 1.0 if one["gain"] is None else one["gain"]
        lines.append(
            f"| {one['cycle']} | {one['seen']} | {one['accepted']} | {one['coverage']:.3f} | {gain:.3f} "
            f"| {str(one['trend']).replace('_', ' ')} |"
        )
    return "\n".join([*lines, "", f"It stopped because {stopped['words']} (`{stopped['rule']}`).", ""])


def picture(cycles: list[dict[str, Any]]) -> str:
    """Two lines over the cycles: coverage, and gain (1 where topics came, as in the history)."""
    step = (WIDE - 2 * EDGE) / max(len(cycles) - 1, 1)

    def place(at: int, value: float) -> tuple[float, float]:
        return EDGE + at * step, HIGH - EDGE - value * (HIGH - 2 * EDGE)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDE}" height="{HIGH}" fill="white"/>',
    ]
    for value in (0, 0.5, 1):
        x, y = place(0, value)
        lines.append(f'<path d="M{x} {y}H{WIDE - EDGE}" stroke="#ddd"/><text x="{x - 28}" y="{y + 4}">{value}</text>')
    for at, (name, colour) in enumerate((("coverage", "#06c"), ("gain", "#c30"))):
        values = [1.0 if one[name] is None else one[name] for one in cycles]
        points = [place(at, value) for at, value in enumerate(values)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        lines += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        lines.append(f'<text x="{EDGE + 90 * at}" y="20" fill="{colour}">{name}</text>')
    for at, one in enumerate(cycles):
        x, _ = place(at, 0)
        trend = str(one["trend"]).replace("_", " ")
        lines.append(f'<text x="{x:.1f}" y="{HIGH - EDGE + 16}" text-anchor="middle">{one["cycle"]}</text>')
        lines.append(
            f'<text x="{x:.1f}" y="{HIGH - EDGE + 31}" text-anchor="middle" font-size="10" fill="#555">{trend}</text>'
        )
    return "\n".join([*lines, "</svg>", ""])


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--check", action="store_true", help="compare, write nothing")
    check = options.parse_args().check
    cycles, stopped = measured()
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    drawn = {PAGE: f"{before}{BEGIN}{table(cycles, stopped)}{END}{after}", PICTURE: picture(cycles)}
    if check:
        return int(any(not path.exists() or path.read_text("utf-8") != text for path, text in drawn.items()))
    for path, text in drawn.items():
        path.write_text(text, "utf-8")
    sys.stdout.write(table(cycles, stopped))
    return 0


if __name__ == "__main__":
    sys.exit(main())
