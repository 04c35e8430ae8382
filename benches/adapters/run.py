#!/usr/bin/env python3
"""Runs the tests of the adapters at two versions of each package, measures what a user wins, and writes
docs/measurements/adapters.md.

    python3 benches/adapters/run.py                     all of it: environments of their own, about ten minutes
    python3 benches/adapters/run.py tests               the tests alone, and no page is written
    python3 benches/adapters/run.py --environments DIR  with the environments DIR/newest and DIR/older

It ends with 1 where a test fails, with 3 where the packages can't be had from here.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "measurements" / "adapters.md"
VERSIONS = ("newest", "older")
PACKAGES = {
    "pydantic-ai": "pydantic-ai-slim",
    "langchain": "langchain",
    "openai-agents": "openai-agents",
    "litellm": "litellm",
}
FAULTS = {
    "h429": "429",
    "h500": "500",
    "h529": "529",
    "cut arguments": "arguments cut, streamed",
    "early error": "error first, streamed",
    "error amid a text": "error amid a text",
    "torn amid a text": "torn amid a text",
    "torn amid a call": "torn amid reasoning and call",
}
TURNS = 200


def python(folder: Path, version: str) -> Path:
    return folder / version / "bin" / "python"


def prepare(folder: Path, version: str) -> None:
    """Makes the environment, once for each set of requirements."""
    wanted = HERE / f"{version}.txt"
    stamp = folder / version / "stamp"
    digest = hashlib.sha256(wanted.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    print(f"== an environment for the {version} versions", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder / version)], check=True)
    install = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", str(wanted)]
    subprocess.run([str(python(folder, version)), *install], check=True)
    stamp.write_text(digest)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "python")}


def tested(folder: Path, version: str) -> dict[str, tuple[str, int, int]]:
    """The version of each package, and how many tests of its adapter passed, and failed."""
    found = {}
    for name, package in PACKAGES.items():
        code = f"from importlib.metadata import version; print(version({package!r}))"
        run = [str(python(folder, version))]
        told = subprocess.run([*run, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        file = f"tests/python/adapters/test_{name.replace('-', '_')}_adapter.py"
        done = subprocess.run(
            [*run, "-m", "pytest", "-o", "addopts=", "-q", file],
            cwd=ROOT,
            env=environment(),
            capture_output=True,
            text=True,
        )
        last = done.stdout.strip().splitlines()[-1]
        passed = sum(int(each) for each in re.findall(r"(\d+) passed", last))
        failed = sum(int(each) for each in re.findall(r"(\d+) (?:failed|error)", last))
        if done.returncode:
            print(done.stdout[-4000:])
        found[name] = (told, passed, failed or (1 if done.returncode else 0))
        print(f"{name} {told}: {last}", flush=True)
    return found


def asked(folder: Path, *arguments: str) -> object:
    command = [str(python(folder, "newest")), str(HERE / "one_run.py"), *arguments]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    if done.returncode:
        return f"broke down: {done.stderr.strip().splitlines()[-1][:100]}"
    return json.loads(done.stdout.strip().splitlines()[-1])


def faults(folder: Path) -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {}
    for name in PACKAGES:
        for side in ("theirs", "ours"):
            cells = [str(asked(folder, name, side, "fault", each)) for each in FAULTS]
            found.setdefault(name, {})[side] = cells
            print(name, side, cells, flush=True)
    return found


def cpu(folder: Path) -> dict[str, dict[str, float]]:
    """CPU time of a turn, in microseconds, each in a process of its own."""
    sys.path.insert(0, str(ROOT / "python"))
    from loopwright.models import Call
    from loopwright.testing import WireServer, calls, text

    found: dict[str, dict[str, float]] = {}
    # An id of its own for each call: some frameworks refuse one that came before.
    asks = [calls(Call("weather", {"city": f"city {at}"}, f"call_{at}")) for at in range(TURNS)]
    warm, script = [asks[0], text("It is sunny.")], [*asks, text("It is sunny.")]
    for name in PACKAGES:
        for side in ("theirs", "ours"):
            with WireServer([*warm, *script]) as server:
                spent = asked(folder, name, side, "cpu", server.url, str(TURNS))
            found.setdefault(name, {})[side] = float(spent)  # type: ignore[arg-type]
            print(name, side, spent, flush=True)
    return found


def page(tests: dict, survived: dict, spent: dict) -> str:
    lines = [
        "# Measurements of the adapters",
        "",
        "The [adapters](../adapters.md) at two versions of each package, and what an agent of theirs wins when our",
        f"model is under it. Written by `benches/adapters/run.py` (`make adapters`) on {datetime.date.today()}.",
        "",
        "## Tests that pass",
        "",
        "Against the real packages, over real sockets: eight faults on each of three wires, and what the page says.",
        "",
        "| package | version | tests | version | tests |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in PACKAGES:
        both = [tests[version][name] for version in VERSIONS]
        cells = [f"{told} | {passed} of {passed + failed}" for told, passed, failed in both]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += [
        "",
        "## Faults survived",
        "",
        "The first request of a run is struck, over Chat Completions, with the default settings of each client;",
        "one more try would succeed. Faults that are no status are streamed. `litellm` is no agent: its loop is the",
        "plainest one.",
        "",
        f"| agent of | model | survived | {' | '.join(FAULTS.values())} |",
        f"| --- | --- | --- |{' --- |' * len(FAULTS)}",
    ]
    for name, sides in survived.items():
        for side, cells in sides.items():
            won = sum(each == "survived" for each in cells)
            told = ["yes" if each == "survived" else each for each in cells]
            lines.append(f"| {name} | {side} | {won} of {len(cells)} | {' | '.join(told)} |")
    lines += [
        "",
        f"## CPU time of a turn, at {TURNS} turns",
        "",
        f"One run of {TURNS} calls and an answer, not streamed by the framework, in a process of its own; the server",
        "is in another. Microseconds of CPU for a request with all that goes with it, once each, on a machine with",
        "other work.",
        "",
        "| agent of | over its own client | over ours | ours / theirs |",
        "| --- | --- | --- | --- |",
    ]
    for name, sides in spent.items():
        theirs, ours = sides["theirs"], sides["ours"]
        lines.append(f"| {name} | {theirs:,.0f} | {ours:,.0f} | {ours / theirs:.2f} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["tests"])
    parser.add_argument("--environments", type=Path, help="a folder with the environments newest and older")
    options = parser.parse_args()
    folder = options.environments or HERE / ".venv"
    try:
        for version in () if options.environments else VERSIONS:
            prepare(folder, version)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"the packages can't be had from here: {error}")
        return 3
    tests = {version: tested(folder, version) for version in VERSIONS}
    if options.what is None:
        PAGE.write_text(page(tests, faults(folder), cpu(folder)))
        print(PAGE.read_text())
    return int(any(failed for versions in tests.values() for _, _, failed in versions.values()))


if __name__ == "__main__":
    sys.exit(main())
