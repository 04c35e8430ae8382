//! Passages to search in by words, by what the best of them say, by the directions of the corpus, and by vectors if
//! there are any, fused by rank.
//!
//! BM25 finds; RM3 feedback asks again with the words of the best passages; [`Lsa`] ranks by meaning within the corpus.
//! The three (and an embedder's cosine) are joined by reciprocal rank fusion. The same passages and query give the same
//! hits, bit for bit. Large corpora are ranked by direction among the candidates of the words only, so that a query
//! stays fast.

use std::collections::HashMap;

use super::{
    bm25::{self, Parameters, idf},
    lsa::{Lsa, MAX_SAMPLE, Weighted},
    words,
};
use crate::core::error::{Error, Result};

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
const LSA_WEIGHT: f64 = 2.0;
/// What the ranking by an embedder weighs.
const VECTOR_WEIGHT: f64 = 1.0;

/// From this support on passages are taken to hold an answer: chosen on one half of Cranfield's questions and as many
/// foreign ones, and held against the other half; see `docs/retrieval.md`.
pub const ANSWERABLE: f64 = 0.42;
/// How many passages are looked at for support.
const SUPPORTING: usize = 5;
/// So many words of a longer query must stand together.
const ENOUGH_WORDS: usize = 3;

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

type Hasher = std::hash::BuildHasherDefault<xxhash_rust::xxh3::Xxh3Default>;

/// Passages to search in.
#[derive(Debug, Default)]
pub struct Index {
    parameters: Parameters,
    terms: HashMap<Box<str>, u32, Hasher>,
    /// For each term the passages that hold it, and how often.
    postings: Vec<Vec<(u32, u32)>>,
    /// The terms of all passages, one after the other, and how often.
    forward: Vec<(u32, u32)>,
    /// Where the terms of each passage end, and how many words it has.
    passages: Vec<(usize, u32)>,
    length: u64,
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
        self.passages.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.passages.is_empty()
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
                return Err(Error::usage("invalid_value", "a vector holds what is no finite number"));
            }
            self.width = width;
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
            self.vectors.extend(vector.iter().map(|x| x * scale));
        }
        self.bytes = bytes;
        let passage = self.passages.len() as u32;
        let start = self.forward.len();
        let mut length = 0_u32;
        let Self { terms, postings, forward, .. } = self;
        words::each_term(text, |term| {
            length = length.saturating_add(1);
            let number = if let Some(&number) = terms.get(term) {
                number
            } else {
                let number = postings.len() as u32;
                terms.insert(term.into(), number);
                postings.push(Vec::new());
                number
            };
            let Some(holding) = postings.get_mut(number as usize) else { return };
            match holding.last_mut() {
                Some((last, count)) if *last == passage => *count = count.saturating_add(1),
                _ => {
                    holding.push((passage, 1));
                    forward.push((number, 0));
                }
            }
        });
        for (number, count) in forward.iter_mut().skip(start) {
            *count = postings.get(*number as usize).and_then(|held| held.last()).map_or(1, |(_, count)| *count);
        }
        self.passages.push((self.forward.len(), length));
        self.length += u64::from(length);
        Ok(())
    }

    /// Looks for the directions of the corpus now, and not in the next search.
    pub fn prepare(&mut self) {
        if self.latent.as_ref().is_some_and(|latent| latent.of == self.len()) {
            return;
        }
        let step = self.len().div_ceil(MAX_SAMPLE).max(1);
        let sample: Vec<Weighted> = (0..self.len()).step_by(step).map(|at| self.weighted(at)).collect();
        let lsa = Lsa::of(&sample);
        let mut places = Vec::new();
        if let Some(lsa) = lsa.as_ref().filter(|_| self.len() <= ALL_RANKED) {
            places.reserve(self.len() * lsa.rank());
            for at in 0..self.len() {
                places.extend(lsa.vector(&self.weighted(at)));
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
        let asked = self.read(query);
        let all = self.len();
        let least = if all <= ALL_RANKED { DEEP } else { CANDIDATES };
        let wanted = k.saturating_mul(4).clamp(least, all.max(least));
        let mut by_words = self.by_words(&asked, wanted.min(all));
        if ways.feedback && !by_words.is_empty() {
            by_words = self.by_words(&self.feedback(&asked, &by_words), wanted.min(all));
        }
        let mut fused: HashMap<usize, f64> = HashMap::new();
        let mut fuse = |ranking: &[(usize, f64)], weight: f64| {
            for (rank, (passage, _)) in ranking.iter().enumerate() {
                *fused.entry(*passage).or_default() += weight / (RANK_OFFSET + rank as f64 + 1.0);
            }
        };
        let candidates: Vec<usize> = by_words.iter().map(|(passage, _)| *passage).collect();
        fuse(&by_words, 1.0);
        if let Some(latent) = self.latent.as_ref().filter(|latent| ways.lsa && latent.of == all) {
            fuse(&self.by_direction(latent, &asked, &candidates, wanted), LSA_WEIGHT);
        }
        if let Some(vector) = vector.filter(|_| self.width > 0) {
            let near = |at: usize| self.vectors.get(at * self.width..(at + 1) * self.width).map(|row| dot(row, vector));
            let scored = (0..all).filter_map(|at| Some((at, f64::from(near(at)?))));
            fuse(&best(scored.collect(), wanted), VECTOR_WEIGHT);
        }
        let ranked = best(fused.into_iter().collect(), k);
        Ok(ranked.into_iter().map(|(passage, score)| Found { passage, score }).collect())
    }

    /// How likely the passages hold an answer: how much of the query, weighted by rarity in the whole corpus, the best
    /// of the first five holds, less where that are fewer than three words. From 0 to 1; see [`ANSWERABLE`].
    pub fn support(&self, query: &str) -> f64 {
        let mut asked: Vec<String> = words::terms(query);
        asked.sort_unstable();
        asked.dedup();
        let all = self.len();
        let known: Vec<Option<u32>> = asked.iter().map(|term| self.terms.get(term.as_str()).copied()).collect();
        let weight = |term: &Option<u32>| idf(all, term.map_or(0, |term| self.holding(term).len()));
        let total: f64 = known.iter().map(weight).sum();
        if total <= 0.0 {
            return 0.0;
        }
        let (mut best, mut most) = (0.0_f64, 0_usize);
        for (passage, _) in self.by_words(&self.read(query), SUPPORTING) {
            let held = self.terms_of(passage);
            let met = |term: &&Option<u32>| term.is_some_and(|term| held.iter().any(|(other, _)| *other == term));
            best = best.max(known.iter().filter(met).map(weight).sum::<f64>() / total);
            most = most.max(known.iter().filter(met).count());
        }
        let enough = known.len().clamp(1, ENOUGH_WORDS);
        best * (most as f64 / enough as f64).min(1.0)
    }

    /// The words of the query that stand in no passage, as written.
    pub fn missing(&self, query: &str) -> Vec<String> {
        let absent = |word: &words::Word| {
            !self.terms.contains_key(word.whole.as_str())
                && !word.parts.iter().any(|part| self.terms.contains_key(part.as_str()))
        };
        words::words(query).into_iter().filter(absent).map(|word| word.surface).collect()
    }

    fn holding(&self, term: u32) -> &[(u32, u32)] {
        self.postings.get(term as usize).map_or(&[], Vec::as_slice)
    }

    fn terms_of(&self, passage: usize) -> &[(u32, u32)] {
        let end = self.passages.get(passage).map_or(0, |(end, _)| *end);
        let start = passage.checked_sub(1).and_then(|before| self.passages.get(before)).map_or(0, |(end, _)| *end);
        self.forward.get(start..end).unwrap_or_default()
    }

    fn average(&self) -> f64 {
        self.length as f64 / self.len().max(1) as f64
    }

    /// A passage with the weights that BM25 gives its words.
    fn weighted(&self, passage: usize) -> Weighted {
        let length = self.passages.get(passage).map_or(0.0, |(_, length)| f64::from(*length));
        let (average, all) = (self.average(), self.len());
        let weight = |(term, count): &(u32, u32)| {
            let idf = idf(all, self.holding(*term).len());
            (*term, self.parameters.weight(idf, f64::from(*count), length, average) as f32)
        };
        self.terms_of(passage).iter().map(weight).collect()
    }

    fn read(&self, query: &str) -> Vec<(u32, f64)> {
        let mut counts: Vec<(u32, f64)> = Vec::new();
        words::each_term(query, |term| {
            let Some(&number) = self.terms.get(term) else { return };
            if let Some((_, count)) = counts.iter_mut().find(|(known, _)| *known == number) {
                *count += 1.0;
            } else if counts.len() < bm25::MAX_QUERY_TERMS {
                counts.push((number, 1.0));
            }
        });
        counts
    }

    fn by_words(&self, asked: &[(u32, f64)], most: usize) -> Vec<(usize, f64)> {
        let (average, all) = (self.average(), self.len());
        let mut scores: Vec<f64> = vec![0.0; all];
        for (term, share) in asked {
            let held = self.holding(*term);
            let idf = idf(all, held.len());
            for (passage, count) in held {
                let at = *passage as usize;
                if let (Some(score), Some((_, length))) = (scores.get_mut(at), self.passages.get(at)) {
                    *score += share * self.parameters.weight(idf, f64::from(*count), f64::from(*length), average);
                }
            }
        }
        best(scores.into_iter().enumerate().filter(|(_, score)| *score > 0.0).collect(), most)
    }

    /// RM3: the query with the words that mark its best passages.
    fn feedback(&self, asked: &[(u32, f64)], ranked: &[(usize, f64)]) -> Vec<(u32, f64)> {
        let top: Vec<(usize, f64)> = ranked.iter().take(FEEDBACK_PASSAGES).copied().collect();
        let total: f64 = top.iter().map(|(_, score)| score).sum();
        let mut gained: HashMap<u32, f64> = HashMap::new();
        for (passage, score) in &top {
            let length = self.passages.get(*passage).map_or(1.0, |(_, length)| f64::from((*length).max(1)));
            for (term, count) in self.terms_of(*passage) {
                *gained.entry(*term).or_default() += score / total * f64::from(*count) / length;
            }
        }
        let all = self.len();
        let mut gained: Vec<(u32, f64, f64)> =
            gained.into_iter().map(|(term, share)| (term, share, share * idf(all, self.holding(term).len()))).collect();
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
        let all = self.len();
        let query: Weighted =
            asked.iter().map(|(term, count)| (*term, (count * idf(all, self.holding(*term).len())) as f32)).collect();
        let query = lsa.vector(&query);
        if query.iter().all(|x| *x == 0.0) {
            return Vec::new();
        }
        let scored: Vec<(usize, f64)> = if latent.places.is_empty() {
            candidates.iter().map(|&at| (at, f64::from(dot(&lsa.vector(&self.weighted(at)), &query)))).collect()
        } else {
            let rows = latent.places.chunks_exact(lsa.rank().max(1));
            rows.enumerate().map(|(at, row)| (at, f64::from(dot(row, &query)))).collect()
        };
        best(scored.into_iter().filter(|(_, score)| *score > 0.0).collect(), most)
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The best `most`, best first; equal ones in the order of adding.
fn best(mut scored: Vec<(usize, f64)>, most: usize) -> Vec<(usize, f64)> {
    let better = |a: &(usize, f64), b: &(usize, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if most == 0 {
        return Vec::new();
    }
    if scored.len() > most {
        scored.select_nth_unstable_by(most - 1, better);
        scored.truncate(most);
    }
    scored.sort_unstable_by(better);
    scored
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
