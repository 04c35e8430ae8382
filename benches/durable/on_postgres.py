"""Workers over a journal in Postgres: killed, stopped past their lease, their database killed; and what they cost.

    python benches/durable/on_postgres.py                   # all, over a Postgres of its own
    python benches/durable/on_postgres.py kill --runs 40 --kills 60
    python benches/durable/on_postgres.py many --runs 1000  # two workers
    python benches/durable/on_postgres.py cost              # CPU time of a turn
    python benches/durable/on_postgres.py rate --seconds 60 # durable appends

Postgres is that of the system, started as an ordinary user in a folder that goes afterwards.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "python")]

from kill import history  # noqa: E402 - found by the path above
from loopwright import Journal, _core, replay  # noqa: E402
from with_postgres import Postgres, postgres  # noqa: E402


class Fleet:
    """Workers as processes of their own, over one database."""

    def __init__(
        self, url: str, place: Path, agent: str, *, lease: float, concurrency: int, **environment: str
    ) -> None:
        self.journal, self.place = Journal(url), place
        self.command = [sys.executable, "-m", "loopwright", "worker", f"{HERE / 'postgres_shop.py'}:{agent}"]
        self.command += ["--journal", url, "--lease", str(lease), "--concurrency", str(concurrency)]
        path = os.pathsep.join([str(HERE), *sys.path])
        self.environment = {**os.environ, "EFFECTS": str(place / "effects"), "PYTHONPATH": path, **environment}
        self.workers: list[subprocess.Popen[bytes]] = []

    def start(self) -> subprocess.Popen[bytes]:
        with (self.place / "log").open("ab") as log:
            worker = subprocess.Popen(self.command, env=self.environment, stderr=log, stdout=log)
        self.workers.append(worker)
        return worker

    def effects(self) -> collections.Counter[str]:
        found = self.place / "effects"
        return collections.Counter(found.read_text().splitlines() if found.exists() else [])

    def states(self) -> collections.Counter[str]:
        return collections.Counter(run.state for run in self.journal.runs())

    def answer(self) -> None:
        """A person who allows all that waits, but for a second time of what may have been done."""
        for run in self.journal.runs():
            if run.state == "waiting":
                asked = self.journal.pending(run.id)
                self.journal.answer(run.id, {each.call_id: each.kind != "in_doubt" for each in asked})

    def end(self) -> list[int]:
        for worker in self.workers:
            if worker.poll() is None:
                worker.send_signal(signal.SIGCONT)
                worker.terminate()
        return [worker.wait(60) for worker in self.workers]


def ended(journal: Journal, name: str) -> str:
    """How a run ended, as `kill.history` compares it."""
    text = journal.text(name)
    told, messages = _core.replay(text)[:2]
    outcome = told["outcome"]
    return json.dumps({"final": outcome["final"], "stop": outcome["stop"], "said": messages.to_json()})


def killed(server: Postgres, runs: int, kills: int, seed: int, *, stops: int = 0, crashes: int = 0) -> dict[str, Any]:
    """Kills workers at random moments, stops them past their lease, and kills their database, until all runs ended."""
    rng, began = random.Random(seed), time.monotonic()  # noqa: S311 - moments, no secrets
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(
            server.database(f"kill-{seed}-{runs}-{time.time_ns()}"), Path(folder), "killed", lease=1.5, concurrency=6
        )
        names = ["unkilled", *(f"run-{number}" for number in range(runs))]
        fleet.journal.start(_prompt(), run_id="unkilled")
        workers = [fleet.start() for _ in range(3)]
        while fleet.states()["finished"] < 1:
            fleet.answer()
            time.sleep(0.05)
        for name in names[1:]:
            fleet.journal.start(_prompt(), run_id=name)
        done = collections.Counter[str]()
        try:
            while fleet.states()["finished"] < len(names):
                if time.monotonic() - began > 600:  # noqa: PLR2004 - never, if all is well
                    raise SystemExit(f"not all ended: {fleet.states()} {Path(folder, 'log').read_text()[-2000:]}")
                fleet.answer()
                time.sleep(rng.uniform(0.0, 0.4))
                at = rng.randrange(len(workers))
                if done["kills"] < kills:
                    workers[at].kill()
                    workers[at] = fleet.start()
                    done["kills"] += 1
                if done["stops"] < stops:
                    # Longer than the lease: another worker takes what this one had, and this one hears of it.
                    threading.Thread(target=_stopped, args=(workers[at], 2.5)).start()
                    done["stops"] += 1
                if done["crashes"] < crashes:
                    server.stop("immediate")
                    time.sleep(rng.uniform(0.0, 0.5))
                    server.start()
                    done["crashes"] += 1
        finally:
            codes = fleet.end()
        unkilled = ended(fleet.journal, "unkilled")
        same = [history(ended(fleet.journal, name), unkilled) for name in names]
        identical = sum(replay(fleet.journal, run=name).identical for name in names)
        effects = fleet.effects()
        fleet.journal.close()
    twice = [line for line, number in effects.items() if number > 1 and " look " not in line]
    return {
        "workers killed": done["kills"],
        "workers stopped past their lease": done["stops"],
        "the database killed": done["crashes"],
        "runs": len(names),
        "runs that ended with the answer": sum(json.loads(each)[0] == "All done." for each, _ in same),
        "notes and payments done twice": len(twice),
        "calls told as `unknown`": sum(doubts for _, doubts in same),
        "reads done again": sum(number - 1 for line, number in effects.items() if " look " in line),
        "different final histories, `unknown` aside": len({each for each, _ in same}),
        "journals that replay": identical,
        "workers that were drained": sum(code == 0 for code in codes),
        "seconds": round(time.monotonic() - began),
    }


def _prompt() -> str:
    from shop import PROMPT

    return PROMPT


def _stopped(worker: subprocess.Popen[bytes], seconds: float) -> None:
    worker.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    worker.send_signal(signal.SIGCONT)


def many(server: Postgres, runs: int, workers: int = 2) -> dict[str, Any]:
    """So many short runs over some workers."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(server.database(f"many-{runs}-{time.time_ns()}"), Path(folder), "short", lease=30, concurrency=64)
        began = time.monotonic()
        for number in range(runs):
            fleet.journal.start("Count.", run_id=f"run-{number}")
        queued = time.monotonic() - began
        began = time.monotonic()
        for _ in range(workers):
            fleet.start()
        while fleet.states()["finished"] < runs:
            if time.monotonic() - began > 600:  # noqa: PLR2004 - never, if all is well
                raise SystemExit(f"not all ended: {fleet.states()} {Path(folder, 'log').read_text()[-2000:]}")
            time.sleep(0.25)
        took = time.monotonic() - began
        codes, effects = fleet.end(), fleet.effects()
        fleet.journal.close()
    calls = collections.Counter(line.rpartition(" ")[0] for line in effects.elements())
    by = collections.Counter(line.rpartition(" ")[2] for line in effects.elements() if " count 0 " in line)
    return {
        "runs of two turns": runs,
        "begun by each worker": " + ".join(str(number) for number in sorted(by.values())),
        "calls made twice": sum(number > 1 for number in calls.values()),
        "calls made": len(calls),
        "runs a second": round(runs / took, 1),
        "ms to queue one": round(queued / runs * 1e3, 2),
        "workers that were drained": sum(code == 0 for code in codes),
    }


def cost(server: Postgres, runs: int = 64, turns: int = 50) -> dict[str, Any]:
    """CPU time of a turn in a worker: with a journal in Postgres, and without one."""
    os.environ.update(TURNS=str(turns), RESULT="1000")
    from loopwright.durable import Worker
    from postgres_shop import turns as of_turns

    url = server.database(f"cost-{time.time_ns()}")
    journal, agent = Journal(url), of_turns(turns)

    async def all_at_once() -> float:
        before = time.process_time()
        await asyncio.gather(*(agent.run("Count.") for _ in range(runs)))
        return time.process_time() - before

    asyncio.run(all_at_once())
    bare = asyncio.run(all_at_once())
    found = []
    for _ in range(2):
        for _ in range(runs):
            journal.start("Count.")
        before, began = time.process_time(), time.monotonic()
        asyncio.run(Worker(agent, journal).run(until_empty=True))
        found.append((time.process_time() - before, time.monotonic() - began))
    cpu, took = found[-1]
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        sum_of = "sum(octet_length(lines)) / count(distinct run_id)"
        sql = f"select {sum_of}, pg_total_relation_size('loopwright_lines') from loopwright_lines"  # noqa: S608 - ours
        stored, on_disk = connection.execute(sql).fetchone() or (0, 0)
    journal.close()
    every = runs * turns
    return {
        f"runs of {turns} turns at once": runs,
        "ms CPU a turn, journal in Postgres": round(cpu / every * 1e3, 3),
        "ms CPU a turn, no journal": round(bare / every * 1e3, 3),
        "processes that waited for a core (load)": round(os.getloadavg()[0], 1),
        "turns a second": round(every / took),
        "KB stored for a run": round(float(stored) / 1e3, 1),
        "KB on disk for a run": round(on_disk / (2 * runs) / 1e3, 1),
    }


def rate(server: Postgres, seconds: float, runs: int = 64) -> dict[str, Any]:
    """Durable appends of 1.5 KB by one process: each run writes its next event when the last one is kept."""
    from loopwright._postgres import Hold, Item, store_at
    from loopwright._postgres._kept import _new

    url = server.database(f"rate-{time.time_ns()}")
    store = store_at(Journal(url).path)
    line, waits = os.urandom(750).hex().encode() + b"\n", []
    until = time.monotonic() + seconds
    over = threading.Semaphore(0)

    def append(hold: Hold, n: int) -> None:
        began = time.monotonic()
        if began >= until:
            over.release()
            return

        def kept(error: Exception | None) -> None:
            assert error is None, error
            waits.append(time.monotonic() - began)
            append(hold, n + 20)

        for each in range(20):
            store.write(Item(hold, n + each, line, n + each, then=kept if each == 19 else None))  # noqa: PLR2004 - the last

    before, began = time.process_time(), time.monotonic()
    for number in range(runs):
        append(_new(store, f"run-{number}"), 0)
    for _ in range(runs):
        over.acquire()
    took, cpu = time.monotonic() - began, time.process_time() - before
    events = len(waits) * 20
    Journal(url).close()
    waits.sort()
    return {
        "runs that write at once": runs,
        "events a second": round(events / took),
        "ms p50 of a durable append": round(statistics.median(waits) * 1e3, 1),
        "ms p99": round(waits[int(len(waits) * 0.99)] * 1e3, 1),
        "µs CPU an event": round(cpu / events * 1e6, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="?", choices=("all", "kill", "many", "cost", "rate"), default="all")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--stops", type=int, default=8)
    parser.add_argument("--crashes", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    wrong = False
    with postgres() as server:
        found: dict[str, dict[str, Any]] = {}
        if given.what in ("all", "kill"):
            found["killed"] = killed(
                server, given.runs or 100, given.kills, given.seed, stops=given.stops, crashes=given.crashes
            )
            wrong = is_wrong(found["killed"])
        if given.what in ("all", "many"):
            found["many"] = many(server, given.runs or 1000)
            wrong = wrong or found["many"]["calls made twice"] > 0
        if given.what in ("all", "cost"):
            found["cost"] = cost(server)
        if given.what in ("all", "rate"):
            found["rate"] = rate(server, given.seconds)
    for name, told in found.items():
        print(f"\n| Postgres, {name} | |\n| --- | --- |")
        for what, number in told.items():
            print(f"| {what} | {number} |")
    raise SystemExit(int(wrong))


def is_wrong(found: dict[str, Any]) -> bool:
    """Whether anything was done twice, did not end, or ended otherwise."""
    whole = found["runs that ended with the answer"] == found["journals that replay"] == found["runs"]
    return (
        not whole
        or found["notes and payments done twice"] > 0
        or found["different final histories, `unknown` aside"] != 1
    )


if __name__ == "__main__":
    main()
