//! The embedder that needs no model: words and the pieces of three letters of each, hashed to places of a vector. It
//! knows no meanings; it finds what is spelled alike, in any language, and is the same on every machine.

use loopwright_lexicon::words;

/// The length of a vector.
const LENGTH: usize = 512;
/// The weights of a whole word, and of a piece of one.
const WORD: f32 = 1.5;
const PIECE: f32 = 0.5;
/// Letters of a piece, and one: the bounds that a window holds.
const BOUNDS: usize = 4;

/// The vector of a text; all zeros for one without words.
pub(crate) fn hash_vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0_f32; LENGTH];
    let mut add = |piece: &str, weight: f32| {
        let hash = xxhash_rust::xxh3::xxh3_64(piece.as_bytes());
        let sign = if hash >> 63 == 0 { weight } else { -weight };
        if let Some(value) = vector.get_mut(hash as usize % LENGTH) {
            *value += sign;
        }
    };
    let mut padded = String::new();
    words::each_term(text, |term| {
        padded.clear();
        padded.push(' ');
        padded.push_str(term);
        padded.push(' ');
        add(&padded, WORD);
        let bounds: Vec<usize> = padded.char_indices().map(|(at, _)| at).chain([padded.len()]).collect();
        for window in bounds.windows(BOUNDS) {
            let (Some(&from), Some(&to)) = (window.first(), window.last()) else { continue };
            add(padded.get(from..to).unwrap_or_default(), PIECE);
        }
    });
    if text.chars().any(char::is_alphanumeric) && vector.iter().all(|value| *value == 0.0) {
        // Nothing but words that are everywhere: then these.
        for word in text.split_whitespace().take(LENGTH) {
            let hash = xxhash_rust::xxh3::xxh3_64(word.to_lowercase().as_bytes());
            if let Some(value) = vector.get_mut(hash as usize % LENGTH) {
                *value += WORD;
            }
        }
    }
    // What is said ten times counts less than ten times as much.
    for value in &mut vector {
        *value = value.signum() * value.abs().sqrt();
    }
    normalise(&mut vector);
    vector
}

/// Brings a vector to length one, if it has a direction.
pub(crate) fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if length > 0.0 && length.is_finite() {
        for value in vector {
            *value = (f64::from(*value) / length) as f32;
        }
    }
}

/// The mean direction of two vectors; the first alone where the other does not fit it.
pub(crate) fn mean(one: &[f32], other: &[f32]) -> Vec<f32> {
    let (mut one, mut other) = (one.to_vec(), other.to_vec());
    normalise(&mut one);
    normalise(&mut other);
    if one.len() != other.len() || other.iter().any(|value| !value.is_finite()) {
        return one;
    }
    let mut both: Vec<f32> = one.iter().zip(&other).map(|(x, y)| x + y).collect();
    normalise(&mut both);
    if both.iter().all(|value| *value == 0.0) { one } else { both }
}

/// The cosine of two vectors; 0 where one has no direction, or they do not fit.
pub(crate) fn cosine(one: &[f32], other: &[f32]) -> f32 {
    loopwright_retrieve::analysis::cosine(one, other).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spelled_alike_is_near() {
        let of = |one: &str, other: &str| cosine(&hash_vector(one), &hash_vector(other));
        assert!(of("configure retries", "retry configuration") > 0.6);
        assert!(of("How do I configure retries?", "configure retries") > 0.9);
        assert!(of("configure retries", "boil an egg") < 0.2);
        assert!(of("", "boil an egg").abs() < 1e-6);
        assert!(of("What is it?", "what is it?") > 0.99);
    }
}
