//! Ranking memories for a question, in memory: BM25 over windows of a conversation.
//!
//! A turn of a conversation rarely repeats what it answers: the words of a question stand in the turn before. So each
//! short episode counts the terms of its neighbours in the session too, at a discount that grows with their distance,
//! and is as long as its window. A turn that only asks says little itself, and more about the next one. Text that is
//! long, or a fact that nobody in particular said, stands for itself. Same memories, same question, same order.

use std::collections::HashMap;

use super::{
    answer_kind::AnswerKinds,
    dates,
    index_build::TermCounts,
    key_of,
    kinds::{Kind, Trust},
};
use loopwright_lexicon::words;
use loopwright_retrieve::bm25::idf;

/// Different terms of a query that count at most, the rarest.
const MAX_QUERY_TERMS: usize = 64;
/// The number that stands for no neighbour.
const NONE: u32 = u32::MAX;
/// Weights of the terms of the first, second, … turn before.
const WEIGHTS_BEFORE: [f32; 4] = [0.5, 0.3, 0.2, 0.1];
/// Weights of the terms of the first, second, … turn after.
const WEIGHTS_AFTER: [f32; 4] = [0.3, 0.2, 0.15, 0.1];
/// The factor of a question's terms in the turn that follows.
const QUESTION_NEIGHBOUR_WEIGHT: f32 = 1.5;
/// The factor of a turn that is a question itself.
const QUESTION_WEIGHT: f32 = 0.8;
/// The factor of a turn whose speaker the question names.
const SPEAKER_WEIGHT: f32 = 1.5;
/// The factor of a turn that holds the kind of answer that the question asks for: a time or a number.
const ANSWER_WEIGHT: f32 = 1.15;
/// Bytes of a query in which a date is looked for.
const LONGEST_QUERY: usize = 2_000;
/// Terms up to which a text leans on its neighbours in full; one twice as long leans a quarter as much.
const SHORT: f32 = 24.0;
/// Memories that may hold a term before it is counted where it stands only, not around it: it says too little to pay
/// for that.
const MAX_SPREAD: usize = 8_192;
/// The constants of BM25, for windows.
const K1: f32 = 1.2;
const B: f32 = 0.5;

impl Entry {
    /// Returns whether the memory has a place in a conversation: an episode, or what somebody said.
    const fn is_turn(&self) -> bool {
        matches!(self.kind, Kind::Episodic) || self.speaker.is_some()
    }

    /// The conversation that the memory has its place in.
    const fn talk(&self) -> (u32, Option<u32>) {
        (self.session, self.user)
    }

    /// Returns whether the memory still counts at a time.
    pub(super) fn lasts(&self, time: f64) -> bool {
        self.expires.is_none_or(|expires| expires > time)
    }
}

/// The index's record of a memory.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub id: i64,
    pub session: u32,
    pub kind: Kind,
    /// The memory tells of a turn.
    pub retold: bool,
    /// Another memory took its place.
    pub outdated: bool,
    pub trust: Trust,
    pub importance: f32,
    /// The time at which it happened, or was stored.
    pub at: f64,
    pub expires: Option<f64>,
    pub question: bool,
    /// The kinds of answers that the text holds.
    pub answer_kinds: AnswerKinds,
    /// The speaker, by [`Index::speaker`].
    pub speaker: Option<u32>,
    /// The day that the text names, or on which it was said.
    pub day: Option<i64>,
    /// The user, by [`Index::user`].
    pub user: Option<u32>,
    /// The checksum of all words that the memory can be found by.
    pub words: i64,
}

#[derive(Clone, Copy)]
struct Posting {
    slot: u32,
    count: f32,
}

struct Slot {
    entry: Entry,
    alive: bool,
    before: u32,
    after: u32,
    /// The number of terms of the memory itself.
    length: f32,
    /// The number of terms of its window, each at its discount.
    span: f32,
}

/// All memories that can be recalled.
#[derive(Default)]
pub(super) struct Index {
    terms: HashMap<Box<str>, u32>,
    postings: Vec<Vec<Posting>>,
    slots: Vec<Slot>,
    by_id: HashMap<i64, u32>,
    sessions: HashMap<String, u32>,
    users: HashMap<String, u32>,
    /// Speakers by their names.
    speakers: HashMap<String, u32>,
    /// Speakers by each word of their names.
    named: HashMap<String, Vec<u32>>,
    /// The last slot of each session and user: the memories of one user are no neighbours of another's.
    last: HashMap<(u32, Option<u32>), u32>,
    alive: usize,
    spans: f64,
    /// The last change that the index holds.
    pub revision: i64,
}

/// A memory that matches a query.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScoredMemory {
    pub id: i64,
    pub score: f32,
}

/// The best `limit` of the matches, best first; of equals, the one stored first.
fn best(mut found: Vec<(u32, ScoredMemory)>, limit: usize) -> Vec<ScoredMemory> {
    if limit == 0 {
        return Vec::new();
    }
    let better =
        |(a, x): &(u32, ScoredMemory), (b, y): &(u32, ScoredMemory)| y.score.total_cmp(&x.score).then(a.cmp(b));
    if found.len() > limit {
        found.select_nth_unstable_by(limit - 1, better);
        found.truncate(limit);
    }
    found.sort_by(better);
    found.into_iter().map(|(_, found)| found).collect()
}

impl Index {
    /// The number of a session, by its name.
    pub(super) fn session(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.sessions.get(name) {
            return number;
        }
        let number = self.sessions.len() as u32;
        self.sessions.insert(name.to_owned(), number);
        number
    }

    /// The number of a user, by the name.
    pub(super) fn user(&mut self, name: &str) -> u32 {
        let number = self.users.len() as u32;
        *self.users.entry(name.to_owned()).or_insert(number)
    }

    /// The number of a user whom some memory belongs to.
    pub(super) fn known_user(&self, name: &str) -> Option<u32> {
        self.users.get(name).copied()
    }

    /// The number of a speaker, by the name.
    pub(super) fn speaker(&mut self, name: &str) -> u32 {
        let key = key_of(name);
        if let Some(&number) = self.speakers.get(&key) {
            return number;
        }
        let number = self.speakers.len() as u32;
        for word in key.split(' ').filter(|word| word.len() > 1) {
            self.named.entry(word.to_owned()).or_default().push(number);
        }
        self.speakers.insert(key, number);
        number
    }

    /// The speakers that a question names.
    fn named_speakers(&self, query: &str) -> Vec<u32> {
        let mut all: Vec<u32> = Vec::new();
        if self.named.is_empty() {
            return all;
        }
        for word in query.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’' | '_' | '-'))) {
            let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
            let word = word.trim_matches(['\'', '’']).to_lowercase();
            for number in self.named.get(&word).into_iter().flatten() {
                if !all.contains(number) && all.len() < MAX_QUERY_TERMS {
                    all.push(*number);
                }
            }
        }
        all
    }

    pub(super) fn known_session(&self, name: &str) -> Option<u32> {
        self.sessions.get(name).copied()
    }

    pub(super) fn entry(&self, id: i64) -> Option<&Entry> {
        let slot = self.slots.get(*self.by_id.get(&id)? as usize)?;
        slot.alive.then_some(&slot.entry)
    }

    /// Adds a memory, whose terms were counted with others; one that is known keeps its place in the conversation. Its
    /// old terms must be gone, see [`unword`](Self::unword).
    pub(super) fn add(&mut self, entry: Entry, apart: &TermCounts, at: usize) {
        let known = self.by_id.get(&entry.id).copied();
        let number = known.unwrap_or(self.slots.len() as u32);
        let mut length = 0.0_f32;
        for &(term, count) in apart.terms_of(at) {
            length += count;
            if let Some(list) = self.postings.get_mut(term as usize) {
                // In order of slots, which is that of adding unless words change.
                let place = if known.is_some() { list.partition_point(|one| one.slot < number) } else { list.len() };
                list.insert(place, Posting { slot: number, count });
            }
        }
        if let Some(slot) = self.slots.get_mut(number as usize) {
            (slot.entry, slot.length) = (entry, length);
        } else {
            let (talk, id, episode) = (entry.talk(), entry.id, entry.is_turn());
            let before = if episode { self.last.insert(talk, number).unwrap_or(NONE) } else { NONE };
            self.slots.push(Slot { entry, alive: true, before, after: NONE, length, span: 0.0 });
            if let Some(slot) = self.slots.get_mut(before as usize) {
                slot.after = number;
            }
            self.by_id.insert(id, number);
            self.alive += 1;
        }
        self.measure_around(number);
    }

    /// Removes the terms of those of these memories that are known: their words have changed. All at once, since it
    /// looks through everything.
    pub(super) fn remove_terms<'a>(&mut self, entries: impl Iterator<Item = &'a Entry>) {
        let mut slots: Vec<u32> = entries.filter_map(|entry| self.by_id.get(&entry.id).copied()).collect();
        if slots.is_empty() {
            return;
        }
        slots.sort_unstable();
        for list in &mut self.postings {
            list.retain(|posting| slots.binary_search(&posting.slot).is_err());
        }
    }

    /// The numbers of some terms, known or not.
    pub(super) fn numbers<'a>(&mut self, terms: impl Iterator<Item = &'a str>) -> Vec<u32> {
        let mut numbers = Vec::new();
        for term in terms {
            numbers.push(if let Some(&number) = self.terms.get(term) {
                number
            } else {
                let number = self.postings.len() as u32;
                self.terms.insert(term.into(), number);
                self.postings.push(Vec::new());
                number
            });
        }
        numbers
    }

    /// Updates the record of a memory; `false` if it is not known under these words, and is to be [added](Self::add).
    pub(super) fn update(&mut self, entry: &Entry) -> bool {
        let slot = self.by_id.get(&entry.id).and_then(|&at| self.slots.get_mut(at as usize));
        let Some(slot) = slot.filter(|slot| slot.entry.words == entry.words) else { return false };
        slot.entry = entry.clone();
        true
    }

    /// Removes a memory: it is neither found any more nor a neighbour of others.
    pub(super) fn remove(&mut self, id: i64) {
        let Some(number) = self.by_id.remove(&id) else { return };
        let Some(slot) = self.slots.get_mut(number as usize) else { return };
        let (before, after, talk) = (slot.before, slot.after, slot.entry.talk());
        slot.alive = false;
        self.spans -= f64::from(slot.span);
        self.alive -= 1;
        if let Some(slot) = self.slots.get_mut(before as usize) {
            slot.after = after;
        }
        if let Some(slot) = self.slots.get_mut(after as usize) {
            slot.before = before;
        }
        if self.last.get(&talk) == Some(&number) {
            if before == NONE {
                self.last.remove(&talk);
            } else {
                self.last.insert(talk, before);
            }
        }
        for near in [before, after] {
            if near != NONE {
                self.measure_around(near);
            }
        }
    }

    /// The weight of a slot's neighbours in its window, beside their distance.
    fn neighbour_weight(slot: &Slot) -> f32 {
        let short = (SHORT / slot.length.max(1.0)).min(1.0);
        if slot.entry.is_turn() { short * short } else { 0.0 }
    }

    /// The weight of a slot in the window of one that comes `distance` turns after it.
    fn weight_before(distance: usize, of: &Slot) -> f32 {
        let weight = WEIGHTS_BEFORE.get(distance).copied().unwrap_or_default();
        if distance == 0 && of.entry.question { weight * QUESTION_NEIGHBOUR_WEIGHT } else { weight }
    }

    /// Measures the windows that reach `number`.
    fn measure_around(&mut self, number: u32) {
        let mut at = number;
        for _ in 0..WEIGHTS_AFTER.len() {
            match self.slots.get(at as usize) {
                Some(slot) if slot.before != NONE => at = slot.before,
                _ => break,
            }
        }
        for _ in 0..=WEIGHTS_AFTER.len() + WEIGHTS_BEFORE.len() {
            let span = self.span(at);
            let Some(slot) = self.slots.get_mut(at as usize) else { return };
            self.spans += f64::from(span) - f64::from(slot.span);
            slot.span = span;
            at = slot.after;
        }
    }

    fn span(&self, number: u32) -> f32 {
        let Some(slot) = self.slots.get(number as usize) else { return 0.0 };
        let leaning = Self::neighbour_weight(slot);
        let mut span = slot.length;
        let mut at = slot.before;
        for distance in 0..WEIGHTS_BEFORE.len() {
            let Some(near) = self.slots.get(at as usize) else { break };
            span += leaning * Self::weight_before(distance, near) * near.length;
            at = near.before;
        }
        at = slot.after;
        for weight in WEIGHTS_AFTER {
            let Some(near) = self.slots.get(at as usize) else { break };
            span += leaning * weight * near.length;
            at = near.after;
        }
        span
    }

    /// The different terms of a query that any memory holds, with their weights.
    fn query_terms(&self, query: &str) -> Vec<(u32, f32)> {
        let mut terms: Vec<(u32, f32)> = Vec::new();
        let mut places: HashMap<u32, usize> = HashMap::new();
        words::each_term(query, |term| {
            let Some(&number) = self.terms.get(term) else { return };
            if let Some(count) = places.get(&number).and_then(|&at| terms.get_mut(at)) {
                count.1 += 1.0;
            } else {
                places.insert(number, terms.len());
                terms.push((number, 1.0));
            }
        });
        let weigh = |(number, count): (u32, f32)| {
            let holding = self.postings.get(number as usize).map_or(0, Vec::len);
            let all = self.slots.len();
            (number, count * idf(all, holding.min(all)) as f32)
        };
        let mut terms: Vec<(u32, f32)> = terms.into_iter().map(weigh).collect();
        if terms.len() > MAX_QUERY_TERMS {
            terms.sort_by(|a, b| b.1.total_cmp(&a.1));
            terms.truncate(MAX_QUERY_TERMS);
        }
        terms
    }

    /// The best `limit` memories that `keep` keeps, best first, and the best `limit` of those that somebody stands for;
    /// `worth` is what a score is multiplied by. What has expired at `time` finds nothing, not even what stands beside
    /// it.
    pub(super) fn search(
        &self,
        query: &str,
        time: f64,
        limit: usize,
        keep: impl Fn(&Entry) -> bool,
        worth: impl Fn(&Entry) -> f32,
    ) -> (Vec<ScoredMemory>, Vec<ScoredMemory>) {
        let terms = self.query_terms(query);
        let mut scores = vec![0.0_f32; self.slots.len()];
        let mut counts = vec![0.0_f32; self.slots.len()];
        let mut touched: Vec<u32> = Vec::new();
        let speakers = self.named_speakers(query);
        let days = dates::date(query, LONGEST_QUERY).or_else(|| dates::relative(query, time, LONGEST_QUERY));
        let wanted = AnswerKinds::asked(query);
        let average = (self.spans / self.alive.max(1) as f64).max(1.0) as f32;
        for (number, weight) in terms {
            let Some(list) = self.postings.get(number as usize) else { continue };
            let around = list.len() <= MAX_SPREAD;
            for &posting in list {
                self.spread(posting, around, time, &mut counts, &mut touched);
            }
            for &at in &touched {
                let at = at as usize;
                if let (Some(count), Some(score), Some(slot)) =
                    (counts.get_mut(at), scores.get_mut(at), self.slots.get(at))
                {
                    let tf = std::mem::take(count);
                    let norm = K1 * (1.0 - B + B * slot.span / average);
                    *score += weight * tf * (K1 + 1.0) / (tf + norm);
                }
            }
            touched.clear();
        }
        let mut found: Vec<(u32, ScoredMemory)> = Vec::new();
        for (at, (&score, slot)) in scores.iter().zip(&self.slots).enumerate() {
            if score > 0.0 && slot.alive && keep(&slot.entry) {
                let question = if slot.entry.question { QUESTION_WEIGHT } else { 1.0 };
                let spoken = slot.entry.speaker.is_some_and(|speaker| speakers.contains(&speaker));
                let near = days.zip(slot.entry.day).map_or(0.0, |(days, day)| days.nearness(day));
                let factor = if slot.entry.answer_kinds.answers(wanted) { ANSWER_WEIGHT } else { 1.0 };
                let fit = factor * (1.0 + near) * if spoken { SPEAKER_WEIGHT } else { 1.0 };
                let score = score * question * fit * worth(&slot.entry);
                found.push((at as u32, ScoredMemory { id: slot.entry.id, score }));
            }
        }
        let is_stood_for = |(at, _): &&(u32, ScoredMemory)| {
            self.slots.get(*at as usize).is_some_and(|slot| slot.entry.trust >= Trust::User && !slot.entry.retold)
        };
        let sure = found.iter().filter(is_stood_for).copied().collect();
        (best(found, limit), best(sure, limit))
    }

    /// Counts a term in the window of its own slot and of those around it.
    fn spread(&self, posting: Posting, around: bool, time: f64, counts: &mut [f32], touched: &mut Vec<u32>) {
        let Some(slot) = self.slots.get(posting.slot as usize) else { return };
        if !slot.alive || !slot.entry.lasts(time) {
            return;
        }
        let mut add = |at: u32, much: f32| {
            if let Some(count) = counts.get_mut(at as usize) {
                if *count == 0.0 {
                    touched.push(at);
                }
                *count += much;
            }
        };
        add(posting.slot, posting.count);
        if !around || !slot.entry.is_turn() {
            return;
        }
        let mut at = slot.after;
        for distance in 0..WEIGHTS_BEFORE.len() {
            let Some(near) = self.slots.get(at as usize) else { break };
            add(at, posting.count * Self::weight_before(distance, slot) * Self::neighbour_weight(near));
            at = near.after;
        }
        at = slot.before;
        for weight in WEIGHTS_AFTER {
            let Some(near) = self.slots.get(at as usize) else { break };
            add(at, posting.count * weight * Self::neighbour_weight(near));
            at = near.before;
        }
    }
}
