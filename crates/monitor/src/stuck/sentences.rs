//! Lines and sentences of one reply that come back among others.
//!
//! A line counts to the letter. A sentence counts by its words alone: punctuation, case and numbers say nothing, so
//! that a moving counter hides no repetition; where numbers differ, many more are needed, since reports of batch work
//! have sentences that are alike. Rows of tables, drawings and code are alike by their nature: their shape tells them.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Lines and sentences that are remembered, each.
const KNOWN: usize = 128;
/// What is kept of a line or sentence, in bytes; longer ones are not compared.
const LONGEST: usize = 256;
/// Shorter lines say nothing when they come back.
const SHORTEST_LINE: usize = 20;
/// Sentences of fewer bytes of letters say nothing.
const SHORTEST_SENTENCE: usize = 24;
/// So many times more are needed of what repeats by its nature: drawings, and sentences with numbers of their own.
pub(super) const BY_NATURE: u64 = 8;

/// A line or sentence that came, and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Counted {
    hash: u64,
    count: u64,
    first: u64,
    /// Its numbers.
    numbers: Numbers,
    /// Whether they were the same each time.
    same: bool,
    /// Whether one of them moved on by one each time, and the others stayed.
    counts: bool,
}

impl Counted {
    /// Takes it once more, at the byte `at`; what stood in its place is forgotten if it was another.
    fn take(&mut self, hash: u64, numbers: Numbers, at: u64) {
        if self.hash == hash && self.count > 0 {
            self.count += 1;
            self.same &= self.numbers == numbers;
            self.counts &= self.numbers.count_on(&numbers);
        } else {
            *self = Self { hash, count: 1, first: at, numbers, same: true, counts: true };
        }
        self.numbers = numbers;
    }

    /// Whether it makes up a fifth of all that was said since it came first.
    const fn is_dense(&self, at: u64, length: usize) -> bool {
        let between = if self.count > 2 { self.count - 1 } else { 1 };
        (at - self.first) / between <= 5 * length as u64
    }
}

/// The numbers of a sentence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Numbers {
    first: [u64; 4],
    /// The hash of all.
    all: u64,
    count: usize,
}

impl Numbers {
    fn push(&mut self, number: u64) {
        if let Some(place) = self.first.get_mut(self.count) {
            *place = number;
        }
        self.all = xxh3_64(&[self.all.to_le_bytes(), number.to_le_bytes()].concat());
        self.count += 1;
    }

    /// Whether one number of the next is one more, and the others are the same.
    fn count_on(&self, next: &Self) -> bool {
        let mut moved = self.first.iter().zip(&next.first).filter(|(then, now)| then != now);
        let by_one = moved.next().is_some_and(|(then, now)| then.checked_add(1) == Some(*now));
        by_one && moved.next().is_none() && self.count == next.count && self.count <= self.first.len()
    }
}

/// What has come back of a reply so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sentences {
    lines: Vec<Counted>,
    known: Vec<Counted>,
    /// The line so far, and its whole length.
    line: Vec<u8>,
    length: u64,
    /// The sentence so far.
    sentence: Vec<u8>,
}

impl Sentences {
    /// Makes the tables.
    pub(super) fn prepare(&mut self) {
        self.lines = vec![Counted::default(); KNOWN];
        self.known = vec![Counted::default(); KNOWN];
    }

    /// Whether there are tables.
    pub(super) const fn is_prepared(&self) -> bool {
        self.lines.len() == KNOWN && self.known.len() == KNOWN
    }

    /// The reply has ended.
    pub(super) fn end(&mut self) {
        self.lines.fill(Counted::default());
        self.known.fill(Counted::default());
        self.next_line();
    }

    fn next_line(&mut self) {
        self.line.clear();
        self.sentence.clear();
        self.length = 0;
    }

    /// The fewest bytes in which anything is found at this threshold.
    pub(super) const fn shortest(rounds: u64) -> u64 {
        rounds.saturating_add(2).saturating_mul(SHORTEST_LINE as u64 + 1)
    }

    /// Takes the byte that ends at `at`; gives what came back too often, and how often. `fenced` is whether code or
    /// data stands here; a line may begin or end that.
    pub(super) fn take(&mut self, b: u8, at: u64, rounds: u64, fenced: &mut bool) -> Option<(Vec<u8>, u64)> {
        if b != b'\n' {
            let ended = self.sentence.last().is_some_and(|b| matches!(b, b'.' | b'!' | b'?')) && b == b' ';
            let found = if ended { self.sentence(at, rounds, *fenced) } else { None };
            self.length += 1;
            if self.line.len() < LONGEST {
                self.line.push(b);
            }
            // One byte more than is compared says that the sentence is longer.
            if self.sentence.len() <= LONGEST {
                self.sentence.push(b);
            }
            if b >= 0x80
                && ["\u{3002}", "\u{ff01}", "\u{ff1f}"].iter().any(|end| self.sentence.ends_with(end.as_bytes()))
            {
                return found.or_else(|| self.sentence(at, rounds, *fenced));
            }
            return found;
        }
        let found = self.sentence(at, rounds, *fenced);
        let line = self.line.trim_ascii();
        let found = if line.starts_with(b"```") || line.starts_with(b"~~~") {
            *fenced = !*fenced;
            None
        } else {
            found.or_else(|| self.whole_line(at, rounds, *fenced))
        };
        self.next_line();
        found
    }

    /// The line has ended.
    fn whole_line(&mut self, at: u64, rounds: u64, fenced: bool) -> Option<(Vec<u8>, u64)> {
        let line = self.line.trim_ascii();
        let compared = line.len() >= SHORTEST_LINE
            && self.length <= LONGEST as u64
            && !fenced
            && line.iter().any(u8::is_ascii_alphabetic);
        if !compared {
            return None;
        }
        let hash = xxh3_64(line);
        let known = self.lines.get_mut(hash as usize % KNOWN)?;
        known.take(hash, Numbers::default(), at);
        let needed = if is_drawn(&self.line) { BY_NATURE * (rounds + 2) } else { rounds + 2 };
        (known.count >= needed && known.is_dense(at, line.len())).then(|| (line.to_vec(), known.count))
    }

    /// A sentence has ended.
    fn sentence(&mut self, at: u64, rounds: u64, fenced: bool) -> Option<(Vec<u8>, u64)> {
        let sentence = std::mem::take(&mut self.sentence);
        let found = self.counted(&sentence, at, rounds, fenced);
        self.sentence = sentence;
        self.sentence.clear();
        found
    }

    fn counted(&mut self, sentence: &[u8], at: u64, rounds: u64, fenced: bool) -> Option<(Vec<u8>, u64)> {
        let compared = (SHORTEST_SENTENCE..=LONGEST).contains(&sentence.len()) && !fenced && !is_drawn(&self.line);
        let (words, numbers) = if compared { words_of(&String::from_utf8_lossy(sentence)) } else { Default::default() };
        if words.len() < SHORTEST_SENTENCE {
            return None;
        }
        let hash = xxh3_64(words.as_bytes());
        let known = self.known.get_mut(hash as usize % KNOWN)?;
        known.take(hash, numbers, at);
        let times = match known {
            Counted { same: true, .. } => 2,
            Counted { counts: true, .. } => 3,
            _ => BY_NATURE,
        };
        let found = known.count >= (times * rounds).max(rounds + 2) && known.is_dense(at, sentence.len());
        found.then(|| (sentence.trim_ascii().to_vec(), known.count))
    }
}

/// The letters of a sentence in lower case, and its numbers.
fn words_of(sentence: &str) -> (String, Numbers) {
    let (mut words, mut numbers) = (String::with_capacity(sentence.len()), Numbers::default());
    let mut number = None;
    for c in sentence.chars().chain([' ']) {
        if let Some(digit) = c.to_digit(10) {
            let so_far: u64 = number.unwrap_or(0);
            number = Some(so_far.saturating_mul(10).saturating_add(u64::from(digit)));
            continue;
        }
        if let Some(number) = number.take() {
            numbers.push(number);
        }
        if c.is_alphabetic() {
            words.extend(c.to_lowercase());
        }
    }
    (words, numbers)
}

/// Whether a line is a row of a table, a part of a drawing, data or code: by its shape, not by its fence.
pub(super) fn is_drawn(line: &[u8]) -> bool {
    if line.starts_with(b"    ") || line.starts_with(b"\t") {
        return true;
    }
    let text = line.trim_ascii();
    let (Some(first), Some(last)) = (text.first(), text.last()) else { return false };
    if matches!(first, b'|' | b'{' | b'[' | b'<' | b'"') || matches!(last, b'|' | b'{' | b'}' | b';') {
        return true;
    }
    let text = String::from_utf8_lossy(text);
    let (mut letters, mut signs, mut bars, mut spaces, mut commas) = (0_usize, 0_usize, 0, 0_usize, 0_usize);
    for c in text.chars() {
        match c {
            '\u{2500}'..='\u{259f}' => return true,
            '|' | '\t' => bars += 1,
            ' ' => spaces += 1,
            ',' | ';' => commas += 1,
            c if c.is_alphabetic() => letters += 1,
            _ => signs += 1,
        }
    }
    bars >= 2 || (commas >= 3 && commas > spaces) || letters < signs + commas
}

/// Whether what repeats is such rows, wherever in one of them it begins.
pub(super) fn is_drawing(period: &[u8]) -> bool {
    let twice = period.repeat(2);
    let mut lines = twice.split(|b| *b == b'\n');
    let (begin, end) = (lines.next(), lines.next_back());
    let mut whole = lines.filter(|line| !line.trim_ascii().is_empty()).peekable();
    if whole.peek().is_some() {
        return whole.all(is_drawn);
    }
    begin.into_iter().chain(end).all(|part| part.trim_ascii().is_empty() || is_drawn(part))
}
