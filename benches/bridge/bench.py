#!/usr/bin/env python3
"""CPU time of one await across the border between Python and Rust, beside awaits that stay in asyncio.

Builds the crate next to it, then measures every case in fresh processes and prints a Markdown table: the minimum, the
median, and how many processes crashed on their way out. CPU time counts all threads, the tokio workers too.
`--json` prints the figures instead.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULE = HERE / "module"
TASKS = 1000


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def soon(loop: asyncio.AbstractEventLoop, value: int) -> int:
    """The floor: a future that the loop itself resolves in its next turn."""
    future = loop.create_future()
    loop.call_soon(future.set_result, value)
    return await future


async def awaited(awaitable) -> int:
    return await awaitable


async def one_by_one(make, count: int) -> None:
    for value in range(count):
        assert await make(value) == value


async def together(make, count: int) -> None:
    for _ in range(count // TASKS):
        tasks = [asyncio.ensure_future(awaited(make(value))) for value in range(TASKS)]
        assert await asyncio.gather(*tasks) == list(range(TASKS))


async def calls(make, count: int) -> None:
    for value in range(count):
        assert make(value) == value


def cases(loop) -> dict:
    import bridge_baseline as rust

    return {
        "plain call into Rust": (calls, rust.call, 1_000_000),
        "asyncio future, one by one": (one_by_one, lambda value: soon(loop, value), 100_000),
        "asyncio future, 1000 tasks": (together, lambda value: soon(loop, value), 100_000),
        "future_into_py, ready, one by one": (one_by_one, rust.ready, 20_000),
        "future_into_py, ready, 1000 tasks": (together, rust.ready, 20_000),
        "future_into_py, 5 ms later, 1000 tasks": (together, lambda value: rust.later(value, 5), 20_000),
    }


async def measure(name: str) -> float:
    shape, make, count = cases(asyncio.get_running_loop())[name]
    await shape(make, TASKS)
    before = cpu()
    await shape(make, count)
    return (cpu() - before) / count * 1e6


def build() -> None:
    manifest = ["--manifest-path", str(HERE / "Cargo.toml")]
    subprocess.run(["cargo", "build", "--release", "--quiet", *manifest], check=True)
    folder = HERE / "target" / "release"
    names = ("libbridge_baseline.so", "libbridge_baseline.dylib", "bridge_baseline.dll")
    library = next(folder / name for name in names if (folder / name).exists())
    MODULE.mkdir(exist_ok=True)
    shutil.copy(library, MODULE / ("bridge_baseline.pyd" if library.suffix == ".dll" else "bridge_baseline.so"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path.insert(0, str(MODULE))
    if options.case:
        print(asyncio.run(measure(options.case)), flush=True)
        return
    build()
    figures: dict[str, list[float]] = {}
    crashes: dict[str, int] = {}
    for _ in range(options.reps):
        for name in cases(None):
            done = subprocess.run([sys.executable, __file__, "--case", name], capture_output=True, text=True)
            if not done.stdout.strip() or done.returncode > 0:
                raise SystemExit(f"{name}: exit {done.returncode}: {done.stderr}")
            figures.setdefault(name, []).append(float(done.stdout))
            # A figure and a signal: the work was done, and the process died while Python was finalizing.
            crashes[name] = crashes.get(name, 0) + (done.returncode < 0)
    if options.json:
        print(json.dumps({"figures": figures, "crashes": crashes}))
        return
    print("| case | CPU µs each: min / median | crashes at exit |\n| --- | --- | --- |")
    for name, values in figures.items():
        low, middle = min(values), statistics.median(values)
        print(f"| {name} | {low:.2f} / {middle:.2f} | {crashes[name]} of {len(values)} |")


if __name__ == "__main__":
    main()
