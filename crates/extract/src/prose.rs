//! Prose and reasoning: looks for the next marker, decides what it means where it stands, and lets everything else
//! through.

mod meaning;
mod section;

use memchr::memchr2;

pub(super) use self::section::{Begins, Words, begins};
use super::{
    call::Source,
    code::Code,
    dialect::{Dialect, Inert, Reasoning},
    event::{Events, ProblemKind, Span},
    markers::{HEAD as SHORTEST, Role, SHORT, Walk},
    parser::{Parser, Place, Section, Thinking},
    writer::problem,
};

/// A region that may begin at the current place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) dialect: &'static Dialect,
    /// The section that begins with it.
    pub(super) section: Option<&'static Dialect>,
    /// Where its call's opener stands, from the current place.
    pub(super) call: usize,
    /// Where its body begins.
    pub(super) opener: usize,
    /// The length of its first marker.
    pub(super) marker: usize,
    /// Which of the meanings of what stands here it is.
    pub(super) ordinal: usize,
}

/// What a marker turns out to mean.
#[derive(Debug, Clone, Copy)]
pub(super) enum Meaning {
    Call(Candidate, Source),
    Code(Code),
    Markup(usize, Then),
    Inert(usize, &'static Inert),
}

/// What follows a marker that is only markup.
#[derive(Debug, Clone, Copy)]
pub(super) enum Then {
    Nothing,
    Think(&'static Reasoning),
    Speak,
    Frame(bool),
    Section(&'static Dialect),
    SectionOver,
    Closed(&'static Dialect),
}

enum Found {
    /// Text; so many bytes of it needn't be looked at again.
    Text(usize),
    /// What opens a call, so many bytes long, and none can be read.
    Unread(usize),
    Wait(Walk, usize),
    Meaning(Meaning),
}

enum Proposal {
    No,
    More,
    Yes(Meaning),
}

/// Whether a marker stands twice.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Twice {
    #[default]
    No,
    /// So much of the second was seen.
    More(usize),
    /// Where the second one ends.
    Yes(usize),
}

/// What is said of what opens a call where none can be read.
const UNREAD: &str = "what opens a call stands here, and no call can be read behind it; it stays text";

/// How much prose is searched and then written at a time: it stays in the nearest cache.
const PIECE: usize = 16 * 1024;
/// The most white space between a section's opener, its calls and its closer.
pub(super) const MOST_SPACE: usize = 64;

impl Parser {
    pub(super) fn read_prose(&mut self, input: &[u8], last: bool, out: &mut Events) -> (usize, bool) {
        if self.at < self.inert_until {
            let text = input.get(..(self.inert_until - self.at).min(input.len())).unwrap_or_default();
            self.prose(text, out);
            self.line.advance_inert(text);
            self.behind = None;
            self.leave_broken(text);
            self.follow_bare(text);
            return (text.len(), !text.is_empty());
        }
        let bare = self.policy.bare_json && self.tools.is_some() && matches!(self.thinking, Thinking::Not);
        let mut window = input.len().min(PIECE);
        let mut waiting = self.waiting.take();
        // Up to where the line was followed, and from where on to search.
        let mut followed = 0;
        let mut from = 0;
        loop {
            let held = waiting.take();
            let all = window == input.len();
            let more = !(last && all);
            let at = if held.is_some() { Some(0) } else { self.next_candidate(input, from, window, more, bare) };
            let Some(at) = at else {
                let tail = if more { self.tail(input, from, window) } else { 0 };
                let end = window - tail;
                self.say(input, followed, end, out);
                return (end, end > 0 && (!all || last));
            };
            let rest = input.get(at..).unwrap_or_default();
            if !self.minds_quotes() && matches!(rest.first(), Some(b'`' | b'~')) {
                from = at + 3;
                window = window.max(from).min(input.len());
                continue;
            }
            self.follow(input.get(followed..at).unwrap_or_default());
            followed = followed.max(at);
            if matches!(rest.first(), Some(b'`' | b'~')) {
                // A fence, perhaps: the line follows it.
                from = at + 3;
                window = window.max(from).min(input.len());
                continue;
            }
            let (walk, skip) = held.unwrap_or_default();
            self.front = self.at + at;
            match self.decide(rest, last, walk, skip, bare) {
                Found::Text(length) => {
                    from = at + length;
                    window = window.max(from).min(input.len());
                }
                Found::Wait(walk, skip) => {
                    self.waiting = Some((walk, skip));
                    self.say(input, followed, at, out);
                    return (at, false);
                }
                Found::Unread(length) => {
                    self.say(input, followed, at, out);
                    let start = self.at + at;
                    self.passed.unread = Some(start);
                    self.waiting = Some((self.met, 0));
                    let message = UNREAD.to_owned();
                    let span = Span { start, end: start + length };
                    self.writer.problem(problem(ProblemKind::Unread, message, span), out);
                    return (at, true);
                }
                Found::Meaning(meaning) => {
                    self.say(input, followed, at, out);
                    self.at += at;
                    let more = self.mean(meaning, out);
                    self.at -= at;
                    return (at + more, true);
                }
            }
        }
    }

    /// How many bytes at the end of `input[from..to]` may be the first of a marker.
    fn tail(&self, input: &[u8], from: usize, to: usize) -> usize {
        self.markers.tail(input.get(from.min(to)..to).unwrap_or_default())
    }

    /// Where the next marker or fence begins, or with `bare` the next brace or bracket. With `more` there is more to
    /// come.
    fn next_candidate(&mut self, input: &[u8], from: usize, to: usize, more: bool, bare: bool) -> Option<usize> {
        let mut from = from;
        if bare && self.walker.is_none() {
            // Markers that stand close together are found by one look.
            let end = to.min(from + SHORT);
            let found = self.next_of_either(input, from, end);
            if found.is_some() || end == to {
                return found;
            }
            from = end - self.tail(input, from, end);
        }
        let marker = self.next_marker(input, from, to);
        if !bare {
            return marker;
        }
        // What may yet be a marker's first bytes isn't followed: a marker is no part of an object around it.
        let end = marker.unwrap_or_else(|| if more { to - self.tail(input, from, to) } else { to });
        self.next_brace(input, from, end).or(marker)
    }

    /// The same, in one go over a few bytes.
    fn next_of_either(&mut self, input: &[u8], from: usize, to: usize) -> Option<usize> {
        let (unmarked, unbraced) = (self.unmarked.saturating_sub(self.at), self.unbraced.saturating_sub(self.at));
        let start = from.max(unmarked.min(unbraced)).min(to);
        let found = input.get(start..to)?.iter().enumerate().position(|(at, byte)| {
            let here = start + at;
            (here >= unbraced && matches!(byte, b'{' | b'['))
                || (here >= unmarked
                    && self.markers.begins(*byte)
                    && self.markers.find(input, here, to.min(here + 3)).is_some())
        });
        let found = found.map(|at| start + at);
        self.touched += (found.map_or(to, |at| at + 1) - start) as u64;
        self.unbraced = self.unbraced.max(self.at + found.unwrap_or(to));
        let clear = found.unwrap_or_else(|| to - self.markers.tail(input.get(start..to).unwrap_or_default()));
        self.unmarked = self.unmarked.max(self.at + clear);
        found
    }

    /// Where the next marker or fence begins. What is known is never searched again.
    fn next_marker(&mut self, input: &[u8], from: usize, to: usize) -> Option<usize> {
        let start = from.max(self.unmarked.saturating_sub(self.at));
        if self.searched == self.at + to {
            return None;
        }
        let known = self.searched.saturating_sub(self.at);
        if known > start && known < to && to - start < SHORTEST && start + self.at == self.unmarked {
            // Too little yet for what begins a marker: only whether it still may is looked at.
            let hold = self.markers.tail(input.get(start..to).unwrap_or_default());
            self.touched += (to - known) as u64;
            self.unmarked = self.at + to - hold;
            self.searched = self.at + to;
            return None;
        }
        let found = self.markers.find(input, start, to);
        if found.is_none() {
            self.searched = self.at + to;
        }
        self.touched += found.unwrap_or(to).saturating_sub(start) as u64;
        // A marker may begin in the last bytes and be cut there.
        let clear = found.unwrap_or_else(|| to - self.markers.tail(input.get(start.min(to)..to).unwrap_or_default()));
        self.unmarked = self.unmarked.max(self.at + clear);
        found
    }

    /// Where the next brace or bracket stands that is in no object that was no call.
    fn next_brace(&mut self, input: &[u8], from: usize, to: usize) -> Option<usize> {
        let mut start = from.max(self.unbraced.saturating_sub(self.at));
        if self.walker.is_some() {
            let Some(end) = self.follow_bare(input.get(..to).unwrap_or_default()) else {
                self.unbraced = self.unbraced.max(self.at + to);
                return None;
            };
            start = start.max(end);
        }
        if start > to {
            return None;
        }
        let found = memchr2(b'{', b'[', input.get(start..to).unwrap_or_default()).map(|at| start + at);
        self.touched += found.unwrap_or(to).saturating_sub(start) as u64;
        self.unbraced = self.unbraced.max(self.at + found.unwrap_or(to));
        found
    }

    /// Lets `input[..end]` through; the line was followed up to `followed`.
    fn say(&mut self, input: &[u8], followed: usize, end: usize, out: &mut Events) {
        self.prose(input.get(..end).unwrap_or_default(), out);
        self.follow(input.get(followed..end).unwrap_or_default());
    }

    fn follow(&mut self, bytes: &[u8]) {
        if self.minds_quotes() && !bytes.is_empty() {
            self.line.advance(bytes);
            self.leave_behind(bytes);
            self.leave_broken(bytes);
        }
    }

    /// Follows an object that is no call as far as `input` goes, from where it was followed to. Gives where it ends.
    fn follow_bare(&mut self, input: &[u8]) -> Option<usize> {
        let from = self.walked.saturating_sub(self.at).min(input.len());
        let walker = self.walker.as_mut()?;
        if self.walked < self.at {
            walker.skipped();
        }
        let end = walker.read(input.get(from..).unwrap_or_default()).map(|end| from + end);
        let to = end.unwrap_or(input.len());
        self.touched += (to - from) as u64;
        self.walked = self.walked.max(self.at + to);
        if end.is_some() {
            self.walker = None;
        }
        end
    }

    /// Acts on what stands at the current place; gives how much of it is settled.
    fn mean(&mut self, meaning: Meaning, out: &mut Events) -> usize {
        match meaning {
            Meaning::Call(candidate, source) => {
                self.enter(&candidate, source);
                0
            }
            Meaning::Code(code) => {
                self.place = Place::Code(code);
                0
            }
            Meaning::Inert(length, inert) => {
                self.place = Place::Inert { inert, start: self.at, open: 1 };
                length
            }
            Meaning::Markup(length, then) => {
                self.writer.markup(Span { start: self.at, end: self.at + length }, out);
                self.line.interrupted();
                if self.walker.as_ref().is_some_and(|walker| !walker.in_string()) {
                    // No JSON goes on behind markup.
                    self.walker = None;
                }
                match then {
                    Then::Nothing => {}
                    Then::Think(reasoning) => {
                        self.thinking = Thinking::In(reasoning);
                        if self.policy.reasoning_calls {
                            self.line.afresh();
                        }
                    }
                    Then::Speak => {
                        self.thinking = Thinking::Not;
                        self.line.afresh();
                    }
                    Then::Frame(open) => {
                        self.framed = open;
                        self.thinking = Thinking::Not;
                        self.line.afresh();
                    }
                    Then::Section(dialect) => {
                        self.section = Some(Section { dialect, before: self.calls.consumed });
                    }
                    Then::SectionOver => {
                        if let Some(section) = self.section.take() {
                            self.mended(section.dialect);
                        }
                    }
                    Then::Closed(dialect) => {
                        self.owed.retain(|owed| owed.close != dialect.close);
                        self.mended(dialect);
                    }
                }
                length
            }
        }
    }

    /// Follows the marker that `rest` may begin with, which stands `at` from here. `true`: a longer one may still come
    /// of it.
    pub(super) fn walk(&mut self, at: usize, rest: &[u8]) -> (Walk, bool) {
        let place = self.at + at;
        let mut walk = if self.sought.0 == place { self.sought.1 } else { Walk::default() };
        let seen = walk.length();
        let longer = self.markers.walk(&mut walk, rest);
        self.touched += walk.length().saturating_sub(seen) as u64;
        self.sought = (place, walk);
        (walk, longer)
    }

    /// The first marker with a role that `wanted` accepts: where it stands and how long it is. Without one: how much
    /// holds none, and 0.
    pub(super) fn seek(&mut self, input: &[u8], last: bool, wanted: impl Fn(&Role) -> bool) -> (usize, usize) {
        let mut from = 0;
        while let Some(at) = self.markers.find(input, from, input.len()) {
            self.touched += (at - from) as u64;
            let rest = input.get(at..).unwrap_or_default();
            let (walk, longer) = self.walk(at, rest);
            if longer && !last {
                return (at, 0);
            }
            let mut below = usize::MAX;
            while let Some((length, roles)) = self.markers.longest(&walk, below) {
                if roles.iter().any(&wanted) {
                    return (at, length);
                }
                below = length;
            }
            from = at + 3;
        }
        self.touched += input.len().saturating_sub(from) as u64;
        let hold = if last { 0 } else { self.markers.tail(input.get(from.min(input.len())..).unwrap_or_default()) };
        (input.len() - hold, 0)
    }
}
