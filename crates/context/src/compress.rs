//! A history made to fit: legal first, then as many steps of the ladder as the budget needs.
//!
//! What comes out never costs more than the budget; where that can't be, the error says which parts must stay and what
//! they cost. A history that fits and is legal comes out as it went in.

use std::{borrow::Cow, sync::Arc};

use loopwright_base::{
    error::{Error, Result},
    message::{Block, Message},
    workers::{SingleThread, Workers},
};

use super::{
    archive::{Archive, Handles},
    aside::{Ages, Aside, Left},
    chunks,
    count::Count,
    facts::{self, Facts},
    finish::{Finish, finish},
    ids::{Names, with_names},
    look::{Looked, look},
    pace::{AtOnce, Hand, at_once},
    pairs::{self, Placed, Rest},
    plan::{self, Aim, Rungs, Whole},
    policy::Policy,
    report::Report,
    search::{Search, State},
    summary::{self, Room},
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
/// What leaves goes into `archive`. A pin that names no message is an error.
pub fn compress(
    messages: &[Arc<Message>],
    counts: Option<&[usize]>,
    budget: usize,
    policy: &Policy,
    count: &mut dyn Count,
    archive: &mut Archive,
) -> Result<Compressed> {
    compress_with(messages, counts, budget, policy, count, archive, &SingleThread)
}

/// The same, where there are `workers` to share what can be: the same comes out.
#[allow(clippy::too_many_arguments)] // those of `compress`, and who works
pub fn compress_with(
    messages: &[Arc<Message>],
    counts: Option<&[usize]>,
    budget: usize,
    policy: &Policy,
    count: &mut dyn Count,
    archive: &mut Archive,
    workers: &dyn Workers,
) -> Result<Compressed> {
    check_pins(messages, policy)?;
    let looked = look(messages, policy, if counts.is_none() { Some(&mut *count) } else { None }, workers);
    plan_looked(messages, &looked, counts, budget, policy, count, archive)
}

/// The same of a history that was looked at, and counted by `count` or one like it.
pub fn compress_looked(
    messages: &[Arc<Message>],
    looked: &Looked,
    budget: usize,
    policy: &Policy,
    count: &mut dyn Count,
    archive: &mut Archive,
) -> Result<Compressed> {
    check_pins(messages, policy)?;
    if looked.facts.len() != messages.len() || looked.counts.len() != messages.len() {
        return Err(Error::internal("not_looked_at", "a plan needs a look at all of its messages, and their counts"));
    }
    plan_looked(messages, looked, None, budget, policy, count, archive)
}

fn check_pins(messages: &[Arc<Message>], policy: &Policy) -> Result<()> {
    let Some(pin) = policy.pin.iter().find(|pin| **pin >= messages.len()) else { return Ok(()) };
    let what = format!("pin {pin} names no message: the history has {}, from 0 on", messages.len());
    Err(Error::usage("invalid_policy", what).hint("pin messages of the history given, by index"))
}

fn plan_looked(
    messages: &[Arc<Message>],
    looked: &Looked,
    counts: Option<&[usize]>,
    budget: usize,
    policy: &Policy,
    count: &mut dyn Count,
    archive: &mut Archive,
) -> Result<Compressed> {
    let base = count.base();
    let given = Given {
        messages,
        facts: &looked.facts,
        counts: counts.unwrap_or(&looked.counts),
        base,
        aims: &[Whole::Last, Whole::Nothing].map(|whole| Aim { target: budget, whole }),
        policy,
        archive,
        keep: 0,
        aside: &Aside::default(),
        places: &[],
        skipped: &[],
        names: None,
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
    /// The aims of a compression, in the order in which they are tried: tokens at most, and the units that stay whole.
    pub(super) aims: &'a [Aim],
    pub(super) policy: &'a Policy,
    pub(super) archive: &'a Archive,
    /// How many of the last messages the archive is to hold in any case.
    pub(super) keep: usize,
    /// What of the history is left aside, …
    pub(super) aside: &'a Aside,
    /// … where the messages given stand in the whole of it, and how many units before each are left aside; nothing
    /// where all of it is given.
    pub(super) places: &'a [usize],
    pub(super) skipped: &'a [usize],
    /// Where nothing is wrong with the whole history but ids that stand twice: the new ids of each message.
    pub(super) names: Option<&'a [Option<Names>]>,
}

impl Given<'_> {
    pub(super) fn place(&self, index: usize) -> usize {
        self.places.get(index).copied().unwrap_or(index)
    }
}

/// A plan that was made.
pub(super) struct Planned {
    pub(super) made: Compressed,
    /// What has to go into the archive.
    pub(super) added: Archive,
    /// The aim of this compression: tokens at most, and the units that stay whole.
    pub(super) aim: Aim,
    /// How many units the whole history has.
    pub(super) units: usize,
    /// What may be left aside from now on.
    pub(super) left: Vec<Left>,
    /// Whether the ids that stand twice were known before; its report does not speak of those.
    pub(super) named: bool,
    /// How it ends, where uses and results had to be paired anew.
    pub(super) rest: Option<Rest>,
}

/// Why a plan that leaves something aside can't be trusted to be what one without is: all of it is wanted.
pub(super) fn wants_all<T>() -> Result<T> {
    Err(Error::internal(WANTS_ALL, "this plan needs the whole history"))
}

/// The code of that error.
pub(super) const WANTS_ALL: &str = "wants_all";

/// Makes the plan.
pub(super) async fn plan(given: Given<'_>, hand: &mut impl Hand) -> Result<Planned> {
    let Given { messages, counts, policy, aside, .. } = given;
    let names = given.names.filter(|_| facts::may_end(given.facts));
    let (mut placed, mut repairs, rest) = match names {
        Some(names) => (renamed(messages, names, hand).await, Vec::new(), None),
        None if given.names.is_some() && !aside.is_empty() => return wants_all(),
        None => pairs::repair_known(messages, given.facts, policy.wire)?,
    };
    let ids_known = names.is_some();
    let trimmed = pairs::trim_end(&mut placed, &mut repairs, policy.wire);
    hand.pause(messages.len() * 60).await;
    // Nothing is no request: it costs nothing.
    let beside = if placed.is_empty() { 0 } else { given.base.saturating_add(policy.reserve) };
    let (mut tokens, mut facts) = (Cow::Borrowed(counts), Cow::Borrowed(given.facts));
    let as_given = |(at, placed): (usize, &Placed)| placed.origin == Some(at) && !placed.changed;
    if ids_known {
        // An id more or less is nothing that was noted of a message.
        let mut own_tokens = counts.to_vec();
        for (placed, tokens) in placed.iter().zip(&mut own_tokens).filter(|(placed, _)| placed.changed) {
            *tokens = hand.message(&placed.message).await;
            hand.pause(100 + *tokens / 2).await;
        }
        tokens = Cow::Owned(own_tokens);
        if trimmed && let Some((facts, placed)) = facts.to_mut().last_mut().zip(placed.last()) {
            *facts = Facts::of(&placed.message);
        }
    } else if placed.len() != messages.len() || !placed.iter().enumerate().all(as_given) {
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
    let (units, owners) = units::units(&placed, facts, policy);
    hand.pause(placed.len() * 30).await;
    let ages = Ages { units: units.len() + aside.units, skipped: given.skipped };
    let Some(first) = given.aims.first().copied() else { return Err(Error::internal("no_aim", "a plan needs an aim")) };
    let fits = |target: usize| total.saturating_add(beside) <= target;
    let by_age = || -> Vec<f64> {
        let units = units.iter().enumerate();
        units.map(|(at, unit)| weigh::by_age(unit.kind, ages.of(at, unit)).salience(&policy.weights)).collect()
    };
    if fits(first.target) {
        if !aside.is_empty() {
            return wants_all();
        }
        let salience = by_age();
        let state = State::whole(&placed, tokens, units.len());
        let mut handles = handles_of(&given, hand).await;
        let made = Finish {
            given: &given,
            aim: first,
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
        let (added, left) = (handles.added, Vec::new());
        return Ok(Planned { made, added, aim: first, units: ages.units, left, named: ids_known, rest });
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
    let (mut done, mut failed) = (None, None);
    for aim in given.aims {
        // What must stay where so much is left whole is the same for every target.
        let aim = match &failed {
            Some((Whole::Last, stays, least, _)) if aim.whole == Whole::LastAlone => alone(*stays, *least, aim.target),
            _ => *aim,
        };
        if failed.as_ref().is_some_and(|(whole, stays, ..)| *whole == aim.whole && aim.target < *stays) {
            continue;
        }
        if fits(aim.target) && !aside.is_empty() {
            return wants_all();
        }
        let mut handles = handles_of(&given, hand).await;
        let mut search = Search {
            tiers: &tiers,
            tokens,
            steps: steps.get(..steps.partition_point(|step| step.key < aim.whole.until())).unwrap_or_default(),
            aim,
            beside,
            share: (policy.memory_share + policy.project_share).clamp(0.0, 0.9),
            state: State::whole(&placed, tokens, units.len()),
            hand,
            handles: &mut handles,
            aside,
            most,
            ages: &ages,
        };
        match search.run(total).await {
            Ok(()) => {
                let state = search.state;
                done = Some((aim, state, handles));
                break;
            }
            Err(error) if error.code == WANTS_ALL => return Err(error),
            Err(error) => {
                let State { total, least, .. } = search.state;
                failed = Some((aim.whole, total.saturating_add(beside), least, error));
            }
        }
    }
    let Some((aim, state, mut handles)) = done else {
        return Err(failed.map_or_else(|| Error::internal("no_aim", "a plan needs an aim"), |(.., error)| error));
    };
    let budget = aim.target.saturating_sub(beside);
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
        let room = Room { all: room, memory, most: budget.saturating_sub(state.total) };
        let (made, more) = summary::summarise(&source, &gone, &kept, policy.summary.as_deref(), room, hand).await;
        // There is room for lines about some of what is left aside.
        if !aside.is_empty() && !more && (all < MOST_LINES || gone.len() < all) {
            return wants_all();
        }
        summary = made;
    }
    let by_age = if fits(aim.target) { by_age() } else { Vec::new() };
    let left = leaves(&given, &units, &owners, facts, &placed, &state, &unit_tokens, &ages);
    let made = Finish {
        given: &given,
        aim,
        placed: &placed,
        units: &units,
        owners: &owners,
        // As it is told where the first target is as large.
        salience: if fits(aim.target) { &by_age } else { &weighed.salience },
        table: &table,
        state,
        summary,
        repairs,
        beside,
        handles: &mut handles,
    };
    let made = finish(made, hand).await;
    Ok(Planned { made, added: handles.added, aim, units: ages.units, left, named: ids_known, rest })
}

/// Nothing but what must stay, with room to say that the rest left where that leaves room to grow.
const fn alone(stays: usize, least: usize, target: usize) -> Aim {
    let told = stays.saturating_add(least);
    let most = if told <= target / 16 * 15 { told } else { stays };
    Aim { target: if most < target { most } else { target }, whole: Whole::Last }
}

/// No handle yet but those of the messages that the archive is to hold in any case.
async fn handles_of<'a>(given: &Given<'a>, hand: &mut impl Hand) -> Handles<'a> {
    let messages = given.messages;
    let mut handles = Handles::new(given.archive, messages, given.facts);
    for index in messages.len().saturating_sub(given.keep)..messages.len() {
        handles.of(index);
        hand.pause(200).await;
    }
    handles
}

/// The messages with the ids they get.
async fn renamed(messages: &[Arc<Message>], names: &[Option<Names>], hand: &mut impl Hand) -> Vec<Placed> {
    let mut placed = Vec::with_capacity(messages.len());
    for (index, (message, names)) in messages.iter().zip(names).enumerate() {
        let own = match names {
            None => message.clone(),
            Some(names) => {
                hand.pause(300).await;
                with_names(message, names)
            }
        };
        placed.push(Placed { message: own, origin: Some(index), changed: names.is_some() });
    }
    placed
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
