//! Which steps to take, in an order that does not depend on the budget.
//!
//! Every unit can be tidied, shortened three times, and dropped. All these steps stand in one ladder, least loss first;
//! a budget decides only how far down it goes. So a larger budget keeps all that a smaller one does, and the same
//! history always gives the same plan. The last exchanges come at its end: the older ones go before the last, and a
//! result is cut to a page before it is cut to less.

use serde::{Deserialize, Serialize};

use super::{
    chunks::{self, Table},
    facts::Facts,
    pace::Hand,
    pairs::Placed,
    tiers::{LEVELS, Level, may_leave},
    units::{Hold, Kind, Unit},
};
use loopwright_base::message::Block;

/// One step: a unit goes to a level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) unit: usize,
    pub(super) level: Level,
    pub(super) key: f64,
    /// Tokens that it saves, roughly. Whole ones, so that sums of them are the same in any order.
    pub(super) saves: usize,
}

/// How much later than by salience alone each level comes.
pub(super) const LATER: [f64; 6] = [0.0, 0.0, 0.0, 0.1, 0.2, 0.4];
/// Tidying loses nothing, so it comes first.
pub(super) const FIRST: f64 = -10.0;
/// A person's words stay longer than any output.
pub(super) const WORDS: f64 = 0.6;
/// The results of `recall` in the turn at work: a plan gives them up after all other units that are not held.
const RECALLED: f64 = 3.0;
/// Then the demands of a person are shortened, …
const DEMANDS: f64 = 6.0;
/// … and what is held comes last.
pub(super) const LAST: f64 = 10.0;

/// What a plan leaves whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Whole {
    /// Nothing that can be shortened.
    #[default]
    Nothing,
    /// The last exchanges, and nothing else that can go.
    LastAlone,
    /// The last exchanges.
    Last,
    /// These, and what the model asked back.
    Recalled,
}

impl Whole {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub(super) const fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// The first place in the ladder that is out of bounds.
    pub(super) const fn until(self) -> f64 {
        match self {
            Self::Nothing => f64::INFINITY,
            Self::Last | Self::LastAlone => LAST,
            Self::Recalled => RECALLED,
        }
    }
}

/// What a plan may take, and what it leaves whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Aim {
    pub(super) target: usize,
    pub(super) whole: Whole,
}

/// The place of a step in the ladder; `base` is how much the unit matters.
fn key(unit: &Unit, level: Level, base: f64, later: f64) -> f64 {
    match (unit.kind, unit.hold) {
        (_, Hold::Free) if level == Level::Tidy => FIRST,
        (_, Hold::Free) if unit.recalls => RECALLED + base + later,
        (_, Hold::Free) => base + later,
        // Of exchanges that are held all of the older one goes before any of the next.
        (Kind::Exchange, Hold::Late) => LAST,
        (Kind::Exchange, _) if level == Level::Short => LAST + 1.0,
        (_, Hold::Late) if level < Level::Gone => DEMANDS + base + later,
        _ => LAST + 2.0 + base + later,
    }
}

/// Rough sizes of a unit at each level, in bytes.
fn sizes(messages: &[Placed], facts: &[Facts], unit: &Unit, table: &Table, limits: [usize; 3]) -> [usize; 6] {
    let mut sizes = [0_usize; 6];
    let mut add = |full: usize, tidy: usize, shortens: bool| {
        for (size, level) in sizes.iter_mut().zip(LEVELS) {
            *size += match level {
                Level::Full => full,
                Level::Tidy => tidy,
                Level::Gone => 0,
                level if shortens => tidy.min(level.limit(limits).saturating_add(36)),
                _ => tidy,
            };
        }
    };
    for index in unit.messages.clone() {
        let (Some(placed), Some(facts)) = (messages.get(index), facts.get(index)) else { continue };
        let row = table.get(index).and_then(Option::as_ref);
        if let Some(plain) = facts.plain() {
            add(16, 16, false);
            let loose = facts.is_loose(unit.live);
            if let Some(bytes) = plain.text {
                add(bytes as usize, bytes as usize, loose);
            }
            if let Some(bytes) = plain.thinking {
                add(bytes as usize, if loose { 0 } else { bytes as usize }, false);
            }
            if let Some(bytes) = plain.call {
                add(bytes as usize + 40, bytes as usize + 40, loose);
            }
            if let Some(bytes) = plain.result.filter(|_| unit.has_results()) {
                let saved = row.map_or(0, |row| row.iter().map(|(_, saved)| *saved).sum());
                add(bytes as usize + 32, bytes as usize + 32 - saved.min(bytes as usize), true);
            }
            continue;
        }
        let message = &*placed.message;
        let loose = message.content.iter().all(|block| match block {
            Block::Thinking(thinking) => may_leave(message, unit, thinking),
            Block::Provider(_) => false,
            _ => true,
        });
        add(16, 16, false);
        for (at, block) in message.content.iter().enumerate().filter(|(_, block)| unit.owns(block)) {
            match block {
                Block::Text(text) => add(text.text.len(), text.text.len(), loose),
                Block::Thinking(thinking) => {
                    let bytes = thinking.text.len()
                        + thinking.signature.as_ref().map_or(0, String::len)
                        + thinking.redacted.as_ref().map_or(0, String::len);
                    add(bytes, if loose { 0 } else { bytes }, false);
                }
                Block::ToolUse(call) => {
                    let bytes = call.arguments_text().len();
                    add(bytes + 40, bytes + 40, loose);
                }
                Block::ToolResult(result) => {
                    let saved = row.and_then(|row| row.get(at)).map_or(0, |(_, saved)| *saved);
                    if let Some(text) = chunks::only_text(result) {
                        add(text.len() + 32, text.len() + 32 - saved.min(text.len()), true);
                    } else {
                        for part in &result.content {
                            match part {
                                Block::Text(text) => add(text.text.len(), text.text.len(), true),
                                _ => add(6_000, 6_000, true),
                            }
                        }
                    }
                }
                Block::Image(_) | Block::Document(_) => add(6_000, 6_000, true),
                Block::Provider(block) => add(block.raw.text().len(), block.raw.text().len(), false),
            }
        }
    }
    sizes
}

/// What of `whole` tokens a unit of `full` bytes has at `bytes`.
fn tokens_at(whole: usize, bytes: usize, full: usize) -> usize {
    (whole as f64 * bytes as f64 / full as f64) as usize
}

/// What tidying an old unit saves, that was not looked at.
pub(super) fn tidied(messages: &[Placed], facts: &[Facts], unit: &Unit, limits: [usize; 3], whole: usize) -> usize {
    let [full, tidy, ..] = sizes(messages, facts, unit, &Table::new(), limits);
    if full == 0 || (tidy + tidy / 8 >= full && unit.kind != Kind::Exchange) {
        return 0;
    }
    tokens_at(whole, full, full) - tokens_at(whole, tidy.min(full), full)
}

/// What the ladder is made of.
pub(super) struct Rungs<'a> {
    pub(super) messages: &'a [Placed],
    pub(super) facts: &'a [Facts],
    pub(super) units: &'a [Unit],
    pub(super) salience: &'a [f64],
    /// The tokens of each unit.
    pub(super) tokens: &'a [usize],
    pub(super) table: &'a Table,
    pub(super) limits: [usize; 3],
}

/// The ladder: all steps, in order.
pub(super) async fn ladder(rungs: Rungs<'_>, hand: &mut impl Hand) -> Vec<Step> {
    let Rungs { messages, facts, units, salience, tokens, table, limits } = rungs;
    let mut steps = Vec::with_capacity(units.len() * 3);
    for (at, unit) in units.iter().enumerate().filter(|(_, unit)| unit.hold != Hold::Hard) {
        hand.pause(120).await;
        let sizes = sizes(messages, facts, unit, table, limits);
        let [full, ..] = sizes;
        if full == 0 {
            continue;
        }
        let whole = tokens.get(at).copied().unwrap_or(0);
        let mut size = full;
        let base = salience.get(at).copied().unwrap_or(0.0)
            + if matches!(unit.kind, Kind::User | Kind::Summary) { WORDS } else { 0.0 };
        for ((level, bytes), later) in LEVELS.into_iter().zip(sizes).zip(LATER).skip(1) {
            if (level == Level::Gone && unit.hold == Hold::Soft) || !unit.has(level) {
                continue;
            }
            // How far folding or a page goes is known only when it is done, so every exchange has that step.
            let opens = unit.kind == Kind::Exchange && (level == Level::Tidy || unit.is_paged(level));
            if bytes + bytes / 8 >= size && !opens && level != Level::Gone {
                continue;
            }
            let key = key(unit, level, base, later);
            let now = if unit.is_paged(level) { size } else { size.min(bytes) };
            let saves = tokens_at(whole, size, full) - tokens_at(whole, now, full);
            steps.push(Step { unit: at, level, key, saves });
            size = now;
        }
    }
    // Stable: what is equal goes from the oldest to the newest.
    steps.sort_by(|a, b| a.key.total_cmp(&b.key));
    steps
}
