//! Closers of values in the prose behind calls that no opener there belongs to, or any, where one of those calls was
//! mended. The closer that ended a call may then have stood in its value, and what was read as calls since may have
//! been part of it: none of them is complete.

use super::{
    desk::Calls,
    dialect::{Dialect, dialect_named},
    event::{Events, Problem, ProblemKind, Span},
    members::NESTED,
    parser::Parser,
    writer::Writer,
};

/// A search for such closers, which looks once at each byte of prose behind a call of an element dialect.
#[derive(Debug, Default)]
pub(super) struct Strays {
    dialects: Vec<&'static str>,
    /// What opens a value (1) or closes one (-1) in the dialects of the calls so far, or only looks so (0).
    marks: Vec<(String, i8)>,
    /// The last prose, as far as one of those may have begun in it.
    tail: Vec<u8>,
    /// How many values are open.
    open: usize,
    /// A call so far was mended: it may lack a closer.
    mended: bool,
    /// A value of a call so far lacks its closer: a call that follows may stand in it.
    pub(super) unclosed: bool,
    /// The calls so far that were told complete.
    complete: Vec<usize>,
}

impl Strays {
    /// A call is told of.
    pub(super) fn called(&mut self, dialect: &'static str, index: usize, complete: bool, mended: bool) {
        self.tail.clear();
        self.open = 0;
        self.mended |= mended;
        if complete {
            self.complete.push(index);
        }
        if !self.dialects.contains(&dialect) {
            self.dialects.push(dialect);
            self.marks.extend(dialect_named(dialect).into_iter().flat_map(Dialect::value_marks));
        }
    }

    /// Whether prose is looked at: a call was told complete, and one of elements was told of.
    fn looks(&self) -> bool {
        !self.complete.is_empty() && !self.marks.is_empty()
    }

    /// Where, in prose that follows on what came before, a value is closed that isn't open.
    fn find(&mut self, text: &[u8]) -> Option<usize> {
        if !self.looks() {
            return None;
        }
        let Self { marks, tail, open, mended, .. } = self;
        let before = tail.len();
        tail.extend_from_slice(text);
        let mut at = 0;
        let mut found = None;
        while let Some(rest) = tail.get(at..).filter(|rest| !rest.is_empty()) {
            if !marks.iter().any(|(mark, _)| mark.as_bytes().first() == rest.first()) {
                at += 1;
                continue;
            }
            let stands = marks.iter().filter(|(mark, _)| rest.starts_with(mark.as_bytes()));
            let longest = stands.max_by_key(|(mark, _)| mark.len());
            let length = longest.map_or(0, |(mark, _)| mark.len());
            if marks.iter().any(|(mark, _)| mark.len() > rest.len() && mark.as_bytes().starts_with(rest)) {
                break;
            }
            at += length.max(1);
            match longest {
                Some((_, 1)) => *open += 1,
                Some((_, -1)) if *open == 0 || *mended => found = found.or(Some(at.saturating_sub(before))),
                Some((_, -1)) => *open -= 1,
                _ => {}
            }
        }
        tail.drain(..at);
        found
    }
}

impl Parser {
    /// Lets prose through. Where a value is closed in it, no call so far was complete, and none that follows is.
    pub(super) fn prose(&mut self, text: &[u8], out: &mut Events) {
        let voice = self.voice();
        if self.calls.strays.looks() {
            self.touched += text.len() as u64;
        }
        let end = self.calls.strays.find(text);
        let (head, rest) = text.split_at_checked(end.unwrap_or_default()).unwrap_or((text, &[]));
        self.writer.text(voice, head, self.at, out);
        let at = self.at + head.len();
        if end.is_some() {
            self.calls.doubt(at, &mut self.writer, out);
        }
        self.writer.text(voice, rest, at, out);
    }
}

impl Calls {
    /// What opens and closes calls and values doesn't balance, which shows at `at`: no call so far was complete, and
    /// none that follows is.
    pub(super) fn doubt(&mut self, at: usize, writer: &mut Writer, out: &mut Events) {
        self.unsound = usize::MAX;
        for index in std::mem::take(&mut self.strays.complete) {
            let (kind, message, span) = (ProblemKind::Malformed, NESTED.to_owned(), Span { start: at, end: at });
            writer.problem(Problem { kind, message, span, call: Some(index), dropped: None }, out);
        }
    }
}
