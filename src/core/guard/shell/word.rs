//! Words as the shell makes them: braces, quotes, escapes, variables and the substitutions that can be foreseen.

use std::{collections::BTreeMap, ops::Range};

use super::Word;

/// Braces and lists make no more words than this.
const MAX_FIELDS: usize = 256;
/// A word never gets longer than this: variables that double each other end here.
const MAX_WORD: usize = 64 * 1024;

/// What a variable holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// This text.
    Text(String),
    /// Each of these: an array, or a loop's list.
    Many(Vec<String>),
    /// It is set, but to what cannot be told.
    Unknown,
}

/// The variables that are known.
pub(super) type Variables = BTreeMap<String, Value>;

#[derive(Clone, Default)]
struct Field {
    text: String,
    inexact: bool,
    pattern: bool,
    /// Something stands here, be it empty quotes.
    started: bool,
}

struct Expansion<'v> {
    variables: &'v Variables,
    fields: Vec<Field>,
    depth: usize,
}

/// All words that `raw` becomes.
pub(super) fn expand(raw: &str, variables: &Variables, span: &Range<usize>) -> Vec<Word> {
    expand_at(raw, variables, span, 0)
}

fn expand_at(raw: &str, variables: &Variables, span: &Range<usize>, depth: usize) -> Vec<Word> {
    let mut words = Vec::new();
    let (raws, cut) = braces(raw);
    for raw in raws {
        let mut expansion = Expansion { variables, fields: vec![Field::default()], depth };
        expansion.run(&raw, false);
        words.extend(expansion.fields.into_iter().filter(|field| field.started).map(|field| Word {
            text: field.text,
            exact: !field.inexact && !cut,
            pattern: field.pattern,
            span: span.clone(),
        }));
        if words.len() > MAX_FIELDS {
            words.truncate(MAX_FIELDS);
            if let Some(last) = words.last_mut() {
                last.exact = false;
            }
            break;
        }
    }
    words
}

/// `raw` as one word, as in an assignment or between double quotes.
pub(super) fn expand_one(raw: &str, variables: &Variables, span: &Range<usize>) -> Word {
    let mut expansion = Expansion { variables, fields: vec![Field::default()], depth: 0 };
    expansion.run(raw, false);
    join(expansion.fields, span)
}

/// The body of a here document.
pub(super) fn expand_here(raw: &str, variables: &Variables, span: &Range<usize>) -> Word {
    let mut expansion = Expansion { variables, fields: vec![Field::default()], depth: 0 };
    expansion.double(raw, true);
    join(expansion.fields, span)
}

fn join(fields: Vec<Field>, span: &Range<usize>) -> Word {
    let mut word = Word { exact: true, span: span.clone(), ..Word::default() };
    for (at, field) in fields.into_iter().enumerate() {
        if at > 0 {
            word.text.push(' ');
        }
        word.text.push_str(&field.text);
        word.exact &= !field.inexact;
        word.pattern |= field.pattern;
    }
    word
}

fn name_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    match bytes.first() {
        Some(b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => 1,
        Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => {
            bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()
        }
        _ => 0,
    }
}

/// The length of what `open` begins (which has been read) up to and with its closing sign.
fn closing(text: &str, open: char, close: char) -> usize {
    let mut depth = 1_usize;
    let mut quote = None;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => drop(chars.next()),
            (None, '\'' | '"') => quote = Some(c),
            (None, c) if c == close => {
                depth -= 1;
                if depth == 0 {
                    return at + c.len_utf8();
                }
            }
            (None, c) if c == open => depth += 1,
            (_, _) => {}
        }
    }
    text.len()
}

/// The length up to and with the sign that closes a quote; substitutions within have quotes of their own.
fn until(text: &str, close: char) -> usize {
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let next = at + c.len_utf8();
        at = match c {
            c if c == close => return next,
            '\\' => next + text[next..].chars().next().map_or(0, char::len_utf8),
            '$' if text[next..].starts_with('(') => next + 1 + closing(&text[next + 1..], '(', ')'),
            _ => next,
        };
    }
    text.len()
}

/// The value of `$'...'`.
fn ansi_c(text: &str, out: &mut String) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\'' {
            return at + 1;
        }
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some((_, escape)) = chars.next() else { break };
        let mut digits = |radix: u32, most: usize, first: Option<u32>| {
            let mut value = first;
            let mut taken = usize::from(first.is_some());
            while taken < most {
                let Some(digit) = chars.peek().and_then(|(_, c)| c.to_digit(radix)) else { break };
                chars.next();
                taken += 1;
                value = Some(value.unwrap_or(0).saturating_mul(radix).saturating_add(digit));
            }
            value.and_then(char::from_u32).unwrap_or('\u{fffd}')
        };
        out.push(match escape {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'e' | 'E' => '\u{1b}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'x' => digits(16, 2, None),
            'u' => digits(16, 4, None),
            'U' => digits(16, 8, None),
            '0'..='7' => digits(8, 3, escape.to_digit(8)),
            'c' => chars.next().map_or('\u{fffd}', |(_, c)| char::from((c as u32 & 0x1f) as u8)),
            other => other,
        });
    }
    text.len()
}

impl Expansion<'_> {
    fn field(&mut self) -> &mut Field {
        if self.fields.is_empty() {
            self.fields.push(Field::default());
        }
        let last = self.fields.len() - 1;
        &mut self.fields[last]
    }

    fn push(&mut self, text: &str) {
        let field = self.field();
        field.started = true;
        if field.text.len() + text.len() > MAX_WORD {
            field.inexact = true;
        } else {
            field.text.push_str(text);
        }
    }

    fn unknown(&mut self, shown: &str) {
        self.push(shown);
        self.field().inexact = true;
    }

    /// Puts a value in; unquoted, it falls apart at white space and its patterns are patterns.
    fn put(&mut self, value: &str, quoted: bool) {
        if quoted {
            return self.push(value);
        }
        let mut first = true;
        for part in value.split([' ', '\t', '\n']) {
            if !first && self.field().started {
                if self.fields.len() >= MAX_FIELDS {
                    self.field().inexact = true;
                    return;
                }
                self.fields.push(Field::default());
            }
            first = false;
            if !part.is_empty() {
                self.push(part);
                self.field().pattern |= part.contains(['*', '?', '[']);
            }
        }
    }

    fn variable(&mut self, name: &str, quoted: bool) {
        match self.variables.get(name) {
            Some(Value::Text(text)) => self.put(&text.clone(), quoted),
            Some(Value::Many(values)) => {
                for (at, value) in values.clone().iter().enumerate() {
                    if at > 0 && self.fields.len() < MAX_FIELDS {
                        self.fields.push(Field::default());
                    }
                    self.push(value);
                }
            }
            _ if name == "IFS" => self.put(" ", quoted),
            _ => self.unknown(&format!("${name}")),
        }
    }

    fn run(&mut self, raw: &str, _quoted: bool) {
        let mut rest = raw;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                '\\' => {
                    if let Some(tail) = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')) {
                        rest = tail;
                    } else if let Some(next) = rest.chars().next() {
                        let (one, tail) = rest.split_at(next.len_utf8());
                        self.push(one);
                        rest = tail;
                    } else {
                        self.push("\\");
                    }
                }
                '\'' => {
                    let end = rest.find('\'').unwrap_or(rest.len());
                    self.push(&rest[..end]);
                    rest = rest.get(end + 1..).unwrap_or("");
                }
                '"' => {
                    self.push("");
                    let used = self.double(rest, false);
                    rest = rest.get(used..).unwrap_or("");
                }
                '$' if rest.starts_with('\'') => {
                    let mut value = String::new();
                    let used = ansi_c(&rest[1..], &mut value);
                    self.push(&value);
                    rest = rest.get(1 + used..).unwrap_or("");
                }
                '$' if rest.starts_with('"') => {}
                '$' => {
                    let used = self.dollar(rest, false);
                    rest = rest.get(used..).unwrap_or("");
                }
                '`' => {
                    let end = until(rest, '`');
                    let inner = rest[..end].strip_suffix('`').unwrap_or(&rest[..end]);
                    self.substitution(inner, false);
                    rest = &rest[end..];
                }
                '<' | '>' if rest.starts_with('(') => {
                    let end = 1 + closing(&rest[1..], '(', ')');
                    self.unknown(&format!("{c}{}", &rest[..end]));
                    rest = &rest[end..];
                }
                '*' | '?' | '[' => {
                    self.push(c.encode_utf8(&mut [0; 4]));
                    self.field().pattern = true;
                }
                c => {
                    let end = rest.find(['\\', '\'', '"', '$', '`', '<', '>', '*', '?', '[']).unwrap_or(rest.len());
                    self.push(c.encode_utf8(&mut [0; 4]));
                    let (plain, tail) = rest.split_at(end);
                    self.push(plain);
                    rest = tail;
                }
            }
        }
    }

    /// The inside of double quotes (or of a here document); how much was used, the closing quote included.
    fn double(&mut self, raw: &str, here: bool) -> usize {
        let mut rest = raw;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                '"' if !here => return raw.len() - rest.len(),
                '\\' => match rest.chars().next() {
                    Some('\n') => rest = &rest[1..],
                    Some(next @ ('$' | '`' | '"' | '\\')) if !here || next != '"' => {
                        self.push(next.encode_utf8(&mut [0; 4]));
                        rest = &rest[1..];
                    }
                    _ => self.push("\\"),
                },
                '$' => {
                    let used = self.dollar(rest, true);
                    rest = rest.get(used..).unwrap_or("");
                }
                '`' => {
                    let end = until(rest, '`');
                    let inner = rest[..end].strip_suffix('`').unwrap_or(&rest[..end]);
                    self.substitution(inner, true);
                    rest = &rest[end..];
                }
                c => {
                    let end = rest.find(['\\', '"', '$', '`']).unwrap_or(rest.len());
                    self.push(c.encode_utf8(&mut [0; 4]));
                    let (plain, tail) = rest.split_at(end);
                    self.push(plain);
                    rest = tail;
                }
            }
        }
        raw.len()
    }

    /// What follows a `$`; how much of it was used.
    fn dollar(&mut self, rest: &str, quoted: bool) -> usize {
        if rest.starts_with("((") {
            let end = 1 + closing(&rest[1..], '(', ')');
            self.unknown(&format!("${}", &rest[..end]));
            return end;
        }
        if let Some(tail) = rest.strip_prefix('(') {
            let end = 1 + closing(tail, '(', ')');
            let inner = &rest[1..end];
            self.substitution(inner.strip_suffix(')').unwrap_or(inner), quoted);
            return end;
        }
        if let Some(tail) = rest.strip_prefix('{') {
            let end = 1 + closing(tail, '{', '}');
            let inner = &rest[1..end];
            self.braced(inner.strip_suffix('}').unwrap_or(inner), quoted);
            return end;
        }
        let length = name_length(rest);
        if length == 0 {
            self.push("$");
        } else {
            self.variable(&rest[..length], quoted);
        }
        length
    }

    fn braced(&mut self, inner: &str, quoted: bool) {
        let length = name_length(inner);
        let (name, operation) = inner.split_at(length);
        if operation.is_empty() || operation == "[@]" || operation == "[*]" {
            return self.variable(name, quoted);
        }
        let plain = operation.strip_prefix(':').unwrap_or(operation);
        let known = self.variables.get(name).is_some_and(|value| !matches!(value, Value::Unknown));
        match plain.chars().next() {
            // The folders that everybody has stay themselves: a default for them is for odd machines.
            Some('-' | '=' | '?') if known || matches!(name, "HOME" | "TMPDIR" | "PWD") => self.variable(name, quoted),
            Some('-' | '=') if self.depth < 4 => {
                self.depth += 1;
                let before = self.field().text.len();
                if quoted {
                    self.double(&plain[1..], true);
                } else {
                    self.run(&plain[1..], false);
                }
                self.depth -= 1;
                if before == self.field().text.len() {
                    self.unknown(&format!("${name}"));
                }
                self.field().inexact = true;
            }
            Some('?') => self.variable(name, quoted),
            _ => self.unknown(&format!("${{{inner}}}")),
        }
    }

    /// What a substitution prints, where it can be told: `echo`, `printf`, `which`.
    fn substitution(&mut self, inner: &str, quoted: bool) {
        let foreseen = if self.depth < 4 { self.foresee(inner) } else { None };
        match foreseen {
            Some(value) => self.put(&value, quoted),
            None => self.unknown(&format!("$({})", inner.trim())),
        }
    }

    fn foresee(&self, inner: &str) -> Option<String> {
        let inner = inner.trim();
        let first = inner.split_whitespace().next()?;
        if !matches!(first.trim_start_matches('\\'), "echo" | "printf" | "which" | "command" | "type" | "mktemp") {
            return None;
        }
        let mut words = Vec::new();
        for raw in split(inner)? {
            for word in expand_at(raw, self.variables, &(0..0), self.depth + 1) {
                if !word.exact {
                    return None;
                }
                words.push(word.text);
            }
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        printed(&words)
    }
}

/// What a command prints, where that can be told from its words.
pub(super) fn printed(words: &[&str]) -> Option<String> {
    match words {
        ["echo", rest @ ..] => {
            let plain = rest.iter().take_while(|word| matches!(**word, "-n" | "-e" | "-E" | "-ne" | "-en")).count();
            let escapes = rest[..plain].iter().any(|word| word.contains('e'));
            let text = rest[plain..].join(" ");
            Some(if escapes { unescaped(&text) } else { text })
        }
        ["printf", "--", format, rest @ ..] | ["printf", format, rest @ ..] => {
            let mut out = String::new();
            let mut rest = rest.iter();
            let mut parts = format.split('%');
            out.push_str(parts.next().unwrap_or(""));
            let mut whole = false;
            for part in parts {
                if whole {
                    out.push_str(part);
                    whole = false;
                } else if part.is_empty() {
                    out.push('%');
                    whole = true;
                } else {
                    let tail = part.strip_prefix(['s', 'b', 'd', 'q'])?;
                    out.push_str(rest.next().unwrap_or(&""));
                    out.push_str(tail);
                }
            }
            rest.for_each(|more| {
                out.push(' ');
                out.push_str(more);
            });
            Some(unescaped(&out))
        }
        // A new name in a temporary folder; which one does not matter.
        ["mktemp", rest @ ..] if rest.iter().all(|word| word.starts_with('-') && !word.contains(['p', '/'])) => {
            Some("$TMPDIR/made".to_owned())
        }
        ["which" | "type", name] | ["command", "-v", name] | ["type", "-P" | "-p", name] | ["which", "-a", name] => {
            Some((*name).to_owned())
        }
        _ => None,
    }
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    ansi_c(&text.replace("\\0", "\\").replace('\'', "\\'"), &mut out);
    out
}

/// The raw words of one plain command; `None` if it is more than that.
fn split(text: &str) -> Option<Vec<&str>> {
    let mut words = Vec::new();
    let mut start = None;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let next = at + c.len_utf8();
        match c {
            ' ' | '\t' => {
                if let Some(start) = start.take() {
                    words.push(&text[start..at]);
                }
                at = next;
                continue;
            }
            ';' | '|' | '&' | '<' | '>' | '\n' | '(' | ')' => return None,
            _ => {}
        }
        start.get_or_insert(at);
        at = match c {
            '\\' => next + text[next..].chars().next().map_or(0, char::len_utf8),
            '\'' => next + text[next..].find('\'')? + 1,
            '"' => next + until(&text[next..], '"'),
            '`' => next + until(&text[next..], '`'),
            '$' if text[next..].starts_with('(') => next + 1 + closing(&text[next + 1..], '(', ')'),
            '$' if text[next..].starts_with('{') => next + 1 + closing(&text[next + 1..], '{', '}'),
            _ => next,
        };
    }
    if let Some(start) = start {
        words.push(&text[start..]);
    }
    Some(words)
}

/// Brace expansion: `{a,b}` and `{1..3}`. Whether some were left off comes with it.
fn braces(raw: &str) -> (Vec<String>, bool) {
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
