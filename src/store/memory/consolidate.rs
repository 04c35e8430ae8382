//! Tidying up, by rules and without a model: what is known twice is merged, what happened again and again is a fact.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{OptionalExtension, Transaction, TransactionBehavior};
use serde::Serialize;
use serde_json::json;

use super::{
    Memory,
    kinds::{Kind, Note, Trust},
    now,
    work::event,
    write::{next_revision, terms},
};
use crate::{core::error::Result, store::audit::Whose};

/// How memories are consolidated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// So many episodes that say the same become a fact.
    pub repeats: usize,
    /// Episodes of fewer different terms say too little: greetings, thanks.
    pub terms: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self { repeats: 3, terms: 3 }
    }
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Consolidated {
    /// Memories that were merged into another one that says the same.
    pub merged: usize,
    /// New facts, made from episodes.
    pub promoted: Vec<i64>,
    /// Memories that had expired, forgotten now.
    pub expired: usize,
}

/// When memory was last consolidated, in `memory_notes`.
const LAST: &str = "consolidated_at";

impl Memory {
    /// Merges what is there twice and makes facts of what happened again and again. Doing it again changes nothing.
    pub fn consolidate(&self, rules: Rules) -> Result<Consolidated> {
        let trouble = self.trouble();
        let mut done = Consolidated::default();
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
                    (LAST, now()),
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
        let whose = Whose { session: &self.session, ..Whose::default() };
        self.tell_audit(&whose, &event("memory_consolidated", &detail))?;
        Ok(done)
    }

    /// When memory was last consolidated, by whichever process, in seconds since 1970.
    pub fn consolidated_at(&self) -> Result<Option<f64>> {
        let connection = self.reading()?;
        connection
            .query_row("SELECT value FROM memory_notes WHERE name = ?1", [LAST], |row| row.get(0))
            .optional()
            .map_err(self.trouble())
    }
}

fn expire(transaction: &Transaction<'_>, revision: i64) -> rusqlite::Result<usize> {
    transaction.execute(
        "UPDATE memories SET state = 1, revision = ?1, changed_at = ?2 WHERE state = 0 AND expires_at <= ?2",
        (revision, now()),
    )
}

/// Merges what says the same word for word, unless it is an episode: those have their place in time.
fn merge(transaction: &Transaction<'_>, revision: i64) -> rusqlite::Result<usize> {
    let mut groups: BTreeMap<(i64, i64, Option<String>), Vec<i64>> = BTreeMap::new();
    {
        let mut statement = transaction.prepare(
            "SELECT fingerprint, kind, id, user FROM memories WHERE state = 0 AND kind <> 0 AND (fingerprint, kind) IN (\
             SELECT fingerprint, kind FROM memories WHERE state = 0 GROUP BY 1, 2 HAVING count(*) > 1) ORDER BY id",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            groups.entry((row.get(0)?, row.get(1)?, row.get(3)?)).or_default().push(row.get(2)?);
        }
    }
    let mut merged = 0;
    for ids in groups.into_values() {
        let Some((&kept, others)) = ids.split_first() else { continue };
        for other in others {
            transaction.execute(
                "UPDATE memories AS kept SET seen = kept.seen + other.seen, trust = min(kept.trust, other.trust), \
                 importance = max(kept.importance, other.importance), category = coalesce(kept.category, other.category), \
                 tags = (SELECT json_group_array(value) FROM (SELECT value FROM json_each(kept.tags) UNION \
                 SELECT value FROM json_each(other.tags))), revision = ?3, changed_at = ?4 \
                 FROM memories AS other WHERE kept.id = ?1 AND other.id = ?2",
                (kept, other, revision, now()),
            )?;
            transaction.execute(
                "UPDATE memories SET state = 2, merged_into = ?1, revision = ?3, changed_at = ?4 WHERE id = ?2",
                (kept, other, revision, now()),
            )?;
            // What was made from the one is now made from the other.
            transaction.execute(
                "INSERT OR IGNORE INTO memory_derivations SELECT child, ?1 FROM memory_derivations WHERE parent = ?2 \
                 AND child <> ?1",
                (kept, other),
            )?;
            merged += 1;
        }
    }
    Ok(merged)
}

/// Facts that episodes say again and again, which are not known yet.
fn repeated(transaction: &Transaction<'_>, rules: Rules) -> rusqlite::Result<Vec<Note>> {
    struct Group {
        note: Note,
        trust: usize,
    }
    let mut groups: BTreeMap<(BTreeSet<String>, Option<String>), Group> = BTreeMap::new();
    let mut statement = transaction.prepare(
        "SELECT id, text, trust, category, tags, entities, session, coalesce(said_at, stored_at), user FROM memories \
         WHERE state = 0 AND kind = 0 ORDER BY id",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let text = row.get_ref(1)?.as_str()?;
        if text.len() > 2_000 || text.trim_end().ends_with('?') {
            continue;
        }
        let words = terms(text);
        if words.len() < rules.terms {
            continue;
        }
        let user: Option<String> = row.get(8)?;
        let group = groups.entry((words, user.clone())).or_insert_with(|| Group {
            note: Note { text: text.to_owned(), kind: Kind::Semantic, user, ..Note::default() },
            trust: Trust::Verified as usize,
        });
        if group.note.derived_from.len() < super::MAX_WORDS {
            group.note.derived_from.push(row.get(0)?);
            group.trust = group.trust.min(row.get(2)?);
            if group.note.category.is_none() {
                group.note.category = row.get(3)?;
            }
            let lists = [(4, &mut group.note.tags), (5, group.note.entities.get_or_insert_default())];
            for (at, all) in lists {
                let list: Vec<String> = serde_json::from_str(row.get_ref(at)?.as_str()?).unwrap_or_default();
                for word in list {
                    if !all.contains(&word) && all.len() < 16 {
                        all.push(word);
                    }
                }
            }
        }
    }
    let mut facts = Vec::new();
    for group in groups.into_values() {
        let Group { mut note, trust, .. } = group;
        if note.derived_from.len() < rules.repeats.max(2) {
            continue;
        }
        // A fact made from these episodes before stands, or was forgotten: it does not come back.
        let known: bool = transaction
            .prepare_cached(
                "SELECT count(*) > 0 FROM memory_derivations JOIN memories ON memories.id = child \
                 WHERE parent = ?1 AND kind = 1",
            )?
            .query_row([note.derived_from.first()], |row| row.get(0))?;
        if !known {
            note.trust = Trust::ALL.get(trust).copied().unwrap_or(Trust::Untrusted);
            note.source = Some("consolidation".to_owned());
            facts.push(note);
        }
    }
    Ok(facts)
}
