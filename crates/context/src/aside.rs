//! What of a long history a plan leaves aside: units that are old, that left before, and that leave again.
//!
//! Such units are known by a few sums alone, so a plan costs what still stands or is new, however long the history. It
//! gives what a plan over all of the history gives, and where it can't be sure of that, it says so.

use super::{
    plan::{FIRST, LATER, WORDS},
    policy::Policy,
    units::{Kind, Unit},
    weigh::by_age,
};

/// A unit that is left aside from now on.
#[derive(Clone, Debug)]
pub(super) struct Left {
    /// Its messages, by their places in what was planned, …
    pub(super) messages: std::ops::Range<usize>,
    /// … and its number among all units.
    pub(super) ordinal: usize,
    pub(super) kind: Kind,
    pub(super) tokens: usize,
    /// Tokens that tidying it saves: where it is what the model is at work on, and where it is not.
    pub(super) tidied: [usize; 2],
}

/// All that is left aside, and what is not.
#[derive(Clone, Debug, Default)]
pub(super) struct Aside {
    pub(super) units: usize,
    pub(super) messages: usize,
    pub(super) tokens: usize,
    /// Tokens of the messages as they were given.
    pub(super) before: usize,
    tidied: [usize; 2],
    /// The numbers of the oldest and the youngest.
    oldest: Option<usize>,
    youngest: [Option<usize>; 4],
    /// The first message of it, by its place in the history.
    pub(super) first: Option<usize>,
}

/// The kinds that may be left aside.
const KINDS: [Kind; 4] = [Kind::Exchange, Kind::Assistant, Kind::User, Kind::Summary];

impl Aside {
    pub(super) const fn is_empty(&self) -> bool {
        self.units == 0
    }

    /// Leaves `left` aside, whose first message is `first` in the history, and whose messages had `before` tokens.
    pub(super) fn add(&mut self, left: &Left, first: usize, before: usize) {
        self.units += 1;
        self.before = self.before.saturating_add(before);
        self.messages += left.messages.len();
        self.tokens = self.tokens.saturating_add(left.tokens);
        for (sum, own) in self.tidied.iter_mut().zip(left.tidied) {
            *sum = sum.saturating_add(own);
        }
        self.oldest = Some(self.oldest.map_or(left.ordinal, |oldest| oldest.min(left.ordinal)));
        for (kind, youngest) in KINDS.iter().zip(&mut self.youngest) {
            if *kind == left.kind {
                *youngest = Some(youngest.map_or(left.ordinal, |known| known.max(left.ordinal)));
            }
        }
        self.first = Some(self.first.map_or(first, |known| known.min(first)));
    }

    /// Tokens that tidying saves; `None` where some of it is what the model is at work on, and some is not.
    pub(super) fn tidied(&self, said_last: Option<usize>) -> Option<usize> {
        let [live, over] = self.tidied;
        let youngest = self.youngest.iter().flatten().max()?;
        match said_last {
            Some(said) if said >= *youngest => Some(over),
            Some(said) if self.oldest.is_some_and(|oldest| said > oldest) => None,
            _ => Some(live),
        }
    }

    /// The most salience that one of it has, and the last place in the ladder that a step of it may have.
    pub(super) fn most(&self, units: usize, policy: &Policy) -> (f64, f64) {
        let mut most = (f64::NEG_INFINITY, FIRST);
        for (kind, youngest) in KINDS.into_iter().zip(self.youngest) {
            let Some(youngest) = youngest else { continue };
            let salience = by_age(kind, units.saturating_sub(1 + youngest)).salience(&policy.weights);
            let words = if matches!(kind, Kind::User | Kind::Summary) { WORDS } else { 0.0 };
            most.0 = most.0.max(salience);
            most.1 = most.1.max(salience + words + LATER.iter().fold(0.0_f64, |most, later| most.max(*later)));
        }
        most
    }
}

/// How old units are, where some are left aside: `skipped` are the units left aside before each message.
pub(super) struct Ages<'a> {
    pub(super) units: usize,
    pub(super) skipped: &'a [usize],
}

impl Ages<'_> {
    /// The number of a unit among all.
    pub(super) fn ordinal(&self, at: usize, unit: &Unit) -> usize {
        at + self.skipped.get(unit.messages.start).copied().unwrap_or(0)
    }

    /// How many units came after it.
    pub(super) fn of(&self, at: usize, unit: &Unit) -> usize {
        self.units.saturating_sub(1 + self.ordinal(at, unit))
    }
}
