"""Journals in Postgres, the real one: what a store in a file can, from many processes."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Journal, UsageError, replay, tool
from loopwright.guard import Edit, Guard
from loopwright.testing import ScriptedModel, call
from with_postgres import Postgres, binaries, postgres

psycopg = pytest.importorskip("psycopg")
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


def sql(url: str, text: str, *values: Any) -> list[Any]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(text, values)
        return list(cursor.fetchall()) if cursor.description else []


def shop(journal: Any, **options: Any) -> tuple[Agent[Any, Any], list[str]]:
    paid: list[str] = []

    @tool(risk="confirm" if "guard" in options else "safe")
    def pay(name: str) -> str:
        """Pays somebody."""
        paid.append(name)
        return f"{name} is paid"

    model = ScriptedModel([call("pay", name="Ann"), "Done."], by_turn=True)
    return Agent(model, tools=[pay], journal=journal, **options), paid


def test_a_run_is_kept_listed_shown_replayed_and_deleted(url: str) -> None:
    agent, paid = shop(Journal(url))
    result = agent.run_sync("Pay Ann.", metadata={"order": 17})
    journal = Journal(url)
    (run,) = journal.runs()
    assert (run.id, run.state, run.prompt, run.stop_reason) == (result.run_id, "finished", "Pay Ann.", "natural")
    assert run.tokens == result.usage.total_tokens
    assert run.events == len(journal.text().splitlines()) - 1
    assert journal.about() == {"order": 17}
    assert replay(url, run=run.id[:4]).identical
    assert result.journal == url
    assert [event.type for event in journal.events()][-1] == "run_finished"
    journal.delete(run.id)
    assert journal.runs() == []
    assert sql(url, "select count(*) from loopwright_lines") == [(0,)]
    assert paid == ["Ann"]


def test_a_run_of_a_name_is_begun_once_and_gives_its_result_again(url: str) -> None:
    agent, paid = shop(url)
    once: Any = {"run_id": "order-17", "on_existing": "resume"}
    first = agent.run_sync("Pay Ann.", **once)
    assert agent.run_sync("Pay Ann.", **once).output == first.output
    assert asyncio.run(agent.run("Pay Ann.", **once)).usage == first.usage
    with pytest.raises(UsageError) as raised:
        agent.run_sync("Pay Ann.", run_id="order-17")
    assert raised.value.code == "run_exists"
    assert paid == ["Ann"]


DIES = """
import os, sys
from loopwright import Agent, tool
from loopwright.testing import ScriptedModel, call

@tool
def pay(name: str) -> str:
    "Pays somebody."
    print("paid", flush=True)
    os._exit(9)

agent = Agent(ScriptedModel([call("pay", name="Ann"), "Done."], by_turn=True), tools=[pay], journal=sys.argv[1])
agent.run_sync("Pay Ann.", run_id="order-17")
"""


def test_a_run_of_a_process_that_died_goes_on_elsewhere_and_pays_nobody_again(url: str) -> None:
    died = subprocess.run([sys.executable, "-c", DIES, url], capture_output=True, text=True, check=False)
    assert (died.returncode, died.stdout) == (9, "paid\n"), died.stderr
    agent, paid = shop(url)
    with pytest.raises(UsageError) as raised:
        agent.run_sync("Pay Ann.", run_id="order-17", on_existing="resume")
    assert raised.value.code == "journal_in_use"
    # Its lease is over.
    sql(url, "update loopwright_runs set lease_until = clock_timestamp()")
    result = agent.run_sync("Pay Ann.", run_id="order-17", on_existing="resume")
    assert result.output == "Done."
    assert paid == []
    assert [each.failure for each in result.tool_calls] == ["unknown"]
    assert replay(url, run="order-17").identical


def test_what_a_process_writes_whose_run_another_has_taken_is_refused(url: str) -> None:
    entered, go = threading.Event(), threading.Event()

    @tool
    def wait() -> str:
        """Waits."""
        entered.set()
        go.wait(30)
        return "over"

    agent = Agent(ScriptedModel([call("wait"), call("wait"), "Done."], by_turn=True), tools=[wait], journal=url)
    raised: list[BaseException] = []

    def run() -> None:
        try:
            agent.run_sync("Wait.", run_id="a")
        except UsageError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert entered.wait(30)
    before = sql(url, "select count(*) from loopwright_lines")
    sql(url, "update loopwright_runs set owner = 'another', epoch = epoch + 1")
    go.set()
    thread.join(30)
    assert [getattr(error, "code", None) for error in raised] == ["lease_lost"]
    assert sql(url, "select count(*) from loopwright_lines") == before


def test_nothing_that_may_change_the_world_begins_before_the_journal_has_it(url: str) -> None:
    seen: list[str] = []

    @tool
    async def pay(name: str) -> str:
        """Pays somebody."""
        seen.append(Journal(url).text("a"))
        return name

    agent = Agent(ScriptedModel([call("pay", name="Ann"), "Done."], by_turn=True), tools=[pay], journal=url)
    asyncio.run(agent.run("Pay Ann.", run_id="a"))
    assert '"execute"' in seen[0].splitlines()[-1]


def test_a_run_that_is_left_for_a_person_is_answered_from_anywhere(url: str) -> None:
    agent, paid = shop(url, guard=Guard(approve="suspend"))
    once: Any = {"run_id": "order-17", "on_existing": "resume"}
    journal = Journal(url)
    left = agent.run_sync("Pay Ann.", **once)
    assert left.stop_reason == "suspended"
    (asked,) = journal.pending("order-17")
    assert (asked.name, asked.arguments, asked.hash) == ("pay", {"name": "Ann"}, left.pending[0].hash)
    assert [run.state for run in journal.runs()] == ["waiting"]
    with pytest.raises(UsageError, match="does not wait"):
        journal.answer("order-17", {"another": True})
    journal.answer("order-17", {asked.call_id: Edit({"name": "Ben"})})
    result = agent.run_sync("Pay Ann.", **once)
    assert result.output == "Done."
    assert paid == ["Ben"]
    assert journal.pending("order-17") == []


def test_a_run_is_cancelled_before_it_begins_and_while_it_is_under_way(url: str) -> None:
    agent, paid = shop(url)
    journal = Journal(url)
    journal.cancel("early")
    assert agent.run_sync("Pay Ann.", run_id="early").stop_reason == "cancelled"
    assert paid == []

    class Slow:
        name = "slow"

        async def respond(self, request: Any) -> Any:
            await asyncio.sleep(60)

    async def cancelled() -> Any:
        task = asyncio.ensure_future(Agent(Slow(), journal=url).run("Think.", run_id="late"))
        while not any(run.id == "late" for run in journal.runs()):  # noqa: ASYNC110 - as other processes look
            await asyncio.sleep(0.01)
        journal.cancel("late")
        return await task

    assert asyncio.run(cancelled()).stop_reason == "cancelled"


def test_sessions_forks_and_imports_are_in_the_same_place(url: str, tmp_path: Path) -> None:
    agent = Agent(ScriptedModel(["One.", "Two.", "Three."]), journal=url)
    first = agent.run_sync("Hello.", session="s")
    again = agent.run_sync("And now?", session="s")
    assert len(again.messages) > len(first.messages)
    fork = agent.fork_sync(url, 1, run=first.run_id)
    assert fork.journal == url
    assert {run.state for run in Journal(url).runs()} == {"finished"}
    Journal(url).export(first.run_id, tmp_path / "one.jsonl")
    Journal(url).delete(first.run_id)
    assert Journal(url).import_run(tmp_path / "one.jsonl") == first.run_id
    assert replay(url, run=first.run_id).identical


def test_a_password_is_shown_nowhere(server: Postgres) -> None:
    url = f"postgresql://postgres:sesame@127.0.0.1:{server.port}/postgres?application_name=shop"
    journal = Journal(url)
    agent, _ = shop(url)
    result = agent.run_sync("Pay Ann.")
    shown = f"{journal!r} {agent!r} {agent.journal!r} {result!r} {result.journal} {os.fspath(journal)}"
    assert "sesame" not in shown
    assert "application_name=shop" in journal.path
    assert "sesame" not in repr(pickle.dumps(journal))
    journal.close()


def test_a_database_that_is_not_there_is_a_typed_error() -> None:
    with pytest.raises(UsageError) as raised:
        Journal("postgresql://nobody@127.0.0.1:1/none").runs()
    assert raised.value.code == "journal_failed"


def test_tables_of_an_older_version_are_brought_along_while_a_run_writes(url: str) -> None:
    from loopwright._postgres._schema import STEPS, migrate

    with psycopg.connect(url, autocommit=True) as connection:
        migrate(connection, STEPS[:1])
        assert connection.execute("select version from loopwright_schema").fetchone() == (1,)
        agent, _ = shop(url)

        def going_on(*_: Any) -> None:
            migrate(connection, [*STEPS, "alter table loopwright_runs add column newer text"])

        assert agent.run_sync("Pay Ann.", on_event=going_on).output == "Done."
        assert agent.run_sync("Pay Ann.").output == "Done."
        assert connection.execute("select version, least from loopwright_schema").fetchone() == (len(STEPS) + 1, 1)
        connection.execute("update loopwright_schema set least = %s", (len(STEPS) + 1,))
    Journal(url).close()
    code = "import sys; from loopwright import Journal; Journal(sys.argv[1]).runs()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code, url], env=environment, capture_output=True, text=True, check=False
    )
    assert "newer_store" in done.stderr or "install the newer version" in done.stderr


def test_what_is_forgotten_of_a_user_is_gone_from_postgres(url: str) -> None:
    from loopwright.journal import forget

    agent, _ = shop(url)
    agent.run_sync("Pay Ann.", user="sam")
    other = agent.run_sync("Pay Ann.", user="pat")
    assert len(forget("sam", journal=url).runs) == 1
    assert [run.id for run in Journal(url).runs()] == [other.run_id]
    assert json.loads(json.dumps(forget("sam", journal=url, dry_run=True).to_dict()))["known"] is False
