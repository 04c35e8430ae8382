//! Passages that are like each other: what fits a query is seldom alone.
//!
//! Each passage of a ranking takes over a part of the scores of its nearest neighbours in it ("score regularisation",
//! Diaz 2005). Scores stay between the least and the best of the ranking; time is the square of its length, which is
//! bounded by the caller.

/// How many neighbours a passage looks at.
const NEIGHBOURS: usize = 5;
/// How much of its score comes from them.
const SHARE: f64 = 0.5;

/// The vectors of a ranking's passages, one after the other, each of length 1 or 0.
pub(super) struct Vectors {
    pub(super) rows: Vec<f32>,
    pub(super) width: usize,
}

impl Vectors {
    fn row(&self, at: usize) -> &[f32] {
        self.rows.get(at * self.width..(at + 1) * self.width).unwrap_or_default()
    }
}

/// Mixes the scores of neighbours into a ranking; without vectors it stays as it is.
pub(super) fn smooth(ranked: &mut [(usize, f64)], vectors: &[Vectors]) {
    if vectors.is_empty() || ranked.len() < 2 {
        return;
    }
    let count = ranked.len();
    let mut alike = vec![0.0_f64; count * count];
    for one in 0..count {
        for other in one + 1..count {
            let near = vectors.iter().map(|space| f64::from(dot(space.row(one), space.row(other)))).sum::<f64>();
            for at in [one * count + other, other * count + one] {
                if let Some(slot) = alike.get_mut(at) {
                    *slot = near;
                }
            }
        }
    }
    let before: Vec<f64> = ranked.iter().map(|(_, score)| *score).collect();
    for ((_, score), row) in ranked.iter_mut().zip(alike.chunks_exact(count)) {
        // The nearest, nearest first; of equal ones the better ranked.
        let mut nearest: [(f64, f64); NEIGHBOURS] = [(0.0, 0.0); NEIGHBOURS];
        for (near, theirs) in row.iter().zip(&before) {
            let place = nearest.partition_point(|(other, _)| other >= near);
            if *near > 0.0 && place < NEIGHBOURS {
                nearest.get_mut(place..).unwrap_or_default().rotate_right(1);
                if let Some(slot) = nearest.get_mut(place) {
                    *slot = (*near, *theirs);
                }
            }
        }
        let total: f64 = nearest.iter().map(|(near, _)| near).sum();
        if total > 0.0 {
            let theirs = nearest.iter().map(|(near, theirs)| near * theirs).sum::<f64>() / total;
            *score = (1.0 - SHARE) * *score + SHARE * theirs;
        }
    }
}

/// The product of two vectors.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (mut sums, (a_four, b_four)) = ([0.0_f32; 8], (a.chunks_exact(8), b.chunks_exact(8)));
    let rest: f32 = a_four.remainder().iter().zip(b_four.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_four.zip(b_four) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_what_fits_fit_better() {
        let vectors = Vectors { rows: vec![1.0, 0.0, 0.9, 0.1, 0.0, 1.0], width: 2 };
        let mut ranked = vec![(7, 1.0), (8, 0.2), (9, 0.3)];
        smooth(&mut ranked, &[vectors]);
        assert!(ranked[1].1 > 0.5 && ranked[0].1 > 0.5, "{ranked:?}");
        assert!(ranked[2].1 < ranked[1].1, "{ranked:?}");
        let mut alone = vec![(1, 1.0)];
        smooth(&mut alone, &[]);
        assert_eq!(alone, [(1, 1.0)]);
        let none = Vectors { rows: vec![0.0; 4], width: 2 };
        let mut strange = vec![(1, 1.0), (2, 0.5)];
        smooth(&mut strange, &[none]);
        assert_eq!(strange, [(1, 1.0), (2, 0.5)]);
    }
}
