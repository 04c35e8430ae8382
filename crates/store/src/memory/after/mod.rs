//! Work after a turn: the memories that are made of it, by rule and without a model.
//!
//! A turn is written down without its secrets, queued, and worked on later: its summary, what was stated in it, who has
//! to do with whom, what the user prefers, how something was done, what went wrong. All that comes of one piece of work
//! is kept in one transaction together with its end, so it is kept once, whatever happens to the process. What rests on
//! results from outside is trusted as little as they are.

mod episode;
mod file;
mod language;
mod lines;
mod perform;
mod reflect;
mod skill;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub(super) use self::file::{ErasedLine, NOTE, remove_lines, tag_of};
pub use self::{
    episode::Episode,
    file::Synced,
    reflect::{Reflection, Thought, instructions},
};
use super::kinds::Trust;
use crate::audit::Event;
use loopwright_base::{
    message::{Block, Message, Role},
    request::History,
    text::clip,
};
use loopwright_guard::sensitivity::{redact_json, without_secrets};
use loopwright_machine::Outcome;

/// Switches of the work after a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools)] // each is a choice of its own
pub struct After {
    /// Summaries of turns.
    pub episodes: bool,
    /// Facts, and relations between entities.
    pub entities: bool,
    /// Preferences of the user.
    pub preferences: bool,
    /// Lessons of reflecting on a turn, and a second look for what was missed.
    pub reflection: bool,
    /// Procedures.
    pub skills: bool,
    /// Events of the audit.
    pub audit: bool,
    /// The file of preferences that people may edit.
    pub memory_file: Option<String>,
}

impl Default for After {
    fn default() -> Self {
        Self {
            episodes: true,
            entities: true,
            preferences: true,
            reflection: false,
            skills: true,
            audit: true,
            memory_file: None,
        }
    }
}

/// A tool call of a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnCall {
    /// The tool.
    pub name: String,
    /// The arguments, as JSON text without secrets.
    pub input: String,
    /// The failure's kind, if it failed.
    pub failure: Option<String>,
    /// The beginning of its result.
    pub excerpt: String,
}

/// A turn, stored until its work is done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Turn {
    /// The run's name.
    pub run: String,
    /// The session.
    pub session: String,
    /// The user.
    pub user: Option<String>,
    /// The user's text.
    pub prompt: String,
    /// The answer.
    pub answer: String,
    /// The reason for its end.
    pub stop: String,
    /// The turn reached its goal.
    pub success: bool,
    /// The verdict on the answer, where it is verified.
    pub verified: Option<bool>,
    /// Seconds since 1970.
    pub started_at: f64,
    /// Seconds since 1970.
    pub ended_at: f64,
    /// The number of prompts that the conversation had by then.
    pub turns: usize,
    /// Requests to the model.
    pub rounds: u32,
    /// The tool calls, in order.
    pub calls: Vec<TurnCall>,
    /// Text from outside was read: results of tools, pages.
    pub outside: bool,
    /// The memories that the turn was given.
    pub recalled: Vec<i64>,
    /// Events for the audit.
    pub events: Vec<Event>,
    /// The work that follows.
    pub after: After,
    /// The number of texts that held secrets.
    pub secrets: usize,
}

/// Characters of a prompt and of an answer, of arguments, of a result that are stored until the work is done.
const MOST_SAID: usize = 16_000;
const MOST_INPUT: usize = 2_000;
const MOST_RESULT: usize = 600;
/// Calls and events that are stored.
const MOST_CALLS: usize = 100;
const MOST_EVENTS: usize = 400;

impl Turn {
    /// The turn of a run, from its history and outcome. `prompt_at`: the place of its prompt in the history.
    pub fn of(history: &History, outcome: &Outcome, prompt_at: Option<usize>) -> Self {
        let wrote = |message: &&Message| {
            message.role == Role::User && message.content.iter().any(|block| matches!(block, Block::Text(_)))
        };
        let said = |message: &Message| message.role == Role::User && message.tool_results().next().is_none();
        let prompts = history.iter().filter(|message| said(message) && wrote(message)).count();
        let prompt_at = prompt_at.unwrap_or_else(|| {
            // Where nobody knows any more: the last thing that a person said.
            history.iter().enumerate().rfind(|(_, message)| said(message)).map_or(0, |(at, _)| at)
        });
        let prompt = history.iter().nth(prompt_at).map(Message::prose).unwrap_or_default();
        let mut calls: Vec<TurnCall> = outcome
            .tool_calls
            .iter()
            .take(MOST_CALLS)
            .map(|call| TurnCall {
                name: call.name.clone(),
                input: clip(call.input.text(), MOST_INPUT),
                failure: call.failure.clone(),
                excerpt: String::new(),
            })
            .collect();
        for result in history.iter().skip(prompt_at).flat_map(Message::tool_results) {
            let at = outcome.tool_calls.iter().position(|call| call.id == result.id);
            if let Some(call) = at.and_then(|at| calls.get_mut(at)) {
                call.excerpt = clip(&result.prose(), MOST_RESULT);
            }
        }
        let answer = outcome.r#final.as_deref().or(outcome.best_draft.as_deref()).unwrap_or_default();
        Self {
            prompt: clip(&prompt, MOST_SAID),
            answer: clip(answer, MOST_SAID),
            stop: outcome.stop.name().to_owned(),
            success: outcome.stop.is_success() && outcome.error.is_none(),
            verified: outcome.verified,
            turns: prompts,
            rounds: outcome.spent.iterations,
            outside: !outcome.tool_calls.is_empty() || outcome.searches > 0 || !outcome.sources.is_empty(),
            calls,
            ..Self::default()
        }
    }

    /// The turn without its secrets, and no longer than it may be.
    #[must_use]
    pub fn cleaned(mut self) -> Self {
        let mut secrets = 0;
        for text in [&mut self.prompt, &mut self.answer] {
            *text = clip(text, MOST_SAID);
            secrets += usize::from(clean(text));
        }
        self.calls.truncate(MOST_CALLS);
        for call in &mut self.calls {
            call.input = redact_json(&clip(&call.input, MOST_INPUT));
            call.excerpt = clip(&call.excerpt, MOST_RESULT);
            secrets += usize::from(clean(&mut call.excerpt));
        }
        self.recalled.truncate(MOST_CALLS);
        if self.events.len() > MOST_EVENTS {
            let left = self.events.len() - MOST_EVENTS;
            self.events.truncate(MOST_EVENTS);
            let detail = serde_json::json!({"left_out": left}).to_string();
            self.events.push(Event { at: self.ended_at, kind: "events_left_out".to_owned(), detail });
        }
        for event in &mut self.events {
            event.detail = redact_json(&event.detail);
        }
        self.secrets = self.secrets.max(secrets);
        self
    }

    /// The trust in the model's statements: never higher than that in what it was given.
    const fn trust(&self) -> Trust {
        if self.outside { Trust::Untrusted } else { Trust::Unverified }
    }

    /// The source of the memories made of it.
    fn source(&self) -> String {
        format!("run {}", self.run)
    }

    /// The person that "I" names in it.
    fn writer(&self) -> &str {
        self.user.as_deref().filter(|user| !user.trim().is_empty()).unwrap_or("the user")
    }
}

/// Removes secrets from a text; returns whether there were any.
fn clean(text: &mut String) -> bool {
    let (Cow::Owned(cleaned), _) = without_secrets(text) else { return false };
    *text = cleaned;
    true
}
