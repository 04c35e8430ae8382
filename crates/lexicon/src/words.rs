//! Text to the terms that retrieval compares.
//!
//! Words are lowercased, folded (`é` is `e`) and stemmed; an identifier gives its whole and its parts, so that
//! `max_retries`, `maxRetries` and "max retries" meet. Scripts written without spaces give pairs of characters.
//! The same text always gives the same terms, and no term is longer than [`MAX_TERM`] bytes.

use std::sync::LazyLock;

use super::stem::{changes_letter, stem};

/// Terms longer than this many bytes are noise (encoded data, minified code) and are left out.
pub const MAX_TERM: usize = 64;

/// The length of the shortest term that may be misspelt.
const SHORTEST_MISSPELT: usize = 5;

/// Letters before the digits that end a word, at least, for these to be a part of it.
const LETTERS: usize = 3;

/// A word as it stands in a text, with the terms it gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word as written.
    pub surface: String,
    /// Where it starts in the text.
    pub start: usize,
    /// The whole, stemmed; for an identifier its parts joined, so that all ways of writing it are the same term.
    pub whole: String,
    /// The stemmed parts of an identifier; empty for a plain word.
    pub parts: Vec<String>,
}

impl Word {
    /// Whether it is written with a capital though it does not begin its text.
    pub fn is_name(&self) -> bool {
        self.start > 0 && self.surface.starts_with(char::is_uppercase)
    }
}

/// Calls `take` with every term of `text`, in order, stop words left out.
pub fn each_term(text: &str, mut take: impl FnMut(&str)) {
    each_term_starting(text, &[true; 256], |term| {
        if let Some(term) = term {
            take(term);
        }
    });
}

/// Like [`each_term`] for who looks for few terms in much text: where the first byte of a term is not `wanted`, it may
/// be given as `None`, to be counted and no more.
pub fn each_term_starting(text: &str, wanted: &[bool; 256], mut take: impl FnMut(Option<&str>)) {
    let mut scratch = Scratch::default();
    each_run(text, |_, run| match run {
        Run::Word(word) => {
            let first = word.as_bytes().first().copied().unwrap_or_default();
            // A stem keeps the first letter of its word, but for a few.
            let known = wanted.get(usize::from(first)).copied().unwrap_or(true) || changes_letter(word);
            if !known && word.len() <= MAX_TERM && word.bytes().all(|b| b.is_ascii_lowercase()) {
                if word.len() > 1 && !is_stop_word(word) {
                    take(None);
                }
            } else {
                scratch.terms(word, &mut |term| take(Some(term)));
            }
        }
        Run::Pairs(run) => pairs(run, &mut |pair| take(Some(pair))),
    });
}

/// The terms of `text`, in order.
pub fn terms(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    each_term(text, |term| all.push(term.to_owned()));
    all
}

/// The words of `text` that are no stop words, in order, for those who must name them.
pub fn words(text: &str) -> Vec<Word> {
    let mut all = Vec::new();
    let mut scratch = Scratch::default();
    each_run(text, |start, run| match run {
        Run::Word(surface) => {
            let mut terms: Vec<String> = Vec::new();
            scratch.terms(surface, &mut |term| terms.push(term.to_owned()));
            if terms.is_empty() {
                return;
            }
            let whole = terms.remove(0);
            all.push(Word { surface: surface.to_owned(), start, whole, parts: terms });
        }
        Run::Pairs(run) => pairs(run, &mut |pair| {
            all.push(Word { surface: pair.to_owned(), start, whole: pair.to_owned(), parts: Vec::new() });
        }),
    });
    all
}

/// Whether `word`, in lower case, carries no meaning of its own.
pub fn is_stop_word(word: &str) -> bool {
    // The longest is `yourselves`.
    let first = word.as_bytes().first().map(|b| usize::from(b.wrapping_sub(b'a')));
    word.len() <= 10 && first.and_then(|first| STOP_WORDS.get(first)).is_some_and(|list| list.contains(&word))
}

pub(super) enum Run<'a> {
    /// Letters and digits with joiners inside.
    Word(&'a str),
    /// Characters of a script without spaces.
    Pairs(&'a str),
}

/// Whether the script of `c` writes no spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c as u32,
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3040..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF
        | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0xFF66..=0xFF9F | 0x20000..=0x3FFFF)
}

const fn is_combining(c: char) -> bool {
    matches!(c as u32, 0x0300..=0x036F)
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || (!c.is_ascii() && (c.is_alphanumeric() || is_combining(c)) && !is_unspaced(c))
}

/// Calls `take` with every word of `text` as it is written, stop words too, and where it starts.
pub(super) fn each_run<'a>(text: &'a str, mut take: impl FnMut(usize, Run<'a>)) {
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        if is_letter(c) {
            let mut end = start + c.len_utf8();
            while let Some(&(at, next)) = chars.peek() {
                if is_letter(next) {
                    end = at + next.len_utf8();
                } else if !(matches!(next, '_' | '-' | '.' | '\'' | '’') && at == end) {
                    // A joiner counts only between two letters: it must touch the last one.
                    break;
                }
                chars.next();
            }
            take(start, Run::Word(&text[start..end]));
        } else if is_unspaced(c) && c.is_alphanumeric() {
            let mut end = start + c.len_utf8();
            while let Some(&(at, next)) = chars.peek() {
                if !is_unspaced(next) {
                    break;
                }
                end = at + next.len_utf8();
                chars.next();
            }
            take(start, Run::Pairs(&text[start..end]));
        }
    }
}

fn pairs(run: &str, take: &mut impl FnMut(&str)) {
    let mut bounds = run.char_indices().map(|(at, _)| at).chain(std::iter::once(run.len()));
    let (mut first, mut second) = (bounds.next().unwrap_or(0), bounds.next().unwrap_or(run.len()));
    let mut given = false;
    for third in bounds {
        take(&run[first..third]);
        given = true;
        (first, second) = (second, third);
    }
    if !given {
        take(&run[first..second]);
    }
}

/// Buffers reused from word to word.
#[derive(Default)]
struct Scratch {
    whole: String,
    part: String,
    parts: Vec<String>,
}

impl Scratch {
    /// The terms of one word: the whole first, then its parts if it has several.
    fn terms(&mut self, word: &str, take: &mut impl FnMut(&str)) {
        if word.bytes().all(|b| b.is_ascii_lowercase()) {
            // The common case, without copying twice.
            if word.len() <= MAX_TERM && !is_stop_word(word) && word.len() > 1 {
                self.whole.clear();
                self.whole.push_str(word);
                stem(&mut self.whole);
                take(&self.whole);
            }
            return;
        }
        if word.len() > 4 * MAX_TERM {
            return;
        }
        let number = word.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'-');
        self.parts.clear();
        self.whole.clear();
        self.part.clear();
        let mut before = ' ';
        let mut chars = word.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\'' | '’' => {
                    // What follows an apostrophe is grammar: `server's`, `we'll`; `n't` belongs to a stop word.
                    if chars.clone().take_while(|c| c.is_alphabetic()).count() <= 2 {
                        if before == 'n' && chars.peek() == Some(&'t') {
                            self.part.push('t');
                        }
                        while chars.next_if(|c| c.is_alphabetic()).is_some() {}
                    }
                }
                '_' | '-' => self.cut(),
                '.' if !(before.is_ascii_digit() && chars.peek().is_some_and(char::is_ascii_digit)) => self.cut(),
                '.' => self.part.push('.'),
                c => {
                    let next_is_lower = chars.peek().is_some_and(|next| next.is_lowercase());
                    let is_hump =
                        c.is_uppercase() && (before.is_lowercase() || (before.is_uppercase() && next_is_lower));
                    // `http2` is "HTTP/2", `python3` "Python 3"; in `v2` and `s3` the letter alone says nothing.
                    let is_count = c.is_ascii_digit() && before.is_alphabetic() && self.part.len() >= LETTERS;
                    if is_hump || (is_count && ends_in_digits(c, chars.clone())) {
                        self.cut();
                    }
                    fold(c, &mut self.part);
                }
            }
            before = c;
        }
        self.cut();
        if self.parts.len() == 1 || number {
            let whole = if number { word } else { self.parts[0].as_str() };
            if whole.len() <= MAX_TERM && !is_stop_word(whole) && (whole.len() > 1 || number) {
                self.whole.clear();
                self.whole.push_str(whole);
                stem(&mut self.whole);
                take(&self.whole);
            }
            return;
        }
        for part in &self.parts {
            self.whole.push_str(part);
        }
        if self.whole.is_empty() || self.whole.len() > MAX_TERM || is_stop_word(&self.whole) {
            return;
        }
        stem(&mut self.whole);
        take(&self.whole);
        for part in &mut self.parts {
            if !is_stop_word(part) && (part.len() > 1 || part.bytes().all(|b| b.is_ascii_digit())) {
                stem(part);
                take(part);
            }
        }
    }

    fn cut(&mut self) {
        if !self.part.is_empty() {
            self.parts.push(std::mem::take(&mut self.part));
        }
    }
}

/// Whether nothing but digits follows `c` to the end of a word or of its part.
fn ends_in_digits(c: char, rest: std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    c.is_ascii_digit()
        && rest.take_while(|c| !matches!(c, '_' | '-' | '\'' | '’')).all(|c| c.is_ascii_digit() || c == '.')
}

/// Whether one term becomes the other by one letter changed, put in, taken out or exchanged with its neighbour; the
/// first letter stays, and short words are too near to each other.
pub fn is_misspelt(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    if short.len() < SHORTEST_MISSPELT || long.len() - short.len() > 1 || short.first() != long.first() {
        return false;
    }
    let same = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    let rest = |bytes: &[u8], from: usize| bytes.get(from..).unwrap_or_default().to_vec();
    if long.len() > short.len() {
        return rest(short, same) == rest(long, same + 1);
    }
    let swapped = short.get(same) == long.get(same + 1) && short.get(same + 1) == long.get(same);
    rest(short, same + 1) == rest(long, same + 1) || (swapped && rest(short, same + 2) == rest(long, same + 2))
}

/// Lower case without accents.
fn fold(c: char, into: &mut String) {
    if c.is_ascii() {
        into.push(c.to_ascii_lowercase());
        return;
    }
    if is_combining(c) {
        return;
    }
    for c in c.to_lowercase() {
        match c {
            'à'..='å' | 'ā' | 'ă' | 'ą' => into.push('a'),
            'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => into.push('c'),
            'ď' | 'đ' | 'ð' => into.push('d'),
            'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' => into.push('e'),
            'ĝ' | 'ğ' | 'ġ' | 'ģ' => into.push('g'),
            'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' | 'ı' => into.push('i'),
            'ł' | 'ĺ' | 'ļ' | 'ľ' => into.push('l'),
            'ñ' | 'ń' | 'ņ' | 'ň' => into.push('n'),
            'ò'..='ö' | 'ø' | 'ō' | 'ŏ' | 'ő' => into.push('o'),
            'ŕ' | 'ř' => into.push('r'),
            'ś' | 'ŝ' | 'ş' | 'š' | 'ș' => into.push('s'),
            'ţ' | 'ť' | 'ț' => into.push('t'),
            'ù'..='ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' => into.push('u'),
            'ý' | 'ÿ' => into.push('y'),
            'ź' | 'ż' | 'ž' => into.push('z'),
            'ß' => into.push_str("ss"),
            'æ' => into.push_str("ae"),
            'œ' => into.push_str("oe"),
            c if is_combining(c) => {}
            c => into.push(c),
        }
    }
}

/// English function words and the words that only make a sentence a question. Negations are among them: bag-of-words
/// ranking can't use them.
static STOP_WORDS: LazyLock<[Vec<&'static str>; 26]> = LazyLock::new(|| {
    let mut by_letter: [Vec<&'static str>; 26] = Default::default();
    let all = "a about above after again against all also am an and any are arent as at be because been before being below \
     between both but by can cannot cant could couldnt did didnt do does doesnt doing done dont down during each either \
     else etc ever every for from further had hadnt has hasnt have havent having he her here hers herself him himself \
     his how however i if in into is isnt it its itself just lets may me might more most must my myself neither no nor \
     not now of off on once one only or other ought our ours ourselves out over own per please same shall she should \
     shouldnt since so some such than that the their theirs them themselves then there these they this those though \
     through thus to too under until up upon us very via was wasnt we were werent what whats when where whether which \
     while who whom whose why will with within without wont would wouldnt yet you your yours yourself yourselves";
    for word in all.split_whitespace() {
        let first = word.as_bytes().first().map(|b| usize::from(b.wrapping_sub(b'a')));
        if let Some(list) = first.and_then(|first| by_letter.get_mut(first)) {
            list.push(word);
        }
    }
    by_letter
});

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn identifiers_give_the_whole_and_the_parts() {
        for text in ["max_retries", "maxRetries", "max-retries", "MAX_RETRIES", "MaxRetries"] {
            assert_eq!(terms(text), ["maxretri", "max", "retri"], "{text}");
        }
        assert_eq!(terms("HTTPServer.start_now"), ["httpserverstartnow", "http", "server", "start"]);
        for text in ["http2", "HTTP2", "HTTP/2", "http 2"] {
            assert!(terms(text).ends_with(&["http".to_owned(), "2".to_owned()]), "{text}");
        }
        assert_eq!(terms("v2 1990s 64k"), ["v2", "1990s", "64k"]);
    }

    #[test]
    fn a_word_is_misspelt_within_one_letter() {
        for (one, other) in [("screan", "screen"), ("scren", "screen"), ("scrreen", "screen"), ("screne", "screen")] {
            assert!(is_misspelt(one, other), "{one}");
        }
        for (one, other) in [("cache", "catch"), ("port", "part"), ("screen", "stream"), ("tests", "texts1")] {
            assert!(!is_misspelt(one, other), "{one}");
        }
    }

    #[test]
    fn numbers_stay_whole() {
        assert_eq!(terms("0.386 at 1.2.3, 30 and 8,000."), ["0.386", "1.2.3", "30", "8", "000"]);
        assert_eq!(terms("5."), ["5"]);
    }

    #[test]
    fn apostrophes_accents_and_stop_words() {
        assert_eq!(
            terms("The server's clients don't wait; we'll café CAFÉ cafe\u{301}"),
            ["server", "client", "wait", "cafe", "cafe", "cafe"]
        );
    }

    #[test]
    fn scripts_without_spaces_give_pairs() {
        assert_eq!(terms("東京都は x 雪"), ["東京", "京都", "都は", "雪"]);
        assert!(terms("再試行").iter().all(|term| term.chars().count() == 2));
    }

    #[test]
    fn long_runs_are_left_out() {
        assert!(terms(&"A".repeat(100_000)).is_empty());
        assert!(terms(&"a".repeat(65)).is_empty());
        assert!(terms("...---___'''").is_empty());
    }

    proptest! {
        /// What is looked for is found with a filter as without, and the lengths are the same.
        #[test]
        fn a_filter_loses_nothing(text in "([a-zA-Z]{1,12}|[0-9_.'-]|keep |kept |ate |went |was |led |[ é東京]){0,40}", first in "[a-zé]") {
            let mut wanted = [false; 256];
            wanted[usize::from(first.as_bytes()[0])] = true;
            let is_wanted = |term: &String| term.starts_with(&first);
            let all = terms(&text);
            let (mut some, mut count) = (Vec::new(), 0);
            each_term_starting(&text, &wanted, |term| {
                count += 1;
                some.extend(term.map(str::to_owned));
            });
            prop_assert_eq!(count, all.len());
            prop_assert_eq!(
                some.into_iter().filter(is_wanted).collect::<Vec<_>>(),
                all.into_iter().filter(is_wanted).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn words_keep_their_surface() {
        let all = words("What does max_retries do?");
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].surface, "max_retries");
        assert_eq!(all[0].parts, ["max", "retri"]);
    }
}
