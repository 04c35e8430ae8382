//! Values that are closed in the prose behind calls, and that nothing opened there: what closed a call may have stood in its value, and
//! what was read as calls since then too.

use super::{
    dialect::dialect_named,
    event::{Events, Problem, ProblemKind, Span},
    members::NESTED,
    parser::Parser,
};

/// A look for them. Each byte of prose behind a call of elements is looked at once.
#[derive(Debug, Default)]
pub(super) struct Strays {
    dialects: Vec<&'static str>,
    /// What closes a value in the dialects of the calls so far.
    ends: Vec<String>,
    /// The last prose, as far as one of those may have begun in it.
    tail: Vec<u8>,
    /// The calls so far that were told complete.
    complete: Vec<usize>,
}

impl Strays {
    /// A call is told of.
    pub(super) fn called(&mut self, dialect: &'static str, index: usize, complete: bool) {
        self.tail.clear();
        if complete {
            self.complete.push(index);
        }
        if !self.dialects.contains(&dialect) {
            self.dialects.push(dialect);
            self.ends.extend(dialect_named(dialect).into_iter().flat_map(|dialect| dialect.value_ends()));
        }
    }

    /// Where, in prose that follows on what came before, a value is closed.
    fn find(&mut self, text: &[u8]) -> Option<usize> {
        if self.complete.is_empty() || self.ends.is_empty() {
            return None;
        }
        let before = self.tail.len();
        self.tail.extend_from_slice(text);
        let ends = self.ends.iter().map(String::as_bytes);
        let found = ends.clone().filter_map(|end| Some(memchr::memmem::find(&self.tail, end)? + end.len())).min();
        let kept = ends.map(|end| end.len() - 1).max().unwrap_or_default();
        self.tail.drain(..self.tail.len().saturating_sub(kept));
        found.map(|end| end.saturating_sub(before))
    }
}

impl Parser {
    /// Lets prose through. Where a value is closed in it, no call so far was complete, and none that follows is.
    pub(super) fn prose(&mut self, text: &[u8], out: &mut Events) {
        let voice = self.voice();
        let end = self.calls.strays.find(text);
        let (head, rest) = text.split_at_checked(end.unwrap_or_default()).unwrap_or((text, &[]));
        self.writer.text(voice, head, self.at, out);
        let at = self.at + head.len();
        if end.is_some() {
            self.calls.unsound = usize::MAX;
            for index in std::mem::take(&mut self.calls.strays.complete) {
                let (kind, message, span) = (ProblemKind::Malformed, NESTED.to_owned(), Span { start: at, end: at });
                self.writer.problem(Problem { kind, message, span, call: Some(index), dropped: None }, out);
            }
        }
        self.writer.text(voice, rest, at, out);
    }
}
