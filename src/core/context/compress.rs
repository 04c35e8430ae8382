//! A history made to fit: legal first, then as many steps of the ladder as the budget needs.
//!
//! What comes out never costs more than the budget; where that can't be, the error says which parts must stay and what
//! they cost. A history that fits and is legal comes out as it went in.

use std::{borrow::Cow, ops::Range, sync::Arc};

use crate::core::{
    error::{Error, Result},
    message::{Block, Message},
};

use super::{
    archive::{Archive, Handles},
    aside::{Ages, Aside, Left},
    chunks::{self, Repeats},
    count::Count,
    facts::Facts,
    pace::{AtOnce, Hand, at_once},
    pairs::{self, Placed, Repair},
    plan::{self, Rungs, Step},
    policy::Policy,
    report::{Entry, Fate, Report},
    salience::Tier,
    summary::{self, Room, Summary},
    terms::{self, Set},
    tiers::{Level, Shape, Tiers},
    units::{self, Hold, Kind, Unit},
    weigh,
};

/// A history that fits.
#[derive(Clone, Debug)]
pub struct Compressed {
    /// The history.
    pub messages: Vec<Placed>,
    /// What became of every message given.
    pub report: Report,
}

/// Makes `messages` fit into `budget` tokens. `counts` are the tokens of each message where they are known already.
/// What leaves goes into `archive`.
pub fn compress(
    messages: &[Arc<Message>],
    counts: Option<&[usize]>,
    budget: usize,
    policy: &Policy,
    count: &mut dyn Count,
    archive: &mut Archive,
) -> Result<Compressed> {
    // What a message holds is at hand when it has just been counted.
    let mut facts = Vec::with_capacity(messages.len());
    let mut counted = Vec::with_capacity(if counts.is_some() { 0 } else { messages.len() });
    for message in messages {
        if counts.is_none() {
            counted.push(count.message(message));
        }
        facts.push(Facts::of(message));
    }
    let base = count.base();
    let given = Given {
        messages,
        facts: &facts,
        counts: counts.unwrap_or(&counted),
        base,
        budget,
        policy,
        archive,
        keep: 0,
        aside: &Aside::default(),
        places: &[],
        skipped: &[],
    };
    let planned = at_once(plan(given, &mut AtOnce(count)))?;
    archive.take(planned.added);
    Ok(planned.made)
}

/// A history that was looked at and counted, and what it shall fit into.
pub(super) struct Given<'a> {
    pub(super) messages: &'a [Arc<Message>],
    pub(super) facts: &'a [Facts],
    pub(super) counts: &'a [usize],
    /// What a request costs beside its messages.
    pub(super) base: usize,
    pub(super) budget: usize,
    pub(super) policy: &'a Policy,
    pub(super) archive: &'a Archive,
    /// How many of the last messages the archive is to hold in any case.
    pub(super) keep: usize,
    /// What of the history is left aside, …
    pub(super) aside: &'a Aside,
    /// … where the messages given stand in the whole of it, and how many units before each are left aside; nothing where
    /// all of it is given.
    pub(super) places: &'a [usize],
    pub(super) skipped: &'a [usize],
}

impl Given<'_> {
    fn place(&self, index: usize) -> usize {
        self.places.get(index).copied().unwrap_or(index)
    }
}

/// A plan that was made.
pub(super) struct Planned {
    pub(super) made: Compressed,
    /// What has to go into the archive.
    pub(super) added: Archive,
    /// How many units the whole history has.
    pub(super) units: usize,
    /// What may be left aside from now on.
    pub(super) left: Vec<Left>,
}

/// Why a plan that leaves something aside can't be trusted to be what one without is: all of it is wanted.
fn wants_all<T>() -> Result<T> {
    Err(Error::internal(WANTS_ALL, "this plan needs the whole history"))
}

/// The code of that error.
pub(super) const WANTS_ALL: &str = "wants_all";

/// Makes the plan.
pub(super) async fn plan(given: Given<'_>, hand: &mut impl Hand) -> Result<Planned> {
    let Given { messages, counts, policy, aside, .. } = given;
    let (placed, repairs) = pairs::repair_known(messages, given.facts, policy.wire)?;
    hand.pause(messages.len() * 60).await;
    let mut handles = Handles::new(given.archive, messages, given.facts);
    for index in messages.len().saturating_sub(given.keep)..messages.len() {
        handles.of(index);
        hand.pause(200).await;
    }
    // Nothing is no request: it costs nothing.
    let beside = if placed.is_empty() { 0 } else { given.base.saturating_add(policy.reserve) };
    let whole = given.budget;
    let budget = whole.saturating_sub(beside);
    let (mut tokens, mut facts) = (Cow::Borrowed(counts), Cow::Borrowed(given.facts));
    let as_given = |(at, placed): (usize, &Placed)| placed.origin == Some(at) && !placed.changed;
    if placed.len() != messages.len() || !placed.iter().enumerate().all(as_given) {
        if !aside.is_empty() {
            return wants_all();
        }
        let mut own_tokens = Vec::with_capacity(placed.len());
        let mut own_facts = Vec::with_capacity(placed.len());
        for placed in &placed {
            let same = placed.origin.filter(|_| !placed.changed);
            own_tokens.push(match same.and_then(|origin| counts.get(origin).copied()) {
                Some(tokens) => tokens,
                None => hand.message(&placed.message).await,
            });
            let known = same.and_then(|origin| given.facts.get(origin).cloned());
            own_facts.push(known.unwrap_or_else(|| Facts::of(&placed.message)));
        }
        (tokens, facts) = (Cow::Owned(own_tokens), Cow::Owned(own_facts));
    }
    let (tokens, facts) = (&*tokens, &*facts);
    let total: usize = tokens.iter().fold(aside.tokens, |sum, tokens| sum.saturating_add(*tokens));
    let (units, owners) = units::units(&placed, facts, policy.keep_last, &policy.pin);
    hand.pause(placed.len() * 30).await;
    let ages = Ages { units: units.len() + aside.units, skipped: given.skipped };
    if total <= budget && beside <= whole {
        if !aside.is_empty() {
            return wants_all();
        }
        let salience = units
            .iter()
            .enumerate()
            .map(|(at, unit)| weigh::by_age(unit.kind, ages.of(at, unit)).salience(&policy.weights));
        let salience: Vec<f64> = salience.collect();
        let state = State::whole(&placed, tokens, units.len());
        let made = Finish {
            given: &given,
            placed: &placed,
            units: &units,
            owners: &owners,
            salience: &salience,
            table: &Vec::new(),
            state,
            summary: None,
            repairs,
            beside,
            handles: &mut handles,
        };
        let made = finish(made, hand).await;
        return Ok(Planned { made, added: handles.added, units: ages.units, left: Vec::new() });
    }
    let table = chunks::repeats(&placed, &units, policy.attention, hand).await;
    let weighed = weigh::weigh(&placed, facts, &units, &ages, policy, hand).await;
    let unit_tokens: Vec<usize> =
        units.iter().map(|unit| tokens.get(unit.messages.clone()).map_or(0, |own| own.iter().sum())).collect();
    let rungs = Rungs {
        messages: &placed,
        facts,
        units: &units,
        salience: &weighed.salience,
        tokens: &unit_tokens,
        table: &table,
        limits: policy.limits,
    };
    let steps = plan::ladder(rungs, hand).await;
    hand.pause(steps.len() * 40).await;
    let tiers = Tiers {
        messages: &placed,
        units: &units,
        owners: &owners,
        table: &table,
        weights: &weighed.names,
        limits: policy.limits,
    };
    let most = aside.most(ages.units, policy);
    let mut search = Search {
        tiers: &tiers,
        tokens,
        steps: &steps,
        budget,
        whole,
        beside,
        share: (policy.memory_share + policy.project_share).clamp(0.0, 0.9),
        state: State::whole(&placed, tokens, units.len()),
        hand,
        handles: &mut handles,
        aside,
        most,
        ages: &ages,
    };
    search.run(total).await?;
    let state = search.state;
    let mut gone = by_salience(&units, &state.levels, &weighed.salience);
    gone.truncate(MOST_LINES);
    // What is left aside comes behind those that surely matter more.
    let all = gone.len();
    if !aside.is_empty() {
        gone.retain(|at| weighed.salience.get(*at).is_some_and(|salience| *salience > most.0));
    }
    let mut shown = vec![None; placed.len()];
    for unit in gone.iter().filter_map(|unit| units.get(*unit)) {
        let origin = placed.get(unit.messages.start).and_then(|placed| placed.origin);
        if let (Some(slot), Some(origin)) = (shown.get_mut(unit.messages.start), origin) {
            *slot = Some(handles.of(origin));
        }
    }
    let room = budget.saturating_sub(state.total).min(state.reserve);
    let memory = (budget as f64 * policy.memory_share) as usize;
    let mut summary = None;
    if room > 0 {
        let source = summary::Source { messages: &placed, units: &units, weighed: &weighed, handles: &shown };
        let kept = kept_names(&placed, &state, hand).await;
        let room = Room { all: room, memory };
        let (made, more) = summary::summarise(&source, &gone, &kept, policy.summary.as_deref(), room, hand).await;
        // There is room for lines about some of what is left aside.
        if !aside.is_empty() && !more && (all < MOST_LINES || gone.len() < all) {
            return wants_all();
        }
        summary = made;
    }
    let left = leaves(&given, &units, &owners, facts, &placed, &state, &unit_tokens, &ages);
    let made = Finish {
        given: &given,
        placed: &placed,
        units: &units,
        owners: &owners,
        salience: &weighed.salience,
        table: &table,
        state,
        summary,
        repairs,
        beside,
        handles: &mut handles,
    };
    let made = finish(made, hand).await;
    Ok(Planned { made, added: handles.added, units: ages.units, left })
}

/// What is old and gone, and may be left aside from now on.
#[allow(clippy::too_many_arguments)] // all that a plan knows at its end
fn leaves(
    given: &Given<'_>,
    units: &[Unit],
    owners: &[[Option<usize>; 2]],
    facts: &[Facts],
    placed: &[Placed],
    state: &State,
    tokens: &[usize],
    ages: &Ages<'_>,
) -> Vec<Left> {
    let oldest = placed.len().saturating_sub(given.policy.attention);
    let mut left = Vec::new();
    // Pins are places in the whole history.
    if !given.policy.pin.is_empty() {
        return left;
    }
    for (at, unit) in units.iter().enumerate() {
        if unit.messages.end > oldest {
            break;
        }
        let alone = |index: usize| owners.get(index) == Some(&[Some(at), None]);
        if unit.hold != Hold::Free
            || state.levels.get(at) != Some(&Level::Gone)
            || !unit.messages.clone().all(alone)
            || matches!(unit.kind, Kind::System | Kind::Goal)
        {
            continue;
        }
        let whole = tokens.get(at).copied().unwrap_or(0);
        let tidied = [true, false].map(|live| {
            let unit = Unit { live, ..unit.clone() };
            plan::tidied(placed, facts, &unit, given.policy.limits, whole)
        });
        left.push(Left {
            messages: unit.messages.clone(),
            ordinal: ages.ordinal(at, unit),
            kind: unit.kind,
            tokens: whole,
            tidied,
        });
    }
    left
}

/// Why what left without a word did.
pub(super) const DROPPED: &str = "the budget; the archive has it";

/// No summary speaks of more units than this.
const MOST_LINES: usize = 2_000;

/// How far the ladder was gone down, and what the messages are now.
struct State {
    levels: Vec<Level>,
    shapes: Vec<(Shape, usize)>,
    total: usize,
    /// Tokens set aside for the summary.
    reserve: usize,
}

impl State {
    fn whole(placed: &[Placed], tokens: &[usize], units: usize) -> Self {
        let shapes = placed.iter().zip(tokens).map(|(_, tokens)| (Shape::Same, *tokens)).collect();
        Self { levels: vec![Level::Full; units], shapes, total: tokens.iter().sum(), reserve: 0 }
    }
}

struct Search<'a, 'h, H> {
    tiers: &'a Tiers<'a>,
    tokens: &'a [usize],
    steps: &'a [Step],
    /// What the messages may cost.
    budget: usize,
    /// What all may cost, and what the request costs beside the messages.
    whole: usize,
    beside: usize,
    share: f64,
    state: State,
    hand: &'a mut H,
    handles: &'a mut Handles<'h>,
    aside: &'a Aside,
    /// The most salience of what is left aside, and its last place in the ladder.
    most: (f64, f64),
    ages: &'a Ages<'a>,
}

impl<H: Hand> Search<'_, '_, H> {
    /// Goes down the ladder until what is left fits, beside what the summary may take.
    async fn run(&mut self, total: usize) -> Result<()> {
        let cap = self.budget as f64 * self.share;
        // Whatever leaves, there is room to say that it did, and what it was about.
        let least = self.hand.message(&Arc::new(Message::user(units::SUMMARY_HEAD))).await as f64 * 2.5;
        let budget = self.budget as f64;
        let reserve = move |lost: usize| if lost > 0 { cap.min((lost as f64 * 0.3).max(least)) } else { 0.0 };
        let fits = move |left: usize, lost: usize| left as f64 * 0.9 + reserve(lost) <= budget;
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
        for step in self.steps {
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
        if !self.aside.is_empty() && deepest.is_none_or(|step| step.key <= self.most.1) {
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
            if self.state.total + self.state.reserve <= self.budget && self.beside <= self.whole {
                return Ok(());
            }
            let Some(step) = self.steps.get(taken) else { break };
            taken += 1;
            if step.level > Level::Tidy {
                lost += step.saves;
            }
            self.take(*step).await;
        }
        // All that can go is gone: what is left over is the summary's.
        if self.state.total <= self.budget && self.beside <= self.whole {
            self.state.reserve = self.budget - self.state.total;
            return Ok(());
        }
        if self.aside.is_empty() { Err(self.too_small()) } else { wants_all() }
    }

    async fn shape(&mut self, index: usize) {
        let tokens = self.tokens.get(index).copied().unwrap_or(0);
        let (shape, now) = match self.tiers.shape(index, &self.state.levels, self.handles) {
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

    async fn take(&mut self, step: Step) {
        if let Some(level) = self.state.levels.get_mut(step.unit) {
            *level = step.level;
        }
        let Some(messages) = self.tiers.units.get(step.unit).map(|unit| unit.messages.clone()) else { return };
        for index in messages {
            self.state.total -= self.state.shapes.get(index).map_or(0, |(_, tokens)| *tokens);
            self.shape(index).await;
            self.state.total += self.state.shapes.get(index).map_or(0, |(_, tokens)| *tokens);
        }
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
                self.whole,
                shown.join(", ")
            ),
        )
        .hint("give a larger budget, or unpin some of it")
    }
}

/// The units that are gone, the most important first.
fn by_salience(units: &[Unit], levels: &[Level], salience: &[f64]) -> Vec<usize> {
    let mut gone: Vec<usize> = (0..units.len()).filter(|at| levels.get(*at) == Some(&Level::Gone)).collect();
    let of = |at: &usize| salience.get(*at).copied().unwrap_or(0.0);
    gone.sort_by(|a, b| of(b).total_cmp(&of(a)).then(b.cmp(a)));
    gone
}

/// The names that stand in what is kept.
async fn kept_names(placed: &[Placed], state: &State, hand: &mut impl Hand) -> Set {
    let mut kept = Set::default();
    for (placed, (shape, _)) in placed.iter().zip(&state.shapes) {
        let message = match shape {
            Shape::Same => &placed.message,
            Shape::Changed(message) => message,
            Shape::Gone => continue,
        };
        let mut bytes = 8;
        let mut add = |text: &str| {
            bytes += text.len();
            terms::names(text, |name| {
                kept.insert(terms::key(name));
            });
        };
        for block in &message.content {
            match block {
                Block::Text(text) => add(&text.text),
                Block::ToolUse(call) => add(call.arguments_text()),
                Block::ToolResult(result) => result.content.iter().for_each(|part| {
                    if let Block::Text(text) = part {
                        add(&text.text);
                    }
                }),
                _ => {}
            }
        }
        hand.pause(bytes * 4).await;
    }
    kept
}

struct Finish<'a, 'h> {
    given: &'a Given<'a>,
    placed: &'a [Placed],
    units: &'a [Unit],
    owners: &'a [[Option<usize>; 2]],
    salience: &'a [f64],
    table: &'a chunks::Table,
    state: State,
    summary: Option<Summary>,
    repairs: Vec<Repair>,
    beside: usize,
    handles: &'a mut Handles<'h>,
}

async fn finish(work: Finish<'_, '_>, hand: &mut impl Hand) -> Compressed {
    let Finish { given, placed, units, owners, salience, table, state, summary, repairs, beside, handles } = work;
    let before = given.counts;
    let spoken: std::collections::BTreeSet<usize> =
        summary.iter().flat_map(|summary| summary.units.iter().copied()).collect();
    // Behind the goal, and before whatever comes next, be it left aside.
    let place = units
        .iter()
        .find(|unit| !matches!(unit.kind, Kind::System | Kind::Goal))
        .map_or(placed.len(), |unit| unit.messages.start);
    let place = given
        .aside
        .first
        .map_or(place, |first| place.min(given.places.iter().position(|place| *place > first).unwrap_or(placed.len())));
    let mut messages = Vec::with_capacity(placed.len().min(4_096));
    let mut after = beside;
    let mut first_changed = None;
    // What stands as it was does so only as long as nothing before it is missing.
    let mut due = 0;
    let mut summary = summary;
    let mut entries: Vec<Entry> = before
        .iter()
        .enumerate()
        .map(|(index, before)| Entry {
            message: given.place(index),
            fate: Fate::Dropped,
            why: "repaired".into(),
            before: *before,
            after: 0,
            at: None,
            handle: None,
            salience: 0.0,
            tier: Tier::Project,
        })
        .collect();
    for (index, (placed, (shape, tokens))) in placed.iter().zip(state.shapes).enumerate() {
        if index % 64 == 0 {
            hand.pause(64 * 120).await;
        }
        let origin = placed.origin.map(|origin| given.place(origin));
        if index == place
            && let Some(summary) = summary.take()
        {
            first_changed.get_or_insert(messages.len());
            after += summary.tokens;
            messages.push(Placed { message: summary.message, origin: None, changed: true });
        }
        let owner = owners.get(index).and_then(|owners| owners[0]);
        let salience = owner.and_then(|owner| salience.get(owner).copied()).unwrap_or(0.0);
        let level = owner.and_then(|owner| state.levels.get(owner).copied()).unwrap_or(Level::Full);
        let (fate, why) = match &shape {
            Shape::Same if placed.changed => (Fate::Shortened, "repaired"),
            Shape::Same => (Fate::Kept, why_kept(owner.and_then(|owner| units.get(owner)), level)),
            Shape::Changed(_) => changed(level, table.get(index).and_then(Option::as_deref)),
            Shape::Gone if owner.is_some_and(|owner| spoken.contains(&owner)) => {
                (Fate::Summarised, "the budget; a line of the summary speaks of it")
            }
            Shape::Gone => (Fate::Dropped, DROPPED),
        };
        let at = match shape {
            Shape::Same => {
                if placed.changed || origin != Some(due) {
                    first_changed.get_or_insert(messages.len());
                }
                due += 1;
                messages.push(placed.clone());
                Some(messages.len() - 1)
            }
            Shape::Changed(message) => {
                first_changed.get_or_insert(messages.len());
                messages.push(Placed { message, origin: placed.origin, changed: true });
                Some(messages.len() - 1)
            }
            Shape::Gone => {
                first_changed.get_or_insert(messages.len());
                None
            }
        };
        after += tokens;
        let Some(entry) = placed.origin.and_then(|origin| entries.get_mut(origin)) else { continue };
        entry.after += tokens;
        entry.fate = fate;
        entry.why = why.into();
        entry.at = entry.at.or(at);
        entry.salience = salience;
        entry.tier = Tier::of(salience);
    }
    if let Some(summary) = summary.take() {
        after += summary.tokens;
        first_changed.get_or_insert(messages.len());
        messages.push(Placed { message: summary.message, origin: None, changed: true });
    }
    if due != before.len() + given.aside.messages {
        first_changed.get_or_insert(messages.len());
    }
    for (index, entry) in entries.iter_mut().enumerate() {
        if entry.fate != Fate::Kept {
            entry.handle = Some(handles.of(index));
        }
        if index % 64 == 0 {
            hand.pause(64 * 40).await;
        }
    }
    let beside = beside.saturating_add(given.aside.tokens);
    let total = before.iter().fold(beside, |sum, tokens| sum.saturating_add(*tokens));
    Compressed {
        messages,
        report: Report { entries, repairs, before: total, after, budget: given.budget, first_changed },
    }
}

const fn why_kept(unit: Option<&Unit>, level: Level) -> &'static str {
    match (unit, level) {
        (Some(Unit { kind: Kind::System, .. }), _) => "instructions",
        (Some(Unit { kind: Kind::Goal, .. }), _) => "the goal",
        (Some(Unit { hold: Hold::Hard, .. }), _) => "pinned",
        (Some(Unit { hold: Hold::Late | Hold::Soft, .. }), _) => "one of the last",
        (_, Level::Full) => "it fits",
        _ => "it could not become shorter",
    }
}

fn changed(level: Level, repeats: Option<&[(Repeats, usize)]>) -> (Fate, &'static str) {
    let any = |wanted: fn(&Repeats) -> bool| repeats.is_some_and(|row| row.iter().any(|(repeats, _)| wanted(repeats)));
    if any(|repeats| matches!(repeats, Repeats::Whole)) {
        return (Fate::Referenced, "a later result says the same");
    }
    if any(|repeats| matches!(repeats, Repeats::Superseded)) {
        return (Fate::Referenced, "the same call was made again");
    }
    match level {
        Level::Full | Level::Tidy if any(|repeats| matches!(repeats, Repeats::Lines(_))) => {
            (Fate::Referenced, "later results repeat lines of it")
        }
        Level::Full | Level::Tidy => (Fate::Shortened, "noise was folded, or old reasoning left"),
        Level::Short => (Fate::Shortened, "the budget"),
        Level::Shorter => (Fate::Shortened, "the budget, a second time"),
        Level::Stub | Level::Gone => (Fate::Shortened, "the budget; a stub is left"),
    }
}
