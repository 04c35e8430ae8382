//! What every part of a turn goes by: its time, the numbers of its commands, what it has used, and how far it is from
//! its end.

use serde::{Deserialize, Serialize};

use crate::{BudgetUsage, Id, Time};
use loopwright_base::message::Message;

/// The core of a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TurnCore {
    /// What is added to the number of every command; a child's is not 0.
    pub(super) base: Id,
    issued: u32,
    pub(super) started: Time,
    pub(super) now: Time,
    /// The timer of the whole turn; 0 where it does not run.
    pub(super) deadline: Id,
    pub(super) spent: BudgetUsage,
    /// What the model has said last.
    pub(super) reply: Option<String>,
    /// Somebody asked for a stop after this round.
    pub(super) interrupted: bool,
    /// What the person has said since the last request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) said: Vec<Message>,
}

impl TurnCore {
    pub(super) fn new(base: Id) -> Self {
        Self { base, ..Self::default() }
    }

    /// The number of the next command.
    pub(super) fn id(&mut self) -> Id {
        self.issued += 1;
        self.base + Id::from(self.issued)
    }

    pub(super) fn elapsed(&self) -> f64 {
        self.now.since(self.started)
    }
}
