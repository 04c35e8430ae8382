//! Remembering and forgetting.

use std::{borrow::Cow, collections::BTreeSet};

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use xxhash_rust::xxh3::xxh3_64;

use serde_json::json;

use super::inject::is_blank;
use super::work::event;
use super::{MAX_TEXT, MAX_WORDS, Memory, check_word, kinds::Kind, kinds::Note, kinds::Trust, names, now};
use crate::core::{
    error::{Error, Result},
    guard::sensitivity::without_secrets,
    retrieve::words,
};
use crate::store::audit::{self, Whose};

/// Every text that is stored, every word beside it and every name in the graph passes here once: what must not be kept
/// is taken out here. What opens something never enters; what belongs to persons does, under a label.
pub(in crate::store) fn admit(text: &str) -> Cow<'_, str> {
    without_secrets(text).0
}

impl Memory {
    /// Remembers one thing; gives its number.
    ///
    /// An episode is always new. A fact, procedure or reflection that is known already is not stored twice: it gets
    /// one more source, counts as seen once more, and is trusted as little as the least of its sources.
    pub fn remember(&self, note: &Note) -> Result<i64> {
        let ids = self.remember_many(std::slice::from_ref(note))?;
        ids.first().copied().ok_or_else(|| Error::internal("store_failed", "nothing was stored"))
    }

    /// Remembers many things at once: all of them, or none.
    pub fn remember_many(&self, notes: &[Note]) -> Result<Vec<i64>> {
        self.remember_with(notes, None)
    }

    /// Remembers many things with what an embedder made of them.
    pub fn remember_with(&self, notes: &[Note], vectors: Option<(&str, &[Vec<f32>])>) -> Result<Vec<i64>> {
        for (at, note) in notes.iter().enumerate() {
            check(note).map_err(|error| place(error, at, notes.len()))?;
        }
        if let Some((_, vectors)) = vectors
            && vectors.len() != notes.len()
        {
            let message = format!("{} vectors for {} notes", vectors.len(), notes.len());
            return Err(Error::usage("invalid_vectors", message).hint("give one vector for each note"));
        }
        let trouble = self.trouble();
        let mut connection = self.writing()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&trouble)?;
        let revision = next_revision(&transaction).map_err(&trouble)?;
        let time = now();
        let mut ids = Vec::with_capacity(notes.len());
        for (at, note) in notes.iter().enumerate() {
            let trust = derived_trust(&transaction, note)
                .map_err(&trouble)?
                .map_err(|parent| place(unknown_parent(parent), at, notes.len()))?;
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

    /// Forgets a memory: nothing recalls it from now on, nor what was derived from it alone, nor its duplicates.
    /// With `erase` their text is overwritten too. Gives the numbers of all that was forgotten.
    pub fn forget(&self, id: i64, erase: bool) -> Result<Vec<i64>> {
        let trouble = self.trouble();
        let mut connection = self.writing()?;
        if erase {
            connection.pragma_update(None, "secure_delete", true).map_err(&trouble)?;
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&trouble)?;
        if !exists(&transaction, id).map_err(&trouble)? {
            return Err(unknown(id));
        }
        let revision = next_revision(&transaction).map_err(&trouble)?;
        let forgotten = forget_all(&transaction, id, revision, erase).map_err(&trouble)?;
        let told = event("memory_forgotten", &json!({"ids": forgotten, "erased": erase}));
        audit::write(&transaction, &Whose { session: &self.session, ..Whose::default() }, &told).map_err(&trouble)?;
        transaction.commit().map_err(&trouble)?;
        Ok(forgotten)
    }
}

/// There is no such memory.
pub(super) fn unknown(id: i64) -> Error {
    Error::usage("unknown_memory", format!("there is no memory {id}"))
        .hint("give the id of a hit, or what `remember` gave")
}

fn unknown_parent(id: i64) -> Error {
    Error::usage("unknown_memory", format!("there is no memory {id} to derive from, or it was forgotten"))
        .hint("derive from memories that live")
}

fn place(mut error: Error, at: usize, of: usize) -> Error {
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

/// The number of the change that is being made.
pub(super) fn next_revision(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("SELECT coalesce(max(revision), 0) + 1 FROM memories")?.query_row([], |row| row.get(0))
}

fn exists(connection: &Connection, id: i64) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT count(*) > 0 FROM memories WHERE id = ?1")?.query_row([id], |row| row.get(0))
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

/// A number that texts of the same words share, whatever their case and punctuation.
pub(super) fn fingerprint(text: &str) -> i64 {
    let mut same = String::with_capacity(text.len());
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        same.extend(word.chars().flat_map(char::to_lowercase));
        same.push(' ');
    }
    // Signs alone are told apart by themselves.
    let bytes = if same.is_empty() { text.trim().as_bytes() } else { same.as_bytes() };
    xxh3_64(bytes).cast_signed()
}

/// What says that a text is as it was stored.
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
    let fingerprint = fingerprint(text);
    let known: Option<i64> = if note.kind == Kind::Episodic {
        None
    } else {
        transaction
            .prepare_cached(
                "SELECT id FROM memories WHERE fingerprint = ?1 AND kind = ?2 AND state = 0 \
                 AND category IS ?3 AND (expires_at IS NULL OR expires_at > ?4) AND user IS ?5 LIMIT 1",
            )?
            .query_row((fingerprint, note.kind as i64, &note.category, time, &note.user), |row| row.get(0))
            .optional()?
    };
    let id = if let Some(id) = known {
        transaction
            .prepare_cached(
                "UPDATE memories SET revision = ?2, seen = seen + 1, trust = min(trust, ?3), changed_at = ?4, \
                 importance = max(importance, ?5) WHERE id = ?1",
            )?
            .execute((id, revision, trust as i64, time, note.importance.unwrap_or(0.0)))?;
        id
    } else {
        let speaker = note.speaker.as_deref().or_else(|| names::speaker(text));
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
                speaker.map(admit).as_deref(),
                note.category.as_deref().map(admit).as_deref(),
                json(&note.tags),
                json(&entities),
                trust as i64,
                note.importance.unwrap_or(0.5),
                note.at,
                time,
                note.expires,
                fingerprint,
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
    for parent in &note.derived_from {
        if *parent != id {
            transaction
                .prepare_cached("INSERT OR IGNORE INTO memory_derivations VALUES (?1, ?2)")?
                .execute((id, parent))?;
        }
    }
    Ok(id)
}

/// Forgets `id`, its duplicates, and all that is left without anything it was made from.
pub(super) fn forget_all(
    transaction: &Transaction<'_>,
    id: i64,
    revision: i64,
    erase: bool,
) -> rusqlite::Result<Vec<i64>> {
    let mut forgotten: BTreeSet<i64> = BTreeSet::new();
    let mut next = vec![id];
    while let Some(id) = next.pop() {
        if !forgotten.insert(id) {
            continue;
        }
        next.extend(repeats(transaction, id)?);
        unlabel(transaction, id, revision)?;
        transaction
            .prepare_cached("UPDATE memories SET state = 1, revision = ?2, changed_at = ?3 WHERE id = ?1")?
            .execute((id, revision, now()))?;
        if erase {
            transaction
                .prepare_cached(
                    "UPDATE memories SET text = '', speaker = NULL, category = NULL, tags = '[]', entities = '[]', \
                     fingerprint = 0, checksum = ?2 WHERE id = ?1",
                )?
                .execute((id, checksum("")))?;
            transaction.prepare_cached("DELETE FROM memory_sources WHERE memory = ?1")?.execute([id])?;
        }
        transaction.prepare_cached("DELETE FROM memory_vectors WHERE memory = ?1")?.execute([id])?;
        transaction
            .prepare_cached("UPDATE memory_relations SET forgotten_at = ?2 WHERE memory = ?1 AND forgotten_at IS NULL")?
            .execute((id, now()))?;
        // The same words under other numbers, then what was made from these alone.
        let same = "SELECT id FROM memories WHERE merged_into = ?1 AND state <> 1 \
                    UNION SELECT merged_into FROM memories WHERE id = ?1 AND merged_into IS NOT NULL";
        let orphans = "SELECT child FROM memory_derivations AS mine WHERE parent = ?1 AND NOT EXISTS (\
                       SELECT 1 FROM memory_derivations AS other JOIN memories ON memories.id = other.parent \
                       WHERE other.child = mine.child AND memories.state <> 1)";
        for query in [same, orphans] {
            let mut statement = transaction.prepare_cached(query)?;
            let found = statement.query_map([id], |row| row.get::<_, i64>(0))?;
            for id in found {
                next.push(id?);
            }
        }
    }
    Ok(forgotten.into_iter().collect())
}

/// What rests on a memory and says it again: it goes with it, whatever else it rests on.
fn repeats(transaction: &Transaction<'_>, id: i64) -> rusqlite::Result<Vec<i64>> {
    let text: String = transaction
        .prepare_cached("SELECT text FROM memories WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?
        .unwrap_or_default();
    let own = terms(&text);
    if own.is_empty() {
        return Ok(Vec::new());
    }
    let mut statement = transaction.prepare_cached(
        "SELECT id, text FROM memory_derivations JOIN memories ON id = child WHERE parent = ?1 AND state <> 1",
    )?;
    let mut rows = statement.query([id])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let held = terms(row.get_ref(1)?.as_str()?);
        let both = own.intersection(&held).count() as f64;
        if both >= own.len() as f64 * REPEATS {
            found.push(row.get(0)?);
        }
    }
    Ok(found)
}

/// What rests on a memory and stays shall not go on telling of it: labels that it holds itself in no word, and that
/// memory does, are taken off it.
fn unlabel(transaction: &Transaction<'_>, id: i64, revision: i64) -> rusqlite::Result<()> {
    let text: String = transaction
        .prepare_cached("SELECT text FROM memories WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?
        .unwrap_or_default();
    let gone = terms(&text);
    let mut children = transaction.prepare_cached(
        "SELECT id, text, tags, entities, topics FROM memory_derivations JOIN memories ON id = child \
         LEFT JOIN memory_episodes ON memory = id WHERE parent = ?1 AND state <> 1",
    )?;
    let mut rows = children.query([id])?;
    while let Some(row) = rows.next()? {
        let child: i64 = row.get(0)?;
        let own = terms(row.get_ref(1)?.as_str()?);
        let without = |labels: Option<String>| {
            let labels: Vec<String> = serde_json::from_str(&labels?).ok()?;
            let told = |label: &String| {
                let words = terms(label);
                words.iter().any(|word| gone.contains(word) && !own.contains(word))
            };
            let kept: Vec<&String> = labels.iter().filter(|label| !told(label)).collect();
            (kept.len() < labels.len()).then(|| serde_json::json!(kept).to_string())
        };
        let (tags, entities, topics) = (without(row.get(2)?), without(row.get(3)?), without(row.get(4)?));
        if tags.is_some() || entities.is_some() {
            transaction
                .prepare_cached(
                    "UPDATE memories SET tags = coalesce(?2, tags), entities = coalesce(?3, entities), revision = ?4 \
                     WHERE id = ?1",
                )?
                .execute((child, tags, entities, revision))?;
        }
        if topics.is_some() {
            transaction
                .prepare_cached("UPDATE memory_episodes SET topics = ?2 WHERE memory = ?1")?
                .execute((child, topics))?;
        }
    }
    Ok(())
}

/// What holds this share of a memory's terms says it again.
const REPEATS: f64 = 0.6;

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
