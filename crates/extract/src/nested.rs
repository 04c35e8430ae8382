//! Calls written as elements named by keys, each with a prefix before it: `<invoke name="N">`, then `<KEY>V</KEY>`, in
//! which objects are further elements and arrays are `<item>` elements or the same element over again. Values escape
//! nothing and are streamed.
//!
//! What is declared decides what elements inside a value make: an array, an object. Where nothing is, `<item>` makes an
//! array and any other name an object. A declared array whose element holds no `<item>` and no JSON array holds that
//! one thing, and more of them if the same element follows. Of other elements that come twice the first counts. Arrays
//! and objects may also be written as JSON inside their element, and so may all arguments inside `<invoke>`.

mod content;

use std::collections::BTreeSet;

use super::{
    arguments::TOO_DEEP,
    body::{Body, Sink, Step},
    dialect::{Grammar, dialects},
    members::{Balanced, FOLLOWED, Next, OPEN_CALL, calls},
    remains::{self, Remains},
    signature::{Kind, Signature},
    tags::{ODD, find_attributes},
    until::{Bound, CLOSED_AGAIN, Found, Look, MAX_HEAD, Marks, OPEN, Seen, Until, Verdict},
    value::Value,
};

/// What names an element of an array.
const ITEM: &str = "item";
const CALL: &str = "invoke";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before a call, the first or a further one.
    Before,
    /// Where an element may begin or end.
    Inside,
    /// After an element's opening.
    Content,
    /// In a value without elements.
    Text,
    /// In an object that holds all arguments.
    Object,
    /// In what is left of a call that broke off.
    Remains,
    Over,
}

#[derive(Debug, Clone)]
enum Frame {
    Object {
        name: String,
        signature: Option<Signature>,
        first: bool,
        keys: BTreeSet<String>,
    },
    Array {
        name: String,
        items: Kind,
        first: bool,
    },
    /// An array written as the same element over again; it has no closing of its own.
    Repeated {
        name: String,
        items: Kind,
    },
}

/// The grammar `Nested` at work.
#[derive(Debug, Clone)]
pub(super) struct NestedBody {
    prefix: &'static str,
    closers: Vec<&'static str>,
    marks: Marks,
    state: State,
    look: Look,
    /// Where an element's opening stands that waits for its end, and where its inside begins.
    opening: Option<(usize, usize)>,
    /// How far the end of the element at hand was looked for.
    seen: usize,
    /// How an element would be closed at once, and how much of that was seen.
    closing: (String, usize),
    any: bool,
    /// Whether the last call's opening element said that nothing stands in it.
    empty: bool,
    frames: Vec<Frame>,
    /// How many frames there were when one began that goes nowhere.
    muted: Option<usize>,
    /// The element that was opened last, and what it may be.
    name: String,
    kind: Kind,
    /// What is to be said before its value.
    lead: String,
    value: Value,
    until: Until,
    /// Another call follows the value, or a closer is missing, and more bytes decide whether another call stands in it.
    weighs: Option<(usize, Verdict)>,
    ends: Marks,
    remains: Remains,
    json: Balanced,
}

impl NestedBody {
    pub(super) fn new(prefix: &'static str) -> Self {
        let same = dialects().iter().filter(|dialect| dialect.grammar == Grammar::Nested { prefix });
        Self::within(
            prefix,
            same.flat_map(|dialect| dialect.close.iter().chain(dialect.section.iter().flat_map(|s| s.1))).copied(),
        )
    }

    fn within(prefix: &'static str, closers: impl Iterator<Item = &'static str>) -> Self {
        let mut marks = Marks::default();
        marks.add(OPEN, Bound::Nothing, &[prefix, "<"]);
        let closers: Vec<_> = closers.filter(|closer| !closer.is_empty()).collect();
        Self {
            prefix,
            closers,
            marks,
            state: State::Before,
            look: Look::default(),
            opening: None,
            seen: 0,
            closing: (String::new(), 0),
            any: false,
            empty: false,
            frames: Vec::new(),
            muted: None,
            name: String::new(),
            kind: Kind::Any,
            lead: String::new(),
            value: Value::new(),
            until: Until::default(),
            weighs: None,
            ends: Marks::default(),
            remains: Remains::default(),
            json: Balanced::default(),
        }
    }

    fn go(&mut self, state: State) {
        self.state = state;
        self.look = Look::default();
        self.opening = None;
        self.seen = 0;
        self.closing.0.clear();
    }

    /// What stands at the front. An element's opening isn't looked for again while its end is awaited.
    fn look(&mut self, input: &[u8]) -> Seen {
        if let Some((start, end)) = self.opening {
            return Seen::Mark { class: OPEN, start, end };
        }
        let seen = self.look.step(&self.marks, OPEN, input);
        if let Seen::Mark { start, end, .. } = seen {
            self.opening = Some((start, end));
        }
        seen
    }

    fn stop(&mut self, step: Step) -> Next {
        self.state = State::Over;
        Next::Stop(step)
    }

    /// The call breaks off here. What is left of it reaches to its closing element or to what shows that it is over.
    fn broken(&mut self, why: &'static str, sink: &mut dyn Sink) -> Next {
        if sink.asks() {
            return self.stop(Step::Failed(why));
        }
        let again = self.remains.on;
        self.remains.begin(why, sink);
        if again {
            // An element that stands here was looked at.
            self.remains.search.pass();
        }
        self.muted = None;
        self.empty = false;
        self.json = Balanced::default();
        self.frames.clear();
        self.go(State::Remains);
        Next::Took(0)
    }

    fn remains(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        let first = self.prefix.bytes().next().unwrap_or(b'<');
        match self.remains.search.step(&self.marks, OPEN, first, input, last) {
            Found::More => Next::Wait,
            // Whatever it opens or closes.
            Found::Mark { start, .. } => {
                self.remains.read_on(sink);
                let signature = None;
                let keys = BTreeSet::new();
                self.frames.push(Frame::Object { name: CALL.to_owned(), signature, first: false, keys });
                sink.markup(start);
                self.go(State::Inside);
                Next::Took(start)
            }
            Found::Nowhere => self.stop(Step::Failed(self.remains.endless())),
        }
    }

    fn no_call(&mut self) -> Next {
        self.stop(if self.any { Step::Done } else { Step::Failed("no call where one was announced") })
    }

    fn wait(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        if !last {
            return Next::Wait;
        }
        if self.remains.on {
            sink.markup(input.len());
            return self.stop(Step::Failed(self.remains.endless()));
        }
        sink.finish(input.len(), false);
        self.state = State::Over;
        Next::Took(input.len())
    }

    /// Says JSON text, unless it goes nowhere.
    fn say(&self, json: &str, bytes: usize, sink: &mut dyn Sink) {
        sink.arguments(if self.muted.is_some() { "" } else { json }, bytes);
    }

    /// What stands in the element whose inside begins at `from`, and where it ends.
    fn tag<'a>(&mut self, input: &'a [u8], from: usize) -> Result<Option<(&'a [u8], usize)>, ()> {
        let at = self.seen.max(from);
        if let Some(end) = memchr::memchr(b'>', input.get(at..).unwrap_or_default()).map(|end| at + end)
            && end - from <= MAX_HEAD
        {
            return Ok(Some((input.get(from..end).unwrap_or_default(), end + 1)));
        }
        self.seen = input.len();
        if input.len() - from > MAX_HEAD { Err(()) } else { Ok(None) }
    }

    fn next(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        match self.state {
            State::Before => self.before(input, last, sink),
            State::Inside => self.inside(input, last, sink),
            State::Content => self.content(input, last, sink),
            State::Text => self.text(input, last, sink),
            State::Object => match self.json.step(input, sink) {
                (bytes, Ok(true)) => {
                    self.frames.clear();
                    self.go(State::Inside);
                    Next::Took(bytes)
                }
                (_, Ok(false)) if !last => Next::Wait,
                (_, Ok(false)) => self.wait(&[], last, sink),
                (bytes, Err(_)) => match self.broken("the arguments aren't JSON", sink) {
                    Next::Took(_) => Next::Took(bytes),
                    next => next,
                },
            },
            State::Remains => self.remains(input, last, sink),
            State::Over => Next::Stop(Step::Done),
        }
    }

    fn before(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        let (start, inside) = match self.look(input) {
            Seen::Mark { start, end, .. } => (start, end),
            Seen::Nothing | Seen::Part(_) if !last => return Next::Wait,
            _ => return self.no_call(),
        };
        let (tag, end) = match self.tag(input, inside) {
            Ok(Some(found)) => found,
            Ok(None) if !last => return Next::Wait,
            _ => return self.no_call(),
        };
        sink.looked(tag.len());
        let tag = String::from_utf8_lossy(tag);
        let name = tag.strip_prefix(CALL).filter(|head| head.starts_with([' ', '\t', '\n', '\r'])).and_then(|head| {
            let head = head.strip_suffix('/').unwrap_or(head);
            let ([name], odd) = find_attributes(head, ["name"]);
            name.map(str::trim).filter(|name| !name.is_empty()).map(|name| (name, odd))
        });
        let Some((name, odd)) = name else {
            if self.any && !self.empty && tag.trim_end() == "/invoke" {
                // Models close a call twice now and then.
                sink.markup(end);
                self.go(State::Before);
                return Next::Took(end);
            }
            if self.empty && (!tag.starts_with('/') || tag.trim_end() == "/invoke") {
                // Nothing was said to stand in the last one, and something does.
                sink.repaired_behind(ODD);
            }
            return self.no_call();
        };
        sink.markup(start);
        let signature = sink.start(name, None, end - start).cloned();
        if let Some(odd) = odd {
            sink.repaired(odd);
        }
        self.any = true;
        self.muted = None;
        self.json = Balanced::default();
        self.frames.clear();
        self.empty = tag.ends_with('/');
        if self.empty {
            sink.arguments("{}", 0);
            sink.finish(0, true);
            self.go(State::Before);
        } else {
            self.frames.push(Frame::Object { name: CALL.to_owned(), signature, first: true, keys: BTreeSet::new() });
            self.go(State::Inside);
        }
        Next::Took(end)
    }

    /// Whether nothing was said of the call's arguments yet.
    fn is_empty(&self) -> bool {
        matches!(self.frames.as_slice(), [Frame::Object { first: true, .. }])
    }

    fn inside(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        let (start, inside) = match self.look(input) {
            Seen::Mark { start, end, .. } => (start, end),
            Seen::Other(start) if self.is_empty() && input.get(start) == Some(&b'{') => {
                sink.arguments("", start);
                self.go(State::Object);
                return Next::Took(start);
            }
            Seen::Nothing | Seen::Part(_) => return self.wait(input, last, sink),
            _ => return self.broken("something other than an element stands inside the call", sink),
        };
        let (tag, end) = match self.tag(input, inside) {
            Ok(Some(found)) => found,
            Ok(None) => return self.wait(input, last, sink),
            Err(()) => return self.broken("an element's opening has no end", sink),
        };
        sink.looked(tag.len());
        let tag = String::from_utf8_lossy(tag);
        match tag.strip_prefix('/') {
            Some(name) if name.trim() == CALL => {
                self.unwind(1, sink);
                self.end_call(start, end - start, sink);
                Next::Took(end)
            }
            Some(_) if self.closers.iter().any(|closer| input.get(start..end) == Some(closer.as_bytes())) => {
                self.unwind(1, sink);
                sink.repaired(OPEN_CALL);
                self.end_call(start, 0, sink);
                self.state = State::Over;
                Next::Took(start)
            }
            Some(name) => self.close(name.trim(), end, sink),
            None if is_call(&tag) && calls(tag.as_bytes(), true, sink) => {
                self.unwind(1, sink);
                sink.repaired(FOLLOWED);
                self.end_call(start, 0, sink);
                Next::Took(start)
            }
            None if self.frames.is_empty() => self.broken("something follows the arguments' object", sink),
            None => self.open(&tag, end, sink),
        }
    }

    fn end_call(&mut self, before: usize, bytes: usize, sink: &mut dyn Sink) {
        let rest = match self.frames.pop() {
            None => "",
            Some(Frame::Object { first: true, .. }) => "{}",
            Some(_) => "}",
        };
        self.say(rest, before, sink);
        sink.finish(bytes, true);
        self.go(State::Before);
    }

    /// Closes what is open beyond so many frames.
    fn unwind(&mut self, keep: usize, sink: &mut dyn Sink) {
        while self.frames.len() > keep {
            if !matches!(self.frames.last(), Some(Frame::Repeated { .. })) {
                sink.repaired("an element without its closing");
            }
            self.pop(0, sink);
        }
    }

    /// Ends the innermost array or object.
    fn pop(&mut self, bytes: usize, sink: &mut dyn Sink) {
        let rest = match self.frames.pop() {
            Some(Frame::Object { .. }) => "}",
            Some(_) => "]",
            None => "",
        };
        self.say(rest, bytes, sink);
        if self.muted.is_some_and(|muted| self.frames.len() <= muted) {
            self.muted = None;
        }
    }

    fn close(&mut self, name: &str, bytes: usize, sink: &mut dyn Sink) -> Next {
        let at = self.frames.iter().rposition(|frame| match frame {
            Frame::Object { name: open, .. } | Frame::Array { name: open, .. } => open == name,
            Frame::Repeated { .. } => false,
        });
        match at {
            Some(at) if at > 0 => {
                self.unwind(at + 1, sink);
                self.pop(bytes, sink);
                self.go(State::Inside);
                Next::Took(bytes)
            }
            _ if name == self.name && !self.remains.on => {
                sink.repaired(CLOSED_AGAIN);
                sink.arguments("", bytes);
                self.go(State::Inside);
                Next::Took(bytes)
            }
            _ => self.broken("an element is closed that wasn't open", sink),
        }
    }

    fn open(&mut self, tag: &str, bytes: usize, sink: &mut dyn Sink) -> Next {
        let tag = tag.trim_end();
        let (tag, closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        // Attributes mean nothing here.
        let name = tag.split([' ', '\t', '\n', '\r']).next().unwrap_or(tag);
        if name.is_empty() && !self.remains.on {
            return self.broken("an element without a name", sink);
        }
        if self.frames.len() > sink.max_depth() {
            return self.broken(TOO_DEEP, sink);
        }
        self.lead.clear();
        if let Some(Frame::Repeated { name: open, .. }) = self.frames.last()
            && open != name
        {
            self.pop(0, sink);
        }
        let mut twice = false;
        match self.frames.last_mut() {
            Some(Frame::Repeated { items, .. }) => {
                self.kind = items.clone();
                self.lead.push(',');
            }
            Some(Frame::Array { items, first, .. }) => {
                self.kind = items.clone();
                if !std::mem::take(first) {
                    self.lead.push(',');
                }
            }
            Some(Frame::Object { signature, first, keys, .. }) => {
                self.kind = signature.as_ref().and_then(|signature| signature.kind(name)).cloned().unwrap_or(Kind::Any);
                twice = !keys.insert(name.to_owned());
                if !twice {
                    // The call's own brace waits for the first member.
                    if !*first {
                        self.lead.push(',');
                    } else if self.frames.len() == 1 {
                        self.lead.push('{');
                    }
                    if let Some(Frame::Object { first, .. }) = self.frames.last_mut() {
                        *first = false;
                    }
                    self.lead.push('"');
                    super::escape::escape(name.as_bytes(), true, &mut self.lead);
                    self.lead.push_str("\":");
                }
            }
            None => {}
        }
        self.name.clear();
        self.name.push_str(name);
        if twice && self.muted.is_none() {
            sink.repaired("an element came twice; the first one was kept");
            self.muted = Some(self.frames.len());
        }
        sink.arguments("", bytes);
        if closed {
            self.empty(0, sink);
            self.leave();
            self.go(State::Inside);
        } else {
            self.go(State::Content);
        }
        Next::Took(bytes)
    }

    /// A value that was muted for itself is over.
    fn leave(&mut self) {
        if self.muted == Some(self.frames.len()) {
            self.muted = None;
        }
    }
}

/// Whether an element opens a call.
fn is_call(tag: &str) -> bool {
    tag.strip_prefix(CALL).is_some_and(|head| head.starts_with([' ', '\t', '\n', '\r']) && head.contains("name"))
}

impl Body for NestedBody {
    fn step(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Step {
        let step = remains::run(self, |body| &mut body.remains, Self::next, (input, last), sink);
        sink.looked(self.marks.looked() + self.ends.looked());
        step
    }
}

#[cfg(test)]
mod tests;
