//! The work of a turn: all of it, and its end, in one transaction.

use rusqlite::{OptionalExtension, Transaction, TransactionBehavior};
use serde_json::json;

use super::{
    Reflection, Thought, Turn,
    episode::{Episode, importance, summary, topics},
    language::{self, Sentence},
    reflect,
    skill::skill,
};
use crate::{
    audit::{self, Event, EventScope},
    memory::{
        FILE, Memory,
        graph::{Relation, insert_relation},
        identity::fingerprint,
        kinds::{Kind, Note, Trust},
        names, now,
        supersede::{self, PREFERENCE, PROMPT, SUMMARY},
        work::{CONSOLIDATION, REFLECTION, TURN, event},
        write::{self, derived_trust, next_revision},
    },
    work::{self, Job},
};
use loopwright_base::{
    error::{Error, Result},
    text::clip,
};
use loopwright_guard::{own_words, sensitivity::without_secrets};

/// Seconds in a day.
const DAY: f64 = 86_400.0;

fn turn_of(job: &Job) -> Result<Turn> {
    serde_json::from_str(&job.payload)
        .map_err(|error| Error::internal("broken_work", format!("the work {} can't be read: {error}", job.id)))
}

/// The statements of a turn, by rule.
struct TurnStatements {
    said: Vec<(Sentence, Vec<language::StatedRelation>)>,
    answered: Vec<(Sentence, Vec<language::StatedRelation>)>,
    skill: Option<String>,
    summary: String,
    topics: Vec<String>,
    entities: Vec<String>,
    importance: f64,
}

/// Statements of an answer that are stored.
const MOST_ANSWERED: usize = 6;

impl TurnStatements {
    fn of(turn: &Turn) -> Self {
        let said = language::classify_sentences(&own_words(&turn.prompt), true);
        let related = |one: Sentence, writer: &str| {
            let found = if one.states || one.prefers { language::relations(&one.text, writer) } else { Vec::new() };
            (one, found)
        };
        let typed = |found: &[language::StatedRelation]| found.iter().any(|found| found.relation != "related_to");
        let answered = language::classify_sentences(&turn.answer, false).into_iter().filter(|one| one.states);
        let answered = answered.map(|one| related(one, "the assistant")).filter(|(_, found)| typed(found));
        let answered = answered.take(MOST_ANSWERED).collect();
        let mut entities = names::entities(&turn.prompt);
        for name in names::entities(&turn.answer) {
            if !entities.contains(&name) && entities.len() < 16 {
                entities.push(name);
            }
        }
        Self {
            answered,
            skill: skill(turn, &said).filter(|_| turn.after.skills),
            summary: summary(turn, &said),
            topics: topics(turn),
            entities,
            importance: importance(turn, &said),
            said: said.into_iter().map(|one| related(one, turn.writer())).collect(),
        }
    }
}

/// One piece of work in progress: its transaction, and its events.
struct TurnWriter<'a> {
    memory: &'a Memory,
    transaction: &'a Transaction<'a>,
    turn: &'a Turn,
    revision: i64,
    time: f64,
    kept: Vec<i64>,
    events: Vec<Event>,
}

impl Memory {
    /// Does a piece of work by rule; returns the numbers of the new memories. An error leaves nothing behind.
    pub fn perform(&self, job: &Job) -> Result<Vec<i64>> {
        match job.kind.as_str() {
            TURN => {
                let turn = turn_of(job)?;
                // Nobody waits for the file while the turn is read.
                let read = TurnStatements::of(&turn);
                self.keep(job, &turn, |keeping| keeping.keep_turn(&read))
            }
            REFLECTION => self.reflect(job, None),
            CONSOLIDATION => self.consolidate_as(job),
            FILE => self.sync_for_job(job),
            other => Err(Error::usage("unknown_work", format!("there is no work of the kind {other:?}"))
                .hint("a newer version may have queued it")),
        }
    }

    /// Does the work of reflection: with a model's thoughts about the turn, else by rule.
    pub fn reflect(&self, job: &Job, thoughts: Option<&[Thought]>) -> Result<Vec<i64>> {
        let turn = turn_of(job)?;
        let own = if thoughts.is_none() { reflect::by_rule(&turn) } else { Vec::new() };
        let thoughts = thoughts.unwrap_or(&own);
        self.keep(job, &turn, |keeping| {
            thoughts.iter().take(2 * reflect::MOST).try_for_each(|thought| keeping.keep_thought(thought))
        })
    }

    fn keep(&self, job: &Job, turn: &Turn, work: impl FnOnce(&mut TurnWriter<'_>) -> Result<()>) -> Result<Vec<i64>> {
        let trouble = self.error_mapper();
        let time = now();
        let mut connection = self.writing()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&trouble)?;
        let revision = next_revision(&transaction).map_err(&trouble)?;
        let mut keeping = TurnWriter {
            memory: self,
            transaction: &transaction,
            turn,
            revision,
            time,
            kept: Vec::new(),
            events: Vec::new(),
        };
        work(&mut keeping)?;
        let TurnWriter { kept, events, .. } = keeping;
        let whose = EventScope { session: &turn.session, turn: Some(&turn.run), user: turn.user.as_deref() };
        if turn.after.audit {
            events.iter().try_for_each(|one| audit::write(&transaction, &whose, one)).map_err(&trouble)?;
        }
        self.end_work(&transaction, job, &whose, time)?;
        transaction.commit().map_err(&trouble)?;
        Ok(kept)
    }

    /// Stores the preferences of a turn as part of queueing it: they stand in the next request already.
    pub(in crate::memory) fn keep_wishes(&self, transaction: &Transaction<'_>, turn: &Turn) -> Result<()> {
        if !turn.after.preferences {
            return Ok(());
        }
        let said = language::classify_sentences(&own_words(&turn.prompt), true);
        if !said.iter().any(|one| one.prefers) {
            return Ok(());
        }
        let trouble = self.error_mapper();
        let revision = next_revision(transaction).map_err(&trouble)?;
        let (kept, events) = (Vec::new(), Vec::new());
        let mut keeping = TurnWriter { memory: self, transaction, turn, revision, time: now(), kept, events };
        for one in said.iter().filter(|one| one.prefers) {
            if keeping.told(&one.text)?.is_none() {
                keeping.keep_preference(&one.text)?;
            }
        }
        let events = keeping.events;
        let whose = EventScope { session: &turn.session, turn: Some(&turn.run), user: turn.user.as_deref() };
        if turn.after.audit {
            events.iter().try_for_each(|one| audit::write(transaction, &whose, one)).map_err(&trouble)?;
        }
        Ok(())
    }

    fn consolidate_as(&self, job: &Job) -> Result<Vec<i64>> {
        let since = now();
        // Doing it again changes nothing: it may well end before its end is written down.
        let done = self.consolidate(super::super::Rules::default())?;
        let trouble = self.error_mapper();
        let mut connection = self.writing()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&trouble)?;
        let whose = EventScope { session: self.session(), ..EventScope::default() };
        self.end_work(&transaction, job, &whose, since)?;
        transaction.commit().map_err(&trouble)?;
        Ok(done.promoted)
    }

    /// The stored episodes, newest first.
    pub fn episodes(&self, session: Option<&str>, limit: usize) -> Result<Vec<Episode>> {
        let connection = self.reading()?;
        let read = || -> rusqlite::Result<Vec<Episode>> {
            let mut statement = connection.prepare_cached(
                "SELECT id, session, run, user, text, topics, entities, started_at, ended_at, turns, importance, used, \
                 consolidated, expires_at, sensitivity, EXISTS (SELECT 1 FROM memory_vectors WHERE memory_vectors.memory = id) \
                 FROM memory_episodes JOIN memories ON id = memory_episodes.memory \
                 WHERE state = 0 AND (?1 IS NULL OR session = ?1) ORDER BY id DESC LIMIT ?2",
            )?;
            let list = |text: String| serde_json::from_str(&text).unwrap_or_default();
            let rows = statement.query_map((session, i64::try_from(limit).unwrap_or(i64::MAX)), |row| {
                Ok(Episode {
                    id: row.get(0)?,
                    session: row.get(1)?,
                    run: row.get(2)?,
                    user: row.get(3)?,
                    summary: row.get(4)?,
                    topics: list(row.get(5)?),
                    entities: list(row.get(6)?),
                    started_at: row.get(7)?,
                    ended_at: row.get(8)?,
                    turn_count: row.get(9)?,
                    importance: row.get(10)?,
                    access_count: row.get(11)?,
                    consolidated: row.get(12)?,
                    expires: row.get(13)?,
                    sensitivity: if row.get::<_, i64>(14)? >= 2 { "sensitive" } else { "normal" }.to_owned(),
                    embedded: row.get(15)?,
                })
            })?;
            rows.collect()
        };
        read().map_err(self.error_mapper())
    }

    /// The stored lessons, surest first; `category` alone, if given.
    pub fn reflections(&self, category: Option<&str>) -> Result<Vec<Reflection>> {
        let connection = self.reading()?;
        let time = now();
        let read = || -> rusqlite::Result<Vec<Reflection>> {
            let mut statement = connection.prepare_cached(
                "SELECT id, text, coalesce(category, 'reflection'), confidences / max(count, 1), seen, stored_at, last_at, \
                 session, user FROM memory_reflections JOIN memories ON id = memory_reflections.memory \
                 WHERE state = 0 AND (?1 IS NULL OR category = ?1) ORDER BY 4 DESC, id",
            )?;
            let mut events =
                connection.prepare_cached("SELECT event FROM memory_supports WHERE memory = ?1 ORDER BY at, event")?;
            let mut rows = statement.query([category])?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                let id: i64 = row.get(0)?;
                let last_at: f64 = row.get(6)?;
                all.push(Reflection {
                    id,
                    pattern: row.get(1)?,
                    category: row.get(2)?,
                    confidence: row.get(3)?,
                    supporting_events: events.query_map([id], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?,
                    seen: row.get(4)?,
                    first_at: row.get(5)?,
                    last_at,
                    stale: time - last_at > reflect::STALE * DAY,
                    session: row.get(7)?,
                    user: row.get(8)?,
                });
            }
            Ok(all)
        };
        read().map_err(self.error_mapper())
    }
}

impl TurnWriter<'_> {
    fn note(&self, kind: Kind, text: String, trust: Trust) -> Note {
        Note {
            text,
            kind,
            trust,
            source: Some(self.turn.source()),
            user: self.turn.user.clone(),
            at: (self.turn.ended_at > 0.0).then_some(self.turn.ended_at),
            ..Note::default()
        }
    }

    /// Stores a memory; returns its number.
    fn put(&mut self, note: &Note, event_kind: &str) -> Result<Option<i64>> {
        if note.text.trim().is_empty() {
            return Ok(None);
        }
        let trouble = self.memory.error_mapper();
        // What was forgotten meanwhile is nothing to derive from.
        let mut note = note.clone();
        let mut live = Vec::with_capacity(note.derived_from.len());
        for parent in note.derived_from {
            let lives = self
                .transaction
                .prepare_cached("SELECT 1 FROM memories WHERE id = ?1 AND state = 0")
                .and_then(|mut query| query.exists([parent]))
                .map_err(&trouble)?;
            if lives && !live.contains(&parent) && live.len() < 64 {
                live.push(parent);
            }
        }
        note.derived_from = live;
        let trust = derived_trust(self.transaction, &note).map_err(&trouble)?.unwrap_or(Trust::Untrusted);
        let id = write::store(self.transaction, &note, &self.turn.session, trust, self.revision, self.time)
            .map_err(&trouble)?;
        self.kept.push(id);
        self.events.push(event(event_kind, &json!({"id": id, "trust": trust.name()})));
        Ok(Some(id))
    }

    /// Stores what a turn tells; what an earlier one of the session told in the same words counts once more.
    fn put_once(&mut self, note: &Note, event_kind: &str) -> Result<Option<i64>> {
        let trouble = self.memory.error_mapper();
        let text = without_secrets(note.text.trim_end()).0;
        let (turn, trust) = (self.turn, derived_trust(self.transaction, note));
        let trust = trust.map_err(&trouble)?.unwrap_or(note.trust);
        let known: Option<i64> = self
            .transaction
            .prepare_cached(
                "SELECT id FROM memories WHERE fingerprint = ?1 AND kind = 0 AND state = 0 AND category IS ?2 \
                 AND session = ?3 AND user IS ?4 AND trust = ?5 AND text = ?6 AND superseded_by IS NULL",
            )
            .and_then(|mut query| {
                let session = write::admit(&turn.session);
                let of = (fingerprint(&text), &note.category, session, &turn.user, trust as i64, &text);
                query.query_row(of, |row| row.get(0)).optional()
            })
            .map_err(&trouble)?;
        let Some(id) = known else { return self.put(note, event_kind) };
        let merge = || -> rusqlite::Result<()> {
            self.transaction
                .prepare_cached(
                    "UPDATE memories SET revision = ?2, seen = seen + 1, changed_at = ?3, said_at = ?4 WHERE id = ?1",
                )?
                .execute((id, self.revision, self.time, note.at))?;
            self.transaction
                .prepare_cached("INSERT OR IGNORE INTO memory_sources VALUES (?1, ?2, ?3, ?4)")?
                .execute((id, turn.source(), trust as i64, self.time))?;
            for parent in note.derived_from.iter().filter(|parent| **parent != id) {
                self.transaction
                    .prepare_cached(
                        "INSERT OR IGNORE INTO memory_derivations SELECT ?1, id FROM memories \
                         WHERE id = ?2 AND state = 0",
                    )?
                    .execute((id, parent))?;
            }
            Ok(())
        };
        merge().map_err(&trouble)?;
        self.events.push(event(event_kind, &json!({"id": id, "trust": trust.name()})));
        Ok(Some(id))
    }

    /// Where a turn asked something and did nothing else, what was answered to the same question before is outdated.
    fn replace_asked(&self, read: &TurnStatements, id: i64) -> Result<()> {
        let asked: Vec<&str> = read.said.iter().map(|(one, _)| one.text.as_str()).collect();
        if asked.is_empty() || !read.said.iter().all(|(one, _)| one.asks) {
            return Ok(());
        }
        let slot = supersede::key("asked", &format!("{}\n{}", self.turn.session, asked.join(" ")));
        let replace = || -> rusqlite::Result<()> {
            let before: Vec<i64> = self
                .transaction
                .prepare_cached(
                    "SELECT memory FROM memory_slots JOIN memories ON id = memory WHERE slot = ?1 AND id <> ?2 \
                     AND state = 0 AND superseded_by IS NULL AND user IS ?3",
                )?
                .query_map((slot, id, &self.turn.user), |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            for old in before {
                supersede::mark(self.transaction, old, id, self.revision, self.time)?;
            }
            self.transaction
                .prepare_cached("INSERT OR IGNORE INTO memory_slots VALUES (?1, ?2)")?
                .execute((slot, id))
                .map(drop)
        };
        replace().map_err(self.memory.error_mapper())
    }

    fn keep_turn(&mut self, read: &TurnStatements) -> Result<()> {
        let turn = self.turn;
        let after = &turn.after;
        self.events.extend(turn.events.iter().cloned());
        if turn.secrets > 0 {
            self.events.push(event("secret_left_out", &json!({"texts": turn.secrets})));
        }
        let mut parents = Vec::new();
        if after.entities {
            self.keep_facts(read, &mut parents)?;
        }
        if after.preferences {
            self.keep_preferences(read, &mut parents)?;
        }
        if after.episodes {
            let episode = self.keep_episode(read, &parents)?;
            if after.entities {
                self.keep_answer(read, episode)?;
            }
        }
        if let Some(text) = read.skill.clone() {
            let trust = if turn.verified == Some(true) { Trust::Verified } else { Trust::Unverified };
            let mut tools: Vec<String> = Vec::new();
            for call in &turn.calls {
                if !tools.contains(&call.name) && tools.len() < 16 {
                    tools.push(call.name.clone());
                }
            }
            let note = Note {
                category: Some("skill".to_owned()),
                tags: tools,
                entities: Some(Vec::new()),
                ..self.note(Kind::Procedural, text, trust)
            };
            self.put(&note, "skill_kept")?;
        }
        let trouble = self.memory.error_mapper();
        for id in &turn.recalled {
            self.transaction
                .prepare_cached("UPDATE memories SET used = used + 1 WHERE id = ?1")
                .and_then(|mut update| update.execute([id]))
                .map_err(&trouble)?;
        }
        if after.preferences
            && let Some(path) = &after.memory_file
        {
            let payload = json!({"path": path, "user": turn.user, "session": turn.session}).to_string();
            work::queue(self.transaction, FILE, &turn.run, &payload, self.time).map_err(&trouble)?;
        }
        Ok(())
    }

    fn keep_facts(&mut self, read: &TurnStatements, parents: &mut Vec<i64>) -> Result<()> {
        for (one, found) in read.said.iter().filter(|(one, _)| one.states) {
            let note = Note {
                category: Some("fact".to_owned()),
                importance: Some(0.7),
                ..self.note(Kind::Semantic, one.text.clone(), Trust::User)
            };
            let id = self.put(&note, "fact_kept")?;
            parents.extend(id);
            self.keep_relations(found, id, Trust::User)?;
        }
        Ok(())
    }

    /// Stores the relations of preferences, which were kept when the turn was queued, and themselves where they were
    /// not: an older version queued the turn.
    fn keep_preferences(&mut self, read: &TurnStatements, parents: &mut Vec<i64>) -> Result<()> {
        for (one, found) in read.said.iter().filter(|(one, _)| one.prefers) {
            let id = match self.told(&one.text)? {
                Some((id, true)) => Some(id),
                // It was forgotten since.
                Some((_, false)) => continue,
                None => self.keep_preference(&one.text)?,
            };
            parents.extend(id);
            if self.turn.after.entities {
                self.keep_relations(found, id, Trust::User)?;
            }
        }
        Ok(())
    }

    fn keep_preference(&mut self, text: &str) -> Result<Option<i64>> {
        let note = Note {
            category: Some(PREFERENCE.to_owned()),
            importance: Some(0.9),
            ..self.note(Kind::Semantic, text.to_owned(), Trust::User)
        };
        self.put(&note, "preference_kept")
    }

    /// The preference of this text that this run told already, and whether it lives.
    fn told(&self, text: &str) -> Result<Option<(i64, bool)>> {
        self.transaction
            .prepare_cached(
                "SELECT id, state = 0 FROM memory_sources JOIN memories ON id = memory \
                 WHERE source = ?1 AND fingerprint = ?2 AND kind = 1 ORDER BY id DESC",
            )
            .and_then(|mut query| {
                let text = without_secrets(text.trim_end()).0;
                query
                    .query_row((self.turn.source(), fingerprint(&text)), |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()
            })
            .map_err(self.memory.error_mapper())
    }

    /// Stores the goal, as the user said it, and the summary, which rests on it, on statements and on recalled
    /// memories.
    fn keep_episode(&mut self, read: &TurnStatements, parents: &[i64]) -> Result<Option<i64>> {
        let turn = self.turn;
        let apart = |one: &&Sentence| !(one.states && turn.after.entities || one.prefers && turn.after.preferences);
        let wanted = read.said.iter().map(|(one, _)| one).filter(|one| apart(one) && !one.asks);
        let wanted: Vec<&str> = wanted.map(|one| one.text.as_str()).collect();
        let wanted = clip(&wanted.join(" "), 2_000);
        let mut from = parents.to_vec();
        if wanted.split_whitespace().count() >= 3 {
            let note = Note {
                category: Some(PROMPT.to_owned()),
                speaker: Some(turn.writer().to_owned()),
                importance: Some(0.4),
                ..self.note(Kind::Episodic, wanted, Trust::User)
            };
            from.extend(self.put_once(&note, "prompt_kept")?);
        }
        from.extend(&turn.recalled);
        let note = Note {
            category: Some(SUMMARY.to_owned()),
            tags: read.topics.clone(),
            entities: Some(read.entities.clone()),
            importance: Some(read.importance),
            derived_from: from,
            ..self.note(Kind::Episodic, read.summary.clone(), turn.trust())
        };
        let Some(id) = self.put_once(&note, "episode_kept")? else { return Ok(None) };
        self.replace_asked(read, id)?;
        self.transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO memory_episodes (memory, run, topics, started_at, ended_at, turns) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )
            .and_then(|mut insert| {
                let topics = serde_json::to_string(&read.topics).unwrap_or_else(|_| "[]".to_owned());
                insert.execute((
                    id,
                    &turn.run,
                    topics,
                    turn.started_at,
                    turn.ended_at,
                    i64::try_from(turn.turns).unwrap_or(i64::MAX),
                ))
            })
            .map_err(self.memory.error_mapper())?;
        Ok(Some(id))
    }

    /// Stores the relations that the answer states: facts that rest on the episode, no surer than it.
    fn keep_answer(&mut self, read: &TurnStatements, episode: Option<i64>) -> Result<()> {
        let turn = self.turn;
        for (one, found) in &read.answered {
            let note = Note {
                category: Some("fact".to_owned()),
                derived_from: episode.into_iter().collect(),
                ..self.note(Kind::Semantic, one.text.clone(), turn.trust())
            };
            let id = self.put(&note, "fact_kept")?;
            self.keep_relations(found, id, turn.trust())?;
        }
        Ok(())
    }

    fn keep_relations(&mut self, all: &[language::StatedRelation], memory: Option<i64>, trust: Trust) -> Result<()> {
        let source = self.turn.source();
        for found in all {
            let relation = Relation {
                subject: &found.subject,
                relation: found.relation,
                object: &found.object,
                source: Some(&source),
                memory,
                trust,
                user: self.turn.user.as_deref(),
            };
            insert_relation(self.transaction, &relation, self.memory.name())?;
            self.events.push(event("relation_kept", &json!({"relation": found.relation, "memory": memory})));
        }
        Ok(())
    }

    fn keep_thought(&mut self, thought: &Thought) -> Result<()> {
        let turn = self.turn;
        let adversarial = thought.category == "adversarial";
        let category = if adversarial { "adversarial" } else { "reflection" };
        let confidence = if thought.confidence.is_finite() { thought.confidence.clamp(0.0, 1.0) } else { 0.5 };
        let pattern = clip(thought.pattern.split_whitespace().collect::<Vec<_>>().join(" ").trim(), 600);
        let note = Note {
            category: Some(category.to_owned()),
            entities: Some(Vec::new()),
            importance: Some(confidence),
            ..self.note(Kind::Reflection, pattern, turn.trust())
        };
        let kind = if adversarial { "critique_kept" } else { "reflection_kept" };
        let Some(id) = self.put(&note, kind)? else { return Ok(()) };
        let trouble = self.memory.error_mapper();
        let run = || -> rusqlite::Result<()> {
            let new = self
                .transaction
                .prepare_cached("INSERT OR IGNORE INTO memory_supports VALUES (?1, ?2, ?3)")?
                .execute((id, &turn.run, self.time))?;
            if new == 0 {
                return Ok(());
            }
            let known: Option<i64> = self
                .transaction
                .prepare_cached("SELECT count FROM memory_reflections WHERE memory = ?1")?
                .query_row([id], |row| row.get(0))
                .optional()?;
            let query = if known.is_some() {
                "UPDATE memory_reflections SET confidences = confidences + ?2, count = count + 1, last_at = ?3 \
                 WHERE memory = ?1"
            } else {
                "INSERT INTO memory_reflections VALUES (?1, ?2, 1, ?3)"
            };
            self.transaction.prepare_cached(query)?.execute((id, confidence, self.time)).map(drop)
        };
        run().map_err(trouble)
    }
}
