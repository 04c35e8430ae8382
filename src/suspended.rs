//! A run that is left in its journal until a person has decided: what it has reached, and what it asks.

use std::{collections::VecDeque, sync::Arc};

use pyo3::prelude::*;

use super::{machine, outcome::Ended, run::Run};
use loopwright_machine::{ApprovalDecision, Command, Event, EventKind, Interrupt, Machine as _, Stop, Time, Tree};

/// The outcome of a run so far, with the stop `suspended`, and its questions: those that are `open`, and those that
/// their rounds have not come to yet. The run itself stays as it is. `None` if it can't be left.
#[pyfunction]
pub(super) fn suspended(run: &Run, open: Vec<PyRef<'_, machine::Command>>) -> Option<(Ended, Vec<machine::Command>)> {
    let at = Time::from_seconds(run.now());
    let open = open.iter().map(|command| command.0.clone()).collect();
    run.told(|tree, _, _| {
        let questions = questions(tree.clone(), at, open);
        let mut ended = tree.clone();
        ended.step(Event { at, kind: EventKind::Interrupt { how: Interrupt::Cancel, partial: None } });
        let mut outcome = ended.outcome()?.clone();
        outcome.stop = Stop::Suspended;
        Some((Ended::from_outcome(outcome), questions))
    })
}

/// The open questions and those behind them. A round puts one at a time: each is denied in a copy of the run, and the
/// next one follows.
fn questions(mut copy: Tree, at: Time, mut open: VecDeque<Arc<Command>>) -> Vec<machine::Command> {
    let mut found = Vec::new();
    copy.step(Event { at, kind: EventKind::Resume });
    while let Some(command) = open.pop_front() {
        if let Command::Approve { id, hash, .. } = &*command {
            let decision = ApprovalDecision::Deny { reason: String::new() };
            let kind = EventKind::Decided { id: *id, hash: hash.clone(), decision };
            let next = copy.step(Event { at, kind });
            open.extend(next.into_iter().filter(|next| matches!(next, Command::Approve { .. })).map(Arc::new));
        }
        found.push(machine::Command(command));
    }
    found
}
