//! The state of a research, in one typed, versioned, serialisable object. Every phase reads it and writes it; nothing
//! else carries knowledge from one cycle to the next.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use loopwright_retrieve::analysis::{Background, Coverage};

/// The version of the state's form.
pub const VERSION: u32 = 1;

/// A vector; as text it is base64 of its numbers, four bytes each, little end first: exact, and half as long as digits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vector(pub Vec<f32>);

impl Vector {
    /// Returns whether the vector holds no number.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

impl Serialize for Vector {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = self.0.iter().flat_map(|number| number.to_le_bytes()).collect();
        let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
        for three in bytes.chunks(3) {
            let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
            let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
            for place in 0..4 {
                let digit = DIGITS.get((bits >> (18 - 6 * place)) as usize & 63).copied().unwrap_or(b'A');
                text.push(if place <= three.len() { char::from(digit) } else { '=' });
            }
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Vector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        pub(crate) enum VectorForm {
            Text(String),
            Numbers(Vec<f32>),
        }
        let text = match VectorForm::deserialize(deserializer)? {
            VectorForm::Numbers(numbers) => return Ok(Self(numbers)),
            VectorForm::Text(text) => text,
        };
        let (mut bytes, mut bits, mut held) = (Vec::with_capacity(text.len()), 0_u32, 0_u32);
        for digit in text.trim_end_matches('=').bytes() {
            let value = match digit {
                b'A'..=b'Z' => digit - b'A',
                b'a'..=b'z' => digit - b'a' + 26,
                b'0'..=b'9' => digit - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return Err(D::Error::custom("a vector is base64")),
            };
            bits = (bits << 6 | u32::from(value)) & 0xFF_FFFF;
            held += 6;
            if held >= 8 {
                held -= 8;
                bytes.push((bits >> held) as u8);
            }
        }
        if bytes.len() % 4 != 0 {
            return Err(D::Error::custom("a vector holds four bytes for each number"));
        }
        let number = |four: &[u8]| four.try_into().map(f32::from_le_bytes).unwrap_or_default();
        Ok(Self(bytes.chunks_exact(4).map(number).collect()))
    }
}

/// A topic of the outline: a section of the report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topic {
    /// The topic.
    pub topic: String,
    /// The subtopics.
    #[serde(default)]
    pub subtopics: Vec<String>,
}

impl Topic {
    /// Topic and subtopics on one line.
    pub fn line(&self) -> String {
        if self.subtopics.is_empty() {
            self.topic.clone()
        } else {
            format!("{}: {}", self.topic, self.subtopics.join(", "))
        }
    }
}

/// An action of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Action {
    /// A search.
    Search {
        /// The query.
        query: String,
        /// The topic that it serves.
        target_outline_topic: String,
    },
    /// Another section.
    AddToOutline {
        /// The topic.
        topic: String,
        /// The subtopics.
        subtopics: Vec<String>,
    },
}

/// An action that was refused, with the reason; the next plan is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The query or topic.
    pub what: String,
    /// The reason.
    pub reason: String,
}

/// The author of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannedBy {
    /// A model.
    #[default]
    Model,
    /// Rules: there is no model, or it gave no plan that could be read.
    Rules,
}

/// The plan of a cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResearchPlan {
    /// The critique of the cycle before.
    pub critique: String,
    /// The reasoning: for logs, never shown as fact.
    pub thought: String,
    /// The actions.
    pub plan: Vec<Action>,
    /// The refused actions.
    #[serde(default)]
    pub refused: Vec<Refusal>,
    /// The author.
    #[serde(default)]
    pub by: PlannedBy,
}

/// A query that was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskedQuery {
    /// The query.
    pub query: String,
    /// The topic that it serves.
    pub topic: String,
    /// The cycle, from 1.
    pub cycle: u32,
    /// The number of hits.
    pub hits: usize,
    /// The number of pages among them that were new.
    pub pages: usize,
    /// The vector by which it was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<Vector>,
}

/// A hit of a search, and its page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchHit {
    /// The query.
    pub query: String,
    /// The cycle, from 1.
    pub cycle: u32,
    /// The address or path.
    pub url: String,
    /// The title.
    pub title: String,
    /// The date of publication, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// The number of its source, from 0, if it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<usize>,
    /// The reason why it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A page or file that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcePage {
    /// The address or path.
    pub url: String,
    /// The title.
    pub title: String,
    /// The date of publication, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// Characters that were read.
    pub characters: usize,
    /// Only the excerpt of the search was there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub excerpt: bool,
}

/// A chunk of a page that is kept: some sentences, and their place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chunk {
    /// The text.
    pub text: String,
    /// The number of the source, from 0.
    pub source: usize,
    /// The first byte in the page's text.
    pub start: usize,
    /// The end in bytes, behind the last one.
    pub end: usize,
    /// The first line, from 1.
    pub line: usize,
    /// The last line.
    pub end_line: usize,
    /// The headings above the chunk.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub heading: String,
    /// The topic that the chunk was kept for.
    pub topic: String,
    /// The cycle in which the chunk was kept, or, while it is not, read.
    pub cycle: u32,
    /// Relevance minus redundancy.
    pub score: f32,
    /// The distance from all that was kept before.
    pub novelty: f32,
}

impl Chunk {
    /// The key in the cache of vectors.
    pub fn key(&self) -> String {
        format!("{}:{}", self.source, self.start)
    }
}

/// A chunk that was read and is not kept: each cycle judges it anew.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UnkeptChunk {
    /// The chunk.
    pub chunk: Chunk,
    /// The vector; empty where words are hashed, which costs next to nothing.
    #[serde(default, skip_serializing_if = "Vector::is_empty")]
    pub vector: Vector,
}

/// The document imagined for a topic, frozen for the model that wrote it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hypothesis {
    /// The model; empty for the topic's own words.
    pub model: String,
    /// The document.
    pub text: String,
    /// The mean of its vector and that of the topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<Vector>,
}

/// The record of a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CycleRecord {
    /// The cycle, from 1.
    pub cycle: u32,
    /// Pages read.
    pub pages: usize,
    /// Chunks read; those of earlier cycles are judged again with them.
    pub seen: usize,
    /// Chunks kept.
    pub accepted: usize,
    /// Numbers and names in them that were new.
    pub claims: usize,
    /// The information gain, where it could be measured.
    pub gain: Option<f32>,
    /// The mean coverage of the topics.
    pub coverage: f32,
}

/// The state of a research.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResearchState {
    /// The version of this form.
    pub version: u32,
    /// The question; nothing changes it.
    pub query: String,
    /// The vector of the question.
    pub query_embedding: Option<Vector>,
    /// Cycles so far; the set-up is the first.
    pub cycles: u32,
    /// The topics of the report.
    pub outline: Vec<Topic>,
    /// The plan of this cycle.
    pub plan: ResearchPlan,
    /// The critiques of earlier plans.
    pub critique_history: Vec<String>,
    /// The information gain of each cycle.
    pub information_gain_history: Vec<f32>,
    /// The last coverage of the topics.
    pub last_coverage_vector: Option<Coverage>,
    /// The hits of all searches.
    pub results: Vec<SearchHit>,
    /// The chunks that were kept.
    pub all_chunks: Vec<Chunk>,
    /// The vectors of the kept chunks, by [`Chunk::key`].
    pub chunk_embedding_cache: BTreeMap<String, Vector>,
    /// The other chunks that were read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unkept_chunks: Vec<UnkeptChunk>,
    /// The number of each source that was read, by its address.
    pub url_to_source_index: BTreeMap<String, usize>,
    /// The sources, by number.
    pub sources: Vec<SourcePage>,
    /// The queries that were sent, in order.
    pub queries: Vec<AskedQuery>,
    /// The documents imagined for topics, by topic.
    pub hypotheses: BTreeMap<String, Hypothesis>,
    /// The background similarity of the embedder: that of strangers.
    pub background: Option<Background>,
    /// The record of each cycle.
    pub history: Vec<CycleRecord>,
    /// Numbers and names that stand in chunks that were kept.
    pub claims: BTreeSet<String>,
    /// Problems on the way, in words.
    pub problems: Vec<String>,
}

impl ResearchState {
    /// The vectors of the chunks that were kept, in order.
    pub fn kept_vectors(&self) -> Vec<Vec<f32>> {
        let of = |chunk: &Chunk| self.chunk_embedding_cache.get(&chunk.key()).map(|vector| vector.0.clone());
        self.all_chunks.iter().map(|chunk| of(chunk).unwrap_or_default()).collect()
    }

    /// The vector of a topic, as far as it is known.
    pub fn topic_vector(&self, topic: &str) -> Vec<f32> {
        let hypothesis = self.hypotheses.get(topic).and_then(|one| one.vector.as_ref());
        hypothesis.map(|vector| vector.0.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b02_vectors_survive_bit_for_bit() {
        for length in 0..7 {
            let vector = Vector((0..length).map(|at| (at as f32 + 0.1).sin() * 1e-3).collect());
            let text = serde_json::to_string(&vector).unwrap();
            assert_eq!(serde_json::from_str::<Vector>(&text).unwrap(), vector, "{text}");
        }
        assert_eq!(serde_json::from_str::<Vector>("[0.5, 1]").unwrap(), Vector(vec![0.5, 1.0]));
        assert!(serde_json::from_str::<Vector>("\"AAA\"").is_err() && serde_json::from_str::<Vector>("\"*\"").is_err());
    }
}
