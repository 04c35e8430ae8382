//! What happened: the only way into a machine.
//!
//! Every event carries the time at which the driver saw it, and every answer the number of the command it answers.

use serde::{Deserialize, Serialize};

use super::{
    HookReply, Id, ModelChoice, Outcome,
    research::{Hit, PageText, Vector},
    turn::Recollection,
};
use loopwright_base::{
    error::{Error, Failure},
    json::Raw,
    message::{Message, ToolResult},
    request::{Delta, Response},
};
use loopwright_retrieve::gather::Gathered;

/// A moment: microseconds since the driver's start of the run. Whole numbers, so that a journal keeps them exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);

impl Time {
    /// From seconds; negative and not-a-number become zero.
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds.max(0.0) * 1e6).round() as u64)
    }

    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Seconds from `earlier` to here; never negative.
    pub fn since(self, earlier: Self) -> f64 {
        Self(self.0.saturating_sub(earlier.0)).seconds()
    }

    /// This moment and `seconds` more.
    #[must_use]
    pub fn after(self, seconds: f64) -> Self {
        Self(self.0.saturating_add(Self::from_seconds(seconds).0))
    }
}

/// Something that happened, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When the driver saw it.
    pub at: Time,
    /// What it was.
    pub kind: EventKind,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The run begins with this history; the last message is the new prompt.
    Start {
        /// The history.
        messages: Vec<Message>,
    },
    /// A piece of an answer was shown to somebody. Optional: drivers that show nothing need not say so.
    Delta {
        /// The command.
        id: Id,
        /// The piece.
        delta: Delta,
    },
    /// A model answered.
    Generated {
        /// The command.
        id: Id,
        /// The answer.
        response: Box<Response>,
    },
    /// A model call failed.
    Failed {
        /// The command.
        id: Id,
        /// Why.
        failure: Failure,
        /// Whether a part of the answer was shown to somebody.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        visible: bool,
        /// What had come before it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partial: Option<Box<Response>>,
    },
    /// A tool gave its result; each call of an `Execute` is answered by itself.
    Executed {
        /// The command.
        id: Id,
        /// The result; its `id` names the call.
        result: ToolResult,
    },
    /// Somebody decided on an approval.
    Decided {
        /// The command.
        id: Id,
        /// The hash of the arguments that were shown; an allow without the right one is a deny.
        hash: String,
        /// The decision.
        decision: Decision,
    },
    /// A search gave its sources.
    Found {
        /// The command.
        id: Id,
        /// The sources, or why there are none.
        found: Result<Gathered, Error>,
    },
    /// A search gave its hits.
    Hits {
        /// The command.
        id: Id,
        /// The hits, or why there are none.
        hits: Result<Vec<Hit>, Error>,
        /// What could not be asked or read, where something else could.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        problems: Vec<String>,
    },
    /// A page was read.
    Fetched {
        /// The command.
        id: Id,
        /// The page, or why there is none.
        page: Result<PageText, Error>,
    },
    /// An embedder gave its vectors, one for each text.
    Embedded {
        /// The command.
        id: Id,
        /// The vectors, or why there are none.
        vectors: Result<Vec<Vector>, Error>,
    },
    /// A part of one's own has planned or analysed.
    Consulted {
        /// The command.
        id: Id,
        /// Its answer, as JSON, or why there is none.
        answer: Result<String, Error>,
    },
    /// A child machine finished. Made by the tree, never by a driver.
    Child {
        /// The command that started it.
        id: Id,
        /// How it ended.
        outcome: Box<Outcome>,
        /// Its history.
        messages: loopwright_base::request::History,
    },
    /// A timer fired.
    Fired {
        /// The command.
        id: Id,
        /// What had come of an answer that was under way: where the timer ends the run, it is kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partial: Option<Box<Response>>,
    },
    /// Memory said what it knows.
    Recalled {
        /// The command.
        id: Id,
        /// What it knows, or why it could not be asked.
        found: Result<Recollection, Error>,
    },
    /// Somebody wants the run to end.
    Interrupt {
        /// How.
        how: Interrupt,
        /// What had come of an answer that was under way.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partial: Option<Box<Response>>,
    },
    /// What had come of answers under way, by their commands: for the machines that the next event ends.
    Partials {
        /// The answers.
        answers: Vec<(Id, Response)>,
    },
    /// Somebody wants the run to stand still when what is under way has ended.
    Pause,
    /// Somebody wants a run that was paused to go on.
    Resume,
    /// The hooks of a stage have answered.
    Hooked {
        /// The command.
        id: Id,
        /// What they said, in their order.
        replies: Vec<HookReply>,
    },
    /// Whoever was asked which model shall be used has answered.
    Chosen {
        /// The command.
        id: Id,
        /// The model, if one was named.
        choice: Option<ModelChoice>,
        /// What went wrong while asking.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A question to a person waits behind another, or has been put now: the time to answer begins with that. Optional:
    /// a question of which nothing is said is put at once.
    Asked {
        /// The command.
        id: Id,
        /// Whether the person sees it.
        put: bool,
        /// Whether it is told once more, with the time at which it lapses now.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        tell: bool,
    },
}

impl EventKind {
    /// The command that the event answers and ends. Results of tools end their command one by one.
    pub const fn answers(&self) -> Option<Id> {
        match self {
            Self::Generated { id, .. }
            | Self::Failed { id, .. }
            | Self::Decided { id, .. }
            | Self::Found { id, .. }
            | Self::Hits { id, .. }
            | Self::Fetched { id, .. }
            | Self::Embedded { id, .. }
            | Self::Consulted { id, .. }
            | Self::Recalled { id, .. }
            | Self::Fired { id, .. }
            | Self::Hooked { id, .. }
            | Self::Chosen { id, .. } => Some(*id),
            Self::Start { .. }
            | Self::Delta { .. }
            | Self::Executed { .. }
            | Self::Child { .. }
            | Self::Interrupt { .. }
            | Self::Partials { .. }
            | Self::Pause
            | Self::Resume
            | Self::Asked { .. } => None,
        }
    }

    /// The name in journals and tables.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Start { .. } => "start",
            Self::Delta { .. } => "delta",
            Self::Generated { .. } => "generated",
            Self::Failed { .. } => "failed",
            Self::Executed { .. } => "executed",
            Self::Decided { .. } => "decided",
            Self::Found { .. } => "found",
            Self::Hits { .. } => "hits",
            Self::Fetched { .. } => "fetched",
            Self::Embedded { .. } => "embedded",
            Self::Consulted { .. } => "consulted",
            Self::Child { .. } => "child",
            Self::Fired { .. } => "fired",
            Self::Interrupt { .. } => "interrupt",
            Self::Partials { .. } => "partials",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Hooked { .. } => "hooked",
            Self::Chosen { .. } => "chosen",
            Self::Recalled { .. } => "recalled",
            Self::Asked { .. } => "asked",
        }
    }
}

/// How a run shall end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interrupt {
    /// At once: what is under way is aborted.
    Cancel,
    /// When the tools that are running are done.
    AfterRound,
}

/// What somebody decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The call may run.
    Allow,
    /// The call may run, because of a decision that was kept from before: nobody was asked, and nothing is spent.
    Remembered {
        /// What was kept, in words.
        what: String,
    },
    /// The call may not run; the model is told why.
    Deny {
        /// Why.
        reason: String,
    },
    /// The call may not run, and the run ends.
    Abort,
    /// The call with other arguments; it is judged again, and asked about again if need be.
    Edit {
        /// The arguments, an object.
        input: Raw,
    },
}
