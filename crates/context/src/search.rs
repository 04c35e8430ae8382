//! How far down the ladder a budget goes.
//!
//! First by rough sizes, then step by step, counting what is left. Where units are left aside it takes them for gone,
//! and says so if they might not be.

use std::{ops::Range, sync::Arc};

use super::{
    archive::Handles,
    aside::{Ages, Aside},
    compress::wants_all,
    pace::Hand,
    pairs::Placed,
    plan::{Aim, LAST, Step, Whole},
    tiers::{Level, Page, Shape, Tiers},
    units::{self, Hold, Kind},
};
use loopwright_base::{
    error::{Error, Result},
    message::Message,
};

/// How far the ladder was gone down, and what the messages are now.
pub(super) struct State {
    pub(super) levels: Vec<Level>,
    pub(super) shapes: Vec<(Shape, usize)>,
    pub(super) total: usize,
    /// Tokens set aside for the summary.
    pub(super) reserve: usize,
    /// Tokens to say that something left.
    pub(super) least: usize,
    /// Of each result of the exchange that is cut to a page.
    pub(super) page: Page,
}

impl State {
    pub(super) fn whole(placed: &[Placed], tokens: &[usize], units: usize) -> Self {
        let shapes = placed.iter().zip(tokens).map(|(_, tokens)| (Shape::Same, *tokens)).collect();
        Self {
            levels: vec![Level::Full; units],
            shapes,
            total: tokens.iter().sum(),
            reserve: 0,
            least: 0,
            page: Page::default(),
        }
    }
}

/// Tokens of a page: two of them stand beside what never leaves. A first page is smaller, so that those that are asked
/// for then hold no less, even with a table's head.
pub(super) const fn page(room: usize) -> usize {
    room.saturating_mul(2) / 5
}

/// The way down the ladder.
pub(super) struct Search<'a, 'h, H> {
    pub(super) tiers: &'a Tiers<'a>,
    pub(super) tokens: &'a [usize],
    pub(super) steps: &'a [Step],
    /// What all may cost, and what the request costs beside the messages.
    pub(super) aim: Aim,
    pub(super) beside: usize,
    pub(super) share: f64,
    pub(super) state: State,
    pub(super) hand: &'a mut H,
    pub(super) handles: &'a mut Handles<'h>,
    pub(super) aside: &'a Aside,
    /// The most salience of what is left aside, and its last place in the ladder.
    pub(super) most: (f64, f64),
    pub(super) ages: &'a Ages<'a>,
}

impl<H: Hand> Search<'_, '_, H> {
    /// Goes down the ladder until what is left fits, beside what the summary may take.
    pub(super) async fn run(&mut self, total: usize) -> Result<()> {
        let room = self.room();
        let cap = room as f64 * self.share;
        // Whatever leaves, there is room to say that it did, and what it was about.
        let least = self.hand.message(&Arc::new(Message::user(units::SUMMARY_HEAD))).await as f64 * 2.5;
        self.state.least = least as usize;
        let reserve = move |lost: usize| if lost > 0 { cap.min((lost as f64 * 0.3).max(least)) } else { 0.0 };
        let fits = move |left: usize, lost: usize| left as f64 * 0.9 + reserve(lost) <= room as f64;
        // First by rough sizes, a little less far than they say; then step by step, counting.
        let (mut left, mut lost, mut taken) = (total, 0, 0_usize);
        if !self.aside.is_empty() {
            // What is left aside is gone; it has to be sure that it would be.
            let mut newest = self.tiers.units.iter().enumerate().rev();
            let said = newest.find(|(_, unit)| matches!(unit.kind, Kind::User | Kind::Goal));
            let Some(tidied) = self.aside.tidied(said.map(|(at, unit)| self.ages.ordinal(at, unit))) else {
                return wants_all();
            };
            let first = self.steps.iter().take_while(|step| step.level == Level::Tidy);
            let tidy = first.fold(tidied, |sum, step| sum.saturating_add(step.saves));
            if fits(total.saturating_sub(tidy), 0) {
                return wants_all();
            }
            left = total.saturating_sub(self.aside.tokens);
            lost = self.aside.tokens.saturating_sub(tidied);
        }
        for step in self.steps.iter().take_while(|step| step.key < LAST) {
            if fits(left, lost) {
                break;
            }
            left = left.saturating_sub(step.saves);
            if step.level > Level::Tidy {
                lost += step.saves;
            }
            if let Some(level) = self.state.levels.get_mut(step.unit) {
                *level = step.level;
            }
            taken += 1;
        }
        let deepest = taken.checked_sub(1).and_then(|before| self.steps.get(before));
        // Where all goes that is not held, so does what is left aside.
        let is_sure = self.steps.get(taken).is_none_or(|step| step.key >= LAST);
        if !self.aside.is_empty() && !is_sure && deepest.is_none_or(|step| step.key <= self.most.1) {
            return wants_all();
        }
        self.state.total = 0;
        let left = self.tiers.units.iter().zip(&self.state.levels).filter(|(_, level)| **level == Level::Gone);
        self.handles.expect(left.map(|(unit, _)| unit.messages.len()).sum());
        for index in 0..self.tokens.len() {
            self.shape(index).await;
            self.state.total += self.state.shapes.get(index).map_or(0, |(_, tokens)| *tokens);
        }
        loop {
            self.state.reserve = reserve(lost) as usize;
            if self.state.total + self.state.reserve <= room && self.beside <= self.aim.target {
                return Ok(());
            }
            let Some(step) = self.steps.get(taken) else { break };
            if step.key >= LAST && self.spares(least as usize) {
                return Ok(());
            }
            taken += 1;
            if step.level > Level::Tidy {
                lost += step.saves;
            }
            self.take(*step, least as usize).await;
        }
        // All that can go is gone: what is left over is the summary's.
        if self.spares(0) {
            return Ok(());
        }
        if self.aim.whole != Whole::Nothing || self.aside.is_empty() { Err(self.too_small()) } else { wants_all() }
    }

    /// What the messages may cost.
    const fn room(&self) -> usize {
        self.aim.target.saturating_sub(self.beside)
    }

    /// Leaves to the summary what there is room for, if that is as much as this.
    fn spares(&mut self, least: usize) -> bool {
        let room = self.room();
        let fits = self.beside <= self.aim.target && self.state.total.saturating_add(least) <= room;
        if fits {
            self.state.reserve = self.state.reserve.min(room - self.state.total);
        }
        fits
    }

    async fn shape(&mut self, index: usize) {
        let tokens = self.tokens.get(index).copied().unwrap_or(0);
        let (shape, now) = match self.tiers.shape(index, &self.state.levels, self.state.page, self.handles) {
            Shape::Same => {
                self.hand.pause(40).await;
                (Shape::Same, tokens)
            }
            Shape::Gone => {
                self.hand.pause(150).await;
                (Shape::Gone, 0)
            }
            Shape::Changed(message) => {
                // About what it took to read the message and to count what is left of it.
                self.hand.pause(1_500 + tokens * 24).await;
                let now = self.hand.message(&message).await;
                // What would not become smaller stays as it was.
                if now < tokens { (Shape::Changed(message), now) } else { (Shape::Same, tokens) }
            }
        };
        if let Some(slot) = self.state.shapes.get_mut(index) {
            *slot = (shape, now);
        }
    }

    async fn take(&mut self, step: Step, least: usize) {
        if let Some(level) = self.state.levels.get_mut(step.unit) {
            *level = step.level;
        }
        let Some(unit) = self.tiers.units.get(step.unit) else { return };
        if unit.is_paged(step.level) {
            self.page(unit.messages.clone(), least).await;
        } else {
            self.reshape(unit.messages.clone()).await;
        }
    }

    /// Gives what these messages take now.
    async fn reshape(&mut self, messages: Range<usize>) -> usize {
        let mut tokens = 0;
        for index in messages {
            self.state.total -= self.state.shapes.get(index).map_or(0, |(_, tokens)| *tokens);
            self.shape(index).await;
            let now = self.state.shapes.get(index).map_or(0, |(_, tokens)| *tokens);
            self.state.total += now;
            tokens += now;
        }
        tokens
    }

    /// Cuts an exchange to the largest page that there is room for beside the others and the summary's head.
    async fn page(&mut self, messages: Range<usize>, least: usize) {
        let own: usize = self.tokens.get(messages.clone()).map_or(0, |own| own.iter().sum());
        let others = self.state.total.saturating_sub(own).saturating_add(least);
        let hard = self.tiers.units.iter().filter(|unit| unit.hold == Hold::Hard);
        let stays = hard.flat_map(|unit| self.tokens.get(unit.messages.clone()).unwrap_or_default()).sum();
        let first = page(self.room().saturating_sub(stays)) / 4 * 3;
        let most = first.min(self.room().saturating_sub(others));
        let limits = self.tiers.limits;
        // No token that is worth reading stands for so many bytes.
        let longest = most.saturating_mul(16).max(limits[2]);
        let bytes = self.largest(&messages, most, limits[2]..longest, |bytes| Page { bytes, rest: 0 }).await;
        let all = self.room().saturating_sub(others);
        self.largest(&messages, all, 0..limits[0].max(bytes), |rest| Page { bytes, rest }).await;
    }

    /// Cuts an exchange to the largest page of these that takes no more than `most` tokens.
    async fn largest(
        &mut self,
        messages: &Range<usize>,
        most: usize,
        sizes: Range<usize>,
        page: impl Fn(usize) -> Page,
    ) -> usize {
        let (mut fits, mut over) = (sizes.start, sizes.end + 1);
        let mut next = sizes.end;
        while over - fits > 16 + fits / 32 {
            self.state.page = page(next);
            if self.reshape(messages.clone()).await <= most {
                fits = next;
            } else {
                over = next;
            }
            next = fits.midpoint(over);
        }
        self.state.page = page(fits);
        self.reshape(messages.clone()).await;
        fits
    }

    fn too_small(&self) -> Error {
        let mut parts = Vec::new();
        for unit in self.tiers.units {
            if unit.hold < Hold::Soft {
                continue;
            }
            let own = |range: Range<usize>| -> usize {
                self.state.shapes.get(range).map_or(0, |own| own.iter().map(|(_, tokens)| tokens).sum())
            };
            let what = match unit.kind {
                Kind::System => "instructions",
                Kind::Goal => "the goal",
                Kind::User => "the user's words",
                Kind::Exchange => "tool uses and results",
                Kind::Assistant => "the model's words",
                Kind::Summary => "a summary",
            };
            let origin = self.tiers.messages.get(unit.messages.start).and_then(|placed| placed.origin).unwrap_or(0);
            parts.push((own(unit.messages.clone()), format!("message {origin} ({what}")));
        }
        parts.sort_by_key(|(tokens, _)| std::cmp::Reverse(*tokens));
        let shown: Vec<String> =
            parts.iter().take(4).map(|(tokens, what)| format!("{what}, {tokens} tokens)")).collect();
        let more = if parts.len() > 4 { format!(" and {} more", parts.len() - 4) } else { String::new() };
        let beside =
            if self.beside > 0 { format!(", and {} tokens beside the messages", self.beside) } else { String::new() };
        Error::usage(
            "budget_too_small",
            format!(
                "what must stay takes {} tokens and the budget is {}: {}{more}{beside}",
                self.state.total.saturating_add(self.beside),
                self.aim.target,
                shown.join(", ")
            ),
        )
        .hint("give a larger budget, or unpin some of it")
    }
}
