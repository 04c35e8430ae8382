//! The members of a call's arguments, written as JSON one after another while their raw values are being read.
//! Promises: a parameter given twice keeps its first value, since nothing said is taken back; names are escaped, never
//! trusted.

use std::collections::BTreeSet;

use super::{
    arguments::TOO_DEEP,
    body::{Sink, Step},
    escape::clean,
    signature::{Kind, Signature},
    tags::{ODD_NAME, find_attributes},
    until::{CLOSED_AGAIN, Marks, OPENED_TWICE, Rule, UNCLOSED, Until, Verdict, WORDS, blank},
    value::{Forms, MAX_MUTE, Value, depth_of, is_json, member_into, mend},
};

/// What a state of a body comes to.
pub(super) enum Next {
    /// So many bytes were taken; on with the rest.
    Took(usize),
    /// More are needed.
    Wait,
    Stop(Step),
}

/// Goes from state to state as far as the input reaches.
pub(super) fn run(input: &[u8], mut next: impl FnMut(&[u8]) -> Next) -> Step {
    let mut at = 0;
    loop {
        match next(input.get(at..).unwrap_or_default()) {
            Next::Took(bytes) => at += bytes,
            Next::Wait => return Step::More,
            Next::Stop(step) => return step,
        }
    }
}

/// What says which type a value has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Typing {
    /// The tool's schema.
    #[default]
    Declared,
    /// The markup: a string.
    Text,
    /// The markup: JSON.
    Json,
    /// The markup: anything but a string, written raw.
    Literal,
}

/// Where a value stands after a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Flow {
    /// What could be was taken; more bytes are needed.
    More,
    /// So many bytes were taken, and the value is over.
    Ended(usize),
    /// So many bytes were taken, and the same value goes on.
    On(usize),
    /// So many bytes were taken, the value's opening element once more; it begins behind them.
    Again(usize),
    /// The text ended inside the value, and so did the call.
    Cut,
    /// The value can't be.
    Failed(Step),
}

impl Flow {
    /// What a body does of it, and whether it goes on behind the value (`true`) or is over, if it is either. `whole`:
    /// how much it has.
    pub(super) fn turn(self, whole: usize) -> (Next, Option<bool>) {
        match self {
            Self::More => (Next::Wait, None),
            Self::On(bytes) | Self::Again(bytes) => (Next::Took(bytes), None),
            Self::Ended(bytes) => (Next::Took(bytes), Some(true)),
            Self::Failed(step) => (Next::Stop(step), Some(false)),
            Self::Cut => (Next::Took(whole), Some(false)),
        }
    }
}

/// One call's arguments at a time.
#[derive(Debug, Clone)]
pub(super) struct Members {
    signature: Option<Signature>,
    keys: BTreeSet<String>,
    key: String,
    first: bool,
    /// Whether the whole object was there at once.
    whole: bool,
    value: Value,
    until: Until,
    /// Another call follows the value, or a closer is missing, and more bytes decide whether another call stands in it.
    weighs: Option<(usize, Verdict)>,
    json: Balanced,
    scratch: String,
}

impl Members {
    pub(super) fn new() -> Self {
        Self {
            signature: None,
            keys: BTreeSet::new(),
            key: String::new(),
            first: true,
            whole: false,
            value: Value::new(),
            until: Until::default(),
            weighs: None,
            json: Balanced::default(),
            scratch: String::new(),
        }
    }

    /// A call begins.
    pub(super) fn start(&mut self, signature: Option<Signature>) {
        self.signature = signature;
        self.keys.clear();
        self.first = true;
        self.whole = false;
        self.json = Balanced::default();
    }

    /// Whether nothing was said of the arguments yet.
    pub(super) fn is_empty(&self) -> bool {
        self.first && !self.whole
    }

    /// Whether a member may follow.
    pub(super) fn is_open(&self) -> bool {
        !self.whole
    }

    fn kind(&self) -> Option<&Kind> {
        self.signature.as_ref().and_then(|signature| signature.kind(&self.key))
    }

    /// A parameter's value begins after `bytes` of markup.
    pub(super) fn begin(&mut self, key: &str, typing: Typing, bytes: usize, sink: &mut dyn Sink) {
        self.until = Until::default();
        if key.contains(['<', '\n']) {
            // The end of an opening element is missing, and what followed it went into the name.
            sink.spoiled(ODD_NAME);
        }
        self.key.clear();
        self.key.push_str(key);
        if !self.keys.insert(key.to_owned()) {
            sink.repaired("a parameter was given twice; the first value was kept");
            self.value.begin_ignored(bytes, sink);
            return;
        }
        let mut before = std::mem::take(&mut self.scratch);
        before.clear();
        member_into(self.first, key, &mut before);
        self.first = false;
        match typing {
            Typing::Declared => {
                let forms = self.kind().map_or(Forms::ANY, Forms::of);
                self.value.begin(forms, &before, bytes, sink);
            }
            Typing::Text => self.value.begin(Forms::TEXT, &before, bytes, sink),
            // What is declared a string is one, whatever its markup says.
            Typing::Literal if matches!(self.kind(), Some(Kind::String)) => {
                self.value.begin(Forms::TEXT, &before, bytes, sink);
            }
            Typing::Literal => self.value.begin(Forms::LITERAL, &before, bytes, sink),
            Typing::Json => self.value.begin_json(&before, bytes, sink),
        }
        self.scratch = before;
    }

    /// Whether a parameter of this name, as it stands in its element, may come next: one that is declared and wasn't
    /// given yet, or any if nothing is declared.
    fn awaits(&self, head: &[u8]) -> bool {
        let Some(name) = std::str::from_utf8(head).ok().and_then(|head| name_in(head, ["name", "key"])) else {
            return false;
        };
        let declared = self.signature.as_ref().map(|signature| &signature.parameters).filter(|all| !all.is_empty());
        !self.keys.contains(name) && declared.is_none_or(|all| all.contains_key(name))
    }

    /// Whether an opening element is that of the parameter at hand.
    fn opens_again(&self, head: &[u8]) -> bool {
        let head = std::str::from_utf8(head).ok();
        head.and_then(|head| name_in(head, ["name", "key"])).is_some_and(|name| name == self.key)
    }

    /// The way of a short piece in the middle of a string, which goes out just as it stands: all of it or nothing. It
    /// counts as taken. `first` is the first byte of what may end the value.
    #[inline]
    pub(super) fn straight<'a>(&mut self, first: u8, input: &'a [u8]) -> &'a str {
        if !self.value.is_text() {
            return "";
        }
        clean(input).filter(|_| self.until.passes(first, input)).unwrap_or_default()
    }

    /// Takes what it can of the value at the front of `input`.
    pub(super) fn advance(&mut self, marks: &Marks, rule: Rule, input: &[u8], last: bool, sink: &mut dyn Sink) -> Flow {
        let rule = Rule { sure: rule.sure || self.value.is_scalar(), ..rule };
        let (data, verdict) = loop {
            let (data, verdict) = match self.weighs.take() {
                Some(weighed) => weighed,
                None => self.until.step(marks, rule, input, last),
            };
            let part = |from: usize, to: usize| input.get(data + from..data + to).unwrap_or_default();
            let ended = match verdict {
                Verdict::Opens { from, to, .. } if self.until.quotes() && self.awaits(part(from, to)) => {
                    self.until.stray(marks);
                    continue;
                }
                Verdict::Opens { from, to, newline } if self.awaits(part(from, to)) => Verdict::Unclosed(newline),
                Verdict::Opens { from, to, .. }
                    if self.until.is_blank() && blank(input.get(..data)) && self.opens_again(part(from, to)) =>
                {
                    sink.spoiled(OPENED_TWICE);
                    if !rule.opens {
                        self.until.deny(marks);
                        continue;
                    }
                    // White space before it may have been said by now.
                    let own = input.get(..data).filter(|own| !own.is_empty());
                    if let Some(own) = own {
                        self.value.push(own, false, sink);
                    }
                    let opening = to + rule.head.len();
                    sink.arguments("", opening);
                    self.until = Until::default();
                    return Flow::Again(data + opening);
                }
                Verdict::Calls { from, to, element, bytes, closed } if calls(part(from, to), element, sink) => {
                    if closed { Verdict::End(bytes) } else { Verdict::Unclosed(bytes) }
                }
                Verdict::Opens { .. } | Verdict::Calls { .. } => {
                    self.until.deny(marks);
                    continue;
                }
                _ => verdict,
            };
            if let Some(bytes) = guessed(ended, verdict).filter(|_| !self.until.torn()) {
                match sink.balances(marks, rule.value(), input.len() - data - bytes) {
                    None => {
                        self.weighs = Some((data, verdict));
                        return Flow::More;
                    }
                    Some(false) => {
                        self.until.stray(marks);
                        continue;
                    }
                    Some(true) => {}
                }
            }
            if let Verdict::Calls { closed: false, .. } = verdict {
                sink.torn();
            }
            break (data, ended);
        };
        let more = !self.until.held() && matches!(verdict, Verdict::More | Verdict::Cut);
        let own = input.get(..data).unwrap_or_default();
        let took = if own.is_empty() { 0 } else { self.value.push(own, more, sink) };
        match verdict {
            Verdict::More => Flow::More,
            Verdict::End(bytes) => {
                if let Err(step) = self.end(bytes, sink) {
                    return Flow::Failed(step);
                }
                if self.until.closed_again() {
                    sink.repaired(CLOSED_AGAIN);
                }
                if self.until.shows() {
                    sink.spoiled(SHOWN);
                } else if self.until.strays() {
                    sink.spoiled(NESTED);
                }
                Flow::Ended(data + bytes)
            }
            Verdict::Unclosed(bytes) => {
                if let Err(step) = self.end(bytes, sink) {
                    return Flow::Failed(step);
                }
                // Words behind a closing element: it isn't known how much of them is the value's.
                if self.until.doubts() {
                    sink.spoiled(WORDS);
                } else {
                    sink.repaired(UNCLOSED);
                }
                Flow::Ended(data + bytes)
            }
            Verdict::Rejoin(bytes) => {
                sink.arguments("", bytes);
                Flow::On(data + bytes)
            }
            Verdict::Cut | Verdict::Opens { .. } | Verdict::Calls { .. } => {
                sink.finish(input.len() - took, false);
                Flow::Cut
            }
        }
    }

    /// The value ends.
    pub(super) fn end(&mut self, bytes: usize, sink: &mut dyn Sink) -> Result<(), Step> {
        let kind = self.signature.as_ref().and_then(|signature| signature.kind(&self.key));
        self.value.end(bytes, &self.key, kind, sink)
    }

    /// Takes what it can of an object that holds all the arguments.
    pub(super) fn object(&mut self, input: &[u8], sink: &mut dyn Sink) -> (usize, Result<bool, Step>) {
        self.whole = true;
        self.json.step(input, sink)
    }

    /// The call ends: `before` bytes that are still its arguments', and `bytes` of its closing markup.
    pub(super) fn close(&mut self, before: usize, bytes: usize, sink: &mut dyn Sink) {
        let rest = match (self.whole, self.first) {
            (true, _) => "",
            (false, true) => "{}",
            (false, false) => "}",
        };
        sink.arguments(rest, before);
        sink.finish(bytes, true);
    }
}

/// Why a call isn't complete whose value holds an open code fence, and a call in it: it may be another one.
pub(super) const SHOWN: &str = "what opens a call stands in a code fence that nothing closes";

/// Why a call isn't complete whose value may quote one, or that may stand in such a value.
pub(super) const NESTED: &str = "what opens and closes a call and its values doesn't balance: a value may quote a call";

/// How many bytes of markup end a value whose call lacks a closer: it may be that another call's stands in it.
pub(super) const fn guessed(ended: Verdict, verdict: Verdict) -> Option<usize> {
    match (ended, verdict) {
        (Verdict::Unclosed(bytes), _) | (Verdict::End(bytes), Verdict::Calls { .. }) => Some(bytes),
        _ => None,
    }
}

/// Whether the head of a call, an element's inside or a bare name, names a tool there is.
pub(super) fn calls(head: &[u8], element: bool, sink: &dyn Sink) -> bool {
    let Ok(head) = std::str::from_utf8(head) else { return false };
    let name = if element { name_in(head, ["name", "tool"]) } else { name_in(head, []) };
    name.is_some_and(|name| sink.knows(name))
}

/// The name in an opening element, behind `=`, as one of these attributes, or bare.
fn name_in<'a, const N: usize>(head: &'a str, attributes: [&str; N]) -> Option<&'a str> {
    let head = head.strip_suffix('/').unwrap_or(head);
    let name = match head.strip_prefix('=') {
        Some(name) => name.split_whitespace().next()?.trim_matches(['"', '\'']),
        None if head.contains('=') => find_attributes(head, attributes).0.into_iter().flatten().next()?,
        None => head,
    };
    let name = name.trim();
    let odd = |c: char| c.is_whitespace() || "<>{}\"'=".contains(c);
    (!name.is_empty() && !name.contains(odd)).then_some(name)
}

/// What is said of a call that what stands around it ends.
pub(super) const OPEN_CALL: &str = "a call without its closing element";
/// What is said of a call whose arguments stand behind its closer.
pub(super) const EARLY: &str = "a closer before the arguments";
/// What is said of a call that another one follows before it was closed.
pub(super) const FOLLOWED: &str = "a call without its closer; another one follows";

/// An object that holds all the arguments of a call: finds its end, and says it if it is JSON.
#[derive(Debug, Default, Clone)]
pub(super) struct Balanced {
    held: Vec<u8>,
    /// It was longer than what may be held, and goes nowhere.
    lost: bool,
    depth: usize,
    string: bool,
    escaped: bool,
}

impl Balanced {
    /// Takes what it can: how many bytes, and whether the object is over.
    pub(super) fn step(&mut self, input: &[u8], sink: &mut dyn Sink) -> (usize, Result<bool, Step>) {
        let (bytes, ended) = self.take(input);
        sink.arguments("", bytes);
        if !ended {
            if !sink.hears() && self.held.len() > MAX_MUTE {
                self.held = Vec::new();
                self.lost = true;
            }
            return (bytes, Ok(false));
        }
        if self.lost {
            // Only what nobody hears is ever too long to be held.
            return (bytes, Ok(true));
        }
        let text = String::from_utf8_lossy(&self.held);
        // Once for its depth, once for what it is, and once more if it has to be mended.
        sink.looked(2 * text.len());
        if depth_of(&text) > sink.max_depth() {
            sink.spoiled(TOO_DEEP);
            sink.arguments("{}", 0);
            return (bytes, Ok(true));
        }
        if is_json(&text) {
            sink.arguments(&text, 0);
        } else if let (true, Some(mended)) = (sink.repairs(), mend(&text)) {
            sink.looked(text.len());
            sink.arguments(&mended, 0);
            sink.repaired("arguments that were almost JSON");
        } else {
            return (bytes, Err(Step::Failed("the arguments aren't JSON")));
        }
        (bytes, Ok(true))
    }

    /// How many bytes are the object's, and whether the last of them ends it.
    fn take(&mut self, input: &[u8]) -> (usize, bool) {
        for (at, byte) in input.iter().enumerate() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.string => self.escaped = true,
                b'"' => self.string = !self.string,
                b'{' | b'[' if !self.string => self.depth += 1,
                b'}' | b']' if !self.string => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        self.hold(input.get(..=at).unwrap_or_default());
                        return (at + 1, true);
                    }
                }
                _ => {}
            }
        }
        self.hold(input);
        (input.len(), false)
    }

    fn hold(&mut self, bytes: &[u8]) {
        if !self.lost {
            self.held.extend_from_slice(bytes);
        }
    }
}
