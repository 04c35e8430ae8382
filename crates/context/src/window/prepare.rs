//! The compaction that a window prepares before it is due.
//!
//! Where it begins and what it goes down to follow from the history and the marks alone, so that a window that is
//! loaded or replayed makes the same one.

use super::{
    super::{
        ahead::{Given, Lead},
        count::Count,
        marks::Point,
        plan::Whole,
    },
    ContextWindow, LONG, share,
};

impl ContextWindow {
    const fn lead(&self) -> Lead {
        Lead::of(self.high, self.low)
    }

    /// Where the next compaction may be prepared: a history that is long, ends well, and has filled the window that
    /// far.
    pub(super) fn point_ahead(&self, expected: usize) -> Option<Point> {
        let lead = self.lead();
        let budget = self.marks.budget;
        let usual = self.marks.trigger == share(budget, self.high);
        let reached = expected > share(budget, self.high - lead.before) && expected <= self.marks.trigger;
        let target = share(share(budget, self.low - lead.deeper), 1.0 / self.marks.scale);
        (self.prepares && usual && reached && lead.is_worth_it(budget) && self.all() >= LONG && self.waiting.is_over())
            .then_some(Point { messages: self.all(), target, whole: Whole::Recalled })
    }

    /// Goes on with the next compaction, as far as the window has filled since.
    pub(super) fn look_ahead(&mut self, before: usize, count: &mut dyn Count) {
        if self.all() < LONG {
            return;
        }
        self.marks.looked = self.all();
        let expected = self.expected();
        if self.marks.ahead.is_none() {
            self.marks.ahead = self.point_ahead(expected);
        }
        let Some(point) = self.marks.ahead else { return };
        if self.has_view_alone() {
            return;
        }
        if self.ahead.is_idle() {
            let messages = point.messages;
            let keep = self.archived.map_or(0, |archived| messages.saturating_sub(archived));
            let (policy, archive, aims) = (&self.policy, &self.archive, &[point.aim()]);
            let given = Given { messages, aims, policy, archive, keep };
            self.ahead.begin(&mut self.history, &given, count);
        }
        let new = self.tokens.saturating_sub(before);
        let room = self.marks.trigger.saturating_sub(expected).saturating_add(new);
        self.ahead.go_on(new, room, count);
    }

    /// Nothing is prepared any more: what it was made for has changed.
    pub(super) fn drop_ahead(&mut self) {
        self.marks.ahead = None;
        self.ahead.forget();
    }
}
