//! Between a tool's result and the model stands a supervisor, for tools whose results may hold private things.
//!
//! What the detectors call sensitive goes to the supervisor; where that is unsure, fails or takes too long, and for
//! every secret, a person decides. Silence, errors and the end of the run are a no. What is not released never enters
//! the history: no request, summary or archive can hold it. A release counts for the same call for a while; a no does
//! not. The supervisor itself sees the result without the private parts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::{
    Phase, Release, Round, TurnMachine, emit,
    question::Question,
    roles::Job,
    round::{Pending, denied_reason},
    table::TurnFact,
};
use crate::{
    ApprovalDecision, Command, Id, Notice, Purpose, Time, arguments_hash,
    role::{PrivateFinds, Verdict, fenced, plain_line, rule_verdict, strip_prompt_markup},
};
use loopwright_base::message::{Block, Role, ToolFailure, ToolResult};
use loopwright_guard::{
    DecidedBy, Judgement, RiskLevel,
    policy::Verdict as Ruled,
    sensitivity::{Level, classify_from},
};

/// Characters of the user's words that a supervisor is given.
const ASKED: usize = 2_000;
/// Releases that are kept.
const MOST: usize = 500;

/// What was released, and until when that counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Releases(BTreeMap<String, Time>);

/// A round whose results are looked at before the model gets them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Supervising {
    pub(super) round: Round,
    /// Calls about which a person has to decide, in order.
    people: Vec<usize>,
    pub(super) question: Option<Question>,
}

impl Supervising {
    pub(super) fn waiting(&self) -> Vec<String> {
        let name = |at: usize| self.round.calls.get(at).map_or("", |pending| pending.call.name.as_str());
        match &self.question {
            Some(asked) => vec![format!("a decision about the result of {}", name(asked.call))],
            None => vec!["the supervisor".to_owned()],
        }
    }

    pub(super) fn into_round(self, out: &mut Vec<Command>) -> Round {
        if let Some(asked) = self.question {
            asked.take_back(out);
        }
        self.round
    }
}

/// What names a call for the releases of a session.
fn key_of(pending: &Pending) -> String {
    let call = &pending.call;
    format!("{:032x}", xxh3_128(format!("{}\n{}", call.name, call.arguments_text()).as_bytes()))
}

/// All words of a result, those of its failure too.
fn words_of(result: &ToolResult) -> String {
    let mut text = result.prose();
    if let Some(failure) = &result.failure {
        text.push('\n');
        text.push_str(&failure.message);
        text.push('\n');
        text.push_str(failure.hint.as_deref().unwrap_or_default());
    }
    text
}

impl TurnMachine {
    /// What a result holds, if somebody has to decide about it.
    fn private(&self, pending: &Pending) -> Option<PrivateFinds> {
        let config = self.config.roles.supervisor.as_ref()?;
        // What never ran gave nothing; what is settled stays so.
        if pending.settled || pending.running.is_none() || !config.tools.watches(&pending.call.name) {
            return None;
        }
        let result = pending.result.as_ref()?;
        let text = words_of(result);
        let sensitivity = classify_from(&text, config.tools.of(&pending.call.name));
        (sensitivity.level >= Level::Sensitive).then(|| PrivateFinds::of(&text, &sensitivity))
    }

    /// The results of a round are in. Gives the round back if nobody has to be waited for.
    pub(super) fn supervise(&mut self, mut round: Round, out: &mut Vec<Command>) -> Option<Round> {
        if self.config.roles.supervisor.is_none() || self.core.interrupted || round.aborted {
            return Some(round);
        }
        let mut people = Vec::new();
        for at in 0..round.calls.len() {
            let Some(pending) = round.calls.get(at) else { break };
            let Some(found) = self.private(pending) else { continue };
            if found.level == Level::Secret {
                people.push(at);
                continue;
            }
            let key = key_of(pending);
            if self.is_released(&key) {
                self.settle(&mut round, at, true, "kept", 1.0, "the same call was released before", out);
                continue;
            }
            let prompt = self.supervisor_prompt(pending, &found);
            if self.ask_role(Job::Supervise { call: at }, prompt, out).is_ok() {
                continue;
            }
            let Some(pending) = round.calls.get(at) else { break };
            let verdict = if self.config.roles.of(Purpose::Supervisor).is_some_and(|role| role.chain.is_empty()) {
                let arguments = pending.call.arguments_text();
                Some(rule_verdict(&found, &pending.call.name, plain_line(arguments, ASKED).as_str(), &self.asked_for()))
            } else {
                None
            };
            match verdict.filter(|verdict| verdict.confidence >= self.threshold()) {
                Some(verdict) => {
                    let reason = verdict.reason;
                    self.settle(&mut round, at, verdict.allow, "rules", verdict.confidence, &reason, out);
                }
                // Unsure, or nobody who may be asked: a person decides.
                None => people.push(at),
            }
        }
        if people.is_empty() && !self.desk.asks(Purpose::Supervisor) {
            return Some(round);
        }
        let supervising = Supervising { round, people, question: None };
        self.enter(TurnFact::ResultsPrivate, Phase::Supervising(supervising), out);
        self.supervision(out);
        None
    }

    fn threshold(&self) -> f64 {
        self.config.roles.supervisor.as_ref().map_or(1.0, |config| config.threshold)
    }

    fn is_released(&self, key: &str) -> bool {
        let kept = self.desk.supervisor.0.get(key).is_some_and(|until| self.core.now < *until);
        kept || self.config.roles.supervisor.as_ref().is_some_and(|config| config.released.contains(key))
    }

    /// What the user wrote, the newest last. A task that another model wrote is not the user's.
    pub(super) fn asked_for(&self) -> String {
        if let Some(asked) = &self.config.asked {
            return asked.clone();
        }
        let own = |block: &Block| match block {
            Block::Text(text) if !text.text.starts_with('[') => Some(plain_line(&text.text, ASKED)),
            _ => None,
        };
        let users = self.history.iter().rev().filter(|message| message.role == Role::User);
        let mut said: Vec<String> = users.flat_map(|message| message.content.iter().filter_map(own)).take(4).collect();
        said.reverse();
        said.join("\n")
    }

    fn supervisor_prompt(&self, pending: &Pending, found: &PrivateFinds) -> String {
        let call = &pending.call;
        let detectors: Vec<&str> = found.detectors.iter().map(String::as_str).collect();
        let can_send = self.config.tools.iter().filter(|tool| !tool.read_only).take(20).map(|tool| tool.name.as_str());
        let can_send: Vec<&str> = can_send.collect();
        let data = format!(
            "The user asked: {}\nThe call: {}({})\nThe result, private parts taken out: {}",
            self.asked_for(),
            plain_line(&call.name, 80),
            plain_line(&loopwright_guard::sensitivity::redact(call.arguments_text()), 1_000),
            found.excerpt
        );
        format!(
            "Sensitivity: {}, {} finds ({}).\nCircumstances: round {}, tools that change or send something: {}.\n{}",
            found.level.name(),
            found.count,
            detectors.join(", "),
            self.core.spent.iterations,
            if can_send.is_empty() { "none".to_owned() } else { plain_line(&can_send.join(", "), 400) },
            fenced(&data)
        )
    }

    /// A call's result is released, or taken out.
    #[allow(clippy::too_many_arguments, reason = "what is told of a decision")]
    fn settle(
        &mut self,
        round: &mut Round,
        at: usize,
        allowed: bool,
        by: &str,
        confidence: f64,
        reason: &str,
        out: &mut Vec<Command>,
    ) {
        let Some(pending) = round.calls.get(at) else { return };
        let Some(found) = self.private(pending) else { return };
        let key = key_of(pending);
        let (id, name) = (pending.call.id.clone(), pending.call.name.clone());
        let Some(pending) = round.calls.get_mut(at) else { return };
        pending.settled = true;
        if !allowed {
            pending.result = Some(withheld(&id, &name, &found, reason));
        } else if by != "kept" && found.level < Level::Secret {
            let until = self.core.now.after(self.config.roles.supervisor.as_ref().map_or(0.0, |config| config.keep));
            let now = self.core.now;
            let kept = &mut self.desk.supervisor.0;
            if kept.len() >= MOST {
                kept.retain(|_, until| now < *until);
            }
            if kept.len() < MOST {
                kept.insert(key.clone(), until);
            }
        }
        let level = found.level.name().to_owned();
        let (by, reason) = (by.to_owned(), plain_line(reason, 200));
        let key = if found.level < Level::Secret { key } else { String::new() };
        self.outcome.roles.supervised.push(Release {
            id: id.clone(),
            name: name.clone(),
            by: by.clone(),
            allowed,
            key,
        });
        self.outcome.roles.trim();
        emit(out, Notice::Supervised { call_id: id, name, level, by, allowed, confidence, reason });
    }

    /// Before results go into the history: what nobody has released is taken out.
    pub(super) fn withhold(&mut self, round: &mut Round) {
        if self.config.roles.supervisor.is_none() {
            return;
        }
        for at in 0..round.calls.len() {
            self.settle(round, at, false, "run", 1.0, "the run ended before it was decided", &mut Vec::new());
        }
    }

    /// The supervisor's model has said something.
    pub(super) fn verdict(&mut self, call: usize, verdict: &Verdict, model: &str, out: &mut Vec<Command>) {
        let sure = verdict.confidence >= self.threshold() && verdict.sensitivity < Level::Secret;
        self.with_supervising(|turn, supervising| {
            if sure {
                turn.settle(
                    &mut supervising.round,
                    call,
                    verdict.allow,
                    model,
                    verdict.confidence,
                    &verdict.reason,
                    out,
                );
            } else {
                supervising.people.push(call);
            }
        });
        self.supervision(out);
    }

    /// The supervisor's models have said nothing that can be used.
    pub(super) fn no_verdict(&mut self, call: usize, out: &mut Vec<Command>) {
        self.with_supervising(|_, supervising| supervising.people.push(call));
        self.supervision(out);
    }

    /// Asks the next person, or goes on where all is decided.
    fn supervision(&mut self, out: &mut Vec<Command>) {
        self.with_supervising(|turn, supervising| {
            while supervising.question.is_none() && !supervising.people.is_empty() {
                let call = supervising.people.remove(0);
                turn.ask_person(supervising, call, out);
            }
        });
        let Phase::Supervising(supervising) = &*self.phase else { return };
        if supervising.question.is_some() || self.desk.asks(Purpose::Supervisor) {
            return;
        }
        let Phase::Supervising(supervising) = self.phase.take() else { return };
        self.end_round(supervising.round, out);
    }

    fn ask_person(&mut self, supervising: &mut Supervising, at: usize, out: &mut Vec<Command>) {
        let Some(pending) = supervising.round.calls.get(at) else { return };
        let Some(found) = self.private(pending) else { return };
        if self.core.spent.approvals >= self.config.budget.approvals {
            let reason = "the budget of approvals is used up";
            return self.settle(&mut supervising.round, at, false, "run", 1.0, reason, out);
        }
        self.core.spent.approvals += 1;
        let (id, timer) = (self.core.id(), self.core.id());
        let expires = self.core.now.after(self.config.approval_timeout);
        let call = pending.call.clone();
        let text = pending.result.as_ref().map(words_of).unwrap_or_default();
        // Another question than the one about the call: a decision about that is none about this.
        let hash = format!("{}{:016x}", arguments_hash(&call), xxh3_64(text.as_bytes()));
        let risk = if found.level == Level::Secret { RiskLevel::Dangerous } else { RiskLevel::Confirm };
        let why =
            format!("the result of {:?} holds {}; shall the model {} see it?", call.name, found.words(), self.model());
        let judged = Judgement {
            verdict: Ruled::Ask,
            risk,
            by: DecidedBy::Sensitivity,
            rules: found.detectors.iter().take(8).map(|name| format!("sensitivity:{name}")).collect(),
            part: Some(found.excerpt),
            span: None,
            why: why.clone(),
            touches: Vec::new(),
            secret: true,
            names_paths: true,
        };
        emit(out, Notice::ApprovalAsked { call_id: call.id.clone(), name: call.name.clone(), risk, expires });
        out.push(Command::Timer { id: timer, at: expires });
        let judged = Some(Box::new(judged));
        out.push(Command::Approve { id, call, hash: hash.clone(), risk, why, expires, judged });
        supervising.question = Some(Question { id, timer, call: at, hash, expires, risk });
    }

    /// A person has decided about a result; false if nobody asked.
    pub(super) fn released(&mut self, id: Id, hash: &str, decision: ApprovalDecision, out: &mut Vec<Command>) -> bool {
        let Some(supervising) = self.phase.supervising() else { return false };
        let Some(asked) = supervising.question.take_if(|asked| asked.id == id) else { return false };
        asked.stop_timer(out);
        let ends = decision == ApprovalDecision::Abort;
        let refused = if asked.hash != hash {
            Some("the decision does not name this result".to_owned())
        } else if self.core.now > asked.expires {
            Some("the decision came too late".to_owned())
        } else {
            denied_reason(decision)
        };
        self.user_spoke();
        self.answered_about(asked.call, refused, ends, out);
        true
    }

    /// The time for a decision is over; false if the timer is not that of the question.
    pub(super) fn release_lapsed(&mut self, timer: Id, out: &mut Vec<Command>) -> bool {
        let Some(supervising) = self.phase.supervising() else { return false };
        let Some(asked) = supervising.question.take_if(|asked| asked.lapses_with(timer)) else { return false };
        out.push(Command::Abort { id: asked.id });
        self.answered_about(asked.call, Some("nobody answered in time".to_owned()), false, out);
        true
    }

    /// Nobody is asked any more: what is undecided stays out.
    pub(super) fn take_back_supervision(&mut self, out: &mut Vec<Command>) {
        self.desk.take_back(|job| matches!(job, Job::Supervise { .. }), out);
        let Phase::Supervising(supervising) = self.phase.take() else { return };
        let round = supervising.into_round(out);
        self.end_round(round, out);
    }

    fn answered_about(&mut self, call: usize, refused: Option<String>, ends: bool, out: &mut Vec<Command>) {
        self.with_supervising(|turn, supervising| {
            let allowed = refused.is_none();
            let reason = refused.unwrap_or_else(|| "a person has released it".to_owned());
            if let Some(pending) = supervising.round.calls.get(call) {
                let (id, reason) = (pending.call.id.clone(), reason.clone());
                emit(out, Notice::ApprovalDecided { call_id: id, allowed, reason });
            }
            turn.settle(&mut supervising.round, call, allowed, "person", 1.0, &reason, out);
            if ends {
                supervising.round.aborted = true;
                supervising.people.clear();
            }
        });
        if ends {
            self.desk.take_back(|job| matches!(job, Job::Supervise { .. }), out);
        }
        self.supervision(out);
    }
}

/// The result in place of one that the model may not see.
fn withheld(id: &str, name: &str, found: &PrivateFinds, reason: &str) -> ToolResult {
    let failure = ToolFailure {
        kind: "withheld".into(),
        message: format!(
            "the result holds {} and was not released: {}",
            found.words(),
            strip_prompt_markup(reason, 200)
        ),
        hint: Some("go on without it, or tell the user what you would need and why".into()),
    };
    ToolResult::failed(id, name, failure)
}
