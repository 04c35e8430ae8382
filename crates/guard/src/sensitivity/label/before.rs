//! Values in front of their name: held against it (`"…" == password`, `"…".equals(password)`), or the member before it
//! of something that lists names and values (`{"value": "…", "name": "DB_PASSWORD"}`).

use std::ops::Range;

use super::{Tie, Value, names, quote};

/// How far back the value of a listed name may stand.
const REACH: usize = 1200;

/// The text in front of a name that is its value.
pub(super) fn value_before(text: &[u8], name: &Range<usize>) -> Option<Value> {
    let span = held_against(text, name.start).or_else(|| listed(text, name))?;
    Some(Value::new(span, true, Tie::Assign))
}

fn back(text: &[u8], mut place: usize) -> usize {
    let floor = place.saturating_sub(80);
    while place > floor && matches!(text[place - 1], b' ' | b'\t') {
        place -= 1;
    }
    place
}

/// Where the quotes, and what escapes them, begin that end here.
fn before_quotes(text: &[u8], mut place: usize) -> usize {
    while place > 0 && (quote(text[place - 1]) || text[place - 1] == b'\\') {
        place -= 1;
    }
    place
}

/// The text that ends with the quote before this place, on the same line.
fn text_before(text: &[u8], place: usize, reach: usize) -> Option<Range<usize>> {
    let end = place.checked_sub(1)?;
    let close = text[end];
    if !quote(close) {
        return None;
    }
    let floor = end.saturating_sub(reach);
    let start = memchr::memrchr(close, &text[floor..end])? + floor + 1;
    (start < end && memchr::memchr(b'\n', &text[start..end]).is_none()).then_some(start..end)
}

/// `"…" == name`, `"…".equals(name)`.
fn held_against(text: &[u8], name: usize) -> Option<Range<usize>> {
    let place = if text[..name].ends_with(b"$") { name - 1 } else { name };
    for asks in [&b".equals("[..], b".equalsIgnoreCase(", b".eql?(", b".Equals("] {
        if text[..place].ends_with(asks) {
            return text_before(text, place - asks.len(), 200);
        }
    }
    let end = back(text, place);
    let signs = text[end.saturating_sub(3)..end].iter().rev().take_while(|sign| matches!(sign, b'=' | b'!')).count();
    if signs < 2 {
        return None;
    }
    text_before(text, back(text, end - signs), 200)
}

/// `"value": "…", "name": "X_PASSWORD"`, `value: …` on the line above `name: X_PASSWORD`.
fn listed(text: &[u8], name: &Range<usize>) -> Option<Range<usize>> {
    // What stands in front of the name says that it is a name.
    let mut place = before_quotes(text, name.start);
    let quoted = place < name.start;
    place = back(text, place);
    if !matches!(text.get(place.checked_sub(1)?), Some(b':' | b'=')) {
        return None;
    }
    place = word_before(text, back(text, place - 1), &[b"name", b"key", b"Name", b"Key"])?;
    // Between the two there is the end of a member, and at most a line of words.
    let mut end = place;
    while end > 0 && place - end < 160 && matches!(text[end - 1], b' ' | b'\t' | b'\n' | b'\r' | b',' | b'-') {
        end -= 1;
    }
    if end == place || !text[end..place].iter().any(|byte| matches!(byte, b',' | b'\n')) {
        return None;
    }
    let span = match text_before(text, end, REACH) {
        Some(span) => span,
        None if quoted => return None,
        None => {
            let floor = end.saturating_sub(REACH);
            let start = text[floor..end].iter().rposition(u8::is_ascii_whitespace)? + floor + 1;
            start..end
        }
    };
    let value = back(text, before_quotes(text, span.start));
    if !matches!(text.get(value.checked_sub(1)?), Some(b':' | b'=')) {
        return None;
    }
    word_before(text, back(text, value - 1), &[b"value", b"Value"])?;
    Some(span)
}

/// Where one of the words begins that ends here, quotes around it set aside.
fn word_before(text: &[u8], end: usize, words: &[&[u8]]) -> Option<usize> {
    let end = before_quotes(text, end);
    let word = words.iter().find(|word| text[..end].ends_with(word))?;
    let start = end - word.len();
    if start > 0 && names(text[start - 1]) {
        return None;
    }
    Some(before_quotes(text, start))
}
