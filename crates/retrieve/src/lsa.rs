//! Latent semantic analysis: the directions in which a corpus's own words vary together.
//!
//! A randomised SVD (<https://arxiv.org/abs/0909.4061>) of the weighted documents gives each word a vector; a document
//! or a query is the sum of its words'. Signs come from a fixed seed and sums run in one order, so the same documents
//! give the same vectors, bit for bit. Work and memory are bounded by a sample of the documents.

use std::collections::HashMap;

/// The basis is made from at most this many documents, spread evenly.
pub const MAX_SAMPLE: usize = 4_096;
/// Fewer documents than this have no directions worth the name.
pub const MIN_DOCUMENTS: usize = 64;
/// At most this many directions.
pub const MAX_RANK: usize = 200;
/// Documents for each direction: on fewer, directions are single documents.
const DOCUMENTS_PER_RANK: usize = 7;
/// Directions that are looked for beyond those that are kept.
const OVERSAMPLING: usize = 10;
/// How often the matrix is applied to sharpen the directions.
const ROUNDS: usize = 4;
/// At most this many words get a vector, the most frequent ones.
const MAX_WORDS: usize = 50_000;

/// A document as weighted words, by number.
pub type Weighted = Vec<(u32, f32)>;

/// A vector for each word.
#[derive(Clone, Debug)]
pub struct Lsa {
    rank: usize,
    rows: HashMap<u32, u32>,
    words: Vec<f32>,
}

impl Lsa {
    /// The directions of `documents`; `None` if they are too few.
    pub fn of(documents: &[Weighted]) -> Option<Self> {
        if documents.len() < MIN_DOCUMENTS {
            return None;
        }
        let mut holding: HashMap<u32, u32> = HashMap::new();
        for (word, _) in documents.iter().flatten() {
            *holding.entry(*word).or_default() += 1;
        }
        let mut known: Vec<(u32, u32)> = holding.into_iter().collect();
        known.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        known.truncate(MAX_WORDS);
        let rows: HashMap<u32, u32> = known.iter().enumerate().map(|(at, (word, _))| (*word, at as u32)).collect();
        let documents: Vec<Weighted> = documents
            .iter()
            .map(|document| unit(document.iter().filter_map(|(word, w)| Some((*rows.get(word)?, *w))).collect()))
            .collect();
        let rank = (documents.len() / DOCUMENTS_PER_RANK).clamp(1, MAX_RANK).min(rows.len());
        let width = (rank + OVERSAMPLING).min(documents.len()).min(rows.len());
        let rank = rank.min(width);
        if rank == 0 {
            return None;
        }
        // Y = A (A' A)^rounds S, with signs for S: documents by width.
        let mut narrow = signs(rows.len(), width);
        let mut tall = apply(&documents, &narrow, width);
        for _ in 0..ROUNDS {
            orthonormal(&mut tall, width, 1);
            narrow = apply_transposed(&documents, &tall, width, rows.len());
            tall = apply(&documents, &narrow, width);
        }
        orthonormal(&mut tall, width, 2);
        // B' = A' Q is words by width; its left singular vectors are those of A' that were looked for.
        let back = apply_transposed(&documents, &tall, width, rows.len());
        let (values, vectors) = eigen(gram(&back, width), width);
        let mut order: Vec<usize> = (0..width).collect();
        let value = |at: usize| values.get(at).copied().unwrap_or(0.0);
        order.sort_by(|&a, &b| value(b).total_cmp(&value(a)).then(a.cmp(&b)));
        let largest = order.first().map_or(0.0, |&at| value(at));
        order.truncate(rank);
        order.retain(|&at| value(at) > largest * 1e-12 && value(at) > 0.0);
        let rank = order.len();
        let mut words = Vec::with_capacity(rows.len() * rank);
        for row in back.chunks_exact(width) {
            for &at in &order {
                let column = vectors.iter().skip(at).step_by(width);
                let sum: f64 = row.iter().zip(column).map(|(x, y)| x * y).sum();
                words.push((sum / value(at).sqrt()) as f32);
            }
        }
        (rank > 0).then_some(Self { rank, rows, words })
    }

    /// How many directions there are.
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// The vector of a text as weighted words, of length 1; zeros if no word is known.
    pub fn vector(&self, text: &[(u32, f32)]) -> Vec<f32> {
        let mut sum = vec![0.0_f32; self.rank];
        for (word, weight) in text {
            let Some(&row) = self.rows.get(word) else { continue };
            let start = row as usize * self.rank;
            let Some(row) = self.words.get(start..start + self.rank) else { continue };
            for (sum, x) in sum.iter_mut().zip(row) {
                *sum += weight * x;
            }
        }
        let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
        if length > 0.0 {
            for x in &mut sum {
                *x /= length;
            }
        }
        sum
    }
}

fn unit(mut document: Weighted) -> Weighted {
    let length = document.iter().map(|(_, w)| w * w).sum::<f32>().sqrt();
    if length > 0.0 {
        for (_, weight) in &mut *document {
            *weight /= length;
        }
    }
    document
}

/// Signs from a fixed seed (splitmix64).
fn signs(rows: usize, width: usize) -> Vec<f64> {
    let mut state = 0x5EED_u64;
    (0..rows * width)
        .map(|_| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            if (z ^ (z >> 31)) & 1 == 0 { 1.0 } else { -1.0 }
        })
        .collect()
}

fn apply(documents: &[Weighted], x: &[f64], width: usize) -> Vec<f64> {
    let mut out = vec![0.0; documents.len() * width];
    for (document, sum) in documents.iter().zip(out.chunks_exact_mut(width)) {
        for (word, weight) in document {
            let start = *word as usize * width;
            let Some(row) = x.get(start..start + width) else { continue };
            for (sum, x) in sum.iter_mut().zip(row) {
                *sum += f64::from(*weight) * x;
            }
        }
    }
    out
}

fn apply_transposed(documents: &[Weighted], x: &[f64], width: usize, rows: usize) -> Vec<f64> {
    let mut out = vec![0.0; rows * width];
    for (document, row) in documents.iter().zip(x.chunks_exact(width)) {
        for (word, weight) in document {
            let start = *word as usize * width;
            let Some(sum) = out.get_mut(start..start + width) else { continue };
            for (sum, x) in sum.iter_mut().zip(row) {
                *sum += f64::from(*weight) * x;
            }
        }
    }
    out
}

/// Makes the columns of `x` orthonormal (Gram-Schmidt; twice is enough for any); columns that vanish become zeros.
fn orthonormal(x: &mut [f64], width: usize, times: usize) {
    let height = x.len() / width.max(1);
    let mut columns: Vec<Vec<f64>> = (0..width).map(|at| x.iter().skip(at).step_by(width).copied().collect()).collect();
    for at in 0..width {
        let (done, rest) = columns.split_at_mut(at);
        let Some(column) = rest.first_mut() else { break };
        let before = column.iter().map(|x| x * x).sum::<f64>().sqrt();
        for _ in 0..times {
            for other in done.iter() {
                let dot: f64 = column.iter().zip(other).map(|(a, b)| a * b).sum();
                column.iter_mut().zip(other).for_each(|(a, b)| *a -= dot * b);
            }
        }
        let length = column.iter().map(|x| x * x).sum::<f64>().sqrt();
        let vanished = length <= before * 1e-10 || length <= f64::MIN_POSITIVE;
        for x in &mut *column {
            *x = if vanished { 0.0 } else { *x / length };
        }
    }
    for row in 0..height {
        for (at, column) in columns.iter().enumerate() {
            if let (Some(slot), Some(value)) = (x.get_mut(row * width + at), column.get(row)) {
                *slot = *value;
            }
        }
    }
}

/// X' X, row by row.
fn gram(x: &[f64], width: usize) -> Vec<f64> {
    let mut out = vec![0.0; width * width];
    for row in x.chunks_exact(width) {
        for (a, sums) in row.iter().zip(out.chunks_exact_mut(width)) {
            if *a != 0.0 {
                sums.iter_mut().zip(row).for_each(|(sum, b)| *sum += a * b);
            }
        }
    }
    out
}

/// Eigenvalues and vectors (as columns) of a symmetric matrix: Jacobi's rotations.
#[allow(clippy::many_single_char_names, reason = "as in every textbook")]
fn eigen(mut a: Vec<f64>, n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut v = vec![0.0; n * n];
    v.iter_mut().step_by(n + 1).for_each(|x| *x = 1.0);
    let at = |m: &[f64], row: usize, column: usize| m.get(row * n + column).copied().unwrap_or(0.0);
    let norm: f64 = a.iter().map(|x| x * x).sum();
    for _ in 0..16 {
        let mut off = 0.0;
        for p in 0..n {
            for q in p + 1..n {
                let apq = at(&a, p, q);
                off += apq * apq;
                let (app, aqq) = (at(&a, p, p), at(&a, q, q));
                if apq.abs() <= 1e-14 * (app * aqq).abs().sqrt() || apq == 0.0 {
                    continue;
                }
                let theta = (aqq - app) / (2.0 * apq);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                rotate_rows(&mut a, n, p, q, (c, s));
                rotate_columns(&mut a, n, p, q, (c, s));
                rotate_columns(&mut v, n, p, q, (c, s));
            }
        }
        if off <= norm * 1e-22 {
            break;
        }
    }
    ((0..n).map(|i| at(&a, i, i)).collect(), v)
}

fn rotate_columns(matrix: &mut [f64], n: usize, p: usize, q: usize, (cosine, sine): (f64, f64)) {
    for row in matrix.chunks_exact_mut(n) {
        let (Some(left), Some(right)) = (row.get(p).copied(), row.get(q).copied()) else { continue };
        if let Some(slot) = row.get_mut(p) {
            *slot = cosine * left - sine * right;
        }
        if let Some(slot) = row.get_mut(q) {
            *slot = sine * left + cosine * right;
        }
    }
}

fn rotate_rows(matrix: &mut [f64], n: usize, p: usize, q: usize, (cosine, sine): (f64, f64)) {
    let (upper, lower) = matrix.split_at_mut(q * n);
    let (Some(first), Some(second)) = (upper.get_mut(p * n..(p + 1) * n), lower.get_mut(..n)) else { return };
    for (one, other) in first.iter_mut().zip(second) {
        (*one, *other) = (cosine * *one - sine * *other, sine * *one + cosine * *other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvectors_are_those_of_the_matrix() {
        let a = vec![4.0, 1.0, 0.5, 1.0, 3.0, 0.2, 0.5, 0.2, 1.0];
        let (values, vectors) = eigen(a.clone(), 3);
        for (at, value) in values.iter().enumerate() {
            let v: Vec<f64> = (0..3).map(|row| vectors[row * 3 + at]).collect();
            for row in 0..3 {
                let applied: f64 = (0..3).map(|column| a[row * 3 + column] * v[column]).sum();
                assert!((applied - value * v[row]).abs() < 1e-9);
            }
        }
        assert!((values.iter().sum::<f64>() - 8.0).abs() < 1e-9);
    }

    #[test]
    fn words_that_share_company_are_near() {
        // 0 and 1 never meet, but both stand beside 2 and 3; 10 stands beside 11 and 12.
        let documents: Vec<Weighted> = (0..90)
            .map(|at| match at % 3 {
                0 => vec![(0, 1.0), (2, 1.0), (3, 1.0), (100 + at / 9, 0.5)],
                1 => vec![(1, 1.0), (2, 1.0), (3, 1.0), (100 + at / 9, 0.5)],
                _ => vec![(10, 1.0), (11, 1.0), (12, 1.0), (100 + at / 9, 0.5)],
            })
            .collect();
        let lsa = Lsa::of(&documents).unwrap();
        let near = |a: u32, b: u32| -> f32 {
            let (a, b) = (lsa.vector(&[(a, 1.0)]), lsa.vector(&[(b, 1.0)]));
            a.iter().zip(&b).map(|(a, b)| a * b).sum()
        };
        assert!(near(0, 2) > near(0, 11) + 0.2, "{} {}", near(0, 2), near(0, 11));
        assert_eq!(lsa.vector(&[(99_999, 1.0)]), vec![0.0; lsa.rank()]);
        assert_eq!(lsa.words, Lsa::of(&documents).unwrap().words, "bit for bit");
        assert!(Lsa::of(&documents[..10]).is_none());
        assert!(Lsa::of(&vec![Vec::new(); 100]).is_none());
        assert!(Lsa::of(&vec![vec![(1, 1.0)]; 100]).is_some_and(|lsa| lsa.rank() == 1));
    }
}
