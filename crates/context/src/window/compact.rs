//! Compactions: one takes the view from the high mark down to the low one, always from the originals.
//!
//! One that was prepared is taken where it is low enough; a view that could not become smaller stays as it is.

use super::{
    super::{
        ahead::{Given, Made},
        compress::{Planned, WANTS_ALL},
        count::Count,
        marks::Point,
        plan::{Aim, Whole},
        report::Report,
    },
    ContextWindow, share,
};
use loopwright_base::error::{Error, Result};

impl ContextWindow {
    /// Makes the view fit again if it is above the high mark. Gives what was done, or nothing if there was nothing to
    /// do. Where what must stay is larger than the low mark, it goes down as far as it can.
    pub fn settle(&mut self, count: &mut dyn Count) -> Result<Option<&Report>> {
        Ok(if self.settles(count)? { self.report() } else { None })
    }

    /// The same, without a report.
    pub fn settles(&mut self, count: &mut dyn Count) -> Result<bool> {
        if !self.is_full() {
            return Ok(false);
        }
        self.settle_to(self.marks.budget, count)
    }

    /// For a view above the high mark: takes the compaction that was prepared, or else makes one as
    /// [`Self::compact_to`] does. Gives whether the view became smaller.
    pub fn settle_to(&mut self, most: usize, count: &mut dyn Count) -> Result<bool> {
        if self.adopt(count) {
            return Ok(true);
        }
        self.compact_to(most, count)
    }

    /// Takes the compaction that was prepared, if with what came since it is low enough.
    fn adopt(&mut self, count: &mut dyn Count) -> bool {
        if self.has_view_alone() {
            return false;
        }
        let Some(point) = self.marks.ahead.take() else { return false };
        let since = self.history.counts().iter().skip(point.messages).sum::<usize>();
        let low = share(share(self.marks.budget, self.low), 1.0 / self.marks.scale);
        if point.target.saturating_add(since) > low {
            return false;
        }
        let done = match self.ahead.finish(count) {
            Some(Ok(planned)) => self.install(planned, point.messages, point.target, true, count),
            Some(Err(error)) if error.code != WANTS_ALL => return false,
            _ => {
                let made = self.make_at(point.messages, &[point.aim()], point.target, true, count);
                return made.unwrap_or(false);
            }
        };
        done && {
            self.marks.trigger = share(self.marks.budget, self.high);
            true
        }
    }

    /// Makes the view anew from all that was appended, down to the low mark. A view that could not become smaller stays
    /// as it is; gives whether it did.
    pub fn compact(&mut self, count: &mut dyn Count) -> Result<bool> {
        self.compact_to(self.marks.budget, count)
    }

    /// The same; where even the budget is too small for what must stay, it goes down to `most` at least.
    pub fn compact_to(&mut self, most: usize, count: &mut dyn Count) -> Result<bool> {
        self.drop_ahead();
        let budget = self.marks.budget;
        let least = share(share(budget, self.low), 1.0 / self.marks.scale);
        let smaller = self.make_at(self.history.len(), &self.aims(most), least, true, count)?;
        // Room to grow before the next one, even where this one could not free much.
        let room = share(budget, (self.high - self.low) / 2.0);
        let expected = self.expected();
        self.marks.trigger =
            share(budget, self.high).max(expected.saturating_add(room)).min(budget).max(expected.min(most));
        Ok(smaller)
    }

    /// What a compaction tries, in order: what was asked back stays whole up to the high mark, the last exchanges up to
    /// the budget, or to `most` where that is more; above the high mark all else goes, so that there is room to grow.
    /// What does not fit alone is cut to pages.
    pub(super) fn aims(&self, most: usize) -> Vec<Aim> {
        let budget = self.marks.budget;
        let marks = [self.low, f64::midpoint(self.low, self.high), self.high].map(|mark| share(budget, mark));
        let all = [budget, most.max(budget)];
        let tries = [
            (Whole::Recalled, marks.as_slice()),
            (Whole::Last, marks.as_slice()),
            (Whole::LastAlone, &all),
            (Whole::Nothing, &all),
        ];
        let aim = |whole, target: usize| Aim { target: share(target, 1.0 / self.marks.scale), whole };
        tries.iter().flat_map(|(whole, targets)| targets.iter().map(|target| aim(*whole, *target))).collect()
    }

    /// Makes the view anew from the first messages; the others follow as they are. It counts for `least` at least. If
    /// it `must_shrink` and would not, nothing changes.
    pub(super) fn make_at(
        &mut self,
        messages: usize,
        aims: &[Aim],
        least: usize,
        must_shrink: bool,
        count: &mut dyn Count,
    ) -> Result<bool> {
        if self.has_view_alone() {
            return Err(Error::internal("history_left_out", "a window of its view alone has nothing to compact"));
        }
        let messages = messages.min(self.history.len());
        let keep = self.archived.map_or(0, |archived| messages.saturating_sub(archived));
        let given = Given { messages, aims, policy: &self.policy, archive: &self.archive, keep };
        let planned = self.history.plan(&given, count)?;
        Ok(self.install(planned, messages, least, must_shrink, count))
    }

    fn install(
        &mut self,
        planned: Planned,
        messages: usize,
        least: usize,
        must_shrink: bool,
        count: &mut dyn Count,
    ) -> bool {
        let Planned { made, added, aim, units, left, named, rest } = planned;
        let before = self.history.planned(messages, rest);
        let new = messages..self.history.len();
        let tokens = new.clone().fold(made.report.after, |sum, at| sum.saturating_add(self.cost(at, count).0));
        self.archive.take(added);
        if let Some(archived) = &mut self.archived {
            *archived = messages.max(*archived);
        }
        let report = Made::new(made.report, messages, units, named, &self.history);
        let shrinks = tokens < self.tokens || report.changes().0 > 0;
        if must_shrink && !shrinks {
            self.report.get_or_insert(report);
            self.history.not_planned(before);
            return false;
        }
        self.marks.padding = least.saturating_sub(report.after());
        self.marks.anchored = least.max(report.after());
        self.marks.point = Some(Point { messages, target: aim.target, whole: aim.whole });
        self.marks.compactions += 1;
        self.view.clear();
        self.view.extend(made.messages.into_iter().map(|placed| placed.message));
        new.for_each(|at| self.history.show(at, &self.policy, &mut self.view));
        self.tokens = tokens;
        self.report = Some(report);
        self.history.leave(&left);
        // The provider has not seen this view.
        self.marks.reported = 0;
        self.marks.since = messages;
        self.freshen(count);
        true
    }
}
