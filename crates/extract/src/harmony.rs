//! gpt-oss's messages: a header of roles, channels and recipients, then content. [`Header`] says whose a message's
//! content is, however the header was garbled; [`Harmony`] reads a message to a tool.
//!
//! The scanner reads a [`Header`] where `<|start|>` or `<|channel|>` stands and no longer marker of the table decides.
//! `Text` and `Reasoning` own no more than the header: the content is prose or reasoning up to its closer. For `Call` a
//! [`Harmony`] gets the whole message, header included. It takes a header's tail too, what stands behind
//! `<|channel|>commentary`, say.

mod header;

use memchr::memchr;

use self::header::{CONSTRAIN, ENDS, LONGEST, MESSAGE, begins, ended};
pub(super) use self::header::{Head, Header};
use super::{
    arguments::{Arguments, Leave, Verdict},
    body::{Body, Sink, Step},
    dialect::Dialect,
    escape::escape,
    json::Mend,
    left::{Left, Over, excess, goes_on},
    next::Next,
    object::PART,
    signature::{Kind, Signature},
};

/// How much JSON is gathered before it is handed on.
const BATCH: usize = 32 * 1024;

#[derive(Debug, Clone)]
enum State {
    Header(Header),
    /// Behind a header that names a tool; how much white space was seen.
    Addressed {
        name: (usize, usize),
        content: usize,
        spaces: usize,
    },
    /// Before the first byte of the content.
    Content,
    Json(Box<Arguments>),
    /// Text that is no JSON, for the one parameter there is.
    Raw,
    /// Behind what broke a call off.
    Broken(Left),
    /// Behind the content; what is left of a second one, if one follows.
    Behind(Option<Left>),
    Ended,
}

const GARBLED: &str = "the header of the message was garbled";
const TWICE: &str = "left out a marker too many";
const MORE: &str = "left out what stood behind the arguments";
/// What may end a call, or what is left of one.
const MARKS: [&[&str]; 2] = [&ENDS, &["<|channel|>"]];

/// A message to a tool.
#[derive(Debug, Clone)]
pub(super) struct Harmony {
    state: State,
    /// What opens another call, or closes this one.
    next: Next,
    /// The parameter that gets what is no JSON.
    only: Option<String>,
    /// Whether that is as the tool's own protocol has it.
    native: bool,
    /// Whether the header was garbled.
    odd: bool,
    /// A value of the arguments stands elsewhere.
    valueless: bool,
    /// Their closing brackets were missing.
    unclosed: bool,
    /// Bytes read but not spoken for.
    seen: usize,
    out: String,
    failure: Option<&'static str>,
}

impl Harmony {
    /// Reads one message, from its first marker or from anywhere in its header.
    pub(super) fn new() -> Self {
        Self {
            state: State::Header(Header::default()),
            next: Next::default(),
            only: None,
            native: false,
            odd: false,
            valueless: false,
            unclosed: false,
            seen: 0,
            out: String::new(),
            failure: None,
        }
    }

    /// As a call of this dialect.
    pub(super) fn of(mut self, dialect: &'static Dialect) -> Self {
        self.next = Next::of(dialect);
        self
    }

    fn end(&mut self, failure: Option<&'static str>) -> Step {
        self.state = State::Ended;
        self.failure = failure;
        failure.map_or(Step::Done, Step::Failed)
    }

    /// Says the call's name; gives where it ends.
    fn start(&mut self, input: &[u8], name: (usize, usize), sink: &mut dyn Sink) -> usize {
        let word = input.get(name.0..name.1).unwrap_or_default();
        let before = if word.starts_with(b"functions.") && word.len() > 10 { 10 } else { 0 };
        let text = String::from_utf8_lossy(word.get(before..).unwrap_or_default()).into_owned();
        if name.0 > 0 {
            sink.markup(name.0);
        }
        let signature = sink.start(&text, None, name.1 - name.0);
        self.native = before == 0 && text == "python";
        self.only = only(signature).or_else(|| self.native.then(|| "code".to_owned()));
        name.1
    }

    /// Text up to what ends the message.
    fn raw(&mut self, input: &[u8], last: bool) -> (usize, bool) {
        let mut end = 0;
        while let Some(next) = memchr(b'<', input.get(end..).unwrap_or_default()) {
            end += next;
            let rest = input.get(end..).unwrap_or_default();
            let ends = ended(rest, last);
            if ends != Some(false) {
                let taken = escape(input.get(..end).unwrap_or_default(), true, &mut self.out);
                return (taken, ends == Some(true));
            }
            end += 1;
        }
        (escape(input, last, &mut self.out), false)
    }
}

/// How long the marker is that `input` begins with and that stands where the content should, or behind it; 0 if none
/// does.
fn marker(input: &[u8], last: bool) -> Option<usize> {
    let mut unsure = false;
    for marker in [MESSAGE, CONSTRAIN] {
        match begins(input, marker, last) {
            Some(true) => return Some(marker.len()),
            Some(false) => {}
            None => unsure = true,
        }
    }
    // A message's end, and the content behind it.
    let early = input.strip_prefix(ENDS[0].as_bytes());
    match early.map(<[u8]>::first) {
        Some(Some(b'{')) => Some(ENDS[0].len()),
        Some(None) if !last => None,
        _ if unsure => None,
        _ => Some(0),
    }
}

/// The one parameter of a signature, if it may be text.
fn only(signature: Option<&Signature>) -> Option<String> {
    let mut parameters = signature?.parameters.iter();
    let (name, kind) = parameters.next()?;
    let text = match kind {
        Kind::String | Kind::Any => true,
        Kind::OneOf(kinds) => kinds.contains(&Kind::String),
        _ => false,
    };
    (text && parameters.next().is_none()).then(|| name.clone())
}

impl Body for Harmony {
    fn hurry(&mut self) {
        if let State::Json(arguments) = &mut self.state {
            arguments.hurry();
        }
    }

    fn step(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Step {
        // What has been spoken for.
        let mut said = 0;
        loop {
            let rest = input.get(said..).unwrap_or_default();
            match &mut self.state {
                State::Ended => return self.end(self.failure),
                State::Header(header) => match header.read(rest, last) {
                    Head::More => return Step::More,
                    Head::Call { name, content } => {
                        self.odd = header.odd();
                        self.state = State::Addressed { name, content, spaces: 0 };
                    }
                    Head::Cut { name } => {
                        let named = self.start(rest, name, sink);
                        sink.finish(rest.len() - named, false);
                        return self.end(None);
                    }
                    Head::Text(_) | Head::Reasoning(_) | Head::No => return self.end(Some("no message to a tool")),
                },
                State::Addressed { name, content, spaces } => {
                    let inside = rest.get(*content + *spaces..).unwrap_or_default();
                    *spaces += inside.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                    let (name, content, spaces) = (*name, *content, *spaces);
                    let inside = rest.get(content + spaces..).unwrap_or_default();
                    match inside.first() {
                        None if !last && spaces <= LONGEST => return Step::More,
                        Some(b'<') => match (ended(inside, last), marker(inside, last)) {
                            (None, _) | (_, None) => return Step::More,
                            (Some(true), _) | (_, Some(1..)) => {}
                            (Some(false), Some(0)) => {
                                // Markup of some other dialect, which is read by itself.
                                sink.markup(content);
                                return self.end(None);
                            }
                        },
                        _ => {}
                    }
                    let named = self.start(rest, name, sink);
                    if content > named {
                        sink.markup(content - named);
                    }
                    if self.odd {
                        sink.repaired(GARBLED);
                    }
                    said += content;
                    self.state = State::Content;
                }
                State::Content => {
                    let spaces = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                    if spaces > 0 {
                        sink.markup(spaces);
                        said += spaces;
                        continue;
                    }
                    let Some(&byte) = rest.first() else {
                        if last {
                            sink.finish(0, false);
                            return self.end(None);
                        }
                        return Step::More;
                    };
                    if byte == b'<' {
                        match marker(rest, last) {
                            None => return Step::More,
                            Some(0) => {}
                            Some(length) => {
                                sink.repaired(TWICE);
                                sink.markup(length);
                                said += length;
                                continue;
                            }
                        }
                    }
                    if byte == b'<' {
                        match ended(rest, last) {
                            None => return Step::More,
                            Some(true) => {
                                sink.repaired(Mend::NoArguments.describe());
                                sink.arguments("{}", 0);
                                sink.finish(0, true);
                                return self.end(None);
                            }
                            Some(false) => {}
                        }
                    }
                    match &self.only {
                        Some(name) if byte != b'{' && (self.native || sink.repairs()) => {
                            if !self.native {
                                sink.repaired("named the one argument");
                            }
                            self.out.push_str("{\"");
                            escape(name.as_bytes(), true, &mut self.out);
                            self.out.push_str("\":\"");
                            self.state = State::Raw;
                        }
                        _ => self.state = State::Json(Box::new(Arguments::new(sink.max_depth(), &ENDS, self.next))),
                    }
                    self.seen = 0;
                }
                State::Raw => {
                    let piece = rest.get(..rest.len().min(BATCH)).unwrap_or_default();
                    let whole = piece.len() == rest.len();
                    let (taken, found) = self.raw(piece, last && whole);
                    if found {
                        self.out.push_str("\"}");
                    }
                    if taken > 0 || !self.out.is_empty() {
                        sink.arguments(&self.out, taken);
                        self.out.clear();
                    }
                    said += taken;
                    if found {
                        sink.finish(0, true);
                        return self.end(None);
                    }
                    if whole && last {
                        sink.finish(0, false);
                        return self.end(None);
                    }
                    if whole {
                        return Step::More;
                    }
                }
                State::Broken(left) => {
                    let (over, seen, why) = (left.read(rest, last), left.seen(), left.why);
                    return match over {
                        Over::More => Step::More,
                        Over::At(end) => {
                            sink.broken(end, why);
                            sink.looked(seen.saturating_sub(end));
                            sink.vain(seen.saturating_sub(end));
                            self.end(None)
                        }
                        Over::Nowhere => self.end(Some(why)),
                    };
                }
                State::Behind(Some(left)) => {
                    let (over, seen) = (left.read(rest, last), left.seen());
                    match over {
                        Over::More => return Step::More,
                        Over::At(end) => {
                            let why = left.why;
                            if why == MORE {
                                sink.repaired_behind(MORE);
                            }
                            sink.looked(seen.saturating_sub(end));
                            sink.dropped(end, why);
                        }
                        Over::Nowhere => sink.vain(seen),
                    }
                    return self.end(None);
                }
                State::Behind(None) => {
                    let Some(more) = excess(MARKS, rest, last) else { return Step::More };
                    if more > 0 {
                        sink.repaired_behind(Mend::ExtraCloser.describe());
                        sink.markup(more);
                        return self.end(None);
                    }
                    match rest.first() {
                        Some(b'<') => match marker(rest, last) {
                            None => return Step::More,
                            Some(length) if length == 0 || rest.starts_with(ENDS[0].as_bytes()) => {
                                return self.end(None);
                            }
                            Some(length) => {
                                sink.repaired_behind(TWICE);
                                sink.markup(length);
                                said += length;
                                // The marker broke the content in two.
                                if std::mem::take(&mut self.unclosed) {
                                    sink.spoiled_behind(PART);
                                    if sink.may_look() {
                                        self.state = State::Behind(Some(Left::new(MARKS, PART)));
                                    }
                                }
                            }
                        },
                        Some(b'"' | b':' | b'{' | b'[' | b'-' | b'0'..=b'9') if self.valueless => {
                            sink.spoiled_behind(PART);
                            if !sink.may_look() {
                                return self.end(None);
                            }
                            self.state = State::Behind(Some(Left::new(MARKS, PART)));
                        }
                        Some(b'{' | b'[') if sink.may_look() => {
                            self.state = State::Behind(Some(Left::new(MARKS, MORE)));
                        }
                        Some(b',') => match goes_on(rest, last, None) {
                            None => return Step::More,
                            Some(false) => return self.end(None),
                            Some(true) => {
                                sink.spoiled_behind(PART);
                                if !sink.may_look() {
                                    return self.end(None);
                                }
                                self.state = State::Behind(Some(Left::new(MARKS, PART)));
                            }
                        },
                        _ => return self.end(None),
                    }
                }
                State::Json(arguments) => {
                    let leave = Leave { room: sink.room(), repairs: sink.repairs() };
                    let from = said + self.seen;
                    let (bytes, verdict) =
                        arguments.step(input.get(from..).unwrap_or_default(), last, leave, &mut |json, upto| {
                            sink.arguments(json, from + upto - said);
                            said = from + upto;
                        });
                    if !sink.hears() {
                        arguments.forget();
                    }
                    sink.looked(arguments.looks());
                    arguments.tell(leave.repairs, |how| sink.repaired(how));
                    let at = from + bytes;
                    self.seen = at - said;
                    match verdict {
                        Verdict::Failed(why) => {
                            if at > said {
                                sink.arguments("", at - said);
                            }
                            said = at;
                            if !sink.may_look() {
                                return self.end(Some(why));
                            }
                            self.state = State::Broken(Left::new(MARKS, why));
                        }
                        Verdict::Done => {
                            if let Some(why) = arguments.spoilt() {
                                sink.spoiled(why);
                            }
                            self.valueless = arguments.has(Mend::MissingValue);
                            self.unclosed = arguments.has(Mend::MissingCloser);
                            sink.finish(at - said, true);
                            said = at;
                            self.state = State::Behind(None);
                        }
                        Verdict::More if last => {
                            if let Some(why) = arguments.spoilt() {
                                sink.spoiled(why);
                            }
                            sink.finish(input.len() - said, false);
                            return self.end(None);
                        }
                        Verdict::More => return Step::More,
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
