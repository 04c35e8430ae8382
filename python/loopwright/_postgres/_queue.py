"""Runs that are begun somewhere and carried out by workers elsewhere: what is queued, claimed, answered and done.

A job is a row of a run that has a `queue`: `ready` for a worker, `waiting` for a person, `done`, or `failed` where the
run could not even be carried out. The lease says whether a worker has it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from loopwright._approval import Approval, Edit, Returned, approval_of
from loopwright._suspend import check_answer
from loopwright.errors import UsageError

from ._kept import release
from ._store import Hold, Item, Store, lease_lost, store_at

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Job", "add", "answer", "answers_of", "claim", "done", "hand_over", "left", "pending"]

_ADD = """
insert into loopwright_runs as r (run_id, queue, job, prompt) values (%s, %s, 'ready', %s)
on conflict (run_id) do update set queue = excluded.queue, job = 'ready', prompt = excluded.prompt
where r.begun is null and r.job is null and r.cancelled
returning run_id
"""
_CLAIM = """
update loopwright_runs as r
set owner = %(owner)s, epoch = r.epoch + 1, lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
from loopwright_inputs as i
where i.run_id = r.run_id and r.run_id in (
    select run_id from loopwright_runs
    where job = 'ready' and queue = %(queue)s and (lease_until is null or lease_until < clock_timestamp())
    order by made limit %(most)s for update skip locked
)
returning r.run_id, r.epoch, r.cancelled, r.answers, r.begun is not null, i.input
"""
_DONE = """
update loopwright_runs
set job = case when %(job)s = 'waiting' and (answers is not null or cancelled) then 'ready' else %(job)s end,
    error = %(error)s, owner = null, lease_until = null
where run_id = %(run)s and epoch = %(epoch)s
"""
_LATER = """
update loopwright_runs set owner = null, lease_until = clock_timestamp() + make_interval(secs => %(after)s)
where run_id = %(run)s and epoch = %(epoch)s
"""


class Job(NamedTuple):
    """A run that a worker has claimed: its lease, and what it was begun with."""

    hold: Hold
    input: dict[str, Any]


def add(path: str, run_id: str, queue: str, given: Mapping[str, Any]) -> None:
    """Queues a run for a worker. Raises `run_exists` where there is one of its name."""

    def insert(connection: Any) -> bool:
        with connection.transaction():
            prompt = given["prompt"] if isinstance(given["prompt"], str) else ""
            row = connection.execute(_ADD, (run_id, queue, prompt[:200].replace("\0", ""))).fetchone()
            if row is None:
                return False
            connection.execute("delete from loopwright_inputs where run_id = %s", (run_id,))
            connection.execute("insert into loopwright_inputs values (%s, %s)", (run_id, json.dumps(given)))
            connection.execute("select pg_notify('loopwright', %s)", (f"ready {queue}",))
        return True

    if not store_at(path).call(insert):
        message = f"there is a run {run_id!r} in {path!r} already"
        raise UsageError(message, "run_exists", "give another run_id, or leave that one to its worker")


def claim(store: Store, queue: str, most: int) -> list[Job]:
    """Runs that nobody has, as ours: new ones, answered ones, and those of workers that died."""
    told = {"owner": store.owner, "lease": store.lease, "queue": queue, "most": most}
    rows = store.call(lambda connection: connection.execute(_CLAIM, told).fetchall())
    jobs = []
    for run, epoch, cancelled, answers, begun, given in rows:
        if (before := store.held.get(run)) is not None:
            # This process was stopped for so long that its own lease is over; who still works at it here ends.
            store.lose(before, lease_lost(run, store.path))
        hold = Hold(run, epoch, cancelled, begun, worker=True, answers=answers)
        jobs.append(Job(store.hold(hold), json.loads(given)))
    return jobs


def left(path: str, queue: str) -> int:
    """How many runs of a queue wait for a worker, or are under way."""
    sql = "select count(*) from loopwright_runs where job = 'ready' and queue = %s"
    return int(store_at(path).call(lambda connection: connection.execute(sql, (queue,)).fetchone()[0]))


def done(store: Store, job: Job, state: str, error: str | None) -> None:
    """A job is over, or waits for people."""
    hold = job.hold
    store.let_go(hold)
    if hold.lost is None:
        store.write(Item(hold, statement=(_DONE, {"job": state, "error": error})))


def hand_over(store: Store, job: Job, after: float | None = None) -> None:
    """Another worker goes on with a job: at once, or after some seconds."""
    if after is None:
        release(store, job.hold)
        return
    store.let_go(job.hold)
    if job.hold.lost is None:
        store.write(Item(job.hold, statement=(_LATER, {"after": after})))


# ---- people ----

_WAITING = """
select run_id, waits, answers from loopwright_runs
where waits is not null and ended is null and (run_id = %s or run_id ~ %s)
order by made
"""


_READY = "update loopwright_runs set job = 'ready' where run_id = any(%s) and job = 'waiting' returning queue"


def pending(path: str, run: str) -> list[Approval]:
    """The calls that a run was left with, which wait for people."""
    return [asked for _, found, _ in _waiting(path, run) for asked in found]


def _waiting(path: str, run: str) -> list[tuple[str, list[Approval], dict[str, Any]]]:
    # Further attempts at an answer have the name with a number.
    found = store_at(path).call(lambda c: c.execute(_WAITING, (run, f"^{run}-[0-9]+$")).fetchall())
    return [
        (name, [approval_of(each) for each in json.loads(waits)], json.loads(answers or "{}"))
        for name, waits, answers in found
    ]


def answer(path: str, run: str, answers: Mapping[str, Any]) -> None:
    """Says what people decided, for a run that was left. Raises `no_such_call` for what it does not wait for."""
    waiting = _waiting(path, run)
    for name, said in answers.items():
        whose = next((each for each in waiting if name in {asked.call_id for asked in each[1]}), None)
        if whose is None:
            there = ", ".join(repr(asked.call_id) for _, found, _ in waiting for asked in found)
            message = (
                f"the run {run!r} does not wait for an answer to the call {name!r:.100}: it waits for {there or 'none'}"
            )
            raise UsageError(message, "no_such_call", "take the call_id of each of journal.pending(run_id)")
        asked = next(asked for asked in whose[1] if asked.call_id == name)
        whose[2][name] = {"hash": asked.hash, **_said(name, said, asked)}

    def write(connection: Any) -> None:
        with connection.transaction():
            for name, found, said in waiting:
                if not any(asked.call_id in answers for asked in found):
                    continue
                sql = "update loopwright_runs set answers = %s where run_id = %s and waits is not null"
                connection.execute(sql, (json.dumps(said), name))
                for (queue,) in connection.execute(_READY, ([run, name, name.rpartition("-")[0]],)).fetchall():
                    connection.execute("select pg_notify('loopwright', %s)", (f"ready {queue}",))

    store_at(path).call(write)


def _said(name: str, said: Any, asked: Approval) -> dict[str, Any]:
    check_answer(name, asked.kind, said)
    if isinstance(said, Returned):
        return {"returned": json.loads(json.dumps(said.value))}
    return {"edit": said.arguments} if isinstance(said, Edit) else {"said": said}


def answers_of(path: str, run: str) -> tuple[dict[str, Any], dict[str, Approval]]:
    """What people decided on the calls of a run meanwhile, and what they were shown."""
    found: dict[str, Any] = {}
    shown: dict[str, Approval] = {}
    for name, asked, said in _waiting(path, run):
        if name == run:
            shown = {each.call_id: each for each in asked if each.call_id in said}
            found = {call_id: _answer(said[call_id]) for call_id in shown}
    return found, shown


def _answer(told: dict[str, Any]) -> Any:
    if "edit" in told:
        return Edit(told["edit"])
    return Returned(told["returned"]) if "returned" in told else told["said"]
