//! Forgetting: the memories that go with a forgotten one, and the words of others.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use serde::Serialize;
use serde_json::json;
use unicode_normalization::UnicodeNormalization;

use super::{
    Memory,
    erase::{self, Traces},
    identity::duplicates,
    key_of, now,
    work::event,
    write::{next_revision, terms, unknown},
};
use crate::{
    audit::{self, EventScope},
    work,
};
use loopwright_base::error::{Error, Result};

/// The result of forgetting a memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Forgotten {
    /// The numbers of the memories.
    pub memories: Vec<i64>,
    /// The files of preferences in which erased words still stand, in lines of people's own.
    pub left_in: Vec<String>,
}

/// The result of forgetting a user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ForgottenUser {
    /// The numbers of the memories.
    pub memories: Vec<i64>,
    /// Relations that rested on none of these memories.
    pub relations: usize,
    /// Work after turns that waited, was under way or had failed.
    pub work: usize,
    /// Records of the audit that named the user or a run of that one.
    pub audit: usize,
    /// The files of preferences in which erased words still stand, in lines of people's own.
    pub left_in: Vec<String>,
    /// Users whose names differ from this one in nothing but case, white space and composition.
    pub similar: Vec<String>,
    /// The runs that are known as this user's. Their journals are kept by themselves.
    pub runs: BTreeSet<String>,
}

/// The share of a memory's terms above which another one repeats it.
const REPEATS: f64 = 0.6;

impl Memory {
    /// Forgets a memory: nothing recalls it from now on, nor what was derived from it alone, nor what says the same of
    /// the same user and is trusted no further. Gives the numbers of all that was forgotten.
    ///
    /// With `erase` their words, whoever stands for them, are taken out of every table, of the files of preferences and
    /// of the bytes of the store; what was derived from them goes too if it holds a word that only they had. Error
    /// `erase_unfinished`: what is still to be done, by the same call.
    pub fn forget(&self, id: i64, erase: bool) -> Result<Vec<i64>> {
        self.forget_with_report(id, erase).map(|forgot| forgot.memories)
    }

    /// Forgets a memory as [`forget`](Self::forget) does; also returns the files in which its words are left.
    pub fn forget_with_report(&self, id: i64, erase: bool) -> Result<Forgotten> {
        let trouble = self.error_mapper();
        let mut connection = self.writing()?;
        if erase {
            connection.pragma_update(None, "secure_delete", true).map_err(&trouble)?;
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&trouble)?;
        if !exists(&transaction, id).map_err(&trouble)? {
            return Err(unknown(id));
        }
        let revision = next_revision(&transaction).map_err(&trouble)?;
        let forgotten = forget_all(&transaction, vec![id], revision, erase).map_err(&trouble)?;
        let traces = erase.then(|| erase::erase(&transaction, &forgotten)).transpose().map_err(&trouble)?;
        if let Some(traces) = &traces {
            work::erase(&transaction, traces).map_err(&trouble)?;
            audit::erase_words(&transaction, traces).map_err(&trouble)?;
        }
        // The name of a session may be a word that was to be erased.
        let session = if erase { "" } else { &self.session };
        let outcome = event("memory_forgotten", &json!({"ids": forgotten, "erased": erase}));
        audit::write(&transaction, &EventScope { session, ..EventScope::default() }, &outcome).map_err(&trouble)?;
        // A file that can't be written is told before anything is gone.
        let left_in = traces.as_ref().map_or(Ok(Vec::new()), Traces::leave_files)?;
        transaction.commit().map_err(&trouble)?;
        if erase {
            self.finish_erasing(&connection)?;
        }
        Ok(Forgotten { memories: forgotten, left_in })
    }

    /// Forgets a user and erases all that was kept of that one: memories, relations, the work after turns, lines of
    /// files of preferences, and the names in the audit. Gives what went: nothing at all of a name that nobody has.
    ///
    /// Journals of runs are kept by themselves. Error `erase_unfinished`: what is still to be done, by the same call.
    pub fn forget_user(&self, user: &str) -> Result<ForgottenUser> {
        self.erase_user(user, true)
    }

    /// Returns what [`forget_user`](Self::forget_user) would forget, and changes nothing. Files in which words would be
    /// left are not among it.
    pub fn preview_user(&self, user: &str) -> Result<ForgottenUser> {
        self.erase_user(user, false)
    }

    fn erase_user(&self, user: &str, commit: bool) -> Result<ForgottenUser> {
        if user.trim().is_empty() {
            return Err(Error::usage("invalid_value", "a user has a name").hint("name the user to forget"));
        }
        let trouble = self.error_mapper();
        let mut connection = self.writing()?;
        connection.pragma_update(None, "secure_delete", true).map_err(&trouble)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&trouble)?;
        let forget = || -> rusqlite::Result<(ForgottenUser, Traces)> {
            let revision = next_revision(&transaction)?;
            let own: Vec<i64> = transaction
                .prepare_cached("SELECT id FROM memories WHERE user = ?1")?
                .query_map([user], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            let runs = runs_of(&transaction, user)?;
            let memories = forget_all(&transaction, own, revision, true)?;
            let mut traces = erase::erase(&transaction, &memories)?;
            traces.runs.extend(runs.iter().cloned());
            // Relations that are somebody else's, or rest on a memory of everybody's, stay.
            let relations = transaction
                .prepare_cached(
                    "DELETE FROM memory_relations WHERE user = ?1 \
                     OR (user IS NULL AND memory IS NULL AND (subject_key = ?2 OR object_key = ?2))",
                )?
                .execute((user, key_of(user)))?;
            let work = work::erase_user(&transaction, user)?;
            work::erase(&transaction, &traces)?;
            audit::erase_words(&transaction, &traces)?;
            let audited = audit::erase_user(&transaction, user, &traces)?;
            let told = event("memory_forgotten", &json!({"ids": memories, "erased": true}));
            audit::write(&transaction, &EventScope::default(), &told)?;
            let left_in = Vec::new();
            let similar = similar(&transaction, user)?;
            Ok((ForgottenUser { memories, relations, work, audit: audited, left_in, similar, runs }, traces))
        };
        let (mut forgotten, traces) = forget().map_err(&trouble)?;
        if !commit {
            return Ok(forgotten);
        }
        forgotten.left_in = traces.leave_files()?;
        transaction.commit().map_err(&trouble)?;
        self.finish_erasing(&connection)?;
        Ok(forgotten)
    }
}

/// The runs of a user: of turns that are remembered, whose work is known, that were begun, or that the audit tells of.
fn runs_of(connection: &Connection, user: &str) -> rusqlite::Result<BTreeSet<String>> {
    let mut remembered = connection.prepare_cached(
        "SELECT run FROM memory_episodes JOIN memories ON memories.id = memory_episodes.memory WHERE user = ?1",
    )?;
    let mut runs: BTreeSet<String> = remembered.query_map([user], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut sources = connection.prepare_cached(
        "SELECT DISTINCT source FROM memory_sources JOIN memories ON memories.id = memory_sources.memory \
         WHERE user = ?1 AND source LIKE 'run %'",
    )?;
    for source in sources.query_map([user], |row| row.get::<_, String>(0))? {
        runs.extend(source?.strip_prefix("run ").map(str::to_owned));
    }
    runs.extend(work::runs_of(connection, user)?);
    runs.extend(audit::runs_of(connection, user)?);
    Ok(runs)
}

/// A user's name without what people overlook: case, white space and composition.
pub fn user_key(name: &str) -> String {
    key_of(&name.nfkc().collect::<String>()).nfkc().collect()
}

/// The users whose names differ from one in nothing but case, white space and composition. They are other users: the
/// owner of a memory is decided letter by letter.
fn similar(connection: &Connection, user: &str) -> rusqlite::Result<Vec<String>> {
    let wanted = user_key(user);
    connection
        .prepare_cached(
            "SELECT user FROM memories UNION SELECT user FROM memory_relations UNION SELECT user FROM audit \
             UNION SELECT json_extract(payload, '$.user') FROM work WHERE json_valid(payload) \
             UNION SELECT json_extract(about, '$.user') FROM work_turns WHERE json_valid(about) ORDER BY 1",
        )?
        .query_map([], |row| row.get::<_, Option<String>>(0))?
        .filter_map(|name| name.map(|name| name.filter(|name| name != user && user_key(name) == wanted)).transpose())
        .collect()
}

fn exists(connection: &Connection, id: i64) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT count(*) > 0 FROM memories WHERE id = ?1")?.query_row([id], |row| row.get(0))
}

/// Forgets memories, what says the same and is trusted no further, and all that is left without anything it was made
/// from. With `erase`, the words are meant: what says the same goes however far it is trusted, and so does what holds a
/// word that only they had.
pub(super) fn forget_all(
    transaction: &Transaction<'_>,
    ids: Vec<i64>,
    revision: i64,
    erase: bool,
) -> rusqlite::Result<Vec<i64>> {
    let mut forgotten: BTreeSet<i64> = BTreeSet::new();
    let mut next = ids;
    while let Some(id) = next.pop() {
        if !forgotten.insert(id) {
            continue;
        }
        next.extend(repeats(transaction, id, erase)?);
        if erase {
            next.extend(derived_tellings(transaction, id, &forgotten)?);
        }
        next.extend(duplicates(transaction, id, erase)?);
        unlabel(transaction, id, revision)?;
        transaction
            .prepare_cached("UPDATE memories SET state = 1, revision = ?2, changed_at = ?3 WHERE id = ?1")?
            .execute((id, revision, now()))?;
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

fn text_of(transaction: &Transaction<'_>, id: i64) -> rusqlite::Result<String> {
    let mut statement = transaction.prepare_cached("SELECT text FROM memories WHERE id = ?1")?;
    Ok(statement.query_row([id], |row| row.get(0)).optional()?.unwrap_or_default())
}

/// The memories derived from one that hold words which stand in none of their other sources: the words came from there.
fn derived_tellings(transaction: &Transaction<'_>, id: i64, forgotten: &BTreeSet<i64>) -> rusqlite::Result<Vec<i64>> {
    let own = terms(&text_of(transaction, id)?);
    if own.is_empty() {
        return Ok(Vec::new());
    }
    let mut children = transaction
        .prepare_cached("SELECT id, text FROM memory_derivations JOIN memories ON id = child WHERE parent = ?1")?;
    let mut parents = transaction.prepare_cached(
        "SELECT id, text FROM memory_derivations JOIN memories ON id = parent WHERE child = ?1 AND state <> 1",
    )?;
    let mut rows = children.query([id])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let child: i64 = row.get(0)?;
        let mut unexplained: BTreeSet<String> = terms(row.get_ref(1)?.as_str()?);
        unexplained.retain(|term| own.contains(term));
        let mut others = parents.query([child])?;
        while let Some(other) = others.next()? {
            if unexplained.is_empty() {
                break;
            }
            let parent: i64 = other.get(0)?;
            if parent != id && !forgotten.contains(&parent) {
                let words = terms(other.get_ref(1)?.as_str()?);
                unexplained.retain(|term| !words.contains(term));
            }
        }
        if !unexplained.is_empty() {
            found.push(child);
        }
    }
    Ok(found)
}

/// The memories derived from one that repeat it: they go with it, whatever else they rest on, unless they are trusted
/// further and not `all` are meant.
fn repeats(transaction: &Transaction<'_>, id: i64, all: bool) -> rusqlite::Result<Vec<i64>> {
    let own = terms(&text_of(transaction, id)?);
    if own.is_empty() {
        return Ok(Vec::new());
    }
    let mut statement = transaction.prepare_cached(
        "SELECT id, text FROM memory_derivations JOIN memories ON id = child WHERE parent = ?1 AND state <> 1 \
         AND (?2 OR trust <= (SELECT trust FROM memories WHERE id = ?1))",
    )?;
    let mut rows = statement.query((id, all))?;
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

/// Removes labels that came from a forgotten memory from those derived from it: labels that they hold themselves in no
/// word.
fn unlabel(transaction: &Transaction<'_>, id: i64, revision: i64) -> rusqlite::Result<()> {
    let gone = terms(&text_of(transaction, id)?);
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
            let is_told = |label: &String| {
                let words = terms(label);
                words.iter().any(|word| gone.contains(word) && !own.contains(word))
            };
            let kept: Vec<&String> = labels.iter().filter(|label| !is_told(label)).collect();
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
