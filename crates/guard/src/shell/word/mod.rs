//! Words as the shell makes them: braces, quotes, escapes, variables and the substitutions that can be foreseen.

use std::{collections::BTreeMap, ops::Range};

use super::Word;

mod brace;
mod print;

use brace::braces;
pub(super) use print::printed;
use print::split;

/// Braces and lists make no more words than this.
const MAX_FIELDS: usize = 256;
/// A word never gets longer than this: variables that double each other end here.
const MAX_WORD: usize = 64 * 1024;

/// What a variable holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// This text.
    Text(String),
    /// Each of these, as words that follow each other: an array.
    Many(Vec<String>),
    /// One of these at a time: a loop's list.
    Each(Vec<String>),
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
    opens: bool,
    splits: bool,
    /// Something stands here, be it empty quotes.
    started: bool,
}

struct Expansion<'v> {
    variables: &'v Variables,
    fields: Vec<Field>,
    depth: usize,
    turns: Turns,
}

/// Which of its values a variable has that holds one of several at a time, and how many there are.
type Turns = BTreeMap<String, (usize, usize)>;

/// The turns that follow, like the figures of a counter; nothing once all have been.
fn next_turn(mut turns: Turns) -> Option<Turns> {
    for (at, count) in turns.values_mut() {
        *at += 1;
        if at < count {
            return Some(turns);
        }
        *at = 0;
    }
    None
}

/// All words that `raw` becomes.
pub(super) fn expand(raw: &str, variables: &Variables, span: &Range<usize>) -> Vec<Word> {
    expand_at(raw, variables, span, 0)
}

fn expand_at(raw: &str, variables: &Variables, span: &Range<usize>, depth: usize) -> Vec<Word> {
    let mut words = Vec::new();
    let (raws, cut) = braces(raw);
    for raw in raws {
        // `/proc/$p/environ` is a word for each value of a loop's variable.
        let mut turn = Some(Turns::new());
        while let Some(turns) = turn.filter(|_| words.len() <= MAX_FIELDS) {
            let mut expansion = Expansion { variables, fields: vec![Field::default()], depth, turns };
            expansion.run(&raw, false);
            words.extend(expansion.fields.into_iter().filter(|field| field.started).map(|field| Word {
                opens: field.opens || field.pattern && field.text.starts_with(['*', '?', '[']),
                text: field.text,
                exact: !field.inexact && !cut,
                pattern: field.pattern,
                splits: field.splits,
                span: span.clone(),
            }));
            turn = next_turn(expansion.turns);
        }
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
    joined(variables, span, |expansion| expansion.run(raw, false))
}

/// The body of a here document.
pub(super) fn expand_here(raw: &str, variables: &Variables, span: &Range<usize>) -> Word {
    joined(variables, span, |expansion| {
        expansion.double(raw, true);
    })
}

/// One word of all that is read in all turns.
fn joined(variables: &Variables, span: &Range<usize>, read: impl Fn(&mut Expansion<'_>)) -> Word {
    let mut fields = Vec::new();
    let mut turn = Some(Turns::new());
    while let Some(turns) = turn.filter(|_| fields.len() <= MAX_FIELDS) {
        let mut expansion = Expansion { variables, fields: vec![Field::default()], depth: 0, turns };
        read(&mut expansion);
        fields.extend(expansion.fields);
        turn = next_turn(expansion.turns);
    }
    join(fields, span)
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
        word.opens |= at == 0 && field.opens;
        word.splits |= field.splits;
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
pub(super) fn until(text: &str, close: char) -> usize {
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
        let sign = match escape {
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
        };
        if sign == '\0' {
            // Nothing behind a zero is taken, up to the end of the quote.
            let mut escaped = false;
            let end = chars.find(|(_, c)| {
                let ends = *c == '\'' && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            return end.map_or(text.len(), |(at, _)| at + 1);
        }
        out.push(sign);
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

    /// As [`Expansion::unknown`], of what may turn out to be an option, or several words where it is not quoted.
    fn any(&mut self, shown: &str, quoted: bool) {
        let field = self.field();
        field.opens |= field.text.is_empty();
        field.splits |= !quoted;
        self.unknown(shown);
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

    /// A value of an array. A pattern in it stood for files when the array was made.
    fn element(&mut self, value: &str) {
        self.push(value);
        self.field().pattern |= value.contains(['*', '?', '[']);
    }

    /// Values of an array that are named by where they stand: `${a[0]}`, `${a[@]:1:2}`. Shells differ in where they
    /// begin to count, so what runs as a program by it is not known.
    fn elements(&mut self, name: &str, operation: &str) -> bool {
        let Some(Value::Many(values)) = self.variables.get(name) else { return false };
        let part = |text: &str| text.parse::<usize>().ok();
        let picked = match operation.strip_prefix("[@]:").or_else(|| operation.strip_prefix("[*]:")) {
            Some(slice) => {
                let (from, most) = slice.split_once(':').unwrap_or((slice, ""));
                let most = if most.is_empty() { Some(values.len()) } else { part(most) };
                part(from).zip(most)
            }
            None => operation.strip_prefix('[').and_then(|at| part(at.strip_suffix(']')?)).map(|at| (at, 1)),
        };
        let Some((from, most)) = picked else { return false };
        let picked: Vec<String> = values.iter().skip(from).take(most).cloned().collect();
        for (at, value) in picked.iter().enumerate() {
            if at > 0 && self.fields.len() < MAX_FIELDS {
                self.fields.push(Field::default());
            }
            self.element(value);
            self.field().inexact = true;
        }
        !picked.is_empty()
    }

    /// A variable; of an array `all` are meant (`${x[@]}`), or the one that the shell takes (`$x`).
    fn variable(&mut self, name: &str, quoted: bool, all: bool) {
        match self.variables.get(name) {
            Some(Value::Text(text)) => match self.variables.get("IFS") {
                // `IFS=,; $c`: a value falls apart where the text says that it does.
                Some(Value::Text(separators)) if !quoted && name != "IFS" && !separators.is_empty() => {
                    let parted = text.replace(|c| separators.contains(c), " ");
                    self.put(&parted, false);
                }
                _ => self.put(&text.clone(), quoted),
            },
            Some(Value::Each(values)) => {
                let (at, _) = *self.turns.entry(name.to_owned()).or_insert((0, values.len()));
                self.put(&values[at].clone(), quoted);
            }
            // Shells differ: in some the first is meant, in some all. In the middle of a word it is each by itself.
            Some(Value::Many(values)) if !all && !values.is_empty() => {
                let (at, _) = *self.turns.entry(name.to_owned()).or_insert((0, values.len()));
                self.push(&values[at].clone());
            }
            Some(Value::Many(values)) => {
                for (at, value) in values.clone().iter().enumerate() {
                    if at > 0 && self.fields.len() < MAX_FIELDS {
                        self.fields.push(Field::default());
                    }
                    self.element(value);
                }
            }
            _ if name == "IFS" => self.put(" ", quoted),
            // Folders begin with a slash, and what a shell counts is a number.
            None if matches!(name, "HOME" | "PWD" | "OLDPWD" | "TMPDIR" | "#" | "?" | "$" | "!") => {
                self.unknown(&format!("${name}"));
            }
            _ => self.any(&format!("${name}"), quoted && name != "@"),
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
                    // `!(a|b)` and its like; a parenthesis that is no pattern parts words.
                    self.field().pattern |= plain.contains('(') || c == '(';
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
            self.variable(&rest[..length], quoted, false);
        }
        length
    }

    fn braced(&mut self, inner: &str, quoted: bool) {
        // `${!x}`: the variable whose name x holds.
        if let Some(Value::Text(name)) = inner.strip_prefix('!').and_then(|name| self.variables.get(name)) {
            return self.variable(&name.clone(), quoted, false);
        }
        if let Some(Value::Many(names) | Value::Each(names)) =
            inner.strip_prefix('!').and_then(|name| self.variables.get(name))
        {
            let shown: Vec<String> = names.iter().map(|name| format!("${name}")).collect();
            return self.any(&shown.join(" "), quoted);
        }
        let length = name_length(inner);
        let (name, operation) = inner.split_at(length);
        if operation.is_empty() || operation == "[@]" || operation == "[*]" {
            // Each value is a word of its own, in quotes as well.
            return self.variable(name, quoted && operation != "[@]", !operation.is_empty());
        }
        if self.elements(name, operation) {
            return;
        }
        let plain = operation.strip_prefix(':').unwrap_or(operation);
        let known = self.variables.get(name).is_some_and(|value| !matches!(value, Value::Unknown));
        match plain.chars().next() {
            // The folders that everybody has stay themselves: a default for them is for odd machines.
            Some('-' | '=' | '?') if known || matches!(name, "HOME" | "TMPDIR" | "PWD") => {
                self.variable(name, quoted, false);
            }
            Some('-' | '=') if self.depth < 4 => {
                self.depth += 1;
                let before = self.field().text.len();
                self.any("", quoted);
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
            Some('?') => self.variable(name, quoted, false),
            _ => self.any(&format!("${{{inner}}}"), quoted),
        }
    }

    /// What a substitution prints, where it can be told: `echo`, `printf`, `which`.
    fn substitution(&mut self, inner: &str, quoted: bool) {
        let foreseen = if self.depth < 4 { self.foresee(inner) } else { None };
        match foreseen {
            Some(value) => self.put(&value, quoted),
            None => self.any(&format!("$({})", inner.trim()), quoted),
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
