"""Turns `results.json` into Markdown tables, for the terminal and for `docs/benchmarks.md`.

What wasn't measured is said in words: a missing figure is never drawn as a number.
"""

from __future__ import annotations

from pathlib import Path

LABELS = {
    "raw": "Rust reqwest, one thread (lower limit, no loop features)",
    "ours": "**Loopwright**",
    "aiohttp": "aiohttp, loop written by hand",
    "agno": "agno",
    "langchain": "langchain `create_agent`",
    "openai-agents": "openai-agents",
    "pydantic-ai": "pydantic-ai",
}
FRAMEWORKS = ["ours", "agno", "langchain", "openai-agents", "pydantic-ai"]
MISSING = "not yet measured"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
FAULTS = ["429", "500", "529", "badjson", "s-badjson", "s-earlyerr", "s-miderr", "s-midcut"]
FAULT_LABELS = [
    "429",
    "500",
    "529",
    "bad JSON",
    "stream bad JSON",
    "stream early error",
    "stream mid error",
    "stream cut",
]


def number(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def line(rival: str, scenario: str, record: dict) -> str:
    """One record for the terminal, as soon as it is there."""
    if "cpu_ms_turn" not in record:
        return f"{scenario:14} {rival:14} {record.get('unavailable') or record.get('error')}"
    low, middle = record["cpu_ms_turn"]
    failed = f"  FAILED {record['failed']}: {record['error']}" if record["failed"] else ""
    return f"{scenario:14} {rival:14} {low:9.4f} / {middle:9.4f} CPU ms/turn  {record['turns_s']:9,.0f} turns/s{failed}"


def cell(record: dict | None, show) -> str:
    if record is None:
        return MISSING
    if record.get("unavailable"):
        return "n/a"
    if "cpu_ms_turn" not in record:
        return "failed"
    mark = f" ({record['failed']} runs failed)" if record.get("failed") else ""
    return show(record) + mark


def pair(record: dict) -> str:
    low, middle = record["cpu_ms_turn"]
    return number(low) if record["reps"] == 1 else f"{number(low)} / {number(middle)}"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def rows(cells: dict, names: list[str], columns: list, rivals=tuple(LABELS)) -> list[list[str]]:
    """`columns` are pairs of a scenario's name and what to show of it."""
    found = []
    for rival in rivals:
        records = cells.get(rival, {})
        if rival == "ours" or any(name in records for name in names):
            found.append([LABELS[rival]] + [cell(records.get(name), show) for name, show in columns])
    return found


def loops(cells: dict, kind: str) -> str:
    names = [f"{kind}-{runs}" for runs in (1, 100, 1000)]
    one, hundred, thousand = names
    columns = [(one, lambda r: number(r["wall_ms_turn"][0]))]
    columns = [(one, pair), *columns, (hundred, pair), (thousand, lambda r: f"{pair(r)} ({r['turns']} turns)")]
    columns += [(name, lambda r: f"{r['turns_s']:,.0f}") for name in names]
    columns += [(name, lambda r: f"{r['rss_kb_run'][0]:.0f}") for name in (hundred, thousand)]
    head = [
        "",
        "CPU ms/turn, 1 run: min / median",
        "wall ms/turn, 1 run",
        "CPU ms/turn, 100 runs",
        "CPU ms/turn, 1000 runs",
    ]
    head += ["turns/s, 1 run", "100 runs", "1000 runs", "KB RSS/run, 100", "KB RSS/run, 1000"]
    if kind == "stream":
        columns.append((one, lambda r: f"{r['events_turn']:.1f}"))
        head.append("events/turn seen")
    return table(head, rows(cells, names, columns))


def history(cells: dict) -> str:
    names = [f"history-{turns}" for turns in (10, 50, 200)]
    columns = [(name, pair) for name in names]
    return table(["CPU ms/turn: min / median", "10 turns", "50 turns", "200 turns"], rows(cells, names, columns))


def single(cells: dict, name: str, rivals: list[str]) -> str:
    return table(["", "CPU ms/turn: min / median"], rows(cells, [name], [(name, pair)], rivals))


def latency(cells: dict) -> str:
    name = "latency-1000"
    columns = [(name, lambda r: f"{r['wall_s'][0]:.2f}"), (name, lambda r: f"{r['cpu_s'][0]:.2f}")]
    columns += [(name, pair), (name, lambda r: f"{r['rss_kb_run'][0]:.0f}")]
    head = ["", "wall s (5.5 is ideal)", "CPU s", "CPU ms/turn", "KB RSS/run"]
    return table(head, rows(cells, [name], columns, ["raw", "ours", "aiohttp"]))


def imports(cells: dict) -> str:
    found = []
    for rival, label in {"python": "`python -c pass`", **LABELS}.items():
        record = cells.get(rival, {}).get("import")
        if record and "cpu_ms" in record:
            figures = [f"{record[name][0]:.0f}" for name in ("cpu_ms", "wall_ms", "rss_mb")]
            found.append([label, *figures])
        elif rival == "ours":
            found.append([label, MISSING, MISSING, MISSING])
    return table(["new process", "CPU ms (min)", "wall ms (min)", "RSS MB"], found)


def faults(cells: dict) -> str:
    found = []
    for rival in FRAMEWORKS:
        record = cells.get(rival, {}).get("faults")
        if record is None:
            if rival == "ours":
                found.append([LABELS[rival]] + [MISSING] * len(FAULTS))
            continue
        shown = []
        for name in FAULTS:
            outcome = record["cells"][name]
            error = f" ({outcome['error']})" if outcome.get("error") else ""
            shown.append("ok" if outcome["outcome"] == "ok" else f"**{outcome['outcome']}**{error}")
        found.append([LABELS[rival], *shown])
    return table(["first request answered with", *FAULT_LABELS], found)


def versions(results: dict) -> str:
    found: dict[str, str] = {}
    dates = set()
    loads: list[float] = []
    for records in results.get("cells", {}).values():
        for record in records.values():
            dates.add(record.get("date", ""))
            loads += record.get("load", [])
            found.update(record.get("versions") or {})
    machine = results.get("machine", {})
    days = sorted(dates - {""})
    when = days[0] if len(set(days)) == 1 else f"{days[0]} to {days[-1]}" if days else "never"
    text = f"Measured {when} on {machine.get('cores')} cores ({machine.get('cpu')}, {machine.get('system')}), "
    text += f"Python {machine.get('python')}, asyncio's own event loop"
    if loads:
        text += f", load average {min(loads):.0f} to {max(loads):.0f}"
        text += " (others use the machine too)" if max(loads) > machine.get("cores", 0) else ""
    text += "."
    names = ", ".join(f"{name} {version}" for name, version in sorted(found.items()))
    unbuilt = results.get("not_built", {})
    note = f"\n\nNot measured: {', '.join(sorted(unbuilt))}." if unbuilt else ""
    return f"{text} Versions: {names}.{note}"


def render(results: dict) -> str:
    cells = results.get("cells", {})
    sections = [
        ("", versions(results)),
        ("Without streaming", loops(cells, "plain")),
        ("Streaming, 16 deltas per answer", loops(cells, "stream")),
        ("Cost against the length of the history (1 run)", history(cells)),
        ("1000 runs against a provider that takes 500 ms", latency(cells)),
        (
            "10 parallel tool calls per turn (5 tool turns)",
            single(cells, "parallel-10", [r for r in LABELS if r != "raw"]),
        ),
        ("The loop alone, in-memory model", single(cells, "offline", [r for r in FRAMEWORKS if r != "agno"])),
        ("Import", imports(cells)),
        ("Faults", faults(cells)),
    ]
    return "\n\n".join(f"### {title}\n\n{body}" if title else body for title, body in sections)


def write_docs(results: dict, path: Path) -> None:
    """Replaces what stands between the two marks."""
    text = path.read_text()
    head, _, rest = text.partition(BEGIN)
    _, mark, tail = rest.partition(END)
    if not mark:
        raise SystemExit(f"{path} has no {BEGIN} and {END}")
    path.write_text(f"{head}{BEGIN}\n{render(results)}\n{END}{tail}")
