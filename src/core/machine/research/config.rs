//! What a research is made of: the turns that write, how much is searched and kept, when it is enough.

use serde::{Deserialize, Serialize};

use crate::core::{
    analysis::{Cut, LatentPolicy, SelectPolicy, StopPolicy, Thresholds, TrendPolicy},
    error::{Error, Result},
    machine::turn::TurnConfig,
};

/// How much of the report is written out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// All of it.
    #[default]
    Detailed,
    /// The abstract, and what each section says first.
    Summary,
    /// What was done: cycles, queries, coverage.
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

/// How much is searched, read and kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResearchLimits {
    /// Hits of a search.
    pub hits: usize,
    /// Hits of a search that a reviewer wants.
    pub review_hits: usize,
    /// Characters of a page.
    pub page_chars: usize,
    /// A page of no more characters is not read.
    pub least_chars: usize,
    /// Sentences of a chunk.
    pub chunk_sentences: usize,
    /// Chunks that were read and are judged anew in each cycle; beyond these the least relevant are forgotten.
    pub unkept_chunks: usize,
    /// Chunks of a section.
    pub section_chunks: usize,
    /// Searches of a plan.
    pub searches: usize,
    /// Topics of the outline.
    pub topics: usize,
    /// Rewrites of a section.
    pub rewrites: u32,
    /// Model calls under way at once.
    pub parallel: usize,
    /// A query or topic as near as this to an earlier one is a repetition.
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

/// What a research is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResearchConfig {
    /// The turns that plan and write. Its budget is that of the whole run.
    pub turn: TurnConfig,
    /// Whether rules do all that a model would do.
    pub without_model: bool,
    /// The name of the embedder that the driver asks; without one words are hashed here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedder: Option<String>,
    /// How the report is written out.
    pub style: Style,
    /// How much is searched, read and kept.
    pub limits: ResearchLimits,
    /// Which chunks are kept.
    pub select: SelectPolicy,
    /// When the gain is said to stall.
    pub trend: TrendPolicy,
    /// When it is enough.
    pub stop: StopPolicy,
    /// How topics that nobody named are found.
    pub latent: LatentPolicy,
    /// Queries whose vectors are as near as this repeat each other; `limits.repeated` says the same of their words.
    pub near: Cut,
    /// Whether topics that nobody named are looked for.
    pub explore: Explore,
    /// Whether there is nothing to search in, and tools alone find.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without_search: bool,
}

/// Whether topics that nobody named are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Explore {
    /// They are.
    #[default]
    Latent,
    /// They are not.
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
            ("hits", limits.hits),
            ("page_chars", limits.page_chars),
            ("chunk_sentences", limits.chunk_sentences),
            ("unkept_chunks", limits.unkept_chunks),
            ("section_chunks", limits.section_chunks),
            ("searches", limits.searches),
            ("topics", limits.topics),
            ("parallel", limits.parallel),
            ("top", self.select.top),
        ];
        for (name, count) in counts {
            if count == 0 || count > 1_000_000 {
                return Err(Error::usage("invalid_number", format!("{name} is {count}"))
                    .hint("give a number from 1 to 1,000,000"));
            }
        }
        for (name, share) in [("repeated", limits.repeated), ("relevance", self.select.relevance)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(Error::usage("invalid_number", format!("{name} is {share}")).hint("give 0 to 1"));
            }
        }
        Ok(())
    }
}
