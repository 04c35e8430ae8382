//! Exact counts: the same tokens as the reference implementation, for every text.
//!
//! A text is cut into pieces by the encoding's pattern; a piece that is a token counts one, any other is merged.
//! Counting has a way of its own that makes no tokens, and remembers what merging gave in a cache of fixed size.

use std::{cell::RefCell, sync::OnceLock};

use xxhash_rust::xxh3::xxh3_128;

use super::{
    class::{Classes, classes},
    merge::{self, MergeBuffers},
    scan::{self, Masks, WINDOW},
    split::{self, Pattern},
    vocabulary::{Vocabulary, double_word, middle_key, short_key},
    wide::{self, Task},
};

/// An encoding: how text becomes tokens.
#[derive(Debug)]
pub struct Encoding {
    name: &'static str,
    pattern: Pattern,
    vocabulary: Vocabulary,
    classes: &'static Classes,
}

/// `o200k_base`: GPT-4o and later, the o series. Made when first asked for.
pub fn o200k_base() -> &'static Encoding {
    static ENCODING: OnceLock<Encoding> = OnceLock::new();
    ENCODING.get_or_init(|| Encoding::new("o200k_base", Pattern::O200k, include_bytes!("data/o200k_base.bin")))
}

/// `cl100k_base`: GPT-4, GPT-3.5, embeddings. Made when first asked for.
pub fn cl100k_base() -> &'static Encoding {
    static ENCODING: OnceLock<Encoding> = OnceLock::new();
    ENCODING.get_or_init(|| Encoding::new("cl100k_base", Pattern::Cl100k, include_bytes!("data/cl100k_base.bin")))
}

/// A consumer of the pieces of a text, in order. `start` to `end` lies in `bytes` and is not empty.
trait PieceSink {
    fn piece(&mut self, bytes: &[u8], start: usize, end: usize);

    /// The pieces that end at the bits of `cuts`, counted from `at` where the first one starts.
    #[inline(always)]
    fn pieces(&mut self, bytes: &[u8], at: usize, mut cuts: u64) {
        let mut start = at;
        while cuts != 0 {
            let end = at + cuts.trailing_zeros() as usize;
            cuts &= cuts - 1;
            self.piece(bytes, start, end);
            start = end;
        }
    }
}

impl Encoding {
    fn new(name: &'static str, pattern: Pattern, packed: &'static [u8]) -> Self {
        Self { name, pattern, vocabulary: Vocabulary::new(packed), classes: classes() }
    }

    /// The name, as in `o200k_base`.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The number of tokens in the vocabulary, without special ones.
    pub fn vocabulary_len(&self) -> usize {
        self.vocabulary.len()
    }

    #[cfg(test)]
    pub(super) fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Counts the tokens of a text. Text that looks like a special token is plain text.
    pub fn count(&self, text: &str) -> usize {
        thread_local! {
            // A cache changes how fast an answer comes, never the answer.
            static CACHE: RefCell<[Option<Box<CountCache>>; 2]> = const { RefCell::new([None, None]) };
        }
        CACHE.with(|room| match room.try_borrow_mut() {
            Ok(mut rooms) => {
                let [cl100k, o200k] = &mut *rooms;
                let room = if self.pattern == Pattern::O200k { o200k } else { cl100k };
                self.count_in(room.get_or_insert_default(), text)
            }
            Err(_) => self.count_in(&mut CountCache::default(), text),
        })
    }

    fn count_in(&self, room: &mut CountCache, text: &str) -> usize {
        let mut counting = Counter { vocabulary: &self.vocabulary, room, count: 0 };
        self.pieces(text, &mut counting);
        counting.count
    }

    /// Encodes a text. Text that looks like a special token is plain text.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let ids = Vec::with_capacity(text.len() / 4 + 1);
        let mut encoding = Encoder { vocabulary: &self.vocabulary, bench: MergeBuffers::default(), ids };
        self.pieces(text, &mut encoding);
        encoding.ids
    }

    /// The bytes of the tokens, one after another; `None` if one of the numbers is no token.
    pub fn decode(&self, ids: &[u32]) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        for id in ids {
            let token = self.vocabulary.token(*id);
            if token.is_empty() {
                return None;
            }
            bytes.extend_from_slice(token);
        }
        Some(bytes)
    }

    #[inline]
    fn pieces(&self, text: &str, sink: &mut impl PieceSink) {
        wide::run(Cutter { encoding: self, bytes: text.as_bytes(), sink });
    }

    #[inline(always)]
    fn pieces_of(
        &self,
        pattern: Pattern,
        bytes: &[u8],
        sink: &mut impl PieceSink,
        masks: impl Fn(&[u8; WINDOW]) -> Masks,
    ) {
        let mut at = 0;
        while let Some(window) = bytes.get(at..).and_then(<[u8]>::first_chunk::<WINDOW>) {
            let (cuts, plain) = scan::cuts(pattern, window, masks(window));
            if cuts == 0 {
                // Past the end of what is plain, or one piece if it is long.
                let to = if plain == WINDOW { at } else { at + plain };
                while at <= to && at < bytes.len() {
                    let end = split::piece(pattern, self.classes, bytes, at);
                    sink.piece(bytes, at, end);
                    at = end;
                }
                continue;
            }
            sink.pieces(bytes, at, cuts);
            at += 63 - cuts.leading_zeros() as usize;
        }
        // The end is a window of which the rest is anything: a cut that is sure there is sure before nothing, too.
        if let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= 8) {
            let mut padded = [0xff; REACH];
            padded.iter_mut().zip(rest).for_each(|(to, byte)| *to = *byte);
            let window = padded.first_chunk::<WINDOW>().unwrap_or(&[0xff; WINDOW]);
            let (cuts, _) = scan::cuts(pattern, window, masks(window));
            if cuts != 0 {
                sink.pieces(&padded, 0, cuts);
                at += 63 - cuts.leading_zeros() as usize;
            }
        }
        while at < bytes.len() {
            let end = split::piece(pattern, self.classes, bytes, at);
            sink.piece(bytes, at, end);
            at = end;
        }
    }
}

struct Cutter<'a, P> {
    encoding: &'a Encoding,
    bytes: &'a [u8],
    sink: &'a mut P,
}

impl<P: PieceSink> Task for Cutter<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, masks: impl Fn(&[u8; WINDOW]) -> Masks + Copy) {
        // The pattern as a constant, so that there are two loops and none asks which.
        match self.encoding.pattern {
            Pattern::Cl100k => self.encoding.pieces_of(Pattern::Cl100k, self.bytes, self.sink, masks),
            Pattern::O200k => self.encoding.pieces_of(Pattern::O200k, self.bytes, self.sink, masks),
        }
    }
}

struct Encoder<'a> {
    vocabulary: &'a Vocabulary,
    bench: MergeBuffers,
    ids: Vec<u32>,
}

impl PieceSink for Encoder<'_> {
    #[inline]
    fn piece(&mut self, bytes: &[u8], start: usize, end: usize) {
        match self.vocabulary.whole(bytes, start, end) {
            Some(id) => self.ids.push(id),
            None => self.ids.extend_from_slice(self.bench.merge(self.vocabulary, &bytes[start..end])),
        }
    }
}

/// Sets of two cached pieces of up to 15 bytes.
const SETS: usize = 1 << 14;
/// Cached pieces of up to [`LONG_CACHED`] bytes, by a hash of 128 bits.
const LONG_CACHE: usize = 1 << 11;
const LONG_CACHED: usize = 256;
/// The distance past a window that the words of its pieces reach.
const REACH: usize = WINDOW + 16;

/// The cache of counting between texts: some 1.1 MB at most, whatever comes.
#[derive(Debug)]
struct CountCache {
    bench: MergeBuffers,
    short: Box<[CacheSet]>,
    long: Box<[(u128, u32)]>,
}

impl Default for CountCache {
    fn default() -> Self {
        Self {
            bench: MergeBuffers::default(),
            short: vec![CacheSet::default(); SETS].into_boxed_slice(),
            long: vec![(0, 0); LONG_CACHE].into_boxed_slice(),
        }
    }
}

/// Two cached pieces in one place, the newer one first.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct CacheSet([Key; 2]);

/// Up to 15 bytes; the length in the low half of the highest byte. The high half is the count where it is remembered,
/// and 0 where it is looked for.
#[derive(Clone, Copy, Debug, Default)]
struct Key {
    low: u64,
    high: u64,
}

/// The mask of a piece for each length of sixteen bytes, and its length. A piece that is too long has no mask, and is
/// like nothing that is ever cached.
const SHAPES: [(Key, Key); 64] = {
    let mut shapes = [(Key { low: 0, high: 0 }, Key { low: 1, high: 0 }); 64];
    let mut length = 0;
    while length < 16 {
        let mask = (1_u128 << (8 * length)) - 1;
        shapes[length] =
            (Key { low: mask as u64, high: (mask >> 64) as u64 }, Key { low: 0, high: (length as u64) << 56 });
        length += 1;
    }
    shapes
};

impl Key {
    #[inline(always)]
    fn new(sixteen: &[u8; 16], length: usize) -> Self {
        let word = u128::from_le_bytes(*sixteen);
        let (mask, length) = SHAPES[length & 63];
        Self { low: word as u64 & mask.low | length.low, high: (word >> 64) as u64 & mask.high | length.high }
    }

    /// The number of the piece's set.
    #[inline(always)]
    fn set(self) -> usize {
        let hash = self.low.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.high.wrapping_mul(0xd6e8_feb8_6659_fd93);
        (hash >> (64 - SETS.trailing_zeros())) as usize & (SETS - 1)
    }

    #[inline(always)]
    fn is(self, kept: Self) -> bool {
        (self.low ^ kept.low) | (self.high ^ kept.high) << 4 == 0
    }
}

impl CacheSet {
    /// The count of a piece; 0 if it is not cached.
    #[inline(always)]
    fn count(&self, key: Key) -> u64 {
        let [first, second] = self.0;
        let of = |kept: Key| if key.is(kept) { kept.high >> 60 } else { 0 };
        of(first) | of(second)
    }
}

struct Counter<'a> {
    vocabulary: &'a Vocabulary,
    room: &'a mut CountCache,
    count: usize,
}

impl PieceSink for Counter<'_> {
    /// Looks pieces up in the cache first, without a branch that depends on the text, so that the processor waits for
    /// many places at a time; then counts the rest.
    #[inline(always)]
    fn pieces(&mut self, bytes: &[u8], at: usize, cuts: u64) {
        let (mut left, mut unseen) = (cuts, cuts);
        if let Some(window) = bytes.get(at..).and_then(<[u8]>::first_chunk::<REACH>) {
            let mut start = 0;
            let mut count = 0;
            unseen = 0;
            while left != 0 {
                let end = left.trailing_zeros() as usize;
                let sixteen = window[start & 63..].first_chunk::<16>().unwrap_or(&[0; 16]);
                let key = Key::new(sixteen, end.wrapping_sub(start));
                let kept = self.room.short[key.set()].count(key);
                count += kept;
                unseen |= if kept == 0 { left & left.wrapping_neg() } else { 0 };
                left &= left - 1;
                start = end;
            }
            self.count += count as usize;
        }
        while unseen != 0 {
            let end = unseen.trailing_zeros();
            let before = cuts & ((1 << end) - 1);
            let start = if before == 0 { 0 } else { before.ilog2() };
            unseen &= unseen - 1;
            self.piece(bytes, at + start as usize, at + end as usize);
        }
    }

    #[inline(always)]
    fn piece(&mut self, bytes: &[u8], start: usize, end: usize) {
        if end - start < 16 {
            self.count += self.short(bytes, start, end - start);
        } else {
            self.count += self.long(bytes, start, end);
        }
    }
}

impl Counter<'_> {
    #[inline(never)]
    fn short(&mut self, bytes: &[u8], start: usize, length: usize) -> usize {
        let mut known = false;
        if length == 3
            && let Some(three) = bytes.get(start..).and_then(<[u8]>::first_chunk::<3>)
            && let Some(count) = self.vocabulary.three(*three)
        {
            // Those that are tokens come again, and are remembered; of the others there are too many.
            if count > 1 {
                return count;
            }
            known = true;
        }
        let double = double_word(bytes, start);
        let key = Key::new(&double.to_le_bytes(), length);
        let set = key.set();
        let kept = self.room.short[set].count(key);
        if kept != 0 {
            return kept as usize;
        }
        known = known
            || if length < 8 {
                self.vocabulary.has_short(short_key(double as u64, length))
            } else {
                self.vocabulary.has_middle(middle_key(double, length))
            };
        let count = if known { 1 } else { self.merged(&bytes[start..start + length]) };
        let kept = &mut self.room.short[set].0;
        *kept = [Key { low: key.low, high: key.high | (count as u64) << 60 }, kept[0]];
        count
    }

    /// Takes a piece that begins with characters of three bytes apart where no token reaches across; what lies
    /// between two such places is short and comes again.
    #[inline(never)]
    fn characters(&mut self, bytes: &[u8], start: usize, end: usize) -> usize {
        let three = |at: usize| bytes[at..end].first_chunk::<3>().copied().filter(|three| three[0] & 0xf0 == 0xe0);
        let (mut from, mut at, mut count) = (start, start, 0);
        let mut before = three(at);
        while let Some(left) = before {
            at += 3;
            before = three(at);
            if before.is_some_and(|right| self.vocabulary.separate(left, right)) {
                count += self.part(bytes, from, at);
                from = at;
            }
        }
        count + self.part(bytes, from, end)
    }

    /// The count of a part of a piece, as if it were a piece, since merging makes every token.
    fn part(&mut self, bytes: &[u8], start: usize, end: usize) -> usize {
        match end - start {
            0..16 => self.short(bytes, start, end - start),
            _ => self.cached_count(&bytes[start..end]),
        }
    }

    #[inline(never)]
    fn merged(&mut self, piece: &[u8]) -> usize {
        merge::count_short(self.vocabulary, piece).unwrap_or_else(|| self.room.bench.count(self.vocabulary, piece))
    }

    #[inline(never)]
    fn long(&mut self, bytes: &[u8], start: usize, end: usize) -> usize {
        if self.vocabulary.whole(bytes, start, end).is_some() {
            return 1;
        }
        let piece = &bytes[start..end];
        if piece.first().is_some_and(|byte| byte & 0xf0 == 0xe0) {
            return self.characters(bytes, start, end);
        }
        self.cached_count(piece)
    }

    fn cached_count(&mut self, piece: &[u8]) -> usize {
        if piece.len() > LONG_CACHED {
            return self.room.bench.count(self.vocabulary, piece);
        }
        let hash = xxh3_128(piece) | 1;
        let slot = (hash >> 64) as usize & (LONG_CACHE - 1);
        if self.room.long[slot].0 == hash {
            return self.room.long[slot].1 as usize;
        }
        let count = self.room.bench.count(self.vocabulary, piece);
        self.room.long[slot] = (hash, count as u32);
        count
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The pattern one piece at a time, and merging with nothing but the ranks of bytes: slow and plain.
    fn plainly(encoding: &Encoding, text: &str) -> Vec<u32> {
        let bytes = text.as_bytes();
        let (mut at, mut ids) = (0, Vec::new());
        while at < bytes.len() {
            let end = split::piece(encoding.pattern, encoding.classes, bytes, at);
            let mut parts: Vec<&[u8]> = bytes[at..end].chunks(1).collect();
            loop {
                let rank = |pair: &[&[u8]]| {
                    let both = pair.concat();
                    encoding.vocabulary.whole(&both, 0, both.len())
                };
                let ranks: Vec<u32> = parts.windows(2).map(|pair| rank(pair).unwrap_or(u32::MAX)).collect();
                let Some(lowest) = ranks.iter().copied().min().filter(|rank| *rank != u32::MAX) else { break };
                let place = ranks.iter().position(|rank| *rank == lowest).unwrap();
                parts[place] = encoding.vocabulary.token(lowest);
                parts.remove(place + 1);
            }
            ids.extend(parts.iter().map(|part| encoding.vocabulary.whole(part, 0, part.len()).unwrap()));
            at = end;
        }
        ids
    }

    fn check(text: &str) {
        for encoding in [o200k_base(), cl100k_base()] {
            let ids = encoding.encode(text);
            assert_eq!(ids, plainly(encoding, text), "{} {text:?}", encoding.name());
            assert_eq!(encoding.decode(&ids).unwrap(), text.as_bytes());
            assert_eq!(encoding.count(text), ids.len(), "{} {text:?}", encoding.name());
        }
    }

    #[test]
    fn every_token_is_found_and_made() {
        for encoding in [o200k_base(), cl100k_base()] {
            let mut bench = MergeBuffers::default();
            for id in 0..encoding.vocabulary_len() as u32 {
                let token = encoding.vocabulary.token(id);
                assert_eq!(encoding.vocabulary.whole(token, 0, token.len()), Some(id));
                assert_eq!(bench.merge(&encoding.vocabulary, token), [id], "{token:?}");
            }
        }
    }

    #[test]
    fn known_texts() {
        assert_eq!(o200k_base().encode("Hello, world!"), [13225, 11, 2375, 0]);
        assert_eq!(cl100k_base().encode("Hello, world!"), [9906, 11, 1917, 0]);
        assert_eq!(o200k_base().count(""), 0);
        check("don't I'd've WE'LL it's 's ''s x'sé a'ſb");
        check("<|endoftext|> is text");
        check(&"foo bar(baz);\n  /x\n\n\t  if (a == \"b\") { return 12345678; } // ok\r\n".repeat(9));
        check("微信北京赛车彩神争霸、我们今天去了北京大学。ーンボ 데이터 안녕하세요 你好API中Ab");
    }

    /// Text in which everything that the patterns speak of meets everything else.
    fn any_text() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            8 => prop::sample::select(vec![
                " ", "  ", "\n", "\r\n", "\t", "/", "//", "'", "'s", "'S", "'ll", "'RE", "'ve", "ſ", "a", "b", "Z", "The", "the", "HTTP",
                "word", "camelCase", "1", "12", "12345", "(", ")", "\"", ".", ",", "...", "==", "{", "}", "_", "-", "\0", "\u{b}", "\u{7f}",
                "中", "北京", "、", "。", "ー", "안녕", "д", "Да", "é", "É", "\u{301}", "\u{fe0f}", "❤", "🦀", "👩‍👩‍👧", "ʰ", "ǅ", "٣", "²", "½",
                "\u{a0}", "\u{3000}", "\u{2028}", "\u{85}", "ा", "क", "ไทย", "<|endoftext|>", "        ",
            ]).prop_map(str::to_owned),
            2 => any::<char>().prop_map(String::from),
            1 => "[a-zA-Z0-9+/]{1,90}",
            1 => "[ -~]{1,40}",
            1 => "\\PC{1,20}",
            1 => (prop::sample::select(vec!['a', ' ', '=', '\n', '0', '中', 'A', '\'']), 1..400_usize)
                .prop_map(|(char, count)| std::iter::repeat_n(char, count).collect()),
        ];
        prop::collection::vec(part, 0..60).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

        #[test]
        fn the_same_as_the_plain_way(text in any_text()) {
            check(&text);
        }
    }

    #[test]
    fn pieces_without_a_cut_are_the_same_in_stretches() {
        // Longer than a stretch, in alphabets where merges reach far.
        let mut seed = 1_u64;
        for alphabet in [
            "a",
            "ab",
            "aA",
            " ",
            "=-",
            "abcdefghijklmnopqrstuvwxyz",
            "中文北京我们的一是",
            "あいうえおー",
            "가나다라",
            "กขคงा",
        ] {
            let chars: Vec<char> = alphabet.chars().collect();
            for length in [129, 300, 700] {
                let text: String = (0..length)
                    .map(|_| {
                        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        chars[(seed >> 33) as usize % chars.len()]
                    })
                    .collect();
                check(&text);
            }
        }
    }

    #[test]
    fn what_repeats_is_the_same_taken_many_at_a_time() {
        for period in [" ", "=", "ab", "x", "xy ", "-=", "中", "哈哈", "the", "QUJD", "________", "\t ", "\n"] {
            for (bytes, end) in [(460, ""), (520, period), (491, "z"), (470, "中"), (503, "    ")] {
                let mut text = period.repeat(bytes / period.len());
                text.push_str(end);
                check(&text);
            }
            check(&format!("a{}", period.repeat(430 / period.len())));
        }
    }
}
