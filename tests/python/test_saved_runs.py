"""Long runs are saved now and then: going on reads that and what came after it, and all lines where it is not to be trusted."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from loopwright import Journal, replay

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = """
import os, sys
from loopwright import Agent, Budget, Messages, Monitor, tool
from loopwright.hooks import AddContext, Hook
from loopwright.models import Call, Response

journal, dies, context = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "context"
rounds = 360 if context else 700
class Long:
    name = "long"
    def respond(self, request):
        last = list(Messages(request.messages)[-3:])
        found = [result.text for message in last for result in message.tool_results]
        done = 1 + int(found[-1].split()[0]) if found else 0
        return "done" if done >= rounds else Response(calls=[Call("big", {"n": done})])

@tool(read_only=True)
def big(n: int) -> str:
    "Gives much."
    if n == dies:
        os._exit(9)
    return f"{n} " + "x\\u00fc\\n" * 400

def tell(context):
    return AddContext(f"in round {context.round}") if context.round % 7 == 0 else None

plenty = Budget(rounds=2_000, tool_rounds=2_000, wall_time=600.0)
agent = Agent(
    Long(), tools=[big], monitor=Monitor(stuck=None, momentum=None), budget=plenty, context=context, journal=journal,
    hooks=[Hook("pre_reason", tell, inline=True)],
)
try:
    print(agent.resume_sync(journal).final)
except Exception as error:
    if getattr(error, "code", "") != "journal_not_found":
        raise
    agent.run_sync("go")
"""

PLACES = ["run.jsonl", "p.db"]


def long_run(journal: Path, dies: int, context: str = "plain") -> str:
    """Begins a long run, or goes on with it, in a process that dies in the middle of a call; gives what it said."""
    done = subprocess.run(
        [sys.executable, "-c", LONG, str(journal), str(dies), context], capture_output=True, text=True, check=False
    )
    assert done.returncode == (9 if dies >= 0 else 0), done.stderr
    return done.stdout


def saved_in(journal: Path) -> bytes:
    """What is saved of the only run of a journal."""
    if journal.suffix == ".jsonl":
        return Path(f"{journal}.saved").read_bytes()
    with sqlite3.connect(journal) as connection:
        ((state,),) = connection.execute("SELECT state FROM journal_saved")
        pieces = [piece for (piece,) in connection.execute("SELECT piece FROM journal_pieces ORDER BY first")]
    connection.close()
    return b"".join([*pieces, state])


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("context", ["plain", "context"])
def test_d46_a_run_that_dies_again_and_again_goes_on_from_what_was_saved(
    tmp_path: Path, name: str, context: str
) -> None:
    journal = tmp_path / "a folder" / name
    journal.parent.mkdir()
    sizes = []
    for dies in (200, 210, 345, 350) if context == "context" else (300, 450, 460, 600):
        long_run(journal, dies, context)
        sizes.append(len(saved_in(journal)))
    assert sizes == sorted(sizes)
    assert len(set(sizes)) >= 2, "it is saved again after it went on"
    # Each message is saved once; a summary that was made of it may tell of it in other words.
    assert saved_in(journal).count(b'"text":"199 x') == 1
    assert long_run(journal, -1, context) == "done\n"
    found = replay(journal)
    assert found.identical
    assert found.damage is None
    assert found.outcome is not None
    assert found.outcome["final"] == "done"
    if name == "run.jsonl":
        assert [path.name for path in journal.parent.iterdir()] == [name], "what was saved goes when the run has ended"
    else:
        with sqlite3.connect(journal) as connection:
            assert connection.execute("SELECT count(*) FROM journal_pieces").fetchone() == (0,)
        connection.close()


@pytest.mark.parametrize("name", PLACES)
def test_d46_going_on_does_not_save_again_what_was_just_read(tmp_path: Path, name: str) -> None:
    journal = tmp_path / name
    # Its window was compacted, and it was saved after that.
    long_run(journal, 300, "context")
    before = saved_in(journal)
    assert b'"resting"' in before
    script = "import sys; from loopwright import _core; _core.Run.resume_stored(*sys.argv[1:])"
    if name == "run.jsonl":
        script = "import sys; from loopwright import _core; _core.Run.resume(sys.argv[1])"
    run = [] if name == "run.jsonl" else [Journal(journal).runs()[0].id]
    Journal(journal).close()
    subprocess.run([sys.executable, "-c", script, str(journal), *run], check=True)
    assert saved_in(journal) == before
    assert long_run(journal, -1, "context") == "done\n"


@pytest.fixture(scope="module")
def died(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file and a store whose runs died in the middle of a call."""
    folder = tmp_path_factory.mktemp("died")
    for name in PLACES:
        long_run(folder / name, 500)
    return folder


def goes_on(journal: Path) -> None:
    assert long_run(journal, -1) == "done\n"
    found = replay(journal)
    assert found.identical
    assert found.outcome is not None
    assert found.outcome["final"] == "done"


BAD_FILES: dict[str, Callable[[bytes], bytes]] = {
    "cut in a piece": lambda data: data[: len(data) // 3],
    "cut in the state": lambda data: data[:-10],
    "cut to nothing": lambda _: b"",
    "a bit of a piece": lambda data: flipped(data, data.index(b"250 x")),
    "a bit of the state": lambda data: flipped(data, len(data) - 100),
    "a length": lambda data: data.replace(b'{"piece":', b'{"piece":9', 1),
    "another event": lambda data: _with_head(data, "seq", -1),
    "another place": lambda data: _with_head(data, "at", -10),
    "another version": lambda data: data.replace(b'"by":"', b'"by":"0', 1),
}


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def _with_head(data: bytes, key: str, more: int) -> bytes:
    start = data.index(b'{"state":')
    end = data.index(b"\n", start)
    head = json.loads(data[start:end])
    head[key] += more
    return data[:start] + json.dumps(head, separators=(",", ":")).encode() + data[end:]


@pytest.mark.parametrize("bad", BAD_FILES)
def test_d46_what_was_saved_beside_a_file_counts_only_as_it_was_written(tmp_path: Path, died: Path, bad: str) -> None:
    shutil.copy(died / "run.jsonl", tmp_path)
    saved = tmp_path / "run.jsonl.saved"
    data = (died / "run.jsonl.saved").read_bytes()
    saved.write_bytes(BAD_FILES[bad](data))
    assert saved.read_bytes() != data
    goes_on(tmp_path / "run.jsonl")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.jsonl"]


def test_d46_a_journal_that_was_damaged_before_it_was_saved_is_seen(tmp_path: Path, died: Path) -> None:
    for name in PLACES[:1]:
        shutil.copy(died / f"{name}.saved", tmp_path)
        data = (died / name).read_bytes()
        at = data.index(b"100 x") + 3
        (tmp_path / name).write_bytes(flipped(data, at))
        assert long_run(tmp_path / name, -1) == "done\n"
        assert (tmp_path / name).read_bytes() == flipped(data, at), "it stays as it is"
        found = replay(tmp_path / "run-recovered-1.jsonl")
        assert found.identical
        assert found.outcome is not None


def test_d46_a_file_of_somebody_else_stays_where_a_run_would_be_saved(tmp_path: Path, died: Path) -> None:
    shutil.copy(died / "run.jsonl", tmp_path)
    other = tmp_path / "run.jsonl.saved"
    other.write_text("my notes\n")
    long_run(tmp_path / "run.jsonl", 650)
    goes_on(tmp_path / "run.jsonl")
    assert other.read_text() == "my notes\n"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE journal_saved SET state = CAST(replace(CAST(state AS TEXT), 'x', 'y') AS BLOB)",
        "UPDATE journal_saved SET seq = seq - 1",
        "UPDATE journal_saved SET state = x'7b7d'",
        "UPDATE journal_saved SET state = x'', seq = 0",
        "UPDATE journal_pieces SET piece = CAST(replace(CAST(piece AS TEXT), '99 x', '88 x') AS BLOB)",
        "DELETE FROM journal_pieces WHERE first > 0",
        "DELETE FROM journal_pieces WHERE first = 0",
        "UPDATE journal_pieces SET piece = x'ff'",
        "DELETE FROM journal_pieces",
    ],
)
def test_d46_what_was_saved_in_a_store_counts_only_as_it_was_written(tmp_path: Path, died: Path, change: str) -> None:
    store = tmp_path / "p.db"
    shutil.copy(died / "p.db", store)
    with sqlite3.connect(store) as connection:
        connection.execute(change)
        assert connection.total_changes > 0
    connection.close()
    goes_on(store)


def test_d46_a_store_of_an_older_version_is_read_as_it_is_and_brought_up_to_date_when_it_is_written(
    tmp_path: Path, died: Path
) -> None:
    store = tmp_path / "p.db"
    shutil.copy(died / "p.db", store)
    with sqlite3.connect(store) as connection:
        connection.execute("DROP TABLE journal_pieces")
        connection.execute("DROP TABLE journal_sessions")
        connection.execute("DELETE FROM journal_saved")
        connection.execute("UPDATE loopwright_rooms SET version = 1 WHERE room = 'journal'")
    connection.close()
    before = store.read_bytes()
    (run,) = Journal(store).runs()
    assert replay(store, run.id).identical
    assert store.read_bytes() == before, "whoever reads writes nothing"
    goes_on(store)
