//! Calls as Python writes them: `[f(a=1, b="x"), g()]`, or one on each line. A transducer from Python's literals to
//! JSON that never looks back: strings flow while they are open, a container whose kind isn't known yet is held until
//! it is.

mod broken;
mod container;
mod header;
pub(super) mod literal;
pub(super) mod number;

use std::collections::HashSet;

use self::{
    broken::{Broken, Over},
    header::{Found, Header, begins_name, in_name},
    literal::{Literal, Prefix, Read},
    number::Number,
};
use super::{
    arguments::TOO_LARGE,
    body::{Body, Sink, Step},
    dialect::Dialect,
    escape::escape,
    json::Mend,
    left::excess,
    prose::MOST_SPACE,
    signature::{Kind, Signature},
    sort::Sort,
};

const NO_LIST: &str = "no list of calls";
const NO_CALL: &str = "what is no call in a list of calls";
const BEHIND: &str = "left out what stood behind the call and is none";
const BEFORE: &str = "left out brackets before the call";
/// Why a call is broken whose string may end somewhere else.
const ODD_QUOTES: &str = "quotes that don't pair off: it isn't known where a string ends";
/// The longest keyword or bare word.
const WORD: usize = 256;
/// How much JSON is gathered before it is handed on.
const BATCH: usize = 16 * 1024;
/// How much of a string is looked at together.
const PIECE: usize = 16 * 1024;
/// The most that is held of a word, and of what stands between it and what tells whether it is a keyword.
const HOLD: usize = 320;
/// The most that is held while a container's kind isn't known.
const HELD: usize = 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Call,
    /// The one dict in the place of all arguments.
    Whole,
    List,
    /// In parentheses; a tuple if a comma comes.
    Parenthesis,
    Tuple,
    /// In braces; a dict if a colon comes.
    Brace,
    Dict,
    Set,
}

#[derive(Debug, Clone)]
struct Frame {
    shape: Shape,
    /// Whether something stands in it.
    some: bool,
    /// Where its bracket stands in what is held.
    bracket: usize,
    /// Where room was left for quotes around the first thing in braces.
    quotes: Option<(usize, usize)>,
}

#[derive(Debug, Clone)]
enum State {
    Header(Header),
    /// Before a keyword or the call's end.
    Argument,
    /// In a keyword.
    Keyword,
    /// Between a keyword and `=`.
    Equals,
    /// Before a value.
    Value,
    /// Before an item, a key or the container's end.
    Item,
    /// After a value.
    After,
    Number(Number),
    /// In a word that may be a constant or a string's prefix.
    Word,
    String(Literal),
    /// After a string's last quote; the word is what follows it without a space.
    Closed(Literal),
    /// After a string and a space, or in the word that follows those.
    Gap,
    /// Behind what broke a call off, or stands in a list where no call does.
    Broken(Box<Broken>),
    Ended,
}

/// The grammar at work.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools, reason = "what was seen of the call at hand, each by itself")]
pub(super) struct Python {
    state: State,
    /// Whether the calls stand in a list.
    list: bool,
    /// Whether a call has ended.
    any: bool,
    stack: Vec<Frame>,
    /// JSON not handed on yet.
    out: String,
    /// The place in the stack of the first container whose kind isn't known.
    held: Option<usize>,
    /// Whether the dict's key comes next or was read last.
    key: bool,
    /// What was written last.
    sort: Sort,
    comment: bool,
    /// Whether a line ended behind what was read last.
    line: bool,
    /// How many bytes at the front of the input were read but aren't spoken for: a word that may turn out to be the
    /// next call's name.
    ahead: usize,
    word: Vec<u8>,
    /// The call's keywords so far.
    keywords: HashSet<Vec<u8>>,
    keyword: String,
    /// Whether the value at hand is of a keyword given before: the first counts.
    muted: bool,
    signature: Option<Signature>,
    /// Whether the call's one positional argument has been read, after which nothing may come.
    full: bool,
    /// What a literal took before it failed.
    read: usize,
    /// What ends the region.
    closers: &'static [&'static str],
    /// Whether it surely holds calls: its markers are tokens that nobody writes in prose.
    sure: bool,
    failure: Option<&'static str>,
}

impl Python {
    /// Reads calls, in brackets or not: models leave them out, or write them where they should not. The region ends
    /// with one of `closers`.
    pub(super) fn new(closers: &'static [&'static str]) -> Self {
        Self {
            state: State::Header(Header::first()),
            list: false,
            any: false,
            stack: Vec::new(),
            out: String::new(),
            held: None,
            key: false,
            sort: Sort::Null,
            comment: false,
            line: false,
            ahead: 0,
            word: Vec::new(),
            keywords: HashSet::new(),
            keyword: String::new(),
            muted: false,
            signature: None,
            full: false,
            read: 0,
            closers,
            sure: false,
            failure: None,
        }
    }

    /// Calls of this dialect.
    pub(super) fn of(dialect: &'static Dialect) -> Self {
        let sure = dialect.close.iter().any(|closer| closer.starts_with("<|"));
        Self { sure, state: State::Header(Header::lenient(sure)), ..Self::new(dialect.close) }
    }

    /// Hands on what is known, for `bytes` of input.
    fn hand_on(&mut self, bytes: usize, sink: &mut dyn Sink) {
        if let Some(held) = self.held {
            let known = self.stack.get(held).map_or(0, |frame| frame.bracket);
            if bytes > 0 || known > 0 {
                let known = if self.muted { 0 } else { known };
                sink.arguments(self.out.get(..known).unwrap_or_default(), bytes);
            }
            if known > 0 {
                self.out.drain(..known);
                for frame in self.stack.iter_mut().skip(held) {
                    frame.bracket -= known;
                    frame.quotes = frame.quotes.map(|(before, after)| (before - known, after - known));
                }
            }
        } else if bytes > 0 || !self.out.is_empty() {
            if self.muted {
                self.out.clear();
            }
            sink.arguments(&self.out, bytes);
            self.out.clear();
        }
    }

    fn top(&mut self) -> Option<&mut Frame> {
        self.stack.last_mut()
    }

    fn shape(&self) -> Option<Shape> {
        self.stack.last().map(|frame| frame.shape)
    }

    /// Writes the keyword in `word`.
    fn begin_argument(&mut self, sink: &mut dyn Sink) {
        self.keyword = String::from_utf8_lossy(&self.word).into_owned();
        if self.keywords.insert(std::mem::take(&mut self.word)) {
            self.write_keyword();
        } else {
            sink.repaired("a parameter was given twice; the first value was kept");
            // What stands before is no part of what is dropped.
            self.hand_on(0, sink);
            self.muted = true;
        }
    }

    fn write_keyword(&mut self) {
        if let Some(frame) = self.stack.last_mut() {
            if frame.some {
                self.out.push(',');
            }
            frame.some = true;
        }
        self.out.push('"');
        escape(self.keyword.as_bytes(), true, &mut self.out);
        self.out.push_str("\":");
    }

    /// An argument without a keyword: the one parameter there is, or a dict of all.
    fn positional(&mut self, byte: u8, sink: &mut dyn Sink) -> Result<(), &'static str> {
        if self.stack.last().is_some_and(|frame| frame.some) || !sink.repairs() {
            return Err("an argument without a keyword");
        }
        let mut parameters = self.signature.iter().flat_map(|signature| &signature.parameters);
        let only = parameters.next().filter(|_| parameters.next().is_none());
        if let Some((name, _)) = only.filter(|(_, kind)| byte != b'{' || matches!(kind, Kind::Object(_))) {
            self.keyword = name.clone();
            self.write_keyword();
            sink.repaired("named the one argument");
            self.state = State::Value;
        } else if byte == b'{' {
            sink.repaired("took a dict for the arguments");
            self.stack.push(Frame { shape: Shape::Whole, some: false, bracket: 0, quotes: None });
            self.key = true;
            self.state = State::Item;
        } else {
            return Err("an argument without a keyword");
        }
        self.full = true;
        Ok(())
    }

    /// The first byte of a value. `positional` has taken a brace already.
    fn value(&mut self, byte: u8, sink: &mut dyn Sink) -> Result<usize, &'static str> {
        match byte {
            b'[' => {
                self.before(false)?;
                self.open(Shape::List, '[', sink)?;
            }
            b'(' => {
                self.before(false)?;
                self.open(Shape::Parenthesis, '[', sink)?;
            }
            b'{' => {
                self.before(false)?;
                self.open(Shape::Brace, '{', sink)?;
            }
            b'"' | b'\'' => self.begin_string(byte, Prefix::default())?,
            b'-' | b'+' | b'.' | b'0'..=b'9' => {
                self.begin_bare()?;
                self.state = State::Number(Number::new());
                return Ok(0);
            }
            _ if begins_name(byte) => {
                self.state = State::Word;
                return Ok(0);
            }
            _ => return Err("what is no value"),
        }
        Ok(1)
    }

    fn begin_string(&mut self, quote: u8, prefix: Prefix) -> Result<(), &'static str> {
        self.before(true)?;
        self.out.push('"');
        self.state = State::String(Literal::new(quote, prefix));
        Ok(())
    }

    /// A word has ended before `byte`.
    fn word(&mut self, byte: u8, sink: &mut dyn Sink) -> Result<usize, &'static str> {
        let word = std::mem::take(&mut self.word);
        sink.looked(word.len());
        if matches!(byte, b'"' | b'\'') {
            let prefix = std::str::from_utf8(&word).ok().and_then(Prefix::read).ok_or("a string after a word")?;
            self.begin_string(byte, prefix)?;
            return Ok(1);
        }
        let (text, sort) = match word.as_slice() {
            b"None" | b"null" => ("null", Sort::Null),
            b"True" | b"true" => ("true", Sort::Boolean),
            b"False" | b"false" => ("false", Sort::Boolean),
            _ if byte == b'(' || byte == b'[' => return Err("an expression that needs to be computed"),
            _ if !sink.repairs() => return Err("a name that stands for nothing"),
            _ => {
                sink.repaired("quoted a bare word");
                self.before(true)?;
                self.out.push('"');
                escape(&word, true, &mut self.out);
                self.out.push('"');
                self.wrote(Sort::String, sink);
                return Ok(0);
            }
        };
        self.begin_bare()?;
        self.out.push_str(text);
        self.end_bare(sort, sink);
        Ok(0)
    }

    /// One byte, or a run of a string's. Says how many were taken.
    fn take(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Result<Option<usize>, &'static str> {
        let Some(&byte) = input.first() else { return Ok(None) };
        let spaced = matches!(
            self.state,
            State::Argument | State::Equals | State::Value | State::Item | State::After | State::Gap
        ) && self.word.is_empty()
            || matches!(self.state, State::Equals);
        if spaced {
            if self.comment {
                let end = memchr::memchr(b'\n', input);
                self.comment = end.is_none();
                return Ok(Some(end.unwrap_or(input.len())));
            }
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => {
                    self.line |= byte == b'\n';
                    return Ok(Some(1));
                }
                // A line that goes on.
                b'\\' => match input.get(1) {
                    Some(b'\n') => return Ok(Some(2)),
                    None if !last => return Ok(None),
                    _ => {}
                },
                b'#' => {
                    self.comment = true;
                    return Ok(Some(1));
                }
                _ => {}
            }
        }
        match &mut self.state {
            State::Argument => match byte {
                _ if self.full => return Err("an argument after the one of all"),
                _ if begins_name(byte) => self.state = State::Keyword,
                _ => {
                    self.positional(byte, sink)?;
                    if self.shape() == Some(Shape::Whole) {
                        return Ok(Some(1));
                    }
                }
            },
            State::Keyword => {
                if in_name(byte) {
                    if self.word.len() >= WORD {
                        return Err("a keyword too long");
                    }
                    self.word.push(byte);
                    return Ok(Some(1));
                }
                self.state = State::Equals;
            }
            State::Equals => {
                if byte != b'=' {
                    return Err("an argument without a keyword");
                }
                self.begin_argument(sink);
                self.line = false;
                self.state = State::Value;
                return Ok(Some(1));
            }
            State::Value => return self.value(byte, sink).map(Some),
            State::Item => return self.item(byte, sink).map(Some),
            State::After => {
                self.after(byte, sink)?;
                return Ok(Some(1));
            }
            State::Number(number) => {
                if number.push(byte, &mut self.out)? {
                    return Ok(Some(1));
                }
                number.end(&mut self.out)?;
                let sort = if number.text() {
                    if self.key || self.stack.last().is_some_and(|frame| frame.shape == Shape::Brace) || !sink.repairs()
                    {
                        return Err("a number with zeros before it");
                    }
                    sink.repaired("kept a number with zeros before it as text");
                    Sort::String
                } else if number.float() {
                    Sort::Number
                } else {
                    Sort::Integer
                };
                self.end_bare(sort, sink);
            }
            State::Word => {
                if in_name(byte) {
                    if self.word.len() >= WORD {
                        return Err("a word too long");
                    }
                    self.word.push(byte);
                    return Ok(Some(1));
                }
                return self.word(byte, sink).map(Some);
            }
            State::String(literal) => {
                // A long string goes on in pieces that stay in the nearest cache.
                let piece = input.get(..input.len().min(PIECE)).unwrap_or_default();
                match literal.step(piece, last && piece.len() == input.len(), &mut self.out, sink) {
                    Read::More(left) if left == piece.len() => return Ok(None),
                    Read::More(left) => return Ok(Some(piece.len() - left)),
                    Read::Failed(at, why) => {
                        self.read = at;
                        return Err(why);
                    }
                    Read::Closed(at) => {
                        if let State::String(literal) = std::mem::replace(&mut self.state, State::Ended) {
                            self.state = State::Closed(literal);
                        }
                        return Ok(Some(at));
                    }
                }
            }
            State::Closed(literal) => {
                // Letters right behind a quote: the prefix of another literal, or the quote was an apostrophe.
                if byte.is_ascii_alphanumeric() || byte >= 0x80 {
                    if self.word.len() < 2 && byte.is_ascii_alphabetic() {
                        self.word.push(byte);
                        return Ok(Some(1));
                    }
                } else {
                    let prefix = std::str::from_utf8(&self.word).ok().and_then(Prefix::read);
                    if let (Some(prefix), b'"' | b'\'') = (prefix, byte) {
                        self.word.clear();
                        self.state = State::String(Literal::new(byte, prefix));
                        return Ok(Some(1));
                    }
                    if self.word.is_empty() {
                        if literal.is_odd() {
                            sink.spoiled(ODD_QUOTES);
                        }
                        self.line = false;
                        self.state = State::Gap;
                        return Ok(Some(0));
                    }
                }
                if !literal.reopens() || !sink.repairs() {
                    return Err("a string that goes on as something else");
                }
                sink.repaired(Mend::InnerQuote.describe());
                literal.reopen(&self.word, &mut self.out);
                escape(&self.word, true, &mut self.out);
                self.word.clear();
                if let State::Closed(literal) = std::mem::replace(&mut self.state, State::Ended) {
                    self.state = State::String(literal);
                }
            }
            State::Gap => {
                if byte.is_ascii_alphabetic() && self.word.len() < 2 {
                    self.word.push(byte);
                    return Ok(Some(1));
                }
                if matches!(byte, b'"' | b'\'') {
                    let prefix = std::str::from_utf8(&self.word).ok().and_then(Prefix::read);
                    let prefix = prefix.ok_or("a string after a word")?;
                    self.word.clear();
                    self.state = State::String(Literal::new(byte, prefix));
                    return Ok(Some(1));
                }
                if !self.word.is_empty() {
                    return Err("a string that goes on as something else");
                }
                self.out.push('"');
                let line = self.line;
                self.wrote(Sort::String, sink);
                self.line = line;
            }
            State::Header(_) | State::Broken(_) | State::Ended => return Ok(None),
        }
        Ok(Some(0))
    }

    fn begin_call(&mut self, name: &[u8], sink: &mut dyn Sink) {
        let signature = sink.start(&String::from_utf8_lossy(name), None, name.len() + 1).cloned();
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        out.push('{');
        // Whatever the call before it left behind, one that broke off too, is no part of this one.
        *self = Self {
            state: State::Argument,
            list: self.list,
            any: self.any,
            stack: vec![Frame { shape: Shape::Call, some: false, bracket: 0, quotes: None }],
            out,
            signature,
            ..Self::new(self.closers)
        };
    }

    /// Whether what was read last is a word that may be no part of this call.
    fn in_word(&self) -> bool {
        match self.state {
            State::Keyword | State::Equals | State::Word => true,
            State::Gap => !self.word.is_empty(),
            _ => false,
        }
    }

    /// The look for where this call ends, which broke.
    fn broken(&self, why: &'static str) -> Broken {
        // One call that can't be read doesn't take the others with it.
        let keep = usize::from(self.list);
        let broken = Broken::call(self.open_brackets(), keep, self.closers, why);
        match &self.state {
            State::String(literal) => broken.within(literal.quote(), literal.left()),
            State::Keyword | State::Equals => broken.apart(false),
            // No value goes on in the next line without a comma; a string may, where its quotes aren't what they seem.
            State::After if self.line => broken.apart(self.shape() == Some(Shape::Call) && self.sort != Sort::String),
            State::Gap | State::Word if self.line => broken.apart(false),
            _ => broken,
        }
    }

    /// Whether a closing parenthesis would be the call's.
    fn ends_call(&self) -> bool {
        let state = matches!(self.state, State::After | State::Argument);
        state && !self.comment && self.shape() == Some(Shape::Call)
    }

    /// What closes the containers that are open, the innermost last; the list's first, if there is one.
    fn open_brackets(&self) -> Vec<u8> {
        let list = self.list.then_some(b']');
        let inner = self.stack.iter().map(|frame| match frame.shape {
            Shape::Call | Shape::Parenthesis | Shape::Tuple => b')',
            Shape::List => b']',
            Shape::Whole | Shape::Brace | Shape::Dict | Shape::Set => b'}',
        });
        list.into_iter().chain(inner).collect()
    }

    fn end(&mut self, failure: Option<&'static str>) -> Step {
        self.state = State::Ended;
        self.failure = failure;
        failure.map_or(Step::Done, Step::Failed)
    }
}

/// Whether a marker closes the region: without one its list ends with its bracket.
fn closes(closers: &[&str]) -> bool {
    closers.iter().any(|closer| !closer.is_empty())
}

/// What stands behind a little white space.
fn next_of(behind: &[u8]) -> Option<&u8> {
    behind.iter().take(MOST_SPACE).find(|byte| !byte.is_ascii_whitespace())
}

/// How many brackets too many stand right behind a list that no marker closes; `None` if more has to be known.
fn adjacent(behind: &[u8], last: bool) -> Option<usize> {
    let run = behind.iter().take(MOST_SPACE).take_while(|byte| matches!(byte, b']' | b')')).count();
    match behind.get(run) {
        None if !last => None,
        Some(next) if !next.is_ascii_whitespace() => Some(0),
        _ => Some(run),
    }
}

/// Whether what stands behind a call, and is none, may have been a part of it: not if it begins like a call on a line
/// of its own.
fn doubt(list: bool, behind: &[u8]) -> bool {
    let trimmed = behind.trim_ascii_start();
    let line = behind.get(..behind.len() - trimmed.len()).is_some_and(|space| space.contains(&b'\n'));
    let call = line && trimmed.first().is_some_and(|byte| begins_name(*byte));
    !list && !call
}

impl Body for Python {
    fn step(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Step {
        let mut at = std::mem::take(&mut self.ahead);
        // Where the word at hand begins.
        let mut word = (at > 0).then_some(0);
        // What has been spoken for.
        let mut said = 0;
        loop {
            let rest = input.get(at..).unwrap_or_default();
            if rest.first() == Some(&b')') && self.ends_call() {
                at += 1;
                self.out.push('}');
                self.hand_on(at - said, sink);
                said = at;
                sink.finish(0, true);
                self.any = true;
                self.stack.clear();
                self.state = State::Header(Header::next(self.list));
                continue;
            }
            match &mut self.state {
                State::Ended => return self.end(self.failure),
                State::Header(header) => match header.read(rest) {
                    Found::More if !last => return Step::More,
                    Found::Call(from, to) => {
                        self.list |= header.list;
                        let odd = header.odd;
                        // The name once more, and the beginning of the first argument.
                        sink.looked(header.seen().saturating_sub(from));
                        if from > 0 {
                            sink.markup(from);
                        }
                        self.begin_call(rest.get(from..to).unwrap_or_default(), sink);
                        if odd {
                            sink.repaired(BEFORE);
                        }
                        at += to + 1;
                        said = at;
                    }
                    Found::End(bytes) => {
                        let behind = rest.get(bytes..).unwrap_or_default();
                        if closes(self.closers) && next_of(behind) == Some(&b',') {
                            // One bracket too many: the list goes on.
                            self.state = State::Broken(Box::new(Broken::list(false, self.closers, NO_CALL)));
                            continue;
                        }
                        let more = if closes(self.closers) {
                            excess([self.closers, &[]], behind, last)
                        } else {
                            adjacent(behind, last)
                        };
                        let Some(more) = more else { return Step::More };
                        if more > 0 {
                            sink.repaired_behind(Mend::ExtraCloser.describe());
                        }
                        sink.markup(bytes + more);
                        return self.end(None);
                    }
                    Found::More | Found::No => {
                        let in_list = if self.any { self.list } else { header.list };
                        let closed = closes(self.closers);
                        if closed && self.any && !in_list {
                            // A list's end, of which the beginning is missing.
                            let Some(more) = excess([self.closers, &[]], rest, last) else { return Step::More };
                            if more > 0 {
                                sink.repaired_behind(Mend::ExtraCloser.describe());
                                sink.markup(more);
                                return self.end(None);
                            }
                        }
                        let may_look = sink.may_look();
                        let looks = may_look && closed || self.any && in_list;
                        if !looks {
                            // What stands here isn't looked through for another call.
                            return self.end(Some(NO_LIST).filter(|_| !self.any));
                        }
                        if !may_look {
                            return self.end(Some(NO_CALL));
                        }
                        sink.looked(header.seen());
                        self.state = State::Broken(Box::new(if self.any && in_list {
                            Broken::list(!header.separated, self.closers, NO_CALL)
                        } else {
                            Broken::lines(in_list, self.closers, NO_CALL).unsure(!self.any && !self.sure)
                        }));
                        self.list = in_list;
                    }
                },
                State::Broken(broken) => {
                    let listed = self.stack.is_empty();
                    let over = broken.read(rest, last, &|name| sink.knows(name));
                    sink.looked(broken.again());
                    let seen = broken.seen();
                    match over {
                        Over::More => return Step::More,
                        Over::At(_) | Over::Nowhere if !self.any && listed => return self.end(Some(NO_LIST)),
                        Over::At(end) if listed => {
                            if doubt(self.list, rest) {
                                sink.repaired_behind(BEHIND);
                            }
                            sink.dropped(end, NO_CALL);
                            return self.end(None);
                        }
                        Over::At(end) => {
                            sink.broken(end, broken.why);
                            at += end;
                            said = at;
                            self.any = true;
                            self.stack.clear();
                            self.state = State::Header(Header::next(self.list));
                        }
                        Over::Next(next) => {
                            if listed {
                                if self.any && doubt(self.list, rest) {
                                    sink.repaired_behind(BEHIND);
                                }
                                sink.dropped(next, NO_CALL);
                            } else {
                                sink.broken(next, broken.why);
                            }
                            // What stands behind it is read again.
                            sink.looked(seen - next);
                            sink.vain(seen - next);
                            at += next;
                            said = at;
                            self.any = true;
                            self.stack.clear();
                            self.state = State::Header(Header::next(self.list));
                        }
                        Over::Nowhere if listed && !self.list => {
                            sink.vain(seen);
                            return self.end(None);
                        }
                        Over::Nowhere => {
                            // What was looked at for nothing is the parser's to count.
                            let nothing = listed && broken.near();
                            let why = Some(broken.why).filter(|_| !nothing);
                            return self.end(why);
                        }
                    }
                }
                _ => match self.take(rest, last, sink) {
                    Ok(Some(bytes)) => {
                        word = if self.in_word() { word.or(Some(at)) } else { None };
                        at += bytes;
                        word = word.filter(|word| at - word <= HOLD);
                        let known = word.unwrap_or(at);
                        if self.held.is_some() && self.out.len() > HELD.min(sink.room()) {
                            self.hand_on(at - said, sink);
                            return self.end(Some(TOO_LARGE));
                        }
                        if self.held.is_none() && self.out.len() >= BATCH {
                            self.hand_on(known - said, sink);
                            said = known;
                        }
                    }
                    Ok(None) => {
                        if !last {
                            let known = word.unwrap_or(at);
                            self.hand_on(known - said, sink);
                            self.ahead = at - known;
                            return Step::More;
                        }
                        self.hand_on(at - said, sink);
                        sink.finish(rest.len(), false);
                        return self.end(None);
                    }
                    Err(why) => {
                        at += std::mem::take(&mut self.read);
                        // The word that it broke behind may be the next call's name.
                        let from = word.take().unwrap_or(at);
                        sink.looked(at - from);
                        at = from;
                        self.hand_on(at - said, sink);
                        said = at;
                        if !sink.may_look() {
                            return self.end(Some(why));
                        }
                        self.state = State::Broken(Box::new(self.broken(why)));
                    }
                },
            }
        }
    }
}

#[cfg(test)]
mod tests;
