//! Going on where a journal ends: the machine as it was, and the commands that have no answer yet.
//!
//! A tool call whose start was written down and whose result was not may have taken effect. It is handed out like the
//! other open commands; whoever drives decides whether it may run again.

use std::collections::BTreeMap;

use super::{
    Run,
    read::{Journal, Line},
    replay::{difference, written},
};
use crate::core::{
    error::{Error, Result},
    machine::{Command, Event, EventKind, Id, Machine, Time, Tree},
};

/// A run that goes on.
#[derive(Debug)]
pub struct Continued {
    /// The run; its log goes on where the journal ends.
    pub run: Run,
    /// The commands without an answer, in the order in which they were given; tool calls one by one.
    pub open: Vec<Command>,
    /// The time of the last event.
    pub at: Time,
}

/// The machine of a journal as it was at its end. Fails if the run had ended, or if this version decides otherwise
/// than the one that wrote the journal.
pub fn resume(journal: Journal) -> Result<Continued> {
    let mut tree = Tree::new(journal.machine);
    let mut open = Open::default();
    let seq = journal.lines.len() as u64;
    for (at, Line { event, commands: expected }) in journal.lines.into_iter().enumerate() {
        open.answered(&event);
        let commands = tree.step(event);
        if let Some(divergence) = difference(at as u64 + 1, &expected, &written(&commands)) {
            let message = format!("event {} leads to other commands than the journal holds", divergence.seq);
            return Err(Error::usage("journal_diverged", message).hint("resume it with the version that wrote it"));
        }
        open.given(commands);
    }
    if let Some(outcome) = tree.outcome() {
        let message = format!("the run {:?} has ended ({})", journal.run, outcome.stop.name());
        return Err(Error::usage("run_finished", message).hint("give its messages to a new run, or fork it"));
    }
    let at = open.at;
    Ok(Continued { run: Run { tree, seq, sum: journal.sum, log: Some(Vec::new()) }, open: open.commands(), at })
}

/// Commands that wait for an answer.
#[derive(Default)]
pub(super) struct Open {
    commands: BTreeMap<(u64, Id), Command>,
    places: BTreeMap<Id, u64>,
    given: u64,
    at: Time,
}

impl Open {
    /// An event has come.
    pub(super) fn answered(&mut self, event: &Event) {
        self.at = self.at.max(event.at);
        match &event.kind {
            EventKind::Generated { id, .. }
            | EventKind::Failed { id, .. }
            | EventKind::Decided { id, .. }
            | EventKind::Found { id, .. }
            | EventKind::Fired { id, .. }
            | EventKind::Hooked { id, .. }
            | EventKind::Chosen { id, .. } => self.close(*id),
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
            | EventKind::Delta { .. }
            | EventKind::Child { .. }
            | EventKind::Interrupt { .. } => {}
        }
    }

    fn close(&mut self, id: Id) {
        if let Some(place) = self.places.remove(&id) {
            self.commands.remove(&(place, id));
        }
    }

    /// Commands were given.
    pub(super) fn given(&mut self, commands: Vec<Command>) {
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

    /// What waits.
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

    /// The time of the last event.
    pub(super) const fn at(&self) -> Time {
        self.at
    }
}
