//! What a person who is asked about a call can't see in it: hidden characters, letters and hosts that look like others.
//!
//! A person can only agree to what they read. So what is shown has such characters written out, and a call that holds
//! one is asked about, whatever it does: no rule answers that question, and no yes to it is kept.

mod character;
mod likeness;

use std::{fmt::Write as _, ops::Range};

use loopwright_base::text::clip;
use serde_json::Value;

use crate::{
    policy::{
        Subject,
        subject::{base_name, looks_like_a_path, names_a_host, names_a_path},
    },
    risk::{Nature, is_command, nature},
    shell::{self, SimpleCommand, Via, Word},
};
use character::{Odd, odd};
pub(crate) use likeness::{both_forms, is_encoded};

/// More of it is not looked for.
const MOST_FOUND: usize = 100;

/// A text with what can't be seen written out: `\u{202e}`.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut from = 0;
    for Odd { at, character, .. } in odd(text, true) {
        shown.push_str(&text[from..at]);
        match character {
            '\r' => shown.push_str("\\r"),
            _ => drop(write!(shown, "\\u{{{:x}}}", character as u32)),
        }
        from = at + character.len_utf8();
    }
    shown.push_str(&text[from..]);
    shown
}

/// A text with every letter written out that is no plain one.
fn spelled(text: &str) -> String {
    let spell = |c: char| if c.is_ascii_graphic() { c.to_string() } else { format!("\\u{{{:x}}}", c as u32) };
    text.chars().map(spell).collect()
}

/// A host, with its other spelling beside it where it has one.
pub(crate) fn host_in_words(host: &str) -> String {
    let plain = host.is_ascii() && !is_encoded(host);
    match both_forms(host).filter(|_| !plain) {
        Some((ascii, written)) if is_encoded(&ascii) => format!("{ascii} (written {})", visible(&written)),
        Some((ascii, _)) => ascii,
        None => visible(host),
    }
}

/// Something in a call that is not what it seems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Disguise {
    /// The rule's id.
    pub(crate) rule: &'static str,
    /// The argument that it stands in; empty for the name of the tool.
    pub(crate) argument: String,
    /// The bytes of that argument's text, where they are known, and the text there.
    pub(crate) part: Option<(Range<usize>, String)>,
    /// What it is, and where.
    pub(crate) why: String,
    /// Whether it stands in a shell line.
    pub(crate) in_line: bool,
}

/// What of a call is not what it seems: the first of it, with how much more there is.
pub(crate) fn disguise(subject: &Subject) -> Option<Disguise> {
    let mut found = Search { nature: nature(&subject.tool), all: Vec::new() };
    found.name_of_tool(&subject.tool);
    found.walk("", "", &subject.input);
    for host in subject.all().flat_map(|part| &part.hosts) {
        if let Some(what) = likeness::of_host(host) {
            let why = format!("the host {} {what}", clip(&host_in_words(host), 200));
            found.push(Disguise { rule: "host.lookalike", argument: String::new(), part: None, why, in_line: false });
        }
    }
    let more = found.all.len().saturating_sub(1);
    let mut first = found.all.into_iter().next()?;
    if more > 0 {
        let _ = write!(first.why, " (and {more} more)");
    }
    Some(first)
}

struct Search {
    nature: Nature,
    all: Vec<Disguise>,
}

impl Search {
    fn push(&mut self, disguise: Disguise) {
        if self.all.len() < MOST_FOUND && !self.all.iter().any(|other| other.why == disguise.why) {
            self.all.push(disguise);
        }
    }

    fn name_of_tool(&mut self, tool: &str) {
        for found in odd(tool, true).take(MOST_FOUND) {
            self.character("", "the tool's name", tool, found, false);
        }
        if let Some(plain) = likeness::of_name(tool).or_else(|| likeness::of_word(tool)) {
            self.likeness("", &format!("the tool's name {}", clip(&spelled(tool), 100)), &plain, None, false);
        }
    }

    fn walk(&mut self, path: &str, key: &str, value: &Value) {
        // Depth is bounded by the parser of the arguments.
        match value {
            Value::String(text) if is_command(&key.to_ascii_lowercase(), &self.nature) => self.line(path, text),
            Value::String(text) => {
                let name = (names_a_path(key) || names_a_host(key) || looks_like_a_path(text)) && !text.contains(' ');
                self.text(path, text, name);
            }
            Value::Array(items) => {
                let words: Option<Vec<String>> = is_command(&key.to_ascii_lowercase(), &self.nature)
                    .then(|| items.iter().map(|item| item.as_str().map(str::to_owned)).collect())
                    .flatten();
                if let Some(words) = words.filter(|words| words.iter().any(|word| !is_plain(word))) {
                    for command in &shell::parse_words(&words).commands {
                        self.command(path, None, command);
                    }
                }
                for (at, item) in items.iter().enumerate() {
                    self.walk(&format!("{path}[{at}]"), key, item);
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    let path = if path.is_empty() { visible(name) } else { format!("{path}.{}", visible(name)) };
                    for found in odd(name, true).take(MOST_FOUND) {
                        self.character(&path, "the name of an argument", name, found, false);
                    }
                    self.walk(&path, name, member);
                }
            }
            _ => {}
        }
    }

    /// A text that is no shell line; `name` where it is a path or an address.
    fn text(&mut self, path: &str, text: &str, name: bool) {
        for found in odd(text, name).take(MOST_FOUND) {
            self.character(path, path, text, found, false);
        }
        if let Some(plain) = likeness::of_word(text).filter(|_| name) {
            self.likeness(path, &format!("{path} {}", clip(&spelled(text), 100)), &plain, None, false);
        }
    }

    fn line(&mut self, path: &str, line: &str) {
        if is_plain(line) {
            return;
        }
        for found in odd(line, false).take(MOST_FOUND) {
            self.character(path, path, line, found, true);
        }
        for command in &shell::parse(line).commands {
            self.command(path, Some(line), command);
        }
    }

    /// The words of a command, each by itself: one that holds blanks is prose.
    fn command(&mut self, path: &str, line: Option<&str>, command: &SimpleCommand) {
        let targets = command.redirects.iter().map(|redirect| &redirect.target);
        for (at, word) in command.words.iter().chain(targets).chain(&command.settings).enumerate() {
            let program = at == 0 && !command.words.is_empty();
            if is_plain(&word.text) || !program && word.text.contains([' ', '\n']) {
                continue;
            }
            let part = line.and_then(|line| Some((word.span.clone(), line.get(word.span.clone())?.to_owned())));
            for found in odd(&word.text, true).take(MOST_FOUND) {
                let at = line.and_then(|line| in_line(line, word, command, found.character));
                match (line, at) {
                    (Some(line), Some(at)) => self.character(path, path, line, Odd { at, ..found }, true),
                    _ => self.character(path, &format!("a word of {path}"), &word.text, found, false),
                }
            }
            let name = base_name(&word.text);
            let plain = if program { likeness::of_name(name) } else { None };
            if let Some(plain) = plain.or_else(|| likeness::of_word(&word.text)) {
                let what = if program { "the program" } else { "the word" };
                self.likeness(path, &format!("{what} {}", clip(&spelled(&word.text), 100)), &plain, part, true);
            }
        }
    }

    fn character(&mut self, argument: &str, place: &str, text: &str, found: Odd, in_line: bool) {
        let Odd { at, character, kind } = found;
        let number = text.get(..at).map_or(0, |before| before.chars().count()) + 1;
        let place = if place.is_empty() { "the call" } else { place };
        let why = format!("{place} holds U+{:04X} at character {number}, {}", character as u32, kind.words());
        let part = (at..at + character.len_utf8(), character.to_string());
        let argument = argument.to_owned();
        self.push(Disguise { rule: "text.hidden", argument, part: Some(part), why, in_line });
    }

    fn likeness(
        &mut self,
        argument: &str,
        what: &str,
        plain: &str,
        part: Option<(Range<usize>, String)>,
        in_line: bool,
    ) {
        let why = format!("{what} looks like {:?} and is not", clip(plain, 100));
        let argument = argument.to_owned();
        self.push(Disguise { rule: "text.lookalike", argument, part, why, in_line });
    }
}

/// Where in the line a character of a word stands.
fn in_line(line: &str, word: &Word, command: &SimpleCommand, character: char) -> Option<usize> {
    let direct = matches!(command.via, Via::Direct | Via::Substitution | Via::Function);
    let written = line.get(word.span.clone()).filter(|_| direct)?;
    written.find(character).map(|at| word.span.start + at)
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | b' '..=b'~'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::Surroundings;

    fn found(tool: &str, input: &Value) -> Option<Disguise> {
        disguise(&Subject::new(tool, input, &Surroundings::of_examples()))
    }

    fn line(text: &str) -> Option<Disguise> {
        found("shell", &json!({ "command": text }))
    }

    #[test]
    fn g10_what_is_hidden_in_a_call_is_named_with_its_place() {
        let hidden = line("cat notes\u{202e}txt.sh").unwrap();
        assert_eq!((hidden.rule, hidden.argument.as_str()), ("text.hidden", "command"));
        assert_eq!(hidden.part, Some((9..12, "\u{202e}".to_owned())));
        assert!(hidden.why.contains("U+202E at character 10") && hidden.why.contains("order"), "{}", hidden.why);
        for text in [
            "cat a # \u{2066}x",
            "cat a\u{a0}b",
            "bash -c 'cat a\u{a0}b'",
            "cat a\u{200b}",
            "echo done\u{1b}[2K",
            "echo a\rb",
            "cat \u{feff}a",
            "echo a > b\u{200d}",
            "A=\u{e0041} make",
            "cat <<E\n\u{202e}a\nE",
        ] {
            assert_eq!(line(text).map(|found| found.rule), Some("text.hidden"), "{text:?}");
        }
        for (text, plain) in [
            ("g\u{456}t push", "git"),
            ("cat p\u{430}ssword", "password"),
            ("\u{441}\u{440} a b", "cp"),
            ("bash -c 'g\u{456}t push'", "git"),
            ("make \u{2013}n", "-n"),
        ] {
            let found = line(text).unwrap();
            assert_eq!(found.rule, "text.lookalike", "{text}");
            assert!(found.why.contains(&format!("{plain:?}")), "{text}: {}", found.why);
        }
        for text in
            ["curl https://p\u{430}ypal.com/x", "git clone https://xn--80ak6aa92e.com/x", "ssh me@goog\u{3bf}e.com"]
        {
            assert!(line(text).unwrap().why.contains("host") || line(text).unwrap().rule == "text.lookalike", "{text}");
        }
        let tool = found("read\u{200b}_file", &json!({})).unwrap();
        assert!(tool.why.contains("the tool's name holds U+200B at character 5"), "{}", tool.why);
        assert_eq!(found("r\u{435}ad_file", &json!({})).unwrap().rule, "text.lookalike");
        for input in [
            json!({"path": "a\u{a0}b"}),
            json!({"content": "if a:\u{202e} b"}),
            json!({"edits": [{"new": "a\u{e0041}b"}]}),
            json!({"url": "https://a.example/\u{200b}x"}),
            json!({"pa\u{200b}th": "a"}),
        ] {
            assert_eq!(found("write_file", &input).map(|found| found.rule), Some("text.hidden"), "{input}");
        }
        let deep = found("write_file", &json!({"edits": [{"new": "ab\u{e0041}"}]})).unwrap();
        assert_eq!(deep.argument, "edits[0].new");
    }

    #[test]
    fn g10_honest_texts_of_any_script_are_left_alone() {
        for text in [
            "git commit -m 'Исправить отчёт 👩‍💻 ❤️'",
            "git commit -m 'ça va\u{a0}? oui'",
            "mkdir 報告書 && cat отчёт.txt",
            "cat 'Screenshot 2024-01-01 at 9.41\u{202f}AM.png'",
            "curl https://пример.рф/путь",
            "curl https://münchen.de",
            "grep -r 修正　テスト src",
            "cat Łódź.txt ısıtma.txt",
            "python3 - <<'E'\nprint('日本語')\nE",
        ] {
            assert_eq!(line(text), None, "{text}");
        }
        for input in [
            json!({"path": "文档/第1章.md", "content": "﻿<p>می‌خواهم</p>\r\n"}),
            json!({"content": "אב\u{200f}! ภาษา\u{200b}ไทย"}),
            json!({"message": "1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿"}),
        ] {
            assert_eq!(found("write_file", &input), None, "{input}");
        }
    }

    #[test]
    fn g10_what_is_hidden_is_written_out() {
        for (text, shown) in [
            ("rm a\u{202e}b", "rm a\\u{202e}b"),
            ("a\r\u{1b}[m", "a\\r\\u{1b}[m"),
            ("a\nb\tc", "a\nb\tc"),
            ("👩‍💻 é", "👩‍💻 é"),
            ("", ""),
        ] {
            assert_eq!(visible(text), shown);
        }
        assert_eq!(host_in_words("example.com"), "example.com");
        assert_eq!(host_in_words("münchen.de"), "xn--mnchen-3ya.de (written münchen.de)");
    }

    proptest::proptest! {
        #[test]
        fn g10_what_is_shown_hides_nothing(text in "\\PC{0,9}[\u{200b}-\u{2070}\u{e0000}-\u{e0100}\\x00-\\x7f]{0,20}") {
            let shown = visible(&text);
            proptest::prop_assert_eq!(odd(&shown, true).next(), None);
            let _ = line(&text);
        }
    }
}
