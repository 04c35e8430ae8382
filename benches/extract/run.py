#!/usr/bin/env python3
"""Measures extraction beside the parsers of others: one command, nothing to prepare but Python and cargo.

Builds the parsers of others from crates.io as far as they can be built (and says why not), installs `json_repair`
and `jiter` into a virtual environment of their own, measures all in turn, keeps the figures in `results.json` and
writes the tables into `docs/benchmarks.md`. `cargo bench` in this folder runs criterion over our own figures.

    python3 benches/extract/run.py            everything, about three minutes after the first build
    python3 benches/extract/run.py --alone    without the parsers of others
    python3 benches/extract/run.py --render   no measuring: tables from results.json
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = HERE / os.environ.get("CARGO_TARGET_DIR", "target")
VENV = HERE / ".venv"
RESULTS = HERE / "results.json"
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- extraction: begin -->", "<!-- extraction: end -->"

FEATURES = {
    "tool-parser": "tool-parser 1.10.0",
    "dynamo-v2": "dynamo-parsers-v2 0.9.6",
    "dynamo": "dynamo-parsers 11.0.1",
    "zeroclaw": "zeroclaw-tool-call-parser 0.8.7",
    "jsonrepair": "jsonrepair 0.1.0",
}
PYTHON = ["jiter==0.19.0", "json_repair==0.64.5"]

#: Each table: its title, what is said of it, and its rows: a task, its sizes, how its figures are shown, and the aim.
TABLES: list[tuple[str, str, list[tuple[str, str, str, str]]]] = [
    (
        "Streamed in pieces of four characters",
        "Time for each piece. A parser that reads again what it has read shows by growing with the argument.",
        [
            ("json-chunks", "JSON argument (Hermes)", "ns", "at most 40 ns"),
            ("kimi-chunks", "JSON argument (Kimi K2)", "ns", "at most 40 ns"),
            ("xml-chunks", "argument between tags", "ns", "at most 80 ns"),
            ("text-chunks", "prose without a call", "ns", ""),
            ("small-calls-chunks", "100 small calls, a call", "ns", ""),
        ],
    ),
    (
        "In one piece",
        "",
        [
            ("whole-code", "JSON argument, source code", "GB/s", "at least 1.5 GB/s"),
            ("whole-prose", "JSON argument, prose", "GB/s", "at least 1.5 GB/s"),
            ("whole-xml", "argument between tags", "GB/s", ""),
            ("text", "prose, in cache, every marker armed", "GB/s", "at least 7 GB/s"),
            ("text-large", "prose, every marker armed", "GB/s", ""),
            ("small-calls", "100 small calls, a call", "ns", ""),
            ("small-reply", "a reply with one small call", "ns", ""),
            ("new", "making a parser", "ns", "at most 2000 ns"),
        ],
    ),
    (
        "Shapes that made parsers slow",
        "Ours alone, streamed in pieces of four characters: time for each piece. Growing rows would show a square.",
        [],
    ),
    ("Repair", "", [("repair", "a broken object", "MB/s", "at least 200 MB/s, linear")]),
    (
        "From Python",
        "The loop around each call is part of the figure.",
        [
            ("python-feed-in-call", "`feed()`, four characters of an argument", "ns", "at most 300 ns"),
            ("python-feed-in-prose", "`feed()`, four characters of prose", "ns", "at most 300 ns"),
            ("python-feed-bytes", "`feed()`, four bytes of an argument", "ns", ""),
            ("python-json-chunks", "JSON argument in pieces of four", "ns", ""),
            ("python-extract-small", "`extract()`, a reply with one small call", "ns", ""),
            ("python-extract", "`extract()`", "GB/s", ""),
            ("python-new", "making a parser", "ns", ""),
            ("python-repair", "`repair_json()`", "MB/s", ""),
        ],
    ),
]


def say(text: str) -> None:
    """A line for whoever watches."""
    print(text, file=sys.stderr, flush=True)


def cargo(features: list[str]) -> str:
    """Builds with these parsers of others; gives the reason if that fails."""
    command = ["cargo", "build", "--release", "--quiet", "--features", ",".join(features)]
    built = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    if built.returncode == 0:
        return ""
    errors = [line for line in built.stderr.splitlines() if line.startswith("error")]
    return errors[0] if errors else built.stderr.strip()[-200:]


def build(alone: bool) -> tuple[list[str], list[str]]:
    """Builds with all that can be built; gives that, and what was left out and why."""
    wanted, missing = [] if alone else list(FEATURES), []
    say("== building (the parsers of others take some minutes the first time)")
    if wanted and cargo(wanted):
        for feature in list(wanted):
            if reason := cargo([feature]):
                missing.append(f"{FEATURES[feature]} ({reason})")
                say(f"left out: {missing[-1]}")
                wanted.remove(feature)
    if reason := cargo(wanted):
        raise SystemExit(f"the benchmark can't be built: {reason}")
    return wanted, missing


def environment(alone: bool) -> Path:
    """A Python with our module and, where they can be had, the packages of others."""
    python = VENV / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    if not alone:
        for package in PYTHON:
            if subprocess.run([*pip, package], check=False).returncode:
                say(f"left out: {package} can't be installed")
    subprocess.run([*pip, str(ROOT)], check=True)
    return python


def figures(command: list[str], env: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """The figures that a program prints."""
    rows = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=HERE, env=env) as process:
        assert process.stdout is not None
        for line in process.stdout:
            row = json.loads(line)
            rows.append(row)
            say(f"{row['task']:22} {row['size']:>8} {row['who']:36} {row['seconds'] * 1e6:14.1f} us")
    if process.returncode:
        raise SystemExit(f"{command[0]} failed")
    return rows


def shown(row: dict[str, Any], form: str) -> str:
    """A figure."""
    seconds = row["seconds"]
    if form == "ns":
        value = f"{seconds * 1e9 / row['units']:,.0f} ns"
    else:
        rate = row["units"] / seconds / (1e9 if form == "GB/s" else 1e6)
        value = f"{rate:,.{0 if rate >= 10 else 1 if rate >= 1 and form == 'MB/s' else 2}f} {form}"
    return value if row["right"] else f"{value} (wrong)"


def sized(size: int) -> str:
    """A size in words."""
    return f"{size / 1_000_000:.3g} MB" if size >= 1_000_000 else f"{size // 1_000} KB"


def table(rows: list[dict[str, Any]], wanted: list[tuple[str, str, str, str]]) -> list[str]:
    """One table: a line for each task and participant, a column for each size."""
    lines = []
    sizes = sorted({row["size"] for row in rows for task, *_ in wanted if row["task"] == task and row["size"] >= 1000})
    lines.append("| | | " + " | ".join([*(sized(size) for size in sizes), "small"]) + " | aim |")
    lines.append("|---|---|" + "---:|" * (len(sizes) + 1) + "---|")
    for task, title, form, aim in wanted:
        found = [row for row in rows if row["task"] == task]
        for who in dict.fromkeys(row["who"] for row in found):
            own = {row["size"]: row for row in found if row["who"] == who}
            cells = [shown(own[size], form) if size in own else "" for size in sizes]
            small = next((shown(row, form) for size, row in own.items() if size < 1000), "")
            ours = who.startswith("loopwright")
            name = f"**{who}**" if ours else who
            lines.append(
                f"| {title if ours else ''} | {name} | {' | '.join([*cells, small])} | {aim if ours else ''} |"
            )
    if not any(line.split("|")[-3].strip() for line in lines[2:]):
        lines = ["|".join(line.split("|")[:-3] + line.split("|")[-2:]) for line in lines]
    return lines


def render(results: dict[str, Any]) -> None:
    """Writes the tables into the page."""
    lines = [results["about"], ""]
    shapes = list(dict.fromkeys(row["task"] for row in results["rows"] if row["task"].startswith("shape: ")))
    for title, text, wanted in TABLES:
        tasks = wanted or [(task, task.removeprefix("shape: "), "ns", "") for task in shapes]
        if any(row["task"] == task for row in results["rows"] for task, *_ in tasks):
            lines += [f"### {title}", "", *([text, ""] if text else []), *table(results["rows"], tasks), ""]
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(before + BEGIN + "\n" + "\n".join(lines) + END + after)
    say(f"written: {PAGE.relative_to(ROOT)}")


def machine() -> str:
    """What it was measured on."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    return f"{os.cpu_count()} cores ({names[0] if names else platform.machine()}, {platform.system()})"


def main() -> None:
    """Measures and writes."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--alone", action="store_true", help="without the parsers of others")
    options.add_argument("--render", action="store_true", help="no measuring: tables from results.json")
    options.add_argument(
        "--python", type=Path, help="a Python that has loopwright, instead of an environment of its own"
    )
    chosen = options.parse_args()
    if not chosen.render:
        features, missing = build(chosen.alone)
        python = chosen.python.absolute() if chosen.python else environment(chosen.alone)
        load = os.getloadavg()[0]
        rows = figures([str(TARGET / "release" / "loopwright-extract-bench")])
        rows += figures([str(python), str(HERE / "peers.py")])
        packages = [] if chosen.alone else [package.replace("==", " ") for package in PYTHON]
        who = ", ".join([*(FEATURES[feature] for feature in features), *packages])
        absent = f"Could not be built: {', '.join(missing)}. " if missing else ""
        today = datetime.datetime.now(datetime.timezone.utc).date()
        about = (
            f"Measured {today} on {machine()}, Python {platform.python_version()}, "
            f"load average {load:.0f} to {os.getloadavg()[0]:.0f} (others use the machine too). "
            f"CPU time of the thread, the shortest of many runs, all participants of a row in turn in one process. "
            f"Beside us: {who or 'nobody'}. {absent}An empty cell would have taken more than 20 s."
        )
        RESULTS.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    render(json.loads(RESULTS.read_text()))


if __name__ == "__main__":
    main()
