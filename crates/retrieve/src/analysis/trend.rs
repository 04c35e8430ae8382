//! Whether going on pays: the trend of the gains in a word, and the rules that end a research.

use serde::{Deserialize, Serialize};

use super::{Background, Cut};
use loopwright_base::error::Result;

/// When a trend is called what.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrendPolicy {
    /// Gains below this are next to nothing.
    pub epsilon: f32,
    /// Gains whose mean is compared with that.
    pub window: usize,
    /// A gain below this share of the one before is a decrease.
    pub share: f32,
}

impl Default for TrendPolicy {
    fn default() -> Self {
        Self { epsilon: 0.005, window: 3, share: 0.75 }
    }
}

/// How gains go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trend {
    /// Fewer than two gains.
    JustStarting,
    /// The last ones are next to nothing: another angle is needed.
    Stalling,
    /// More than the one before.
    Increasing,
    /// Much less than the one before.
    Decreasing,
    /// About the same.
    Stable,
}

impl Trend {
    /// A stable name for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::JustStarting => "just_starting",
            Self::Stalling => "stalling",
            Self::Increasing => "increasing",
            Self::Decreasing => "decreasing",
            Self::Stable => "stable",
        }
    }

    /// The words that a planner reads.
    pub const fn words(self) -> &'static str {
        match self {
            Self::JustStarting => "Just starting.",
            Self::Stalling => "Stalling",
            Self::Increasing => "Increasing",
            Self::Decreasing => "Decreasing",
            Self::Stable => "Stable",
        }
    }
}

/// The trend of gains, oldest first. Values that are no numbers are passed over.
pub fn trend(gains: &[f32], policy: &TrendPolicy) -> Trend {
    let known: Vec<f32> = gains.iter().copied().filter(|gain| gain.is_finite()).collect();
    let [.., before, last] = known[..] else { return Trend::JustStarting };
    if mean_of_last(&known, policy.window) < policy.epsilon {
        Trend::Stalling
    } else if last > before {
        Trend::Increasing
    } else if last < policy.share * before {
        Trend::Decreasing
    } else {
        Trend::Stable
    }
}

/// The mean of the last `window` of at least one value; fewer where there are fewer.
fn mean_of_last(values: &[f32], window: usize) -> f32 {
    let last = values.get(values.len().saturating_sub(window.max(1))..).unwrap_or_default();
    (last.iter().map(|value| f64::from(*value)).sum::<f64>() / last.len().max(1) as f64) as f32
}

/// When a research has enough.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StopPolicy {
    /// Returns are diminishing where the mean of the last gains is below this.
    pub epsilon: Cut,
    /// How many gains that is the mean of.
    pub window: usize,
    /// Whether a cycle that accepted no new chunk ends the research.
    pub chunks: bool,
    /// Whether a cycle that supported no new claim ends the research.
    pub claims: bool,
    /// What a cut in standard deviations is measured in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<Background>,
}

impl Default for StopPolicy {
    fn default() -> Self {
        Self { epsilon: Cut::Cosine(0.005), window: 2, chunks: true, claims: true, background: None }
    }
}

impl StopPolicy {
    /// The threshold of the gain as a difference of cosines.
    pub fn epsilon(&self) -> Result<f32> {
        self.epsilon.width(self.background.as_ref())
    }
}

/// Why a research has enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopRule {
    /// The last cycles changed coverage next to nothing.
    DiminishingReturns,
    /// The last cycle accepted no new chunk.
    NoNewChunk,
    /// The last cycle supported no new claim.
    NoNewClaim,
}

impl StopRule {
    /// A stable name for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DiminishingReturns => "diminishing_returns",
            Self::NoNewChunk => "no_new_chunk",
            Self::NoNewClaim => "no_new_claim",
        }
    }

    /// The sentence of a report that says why it ended.
    pub const fn words(self) -> &'static str {
        match self {
            Self::DiminishingReturns => "the last cycles added next to nothing to what is known about the topics",
            Self::NoNewChunk => "the last cycle found no passage that was new",
            Self::NoNewClaim => "the last cycle found support for no new statement",
        }
    }
}

/// Whether there is enough, and by which rule. `accepted` and `claims` count what the last cycle added; `None` where
/// nobody counted, which stops nothing. A threshold that can't be measured (no background) stops nothing either.
pub fn enough(
    history: &[f32],
    policy: &StopPolicy,
    accepted: Option<usize>,
    claims: Option<usize>,
) -> Option<StopRule> {
    let window = policy.window.max(1);
    let known: Vec<f32> = history.iter().copied().filter(|gain| gain.is_finite()).collect();
    let small = |epsilon: f32| mean_of_last(&known, window) < epsilon;
    if known.len() >= window && policy.epsilon().is_ok_and(small) {
        Some(StopRule::DiminishingReturns)
    } else if policy.chunks && accepted == Some(0) {
        Some(StopRule::NoNewChunk)
    } else if policy.claims && claims == Some(0) {
        Some(StopRule::NoNewClaim)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b24_five_words_by_the_rules() {
        let word = |gains: &[f32]| trend(gains, &TrendPolicy::default());
        assert_eq!(word(&[]), Trend::JustStarting);
        assert_eq!(word(&[1.0]), Trend::JustStarting);
        assert_eq!(word(&[0.001, 0.004]), Trend::Stalling);
        assert_eq!(word(&[0.9, 0.001, 0.002, 0.003]), Trend::Stalling, "the last three, though the last grew");
        assert_eq!(word(&[0.1, 0.2]), Trend::Increasing);
        assert_eq!(word(&[0.2, 0.14]), Trend::Decreasing);
        assert_eq!(word(&[0.2, 0.15]), Trend::Stable, "exactly three quarters is not below them");
        assert_eq!(word(&[0.2, 0.2]), Trend::Stable);
        assert_eq!(word(&[0.2, f32::NAN, 0.1]), Trend::Decreasing);
        assert_eq!(Trend::JustStarting.words(), "Just starting.");
    }

    #[test]
    fn b23_two_gains_below_the_threshold_are_enough() {
        let policy = StopPolicy::default();
        assert_eq!(enough(&[0.004], &policy, None, None), None, "one says nothing");
        assert_eq!(enough(&[0.5, 0.004, 0.005], &policy, Some(3), Some(3)), Some(StopRule::DiminishingReturns));
        assert_eq!(enough(&[0.006, 0.004], &policy, None, None), None, "the mean is the threshold, not below it");
        assert_eq!(enough(&[0.0, 0.5], &policy, None, None), None);
        assert_eq!(enough(&[f32::NAN, f32::NAN], &policy, None, None), None);
    }

    #[test]
    fn x23_no_new_chunk_and_no_new_claim_stop_on_their_own() {
        let policy = StopPolicy::default();
        assert_eq!(enough(&[], &policy, Some(0), None), Some(StopRule::NoNewChunk));
        assert_eq!(enough(&[0.4, 0.4], &policy, Some(2), Some(0)), Some(StopRule::NoNewClaim));
        assert_eq!(enough(&[0.4, 0.4], &policy, Some(2), Some(1)), None);
        let silent = StopPolicy { chunks: false, claims: false, ..policy };
        assert_eq!(enough(&[0.4, 0.4], &silent, Some(0), Some(0)), None);
    }

    #[test]
    fn x22_the_threshold_can_be_said_in_the_embedders_own_unit() {
        let tight = Background { mean: 0.75, deviation: 0.02, pairs: 100 };
        let policy = StopPolicy { epsilon: Cut::Z(0.05), background: Some(tight), ..StopPolicy::default() };
        assert!((policy.epsilon().unwrap() - 0.001).abs() < 1e-7);
        assert_eq!(enough(&[0.004, 0.004], &policy, None, None), None);
        assert_eq!(enough(&[0.0009, 0.0009], &policy, None, None), Some(StopRule::DiminishingReturns));
        let text = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<StopPolicy>(&text).unwrap(), policy);
    }
}
