"""A program that is killed in the middle of its work goes on where it stood, and pays nobody twice.

It starts itself as a worker, kills the worker (`kill -9`) after the second payment, and goes on from the journal.

python examples/resume_after_kill.py [MODEL]      without a model a script plays it: no key, no network
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from loopwright import Agent, Approval, Budget, Journal, tool
from loopwright.testing import ScriptedModel, call

TASK = "Pay Ann 50, Ben 20 and Cy 30, one after the other."


def payroll(folder: Path, *, dies: bool) -> Agent[None, str]:
    """The agent of the worker, and of whoever goes on."""
    book = folder / "payments.txt"

    @tool(risk="confirm")
    def pay(name: str, amount: int) -> str:
        """Pay somebody."""
        with book.open("a", encoding="utf-8") as file:
            file.write(f"{name} {amount}\n")
        if dies and len(book.read_text(encoding="utf-8").splitlines()) == 2:
            # The money is gone, and the journal has not heard of it.
            os.kill(os.getpid(), signal.SIGKILL)
        return f"{amount} paid to {name}"

    def approve(question: Approval) -> bool | str:
        # After a crash the question comes with the call that nobody knows the end of: a person looks it up.
        paid = book.read_text(encoding="utf-8") if book.exists() else ""
        known = f"{question.arguments['name']} {question.arguments['amount']}\n" in paid
        print(f"  ? {question.name} {question.arguments}: {'no, it is in the book' if known else 'yes'}", flush=True)
        return "it was paid already: go on with the next" if known else True

    script = [
        call("pay", name="Ann", amount=50),
        call("pay", name="Ben", amount=20),
        call("pay", name="Cy", amount=30),
        "All three are paid.",
    ]
    named = [word for word in sys.argv[1:] if ":" in word]
    return Agent(
        named[0] if named else ScriptedModel(script, by_turn=True),
        tools=[pay],
        guard=approve,
        journal=Journal(folder / "runs.db", durable=True),
        budget=Budget.by_progress(),
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        worker = subprocess.run([sys.executable, __file__, *sys.argv[1:], "--work", made], check=False)
        print(f"the worker ended with {worker.returncode}")

        (run,) = Journal(folder / "runs.db").runs()
        print(f"run {run.id} is {run.state}")
        result = payroll(folder, dies=False).resume_sync(folder / "runs.db", run=run.id)
        print(result.text)
        print((folder / "payments.txt").read_text(encoding="utf-8"), end="")


if __name__ == "__main__":
    if "--work" in sys.argv:
        payroll(Path(sys.argv[-1]), dies=True).run_sync(TASK, run_id="payroll")
    else:
        main()
