//! A reply that says the same again and again, found while it streams.
//!
//! Byte by byte, so that it makes no difference where the pieces are cut. Periods are looked for in what stands there,
//! and in its words alone, which need twice as many rounds. Lines and sentences that come back among
//! others are counted by themselves. Rules, drawings, tables and rows of numbers repeat by their nature: there much
//! more is needed, and so it is in fenced code.

use super::{
    lags::{LEAST, Lags},
    sentences::{Sentences, is_drawing},
    verdict::{Member, Pattern, Verdict},
};
use serde::{Deserialize, Serialize};

const SHOWN: usize = 120;

/// Why an answer ended that was cut because it repeated itself.
pub const REPEATED_TEXT: &str = "repeated_text";

/// What makes words of bytes: lower case, and one blank for all that stands between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Fold {
    /// Bytes of a sign beyond ASCII that are still to come.
    skips: u8,
    /// Whether a blank was the last.
    blank: bool,
}

impl Fold {
    /// The byte of the words, if any.
    const fn take(&mut self, b: u8) -> Option<u8> {
        if self.skips > 0 && b & 0xc0 == 0x80 {
            self.skips -= 1;
            return None;
        }
        // Dashes, dots and quotation marks of other scripts begin so.
        self.skips = if matches!(b, 0xe2 | 0xef) { 2 } else { 0 };
        if b.is_ascii_alphanumeric() || (b >= 0x80 && self.skips == 0) {
            self.blank = false;
            return Some(b.to_ascii_lowercase());
        }
        if self.blank {
            return None;
        }
        self.blank = true;
        Some(b' ')
    }
}

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
    /// The reply to the letter.
    #[serde(default)]
    raw: Lags,
    /// Its words, whatever stands between them.
    #[serde(default)]
    words: Lags,
    #[serde(default)]
    fold: Fold,
    #[serde(default)]
    sentences: Sentences,
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
            raw: Lags::default(),
            words: Lags::default(),
            fold: Fold::default(),
            sentences: Sentences::default(),
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
        if !(self.raw.is_prepared() && self.words.is_prepared() && self.sentences.is_prepared()) {
            let early = std::mem::take(&mut self.early);
            self.end();
            self.early = early;
            if ((self.early.len() + piece.len()) as u64) < self.shortest() {
                self.early.extend_from_slice(piece.as_bytes());
                return false;
            }
            self.prepare();
        }
        for b in std::mem::take(&mut self.early).into_iter().chain(piece.bytes()) {
            if self.found.is_some() {
                break;
            }
            // A reply that is data from its first byte on has rows that are alike.
            if self.raw.count() == 0 {
                self.fenced = matches!(b, b'{' | b'[');
            }
            self.take(b);
        }
        self.found.is_some()
    }

    fn prepare(&mut self) {
        self.raw.prepare();
        self.words.prepare();
        self.sentences.prepare();
    }

    /// The reply has ended; the next piece begins another.
    pub fn end(&mut self) {
        if self.raw.count() > 0 {
            self.raw.end();
            self.words.end();
            self.sentences.end();
        }
        self.fold = Fold::default();
        self.fenced = false;
        self.found = None;
        self.early = Vec::new();
    }

    /// Nothing is found in a reply of fewer bytes.
    const fn shortest(&self) -> u64 {
        let lines = Sentences::shortest(self.rounds);
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

    fn take(&mut self, b: u8) {
        // Fenced code has rows that are alike.
        let more = if self.fenced { 3 } else { 1 };
        let raw = self.raw.take(b, self.rounds, more);
        let mut words = self.fold.take(b).and_then(|b| self.words.take(b, 2 * self.rounds, more));
        // Rows that are alike by their nature are for the letter alone: their words have no shape.
        if let Some((period, _)) = &words
            && is_drawing(&self.raw.last(2 * period.len()))
        {
            self.words.end();
            words = None;
        }
        let at = self.raw.count();
        let sentence = self.sentences.take(b, at, self.rounds, &mut self.fenced);
        if let Some((text, rounds)) = raw.or(words).or(sentence) {
            self.found = Some(Loop { text: shown(&text), rounds });
        }
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
        let mut text = TextLoop::new(rounds);
        text.prepare();
        text
    }

    #[test]
    fn a_short_reply_needs_no_tables() {
        let mut text = TextLoop::new(8);
        assert!(!text.feed(&"a few words, ".repeat(10)));
        assert!(!text.raw.is_prepared() && !text.words.is_prepared() && !text.sentences.is_prepared());
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
