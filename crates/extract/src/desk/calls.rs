//! The calls of one text while it is read: the one that is open, the one that waits for its closer, what was noted of
//! them, and what is dropped.

use super::super::{
    balance::Balance,
    call::{Call, Source},
    dialect::{Dialect, dialect_named},
    event::{Dropped, Events, Problem, ProblemKind, Span},
    policy::Policy,
    strays::{Strays, uneven},
    types::{Finding, Types},
    until::UNCLOSED,
    utf8::Utf8,
    writer::{Voice, Writer, dropped},
};

/// What becomes of the bytes that the body takes now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mode {
    /// No call began yet: they are held, and may all become text.
    #[default]
    Pending,
    /// They are a call's.
    Live,
    /// A call ended and none began.
    Between,
    /// They are text: the tool isn't known.
    Text,
    /// They belong to nobody.
    Dropping,
}

#[derive(Debug)]
pub(super) struct Drop {
    pub(super) from: usize,
    pub(super) kind: ProblemKind,
    pub(super) call: Option<usize>,
}

/// What is looked for in the bytes and the arguments of a call.
#[derive(Debug, Default)]
pub(super) struct Checks {
    /// Whether its bytes are UTF-8.
    pub(super) utf8: Utf8,
    /// Whether its arguments are what its tool declares, if it declares anything.
    pub(super) types: Option<Box<Types>>,
}

/// The calls of one text, and the one that is open.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// How many began.
    pub(crate) count: usize,
    /// How many began or were dropped over a limit: anything but text.
    pub(crate) consumed: usize,
    /// How many of those before the region.
    pub(super) before: usize,
    pub(crate) mode: Mode,
    pub(crate) source: Option<Source>,
    pub(crate) voice: Voice,
    /// Where the opener of the region's call stands.
    pub(crate) opener: usize,
    /// Where the open call's arguments begin.
    pub(crate) arguments_from: usize,
    pub(super) open: Option<Box<Call>>,
    pub(super) finished: Option<Box<Call>>,
    /// Whether the call that was said last had to be mended.
    pub(crate) mended_last: bool,
    /// Where the finished call's own bytes end.
    pub(super) finished_end: usize,
    /// The first byte that belongs to no event yet.
    pub(super) mark: usize,
    pub(super) notes: Vec<Problem>,
    pub(super) drop: Option<Drop>,
    /// What stands before the region's first call and is none: up to where, and why. Of no interest if no call comes.
    pub(super) dropped: Vec<(Span, &'static str)>,
    /// The open call is broken, though its grammar reads on.
    pub(super) spoiled: bool,
    /// The open call's arguments are as long as they may be.
    pub(super) full: bool,
    /// What is looked for in the open call while it is read.
    pub(super) checks: Checks,
    /// The open call is over the limit, and its body is asked for all that it held of it.
    pub(crate) flushing: bool,
    /// Up to here the last call over the limit reaches, and what is dropped begins.
    pub(crate) dropped_to: usize,
    /// Another call ended a value, whose rest may follow.
    pub(crate) torn: bool,
    /// What was seen of the values that are closed behind a call without its closers, in each dialect that wrote one.
    pub(super) balances: Vec<Balance>,
    /// Up to here calls may stand in a value of another one, and none is complete.
    pub(crate) unsound: usize,
    pub(crate) strays: Strays,
    /// Where a value may have ended, if more of the text decides that: nothing is taken before.
    pub(crate) weighs: Option<usize>,
    /// How many bytes grammars looked at more than once.
    pub(crate) looked: u64,
}

const NO_UTF8: &str = "bytes of the call are no UTF-8; U+FFFD stands in their place";
pub(super) const TOO_LARGE: &str = "arguments over max_argument_bytes; the rest of the call was dropped";

pub(crate) const REMAINS: &str = "the remains of a broken call were dropped";

/// The most problems told of one call.
const MOST_NOTES: usize = 64;

impl Calls {
    /// A region begins, its call's opener at `opener`.
    pub(crate) fn region(&mut self, opener: usize, source: Source, voice: Voice) {
        self.mode = Mode::Pending;
        self.dropped.clear();
        self.before = self.consumed;
        self.opener = opener;
        self.source = Some(source);
        self.voice = voice;
    }

    /// The finished call, if one waits for its closer, ends at `end`.
    pub(crate) fn close(&mut self, end: usize, writer: &mut Writer, out: &mut Events) {
        if let Some(mut call) = self.finished.take() {
            call.span.end = end;
            self.mended_last = call.repaired;
            let unclosed = self.notes.iter().any(|note| note.message.starts_with(UNCLOSED));
            let uneven = uneven(call.dialect, &call.arguments);
            let malformed = self.notes.iter().any(|note| note.kind == ProblemKind::Malformed);
            for mut note in self.notes.drain(..) {
                note.span = call.span;
                writer.problem(note, out);
            }
            self.strays.called(call.dialect, call.index, call.complete, call.repaired);
            self.strays.unclosed |= unclosed || uneven;
            let damaged = !call.complete && malformed;
            let broken = damaged && dialect_named(call.dialect).is_some_and(Dialect::is_raw);
            self.strays.damaged = damaged && !broken;
            writer.finished(call, Span { start: self.mark, end }, out);
            self.mark = end;
            if broken {
                self.doubt(end, writer, out);
            }
        }
        if let Some(drop) = self.drop.take() {
            let span = Span { start: drop.from, end };
            let message = match drop.kind {
                ProblemKind::TooManyCalls => "more calls than max_calls allows; this one was dropped",
                ProblemKind::ArgumentsTooLarge => TOO_LARGE,
                _ => REMAINS,
            };
            let why = if drop.kind == ProblemKind::Malformed { Dropped::Malformed } else { Dropped::Limit };
            writer.problem(dropped(drop.kind, message.to_owned(), span, drop.call, why), out);
            self.mark = end;
        }
    }

    /// Arguments of the open call that stand at `span`, just as they stand there.
    pub(crate) fn straight(&mut self, json: &str, span: Span, writer: &mut Writer, out: &mut Events) {
        if let Some(call) = &mut self.open {
            call.arguments.push_str(json);
            self.checks.utf8.sound();
            if let Some(types) = &mut self.checks.types {
                types.glide(json);
            }
            writer.arguments(call.index, json, span, out);
            self.mark = span.end;
        }
    }

    /// Whether text in the middle of a string of the open call goes out as it stands.
    pub(crate) fn glides(&self) -> bool {
        self.checks.types.as_ref().is_none_or(|types| types.passes())
    }

    /// All arguments of the open call were seen: what doesn't fit is told.
    pub(super) fn judge_types(&mut self, policy: &Policy) {
        let (Some(mut types), Some(index)) = (self.checks.types.take(), self.open.as_ref().map(|call| call.index))
        else {
            return;
        };
        for finding in types.findings() {
            match finding {
                Finding::Type { place, declared, read } => {
                    let became = if read { "it was read as what it says" } else { "it was kept as it stood" };
                    self.note(ProblemKind::WrongType, format!("{place:?} isn't {declared}; {became}"), index);
                }
                Finding::Wrapped => self.mended(false, "took arguments out of an argument", policy),
                Finding::Doubt(why) => {
                    self.spoiled = true;
                    self.note(ProblemKind::Malformed, why.to_owned(), index);
                }
            }
        }
    }

    /// How much longer the open call's arguments may become; nothing if none is open.
    pub(crate) fn room(&self, most: usize) -> usize {
        self.open.as_ref().filter(|_| !self.full).map_or(0, |call| most.saturating_sub(call.arguments.len()))
    }

    /// Whether something waits for its closer.
    pub(crate) fn waits(&self) -> bool {
        self.finished.is_some() || self.drop.is_some()
    }

    /// The open call ends here, broken or cut.
    pub(crate) fn break_off(
        &mut self,
        end: usize,
        kind: ProblemKind,
        why: &str,
        writer: &mut Writer,
        out: &mut Events,
    ) {
        if let Some(mut call) = self.open.take() {
            let index = call.index;
            self.judge_bytes(&mut call, false);
            self.finished = Some(call);
            self.notes.push(Problem {
                kind,
                message: why.to_owned(),
                span: Span::default(),
                call: Some(index),
                dropped: None,
            });
            self.mode = Mode::Between;
        }
        self.close(end, writer, out);
    }

    /// The open call is over the limit: it ends here, what follows of it is dropped.
    pub(crate) fn overflow(&mut self, end: usize, writer: &mut Writer, out: &mut Events) {
        self.flushing = false;
        let call = self.open.take().or_else(|| self.finished.take());
        let index = call.as_ref().map(|call| call.index);
        if let Some(mut call) = call {
            self.judge_bytes(&mut call, false);
            call.complete = false;
            self.finished = Some(call);
            self.close(end, writer, out);
        }
        self.dropped_to = end;
        self.drop = Some(Drop { from: end, kind: ProblemKind::ArgumentsTooLarge, call: index });
        self.mode = Mode::Dropping;
    }

    /// A call's bytes are all there: whether U+FFFD had to stand in for some of them.
    pub(super) fn judge_bytes(&mut self, call: &mut Call, whole: bool) {
        if !self.checks.utf8.end(whole) {
            call.repaired = true;
            self.note(ProblemKind::InvalidUtf8, NO_UTF8.to_owned(), call.index);
        }
    }

    /// The open call was mended, or the one that waits for its closer.
    pub(super) fn mended(&mut self, behind: bool, how: &str, policy: &Policy) {
        let Some(call) = (if behind { &mut self.finished } else { &mut self.open }) else { return };
        call.repaired = true;
        call.complete &= policy.repair;
        let index = call.index;
        // Whatever a grammar mends of its own accord: where nothing may be mended, such a call must not run.
        let how = if policy.repair { how.to_owned() } else { format!("{how}; repair is off: it must not run") };
        self.note(ProblemKind::Repaired, how, index);
    }

    pub(super) fn note(&mut self, kind: ProblemKind, message: String, call: usize) {
        let notes = &mut self.notes;
        if notes.len() < MOST_NOTES && !notes.iter().any(|note| note.kind == kind && note.message == message) {
            // When a mend is told depends on the cut: they stand first, in an order of their own.
            let place = if kind == ProblemKind::Repaired {
                notes.iter().position(|note| note.kind != kind || note.message > message)
            } else {
                None
            };
            let place = place.unwrap_or(notes.len());
            notes.insert(place, Problem { kind, message, span: Span::default(), call: Some(call), dropped: None });
        }
    }
}
