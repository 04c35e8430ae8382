//! The tokens of an encoding, and the tables that find them.
//!
//! A whole piece is looked up by its bytes; a merge is looked up by the two tokens that it joins. Each token is made
//! by one last merge only (see docs/tokens.md), so there are as many merges as tokens. All tables are made once, when
//! the encoding is first asked for, from the packed file that stands in the binary.

use xxhash_rust::xxh3::xxh3_64;

/// The number that stands for no token, no merge.
pub(super) const NONE: u32 = u32::MAX;

const EMPTY: u64 = u64::MAX;
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
const MIX_HIGH: u64 = 0xd6e8_feb8_6659_fd93;

/// The bytes of a short piece as one number: what is past `length` cleared, and the length in the highest byte.
/// `length` is at most 7.
#[inline(always)]
pub(super) fn short_key(word: u64, length: usize) -> u64 {
    (word & ((1 << (8 * length)) - 1)) | (length as u64) << 56
}

/// The bytes of a piece of up to 15 bytes as one number.
#[inline(always)]
pub(super) fn middle_key(word: u128, length: usize) -> u128 {
    (word & ((1 << (8 * length)) - 1)) | (length as u128) << 120
}

/// Up to eight bytes from `at`.
#[inline(always)]
pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => tail(bytes, at) as u64,
    }
}

/// Up to sixteen bytes from `at`.
#[inline(always)]
pub(super) fn double_word(bytes: &[u8], at: usize) -> u128 {
    match bytes.get(at..).and_then(<[u8]>::first_chunk::<16>) {
        Some(chunk) => u128::from_le_bytes(*chunk),
        None => tail(bytes, at),
    }
}

#[cold]
fn tail(bytes: &[u8], at: usize) -> u128 {
    let mut word = 0;
    for byte in bytes.get(at..).unwrap_or_default().iter().take(16).rev() {
        word = word << 8 | u128::from(*byte);
    }
    word
}

/// The hash of a short key.
#[inline(always)]
pub(super) fn short_hash(key: u64) -> u64 {
    (key ^ key >> 29).wrapping_mul(MIX)
}

/// The hash of a middle key.
#[inline(always)]
pub(super) fn middle_hash(key: u128) -> u64 {
    let (low, high) = (key as u64, (key >> 64) as u64);
    (low.wrapping_mul(MIX_HIGH) ^ high ^ high >> 29).wrapping_mul(MIX)
}

/// Numbers found by open addressing, about half full. The highest bits of a hash say where to begin.
#[derive(Debug)]
struct Table<K> {
    keys: Box<[K]>,
    ids: Box<[u32]>,
    shift: u32,
}

impl<K: Copy + PartialEq> Table<K> {
    fn new(size: usize, empty: K) -> Self {
        let slots = (size * 7 / 4).next_power_of_two().max(64);
        Self {
            keys: vec![empty; slots].into_boxed_slice(),
            ids: vec![NONE; slots].into_boxed_slice(),
            shift: 64 - slots.trailing_zeros(),
        }
    }

    /// The slot of the key, or the empty one where it would stand.
    #[inline(always)]
    fn slot(&self, key: K, hash: u64, empty: K) -> usize {
        let mask = self.keys.len() - 1;
        let mut at = (hash >> self.shift) as usize & mask;
        loop {
            let found = self.keys[at];
            if found == key || found == empty {
                return at;
            }
            at = (at + 1) & mask;
        }
    }
}

/// The tokens of an encoding.
#[derive(Debug)]
pub(super) struct Vocabulary {
    bytes: &'static [u8],
    /// The start of each token in `bytes`, and the end of the last one.
    starts: Box<[u32]>,
    short: Table<u64>,
    /// One bit for each hash of a short token: most pieces that are no token are told from a nearer cache.
    short_seen: Box<[u64]>,
    middle: Table<u128>,
    /// Tokens of 16 bytes and more, by a hash of their bytes.
    long: Table<u64>,
    /// Two tokens (18 bits each) and what they become (18 bits), in one number.
    merges: Box<[u64]>,
    merges_shift: u32,
    /// The two tokens that each is made of; twice itself for a byte.
    halves: Box<[(u32, u32)]>,
    /// One bit for each hash of a merge there is: most lookups fail, and this fits a near cache.
    merges_seen: Box<[u64]>,
    /// The merges of two bytes.
    pairs: Box<[u32]>,
    singles: [u32; 256],
    /// Characters of three bytes that are tokens, by their code point.
    chars: Box<[u32]>,
    /// Edges where a token may reach over the edge of a character without holding all of it; see [`Self::apart`].
    split_before_three: Box<[u64]>,
    torn_before_other: Box<[u64]>,
    /// One bit for each hash of two characters of three bytes that stand together in a token.
    together: Box<[u64]>,
    /// The number of tokens of three letters, digits, spaces or slashes, in two bits each; see [`Self::three`].
    threes: Box<[u8]>,
    longest: usize,
}

/// The bits of a token's number. A vocabulary has fewer tokens than this can tell apart.
const ID_BITS: u32 = 18;

impl Vocabulary {
    /// Unpacks a vocabulary. The files are part of the crate and held against the originals by tests; of a damaged one,
    /// the readable part is there and the rest is missing.
    pub(super) fn new(packed: &'static [u8]) -> Self {
        let (count, rest) = packed.split_first_chunk::<4>().unwrap_or((&[0; 4], &[]));
        let count = (u32::from_le_bytes(*count) as usize).min(rest.len() / 2).min((1 << ID_BITS) - 1);
        let (lengths, rest) = rest.split_at(count);
        let (splits, bytes) = rest.split_at(count);

        let mut starts = Vec::with_capacity(count + 1);
        let mut end = 0_u32;
        starts.push(0);
        for length in lengths {
            end = (end + u32::from(*length)).min(bytes.len() as u32);
            starts.push(end);
        }
        let size = |range: std::ops::Range<u8>| lengths.iter().filter(|length| range.contains(length)).count();
        // Fuller than the others: what is not there is mostly told by `merges_seen`.
        let slots = (count * 5 / 4).next_power_of_two().max(64);
        let mut made = Self {
            bytes,
            starts: starts.into_boxed_slice(),
            short: Table::new(size(0..8), EMPTY),
            short_seen: vec![0; SHORT_SEEN / 64].into_boxed_slice(),
            middle: Table::new(size(8..16), u128::MAX),
            long: Table::new(size(16..u8::MAX), EMPTY),
            merges: vec![EMPTY; slots].into_boxed_slice(),
            merges_shift: 64 - slots.trailing_zeros(),
            halves: (0..count as u32).map(|id| (id, id)).collect(),
            merges_seen: vec![0; SEEN / 64].into_boxed_slice(),
            pairs: vec![NONE; 0x1_0000].into_boxed_slice(),
            singles: [NONE; 256],
            chars: vec![NONE; 0x1_0000].into_boxed_slice(),
            split_before_three: vec![0; (256 * 16 * 64) / 64].into_boxed_slice(),
            torn_before_other: vec![0; (256 * 256) / 64].into_boxed_slice(),
            together: vec![0; TOGETHER / 64].into_boxed_slice(),
            threes: vec![0; 64 * 64 * 64 / 4].into_boxed_slice(),
            longest: lengths.iter().copied().max().map_or(0, usize::from),
        };
        for id in 0..count as u32 {
            made.insert(id);
        }
        made.fill_threes();
        for (id, split) in splits.iter().enumerate() {
            if *split > 0 {
                made.insert_merge(id as u32, usize::from(*split));
            }
        }
        made
    }

    fn insert(&mut self, id: u32) {
        let token = self.token(id);
        match token.len() {
            0 => {}
            1..8 => {
                let key = short_key(word(token, 0), token.len());
                let seen = short_index(short_hash(key));
                self.short_seen[seen >> 6] |= 1 << (seen & 63);
                let slot = self.short.slot(key, short_hash(key), EMPTY);
                self.short.keys[slot] = key;
                self.short.ids[slot] = id;
            }
            8..16 => {
                let key = middle_key(double_word(token, 0), token.len());
                let slot = self.middle.slot(key, middle_hash(key), u128::MAX);
                self.middle.keys[slot] = key;
                self.middle.ids[slot] = id;
            }
            _ => {
                // Of two tokens with one hash the first would be found alone, and the other be made by merging.
                let key = xxh3_64(token) >> 1;
                let slot = self.long.slot(key, key << 1, EMPTY);
                if self.long.ids[slot] == NONE {
                    self.long.keys[slot] = key;
                    self.long.ids[slot] = id;
                }
            }
        }
        match *token {
            [byte] => self.singles[usize::from(byte)] = id,
            [first, second] => self.pairs[usize::from(first) << 8 | usize::from(second)] = id,
            [first @ 0xe0..=0xef, second, third] if std::str::from_utf8(token).is_ok() => {
                self.chars[code_point(first, second, third)] = id;
            }
            _ => {}
        }
        self.note_split_edges(token);
        self.note_joined(token);
    }

    fn insert_merge(&mut self, id: u32, split: usize) {
        let token = self.token(id);
        let Some((left, right)) = token.split_at_checked(split) else { return };
        let (Some(left), Some(right)) = (self.whole(left, 0, left.len()), self.whole(right, 0, right.len())) else {
            return;
        };
        self.halves[id as usize] = (left, right);
        let key = u64::from(left) << ID_BITS | u64::from(right);
        let mask = self.merges.len() - 1;
        let mut at = (key.wrapping_mul(MIX) >> self.merges_shift) as usize & mask;
        while self.merges[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.merges[at] = key << ID_BITS | u64::from(id);
        let seen = seen_index(key.wrapping_mul(MIX));
        self.merges_seen[seen >> 6] |= 1 << (seen & 63);
    }

    /// Fills the table of triples. No cache holds all triples of random text (base64, ids), but all of them are few
    /// enough to be computed beforehand.
    fn fill_threes(&mut self) {
        let singles = (0..=127_u8).filter(|byte| CODES[usize::from(*byte)] < 64);
        let singles: Vec<u8> = singles.collect();
        for &a in &singles {
            for &b in &singles {
                let first = self.pair(a, b) != NONE;
                for &c in &singles {
                    let count = if first || self.pair(b, c) != NONE { 2 } else { 3 };
                    let at = three_index([a, b, c]).unwrap_or(0);
                    self.threes[at >> 2] |= count << (2 * (at & 3));
                }
            }
        }
        for id in 0..self.len() as u32 {
            if let Ok(token) = <[u8; 3]>::try_from(self.token(id))
                && let Some(at) = three_index(token)
            {
                let bits = 2 * (at & 3);
                self.threes[at >> 2] = self.threes[at >> 2] & !(3 << bits) | 1 << bits;
            }
        }
    }

    /// The number of tokens of a piece of these three bytes; `None` if one is no letter, digit, space or slash.
    #[inline(always)]
    pub(super) fn three(&self, piece: [u8; 3]) -> Option<usize> {
        let at = three_index(piece)?;
        Some(usize::from(self.threes[at >> 2] >> (2 * (at & 3)) & 3))
    }

    /// Notes the characters of three bytes that stand together in a token.
    fn note_joined(&mut self, token: &[u8]) {
        for six in token.windows(6) {
            if let [a @ 0xe0..=0xef, b, c, d @ 0xe0..=0xef, e, f] = *six {
                let at = together_index([a, b, c], [d, e, f]);
                self.together[at >> 6] |= 1 << (at & 63);
            }
        }
    }

    /// Returns whether no token reaches over the edge between these two characters of three bytes, so that the text on
    /// either side is merged alone.
    #[inline(always)]
    pub(super) fn separate(&self, left: [u8; 3], right: [u8; 3]) -> bool {
        let at = together_index(left, right);
        self.together[at >> 6] >> (at & 63) & 1 == 0 && self.apart(left[2], right[0], right[1])
    }

    /// Notes the edges between characters inside of a token that ends or begins in the middle of one of the two.
    fn note_split_edges(&mut self, token: &[u8]) {
        let starts = |byte: u8| byte & 0xc0 != 0x80;
        let mut edges = (1..token.len()).filter(|at| starts(token[*at]));
        let (first, last) = (edges.next(), edges.next_back());
        let Some(first) = first else { return };
        let last = last.unwrap_or(first);
        // The token begins inside of a character: the edge after that one.
        if !starts(token[0]) {
            self.mark_split(token[first - 1], token[first], token.get(first + 1).copied());
        }
        let length = match token[last] {
            0xf0.. => 4,
            0xe0.. => 3,
            0xc0.. => 2,
            _ => 1,
        };
        if token.len() - last < length {
            self.mark_split(token[last - 1], token[last], token.get(last + 1).copied());
        }
    }

    fn mark_split(&mut self, before: u8, first: u8, second: Option<u8>) {
        if first & 0xf0 == 0xe0 {
            let seconds = second.map_or(0x80..=0xbf, |second| second..=second);
            for second in seconds {
                let at = split_index(before, first, second);
                self.split_before_three[at >> 6] |= 1 << (at & 63);
            }
        } else {
            let at = usize::from(before) << 8 | usize::from(first);
            self.torn_before_other[at >> 6] |= 1 << (at & 63);
        }
    }

    /// Returns whether no token can reach from the character that ends with `before` into the one that starts with
    /// `first` and `second` while it holds only a part of either.
    #[inline]
    pub(super) fn apart(&self, before: u8, first: u8, second: u8) -> bool {
        let (map, at) = if first & 0xf0 == 0xe0 {
            (&self.split_before_three, split_index(before, first, second))
        } else {
            (&self.torn_before_other, usize::from(before) << 8 | usize::from(first))
        };
        map[at >> 6] >> (at & 63) & 1 == 0
    }

    /// Returns whether these two, one after the other, are what merging makes of their bytes: no merge across the seam
    /// comes before those that make the two. Takes them apart again from the seam outwards, last merge first.
    pub(super) fn joins(&self, mut left: u32, mut right: u32) -> bool {
        let halves = |id: u32| self.halves.get(id as usize).copied().unwrap_or((id, id));
        // Merges from this rank on come too late to matter.
        let mut limit = NONE;
        loop {
            let merged = self.merge(left, right);
            if merged != NONE && merged < limit {
                return false;
            }
            let (inner_left, inner_right) = (halves(left).1, halves(right).0);
            // Of the two, the one made last is taken apart, the right one if they are the same; a byte can't be.
            if left > right && inner_left != left || left <= right && inner_right == right {
                if inner_left == left {
                    return true;
                }
                limit = left;
                left = inner_left;
            } else {
                if inner_right == right {
                    return true;
                }
                limit = right + 1;
                right = inner_right;
            }
        }
    }

    /// The number of tokens.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The length of the longest token.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// The bytes of a token; none if there is no such token.
    #[inline]
    pub(super) fn token(&self, id: u32) -> &'static [u8] {
        let at = id as usize;
        match (self.starts.get(at), self.starts.get(at.wrapping_add(1))) {
            (Some(start), Some(end)) => self.bytes.get(*start as usize..*end as usize).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Returns whether the vocabulary holds this key of up to 7 bytes.
    #[inline(always)]
    pub(super) fn has_short(&self, key: u64) -> bool {
        let hash = short_hash(key);
        let seen = short_index(hash);
        self.short_seen[seen >> 6] >> (seen & 63) & 1 != 0 && self.short.keys[self.short.slot(key, hash, EMPTY)] == key
    }

    /// Returns whether the vocabulary holds this key of 8 to 15 bytes.
    #[inline(always)]
    pub(super) fn has_middle(&self, key: u128) -> bool {
        self.middle.keys[self.middle.slot(key, middle_hash(key), u128::MAX)] == key
    }

    /// The token of exactly the bytes from `start` to `end`.
    #[inline]
    pub(super) fn whole(&self, bytes: &[u8], start: usize, end: usize) -> Option<u32> {
        let length = end - start;
        let id = match length {
            0..8 => {
                let key = short_key(word(bytes, start), length);
                self.short.ids[self.short.slot(key, short_hash(key), EMPTY)]
            }
            8..16 => {
                let key = middle_key(double_word(bytes, start), length);
                self.middle.ids[self.middle.slot(key, middle_hash(key), u128::MAX)]
            }
            _ if length > self.longest => NONE,
            _ => {
                let piece = bytes.get(start..end)?;
                let key = xxh3_64(piece) >> 1;
                let id = self.long.ids[self.long.slot(key, key << 1, EMPTY)];
                if id != NONE && self.token(id) == piece { id } else { NONE }
            }
        };
        (id != NONE).then_some(id)
    }

    /// The token of a byte.
    #[inline(always)]
    pub(super) fn single(&self, byte: u8) -> u32 {
        self.singles[usize::from(byte)]
    }

    /// The token that two bytes become, or [`NONE`].
    #[inline(always)]
    pub(super) fn pair(&self, first: u8, second: u8) -> u32 {
        self.pairs[usize::from(first) << 8 | usize::from(second)]
    }

    /// The token of the character of these three bytes, or [`NONE`].
    #[inline(always)]
    pub(super) fn char(&self, first: u8, second: u8, third: u8) -> u32 {
        self.chars[code_point(first, second, third)]
    }

    /// The token that two tokens become, or [`NONE`].
    #[inline(always)]
    pub(super) fn merge(&self, left: u32, right: u32) -> u32 {
        let key = u64::from(left) << ID_BITS | u64::from(right);
        let hash = key.wrapping_mul(MIX);
        let seen = seen_index(hash);
        if self.merges_seen[seen >> 6] >> (seen & 63) & 1 == 0 {
            return NONE;
        }
        let mask = self.merges.len() - 1;
        let mut at = (hash >> self.merges_shift) as usize & mask;
        loop {
            let found = self.merges[at];
            if found >> ID_BITS == key {
                return (found & ((1 << ID_BITS) - 1)) as u32;
            }
            if found == EMPTY {
                return NONE;
            }
            at = (at + 1) & mask;
        }
    }
}

/// Bits of the filter of merges.
const SEEN: usize = 1 << 21;

#[inline(always)]
fn seen_index(hash: u64) -> usize {
    (hash >> (64 - SEEN.trailing_zeros())) as usize
}

/// Bits of the filter of short tokens.
const SHORT_SEEN: usize = 1 << 20;

/// The index of a short key's hash: other bits than those that the table begins with.
#[inline(always)]
fn short_index(hash: u64) -> usize {
    (hash >> 20) as usize & (SHORT_SEEN - 1)
}

/// Letters, digits, the space and the slash as numbers below 64.
const CODES: [u8; 256] = {
    let mut codes = [u8::MAX; 256];
    let all = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 /";
    let mut at = 0;
    while at < all.len() {
        codes[all[at] as usize] = at as u8;
        at += 1;
    }
    codes
};

#[inline(always)]
fn three_index(piece: [u8; 3]) -> Option<usize> {
    let [a, b, c] = piece.map(|byte| usize::from(CODES[usize::from(byte)]));
    ((a | b | c) < 64).then_some(a << 12 | b << 6 | c)
}

/// Bits of the filter of characters that stand together.
const TOGETHER: usize = 1 << 19;

#[inline(always)]
fn together_index(left: [u8; 3], right: [u8; 3]) -> usize {
    let number = |[a, b, c]: [u8; 3]| u64::from(a) << 16 | u64::from(b) << 8 | u64::from(c);
    let hash = (number(left) << 24 | number(right)).wrapping_mul(MIX);
    (hash >> (64 - TOGETHER.trailing_zeros())) as usize
}

#[inline(always)]
fn split_index(before: u8, first: u8, second: u8) -> usize {
    usize::from(before) << 10 | usize::from(first & 15) << 6 | usize::from(second & 63)
}

#[inline(always)]
fn code_point(first: u8, second: u8, third: u8) -> usize {
    usize::from(first & 15) << 12 | usize::from(second & 63) << 6 | usize::from(third & 63)
}
