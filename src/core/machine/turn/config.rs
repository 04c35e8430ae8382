//! What a turn is made of: the model's parameters, the tools, the budget and the rules.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::core::{
    error::{Error, Result},
    json::Raw,
    machine::{Budget, Price, RetryPolicy, Risk, command::system_of},
    message::Message,
    request::{Effort, FunctionTool, OutputSchema, Request, Tool, ToolChoice},
    sense::progress::ProgressPolicy,
};

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
    pub risk: Risk,
    /// Whether it changes nothing: such calls run at once.
    #[serde(default)]
    pub read_only: bool,
    /// Seconds a call may take.
    #[serde(default)]
    pub timeout: Option<f64>,
    /// Characters of text a call may give; the middle of longer text is left out.
    #[serde(default)]
    pub max_output: Option<usize>,
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
    /// Whether the provider may cache the prompt's prefix.
    pub cache: bool,
    /// Whether answers are streamed.
    pub stream: bool,
    /// What the run may use.
    pub budget: Budget,
    /// When a model call that failed is tried again.
    pub retry: RetryPolicy,
    /// When repetition and failure stop a run.
    pub progress: ProgressPolicy,
    /// Seconds that a person has to agree to a call; silence is a no.
    pub approval_timeout: f64,
    /// Whether a request that fails because of its tools is sent once more without them, with a warning.
    pub degrade_without_tools: bool,
    /// Money for tokens, to count the cost.
    pub price: Option<Price>,
    /// The source of all jitter.
    pub seed: u64,
}

impl Default for TurnConfig {
    fn default() -> Self {
        Self {
            model: String::new(),
            system: None,
            tools: Vec::new(),
            provider_tools: Vec::new(),
            tool_choice: None,
            max_tokens: None,
            temperature: None,
            top_p: None,
            stop: Vec::new(),
            effort: None,
            output: None,
            cache: true,
            stream: false,
            budget: Budget::default(),
            retry: RetryPolicy::default(),
            progress: ProgressPolicy::default(),
            approval_timeout: 60.0,
            degrade_without_tools: true,
            price: None,
            seed: 0,
        }
    }
}

impl TurnConfig {
    /// Checks what can be checked before a run: tool names that are legal and differ, schemas that are objects.
    pub fn check(&self) -> Result<()> {
        for (at, tool) in self.tools.iter().enumerate() {
            let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if tool.name.is_empty() || tool.name.len() > 64 || !tool.name.chars().all(legal) {
                return Err(Error::usage("invalid_tool_name", format!("the tool name {:?} is not legal", tool.name))
                    .hint("use 1 to 64 letters, digits, _ and -"));
            }
            if self.tools[..at].iter().any(|other| other.name == tool.name) {
                return Err(Error::usage("duplicate_tool", format!("two tools are named {:?}", tool.name))
                    .hint("give one of them another name"));
            }
            if !tool.schema.is_object() {
                return Err(Error::usage(
                    "invalid_schema",
                    format!("the schema of tool {:?} is no JSON object: {:?}", tool.name, tool.schema),
                ));
            }
        }
        if !self.approval_timeout.is_finite() || !self.budget.wall_time.is_finite() {
            return Err(Error::usage("invalid_budget", "times must be finite numbers of seconds"));
        }
        Ok(())
    }

    /// The request without its history: what stays the same all along.
    pub(crate) fn request(&self) -> Request {
        let functions = self.tools.iter().map(|tool| {
            Tool::Function(FunctionTool {
                name: tool.name.clone(),
                description: tool.description.clone(),
                schema: tool.schema.clone(),
                strict: None,
                extra: None,
            })
        });
        let tools: Arc<[Tool]> = functions.chain(self.provider_tools.iter().cloned()).collect();
        Request {
            model: self.model.clone(),
            system: system_of(self.system.as_deref()) as Option<Arc<Message>>,
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
        }
    }
}
