//! Which models the roles of a turn have, and what each of them may use.
//!
//! A role without a model is the rule engine. Nothing here is needed by a turn that has no roles.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{ModelSettings, Purpose};
use loopwright_base::{
    error::{Error, Result},
    message::Wire,
    request::Effort,
};
use loopwright_guard::sensitivity::Labels;
use loopwright_models::price::Price;

/// A model of a role, as a driver knows it by its place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RoleModel {
    /// The model's name, as its provider knows it.
    pub model: String,
    /// The wire it speaks, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<Wire>,
    /// Money for its tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Its own sampling temperature; otherwise that of the role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Tokens of one of its answers; otherwise as for the role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// How hard it is to think; otherwise as for the role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Its other settings.
    #[serde(skip_serializing_if = "loopwright_base::json::is_default")]
    pub settings: ModelSettings,
}

impl RoleModel {
    /// All of its settings.
    pub(super) fn all_settings(&self) -> ModelSettings {
        let (max_tokens, temperature, effort) = (self.max_tokens, self.temperature, self.effort);
        ModelSettings { max_tokens, temperature, effort, ..self.settings.clone() }
    }
}

/// What a role may use in a run. What it uses counts in the run's budget, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RoleBudget {
    /// Requests.
    pub requests: u32,
    /// Tokens of prompts and answers.
    pub tokens: Option<u64>,
    /// Money.
    pub cost: Option<f64>,
    /// Seconds that its answers take, all together.
    pub seconds: Option<f64>,
}

impl Default for RoleBudget {
    fn default() -> Self {
        Self { requests: 50, tokens: None, cost: None, seconds: None }
    }
}

/// A role: the models it may be, and how they are asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RoleConfig {
    /// The models, in the order in which they are tried; none is the rule engine.
    pub chain: Vec<RoleModel>,
    /// What it may use.
    pub budget: RoleBudget,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Tokens of one answer.
    pub max_tokens: u64,
    /// How hard to think.
    pub effort: Option<Effort>,
    /// Seconds for an answer, all models and the repair included.
    pub timeout: f64,
}

impl Default for RoleConfig {
    fn default() -> Self {
        Self {
            chain: Vec::new(),
            budget: RoleBudget::default(),
            temperature: Some(0.2),
            max_tokens: 1_000,
            effort: None,
            timeout: 30.0,
        }
    }
}

impl RoleConfig {
    /// Tokens of one answer at most, whichever model of the chain gives it.
    pub(super) fn most_tokens(&self) -> u64 {
        self.chain.iter().map(|model| model.max_tokens.unwrap_or(self.max_tokens)).max().unwrap_or(self.max_tokens)
    }
}

/// When sanity is checked beside every so many iterations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// So many iterations since the last check.
    IterationCount(u32),
    /// A tool failed.
    ToolFailure,
    /// A result has more characters than this.
    LargeOutput(usize),
    /// The user has said nothing for so many seconds.
    UserIdle(f64),
    /// The request fills this share of the context's budget.
    ContextThreshold(f64),
    /// The user wrote `/sanity`.
    Explicit,
    /// Momentum has become slow, or too low.
    MomentumDrop,
}

impl Trigger {
    /// The name in events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IterationCount(_) => "iteration_count",
            Self::ToolFailure => "tool_failure",
            Self::LargeOutput(_) => "large_output",
            Self::UserIdle(_) => "user_idle",
            Self::ContextThreshold(_) => "context_threshold",
            Self::Explicit => "explicit",
            Self::MomentumDrop => "momentum_drop",
        }
    }
}

/// Who checks sanity, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SanityConfig {
    /// Who.
    pub role: RoleConfig,
    /// After every so many iterations; 0 for never.
    pub interval: u32,
    /// When else.
    pub triggers: Vec<Trigger>,
    /// Whether the next request waits for a model's opinion.
    pub wait: bool,
    /// Whether a check may pause the run.
    pub may_pause: bool,
    /// Whether a check may end the run.
    pub may_abort: bool,
}

/// Seconds after which a user who says nothing is idle.
const IDLE: f64 = 300.0;

impl Default for SanityConfig {
    fn default() -> Self {
        Self {
            role: RoleConfig { max_tokens: 600, ..RoleConfig::default() },
            interval: 3,
            triggers: vec![
                Trigger::ToolFailure,
                Trigger::LargeOutput(8_000),
                Trigger::UserIdle(IDLE),
                Trigger::ContextThreshold(0.8),
                Trigger::Explicit,
                Trigger::MomentumDrop,
            ],
            wait: false,
            may_pause: true,
            may_abort: true,
        }
    }
}

/// Who decides what of private things a model may see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SupervisorConfig {
    /// Who.
    pub role: RoleConfig,
    /// Tools whose results are looked at, and what they are at least.
    pub tools: Labels,
    /// Below this confidence a person decides.
    pub threshold: f64,
    /// Seconds for which a release counts for the same call.
    pub keep: f64,
    /// Releases of earlier runs of the session that still count.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub released: BTreeSet<String>,
}

impl Default for SupervisorConfig {
    fn default() -> Self {
        Self {
            role: RoleConfig { temperature: Some(0.3), max_tokens: 300, timeout: 10.0, ..RoleConfig::default() },
            tools: Labels::default(),
            threshold: 0.7,
            keep: 3_600.0,
            released: BTreeSet::new(),
        }
    }
}

/// The roles of a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RolesConfig {
    /// Settings of the model that acts, beside those of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acting: Option<Box<ModelSettings>>,
    /// Models that take over where the turn's own fails for good, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<RoleModel>,
    /// Who sums up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summarizer: Option<RoleConfig>,
    /// Who checks sanity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sanity: Option<SanityConfig>,
    /// Who decides about private things.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supervisor: Option<SupervisorConfig>,
}

impl RolesConfig {
    /// The role of a purpose.
    pub fn of(&self, purpose: Purpose) -> Option<&RoleConfig> {
        match purpose {
            Purpose::Summarizer => self.summarizer.as_ref(),
            Purpose::Sanity => self.sanity.as_ref().map(|sanity| &sanity.role),
            Purpose::Supervisor => self.supervisor.as_ref().map(|supervisor| &supervisor.role),
            _ => None,
        }
    }

    /// The models of other roles take the places of these; a role that the others lack keeps its own.
    pub(super) fn take_models(&mut self, others: &Self) {
        self.acting.clone_from(&others.acting);
        self.fallback.clone_from(&others.fallback);
        let roles = [
            self.summarizer.as_mut().zip(others.summarizer.as_ref()),
            self.sanity.as_mut().map(|own| &mut own.role).zip(others.sanity.as_ref().map(|other| &other.role)),
            self.supervisor.as_mut().map(|own| &mut own.role).zip(others.supervisor.as_ref().map(|other| &other.role)),
        ];
        for (own, other) in roles.into_iter().flatten() {
            own.chain.clone_from(&other.chain);
        }
    }

    /// Checks what can be checked before a run.
    pub(super) fn check(&self) -> Result<()> {
        for purpose in [Purpose::Summarizer, Purpose::Sanity, Purpose::Supervisor] {
            let Some(role) = self.of(purpose) else { continue };
            let name = purpose.name();
            check_chain(name, &role.chain)?;
            check_number(name, "timeout", Some(role.timeout), 0.001, 86_400.0)?;
            check_number(name, "temperature", role.temperature, 0.0, 10.0)?;
            check_number(name, "budget.cost", role.budget.cost, 0.0, 1e12)?;
            check_number(name, "budget.seconds", role.budget.seconds, 0.0, 1e12)?;
            if role.max_tokens == 0 {
                return Err(Error::usage("invalid_number", format!("max_tokens of the {name} is 0"))
                    .hint("leave room for an answer"));
            }
        }
        check_chain("executor", &self.fallback)?;
        if let Some(sanity) = &self.sanity {
            for trigger in &sanity.triggers {
                let (number, least, most) = match trigger {
                    Trigger::IterationCount(count) => (f64::from(*count), 1.0, 1e9),
                    Trigger::UserIdle(seconds) => (*seconds, 0.001, 1e12),
                    Trigger::ContextThreshold(share) => (*share, 0.0, 1.0),
                    _ => continue,
                };
                check_number("sanity", trigger.name(), Some(number), least, most)?;
            }
        }
        if let Some(supervisor) = &self.supervisor {
            check_number("supervisor", "threshold", Some(supervisor.threshold), 0.0, 1.0)?;
            check_number("supervisor", "keep", Some(supervisor.keep), 0.0, 1e12)?;
        }
        Ok(())
    }
}

fn check_chain(role: &str, chain: &[RoleModel]) -> Result<()> {
    if chain.iter().any(|model| model.model.trim().is_empty()) {
        return Err(Error::usage("empty_model", format!("the {role} has a model without a name")).hint("name a model"));
    }
    for model in chain {
        let prices = model
            .price
            .iter()
            .flat_map(|price| [Some(price.input), Some(price.output), price.cache_read, price.cache_write]);
        for price in prices {
            check_number(role, "price", price, 0.0, 1e12)?;
        }
        check_number(role, "temperature", model.temperature, 0.0, 10.0)?;
        if model.max_tokens == Some(0) {
            return Err(Error::usage("invalid_number", format!("max_tokens of a model of the {role} is 0"))
                .hint("leave room for an answer"));
        }
    }
    Ok(())
}

fn check_number(role: &str, name: &str, number: Option<f64>, least: f64, most: f64) -> Result<()> {
    match number {
        Some(number) if !(least..=most).contains(&number) => {
            Err(Error::usage("invalid_number", format!("{name} of the {role} is {number}"))
                .hint(format!("give a number from {least} to {most:e}")))
        }
        _ => Ok(()),
    }
}
