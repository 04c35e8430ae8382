//! Brace expansion: `{a,b}` and `{1..3}`, as the shell does it before all else.
//! What it makes is bounded, whatever the text.

use super::{MAX_FIELDS, closing, until};

/// Brace expansion: `{a,b}` and `{1..3}`. Whether some were left off comes with it.
pub(super) fn braces(raw: &str) -> (Vec<String>, bool) {
    let mut done = Vec::new();
    let mut open = vec![raw.to_owned()];
    let mut steps = 0;
    if !raw.contains('{') {
        return (open, false);
    }
    while let Some(text) = open.pop() {
        steps += 1;
        if steps > 2 * MAX_FIELDS || done.len() + open.len() > MAX_FIELDS {
            done.push(text);
            done.extend(open.into_iter().rev());
            done.truncate(MAX_FIELDS);
            return (done, true);
        }
        match first_brace(&text) {
            Some((start, end, parts)) => {
                open.extend(parts.iter().rev().map(|part| format!("{}{part}{}", &text[..start], &text[end..])));
            }
            None => done.push(text),
        }
    }
    (done, false)
}

/// The first brace that expands: where it stands and its alternatives.
fn first_brace(text: &str) -> Option<(usize, usize, Vec<String>)> {
    // Where each open brace stands, and whether it has alternatives so far.
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut found: Option<(usize, usize)> = None;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let next = at + c.len_utf8();
        at = match c {
            '\\' => next + text[next..].chars().next().map_or(0, char::len_utf8),
            '\'' => next + text[next..].find('\'').map_or(text.len() - next, |end| end + 1),
            '"' => next + until(&text[next..], '"'),
            '`' => next + until(&text[next..], '`'),
            '$' if text[next..].starts_with('(') => next + 1 + closing(&text[next + 1..], '(', ')'),
            '$' if text[next..].starts_with('{') => next + 1 + closing(&text[next + 1..], '{', '}'),
            '{' => {
                open.push((at, false));
                next
            }
            ',' => {
                open.iter_mut().next_back().into_iter().for_each(|(_, parts)| *parts = true);
                next
            }
            '.' if text[next..].starts_with('.') => {
                open.iter_mut().next_back().into_iter().for_each(|(_, parts)| *parts = true);
                next
            }
            '}' => {
                if let Some((start, true)) = open.pop()
                    && found.is_none_or(|(first, _)| start < first)
                {
                    found = Some((start, next));
                }
                next
            }
            _ => next,
        };
    }
    let (start, end) = found?;
    let parts = alternatives(&text[start + 1..end - 1])?;
    Some((start, end, parts))
}

fn alternatives(inner: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let (mut start, mut at, mut depth) = (0, 0, 0_usize);
    while let Some(c) = inner[at..].chars().next() {
        let next = at + c.len_utf8();
        at = match c {
            '\\' => next + inner[next..].chars().next().map_or(0, char::len_utf8),
            '\'' => next + inner[next..].find('\'').map_or(inner.len() - next, |end| end + 1),
            '"' => next + until(&inner[next..], '"'),
            '$' if inner[next..].starts_with('{') => next + 1 + closing(&inner[next + 1..], '{', '}'),
            '{' => {
                depth += 1;
                next
            }
            '}' => {
                depth = depth.saturating_sub(1);
                next
            }
            ',' if depth == 0 => {
                parts.push(inner[start..at].to_owned());
                start = next;
                next
            }
            _ => next,
        };
    }
    if !parts.is_empty() {
        parts.push(inner[start..].to_owned());
        return Some(parts);
    }
    let (from, to) = inner.split_once("..")?;
    if let (Ok(from), Ok(to)) = (from.parse::<i64>(), to.parse::<i64>()) {
        let (low, high) = (from.min(to), from.max(to));
        let high = high.min(low.saturating_add(256));
        return Some((low..=high).map(|number| number.to_string()).collect());
    }
    match (from.as_bytes(), to.as_bytes()) {
        ([from @ b'a'..=b'z'], [to @ b'a'..=b'z']) | ([from @ b'A'..=b'Z'], [to @ b'A'..=b'Z']) => {
            Some((*from.min(to)..=*from.max(to)).map(|byte| char::from(byte).to_string()).collect())
        }
        _ => None,
    }
}
