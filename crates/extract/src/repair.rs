//! Broken JSON made valid, for anyone who has a model's answer in hand. The automaton that reads calls does the work;
//! here the JSON is found in the text around it. The result is always valid JSON, valid JSON stays byte for byte (but
//! for the escape of half a surrogate pair, which no UTF-8 can carry: it becomes that of U+FFFD), time is linear, and
//! what was done is said with the bytes it was done to.

use super::{
    event::Span,
    json::{Json, Looks, Mend, begins_container, is_scalar, quoted_key},
};

/// Nothing that is nested deeper survives: no reader in wide use takes more.
const DEEPEST: usize = 127;

/// One thing that was put right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Repair {
    /// What it was.
    pub what: Mend,
    /// The bytes of the text that it was done to; empty where something was added.
    pub span: Span,
}

/// What became of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// Valid JSON.
    pub json: String,
    /// What was put right, in the order of the text; empty if it was valid.
    pub repairs: Vec<Repair>,
    /// Whether the JSON had come to its end. If not the text was cut off, and the last value may be a part of what was
    /// meant.
    pub complete: bool,
}

/// Makes valid JSON of a text that holds JSON, or something near it. Text without any becomes a JSON string; nothing
/// becomes `null`.
///
/// Nesting deeper than 127 becomes `null`, which the repairs tell.
pub fn repair_json(text: &str) -> Repaired {
    let bytes = text.as_bytes();
    let mut repairs = Vec::new();
    let found = find(bytes);
    let mut out = Vec::new();

    let Some(found) = found else {
        let trimmed = text.trim_ascii();
        let start = text.len() - text.trim_ascii_start().len();
        if trimmed.is_empty() {
            note(&mut repairs, Mend::MissingValue, 0, text.len());
            return Repaired { json: "null".to_owned(), repairs, complete: false };
        }
        note(&mut repairs, Mend::UnquotedText, start, start + trimmed.len());
        return Repaired { json: serde_json::Value::from(trimmed).to_string(), repairs, complete: true };
    };
    if bytes.get(..found.start).unwrap_or_default().iter().all(|byte| blank(*byte)) {
        out.extend_from_slice(bytes.get(..found.start).unwrap_or_default());
    } else if let Some((before, fence)) = found.fence {
        if before > 0 {
            note(&mut repairs, Mend::Around, 0, before);
        }
        note(&mut repairs, Mend::Fence, before, fence);
    } else {
        note(&mut repairs, if text.starts_with('\u{feff}') { Mend::Stray } else { Mend::Around }, 0, found.start);
    }

    let closers: &[&str] = if found.fence.is_some() { &["```"] } else { &[] };
    let mut at = found.start;
    let first = out.len();
    let mut several = false;
    let mut deepest = DEEPEST;
    let mut complete;
    loop {
        let mut json = Json::whole(deepest, closers, at);
        if !several {
            json.expect(bytes.len() - at);
        }
        if found.bare {
            json.open_object();
        }
        let read = json.run(bytes.get(at..).unwrap_or_default(), true);
        complete = json.closed();
        json.finish();
        let (value, notes) = json.into_text();
        // Values one after another, as in a file of lines.
        let rest = bytes.get(at + read..).unwrap_or_default();
        let gap = rest.iter().take_while(|byte| blank(**byte) || matches!(byte, b',' | b';')).count();
        let next = rest.get(gap..).unwrap_or_default();
        let another = complete && next.first() == bytes.get(found.start) && begins_container(next);
        // The list around them is a level of its own, of which the first knew nothing when it was read.
        if another && !several && nesting(&value) == DEEPEST {
            deepest = DEEPEST - 1;
            continue;
        }
        // Nearly always there is one value and nothing before it: it isn't copied, and neither is what is said of it.
        if out.is_empty() {
            out = value;
        } else {
            out.extend_from_slice(&value);
        }
        let notes =
            notes.into_iter().map(|done| Repair { what: done.what, span: Span { start: done.start, end: done.end } });
        if repairs.is_empty() {
            repairs = notes.collect();
        } else {
            repairs.extend(notes);
        }
        at += read;
        if !another {
            break;
        }
        if !several {
            several = true;
            deepest = DEEPEST - 1;
            out.insert(first, b'[');
        }
        note(&mut repairs, Mend::Several, at, at + gap);
        out.push(b',');
        at += gap;
    }
    if several {
        out.push(b']');
    }
    after(bytes, at, found.fence.is_some(), &mut out, &mut repairs);
    let json = String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Repaired { json, repairs, complete }
}

fn note(repairs: &mut Vec<Repair>, what: Mend, start: usize, end: usize) {
    repairs.push(Repair { what, span: Span { start, end } });
}

/// Says what stands behind the JSON.
fn after(bytes: &[u8], mut at: usize, fenced: bool, out: &mut Vec<u8>, repairs: &mut Vec<Repair>) {
    let rest = |at: usize| bytes.get(at..).unwrap_or_default();
    if rest(at).iter().all(|byte| blank(*byte)) {
        out.extend_from_slice(rest(at));
        return;
    }
    let gap = |at: usize| rest(at).iter().take_while(|byte| blank(**byte)).count();
    loop {
        let next = at + gap(at);
        match bytes.get(next) {
            Some(b'}' | b']') => {
                note(repairs, Mend::ExtraCloser, next, next + 1);
                at = next + 1;
            }
            Some(b'`') if fenced && rest(next).starts_with(b"```") => {
                note(repairs, Mend::Fence, at, next + 3);
                at = next + 3;
                break;
            }
            _ => break,
        }
    }
    let next = at + gap(at);
    if next < bytes.len() {
        note(repairs, Mend::Around, next, bytes.len());
    }
}

/// How deep valid JSON is nested.
fn nesting(json: &[u8]) -> usize {
    let (mut deep, mut most, mut at) = (0_usize, 0, 0);
    while let Some(&byte) = json.get(at) {
        match byte {
            b'{' | b'[' => {
                deep += 1;
                most = most.max(deep);
            }
            b'}' | b']' => deep = deep.saturating_sub(1),
            b'"' => match json.get(at..).and_then(string_end) {
                Some(length) => at += length - 1,
                None => break,
            },
            _ => {}
        }
        at += 1;
    }
    most
}

fn blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// Where the JSON begins.
struct Found {
    start: usize,
    /// Where the code fence around it begins and ends.
    fence: Option<(usize, usize)>,
    /// The opening brace is missing.
    bare: bool,
}

fn find(bytes: &[u8]) -> Option<Found> {
    let mark = if bytes.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
    let blanks = |at: usize| bytes.get(at..).unwrap_or_default().iter().take_while(|byte| blank(**byte)).count();
    let start = mark + blanks(mark);
    let rest = bytes.get(start..).unwrap_or_default();
    let plain = |start| Some(Found { start, fence: None, bare: false });
    match rest.first()? {
        b'{' | b'[' => return plain(start),
        b'"' => {
            if quoted_key(rest.get(1..).unwrap_or_default(), true, &mut Looks::default()) == Some(true) {
                return Some(Found { start, fence: None, bare: true });
            }
            if let Some(end) = string_end(rest)
                && rest.get(end..).unwrap_or_default().iter().all(|byte| blank(*byte))
            {
                return plain(start);
            }
        }
        _ if is_scalar(rest.trim_ascii_end()) => return plain(start),
        _ => {}
    }
    // Somewhere in the text.
    let container = memchr::memchr2_iter(b'{', b'[', rest)
        .find(|&at| begins_container(rest.get(at..).unwrap_or_default()))
        .map(|at| start + at);
    let Some(begin) = container else {
        return if matches!(rest.first(), Some(b'"' | b'\'' | b'`')) || rest.starts_with("“".as_bytes()) {
            plain(start)
        } else {
            None
        };
    };
    Some(Found { start: begin, fence: fence(bytes.get(..begin).unwrap_or_default()), bare: false })
}

/// The code fence that `before` ends with.
fn fence(before: &[u8]) -> Option<(usize, usize)> {
    let text = before.trim_ascii_end();
    let word = text.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let ticks = text.get(..text.len() - word)?;
    let count = ticks.iter().rev().take_while(|byte| **byte == b'`').count();
    (count >= 3).then(|| (ticks.len() - count, before.len()))
}

/// Where the string at the front ends.
fn string_end(rest: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        let next = at + memchr::memchr2(b'"', b'\\', rest.get(at..)?)?;
        if rest.get(next) == Some(&b'"') {
            return Some(next + 1);
        }
        at = next + 2;
    }
}

#[cfg(test)]
mod tests;
