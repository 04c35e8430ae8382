//! The configuration of a research: the turns that write, the limits, and the rules of enough.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ResearchState, Topic, VERSION, stage::PROMPTS};

use crate::turn::TurnConfig;
use loopwright_base::{
    error::{Error, Result},
    text::clip,
};
use loopwright_retrieve::analysis::{Cut, LatentPolicy, SelectPolicy, StopPolicy, Thresholds, TrendPolicy};

/// The level of detail of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// All of it.
    #[default]
    Detailed,
    /// The abstract, and the first statement of each section.
    Summary,
    /// The course of the research: cycles, queries, coverage.
    Progress,
}

impl Style {
    /// The style of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "detailed" => Some(Self::Detailed),
            "summary" => Some(Self::Summary),
            "progress" => Some(Self::Progress),
            _ => None,
        }
    }
}

/// The limits of searching, reading and keeping.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResearchLimits {
    /// Hits of a search.
    pub hits: usize,
    /// Hits of a search that a reviewer wants.
    pub review_hits: usize,
    /// Characters of a page.
    pub page_chars: usize,
    /// The length up to which a page is not read, in characters.
    pub least_chars: usize,
    /// Sentences of a chunk.
    pub chunk_sentences: usize,
    /// Unkept chunks that are judged anew in each cycle; beyond these the least relevant are forgotten.
    pub unkept_chunks: usize,
    /// Chunks of a section.
    pub section_chunks: usize,
    /// Searches of a plan.
    pub searches: usize,
    /// Topics of the outline.
    pub topics: usize,
    /// Rewrites of a section.
    pub rewrites: u32,
    /// Model calls in flight at once.
    pub parallel: usize,
    /// The similarity from which a query or topic repeats an earlier one.
    pub repeated: f32,
}

impl Default for ResearchLimits {
    fn default() -> Self {
        Self {
            hits: 8,
            review_hits: 2,
            page_chars: 40_000,
            least_chars: 100,
            chunk_sentences: 4,
            unkept_chunks: 10_000,
            section_chunks: 12,
            searches: 6,
            topics: 10,
            rewrites: 2,
            parallel: 8,
            repeated: 0.8,
        }
    }
}

/// The configuration of a research.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResearchConfig {
    /// The turns that plan and write. Its budget is that of the whole run.
    pub turn: TurnConfig,
    /// Rules do all that a model would do.
    pub without_model: bool,
    /// The name of the embedder that the driver asks; without one words are hashed here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedder: Option<String>,
    /// The level of detail of the report.
    pub style: Style,
    /// The limits of searching, reading and keeping.
    pub limits: ResearchLimits,
    /// The policy of keeping chunks.
    pub select: SelectPolicy,
    /// The policy of a stalled gain.
    pub trend: TrendPolicy,
    /// The policy of enough.
    pub stop: StopPolicy,
    /// The policy of finding latent topics.
    pub latent: LatentPolicy,
    /// The similarity from which queries repeat each other, by their vectors; `limits.repeated` says the same of their
    /// words.
    pub near: Cut,
    /// The search for latent topics.
    pub explore: Explore,
    /// There is nothing to search in, and tools alone find.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without_search: bool,
    /// Parts of the user's own, in place of those that are built in.
    #[serde(skip_serializing_if = "OwnParts::is_empty")]
    pub own: OwnParts,
    /// Searches are told when they begin, and their ends with id, time and number of results. Journals of before tell
    /// of ends alone, and replay so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub search_events: bool,
}

/// Parts of the user's own, in place of those that are built in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OwnParts {
    /// The state of an earlier research: this one goes on with it, and has its cycles beside those.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Box<ResearchState>>,
    /// The topics of the report, in place of those that a model or rules would name.
    pub outline: Vec<Topic>,
    /// Instructions for models, by their purpose: a name of [`PROMPTS`].
    pub prompts: BTreeMap<String, String>,
    /// The driver plans.
    pub planner: bool,
    /// The driver judges the gain of a cycle.
    pub analyser: bool,
}

impl OwnParts {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn check(&self, topics: usize) -> Result<()> {
        if let Some(state) = self.state.as_ref().filter(|state| state.version != VERSION || state.query.is_empty()) {
            let message = format!("state is of version {}, this reads {VERSION}", state.version);
            return Err(Error::usage("invalid_state", message).hint("give the state of a result, unchanged"));
        }
        if let Some(name) = self.prompts.keys().find(|name| !PROMPTS.contains(&name.as_str())) {
            return Err(Error::usage("invalid_option", format!("prompts.{name} is no prompt"))
                .hint(format!("use {}", PROMPTS.join(", "))));
        }
        let names: BTreeSet<&str> = self.outline.iter().map(|topic| topic.topic.trim()).collect();
        let good = names.iter().all(|name| name.chars().any(char::is_alphanumeric));
        if names.len() != self.outline.len() || !good || names.len() > topics {
            return Err(Error::usage("invalid_option", format!("outline holds {} topics", self.outline.len()))
                .hint(format!("give up to {topics} topics (limits.topics), each with a name of its own")));
        }
        Ok(())
    }
}

/// The search for latent topics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Explore {
    /// Latent topics are searched for.
    #[default]
    Latent,
    /// Latent topics are not searched for.
    Off,
}

impl Default for ResearchConfig {
    /// Thresholds are in standard deviations of the embedder's own background.
    fn default() -> Self {
        Self {
            turn: TurnConfig::default(),
            without_model: false,
            embedder: None,
            style: Style::default(),
            limits: ResearchLimits::default(),
            select: SelectPolicy { least: Some(Cut::Z(1.0)), ..SelectPolicy::default() },
            trend: TrendPolicy::default(),
            stop: StopPolicy {
                epsilon: Thresholds::MEASURED.epsilon,
                chunks: false,
                claims: false,
                ..StopPolicy::default()
            },
            latent: LatentPolicy { novel: Thresholds::MEASURED.novel, ..LatentPolicy::default() },
            near: Thresholds::MEASURED.near,
            explore: Explore::default(),
            without_search: false,
            own: OwnParts::default(),
            search_events: true,
        }
    }
}

impl ResearchConfig {
    /// The thresholds of the original, as absolute cosines: right for the embedder that it was tuned on.
    #[must_use]
    pub fn with_seed_thresholds(mut self) -> Self {
        self.select.least = None;
        self.stop.epsilon = Thresholds::ORIGINAL.epsilon;
        self.latent.novel = Thresholds::ORIGINAL.novel;
        self.near = Thresholds::ORIGINAL.near;
        self
    }

    /// Checks what can be checked before a run; see [`TurnConfig::check`].
    pub fn check(&self) -> Result<()> {
        self.turn.check()?;
        if self.turn.budget.research_cycles == 0 {
            return Err(Error::usage("invalid_budget", "research_cycles is 0").hint("allow at least one cycle"));
        }
        let limits = &self.limits;
        let counts = [
            ("limits.hits", limits.hits),
            ("limits.page_chars", limits.page_chars),
            ("limits.chunk_sentences", limits.chunk_sentences),
            ("limits.unkept_chunks", limits.unkept_chunks),
            ("limits.section_chunks", limits.section_chunks),
            ("limits.searches", limits.searches),
            ("limits.topics", limits.topics),
            ("limits.parallel", limits.parallel),
            ("select.top", self.select.top),
            ("stop.window", self.stop.window),
        ];
        for (name, count) in counts {
            if count == 0 || count > 1_000_000 {
                return Err(Error::usage("invalid_number", format!("{name} is {count}"))
                    .hint("give a number from 1 to 1,000,000"));
            }
        }
        for (name, share) in [("limits.repeated", limits.repeated), ("select.relevance", self.select.relevance)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(Error::usage("invalid_number", format!("{name} is {share}")).hint("give 0 to 1"));
            }
        }
        self.own.check(limits.topics)
    }

    /// Parses a configuration; an error names the key.
    pub fn read(text: &str) -> Result<Self> {
        let fault = match serde_json::from_str(text) {
            Ok(config) => return Ok(config),
            Err(error) => plain(&error),
        };
        let given = serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
        // Each value alone, in place of the one that is built in.
        let fault = given.iter().find_map(|(key, value)| mistake_at(key, value)).unwrap_or(fault);
        Err(Error::usage("invalid_option", fault).hint("mend what is named there, or leave it out"))
    }
}

/// The mistake in the value of a key, named with the keys that lead to it.
fn mistake_at(key: &str, value: &Value) -> Option<String> {
    let reads = |value: Value| ResearchConfig::deserialize(Value::Object(Map::from_iter([(key.to_owned(), value)])));
    let error = reads(value.clone()).err()?;
    let inner = value.as_object().and_then(|object| {
        object.iter().find_map(|(name, value)| {
            let alone = Value::Object(Map::from_iter([(name.clone(), value.clone())]));
            reads(alone).err().map(|error| (format!("{key}.{name}"), value, plain(&error)))
        })
    });
    let (place, value, why) = inner.unwrap_or_else(|| (key.to_owned(), value, plain(&error)));
    let place = place.strip_prefix("own.").unwrap_or(&place);
    Some(format!("{place} can't be {}: {why}", clip(&value.to_string(), 80)))
}

/// The error without its place in a text that nobody sees.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}
