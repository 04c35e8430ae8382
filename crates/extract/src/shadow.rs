//! What a call that broke off casts on the text behind it: until its end is seen, what stands there may be its values,
//! and a call of another dialect in a value is data. Calls of its own dialect are read: a forgotten closer costs none.
//! What stands between the calls of an open section is no other's call either, and what is announced by a marker and
//! can't be read may be a damaged call.

use memchr::memchr;

use super::{
    dialect::{Dialect, Grammar},
    markers::Role,
    next::Next,
    parser::{FREE, Parser, Section},
};

/// One byte in so many, and `FREE`, may be followed behind what opens a call and none was read.
const RARELY: usize = 32;

/// A call that broke off and whose end wasn't seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Broken {
    dialect: &'static Dialect,
    /// Nothing closes its calls, or it may have been talk: it reaches no further than its paragraph.
    endless: bool,
    /// Only its opener was seen, and it may be none: it reaches so many bytes more at most.
    unread: Option<usize>,
    /// It ended, and the wrapper around it is still open.
    wrapper: bool,
    /// Nothing but white space stands on this line so far.
    blank: bool,
}

impl Broken {
    pub(super) fn new(dialect: &'static Dialect) -> Self {
        let endless = dialect.close.iter().all(|close| close.is_empty());
        Self { dialect, endless, unread: None, wrapper: false, blank: false }
    }

    /// What opens a call of this dialect was seen, and no call.
    fn unread(dialect: &'static Dialect, most: usize) -> Self {
        Self { dialect, endless: true, unread: Some(most), wrapper: false, blank: false }
    }

    /// Whether what opens calls of this dialect may stand in a value of it.
    fn may_hold(&self, dialect: &Dialect) -> bool {
        let element = |dialect: &Dialect| match dialect.grammar {
            Grammar::Tags(tags) => Some(tags.call),
            _ => None,
        };
        let own = self.wrapper && element(dialect).is_some_and(|call| element(self.dialect) == Some(call));
        !own && !dialect.is_like(self.dialect)
    }

    /// Whether a blank line stands in the text, which follows on what was read. Gives how many bytes were looked at.
    fn parted(&mut self, text: &[u8]) -> (bool, usize) {
        let mut at = 0;
        if !self.blank {
            let Some(newline) = memchr(b'\n', text) else { return (false, text.len()) };
            at = newline + 1;
            self.blank = true;
        }
        loop {
            let rest = text.get(at..).unwrap_or_default();
            let space = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
            match rest.get(space) {
                None => return (false, text.len()),
                Some(b'\n') => return (true, at + space + 1),
                Some(_) => {}
            }
            let rest = rest.get(space..).unwrap_or_default();
            let Some(newline) = memchr(b'\n', rest) else {
                self.blank = false;
                return (false, text.len());
            };
            at += space + newline + 1;
        }
    }
}

/// Whether the next byte of a broken call's remains stands between quotation marks, and up to where that was followed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct InText {
    within: bool,
    at: usize,
}

impl InText {
    pub(super) fn within(self) -> bool {
        self.within
    }

    /// Follows the quotation marks up to a place; gives how many bytes were looked at.
    pub(super) fn follow(&mut self, window: &[u8], to: usize) -> usize {
        let from = self.at;
        while self.at < to {
            match window.get(self.at) {
                Some(b'"') => self.within = !self.within,
                Some(b'\\') => self.at += 1,
                _ => {}
            }
            self.at += 1;
        }
        self.at - from
    }
}
impl Dialect {
    /// Whether its calls are written as JSON, strings between quotation marks.
    pub(super) fn writes_json(&self) -> bool {
        matches!(self.grammar, Grammar::Object { .. } | Grammar::Keyed | Grammar::Named { .. } | Grammar::Harmony)
    }

    /// Whether its calls are written between the same markers as the other's, in a grammar of the same kind.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let kind = |grammar: &Grammar| std::mem::discriminant(grammar);
        self.name == other.name
            || (kind(&self.grammar) == kind(&other.grammar)
                && (self.open == other.open || (self.section.is_some() && self.section == other.section)))
    }

    /// Whether what opens its calls may open the other's.
    fn shares_opener(&self, other: &Self) -> bool {
        self.open.iter().any(|open| !open.is_empty() && other.open.contains(open))
    }
}

impl Parser {
    /// The call of this dialect broke off, and its end wasn't seen.
    pub(super) fn break_in(&mut self, dialect: &'static Dialect) {
        self.broken = Some(Broken::new(dialect));
    }

    /// A call of this dialect ended, and what stands around it and others was opened and not closed.
    pub(super) fn stay_wrapped(&mut self, dialect: &'static Dialect) {
        let kept = self.broken.take_if(|broken| !broken.wrapper);
        self.broken = kept.or(Some(Broken { wrapper: true, ..Broken::new(dialect) }));
    }

    /// Whether what opens a call of this dialect may be a value's here.
    pub(super) fn in_value(&self, dialect: &Dialect) -> bool {
        let between =
            |section: Section| self.calls.consumed > section.before && !dialect.shares_opener(section.dialect);
        self.broken.is_some_and(|broken| broken.may_hold(dialect))
            || self.section.is_some_and(|section| between(section) && !dialect.is_like(section.dialect))
    }

    /// No meaning of the marker at the front came to anything, of which these are the roles. If it announced a call,
    /// that may be a damaged one: so it is where one was tried to be read, or where calls of its dialect were read
    /// before.
    pub(super) fn pass_marker(&mut self, roles: &[Role]) {
        if let Some(broken) = self.broken.filter(|broken| broken.unread.is_some())
            && roles.iter().any(|role| matches!(role, Role::CallClose(other) if other.close == broken.dialect.close))
        {
            self.broken = None;
        }
        let spoken = |dialect: &&'static Dialect| self.spoken.is_some_and(|spoken| dialect.is_like(spoken));
        let announced = || roles.iter().filter_map(|role| role.opens()).find(spoken);
        if let Some(dialect) = self.refused.take().or_else(announced)
            && self.broken.is_none()
        {
            let allowed = (self.front / RARELY + FREE).saturating_sub(self.shadowed);
            self.broken = Some(Broken::unread(dialect, allowed)).filter(|_| allowed > 0);
        }
    }

    /// Whether the closer at the front may stand in a string of a broken call: something goes on behind it. `None`:
    /// more is needed.
    pub(super) fn may_be_quoted(&self, dialect: &'static Dialect, rest: &[u8], last: bool) -> Option<bool> {
        let broken =
            self.broken.is_some_and(|broken| broken.dialect.writes_json() && broken.dialect.close == dialect.close);
        if broken { Next::of(dialect).ends(rest, last).map(|ends| !ends) } else { Some(false) }
    }

    /// What closes calls of this dialect was seen.
    pub(super) fn mended(&mut self, dialect: &Dialect) {
        self.broken = self.broken.filter(|broken| {
            broken.dialect.close != dialect.close
                && (broken.dialect.section.is_none() || broken.dialect.section != dialect.section)
        });
    }

    /// Text goes by.
    pub(super) fn leave_broken(&mut self, text: &[u8]) {
        let Some(broken) = self.broken.as_mut().filter(|broken| broken.endless) else { return };
        let reach = broken.unread.map_or(text.len(), |left| left.min(text.len()));
        let (parted, looked) = broken.parted(text.get(..reach).unwrap_or_default());
        self.touched += looked as u64;
        let left = broken.unread.as_mut().map(|left| {
            *left -= looked.min(*left);
            *left
        });
        if left.is_some() {
            self.shadowed += looked;
        }
        if parted || left == Some(0) {
            self.broken = None;
        }
    }
}
