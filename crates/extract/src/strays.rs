//! What makes no call of a text complete: closers of values, and behind words of calls, in the prose behind calls that
//! no opener there belongs to (any of values, where one of those calls was mended), and a value that opens or closes
//! more than it closes or opens, with another call behind it. The closer that ended a call may then have stood in its
//! value, and what was read as calls since may have been part of it.

use std::sync::OnceLock;

use serde_json::value::RawValue;

use super::{
    desk::Calls,
    dialect::{Dialect, rows},
    event::{Events, Problem, ProblemKind, Span},
    members::NESTED,
    parser::Parser,
    until::MAX_HEAD,
    writer::Writer,
};

/// A marker, and what it does to how much is open: opens it (1), closes it (-1), or only looks so (0).
type Mark = (String, i8);

/// The marks of a dialect whose values stand between elements.
#[derive(Debug)]
struct Paired {
    dialect: &'static str,
    values: Vec<Mark>,
    /// Of calls, and of what stands around them.
    calls: Vec<Mark>,
}

impl Paired {
    /// Those of a dialect, if it is one of these.
    fn of(dialect: &str) -> Option<&'static Self> {
        static ALL: OnceLock<Vec<Paired>> = OnceLock::new();
        let all = ALL.get_or_init(|| {
            let mut all: Vec<Self> = Vec::new();
            for row in rows().filter(|row| !row.value_marks().is_empty()) {
                let (values, calls) = (row.value_marks(), row.call_marks());
                match all.iter_mut().find(|known| known.dialect == row.name) {
                    Some(known) => {
                        known.values.extend(values);
                        known.calls.extend(calls);
                    }
                    None => all.push(Self { dialect: row.name, values, calls }),
                }
            }
            all
        });
        all.iter().find(|row| row.dialect == dialect)
    }
}

/// A search for such closers, which looks once at each byte of prose behind a call of an element dialect.
#[derive(Debug, Default)]
pub(super) struct Strays {
    dialects: Vec<&'static str>,
    /// The marks of those dialects, and whether they are values'.
    marks: Vec<(&'static Mark, bool)>,
    /// The last prose, as far as one of those may have begun in it.
    tail: Vec<u8>,
    /// How many values are open.
    open: usize,
    /// How many calls are.
    within: usize,
    /// Words stand behind the last call. Right behind it what closes a call may only be written twice.
    words: bool,
    /// A call so far was mended: it may lack a closer.
    mended: bool,
    /// A value of a call so far lacks its closer, or its marks don't balance: a call that follows may stand in it.
    pub(super) unclosed: bool,
    /// The last call was damaged, its values escape what they hold, and nothing but blanks stands behind it so far.
    pub(super) damaged: bool,
    /// The calls so far that were told complete.
    complete: Vec<usize>,
}

impl Strays {
    /// A call is told of.
    pub(super) fn called(&mut self, dialect: &'static str, index: usize, complete: bool, mended: bool) {
        self.tail.clear();
        self.open = 0;
        self.within = 0;
        self.words = false;
        self.mended |= mended;
        if complete {
            self.complete.push(index);
        }
        if !self.dialects.contains(&dialect) {
            self.dialects.push(dialect);
            if let Some(marks) = Paired::of(dialect) {
                self.marks.extend(marks.values.iter().map(|mark| (mark, true)));
                self.marks.extend(marks.calls.iter().map(|mark| (mark, false)));
            }
        }
    }

    /// Whether prose is looked at: a call was told complete, and one of elements was told of.
    fn looks(&self) -> bool {
        !self.complete.is_empty() && !self.marks.is_empty()
    }

    /// Prose that goes on in the line of a damaged call's closer shows that the closer stood in a string.
    fn goes_on(&mut self, text: &[u8]) -> bool {
        let next = text.iter().find(|byte| !matches!(byte, b' ' | b'\t')).filter(|_| self.damaged);
        self.damaged &= next.is_none();
        next.is_some_and(|byte| !matches!(byte, b'\n' | b'\r'))
    }

    /// Where, in prose that follows on what came before, a value is closed that isn't open, or behind words a call.
    fn find(&mut self, text: &[u8]) -> Option<usize> {
        if !self.looks() {
            return None;
        }
        let Self { marks, tail, open, within, words, mended, .. } = self;
        let before = tail.len();
        tail.extend_from_slice(text);
        let mut at = 0;
        let mut found = None;
        while let Some(rest) = tail.get(at..).filter(|rest| !rest.is_empty()) {
            if !marks.iter().any(|((mark, _), _)| mark.as_bytes().first() == rest.first()) {
                *words |= !rest.first().is_some_and(u8::is_ascii_whitespace);
                at += 1;
                continue;
            }
            let stands = marks.iter().filter(|((mark, _), _)| rest.starts_with(mark.as_bytes()));
            let longest = stands.max_by_key(|((mark, _), _)| mark.len());
            if marks.iter().any(|((mark, _), _)| mark.len() > rest.len() && mark.as_bytes().starts_with(rest)) {
                break;
            }
            at += longest.map_or(1, |((mark, _), _)| mark.len());
            let Some(((_, step), value)) = longest else {
                *words = true;
                continue;
            };
            let open = if *value { &mut *open } else { &mut *within };
            match step {
                1 => *open += 1,
                -1 if !*value && *open == 0 && !*words => {}
                -1 if *open == 0 || (*value && *mended) => found = found.or(Some(at.saturating_sub(before))),
                -1 => *open -= 1,
                _ => {}
            }
        }
        tail.drain(..at);
        found
    }
}

/// Whether a text closes as many calls and values as it opens, and none before.
pub(super) fn even(dialect: &Dialect, text: &str) -> bool {
    Paired::of(dialect.name).is_none_or(|marks| balance(text, &marks.values) && balance(text, &marks.calls))
}

/// Whether a string of a call's arguments, as JSON, opens or closes more than it closes or opens. What an escape keeps
/// from being a mark there is none in the call either.
pub(super) fn uneven(dialect: &str, arguments: &str) -> bool {
    // Each of these marks holds one.
    arguments.contains('<')
        && Paired::of(dialect).is_some_and(|marks| {
            strings(arguments).any(|text| {
                // Marks that hold quotation marks or line ends stand here with escapes.
                let text = text.replace("\\\"", "\"").replace("\\n", "\n");
                !balance(&text, &marks.values) || !balance(&text, &marks.calls)
            })
        })
}

/// The strings of a JSON text as they are written, keys among them.
fn strings(json: &str) -> impl Iterator<Item = &str> {
    let mut rest = json;
    std::iter::from_fn(move || {
        rest = rest.get(rest.find('"')?..)?;
        let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let text = strings.next()?.ok()?.get();
        rest = rest.get(strings.byte_offset()..)?;
        Some(text)
    })
}

/// Whether an element of which the beginning was read closes itself: `<parameter name="a" value="b"/>`.
fn closes_itself(rest: &str) -> bool {
    let end = rest.bytes().take(MAX_HEAD).position(|byte| matches!(byte, b'<' | b'>'));
    end.and_then(|end| rest.get(..=end)).is_some_and(|head| head.ends_with("/>"))
}

/// Whether all is opened in a text that is closed there, and closed that is opened.
fn balance(text: &str, marks: &[Mark]) -> bool {
    let mut open = 0;
    let mut rest = text;
    while let Some(at) = rest.find(|sign| marks.iter().any(|(mark, _)| mark.starts_with(sign))) {
        rest = rest.get(at..).unwrap_or_default();
        // `<param` is no beginning of `<parameter`.
        let name = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        let ends = |mark: &str| !(name(mark.as_bytes().last()) && name(rest.as_bytes().get(mark.len())));
        let here = marks.iter().filter(|(mark, _)| rest.starts_with(mark.as_str()) && ends(mark));
        let Some((mark, step)) = here.max_by_key(|(mark, _)| mark.len()) else {
            rest = rest.get(1..).unwrap_or_default();
            continue;
        };
        rest = rest.get(mark.len()..).unwrap_or_default();
        if *step == 1 && closes_itself(rest) {
            continue;
        }
        open += i32::from(*step);
        if open < 0 {
            return false;
        }
    }
    open == 0
}

impl Parser {
    /// Lets prose through. Where a value is closed in it, no call so far was complete, and none that follows is.
    pub(super) fn prose(&mut self, text: &[u8], out: &mut Events) {
        let voice = self.voice();
        if self.calls.strays.looks() {
            self.touched += text.len() as u64;
        }
        if self.calls.strays.goes_on(text) {
            self.calls.unsound = usize::MAX;
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
