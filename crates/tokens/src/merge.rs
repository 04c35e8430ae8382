//! Merging of a piece that is no token into the tokens that the ranks of an encoding make of it.
//!
//! Short pieces are merged in place, lowest rank first. Long ones are merged in stretches that are joined where the
//! seam is proved to hold, so that a megabyte without a cut takes linear time and no memory beyond its tokens.

use super::{
    scan::{Masks, WINDOW},
    vocabulary::{NONE, Vocabulary},
    wide::{self, Task},
};

/// Bytes of a long piece that are merged at once.
const STRETCH: usize = 64;

/// Buffers for merging, used again for each piece.
#[derive(Debug, Default)]
pub(super) struct MergeBuffers {
    ids: Vec<u32>,
    long: Vec<u32>,
}

impl MergeBuffers {
    /// The tokens of a piece.
    #[inline]
    pub(super) fn merge(&mut self, vocabulary: &Vocabulary, piece: &[u8]) -> &[u32] {
        if piece.len() <= STRETCH {
            self.merge_in_place(vocabulary, piece);
            return &self.ids;
        }
        self.stretches(vocabulary, piece);
        &self.long
    }

    /// The number of tokens of a piece.
    #[inline]
    pub(super) fn count(&mut self, vocabulary: &Vocabulary, piece: &[u8]) -> usize {
        match piece.len() {
            0..=16 => parts::<16>(vocabulary, piece).alive.count_ones() as usize,
            17..=STRETCH => parts::<64>(vocabulary, piece).alive.count_ones() as usize,
            _ => {
                self.stretches(vocabulary, piece);
                self.long.len()
            }
        }
    }

    fn merge_in_place(&mut self, vocabulary: &Vocabulary, piece: &[u8]) {
        self.ids.clear();
        if piece.len() <= 16 {
            self.ids.extend(parts::<16>(vocabulary, piece).tokens());
        } else if piece.len() <= 64 {
            self.ids.extend(parts::<64>(vocabulary, piece).tokens());
        } else {
            self.merge_queued(vocabulary, piece);
        }
    }

    fn stretches(&mut self, vocabulary: &Vocabulary, piece: &[u8]) {
        let mut long = std::mem::take(&mut self.long);
        long.clear();
        let mut at = 0;
        let mut size = STRETCH;
        while at < piece.len() {
            let rest = &piece[at..];
            let last = rest.len() <= size;
            let stretch = &rest[..size.min(rest.len())];
            self.merge_in_place(vocabulary, stretch);
            // Tokens are valid together if each is with its neighbour. So the seam is what there is to prove.
            let holds = match (long.last().copied(), self.ids.first()) {
                (Some(left), Some(right)) => vocabulary.joins(left, *right),
                _ => true,
            };
            if !holds {
                // Take a token back and try from there; with all of them gone, there is no seam any more.
                if let Some(id) = long.pop() {
                    at -= vocabulary.token(id).len();
                }
                size += vocabulary.longest();
                continue;
            }
            let mut kept = 0;
            for id in &self.ids {
                let length = vocabulary.token(*id).len();
                if !last && kept > 0 && kept + length > stretch.len() - stretch.len() / 4 {
                    break;
                }
                long.push(*id);
                kept += length;
            }
            at += kept.max(1);
            at += repeated(vocabulary, &mut long, &piece[at.min(piece.len())..]);
            size = STRETCH;
        }
        self.long = long;
    }

    /// Merges with a queue of candidates: for stretches too long to scan again and again.
    fn merge_queued(&mut self, vocabulary: &Vocabulary, piece: &[u8]) {
        use std::{cmp::Reverse, collections::BinaryHeap};
        let mut next = start(vocabulary, piece, &mut self.ids);
        let ids = &mut self.ids;
        let count = ids.len();
        // Neighbours by index; what was merged away has none.
        let mut after: Vec<usize> = (1..=count).collect();
        let mut before: Vec<usize> = (0..count).map(|at| at.wrapping_sub(1)).collect();
        let mut queue: BinaryHeap<Reverse<(u32, usize)>> =
            next.iter().enumerate().filter(|(_, rank)| **rank != NONE).map(|(at, rank)| Reverse((*rank, at))).collect();
        while let Some(Reverse((rank, at))) = queue.pop() {
            if next[at] != rank {
                continue;
            }
            let gone = after[at];
            ids[at] = rank;
            next[gone] = NONE;
            ids[gone] = NONE;
            let right = after[gone];
            after[at] = right;
            next[at] = NONE;
            if right < count {
                before[right] = at;
                next[at] = vocabulary.merge(rank, ids[right]);
                if next[at] != NONE {
                    queue.push(Reverse((next[at], at)));
                }
            }
            let left = before[at];
            if left < count {
                next[left] = vocabulary.merge(ids[left], rank);
                if next[left] != NONE {
                    queue.push(Reverse((next[left], left)));
                }
            }
        }
        ids.retain(|id| *id != NONE);
    }
}

/// Appends the last token again as often as it repeats, as in a long run of spaces, without merging: such a seam is
/// proved once. Returns the bytes that were taken; the end is left for merging.
fn repeated(vocabulary: &Vocabulary, long: &mut Vec<u32>, rest: &[u8]) -> usize {
    let Some(&last) = long.last() else { return 0 };
    let token = vocabulary.token(last);
    let margin = 2 * vocabulary.longest();
    if rest.len() < margin + token.len() || !rest.starts_with(token) || !vocabulary.joins(last, last) {
        return 0;
    }
    let most = (rest.len() - margin) / token.len();
    let times = rest.chunks_exact(token.len()).take(most).take_while(|chunk| *chunk == token).count();
    long.resize(long.len() + times, last);
    times * token.len()
}

/// The tokens that a piece starts as, and the token that each becomes with the one after it.
fn start(vocabulary: &Vocabulary, piece: &[u8], ids: &mut Vec<u32>) -> Vec<u32> {
    ids.clear();
    let mut at = 0;
    while let Some(&byte) = piece.get(at) {
        let id = formed_token(vocabulary, piece, at);
        ids.push(if id == NONE { vocabulary.single(byte) } else { id });
        at += if id == NONE { 1 } else { 3 };
    }
    let mut next: Vec<u32> = ids.windows(2).map(|pair| vocabulary.merge(pair[0], pair[1])).collect();
    next.push(NONE);
    next
}

/// Merges with the widest instructions at hand: finding the lowest rank takes the time.
#[inline]
fn parts<const N: usize>(vocabulary: &Vocabulary, piece: &[u8]) -> Parts<N> {
    struct Merging<'a, const N: usize>(&'a Vocabulary, &'a [u8]);
    impl<const N: usize> Task for Merging<'_, N> {
        type Output = Parts<N>;
        #[inline(always)]
        fn run(self, _: impl Fn(&[u8; WINDOW]) -> Masks + Copy) -> Parts<N> {
            Parts::merged(self.0, self.1)
        }
    }
    wide::run(Merging(vocabulary, piece))
}

/// Up to `N` parts of a piece that become its tokens. `N` is a power of two, at most 64.
struct Parts<const N: usize> {
    ids: [u32; N],
    /// The parts that have not been merged away.
    alive: u64,
}

impl<const N: usize> Parts<N> {
    const BITS: u32 = N.trailing_zeros();

    /// A rank and its place in one number: the lowest of these is merged first.
    #[inline(always)]
    fn ranked(rank: u32, at: usize) -> u32 {
        if rank == NONE { NONE } else { rank << Self::BITS | at as u32 }
    }

    /// The tokens of a piece of no more than `N` bytes.
    #[inline(always)]
    fn merged(vocabulary: &Vocabulary, piece: &[u8]) -> Self {
        let mut ids = [0; N];
        let mut ranks = [NONE; N];
        let mut count = piece.len().min(N);
        if piece.iter().any(|byte| *byte >= 0xe0) {
            count = 0;
            let mut at = 0;
            while let Some(&byte) = piece.get(at) {
                let id = formed_token(vocabulary, piece, at);
                ids[count & (N - 1)] = if id == NONE { vocabulary.single(byte) } else { id };
                at += if id == NONE { 1 } else { 3 };
                count += 1;
            }
            for at in 1..count.min(N) {
                ranks[at - 1] = Self::ranked(vocabulary.merge(ids[at - 1], ids[at]), at - 1);
            }
        } else {
            for (id, byte) in ids.iter_mut().zip(piece) {
                *id = vocabulary.single(*byte);
            }
            for (at, (rank, pair)) in ranks.iter_mut().zip(piece.windows(2)).enumerate() {
                *rank = Self::ranked(vocabulary.pair(pair[0], pair[1]), at);
            }
        }
        let mut alive = u64::MAX >> (64 - count.clamp(1, 64));
        loop {
            // All of them, so that it is a few wide instructions.
            let lowest = ranks.iter().copied().fold(NONE, u32::min);
            if lowest == NONE {
                return Self { ids, alive };
            }
            let at = lowest as usize & (N - 1);
            let id = lowest >> Self::BITS;
            ids[at] = id;
            // The part after this one is gone; its own right neighbour is this one's now.
            let after = alive & (u64::MAX - 1) << at;
            let gone = after.trailing_zeros() as usize & (N - 1);
            let after = after & after.wrapping_sub(1);
            alive &= !(1 << gone);
            let right = if after == 0 {
                NONE
            } else {
                Self::ranked(vocabulary.merge(id, ids[after.trailing_zeros() as usize & (N - 1)]), at)
            };
            let before = alive & ((1 << at) - 1);
            // With nothing before it, what is set is what is gone.
            let (left, rank) = if before == 0 {
                (gone, NONE)
            } else {
                let left = (63 - before.leading_zeros() as usize) & (N - 1);
                (left, Self::ranked(vocabulary.merge(ids[left], id), left))
            };
            // All of them again: a narrow store would keep the wide load of the next round waiting.
            for (n, kept) in (0_u32..).zip(ranks.iter_mut()) {
                let mut new = if n == gone as u32 { NONE } else { *kept };
                new = if n == at as u32 { right } else { new };
                *kept = if n == left as u32 { rank } else { new };
            }
        }
    }

    fn tokens(&self) -> impl Iterator<Item = u32> + '_ {
        let mut alive = self.alive;
        std::iter::from_fn(move || {
            let at = alive.trailing_zeros() as usize;
            alive &= alive.wrapping_sub(1);
            (at < N).then(|| self.ids[at & (N - 1)])
        })
    }
}

/// The token of a character of three bytes that may be taken as formed before any merging: no token can tear it
/// apart on either side.
#[inline]
fn formed_token(vocabulary: &Vocabulary, piece: &[u8], at: usize) -> u32 {
    let Some(&[first @ 0xe0..=0xef, second, third]) = piece.get(at..).and_then(<[u8]>::first_chunk::<3>) else {
        return NONE;
    };
    if (second | third) & 0xc0 != 0x80 || (second & third) & 0xc0 != 0x80 {
        return NONE;
    }
    if at > 0 && !vocabulary.apart(piece[at - 1], first, second) {
        return NONE;
    }
    if let Some(&after) = piece.get(at + 3)
        && !vocabulary.apart(third, after, piece.get(at + 4).copied().unwrap_or(0))
    {
        return NONE;
    }
    vocabulary.char(first, second, third)
}

/// The number of tokens of a piece of two to four bytes that is no token itself. `None` for other lengths.
#[inline]
pub(super) fn count_short(vocabulary: &Vocabulary, piece: &[u8]) -> Option<usize> {
    let pair = |left: u8, right: u8| vocabulary.pair(left, right);
    match *piece {
        [_, _] => Some(2),
        [a, b, c] => Some(if pair(a, b) == NONE && pair(b, c) == NONE { 3 } else { 2 }),
        [a, b, c, d] => {
            let (first, middle, last) = (pair(a, b), pair(b, c), pair(c, d));
            let lowest = first.min(middle).min(last);
            if lowest == NONE {
                return Some(4);
            }
            // One merge leaves three parts. If any two of them merge, two are left, which can't become one.
            let again = if lowest == first {
                last != NONE || vocabulary.merge(first, vocabulary.single(c)) != NONE
            } else if lowest == middle {
                vocabulary.merge(vocabulary.single(a), middle) != NONE
                    || vocabulary.merge(middle, vocabulary.single(d)) != NONE
            } else {
                first != NONE || vocabulary.merge(vocabulary.single(b), last) != NONE
            };
            Some(if again { 2 } else { 3 })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::exact::o200k_base, *};

    #[test]
    fn seams_hold_where_merging_says_so() {
        let vocabulary = o200k_base().vocabulary();
        let mut bench = MergeBuffers::default();
        let mut seed = 3_u64;
        let mut held = 0;
        for _ in 0..20_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Low ranks are short and touch often.
            let id = |bits: u64| (bits % (1 << (8 + bits / 7 % 10))) as u32 % vocabulary.len() as u32;
            let (left, right) = (id(seed >> 33), id(seed >> 11 & 0xff_ffff));
            let both = [vocabulary.token(left), vocabulary.token(right)].concat();
            // Text never has a stray part of a character after a whole one, and merging counts on that.
            if std::str::from_utf8(&both).is_err() {
                continue;
            }
            let expected = bench.merge(vocabulary, &both) == [left, right];
            assert_eq!(vocabulary.joins(left, right), expected, "{left} {right} {both:?}");
            held += usize::from(expected);
        }
        assert!((1_000..19_900).contains(&held), "{held}");
    }
}
