//! Resuming at the end of a journal: the machine as it was, and the commands that have no answer yet.
//!
//! A tool call whose start was written down and whose result was not may have taken effect. It is handed out like the
//! other open commands; whoever drives decides whether it may run again.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{
    Run,
    read::{Journal, JournalLine},
    replay::{Divergence, difference, journal_form},
};
use crate::{Command, Event, EventKind, Id, Machine, Time, Tree};
use loopwright_base::{
    error::{Error, Result},
    message::ToolUse,
    request::Delta,
};

/// A resumed run.
#[derive(Debug)]
pub struct ResumedRun {
    /// The run; its log goes on where the journal ends.
    pub run: Run,
    /// The commands without an answer, in the order in which they were given; tool calls one by one.
    pub open: Vec<Command>,
    /// The time of the last event.
    pub at: Time,
    /// The size of the snapshot that the run was resumed from, in bytes, and the number of compactions of long
    /// histories by then.
    pub saved: Option<(usize, usize)>,
}

/// Restores the machine of a journal as it was at its end. Fails if the run had ended, or if this version decides
/// otherwise than the one that wrote the journal.
pub fn resume(journal: Journal) -> Result<ResumedRun> {
    let tree = Tree::new(journal.machine.clone());
    resume_from(journal, tree, OpenCommands::default())
}

/// Restores the machine after the lines of a journal, from its state before them.
pub(super) fn resume_from(journal: Journal, mut tree: Tree, mut open: OpenCommands) -> Result<ResumedRun> {
    let seq = journal.first + journal.lines.len() as u64;
    if seq == 0 {
        // Nothing is open, and nothing ever would be: whoever drove it would wait for good.
        let message = format!("the run {:?} broke off before it began: its journal holds no event", journal.run);
        return Err(Error::usage("run_not_begun", message).hint("give its prompt to a new run"));
    }
    let mut results = journal.results;
    let mut batches = BTreeMap::new();
    for (at, JournalLine { event, commands: expected }) in (journal.first + 1..).zip(journal.lines) {
        if let Some(used) = open.call(&event).and_then(|call| results.iter().position(|known| known.is_of(call))) {
            results.remove(used);
        }
        open.close_answered(&event);
        if let EventKind::Delta { id, delta: Delta::Batch { id: batch } } = &event.kind {
            batches.insert(*id, batch.clone());
        }
        let commands = tree.step(event);
        if let Some(divergence) = difference(at, &expected, &journal_form(&commands), journal.rules) {
            let Divergence { seq, reason, .. } = divergence;
            let message = format!("event {seq} leads to other commands than the journal holds: {reason}");
            return Err(Error::usage("journal_diverged", message).hint(
                "resume it with the version that wrote it, or go on from there in a fork: on_divergence=\"fork\"",
            ));
        }
        open.add(commands);
    }
    if let Some(outcome) = tree.outcome() {
        let message = format!("the run {:?} has ended ({})", journal.run, outcome.stop.name());
        return Err(Error::usage("run_finished", message).hint("give its messages to a new run, or fork it"));
    }
    let run = Run { seq, sum: journal.sum, log: Some(Vec::new()), results, batches, ..Run::resume(tree) };
    Ok(begin(run, open))
}

/// Resumes a run: open calls whose results are known are answered first.
pub(super) fn begin(mut run: Run, mut open: OpenCommands) -> ResumedRun {
    let at = open.at;
    while let Some(kind) = run.known_answer(&mut open.clone().commands()) {
        let event = Event { at, kind };
        open.close_answered(&event);
        let commands = run.step(event);
        open.add(commands);
    }
    // A limit may end a run at once that begins with a history: whoever drives it waits for that end.
    let end = run.tree().outcome().map(|outcome| Command::Finish { outcome: Box::new(outcome.clone()) });
    run.open = Some(Box::new(open.clone()));
    ResumedRun { run, open: open.commands().into_iter().chain(end).collect(), at, saved: None }
}

/// Commands that wait for an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenCommands {
    commands: BTreeMap<(u64, Id), Command>,
    places: BTreeMap<Id, u64>,
    given: u64,
    at: Time,
    /// Requests that were given and not kept.
    asked: BTreeSet<Id>,
}

/// The commands in the order in which they were given, and the time of the last event.
impl Serialize for OpenCommands {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.at, self.commands.values().collect::<Vec<_>>()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for OpenCommands {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (at, commands) = <(Time, Vec<Command>)>::deserialize(deserializer)?;
        let mut open = Self { at, ..Self::default() };
        open.add(commands);
        Ok(open)
    }
}

impl OpenCommands {
    /// Removes the command that an event answers.
    pub(super) fn close_answered(&mut self, event: &Event) {
        self.at = self.at.max(event.at);
        match &event.kind {
            EventKind::Generated { id, .. }
            | EventKind::Failed { id, .. }
            | EventKind::Decided { id, .. }
            | EventKind::Found { id, .. }
            | EventKind::Hits { id, .. }
            | EventKind::Fetched { id, .. }
            | EventKind::Embedded { id, .. }
            | EventKind::Consulted { id, .. }
            | EventKind::Fired { id, .. }
            | EventKind::Hooked { id, .. }
            | EventKind::Chosen { id, .. }
            | EventKind::Recalled { id, .. } => self.close(*id),
            EventKind::Executed { id, result } => {
                let Some(place) = self.places.get(id) else { return };
                if let Some(Command::Execute { calls, .. }) = self.commands.get_mut(&(*place, *id)) {
                    calls.retain(|call| call.tool_use.id != result.id);
                    if calls.is_empty() {
                        self.close(*id);
                    }
                }
            }
            EventKind::Start { .. }
            | EventKind::Said { .. }
            | EventKind::Delta { .. }
            | EventKind::Child { .. }
            | EventKind::Interrupt { .. }
            | EventKind::Partials { .. }
            | EventKind::Pause
            | EventKind::Resume
            | EventKind::Asked { .. }
            | EventKind::Elsewhere { .. } => {}
        }
    }

    /// The open tool call that an event answers.
    fn call(&self, event: &Event) -> Option<&ToolUse> {
        let EventKind::Executed { id, result } = &event.kind else { return None };
        let Command::Execute { calls, .. } = self.commands.get(&(*self.places.get(id)?, *id))? else { return None };
        calls.iter().map(|call| &call.tool_use).find(|call| call.id == result.id)
    }

    fn close(&mut self, id: Id) {
        self.asked.remove(&id);
        if let Some(place) = self.places.remove(&id) {
            self.commands.remove(&(place, id));
        }
    }

    /// Adds commands, and keeps them as they are.
    pub(super) fn add_all(&mut self, commands: &[Command]) {
        for command in commands {
            match command {
                Command::Abort { id } => self.close(*id),
                Command::Execute { .. } | Command::Approve { .. } | Command::Timer { .. } => {
                    self.add(vec![command.clone()]);
                }
                // Most hold a whole request: nothing is saved while they are open, so they need not be kept.
                command => self.asked.extend(command.id()),
            }
        }
    }

    /// Returns whether something is open that is better not saved: a request, or a command that holds one.
    pub(super) fn is_large(&self) -> bool {
        let small = |command: &Command| {
            matches!(command, Command::Execute { .. } | Command::Approve { .. } | Command::Timer { .. })
        };
        !self.asked.is_empty() || !self.commands.values().all(small)
    }

    /// Adds commands.
    pub(super) fn add(&mut self, commands: Vec<Command>) {
        for command in commands {
            match command {
                Command::Abort { id } => self.close(id),
                Command::Emit { .. } | Command::Persist | Command::Refuse { .. } | Command::Finish { .. } => {}
                command => {
                    let Some(id) = command.id() else { continue };
                    self.given += 1;
                    self.places.insert(id, self.given);
                    self.commands.insert((self.given, id), command);
                }
            }
        }
    }

    /// The commands that wait.
    pub(super) fn commands(self) -> Vec<Command> {
        let mut open = Vec::new();
        for command in self.commands.into_values() {
            match command {
                Command::Execute { id, calls, parallel } => {
                    open.extend(calls.into_iter().map(|call| Command::Execute { id, calls: vec![call], parallel }));
                }
                command => open.push(command),
            }
        }
        open
    }
}
