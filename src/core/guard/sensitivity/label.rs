//! Values behind names: `password = "…"`, `"api_key": "…"`, `--token …`, `<secret>…</secret>`, `DB_PASS=…`.
//! The name says what the value would be, its form whether it is one. Each look is bounded, whatever the text.

use std::ops::Range;

use super::{
    name::{Kind, kind_of},
    shape, value,
};

/// What wakes this detector.
pub(super) const KEYWORDS: &[&str] =
    &["pass", "pwd", "psw", "secret", "token", "key", "auth", "cred", "access", "private", "contrasen", "pw", "ticket"];

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

/// Finds where the value behind a name begins, and how it is tied.
fn tie(text: &[u8], name: &Range<usize>) -> Option<(usize, Tie)> {
    let mut place = name.end;
    let mut closed = false;
    for _ in 0..3 {
        match at(text, place) {
            b'\\' if quote(at(text, place + 1)) => {
                place += 2;
                closed = true;
            }
            byte if quote(byte) => {
                place += 1;
                closed = true;
            }
            b']' if closed => place += 1,
            _ => break,
        }
    }
    // `<Pass encoding="base64">…`
    if !closed && name.start > 0 && text[name.start - 1] == b'<' && at(text, place) == b' ' {
        let end = text.len().min(place + 60);
        let close = text[place..end].iter().position(|byte| matches!(byte, b'>' | b'<' | b'\n'))?;
        if text[place + close] == b'>' && text[place + close - 1] != b'/' {
            return Some((place + close + 1, Tie::Tag));
        }
    }
    let before = place;
    place = blanks(text, place);
    // `var token string = "…"`, `char secret[25] = "…"`.
    for kind in [&b"string"[..], b"str", b"const"] {
        if starts(text, place, kind) && matches!(at(text, place + kind.len()), b' ' | b'=') && place > before {
            place = blanks(text, place + kind.len());
        }
    }
    if at(text, place) == b'[' && !closed {
        let mut end = place + 1;
        while end - place < 8 && (at(text, end).is_ascii_alphanumeric() || matches!(at(text, end), b'"' | b'\'')) {
            end += 1;
        }
        if at(text, end) == b']' {
            place = blanks(text, end + 1);
        }
    }
    let mut end = place;
    while end - place < 5
        && matches!(at(text, end), b'=' | b':' | b'!' | b'?' | b'+' | b'.' | b'|' | b'<' | b'>' | b'-' | b'~')
    {
        end += 1;
    }
    let tight = place == before;
    let assign = |end: usize| {
        let tight = tight && !matches!(at(text, end), b' ' | b'\t' | b'\n' | b'\r');
        Some((end, if tight { Tie::Tight } else { Tie::Assign }))
    };
    match text.get(place..end)? {
        // `key=-v`, `key=.x`: what is behind the sign belongs to the value.
        [b'=', b'-' | b'.' | b'+' | b'?' | b'!' | b'~' | b'<' | b'|' | b':', ..] => assign(place + 1),
        b"=" | b":=" | b"::=" | b":::=" | b"?=" | b"+=" | b".=" | b"||=" | b"|=" | b"==" | b"===" | b"!=" | b"!=="
        | b"??=" => assign(end),
        b"=>" | b"->" | b"<-" | b"||" | b"::" | b":>" | b"<<" => Some((end, Tie::Assign)),
        b":" | b":-" | b":+" => {
            let mut start = place + 1;
            // Helm, compose and shells: `${PASSWORD:-value}`.
            if end == place + 2 && name.start > 0 && text[name.start - 1] == b'{' {
                start = end;
            }
            // `token: str = "…"`.
            let mut typed = blanks(text, start);
            let type_start = typed;
            while typed - type_start < 40
                && (at(text, typed).is_ascii_alphanumeric()
                    || matches!(
                        at(text, typed),
                        b'_' | b'&' | b'<' | b'>' | b'[' | b']' | b'.' | b'?' | b'|' | b' ' | b'\''
                    ))
            {
                typed += 1;
            }
            if typed > type_start
                && at(text, typed) == b'='
                && at(text, typed + 1) != b'='
                && text[type_start].is_ascii_alphabetic()
                && !quote(at(text, type_start))
            {
                let value = blanks(text, typed + 1);
                // Not `token: abc=`, the padding of base64, and not YAML's `a: b=c`.
                if quote(at(text, value)) || (at(text, typed - 1) == b' ' && value > typed + 1) {
                    return Some((typed + 1, Tie::Assign));
                }
            }
            Some((start, Tie::Colon))
        }
        b"-" if place > before && at(text, end) == b' ' && quote(at(text, end + 1)) => Some((end, Tie::Blank)),
        b">" => Some((end, Tie::Tag)),
        b"" => match at(text, place) {
            // PHP writes `s:8:"password";s:6:"…"`.
            b';' if closed => serialized(text, place + 1).map(|value| (value, Tie::Assign)),
            b',' if closed && name.start > 0 && quote(text[name.start - 1]) => {
                // `"user": "the password", "next": …`: a value, not a name. In a row of texts each is one of many.
                let mut before = name.start - 1;
                while before > 0 && matches!(text[before - 1], b' ' | b'\t' | b'\\' | b'b' | b'@') {
                    before -= 1;
                }
                if before > 0 && matches!(text[before - 1], b':' | b'=' | b'+' | b'.') {
                    return None;
                }
                if before > 1 && text[before - 1] == b',' && quote(text[before - 2]) {
                    return None;
                }
                let next = blanks_and_breaks(text, place + 1);
                Some(value_attribute(text, next).map_or((place + 1, Tie::Comma), |value| (value, Tie::Assign)))
            }
            // `setopt(curl, CURLOPT_PASSWORD, "…")`
            // `set :session_secret, "…"` gives it to a symbol.
            b',' if !closed
                && place == before
                && (constant(&text[name.clone()])
                    || name.start > 0
                        && text[name.start - 1] == b':'
                        && kind_of(&text[name.clone()], false) == Some(Kind::Secret)) =>
            {
                let next = blanks(text, place + 1);
                quote(at(text, next)).then_some((place + 1, Tie::Comma))
            }
            b'(' if !closed && place == before => Some((place + 1, Tie::Call)),
            byte if (quote(byte) || (byte == b'@' && at(text, place + 1) == b'"')) && place > before => {
                Some((place, Tie::Blank))
            }
            b'\n' | b'\r' => {
                let next = blanks_and_breaks(text, place);
                value_attribute(text, next).map(|value| (value, Tie::Colon))
            }
            _ if closed && value_attribute(text, place).is_some() => {
                value_attribute(text, place).map(|value| (value, Tie::Assign))
            }
            b'i' if starts(text, place, b"is ") && place > before => Some((place + 3, Tie::Blank)),
            byte if place > before && byte.is_ascii_alphanumeric() => Some((place, Tie::Blank)),
            _ => None,
        },
        _ => None,
    }
}

/// Where the text begins behind `s:16:`, as PHP writes it.
fn serialized(text: &[u8], place: usize) -> Option<usize> {
    if !starts(text, place, b"s:") {
        return None;
    }
    let digits = text.get(place + 2..)?.iter().take(5).take_while(|byte| byte.is_ascii_digit()).count();
    let end = place + 2 + digits;
    (digits > 0 && at(text, end) == b':').then_some(end + 1)
}

/// `CURLOPT_PASSWORD`: the name of an option.
fn constant(name: &[u8]) -> bool {
    name.contains(&b'_') && name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// Where the value begins behind `value=` or `"value":`.
fn value_attribute(text: &[u8], place: usize) -> Option<usize> {
    let place = if at(text, place) == b'\\' { place + 1 } else { place };
    let place = if quote(at(text, place)) { place + 1 } else { place };
    let named =
        [&b"value"[..], b"defaultvalue", b"default", b"content"].into_iter().find(|word| starts(text, place, word))?;
    let mut end = place + named.len();
    if at(text, end) == b'\\' {
        end += 1;
    }
    if quote(at(text, end)) {
        end += 1;
    }
    let end = blanks(text, end);
    matches!(at(text, end), b':' | b'=').then(|| end + 1)
}

/// Words that end the name of a function which hands its text on.
#[rustfmt::skip] // words, not code
const WRAPPERS: &[&str] = &[
    "byte", "bytes", "string", "str", "from", "decode", "b64decode", "b64encode", "encode", "secret", "value",
    "key", "credential", "quote", "new", "literal", "unhexlify", "fromhex", "utf8", "parse", "text", "raw", "hex",
    "base64", "password", "token", "of", "array", "sha256", "md5", "buffer", "char", "set", "some", "just",
    "option", "ok",
];

fn wrapper(callee: &[u8]) -> bool {
    if callee == b"[]byte" || callee == b"N" || callee == b"T" {
        return callee != b"T";
    }
    let words = shape::words(callee, 8);
    words.last().is_some_and(|word| WRAPPERS.contains(&word.as_str()))
        && !words.iter().any(|word| {
            matches!(
                word.as_str(),
                "get" | "getenv" | "env" | "find" | "lookup" | "fetch" | "load" | "read" | "by" | "i18n" | "translate"
            )
        })
}

/// Reads the value behind a name.
pub(super) fn value_behind(text: &[u8], name: &Range<usize>) -> Option<Value> {
    let Some((start, tie)) = tie(text, name) else { return value_before(text, name) };
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
        return Some(Value { span, quoted: true, tie, alone: false, beside_user: false, sent: false, variable: false });
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
            return None;
        }
        inner = blanks(text, end + 1);
        if let Some(value) = quoted(text, inner, tie) {
            return Some(value);
        }
    }
    if matches!(tie, Tie::Call | Tie::Comma) {
        return None;
    }
    let mut value = bare(text, place, tie)?;
    let rest = blanks(text, value.span.end);
    let line = text[..name.start]
        .iter()
        .rev()
        .take(40)
        .take_while(|byte| **byte != b'\n')
        .all(|byte| matches!(byte, b' ' | b'\t' | b'-' | b'#'));
    value.variable = constant(&text[name.clone()]);
    value.sent = tie == Tie::Tight
        && (at(text, value.span.end) == b'&' || name.start > 0 && matches!(text[name.start - 1], b'&' | b'?'));
    value.beside_user = beside_user(text, name.start, value.span.end, tie);
    value.alone = line && matches!(at(text, rest), 0 | b'\n' | b'\r' | b'#') && at(text, value.span.end) != b'#';
    Some(value)
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
    match tie {
        Tie::Tight => named(b'=') && matches!(at(text, end), 0 | b' ' | b'"' | b'\'' | b'\n' | b',' | b';'),
        Tie::Colon => {
            let braces = start > 0 && before.get(start - 1) == Some(&b'{');
            braces && named(b':') && matches!(at(text, blanks(text, end)), b'}' | b',')
        }
        _ => false,
    }
}

fn quoted(text: &[u8], mut place: usize, tie: Tie) -> Option<Value> {
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
    let escaped = at(text, place) == b'\\' && quote(at(text, place + 1));
    let open = at(text, place + usize::from(escaped));
    if !quote(open) {
        return None;
    }
    let mut start = place + usize::from(escaped) + 1;
    // Two of them, as reStructuredText has it.
    if !escaped && open == b'`' && at(text, start) == b'`' && at(text, start + 1) != b'`' {
        start += 1;
    }
    let triple = !escaped && at(text, start) == open && at(text, start + 1) == open;
    if triple {
        start += 2;
        while matches!(at(text, start), b'\n' | b'\r') {
            start += 1;
        }
    }
    let limit = text.len().min(start + 4096);
    let mut end = start;
    while end < limit {
        match text[end] {
            b'\\' if escaped && text.get(end + 1) == Some(&open) => break,
            b'\\' if !escaped && open != b'`' => end += 1,
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
    Some(Value { span: start..end, quoted: true, tie, alone: false, beside_user: false, sent: false, variable: false })
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
    let limit = text.len().min(start + LONGEST);
    let mut end = start;
    while end < limit {
        match text[end] {
            b' ' | b'\t' | b'"' | b'\'' | b'`' | b'\\' | b',' | b';' | b'&' if tie == Tie::Tag => end += 1,
            // `password: 1t'sB1g`: a quote within, and none after it.
            b'\'' if matches!(tie, Tie::Colon | Tie::Tight) && end > start && lone_quote(text, end) => end += 1,
            b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'\\' | b'<' | b',' | b';' | b'&' => break,
            b'[' if text[end..].starts_with(super::redact::MARK) => break,
            _ => end += 1,
        }
    }
    if tie == Tie::Tag && at(text, blanks_and_breaks(text, end)) != b'<' {
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
    (end > start).then_some(Value {
        span: start..end,
        quoted: false,
        tie,
        alone: false,
        beside_user: false,
        sent: false,
        variable: false,
    })
}

/// The text before a name that is held against it: `"…" == password`.
fn value_before(text: &[u8], name: &Range<usize>) -> Option<Value> {
    let mut place = name.start;
    while place > 0 && text[place - 1] == b' ' {
        place -= 1;
    }
    let mut signs = 0;
    while place > 0 && signs < 3 && matches!(text[place - 1], b'=' | b'!') {
        place -= 1;
        signs += 1;
    }
    if signs < 2 {
        return None;
    }
    while place > 0 && text[place - 1] == b' ' {
        place -= 1;
    }
    let end = place.checked_sub(1)?;
    let close = text[end];
    if !quote(close) {
        return None;
    }
    let floor = end.saturating_sub(200);
    let start = memchr::memrchr(close, &text[floor..end])? + floor + 1;
    (start < end && memchr::memchr(b'\n', &text[start..end]).is_none()).then_some(Value {
        span: start..end,
        quoted: true,
        tie: Tie::Assign,
        alone: false,
        beside_user: false,
        sent: false,
        variable: false,
    })
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
    let value = value_behind(text, name)?;
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
        return (found.len() >= 16 && found.len() <= LONGEST && made).then_some(value.span);
    }
    let looked = &found[..found.len().min(LONGEST)];
    if value::judge(kind, looked, &text[name.clone()], &value) {
        return Some(value.span);
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
            return Some(place..place + word.len());
        }
        place += word.len() + 1;
    }
    None
}
