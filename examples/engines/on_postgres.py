"""Workers over a journal in Postgres: one is killed after a payment, the next one goes on, nobody is paid twice.

It starts itself as workers. The run waits for a person in the database, however long that takes.

pip install 'loopwright[postgres]'
python examples/engines/on_postgres.py postgresql://…      a database that may be written to
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from loopwright import Agent, Journal, RunContext, tool
from loopwright.durable import Worker
from loopwright.events import ToolFinished
from loopwright.guard import Guard
from loopwright.testing import ScriptedModel, call

BOOK = Path(os.environ.get("BOOK", "payments.txt"))


@tool(risk="confirm")
def pay(context: RunContext[None], name: str, amount: int) -> str:
    """Pay somebody."""
    with BOOK.open("a", encoding="utf-8") as file:
        # A bank takes the key, and pays once for it.
        file.write(f"{name} {amount} {context.idempotency_key[:8]}\n")
    if os.environ.get("DIES"):
        # The money is gone, and the journal has not heard of it.
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{amount} paid to {name}"


agent = Agent(
    ScriptedModel([call("pay", name="Ann", amount=50), call("pay", name="Ben", amount=20), "Done."], by_turn=True),
    tools=[pay],
    guard=Guard(approve="suspend"),
)


def works(url: str, **more: str) -> int:
    """A worker as a process of its own, until nothing is left to do; how it ended."""
    command = [sys.executable, __file__, url, "worker"]
    return subprocess.run(command, env={**os.environ, **more}, check=False).returncode


def allow(journal: Journal) -> None:
    """A person looks at what waits, anywhere: allows it, but for a second time of what may have been done."""
    for asked in journal.pending("payroll-1"):
        allowed = asked.kind != "in_doubt"
        print(f"{'allowed' if allowed else 'not again'}: {asked.name} {asked.arguments['name']}")
        journal.answer("payroll-1", {asked.call_id: allowed})


def main(url: str) -> None:
    journal = Journal(url)
    BOOK.unlink(missing_ok=True)
    journal.start("Pay Ann 50 and Ben 20.", run_id="payroll-1")
    print("the worker ended with", works(url))
    allow(journal)
    print("the worker ended with", works(url, DIES="1"))
    while (state := journal.runs()[0].state) != "finished":
        if state == "waiting":
            allow(journal)
        # Until the lease of the dead worker is over there is nothing to do.
        time.sleep(0.1)
        works(url)
    for event in journal.events("payroll-1"):
        if isinstance(event, ToolFinished):
            print(f"{event.name}: {'nobody knows' if event.is_error else 'done'}")
    print(BOOK.read_text(encoding="utf-8"), end="")


if __name__ == "__main__":
    if sys.argv[2:] == ["worker"]:
        asyncio.run(Worker(agent, sys.argv[1], lease=2).run(until_empty=True))
    else:
        main(sys.argv[1])
