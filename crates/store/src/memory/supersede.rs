//! What a newer memory takes the place of: a fact that can no longer be so, a wish that was changed.
//!
//! Only what is trusted no further, of the same user, and said earlier is outdated. It stays, as what was so: it is
//! told by `why`, and recalled where outdated memories are asked for.

use rusqlite::{Connection, OptionalExtension, Transaction};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    kinds::{Kind, Note, Trust},
    slots::{self, Claim},
    wishes::{self, Topic},
};

/// The category of what a user wishes.
pub(super) const PREFERENCE: &str = "preference";
/// The category of what a user asked for in a turn.
pub(super) const PROMPT: &str = "prompt";
/// The category of what happened in a turn.
pub(super) const SUMMARY: &str = "summary";

/// Returns whether a memory tells of a turn: what was asked, and what was answered.
pub(super) fn is_retold(kind: Kind, category: Option<&str>) -> bool {
    kind == Kind::Episodic && matches!(category, Some(PROMPT | SUMMARY))
}

/// What a text says, as far as another one can contradict it.
enum Content {
    Wishes(Vec<Topic>),
    Facts(Vec<Claim>, bool),
}

impl Content {
    fn of(text: &str, kind: Kind, category: Option<&str>, speaker: Option<&str>) -> Option<Self> {
        let tells = kind == Kind::Semantic || (kind == Kind::Episodic && category != Some(SUMMARY));
        if !tells {
            return None;
        }
        let is_wish = category == Some(PREFERENCE) && kind == Kind::Semantic;
        if is_wish && !wishes::topics(text).is_empty() {
            return Some(Self::Wishes(wishes::subjects(text)));
        }
        let (found, whole) = slots::slots(text, speaker);
        if !found.is_empty() {
            return Some(Self::Facts(found, whole));
        }
        is_wish.then(|| Self::Wishes(wishes::subjects(text)))
    }

    fn keys(&self) -> Vec<i64> {
        let mut keys: Vec<i64> = match self {
            Self::Wishes(topics) => topics.iter().map(|one| key("wish", &one.subject)).collect(),
            Self::Facts(slots, _) => slots.iter().map(|one| key("fact", &one.key)).collect(),
        };
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

/// The number of a slot; no word of it is kept.
pub(super) fn key(kind: &str, name: &str) -> i64 {
    xxh3_64(format!("{kind}\n{name}").as_bytes()).cast_signed()
}

/// What becomes of an older memory.
enum Fate {
    Stands,
    Outdated,
    /// A part of it is outdated; the rest stands.
    Rest(String),
}

fn fate(old: (&Content, &str), new: &Content) -> Fate {
    match (old.0, new) {
        (Content::Facts(old, whole), Content::Facts(new, _)) => {
            if *whole && old.iter().all(|old| new.iter().any(|new| new.outdates(old))) {
                Fate::Outdated
            } else {
                Fate::Stands
            }
        }
        (Content::Wishes(topics), Content::Wishes(new)) => {
            let is_lost = |topic: &Topic| new.iter().any(|new| new.contradicts(topic));
            if topics.iter().all(is_lost) {
                return Fate::Outdated;
            }
            // What was added to a wish for others to find it is no part of its words.
            let said = wishes::topics(old.1);
            let mut rest = Vec::new();
            let parts = wishes::parts(old.1);
            for (from, to) in &parts {
                let mut own = said.iter().filter(|topic| (*from..*to).contains(&topic.at)).peekable();
                let lost = own.peek().is_some() && own.all(is_lost);
                if !lost {
                    rest.push(old.1.get(*from..*to).unwrap_or_default().trim());
                }
            }
            if rest.len() == parts.len() || rest.is_empty() { Fate::Stands } else { Fate::Rest(rest.join(", ")) }
        }
        _ => Fate::Stands,
    }
}

/// A memory beside another of its slot.
struct Other {
    id: i64,
    text: String,
    trust: usize,
    at: f64,
    kind: Kind,
    category: Option<String>,
    speaker: Option<String>,
}

fn other(row: &rusqlite::Row<'_>) -> rusqlite::Result<Other> {
    Ok(Other {
        id: row.get(0)?,
        text: row.get(1)?,
        trust: row.get(2)?,
        at: row.get(3)?,
        kind: Kind::ALL.get(row.get::<_, usize>(4)?).copied().unwrap_or_default(),
        category: row.get(5)?,
        speaker: row.get(6)?,
    })
}

const OTHER: &str = "id, text, trust, coalesce(said_at, stored_at), kind, category, speaker";

/// Files a memory under what it is about.
pub(super) fn file(connection: &Connection, id: i64) -> rusqlite::Result<Vec<i64>> {
    let query = format!("SELECT {OTHER} FROM memories WHERE id = ?1");
    let own = connection.prepare_cached(&query)?.query_row([id], other)?;
    let said = Content::of(&own.text, own.kind, own.category.as_deref(), own.speaker.as_deref());
    let keys = said.map(|said| said.keys()).unwrap_or_default();
    for key in &keys {
        connection.prepare_cached("INSERT OR IGNORE INTO memory_slots VALUES (?1, ?2)")?.execute((key, id))?;
    }
    Ok(keys)
}

/// Files a memory, and marks as outdated what it takes the place of, or itself, where what is newer is known already.
/// Returns what is left to be kept of wishes of which a part is outdated.
pub(super) fn supersede(
    transaction: &Transaction<'_>,
    id: i64,
    revision: i64,
    time: f64,
) -> rusqlite::Result<Vec<Note>> {
    let keys = file(transaction, id)?;
    let mut rests = Vec::new();
    if keys.is_empty() {
        return Ok(rests);
    }
    let query = format!("SELECT {OTHER}, user FROM memories WHERE id = ?1");
    let (own, user): (Other, Option<String>) =
        transaction.prepare_cached(&query)?.query_row([id], |row| Ok((other(row)?, row.get(7)?)))?;
    let mut beside: Vec<Other> = Vec::new();
    for key in keys {
        let query = format!(
            "SELECT {OTHER} FROM memory_slots JOIN memories ON id = memory WHERE slot = ?1 AND id <> ?2 AND state = 0 \
             AND superseded_by IS NULL AND user IS ?3 AND (expires_at IS NULL OR expires_at > ?4)"
        );
        let mut statement = transaction.prepare_cached(&query)?;
        for one in statement.query_map((key, id, &user, time), other)? {
            let one = one?;
            if !beside.iter().any(|known| known.id == one.id) {
                beside.push(one);
            }
        }
    }
    for one in beside {
        let newer = (own.at, own.id) >= (one.at, one.id);
        let (old, new) = if newer { (&one, &own) } else { (&own, &one) };
        if old.trust > new.trust {
            continue;
        }
        let said = |one: &Other| Content::of(&one.text, one.kind, one.category.as_deref(), one.speaker.as_deref());
        let (Some(before), Some(after)) = (said(old), said(new)) else { continue };
        match fate((&before, &old.text), &after) {
            Fate::Stands => continue,
            Fate::Outdated => {}
            Fate::Rest(text) => rests.push(Note {
                text,
                kind: old.kind,
                category: old.category.clone(),
                speaker: old.speaker.clone(),
                trust: Trust::ALL.get(old.trust).copied().unwrap_or_default(),
                at: Some(old.at),
                user: user.clone(),
                importance: Some(0.9),
                derived_from: vec![old.id],
                ..Note::default()
            }),
        }
        mark(transaction, old.id, new.id, revision, time)?;
    }
    Ok(rests)
}

/// Marks a memory as outdated, with the summaries that rest on it, and takes its relations out of the graph.
pub(super) fn mark(
    transaction: &Transaction<'_>,
    old: i64,
    new: i64,
    revision: i64,
    time: f64,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "UPDATE memories SET superseded_by = ?2, revision = ?3, changed_at = ?4 WHERE id = ?1 OR (kind = 0 \
             AND category = 'summary' AND superseded_by IS NULL AND id <> ?2 \
             AND id IN (SELECT child FROM memory_derivations WHERE parent = ?1))",
        )?
        .execute((old, new, revision, time))?;
    transaction
        .prepare_cached("UPDATE memory_relations SET forgotten_at = ?2 WHERE memory = ?1 AND forgotten_at IS NULL")?
        .execute((old, time))
        .map(drop)
}

/// The column that names what took the place of a memory; a file of an older version that is only read has none.
pub(super) fn column(connection: &Connection) -> &'static str {
    if connection.prepare_cached("SELECT superseded_by FROM memories").is_ok() { "superseded_by" } else { "NULL" }
}

/// The memory that took the place of one.
pub(super) fn superseded_by(connection: &Connection, id: i64) -> rusqlite::Result<Option<i64>> {
    let query = format!("SELECT {} FROM memories WHERE id = ?1", column(connection));
    Ok(connection.prepare_cached(&query)?.query_row([id], |row| row.get(0)).optional()?.flatten())
}
