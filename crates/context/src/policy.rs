//! What may be configured: shares of the budget, weights of the salience formula, and what must stay.
//!
//! Everything has a default that the quality bench was run with; nothing here depends on the budget.

use serde::{Deserialize, Serialize};

use loopwright_base::message::Wire;

/// The weights of the salience formula.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// Base of instructions.
    pub system: f64,
    /// Base of what failed.
    pub error: f64,
    /// Base of what the user said.
    pub user: f64,
    /// Base of the goal.
    pub intent: f64,
    /// Base of an exchange of tool uses and their results.
    pub tool_result: f64,
    /// Base of tool uses whose results say nothing.
    pub tool_call: f64,
    /// Base of what the model said.
    pub assistant: f64,
    /// Base of a constraint the user stated in passing.
    pub constraint: f64,
    /// Base of a summary.
    pub summary: f64,
    /// How fast the base fades with age.
    pub decay: f64,
    /// For words of the goal and of the last request.
    pub keyword: f64,
    /// For each later use of what stands there.
    pub reference: f64,
    /// The most that later uses give.
    pub references: f64,
    /// For errors.
    pub is_error: f64,
    /// For decisions.
    pub decision: f64,
    /// For files changed.
    pub file: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            system: 1.0,
            error: 0.95,
            user: 0.9,
            intent: 0.85,
            tool_result: 0.8,
            tool_call: 0.7,
            assistant: 0.6,
            constraint: 0.5,
            summary: 0.3,
            decay: 0.3,
            keyword: 0.2,
            reference: 0.1,
            references: 0.3,
            is_error: 0.3,
            decision: 0.15,
            file: 0.1,
        }
    }
}

/// How a history is compressed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// How many exchanges at the end stay whole as long as anything else can go.
    pub keep_last: usize,
    /// Messages, by index, that stay as they are whatever happens.
    pub pin: Vec<usize>,
    /// Tokens of the budget that are for something else: definitions of tools, the answer.
    pub reserve: usize,
    /// Share of the budget for summaries of what left (the tier `memory`).
    pub memory_share: f64,
    /// Share of the budget for names, paths and numbers of what left (the tier `project`).
    pub project_share: f64,
    /// Bytes of a tool's output (and of what the model wrote) at each step of shortening.
    pub limits: [usize; 3],
    /// Words of a summarizer about what came before; stands first in the summary.
    pub summary: Option<String>,
    /// The wire whose rules about order hold; `None`: those of all.
    pub wire: Option<Wire>,
    /// Whether the model takes instructions inside a history of Anthropic's, directly behind the user's words; `None`:
    /// they stand as they came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions_inside: Option<bool>,
    /// How many of the newest messages are looked at line by line; older ones leave whole.
    pub attention: usize,
    /// The weights of the salience formula.
    pub weights: Weights,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            keep_last: 2,
            pin: Vec::new(),
            reserve: 0,
            memory_share: 0.1,
            project_share: 0.2,
            limits: [2_400, 700, 240],
            summary: None,
            wire: None,
            instructions_inside: None,
            attention: 2_048,
            weights: Weights::default(),
        }
    }
}
