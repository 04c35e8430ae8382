//! The turn: assess → execute, pause or complete, tool rounds until the model is done.
//!
//! Every request has exactly one result for each tool use, in order, whatever happens in between: cancel, limits and
//! broken calls leave a history that the provider accepts. The first limit reached gives a typed stop reason, and
//! what was said until then is kept.
//!
//! All transitions stand in one table, which [`transitions`] gives, and every change of phase goes by it.

mod again;
mod ask;
mod attempts;
mod calls;
mod children;
mod choose;
mod config;
mod decision;
mod end;
mod flows;
mod gate;
mod hooks;
mod intent;
mod limits;
mod phase;
mod plans;
mod question;
mod read;
mod recall;
mod results;
mod role_config;
mod roles;
mod round;
mod sanity;
mod searches;
mod senses;
mod step;
mod summarize;
mod supervise;
mod table;
mod text;
mod tool_hooks;
mod window;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use again::{MadeCall, made_calls};
use calls::CallIds;
use children::Children;
pub use children::{AgentConfig, AgentPlace, ChildrenConfig};
pub use config::{ToolConfig, TurnConfig};
pub use decision::{Decision, Situation, assess};
use flows::Origins;
pub(crate) use hooks::legal;
pub use intent::IntentMode;
use phase::{Asking, CurrentPhase, Phase};
use recall::Front;
pub use recall::{RecallConfig, RecalledHit, Recollection};
pub use role_config::{RoleBudget, RoleConfig, RoleModel, RolesConfig, SanityConfig, SupervisorConfig, Trigger};
use roles::RoleQueue;
pub use roles::{Check, Exchange, Release, RoleSpent, RolesReport};
use round::Round;
use searches::Searching;
pub use searches::search_is_down;
pub use table::{diagram, transitions};
pub use text::limit_output;
pub use window::ContextConfig;
use window::Window;

use super::{
    BudgetUsage, CallRecord, Command, Id, IterationRecord, Notice, Outcome, Stop, Time,
    command::{emit, refuse},
};
use loopwright_base::{
    breaker::Breaker,
    message::Block,
    request::{History, Request, Response, ToolChoice},
};
use loopwright_extract::Signatures;
use loopwright_monitor::{momentum::Momentum, stuck::StuckDetector};

/// The turn machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnMachine {
    config: TurnConfig,
    #[serde(skip)]
    template: Option<Request>,
    #[serde(skip)]
    signatures: Option<Signatures>,
    base: Id,
    issued: u32,
    phase: CurrentPhase,
    history: History,
    #[serde(default)]
    window: Window,
    started: Time,
    now: Time,
    deadline: Id,
    spent: BudgetUsage,
    stuck: StuckDetector,
    told: Vec<u64>,
    momentum: Momentum,
    last_failure: Option<String>,
    breakers: BTreeMap<String, Breaker>,
    ids: CallIds,
    #[serde(flatten)]
    origins: Origins,
    outcome: Outcome,
    reply: Option<String>,
    nudged: bool,
    tools_off: bool,
    without_tools: bool,
    interrupted: bool,
    #[serde(default, skip_serializing_if = "loopwright_base::json::is_default")]
    children: Children,
    #[serde(default, skip_serializing_if = "RoleQueue::is_empty")]
    desk: Box<RoleQueue>,
    /// What hooks have added and no request has held yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    added: Vec<Block>,
    /// A hook of a tool ends the run when the calls that run are done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    halted: Option<Stop>,
    /// The model, where it is another than that of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    escalated: bool,
    /// What memory knew of the prompt.
    #[serde(default, skip_serializing_if = "Front::is_empty")]
    front: Front,
    /// The request that a hook put in the place of the one that goes out, or went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaced: Option<Box<Request>>,
    /// Searches of the provider's that the answer under way has told of, and those that go on from the one before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    searching: Vec<Searching>,
    /// The provider's search is left alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    search_off: bool,
}

impl TurnMachine {
    /// A turn that has not begun. `base` is added to the number of every command.
    pub fn new(mut config: TurnConfig, base: Id) -> Self {
        let children = Children::offer(&mut config);
        let stuck = StuckDetector::new(config.stuck_policy());
        Self {
            config,
            template: None,
            signatures: None,
            base,
            issued: 0,
            phase: CurrentPhase::idle(),
            history: History::new(),
            window: Window::default(),
            started: Time::default(),
            now: Time::default(),
            deadline: 0,
            spent: BudgetUsage::default(),
            stuck,
            told: Vec::new(),
            momentum: Momentum::default(),
            last_failure: None,
            breakers: BTreeMap::new(),
            ids: CallIds::default(),
            origins: Origins::default(),
            outcome: Outcome::new(Stop::Error),
            reply: None,
            nudged: false,
            tools_off: false,
            without_tools: false,
            interrupted: false,
            children,
            desk: Box::default(),
            added: Vec::new(),
            halted: None,
            model: None,
            escalated: false,
            front: Front::default(),
            replaced: None,
            searching: Vec::new(),
            search_off: false,
        }
    }

    /// The history so far.
    pub const fn history(&self) -> &History {
        &self.history
    }

    /// Puts a history in the place of its own, and gives that.
    pub(crate) const fn change_history(&mut self, history: History) -> History {
        std::mem::replace(&mut self.history, history)
    }

    /// Puts other records of calls and requests in the place of its own, and gives those.
    pub(crate) const fn swap_records(&mut self, calls: &mut Vec<CallRecord>, iterations: &mut Vec<IterationRecord>) {
        std::mem::swap(&mut self.outcome.tool_calls, calls);
        std::mem::swap(&mut self.outcome.iterations, iterations);
    }

    /// Where the turn stands: a state of [`transitions`].
    pub fn phase(&self) -> &'static str {
        self.phase.state().name()
    }

    /// Which sub-agent it is, if it is one, and its model.
    pub fn agent(&self) -> Option<(&AgentPlace, &str)> {
        self.config.agent.as_ref().map(|place| (place, self.config.model.as_str()))
    }

    /// Answers so far that came late, twice or unasked, and were dropped.
    pub const fn dropped(&self) -> u64 {
        self.outcome.dropped
    }

    /// Whether the answer of the model to a command is waited for.
    pub(crate) fn asks(&self, command: Id) -> bool {
        matches!(&*self.phase, Phase::Asking(asking) if asking.id == command)
    }

    /// What it has used so far, with what children that have ended used.
    pub(crate) const fn spent(&self) -> &BudgetUsage {
        &self.spent
    }

    fn id(&mut self) -> Id {
        self.issued += 1;
        self.base + Id::from(self.issued)
    }

    fn elapsed(&self) -> f64 {
        self.now.since(self.started)
    }

    fn tool(&self, name: &str) -> Option<&ToolConfig> {
        self.config.tools.iter().find(|tool| tool.name == name)
    }

    fn warn(&mut self, out: &mut Vec<Command>, code: &str, message: impl Into<String>) {
        let message = message.into();
        self.outcome.warnings.push(format!("{code}: {message}"));
        emit(out, Notice::Warning { code: code.to_owned(), message });
    }

    /// Warns of what was changed of a request, once.
    fn warn_adapted(&mut self, response: &Response, out: &mut Vec<Command>) {
        for change in &response.adapted {
            let told = format!("adapted: {change}");
            if !self.outcome.warnings.contains(&told) {
                self.warn(out, "adapted", change);
            }
        }
    }

    fn drop_answer(&mut self) {
        self.outcome.dropped += 1;
    }
}

const fn forces_tools(choice: &ToolChoice) -> bool {
    matches!(choice, ToolChoice::Any | ToolChoice::Tool(_))
}
