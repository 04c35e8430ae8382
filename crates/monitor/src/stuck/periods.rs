//! Cycles of any length up to 64, found with the step that completes a round: one comparison of the newest step with
//! each of the last 64, and for each lag the place from which on it has matched without a gap.
//!
//! A sequence has gone through `r` rounds of period `p` exactly if the last `(r - 1) * p` steps equal those `p` before
//! them; what stood before the cycle has no say in it.

use serde::{Deserialize, Serialize};

/// The longest cycle that is found.
pub(super) const LONGEST: usize = 64;

/// The last steps and the lags at which they repeat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Saved")]
pub(super) struct Periods {
    /// Fingerprints of the last steps, each written twice: the last 64 always stand in one piece.
    recent: Vec<u32>,
    count: u64,
    /// The lags that match now; lag 1 is bit 0.
    active: u64,
    /// The step with which each lag began to match.
    since: Vec<u64>,
}

#[derive(Deserialize)]
struct Saved {
    recent: Vec<u32>,
    count: u64,
    active: u64,
    since: Vec<u64>,
}

impl From<Saved> for Periods {
    fn from(saved: Saved) -> Self {
        let Saved { mut recent, count, active, mut since } = saved;
        let whole = recent.len() == 2 * LONGEST && since.len() == LONGEST;
        if !whole {
            recent.clear();
            since.clear();
        }
        Self { recent, count: if whole { count } else { 0 }, active: if whole { active } else { 0 }, since }
    }
}

impl Periods {
    /// Takes the fingerprint of the next step.
    pub(super) fn push(&mut self, print: u64) {
        // A lag must match step after step: 32 bits are plenty, and twice as fast to compare.
        let print = (print ^ (print >> 32)) as u32;
        if self.recent.is_empty() {
            self.recent = vec![0; 2 * LONGEST];
            self.since = vec![0; LONGEST];
        }
        let slot = (self.count % LONGEST as u64) as usize;
        let mut equal = 0_u64;
        if let Some(window) = self.recent.get(slot..slot + LONGEST) {
            for (at, chunk) in window.chunks_exact(8).enumerate() {
                let bits =
                    chunk.iter().enumerate().fold(0_u64, |bits, (bit, old)| bits | (u64::from(*old == print) << bit));
                equal |= bits << (8 * at);
            }
        }
        // The window runs from lag 64 to lag 1.
        let mut lags = equal.reverse_bits();
        if self.count < LONGEST as u64 {
            lags &= (1 << self.count) - 1;
        }
        let mut begun = lags & !self.active;
        while begun != 0 {
            if let Some(since) = self.since.get_mut(begun.trailing_zeros() as usize) {
                *since = self.count;
            }
            begun &= begun - 1;
        }
        self.active = lags;
        for at in [slot, slot + LONGEST] {
            if let Some(old) = self.recent.get_mut(at) {
                *old = print;
            }
        }
        self.count += 1;
    }

    /// Steps so far.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// The lags that match now, shortest first, each with the rounds gone through.
    pub(super) fn rounds(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let mut left = self.active;
        std::iter::from_fn(move || {
            let bit = left.checked_ilog2().map(|_| left.trailing_zeros() as usize)?;
            left &= left - 1;
            let since = self.since.get(bit).copied()?;
            let period = bit + 1;
            Some((period, self.count.saturating_sub(since) / period as u64 + 1))
        })
    }

    /// The step, from 1, with which the first round of a period that matches now began.
    pub(super) fn first(&self, period: usize) -> u64 {
        let since = self.since.get(period - 1).copied().unwrap_or_default();
        (since + 1).saturating_sub(period as u64)
    }

    /// Whether any lag matches.
    pub(super) const fn any(&self) -> bool {
        self.active != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The plain reading: the last `rounds * period` steps are `rounds` times the same.
    fn plain(steps: &[u64], period: usize, rounds: usize) -> bool {
        let Some(start) = steps.len().checked_sub(period * rounds) else { return false };
        let tail = &steps[start..];
        tail.iter().zip(&tail[period..]).all(|(a, b)| a == b)
    }

    proptest! {
        #[test]
        fn rounds_are_those_of_the_plain_reading(steps in prop::collection::vec(0_u64..3, 0..80), long in 1_usize..66) {
            let mut all = steps.clone();
            all.extend((0..long * 4).map(|at| 100 + (at % long) as u64));
            all.extend(steps);
            let mut periods = Periods::default();
            for end in 1..=all.len() {
                periods.push(all[end - 1]);
                let found: Vec<(usize, u64)> = periods.rounds().filter(|(_, rounds)| *rounds >= 2).collect();
                for period in 1..=LONGEST {
                    let rounds = found.iter().find(|(found, _)| *found == period).map_or(1, |(_, rounds)| *rounds as usize);
                    if rounds > 1 {
                        prop_assert!(plain(&all[..end], period, rounds));
                    }
                    prop_assert!(!plain(&all[..end], period, rounds + 1));
                }
            }
        }
    }
}
