//! The push-down scanner: prose, fences, inline code, reasoning, inert regions and calls, one pass, nothing looked at twice
//! but a few held bytes. `extract` is the parser fed once.

use std::{fmt, sync::Arc};

use memchr::{memchr, memrchr};

use super::{
    after::After,
    arguments::{TOO_DEEP, TOO_LARGE},
    bodies::{Boxed, body_for},
    body::Step,
    call::Source,
    desk::{Calls, Desk, Mode, Probe},
    dialect::{Dialect, Glances, Inert, Reasoning},
    event::{Dropped, Events, ProblemKind, Span},
    harmony::Header,
    line::{Around, Line, closing_run},
    markers::{Markers, Role, Walk},
    policy::Policy,
    prose::{Candidate, Twice},
    signature::Signatures,
    walker::Walker,
    writer::{Voice, Writer, dropped, problem},
};

/// A section around calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct Section {
    pub(super) dialect: &'static Dialect,
    /// How many calls there were before it: if no more come of it, its markers were text.
    pub(super) before: usize,
}

/// The region that a body reads.
pub(super) struct Region {
    dialect: &'static Dialect,
    body: Boxed,
    /// The length of the marker that became text if there is no call here.
    marker: usize,
    /// Which of the candidates at this place it is; the largest number: not counted among them.
    ordinal: usize,
    bare: bool,
    /// How many bytes before the body's are markers.
    opener: usize,
    /// How many bytes are taken while no call began; the markers are the first of them.
    taken: usize,
    /// Where the body's bytes begin.
    start: usize,
    /// Up to where the body may see the input; grows with what it took.
    block: usize,
    /// Up to where the body saw the input.
    seen: usize,
    /// Up to where the body had to see when the last call began.
    floor: usize,
}

/// Where the parser stands.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Place {
    #[default]
    Prose,
    /// A body reads.
    Region,
    /// Behind a call, where closers may stand.
    After(After),
    /// In an echoed result that began at the given place.
    Inert { inert: &'static Inert, start: usize },
    /// Behind a call that broke: its remains are dropped if its closer comes soon.
    Remains { dialect: &'static Dialect, kind: ProblemKind, call: usize, seen: usize },
    /// A marker behind open backticks: the line's end tells.
    Code(Code),
}

/// A marker behind open backticks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Code {
    pub(super) backticks: usize,
    /// Whether the backticks begin a code fence if no others close them on their line.
    pub(super) fence: bool,
    pub(super) marker: usize,
    pub(super) ordinal: usize,
    /// The call that may begin here.
    pub(super) call: Option<Candidate>,
    pub(super) seen: usize,
    /// Where the line ends, if the call doesn't end on it.
    pub(super) first: Option<usize>,
}

/// Reasoning around the current place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Thinking {
    Not,
    /// Opened by this markup.
    In(&'static Reasoning),
    /// Opened in the prompt, by whichever markup.
    Prompted,
}

/// The most bytes held in the hope that the backticks before a marker are closed on its line.
const MOST_CODE: usize = 4096;
/// The most of a broken call's remains that are dropped.
const MOST_REMAINS: usize = 1024;
/// What a region may hold before its call's name, next to arguments that come first.
const MOST_HEADER: usize = 64 * 1024;
/// How much a body sees at first.
const BLOCK: usize = 32;
/// What may be looked at in vain before that has to stay in proportion to the input, and in which: one look in so many bytes.
pub(super) const FREE: usize = 4096;
pub(super) const VAIN: usize = 4;

/// Takes a reply in pieces and says what is in it.
pub struct Parser {
    pub(super) markers: Arc<Markers>,
    pub(super) tools: Option<Signatures>,
    pub(super) policy: Policy,
    pub(super) writer: Writer,
    pub(super) calls: Calls,
    pub(super) line: Line,
    pub(super) place: Place,
    pub(super) region: Option<Region>,
    pub(super) section: Option<Section>,
    pub(super) thinking: Thinking,
    pub(super) framed: bool,
    /// A candidate at the front of what is held: how far its marker was followed, and which meanings are ruled out.
    pub(super) waiting: Option<(Walk, usize)>,
    /// A header at the front of what is held.
    pub(super) message: Header,
    /// Up to here everything is text, whatever it says.
    pub(super) inert_until: usize,
    /// Inside a rejected bare object, and up to where that was followed.
    pub(super) walker: Option<Walker>,
    pub(super) walked: usize,
    /// What was seen behind markers.
    pub(super) glances: Glances,
    /// How far a marker was followed that stands somewhere else than where prose is decided on, and where.
    pub(super) sought: (usize, Walk),
    /// Whether the marker that ends at a place stands there twice.
    pub(super) doubled: (usize, Twice),
    /// The markers that the candidate begins with that is being decided on.
    pub(super) met: Walk,
    /// Where the next byte stands that is not settled.
    pub(super) at: usize,
    /// Bytes looked at by bodies that came to nothing.
    pub(super) spent: usize,
    /// Up to here no marker means anything: too much was looked at in vain.
    pub(super) dead: usize,
    pub(super) touched: u64,
    carry: Vec<u8>,
    finished: bool,
    /// The region's body is asked again although it has seen all there is.
    again: bool,
    /// Whether the reader was told that the text ended in what may have been a call.
    said_cut: bool,
    /// Where the candidate stands that is being decided on.
    pub(super) front: usize,
    /// No marker begins before this place, and no brace or bracket stands there, as far as they were looked for.
    pub(super) unmarked: usize,
    /// Up to here markers were looked for last, and none was found.
    pub(super) searched: usize,
    pub(super) unbraced: usize,
    /// No newline stands between the last marker behind backticks and here.
    flat_until: usize,
}

impl fmt::Debug for Parser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parser")
            .field("at", &self.at)
            .field("held", &self.carry.len())
            .field("calls", &self.calls.count)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

impl Parser {
    /// A parser for a model that was told of `tools` (`None`: any name counts as a tool), reading `dialects` (`None`: all).
    pub fn new(tools: Option<Signatures>, dialects: Option<&[&str]>, policy: Policy) -> Self {
        let thinking = if policy.starts_in_reasoning { Thinking::Prompted } else { Thinking::Not };
        Self {
            markers: Markers::of(dialects, policy.bare_json),
            tools,
            policy,
            writer: Writer::default(),
            calls: Calls::default(),
            line: Line::default(),
            place: Place::Prose,
            region: None,
            section: None,
            thinking,
            framed: false,
            waiting: None,
            message: Header::default(),
            inert_until: 0,
            walker: None,
            walked: 0,
            glances: Glances::default(),
            sought: (0, Walk::default()),
            doubled: (0, Twice::No),
            met: Walk::default(),
            at: 0,
            spent: 0,
            dead: 0,
            touched: 0,
            carry: Vec::new(),
            finished: false,
            again: false,
            said_cut: false,
            front: 0,
            unmarked: 0,
            searched: 0,
            unbraced: 0,
            flat_until: 0,
        }
    }

    /// Takes the next bytes, cut anywhere, and appends what they say.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Events) {
        if self.finished {
            return;
        }
        self.writer.begin(out);
        let mut rest = bytes;
        if !self.carry.is_empty() {
            let mut carry = std::mem::take(&mut self.carry);
            let mut fed = 0;
            loop {
                // As much as is held, and no less than a few lines: the copying stays in proportion.
                let take = (bytes.len() - fed).min(carry.len().max(1024));
                carry.extend_from_slice(bytes.get(fed..fed + take).unwrap_or_default());
                fed += take;
                let used = self.run(&carry, false, out);
                let left = carry.len() - used;
                if fed == bytes.len() {
                    carry.drain(..used);
                    self.carry = carry;
                    return;
                }
                if left <= fed {
                    // What is left stands wholly in these bytes: they are read in place from here on.
                    rest = bytes.get(fed - left..).unwrap_or_default();
                    carry.clear();
                    self.carry = carry;
                    break;
                }
                carry.drain(..used);
            }
        }
        let straight = self.straight(rest, out);
        let rest = rest.get(straight..).unwrap_or_default();
        if !rest.is_empty() {
            let used = self.run(rest, false, out);
            self.carry.extend_from_slice(rest.get(used..).unwrap_or_default());
        }
    }

    /// The bulk of a long argument goes by here without ceremony. Gives how many bytes did.
    fn straight(&mut self, input: &[u8], out: &mut Events) -> usize {
        let (Place::Region, Mode::Live, Some(region)) = (self.place, self.calls.mode, &mut self.region) else {
            return 0;
        };
        let limit = self.calls.arguments_from.saturating_add(self.policy.max_argument_bytes);
        if input.len() >= limit.saturating_sub(self.at).min(self.calls.room(self.policy.max_argument_bytes)) {
            return 0;
        }
        let json = region.body.straight(input);
        if json.is_empty() {
            return 0;
        }
        let span = Span { start: self.at, end: self.at + json.len() };
        self.at = span.end;
        self.touched += json.len() as u64;
        region.seen = region.seen.max(span.end);
        while region.block <= span.end {
            region.block = region.block.saturating_add((region.block - region.start).max(1));
        }
        self.calls.straight(json, span, &mut self.writer, out);
        json.len()
    }

    /// Says that nothing follows.
    pub fn finish(&mut self, out: &mut Events) {
        if self.finished {
            return;
        }
        self.finished = true;
        self.writer.begin(out);
        let mut carry = std::mem::take(&mut self.carry);
        let mut asked = None;
        while let Some(region) = self.region.as_mut().filter(|region| asked != Some((region.start, region.ordinal))) {
            // All that can be known before the end is known is known first, however patient the grammar was: of this region, and of
            // those that are tried in its place.
            asked = Some((region.start, region.ordinal));
            region.body.hurry();
            self.again = true;
            let used = self.run(&carry, false, out);
            self.again = false;
            carry.drain(..used);
        }
        let used = self.run(&carry, true, out);
        let rest = carry.get(used..).unwrap_or_default();
        self.writer.text(self.voice(), rest, self.at, out);
        self.calls.close(self.at, &mut self.writer, out);
        self.writer.settle(out);
    }

    /// How many bytes were looked at so far to decide what they are, each counted every time it was: by the search for markers and
    /// braces, by what follows the line, by each grammar that tried, and by each look ahead. Writing events isn't counted.
    pub fn touched(&self) -> u64 {
        self.touched + self.calls.looked + self.line.looked + self.glances.looked
    }

    /// Goes on as far as `input` allows; gives how much of it is settled.
    fn run(&mut self, input: &[u8], last: bool, out: &mut Events) -> usize {
        let mut used = 0;
        loop {
            let rest = input.get(used..).unwrap_or_default();
            let (settled, on) = match self.place {
                Place::Region => self.read_region(rest, last, out),
                Place::Prose => self.read_prose(rest, last, out),
                Place::After(after) => self.read_after(after, rest, last, out),
                Place::Inert { inert, start } => self.read_inert(inert, start, rest, last, out),
                Place::Remains { dialect, kind, call, seen } => {
                    self.read_remains(dialect, kind, call, seen, rest, last, out)
                }
                Place::Code(code) => self.read_code(code, rest, last),
            };
            let settled = settled.min(rest.len());
            used += settled;
            self.at += settled;
            if !on {
                return used;
            }
        }
    }

    pub(super) fn voice(&self) -> Voice {
        if matches!(self.thinking, Thinking::Not) { Voice::Prose } else { Voice::Reasoning }
    }

    /// Opens a region at the current place.
    pub(super) fn enter(&mut self, candidate: &Candidate, source: Source) {
        let body = body_for(candidate.dialect, source == Source::Bare);
        self.walker = None;
        if let Some(section) = candidate.section {
            self.section = Some(Section { dialect: section, before: self.calls.consumed });
        }
        self.calls.region(self.at + candidate.call, source, self.voice());
        self.region = Some(Region {
            dialect: candidate.dialect,
            body,
            marker: candidate.marker,
            ordinal: candidate.ordinal,
            bare: source == Source::Bare,
            opener: candidate.opener,
            taken: candidate.opener,
            start: self.at + candidate.opener,
            block: self.at + candidate.opener + BLOCK,
            seen: self.at + candidate.opener,
            floor: 0,
        });
        self.place = Place::Region;
    }

    /// Hands bytes to the body.
    fn read_region(&mut self, whole: &[u8], last: bool, out: &mut Events) -> (usize, bool) {
        let Some(region) = self.region.as_mut() else {
            self.place = Place::Prose;
            return (0, true);
        };
        let mode = self.calls.mode;
        let count = self.calls.count;
        let pending = mode == Mode::Pending;
        let (from, limit) = match mode {
            Mode::Pending => (region.taken, usize::MAX),
            Mode::Live => {
                let limit = self.calls.arguments_from.saturating_add(self.policy.max_argument_bytes).max(region.floor);
                (0, limit.saturating_sub(self.at))
            }
            // A call that begins here must not be far over its limit before that is seen.
            _ => {
                let step = self.policy.max_argument_bytes.max(BLOCK);
                (0, region.seen.saturating_sub(self.at).saturating_add(step))
            }
        };
        // Never much more than it has come through so far: a call that breaks early hasn't seen the rest.
        let looked_to = region.block;
        let block = looked_to.saturating_sub(self.at);
        let mut end = whole.len().min(limit).min(block);
        if mode != Mode::Live && end.saturating_sub(from) > self.policy.max_argument_bytes {
            region.body.hurry();
            // Byte by byte, so that a call over its limit is seen to begin where it does.
            let known = region.seen.saturating_sub(self.at).max(from + self.policy.max_argument_bytes);
            end = end.min(known + 1);
        }
        if end == limit {
            // What is known here must not depend on when it was asked.
            region.body.hurry();
        }
        let last = last && end == whole.len();
        if !last && !std::mem::take(&mut self.again) && self.at + end <= region.seen && whole.len() <= end {
            return (0, false);
        }
        let seen = region.seen;
        region.seen = region.seen.max(self.at + end);
        let mut desk = Desk {
            calls: &mut self.calls,
            tools: self.tools.as_ref(),
            policy: &self.policy,
            writer: &mut self.writer,
            out,
            dialect: region.dialect,
            whole,
            base: self.at,
            used: from,
            text_from: 0,
        };
        let step = region.body.step(whole.get(from..end).unwrap_or_default(), last, &mut desk);
        if step != Step::More {
            // What a call over the limit was cut at is settled.
            desk.used = desk.used.max(desk.calls.dropped_to.saturating_sub(desk.base));
        }
        desk.used = desk.used.min(end);
        let used = desk.used;
        desk.write_text(used);
        let mode = self.calls.mode;
        if self.calls.count != count {
            region.floor = self.at + end;
        }
        // What is over was looked at as far as it was taken, and a byte more; else all that was shown counts.
        let over = step != Step::More && mode != Mode::Pending;
        let looked = self.at + if over { end.min(used + 1) } else { end };
        self.touched += looked.saturating_sub(seen) as u64;
        if pending && mode == Mode::Pending {
            region.taken = used;
        }
        if end == block && step == Step::More {
            region.block = region.block.saturating_add(region.block - region.start);
        }
        match step {
            Step::More if last => self.cut_off(used, whole, out),
            Step::More if mode == Mode::Pending => {
                if whole.len() > end {
                    (0, true)
                } else if whole.len() > self.policy.max_argument_bytes.saturating_add(MOST_HEADER)
                    || (region.bare && whole.len() > MOST_HEADER)
                {
                    self.reject()
                } else {
                    (0, false)
                }
            }
            // Only what stands behind the limit shows that the call is over it.
            Step::More
                if mode == Mode::Live && self.calls.count == count && !pending && end == limit && whole.len() > end =>
            {
                self.overflow(used, end, whole, out);
                (used, true)
            }
            Step::More
                if mode != Mode::Live && end - used > self.policy.max_argument_bytes.saturating_add(MOST_HEADER) =>
            {
                // Text, or dropped, and the body holds on to more of it than a call may have.
                self.leave_region(mode == Mode::Text);
                (used, true)
            }
            Step::More => (used, whole.len() > end),
            Step::Done if mode == Mode::Pending => {
                if region.bare {
                    return self.reject();
                }
                // A region without a call, such as an empty list.
                self.writer.markup(Span { start: self.at, end: self.at + used }, out);
                self.leave_region(false);
                (used, true)
            }
            Step::Done => {
                self.leave_region(mode == Mode::Text);
                (used, true)
            }
            Step::Failed(_) if mode == Mode::Pending && last => self.reject_cut(self.at + end, out),
            Step::Failed(_) if mode == Mode::Pending => self.reject(),
            Step::Failed(why) => {
                let dialect = region.dialect;
                let kind = broke(why);
                self.region = None;
                self.line.interrupted();
                if mode == Mode::Live {
                    let call = self.calls.count.saturating_sub(1);
                    let why = format!("the call ended before its arguments did: {why}");
                    self.calls.break_off(self.at + used, kind, &why, &mut self.writer, out);
                    let often = self.spent > (self.at / VAIN).saturating_add(FREE);
                    self.place = if often || dialect.close.iter().all(|close| close.is_empty()) {
                        Place::Prose
                    } else {
                        Place::Remains { dialect, kind, call, seen: 0 }
                    };
                    self.spent = self.spent.saturating_add(looked_to.saturating_sub(self.at + used));
                    if self.spent > (self.at / VAIN).saturating_add(FREE) {
                        self.inert_until = looked_to;
                        self.place = Place::Prose;
                    }
                } else {
                    self.place = Place::After(After { dialect, text: mode == Mode::Text });
                }
                (used, true)
            }
        }
    }

    /// The open call is over the limit, which stands at `end`. What its body gave out so far depends on the cuts; what it would give
    /// out if the text ended there doesn't.
    fn overflow(&mut self, used: usize, end: usize, whole: &[u8], out: &mut Events) {
        if let Some(region) = &self.region {
            let mut body = region.body.clone();
            self.calls.flushing = true;
            let mut desk = Desk {
                calls: &mut self.calls,
                tools: self.tools.as_ref(),
                policy: &self.policy,
                writer: &mut self.writer,
                out,
                dialect: region.dialect,
                whole,
                base: self.at,
                used,
                text_from: used,
            };
            body.step(whole.get(used..end).unwrap_or_default(), true, &mut desk);
            self.touched += (end - used) as u64;
        }
        self.calls.overflow(self.at + end, &mut self.writer, out);
    }

    fn leave_region(&mut self, text: bool) {
        if let Some(region) = self.region.take() {
            self.place = Place::After(After { dialect: region.dialect, text });
        }
        self.line.interrupted();
    }

    /// The text ended while the body needed more.
    fn cut_off(&mut self, used: usize, whole: &[u8], out: &mut Events) -> (usize, bool) {
        let end = self.at + whole.len();
        match self.calls.mode {
            Mode::Pending => return self.reject_cut(end, out),
            Mode::Text => {
                let rest = whole.get(used..).unwrap_or_default();
                self.writer.text(self.calls.voice, rest, self.at + used, out);
            }
            Mode::Live => {
                let why = "the text ended inside the call";
                self.calls.break_off(end, ProblemKind::Incomplete, why, &mut self.writer, out);
            }
            Mode::Between | Mode::Dropping => {
                // What the body held between calls goes the way of what stands behind a call.
                self.leave_region(false);
                return (used, true);
            }
        }
        self.region = None;
        self.place = Place::Prose;
        (whole.len(), true)
    }

    /// There is no call here, and nothing follows: it may have been one.
    fn reject_cut(&mut self, end: usize, out: &mut Events) -> (usize, bool) {
        if !self.said_cut {
            self.said_cut = true;
            let message = "the text ended where a call may have begun; it stays text".to_owned();
            self.writer.problem(problem(ProblemKind::Incomplete, message, Span { start: self.at, end }), out);
        }
        self.reject()
    }

    /// There is no call here: what was held is text, and is read again from behind the marker, unless that was done too often.
    fn reject(&mut self) -> (usize, bool) {
        self.place = Place::Prose;
        let Some(region) = self.region.take() else { return (0, true) };
        // Where it broke, but for the last doubling: the same however the input was cut.
        let looked = region.block.saturating_sub(self.at);
        self.spent = self.spent.saturating_add(looked);
        if self.section.is_some_and(|section| section.before == self.calls.consumed) {
            self.section = None;
        }
        if region.taken > region.opener {
            // What the body took whole was of its grammar, but no call: nothing in it is looked at again.
            self.inert_until = self.at + region.taken;
        } else if self.spent > (self.at / VAIN).saturating_add(FREE) {
            self.inert_until = self.at + looked.max(region.marker);
        } else {
            self.waiting = Some((self.met, region.ordinal.wrapping_add(1)));
        }
        (0, true)
    }

    /// An echoed result: nothing in it means anything but its closer.
    fn read_inert(
        &mut self,
        inert: &'static Inert,
        start: usize,
        input: &[u8],
        last: bool,
        out: &mut Events,
    ) -> (usize, bool) {
        let (end, found) =
            self.seek(input, last, |role| matches!(role, Role::InertClose(closes) if closes.name == inert.name));
        if found == 0 && !last {
            return (end, false);
        }
        let end = end + found;
        let span = Span { start, end: self.at + end };
        let message = format!("a tool result ({}) was echoed; it was dropped", inert.name);
        self.writer.problem(dropped(ProblemKind::ToolResult, message, span, None, Dropped::ToolResult), out);
        self.place = Place::Prose;
        self.line.interrupted();
        (end, true)
    }

    /// What is left of a broken call.
    #[allow(clippy::too_many_arguments)]
    fn read_remains(
        &mut self,
        dialect: &'static Dialect,
        kind: ProblemKind,
        call: usize,
        seen: usize,
        input: &[u8],
        last: bool,
        out: &mut Events,
    ) -> (usize, bool) {
        let window = input.get(..MOST_REMAINS.min(input.len())).unwrap_or_default();
        let whole = last || window.len() == MOST_REMAINS;
        let mut from = seen;
        let mut end = None;
        loop {
            let Some(at) = self.markers.find(window, from, window.len()) else {
                self.touched += window.len().saturating_sub(from) as u64;
                if !whole {
                    let hold = self.markers.tail(window.get(from.min(window.len())..).unwrap_or_default());
                    self.place = Place::Remains { dialect, kind, call, seen: (window.len() - hold).max(from) };
                    return (0, false);
                }
                break;
            };
            self.touched += (at - from) as u64;
            let rest = window.get(at..).unwrap_or_default();
            let (walk, longer) = self.walk(at, rest);
            if longer && !whole {
                self.place = Place::Remains { dialect, kind, call, seen: at };
                return (0, false);
            }
            from = at + 3;
            let roles = self.markers.longest(&walk, usize::MAX).map_or(&[][..], |(_, roles)| roles);
            let closes = |role: &Role| match role {
                Role::CallClose(other) => other.close == dialect.close,
                Role::SectionClose(other) => other.section == dialect.section,
                _ => false,
            };
            if roles.iter().any(closes) {
                end = Some(at);
                break;
            }
            if roles.iter().any(|role| matches!(role, Role::Call(_) | Role::Section(_) | Role::Bodied(_))) {
                break;
            }
        }
        let Some(end) = end else {
            self.spent = self.spent.saturating_add(from.min(window.len()));
            self.place = Place::Prose;
            return (0, true);
        };
        if end > 0 {
            let span = Span { start: self.at, end: self.at + end };
            let why = if kind == ProblemKind::Malformed { Dropped::Malformed } else { Dropped::Limit };
            let message = "the remains of a broken call were dropped".to_owned();
            self.writer.problem(dropped(kind, message, span, Some(call), why), out);
        }
        self.place = Place::After(After { dialect, text: false });
        (end, true)
    }

    /// A marker behind backticks: if a run of as many closes them on this line, or on the one that the call ends on, they quote
    /// it. Backticks in the call itself don't count.
    fn read_code(&mut self, mut code: Code, input: &[u8], last: bool) -> (usize, bool) {
        let window = input.get(..MOST_CODE.min(input.len())).unwrap_or_default();
        let whole = last || window.len() == MOST_CODE;
        let Some(first) = code.first else {
            // What other markers on this line had to know already.
            let seen = code.seen.max(self.flat_until.saturating_sub(self.at)).min(window.len());
            let newline = memchr(b'\n', window.get(seen..).unwrap_or_default()).map(|at| seen + at);
            let flat = newline.unwrap_or(window.len());
            self.touched += flat.saturating_sub(seen) as u64;
            self.flat_until = self.flat_until.max(self.at + flat);
            if newline.is_none() && !whole {
                code.seen = window.len();
                self.place = Place::Code(code);
                return (0, false);
            }
            let line = window.get(..flat).unwrap_or_default();
            let (from, ended) = code.call.map_or((code.marker, true), |call| self.probe(&call, line));
            let closes = closing_run(line.get(from..).unwrap_or_default(), code.backticks);
            self.touched += closes.unwrap_or(line.len().saturating_sub(from)) as u64;
            if closes.is_none() && !ended && !code.fence && flat < window.len() && self.spent <= self.at / VAIN + FREE {
                // The call goes on behind this line, and so may the code around it: its paragraph's end tells.
                code.first = Some(flat);
                code.seen = flat;
                self.place = Place::Code(code);
                return (0, true);
            }
            return self.settle_code(code, flat, closes.map(|end| from + end));
        };
        let end = paragraph_end(window, code.seen);
        self.touched += end.unwrap_or(window.len()).saturating_sub(code.seen) as u64;
        if end.is_none() && !whole {
            code.seen = memrchr(b'\n', window).unwrap_or(code.seen).max(code.seen);
            self.place = Place::Code(code);
            return (0, false);
        }
        let paragraph = window.get(..end.unwrap_or(window.len())).unwrap_or_default();
        self.spent = self.spent.saturating_add(paragraph.len());
        let mut closes = None;
        if let Some(call) = code.call {
            let (from, ended) = self.probe(&call, paragraph);
            if ended {
                let from = behind_closers(call.dialect, paragraph, from);
                let rest = paragraph.get(from..).unwrap_or_default();
                let line = rest.get(..memchr(b'\n', rest).unwrap_or(rest.len())).unwrap_or_default();
                self.touched += line.len() as u64;
                closes = closing_run(line, code.backticks).map(|end| from + end);
            }
        }
        self.settle_code(code, first, closes)
    }

    /// What the backticks before the marker are, now that it is known whether they are closed, and where.
    fn settle_code(&mut self, code: Code, line: usize, closes: Option<usize>) -> (usize, bool) {
        self.place = Place::Prose;
        match closes {
            Some(end) => self.inert_until = self.at + end,
            None if code.fence => self.inert_until = self.at + line,
            None => {
                self.line.stray_backticks();
                self.waiting = Some((self.met, code.ordinal));
            }
        }
        (0, true)
    }

    /// How far the call reaches that may begin here, and whether it ends there.
    fn probe(&mut self, candidate: &Candidate, text: &[u8]) -> (usize, bool) {
        let mut body = body_for(candidate.dialect, false);
        let mut probe = Probe { tools: self.tools.as_ref(), policy: &self.policy, used: 0, started: None, looked: 0 };
        let inside = text.get(candidate.opener..).unwrap_or_default();
        let mut block = BLOCK;
        loop {
            let end = block.min(inside.len());
            let piece = inside.get(probe.used..end).unwrap_or_default();
            self.touched += piece.len() as u64;
            let step = body.step(piece, false, &mut probe);
            self.touched += std::mem::take(&mut probe.looked) as u64;
            match step {
                Step::Failed(_) => return (candidate.marker, true),
                Step::More if end < inside.len() => block = block.saturating_mul(2),
                step => return (candidate.opener + probe.used.min(inside.len()), step == Step::Done),
            }
        }
    }

    /// What stands around the next byte, where that matters.
    pub(super) fn around(&mut self) -> Around {
        if matches!(self.thinking, Thinking::Not) { self.line.around() } else { Around::Plain }
    }
}

/// Where the first blank line behind `from` begins.
fn paragraph_end(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let newline = at + memchr(b'\n', text.get(at..)?)?;
        let rest = text.get(newline + 1..).unwrap_or_default();
        let blank = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
        if rest.get(blank) == Some(&b'\n') {
            return Some(newline);
        }
        at = newline + 1 + blank;
    }
}

/// Where what closes a call and its section ends that stands at `from`.
fn behind_closers(dialect: &Dialect, text: &[u8], mut from: usize) -> usize {
    let section = dialect.section.map_or(&[][..], |section| section.1);
    for closers in [dialect.close, section] {
        let rest = text.get(from..).unwrap_or_default();
        let space = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let rest = rest.get(space..).unwrap_or_default();
        let closer =
            closers.iter().filter(|closer| rest.starts_with(closer.as_bytes())).map(|closer| closer.len()).max();
        if let Some(length) = closer.filter(|length| *length > 0) {
            from += space + length;
        }
    }
    from
}

/// What a body's word for its failure means.
fn broke(why: &str) -> ProblemKind {
    match why {
        TOO_DEEP => ProblemKind::TooDeep,
        TOO_LARGE => ProblemKind::ArgumentsTooLarge,
        _ => ProblemKind::Malformed,
    }
}

/// Everything in a whole text: fed once, finished.
pub fn extract(text: &[u8], tools: Option<Signatures>, dialects: Option<&[&str]>, policy: Policy) -> Events {
    let mut parser = Parser::new(tools, dialects, policy);
    let mut events = Events::new();
    parser.feed(text, &mut events);
    parser.finish(&mut events);
    events
}
