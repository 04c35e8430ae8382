//! Values behind names: `password = "…"`, `"api_key": "…"`, `--token …`, `<secret>…</secret>`, `DB_PASS=…`.
//! The name says what the value would be, its form whether it is one. Each look is bounded, whatever the text.

mod before;
mod otherwise;
mod several;
mod tie;
mod told;
mod written;

use std::ops::Range;

use super::{
    name::{Kind, kind_of},
    shape, value,
};
use before::value_before;
use written::value_behind;

/// The longest value that is looked at; longer ones are taken whole once their beginning is a hit.
const LONGEST: usize = 320;

/// How a name is tied to its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tie {
    /// `=` in any of its spellings.
    Assign,
    /// `=` without space around it, as in a shell, a query, a properties file.
    Tight,
    /// `:` of YAML, JSON, headers.
    Colon,
    /// The next argument: `set("token", "…")`.
    Comma,
    /// The argument: `password("…")`.
    Call,
    /// The content of an element.
    Tag,
    /// A blank: `password "…"`, `--token …`.
    Blank,
}

/// A value as it stands.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) span: Range<usize>,
    pub(super) quoted: bool,
    pub(super) tie: Tie,
    /// Whether a bare value ends its line, and nothing but its name begins it: YAML, not code.
    pub(super) alone: bool,
    /// Whether a bare value has a user's name at its side: `{user: ada, password: …}`, `user=ada password=…`.
    pub(super) beside_user: bool,
    /// Whether it stands in a query or a form: an ampersand or a question mark is next to it.
    pub(super) sent: bool,
    /// Whether the name is that of a variable of the environment: `DB_PASSWORD`.
    pub(super) variable: bool,
    /// Whether the name is that of a setting: `app.jwt-secret`, which no language has for a variable.
    pub(super) setting: bool,
}

impl Value {
    /// A value of which nothing more is known.
    const fn new(span: Range<usize>, quoted: bool, tie: Tie) -> Self {
        Self { span, quoted, tie, alone: false, beside_user: false, sent: false, variable: false, setting: false }
    }
}

fn at(text: &[u8], place: usize) -> u8 {
    text.get(place).copied().unwrap_or(0)
}

const fn names(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'$')
}

const fn quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

/// How many backslashes stand here before a quote: text in JSON has one, JSON in JSON in JSON three.
fn escapes(text: &[u8], place: usize) -> usize {
    let count = (0..8).take_while(|ahead| at(text, place + ahead) == b'\\').count();
    if quote(at(text, place + count)) { count } else { 0 }
}

/// The name around a keyword.
pub(super) fn name_around(text: &[u8], keyword: Range<usize>) -> Range<usize> {
    let mut start = keyword.start;
    while start > 0 && keyword.start - start < 64 && (names(text[start - 1]) || text[start - 1] == b'.') {
        start -= 1;
    }
    // `\npassword`: the letter belongs to the escape.
    if start > 0 && start < keyword.start && text[start - 1] == b'\\' && matches!(text[start], b'n' | b'r' | b't') {
        start += 1;
    }
    let mut end = keyword.end;
    while end - keyword.end < 48 && (names(at(text, end)) || (at(text, end) == b'.' && names(at(text, end + 1)))) {
        end += 1;
    }
    start..end
}

fn blanks(text: &[u8], mut place: usize) -> usize {
    let limit = place + 80;
    while place < limit && matches!(at(text, place), b' ' | b'\t') {
        place += 1;
    }
    place
}

/// Blanks and line breaks, of which there may be two, escaped ones included.
fn blanks_and_breaks(text: &[u8], mut place: usize) -> usize {
    let limit = place + 120;
    let mut breaks = 0;
    while place < limit {
        match at(text, place) {
            b' ' | b'\t' | b'\r' => place += 1,
            b'\n' if breaks < 2 => {
                breaks += 1;
                place += 1;
            }
            _ => break,
        }
    }
    place
}

fn starts(text: &[u8], place: usize, with: &[u8]) -> bool {
    text.get(place..place + with.len()).is_some_and(|there| there.eq_ignore_ascii_case(with))
}

/// Judges what stands around a keyword. Gives the end of the name, so that it is read once, and the find.
pub(super) fn look(text: &[u8], keyword: Range<usize>) -> (usize, Option<Range<usize>>) {
    let name = name_around(text, keyword);
    (name.end, find(text, &name))
}

fn find(text: &[u8], name: &Range<usize>) -> Option<Range<usize>> {
    if name.start >= super::redact::MARK.len() && text[..name.start].ends_with(super::redact::MARK) {
        return None;
    }
    if let Some(span) = told::told(text, name) {
        return Some(span);
    }
    let value =
        several::value_among(text, name).or_else(|| value_behind(text, name)).or_else(|| value_before(text, name))?;
    if value.span.len() < 4 {
        return None;
    }
    let mut kind = kind_of(&text[name.clone()], value.tie == Tie::Call)?;
    if kind == Kind::Key && name.start > 1 && matches!(text[name.start - 1], b' ') {
        // "API key", "secret key": the word before says what key it is.
        let mut start = name.start - 1;
        while start > 0 && name.start - start < 24 && text[start - 1].is_ascii_alphabetic() {
            start -= 1;
        }
        let joined: Vec<u8> =
            text[start..name.end].iter().map(|byte| if *byte == b' ' { b'_' } else { *byte }).collect();
        kind = kind_of(&joined, false)?;
    }
    let found = &text[value.span.clone()];
    let sentence = name.start > 1 && text[name.start - 1] == b' ' && text[name.start - 2].is_ascii_lowercase();
    if !value.quoted
        && at(text, name.start) != b'-'
        && (value.tie == Tie::Blank || (value.tie == Tie::Colon && sentence && kind != Kind::Password))
    {
        // Prose goes on like this; only what chance wrote counts.
        let made = value::opaque(found)
            || ((kind == Kind::Secret || !text[name.clone()].iter().any(u8::is_ascii_lowercase))
                && value::hash(found)
                && !shape::stand_in(found));
        return (found.len() >= 16 && found.len() <= LONGEST && made).then(|| shape::whole(text, value.span));
    }
    let looked = &found[..found.len().min(LONGEST)];
    if value::judge(kind, looked, &text[name.clone()], &value) {
        return Some(if value.quoted { value.span } else { shape::whole(text, value.span) });
    }
    if (!value.quoted && value.tie != Tie::Tag) || value.tie == Tie::Blank {
        return None;
    }
    if value::known(looked) {
        return None;
    }
    // One word of several: `{vendor AQ oVH3…}`, `Bearer …`.
    let mut place = value.span.start;
    for word in looked.split(|byte| matches!(byte, b' ' | b'{' | b'}' | b',' | b'"' | b'\\')) {
        if word.len() != looked.len() && word.len() >= 16 && value::opaque(word) {
            return Some(shape::whole(text, place..place + word.len()));
        }
        place += word.len() + 1;
    }
    None
}
