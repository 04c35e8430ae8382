//! What a research run measures: which chunks are worth keeping, how well topics are covered, how much a cycle gained,
//! when more of it gains nothing, and what nobody planned for.
//!
//! Everything is pure arithmetic over the vectors of any embedder: the same numbers in give the same numbers out, bit
//! for bit. Vectors come from outside, so each one is checked first: rows of unequal width, values that are no numbers
//! and vectors without a direction are typed errors. Nothing is copied on the way in, and no table of all pairs is
//! made.

mod background;
mod coverage;
mod latent;
mod select;
mod trend;

pub use background::{Background, Cut, Thresholds};
pub use coverage::{Coverage, Gains, Topic, coverage, gain};
pub use latent::{Cluster, LatentPolicy, latent};
pub use select::{SelectPolicy, Selected, select};
pub use trend::{StopPolicy, StopRule, Trend, TrendPolicy, enough, trend};

use loopwright_base::error::{Error, Result};

/// Vectors of one width, wherever they live.
pub trait Rows {
    /// How many there are.
    fn count(&self) -> usize;

    /// One of them; empty beyond the end.
    fn row(&self, at: usize) -> &[f32];
}

impl Rows for [Vec<f32>] {
    fn count(&self) -> usize {
        self.len()
    }

    fn row(&self, at: usize) -> &[f32] {
        self.get(at).map_or(&[], Vec::as_slice)
    }
}

impl Rows for Vec<Vec<f32>> {
    fn count(&self) -> usize {
        self.len()
    }

    fn row(&self, at: usize) -> &[f32] {
        self.get(at).map_or(&[], Vec::as_slice)
    }
}

impl<const N: usize> Rows for [Vec<f32>; N] {
    fn count(&self) -> usize {
        N
    }

    fn row(&self, at: usize) -> &[f32] {
        self.get(at).map_or(&[], Vec::as_slice)
    }
}

impl Rows for [&[f32]] {
    fn count(&self) -> usize {
        self.len()
    }

    fn row(&self, at: usize) -> &[f32] {
        self.get(at).copied().unwrap_or(&[])
    }
}

/// Vectors that stand one behind the other in a single slice: what `NumPy` and most embedders hand over.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    values: &'a [f32],
    width: usize,
    count: usize,
}

impl<'a> Matrix<'a> {
    /// `count` rows of `width`; the slice must hold exactly those.
    pub fn new(values: &'a [f32], count: usize, width: usize) -> Result<Self> {
        if count.checked_mul(width) == Some(values.len()) {
            return Ok(Self { values, width, count });
        }
        let message = format!("{} values are not {count} vectors of {width}", values.len());
        Err(Error::usage("ragged", message).hint("give count times width values"))
    }
}

impl Rows for Matrix<'_> {
    fn count(&self) -> usize {
        self.count
    }

    fn row(&self, at: usize) -> &[f32] {
        let start = at.saturating_mul(self.width);
        self.values.get(start..start.saturating_add(self.width)).unwrap_or(&[])
    }
}

/// Rows that passed the checks, with their lengths.
struct Checked<'a, R: ?Sized> {
    rows: &'a R,
    lengths: Vec<f64>,
}

impl<'a, R: Rows + ?Sized> Checked<'a, R> {
    /// Checks `rows`; `name` is what errors call them, `width` what others of the same call have.
    fn new(name: &str, rows: &'a R, width: &mut Option<usize>) -> Result<Self> {
        let mut lengths = Vec::with_capacity(rows.count());
        for at in 0..rows.count() {
            let row = rows.row(at);
            let wanted = *width.get_or_insert(row.len());
            lengths.push(length(row, wanted).map_err(|flaw| flaw.error(name, at, row.len(), wanted))?);
        }
        Ok(Self { rows, lengths })
    }

    fn count(&self) -> usize {
        self.lengths.len()
    }

    fn row(&self, at: usize) -> (&[f32], f64) {
        (self.rows.row(at), self.lengths.get(at).copied().unwrap_or(1.0))
    }

    /// The cosine of one of these with one of others.
    fn cosine<S: Rows + ?Sized>(&self, at: usize, others: &Checked<'_, S>, other: usize) -> f32 {
        cosine_of(self.row(at), others.row(other))
    }

    /// The best of these for a vector: its place and cosine. The first of equals.
    fn nearest(&self, to: (&[f32], f64)) -> Option<(usize, f32)> {
        let mut best: Option<(usize, f32)> = None;
        for at in 0..self.count() {
            let cosine = cosine_of(self.row(at), to);
            if best.is_none_or(|(_, most)| cosine > most) {
                best = Some((at, cosine));
            }
        }
        best
    }
}

/// What is wrong with a vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flaw {
    Empty,
    Ragged,
    NotFinite,
    Zero,
}

impl Flaw {
    fn error(self, name: &str, at: usize, width: usize, wanted: usize) -> Error {
        match self {
            Self::Empty => Error::usage("empty_vector", format!("{name}[{at}] has no values"))
                .hint("leave it out, or embed it again"),
            Self::Ragged => {
                Error::usage("ragged", format!("{name}[{at}] has {width} values where the first vector has {wanted}"))
                    .hint("use one embedder for all of them")
            }
            Self::NotFinite => {
                Error::usage("not_finite", format!("{name}[{at}] holds a value that is not a finite number"))
                    .hint("leave it out, or embed it again; `usable` names those that will do")
            }
            Self::Zero => Error::usage("zero_vector", format!("{name}[{at}] is zero, it points nowhere"))
                .hint("leave it out, or embed it again; `usable` names those that will do"),
        }
    }
}

/// The length of a vector, if it is one.
fn length(row: &[f32], width: usize) -> Result<f64, Flaw> {
    if row.is_empty() {
        return Err(Flaw::Empty);
    }
    if row.len() != width {
        return Err(Flaw::Ragged);
    }
    let mut lanes = [0.0_f64; 8];
    let (whole, rest) = row.as_chunks::<8>();
    for part in whole {
        for (lane, value) in lanes.iter_mut().zip(part) {
            *lane += f64::from(*value) * f64::from(*value);
        }
    }
    let sum = lanes.iter().sum::<f64>() + rest.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>();
    // Squares of finite `f32` can't overflow an `f64`.
    match sum {
        sum if !sum.is_finite() => Err(Flaw::NotFinite),
        sum if sum > 0.0 => Ok(sum.sqrt()),
        _ => Err(Flaw::Zero),
    }
}

/// The cosine of two checked vectors, from -1 to 1. Sums run in sixteen lanes: fast, and the same on every machine.
fn cosine_of((a, a_length): (&[f32], f64), (b, b_length): (&[f32], f64)) -> f32 {
    let mut lanes = [0.0_f32; 16];
    let (whole, rest) = a.as_chunks::<16>();
    let (other, other_rest) = b.as_chunks::<16>();
    for (part, facing) in whole.iter().zip(other) {
        for (lane, (x, y)) in lanes.iter_mut().zip(part.iter().zip(facing)) {
            *lane += x * y;
        }
    }
    let ends: f32 = rest.iter().zip(other_rest).map(|(x, y)| x * y).sum();
    let mut dot = f64::from(lanes.iter().sum::<f32>() + ends);
    let product = a_length * b_length;
    // Very large or very small values: once more, exactly.
    if !dot.is_finite() || !(1e-20..1e20).contains(&product) {
        dot = a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
    }
    (dot / product).clamp(-1.0, 1.0) as f32
}

/// The cosine of two vectors, from -1 to 1.
pub fn cosine(a: &[f32], b: &[f32]) -> Result<f32> {
    let both = [a, b];
    let checked = Checked::new("vectors", &both[..], &mut None)?;
    Ok(checked.cosine(0, &checked, 1))
}

/// The row that is nearest to a vector, and its cosine; `None` without rows. A query that is too near to one that ran
/// before is found with this.
pub fn nearest<R: Rows + ?Sized>(to: &[f32], rows: &R) -> Result<Option<(usize, f32)>> {
    let mut width = None;
    let one = [to];
    let to = Checked::new("to", &one[..], &mut width)?;
    let rows = Checked::new("rows", rows, &mut width)?;
    Ok(rows.nearest(to.row(0)))
}

/// Which vectors will do: finite, not zero, as wide as `width` (or as the first that will do). An embedder gives zeros
/// for a text without words; those are left out before the rest is judged.
pub fn usable<R: Rows + ?Sized>(rows: &R, width: Option<usize>) -> Vec<usize> {
    let mut width = width;
    (0..rows.count())
        .filter(|at| {
            let row = rows.row(*at);
            let fits = length(row, width.unwrap_or(row.len())).is_ok();
            if fits {
                width.get_or_insert(row.len());
            }
            fits
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn rows(seed: u64, count: usize, width: usize) -> Vec<Vec<f32>> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..count).map(|_| (0..width).map(|_| next()).collect()).collect()
    }

    #[test]
    fn cosine_is_that_of_the_textbook_for_all_widths() {
        for width in 1..70 {
            let vectors = rows(width as u64, 2, width);
            let (a, b) = (&vectors[0], &vectors[1]);
            let dot: f64 = a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
            let long = |v: &[f32]| v.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
            let exact = dot / long(a) / long(b);
            assert!((f64::from(cosine(a, b).unwrap()) - exact).abs() < 1e-5, "{width}");
        }
    }

    #[test]
    fn hostile_vectors_are_typed_errors() {
        let code = |a: &[f32], b: &[f32]| cosine(a, b).unwrap_err().code;
        assert_eq!(code(&[f32::NAN, 1.0], &[1.0, 1.0]), "not_finite");
        assert_eq!(code(&[1.0, 1.0], &[f32::INFINITY, 1.0]), "not_finite");
        assert_eq!(code(&[0.0, 0.0], &[1.0, 1.0]), "zero_vector");
        assert_eq!(code(&[1.0], &[1.0, 1.0]), "ragged");
        assert_eq!(code(&[], &[]), "empty_vector");
    }

    #[test]
    fn very_large_and_very_small_values_have_a_direction_too() {
        assert!((cosine(&[f32::MAX, 0.0], &[f32::MAX, 0.0]).unwrap() - 1.0).abs() < 1e-6);
        assert!((cosine(&[1e-40, 0.0], &[-1e-40, 0.0]).unwrap() + 1.0).abs() < 1e-6);
        assert!((cosine(&[f32::MAX, f32::MAX], &[f32::MAX, -f32::MAX]).unwrap()).abs() < 1e-6);
    }

    #[test]
    fn b16_the_nearest_of_past_queries_is_named() {
        let past = [vec![1.0, 0.0], vec![0.6, 0.8], vec![0.6, 0.8]];
        let (at, cosine) = nearest(&[0.0, 2.0], &past).unwrap().unwrap();
        assert_eq!(at, 1, "the first of equals");
        assert!((cosine - 0.8).abs() < 1e-6);
        let none: [Vec<f32>; 0] = [];
        assert_eq!(nearest(&[1.0], &none).unwrap(), None);
    }

    #[test]
    fn vectors_that_will_not_do_can_be_left_out() {
        let mixed = vec![vec![0.0, 0.0], vec![1.0, 2.0], vec![1.0], vec![f32::NAN, 1.0], vec![], vec![3.0, 1.0]];
        assert_eq!(usable(&mixed, None), [1, 5]);
        assert_eq!(usable(&mixed, Some(1)), [2]);
    }

    #[test]
    fn a_matrix_holds_exactly_its_rows() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let matrix = Matrix::new(&values, 2, 3).unwrap();
        assert_eq!(matrix.row(1), [4.0, 5.0, 6.0]);
        assert_eq!(matrix.row(2), [] as [f32; 0]);
        assert_eq!(Matrix::new(&values, 2, 2).unwrap_err().code, "ragged");
        assert_eq!(Matrix::new(&values, usize::MAX, 2).unwrap_err().code, "ragged");
    }
}
