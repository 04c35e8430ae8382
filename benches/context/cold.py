"""How long `compress` takes over a long history of dicts of which nothing was counted before, on 1, 2 and 4 processors.

    python benches/context/cold.py
    python benches/context/cold.py 2000        # exchanges; 10,000 without

Each call has a `TokenCounter` of its own, so that every message is read, counted exactly, planned and let go in the
time that is shown. In the rows "known" all calls share one. In Rust `speed_from_nothing` in
`crates/context/tests/context_window.rs` is the same without the reading.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from loopwright.context import compress
from loopwright.tokens import TokenCounter

TIMES = 15


def history(exchanges: int, shape: str) -> list[dict[str, Any]]:
    """Reads of files, 400 bytes for each message on average."""
    out: list[dict[str, Any]] = [{"role": "user", "content": "fix src/main.rs"}]
    for at in range(exchanges):
        path = f"src/file_{at * 89 % 300}.rs"
        numbers = [(at * 7_919 + line * 3_571) % 5_000 for line in range(15)]
        text = "".join(f"    let value_{n} = compute_{n % 13}(input, {n * 31 % 5_000});\n" for n in numbers)
        if shape == "anthropic":
            use = {"type": "tool_use", "id": f"call_{at}", "name": "read", "input": {"path": path}}
            out.append({"role": "assistant", "content": [{"type": "text", "text": "Let me look."}, use]})
            out.append(
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"call_{at}", "content": text}]}
            )
        else:
            function = {"name": "read", "arguments": f'{{"path":"{path}"}}'}
            call = {"id": f"call_{at}", "type": "function", "function": function}
            out.append({"role": "assistant", "content": "Let me look.", "tool_calls": [call]})
            out.append({"role": "tool", "tool_call_id": f"call_{at}", "content": text})
    return out


def took(work: Callable[[], object]) -> str:
    """The best and the middle of some times, in milliseconds."""
    times = []
    for _ in range(TIMES):
        began = time.perf_counter()
        work()
        times.append((time.perf_counter() - began) * 1e3)
    times.sort()
    return f"best {times[0]:.1f} ms, half {times[TIMES // 2]:.1f} ms"


def planned(given: list[dict[str, Any]], counter: TokenCounter | None) -> None:
    """One plan, by a counter that knows nothing where none is given."""
    compress(given, 100_000, count=counter or TokenCounter("gpt-4o"))


def main() -> None:
    """Prints a row for each shape and number of processors."""
    exchanges = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    if "PROCESSORS" not in os.environ:
        # How many threads there are is asked once in a process.
        mine = sorted(os.sched_getaffinity(0))
        for many in (1, 2, 4):
            if many <= len(mine):
                os.sched_setaffinity(0, mine[:many])
                environment = {**os.environ, "PROCESSORS": str(many)}
                subprocess.run([sys.executable, *sys.argv], env=environment, check=True)
        print("load average", *(f"{load:.1f}" for load in os.getloadavg()))
        return
    for shape in ("openai_chat", "anthropic"):
        given = history(exchanges, shape)
        for what, counter in (("from nothing", None), ("known", TokenCounter("gpt-4o"))):
            shown = took(partial(planned, given, counter))
            print(f"{os.environ['PROCESSORS']} processors, {len(given)} {shape} messages, {what}: {shown}")


if __name__ == "__main__":
    main()
