"""Runs whose journals are in Postgres: each line goes to the writer of the process as it comes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright.errors import UsageError

from ._store import Hold, Item, Store, store_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from loopwright._approval import Approval

__all__ = ["KeptRun", "begun_run", "resumed_run", "take"]

_PROMPT = 200
"""Characters of a prompt that lists show."""

_BEGIN = """
insert into loopwright_runs as r (run_id, owner, epoch, lease_until)
values (%(run)s, %(owner)s, 1, clock_timestamp() + make_interval(secs => %(lease)s))
on conflict (run_id) do update
set owner = excluded.owner, epoch = r.epoch + 1, lease_until = excluded.lease_until
where r.begun is null and r.job is null and (r.owner is null or r.owner = excluded.owner or r.lease_until < now())
returning epoch, cancelled
"""
_TAKE = """
update loopwright_runs
set owner = %(owner)s, epoch = epoch + 1, lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
where run_id = %(run)s and (owner is null or owner = %(owner)s or lease_until < clock_timestamp())
returning epoch, cancelled, answers, begun is not null
"""
_BEGUN = """
update loopwright_runs set begun = clock_timestamp(), about = %(about)s, model = %(model)s, prompt = %(prompt)s
where run_id = %(run)s and epoch = %(epoch)s and begun is null
"""
_ENDED = """
update loopwright_runs
set ended = clock_timestamp(), stop = %(stop)s, cost = %(cost)s, tokens = %(tokens)s, waits = null, answers = null
where run_id = %(run)s and epoch = %(epoch)s
"""
_WAITS = "update loopwright_runs set waits = %(waits)s, answers = null where run_id = %(run)s and epoch = %(epoch)s"
_RELEASE = "update loopwright_runs set owner = null, lease_until = null where run_id = %(run)s and epoch = %(epoch)s"


class KeptRun:
    """A run of a machine, and what it writes. What else it can is the core's."""

    def __init__(
        self, run: _core.Run, store: Store, hold: Hold, n: int = 0, about: dict[str, Any] | None = None
    ) -> None:
        self.core, self.store, self.held, self.n, self.about = run, store, hold, n, about
        self.closed = False
        self.waits: list[Approval] | None = None

    def __getattr__(self, member: str) -> Any:
        return getattr(self.core, member)

    def step(self, event: _core.Event, notices: bool = True) -> list[_core.Command]:  # noqa: FBT001, FBT002 - as the core
        """Takes an event; what it leads to is written, and carried out as the driver says."""
        if self.held.lost is not None:
            raise self.held.lost
        commands = self.core.step(event, notices)
        ended = next((command.ended for command in commands if command.kind == "finish"), None)
        if not self.closed:
            self.written(ended)
        return commands

    def written(self, ended: _core.Ended | None = None) -> None:
        """Hands what is new to the writer."""
        lines = self.core.take_journal()
        if self.about is not None:
            told = {**self.about, "prompt": _prompt_in(lines)}
            self.about = None
            self.store.write(Item(self.held, statement=(_BEGUN, told)))
        statement = None
        if ended is not None:
            spent = ended["spent"]
            cost = None if spent.get("partial") else spent.get("cost")
            told = {"stop": ended["stop"], "cost": cost, "tokens": _tokens(spent)}
            statement = (_ENDED, told)
        if lines or statement:
            self.store.write(Item(self.held, self.n, lines, self.core.seq, statement))
            self.n += 1

    def when_kept(self, then: Callable[[Exception | None], None]) -> None:
        """Calls `then`, in a thread of the writer, when all that was written is kept, or can't be."""
        self.store.write(Item(self.held, then=then))

    def persist(self) -> None:
        """Waits until all that was written is kept."""
        self.store.flush(self.held)

    def leave(self, waits: Sequence[Approval]) -> None:
        """The run waits for people: what they are asked stands beside it."""
        from loopwright._dataclasses import asdict

        told = {"waits": json.dumps([asdict(each) for each in waits])}
        self.store.write(Item(self.held, statement=(_WAITS, told)))
        self.persist()

    def close(self) -> None:
        """Writes nothing any more: another process may go on."""
        if self.closed:
            return
        self.closed = True
        if not self.held.worker:
            release(self.store, self.held)


def release(store: Store, hold: Hold) -> None:
    """Gives a run back."""
    store.let_go(hold)
    if hold.lost is None:
        store.write(Item(hold, statement=(_RELEASE, {})))


def begun_run(path: str, name: str, make: Callable[..., Any], about: str | None, model: str) -> Any:
    """The run that `make` makes, of a name that is free; a fork with its open commands."""
    store = store_at(path)
    hold = store.held.get(name)
    if hold is None or hold.begun:
        hold = _new(store, name)
    hold.begun = True
    try:
        made = make(keep=True)
    except BaseException:
        release(store, hold)
        raise
    told = {"about": about, "model": model}
    if not isinstance(made, tuple):
        return KeptRun(made, store, hold, about=told)
    run = KeptRun(made[0], store, hold, about=told)
    # What a fork begins with is in its journal before anything of it is carried out.
    run.written()
    run.persist()
    return run, *made[1:]


def _new(store: Store, name: str) -> Hold:
    told = {"run": name, "owner": store.owner, "lease": store.lease}
    there = name in store.held
    row = None if there else store.call(lambda connection: connection.execute(_BEGIN, told).fetchone())
    if row is None:
        message = f"there is a run {name!r} in {store.path!r} already"
        raise UsageError(message, "run_exists", "give another run_id, or go on with that one: on_existing='resume'")
    return store.hold(Hold(name, row[0], cancelled=row[1]))


def take(store: Store, name: str) -> Hold:
    """A run that is there, as ours. Raises `journal_in_use` while another process has it, or this one."""
    hold = store.held.get(name)
    if hold is not None:
        if hold.worker:
            return hold
        raise _in_use(store, name)
    told = {"run": name, "owner": store.owner, "lease": store.lease}
    row = store.call(lambda connection: connection.execute(_TAKE, told).fetchone())
    if row is None:
        raise _in_use(store, name)
    return store.hold(Hold(name, row[0], cancelled=row[1], answers=row[2], begun=row[3]))


def _in_use(store: Store, name: str) -> UsageError:
    message = f"another process writes to the run {name!r} of {store.path!r}, or did less than a lease ago"
    return UsageError(message, "journal_in_use", f"wait for its end, or for {store.lease:g} s after its death")


def resumed_run(path: str, name: str) -> tuple[Any, list[_core.Command], str]:
    """As `Run.resume_stored`: the run, which goes on there, and its open commands."""
    store = store_at(path)
    hold = take(store, name)
    try:
        # Read when it is ours: nobody else writes to it any more.
        rows = store.call(lambda connection: lines_of(connection, name))
        text = b"".join(lines for _, lines in rows).decode()
        run, commands = _core.Run.take_up(text)
    except BaseException:
        if not hold.worker:
            release(store, hold)
        raise
    return KeptRun(run, store, hold, rows[-1][0] + 1), commands, path


def lines_of(connection: Any, name: str) -> list[tuple[int, bytes]]:
    """The lines of a run in their order."""
    sql = "select n, lines from loopwright_lines where run_id = %s order by n"
    found: list[tuple[int, bytes]] = connection.execute(sql, (name,), binary=True).fetchall()
    return found


def _tokens(spent: Any) -> int:
    names = ("input", "output", "cache_read", "cache_write")
    return sum(spent["usage"].get(name) or 0 for name in names)


def _prompt_in(lines: bytes) -> str:
    """How what a person said last begins, in the first event of a run."""
    for line in lines.splitlines():
        if line.startswith(b'{"seq":1,'):
            kind = json.loads(line)["event"]["kind"]
            messages = kind["start"]["messages"] if isinstance(kind, dict) and "start" in kind else ()
            for message in reversed(messages):
                texts = [part["text"] for part in message.get("content", ()) if part.get("type") == "text"]
                if message["role"] == "user" and texts:
                    return str(texts[0]).strip()[:_PROMPT].replace("\0", "")
    return ""
