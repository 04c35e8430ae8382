//! Arguments are held against the schema of their tool while they are said, in every dialect: one walk over their JSON
//! finds what isn't of its declared type, and says what plainly means that type as it (`"7"`, `07` or `"True"` where a
//! number or a boolean is declared, `7` where a string is). Promises: what isn't changed passes byte for byte; only
//! a string where none is declared is held, and only for a few bytes; each byte is looked at once.

use loopwright_base::text::head;
use memchr::{memchr, memchr2};

use super::{
    signature::{Kind, Signature},
    value::{Forms, word_of_python},
};

/// The longest text of a string that may be another literal, and of a name that is compared.
const MAX_HELD: usize = 512;
/// How deep schemas are read; nothing is declared below.
const MAX_DEPTH: usize = 32;
/// The most that is told of one call.
const MAX_FINDINGS: usize = 32;
/// Why a call must not run whose arguments stood in an argument, and more beside it.
const STOOD_BESIDE: &str = "arguments stand in an argument, and others beside it";
/// What models wrap arguments in once more.
const WRAPPERS: [&str; 3] = ["arguments", "parameters", "args"];

/// What was found in a call's arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Finding {
    /// This isn't what was declared, in these words; whether it was said as what it means.
    Type { place: String, declared: &'static str, read: bool },
    /// The arguments stood in an argument of that name.
    Wrapped,
    /// It isn't known what was meant.
    Doubt(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scan {
    /// Before a value, or the end of a list.
    Value,
    /// Before a name, or the end of an object.
    Name,
    /// In a name; whether a backslash stands before.
    InName(bool),
    Colon,
    /// In a string that passes.
    Text(bool),
    /// In a string that may be another literal.
    Held,
    /// In a number or word; whether it becomes a string.
    Literal(bool),
    /// Behind a value.
    After,
}

#[derive(Debug)]
struct Level {
    object: bool,
    /// The name of the member that is read.
    name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrapper {
    /// The first name is still to come.
    Possible,
    /// So far it looks like one, and is held.
    Held,
    /// It was left out, and its object is open.
    Open,
    /// Its object ended.
    Closed,
    No,
}

/// The walk over one call's arguments.
#[derive(Debug)]
pub(super) struct Types {
    levels: Vec<Level>,
    scan: Scan,
    /// A string or literal, as far as it was read.
    held: String,
    wrapper: Wrapper,
    /// What was read of a wrapper, and where its object's first member begins in it.
    wrapping: String,
    inner_from: usize,
    out: String,
    /// What the last step said in the place of what it read, unless that passes as it stands.
    said: String,
    passes: bool,
    /// What may stand where the value is read.
    forms: Forms,
    findings: Vec<Finding>,
}

impl Types {
    pub(super) fn new() -> Self {
        Self {
            levels: Vec::new(),
            scan: Scan::Value,
            held: String::new(),
            wrapper: Wrapper::Possible,
            wrapping: String::new(),
            inner_from: 0,
            out: String::new(),
            said: String::new(),
            passes: false,
            forms: Forms::ANY,
            findings: Vec::new(),
        }
    }

    /// Whether text without quotation marks and backslashes passes as it stands.
    pub(super) fn passes(&self) -> bool {
        self.scan == Scan::Text(false) && self.wrapper != Wrapper::Held
    }

    /// Follows text within a string that passed as it stands.
    pub(super) fn glide(&mut self, text: &str) {
        self.scan = Scan::Text(ends_in_escape(text.as_bytes()));
    }

    /// What was found.
    pub(super) fn findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    /// Takes more JSON; gives what is said of it.
    pub(super) fn push<'a>(&'a mut self, json: &'a str, signature: &Signature) -> &'a str {
        if self.passes() && memchr2(b'"', b'\\', json.as_bytes()).is_none() {
            return json;
        }
        self.out.clear();
        let (mut from, mut at) = (0, 0);
        while let Some(rest) = json.get(at..).filter(|rest| !rest.is_empty()) {
            self.passes = false;
            let end = at + self.step(rest, signature);
            if !self.passes {
                self.out.push_str(json.get(from..at).unwrap_or_default());
                self.out.push_str(&self.said);
                self.said.clear();
                from = end;
            }
            at = end;
        }
        if from == 0 && self.out.is_empty() {
            return json;
        }
        self.out.push_str(json.get(from..).unwrap_or_default());
        &self.out
    }

    fn say(&mut self, text: &str) {
        if self.wrapper == Wrapper::Held {
            self.wrapping.push_str(text);
        } else {
            self.said.push_str(text);
        }
    }

    /// The step's text, all that it reads, is said as it stands. Nothing is said behind it in the same step.
    fn pass(&mut self, text: &str) {
        if self.wrapper == Wrapper::Held || !self.said.is_empty() {
            self.say(text);
        } else {
            self.passes = true;
        }
    }

    /// Reads a piece of the front of `rest`; gives how long it is.
    fn step(&mut self, rest: &str, signature: &Signature) -> usize {
        let bytes = rest.as_bytes();
        let first = bytes.first().copied().unwrap_or_default();
        let one = rest.chars().next().map_or(1, char::len_utf8);
        match self.scan {
            Scan::Text(true) => {
                self.pass(rest.get(..one).unwrap_or_default());
                self.scan = Scan::Text(false);
                one
            }
            Scan::Text(false) => {
                let end = string_end(bytes);
                let taken = end.map_or(rest.len(), |end| end + 1);
                self.pass(rest.get(..taken).unwrap_or_default());
                self.scan = if end.is_some() { Scan::After } else { Scan::Text(ends_in_escape(bytes)) };
                taken
            }
            Scan::InName(escaped) => {
                let end = if escaped { 0 } else { memchr2(b'"', b'\\', bytes).unwrap_or(rest.len()) };
                let taken = if end < rest.len() { end + if escaped { one } else { 1 } } else { end };
                let text = rest.get(..taken).unwrap_or_default();
                self.pass(text);
                self.held.push_str(text);
                match bytes.get(end) {
                    Some(b'"') if !escaped => self.name_ends(signature),
                    Some(b'\\') if !escaped => self.scan = Scan::InName(true),
                    _ => self.scan = Scan::InName(false),
                }
                taken
            }
            Scan::Held => self.held(rest, signature),
            Scan::Literal(string) => {
                let end = bytes.iter().position(|byte| !(byte.is_ascii_alphanumeric() || b"+-.".contains(byte)));
                let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                if string {
                    self.say(text);
                } else {
                    self.pass(text);
                }
                self.keep(text);
                if end.is_some() {
                    self.literal_ends(string, signature);
                }
                text.len()
            }
            _ if first.is_ascii_whitespace() => {
                self.pass(rest.get(..1).unwrap_or_default());
                1
            }
            Scan::Colon => {
                self.pass(rest.get(..one).unwrap_or_default());
                self.scan = Scan::Value;
                one
            }
            Scan::Name if first == b'"' => {
                if self.wrapper == Wrapper::Possible && !signature.parameters.is_empty() && signature.others.is_none() {
                    self.wrapper = Wrapper::Held;
                } else if self.wrapper == Wrapper::Possible {
                    self.wrapper = Wrapper::No;
                }
                self.pass("\"");
                self.held.clear();
                self.scan = Scan::InName(false);
                1
            }
            Scan::Value if !matches!(first, b']' | b'}' | b',' | b':') => self.value_begins(rest, signature),
            Scan::Value | Scan::Name | Scan::After => {
                match first {
                    b'}' | b']' => self.close(first),
                    b',' => self.comma(),
                    _ => self.pass(rest.get(..one).unwrap_or_default()),
                }
                one
            }
        }
    }

    fn keep(&mut self, text: &str) {
        if self.held.len() + text.len() <= MAX_HELD {
            self.held.push_str(text);
        } else {
            self.held.clear();
            self.held.extend(std::iter::repeat_n('1', MAX_HELD));
        }
    }

    fn comma(&mut self) {
        if self.wrapper == Wrapper::Closed {
            self.wrapper = Wrapper::No;
            self.find(Finding::Doubt(STOOD_BESIDE));
        }
        self.pass(",");
        self.scan = if self.levels.last().is_some_and(|level| level.object) { Scan::Name } else { Scan::Value };
    }

    fn close(&mut self, closer: u8) {
        self.release();
        let object = self.levels.pop().is_none_or(|level| level.object);
        self.scan = Scan::After;
        if self.wrapper == Wrapper::Open && self.levels.len() == 1 {
            self.wrapper = Wrapper::Closed;
            return;
        }
        if self.wrapper == Wrapper::Closed && self.levels.is_empty() {
            self.find(Finding::Wrapped);
        }
        match (object, closer) {
            (true, b'}') => self.pass("}"),
            (true, _) => self.say("}"),
            (false, b']') => self.pass("]"),
            (false, _) => self.say("]"),
        }
    }

    /// What was held is no wrapper.
    fn release(&mut self) {
        if self.wrapper == Wrapper::Held {
            self.said.push_str(&self.wrapping);
            self.wrapper = Wrapper::No;
        }
    }

    fn name_ends(&mut self, signature: &Signature) {
        self.held.pop();
        if self.held.contains('\\') {
            self.held = serde_json::from_str(&format!("\"{}\"", self.held)).unwrap_or_default();
        }
        self.scan = Scan::Colon;
        if self.wrapper == Wrapper::Held {
            let declared = signature.parameters.contains_key(&self.held);
            match self.levels.len() {
                1 if !declared && WRAPPERS.contains(&self.held.as_str()) => {}
                2 if declared => {
                    self.wrapper = Wrapper::Open;
                    self.said.push_str(self.wrapping.get(self.inner_from..).unwrap_or_default());
                }
                _ => self.release(),
            }
        }
        if let Some(level) = self.levels.last_mut() {
            level.name.clear();
            level.name.push_str(head(&self.held, MAX_HELD));
        }
    }

    fn value_begins(&mut self, rest: &str, signature: &Signature) -> usize {
        let first = rest.as_bytes().first().copied().unwrap_or_default();
        if first != b'{' || self.levels.len() > 1 {
            self.release();
        }
        let kind = if self.levels.is_empty() || self.wrapper == Wrapper::Held { None } else { self.kind(signature) };
        let forms = kind.map_or(Forms::ANY, Forms::of);
        self.forms = forms;
        self.held.clear();
        match first {
            b'{' | b'[' => {
                let object = first == b'{';
                if !forms.allows(if object { Forms::OBJECT } else { Forms::ARRAY }) {
                    self.misfit(kind, false);
                }
                self.pass(if object { "{" } else { "[" });
                self.inner_from = self.wrapping.len();
                self.levels.push(Level { object, name: String::new() });
                self.scan = if object { Scan::Name } else { Scan::Value };
            }
            b'"' if forms.allows(Forms::TEXT) => {
                self.pass("\"");
                self.scan = Scan::Text(false);
            }
            b'"' if forms.allows(Forms::SCALAR) => self.scan = Scan::Held,
            b'"' => {
                self.misfit(kind, false);
                self.pass("\"");
                self.scan = Scan::Text(false);
            }
            _ => {
                let number = first == b'-' || first.is_ascii_digit();
                let string = number && forms.allows(Forms::TEXT) && !forms.allows(Forms::NUMERIC);
                let one = rest.chars().next().map_or(1, char::len_utf8);
                let text = rest.get(..one).unwrap_or_default();
                if string {
                    self.say("\"");
                    self.say(text);
                } else {
                    self.pass(text);
                }
                self.keep(text);
                self.scan = Scan::Literal(string);
                return one;
            }
        }
        1
    }

    fn held(&mut self, rest: &str, signature: &Signature) -> usize {
        let end = memchr2(b'"', b'\\', rest.as_bytes()).unwrap_or(rest.len());
        let text = rest.get(..end).unwrap_or_default();
        let closed = rest.as_bytes().get(end) == Some(&b'"');
        let kind = self.kind(signature);
        if self.held.len() + end > MAX_HELD || (end < rest.len() && !closed) {
            self.misfit(kind, false);
            self.say("\"");
            let held = std::mem::take(&mut self.held);
            self.say(&held);
            self.scan = Scan::Text(false);
            return 0;
        }
        self.held.push_str(text);
        if !closed {
            return end;
        }
        self.scan = Scan::After;
        let held = std::mem::take(&mut self.held);
        let meant = meant(&held, kind.map_or(Forms::ANY, Forms::of));
        self.misfit(kind, meant.is_some());
        if let Some(meant) = meant {
            self.say(meant);
        } else {
            self.say("\"");
            self.say(&held);
            self.say("\"");
        }
        end + 1
    }

    fn literal_ends(&mut self, string: bool, signature: &Signature) {
        self.scan = Scan::After;
        if self.levels.is_empty() {
            return;
        }
        if string {
            self.say("\"");
            self.misfit(self.kind(signature), true);
        } else if !self.forms.allows(Forms::of_literal(&self.held)) {
            self.misfit(self.kind(signature), false);
        }
    }

    fn misfit(&mut self, kind: Option<&Kind>, read: bool) {
        if let Some(kind) = kind {
            let place = self.place();
            self.find(Finding::Type { place, declared: kind.in_words(), read });
        }
    }

    fn find(&mut self, finding: Finding) {
        if self.findings.len() < MAX_FINDINGS && !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    /// The levels whose names count: not the object around a wrapper.
    fn inner(&self) -> &[Level] {
        let wrapped = usize::from(self.wrapper == Wrapper::Open);
        self.levels.get(wrapped..).unwrap_or_default()
    }

    /// Where the value stands: `a.b[]`.
    fn place(&self) -> String {
        let mut place = String::new();
        for level in self.inner().iter().take(MAX_DEPTH) {
            if level.object {
                if !place.is_empty() {
                    place.push('.');
                }
                place.push_str(&level.name);
            } else {
                place.push_str("[]");
            }
        }
        place
    }

    /// What is declared of the value that is read.
    fn kind<'a>(&self, signature: &'a Signature) -> Option<&'a Kind> {
        let mut levels = self.inner().iter();
        let mut kind = signature.kind(&levels.next()?.name)?;
        for level in levels {
            kind = kind.part(level.object.then_some(&level.name))?;
        }
        Some(kind)
    }
}

/// Where a string ends whose inside begins `bytes`.
fn string_end(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let rest = bytes.get(from..).unwrap_or_default();
        let quote = memchr(b'"', rest)?;
        if !ends_in_escape(rest.get(..quote).unwrap_or_default()) {
            return Some(from + quote);
        }
        from += quote + 1;
    }
}

/// Whether what follows is escaped.
fn ends_in_escape(bytes: &[u8]) -> bool {
    bytes.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

impl Kind {
    /// What is declared of a member of that name, or of the items of a list; nothing where alternatives differ.
    fn part(&self, name: Option<&String>) -> Option<&Self> {
        match (self, name) {
            (Self::Object(signature), Some(name)) => signature.kind(name),
            (Self::Array(items), None) => Some(items),
            (Self::OneOf(kinds), _) => {
                let fits = |kind: &&Self| matches!((kind, name), (Self::Object(_), Some(_)) | (Self::Array(_), None));
                let mut kinds = kinds.iter().filter(fits);
                let only = kinds.next()?;
                if kinds.next().is_some() { None } else { only.part(name) }
            }
            _ => None,
        }
    }
}

/// The literal of one of `forms` that a text plainly is.
fn meant(text: &str, forms: Forms) -> Option<&str> {
    let text = text.trim();
    if forms.allows(Forms::of_literal(text)) {
        return Some(text);
    }
    if let Some(word) = word_of_python(text, forms) {
        return Some(word);
    }
    // Zeros in front of a number, as in a month.
    let bare = text.trim_start_matches('0');
    let digits = text.len() > bare.len() && text.bytes().all(|byte| byte.is_ascii_digit());
    (digits && forms.allows(Forms::NUMERIC)).then_some(if bare.is_empty() { "0" } else { bare })
}

#[cfg(test)]
mod tests;
