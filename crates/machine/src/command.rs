//! What a machine wants done. Each command carries a number that its answer repeats.

use serde::{Deserialize, Serialize};

use super::{HookStage, HookSubject, Id, Interrupt, Outcome, Spent, Time, tree::MachineConfig};
use crate::role::{SanityResult, Summary};
use loopwright_base::{
    error::Error,
    json::Raw,
    message::{Message, ToolUse, Usage},
    request::{Request, Response},
};
use loopwright_guard::{Judgement, RiskLevel, policy::Verdict};
use loopwright_retrieve::gather::GatherLimits;

/// What a model call is for; a driver chooses the model by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The turn itself.
    Executor,
    /// Sums up what was said and done, in the background.
    Summarizer,
    /// Looks whether the run is still sane, in the background.
    Sanity,
    /// Decides whether the model may see what is private.
    Supervisor,
    /// Thinks about a turn that is over.
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
    /// What the model asked for.
    pub tool_use: ToolUse,
    /// Seconds it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<f64>,
    /// The round it belongs to, from 1.
    pub round: u32,
}

/// Something a machine wants done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Ask a model. Answered by `Generated` or `Failed`.
    Generate {
        /// The number.
        id: Id,
        /// What for.
        purpose: Purpose,
        /// Which model of the role's chain; 0 is the first.
        #[serde(default, skip_serializing_if = "loopwright_base::json::is_default")]
        place: u32,
        /// Which attempt at the same request, from 1.
        attempt: u32,
        /// The request.
        request: Box<Request>,
    },
    /// Run tools. Each call is answered by its own `Executed`.
    Execute {
        /// The number.
        id: Id,
        /// The calls.
        calls: Vec<Call>,
        /// Whether they may run at once.
        parallel: bool,
    },
    /// Ask a person whether a call may run. Answered by `Decided`.
    Approve {
        /// The number.
        id: Id,
        /// The call.
        call: ToolUse,
        /// The hash of name and arguments, which the decision must repeat.
        hash: String,
        /// How much harm it may do.
        risk: RiskLevel,
        /// Why it is asked, in words.
        why: String,
        /// When the question lapses; then the call is denied.
        expires: Time,
        /// What the guard saw, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        judged: Option<Box<Judgement>>,
    },
    /// Find sources for a question. Answered by `Found`.
    Search {
        /// The number.
        id: Id,
        /// The question.
        question: String,
        /// What was said before.
        thread: Vec<String>,
        /// How much.
        limits: GatherLimits,
    },
    /// Start a child machine with these messages. Carried out by the tree, never by a driver.
    Spawn {
        /// The number.
        id: Id,
        /// The machine.
        config: Box<MachineConfig>,
        /// Its history.
        messages: loopwright_base::request::History,
    },
    /// Pass an interrupt on to a child. Carried out by the tree, never by a driver; the child's end comes as `Child`.
    Interrupt {
        /// The command that started the child.
        id: Id,
        /// How the child shall end.
        how: Interrupt,
        /// What had come of an answer that was under way.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partial: Option<Box<Response>>,
    },
    /// Say `Fired` at this moment.
    Timer {
        /// The number.
        id: Id,
        /// When.
        at: Time,
    },
    /// The answer to this command is of no use any more: stop the work.
    Abort {
        /// The command.
        id: Id,
    },
    /// Tell whoever listens.
    Emit {
        /// What.
        notice: Notice,
    },
    /// All events so far must be on disk before the next command is carried out.
    Persist,
    /// The event made no sense here.
    Refuse {
        /// Why.
        error: Error,
    },
    /// Look for something. Answered by `Hits`.
    Query {
        /// The number.
        id: Id,
        /// What to look for.
        query: String,
        /// Hits at most.
        k: usize,
    },
    /// Read a page as text. Answered by `Fetched`.
    Fetch {
        /// The number.
        id: Id,
        /// Its address.
        url: String,
        /// Characters at most.
        max_chars: usize,
    },
    /// Make vectors of texts. Answered by `Embedded`.
    Embed {
        /// The number.
        id: Id,
        /// The texts.
        texts: Vec<String>,
    },
    /// Have a part of one's own plan or analyse. Answered by `Consulted`.
    Consult {
        /// The number.
        id: Id,
        /// `planner` or `analyser`.
        part: String,
        /// What it is shown of the research.
        state: Box<serde_json::Value>,
    },
    /// The run has ended.
    Finish {
        /// How.
        outcome: Box<Outcome>,
    },
    /// Run the hooks of a stage, in their order. Answered by `Hooked`.
    Hook {
        /// The number.
        id: Id,
        /// The stage.
        stage: HookStage,
        /// The round, from 1; 0 before the first.
        round: u32,
        /// What they are shown.
        subject: Box<HookSubject>,
        /// What the run has used so far.
        spent: Box<Spent>,
    },
    /// Ask which model shall be used. Answered by `Chosen`.
    Choose {
        /// The number.
        id: Id,
        /// The model that is used otherwise.
        model: String,
        /// The newest message.
        prompt: Box<Message>,
    },
    /// Ask memory what it knows of a prompt. Answered by `Recalled`.
    Recall {
        /// The number.
        id: Id,
        /// The prompt.
        query: String,
        /// At most so many memories.
        hits: usize,
        /// At most so many characters of each.
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

/// What is worth telling while a run goes on. Deltas of answers do not pass through machines and are not among them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Notice {
    /// A request goes out.
    RoundStarted {
        /// The request's number in the run, from 1.
        round: u32,
        /// The model.
        model: String,
    },
    /// An answer is in.
    RoundFinished {
        /// The request's number.
        round: u32,
        /// Seconds from request to answer, all attempts included.
        duration: f64,
        /// Tokens of this answer.
        usage: Usage,
        /// Searches and the like that the provider ran in it.
        provider_tool_uses: u64,
    },
    /// The same request will be sent again.
    Retry {
        /// The request's number.
        round: u32,
        /// The attempt that failed, from 1.
        attempt: u32,
        /// Seconds until the next.
        delay: f64,
        /// Why.
        reason: String,
    },
    /// What was shown of this answer is void: it comes again from its beginning.
    Reset {
        /// The request's number.
        round: u32,
    },
    /// A tool begins.
    ToolStarted {
        /// The call's id.
        id: String,
        /// The tool.
        name: String,
        /// The arguments.
        input: serde_json::Value,
        /// The round.
        round: u32,
    },
    /// A tool is done.
    ToolFinished {
        /// The call's id.
        id: String,
        /// The tool.
        name: String,
        /// The round.
        round: u32,
        /// Whether it failed.
        is_error: bool,
        /// Its text, shortened.
        excerpt: String,
        /// Seconds it took.
        duration: f64,
    },
    /// A search begins: a tool of ours with `search` in its name, or the provider's own; of that it is told while the answer
    /// streams, or behind an answer that does not stream.
    SearchStarted {
        /// The id of the call, ours or the provider's.
        id: String,
        /// The round.
        round: u32,
        /// The query, empty where the provider tells it only with the end of the search, or not at all.
        query: String,
        /// When, in seconds since the run began.
        at: f64,
    },
    /// A search is done: a tool of ours with `search` in its name, or the provider's own.
    SearchCompleted {
        /// The id of the call, ours or the provider's; empty in a research, which calls no tools.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        id: String,
        /// The round.
        round: u32,
        /// The query, where it is known.
        query: String,
        /// Searches in this run so far.
        count: u64,
        /// What went wrong, if something did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// How many results came, where the provider says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        results: Option<u64>,
        /// When, in seconds since the run began; not told in a research.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<f64>,
    },
    /// The guard has judged a call, before anything of its reply ran.
    CallJudged {
        /// The call's id.
        id: String,
        /// The tool.
        name: String,
        /// What it saw, and which rule decided.
        #[serde(flatten)]
        judged: Judgement,
    },
    /// A person is asked.
    ApprovalAsked {
        /// The call's id.
        id: String,
        /// The tool.
        name: String,
        /// How much harm it may do.
        risk: RiskLevel,
        /// When the question lapses.
        expires: Time,
    },
    /// A person, or the clock, has decided.
    ApprovalDecided {
        /// The call's id.
        id: String,
        /// Whether it may run.
        allowed: bool,
        /// Why, in words.
        reason: String,
    },
    /// The history no longer fitted into the model's window: the request is made of less. Nothing of the history is lost.
    Compacted {
        /// The number of the request that is made of less.
        round: u32,
        /// `full`: the high mark was passed; `refused`: the provider refused the request as too long.
        reason: String,
        /// Tokens of the request before.
        before: usize,
        /// Tokens of the request now.
        after: usize,
        /// Tokens that it may have.
        budget: usize,
        /// Messages that stand as they were.
        kept: Tally,
        /// Messages that are shorter.
        shortened: Tally,
        /// Messages of which later ones repeat all or parts.
        referenced: Tally,
        /// Messages that left; the summary speaks of them.
        summarised: Tally,
        /// Messages that left.
        dropped: Tally,
        /// What had to be put right for the provider.
        repaired: usize,
        /// The first message of the request that is no longer as it was.
        first_changed: Option<usize>,
    },
    /// What was decided about a reply or a round, by which rule, and what it saw.
    Assessed {
        /// The round.
        round: u32,
        /// `continue`, `complete`, `pause_for_input`, `pause_for_confirm`, `pause_check`, `limit`, `stuck`; `tell` where
        /// the model is told what it does, `slow` where momentum is slow.
        decision: String,
        /// The rule that decided.
        rule: String,
        /// What it saw, in words.
        saw: String,
    },
    /// How the request is best taken up, by its words: advice, which stops nothing.
    IntentAssessed {
        /// `ask_first`, `plan_with_rollback`, `parallelize`, `delegate` or `direct`.
        decision: String,
        /// How likely that is right, from 0 to 1.
        confidence: f32,
        /// The signals that hold.
        signals: Vec<String>,
        /// Signals and the words that gave them.
        evidence: Vec<(String, String)>,
        /// What to ask the person, where something should be asked.
        question: Option<String>,
        /// It would have been done directly, were that not so unsure.
        escalated: bool,
        /// A plan should be noted down first.
        plan: bool,
        /// The sub-agents that fit, of those that there are.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sub_agents: Vec<String>,
        /// The calls that it names were held against the policy.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        policy_checked: bool,
        /// The calls that it names, as the policy sees them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<PlannedCall>,
        /// What the model is told of it, where the run acts on it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instruction: Option<String>,
    },
    /// The conversation has left the goal it began with, or is back.
    GoalDrifted {
        /// `drifted` or `on_goal`.
        state: String,
        /// How far the newest message is from the one before, from 0 to 1.
        step: f32,
        /// How far it is from the goal.
        anchor: f32,
        /// The goal, shortened.
        goal: String,
    },
    /// Something that the caller should know.
    Warning {
        /// A stable name.
        code: String,
        /// In words.
        message: String,
    },
    /// A phase begins.
    PhaseStarted {
        /// `gather`, `act` or `verify`.
        phase: String,
        /// Which attempt, from 1.
        attempt: u32,
    },
    /// A phase is done.
    PhaseFinished {
        /// `gather`, `act` or `verify`.
        phase: String,
        /// Which attempt, from 1.
        attempt: u32,
        /// Seconds it took.
        duration: f64,
        /// What came of it: counts, issues.
        output: serde_json::Value,
    },
    /// A whole answer that has not been verified.
    Draft {
        /// The answer.
        text: String,
        /// Which attempt, from 1.
        attempt: u32,
        /// Always false: drafts are not verified.
        verified: bool,
    },
    /// A model of a role answered, and the answer can be used.
    RoleAnswered {
        /// `summarizer`, `sanity` or `supervisor`.
        role: String,
        /// The model.
        model: String,
        /// Requests it took, of all models.
        attempts: u32,
        /// Seconds since the first.
        duration: f64,
        /// Tokens of the last.
        usage: Usage,
    },
    /// A model of a role failed, or gave what can't be used.
    RoleFailed {
        /// The role, `executor` too.
        role: String,
        /// The model.
        model: String,
        /// Why.
        reason: String,
        /// What is next: `repair`, another model's name, `rules`, or `person`.
        next: String,
    },
    /// Somebody looked whether the run is still sane.
    SanityChecked {
        /// The round after which it was asked for.
        round: u32,
        /// Why then.
        triggers: Vec<String>,
        /// `rules`, or the model.
        by: String,
        /// What came of it.
        #[serde(flatten)]
        result: SanityResult,
    },
    /// An exchange was summed up.
    Summarized {
        /// The round that was the last of it.
        round: u32,
        /// `rules`, or the model.
        by: String,
        /// What is worth keeping of it.
        summary: Summary,
    },
    /// It was decided whether the model may see a result.
    Supervised {
        /// The call's id.
        id: String,
        /// The tool.
        name: String,
        /// What the result is: `sensitive` or `secret`.
        level: String,
        /// `rules`, the model, `person`, `kept` or `run`.
        by: String,
        /// Whether it may.
        allowed: bool,
        /// How sure that is, from 0 to 1.
        confidence: f64,
        /// Why.
        reason: String,
    },
    /// What a research does just now, in a sentence or two for whoever waits.
    Status {
        /// The cycle, from 1.
        cycle: u32,
        /// In words.
        text: String,
    },
    /// A hook has answered.
    HookAnswered {
        /// The stage.
        stage: String,
        /// The hook.
        name: String,
        /// The round, from 1; 0 before the first.
        round: u32,
        /// `continue`, `replace`, `veto` or `add_context`.
        answer: String,
        /// The reason of a veto.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A hook failed, or was late.
    HookFailed {
        /// The stage.
        stage: String,
        /// The hook.
        name: String,
        /// The round, from 1; 0 before the first.
        round: u32,
        /// What went wrong.
        error: String,
        /// Whether the run stops for it.
        stop: bool,
    },
    /// Somebody has chosen a model, or the run goes on with a stronger one.
    ModelChosen {
        /// The round from which it holds.
        round: u32,
        /// The model.
        model: String,
        /// The model until then.
        instead_of: String,
        /// How sure whoever chose it is.
        confidence: f64,
        /// `enforce`, `suggest`, `defer` or `escalate`.
        mode: String,
        /// Whether it holds.
        used: bool,
        /// Why.
        reason: String,
    },
    /// Memory has said what it knows of the prompt.
    MemoryRecalled {
        /// Memories that stand before the history.
        hits: usize,
        /// How many of them are trusted.
        trusted: usize,
        /// Their numbers in the store.
        ids: Vec<i64>,
        /// Characters of their text, labels included.
        characters: usize,
        /// Seconds it took.
        duration: f64,
    },
    /// A sub-agent begins.
    ChildStarted {
        /// The id of the call that started it.
        id: String,
        /// Which child of the run: `explore`, `explore#2`, `lead/explore`.
        child: String,
        /// The sub-agent's name.
        name: String,
        /// What it shall do, shortened.
        task: String,
        /// The model.
        model: String,
    },
    /// A sub-agent has ended.
    ChildFinished {
        /// The id of the call that started it.
        id: String,
        /// Which child of the run.
        child: String,
        /// The sub-agent's name.
        name: String,
        /// Why it ended.
        stop: String,
        /// Whether it did not reach what it was for.
        is_error: bool,
        /// Tokens, those of its own children included.
        usage: Usage,
        /// Money, where the prices are known.
        cost: Option<f64>,
        /// Requests to the model.
        requests: u32,
        /// Seconds it took.
        duration: f64,
        /// What it said, shortened.
        excerpt: String,
    },
    /// What a sub-agent tells.
    Child {
        /// The sub-agent's name.
        agent: String,
        /// Which child of the run.
        path: String,
        /// What it tells.
        told: Box<Notice>,
    },
    /// Nothing is under way any more, and nothing starts until somebody resumes.
    Paused {
        /// What the run waits for beside that, in words.
        waiting: Vec<String>,
    },
    /// The run goes on.
    Resumed {
        /// Seconds that it stood still; they do not count.
        after: f64,
    },
}

impl Notice {
    /// What is told, whoever tells it.
    pub fn own(&self) -> &Self {
        let mut notice = self;
        while let Self::Child { told, .. } = notice {
            notice = told;
        }
        notice
    }
}

/// A call that a plan names, and what the guard says of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedCall {
    /// The tool.
    pub tool: String,
    /// The arguments, as JSON text.
    pub input: String,
    /// What may be done with it.
    pub verdict: Verdict,
    /// How much harm it may do.
    pub risk: RiskLevel,
    /// The rules that decided.
    pub rules: Vec<String>,
}

/// How many messages, and their tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Messages.
    pub messages: usize,
    /// Their tokens before.
    pub before: usize,
    /// Their tokens now.
    pub after: usize,
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
