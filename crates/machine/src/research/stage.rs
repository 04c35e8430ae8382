//! The stage of a research, and its work in flight: plain values, written down with the machine.
//!
//! A stage is left only when all its work is answered; work is known by the command that asked for it.

use serde::{Deserialize, Serialize};

use super::{Hit, PageText};
use crate::Time;
use loopwright_base::{error::Result, request::OutputSchema};

/// The stage of a research.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    Idle,
    Embedding,
    Scouting,
    Searching,
    Fetching,
    Imagining,
    Measuring,
    Outlining,
    Planning,
    Vetting,
    Writing,
    Fronting,
    Ending,
    Done,
}

impl Stage {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Embedding => "embedding",
            Self::Scouting => "scouting",
            Self::Searching => "searching",
            Self::Fetching => "fetching",
            Self::Imagining => "imagining",
            Self::Measuring => "measuring",
            Self::Outlining => "outlining",
            Self::Planning => "planning",
            Self::Vetting => "vetting",
            Self::Writing => "writing",
            Self::Fronting => "fronting",
            Self::Ending => "ending",
            Self::Done => "done",
        }
    }
}

/// Work in flight, by the command that will be answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StageWork {
    EmbedQuery,
    Scout,
    Hits { at: usize },
    Page { slot: usize },
    Hypothesis { topic: String },
    EmbedTopics { topics: Vec<String> },
    EmbedChunks { from: usize },
    Outline,
    Plan,
    OwnPlan,
    OwnAnalysis,
    EmbedPlan { texts: Vec<String> },
    Write { section: usize },
    Review { section: usize },
    SectionHits { section: usize },
    SectionEmbed { section: usize },
    Front,
    Tools,
}

/// The names of the instructions that models are given.
pub(super) const PROMPTS: [&str; 8] = ["scout", "imagine", "outline", "plan", "write", "review", "front", "tools"];

impl StageWork {
    /// The name of its instructions, if a model does it.
    pub(super) const fn prompt(&self) -> &'static str {
        match self {
            Self::Scout => "scout",
            Self::Hypothesis { .. } => "imagine",
            Self::Outline => "outline",
            Self::Plan => "plan",
            Self::Write { .. } => "write",
            Self::Review { .. } => "review",
            Self::Front => "front",
            Self::Tools => "tools",
            _ => "",
        }
    }
}

/// The answer to work.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum WorkAnswer {
    Vectors(Result<Vec<Vec<f32>>>),
    Hits(Result<Vec<Hit>>),
    Page(Result<PageText>),
    /// A model's text; `None` where it failed or may not be asked.
    Words(Option<String>),
}

/// A question to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ModelQuestion {
    pub(super) work: StageWork,
    pub(super) system: String,
    pub(super) prompt: String,
    pub(super) temperature: f64,
    pub(super) max_tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<OutputSchema>,
}

/// The phase that listeners know of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenPhase {
    pub(super) phase: String,
    pub(super) attempt: u32,
    pub(super) since: Time,
}
