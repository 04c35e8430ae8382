//! Text without what it should not hold: each hit becomes a mark that names its detector.
//!
//! What comes out holds no hit at or above `Sensitive`, and redacting it again changes nothing.

use std::{borrow::Cow, fmt::Write as _};

use serde_json::Value;

use super::{Hit, Level, scan};

/// How a mark begins; it ends with `]`.
pub(super) const MARK: &[u8] = b"[redacted:";

/// Rounds before whole lines are taken out: a mark may bring a hit to light that a longer one hid.
const ROUNDS: usize = 4;

/// A text without its hits, and what they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted {
    /// The text, with marks.
    pub text: String,
    /// What was replaced, with spans in the text as it was given.
    pub hits: Vec<Hit>,
}

/// The text without its hits.
pub fn redact(text: &str) -> String {
    redact_with_hits(text).text
}

/// The text without its hits, and what they were.
pub fn redact_with_hits(text: &str) -> Redacted {
    redact_from(text, Level::Sensitive)
}

/// The text without what opens something, and the level of what is left. What belongs to persons stays.
pub fn without_secrets(text: &str) -> (Cow<'_, str>, Level) {
    let hits = scan::hits(text, Level::Sensitive);
    if hits.is_empty() {
        return (Cow::Borrowed(text), Level::Normal);
    }
    if hits.iter().all(|hit| hit.level < Level::Secret) {
        return (Cow::Borrowed(text), Level::Sensitive);
    }
    let text = redact_from(text, Level::Secret).text;
    let level = if scan::hits(&text, Level::Sensitive).is_empty() { Level::Normal } else { Level::Sensitive };
    (Cow::Owned(text), level)
}

fn redact_from(text: &str, least: Level) -> Redacted {
    let hits = scan::hits(text, least);
    if hits.is_empty() {
        return Redacted { text: text.to_owned(), hits };
    }
    let mut out = replace(text, &hits);
    for _ in 0..ROUNDS {
        let more = scan::hits(&out, least);
        if more.is_empty() {
            return Redacted { text: out, hits };
        }
        out = replace(&out, &more);
    }
    // Text made to resist: lines go as a whole, in the end everything.
    let more = scan::hits(&out, least);
    if !more.is_empty() {
        out = without_lines(&out, &more);
        if !scan::hits(&out, least).is_empty() {
            "[redacted]".clone_into(&mut out);
        }
    }
    Redacted { text: out, hits }
}

fn replace(text: &str, hits: &[Hit]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for hit in hits {
        if hit.span.end <= done {
            continue;
        }
        let start = hit.span.start.max(done);
        out.push_str(text.get(done..start).unwrap_or_default());
        // Two that overlap share a mark.
        if hit.span.start >= done || done == 0 {
            let _ = write!(out, "[redacted:{}]", hit.detector);
        }
        done = hit.span.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

fn without_lines(text: &str, hits: &[Hit]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut hits = hits.iter().peekable();
    let mut start = 0;
    let mut until = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        let mut hit = start < until;
        while let Some(next) = hits.peek() {
            if next.span.start >= end {
                break;
            }
            hit = true;
            until = until.max(next.span.end);
            hits.next();
        }
        out.push_str(if hit { if line.ends_with('\n') { "[redacted]\n" } else { "[redacted]" } } else { line });
        start = end;
    }
    out
}

/// A JSON text, or lines of JSON as a journal has, without their hits: for people to read and to pass on.
///
/// It stays JSON. Labels count over strings (`"password": "…"`), in JSON inside strings too.
pub fn redact_json(text: &str) -> String {
    // One line is what it is, whether it is JSON or not.
    if text.find('\n').is_none_or(|end| end + 1 == text.len()) {
        return redact_value(text);
    }
    let mut out = String::with_capacity(text.len());
    let lines = text.split_inclusive('\n');
    if lines.clone().all(|line| line.trim().is_empty() || is_json(line)) {
        for line in lines {
            out.push_str(&redact_value(line));
        }
        return out;
    }
    redact_value(text)
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

fn redact_value(text: &str) -> String {
    let redacted = redact(text);
    if redacted == text || !is_json(text) || is_json(&redacted) {
        return redacted;
    }
    // A mark that broke the JSON: string by string, then.
    let Ok(mut value) = serde_json::from_str::<Value>(text) else { return redacted };
    let mut open = vec![&mut value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(string) => *string = redact(string),
            Value::Number(number) => {
                let digits = number.to_string();
                let mark = redact(&digits);
                if mark != digits {
                    *value = Value::String(mark);
                }
            }
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values_mut()),
            Value::Null | Value::Bool(_) => {}
        }
    }
    let end = if text.ends_with('\n') { "\n" } else { "" };
    let strings = format!("{value}{end}");
    // What only shows between a name and its value goes with the strings around it.
    if scan::hits(&strings, Level::Sensitive).is_empty() { strings } else { format!("\"[redacted]\"{end}") }
}
