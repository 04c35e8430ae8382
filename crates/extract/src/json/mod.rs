//! JSON read one byte after another, as a model wrote it: one automaton, fed in pieces cut anywhere, that passes valid
//! JSON as it stands and mends the rest on the way. It says where the value ends, holds back only what a later byte may
//! change, never takes back what it gave out, and knows neither recursion nor a second look at what it has read.

// A look ahead gives `None` where it needs more bytes, what it found otherwise, and that may be nothing. Cases stand in
// the order in which a reader asks for them, not by what follows from them.
#![allow(
    clippy::option_option,
    clippy::match_same_arms,
    clippy::match_wildcard_for_single_variants,
    clippy::struct_excessive_bools
)]

mod ahead;
mod bare;
mod recent;
mod run;
mod slips;
mod structure;
mod text;
mod valid;
mod word;

use ahead::FAR;
pub(super) use ahead::{Looks, begins_container, colon_in, first_key, key_in, quoted_key, rest_of_key, then_sibling};
use recent::Recent;
pub use word::Mend;
pub(super) use word::is_scalar;

use super::{next::Next, utf8};

/// What ends a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    Double,
    Single,
    Backtick,
    /// Any of the typographic double ones.
    Curly,
    /// Any of the typographic single ones.
    CurlySingle,
    /// `\"`, where a whole object was escaped once too often.
    Escaped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Value,
    Key,
    AfterKey,
    AfterValue,
    /// Inside a string.
    Text,
    Escape,
    /// In `\uXXXX`: digits seen, value so far.
    Hex(u8, u16),
    /// After a quote that may turn out to stand inside its string.
    AfterText,
    /// The same, and a comma came.
    AfterTextComma,
    /// A number, a literal, or text without quotes.
    Word,
    LineComment,
    /// Whether the last byte was `*`.
    BlockComment(bool),
    /// Inside a container too deep to keep.
    Skip,
    End,
}

/// Open containers, a bit each.
#[derive(Debug, Clone, Default)]
struct Stack {
    bits: Vec<u64>,
    len: usize,
    objects: usize,
}

impl Stack {
    fn push(&mut self, object: bool) {
        let (word, bit) = (self.len / 64, self.len % 64);
        if word == self.bits.len() {
            self.bits.push(0);
        }
        if let Some(bits) = self.bits.get_mut(word) {
            *bits = *bits & !(1 << bit) | u64::from(object) << bit;
        }
        self.len += 1;
        self.objects += usize::from(object);
    }

    fn pop(&mut self) {
        self.objects -= usize::from(self.in_object());
        self.len = self.len.saturating_sub(1);
    }

    fn in_object(&self) -> bool {
        self.len > 0 && self.bits.get((self.len - 1) / 64).is_some_and(|bits| bits >> ((self.len - 1) % 64) & 1 == 1)
    }

    /// Whether the container so many levels around the innermost is an object.
    fn object_around(&self, levels: usize) -> bool {
        let Some(at) = self.len.checked_sub(levels + 1) else { return false };
        self.bits.get(at / 64).is_some_and(|bits| bits >> (at % 64) & 1 == 1)
    }

    fn in_array(&self) -> bool {
        self.len > 0 && !self.in_object()
    }

    fn has(&self, object: bool) -> bool {
        if object { self.objects > 0 } else { self.len > self.objects }
    }
}

/// How much text is kept that nobody wants.
const MOST_MUTE: usize = 4096;
/// Fewer bytes are not worth a try to read them as valid JSON.
const SHORT: usize = 24;

/// What was mended, and where in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) what: Mend,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What was seen behind a quotation mark in a word, from a place on: up to where stands no other, and whether the one
/// that stands there closes what it opened.
#[derive(Debug, Clone, Copy, Default)]
struct Mate {
    at: usize,
    seen: usize,
    closes: Option<bool>,
    /// Whether what ends a value stands right behind it.
    ends: bool,
}

/// The quotation marks within strings.
#[derive(Debug, Clone, Copy, Default)]
struct InnerMarks {
    /// One that was escaped in the string at hand has no partner yet.
    unpaired: bool,
    /// One that wasn't escaped there has no partner yet.
    odd: bool,
    /// In some string one had none at its end.
    unbalanced: bool,
}

/// One JSON value on its way through.
#[derive(Debug, Clone)]
pub(super) struct Json {
    /// What was read and not yet taken out; positions below are positions in it.
    out: Vec<u8>,
    state: State,
    /// Where a comment goes back to.
    back: State,
    stack: Stack,
    quote: Quote,
    /// The string or word is a key.
    key: bool,
    /// A quote inside the string was escaped, so that its end must be proved.
    doubtful: bool,
    /// A colon in the key at hand belongs to it.
    colon: bool,
    /// The quotation marks within the string at hand.
    marks: InnerMarks,
    /// Where the quote of the last key ended.
    ended: usize,
    /// Where the word, the escape or the closing quote begins.
    mark: usize,
    /// A comma that a closer would drop.
    comma: Option<usize>,
    /// The escape of a high surrogate that waits for the low one.
    high: Option<usize>,
    /// The last byte of the string that is no white space, and whether a newline follows it.
    last_byte: u8,
    newline: bool,
    /// Bytes read so far, and where the string, word or comment began.
    at: usize,
    start: usize,
    skip_depth: usize,
    skip_text: bool,
    skip_escape: bool,
    max_depth: usize,
    /// Nothing is taken out before the end, so that a string may still be cut.
    whole: bool,
    strict: bool,
    /// What ends the region around the value, and whether anything like a marker does.
    closers: &'static [&'static str],
    markers: bool,
    /// The markers of the dialect that the value stands in.
    next: Next,
    /// From where on in `out` nothing is taken out: there it became nested too deep, and only its end matters.
    deep: Option<usize>,
    /// It is nested deeper than allowed.
    too_deep: bool,
    /// Something had to be mended, and mending is off: as where it is nested too deep, only its end matters from there
    /// on.
    broken: bool,
    /// Another call begins where a value, or the rest of an array, was awaited.
    lost: bool,
    /// Whether a line ends behind the quote that may have ended the string.
    line: bool,
    /// Whether the string's last byte is white space.
    blank: bool,
    /// Whether prose may follow without anything between, and how many lines ended since the last byte that is no white
    /// space.
    endless: bool,
    lines: usize,
    /// Quotation marks don't pair off: what stands in a string isn't known for sure any more.
    doubt: bool,
    /// Whether the word so far is one, of characters that numbers and literals have.
    one: bool,
    /// The end of the string at hand, in case the next call of a list stands in it: only if `siblings` says that it
    /// may.
    tail: Recent,
    siblings: bool,
    /// The next call of the list begins with the quotation mark that was read last: this one's string has no end.
    resumed: bool,
    /// Whether the word at hand has a quotation mark in it that no other closes: what follows may be a string.
    odd: bool,
    mate: Mate,
    /// Bytes read beyond what went out directly.
    owed: usize,
    /// How many bytes were looked at more than once, each counted for every further time.
    looks: Looks,
    /// Whether the word of this place and length is a number or a literal.
    judged: (usize, usize, bool),
    /// How many bytes must stand at the front before it is tried again to decide what the first of them is.
    patience: usize,
    notes: Vec<Note>,
    kinds: u32,
}

/// How many bytes there must be for another look, where so many didn't tell. All looks together stay in proportion to
/// the input.
pub(super) const fn patience(bytes: usize) -> usize {
    bytes + if bytes < 16 { bytes.div_ceil(2) + bytes / 4 } else { bytes / 2 } + 1
}

impl Json {
    /// For a value inside a region that ends with one of `closers`.
    pub(super) fn new(max_depth: usize, closers: &'static [&'static str]) -> Self {
        Self {
            out: Vec::new(),
            state: State::Value,
            back: State::Value,
            stack: Stack::default(),
            quote: Quote::Double,
            key: false,
            doubtful: false,
            colon: false,
            marks: InnerMarks::default(),
            ended: 0,
            mark: 0,
            comma: None,
            high: None,
            last_byte: 0,
            newline: false,
            at: 0,
            start: 0,
            skip_depth: 0,
            skip_text: false,
            skip_escape: false,
            max_depth,
            whole: false,
            strict: false,
            closers,
            markers: true,
            next: Next::default(),
            deep: None,
            too_deep: false,
            broken: false,
            lost: false,
            line: false,
            blank: false,
            endless: false,
            lines: 0,
            doubt: false,
            tail: Recent::default(),
            siblings: false,
            resumed: false,
            one: false,
            odd: false,
            mate: Mate::default(),
            owed: 0,
            looks: Looks::default(),
            judged: (0, 0, false),
            patience: 0,
            notes: Vec::new(),
            kinds: 0,
        }
    }

    /// For a whole text: every mend is noted, containers that are too deep become `null`.
    pub(super) fn whole(max_depth: usize, closers: &'static [&'static str], start: usize) -> Self {
        Self { whole: true, markers: false, at: start, ..Self::new(max_depth, closers) }
    }

    /// So many bytes are to come, and a few may be added.
    pub(super) fn expect(&mut self, bytes: usize) {
        self.out.reserve(bytes + bytes / 8 + 16);
    }

    /// For a value inside a call of a dialect.
    pub(super) fn before(mut self, next: Next) -> Self {
        self.next = next;
        self.endless = next.endless();
        self
    }

    /// As it stands in the text, so that a sibling of the call may begin in a string without an end.
    pub(super) fn in_place(&mut self) {
        self.siblings = self.next.has_siblings() || self.next.has_markers();
    }

    /// Whether the key of the next call begins behind what was read: its quotation mark came last.
    pub(super) fn resumed(&self) -> bool {
        self.resumed
    }

    /// Whether another call began before the value's end was near.
    pub(super) fn lost(&self) -> bool {
        self.lost
    }

    /// Begins inside an object whose opening brace is missing.
    pub(super) fn open_object(&mut self) {
        self.note(Mend::MissingOpener, self.at);
        self.opens(true);
    }

    /// Whether nothing is open but perhaps a word at the top.
    pub(super) fn closed(&self) -> bool {
        self.ended() || (self.state == State::Word && self.stack.len == 0)
    }

    /// All that was read, for a whole text.
    pub(super) fn into_text(self) -> (Vec<u8>, Vec<Note>) {
        (self.out, self.notes)
    }

    /// Says no more where something would have to be mended; it is read to its end all the same.
    pub(super) fn strict(&mut self) {
        self.strict = !self.broken;
    }

    /// Whether something would have had to be.
    pub(super) fn broken(&self) -> bool {
        self.broken
    }

    /// No more of it is given out.
    pub(super) fn mute(&mut self) {
        let safe = self.safe();
        self.breaks(safe);
    }

    fn breaks(&mut self, safe: usize) {
        self.strict = false;
        self.broken = true;
        self.deep = Some(self.deep.map_or(safe, |deep| deep.min(safe)));
    }

    /// Whether the value is at its end.
    pub(super) fn ended(&self) -> bool {
        self.state == State::End
    }

    /// Whether the value is nested deeper than allowed. It is read to its end, but no more of it is given out.
    pub(super) fn too_deep(&self) -> bool {
        self.too_deep
    }

    /// Whether quotation marks within a string were escaped that don't pair off: its end isn't known then.
    pub(super) fn unbalanced(&self) -> bool {
        self.marks.unbalanced
    }

    /// Whether anything was mended so far.
    pub(super) fn mended(&self) -> bool {
        self.kinds != 0
    }

    /// The kinds of mends so far, a bit each.
    pub(super) fn kinds(&self) -> u32 {
        self.kinds
    }

    /// Whether nothing was read yet.
    pub(super) fn untouched(&self) -> bool {
        self.at == 0
    }

    /// How many bytes are held back or not yet taken out.
    pub(super) fn held(&self) -> usize {
        self.out.len()
    }

    /// Text in the middle of a string that can go out without being copied. It counts as read.
    #[inline]
    pub(super) fn glide<'a>(&mut self, input: &'a [u8]) -> &'a str {
        if self.state != State::Text || self.quote != Quote::Double || !self.out.is_empty() || self.deep.is_some() {
            return "";
        }
        // A key may be looked at more closely.
        if self.key {
            return "";
        }
        let mut unpaired = self.marks.unpaired;
        let clean = input.get(..ahead::clean(input, &mut unpaired)).unwrap_or_default();
        let text = match utf8::text(clean) {
            Ok(text) => text,
            Err(error) => {
                let valid = clean.get(..error.valid_up_to()).unwrap_or_default();
                unpaired = self.marks.unpaired;
                ahead::clean(valid, &mut unpaired);
                std::str::from_utf8(valid).unwrap_or_default()
            }
        };
        self.marks.unpaired = unpaired;
        self.remember(text.as_bytes());
        self.at += text.len();
        text
    }

    /// Valid JSON at the front that can go out without being copied. It counts as read.
    pub(super) fn direct<'a>(&mut self, input: &'a [u8]) -> &'a str {
        match self.state {
            State::Key | State::Value | State::AfterValue
                if input.len() >= SHORT && self.out.is_empty() && self.deep.is_none() =>
            {
                self.direct_tokens(input)
            }
            _ => self.glide(input),
        }
    }

    fn direct_tokens<'a>(&mut self, input: &'a [u8]) -> &'a str {
        let found = self.valid(input);
        // A comma may have to go; it is read again on the other way.
        let (length, state) = found.comma.map_or((found.length, found.state), |comma| (comma, State::AfterValue));
        let text = input.get(..length).unwrap_or_default();
        self.state = state;
        if length > 0 {
            // Other bytes stand at the front.
            self.looks.settle();
        }
        self.passes(text);
        match std::str::from_utf8(text) {
            Ok(text) => {
                self.at += text.len();
                text
            }
            Err(error) => {
                // The tokens are read; what is no UTF-8 is replaced when they are taken out.
                let (valid, rest) = text.split_at(error.valid_up_to());
                self.at += text.len();
                self.owed = rest.len();
                self.out.extend_from_slice(rest);
                std::str::from_utf8(valid).unwrap_or_default()
            }
        }
    }

    /// How many bytes after the last direct text were read with it.
    pub(super) fn owed(&mut self) -> usize {
        std::mem::take(&mut self.owed)
    }

    /// Tries again with the next byte what couldn't be decided.
    pub(super) fn hurry(&mut self) {
        self.patience = 0;
    }

    /// How many bytes were looked at more than once since this was asked last.
    pub(super) fn looks(&mut self) -> usize {
        std::mem::take(&mut self.looks.count)
    }

    /// What can't change any more, as text. A character that isn't whole yet stays.
    pub(super) fn take(&mut self, last: bool, mut say: impl FnMut(&str)) {
        let mut safe = self.safe();
        if !last && safe == self.out.len() {
            safe = ahead::whole_characters(&self.out);
        }
        if safe == 0 {
            return;
        }
        let said = self.deep.map_or(safe, |deep| deep.min(safe));
        say(&String::from_utf8_lossy(self.out.get(..said).unwrap_or_default()));
        self.deep = self.deep.map(|deep| deep - said);
        if safe == self.out.len() {
            self.out.clear();
        } else {
            self.out.drain(..safe);
        }
        self.mark = self.mark.saturating_sub(safe);
        self.comma = self.comma.map(|comma| comma.saturating_sub(safe));
        self.high = self.high.map(|high| high.saturating_sub(safe));
    }

    /// Nobody wants the text: no more of it is kept than what is looked at again.
    pub(super) fn forget(&mut self) {
        if self.out.len() > MOST_MUTE {
            self.out.truncate(self.safe() + MOST_MUTE);
        }
    }

    fn safe(&self) -> usize {
        let mut safe = match self.state {
            State::Escape | State::Hex(..) | State::AfterText | State::AfterTextComma | State::Word => self.mark,
            _ => self.out.len(),
        };
        if let Some(high) = self.high {
            safe = safe.min(high);
        }
        if let Some(comma) = self.comma {
            safe = safe.min(comma);
        }
        safe
    }
}
