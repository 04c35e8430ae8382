//! Values of several names at once: `user, password = "bob", "…"`, `const [user, pass] = ["root", "…"]`. The name is
//! counted off on one side, its value on the other.

use super::{Tie, Value, at, blanks, names, written::quoted};

/// Names on one side.
const MOST: usize = 8;

const DECLARES: &[&[u8]] = &[b"let", b"const", b"var", b"my", b"local", b"val", b"auto", b"return"];

/// The text that belongs to a name among several.
pub(super) fn value_among(text: &[u8], name: &std::ops::Range<usize>) -> Option<Value> {
    let mut end = blanks(text, name.end);
    // Most names stand alone.
    let behind = text[name.start.saturating_sub(4)..name.start].trim_ascii_end();
    if at(text, end) != b',' && !behind.ends_with(b",") {
        return None;
    }
    let place = before(text, name.start)?;
    let mut more = 0;
    while at(text, end) == b',' && more < MOST {
        let start = blanks(text, end + 1);
        end = ident(text, start);
        if end == start {
            return None;
        }
        end = blanks(text, end);
        more += 1;
    }
    if place + more == 0 {
        return None;
    }
    if matches!(at(text, end), b')' | b']') {
        end = blanks(text, end + 1);
    }
    if at(text, end) == b':' {
        end += 1;
    }
    if at(text, end) != b'=' || matches!(at(text, end + 1), b'=' | b'>' | b'~') {
        return None;
    }
    let mut start = blanks(text, end + 1);
    if matches!(at(text, start), b'(' | b'[' | b'{') {
        start = blanks(text, start + 1);
    }
    for _ in 0..place {
        start = blanks(text, next(text, start)? + 1);
    }
    quoted(text, start, Tie::Assign)
}

fn ident(text: &[u8], mut place: usize) -> usize {
    let limit = place + 64;
    while place < limit && (names(at(text, place)) || matches!(at(text, place), b'.' | b'@')) {
        place += 1;
    }
    place
}

/// How many names stand before this one in the same statement; `None` where they are arguments or something else.
fn before(text: &[u8], start: usize) -> Option<usize> {
    let back = |mut place: usize| {
        let floor = place.saturating_sub(16);
        while place > floor && matches!(text[place - 1], b' ' | b'\t') {
            place -= 1;
        }
        place
    };
    let mut first = start;
    let mut count = 0;
    loop {
        let end = back(first);
        if end == 0 || text[end - 1] != b',' {
            break;
        }
        let last = back(end - 1);
        let floor = last.saturating_sub(64);
        let mut begin = last;
        while begin > floor && (names(text[begin - 1]) || matches!(text[begin - 1], b'.' | b'@')) {
            begin -= 1;
        }
        count += 1;
        if begin == last || count > MOST {
            return None;
        }
        first = begin;
    }
    let end = back(first);
    let declared = |end: usize| {
        DECLARES.iter().any(|word| {
            text[..end].ends_with(word) && end.checked_sub(word.len() + 1).is_none_or(|at| !names(text[at]))
        })
    };
    let begins = match end.checked_sub(1).map(|at| text[at]) {
        None | Some(b'\n' | b';' | b'{' | b'}') => true,
        // `let (a, b)`, `(a, b)`; not `connect(a, b)`.
        Some(b'(' | b'[') => {
            let open = back(end - 1);
            open == 0 || !names(text[open - 1]) && !matches!(text[open - 1], b')' | b']') || declared(open)
        }
        _ => declared(end),
    };
    begins.then_some(count)
}

/// The comma behind the value that begins here.
fn next(text: &[u8], start: usize) -> Option<usize> {
    let mut place = quoted(text, start, Tie::Assign).map_or(start, |value| value.span.end + 1);
    let limit = text.len().min(start + 512);
    let mut depth = 0_usize;
    while place < limit {
        match text[place] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => return Some(place),
            b'\n' | b';' => return None,
            b'"' | b'\'' | b'`' if place > start => {
                place = quoted(text, place, Tie::Assign).map_or(place, |value| value.span.end);
            }
            _ => {}
        }
        place += 1;
    }
    None
}
