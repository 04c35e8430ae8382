//! What became of every message, and why.

use std::{borrow::Cow, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{pairs::Repair, salience::Tier};

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It stands as it was.
    Kept,
    /// It is shorter.
    Shortened,
    /// What later messages repeat became a reference.
    Referenced,
    /// It left; a line of the summary speaks of it.
    Summarised,
    /// It left; the archive has it.
    Dropped,
}

impl Fate {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Shortened => "shortened",
            Self::Referenced => "referenced",
            Self::Summarised => "summarised",
            Self::Dropped => "dropped",
        }
    }
}

/// One message of the history given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its index in the history given.
    pub message: usize,
    /// What became of it.
    pub fate: Fate,
    /// Why.
    pub why: Cow<'static, str>,
    /// Its tokens before.
    pub before: usize,
    /// Its tokens now.
    pub after: usize,
    /// Where it stands now: the index in the new history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
    /// Its handle in the archive, unless it stands as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<Arc<str>>,
    /// Its salience.
    pub salience: f64,
    /// The tier that follows from it.
    pub tier: Tier,
}

/// What was done, message by message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The messages given, in order.
    pub entries: Vec<Entry>,
    /// What had to be put right first.
    pub repairs: Vec<Repair>,
    /// Tokens before.
    pub before: usize,
    /// Tokens now.
    pub after: usize,
    /// The budget.
    pub budget: usize,
    /// The first message, by its index in the new history, that is no longer as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_changed: Option<usize>,
}
