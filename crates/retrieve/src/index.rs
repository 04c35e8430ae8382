//! Passages to search in by words, by what the best of them say, by the directions of the corpus, and by vectors if
//! there are any, fused.
//!
//! BM25 finds; RM3 feedback asks again with the words of the best passages; [`Lsa`] ranks by meaning within the corpus.
//! The scores of the three (and an embedder's cosine) are added, each over its best one; then passages take over some
//! of their neighbours' scores, and what holds the whole query is put first. The same passages and query give the same
//! hits, bit for bit. Large corpora are ranked by direction among the candidates of the words only, so that a query
//! stays fast.

use std::collections::HashMap;

use super::{
    bm25::{Postings, best},
    lsa::{Lsa, MAX_SAMPLE, Weighted},
    near::{self, Vectors},
    support::{Asked, SUPPORTING},
};
use loopwright_base::error::{Error, Result};
use loopwright_lexicon::words;

/// At most this many passages.
pub const MAX_PASSAGES: usize = 2_000_000;
/// At most this many bytes of text.
pub const MAX_BYTES: usize = 1 << 30;
/// Passages whose words are taken for the second question.
const FEEDBACK_PASSAGES: usize = 5;
/// Words that the second question gains.
const FEEDBACK_WORDS: usize = 20;
/// How much of the second question is the first.
const OWN_SHARE: f64 = 0.5;
/// Above this many passages directions rank only the candidates of the words.
const ALL_RANKED: usize = 20_000;
/// How many candidates those are.
const CANDIDATES: usize = 300;
/// How long the rankings are that are joined where all passages are ranked.
const DEEP: usize = 1_500;
/// The constant of reciprocal rank fusion: how little the first ranks differ.
const RANK_OFFSET: f64 = 60.0;
/// What the ranking by directions weighs against that by words.
const LSA_WEIGHT: f64 = 1.5;
/// What the ranking by an embedder weighs.
const VECTOR_WEIGHT: f64 = 1.5;

/// So many of the best are compared with each other.
const SMOOTHED: usize = 200;
/// What holding all of the query is worth, and how quickly that fades where something is missing.
const WHOLE_REWARD: f64 = 2.0;
const WHOLE_POWER: i32 = 8;

/// Which rankings are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ways {
    /// Ask again with the words of the best passages.
    pub feedback: bool,
    /// Rank by the directions of the corpus.
    pub lsa: bool,
}

impl Default for Ways {
    fn default() -> Self {
        Self { feedback: true, lsa: true }
    }
}

/// A passage that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Its number, in the order of adding.
    pub passage: usize,
    /// How well it fits; comparable within one search only.
    pub score: f64,
}

/// Passages to search in.
#[derive(Debug, Default)]
pub struct Index {
    postings: Postings,
    bytes: usize,
    width: usize,
    vectors: Vec<f32>,
    latent: Option<Latent>,
}

/// Directions, and, for corpora that are not large, each passage's place in them.
#[derive(Debug)]
struct Latent {
    of: usize,
    lsa: Option<Lsa>,
    places: Vec<f32>,
}

impl Index {
    /// How many passages there are.
    pub const fn len(&self) -> usize {
        self.postings.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.postings.is_empty()
    }

    /// How long the vectors are; 0 if there are none.
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Adds a passage, with the vector of an embedder if all have one.
    pub fn add(&mut self, text: &str, vector: Option<&[f32]>) -> Result<()> {
        let bytes = self.bytes.saturating_add(text.len());
        if self.len() >= MAX_PASSAGES || bytes > MAX_BYTES {
            return Err(Error::usage("index_full", format!("the index holds {} passages and is full", self.len()))
                .hint("split the corpus into several indexes"));
        }
        let width = vector.map_or(0, <[f32]>::len);
        if !self.is_empty() && width != self.width {
            return Err(Error::usage(
                "invalid_value",
                format!("a vector of {width} numbers among vectors of {}", self.width),
            )
            .hint("give all passages vectors of one embedder, or none"));
        }
        if let Some(vector) = vector {
            if vector.iter().any(|x| !x.is_finite()) {
                return Err(Error::usage("invalid_value", "a vector holds what is no finite number")
                    .hint("look at what the embedder gave"));
            }
            self.width = width;
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
            self.vectors.extend(vector.iter().map(|x| x * scale));
        }
        self.bytes = bytes;
        self.postings.add(text);
        Ok(())
    }

    /// Looks for the directions of the corpus now, and not in the next search.
    pub fn prepare(&mut self) {
        if self.latent.as_ref().is_some_and(|latent| latent.of == self.len()) {
            return;
        }
        let step = self.len().div_ceil(MAX_SAMPLE).max(1);
        let sample: Vec<Weighted> = (0..self.len()).step_by(step).map(|at| self.postings.weighted(at)).collect();
        let lsa = Lsa::of(&sample);
        let mut places = Vec::new();
        if let Some(lsa) = lsa.as_ref().filter(|_| self.len() <= ALL_RANKED) {
            places.reserve(self.len() * lsa.rank());
            for at in 0..self.len() {
                places.extend(lsa.vector(&self.postings.weighted(at)));
            }
        }
        self.latent = Some(Latent { of: self.len(), lsa, places });
    }

    /// The best `k` passages for `query`, best first; `vector` is what the embedder made of the query. Without
    /// [`Index::prepare`] since the last passage came, directions are left out.
    pub fn search(&self, query: &str, vector: Option<&[f32]>, ways: Ways, k: usize) -> Result<Vec<Found>> {
        if let Some(vector) = vector.filter(|vector| vector.len() != self.width) {
            let message =
                format!("the query's vector has {} numbers, those of the passages {}", vector.len(), self.width);
            return Err(Error::usage("invalid_value", message).hint("use the embedder of the passages"));
        }
        let asked = self.postings.read(query);
        let all = self.len();
        let least = if all <= ALL_RANKED { DEEP } else { CANDIDATES };
        let wanted = k.saturating_mul(4).clamp(least, all.max(least)).min(all);
        let mut by_words = self.postings.rank(&asked, wanted);
        if ways.feedback && !by_words.is_empty() {
            by_words = self.postings.rank(&self.feedback(&asked, &by_words), wanted);
        }
        let latent = self.latent.as_ref().filter(|latent| ways.lsa && latent.of == all);
        let mut fused: HashMap<usize, f64> = HashMap::new();
        fuse(&mut fused, &by_words, 1.0);
        if let Some(latent) = latent {
            let candidates: Vec<usize> = by_words.iter().map(|(passage, _)| *passage).collect();
            fuse(&mut fused, &self.by_direction(latent, &asked, &candidates, wanted), LSA_WEIGHT);
        }
        if let Some(vector) = vector.filter(|_| self.width > 0) {
            let near =
                |at: usize| self.vectors.get(at * self.width..(at + 1) * self.width).map(|row| near::dot(row, vector));
            let scored = (0..all).filter_map(|at| Some((at, f64::from(near(at)?)))).filter(|(_, near)| *near > 0.0);
            fuse(&mut fused, &best(scored.collect(), wanted), VECTOR_WEIGHT);
        }
        let mut ranked = best(fused.into_iter().collect(), k.max(CANDIDATES));
        let head = ranked.len().min(SMOOTHED);
        if let Some(head) = ranked.get_mut(..head) {
            self.smooth(latent, vector.is_some(), head);
            self.reward(&asked, head);
        }
        let ranked = best(ranked, k);
        Ok(ranked.into_iter().map(|(passage, score)| Found { passage, score }).collect())
    }

    /// What is like the passages that fit, fits better: each takes over a part of its nearest neighbours' scores.
    fn smooth(&self, latent: Option<&Latent>, embedded: bool, ranked: &mut [(usize, f64)]) {
        let mut vectors = Vec::new();
        if let Some((latent, lsa)) = latent.and_then(|latent| Some((latent, latent.lsa.as_ref()?))) {
            let width = lsa.rank();
            let mut rows = Vec::with_capacity(ranked.len() * width);
            for (at, _) in ranked.iter() {
                match latent.places.get(at * width..(at + 1) * width) {
                    Some(row) => rows.extend_from_slice(row),
                    None => rows.extend(lsa.vector(&self.postings.weighted(*at))),
                }
            }
            vectors.push(Vectors { rows, width });
        }
        if embedded && self.width > 0 {
            let row = |at: usize| self.vectors.get(at * self.width..(at + 1) * self.width).unwrap_or_default();
            let rows = ranked.iter().flat_map(|(at, _)| row(*at)).copied().collect();
            vectors.push(Vectors { rows, width: self.width });
        }
        near::smooth(ranked, &vectors);
    }

    /// What holds (nearly) all that is asked for is wanted itself, whatever is around it.
    fn reward(&self, asked: &[(u32, f64)], ranked: &mut [(usize, f64)]) {
        let weights: Vec<(u32, f64)> =
            asked.iter().map(|(term, _)| (*term, self.postings.rarity(Some(*term)))).collect();
        let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
        if total <= 0.0 {
            return;
        }
        for (at, score) in ranked {
            let held = self.postings.terms_of(*at);
            let met = weights.iter().filter(|(term, _)| held.iter().any(|(other, _)| other == term));
            let share = met.map(|(_, weight)| weight).sum::<f64>() / total;
            *score += WHOLE_REWARD * share.powi(WHOLE_POWER);
        }
    }

    /// How likely the passages hold an answer, from 0 to 1; see [`support`](super::support).
    pub fn support(&self, query: &str) -> f64 {
        let asked = Asked::read(query);
        let known: Vec<Option<u32>> = asked.terms().iter().map(|term| self.postings.number(term)).collect();
        let holding: Vec<usize> = known.iter().map(|term| self.postings.holders_of(*term)).collect();
        let best = self.postings.rank(&self.postings.read(query), SUPPORTING).into_iter().map(|(passage, _)| {
            let held = self.postings.terms_of(passage);
            let has = |term: &Option<u32>| term.is_some_and(|term| held.iter().any(|(other, _)| *other == term));
            known.iter().map(has).collect()
        });
        asked.support(self.len(), &holding, best)
    }

    /// The words of the query that stand in no passage, as written.
    pub fn missing(&self, query: &str) -> Vec<String> {
        let absent = |word: &words::Word| {
            self.postings.number(&word.whole).is_none()
                && !word.parts.iter().any(|part| self.postings.number(part).is_some())
        };
        words::words(query).into_iter().filter(absent).map(|word| word.surface).collect()
    }

    /// Whether a passage holds one of the query's words.
    pub fn shares_word(&self, query: &str, passage: usize) -> bool {
        let held = self.postings.terms_of(passage);
        self.postings.read(query).iter().any(|(term, _)| held.iter().any(|(other, _)| other == term))
    }

    /// RM3: the query with the words that mark its best passages.
    fn feedback(&self, asked: &[(u32, f64)], ranked: &[(usize, f64)]) -> Vec<(u32, f64)> {
        let top: Vec<(usize, f64)> = ranked.iter().take(FEEDBACK_PASSAGES).copied().collect();
        let total: f64 = top.iter().map(|(_, score)| score).sum();
        let mut gained: HashMap<u32, f64> = HashMap::new();
        for (passage, score) in &top {
            let length = f64::from(self.postings.words_of(*passage).max(1));
            for (term, count) in self.postings.terms_of(*passage) {
                *gained.entry(*term).or_default() += score / total * f64::from(*count) / length;
            }
        }
        let telling = |(term, share)| (term, share, share * self.postings.rarity(Some(term)));
        let mut gained: Vec<(u32, f64, f64)> = gained.into_iter().map(telling).collect();
        gained.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
        gained.truncate(FEEDBACK_WORDS);
        let sum: f64 = gained.iter().map(|(_, share, _)| share).sum();
        let own: f64 = asked.iter().map(|(_, count)| count).sum();
        let mut query: Vec<(u32, f64)> = asked.iter().map(|(term, count)| (*term, OWN_SHARE * count / own)).collect();
        for (term, share, _) in gained {
            let share = (1.0 - OWN_SHARE) * share / sum;
            match query.iter_mut().find(|(known, _)| *known == term) {
                Some((_, weight)) => *weight += share,
                None => query.push((term, share)),
            }
        }
        query
    }

    fn by_direction(
        &self,
        latent: &Latent,
        asked: &[(u32, f64)],
        candidates: &[usize],
        most: usize,
    ) -> Vec<(usize, f64)> {
        let Some(lsa) = &latent.lsa else { return Vec::new() };
        let weight = |(term, count): &(u32, f64)| (*term, (count * self.postings.rarity(Some(*term))) as f32);
        let query: Weighted = asked.iter().map(weight).collect();
        let query = lsa.vector(&query);
        if query.iter().all(|x| *x == 0.0) {
            return Vec::new();
        }
        let scored: Vec<(usize, f64)> = if latent.places.is_empty() {
            candidates
                .iter()
                .map(|&at| (at, f64::from(near::dot(&lsa.vector(&self.postings.weighted(at)), &query))))
                .collect()
        } else {
            let rows = latent.places.chunks_exact(lsa.rank().max(1));
            rows.enumerate().map(|(at, row)| (at, f64::from(near::dot(row, &query)))).collect()
        };
        best(scored.into_iter().filter(|(_, score)| *score > 0.0).collect(), most)
    }
}

/// Adds a ranking: its best counts as one.
fn fuse(fused: &mut HashMap<usize, f64>, ranking: &[(usize, f64)], weight: f64) {
    let Some(top) = ranking.first().map(|(_, score)| *score).filter(|top| *top > 0.0) else { return };
    for (passage, score) in ranking {
        *fused.entry(*passage).or_default() += weight * score / top;
    }
}

/// Joins rankings by reciprocal rank: each is a list of numbers, best first, with its weight.
pub fn fuse_ranks(rankings: &[(Vec<usize>, f64)], k: usize) -> Vec<(usize, f64)> {
    let mut fused: HashMap<usize, f64> = HashMap::new();
    for (ranking, weight) in rankings {
        for (rank, one) in ranking.iter().enumerate() {
            *fused.entry(*one).or_default() += weight / (RANK_OFFSET + rank as f64 + 1.0);
        }
    }
    best(fused.into_iter().collect(), k)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(texts: &[&str]) -> Index {
        let mut index = Index::default();
        for text in texts {
            index.add(text, None).unwrap();
        }
        index.prepare();
        index
    }

    fn found(index: &Index, query: &str) -> Vec<usize> {
        index.search(query, None, Ways::default(), 10).unwrap().into_iter().map(|one| one.passage).collect()
    }

    #[test]
    fn e06_x15_words_find_and_substrings_do_not() {
        let index = index(&["The authentication of users.", "And then it rained.", "Users log in with a key."]);
        assert_eq!(found(&index, "then"), Vec::<usize>::new(), "a stop word");
        assert_eq!(found(&index, "user")[0], 0);
        assert_eq!(found(&index, "rain"), [1]);
        assert!(found(&index, "zebra").is_empty());
        assert_eq!(index.missing("Do zebras rain?"), ["zebras"]);
    }

    #[test]
    fn vectors_must_fit() {
        let mut index = Index::default();
        index.add("one", Some(&[1.0, 0.0])).unwrap();
        assert_eq!(index.add("two", None).unwrap_err().code, "invalid_value");
        assert_eq!(index.add("two", Some(&[f32::NAN, 0.0])).unwrap_err().code, "invalid_value");
        index.add("two", Some(&[0.0, 3.0])).unwrap();
        let hits = index.search("unknown", Some(&[0.1, 1.0]), Ways::default(), 1).unwrap();
        assert_eq!(hits[0].passage, 1, "meaning finds what no word does");
        assert!(index.search("x", Some(&[1.0]), Ways::default(), 1).is_err());
        assert!(Index::default().search("x", None, Ways::default(), 5).unwrap().is_empty());
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]
        #[test]
        fn any_text_can_be_searched(texts in proptest::collection::vec("[a-f]{1,3}( [a-f]{1,3}){0,6}|\\PC{0,12}", 0..72), query in "[a-f]{1,3} [a-f]{1,3}|\\PC{0,9}", k in 0_usize..20) {
            let mut index = Index::default();
            for text in &texts {
            index.add(text, None).unwrap();
        }
            index.prepare();
            let hits = index.search(&query, None, Ways::default(), k).unwrap();
            proptest::prop_assert!(hits.len() <= k && hits.iter().all(|one| one.passage < texts.len()));
            proptest::prop_assert!(hits.is_sorted_by(|a, b| a.score >= b.score));
            proptest::prop_assert_eq!(&hits, &index.search(&query, None, Ways::default(), k).unwrap());
        }
    }
}
