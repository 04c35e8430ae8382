"""One writer a process: a thread with a connection, which commits what all runs have written meanwhile at once.

A run is held by a lease with an epoch. Each write says under which epoch: where another process has taken the run
since, nothing is written, and the run here ends.
"""

from __future__ import annotations

import atexit
import os
import socket
import threading
import time
from collections import deque
from concurrent.futures import Future
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from loopwright._dataclasses import dataclass
from loopwright._urls import full_url
from loopwright.errors import UsageError

from ._schema import migrate

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Hold", "Item", "Store", "lease_lost", "store_at"]

T = TypeVar("T")

LEASE = 30.0
"""Seconds for which a run is a process's own after its last sign of life."""
_PATIENCE = 60.0
"""Seconds without a database after which runs that wait for it end."""
_LOOK = 1.0
"""Seconds between two looks for runs that were cancelled."""
_IDLE = 20.0
"""Seconds without work after which the connection is let go."""

_APPEND = """
with mine as (
    update loopwright_runs as r
    set lease_until = clock_timestamp() + make_interval(secs => %(lease)s), events = greatest(r.events, e.seq)
    from unnest(%(runs)b::text[], %(epochs)b::bigint[], %(seqs)b::bigint[]) as e(run_id, epoch, seq)
    where r.run_id = e.run_id and r.epoch = e.epoch and r.owner = %(owner)s
    returning r.run_id
), put as (
    insert into loopwright_lines
    select l.run_id, l.n, l.lines
    from unnest(%(of)b::text[], %(ns)b::bigint[], %(lines)b::bytea[]) as l(run_id, n, lines)
    join mine on mine.run_id = l.run_id
    on conflict (run_id, n) do nothing
)
select run_id from mine
"""
"""Lines of many runs, each if its epoch is still ours. A batch that is sent again, because nobody knows whether it was
committed, changes nothing."""


@dataclass
class Hold:
    """A run that this process has taken."""

    run: str
    epoch: int
    cancelled: bool = False
    begun: bool = False
    worker: bool = False
    """Whether a worker has it until it says so, however many attempts are made."""
    answers: str | None = None
    lost: UsageError | None = None
    """That another process has the run meanwhile."""
    on_lost: Callable[[UsageError], None] | None = None


class Item(NamedTuple):
    """Something to write for a run: lines, a statement behind them, and who is told that it is kept."""

    hold: Hold
    n: int = 0
    lines: bytes = b""
    seq: int = 0
    statement: tuple[str, dict[str, Any]] | None = None
    then: Callable[[Exception | None], None] | None = None


class Store:
    """The journals of one database, for this process."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lease = LEASE
        self.owner = f"{socket.gethostname()}/{os.getpid()}/{os.urandom(4).hex()}"
        self.lock = threading.Condition()
        self.items: list[Item] = []
        self.calls: deque[tuple[Callable[[Any], Any], Future[Any]]] = deque()
        self.held: dict[str, Hold] = {}
        self.watched: dict[str, Callable[[str], None]] = {}
        self.thread: threading.Thread | None = None
        self.connection: Any = None
        self.failing: float | None = None
        self.renewed = self.looked = 0.0
        atexit.register(self.close)

    # ---- what runs ask for, from any thread ----

    def call(self, function: Callable[[Any], T]) -> T:
        """What `function` gives, called with the connection, behind all that was written before."""
        future: Future[T] = Future()
        with self.lock:
            self.calls.append((function, future))
            self._wake()
        return future.result()

    def write(self, item: Item) -> None:
        """Has something written soon, in its order."""
        with self.lock:
            self.items.append(item)
            self._wake()

    def flush(self, hold: Hold) -> None:
        """Waits until all that a run has written is kept."""
        future: Future[None] = Future()

        def then(error: Exception | None) -> None:
            future.set_result(None) if error is None else future.set_exception(error)

        self.write(Item(hold, then=then))
        future.result()

    def hold(self, hold: Hold) -> Hold:
        """The run is ours from now on; the lease is renewed until it is given back."""
        with self.lock:
            self.held[hold.run] = hold
            self._wake()
        return hold

    def let_go(self, hold: Hold) -> None:
        with self.lock:
            if self.held.get(hold.run) is hold:
                del self.held[hold.run]

    def watch(self, name: str, end: Callable[[str], None] | None) -> None:
        """Has `end` called when the run of this name is cancelled; with `None` no longer."""
        with self.lock:
            self.watched.pop(name, None)
            if end is not None:
                self.watched[name] = end
                self._wake()

    def close(self) -> None:
        """Writes what is left, and lets go of the connection."""
        with self.lock:
            thread = self.thread
            self.lock.notify()
        if thread is None or not thread.is_alive() or thread is threading.current_thread():
            return
        with_no_more = threading.Event()
        self.calls.append((lambda _: with_no_more.set(), Future()))
        with self.lock:
            self.lock.notify()
        with_no_more.wait(3.0)

    def _wake(self) -> None:
        if self.thread is None or not self.thread.is_alive():
            self.thread = threading.Thread(target=self._work, name="loopwright journal", daemon=True)
            self.thread.start()
        self.lock.notify()

    # ---- the thread ----

    def _work(self) -> None:
        last = time.monotonic()
        items: list[Item] = []
        while True:
            with self.lock:
                if not (items or self.items or self.calls):
                    self.lock.wait(min(_LOOK, self.lease / 3))
                # What was sent once is sent again as it was.
                items, self.items = items + self.items, []
                calls, self.calls = self.calls, deque()
                busy = bool(items or calls or self.held or self.watched)
                if not busy and time.monotonic() - last > _IDLE:
                    self.thread = None
                    break
            if busy:
                last = time.monotonic()
                items = self._round(items, calls)
        self._disconnect()

    def _round(self, items: list[Item], calls: deque[tuple[Callable[[Any], Any], Future[Any]]]) -> list[Item]:
        """Writes, reads and renews once; gives what could not be written."""
        import psycopg

        try:
            connection = self._connected()
            if items:
                self._write(connection, items)
                items = []
            while calls:
                function, future = calls[0]
                try:
                    found = function(connection)
                except (psycopg.OperationalError, psycopg.InterfaceError):
                    raise
                except Exception as error:  # noqa: BLE001 - raised where it was asked for
                    calls.popleft()
                    future.set_exception(_told(error))
                else:
                    calls.popleft()
                    future.set_result(found)
            self._look(connection)
            self.failing = None
        except Exception as error:  # noqa: BLE001 - told to whoever waits
            self._disconnect()
            now = time.monotonic()
            self.failing = now if self.failing is None else self.failing
            gone = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
            if not gone or self._hopeless(error, now):
                self._fail(_told(error), items, calls)
                self.failing = None
                return []
            with self.lock:
                self.calls.extendleft(reversed(calls))
            time.sleep(0.1)
        return items

    def _hopeless(self, error: Exception, now: float) -> bool:
        """Whether nobody should wait longer: the database is away too long, or was never there."""
        began = self.failing if self.failing is not None else now
        never = not self.renewed and getattr(error, "sqlstate", None) is None and now - began > 5  # noqa: PLR2004
        refused = (getattr(error, "sqlstate", None) or "")[:2] in ("28", "3D")
        return never or refused or now - began > _PATIENCE

    def _fail(self, error: UsageError, items: list[Item], calls: Any) -> None:
        for _, future in calls:
            future.set_exception(error)
        for item in items:
            self.lose(item.hold, error)
        for item in items:
            if item.then is not None:
                item.then(error)

    def _connected(self) -> Any:
        if self.connection is None:
            import psycopg

            connection = psycopg.connect(
                full_url(self.path),
                autocommit=True,
                prepare_threshold=2,
                connect_timeout=5,
                application_name="loopwright",
            )
            migrate(connection)
            self.connection = connection
        return self.connection

    def _disconnect(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.close()

    def _write(self, connection: Any, items: list[Item]) -> None:
        """Commits all at once, and tells who waits. Nothing is written for runs that another process has."""
        ours = [item for item in items if item.hold.lost is None]
        behind = [item for item in ours if item.statement is not None]
        mine: set[str] = set()
        if ours:
            with connection.transaction() if behind else nullcontext():
                mine = {run for (run,) in connection.execute(_APPEND, self._batch(ours), binary=True)}
                for item in behind:
                    if item.hold.run in mine and item.statement is not None:
                        sql, values = item.statement
                        connection.execute(sql, {**values, "run": item.hold.run, "epoch": item.hold.epoch})
        for item in ours:
            if item.hold.run not in mine:
                self.lose(item.hold, lease_lost(item.hold.run, self.path))
        for item in items:
            if item.then is not None:
                item.then(item.hold.lost)

    def _batch(self, items: list[Item]) -> dict[str, Any]:
        """What is sent of items: each run once, with its epoch and the number of its last event; and all lines."""
        runs: dict[str, tuple[int, int]] = {}
        for item in items:
            epoch, seq = runs.get(item.hold.run, (0, 0))
            runs[item.hold.run] = (max(epoch, item.hold.epoch), max(seq, item.seq))
        lined = [item for item in items if item.lines]
        return {
            "lease": self.lease,
            "owner": self.owner,
            "runs": list(runs),
            "epochs": [epoch for epoch, _ in runs.values()],
            "seqs": [seq for _, seq in runs.values()],
            "of": [item.hold.run for item in lined],
            "ns": [item.n for item in lined],
            "lines": [item.lines for item in lined],
        }

    def lose(self, hold: Hold, error: UsageError) -> None:
        """The run is no longer ours: nothing more is written, and it ends here."""
        if hold.lost is None:
            hold.lost = error
            self.let_go(hold)
            if hold.on_lost is not None:
                hold.on_lost(error)

    def _look(self, connection: Any) -> None:
        """Renews the leases of runs that write nothing, and looks for those that were cancelled."""
        now = time.monotonic()
        if now - self.renewed >= min(10.0, self.lease / 3):
            self.renewed = now
            with self.lock:
                held = list(self.held.values())
            if held:
                self._write(connection, [Item(hold) for hold in held])
        if self.watched and now - self.looked >= _LOOK:
            self.looked = now
            with self.lock:
                watched = dict(self.watched)
            rows = connection.execute(
                "select run_id from loopwright_runs where cancelled and run_id = any(%s)", (list(watched),)
            )
            for (run,) in rows:
                watched[run]("cancel")


def lease_lost(run: str, path: str) -> UsageError:
    message = f"another process goes on with the run {run!r} of {path!r}: this one gave no sign of life for too long"
    return UsageError(message, "lease_lost", "nothing more was written here; its result is in the journal")


def _told(error: Exception) -> Any:
    """What a failure of the database is called."""
    if isinstance(error, UsageError):
        return error
    import psycopg

    if not isinstance(error, psycopg.Error):
        return error
    said = str(error).strip().splitlines()
    message = f"the journal can't be reached or written: {said[0] if said else type(error).__name__}"
    hint = "check the database and who may write to it, and resume the run: what was written before is safe"
    told = UsageError(message, "journal_failed", hint)
    told.__cause__ = error
    return told


_STORES: dict[tuple[int, str], Store] = {}
_LOCK = threading.Lock()


def store_at(path: str) -> Store:
    """The store of an address; a process that was forked has one of its own."""
    from loopwright._extras import need

    need("psycopg", "a journal in Postgres", extra="postgres", oldest="3.2", below="4")
    with _LOCK:
        key = os.getpid(), path
        if key not in _STORES:
            _STORES[key] = Store(path)
        return _STORES[key]
