//! Vectors of embedders, compared by brute force, which is exact, and quick enough for one person's memories.

use super::write::checksum;
use loopwright_lexicon::words;

/// The name under which vectors of feature hashing are kept.
pub const HASHING: &str = "hashing-1";
/// The length of such a vector.
const HASHED: usize = 256;

/// The vector of a text by feature hashing: the pieces of three letters of each word, hashed to places of the vector.
/// It knows no meanings; it finds words that are spelled alike, in any language, without a model.
pub fn hashed(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0_f32; HASHED];
    let mut padded = String::new();
    words::each_term(text, |term| {
        padded.clear();
        padded.push(' ');
        padded.push_str(term);
        padded.push(' ');
        let bounds: Vec<usize> = padded.char_indices().map(|(at, _)| at).chain([padded.len()]).collect();
        for window in bounds.windows(4) {
            let (Some(&from), Some(&to)) = (window.first(), window.last()) else { continue };
            let hash = checksum(padded.get(from..to).unwrap_or_default()).cast_unsigned();
            let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
            if let Some(value) = vector.get_mut(hash as usize % HASHED) {
                *value += sign;
            }
        }
    });
    normalise(&mut vector);
    vector
}

fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 && length.is_finite() {
        for value in vector.iter_mut() {
            *value /= length;
        }
    } else {
        vector.fill(0.0);
    }
}

/// The vectors of one embedder, all of one length, each of length one.
#[derive(Default)]
pub(super) struct Vectors {
    pub embedder: String,
    /// The last memory that was looked at for a vector.
    pub newest: i64,
    dimensions: usize,
    ids: Vec<i64>,
    values: Vec<f32>,
}

impl Vectors {
    pub(super) fn of(embedder: &str) -> Self {
        Self { embedder: embedder.to_owned(), ..Self::default() }
    }

    /// Adds the vector of a memory; one of another length than the first is no vector of this embedder.
    pub(super) fn add(&mut self, id: i64, mut vector: Vec<f32>) {
        if self.ids.is_empty() {
            self.dimensions = vector.len();
        }
        if vector.len() == self.dimensions && self.dimensions > 0 {
            normalise(&mut vector);
            self.ids.push(id);
            self.values.append(&mut vector);
        }
    }

    /// The memories nearest to a vector, nearest first, with their cosines above zero.
    pub(super) fn nearest(&self, vector: &[f32], most: usize, keep: impl Fn(i64) -> bool) -> Vec<(i64, f32)> {
        if vector.len() != self.dimensions || self.dimensions == 0 {
            return Vec::new();
        }
        let mut vector = vector.to_vec();
        normalise(&mut vector);
        let mut all: Vec<(i64, f32)> = self
            .ids
            .iter()
            .zip(self.values.chunks_exact(self.dimensions))
            .map(|(&id, other)| (id, dot(&vector, other)))
            .filter(|&(id, cosine)| cosine > 0.0 && keep(id))
            .collect();
        let nearer = |a: &(i64, f32), b: &(i64, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if most == 0 {
            return Vec::new();
        }
        if all.len() > most {
            all.select_nth_unstable_by(most - 1, nearer);
            all.truncate(most);
        }
        all.sort_by(nearer);
        all
    }
}

/// The dot product, in eight lanes, which compilers know how to make one instruction of.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 8];
    let (wide_a, wide_b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = wide_a.remainder().iter().zip(wide_b.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in wide_a.zip(wide_b) {
        for ((lane, x), y) in lanes.iter_mut().zip(x).zip(y) {
            *lane += x * y;
        }
    }
    lanes.iter().sum::<f32>() + rest
}
