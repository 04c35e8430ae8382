//! Reading of a store: its runs, and the lines of one; of a damaged store, as much as can be read.

use std::{fmt::Write, path::Path};

use rusqlite::{Connection, OpenFlags, OptionalExtension};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use super::{TABLES, lease, number};
use crate::open::{Options, damage_of, open, store_error};
use loopwright_base::{
    error::{Error, Result},
    message::{Block, Message, Role},
    request::History,
};
use loopwright_machine::{
    EventKind, Outcome,
    journal::{self, HistoryPiece, Journal, ResumedRun, RunLabel, Snapshot},
};

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListedRun {
    /// The run's name.
    pub run: String,
    /// The time at which it began, in milliseconds since 1970.
    pub begun: i64,
    /// The time at which it ended.
    pub ended: Option<i64>,
    /// The model.
    pub model: String,
    /// The beginning of the prompt.
    pub prompt: String,
    /// `running`, `finished`, or `broken off`.
    pub state: &'static str,
    /// The reason for its end, if it ended.
    pub stop: Option<String>,
    /// The cost, where it is known.
    pub cost: Option<f64>,
    /// Tokens, once it has ended.
    pub tokens: Option<i64>,
    /// Events.
    pub events: i64,
}

/// The part of a run's summary that is read from its journal.
#[derive(Clone, Debug, Default)]
pub struct RunSummary {
    /// The beginning of the prompt.
    pub prompt: String,
    /// The reason for its end.
    pub stop: Option<String>,
    /// The cost.
    pub cost: Option<f64>,
    /// Tokens.
    pub tokens: u64,
}

/// Characters of a prompt in a list.
const PROMPT: usize = 200;

impl RunSummary {
    /// Reads a summary from a journal.
    pub fn of(journal: &Journal) -> Self {
        let mut telling = Self::default();
        if let Some(line) = journal.lines.first() {
            telling.prompt = Self::prompt_of(&line.event.kind).unwrap_or_default();
        }
        let outcome =
            journal.lines.last().and_then(|line| line.commands.iter().find_map(|command| finish(command.text())));
        if let Some(outcome) = outcome {
            telling.stop = Some(outcome.stop.name().to_owned());
            telling.cost = outcome.spent.whole_cost();
            telling.tokens = outcome.spent.usage.total();
        }
        telling
    }

    /// The beginning of the prompt that a run starts with.
    pub fn prompt_of(event: &EventKind) -> Option<String> {
        let EventKind::Start { messages } = event else { return None };
        prompt_among(messages.iter())
    }

    /// The beginning of the last prompt of a conversation.
    pub fn prompt_in(history: &History) -> Option<String> {
        prompt_among(history.iter())
    }
}

fn prompt_among<'a>(messages: impl DoubleEndedIterator<Item = &'a Message>) -> Option<String> {
    let prompt = messages.rev().find_map(|message| {
        message.content.iter().filter(|_| message.role == Role::User).find_map(|block| match block {
            Block::Text(text) => Some(text.text.trim()),
            _ => None,
        })
    })?;
    Some(prompt.chars().take(PROMPT).collect())
}

fn finish(command: &str) -> Option<Outcome> {
    #[derive(serde::Deserialize)]
    struct Finish {
        finish: Ended,
    }
    #[derive(serde::Deserialize)]
    struct Ended {
        outcome: Outcome,
    }
    command
        .starts_with("{\"finish\"")
        .then(|| serde_json::from_str::<Finish>(command).ok())?
        .map(|found| found.finish.outcome)
}

/// The stored lines of a run.
#[derive(Clone, Debug)]
pub struct StoredRun {
    /// The lines that were read: all of them, or those behind the snapshot.
    pub journal: Journal,
    /// The snapshot before these lines, and the pieces of its history.
    pub state: Option<(String, Vec<String>)>,
    /// The number of the last event.
    pub(super) seq: u64,
    /// The damage that kept the rest from being read.
    pub damage: Option<String>,
}

impl StoredRun {
    /// Returns whether the lines are not as they were written.
    pub fn is_damaged(&self) -> bool {
        self.journal.damage.is_some()
    }

    /// Restores the machine, and the commands that wait for an answer.
    pub fn restore(self) -> Result<ResumedRun> {
        match self.state {
            Some((state, pieces)) => journal::resume_saved(self.journal, &state, pieces),
            None => journal::resume(self.journal),
        }
    }
}

/// The error of a run that is not there, or of damage in what would lead to it.
pub(super) fn unknown(connection: &Connection, name: &str, store: &Path) -> Error {
    if let Some(error) = damage_of(connection, &store.display().to_string()) {
        return error;
    }
    Error::usage("journal_not_found", format!("there is no run {name:?} in {}", store.display()))
        .hint("`loopwright runs` lists them")
}

/// Reads the lines that are needed to resume a run.
pub(super) fn read_run(connection: &Connection, store: &Path, name: &str, saved: bool) -> Result<Option<StoredRun>> {
    let run = number(name);
    let wrong = |error: rusqlite::Error| store_error(&error, &store.display().to_string());
    let Some(head) = line(connection, run, 0).map_err(wrong)? else { return Ok(None) };
    let head = String::from_utf8_lossy(&head).into_owned();
    if saved
        && let Ok(Some(saved)) = saved_of(connection, run)
        && let Ok(pieces) = pieces_of(connection, run)
        && let (text, last, None) = lines(connection, run, saved.seq + 1, END)
        && let Ok(journal) = Journal::behind(&head, saved.seq, saved.sum, &text)
        && journal.damage.is_none()
    {
        let seq = last.unwrap_or(saved.seq);
        return Ok(Some(StoredRun { journal, state: Some((saved.state, pieces)), seq, damage: None }));
    }
    let (text, last, error) = lines(connection, run, 0, END);
    let damage = error.map(|error| error.to_string());
    let journal = Journal::read(&text)?;
    Ok(Some(StoredRun { journal, state: None, seq: last.unwrap_or(0), damage }))
}

/// The newest snapshot that is as it was written, and stands where the journal says.
fn saved_of(connection: &Connection, run: i64) -> rusqlite::Result<Option<Snapshot>> {
    let found = connection
        .query_row("SELECT seq, sum, hash, state FROM journal_saved WHERE run = ?1", [run], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?, row.get::<_, Vec<u8>>(3)?))
        })
        .optional()?;
    let Some((seq, sum, hash, state)) = found else { return Ok(None) };
    let (seq, sum) = (seq.cast_unsigned(), sum.cast_unsigned());
    if xxh3_64(&state) != hash.cast_unsigned() {
        return Ok(None);
    }
    let Some(line) = line(connection, run, seq)? else { return Ok(None) };
    let ends = format!("\"sum\":\"{sum:016x}\"}}");
    if !line.ends_with(ends.as_bytes()) {
        return Ok(None);
    }
    Ok(String::from_utf8(state).ok().map(|state| Snapshot { seq, sum, state, piece: HistoryPiece::default() }))
}

/// The pieces of a run's history. The digest in the snapshot tells whether they are as they were written.
fn pieces_of(connection: &Connection, run: i64) -> rusqlite::Result<Vec<String>> {
    let mut select = connection.prepare_cached("SELECT piece FROM journal_pieces WHERE run = ?1 ORDER BY first")?;
    let pieces = select.query_map([run], |row| row.get::<_, Vec<u8>>(0))?;
    pieces.map(|piece| Ok(String::from_utf8(piece?).unwrap_or_default())).collect()
}

fn line(connection: &Connection, run: i64, seq: u64) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut select = connection.prepare_cached("SELECT line FROM journal_lines WHERE run = ?1 AND seq = ?2")?;
    select.query_row((run, seq.cast_signed()), |row| row.get(0)).optional()
}

/// The lines of a run from a number on, the number of the last, and the error that kept the rest from being read.
fn lines(connection: &Connection, run: i64, from: u64, to: u64) -> (String, Option<u64>, Option<rusqlite::Error>) {
    let by_index = "SELECT seq, line FROM journal_lines WHERE run = ?1 AND seq BETWEEN ?2 AND ?3 ORDER BY seq";
    let found = lines_by(connection, by_index, run, (from, to));
    if found.2.is_none() {
        return found;
    }
    // Pages that the index is on may be gone while those of the lines are there.
    let one_by_one = "SELECT seq, line FROM journal_lines NOT INDEXED WHERE run = ?1 AND seq BETWEEN ?2 AND ?3";
    let other = lines_by(connection, one_by_one, run, (from, to));
    if other.1 > found.1 { (other.0, other.1, found.2) } else { found }
}

fn lines_by(
    connection: &Connection,
    query: &str,
    run: i64,
    (from, to): (u64, u64),
) -> (String, Option<u64>, Option<rusqlite::Error>) {
    let (mut text, mut last) = (Vec::new(), None);
    let mut read = || -> rusqlite::Result<()> {
        let mut select = connection.prepare_cached(query)?;
        let mut rows = select.query((run, from.cast_signed(), to.cast_signed()))?;
        while let Some(row) = rows.next()? {
            let seq = row.get::<_, i64>(0)?.cast_unsigned();
            if seq != last.map_or(from, |last: u64| last + 1) {
                // Lines are written in order, and none is ever taken out alone.
                return Err(rusqlite::Error::IntegralValueOutOfRange(0, seq.cast_signed()));
            }
            text.extend_from_slice(row.get_ref(1)?.as_bytes().unwrap_or_default());
            text.push(b'\n');
            last = Some(seq);
        }
        Ok(())
    };
    let error = read().err();
    let text = String::from_utf8(text).unwrap_or_else(|wrong| String::from_utf8_lossy(wrong.as_bytes()).into_owned());
    (text, last, error)
}

/// A connection that only reads, and the damage of the file.
fn reading(path: &Path) -> Result<(Connection, Option<Error>)> {
    let options = Options { read_only: true, ..Options::new(path) };
    match open(&options, &[TABLES]) {
        Ok(connection) => Ok((connection, None)),
        // A folder that can't be written to has no room for the files beside.
        Err(error) if error.code == "store_unavailable" || error.code == "read_only_store" => {
            let connection = open_immutable(path).map_err(|_| error.clone())?;
            let known = connection.query_row("SELECT count(*) FROM journal_runs", [], |row| row.get::<_, i64>(0));
            known.map_err(|_| error)?;
            Ok((connection, None))
        }
        Err(error) if error.code == "damaged_store" => {
            let connection = open_immutable(path).map_err(|_| error.clone())?;
            Ok((connection, Some(error)))
        }
        Err(error) => Err(error),
    }
}

/// Opens a file that nobody is to touch, whatever its head says of its length.
fn open_immutable(path: &Path) -> rusqlite::Result<Connection> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut name = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(byte) {
            name.push(char::from(*byte));
        } else {
            let _ = write!(name, "%{byte:02X}");
        }
    }
    name.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(name, flags)?;
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.pragma_update(None, "writable_schema", true)?;
    Ok(connection)
}

/// The last event there can be.
pub const END: u64 = i64::MAX.cast_unsigned();

/// The lines of a run up to that of event `last`, and the error that kept the rest from being read.
pub fn read(path: &Path, name: &str, last: u64) -> Result<(String, Option<String>)> {
    let (connection, damage) = reading(path)?;
    let (text, last, error) = lines(&connection, number(name), 0, last);
    match (last, error, damage) {
        (Some(_), error, damage) => {
            Ok((text, error.map(|error| error.to_string()).or(damage.map(|damage| damage.message.clone()))))
        }
        (None, _, Some(damage)) => Err(damage),
        (None, Some(error), None) => Err(store_error(&error, &path.display().to_string())),
        (None, None, None) => Err(unknown(&connection, name, path)),
    }
}

/// The name of the run that `start` is, or is the beginning of; without one, of the only run there is.
pub fn find(path: &Path, start: Option<&str>) -> Result<String> {
    let (connection, damage) = reading(path)?;
    let names = || -> rusqlite::Result<Vec<String>> {
        let start = start.unwrap_or_default();
        let mut select = connection
            .prepare("SELECT name FROM journal_runs WHERE substr(name, 1, length(?1)) = ?1 ORDER BY begun DESC")?;
        select.query_map([start], |row| row.get(0))?.collect()
    };
    let names = match (names(), damage) {
        (Ok(names), _) => names,
        // The lines may be there where the list is not.
        (Err(_), Some(damage)) => return start.map(str::to_owned).ok_or(damage),
        (Err(error), None) => return Err(store_error(&error, &path.display().to_string())),
    };
    if let Some(start) = start
        && names.iter().any(|name| name == start)
    {
        return Ok(start.to_owned());
    }
    match names.as_slice() {
        [name] => Ok(name.clone()),
        [] => Err(start.map_or_else(
            || {
                Error::usage("journal_not_found", format!("{} holds no run", path.display()))
                    .hint("give the place that runs were written to, as journal=")
            },
            |start| unknown(&connection, start, path),
        )),
        several => {
            let some = several.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
            Err(Error::usage("ambiguous_run", format!("the run may be {some}")).hint("write more of its name"))
        }
    }
}

/// All runs, the newest first.
pub fn runs(path: &Path) -> Result<Vec<ListedRun>> {
    let (connection, damage) = reading(path)?;
    let found = || -> rusqlite::Result<Vec<ListedRun>> {
        let mut select = connection.prepare(
            "SELECT name, begun, ended, model, prompt, holder, stop, cost, tokens,
                (SELECT max(seq) FROM journal_lines WHERE journal_lines.run = journal_runs.run)
            FROM journal_runs ORDER BY begun DESC, name",
        )?;
        let rows = select.query_map([], |row| {
            let (holder, stop): (Option<String>, Option<String>) = (row.get(5)?, row.get(6)?);
            let state = match (&stop, holder) {
                (Some(_), _) => "finished",
                (None, Some(holder)) if lease::is_alive(path, &holder) => "running",
                _ => "broken off",
            };
            Ok(ListedRun {
                run: row.get(0)?,
                begun: row.get(1)?,
                ended: row.get(2)?,
                model: row.get(3)?,
                prompt: row.get(4)?,
                state,
                stop,
                cost: row.get(7)?,
                tokens: row.get(8)?,
                events: row.get::<_, Option<i64>>(9)?.unwrap_or(0),
            })
        })?;
        rows.collect()
    };
    // Whose process is gone is told by its lock: whether its file is there makes no difference.
    lease::sweep(&std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()));
    found().map_err(|error| damage.unwrap_or_else(|| store_error(&error, &path.display().to_string())))
}

/// A run of a store, as its first line names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabelledRun {
    /// The run's name.
    pub run: String,
    /// Data of the program that started the run, as JSON; `None` where it gave none.
    pub about: Option<String>,
    /// `running`; `idle`; `emptied`, where deleting it was not finished; `unreadable`, where the first line is.
    pub state: &'static str,
}

/// The names and labels of all runs, the newest first. Error `damaged_store`: some of them may not be seen.
pub fn labels(path: &Path) -> Result<Vec<LabelledRun>> {
    let (connection, damage) = reading(path)?;
    if let Some(damage) = damage {
        return Err(damage);
    }
    let found = || -> rusqlite::Result<Vec<LabelledRun>> {
        let mut select = connection.prepare(
            "SELECT name, holder, model = '' AND prompt = '', line FROM journal_runs
            LEFT JOIN journal_lines ON journal_lines.run = journal_runs.run AND seq = 0 ORDER BY begun DESC, name",
        )?;
        let rows = select.query_map([], |row| {
            let (run, holder, blank): (String, Option<String>, bool) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let line: Option<Vec<u8>> = row.get(3)?;
            let label = line.as_deref().and_then(|line| RunLabel::of(&String::from_utf8_lossy(line)));
            let state = if holder.is_some_and(|holder| lease::is_alive(path, &holder)) {
                "running"
            } else if line.is_none() && blank {
                "emptied"
            } else if label.is_none() {
                "unreadable"
            } else {
                "idle"
            };
            let about = label.and_then(|label| label.about).map(|about| about.text().to_owned());
            Ok(LabelledRun { run, about, state })
        })?;
        rows.collect()
    };
    // Whose process is gone is told by its lock: whether its file is there makes no difference.
    lease::sweep(&std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()));
    found().map_err(|error| store_error(&error, &path.display().to_string()))
}
