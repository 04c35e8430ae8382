//! Commands of machines. Each carries a number that its answer repeats.

use serde::{Deserialize, Serialize};

use super::{BudgetUsage, HookStage, HookSubject, Id, Interrupt, Notice, Outcome, Time, tree::MachineConfig};
use loopwright_base::{
    error::Error,
    json::Raw,
    message::{Message, ToolUse},
    request::{Request, Response},
};
use loopwright_guard::{Judgement, RiskLevel};
use loopwright_retrieve::gather::GatherLimits;

/// The purpose of a model call; a driver chooses the model by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The turn itself.
    Executor,
    /// A summary of what was said and done, in the background.
    Summarizer,
    /// A check of whether the run is still sane, in the background.
    Sanity,
    /// A decision whether the model may see private results.
    Supervisor,
    /// Reflection on a turn that is over.
    Reflector,
}

impl Purpose {
    /// The name in journals and plans.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Executor => "executor",
            Self::Summarizer => "summarizer",
            Self::Sanity => "sanity",
            Self::Supervisor => "supervisor",
            Self::Reflector => "reflector",
        }
    }
}

/// A call that shall run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The tool use that the model asked for.
    pub tool_use: ToolUse,
    /// Seconds that the call may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<f64>,
    /// The round it belongs to, from 1.
    pub round: u32,
}

/// A command of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Asks a model. Answered by `Generated` or `Failed`.
    Generate {
        /// The number.
        id: Id,
        /// The purpose.
        purpose: Purpose,
        /// The place of the model in the role's chain; 0 is the first.
        #[serde(default, skip_serializing_if = "loopwright_base::json::is_default")]
        place: u32,
        /// The number of the attempt at the same request, from 1.
        attempt: u32,
        /// The request.
        request: Box<Request>,
    },
    /// Runs tools. Each call is answered by its own `Executed`.
    Execute {
        /// The number.
        id: Id,
        /// The calls.
        calls: Vec<Call>,
        /// The calls may run at once.
        parallel: bool,
    },
    /// Asks a person whether a call may run. Answered by `Decided`.
    Approve {
        /// The number.
        id: Id,
        /// The call.
        call: ToolUse,
        /// The hash of name and arguments, which the decision must repeat.
        hash: String,
        /// The risk of the call.
        risk: RiskLevel,
        /// The reason for asking, in words.
        why: String,
        /// The time at which the question lapses; then the call is denied.
        expires: Time,
        /// The judgement of the guard, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        judged: Option<Box<Judgement>>,
    },
    /// Finds sources for a question. Answered by `GatheredSources`.
    Search {
        /// The number.
        id: Id,
        /// The question.
        question: String,
        /// Earlier messages of the conversation.
        thread: Vec<String>,
        /// The limits of the search.
        limits: GatherLimits,
    },
    /// Starts a child machine with these messages. Carried out by the tree, never by a driver.
    Spawn {
        /// The number.
        id: Id,
        /// The machine.
        config: Box<MachineConfig>,
        /// The history of the child.
        messages: loopwright_base::request::History,
    },
    /// Passes an interrupt on to a child. Carried out by the tree, never by a driver; the child's end comes as `Child`.
    Interrupt {
        /// The command that started the child.
        id: Id,
        /// The way in which the child shall end.
        how: Interrupt,
        /// The part of an answer in flight that had come.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partial: Option<Box<Response>>,
    },
    /// Asks for `Fired` at this moment.
    Timer {
        /// The number.
        id: Id,
        /// The time.
        at: Time,
    },
    /// Stops the work of a command whose answer is not needed any more.
    Abort {
        /// The command.
        id: Id,
    },
    /// Tells listeners.
    Emit {
        /// The notice.
        notice: Notice,
    },
    /// Asks that all events so far are on disk before the next command is carried out.
    Persist,
    /// Refuses an event that made no sense.
    Refuse {
        /// The error.
        error: Error,
    },
    /// Searches. Answered by `Hits`.
    Query {
        /// The number.
        id: Id,
        /// The query.
        query: String,
        /// Hits at most.
        k: usize,
    },
    /// Reads a page as text. Answered by `Fetched`.
    Fetch {
        /// The number.
        id: Id,
        /// The address.
        url: String,
        /// Characters at most.
        max_chars: usize,
    },
    /// Computes vectors of texts. Answered by `Embedded`.
    Embed {
        /// The number.
        id: Id,
        /// The texts.
        texts: Vec<String>,
    },
    /// Has the user's own planner or analyser answer. Answered by `Consulted`.
    Consult {
        /// The number.
        id: Id,
        /// `planner` or `analyser`.
        part: String,
        /// The research's state that is shown.
        state: Box<serde_json::Value>,
    },
    /// Ends the run.
    Finish {
        /// The outcome.
        outcome: Box<Outcome>,
    },
    /// Runs the hooks of a stage, in their order. Answered by `Hooked`.
    Hook {
        /// The number.
        id: Id,
        /// The stage.
        stage: HookStage,
        /// The round, from 1; 0 before the first.
        round: u32,
        /// The subject of the hooks.
        subject: Box<HookSubject>,
        /// The usage of the run so far.
        spent: Box<BudgetUsage>,
    },
    /// Asks which model shall be used. Answered by `Chosen`.
    Choose {
        /// The number.
        id: Id,
        /// The model that is used otherwise.
        model: String,
        /// The newest message.
        prompt: Box<Message>,
    },
    /// Asks memory about a prompt. Answered by `Recalled`.
    Recall {
        /// The number.
        id: Id,
        /// The prompt.
        query: String,
        /// Memories at most.
        hits: usize,
        /// Characters of each memory at most.
        characters: usize,
    },
}

impl Command {
    /// The command's number, where it has one.
    pub const fn id(&self) -> Option<Id> {
        match self {
            Self::Generate { id, .. }
            | Self::Execute { id, .. }
            | Self::Approve { id, .. }
            | Self::Search { id, .. }
            | Self::Spawn { id, .. }
            | Self::Interrupt { id, .. }
            | Self::Timer { id, .. }
            | Self::Query { id, .. }
            | Self::Fetch { id, .. }
            | Self::Embed { id, .. }
            | Self::Consult { id, .. }
            | Self::Abort { id }
            | Self::Hook { id, .. }
            | Self::Choose { id, .. }
            | Self::Recall { id, .. } => Some(*id),
            Self::Emit { .. } | Self::Persist | Self::Refuse { .. } | Self::Finish { .. } => None,
        }
    }
}

/// A command as a journal keeps it: requests and histories as counts and hashes, all else as it is.
#[derive(Debug, Serialize)]
pub struct Digest<'a>(#[serde(serialize_with = "digest")] pub &'a Command);

fn digest<S: serde::Serializer>(command: &Command, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    enum Short<'a> {
        Generate {
            id: Id,
            purpose: Purpose,
            #[serde(skip_serializing_if = "loopwright_base::json::is_default")]
            place: u32,
            attempt: u32,
            model: &'a str,
            messages: usize,
            history: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            tool_choice: Option<&'a loopwright_base::request::ToolChoice>,
        },
        Spawn {
            id: Id,
            config: &'a MachineConfig,
            messages: usize,
            history: String,
        },
        #[serde(rename = "spawn")]
        SpawnAgent {
            id: Id,
            agent: &'a str,
            model: &'a str,
            config: String,
            messages: usize,
            history: String,
        },
        Hook {
            id: Id,
            stage: HookStage,
            round: u32,
            subject: &'static str,
            digest: String,
        },
        Choose {
            id: Id,
            model: &'a str,
        },
    }
    match command {
        Command::Generate { id, purpose, place, attempt, request } => Short::Generate {
            id: *id,
            purpose: *purpose,
            place: *place,
            attempt: *attempt,
            model: &request.model,
            messages: request.messages.len(),
            history: format!("{:016x}", request.messages.digest()),
            tool_choice: request.tool_choice.as_ref(),
        }
        .serialize(serializer),
        Command::Spawn { id, config, messages } if config.agent().is_some() => {
            let (agent, model) = config.agent().map_or(("", ""), |(place, model)| (place.path.as_str(), model));
            let config = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(Raw::of(config).text().as_bytes()));
            let history = format!("{:016x}", messages.digest());
            Short::SpawnAgent { id: *id, agent, model, config, messages: messages.len(), history }.serialize(serializer)
        }
        Command::Spawn { id, config, messages } => {
            Short::Spawn { id: *id, config, messages: messages.len(), history: format!("{:016x}", messages.digest()) }
                .serialize(serializer)
        }
        Command::Hook { id, stage, round, subject, .. } => {
            let digest = match &**subject {
                HookSubject::Request { request } => request.messages.digest(),
                subject => xxhash_rust::xxh3::xxh3_64(&serde_json::to_vec(subject).unwrap_or_default()),
            };
            let digest = format!("{digest:016x}");
            Short::Hook { id: *id, stage: *stage, round: *round, subject: subject.name(), digest }.serialize(serializer)
        }
        // What a provider's refusal said beside its words stands in the event that brought it.
        Command::Finish { outcome } if outcome.error.as_ref().is_some_and(|error| error.answered.is_some()) => {
            let mut outcome = outcome.clone();
            if let Some(error) = &mut outcome.error {
                error.answered = None;
            }
            Command::Finish { outcome }.serialize(serializer)
        }
        Command::Choose { id, model, .. } => Short::Choose { id: *id, model }.serialize(serializer),
        other => other.serialize(serializer),
    }
}

pub(crate) fn emit(out: &mut Vec<Command>, notice: Notice) {
    out.push(Command::Emit { notice });
}

/// The refusal of an event that may come once, at the start.
pub(crate) fn refuse(code: &'static str, message: &str) -> Command {
    Command::Refuse { error: Error::usage(code, message).hint("feed `start` once, and before all else") }
}

/// The text of a system message, where there is one.
pub(crate) fn system_of(text: Option<&str>) -> Option<std::sync::Arc<Message>> {
    text.filter(|text| !text.is_empty())
        .map(|text| std::sync::Arc::new(Message::text(loopwright_base::message::Role::System, text)))
}
