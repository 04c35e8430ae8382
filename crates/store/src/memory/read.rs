//! Recall, and provenance of memories.

use std::{
    collections::{HashMap, HashSet},
    sync::{MutexGuard, PoisonError},
};

use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;

use super::{
    Memory,
    answer_kind::AnswerKinds,
    dates::{self, DateRange},
    index::{Entry, Index, ScoredMemory},
    index_build::count_terms,
    key_of,
    kinds::{Hit, Kind, Query, Record, Trust},
    now,
    supersede::{column, is_retold, superseded_by},
    vectors::{HASHING, Vectors},
    write::{checksum, terms, unknown},
};
use loopwright_base::error::Result;
use loopwright_guard::sensitivity::Level;
use loopwright_lexicon::words;

/// The share of a score that age and low importance can take at most: relevance decides, age breaks near ties.
const MAX_FADING: f64 = 0.1;
/// The factor of what tells of a turn: it repeats the words of a question, and answers it with what was known then.
const RETOLD: f64 = 0.5;
/// The factor of an episode that tells what is so no longer.
const OUTDATED: f64 = 0.8;
/// The weight of an embedder beside the words.
const EMBEDDING_WEIGHT: f32 = 0.6;
/// The weight of feature hashing, which knows no meanings: measured on conversations, more does harm.
const HASHING_WEIGHT: f32 = 0.15;
/// Bytes of a text in which its date is looked for.
const HEAD: usize = 128;
/// Hits beside those that are asked for in which checked ones are looked for.
const EXTRA_HITS: usize = 16;
/// The length up to which texts are compared for other wordings, in bytes.
pub(super) const SHORT: usize = 4_096;
/// Seconds in a day.
const DAY: f64 = 86_400.0;

/// The provenance of a memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Provenance {
    /// The memory.
    #[serde(flatten)]
    pub record: Record,
    /// `live`, `superseded`, `forgotten` or `merged`.
    pub state: &'static str,
    /// The time of the last change, in seconds since 1970.
    pub changed_at: f64,
    /// The memory that it was merged into.
    pub merged_into: Option<i64>,
    /// The memory that took its place.
    pub superseded_by: Option<i64>,
    /// The sources.
    pub sources: Vec<Source>,
    /// The memories it was made from, and theirs, down to the first, each once.
    pub derived_from: Vec<Provenance>,
    /// The memories that were made from it.
    pub derived: Vec<i64>,
}

/// A source of a memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Source {
    /// The name of the source.
    pub source: String,
    /// The trust in it.
    pub trust: Trust,
    /// The time at which it said so.
    pub at: f64,
}

/// The number of memories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Memories that can be recalled.
    pub live: usize,
    /// Forgotten ones.
    pub forgotten: usize,
    /// Memories that were merged into others.
    pub merged: usize,
    /// Relations between entities.
    pub relations: usize,
}

pub(super) const COLUMNS: &str = "id, text, kind, session, speaker, category, tags, entities, trust, importance, \
     said_at, stored_at, expires_at, seen, checksum, \
     (SELECT source FROM memory_sources WHERE memory = id ORDER BY at LIMIT 1), \
     user, sensitivity, used";

/// A record, and whether its text is as it was stored.
pub(super) fn record(row: &Row<'_>) -> rusqlite::Result<(Record, bool)> {
    let list = |at: usize| -> rusqlite::Result<Vec<String>> {
        Ok(serde_json::from_str(row.get_ref(at)?.as_str()?).unwrap_or_default())
    };
    let text: String = row.get(1)?;
    let whole = checksum(&text) == row.get::<_, i64>(14)?;
    let record = Record {
        id: row.get(0)?,
        text,
        kind: Kind::ALL.get(row.get::<_, usize>(2)?).copied().unwrap_or_default(),
        session: row.get(3)?,
        speaker: row.get(4)?,
        category: row.get(5)?,
        tags: list(6)?,
        entities: list(7)?,
        trust: Trust::ALL.get(row.get::<_, usize>(8)?).copied().unwrap_or(Trust::Untrusted),
        importance: row.get(9)?,
        at: row.get(10)?,
        stored_at: row.get(11)?,
        expires: row.get(12)?,
        seen: row.get(13)?,
        source: row.get(15)?,
        user: row.get(16)?,
        sensitivity: if row.get::<_, i64>(17)? >= Level::Sensitive as i64 { Level::Sensitive } else { Level::Normal },
        used: row.get(18)?,
    };
    Ok((record, whole))
}

impl Memory {
    /// The memories that match a question, best first. Any text is a query; nothing in it is syntax.
    pub fn recall(&self, query: &Query) -> Result<Vec<Hit>> {
        let trouble = self.error_mapper();
        self.refresh()?;
        let time = query.now.unwrap_or_else(now);
        let filter = Filter::new(query, time);
        let needs_rows = filter.needs_rows();
        let vectors = if query.vector.is_some() { Some(self.vectors(query.embedder.as_deref())?) } else { None };
        // Words beside the text are looked at in the rows: more candidates are taken until enough of them fit.
        let enough = query.limit.saturating_add(if query.limit == 0 { 0 } else { EXTRA_HITS });
        let mut wanted = if needs_rows { query.limit.saturating_mul(8).max(64) } else { enough };
        loop {
            let (found, sure, all) = {
                let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
                let session = match &query.session {
                    None => None,
                    Some(name) => match index.known_session(name) {
                        Some(number) => Some(number),
                        None => return Ok(Vec::new()),
                    },
                };
                let user = query.user.as_deref().map(|name| index.known_user(name));
                let theirs = |entry: &Entry| user.is_none_or(|user| entry.user.is_none() || entry.user == user);
                let keep = |entry: &Entry| theirs(entry) && filter.matches_entry(entry, session);
                let score_factor = |entry: &Entry| worth(entry, time) as f32;
                if vectors.is_none() {
                    let (found, sure) = index.search(&query.text, time, wanted, keep, score_factor);
                    let all = found.len() < wanted;
                    (found, sure, all)
                } else {
                    // Both look deeper than what is asked for: what both find wins.
                    let depth = wanted.saturating_mul(4).max(64);
                    let (words, sure) = index.search(&query.text, time, depth, keep, score_factor);
                    let near =
                        vectors.as_ref().zip(query.vector.as_deref()).map_or_else(Vec::new, |(vectors, vector)| {
                            vectors.nearest(vector, depth, |id| index.entry(id).is_some_and(&keep))
                        });
                    let all = words.len() < depth && near.len() < depth;
                    let weight =
                        if query.embedder.as_deref() == Some(HASHING) { HASHING_WEIGHT } else { EMBEDDING_WEIGHT };
                    let mut found = fuse(&words, &near, weight);
                    found.truncate(wanted);
                    (found, sure, all)
                }
            };
            let mut hits = Vec::new();
            let connection = self.reading()?;
            let known: HashSet<i64> = found.iter().map(|found| found.id).collect();
            let take = |all: Vec<ScoredMemory>, most: usize, hits: &mut Vec<Hit>| -> rusqlite::Result<()> {
                for found in all {
                    if hits.len() >= most {
                        break;
                    }
                    let Some((record, whole)) = live(&connection, found.id)? else { continue };
                    if whole && (!needs_rows || filter.fits(&record)) {
                        let age = (time - record.at.unwrap_or(record.stored_at)).max(0.0);
                        let found_by = found_by(&query.text, &record);
                        let superseded_by = superseded_by(&connection, found.id)?;
                        hits.push(Hit { record, score: f64::from(found.score), age, found_by, superseded_by });
                    }
                }
                Ok(())
            };
            take(found, enough, &mut hits).map_err(&trouble)?;
            if !all && hits.len() < enough {
                wanted = wanted.saturating_mul(8);
                continue;
            }
            if hits.iter().take(query.limit).any(|hit| !is_sure(hit)) {
                // However many put it otherwise: what somebody stands for is among those that are compared.
                let least = hits.last().map_or(0.0, |hit| hit.score) as f32;
                let sure = sure.into_iter().filter(|found| !known.contains(&found.id));
                let sure = sure.map(|found| ScoredMemory { score: found.score.min(least), ..found }).collect();
                let most = hits.len().saturating_add(query.limit);
                take(sure, most, &mut hits).map_err(&trouble)?;
            }
            return Ok(with_checked(once_a_turn(current_first(checked_first(hits))), query.limit));
        }
    }

    /// The provenance of a memory: its sources, the memories it was made from, times and trust.
    pub fn why(&self, id: i64) -> Result<Provenance> {
        let connection = self.reading()?;
        let mut seen = Vec::new();
        provenance(&connection, id, &mut seen, 0).map_err(self.error_mapper())?.ok_or_else(|| unknown(id))
    }

    /// The memory with this number, if it lives.
    pub fn get(&self, id: i64) -> Result<Option<Record>> {
        let connection = self.reading()?;
        Ok(live(&connection, id).map_err(self.error_mapper())?.map(|(record, _)| record))
    }

    /// The memories that live, newest first: of these kinds, of this session and of this user, where they are given.
    pub fn list(&self, query: &Query) -> Result<Vec<Record>> {
        let trouble = self.error_mapper();
        let connection = self.reading()?;
        let time = query.now.unwrap_or_else(now);
        let filter = Filter::new(query, time);
        let read = || -> rusqlite::Result<Vec<Record>> {
            let outdated = if query.outdated { "NULL" } else { column(&connection) };
            let columns =
                format!("SELECT {COLUMNS} FROM memories WHERE state = 0 AND {outdated} IS NULL ORDER BY id DESC");
            let mut statement = connection.prepare_cached(&columns)?;
            let mut rows = statement.query([])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let (one, whole) = record(row)?;
                let theirs = query.user.as_ref().is_none_or(|user| one.user.as_ref().is_none_or(|name| name == user));
                let matches_record = theirs
                    && (query.kinds.is_empty() || query.kinds.contains(&one.kind))
                    && query.session.as_ref().is_none_or(|session| one.session == *session)
                    && query.trust.is_none_or(|trust| one.trust >= trust)
                    && one.expires.is_none_or(|expires| expires > time)
                    && filter.fits(&one);
                if matches_record && whole {
                    found.push(one);
                }
                if found.len() >= query.limit {
                    break;
                }
            }
            Ok(found)
        };
        read().map_err(trouble)
    }

    /// Those of these memories that have no vector of an embedder, with their texts.
    pub fn without_vectors(&self, ids: &[i64]) -> Result<Vec<(i64, String)>> {
        let connection = self.reading()?;
        let read = || -> rusqlite::Result<Vec<(i64, String)>> {
            let mut statement = connection.prepare_cached(
                "SELECT text FROM memories WHERE id = ?1 AND state = 0 \
                 AND NOT EXISTS (SELECT 1 FROM memory_vectors WHERE memory = ?1)",
            )?;
            let mut found = Vec::new();
            for id in ids {
                let text: Option<String> = statement.query_row([id], |row| row.get(0)).optional()?;
                found.extend(text.map(|text| (*id, text)));
            }
            Ok(found)
        };
        read().map_err(self.error_mapper())
    }

    /// Stores an embedder's vectors of memories that are there.
    pub fn keep_vectors(&self, embedder: &str, vectors: &[(i64, Vec<f32>)]) -> Result<()> {
        let trouble = self.error_mapper();
        let mut connection = self.writing()?;
        let transaction = connection.transaction().map_err(&trouble)?;
        for (id, vector) in vectors {
            let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
            transaction
                .prepare_cached("INSERT OR REPLACE INTO memory_vectors VALUES (?1, ?2, ?3)")
                .and_then(|mut insert| insert.execute((id, embedder, bytes)))
                .map_err(&trouble)?;
        }
        transaction.commit().map_err(&trouble)
    }

    /// The number of memories and relations.
    pub fn stats(&self) -> Result<Stats> {
        let connection = self.reading()?;
        let count =
            |query: &str| connection.query_row(query, [], |row| row.get::<_, usize>(0)).map_err(self.error_mapper());
        Ok(Stats {
            live: count("SELECT count(*) FROM memories WHERE state = 0")?,
            forgotten: count("SELECT count(*) FROM memories WHERE state = 1")?,
            merged: count("SELECT count(*) FROM memories WHERE state = 2")?,
            relations: count("SELECT count(*) FROM memory_relations WHERE forgotten_at IS NULL")?,
        })
    }

    /// The vectors of an embedder, up to date.
    fn vectors(&self, embedder: Option<&str>) -> Result<MutexGuard<'_, Vectors>> {
        let embedder = embedder.unwrap_or_default();
        let trouble = self.error_mapper();
        let connection = self.reading()?;
        let mut vectors = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        if vectors.embedder != embedder {
            *vectors = Vectors::of(embedder);
        }
        let mut read = || -> rusqlite::Result<()> {
            let mut statement = connection.prepare_cached(
                "SELECT memory, vector FROM memory_vectors WHERE memory > ?1 AND embedder = ?2 ORDER BY memory",
            )?;
            let mut rows = statement.query((vectors.newest, embedder))?;
            while let Some(row) = rows.next()? {
                let id: i64 = row.get(0)?;
                let bytes = row.get_ref(1)?.as_blob()?;
                let vector = bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
                vectors.add(id, vector);
                vectors.newest = id;
            }
            Ok(())
        };
        read().map_err(&trouble)?;
        Ok(vectors)
    }

    /// Brings the index up to date with the file, whoever changed it.
    fn refresh(&self) -> Result<()> {
        let trouble = self.error_mapper();
        let connection = self.reading()?;
        let newest: i64 = connection
            .prepare_cached("SELECT coalesce(max(revision), 0) FROM memories")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
            .map_err(&trouble)?;
        if self.index.read().unwrap_or_else(PoisonError::into_inner).revision >= newest {
            return Ok(());
        }
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        read_changes(&connection, &mut index).map_err(&trouble)
    }
}

/// Moves checked hits before unchecked ones of the same terms: `The valve is not open.` from a page does not stand in
/// the way of a verified `The valve is open.`. Only such hits change places.
fn checked_first(hits: Vec<Hit>) -> Vec<Hit> {
    if hits.iter().all(|hit| hit.record.trust == hits.first().map_or(Trust::Untrusted, |first| first.record.trust)) {
        return hits;
    }
    let mut places: HashMap<Vec<String>, Vec<usize>> = HashMap::new();
    for (at, hit) in hits.iter().enumerate().filter(|(_, hit)| hit.record.text.len() <= SHORT) {
        places.entry(terms(&hit.record.text).into_iter().collect()).or_default().push(at);
    }
    let mut order: Vec<usize> = (0..hits.len()).collect();
    for of in places.into_values().filter(|of| of.len() > 1) {
        let trust = |at: &usize| hits.get(*at).map(|hit| hit.record.trust);
        let mut sorted = of.clone();
        sorted.sort_by(|one, other| trust(other).cmp(&trust(one)).then(one.cmp(other)));
        for (place, at) in of.into_iter().zip(sorted) {
            if let Some(place) = order.get_mut(place) {
                *place = at;
            }
        }
    }
    // A place keeps its score, so that scores go on to fall.
    let scores: Vec<f64> = hits.iter().map(|hit| hit.score).collect();
    let mut hits: Vec<Option<Hit>> = hits.into_iter().map(Some).collect();
    let ordered = order.into_iter().zip(scores);
    ordered.filter_map(|(at, score)| hits.get_mut(at).and_then(Option::take).map(|hit| Hit { score, ..hit })).collect()
}

/// Moves what took the place of a memory before it.
fn current_first(mut hits: Vec<Hit>) -> Vec<Hit> {
    for at in 0..hits.len() {
        let Some(new) = hits.get(at).and_then(|hit| hit.superseded_by) else { continue };
        let Some(later) = hits.iter().skip(at + 1).position(|hit| hit.record.id == new) else { continue };
        let scores: Vec<f64> = hits.iter().map(|hit| hit.score).collect();
        if let Some(moved) = hits.get_mut(at..=at + 1 + later) {
            moved.rotate_right(1);
        }
        hits.iter_mut().zip(scores).for_each(|(hit, score)| hit.score = score);
    }
    hits
}

/// Moves what tells of a turn once more behind all others: what was asked for, and what is told of it, are one hit.
fn once_a_turn(hits: Vec<Hit>) -> Vec<Hit> {
    let mut told: HashSet<String> = HashSet::new();
    let (mut kept, again): (Vec<Hit>, Vec<Hit>) = hits.into_iter().partition(|hit| {
        let source = hit.record.source.clone().unwrap_or_default();
        told.insert(source.clone()) || source.is_empty() || !is_talk(hit)
    });
    let least = kept.last().map_or(f64::INFINITY, |hit| hit.score);
    kept.extend(again.into_iter().map(|hit| Hit { score: hit.score.min(least), ..hit }));
    kept
}

/// Returns whether a person stands for what a hit says. What tells of a turn says what was asked, and no more.
pub(super) fn is_sure(hit: &Hit) -> bool {
    hit.record.trust >= Trust::User && !is_talk(hit)
}

fn is_talk(hit: &Hit) -> bool {
    is_retold(hit.record.kind, hit.record.category.as_deref())
}

/// The best `limit` hits. Half of these places are kept for hits that a person stands for, and half for those that do
/// not tell of turns: no number of others crowds them out.
fn with_checked(mut hits: Vec<Hit>, limit: usize) -> Vec<Hit> {
    let mut rest = hits.split_off(limit.min(hits.len()));
    for wanted in [|hit: &Hit| !is_talk(hit), is_sure as fn(&Hit) -> bool] {
        let there = hits.iter().filter(|hit| wanted(hit)).count();
        for _ in there..limit / 2 {
            let (Some(next), Some(last)) = (rest.iter().position(wanted), hits.iter().rposition(|hit| !wanted(hit)))
            else {
                break;
            };
            hits.remove(last);
            hits.push(rest.remove(next));
        }
    }
    hits.sort_by(|one, other| other.score.total_cmp(&one.score));
    hits
}

/// Two rankings as one: each hit counts as much as it is near the best one of its ranking, and meaning `weight` times
/// as much as words.
fn fuse(words: &[ScoredMemory], near: &[(i64, f32)], weight: f32) -> Vec<ScoredMemory> {
    let mut scores: HashMap<i64, f32> = HashMap::new();
    let best = words.first().map_or(1.0, |found| found.score).max(f32::MIN_POSITIVE);
    for found in words {
        *scores.entry(found.id).or_default() += found.score / best;
    }
    let (first, last) =
        (near.first().map_or(0.0, |(_, cosine)| *cosine), near.last().map_or(0.0, |(_, cosine)| *cosine));
    for (id, cosine) in near {
        // What cosines there are is up to the embedder: they are measured against each other.
        let nearness = if first > last { (cosine - last) / (first - last) } else { 1.0 };
        *scores.entry(*id).or_default() += weight * nearness.max(f32::EPSILON);
    }
    let mut all: Vec<ScoredMemory> = scores.into_iter().map(|(id, score)| ScoredMemory { id, score }).collect();
    all.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    all
}

/// Rows that are read before their terms are counted.
const BATCH: usize = 65_536;

/// Reads what changed since the index was brought up to date.
fn read_changes(connection: &Connection, index: &mut Index) -> rusqlite::Result<()> {
    // Few changes are found by their numbers, all there is by reading on.
    let order = if index.revision == 0 { "id" } else { "revision, id" };
    let query = format!(
        "SELECT id, revision, state, session, kind, trust, importance, coalesce(said_at, stored_at), expires_at, text, \
         speaker, category, tags, entities, said_at, user, {} FROM memories WHERE revision > ?1 ORDER BY {order}",
        column(connection)
    );
    let mut statement = connection.prepare_cached(&query)?;
    let mut rows = statement.query([index.revision])?;
    let mut newest = index.revision;
    let mut new: Vec<(Entry, String)> = Vec::new();
    let take = |index: &mut Index, new: &mut Vec<(Entry, String)>| {
        new.sort_by_key(|(entry, _)| entry.id);
        let (entries, texts): (Vec<Entry>, Vec<String>) = new.drain(..).unzip();
        let apart = count_terms(index, &texts);
        index.remove_terms(entries.iter());
        for (at, entry) in entries.into_iter().enumerate() {
            index.add(entry, &apart, at);
        }
    };
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        newest = newest.max(row.get(1)?);
        if row.get::<_, i64>(2)? != 0 {
            index.remove(id);
            continue;
        }
        let searched = searched(row)?;
        let entry = entry(row, id, &searched, index)?;
        if !index.update(&entry) {
            new.push((entry, searched));
        }
        if new.len() >= BATCH {
            take(index, &mut new);
        }
    }
    take(index, &mut new);
    index.revision = newest;
    Ok(())
}

fn optional<'a>(row: &'a Row<'_>, at: usize) -> rusqlite::Result<&'a str> {
    Ok(row.get_ref(at)?.as_str_or_null()?.unwrap_or(""))
}

/// The index's record of the memory in a row.
fn entry(row: &Row<'_>, id: i64, searched: &str, index: &mut Index) -> rusqlite::Result<Entry> {
    let text = row.get_ref(9)?.as_str()?;
    let speaker = optional(row, 10)?;
    // Without a time of its own, a memory was stored when it was stored: that is no date to ask for.
    let day = match dates::date(text, HEAD) {
        Some(days) if days.first == days.last => Some(days.first),
        _ => row.get::<_, Option<f64>>(14)?.map(DateRange::of),
    };
    let kind = Kind::ALL.get(row.get::<_, usize>(4)?).copied().unwrap_or_default();
    Ok(Entry {
        id,
        session: index.session(row.get_ref(3)?.as_str()?),
        kind,
        retold: is_retold(kind, row.get_ref(11)?.as_str_or_null()?),
        outdated: row.get::<_, Option<i64>>(16)?.is_some(),
        trust: Trust::ALL.get(row.get::<_, usize>(5)?).copied().unwrap_or(Trust::Untrusted),
        importance: row.get::<_, f64>(6)? as f32,
        at: row.get(7)?,
        expires: row.get(8)?,
        question: text.trim_end().ends_with('?'),
        answer_kinds: AnswerKinds::of(text),
        speaker: (!speaker.is_empty()).then(|| index.speaker(speaker)),
        day,
        user: row.get_ref(15)?.as_str_or_null()?.map(|user| index.user(user)),
        words: checksum(searched),
    })
}

/// The text by which the memory in a row can be found: its own, and the words beside it that do not stand there.
fn searched(row: &Row<'_>) -> rusqlite::Result<String> {
    let text = row.get_ref(9)?.as_str()?;
    let mut all = text.to_owned();
    let mut add = |word: &str| {
        if !word.is_empty() && word != "[]" {
            all.push_str(" \n");
            all.push_str(word);
        }
    };
    // A name that the text begins with counts there.
    add(Some(optional(row, 10)?).filter(|speaker| !text.contains(speaker)).unwrap_or(""));
    add(optional(row, 11)?);
    for list in [12, 13] {
        let list = optional(row, list)?;
        if list != "[]" {
            let words: Vec<String> = serde_json::from_str(list).unwrap_or_default();
            words.iter().filter(|word| !text.contains(word.as_str())).for_each(|word| add(word));
        }
    }
    Ok(all)
}

/// The factor of a score: fading is computed from the age each time, and stored nowhere.
fn worth(entry: &Entry, time: f64) -> f64 {
    let age = ((time - entry.at) / DAY).max(0.0);
    let freshness = entry.kind.half_life().map_or(1.0, |half| 0.5_f64.powf(age / half));
    let told = if entry.retold { RETOLD } else { 1.0 } * if entry.outdated { OUTDATED } else { 1.0 };
    told * (1.0 - MAX_FADING * (1.0 - freshness) + MAX_FADING * (f64::from(entry.importance) - 0.5))
}

struct Filter<'a> {
    query: &'a Query,
    time: f64,
    entity: Option<String>,
}

impl<'a> Filter<'a> {
    fn new(query: &'a Query, time: f64) -> Self {
        Self { query, time, entity: query.entity.as_deref().map(key_of) }
    }

    /// Filters by the index's record.
    fn matches_entry(&self, entry: &Entry, session: Option<u32>) -> bool {
        let query = self.query;
        session.is_none_or(|session| entry.session == session)
            && (query.kinds.is_empty() || query.kinds.contains(&entry.kind))
            && query.trust.is_none_or(|trust| entry.trust >= trust)
            && entry.lasts(self.time)
            && (query.outdated || !entry.outdated || (entry.kind == Kind::Episodic && !entry.retold))
            && query.since.is_none_or(|since| entry.at >= since)
            && query.until.is_none_or(|until| entry.at <= until)
    }

    fn needs_rows(&self) -> bool {
        let query = self.query;
        query.category.is_some() || !query.tags.is_empty() || self.entity.is_some() || query.speaker.is_some()
    }

    /// Filters by the row.
    fn fits(&self, record: &Record) -> bool {
        let query = self.query;
        query.category.as_ref().is_none_or(|category| record.category.as_ref() == Some(category))
            && query.tags.iter().all(|tag| record.tags.contains(tag))
            && self.entity.as_ref().is_none_or(|entity| record.entities.iter().any(|name| key_of(name) == *entity))
            && query
                .speaker
                .as_ref()
                .is_none_or(|speaker| record.speaker.as_ref().is_some_and(|name| key_of(name) == key_of(speaker)))
    }
}

fn live(connection: &Connection, id: i64) -> rusqlite::Result<Option<(Record, bool)>> {
    let query = format!("SELECT {COLUMNS} FROM memories WHERE id = ?1 AND state = 0");
    connection.prepare_cached(&query)?.query_row([id], record).optional()
}

/// The words of the query that a memory holds, or that its neighbours do.
fn found_by(query: &str, record: &Record) -> Vec<String> {
    let mut own: HashSet<String> = HashSet::new();
    let mut take = |text: &str| {
        words::each_term(text, |term| {
            own.insert(term.to_owned());
        });
    };
    take(&record.text);
    record
        .speaker
        .iter()
        .chain(&record.category)
        .chain(&record.tags)
        .chain(&record.entities)
        .for_each(|text| take(text));
    let mut found: Vec<String> = Vec::new();
    for word in words::words(query) {
        let held = own.contains(&word.whole) || word.parts.iter().any(|part| own.contains(part));
        if held && !found.contains(&word.surface) && found.len() < 16 {
            found.push(word.surface);
        }
    }
    if found.is_empty() {
        found.push("its neighbours in the session".to_owned());
    }
    found
}

/// The length of the longest chain of derivations that is returned.
const MAX_CHAIN: usize = 32;

fn provenance(
    connection: &Connection,
    id: i64,
    seen: &mut Vec<i64>,
    depth: usize,
) -> rusqlite::Result<Option<Provenance>> {
    seen.push(id);
    let query =
        format!("SELECT {COLUMNS}, state, changed_at, merged_into, {} FROM memories WHERE id = ?1", column(connection));
    let found = connection
        .prepare_cached(&query)?
        .query_row([id], |row| {
            let state = ["live", "forgotten", "merged"].get(row.get::<_, usize>(19)?).copied().unwrap_or("unknown");
            let superseded_by: Option<i64> = row.get(22)?;
            let state = if state == "live" && superseded_by.is_some() { "superseded" } else { state };
            Ok((record(row)?.0, state, row.get(20)?, row.get(21)?, superseded_by))
        })
        .optional()?;
    let Some((record, state, changed_at, merged_into, superseded_by)) = found else { return Ok(None) };
    let mut sources = connection.prepare_cached(
        "SELECT source, trust, at FROM memory_sources WHERE memory = ?1 \
         OR memory IN (SELECT id FROM memories WHERE merged_into = ?1) ORDER BY at, source",
    )?;
    let sources = sources
        .query_map([id], |row| {
            let trust = Trust::ALL.get(row.get::<_, usize>(1)?).copied().unwrap_or(Trust::Untrusted);
            Ok(Source { source: row.get(0)?, trust, at: row.get(2)? })
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let ids = |query: &str| -> rusqlite::Result<Vec<i64>> {
        connection.prepare_cached(query)?.query_map([id], |row| row.get(0))?.collect()
    };
    let parents = ids("SELECT parent FROM memory_derivations WHERE child = ?1 ORDER BY parent")?;
    let derived = ids("SELECT child FROM memory_derivations WHERE parent = ?1 ORDER BY child")?;
    let mut derived_from = Vec::new();
    if depth < MAX_CHAIN {
        for parent in parents {
            if !seen.contains(&parent)
                && let Some(parent) = provenance(connection, parent, seen, depth + 1)?
            {
                derived_from.push(parent);
            }
        }
    }
    Ok(Some(Provenance { record, state, changed_at, merged_into, superseded_by, sources, derived_from, derived }))
}
