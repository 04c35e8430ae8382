//! What stands inside an element: nothing, text of a declared or guessed type, or elements of an object or an array.
//! The schema says which, and where it says nothing the first bytes do.

use std::collections::BTreeSet;

use super::{
    super::{
        body::Sink,
        members::{NESTED, Next, SHOWN, calls, guessed},
        signature::Kind,
        until::{
            Bound, CALL_END, CDATA, CLOSER, END, Marks, NEXT, OPEN, Rule, SURE, Seen, UNCLOSED, Until, Verdict, WORDS,
        },
        value::Forms,
    },
    Frame, ITEM, NestedBody, State, is_call,
};

impl NestedBody {
    /// A value without text.
    pub(super) fn empty(&mut self, bytes: usize, sink: &mut dyn Sink) {
        let nothing = match self.kind {
            Kind::Array(_) => "[]",
            Kind::Object(_) => "{}",
            _ => {
                self.begin(Forms::of(&self.kind), sink);
                // Nothing is no JSON: this can't fail.
                let _ = self.value.end(bytes, &self.name, Some(&self.kind), sink);
                return;
            }
        };
        self.lead.push_str(nothing);
        self.say(&self.lead, bytes, sink);
    }

    pub(super) fn begin(&mut self, forms: Forms, sink: &mut dyn Sink) {
        if self.muted.is_some() {
            self.value.begin_ignored(0, sink);
        } else {
            self.value.begin(forms, &self.lead, 0, sink);
        }
    }

    pub(super) fn content(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        let (start, inside) = match self.look(input) {
            Seen::Mark { start, end, .. } => (start, end),
            Seen::Other(at) => return self.scalar(input.get(at).copied(), sink),
            Seen::Space => return self.scalar(None, sink),
            Seen::Nothing | Seen::Part(_) => return self.wait(input, last, sink),
        };
        if input.get(inside) == Some(&b'/') {
            if matches!(self.kind, Kind::Array(_) | Kind::Object(_)) {
                // The same whether the end belongs to this element or, by mistake, to another.
                let (closing, seen) = &mut self.closing;
                if closing.is_empty() {
                    closing.extend([self.prefix, "</", &self.name, ">"]);
                    *seen = 0;
                }
                let rest = input.get(start..).unwrap_or_default();
                let rest = rest.get(..closing.len()).unwrap_or(rest);
                let same = rest.get(*seen..) == closing.as_bytes().get(*seen..rest.len());
                *seen = rest.len();
                if same && rest.len() < closing.len() && !last {
                    return Next::Wait;
                }
                if same && rest.len() == closing.len() {
                    let bytes = start + closing.len();
                    self.empty(bytes, sink);
                    self.leave();
                    self.go(State::Inside);
                    return Next::Took(bytes);
                }
            }
            return self.scalar(None, sink);
        }
        // The first element inside tells arrays from objects.
        let (tag, _) = match self.tag(input, inside) {
            Ok(Some(found)) => found,
            Ok(None) => return self.wait(input, last, sink),
            Err(()) => return self.broken("an element's opening has no end", sink),
        };
        // Here, and where the element is opened.
        sink.looked(3 * tag.len());
        let tag = String::from_utf8_lossy(tag);
        if matches!(self.kind, Kind::String) || is_call(&tag) || self.is_around(&tag) {
            // A value that begins with a call quotes it, and text may begin with any element.
            return self.scalar(None, sink);
        }
        let child = tag.split([' ', '\t', '\n', '\r', '/']).next().unwrap_or_default();
        self.container(child, sink);
        sink.arguments("", start);
        self.go(State::Inside);
        Next::Took(start)
    }

    /// Whether this element opens what stands around calls.
    fn is_around(&self, tag: &str) -> bool {
        let named = |closer: &&'static str| closer.strip_prefix(self.prefix)?.strip_prefix("</")?.strip_suffix('>');
        self.closers.iter().filter_map(named).any(|name| name == tag)
    }

    /// The element at hand holds elements, of which `child` is the first.
    pub(super) fn container(&mut self, child: &str, sink: &mut dyn Sink) {
        let name = self.name.clone();
        let (mut items, mut signature) = (None, None);
        match std::mem::replace(&mut self.kind, Kind::Any) {
            Kind::Array(kind) => items = Some(*kind),
            Kind::Object(declared) => signature = Some(declared),
            Kind::OneOf(kinds) => {
                for kind in kinds {
                    match kind {
                        Kind::Array(kind) if items.is_none() => items = Some(*kind),
                        Kind::Object(declared) if signature.is_none() => signature = Some(declared),
                        _ => {}
                    }
                }
                if items.is_some() && signature.is_some() {
                    if child == ITEM {
                        signature = None;
                    } else {
                        items = None;
                    }
                }
            }
            Kind::Any => {}
            kind => {
                if self.muted.is_none() {
                    sink.wrong_type(&name, &kind);
                }
            }
        }
        if items.is_none() && signature.is_none() && child == ITEM {
            items = Some(Kind::Any);
        }
        let mut lead = std::mem::take(&mut self.lead);
        match items {
            Some(Kind::Object(declared)) if child != ITEM && declared.kind(child).is_some() && self.may_repeat() => {
                lead.push_str("[{");
                self.frames.push(Frame::Repeated { name: name.clone(), items: Kind::Object(declared.clone()) });
                self.frames.push(Frame::Object { name, signature: Some(declared), first: true, keys: BTreeSet::new() });
            }
            Some(items) => {
                lead.push('[');
                self.frames.push(Frame::Array { name, items, first: true });
            }
            None => {
                lead.push('{');
                self.frames.push(Frame::Object { name, signature, first: true, keys: BTreeSet::new() });
            }
        }
        self.say(&lead, 0, sink);
        self.lead = lead;
    }

    /// Whether the element at hand is a member that may come again.
    pub(super) fn may_repeat(&self) -> bool {
        self.muted.is_none() && matches!(self.frames.last(), Some(Frame::Object { .. }))
    }

    /// The element at hand holds text, whose first byte that isn't white space is `first`.
    pub(super) fn scalar(&mut self, first: Option<u8>, sink: &mut dyn Sink) -> Next {
        if let Kind::Array(items) = &self.kind
            && first.is_some_and(|first| first != b'[')
            && self.may_repeat()
        {
            let items = (**items).clone();
            self.kind = items.clone();
            self.lead.push('[');
            self.frames.push(Frame::Repeated { name: self.name.clone(), items });
        }
        self.begin(Forms::of(&self.kind), sink);
        self.ends = Marks::default();
        self.ends.add(END, Bound::Nothing, &[self.prefix, "</", &self.name, ">"]);
        self.ends.add(CDATA, Bound::Nothing, &[self.prefix, "<", &self.name, ">"]);
        // Whatever follows the end of an element has the prefix.
        self.ends.add(OPEN, Bound::Nothing, &[self.prefix, "<"]);
        self.ends.add(CALL_END, Bound::Nothing, &[self.prefix, "</invoke>"]);
        self.ends.add(NEXT, Bound::Space, &[self.prefix, "<invoke"]);
        for closer in &self.closers {
            self.ends.add(CLOSER, Bound::Nothing, &[closer]);
        }
        self.unclosed();
        self.until = Until::default();
        self.go(State::Text);
        Next::Took(0)
    }

    /// What shows that the closing of the element at hand is missing: that of what it stands in, or the opening of what
    /// may follow.
    fn unclosed(&mut self) {
        let Self { ends, frames, prefix, name, .. } = self;
        for frame in frames.iter().skip(1).rev().take(8) {
            if let Frame::Object { name: open, .. } | Frame::Array { name: open, .. } = frame
                && open != name
            {
                ends.add(SURE, Bound::Nothing, &[prefix, "</", open, ">"]);
            }
        }
        let last = frames.iter().rev().find(|frame| !matches!(frame, Frame::Repeated { .. }));
        match last {
            Some(Frame::Object { signature: Some(signature), keys, .. }) => {
                for key in signature.parameters.keys().filter(|key| !keys.contains(*key)).take(32) {
                    ends.add(SURE, Bound::Nothing, &[prefix, "<", key, ">"]);
                }
            }
            Some(Frame::Array { .. }) => ends.add(SURE, Bound::Nothing, &[prefix, "<", name, ">"]),
            _ => {}
        }
        if let Some(Frame::Repeated { name, .. }) = frames.last() {
            ends.add(SURE, Bound::Nothing, &[prefix, "<", name, ">"]);
        }
    }

    pub(super) fn text(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        let first = self.prefix.bytes().next().unwrap_or(b'<');
        let ends = END | CALL_END | CLOSER | NEXT | SURE;
        let rule = Rule {
            first,
            ends,
            newline: false,
            lines: 0,
            sure: self.value.is_scalar(),
            alone: true,
            bare: false,
            head: ">",
            opens: false,
            named: !self.name.is_empty(),
        };
        let (data, verdict) = loop {
            let (data, verdict) = match self.weighs.take() {
                Some(weighed) => weighed,
                None => self.until.step(&self.ends, rule, input, last),
            };
            let ended = match verdict {
                Verdict::Calls { from, to, closed, bytes, .. }
                    if calls(input.get(data + from..data + to).unwrap_or_default(), true, sink) =>
                {
                    if closed {
                        Verdict::End(bytes)
                    } else {
                        Verdict::Unclosed(bytes)
                    }
                }
                Verdict::Calls { .. } => {
                    self.until.deny(&self.ends);
                    continue;
                }
                _ => verdict,
            };
            if let Some(bytes) = guessed(ended, verdict).filter(|_| !self.until.torn()) {
                match sink.balances(&self.ends, rule.value(), input.len() - data - bytes) {
                    None => {
                        self.weighs = Some((data, verdict));
                        return Next::Wait;
                    }
                    Some(false) => {
                        self.until.stray(&self.ends);
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
            Verdict::More => Next::Wait,
            Verdict::End(bytes) | Verdict::Unclosed(bytes) => {
                if let Err(step) = self.value.end(bytes, &self.name, Some(&self.kind), sink) {
                    return self.stop(step);
                }
                match verdict {
                    Verdict::Unclosed(_) if self.until.doubts() => sink.spoiled(WORDS),
                    Verdict::Unclosed(_) => sink.repaired(UNCLOSED),
                    _ if self.until.shows() => sink.spoiled(SHOWN),
                    _ if self.until.strays() => sink.spoiled(NESTED),
                    _ => {}
                }
                self.leave();
                self.go(State::Inside);
                Next::Took(data + bytes)
            }
            _ => {
                sink.finish(input.len() - took, false);
                self.state = State::Over;
                Next::Took(input.len())
            }
        }
    }
}
