//! The graph of entities, joined by relations of a few kinds.

use std::collections::{BTreeMap, VecDeque};

use rusqlite::{Transaction, TransactionBehavior};
use serde::Serialize;

use super::inject::is_blank;
use super::{
    Memory, check_word, key_of,
    kinds::Trust,
    now,
    write::{admit, unknown},
};
use crate::open;
use loopwright_base::error::{Error, Result};

/// The kinds of relations.
pub const RELATIONS: [&str; 13] = [
    "is_a",
    "part_of",
    "has",
    "related_to",
    "knows",
    "family_of",
    "works_on",
    "works_at",
    "located_in",
    "created",
    "uses",
    "depends_on",
    "prefers",
];
/// Steps from one entity to the next that a walk takes at most.
const FARTHEST: usize = 4;

/// A relation to store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relation<'a> {
    /// The subject, an entity.
    pub subject: &'a str,
    /// The kind, one of [`RELATIONS`].
    pub relation: &'a str,
    /// The object, an entity.
    pub object: &'a str,
    /// The source.
    pub source: Option<&'a str>,
    /// The memory that states it; the relation is forgotten with it, and trusted no more than it.
    pub memory: Option<i64>,
    /// The trust in it.
    pub trust: Trust,
    /// The owner: without one, the user of the memory, or everybody.
    pub user: Option<&'a str>,
}

/// An entity next to another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Neighbour {
    /// The entity's name.
    pub entity: String,
    /// The kind of the relation.
    pub relation: String,
    /// The relation points from this entity to the one that was asked for.
    pub inverse: bool,
    /// The entity in between, or the one that was asked for.
    pub of: String,
    /// The distance in steps: 1 is next to it.
    pub distance: usize,
    /// The trust in the path to it: that of its weakest step.
    pub trust: Trust,
    /// The sources of the relation.
    pub sources: Vec<String>,
    /// The memories that state it.
    pub memories: Vec<i64>,
}

impl Memory {
    /// Stores a relation between two entities; a known one gains a source.
    pub fn relate(&self, relation: &Relation<'_>) -> Result<()> {
        if let Some(source) = relation.source {
            check_word("source", source)?;
        }
        if let Some(user) = relation.user {
            check_word("user", user)?;
        }
        for (what, name) in [("subject", relation.subject), ("object", relation.object)] {
            check_word(what, name)?;
            if is_blank(name) {
                let error = Error::usage("empty_text", format!("the {what} has no name"));
                return Err(error.hint("name who or what is related"));
            }
        }
        if !RELATIONS.contains(&relation.relation) {
            let message = format!("{:?} is no relation", relation.relation);
            return Err(Error::usage("unknown_relation", message).hint(format!("one of {}", RELATIONS.join(", "))));
        }
        let trouble = self.error_mapper();
        let mut connection = self.writing()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&trouble)?;
        insert_relation(&transaction, relation, &self.name)?;
        transaction.commit().map_err(&trouble)
    }

    /// The entities next to one, nearest first, then most trusted; `relation` alone, if given. Of a `user`, those that
    /// belong to that one and those that belong to nobody; an empty name: to nobody alone.
    pub fn neighbours(
        &self,
        entity: &str,
        relation: Option<&str>,
        distance: usize,
        limit: usize,
        user: Option<&str>,
    ) -> Result<Vec<Neighbour>> {
        let trouble = self.error_mapper();
        let connection = self.reading()?;
        let start = key_of(entity);
        let mut best: BTreeMap<String, Trust> = BTreeMap::from([(start.clone(), Trust::Verified)]);
        let mut all: Vec<Neighbour> = Vec::new();
        let mut next = VecDeque::from([(start, entity.trim().to_owned(), 0_usize, Trust::Verified)]);
        // A file of an older version that is only read says it with the memory alone.
        let own = connection.prepare_cached("SELECT user FROM memory_relations").is_ok();
        let whose = if own { "user" } else { "(SELECT user FROM memories WHERE memories.id = memory)" };
        let kept = format!(
            "forgotten_at IS NULL AND (?2 IS NULL OR relation = ?2) AND (?3 IS NULL OR coalesce({whose}, ?3) = ?3)"
        );
        let mut steps = connection
            .prepare_cached(&format!(
                "SELECT object, object_key, relation, 0, source, memory, trust FROM memory_relations \
                 WHERE subject_key = ?1 AND {kept} \
                 UNION ALL SELECT subject, subject_key, relation, 1, source, memory, trust FROM memory_relations \
                 WHERE object_key = ?1 AND {kept} ORDER BY 7 DESC, 1"
            ))
            .map_err(&trouble)?;
        while let Some((key, name, far, trusted)) = next.pop_front() {
            if far >= distance.min(FARTHEST) || all.len() >= limit {
                break;
            }
            let mut found: Vec<(String, Neighbour)> = Vec::new();
            let mut rows = steps.query((&key, relation, user)).map_err(&trouble)?;
            while let Some(row) = rows.next().map_err(&trouble)? {
                let step = || -> rusqlite::Result<_> {
                    let trust = Trust::ALL.get(row.get::<_, usize>(6)?).copied().unwrap_or(Trust::Untrusted);
                    Ok((
                        row.get::<_, String>(0)?,
                        row.get::<_, String>(1)?,
                        row.get::<_, String>(2)?,
                        row.get::<_, bool>(3)?,
                        row.get::<_, Option<String>>(4)?,
                        row.get::<_, Option<i64>>(5)?,
                        trust,
                    ))
                };
                let (entity, other, relation, inverse, source, memory, trust) = step().map_err(&trouble)?;
                let same = found
                    .iter_mut()
                    .find(|(key, known)| *key == other && known.relation == relation && known.inverse == inverse);
                let neighbour = if let Some((_, known)) = same {
                    known.trust = known.trust.max(trust.min(trusted));
                    known
                } else {
                    if best.contains_key(&other) && far > 0 {
                        continue;
                    }
                    let (sources, memories) = (Vec::new(), Vec::new());
                    let (of, distance, trust) = (name.clone(), far + 1, trust.min(trusted));
                    found
                        .push((other, Neighbour { entity, relation, inverse, of, distance, trust, sources, memories }));
                    let Some((_, known)) = found.last_mut() else { continue };
                    known
                };
                if let Some(source) = source.filter(|source| !neighbour.sources.contains(source)) {
                    neighbour.sources.push(source);
                }
                if let Some(memory) = memory.filter(|memory| !neighbour.memories.contains(memory)) {
                    neighbour.memories.push(memory);
                }
            }
            for (key, neighbour) in found {
                if best.insert(key.clone(), neighbour.trust).is_none() {
                    next.push_back((key, neighbour.entity.clone(), neighbour.distance, neighbour.trust));
                }
                all.push(neighbour);
            }
        }
        all.sort_by(|a, b| a.distance.cmp(&b.distance).then(b.trust.cmp(&a.trust)));
        all.truncate(limit);
        Ok(all)
    }
}

/// Stores a relation that was checked, as part of a change to the store of that name.
pub(super) fn insert_relation(transaction: &Transaction<'_>, relation: &Relation<'_>, name: &str) -> Result<()> {
    let (subject, object) = (admit(relation.subject.trim()), admit(relation.object.trim()));
    let (subject, object) = (subject.as_ref(), object.as_ref());
    let trouble = |error: rusqlite::Error| open::store_error(&error, name);
    let (mut trust, mut user) = (relation.trust, relation.user.map(str::to_owned));
    if let Some(id) = relation.memory {
        let found =
            transaction.query_row("SELECT trust, user FROM memories WHERE id = ?1 AND state = 0", [id], |row| {
                Ok((row.get::<_, usize>(0)?, row.get::<_, Option<String>>(1)?))
            });
        let (found, whose) = match found {
            Err(rusqlite::Error::QueryReturnedNoRows) => return Err(unknown(id)),
            found => found.map_err(trouble)?,
        };
        trust = trust.min(Trust::ALL.get(found).copied().unwrap_or(Trust::Untrusted));
        if user.is_some() && whose.is_some() && user != whose {
            let message = format!("the memory {id} belongs to another user than the relation");
            return Err(Error::usage("invalid_value", message).hint("leave the user out: it is that of the memory"));
        }
        user = user.or(whose);
    }
    transaction
        .prepare_cached(
            "INSERT INTO memory_relations (subject, subject_key, relation, object, object_key, source, memory, \
             trust, stored_at, user) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 WHERE NOT EXISTS (\
             SELECT 1 FROM memory_relations WHERE subject_key = ?2 AND relation = ?3 AND object_key = ?5 \
             AND source IS ?6 AND memory IS ?7 AND trust = ?8 AND user IS ?10 AND forgotten_at IS NULL)",
        )
        .and_then(|mut insert| {
            insert.execute(rusqlite::params![
                subject,
                key_of(subject),
                relation.relation,
                object,
                key_of(object),
                relation.source.map(admit).as_deref(),
                relation.memory,
                trust as i64,
                now(),
                user,
            ])
        })
        .map_err(trouble)?;
    Ok(())
}
