//! Where a raw value ends. Values of XML-like markup escape nothing, so a closing element counts only if what may follow one
//! follows it, white space aside: the next parameter, the end of the call, the wrapper's closer, another call or the end of the text.
//! Otherwise it is part of the value. Holds back one element and a bounded run of white space, and looks at no byte more than a few times.

use std::sync::atomic::{AtomicUsize, Ordering};

use memchr::memchr;

/// What a mark is. Sets of these are written with `|`.
pub(super) type Class = u16;
/// Opens the next value (`<parameter`).
pub(super) const OPEN: Class = 1;
/// Closes a value.
pub(super) const END: Class = 2;
/// Closes the call.
pub(super) const CALL_END: Class = 4;
/// Closes what stands around the calls; the parser's to take.
pub(super) const CLOSER: Class = 8;
/// Opens a call.
pub(super) const CALL: Class = 16;
/// `<![CDATA[`.
pub(super) const CDATA: Class = 32;
/// `]]>`.
pub(super) const CDATA_END: Class = 64;
/// Opens another call with an element that names it.
pub(super) const NEXT: Class = 128;
/// Opens another call, whose bare name stands behind it.
pub(super) const NAMED: Class = 256;
/// Opens what stands around calls; `NEXT` or `NAMED` has to follow.
pub(super) const AROUND: Class = 512;
/// Shows that another call begins.
pub(super) const FURTHER: Class = NEXT | NAMED | AROUND;

/// What may follow a value's closing element.
const FOLLOW: Class = OPEN | CALL_END | CLOSER | FURTHER;
/// White space between two elements beyond which they don't belong together.
pub(super) const MAX_SPACE: usize = 1024;

/// The longest name of a parameter that may show a missing closing element.
const MAX_NAME: usize = 128;
/// The longest opening element, name or key.
pub(super) const MAX_HEAD: usize = 1024;

pub(super) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    start: usize,
    end: usize,
    class: Class,
    bound: Bound,
}

/// What must follow a mark: after `<parameter` white space or `=`, so that it isn't `<parameters>`. It isn't part of the mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    Nothing,
    Space,
    Equals,
}

impl Bound {
    fn holds(self, byte: u8) -> bool {
        match self {
            Self::Nothing => true,
            Self::Space => is_space(byte),
            Self::Equals => byte == b'=',
        }
    }
}

/// The strings that mean something in one grammar. The first 64 count.
#[derive(Debug, Default, Clone)]
pub(super) struct Marks {
    text: Vec<u8>,
    list: Vec<Mark>,
    longest: usize,
    looks: Looks,
}

/// How many bytes were looked at more than once. Counted by whoever looks, taken by the grammar.
#[derive(Debug, Default)]
struct Looks(AtomicUsize);

impl Clone for Looks {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Marks {
    /// Adds the concatenation of `parts`.
    pub(super) fn add(&mut self, class: Class, bound: Bound, parts: &[&str]) {
        let start = self.text.len();
        for part in parts {
            self.text.extend_from_slice(part.as_bytes());
        }
        let end = self.text.len();
        if end > start && self.list.len() < 64 {
            self.longest = self.longest.max(end - start);
            self.list.push(Mark { start, end, class, bound });
        }
    }

    /// Whether any of these stands here, what must follow it aside. `rest` is longer than each of them.
    fn start(&self, classes: Class, rest: &[u8]) -> bool {
        // Most bytes that begin like a mark go on otherwise at once.
        let (second, third) = (rest.get(1), rest.get(2));
        self.list.iter().any(|mark| {
            mark.class & classes != 0
                && self.text.get(mark.start + 1) == second
                && (self.text.get(mark.start + 2) == third || mark.end - mark.start < 3)
                && self.text.get(mark.start..mark.end).is_some_and(|text| rest.starts_with(text))
        })
    }

    fn of(&self, classes: Class) -> u64 {
        let marks = self.list.iter().enumerate();
        marks.fold(0, |set, (index, mark)| if mark.class & classes == 0 { set } else { set | 1 << index })
    }

    fn touch(&self, bytes: usize) {
        // One grammar at a time counts here: no need to do it at once.
        self.looks.0.store(self.looks.0.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
    }

    /// How many bytes were looked at more than once since this was asked last.
    pub(super) fn looked(&self) -> usize {
        let looks = self.looks.0.load(Ordering::Relaxed);
        self.looks.0.store(0, Ordering::Relaxed);
        looks
    }
}

/// What stands at a place, white space aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// A mark of this class, from `start` to before `end`.
    Mark { class: Class, start: usize, end: usize },
    /// Something else, from here.
    Other(usize),
    /// More white space than there may be.
    Space,
    /// Nothing but white space so far.
    Nothing,
    /// What may become a mark, from here.
    Part(usize),
}

/// Looks for a mark at a place, in steps: it never looks twice at a byte of an input that grew at its end.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Look {
    /// Where it began.
    begin: usize,
    /// Where it goes on.
    at: usize,
    /// Where the mark may begin; nothing yet while `alive` is 0.
    start: usize,
    alive: u64,
}

impl Look {
    pub(super) fn at(at: usize) -> Self {
        Self { begin: at, at, start: at, alive: 0 }
    }

    /// Up to where it looked.
    pub(super) const fn reached(&self) -> usize {
        self.at
    }

    /// The first `bytes` of the input were taken.
    pub(super) fn shift(&mut self, bytes: usize) {
        self.begin = self.begin.saturating_sub(bytes);
        self.at = self.at.saturating_sub(bytes);
        self.start = self.start.saturating_sub(bytes);
    }

    pub(super) fn step(&mut self, marks: &Marks, wanted: Class, input: &[u8]) -> Seen {
        if self.alive == 0 {
            while input.get(self.at).is_some_and(|byte| is_space(*byte)) {
                self.at += 1;
                if self.at - self.begin > MAX_SPACE {
                    return Seen::Space;
                }
            }
            if self.at >= input.len() {
                return Seen::Nothing;
            }
            self.start = self.at;
            self.alive = marks.of(wanted);
        }
        while let Some(byte) = input.get(self.at) {
            let matched = self.at - self.start;
            let mut set = self.alive;
            while set != 0 {
                let index = set.trailing_zeros();
                let bit = 1 << index;
                set &= set - 1;
                let Some(mark) = marks.list.get(index as usize) else { continue };
                let length = mark.end - mark.start;
                if matched == length {
                    // Only a bounded mark stays alive beyond its end.
                    if mark.bound.holds(*byte) {
                        return Seen::Mark { class: mark.class, start: self.start, end: self.at };
                    }
                    self.alive &= !bit;
                } else if marks.text.get(mark.start + matched) != Some(byte) {
                    self.alive &= !bit;
                } else if matched + 1 == length && mark.bound == Bound::Nothing {
                    return Seen::Mark { class: mark.class, start: self.start, end: self.at + 1 };
                }
            }
            if self.alive == 0 {
                return Seen::Other(self.start);
            }
            self.at += 1;
        }
        Seen::Part(self.start)
    }
}

/// How a value goes on after the bytes that are surely its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// More bytes are needed. What isn't the value's for sure comes again.
    More,
    /// The value ends; its closing markup is so many bytes.
    End(usize),
    /// The value ends without its closing element; so many bytes (a newline) before what follows are markup.
    Unclosed(usize),
    /// At the start of a line an element opens that names a parameter: its name stands here, counted from the end of what is
    /// surely the value's. If it may not be that the last closing element was forgotten, `Until::deny` says so.
    Opens { from: usize, to: usize },
    /// Within CDATA: so many bytes end one section and begin the next of the same value.
    Rejoin(usize),
    /// Words stood behind the value's closing element, and here stands what closes the call, so many bytes of it: where the value
    /// ended isn't known, but the call did.
    Broken(usize),
    /// Another call opens, whose head stands here, counted from the end of what is surely the value's: `element` says whether it
    /// is an element's inside or a bare name. If it names a tool, the value ended with so many bytes of closing markup; with none,
    /// words stood behind its closing element. If it doesn't, `Until::deny` says so.
    Calls { from: usize, to: usize, element: bool, bytes: usize },
    /// The text ends inside the value.
    Cut,
}

/// Why a call is broken whose value has words behind its closing element.
pub(super) const WORDS: &str = "words stand behind a value's closing element";

/// Looks for the end of one value.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Until {
    /// Whether a possible end is being looked at; it begins at `base`.
    trying: bool,
    wanted: Class,
    base: usize,
    /// How many bytes before the first mark are markup too.
    newline: usize,
    /// Where the closing markup ends, once it was seen.
    end: usize,
    /// Where the name begins in an opening element that may show a missing closing one, and how far its end was looked for.
    name: usize,
    seen: usize,
    /// What that name is: `OPEN` a parameter's, `NEXT` or `NAMED` a call's.
    names: Class,
    /// Where to go on: what stands before it was looked at.
    from: usize,
    look: Look,
    /// A closing element stood in the value, and words behind it.
    doubt: bool,
}

/// What ends values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// The first byte of each mark that may end a value.
    pub(super) first: u8,
    /// Which marks may: `END` and, where a missing closing element is tolerated, `CALL_END` and `OPEN`; within CDATA `CDATA_END`.
    pub(super) ends: Class,
    /// Whether one newline, `\n` or `\r\n`, before the end belongs to the markup.
    pub(super) newline: bool,
    /// Which more marks may end it once a closing element stood in it with words behind it: then it isn't known any more to hold
    /// none, and the call has to end somewhere.
    pub(super) doubtful: Class,
}

impl Until {
    /// How many bytes at the front of `input` are surely the value's, and what then. Those bytes must all be taken before
    /// the next step, except where `held` says that nothing is held behind them.
    pub(super) fn step(&mut self, marks: &Marks, rule: Rule, input: &[u8], last: bool) -> (usize, Verdict) {
        let mut from = std::mem::take(&mut self.from);
        loop {
            if !self.trying {
                let rest = input.get(from..).unwrap_or_default();
                let Some(at) = memchr(rule.first, rest) else {
                    let held = if rule.newline { newline(input).max(usize::from(input.ends_with(b"\r"))) } else { 0 };
                    return (input.len() - held, if last { Verdict::Cut } else { Verdict::More });
                };
                let at = from + at;
                self.newline = if rule.newline { newline(input.get(..at).unwrap_or_default()) } else { 0 };
                let ends = if self.newline > 0 { rule.ends } else { rule.ends & !OPEN };
                let ends = if self.doubt { ends | rule.doubtful } else { ends };
                let rest = input.get(at..).unwrap_or_default();
                if rest.len() > marks.longest && !marks.start(ends, rest) {
                    marks.touch(2);
                    from = at + 1;
                    continue;
                }
                self.trying = true;
                self.base = at - self.newline;
                self.end = 0;
                self.name = 0;
                self.wanted = ends;
                self.look = Look::at(at);
            }
            if let Some(verdict) = self.attempt(marks, input, last) {
                let data = self.base;
                match verdict {
                    Verdict::More => {
                        self.look.shift(data);
                        self.end = self.end.saturating_sub(data);
                        self.name = self.name.saturating_sub(data);
                        self.seen = self.seen.saturating_sub(data);
                        self.base = 0;
                    }
                    _ => self.trying = false,
                }
                return (data, verdict);
            }
            // It is part of the value, as is whatever precedes the next place to try.
            self.trying = false;
            self.doubt |= self.end > 0;
            from = self.again(marks);
        }
    }

    /// What was found to open is part of the value. The input comes again as it was, nothing of it taken.
    pub(super) fn deny(&mut self, marks: &Marks) {
        self.doubt |= self.end > 0;
        self.from = self.again(marks);
    }

    /// Where the next end may begin; up to where this one was followed, bytes are looked at once more.
    fn again(&self, marks: &Marks) -> usize {
        let next = self.base + self.newline + 1;
        let reach = if self.name > 0 { self.seen } else { self.look.at + 1 };
        marks.touch(reach.saturating_sub(next));
        next
    }

    /// Whether bytes are held behind those that are the value's.
    pub(super) fn held(&self) -> bool {
        self.trying
    }

    /// What comes of the possible end; `None` if it is none.
    fn attempt(&mut self, marks: &Marks, input: &[u8], last: bool) -> Option<Verdict> {
        loop {
            if self.name > 0 && self.names == NAMED {
                return self.named(input, last);
            }
            if self.name > 0 {
                let rest = input.get(self.seen..).unwrap_or_default();
                let found = memchr(b'>', rest.get(..MAX_NAME).unwrap_or(rest));
                let found = found.map(|at| self.seen + at);
                self.seen = found.map_or(input.len().min(self.seen + MAX_NAME), |at| at + 1);
                return match found {
                    Some(to) if to - self.name <= MAX_NAME && self.names == NEXT => Some(self.calls(to)),
                    Some(to) if to - self.name <= MAX_NAME => {
                        Some(Verdict::Opens { from: self.name - self.base, to: to - self.base })
                    }
                    None if input.len() - self.name <= MAX_NAME => {
                        Some(if last { Verdict::Cut } else { Verdict::More })
                    }
                    _ => None,
                };
            }
            let seen = self.look.step(marks, self.wanted, input);
            let follows = self.wanted & CLOSER != 0 && self.wanted & END == 0;
            match seen {
                Seen::Nothing | Seen::Part(_) if !last => return Some(Verdict::More),
                // Nothing follows, or the beginning of what may.
                Seen::Nothing | Seen::Part(_) => return Some(if follows { self.ended() } else { Verdict::Cut }),
                Seen::Mark { class: class @ (NEXT | NAMED), end, .. } => {
                    self.name = end;
                    self.seen = end;
                    self.names = class;
                }
                Seen::Mark { class: AROUND, end, .. } => {
                    self.wanted = NEXT | NAMED;
                    self.look = Look::at(end);
                }
                Seen::Mark { .. } if follows => return Some(self.ended()),
                Seen::Mark { class: END, end, .. } => {
                    self.end = end;
                    self.wanted = FOLLOW;
                    self.look = Look::at(end);
                }
                Seen::Mark { class: CLOSER, start, end } => return Some(Verdict::Broken(end - start)),
                Seen::Mark { class: CALL_END, end, .. } => {
                    self.wanted = CLOSER;
                    self.look = Look::at(end);
                }
                Seen::Mark { class: OPEN, end, .. } => {
                    self.name = end;
                    self.seen = end;
                    self.names = OPEN;
                }
                Seen::Mark { class: CDATA_END, end, .. } => {
                    self.end = end;
                    self.wanted = END | CDATA;
                    self.look = Look::at(end);
                }
                Seen::Mark { class: CDATA, start, end } if start == self.end => {
                    return Some(Verdict::Rejoin(end - self.base));
                }
                Seen::Mark { .. } | Seen::Other(_) | Seen::Space => return None,
            }
        }
    }

    /// Looks for the end of a bare name.
    fn named(&mut self, input: &[u8], last: bool) -> Option<Verdict> {
        while let Some(byte) = input.get(self.seen) {
            if self.seen - self.name > MAX_NAME {
                return None;
            }
            let begun = self.seen > self.name && input.get(self.seen - 1).is_some_and(|byte| !is_space(*byte));
            self.seen += 1;
            if is_space(*byte) || *byte == b'<' {
                if begun {
                    return Some(self.calls(self.seen - 1));
                }
                if *byte == b'<' {
                    return None;
                }
            }
        }
        Some(if last { Verdict::Cut } else { Verdict::More })
    }

    fn calls(&self, to: usize) -> Verdict {
        let bytes = self.end.saturating_sub(self.base);
        Verdict::Calls { from: self.name - self.base, to: to - self.base, element: self.names == NEXT, bytes }
    }

    fn ended(&self) -> Verdict {
        if self.end > 0 { Verdict::End(self.end - self.base) } else { Verdict::Unclosed(self.newline) }
    }
}

/// How many bytes of a newline, of either kind, stand at the end.
fn newline(text: &[u8]) -> usize {
    if text.ends_with(b"\r\n") { 2 } else { usize::from(text.ends_with(b"\n")) }
}

/// Looks for a string, in steps: of an input that grew at its end it looks again at no more than what may be the string's beginning.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seek {
    at: usize,
}

impl Seek {
    /// Where the string begins.
    pub(super) fn step(&mut self, needle: &str, input: &[u8]) -> Option<usize> {
        let needle = needle.as_bytes();
        let rest = input.get(self.at..).unwrap_or_default();
        let found = memchr::memmem::find(rest, needle);
        let before = self.at;
        self.at += rest.len() - begun(rest, needle);
        found.map(|found| before + found)
    }
}

/// How many bytes at the end of `input` are the beginning of `needle`, the longest such.
pub(super) fn begun(input: &[u8], needle: &[u8]) -> usize {
    let most = input.len().min(needle.len().saturating_sub(1));
    (1..=most)
        .rev()
        .find(|&length| needle.starts_with(input.get(input.len() - length..).unwrap_or_default()))
        .unwrap_or(0)
}
