//! Events: the only way into a machine.
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
    /// The moment of a number of seconds; negative and not-a-number become zero.
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds.max(0.0) * 1e6).round() as u64)
    }

    /// The number of seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Seconds from `earlier` to this moment; never negative.
    pub fn since(self, earlier: Self) -> f64 {
        Self(self.0.saturating_sub(earlier.0)).seconds()
    }

    /// The moment `seconds` after this one.
    #[must_use]
    pub fn after(self, seconds: f64) -> Self {
        Self(self.0.saturating_add(Self::from_seconds(seconds).0))
    }
}

/// The name of the event that says whose work a call is.
const ELSEWHERE: &str = "elsewhere";

/// An event and its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The time at which the driver saw it.
    pub at: Time,
    /// The event.
    pub kind: EventKind,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The run begins with this history; the last message is the new prompt.
    Start {
        /// The history.
        messages: Vec<Message>,
    },
    /// The person says something more while the run goes on: it stands before the next request.
    Said {
        /// The words.
        message: Message,
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
        /// The failure.
        failure: Failure,
        /// A part of the answer was shown to somebody.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        visible: bool,
        /// The part of the answer that had come before it failed.
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
        decision: ApprovalDecision,
    },
    /// A search gave its sources.
    Found {
        /// The command.
        id: Id,
        /// The sources, or the error.
        found: Result<Gathered, Error>,
    },
    /// A search gave its hits.
    Hits {
        /// The command.
        id: Id,
        /// The hits, or why there are none.
        hits: Result<Vec<Hit>, Error>,
        /// The places that could not be searched or read, where others could.
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
        /// The vectors, or the error.
        vectors: Result<Vec<Vector>, Error>,
    },
    /// The user's own planner or analyser has answered.
    Consulted {
        /// The command.
        id: Id,
        /// Its answer, as JSON, or the error.
        answer: Result<String, Error>,
    },
    /// A child machine finished. Made by the tree, never by a driver.
    Child {
        /// The command that started it.
        id: Id,
        /// The child's outcome.
        outcome: Box<Outcome>,
        /// The history of the child.
        messages: loopwright_base::request::History,
    },
    /// A timer fired.
    Fired {
        /// The command.
        id: Id,
        /// The part of an answer in flight that had come: where the timer ends the run, it is kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partial: Option<Box<Response>>,
    },
    /// Memory answered.
    Recalled {
        /// The command.
        id: Id,
        /// The memories, or the error.
        found: Result<Recollection, Error>,
    },
    /// An interrupt of the run.
    Interrupt {
        /// The way in which the run shall end.
        how: Interrupt,
        /// The part of an answer in flight that had come.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partial: Option<Box<Response>>,
    },
    /// The parts of answers in flight, by their commands: for the machines that the next event ends.
    Partials {
        /// The answers.
        answers: Vec<(Id, Response)>,
    },
    /// A request to pause when the work in flight has ended.
    Pause,
    /// A request to resume a paused run.
    Resume,
    /// The hooks of a stage have answered.
    Hooked {
        /// The command.
        id: Id,
        /// Their answers, in their order.
        replies: Vec<HookReply>,
    },
    /// The model was chosen.
    Chosen {
        /// The command.
        id: Id,
        /// The model, if one was named.
        choice: Option<ModelChoice>,
        /// The error of asking.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A question to a person waits behind another, or has been put now: the time to answer begins with that. Optional:
    /// a question without this event is put at once.
    Asked {
        /// The command.
        id: Id,
        /// The person sees the question.
        put: bool,
        /// The question is told once more, with the time at which it lapses now.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        tell: bool,
    },
    /// The work of a call is done elsewhere: nobody here is at it, and a pause does not wait for it.
    Elsewhere {
        /// The command.
        id: Id,
        /// The call.
        call_id: String,
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
            | Self::Said { .. }
            | Self::Delta { .. }
            | Self::Executed { .. }
            | Self::Child { .. }
            | Self::Interrupt { .. }
            | Self::Partials { .. }
            | Self::Pause
            | Self::Resume
            | Self::Asked { .. }
            | Self::Elsewhere { .. } => None,
        }
    }

    /// The name in journals and tables.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Start { .. } => "start",
            Self::Said { .. } => "said",
            Self::Delta { .. } => "delta",
            Self::Executed { .. } => "executed",
            Self::Child { .. } => "child",
            Self::Fired { .. } => "fired",
            Self::Interrupt { .. } => "interrupt",
            Self::Partials { .. } => "partials",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Asked { .. } => "asked",
            Self::Elsewhere { .. } => ELSEWHERE,
            _ => self.name_of_answer(),
        }
    }

    const fn name_of_answer(&self) -> &'static str {
        match self {
            Self::Generated { .. } => "generated",
            Self::Failed { .. } => "failed",
            Self::Decided { .. } => "decided",
            Self::Found { .. } => "found",
            Self::Hits { .. } => "hits",
            Self::Fetched { .. } => "fetched",
            Self::Embedded { .. } => "embedded",
            Self::Consulted { .. } => "consulted",
            Self::Hooked { .. } => "hooked",
            Self::Chosen { .. } => "chosen",
            Self::Recalled { .. } => "recalled",
            _ => "answer",
        }
    }
}

/// The way in which a run shall end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interrupt {
    /// The run ends at once: work in flight is aborted.
    Cancel,
    /// The run ends when the tools that are running are done.
    AfterRound,
}

/// A decision about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalDecision {
    /// The call may run.
    Allow,
    /// The call may run, because of a decision that was kept from before: nobody was asked, and nothing is spent.
    Remembered {
        /// The stored decision, in words.
        what: String,
    },
    /// The call may not run; the model is told why.
    Deny {
        /// The reason.
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
