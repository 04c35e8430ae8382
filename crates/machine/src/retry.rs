//! Retries of failed model calls.
//!
//! The provider's `retry-after` is honoured; otherwise the wait doubles and is spread at random ("full jitter",
//! <https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/>), from a seed, so that a replay waits
//! the same.

use serde::{Deserialize, Serialize};

use loopwright_base::error::Failure;

/// The policy of retries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetryPolicy {
    /// Attempts at one request, the first included.
    pub attempts: u32,
    /// Seconds before the second attempt, at most; it doubles from there.
    pub base: f64,
    /// Seconds of the longest wait of our own.
    pub cap: f64,
    /// Seconds of the longest `retry-after` that is waited for; beyond it the failure stands.
    pub longest_retry_after: f64,
    /// A request is repeated after a part of its answer was shown; consumers see a reset first.
    pub after_output: bool,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts: 4, base: 0.5, cap: 8.0, longest_retry_after: 60.0, after_output: true }
    }
}

impl RetryPolicy {
    /// Seconds until the next attempt, or `None` if there shall be none.
    pub fn delay(&self, failure: &Failure, attempt: u32, visible: bool, seed: u64) -> Option<f64> {
        // What a model wrote twice so that its server could not read it, it will write again.
        let most = if failure.generation.is_some() { self.attempts.min(2) } else { self.attempts };
        if !failure.is_transient() || attempt >= most || (visible && !self.after_output) {
            return None;
        }
        if let Some(asked) = failure.retry_after.filter(|seconds| seconds.is_finite() && *seconds >= 0.0) {
            return (asked <= self.longest_retry_after).then_some(asked);
        }
        let longest = (self.base * f64::from(1_u32 << attempt.saturating_sub(1).min(30))).min(self.cap);
        Some(longest * uniform(seed.wrapping_add(u64::from(attempt))))
    }
}

/// A number in [0, 1) from a seed (splitmix64).
fn uniform(seed: u64) -> f64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    (z >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_base::error::FailureKind;

    #[test]
    fn waits_double_and_stay_below_the_cap() {
        let policy = RetryPolicy { attempts: 20, ..RetryPolicy::default() };
        let failure = Failure::new(FailureKind::Server, "");
        for attempt in 1..12 {
            let longest = (0.5 * f64::from(1_u32 << (attempt - 1))).min(8.0);
            for seed in 0..200 {
                let delay = policy.delay(&failure, attempt, false, seed).unwrap();
                assert!((0.0..=longest).contains(&delay));
            }
        }
        let mean = (0..1000).map(|seed| policy.delay(&failure, 1, false, seed * 77).unwrap()).sum::<f64>() / 1000.0;
        assert!((mean - 0.25).abs() < 0.03, "{mean}");
    }

    #[test]
    fn retry_after_is_honoured_and_bounded() {
        let policy = RetryPolicy::default();
        let asked = |seconds| Failure { retry_after: Some(seconds), ..Failure::new(FailureKind::RateLimited, "") };
        assert_eq!(policy.delay(&asked(7.5), 1, false, 1), Some(7.5));
        assert_eq!(policy.delay(&asked(61.0), 1, false, 1), None);
        assert_eq!(policy.delay(&asked(1.0), 4, false, 1), None);
        assert!(policy.delay(&asked(f64::NAN), 1, false, 1).is_some());
        assert_eq!(policy.delay(&Failure::new(FailureKind::Auth, ""), 1, false, 1), None);
        let strict = RetryPolicy { after_output: false, ..policy };
        assert_eq!(strict.delay(&asked(1.0), 1, true, 1), None);
        assert_eq!(strict.delay(&asked(1.0), 1, false, 1), Some(1.0));
    }

    #[test]
    fn the_provider_says_whether_to_try_again() {
        let policy = RetryPolicy::default();
        let said = |kind, should_retry| Failure { should_retry: Some(should_retry), ..Failure::new(kind, "") };
        for kind in [FailureKind::RateLimited, FailureKind::Overloaded, FailureKind::Server] {
            assert_eq!(policy.delay(&said(kind, false), 1, false, 1), None);
            assert!(policy.delay(&said(kind, true), 1, false, 1).is_some());
        }
        for kind in [FailureKind::BadRequest, FailureKind::NotFound, FailureKind::Permission] {
            assert!(policy.delay(&said(kind, true), 1, false, 1).is_some());
            assert_eq!(policy.delay(&said(kind, true), policy.attempts, false, 1), None);
        }
    }
}
