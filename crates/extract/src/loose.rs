//! `call:NAME{k:<quote>text<quote>,n:42}`, JSON's loose cousin: bare keys, and strings between markers in which
//! everything is text. JSON's own strings are read too; they are how a string that holds the marker can be written.
//! Read as well, and mended: strings in single quotes or backticks, `=` for a colon, parentheses for the braces, and a
//! name without `call:`.

mod header;

use std::collections::HashSet;

use memchr::memchr;

use self::header::{Found, header};
use super::{
    arguments::TOO_DEEP,
    body::{Body, Sink, Step},
    dialect::Dialect,
    escape::escape,
    json::Mend,
    left::{Left, Over, excess, goes_on},
    object::PART,
    python::{
        literal::{Literal, Read},
        number::Number,
    },
    signature::{Kind, Signature},
    sort::Sort,
};

/// What stands before the name.
const CALL: &[u8] = b"call:";
/// The most bytes looked at before a call is known.
const HEADER: usize = 512;
/// The longest key, number or bare word.
const WORD: usize = 4096;
/// How much JSON is gathered before it is handed on.
const BATCH: usize = 16 * 1024;
/// How much of a string is looked at together.
const PIECE: usize = 16 * 1024;
/// How far behind what closes calls, in a string, its quote is looked for.
const AHEAD: usize = 1024;
/// What is said of a call whose arguments stand in parentheses.
const ROUND: &str = "read parentheses as braces";
/// Why a call is broken whose string has no end.
const ENDLESS: &str = "a string without its end";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// The arguments, in parentheses.
    Round,
    Object,
    Array,
}

#[derive(Debug, Clone)]
enum State {
    /// Before a call; how much has been looked at, and where the name begins and ends.
    Header {
        at: usize,
        name: Option<usize>,
        end: Option<usize>,
        separated: bool,
        /// `call:` stands before it.
        called: bool,
    },
    /// Before a key or the object's end.
    Key,
    /// In a bare key.
    BareKey,
    /// After a key.
    Colon,
    Value,
    /// Before an item or the array's end.
    Item,
    /// In a number, a constant or a word.
    Bare,
    /// Between two quotes.
    Quoted,
    /// In a string of JSON.
    String(Literal),
    After,
    /// Behind what broke a call off.
    Broken(Left),
    /// Behind what closed a call too early.
    Behind(Left),
    Ended,
}

/// The grammar at work.
#[derive(Debug, Clone)]
pub(super) struct Loose {
    quote: &'static [u8],
    state: State,
    any: bool,
    stack: Vec<Frame>,
    /// Whether something stands before the next key or item.
    comma: bool,
    /// Whether the string being read is a key.
    key: bool,
    out: String,
    word: Vec<u8>,
    /// The JSON of the parameter's name.
    parameter: String,
    signature: Option<Signature>,
    /// The call's parameters so far, as JSON has them.
    parameters: HashSet<String>,
    /// Where in `out` a parameter begins that isn't known to be new, or isn't.
    held: Option<usize>,
    /// Whether that one was given before: the first counts.
    muted: bool,
    /// What a string took before it failed.
    read: usize,
    /// How far the quote of a string was looked for, behind what closes calls at the front.
    sought: usize,
    /// What closes a call, and what opens one.
    marks: [&'static [&'static str]; 2],
    failure: Option<&'static str>,
}

impl Loose {
    /// Reads calls whose strings stand between `quote`s.
    pub(super) fn new(quote: &'static str) -> Self {
        Self {
            quote: quote.as_bytes(),
            state: header(),
            any: false,
            stack: Vec::new(),
            comma: false,
            key: false,
            out: String::new(),
            word: Vec::new(),
            parameter: String::new(),
            signature: None,
            parameters: HashSet::new(),
            held: None,
            muted: false,
            read: 0,
            sought: 0,
            marks: [&[]; 2],
            failure: None,
        }
    }

    /// As a call of this dialect.
    pub(super) fn of(mut self, dialect: &'static Dialect) -> Self {
        self.marks = [dialect.close, dialect.open];
        self
    }

    /// The look for where this call ends, which broke.
    fn broken(&self, why: &'static str) -> Left {
        let open = self.stack.iter().filter(|frame| **frame != Frame::Array).count();
        let left = Left::new(self.marks, why).braces(open, self.quote, CALL);
        match self.state {
            State::Quoted => left.in_quotes(),
            State::String(_) => left.in_string(),
            _ => left,
        }
    }

    fn hand_on(&mut self, bytes: usize, sink: &mut dyn Sink) {
        if let Some(held) = self.held {
            if self.muted {
                self.out.truncate(held);
            }
            if bytes > 0 || held > 0 {
                sink.arguments(self.out.get(..held).unwrap_or_default(), bytes);
            }
            self.out.drain(..held.min(self.out.len()));
            self.held = Some(0);
        } else if bytes > 0 || !self.out.is_empty() {
            sink.arguments(&self.out, bytes);
            self.out.clear();
        }
    }

    fn end(&mut self, failure: Option<&'static str>) -> Step {
        self.state = State::Ended;
        self.failure = failure;
        failure.map_or(Step::Done, Step::Failed)
    }

    fn separate(&mut self) {
        if self.comma {
            self.out.push(',');
        }
        self.comma = true;
    }

    /// The declared type of the value that comes, if it is a parameter's.
    fn kind(&self) -> Option<&Kind> {
        let signature = self.signature.as_ref().filter(|_| self.stack.len() == 1)?;
        signature.kind(&self.parameter)
    }

    fn wrote(&mut self, sort: Sort, sink: &mut dyn Sink) {
        self.state = State::After;
        self.comma = true;
        if self.muted {
            if self.stack.len() <= 1 {
                self.out.truncate(self.held.take().unwrap_or_default());
                self.muted = false;
            }
            return;
        }
        match self.kind() {
            Some(kind) if !sort.fits(kind) => sink.wrong_type(&self.parameter, kind),
            _ => {}
        }
    }

    fn open(&mut self, frame: Frame, sink: &mut dyn Sink) -> Result<(), &'static str> {
        if self.stack.len() >= sink.max_depth() {
            return Err(TOO_DEEP);
        }
        self.stack.push(frame);
        self.comma = false;
        let (bracket, state) = match frame {
            Frame::Object | Frame::Round => ('{', State::Key),
            Frame::Array => ('[', State::Item),
        };
        self.out.push(bracket);
        self.state = state;
        Ok(())
    }

    /// Whether this closes the arguments that stand in parentheses.
    fn closes_round(&self, byte: u8) -> bool {
        byte == b')' && self.stack == [Frame::Round]
    }

    fn close(&mut self, byte: u8, sink: &mut dyn Sink) -> Result<(), &'static str> {
        match (self.stack.last(), byte) {
            (Some(Frame::Object), b'}') | (Some(Frame::Round), b')') => {
                self.stack.pop();
                self.out.push('}');
                self.wrote(Sort::Object, sink);
            }
            (Some(Frame::Array), b']') => {
                self.stack.pop();
                self.out.push(']');
                self.wrote(Sort::Array, sink);
            }
            _ => return Err("a bracket that closes nothing"),
        }
        Ok(())
    }

    /// A quote at the front of `input`, or what may become one.
    fn quoted(&self, input: &[u8], last: bool) -> Option<bool> {
        if input.starts_with(self.quote) {
            return Some(true);
        }
        if !last && self.quote.starts_with(input) { None } else { Some(false) }
    }

    /// A string was closed.
    fn closed(&mut self, sink: &mut dyn Sink) {
        self.out.push('"');
        if self.key {
            self.state = State::Colon;
        } else {
            self.wrote(Sort::String, sink);
        }
    }

    /// Remembers the name of a parameter; those of inner objects don't matter.
    fn name(&mut self, sink: &mut dyn Sink) {
        if self.stack.len() == 1 {
            let name = self.held.and_then(|held| self.out.get(held..)).unwrap_or_default();
            if self.parameters.insert(name.trim_start_matches(',').to_owned()) {
                self.held = None;
            } else {
                sink.repaired("a parameter was given twice; the first value was kept");
                self.muted = true;
            }
            self.parameter.clear();
            self.parameter.push_str(&String::from_utf8_lossy(&self.word));
        }
        self.word.clear();
    }

    /// Whether a bare word of this sort is a string: what is declared one, among other types or alone, and can't be any
    /// of those.
    fn is_string(&self, sort: Sort) -> bool {
        self.kind().is_some_and(|kind| Sort::String.fits(kind) && !sort.fits(kind))
    }

    fn bare(&mut self, sink: &mut dyn Sink) -> Result<(), &'static str> {
        let word = std::mem::take(&mut self.word);
        sink.looked(word.len());
        let text = word.trim_ascii();
        let constant = match text {
            b"" => return Err("a key without a value"),
            b"null" | b"None" => Some(("null", Sort::Null)),
            b"true" | b"True" => Some(("true", Sort::Boolean)),
            b"false" | b"False" => Some(("false", Sort::Boolean)),
            _ => None,
        };
        if let Some((text, sort)) = constant.filter(|(_, sort)| !self.is_string(*sort)) {
            self.out.push_str(text);
            self.wrote(sort, sink);
            return Ok(());
        }
        let start = self.out.len();
        let mut number = Number::new();
        let digits = text.iter().all(|byte| number.push(*byte, &mut self.out).unwrap_or(false));
        if digits && !number.text() && number.end(&mut self.out).is_ok() {
            let sort = if number.float() { Sort::Number } else { Sort::Integer };
            if !self.is_string(sort) {
                self.wrote(sort, sink);
                return Ok(());
            }
        }
        self.out.truncate(start);
        if !sink.repairs() {
            return Err("a string without its quotes");
        }
        sink.repaired("quoted a bare word");
        self.out.push('"');
        escape(text, true, &mut self.out);
        self.out.push('"');
        self.wrote(Sort::String, sink);
        Ok(())
    }

    /// Takes from the front of `input`: how many bytes, or `None` if it needs more.
    fn take(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Result<Option<usize>, &'static str> {
        let Some(&byte) = input.first() else { return Ok(None) };
        let spaced = matches!(self.state, State::Key | State::Colon | State::Value | State::Item | State::After);
        if spaced && matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            return Ok(Some(1));
        }
        match &mut self.state {
            State::Key | State::Value | State::Item => {
                self.key = matches!(self.state, State::Key);
                match byte {
                    b'}' if self.key => self.close(byte, sink)?,
                    b')' if self.key && self.closes_round(byte) => self.close(byte, sink)?,
                    // All arguments as one object.
                    b'{' if self.key && self.stack == [Frame::Round] && !self.comma => self.stack = vec![Frame::Object],
                    b']' if matches!(self.state, State::Item) => self.close(byte, sink)?,
                    _ => return self.begin(byte, input, last, sink),
                }
                return Ok(Some(1));
            }
            State::BareKey => {
                match byte {
                    b':' | b'=' => {
                        self.out.push('"');
                        let word = std::mem::take(&mut self.word);
                        escape(word.trim_ascii_end(), true, &mut self.out);
                        self.out.push('"');
                        self.word.extend_from_slice(word.trim_ascii_end());
                        self.state = State::Colon;
                        return Ok(Some(0));
                    }
                    b',' | b'{' | b'}' | b'[' | b']' | b'<' | b'"' => return Err("a key without a value"),
                    _ if self.word.len() >= WORD => return Err("a key too long"),
                    _ => self.word.push(byte),
                }
                return Ok(Some(1));
            }
            State::Colon => {
                if byte != b':' && (byte != b'=' || !sink.repairs()) {
                    return Err("a key without a value");
                }
                if byte == b'=' && self.stack.first() != Some(&Frame::Round) {
                    sink.repaired(Mend::MissingColon.describe());
                }
                self.name(sink);
                self.out.push(':');
                self.state = State::Value;
                return Ok(Some(1));
            }
            State::Bare => match byte {
                b',' | b'}' | b']' | b'<' => self.bare(sink)?,
                b')' if self.closes_round(byte) => self.bare(sink)?,
                // Another object, whose key the word would be: a call, perhaps.
                b'{' => return Err("a value that goes on as something else"),
                _ if self.word.len() >= WORD => return Err("a bare word too long"),
                _ => {
                    self.word.push(byte);
                    return Ok(Some(1));
                }
            },
            State::Quoted => {
                let piece = input.get(..input.len().min(PIECE)).unwrap_or_default();
                return self.text(piece, last && piece.len() == input.len(), sink);
            }
            State::String(literal) => {
                let whole = input.len() <= PIECE;
                let input = input.get(..input.len().min(PIECE)).unwrap_or_default();
                let last = last && whole;
                let start = self.out.len();
                let read = literal.step(input, last, &mut self.out, sink);
                if self.key {
                    // Compared with declared names, which have escapes in them almost never.
                    self.word.extend_from_slice(self.out.get(start..).unwrap_or_default().as_bytes());
                    if self.word.len() > WORD {
                        return Err("a key too long");
                    }
                }
                match read {
                    Read::More(left) if left == input.len() => return Ok(None),
                    Read::More(left) => return Ok(Some(input.len() - left)),
                    Read::Failed(at, why) => {
                        self.read = at;
                        return Err(why);
                    }
                    Read::Closed(at) => {
                        self.closed(sink);
                        return Ok(Some(at));
                    }
                }
            }
            State::After => {
                match (byte, self.stack.last()) {
                    (b',', Some(Frame::Object | Frame::Round)) => self.state = State::Key,
                    (b',', Some(Frame::Array)) => self.state = State::Item,
                    (b'}' | b']' | b')', _) => self.close(byte, sink)?,
                    _ => return Err("a value that goes on as something else"),
                }
                return Ok(Some(1));
            }
            State::Header { .. } | State::Broken(_) | State::Behind(_) | State::Ended => return Ok(None),
        }
        Ok(Some(0))
    }

    /// A key or a value begins.
    fn begin(
        &mut self,
        byte: u8,
        input: &[u8],
        last: bool,
        sink: &mut dyn Sink,
    ) -> Result<Option<usize>, &'static str> {
        let Some(quoted) = self.quoted(input, last) else { return Ok(None) };
        if matches!(byte, b',' | b':' | b'}' | b']') || self.key && matches!(byte, b'{' | b'[') {
            return Err("a value or a key is missing");
        }
        if !matches!(self.state, State::Value) {
            if self.key && self.stack.len() == 1 {
                self.held = Some(self.out.len());
            }
            self.separate();
        }
        if quoted {
            self.out.push('"');
            self.state = State::Quoted;
            return Ok(Some(self.quote.len()));
        }
        match byte {
            b'"' => {
                self.out.push('"');
                self.state = State::String(Literal::json());
            }
            b'\'' | b'`' if !sink.repairs() => return Err("a string in other quotes"),
            b'\'' | b'`' => {
                sink.repaired(Mend::Quotes.describe());
                self.out.push('"');
                self.state = State::String(Literal::of_line(byte));
            }
            b'{' => self.open(Frame::Object, sink)?,
            b'[' => self.open(Frame::Array, sink)?,
            _ => {
                self.state = if self.key { State::BareKey } else { State::Bare };
                return Ok(Some(0));
            }
        }
        Ok(Some(1))
    }

    /// Whether a string goes on where `input` may begin with what closes calls. If its quote is missing, the next one
    /// is that of the next call's first string, which stands behind a key; or there is none, and no other call.
    fn open_string(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Text {
        let [closers, openers] = self.marks;
        let begins = |input: &[u8], marks: &[&'static str]| {
            marks.iter().find(|mark| !mark.is_empty() && input.starts_with(mark.as_bytes())).map(|mark| mark.len())
        };
        let Some(closer) = begins(input, closers).filter(|_| !self.key) else {
            let cut = closers.iter().any(|mark| mark.as_bytes().starts_with(input)) && !last && !self.key;
            return if cut { Text::Unknown } else { Text::Own(1) };
        };
        let near = input.get(..input.len().min(AHEAD)).unwrap_or_default();
        let whole = near.len() == AHEAD || last;
        let from = self.sought.max(closer);
        let Some(quote) = memchr::memmem::find(near.get(from..).unwrap_or_default(), self.quote).map(|at| from + at)
        else {
            sink.looked(near.len().saturating_sub(from));
            if !whole {
                let most = self.quote.len().min(near.len().saturating_sub(from) + 1);
                let begun = |length: &usize| near.ends_with(self.quote.get(..*length).unwrap_or_default());
                self.sought = near.len() - (1..most).rev().find(begun).unwrap_or(0);
                return Text::Unknown;
            }
            self.sought = 0;
            let behind = near.get(closer..).unwrap_or_default();
            let alone = last && near.len() == input.len() && !openers.iter().any(|open| has(behind, open.as_bytes()));
            return if alone { Text::Over } else { Text::Own(near.len().saturating_sub(self.quote.len()).max(1)) };
        };
        let behind = near.get(quote + self.quote.len()..).unwrap_or_default().trim_ascii_start();
        if behind.is_empty() && !whole {
            self.sought = quote;
            return Text::Unknown;
        }
        sink.looked((quote + 1).saturating_sub(from));
        self.sought = 0;
        let between = near.get(closer..quote).unwrap_or_default().trim_ascii();
        let call = begins(between, openers).and_then(|open| between.get(open..)).filter(|call| call.starts_with(CALL));
        let next = call.is_some_and(|call| {
            let marks = closers.iter().chain(openers);
            matches!(call.last(), Some(b':' | b'[' | b',')) && !marks.into_iter().any(|mark| has(call, mark.as_bytes()))
        });
        let ends = matches!(behind.first(), None | Some(b',' | b'}' | b']' | b':'));
        if next && !ends { Text::Over } else { Text::Own(quote) }
    }

    /// Text between quotes.
    fn text(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Result<Option<usize>, &'static str> {
        let first = self.quote.first().copied().unwrap_or(b'<');
        let (mut end, mut found) = (0, false);
        loop {
            let rest = input.get(end..).unwrap_or_default();
            let Some(next) = memchr(first, rest) else {
                end = input.len();
                break;
            };
            end += next;
            match self.quoted(input.get(end..).unwrap_or_default(), last) {
                Some(false) => match self.open_string(input.get(end..).unwrap_or_default(), last, sink) {
                    Text::Own(bytes) => end += bytes,
                    Text::Unknown => break,
                    Text::Over => {
                        let run = input.get(..end).unwrap_or_default();
                        self.read = escape(run, true, &mut self.out);
                        // It wasn't one.
                        self.state = State::Value;
                        return Err(ENDLESS);
                    }
                },
                more => {
                    found = more.is_some();
                    break;
                }
            }
        }
        let run = input.get(..end).unwrap_or_default();
        let start = self.out.len();
        let taken = escape(run, last || end < input.len(), &mut self.out);
        if self.key {
            self.word.extend_from_slice(self.out.get(start..).unwrap_or_default().as_bytes());
            if self.word.len() > WORD {
                return Err("a key too long");
            }
        }
        if found {
            self.closed(sink);
            return Ok(Some(taken + self.quote.len()));
        }
        Ok((taken > 0).then_some(taken))
    }
}

/// How a string goes on.
enum Text {
    /// With so many bytes of its own.
    Own(usize),
    /// More has to be known.
    Unknown,
    /// Not at all: its end is missing.
    Over,
}

fn has(text: &[u8], mark: &[u8]) -> bool {
    !mark.is_empty() && memchr::memmem::find(text, mark).is_some()
}

impl Body for Loose {
    fn step(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Step {
        let mut at = 0;
        let mut said = 0;
        loop {
            let rest = input.get(at..).unwrap_or_default();
            match &mut self.state {
                State::Ended => return self.end(self.failure),
                State::Broken(left) => {
                    let (over, seen, why) = (left.read(rest, last), left.seen(), left.why);
                    match over {
                        Over::More => return Step::More,
                        Over::At(end) => {
                            sink.broken(end, why);
                            let behind = rest.get(end..).unwrap_or_default();
                            if self.marks[1].iter().any(|open| !open.is_empty() && behind.starts_with(open.as_bytes()))
                            {
                                sink.torn();
                            }
                            sink.looked(seen.saturating_sub(end));
                            sink.vain(seen.saturating_sub(end));
                            at += end;
                            said = at;
                            self.any = true;
                            self.stack.clear();
                            self.state = header();
                        }
                        Over::Nowhere => return self.end(Some(why)),
                    }
                }
                State::Behind(left) => {
                    let (over, seen, why) = (left.read(rest, last), left.seen(), left.why);
                    let Over::At(end) = over else {
                        if over == Over::More {
                            return Step::More;
                        }
                        sink.vain(seen);
                        return self.end(None);
                    };
                    sink.looked(seen.saturating_sub(end));
                    sink.dropped(end, why);
                    at += end;
                    said = at;
                    self.state = header();
                }
                State::Header { .. } => match self.header(rest) {
                    Found::Call(_, _, brace) if rest.get(brace) == Some(&b'(') && !sink.repairs() => {
                        return self.end((!self.any).then_some("no call"));
                    }
                    Found::Call(from, to, brace) => {
                        let name = String::from_utf8_lossy(rest.get(from..to).unwrap_or_default());
                        sink.looked(brace - from);
                        sink.markup(from);
                        self.signature = sink.start(&name, None, brace - from).cloned();
                        at += brace + 1;
                        said = at - 1;
                        self.stack.clear();
                        let round = rest.get(brace) == Some(&b'(');
                        if round {
                            sink.repaired(ROUND);
                        }
                        self.stack.push(if round { Frame::Round } else { Frame::Object });
                        self.out.push('{');
                        self.comma = false;
                        self.parameters.clear();
                        (self.held, self.muted) = (None, false);
                        self.word.clear();
                        self.state = State::Key;
                    }
                    Found::More if !last => return Step::More,
                    Found::More | Found::No => {
                        match if self.any { goes_on(rest, last, Some(CALL)) } else { Some(false) } {
                            None => return Step::More,
                            Some(false) => {}
                            Some(true) => {
                                sink.spoiled_behind(PART);
                                if !sink.may_look() {
                                    return self.end(None);
                                }
                                let left = Left::new(self.marks, PART).braces(1, self.quote, CALL);
                                self.state = State::Behind(left);
                                continue;
                            }
                        }
                        let excess = if self.any { excess(self.marks, rest, last) } else { Some(0) };
                        match excess {
                            None => return Step::More,
                            Some(0) => {}
                            Some(bytes) => {
                                sink.repaired_behind(Mend::ExtraCloser.describe());
                                sink.markup(bytes);
                            }
                        }
                        let failure = if self.any { None } else { Some("no call") };
                        return self.end(failure);
                    }
                },
                _ => match self.take(rest, last, sink) {
                    Ok(Some(bytes)) => {
                        at += bytes;
                        if self.stack.is_empty() {
                            self.hand_on(at - said, sink);
                            said = at;
                            sink.finish(0, true);
                            self.any = true;
                            self.state = header();
                        } else if self.out.len() >= BATCH {
                            self.hand_on(at - said, sink);
                            said = at;
                        }
                    }
                    Ok(None) => {
                        self.hand_on(at - said, sink);
                        if !last {
                            return Step::More;
                        }
                        sink.finish(rest.len(), false);
                        return self.end(None);
                    }
                    Err(why) => {
                        at += std::mem::take(&mut self.read);
                        self.hand_on(at - said, sink);
                        said = at;
                        if !sink.may_look() {
                            return self.end(Some(why));
                        }
                        self.state = State::Broken(self.broken(why));
                    }
                },
            }
        }
    }
}

#[cfg(test)]
mod tests;
