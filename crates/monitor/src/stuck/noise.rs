//! Text of a tool without its noise: what changes from one try to the next though nothing has changed.
//!
//! Two grades. A result loses clock times, measured durations, addresses in memory, UUIDs and colours, and keeps its
//! plain numbers: a count that moves is news. An error loses all numbers and paths: what is left is its class. One
//! pass, no tables of patterns; of very long texts only both ends are looked at, the middle counts as it stands.
//! Arguments are no text of a tool: a value that is new in its place is news whatever it looks like (see `role`).

use std::borrow::Cow;

use memchr::memmem;
use xxhash_rust::xxh3::xxh3_64;

use super::{step::join, volatile::mask};

/// What is looked through whole; of longer texts, this much of each end is a quarter.
const WHOLE: usize = 8 * 1024;
const END: usize = WHOLE / 4;
/// Longer results are compared as they stand, whatever names they hold.
const LONGEST_MASKED: usize = 64 * 1024;
pub(super) const GONE: u8 = 0x1a;

/// What counts as noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grade {
    /// In what a tool gave.
    Result,
    /// In an error.
    Error,
}

/// The hash of a text without its noise. Equal texts have equal hashes, whatever the grade.
pub(super) fn hash(text: &[u8], grade: Grade) -> u64 {
    let free = |text: &[u8]| if is_plain(text, grade) { xxh3_64(text) } else { xxh3_64(&strip(text, grade)) };
    if text.len() <= WHOLE {
        return free(text);
    }
    let (head, rest) = text.split_at(END);
    let (middle, tail) = rest.split_at(rest.len() - END);
    join(join(free(head), free(tail)), xxh3_64(middle))
}

/// As [`hash`], of a result without what is new at every call by its name. `made_up` are ids of its call, which it may
/// say again; `own` are the names that its tool declares.
pub(super) fn hash_without(text: &[u8], made_up: &[&[u8]], grade: Grade, own: &[String]) -> u64 {
    let text = without(text, made_up);
    if grade == Grade::Error || text.len() > LONGEST_MASKED || (own.is_empty() && is_plain(&text, grade)) {
        return hash(&text, grade);
    }
    hash(&mask(&text, own), grade)
}

/// A result without ids that its call made up.
fn without<'a>(text: &'a [u8], made_up: &[&[u8]]) -> Cow<'a, [u8]> {
    let mut text = Cow::Borrowed(text);
    for id in made_up {
        let places: Vec<usize> = memmem::find_iter(&text, id).collect();
        if places.is_empty() {
            continue;
        }
        let (mut kept, mut from) = (Vec::with_capacity(text.len()), 0);
        for at in places {
            kept.extend_from_slice(&text[from..at]);
            kept.push(GONE);
            from = at + id.len();
        }
        kept.extend_from_slice(&text[from..]);
        text = Cow::Owned(kept);
    }
    text
}

/// Whether there is nothing to strip: most short texts.
fn is_plain(text: &[u8], grade: Grade) -> bool {
    let paths = grade == Grade::Error;
    let noisy = |b: &u8| b.is_ascii_digit() || *b == 0x1b || (paths && (*b == b'/' || *b == b'\\'));
    // Folded whole chunks at a time: the compiler makes that a few vector instructions.
    !text.chunks(64).any(|chunk| chunk.iter().fold(false, |found, b| found | noisy(b)))
}

pub(super) const fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

const fn is_path(b: u8) -> bool {
    is_word(b) || matches!(b, b'/' | b'.' | b'-' | b'~' | b'+' | b'@' | b'%' | b'\\')
}

/// The text without its noise.
pub(super) fn strip(text: &[u8], grade: Grade) -> Cow<'_, [u8]> {
    // Copied once something goes.
    let mut out = Vec::new();
    let (mut at, mut from) = (0, 0);
    // No path reaches beyond.
    let mut no_path = 0;
    // All noise holds a digit, but for escapes and paths: what lies between is copied whole.
    while let Some(next) = next_odd(text, from, grade) {
        let b = text[next];
        if b == 0x1b {
            out.extend_from_slice(&text[at..next]);
            at = next + escape_length(&text[next..]);
            from = at;
            continue;
        }
        if grade == Grade::Error {
            if next >= no_path {
                let start = run_start(text, at, next, is_path);
                let (length, path) = path_run(&text[start..]);
                if path {
                    out.extend_from_slice(&text[at..start]);
                    out.push(GONE);
                    at = start + length;
                    from = at;
                    continue;
                }
                no_path = start + length;
            }
            if !is_word(b) {
                from = next + 1;
                continue;
            }
        }
        let mut word = run_start(text, at, next, is_word);
        if word > at && text[word - 1] == b'\\' && word < next && matches!(text[word], b'n' | b't' | b'r') {
            // What stands behind `\n` begins there.
            word += 1;
        }
        // A UUID whose first group has no digit.
        if word >= at + 9 && text[word - 1] == b'-' && uuid_length(&text[word - 9..]).is_some() {
            word -= 9;
        }
        let length = text[word..].iter().position(|b| !is_word(*b)).unwrap_or(text.len() - word);
        let gone = noise_length(text, word, length, grade);
        if gone == 0 && grade != Grade::Error {
            from = word + length;
            continue;
        }
        if out.is_empty() {
            out.reserve(text.len());
        }
        out.extend_from_slice(&text[at..word]);
        if gone > 0 {
            out.push(GONE);
            at = word + gone;
        } else {
            push_without_numbers(&mut out, &text[word..word + length]);
            at = word + length;
        }
        from = at;
    }
    if at == 0 {
        return Cow::Borrowed(text);
    }
    out.extend_from_slice(text.get(at..).unwrap_or_default());
    Cow::Owned(out)
}

/// The next byte from which noise may be told.
fn next_odd(text: &[u8], from: usize, grade: Grade) -> Option<usize> {
    let paths = grade == Grade::Error;
    let odd = |b: u8| b.is_ascii_digit() || b == 0x1b || (paths && (b == b'/' || b == b'\\'));
    let rest = text.get(from..)?;
    let mut done = 0;
    // Whole chunks at a time: the compiler makes that a few vector instructions.
    for chunk in rest.chunks(32) {
        if chunk.iter().fold(false, |found, b| found | odd(*b)) {
            break;
        }
        done += chunk.len();
    }
    let rest = &rest[done.min(rest.len())..];
    let found = if paths { rest.iter().position(|b| odd(*b)) } else { digit_or_escape(rest) };
    found.map(|at| from + done + at)
}

/// The first digit or escape, eight bytes at a time.
fn digit_or_escape(text: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    let (eights, rest) = text.as_chunks::<8>();
    for (at, eight) in eights.iter().enumerate() {
        let bytes = u64::from_le_bytes(*eight);
        // A digit less `0` is below ten: neither it nor it and 0x76 has the highest bit. No byte carries over.
        let less = bytes ^ (0x30 * ONES);
        let digits = !(((less & !HIGH) + 0x76 * ONES) | less) & HIGH;
        let other = bytes ^ (0x1b * ONES);
        let escapes = !(((other & !HIGH) + !HIGH) | other) & HIGH;
        if digits | escapes != 0 {
            return Some(at * 8 + (digits | escapes).trailing_zeros() as usize / 8);
        }
    }
    let odd = |b: &u8| b.is_ascii_digit() || *b == 0x1b;
    rest.iter().position(odd).map(|at| text.len() - rest.len() + at)
}

/// Whether a word with digits in a result is none of the forms of noise, told by its first bytes and what follows it.
fn is_count(rest: &[u8], length: usize) -> bool {
    let after = rest.get(length).copied().unwrap_or(b'\n');
    if length == 8 && after == b'-' {
        return false;
    }
    let leading = rest[..length].iter().position(|b| !b.is_ascii_digit()).unwrap_or(length);
    if leading == 0 {
        return true;
    }
    if leading < length {
        // `17ms`, `20260102T030405`, `0x7f…`.
        return !matches!(rest[leading], b'm' | b'u' | b'n' | b's' | b'T' | b'_' | b'x');
    }
    match after {
        b':' => length != 2,
        b'-' | b'/' => length != 4,
        b'.' | 0x80.. => false,
        b' ' => !matches!(rest.get(length + 1), Some(b'm' | b'u' | b'n' | b's' | 0x80..)),
        _ => true,
    }
}

/// Where the run that holds `at` begins, not before `least`.
pub(super) fn run_start(text: &[u8], least: usize, at: usize, belongs: fn(u8) -> bool) -> usize {
    let before = &text[least..at];
    before.iter().rposition(|b| !belongs(*b)).map_or(least, |end| least + end + 1)
}

/// A terminal's escape sequence.
fn escape_length(text: &[u8]) -> usize {
    if text.get(1) != Some(&b'[') {
        return 1;
    }
    let end = text.iter().take(32).skip(2).position(|b| (0x40..=0x7e).contains(b));
    end.map_or(2, |end| end + 3)
}

/// The run of what paths are made of, and whether it is one: it holds a slash.
fn path_run(text: &[u8]) -> (usize, bool) {
    let length = text.iter().position(|b| !is_path(*b)).unwrap_or(text.len());
    let run = &text[..length];
    let slashes = run.iter().filter(|b| matches!(b, b'/' | b'\\')).count();
    // An escape in JSON text is no path.
    let escapes = run.windows(2).filter(|pair| pair[0] == b'\\' && matches!(pair[1], b'n' | b't' | b'r')).count();
    (length, slashes > escapes && length > 1)
}

fn push_without_numbers(out: &mut Vec<u8>, word: &[u8]) {
    for b in word {
        if b.is_ascii_digit() {
            if out.last() != Some(&GONE) {
                out.push(GONE);
            }
        } else {
            out.push(*b);
        }
    }
}

/// How much of the text from the word at `at` on is noise; 0 if the word stands.
fn noise_length(text: &[u8], at: usize, length: usize, grade: Grade) -> usize {
    let rest = &text[at..];
    if grade == Grade::Result && is_count(rest, length) {
        return 0;
    }
    let word = &rest[..length];
    let after_dot = at > 0 && matches!(text[at - 1], b'.' | b'-') && at > 1 && text[at - 2].is_ascii_digit();
    if let Some(length) = uuid_length(rest) {
        return length;
    }
    if word.len() >= 6 && word.starts_with(b"0x") && word[2..].iter().all(u8::is_ascii_hexdigit) {
        return word.len();
    }
    if !after_dot && let Some(length) = moment_length(rest).or_else(|| duration_length(rest)) {
        return length;
    }
    // An error loses the rest of its numbers one by one; ids and names as machines make them go whole.
    if grade == Grade::Error && is_random(word) { length } else { 0 }
}

fn uuid_length(text: &[u8]) -> Option<usize> {
    const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
    let mut at = 0;
    for (index, group) in GROUPS.into_iter().enumerate() {
        if index > 0 {
            (text.get(at) == Some(&b'-')).then_some(())?;
            at += 1;
        }
        text.get(at..at + group)?.iter().all(u8::is_ascii_hexdigit).then_some(())?;
        at += group;
    }
    (!text.get(at).copied().is_some_and(is_word)).then_some(at)
}

/// Reads `wanted` digits.
fn digits(text: &[u8], at: usize, wanted: usize) -> Option<usize> {
    let end = at + wanted;
    text.get(at..end)?.iter().all(u8::is_ascii_digit).then_some(end)
}

fn byte(text: &[u8], at: usize, wanted: &[u8]) -> Option<usize> {
    text.get(at).filter(|b| wanted.contains(b)).map(|_| at + 1)
}

fn fraction(text: &[u8], at: usize) -> usize {
    let Some(start) = byte(text, at, b".,") else { return at };
    let length = text[start..].iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len() - start);
    if length > 0 { start + length } else { at }
}

/// `12:34:56`, with a fraction and a zone.
fn clock(text: &[u8], at: usize) -> Option<usize> {
    let colon = |at| byte(text, at, b":");
    let end = digits(text, colon(digits(text, colon(digits(text, at, 2)?)?, 2)?)?, 2)?;
    let end = fraction(text, end);
    let zone = byte(text, end, b"Z").or_else(|| {
        let hours = digits(text, byte(text, end, b"+-")?, 2)?;
        Some(colon(hours).and_then(|at| digits(text, at, 2)).or_else(|| digits(text, hours, 2)).unwrap_or(hours))
    });
    Some(zone.unwrap_or(end))
}

/// A clock time with seconds, with or without its date. A date alone is data.
fn moment_length(text: &[u8]) -> Option<usize> {
    let dated = || {
        let separator = *text.get(4).filter(|b| matches!(b, b'-' | b'/'))?;
        let day = byte(text, digits(text, byte(text, digits(text, 0, 4)?, &[separator])?, 2)?, &[separator])?;
        clock(text, byte(text, digits(text, day, 2)?, b"T _")?)
    };
    // 20260102T030405
    let dense = || {
        let end = digits(text, byte(text, digits(text, 0, 8)?, b"T_")?, 6)?;
        Some(byte(text, fraction(text, end), b"Z").unwrap_or_else(|| fraction(text, end)))
    };
    let end = dated().or_else(dense).or_else(|| clock(text, 0))?;
    (!text.get(end).is_some_and(u8::is_ascii_digit)).then_some(end)
}

/// A duration as it is measured: `0.12s`, `3.4 seconds`, `17ms`. Whole seconds are somebody's choice, or progress.
fn duration_length(text: &[u8]) -> Option<usize> {
    let whole = text.iter().position(|b| !b.is_ascii_digit()).filter(|length| *length > 0)?;
    let end = fraction(text, whole);
    let unit = if text.get(end) == Some(&b' ') { end + 1 } else { end };
    let letters =
        text[unit..].iter().position(|b| !(b.is_ascii_alphabetic() || *b >= 0x80)).unwrap_or(text.len() - unit);
    let name = &text[unit..unit + letters];
    let fine = matches!(name, b"ms" | b"us" | b"ns" | b"\xc2\xb5s" | b"\xce\xbcs");
    let seconds = end > whole && matches!(name, b"s" | b"sec" | b"secs" | b"second" | b"seconds");
    (fine || seconds).then_some(unit + letters)
}

/// Whether a value has a form that only machines make, so that no two of them meet by chance.
pub(super) fn is_made_up(value: &[u8]) -> bool {
    uuid_length(value) == Some(value.len()) || (value.iter().all(|b| is_word(*b)) && is_random(value))
}

/// The first digit at or behind a place.
pub(super) fn next_digit(text: &[u8], from: usize) -> Option<usize> {
    let mut from = from;
    loop {
        from += digit_or_escape(text.get(from..)?)?;
        if text.get(from)?.is_ascii_digit() {
            return Some(from);
        }
        from += 1;
    }
}

/// Letters and digits as only a machine mixes them: request ids, tokens, hashes.
fn is_random(word: &[u8]) -> bool {
    let id = word.rsplit(|b| *b == b'_').next().unwrap_or(word);
    if id.len() >= 16 && id.iter().all(u8::is_ascii_hexdigit) {
        return true;
    }
    let changes = id.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    id.len() >= 8 && changes >= 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same(grade: Grade, a: &str, b: &str) -> bool {
        strip(a.as_bytes(), grade) == strip(b.as_bytes(), grade)
    }

    #[test]
    fn results_lose_measurements_and_keep_counts() {
        for (a, b) in [
            ("5 passed in 0.12s", "5 passed in 1.07s"),
            ("2026-01-02T03:04:05.123Z pending", "2026-01-02 10:11:12+01:00 pending"),
            ("[12:00:01] idle", "[12:00:59] idle"),
            ("<obj at 0x7f00aa10>", "<obj at 0x7f99bb20>"),
            ("id 123e4567-e89b-12d3-a456-426614174000.", "id f23e4567-e89b-12d3-a456-426614174999."),
            ("took 17 ms", "took 5 ms"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
        ] {
            assert!(same(Grade::Result, a, b), "{a} | {b}");
        }
        for (a, b) in [
            ("3 failed", "2 failed"),
            ("10%", "20%"),
            ("waited 10s", "waited 20s"),
            ("commit 1234567890abcdef", "commit 1234567890abcdee"),
            ("May 22", "May 23"),
            ("2026-01-02", "2026-01-03"),
            ("1.2.3", "1.2.4"),
            ("job 1700000001", "job 1700000002"),
            ("a", "b"),
        ] {
            assert!(!same(Grade::Result, a, b), "{a} | {b}");
        }
    }

    #[test]
    fn errors_lose_numbers_and_paths() {
        assert!(same(Grade::Error, "line 3: no such file: /a/b.txt", "line 17: no such file: /x/y/z.rs"));
        assert!(same(Grade::Error, "error E0308 at 0xdeadbeef", "error E0309 at 0xcafe0000"));
        assert!(same(Grade::Error, "timed out after 3.5 seconds", "timed out after 12.1 seconds"));
        assert!(!same(Grade::Error, "KeyError: 'a'", "KeyError: 'b'"));
    }

    #[test]
    fn no_text_takes_long() {
        // In a debug build; what is quadratic takes minutes.
        for piece in ["\\n", "1a", "1.a", "/", "\\", "tmp", "0x1", "12:", "a-", "1234-", "\u{1b}", "\u{1b}["] {
            let text = piece.repeat(WHOLE / piece.len());
            for grade in [Grade::Result, Grade::Error] {
                for _ in 0..20 {
                    hash(text.as_bytes(), grade);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in prop::collection::vec(any::<u8>(), 0..200), odd in "[0-9a-f:T./\\\\ -]{0,80}") {
            for grade in [Grade::Result, Grade::Error] {
                for text in [&text[..], odd.as_bytes()] {
                    hash(text, grade);
                    // What is plain stands as it is.
                    if is_plain(text, grade) {
                        prop_assert_eq!(&strip(text, grade)[..], text);
                    }
                }
            }
        }
    }
}
