"""What every runner does around its rival: arguments, warm-up, concurrent runs, CPU time, checks, one JSON line.

A runner hands over an async factory that makes one `run()` for the given options; `run()` is one conversation and
returns the final text and the number of stream events that reached the consumer; an attribute `close`, if there is one,
is awaited at the end. A run that doesn't end with the
provider's exact final text counts as failed, and so does a batch in which the tool wasn't really called once per turn.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import resource
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from importlib import metadata
from typing import NamedTuple

FINAL = "Every key was looked up, every value was found, and nothing is left to do for this task."
PROMPT = "Look every key up, then say so."


class Unavailable(Exception):
    """This rival has no such mode."""


class Outcome(NamedTuple):
    final: str
    events: int


Run = Callable[[], Awaitable[Outcome]]

_called: Counter[str] = Counter()


def answer(key: str) -> str:
    """The body of every rival's `lookup` tool."""
    _called[key] += 1
    return f"value of {key}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--base-url", default="")
    parser.add_argument("--runs", type=int, default=1, help="concurrent runs in a batch")
    parser.add_argument("--turns", type=int, default=10, help="tool turns; one more request brings the final text")
    parser.add_argument("--parallel", type=int, default=1, help="tool calls in each tool turn")
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--offline", action="store_true", help="an in-memory model instead of HTTP")
    parser.add_argument("--seconds", type=float, default=0.0, help="repeat the batch for at least this long")
    parser.add_argument("--fault", action="store_true", help="one run, and say how it ended")
    return parser.parse_args()


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _status_kb(name: str) -> int:
    try:
        with open("/proc/self/status") as lines:
            return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)
    except OSError:
        return 0


def _reset_peak() -> None:
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


def scripted(turns: int):
    """The turns of an in-memory model: yields the arguments of each tool call, then `None` for the final text."""
    for turn in range(turns):
        yield f'{{"key": "k{turn:05}"}}'
    yield None


async def _fault(run: Run) -> dict:
    try:
        outcome = await asyncio.wait_for(run(), 60)
    except TimeoutError:
        return {"outcome": "hangs", "error": "no end within 60 s"}
    except Exception as error:  # noqa: BLE001 - whatever it is, it's the result
        return {"outcome": "run ends", "error": type(error).__name__, "detail": str(error)[:300]}
    if outcome.final == FINAL:
        return {"outcome": "ok", "error": ""}
    return {
        "outcome": "wrong answer" if outcome.final else "silent empty answer",
        "error": "",
        "detail": outcome.final[:300],
    }


async def _measure(run: Run, options: argparse.Namespace) -> dict:
    warm = await run()
    if warm.final != FINAL:
        raise SystemExit(f"the warm-up run ended with {warm.final[:200]!r}")
    gc.collect()
    _called.clear()
    _reset_peak()
    rss, before, start = _status_kb("VmRSS"), _cpu(), time.perf_counter()
    batches = failed = events = 0
    first_error = ""
    while batches == 0 or time.perf_counter() - start < options.seconds:
        batches += 1
        tasks = [asyncio.ensure_future(run()) for _ in range(options.runs)]
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, BaseException):
                failed += 1
                first_error = first_error or f"{type(result).__name__}: {result}"[:300]
            elif result.final != FINAL:
                failed += 1
                first_error = first_error or f"ended with {result.final[:100]!r}"
            else:
                events += result.events
    wall, cpu, peak = time.perf_counter() - start, _cpu() - before, _status_kb("VmHWM")
    runs = batches * options.runs
    if not failed:
        expected = {
            f"k{turn:05}" + (f"-{call}" if call else "")
            for turn in range(options.turns)
            for call in range(options.parallel)
        }
        if set(_called) != expected or any(count != runs for count in _called.values()):
            failed, first_error = runs, f"tool calls are not one per turn: {dict(_called.most_common(3))}"
        elif options.stream and not options.offline and events < 16 * runs:
            failed, first_error = runs, f"only {events} stream events in {runs} runs"
    turns = runs * (options.turns + 1)
    return {
        "batches": batches,
        "failed": failed,
        "error": first_error,
        "events": events,
        "events_turn": events / turns,
        "cpu_s": cpu,
        "wall_s": wall,
        "cpu_ms_turn": cpu * 1e3 / turns,
        "wall_ms_turn": wall * 1e3 / turns,
        "turns_s": turns / wall,
        "rss_kb_run": max(0, peak - rss) / options.runs,
    }


def main(rival: str, packages: list[str], build: Callable[[argparse.Namespace], Awaitable[Run]]) -> None:
    """Runs what the command line asks for with the `run()` that `build` makes."""
    options = _arguments()

    async def everything() -> dict:
        run = await build(options)
        try:
            return await (_fault(run) if options.fault else _measure(run, options))
        finally:
            if close := getattr(run, "close", None):
                await close()

    line = {"rival": rival, "runs": options.runs, "turns": options.turns + 1, "stream": options.stream}
    try:
        line.update(asyncio.run(everything()))
    except Unavailable as error:
        line["unavailable"] = str(error)
    versions = {}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    line["versions"] = versions
    print(json.dumps(line), flush=True)
