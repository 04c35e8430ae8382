//! Exchanges are summed up in the background: nothing waits for it, and one question is open at most. What came while
//! it was open is asked about together, afterwards. The summary stands first in what the window says of what left.

use serde::{Deserialize, Serialize};

use super::{Exchange, TurnMachine, emit, roles::Job};
use crate::{
    Command, Notice, Purpose,
    role::{Summary, fenced, summarize, transcript},
};
use loopwright_base::message::Message;

/// Characters of the summary in a window: a small part of any window that is worth compacting.
const WORDS: usize = 4_000;

/// What is summed up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Notes {
    /// Messages of the history that a summary speaks of.
    done: usize,
    /// Messages that were asked about; what is behind them waits.
    asked: usize,
}

impl TurnMachine {
    /// An exchange is over: it is summed up, now or when the last question is answered.
    pub(super) fn sum_up(&mut self, out: &mut Vec<Command>) {
        if self.config.roles.summarizer.is_none() || self.desk.asks(Purpose::Summarizer) {
            return;
        }
        let (from, upto) = (self.desk.summaries.asked, self.exchanges());
        if from >= upto {
            return;
        }
        let round = self.core.spent.iterations;
        self.desk.summaries.asked = upto;
        let job = Job::Summarize { from, upto, round };
        let has_model = self.config.roles.of(Purpose::Summarizer).is_some_and(|role| !role.chain.is_empty());
        let prompt = if has_model {
            format!("The exchange:\n{}", fenced(&transcript(self.part(from, upto))))
        } else {
            String::new()
        };
        if self.ask_role(job, prompt, out).is_err() {
            self.rules_summarize(from, upto, round, out);
        }
    }

    fn part(&self, from: usize, upto: usize) -> impl DoubleEndedIterator<Item = &Message> {
        self.history.behind(from).take(upto.saturating_sub(from))
    }

    /// The rules sum up.
    pub(super) fn rules_summarize(&mut self, from: usize, upto: usize, round: u32, out: &mut Vec<Command>) {
        let summary = summarize(self.part(from, upto));
        self.summarized(upto, round, "rules".to_owned(), summary, out);
    }

    /// A summary is there.
    pub(super) fn summarized(&mut self, upto: usize, round: u32, by: String, summary: Summary, out: &mut Vec<Command>) {
        if upto <= self.desk.summaries.done {
            // Something newer speaks of these messages already.
            return;
        }
        self.desk.summaries.done = upto;
        let report = &mut self.outcome.roles;
        report.summary.add(summary.clone());
        report.summaries.push(Exchange { round, by: by.clone(), summary: summary.clone() });
        report.trim();
        emit(out, Notice::Summarized { round, by, summary });
        // What came in the meantime.
        if self.desk.summaries.asked < self.exchanges() {
            self.sum_up(out);
        }
    }

    /// Messages of exchanges that are over.
    fn exchanges(&self) -> usize {
        match &*self.phase {
            // The reply whose calls run is no exchange yet.
            super::Phase::Tools(_) | super::Phase::Supervising(_) | super::Phase::Checking(_) => {
                self.history.len().saturating_sub(1)
            }
            _ => self.history.len(),
        }
    }

    /// The run is over: what no model has summed up, the rules do.
    pub(super) fn last_summary(&mut self, out: &mut Vec<Command>) {
        let (done, all) = (self.desk.summaries.done, self.history.len());
        if self.config.roles.summarizer.is_some() && done < all {
            self.desk.summaries.asked = all;
            self.rules_summarize(done, all, self.core.spent.iterations, out);
        }
    }

    /// The summary so far, for the window.
    pub(super) fn words_so_far(&self) -> Option<String> {
        let words = self.outcome.roles.summary.words(WORDS);
        (!words.is_empty()).then_some(words)
    }
}
