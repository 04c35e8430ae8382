//! Halves of characters in JSON text: an escape such as `\ud83d` is one half of a character, and without the other half
//! it is no text that UTF-8 could carry.
//!
//! Servers that cut their text by units of UTF-16 put the halves into two events of a stream: they are joined. A half
//! that stays alone becomes U+FFFD, as in every reader that does not give up.

use std::{borrow::Cow, ops::Range};

use serde_json::value::RawValue;

/// What JSON writes for U+FFFD.
const REPLACEMENT: &str = "\\ufffd";
/// An escape of one unit: `\u` and four digits.
const ESCAPE: usize = 6;

/// Mends text after text; remembers the first half of a character with which a string ended.
#[derive(Debug, Default)]
pub(super) struct Halves {
    held: Option<u16>,
}

impl Halves {
    /// `text` with what was cut joined: the first half at the end of a string waits for the second at the begin of one
    /// in a later text.
    pub(super) fn joined<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        if suspicious(text) { mended(text, &mut Some(self)) } else { Cow::Borrowed(text) }
    }
}

/// The members in which wires give the arguments of calls as they are, not in a string.
const ARGUMENTS: [&str; 2] = ["\"input\"", "\"args\""];

/// Where arguments stand that are an object, in order. Halves stay there, as they do in arguments in a string: whoever
/// reads these refuses them, and the model is told, for it is no matter of words to be shown.
fn arguments(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for key in ARGUMENTS {
        let mut at = 0;
        while let Some(begin) = text.get(at..).and_then(|rest| rest.find(key)).map(|begin| at + begin) {
            at = begin + key.len();
            let value =
                text.get(at..).unwrap_or_default().trim_start().strip_prefix(':').unwrap_or_default().trim_start();
            if !value.starts_with('{') || text.get(..begin).is_some_and(|before| before.ends_with('\\')) {
                continue;
            }
            let mut values = serde_json::Deserializer::from_str(value).into_iter::<&RawValue>();
            // What is broken is no answer anyway, and to look further would take long.
            let Some(Ok(read)) = values.next() else { break };
            at = text.len() - value.len();
            found.push(at..at + read.get().len());
            at += read.get().len();
        }
    }
    found.sort_unstable_by_key(|value| value.start);
    let mut end = 0;
    found.retain(|value| {
        let is_inside = value.start < end;
        end = end.max(value.end);
        !is_inside
    });
    found
}

/// `text` without halves of characters.
pub(super) fn whole(text: &str) -> Cow<'_, str> {
    if suspicious(text) { mended(text, &mut None) } else { Cow::Borrowed(text) }
}

/// Whether there are halves at all, with or without their others.
fn suspicious(text: &str) -> bool {
    memchr::memchr_iter(b'\\', text.as_bytes()).any(|at| unit(&text.as_bytes()[at..]).is_some_and(is_half))
}

fn mended<'a>(text: &'a str, across: &mut Option<&mut Halves>) -> Cow<'a, str> {
    let bytes = text.as_bytes();
    let arguments = arguments(text);
    let mut out = String::new();
    // Up to where `out` holds the text, where the next look goes, and where the last string opened or closed.
    let (mut copied, mut at, mut quote) = (0, 0, None);
    while let Some(found) = memchr::memchr2(b'\\', b'"', &bytes[at..]).map(|found| found + at) {
        if bytes[found] == b'"' {
            quote = Some(found);
            at = found + 1;
            continue;
        }
        let Some(half) = unit(&bytes[found..]).filter(|unit| is_half(*unit)) else {
            // What is escaped is no quote and no escape of its own.
            at = (found + 2).min(bytes.len());
            continue;
        };
        at = found + ESCAPE;
        if is_first(half) && unit(&bytes[at..]).is_some_and(is_second) {
            at += ESCAPE;
            continue;
        }
        let behind = arguments.partition_point(|value| value.start <= found);
        if behind.checked_sub(1).and_then(|at| arguments.get(at)).is_some_and(|value| value.contains(&found)) {
            continue;
        }
        out.push_str(&text[copied..found]);
        copied = at;
        let begins = quote.is_some_and(|quote| quote + 1 == found);
        match across {
            Some(halves) if is_first(half) && bytes.get(at) == Some(&b'"') => halves.held = Some(half),
            Some(halves) if begins && is_second(half) && halves.held.is_some() => {
                let joined = halves.held.take().and_then(|first| char::decode_utf16([first, half]).next()?.ok());
                out.push(joined.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            _ => out.push_str(REPLACEMENT),
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// The unit of UTF-16 that is escaped at the begin of `bytes`.
fn unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    let digits =
        std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok()
}

const fn is_first(unit: u16) -> bool {
    matches!(unit, 0xd800..=0xdbff)
}

const fn is_second(unit: u16) -> bool {
    matches!(unit, 0xdc00..=0xdfff)
}

const fn is_half(unit: u16) -> bool {
    is_first(unit) || is_second(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_halves_are_replaced_and_nothing_else_is_touched() {
        for (text, mended) in [
            (r#"{"a":"b\"\\\u00e9\n"}"#, r#"{"a":"b\"\\\u00e9\n"}"#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\uD83D\uDE00\ud83d""#, r#""\uD83D\uDE00\ufffd""#),
            (r#""\ude00a\ud83d""#, r#""\ufffda\ufffd""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            // An escaped backslash, and then letters.
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
            (r#""\ud8"#, r#""\ud8"#),
            (r#""\ud83"#, r#""\ud83"#),
            (r#""\"#, r#""\"#),
            (r#""\ud83é""#, r#""\ud83é""#),
            (r#""\u+83d""#, r#""\u+83d""#),
        ] {
            assert_eq!(whole(text), mended, "{text}");
        }
    }

    #[test]
    fn halves_in_two_texts_are_joined() {
        let mut halves = Halves::default();
        assert_eq!(halves.joined(r#"{"text":"a\ud83d"}"#), r#"{"text":"a"}"#);
        assert_eq!(halves.joined(r#"{"type":"ping"}"#), r#"{"type":"ping"}"#);
        assert_eq!(halves.joined(r#"{"text":"\ude00b"}"#), r#"{"text":"😀b"}"#);
        // No first half waits any more, or it does not stand at the begin.
        assert_eq!(halves.joined(r#"{"text":"\ude00b"}"#), r#"{"text":"\ufffdb"}"#);
        assert_eq!(halves.joined(r#"{"text":"a\ud83d"}"#), r#"{"text":"a"}"#);
        assert_eq!(halves.joined(r#"{"text":"c\ude00b"}"#), r#"{"text":"c\ufffdb"}"#);
    }
}
