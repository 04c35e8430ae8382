"""What traces cost: CPU and wall time of a turn (a request and a tool call), with and without them, interleaved in one
process. In memory the loop is all there is; behind a provider that takes its time a turn costs what users wait for.

Usage: python benches/otel/run.py [turns] [repeats] [--json]. Spans go to a batch exporter that drops them, metrics to a
reader that nobody asks. The least of the repeats counts.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from typing import Any

from loopwright import Agent, Budget, Instrumentation, Monitor, tool
from loopwright.models import Call, Response
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult


class Dropped(SpanExporter):
    """Takes spans, and does nothing with them."""

    def export(self, spans: Any) -> SpanExportResult:
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None: ...


class Model:
    """Asks for one lookup a turn, then answers; after so many seconds."""

    name = "memory"

    def __init__(self, turns: int, seconds: float) -> None:
        self.turns, self.seconds = turns, seconds

    async def respond(self, request: Any) -> Response:
        if self.seconds:
            await asyncio.sleep(self.seconds)
        turn = request.turns
        if turn < self.turns:
            return Response(calls=[Call("lookup", {"key": f"k{turn:05}"})], input_tokens=100, output_tokens=10)
        return Response("Every key was looked up.", input_tokens=100, output_tokens=10)


@tool(read_only=True, risk="safe")
async def lookup(key: str) -> str:
    """Look a key up."""
    return f"the value of {key}"


TRACERS = TracerProvider()
TRACERS.add_span_processor(BatchSpanProcessor(Dropped(), max_queue_size=100_000))
METERS = MeterProvider(metric_readers=[InMemoryMetricReader()])
HOW: dict[str, Instrumentation | bool] = {
    "off": False,
    "spans": Instrumentation(TRACERS),
    "spans and metrics": Instrumentation(TRACERS, METERS),
    "spans, metrics and content": Instrumentation(TRACERS, METERS, content=True),
}


def once(how: Instrumentation | bool, turns: int, seconds: float) -> tuple[float, float]:
    """CPU and wall time of a turn, in milliseconds."""
    budget = Budget(rounds=turns + 2, tool_rounds=turns + 2, wall_time=600)
    monitor = Monitor(stuck=None, momentum=None)
    agent = Agent(Model(turns, seconds), tools=[lookup], budget=budget, monitor=monitor, instrument=how)

    async def run() -> tuple[float, float]:
        cpu, wall = time.process_time(), time.perf_counter()
        result = await agent.run("Look all keys up.")
        assert result.stop_reason == "natural", result.stop_reason
        return (time.process_time() - cpu) * 1e3 / turns, (time.perf_counter() - wall) * 1e3 / turns

    gc.collect()
    return asyncio.run(run())


def table(turns: int, repeats: int, seconds: float) -> dict[str, dict[str, float]]:
    """The least of the repeats of each case, and what that is to the first."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in HOW}
    for _ in range(repeats):
        for name, how in HOW.items():
            found[name].append(once(how, turns, seconds))
    least = {name: tuple(min(each) for each in zip(*times, strict=True)) for name, times in found.items()}
    off = least["off"]
    return {
        name: {"cpu": cpu, "wall": wall, "cpu_ratio": cpu / off[0], "wall_ratio": wall / off[1]}
        for name, (cpu, wall) in least.items()
    }


def main() -> None:
    given = [int(each) for each in sys.argv[1:] if each.isdigit()]
    turns, repeats = (*given, *(200, 7)[len(given) :])
    tables = {"in memory": table(turns, repeats, 0.0)}
    for seconds in (0.02, 0.5):
        few = max(3, min(turns // 4, int(2 / seconds)))
        tables[f"a model that takes {seconds * 1000:g} ms"] = table(few, min(repeats, 3), seconds)
    if "--json" in sys.argv:
        print(json.dumps(tables))
        return
    for title, rows in tables.items():
        print(f"{title}: ms of a turn\n")
        print("|  | CPU | wall | CPU, off = 1 | wall, off = 1 |\n| --- | --- | --- | --- | --- |")
        for name, row in rows.items():
            cells = f"{row['cpu']:.3f} | {row['wall']:.3f} | {row['cpu_ratio']:.2f} | {row['wall_ratio']:.3f}"
            print(f"| {name} | {cells} |")
        print()


if __name__ == "__main__":
    main()
