//! Values in results that are new at every call though nothing else is: ids of messages, clocks, numbers of processes.
//!
//! They are told by the names before them: those of `noise.toml`, and those that a tool declares. What other values
//! say is learned from the results before (see `learned`).

use std::{borrow::Cow, sync::LazyLock};

use loopwright_base::lists::{Lists, list, lists};

use super::{
    noise::{GONE, is_word, next_digit, run_start},
    role::{LONGEST_NAME, Role, folded, role_of},
};

/// Words by which results and errors are read.
pub(super) static WORDS: LazyLock<Lists> = LazyLock::new(|| lists(include_str!("noise.toml")));

/// So many signs may stand between a name and its value: `"pid": "`.
const BETWEEN: usize = 5;

const fn is_part(b: u8) -> bool {
    is_word(b) || matches!(b, b'-' | b'.' | b'@' | b'+')
}

/// The text without those values; `own` are the names that a tool declares.
pub(super) fn mask<'a>(text: &'a [u8], own: &[String]) -> Cow<'a, [u8]> {
    let mut out: Vec<u8> = Vec::new();
    let mut at = 0;
    let mut from = 0;
    while let Some(begin) = next_value(text, from, own) {
        let (start, mut end, _) = value_around(text, at.max(from.saturating_sub(1)), begin);
        if name_before(text, start).is_some_and(|name| is_volatile(name, own)) {
            // A quoted value goes on up to its quotation mark.
            if start > 0 && matches!(text[start - 1], b'"' | b'\'' | b'<') {
                let close = if text[start - 1] == b'<' { b'>' } else { text[start - 1] };
                end += text[end..].iter().take(64).position(|b| *b == close).unwrap_or(0);
            }
            out.extend_from_slice(&text[at..start]);
            out.push(GONE);
            at = end;
        }
        from = end.max(begin + 1);
    }
    if at == 0 {
        return Cow::Borrowed(text);
    }
    out.extend_from_slice(&text[at..]);
    Cow::Owned(out)
}

/// Where the value around `at` begins, not before `least`, and ends; and whether it is a clock, which goes on behind
/// its colons.
pub(super) fn value_around(text: &[u8], least: usize, at: usize) -> (usize, usize, bool) {
    let behind = |from: usize| text[from..].iter().position(|b| !is_part(*b)).map_or(text.len(), |part| from + part);
    let (mut end, mut clock) = (behind(at), false);
    while text.get(end) == Some(&b':') && text.get(end + 1).is_some_and(u8::is_ascii_digit) {
        (end, clock) = (behind(end + 1), true);
    }
    (run_start(text, least, at, is_part), end, clock)
}

/// Where the next value may stand: noise holds a digit, but for what a tool declares.
fn next_value(text: &[u8], from: usize, own: &[String]) -> Option<usize> {
    if own.is_empty() {
        return next_digit(text, from);
    }
    text.get(from..)?.iter().position(|b| is_part(*b)).map(|part| from + part)
}

/// The name before a value: `name: value`, `"name": "value"`, `name=value`, `name value`, `Message ID: value`.
pub(super) fn name_before(text: &[u8], start: usize) -> Option<&[u8]> {
    let before = text.get(..start)?;
    let signs =
        before.iter().rev().take_while(|b| matches!(b, b'"' | b'\'' | b':' | b'=' | b'#' | b'<' | b' ')).count();
    if !(1..=BETWEEN).contains(&signs) {
        return None;
    }
    let named = before.len() - signs;
    let is_name = |b: u8| is_word(b) || b == b'-';
    let mut begin = run_start(text, 0, named, is_name);
    if text[begin..named].eq_ignore_ascii_case(b"id") && begin > 1 && text[begin - 1] == b' ' {
        begin = run_start(text, 0, begin - 1, is_name);
    }
    text.get(begin..named).filter(|name| !name.is_empty())
}

/// Whether a name says that its value is new at every call.
pub(super) fn is_volatile(name: &[u8], own: &[String]) -> bool {
    // What accompanies a request as an argument accompanies its result.
    if matches!(role_of("", name), Role::Id | Role::Request) {
        return true;
    }
    let mut letters = [0; LONGEST_NAME];
    let Some(name) = folded(name, &mut letters).and_then(|name| std::str::from_utf8(name).ok()) else { return false };
    let mut own_letters = [0; LONGEST_NAME];
    list(&WORDS, "results.volatile").contains(name)
        || own.iter().any(|own| folded(own.as_bytes(), &mut own_letters) == Some(name.as_bytes()))
}

/// Whether a tool's name begins with a word for giving the next thing.
pub(super) fn gives_next(tool: &str) -> bool {
    let tool = tool.trim_start_matches(|c: char| !c.is_alphanumeric());
    let first = tool.find(|c: char| !c.is_ascii_lowercase()).map_or(tool, |end| &tool[..end]);
    list(&WORDS, "tools.next").contains(first) || tool.to_ascii_lowercase().contains("next")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str, own: &[String]) -> bool {
        mask(a.as_bytes(), own) == mask(b.as_bytes(), own)
    }

    #[test]
    fn k5_names_tell_what_is_new_at_every_call() {
        for (a, b) in [
            (r#"{"ok":true,"messageId":"17-ab"}"#, r#"{"ok":true,"messageId":"18-cd"}"#),
            (r#"{"pid": 4242, "state": "up"}"#, r#"{"pid": 999, "state": "up"}"#),
            ("started with pid 4242.", "started with pid 17."),
            ("Message-ID: <CAF7.x@mail.example>", "Message-ID: <CAF9.y@mail.example>"),
            ("Request ID: 8f-1", "Request ID: 9e-2"),
            ("x-request-id=abc1&ok", "x-request-id=abd2&ok"),
            (r#"{"server_time":"12:01:02"}"#, r#"{"server_time":"13:11:42"}"#),
            (r#"{"timestamp":1700000001.5}"#, r#"{"timestamp":1700000009.25}"#),
        ] {
            assert!(same(a, b, &[]), "{a} | {b}");
        }
        for (a, b) in [
            (r#"{"progress": 41}"#, r#"{"progress": 42}"#),
            (r#"{"job": "8f3a2c91"}"#, r#"{"job": "9f3a2c91"}"#),
            ("3 failed", "2 failed"),
            (r#"{"updated_at":"2026-01-02"}"#, r#"{"updated_at":"2026-01-03"}"#),
        ] {
            assert!(!same(a, b, &[]), "{a} | {b}");
        }
        let own = ["receipt".to_owned(), "serial-no".to_owned()];
        assert!(same(r#"{"receipt":"abc","n":1}"#, r#"{"receipt":"xyz","n":1}"#, &own));
        assert!(same("serial_no: 12", "serial_no: 15", &own));
        assert!(!same(r#"{"receipt":"abc","n":1}"#, r#"{"receipt":"abc","n":2}"#, &own));
    }

    #[test]
    fn k5_tools_that_give_the_next_thing() {
        assert!(["next_job", "pop", "claim_task", "get_next_page", "receiveMessage"].into_iter().all(gives_next));
        assert!(["send", "create_ticket", "popular", "get", ""].into_iter().all(|tool| !gives_next(tool)));
    }

    #[test]
    fn nothing_is_too_strange() {
        for text in ["", "1", "\"1", ":1", "id:1", "<1", "pid", "\u{fc}1: pid 1", "a:1:2:3:", "#1", "....1", "1-1-1"] {
            for own in [&[][..], &["a".to_owned()]] {
                let _ = mask(text.as_bytes(), own);
            }
        }
    }
}
