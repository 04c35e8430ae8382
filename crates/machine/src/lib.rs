//! Loops as machines: an event in, commands out, no I/O.
//!
//! [`Machine::step`] is total: any event in any state gives commands or a typed refusal, never a panic. The same
//! events give the same commands, bit for bit; a machine can be saved and loaded between any two steps; after
//! [`Command::Finish`] it emits nothing. Drivers live elsewhere and know nothing about what a machine does.
//!
//! ```
//! use loopwright_base::message::Message;
//! use loopwright_machine::{Command, Event, EventKind, Machine, Time, turn::{TurnConfig, TurnMachine}};
//!
//! let mut turn = TurnMachine::new(TurnConfig { model: "any".into(), ..TurnConfig::default() }, 0);
//! let commands = turn.step(Event { at: Time(0), kind: EventKind::Start { messages: vec![Message::user("Hi.")] } });
//! assert!(commands.iter().any(|command| matches!(command, Command::Generate { .. })), "{commands:?}");
//! ```

// No clock, socket, file, thread or random source: what would reach for one is forbidden here.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
// Nothing that comes from outside may end a process.
#![cfg_attr(
    not(test),
    warn(clippy::expect_used, clippy::panic, clippy::todo, clippy::unimplemented, clippy::unreachable)
)]

mod approval;
mod budget;
mod choice;
mod command;
mod diagram;
mod ending;
mod event;
pub mod grounded;
mod hook;
pub mod journal;
mod notice;
mod outcome;
mod pause;
pub mod research;
mod retry;
pub mod role;
mod settings;
mod tree;
pub mod turn;

pub use approval::arguments_hash;
pub use budget::{Budget, BudgetUsage, Complexity, Limit};
pub use choice::{ChoiceConfig, ChoiceMode, ModelChoice};
pub use command::Digest;
pub use command::{Call, Command, Purpose};
pub use event::{ApprovalDecision, Event, EventKind, Interrupt, Time};
pub use hook::{HookAnswer, HookReply, HookStage, HookSubject, check_answer};
pub use notice::{Notice, PlannedCall, Tally};
pub use outcome::{Acted, CallRecord, ChildRecord, IterationRecord, Outcome, PhaseRecord, Stop};
pub use pause::{RUN_TRANSITIONS, RunState};

pub use retry::RetryPolicy;
pub use settings::ModelSettings;
pub use tree::{MachineConfig, Tree};

/// A command's number; its answer repeats it. The upper 32 bits name the machine of a tree.
pub type Id = u64;

/// A machine: events in, commands out.
pub trait Machine {
    /// Takes one event, changes state, answers with commands. Late, duplicate and unknown answers are counted and
    /// dropped; an event that makes no sense at all is answered with [`Command::Refuse`].
    fn step(&mut self, event: Event) -> Vec<Command>;

    /// The things that the machine waits for, in words; empty only before its start and after its end.
    fn waiting(&self) -> Vec<String>;

    /// Returns whether the machine has finished.
    fn is_finished(&self) -> bool;
}
