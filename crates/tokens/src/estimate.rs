//! Estimates of the tokens of long texts, without reading all of them closely.
//!
//! Every 64 bytes are looked at for what pieces begin in them, which masks tell at the speed of memory. Samples spread
//! evenly over the text are counted exactly and tell what a piece costs in this text; there are as many of them as it
//! takes until they agree. Short texts are counted exactly. The answer is the same every time.

use loopwright_base::text::ceil_boundary;

use super::{
    exact::Encoding,
    scan::{Masks, WINDOW},
    wide::{self, Task},
};

/// The length up to which a text is counted exactly.
const MAX_EXACT: usize = 2 * 1024;

/// How texts of at most so many bytes are sampled: of so many windows in a row, so many are counted. Samples are
/// counted in rounds, each spread over the whole text and with so many samples or more, until the standard error of
/// what they say is below so much: two of it stay within what is promised, 10 % for short texts and 5 % from 32 KB on.
struct SamplingPlan {
    up_to: usize,
    every: usize,
    sample: usize,
    samples: usize,
    agree: f64,
}

const PLANS: [SamplingPlan; 3] = [
    SamplingPlan { up_to: 12 * 1024, every: 8, sample: 2, samples: 4, agree: 0.03 },
    SamplingPlan { up_to: 96 * 1024, every: 12, sample: 3, samples: 10, agree: 0.014 },
    SamplingPlan { up_to: usize::MAX, every: 32, sample: 3, samples: 10, agree: 0.015 },
];
/// Rounds of sampling at most; more say no more.
const ROUNDS: usize = 8;

impl Encoding {
    /// Estimates the tokens of a text; exact up to 2 KB.
    pub fn estimate(&self, text: &str) -> usize {
        if text.len() <= MAX_EXACT {
            return self.count(text);
        }
        wide::run(Estimate { encoding: self, text })
    }
}

struct Estimate<'a> {
    encoding: &'a Encoding,
    text: &'a str,
}

impl Task for Estimate<'_> {
    type Output = usize;

    #[inline(always)]
    fn run(self, masks: impl Fn(&[u8; WINDOW]) -> Masks + Copy) -> usize {
        let Self { encoding, text } = self;
        let (windows, _) = text.as_bytes().as_chunks::<WINDOW>();
        let Some(plan) = PLANS.iter().find(|plan| text.len() <= plan.up_to) else { return 0 };
        // Where characters take several bytes, a sample holds fewer tokens: it has to be longer to say as much.
        let looked = windows.iter().step_by((windows.len() / 8).max(1)).take(8);
        let (high, seen) =
            looked.fold((0, 0), |(high, seen), window| (high + masks(window).high.count_ones(), seen + 64));
        let (every, sample) = (plan.every, plan.sample + usize::from(high * 2 > seen));
        let mut all = 0_u64;
        let mut strata = Vec::with_capacity(windows.len() / every + 1);
        for (n, stratum) in windows.chunks(every).enumerate() {
            // The place of the sample wanders, so that text in columns of a fixed length does not fool it.
            let place = pseudo_random(n) % (every - sample + 1);
            let mut seen = 0;
            for (at, window) in stratum.iter().enumerate() {
                let weight = window_cost(masks(window));
                all += u64::from(weight);
                if (place..place + sample).contains(&at) {
                    seen += weight;
                }
            }
            let start = (n * every + place) * WINDOW;
            let end = (n * every + (place + sample).min(stratum.len())) * WINDOW;
            if start < end {
                strata.push(Stratum { start, end, weight: f64::from(seen) });
            }
        }
        let ratio = ratio(encoding, text, &strata, plan);
        (ratio * all as f64 * text.len() as f64 / (windows.len() * WINDOW).max(1) as f64).round() as usize
    }
}

/// A stretch of the text that is counted if it is needed.
struct Stratum {
    start: usize,
    end: usize,
    weight: f64,
}

/// Tokens for a unit of weight.
fn ratio(encoding: &Encoding, text: &str, strata: &[Stratum], plan: &SamplingPlan) -> f64 {
    let rounds = (strata.len() / plan.samples).clamp(1, ROUNDS);
    let mut counts = Vec::with_capacity(strata.len());
    let (mut tokens, mut weight) = (0.0, 0.0);
    for round in 0..rounds {
        for (n, group) in strata.chunks(rounds).enumerate() {
            // Which of a group wanders too, or a text that repeats at the pace of the groups would hide half of itself.
            let Some(stratum) = group.get((round + pseudo_random(n ^ 1 << 20)) % rounds) else { continue };
            let sample = &text[ceil_boundary(text, stratum.start)..ceil_boundary(text, stratum.end)];
            let count = encoding.count(sample);
            let count = (count as f64 - excess_of_cuts(sample, count)).max(0.0);
            tokens += count;
            weight += stratum.weight;
            counts.push((count, stratum.weight));
        }
        let ratio = tokens / weight.max(1.0);
        let scatter: f64 = counts.iter().map(|(count, weight)| (count - ratio * weight).powi(2)).sum();
        let samples = counts.len() as f64;
        if (scatter * samples / (samples - 1.0)).sqrt() < plan.agree * tokens {
            break;
        }
    }
    tokens / weight.max(1.0)
}

/// The tokens that a sample has too many for being cut out: its first and last piece are parts of words where there are
/// words, and where there are none cuts matter less.
fn excess_of_cuts(sample: &str, count: usize) -> f64 {
    let spaces = memchr::memchr_iter(b' ', sample.as_bytes()).count();
    // Scripts without spaces whose words are tokens nevertheless have few of them.
    let words = spaces * 20 >= sample.len() || count * 5 < sample.len();
    if words { 0.9 } else { 0.25 }
}

/// A pseudo-random number for a number, the same every time: the finalizer of `SplitMix64`.
fn pseudo_random(n: usize) -> usize {
    let n = (n as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let n = (n ^ n >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (n ^ n >> 31) as usize
}

/// The cost of a window in 64ths of a token: prices from a fit over all classes of text. Only their proportions matter,
/// and only where a text mixes the classes.
#[inline(always)]
fn window_cost(masks: Masks) -> u32 {
    let Masks { letter, upper, digit, white, newline, high, .. } = masks;
    let other = !(letter | digit | white | high);
    let words = letter & !(letter << 1) | upper & !(upper << 1) & (letter << 1);
    let symbols = other & !(other << 1);
    let lines = newline & !(newline << 1);
    64 * (words | symbols | lines).count_ones()
        + 26 * digit.count_ones()
        + 3 * letter.count_ones()
        + 8 * other.count_ones()
        + 20 * high.count_ones()
}

#[cfg(test)]
mod tests {
    use super::super::o200k_base;

    #[test]
    fn close_and_the_same_every_time() {
        let text = include_str!("estimate.rs").repeat(20);
        let (exact, about) = (o200k_base().count(&text), o200k_base().estimate(&text));
        assert!(about.abs_diff(exact) * 20 < exact, "{about} is not near {exact}");
        assert_eq!(about, o200k_base().estimate(&text));
    }

    #[test]
    fn a_text_that_repeats_at_any_pace_hides_nothing() {
        let prose = "The quick brown fox jumps over the lazy dog, and nobody minds. ";
        let dense = "x9Qz/7+Kp4 0x3f;{}[]=>8ZtVb1\n\t<a>";
        for period in [1_024, 2_048, 4_096, 8_192, 16_384, 18_432, 32_768] {
            for part in [1, 2, 4] {
                let mut text = String::new();
                while text.len() < 1 << 20 {
                    text += &prose.repeat(period / prose.len() + 1)[..period - period / 8 * part];
                    text += &dense.repeat(period / dense.len() + 1)[..period / 8 * part];
                }
                let (exact, about) = (o200k_base().count(&text), o200k_base().estimate(&text));
                assert!(about.abs_diff(exact) * 20 < exact, "{about} is not near {exact} for {part} of {period}");
            }
        }
    }

    #[test]
    fn short_texts_are_exact_and_odd_ones_do_no_harm() {
        for text in ["", "a", "中", "two words"] {
            assert_eq!(o200k_base().estimate(text), o200k_base().count(text));
        }
        for part in ["a", "中", "🦀", "\n", "\0", "é "] {
            let text = part.repeat(20_000);
            assert!(o200k_base().estimate(&text) > 0);
        }
    }
}
