"""Journals in Postgres. The functions have the names and the form of those that `_core` has for stores in files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright.errors import UsageError

from ._kept import KeptRun, begun_run, lines_of, resumed_run
from ._store import Hold, Item, store_at

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "KeptRun",
    "begun_run",
    "cancel",
    "journal_close",
    "journal_delete",
    "journal_find",
    "journal_has",
    "journal_import",
    "journal_labels",
    "journal_last_of",
    "journal_runs",
    "journal_text",
    "resumed_run",
    "watch",
]

_STATE = """
case when error is not null and ended is null then 'failed'
     when ended is not null then 'finished'
     when lease_until > clock_timestamp() then 'running'
     when waits is not null and answers is null then 'waiting'
     when job = 'ready' then 'queued'
     when begun is null then 'queued'
     else 'broken off' end
"""
_LIST = f"""
select run_id, extract(epoch from coalesce(begun, made)) * 1000, extract(epoch from ended) * 1000,
       model, prompt, {_STATE} as state, stop, cost, tokens, events
from loopwright_runs where begun is not null or job is not null order by made desc, run_id desc
"""  # noqa: S608 - words of ours


def _all(path: str, sql: str, *values: Any) -> list[Any]:
    found: list[Any] = store_at(path).call(lambda connection: connection.execute(sql, values).fetchall())
    return found


def journal_runs(path: str) -> str:
    """The runs, as JSON, the newest first."""
    names = ("run", "begun", "ended", "model", "prompt", "state", "stop", "cost", "tokens", "events")
    told = [dict(zip(names, row, strict=True)) for row in _all(path, _LIST)]
    return json.dumps([{**each, **_stamps(each)} for each in told])


def _stamps(told: dict[str, Any]) -> dict[str, int | None]:
    return {name: None if told[name] is None else int(told[name]) for name in ("begun", "ended")}


def journal_has(path: str, run: str) -> bool:
    """Whether there is a run of this name that has begun or is queued."""
    sql = "select 1 from loopwright_runs where run_id = %s and (begun is not null or job is not null)"
    return bool(_all(path, sql, run))


def journal_find(path: str, start: str | None = None) -> str:
    """The name of the run that `start` begins; without it, of the only one."""
    sql = "select run_id from loopwright_runs where begun is not null or job is not null"
    if start is None:
        names = [name for (name,) in _all(path, f"{sql} limit 6")]
    else:
        sql = f"{sql.replace('where ', 'where (')}) and starts_with(run_id, %s) order by run_id <> %s, run_id limit 6"
        names = [name for (name,) in _all(path, sql, start, start)]
    if len(names) == 1 or (start is not None and names[:1] == [start]):
        return str(names[0])
    if not names:
        message = f"{path!r} holds no run" + (f" {start!r}" if start is not None else "")
        raise UsageError(message, "journal_not_found", "loopwright runs lists them")
    message = f"{path!r} holds {', '.join(names[:5])}{', …' if len(names) > 5 else ''}"  # noqa: PLR2004 - as one looks at
    raise UsageError(message, "ambiguous_run", "name one of its runs, or the beginning of its name")


def journal_text(path: str, run: str, last: int | None = None) -> tuple[str, str | None]:
    """The lines of a run, up to that of event `last`."""
    if last == 0:
        sql = "select lines from loopwright_lines where run_id = %s order by n limit 1"
        text = b"".join(lines for (lines,) in _all(path, sql, run)).decode()
        text = text.partition("\n")[0] + "\n" if text else ""
    else:
        text = b"".join(lines for _, lines in store_at(path).call(lambda c: lines_of(c, run))).decode()
        if last is not None:
            text = "".join(text.splitlines(keepends=True)[: last + 1])
    if not text:
        raise UsageError(f"the run {run!r} of {path!r} has not begun", "journal_not_found", "wait for a worker")
    return text, None


def journal_last_of(path: str, session: str, user: str | None = None) -> str | None:
    """The run at whose end a session of a user goes on: the last one that did not fail."""
    sql = """
    select run_id, ended is not null, stop from loopwright_runs
    where begun is not null and about is not null and about::jsonb ->> 'session' = %s
      and (about::jsonb ->> 'user') is not distinct from %s
    order by begun desc
    """
    for run, ended, stop in _all(path, sql, session, user):
        if not ended:
            message = f"the run {run!r} of the session {session!r} has not ended"
            raise UsageError(message, "run_not_ended", "wait for it, resume it, or give messages=")
        if stop not in ("error", "failed", "provider_error"):
            return str(run)
    return None


def journal_labels(path: str) -> str:
    """The names, labels and states of the runs, as JSON."""
    sql = f"select run_id, about, {_STATE} from loopwright_runs where begun is not null or job is not null"  # noqa: S608 - ours
    return json.dumps([{"run": run, "about": about, "state": state} for run, about, state in _all(path, sql)])


def journal_delete(path: str, runs: list[str]) -> list[str]:
    """Deletes runs, all or none; gives the names of those that were there."""
    store = store_at(path)

    def delete(connection: Any) -> list[str]:
        with connection.transaction():
            sql = """
            select run_id, coalesce(lease_until > clock_timestamp(), false) and owner is not null
            from loopwright_runs where run_id = any(%s) for update
            """
            rows = connection.execute(sql, (runs,)).fetchall()
            held = [run for run, under_way in rows if under_way]
            if held:
                message = f"another process writes to the run {held[0]!r} of {path!r}"
                raise UsageError(message, "journal_in_use", "wait for its end, or end it: nothing was deleted")
            for table in ("lines", "inputs", "runs"):
                connection.execute(f"delete from loopwright_{table} where run_id = any(%s)", (runs,))  # noqa: S608 - names of ours
            return [run for run, _ in rows]

    found = store.call(delete)
    if not found:
        message = f"{path!r} holds no run {', '.join(map(repr, runs))}"
        raise UsageError(message, "journal_not_found", "loopwright runs lists them")
    return found


def journal_import(path: str, text: str) -> str:
    """Takes in a run from the lines of its journal; gives its name."""
    name, about, machine = _core.journal_head(text)
    told = _core.replay(text)[0]
    run = begun_run(path, name, _Lines(text), about, json.loads(machine).get("turn", {}).get("model", ""))
    outcome = told["outcome"]
    run.written(None if outcome is None else _core.Ended.from_json(json.dumps(outcome)))
    run.persist()
    run.close()
    return name


class _Lines:
    """Lines as a run that wrote them would have them."""

    def __init__(self, text: str) -> None:
        self.lines = text.encode()
        self.seq = text.count("\n") - 1

    def __call__(self, **_: Any) -> Any:
        return self

    def take_journal(self) -> bytes:
        lines, self.lines = self.lines, b""
        return lines


def journal_close(path: str) -> None:
    """Writes what is left. The connection goes when nothing needs it."""
    store_at(path).close()


# ---- cancelling by name ----

_CANCEL = """
insert into loopwright_runs(run_id, cancelled) values (%s, true)
on conflict (run_id) do update set cancelled = true where loopwright_runs.ended is null
"""


def cancel(path: str, name: str) -> None:
    """Marks a run as cancelled, in whichever process it is, and before it begins."""

    def mark(connection: Any) -> None:
        with connection.transaction():
            connection.execute(_CANCEL, (name,))
            # One that waits for people is nobody's: a worker ends it.
            connection.execute(
                "update loopwright_runs set job = 'ready' where run_id = %s and job = 'waiting'", (name,)
            )
            connection.execute("select pg_notify('loopwright', %s)", (f"cancelled {name}",))

    store_at(path).call(mark)


def watch(path: str, name: str, end: Callable[[str], None]) -> Callable[[bool], None]:
    """Calls `end` when a run is cancelled by its name, at once where it was before. Gives what stops that."""
    store = store_at(path)
    hold = store.held.get(name)
    if hold is not None and hold.cancelled:
        end("cancel")
    store.watch(name, end)
    return lambda _: store.watch(name, None)


__all__ += ["Hold", "Item", "store_at"]
