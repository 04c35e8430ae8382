//! What a text holds that not everybody may see: secrets of all sorts, and what belongs to persons.
//!
//! A text is classed by the strictest of what the detectors find in it and of the label of where it came from. Text of
//! which nothing is known is `Normal`; `Public` is what a label says and no detector denies. Each hit says what found
//! it, where it stands and why it counts. The same text always has the same class, at some hundred megabytes a second.

mod detector;
mod encoded;
mod label;
mod name;
mod own;
mod personal;
mod redact;
mod scan;
mod shape;
mod value;
mod variable;

use std::{collections::BTreeMap, ops::Range};

use serde::{Deserialize, Serialize};

pub use detector::Detector;
pub use own::{OwnSecrets, Pieces, is_telling};
pub use redact::{Redacted, redact, redact_json, redact_with_hits, without_secrets};
pub(crate) use variable::is_secret_name;
pub use variable::is_secret_variable;

/// Who may see a text, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Anybody: its source says so.
    Public,
    /// Who works with it.
    #[default]
    Normal,
    /// Who must: it belongs to persons.
    Sensitive,
    /// Nobody who does not hold it already: it opens something.
    Secret,
}

impl Level {
    /// The name in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Normal => "normal",
            Self::Sensitive => "sensitive",
            Self::Secret => "secret",
        }
    }

    /// The level of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "public" => Some(Self::Public),
            "normal" => Some(Self::Normal),
            "sensitive" => Some(Self::Sensitive),
            "secret" => Some(Self::Secret),
            _ => None,
        }
    }
}

/// One find of a detector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// What found it.
    pub detector: &'static str,
    /// What it weighs.
    pub level: Level,
    /// Where it stands, in bytes.
    pub span: Range<usize>,
    /// What it is, for people.
    pub why: &'static str,
}

/// The class of a text, and what led to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sensitivity {
    /// The strictest of the label and of all hits.
    pub level: Level,
    /// What the label of the source said, if there was one.
    pub label: Option<Level>,
    /// The finds, in order; none overlaps another.
    pub hits: Vec<Hit>,
}

/// Classes a text by what it holds alone.
pub fn classify(text: &str) -> Sensitivity {
    classify_from(text, None)
}

/// Classes a text by what it holds and by the label of its source.
pub fn classify_from(text: &str, label: Option<Level>) -> Sensitivity {
    let hits = scan::hits(text, Level::Public);
    let level = hits
        .iter()
        .map(|hit| hit.level)
        .max()
        .map_or_else(|| label.unwrap_or_default(), |found| found.max(label.unwrap_or_default()));
    Sensitivity { level, label, hits }
}

/// All detectors, the most telling first.
pub fn detectors() -> impl Iterator<Item = &'static Detector> {
    detector::all().iter()
}

/// Tools whose results come from places that hold private things; see [`Labels`].
pub const WATCHED_TOOLS: [&str; 4] = ["memory_search", "db_query", "browser", "computer"];

/// The labels of sources: by the name of a tool, what all its results are at least.
///
/// The watched tools start out as `Normal`: their results are looked at, and are what they hold. To label them higher
/// is a choice: it makes each of their results a matter for a supervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Labels(BTreeMap<String, Level>);

impl Default for Labels {
    fn default() -> Self {
        Self(WATCHED_TOOLS.iter().map(|tool| ((*tool).to_owned(), Level::Normal)).collect())
    }
}

impl Labels {
    /// No labels at all.
    pub const fn none() -> Self {
        Self(BTreeMap::new())
    }

    /// Labels a source.
    pub fn set(&mut self, source: impl Into<String>, level: Level) {
        self.0.insert(source.into(), level);
    }

    /// The label of a source.
    pub fn of(&self, source: &str) -> Option<Level> {
        self.0.get(source).copied()
    }

    /// Whether results of this source are to be classed before they go on.
    pub fn watches(&self, source: &str) -> bool {
        self.0.contains_key(source)
    }
}
