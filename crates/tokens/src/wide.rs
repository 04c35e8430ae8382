//! Masks of a window, with the widest instructions that the processor has.
//!
//! Everything else about pieces is ordinary code; only the step from bytes to masks differs, and the tests hold all
//! ways to the same masks.

use super::scan::{Masks, WINDOW};

/// A task that needs masks. `run` is compiled once for each kind of processor; it must be `#[inline(always)]`.
pub(super) trait Task {
    /// The result.
    type Output;

    /// Runs the task.
    fn run(self, masks: impl Fn(&[u8; WINDOW]) -> Masks + Copy) -> Self::Output;
}

/// Runs the task with the best masks that this processor can make.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)] // the two calls below, each after asking the processor
#[inline]
pub(super) fn run<T: Task>(task: T) -> T::Output {
    let bits =
        is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2") && is_x86_feature_detected!("lzcnt");
    if bits && is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl") {
        // SAFETY: all that the function names has just been found.
        return unsafe { x86::with_avx512(task) };
    }
    if bits && is_x86_feature_detected!("avx2") {
        // SAFETY: all that the function names has just been found.
        return unsafe { x86::with_avx2(task) };
    }
    task.run(portable)
}

/// Runs the task with the best masks that this processor can make.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(super) fn run<T: Task>(task: T) -> T::Output {
    task.run(portable)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, __m512i, _mm256_add_epi8, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_movemask_epi8, _mm256_or_si256,
        _mm256_set_epi64x, _mm256_set1_epi8, _mm256_slli_epi16, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask,
        _mm512_movepi8_mask, _mm512_or_si512, _mm512_set_epi64, _mm512_set1_epi8, _mm512_sub_epi8,
    };

    use super::{Masks, Task, WINDOW};

    #[target_feature(enable = "avx512bw,avx512vl,bmi1,bmi2,lzcnt")]
    pub(super) fn with_avx512<T: Task>(task: T) -> T::Output {
        task.run(|window| avx512(window))
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
    pub(super) fn with_avx2<T: Task>(task: T) -> T::Output {
        task.run(|window| avx2(window))
    }

    #[inline]
    #[target_feature(enable = "avx512bw")]
    pub(super) fn avx512(window: &[u8; WINDOW]) -> Masks {
        let (words, _) = window.as_chunks::<8>();
        let word = |n: usize| i64::from_le_bytes(words[n]);
        let bytes = _mm512_set_epi64(word(7), word(6), word(5), word(4), word(3), word(2), word(1), word(0));
        let equal = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte.cast_signed()));
        let within = |bytes: __m512i, low: u8, count: u8| {
            let moved = _mm512_sub_epi8(bytes, _mm512_set1_epi8(low.cast_signed()));
            _mm512_cmplt_epu8_mask(moved, _mm512_set1_epi8(count.cast_signed()))
        };
        let space = equal(b' ');
        Masks {
            letter: within(_mm512_or_si512(bytes, _mm512_set1_epi8(0x20)), b'a', 26),
            upper: within(bytes, b'A', 26),
            digit: within(bytes, b'0', 10),
            space,
            white: space | within(bytes, b'\t', 5),
            newline: equal(b'\n') | equal(b'\r'),
            high: _mm512_movepi8_mask(bytes),
            slash: equal(b'/'),
            quote: equal(b'\''),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn avx2(window: &[u8; WINDOW]) -> Masks {
        let (words, _) = window.as_chunks::<8>();
        let word = |n: usize| i64::from_le_bytes(words[n]);
        let halves = [
            _mm256_set_epi64x(word(3), word(2), word(1), word(0)),
            _mm256_set_epi64x(word(7), word(6), word(5), word(4)),
        ];
        let both = |mask: [__m256i; 2]| {
            let [low, high] = mask.map(|half| u64::from(_mm256_movemask_epi8(half).cast_unsigned()));
            low | high << 32
        };
        let equal = |byte: u8| halves.map(|half| _mm256_cmpeq_epi8(half, _mm256_set1_epi8(byte.cast_signed())));
        // Bytes from `low`, `count` of them, moved so that they are the lowest of the signed bytes.
        let within = |halves: [__m256i; 2], low: u8, count: u8| {
            let move_by = _mm256_set1_epi8(0x80_u8.wrapping_sub(low).cast_signed());
            let end = _mm256_set1_epi8(0x80_u8.wrapping_add(count).cast_signed());
            halves.map(|half| _mm256_cmpgt_epi8(end, _mm256_add_epi8(half, move_by)))
        };
        let small = halves.map(|half| _mm256_or_si256(half, _mm256_set1_epi8(0x20)));
        let letter = both(within(small, b'a', 26));
        let space = both(equal(b' '));
        Masks {
            letter,
            // The bit that tells small letters from large ones, moved to where the mask takes it from.
            upper: letter & !both(halves.map(|half| _mm256_slli_epi16::<2>(half))),
            digit: both(within(halves, b'0', 10)),
            space,
            white: space | both(within(halves, b'\t', 5)),
            newline: both(equal(b'\n')) | both(equal(b'\r')),
            high: both(halves),
            slash: both(equal(b'/')),
            quote: both(equal(b'\'')),
        }
    }
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The high bits of the eight bytes, as eight bits.
fn gather(word: u64) -> u64 {
    ((word & HIGH) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// The high bit set in each byte (below 0x80) that lies in the range; `word` has no high bits.
fn range(word: u64, low: u8, last: u8) -> u64 {
    (word + u64::from(0x80 - low) * ONES) & !(word + u64::from(0x7f - last) * ONES)
}

fn portable(window: &[u8; WINDOW]) -> Masks {
    let mut masks = Masks::default();
    let (words, _) = window.as_chunks::<8>();
    for (n, bytes) in words.iter().enumerate() {
        let whole = u64::from_le_bytes(*bytes);
        let ascii = !whole;
        let word = whole & !HIGH;
        let put = |bits: u64| gather(bits & ascii) << (8 * n);
        masks.letter |= put(range(word | (0x20 * ONES), b'a', b'z'));
        masks.upper |= put(range(word, b'A', b'Z'));
        masks.digit |= put(range(word, b'0', b'9'));
        masks.space |= put(range(word, b' ', b' '));
        masks.white |= put(range(word, b'\t', b'\r') | range(word, b' ', b' '));
        masks.newline |= put(range(word, b'\n', b'\n') | range(word, b'\r', b'\r'));
        masks.high |= gather(whole) << (8 * n);
        masks.slash |= put(range(word, b'/', b'/'));
        masks.quote |= put(range(word, b'\'', b'\''));
    }
    masks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_to_the_masks_agree() {
        struct Window([u8; WINDOW]);
        impl Task for Window {
            type Output = Masks;
            #[inline(always)]
            fn run(self, masks: impl Fn(&[u8; WINDOW]) -> Masks + Copy) -> Masks {
                masks(&self.0)
            }
        }
        for seed in 0..=255_u8 {
            for step in [1, 3, 4, 7, 37] {
                let window = std::array::from_fn(|n| (n as u8).wrapping_mul(step).wrapping_add(seed));
                let plain = portable(&window);
                assert_eq!(run(Window(window)), plain);
                for (n, byte) in window.iter().enumerate() {
                    let bit = |mask: u64| mask >> n & 1 == 1;
                    assert_eq!(bit(plain.letter), byte.is_ascii_alphabetic());
                    assert_eq!(bit(plain.upper), byte.is_ascii_uppercase());
                    assert_eq!(bit(plain.digit), byte.is_ascii_digit());
                    assert_eq!(bit(plain.white), byte.is_ascii() && char::from(*byte).is_whitespace());
                    assert_eq!(bit(plain.newline), matches!(byte, b'\n' | b'\r'));
                    assert_eq!(bit(plain.high), !byte.is_ascii());
                    assert_eq!(
                        (bit(plain.space), bit(plain.slash), bit(plain.quote)),
                        (*byte == b' ', *byte == b'/', *byte == b'\'')
                    );
                }
                #[cfg(target_arch = "x86_64")]
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: found just now.
                    #[allow(unsafe_code)]
                    let masks = unsafe { x86::with_avx2(Window(window)) };
                    assert_eq!(masks, plain);
                }
            }
        }
    }
}
