//! Notices: what machines tell while a run goes on. They stand in the journal under the names that they were first
//! written with, and reach people as events.

use serde::{Deserialize, Serialize};

use super::Time;
use crate::role::{SanityResult, Summary};
use loopwright_base::message::Usage;
use loopwright_guard::{Judgement, RiskLevel, policy::Verdict};

/// A notice about a run. Deltas of answers do not pass through machines and are not among them.
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
    /// The failed request will be sent again.
    Retry {
        /// The request's number.
        round: u32,
        /// The attempt that failed, from 1.
        attempt: u32,
        /// Seconds until the next.
        delay: f64,
        /// The reason.
        reason: String,
    },
    /// The part of this answer that was shown is void: it comes again from its beginning.
    Reset {
        /// The request's number.
        round: u32,
    },
    /// A tool begins.
    ToolStarted {
        /// The call's id.
        #[serde(rename = "id")]
        call_id: String,
        /// The tool.
        name: String,
        /// The arguments.
        #[serde(rename = "input")]
        arguments: serde_json::Value,
        /// The round.
        round: u32,
    },
    /// A tool is done.
    ToolFinished {
        /// The call's id.
        #[serde(rename = "id")]
        call_id: String,
        /// The tool.
        name: String,
        /// The round.
        round: u32,
        /// The call failed.
        is_error: bool,
        /// The text of the result, shortened.
        excerpt: String,
        /// Seconds it took.
        duration: f64,
    },
    /// A search begins: one of a research, a tool of ours with `search` in its name, or the provider's own; of that it
    /// is told while the answer streams, or behind an answer that does not stream.
    SearchStarted {
        /// The id of the call, ours or the provider's.
        #[serde(rename = "id")]
        call_id: String,
        /// The round.
        round: u32,
        /// The query, empty where the provider tells it only with the end of the search, or not at all.
        query: String,
        /// The time, in seconds since the run began.
        at: f64,
    },
    /// A search is done: one of a research, a tool of ours with `search` in its name, or the provider's own.
    SearchCompleted {
        /// The id of the call, ours or the provider's; of a search of a research its own.
        #[serde(rename = "id", default, skip_serializing_if = "String::is_empty")]
        call_id: String,
        /// The round.
        round: u32,
        /// The query, where it is known.
        query: String,
        /// Searches in this run so far.
        count: u64,
        /// The error, if there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// The number of results, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        results: Option<u64>,
        /// The time, in seconds since the run began.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<f64>,
    },
    /// The guard has judged a call, before anything of its reply ran.
    CallJudged {
        /// The call's id.
        #[serde(rename = "id")]
        call_id: String,
        /// The tool.
        name: String,
        /// The judgement, and the rule that decided.
        #[serde(flatten)]
        judged: Judgement,
    },
    /// A person is asked.
    ApprovalAsked {
        /// The call's id.
        #[serde(rename = "id")]
        call_id: String,
        /// The tool.
        name: String,
        /// The risk of the call.
        risk: RiskLevel,
        /// The time at which the question lapses.
        expires: Time,
    },
    /// A person, or the clock, has decided.
    ApprovalDecided {
        /// The call's id.
        #[serde(rename = "id")]
        call_id: String,
        /// The call may run.
        allowed: bool,
        /// Why, in words.
        reason: String,
    },
    /// The request holds less than the history, which no longer fitted into the model's window and stays whole.
    Compacted {
        /// The number of the request that is made of less.
        round: u32,
        /// `full`: the high mark was passed; `refused`: the provider refused the request as too long.
        reason: String,
        /// Tokens of the request before.
        before: usize,
        /// Tokens of the request now.
        after: usize,
        /// Tokens that the request may have.
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
        /// The number of repairs for the provider.
        repaired: usize,
        /// The first message of the request that changed.
        first_changed: Option<usize>,
    },
    /// A decision about a reply or a round, with its rule and evidence.
    Assessed {
        /// The round.
        round: u32,
        /// `continue`, `complete`, `pause_for_input`, `pause_for_confirm`, `pause_check`, `limit`, `stuck`; `tell`
        /// where the model is told what it does, `slow` where momentum is slow.
        decision: String,
        /// The rule that decided.
        rule: String,
        /// The evidence, in words.
        saw: String,
    },
    /// Advice on how the request is best answered, by its words; it stops nothing.
    IntentAssessed {
        /// `ask_first`, `plan_with_rollback`, `parallelize`, `delegate` or `direct`.
        decision: String,
        /// The probability that it is right, from 0 to 1.
        confidence: f32,
        /// The signals that hold.
        signals: Vec<String>,
        /// Signals and the words that gave them.
        evidence: Vec<(String, String)>,
        /// The question to the person, where something should be asked.
        question: Option<String>,
        /// It would have been `direct`, were that not so unsure.
        escalated: bool,
        /// A plan should be noted down first.
        plan: bool,
        /// The sub-agents that fit, of those that there are.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sub_agents: Vec<String>,
        /// The calls that it names were checked against the policy.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        policy_checked: bool,
        /// The calls that it names, as the policy judges them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<PlannedCall>,
        /// The instruction to the model, where the run acts on it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instruction: Option<String>,
    },
    /// The conversation has left the goal it began with, or is back.
    GoalDrifted {
        /// `drifted` or `on_goal`.
        state: String,
        /// The distance of the newest message from the one before, from 0 to 1.
        step: f32,
        /// The distance of the newest message from the goal.
        anchor: f32,
        /// The goal, shortened.
        goal: String,
    },
    /// A warning to the caller.
    Warning {
        /// A stable name.
        code: String,
        /// The warning, in words.
        message: String,
    },
    /// A phase begins.
    PhaseStarted {
        /// `gather`, `act` or `verify`.
        phase: String,
        /// The number of the attempt, from 1.
        attempt: u32,
    },
    /// A phase is done.
    PhaseFinished {
        /// `gather`, `act` or `verify`.
        phase: String,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// Seconds it took.
        duration: f64,
        /// The result of the phase: counts, issues.
        output: serde_json::Value,
    },
    /// A whole answer that has not been verified.
    Draft {
        /// The answer.
        text: String,
        /// The number of the attempt, from 1.
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
        /// The number of requests, of all models.
        attempts: u32,
        /// Seconds since the first.
        duration: f64,
        /// Tokens of the last.
        usage: Usage,
    },
    /// A model of a role failed, or gave an answer that can't be used.
    RoleFailed {
        /// The role, `executor` too.
        role: String,
        /// The model.
        model: String,
        /// The reason.
        reason: String,
        /// The next step: `repair`, another model's name, `rules`, or `person`.
        next: String,
    },
    /// A check whether the run is still sane.
    SanityChecked {
        /// The round after which the check was asked for.
        round: u32,
        /// The triggers of the check.
        triggers: Vec<String>,
        /// `rules`, or the model.
        by: String,
        /// The result.
        #[serde(flatten)]
        result: SanityResult,
    },
    /// An exchange was summed up.
    Summarized {
        /// The round that was the last of it.
        round: u32,
        /// `rules`, or the model.
        by: String,
        /// The summary.
        summary: Summary,
    },
    /// A decision whether the model may see a result.
    Supervised {
        /// The call's id.
        #[serde(rename = "id")]
        call_id: String,
        /// The tool.
        name: String,
        /// The level of the result: `sensitive` or `secret`.
        level: String,
        /// `rules`, the model, `person`, `kept` or `run`.
        by: String,
        /// The model may see it.
        allowed: bool,
        /// The confidence, from 0 to 1.
        confidence: f64,
        /// The reason.
        reason: String,
    },
    /// The present step of a research, in a sentence or two for whoever waits.
    Status {
        /// The cycle, from 1.
        cycle: u32,
        /// The step, in words.
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
        /// The error.
        error: String,
        /// The run stops for it.
        stop: bool,
    },
    /// A model was chosen, or the run goes on with a stronger one.
    ModelChosen {
        /// The round from which it holds.
        round: u32,
        /// The model.
        model: String,
        /// The model until then.
        instead_of: String,
        /// The confidence of the choice.
        confidence: f64,
        /// `enforce`, `suggest`, `defer` or `escalate`.
        mode: String,
        /// The choice holds.
        used: bool,
        /// The reason.
        reason: String,
    },
    /// Memory has recalled entries for the prompt.
    MemoryRecalled {
        /// Memories that stand before the history.
        hits: usize,
        /// The number of trusted ones among them.
        trusted: usize,
        /// The numbers of the memories in the store.
        ids: Vec<i64>,
        /// Characters of their text, labels included.
        characters: usize,
        /// Seconds it took.
        duration: f64,
    },
    /// Tools that were not in the requests so far are in those that follow.
    ToolsLoaded {
        /// The request's number.
        round: u32,
        /// Their names.
        names: Vec<String>,
        /// The query that found the tools; nothing where the model called them without a search.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        query: Option<String>,
    },
    /// A sub-agent begins.
    ChildStarted {
        /// The id of the call that started it.
        #[serde(rename = "id")]
        call_id: String,
        /// The path of the child: `explore`, `explore#2`, `lead/explore`.
        child: String,
        /// The sub-agent's name.
        name: String,
        /// The task, shortened.
        task: String,
        /// The model.
        model: String,
    },
    /// A sub-agent has ended.
    ChildFinished {
        /// The id of the call that started it.
        #[serde(rename = "id")]
        call_id: String,
        /// The path of the child.
        child: String,
        /// The sub-agent's name.
        name: String,
        /// The reason for its end.
        #[serde(rename = "stop")]
        stop_reason: String,
        /// The sub-agent did not reach its goal.
        is_error: bool,
        /// Tokens, those of its own children included.
        usage: Usage,
        /// Money, where the prices are known.
        cost: Option<f64>,
        /// Requests to the model.
        requests: u32,
        /// Seconds it took.
        duration: f64,
        /// Its answer, shortened.
        excerpt: String,
    },
    /// A notice of a sub-agent.
    Child {
        /// The sub-agent's name.
        agent: String,
        /// The path of the child.
        path: String,
        /// The notice.
        told: Box<Notice>,
    },
    /// The run is paused: nothing is in flight any more, and nothing starts until somebody resumes.
    Paused {
        /// The other things that the run waits for, in words.
        waiting: Vec<String>,
    },
    /// The run is resumed.
    Resumed {
        /// Seconds of the pause; they do not count.
        after: f64,
    },
}

impl Notice {
    /// The innermost notice, whoever tells it.
    pub fn own(&self) -> &Self {
        let mut notice = self;
        while let Self::Child { told, .. } = notice {
            notice = told;
        }
        notice
    }
}

/// A call that a plan names, with the guard's judgement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedCall {
    /// The tool.
    #[serde(rename = "tool")]
    pub name: String,
    /// The arguments, as JSON text.
    #[serde(rename = "input")]
    pub arguments: String,
    /// The verdict of the policy.
    pub verdict: Verdict,
    /// The risk of the call.
    pub risk: RiskLevel,
    /// The rules that decided.
    pub rules: Vec<String>,
}

/// A number of messages, and their tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Messages.
    pub messages: usize,
    /// Their tokens before.
    pub before: usize,
    /// Their tokens now.
    pub after: usize,
}
