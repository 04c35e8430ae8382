//! A marker behind backticks or a quotation mark: whether it is quoted is known where the line ends, or the call that
//! begins with it. What is held for that is bounded.

use memchr::{memchr, memmem, memrchr};

use super::{
    bodies::body_for,
    body::Step,
    desk::DryRun,
    dialect::{Dialect, First, reasoning_markups},
    line::closing_run,
    parser::{FREE, Parser, Place, Thinking, VAIN},
    prose::{Candidate, Meaning},
    quote::Quotation,
    region::BLOCK,
};

/// The most bytes held in the hope that what stands open before a marker is closed on its line.
const MOST_CODE: usize = 4096;

/// What stands open before a marker.
#[derive(Debug, Clone, Copy)]
pub(super) enum Opened {
    /// So many backticks.
    Backticks(usize),
    /// A quotation mark.
    Marks(Quotation),
}

/// The runs of backticks on a line, as far as it was followed: where the last one of each length ends.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Runs {
    until: usize,
    last: [usize; 8],
}

impl Runs {
    /// Follows the line from `from` to its end, which stands at `to`. Gives how many bytes were looked at.
    fn follow(&mut self, from: usize, to: usize, line: &[u8]) -> usize {
        if self.until < from {
            *self = Self { until: from, ..Self::default() };
        }
        let start = self.until;
        let front = to.saturating_sub(line.len());
        while let Some(rest) = line.get(self.until.saturating_sub(front)..).filter(|rest| !rest.is_empty()) {
            let Some(skip) = memchr(b'`', rest) else {
                self.until = to;
                break;
            };
            let run = rest.get(skip..).unwrap_or_default().iter().take_while(|byte| **byte == b'`').count();
            if skip + run == rest.len() {
                // It may be longer than what is seen of it.
                self.until += skip;
                self.note(run, to);
                break;
            }
            self.until += skip + run;
            self.note(run, self.until);
        }
        to.saturating_sub(start)
    }

    fn note(&mut self, run: usize, end: usize) {
        if let Some(last) = run.checked_sub(1).and_then(|run| self.last.get_mut(run)) {
            *last = end;
        }
    }

    /// Whether a run of this length may end behind `from`.
    fn may_close(&self, length: usize, from: usize) -> bool {
        length.checked_sub(1).and_then(|length| self.last.get(length)).is_none_or(|last| *last > from)
    }
}

/// A marker behind what stands open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Code {
    pub(super) opened: Opened,
    /// Whether the backticks begin a code fence if no others close them on their line.
    pub(super) fence: bool,
    pub(super) marker: usize,
    pub(super) ordinal: usize,
    /// The call that may begin here.
    pub(super) call: Option<Candidate>,
    pub(super) seen: usize,
    /// Up to where newlines were looked for behind that line.
    fresh: usize,
    /// Where the line ends, if the call doesn't end on it.
    pub(super) first: Option<usize>,
}

impl Code {
    pub(super) fn new(opened: Opened, fence: bool, marker: usize, ordinal: usize, meaning: &Meaning) -> Self {
        let call = if let Meaning::Call(candidate, _) = meaning { Some(*candidate) } else { None };
        Self { opened, fence, marker, ordinal, call, seen: 0, fresh: 0, first: None }
    }
}

impl Parser {
    /// A marker behind backticks or a quotation mark: if these are closed on this line, or on the one that the call
    /// ends on, they quote it. What stands in the call itself doesn't count.
    pub(super) fn read_code(&mut self, mut code: Code, input: &[u8], last: bool) -> (usize, bool) {
        let window = input.get(..MOST_CODE.min(input.len())).unwrap_or_default();
        let whole = last || window.len() == MOST_CODE;
        let Some(first) = code.first else {
            if self.spent > self.at / VAIN + FREE {
                // Looked in vain too often: what can't be told to be meant is not.
                if let Opened::Marks(open) = code.opened {
                    self.line.stuck_marks(open);
                }
                return self.settle_code(code, 0, Some(code.marker));
            }
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
            let before = self.touched;
            let flat = self.thought(window, flat);
            let line = window.get(..flat).unwrap_or_default();
            let (from, ended) = code.call.map_or((code.marker, true), |call| self.probe(&call, line));
            let call = if ended { from } else { 0 };
            let from = self.past_calls(&code, line, from);
            let closes = self.closes(&code, line, from);
            let looked = (self.touched - before) as usize;
            self.spent = self.spent.saturating_add(match code.opened {
                Opened::Marks(_) => looked,
                // What is quoted isn't looked at again, nor is a call that is read next.
                Opened::Backticks(_) if closes.is_some() => 0,
                Opened::Backticks(_) => looked.saturating_sub(call),
            });
            if closes.is_none() && !ended && !code.fence && newline == Some(flat) && self.spent <= self.at / VAIN + FREE
            {
                // The call goes on behind this line, and so may the code around it: its paragraph's end tells.
                code.first = Some(flat);
                code.seen = flat;
                code.fresh = flat;
                self.place = Place::Code(code);
                return (0, true);
            }
            return self.settle_code(code, flat, closes);
        };
        let news = window.get(code.fresh..).unwrap_or_default();
        self.touched += news.len() as u64;
        if !whole && memchr(b'\n', news).is_none() {
            code.fresh = window.len();
            self.place = Place::Code(code);
            return (0, false);
        }
        let end = paragraph_end(window, code.seen);
        self.touched += end.unwrap_or(window.len()).saturating_sub(code.seen) as u64;
        if end.is_none() && !whole {
            code.seen = memrchr(b'\n', window).unwrap_or(code.seen).max(code.seen);
            code.fresh = window.len();
            self.place = Place::Code(code);
            return (0, false);
        }
        let end = self.thought(window, end.unwrap_or(window.len()));
        let paragraph = window.get(..end).unwrap_or_default();
        self.spent = self.spent.saturating_add(paragraph.len());
        let mut closes = None;
        if let Some(call) = code.call {
            let (from, ended) = self.probe(&call, paragraph);
            if ended {
                let from = self.past_calls(&code, paragraph, from);
                let rest = paragraph.get(from..).unwrap_or_default();
                let line = rest.get(..memchr(b'\n', rest).unwrap_or(rest.len())).unwrap_or_default();
                closes = self.closes(&code, paragraph.get(..from + line.len()).unwrap_or_default(), from);
            }
        }
        self.settle_code(code, first, closes)
    }

    /// How much of the first `to` bytes stands in the reasoning that the marker stands in: no quotation reaches
    /// further.
    fn thought(&mut self, window: &[u8], to: usize) -> usize {
        let open = match self.thinking {
            Thinking::Not => return to,
            Thinking::In(open) => Some(open.name),
            Thinking::Prompted => None,
        };
        let text = window.get(..to).unwrap_or_default();
        let closes = reasoning_markups().iter().filter(|one| open.is_none_or(|open| one.name == open));
        let ends = closes.flat_map(|one| one.close).filter_map(|close| memmem::find(text, close.as_bytes()));
        let end = ends.min().unwrap_or(to);
        // However many closers are looked for.
        self.touched += end as u64;
        end
    }

    /// Where what stands open is closed in what is left of a line behind `from`.
    fn closes(&mut self, code: &Code, line: &[u8], from: usize) -> Option<usize> {
        let rest = line.get(from..).unwrap_or_default();
        let end = match code.opened {
            Opened::Marks(quotation) => quotation.closes(rest),
            Opened::Backticks(length) => {
                self.touched += self.runs.follow(self.at + from, self.at + line.len(), line) as u64;
                if !self.runs.may_close(length, self.at + from) {
                    return None;
                }
                closing_run(rest, length)
            }
        };
        self.touched += end.unwrap_or(rest.len()) as u64;
        end.map(|end| from + end)
    }

    /// What the backticks before the marker are, now that it is known whether they are closed, and where.
    fn settle_code(&mut self, code: Code, line: usize, closes: Option<usize>) -> (usize, bool) {
        self.place = Place::Prose;
        match closes {
            Some(end) => self.inert_until = self.at + end,
            None if code.fence => self.inert_until = self.at + line,
            None => {
                match code.opened {
                    Opened::Backticks(_) => self.line.stray_backticks(),
                    Opened::Marks(_) => self.line.stray_marks(),
                }
                self.waiting = Some((self.met, code.ordinal));
            }
        }
        (0, true)
    }

    /// Behind the call's closers, and behind further calls of its kind that follow it at once.
    fn past_calls(&mut self, code: &Code, text: &[u8], mut from: usize) -> usize {
        let Some(call) = code.call else { return from };
        loop {
            let end = behind_closers(call.dialect, text, from);
            self.touched += (end - from) as u64;
            let rest = text.get(end..).unwrap_or_default();
            let space = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let rest = rest.get(space..).unwrap_or_default();
            let openers = call.dialect.open.iter().filter(|open| !open.is_empty());
            let opener = openers.filter(|open| rest.starts_with(open.as_bytes())).map(|open| open.len()).max();
            let bodied = match call.dialect.first {
                First::OneOf(strings) if call.dialect.open.iter().all(|open| open.is_empty()) => {
                    strings.iter().any(|first| rest.starts_with(first.as_bytes())).then_some(0)
                }
                _ => None,
            };
            let opener = opener.or(bodied);
            let Some(opener) = opener else { return end };
            let next = Candidate { section: None, call: 0, opener, marker: opener, ..call };
            let (used, ended) = self.probe(&next, rest);
            if !ended || used <= opener {
                return end;
            }
            from = end + space + used;
        }
    }

    /// How far the call reaches that may begin here, and whether it ends there.
    fn probe(&mut self, candidate: &Candidate, text: &[u8]) -> (usize, bool) {
        let mut body = body_for(candidate.dialect, false, candidate.opener > candidate.call);
        let left = (self.at / VAIN + FREE + 1).saturating_sub(self.spent);
        let (tools, policy) = (self.tools.as_ref(), &self.policy);
        let mut probe = DryRun { tools, policy, used: 0, started: None, looked: 0, vain: 0, left };
        let inside = text.get(candidate.opener..).unwrap_or_default();
        let mut block = BLOCK;
        loop {
            let end = block.min(inside.len());
            let piece = inside.get(probe.used..end).unwrap_or_default();
            self.touched += piece.len() as u64;
            let step = body.step(piece, false, &mut probe);
            self.touched += std::mem::take(&mut probe.looked) as u64;
            self.spent = self.spent.saturating_add(std::mem::take(&mut probe.vain));
            probe.left = (self.at / VAIN + FREE + 1).saturating_sub(self.spent);
            match step {
                Step::Failed(_) => return (candidate.marker, true),
                Step::More if end < inside.len() => block = block.saturating_mul(2),
                step => return (candidate.opener + probe.used.min(inside.len()), step == Step::Done),
            }
        }
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
