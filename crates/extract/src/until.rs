//! Where a raw value ends. Values of XML-like markup escape nothing, so a closing element counts only if what may
//! follow one follows it, white space aside: the next parameter, the end of the call, the wrapper's closer, another
//! call or the end of the text. Otherwise it is part of the value. Holds back one element and a bounded run of white
//! space, and looks at no byte more than a few times.
//!
//! A missing closing element is shown by the call's, or the wrapper's, with the wrapper's, another call or the end of
//! the text behind it; by the opening of a parameter that may come next; by that of another call where a line begins.
//! If a closing element stood in the value with words behind it, the same shows that the call is broken: where its
//! value ended isn't known. What a cut left of a marker is no word: where another call opens behind it the closing
//! element counts.

mod marks;
mod seek;

use memchr::{memchr, memchr2};

pub(super) use marks::{Bound, Look, Marks, Seen};
pub(super) use seek::{Seek, begun};

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
/// Shows by itself that a value's closing element is missing.
pub(super) const SURE: Class = 1024;
/// Opens the next value, if not as the dialect writes it.
pub(super) const ODDLY: Class = 2048;
/// Opens it without a name.
pub(super) const UNNAMED: Class = 4096;
/// Opens a call as another dialect writes it whose calls are closed alike: one that a value quotes.
pub(super) const ODD_CALL: Class = 8192;
/// Shows that another call begins.
pub(super) const FURTHER: Class = NEXT | NAMED | AROUND;

/// What stands behind the opening of a call, beside an object: words there are talk of it.
const WITHIN_CALL: Class = OPEN | CALL_END | CLOSER | CDATA | UNNAMED | ODDLY;
/// What may follow a value's closing element.
const FOLLOW: Class = OPEN | CALL_END | CLOSER | FURTHER;
/// The most markers that stand around a call: a section's, the call's, and what may stand between that and the call.
const MOST_AROUND: u8 = 3;
/// White space between two elements beyond which they don't belong together.
pub(super) const MAX_SPACE: usize = 1024;

/// The longest name of a parameter that may show a missing closing element.
const MAX_NAME: usize = 128;
/// The longest opening element, name or key.
pub(super) const MAX_HEAD: usize = 1024;

pub(super) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
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
    /// An element opens that names a parameter: its name stands here, counted from the end of what is surely the
    /// value's. It shows that the last closing element was forgotten (so many bytes before it are markup), or
    /// `Until::deny` says that it doesn't.
    Opens { from: usize, to: usize, newline: usize },
    /// Within CDATA: so many bytes end one section and begin the next of the same value.
    Rejoin(usize),
    /// Another call opens, whose head stands here, counted from the end of what is surely the value's: `element` says
    /// whether it is an element's inside or a bare name. If it names a tool, the value ended with so many bytes of
    /// markup, its closing element among them if it is `closed`. If it doesn't, `Until::deny` says so.
    Calls { from: usize, to: usize, element: bool, bytes: usize, closed: bool },
    /// The text ends inside the value.
    Cut,
}

/// Why a call is broken whose value has words behind its closing element.
pub(super) const WORDS: &str = "words stand behind a value's closing element";
/// Why a call is broken whose value was opened twice: the second opening may be the value's own, a piece of a call that
/// it quotes.
pub(super) const OPENED_TWICE: &str = "a parameter that was opened twice";
/// What is said of a value that something else than its own closing element ended.
pub(super) const UNCLOSED: &str = "a parameter without its closing element";
/// What is said of a value or key whose closing element was written more than once.
pub(super) const CLOSED_AGAIN: &str = "a closing element that stands there twice; both are one";

/// How much of a possible end was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Front,
    /// Behind the value's closing element.
    Closed,
    /// The same, where it stands more than once.
    ClosedAgain,
    /// Behind what closes the call or what stands around it, where the value's closing element is missing.
    Shut,
    /// Behind what closes the call, and words behind that: the next mark tells.
    Words,
    /// Behind the opening element of a call that stands in the value: what follows tells whether it is one.
    Quoted,
}

impl Phase {
    fn closed(self) -> bool {
        matches!(self, Self::Closed | Self::ClosedAgain)
    }
}

/// Looks for the end of one value.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "what was seen, each by itself")]
pub(super) struct Until {
    /// Whether a possible end is being looked at; it begins at `base`.
    trying: bool,
    phase: Phase,
    wanted: Class,
    base: usize,
    /// How many bytes before the first mark are markup too.
    newline: usize,
    /// Where the closing markup ends, once it was seen.
    end: usize,
    /// Where the name begins in an opening element that may show a missing closing one, and how far its end was looked
    /// for.
    name: usize,
    seen: usize,
    /// Where a bare name ends, once that was seen.
    named: usize,
    /// What that name is: `OPEN` a parameter's, `NEXT` or `NAMED` a call's.
    names: Class,
    /// How many elements that stand around calls were seen to open.
    around: u8,
    /// What a cut left of a marker stands behind the value's closing element: only another call shows that it ends.
    torn: bool,
    /// Where to go on: what stands before it was looked at.
    from: usize,
    look: Look,
    /// The last byte before the input, of those that were the value's.
    before: Option<u8>,
    /// A closing element stood in the value, and words behind it.
    doubt: bool,
    /// Something of the value was passed that is no white space.
    solid: bool,
    /// A mark is being looked at behind words.
    within: bool,
    /// How many calls are open that the value quotes.
    calls: usize,
    /// The value quotes a call: from there on nothing but its own closing element ends it.
    quotes: bool,
    /// Behind such a call something stood that ends a value which quotes none.
    strays: bool,
    /// Up to here the input was read as such a call's markup; 0 where it wasn't.
    skip: usize,
    /// How many backticks the value ends with so far, and whether it stands within a code fence: no call opens there.
    ticks: usize,
    fenced: bool,
    /// What opens a call stands in that fence.
    shown: bool,
}

/// How many backticks make a fence.
const FENCE: usize = 3;
/// How far behind what closes a call something may stand that shows it to be the value's.
const MAX_WORDS: usize = 1024;

/// Whether there is nothing but white space.
pub(super) fn blank(text: Option<&[u8]>) -> bool {
    text.is_none_or(|text| text.iter().all(u8::is_ascii_whitespace))
}

/// What ends values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// The first byte of each mark that may end a value.
    pub(super) first: u8,
    /// Which marks may: `END` and, where it is missing, others; within CDATA `CDATA_END`.
    pub(super) ends: Class,
    /// Whether one newline, `\n` or `\r\n`, before the end belongs to the markup.
    pub(super) newline: bool,
    /// Which of them count only where a line begins.
    pub(super) lines: Class,
    /// Whether what closes the call shows by itself that the value's closing element is missing, whatever follows; and
    /// whether it does so once words stood behind such an element.
    pub(super) sure: bool,
    pub(super) alone: bool,
    /// Whether nothing stands around the calls: words behind one may be prose.
    pub(super) bare: bool,
    /// What ends the opening element of a parameter, and of a call that is named in one.
    pub(super) head: &'static str,
    /// Whether that element is all that stands before a value: it may have been written twice.
    pub(super) opens: bool,
    /// Whether it is known what closes the value: where it quotes a call nothing else ends it.
    pub(super) named: bool,
}

impl Rule {
    /// What opens a value.
    pub(super) const fn value(self) -> Class {
        if self.opens { OPEN | UNNAMED | ODDLY } else { CDATA }
    }
}

impl Until {
    /// How many bytes at the front of `input` are surely the value's, and what then. Those bytes must all be taken
    /// before the next step, except where `held` says that nothing is held behind them.
    pub(super) fn step(&mut self, marks: &Marks, rule: Rule, input: &[u8], last: bool) -> (usize, Verdict) {
        let found = self.search(marks, rule, input, last);
        if let Some(byte) = found.0.checked_sub(1).and_then(|at| input.get(at)) {
            self.before = Some(*byte);
            self.solid = self.solid || !blank(input.get(..found.0));
        }
        found
    }

    /// Whether these bytes are the value's and nothing among them can end it, which is soon said where no end is being
    /// looked at. They count as taken then. `first` is the first byte of each mark.
    #[inline]
    pub(super) fn passes(&mut self, first: u8, bytes: &[u8]) -> bool {
        if self.trying || self.from > 0 || self.ticks > 0 || bytes.iter().any(|byte| *byte == first || *byte == b'`') {
            return false;
        }
        self.before = bytes.last().copied().or(self.before);
        self.solid = self.solid || !blank(Some(bytes));
        true
    }

    fn search(&mut self, marks: &Marks, rule: Rule, input: &[u8], last: bool) -> (usize, Verdict) {
        let mut from = std::mem::take(&mut self.from);
        loop {
            if !self.trying {
                if self.ticks > 0 {
                    from = self.fence(input, from);
                }
                let rest = input.get(from..).unwrap_or_default();
                let Some(at) = memchr2(rule.first, b'`', rest) else {
                    let held = if rule.newline { newline(input).max(usize::from(input.ends_with(b"\r"))) } else { 0 };
                    return (input.len() - held, if last { Verdict::Cut } else { Verdict::More });
                };
                let at = from + at;
                if input.get(at) == Some(&b'`') {
                    self.ticks = 1;
                    from = at + 1;
                    continue;
                }
                let before = input.get(..at).unwrap_or_default();
                self.newline = if rule.newline { newline(before) } else { 0 };
                let ends = self.ends(rule, before.last());
                let rest = input.get(at..).unwrap_or_default();
                if rest.len() > marks.longest && !marks.start(ends, rest) {
                    marks.touch(2);
                    from = at + 1;
                    continue;
                }
                self.trying = true;
                self.phase = Phase::Front;
                self.base = at - self.newline;
                self.end = 0;
                self.name = 0;
                self.named = 0;
                self.around = 0;
                self.torn = false;
                self.wanted = ends;
                self.look = Look::at(at);
            }
            if let Some(verdict) = self.attempt(marks, rule, input, last) {
                let data = self.base;
                match verdict {
                    Verdict::More => {
                        self.look.shift(data);
                        self.end = self.end.saturating_sub(data);
                        self.name = self.name.saturating_sub(data);
                        self.named = self.named.saturating_sub(data);
                        self.seen = self.seen.saturating_sub(data);
                        self.base = 0;
                    }
                    _ => self.trying = false,
                }
                return (data, verdict);
            }
            // It is part of the value, as is whatever precedes the next place to try.
            self.trying = false;
            self.doubt |= self.phase.closed();
            let quoted = std::mem::take(&mut self.skip);
            from = if quoted > 0 { quoted } else { self.again(marks) };
        }
    }

    /// Reads on in a run of backticks, of which some were seen. Gives where to go on.
    fn fence(&mut self, input: &[u8], from: usize) -> usize {
        let rest = input.get(from..).unwrap_or_default();
        let more = rest.iter().take_while(|byte| **byte == b'`').count();
        self.ticks += more;
        if more < rest.len() {
            self.fenced ^= self.ticks >= FENCE;
            self.shown &= self.fenced;
            self.ticks = 0;
        }
        from + more
    }

    /// What may end the value behind this byte of it, or opens or closes a call that it quotes.
    fn ends(&self, rule: Rule, before: Option<&u8>) -> Class {
        let opens = rule.ends & FURTHER | ODD_CALL;
        if self.calls > 0 {
            return opens | rule.ends & (CALL_END | CLOSER);
        }
        let before = before.copied().or(self.before);
        let begins = before.is_none_or(|byte| byte == b'\n');
        let further = if self.doubt { rule.ends & OPEN } else { 0 };
        // Where nothing parts it from the value, what opens the next one isn't talked about.
        let tight = before.is_some_and(|byte| !is_space(byte));
        let lines = if tight { rule.lines & !OPEN } else { rule.lines };
        opens | if begins { rule.ends } else { rule.ends & !lines | further }
    }

    /// What may follow here.
    fn may_follow(&self, classes: Class) -> Class {
        if self.fenced { classes & !FURTHER } else { classes }
    }

    /// What was found to open is part of the value. The input comes again as it was, nothing of it taken.
    pub(super) fn deny(&mut self, marks: &Marks) {
        self.doubt |= self.phase.closed();
        self.from = self.again(marks);
    }

    /// Whether it isn't known where the value ended: its closing element may have stood before words in it.
    pub(super) fn doubts(&self) -> bool {
        self.doubt || self.fenced
    }

    /// Whether what opens a call stands in a code fence of the value that nothing closes: the value may have ended
    /// before it.
    pub(super) fn shows(&self) -> bool {
        self.shown
    }

    /// Where the next end may begin, behind a mark that was seen; what followed that is looked at once more.
    fn again(&self, marks: &Marks) -> usize {
        let next = match self.phase {
            Phase::Closed | Phase::ClosedAgain | Phase::Shut | Phase::Words => self.end,
            Phase::Front | Phase::Quoted => self.base + self.newline + 1,
        };
        let reach = match self.phase {
            Phase::Words | Phase::Quoted => self.seen.max(self.look.reached() + 1),
            _ if self.named > 0 => self.look.reached() + 1,
            _ if self.name > 0 => self.seen,
            _ => self.look.reached() + 1,
        };
        marks.touch(reach.saturating_sub(next));
        next
    }

    /// Whether the value quotes a call.
    pub(super) fn quotes(&self) -> bool {
        self.quotes
    }

    /// Whether something stood behind a quoted call that may be the next parameter: it isn't known whose it is.
    pub(super) fn strays(&self) -> bool {
        self.strays
    }

    /// What was found to open is part of the value that quotes a call, if it isn't the next parameter. See
    /// [`deny`](Self::deny).
    pub(super) fn stray(&mut self, marks: &Marks) {
        self.strays = true;
        self.deny(marks);
    }

    /// Whether what a cut left of a marker ended the value: the call is broken whatever follows.
    pub(super) fn torn(&self) -> bool {
        self.torn
    }

    /// Whether the closing element that ended the value stands there more than once.
    pub(super) fn closed_again(&self) -> bool {
        self.phase == Phase::ClosedAgain
    }

    /// Whether nothing but white space was the value's so far.
    pub(super) fn is_blank(&self) -> bool {
        !self.solid
    }

    /// Whether bytes are held behind those that are the value's.
    pub(super) fn held(&self) -> bool {
        self.trying
    }

    /// What comes of the possible end; `None` if it is none.
    fn attempt(&mut self, marks: &Marks, rule: Rule, input: &[u8], last: bool) -> Option<Verdict> {
        loop {
            if self.name > 0 {
                return match if self.names == NAMED { self.named(marks, input) } else { self.head(rule, input) } {
                    Seen::Other(to) if self.names == OPEN => {
                        Some(Verdict::Opens { from: self.name - self.base, to: to - self.base, newline: self.newline })
                    }
                    Seen::Other(to) => {
                        // The call at hand is torn: that it ends here is sure, that it is whole isn't.
                        self.doubt |= self.torn;
                        Some(Verdict::Calls {
                            from: self.name - self.base,
                            to: to - self.base,
                            element: self.names == NEXT,
                            bytes: if self.phase.closed() { self.end - self.base } else { self.newline },
                            closed: self.phase.closed() && !self.torn,
                        })
                    }
                    Seen::Nothing if !last => Some(Verdict::More),
                    Seen::Nothing if self.phase == Phase::Front => Some(Verdict::Cut),
                    Seen::Nothing => Some(self.ended()),
                    _ => None,
                };
            }
            if self.phase == Phase::Words {
                return self.words(marks, rule, input, last);
            }
            if self.phase == Phase::Quoted {
                return self.quoted(marks, rule, input, last);
            }
            match (self.look.step(marks, self.wanted, input), self.phase) {
                (Seen::Nothing | Seen::Part(_), _) if !last => return Some(Verdict::More),
                (Seen::Nothing | Seen::Part(_), Phase::Front) => return Some(Verdict::Cut),
                (Seen::Mark { class: SURE, .. }, Phase::Front) if self.quotes && rule.named => {
                    self.strays = true;
                    return None;
                }
                (Seen::Nothing | Seen::Part(_), _) if self.torn => return None,
                // Nothing follows, or the beginning of what may.
                (Seen::Nothing | Seen::Part(_), _) | (Seen::Mark { class: SURE, .. }, Phase::Front) => {
                    return Some(self.ended());
                }
                (Seen::Mark { class: class @ (CALL_END | CLOSER), end, .. }, Phase::Front)
                    if self.calls > 0 || (self.quotes && rule.named) =>
                {
                    if class == CALL_END {
                        self.calls = self.calls.saturating_sub(1);
                    }
                    self.skip = end;
                    return None;
                }
                (Seen::Mark { class: class @ (NEXT | NAMED | ODD_CALL), end, .. }, phase) => {
                    self.seen = end;
                    self.names = if class == ODD_CALL { NEXT } else { class };
                    if phase == Phase::Front {
                        self.shown |= self.fenced;
                        self.phase = Phase::Quoted;
                        self.end = end;
                        self.within = false;
                    } else {
                        self.name = end;
                    }
                }
                (Seen::Mark { class: AROUND, end, .. }, _) => {
                    self.around += 1;
                    self.wanted = if self.around < MOST_AROUND { FURTHER } else { NEXT | NAMED };
                    self.look = Look::at(end);
                }
                (Seen::Mark { class: END, end, .. }, Phase::Front) => {
                    self.phase = Phase::Closed;
                    self.end = end;
                    // Once more it may stand there, unless the value holds nothing else, or talks of it.
                    let again = (self.solid || !blank(input.get(..self.base))) && !self.doubt;
                    self.wanted = self.may_follow(if again { FOLLOW | END } else { FOLLOW });
                    self.look = Look::at(end);
                }
                // Models write it twice now and then.
                (Seen::Mark { class: END, end, .. }, phase)
                    if phase.closed() && self.wanted & (END | FOLLOW) == self.wanted =>
                {
                    self.phase = Phase::ClosedAgain;
                    self.end = end;
                    self.look = Look::at(end);
                }
                (Seen::Mark { class: class @ (CALL_END | CLOSER), end, .. }, Phase::Front) => {
                    if rule.sure || (rule.alone && self.doubt) {
                        return Some(self.ended());
                    }
                    self.phase = Phase::Shut;
                    self.end = end;
                    self.wanted = self.may_follow(CLOSER | FURTHER);
                    self.names = class;
                    self.look = Look::at(end);
                }
                (Seen::Mark { class: OPEN, end, .. }, Phase::Front) => {
                    self.name = end;
                    self.seen = end;
                    self.names = OPEN;
                }
                (Seen::Mark { class: CDATA_END, end, .. }, Phase::Front) => {
                    self.phase = Phase::Closed;
                    self.end = end;
                    self.wanted = END | CDATA | CALL_END | CLOSER | OPEN;
                    self.look = Look::at(end);
                }
                (Seen::Mark { class: END, end, .. }, _) if self.wanted & CDATA != 0 => {
                    self.end = end;
                    self.wanted = FOLLOW;
                    self.look = Look::at(end);
                }
                (Seen::Mark { class: CDATA, start, end }, _) if start == self.end => {
                    return Some(Verdict::Rejoin(end - self.base));
                }
                // Nothing is closed twice: the same once more is what a value talks of.
                (Seen::Mark { class: CLOSER, start, end }, Phase::Shut)
                    if input.get(self.base + self.newline..self.end) == input.get(start..end) =>
                {
                    return None;
                }
                (Seen::Other(_) | Seen::Space, Phase::Shut) if rule.bare && self.names == CALL_END => {
                    self.phase = Phase::Words;
                    self.seen = self.end;
                    self.within = false;
                }
                (Seen::Other(at), phase)
                    if phase.closed() && !self.torn && self.wanted & FURTHER == FURTHER && at < self.look.reached() =>
                {
                    self.torn = true;
                    self.wanted = FURTHER;
                    self.look = Look::at(self.look.reached());
                }
                (Seen::Mark { class: OPEN | CALL_END | CLOSER, .. }, _) => {
                    let missing = self.wanted & CDATA != 0;
                    return Some(if missing { Verdict::Unclosed(self.end - self.base) } else { self.ended() });
                }
                _ => return None,
            }
        }
    }

    /// Words stand behind what closes the call, whose value isn't closed: another call shows that it is over, more of
    /// its own elements that the closer is the value's.
    fn words(&mut self, marks: &Marks, rule: Rule, input: &[u8], last: bool) -> Option<Verdict> {
        let reach = self.base + MAX_WORDS;
        loop {
            if !self.within {
                let near = input.get(self.seen..input.len().min(reach)).unwrap_or_default();
                let Some(at) = memchr(rule.first, near) else {
                    self.seen += near.len();
                    if input.len() < reach && !last {
                        return Some(Verdict::More);
                    }
                    if input.len() >= reach {
                        return None;
                    }
                    // Nothing shows which of the two it is, and the value isn't closed.
                    self.doubt = true;
                    return Some(self.ended());
                };
                self.seen += at;
                self.within = true;
                self.look = Look::at(self.seen);
            }
            match self.look.step(marks, END | CALL_END | OPEN | self.may_follow(NEXT), input) {
                Seen::Mark { class: NEXT, .. } => return Some(self.ended()),
                Seen::Mark { .. } => return None,
                Seen::Nothing | Seen::Part(_) if !last => return Some(Verdict::More),
                _ => {}
            }
            marks.touch(self.look.reached().saturating_sub(self.seen));
            self.seen += 1;
            self.within = false;
        }
    }

    /// What opens a call stands in the value. It does open one, whatever name it has, if the next of the grammar's
    /// marks is one that may stand in a call, or its arguments' object is, and nothing but that name parts the two.
    fn quoted(&mut self, marks: &Marks, rule: Rule, input: &[u8], last: bool) -> Option<Verdict> {
        let reach = self.end + MAX_HEAD;
        let found = loop {
            if !self.within {
                let near = input.get(self.seen..input.len().min(reach)).unwrap_or_default();
                let Some(at) = memchr2(rule.first, b'{', near) else {
                    self.seen += near.len();
                    if input.len() < reach && !last {
                        return Some(Verdict::More);
                    }
                    break false;
                };
                self.seen += at;
                self.within = true;
                self.look = Look::at(self.seen);
            }
            let head = input.get(self.end..self.seen).unwrap_or_default();
            if input.get(self.seen) == Some(&b'{') {
                if self.is_head(rule, head, false) {
                    break true;
                }
            } else {
                match self.look.step(marks, Class::MAX, input) {
                    Seen::Nothing | Seen::Part(_) if !last => return Some(Verdict::More),
                    // Nothing of the grammar stands between the two: whatever they are, they belong together.
                    Seen::Mark { class: CALL_END, end, .. } if self.calls > 0 => {
                        self.skip = end;
                        return None;
                    }
                    Seen::Mark { class, .. } => {
                        let named = if self.names == NEXT { WITHIN_CALL } else { CALL_END | CLOSER };
                        let inside = class & (OPEN | CALL | UNNAMED) != 0;
                        break (inside || class & named != 0) && self.is_head(rule, head, inside);
                    }
                    _ => marks.touch(self.look.reached().saturating_sub(self.seen)),
                }
            }
            self.seen += 1;
            self.within = false;
        };
        if found {
            self.quote(self.seen);
        } else if self.names == NEXT {
            // Nothing stands in it, and nothing closes it.
            let head = input.get(self.end..self.seen).unwrap_or_default();
            let end = memchr::memmem::find(head, rule.head.as_bytes());
            self.quotes |= end.and_then(|end| head.get(end.checked_sub(1)?)) == Some(&b'/');
        }
        None
    }

    /// Whether this, behind what opens a call, is the rest of that opening: an element's, which ends here and has
    /// something in it, or a bare name, of several words only where what follows it stands in calls alone (`inside`).
    fn is_head(&self, rule: Rule, head: &[u8], inside: bool) -> bool {
        let text = head.trim_ascii();
        if self.names == NEXT {
            // Without a name it opens nothing, and one that closes itself holds nothing.
            let blank = |byte: &u8| is_space(*byte) || matches!(byte, b'=' | b'"' | b'\'');
            let name = text.strip_suffix(rule.head.as_bytes());
            return name.is_some_and(|name| !name.ends_with(b"/") && !name.iter().all(blank));
        }
        let word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(*byte, b'<' | b'&' | b'_') || !byte.is_ascii();
        let begins = head.trim_ascii_start().len() == head.len() || head.starts_with(b"\n");
        let words = inside && begins && text.first().is_some_and(word) && !text.contains(&b'\n');
        words || text.first().is_some_and(word) && !text.iter().any(u8::is_ascii_whitespace)
    }

    /// Looks for the end of an opening element: `Other` says where it stands, `Nothing` that more is needed.
    fn head(&mut self, rule: Rule, input: &[u8]) -> Seen {
        let most = self.name + MAX_NAME + rule.head.len();
        let reach = input.get(self.seen..input.len().min(most)).unwrap_or_default();
        // A key that stands by itself holds no markup.
        if let Some(at) = memchr2(b'<', *rule.head.as_bytes().first().unwrap_or(&b'<'), reach)
            && reach.get(at..).is_some_and(|rest| {
                let length = rest.len().min(rule.head.len());
                rest.get(..length) != rule.head.as_bytes().get(..length)
            })
        {
            self.seen += at + 1;
            return Seen::Space;
        }
        if let Some(at) = memchr::memmem::find(reach, rule.head.as_bytes()) {
            let to = self.seen + at;
            self.seen = to + rule.head.len();
            return Seen::Other(to);
        }
        if input.len() >= most {
            self.seen = most;
            return Seen::Space;
        }
        self.seen = self.seen.max((input.len() + 1).saturating_sub(rule.head.len()));
        Seen::Nothing
    }

    /// Looks for the end of a bare name, and behind it for what may follow a call's name.
    fn named(&mut self, marks: &Marks, input: &[u8]) -> Seen {
        while self.named == 0 {
            let Some(byte) = input.get(self.seen) else { return Seen::Nothing };
            if self.seen - self.name > MAX_NAME {
                return Seen::Space;
            }
            let begun = self.seen > self.name && input.get(self.seen - 1).is_some_and(|byte| !is_space(*byte));
            if is_space(*byte) || *byte == b'<' {
                if begun {
                    self.named = self.seen;
                    self.look = Look::at(self.seen);
                } else if *byte == b'<' {
                    self.seen += 1;
                    return Seen::Space;
                }
            }
            self.seen += 1;
        }
        // Words, or the end of a value, show that the value talks of it.
        match self.look.step(marks, OPEN | CALL_END | CLOSER | CALL | UNNAMED, input) {
            Seen::Nothing | Seen::Part(_) => Seen::Nothing,
            Seen::Mark { .. } => Seen::Other(self.named),
            Seen::Other(at) if input.get(at) == Some(&b'{') => Seen::Other(self.named),
            _ => Seen::Space,
        }
    }

    /// A call opens in the value, which goes on here: up to what closes that one, nothing ends the value.
    fn quote(&mut self, to: usize) {
        self.quotes = true;
        self.calls += 1;
        self.skip = to;
    }

    fn ended(&self) -> Verdict {
        if self.phase.closed() { Verdict::End(self.end - self.base) } else { Verdict::Unclosed(self.newline) }
    }
}

/// Whether a value is read back whole if these close it and its call.
pub(super) fn holds(marks: &Marks, rule: Rule, value: &str, (end, call_end): (&str, &str)) -> bool {
    let text = [value, end, call_end].concat();
    let mut until = Until::default();
    let found = until.step(marks, rule, text.as_bytes(), false);
    found == (value.len(), Verdict::End(end.len())) && !until.shows() && !until.quotes()
}

/// Where a mark stands in bytes that nothing else is known of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// More bytes are needed.
    More,
    /// Nowhere near, or nowhere at all.
    Nowhere,
    /// A mark of this class, from `start` to before `end`.
    Mark { class: Class, start: usize, end: usize },
}

/// Looks for the first of some marks no further off than an opening element may be long, in steps.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Search {
    at: usize,
    trying: bool,
    look: Look,
}

impl Search {
    /// From here on.
    pub(super) fn from(at: usize) -> Self {
        Self { at, ..Self::default() }
    }

    /// `first` is the first byte of each mark.
    pub(super) fn step(&mut self, marks: &Marks, wanted: Class, first: u8, input: &[u8], last: bool) -> Found {
        loop {
            if !self.trying {
                let near = input.get(..input.len().min(MAX_HEAD)).unwrap_or_default();
                let Some(at) = memchr(first, near.get(self.at..).unwrap_or_default()) else {
                    self.at = near.len();
                    return if last || near.len() == MAX_HEAD { Found::Nowhere } else { Found::More };
                };
                self.at += at;
                self.trying = true;
                self.look = Look::at(self.at);
            }
            match self.look.step(marks, wanted, input) {
                Seen::Mark { class, start, end } => return Found::Mark { class, start, end },
                Seen::Nothing | Seen::Part(_) if !last => return Found::More,
                _ => {}
            }
            marks.touch(self.look.reached() - self.at);
            self.pass();
        }
    }

    /// What stands at the place that was found isn't what is looked for.
    pub(super) fn pass(&mut self) {
        self.trying = false;
        self.at += 1;
    }
}

/// How many bytes of a newline, of either kind, stand at the end.
fn newline(text: &[u8]) -> usize {
    if text.ends_with(b"\r\n") { 2 } else { usize::from(text.ends_with(b"\n")) }
}
