//! Loops as machines: an event in, commands out, no I/O.
//!
//! What may be called, in which order and at what time, stands at [`Machine`]. Drivers live elsewhere and know nothing
//! about what a machine does.

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
///
/// There are four kinds of call. `new` makes a machine that has not begun. [`step`](Self::step) feeds it one event:
/// first [`EventKind::Start`], then what comes of its commands, in whatever order that comes, and at any time an
/// interrupt. [`waiting`](Self::waiting) and [`is_finished`](Self::is_finished) look at it at any time and change
/// nothing. Saving and loading (`serde`) may stand between any two steps: the rest is the same.
///
/// A step is total: any event in any state gives commands or a typed refusal, never a panic. The same events give the
/// same commands, bit for bit. Commands are for the driver to carry out in their order; after [`Command::Finish`], the
/// last, there are none.
///
/// A machine has no clock. It knows the time from its events alone, which say when the driver saw them ([`Time`], from
/// the start of the run); where one is earlier than the last, no time has passed. What shall happen later is a
/// [`Command::Timer`], and its time has come when [`EventKind::Fired`] says so.
///
/// ```
/// use loopwright_base::message::Message;
/// use loopwright_machine::{Command, Event, EventKind, Machine, Time, turn::{TurnConfig, TurnMachine}};
///
/// let mut turn = TurnMachine::new(TurnConfig { model: "any".into(), ..TurnConfig::default() }, 0);
/// let begun = turn.step(Event { at: Time(0), kind: EventKind::Start { messages: vec![Message::user("Hi.")] } });
/// let asked = begun.iter().find_map(|command| match command {
///     Command::Generate { id, .. } => Some(*id),
///     _ => None,
/// });
/// assert!(!turn.is_finished() && !turn.waiting().is_empty());
///
/// // The driver asks the model; half a second later its answer is there.
/// let message = Message::assistant("Hello!");
/// let answer = serde_json::json!({"message": message, "stop": "end_turn", "usage": {"input": 9, "output": 2}});
/// let response = serde_json::from_str(&answer.to_string()).expect("an answer");
/// let kind = EventKind::Generated { id: asked.expect("a request"), response: Box::new(response) };
/// let ended = turn.step(Event { at: Time(500_000), kind });
/// assert!(matches!(ended.last(), Some(Command::Finish { .. })) && turn.is_finished());
/// ```
pub trait Machine {
    /// Takes one event, changes state, answers with commands. Late, duplicate and unknown answers are counted and
    /// dropped; an event that makes no sense at all is answered with [`Command::Refuse`].
    fn step(&mut self, event: Event) -> Vec<Command>;

    /// The things that the machine waits for, in words; empty only before its start and after its end.
    fn waiting(&self) -> Vec<String>;

    /// Returns whether the machine has finished.
    fn is_finished(&self) -> bool;
}
