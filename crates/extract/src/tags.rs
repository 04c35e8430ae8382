//! Calls written as elements: `<invoke name="N"><parameter name="K">V</parameter></invoke>`,
//! `<function=N><parameter=K>V</parameter></function>` and their relatives. Values escape nothing and are streamed;
//! several calls may stand in one region; the region ends where no further call follows a call's end.
//!
//! Read, whatever the dialect writes: white space between elements, attributes in any order, with either quote or none,
//! and ones that mean nothing here; namespace prefixes; `<invoke name="N"/>`; one JSON object inside the call in place
//! of parameters; `string="true"` (the value is text) and `string="false"` (the value is JSON) after any parameter's
//! name; a missing closing element of the call before the wrapper's or before another call, and of a parameter where
//! something else shows its end ([`until`]).
//!
//! [`until`]: super::until

use super::{
    body::{Body, Sink, Step},
    dialect::{Grammar, Tags, rows},
    members::{EARLY, FOLLOWED, Flow, Members, NESTED, Next, OPEN_CALL, Typing},
    remains::{self, Remains},
    until::{
        AROUND, Bound, CALL, CALL_END, CDATA, CDATA_END, CLOSER, Class, END, FURTHER, Found, Look, MAX_HEAD, Marks,
        NEXT, ODD_CALL, ODDLY, OPEN, Rule, Search, Seen, UNNAMED, holds, is_space,
    },
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before a call, the first or a further one.
    Before,
    /// Behind the last call, where nothing closes what stands around it.
    Behind,
    /// In a call's opening element.
    Call,
    /// Between parameters.
    Inside,
    /// At a call's closing element, where nothing was said of its arguments.
    Early,
    /// In a parameter's opening element.
    Parameter,
    /// Before the first byte of a value.
    Opening,
    Value,
    Cdata,
    /// In an object that holds all arguments.
    Object,
    /// In what is left of a call that broke off.
    Remains,
    Over,
}

/// The grammar `Tags` at work.
#[derive(Debug, Clone)]
pub(super) struct TagsBody {
    tags: Tags,
    attributes: [&'static str; 2],
    marks: Marks,
    state: State,
    look: Look,
    head: Head,
    /// Where the closing element stands of a call that has no parameters.
    closer: (usize, usize),
    /// Whether a call was made.
    any: bool,
    /// Whether the open call's opening element said that nothing stands in it.
    empty: bool,
    /// Whether the call's closing element may be the last of the region.
    alone: bool,
    /// Whether a marker stands before the calls.
    wrapped: bool,
    remains: Remains,
    members: Members,
}

impl TagsBody {
    pub(super) fn new(tags: Tags) -> Self {
        // The region's closers are the parser's to take, but they tell where a value or a call ends that wasn't closed.
        let same = || rows().filter(|dialect| dialect.grammar == Grammar::Tags(tags));
        let mut body = Self::within(
            tags,
            same().flat_map(|dialect| dialect.close.iter().chain(dialect.section.iter().flat_map(|s| s.1))).copied(),
        );
        for dialect in same() {
            body.around(dialect.open.iter().chain(dialect.section.iter().flat_map(|section| section.0)).copied());
        }
        body
    }

    /// What stands around calls.
    fn around(&mut self, openers: impl Iterator<Item = &'static str>) {
        let openers: Vec<_> = openers.collect();
        for open in &openers {
            self.marks.add(AROUND, Bound::Nothing, &[open]);
            // Of two that begin alike the shorter is seen: the rest of the longer one may stand behind it.
            let rests = openers.iter().filter_map(|longer| longer.strip_prefix(open)).filter(|rest| !rest.is_empty());
            for rest in rests.filter(|_| !open.is_empty()) {
                self.marks.add(AROUND, Bound::Nothing, &[rest]);
            }
        }
    }

    fn within(tags: Tags, closers: impl Iterator<Item = &'static str>) -> Self {
        let mut marks = Marks::default();
        let (call, call_attribute) = element(tags.call.0, tags.call_end);
        let (parameter, parameter_attribute) = element(tags.parameter.0, tags.parameter_end);
        // Told by what the dialect writes there: a value may well talk of another's elements.
        let bound = |attribute: &str| if attribute.is_empty() { Bound::Equals } else { Bound::Space };
        let other = |bound| if bound == Bound::Equals { Bound::Space } else { Bound::Equals };
        let (call_bound, parameter_bound) = (bound(call_attribute), bound(parameter_attribute));
        for prefix in [""].iter().chain(tags.prefixes) {
            marks.add(CALL, call_bound, &["<", prefix, call]);
            marks.add(NEXT, call_bound, &["<", prefix, call]);
            marks.add(CALL_END, Bound::Nothing, &["</", prefix, call, ">"]);
            marks.add(OPEN, parameter_bound, &["<", prefix, parameter]);
            marks.add(END, Bound::Nothing, &["</", prefix, parameter, ">"]);
            marks.add(UNNAMED, Bound::Nothing, &["<", prefix, parameter, ">"]);
            marks.add(ODDLY, other(parameter_bound), &["<", prefix, parameter]);
            marks.add(ODD_CALL, other(call_bound), &["<", prefix, call]);
        }
        if tags.cdata {
            marks.add(CDATA, Bound::Nothing, &["<![CDATA["]);
            marks.add(CDATA_END, Bound::Nothing, &["]]>"]);
        }
        let mut alone = true;
        for closer in closers.filter(|closer| !closer.is_empty() && *closer != tags.call_end) {
            alone = false;
            marks.add(CLOSER, Bound::Nothing, &[closer]);
        }
        Self {
            tags,
            attributes: [call_attribute, parameter_attribute],
            marks,
            state: State::Before,
            look: Look::default(),
            head: Head::default(),
            closer: (0, 0),
            any: false,
            empty: false,
            alone,
            wrapped: true,
            remains: Remains::default(),
            members: Members::new(),
        }
    }

    /// Whether `value` may stand between a parameter's elements as it is, and is read back whole whatever is declared.
    pub(super) fn holds(tags: Tags, value: &str) -> bool {
        if tags.cdata && value.trim_start().starts_with("<![CDATA[") {
            return false;
        }
        let body = Self::new(tags);
        let newline = if tags.newlines { "\n" } else { "" };
        let rule = Rule { alone: true, ..body.rule() };
        holds(&body.marks, rule, value, (&[newline, tags.parameter_end].concat(), tags.call_end))
    }

    /// Reads a region that no opener of its own began, and no closer ends.
    pub(super) fn bare(mut self) -> Self {
        self.alone = true;
        self.wrapped = false;
        self
    }

    fn rule(&self) -> Rule {
        // `<parameter=a>` stands in prose now and then.
        let lines = if self.tags.call.0.ends_with('=') { OPEN | FURTHER } else { FURTHER };
        Rule {
            first: b'<',
            ends: END | CALL_END | CLOSER | OPEN | FURTHER,
            newline: self.tags.newlines,
            lines,
            sure: false,
            alone: self.alone,
            bare: !self.wrapped,
            head: ">",
            opens: true,
            named: true,
        }
    }

    fn go(&mut self, state: State) {
        self.state = state;
        self.look = Look::default();
    }

    fn next(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        match self.state {
            State::Before => self.before(input, last, sink),
            State::Behind => self.behind(input, sink),
            State::Call => self.call(input, last, sink),
            State::Inside => self.inside(input, last, sink),
            State::Early => self.early(input, last, sink),
            State::Parameter => self.parameter(input, last, sink),
            State::Opening => self.opening(input, last, sink),
            State::Value => self.value(self.rule(), input, last, sink),
            State::Cdata => {
                let rule = Rule { first: b']', ends: CDATA_END, newline: false, ..self.rule() };
                self.value(rule, input, last, sink)
            }
            State::Object => self.object(input, last, sink),
            State::Remains => self.remains(input, last, sink),
            State::Over => Next::Stop(Step::Done),
        }
    }

    fn before(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        let wanted = if self.any { CALL | CALL_END | CLOSER } else { CALL };
        match self.look.step(&self.marks, wanted, input) {
            Seen::Mark { class: CLOSER, .. } => self.no_call(),
            // Models close a call twice now and then.
            Seen::Mark { class: CALL_END, end, .. } => {
                sink.markup(end);
                self.go(State::Before);
                Next::Took(end)
            }
            Seen::Mark { start, end, .. } => {
                self.head = Head::new(start, end);
                self.state = State::Call;
                Next::Took(0)
            }
            Seen::Nothing | Seen::Part(_) if !last => Next::Wait,
            _ if self.any && !self.alone => {
                self.state = State::Behind;
                self.behind(input, sink)
            }
            _ => self.no_call(),
        }
    }

    /// What stands around the call isn't closed: what did close it may have stood in a value.
    fn behind(&mut self, input: &[u8], sink: &mut dyn Sink) -> Next {
        match sink.balances(&self.marks, self.rule().value(), input.len()) {
            None => return Next::Wait,
            Some(true) => {}
            Some(false) => sink.spoiled_behind(NESTED),
        }
        self.no_call()
    }

    fn no_call(&mut self) -> Next {
        self.state = State::Over;
        Next::Stop(if self.any { Step::Done } else { Step::Failed("no call where one was announced") })
    }

    /// Whether another element of the dialect begins within the opening one at hand, which a cut left without its end
    /// then.
    fn torn(&mut self, end: Option<usize>, input: &[u8], last: bool) -> Torn {
        // No further than an opening element may be long, however much is there.
        let limit = self.head.limit();
        let near = input.get(..limit.min(input.len())).unwrap_or_default();
        let last = last || near.len() == limit;
        let inside = near.get(..end.unwrap_or(near.len())).unwrap_or(near);
        while let Some(at) = memchr::memchr(b'<', inside.get(self.head.clear..).unwrap_or_default()) {
            let at = self.head.clear + at;
            let mut look = Look::at(at);
            match look.step(&self.marks, CALL | AROUND | OPEN | END | CALL_END | CLOSER, near) {
                Seen::Mark { class, .. } => return Torn::At(at, class),
                Seen::Nothing | Seen::Part(_) if !last => {
                    self.head.clear = at;
                    return Torn::More;
                }
                _ => {}
            }
            self.marks.touch(look.reached() - at);
            self.head.clear = at + 1;
        }
        self.head.clear = self.head.clear.max(inside.len());
        Torn::No
    }

    /// The call's opening element ends before another one: its name may stand there all the same.
    fn torn_call(&mut self, (at, class): (usize, Class), input: &[u8], sink: &mut dyn Sink) -> Next {
        let Head { start, name, .. } = self.head;
        let own = input.get(name..at).unwrap_or_default();
        let head = self.head.read(input, at + 1, self.attributes[0]).unwrap_or_default();
        let odd = head.name.is_empty() || head.name.contains(char::is_whitespace) || !sink.knows(&head.name);
        let near = own.len() <= MAX_TORN && !own.trim_ascii().iter().any(u8::is_ascii_whitespace);
        if odd && (class == CALL || class == AROUND) && near && !sink.asks() {
            sink.dropped(at, NO_END);
            self.go(if class == CALL { State::Before } else { State::Over });
            return Next::Took(at);
        }
        if odd || sink.asks() {
            return self.no_call();
        }
        if start > 0 {
            sink.markup(start);
        }
        self.members.start(sink.start(&head.name, None, at - start).cloned());
        self.any = true;
        match self.broken(NO_END, sink) {
            Next::Took(_) => {
                self.remains.markup = true;
                Next::Took(at)
            }
            next => next,
        }
    }

    fn call(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        let end = self.head.end(input);
        match self.torn(end, input, last) {
            Torn::At(at, class) => return self.torn_call((at, class), input, sink),
            Torn::More if !self.head.too_long() => return Next::Wait,
            _ => {}
        }
        let Some(end) = end else {
            return if last || self.head.too_long() { self.no_call() } else { Next::Wait };
        };
        sink.looked(end - self.head.name);
        let Some(head) = self.head.read(input, end, self.attributes[0]).filter(|head| !head.name.is_empty()) else {
            return self.no_call();
        };
        let start = self.head.start;
        sink.markup(start);
        let markup = input.get(self.head.name..end).is_some_and(|head| memchr::memchr(b'<', head).is_some());
        self.members.start(sink.start(&head.name, None, end - start).cloned());
        if markup {
            sink.spoiled(ODD_NAME);
        }
        if let Some(odd) = head.odd {
            sink.repaired(odd);
        }
        self.any = true;
        self.empty = head.closed;
        self.go(State::Inside);
        Next::Took(end)
    }

    /// Behind an element that says that nothing stands in it. `None`: something does.
    fn nothing(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Option<Next> {
        match self.look.step(&self.marks, OPEN | CALL_END, input) {
            Seen::Nothing | Seen::Part(_) if !last => return Some(Next::Wait),
            Seen::Mark { .. } => {
                sink.repaired(ODD);
                sink.looked(self.look.reached());
                self.empty = false;
                self.look = Look::default();
                return None;
            }
            _ => {}
        }
        sink.looked(self.look.reached());
        self.empty = false;
        self.members.close(0, 0, sink);
        self.go(State::Before);
        Some(Next::Took(0))
    }

    fn inside(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        if self.empty
            && let Some(next) = self.nothing(input, last, sink)
        {
            return next;
        }
        let wanted = match (self.members.is_open(), self.members.is_empty()) {
            (true, true) => OPEN | CALL_END | CLOSER,
            (true, false) => OPEN | CALL_END | CLOSER | FURTHER,
            (false, _) => CALL_END | CLOSER | FURTHER,
        };
        match self.look.step(&self.marks, wanted, input) {
            Seen::Mark { class: OPEN, start, end } => {
                self.head = Head::new(start, end);
                self.state = State::Parameter;
                Next::Took(0)
            }
            Seen::Mark { class: CALL_END, start, end } if self.members.is_empty() => {
                self.closer = (start, end);
                self.state = State::Early;
                self.look = Look::at(end);
                Next::Took(0)
            }
            Seen::Mark { class: CALL_END, start, end } => {
                self.members.close(start, end - start, sink);
                self.go(State::Before);
                Next::Took(end)
            }
            Seen::Mark { class: class @ (NEXT | AROUND), start, .. } => {
                sink.repaired(FOLLOWED);
                self.members.close(start, 0, sink);
                self.go(if class == NEXT { State::Before } else { State::Over });
                Next::Took(start)
            }
            Seen::Mark { start, .. } => {
                sink.repaired(OPEN_CALL);
                self.members.close(start, 0, sink);
                self.state = State::Over;
                Next::Took(start)
            }
            Seen::Other(start) if self.members.is_empty() && input.get(start) == Some(&b'{') => {
                sink.arguments("", start);
                self.go(State::Object);
                Next::Took(start)
            }
            Seen::Nothing | Seen::Part(_) => self.wait(input, last, sink),
            _ => self.broken("something other than a parameter stands inside the call", sink),
        }
    }

    /// Parameters behind the closing element of a call that has none are its own: it closed too early.
    fn early(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        let (start, end) = self.closer;
        let Some(own) = self.look.stands(&self.marks, OPEN, input, last) else { return Next::Wait };
        sink.looked(self.look.reached().saturating_sub(end));
        if own {
            sink.repaired(EARLY);
            sink.arguments("", end);
            self.go(State::Inside);
        } else {
            self.members.close(start, end - start, sink);
            self.go(State::Before);
        }
        Next::Took(end)
    }

    fn wait(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        if !last {
            return Next::Wait;
        }
        sink.finish(input.len(), false);
        self.state = State::Over;
        Next::Took(input.len())
    }

    /// The call breaks off here. What is left of it reaches to its closing element or to what shows that it is over.
    fn broken(&mut self, why: &'static str, sink: &mut dyn Sink) -> Next {
        if sink.asks() {
            self.state = State::Over;
            return Next::Stop(Step::Failed(why));
        }
        self.remains.begin(why, sink);
        self.empty = false;
        self.state = State::Remains;
        Next::Took(0)
    }

    fn remains(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        let wanted = CALL_END | CLOSER | FURTHER | OPEN | UNNAMED | ODDLY | END;
        loop {
            return match self.remains.search.step(&self.marks, wanted, b'<', input, last) {
                Found::More => Next::Wait,
                Found::Mark { class: class @ (OPEN | UNNAMED | ODDLY), start, end } => {
                    self.remains.read_on(sink);
                    let name = if class == UNNAMED { end - 1 } else { end };
                    self.head = Head::new(start, name);
                    self.state = State::Parameter;
                    Next::Took(0)
                }
                Found::Mark { class: END, .. } => {
                    self.remains.markup = true;
                    self.remains.search.pass();
                    continue;
                }
                // Words between the openings of two calls, and nothing around them, may be talk of both.
                Found::Mark { class, start, end }
                    if class == CALL_END
                        || class == CLOSER
                        || self.wrapped
                        || self.remains.markup
                        || self.remains.on
                        || self.marks.begin(input.get(..start).unwrap_or_default().trim_ascii()) =>
                {
                    let end = if class == CALL_END { end } else { start };
                    self.remains.end(end, sink);
                    self.go(if matches!(class, CALL_END | NEXT) { State::Before } else { State::Over });
                    Next::Took(end)
                }
                Found::Mark { .. } | Found::Nowhere => {
                    self.state = State::Over;
                    Next::Stop(Step::Failed(self.remains.endless()))
                }
            };
        }
    }

    fn parameter(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        let end = self.head.end(input);
        match self.torn(end, input, last) {
            Torn::At(at, _) => {
                let next = self.broken(NO_END, sink);
                let Next::Took(_) = next else { return next };
                if self.remains.on {
                    sink.markup(at);
                    return Next::Took(at);
                }
                self.remains.search = Search::from(at);
                self.remains.markup = true;
                return next;
            }
            Torn::More if !self.head.too_long() => return Next::Wait,
            _ => {}
        }
        let Some(end) = end else {
            return if self.head.too_long() {
                sink.looked(self.head.at - self.head.start);
                let next = self.broken("a parameter's opening element has no end", sink);
                if self.remains.on {
                    // It was one of what is left of a call: no need to come upon it again.
                    sink.markup(self.head.name);
                    return Next::Took(self.head.name);
                }
                next
            } else {
                self.wait(input, last, sink)
            };
        };
        sink.looked(end - self.head.name);
        let head = self.head.read(input, end, self.attributes[1]);
        let Some(head) = head.or_else(|| self.remains.on.then(Read::default)) else {
            sink.looked(self.head.at - self.head.start);
            return self.broken("a parameter without a name", sink);
        };
        let markup = input.get(self.head.name..end).is_some_and(|head| memchr::memchr(b'<', head).is_some());
        self.members.begin(&head.name, head.typing, end, sink);
        if markup {
            // A quotation mark is missing, and what followed went into the element.
            sink.spoiled(ODD_NAME);
        }
        if let Some(odd) = head.odd {
            sink.repaired(odd);
        }
        if head.closed {
            if let Err(step) = self.members.end(0, sink) {
                self.state = State::Over;
                return Next::Stop(step);
            }
            self.go(State::Inside);
        } else {
            self.go(State::Opening);
        }
        Next::Took(end)
    }

    fn opening(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        if self.tags.cdata {
            match self.look.step(&self.marks, CDATA, input) {
                Seen::Mark { end, .. } => {
                    sink.arguments("", end);
                    self.state = State::Cdata;
                    return Next::Took(end);
                }
                Seen::Nothing | Seen::Part(_) if !last => return Next::Wait,
                _ => {}
            }
        }
        let newline = match input {
            _ if !self.tags.newlines && !input.is_empty() => 0,
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            [] | [b'\r'] if !last => return Next::Wait,
            _ => 0,
        };
        sink.arguments("", newline);
        self.state = State::Value;
        Next::Took(newline)
    }

    fn value(&mut self, rule: Rule, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        let flow = self.members.advance(&self.marks, rule, input, last, sink);
        if let Flow::Again(_) = flow {
            self.go(State::Opening);
        }
        let (next, turn) = flow.turn(input.len());
        match turn {
            Some(true) => self.go(State::Inside),
            Some(false) => self.state = State::Over,
            None => {}
        }
        next
    }

    fn object(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        match self.members.object(input, sink) {
            (bytes, Ok(true)) => {
                self.go(State::Inside);
                Next::Took(bytes)
            }
            (bytes, Err(_)) => match self.broken("the arguments aren't JSON", sink) {
                Next::Took(_) => Next::Took(bytes),
                next => next,
            },
            (_, Ok(false)) if last => self.wait(&[], last, sink),
            (_, Ok(false)) => Next::Wait,
        }
    }
}

impl Body for TagsBody {
    fn step(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Step {
        let step = remains::run(self, |body| &mut body.remains, Self::next, (input, last), sink);
        sink.looked(self.marks.looked());
        step
    }

    fn straight<'a>(&mut self, input: &'a [u8]) -> &'a str {
        if self.state == State::Value && !self.remains.on { self.members.straight(b'<', input) } else { "" }
    }
}

/// An element's name and the attribute that names the call or parameter, if one does, from how its opening and closing
/// are written.
fn element(open: &'static str, end: &'static str) -> (&'static str, &'static str) {
    let inside = open.strip_prefix('<').unwrap_or(open);
    let closing = end.strip_prefix("</").and_then(|end| end.strip_suffix('>')).filter(|name| inside.starts_with(name));
    let name = closing.unwrap_or_else(|| inside.split(['=', ' ']).next().unwrap_or(inside));
    let attribute =
        inside.get(name.len()..).unwrap_or_default().trim().trim_end_matches(['"', '\'']).trim_end_matches('=');
    (name, attribute)
}

/// The longest piece of a call's opening element, without a name that a tool has, that is taken for what a cut left of
/// one.
const MAX_TORN: usize = 64;

/// What is wrong with an opening element in which another element begins.
const NO_END: &str = "an opening element without its end";

/// Whether another element begins within an opening one.
enum Torn {
    No,
    /// More bytes are needed.
    More,
    /// Here, one of this class.
    At(usize, Class),
}

/// An opening element on its way in.
#[derive(Debug, Default, Clone)]
struct Head {
    /// Where it begins.
    start: usize,
    /// Where its element's name ends.
    name: usize,
    at: usize,
    quote: Option<u8>,
    /// Whether a value may begin here.
    equals: bool,
    /// Up to here no other element begins in it.
    clear: usize,
}

/// What is said of an attribute that an element has twice.
pub(super) const TWICE: &str = "an attribute was given twice; the first one counts";
/// What is said of an opening element that isn't written as one.
pub(super) const ODD: &str = "an opening element that isn't well formed";
/// Why a call is broken that has a parameter of such a name.
pub(super) const ODD_NAME: &str = "a parameter's name holds markup";

/// What an opening element says.
#[derive(Default)]
struct Read {
    name: String,
    typing: Typing,
    closed: bool,
    odd: Option<&'static str>,
}

impl Head {
    fn new(start: usize, name: usize) -> Self {
        Self { start, name, at: name, quote: None, equals: false, clear: name }
    }

    /// Where the element ends, once it does: at the first `>` that isn't in quotes. It is found again where that is
    /// asked again.
    fn end(&mut self, input: &[u8]) -> Option<usize> {
        let bare = input.get(self.name) == Some(&b'=');
        while let Some(byte) = input.get(self.at) {
            match (self.quote, *byte) {
                (None, b'>') => return Some(self.at + 1),
                (None, b'"' | b'\'') if self.equals && !bare => self.quote = Some(*byte),
                (Some(quote), byte) if quote == byte => self.quote = None,
                _ => {}
            }
            if self.quote.is_none() && !is_space(*byte) {
                self.equals = *byte == b'=';
            }
            self.at += 1;
            if self.too_long() {
                return None;
            }
        }
        None
    }

    fn too_long(&self) -> bool {
        self.at - self.start > MAX_HEAD
    }

    /// How many bytes of the input are looked at for its end.
    fn limit(&self) -> usize {
        self.start + MAX_HEAD + 1
    }

    fn read(&self, input: &[u8], end: usize, attribute: &str) -> Option<Read> {
        let text = String::from_utf8_lossy(input.get(self.name..end.checked_sub(1)?)?);
        if let Some(name) = text.strip_prefix('=') {
            let (name, typing) = match name.rsplit_once(" string=") {
                Some((name, "\"true\"" | "'true'")) => (name, Typing::Text),
                Some((name, "\"false\"" | "'false'")) => (name, Typing::Json),
                _ => (name, Typing::Declared),
            };
            let name = name.trim();
            let quoted = ['"', '\''].iter().find_map(|quote| name.strip_prefix(*quote)?.strip_suffix(*quote));
            return Some(Read { name: quoted.unwrap_or(name).to_owned(), typing, closed: false, odd: None });
        }
        let (text, closed) = match text.strip_suffix('/') {
            Some(text) => (text, true),
            None => (&*text, false),
        };
        let (found, odd) = find_attributes(text, ["string", attribute]);
        let [string, name] = found;
        let typing = match string {
            Some("true") => Typing::Text,
            Some("false") => Typing::Json,
            _ => Typing::Declared,
        };
        let odd = odd.or(string.filter(|_| typing == Typing::Declared).map(|_| ODD));
        let name = name?.trim().to_owned();
        Some(Read { name, typing, closed, odd })
    }
}

/// The values of attributes, in quotes of either kind or none. Of those that come twice the first counts. Says too
/// whether one comes again with another value, or anything else is odd about them.
pub(super) fn find_attributes<'a, const N: usize>(
    text: &'a str,
    wanted: [&str; N],
) -> ([Option<&'a str>; N], Option<&'static str>) {
    let mut found = [None; N];
    let (mut twice, mut odd) = (false, false);
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_at(rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len()));
        let Some(value) = after.trim_start().strip_prefix('=') else {
            odd = true;
            rest = after.trim_start();
            continue;
        };
        let value = value.trim_start();
        let (value, after) = if let Some(quote @ ('"' | '\'')) = value.chars().next() {
            let inside = value.get(1..).unwrap_or_default();
            let (value, after) = inside.split_once(quote).unwrap_or((inside, "="));
            odd |= after.starts_with(|c: char| !c.is_whitespace());
            (value, after)
        } else {
            let (value, after) = value.split_at(value.find(char::is_whitespace).unwrap_or(value.len()));
            odd |= value.is_empty() || value.contains(['"', '\'', '=', '<']);
            (value, after)
        };
        odd |= name.is_empty()
            || name.ends_with(':')
            || name.contains(|c: char| !c.is_alphanumeric() && !"_-:.".contains(c));
        for (found, wanted) in found.iter_mut().zip(wanted) {
            if name == wanted {
                twice |= *found.get_or_insert(value) != value;
            }
        }
        rest = after.trim_start();
    }
    (found, if twice { Some(TWICE) } else { odd.then_some(ODD) })
}

#[cfg(test)]
mod tests;
