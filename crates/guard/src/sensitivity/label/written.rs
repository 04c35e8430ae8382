//! How a value is written: between quotes of any kind, bare to the end of its line or word, as a row of bytes. What is
//! read is bounded, and says of itself what stands around it.

use std::ops::Range;

use super::{
    LONGEST, Tie, Value, at, blanks, blanks_and_breaks, escapes, names,
    otherwise::otherwise,
    quote, starts,
    tie::{constant, tie, wrapper},
};

/// The longest value whose end is sought: the quote or the element that closes it.
const CLOSED: usize = 32 * 1024;

/// Reads the value behind a name.
pub(super) fn value_behind(text: &[u8], name: &Range<usize>) -> Option<Value> {
    let (start, tie) = tie(text, name)?;
    let mut place = blanks(text, start);
    if matches!(tie, Tie::Tag | Tie::Colon) || (tie == Tie::Assign && matches!(at(text, place), b'\n' | b'\r')) {
        // A block of YAML, the content of an element, a value on the next line.
        let next = match at(text, place) {
            b'|' | b'>' if tie == Tie::Colon => {
                let mut end = place + 1;
                while matches!(at(text, end), b'-' | b'+' | b'1'..=b'9' | b' ') {
                    end += 1;
                }
                if matches!(at(text, end), b'\n' | b'\r') { blanks_and_breaks(text, end) } else { place }
            }
            b'\n' | b'\r' => {
                let next = blanks_and_breaks(text, place);
                if tie == Tie::Tag || quote(at(text, next)) { next } else { return None }
            }
            _ => place,
        };
        place = next;
    }
    if starts(text, place, b"<![CDATA[") {
        place += 9;
    }
    // `= ("…"`, `: ["…"`.
    for _ in 0..2 {
        if at(text, place) == b'{' && names_member(text, place + 1) {
            return None;
        }
        if matches!(at(text, place), b'(' | b'[' | b'{')
            && (quote(at(text, place + 1)) || (at(text, place + 1) == b'b' && quote(at(text, place + 2))))
        {
            place += 1;
        }
    }
    if let Some(value) = quoted(text, place, tie) {
        return Some(value);
    }
    if matches!(tie, Tie::Assign | Tie::Colon | Tie::Tight)
        && let Some(span) = row_of_bytes(text, place)
    {
        return Some(Value::new(span, true, tie));
    }
    // A function around text: `[]byte("…")`, `Credential("…")`.
    let mut inner = place;
    if starts(text, inner, b"new ") {
        inner += 4;
    }
    for _ in 0..2 {
        let callee = inner;
        let mut end = inner;
        while end - callee < 60
            && (at(text, end).is_ascii_alphanumeric()
                || matches!(at(text, end), b'_' | b'.' | b':' | b'[' | b']' | b'&' | b'*'))
        {
            end += 1;
        }
        if end == callee || at(text, end) != b'(' {
            break;
        }
        if !wrapper(&text[callee..end]) {
            return otherwise(text, place, tie);
        }
        inner = blanks(text, end + 1);
        if let Some(value) = quoted(text, inner, tie) {
            return Some(value);
        }
    }
    if matches!(tie, Tie::Call | Tie::Comma) {
        return None;
    }
    if let Some(value) = otherwise(text, place, tie) {
        return Some(value);
    }
    let mut value = bare(text, place, tie)?;
    let rest = blanks(text, value.span.end);
    let line = text[..name.start]
        .iter()
        .rev()
        .take(40)
        .take_while(|byte| **byte != b'\n')
        .all(|byte| matches!(byte, b' ' | b'\t' | b'-' | b'#' | b'/' | b'*' | b'!' | b';'));
    value.variable = constant(&text[name.clone()]);
    let dotted = memchr::memchr_iter(b'.', &text[name.clone()]).count();
    value.setting = matches!(tie, Tie::Assign | Tie::Tight)
        && dotted > 0
        && !["self.", "this.", "cls."].iter().any(|owner| text[name.clone()].starts_with(owner.as_bytes()));
    value.sent = tie == Tie::Tight
        && (at(text, value.span.end) == b'&' || name.start > 0 && matches!(text[name.start - 1], b'&' | b'?'));
    value.beside_user = beside_user(text, name.start, value.span.end, tie);
    value.alone = line && matches!(at(text, rest), 0 | b'\n' | b'\r' | b'#') && at(text, value.span.end) != b'#';
    Some(value)
}

/// `{"type": "string"}`: the name of a member behind the bracket, not a value.
fn names_member(text: &[u8], place: usize) -> bool {
    let sign = at(text, place);
    if !quote(sign) {
        return false;
    }
    let mut end = place + 1;
    while end - place < 80 && end < text.len() && !matches!(text[end], b'\n') && text[end] != sign {
        end += 1;
    }
    at(text, end) == sign && at(text, blanks(text, end + 1)) == b':'
}

/// `[]byte{123, 87, 15, …}`, `new byte[] {0x35, …}`, `[0x01, …]`: eight numbers and more that fit bytes.
fn row_of_bytes(text: &[u8], place: usize) -> Option<Range<usize>> {
    let limit = text.len().min(place + 40);
    let open = (place..limit).find(|at| {
        matches!(text[*at], b'{' | b'[' | b'\n' | b'"' | b';' | b',')
            && !(text[*at] == b'[' && text.get(at + 1) == Some(&b']'))
    })?;
    if !matches!(text[open], b'{' | b'[')
        || !text[place..open]
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'[' | b']' | b'_' | b'(' | b'&'))
    {
        return None;
    }
    let (mut at, mut count, mut end) = (open + 1, 0, open + 1);
    while at < text.len() && at - open < LONGEST {
        while at < text.len() && matches!(text[at], b' ' | b'\t' | b',' | b'\n' | b'\r' | b'\\') {
            at += 1;
        }
        let start = at;
        while at < text.len() && text[at].is_ascii_alphanumeric() {
            at += 1;
        }
        let number = &text[start..at];
        let hex = number.strip_prefix(b"0x").or_else(|| number.strip_prefix(b"0X"));
        let fits = match hex {
            Some(hex) => matches!(hex.len(), 1 | 2) && hex.iter().all(u8::is_ascii_hexdigit),
            None => matches!(number.len(), 1..=3) && number.iter().all(u8::is_ascii_digit),
        };
        if !fits {
            break;
        }
        count += 1;
        end = at;
    }
    (count >= 8).then(|| open + 1..end)
}

/// Whether a user is named in the same braces, or in the same row of settings.
fn beside_user(text: &[u8], name: usize, end: usize, tie: Tie) -> bool {
    let back = name.saturating_sub(80);
    let before = text.get(back..name).unwrap_or_default();
    let start = before.iter().rposition(|byte| matches!(byte, b'\n' | b'{' | b'"' | b'\'')).map_or(0, |at| at + 1);
    let row = &before[start..];
    let named = |sign: u8| {
        [&b"user"[..], b"username", b"uid", b"login"].iter().any(|word| {
            memchr::memmem::find_iter(row, word).any(|at| {
                let next = at + word.len();
                row.get(next) == Some(&sign) && (at == 0 || !names(row[at - 1]))
            })
        })
    };
    // `password=opensesame;user=ada`
    let behind = text.get(end + 1..text.len().min(end + 12)).unwrap_or_default();
    let follows = matches!(at(text, end), b',' | b';')
        && [&b"user="[..], b"username=", b"uid=", b"login="].iter().any(|word| behind.starts_with(word));
    match tie {
        Tie::Tight if follows => true,
        Tie::Tight => named(b'=') && matches!(at(text, end), 0 | b' ' | b'"' | b'\'' | b'\n' | b',' | b';'),
        Tie::Colon => {
            let braces = start > 0 && before.get(start - 1) == Some(&b'{');
            braces && named(b':') && matches!(at(text, blanks(text, end)), b'}' | b',')
        }
        _ => false,
    }
}

pub(super) fn quoted(text: &[u8], mut place: usize, tie: Tie) -> Option<Value> {
    let mut formatted = false;
    // `b"…"`, `rb'…'`, `@"…"`, `L"…"`.
    for ahead in 1..=2 {
        if quote(at(text, place + ahead))
            && (place..place + ahead).all(|at| {
                matches!(text[at], b'b' | b'B' | b'r' | b'R' | b'u' | b'U' | b'f' | b'F' | b'L' | b'N' | b'@' | b'$')
            })
        {
            formatted = (place..place + ahead).any(|at| matches!(text[at], b'f' | b'F' | b'$'));
            place += ahead;
            break;
        }
    }
    let escaped = escapes(text, place);
    let open = at(text, place + escaped);
    if !quote(open) {
        return None;
    }
    let mut start = place + escaped + 1;
    // Two of them, as reStructuredText has it.
    if escaped == 0 && open == b'`' && at(text, start) == b'`' && at(text, start + 1) != b'`' {
        start += 1;
    }
    let triple = escaped == 0 && at(text, start) == open && at(text, start + 1) == open;
    if triple {
        start += 2;
        while matches!(at(text, start), b'\n' | b'\r') {
            start += 1;
        }
    }
    let limit = text.len().min(start + CLOSED);
    let mut end = start;
    while end < limit {
        match text[end] {
            b'\\' if escaped > 0 && escapes(text, end) == escaped && at(text, end + escaped) == open => break,
            b'\\' if escaped == 0 && open != b'`' => end += 1,
            b'\n' | b'\r' if !triple && open != b'`' => return None,
            byte if byte == open => break,
            _ => {}
        }
        end += 1;
    }
    if end >= limit || end == start {
        return None;
    }
    if formatted && memchr::memchr(b'{', &text[start..end]).is_some() {
        return None;
    }
    Some(Value::new(start..end, true, tie))
}

/// A quote between letters or digits, and no other on its line.
fn lone_quote(text: &[u8], place: usize) -> bool {
    let line = &text[place.saturating_sub(160)..text.len().min(place + 160)];
    let here = place - place.saturating_sub(160);
    let start = line[..here].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let end = line[here..].iter().position(|byte| *byte == b'\n').map_or(line.len(), |at| here + at);
    let alone = memchr::memchr_iter(b'\'', &line[start..end]).count() == 1;
    alone && text[place - 1].is_ascii_alphanumeric() && at(text, place + 1).is_ascii_alphanumeric()
}

fn bare(text: &[u8], start: usize, tie: Tie) -> Option<Value> {
    // An element says where its content ends, however long that is.
    let limit = text.len().min(start + if tie == Tie::Tag { CLOSED } else { LONGEST });
    let mut end = start;
    // `${PASSWORD:-value}` ends where the expansion does.
    let expanded =
        text[..start].ends_with(b":-") && memchr::memchr(b'{', &text[start.saturating_sub(80)..start]).is_some();
    while end < limit {
        match text[end] {
            b' ' | b'\t' | b'"' | b'\'' | b'`' | b'\\' | b',' | b';' | b'&' if tie == Tie::Tag => end += 1,
            // `password: 1t'sB1g`: a quote within, and none after it.
            b'\'' if matches!(tie, Tie::Colon | Tie::Tight) && end > start && lone_quote(text, end) => end += 1,
            b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'\\' | b'<' | b',' | b';' | b'&' => break,
            b'[' if text[end..].starts_with(super::super::redact::MARK) => break,
            b'}' if expanded => break,
            _ => end += 1,
        }
    }
    if tie == Tie::Tag && at(text, blanks_and_breaks(text, end)) != b'<' {
        return None;
    }
    // `sk-9f2c...`: cut off by whoever shows it.
    if text[start..end].ends_with(b"...") {
        return None;
    }
    // What closes around the value is none of it.
    while end > start && matches!(text[end - 1], b')' | b']' | b'}' | b'>' | b':' | b'.' | b'|') {
        let open = match text[end - 1] {
            b')' => b'(',
            b']' => b'[',
            b'}' => b'{',
            _ => 0,
        };
        if open != 0 && memchr::memchr(open, &text[start..end]).is_some() {
            break;
        }
        end -= 1;
    }
    (end > start).then_some(Value::new(start..end, false, tie))
}
