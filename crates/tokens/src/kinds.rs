//! Kinds of bytes in a text, for models whose tokenizer is not public and each kind has a ratio of its own.
//!
//! One pass over masks of 64 bytes, at the speed of memory. The tokens that were counted are shared out among the kinds
//! by how many bytes of each there are and what such bytes cost; the shares are what ratios are applied to and learned
//! from. Within a kind scripts differ more than anything else does, and by as much on every tokenizer that is not made
//! for them: a token of Thai weighs nearly twice what a token of Chinese does.

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
    /// The frames of messages, calls and results, without text.
    Frame = 5,
}

impl Kind {
    /// All kinds, in the order of their numbers.
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

/// The number of kinds.
pub const KINDS: usize = 6;

/// Tokens of an encoding by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mix(pub [f64; KINDS]);

impl Mix {
    /// Tokens of one kind.
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

    /// The sum over the kinds of `each` kind's number and tokens.
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
const TOKENS_PER_BYTE: [f64; KINDS] = [0.22, 0.29, 0.6, 0.23, 0.18, 0.0];

/// The weight of a script's token among the tokens of its kind, in 64ths, by the first byte of its characters. Of two
/// bytes: Cyrillic is 64. Of three and four: Chinese characters are. Their sources are in docs/tokens.md.
const WEIGHTS: [u8; 256] = {
    let mut weights = [64; 256];
    let mut lead = 0xc2;
    while lead < 0x100 {
        weights[lead] = match lead {
            // Greek.
            0xcd..=0xcf => 90,
            // Armenian, Hebrew, Arabic and what is written like it; full width.
            0xd4..=0xdf | 0xef => 84,
            // Indic scripts; Thai and Lao are told apart by the second byte.
            0xe0 => 92,
            // Ethiopic, Khmer, Georgian and others.
            0xe1 => 104,
            // Signs and emoji; kana are told apart by the second byte.
            0xe2 | 0xf0..=0xff => 78,
            // Korean.
            0xea..=0xed => 82,
            _ => 64,
        };
        lead += 1;
    }
    weights
};
const THAI: u8 = 112;
const KANA: u8 = 54;

/// Accents among the bytes of prose, in thousandths, and the weight of its tokens then, in 64ths: German and Spanish
/// have 15, Turkish 80, Vietnamese 200. English has less than one.
const ACCENTS: [(f64, f64); 5] = [(3.0, 64.0), (10.0, 76.0), (50.0, 78.0), (85.0, 84.0), (200.0, 108.0)];

/// The shares of a text's tokens by kind, in 255ths; code has the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shares {
    shares: [u8; KINDS],
    /// The weights of a token, in 64ths: of prose, of wide and of other characters.
    weights: [u8; 3],
}

impl Shares {
    /// The shares of a text.
    pub(super) fn of(text: &str) -> Self {
        let found = wide::run(KindCounter(text.as_bytes()));
        let bytes = found.bytes();
        let prices = bytes.iter().zip(TOKENS_PER_BYTE).map(|(bytes, price)| *bytes as f64 * price);
        let sum: f64 = prices.clone().sum();
        let mut shares = Self { shares: [0; KINDS], weights: found.weights() };
        if sum > 0.0 {
            for (share, price) in shares.shares.iter_mut().zip(prices) {
                *share = (price / sum * 255.0) as u8;
            }
        }
        shares
    }

    /// The tokens of each kind, of so many in all.
    pub(super) fn mix(self, tokens: usize) -> Mix {
        let mut mix = Mix::default();
        let mut left = tokens as f64;
        for ((slot, share), kind) in mix.0.iter_mut().zip(self.shares).zip(Kind::ALL) {
            if kind != Kind::Code {
                let own = tokens as f64 * f64::from(share) / 255.0;
                left -= own;
                *slot = own;
            }
        }
        mix.add(Kind::Code, left);
        for (kind, weight) in [Kind::Prose, Kind::Wide, Kind::Other].into_iter().zip(self.weights) {
            if let Some(own) = mix.0.get_mut(kind as usize) {
                *own *= f64::from(weight) / 64.0;
            }
        }
        mix
    }
}

/// The bytes of each kind, and the weights of those that are not ASCII, in 64ths.
#[derive(Clone, Copy, Debug, Default)]
struct KindBytes {
    ascii: [u64; KINDS],
    wide: u64,
    wide_weight: u64,
    other: u64,
    other_weight: u64,
    /// Bytes of Latin letters with accents.
    accents: u64,
}

impl KindBytes {
    fn bytes(&self) -> [u64; KINDS] {
        let mut bytes = self.ascii;
        bytes[Kind::Prose as usize] += self.accents;
        bytes[Kind::Wide as usize] += self.wide;
        bytes[Kind::Other as usize] += self.other;
        bytes
    }

    fn weights(&self) -> [u8; 3] {
        let mean = |weight: u64, bytes: u64| weight.checked_div(bytes).map_or(64, |mean| mean.min(255) as u8);
        // Letters are of two bytes, and some of Vietnamese of three.
        let letters = self.accents as f64 / 2.0;
        let prose = self.ascii[Kind::Prose as usize] as f64 + letters;
        let share = if prose > 0.0 { letters / prose * 1_000.0 } else { 0.0 };
        let mut weight = 64.0;
        let [mut before, ..] = ACCENTS;
        for (at, to) in ACCENTS {
            if share >= at {
                weight = to;
            } else if share > before.0 {
                weight = before.1 + (to - before.1) * (share - before.0) / (at - before.0);
            }
            before = (at, to);
        }
        [weight as u8, mean(self.wide_weight, self.wide), mean(self.other_weight, self.other)]
    }
}

/// Counts the bytes of each kind.
struct KindCounter<'a>(&'a [u8]);

impl Task for KindCounter<'_> {
    type Output = KindBytes;

    #[inline(always)]
    fn run(self, masks: impl Fn(&[u8; WINDOW]) -> Masks + Copy) -> KindBytes {
        let mut found = KindBytes::default();
        let (windows, rest) = self.0.as_chunks::<WINDOW>();
        // What a window begins with in the middle of a character is of the kind of the window before.
        let mut before = (0, 64);
        for window in windows {
            before = add_window(&mut found, window, WINDOW, masks(window), before);
        }
        if !rest.is_empty() {
            let mut last = [0; WINDOW];
            for (byte, own) in last.iter_mut().zip(rest) {
                *byte = *own;
            }
            add_window(&mut found, &last, rest.len(), masks(&last), before);
        }
        found
    }
}

/// Adds a window of `length` bytes; returns its last byte that begins a character of several, with its weight.
#[inline(always)]
fn add_window(found: &mut KindBytes, window: &[u8; WINDOW], length: usize, masks: Masks, before: (u8, u8)) -> (u8, u8) {
    let within = u64::MAX >> (WINDOW - length.clamp(1, WINDOW));
    let Masks { letter, upper, digit, space, high, .. } = masks;
    let ascii = u64::from((within & !high).count_ones());
    let mut character = before;
    if high != 0 {
        for (at, &byte) in window.iter().enumerate().take(length).filter(|(_, byte)| **byte >= 0x80) {
            if byte >= 0xc0 {
                let second = window.get(at + 1).copied().unwrap_or(0x80);
                character = match (byte, second) {
                    // Latin letters, those of Vietnamese included.
                    (0xc3..=0xcc, _) | (0xe1, 0xb8..=0xbb) => (byte, 0),
                    (0xe0, 0xb8..=0xbb) => (byte, THAI),
                    (0xe3, 0x81..=0x83) => (byte, KANA),
                    _ => (byte, WEIGHTS[usize::from(byte)]),
                };
            }
            let (lead, weight) = character;
            if weight == 0 {
                found.accents += 1;
            } else if lead < 0xe0 {
                found.other += 1;
                found.other_weight += u64::from(weight);
            } else {
                found.wide += 1;
                found.wide_weight += u64::from(weight);
            }
        }
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
        found.ascii[kind as usize] += ascii;
    }
    character
}

#[cfg(test)]
mod tests {
    use super::*;

    fn most(text: &str) -> Kind {
        let shares = Shares { weights: [64; 3], ..Shares::of(text) };
        let mix = shares.mix(1_000);
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
    fn scripts_weigh_what_they_do_wherever_a_window_ends() {
        let weight = |text: &str, at: usize| Shares::of(&text.repeat(9)).weights[at];
        for (text, at, wanted) in [
            ("The committee met on the third day and agreed that nothing more could be done. ", 0, 64..=64),
            ("Der Ausschuß trat am dritten Tage für vier Stunden zusammen, später ging man nach Hause. ", 0, 75..=80),
            ("Ủy ban đã họp vào ngày thứ ba và đồng ý rằng không thể làm gì hơn nữa. ", 0, 95..=108),
            ("我们需要检查这个文件的内容。", 1, 62..=66),
            ("ファイルをさくじょする", 1, 50..=58),
            ("คณะกรรมการประชุมกันในวันที่สาม", 1, 108..=112),
            ("समिति तीसरे दिन मिली", 1, 88..=92),
            ("Проверьте содержимое файла", 2, 62..=66),
            ("تعتمد نماذج اللغة الكبيرة", 2, 82..=84),
        ] {
            let found = weight(text, at);
            assert!(wanted.contains(&found), "{text}: {found}");
        }
        let both = "Проверьте 我们 ".repeat(20);
        for start in 0..64 {
            let weights = Shares::of(&format!("{}{both}", "a".repeat(start))).weights;
            assert!((60..=68).contains(&weights[1]) && (60..=68).contains(&weights[2]), "{start}: {weights:?}");
        }
    }

    #[test]
    fn every_byte_is_of_one_kind_wherever_a_window_ends() {
        let text = "a é 中 🦀 Ж ".repeat(40);
        for start in 0..text.len() {
            let Some(text) = text.get(start..) else { continue };
            let bytes: u64 = wide::run(KindCounter(text.as_bytes())).bytes().iter().sum();
            assert_eq!(bytes, text.len() as u64);
        }
        assert_eq!(Shares::of("").mix(0), Mix::default());
    }
}
