//! The members of a call's arguments, written as JSON one after another while their raw values are being read.
//! Promises: a parameter given twice keeps its first value, since nothing said is taken back; names are escaped, never trusted.

use std::collections::BTreeSet;

use super::{
    arguments::TOO_DEEP,
    body::{Sink, Step},
    signature::{Kind, Signature},
    tags::find_attributes,
    until::{Marks, Rule, Until, Verdict, WORDS},
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Typing {
    /// The tool's schema.
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
    /// The text ended inside the value, and so did the call.
    Cut,
    /// The value can't be.
    Failed(Step),
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
            Typing::Literal => self.value.begin(Forms::LITERAL, &before, bytes, sink),
            Typing::Json => self.value.begin_json(&before, bytes, sink),
        }
        self.scratch = before;
    }

    /// Whether a parameter of this name, as it stands in its element, is declared and wasn't given yet.
    fn awaits(&self, name: &[u8]) -> bool {
        let name = name.strip_prefix(b"=").unwrap_or(name);
        let Ok(name) = std::str::from_utf8(name) else { return false };
        let name = name.trim();
        !self.keys.contains(name)
            && self.signature.as_ref().is_some_and(|signature| signature.parameters.contains_key(name))
    }

    /// Takes what it can of the value at the front of `input`.
    pub(super) fn advance(&mut self, marks: &Marks, rule: Rule, input: &[u8], last: bool, sink: &mut dyn Sink) -> Flow {
        let (data, verdict) = loop {
            let (data, verdict) = self.until.step(marks, rule, input, last);
            let part = |from: usize, to: usize| input.get(data + from..data + to).unwrap_or_default();
            match verdict {
                Verdict::Opens { from, to } if self.awaits(part(from, to)) => {
                    let rest = input.get(data..).unwrap_or_default();
                    let newline = if rest.starts_with(b"\r\n") { 2 } else { usize::from(rest.starts_with(b"\n")) };
                    break (data, Verdict::Unclosed(newline));
                }
                Verdict::Calls { from, to, element, bytes } if calls(part(from, to), element, sink) => {
                    break (data, if bytes > 0 { Verdict::End(bytes) } else { Verdict::Broken(0) });
                }
                Verdict::Opens { .. } | Verdict::Calls { .. } => {}
                _ => break (data, verdict),
            }
            self.until.deny(marks);
        };
        let more = !self.until.held() && matches!(verdict, Verdict::More | Verdict::Cut | Verdict::Broken(_));
        let own = input.get(..data).unwrap_or_default();
        let took = if own.is_empty() { 0 } else { self.value.push(own, more, sink) };
        match verdict {
            Verdict::More => Flow::More,
            Verdict::End(bytes) => {
                if let Err(step) = self.end(bytes, sink) {
                    return Flow::Failed(step);
                }
                Flow::Ended(data + bytes)
            }
            Verdict::Unclosed(bytes) => {
                if let Err(step) = self.end(bytes, sink) {
                    return Flow::Failed(step);
                }
                sink.repaired("a parameter without its closing element");
                Flow::Ended(data + bytes)
            }
            Verdict::Broken(_) => {
                sink.arguments("", data - took);
                Flow::Failed(Step::Failed(WORDS))
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

/// Whether the head of a call, an element's inside or a bare name, names a tool there is.
fn calls(head: &[u8], element: bool, sink: &dyn Sink) -> bool {
    let Ok(head) = std::str::from_utf8(head) else { return false };
    let name = match head.strip_prefix('=') {
        _ if !element => head,
        Some(name) => name.trim().trim_matches(['"', '\'']),
        None => find_attributes(head.strip_suffix('/').unwrap_or(head), ["name"]).0[0].unwrap_or_default(),
    };
    let name = name.trim();
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || "<>{}\"'=".contains(c)) && sink.knows(name)
}

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
            return (bytes, Err(Step::Failed(TOO_DEEP)));
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
