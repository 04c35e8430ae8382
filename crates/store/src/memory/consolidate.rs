//! Consolidation of memory, by rules and without a model: facts known twice are merged, episodes that repeat become
//! facts.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Transaction, TransactionBehavior};
use serde::Serialize;
use serde_json::json;

use super::{
    Memory,
    identity::{identity, is_same, known_fact},
    kinds::{Kind, Note, Trust},
    now,
    work::event,
    write::{next_revision, terms},
};
use crate::audit::EventScope;
use loopwright_base::error::Result;

/// Rules of consolidation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Episodes of one text that become a fact.
    pub repeats: usize,
    /// Different terms that an episode has at least; shorter ones say too little: greetings, thanks.
    pub terms: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self { repeats: 3, terms: 3 }
    }
}

/// The result of consolidation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Consolidation {
    /// Memories that were merged into another one of the same fact.
    pub merged: usize,
    /// New facts, made from episodes.
    pub promoted: Vec<i64>,
    /// Memories that had expired, forgotten now.
    pub expired: usize,
}

/// The key of the time of the last consolidation, in `memory_notes`.
const LAST_KEY: &str = "consolidated_at";

impl Memory {
    /// Merges duplicates and makes facts of episodes that repeat. A second call changes nothing.
    pub fn consolidate(&self, rules: Rules) -> Result<Consolidation> {
        let trouble = self.error_mapper();
        let mut done = Consolidation::default();
        let mut facts = Vec::new();
        {
            let mut connection = self.writing()?;
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&trouble)?;
            let work = || -> rusqlite::Result<()> {
                let revision = next_revision(&transaction)?;
                done.expired = expire(&transaction, revision)?;
                done.merged = merge(&transaction, revision)?;
                transaction.execute("UPDATE memory_episodes SET consolidated = 1 WHERE consolidated = 0", [])?;
                facts = repeated(&transaction, rules)?;
                transaction.execute(
                    "INSERT INTO memory_notes VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                    (LAST_KEY, now()),
                )?;
                Ok(())
            };
            let mut work = work;
            work().map_err(&trouble)?;
            transaction.commit().map_err(&trouble)?;
        }
        if !facts.is_empty() {
            done.promoted = self.remember_many(&facts)?;
        }
        let detail = json!({"merged": done.merged, "promoted": done.promoted, "expired": done.expired});
        let whose = EventScope { session: &self.session, ..EventScope::default() };
        self.tell_audit(&whose, &event("memory_consolidated", &detail))?;
        Ok(done)
    }

    /// The time of the last consolidation, by whichever process, in seconds since 1970.
    pub fn consolidated_at(&self) -> Result<Option<f64>> {
        let connection = self.reading()?;
        connection
            .query_row("SELECT value FROM memory_notes WHERE name = ?1", [LAST_KEY], |row| row.get(0))
            .optional()
            .map_err(self.error_mapper())
    }
}

fn expire(transaction: &Transaction<'_>, revision: i64) -> rusqlite::Result<usize> {
    transaction.execute(
        "UPDATE memories SET state = 1, revision = ?1, changed_at = ?2 WHERE state = 0 AND expires_at <= ?2",
        (revision, now()),
    )
}

/// Rows that may be tellings of one fact: their number, kind, user, category and trust.
type Scope = (i64, i64, Option<String>, Option<String>, i64);

/// Merges rows of one fact, equally trusted, unless they are episodes: those have their place in time. An older version
/// kept rows apart that differ in white space and composition.
fn merge(transaction: &Transaction<'_>, revision: i64) -> rusqlite::Result<usize> {
    let mut groups: BTreeMap<Scope, Vec<Fact>> = BTreeMap::new();
    {
        let mut statement = transaction.prepare(
            "SELECT fingerprint, kind, user, category, trust, id, text, speaker FROM memories \
             WHERE state = 0 AND superseded_by IS NULL AND kind <> 0 AND (fingerprint, kind) IN (\
             SELECT fingerprint, kind FROM memories WHERE state = 0 GROUP BY 1, 2 HAVING count(*) > 1) ORDER BY id",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let scope = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
            let fact = Fact { id: row.get(5)?, text: row.get(6)?, speaker: row.get(7)? };
            groups.entry(scope).or_default().push(fact);
        }
    }
    let mut merged = 0;
    for facts in groups.into_values() {
        let mut kept: Vec<Fact> = Vec::new();
        for fact in facts {
            if let Some(first) =
                kept.iter().find(|first| first.speaker == fact.speaker && is_same(&first.text, &fact.text))
            {
                merge_into(transaction, first.id, fact.id, revision)?;
                merged += 1;
            } else {
                kept.push(fact);
            }
        }
    }
    Ok(merged)
}

/// The parts of a row that tell it apart from others of its scope.
struct Fact {
    id: i64,
    text: String,
    speaker: Option<String>,
}

/// Merges a row into another one of the same fact; the one that ends later, or never, decides when it ends. Sources
/// stay with their row, where `why` finds them.
fn merge_into(transaction: &Transaction<'_>, kept: i64, other: i64, revision: i64) -> rusqlite::Result<()> {
    transaction.execute(
        "UPDATE memories AS kept SET seen = kept.seen + other.seen, importance = max(kept.importance, other.importance), \
         tags = (SELECT json_group_array(value) FROM (SELECT value FROM json_each(kept.tags) UNION \
         SELECT value FROM json_each(other.tags))), expires_at = CASE WHEN kept.expires_at IS NULL \
         OR other.expires_at IS NULL THEN NULL ELSE max(kept.expires_at, other.expires_at) END, \
         revision = ?3, changed_at = ?4 FROM memories AS other WHERE kept.id = ?1 AND other.id = ?2",
        (kept, other, revision, now()),
    )?;
    transaction.execute(
        "UPDATE memories SET state = 2, merged_into = ?1, revision = ?3, changed_at = ?4 WHERE id = ?2",
        (kept, other, revision, now()),
    )?;
    // What was made from the one is now made from the other.
    transaction
        .execute(
            "INSERT OR IGNORE INTO memory_derivations SELECT child, ?1 FROM memory_derivations WHERE parent = ?2 \
             AND child <> ?1",
            (kept, other),
        )
        .map(drop)
}

/// The text, user, category and speaker of an episode that somebody repeated.
type EpisodeKey = (String, Option<String>, Option<String>, Option<String>);

/// An episode that repeats a fact.
struct RepeatedEpisode {
    id: i64,
    trust: usize,
    expires: Option<f64>,
    at: f64,
    text: String,
    tags: String,
    entities: String,
}

/// Facts that episodes say again and again, letter by letter, which are not known yet.
///
/// A fact is trusted as far as enough of its episodes are: what less trusted ones add lowers nothing, and what more
/// trusted ones say fewer times lends nothing.
fn repeated(transaction: &Transaction<'_>, rules: Rules) -> rusqlite::Result<Vec<Note>> {
    let mut groups: BTreeMap<EpisodeKey, Vec<RepeatedEpisode>> = BTreeMap::new();
    let mut statement = transaction.prepare(
        "SELECT id, text, trust, category, tags, entities, user, speaker, expires_at, coalesce(said_at, stored_at) \
         FROM memories WHERE state = 0 AND kind = 0 AND superseded_by IS NULL \
         AND coalesce(category, '') NOT IN ('prompt', 'summary') \
         AND (expires_at IS NULL OR expires_at > ?1) ORDER BY id",
    )?;
    let mut rows = statement.query([now()])?;
    while let Some(row) = rows.next()? {
        let text = row.get_ref(1)?.as_str()?;
        if text.len() > 2_000 || text.trim_end().ends_with('?') || terms(text).len() < rules.terms {
            continue;
        }
        let said = (identity(text).into_owned(), row.get(6)?, row.get(3)?, row.get(7)?);
        let telling = RepeatedEpisode {
            id: row.get(0)?,
            trust: row.get(2)?,
            expires: row.get(8)?,
            at: row.get(9)?,
            text: text.to_owned(),
            tags: row.get(4)?,
            entities: row.get(5)?,
        };
        groups.entry(said).or_default().push(telling);
    }
    let repeats = rules.repeats.max(2);
    let mut facts = Vec::new();
    for ((_, user, category, speaker), mut tellings) in groups {
        // So many are trusted at least as far as the last of these.
        tellings.sort_by_key(|telling| (std::cmp::Reverse(telling.trust), telling.id));
        let Some(trust) = tellings.get(repeats - 1).map(|telling| telling.trust) else { continue };
        if is_made(transaction, &tellings, trust)? {
            continue;
        }
        tellings.retain(|telling| telling.trust >= trust);
        tellings.sort_by_key(|telling| telling.id);
        tellings.truncate(super::MAX_WORDS);
        let labels = |of: fn(&RepeatedEpisode) -> &str| {
            let mut all: Vec<String> = Vec::new();
            for list in tellings.iter().map(of) {
                for word in serde_json::from_str::<Vec<String>>(list).unwrap_or_default() {
                    if !all.contains(&word) && all.len() < 16 {
                        all.push(word);
                    }
                }
            }
            all
        };
        let note = Note {
            text: tellings.first().map(|telling| telling.text.clone()).unwrap_or_default(),
            kind: Kind::Semantic,
            user,
            category,
            speaker,
            tags: labels(|telling| &telling.tags),
            entities: Some(labels(|telling| &telling.entities)),
            source: Some("consolidation".to_owned()),
            trust: Trust::ALL.get(trust).copied().unwrap_or(Trust::Untrusted),
            // It is as new as the newest of them, so that it takes the place of nothing newer.
            at: tellings.iter().map(|telling| telling.at).max_by(f64::total_cmp),
            expires: end(&tellings, repeats),
            derived_from: tellings.iter().map(|telling| telling.id).collect(),
            ..Note::default()
        };
        if known_fact(transaction, (&note, &note.text), note.trust, now())?.is_none() {
            facts.push(note);
        }
    }
    Ok(facts)
}

/// The time at which a fact from these episodes ends: when so few of them are left that they would not have made it.
fn end(tellings: &[RepeatedEpisode], repeats: usize) -> Option<f64> {
    let mut ends: Vec<f64> = tellings.iter().map(|telling| telling.expires.unwrap_or(f64::INFINITY)).collect();
    ends.sort_by(|one, other| other.total_cmp(one));
    ends.get(repeats - 1).copied().filter(|end| end.is_finite())
}

/// Returns whether a fact was made from one of these episodes before, no less trusted, or was and is forgotten: it
/// stands, or does not come back. One that ended may be made anew.
fn is_made(transaction: &Transaction<'_>, tellings: &[RepeatedEpisode], trust: usize) -> rusqlite::Result<bool> {
    let mut made = transaction.prepare_cached(
        "SELECT 1 FROM memory_derivations JOIN memories ON memories.id = child WHERE parent = ?1 AND kind = 1 \
         AND ((trust >= ?2 AND (expires_at IS NULL OR expires_at > ?3)) \
         OR (state = 1 AND (expires_at IS NULL OR expires_at > changed_at)))",
    )?;
    for telling in tellings {
        if made.exists((telling.id, trust, now()))? {
            return Ok(true);
        }
    }
    Ok(false)
}
