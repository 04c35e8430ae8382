//! A circuit breaker: after failures in a row a host is left alone for a while, then tried with one call.
//!
//! Time is passed in, in seconds on any clock that does not go back. An open breaker lets nothing through; a half-open
//! one lets exactly one probe through until the outcome of that probe is recorded.

use serde::{Deserialize, Serialize};

/// The verdict of a breaker on a call.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The call may be made.
    Closed,
    /// The call may be made as the one probe; its outcome must be recorded.
    Probe,
    /// The call may not be made.
    Open {
        /// Seconds until a probe may be tried; 0 while another call's probe is in flight.
        retry_after: f64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BreakerState {
    Closed { failures: u32 },
    Open { since: f64 },
    Probing { since: f64 },
}

/// A circuit breaker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Breaker {
    threshold: u32,
    cooldown_seconds: f64,
    state: BreakerState,
}

impl Default for Breaker {
    fn default() -> Self {
        Self::new(3, 30.0)
    }
}

impl Breaker {
    /// A closed breaker which opens after `threshold` failures in a row (at least one), for `cooldown_seconds`.
    pub fn new(threshold: u32, cooldown_seconds: f64) -> Self {
        let cooldown_seconds = if cooldown_seconds.is_finite() { cooldown_seconds.max(0.0) } else { 30.0 };
        Self { threshold: threshold.max(1), cooldown_seconds, state: BreakerState::Closed { failures: 0 } }
    }

    /// Returns whether a call may be made at `now`. [`Verdict::Probe`] takes the one slot of the half-open breaker:
    /// record [`success`](Self::success), [`failure`](Self::failure) or [`cancelled`](Self::cancelled) afterwards.
    pub fn check(&mut self, now: f64) -> Verdict {
        match self.state {
            BreakerState::Closed { .. } => Verdict::Closed,
            BreakerState::Probing { .. } => Verdict::Open { retry_after: 0.0 },
            BreakerState::Open { since } => {
                // A `now` before `since` (another clock, a loaded state) waits at most one whole cooldown.
                let left = (self.cooldown_seconds - (now - since)).min(self.cooldown_seconds);
                if left > 0.0 {
                    return Verdict::Open { retry_after: left };
                }
                self.state = BreakerState::Probing { since };
                Verdict::Probe
            }
        }
    }

    /// Takes the probe's slot before the time is up, for a caller who has reason to; `false` if the breaker is not
    /// open.
    pub fn probe_early(&mut self) -> bool {
        if let BreakerState::Open { since } = self.state {
            self.state = BreakerState::Probing { since };
            return true;
        }
        false
    }

    /// Records that a call which was let through succeeded.
    pub fn success(&mut self) {
        // A straggler from before the breaker opened says nothing about now.
        if !matches!(self.state, BreakerState::Open { .. }) {
            self.state = BreakerState::Closed { failures: 0 };
        }
    }

    /// Records that a call which was let through failed at `now`.
    pub fn failure(&mut self, now: f64) {
        self.state = match self.state {
            BreakerState::Closed { failures } if failures.saturating_add(1) < self.threshold => {
                BreakerState::Closed { failures: failures + 1 }
            }
            BreakerState::Closed { .. } | BreakerState::Probing { .. } => BreakerState::Open { since: now },
            open @ BreakerState::Open { .. } => open,
        };
    }

    /// Opens the breaker at `now`: the host itself says that it is down.
    pub const fn trip(&mut self, now: f64) {
        if !matches!(self.state, BreakerState::Open { .. }) {
            self.state = BreakerState::Open { since: now };
        }
    }

    /// Records that a probe was cancelled: its slot is free for the next call.
    pub fn cancelled(&mut self) {
        if let BreakerState::Probing { since } = self.state {
            self.state = BreakerState::Open { since };
        }
    }

    /// Returns whether calls go through freely.
    pub const fn is_closed(&self) -> bool {
        matches!(self.state, BreakerState::Closed { .. })
    }

    /// Returns whether calls go through freely and the last one succeeded: nothing worth remembering.
    pub const fn is_fresh(&self) -> bool {
        matches!(self.state, BreakerState::Closed { failures: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a19_opens_after_three_failures_and_half_opens_after_thirty_seconds() {
        let mut breaker = Breaker::default();
        for second in 0..3 {
            assert_eq!(breaker.check(f64::from(second)), Verdict::Closed);
            breaker.failure(f64::from(second));
        }
        assert_eq!(breaker.check(2.5), Verdict::Open { retry_after: 29.5 });
        assert_eq!(breaker.check(32.0), Verdict::Probe);
        assert_eq!(breaker.check(32.0), Verdict::Open { retry_after: 0.0 });
        breaker.failure(33.0);
        assert_eq!(breaker.check(62.0), Verdict::Open { retry_after: 1.0 });
        assert_eq!(breaker.check(63.0), Verdict::Probe);
        breaker.success();
        assert_eq!(breaker.check(63.0), Verdict::Closed);
    }

    #[test]
    fn a19_a_success_between_starts_the_count_again() {
        let mut breaker = Breaker::new(2, 30.0);
        breaker.failure(0.0);
        breaker.success();
        breaker.failure(1.0);
        assert_eq!(breaker.check(1.0), Verdict::Closed);
    }

    #[test]
    fn a19_a_cancelled_probe_frees_the_slot() {
        let mut breaker = Breaker::new(1, 10.0);
        breaker.failure(0.0);
        assert_eq!(breaker.check(10.0), Verdict::Probe);
        breaker.cancelled();
        assert_eq!(breaker.check(10.0), Verdict::Probe);
    }

    #[test]
    fn a19_a_loaded_breaker_goes_on_where_it_was() {
        let mut breaker = Breaker::new(1, 10.0);
        breaker.failure(5.0);
        let text = serde_json::to_string(&breaker).unwrap();
        let mut back: Breaker = serde_json::from_str(&text).unwrap();
        assert_eq!(back, breaker);
        assert_eq!(back.check(6.0), Verdict::Open { retry_after: 9.0 });
    }

    #[derive(Clone, Debug)]
    enum Step {
        Wait(f64),
        Call,
        Succeed,
        Fail,
        Cancel,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0.0..12.0_f64).prop_map(Step::Wait),
            Just(Step::Call),
            Just(Step::Succeed),
            Just(Step::Fail),
            Just(Step::Cancel),
        ]
    }

    proptest! {
        /// Against a model that counts calls under way: in a row of failures the breaker opens, an open one lets
        /// nothing through before its time, a half-open one never has two probes.
        #[test]
        fn a19_open_sends_nothing_and_half_open_one_probe(
            steps in prop::collection::vec(step(), 0..80), threshold in 1_u32..5,
        ) {
            let mut breaker = Breaker::new(threshold, 10.0);
            let (mut now, mut row, mut opened, mut probe) = (0.0, 0, None, false);
            for step in steps {
                match step {
                    Step::Wait(seconds) => now += seconds,
                    Step::Call => match breaker.check(now) {
                        Verdict::Closed => prop_assert!(opened.is_none() && row < threshold),
                        Verdict::Probe => {
                            prop_assert!(!probe);
                            prop_assert!(opened.is_some_and(|since: f64| now - since >= 10.0));
                            probe = true;
                        }
                        Verdict::Open { retry_after } => {
                            let since = opened.unwrap_or(f64::NAN);
                            prop_assert!(probe || now - since < 10.0);
                            prop_assert!((0.0..=10.0).contains(&retry_after));
                        }
                    },
                    // Outcomes of calls that were let through: the probe's, or any while closed.
                    Step::Succeed if probe || opened.is_none() => {
                        breaker.success();
                        (row, opened, probe) = (0, None, false);
                    }
                    Step::Fail if probe || opened.is_none() => {
                        breaker.failure(now);
                        row += 1;
                        if probe || row >= threshold {
                            opened = Some(now);
                        }
                        probe = false;
                    }
                    Step::Cancel if probe => {
                        breaker.cancelled();
                        probe = false;
                    }
                    Step::Succeed | Step::Fail | Step::Cancel => {}
                }
                prop_assert_eq!(breaker.is_closed(), opened.is_none());
            }
        }
    }
}
