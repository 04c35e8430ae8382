//! What a text is about, by its words alone, and how near two texts are.
//!
//! Words are stemmed and weighed by how rare they are in general English; a built-in table gives some eight thousand
//! of them 64 small numbers each, so that "invoice" is nearer to "payment" than to "weather". Pieces of four characters
//! catch names, typing errors and other languages. A text costs microseconds, and no more than [`LONGEST`] bytes of it
//! are read.

use std::sync::LazyLock;

use loopwright_base::text::head;
use loopwright_lexicon::words;

/// Bytes of a text that are read.
pub(super) const LONGEST: usize = 4096;
/// Terms of a text that count.
const MOST_TERMS: usize = 48;
const NUMBERS: usize = 64;
/// A word of this rarity (in bits) weighs one half: rarer ones more, commoner ones less.
const HALF: f32 = 11.0;
/// A word that the table does not know is as rare as this.
const RARE: f32 = 19.0;

static DATA: &[u8] = include_bytes!("data/words.bin");

/// Where each word of the table begins.
static PLACES: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let count = DATA.get(8..10).map_or(0, |two| usize::from(u16::from_le_bytes([two[0], two[1]])));
    let mut places = Vec::with_capacity(count);
    let mut at = 10;
    for _ in 0..count {
        places.push(at as u32);
        at += 2 + NUMBERS / 2 + usize::from(DATA.get(at).copied().unwrap_or_default());
    }
    places
});

struct Entry {
    rarity: f32,
    numbers: &'static [u8],
}

fn entry(term: &str) -> Option<Entry> {
    let word_at = |place: u32| {
        let at = place as usize;
        let length = usize::from(*DATA.get(at)?);
        let word = DATA.get(at + 1..at + 1 + length)?;
        Some((word, at + 1 + length))
    };
    let found = PLACES.binary_search_by(|place| {
        word_at(*place).map_or(std::cmp::Ordering::Less, |(word, _)| word.cmp(term.as_bytes()))
    });
    let (_, rest) = word_at(*PLACES.get(found.ok()?)?)?;
    let rarity = f32::from(*DATA.get(rest)?) / 4.0;
    Some(Entry { rarity, numbers: DATA.get(rest + 1..rest + 1 + NUMBERS / 2)? })
}

/// Words of work itself: they stand in every task, whatever it is about.
const OF_WORK: &str = "abort add again apply approv ask attempt bug call chang check clean code commit complet continu correct \
    creat delet do done edit error fail file finish first fix follow go good great hello help hi implement improv issu job last \
    line look make merg more move need new next now ok okai old open part plan pleas problem proceed push put read refactor remov \
    renam rerun result retri revert review run save script second see set show step still stop test thank thing todo tool tri \
    undo updat us use verifi wai want work write yeah ye";

fn is_of_work(term: &str) -> bool {
    static WORDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        let mut all: Vec<&'static str> = OF_WORK.split_whitespace().collect();
        all.sort_unstable();
        all
    });
    WORDS.binary_search(&term).is_ok()
}

struct Term {
    text: String,
    weight: f32,
    /// Of length 1, or nothing for a word that the table does not know.
    vector: Option<Box<[f32; NUMBERS]>>,
}

/// A text as it is compared.
pub(super) struct Sketch {
    terms: Vec<Term>,
    /// Of length 1, or 0.
    vector: [f32; NUMBERS],
    /// The share of weight that has numbers.
    known: f32,
    pieces: Vec<u64>,
    weight: f32,
    /// How much the text says of a subject: about the number of its telling words, those of work itself left out.
    pub telling: f32,
}

impl Sketch {
    pub(super) fn of(text: &str) -> Self {
        let text = head(text, LONGEST);
        let mut terms: Vec<Term> = Vec::new();
        let mut vector = [0.0_f32; NUMBERS];
        let (mut weight, mut known, mut telling) = (0.0_f32, 0.0_f32, 0.0_f32);
        words::each_term(text, |word| {
            if terms.len() >= MOST_TERMS || terms.iter().any(|term| term.text == word) {
                return;
            }
            let entry = entry(word);
            let rarity = entry.as_ref().map_or(RARE, |entry| entry.rarity);
            let mut own = 1.0 / (1.0 + (HALF - rarity).exp2());
            if word.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
                own *= 0.3;
            } else if is_of_work(word) {
                own *= 0.4;
                telling -= 0.8 * own;
            }
            weight += own;
            telling += own;
            let numbers = entry.map(|entry| {
                let mut numbers = Box::new([0.0_f32; NUMBERS]);
                for (pair, byte) in numbers.chunks_exact_mut(2).zip(entry.numbers) {
                    if let [low, high] = pair {
                        *low = f32::from(byte & 15) - 8.0;
                        *high = f32::from(byte >> 4) - 8.0;
                    }
                }
                unit(&mut numbers);
                known += own;
                for (sum, number) in vector.iter_mut().zip(numbers.iter()) {
                    *sum += own * number;
                }
                numbers
            });
            terms.push(Term { text: word.to_owned(), weight: own, vector: numbers });
        });
        unit(&mut vector);
        let known = if weight > 0.0 { known / weight } else { 0.0 };
        Self { terms, vector, known, pieces: pieces(text), weight, telling }
    }

    /// From 0, nothing in common, to 1, the same.
    pub(super) fn nearness(&self, other: &Self) -> f32 {
        let terms = self.best_matches(other).midpoint(other.best_matches(self));
        let known = self.known.min(other.known);
        let about = known * dot(&self.vector, &other.vector).max(0.0) + (1.0 - known) * terms;
        (about + terms + shared(&self.pieces, &other.pieces)) / 3.0
    }

    /// How well the words of this text are met by those of `other`.
    fn best_matches(&self, other: &Self) -> f32 {
        let mut met = 0.0;
        for term in &self.terms {
            let best = other.terms.iter().map(|one| {
                if one.text == term.text {
                    return 1.0;
                }
                match (&one.vector, &term.vector) {
                    (Some(a), Some(b)) => dot(a, b).clamp(0.0, 0.95),
                    _ => 0.0,
                }
            });
            met += term.weight * best.fold(0.0_f32, f32::max);
        }
        if self.weight > 0.0 { met / self.weight } else { 0.0 }
    }

    /// The words that both texts hold, as stems, the most telling first.
    pub(super) fn common(&self, other: &Self) -> Vec<String> {
        let mut both: Vec<&Term> =
            self.terms.iter().filter(|term| other.terms.iter().any(|one| one.text == term.text)).collect();
        both.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        both.into_iter().map(|term| term.text.clone()).collect()
    }
}

fn dot(a: &[f32; NUMBERS], b: &[f32; NUMBERS]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn unit(vector: &mut [f32; NUMBERS]) {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        for x in vector {
            *x /= length;
        }
    }
}

/// All runs of four characters, words set off by one blank, as sorted numbers.
fn pieces(text: &str) -> Vec<u64> {
    let mut all = Vec::new();
    let (mut last, mut held, mut blank) = (0_u64, 1, true);
    let mut take = |c: char| {
        // Four characters of 21 bits would need 84: folded to 16 each.
        last = last << 16 | u64::from((c as u32 ^ (c as u32 >> 5 & !0xFFFF) >> 11) & 0xFFFF);
        held += 1;
        if held >= 4 {
            all.push(last);
        }
    };
    take(' ');
    for c in text.chars() {
        if c.is_alphanumeric() {
            c.to_lowercase().for_each(&mut take);
            blank = false;
        } else if !blank {
            take(' ');
            blank = true;
        }
    }
    if !blank {
        take(' ');
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Twice what both hold over what each holds.
fn shared(a: &[u64], b: &[u64]) -> f32 {
    let (mut i, mut j, mut both) = (0, 0, 0_u32);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        match x.cmp(y) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                both += 1;
                i += 1;
                j += 1;
            }
        }
    }
    let all = a.len() + b.len();
    if all == 0 { 0.0 } else { 2.0 * both as f32 / all as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole_and_sorted() {
        let words: Vec<&[u8]> = PLACES
            .iter()
            .map(|place| {
                let at = *place as usize;
                &DATA[at + 1..at + 1 + usize::from(DATA[at])]
            })
            .collect();
        assert!(words.len() > 5_000);
        assert!(words.windows(2).all(|pair| pair[0] < pair[1]));
        let last = *PLACES.last().unwrap() as usize;
        assert_eq!(last + 2 + NUMBERS / 2 + usize::from(DATA[last]), DATA.len());
        assert!(DATA.len() < 400_000);
    }

    #[test]
    fn near_words_are_near() {
        let near = |a: &str, b: &str| Sketch::of(a).nearness(&Sketch::of(b));
        assert!(near("pay the invoice", "send the payment") > near("pay the invoice", "tomorrow's weather"));
        assert!(near("fix the login bug", "users cannot sign in") > near("fix the login bug", "bake a cake"));
        assert!(near("same words here", "same words here") > 0.95);
        assert!(near("", "x") < 0.01 && near("", "").is_finite());
        assert!(near("東京の天気を教えて", "明日の東京の天気") > near("東京の天気を教えて", "猫が好きです"));
    }
}
