//! How alike two texts are that have nothing to do with each other: the background of an embedder.
//!
//! An absolute cosine means nothing by itself: unrelated texts stand at 0.05 with one embedder and at 0.75 with
//! another. A cut said in standard deviations above an embedder's own background means the same with all of them.

use serde::{Deserialize, Serialize};

use super::{Checked, Rows};
use loopwright_base::error::{Error, Result};

/// Pairs that are looked at, at most.
const PAIRS: usize = 20_000;

/// Mean and spread of the cosine of random pairs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Background {
    /// The mean cosine.
    pub mean: f32,
    /// Its standard deviation.
    pub deviation: f32,
    /// Pairs that were looked at.
    pub pairs: usize,
}

impl Background {
    /// Measures the background in vectors of a corpus: all pairs of a small one, 20,000 of a large one, always the
    /// same.
    pub fn measure<R: Rows + ?Sized>(vectors: &R) -> Result<Self> {
        let vectors = Checked::new("vectors", vectors, &mut None)?;
        let count = vectors.count();
        if count < 3 {
            return Err(Error::usage("too_few", format!("{count} vectors have no background"))
                .hint("give at least 3, better 50, of texts on different subjects"));
        }
        let all = count.saturating_mul(count - 1) / 2;
        // Welford's sums: exact where the spread is small.
        let (mut seen, mut mean, mut spread) = (0_usize, 0.0_f64, 0.0_f64);
        let mut take = |cosine: f32| {
            seen += 1;
            let from = f64::from(cosine) - mean;
            mean += from / seen as f64;
            spread += from * (f64::from(cosine) - mean);
        };
        if all <= PAIRS {
            for one in 0..count {
                for other in one + 1..count {
                    take(vectors.cosine(one, &vectors, other));
                }
            }
        } else {
            let mut random = Random::new(0x5EED);
            for _ in 0..PAIRS {
                let one = random.below(count);
                let other = (one + 1 + random.below(count - 1)) % count;
                take(vectors.cosine(one, &vectors, other));
            }
        }
        let deviation = (spread / (seen - 1) as f64).sqrt();
        if deviation < 1e-6 {
            return Err(Error::usage(
                "no_spread",
                "all vectors are equally far from each other: no unit to measure in",
            )
            .hint("give texts on different subjects, or use the absolute thresholds"));
        }
        Ok(Self { mean: mean as f32, deviation: deviation as f32, pairs: seen })
    }

    /// How many standard deviations a cosine lies above the background.
    pub fn z(&self, cosine: f32) -> f32 {
        (cosine - self.mean) / self.deviation
    }

    /// The cosine that lies `z` standard deviations above the background.
    pub fn cosine(&self, z: f32) -> f32 {
        self.mean + z * self.deviation
    }

    /// Checks numbers that come from outside.
    pub fn check(&self) -> Result<()> {
        let (mean, deviation) = (self.mean, self.deviation);
        if mean.is_finite() && mean.abs() <= 1.0 && deviation.is_finite() && deviation > 0.0 {
            return Ok(());
        }
        Err(Error::usage("invalid_value", format!("a background of {mean} ± {deviation} can't be"))
            .hint("mean from -1 to 1, deviation above 0"))
    }
}

/// A threshold: a cosine, or standard deviations above the embedder's own background.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// An absolute cosine, as the originals have it: right for the embedder that it was tuned on.
    Cosine(f32),
    /// Standard deviations above the background.
    Z(f32),
}

impl Cut {
    /// The cut as a cosine. Without a background only absolute ones are known.
    pub fn at(self, background: Option<&Background>) -> Result<f32> {
        match (self, background) {
            (Self::Cosine(cut) | Self::Z(cut), _) if !cut.is_finite() => {
                Err(Error::usage("invalid_value", format!("a threshold of {cut}")).hint("give a finite number"))
            }
            (Self::Cosine(cosine), _) => Ok(cosine),
            (Self::Z(z), Some(background)) => background.check().map(|()| background.cosine(z)),
            (Self::Z(_), None) => Err(no_background()),
        }
    }

    /// The cut as a difference between cosines: the mean of the background has no part in it.
    pub fn width(self, background: Option<&Background>) -> Result<f32> {
        match (self, background) {
            (Self::Z(z), Some(background)) => background.check().map(|()| z * background.deviation),
            _ => self.at(background),
        }
    }
}

/// The cuts of a research: as the originals have them, or in units of the embedder at hand.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thresholds {
    /// A cluster is new where no topic of the outline is as near as this.
    pub novel: Cut,
    /// Returns are diminishing where gains are below this.
    pub epsilon: Cut,
    /// A query repeats another that is at least as near as this.
    pub near: Cut,
}

impl Thresholds {
    /// Absolute cosines, tuned on one embedder.
    pub const ORIGINAL: Self = Self { novel: Cut::Cosine(0.65), epsilon: Cut::Cosine(0.005), near: Cut::Cosine(0.8) };

    /// The same distances in standard deviations above the background: see `docs/analysis.md` for how they were found.
    pub const MEASURED: Self = Self { novel: Cut::Z(3.0), epsilon: Cut::Z(0.04), near: Cut::Z(5.0) };
}

fn no_background() -> Error {
    Error::usage("no_background", "a threshold in standard deviations needs a background")
        .hint("measure one with Background::measure over vectors of the corpus")
}

/// Numbers that look random and are the same every time (`SplitMix64`).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 to below 1.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Below `end`, which is not 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::rows, *};

    #[test]
    fn x22_cuts_mean_the_same_for_embedders_with_other_backgrounds() {
        let plain = rows(1, 400, 32);
        // The same vectors with a common direction on top, as many embedders give them.
        let narrow: Vec<Vec<f32>> = plain.iter().map(|row| row.iter().map(|value| value + 1.0).collect()).collect();
        let (wide, tight) = (Background::measure(&plain).unwrap(), Background::measure(&narrow).unwrap());
        assert!(wide.mean.abs() < 0.02, "{wide:?}");
        assert!(tight.mean > 0.6, "{tight:?}");
        assert!(tight.z(tight.mean + tight.deviation) > 0.999);
        // An absolute 0.65 would call every pair of the second alike; 3 deviations call about none so.
        for (background, vectors) in [(wide, &plain), (tight, &narrow)] {
            let cut = Cut::Z(3.0).at(Some(&background)).unwrap();
            let pairs = (0..200).filter(|at| super::super::cosine(&vectors[*at], &vectors[399 - at]).unwrap() >= cut);
            assert!(pairs.count() <= 3);
        }
        let absolute = (0..200).filter(|at| super::super::cosine(&narrow[*at], &narrow[399 - at]).unwrap() >= 0.65);
        assert!(absolute.count() > 100);
    }

    #[test]
    fn all_pairs_of_few_and_the_same_pairs_of_many() {
        let few = rows(3, 10, 8);
        assert_eq!(Background::measure(&few).unwrap().pairs, 45);
        let many = rows(4, 1000, 8);
        let (once, again) = (Background::measure(&many).unwrap(), Background::measure(&many).unwrap());
        assert_eq!(once, again);
        assert_eq!(once.pairs, PAIRS);
    }

    #[test]
    fn nothing_to_measure_is_a_typed_error() {
        assert_eq!(Background::measure(&rows(1, 2, 4)).unwrap_err().code, "too_few");
        assert_eq!(Background::measure(&vec![vec![1.0, 0.5]; 9]).unwrap_err().code, "no_spread");
        assert_eq!(Cut::Z(2.0).at(None).unwrap_err().code, "no_background");
        assert_eq!(Cut::Cosine(f32::NAN).at(None).unwrap_err().code, "invalid_value");
        let wrong = Background { mean: 0.1, deviation: 0.0, pairs: 1 };
        assert_eq!(Cut::Z(2.0).at(Some(&wrong)).unwrap_err().code, "invalid_value");
    }
}
