//! Forks: a new run that begins as another one did, and goes on differently.

use super::{
    KnownResult, Run,
    read::{Journal, JournalLine},
    resume::{OpenCommands, ResumedRun, begin},
};
use crate::{Command, Event, EventKind, Machine, MachineConfig, Time, Tree, budget::Budget};
use loopwright_base::{
    error::{Error, Result},
    json::Raw,
    message::{Message, ToolResult},
};

/// The change with which a fork goes on. No change at all is allowed too: models and tools need not give the same
/// again.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// A new prompt: the messages so far, then this.
    pub prompt: Option<Message>,
    /// Other models: those of this configuration, at each place that has one.
    pub models: Option<MachineConfig>,
    /// Whether a fork with a new prompt also takes the budget of the configuration in `models`.
    pub budget: bool,
    /// Whether the models of that configuration answer when they may, as in batches: the usual time of a run gives way
    /// to its time.
    pub slow: bool,
    /// The result of the tool call whose result is the last event that is kept.
    pub result: Option<String>,
}

/// Starts a run named `id` that is fed the events of a journal up to number `at`, with a change, and goes on from
/// there.
pub fn fork(id: &str, journal: Journal, at: u64, change: Change, about: Option<Raw>) -> Result<ResumedRun> {
    fork_with_results(id, journal, at, change, about, Vec::new())
}

/// Starts a fork whose tool calls of these results are not carried out again.
pub(super) fn fork_with_results(
    id: &str,
    journal: Journal,
    at: u64,
    change: Change,
    about: Option<Raw>,
    results: Vec<KnownResult>,
) -> Result<ResumedRun> {
    let events = journal.lines.len() as u64;
    if at == 0 || at > events {
        let message = format!("there is no event {at}: the journal has the events 1 to {events}");
        return Err(Error::usage("no_such_event", message).hint("`loopwright replay RUN --steps` shows them, numbered"));
    }
    let mut machine = journal.machine;
    if let Some(mut other) = change.models {
        machine.turn_mut().take_models(other.turn_mut());
        if change.budget && change.prompt.is_some() {
            machine.turn_mut().budget = other.turn_mut().budget.clone();
        }
        // Whoever has said another time means it.
        let own = &mut machine.turn_mut().budget.wall_time;
        if change.slow && (*own - Budget::default().wall_time).abs() < f64::EPSILON {
            *own = own.max(other.turn_mut().budget.wall_time);
        }
    }
    let mut kept: Vec<Event> =
        journal.lines.into_iter().take(at as usize).map(|JournalLine { event, .. }| event).collect();
    if let Some(text) = change.result {
        let last = kept.last_mut().map(|event| &mut event.kind);
        let Some(EventKind::Executed { result, .. }) = last else {
            let message = format!("event {at} is no result of a tool");
            return Err(Error::usage("no_tool_result", message).hint("fork at an `executed` event"));
        };
        *result = ToolResult::text(&result.id, &result.name, text);
    }
    let begins = change.prompt.is_some();
    if let Some(prompt) = change.prompt {
        // What has happened is history: the new run starts with it.
        let mut tree = Tree::new(machine.clone());
        for event in kept {
            tree.step(event);
        }
        let mut messages: Vec<Message> = tree.history().iter().cloned().collect();
        messages.push(prompt);
        kept = vec![Event { at: Time::default(), kind: EventKind::Start { messages } }];
    }
    let mut open = OpenCommands::default();
    let mut run = Run::with_results(id, machine, true, about, results);
    let known = std::mem::take(&mut run.results);
    let mut lines = Vec::new();
    for event in kept {
        open.close_answered(&event);
        let commands = run.step(event);
        // Nobody has heard what a run tells that begins with a prompt of its own.
        lines.extend(commands.iter().filter(|command| begins && matches!(command, Command::Emit { .. })).cloned());
        open.add(commands);
    }
    run.results = known;
    let mut continued = begin(run, open);
    continued.open.splice(0..0, lines);
    Ok(continued)
}
