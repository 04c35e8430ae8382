//! Behind a call: its closer, the section's, or the next call of the section; each may be missing.

use super::{
    call::Source,
    desk::REMAINS,
    dialect::{Dialect, First, Glances, Grammar, Verdict, dialects},
    event::{Dropped, Events, ProblemKind, Span},
    left::excess,
    parser::{Parser, Place},
    prose::{Begins, Candidate, MOST_SPACE, begins},
    writer::dropped,
};

/// Behind a call of this dialect.
#[derive(Debug, Clone, Copy)]
pub(super) struct After {
    pub(super) dialect: &'static Dialect,
    /// Whether the call stayed text.
    pub(super) text: bool,
    /// Whether its closer was there.
    closed: bool,
    /// Whether its section's closer was there.
    over: bool,
    /// Whether what opened around it stands around several calls.
    wrapped: bool,
}

impl After {
    pub(super) fn new(dialect: &'static Dialect, text: bool) -> Self {
        Self { dialect, text, closed: false, over: false, wrapped: false }
    }

    /// The same, where so many bytes of markers stood before the call.
    pub(super) fn opened(self, markers: usize) -> Self {
        Self {
            wrapped: markers > 0 && matches!(self.dialect.grammar, Grammar::Tags(_) | Grammar::Nested { .. }),
            ..self
        }
    }
}

/// The most text behind a call in which a stray mark may stand before its closer.
const MOST_BEHIND: usize = 64;

/// Behind a call whose closer, or whose section's, is yet to come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Behind {
    pub(super) dialect: &'static Dialect,
    /// The text that followed so far, which is looked at where it matters.
    text: [u8; MOST_BEHIND],
    length: usize,
}

impl Behind {
    /// Whether a blank line parts the two, and how many bytes were looked at to tell.
    pub(super) fn parted(&self) -> (bool, usize) {
        let text = self.text.get(..self.length).unwrap_or_default();
        let mut newline = false;
        for byte in text {
            match byte {
                b'\n' if newline => return (true, text.len()),
                b'\n' => newline = true,
                b' ' | b'\t' | b'\r' => {}
                _ => newline = false,
            }
        }
        (false, text.len())
    }
}

/// The most closers that are waited for.
const MOST_OWED: usize = 8;

impl Parser {
    pub(super) fn read_after(&mut self, after: After, input: &[u8], last: bool, out: &mut Events) -> (usize, bool) {
        let dialect = after.dialect;
        let space = self.glances.space(self.at, input, MOST_SPACE);
        let rest = input.get(space..).unwrap_or_default();
        if space <= MOST_SPACE {
            let mut more = rest.is_empty();
            // Models change the two closers now and then: the call's behind its section's.
            let close = if after.over && after.closed { &[][..] } else { dialect.close };
            // A call's closing element, if what stands around the call was closed before it.
            let late = match dialect.grammar {
                Grammar::Tags(tags) if !after.over => tags.call_end,
                _ => "",
            };
            let closed = longest(self.at + space, rest, close, last, &mut more, &mut self.glances);
            let closed = match closed {
                None if !more || last => longest(self.at + space, rest, &[late], last, &mut more, &mut self.glances),
                closed => closed,
            };
            let closed = match closed {
                // What stands around it was opened by no marker, or by another dialect's than was thought.
                None if (!more || last) && !after.closed && !after.over => {
                    longest(self.at + space, rest, &kin(dialect), last, &mut more, &mut self.glances)
                }
                closed => closed,
            };
            if let Some(length) = closed {
                let end = space + length;
                if !dialect.message_end.is_empty()
                    && rest.get(..length).is_some_and(|closer| closer.ends_with(dialect.message_end.as_bytes()))
                {
                    self.framed = false;
                }
                if after.text {
                    self.writer.text(self.calls.voice, input.get(..end).unwrap_or_default(), self.at, out);
                } else if self.calls.waits() {
                    self.calls.close(self.at + end, &mut self.writer, out);
                } else {
                    self.writer.markup(Span { start: self.at, end: self.at + end }, out);
                }
                self.mended(dialect);
                self.place = Place::After(After { closed: true, ..after });
                return (end, true);
            }
            let section = dialect.section.map_or(&[][..], |section| section.1);
            if (!more || last)
                && let Some(length) = longest(self.at + space, rest, section, last, &mut more, &mut self.glances)
            {
                let end = space + length;
                let open = self.section.take();
                self.mended(dialect);
                let real =
                    after.over || !after.text || open.is_some_and(|section| self.calls.consumed > section.before);
                self.calls.close(self.at, &mut self.writer, out);
                if real {
                    self.writer.markup(Span { start: self.at, end: self.at + end }, out);
                } else {
                    self.writer.text(self.calls.voice, input.get(..end).unwrap_or_default(), self.at, out);
                }
                // Models close a section twice now and then.
                self.place =
                    if real && !after.over { Place::After(After { over: true, ..after }) } else { Place::Prose };
                return (end, true);
            }
            if (!more || last)
                && let Some(section) = self.section
            {
                match begins(dialect, self.at, input, last, &mut self.glances) {
                    Begins::Call { space, opener } => {
                        self.calls.close(self.at, &mut self.writer, out);
                        if !after.text || self.calls.consumed > section.before {
                            self.writer.markup(Span { start: self.at, end: self.at + space }, out);
                        } else {
                            let text = input.get(..space).unwrap_or_default();
                            self.writer.text(self.calls.voice, text, self.at, out);
                        }
                        let candidate = Candidate {
                            dialect,
                            section: None,
                            call: 0,
                            opener,
                            marker: opener.max(1),
                            ordinal: usize::MAX,
                        };
                        self.at += space;
                        self.enter(&candidate, self.calls.source.unwrap_or(Source::Tagged));
                        self.at -= space;
                        return (space, true);
                    }
                    Begins::More => more = true,
                    Begins::No | Begins::Over(_) => {}
                }
            }
            if more && !last {
                return (0, false);
            }
            if !after.text && !after.over {
                match self.torn_closer(dialect, (self.at + space, after.closed), rest, last) {
                    None => return (0, false),
                    Some(0) => {}
                    Some(bytes) => {
                        let end = space + bytes;
                        if self.calls.waits() {
                            self.calls.close(self.at + end, &mut self.writer, out);
                        } else {
                            self.writer.markup(Span { start: self.at, end: self.at + end }, out);
                        }
                        self.mended(dialect);
                        self.place = Place::After(After { closed: true, ..after });
                        return (end, true);
                    }
                }
            }
            if after.closed && !after.text && space == 0 && dialect.writes_json() {
                // What closes the call around this one: it broke off where this one began. Or this one's bracket and
                // closer changed places.
                let section = dialect.section.map_or(&[][..], |section| section.1);
                let (over, next) = if self.calls.mended_last { (section, dialect.open) } else { (&[][..], &[][..]) };
                let bytes = excess([dialect.close, over, next], rest, last);
                self.touched += rest.len().min(1) as u64 + bytes.unwrap_or_default() as u64;
                match bytes {
                    None => return (0, false),
                    Some(0) => {}
                    Some(bytes) => {
                        self.calls.close(self.at, &mut self.writer, out);
                        let span = Span { start: self.at, end: self.at + bytes };
                        let kind = ProblemKind::Malformed;
                        let problem = dropped(kind, REMAINS.to_owned(), span, None, Dropped::Malformed);
                        self.writer.problem(problem, out);
                        self.place = Place::After(After { closed: false, ..after });
                        return (bytes, true);
                    }
                }
            }
            let section = dialect.section.map_or(&[][..], |section| section.1);
            let mut closers =
                dialect.close.iter().filter(|_| !after.closed).chain(section).chain([&dialect.message_end]);
            if last && !after.text && rest.len() > 1 && closers.any(|closer| closer.as_bytes().starts_with(rest)) {
                // The end of the text cuts a closer short.
                let end = self.at + input.len();
                if self.calls.waits() {
                    self.calls.close(end, &mut self.writer, out);
                } else {
                    self.writer.markup(Span { start: self.at, end }, out);
                }
                self.place = Place::Prose;
                return (input.len(), true);
            }
            if last && rest.is_empty() && !after.text && self.calls.waits() && dialect.close != [""] {
                // The closer is missing, what stood before it isn't.
                self.calls.close(self.at + space, &mut self.writer, out);
                self.place = Place::Prose;
                return (space, true);
            }
        }
        self.calls.close(self.at, &mut self.writer, out);
        if std::mem::take(&mut self.calls.torn) && !after.text && !after.over {
            self.place = Place::Torn { dialect, closed: after.closed, seen: 0 };
            return (0, true);
        }
        self.place = Place::Prose;
        if !after.text {
            let closed = after.closed || after.over;
            self.leave_call(dialect, closed);
            if after.wrapped && !closed {
                self.stay_wrapped(dialect);
            }
        }
        (0, true)
    }

    /// How many bytes at the front of `rest`, behind a call, are what a cut left of its closer: another call of the
    /// dialect stands right behind them. `None` if more has to be known.
    fn torn_closer(
        &mut self,
        dialect: &'static Dialect,
        (at, closed): (usize, bool),
        rest: &[u8],
        last: bool,
    ) -> Option<usize> {
        let section = dialect.section.unwrap_or_default();
        // Where its arguments should begin, what stands before them may be cut too.
        let (between, fence) = match dialect.grammar {
            Grammar::Named { between, fenced, .. } if !closed => (between, if fenced { &["```json"][..] } else { &[] }),
            _ => (&[][..], &[][..]),
        };
        let message = [dialect.message_end];
        let closers = || {
            let own = dialect.close.iter().filter(|_| !closed).chain(section.1).chain(&message);
            own.chain(between).chain(fence).copied().filter(|text| !text.is_empty())
        };
        let cut = self.glances.which(at, rest, closers().map(|closer| ((), closer)));
        if !last && cut.iter().any(|(.., verdict)| *verdict == Verdict::More) {
            return None;
        }
        let most = closers().map(|closer| self.glances.begun(at, closer)).max().unwrap_or_default();
        let bodied = match dialect.first {
            First::OneOf(strings) if dialect.open.contains(&"") => strings,
            _ => &[],
        };
        let openers =
            || dialect.open.iter().chain(section.0).chain(bodied).copied().filter(|open: &&str| !open.is_empty());
        // The last bytes that are like the closer's may be the opener's.
        for torn in (1..=most).rev() {
            let behind = rest.get(torn..).unwrap_or_default();
            let begins = |byte: &u8| openers().any(|open| open.as_bytes().first() == Some(byte));
            if torn < most && !behind.first().is_some_and(begins) {
                continue;
            }
            let space = self.glances.space(at + torn, behind, MOST_SPACE);
            let next = behind.get(space..).filter(|_| space <= MOST_SPACE).unwrap_or_default();
            let found = self.glances.which(at + torn + space, next, openers().map(|open| ((), open)));
            if found.iter().any(|(.., verdict)| *verdict == Verdict::Yes) {
                return Some(torn);
            }
            if !last && space <= MOST_SPACE && (next.is_empty() || !found.is_empty()) {
                return None;
            }
        }
        Some(0)
    }

    /// Prose follows on a call, whose closer was there or wasn't.
    pub(super) fn leave_call(&mut self, dialect: &'static Dialect, closed: bool) {
        self.place = Place::Prose;
        if !closed {
            self.owe(dialect);
        }
        let awaited = !closed || self.section.is_some();
        self.behind = awaited.then_some(Behind { dialect, text: [0; MOST_BEHIND], length: 0 });
    }

    /// Text follows on a call; too much of it parts the two.
    pub(super) fn leave_behind(&mut self, text: &[u8]) {
        let Some(behind) = &mut self.behind else { return };
        let room = behind.text.get_mut(behind.length..behind.length + text.len());
        match room {
            Some(room) => {
                room.copy_from_slice(text);
                behind.length += text.len();
            }
            None => self.behind = None,
        }
    }

    /// A call is over and its closer is yet to come: words stand between them, which are text. The closer isn't.
    pub(super) fn owe(&mut self, dialect: &'static Dialect) {
        let closes = dialect.close.iter().any(|close| !close.is_empty());
        if closes && self.owed.len() < MOST_OWED && !self.owed.iter().any(|owed| owed.close == dialect.close) {
            self.owed.push(dialect);
        }
    }
}

/// What closes the calls of the dialects that write them alike, with other markers around.
fn kin(dialect: &Dialect) -> Vec<&'static str> {
    let Grammar::Tags(tags) = dialect.grammar else { return Vec::new() };
    if !dialect.open.contains(&"") {
        return Vec::new();
    }
    let alike = |row: &&Dialect| matches!(row.grammar, Grammar::Tags(other) if other.call == tags.call);
    let closers = dialects().iter().filter(alike).flat_map(|row| row.close).copied();
    closers.filter(|close| *close != tags.call_end && !dialect.close.contains(close)).collect()
}

/// The longest of `strings` that `input` begins with. `more`: a longer one may come of it.
fn longest(
    at: usize,
    input: &[u8],
    strings: &[&'static str],
    last: bool,
    more: &mut bool,
    glances: &mut Glances,
) -> Option<usize> {
    let mut found = None;
    let strings = strings.iter().filter(|string| !string.is_empty()).map(|string| ((), *string));
    for ((), string, verdict) in glances.which(at, input, strings) {
        if verdict == Verdict::Yes {
            found = found.max(Some(string.len()));
        } else {
            *more |= !last;
        }
    }
    if *more { None } else { found }
}
