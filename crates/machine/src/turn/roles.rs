//! The roles' place in the turn: who is asked what, and what becomes of the answer.
//!
//! A role is asked beside what goes on; nobody waits for it but where it is configured so. Each question has one time
//! limit over all its models; an answer that can't be used is asked for once more with what is wrong with it; where
//! that does not help, the rules answer. What roles use counts in the run's budget and usage, and is set aside before
//! it is used. The end of the run takes all questions back.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{RoleConfig, RoleModel, Trigger, TurnMachine, emit, sanity, summarize, supervise};
use crate::{
    BudgetUsage, Command, Id, ModelSettings, Notice, Purpose, Time,
    role::{
        AnswerForm, InvalidAnswer, SanityResult, Summary, Verdict, plain_line, read_sanity, read_summary, read_verdict,
        repair,
    },
};
use loopwright_base::{
    error::{Failure, FailureKind},
    message::{Message, Role, Usage},
    request::{Effort, History, Request, Response},
    text::clip,
};

/// Characters of an answer that could not be used, as its author sees it again.
const SHOWN: usize = 2_000;

/// What a question is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Job {
    /// Sum up the messages from one to another.
    Summarize { from: usize, upto: usize, round: u32 },
    /// Say whether the run is sane; the rules have said this.
    Check { round: u32, triggers: Vec<Trigger>, rules: Box<SanityResult> },
    /// Say whether the model may see the result of the call at this place of the round.
    Supervise { call: usize },
}

impl Job {
    const fn purpose(&self) -> Purpose {
        match self {
            Self::Summarize { .. } => Purpose::Summarizer,
            Self::Check { .. } => Purpose::Sanity,
            Self::Supervise { .. } => Purpose::Supervisor,
        }
    }

    const fn form(&self) -> AnswerForm {
        match self {
            Self::Summarize { .. } => AnswerForm::Summary,
            Self::Check { .. } => AnswerForm::Sanity,
            Self::Supervise { .. } => AnswerForm::Verdict,
        }
    }

    fn read(&self, text: &str) -> Result<Answer, InvalidAnswer> {
        Ok(match self {
            Self::Summarize { .. } => Answer::Summary(read_summary(text)?),
            Self::Check { .. } => Answer::Sanity(Box::new(read_sanity(text)?)),
            Self::Supervise { .. } => Answer::Verdict(read_verdict(text)?),
        })
    }
}

/// What a role answered.
pub(super) enum Answer {
    Summary(Summary),
    Sanity(Box<SanityResult>),
    Verdict(Verdict),
}

/// A question that is open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Question {
    id: Id,
    timer: Id,
    pub(super) job: Job,
    /// Which model of the chain.
    place: u32,
    /// Requests so far.
    attempt: u32,
    /// The model's answer that could not be used, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    broken: Option<(String, String)>,
    /// It was asked to put its answer right; that is done once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    repaired: bool,
    /// The provider does not take schemas.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    bare: bool,
    prompt: String,
    since: Time,
    /// Tokens of the run's budget that are set aside for it.
    #[serde(default, skip_serializing_if = "loopwright_base::json::is_default")]
    reserved: u64,
}

impl Question {
    /// Whether it was taken back for a pause, to be put again afterwards. No command has the number 0.
    const fn is_laid_aside(&self) -> bool {
        self.id == 0
    }
}

/// What a role has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RoleSpent {
    /// Requests.
    pub requests: u32,
    /// Tokens.
    pub usage: Usage,
    /// Money, where prices are known.
    pub cost: Option<f64>,
    /// Seconds from questions to answers.
    pub seconds: f64,
    /// Answers of models that could be used.
    pub answered: u32,
    /// Questions that no model answered.
    pub failed: u32,
}

/// An exchange, summed up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// The round that was its last.
    pub round: u32,
    /// `rules`, or the model.
    pub by: String,
    /// What is worth keeping.
    pub summary: Summary,
}

/// A check of sanity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The round after which it was asked for.
    pub round: u32,
    /// Why then.
    pub triggers: Vec<String>,
    /// `rules`, or the model.
    pub by: String,
    /// What came of it.
    #[serde(flatten)]
    pub result: SanityResult,
}

/// A decision about a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Release {
    /// The call's id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Who decided.
    pub by: String,
    /// Whether the model may see it.
    pub allowed: bool,
    /// What names the call for later runs of the session.
    pub key: String,
}

/// What the roles of a run found and used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RolesReport {
    /// Exchanges, the newest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<Exchange>,
    /// All of them in one.
    #[serde(skip_serializing_if = "Summary::is_empty")]
    pub summary: Summary,
    /// Checks, the newest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sanity: Vec<Check>,
    /// Decisions about results.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub supervised: Vec<Release>,
    /// What each role has used.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub spent: BTreeMap<Purpose, RoleSpent>,
}

/// Entries of a report's lists that are kept.
const KEPT: usize = 64;

impl RolesReport {
    /// Whether there is nothing in it.
    #[allow(clippy::borrowed_box, reason = "as serde wants it")]
    pub(crate) fn is_empty(report: &Box<Self>) -> bool {
        **report == Self::default()
    }

    /// Adds what a child's roles found and used.
    pub(crate) fn add(&mut self, child: Self) {
        self.summaries.extend(child.summaries);
        self.summary.add(child.summary);
        self.sanity.extend(child.sanity);
        self.supervised.extend(child.supervised);
        for (purpose, used) in child.spent {
            let spent = self.spent.entry(purpose).or_default();
            spent.requests += used.requests;
            spent.usage += used.usage;
            spent.seconds += used.seconds;
            spent.answered += used.answered;
            spent.failed += used.failed;
            if let Some(cost) = used.cost {
                spent.cost = Some(spent.cost.unwrap_or(0.0) + cost);
            }
        }
        self.trim();
    }

    pub(super) fn trim(&mut self) {
        self.summaries.drain(..self.summaries.len().saturating_sub(KEPT));
        self.sanity.drain(..self.sanity.len().saturating_sub(KEPT));
        self.supervised.drain(..self.supervised.len().saturating_sub(KEPT));
    }
}

/// What the turn knows of its roles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RoleQueue {
    open: Vec<Question>,
    /// Which model of the turn's own chain acts; 0 is the first.
    #[serde(skip_serializing_if = "loopwright_base::json::is_default")]
    pub(super) acting: u32,
    /// How the first of the chain was asked: so is another one that says nothing of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<(Option<u64>, Option<f64>, Option<Effort>)>,
    /// The other settings of the first of the chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_settings: Option<Box<ModelSettings>>,
    pub(super) summaries: summarize::Notes,
    pub(super) sanity: sanity::Watch,
    pub(super) supervisor: supervise::Releases,
}

impl RoleQueue {
    /// Whether there is nothing to save.
    #[allow(clippy::borrowed_box, reason = "as serde wants it")]
    pub(super) fn is_empty(desk: &Box<Self>) -> bool {
        **desk == Self::default()
    }

    /// Whether a question's time limit has this number.
    pub(super) fn times(&self, timer: Id) -> bool {
        timer != 0 && self.open.iter().any(|question| question.timer == timer)
    }

    /// Whether a role is asked something.
    pub(super) fn asks(&self, purpose: Purpose) -> bool {
        self.open.iter().any(|question| question.job.purpose() == purpose)
    }

    /// Tokens that are set aside for answers to come.
    pub(super) fn reserved(&self) -> u64 {
        self.open.iter().fold(0, |sum, question| sum.saturating_add(question.reserved))
    }

    /// Takes questions back.
    pub(super) fn take_back(&mut self, which: impl Fn(&Job) -> bool, out: &mut Vec<Command>) {
        self.open.retain(|question| {
            let back = which(&question.job);
            if back && !question.is_laid_aside() {
                out.push(Command::Abort { id: question.id });
                out.push(Command::Abort { id: question.timer });
            }
            !back
        });
    }

    fn take(&mut self, found: impl Fn(&Question) -> bool) -> Option<Question> {
        let at = self.open.iter().position(|question| !question.is_laid_aside() && found(question))?;
        Some(self.open.remove(at))
    }
}

/// Tokens of a prompt, at three bytes each: no budget is passed because a count was kind.
fn estimate(text: &str) -> u64 {
    (text.len() / 3 + 64) as u64
}

impl TurnMachine {
    /// Asks the model of a role; gives the job back if there is none, or it may not be asked: then the rules answer.
    pub(super) fn ask_role(&mut self, job: Job, prompt: String, out: &mut Vec<Command>) -> Result<(), Job> {
        let purpose = job.purpose();
        let Some(role) = self.config.roles.of(purpose) else { return Err(job) };
        let Some(first) = role.chain.first() else { return Err(job) };
        let model = first.model.clone();
        let spent = self.outcome.roles.spent.get(&purpose).copied().unwrap_or_default();
        let size = estimate(&job.form().system()) + estimate(&prompt);
        if let Some(reason) = self.exceeds(role, &spent, size) {
            failed(out, purpose, &model, reason, last_resort(purpose));
            self.count(purpose, |spent| spent.failed += 1);
            return Err(job);
        }
        let timeout = self.time_for(purpose);
        // With the answer that could not be used, and the new one: what is set aside lasts for both.
        let reserved = match self.config.budget.tokens {
            Some(_) => size.saturating_add(role.most_tokens()).saturating_mul(2).saturating_add(SHOWN as u64),
            None => 0,
        };
        let (id, timer) = (self.core.id(), self.core.id());
        let question = Question {
            id,
            timer,
            job,
            place: 0,
            attempt: 1,
            broken: None,
            repaired: false,
            bare: false,
            prompt,
            since: self.core.now,
            reserved,
        };
        out.push(Command::Timer { id: timer, at: self.core.now.after(timeout) });
        self.put(&question, out);
        self.desk.open.push(question);
        Ok(())
    }

    /// Seconds in which a role has to answer.
    fn time_for(&self, purpose: Purpose) -> f64 {
        let spent = self.outcome.roles.spent.get(&purpose).map_or(0.0, |spent| spent.seconds);
        self.config
            .roles
            .of(purpose)
            .map_or(0.0, |role| role.budget.seconds.map_or(role.timeout, |most| role.timeout.min(most - spent)))
    }

    /// Why a role may not be asked any more.
    fn exceeds(&self, role: &RoleConfig, spent: &RoleSpent, size: u64) -> Option<&'static str> {
        let budget = &role.budget;
        if spent.requests >= budget.requests {
            return Some("its budget of requests is used up");
        }
        if budget.tokens.is_some_and(|most| spent.usage.total().saturating_add(size) >= most) {
            return Some("its budget of tokens is used up");
        }
        if budget.cost.is_some_and(|most| spent.cost.unwrap_or(0.0) >= most) {
            return Some("its budget of money is used up");
        }
        if budget.seconds.is_some_and(|most| spent.seconds >= most) {
            return Some("its budget of time is used up");
        }
        if self.core.spent.next_attempt_exceeds(&self.config.budget, self.core.elapsed(), 0).is_some() {
            return Some("the budget of the run is used up");
        }
        let needs = size.saturating_add(role.most_tokens()).saturating_mul(2).saturating_add(SHOWN as u64);
        // Half of what is left stays for the turn itself.
        if self.tokens_free().is_some_and(|free| needs > free / 2) {
            return Some("the run has too few tokens left");
        }
        None
    }

    /// Tokens of the run's budget that nobody uses or has set aside; `None` without such a budget.
    fn tokens_free(&self) -> Option<u64> {
        let most = self.config.budget.tokens?;
        let asking = match &*self.phase {
            super::Phase::Asking(asking) => asking.held.unwrap_or_default(),
            _ => 0,
        };
        Some(
            most.saturating_sub(self.core.spent.usage.total())
                .saturating_sub(self.desk.reserved())
                .saturating_sub(asking),
        )
    }

    fn put(&self, question: &Question, out: &mut Vec<Command>) {
        let purpose = question.job.purpose();
        let Some(role) = self.config.roles.of(purpose) else { return };
        let Some(model) = role.chain.get(question.place as usize) else { return };
        let form = question.job.form();
        let mut messages = History::new();
        messages.push(Message::user(question.prompt.as_str()));
        if let Some((said, problem)) = &question.broken {
            messages.push(Message::assistant(said.as_str()));
            messages.push(Message::user(repair(problem)));
        }
        let mut request = Request {
            model: model.model.clone(),
            system: Some(std::sync::Arc::new(Message::text(Role::System, form.system()))),
            messages,
            max_tokens: Some(model.max_tokens.unwrap_or(role.max_tokens)),
            temperature: model.temperature.or(role.temperature),
            effort: model.effort.or(role.effort),
            output: if question.bare { None } else { form.output() },
            stream: Some(false),
            ..Request::default()
        };
        model.settings.apply(&mut request);
        out.push(Command::Generate {
            id: question.id,
            purpose,
            place: question.place,
            attempt: question.attempt,
            request: Box::new(request),
        });
    }

    fn model_of(&self, question: &Question) -> Option<&RoleModel> {
        self.config.roles.of(question.job.purpose())?.chain.get(question.place as usize)
    }

    fn count(&mut self, purpose: Purpose, change: impl FnOnce(&mut RoleSpent)) {
        change(self.outcome.roles.spent.entry(purpose).or_default());
    }

    /// What an attempt used counts for the role and for the run.
    fn book(&mut self, question: &Question, usage: Usage) {
        let price = self.model_of(question).and_then(|model| model.price);
        self.core.spent.add(usage, price.as_ref());
        let mut one = BudgetUsage::default();
        one.add(usage, price.as_ref());
        self.count(question.job.purpose(), |spent| {
            spent.requests += 1;
            spent.usage += usage;
            if let Some(cost) = one.cost {
                spent.cost = Some(spent.cost.unwrap_or(0.0) + cost);
            }
        });
    }

    /// A role's model answered.
    pub(super) fn role_answered(&mut self, id: Id, response: &Response, out: &mut Vec<Command>) {
        let Some(mut question) = self.desk.take(|question| question.id == id) else { return self.drop_answer() };
        self.warn_adapted(response, out);
        self.book(&question, response.usage);
        // What was used of it is not set aside any more.
        question.reserved = question.reserved.saturating_sub(response.usage.total());
        let text = response.message.prose();
        match question.job.read(&text) {
            Ok(answer) => {
                let duration = self.core.now.since(question.since);
                let model = self.model_of(&question).map(|model| model.model.clone()).unwrap_or_default();
                let purpose = question.job.purpose();
                out.push(Command::Abort { id: question.timer });
                self.count(purpose, |spent| {
                    spent.seconds += duration;
                    spent.answered += 1;
                });
                let role = purpose.name().to_owned();
                let attempts = question.attempt;
                emit(
                    out,
                    Notice::RoleAnswered { role, model: model.clone(), attempts, duration, usage: response.usage },
                );
                self.role_said(question.job, answer, model, out);
            }
            Err(problem) if !question.repaired => {
                question.repaired = true;
                question.broken = Some((plain_line(&text, SHOWN), problem.0.clone()));
                if question.broken.as_ref().is_some_and(|(said, _)| said.is_empty()) {
                    question.broken = Some(("(nothing)".to_owned(), problem.0.clone()));
                }
                self.once_more(question, &problem.0, "repair", out);
            }
            Err(problem) => self.next_model(question, &problem.0, out),
        }
    }

    /// A role's model failed.
    pub(super) fn role_failed(&mut self, id: Id, failure: &Failure, partial: Option<Response>, out: &mut Vec<Command>) {
        let Some(mut question) = self.desk.take(|question| question.id == id) else { return self.drop_answer() };
        let usage = partial.map(|partial| partial.usage).unwrap_or_default();
        self.book(&question, usage);
        question.reserved = question.reserved.saturating_sub(usage.total());
        if self.core.now.since(question.since) >= self.time_for(question.job.purpose()) {
            // The request ran into the same limit, and its failure came before the timer.
            out.push(Command::Abort { id: question.timer });
            return self.no_answer(&question, "no answer in time", out);
        }
        let reason = format!("{}: {}", failure.kind.name(), failure.message);
        if failure.kind == FailureKind::BadRequest && !question.bare {
            // Not every server takes a schema; the prompt has it, too.
            question.bare = true;
            return self.once_more(question, &reason, "without a schema", out);
        }
        self.next_model(question, &reason, out);
    }

    /// The time for an answer is over.
    pub(super) fn role_late(&mut self, timer: Id, out: &mut Vec<Command>) {
        let Some(question) = self.desk.take(|question| question.timer == timer) else { return self.drop_answer() };
        out.push(Command::Abort { id: question.id });
        self.count(question.job.purpose(), |spent| spent.requests += 1);
        self.no_answer(&question, "no answer in time", out);
    }

    /// A run that pauses does not wait for what it does in the background: that is stopped, and done again later.
    pub(super) fn lay_aside(&mut self, out: &mut Vec<Command>) {
        let waited = matches!(*self.phase, super::Phase::Checking(_));
        let mut stopped = Vec::new();
        for question in &mut self.desk.open {
            let background = match question.job {
                Job::Summarize { .. } => true,
                Job::Check { .. } => !waited,
                Job::Supervise { .. } => false,
            };
            if background && !question.is_laid_aside() {
                out.push(Command::Abort { id: std::mem::take(&mut question.id) });
                out.push(Command::Abort { id: std::mem::take(&mut question.timer) });
                stopped.push((question.job.purpose(), self.core.now.since(question.since)));
            }
        }
        for (purpose, seconds) in stopped {
            self.count(purpose, |spent| {
                spent.requests += 1;
                spent.seconds += seconds;
            });
        }
    }

    /// The run goes on: what was laid aside is asked again.
    pub(super) fn take_up_again(&mut self, out: &mut Vec<Command>) {
        let all = std::mem::take(&mut self.desk.open);
        let (laid, open): (Vec<_>, Vec<_>) = all.into_iter().partition(Question::is_laid_aside);
        self.desk.open = open;
        for mut question in laid {
            question.since = self.core.now;
            if let Some(reason) = self.spent_on(&question) {
                self.no_answer(&question, reason, out);
                continue;
            }
            let purpose = question.job.purpose();
            let timeout = self.time_for(purpose);
            question.attempt += 1;
            (question.id, question.timer) = (self.core.id(), self.core.id());
            out.push(Command::Timer { id: question.timer, at: self.core.now.after(timeout) });
            self.put(&question, out);
            self.desk.open.push(question);
        }
    }

    /// The same model is asked again, if the role may ask once more.
    fn once_more(&mut self, mut question: Question, problem: &str, next: &str, out: &mut Vec<Command>) {
        if let Some(reason) = self.spent_on(&question) {
            out.push(Command::Abort { id: question.timer });
            return self.no_answer(&question, reason, out);
        }
        let model = self.model_of(&question).map(|model| model.model.clone()).unwrap_or_default();
        failed(out, question.job.purpose(), &model, problem, next);
        question.attempt += 1;
        question.id = self.core.id();
        self.put(&question, out);
        self.desk.open.push(question);
    }

    fn next_model(&mut self, mut question: Question, problem: &str, out: &mut Vec<Command>) {
        let before = self.model_of(&question).map(|model| model.model.clone()).unwrap_or_default();
        question.place += 1;
        let next = self.model_of(&question).map(|model| model.model.clone());
        match next {
            Some(next) if self.spent_on(&question).is_none() => {
                failed(out, question.job.purpose(), &before, problem, &next);
                question.attempt += 1;
                question.broken = None;
                question.repaired = false;
                question.bare = false;
                question.id = self.core.id();
                self.put(&question, out);
                self.desk.open.push(question);
            }
            _ => {
                question.place -= 1;
                out.push(Command::Abort { id: question.timer });
                self.no_answer(&question, problem, out);
            }
        }
    }

    /// Why nothing more may be spent on an open question.
    fn spent_on(&self, question: &Question) -> Option<&'static str> {
        let purpose = question.job.purpose();
        let role = self.config.roles.of(purpose)?;
        let spent = self.outcome.roles.spent.get(&purpose).copied().unwrap_or_default();
        let budget = &role.budget;
        let size = estimate(&question.prompt);
        if spent.requests >= budget.requests {
            Some("its budget of requests is used up")
        } else if budget.tokens.is_some_and(|most| spent.usage.total().saturating_add(size) >= most) {
            Some("its budget of tokens is used up")
        } else if budget.cost.is_some_and(|most| spent.cost.unwrap_or(0.0) >= most) {
            Some("its budget of money is used up")
        } else if self.core.spent.next_attempt_exceeds(&self.config.budget, self.core.elapsed(), 0).is_some() {
            Some("the budget of the run is used up")
        } else if self.config.budget.tokens.is_some() && question.reserved < size.saturating_add(role.most_tokens()) {
            Some("what was set aside for it is used up")
        } else {
            None
        }
    }

    /// No model answers: the rules do.
    fn no_answer(&mut self, question: &Question, reason: &str, out: &mut Vec<Command>) {
        let purpose = question.job.purpose();
        let model = self.model_of(question).map(|model| model.model.clone()).unwrap_or_default();
        let duration = self.core.now.since(question.since);
        self.count(purpose, |spent| {
            spent.seconds += duration;
            spent.failed += 1;
        });
        failed(out, purpose, &model, reason, last_resort(purpose));
        match question.job {
            Job::Summarize { from, upto, round } => self.rules_summarize(from, upto, round, out),
            Job::Check { .. } => self.rules_stand(out),
            Job::Supervise { call } => self.no_verdict(call, out),
        }
    }

    fn role_said(&mut self, job: Job, answer: Answer, model: String, out: &mut Vec<Command>) {
        match (job, answer) {
            (Job::Summarize { upto, round, .. }, Answer::Summary(summary)) => {
                self.summarized(upto, round, model, summary, out);
            }
            (Job::Check { round, triggers, rules }, Answer::Sanity(opinion)) => {
                self.opinion(round, &triggers, *rules, &opinion, model, out);
            }
            (Job::Supervise { call }, Answer::Verdict(verdict)) => self.verdict(call, &verdict, &model, out),
            _ => {}
        }
    }

    /// Whether another model could take over.
    pub(super) fn has_fallback(&self) -> bool {
        self.config.roles.fallback.len() > self.desk.acting as usize
    }

    /// The next model of the turn's own chain, where one has failed for good: not for a request that is wrong.
    pub(super) fn fall_back(&mut self, failure: &Failure, out: &mut Vec<Command>) -> bool {
        let ours = matches!(
            failure.kind,
            FailureKind::BadRequest
                | FailureKind::ContextTooLong
                | FailureKind::RequestTooLarge
                | FailureKind::TooManyOpenFiles
                | FailureKind::Usage
                | FailureKind::Internal
                | FailureKind::Cancelled
        );
        let Some(next) = self.config.roles.fallback.get(self.desk.acting as usize).filter(|_| !ours).cloned() else {
            return false;
        };
        let reason = format!("{}: {}", failure.kind.name(), failure.message);
        failed(out, Purpose::Executor, self.model(), &reason, &next.model);
        self.desk.acting += 1;
        self.act_as(next);
        true
    }

    /// From now on another model acts: its price counts, and its window, and what it is asked with.
    fn act_as(&mut self, model: RoleModel) {
        let settings = model.all_settings();
        self.config.context.policy.wire = model.wire.filter(|wire| Some(*wire) == self.config.context.policy.wire);
        self.config.model = model.model;
        self.choice.model = None;
        self.config.price = model.price;
        self.ask_with(&settings);
        self.prepared.signatures = None;
        self.forget_window();
    }

    /// From now on requests have these settings; what they leave open is asked for as the first model was. Members of
    /// a body were written for one host, and are nobody else's.
    pub(super) fn ask_with(&mut self, own: &ModelSettings) {
        let config = &mut self.config;
        let first = self.desk.first.get_or_insert((config.max_tokens, config.temperature, config.effort));
        let further = self.desk.first_settings.get_or_insert_with(|| {
            let mut settings = config.roles.acting.clone().unwrap_or_default();
            settings.top_p = config.top_p;
            settings.stop = Some(config.stop.clone());
            settings.cache = Some(config.cache);
            settings
        });
        config.max_tokens = own.max_tokens.or(first.0);
        config.temperature = own.temperature.or(first.1);
        config.effort = own.effort.or(first.2);
        config.top_p = own.top_p.or(further.top_p);
        config.stop = own.stop.clone().or_else(|| further.stop.clone()).unwrap_or_default();
        config.cache = own.cache.or(further.cache).unwrap_or(config.cache);
        config.roles.acting = Some(Box::new(ModelSettings {
            parallel_tool_calls: own.parallel_tool_calls.or(further.parallel_tool_calls),
            seed: own.seed.or(further.seed),
            extra_body: own.extra_body.clone(),
            omit: own.omit.clone(),
            ..ModelSettings::default()
        }));
        self.prepared.template = None;
    }
}

const fn last_resort(purpose: Purpose) -> &'static str {
    if matches!(purpose, Purpose::Supervisor) { "person" } else { "rules" }
}

fn failed(out: &mut Vec<Command>, purpose: Purpose, model: &str, reason: &str, next: &str) {
    let role = purpose.name().to_owned();
    let reason = clip(reason, 400);
    emit(out, Notice::RoleFailed { role, model: model.to_owned(), reason, next: next.to_owned() });
}
