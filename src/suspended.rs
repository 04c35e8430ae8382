//! A run that is left in its journal until a person has decided: what it has reached, and what it asks.

use std::{collections::VecDeque, sync::Arc};

use pyo3::prelude::*;

use super::{machine, outcome::Ended, run::Run};
use loopwright_base::message::ToolResult;
use loopwright_machine::{
    ApprovalDecision, Call, Command, Event, EventKind, Interrupt, Machine as _, Stop, Time, Tree,
};

/// The outcome of a run so far, with the stop `suspended`, and its questions and calls: those that are `open`, and
/// those that their rounds have not come to yet. The run itself stays as it is. `None` if it can't be left.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as Python gives them
pub(super) fn suspended(run: &Run, open: Vec<PyRef<'_, machine::Command>>) -> Option<(Ended, Vec<machine::Command>)> {
    let at = Time::from_seconds(run.now());
    let open = open.iter().map(|command| command.0.clone()).collect::<Vec<_>>();
    run.told(|tree, _, _| {
        let questions = questions(tree.clone(), at, open);
        let mut ended = tree.clone();
        ended.step(Event { at, kind: EventKind::Interrupt { how: Interrupt::Cancel, partial: None } });
        let mut outcome = ended.outcome()?.clone();
        outcome.stop = Stop::Suspended;
        Some((Ended::from_outcome(outcome), questions))
    })
}

/// The open questions and those behind them. A round puts one at a time: in a copy each is denied, calls that
/// need no person give nothing, and the next question follows.
fn questions(mut copy: Tree, at: Time, open: Vec<Arc<Command>>) -> Vec<machine::Command> {
    let mut found = Vec::new();
    let mut wanted = VecDeque::from(open);
    wanted.extend(copy.step(Event { at, kind: EventKind::Resume }).into_iter().map(Arc::new));
    while let Some(command) = wanted.pop_front() {
        let answers: Vec<EventKind> = match &*command {
            Command::Approve { id, hash, .. } => {
                let decision = ApprovalDecision::Deny { reason: String::new() };
                vec![EventKind::Decided { id: *id, hash: hash.clone(), decision }]
            }
            Command::Execute { id, calls, .. } => {
                let nothing = |call: &Call| ToolResult::text(call.tool_use.id.clone(), call.tool_use.name.clone(), "");
                calls.iter().map(|call| EventKind::Executed { id: *id, result: nothing(call) }).collect()
            }
            _ => continue,
        };
        for kind in answers {
            wanted.extend(copy.step(Event { at, kind }).into_iter().map(Arc::new));
        }
        if matches!(*command, Command::Approve { .. } | Command::Execute { .. }) {
            found.push(machine::Command(command));
        }
    }
    found
}
