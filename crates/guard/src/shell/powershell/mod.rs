//! PowerShell, read as far as it takes to see what a text calls: its commands with their words, wherever they stand in
//! pipes, blocks and parentheses. It is no parser of that language. What is not known to read or to be harmless
//! (methods of objects, names that are computed, commands that start others) leaves the text unread, and so asked
//! about.

#[cfg(test)]
mod tests;
mod value;
mod words;

use std::ops::Range;

use crate::names;

use self::words::{operator, reads, tame};
pub(super) use self::{value::is_value, words::cmdlet};
use super::{Redirect, RedirectKind, Word};

/// A command with its words, and where what it prints goes.
pub(super) struct Call {
    pub(super) words: Vec<Word>,
    pub(super) redirects: Vec<Redirect>,
}

/// Deeper than this is not read.
const MAX_DEPTH: usize = 40;

/// The calls of a text that is plainly PowerShell, if all of it is understood. `within` is the span of the word that
/// holds the text, where it stands inside of another command.
pub(super) fn calls(text: &str, within: Option<&Range<usize>>) -> Option<Vec<Call>> {
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0, depth: 0, calls: Vec::new(), plain: false, within };
    reader.statements(None)?;
    reader.plain.then_some(reader.calls)
}

struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    depth: usize,
    calls: Vec<Call>,
    /// Something was found that no other shell has.
    plain: bool,
    within: Option<&'t Range<usize>>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next_is(&self, start: &str) -> bool {
        self.bytes[self.at..].starts_with(start.as_bytes())
    }

    fn span(&self, start: usize) -> Range<usize> {
        self.within.cloned().unwrap_or(start..self.at)
    }

    /// Blanks and continued lines.
    fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'`') if self.next_is("`\n") => self.at += 2,
                Some(b'`') if self.next_is("`\r\n") => self.at += 3,
                _ => return,
            }
        }
    }

    fn comment(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let end = if rest.starts_with("<#") { rest.find("#>")? + 2 } else { rest.find('\n').unwrap_or(rest.len()) };
        self.at += end;
        Some(())
    }

    /// Statements up to a closing sign, which is passed.
    fn statements(&mut self, end: Option<u8>) -> Option<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        loop {
            self.blanks();
            match self.peek() {
                None => {
                    self.depth -= 1;
                    return end.is_none().then_some(());
                }
                sign if sign == end => {
                    self.at += 1;
                    self.depth -= 1;
                    return Some(());
                }
                Some(b')' | b'}' | b']') => return None,
                Some(b'\n' | b';' | b'|' | b',') => self.at += 1,
                Some(b'&') if self.next_is("&&") => self.at += 2,
                Some(b'#') => self.comment()?,
                Some(b'<') if self.next_is("<#") => self.comment()?,
                Some(_) => self.statement()?,
            }
        }
    }

    fn statement(&mut self) -> Option<()> {
        self.blanks();
        match self.peek()? {
            // `& { … }` is read as what stands in it, `& 'C:\a b\c.exe' x` as a command. No other shell begins one so.
            // A name that is computed (`& $x`) is not known.
            b'&' => {
                self.at += 1;
                self.blanks();
                self.plain = true;
                self.command()
            }
            // `. 'x.ps1'`, `.$x`: what runs here and now. `.\x.ps1` is a path, `.5` a number.
            b'.' if self.sources() => {
                self.at += 1;
                self.blanks();
                self.command()
            }
            b'%' => self.alias("foreach-object"),
            b'?' => self.alias("where-object"),
            byte if byte.is_ascii_alphabetic() || byte == b'_' => self.named(),
            _ => self.expression(),
        }
    }

    /// Whether a dot begins a call of what follows.
    fn sources(&self) -> bool {
        matches!(self.bytes.get(self.at + 1), Some(b' ' | b'\t' | b'\'' | b'"' | b'$' | b'{' | b'(' | b'&'))
    }

    /// `% { … }`, `? Name -like x`
    fn alias(&mut self, name: &str) -> Option<()> {
        let start = self.at;
        self.at += 1;
        let word = Word { text: name.to_owned(), exact: true, span: self.span(start), ..Word::default() };
        self.words(vec![word])
    }

    /// What begins with a bare word: a keyword, a key of a table, or a command.
    fn named(&mut self) -> Option<()> {
        let start = self.at;
        let word = self.word()?;
        let lower = word.text.to_ascii_lowercase();
        if word.exact && names::has("powershell.keywords", lower.as_str()) {
            // `catch [System.Exception] {`, `function Name {`, `break`
            self.blanks();
            match lower.as_str() {
                "function" | "filter" => {
                    self.word()?;
                }
                "catch" if self.peek() == Some(b'[') => self.type_name()?,
                _ => {}
            }
            return Some(());
        }
        self.blanks();
        if self.peek() == Some(b'=') {
            self.at += 1;
            return Some(());
        }
        self.at = start;
        self.command()
    }

    fn command(&mut self) -> Option<()> {
        self.words(Vec::new())
    }

    /// The words of a command up to its end.
    fn words(&mut self, mut words: Vec<Word>) -> Option<()> {
        let start = self.at;
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            let Some(byte) = self.peek() else { break };
            match byte {
                b'\n' | b';' | b'|' | b')' | b'}' | b']' => break,
                b'&' if self.next_is("&&") => break,
                b',' => self.at += 1,
                b'#' => self.comment()?,
                b'{' => {
                    self.at += 1;
                    self.statements(Some(b'}'))?;
                }
                b'(' => {
                    words.push(self.group(start)?);
                    self.members()?;
                }
                b'@' if matches!(self.bytes.get(self.at + 1), Some(b'(' | b'{')) => {
                    self.at += 1;
                    words.push(self.group(start)?);
                }
                b'>' => self.redirect(&mut redirects)?,
                b'0'..=b'9' | b'*' if self.bytes.get(self.at + 1) == Some(&b'>') => {
                    self.at += 1;
                    self.redirect(&mut redirects)?;
                }
                b'&' => return None,
                _ => words.push(self.word()?),
            }
        }
        if let Some(first) = words.first() {
            if !first.exact || !tame(&first.text) {
                return None;
            }
            self.plain |= cmdlet(&first.text);
            self.calls.push(Call { words, redirects });
        }
        Some(())
    }

    /// `( … )` and `{ … }`: what stands in it runs, and its value is not known.
    fn group(&mut self, start: usize) -> Option<Word> {
        let end = if self.peek()? == b'(' { b')' } else { b'}' };
        self.at += 1;
        self.statements(Some(end))?;
        Some(Word { text: "$()".to_owned(), span: self.span(start), ..Word::default() })
    }

    fn redirect(&mut self, redirects: &mut Vec<Redirect>) -> Option<()> {
        let start = self.at;
        self.at += 1;
        let append = self.peek() == Some(b'>');
        self.at += usize::from(append);
        if self.peek() == Some(b'&') {
            // `2>&1`
            self.at += 1;
            let number = self.peek().is_some_and(|byte| byte.is_ascii_digit());
            self.at += usize::from(number);
            return number.then_some(());
        }
        self.blanks();
        let target = self.word()?;
        if !target.text.eq_ignore_ascii_case("$null") {
            let kind = if append { RedirectKind::Append } else { RedirectKind::Write };
            redirects.push(Redirect { kind, target, span: self.span(start) });
        }
        Some(())
    }

    /// A word: bare text, strings and variables that touch.
    fn word(&mut self) -> Option<Word> {
        let start = self.at;
        let mut word = Word { exact: true, ..Word::default() };
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'|' | b'&' | b')' | b'}' | b'{' | b',' | b'>' | b'<' | b'=' => {
                    if byte == b'=' && self.at > start {
                        // `-Name=value` and `key=` alike end here for a key, and go on for an option.
                        if self.bytes[start] != b'-' {
                            break;
                        }
                        self.at += 1;
                        word.text.push('=');
                        continue;
                    }
                    break;
                }
                b'(' => break,
                b'\'' => word.text.push_str(&self.quoted()?),
                b'"' => {
                    let (text, exact) = self.interpolated()?;
                    word.text.push_str(&text);
                    word.exact &= exact;
                }
                b'$' => {
                    let name = self.variable()?;
                    word.text.push_str(&name);
                    word.exact = false;
                }
                b'`' => {
                    let next = self.text[self.at + 1..].chars().next()?;
                    self.at += 1 + next.len_utf8();
                    word.text.push(next);
                }
                _ => {
                    let next = self.text[self.at..].chars().next()?;
                    word.pattern |= matches!(next, '*' | '?');
                    word.text.push(next);
                    self.at += next.len_utf8();
                }
            }
        }
        if self.at == start || word.text.contains("]::") {
            return None;
        }
        word.span = self.span(start);
        Some(word)
    }

    /// `'…'`, where `''` is one quote.
    fn quoted(&mut self) -> Option<String> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let end = self.text[self.at..].find('\'')?;
            text.push_str(&self.text[self.at..self.at + end]);
            self.at += end + 1;
            if self.peek() != Some(b'\'') {
                return Some(text);
            }
            text.push('\'');
            self.at += 1;
        }
    }

    /// `"…"`: its text, and whether that is all there is to know.
    fn interpolated(&mut self) -> Option<(String, bool)> {
        self.at += 1;
        let (mut text, mut exact) = (String::new(), true);
        loop {
            match self.peek()? {
                b'"' if self.next_is("\"\"") => {
                    text.push('"');
                    self.at += 2;
                }
                b'"' => {
                    self.at += 1;
                    return Some((text, exact));
                }
                b'`' => {
                    let next = self.text[self.at + 1..].chars().next()?;
                    self.at += 1 + next.len_utf8();
                    text.push(next);
                }
                b'$' if self.next_is("$(") => {
                    self.at += 2;
                    self.statements(Some(b')'))?;
                    text.push_str("$()");
                    exact = false;
                }
                b'$' => {
                    text.push('$');
                    self.at += 1;
                    exact = false;
                }
                _ => {
                    let next = self.text[self.at..].chars().next()?;
                    text.push(next);
                    self.at += next.len_utf8();
                }
            }
        }
    }

    /// `$name`, `${name}`, `$env:NAME`, `$( … )`, with members behind it.
    fn variable(&mut self) -> Option<String> {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'(') => {
                self.at += 1;
                self.statements(Some(b')'))?;
            }
            Some(b'{') => self.at += self.text[self.at..].find('}')? + 1,
            _ => {
                while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'?'))
                {
                    if self.next_is("::") {
                        break;
                    }
                    self.at += 1;
                }
            }
        }
        let name = self.text[start..self.at].to_owned();
        let lower = name.to_ascii_lowercase();
        self.plain |= lower.starts_with("$env:") || names::has("powershell.automatic", lower.as_str());
        self.members()?;
        Some(name)
    }

    /// `.Name`, `::Name`, `[0]` and calls of methods, as many as follow.
    fn members(&mut self) -> Option<()> {
        loop {
            match self.peek() {
                Some(b'[') => {
                    self.at += 1;
                    self.statements(Some(b']'))?;
                }
                Some(b'.' | b':') => {
                    let sign = if self.next_is("::") { 2 } else { usize::from(self.next_is(".")) };
                    let rest = &self.bytes[self.at + sign..];
                    let letters = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
                    if sign == 0 || letters == 0 {
                        return Some(());
                    }
                    let name = &self.text[self.at + sign..self.at + sign + letters];
                    // `( … ).Name`
                    self.plain |= self.at > 0 && self.bytes[self.at - 1] == b')';
                    self.at += sign + letters;
                    if self.peek() == Some(b'(') {
                        reads(name).then_some(())?;
                        self.at += 1;
                        self.statements(Some(b')'))?;
                    }
                }
                _ => return Some(()),
            }
        }
    }

    /// `[Name]`
    fn type_name(&mut self) -> Option<()> {
        let end = self.text[self.at..].find(']')?;
        let name = &self.text[self.at + 1..self.at + end];
        let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '[' | ' ' | ',');
        (!name.is_empty() && name.chars().all(named)).then_some(())?;
        self.at += end + 1;
        // `[byte[]]`
        self.at += usize::from(name.ends_with('[') && self.peek() == Some(b']'));
        self.plain |= self.next_is("::");
        Some(())
    }

    /// A value that is printed, or put into a variable: then it is a statement of its own. One of a variable of the
    /// environment is printed as `Write-Output` would.
    fn expression(&mut self) -> Option<()> {
        let start = self.at;
        let put = self.text[..start].trim_end().ends_with('=');
        let assigned = self.values(start)?;
        let text = &self.text[start..self.at];
        if !put && !assigned && text.as_bytes().windows(4).any(|part| part.eq_ignore_ascii_case(b"env:")) {
            let word = |text: &str| Word { text: text.to_owned(), span: self.span(start), ..Word::default() };
            let words = vec![Word { exact: true, ..word("write-output") }, word(text.trim())];
            self.calls.push(Call { words, redirects: Vec::new() });
        }
        Some(())
    }

    /// Values with operators between them, and whether the first is given another value.
    fn values(&mut self, start: usize) -> Option<bool> {
        loop {
            self.blanks();
            let Some(byte) = self.peek() else { return Some(false) };
            match byte {
                b'\n' | b';' | b'|' | b')' | b'}' | b']' => return Some(false),
                b'&' if self.next_is("&&") => return Some(false),
                b'#' => self.comment()?,
                b'=' => {
                    self.at += 1;
                    self.assigned(start)?;
                    return Some(true);
                }
                b'+' | b'-' | b'*' | b'/' | b'%' if self.bytes.get(self.at + 1) == Some(&b'=') => {
                    self.at += 2;
                    self.assigned(start)?;
                    return Some(true);
                }
                // Behind a value it would be a member of it: only ranges and numbers stand alone.
                b'.' if self.sources() => return None,
                b'$' => {
                    self.variable()?;
                }
                b'\'' => {
                    self.quoted()?;
                    self.members()?;
                }
                b'"' => {
                    self.interpolated()?;
                    self.members()?;
                }
                b'@' if self.next_is("@'\n") || self.next_is("@\"\n") => {
                    let end = if self.next_is("@'") { "\n'@" } else { "\n\"@" };
                    let length = self.text[self.at..].find(end)?;
                    (!self.text[self.at..self.at + length].contains("$(")).then_some(())?;
                    self.at += length + end.len();
                }
                b'@' => self.at += 1,
                b'(' => {
                    self.at += 1;
                    self.statements(Some(b')'))?;
                    self.members()?;
                }
                b'{' => {
                    self.at += 1;
                    self.statements(Some(b'}'))?;
                }
                b'[' => {
                    self.type_name()?;
                    self.members()?;
                }
                b'-' if self.bytes.get(self.at + 1).is_some_and(u8::is_ascii_alphabetic) => {
                    let letters = self.bytes[self.at + 1..].iter().take_while(|byte| byte.is_ascii_alphabetic());
                    let end = self.at + 1 + letters.count();
                    operator(&self.text[self.at + 1..end]).then_some(())?;
                    self.at = end;
                }
                b'0'..=b'9' | b'+' | b'-' | b'*' | b'/' | b'%' | b'!' | b',' | b'.' => {
                    self.at += 1;
                    // `10mb`, `0x1f`, `2>&1`
                    while byte.is_ascii_digit() && self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric()) {
                        self.at += 1;
                    }
                }
                b'>' => {
                    let mut redirects = Vec::new();
                    self.redirect(&mut redirects)?;
                    self.calls.push(Call { words: Vec::new(), redirects });
                }
                // `foreach ($file in Get-ChildItem)`, `if (…) { … } else { … }`: another statement begins.
                byte if byte.is_ascii_alphabetic() => {
                    let letters = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
                    let word = self.text[self.at..self.at + letters].to_ascii_lowercase();
                    return names::has("powershell.keywords", word.as_str()).then_some(false);
                }
                _ => return None,
            }
        }
    }

    /// Behind `=`: a variable may be given anything, a member of an object not.
    /// One of the environment is what `export` sets elsewhere.
    fn assigned(&mut self, start: usize) -> Option<()> {
        let target = self.text[start..self.at].trim_end_matches(['=', '+', '-', '*', '/', '%', ' ', '\t']);
        let target = target.rsplit(']').next().unwrap_or_default().trim();
        if let Some(name) = target.get(5..).filter(|_| target[..5].eq_ignore_ascii_case("$env:")) {
            let value = self.text[self.at..].split(['\n', ';']).next().unwrap_or_default();
            let value = value.trim().trim_matches(['"', '\'']);
            let span = self.within.cloned().unwrap_or(start..self.at);
            let word = |text: String| Word { text, exact: true, span: span.clone(), ..Word::default() };
            let words = vec![word("export".to_owned()), word(format!("{name}={value}"))];
            self.calls.push(Call { words, redirects: Vec::new() });
        }
        (target.starts_with('$') && !target.contains('.')).then_some(())
    }
}
