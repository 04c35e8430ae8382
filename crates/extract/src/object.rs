//! Calls written as JSON objects that hold a name and arguments: keys in any order, objects one after another or in an
//! array, wrapped once more or not. Objects inside a call are never calls; arguments pass as written, piece by piece.

mod around;
mod go;
mod guard;
mod member;
mod odd;
mod pending;
mod wreck;

use self::pending::{Cursor, Pending};
use super::{
    arguments::{Arguments, TOO_LARGE},
    body::{Body, Sink, Step},
    dialect::Dialect,
    json::{Json, Looks, Mend},
    next::Next,
};

const CUT: &str = "the text ends inside a call";
const SWALLOWED_KEY: &str = "a key without its end swallowed the beginning of the next call";
const NO_NAME: &str = "a call without a name";
const NO_CALL: &str = "no JSON object";
const LOST: &str = "its arguments can't be found in what it holds";
const NAME_TWICE: &str = "a name was given twice; the first was kept";
const LEFT_OUT: &str = "what stands beside its name was left out: it has no arguments";
const ARGUMENTS_TWICE: &str = "arguments were given twice; the first were kept";
pub(super) const PART: &str = "what stands behind its end was a part of it";
const OPEN_LIST: &str = "a list of calls without its closing bracket";
pub(super) const OPEN_FENCE: &str = "a code fence that nothing closes";
const FENCE: &[u8] = b"```";

/// A key, a name or an id isn't longer.
const LONGEST_TOKEN: usize = 64 * 1024;
/// White space behind a call beyond this is not of the region.
const LONGEST_GAP: usize = 4096;

/// What a key leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Name,
    Id,
    Arguments,
    /// An object that holds the name and the arguments.
    Wrapper,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    Known {
        name: &'static [&'static str],
        arguments: &'static [&'static str],
    },
    /// Every key is a name, every value its arguments.
    Names,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    /// Before a key or the end of the object.
    Key,
    /// In a key or a string: the quote that ends it, none for bare keys.
    Token {
        value: bool,
        quote: Option<u8>,
    },
    Colon,
    Value,
    Arguments,
    Skip,
    AfterMember,
    /// Behind an object that lacks a name or arguments: they may stand behind a brace too many.
    Closed,
    AfterCall,
    /// In what is no call, within a list of calls.
    Stray,
    /// Behind it.
    AfterStray,
    /// Between two calls of a list, in what is no value: whether in a string, and how many brackets are open.
    Junk {
        text: bool,
        brackets: usize,
    },
    /// Within a call, where nothing of it can stand: from where on, counted from what hasn't been spoken for, and where
    /// the string began that the next byte stands in.
    Wreck(usize, Option<usize>),
}

/// Calls of `Grammar::Object` and `Grammar::Keyed`.
#[allow(clippy::struct_excessive_bools)] // each says one thing of what is being read
#[derive(Debug, Clone)]
pub(super) struct Object {
    keys: Keys,
    /// What opens another call, or closes this one.
    next: Next,
    place: Place,
    /// Bytes read of what hasn't been spoken for.
    seen: usize,
    array: bool,
    /// How many lists stand around the one that is open.
    lists: usize,
    wrapped: usize,
    role: Role,
    call: Pending,
    token: Vec<u8>,
    skipped: Option<Json>,
    calls: usize,
    shaped: bool,
    /// Right behind a key; a quotation mark may be one too many.
    before_colon: bool,
    /// The key at hand is much like one of arguments.
    near: bool,
    /// The key at hand is none that calls have.
    beside: bool,
    /// A code fence stands around the calls.
    fenced: bool,
    looks: Looks,
    /// A comma came last.
    comma: bool,
    /// Where the object ended that lacks something, counted from what hasn't been spoken for.
    closed: usize,
    /// What stands before the first call is none, nor a value that the list may hold.
    odd_list: bool,
    /// The call that ended last began in a string of the one before.
    resumed: bool,
    /// It had arguments, and members beside them that no call has.
    besides: bool,
    /// How many bytes before the first call are none.
    dropped: usize,
    /// How many bytes of the object at hand were passed over.
    passed: usize,
    /// How many bytes must stand behind those read before it is tried again to decide what the first of them is.
    patience: usize,
}

impl Object {
    /// `array` is how it is written; both forms are read.
    pub(super) fn new(name: &'static [&'static str], arguments: &'static [&'static str], array: bool) -> Self {
        let _ = array;
        Self::with(Keys::Known { name, arguments })
    }

    fn with(keys: Keys) -> Self {
        Self {
            keys,
            next: Next::default(),
            place: Place::Start,
            seen: 0,
            array: false,
            lists: 0,
            wrapped: 0,
            role: Role::Other,
            call: Pending::default(),
            token: Vec::new(),
            skipped: None,
            calls: 0,
            shaped: false,
            before_colon: false,
            near: false,
            beside: false,
            fenced: false,
            looks: Looks::default(),
            comma: false,
            closed: 0,
            odd_list: false,
            resumed: false,
            besides: false,
            dropped: 0,
            passed: 0,
            patience: 0,
        }
    }

    /// As calls of this dialect.
    pub(super) fn of(mut self, dialect: &'static Dialect) -> Self {
        self.next = Next::of(dialect);
        self
    }

    /// Takes an object for a call only if it has both a name and arguments; for calls without markers.
    pub(super) fn shaped(mut self) -> Self {
        self.shaped = true;
        self
    }

    /// An object is at its end; the outermost one ends the call.
    fn object_ends(&mut self, cursor: &mut Cursor<'_>, sink: &mut dyn Sink) -> Result<(), Step> {
        if self.wrapped > 0 {
            self.wrapped -= 1;
            self.place = Place::AfterMember;
            return Ok(());
        }
        let known = matches!(self.keys, Keys::Known { .. });
        if known && !self.shaped && self.call.name.is_some() != self.call.whole {
            self.closed = cursor.at - cursor.from;
            self.place = Place::Closed;
            return Ok(());
        }
        self.call_ends(cursor, true, sink)
    }

    fn call_ends(&mut self, cursor: &mut Cursor<'_>, complete: bool, sink: &mut dyn Sink) -> Result<(), Step> {
        if !self.call.started {
            self.begins(sink);
            let none = !self.call.whole && self.shaped;
            let unknown = !self.call.name.as_deref().is_some_and(|name| sink.knows(name));
            let spoilt = self.call.spoilt.or(self.call.withheld.then_some(NO_NAME)).filter(|_| unknown);
            if none || self.call.name.is_none() || spoilt.is_some() {
                return self.no_call(cursor, spoilt.unwrap_or(if none { NO_CALL } else { NO_NAME }), sink);
            }
            if self.call.is_definition(&*sink) {
                return Err(Step::Failed(NO_CALL));
            }
            self.call.guarded = false;
            // Its name was none that tools have when it was withheld; now it is.
            self.call.withheld = false;
            let bytes = cursor.speak();
            self.call.start(bytes, sink);
        }
        if complete && !self.call.whole && self.call.odd {
            // Better no call than one without its arguments.
            sink.spoiled(LOST);
        } else if complete && !self.call.whole && self.call.spoilt.is_none() {
            if self.call.beside {
                sink.spoiled(LEFT_OUT);
            }
            sink.arguments("{}", cursor.speak());
        }
        let cut = self.call.arguments.as_ref().and_then(Arguments::spoilt);
        let swallowed = (self.call.braced && !self.call.mends.is_empty()).then_some(SWALLOWED_KEY);
        if let Some(why) = self.call.spoilt.or(cut).or(swallowed) {
            sink.spoiled(why);
        }
        sink.finish(cursor.speak(), complete);
        self.calls += 1;
        let (resumed, besides) = (self.call.resumed, self.call.beside && self.call.whole);
        self.afresh();
        (self.resumed, self.besides) = (resumed, besides);
        Ok(())
    }

    /// A call begins.
    pub(super) fn begins(&mut self, sink: &mut dyn Sink) {
        if std::mem::take(&mut self.odd_list) {
            self.call.doubled(Mend::Stray.describe(), sink);
        }
        let mangled = [Mend::MissingColon, Mend::MissingQuote, Mend::Stray];
        let mangled = mangled.iter().any(|mend| self.call.mends.contains(&mend.describe()));
        let damaged = !self.shaped && (mangled || self.call.spoilt.is_some());
        self.call.withheld |= damaged && self.call.name.as_deref().is_some_and(|name| !sink.knows(name));
    }

    /// Another call may follow.
    fn afresh(&mut self) {
        self.call = Pending::default();
        self.wrapped = 0;
        self.comma = false;
        self.passed = 0;
        self.skipped = None;
        self.place = Place::AfterCall;
    }

    /// Nothing follows, or nothing that belongs here.
    fn broken_off(&mut self, cursor: &mut Cursor<'_>, why: &'static str, sink: &mut dyn Sink) -> Step {
        let begun = self.call.started || (self.call.name.is_some() && !self.shaped);
        if begun && self.call_ends(cursor, false, sink).is_ok() {
            return if self.calls > 0 { Step::Done } else { Step::Failed(why) };
        }
        if !begun && self.call.whole && self.calls > 0 && !self.shaped && self.no_call(cursor, why, sink).is_ok() {
            return self.over(sink);
        }
        Step::Failed(why)
    }

    /// Nothing more of the region follows its last call.
    fn over(&mut self, sink: &mut dyn Sink) -> Step {
        if self.calls == 0 {
            return Step::Failed(NO_CALL);
        }
        if self.array {
            sink.repaired_behind(OPEN_LIST);
        }
        if self.fenced {
            sink.repaired_behind(OPEN_FENCE);
        }
        Step::Done
    }

    /// All of the input was read.
    fn wait(&mut self, cursor: &mut Cursor<'_>, last: bool, sink: &mut dyn Sink) -> Step {
        if !last {
            return Step::More;
        }
        match self.place {
            Place::AfterCall => self.over(sink),
            Place::Stray | Place::AfterStray | Place::Junk { .. } if self.calls > 0 => {
                cursor.at = cursor.from;
                self.over(sink)
            }
            Place::Wreck(from, Some(text)) if !self.call.doubt => {
                // A mark without a partner opens no string; yet what stands behind it may stand in one.
                sink.looked(cursor.at - (cursor.from + text + 1));
                cursor.at = cursor.from + text + 1;
                self.call.doubt = true;
                self.place = Place::Wreck(from, None);
                self.go(cursor, last, sink).unwrap_or_else(|failed| failed)
            }
            Place::Wreck(from, _) => {
                cursor.at = cursor.from + from;
                self.broken_off(cursor, NO_CALL, sink)
            }
            Place::Closed => match self.closes(cursor, sink) {
                Ok(()) => self.over(sink),
                Err(failed) => failed,
            },
            Place::Start => Step::Failed(NO_CALL),
            _ => {
                cursor.at = cursor.input.len();
                self.broken_off(cursor, CUT, sink)
            }
        }
    }
}

impl Body for Object {
    fn step(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Step {
        let mut cursor = Cursor { input, from: 0, at: self.seen };
        if self.patience > 0 {
            if !last && cursor.rest().len() < self.patience {
                return Step::More;
            }
            self.patience = 0;
        }
        // The way that nearly all pieces of a long string take.
        if self.place == Place::Arguments
            && self.seen == 0
            && self.call.started
            && let Some(arguments) = &mut self.call.arguments
        {
            let text = arguments.glide(input);
            if !text.is_empty() {
                sink.arguments(text, text.len());
                if text.len() == input.len() && !last {
                    return Step::More;
                }
                (cursor.from, cursor.at) = (text.len(), text.len());
            }
        }
        let step = self.go(&mut cursor, last, sink).unwrap_or_else(|failed| failed);
        self.seen = cursor.at - cursor.from;
        if self.seen > sink.room().saturating_add(LONGEST_TOKEN) {
            return Step::Failed(TOO_LARGE);
        }
        // What can't be read behind a whole call isn't of this region.
        match step {
            Step::Failed(why) if self.calls > 0 && !self.call.started => {
                let over = self.over(sink);
                if self.keys == Keys::Names {
                    sink.repaired_behind(Mend::Stray.describe());
                }
                if why == CUT { Step::Failed(why) } else { over }
            }
            step => step,
        }
    }

    fn hurry(&mut self) {
        self.patience = 0;
        if let Some(arguments) = &mut self.call.arguments {
            arguments.hurry();
        }
        if let Some(skipped) = &mut self.skipped {
            skipped.hurry();
        }
    }

    fn straight<'a>(&mut self, input: &'a [u8]) -> &'a str {
        match &mut self.call {
            Pending { started: true, arguments: Some(arguments), .. }
                if self.place == Place::Arguments && self.seen == 0 =>
            {
                arguments.glide(input)
            }
            _ => "",
        }
    }
}

/// Calls of `Grammar::Keyed`.
pub(super) struct Keyed;

impl Keyed {
    #[allow(clippy::new_ret_no_self)] // the same machine under another grammar's name
    pub(super) fn new() -> Object {
        Object::with(Keys::Names)
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
