//! What a window knows beside its history, to be saved with it.
//!
//! A window is made from its history and these few numbers: with both, the same view can be made again, wherever.

use serde::{Deserialize, Serialize};

use super::plan::{Aim, Whole};
use loopwright_tokens::LearnedRatios;

/// What a window knows beside its history: with the same history, the same view can be made from it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Marks {
    pub(super) budget: usize,
    /// Tokens at which the next compaction begins.
    pub(super) trigger: usize,
    pub(super) compactions: usize,
    /// Where the view was made last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) point: Option<Point>,
    /// Tokens that the view counts for beyond its own: after a compaction it counts for the low mark at least, so that
    /// where the next one comes follows from the history alone.
    #[serde(default)]
    pub(super) padding: usize,
    /// What the provider counted for each token that was counted here, …
    #[serde(default = "one")]
    pub(super) scale: f64,
    /// … over so many tokens of the view.
    #[serde(default)]
    pub(super) anchored: usize,
    /// The first message that these did not hold.
    #[serde(default)]
    pub(super) since: usize,
    /// What the provider reported last of the view as it has grown since; 0 if nothing.
    #[serde(default)]
    pub(super) reported: usize,
    /// What was learned from reports about each kind of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) learned: Option<LearnedRatios>,
    /// The compaction that is prepared: of the history as it was then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ahead: Option<Point>,
    /// Of a long history: how many messages there were when it was last asked whether to prepare one.
    #[serde(default, skip_serializing_if = "loopwright_base::json::is_default")]
    pub(super) looked: usize,
}

impl Marks {
    /// The first message that no report of the provider held.
    pub const fn since(&self) -> usize {
        self.since
    }

    /// How many compactions there were.
    pub const fn compactions(&self) -> usize {
        self.compactions
    }
}

/// A compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Point {
    /// How many messages there were.
    pub(super) messages: usize,
    /// The tokens that it went down to.
    pub(super) target: usize,
    /// The units that it left whole.
    #[serde(default, skip_serializing_if = "Whole::is_nothing")]
    pub(super) whole: Whole,
}

impl Point {
    pub(super) const fn aim(&self) -> Aim {
        Aim { target: self.target, whole: self.whole }
    }
}

const fn one() -> f64 {
    1.0
}
