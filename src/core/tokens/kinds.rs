//! What kinds of bytes a text is made of, where a model's tokenizer is not public and each kind has a ratio of its own.
//!
//! One pass over masks of 64 bytes, at the speed of memory. The tokens that were counted are shared out among the kinds
//! by how many bytes of each there are and what such bytes cost; the shares are what ratios are applied to and learned from.

use super::{
    scan::{Masks, WINDOW},
    wide::{self, Task},
};

/// A kind of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Kind {
    /// Words of a language in Latin letters.
    Prose = 0,
    /// Code, markup, JSON, logs: words among many signs and digits.
    Code = 1,
    /// Letters and digits without an order: base64, hashes, keys.
    Dense = 2,
    /// Characters of three and four bytes: Chinese, Japanese, Korean, Indic scripts, emoji.
    Wide = 3,
    /// Characters of two bytes: Cyrillic, Greek, Arabic, Hebrew, accents.
    Other = 4,
    /// No text: what messages, calls and results cost to be there.
    Frame = 5,
}

impl Kind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; KINDS] = [Self::Prose, Self::Code, Self::Dense, Self::Wide, Self::Other, Self::Frame];

    /// The name, as in `prose`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prose => "prose",
            Self::Code => "code",
            Self::Dense => "dense",
            Self::Wide => "wide",
            Self::Other => "other",
            Self::Frame => "frame",
        }
    }
}

/// How many kinds there are.
pub const KINDS: usize = 6;

/// Tokens of an encoding by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mix(pub [f64; KINDS]);

impl Mix {
    /// All of one kind.
    #[cfg(test)]
    pub(super) fn of(kind: Kind, tokens: f64) -> Self {
        let mut mix = Self::default();
        mix.add(kind, tokens);
        mix
    }

    pub(super) fn add(&mut self, kind: Kind, tokens: f64) {
        if let Some(own) = self.0.get_mut(kind as usize) {
            *own += tokens;
        }
    }

    /// The sum over the kinds of what `each` says of a kind's number and tokens.
    pub(super) fn sum(&self, each: impl Fn(usize, f64) -> f64) -> f64 {
        self.0.iter().enumerate().filter(|(_, tokens)| **tokens != 0.0).map(|(at, tokens)| each(at, *tokens)).sum()
    }
}

impl std::ops::AddAssign for Mix {
    fn add_assign(&mut self, other: Self) {
        for (own, more) in self.0.iter_mut().zip(other.0) {
            *own += more;
        }
    }
}

/// Tokens for each byte of a kind, about.
const PRICES: [f64; KINDS] = [0.22, 0.29, 0.6, 0.25, 0.3, 0.0];

/// Which shares of a text's tokens are of which kind, in 255ths; code has the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shares([u8; KINDS]);

impl Shares {
    /// The shares of a text.
    pub(super) fn of(text: &str) -> Self {
        let bytes = wide::run(Kinds(text.as_bytes()));
        let prices = bytes.iter().zip(PRICES).map(|(bytes, price)| *bytes as f64 * price);
        let sum: f64 = prices.clone().sum();
        let mut shares = Self::default();
        if sum > 0.0 {
            for (share, price) in shares.0.iter_mut().zip(prices) {
                *share = (price / sum * 255.0) as u8;
            }
        }
        shares
    }

    /// So many tokens, shared out.
    pub(super) fn mix(self, tokens: usize) -> Mix {
        let mut mix = Mix::default();
        let mut left = tokens as f64;
        for ((slot, share), kind) in mix.0.iter_mut().zip(self.0).zip(Kind::ALL) {
            if kind != Kind::Code {
                *slot = tokens as f64 * f64::from(share) / 255.0;
                left -= *slot;
            }
        }
        mix.add(Kind::Code, left);
        mix
    }
}

/// Counts the bytes of each kind.
struct Kinds<'a>(&'a [u8]);

impl Task for Kinds<'_> {
    type Output = [u64; KINDS];

    #[inline(always)]
    fn run(self, masks: impl Fn(&[u8; WINDOW]) -> Masks + Copy) -> [u64; KINDS] {
        let mut found = [0; KINDS];
        let (windows, rest) = self.0.as_chunks::<WINDOW>();
        // What a window begins with in the middle of a character is of the kind of the window before.
        let mut before = 0;
        for window in windows {
            before = tell(&mut found, window, WINDOW, masks(window), before);
        }
        if !rest.is_empty() {
            let mut last = [0; WINDOW];
            for (byte, own) in last.iter_mut().zip(rest) {
                *byte = *own;
            }
            tell(&mut found, &last, rest.len(), masks(&last), before);
        }
        found
    }
}

/// Adds what a window of `length` bytes holds; gives its last byte that begins a character of several.
#[inline(always)]
fn tell(found: &mut [u64; KINDS], window: &[u8; WINDOW], length: usize, masks: Masks, before: u8) -> u8 {
    let within = u64::MAX >> (WINDOW - length.clamp(1, WINDOW));
    let Masks { letter, upper, digit, space, high, .. } = masks;
    let ascii = u64::from((within & !high).count_ones());
    let mut lead = before;
    if high != 0 {
        let mut two = 0;
        for byte in window.iter().take(length).filter(|byte| **byte >= 0x80) {
            if *byte >= 0xc0 {
                lead = *byte;
            }
            two += u64::from(lead < 0xe0);
        }
        found[Kind::Other as usize] += two;
        found[Kind::Wide as usize] += u64::from(high.count_ones()) - two;
    }
    if ascii > 0 {
        let ones = |mask: u64| u64::from((mask & within).count_ones());
        let signs = ascii - ones(letter | digit | space);
        let mixed = ones(digit | upper);
        let kind = if (signs + ones(space)) * 8 < ascii && mixed * 6 > ascii {
            Kind::Dense
        } else if signs * 12 > ascii || ones(digit) * 6 > ascii {
            Kind::Code
        } else {
            Kind::Prose
        };
        found[kind as usize] += ascii;
    }
    lead
}

#[cfg(test)]
mod tests {
    use super::*;

    fn most(text: &str) -> Kind {
        let mix = Shares::of(text).mix(1_000);
        assert!((mix.0.iter().sum::<f64>() - 1_000.0).abs() < 1e-6, "{mix:?}");
        let at = (0..KINDS).max_by(|a, b| mix.0[*a].total_cmp(&mix.0[*b])).unwrap();
        Kind::ALL[at]
    }

    #[test]
    fn texts_are_of_the_kind_that_they_are() {
        for (text, kind) in [
            ("The quick brown fox jumps over the lazy dog and nobody minds it very much. ", Kind::Prose),
            (
                "let value = self.compute(index, &rows[at])?; // of file 3\n    if x > 0 { return Ok(()); }\n",
                Kind::Code,
            ),
            (r#"{"id": 17, "name": "x", "tags": ["a", "b"], "at": {"line": 4, "column": 9}}"#, Kind::Code),
            ("dGhpcyBpcyBhIHRlc3Qgb2YgYmFzZTY0IGVuY29kaW5nIHdpdGggc29tZSBsb25nZXIgdGV4dDEyMzQ1", Kind::Dense),
            ("我们需要检查这个文件的内容然后再决定怎么修改它。", Kind::Wide),
            ("Проверьте содержимое этого файла, прежде чем менять его.", Kind::Other),
            ("안녕하세요 세계", Kind::Wide),
        ] {
            for times in [1, 2, 9] {
                assert_eq!(most(&text.repeat(times)), kind, "{text}");
            }
        }
    }

    #[test]
    fn every_byte_is_of_one_kind_wherever_a_window_ends() {
        let text = "a é 中 🦀 Ж ".repeat(40);
        for start in 0..text.len() {
            let Some(text) = text.get(start..) else { continue };
            let bytes: u64 = wide::run(Kinds(text.as_bytes())).iter().sum();
            assert_eq!(bytes, text.len() as u64);
        }
        assert_eq!(Shares::of("").mix(0), Mix::default());
    }
}
