//! The contract between the parser and the grammars: a grammar turns the bytes inside a call's markers into names and
//! JSON, and says of each byte whose it is.

use super::{
    bodies::Boxed,
    signature::{Kind, Signature},
    until::{Class, Marks},
};

/// Where a grammar stands after a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// It needs more bytes. What it hasn't taken comes again, with more behind it.
    More,
    /// Its region ended with the last byte it took.
    Done,
    /// These bytes are not of this grammar. Before a call began the whole region is given back as text; after, the call
    /// ends broken.
    Failed(&'static str),
}

/// What a grammar says. Each method takes `bytes`: how many of the next input bytes it speaks for. Their sum is what
/// the grammar has used of `input`; the rest is held and comes again. Nothing is taken back.
pub(super) trait Sink {
    /// Markers and white space of the region, inside or between calls.
    fn markup(&mut self, bytes: usize);
    /// A call begins. The answer is what is declared of its parameters; `None` if nothing is (every parameter is
    /// `Kind::Any`).
    fn start(&mut self, name: &str, id: Option<&str>, bytes: usize) -> Option<&Signature>;
    /// JSON text that follows on what came before. All of a call's pieces together are one JSON object.
    fn arguments(&mut self, json: &str, bytes: usize);
    /// Says that the call's arguments were mended, and how, without taking bytes.
    fn repaired(&mut self, how: &'static str);
    /// Says the same of the call that ended last, of what stands right behind it.
    fn repaired_behind(&mut self, _how: &'static str) {}
    /// Says of the call that ended last that it must not run: what stands right behind it was a part of it.
    fn spoiled_behind(&mut self, _why: &'static str) {}
    /// Says that the open call is broken and must not run, however it goes on, without taking bytes.
    fn spoiled(&mut self, _why: &'static str) {}
    /// Says that another call ended a value, or stands in one: what is left of it may follow, its closers too.
    fn torn(&mut self) {}
    /// Says that a value didn't fit its declared type and was kept as it stood.
    fn wrong_type(&mut self, parameter: &str, declared: &Kind);
    /// The call's arguments end here. `complete` is false where the text ended first.
    fn finish(&mut self, bytes: usize, complete: bool);
    /// The call breaks off here: it isn't complete, for this reason, but the region goes on.
    fn broken(&mut self, bytes: usize, _why: &'static str) {
        self.finish(bytes, false);
    }
    /// Bytes between calls, or behind them, that belong to none and are no text.
    fn dropped(&mut self, bytes: usize, _why: &'static str) {
        self.markup(bytes);
    }
    /// What follows, up to the next call or the region's end, belongs to none and is no text, however long it is: what
    /// is left of the call that broke off last.
    fn dropping(&mut self) {}
    /// Bytes that were looked at once more, each counted for every further time; the parser counts the first look
    /// itself.
    fn looked(&mut self, _bytes: usize) {}
    /// Of those, so many came to nothing: they count towards what may be looked at in vain.
    fn vain(&mut self, _bytes: usize) {}
    /// Whether it may be looked ahead for what may not be there. If too much was looked at in vain, it may not.
    fn may_look(&self) -> bool {
        true
    }
    /// How many bytes of arguments a call may still have.
    fn room(&self) -> usize;
    /// Whether what is said of the open call goes anywhere. If not, no more of a value need be held than tells where it
    /// ends.
    fn hears(&self) -> bool {
        true
    }
    /// Whether it is only asked how far a call reaches: what breaks off is over then.
    fn asks(&self) -> bool {
        false
    }
    /// Whether a tool of this name was declared, and has a parameter of that one.
    fn declares(&self, _tool: &str, _parameter: &str) -> bool {
        false
    }
    /// Whether there may be a tool of this name: one was declared, or none at all were.
    fn knows(&self, _tool: &str) -> bool {
        true
    }
    /// Whether a value that another call follows, `behind` bytes before the input's end, does end there: of all that
    /// follows, no value is closed that nothing opened. `None` where more bytes decide; nothing may be taken before.
    fn balances(&mut self, _marks: &Marks, _opens: Class, _behind: usize) -> Option<bool> {
        Some(true)
    }
    /// The deepest nesting allowed.
    fn max_depth(&self) -> usize;
    /// Whether broken arguments may be repaired.
    fn repairs(&self) -> bool;
}

/// One grammar at work on the inside of one opener and closer (a call; several where the grammar allows it), fed in
/// pieces. Openers and closers, also of the section, are the parser's: a body begins after the opener and takes nothing
/// of the closer, but it does decide where it ends: never by searching for the closer in a string that may hold one.
/// Input may hold bytes that are no UTF-8: they become U+FFFD in names and JSON; a sequence cut by the end of `input`
/// is held.
pub(super) trait Body: Fork {
    /// Takes from the front of `input` what it can. `last` says that nothing follows. Looks at each byte a constant
    /// number of times over all steps; holds back no more than a marker and the white space around it, or a header, or
    /// a value that can't be typed before its end.
    fn step(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Step;

    /// What can't be decided yet is tried again with the next byte, however often it was tried. Otherwise a body may
    /// wait until there is half as much again, so that its looks stay in proportion.
    fn hurry(&mut self) {}

    /// What of the front of `input`, where nothing is held, surely goes into the open call's arguments just as it
    /// stands. It counts as taken. A way around `step` for the bulk of long arguments; it may always be empty.
    fn straight<'a>(&mut self, _input: &'a [u8]) -> &'a str {
        ""
    }
}

/// Bodies can be doubled, so that one of the two may be asked what it would say if the text ended here.
pub(super) trait Fork {
    /// Another body in the same state.
    fn fork(&self) -> Boxed;
}

impl<T: Body + Clone + Send + Sync + 'static> Fork for T {
    fn fork(&self) -> Boxed {
        Box::new(self.clone())
    }
}

impl Clone for Boxed {
    fn clone(&self) -> Self {
        self.as_ref().fork()
    }
}
