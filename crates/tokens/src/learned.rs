//! Ratios of a model's tokens to an encoding's, by kind of text, and their uncertainty.
//!
//! They begin with what is known of the model and learn from what its provider reports: a filter of Kalman's over the
//! kinds, so that a report about code says much about code and little about Chinese. Serialisable, and the same reports
//! always give the same ratios.

use serde::{Deserialize, Serialize};

use super::kinds::{KINDS, Kind, Mix};

/// The scatter of a report, as a share of it.
const NOISE: f64 = 0.1;
/// The scatter of a report, in tokens.
const NOISE_TOKENS: f64 = 40.0;
/// Reports in a row that are far off the same way, from which it is no accident.
const STREAK: i32 = 3;
/// The correlation of the errors of two kinds before anything is known: a tokenizer is coarser or finer as a whole.
const TOGETHER: f64 = 0.5;
/// Deviations within which nineteen of twenty values lie.
const DEVIATIONS: f64 = 2.0;
/// The margins that stay however much was learned: texts of one kind differ, too.
const LEAST_MARGIN: f64 = 0.15;
/// Margins that an upper bound adds: one time in a hundred is beyond, texts of more than one kind included.
const BOUND: f64 = 1.65;

/// Tokens of a model for each of the encoding: the estimate, its margin, and the upper bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    pub(super) tokens: [f64; KINDS],
    pub(super) margin: [f64; KINDS],
    pub(super) most: [f64; KINDS],
}

/// Ratios and their uncertainty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearnedRatios {
    ratios: [f64; KINDS],
    /// The covariance of the ratios.
    spread: [[f64; KINDS]; KINDS],
    /// The deviations at the beginning: more than twice that, none becomes.
    first: [f64; KINDS],
    reports: u32,
    /// Reports in a row that were far off, below 0 where they were too low.
    streak: i32,
}

impl LearnedRatios {
    /// Begins with ratios and their margins, as shares.
    pub(super) fn new(ratios: [f64; KINDS], margins: [f64; KINDS]) -> Self {
        let mut first = [0.0; KINDS];
        for (first, (ratio, margin)) in first.iter_mut().zip(ratios.iter().zip(margins)) {
            *first = ratio * margin / DEVIATIONS;
        }
        let mut made = Self { ratios, spread: [[0.0; KINDS]; KINDS], first, reports: 0, streak: 0 };
        made.spread = made.first_covariance();
        made
    }

    fn first_covariance(&self) -> [[f64; KINDS]; KINDS] {
        let mut spread = [[0.0; KINDS]; KINDS];
        for (row, (at, one)) in spread.iter_mut().zip(self.first.iter().enumerate()) {
            for (slot, (other, two)) in row.iter_mut().zip(self.first.iter().enumerate()) {
                *slot = one * two * if at == other { 1.0 } else { TOGETHER };
            }
        }
        spread
    }

    /// Tokens of the model for each of the encoding, by kind.
    pub const fn ratios(&self) -> [f64; KINDS] {
        self.ratios
    }

    /// The number of reports it learned from.
    pub const fn reports(&self) -> u32 {
        self.reports
    }

    /// The share by which a kind's tokens may be off.
    fn margin(&self, at: usize) -> f64 {
        let ratio = self.ratios.get(at).copied().unwrap_or(1.0);
        let variance = self.spread.get(at).and_then(|row| row.get(at)).copied().unwrap_or(0.0);
        let first = DEVIATIONS * self.first.get(at).copied().unwrap_or(0.0) / ratio;
        (DEVIATIONS * variance.max(0.0).sqrt() / ratio).max(LEAST_MARGIN.min(first))
    }

    /// The rates for counts.
    pub(super) fn rates(&self) -> Rates {
        let mut rates = Rates { tokens: self.ratios, margin: self.ratios, most: self.ratios };
        for at in 0..KINDS {
            let margin = self.margin(at);
            if let (Some(own), Some(most)) = (rates.margin.get_mut(at), rates.most.get_mut(at)) {
                *own *= margin;
                *most *= BOUND.mul_add(margin, 1.0);
            }
        }
        rates
    }

    /// The share of an upper bound that the truth is at least, for code and its like, nineteen times of twenty.
    pub(super) fn least(&self) -> f64 {
        (1.0 - self.margin(Kind::Code as usize)) / self.slack()
    }

    /// The ratio of an upper bound to its count, for code and its like.
    pub(super) fn slack(&self) -> f64 {
        BOUND.mul_add(self.margin(Kind::Code as usize), 1.0)
    }

    /// Learns from the tokens that the provider reported for a mix; of these, `unsure` were guessed.
    pub(super) fn learn(&mut self, mix: &Mix, reported: f64, unsure: f64) {
        let counts = mix.0;
        if counts.iter().all(|tokens| *tokens <= 0.0) || !reported.is_finite() || reported <= 0.0 {
            return;
        }
        let mut noise = (NOISE * reported).powi(2) + NOISE_TOKENS.powi(2) + unsure.powi(2);
        let (mut along, mut own) = self.covariance_along(&counts);
        let off = reported - mix.sum(|at, tokens| tokens * self.ratios.get(at).copied().unwrap_or(1.0));
        let edge = (own + noise).sqrt();
        if off.abs() > 3.0 * edge {
            self.streak = if off > 0.0 { self.streak.max(0) + 1 } else { self.streak.min(0) - 1 };
        } else {
            self.streak = 0;
        }
        let far = off.abs() / (2.0 * edge);
        if self.streak.abs() >= STREAK {
            // Off again and again, the same way: what was learned does not hold here. Be open, as far as twice the
            // beginning.
            self.streak -= self.streak.signum();
            for slot in self.spread.iter_mut().flatten() {
                *slot *= 2.0;
            }
            self.bound_covariance();
            (along, own) = self.covariance_along(&counts);
        } else if far > 1.0 {
            // Off once: a program may have added what nobody showed here.
            noise *= 4.0 * far * far;
        }
        let most = 3.0 * (own + noise).sqrt();
        let off = off.clamp(-most, most);
        let along_all = along;
        for (at, (ratio, along)) in self.ratios.iter_mut().zip(along).enumerate() {
            *ratio = (*ratio + along / (own + noise) * off).clamp(0.5, 4.0);
            if let Some(row) = self.spread.get_mut(at) {
                for (slot, other) in row.iter_mut().zip(along_all) {
                    *slot -= along * other / (own + noise);
                }
            }
        }
        self.bound_covariance();
        self.reports = self.reports.saturating_add(1);
    }

    /// Bounds the covariance: no kind is surer than can be nor less sure than twice the beginning, and no two go
    /// together more than wholly.
    fn bound_covariance(&mut self) {
        let mut widths = self.first;
        for (at, width) in widths.iter_mut().enumerate() {
            let own = self.spread.get(at).and_then(|row| row.get(at)).copied().unwrap_or(0.0);
            *width = own.clamp(1e-6, 4.0 * *width * *width + 1e-6).sqrt();
        }
        for (at, (row, one)) in self.spread.iter_mut().zip(widths).enumerate() {
            for (other, (slot, two)) in row.iter_mut().zip(widths).enumerate() {
                let most = one * two;
                *slot = if at == other { most } else { slot.clamp(-most, most) };
            }
        }
    }

    /// The covariance along the counts, and the margin that follows.
    fn covariance_along(&self, counts: &[f64; KINDS]) -> ([f64; KINDS], f64) {
        let along = self.spread.map(|row| row.iter().zip(counts).map(|(spread, count)| spread * count).sum::<f64>());
        let own = along.iter().zip(counts).map(|(along, count)| along * count).sum::<f64>();
        (along, own.max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claude() -> LearnedRatios {
        LearnedRatios::new([1.12, 1.16, 1.25, 1.35, 1.35, 1.0], [0.15, 0.15, 0.25, 0.3, 0.3, 0.15])
    }

    #[test]
    fn a_report_about_one_kind_says_most_about_that_kind() {
        let mut learned = claude();
        let code = Mix::of(Kind::Code, 4_000.0);
        for _ in 0..30 {
            learned.learn(&code, 4_000.0 * 1.3, 0.0);
        }
        let [prose, code, _, wide, ..] = learned.ratios();
        assert!((code - 1.3).abs() < 0.01, "{code}");
        assert!((1.12..1.25).contains(&prose) && (1.35..1.6).contains(&wide), "{prose} {wide}");
        // And is surer of that kind than of others.
        assert!(learned.margin(1) < 0.16 && learned.margin(3) > 0.2);
    }

    #[test]
    fn kinds_are_told_apart_where_reports_are_of_mixes() {
        let mut learned = claude();
        for n in 0..200_u32 {
            let (prose, wide) = (f64::from(n * 37 % 101) * 40.0, f64::from(n * 61 % 97) * 40.0);
            let mut mix = Mix::of(Kind::Prose, prose);
            mix.add(Kind::Wide, wide);
            learned.learn(&mix, prose * 1.05 + wide * 1.9, 0.0);
        }
        let [prose, _, _, wide, ..] = learned.ratios();
        assert!((prose - 1.05).abs() < 0.04 && (wide - 1.9).abs() < 0.06, "{prose} {wide}");
    }

    #[test]
    fn hostile_reports_do_no_lasting_harm() {
        let mut learned = claude();
        let mix = Mix::of(Kind::Prose, 3_000.0);
        for reported in [0.0, -5.0, f64::NAN, f64::INFINITY, 1.0, 1e18, 1e300] {
            learned.learn(&mix, reported, 0.0);
            assert!(learned.ratios().iter().all(|ratio| (0.5..=4.0).contains(ratio)), "{reported}: {learned:?}");
            let rates = learned.rates();
            let (tokens, margin, most) = (rates.tokens[0], rates.margin[0], rates.most[0]);
            assert!(tokens.is_finite() && margin > 0.0 && most > tokens, "{reported}: {learned:?}");
        }
        for _ in 0..60 {
            learned.learn(&mix, 3_000.0 * 1.2, 0.0);
        }
        assert!((learned.ratios()[0] - 1.2).abs() < 0.05, "{:?}", learned.ratios());
    }

    #[test]
    fn saved_and_loaded_it_is_the_same() {
        let mut learned = claude();
        learned.learn(&Mix::of(Kind::Code, 1_234.0), 1_700.0, 10.0);
        let back: LearnedRatios = serde_json::from_str(&serde_json::to_string(&learned).unwrap()).unwrap();
        assert_eq!(back, learned);
    }
}
