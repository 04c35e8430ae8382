//! Cuts of a text into pieces before merging, one piece at a time.
//!
//! This is the pattern of each encoding written out by hand, alternative by alternative, in the order in which a
//! backtracking matcher would try them. It takes time linear in the text. [`super::scan`] does the same for many
//! pieces at once where the text is plain, and is held against this.

use super::class::{Class, Classes};

/// The pattern of an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// The pattern of `cl100k_base`.
    Cl100k,
    /// The pattern of `o200k_base`.
    O200k,
}

/// The length of a contraction at `at` (`'s`, `'t`, `'re`, `'ve`, `'m`, `'ll`, `'d`, in any case), or 0.
#[inline]
pub(super) fn contraction(bytes: &[u8], at: usize) -> usize {
    if bytes.get(at) != Some(&b'\'') {
        return 0;
    }
    let low = |n: usize| bytes.get(at + n).map_or(0, |byte| byte | 0x20);
    match low(1) {
        b's' | b't' | b'm' | b'd' => 2,
        b'r' | b'v' if low(2) == b'e' => 3,
        b'l' if low(2) == b'l' => 3,
        // U+017F, the long s, is an `s` to a matcher that ignores case.
        _ if bytes.get(at + 1..at + 3) == Some(&[0xc5, 0xbf]) => 3,
        _ => 0,
    }
}

/// The end of the piece that starts at `start`. `bytes` is valid UTF-8, `start` the start of a character before its
/// end; the end is larger than `start`.
pub(super) fn piece(pattern: Pattern, classes: &Classes, bytes: &[u8], start: usize) -> usize {
    let end = match pattern {
        Pattern::Cl100k => cl100k(classes, bytes, start),
        Pattern::O200k => o200k(classes, bytes, start),
    };
    // No pattern gives an empty piece; should bytes not be UTF-8, still every piece moves on.
    end.max(start + 1).min(bytes.len())
}

fn cl100k(classes: &Classes, bytes: &[u8], start: usize) -> usize {
    let Some((class, length)) = classes.at(bytes, start) else { return start };
    let next = start + length;
    let short = contraction(bytes, start);
    if short > 0 {
        return start + short;
    }
    if class.is_letter() {
        return run(classes, bytes, next, Class::is_letter);
    }
    if class != Class::Number && class != Class::Newline {
        let letters = run(classes, bytes, next, Class::is_letter);
        if letters > next {
            return letters;
        }
    }
    if class == Class::Number {
        return numbers(classes, bytes, start);
    }
    if let Some(symbols) = symbols(classes, bytes, start, class) {
        return after_symbols(bytes, symbols, false);
    }
    white(classes, bytes, start, true)
}

fn o200k(classes: &Classes, bytes: &[u8], start: usize) -> usize {
    let Some((class, length)) = classes.at(bytes, start) else { return start };
    let next = start + length;
    let word = match class {
        Class::Upper | Class::Lower | Class::Letter => {
            let (mixed, upper) = words(classes, bytes, start);
            mixed.or(upper)
        }
        Class::Mark => {
            // A mark may be the sign before the word, or its first letter.
            words(classes, bytes, next).0.or_else(|| words(classes, bytes, start).0)
        }
        Class::Other | Class::Space => {
            let (mixed, upper) = words(classes, bytes, next);
            mixed.or(upper)
        }
        Class::Number | Class::Newline => None,
    };
    if let Some(end) = word {
        return end + contraction(bytes, end);
    }
    if class == Class::Number {
        return numbers(classes, bytes, start);
    }
    if let Some(symbols) = symbols(classes, bytes, start, class) {
        return after_symbols(bytes, symbols, true);
    }
    white(classes, bytes, start, false)
}

/// The ends of `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` and, where that does not match,
/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` from `start`.
fn words(classes: &Classes, bytes: &[u8], start: usize) -> (Option<usize>, Option<usize>) {
    let mut at = start;
    // Where the first part may end at the latest so that the second has something: after the last caseless letter.
    let mut caseless = None;
    loop {
        match classes.at(bytes, at) {
            Some((Class::Upper, length)) => at += length,
            Some((Class::Letter | Class::Mark, length)) => {
                at += length;
                caseless = Some(at);
            }
            Some((Class::Lower, length)) => {
                let lower = |class| matches!(class, Class::Lower | Class::Letter | Class::Mark);
                return (Some(run(classes, bytes, at + length, lower)), None);
            }
            _ => return (caseless, (at > start).then_some(at)),
        }
    }
}

fn run(classes: &Classes, bytes: &[u8], mut at: usize, is: impl Fn(Class) -> bool) -> usize {
    while let Some((class, length)) = classes.at(bytes, at) {
        if !is(class) {
            break;
        }
        at += length;
    }
    at
}

/// `\p{N}{1,3}`
fn numbers(classes: &Classes, bytes: &[u8], mut at: usize) -> usize {
    for _ in 0..3 {
        match classes.at(bytes, at) {
            Some((Class::Number, length)) => at += length,
            _ => break,
        }
    }
    at
}

/// ` ?[^\s\p{L}\p{N}]+`
fn symbols(classes: &Classes, bytes: &[u8], start: usize, class: Class) -> Option<usize> {
    let is = |class| matches!(class, Class::Other | Class::Mark);
    let from = match class {
        Class::Space if bytes.get(start) == Some(&b' ') => start + 1,
        class if is(class) => start,
        _ => return None,
    };
    let end = run(classes, bytes, from, is);
    (end > from).then_some(end)
}

/// `[\r\n]*` or `[\r\n/]*`
fn after_symbols(bytes: &[u8], mut at: usize, slash: bool) -> usize {
    while let Some(byte) = bytes.get(at) {
        if !(matches!(byte, b'\r' | b'\n') || slash && *byte == b'/') {
            break;
        }
        at += 1;
    }
    at
}

/// The alternatives for white space. `to_end`: white space that ends the text is one piece whatever it holds.
fn white(classes: &Classes, bytes: &[u8], start: usize, to_end: bool) -> usize {
    let (mut at, mut last, mut after_newline) = (start, start, None);
    while let Some((class, length)) = classes.at(bytes, at) {
        if !class.is_white() {
            break;
        }
        last = at;
        at += length;
        if class == Class::Newline {
            after_newline = Some(at);
        }
    }
    if to_end && at >= bytes.len() {
        return at;
    }
    if let Some(end) = after_newline {
        return end;
    }
    // The last one is left for what follows, unless it is the only one.
    if at >= bytes.len() || last == start { at } else { last }
}
