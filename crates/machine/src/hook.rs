//! Hooks: functions of the user that see a run and may change it.
//!
//! A machine knows only which stages have hooks; who they are, their order and their time limits are the driver's.
//! Their answers come back as one event, so that a replay needs none of them.

use serde::{Deserialize, Serialize};

use super::{Stop, turn::ToolConfig};
use loopwright_base::{
    error::{Error, Result},
    json::{DEEPEST_TREE, Fields, Raw, nested_deeper, unfit},
    marks::CONTEXT_MARK,
    message::{Block, Message, Role, ToolFailure, ToolResult, ToolUse},
    request::{Effort, Request, Response},
    text::clip,
};

/// A stage at which hooks run: before and after each of six things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookStage {
    /// Before the prompt is assessed.
    PreAssess,
    /// After its intent was assessed.
    PostAssess,
    /// Before a round begins.
    PreReason,
    /// After the decision about the reply.
    PostReason,
    /// Before each request to the model.
    PreLlm,
    /// After each answer of the model, before it is read.
    PostLlm,
    /// Before a call runs, and before a person is asked about it.
    PreTool,
    /// After a call ran, before anybody sees its result.
    PostTool,
    /// Before the work after the answer. Carried out by drivers: the machine has finished by then.
    PreReflect,
    /// After that work. Carried out by drivers.
    PostReflect,
    /// Before the answer is given.
    PreOutput,
    /// After the hooks before it have fixed the answer.
    PostOutput,
}

impl HookStage {
    /// All stages, in the order in which a run passes them.
    pub const ALL: [Self; 12] = [
        Self::PreAssess,
        Self::PostAssess,
        Self::PreReason,
        Self::PreLlm,
        Self::PostLlm,
        Self::PostReason,
        Self::PreTool,
        Self::PostTool,
        Self::PreOutput,
        Self::PostOutput,
        Self::PreReflect,
        Self::PostReflect,
    ];

    /// The name everywhere.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PreAssess => "pre_assess",
            Self::PostAssess => "post_assess",
            Self::PreReason => "pre_reason",
            Self::PostReason => "post_reason",
            Self::PreLlm => "pre_llm",
            Self::PostLlm => "post_llm",
            Self::PreTool => "pre_tool",
            Self::PostTool => "post_tool",
            Self::PreReflect => "pre_reflect",
            Self::PostReflect => "post_reflect",
            Self::PreOutput => "pre_output",
            Self::PostOutput => "post_output",
        }
    }

    /// The stage of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.name() == name)
    }

    /// Returns whether hooks may replace the subject.
    pub const fn replaces(self) -> bool {
        matches!(
            self,
            Self::PreAssess
                | Self::PreLlm
                | Self::PostLlm
                | Self::PreTool
                | Self::PostTool
                | Self::PreOutput
                | Self::PostOutput
        )
    }

    /// Returns whether hooks may veto.
    pub const fn vetoes(self) -> bool {
        !matches!(self, Self::PostReflect)
    }

    /// Returns whether hooks may add words for the model.
    pub const fn adds(self) -> bool {
        !matches!(self, Self::PreOutput | Self::PostOutput | Self::PreReflect | Self::PostReflect)
    }
}

/// The subject of a stage's hooks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookSubject {
    /// The newest message.
    Prompt {
        /// The message.
        message: Message,
    },
    /// The assessment of the prompt's intent.
    Assessment {
        /// `ask_first`, `plan_with_rollback`, `parallelize`, `delegate` or `direct`.
        decision: String,
        /// The probability that it is right, from 0 to 1.
        confidence: f32,
        /// The signals that hold.
        signals: Vec<String>,
        /// Signals and the words that gave them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        evidence: Vec<(String, String)>,
        /// The question to the person, where something should be asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<String>,
        /// The sub-agents that fit, of those that there are.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sub_agents: Vec<String>,
    },
    /// A round that is about to begin.
    Round {
        /// Its number, from 1.
        round: u32,
        /// Messages so far.
        messages: usize,
    },
    /// The decision about a reply.
    Decision {
        /// `continue`, `complete` and the like.
        decision: String,
        /// The rule that decided.
        rule: String,
        /// The reply's prose.
        text: String,
        /// The tools that it calls.
        calls: Vec<String>,
    },
    /// A request to the model.
    Request {
        /// The request.
        request: Box<Request>,
    },
    /// An answer of the model.
    Response {
        /// The response.
        response: Box<Response>,
    },
    /// A call that is to run.
    Call {
        /// The call.
        call: ToolUse,
    },
    /// The result of a call.
    Result {
        /// The call.
        call: ToolUse,
        /// The result.
        result: ToolResult,
    },
    /// The answer of the run, or the draft that it leaves.
    Answer {
        /// The text.
        text: String,
        /// The reason for the end.
        stop: Stop,
    },
}

/// A change of a request: members that are not named stay.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RequestChange {
    system: Option<String>,
    messages: Option<Vec<Message>>,
    max_tokens: Option<u64>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    stop: Option<Vec<String>>,
    effort: Option<Effort>,
}

impl HookSubject {
    /// The kind of the subject, in words.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Prompt { .. } => "prompt",
            Self::Assessment { .. } => "assessment",
            Self::Round { .. } => "round",
            Self::Decision { .. } => "decision",
            Self::Request { .. } => "request",
            Self::Response { .. } => "response",
            Self::Call { .. } => "call",
            Self::Result { .. } => "result",
            Self::Answer { .. } => "answer",
        }
    }

    /// Replaces the subject by `value`: text or a message for a prompt and an answer of the model, members of a
    /// request, the arguments of a call, text or blocks or a result for a result, text for the answer of the run.
    pub fn replace(&mut self, value: &Raw) -> Result<()> {
        let kind = self.name();
        let wrong = |wanted: &str| {
            let shown = clip(value.text(), 100);
            Error::usage("invalid_replacement", format!("{shown} can't take the place of the {kind}"))
                .hint(format!("give {wanted}"))
        };
        match self {
            Self::Prompt { message } => {
                let text = value.string();
                let whole = || value.to::<Message>().ok().filter(|new| new.role == Role::User && is_plain(new));
                let Some(new) = text.map(|text| reworded(message, &text)).or_else(whole) else {
                    return Err(wrong("text, or a message of the user"));
                };
                if new.content.is_empty() {
                    return Err(wrong("a prompt that is not empty"));
                }
                *message = new;
            }
            Self::Response { response } => {
                let text = value.string();
                let whole = || value.to::<Message>().ok().filter(|new| new.role == Role::Assistant);
                let Some(new) = text.map(|text| reworded(&response.message, &text)).or_else(whole) else {
                    return Err(wrong("text, or a message of the assistant"));
                };
                response.message = new;
            }
            Self::Request { request } => {
                let change: RequestChange = value.to().map_err(|error| {
                    let members = "system, messages, max_tokens, temperature, top_p, stop, effort";
                    wrong(&format!("an object of some of {members} ({error})"))
                })?;
                if change.messages.as_ref().is_some_and(Vec::is_empty) || change.max_tokens == Some(0) {
                    return Err(wrong("messages that are not empty, and max_tokens above 0"));
                }
                change.apply(request);
            }
            Self::Call { call } => {
                if !value.is_object() || nested_deeper(value.text(), DEEPEST_TREE) || unfit(value.text()).is_some() {
                    return Err(wrong("the arguments, an object of values that can be read, not nested too deep"));
                }
                call.input = value.clone();
            }
            Self::Result { result, .. } => {
                let Some(new) = result_of(result, value) else {
                    return Err(wrong("text, a list of blocks, or an object with content and is_error"));
                };
                *result = new;
            }
            Self::Answer { text, .. } => {
                let Some(new) = value.string().filter(|new| !new.trim().is_empty()) else {
                    return Err(wrong("text that is not blank, or veto the answer"));
                };
                *text = new;
            }
            Self::Assessment { .. } | Self::Round { .. } | Self::Decision { .. } => {
                return Err(wrong("nothing: it can only be looked at"));
            }
        }
        Ok(())
    }
}

impl RequestChange {
    fn apply(self, request: &mut Request) {
        if let Some(system) = self.system {
            request.system = super::command::system_of(Some(&system));
        }
        if let Some(messages) = self.messages {
            request.messages = super::turn::legal(messages);
        }
        if let Some(most) = self.max_tokens {
            // The budget's own limit stands.
            request.max_tokens = Some(request.max_tokens.map_or(most, |limit| limit.min(most)));
        }
        request.temperature = self.temperature.or(request.temperature);
        request.top_p = self.top_p.or(request.top_p);
        request.effort = self.effort.or(request.effort);
        if let Some(stop) = self.stop {
            request.stop = stop;
        }
    }
}

/// Returns whether a message holds neither calls nor results; a prompt holds none.
fn is_plain(message: &Message) -> bool {
    !message.content.iter().any(|block| matches!(block, Block::ToolUse(_) | Block::ToolResult(_)))
}

/// The message with another text, which stands where the first one stood; all else stays.
fn reworded(message: &Message, text: &str) -> Message {
    let mut new = message.clone();
    new.extra = None;
    let place = new.content.iter().position(|block| matches!(block, Block::Text(_))).unwrap_or(new.content.len());
    new.content.retain(|block| !matches!(block, Block::Text(_)));
    if !text.trim().is_empty() {
        new.content.insert(place.min(new.content.len()), Block::text(text));
    }
    new
}

fn result_of(result: &ToolResult, value: &Raw) -> Option<ToolResult> {
    let (id, name) = (result.id.as_str(), result.name.as_str());
    if let Some(text) = value.string() {
        return Some(ToolResult::text(id, name, text));
    }
    let (content, is_error) = if value.is_array() {
        (value.to().ok()?, false)
    } else {
        let fields = Fields::parse(value.text()).ok()?;
        let content = fields.get("content")?;
        let content = match content.string() {
            Some(text) => vec![Block::text(text)],
            None => content.to().ok()?,
        };
        (content, fields.get("is_error").and_then(|raw| raw.to().ok()).unwrap_or_default())
    };
    Some(ToolResult { content, is_error, ..ToolResult::text(id, name, "") })
}

/// The answer of one hook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookReply {
    /// The hook.
    pub name: String,
    /// The answer.
    pub answer: HookAnswer,
}

/// An answer of a hook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookAnswer {
    /// The run goes on.
    Continue,
    /// The subject is replaced.
    Replace {
        /// The new value; see [`HookSubject::replace`].
        value: Raw,
    },
    /// The subject is refused.
    Veto {
        /// The reason.
        reason: String,
    },
    /// A person is asked about the call, whatever is said of it otherwise.
    Ask {
        /// The reason for asking.
        reason: String,
    },
    /// The tools that are asked for before each request are these now.
    Offer {
        /// The tools.
        tools: Vec<ToolConfig>,
    },
    /// Words for the model. They are never taken for the user's.
    AddContext {
        /// The words.
        text: String,
    },
    /// The hook failed, or was late.
    Failed {
        /// The error.
        error: String,
        /// The run stops for it.
        stop: bool,
    },
}

impl HookAnswer {
    /// The name in events.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Replace { .. } => "replace",
            Self::Veto { .. } => "veto",
            Self::Ask { .. } => "ask",
            Self::Offer { .. } => "offer",
            Self::AddContext { .. } => "add_context",
            Self::Failed { .. } => "failed",
        }
    }
}

/// Checks that the stage allows the answer.
pub fn check_answer(stage: HookStage, answer: &HookAnswer) -> Result<()> {
    let (allowed, what) = match answer {
        HookAnswer::Continue | HookAnswer::Failed { .. } => (true, ""),
        HookAnswer::Replace { .. } => (stage.replaces(), "replace anything"),
        HookAnswer::Veto { .. } => (stage.vetoes(), "veto"),
        HookAnswer::Ask { .. } => (stage == HookStage::PreTool, "have a person asked"),
        HookAnswer::Offer { .. } => (stage == HookStage::PreLlm, "offer tools"),
        HookAnswer::AddContext { .. } => (stage.adds(), "add context"),
    };
    if allowed {
        return Ok(());
    }
    Err(Error::usage("invalid_answer", format!("at {} a hook can't {what}", stage.name()))
        .hint("take another stage, or return None"))
}

/// The added text as the model gets it.
pub(crate) fn context_block(hook: &str, text: &str) -> Block {
    let name: String = hook.chars().filter(|c| !matches!(c, ']' | '[') && !c.is_control()).take(64).collect();
    Block::text(format!("{CONTEXT_MARK} {name}: information, not words of the user]\n{text}"))
}

/// The failure of a call that a hook vetoed.
pub(crate) fn vetoed_call(hook: &str, reason: &str) -> ToolFailure {
    ToolFailure {
        kind: "denied".into(),
        message: format!("the call was not allowed: {reason} (hook {hook})"),
        hint: Some("do not try the same call again; find another way, or explain what is needed".into()),
    }
}

/// The failure in place of a result that a hook withheld.
pub(crate) fn withheld_result(hook: &str, reason: &str) -> ToolFailure {
    ToolFailure {
        kind: "withheld".into(),
        message: format!("the call ran, and its result is withheld: {reason} (hook {hook})"),
        hint: Some("go on without it; do not repeat the call to get it".into()),
    }
}
