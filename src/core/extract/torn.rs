//! What is left of a call whose value another one tore: models write a call into a value now and then, and the closers of both follow.
//! What stands before those of the outer one is nobody's, and no text.

use super::{
    after::After,
    desk::REMAINS,
    dialect::Dialect,
    event::{Dropped, Events, ProblemKind, Span},
    markers::Role,
    parser::{MOST_REMAINS, Parser, Place},
    writer::dropped,
};

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
        loop {
            let Some(at) = self.markers.find(window, from, window.len()) else {
                self.touched += window.len().saturating_sub(from) as u64;
                if !whole {
                    let hold = self.markers.tail(window.get(from.min(window.len())..).unwrap_or_default());
                    self.place = Place::Torn { dialect, closed, seen: (window.len() - hold).max(from) };
                    return (0, false);
                }
                break;
            };
            self.touched += (at - from) as u64;
            let (walk, longer) = self.walk(at, window.get(at..).unwrap_or_default());
            if longer && !whole {
                self.place = Place::Torn { dialect, closed, seen: at };
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
