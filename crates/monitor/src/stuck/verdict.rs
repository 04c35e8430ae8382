//! What the detector has found, in words.

use serde::{Deserialize, Serialize};

/// The kinds of going round in circles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// The same call gave the same result.
    RepeatedCall,
    /// Calls that differ only in arguments that are noise by their names gave the same result.
    NearDuplicate,
    /// The same class of error came, whatever the arguments.
    RepeatedError,
    /// Several calls follow each other round after round, with the same results.
    Cycle,
    /// The state stays as it is.
    NoChange,
    /// Words, and no call.
    Monologue,
    /// One reply says the same again and again.
    RepeatedText,
}

impl Pattern {
    /// The name in results and journals.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RepeatedCall => "repeated_call",
            Self::NearDuplicate => "near_duplicate",
            Self::RepeatedError => "repeated_error",
            Self::Cycle => "cycle",
            Self::NoChange => "no_change",
            Self::Monologue => "monologue",
            Self::RepeatedText => "repeated_text",
        }
    }
}

/// A call that belongs to a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The tool; empty where the pattern is made of text.
    pub tool: String,
    /// The beginning of its arguments, or of the text.
    pub arguments: String,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// What kind.
    pub pattern: Pattern,
    /// The calls of one round, in order.
    pub members: Vec<Member>,
    /// How often it came.
    pub rounds: u64,
    /// The record with which it began, from 1.
    pub first: u64,
    /// The record with which it was found, from 1.
    pub last: u64,
    /// For people.
    pub sentence: String,
}

impl Verdict {
    pub(super) fn new(pattern: Pattern, members: Vec<Member>, rounds: u64, first: u64, last: u64) -> Self {
        let sentence = sentence(pattern, &members, rounds);
        Self { pattern, members, rounds, first, last, sentence }
    }

    /// What the model is told before the run ends.
    pub fn advice(&self) -> String {
        let what = match self.pattern {
            Pattern::RepeatedError => "Find out why it fails, or do it another way.",
            Pattern::Monologue => "Call a tool, or give your answer.",
            Pattern::RepeatedText => "Say it once, then go on.",
            Pattern::NoChange => "Do something that changes the state, or answer with what you have.",
            Pattern::RepeatedCall | Pattern::NearDuplicate | Pattern::Cycle => {
                "Doing it again will change nothing: use what you have, or do something else."
            }
        };
        format!("[{} {what} If it goes on like this, the run ends.]", self.sentence)
    }
}

fn sentence(pattern: Pattern, members: &[Member], rounds: u64) -> String {
    let tool = members.last().map_or("", |member| member.tool.as_str());
    match pattern {
        Pattern::RepeatedCall => {
            format!(
                "The tool `{tool}` was called {rounds} times in a row with the same arguments, and gave the same result."
            )
        }
        Pattern::NearDuplicate => format!(
            "The tool `{tool}` was called {rounds} times in a row with arguments and results that differ only in ids, numbers of \
             tries, times or words about it."
        ),
        Pattern::RepeatedError => {
            format!("The tool `{tool}` failed {rounds} times with the same error, and nothing new came between.")
        }
        Pattern::Cycle => {
            let names: Vec<String> = members.iter().take(6).map(|member| format!("`{}`", member.tool)).collect();
            let more = if members.len() > 6 { ", …" } else { "" };
            format!(
                "The same {} calls ({}{more}) were made {rounds} times in the same order, with the same results.",
                members.len(),
                names.join(", ")
            )
        }
        Pattern::NoChange => format!("Nothing has changed for {rounds} rounds."),
        Pattern::Monologue => format!("The last {rounds} replies hold no tool call."),
        Pattern::RepeatedText => {
            let text = members.last().map_or("", |member| member.arguments.as_str());
            format!("The reply says the same {rounds} times: {text:?}.")
        }
    }
}
