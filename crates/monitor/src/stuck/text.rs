//! A reply that says the same again and again, found while it streams.
//!
//! Byte by byte, so that it makes no difference where the pieces are cut. A hash of the last 16 bytes tells at which
//! distance they stood before; a distance that keeps matching is a period. Lines that come back among others are
//! counted by themselves. Rules, tables and rows of numbers repeat by their nature: without letters much more is
//! needed, and so it is in fenced code.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::verdict::{Member, Pattern, Verdict};

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
const LINES: usize = 128;
/// Fewer bytes that come back are no repetition.
const LEAST: u64 = 200;
/// Shorter lines say nothing when they come back.
const SHORTEST_LINE: usize = 20;
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
/// What a byte weighs when it leaves the hash.
const OUT: u64 = BASE.wrapping_pow(SEED as u32);
const SHOWN: usize = 120;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Lag {
    back: u64,
    run: u64,
    /// Bytes that must match.
    needed: u64,
    /// Whether `needed` was made for what the period holds.
    weighed: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    hash: u64,
    count: u64,
    first: u64,
}

/// Why an answer ended that was cut because it repeated itself.
pub const REPEATED_TEXT: &str = "repeated_text";

/// What repeats in a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Loop {
    pub text: String,
    rounds: u64,
}

/// Looks for repetition in a reply as it streams.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextLoop {
    /// So many rounds are too many; 0 turns it off.
    rounds: u64,
    count: u64,
    kept: Vec<u8>,
    hash: u64,
    places: Vec<(u64, u64)>,
    lags: Vec<Lag>,
    lines: Vec<Line>,
    line: Vec<u8>,
    line_length: u64,
    fenced: bool,
    found: Option<Loop>,
    /// How a reply begins. Most end before anything could come back often enough, and need no tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    early: Vec<u8>,
}

impl TextLoop {
    /// A reply that has not begun.
    pub fn new(rounds: u32) -> Self {
        Self {
            rounds: u64::from(rounds),
            count: 0,
            kept: Vec::new(),
            hash: 0,
            places: Vec::new(),
            lags: Vec::new(),
            lines: Vec::new(),
            line: Vec::new(),
            line_length: 0,
            fenced: false,
            found: None,
            early: Vec::new(),
        }
    }

    /// Takes a piece; says whether the reply repeats itself.
    pub fn feed(&mut self, piece: &str) -> bool {
        if self.rounds == 0 || piece.is_empty() {
            return self.found.is_some();
        }
        if self.kept.len() != KEPT || self.places.len() != PLACES || self.lines.len() != LINES {
            let early = std::mem::take(&mut self.early);
            self.end();
            self.early = early;
            if ((self.early.len() + piece.len()) as u64) < self.shortest() {
                self.early.extend_from_slice(piece.as_bytes());
                return false;
            }
            self.kept = vec![0; KEPT];
            self.places = vec![(0, 0); PLACES];
            self.lines = vec![Line::default(); LINES];
        }
        for b in std::mem::take(&mut self.early).into_iter().chain(piece.bytes()) {
            if self.found.is_some() {
                break;
            }
            // A reply that is data from its first byte on has rows that are alike.
            if self.count == 0 {
                self.fenced = matches!(b, b'{' | b'[');
            }
            self.take(b);
        }
        self.found.is_some()
    }

    /// The reply has ended; the next piece begins another.
    pub fn end(&mut self) {
        if self.count > 0 {
            self.places.fill((0, 0));
            self.lines.fill(Line::default());
        }
        self.count = 0;
        self.hash = 0;
        self.lags.clear();
        self.line.clear();
        self.line_length = 0;
        self.fenced = false;
        self.found = None;
        self.early = Vec::new();
    }

    /// Nothing is found in a reply of fewer bytes.
    const fn shortest(&self) -> u64 {
        let lines = self.rounds.saturating_add(2).saturating_mul(SHORTEST_LINE as u64 + 1);
        if lines < LEAST { lines } else { LEAST }
    }

    /// Whether the reply repeats itself.
    pub const fn is_looping(&self) -> bool {
        self.found.is_some()
    }

    pub(super) fn verdict(&self, at: u64) -> Option<Verdict> {
        let found = self.found.as_ref()?;
        let member = Member { tool: String::new(), arguments: found.text.clone() };
        Some(Verdict::new(Pattern::RepeatedText, vec![member], found.rounds, at, at))
    }

    fn at(&self, place: u64) -> u8 {
        self.kept.get((place % KEPT as u64) as usize).copied().unwrap_or_default()
    }

    fn take(&mut self, b: u8) {
        let here = self.count;
        let gone = if here >= SEED as u64 { u64::from(self.at(here - SEED as u64)) + 1 } else { 0 };
        if !self.lags.is_empty() {
            let mut lags = std::mem::take(&mut self.lags);
            lags.retain_mut(|lag| {
                lag.run += 1;
                self.at(here - lag.back) == b
            });
            self.lags = lags;
        }
        if let Some(kept) = self.kept.get_mut((here % KEPT as u64) as usize) {
            *kept = b;
        }
        self.count += 1;
        // A byte counts one more than it is, so that zeros count too.
        self.hash = self.hash.wrapping_mul(BASE).wrapping_add(u64::from(b) + 1).wrapping_sub(gone.wrapping_mul(OUT));
        if self.count >= SEED as u64 {
            self.seek();
        }
        self.weigh();
        self.follow_line(b);
    }

    /// Whether the last bytes stood somewhere before.
    fn seek(&mut self) {
        let index = (self.hash.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 54) as usize % PLACES;
        let (hash, place) = self.places.get(index).copied().unwrap_or_default();
        let lag = self.count - place;
        if place > 0
            && hash == self.hash
            && lag <= LONGEST
            && self.lags.len() < MOST_LAGS
            && self.lags.iter().all(|known| !lag.is_multiple_of(known.back))
            && (1..=SEED as u64).all(|back| self.at(self.count - back) == self.at(self.count - back - lag))
        {
            let needed = self.needed(lag, 1);
            self.lags.push(Lag { back: lag, run: SEED as u64, needed, weighed: false });
        }
        if self.count.is_multiple_of(STRIDE)
            && let Some(slot) = self.places.get_mut(index)
        {
            *slot = (self.hash, self.count);
        }
    }

    /// Bytes that must match at a distance.
    fn needed(&self, lag: u64, weight: u64) -> u64 {
        let weight = if self.fenced { weight * 3 } else { weight };
        let rounds = if lag >= 120 { (self.rounds / 2).max(3) } else { self.rounds } * weight;
        let least = if lag <= 2 { 2 * LEAST } else { LEAST } * weight;
        (rounds * lag).max(least) - lag
    }

    fn weigh(&mut self) {
        for index in 0..self.lags.len() {
            let Some(Lag { back: lag, run, needed, weighed }) = self.lags.get(index).copied() else { return };
            if run < needed {
                continue;
            }
            let period: Vec<u8> = (1..=lag).rev().map(|back| self.at(self.count - back)).collect();
            if !weighed && !period.iter().any(|b| b.is_ascii_alphabetic() || *b >= 0x80) {
                let needed = self.needed(lag, 8);
                if let Some(lag) = self.lags.get_mut(index) {
                    (lag.needed, lag.weighed) = (needed, true);
                }
                continue;
            }
            self.found = Some(Loop { text: shown(&period), rounds: run / lag + 1 });
            return;
        }
    }

    fn follow_line(&mut self, b: u8) {
        if b != b'\n' {
            self.line_length += 1;
            if self.line.len() < 256 {
                self.line.push(b);
            }
            return;
        }
        let length = std::mem::take(&mut self.line_length);
        let line = std::mem::take(&mut self.line);
        let text = line.trim_ascii();
        if text.starts_with(b"```") || text.starts_with(b"~~~") {
            self.fenced = !self.fenced;
        } else if !self.fenced
            && text.len() >= SHORTEST_LINE
            && length <= 256
            && text.iter().any(u8::is_ascii_alphabetic)
        {
            let hash = xxh3_64(text);
            let count = self.count;
            if let Some(known) = self.lines.get_mut(hash as usize % LINES) {
                if known.hash == hash {
                    known.count += 1;
                } else {
                    *known = Line { hash, count: 1, first: count };
                }
                // A fifth of all that was said since.
                let dense = (count - known.first) / (known.count.max(2) - 1) <= 5 * text.len() as u64;
                if known.count >= self.rounds + 2 && dense {
                    self.found = Some(Loop { text: shown(text), rounds: known.count });
                }
            }
        }
        self.line = line;
        self.line.clear();
    }
}

fn shown(text: &[u8]) -> String {
    let text = text.get(..text.len().min(SHOWN)).unwrap_or_default();
    String::from_utf8_lossy(text)
        .trim_matches(|c: char| c == char::REPLACEMENT_CHARACTER || c.is_whitespace())
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One that has its tables from the first byte on.
    fn eager(rounds: u32) -> TextLoop {
        TextLoop {
            kept: vec![0; KEPT],
            places: vec![(0, 0); PLACES],
            lines: vec![Line::default(); LINES],
            ..TextLoop::new(rounds)
        }
    }

    #[test]
    fn a_short_reply_needs_no_tables() {
        let mut text = TextLoop::new(8);
        assert!(!text.feed(&"a few words, ".repeat(10)));
        assert!(text.kept.is_empty() && text.places.is_empty() && text.lines.is_empty());
        assert!(text.feed(&"a few words, ".repeat(10)));
        text.end();
        assert!(!text.feed("a few words, "));
    }

    proptest! {
        #[test]
        fn what_is_found_does_not_depend_on_when_the_tables_are_made(
            unit in "[ab\n {`]{1,40}",
            tail in ".{0,30}",
            times in 1_usize..30,
            rounds in 1_u32..10,
            cut in 1_usize..64,
        ) {
            let reply = format!("{}{tail}", unit.repeat(times));
            let (mut late, mut early) = (TextLoop::new(rounds), eager(rounds));
            for _ in 0..2 {
                let mut rest = reply.as_str();
                while !rest.is_empty() {
                    let end = (cut..=rest.len()).find(|end| rest.is_char_boundary(*end)).unwrap_or(rest.len());
                    let (piece, behind) = rest.split_at(end);
                    prop_assert_eq!(late.feed(piece), early.feed(piece));
                    rest = behind;
                }
                prop_assert_eq!(late.verdict(0), early.verdict(0));
                late.end();
                early.end();
            }
        }
    }
}
