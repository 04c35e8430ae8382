"""What journals cost: CPU of a turn with and without one, a thousand runs at once, resuming what is long.

    python benches/journal/run.py [turn] [many] [resume]

The model is a wire server in another process; CPU is that of the process that runs the agents, all of its threads.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from loopwright import Agent, Budget, Journal, Model, Monitor, _core, tool

TURNS = 10
PLENTY = Budget(rounds=10**6, tool_rounds=10**6, wall_time=3600.0)

SERVER = """
import sys
from loopwright.testing import WireServer, call, text
replies = [call(sys.argv[1], n=n) for n in range(int(sys.argv[2]))] + [text("That is all there is to say.")]
with WireServer(replies, by_turn=True) as server:
    print(server.url, flush=True)
    sys.stdin.readline()
"""


@tool(read_only=True)
def look(n: int) -> str:
    """Looks."""
    return f"{n}: " + "what was found there, in a few words. " * 10


@tool
def write(n: int) -> str:
    """Writes, which the journal has before it begins."""
    return f"{n}: " + "what was found there, in a few words. " * 10


TOOLS = {"look": look, "write": write}


class Server:
    def __init__(self, name: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, name, str(TURNS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.url = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate("\n")


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def places(folder: Path) -> dict[str, object]:
    return {"off": None, "memory": True, "files": folder / "runs", "store": folder / "p.db"}


async def runs_of(agent: Agent, count: int, at_once: int) -> None:
    gate = asyncio.Semaphore(at_once)

    async def one() -> None:
        async with gate:
            result = await agent.run("Find out what there is to say about it.")
            assert result.final
            assert len(result.tool_calls) == TURNS

    await asyncio.gather(*(one() for _ in range(count)))


def measured(
    url: str, name: str, journal: object, *, count: int, at_once: int, durable: bool = False
) -> tuple[float, float]:
    agent = Agent(
        Model("anthropic:m", base_url=url, api_key="k"), tools=[TOOLS[name]], budget=PLENTY,
        monitor=Monitor(stuck=None, momentum=None),
        journal=Journal(str(journal), durable=True) if durable else journal,
    )  # fmt: skip

    async def main() -> tuple[float, float]:
        await runs_of(agent, min(count, 20), at_once)
        began, at = cpu(), time.perf_counter()
        await runs_of(agent, count, at_once)
        return cpu() - began, time.perf_counter() - at

    used, took = asyncio.run(main())
    turns = count * (TURNS + 1)
    return used / turns * 1e6, took / turns * 1e6


def turn() -> None:
    print("CPU of a turn, microseconds (min of 7 rounds, median); a run of 10 turns after the other")
    for name in ("look", "write"):
        with Server(name) as server:
            found: dict[str, list[float]] = {}
            for _ in range(7):
                with tempfile.TemporaryDirectory() as folder:
                    for place, journal in places(Path(folder)).items():
                        used, _ = measured(server.url, name, journal, count=60, at_once=1)
                        found.setdefault(place, []).append(used)
                        Journal(Path(folder) / "p.db").close()
            off = min(found["off"])
            middle = statistics.median(found["off"])
            for place, values in found.items():
                more, median = min(values) / off - 1, statistics.median(values)
                share = median / middle - 1
                print(f"| {name} | {place} | {min(values):.0f} | {median:.0f} | {more:+.0%} | {share:+.0%} |")


def many() -> None:
    print("1,000 runs at once, 10 turns each: CPU and wall of a turn, microseconds; threads that write")
    for name in ("look", "write"):
        with Server(name) as server:
            for place in ("off", "files", "store", "store, durable"):
                best = None
                for _ in range(3):
                    with tempfile.TemporaryDirectory() as folder:
                        journal = places(Path(folder))[place.split(",")[0]]
                        durable = "durable" in place
                        got = measured(server.url, name, journal, count=1_000, at_once=1_000, durable=durable)
                        best = min(best, got) if best else got
                        Journal(Path(folder) / "p.db").close()
                print(f"| {name} | {place} | {best[0]:.0f} | {best[1]:.0f} |")


LONG = """
import os, sys
from loopwright import Agent, Budget, Monitor, tool
from loopwright.models import Call, Response
rounds, journal, size = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])

class Long:
    name = "long"
    done = 0
    def respond(self, request):
        Long.done += 1
        return Response("", [Call("look", {"n": Long.done})], input_tokens=10, output_tokens=5)

@tool(read_only=True)
def look(n: int) -> str:
    "Looks."
    if n >= rounds:
        os._exit(0)
    return f"{n}: " + "x" * size

plenty = Budget(rounds=10**6, tool_rounds=10**6, wall_time=3600.0)
senses = Monitor(stuck=None, momentum=None)
Agent(Long(), tools=[look], monitor=senses, budget=plenty, context=False).run_sync("go", journal=journal)
"""

RESUME = """
import sys, time
from loopwright import _core
_core.__version__
began = time.perf_counter()
if sys.argv[2]:
    run, commands, place = _core.Run.resume_stored(sys.argv[1], sys.argv[2])
else:
    run, commands, place = _core.Run.resume(sys.argv[1])
took = time.perf_counter() - began
print(took * 1e3, run.seq, len(commands))
"""


def resumed(path: Path, run: str) -> str:
    times = []
    for _ in range(5):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / path.name
            shutil.copy(path, copy)
            done = subprocess.run([sys.executable, "-c", RESUME, str(copy), run], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            times.append(float(done.stdout.split()[0]))
    return f"{path.stat().st_size / 1e6:.0f} MB | {min(times):.0f} | {statistics.median(times):.0f}"


def resume() -> None:
    print("Opening and resuming, milliseconds (min of 5, median), in a new process")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        long = folder / "long.db"
        subprocess.run([sys.executable, "-c", LONG, "5000", str(long), "150"], check=True)
        (run,) = Journal(long).runs()
        Journal(long).close()
        print(f"| one run of {run.events:,} events | store | {resumed(long, run.id)} |")
        Journal(long).export(run.id, folder / "long.jsonl")
        print(f"| one run of {run.events:,} events | file | {resumed(folder / 'long.jsonl', '')} |")
        lines = (folder / "long.jsonl").read_text().splitlines(keepends=True)
        whole = folder / "all-lines.db"
        Journal(whole).import_run("".join(lines))
        Journal(whole).close()
        print(f"| the same, nothing saved | store | {resumed(whole, run.id)} |")
        for count in (5_000,):
            path = folder / f"{count}.jsonl"
            subprocess.run([sys.executable, "-c", LONG, str(count), str(path), "1200"], check=True)
            print(f"| one run of {2 * count:,} events | file | {resumed(path, '')} |")
        many = folder / "many.db"
        subprocess.run([sys.executable, "-c", LONG, "50", str(folder / "short.jsonl"), "150"], check=True)
        short = (folder / "short.jsonl").read_text().splitlines(keepends=True)
        store = Journal(many)
        for number in range(1_000):
            forked = _core.Run.fork(f"{number:016x}", "".join(short), len(short) - 1, store=str(many))
            del forked
        last = store.runs()[0].id
        events = sum(run.events for run in store.runs())
        store.close()
        print(f"| one of 1,000 runs, {events:,} events | store | {resumed(many, last)} |")


if __name__ == "__main__":
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, loopwright {_core.__version__}")
    for what in sys.argv[1:] or ["turn", "many", "resume"]:
        {"turn": turn, "many": many, "resume": resume}[what]()
