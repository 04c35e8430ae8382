#!/usr/bin/env python3
"""Measures CPU time per turn of agent loops side by side: one command, nothing to prepare but Python, cargo and make.

Makes a virtual environment for each rival (pinned in `requirements/`), builds the fake provider, runs every scenario
in fresh processes, prints the tables and keeps the figures in `results.json`. A partial run replaces only what it
measured.

    python3 benches/peers/run.py                      everything, about 25 minutes
    python3 benches/peers/run.py --quick              ours, aiohttp and the bare client, under two minutes
    python3 benches/peers/run.py --only ours          one rival, or several: --rivals ours,agno
    python3 benches/peers/run.py --render             no measuring: tables from results.json into docs/benchmarks.md
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import tables

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
VENVS = HERE / ".venv"
SERVER = HERE / "server"
BINARIES = SERVER / "target" / "release"


@dataclass(frozen=True)
class Rival:
    """Who is measured, and how much of it a run can bear."""

    name: str
    venv: str
    script: str
    imports: str
    framework: bool = True
    slow: bool = True


RIVALS = [
    Rival("ours", "loopwright", "loopwright_run.py", "from loopwright import Agent, Budget, tool", slow=False),
    Rival("raw", "", "", "", framework=False, slow=False),
    Rival("aiohttp", "aiohttp", "aiohttp_raw.py", "import aiohttp", framework=False, slow=False),
    Rival(
        "agno", "agno", "agno_run.py", "from agno.agent import Agent; from agno.models.openai.like import OpenAILike"
    ),
    Rival(
        "langchain",
        "langchain",
        "langchain_run.py",
        "from langchain.agents import create_agent; from langchain_openai import ChatOpenAI",
    ),
    Rival("openai-agents", "openai_agents", "openai_agents_run.py", "from agents import Agent, Runner, function_tool"),
    Rival(
        "pydantic-ai",
        "pydantic_ai",
        "pydantic_ai_run.py",
        "from pydantic_ai import Agent; from pydantic_ai.models.openai import OpenAIChatModel",
    ),
]


@dataclass(frozen=True)
class Scenario:
    """One cell of a table: `turns` are tool turns, a last request brings the final text."""

    name: str
    runs: int = 1
    turns: int = 10
    slow_turns: int = 0
    stream: bool = False
    latency: int = 0
    parallel: int = 1
    offline: bool = False
    seconds: float = 0.0
    reps: int = 3
    slow_reps: int = 2
    rivals: tuple[str, ...] = ()
    quick: bool = True

    def path(self, turns: int) -> str:
        latency = f"/l{self.latency}" if self.latency else ""
        parallel = f"/p{self.parallel}" if self.parallel > 1 else ""
        return f"/t{turns}{latency}{parallel}/v1"


PYTHON = tuple(rival.name for rival in RIVALS if rival.script)
SCENARIOS = [
    Scenario("plain-1", seconds=1.0, reps=5, slow_reps=3),
    Scenario("plain-100", runs=100, seconds=1.0, slow_reps=3),
    Scenario("plain-1000", runs=1000, slow_turns=3, slow_reps=1),
    Scenario("stream-1", stream=True, seconds=1.0, reps=5, slow_reps=3),
    Scenario("stream-100", stream=True, runs=100, seconds=1.0),
    Scenario("stream-1000", stream=True, runs=1000, slow_turns=3, slow_reps=1),
    Scenario("history-10", seconds=1.0, quick=False),
    Scenario("history-50", turns=50, seconds=1.0),
    Scenario("history-200", turns=200, seconds=1.0, slow_reps=1),
    Scenario("latency-1000", runs=1000, latency=500, rivals=("ours", "raw", "aiohttp"), reps=2),
    Scenario("parallel-10", turns=5, parallel=10, seconds=1.0, rivals=PYTHON, quick=False),
    Scenario("offline", offline=True, seconds=1.0, rivals=tuple(n for n in PYTHON if n not in ("aiohttp", "agno"))),
]
FAULTS = [("429", False), ("500", False), ("529", False), ("badjson", False)]
FAULTS += [("badjson", True), ("earlyerr", True), ("miderr", True), ("midcut", True)]

# The child's own word: what wait4 reports as its peak includes this process, from which it was forked.
PEAK = "\nfor line in open('/proc/self/status'):\n    if line.startswith('VmHWM'): print(line.split()[1])"


class NotBuilt(Exception):
    """This rival can't be measured here."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def interpreter(rival: Rival) -> Path:
    return VENVS / rival.venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def kept(rival: Rival, stamp: str) -> bool:
    """Whether its environment is there, with the stamp."""
    mark = VENVS / rival.venv / "installed"
    return mark.exists() and mark.read_text() == stamp


def venv(rival: Rival, stamp: str, install: list[str]) -> None:
    """An environment with exactly what is pinned; kept until the stamp changes."""
    if kept(rival, stamp):
        return
    home = VENVS / rival.venv
    mark = home / "installed"
    say(f"making an environment for {rival.name}")
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
    command = [str(interpreter(rival)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *install]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotBuilt("\n".join((done.stdout + done.stderr).strip().splitlines()[-5:]))
    mark.write_text(stamp)


def newest_source() -> str:
    """Changes when anything that goes into our package does, or the compiler."""
    files = [ROOT / name for name in ("Cargo.toml", "Cargo.lock", "Makefile", "pyproject.toml")]
    for folder in ("src", "crates", "python", "benches/profile"):
        files += (path for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts)
    found = sorted((str(path), path.stat().st_mtime_ns) for path in files if path.is_file())
    compiler = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=False).stdout
    return hashlib.sha256(repr((compiler, found)).encode()).hexdigest()


def built() -> Path:
    """Our package as others get it."""
    say("building our package")
    made = ["make", "--no-print-directory", "-C", str(ROOT), "wheel"]
    try:
        failed = subprocess.run(made, stdout=sys.stderr, check=False).returncode != 0
    except OSError as error:
        raise NotBuilt(f"make can't be started: {error}") from error
    wheel = next((ROOT / "target" / "wheels").glob("loopwright-*.whl"), None)
    if failed or wheel is None:
        raise NotBuilt("`make wheel` gave none")
    return wheel


def prepare(rival: Rival, options: argparse.Namespace) -> None:
    if rival.name == "raw":
        return
    if rival.name != "ours":
        pins = HERE / "requirements" / f"{rival.venv}.txt"
        venv(rival, hashlib.sha256(pins.read_bytes()).hexdigest(), ["--requirement", str(pins)])
    elif options.skip_ours:
        raise NotBuilt("left out on request")
    elif options.ours_wheel:
        wheel = Path(options.ours_wheel).resolve()
        venv(rival, f"{wheel} {wheel.stat().st_mtime_ns}", [str(wheel)])
    elif not (ROOT / "pyproject.toml").exists():
        raise NotBuilt("there is no pyproject.toml yet")
    elif not kept(rival, newest_source()):
        venv(rival, newest_source(), [str(built())])


class Server:
    """The fake provider, alive as long as its standard input is."""

    def __enter__(self) -> Server:
        self.process = subprocess.Popen(
            [BINARIES / "fakeprovider"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.url = self.process.stdout.readline().strip()
        return self

    def __exit__(self, *_) -> None:
        self.process.stdin.close()
        self.process.wait(10)

    def count(self, what: str) -> int:
        with urllib.request.urlopen(self.url + "/stats") as answer:
            return json.load(answer)[what]


def environment() -> dict[str, str]:
    """Nothing of the outside that could send a rival elsewhere or make it talk to others."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    kept.update(OPENAI_API_KEY="k", AGNO_TELEMETRY="false", LANGSMITH_TRACING="false")
    kept.update(OPENAI_AGENTS_DISABLE_TRACING="1", DO_NOT_TRACK="1", NO_PROXY="*")
    return kept


def start(rival: Rival, arguments: list[str], timeout: float = 300) -> dict:
    """One fresh process; its JSON line, or `error`."""
    if rival.name == "raw":
        command = [str(BINARIES / "rawclient")]
    else:
        command = [str(interpreter(rival)), str(HERE / "rivals" / rival.script)]
    try:
        done = subprocess.run(
            command + arguments, capture_output=True, text=True, timeout=timeout, env=environment(), check=False
        )
    except subprocess.TimeoutExpired:
        return {"error": f"no end within {timeout:.0f} s", "failed": -1}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        tail = (done.stderr or done.stdout).strip().splitlines()[-1:]
        return {"error": f"exit {done.returncode}: {' '.join(tail)[:300]}", "failed": -1}
    return json.loads(lines[-1])


def measure(server: Server, rival: Rival, scenario: Scenario, seconds: float) -> dict:
    turns = scenario.slow_turns if rival.slow and scenario.slow_turns else scenario.turns
    arguments = ["--runs", str(scenario.runs), "--turns", str(turns), "--seconds", str(seconds)]
    arguments += ["--base-url", server.url + scenario.path(turns)]
    arguments += ["--stream"] if scenario.stream else []
    arguments += ["--offline"] if scenario.offline else []
    arguments += ["--parallel", str(scenario.parallel)] if scenario.parallel > 1 else []
    before = server.count("requests")
    found = start(rival, arguments)
    # The runner counts what it did, the provider what it was asked; they have to agree, retries aside.
    if not scenario.offline and found.get("batches"):
        found["requests_over"] = (
            server.count("requests") - before - (found["batches"] * scenario.runs + 1) * (turns + 1)
        )
    found["load"] = os.getloadavg()[0]
    return found


def fold(reps: list[dict]) -> dict:
    """Many processes become one record: minimum and median of each figure, the worst of what went wrong."""
    good = [rep for rep in reps if "cpu_ms_turn" in rep]
    record = {"reps": len(reps), "load": [round(rep["load"], 1) for rep in reps]}
    record["failed"] = max(rep.get("failed", 0) for rep in reps)
    record["error"] = next((rep["error"] for rep in reps if rep.get("error")), "")
    if unavailable := next((rep["unavailable"] for rep in reps if "unavailable" in rep), None):
        record["unavailable"] = unavailable
    for rep in good[:1]:
        record.update({name: rep.get(name) for name in ("runs", "turns", "stream", "events_turn", "versions")})
    if good:
        for name in ("cpu_ms_turn", "wall_ms_turn", "wall_s", "cpu_s", "rss_kb_run"):
            values = [rep[name] for rep in good]
            record[name] = [round(min(values), 5), round(statistics.median(values), 5)]
        record["turns_s"] = round(max(rep["turns_s"] for rep in good), 1)
        record["requests_over"] = max(rep.get("requests_over", 0) for rep in good)
    return record


def import_cost(rival: Rival, statement: str, reps: int) -> dict:
    """CPU and wall time of a new interpreter that imports the rival and leaves; bytecode is warm after the first."""
    python = str(interpreter(rival))
    cpu, wall, rss = [], [], []
    for rep in range(reps + 1):
        began = time.perf_counter()
        child = subprocess.Popen([python, "-c", statement + PEAK], env=environment(), stdout=subprocess.PIPE, text=True)
        peak = child.stdout.read().split()
        _, status, usage = os.wait4(child.pid, 0)
        child.stdout.close()
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode or not peak:
            return {"error": f"exit {child.returncode}", "failed": -1}
        if rep:
            wall.append((time.perf_counter() - began) * 1e3)
            cpu.append((usage.ru_utime + usage.ru_stime) * 1e3)
            rss.append(int(peak[-1]) / 1024)
    spread = lambda values: [round(min(values), 2), round(statistics.median(values), 2)]  # noqa: E731
    return {"reps": reps, "cpu_ms": spread(cpu), "wall_ms": spread(wall), "rss_mb": spread(rss)}


def faults(server: Server, rival: Rival, stamp: str) -> dict:
    """One run for each fault, with the rival's default settings."""
    found = {}
    for name, stream in FAULTS:
        url = f"{server.url}/t2/f{name}/r{stamp}-{rival.venv}-{name}-{int(stream)}/v1"
        arguments = ["--base-url", url, "--turns", "2", "--fault"] + (["--stream"] if stream else [])
        before = server.count("faults")
        line = start(rival, arguments, timeout=120)
        struck = server.count("faults") - before == 1
        cell = {"outcome": line.get("outcome", "failed to start") if struck else "no fault struck"}
        cell.update({key: line[key] for key in ("error", "detail") if line.get(key)})
        found[f"{'s-' if stream else ''}{name}"] = cell
    return found


def machine() -> dict:
    model = ""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    except OSError:
        pass
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def chosen(options: argparse.Namespace) -> list[Rival]:
    names = ["ours", "raw", "aiohttp"] if options.quick else [rival.name for rival in RIVALS]
    if wanted := options.only or options.rivals:
        names = wanted.split(",")
    if unknown := set(names) - {rival.name for rival in RIVALS}:
        raise SystemExit(f"unknown rival: {', '.join(sorted(unknown))}; there are {', '.join(r.name for r in RIVALS)}")
    return [rival for rival in RIVALS if rival.name in names]


def options_from(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="ours, aiohttp and the bare client; fewer repetitions")
    parser.add_argument("--only", help="the same as --rivals, for one")
    parser.add_argument("--rivals", help="comma-separated")
    parser.add_argument("--scenarios", help="comma-separated names or beginnings of names; also import, faults")
    parser.add_argument("--reps", type=int, help="processes for each cell, for everybody")
    parser.add_argument("--skip-ours", action="store_true")
    parser.add_argument("--ours-wheel", help="measure this wheel instead of building the repository")
    parser.add_argument("--out", help="default: results.json, or results-quick.json with --quick")
    parser.add_argument("--render", action="store_true", help="only rewrite the tables in docs/benchmarks.md")
    return parser.parse_args(arguments)


def main() -> None:
    options = options_from(sys.argv[1:])
    out = Path(options.out) if options.out else HERE / ("results-quick.json" if options.quick else "results.json")
    results = json.loads(out.read_text()) if out.exists() else {}
    if options.render:
        tables.write_docs(results, ROOT / "docs" / "benchmarks.md")
        return
    wanted = tuple(options.scenarios.split(",")) if options.scenarios else None
    picked = lambda name: wanted is None or name.startswith(wanted)  # noqa: E731
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 16384)), hard))

    say("building the fake provider")
    subprocess.run(["cargo", "build", "--release", "--quiet", "--manifest-path", SERVER / "Cargo.toml"], check=True)
    rivals = []
    results.setdefault("not_built", {})
    for rival in chosen(options):
        try:
            prepare(rival, options)
            rivals.append(rival)
            results["not_built"].pop(rival.name, None)
        except NotBuilt as error:
            say(f"{rival.name}: not built: {error}")
            results["not_built"][rival.name] = str(error)
    today = datetime.date.today().isoformat()
    results["machine"] = machine()
    cells = results.setdefault("cells", {})

    def keep(rival: str, name: str, record: dict) -> None:
        record["date"] = today
        cells.setdefault(rival, {})[name] = record
        out.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")

    # Everything that runs write is removed at the end: ext4 gives away no inode that was freed within the last minutes,
    # and looks past each of them for every new file (a fifth of a millisecond after some thousands).
    with Server() as server, tempfile.TemporaryDirectory(prefix="journals-", ignore_cleanup_errors=True) as journals:
        os.environ["JOURNALS"] = journals
        for scenario in SCENARIOS:
            if not picked(scenario.name) or (options.quick and not scenario.quick):
                continue
            here = [rival for rival in rivals if not scenario.rivals or rival.name in scenario.rivals]
            reps = {rival.name: scenario.slow_reps if rival.slow else scenario.reps for rival in here}
            if options.quick or options.reps:
                reps = dict.fromkeys(reps, options.reps or (1 if scenario.latency else 2))
            found: dict[str, list[dict]] = {rival.name: [] for rival in here}
            # Repetitions outside, rivals inside: a noisy minute hits everybody.
            for rep in range(max(reps.values(), default=0)):
                for rival in here:
                    if rep < reps[rival.name]:
                        seconds = min(scenario.seconds, 0.5) if options.quick else scenario.seconds
                        found[rival.name].append(measure(server, rival, scenario, seconds))
            for rival in here:
                record = fold(found[rival.name])
                say(tables.line(rival.name, scenario.name, record))
                keep(rival.name, scenario.name, record)
        if picked("import"):
            importable = [rival for rival in rivals if rival.imports]
            for rival in importable[:1]:
                keep("python", "import", import_cost(rival, "pass", 5))
            for rival in importable:
                keep(rival.name, "import", import_cost(rival, rival.imports, 5))
        if picked("faults"):
            stamp = f"{time.time_ns():x}"
            for rival in rivals:
                if rival.framework:
                    keep(rival.name, "faults", {"cells": faults(server, rival, stamp)})
    out.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    print(tables.render(results))


if __name__ == "__main__":
    main()
