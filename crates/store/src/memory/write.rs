//! Remembering.

use std::{borrow::Cow, collections::BTreeSet};

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use xxhash_rust::xxh3::xxh3_64;

use serde_json::json;

use super::inject::is_blank;
use super::{
    MAX_TEXT, MAX_WORDS, Memory, check_word,
    identity::{fingerprint, known_fact, speaker},
    kinds::{Note, Trust},
    names, now,
    supersede::supersede,
};
use loopwright_base::error::{Error, Result};
use loopwright_guard::sensitivity::without_secrets;
use loopwright_lexicon::words;

/// No time is later, in seconds since 1970; what is, was told in milliseconds.
const LATEST: f64 = 1e12;

/// Filters every stored text, every word beside it and every name in the graph: secrets never enter; personal data
/// does, under a label.
pub(crate) fn admit(text: &str) -> Cow<'_, str> {
    without_secrets(text).0
}

impl Memory {
    /// Stores a memory; returns its number.
    ///
    /// An episode is always new. A fact, procedure or reflection that is known already, letter by letter in its scope
    /// and trusted at least as far, is not stored twice: it gets one more source and counts as seen once more. It keeps
    /// its trust. What is known with less trust alone is stored beside that.
    pub fn remember(&self, note: &Note) -> Result<i64> {
        let ids = self.remember_many(std::slice::from_ref(note))?;
        ids.first().copied().ok_or_else(|| Error::internal("store_failed", "nothing was stored"))
    }

    /// Stores many memories at once: all of them, or none.
    pub fn remember_many(&self, notes: &[Note]) -> Result<Vec<i64>> {
        self.remember_with(notes, None)
    }

    /// Stores many memories with an embedder's vectors.
    pub fn remember_with(&self, notes: &[Note], vectors: Option<(&str, &[Vec<f32>])>) -> Result<Vec<i64>> {
        for (at, note) in notes.iter().enumerate() {
            check(note).map_err(|error| with_place(error, at, notes.len()))?;
        }
        if let Some((_, vectors)) = vectors
            && vectors.len() != notes.len()
        {
            let message = format!("{} vectors for {} notes", vectors.len(), notes.len());
            return Err(Error::usage("invalid_vectors", message).hint("give one vector for each note"));
        }
        let trouble = self.error_mapper();
        let mut connection = self.writing()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&trouble)?;
        let revision = next_revision(&transaction).map_err(&trouble)?;
        let time = now();
        let mut ids = Vec::with_capacity(notes.len());
        for (at, note) in notes.iter().enumerate() {
            let trust = derived_trust(&transaction, note)
                .map_err(&trouble)?
                .map_err(|parent| with_place(unknown_parent(parent), at, notes.len()))?;
            let session = note.session.as_deref().unwrap_or(&self.session);
            let id = store(&transaction, note, session, trust, revision, time).map_err(&trouble)?;
            if let Some((embedder, vectors)) = vectors
                && let Some(vector) = vectors.get(at)
            {
                let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
                transaction
                    .prepare_cached("INSERT OR REPLACE INTO memory_vectors VALUES (?1, ?2, ?3)")
                    .and_then(|mut insert| insert.execute((id, embedder, bytes)))
                    .map_err(&trouble)?;
            }
            ids.push(id);
        }
        transaction.commit().map_err(&trouble)?;
        Ok(ids)
    }
}

/// The error of a number that no memory has.
pub(super) fn unknown(id: i64) -> Error {
    Error::usage("unknown_memory", format!("there is no memory {id}"))
        .hint("give the id of a hit, or what `remember` gave")
}

fn unknown_parent(id: i64) -> Error {
    Error::usage("unknown_memory", format!("there is no memory {id} to derive from, or it was forgotten"))
        .hint("derive from memories that live")
}

fn with_place(mut error: Error, at: usize, of: usize) -> Error {
    if of > 1 {
        error.message = format!("note {at}: {}", error.message);
    }
    error
}

fn check(note: &Note) -> Result<()> {
    if is_blank(&note.text) {
        return Err(Error::usage("empty_text", "there is no text to remember").hint("give some text"));
    }
    if note.text.len() > MAX_TEXT {
        let message = format!("the text is {} bytes long, {MAX_TEXT} are allowed", note.text.len());
        return Err(Error::usage("too_long", message).hint("remember it in parts, or where it can be found"));
    }
    let one = [
        ("session", &note.session),
        ("speaker", &note.speaker),
        ("category", &note.category),
        ("source", &note.source),
        ("user", &note.user),
    ];
    for (what, word) in one {
        if let Some(word) = word {
            check_word(what, word)?;
        }
    }
    for (what, list) in [("tag", &note.tags), ("entity", note.entities.as_ref().unwrap_or(&Vec::new()))] {
        if list.len() > MAX_WORDS {
            return Err(Error::usage(
                "too_many",
                format!("{} of the kind {what}, {MAX_WORDS} are allowed", list.len()),
            )
            .hint("keep those that matter"));
        }
        for word in list {
            check_word(what, word)?;
        }
    }
    if note.derived_from.len() > MAX_WORDS {
        let message = format!("derived from {} memories, {MAX_WORDS} are allowed", note.derived_from.len());
        return Err(Error::usage("too_many", message).hint("name the memories that it rests on most"));
    }
    check_times(note)?;
    let times = [("at", note.at), ("expires", note.expires), ("importance", note.importance)];
    for (what, number) in times {
        if number.is_some_and(|number| !number.is_finite()) {
            let error = Error::usage("invalid_value", format!("{what} is no number"));
            return Err(error.hint("give a finite number, or leave it out"));
        }
    }
    if note.importance.is_some_and(|importance| !(0.0..=1.0).contains(&importance)) {
        let error = Error::usage("invalid_value", "importance is a number from 0 to 1");
        return Err(error.hint("0 is of no importance, 1 is what must not be missed"));
    }
    Ok(())
}

/// Checks that times are told in seconds.
fn check_times(note: &Note) -> Result<()> {
    for (what, time) in [("at", note.at), ("expires", note.expires)] {
        if time.is_some_and(|time| time.abs() > LATEST) {
            let message = format!("{what} lies after the year 30000, in seconds since 1970");
            return Err(Error::usage("invalid_value", message).hint("divide milliseconds by 1000"));
        }
    }
    Ok(())
}

/// The number of the change that is being made.
pub(super) fn next_revision(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("SELECT coalesce(max(revision), 0) + 1 FROM memories")?.query_row([], |row| row.get(0))
}

/// The trust of a note: its own, or that of the least trusted memory it was made from; or the parent that is none.
pub(super) fn derived_trust(connection: &Connection, note: &Note) -> rusqlite::Result<Result<Trust, i64>> {
    let mut trust = note.trust;
    for &parent in &note.derived_from {
        let found: Option<usize> = connection
            .prepare_cached("SELECT trust FROM memories WHERE id = ?1 AND state = 0")?
            .query_row([parent], |row| row.get(0))
            .optional()?;
        let Some(found) = found else { return Ok(Err(parent)) };
        trust = trust.min(Trust::ALL.get(found).copied().unwrap_or(Trust::Untrusted));
    }
    Ok(Ok(trust))
}

/// The time at which the last of some memories ends, if all of them do: a memory made of them lasts no longer, unless
/// it says so.
fn end_of(connection: &Connection, ids: &[i64]) -> rusqlite::Result<Option<f64>> {
    let mut end: Option<f64> = None;
    for id in ids {
        let mut statement = connection.prepare_cached("SELECT expires_at FROM memories WHERE id = ?1")?;
        let Some(one) = statement.query_row([id], |row| row.get::<_, Option<f64>>(0)).optional()?.flatten() else {
            return Ok(None);
        };
        end = Some(end.map_or(one, |end| end.max(one)));
    }
    Ok(end)
}

/// The checksum that tells whether a text is as it was stored.
pub(super) fn checksum(text: &str) -> i64 {
    xxh3_64(text.as_bytes()).cast_signed()
}

pub(super) fn store(
    transaction: &Transaction<'_>,
    note: &Note,
    session: &str,
    trust: Trust,
    revision: i64,
    time: f64,
) -> rusqlite::Result<i64> {
    let (text, level) = without_secrets(note.text.trim_end());
    let text = text.as_ref();
    let known = known_fact(transaction, (note, text), trust, time)?;
    let expires = if note.expires.is_some() { note.expires } else { end_of(transaction, &note.derived_from)? };
    let id = if let Some((id, held)) = known {
        transaction
            .prepare_cached("UPDATE memories SET revision = ?2, seen = seen + 1, changed_at = ?3 WHERE id = ?1")?
            .execute((id, revision, time))?;
        if held == trust {
            merge_note(transaction, id, note, expires)?;
        }
        id
    } else {
        let entities = note.entities.clone().unwrap_or_else(|| names::entities(text));
        let json = |list: &Vec<String>| {
            let list: Vec<Cow<'_, str>> = list.iter().map(|word| admit(word)).collect();
            serde_json::to_string(&list).unwrap_or_else(|_| "[]".to_owned())
        };
        transaction
            .prepare_cached(
                "INSERT INTO memories (revision, session, kind, text, speaker, category, tags, entities, trust, \
                 importance, said_at, stored_at, expires_at, changed_at, fingerprint, checksum, user, sensitivity) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?12, ?14, ?15, ?16, ?17)",
            )?
            .execute(rusqlite::params![
                revision,
                admit(session).as_ref(),
                note.kind as i64,
                text,
                speaker(note, text).map(admit).as_deref(),
                note.category.as_deref().map(admit).as_deref(),
                json(&note.tags),
                json(&entities),
                trust as i64,
                note.importance.unwrap_or(0.5),
                note.at,
                time,
                expires,
                fingerprint(text),
                checksum(text),
                note.user,
                level as i64,
            ])?;
        transaction.last_insert_rowid()
    };
    if let Some(source) = &note.source {
        transaction.prepare_cached("INSERT OR IGNORE INTO memory_sources VALUES (?1, ?2, ?3, ?4)")?.execute((
            id,
            admit(source).as_ref(),
            note.trust as i64,
            time,
        ))?;
    }
    // A fact that somebody stated stands by itself: it does not begin to rest on what repeats it, nor does any on what
    // is trusted less.
    let rests = known.is_none_or(|(_, held)| held == trust)
        && (known.is_none()
            || transaction.prepare_cached("SELECT 1 FROM memory_derivations WHERE child = ?1")?.exists([id])?);
    for parent in note.derived_from.iter().filter(|parent| **parent != id && rests) {
        transaction
            .prepare_cached("INSERT OR IGNORE INTO memory_derivations VALUES (?1, ?2)")?
            .execute((id, parent))?;
    }
    if known.is_none() {
        for rest in supersede(transaction, id, revision, time)? {
            store(transaction, &rest, session, rest.trust, revision, time)?;
        }
    }
    Ok(id)
}

/// Adds the words beside the text of a note to a known fact of equal trust. The newest note decides when it ends.
fn merge_note(transaction: &Transaction<'_>, id: i64, note: &Note, expires: Option<f64>) -> rusqlite::Result<()> {
    let (tags, entities): (String, String) = transaction
        .prepare_cached("SELECT tags, entities FROM memories WHERE id = ?1")?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let joined = |known: &str, new: &[String]| {
        let mut all: Vec<String> = serde_json::from_str(known).unwrap_or_default();
        for word in new.iter().map(|word| admit(word)) {
            if all.len() < MAX_WORDS && !all.iter().any(|known| *known == word) {
                all.push(word.into_owned());
            }
        }
        json!(all).to_string()
    };
    transaction
        .prepare_cached(
            "UPDATE memories SET tags = ?2, entities = ?3, importance = max(importance, ?4), expires_at = ?5, \
             said_at = coalesce(?6, said_at) WHERE id = ?1",
        )?
        .execute((
            id,
            joined(&tags, &note.tags),
            joined(&entities, note.entities.as_deref().unwrap_or_default()),
            note.importance.unwrap_or(0.0),
            expires,
            note.at,
        ))
        .map(drop)
}

/// The different terms of a text, in order.
pub(super) fn terms(text: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    words::each_term(text, |term| {
        if all.len() < 512 {
            all.insert(term.to_owned());
        }
    });
    all
}
