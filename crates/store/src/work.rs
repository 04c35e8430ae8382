//! The queue of work: stored before it starts, done once, whichever process does it.
//!
//! One process at a time holds a piece of work, by a lease. A process that lost its lease can't finish the work, so its
//! results are stored once. The queue is bounded; failed work is retried a few times, and then stays visible.

use rusqlite::{Connection, OptionalExtension, Row};
use serde::{Deserialize, Serialize};

use super::{memory::Traces, open::Tables};
use loopwright_guard::sensitivity::redact;

/// The table of work.
pub const TABLES: Tables = Tables { room: "work", migrations: &[FIRST, SECOND], reads_from: 2 };

/// `state`: 0 queued, 1 running, 2 done, 3 failed. Done work has no payload any more.
const FIRST: &str = "
CREATE TABLE work (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    payload TEXT,
    queued_at REAL NOT NULL,
    due_at REAL NOT NULL,
    started_at REAL,
    ended_at REAL,
    attempts INTEGER NOT NULL DEFAULT 0,
    owner TEXT,
    lease REAL,
    error TEXT,
    UNIQUE (kind, name)
) STRICT;
CREATE INDEX work_by_state ON work (state, due_at);
";

/// Runs whose turns are to be queued when they end, and the places of their journals: should a process die in between,
/// another one finds there what is missing.
const SECOND: &str = "
CREATE TABLE work_turns (
    run TEXT PRIMARY KEY,
    journal TEXT NOT NULL,
    about TEXT NOT NULL,
    begun_at REAL NOT NULL,
    owner TEXT NOT NULL
) STRICT, WITHOUT ROWID;
";

/// Pieces of work that may wait; more are refused.
pub const MAX_QUEUED: usize = 1_000;
/// Pieces of done work, and of failed work, that stay visible.
const MAX_ENDED: i64 = 200;
/// Attempts at a piece of work.
pub const MAX_ATTEMPTS: u32 = 3;
/// Seconds until the second, third, … attempt.
const PAUSES: [f64; 2] = [1.0, 5.0];

/// The state of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkState {
    /// The work waits.
    Queued,
    /// A process does the work.
    Running,
    /// The work is done.
    Done,
    /// The work failed too often.
    Failed,
}

impl WorkState {
    const ALL: [Self; 4] = [Self::Queued, Self::Running, Self::Done, Self::Failed];
}

/// A piece of work in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkItem {
    /// The number.
    pub id: i64,
    /// The kind of work.
    pub kind: String,
    /// The subject: a run.
    pub name: String,
    /// The state.
    pub state: WorkState,
    /// The time at which it was queued, in seconds since 1970.
    pub queued_at: f64,
    /// The time before which it is not tried.
    pub due_at: f64,
    /// The time at which it was last begun.
    pub started_at: Option<f64>,
    /// The time at which it was done, or failed.
    pub ended_at: Option<f64>,
    /// The number of attempts.
    pub attempts: u32,
    /// The error of the last attempt.
    pub error: Option<String>,
    /// This process does the work.
    pub own: bool,
}

/// A piece of work that was claimed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The number.
    pub id: i64,
    /// The kind of work.
    pub kind: String,
    /// The subject.
    pub name: String,
    /// The data that the work needs.
    pub payload: String,
    /// The number of this attempt, from 1.
    pub attempts: u32,
    /// Another process had begun the work.
    pub resumed: bool,
}

/// The name of this process, in a form that says whether it still lives: boot and namespace, number, start.
pub(super) fn owner() -> String {
    let pid = std::process::id();
    format!("{} {pid} {}", host(), started(pid).unwrap_or_default())
}

fn host() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{}/{}", boot.trim(), space.display()).replace(' ', "_")
}

/// The time at which a process began, in ticks of its machine.
fn started(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of a program may hold anything, but its last bracket closes it.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19).map(str::to_owned)
}

/// Returns whether the process of that name is surely gone; of processes of other machines nobody can say.
fn is_gone(owner: &str) -> bool {
    let mut parts = owner.split(' ');
    let (Some(place), Some(pid), Some(start)) = (parts.next(), parts.next(), parts.next()) else { return false };
    if start.is_empty() || place != host() {
        return false;
    }
    let Ok(pid) = pid.parse() else { return false };
    started(pid).is_none_or(|now| now != start)
}

/// The result of queueing work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// The work waits under this number, or did already.
    Queued(i64),
    /// The queue is full.
    Full,
}

/// Queues work; the same kind and name once.
pub(super) fn queue(
    connection: &Connection,
    kind: &str,
    name: &str,
    payload: &str,
    now: f64,
) -> rusqlite::Result<Enqueued> {
    let known = connection
        .prepare_cached("SELECT id FROM work WHERE kind = ?1 AND name = ?2")?
        .query_row((kind, name), |row| row.get(0))
        .optional()?;
    if let Some(id) = known {
        return Ok(Enqueued::Queued(id));
    }
    let open: usize = connection
        .prepare_cached("SELECT count(*) FROM work WHERE state IN (0, 1)")?
        .query_row([], |row| row.get(0))?;
    if open >= MAX_QUEUED {
        return Ok(Enqueued::Full);
    }
    connection
        .prepare_cached("INSERT INTO work (kind, name, payload, queued_at, due_at) VALUES (?1, ?2, ?3, ?4, ?4)")?
        .execute((kind, name, payload, now))?;
    Ok(Enqueued::Queued(connection.last_insert_rowid()))
}

/// A run that no process writes any more, and whose turn was not queued.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LostRun {
    /// The run's name.
    pub run: String,
    /// The place of the run's journal.
    pub journal: String,
    /// Notes of the process that began the run.
    pub about: String,
    /// The name of that process.
    pub owner: String,
}

/// Seconds after which a lost run that no process resumed is forgotten.
const LOST_RUN_AGE: f64 = 30.0 * 86_400.0;

/// Records that a run begins, in place of another one if that was an attempt at the same.
pub(super) fn record_run(
    connection: &Connection,
    (run, instead): (&str, Option<&str>),
    journal: &str,
    about: &str,
    now: f64,
) -> rusqlite::Result<()> {
    if let Some(instead) = instead {
        settle(connection, instead, None)?;
    }
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO work_turns (run, journal, about, begun_at, owner) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((run, journal, about, now, owner()))?;
    Ok(())
}

/// Removes the record of a run whose turn is queued, or needs no work; returns whether there was one. With `owner`,
/// only if it is that process's.
pub(super) fn settle(connection: &Connection, run: &str, owner: Option<&str>) -> rusqlite::Result<bool> {
    let mut delete =
        connection.prepare_cached("DELETE FROM work_turns WHERE run = ?1 AND (?2 IS NULL OR owner = ?2)")?;
    Ok(delete.execute((run, owner))? > 0)
}

/// The runs of processes that are gone whose turns are missing, oldest first.
pub(super) fn lost_runs(connection: &Connection, now: f64) -> rusqlite::Result<Vec<LostRun>> {
    let mut select = connection
        .prepare_cached("SELECT run, journal, about, owner FROM work_turns WHERE begun_at > ?1 ORDER BY begun_at")?;
    let rows = select.query_map([now - LOST_RUN_AGE], |row| {
        Ok(LostRun { run: row.get(0)?, journal: row.get(1)?, about: row.get(2)?, owner: row.get(3)? })
    })?;
    let mut found = Vec::new();
    for row in rows {
        let row = row?;
        if is_gone(&row.owner) {
            found.push(row);
        }
    }
    Ok(found)
}

/// Forgets runs that broke off long ago.
pub(super) fn forget_old_runs(connection: &Connection, now: f64) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM work_turns WHERE begun_at <= ?1")?.execute([now - LOST_RUN_AGE])?;
    Ok(())
}

/// Claims the next piece of work that is due, or whose lease has ended, for so many seconds.
pub(super) fn claim(connection: &Connection, seconds: f64, now: f64) -> rusqlite::Result<Option<Job>> {
    let mut candidates = connection.prepare_cached(
        "SELECT id, kind, name, payload, attempts, state, owner, lease FROM work \
         WHERE (state = 0 AND due_at <= ?1) OR state = 1 ORDER BY state, due_at, id",
    )?;
    let mut rows = candidates.query([now])?;
    while let Some(row) = rows.next()? {
        let running = row.get::<_, i64>(5)? == 1;
        if running {
            let owner: Option<String> = row.get(6)?;
            let lease: Option<f64> = row.get(7)?;
            let lapsed = lease.is_none_or(|lease| lease <= now);
            if !lapsed && !owner.as_deref().is_some_and(is_gone) {
                continue;
            }
        }
        let id: i64 = row.get(0)?;
        let attempts: u32 = row.get::<_, u32>(4)?.saturating_add(1);
        let payload: Option<String> = row.get(3)?;
        // One that was begun and not ended too often takes processes down with it.
        if running && attempts > MAX_ATTEMPTS + 2 {
            connection
                .prepare_cached("UPDATE work SET state = 3, ended_at = ?2, error = ?3, owner = NULL WHERE id = ?1")?
                .execute((id, now, "every process that began it came to an end"))?;
            continue;
        }
        connection
            .prepare_cached(
                "UPDATE work SET state = 1, started_at = ?2, attempts = ?3, owner = ?4, lease = ?5 WHERE id = ?1",
            )?
            .execute((id, now, attempts, owner(), now + seconds))?;
        return Ok(Some(Job {
            id,
            kind: row.get(1)?,
            name: row.get(2)?,
            payload: payload.unwrap_or_default(),
            attempts,
            resumed: running,
        }));
    }
    Ok(None)
}

/// Marks work as done, if this process still holds it.
pub(super) fn mark_done(connection: &Connection, id: i64, attempt: u32, now: f64) -> rusqlite::Result<bool> {
    let changed = connection
        .prepare_cached(
            "UPDATE work SET state = 2, ended_at = ?2, payload = NULL, owner = NULL, lease = NULL, error = NULL \
             WHERE id = ?1 AND state = 1 AND owner = ?3 AND attempts = ?4",
        )?
        .execute((id, now, owner(), attempt))?;
    prune(connection)?;
    Ok(changed > 0)
}

/// Marks an attempt as failed: the work waits for another one, or stays as failed. Returns the new state, if this
/// process held it.
pub(super) fn mark_failed(
    connection: &Connection,
    id: i64,
    attempt: u32,
    error: &str,
    for_good: bool,
    now: f64,
) -> rusqlite::Result<Option<WorkState>> {
    let held = connection
        .prepare_cached("SELECT 1 FROM work WHERE id = ?1 AND state = 1 AND owner = ?2 AND attempts = ?3")?
        .exists((id, owner(), attempt))?;
    if !held {
        return Ok(None);
    }
    let attempts = attempt;
    let error: String = redact(error).chars().take(2_000).collect();
    let pause = PAUSES.get(attempts.saturating_sub(1) as usize).copied().unwrap_or(5.0);
    let state = if for_good || attempts >= MAX_ATTEMPTS { WorkState::Failed } else { WorkState::Queued };
    connection
        .prepare_cached(
            "UPDATE work SET state = ?2, due_at = ?3, ended_at = ?4, error = ?5, owner = NULL, lease = NULL WHERE id = ?1",
        )?
        .execute((id, state as i64, now + pause, (state == WorkState::Failed).then_some(now), error))?;
    prune(connection)?;
    Ok(Some(state))
}

/// Removes the oldest ended work.
fn prune(connection: &Connection) -> rusqlite::Result<()> {
    for state in [WorkState::Done, WorkState::Failed] {
        connection
            .prepare_cached(
                "DELETE FROM work WHERE state = ?1 AND id <= \
                 (SELECT id FROM work WHERE state = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
            )?
            .execute((state as i64, MAX_ENDED))?;
    }
    Ok(())
}

/// Ends work that holds erased words, whether it waits, runs or failed. The process that does it can't finish it any
/// more.
pub(super) fn erase(connection: &Connection, traces: &Traces) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT id, kind, name, coalesce(payload, ''), coalesce(error, '') FROM work \
         WHERE payload IS NOT NULL OR error IS NOT NULL",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (kind, name) = (row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?);
        let (payload, error) = (row.get_ref(3)?.as_str()?, row.get_ref(4)?.as_str()?);
        // The work on a file says of whom it is and in which session, and nothing of what was said.
        let of_run = if kind == "file" { traces.is_session_in(payload) } else { traces.runs.contains(name) };
        if of_run || traces.are_told_in(payload) || traces.are_told_in(error) {
            end_erased(connection, row.get(0)?)?;
        }
    }
    Ok(())
}

/// The runs of a user whose work is known, or that were begun.
pub(super) fn runs_of(connection: &Connection, user: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare_cached(
        "SELECT name FROM work WHERE json_valid(payload) AND json_extract(payload, '$.user') = ?1 \
         UNION SELECT run FROM work_turns WHERE json_valid(about) AND json_extract(about, '$.user') = ?1",
    )?;
    statement.query_map([user], |row| row.get(0))?.collect()
}

/// Ends the work of a user, of whatever kind, and forgets that turns of that one were begun. Returns the number of
/// pieces.
pub(super) fn erase_user(connection: &Connection, user: &str) -> rusqlite::Result<usize> {
    let mut own = connection
        .prepare_cached("SELECT id FROM work WHERE json_valid(payload) AND json_extract(payload, '$.user') = ?1")?;
    let ids: Vec<i64> = own.query_map([user], |row| row.get(0))?.collect::<Result<_, _>>()?;
    ids.iter().try_for_each(|id| end_erased(connection, *id))?;
    let begun = connection
        .prepare_cached("DELETE FROM work_turns WHERE json_valid(about) AND json_extract(about, '$.user') = ?1")?
        .execute([user])?;
    Ok(ids.len() + begun)
}

/// Ends a piece of work whose words were erased.
fn end_erased(connection: &Connection, id: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE work SET state = 2, payload = NULL, error = NULL, owner = NULL, lease = NULL, \
             ended_at = coalesce(ended_at, queued_at) WHERE id = ?1",
        )?
        .execute([id])
        .map(drop)
}

/// The work that is known, oldest first.
pub(super) fn list(connection: &Connection, state: Option<WorkState>) -> rusqlite::Result<Vec<WorkItem>> {
    let own = owner();
    let item = |row: &Row<'_>| {
        Ok(WorkItem {
            own: row.get_ref(10)?.as_str_or_null()? == Some(own.as_str()),
            id: row.get(0)?,
            kind: row.get(1)?,
            name: row.get(2)?,
            state: WorkState::ALL.get(row.get::<_, usize>(3)?).copied().unwrap_or(WorkState::Failed),
            queued_at: row.get(4)?,
            due_at: row.get(5)?,
            started_at: row.get(6)?,
            ended_at: row.get(7)?,
            attempts: row.get(8)?,
            error: row.get(9)?,
        })
    };
    let mut statement = connection.prepare_cached(
        "SELECT id, kind, name, state, queued_at, due_at, started_at, ended_at, attempts, error, owner FROM work \
         WHERE ?1 IS NULL OR state = ?1 ORDER BY id",
    )?;
    statement.query_map([state.map(|state| state as i64)], item)?.collect()
}

/// The time at which the next piece of work is due for this process: now, later, or never. Work that others do counts
/// as due when their lease ends.
pub(super) fn next_due(connection: &Connection, now: f64) -> rusqlite::Result<Option<f64>> {
    let mut rows = connection.prepare_cached("SELECT state, due_at, owner, lease FROM work WHERE state IN (0, 1)")?;
    let mut rows = rows.query([])?;
    let mut next: Option<f64> = None;
    while let Some(row) = rows.next()? {
        let due = if row.get::<_, i64>(0)? == 0 {
            row.get::<_, f64>(1)?
        } else {
            let owner: Option<String> = row.get(2)?;
            let lease: f64 = row.get::<_, Option<f64>>(3)?.unwrap_or(now);
            if owner.as_deref().is_some_and(is_gone) { now } else { lease }
        };
        next = Some(next.map_or(due, |known| known.min(due)));
    }
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(FIRST).unwrap();
        connection
    }

    fn state_of(connection: &Connection, id: i64) -> WorkState {
        list(connection, None).unwrap().into_iter().find(|item| item.id == id).unwrap().state
    }

    #[test]
    fn x18_work_is_taken_by_one_and_ended_once() {
        let connection = empty();
        let Enqueued::Queued(id) = queue(&connection, "turn", "a", "{}", 0.0).unwrap() else { panic!("not taken") };
        assert_eq!(queue(&connection, "turn", "a", "{}", 1.0).unwrap(), Enqueued::Queued(id), "the same once");
        let job = claim(&connection, 10.0, 1.0).unwrap().unwrap();
        assert_eq!((job.id, job.attempts, job.resumed), (id, 1, false));
        assert_eq!(claim(&connection, 10.0, 2.0).unwrap(), None, "somebody is at it");
        // The lease runs out: somebody else takes it, and the first one can't end it any more.
        let again = claim(&connection, 10.0, 12.0).unwrap().unwrap();
        assert_eq!((again.attempts, again.resumed), (2, true));
        assert!(!mark_done(&connection, id, job.attempts, 13.0).unwrap());
        assert_eq!(mark_failed(&connection, id, job.attempts, "late", false, 13.0).unwrap(), None);
        assert!(mark_done(&connection, id, again.attempts, 13.0).unwrap());
        assert!(!mark_done(&connection, id, again.attempts, 14.0).unwrap(), "once");
        assert_eq!(state_of(&connection, id), WorkState::Done);
        assert_eq!(queue(&connection, "turn", "a", "{}", 15.0).unwrap(), Enqueued::Queued(id), "done is done");
        assert_eq!(next_due(&connection, 15.0).unwrap(), None);
    }

    #[test]
    fn x18_work_of_a_process_that_is_gone_is_free_at_once() {
        let connection = empty();
        queue(&connection, "turn", "a", "{}", 0.0).unwrap();
        let job = claim(&connection, 1e9, 1.0).unwrap().unwrap();
        assert_eq!(claim(&connection, 1e9, 2.0).unwrap(), None);
        let own = owner();
        let mut parts: Vec<&str> = own.split(' ').collect();
        // Another process of this machine has this number now; and one of another machine, of which nobody knows.
        parts[2] = "1";
        for (owner, free) in [(parts.join(" "), !own.ends_with(' ')), ("elsewhere/x 1 1".to_owned(), false)] {
            connection.execute("UPDATE work SET owner = ?1, state = 1 WHERE id = ?2", (owner, job.id)).unwrap();
            assert_eq!(claim(&connection, 1e9, 3.0).unwrap().is_some(), free);
        }
    }

    #[test]
    fn x18_what_fails_is_tried_a_few_times_and_what_kills_is_left() {
        let connection = empty();
        let Enqueued::Queued(id) = queue(&connection, "turn", "a", "{}", 0.0).unwrap() else { panic!("not taken") };
        let mut now = 0.0;
        for attempt in 1..=MAX_ATTEMPTS {
            let job = claim(&connection, 10.0, now).unwrap().unwrap();
            assert_eq!(job.attempts, attempt);
            let state = mark_failed(&connection, id, attempt, "no", false, now).unwrap().unwrap();
            assert_eq!(state, if attempt == MAX_ATTEMPTS { WorkState::Failed } else { WorkState::Queued });
            assert_eq!(claim(&connection, 10.0, now + 0.5).unwrap(), None, "not at once");
            now += 10.0;
        }
        assert_eq!(claim(&connection, 10.0, now).unwrap(), None);
        assert_eq!(list(&connection, Some(WorkState::Failed)).unwrap()[0].error.as_deref(), Some("no"));
        // Never ended by those who began it.
        let Enqueued::Queued(id) = queue(&connection, "turn", "b", "{}", now).unwrap() else { panic!("not taken") };
        let mut begun = 0;
        while claim(&connection, 1.0, now).unwrap().is_some() {
            begun += 1;
            now += 2.0;
            assert!(begun < 20);
        }
        assert_eq!((begun, state_of(&connection, id)), (MAX_ATTEMPTS + 2, WorkState::Failed));
    }

    #[test]
    fn x18_the_queue_is_bounded_and_so_is_what_it_remembers() {
        let connection = empty();
        for at in 0..MAX_QUEUED {
            assert!(matches!(queue(&connection, "turn", &at.to_string(), "{}", 0.0).unwrap(), Enqueued::Queued(_)));
        }
        assert_eq!(queue(&connection, "turn", "more", "{}", 0.0).unwrap(), Enqueued::Full);
        while let Some(job) = claim(&connection, 10.0, 1.0).unwrap() {
            assert!(mark_done(&connection, job.id, job.attempts, 1.0).unwrap());
        }
        assert_eq!(i64::try_from(list(&connection, None).unwrap().len()), Ok(MAX_ENDED));
        let kept: i64 =
            connection.query_row("SELECT count(*) FROM work WHERE payload IS NOT NULL", [], |row| row.get(0)).unwrap();
        assert_eq!(kept, 0);
    }
}
