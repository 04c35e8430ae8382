"""Workers over a Postgres, the real one: killed, stopped past their lease, drained; their database killed."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Journal, UsageError, tool
from loopwright.durable import Worker
from loopwright.guard import Guard
from loopwright.testing import ScriptedModel, call
from with_postgres import Postgres, binaries, postgres

pytest.importorskip("psycopg")
pytestmark = pytest.mark.skipif(binaries() is None, reason="no Postgres is installed: apt install postgresql")

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres() as running:
        yield running


@pytest.fixture
def url(server: Postgres, request: pytest.FixtureRequest) -> Iterator[str]:
    place = server.database(request.node.name[:60])
    yield place
    Journal(place).close()


@pytest.fixture(scope="module")
def bench() -> Any:
    sys.path.insert(0, str(ROOT / "benches" / "durable"))
    try:
        import on_postgres
    finally:
        sys.path.remove(str(ROOT / "benches" / "durable"))
    return on_postgres


def shop(paid: list[str], **options: Any) -> Agent[Any, Any]:
    @tool(risk="confirm" if "guard" in options else "safe")
    async def pay(name: str) -> str:
        """Pays somebody."""
        paid.append(name)
        return f"{name} is paid"

    return Agent(ScriptedModel([call("pay", name="Ann"), "Done."], by_turn=True), tools=[pay], **options)


def test_a_worker_carries_out_what_is_queued_and_nothing_is_begun_twice(url: str) -> None:
    journal, paid = Journal(url), list[str]()
    names = [journal.start("Pay Ann.", run_id=f"order-{n}", user="sam", metadata={"n": n}) for n in range(20)]
    with pytest.raises(UsageError) as raised:
        journal.start("Pay Ann.", run_id="order-3")
    assert raised.value.code == "run_exists"
    asyncio.run(Worker(shop(paid), journal, concurrency=4).run(until_empty=True))
    assert paid == ["Ann"] * 20
    assert {run.id: run.state for run in journal.runs()} == dict.fromkeys(names, "finished")
    assert journal.about("order-7") == {"user": "sam", "n": 7}
    asyncio.run(Worker(shop(paid), journal).run(until_empty=True))
    assert len(paid) == 20


def test_a_run_that_waits_for_a_person_keeps_no_worker_busy(url: str) -> None:
    journal, paid = Journal(url), list[str]()
    worker = Worker(shop(paid, guard=Guard(approve="suspend")), journal)
    journal.start("Pay Ann.", run_id="a")
    journal.start("Pay Ann.", run_id="b")
    asyncio.run(worker.run(until_empty=True))
    assert [run.state for run in journal.runs()] == ["waiting", "waiting"]
    for name, said in (("a", True), ("b", "too much")):
        (asked,) = journal.pending(name)
        journal.answer(name, {asked.call_id: said})
    asyncio.run(worker.run(until_empty=True))
    assert [run.state for run in journal.runs()] == ["finished", "finished"]
    assert paid == ["Ann"]


def test_a_run_that_was_cancelled_while_it_waits_is_ended(url: str) -> None:
    journal, paid = Journal(url), list[str]()
    worker = Worker(shop(paid, guard=Guard(approve="suspend")), journal)
    journal.start("Pay Ann.", run_id="a")
    asyncio.run(worker.run(until_empty=True))
    journal.cancel("a")
    asyncio.run(worker.run(until_empty=True))
    (run,) = journal.runs()
    assert (run.state, run.stop_reason, paid) == ("finished", "cancelled", [])


def test_a_drained_worker_hands_over_and_another_goes_on(url: str) -> None:
    journal, paid = Journal(url), list[str]()
    entered, go = threading.Event(), threading.Event()

    @tool
    async def wait() -> str:
        """Waits."""
        entered.set()
        await asyncio.to_thread(go.wait, 30)
        paid.append("waited")
        return "over"

    def agent() -> Agent[Any, Any]:
        return Agent(ScriptedModel([call("wait"), call("wait"), "Done."], by_turn=True), tools=[wait])

    journal.start("Wait.", run_id="a")

    async def drained() -> None:
        worker = Worker(agent(), journal)
        task = asyncio.ensure_future(worker.run())
        await asyncio.to_thread(entered.wait, 30)
        worker.drain()
        while not any(each is not None and each.state == "pausing" for each in worker._tasks.values()):  # noqa: ASYNC110
            await asyncio.sleep(0)
        go.set()
        await task

    asyncio.run(drained())
    assert paid == ["waited"]
    assert [run.state for run in journal.runs()] == ["queued"]
    asyncio.run(Worker(agent(), journal).run(until_empty=True))
    assert paid == ["waited", "waited"]
    assert [run.state for run in journal.runs()] == ["finished"]


def test_what_the_agent_itself_raises_is_shown_and_holds_up_nobody(url: str) -> None:
    journal, paid = Journal(url), list[str]()
    journal.start("Pay Ann.", run_id="other")
    asyncio.run(Worker(Agent(ScriptedModel([])), journal).run(until_empty=True))
    assert [run.state for run in journal.runs()] in (["failed"], ["finished"])
    journal.start("Pay Ann.", run_id="one")
    asyncio.run(Worker(shop(paid), journal).run(until_empty=True))
    assert paid == ["Ann"]


AGENT = """
from loopwright import Agent, tool
from loopwright.guard import Guard
from loopwright.testing import ScriptedModel, call

@tool(risk="confirm")
async def pay(name: str) -> str:
    "Pays somebody."
    return f"{name} is paid"

agent = Agent(
    ScriptedModel([call("pay", name="Ann"), "Done."], by_turn=True), tools=[pay], guard=Guard(approve="suspend"))
"""


def test_the_command_line_starts_answers_and_shows_runs_from_anywhere(url: str, tmp_path: Path) -> None:
    (tmp_path / "pays.py").write_text(AGENT)

    def said(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "loopwright", *command, "--journal", url],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert said("runs", "start", "Pay Ann.", "--run-id", "order-17") == "order-17\n"
    said("runs", "start", "Pay Ben.", "--run-id", "order-18")
    said("runs", "cancel", "order-18")
    said("worker", "pays.py:agent", "--until-empty")
    shown = json.loads(said("runs", "show", "order-17", "--json"))
    assert (shown["state"], shown["waits"][0]["arguments"]) == ("waiting", {"name": "Ann"})
    said("runs", "answer", "order-17", "yes")
    said("worker", "pays.py:agent", "--until-empty")
    listed = json.loads(said("runs", "--json"))["runs"]
    assert [(each["run"], each["stop_reason"]) for each in listed] == [
        ("order-18", "cancelled"),
        ("order-17", "natural"),
    ]
    assert "Done." in said("show", "order-17")
    assert "identical" in said("replay", "order-17")


def test_the_example_kills_its_worker_and_pays_nobody_twice(url: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "engines" / "on_postgres.py"), url],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for words in ("the worker ended with 0\n", "the worker ended with -9\n", "pay: nobody knows\npay: done\n"):
        assert words in done.stdout
    paid = [line.split() for line in (tmp_path / "payments.txt").read_text().splitlines()]
    assert [line[:2] for line in paid] == [["Ann", "50"], ["Ben", "20"]]


def test_many_runs_over_two_workers_are_none_of_them_twice(server: Postgres, bench: Any) -> None:
    found = bench.many(server, 100)
    assert (found["calls made"], found["calls made twice"]) == (200, 0)
    assert found["workers that were drained"] == 2


@pytest.mark.timeout(240)
def test_workers_and_the_database_are_killed_and_nothing_is_done_twice(server: Postgres, bench: Any) -> None:
    found = bench.killed(server, 8, 6, 1, stops=1, crashes=1)
    assert not bench.is_wrong(found), found
    assert (found["workers killed"], found["workers stopped past their lease"], found["the database killed"]) == (
        6,
        1,
        1,
    )
