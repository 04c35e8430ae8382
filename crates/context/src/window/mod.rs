//! The live view of a history that grows: what the next request is made of.
//!
//! Appending costs what is new. Between compactions the view only grows, so its bytes before the new message stay as
//! they were and a provider's cache keeps hitting; when it is full to the high mark, one compaction takes it down to
//! the low one. Everything ever appended is kept, so a view is always made from the originals and never from a view.

mod compact;
mod prepare;
mod reported;
mod restore;
mod saved;

use std::{collections::HashSet, sync::Arc};

use serde::{Deserialize, Serialize};

use self::saved::Saved;
use super::{
    ahead::{Ahead, History, Made},
    archive::{Archive, RECALL_BYTES},
    count::Count,
    facts::{Facts, Waiting},
    marks::Marks,
    pairs::Repair,
    policy::Policy,
    report::{Fate, Report},
    search::page,
};
use loopwright_base::{
    error::Result,
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
    /// Whether one ever is.
    prepares: bool,
}

/// A compaction begins when the view is larger than this share of the budget, …
pub const HIGH: f64 = 0.85;
/// … and takes it down to this.
pub const LOW: f64 = 0.6;
/// Bytes that come back however small the window is.
const LEAST_RECALLED: usize = 600;
/// In a shorter history a compaction is made when it is due: that takes no longer than preparing it.
const LONG: usize = 256;

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
            prepares: true,
        }
    }

    /// Every compaction is made when it is due, none prepared: for runs that began when that was so.
    #[must_use]
    pub const fn unprepared(mut self) -> Self {
        self.prepares = false;
        self
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
        self.show(message, count);
        self.look_ahead(before, count);
    }

    /// Takes a message, and puts it into the view.
    fn show(&mut self, message: impl Into<Arc<Message>>, count: &mut dyn Count) {
        self.take(message, count);
        self.history.show(self.history.len() - 1, &self.policy, &mut self.view);
    }

    fn take(&mut self, message: impl Into<Arc<Message>>, count: &mut dyn Count) {
        let message = message.into();
        let tokens = count.message(&message);
        if self.history.is_empty() && self.left_out == 0 {
            self.tokens = self.beside(count);
        }
        let facts = Facts::of(&message);
        self.waiting.note(&facts);
        self.history.push(message.clone(), tokens, facts);
        let at = self.history.len() - 1;
        let (tokens, fresh) = self.cost(at, count);
        self.tokens = self.tokens.saturating_add(tokens);
        self.fresh = self.fresh.saturating_add(fresh);
        if self.history.mended(at).is_some() {
            self.archive.put(&message);
        }
    }

    /// What a message costs as it stands in the view while no plan was made of it, and by what was learned.
    fn cost(&self, at: usize, count: &mut dyn Count) -> (usize, usize) {
        if let Some(made) = self.history.mended(at) {
            return made.iter().fold((0, 0), |sum: (usize, usize), message| {
                let tokens = count.message(message);
                (sum.0.saturating_add(tokens), sum.1.saturating_add(count.by_now(message, tokens)))
            });
        }
        let Some((message, tokens)) = self.history.get(at) else { return (0, 0) };
        (tokens, count.by_now(message, tokens))
    }

    /// What was put right of what was appended, so that a provider takes the view: the message, and what was done. A
    /// plan may do more; its report says so.
    pub fn repairs(&self) -> Vec<Repair> {
        self.history.repairs(self.marks.point.map_or(0, |point| point.messages), &self.policy)
    }

    fn beside(&self, count: &mut dyn Count) -> usize {
        count.base().saturating_add(self.policy.reserve)
    }

    /// How many messages there were.
    const fn all(&self) -> usize {
        self.left_out.saturating_add(self.history.len())
    }

    /// What the window knows beside its history.
    pub const fn marks(&self) -> &Marks {
        &self.marks
    }

    /// What left the view, for a model that asks: see [`Archive::answer`].
    pub fn recall(&self, handle: &str, find: &str, from: usize, bytes: usize) -> Result<String> {
        // What stands in the view as it was is not looked for.
        let kept: HashSet<*const Message> = self.view.iter().map(Arc::as_ptr).collect();
        self.archive.answer(handle, find, from, bytes, |message| !kept.contains(&Arc::as_ptr(message)))
    }

    /// The same, as one of so many answers that together take no more than a page.
    pub fn recall_page(
        &self,
        handle: &str,
        find: &str,
        from: usize,
        parts: usize,
        count: &mut dyn Count,
    ) -> Result<String> {
        let most = self.page(count) / parts.max(1);
        let mut bytes = RECALL_BYTES.min(most.saturating_mul(6)).max(LEAST_RECALLED);
        loop {
            let found = self.recall(handle, find, from, bytes)?;
            let tokens = count.text(&found);
            if tokens <= most || bytes == LEAST_RECALLED {
                return Ok(found);
            }
            bytes = (bytes.saturating_mul(most) / tokens).min(bytes / 32 * 31).max(LEAST_RECALLED);
        }
    }

    /// Tokens of what is asked back at a time: two of such pages stand whole beside what never leaves.
    fn page(&self, count: &mut dyn Count) -> usize {
        let all = share(self.marks.budget, 1.0 / self.marks.scale).saturating_sub(self.beside(count));
        let is_said = |facts: &Facts| facts.role == Role::User && facts.says() && !facts.is_summary();
        let mut said = self.view.iter().filter(|message| is_said(&Facts::of(message)));
        let stays = [said.next(), said.next_back()].into_iter().flatten().map(|message| count.message(message));
        page(all.saturating_sub(stays.sum()))
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

    /// Tokens that a request of the view would take of the window without the last compaction.
    pub fn uncompacted(&self) -> usize {
        let left = self.report.as_ref().map_or(0, Made::saved);
        self.expected().saturating_add(left)
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
