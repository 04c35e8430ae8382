//! How well things go: the share of the last calls that succeeded, with two successes given on credit.
//!
//! `(s + 2) / (n + 2)` over a rolling window is Laplace's rule, leaning to the good: one failed first call gives 2/3,
//! not 0. It is judged from three results on.

use serde::{Deserialize, Serialize};

use loopwright_base::error::{Error, Result};

/// When momentum is slow, and when it is too low.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MomentumPolicy {
    /// Results that count; at most 64.
    pub window: u32,
    /// Below this it is slow.
    pub slow: f64,
    /// Below this it is time to pause; 0 turns that off.
    pub pause: f64,
    /// Results before anything is judged.
    pub least: u32,
}

impl Default for MomentumPolicy {
    fn default() -> Self {
        Self { window: 10, slow: 0.5, pause: 0.3, least: 3 }
    }
}

impl MomentumPolicy {
    /// Checks that thresholds are shares and that there is a window.
    pub fn check(&self) -> Result<()> {
        let shares = [("slow", self.slow), ("pause", self.pause)];
        if let Some((name, share)) = shares.into_iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            return Err(
                Error::usage("invalid_number", format!("momentum.{name} is {share}")).hint("give a share from 0 to 1")
            );
        }
        if !(1..=64).contains(&self.window) {
            return Err(Error::usage("invalid_number", format!("momentum.window is {}", self.window))
                .hint("give a window of 1 to 64 results"));
        }
        Ok(())
    }
}

/// What momentum says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// Go on.
    #[default]
    Good,
    /// More fails than should: go slower.
    Slow,
    /// Stop and look.
    Pause,
}

impl Pace {
    /// The name in results and journals.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Slow => "slow",
            Self::Pause => "pause",
        }
    }
}

/// The last results: a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Momentum {
    outcomes: u64,
    count: u32,
}

impl Momentum {
    /// Takes the next result.
    pub const fn record(&mut self, succeeded: bool) {
        self.outcomes = self.outcomes << 1 | succeeded as u64;
        self.count = self.count.saturating_add(1);
    }

    /// Momentum from 0 to 1; 1 before any result.
    pub fn score(&self, policy: &MomentumPolicy) -> f64 {
        let (successes, count) = self.seen(policy);
        f64::from(successes + 2) / f64::from(count + 2)
    }

    /// Successes and results in the window.
    pub fn seen(&self, policy: &MomentumPolicy) -> (u32, u32) {
        let count = self.count.min(policy.window.clamp(1, 64));
        let window = if count >= 64 { u64::MAX } else { (1 << count) - 1 };
        ((self.outcomes & window).count_ones(), count)
    }

    /// What it says.
    pub fn pace(&self, policy: &MomentumPolicy) -> Pace {
        let score = self.score(policy);
        if self.count < policy.least {
            Pace::Good
        } else if score < policy.pause {
            Pace::Pause
        } else if score < policy.slow {
            Pace::Slow
        } else {
            Pace::Good
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(outcomes: &[bool]) -> (f64, Pace) {
        let mut momentum = Momentum::default();
        for ok in outcomes {
            momentum.record(*ok);
        }
        let policy = MomentumPolicy::default();
        (momentum.score(&policy), momentum.pace(&policy))
    }

    #[test]
    fn c18_x20_one_failed_first_call_is_no_reason_to_stop() {
        assert_eq!(after(&[]), (1.0, Pace::Good));
        assert_eq!(after(&[false]), (2.0 / 3.0, Pace::Good));
        assert_eq!(after(&[false, false]), (0.5, Pace::Good));
        assert_eq!(after(&[false; 3]), (0.4, Pace::Slow));
        assert_eq!(after(&[false; 5]), (2.0 / 7.0, Pace::Pause));
    }

    #[test]
    fn c18_only_the_window_counts() {
        let mut outcomes = vec![false; 100];
        outcomes.extend([true; 10]);
        assert_eq!(after(&outcomes), (1.0, Pace::Good));
        let mut momentum = Momentum::default();
        (0..200).for_each(|n| momentum.record(n % 2 == 0));
        for window in [1, 10, 64, 1_000] {
            let policy = MomentumPolicy { window, ..MomentumPolicy::default() };
            let (successes, count) = momentum.seen(&policy);
            assert_eq!((successes, count), (window.min(64) / 2, window.min(64)));
        }
    }
}
