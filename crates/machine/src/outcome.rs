//! The outcome of a run.

use serde::{Deserialize, Serialize};

use super::{BudgetUsage, research::ResearchResult, turn::RolesReport};
use loopwright_base::{error::Error, json::Raw, request::History, sources::Source};
use loopwright_monitor::breakpoint::Breakpoint;

/// The reason for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model said that it is done.
    Natural,
    /// The answer held no tool call, and no other reason.
    NoToolUse,
    /// The answer passed verification.
    Verified,
    /// No attempt passed verification.
    Unverified,
    /// The answer says that the sources do not hold it.
    Abstained,
    /// The model needs to know something.
    NeedsUserInput,
    /// The request can be read in more than one way; the model asks which.
    Ambiguous,
    /// The run paused for a check-in, as configured.
    CheckIn,
    /// Somebody stopped it between two rounds.
    UserInterrupt,
    /// Somebody cancelled it.
    Cancelled,
    /// Somebody forbade a destructive operation and ended the run.
    DestructiveOperation,
    /// No more requests to the model.
    #[serde(alias = "max_iterations")]
    Rounds,
    /// No more rounds of tools.
    ToolRounds,
    /// The time was up.
    WallTime,
    /// The tokens were used up.
    Tokens,
    /// The money was used up.
    Cost,
    /// The answer was cut at the model's output limit.
    OutputLimit,
    /// The run repeated itself.
    NoProgress,
    /// Too few calls succeeded.
    LowMomentum,
    /// The same error repeated.
    RepeatedFailures,
    /// The model refused.
    Refusal,
    /// The provider's filter cut the answer.
    ContentFilter,
    /// The context window was full.
    ContextWindow,
    /// An error, which the outcome holds.
    Error,
    /// No more questions to a person.
    Approvals,
    /// A check of the run's sanity asks for a person.
    SanityPause,
    /// A check of the run's sanity asks for the end.
    SanityAbort,
    /// A hook vetoed; the outcome's message says why.
    HookVeto,
    /// A hook failed that must not fail; the error says how.
    HookFailed,
    /// A person is to decide, and the run is left in its journal until then.
    Suspended,
}

impl Stop {
    /// The name in results and journals.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Natural => "natural",
            Self::NoToolUse => "no_tool_use",
            Self::Verified => "verified",
            Self::Unverified => "unverified",
            Self::Abstained => "abstained",
            Self::NeedsUserInput => "needs_user_input",
            Self::Ambiguous => "ambiguous",
            Self::CheckIn => "check_in",
            Self::UserInterrupt => "user_interrupt",
            Self::Cancelled => "cancelled",
            Self::DestructiveOperation => "destructive_operation",
            Self::Rounds => "rounds",
            Self::ToolRounds => "tool_rounds",
            Self::WallTime => "wall_time",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::OutputLimit => "output_limit",
            Self::NoProgress => "no_progress",
            Self::LowMomentum => "low_momentum",
            Self::RepeatedFailures => "repeated_failures",
            Self::Refusal => "refusal",
            Self::ContentFilter => "content_filter",
            Self::ContextWindow => "context_window",
            Self::Error => "error",
            Self::Approvals => "approvals",
            Self::SanityPause => "sanity_pause",
            Self::SanityAbort => "sanity_abort",
            Self::HookVeto => "hook_veto",
            Self::HookFailed => "hook_failed",
            Self::Suspended => "suspended",
        }
    }

    /// Returns whether the run reached its goal.
    pub const fn is_success(self) -> bool {
        matches!(
            self,
            Self::Natural | Self::NoToolUse | Self::Verified | Self::Abstained | Self::NeedsUserInput | Self::Ambiguous
        )
    }

    /// The breakpoint of the reason, if it is one.
    pub const fn breakpoint(self) -> Option<Breakpoint> {
        Some(match self {
            Self::UserInterrupt | Self::Cancelled => Breakpoint::UserInterrupt,
            Self::DestructiveOperation => Breakpoint::DestructiveOperation,
            Self::Rounds => Breakpoint::MaxIterations,
            Self::NoProgress => Breakpoint::NoProgress,
            Self::LowMomentum => Breakpoint::LowMomentum,
            Self::RepeatedFailures => Breakpoint::RepeatedFailures,
            Self::Natural | Self::NoToolUse | Self::Verified | Self::Abstained => Breakpoint::TaskComplete,
            Self::NeedsUserInput => Breakpoint::NeedsUserInput,
            Self::Ambiguous => Breakpoint::Ambiguous,
            Self::CheckIn
            | Self::Unverified
            | Self::ToolRounds
            | Self::WallTime
            | Self::Tokens
            | Self::Cost
            | Self::OutputLimit
            | Self::Refusal
            | Self::ContentFilter
            | Self::ContextWindow
            | Self::Approvals
            | Self::Error
            | Self::SanityPause
            | Self::SanityAbort
            | Self::HookVeto
            | Self::HookFailed
            | Self::Suspended => return None,
        })
    }

    /// Returns whether a limit of the budget ended the run.
    pub const fn is_limit(self) -> bool {
        matches!(self, Self::Rounds | Self::ToolRounds | Self::WallTime | Self::Tokens | Self::Cost | Self::Approvals)
    }
}

/// A tool call, for diagnostics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The call's id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments.
    pub input: Raw,
    /// The iteration, from 1.
    pub iteration: u32,
    /// Seconds from the run's start to the call's.
    pub at: f64,
    /// Seconds it took.
    pub duration: f64,
    /// The failure's kind, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// A request to the model, for diagnostics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IterationRecord {
    /// The iteration, from 1.
    pub iteration: u32,
    /// Seconds from request to answer, all attempts included.
    pub duration: f64,
    /// Attempts it took.
    pub attempts: u32,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The reason for the end.
    pub stop: Stop,
    /// The answer, if there is one; verified where the machine verifies.
    pub r#final: Option<String>,
    /// All prose of the run, in order.
    pub transcript: String,
    /// The best answer so far where `final` is missing.
    pub best_draft: Option<String>,
    /// The message to people where there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The verdict on `final`; `None` where the machine does not verify.
    pub verified: Option<bool>,
    /// Attempts at a verified answer.
    pub attempts: u32,
    /// The sources that the answer may rest on.
    pub sources: Vec<Source>,
    /// The usage.
    pub spent: BudgetUsage,
    /// The tool calls.
    pub tool_calls: Vec<CallRecord>,
    /// The requests to the model.
    pub iterations: Vec<IterationRecord>,
    /// Searches, ours and the provider's.
    pub searches: u64,
    /// Warnings to the caller.
    pub warnings: Vec<String>,
    /// The error that ended the run.
    pub error: Option<Error>,
    /// Seconds from start to end.
    pub duration: f64,
    /// Answers that came late, twice or unasked, and were dropped.
    pub dropped: u64,
    /// The reports of its roles.
    #[serde(default, skip_serializing_if = "RolesReport::is_empty")]
    pub roles: Box<RolesReport>,
    /// Report and state of a research.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub research: Option<Box<ResearchResult>>,
    /// The sub-agents, in the order in which they ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildRecord>,
    /// The phases it went through, where the machine has phases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseRecord>,
    /// The model that acted at the end, where that is not the one that was named at first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acted: Option<Acted>,
}

/// A model that took over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acted {
    /// The place in the chain of models that take over, from 1; 0 where it was chosen instead of the first.
    pub place: u32,
    /// The name, as requests hold it.
    pub model: String,
}

/// A sub-agent that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildRecord {
    /// The name.
    pub name: String,
    /// The path of the child: `explore`, `explore#2`, `lead/explore`.
    pub path: String,
    /// The id of the call that started it.
    pub call: String,
    /// The task.
    pub task: String,
    /// The messages.
    pub messages: History,
    /// The outcome.
    pub outcome: Box<Outcome>,
}

/// A phase of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseRecord {
    /// `gather`, `act`, `verify` or `judge`.
    pub phase: String,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// Seconds from the run's start to the phase's.
    pub at: f64,
    /// Seconds it took.
    pub duration: f64,
    /// The input: counts, the feedback.
    pub input: serde_json::Value,
    /// The output: counts, issues.
    pub output: serde_json::Value,
}

impl Outcome {
    /// An outcome that holds nothing yet.
    pub fn new(stop: Stop) -> Self {
        Self {
            stop,
            r#final: None,
            transcript: String::new(),
            best_draft: None,
            message: None,
            verified: None,
            attempts: 0,
            sources: Vec::new(),
            spent: BudgetUsage::default(),
            tool_calls: Vec::new(),
            iterations: Vec::new(),
            searches: 0,
            warnings: Vec::new(),
            error: None,
            duration: 0.0,
            dropped: 0,
            children: Vec::new(),
            roles: Box::default(),
            research: None,
            phases: Vec::new(),
            acted: None,
        }
    }

    /// Returns whether a limit of the budget was hit.
    pub const fn hit_ceiling(&self) -> bool {
        self.stop.is_limit()
    }
}
