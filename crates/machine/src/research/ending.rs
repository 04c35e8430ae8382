//! The end of a research: by itself, by a limit, by an interrupt or with an error; a report is made of what there is.
//!
//! Children are told and awaited, so that their usage is counted; all other work is given up.

use super::{ResearchMachine, ResearchResult, Stage, UnkeptChunk, markdown, report};
use crate::{Command, Id, Interrupt, Stop};
use loopwright_base::{error::Error, message::Message, request::Response};

impl ResearchMachine {
    pub(super) fn natural_stop(&mut self) -> Stop {
        if let Some(limit) = self.limit {
            return limit.stop();
        }
        let said = self.report.as_ref().is_some_and(|report| !report.is_empty());
        if said {
            return Stop::Verified;
        }
        match self.search_error.take().filter(|_| self.state.sources.is_empty()) {
            Some(error) if self.failed_searches as u64 == self.outcome.searches => {
                let message = format!("every search failed; the last: {}", error.message);
                self.outcome.error = Some(Error { message, ..error });
                Stop::Error
            }
            _ => Stop::Abstained,
        }
    }

    /// Ends with an error.
    pub(super) fn fail(&mut self, error: Error, out: &mut Vec<Command>) {
        self.outcome.error = Some(error);
        let why = if self.stage == Stage::Embedding || self.stage == Stage::Scouting { "failed" } else { "interrupt" };
        self.end_early(why, Stop::Error, None, out);
    }

    /// Ends early: children are told and awaited, all else is given up.
    pub(super) fn end_early(
        &mut self,
        why: &'static str,
        stop: Stop,
        partial: Option<Box<Response>>,
        out: &mut Vec<Command>,
    ) {
        self.queue.clear();
        self.ready.clear();
        self.ending = Some(stop);
        let mut partial = partial;
        for id in self.pending.keys().copied().collect::<Vec<_>>() {
            if self.asked.contains_key(&id) {
                out.push(Command::Interrupt { id, how: Interrupt::Cancel, partial: partial.take() });
            } else {
                let given_up = self.pending.remove(&id);
                out.push(Command::Abort { id });
                if let Some(work) = given_up {
                    self.search_cut(&work, out);
                }
            }
        }
        self.go(why, Stage::Ending, out);
    }

    pub(super) fn interrupt(&mut self, how: Interrupt, partial: Option<Box<Response>>, out: &mut Vec<Command>) {
        match self.stage {
            Stage::Idle => {
                self.go("interrupt", Stage::Done, out);
                self.finish(Stop::Cancelled, out);
            }
            Stage::Ending | Stage::Done => {}
            _ => {
                let stop = if how == Interrupt::Cancel { Stop::Cancelled } else { Stop::UserInterrupt };
                self.stopped(stop.name(), "somebody ended it");
                self.end_early("interrupt", stop, partial, out);
            }
        }
    }

    pub(super) fn fired(&mut self, timer: Id, partial: Option<Box<Response>>, out: &mut Vec<Command>) {
        if timer != self.deadline {
            return self.drop_answer();
        }
        self.deadline = 0;
        if self.stage == Stage::Ending {
            return;
        }
        let name = Stop::WallTime.name();
        self.stopped(name, "the time of the run was up");
        self.warn(name, "the time of the run was up".to_owned(), out);
        self.end_early("interrupt", Stop::WallTime, partial, out);
    }

    /// Ends before it has begun, with a sentence that says why.
    pub(super) fn decline(&mut self, words: &str, out: &mut Vec<Command>) {
        let outcome = &mut self.outcome;
        (outcome.stop, outcome.verified) = (Stop::Abstained, Some(true));
        outcome.r#final = Some(words.to_owned());
        words.clone_into(&mut outcome.transcript);
        self.history.push(Message::assistant(words.to_owned()));
        out.push(Command::Finish { outcome: Box::new(self.outcome.clone()) });
    }

    pub(super) fn finish(&mut self, stop: Stop, out: &mut Vec<Command>) {
        if self.deadline != 0 {
            out.push(Command::Abort { id: self.deadline });
        }
        let report = match self.report.take() {
            Some(report) => *report,
            None => self.assemble_report(),
        };
        let text = markdown(&report, self.config.style);
        let complete = stop == Stop::Verified || stop.is_limit() || stop == Stop::UserInterrupt;
        let said = !report.is_empty();
        let output = serde_json::json!({
            "sections": report.sections.len(), "cited": report.bibliography.len(), "stopped": report.stopped,
        });
        self.end(output, out);
        let set_up = self.is_set_up();
        let fresh = std::mem::take(&mut self.fresh).into_iter();
        self.state.unkept_chunks.extend(fresh.map(|one| UnkeptChunk { chunk: one.chunk, vector: one.vector }));
        let outcome = &mut self.outcome;
        if said && complete {
            // Every statement in it has passed the check, however early it ended.
            outcome.verified = Some(true);
            outcome.r#final = Some(text.clone());
        } else {
            outcome.verified = Some(false);
            outcome.best_draft = said.then(|| text.clone());
            if stop == Stop::Abstained {
                outcome.r#final = Some(text.clone());
            }
        }
        outcome.sources = report::evidence(&report.bibliography, &self.state);
        outcome.attempts = self.state.cycles;
        outcome.stop = stop;
        outcome.duration = self.now.since(self.started);
        outcome.spent = self.spent.clone();
        if let Some(text) = &outcome.r#final {
            outcome.transcript.clone_from(text);
            self.history.push(Message::assistant(text.clone()));
        }
        if set_up || said {
            outcome.research = Some(Box::new(ResearchResult { report, state: self.state.clone() }));
        }
        self.stage = Stage::Done;
        out.push(Command::Finish { outcome: Box::new(outcome.clone()) });
    }
}
