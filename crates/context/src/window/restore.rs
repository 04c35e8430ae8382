//! A window made again: from a history that went through requests before, or from its marks.
//!
//! Either way its view is, to the byte, the one that was there, so that what a provider holds of it stays good.

use std::sync::Arc;

use super::{
    super::{count::Count, marks::Marks},
    ContextWindow, LONG, share,
};
use loopwright_base::{
    error::Result,
    message::{Message, Role},
};

impl ContextWindow {
    /// Fills an empty window with a history that went through requests before, as it would stand had the window been
    /// there from the beginning: with one compaction, where the last one would have been. So a conversation that goes
    /// on in another run or process keeps the beginning of its requests.
    pub fn replay(&mut self, history: impl IntoIterator<Item = Arc<Message>>, count: &mut dyn Count) {
        let (trigger, low) = (share(self.marks.budget, self.high), share(self.marks.budget, self.low));
        let mut sum = self.beside(count);
        let mut last = None;
        let mut since = 0;
        for message in history {
            // Before a model's message there was a request.
            if message.role == Role::Assistant && sum > trigger && !self.history.is_empty() {
                let full = self.all();
                let ahead = self.marks.ahead.take().filter(|point| point.target.saturating_add(since) <= low);
                sum = ahead.map_or(low, |point| point.target + since);
                last = Some((ahead, full));
            }
            self.show(message, count);
            let tokens = self.history.counts().last().copied().unwrap_or(0);
            (sum, since) = (sum.saturating_add(tokens), since + tokens);
            if self.marks.ahead.is_none() {
                self.marks.ahead = self.point_ahead(sum);
                since = 0;
            }
        }
        let ahead = self.marks.ahead;
        // Otherwise all of it is due for a compaction anyway, as it is where what must stay does not fit.
        if let Some((point, full)) = last.filter(|_| sum <= trigger)
            && point
                .is_none_or(|point| self.make_at(point.messages, &[point.aim()], point.target, false, count).is_err())
            && let Err(_too_small) = self.make_at(full, &self.aims(self.marks.budget), low, false, count)
        {
            self.marks.point = None;
        }
        self.marks.ahead = ahead;
    }

    /// The view as it was when [`Self::marks`] were taken, with what came to the history since.
    pub fn restore(
        &mut self,
        marks: Marks,
        history: impl IntoIterator<Item = Arc<Message>>,
        count: &mut dyn Count,
    ) -> Result<()> {
        let point = marks.point.map_or(0, |point| point.messages);
        let known = marks.looked.max(point).max(LONG - 1);
        let mut history = history.into_iter();
        for message in history.by_ref().take(known) {
            self.show(message, count);
        }
        if let Some(point) = marks.point {
            self.make_at(point.messages, &[point.aim()], point.target, false, count)?;
        }
        self.marks = marks;
        self.resume(count);
        // What came later than the marks were made is new.
        for message in history {
            self.append(message, count);
        }
        Ok(())
    }

    /// A window that has but its view, of `tokens`, and of what was appended only `new`, from [`Self::since`] on:
    /// enough to append, to be told what a provider counted, and to say when it is full. For a compaction and for what
    /// left it takes the whole history, and a window of its own.
    #[must_use]
    pub fn restore_view(
        mut self,
        marks: Marks,
        view: Vec<Arc<Message>>,
        tokens: usize,
        new: impl IntoIterator<Item = Arc<Message>>,
        count: &mut dyn Count,
    ) -> Self {
        for message in new {
            self.take(message, count);
        }
        (self.left_out, self.view, self.tokens) = (marks.since, view, tokens);
        self.marks = marks;
        self.resume(count);
        self
    }

    /// Whether it was restored from its view alone.
    pub const fn has_view_alone(&self) -> bool {
        self.left_out > 0
    }

    /// Gives the counter what was learned, if anything was; for a window that was saved, and the counter that it began
    /// with.
    pub fn resume(&mut self, count: &mut dyn Count) {
        if self.marks.learned.is_some() {
            count.set_learned(self.marks.learned.clone());
        }
        self.freshen(count);
    }
}
