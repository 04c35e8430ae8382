//! The live view of a history that grows: what the next request is made of.
//!
//! Appending costs what is new. Between compactions the view only grows, so its bytes before the new message stay as
//! they were and a provider's cache keeps hitting; when it is full to the high mark, one compaction takes it down to the
//! low one. Everything ever appended is kept, so a view is always made from the originals and never from a view.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{archive::Archive, compress::compress, count::Count, policy::Policy, report::Report};
use crate::core::{error::Result, message::Message};

/// A history inside a budget. Serialisable; the same calls always give the same bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ContextWindow {
    budget: usize,
    policy: Policy,
    /// Shares of the budget: a compaction begins above `high` and goes down to `low`.
    high: f64,
    low: f64,
    /// All that was appended, with its tokens.
    given: Vec<Arc<Message>>,
    counts: Vec<usize>,
    view: Vec<Arc<Message>>,
    tokens: usize,
    /// Tokens at which the next compaction begins.
    trigger: usize,
    compactions: usize,
    #[serde(default)]
    archive: Archive,
    #[serde(default)]
    report: Option<Report>,
}

/// A compaction begins when the view is larger than this share of the budget, …
pub const HIGH: f64 = 0.85;
/// … and takes it down to this.
pub const LOW: f64 = 0.6;

impl ContextWindow {
    /// An empty window of `budget` tokens.
    pub fn new(budget: usize, policy: Policy) -> Self {
        Self::with_marks(budget, policy, HIGH, LOW)
    }

    /// A window with marks of its own, as shares of the budget; `low` stays below `high`.
    pub fn with_marks(budget: usize, policy: Policy, high: f64, low: f64) -> Self {
        let high = if high.is_finite() { high.clamp(0.05, 1.0) } else { HIGH };
        let low = if low.is_finite() { low.clamp(0.01, high) } else { LOW.min(high) };
        Self {
            budget,
            policy,
            high,
            low,
            given: Vec::new(),
            counts: Vec::new(),
            view: Vec::new(),
            tokens: 0,
            trigger: share(budget, high),
            compactions: 0,
            archive: Archive::new(),
            report: None,
        }
    }

    /// Adds a message at the end. Costs the count of this message.
    pub fn append(&mut self, message: impl Into<Arc<Message>>, count: &mut dyn Count) {
        let message = message.into();
        let tokens = count.message(&message);
        if self.given.is_empty() {
            self.tokens = count.base().saturating_add(self.policy.reserve);
        }
        self.counts.push(tokens);
        self.given.push(message.clone());
        self.view.push(message);
        self.tokens = self.tokens.saturating_add(tokens);
    }

    /// Whether the view is above the high mark.
    pub const fn is_full(&self) -> bool {
        self.tokens > self.trigger
    }

    /// Makes the view fit again if it is above the high mark. Gives what was done, or nothing if there was nothing to do.
    /// Where what must stay is larger than the low mark, it goes down as far as it can.
    pub fn settle(&mut self, count: &mut dyn Count) -> Result<Option<&Report>> {
        if !self.is_full() {
            return Ok(None);
        }
        self.compact(count).map(Some)
    }

    /// Makes the view anew from all that was appended, down to the low mark.
    pub fn compact(&mut self, count: &mut dyn Count) -> Result<&Report> {
        let low = share(self.budget, self.low);
        let targets =
            [low, share(self.budget, f64::midpoint(self.low, self.high)), share(self.budget, self.high), self.budget];
        let mut last = None;
        for target in targets {
            match compress(&self.given, Some(&self.counts), target, &self.policy, count, &mut self.archive) {
                Ok(done) => {
                    self.view = done.messages.into_iter().map(|placed| placed.message).collect();
                    self.tokens = done.report.after;
                    self.compactions += 1;
                    // Room to grow before the next one, even where this one could not free much.
                    let room = share(self.budget, (self.high - self.low) / 2.0);
                    self.trigger = share(self.budget, self.high).max(self.tokens.saturating_add(room)).min(self.budget);
                    return Ok(self.report.insert(done.report));
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| crate::core::error::Error::internal("no_target", "no mark to go down to")))
    }

    /// What the next request is made of.
    pub fn view(&self) -> &[Arc<Message>] {
        &self.view
    }

    /// Everything that was appended.
    pub fn history(&self) -> &[Arc<Message>] {
        &self.given
    }

    /// Tokens of the view.
    pub const fn tokens(&self) -> usize {
        self.tokens
    }

    /// The budget.
    pub const fn budget(&self) -> usize {
        self.budget
    }

    /// How many compactions there were.
    pub const fn compactions(&self) -> usize {
        self.compactions
    }

    /// What the last compaction did.
    pub const fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    /// What left the view.
    pub const fn archive(&self) -> &Archive {
        &self.archive
    }

    /// The policy; what is changed counts from the next compaction on.
    pub const fn policy_mut(&mut self) -> &mut Policy {
        &mut self.policy
    }
}

fn share(budget: usize, part: f64) -> usize {
    (budget as f64 * part) as usize
}
