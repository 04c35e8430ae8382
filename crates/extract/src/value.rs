//! Raw text becomes a JSON value by the type its parameter declares, while it is still being written. Promises: a
//! declared string is streamed at once and never parsed, digits stay as written, JSON that fits passes byte for byte,
//! and nothing said is taken back.
//!
//! What a value becomes, by what is declared:
//! - a string, and nothing else: the text as it stands;
//! - integer, number, boolean, null: the literal, white space around it aside, if it is one of JSON's (`True`, `False`
//!   and `None` too);
//! - array, object: the text if it is JSON, else mended if that can be, and said so;
//! - several types without a string: whichever the text is;
//! - several types, a string among them, or nothing declared: `null`, `true`, `false`, a number, an array or an object
//!   where the whole text is exactly one in JSON and such a thing is allowed; a string otherwise. `"quoted"` is a
//!   string with its quotes.
//!
//! Where the markup says a type, it decides between those that are declared; a string that is declared outdoes it.
//!
//! A value that isn't what was declared is reported and kept: as the JSON literal that it is, or else as a string.

use super::{
    arguments::TOO_DEEP,
    body::{Sink, Step},
    escape::{clean, escape},
    json::Mend,
    repair::repair_json,
    signature::Kind,
};

/// A set of the things a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Forms(u8);

const NULL: u8 = 1;
const BOOLEAN: u8 = 2;
const INTEGER: u8 = 4;
const NUMBER: u8 = 8;
const ARRAY: u8 = 16;
const OBJECT: u8 = 32;
const STRING: u8 = 64;

/// White space before a literal beyond which a text counts as a string, so that little is held.
const MAX_INDENT: usize = 64;
/// The most that is held of a value that nobody hears.
pub(super) const MAX_MUTE: usize = 4096;
/// How much text is escaped at a time: what fits the cache.
const PIECE: usize = 16 * 1024;

impl Forms {
    /// Nothing declared.
    pub(super) const ANY: Self = Self(127);
    /// Anything but a string.
    pub(super) const LITERAL: Self = Self(63);
    /// A string.
    pub(super) const TEXT: Self = Self(STRING);
    pub(super) const ARRAY: Self = Self(ARRAY);
    pub(super) const OBJECT: Self = Self(OBJECT);
    /// A number, a boolean or null.
    pub(super) const SCALAR: Self = Self(NULL | BOOLEAN | INTEGER | NUMBER);
    pub(super) const NUMERIC: Self = Self(INTEGER | NUMBER);

    /// What `kind` allows.
    pub(super) fn of(kind: &Kind) -> Self {
        Self(match kind {
            Kind::String => STRING,
            Kind::Integer => INTEGER,
            Kind::Number => NUMBER,
            Kind::Boolean => BOOLEAN,
            Kind::Null => NULL,
            Kind::Array(_) => ARRAY,
            Kind::Object(_) => OBJECT,
            Kind::Any => return Self::ANY,
            // `Signatures` keeps these flat; were one nested all the same, it would count as anything.
            Kind::OneOf(kinds) => kinds.iter().fold(0, |forms, kind| {
                forms | if matches!(kind, Kind::OneOf(_)) { Self::ANY.0 } else { Self::of(kind).0 }
            }),
        })
    }

    /// What a text is, if it is one whole JSON value other than a string; nothing if it isn't.
    pub(super) fn of_literal(text: &str) -> Self {
        Self(literal(text))
    }

    /// Whether one of the others is allowed.
    pub(super) fn allows(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    fn has(self, form: u8) -> bool {
        self.0 & form != 0
    }
}

/// How far a text still looks like a literal.
#[derive(Debug, Clone, Copy)]
enum Maybe {
    Start(usize),
    Word(&'static [u8]),
    Number,
    After,
    Container,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// A string on its way out.
    Text,
    /// Held as long as it may turn out to be more than a string.
    Maybe(Maybe),
    /// Held to its end.
    Whole,
    /// Held to its end, and said to be JSON.
    Json,
    /// Of no use.
    Ignored,
}

/// One value at a time.
#[derive(Debug, Clone)]
pub(super) struct Value {
    state: State,
    forms: Forms,
    held: String,
    scratch: String,
}

impl Value {
    pub(super) fn new() -> Self {
        Self { state: State::Ignored, forms: Forms::ANY, held: String::new(), scratch: String::new() }
    }

    /// Begins a value that may be any of `forms`, after the JSON text `before` (a brace or comma, the key, the colon).
    pub(super) fn begin(&mut self, forms: Forms, before: &str, bytes: usize, sink: &mut dyn Sink) {
        self.held.clear();
        self.forms = forms;
        if forms == Forms::TEXT {
            self.state = State::Text;
            self.scratch.clear();
            self.scratch.push_str(before);
            self.scratch.push('"');
            sink.arguments(&self.scratch, bytes);
        } else {
            self.state = if forms.has(STRING) { State::Maybe(Maybe::Start(0)) } else { State::Whole };
            sink.arguments(before, bytes);
        }
    }

    /// Begins a value that is JSON by its markup, whatever is declared.
    pub(super) fn begin_json(&mut self, before: &str, bytes: usize, sink: &mut dyn Sink) {
        self.held.clear();
        self.forms = Forms::ANY;
        self.state = State::Json;
        sink.arguments(before, bytes);
    }

    /// Begins a value that goes nowhere.
    pub(super) fn begin_ignored(&mut self, bytes: usize, sink: &mut dyn Sink) {
        self.state = State::Ignored;
        sink.arguments("", bytes);
    }

    /// Whether no text can stand in it, not even in a part of it.
    pub(super) fn is_scalar(&self) -> bool {
        matches!(self.state, State::Whole) && !self.forms.has(STRING | ARRAY | OBJECT)
    }

    /// Whether it is a string on its way out.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.state, State::Text)
    }

    /// Takes more of the text. With `more`, bytes may follow that complete a character; such a beginning isn't taken.
    /// Gives how many bytes were.
    pub(super) fn push(&mut self, bytes: &[u8], more: bool, sink: &mut dyn Sink) -> usize {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            match self.state {
                State::Text => return at + self.escape(rest, more, true, sink),
                State::Ignored => {
                    sink.arguments("", rest.len());
                    return bytes.len();
                }
                _ => {}
            }
            let Some(chunk) = rest.utf8_chunks().next() else { return at };
            let (good, bad) = (chunk.valid(), chunk.invalid());
            if !good.is_empty() {
                self.hold(good, good.len(), sink);
                at += good.len();
            } else if more
                && bad.len() == rest.len()
                && std::str::from_utf8(bad).is_err_and(|error| error.error_len().is_none())
            {
                return at;
            } else {
                self.hold("\u{fffd}", bad.len(), sink);
                at += bad.len();
            }
        }
        at
    }

    /// Keeps text of a value that may be more than a string.
    fn hold(&mut self, text: &str, bytes: usize, sink: &mut dyn Sink) {
        let viable = match &mut self.state {
            State::Maybe(maybe) => maybe.take(text, self.forms),
            _ => true,
        };
        self.held.push_str(text);
        sink.arguments("", bytes);
        if !viable || self.held.len() > if sink.hears() { sink.room() } else { MAX_MUTE } {
            self.spill(sink);
        }
    }

    /// What was held is a string, and the rest will be.
    fn spill(&mut self, sink: &mut dyn Sink) {
        self.state = State::Text;
        sink.arguments("\"", 0);
        let held = std::mem::take(&mut self.held);
        self.escape(held.as_bytes(), false, false, sink);
        self.held = held;
        self.held.clear();
    }

    /// Says `bytes` as part of a string, and gives how many it took. Those of held text were counted before: `counts`
    /// is false.
    fn escape(&mut self, bytes: &[u8], more: bool, counts: bool, sink: &mut dyn Sink) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            let end = bytes.len().min(at + PIECE);
            let piece = bytes.get(at..end).unwrap_or_default();
            if let Some(text) = clean(piece) {
                sink.arguments(text, if counts { piece.len() } else { 0 });
                at = end;
                continue;
            }
            self.scratch.clear();
            let cut = more || end < bytes.len();
            let taken = escape(piece, !cut, &mut self.scratch);
            if taken == 0 {
                break;
            }
            sink.arguments(&self.scratch, if counts { taken } else { 0 });
            at += taken;
        }
        at
    }

    /// The value ends; `bytes` of closing markup follow it. `parameter` and `kind` are for the report if it isn't what
    /// was declared. In place of one nested too deep `null` is said.
    #[allow(clippy::unnecessary_wraps)] // as each step of a call gives
    pub(super) fn end(
        &mut self,
        bytes: usize,
        parameter: &str,
        kind: Option<&Kind>,
        sink: &mut dyn Sink,
    ) -> Result<(), Step> {
        let json = match self.state {
            State::Ignored => {
                sink.arguments("", bytes);
                return Ok(());
            }
            State::Text => {
                sink.arguments("\"", bytes);
                // Its markup says that it is a string.
                if self.forms == Forms::TEXT
                    && let Some(kind) = kind.filter(|kind| !Forms::of(kind).has(STRING))
                {
                    sink.wrong_type(parameter, kind);
                }
                return Ok(());
            }
            State::Json => true,
            State::Maybe(_) | State::Whole => false,
        };
        self.state = State::Ignored;
        let held = std::mem::take(&mut self.held);
        let written = held.trim_matches(SPACE);
        let depth = sink.max_depth();
        sink.looked(written.len());
        let found = literal(written);
        // Its type is said by the markup.
        let marked = json || self.forms == Forms::LITERAL;
        // Where a string is declared, among other types or alone, that says nothing: it is one unless it is a literal
        // that is allowed, or written as a string of JSON where the markup says that it is JSON.
        let strings = kind.map(Forms::of).filter(|forms| forms.has(STRING) && *forms != Forms::ANY);
        let text = marked
            && strings.is_some_and(|forms| match found {
                0 => {
                    let word = python(written).is_some_and(|(_, form)| forms.has(form));
                    !(word || (json && is_json(written)))
                }
                found => !forms.has(found),
            });
        if found & (ARRAY | OBJECT) != 0 && !text {
            sink.looked(written.len());
            if depth_of(written) > depth {
                // The call must not run, but it goes on.
                sink.spoiled(TOO_DEEP);
                sink.arguments("null", bytes);
                self.held = held;
                self.held.clear();
                return Ok(());
            }
        }
        let forms = self.forms;
        let container = json || forms.has(ARRAY | OBJECT);
        let mended = || {
            let mended = if found == 0 && container && sink.repairs() { mend(written) } else { None };
            mended.filter(|mended| depth_of(mended) <= depth)
        };
        let mut fits = true;
        // What the markup says may not be what is declared.
        let suits = |form: u8| !marked || kind.is_none_or(|kind| Forms::of(kind).has(form));
        if text {
            self.string(&held, bytes, sink);
        } else if found & forms.0 != 0 || (json && is_json(written)) {
            sink.arguments(written, bytes);
            fits = suits(if found == 0 { STRING } else { found });
        } else if (json || !forms.has(STRING))
            && let Some(word) = python(written).filter(|(_, form)| forms.has(*form))
        {
            sink.arguments(word.0, bytes);
            fits = suits(word.1);
            if marked {
                sink.repaired(Mend::Literal.describe());
            }
        } else if forms.has(STRING) && !json {
            self.string(&held, bytes, sink);
        } else if let Some(mended) = mended() {
            // To mend it, and to see how deep it is.
            sink.looked(2 * written.len());
            sink.arguments(&mended, bytes);
            sink.repaired("a value that was almost JSON");
        } else {
            fits = found == 0 && kind.is_none_or(|kind| Forms::of(kind).has(STRING));
            if marked {
                sink.repaired("kept as a string what its markup says is none");
            }
            if found == 0 {
                self.string(&held, bytes, sink);
            } else {
                sink.arguments(written, bytes);
            }
        }
        if !fits {
            sink.wrong_type(parameter, kind.unwrap_or(&Kind::Any));
        }
        self.held = held;
        self.held.clear();
        Ok(())
    }

    fn string(&mut self, text: &str, bytes: usize, sink: &mut dyn Sink) {
        sink.arguments("\"", 0);
        self.escape(text.as_bytes(), false, false, sink);
        sink.arguments("\"", bytes);
    }
}

impl Maybe {
    /// Whether what came before and `text` may still be a literal of one of `forms`.
    fn take(&mut self, text: &str, forms: Forms) -> bool {
        for byte in text.bytes() {
            *self = match (*self, byte) {
                (Self::Container, _) => return true,
                (Self::Start(indent), b' ' | b'\t' | b'\n' | b'\r') if indent < MAX_INDENT => Self::Start(indent + 1),
                (Self::Start(_), b'{') if forms.has(OBJECT) => Self::Container,
                (Self::Start(_), b'[') if forms.has(ARRAY) => Self::Container,
                (Self::Start(_), b'-' | b'0'..=b'9') if forms.has(INTEGER | NUMBER) => Self::Number,
                (Self::Start(_), b't') if forms.has(BOOLEAN) => Self::Word(b"rue"),
                (Self::Start(_), b'f') if forms.has(BOOLEAN) => Self::Word(b"alse"),
                (Self::Start(_), b'n') if forms.has(NULL) => Self::Word(b"ull"),
                (Self::Word([first, rest @ ..]), byte) if *first == byte => {
                    if rest.is_empty() {
                        Self::After
                    } else {
                        Self::Word(rest)
                    }
                }
                (Self::Number, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-') => Self::Number,
                (Self::Number | Self::After, b' ' | b'\t' | b'\n' | b'\r') => Self::After,
                _ => return false,
            };
        }
        true
    }
}

const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// What the text is, if it is one whole JSON value other than a string: the forms that it fits; 0 if it isn't.
fn literal(text: &str) -> u8 {
    match text.as_bytes() {
        b"null" => NULL,
        b"true" | b"false" => BOOLEAN,
        [b'-' | b'0'..=b'9', ..] => number(text.as_bytes()),
        [b'{', ..] if is_json(text) => OBJECT,
        [b'[', ..] if is_json(text) => ARRAY,
        _ => 0,
    }
}

/// What a word of Python is in JSON, if it may be one of `forms`.
pub(super) fn word_of_python(text: &str, forms: Forms) -> Option<&'static str> {
    python(text).filter(|(_, form)| forms.has(*form)).map(|(word, _)| word)
}

fn python(text: &str) -> Option<(&'static str, u8)> {
    match text {
        "True" => Some(("true", BOOLEAN)),
        "False" => Some(("false", BOOLEAN)),
        "None" => Some(("null", NULL)),
        _ => None,
    }
}

/// JSON's numbers; those without a fraction (`5`, `5.0`, `1e3`) are integers too.
fn number(text: &[u8]) -> u8 {
    fn digits(text: &[u8]) -> (&[u8], &[u8]) {
        text.split_at(text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len()))
    }
    let (whole, mut rest) = digits(text.strip_prefix(b"-").unwrap_or(text));
    if whole.is_empty() || (whole.len() > 1 && whole.starts_with(b"0")) {
        return 0;
    }
    let mut integer = true;
    if let Some(after) = rest.strip_prefix(b".") {
        let (fraction, after) = digits(after);
        if fraction.is_empty() {
            return 0;
        }
        integer = fraction.iter().all(|digit| *digit == b'0');
        rest = after;
    }
    if let [b'e' | b'E', after @ ..] = rest {
        let negative = after.starts_with(b"-");
        let (exponent, after) = digits(after.strip_prefix(b"+").or_else(|| after.strip_prefix(b"-")).unwrap_or(after));
        if exponent.is_empty() {
            return 0;
        }
        integer &= !negative;
        rest = after;
    }
    match (rest.is_empty(), integer) {
        (false, _) => 0,
        (true, true) => INTEGER | NUMBER,
        (true, false) => NUMBER,
    }
}

/// Whether the text is one JSON value.
pub(super) fn is_json(text: &str) -> bool {
    // Without building anything, and without recursion.
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// How deep JSON text is nested.
pub(super) fn depth_of(text: &str) -> usize {
    let (mut depth, mut deepest, mut string, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if string => escaped = true,
            b'"' => string = !string,
            b'{' | b'[' if !string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// An array or object that is almost JSON (Python's literals, a comma too many) as JSON. What was cut off is not
/// completed.
pub(super) fn mend(text: &str) -> Option<String> {
    let closer = match text.as_bytes().first() {
        Some(b'{') => "}",
        Some(b'[') => "]",
        _ => return None,
    };
    let repaired = repair_json(text);
    let one = !repaired.repairs.iter().any(|repair| matches!(repair.what, Mend::Several | Mend::Around));
    (text.ends_with(closer) && repaired.complete && one).then_some(repaired.json)
}

/// Appends what stands before a member's value: a brace or a comma, the key, a colon.
pub(super) fn member_into(first: bool, key: &str, out: &mut String) {
    out.push(if first { '{' } else { ',' });
    out.push('"');
    escape(key.as_bytes(), true, out);
    out.push_str("\":");
}

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(super) mod testing;
