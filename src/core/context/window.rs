//! The live view of a history that grows: what the next request is made of.
//!
//! Appending costs what is new. Between compactions the view only grows, so its bytes before the new message stay as
//! they were and a provider's cache keeps hitting; when it is full to the high mark, one compaction takes it down to the
//! low one. Everything ever appended is kept, so a view is always made from the originals and never from a view.

use std::{collections::HashSet, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    ahead::{Ahead, Given, History, Lead, Made},
    archive::Archive,
    compress::{Planned, WANTS_ALL},
    count::Count,
    facts::{Facts, Waiting},
    marks::{Marks, Point},
    policy::Policy,
    report::{Fate, Report},
};
use crate::core::{
    error::{Error, Result},
    message::{Message, Role},
};

/// A history inside a budget. Serialisable; the same calls always give the same bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
pub struct ContextWindow {
    policy: Policy,
    /// Shares of the budget: a compaction begins above `high` and goes down to `low`.
    high: f64,
    low: f64,
    marks: Marks,
    /// All that was appended, with its tokens and what was seen of it; but for the first, where these were left out.
    history: History,
    left_out: usize,
    waiting: Waiting,
    view: Vec<Arc<Message>>,
    tokens: usize,
    /// Tokens, by what was learned, of what came since the provider last reported or the view was made.
    fresh: usize,
    /// Where the archive holds all that a compaction saw, and not only what left: so many messages.
    archived: Option<usize>,
    archive: Archive,
    report: Option<Made>,
    /// The next compaction, where it is being prepared.
    ahead: Ahead,
}

/// A window as it is saved.
#[derive(Serialize, Deserialize)]
struct Saved {
    policy: Policy,
    high: f64,
    low: f64,
    marks: Marks,
    given: Vec<Arc<Message>>,
    counts: Vec<usize>,
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: usize,
    view: Vec<Arc<Message>>,
    tokens: usize,
    #[serde(default)]
    fresh: usize,
    #[serde(default)]
    archived: Option<usize>,
    #[serde(default)]
    archive: Archive,
    #[serde(default)]
    report: Option<Report>,
}

impl From<ContextWindow> for Saved {
    fn from(window: ContextWindow) -> Self {
        let report = window.report().cloned();
        let ContextWindow { policy, high, low, marks, history, left_out, view, .. } = window;
        let (given, counts) = history.into_parts();
        let ContextWindow { tokens, fresh, archived, archive, .. } = window;
        Self { policy, high, low, marks, given, counts, left_out, view, tokens, fresh, archived, archive, report }
    }
}

impl From<Saved> for ContextWindow {
    fn from(saved: Saved) -> Self {
        let Saved { policy, high, low, marks, given, counts, left_out, view, tokens, .. } = saved;
        let Saved { fresh, archived, archive, report, .. } = saved;
        let (mut history, mut waiting) = (History::new(policy.wire), Waiting::default());
        for (message, tokens) in given.into_iter().zip(counts) {
            let facts = Facts::of(&message);
            waiting.note(&facts);
            history.push(message, tokens, facts);
        }
        let report = report.map(Made::whole);
        let ahead = Ahead::default();
        Self {
            policy,
            high,
            low,
            marks,
            history,
            left_out,
            waiting,
            view,
            tokens,
            fresh,
            archived,
            archive,
            report,
            ahead,
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
pub(super) const fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A compaction begins when the view is larger than this share of the budget, …
pub const HIGH: f64 = 0.85;
/// … and takes it down to this.
pub const LOW: f64 = 0.6;
/// In a shorter history a compaction is made when it is due: that takes no longer than preparing it.
const LONG: usize = 256;
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
            high,
            low,
            history: History::new(policy.wire),
            policy,
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
                ahead: None,
                looked: 0,
            },
            left_out: 0,
            waiting: Waiting::default(),
            view: Vec::new(),
            tokens: 0,
            fresh: 0,
            archived: None,
            archive: Archive::new(),
            report: None,
            ahead: Ahead::default(),
        }
    }

    /// The archive shall hold all that a compaction sees, in order: then it, too, follows from the history.
    #[must_use]
    pub const fn keeping_all(mut self) -> Self {
        self.archived = Some(0);
        self
    }

    /// Adds a message at the end. Costs the count of this message, and where the window fills, a piece of the work of
    /// the next compaction.
    pub fn append(&mut self, message: impl Into<Arc<Message>>, count: &mut dyn Count) {
        let before = self.tokens;
        let message = self.take(message, count);
        self.view.push(message);
        self.look_ahead(before, count);
    }

    fn take(&mut self, message: impl Into<Arc<Message>>, count: &mut dyn Count) -> Arc<Message> {
        let message = message.into();
        let tokens = count.message(&message);
        if self.history.is_empty() && self.left_out == 0 {
            self.tokens = self.beside(count);
        }
        let facts = Facts::of(&message);
        self.waiting.note(&facts);
        self.history.push(message.clone(), tokens, facts);
        self.tokens = self.tokens.saturating_add(tokens);
        self.fresh = self.fresh.saturating_add(count.by_now(&message, tokens));
        message
    }

    fn beside(&self, count: &mut dyn Count) -> usize {
        count.base().saturating_add(self.policy.reserve)
    }

    /// How many messages there were.
    const fn all(&self) -> usize {
        self.left_out + self.history.len()
    }

    const fn lead(&self) -> Lead {
        Lead::of(self.high, self.low)
    }

    /// Where the next compaction may be prepared: a history that is long, ends well, and has filled the window that far.
    fn point_ahead(&self, expected: usize) -> Option<Point> {
        let lead = self.lead();
        let budget = self.marks.budget;
        let usual = self.marks.trigger == share(budget, self.high);
        let reached = expected > share(budget, self.high - lead.before) && expected <= self.marks.trigger;
        let target = share(share(budget, self.low - lead.deeper), 1.0 / self.marks.scale);
        (usual && reached && lead.is_worth_it(budget) && self.all() >= LONG && self.waiting.is_over())
            .then_some(Point { messages: self.all(), target })
    }

    /// Goes on with the next compaction, as far as the window has filled since.
    fn look_ahead(&mut self, before: usize, count: &mut dyn Count) {
        if self.all() < LONG {
            return;
        }
        self.marks.looked = self.all();
        let expected = self.expected();
        if self.marks.ahead.is_none() {
            self.marks.ahead = self.point_ahead(expected);
        }
        let Some(Point { messages, target }) = self.marks.ahead else { return };
        if self.has_view_alone() {
            return;
        }
        if self.ahead.is_idle() {
            let keep = self.archived.map_or(0, |archived| messages.saturating_sub(archived));
            let given = Given { messages, target, policy: &self.policy, archive: &self.archive, keep };
            self.ahead.begin(&mut self.history, &given, count);
        }
        let new = self.tokens.saturating_sub(before);
        let room = self.marks.trigger.saturating_sub(expected).saturating_add(new);
        self.ahead.go_on(new, room, count);
    }

    /// Nothing is prepared any more: what it was made for has changed.
    fn drop_ahead(&mut self) {
        self.marks.ahead = None;
        self.ahead.forget();
    }

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
                let full = Point { messages: self.all(), target: low };
                let ahead = self.marks.ahead.take().filter(|point| point.target.saturating_add(since) <= low);
                sum = ahead.map_or(low, |point| point.target + since);
                last = Some((ahead, full));
            }
            let message = self.take(message, count);
            self.view.push(message);
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
            && point.is_none_or(|point| self.make_at(point, point.target, false, count).is_err())
            && let Err(_too_small) = self.make_at(full, low, false, count)
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
            let message = self.take(message, count);
            self.view.push(message);
        }
        if let Some(point) = marks.point {
            self.make_at(point, point.target, false, count)?;
        }
        self.marks = marks;
        self.resume(count);
        // What came later than the marks were made is new.
        for message in history {
            self.append(message, count);
        }
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
        let new = self.history.iter().skip(self.marks.since.saturating_sub(self.left_out));
        self.fresh = new.fold(0, |sum, (message, tokens)| sum.saturating_add(count.by_now(message, tokens)));
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

    /// Makes the view fit again if it is above the high mark. Gives what was done, or nothing if there was nothing to do.
    /// Where what must stay is larger than the low mark, it goes down as far as it can.
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
            Some(Ok(planned)) => self.install(planned, point, point.target, true, count),
            Some(Err(error)) if error.code != WANTS_ALL => return false,
            _ => return self.make_at(point, point.target, true, count).unwrap_or(false),
        };
        done && {
            self.marks.trigger = share(self.marks.budget, self.high);
            true
        }
    }

    /// Makes the view anew from all that was appended, down to the low mark. A view that could not become smaller stays as
    /// it is; gives whether it did.
    pub fn compact(&mut self, count: &mut dyn Count) -> Result<bool> {
        self.compact_to(self.marks.budget, count)
    }

    /// The same; where even the budget is too small for what must stay, it goes down to `most` at least.
    pub fn compact_to(&mut self, most: usize, count: &mut dyn Count) -> Result<bool> {
        self.drop_ahead();
        let budget = self.marks.budget;
        let wanted = [
            share(budget, self.low),
            share(budget, f64::midpoint(self.low, self.high)),
            share(budget, self.high),
            budget,
            most.max(budget),
        ];
        let mut done = Err(Error::internal("no_target", "no mark to go down to"));
        for target in wanted.map(|target| share(target, 1.0 / self.marks.scale)) {
            let low = share(share(budget, self.low), 1.0 / self.marks.scale);
            done = self.make_at(Point { messages: self.history.len(), target }, low, true, count);
            if done.is_ok() {
                break;
            }
        }
        let smaller = done?;
        // Room to grow before the next one, even where this one could not free much.
        let room = share(budget, (self.high - self.low) / 2.0);
        let expected = self.expected();
        self.marks.trigger =
            share(budget, self.high).max(expected.saturating_add(room)).min(budget).max(expected.min(most));
        Ok(smaller)
    }

    /// Makes the view anew from the first messages, down to a target; the others follow as they are. It counts for
    /// `least` at least. If it `must_shrink` and would not, nothing changes.
    fn make_at(&mut self, point: Point, least: usize, must_shrink: bool, count: &mut dyn Count) -> Result<bool> {
        if self.has_view_alone() {
            return Err(Error::internal("history_left_out", "a window of its view alone has nothing to compact"));
        }
        let messages = point.messages.min(self.history.len());
        let keep = self.archived.map_or(0, |archived| messages.saturating_sub(archived));
        let given = Given { messages, target: point.target, policy: &self.policy, archive: &self.archive, keep };
        let planned = self.history.plan(&given, count)?;
        Ok(self.install(planned, Point { messages, ..point }, least, must_shrink, count))
    }

    fn install(
        &mut self,
        planned: Planned,
        point: Point,
        least: usize,
        must_shrink: bool,
        count: &mut dyn Count,
    ) -> bool {
        let Point { messages, .. } = point;
        let new = self.history.counts().iter().skip(messages);
        let tokens = new.fold(planned.made.report.after, |sum, tokens| sum.saturating_add(*tokens));
        let shrinks = tokens < self.tokens || !planned.made.report.repairs.is_empty();
        self.archive.take(planned.added);
        if let Some(archived) = &mut self.archived {
            *archived = messages.max(*archived);
        }
        let report = Made::new(planned.made.report, messages, planned.units, &self.history);
        if must_shrink && !shrinks {
            self.report.get_or_insert(report);
            return false;
        }
        self.marks.padding = least.saturating_sub(report.after());
        self.marks.anchored = least.max(report.after());
        self.marks.point = Some(point);
        self.marks.compactions += 1;
        self.view.clear();
        self.view.extend(planned.made.messages.into_iter().map(|placed| placed.message));
        self.view.extend_from_slice(self.history.messages().get(messages..).unwrap_or_default());
        self.tokens = tokens;
        self.report = Some(report);
        self.history.leave(&planned.left);
        // The provider has not seen this view.
        self.marks.reported = 0;
        self.marks.since = messages;
        self.freshen(count);
        true
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
        self.history.messages()
    }

    /// Tokens of the view, as counted here.
    pub const fn tokens(&self) -> usize {
        self.tokens
    }

    /// Tokens of the view as it would be without the last compaction.
    pub fn uncompacted(&self) -> usize {
        let left = self.report.as_ref().map_or(0, Made::saved);
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
    pub fn report(&self) -> Option<&Report> {
        self.report.as_ref().map(|made| made.get(&self.history, &self.policy, &self.archive))
    }

    /// Of the last compaction: how many messages have this fate, and their tokens before and after.
    pub fn tally(&self, fate: Fate) -> (usize, usize, usize) {
        self.report.as_ref().map_or((0, 0, 0), |made| made.tally(fate))
    }

    /// Of the last compaction: how many repairs there were, and the first message of the view that changed.
    pub fn last_changes(&self) -> (usize, Option<usize>) {
        self.report.as_ref().map_or((0, None), Made::changes)
    }

    /// What left the view.
    pub const fn archive(&self) -> &Archive {
        &self.archive
    }

    /// The policy; what is changed counts from the next compaction on.
    pub fn policy_mut(&mut self) -> &mut Policy {
        self.drop_ahead();
        // What was left aside was by another policy; the report is the last to ask for it.
        let _made = self.report();
        self.history.forget();
        &mut self.policy
    }
}

fn share(budget: usize, part: f64) -> usize {
    (budget as f64 * part) as usize
}
