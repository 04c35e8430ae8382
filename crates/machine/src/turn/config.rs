//! What a turn is made of: the model's parameters, the tools, the budget and the rules.

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::{AgentPlace, AnswerTool, ChildrenConfig, ContextConfig, IntentMode, MadeCall, RecallConfig, RolesConfig};
use crate::{Budget, ChoiceConfig, HookStage, RetryPolicy, command::system_of};
use loopwright_base::{
    error::{Error, Result},
    json::Raw,
    message::Message,
    request::{Caching, Effort, OutputSchema, Request, Tool, ToolChoice},
    text::clip,
};
use loopwright_extract::known_dialect;
use loopwright_guard::{Authority, GuardConfig, RiskLevel, origin::ToolFlow};
use loopwright_models::price::Price;
use loopwright_monitor::{momentum::MomentumPolicy, stuck::StuckPolicy};

/// A tool of ours, with the rules that govern its calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolConfig {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    #[serde(default)]
    pub description: Option<String>,
    /// JSON schema of the arguments.
    pub schema: Raw,
    /// How much harm a call may do.
    #[serde(default)]
    pub risk: RiskLevel,
    /// Whether it changes nothing: such calls run at once.
    #[serde(default)]
    pub read_only: bool,
    /// Seconds a call may take.
    #[serde(default)]
    pub timeout: Option<f64>,
    /// Characters of text a call may give; the middle of longer text is left out.
    #[serde(default)]
    pub max_output: Option<usize>,
    /// Who can have written what it gives, and what its calls do outside; `None` asks nothing about where the values of
    /// calls come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<ToolFlow>,
    /// Names of values in its results that are new at every call and say nothing of what the call has come to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volatile: Vec<String>,
    /// Whether a call of it is the answer of the turn, and ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerTool>,
    /// Whether requests hold it only when the model has found it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub found: bool,
    /// Whether a person is asked before each call, whatever is said of it otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// Whether its work is done elsewhere: drivers leave the run until the result is given to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deferred: bool,
}

/// What a turn is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TurnConfig {
    /// The model's name, as its provider knows it.
    pub model: String,
    /// Instructions.
    pub system: Option<String>,
    /// Tools of ours.
    pub tools: Vec<ToolConfig>,
    /// Tools that the provider runs.
    pub provider_tools: Vec<Tool>,
    /// The dialect in which the model writes its calls as text; `None` for the provider's own tool calls.
    pub tool_format: Option<String>,
    /// Whether calls that a model writes into its text are taken for calls although it has the provider's own; with a
    /// `tool_format` they always are. Quoted ones never are.
    pub read_markup: bool,
    /// Which tools must or may be used in the first request.
    pub tool_choice: Option<ToolChoice>,
    /// Tokens of one answer.
    pub max_tokens: Option<u64>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Stop sequences.
    pub stop: Vec<String>,
    /// How hard to think.
    pub effort: Option<Effort>,
    /// The schema of the answer.
    pub output: Option<OutputSchema>,
    /// The time for which the provider may cache the prompt's prefix.
    pub cache: Caching,
    /// Whether answers are streamed.
    pub stream: bool,
    /// What the run may use.
    pub budget: Budget,
    /// How requests are held inside the model's window.
    #[serde(skip_serializing_if = "loopwright_base::json::is_default")]
    pub context: ContextConfig,
    /// When a model call that failed is tried again.
    pub retry: RetryPolicy,
    /// When repetition stops a run; `None` for never.
    pub stuck: Option<StuckPolicy>,
    /// When too little success stops a run; `None` for never.
    pub momentum: Option<MomentumPolicy>,
    /// After every so many iterations the run pauses for a check-in; `None` for never.
    pub check_in: Option<u32>,
    /// Seconds that a person has to agree to a call; silence is a no.
    pub approval_timeout: f64,
    /// What judges calls before they run; without one the declared risk of their tools decides alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard: Option<GuardConfig>,
    /// Whether a request that fails because of its tools is sent once more without them, with a warning.
    pub degrade_without_tools: bool,
    /// Money for tokens, to count the cost.
    pub price: Option<Price>,
    /// The source of all jitter.
    pub seed: u64,
    /// The sub-agents that it may start.
    #[serde(skip_serializing_if = "loopwright_base::json::is_default")]
    pub children: ChildrenConfig,
    /// Which sub-agent it is itself, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentPlace>,
    /// Whose words may authorise its calls; `None` for those of the messages it begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<Authority>,
    /// What the person has asked for, for a supervisor; `None` for the messages it begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// Models and rules beside the one that acts.
    #[serde(skip_serializing_if = "loopwright_base::json::is_default")]
    pub roles: RolesConfig,
    /// How memory is asked before the first request; `None` where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall: Option<RecallConfig>,
    /// The stages that have hooks.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub hooks: BTreeSet<HookStage>,
    /// What is done with what the words of the prompt say of its intent.
    #[serde(skip_serializing_if = "loopwright_base::json::is_default")]
    pub intent: IntentMode,
    /// How the model is chosen.
    #[serde(skip_serializing_if = "loopwright_base::json::is_default")]
    pub choice: ChoiceConfig,
    /// From so many tool rounds left on the model is told of them, the plainer the fewer.
    #[serde(skip_serializing_if = "is_one")]
    pub wind_down: u32,
    /// Calls that earlier attempts at the same question made, which are not made again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<MadeCall>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_one(number: &u32) -> bool {
    *number == 1
}

impl Default for TurnConfig {
    fn default() -> Self {
        Self {
            model: String::new(),
            system: None,
            tools: Vec::new(),
            provider_tools: Vec::new(),
            tool_format: None,
            read_markup: false,
            tool_choice: None,
            max_tokens: None,
            temperature: None,
            top_p: None,
            stop: Vec::new(),
            effort: None,
            output: None,
            cache: Caching::Usual,
            stream: false,
            budget: Budget::default(),
            context: ContextConfig::default(),
            retry: RetryPolicy::default(),
            stuck: Some(StuckPolicy::default()),
            momentum: Some(MomentumPolicy::default()),
            check_in: None,
            approval_timeout: 60.0,
            guard: None,
            degrade_without_tools: true,
            price: None,
            seed: 0,
            children: ChildrenConfig::default(),
            agent: None,
            authority: None,
            asked: None,
            roles: RolesConfig::default(),
            hooks: BTreeSet::new(),
            intent: IntentMode::Tell,
            choice: ChoiceConfig::default(),
            wind_down: 1,
            recall: None,
            made: Vec::new(),
        }
    }
}

impl TurnConfig {
    /// Compactions of long histories are made when they are due, of its sub-agents as well: none is prepared.
    pub fn compact_when_due(&mut self) {
        self.context.prepare = false;
        for agent in &mut self.children.agents {
            agent.turn.compact_when_due();
        }
    }

    /// The models of another configuration take the places of its own, with their settings and prices: the first one,
    /// the one to escalate to, those of its roles' chains, and those of its sub-agents of the same names.
    pub fn take_models(&mut self, other: &Self) {
        self.model.clone_from(&other.model);
        self.tool_choice.clone_from(&other.tool_choice);
        self.max_tokens = other.max_tokens;
        self.temperature = other.temperature;
        self.top_p = other.top_p;
        self.stop.clone_from(&other.stop);
        self.effort = other.effort;
        self.cache = other.cache;
        self.price.clone_from(&other.price);
        self.roles.take_models(&other.roles);
        self.choice.take_models(&other.choice);
        for agent in &mut self.children.agents {
            if let Some(found) = other.children.agents.iter().find(|found| found.name == agent.name) {
                agent.turn.take_models(&found.turn);
            }
        }
    }

    /// Checks what can be checked before a run: a model, tool names that are legal and differ, schemas that are
    /// objects, numbers that make sense.
    pub fn check(&self) -> Result<()> {
        if self.model.trim().is_empty() {
            return Err(Error::usage("empty_model", "the run names no model").hint("name a model"));
        }
        if let Some(format) = &self.tool_format {
            known_dialect(format)?;
        }
        self.check_tools()?;
        self.context.check()?;
        self.children.check()?;
        self.roles.check()?;
        self.choice.check()?;
        if let Some(recall) = &self.recall {
            recall.check()?;
        }
        self.check_numbers()
    }

    fn check_tools(&self) -> Result<()> {
        let mut names = HashSet::new();
        for tool in &self.tools {
            let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if tool.name.is_empty() || tool.name.len() > 64 || !tool.name.chars().all(legal) {
                let shown = clip(&tool.name, 100);
                return Err(Error::usage("invalid_tool_name", format!("the tool name {shown:?} is not legal"))
                    .hint("use 1 to 64 letters, digits, _ and -"));
            }
            if !names.insert(tool.name.as_str()) {
                return Err(Error::usage("duplicate_tool", format!("two tools are named {:?}", tool.name))
                    .hint("give one of them another name"));
            }
            if !tool.schema.is_object() {
                let shown = clip(tool.schema.text(), 100);
                let message = format!("the schema of tool {:?} is no JSON object: {shown}", tool.name);
                return Err(
                    Error::usage("invalid_schema", message).hint("give a JSON schema, as {\"type\": \"object\"}")
                );
            }
        }
        let missing = match &self.tool_choice {
            // A tool of the provider may go by a name that only its wire knows.
            Some(ToolChoice::Tool(name)) => self.provider_tools.is_empty() && !names.contains(name.as_str()),
            Some(ToolChoice::Any) => self.provider_tools.is_empty() && names.is_empty(),
            Some(ToolChoice::Auto | ToolChoice::None) | None => false,
        };
        if missing {
            return Err(Error::usage("invalid_tool_choice", "the tool that must be used is not on offer")
                .hint("offer the tool, or let the model choose"));
        }
        Ok(())
    }

    /// Checks the numbers: what is none would switch limits off without a word, and a journal could not keep it.
    pub fn check_numbers(&self) -> Result<()> {
        const MOST: f64 = 1e12;
        let Self { budget, retry, .. } = self;
        let price = |pick: fn(&Price) -> Option<f64>| self.price.as_ref().and_then(pick);
        let numbers = [
            ("invalid_budget", "wall_time", Some(budget.wall_time)),
            ("invalid_budget", "cost", budget.cost),
            ("invalid_budget", "approval_timeout", Some(self.approval_timeout)),
            ("invalid_number", "retry.base", Some(retry.base)),
            ("invalid_number", "retry.cap", Some(retry.cap)),
            ("invalid_number", "retry.longest_retry_after", Some(retry.longest_retry_after)),
            ("invalid_number", "temperature", self.temperature),
            ("invalid_number", "top_p", self.top_p),
            ("invalid_number", "price.input", price(|price| Some(price.input))),
            ("invalid_number", "price.output", price(|price| Some(price.output))),
            ("invalid_number", "price.cache_read", price(|price| price.cache_read)),
            ("invalid_number", "price.cache_write", price(|price| price.cache_write)),
        ];
        let timeouts = self.tools.iter().map(|tool| ("invalid_number", "timeout", tool.timeout));
        for (code, name, number) in numbers.into_iter().chain(timeouts) {
            if number.is_some_and(|number| !(0.0..=MOST).contains(&number)) {
                let number = number.unwrap_or_default();
                return Err(Error::usage(code, format!("{name} is {number}"))
                    .hint(format!("give a finite number from 0 to {MOST:e}")));
            }
        }
        budget.check()?;
        if let Some(stuck) = &self.stuck {
            stuck.check()?;
        }
        if let Some(momentum) = &self.momentum {
            momentum.check()?;
        }
        if self.check_in == Some(0) {
            return Err(Error::usage("invalid_number", "check_in is 0").hint("give at least 1, or None for never"));
        }
        if self.max_tokens == Some(0) {
            return Err(Error::usage("invalid_number", "max_tokens is 0").hint("leave room for an answer"));
        }
        Ok(())
    }

    /// When repetition counts, with what is known of the tools.
    pub(super) fn stuck_policy(&self) -> StuckPolicy {
        let acting = self.tools.iter().filter(|tool| !tool.read_only).map(|tool| tool.name.as_str());
        let volatile = self.tools.iter().filter(|tool| !tool.volatile.is_empty());
        let volatile = volatile.map(|tool| (tool.name.as_str(), tool.volatile.as_slice()));
        self.stuck.clone().unwrap_or_default().with_acting(acting).with_volatile(volatile)
    }

    /// Whether replies are looked through for calls.
    pub(super) fn reads_markup(&self) -> bool {
        !self.tools.is_empty() && (self.read_markup || self.tool_format.is_some())
    }

    pub(super) fn tool(&self, name: &str) -> Option<&ToolConfig> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    pub(super) fn searches_itself(&self) -> bool {
        self.provider_tools.iter().any(|tool| matches!(tool, Tool::WebSearch(_)))
    }

    /// The request without its history, and without tools that are found: what stays the same all along.
    pub(crate) fn request(&self) -> Request {
        let functions = self.tools.iter().filter(|tool| !tool.found).map(ToolConfig::offered);
        let tools: Arc<[Tool]> = functions.chain(self.provider_tools.iter().cloned()).collect();
        let mut request = Request {
            model: self.model.clone(),
            system: system_of(self.system.as_deref()) as Option<Arc<Message>>,
            read_markup: self.reads_markup(),
            tool_format: self.tool_format.clone().filter(|_| !self.tools.is_empty()),
            tools,
            tool_choice: self.tool_choice.clone(),
            max_tokens: self.max_tokens,
            temperature: self.temperature,
            top_p: self.top_p,
            stop: self.stop.clone(),
            effort: self.effort,
            output: self.output.clone(),
            cache: self.cache,
            stream: Some(self.stream),
            ..Request::default()
        };
        if let Some(settings) = &self.roles.acting {
            settings.apply(&mut request);
        }
        request
    }
}
