//! A hash of short words. Tables of our own words are asked about every word of a text, where the usual hash costs more
//! than all the rest; it protects tables that others fill, which these are not.

use std::hash::{BuildHasherDefault, Hasher};

/// The builder of hashes for tables whose keys are words: `HashMap<&str, V, Hashed>`.
pub type Hashed = BuildHasherDefault<WordHasher>;

/// A hash of short words, for tables that hold only words of ours: nobody can fill those with words that collide.
#[derive(Clone, Copy, Debug, Default)]
pub struct WordHasher(u64);

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(8) {
            let mut whole = [0; 8];
            whole.iter_mut().zip(piece).for_each(|(to, from)| *to = *from);
            self.0 = (self.0.rotate_left(5) ^ u64::from_le_bytes(whole)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    // What stands behind a text's bytes, so that texts in a row differ; a table of single texts needs nothing.
    fn write_u8(&mut self, _: u8) {}

    fn finish(&self) -> u64 {
        // The lower half of a product knows little of the upper half of what was multiplied.
        self.0 ^ (self.0 >> 32)
    }
}
