//! What was decided about a history, carried out and told.
//!
//! The messages that stand, in order, with the summary behind the goal; and for each message given what became of it,
//! and why.

use super::{
    archive::Handles,
    chunks::{self, Repeats},
    compress::{Compressed, DROPPED, Given},
    inside,
    pace::Hand,
    pairs::{Placed, Repair},
    plan::Aim,
    report::{Entry, Fate, Report},
    salience::Tier,
    search::State,
    summary::Summary,
    tiers::{Level, Shape},
    units::{Hold, Kind, Unit},
};

/// All that was decided.
pub(super) struct Finish<'a, 'h> {
    pub(super) given: &'a Given<'a>,
    pub(super) aim: Aim,
    pub(super) placed: &'a [Placed],
    pub(super) units: &'a [Unit],
    pub(super) owners: &'a [[Option<usize>; 2]],
    pub(super) salience: &'a [f64],
    pub(super) table: &'a chunks::Table,
    pub(super) state: State,
    pub(super) summary: Option<Summary>,
    pub(super) repairs: Vec<Repair>,
    pub(super) beside: usize,
    pub(super) handles: &'a mut Handles<'h>,
}

/// The history as it stands now, and the report.
pub(super) async fn finish(work: Finish<'_, '_>, hand: &mut impl Hand) -> Compressed {
    let Finish { given, aim, placed, units, owners, salience, table, state, summary, repairs, beside, handles } = work;
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
    let mut repairs = repairs;
    for at in inside::put_right(&mut messages, given.policy) {
        first_changed = Some(first_changed.map_or(at, |first: usize| first.min(at)));
        let Some(origin) = messages.get(at).and_then(|placed| placed.origin) else { continue };
        repairs.push(inside::said(given.place(origin)));
        if let Some(entry) = entries.get_mut(origin) {
            (entry.fate, entry.why) = (Fate::Shortened, "repaired".into());
        }
    }
    repairs.sort_by_key(|repair| repair.message);
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
    let beside = beside.saturating_add(given.aside.before);
    let total = before.iter().fold(beside, |sum, tokens| sum.saturating_add(*tokens));
    Compressed {
        messages,
        report: Report { entries, repairs, before: total, after, budget: aim.target, first_changed },
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
