//! Pausing: nothing new starts after the work in flight, and the clock of the run stands still.
//!
//! A tree of machines knows nothing of it. Commands that would start something are held back here until the run is
//! resumed; while nothing is in flight, no time passes for the machines, so that neither the run's time nor a person's
//! to answer runs out. A run that was never paused is not changed by any of this.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Command, Event, EventKind, Id, Notice, Time};

/// The state of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// The run goes on.
    #[default]
    Running,
    /// A pause was requested; work in flight is awaited.
    Pausing,
    /// Nothing is in flight, and nothing starts.
    Paused,
    /// The run has ended.
    Done,
}

impl RunState {
    /// The name in Python and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Pausing => "pausing",
            Self::Paused => "paused",
            Self::Done => "done",
        }
    }
}

/// The transitions of a run as a whole: state, event, next state. `answer` ends the last of the work in flight.
pub const RUN_TRANSITIONS: &[(&str, &str, &str)] = &[
    ("running", "pause", "pausing"),
    ("running", "pause", "paused"),
    ("pausing", "answer", "paused"),
    ("pausing", "resume", "running"),
    ("paused", "resume", "running"),
    ("running", "answer", "done"),
    ("pausing", "answer", "done"),
    ("running", "interrupt", "done"),
    ("pausing", "interrupt", "done"),
    ("paused", "interrupt", "done"),
];

/// The work in flight for a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum InFlight {
    /// The ids of tool calls.
    Calls(Vec<String>),
    /// One answer.
    One(()),
}

/// The gate that commands pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Pause {
    state: RunState,
    /// The time at which the clock stopped.
    since: Time,
    /// Microseconds that the clock stood still, over all pauses.
    lost: u64,
    under_way: BTreeMap<Id, InFlight>,
    /// The times at which timers are due, by the clock of the machines.
    timers: BTreeMap<Id, Time>,
    /// Timers that fired while the clock stood still.
    overdue: Vec<Id>,
    held: Vec<Command>,
}

/// The fate of an event.
pub(super) enum GateResult {
    /// The event goes to the machines.
    Deliver(Event),
    /// The event is kept back, and these commands are given.
    Keep(Vec<Command>),
}

impl Pause {
    pub(super) const fn state(&self) -> RunState {
        self.state
    }

    /// The time by the clock of the machines.
    pub(super) fn own(&self, at: Time) -> Time {
        let at = if self.state == RunState::Paused { self.since } else { at };
        Time(at.0.saturating_sub(self.lost))
    }

    const fn real(&self, at: Time) -> Time {
        Time(at.0.saturating_add(self.lost))
    }

    /// Requests a pause; false if there is nothing to pause.
    pub(super) fn pause(&mut self) -> bool {
        let running = self.state == RunState::Running;
        if running {
            self.state = RunState::Pausing;
        }
        running
    }

    /// Stops the clock once nothing is in flight; true at that moment.
    pub(super) fn settle(&mut self, at: Time) -> bool {
        if self.state != RunState::Pausing || !self.under_way.is_empty() {
            return false;
        }
        self.since = at;
        self.state = RunState::Paused;
        true
    }

    /// Resumes: returns the commands that were held back. `None` if nothing was paused.
    pub(super) fn resume(&mut self, at: Time) -> Option<Vec<Command>> {
        let mut out = Vec::new();
        match self.state {
            RunState::Paused => {
                let stood = at.0.saturating_sub(self.since.0);
                self.lost = self.lost.saturating_add(stood);
                self.state = RunState::Running;
                out.push(Command::Emit { notice: Notice::Resumed { after: Time(stood).seconds() } });
            }
            RunState::Pausing => self.state = RunState::Running,
            RunState::Running | RunState::Done => return None,
        }
        for id in std::mem::take(&mut self.overdue) {
            if let Some(due) = self.timers.get(&id) {
                out.push(Command::Timer { id, at: self.real(*due) });
            }
        }
        let held = std::mem::take(&mut self.held);
        self.pass(held, &mut out);
        Some(out)
    }

    /// Ends the run.
    pub(super) fn end(&mut self) {
        *self = Self { state: RunState::Done, lost: self.lost, ..Self::default() };
    }

    /// Takes an event from outside.
    pub(super) fn incoming(&mut self, mut event: Event) -> GateResult {
        match &event.kind {
            EventKind::Fired { id, .. } => {
                if let Some(due) = self.timers.get(id).copied() {
                    if self.state == RunState::Paused {
                        if !self.overdue.contains(id) {
                            self.overdue.push(*id);
                        }
                        return GateResult::Keep(Vec::new());
                    }
                    if self.lost > 0 && self.own(event.at) < due {
                        // It was set before a pause.
                        return GateResult::Keep(vec![Command::Timer { id: *id, at: self.real(due) }]);
                    }
                    self.timers.remove(id);
                }
            }
            EventKind::Executed { id, result } => self.done(*id, &result.id),
            EventKind::Elsewhere { id, call_id } => self.done(*id, call_id),
            other => {
                if let Some(id) = other.answers() {
                    self.under_way.remove(&id);
                }
            }
        }
        event.at = self.own(event.at);
        GateResult::Deliver(event)
    }

    /// Nobody is at work for a call any more.
    fn done(&mut self, id: Id, call_id: &str) {
        let done = match self.under_way.get_mut(&id) {
            Some(InFlight::Calls(open)) => {
                open.retain(|call| call != call_id);
                open.is_empty()
            }
            Some(InFlight::One(())) => true,
            None => false,
        };
        if done {
            self.under_way.remove(&id);
        }
    }

    /// Lets commands out; those that would start something wait while the run is paused.
    pub(super) fn pass(&mut self, commands: Vec<Command>, out: &mut Vec<Command>) {
        for command in commands {
            let holds = matches!(self.state, RunState::Pausing | RunState::Paused);
            match command {
                Command::Timer { id, at } => {
                    self.timers.insert(id, at);
                    out.push(Command::Timer { id, at: self.real(at) });
                }
                Command::Abort { id } => {
                    self.timers.remove(&id);
                    self.under_way.remove(&id);
                    let before = self.held.len() + self.overdue.len();
                    self.overdue.retain(|timer| *timer != id);
                    self.held.retain(|held| held.id() != Some(id));
                    // What was never started, or has fired already, is not stopped.
                    if self.held.len() + self.overdue.len() == before {
                        out.push(Command::Abort { id });
                    }
                }
                Command::Emit { notice } if holds && self.waits(&notice) => self.held.push(Command::Emit { notice }),
                Command::Persist if holds => self.held.push(Command::Persist),
                Command::Finish { .. } | Command::Emit { .. } | Command::Persist | Command::Refuse { .. } => {
                    out.push(command);
                }
                Command::Approve { .. } if holds => self.held.push(command),
                Command::Approve { id, call, hash, risk, why, expires, judged } => {
                    out.push(Command::Approve { id, call, hash, risk, why, expires: self.real(expires), judged });
                }
                command if holds => self.held.push(command),
                command => {
                    if let Some(id) = command.id() {
                        let work = match &command {
                            Command::Execute { calls, .. } => {
                                InFlight::Calls(calls.iter().map(|call| call.tool_use.id.clone()).collect())
                            }
                            _ => InFlight::One(()),
                        };
                        self.under_way.insert(id, work);
                    }
                    out.push(command);
                }
            }
        }
    }

    /// Returns whether a notice tells of something that has not happened yet.
    fn waits(&self, notice: &Notice) -> bool {
        match notice {
            Notice::RoundStarted { .. } | Notice::ToolStarted { .. } | Notice::ApprovalAsked { .. } => true,
            Notice::ToolFinished { call_id: id, .. } => self.held.iter().any(|held| match held {
                Command::Emit { notice } => {
                    matches!(notice.own(), Notice::ToolStarted { call_id: began, .. } if began == id)
                }
                _ => false,
            }),
            Notice::Child { told, .. } => self.waits(told),
            _ => false,
        }
    }
}
