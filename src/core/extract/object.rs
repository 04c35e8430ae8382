//! Calls written as JSON objects that hold a name and arguments: keys in any order, objects one after another or in an array,
//! wrapped once more or not. Objects inside a call are never calls; arguments pass as written, piece by piece.

mod around;
mod guard;
mod member;
mod pending;
mod wreck;

use self::{
    around::{MOST_BEFORE, is_value},
    pending::{Cursor, Pending},
    wreck::MOST_WRECK,
};
use super::{
    arguments::{Arguments, TOO_LARGE},
    body::{Body, Sink, Step},
    dialect::Dialect,
    json::{Json, Looks, Mend, colon_in, patience},
    next::Next,
};

const CUT: &str = "the text ends inside a call";
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
    /// Within a call, where nothing of it can stand: from where on, counted from what hasn't been spoken for, and where the string
    /// began that the next byte stands in.
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
    /// The key at hand began without a quote.
    unquoted: bool,
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
            unquoted: false,
            near: false,
            beside: false,
            fenced: false,
            looks: Looks::default(),
            comma: false,
            closed: 0,
            odd_list: false,
            resumed: false,
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
            let bytes = cursor.speak();
            self.call.start(bytes, sink);
        }
        if complete && !self.call.whole && self.call.odd {
            // Better no call than one without its arguments.
            sink.spoiled(LOST);
        } else if complete && !self.call.whole && self.call.spoilt.is_none() {
            if self.call.beside {
                sink.repaired(LEFT_OUT);
            }
            sink.arguments("{}", cursor.speak());
        }
        let cut = self.call.arguments.as_ref().and_then(Arguments::spoilt);
        if let Some(why) = self.call.spoilt.or(cut) {
            sink.spoiled(why);
        }
        sink.finish(cursor.speak(), complete);
        self.calls += 1;
        let resumed = self.call.resumed;
        self.afresh();
        self.resumed = resumed;
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

    fn go(&mut self, cursor: &mut Cursor<'_>, last: bool, sink: &mut dyn Sink) -> Result<Step, Step> {
        loop {
            match self.place {
                Place::Token { value, quote } => {
                    if !self.token(cursor, last, quote, sink)? {
                        return Ok(self.wait(cursor, last, sink));
                    }
                    self.unquoted = quote.is_none();
                    self.token_ends(value, cursor, sink);
                    continue;
                }
                Place::Arguments => {
                    if !self.arguments(cursor, last, sink)? {
                        if self.place == Place::Skip {
                            continue;
                        }
                        return Ok(self.wait(cursor, last, sink));
                    }
                    if self.place == Place::Arguments {
                        self.place = Place::AfterMember;
                    }
                    continue;
                }
                Place::Stray => {
                    let ended = self.stray(cursor, last, sink);
                    if cursor.at - cursor.from > if self.calls > 0 { LONGEST_GAP } else { MOST_BEFORE } {
                        // Rather prose.
                        cursor.at = cursor.from;
                        return Ok(self.over(sink));
                    }
                    if !ended {
                        return Ok(self.wait(cursor, last, sink));
                    }
                    self.place = Place::AfterStray;
                    continue;
                }
                Place::Junk { text, brackets } => match self.junk(cursor, (text, brackets), last, sink) {
                    Some(true) => continue,
                    Some(false) => return Ok(self.over(sink)),
                    None => return Ok(self.wait(cursor, last, sink)),
                },
                Place::Wreck(from, text) => match self.wreck(from, text, cursor, last, sink) {
                    Some(true) => continue,
                    Some(false) => return Ok(self.wrecked(cursor, last, sink)),
                    None => return Ok(self.wait(cursor, last, sink)),
                },
                Place::Skip => {
                    if !self.skip(cursor, last, sink)? {
                        return Ok(self.wait(cursor, last, sink));
                    }
                    self.place = Place::AfterMember;
                    continue;
                }
                _ => {}
            }
            let Some(&byte) = cursor.rest().first() else { return Ok(self.wait(cursor, last, sink)) };
            if byte.is_ascii_whitespace() {
                cursor.at += 1;
                if cursor.at - cursor.from > LONGEST_GAP {
                    if self.place == Place::Closed {
                        self.closes(cursor, sink)?;
                    } else if self.call.started {
                        sink.arguments("", cursor.speak());
                    } else if self.place == Place::AfterCall {
                        return Ok(self.over(sink));
                    }
                }
                continue;
            }
            if matches!(self.place, Place::Key | Place::AfterMember) {
                match if self.call.doubt { Some(false) } else { self.next.opens(cursor.rest(), last) } {
                    None => return Ok(self.wait(cursor, last, sink)),
                    Some(true) if self.call.whole && sink.repairs() => {
                        self.mended(Mend::MissingCloser, sink)?;
                        self.call_ends(cursor, true, sink)?;
                        continue;
                    }
                    Some(true) => return Ok(self.broken_off(cursor, NO_CALL, sink)),
                    Some(false) => {}
                }
            }
            match self.place {
                Place::Start => match byte {
                    b'[' if !self.array => {
                        self.array = true;
                        cursor.at += 1;
                    }
                    b'[' | b'"' if !self.shaped && (self.array || byte == b'"') => {
                        if !self.in_list(byte, cursor, last, sink)? {
                            return Ok(self.wait(cursor, last, sink));
                        }
                        if !self.array && self.place == Place::Start {
                            return Err(Step::Failed(NO_CALL));
                        }
                    }
                    _ if self.array && !self.shaped && !matches!(byte, b'{' | b']') => {
                        self.place =
                            if is_value(byte) { Place::Stray } else { Place::Junk { text: false, brackets: 0 } };
                    }
                    b'{' => {
                        self.place = Place::Key;
                        cursor.at += 1;
                    }
                    b',' | b';' if self.calls > 0 => cursor.at += 1,
                    b'`' if !self.fenced => {
                        let rest = cursor.rest();
                        // The word behind the fence goes with it.
                        let word =
                            rest.iter().skip(FENCE.len()).take(16).take_while(|byte| byte.is_ascii_alphanumeric());
                        let length = FENCE.len() + word.count();
                        if rest.starts_with(FENCE) && rest.len() > length {
                            self.fenced = true;
                            cursor.at += length;
                        } else if rest.starts_with(FENCE) || FENCE.starts_with(rest) {
                            return Ok(self.wait(cursor, last, sink));
                        } else {
                            return Err(Step::Failed(NO_CALL));
                        }
                    }
                    b']' if self.array => {
                        // An empty array: no call at all.
                        cursor.at += 1;
                        sink.markup(cursor.speak());
                        return Ok(Step::Done);
                    }
                    _ => return Err(Step::Failed(NO_CALL)),
                },
                Place::Key => match byte {
                    b'"' | b'\'' => {
                        if byte == b'\'' {
                            self.mended(Mend::Quotes, sink)?;
                        }
                        self.next_call_of_names(cursor, sink)?;
                        self.comma = false;
                        self.place = Place::Token { value: false, quote: Some(byte) };
                        cursor.at += 1;
                    }
                    b'}' => {
                        if std::mem::take(&mut self.comma) {
                            self.mended(Mend::TrailingComma, sink)?;
                        }
                        cursor.at += 1;
                        self.object_ends(cursor, sink)?;
                    }
                    b',' => {
                        self.mended(Mend::ExtraComma, sink)?;
                        cursor.at += 1;
                    }
                    b'_' | b'a'..=b'z' | b'A'..=b'Z' => {
                        self.mended(Mend::UnquotedKey, sink)?;
                        self.next_call_of_names(cursor, sink)?;
                        self.comma = false;
                        self.place = Place::Token { value: false, quote: None };
                    }
                    _ => {
                        if let Some(step) = self.end_or_break(cursor, byte, last, sink)? {
                            return Ok(step);
                        }
                    }
                },
                Place::Colon => {
                    if byte == b':' {
                        cursor.at += 1;
                        self.place = Place::Value;
                    } else if byte == b']' && self.array {
                        self.place = Place::AfterMember;
                    } else if matches!(byte, b',' | b'}') {
                        self.mended(Mend::MissingValue, sink)?;
                        self.place = Place::AfterMember;
                    } else if byte == b'"' && self.unquoted {
                        let rest = cursor.rest();
                        self.looks.again(rest);
                        let colon = colon_in(rest.get(1..).unwrap_or_default(), last, &mut self.looks);
                        self.looked(rest, colon.is_some(), sink);
                        self.unquoted = colon.is_none();
                        match colon {
                            None => return Ok(self.wait(cursor, last, sink)),
                            Some(true) => {
                                self.mended(Mend::MissingQuote, sink)?;
                                cursor.at += 1;
                            }
                            Some(false) => {}
                        }
                    } else {
                        self.mended(Mend::MissingColon, sink)?;
                        cursor.at += usize::from(byte == b'=');
                        self.place = Place::Value;
                    }
                }
                Place::Value => self.value(byte, cursor, sink)?,
                Place::AfterMember => match byte {
                    b',' => {
                        cursor.at += 1;
                        self.comma = true;
                        self.place = Place::Key;
                    }
                    b'}' => {
                        cursor.at += 1;
                        self.object_ends(cursor, sink)?;
                    }
                    _ => {
                        if let Some(step) = self.end_or_break(cursor, byte, last, sink)? {
                            return Ok(step);
                        }
                    }
                },
                Place::Closed => match self.goes_on(byte, cursor, last, sink)? {
                    Some(()) => {}
                    None => return Ok(self.wait(cursor, last, sink)),
                },
                Place::AfterStray if matches!(byte, b',' | b']') => {
                    self.comma = false;
                    self.no_call(cursor, NO_CALL, sink)?;
                }
                Place::AfterStray => self.place = Place::Junk { text: false, brackets: 0 },
                Place::AfterCall => match byte {
                    _ if self.resumed => match self.next.quoted_behind(cursor.rest(), last) {
                        None => return Ok(self.wait(cursor, last, sink)),
                        Some(quoted) => {
                            if quoted {
                                // The string that it began in does have an end.
                                sink.spoiled_behind(PART);
                            }
                            self.resumed = false;
                        }
                    },
                    b'{' => {
                        self.comma = false;
                        self.place = Place::Key;
                        cursor.at += 1;
                    }
                    b',' | b';' => {
                        self.comma = true;
                        cursor.at += 1;
                    }
                    b']' if self.array => {
                        if std::mem::take(&mut self.comma) {
                            sink.repaired_behind(Mend::TrailingComma.describe());
                        }
                        self.array = self.lists > 0;
                        self.lists = self.lists.saturating_sub(1);
                        cursor.at += 1;
                        sink.markup(cursor.speak());
                    }
                    b'`' if self.fenced => {
                        let rest = cursor.rest();
                        if rest.starts_with(FENCE) {
                            self.fenced = false;
                            cursor.at += FENCE.len();
                            sink.markup(cursor.speak());
                        } else if FENCE.starts_with(rest) {
                            return Ok(self.wait(cursor, last, sink));
                        } else {
                            return Ok(self.over(sink));
                        }
                    }
                    b'"' | b'[' if self.comma && !self.shaped => {
                        if !self.in_list(byte, cursor, last, sink)? {
                            return Ok(self.wait(cursor, last, sink));
                        }
                        if self.place == Place::AfterCall {
                            return Ok(self.over(sink));
                        }
                    }
                    b'"' | b'[' | b'-' | b'0'..=b'9' if self.array && self.comma => {
                        self.place = Place::Stray;
                    }
                    // One too many; further off it is prose.
                    b'}' | b']' if cursor.at == cursor.from => {
                        sink.repaired_behind(Mend::ExtraCloser.describe());
                        cursor.at += 1;
                        sink.markup(cursor.speak());
                    }
                    _ if self.array && !self.shaped => self.place = Place::Junk { text: false, brackets: 0 },
                    _ => return Ok(self.over(sink)),
                },
                Place::Wreck(..)
                | Place::Junk { .. }
                | Place::Token { .. }
                | Place::Arguments
                | Place::Skip
                | Place::Stray => {}
            }
        }
    }

    /// In `{"A": {..}, "B": {..}}` each key after the first begins another call.
    fn next_call_of_names(&mut self, cursor: &mut Cursor<'_>, sink: &mut dyn Sink) -> Result<(), Step> {
        if self.keys == Keys::Names && self.call.whole && self.call.spoilt.is_none() {
            self.call_ends(cursor, true, sink)?;
        }
        Ok(())
    }

    fn value(&mut self, byte: u8, cursor: &mut Cursor<'_>, sink: &mut dyn Sink) -> Result<(), Step> {
        match self.role {
            Role::Arguments if self.call.whole => self.call.doubled(ARGUMENTS_TWICE, sink),
            Role::Name | Role::Wrapper if byte == b'{' && self.call.name.is_some() => {
                self.call.doubled(NAME_TWICE, sink);
            }
            _ => {}
        }
        match (self.role, byte) {
            (Role::Name | Role::Id, b'"' | b'\'') => {
                if byte == b'\'' {
                    self.mended(Mend::Quotes, sink)?;
                }
                self.place = Place::Token { value: true, quote: Some(byte) };
                cursor.at += 1;
            }
            (Role::Name | Role::Wrapper, b'{') if self.wrapped == 0 && !self.call.whole && self.call.name.is_none() => {
                self.wrapped += 1;
                self.place = Place::Key;
                cursor.at += 1;
            }
            (Role::Arguments, _) if !self.call.whole => {
                self.begins(sink);
                let bytes = cursor.at - cursor.from;
                self.call.before = bytes;
                if self.call.start(bytes, sink) {
                    cursor.from = cursor.at;
                }
                let closers: &[&str] = if self.fenced { &["```"] } else { &[] };
                let next = self.next.among(self.siblings(), self.array);
                self.call.arguments = Some(Arguments::new(sink.max_depth(), closers, next));
                self.place = Place::Arguments;
            }
            (_, b':') if !self.shaped => {
                self.mended(Mend::Stray, sink)?;
                cursor.at += 1;
            }
            (_, b',' | b'}' | b']') => {
                self.mended(Mend::MissingValue, sink)?;
                self.place = Place::AfterMember;
            }
            _ => {
                // An object under a key that is nearly that of the arguments.
                self.call.odd |= self.near && byte == b'{';
                self.call.beside |= self.beside;
                self.place = Place::Skip;
            }
        }
        Ok(())
    }

    /// What can't stand here: a marker or the end of the array where braces are missing, or rubbish. `None`: read on.
    fn end_or_break(
        &mut self,
        cursor: &mut Cursor<'_>,
        byte: u8,
        last: bool,
        sink: &mut dyn Sink,
    ) -> Result<Option<Step>, Step> {
        if self.place == Place::AfterMember && matches!(byte, b'"' | b'\'') {
            // A comma is missing; a quote alone is rubbish.
            let rest = cursor.rest();
            self.looks.again(rest);
            let key = super::json::key_in(rest.get(1..).unwrap_or_default(), byte, last, &mut self.looks);
            sink.looked(std::mem::take(&mut self.looks.count));
            let Some(key) = key else {
                // Looked at again when there is half as much again.
                self.patience = patience(rest.len());
                return Ok(Some(self.wait(cursor, last, sink)));
            };
            self.looks.settle();
            if key {
                self.mended(Mend::MissingComma, sink)?;
                self.place = Place::Key;
            } else if byte == b'"' && !self.shaped {
                return Ok(if self.stray_quote(cursor, last, sink)? {
                    None
                } else {
                    Some(self.wait(cursor, last, sink))
                });
            } else {
                self.mended(Mend::Stray, sink)?;
                cursor.at += 1;
            }
            return Ok(None);
        }
        if byte == b'{' && self.place == Place::Key && !self.shaped && !self.comma && !self.call.is_begun() {
            // Twice.
            self.call.doubled(Mend::Stray.describe(), sink);
            cursor.at += 1;
            return Ok(None);
        }
        let another = match byte {
            b'{' if self.shaped => self.place == Place::AfterMember || self.comma,
            b'{' => match self.sibling(cursor, last, sink) {
                Some(sibling) => sibling,
                None => return Ok(Some(self.wait(cursor, last, sink))),
            },
            b';' => self.place == Place::AfterMember,
            _ => false,
        };
        let read = self.call.whole && self.call.name.is_some();
        if another && (read || (byte == b'{' && !self.shaped)) {
            // The brace behind this call was forgotten: another one begins.
            let mends = sink.repairs() && read;
            if mends {
                self.mended(Mend::MissingCloser, sink)?;
            }
            self.call_ends(cursor, mends, sink)?;
            return Ok(None);
        }
        let marker = byte == b'<' || (byte == b']' && self.array) || (byte == b'`' && self.fenced);
        let marker = marker
            && (byte == b']'
                || !self.call.doubt
                || match self.next.ends(cursor.rest(), last) {
                    Some(ends) => ends,
                    None => return Ok(Some(self.wait(cursor, last, sink))),
                });
        if marker && self.call.whole && sink.repairs() {
            self.mended(Mend::MissingCloser, sink)?;
            self.call_ends(cursor, true, sink)?;
            return Ok(None);
        }
        if byte == b']' && self.array && !self.shaped {
            if self.call.name.is_none() {
                self.odd_list(sink);
            }
            self.call_ends(cursor, false, sink)?;
            return Ok(None);
        }
        if !marker && byte != b'`' && !self.shaped && self.passed < MOST_WRECK {
            self.place = Place::Wreck(cursor.at - cursor.from, None);
            return Ok(None);
        }
        Ok(Some(self.broken_off(cursor, NO_CALL, sink)))
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
