//! What leaves or stays together: instructions, the goal, what was said, and exchanges of tool uses with their results.
//!
//! A unit is the smallest thing that a plan decides about, so a tool use never parts from its result. Where one message
//! holds results and a person's words, the words are a unit of their own; blank text beside results goes where they go.

use std::{collections::HashSet, ops::Range};

use loopwright_base::message::{Block, Message, Role};

use super::{facts::Facts, pairs::Placed, policy::Policy, tiers::Level};

/// How a summary of ours begins; such a message is known again when a history is compressed once more.
pub(super) const SUMMARY_HEAD: &str = "[Summary of what left the conversation; the tool recall gives any of it back: \
     recall(handle), or recall(find=\"words\")]\n";

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Instructions.
    System,
    /// The user's first words.
    Goal,
    /// The user's words.
    User,
    /// The model's words, without tool uses.
    Assistant,
    /// Tool uses and their results.
    Exchange,
    /// A summary made before.
    Summary,
}

/// How firmly a unit stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hold {
    /// It may go.
    Free,
    /// It goes when nothing else can.
    Late,
    /// It is shortened when nothing else can be, and never goes.
    Soft,
    /// It stays as it is.
    Hard,
}

/// The smallest thing that a plan decides about.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) kind: Kind,
    /// Its messages; of messages with results and words it has the one or the other.
    pub(super) messages: Range<usize>,
    pub(super) hold: Hold,
    /// Whether it belongs to what the model is at work on: after the user's last words.
    pub(super) live: bool,
    /// Whether it holds reasoning or a provider's own blocks that must not be parted from what stands beside them.
    pub(super) bound: bool,
    /// Whether it is what the model, while it is at work, asked back of what left.
    pub(super) recalls: bool,
}

impl Unit {
    /// Whether at this level its results are cut to a page.
    pub(super) fn is_paged(&self, level: Level) -> bool {
        level == Level::Short && self.kind == Kind::Exchange && self.hold >= Hold::Late
    }

    /// Whether a plan may take it to this level: what is read line by line stands whole, as a page, or as a stub.
    pub(super) fn has(&self, level: Level) -> bool {
        let read = self.kind == Kind::Exchange && (self.hold >= Hold::Late || self.recalls);
        !read || level >= Level::Stub || self.is_paged(level)
    }

    /// Whether results belong to the unit, too, where its messages hold any.
    pub(super) const fn has_results(&self) -> bool {
        !matches!(self.kind, Kind::User | Kind::Goal | Kind::Summary)
    }

    /// The blocks of `message` that belong to the unit.
    pub(super) fn owns(&self, block: &Block) -> bool {
        match self.kind {
            Kind::User | Kind::Goal | Kind::Summary => !matches!(block, Block::ToolResult(_)),
            _ => true,
        }
    }
}

/// The units of a history that is legal, in order, and for each message the units that own parts of it (the exchange
/// first, then words beside its results).
pub(super) fn units(messages: &[Placed], facts: &[Facts], policy: &Policy) -> (Vec<Unit>, Vec<[Option<usize>; 2]>) {
    let mut units: Vec<Unit> = Vec::new();
    let mut owners = vec![[None, None]; messages.len()];
    let mut exchange: Option<usize> = None;
    let mut goal = None;
    for (index, it) in facts.iter().enumerate() {
        let mut add = |kind, units: &mut Vec<Unit>| {
            let bound = it.role == Role::Assistant && it.is_bound();
            let hold = if kind == Kind::System { Hold::Hard } else { Hold::Free };
            units.push(Unit { kind, messages: index..index + 1, hold, live: false, bound, recalls: false });
            let at = units.len() - 1;
            if let Some(owner) = owners.get_mut(index) {
                let slot = usize::from(owner[0].is_some());
                if let Some(free) = owner.get_mut(slot) {
                    *free = Some(at);
                }
            }
            at
        };
        match it.role {
            Role::System | Role::Developer => {
                add(Kind::System, &mut units);
                exchange = None;
            }
            Role::Assistant => {
                let calls = it.calls();
                let at = add(if calls { Kind::Exchange } else { Kind::Assistant }, &mut units);
                exchange = calls.then_some(at);
            }
            Role::User => {
                if let Some(at) = exchange.filter(|_| it.answers()) {
                    if let Some(unit) = units.get_mut(at) {
                        unit.messages.end = index + 1;
                    }
                    if let Some(owner) = owners.get_mut(index) {
                        owner[0] = Some(at);
                    }
                }
                if it.says() {
                    let kind = match (it.is_summary(), goal) {
                        (true, _) => Kind::Summary,
                        (false, None) => Kind::Goal,
                        (false, Some(_)) => Kind::User,
                    };
                    // The borrow of `owners` above has ended.
                    units.push(Unit {
                        kind,
                        messages: index..index + 1,
                        hold: Hold::Free,
                        live: false,
                        bound: false,
                        recalls: false,
                    });
                    let at = units.len() - 1;
                    if kind == Kind::Goal {
                        goal = Some(at);
                    }
                    if let Some(owner) = owners.get_mut(index) {
                        let slot = usize::from(owner[0].is_some());
                        if let Some(free) = owner.get_mut(slot) {
                            *free = Some(at);
                        }
                    }
                }
            }
        }
    }
    hold(&mut units, messages, facts, policy);
    (units, owners)
}

fn hold(units: &mut [Unit], messages: &[Placed], facts: &[Facts], policy: &Policy) {
    let said_last = units.iter().rposition(|unit| matches!(unit.kind, Kind::User | Kind::Goal));
    let mut exchanges = 0;
    let count = units.len();
    let pins: HashSet<usize> = policy.pin.iter().copied().collect();
    let oldest = messages.len().saturating_sub(policy.attention);
    for (at, unit) in units.iter_mut().enumerate().rev() {
        unit.live = said_last.is_none_or(|said| at > said);
        let begins = unit.messages.start;
        unit.recalls = unit.live && begins >= oldest && facts.get(begins).is_some_and(Facts::recalls);
        match unit.kind {
            Kind::Goal => unit.hold = Hold::Hard,
            Kind::User if Some(at) == said_last => unit.hold = Hold::Hard,
            Kind::User if facts.get(unit.messages.start).is_some_and(Facts::demands) => unit.hold = Hold::Late,
            Kind::Exchange => {
                if exchanges == 0 {
                    unit.hold = Hold::Soft;
                } else if exchanges < policy.keep_last {
                    unit.hold = Hold::Late;
                }
                exchanges += 1;
                // Uses that wait for their results.
                let last = facts.get(unit.messages.end - 1);
                if at + 1 == count && last.is_some_and(|last| last.role == Role::Assistant) {
                    unit.hold = Hold::Hard;
                }
            }
            Kind::Assistant if at + 1 == count => unit.hold = Hold::Soft,
            _ => {}
        }
        let pinned = !pins.is_empty()
            && messages
                .get(unit.messages.clone())
                .is_some_and(|own| own.iter().any(|placed| placed.origin.is_some_and(|origin| pins.contains(&origin))));
        if pinned {
            unit.hold = Hold::Hard;
        }
    }
}

pub(super) fn starts_as_summary(message: &Message) -> bool {
    matches!(message.content.first(), Some(Block::Text(text)) if text.text.starts_with(SUMMARY_HEAD))
}
