"""Kills workers of runs on an engine at random moments (SIGKILL) until each run has ended; prints what became of them.

    python benches/durable/kill.py --kills 200                    # SQLite, in a temporary folder
    python benches/durable/kill.py --kills 200 --url postgresql://…
    python benches/durable/kill.py --kills 200 --restate PROGRAM  # the server of Restate, e.g. of npm

A worker is a process of its own, forked before it has threads. Nothing that is not idempotent may be done twice; where
nobody knows whether it was done, the model has to be told; all runs end, with one history.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


def forked(work: Callable[[], object], place: Path) -> int:
    """Forks a worker; gives its process."""
    child = os.fork()
    if child:
        return child
    code = 4
    try:
        os.environ["EFFECTS"] = str(place / "effects")
        random.seed()
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


class OnDBOS:
    """Workers of DBOS: each begins the run, or goes on with it, and leaves the result in a file."""

    def __init__(self, url: str, place: Path) -> None:
        # Once, before the first fork.
        import dbos_worker

        self.name, self.url, self.place, self.module = f"DBOS, {url.partition(':')[0]}", url, place, dbos_worker

    def work(self, run_id: str, ready: int) -> None:
        said = asyncio.run(self.module.run(self.url, run_id, lambda: os.write(ready, b"!")))
        (self.place / run_id).write_text(said)

    def until_it_ends(self, run_id: str, rng: random.Random, most: int, longest: float) -> int:
        """Starts workers for a run and kills them, `most` times; gives how many died before the run had ended."""
        kills = 0
        while True:
            reading, writing = os.pipe()
            child = forked(lambda: self.work(run_id, writing), self.place)  # noqa: B023 - it is forked at once
            os.close(writing)
            # A worker that ends closes the pipe.
            os.read(reading, 1)
            if kills < most:
                time.sleep(rng.uniform(0.0, longest))
                os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
            os.close(reading)
            if (self.place / run_id).exists():
                return kills
            if not os.WIFSIGNALED(status):
                raise SystemExit(f"{run_id}: a worker ended by itself, and left no result")
            kills += 1


class OnRestate:
    """A worker of Restate, whose server lives on; it is killed and started again at once."""

    def __init__(self, program: str, place: Path) -> None:
        import restate_worker

        self.name, self.place, self.module = "Restate, the worker", place, restate_worker
        ports = {"INGRESS__BIND_ADDRESS": 8180, "ADMIN__BIND_ADDRESS": 9170, "BIND_ADDRESS": 5222}
        settings = {f"RESTATE_{name}": f"127.0.0.1:{port}" for name, port in ports.items()}
        self.server = subprocess.Popen(
            [program, "--base-dir", str(place / "server")],
            env={**os.environ, **settings, "RESTATE_LOG_FILTER": "error"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.child = forked(restate_worker.serve, place)
        restate_worker.register("http://127.0.0.1:9170")

    def until_it_ends(self, run_id: str, rng: random.Random, most: int, longest: float) -> int:
        """The same of a worker that serves all runs."""
        kills, at = 0, time.monotonic() + rng.uniform(0.0, longest)

        def kill() -> None:
            nonlocal kills, at
            if kills < most and time.monotonic() >= at:
                self.end_worker()
                self.child = forked(self.module.serve, self.place)
                kills, at = kills + 1, time.monotonic() + rng.uniform(0.0, longest)

        said = self.module.until_it_ends("http://127.0.0.1:8180", run_id, kill)
        (self.place / run_id).write_text(said)
        return kills

    def end_worker(self) -> None:
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)

    def close(self) -> None:
        self.end_worker()
        self.server.kill()
        self.server.wait()


def results(messages: list[dict[str, object]]) -> list[dict[str, object]]:
    """What calls gave, as the messages of a run hold it."""
    return [block for message in messages for block in message["content"] if block["type"] == "tool_result"]


def told_unknown(block: dict[str, object]) -> bool:
    """Whether the model was told that nobody knows whether a call took effect."""
    return (block.get("failure") or {}).get("kind") == "unknown"


def history(said: str, unkilled: str) -> tuple[str, int]:
    """How a run ended and what was said, with what the unkilled run has where the model was told `unknown`; and how
    often it was.
    """
    found = json.loads(said)
    messages = json.loads(found["said"])
    known = {block["id"]: block for block in results(json.loads(json.loads(unkilled)["said"]))}
    doubts = [block for block in results(messages) if told_unknown(block)]
    for block in doubts:
        there = dict(known[block["id"]])
        block.clear()
        block.update(there)
    return json.dumps([found["final"], found["stop"], messages]), len(doubts)


def killed(engine: OnDBOS | OnRestate, place: Path, kills: int, seed: int) -> dict[str, object]:
    """Kills so many workers; what became of the runs."""
    rng, done, runs = random.Random(seed), 0, 0  # noqa: S311 - moments, no secrets
    began = time.monotonic()
    engine.until_it_ends("unkilled-0", rng, 0, 0.0)
    start = time.monotonic()
    engine.until_it_ends("unkilled-1", rng, 0, 0.0)
    # From the first moment of a worker to one after its end.
    longest = 1.1 * (time.monotonic() - start)
    unkilled = (place / "unkilled-1").read_text()
    histories = {history(unkilled, unkilled)[0]}
    found: collections.Counter[str] = collections.Counter()
    while done < kills:
        run_id = f"run-{runs}"
        killed_here = engine.until_it_ends(run_id, rng, min(rng.randint(1, 4), kills - done), longest)
        done, runs = done + killed_here, runs + 1
        found[f"killed {killed_here} times"] += 1
        said = (place / run_id).read_text()
        same, doubts = history(said, unkilled)
        histories.add(same)
        found["unknown"] += doubts
        found["ended"] += json.loads(said)["final"] == "All done."
    effects = collections.Counter((place / "effects").read_text().splitlines())
    reads = sum(number - 1 for line, number in effects.items() if " look " in line)
    twice = [line for line, number in effects.items() if number > 1 and " look " not in line]
    times = ", ".join(f"{found[f'killed {n} times']} {n} times" for n in range(5) if found[f"killed {n} times"])
    return {
        "kills before the end of a run": done,
        "runs": f"{runs} ({times})",
        "runs that ended with the answer": found["ended"],
        "notes and payments done twice": len(twice),
        "calls told as `unknown`": found["unknown"],
        "reads done again": reads,
        "different final histories, `unknown` aside": len(histories),
        "seconds": round(time.monotonic() - began),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--url")
    parser.add_argument("--restate")
    given = parser.parse_args()
    place = Path(tempfile.mkdtemp())
    engine: OnDBOS | OnRestate
    engine = (
        OnRestate(given.restate, place) if given.restate else OnDBOS(given.url or f"sqlite:///{place / 'd.db'}", place)
    )
    try:
        found = killed(engine, place, given.kills, given.seed)
    finally:
        if isinstance(engine, OnRestate):
            engine.close()
        shutil.rmtree(place, ignore_errors=True)
    print(f"| {engine.name} | |\n| --- | --- |")
    for what, number in found.items():
        print(f"| {what} | {number} |")
    runs = int(str(found["runs"]).split(" ")[0])
    if found["notes and payments done twice"] or found["runs that ended with the answer"] != runs:
        raise SystemExit(1)
    if found["different final histories, `unknown` aside"] != 1:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
