//! The live view of a history that grows: what the next request is made of.
//!
//! Appending costs what is new. Between compactions the view only grows, so its bytes before the new message stay as
//! they were and a provider's cache keeps hitting; when it is full to the high mark, one compaction takes it down to the
//! low one. Everything ever appended is kept, so a view is always made from the originals and never from a view.

use std::{collections::HashSet, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{archive::Archive, compress::compress_known, count::Count, facts::Facts, policy::Policy, report::Report};
use crate::core::{
    error::{Error, Result},
    message::{Message, Role},
    tokens::Learned,
};

/// A history inside a budget. Serialisable; the same calls always give the same bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ContextWindow {
    policy: Policy,
    /// Shares of the budget: a compaction begins above `high` and goes down to `low`.
    high: f64,
    low: f64,
    marks: Marks,
    /// All that was appended, with its tokens; but for the first, where these were left out.
    given: Vec<Arc<Message>>,
    counts: Vec<usize>,
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: usize,
    /// What was seen of each when it came.
    #[serde(skip)]
    facts: Vec<Facts>,
    view: Vec<Arc<Message>>,
    tokens: usize,
    /// Tokens, by what was learned, of what came since the provider last reported or the view was made.
    #[serde(default)]
    fresh: usize,
    /// Where the archive holds all that a compaction saw, and not only what left: so many messages.
    #[serde(default)]
    archived: Option<usize>,
    #[serde(default)]
    archive: Archive,
    #[serde(default)]
    report: Option<Report>,
}

/// What a window knows beside its history: with the same history, the same view can be made from it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Marks {
    budget: usize,
    /// Tokens at which the next compaction begins.
    trigger: usize,
    compactions: usize,
    /// Where the view was made last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    point: Option<Point>,
    /// Tokens that the view counts for beyond its own: after a compaction it counts for the low mark at least, so that
    /// where the next one comes follows from the history alone.
    #[serde(default)]
    padding: usize,
    /// What the provider counted for each token that was counted here, …
    #[serde(default = "one")]
    scale: f64,
    /// … over so many tokens of the view.
    #[serde(default)]
    anchored: usize,
    /// The first message that these did not hold.
    #[serde(default)]
    since: usize,
    /// What the provider reported last of the view as it has grown since; 0 if nothing.
    #[serde(default)]
    reported: usize,
    /// What was learned from reports about each kind of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    learned: Option<Learned>,
}

impl Marks {
    /// The first message that no report of the provider held.
    pub const fn since(&self) -> usize {
        self.since
    }

    /// How many compactions there were.
    pub const fn compactions(&self) -> usize {
        self.compactions
    }
}

/// A compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Point {
    /// How many messages there were.
    messages: usize,
    /// What it went down to.
    target: usize,
}

const fn one() -> f64 {
    1.0
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A compaction begins when the view is larger than this share of the budget, …
pub const HIGH: f64 = 0.85;
/// … and takes it down to this.
pub const LOW: f64 = 0.6;
/// A provider that reports more than so many times what was counted is not believed.
const MOST_SCALE: f64 = 4.0;

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
            policy,
            high,
            low,
            marks: Marks {
                budget,
                trigger: share(budget, high),
                compactions: 0,
                point: None,
                padding: 0,
                scale: 1.0,
                anchored: 0,
                since: 0,
                reported: 0,
                learned: None,
            },
            given: Vec::new(),
            counts: Vec::new(),
            left_out: 0,
            facts: Vec::new(),
            view: Vec::new(),
            tokens: 0,
            fresh: 0,
            archived: None,
            archive: Archive::new(),
            report: None,
        }
    }

    /// The archive shall hold all that a compaction sees, in order: then it, too, follows from the history.
    #[must_use]
    pub const fn keeping_all(mut self) -> Self {
        self.archived = Some(0);
        self
    }

    /// Adds a message at the end. Costs the count of this message.
    pub fn append(&mut self, message: impl Into<Arc<Message>>, count: &mut dyn Count) {
        let message = self.take(message, count);
        self.view.push(message);
    }

    fn take(&mut self, message: impl Into<Arc<Message>>, count: &mut dyn Count) -> Arc<Message> {
        let message = message.into();
        let tokens = count.message(&message);
        if self.given.is_empty() && self.left_out == 0 {
            self.tokens = self.beside(count);
        }
        self.counts.push(tokens);
        if self.facts.len() == self.given.len() {
            self.facts.push(Facts::of(&message));
        }
        self.given.push(message.clone());
        self.tokens = self.tokens.saturating_add(tokens);
        self.fresh = self.fresh.saturating_add(count.by_now(&message, tokens));
        message
    }

    fn beside(&self, count: &mut dyn Count) -> usize {
        count.base().saturating_add(self.policy.reserve)
    }

    /// Fills an empty window with a history that went through requests before, as it would stand had the window been
    /// there from the beginning: with one compaction, where the last one would have been. So a conversation that goes
    /// on in another run or process keeps the beginning of its requests.
    pub fn replay(&mut self, history: impl IntoIterator<Item = Arc<Message>>, count: &mut dyn Count) {
        let (trigger, low) = (share(self.marks.budget, self.high), share(self.marks.budget, self.low));
        let mut sum = self.beside(count);
        let mut last = None;
        for message in history {
            // Before a model's message there was a request.
            if message.role == Role::Assistant && sum > trigger && !self.given.is_empty() {
                (last, sum) = (Some(self.given.len()), low);
            }
            let message = self.take(message, count);
            self.view.push(message);
            sum = sum.saturating_add(self.counts.last().copied().unwrap_or(0));
        }
        // Otherwise all of it is due for a compaction anyway, as it is where what must stay does not fit.
        if let Some(last) = last.filter(|_| sum <= trigger)
            && let Err(_too_small) = self.compact_at(last, &[low], false, count)
        {
            self.marks.point = None;
        }
    }

    /// The view as it was when [`Self::marks`] were taken, with what came to the history since.
    pub fn restore(
        &mut self,
        marks: Marks,
        history: impl IntoIterator<Item = Arc<Message>>,
        count: &mut dyn Count,
    ) -> Result<()> {
        for message in history {
            let message = self.take(message, count);
            self.view.push(message);
        }
        if let Some(Point { messages, target }) = marks.point {
            self.compact_at(messages, &[target], false, count)?;
        }
        self.marks = marks;
        self.resume(count);
        Ok(())
    }

    /// A window that has but its view, of `tokens`, and of what was appended only `new`, from [`Self::since`] on: enough
    /// to append, to be told what a provider counted, and to say when it is full. For a compaction and for what left it
    /// takes the whole history, and a window of its own.
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

    /// Gives the counter what was learned; for a window that was saved, and a counter that is new.
    pub fn resume(&mut self, count: &mut dyn Count) {
        count.set_learned(self.marks.learned.clone());
        self.freshen(count);
    }

    fn freshen(&mut self, count: &mut dyn Count) {
        let new = self.given.iter().zip(&self.counts).skip(self.marks.since.saturating_sub(self.left_out));
        self.fresh = new.fold(0, |sum, (message, tokens)| sum.saturating_add(count.by_now(message, *tokens)));
    }

    /// What the window knows beside its history.
    pub const fn marks(&self) -> &Marks {
        &self.marks
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
            && let Some(new) =
                self.given.get(self.marks.since.saturating_sub(self.left_out)..).filter(|new| !new.is_empty())
            && let Some(more) = tokens.checked_sub(self.marks.reported).filter(|more| *more > 0)
        {
            count.learn(new, more);
            self.marks.learned = count.learned();
        }
        self.marks.reported = tokens;
        self.marks.since = self.left_out + self.given.len();
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
    }

    /// Whether the view is above the high mark.
    pub fn is_full(&self) -> bool {
        self.expected() > self.marks.trigger
    }

    /// Makes the view fit again if it is above the high mark. Gives what was done, or nothing if there was nothing to do.
    /// Where what must stay is larger than the low mark, it goes down as far as it can.
    pub fn settle(&mut self, count: &mut dyn Count) -> Result<Option<&Report>> {
        if !self.is_full() {
            return Ok(None);
        }
        let smaller = self.compact(count)?;
        Ok(self.report.as_ref().filter(|_| smaller))
    }

    /// Makes the view anew from all that was appended, down to the low mark. A view that could not become smaller stays as
    /// it is; gives whether it did.
    pub fn compact(&mut self, count: &mut dyn Count) -> Result<bool> {
        self.compact_to(self.marks.budget, count)
    }

    /// The same; where even the budget is too small for what must stay, it goes down to `most` at least.
    pub fn compact_to(&mut self, most: usize, count: &mut dyn Count) -> Result<bool> {
        let budget = self.marks.budget;
        let wanted = [
            share(budget, self.low),
            share(budget, f64::midpoint(self.low, self.high)),
            share(budget, self.high),
            budget,
            most.max(budget),
        ];
        let targets = wanted.map(|target| share(target, 1.0 / self.marks.scale));
        let smaller = self.compact_at(self.given.len(), &targets, true, count)?;
        // Room to grow before the next one, even where this one could not free much.
        let room = share(budget, (self.high - self.low) / 2.0);
        let expected = self.expected();
        self.marks.trigger =
            share(budget, self.high).max(expected.saturating_add(room)).min(budget).max(expected.min(most));
        Ok(smaller)
    }

    /// Makes the view anew from the first `messages`, down to the first of `targets` that can be; the others follow as
    /// they are. If it `must_shrink` and would not, nothing changes.
    fn compact_at(
        &mut self,
        messages: usize,
        targets: &[usize],
        must_shrink: bool,
        count: &mut dyn Count,
    ) -> Result<bool> {
        if self.has_view_alone() {
            return Err(Error::internal("history_left_out", "a window of its view alone has nothing to compact"));
        }
        let messages = messages.min(self.given.len());
        // A window that was saved has its messages only.
        let unseen = self.given.iter().skip(self.facts.len()).map(|message| Facts::of(message));
        self.facts.extend(unseen);
        let (old, new) = self.given.split_at(messages);
        let (old_counts, new_counts) = self.counts.split_at(messages);
        if let Some(archived) = &mut self.archived {
            for (message, facts) in old.iter().zip(&self.facts).skip(*archived) {
                self.archive.put_known(message, &facts.digits);
            }
            *archived = messages.max(*archived);
        }
        let mut last = None;
        for target in targets.iter().copied() {
            let facts = self.facts.get(..messages).unwrap_or_default();
            match compress_known(old, facts, old_counts, target, &self.policy, count, &mut self.archive) {
                Ok(done) => {
                    let tokens = new_counts.iter().fold(done.report.after, |sum, tokens| sum.saturating_add(*tokens));
                    if must_shrink && tokens >= self.tokens && done.report.repairs.is_empty() {
                        self.report.get_or_insert(done.report);
                        return Ok(false);
                    }
                    let low = share(share(self.marks.budget, self.low), 1.0 / self.marks.scale);
                    self.marks.padding = low.saturating_sub(done.report.after);
                    self.marks.anchored = low.max(done.report.after);
                    self.marks.point = Some(Point { messages, target });
                    self.marks.compactions += 1;
                    self.view = done.messages.into_iter().map(|placed| placed.message).collect();
                    self.view.extend_from_slice(new);
                    self.tokens = tokens;
                    self.report = Some(done.report);
                    // The provider has not seen this view.
                    self.marks.reported = 0;
                    self.marks.since = messages;
                    self.freshen(count);
                    return Ok(true);
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| Error::internal("no_target", "no mark to go down to")))
    }

    /// What left the view, for a model that asks: see [`Archive::answer`].
    pub fn recall(&self, handle: &str, find: &str, from: usize, bytes: usize) -> Result<String> {
        // What stands in the view as it was is not looked for.
        let kept: HashSet<*const Message> = self.view.iter().map(Arc::as_ptr).collect();
        self.archive.answer(handle, find, from, bytes, |message| !kept.contains(&Arc::as_ptr(message)))
    }

    /// What the next request is made of.
    pub fn view(&self) -> &[Arc<Message>] {
        &self.view
    }

    /// Everything that was appended, where nothing was left out.
    pub fn history(&self) -> &[Arc<Message>] {
        &self.given
    }

    /// Tokens of the view, as counted here.
    pub const fn tokens(&self) -> usize {
        self.tokens
    }

    /// Tokens of the view as it would be without the last compaction.
    pub fn uncompacted(&self) -> usize {
        let left = self.report.as_ref().map_or(0, |report| report.before.saturating_sub(report.after));
        self.tokens.saturating_add(left)
    }

    /// The budget.
    pub const fn budget(&self) -> usize {
        self.marks.budget
    }

    /// How many compactions there were.
    pub const fn compactions(&self) -> usize {
        self.marks.compactions
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
