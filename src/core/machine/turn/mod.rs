//! The turn: assess → execute, pause or complete, tool rounds until the model is done.
//!
//! Every request has exactly one result for each tool use, in order, whatever happens in between: cancel, limits and
//! broken calls leave a history that the provider accepts. The first limit reached gives a typed stop reason, and
//! what was said until then is kept.
//!
//! All transitions stand in one table, [`TRANSITIONS`].

mod calls;
mod children;
mod choose;
mod config;
mod decision;
mod gate;
mod hooks;
mod intent;
mod limits;
mod plans;
mod recall;
mod round;
mod senses;
mod table;
mod text;
mod tool_hooks;
mod window;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use calls::{CallIds, Tidy, holds_a_prompt, legal_history, not_run, tidy_reply};
use children::Children;
pub use children::{AgentConfig, AgentPlace, ChildrenConfig};
pub use config::{ToolConfig, TurnConfig};
pub use decision::{Decision, Situation, assess};
pub(crate) use hooks::legal;
use hooks::{Decided, Held};
use recall::{Front, Recalling};
pub use recall::{RecallConfig, RecalledHit, Recollection};
use round::Round;
pub use table::{TRANSITIONS, diagram, transitions};
pub use text::limit_output;
pub use window::ContextConfig;
use window::Window;

use super::{
    ApprovalDecision, CallRecord, Command, Event, EventKind, HookStage, Id, Interrupt, IterationRecord, Limit, Machine,
    Notice, Outcome, Spent, Stop, Time,
};
use crate::core::{
    breaker::Breaker,
    error::{Error, Failure, FailureKind},
    extract::{self, Signatures},
    guard::Authority,
    message::{Block, Message, Role, StopReason, ToolResult, ToolUse},
    request::{History, Request, Response, ToolChoice},
    sense::{
        continuation::{Standing, continuation},
        momentum::Momentum,
        speech,
        stuck::{Step, StuckDetector, distinct_steps, outcomes},
    },
};

/// Where a turn stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Phase {
    Idle,
    /// A model call is under way.
    Asking(Asking),
    /// A model call failed; the timer starts the next attempt.
    Waiting {
        timer: Id,
        asking: Asking,
    },
    /// Tools are under way.
    Tools(Round),
    Done,
    /// Hooks, or a choice of the model, are under way.
    Held(Box<Held>),
    /// Memory is asked what it knows of the prompt.
    Recalling(Recalling),
}

/// A request to the model, over all its attempts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Asking {
    id: Id,
    attempt: u32,
    since: Time,
    /// A part of this attempt's answer was shown.
    visible: bool,
    last_failure: Option<Failure>,
}

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
    phase: Phase,
    history: History,
    #[serde(default)]
    window: Window,
    started: Time,
    now: Time,
    deadline: Id,
    spent: Spent,
    stuck: StuckDetector,
    told: Vec<u64>,
    momentum: Momentum,
    last_failure: Option<String>,
    breakers: BTreeMap<String, Breaker>,
    ids: CallIds,
    /// What the person has asked for in the messages that the run began with.
    #[serde(default)]
    authority: Authority,
    outcome: Outcome,
    reply: Option<String>,
    nudged: bool,
    tools_off: bool,
    without_tools: bool,
    interrupted: bool,
    #[serde(default, skip_serializing_if = "Children::is_default")]
    children: Children,
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
}

impl TurnMachine {
    /// A turn that has not begun. `base` is added to the number of every command.
    pub fn new(mut config: TurnConfig, base: Id) -> Self {
        let children = Children::offer(&mut config);
        let stuck = StuckDetector::new(config.stuck.clone().unwrap_or_default());
        Self {
            config,
            template: None,
            signatures: None,
            base,
            issued: 0,
            phase: Phase::Idle,
            history: History::new(),
            window: Window::default(),
            started: Time::default(),
            now: Time::default(),
            deadline: 0,
            spent: Spent::default(),
            stuck,
            told: Vec::new(),
            momentum: Momentum::default(),
            last_failure: None,
            breakers: BTreeMap::new(),
            ids: CallIds::default(),
            authority: Authority::default(),
            outcome: Outcome::new(Stop::Error),
            reply: None,
            nudged: false,
            tools_off: false,
            without_tools: false,
            interrupted: false,
            children,
            added: Vec::new(),
            halted: None,
            model: None,
            escalated: false,
            front: Front::default(),
        }
    }

    /// The history so far.
    pub const fn history(&self) -> &History {
        &self.history
    }

    /// Where the turn stands: a state of [`transitions`].
    pub const fn phase(&self) -> &'static str {
        match &self.phase {
            Phase::Idle => "idle",
            Phase::Asking(_) => "asking",
            Phase::Waiting { .. } => "waiting",
            Phase::Tools(round) if round.asks() => "deciding",
            Phase::Tools(_) => "tools",
            Phase::Done => "done",
            Phase::Held(_) => "held",
            Phase::Recalling(_) => "recalling",
        }
    }

    /// Which sub-agent it is, if it is one, and its model.
    pub fn agent(&self) -> Option<(&AgentPlace, &str)> {
        self.config.agent.as_ref().map(|place| (place, self.config.model.as_str()))
    }

    /// Answers so far that came late, twice or unasked, and were dropped.
    pub const fn dropped(&self) -> u64 {
        self.outcome.dropped
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

    fn start(&mut self, messages: Vec<Message>, out: &mut Vec<Command>) {
        if let Err(error) = self.config.check() {
            return self.fail(error, out);
        }
        self.history = legal_history(messages, &mut self.ids);
        if !holds_a_prompt(&self.history) {
            let error = Error::usage("empty_prompt", "there is no prompt to answer");
            return self.fail(error.hint("give the run a message"), out);
        }
        self.started = self.now;
        if self.config.guard.is_some() {
            // What one model writes to another is nobody's wish.
            let given = self.config.authority.take();
            self.authority = given.unwrap_or_else(|| Authority::of(self.history.iter()));
        }
        if self.config.budget.cost.is_some() && self.config.price.is_none() {
            self.warn(out, "cost_unknown", "the price of the model is not known: the limit on the cost can't be kept");
        }
        let forced = self.config.tool_choice.as_ref().is_some_and(forces_tools);
        let no_round = self.config.budget.tool_rounds == 0 || self.config.budget.iterations <= 1;
        // Calls that could not run, or whose results no request could carry, are better not asked for. A caller who
        // forces a call wants the call itself; tools of the provider need no round of ours.
        self.tools_off = no_round && !forced && self.config.provider_tools.is_empty() && !self.config.tools.is_empty();
        self.deadline = self.id();
        out.push(Command::Timer { id: self.deadline, at: self.started.after(self.config.budget.wall_time) });
        self.begin(out);
    }

    /// Sends the next request, or ends the run if the budget forbids it.
    fn ask(&mut self, out: &mut Vec<Command>) {
        if !self.holds_round(out) {
            self.ask_now(out);
        }
    }

    fn ask_now(&mut self, out: &mut Vec<Command>) {
        self.flush_added();
        if let Err(error) = self.fit(out) {
            self.outcome.error = Some(error);
            return self.finish(Stop::ContextWindow, out);
        }
        if let Some(limit) = self.next_request_exceeds() {
            return self.stop_at(limit, out);
        }
        self.spent.iterations += 1;
        let round = self.round();
        emit(out, Notice::RoundStarted { round, model: self.model().to_owned() });
        let id = self.id();
        let asking = Asking { id, attempt: 1, since: self.now, visible: false, last_failure: None };
        self.send(asking, out);
    }

    /// The next request, as it stands.
    fn request_now(&mut self) -> Request {
        let mut request = self.template().clone();
        request.messages = self.fronted();
        if let Some(model) = &self.model {
            request.model.clone_from(model);
        }
        if self.round() > 1 && self.config.tool_choice.as_ref().is_some_and(forces_tools) {
            // A forced tool is for the first request only; forced again it would never let the model answer.
            request.tool_choice = None;
        }
        if self.without_tools {
            request.tools = std::sync::Arc::default();
        } else if self.tools_off && !request.tools.is_empty() {
            request.tool_choice = Some(ToolChoice::None);
        }
        if request.tools.is_empty() {
            // Providers refuse a choice among no tools.
            request.tool_choice = None;
        }
        if let Some(left) = self.room_for_answer() {
            request.max_tokens = Some(request.max_tokens.map_or(left, |most| most.min(left)));
        }
        request
    }

    fn generated(&mut self, asking: &Asking, response: Response, out: &mut Vec<Command>) {
        let round = self.round();
        self.spent.add(response.usage, self.config.price.as_ref());
        let duration = self.now.since(asking.since);
        self.outcome.iterations.push(IterationRecord { iteration: round, duration, attempts: asking.attempt });
        let usage = response.usage;
        self.reported(usage.input, usage.provider_tool_uses);
        emit(out, Notice::RoundFinished { round, duration, usage, provider_tool_uses: usage.provider_tool_uses });
        self.answered(response, out);
    }

    /// Reads an answer and decides what to do with it.
    fn read(&mut self, response: Response, out: &mut Vec<Command>) {
        let Response { mut message, stop, .. } = response;
        self.count_provider_searches(&message, out);
        self.read_markup(&mut message, out);
        let prose = message.prose();
        self.outcome.transcript.push_str(&prose);
        let Tidy { message, calls, broken } = tidy_reply(message, &stop, &mut self.ids);
        if !prose.trim().is_empty() {
            self.reply = Some(prose.clone());
        }
        if !message.content.is_empty() {
            self.history.push(message);
        }

        let no_calls = calls.is_empty();
        match stop {
            StopReason::Refusal => {
                self.close_calls(&calls, "the model refused to go on");
                return self.finish(Stop::Refusal, out);
            }
            StopReason::ContentFilter if no_calls => return self.finish(Stop::ContentFilter, out),
            StopReason::ContextWindow if no_calls => return self.finish(Stop::ContextWindow, out),
            StopReason::MaxTokens if no_calls && self.says_the_same(&prose) => return self.end_of_loop(out),
            StopReason::MaxTokens if no_calls => {
                self.warn(out, "output_limit", "the answer was cut at the model's output limit");
                return self.finish(Stop::OutputLimit, out);
            }
            _ => {}
        }
        if no_calls && prose.trim().is_empty() && stop != StopReason::PauseTurn && !self.interrupted {
            return self.empty_answer(out);
        }
        let judged = self.judge_all(&calls);
        let situation = Situation {
            interrupted: self.interrupted,
            tool_calls: calls.len(),
            limit: self.limit_ahead(no_calls),
            risk: gate::level_of(&judged),
            stuck: self.goes_on_in_circles(&calls),
            pace: self.pace(),
            provider_paused: stop == StopReason::PauseTurn,
            // A reply with calls goes by its calls; its words are not read.
            asks_for_input: no_calls && speech::asks(&prose),
            may_nudge: no_calls
                && !self.nudged
                && !self.tools_off
                && !self.without_tools
                && !self.config.tools.is_empty()
                && speech::states_next_step(&prose),
        };
        let decision = assess(&situation);
        self.tell_decision(decision, &situation, &calls, out);
        self.decided_on(Decided { decision, calls, broken, judged, stop, prose }, decision.rule(&situation), out);
    }

    /// Does what was decided about a reply.
    fn act(&mut self, decided: Decided, out: &mut Vec<Command>) {
        let Decided { decision, calls, broken, judged, stop, prose } = decided;
        let no_calls = calls.is_empty();
        match decision {
            Decision::Continue | Decision::PauseForConfirm if !no_calls => {
                self.spent.tool_rounds += 1;
                let round = Round::new(calls, broken, judged, self);
                self.tell_judgements(&round, out);
                round.tell_recalled(self, out);
                self.phase = Phase::Tools(round);
                self.advance(out);
            }
            Decision::Continue if stop == StopReason::PauseTurn => self.ask(out),
            Decision::Continue | Decision::PauseForConfirm => {
                self.nudged = true;
                let next_step = speech::stated_step(&prose);
                let succeeded = (!self.outcome.tool_calls.is_empty()).then_some(self.last_failure.is_none());
                let standing = Standing { next_step, succeeded, failure: self.last_failure.clone(), stuck: false };
                self.history.push(Message::user(continuation(&standing).unwrap_or_else(|| "Continue.".to_owned())));
                self.ask(out);
            }
            Decision::Complete => {
                let stop = if stop == StopReason::EndTurn { Stop::Natural } else { Stop::NoToolUse };
                self.finish(stop, out);
            }
            Decision::PauseForInput if speech::asks_for_input(&prose) => self.finish(Stop::NeedsUserInput, out),
            Decision::PauseForInput => self.finish(Stop::Ambiguous, out),
            Decision::PauseCheck => {
                self.close_calls(&calls, "the run was stopped before this call");
                let stop = if self.interrupted { Stop::UserInterrupt } else { Stop::LowMomentum };
                self.finish(stop, out);
            }
            Decision::Limit(limit) => {
                self.close_calls(&calls, "the budget of the run is used up");
                self.stop_at(limit, out);
            }
            Decision::Stuck(pattern) => {
                self.close_calls(&calls, "the run was stopped because it repeated itself");
                self.finish(senses::stop_for(pattern), out);
            }
        }
    }

    /// Calls that the model has written into its text become calls, reasoning becomes reasoning.
    fn read_markup(&mut self, message: &mut Message, out: &mut Vec<Command>) {
        if !self.reads_markup() || self.without_tools {
            return;
        }
        if self.signatures.is_none() {
            self.signatures = Some(extract::signatures(&self.template().tools));
        }
        let Some(signatures) = &self.signatures else { return };
        let format = self.config.tool_format.as_deref().and_then(extract::dialect_named);
        let reading = extract::read_reply(message, signatures, format);
        if reading.doubled > 0 {
            let calls = if reading.doubled == 1 { "a call" } else { "calls" };
            let message = format!("the answer has {calls} in its text beside real ones; those in the text did not run");
            self.warn(out, "doubled_call", message);
        }
    }

    /// An empty answer is never a success: it is asked for once more, then it is an error of the model.
    fn empty_answer(&mut self, out: &mut Vec<Command>) {
        if !self.nudged && self.next_request_exceeds().is_none() {
            self.nudged = true;
            self.history.push(Message::user("Your answer was empty. Answer in words, or call a tool."));
            return self.ask(out);
        }
        if self.reply.is_some() && self.outcome.tool_calls.is_empty() {
            return self.finish(Stop::Natural, out);
        }
        self.fail(
            Error::model("empty_answer", format!("the model {:?} gave an empty answer", self.config.model))
                .hint("try again, or another model"),
            out,
        );
    }

    fn count_provider_searches(&mut self, message: &Message, out: &mut Vec<Command>) {
        let round = self.round();
        for block in &message.content {
            if let Block::Provider(block) = block
                && block.is_tool_use()
                && (block.kind().contains("search") || block.field("name").is_some_and(|name| name.contains("search")))
            {
                self.outcome.searches += 1;
                let input = crate::core::json::Fields::parse(block.raw.text()).unwrap_or_default();
                let query = input.get("input").or_else(|| input.get("action")).map(super::command::query_of);
                let query = query.unwrap_or_default();
                emit(out, Notice::SearchCompleted { round, query, count: self.outcome.searches });
            }
        }
    }

    fn failed(
        &mut self,
        mut asking: Asking,
        failure: Failure,
        visible: bool,
        partial: Option<Response>,
        out: &mut Vec<Command>,
    ) {
        let visible = visible || asking.visible;
        if let Some(partial) = &partial {
            self.spent.add(partial.usage, self.config.price.as_ref());
        }
        let left = self.config.budget.wall_time - self.elapsed();
        let delay = self.config.retry.delay(&failure, asking.attempt, visible, self.config.seed ^ asking.id);
        if let Some(delay) = delay.filter(|delay| *delay < left) {
            if self.interrupted {
                self.keep_partial(partial);
                return self.finish(Stop::UserInterrupt, out);
            }
            if let Some(limit) = self.next_attempt_exceeds() {
                self.keep_partial(partial);
                return self.stop_at(limit, out);
            }
            let round = self.round();
            let reason = failure.message.clone();
            emit(out, Notice::Retry { round, attempt: asking.attempt, delay, reason });
            if visible {
                emit(out, Notice::Reset { round });
            }
            if failure.kind != FailureKind::BreakerOpen {
                asking.last_failure = Some(failure);
            }
            asking.visible = false;
            let timer = self.id();
            out.push(Command::Timer { id: timer, at: self.now.after(delay) });
            self.phase = Phase::Waiting { timer, asking };
            return;
        }
        if failure.kind == FailureKind::ContextTooLong && !self.interrupted && self.shrink(&failure, out) {
            if let Some(limit) = self.next_attempt_exceeds() {
                return self.stop_at(limit, out);
            }
            if visible {
                emit(out, Notice::Reset { round: self.round() });
            }
            asking.visible = false;
            asking.attempt += 1;
            asking.id = self.id();
            return self.send(asking, out);
        }
        if self.may_degrade(&failure) {
            self.without_tools = true;
            self.warn(
                out,
                "without_tools",
                format!("the provider refused the request with tools ({}); it was sent without them", failure.message),
            );
            if let Some(limit) = self.next_attempt_exceeds() {
                return self.stop_at(limit, out);
            }
            if visible {
                emit(out, Notice::Reset { round: self.round() });
            }
            asking.visible = false;
            asking.attempt += 1;
            asking.id = self.id();
            return self.send(asking, out);
        }
        self.keep_partial(partial);
        if failure.kind == FailureKind::ContextTooLong {
            self.outcome.error = Some(failure.to_error());
            return self.finish(Stop::ContextWindow, out);
        }
        let mut error = failure.to_error();
        if let (FailureKind::BreakerOpen, Some(last)) = (failure.kind, &asking.last_failure) {
            error.message = format!("{} (before that: {})", error.message, last.message);
        } else if asking.attempt > 1 {
            error.message = format!("{} (after {} attempts)", error.message, asking.attempt);
        }
        self.fail(error, out);
    }

    fn may_degrade(&self, failure: &Failure) -> bool {
        let message = failure.message.to_lowercase();
        self.config.degrade_without_tools
            && !self.without_tools
            && !self.interrupted
            && matches!(failure.kind, FailureKind::BadRequest | FailureKind::NotFound)
            && !(self.config.tools.is_empty() && self.config.provider_tools.is_empty())
            && (message.contains("tool") || message.contains("function"))
            && !self.history.iter().any(|message| message.tool_uses().next().is_some())
    }

    /// What had come of an answer that broke off stands in the history and the transcript.
    fn keep_partial(&mut self, partial: Option<Response>) {
        let Some(Response { mut message, .. }) = partial else { return };
        message.role = Role::Assistant;
        // What broke off is no call, but its markers are no prose either.
        self.read_markup(&mut message, &mut Vec::new());
        message.content.retain(|block| matches!(block, Block::Text(text) if !text.text.trim().is_empty()));
        let prose = message.prose();
        if !prose.is_empty() {
            self.outcome.transcript.push_str(&prose);
            self.reply = Some(prose);
            self.history.push(message);
        }
    }

    fn interrupt(&mut self, how: Interrupt, partial: Option<Response>, out: &mut Vec<Command>) {
        match how {
            Interrupt::AfterRound => {
                self.interrupted = true;
                match self.phase {
                    Phase::Waiting { timer, .. } => {
                        out.push(Command::Abort { id: timer });
                        self.finish(Stop::UserInterrupt, out);
                    }
                    Phase::Tools(_) => {
                        self.interrupt_children(out);
                        self.advance(out);
                    }
                    Phase::Held(_) => self.interrupt_held(out),
                    Phase::Recalling(_) => self.interrupt_recall(out),
                    Phase::Idle | Phase::Asking(_) | Phase::Done => {}
                }
            }
            Interrupt::Cancel => {
                if self.end_children(Stop::Cancelled, "the run was cancelled", out) {
                    return;
                }
                self.abort(partial, out, "the run was cancelled");
                self.finish(Stop::Cancelled, out);
            }
        }
    }

    /// Stops what is under way; open calls get results, so that the history stays legal. `partial` is what had come
    /// of an answer: it is one only while one is asked for, else it is in the history already.
    fn abort(&mut self, partial: Option<Response>, out: &mut Vec<Command>, why: &str) {
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Asking(asking) => {
                out.push(Command::Abort { id: asking.id });
                if let Some(partial) = &partial {
                    self.spent.add(partial.usage, self.config.price.as_ref());
                }
                self.keep_partial(partial);
            }
            Phase::Waiting { timer, .. } => out.push(Command::Abort { id: timer }),
            Phase::Recalling(recalling) => Self::abort_recall(&recalling, out),
            Phase::Tools(mut round) => {
                round.abort(why, self.now, out);
                let results = self.take_results(round);
                self.history.push(Message::new(Role::User, results));
            }
            Phase::Held(held) => self.abort_held(*held, why, out),
            Phase::Idle | Phase::Done => {}
        }
    }

    /// Every open call gets a result that says why it did not run.
    fn close_calls(&mut self, calls: &[ToolUse], why: &str) {
        if calls.is_empty() {
            return;
        }
        let results = calls.iter().map(|call| Block::ToolResult(not_run(call, why))).collect();
        self.history.push(Message::new(Role::User, results));
    }

    fn fail(&mut self, error: Error, out: &mut Vec<Command>) {
        self.outcome.error = Some(error);
        self.finish(Stop::Error, out);
    }

    /// Ends the run without a look at hooks.
    fn close(&mut self, stop: Stop, out: &mut Vec<Command>) {
        self.phase = Phase::Done;
        if self.deadline != 0 {
            out.push(Command::Abort { id: self.deadline });
        }
        let answered = stop.is_success();
        let outcome = &mut self.outcome;
        outcome.stop = stop;
        outcome.duration = self.now.since(self.started);
        outcome.spent = self.spent.clone();
        if answered {
            outcome.r#final = self.reply.take();
        } else {
            outcome.best_draft = self.reply.take();
        }
        out.push(Command::Finish { outcome: Box::new(outcome.clone()) });
    }

    /// Carries a round of tools as far as it goes without an answer from outside.
    fn advance(&mut self, out: &mut Vec<Command>) {
        let Phase::Tools(mut round) = std::mem::replace(&mut self.phase, Phase::Done) else { return };
        round.advance(self, out);
        if round.is_done() {
            self.end_round(round, out);
        } else {
            self.phase = Phase::Tools(round);
        }
    }

    fn end_round(&mut self, round: Round, out: &mut Vec<Command>) {
        let stop = if round.aborted {
            Some(Stop::DestructiveOperation)
        } else {
            self.halted.or_else(|| self.interrupted.then_some(Stop::UserInterrupt))
        };
        let spent = round.unasked && stop.is_none();
        let mut blocks = self.take_results(round);
        if spent {
            self.history.push(Message::new(Role::User, blocks));
            return self.stop_at(Limit::Approvals, out);
        }
        let (stop, word) = match stop {
            Some(stop) => (Some(stop), None),
            None => self.sense_round(out),
        };
        if stop.is_none() {
            self.escalates(out);
            blocks.append(&mut self.added);
            blocks.extend(word.map(Block::text));
            blocks.extend(self.word_about_budget().map(Block::text));
        }
        self.history.push(Message::new(Role::User, blocks));
        match stop {
            Some(stop) => self.finish(stop, out),
            None => self.ask(out),
        }
    }

    /// Records a round and gives its results, in the order of the calls.
    fn take_results(&mut self, round: Round) -> Vec<Block> {
        let iteration = self.round();
        let mut blocks = Vec::with_capacity(round.calls.len() + 1);
        let pairs = round.calls.iter().filter_map(|pending| Some((&pending.call, pending.result.as_ref()?)));
        self.last_failure = senses::failure_of(pairs.clone());
        let steps = pairs.map(|(call, result)| (Step::of(call, result), call.name.as_str(), call.arguments_text()));
        let steps = distinct_steps(steps);
        outcomes(&steps).for_each(|succeeded| self.momentum.record(succeeded));
        if self.config.stuck.is_some() {
            self.stuck.record_steps(&steps, None);
        }
        for pending in round.calls {
            let result = pending.result.unwrap_or_else(|| not_run(&pending.call, "the run ended before this call"));
            let since = pending.since.unwrap_or(self.now);
            self.outcome.tool_calls.push(CallRecord {
                id: pending.call.id.clone(),
                name: pending.call.name.clone(),
                input: pending.call.input.clone(),
                iteration,
                at: since.since(self.started),
                duration: pending.duration,
                failure: result.failure.as_ref().map(|failure| failure.kind.clone()),
            });
            blocks.push(Block::ToolResult(result));
        }
        blocks
    }

    fn drop_answer(&mut self) {
        self.outcome.dropped += 1;
    }
}

impl Machine for TurnMachine {
    fn step(&mut self, event: Event) -> Vec<Command> {
        let mut out = Vec::new();
        self.now = self.now.max(event.at);
        if matches!(self.phase, Phase::Done) {
            self.drop_answer();
            return out;
        }
        self.wake_window();
        match event.kind {
            EventKind::Start { messages } => {
                if matches!(self.phase, Phase::Idle) {
                    self.start(messages, &mut out);
                } else {
                    out.push(refuse("already_started", "the turn has already begun"));
                }
            }
            EventKind::Interrupt { how, partial } => {
                if matches!(self.phase, Phase::Idle) {
                    self.finish(Stop::Cancelled, &mut out);
                } else {
                    self.interrupt(how, partial.map(|partial| *partial), &mut out);
                }
            }
            _ if matches!(self.phase, Phase::Idle) => out.push(refuse("not_started", "the turn has not begun")),
            EventKind::Delta { id, .. } => match &mut self.phase {
                Phase::Asking(asking) if asking.id == id => asking.visible = true,
                _ => self.drop_answer(),
            },
            EventKind::Generated { id, response } => match &self.phase {
                Phase::Asking(asking) if asking.id == id => {
                    let asking = asking.clone();
                    self.generated(&asking, *response, &mut out);
                }
                _ => self.drop_answer(),
            },
            EventKind::Failed { id, failure, visible, partial } => match &self.phase {
                Phase::Asking(asking) if asking.id == id => {
                    let asking = asking.clone();
                    self.failed(asking, failure, visible, partial.map(|partial| *partial), &mut out);
                }
                _ => self.drop_answer(),
            },
            EventKind::Executed { id, result } => {
                let now = self.now;
                let held = self.hooked(HookStage::PostTool);
                let taken = match &mut self.phase {
                    Phase::Tools(round) => round.executed(id, result, now, held),
                    _ => None,
                };
                match taken {
                    Some(at) if held => self.hold_result(at, &mut out),
                    Some(at) => self.executed(at, &mut out),
                    None => self.drop_answer(),
                }
            }
            EventKind::Decided { id, hash, decision } => {
                self.decided(id, &hash, decision, &mut out);
            }
            EventKind::Fired { id, partial } => self.fired(id, partial.map(|partial| *partial), &mut out),
            EventKind::Child { id, outcome, messages } => self.child_ended(id, outcome, &messages, &mut out),
            EventKind::Found { .. }
            | EventKind::Hits { .. }
            | EventKind::Fetched { .. }
            | EventKind::Embedded { .. }
            | EventKind::Partials { .. }
            | EventKind::Pause
            | EventKind::Resume => self.drop_answer(),
            EventKind::Hooked { id, replies } => {
                if !self.was_hooked(id, replies, &mut out) {
                    self.drop_answer();
                }
            }
            EventKind::Chosen { id, choice, error } => {
                if !self.was_chosen(id, choice, error, &mut out) {
                    self.drop_answer();
                }
            }
            EventKind::Recalled { id, found } => self.recalled_from_memory(id, found, &mut out),
        }
        out
    }

    fn waiting(&self) -> Vec<String> {
        match &self.phase {
            Phase::Idle | Phase::Done => Vec::new(),
            Phase::Asking(asking) => vec![format!("the model {} (attempt {})", self.model(), asking.attempt)],
            Phase::Waiting { asking, .. } => vec![format!("the next attempt ({})", asking.attempt + 1)],
            Phase::Tools(round) => round.waiting(),
            Phase::Held(held) => vec![Self::waiting_held(held)],
            Phase::Recalling(_) => vec!["what memory knows of the prompt".to_owned()],
        }
    }

    fn is_finished(&self) -> bool {
        matches!(self.phase, Phase::Done)
    }
}

impl TurnMachine {
    fn executed(&mut self, at: usize, out: &mut Vec<Command>) {
        let Phase::Tools(round) = &self.phase else { return };
        let Some(pending) = round.calls.get(at) else { return };
        let (name, query) = (pending.call.name.clone(), super::command::query_of(&pending.call.input));
        let failure = pending.result.as_ref().and_then(|result| result.failure.as_ref());
        let outage = failure.is_some_and(|failure| matches!(failure.kind.as_str(), "exception" | "timeout"));
        let finished = Notice::ToolFinished {
            id: pending.call.id.clone(),
            name: name.clone(),
            round: self.round(),
            is_error: pending.result.as_ref().is_some_and(|result| result.is_error),
            excerpt: super::command::shorten(&pending.result.as_ref().map(ToolResult::prose).unwrap_or_default(), 200),
            duration: pending.duration,
        };
        emit(out, finished);
        let now = self.now.seconds();
        let breaker = self.breakers.entry(name.clone()).or_default();
        if outage {
            breaker.failure(now);
        } else {
            breaker.success();
        }
        if name.contains("search") {
            self.outcome.searches += 1;
            let notice = Notice::SearchCompleted { round: self.round(), query, count: self.outcome.searches };
            emit(out, notice);
        }
        self.advance(out);
    }

    fn decided(&mut self, id: Id, hash: &str, decision: ApprovalDecision, out: &mut Vec<Command>) {
        if !matches!(self.phase, Phase::Tools(_)) {
            return self.drop_answer();
        }
        let Phase::Tools(mut round) = std::mem::replace(&mut self.phase, Phase::Done) else { return };
        let taken = round.decided(id, hash, decision, self, out);
        self.phase = Phase::Tools(round);
        if taken { self.advance(out) } else { self.drop_answer() }
    }

    fn fired(&mut self, id: Id, partial: Option<Response>, out: &mut Vec<Command>) {
        if id == self.deadline {
            self.deadline = 0;
            if self.end_children(Stop::WallTime, "the time of the run was up", out) {
                return;
            }
            self.abort(partial, out, "the time of the run was up");
            return self.stop_at(Limit::WallTime, out);
        }
        match &mut self.phase {
            Phase::Waiting { timer, asking } if *timer == id => {
                let mut asking = asking.clone();
                if let Some(limit) = self.next_attempt_exceeds() {
                    return self.stop_at(limit, out);
                }
                asking.attempt += 1;
                asking.id = self.id();
                self.send(asking, out);
            }
            Phase::Tools(round) => {
                if round.lapsed(id, out) {
                    self.advance(out);
                } else {
                    self.drop_answer();
                }
            }
            Phase::Recalling(_) => {
                if !self.recall_lapsed(id, out) {
                    self.drop_answer();
                }
            }
            _ => self.drop_answer(),
        }
    }
}

fn emit(out: &mut Vec<Command>, notice: Notice) {
    out.push(Command::Emit { notice });
}

fn refuse(code: &'static str, message: &str) -> Command {
    Command::Refuse { error: Error::usage(code, message) }
}

const fn forces_tools(choice: &ToolChoice) -> bool {
    matches!(choice, ToolChoice::Any | ToolChoice::Tool(_))
}
