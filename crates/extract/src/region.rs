//! The region that a grammar reads: how much of the text it is shown, and what becomes of it when it ends, breaks, or
//! was none.

use super::{
    after::After,
    arguments::{TOO_DEEP, TOO_LARGE},
    bodies::{Boxed, body_for},
    body::Step,
    call::Source,
    desk::{Desk, Mode},
    dialect::Dialect,
    event::{Events, ProblemKind, Span},
    parser::{FREE, Parser, Place, Section, VAIN},
    prose::Candidate,
    remains::TALK,
    shadow::InText,
    utf8::whole_characters,
    walker::Walker,
    writer::problem,
};

/// What a region may hold before its call's name, next to arguments that come first.
const MOST_HEADER: usize = 64 * 1024;
/// How much a body sees at first.
pub(super) const BLOCK: usize = 32;

/// The region that a body reads.
pub(super) struct Region {
    pub(super) dialect: &'static Dialect,
    pub(super) body: Boxed,
    /// The length of the marker that became text if there is no call here.
    pub(super) marker: usize,
    /// Which of the candidates at this place it is; the largest number: not counted among them.
    pub(super) ordinal: usize,
    pub(super) bare: bool,
    /// How many bytes before the body's are markers.
    pub(super) opener: usize,
    /// How many bytes are taken while no call began; the markers are the first of them.
    pub(super) taken: usize,
    /// Where the body's bytes begin.
    pub(super) start: usize,
    /// Up to where the body may see the input; grows with what it took.
    pub(super) block: usize,
    /// Up to where the body saw the input.
    pub(super) seen: usize,
    /// How many bytes before that it didn't look at yet, as more of the text decides where a value ended.
    pub(super) idle: usize,
    /// Up to where the body had to see when the last call began.
    pub(super) floor: usize,
}

impl Parser {
    /// Opens a region at the current place.
    pub(super) fn enter(&mut self, candidate: &Candidate, source: Source) {
        let body = body_for(candidate.dialect, source == Source::Bare, candidate.opener > candidate.call);
        self.walker = None;
        if let Some(section) = candidate.section {
            self.section = Some(Section { dialect: section, before: self.calls.consumed });
        }
        self.calls.region(self.at + candidate.call, source, self.voice());
        self.region = Some(Region {
            dialect: candidate.dialect,
            body,
            marker: candidate.marker,
            ordinal: candidate.ordinal,
            bare: source == Source::Bare,
            opener: candidate.opener,
            taken: candidate.opener,
            start: self.at + candidate.opener,
            block: self.at + candidate.opener + BLOCK,
            seen: self.at + candidate.opener,
            idle: 0,
            floor: 0,
        });
        self.place = Place::Region;
    }

    /// Hands bytes to the body.
    pub(super) fn read_region(&mut self, whole: &[u8], last: bool, out: &mut Events) -> (usize, bool) {
        let Some(region) = self.region.as_mut() else {
            self.place = Place::Prose;
            return (0, true);
        };
        let mode = self.calls.mode;
        let count = self.calls.count;
        let pending = mode == Mode::Pending;
        let (from, limit) = match mode {
            Mode::Pending => (region.taken, usize::MAX),
            Mode::Live => {
                let limit = self.calls.arguments_from.saturating_add(self.policy.max_argument_bytes).max(region.floor);
                (0, limit.saturating_sub(self.at))
            }
            // A call that begins here must not be far over its limit before that is seen.
            _ => {
                let step = self.policy.max_argument_bytes.max(BLOCK);
                (0, region.seen.saturating_sub(self.at).saturating_add(step))
            }
        };
        // Never much more than it has come through so far: a call that breaks early hasn't seen the rest.
        let looked_to = region.block;
        let block = looked_to.saturating_sub(self.at);
        let mut end = whole.len().min(limit).min(block);
        let (mut all, mut stops) = (end == block, end == limit);
        let mut shown = whole.len();
        if !last || shown > limit {
            // No character is shown in part: a limit would cut it.
            end = whole_characters(whole, end);
            if !all && shown <= limit {
                shown = end;
            }
        }
        if mode != Mode::Live && end.saturating_sub(from) > self.policy.max_argument_bytes {
            region.body.hurry();
            // Byte by byte, so that a call over its limit is seen to begin where it does.
            let seen = region.seen.saturating_sub(self.at);
            let known = seen.max(from + self.policy.max_argument_bytes);
            let next = whole_characters(whole, end.min(known + 1));
            let rest = whole.get(known + 1..).unwrap_or_default();
            let character = 1 + rest.iter().take(3).take_while(|byte| matches!(byte, 0x80..=0xbf)).count();
            let one = if next > seen { next } else { end.min(known + character) };
            if one < end {
                end = one;
                (all, stops) = (false, false);
            }
        }
        if stops || all {
            // What is known here must not depend on when it was asked: how much more is shown goes by it.
            region.body.hurry();
        }
        let nothing_follows = last;
        let last = last && end == whole.len();
        if !last && !std::mem::take(&mut self.again) && self.at + end <= region.seen && shown <= end {
            return (0, false);
        }
        let seen = region.seen;
        region.seen = seen.max(self.at + end);
        let weighed = self.calls.weighs.take();
        let mut desk = Desk {
            calls: &mut self.calls,
            tools: self.tools.as_ref(),
            policy: &self.policy,
            writer: &mut self.writer,
            out,
            dialect: region.dialect,
            whole,
            base: self.at,
            shown: (end, nothing_follows),
            used: from,
            text_from: 0,
            spent: &mut self.spent,
        };
        let step = region.body.step(whole.get(from..end).unwrap_or_default(), last, &mut desk);
        if step != Step::More {
            // What a call over the limit was cut at is settled.
            desk.used = desk.used.max(desk.calls.dropped_to.saturating_sub(desk.base));
        }
        desk.used = desk.used.min(end);
        let used = desk.used;
        desk.write_text(used);
        let mode = self.calls.mode;
        if pending && mode != Mode::Pending {
            // One of its own dialect is no value of a broken call.
            self.broken = None;
            self.refused = None;
            self.spoken = Some(region.dialect);
        }
        if self.calls.count != count {
            region.floor = self.at + end;
        }
        // What is over was looked at as far as it was taken, and a byte more; else all that was shown counts.
        let over = step != Step::More && mode != Mode::Pending;
        let looked = self.at + if over { end.min(used + 1) } else { end };
        if weighed.is_some() && self.calls.weighs == weighed {
            region.idle += region.seen - seen;
        } else {
            self.touched += looked.saturating_sub(seen - std::mem::take(&mut region.idle)) as u64;
        }
        if pending && mode == Mode::Pending {
            region.taken = used;
        }
        if all && step == Step::More {
            region.block = region.block.saturating_add(region.block - region.start);
        }
        match step {
            Step::More if self.calls.weighs.is_some() => (used, false),
            Step::More if last => self.cut_off(used, whole, out),
            Step::More if mode == Mode::Pending => {
                if shown > end {
                    (0, true)
                } else if whole.len() > self.policy.max_argument_bytes.saturating_add(MOST_HEADER)
                    || (region.bare && whole.len() > MOST_HEADER)
                {
                    self.reject()
                } else {
                    (0, false)
                }
            }
            // Only what stands behind the limit shows that the call is over it.
            Step::More
                if mode == Mode::Live && self.calls.count == count && !pending && stops && whole.len() > limit =>
            {
                self.overflow(used, end, whole, out);
                (used, true)
            }
            Step::More
                if mode != Mode::Live && end - used > self.policy.max_argument_bytes.saturating_add(MOST_HEADER) =>
            {
                // Text, or dropped, and the body holds on to more of it than a call may have.
                self.leave_region(mode == Mode::Text);
                (used, true)
            }
            Step::More => (used, shown > end),
            Step::Done if mode == Mode::Pending => {
                if region.bare {
                    return self.reject();
                }
                // A region without a call, such as an empty list.
                self.writer.markup(Span { start: self.at, end: self.at + used }, out);
                self.leave_region(false);
                (used, true)
            }
            Step::Done => {
                self.leave_region(mode == Mode::Text);
                (used, true)
            }
            Step::Failed(_) if mode == Mode::Pending && last => self.reject_cut(self.at + end, out),
            Step::Failed(_) if mode == Mode::Pending => self.reject(),
            Step::Failed(why) => {
                let dialect = region.dialect;
                let kind = broke(why);
                // Where it broke, not where the input was cut.
                let allowed = ((self.at + used) / VAIN).saturating_add(FREE);
                self.region = None;
                self.line.interrupted();
                self.in_message(dialect);
                if why != TALK {
                    self.break_in(dialect);
                }
                if mode == Mode::Live {
                    let call = self.calls.count.saturating_sub(1);
                    self.calls.break_off(self.at + used, kind, &broke_off(why), &mut self.writer, out);
                    let often = self.spent > allowed;
                    if often {
                        self.owe(dialect);
                    }
                    self.place = if often || dialect.close.iter().all(|close| close.is_empty()) {
                        Place::Prose
                    } else {
                        Place::Remains { dialect, kind, call, seen: 0, text: InText::default() }
                    };
                    self.spent = self.spent.saturating_add(looked_to.saturating_sub(self.at + used));
                    if self.spent > allowed {
                        self.inert_until = looked_to;
                        self.owe(dialect);
                        self.place = Place::Prose;
                    }
                } else {
                    self.spent = self.spent.saturating_add(looked_to.saturating_sub(self.at + used));
                    if self.spent > allowed {
                        self.calls.close(self.at + used, &mut self.writer, out);
                        self.inert_until = looked_to;
                        self.place = Place::Prose;
                    } else {
                        self.place = Place::After(After::new(dialect, mode == Mode::Text));
                    }
                }
                (used, true)
            }
        }
    }

    /// The open call is over the limit, which stands at `end`. What its body gave out so far depends on the cuts; what
    /// it would give out if the text ended there doesn't.
    fn overflow(&mut self, used: usize, end: usize, whole: &[u8], out: &mut Events) {
        if let Some(region) = &self.region {
            let mut body = region.body.clone();
            self.calls.flushing = true;
            let mut desk = Desk {
                calls: &mut self.calls,
                tools: self.tools.as_ref(),
                policy: &self.policy,
                writer: &mut self.writer,
                out,
                dialect: region.dialect,
                whole,
                base: self.at,
                shown: (end, true),
                used,
                text_from: used,
                spent: &mut self.spent,
            };
            body.step(whole.get(used..end).unwrap_or_default(), true, &mut desk);
            self.touched += (end - used) as u64;
        }
        self.calls.overflow(self.at + end, &mut self.writer, out);
    }

    fn leave_region(&mut self, text: bool) {
        if let Some(region) = self.region.take() {
            self.in_message(region.dialect);
            self.place = Place::After(After::new(region.dialect, text).opened(region.opener));
        }
        self.line.interrupted();
    }

    /// A call that wasn't text may stand in a message, whose end is markup then.
    fn in_message(&mut self, dialect: &Dialect) {
        self.framed |= !dialect.message_end.is_empty() && self.calls.mode != Mode::Text;
    }

    /// The text ended while the body needed more.
    fn cut_off(&mut self, used: usize, whole: &[u8], out: &mut Events) -> (usize, bool) {
        let end = self.at + whole.len();
        match self.calls.mode {
            Mode::Pending => return self.reject_cut(end, out),
            Mode::Text => {
                let rest = whole.get(used..).unwrap_or_default();
                self.writer.text(self.calls.voice, rest, self.at + used, out);
            }
            Mode::Live => {
                let why = "the text ended inside the call";
                self.calls.break_off(end, ProblemKind::Incomplete, why, &mut self.writer, out);
            }
            Mode::Between | Mode::Dropping => {
                // What the body held between calls goes the way of what stands behind a call.
                self.leave_region(false);
                return (used, true);
            }
        }
        self.region = None;
        self.place = Place::Prose;
        (whole.len(), true)
    }

    /// There is no call here, and nothing follows: it may have been one.
    fn reject_cut(&mut self, end: usize, out: &mut Events) -> (usize, bool) {
        if !self.passed.said_cut {
            self.passed.said_cut = true;
            let message = "the text ended where a call may have begun; it stays text".to_owned();
            self.writer.problem(problem(ProblemKind::Incomplete, message, Span { start: self.at, end }), out);
        }
        self.reject()
    }

    /// There is no call here: what was held is text, and is read again from behind the marker, unless that was done too
    /// often.
    fn reject(&mut self) -> (usize, bool) {
        self.place = Place::Prose;
        let Some(region) = self.region.take() else { return (0, true) };
        // Where it broke, but for the last doubling: the same however the input was cut.
        let looked = region.block.saturating_sub(self.at);
        self.spent = self.spent.saturating_add(looked);
        if self.section.is_some_and(|section| section.before == self.calls.consumed) {
            self.section = None;
        }
        let often = self.spent > (self.at / VAIN).saturating_add(FREE);
        if region.taken > region.opener {
            // What the body took whole was of its grammar, but no call: nothing in it is looked at again.
            self.inert_until = self.at + if often { looked.max(region.taken) } else { region.taken };
            if region.bare && self.walker.is_none() {
                // Nor is what it stands in.
                self.walker = Some(Walker::default());
                self.walked = self.at;
            }
        } else if often {
            self.inert_until = self.at + looked.max(region.marker);
        } else {
            self.refused = Some(region.dialect).filter(|_| !region.bare).or(self.refused);
            self.waiting = Some((self.met, region.ordinal.wrapping_add(1)));
        }
        (0, true)
    }
}

/// What a body's word for its failure means.
pub(super) fn broke(why: &str) -> ProblemKind {
    match why {
        TOO_DEEP => ProblemKind::TooDeep,
        TOO_LARGE => ProblemKind::ArgumentsTooLarge,
        _ => ProblemKind::Malformed,
    }
}

/// The same for people.
pub(super) fn broke_off(why: &str) -> String {
    format!("the call ended before its arguments did: {why}")
}
