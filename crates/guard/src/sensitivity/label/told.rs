//! Values told in a sentence: `The admin password is …`. What follows may as well be said of the password ("is too
//! short"), so only what nobody says in words counts.

use super::{Tie, Value, at, blanks, starts, written::quoted};
use crate::sensitivity::{
    name::{Kind, kind_of},
    shape, value,
};

/// The value that a sentence tells of this name.
pub(super) fn told(text: &[u8], name: &std::ops::Range<usize>) -> Option<std::ops::Range<usize>> {
    let mut place = blanks(text, name.end);
    if place == name.end {
        return None;
    }
    let verb = [&b"is"[..], b"was", b"are"].into_iter().find(|verb| starts(text, place, verb))?;
    let end = place + verb.len();
    place = blanks(text, end);
    if !matches!(at(text, end), b' ' | b':') {
        return None;
    }
    if at(text, end) == b':' {
        place = blanks(text, end + 1);
    }
    for words in [&b"now "[..], b"still ", b"set to "] {
        if starts(text, place, words) {
            place = blanks(text, place + words.len());
        }
    }
    let kind = kind_of(&text[name.clone()], false)?;
    let span = quoted(text, place, Tie::Assign).map_or_else(|| word(text, place), |value| value.span);
    let found = text.get(span.clone())?;
    let (letters, digits) =
        (found.iter().any(u8::is_ascii_alphabetic), found.iter().filter(|byte| byte.is_ascii_digit()).count());
    // `12-character`, `8+`, `base64-encoded`: said of it. What starts with a number and goes on in words is a measure.
    let measure = found.iter().find(|byte| !byte.is_ascii_digit()).is_some_and(|byte| matches!(byte, b'-' | b'+'))
        && found.first().is_some_and(u8::is_ascii_digit);
    if found.len() < 6 || found.len() > 128 || !letters || digits == 0 || measure || value::spoken(found) {
        return None;
    }
    let place = Value::new(span.clone(), true, Tie::Assign);
    let held = match kind {
        Kind::Password => value::judge(kind, found, &text[name.clone()], &place),
        Kind::Secret | Kind::Key => {
            found.len() >= 16 && value::opaque(found) && value::judge(kind, found, &text[name.clone()], &place)
        }
    };
    held.then(|| shape::whole(text, span))
}

/// The word that begins here, without what ends a sentence.
fn word(text: &[u8], start: usize) -> std::ops::Range<usize> {
    let mut end = start;
    while end < text.len()
        && end - start < 128
        && !matches!(text[end], b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'<' | b'(')
    {
        end += 1;
    }
    while end > start && matches!(text[end - 1], b'.' | b',' | b';' | b':' | b'!' | b'?' | b')' | b'\'' | b'`' | b'*') {
        end -= 1;
    }
    start..end
}
