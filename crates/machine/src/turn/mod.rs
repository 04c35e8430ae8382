//! The turn: assess → execute, pause or complete, tool rounds until the model is done.
//!
//! Every request has exactly one result for each tool use, in order, whatever happens in between: cancel, limits and
//! broken calls leave a history that the provider accepts. The first limit reached gives a typed stop reason, and
//! what was said until then is kept.
//!
//! All transitions stand in one table, which [`transitions`] gives, and every change of phase goes by it.

mod again;
mod answer;
mod ask;
mod attempts;
mod calls;
mod children;
mod choose;
mod config;
mod core;
mod decision;
mod end;
mod flows;
mod found;
mod gate;
mod hooks;
mod intent;
mod limits;
mod offered;
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
mod tools;
mod window;

use serde::{Deserialize, Serialize};

use self::core::TurnCore;
pub use again::{MadeCall, made_calls};
pub use answer::AnswerTool;
use ask::Prepared;
use children::Children;
pub use children::{AgentConfig, AgentPlace, ChildrenConfig};
use choose::Choice;
pub use config::{ToolConfig, TurnConfig};
pub use decision::{Decision, Situation, assess};
use flows::Origins;
pub(crate) use found::finder_name;
use hooks::HookWishes;
pub(crate) use hooks::legal;
pub use intent::IntentMode;
use phase::{Asking, CurrentPhase, Phase};
use recall::Front;
pub use recall::{RecallConfig, RecalledHit, Recollection};
pub use role_config::{RoleBudget, RoleConfig, RoleModel, RolesConfig, SanityConfig, SupervisorConfig, Trigger};
use roles::RoleQueue;
pub use roles::{Check, Exchange, Release, RoleSpent, RolesReport};
use round::Round;
pub(crate) use searches::CUT;
use searches::SearchTeller;
pub use searches::search_is_down;
use senses::Senses;
pub use table::{diagram, transitions};
pub use text::limit_output;
use tools::Tools;
pub use window::ContextConfig;
use window::Window;

use super::{
    BudgetUsage, CallRecord, Command, Id, IterationRecord, Notice, Outcome, Stop,
    command::{emit, refuse},
};
use loopwright_base::{
    message::ToolUse,
    request::{History, Response, ToolChoice},
};
use loopwright_guard::{Declared, GuardConfig, Judgement};

/// The turn machine: its parts, each with what is its own business.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnMachine {
    config: TurnConfig,
    core: TurnCore,
    phase: CurrentPhase,
    history: History,
    #[serde(default)]
    window: Window,
    #[serde(skip)]
    prepared: Prepared,
    senses: Senses,
    tools: Tools,
    origins: Origins,
    #[serde(default, skip_serializing_if = "loopwright_base::json::is_default")]
    choice: Choice,
    outcome: Outcome,
    #[serde(default, skip_serializing_if = "loopwright_base::json::is_default")]
    children: Children,
    #[serde(default, skip_serializing_if = "RoleQueue::is_empty")]
    desk: Box<RoleQueue>,
    /// What memory knew of the prompt.
    #[serde(default, skip_serializing_if = "Front::is_empty")]
    front: Front,
    #[serde(default, skip_serializing_if = "loopwright_base::json::is_default")]
    hooks: HookWishes,
}

impl TurnMachine {
    /// A turn that has not begun. `base` is added to the number of every command.
    pub fn new(mut config: TurnConfig, base: Id) -> Self {
        let children = Children::offer(&mut config);
        let finder = found::offer_finder(&mut config);
        Self {
            core: TurnCore::new(base),
            phase: CurrentPhase::idle(),
            history: History::new(),
            window: Window::default(),
            prepared: Prepared::default(),
            senses: Senses::new(config.stuck_policy()),
            tools: Tools { finder, ..Tools::default() },
            origins: Origins::default(),
            choice: Choice::default(),
            outcome: Outcome::new(Stop::Error),
            children,
            desk: Box::default(),
            front: Front::default(),
            hooks: HookWishes::default(),
            config,
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

    /// What the guard goes by, and what is known of a tool: for a driver that looks up where the paths of a call lead.
    pub fn guard_of(&self, tool: &str) -> Option<(&GuardConfig, Declared)> {
        Some((self.config.guard.as_ref()?, self.config.declared(tool)))
    }

    /// What it was told of a tool that is asked for before each request.
    pub fn tool_of(&self, name: &str) -> Option<&ToolConfig> {
        self.config.tool(name).filter(|_| self.tools.asked.contains_key(name))
    }

    /// Whether a call of the round may name paths.
    pub fn names_paths(&self, call_id: &str) -> bool {
        let Phase::Tools(round) = &*self.phase else { return true };
        round.pending(call_id).is_none_or(|pending| pending.judged.names_paths)
    }

    /// Returns whether a person has changed the arguments of a call of the round.
    pub fn is_edited(&self, call_id: &str) -> bool {
        let Phase::Tools(round) = &*self.phase else { return false };
        round.pending(call_id).is_some_and(|pending| pending.edited)
    }

    /// What the guard says of a call, and whether it asks where its values come from others.
    fn judge(&mut self, call: &ToolUse) -> Judgement {
        let mut judged = self.config.judge(&self.origins.authority, self.children.is_spawn(&call.name), call);
        self.origins.trace_call(&self.config, &self.history, call, &mut judged);
        if self.config.tool(&call.name).is_some_and(|tool| tool.asks) {
            gate::asked_first(&mut judged, "calls of this tool are for a person to decide");
        }
        judged
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
        &self.core.spent
    }

    fn warn(&mut self, out: &mut Vec<Command>, code: &str, message: impl Into<String>) {
        let message = message.into();
        self.outcome.warnings.push(format!("{code}: {message}"));
        emit(out, Notice::Warning { code: code.to_owned(), message });
    }

    /// The tools, and who tells of their searches.
    fn searches<'a>(&'a mut self, out: &'a mut Vec<Command>) -> (&'a mut Tools, SearchTeller<'a>) {
        let (round, at, now) = (self.round(), self.core.elapsed(), self.core.now);
        (&mut self.tools, SearchTeller { round, at, now, count: &mut self.outcome.searches, out })
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
