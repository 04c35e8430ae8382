//! The grounded answer: gather → act → verify, with feedback, a few attempts, and graceful failure.
//!
//! Sources are gathered once; a turn writes the answer from them; rules hold the answer against what it cites. An
//! attempt that fails goes on from the history of the one before it, and a call that may change something is not made
//! twice. All attempts share one budget. Only an answer that passed is `final`.

mod claims;
mod config;
mod follow;
mod format;
mod judge;
mod placed;
mod roles;
mod schema;
mod silence;
mod table;
mod verify;

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

pub use config::{GroundedConfig, Lengths, Profile};
pub use judge::JudgeConfig;
pub use table::{TRANSITIONS, diagram, transitions};
pub use verify::{Claim, Evidence, Issue, Severity, Verification, verify};

use super::{
    BudgetUsage, Command, Event, EventKind, Id, Interrupt, Limit, Machine, MachineConfig, Notice, Outcome, Stop, Time,
    command::{emit, refuse},
    turn::{TurnConfig, finder_name, made_calls},
};
use loopwright_base::{
    error::{Error, Result},
    message::{Block, Message, Role},
    request::{History, Response},
    sources::{Source, SourceKind, parse_feedback, parse_prompt, render_feedback, render_supported},
    text::clip,
};
use loopwright_retrieve::gather::Gathered;

/// The phase of a grounded answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum GroundedPhase {
    Idle,
    /// A search is under way.
    Gathering {
        id: Id,
        since: Time,
    },
    /// A child writes an answer.
    Acting {
        id: Id,
        since: Time,
        /// The stop for which the child was told to end.
        ending: Option<Stop>,
    },
    Done,
    /// A model judges an answer that passed the rules.
    Judging(Box<judge::PendingJudgement>),
}

/// An answer that did not pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct FailedDraft {
    text: String,
    errors: usize,
    issues: Vec<String>,
}

/// The machine of a grounded answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroundedMachine {
    config: GroundedConfig,
    base: Id,
    issued: u32,
    phase: GroundedPhase,
    history: History,
    question: String,
    #[serde(flatten)]
    found: GatheredSources,
    started: Time,
    now: Time,
    deadline: Id,
    spent: BudgetUsage,
    best: Option<FailedDraft>,
    outcome: Outcome,
    /// The feedback that the attempt in flight was given about the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    feedback: Option<String>,
    /// Characters of the last draft.
    #[serde(default)]
    drafted: usize,
}

/// The sources that were gathered for the question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct GatheredSources {
    /// The sources in the prompt.
    sources: Vec<Source>,
    /// The rest of the files, where that is little.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    beside: Vec<Source>,
}

impl GroundedMachine {
    /// A grounded answer that has not begun. `base` is added to the number of every command.
    pub fn new(config: GroundedConfig, base: Id) -> Self {
        Self {
            config,
            base,
            issued: 0,
            phase: GroundedPhase::Idle,
            history: History::new(),
            question: String::new(),
            found: GatheredSources::default(),
            started: Time::default(),
            now: Time::default(),
            deadline: 0,
            spent: BudgetUsage::default(),
            best: None,
            outcome: Outcome::new(Stop::Error),
            feedback: None,
            drafted: 0,
        }
    }

    /// The usage so far.
    pub(crate) const fn spent(&self) -> &BudgetUsage {
        &self.spent
    }

    /// The history so far; while an attempt is in flight, that with which it began.
    pub const fn history(&self) -> &History {
        &self.history
    }

    /// The name of the phase: a state of [`transitions`].
    pub const fn phase(&self) -> &'static str {
        match &self.phase {
            GroundedPhase::Idle => "idle",
            GroundedPhase::Gathering { .. } => "gathering",
            GroundedPhase::Acting { ending: None, .. } => "acting",
            GroundedPhase::Judging(judging) if judging.ending.is_none() => "judging",
            GroundedPhase::Acting { .. } | GroundedPhase::Judging(_) => "ending",
            GroundedPhase::Done => "done",
        }
    }

    fn id(&mut self) -> Id {
        self.issued += 1;
        self.base + Id::from(self.issued)
    }

    fn elapsed(&self) -> f64 {
        self.now.since(self.started)
    }

    fn warn(&mut self, out: &mut Vec<Command>, code: &str, message: String) {
        self.outcome.warnings.push(format!("{code}: {message}"));
        emit(out, Notice::Warning { code: code.to_owned(), message });
    }

    fn start(&mut self, mut messages: Vec<Message>, out: &mut Vec<Command>) {
        self.started = self.now;
        if let Err(error) = self.config.check() {
            return self.fail(error, out);
        }
        let asked = messages.last().filter(|last| last.role == Role::User).map(Message::prose);
        let Some(question) = asked.filter(|question| !question.trim().is_empty()) else {
            let error = Error::usage("empty_prompt", "there is no question to answer");
            return self.fail(error.hint("end the messages with one of the user's that holds text"), out);
        };
        let last = messages.pop();
        let mut thread = self.config.thread.clone();
        thread.extend(conversation(&messages));
        messages.extend(last);
        self.history = messages.into_iter().collect();
        self.question = question;
        self.deadline = self.id();
        out.push(Command::Timer { id: self.deadline, at: self.started.after(self.config.turn.budget.wall_time) });
        emit(out, Notice::PhaseStarted { phase: "gather".to_owned(), attempt: 1 });
        let id = self.id();
        self.phase = GroundedPhase::Gathering { id, since: self.now };
        let (question, limits) = (follow::query_of(&self.question, &thread), self.config.gather.clone());
        out.push(Command::Search { id, question, thread, limits });
    }

    fn found(&mut self, since: Time, found: Result<Gathered>, out: &mut Vec<Command>) {
        let gathered = match found {
            Ok(gathered) => gathered,
            Err(error) => {
                let output = serde_json::json!({"error": error.to_string()});
                self.finished_phase("gather", 1, since, output, out);
                return self.fail(error, out);
            }
        };
        let of = |kind| gathered.sources.iter().filter(|source| source.kind == kind).count();
        let output = serde_json::json!({
            "sources": gathered.sources.len(),
            "thread": of(SourceKind::Thread),
            "files": of(SourceKind::File),
            "files_seen": gathered.files_seen,
            "files_matched": gathered.files_matched,
            "thread_matched": gathered.thread_matched,
            "problems": gathered.problems.len(),
        });
        if let Some(first) = gathered.problems.first() {
            let message = match gathered.problems.len() {
                1 => first.clone(),
                many => format!("{first} (and {} more)", many - 1),
            };
            self.warn(out, "not_read", message);
        }
        for failure in gathered.failures {
            self.warn(out, "source_failed", failure);
        }
        self.found = GatheredSources { sources: gathered.sources, beside: gathered.beside };
        self.finished_phase("gather", 1, since, output, out);

        // The question with its sources takes the place of the question; what else it held stays.
        let mut messages: Vec<Message> = self.history.iter().cloned().collect();
        if let Some(last) = messages.last_mut() {
            last.content.retain(|block| !matches!(block, Block::Text(_)));
            let prompt = render_supported(&self.question, &self.found.sources, gathered.support, None);
            last.content.push(Block::text(prompt));
        }
        self.history = messages.into_iter().collect();
        self.act(out);
    }

    /// Starts an attempt, or ends the run if the budget forbids it.
    fn act(&mut self, out: &mut Vec<Command>) {
        let budget = &self.config.turn.budget;
        if let Some(limit) = self.spent.next_request_exceeds(budget, self.elapsed(), 0) {
            return self.stop_at(limit, out);
        }
        self.outcome.attempts += 1;
        let attempt = self.outcome.attempts;
        emit(out, Notice::PhaseStarted { phase: "act".to_owned(), attempt });
        let mut child = self.config.child(attempt, budget.remaining(&self.spent, self.elapsed()));
        if attempt > 1 {
            child.made = made_calls(&self.outcome.tool_calls, &self.history);
        }
        let id = self.id();
        self.phase = GroundedPhase::Acting { id, since: self.now, ending: None };
        let config = Box::new(MachineConfig::Turn(child));
        out.push(Command::Spawn { id, config, messages: self.history.clone() });
    }

    fn child(&mut self, since: Time, ending: Option<Stop>, child: Outcome, messages: History, out: &mut Vec<Command>) {
        let attempt = self.outcome.attempts;
        let output = serde_json::json!({
            "stop": child.stop.name(),
            "characters": child.r#final.as_ref().map_or(0, |text| text.chars().count()),
            "rounds": child.spent.iterations,
            "tool_calls": child.tool_calls.len(),
        });
        self.finished_phase("act", attempt, since, output, out);
        self.history = messages;
        let (stop, draft, said, error) = self.take(since, child);
        if ending.is_some() || !matches!(stop, Stop::Natural | Stop::NoToolUse) {
            let stop = match ending {
                // The child may have come to an end of its own at the same moment; what it was told stands.
                Some(ending) => ending,
                None => stop,
            };
            self.outcome.error = error;
            return self.give_up(stop, draft.or(said), out);
        }
        let text = draft.unwrap_or_default();
        emit(out, Notice::Draft { text: text.clone(), attempt, verified: false });
        self.verify(text, out);
    }

    /// Adds the usage and records of a child; returns its stop, its answer, its text without one, and its error.
    fn take(&mut self, since: Time, child: Outcome) -> (Stop, Option<String>, Option<String>, Option<Error>) {
        let (round, offset) = (self.spent.iterations, since.since(self.started));
        self.spent.add_child(&child.spent);
        let outcome = &mut self.outcome;
        outcome.tool_calls.extend(child.tool_calls.into_iter().map(|mut call| {
            call.iteration += round;
            call.at += offset;
            call
        }));
        outcome.iterations.extend(child.iterations.into_iter().map(|mut iteration| {
            iteration.iteration += round;
            iteration
        }));
        outcome.searches += child.searches;
        outcome.roles.add(*child.roles);
        outcome.dropped += child.dropped;
        outcome.acted = child.acted;
        if child.stop == Stop::HookVeto {
            outcome.message = child.message;
        }
        for warning in child.warnings {
            if !outcome.warnings.contains(&warning) {
                outcome.warnings.push(warning);
            }
        }
        if !outcome.transcript.is_empty() && !child.transcript.is_empty() {
            outcome.transcript.push_str("\n\n");
        }
        outcome.transcript.push_str(&child.transcript);
        (child.stop, child.r#final, child.best_draft, child.error)
    }

    fn verify(&mut self, text: String, out: &mut Vec<Command>) {
        let attempt = self.outcome.attempts;
        self.drafted = text.chars().count();
        emit(out, Notice::PhaseStarted { phase: "verify".to_owned(), attempt });
        let mut tools = tool_sources(&self.history, &self.config.turn);
        // What else the files hold may be cited by name.
        tools.extend(self.found.beside.iter().filter(|one| text.contains(&one.reference)).cloned());
        let evidence = Evidence {
            question: &self.question,
            sources: &self.found.sources,
            tools: &tools,
            unseen: self.spent.usage.provider_tool_uses > 0,
        };
        let verification = match &self.config.schema {
            Some(schema) => schema::verify_json(&text, schema, &evidence, &self.config.lengths),
            None => verify(&text, &evidence, self.config.profile, &self.config.lengths),
        };
        let passed = verification.passed();
        let text = if passed && self.config.schema.is_some() { schema::without_fence(&text).to_owned() } else { text };
        let output = serde_json::json!({"passed": passed, "issues": verification.issues});
        self.finished_phase("verify", attempt, self.now, output, out);
        let issues: Vec<String> = verification.issues.iter().map(Issue::to_string).collect();
        if passed && !verification.abstains && self.judge(&text, &issues, &verification.cited, out) {
            return;
        }
        if passed {
            self.outcome.warnings.extend(issues);
            self.outcome.verified = Some(true);
            self.outcome.r#final = Some(text);
            let stop = if verification.abstains {
                Stop::Abstained
            } else {
                self.outcome.sources = evidence_of(verification.cited, &self.found.sources);
                Stop::Verified
            };
            return self.finish(stop, out);
        }
        let (errors, feedback) = (verification.errors(), verification.feedback());
        self.failed_attempt(text, errors, issues, &feedback, out);
    }

    fn keep_draft(&mut self, text: String, errors: usize, issues: Vec<String>) {
        if self.best.as_ref().is_none_or(|best| errors <= best.errors) {
            self.best = Some(FailedDraft { text, errors, issues });
        }
    }

    /// Goes on with feedback, or gives up after the last attempt.
    fn failed_attempt(
        &mut self,
        text: String,
        errors: usize,
        issues: Vec<String>,
        feedback: &str,
        out: &mut Vec<Command>,
    ) {
        self.keep_draft(text, errors, issues);
        if self.outcome.attempts >= self.config.turn.budget.verify_attempts {
            return self.give_up(Stop::Unverified, None, out);
        }
        self.history.push(Message::user(render_feedback(feedback)));
        self.feedback = Some(feedback.to_owned());
        // What was streamed of the draft is void.
        emit(out, Notice::Reset { round: self.spent.iterations });
        self.act(out);
    }

    fn stop_at(&mut self, limit: Limit, out: &mut Vec<Command>) {
        let stop = limit.stop();
        self.warn(out, stop.name(), "the budget of the run is used up; there is no verified answer".to_owned());
        self.give_up(stop, None, out);
    }

    /// Ends without a verified answer. The best whole draft is kept; without one, the last text.
    fn give_up(&mut self, stop: Stop, said: Option<String>, out: &mut Vec<Command>) {
        if let Some(best) = self.best.take() {
            let before = self.outcome.warnings.len();
            self.outcome.warnings.extend(best.issues);
            self.outcome.best_draft = Some(best.text);
            if stop == Stop::Unverified || stop.is_limit() {
                let issues = self.outcome.warnings.iter().skip(before).cloned().collect::<Vec<_>>();
                self.outcome.message = Some(apology(self.outcome.attempts, &issues, self.found.sources.is_empty()));
            }
        } else {
            self.outcome.best_draft = said;
        }
        self.finish(stop, out);
    }

    fn fail(&mut self, error: Error, out: &mut Vec<Command>) {
        self.outcome.error = Some(error);
        self.finish(Stop::Error, out);
    }

    fn finish(&mut self, stop: Stop, out: &mut Vec<Command>) {
        self.phase = GroundedPhase::Done;
        if self.deadline != 0 {
            out.push(Command::Abort { id: self.deadline });
        }
        let outcome = &mut self.outcome;
        outcome.stop = stop;
        outcome.verified = Some(outcome.verified == Some(true));
        outcome.duration = self.now.since(self.started);
        outcome.spent = self.spent.clone();
        out.push(Command::Finish { outcome: Box::new(outcome.clone()) });
    }

    fn finished_phase(
        &mut self,
        phase: &str,
        attempt: u32,
        since: Time,
        output: serde_json::Value,
        out: &mut Vec<Command>,
    ) {
        let duration = self.now.since(since);
        let input = match phase {
            "gather" => serde_json::json!({"question": self.question, "attempt": attempt}),
            "act" => serde_json::json!({
                "question": self.question,
                "context_size": self.found.sources.len(),
                "feedback": self.feedback,
            }),
            _ => serde_json::json!({"characters": self.drafted, "attempt": attempt}),
        };
        self.outcome.phases.push(super::PhaseRecord {
            phase: phase.to_owned(),
            attempt,
            at: since.since(self.started),
            duration,
            input,
            output: output.clone(),
        });
        emit(out, Notice::PhaseFinished { phase: phase.to_owned(), attempt, duration, output });
    }

    fn interrupt(&mut self, how: Interrupt, partial: Option<Box<Response>>, out: &mut Vec<Command>) {
        match &mut self.phase {
            GroundedPhase::Idle => self.finish(Stop::Cancelled, out),
            GroundedPhase::Gathering { id, .. } => {
                out.push(Command::Abort { id: *id });
                let stop = if how == Interrupt::Cancel { Stop::Cancelled } else { Stop::UserInterrupt };
                self.finish(stop, out);
            }
            GroundedPhase::Acting { id, ending, .. } if ending.is_none() => {
                if how == Interrupt::Cancel {
                    *ending = Some(Stop::Cancelled);
                }
                out.push(Command::Interrupt { id: *id, how, partial });
            }
            GroundedPhase::Judging(judging) if judging.ending.is_none() => {
                let stop = if how == Interrupt::Cancel { Stop::Cancelled } else { Stop::UserInterrupt };
                judging.ending = Some(stop);
                out.push(Command::Interrupt { id: judging.id, how: Interrupt::Cancel, partial });
            }
            // The child was told already.
            GroundedPhase::Acting { .. } | GroundedPhase::Judging(_) | GroundedPhase::Done => {}
        }
    }

    fn fired(&mut self, timer: Id, partial: Option<Box<Response>>, out: &mut Vec<Command>) {
        if timer != self.deadline {
            return self.drop_answer();
        }
        self.deadline = 0;
        match &mut self.phase {
            GroundedPhase::Gathering { id, .. } => {
                out.push(Command::Abort { id: *id });
                self.stop_at(Limit::WallTime, out);
            }
            GroundedPhase::Acting { id, ending, .. } if ending.is_none() => {
                *ending = Some(Stop::WallTime);
                let id = *id;
                self.warn(out, Stop::WallTime.name(), "the time of the run was up".to_owned());
                out.push(Command::Interrupt { id, how: Interrupt::Cancel, partial });
            }
            GroundedPhase::Judging(judging) if judging.ending.is_none() => {
                judging.ending = Some(Stop::WallTime);
                let id = judging.id;
                self.warn(out, Stop::WallTime.name(), "the time of the run was up".to_owned());
                out.push(Command::Interrupt { id, how: Interrupt::Cancel, partial });
            }
            _ => {}
        }
    }

    fn drop_answer(&mut self) {
        self.outcome.dropped += 1;
    }
}

impl Machine for GroundedMachine {
    fn step(&mut self, event: Event) -> Vec<Command> {
        let mut out = Vec::new();
        self.now = self.now.max(event.at);
        match (event.kind, &self.phase) {
            (_, GroundedPhase::Done) => self.drop_answer(),
            (EventKind::Start { messages }, GroundedPhase::Idle) => self.start(messages, &mut out),
            (EventKind::Start { .. }, _) => out.push(refuse("already_started", "the answer has already begun")),
            (EventKind::Interrupt { how, partial }, _) => self.interrupt(how, partial, &mut out),
            (_, GroundedPhase::Idle) => out.push(refuse("not_started", "the answer has not begun")),
            (EventKind::Found { id, found }, GroundedPhase::Gathering { id: asked, since }) if id == *asked => {
                self.found(*since, found, &mut out);
            }
            (EventKind::Child { id, outcome, messages }, GroundedPhase::Acting { id: child, since, ending })
                if id == *child =>
            {
                self.child(*since, *ending, *outcome, messages, &mut out);
            }
            (EventKind::Child { id, outcome, messages }, GroundedPhase::Judging(judging)) if id == judging.id => {
                let judging = judge::PendingJudgement::clone(judging);
                self.judged(judging, &outcome, messages, &mut out);
            }
            (EventKind::Fired { id, partial }, _) => self.fired(id, partial, &mut out),
            _ => self.drop_answer(),
        }
        out
    }

    fn waiting(&self) -> Vec<String> {
        match &self.phase {
            GroundedPhase::Idle | GroundedPhase::Done => Vec::new(),
            GroundedPhase::Gathering { .. } => vec!["the search for sources".to_owned()],
            GroundedPhase::Judging(_) => vec![format!("the judge of attempt {}", self.outcome.attempts)],
            GroundedPhase::Acting { .. } => vec![format!("the answer of attempt {}", self.outcome.attempts)],
        }
    }

    fn is_finished(&self) -> bool {
        matches!(self.phase, GroundedPhase::Done)
    }
}

/// The conversation as sources: prompts without the sources they carried, and no draft that failed.
fn conversation(messages: &[Message]) -> Vec<String> {
    let mut thread = Vec::new();
    let mut after = messages.iter().skip(1).map(Some).chain([None]);
    for message in messages {
        let next = after.next().flatten();
        let prose = message.prose();
        let failed = message.role == Role::Assistant
            && next.is_some_and(|next| next.role == Role::User && parse_feedback(&next.prose()).is_some());
        let said = matches!(message.role, Role::User | Role::Assistant);
        if failed || !said || prose.trim().is_empty() || parse_feedback(&prose).is_some() {
            continue;
        }
        thread.push(parse_prompt(&prose).map_or(prose, |(_, question, _)| question));
    }
    thread
}

/// The results of tools in a history, as sources by the tools' names; those of `recall`, the model's own words among
/// them, are no sources.
fn tool_sources(history: &History, config: &TurnConfig) -> Vec<Source> {
    let (recall, finder) = (config.recall_name(), finder_name(config));
    let results = history.iter().flat_map(Message::tool_results).filter(|result| !result.is_error);
    let results = results.filter(|result| result.name != recall && Some(&result.name) != finder.as_ref());
    results
        .map(|result| (result.name.as_str(), result.prose()))
        .filter(|(name, text)| !name.is_empty() && !text.trim().is_empty())
        .map(|(name, text)| Source {
            kind: SourceKind::Tool,
            reference: name.to_owned(),
            line: 1,
            end_line: text.trim_end_matches('\n').matches('\n').count() + 1,
            text,
            ..Source::default()
        })
        .collect()
}

/// The sources that an answer may rest on: the cited ones, then the others that were gathered.
fn evidence_of(cited: Vec<Source>, gathered: &[Source]) -> Vec<Source> {
    let mut all = cited;
    let named = all.len();
    for source in gathered {
        let is_cited = all.iter().take(named).any(|one| {
            one.reference == source.reference
                && one.kind == source.kind
                && one.line >= source.line
                && one.end_line <= source.end_line
        });
        if !is_cited {
            all.push(source.clone());
        }
    }
    all
}

/// The message to people where no attempt passed: that there is no answer, what is wrong with the best draft, and what
/// to ask next.
fn apology(attempts: u32, issues: &[String], no_sources: bool) -> String {
    const SHOWN: usize = 4;
    let attempts = if attempts == 1 { "1 attempt".to_owned() } else { format!("{attempts} attempts") };
    let mut said = format!(
        "I'm sorry: I could not give a verified answer to your question after {attempts}. This may be because\n\n\
         • the question needs information that I have no access to\n\
         • I need more context to answer it accurately\n\n"
    );
    if !issues.is_empty() {
        said.push_str("What is wrong with the best draft:\n\n");
        for issue in issues.iter().take(SHOWN) {
            // Writing to a string does not fail.
            let _ = writeln!(said, "• {}", clip(issue, 300));
        }
        if issues.len() > SHOWN {
            let _ = writeln!(said, "• and {} more", issues.len() - SHOWN);
        }
        said.push('\n');
    }
    said.push_str(if no_sources {
        "Could you rephrase the question in the words of the documents, or name a file or folder that holds the answer?"
    } else {
        "Could you rephrase the question, or add details: ask for one fact at a time, or for what the sources say about it?"
    });
    said
}
