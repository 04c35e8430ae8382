//! How a turn ends: interrupts, what is under way stopped, and the outcome told.
//!
//! The history stays legal: every open call gets a result, and what was said until then is kept.

use super::{
    super::{Acted, Command, Interrupt, Stop},
    Phase, TurnMachine,
    calls::not_run,
    searches::CUT,
};
use loopwright_base::{
    error::Error,
    message::{Block, Message, Role, ToolUse},
    request::Response,
};

impl TurnMachine {
    pub(super) fn interrupt(&mut self, how: Interrupt, partial: Option<Response>, out: &mut Vec<Command>) {
        match how {
            Interrupt::AfterRound => {
                self.core.interrupted = true;
                match *self.phase {
                    Phase::Waiting { timer, .. } => {
                        out.push(Command::Abort { id: timer });
                        self.finish(Stop::UserInterrupt, out);
                    }
                    Phase::Tools(_) => {
                        self.interrupt_children(out);
                        self.advance(out);
                    }
                    Phase::Supervising(_) => {
                        self.take_back_supervision(out);
                    }
                    Phase::Checking(_) => {
                        self.abort(None, out, "the run was stopped");
                        self.finish(Stop::UserInterrupt, out);
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
    pub(super) fn abort(&mut self, partial: Option<Response>, out: &mut Vec<Command>, why: &str) {
        match self.phase.take() {
            Phase::Asking(asking) => {
                out.push(Command::Abort { id: asking.id });
                if let Some(partial) = &partial {
                    self.core.spent.add(partial.usage, self.config.price.as_ref());
                }
                self.keep_partial(partial.or_else(|| asking.said.map(|said| *said)));
            }
            Phase::Waiting { timer, asking } => {
                out.push(Command::Abort { id: timer });
                self.keep_partial(asking.said.map(|said| *said));
            }
            Phase::Recalling(recalling) => Self::abort_recall(&recalling, out),
            Phase::Tools(mut round) => {
                round.abort(why, self.core.now, out);
                let results = self.take_results(round);
                self.history.push(Message::new(Role::User, results));
            }
            Phase::Supervising(supervising) => {
                let round = supervising.into_round(out);
                let results = self.take_results(round);
                self.history.push(Message::new(Role::User, results));
            }
            Phase::Checking(blocks) if !blocks.is_empty() => self.history.push(Message::new(Role::User, blocks)),
            Phase::Held(held) => self.abort_held(*held, why, out),
            Phase::Idle | Phase::Checking(_) | Phase::Done => {}
        }
    }

    /// Every open call gets a result that says why it did not run.
    pub(super) fn close_calls(&mut self, calls: &[ToolUse], why: &str) {
        if calls.is_empty() {
            return;
        }
        let results = calls.iter().map(|call| Block::ToolResult(not_run(call, why))).collect();
        self.history.push(Message::new(Role::User, results));
    }

    pub(super) fn fail(&mut self, error: Error, out: &mut Vec<Command>) {
        self.outcome.error = Some(error);
        self.finish(Stop::Error, out);
    }

    /// Ends the run without a look at hooks.
    pub(super) fn close(&mut self, mut stop: Stop, out: &mut Vec<Command>) {
        if let Err(error) = self.phase.close() {
            (stop, self.outcome.error) = (Stop::Error, Some(error));
        }
        if self.core.deadline != 0 {
            out.push(Command::Abort { id: self.core.deadline });
        }
        self.desk.take_back(|_| true, out);
        self.last_summary(out);
        let (tools, mut teller) = self.searches(out);
        tools.end_searches(|_| Some(CUT), &mut teller);
        let answered = stop.is_success();
        let took_over = self.desk.acting > 0 || self.choice.model.is_some();
        let acted = took_over.then(|| Acted { place: self.place(), model: self.model().to_owned() });
        let outcome = &mut self.outcome;
        outcome.stop = stop;
        outcome.duration = self.core.elapsed();
        outcome.spent = self.core.spent.clone();
        outcome.acted = acted;
        if answered {
            outcome.r#final = self.core.reply.take();
        } else {
            outcome.best_draft = self.core.reply.take();
        }
        out.push(Command::Finish { outcome: Box::new(outcome.clone()) });
    }
}
