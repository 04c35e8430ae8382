"""Journals of many runs in one file: a run is found by its name, survives what files suffer, and belongs to one process."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Budget, Journal, LoopwrightError, Messages, Monitor, Result, UsageError, replay, tool
from loopwright.journal import diff, events_of
from loopwright.models import Call, Response
from loopwright.testing import ScriptedModel, call
from test_resume import SCRIPT, Counting, put, write

PLENTY = Budget(rounds=1_000, tool_rounds=1_000, wall_time=600.0)


def model(*script: Any) -> ScriptedModel:
    return ScriptedModel(list(script))


def agent(*script: Any, **options: Any) -> Agent[Any, Any]:
    return Agent(model(*(script or SCRIPT)), tools=[write, put], **options)


def broken_off(store: Path, events: int) -> str:
    """The name of a run in a store whose process is gone after so many events."""
    whole = agent().run_sync("go", journal=True).journal
    assert whole is not None
    lines = whole.splitlines(keepends=True)
    return Journal(store).import_run("".join(lines[: events + 1]))


def pages(store: Path) -> bytes:
    """All bytes of a store that nobody has open."""
    Journal(store).close()
    assert not Path(f"{store}-wal").exists()
    return store.read_bytes()


def test_d46_runs_of_a_project_are_kept_in_one_file(tmp_path: Path) -> None:
    store = tmp_path / "a project.db"
    results = [agent(journal=store).run_sync(f"do {n}") for n in range(3)]
    results.append(asyncio.run(agent(journal=Journal(store)).run("do 3")))
    journal = Journal(store)
    assert {run.id for run in journal.runs()} == {result.run_id for result in results}
    assert {run.prompt for run in journal.runs()} == {"do 0", "do 1", "do 2", "do 3"}
    assert all(run.state == "finished" and run.stop_reason == "natural" for run in journal.runs())
    for result in results:
        assert result.journal == str(store)
        found = replay(store, result.run_id)
        assert found.identical
        assert found.messages == result.messages
    assert replay(journal, results[0].run_id[:8]).run == results[0].run_id, "the beginning of a name is enough"
    with pytest.raises(UsageError, match="may be") as caught:
        replay(store)
    assert caught.value.code == "ambiguous_run"
    with pytest.raises(UsageError) as caught:
        replay(store, "none")
    assert caught.value.code == "journal_not_found"
    journal.delete(results[0].run_id)
    assert len(journal.runs()) == 3
    with pytest.raises(UsageError):
        journal.delete(results[0].run_id)


@pytest.mark.parametrize("way", ["run_sync", "run"])
@pytest.mark.parametrize("events", range(1, 6))
def test_d46_a_run_cut_behind_any_event_goes_on_in_its_store(tmp_path: Path, way: str, events: int) -> None:
    store = tmp_path / "p.db"
    name = broken_off(store, events)
    assert [run.state for run in Journal(store).runs()] == ["broken off"]
    answered = (events + 0) // 2
    again = Agent(model(*SCRIPT[answered:]), tools=[write, put])
    if events == 5:
        assert [run.stop_reason for run in Journal(store).runs()] != ["natural"]
    result: Result[Any] = (
        again.resume_sync(store, run=name) if way == "run_sync" else asyncio.run(again.resume(store, run=name))
    )
    assert (result.final, result.run_id) == ("done", name)
    assert replay(store, name).identical
    assert [run.state for run in Journal(store).runs()] == ["finished"]
    with pytest.raises(UsageError) as caught:
        again.resume_sync(store, run=name)
    assert caught.value.code == "run_finished"


def test_d46_runs_are_found_by_their_names_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".loopwright").mkdir()
    name = broken_off(Path(".loopwright/journal.db"), 3)
    assert replay(name[:6]).run == name
    assert agent(*SCRIPT[1:]).resume_sync(name[:6]).final == "done"
    monkeypatch.setenv("LOOPWRIGHT_JOURNAL", str(tmp_path / "elsewhere.db"))
    with pytest.raises(UsageError) as caught:
        replay(name)
    assert caught.value.code == "journal_not_found"
    other = broken_off(tmp_path / "elsewhere.db", 2)
    forked = agent(*SCRIPT[1:], journal="elsewhere.db").fork_sync(other, 2)
    parting = diff(other, forked.run_id)
    assert parting is not None


def test_d46_files_of_single_runs_come_from_stores_and_go_into_them(tmp_path: Path) -> None:
    first, second = Journal(tmp_path / "a.db"), Journal(tmp_path / "b.sqlite3")
    result = agent(journal=first).run_sync("go")
    first.export(result.run_id, tmp_path / "run.jsonl")
    with pytest.raises(FileExistsError):
        first.export(result.run_id, tmp_path / "run.jsonl")
    assert second.import_run(tmp_path / "run.jsonl") == result.run_id
    assert second.text(result.run_id) == first.text(result.run_id) == (tmp_path / "run.jsonl").read_text()
    (there,), (here,) = second.runs(), first.runs()
    assert (there.id, there.prompt, there.stop_reason, there.events) == (
        here.id,
        here.prompt,
        here.stop_reason,
        here.events,
    )
    with pytest.raises(UsageError) as caught:
        second.import_run(tmp_path / "run.jsonl")
    assert caught.value.code == "run_exists"


GOING = """
import sys
from loopwright import Agent, tool
from loopwright.testing import ScriptedModel, call

@tool
def wait() -> str:
    "Waits."
    print("waiting", flush=True)
    sys.stdin.readline()
    return "waited"

agent = Agent(ScriptedModel([call("wait"), "done"]), tools=[wait])
print(agent.run_sync("go", journal=sys.argv[1]).run_id, flush=True)
"""


def going(store: Path) -> subprocess.Popen[str]:
    """Another process, whose run waits for a line."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    other = subprocess.Popen([sys.executable, "-c", GOING, str(store)], **pipes)  # type: ignore[call-overload]
    assert other.stdout.readline() == "waiting\n"
    return other


def test_d46_x18_a_run_belongs_to_one_process_and_is_free_when_that_is_killed(tmp_path: Path) -> None:
    store = tmp_path / "p.db"
    other = going(store)
    (run,) = Journal(store).runs()
    assert run.state == "running"

    @tool(idempotent=True)
    def wait() -> str:
        """Waits."""
        return "waited"

    mine = Agent(model("done"), tools=[wait])
    for attempt in (lambda: mine.resume_sync(store, run=run.id), lambda: Journal(store).delete(run.id)):
        with pytest.raises(UsageError) as caught:
            attempt()
        assert caught.value.code == "journal_in_use"
        assert caught.value.hint
    # Another run of the same store is nobody else's.
    assert agent().run_sync("go", journal=store).final == "done"
    other.kill()
    other.communicate()
    assert [found.state for found in Journal(store).runs() if found.id == run.id] == ["broken off"]
    assert mine.resume_sync(store, run=run.id).final == "done"
    assert {found.state for found in Journal(store).runs()} == {"finished"}
    Journal(store).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.db"], "nothing is left beside it"


def test_d46_one_run_of_a_process_at_a_time(tmp_path: Path) -> None:
    store = tmp_path / "p.db"
    name = broken_off(store, 1)
    inside = []

    class Curious:
        name = "curious"

        def respond(self, request: Any) -> str:
            with pytest.raises(UsageError) as caught:
                agent().resume_sync(store, run=name)
            inside.append(caught.value.code)
            return "done"

    assert Agent(Curious(), tools=[write, put]).resume_sync(store, run=name).final == "done"
    assert inside == ["journal_in_use"]


def test_d46_processes_write_their_runs_to_one_store_side_by_side(tmp_path: Path) -> None:
    store = tmp_path / "p.db"
    others = [going(store) for _ in range(4)]
    names = [agent().run_sync("go", journal=store).run_id for _ in range(20)]
    for other in others:
        said, _ = other.communicate("\n")
        assert other.returncode == 0
        names.append(said.strip())
    assert {run.id for run in Journal(store).runs()} == set(names)
    assert all(replay(store, name).identical for name in names)


def test_d46_a_thousand_runs_at_once_share_one_writer(tmp_path: Path) -> None:
    store = tmp_path / "p.db"
    runs, writers = 1_000, []

    async def main() -> list[Result[Any]]:
        many = Agent(Counting(), tools=[_note], monitor=Monitor(stuck=None), journal=store)
        results = await asyncio.gather(*(many.run(f"go {n}") for n in range(runs)))
        writers.extend(journal_threads())
        return results

    Counting.respond, slow = _at_once, Counting.respond  # type: ignore[method-assign]
    try:
        results = asyncio.run(main())
    finally:
        Counting.respond = slow  # type: ignore[method-assign]
    assert all(result.final == "done" for result in results)
    assert len(writers) <= 1, writers
    found = Journal(store).runs()
    assert len(found) == runs
    assert {run.state for run in found} == {"finished"}
    for result in results[::100]:
        assert replay(store, result.run_id).identical


def journal_threads() -> list[str]:
    """The threads of this process that write journals, where the system tells."""
    tasks = Path("/proc/self/task")
    names = [(task / "comm").read_text() for task in tasks.iterdir()] if tasks.exists() else []
    return [name for name in names if "journal" in name]


@tool
async def _note(n: int) -> str:
    """Notes."""
    await asyncio.sleep(0)
    return f"noted {n}"


def _at_once(self: Counting, request: Any) -> Any:
    done = sum(len(message.tool_results) for message in Messages(request.messages))
    return Response(calls=[Call("_note", {"n": done})]) if done < 3 else "done"


def test_d46_a_bit_that_flips_in_a_line_is_seen_and_the_run_goes_on_beside(tmp_path: Path) -> None:
    store = tmp_path / "p.db"
    name = broken_off(store, 4)
    data = bytearray(pages(store))
    at = data.index(b'{"seq":4')
    data[data.index(b'"put"', at) + 1] ^= 2
    store.write_bytes(data)
    found = replay(store, name)
    assert found.damage is not None
    assert found.events == 3
    result = agent(*SCRIPT[1:]).resume_sync(store, run=name)
    assert (result.final, result.journal) == ("done", str(tmp_path / "p-recovered-1.db"))
    assert pages(store) == bytes(data), "what is damaged stays as it is"
    assert replay(result.journal, name).identical


def test_d46_a_store_that_was_cut_gives_what_stands_before_the_cut(tmp_path: Path) -> None:
    whole = tmp_path / "p.db"
    names = [broken_off(whole, 4) for _ in range(40)]
    data = pages(whole)
    recovered = 0
    for share in (0.2, 0.5, 0.8, 0.95):
        store = tmp_path / f"cut-{share}.db"
        store.write_bytes(data[: int(len(data) * share)])
        cut = store.read_bytes()
        for name in names:
            try:
                found = replay(store, name)
            except UsageError as error:
                assert error.code in ("damaged_store", "journal_not_found", "invalid_journal"), error  # noqa: PT017
                continue
            assert found.events <= 4
            assert found.divergence is None
            recovered += found.events
        assert store.read_bytes() == cut
        code = "none"
        try:
            assert agent(*SCRIPT[1:]).resume_sync(store, run=names[0]).final == "done"
        except UsageError as error:
            code = error.code
        assert code in ("none", "damaged_store", "journal_not_found", "invalid_journal")
        assert store.read_bytes() == cut
    assert recovered > 100, "what stands before the cut counts"


def test_d46_any_flipped_byte_of_a_store_is_survived(tmp_path: Path) -> None:
    whole = tmp_path / "p.db"
    name = broken_off(whole, 4)
    data = pages(whole)
    original = Journal(whole).text(name)
    Journal(whole).close()
    for number, at in enumerate(range(0, len(data), 101)):
        store = tmp_path / f"{number}.db"
        flipped = bytearray(data)
        flipped[at] ^= 0x10
        store.write_bytes(flipped)
        try:
            found = replay(store, name)
        except LoopwrightError as error:
            assert error.code in (  # noqa: PT017
                "damaged_store", "not_a_store", "journal_not_found", "invalid_journal", "newer_store", "foreign_store",
                "read_only_store", "journal_version", "store_unavailable", "store_failed",
            ), (at, error)  # fmt: skip
        else:
            assert found.divergence is None, at
            text = Journal(store).text(name)
            assert found.damage or original.startswith(text), at
        assert store.read_bytes() == bytes(flipped)
        store.unlink()


def test_d46_a_store_whose_pages_changed_places_is_damaged_and_never_busy(tmp_path: Path) -> None:
    whole = tmp_path / "whole.db"
    names = [broken_off(whole, 4) for _ in range(2)]
    data = pages(whole)
    size = int.from_bytes(data[16:18], "big")
    count, codes = len(data) // size, set()
    for one, other in itertools.combinations(range(1, count), 2):
        parts = [data[at * size : (at + 1) * size] for at in range(count)]
        parts[one], parts[other] = parts[other], parts[one]
        store = tmp_path / f"{one}-{other}.db"
        store.write_bytes(b"".join(parts))
        try:
            result = agent(*SCRIPT[1:]).resume_sync(store, run=names[0])
        except UsageError as error:
            codes.add(error.code)
        else:
            assert result.final == "done"
            codes.add(Path(str(result.journal)).name.partition("recovered")[1])
    assert codes <= {"", "recovered", "damaged_store", "invalid_journal"}, codes
    assert "recovered" in codes


@pytest.mark.parametrize("value", [9, 130])
def test_d46_a_format_of_tables_that_nobody_wrote_is_damage(tmp_path: Path, value: int) -> None:
    store = tmp_path / "p.db"
    name = broken_off(store, 4)
    data = bytearray(pages(store))
    data[47] = value
    store.write_bytes(data)
    for look in (lambda: agent().resume_sync(store, run=name), lambda: replay(store, name)):
        with pytest.raises(UsageError) as caught:
            look()
        assert caught.value.code == "damaged_store"
        assert store.read_bytes() == data


def test_d46_what_is_no_store_is_left_alone(tmp_path: Path) -> None:
    text, newer = tmp_path / "text.db", tmp_path / "newer.db"
    text.write_text("these are notes\n" * 100)
    broken_off(newer, 2)
    Journal(newer).close()
    with sqlite3.connect(newer) as connection:
        connection.execute("UPDATE loopwright_rooms SET version = 99")
    connection.close()
    for store, code in ((text, "not_a_store"), (newer, "newer_store")):
        before = store.read_bytes()
        for attempt in (
            lambda store=store: agent().run_sync("go", journal=store),
            lambda store=store: agent().resume_sync(store, run="x"),
            lambda store=store: Journal(store).runs(),
        ):
            with pytest.raises(UsageError) as caught:
                attempt()
            assert caught.value.code == code
        assert store.read_bytes() == before


FULL = """
import resource, signal, sys
from loopwright import Agent, Budget, LoopwrightError, Monitor, tool
from loopwright.testing import ScriptedModel, call

@tool
def grow(n: int) -> str:
    "Gives much."
    return "x" * 20_000

script = [call("grow", n=n) for n in range(100)]
plenty = Budget(rounds=200, tool_rounds=200)
agent = Agent(ScriptedModel(["first", *script]), tools=[grow], monitor=Monitor(stuck=None), budget=plenty)
journal = sys.argv[1]
agent.run_sync("go", journal=journal if journal.endswith(".db") else journal + ".first.jsonl")
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    agent.run_sync("go", journal=journal)
except LoopwrightError as error:
    result = error.result
    print(error.code, len(result.tool_calls), result.stop_reason, bool(error.hint))
"""


@pytest.mark.parametrize("name", ["run.jsonl", "p.db"])
def test_d46_a_full_disk_stops_the_run_with_what_it_had(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    done = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    code, calls, stop, hint = done.stdout.split()
    assert code in ("journal_full", "store_unavailable")
    assert int(calls) >= 2
    assert (stop, hint) == ("cancelled", "True")
    assert "Traceback" not in done.stderr
    # What was written before is there, and the run can go on where there is room.
    if name.endswith(".db"):
        run = next(run for run in Journal(path).runs() if run.state != "finished")
        found = replay(path, run.id)
    else:
        found = replay(path)
    assert found.divergence is None
    assert found.damage is None
    assert found.events >= 3


FULL_AT_LAST = """
import asyncio, resource, sys
from loopwright import Agent, LoopwrightError
from loopwright.testing import ScriptedModel

journal, way = sys.argv[1:]
Agent(ScriptedModel(["first"])).run_sync("go", journal=journal if journal.endswith(".db") else journal + ".first.jsonl")
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
agent = Agent(ScriptedModel(["x" * 500_000]))
try:
    agent.run_sync("go", journal=journal) if way == "run_sync" else asyncio.run(agent.run("go", journal=journal))
except LoopwrightError as error:
    print(error.code, error.result.stop_reason, len(error.result.final))
"""


@pytest.mark.parametrize("name", ["run.jsonl", "p.db"])
@pytest.mark.parametrize("way", ["run_sync", "run"])
def test_d46_an_answer_that_does_not_fit_on_the_disk_any_more_is_given_all_the_same(
    tmp_path: Path, name: str, way: str
) -> None:
    command = [sys.executable, "-c", FULL_AT_LAST, str(tmp_path / name), way]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    code, stop, length = done.stdout.split()
    assert code in ("journal_full", "store_unavailable")
    assert (stop, int(length)) == ("natural", 500_000)


@pytest.mark.skipif(shutil.which("mount") is None or os.geteuid() != 0, reason="this user may mount nothing")
@pytest.mark.parametrize("name", ["run.jsonl", "p.db"])
def test_d46_a_disk_that_fills_up_stops_the_run_with_what_it_had(tmp_path: Path, name: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "none", str(disk)], check=False).returncode != 0:
        pytest.skip("this machine mounts nothing")
    try:

        @tool
        def grow(n: int) -> str:
            """Gives much."""
            return "x" * 20_000

        script = [call("grow", n=n) for n in range(100)]
        with pytest.raises(UsageError) as caught:
            Agent(model(*script), tools=[grow], monitor=Monitor(stuck=None), budget=PLENTY).run_sync(
                "go", journal=disk / name
            )
        assert caught.value.code == "journal_full"
        assert caught.value.result is not None
        assert len(caught.value.result.tool_calls) >= 2
        assert caught.value.result.messages
        found = replay(disk / name)
        assert found.divergence is None
        assert found.damage is None
        assert found.events >= 3
    finally:
        Journal(disk / name).close()
        subprocess.run(["umount", "-l", str(disk)], check=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take itself the right to write")
def test_d46_a_store_that_may_not_be_written_is_an_error_and_can_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "ro"
    folder.mkdir()
    name = broken_off(folder / "p.db", 3)
    Journal(folder / "p.db").export(name, folder / "run.jsonl")
    Journal(folder / "p.db").close()
    before = sorted(path.name for path in folder.iterdir())
    if subprocess.run(["mount", "--bind", "-o", "ro", str(folder), str(folder)], check=False).returncode != 0:
        pytest.skip("this machine mounts nothing")
    try:
        for attempt in (
            lambda: agent().run_sync("go", journal=folder / "p.db"),
            lambda: agent().resume_sync(folder / "p.db", run=name),
            lambda: agent().run_sync("go", journal=folder / "new.db"),
            lambda: agent().run_sync("go", journal=folder / "new.jsonl"),
            lambda: agent().run_sync("go", journal=folder),
            lambda: agent().run_sync("go", journal=folder / "deeper" / "new.jsonl"),
            lambda: agent().resume_sync(folder / "run.jsonl"),
            lambda: agent().fork_sync(folder / "run.jsonl", 2, journal=folder / "fork.jsonl"),
            lambda: agent().fork_sync(folder / "run.jsonl", 2, journal=folder / "fork.db"),
        ):
            with pytest.raises(UsageError) as caught:
                attempt()
            assert caught.value.code == "journal_read_only", caught.value
            assert caught.value.hint
        assert sorted(path.name for path in folder.iterdir()) == before, "no probe is left behind"
        assert replay(folder / "p.db", name).identical
        assert [run.state for run in Journal(folder / "p.db").runs()] == ["broken off"]
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def test_d46_what_killed_processes_left_beside_a_store_goes_with_the_next_look(tmp_path: Path) -> None:
    store = tmp_path / "p.db"
    agent(journal=store).run_sync("go")
    Journal(store).close()

    def killed() -> list[Path]:
        code = f"""
import os, time
from loopwright import Agent
from loopwright.testing import ScriptedModel

def dies(request):
    time.sleep(0.3)  # what was begun is written by then
    os.kill(os.getpid(), 9)

Agent(ScriptedModel([dies]), journal={str(store)!r}).run_sync("go")
"""
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
        left = list(tmp_path.glob("p.db-held-*"))
        assert len(left) == 1
        return left

    killed()
    assert next(run.state for run in Journal(store).runs()) == "broken off"
    assert not list(tmp_path.glob("p.db-held-*")), "whoever lists the runs sweeps"
    (left,) = killed()
    replay(store, Journal(store).find(agent(journal=store).run_sync("again").run_id))
    assert not left.exists(), "and whoever writes"


def test_d44_events_of_a_run_can_be_listed_from_its_journal(tmp_path: Path) -> None:
    heard: list[Any] = []
    result = agent(journal=tmp_path / "p.db").run_sync("go", on_event=heard.append)
    ids = [event.event_id for event in heard]
    assert ids == sorted(set(ids))
    found = events_of(tmp_path / "p.db", result.run_id)
    assert [event.to_dict() for event in found[:-1]] == [
        event.to_dict() for event in heard[:-1] if hasattr(event, "to_dict")
    ]
    assert found[-1].event_id == ids[-1]
    assert found[-1].result.messages == result.messages
    assert json.loads(json.dumps([event.to_dict() for event in found]))


def test_d46_damage_in_how_a_store_is_laid_out_is_damage_and_no_fault_of_ours(tmp_path: Path) -> None:
    """A bit that flips among the names of tables and columns, and in the numbers of lines."""
    whole = tmp_path / "whole.db"
    name = broken_off(whole, 3)
    original = Journal(whole).text(name)
    data = pages(whole)
    names = (
        b"journal_runs",
        b"tokens INTEGER",
        b"run INTEGER PRIMARY",
        b"version INTEGER",
        b"CREATE TABLE journal_lines",
    )
    for word in names:
        for at in (found := data.index(word), found + 5):
            store = tmp_path / f"{at}.db"
            store.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
            for look in (lambda: Journal(store).runs(), lambda: replay(store, name), lambda: Journal(store).text(name)):  # noqa: B023
                try:
                    look()
                except UsageError as error:
                    assert error.code in ("damaged_store", "journal_not_found"), (word, error)  # noqa: PT017
            try:
                result = agent().resume_sync(store, run=name)
            except UsageError as error:
                assert error.code == "damaged_store", (word, error)  # noqa: PT017
            else:
                assert result.final == "done"
                assert replay(result.journal, name).identical
                assert Journal(result.journal).text(name).startswith(original.rstrip("\n").rpartition("\n")[0])
    with sqlite3.connect(whole) as connection:
        connection.execute("UPDATE journal_lines SET seq = seq + 2 WHERE seq >= 2")
    Journal(whole).close()
    result = agent().resume_sync(whole, run=name)
    assert result.final == "done"
    assert Path(str(result.journal)).name == "whole-recovered-1.db", "a gap is damage"
    assert pages(whole)[:16] == data[:16]
