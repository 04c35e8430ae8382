//! How a name is tied to its value, and where that begins: `name = `, `"name": `, `name=`, `<name>`, `set("name", `,
//! `- name: X` with `value:` behind it. Languages and formats differ here more than anywhere.

use std::ops::Range;

use super::{Tie, at, blanks, blanks_and_breaks, escapes, quote, starts};
use crate::names as lists;
use crate::sensitivity::{
    name::{Kind, kind_of},
    shape,
};

/// Finds where the value behind a name begins, and how it is tied.
pub(super) fn tie(text: &[u8], name: &Range<usize>) -> Option<(usize, Tie)> {
    let mut place = name.end;
    let mut closed = false;
    for _ in 0..3 {
        match at(text, place) {
            b'\\' if escapes(text, place) > 0 => {
                place += escapes(text, place) + 1;
                closed = true;
            }
            byte if quote(byte) => {
                place += 1;
                closed = true;
            }
            b']' if closed || indexes(text, name) => place += 1,
            _ => break,
        }
    }
    // `variable "db_password" {`, and its default on a line of its own.
    if closed && at(text, blanks(text, place)) == b'{' && text[..name.start].ends_with(b"variable \"") {
        return default_within(text, blanks(text, place) + 1).map(|value| (value, Tie::Assign));
    }
    // `<Password Value="…"/>`
    if !closed
        && name.start > 0
        && text[name.start - 1] == b'<'
        && at(text, place) == b' '
        && let Some(value) = value_attribute(text, blanks(text, place))
    {
        return Some((value, Tie::Assign));
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
        // `v-model="form.password" :rules="rules"`: the next attribute.
        b":" if closed && !tight && at(text, end).is_ascii_alphabetic() => None,
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
        b">" if closed => {
            // `<property name="password"><value>…`
            let next = blanks_and_breaks(text, end);
            Some((if starts(text, next, b"<value>") { next + 7 } else { end }, Tie::Tag))
        }
        b">" => Some((end, Tie::Tag)),
        // `<password><![CDATA[…`
        [b'>', b'<', b'!'] if !closed && starts(text, place + 1, b"<![CDATA[") => Some((place + 1, Tie::Tag)),
        [b'>', b'<'] if closed && starts(text, place + 1, b"<value>") => Some((place + 8, Tie::Tag)),
        b"" => match at(text, place) {
            // PHP writes `s:8:"password";s:6:"…"`.
            b';' if closed => serialized(text, place + 1).map(|value| (value, Tie::Assign)),
            b',' if closed && name.start > 0 && quote(text[name.start - 1]) => {
                // `"name": "DB_PASSWORD", "value": "…"`
                let next = blanks_and_breaks(text, place + 1);
                if let Some(value) = value_attribute(text, next) {
                    return Some((value, Tie::Assign));
                }
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
                Some((place + 1, Tie::Comma))
            }
            // `setopt(curl, CURLOPT_PASSWORD, "…")`
            // `set :session_secret, "…"` gives it to a symbol.
            b',' if !closed
                && place == before
                && (constant(text[name.clone()].rsplit(|byte| *byte == b'.').next().unwrap_or_default())
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

/// `auth[:token]`, `$config[$passcode]`: a name that is an index without quotes.
fn indexes(text: &[u8], name: &Range<usize>) -> bool {
    let before = &text[..name.start];
    before.ends_with(b"[:") || before.ends_with(b"[") && text[name.start] == b'$'
}

/// `default = "…"` among the next lines, before the brace closes.
fn default_within(text: &[u8], start: usize) -> Option<usize> {
    let mut place = start;
    for _ in 0..6 {
        let next = blanks_and_breaks(text, place);
        if starts(text, next, b"default") {
            return value_attribute(text, next);
        }
        let line = text.get(next..text.len().min(next + 200))?;
        if line.first() == Some(&b'}') {
            return None;
        }
        place = next + line.iter().position(|byte| *byte == b'\n')?;
    }
    None
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
pub(super) fn constant(name: &[u8]) -> bool {
    name.contains(&b'_') && name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// Where the value begins behind `value=` or `"value":`.
fn value_attribute(text: &[u8], place: usize) -> Option<usize> {
    let place = place + escapes(text, place);
    let place = if quote(at(text, place)) { place + 1 } else { place };
    let named =
        [&b"value"[..], b"defaultvalue", b"default", b"content"].into_iter().find(|word| starts(text, place, word))?;
    let mut end = place + named.len();
    end += escapes(text, end);
    if quote(at(text, end)) {
        end += 1;
    }
    let end = blanks(text, end);
    matches!(at(text, end), b':' | b'=').then(|| end + 1)
}

pub(super) fn wrapper(callee: &[u8]) -> bool {
    if callee == b"[]byte" || callee == b"N" || callee == b"T" {
        return callee != b"T";
    }
    let words = shape::words(callee, 8);
    words.last().is_some_and(|word| lists::has("secret_values.wrappers", word))
        && !words.iter().any(|word| lists::has("secret_values.looking_up", word))
}
