//! What the model has answered is read, decided on and acted on.
//!
//! Every reply goes through [`assess`] once, and each call of it is answered in the history, whatever is decided. An
//! empty answer is never a success.

use super::{
    super::{Command, IterationRecord, Notice, Stop},
    Asking, TurnMachine,
    calls::{Tidy, tidy_reply},
    decision::{Decision, Situation, assess},
    emit, gate,
    hooks::Decided,
    round::Round,
    senses,
};
use std::collections::BTreeMap;

use loopwright_base::{
    error::Error,
    message::{Block, Message, Role, StopReason, ToolFailure, ToolUse},
    request::Response,
    text::clip,
};
use loopwright_extract::{self as extract, Reading, RepairedCall, Signatures};
use loopwright_guard::Judgement;
use loopwright_monitor::{
    continuation::{Standing, continuation},
    speech::{self, Said},
    stuck::REPEATED_TEXT,
};

/// The readable reasoning of an answer.
fn thought_of(message: &Message) -> String {
    let thoughts = message.content.iter().filter_map(|block| match block {
        Block::Thinking(thinking) => Some(thinking.text.as_str()),
        _ => None,
    });
    thoughts.collect()
}

/// The length of the longest name of a call that a warning shows, in characters.
const SHOWN: usize = 80;

impl TurnMachine {
    pub(super) fn generated(&mut self, asking: &Asking, response: Response, out: &mut Vec<Command>) {
        let round = self.round();
        self.warn_adapted(&response, out);
        self.core.spent.add_answer(response.usage, self.config.price.as_ref());
        let duration = self.core.now.since(asking.since);
        self.outcome.iterations.push(IterationRecord { iteration: round, duration, attempts: asking.attempt });
        let usage = response.usage;
        self.reported(usage.input, usage.provider_tool_uses);
        emit(out, Notice::RoundFinished { round, duration, usage, provider_tool_uses: usage.provider_tool_uses });
        self.answered(response, out);
    }

    /// Reads an answer and decides what to do with it.
    pub(super) fn read(&mut self, response: Response, out: &mut Vec<Command>) {
        let (tools, mut teller) = self.searches(out);
        tools.searches_read(&response, response.stop == StopReason::PauseTurn, &mut teller);
        let Response { mut message, stop, .. } = response;
        let stop = stop.understood();
        self.mend_calls(&mut message, out);
        let Reading { asked, quoted, unclear, unread, .. } = self.read_markup(&mut message, out);
        let prose = message.prose();
        self.outcome.transcript.push_str(&prose);
        let thought = thought_of(&message);
        let Tidy { message, mut calls, mut broken } = self.tidy(message, &stop, out);
        tell_unclear(&unclear, &mut broken);
        self.resolve_names(&mut calls, out);
        if !prose.trim().is_empty() {
            self.core.reply = Some(prose.clone());
        }
        if !message.content.is_empty() {
            self.history.push(message);
        }

        let no_calls = calls.is_empty();
        match &stop {
            StopReason::Refusal => {
                self.close_calls(&calls, "the model refused to go on");
                return self.finish(Stop::Refusal, out);
            }
            StopReason::ContentFilter if no_calls => return self.finish(Stop::ContentFilter, out),
            StopReason::ContextWindow if no_calls => return self.finish(Stop::ContextWindow, out),
            StopReason::MaxTokens if no_calls && self.senses.says_the_same(&self.config, &prose, &thought) => {
                return self.end_of_loop(out);
            }
            StopReason::Other(reason) if no_calls && reason == REPEATED_TEXT => {
                self.senses.says_the_same(&self.config, &prose, &thought);
                return self.end_of_loop(out);
            }
            StopReason::MaxTokens if no_calls => {
                self.warn(out, "output_limit", "the answer was cut at the model's output limit");
                return self.finish(Stop::OutputLimit, out);
            }
            _ => {}
        }
        if no_calls && prose.trim().is_empty() && stop != StopReason::PauseTurn && !self.core.interrupted {
            return self.empty_answer(out);
        }
        if no_calls
            && quoted.is_empty()
            && !self.core.interrupted
            && !self.config.tools.is_empty()
            && (extract::opens_call(&prose) || !unread.is_empty())
        {
            return self.markup_answer(out);
        }
        if let Some(stop) = self.desk.sanity.stop.filter(|_| !no_calls) {
            self.close_calls(&calls, "the run was stopped before this call");
            return self.finish(stop, out);
        }
        let mut judged: Vec<Judgement> = calls.iter().map(|call| self.judge(call)).collect();
        for (_, judged) in judged.iter_mut().enumerate().filter(|(at, _)| asked.contains(at)) {
            gate::quoted(judged);
        }
        // A reply with calls goes by its calls; its words are not read.
        let said = if no_calls { speech::said(&prose) } else { Said::default() };
        let situation = Situation {
            interrupted: self.core.interrupted,
            tool_calls: calls.len(),
            limit: self.config.limit_of_calls(self.limit_ahead(no_calls), &calls, &mut broken),
            risk: gate::riskiest(&judged),
            asks: judged.iter().any(Judgement::asks),
            stuck: self.senses.goes_on_in_circles(&self.config, &calls),
            pace: self.senses.pace(&self.config),
            provider_paused: stop == StopReason::PauseTurn,
            asks_for_input: said.asks,
            may_nudge: said.states_next_step
                && !self.senses.nudged
                && !self.tools.off
                && !self.tools.left_out
                && !self.config.tools.is_empty(),
        };
        let decision = assess(&situation);
        self.senses.tell_decision(&self.config, self.round(), decision, &situation, &calls, out);
        self.decided_on(Decided { decision, calls, broken, judged, stop, prose }, decision.rule(&situation), out);
    }

    /// Does what was decided about a reply.
    pub(super) fn act(&mut self, decided: Decided, out: &mut Vec<Command>) {
        let Decided { decision, calls, broken, judged, stop, prose } = decided;
        let no_calls = calls.is_empty();
        match decision {
            Decision::Continue | Decision::PauseForConfirm if !no_calls => {
                self.core.spent.tool_rounds += 1;
                self.rouse_for(&calls);
                let given = self.answer_calls(&calls, &broken, &judged, out);
                let round = Round::new(calls, given, broken, judged, self);
                if self.config.guard.is_some() {
                    round.tell_judgements(out);
                }
                round.tell_answered(self, out);
                for message in self.config.words_on_made(&self.history, &round) {
                    self.warn(out, "not_repeated", message);
                }
                self.carry_on(round, out);
            }
            Decision::Continue if stop == StopReason::PauseTurn => {
                if let Some(word) = self.leave_searches(out) {
                    self.history.push(Message::user(word));
                }
                self.ask(out);
            }
            Decision::Continue | Decision::PauseForConfirm => {
                self.senses.nudged = true;
                let next_step = speech::stated_step(&prose);
                let succeeded = (!self.outcome.tool_calls.is_empty()).then_some(self.senses.last_failure.is_none());
                let standing =
                    Standing { next_step, succeeded, failure: self.senses.last_failure.clone(), stuck: false };
                self.history.push(Message::user(continuation(&standing).unwrap_or_else(|| "Continue.".to_owned())));
                self.ask(out);
            }
            // The person has said something more since the request.
            Decision::Complete | Decision::PauseForInput if !self.core.said.is_empty() => self.ask(out),
            Decision::Complete | Decision::PauseForInput if self.asks_for_answer(&prose, out) => {}
            Decision::Complete => {
                let stop = if stop == StopReason::EndTurn { Stop::Natural } else { Stop::NoToolUse };
                self.finish(stop, out);
            }
            Decision::PauseForInput if speech::asks_for_input(&prose) => self.finish(Stop::NeedsUserInput, out),
            Decision::PauseForInput => self.finish(Stop::Ambiguous, out),
            Decision::PauseCheck => {
                self.close_calls(&calls, "the run was stopped before this call");
                let stop = if self.core.interrupted { Stop::UserInterrupt } else { Stop::LowMomentum };
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

    /// A reply went round in circles until it was cut.
    fn end_of_loop(&mut self, out: &mut Vec<Command>) {
        let goes_on = !self.core.interrupted && self.next_request_exceeds().is_none();
        let Some(advice) = self.senses.end_of_loop(&self.config, goes_on, self.round(), out) else {
            return self.finish(Stop::NoProgress, out);
        };
        self.history.push(Message::user(advice));
        self.ask(out);
    }

    /// Arguments of native calls that are no object are mended as those of calls in text are.
    fn mend_calls(&mut self, message: &mut Message, out: &mut Vec<Command>) {
        let repaired = extract::mend_calls(message);
        self.tell_repaired(&repaired, out);
    }

    fn tell_repaired(&mut self, repaired: &[RepairedCall], out: &mut Vec<Command>) {
        for RepairedCall { name, repairs } in repaired {
            let message = format!("the arguments of a call of {name:?} were no JSON object: {}", repairs.join(", "));
            self.warn(out, "repaired_call", message);
        }
    }

    /// Calls that the model has written into its text become calls, reasoning becomes reasoning; what it quotes stays
    /// as it is.
    pub(super) fn read_markup(&mut self, message: &mut Message, out: &mut Vec<Command>) -> Reading {
        let request = self.request_read();
        if !extract::reads_reply(&request) {
            return Reading::default();
        }
        if self.hooks.replaced.is_some() {
            self.prepared.signatures = None;
        }
        let none = Signatures::default();
        let read = request.read_markup;
        let signatures = if read {
            self.prepared.signatures.get_or_insert_with(|| extract::reply_signatures(&request))
        } else {
            &none
        };
        let reading = extract::read_reply(message, &request, signatures);
        self.tell_repaired(&reading.repaired, out);
        if reading.doubled > 0 {
            let calls = if reading.doubled == 1 { "a call" } else { "calls" };
            let message = format!("the answer has {calls} in its text beside real ones; those in the text did not run");
            self.warn(out, "doubled_call", message);
        }
        if let Some(name) = reading.quoted.first() {
            let more = reading.quoted.len() - 1;
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            let message = format!(
                "the answer quotes a call of {name:?}{more} from what the model was shown; it stayed text and did not run"
            );
            self.warn(out, "quoted_call", message);
        }
        reading
    }

    fn read_signatures(&mut self) {
        if self.prepared.signatures.is_none() {
            self.prepared.signatures = Some(extract::signatures(&self.readable_tools()));
        }
    }

    /// Makes a reply fit for the history, and tells how many of its calls are more than may run.
    fn tidy(&mut self, message: Message, stop: &StopReason, out: &mut Vec<Command>) -> Tidy {
        let most = self.config.budget.calls_per_round;
        let tidy = tidy_reply(message, stop, most, &mut self.tools.ids);
        let left = tidy.calls.len().saturating_sub(most as usize);
        if left > 0 {
            let many = tidy.calls.len();
            let message =
                format!("the answer has {many} calls; the first {most} run (`calls_per_round`), {left} don't");
            self.warn(out, "too_many_calls", message);
        }
        tidy
    }

    /// Calls of names that evidently mean a tool are calls of it, judged and run as such; the history keeps what was
    /// written.
    fn resolve_names(&mut self, calls: &mut [ToolUse], out: &mut Vec<Command>) {
        for call in calls {
            if self.config.tool(&call.name).is_some() {
                continue;
            }
            self.read_signatures();
            if let Some(name) = self.prepared.signatures.as_ref().and_then(|signatures| signatures.meant(&call.name)) {
                let message = format!("the model called {:?}; it was understood as {name:?}", clip(&call.name, SHOWN));
                name.clone_into(&mut call.name);
                if !self.outcome.warnings.iter().any(|told| told.ends_with(&message)) {
                    self.warn(out, "understood_name", message);
                }
            }
        }
    }

    /// An empty answer is never a success: it is asked for once more, then it is an error of the model.
    fn empty_answer(&mut self, out: &mut Vec<Command>) {
        if self.nudge("Your answer was empty. Answer in words, or call a tool.", out) {
            return;
        }
        if self.core.reply.is_some() && self.outcome.tool_calls.is_empty() {
            return self.finish(Stop::Natural, out);
        }
        self.fail(
            Error::model("empty_answer", format!("the model {:?} gave an empty answer", self.config.model))
                .hint("try again, or another model"),
            out,
        );
    }

    /// A call that was written as text and could not be read is no answer: it is asked for once more, then it is an
    /// error of the model.
    fn markup_answer(&mut self, out: &mut Vec<Command>) {
        let mut said =
            "Your answer was a tool call written as text, and it did not run. Call the tool itself, or answer in words."
                .to_owned();
        let dialect = self.config.tool_format.as_deref().and_then(extract::dialect_named);
        if let Some(dialect) = dialect.filter(|_| self.config.reads_markup()) {
            said = format!(
                "Your answer was a tool call written as text that can't be read, and it did not run. Write it exactly so, \
                 with its name and arguments, or answer in words:\n{}",
                dialect.example()
            );
        }
        if self.nudge(&said, out) {
            return;
        }
        let message = format!("the model {:?} answered with a tool call written as text", self.config.model);
        let hint = if self.config.reads_markup() {
            "try again, or another model"
        } else {
            "read_markup=True reads such calls"
        };
        self.fail(Error::model("markup_answer", message).hint(hint), out);
    }

    /// Tells the model once between two rounds of tools what its reply lacks, and asks again.
    fn nudge(&mut self, said: &str, out: &mut Vec<Command>) -> bool {
        // Who went on since it was told may be told again.
        let went_on = self.history.entries().iter().rev().map(|entry| entry.message()).find_map(|message| {
            let told = message.role == Role::User && message.prose() == said;
            message.tool_results().next().map(|_| true).or_else(|| told.then_some(false))
        });
        if (self.senses.nudged && went_on != Some(true)) || self.next_request_exceeds().is_some() {
            return false;
        }
        self.senses.nudged = true;
        self.history.push(Message::user(said));
        self.ask(out);
        true
    }
}

/// Says of each call that wasn't clear what was not, so that the model can write it again.
fn tell_unclear(unclear: &BTreeMap<usize, String>, broken: &mut [Option<ToolFailure>]) {
    for (at, reason) in unclear {
        if let Some(Some(failure)) = broken.get_mut(*at) {
            failure.message = format!("{} ({reason})", failure.message);
        }
    }
}
