//! Going on with a run that this version's rules decide otherwise: as a fork, from the first event that diverges.

use serde::Deserialize;

use super::{
    KnownResult,
    fork::{Change, fork_with_results},
    read::{Journal, JournalLine},
    replay::{Divergence, difference, journal_form},
    resume::ResumedRun,
};
use crate::{EventKind, Machine, Tree};
use loopwright_base::{
    error::{Error, Result},
    json::Raw,
    message::{ToolFailure, ToolResult, ToolUse},
};

/// Starts a run named `id` that begins as the one of the journal and goes on where the rules diverge.
///
/// The event at which they part is decided anew. What the journal holds behind it answered other commands and is left
/// out, but for tool calls: one that was carried out there, by name and arguments, keeps its result and does not run
/// again, whatever the rules say of it now; of one that was started there and never answered the model is told that
/// nobody knows whether it took effect.
///
/// Fails where the journal's run has ended, and where nothing diverges.
pub fn reopen(id: &str, journal: Journal, about: Option<Raw>) -> Result<ResumedRun> {
    let finished = |line: &JournalLine| line.commands.iter().any(|raw| raw.text().starts_with("{\"finish\""));
    if journal.lines.last().is_some_and(finished) {
        let message = format!("the run {:?} has ended", journal.run);
        return Err(Error::usage("run_finished", message).hint("give its messages to a new run, or fork it"));
    }
    let Some(divergence) = first_divergence(&journal) else {
        let message = format!("the run {:?} is decided as it was: nothing diverges", journal.run);
        return Err(Error::usage("no_divergence", message).hint("resume it as it is"));
    };
    let results = results_behind(&journal, divergence.seq);
    fork_with_results(id, journal, divergence.seq, Change::default(), about, results)
}

fn first_divergence(journal: &Journal) -> Option<Divergence> {
    let mut tree = Tree::new(journal.machine.clone());
    (1..).zip(&journal.lines).find_map(|(seq, JournalLine { event, commands })| {
        difference(seq, commands, &journal_form(&tree.step(event.clone())), journal.rules)
    })
}

/// The calls that were started or answered from event `seq` on, each with its result.
fn results_behind(journal: &Journal, seq: u64) -> Vec<KnownResult> {
    #[derive(Deserialize)]
    struct Started {
        execute: Calls,
    }
    #[derive(Deserialize)]
    struct Calls {
        calls: Vec<StartedCall>,
    }
    #[derive(Deserialize)]
    struct StartedCall {
        tool_use: ToolUse,
    }
    let mut found = Vec::new();
    let mut open = Vec::new();
    for (at, JournalLine { event, commands }) in (1..).zip(&journal.lines) {
        if let EventKind::Executed { result, .. } = &event.kind
            && let Some(place) = open.iter().position(|(_, call): &(u64, ToolUse)| call.id == result.id)
        {
            let (_, call) = open.remove(place);
            if at > seq {
                found.push(KnownResult { call, result: result.clone(), allowed: false });
            }
        }
        for raw in commands.iter().filter(|raw| raw.text().starts_with("{\"execute\"")) {
            let calls = raw.to::<Started>().map_or_else(|_| Vec::new(), |started| started.execute.calls);
            open.extend(calls.into_iter().map(|StartedCall { tool_use }| (at, tool_use)));
        }
    }
    // Calls that the fork begins with were started before; they are in doubt as in any run that goes on.
    for (_, call) in open.into_iter().filter(|(at, _)| *at >= seq) {
        let result = ToolResult::failed(&call.id, &call.name, unknown_result());
        found.push(KnownResult { call, result, allowed: false });
    }
    found
}

fn unknown_result() -> ToolFailure {
    ToolFailure {
        kind: "unknown".to_owned(),
        message: "the call was under way when the run broke off, and nobody knows whether it took effect".to_owned(),
        hint: Some("find out whether it took effect before you call it again".to_owned()),
    }
}
