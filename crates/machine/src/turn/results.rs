//! Rounds of tools, carried on as results come, and what follows when the last is there.
//!
//! Results stand in the order of the calls, each call is recorded once, and what senses, sanity and budgets have to
//! say goes with them.

use super::{
    super::{CallRecord, Command, Limit, Notice, Stop},
    Phase, TurnMachine,
    calls::not_run,
    emit,
    round::Round,
    sanity::Checked,
    searches::{is_outage, is_search},
    senses,
    table::TurnFact,
};
use loopwright_base::{
    error::FailureKind,
    message::{Block, Message, Role, ToolResult},
    text::clip,
};
use loopwright_monitor::stuck::{distinct_steps, outcomes};
use loopwright_wire::searches::query_of;

impl TurnMachine {
    /// Carries a round of tools as far as it goes without an answer from outside.
    pub(super) fn advance(&mut self, out: &mut Vec<Command>) {
        if let Phase::Tools(round) = self.phase.take() {
            self.carry_on(round, out);
        }
    }

    /// Carries a round on that is not where the turn stands, or is not yet.
    pub(super) fn carry_on(&mut self, mut round: Round, out: &mut Vec<Command>) {
        round.advance(self, out);
        if round.is_done() {
            if let Some(round) = self.supervise(round, out) {
                self.end_round(round, out);
            }
        } else {
            let fact = if round.asks() { TurnFact::PersonAsked } else { TurnFact::CallsOpen };
            self.enter(fact, Phase::Tools(round), out);
        }
    }

    pub(super) fn executed(&mut self, at: usize, out: &mut Vec<Command>) {
        let Phase::Tools(round) = &*self.phase else { return };
        let Some(pending) = round.calls.get(at) else { return };
        let (id, name, query) = (pending.call.id.clone(), pending.call.name.clone(), query_of(&pending.call.input));
        let failure = pending.result.as_ref().and_then(|result| result.failure.as_ref());
        let error = failure.map(|failure| failure.kind.clone());
        let outage = failure.is_some_and(|failure| is_outage(&name, &failure.kind));
        // It keeps a breaker of its own, which knows better.
        let is_open = outage && error.as_deref() == Some(FailureKind::BreakerOpen.name());
        let finished = Notice::ToolFinished {
            call_id: id.clone(),
            name: name.clone(),
            round: self.round(),
            is_error: pending.result.as_ref().is_some_and(|result| result.is_error),
            excerpt: clip(&pending.result.as_ref().map(ToolResult::prose).unwrap_or_default(), 200),
            duration: pending.duration,
        };
        emit(out, finished);
        if is_open {
            self.tools.breakers.entry(name.clone()).or_default().trip(self.core.now.seconds());
        } else {
            self.tools.learn(&name, outage, self.core.now);
        }
        if is_search(&name) {
            self.searches(out).1.ended(id, query, None, error);
        }
        self.advance(out);
    }

    /// A word to the model where searches are left alone from here on.
    pub(super) fn leave_searches(&mut self, out: &mut Vec<Command>) -> Option<&'static str> {
        let last = self.core.spent.iterations.saturating_add(1) >= self.config.budget.iterations;
        let word = self.tools.leave_searches(&self.config, last)?;
        self.warn(out, "search_down", "the search failed again and again: the next request goes without it");
        Some(word)
    }

    pub(super) fn end_round(&mut self, round: Round, out: &mut Vec<Command>) {
        let stop = if round.aborted {
            Some(Stop::DestructiveOperation)
        } else {
            self.hooks.halted.or_else(|| self.core.interrupted.then_some(Stop::UserInterrupt))
        };
        let spent = round.unasked && stop.is_none();
        let mut blocks = self.take_results(round);
        let ends = match stop {
            None => self.core.said.is_empty(),
            Some(stop) => stop == Stop::UserInterrupt,
        };
        if ends && self.takes_answer(&blocks) {
            return self.finish_answered(blocks, out);
        }
        if let Some(error) = self.counts_answer(&blocks).filter(|_| stop.is_none()) {
            self.history.push(Message::new(Role::User, blocks));
            return self.fail(error, out);
        }
        if spent {
            self.history.push(Message::new(Role::User, blocks));
            return self.stop_at(Limit::Approvals, out);
        }
        let (mut stop, word) = match stop.or(self.desk.sanity.stop) {
            Some(stop) => (Some(stop), None),
            None => self.senses.sense_round(&self.config, self.round(), out),
        };
        // It goes on, without what fails.
        stop = stop.filter(|stop| *stop != Stop::RepeatedFailures || !self.tools.fails_searching(&self.config));
        let down = if stop.is_none() { self.leave_searches(out) } else { None };
        if stop.is_none() {
            self.escalates(out);
            blocks.append(&mut self.hooks.added);
            blocks.extend(word.filter(|_| down.is_none()).map(Block::text));
            blocks.extend(down.map(Block::text));
            if down.is_none() || !self.tools.off {
                blocks.extend(self.word_about_budget().map(Block::text));
            }
        }
        let mut message = Message::new(Role::User, blocks);
        if stop.is_none() {
            match self.sanity_round(&message, out) {
                Checked::Go(note) => message.content.extend(note.map(Block::text)),
                Checked::Stop(why) => stop = Some(why),
                Checked::Wait => {
                    return self.enter(TurnFact::OpinionAwaited, Phase::Checking(message.content), out);
                }
            }
        }
        self.history.push(message);
        match stop {
            Some(stop) => self.finish(stop, out),
            None => self.go_on(out),
        }
    }

    /// Records a round and gives its results, in the order of the calls.
    pub(super) fn take_results(&mut self, mut round: Round) -> Vec<Block> {
        self.withhold(&mut round);
        let iteration = self.round();
        let mut blocks = Vec::with_capacity(round.calls.len() + 1);
        // A wrong answer is counted by itself.
        let acts = round.calls.iter().filter(|pending| !self.config.is_answer(&pending.call));
        let pairs = acts.filter_map(|pending| Some((&pending.call, pending.result.as_ref()?)));
        self.senses.last_failure = senses::failure_of(pairs.clone());
        let steps = pairs
            .map(|(call, result)| (self.senses.stuck.step(call, result), call.name.as_str(), call.arguments_text()));
        let steps = distinct_steps(steps);
        outcomes(&steps).for_each(|succeeded| self.senses.momentum.record(succeeded));
        if self.config.stuck.is_some() {
            self.senses.stuck.record_steps(&steps, None);
        }
        for pending in round.calls {
            let result = pending.result.unwrap_or_else(|| not_run(&pending.call, "the run ended before this call"));
            if pending.since.is_none()
                && !result.is_error
                && self.config.made_before(&self.history, &pending.call).is_some()
            {
                // It ran in an earlier attempt, and stands in its record.
                blocks.push(Block::ToolResult(result));
                continue;
            }
            let since = pending.since.unwrap_or(self.core.now);
            self.outcome.tool_calls.push(CallRecord {
                id: pending.call.id.clone(),
                name: pending.call.name.clone(),
                input: pending.call.input.clone(),
                iteration,
                at: since.since(self.core.started),
                duration: pending.duration,
                failure: result.failure.as_ref().map(|failure| failure.kind.clone()),
            });
            blocks.push(Block::ToolResult(result));
        }
        blocks
    }
}
