//! Erasing: removes the words of memories from every table, from files of preferences and from the store's bytes.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use rusqlite::{Connection, OptionalExtension, Transaction};

use super::{
    Memory,
    after::{ErasedLine, NOTE, remove_lines, tag_of},
    write::checksum,
};
use crate::{compact::compact, open::Place};
use loopwright_base::error::Result;

/// The traces of erased memories elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    /// The texts.
    texts: BTreeSet<String>,
    /// The names of people and things in the texts.
    names: BTreeSet<String>,
    /// The runs that the memories came from.
    pub(crate) runs: BTreeSet<String>,
    /// The sessions in which nothing is left.
    pub(crate) sessions: BTreeSet<String>,
    /// Lines of files of preferences, by the path of the file.
    lines: BTreeMap<String, Vec<ErasedLine>>,
}

impl Traces {
    /// Returns whether JSON text holds one of the texts.
    pub(crate) fn are_told_in(&self, json: &str) -> bool {
        self.texts.iter().any(|text| holds(json, text))
    }

    /// Returns whether JSON text names a session in which nothing is left.
    pub(crate) fn is_session_in(&self, json: &str) -> bool {
        self.sessions.iter().any(|session| holds(json, session))
    }

    /// Returns whether JSON text holds one of the texts, or a name out of them.
    pub(crate) fn are_named_in(&self, json: &str) -> bool {
        self.are_told_in(json) || self.names.iter().any(|name| holds(json, name))
    }
}

/// Returns whether JSON text holds words, plain or escaped, and not inside of longer ones.
fn holds(json: &str, words: &str) -> bool {
    let escaped = serde_json::to_string(words).unwrap_or_default();
    let escaped = escaped.trim_start_matches('"').strip_suffix('"').unwrap_or_default();
    [words, escaped].into_iter().filter(|words| !words.is_empty()).any(|words| {
        json.match_indices(words).any(|(at, found)| {
            let before = json.get(..at).and_then(|text| text.chars().next_back());
            let after = json.get(at + found.len()..).and_then(|text| text.chars().next());
            ![before, after].into_iter().flatten().any(char::is_alphanumeric)
        })
    })
}

/// Removes the words of memories from the tables of memory; returns their traces elsewhere. A row keeps its existence,
/// its time and its trust.
pub(super) fn erase(transaction: &Transaction<'_>, ids: &[i64]) -> rusqlite::Result<Traces> {
    let mut traces = Traces::default();
    let mut sessions = BTreeSet::new();
    for &id in ids {
        read_traces(transaction, id, &mut traces, &mut sessions)?;
        transaction
            .prepare_cached(
                "UPDATE memories SET text = '', session = '', speaker = NULL, category = NULL, tags = '[]', \
                 entities = '[]', user = NULL, fingerprint = 0, checksum = ?2 WHERE id = ?1",
            )?
            .execute((id, checksum("")))?;
        for table in ["sources", "vectors", "relations", "episodes", "reflections", "supports", "files", "slots"] {
            transaction.prepare_cached(&format!("DELETE FROM memory_{table} WHERE memory = ?1"))?.execute([id])?;
        }
    }
    // What is noted of lines of files is noted anew when these are read.
    transaction.prepare_cached("DELETE FROM memory_notes WHERE name LIKE ?1")?.execute([format!("{NOTE}%")])?;
    for session in sessions {
        let used = transaction.prepare_cached("SELECT 1 FROM memories WHERE session = ?1")?.exists([&session])?;
        if !used && !session.is_empty() {
            traces.sessions.insert(session);
        }
    }
    Ok(traces)
}

fn read_traces(
    transaction: &Transaction<'_>,
    id: i64,
    traces: &mut Traces,
    sessions: &mut BTreeSet<String>,
) -> rusqlite::Result<()> {
    let row: Option<(String, String, String, Option<String>)> = transaction
        .prepare_cached("SELECT text, entities, session, user FROM memories WHERE id = ?1")?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?;
    let Some((text, entities, session, user)) = row else { return Ok(()) };
    traces.names.extend(serde_json::from_str::<Vec<String>>(&entities).unwrap_or_default());
    traces.texts.insert(text.trim().to_owned());
    sessions.insert(session);
    let strings = |query: &str| -> rusqlite::Result<Vec<String>> {
        transaction.prepare_cached(query)?.query_map([id], |row| row.get(0))?.collect()
    };
    for source in strings("SELECT source FROM memory_sources WHERE memory = ?1")? {
        traces.runs.extend(source.strip_prefix("run ").map(str::to_owned));
    }
    traces.runs.extend(strings("SELECT run FROM memory_episodes WHERE memory = ?1")?);
    traces.runs.extend(strings("SELECT event FROM memory_supports WHERE memory = ?1")?);
    let mut lines = transaction.prepare_cached("SELECT path, line FROM memory_files WHERE memory = ?1")?;
    let mut rows = lines.query([id])?;
    while let Some(row) = rows.next()? {
        let line = ErasedLine { id, text: row.get(1)?, tag: tag_of(transaction, user.as_deref())? };
        traces.lines.entry(row.get(0)?).or_default().push(line);
    }
    Ok(())
}

impl Traces {
    /// Removes the lines of erased memories from files of preferences; returns the files in which the words still stand
    /// in lines of people's own.
    pub(super) fn leave_files(&self) -> Result<Vec<String>> {
        let mut left = Vec::new();
        for (path, lines) in &self.lines {
            if remove_lines(Path::new(path), lines)? {
                left.push(path.clone());
            }
        }
        Ok(left)
    }
}

impl Memory {
    /// Removes erased bytes from the store's file and its log.
    pub(super) fn finish_erasing(&self, connection: &Connection) -> Result<()> {
        if self.place == Place::Nowhere { Ok(()) } else { compact(connection, &self.name) }
    }
}
