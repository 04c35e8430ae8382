"""An agent within a workflow of DBOS: its worker is killed after a payment, the next one goes on, nobody is paid twice.

It starts itself as workers. The run waits for a person in the database, however long that takes.

pip install 'loopwright[dbos]'
python examples/engines/on_dbos.py [URL]      a database of its own, of SQLite; or postgresql://…
"""

# Type checkers look at this where DBOS is not installed, too.
# mypy: disable-error-code="import-not-found,untyped-decorator,misc"

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from dbos import DBOS, SetWorkflowID
from loopwright import Agent, RunContext, durable, tool
from loopwright.durable.dbos import DBOSEngine, answer, pending
from loopwright.testing import ScriptedModel, call

BOOK = Path(os.environ.get("BOOK", "payments.txt"))


@tool(risk="confirm")
def pay(context: RunContext[None], name: str, amount: int) -> str:
    """Pay somebody."""
    with BOOK.open("a", encoding="utf-8") as file:
        # A bank takes the key, and pays once for it.
        file.write(f"{name} {amount} {context.idempotency_key[:8]}\n")
    if os.environ.get("DIES"):
        # The money is gone, and DBOS has not heard of it.
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{amount} paid to {name}"


agent = Agent(
    ScriptedModel([call("pay", name="Ann", amount=50), call("pay", name="Ben", amount=20), "Done."], by_turn=True),
    tools=[pay],
)


@DBOS.workflow()
async def payroll(prompt: str) -> list[str]:
    """The workflow: one line more than `await agent.run(prompt)`."""
    result = await durable.drive(agent, prompt, engine=DBOSEngine())
    return [
        result.output,
        *(f"{each.name} {each.arguments['name']}: {each.failure or 'ok'}" for each in result.tool_calls),
    ]


def launch(url: str) -> None:
    """DBOS as each process of the application has it."""
    DBOS(
        config={
            "name": "payroll",
            "system_database_url": url,
            # By default a hash of the program: a new version would not go on with the runs of the old one.
            "application_version": "1",
            "executor_id": "worker",
            "run_admin_server": False,
            "log_level": "ERROR",
        }
    )
    DBOS.launch()


async def work(url: str) -> None:
    """A worker: begins the run, or goes on with it. The workflow of an id is begun once."""
    launch(url)
    with SetWorkflowID("payroll-1"):
        handle = await DBOS.start_workflow_async(payroll, "Pay Ann 50 and Ben 20.")
    person = asyncio.create_task(asked("payroll-1"))
    print(*await handle.get_result(), sep="\n", flush=True)
    person.cancel()


async def asked(run_id: str) -> None:
    """The person, who might as well sit at another machine: sees what the run waits with, and says yes."""
    seen = -1
    while True:
        question = await pending(run_id)
        if question is not None and question["id"] != seen:
            seen = question["id"]
            print(f"asked: {question['name']} {question['arguments']}", flush=True)
            await answer(question, said=True)
        await asyncio.sleep(0.1)


def main() -> None:
    """Starts workers until the run has ended."""
    folder = Path(tempfile.mkdtemp())
    url = sys.argv[1] if len(sys.argv) > 1 else f"sqlite:///{folder / 'dbos.db'}"
    book = folder / "payments.txt"
    for dies in ("1", ""):
        environment = {**os.environ, "WORK": url, "BOOK": str(book), "DIES": dies}
        done = subprocess.run([sys.executable, __file__], env=environment, check=False)
        print(f"the worker ended with {done.returncode}", flush=True)
    print(book.read_text(encoding="utf-8"), end="")


if __name__ == "__main__":
    if "WORK" in os.environ:
        asyncio.run(work(os.environ["WORK"]))
        # What else DBOS has under way is recorded, and needs no end of its own.
        os._exit(0)
    main()
