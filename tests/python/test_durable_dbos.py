"""Runs within workflows of DBOS, the real one, over SQLite."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("dbos")

ROOT = Path(__file__).parents[2]


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT / "python"), str(Path(__file__).parent)])
    return {**os.environ, "PYTHONPATH": path, **more}


def printed(*command: str, **more: str) -> str:
    done = subprocess.run(
        [sys.executable, *command], env=environment(**more), capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(300)
def test_the_example_runs_and_pays_nobody_twice() -> None:
    said = printed(str(ROOT / "examples" / "engines" / "on_dbos.py"))
    for words in ("the worker ended with -9", "Done.\npay Ann: unknown\npay Ben: ok\n", "the worker ended with 0"):
        assert words in said, said
    paid = said.rpartition("the worker ended with 0\n")[2].splitlines()
    assert [line.split()[:2] for line in paid] == [["Ann", "50"], ["Ben", "20"]]
    assert len({line.split()[2] for line in paid}) == 2


LAUNCH = """
import asyncio, os, sys
from dbos import DBOS, DBOSClient, SetWorkflowID
from loopwright import Agent, durable
from loopwright.durable.dbos import DBOSEngine

def launch(url):
    DBOS(config={"name": "test", "system_database_url": url, "application_version": "1", "executor_id": "one",
                 "log_level": "CRITICAL", "run_admin_server": False, "notification_listener_polling_interval_sec": 0.02})
    DBOS.launch()
"""

CANCELLED = (
    LAUNCH
    + """
class Slow:
    name = "slow"
    async def respond(self, request):
        try:
            open(sys.argv[2] + ".asked", "w").close()
            await asyncio.sleep(3_600)
        finally:
            print("the call ended", flush=True)

agent = Agent(Slow())

@DBOS.workflow(name="turn")
async def turn(prompt):
    return (await durable.drive(agent, prompt, engine=DBOSEngine())).output

async def main():
    launch(sys.argv[1])
    with SetWorkflowID("run-1"):
        handle = await DBOS.start_workflow_async(turn, "go")
    while not os.path.exists(sys.argv[2] + ".asked"):
        await asyncio.sleep(0.02)
    # Another process: it knows the database and the name, and nothing of this one.
    other = "import sys; from dbos import DBOSClient; DBOSClient(system_database_url=sys.argv[1]).cancel_workflow('run-1')"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", other, sys.argv[1])
    await process.wait()
    try:
        await handle.get_result()
    except Exception as error:
        print(type(error).__name__, (await handle.get_status()).status, flush=True)
    os._exit(0)

asyncio.run(main())
"""
)


@pytest.mark.timeout(300)
def test_a_cancel_from_another_process_reaches_the_call_of_the_model(tmp_path: Path) -> None:
    said = printed("-c", CANCELLED, f"sqlite:///{tmp_path / 'd.db'}", str(tmp_path / "m"))
    assert said.splitlines()[0] == "the call ended"
    assert said.splitlines()[1].endswith(" CANCELLED"), said


STREAM = (
    LAUNCH
    + """
from loopwright import tool
from loopwright.testing import ScriptedModel, call

@tool(read_only=True)
async def look(n: int) -> str:
    "Looks."
    return f"saw {n}"

model = ScriptedModel([[call("look", n=1), call("look", n=2)], "done"], by_turn=True)
agent = Agent(model, tools=[look])

@DBOS.workflow(name="turn")
async def turn(prompt):
    result = await durable.drive(agent, prompt, engine=DBOSEngine(stream="events"), run_id="order-1")
    return [result.run_id, result.journal]

async def main():
    launch(sys.argv[1])
    with SetWorkflowID("run-1"):
        handle = await DBOS.start_workflow_async(turn, "go")
    run_id, journal = await handle.get_result()
    kinds = [event["type"] async for batch in DBOS.read_stream_async("run-1", "events") for event in batch]
    # The same record once more, and nothing of it done again.
    asked = len(model.requests)
    fork = await DBOS.fork_workflow_async("run-1", len(await DBOS.list_workflow_steps_async("run-1")) + 1)
    again = (await fork.get_result())[1]
    print(run_id, kinds.count("tool_finished"), journal == again, len(model.requests) - asked, flush=True)
    os._exit(0)

asyncio.run(main())
"""
)


@pytest.mark.timeout(300)
def test_what_happens_is_in_a_stream_and_the_record_gives_the_same_journal_again(tmp_path: Path) -> None:
    said = printed("-c", STREAM, f"sqlite:///{tmp_path / 'd.db'}")
    assert said.split() == ["order-1", "2", "True", "0"], said


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_workers_that_are_killed_at_random_moments_do_nothing_twice(tmp_path: Path) -> None:
    program = """
import json, sys, pathlib
sys.path.insert(0, sys.argv[1])
import kill
place = pathlib.Path(sys.argv[3])
print(json.dumps(kill.killed(kill.OnDBOS(sys.argv[2], place), place, 12, 7)))
"""
    url = f"sqlite:///{tmp_path / 'd.db'}"
    said = json.loads(printed("-c", program, str(ROOT / "benches" / "durable"), url, str(tmp_path)))
    assert said["kills before the end of a run"] == 12
    assert said["notes and payments done twice"] == 0
    assert said["different final histories, `unknown` aside"] == 1
    assert said["runs that ended with the answer"] == int(said["runs"].split()[0])
