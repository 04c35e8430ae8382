//! Periods in a stream of bytes: a hash of the last 16 tells at which distance they stood before; a distance that keeps
//! matching is a period.

use serde::{Deserialize, Serialize};

use super::sentences::{BY_NATURE, is_drawing};

/// Bytes that are kept; no period is longer than half of it.
const KEPT: usize = 8192;
const LONGEST: u64 = KEPT as u64 / 2;
/// Bytes that must come back before a distance is followed.
const SEED: usize = 16;
/// Places that are remembered, one for each 8 bytes.
const PLACES: usize = 1024;
const STRIDE: u64 = 8;
/// Distances that are followed at once.
const MOST_LAGS: usize = 4;
/// Fewer bytes that come back are no repetition.
pub(super) const LEAST: u64 = 200;
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
/// What a byte weighs when it leaves the hash.
const OUT: u64 = BASE.wrapping_pow(SEED as u32);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Lag {
    back: u64,
    run: u64,
    /// Bytes that must match.
    needed: u64,
    /// Whether `needed` was made for what the period holds.
    weighed: bool,
}

/// The last bytes, and the distances at which they come back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Lags {
    rounds: u64,
    count: u64,
    kept: Vec<u8>,
    hash: u64,
    places: Vec<(u64, u64)>,
    followed: Vec<Lag>,
}

impl Lags {
    /// Makes the tables.
    pub(super) fn prepare(&mut self) {
        self.kept = vec![0; KEPT];
        self.places = vec![(0, 0); PLACES];
    }

    /// Whether there are tables.
    pub(super) const fn is_prepared(&self) -> bool {
        self.kept.len() == KEPT && self.places.len() == PLACES
    }

    /// The bytes so far.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// The last bytes.
    pub(super) fn last(&self, bytes: usize) -> Vec<u8> {
        let bytes = (bytes.min(KEPT) as u64).min(self.count);
        (self.count - bytes..self.count).map(|place| self.at(place)).collect()
    }

    /// The stream has ended.
    pub(super) fn end(&mut self) {
        if self.count > 0 {
            self.places.fill((0, 0));
        }
        (self.count, self.hash) = (0, 0);
        self.followed.clear();
    }

    fn at(&self, place: u64) -> u8 {
        self.kept.get((place % KEPT as u64) as usize).copied().unwrap_or_default()
    }

    /// Takes a byte; gives what has repeated itself, and how often. `rounds` are too many, and `more` times as much is
    /// needed where rows are alike by their nature.
    pub(super) fn take(&mut self, b: u8, rounds: u64, more: u64) -> Option<(Vec<u8>, u64)> {
        self.rounds = rounds;
        let here = self.count;
        let gone = if here >= SEED as u64 { u64::from(self.at(here - SEED as u64)) + 1 } else { 0 };
        if !self.followed.is_empty() {
            let mut followed = std::mem::take(&mut self.followed);
            followed.retain_mut(|lag| {
                lag.run += 1;
                self.at(here - lag.back) == b
            });
            self.followed = followed;
        }
        if let Some(kept) = self.kept.get_mut((here % KEPT as u64) as usize) {
            *kept = b;
        }
        self.count += 1;
        // A byte counts one more than it is, so that zeros count too.
        self.hash = self.hash.wrapping_mul(BASE).wrapping_add(u64::from(b) + 1).wrapping_sub(gone.wrapping_mul(OUT));
        if self.count >= SEED as u64 {
            self.seek(more);
        }
        self.weigh(more)
    }

    /// Whether the last bytes stood somewhere before.
    fn seek(&mut self, more: u64) {
        let index = (self.hash.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 54) as usize % PLACES;
        let (hash, place) = self.places.get(index).copied().unwrap_or_default();
        let lag = self.count - place;
        if place > 0
            && hash == self.hash
            && lag <= LONGEST
            && self.followed.len() < MOST_LAGS
            && self.followed.iter().all(|known| !lag.is_multiple_of(known.back))
            && (1..=SEED as u64).all(|back| self.at(self.count - back) == self.at(self.count - back - lag))
        {
            let needed = self.needed(lag, more);
            self.followed.push(Lag { back: lag, run: SEED as u64, needed, weighed: false });
        }
        if self.count.is_multiple_of(STRIDE)
            && let Some(slot) = self.places.get_mut(index)
        {
            *slot = (self.hash, self.count);
        }
    }

    /// Bytes that must match at a distance.
    fn needed(&self, lag: u64, weight: u64) -> u64 {
        let rounds = if lag >= 120 { (self.rounds / 2).max(3) } else { self.rounds } * weight;
        let least = if lag <= 2 { 2 * LEAST } else { LEAST } * weight;
        (rounds * lag).max(least) - lag
    }

    /// What has repeated itself often enough.
    fn weigh(&mut self, more: u64) -> Option<(Vec<u8>, u64)> {
        for index in 0..self.followed.len() {
            let Lag { back: lag, run, needed, weighed } = self.followed.get(index).copied()?;
            if run < needed {
                continue;
            }
            let period: Vec<u8> = (1..=lag).rev().map(|back| self.at(self.count - back)).collect();
            if !weighed && is_drawing(&period) {
                let needed = self.needed(lag, BY_NATURE * more);
                if let Some(lag) = self.followed.get_mut(index) {
                    (lag.needed, lag.weighed) = (needed, true);
                }
                continue;
            }
            return Some((period, run / lag + 1));
        }
        None
    }
}
