//! Texts as they are compared: words in lower case between blanks, without the marks around them, numbers and dates
//! in one spelling.

use std::fmt::Write;

use loopwright_base::text::is_hidden;
use loopwright_lexicon::months::MONTHS;
use unicode_normalization::UnicodeNormalization;

use crate::names;

/// Words before a number that may say what it counts.
const BEFORE: usize = 3;
/// Signs that stand inside of words: addresses, paths, versions, times.
const INNER: &[char] = &['@', '.', '_', '-', '/', ':', '+', '#', '&', '%', '=', '~', '?', '\'', '’'];

/// The words of a text as they are compared. A date is one word: `2024-05-01`, or `--05-01` where no year is said.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut word = String::new();
    // The two characters before, as they were written.
    let mut before = [' '; 2];
    for c in text.nfkc().filter(|c| !is_unseen(*c)) {
        if is_alone(c) {
            push(&mut found, &mut word);
            found.push(c.to_string());
        } else if c.is_alphanumeric() || INNER.contains(&c) {
            // Particles stand right behind an address: `ann@example.com에게`.
            if is_hangul(c) && word.ends_with(|c: char| c.is_ascii_alphanumeric()) {
                push(&mut found, &mut word);
            }
            // The blank behind a sentence is missing: `example.com.They said`.
            if c.is_uppercase() && before[0].is_lowercase() && ends_sentence(&word) {
                push(&mut found, &mut word);
            }
            word.extend(c.to_lowercase());
        } else if c == ',' && word.ends_with(|c: char| c.is_ascii_digit()) {
            // Within a number, or behind one.
            word.push(c);
        } else {
            push(&mut found, &mut word);
        }
        before = [before[1], c];
    }
    push(&mut found, &mut word);
    dates(found)
}

/// The words of a text between blanks.
pub(super) fn plain(text: &str) -> String {
    joined(&words(text))
}

/// Words between blanks, one before the first and one behind the last.
pub(super) fn joined(words: &[String]) -> String {
    let mut text = String::from(" ");
    for word in words {
        let _ = write!(text, "{word} ");
    }
    text
}

/// Whether a word is a date.
pub(super) fn is_date(word: &str) -> bool {
    word.len() == 10 && (word.starts_with("--") || is_iso(word)) || word.starts_with("--") && word.len() == 7
}

/// A date without its year.
pub(super) fn day_of(word: &str) -> Option<&str> {
    is_date(word).then(|| word.get(word.len() - 5..)).flatten()
}

/// A number of at most three digits: it may stand for anything.
pub(super) fn is_short_number(word: &str) -> bool {
    word.len() <= 3 && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Scripts that put no blanks between words: each of their signs stands for itself.
const fn is_alone(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

const fn is_hangul(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7af}')
}

/// Signs that nobody sees, and those that choose the shape of the one before, which part a word for a program alone.
const fn is_unseen(c: char) -> bool {
    is_hidden(c) || matches!(c, '\u{34f}' | '\u{180e}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0080}'..='\u{e0fff}')
}

/// Where a number stands in a text behind a word that says what it counts.
pub(super) fn near_number(text: &str, number: &str, beside: &[String]) -> Option<usize> {
    let wanted = format!(" {number} ");
    memchr::memmem::find_iter(text.as_bytes(), wanted.as_bytes()).find(|at| {
        let before = text.get(..*at).unwrap_or_default().rsplit(' ').take(BEFORE);
        let counts = |word: &str| names::has("flows.numbering", word) || beside.iter().any(|beside| same(beside, word));
        before.into_iter().any(counts)
    })
}

/// Whether two words are the same but for the end of the many.
fn same(one: &str, other: &str) -> bool {
    one.trim_end_matches('s') == other.trim_end_matches('s')
}

/// Whether a word ends in a full stop behind a letter, and had one before.
fn ends_sentence(word: &str) -> bool {
    word.strip_suffix('.').is_some_and(|word| word.contains('.') && word.ends_with(char::is_alphabetic))
}

fn push(found: &mut Vec<String>, word: &mut String) {
    let raw = std::mem::take(word);
    let text = raw.trim_matches(|c: char| !c.is_alphanumeric());
    let text = ["https://", "http://", "mailto:"].iter().find_map(|scheme| text.strip_prefix(scheme)).unwrap_or(text);
    let text = text.strip_suffix("'s").or_else(|| text.strip_suffix("’s")).unwrap_or(text);
    if text.is_empty() {
        return;
    }
    let Some(number) = number(text) else {
        // A date and a time of day that a `t` joins are two words.
        if let Some((date, time)) =
            text.split_at_checked(10).filter(|(date, time)| is_iso(date) && time.starts_with('t'))
        {
            found.push(date.to_owned());
            found.push(time.trim_start_matches('t').to_owned());
            return;
        }
        found.extend(text.split(',').filter(|part| !part.is_empty()).map(str::to_owned));
        return;
    };
    found.push(number);
}

/// A number without marks between its thousands and without zeros at its end: `1,200.50` is `1200.5`.
fn number(text: &str) -> Option<String> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b',' || byte == b'.');
    if !digits || text.matches('.').count() > 1 {
        return None;
    }
    let thousands = text.split(',').skip(1).all(|group| group.split('.').next().is_some_and(|group| group.len() == 3));
    if !thousands {
        return None;
    }
    let bare = text.replace(',', "");
    Some(match bare.split_once('.') {
        Some((whole, part)) if part.trim_end_matches('0').is_empty() => whole.to_owned(),
        Some((whole, part)) => format!("{whole}.{}", part.trim_end_matches('0')),
        None => bare,
    })
}

fn is_iso(word: &str) -> bool {
    word.len() == 10
        && word
            .bytes()
            .enumerate()
            .all(|(at, byte)| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() })
}

/// Days and months that stand side by side become one word: `May 1st`, `1 May 2024`, `the 1st of May`.
fn dates(words: Vec<String>) -> Vec<String> {
    if !words.iter().any(|word| month(word).is_some()) {
        return words;
    }
    let mut found = Vec::with_capacity(words.len());
    let word = |at: usize| words.get(at).map(String::as_str);
    let mut at = 0;
    while let Some(one) = words.get(at) {
        let behind = month(one).and_then(|month| Some((month, day(word(at + 1)?)?, 2)));
        let before = || {
            let of = usize::from(word(at + 1) == Some("of"));
            Some((month(word(at + 1 + of)?)?, day(one)?, 2 + of))
        };
        let Some((month, day, length)) = behind.or_else(before) else {
            found.push(one.clone());
            at += 1;
            continue;
        };
        at += length;
        let year = word(at).filter(|year| year.len() == 4 && (year.starts_with("19") || year.starts_with("20")));
        let year = year.filter(|year| year.bytes().all(|byte| byte.is_ascii_digit()));
        at += usize::from(year.is_some());
        found.push(format!("{}-{month:02}-{day:02}", year.unwrap_or("-")));
    }
    found
}

fn month(word: &str) -> Option<usize> {
    let short = |name: &str| word.len() >= 3 && (name == word || word.len() <= 4 && name.starts_with(word));
    MONTHS.iter().position(|name| short(name)).map(|at| at + 1)
}

fn day(word: &str) -> Option<u32> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    digits.parse().ok().filter(|day| (1..=31).contains(day) && digits.len() <= 2)
}
