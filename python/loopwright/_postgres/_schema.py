"""The tables of journals in Postgres, and how they come to be as this version knows them.

Every change adds something: programs of an older version go on over tables of a newer one. Where that once is not so,
`least` says which version a program must know.
"""

from __future__ import annotations

from typing import Any

from loopwright.errors import UsageError

__all__ = ["STEPS", "migrate"]

STEPS: list[str] = [
    """
    create table loopwright_runs(
        run_id text primary key,
        model text not null default '',
        prompt text not null default '',
        about text,
        made timestamptz not null default clock_timestamp(),
        begun timestamptz,
        ended timestamptz,
        stop text,
        cost double precision,
        tokens bigint,
        events bigint not null default 0,
        owner text,
        epoch bigint not null default 0,
        lease_until timestamptz,
        cancelled boolean not null default false,
        waits text,
        answers text,
        queue text,
        job text,
        error text
    ) with (fillfactor = 70);
    create table loopwright_lines(
        run_id text not null,
        n bigint not null,
        lines bytea not null,
        primary key (run_id, n)
    );
    create table loopwright_inputs(run_id text primary key, input text not null);
    create index loopwright_ready on loopwright_runs(queue, made) where job = 'ready';
    """,
    "create index loopwright_newest on loopwright_runs(made);",
]
"""What leads from one version of the tables to the next. Nothing that is here is ever changed."""
_LEAST = 1
"""The oldest version that a program must know to work with the tables after all steps."""


def migrate(connection: Any, steps: list[str] | None = None) -> None:
    """Brings the tables to this version, once: whoever comes at the same moment waits."""
    steps = STEPS if steps is None else steps
    found = _version(connection)
    if found is not None and found[0] >= len(steps):
        _fits(found, len(steps))
        return
    with connection.transaction():
        # Two that make the same table at once would fail. This lock ends with the transaction.
        connection.execute("select pg_advisory_xact_lock(1819243379)")
        connection.execute("create table if not exists loopwright_schema(version int not null, least int not null)")
        found = _version(connection)
        version = 0 if found is None else found[0]
        if found is not None:
            _fits(found, len(steps))
        for step in steps[version:]:
            connection.execute(step)
        if found is None:
            connection.execute("insert into loopwright_schema values (%s, %s)", (len(steps), _LEAST))
        elif version < len(steps):
            connection.execute("update loopwright_schema set version = %s, least = %s", (len(steps), _LEAST))


def _version(connection: Any) -> tuple[int, int] | None:
    if connection.execute("select to_regclass('loopwright_schema')").fetchone()[0] is None:
        return None
    row: tuple[int, int] | None = connection.execute("select version, least from loopwright_schema").fetchone()
    return row


def _fits(found: tuple[int, int], known: int) -> None:
    if found[1] > known:
        message = f"the tables of the journal are of version {found[0]}, and this program knows version {known}"
        raise UsageError(message, "newer_store", "install the newer version of loopwright")
