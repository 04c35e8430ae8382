//! The audit: typed events of what happened, in a table that only grows.
//!
//! An event holds its time, session, turn, user and type; its details are JSON without secrets. The table itself
//! refuses to change or drop a row. Erasing leaves the time and the type, and takes the details and the names of
//! sessions and users.

use rusqlite::{Connection, Row};
use serde::{Deserialize, Serialize};

use super::{memory::Traces, open::Tables};
use loopwright_guard::sensitivity::redact_json;

/// The table of events.
pub const TABLES: Tables = Tables { room: "audit", migrations: &[FIRST], reads_from: 1 };

const FIRST: &str = "
CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    session TEXT NOT NULL,
    turn TEXT,
    user TEXT,
    type TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_type ON audit (type, id);
CREATE INDEX audit_by_session ON audit (session, id);
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit only grows'); END;
CREATE TRIGGER audit_is_not_dropped BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit only grows'); END;
";

/// The trigger that keeps rows as they are.
const UNCHANGED: &str = "CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit \
                         BEGIN SELECT RAISE(ABORT, 'the audit only grows'); END";
/// The details of an event that were erased.
const ERASED: &str = "{\"erased\":true}";

/// The length of the longest details, in bytes.
const MAX_DETAIL: usize = 4_096;
/// Events of one answer at most.
const MAX_EVENTS: usize = 100_000;

/// The types of events, with a description of each.
pub const TYPES: [(&str, &str); 45] = [
    ("run_finished", "a run has ended: why, tokens, cost, seconds, tools"),
    ("run_failed", "a run has ended with an error: its code"),
    ("round_started", "a request goes to the model"),
    ("round_finished", "an answer is in: tokens, seconds"),
    ("retry", "the same request will be sent again"),
    ("reset", "what was shown of an answer is void"),
    ("tool_started", "a tool begins: its name; arguments are left out"),
    ("tool_finished", "a tool is done: whether it failed, seconds"),
    ("search_started", "a search begins"),
    ("search_completed", "a search is done"),
    ("call_judged", "the guard has judged a call: verdict, risk, rules"),
    ("approval_asked", "a person is asked about a call"),
    ("approval_decided", "a person, or the clock, has decided"),
    ("compacted", "a request was made of less than the whole history"),
    ("assessed", "what was decided about a reply, by which rule"),
    ("intent_assessed", "how the request is best taken up"),
    ("goal_drifted", "the conversation has left its goal, or is back"),
    ("warning", "something that the caller should know"),
    ("phase_started", "a phase of a grounded answer begins"),
    ("phase_finished", "a phase is done"),
    ("draft", "an answer that has not been verified: its length"),
    ("memory_recalled", "memory was asked for a prompt: numbers of what it gave"),
    ("events_left_out", "a run had more events than are kept: how many were left out"),
    ("episode_kept", "a turn was summarised"),
    ("prompt_kept", "what the user said was kept"),
    ("fact_kept", "a fact that somebody stated was kept, or confirmed"),
    ("relation_kept", "a relation between two entities was kept"),
    ("preference_kept", "a preference of the user was noticed, or confirmed"),
    ("reflection_kept", "a pattern was learned from a turn, or confirmed"),
    ("critique_kept", "the adversarial pass found something"),
    ("skill_kept", "a way of doing something was kept, or confirmed"),
    ("secret_left_out", "a text held something that opens something; it was left out of memory"),
    ("file_written", "lines were written into a memory file"),
    ("file_line_learned", "a person wrote a line into a memory file"),
    ("file_line_changed", "a person changed a line of a memory file"),
    ("file_line_removed", "a person removed a line of a memory file; the memory was forgotten"),
    ("memory_forgotten", "memories were forgotten: their numbers, whether they were erased"),
    ("memory_consolidated", "memories were consolidated: how many were merged, made and let go"),
    ("work_queued", "work after a turn was queued"),
    ("work_dropped", "the queue was full: work was not taken"),
    ("work_resumed", "work that another process left behind was taken up"),
    ("work_retried", "work failed and will be tried again: the error"),
    ("work_failed", "work failed for good: the error"),
    ("work_done", "work is done: seconds, attempts"),
    ("other", "an event whose type has no legal name: its details hold it"),
];

/// Returns whether a type may have this name. Types that are not listed are kept too, so that no news is lost.
fn is_legal(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// An event to record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The time, in seconds since 1970.
    pub at: f64,
    /// The type, one of [`TYPES`].
    #[serde(rename = "type")]
    pub kind: String,
    /// Details as JSON text.
    pub detail: String,
}

/// The session, run and user of an event.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventScope<'a> {
    /// The session.
    pub session: &'a str,
    /// The run.
    pub turn: Option<&'a str>,
    /// The user.
    pub user: Option<&'a str>,
}

/// A recorded event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordedEvent {
    /// The number; later events have larger ones.
    pub id: i64,
    /// The time, in seconds since 1970.
    pub at: f64,
    /// The session.
    pub session: String,
    /// The run.
    pub turn: Option<String>,
    /// The user.
    pub user: Option<String>,
    /// The type, one of [`TYPES`].
    #[serde(rename = "type")]
    pub kind: String,
    /// Details as JSON text.
    pub detail: String,
}

/// A filter of events.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EventFilter {
    /// Events of this session alone.
    pub session: Option<String>,
    /// Events of this run alone.
    pub turn: Option<String>,
    /// Events of this user alone.
    pub user: Option<String>,
    /// Events of this type alone.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Events from this time on.
    pub since: Option<f64>,
    /// Events up to this time.
    pub until: Option<f64>,
    /// Events with a larger number.
    pub after: Option<i64>,
    /// The number of events, the newest ones; all, if not given.
    pub limit: Option<usize>,
}

/// Records an event. Details that are too long are left out, with a note that says so.
pub(super) fn write(connection: &Connection, whose: &EventScope<'_>, event: &Event) -> rusqlite::Result<()> {
    let kind = Some(event.kind.as_str()).filter(|kind| is_legal(kind));
    let mut detail = redact_json(&event.detail);
    if detail.len() > MAX_DETAIL {
        detail = format!("{{\"left_out\":{}}}", detail.len());
    }
    if kind.is_none() {
        let name: String = event.kind.chars().take(64).collect();
        detail = serde_json::json!({"type": name, "detail": detail}).to_string();
    }
    connection
        .prepare_cached("INSERT INTO audit (at, session, turn, user, type, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute((event.at, whose.session, whose.turn, whose.user, kind.unwrap_or("other"), detail))?;
    Ok(())
}

/// The events that match a filter, oldest first.
pub(super) fn read(connection: &Connection, wanted: &EventFilter) -> rusqlite::Result<Vec<RecordedEvent>> {
    let limit = i64::try_from(wanted.limit.unwrap_or(MAX_EVENTS).min(MAX_EVENTS)).unwrap_or(i64::MAX);
    let kept = |row: &Row<'_>| {
        Ok(RecordedEvent {
            id: row.get(0)?,
            at: row.get(1)?,
            session: row.get(2)?,
            turn: row.get(3)?,
            user: row.get(4)?,
            kind: row.get(5)?,
            detail: row.get(6)?,
        })
    };
    let mut statement = connection.prepare_cached(
        "SELECT id, at, session, turn, user, type, detail FROM audit \
         WHERE (?1 IS NULL OR session = ?1) AND (?2 IS NULL OR turn = ?2) AND (?3 IS NULL OR user = ?3) \
         AND (?4 IS NULL OR type = ?4) AND (?5 IS NULL OR at >= ?5) AND (?6 IS NULL OR at <= ?6) \
         AND (?7 IS NULL OR id > ?7) ORDER BY id DESC LIMIT ?8",
    )?;
    let EventFilter { session, turn, user, kind, since, until, after, .. } = wanted;
    let rows = statement.query_map((session, turn, user, kind, since, until, after, limit), kept)?;
    let mut all = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    all.reverse();
    Ok(all)
}

/// Removes erased words from details, and from the names of sessions.
pub(super) fn erase_words(connection: &Connection, traces: &Traces) -> rusqlite::Result<()> {
    let ids: Vec<i64> = {
        let mut statement = connection.prepare_cached("SELECT id, detail FROM audit")?;
        let mut rows = statement.query([])?;
        let mut ids = Vec::new();
        while let Some(row) = rows.next()? {
            if traces.are_named_in(row.get_ref(1)?.as_str()?) {
                ids.push(row.get(0)?);
            }
        }
        ids
    };
    changing(connection, || {
        for id in ids {
            connection.prepare_cached("UPDATE audit SET detail = ?2 WHERE id = ?1")?.execute((id, ERASED))?;
        }
        for session in &traces.sessions {
            connection.prepare_cached("UPDATE audit SET session = '' WHERE session = ?1")?.execute([session])?;
        }
        Ok(())
    })
}

/// The runs of a user.
pub(super) fn runs_of(connection: &Connection, user: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement =
        connection.prepare_cached("SELECT DISTINCT turn FROM audit WHERE user = ?1 AND turn IS NOT NULL")?;
    statement.query_map([user], |row| row.get(0))?.collect()
}

/// Removes a user from the audit: the name, the runs, the sessions and all details. Returns the number of events
/// changed.
pub(super) fn erase_user(connection: &Connection, user: &str, traces: &Traces) -> rusqlite::Result<usize> {
    let blank = "session = '', turn = NULL, user = NULL, detail = ?2";
    changing(connection, || {
        let named = format!("UPDATE audit SET {blank} WHERE user = ?1");
        let mut count = connection.prepare_cached(&named)?.execute((user, ERASED))?;
        for run in &traces.runs {
            let of_run = format!("UPDATE audit SET {blank} WHERE turn = ?1");
            count += connection.prepare_cached(&of_run)?.execute((run, ERASED))?;
        }
        Ok(count)
    })
}

/// Changes rows of the audit, as part of a transaction: only erasing may.
fn changing<T>(connection: &Connection, change: impl FnOnce() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    connection.execute_batch("DROP TRIGGER IF EXISTS audit_is_not_changed")?;
    let changed = change()?;
    connection.execute_batch(UNCHANGED)?;
    Ok(changed)
}
