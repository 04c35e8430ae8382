//! The parser's side of a body: decides what becomes of each call (a call, text, or over a limit) and writes its
//! events, so that every byte that a body takes has one owner. What is known of the calls so far is in `calls`;
//! `dry_run` goes the same way and writes nothing.

mod calls;
mod dry_run;

use super::{
    balance::Balance,
    body::Sink,
    call::{Call, Source},
    dialect::Dialect,
    event::{Dropped, Events, ProblemKind, Span},
    members::NESTED,
    merged::{QUOTES, two_calls},
    parser::{FREE, VAIN},
    policy::{Policy, UnknownTool},
    region::{broke, broke_off},
    signature::{Kind, Signature, Signatures, resolved},
    strays::uneven,
    types::Types,
    until::{CLOSED_AGAIN, Class, Marks},
    utf8::Utf8,
    writer::{Writer, dropped, problem},
};

pub(super) use calls::{Calls, Mode, REMAINS};
use calls::{Checks, Drop, TOO_LARGE};
pub(super) use dry_run::DryRun;
use loopwright_base::text::head;

const SWALLOWED: &str = "a string without its end swallowed what closes the call, and the next call";

/// One step of a body: where its bytes stand and where its events go.
pub(super) struct Desk<'a> {
    pub(super) calls: &'a mut Calls,
    pub(super) tools: Option<&'a Signatures>,
    pub(super) policy: &'a Policy,
    pub(super) writer: &'a mut Writer,
    pub(super) out: &'a mut Events,
    pub(super) dialect: &'static Dialect,
    /// The input from the region's first byte while it is pending, from the first byte not taken afterwards.
    pub(super) whole: &'a [u8],
    /// Where `whole` stands.
    pub(super) base: usize,
    /// How much of `whole` the body is shown, and whether nothing follows on `whole`.
    pub(super) shown: (usize, bool),
    /// How much of `whole` is taken.
    pub(super) used: usize,
    /// From where on the taken bytes are text that isn't written yet.
    pub(super) text_from: usize,
    /// How many bytes were looked at in vain.
    pub(super) spent: &'a mut usize,
}

impl Desk<'_> {
    /// Writes the text that the body took.
    pub(super) fn write_text(&mut self, to: usize) {
        if self.calls.mode == Mode::Text
            && let Some(text) = self.whole.get(self.text_from..to)
        {
            self.writer.text(self.calls.voice, text, self.base + self.text_from, self.out);
            self.text_from = to;
        }
    }

    /// What was before a call that begins at `from` is settled; gives where the call's own bytes begin.
    fn leave(&mut self, from: usize) -> usize {
        match self.calls.mode {
            Mode::Pending => 0,
            Mode::Text => {
                self.write_text(from);
                from
            }
            Mode::Live | Mode::Between | Mode::Dropping => {
                let at = self.base + from;
                let end = if self.calls.finished.is_some() { self.calls.finished_end.min(at) } else { at };
                self.calls.close(end, self.writer, self.out);
                self.writer.markup(Span { start: end, end: at }, self.out);
                from
            }
        }
    }

    fn live_markup(&mut self, start: usize, bytes: usize) {
        let end = self.base + self.used;
        self.writer.markup(Span { start, end }, self.out);
        self.calls.checks.utf8.read(self.whole.get(self.used - bytes..self.used).unwrap_or_default());
        self.calls.mark = end;
    }

    fn is_bare(&self) -> bool {
        self.calls.source == Some(Source::Bare) || self.dialect.bare
    }
}

impl Sink for Desk<'_> {
    fn markup(&mut self, bytes: usize) {
        let start = self.base + self.used;
        self.used += bytes;
        match self.calls.mode {
            Mode::Live => self.live_markup(start, bytes),
            Mode::Between if self.calls.finished.is_none() => {
                self.writer.markup(Span { start, end: self.base + self.used }, self.out);
            }
            _ => {}
        }
    }

    fn start(&mut self, name: &str, id: Option<&str>, bytes: usize) -> Option<&Signature> {
        if self.calls.open.is_some() {
            self.finish(0, false);
        }
        let from = self.used;
        self.used += bytes;
        if self.calls.flushing || self.base + from < self.calls.dropped_to {
            // It was dropped with the call over the limit before it.
            return None;
        }
        let end = self.base + self.used;
        let name = resolved(self.tools, name);
        let declared = self.tools.and_then(|tools| tools.get(name));
        let unknown = declared.is_none() && (self.tools.is_some() || self.calls.source == Some(Source::Bare));
        if unknown && (self.policy.unknown_tools == UnknownTool::Text || self.is_bare()) {
            let mut start = self.leave(from);
            if self.calls.consumed > self.calls.before {
                // What parts it from the call before is that one's markup.
                let own = self.whole.get(start..self.used).unwrap_or_default();
                let parts = |byte: &&u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b';');
                let between = own.iter().take_while(parts).count();
                let at = self.base + start;
                self.writer.markup(Span { start: at, end: at + between }, self.out);
                start += between;
            }
            let message = format!("no tool {name:?} was declared; the call stays text");
            let span = Span { start: self.base + start, end };
            self.writer.problem(problem(ProblemKind::UnknownTool, message, span), self.out);
            self.calls.mode = Mode::Text;
            self.text_from = start;
            return None;
        }
        self.calls.consumed += 1;
        if self.calls.count >= self.policy.max_calls {
            if self.calls.drop.as_ref().is_none_or(|drop| drop.kind == ProblemKind::Malformed) {
                let start = self.leave(from);
                let drop = Drop { from: self.base + start, kind: ProblemKind::TooManyCalls, call: None };
                self.calls.drop = Some(drop);
                self.calls.mode = Mode::Dropping;
            }
            return None;
        }
        let pending = self.calls.mode == Mode::Pending;
        let mut start = self.base + self.leave(from);
        if pending {
            let strays = std::mem::take(&mut self.calls.dropped);
            let opener = strays.first().map_or(self.calls.opener, |(span, _)| span.start);
            self.writer.markup(Span { start, end: opener }, self.out);
            start = opener;
            for (span, why) in strays {
                start = span.end;
                self.writer.problem(dropped(broke(why), why.to_owned(), span, None, Dropped::Malformed), self.out);
            }
        }
        let index = self.calls.count;
        let source = self.calls.source.unwrap_or(Source::Tagged);
        self.calls.count += 1;
        self.calls.open = Some(Box::new(Call {
            index,
            name: name.to_owned(),
            arguments: String::new(),
            id: id.map(str::to_owned),
            dialect: self.dialect.name,
            source,
            span: Span { start, end },
            repaired: false,
            complete: false,
        }));
        self.calls.mode = Mode::Live;
        self.calls.mark = end;
        self.calls.full = false;
        self.calls.spoiled = false;
        let types = declared.is_some_and(|tool| !tool.parameters.is_empty() || tool.others.is_some());
        self.calls.checks = Checks { utf8: Utf8::default(), types: types.then(|| Box::new(Types::new())) };
        self.calls.checks.utf8.read(self.whole.get(from..self.used).unwrap_or_default());
        self.calls.arguments_from = end;
        if self.calls.strays.unclosed {
            self.calls.doubt(start, self.writer, self.out);
        }
        if start < self.calls.unsound {
            self.spoiled(NESTED);
        }
        self.writer.started(index, name, self.dialect.name, source, Span { start, end }, self.out);
        declared
    }

    fn arguments(&mut self, json: &str, bytes: usize) {
        let start = self.base + self.used;
        self.used += bytes;
        if self.calls.mode == Mode::Live
            && let Some(call) = &mut self.calls.open
        {
            let end = self.base + self.used;
            let own = self.whole.get(self.used - bytes..self.used).unwrap_or_default();
            let in_place = own.len() == json.len() && std::ptr::eq(own.as_ptr(), json.as_ptr());
            let mut json = json;
            if let Some(types) = &mut self.calls.checks.types
                && let Some(tool) = self.tools.and_then(|tools| tools.get(&call.name))
            {
                json = types.push(json, tool);
            }
            let most = if self.calls.full { 0 } else { self.policy.max_argument_bytes };
            let room = most.saturating_sub(call.arguments.len());
            if json.len() > room {
                // JSON can be longer than what it was written as: what is over is left out, the bytes stay the call's.
                self.calls.full = true;
                json = head(json, room);
            }
            if in_place {
                self.calls.checks.utf8.sound();
            } else {
                self.calls.checks.utf8.read(own);
            }
            call.arguments.push_str(json);
            self.writer.arguments(call.index, json, Span { start, end }, self.out);
            self.calls.mark = end;
        }
    }

    fn repaired(&mut self, how: &'static str) {
        let policy = self.policy;
        self.calls.mended(false, how, policy);
    }

    fn repaired_behind(&mut self, how: &'static str) {
        let policy = self.policy;
        self.calls.mended(true, how, policy);
    }

    fn spoiled_behind(&mut self, why: &'static str) {
        if let Some(call) = &mut self.calls.finished {
            call.complete = false;
            let index = call.index;
            self.calls.note(broke(why), why.to_owned(), index);
        }
    }

    fn spoiled(&mut self, why: &'static str) {
        if let Some(index) = self.calls.open.as_ref().map(|call| call.index) {
            self.calls.spoiled = true;
            self.calls.note(broke(why), why.to_owned(), index);
        }
    }

    fn torn(&mut self) {
        self.calls.torn = true;
    }

    fn wrong_type(&mut self, _parameter: &str, _declared: &Kind) {}

    fn finish(&mut self, bytes: usize, complete: bool) {
        if self.calls.mode == Mode::Live && !complete && bytes > 0 {
            // How much of it the grammar has spoken for already depends on the cut.
            self.arguments("", bytes);
        } else {
            self.used += bytes;
            self.calls.checks.utf8.read(self.whole.get(self.used - bytes..self.used).unwrap_or_default());
        }
        if self.calls.mode == Mode::Text && self.calls.consumed > self.calls.before {
            // Its region isn't text: other calls of it were.
            self.write_text(self.used);
            self.calls.mode = Mode::Between;
            return;
        }
        if self.calls.mode != Mode::Live {
            return;
        }
        self.calls.judge_types(self.policy);
        if let Some(mut call) = self.calls.open.take() {
            let full = std::mem::take(&mut self.calls.full);
            let two = || {
                let notes = &self.calls.notes;
                let quotes = notes.iter().any(|note| QUOTES.contains(&note.message.as_str()));
                two_calls(&call.arguments, quotes, self.dialect, self.tools)
            };
            if complete && call.repaired && two() {
                self.looked(call.arguments.len());
                self.calls.spoiled = true;
                self.calls.note(ProblemKind::Malformed, SWALLOWED.to_owned(), call.index);
            }
            let notes = &self.calls.notes;
            if notes.iter().any(|note| note.message.starts_with(CLOSED_AGAIN))
                && uneven(self.dialect.name, &call.arguments)
            {
                // One of the two closes what the value opened.
                self.looked(call.arguments.len());
                self.calls.spoiled = true;
                self.calls.note(ProblemKind::Malformed, NESTED.to_owned(), call.index);
            }
            call.complete = complete && !full && !self.calls.spoiled;
            self.calls.judge_bytes(&mut call, complete);
            call.complete &= self.policy.repair || !call.repaired;
            if full {
                self.calls.note(ProblemKind::ArgumentsTooLarge, TOO_LARGE.to_owned(), call.index);
            } else if !complete && !self.calls.flushing {
                self.calls.note(ProblemKind::Incomplete, "the call has no end".to_owned(), call.index);
            }
            self.calls.finished = Some(call);
            self.calls.finished_end = self.base + self.used;
            self.calls.mode = Mode::Between;
        }
    }

    fn broken(&mut self, bytes: usize, why: &'static str) {
        if self.calls.mode != Mode::Live {
            return self.finish(bytes, false);
        }
        if bytes > 0 {
            self.arguments("", bytes);
        }
        self.calls.judge_types(self.policy);
        if let Some(mut call) = self.calls.open.take() {
            self.calls.full = false;
            self.calls.judge_bytes(&mut call, false);
            self.calls.note(broke(why), broke_off(why), call.index);
            self.calls.finished = Some(call);
            self.calls.finished_end = self.base + self.used;
            self.calls.mode = Mode::Between;
        }
    }

    fn dropped(&mut self, bytes: usize, why: &'static str) {
        let from = self.used;
        self.used += bytes;
        if self.calls.mode == Mode::Text {
            self.write_text(from);
            self.text_from = self.used;
            let span = Span { start: self.base + from, end: self.base + self.used };
            self.writer.problem(dropped(broke(why), why.to_owned(), span, None, Dropped::Malformed), self.out);
        } else if self.calls.mode == Mode::Pending {
            let end = self.base + self.used;
            match self.calls.dropped.last_mut() {
                // One after the other: told of as one.
                Some((last, reason)) if *reason == why => last.end = end,
                last => {
                    let start = last.map_or(self.base + from, |(last, _)| last.end);
                    self.calls.dropped.push((Span { start, end }, why));
                }
            }
        } else if self.calls.mode == Mode::Between {
            let start = self.base + self.leave(from);
            let index = self.calls.count.checked_sub(1);
            let span = Span { start, end: self.base + self.used };
            self.writer.problem(dropped(broke(why), why.to_owned(), span, index, Dropped::Malformed), self.out);
        }
    }

    fn dropping(&mut self) {
        if self.calls.mode == Mode::Between {
            let from = self.base + self.leave(self.used);
            let call = self.calls.count.checked_sub(1);
            self.calls.drop = Some(Drop { from, kind: ProblemKind::Malformed, call });
            self.calls.mode = Mode::Dropping;
        }
    }

    fn looked(&mut self, bytes: usize) {
        self.calls.looked += bytes as u64;
    }

    fn vain(&mut self, bytes: usize) {
        *self.spent = self.spent.saturating_add(bytes);
    }

    fn may_look(&self) -> bool {
        *self.spent <= (self.base + self.used) / VAIN + FREE
    }

    fn room(&self) -> usize {
        // Once a call began the parser itself counts what goes into it, and cuts at the same byte however the input was
        // cut.
        if self.calls.mode == Mode::Pending { self.policy.max_argument_bytes } else { usize::MAX }
    }

    fn hears(&self) -> bool {
        matches!(self.calls.mode, Mode::Pending | Mode::Live)
    }

    fn declares(&self, tool: &str, parameter: &str) -> bool {
        let declared = self.tools.and_then(|tools| tools.get(resolved(self.tools, tool)));
        declared.is_some_and(|signature| signature.parameters.contains_key(parameter))
    }

    fn knows(&self, tool: &str) -> bool {
        self.tools.is_none_or(|tools| tools.get(resolved(self.tools, tool)).is_some())
    }

    fn balances(&mut self, marks: &Marks, opens: Class, behind: usize) -> Option<bool> {
        let (shown, last) = self.shown;
        let from = self.base + shown.saturating_sub(behind);
        let most = self.policy.max_argument_bytes;
        let name = self.dialect.name;
        let place = self.calls.balances.iter().position(|balance| balance.dialect == name);
        if place.is_none() {
            self.calls.balances.push(Balance::new(name));
        }
        let balance = match place {
            Some(place) => self.calls.balances.get_mut(place),
            None => self.calls.balances.last_mut(),
        }?;
        let looked = balance.at();
        let found = balance.step((marks, opens), (self.whole, self.base), from, most, last);
        self.calls.looked += balance.at().saturating_sub(looked.max(from)) as u64;
        self.calls.weighs = found.is_none().then_some(from);
        if found == Some(false) {
            self.calls.unsound = self.calls.unsound.max(balance.at());
        }
        found
    }

    fn max_depth(&self) -> usize {
        self.policy.max_depth
    }

    fn repairs(&self) -> bool {
        self.policy.repair && self.calls.source != Some(Source::Bare)
    }
}
