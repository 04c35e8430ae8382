//! What is left of a call whose value another one tore: models write a call into a value now and then, and the closers
//! of both follow. What stands before those of the outer one is nobody's, and no text.

use memchr::memchr;

use super::{
    after::After,
    desk::REMAINS,
    dialect::{Dialect, Grammar, Tags},
    event::{Dropped, Events, ProblemKind, Span},
    markers::Role,
    parser::{MOST_REMAINS, Parser, Place},
    prose::MOST_SPACE,
    writer::dropped,
};

/// Where the elements stand that close a value and its call, where nothing else closes calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closers {
    Nowhere,
    /// They may begin here.
    Cut(usize),
    /// The call's begins here.
    At(usize),
}

/// Looks for those that begin in `window` between `from` and `to`; gives how many bytes were looked at too.
fn closers(tags: Tags, window: &[u8], (from, to): (usize, usize), whole: bool) -> (Closers, usize) {
    let (end, call_end) = (tags.parameter_end.as_bytes(), tags.call_end.as_bytes());
    let (mut at, mut looked) = (from, 0);
    while let Some(next) = memchr(b'<', window.get(at..to).unwrap_or_default()) {
        looked += next + 1;
        at += next;
        let rest = window.get(at..).unwrap_or_default();
        if let Some(behind) = rest.strip_prefix(end) {
            let space = behind.iter().take(MOST_SPACE).take_while(|byte| byte.is_ascii_whitespace()).count();
            let behind = behind.get(space..).unwrap_or_default();
            looked += end.len() + space;
            if behind.starts_with(call_end) {
                return (Closers::At(at + end.len() + space), looked + call_end.len());
            }
            if call_end.starts_with(behind) && !whole {
                return (Closers::Cut(at), looked);
            }
        } else if end.starts_with(rest) && !whole {
            return (Closers::Cut(at), looked);
        }
        at += 1;
    }
    (Closers::Nowhere, looked + to.saturating_sub(at))
}

impl Parser {
    /// Looks for what closes the outer call, before another one begins.
    pub(super) fn read_torn(
        &mut self,
        (dialect, closed): (&'static Dialect, bool),
        seen: usize,
        input: &[u8],
        last: bool,
        out: &mut Events,
    ) -> (usize, bool) {
        let window = input.get(..MOST_REMAINS.min(input.len())).unwrap_or_default();
        let whole = last || window.len() == MOST_REMAINS;
        let mut from = seen;
        let mut end = None;
        let tags = match dialect.grammar {
            Grammar::Tags(tags) if dialect.close.contains(&"") || dialect.close.is_empty() => Some(tags),
            _ => None,
        };
        let (mut own, mut sought) = (Closers::Nowhere, seen);
        loop {
            let found = self.markers.find(window, from, window.len());
            if let (Some(tags), Closers::Nowhere) = (tags, own) {
                // No further than the next marker: where a call opens, its own grammar looks at what follows.
                let to = found.unwrap_or(window.len());
                let looked;
                (own, looked) = closers(tags, window, (sought, to), whole);
                self.touched += looked as u64;
                sought = to;
            }
            if let Closers::At(at) = own
                && found.is_none_or(|found| at <= found)
            {
                end = Some(at);
                break;
            }
            let Some(at) = found else {
                self.touched += window.len().saturating_sub(from) as u64;
                if !whole {
                    let hold = self.markers.tail(window.get(from.min(window.len())..).unwrap_or_default());
                    let mut seen = (window.len() - hold).max(from);
                    if let Closers::Cut(cut) = own {
                        seen = seen.min(cut);
                    }
                    self.place = Place::Torn { dialect, closed, seen };
                    return (0, false);
                }
                break;
            };
            self.touched += (at - from) as u64;
            let (walk, longer) = self.walk(at, window.get(at..).unwrap_or_default());
            if longer && !whole {
                let seen = if let Closers::Cut(cut) = own { at.min(cut) } else { at };
                self.place = Place::Torn { dialect, closed, seen };
                return (0, false);
            }
            from = at + 3;
            let roles = self.markers.longest(&walk, usize::MAX).map_or(&[][..], |(_, roles)| roles);
            let ends = |role: &Role| match role {
                Role::CallClose(other) => other.close == dialect.close,
                Role::SectionClose(other) => other.section == dialect.section,
                _ => false,
            };
            let quoted = at.checked_sub(1).and_then(|before| window.get(before));
            if roles.iter().any(ends) && !matches!(quoted, Some(b'"' | b'\'' | b'`')) {
                end = Some(at);
                break;
            }
            if roles.iter().any(|role| role.opens().is_some()) {
                // The call that tore it begins here.
                self.calls.torn = window.get(..at).is_some_and(|before| before.trim_ascii().is_empty());
                break;
            }
        }
        let Some(end) = end else {
            self.spent = self.spent.saturating_add(from.min(window.len()));
            self.leave_call(dialect, closed);
            return (0, true);
        };
        if end > 0 {
            let span = Span { start: self.at, end: self.at + end };
            let call = self.calls.count.checked_sub(1);
            let message = REMAINS.to_owned();
            self.writer.problem(dropped(ProblemKind::Malformed, message, span, call, Dropped::Malformed), out);
        }
        self.place = Place::After(After::new(dialect, false));
        (end, true)
    }
}
