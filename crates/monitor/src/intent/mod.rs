//! How a request should be taken up: asked about first, planned, split, handed on, or simply done.
//!
//! Signals are found in the words of a request and each says which words it is; the decision is a vote among them, so
//! that a reader can see why. Words never stop anything: the decision is advice, and the gate stands before the tool
//! call. A question is answered; only a reference to nothing and an act without a target are ambiguous.

mod shape;
mod signals;
mod subject;
mod target;
mod vote;
mod words;

use std::ops::Range;

use loopwright_base::text::head;
use serde::{Deserialize, Serialize};

pub use signals::IntentSignals;

use loopwright_lexicon::reading::{Reading, Side};

/// What to do with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Something is missing without which any answer is a guess.
    AskFirst,
    /// Plan first, with a way back.
    PlanWithRollback,
    /// Its parts don't need each other.
    Parallelize,
    /// Another agent should look, and report.
    Delegate,
    /// Do it.
    Direct,
}

impl Decision {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::AskFirst, Self::PlanWithRollback, Self::Parallelize, Self::Delegate, Self::Direct];

    /// The name in tables and in Python.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AskFirst => "ask_first",
            Self::PlanWithRollback => "plan_with_rollback",
            Self::Parallelize => "parallelize",
            Self::Delegate => "delegate",
            Self::Direct => "direct",
        }
    }
}

/// Words that gave a signal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The signal.
    pub signal: String,
    /// The place of the words in the message.
    pub words: Range<usize>,
}

/// What was decided about a request, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// What to do.
    pub decision: Decision,
    /// How likely the decision is the right one, from 0 to 1.
    pub confidence: f32,
    /// What was seen.
    pub signals: IntentSignals,
    /// The words that were seen.
    pub evidence: Vec<Evidence>,
    /// The votes for each decision, in the order of [`Decision::ALL`].
    pub scores: [f32; 5],
    /// Kinds of sub-agents that fit, at most three, of those that there are.
    pub sub_agents: Vec<String>,
    /// What to ask the user, where something should be asked.
    pub question: Option<String>,
    /// It would have been done directly, were that not so unsure.
    pub escalated: bool,
    /// A plan should be noted down before it begins.
    pub plan: bool,
}

impl Intent {
    /// The votes for each decision.
    pub fn votes(&self) -> Vec<(Decision, f32)> {
        Decision::ALL.into_iter().zip(self.scores).collect()
    }
}

/// The kinds of sub-agents that are suggested where nobody says which there are.
pub const SUB_AGENTS: [&str; 4] = ["explore", "code", "research", "plan"];

/// Below this confidence nothing is done directly.
pub const ESCALATE_BELOW: f32 = 0.35;

/// Bytes of a request that are read.
const LONGEST: usize = 8 * 1024;

/// How to take up `message`. `history` holds the texts said before, in which references may find what they mean;
/// `sub_agents` the kinds of sub-agents that there are.
pub fn assess_intent(message: &str, history: &[&str], sub_agents: &[&str]) -> Intent {
    let message = head(message, LONGEST);
    let reading = Reading::of(message, Side::Head);
    let seen = signals::read(message, &reading, history);
    vote::decide(seen, sub_agents)
}

#[cfg(test)]
mod tests;
