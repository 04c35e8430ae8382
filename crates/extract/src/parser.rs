//! The push-down scanner: prose, fences, inline code, reasoning, inert regions and calls, one pass, nothing looked at
//! twice but a few held bytes. `extract` is the parser fed once.

use std::{fmt, sync::Arc};

use super::{
    after::{After, Behind},
    code::{Code, Runs},
    desk::{Calls, Mode, REMAINS},
    dialect::{Dialect, Glances, Inert, Reasoning},
    event::{Dropped, Events, ProblemKind, Span},
    harmony::Header,
    line::{Around, Line},
    markers::{Markers, Role, Walk},
    next::Next,
    policy::Policy,
    prose::{Twice, Words},
    region::Region,
    shadow::{Broken, InText},
    signature::Signatures,
    walker::Walker,
    writer::{Voice, Writer, dropped},
};

/// A section around calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct Section {
    pub(super) dialect: &'static Dialect,
    /// How many calls there were before it: if no more come of it, its markers were text.
    pub(super) before: usize,
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
    /// In an echoed result that began at the given place; so many are open, one in the other.
    Inert { inert: &'static Inert, start: usize, open: usize },
    /// Behind a call that broke: its remains are dropped if its closer comes soon.
    Remains { dialect: &'static Dialect, kind: ProblemKind, call: usize, seen: usize, text: InText },
    /// Behind a call that tore a value of another: that one's rest is dropped if what closes it comes soon.
    Torn { dialect: &'static Dialect, closed: bool, seen: usize },
    /// A marker behind open backticks: the line's end tells.
    Code(Code),
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

/// What was seen of markers that stayed text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Passed {
    /// Where what opens a call stood last behind which none could be read.
    pub(super) unread: Option<usize>,
    /// Whether what opens calls stands in the text, and none was read there.
    pub(super) talks: bool,
    /// Where what ends a message stood last, and the next message may begin.
    pub(super) message_end: Option<usize>,
    /// Whether the reader was told that the text ended in what may have been a call.
    pub(super) said_cut: bool,
}

/// The most of a broken call's remains that are dropped.
pub(super) const MOST_REMAINS: usize = 1024;

/// What may be looked at in vain before that has to stay in proportion to the input, and in which: one look in so many
/// bytes.
pub(super) const FREE: usize = 512;
pub(super) const VAIN: usize = 8;

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
    /// Dialects of calls that ended before their closer came.
    pub(super) owed: Vec<&'static Dialect>,
    /// The call that ended last, while its closer may come right behind it.
    pub(super) behind: Option<Behind>,
    /// A call that broke off and whose end is yet to come: what stands here may be its values.
    pub(super) broken: Option<Broken>,
    /// How many bytes were followed behind what opens a call and none was read.
    pub(super) shadowed: usize,
    /// The dialect of the call that was read last.
    pub(super) spoken: Option<&'static Dialect>,
    /// What was tried last at the candidate that is being decided on, and was no call.
    pub(super) refused: Option<&'static Dialect>,
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
    pub(super) words: Words,
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
    pub(super) again: bool,
    /// Where the candidate stands that is being decided on.
    pub(super) front: usize,
    /// What was seen of markers that stayed text.
    pub(super) passed: Passed,
    /// No marker begins before this place, and no brace or bracket stands there, as far as they were looked for.
    pub(super) unmarked: usize,
    /// Up to here markers were looked for last, and none was found.
    pub(super) searched: usize,
    pub(super) unbraced: usize,
    /// No newline stands between the last marker behind backticks and here.
    pub(super) flat_until: usize,
    /// The runs of backticks on the line of the last marker behind backticks.
    pub(super) runs: Runs,
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
    /// A parser for a model that was told of `tools` (`None`: any name counts as a tool), reading `dialects` (`None`:
    /// all).
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
            owed: Vec::new(),
            behind: None,
            broken: None,
            shadowed: 0,
            spoken: None,
            refused: None,
            waiting: None,
            message: Header::default(),
            inert_until: 0,
            walker: None,
            walked: 0,
            glances: Glances::default(),
            sought: (0, Walk::default()),
            doubled: (0, Twice::No),
            words: Words::default(),
            met: Walk::default(),
            at: 0,
            spent: 0,
            dead: 0,
            touched: 0,
            carry: Vec::new(),
            finished: false,
            again: false,
            front: 0,
            passed: Passed::default(),
            unmarked: 0,
            searched: 0,
            unbraced: 0,
            flat_until: 0,
            runs: Runs::default(),
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
        if !self.calls.glides() {
            return 0;
        }
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
            // All that can be known before the end is known is known first, however patient the grammar was: of this
            // region, and of those that are tried in its place.
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

    /// How many bytes were looked at so far to decide what they are, each counted every time it was: by the search for
    /// markers and braces, by what follows the line, by each grammar that tried, and by each look ahead. Writing events
    /// isn't counted.
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
                Place::Inert { inert, start, open } => self.read_inert(inert, (start, open), rest, last, out),
                Place::Torn { dialect, closed, seen } => self.read_torn((dialect, closed), seen, rest, last, out),
                Place::Remains { dialect, kind, call, seen, text } => {
                    self.read_remains(dialect, kind, call, seen, text, rest, last, out)
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

    /// An echoed result: nothing in it means anything but its closer, and what opens another of its kind.
    fn read_inert(
        &mut self,
        inert: &'static Inert,
        (start, open): (usize, usize),
        input: &[u8],
        last: bool,
        out: &mut Events,
    ) -> (usize, bool) {
        let (at, found) = self.seek(input, last, |role| match role {
            Role::InertClose(other) | Role::Inert(other) => other.name == inert.name,
            _ => false,
        });
        if found == 0 && !last {
            return (at, false);
        }
        let end = at + found;
        let marker = input.get(at..end).unwrap_or_default();
        let closes = inert.close.iter().any(|close| close.as_bytes() == marker);
        if found > 0 && (!closes || open > 1) {
            let open = if closes { open - 1 } else { open + usize::from(inert.nests(marker)) };
            self.place = Place::Inert { inert, start, open };
            return (end, true);
        }
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
        mut text: InText,
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
                if from == 0 {
                    let hold = self.markers.tail(window);
                    self.unmarked = self.unmarked.max(self.at + window.len() - hold);
                }
                if !whole {
                    let hold = self.markers.tail(window.get(from.min(window.len())..).unwrap_or_default());
                    self.place = Place::Remains { dialect, kind, call, seen: (window.len() - hold).max(from), text };
                    return (0, false);
                }
                break;
            };
            self.touched += (at - from) as u64;
            if from == seen && (from == 0 || self.unmarked >= self.at + from) {
                // Who looks for markers next knows it.
                self.unmarked = self.unmarked.max(self.at + at);
            }
            let rest = window.get(at..).unwrap_or_default();
            let (walk, longer) = self.walk(at, rest);
            if longer && !whole {
                self.place = Place::Remains { dialect, kind, call, seen: at, text };
                return (0, false);
            }
            let quoted = kind == ProblemKind::Malformed && dialect.writes_json() && {
                self.touched += text.follow(window, at) as u64;
                text.within()
            };
            from = at + 3;
            let roles = self.markers.longest(&walk, usize::MAX).map_or(&[][..], |(_, roles)| roles);
            let closes = |role: &Role| match role {
                Role::CallClose(other) => other.close == dialect.close,
                Role::SectionClose(other) => other.section == dialect.section,
                Role::FrameClose => !dialect.message_end.is_empty(),
                _ => false,
            };
            if quoted && roles.iter().any(closes) {
                // In a string it closes nothing, unless what follows shows that there is none.
                match Next::of(dialect).ends(rest, whole) {
                    None => {
                        self.place = Place::Remains { dialect, kind, call, seen: at, text };
                        return (0, false);
                    }
                    Some(false) => continue,
                    Some(true) => {}
                }
            }
            if quoted && at.checked_sub(1).and_then(|at| window.get(at)) != Some(&b'\n') && !roles.iter().any(closes) {
                continue;
            }
            if roles.iter().any(closes) {
                end = Some(at);
                break;
            }
            // A call of another dialect stands in a value.
            if roles.iter().any(|role| role.opens().is_some_and(|other| other.is_like(dialect))) {
                break;
            }
        }
        let Some(end) = end else {
            self.spent = self.spent.saturating_add(from.min(window.len()));
            self.owe(dialect);
            self.break_in(dialect);
            self.place = Place::Prose;
            return (0, true);
        };
        if end > 0 {
            let span = Span { start: self.at, end: self.at + end };
            let why = if kind == ProblemKind::Malformed { Dropped::Malformed } else { Dropped::Limit };
            self.writer.problem(dropped(kind, REMAINS.to_owned(), span, Some(call), why), out);
        }
        self.place = Place::After(After::new(dialect, false));
        (end, true)
    }

    /// Whether it matters what stands around a marker: in reasoning only where calls in it may run.
    pub(super) fn minds_quotes(&self) -> bool {
        matches!(self.thinking, Thinking::Not) || self.policy.reasoning_calls
    }

    /// What stands around the next byte, where that matters.
    pub(super) fn around(&mut self) -> Around {
        if self.minds_quotes() { self.line.around() } else { Around::Plain }
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
