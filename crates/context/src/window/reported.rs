//! How full a window is, and what the provider says of it.
//!
//! A provider's report stands for what was sent, and only what is new is counted; it is believed within what the count
//! allows for.

use super::{super::count::Count, ContextWindow, share};

/// A provider that reports more than so many times what was counted is not believed.
const MOST_SCALE: f64 = 4.0;

impl ContextWindow {
    pub(super) fn freshen(&mut self, count: &mut dyn Count) {
        let new = self.marks.since.saturating_sub(self.left_out)..self.history.len();
        self.fresh = new.fold(0, |sum, at| sum.saturating_add(self.cost(at, count).1));
    }

    /// What a request of the view takes of the window: as counted here, or by what the provider reported.
    pub fn expected(&self) -> usize {
        let counted = self.tokens.saturating_add(self.marks.padding);
        let known = self.marks.anchored.min(counted);
        let mut new = (counted - known) as f64 * self.marks.scale.max(1.0);
        // Below what was counted only where the provider, too, counts less than an upper bound.
        if self.marks.learned.is_some() && self.marks.since > 0 {
            let fresh = self.fresh as f64;
            new = if self.marks.scale <= 1.0 { fresh } else { new.max(fresh) };
        }
        (known as f64).mul_add(self.marks.scale, new).ceil() as usize
    }

    /// The provider reported so many tokens for the request that the view, as it is now, was. From now on the window
    /// goes by that, and counts only what comes after. A report below anything that the count allows for, or far above
    /// it, is not believed.
    pub fn reported(&mut self, tokens: usize, count: &mut dyn Count) {
        if tokens == 0 || self.tokens == 0 {
            return;
        }
        // What two reports of a view that grew in between differ by is what was new.
        if self.marks.reported > 0
            && let Some(new) = self
                .history
                .messages()
                .get(self.marks.since.saturating_sub(self.left_out)..)
                .filter(|new| !new.is_empty())
            && let Some(more) = tokens.checked_sub(self.marks.reported).filter(|more| *more > 0)
        {
            count.learn(new, more);
            self.marks.learned = count.learned();
        }
        self.marks.reported = tokens;
        self.marks.since = self.all();
        self.fresh = 0;
        let least = count.least();
        self.marks.scale = (tokens as f64 / self.tokens as f64).clamp(least, MOST_SCALE);
        self.marks.anchored = self.tokens.saturating_add(self.marks.padding);
    }

    /// The provider refused the view as too long. What it said of it helps: the tokens that it counted, and its limit.
    /// From now on the budget is smaller; the caller compacts.
    pub fn refused(&mut self, said: Option<(usize, usize)>, count: &mut dyn Count) {
        let expected = self.expected();
        let budget = match said {
            Some((counted, limit)) if counted > limit => {
                self.reported(counted, count);
                limit
            }
            _ => share(expected, 0.9),
        };
        self.marks.budget = self.marks.budget.min(budget).min(share(self.expected(), 0.98));
        self.marks.trigger = share(self.marks.budget, self.high);
        self.drop_ahead();
    }

    /// Whether the view is above the high mark.
    pub fn is_full(&self) -> bool {
        self.expected() > self.marks.trigger
    }
}
