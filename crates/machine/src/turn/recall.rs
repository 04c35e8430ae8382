//! What memory knows of a prompt, asked for once, before the first request of a turn.
//!
//! What was recalled is no part of the history: it stands before it, in the place that one assembler gives it, and
//! stays as it is over all requests of the turn, so that their beginning is the same, byte for byte. Nobody's wish is
//! read from it. A memory that fails or is slow costs a warning and never the run.

use serde::{Deserialize, Serialize};

use super::{Phase, TurnMachine, emit, table::TurnFact, window::Window};
use crate::{Command, Id, Notice, Stop, Time};
use loopwright_base::{
    error::{Error, Result},
    message::{Block, Message, Role},
    request::History,
    text::clip,
};
use loopwright_context::{Count, Parts, assemble};
use loopwright_tokens::TokenCounter;

/// How memory is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecallConfig {
    /// At most so many memories.
    pub hits: usize,
    /// At most so many characters of each.
    pub characters: usize,
    /// Seconds it may take; then the run goes on without.
    pub timeout: f64,
}

impl Default for RecallConfig {
    fn default() -> Self {
        Self { hits: 5, characters: 400, timeout: 5.0 }
    }
}

const MOST_HITS: usize = 100;
const MOST_CHARACTERS: usize = 20_000;
/// Bytes of a memory beside its text: its labels and marks.
const LABELS: usize = 4_096;
/// Bytes of what the user prefers at most.
const STANDING: usize = 16_384;
/// Characters of the prompt that memory is asked for.
const ASKED: usize = 4_000;

impl RecallConfig {
    /// Checks what can be checked before a run.
    pub(super) fn check(&self) -> Result<()> {
        let fits = (1..=MOST_HITS).contains(&self.hits) && (1..=MOST_CHARACTERS).contains(&self.characters);
        if !(fits && self.timeout > 0.0 && self.timeout <= 3_600.0) {
            let message = format!("{} memories of {} characters within {} s", self.hits, self.characters, self.timeout);
            return Err(Error::usage("invalid_number", message).hint(format!(
                "give 1 to {MOST_HITS} hits of 1 to {MOST_CHARACTERS} characters and up to 3600 seconds"
            )));
        }
        Ok(())
    }

    /// No text of so many memories is longer, in bytes, with every character escaped.
    const fn most_bytes(&self) -> usize {
        LABELS + self.hits * (self.characters * 6 + LABELS)
    }
}

/// What memory knows, in two texts: by how far it can be relied on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recollection {
    /// What the user prefers, in the user's words: it stands in every request, before what is recalled.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub standing: String,
    /// What the user said or what was checked, fenced as data.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trusted: String,
    /// Everything else, fenced as data.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// The memories that stand in the texts.
    #[serde(default)]
    pub hits: Vec<RecalledHit>,
}

/// A memory that was recalled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecalledHit {
    /// Its number in the store.
    pub id: i64,
    /// How far it can be relied on: `untrusted`, `unverified`, `user` or `verified`.
    pub trust: String,
}

/// A question to memory that is under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Recalling {
    id: Id,
    timer: Id,
    since: Time,
}

/// What stands before the history in every request of the turn.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Front {
    #[serde(skip_serializing_if = "String::is_empty")]
    standing: String,
    trusted: String,
    context: String,
    #[serde(skip)]
    made: Option<Made>,
}

/// The view with what stands before it.
#[derive(Debug)]
struct Made {
    compactions: usize,
    taken: usize,
    messages: History,
}

impl PartialEq for Front {
    fn eq(&self, other: &Self) -> bool {
        (&self.standing, &self.trusted, &self.context) == (&other.standing, &other.trusted, &other.context)
    }
}

impl Clone for Front {
    fn clone(&self) -> Self {
        let (standing, trusted, context) = (self.standing.clone(), self.trusted.clone(), self.context.clone());
        Self { standing, trusted, context, made: None }
    }
}

impl Front {
    /// What the user prefers.
    pub(super) fn standing(&self) -> &str {
        &self.standing
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.standing.is_empty() && self.trusted.is_empty() && self.context.is_empty()
    }

    /// Bytes of it, for whoever estimates a prompt.
    pub(super) const fn bytes(&self) -> usize {
        if self.is_empty() { 0 } else { self.standing.len() + self.trusted.len() + self.context.len() + 128 }
    }

    /// Its tokens.
    pub(super) fn tokens(&self, counter: &mut TokenCounter) -> usize {
        [&self.standing, &self.trusted, &self.context]
            .into_iter()
            .filter(|text| !text.is_empty())
            .map(|text| Count::message(counter, &Message::user(text.as_str())))
            .fold(0, usize::saturating_add)
    }

    /// The messages that stand before a history: instructions with what is trusted, then the rest.
    pub(super) fn messages(&self, system: Option<&str>) -> Vec<std::sync::Arc<Message>> {
        let gathered = [("memory".to_owned(), self.context.clone())];
        let both = [self.standing.as_str(), self.trusted.as_str()];
        let memory = both.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
        let parts =
            Parts { system: system.unwrap_or_default(), memory: &memory, gathered: &gathered, ..Parts::default() };
        assemble(&parts).0
    }
}

impl TurnMachine {
    /// Asks memory for the newest prompt; false where there is none to ask.
    pub(super) fn begin_recall(&mut self, out: &mut Vec<Command>) -> bool {
        // The words of a child are those of the machine that started it.
        let Some(config) = self.config.recall.clone().filter(|_| self.core.base == 0) else { return false };
        let Some(query) = self.history.last().and_then(asked) else { return false };
        let (id, timer) = (self.core.id(), self.core.id());
        out.push(Command::Timer { id: timer, at: self.core.now.after(config.timeout) });
        out.push(Command::Recall { id, query, hits: config.hits, characters: config.characters });
        self.enter(TurnFact::MemoryAsked, Phase::Recalling(Recalling { id, timer, since: self.core.now }), out);
        true
    }

    /// Memory has answered.
    pub(super) fn recalled_from_memory(&mut self, id: Id, found: Result<Recollection>, out: &mut Vec<Command>) {
        let Phase::Recalling(recalling) = &*self.phase else { return self.drop_answer() };
        if recalling.id != id {
            return self.drop_answer();
        }
        let since = recalling.since;
        out.push(Command::Abort { id: recalling.timer });
        let most = self.config.recall.as_ref().map_or(0, RecallConfig::most_bytes);
        match found {
            Ok(found)
                if found.standing.len() > STANDING || found.trusted.len() > most || found.context.len() > most =>
            {
                self.warn(out, "memory_failed", "memory gave more text than was asked for; the run goes on without it");
            }
            Ok(Recollection { standing, trusted, context, hits }) => {
                let is_trusted = |hit: &&RecalledHit| matches!(hit.trust.as_str(), "user" | "verified");
                let notice = Notice::MemoryRecalled {
                    hits: hits.len(),
                    trusted: hits.iter().filter(is_trusted).count(),
                    ids: hits.iter().map(|hit| hit.id).take(MOST_HITS).collect(),
                    characters: standing.chars().count() + trusted.chars().count() + context.chars().count(),
                    duration: self.core.now.since(since),
                };
                emit(out, notice);
                self.put_in_front(Front { standing, trusted, context, made: None }, out);
            }
            Err(error) => {
                let message = format!("memory could not be asked ({}): {}", error.code, clip(&error.message, 300));
                self.warn(out, "memory_failed", message);
            }
        }
        self.pick(out);
    }

    /// What was recalled stands before the history from now on, if there is room for it.
    fn put_in_front(&mut self, front: Front, out: &mut Vec<Command>) {
        self.front = front;
        self.prepared.template = None;
        let (said, warned) = (out.len(), self.outcome.warnings.len());
        if self.front.is_empty() || self.fit(out).is_ok() {
            return;
        }
        out.truncate(said);
        self.outcome.warnings.truncate(warned);
        let standing = std::mem::take(&mut self.front.standing);
        if !(standing.is_empty() || self.front.trusted.is_empty() && self.front.context.is_empty()) {
            // What the user prefers counts more than what fits.
            self.window = Window::default();
            self.put_in_front(Front { standing, ..Front::default() }, out);
            self.warn(out, "memory_too_large", "the context has no room for what was recalled beside preferences");
            return;
        }
        // What could be answered without memory is answered without it.
        (self.front, self.window, self.prepared.template) = (Front::default(), Window::default(), None);
        self.warn(out, "memory_too_large", "the context has no room for what memory knows; the run goes on without it");
    }

    /// Memory took too long; false if the timer is not that of the question.
    pub(super) fn recall_lapsed(&mut self, timer: Id, out: &mut Vec<Command>) -> bool {
        let Phase::Recalling(recalling) = &*self.phase else { return false };
        if recalling.timer != timer {
            return false;
        }
        out.push(Command::Abort { id: recalling.id });
        let seconds = self.config.recall.as_ref().map_or(0.0, |config| config.timeout);
        self.warn(
            out,
            "memory_failed",
            format!("memory gave no answer within {seconds} s; the run goes on without it"),
        );
        self.pick(out);
        true
    }

    /// Nobody waits for memory any more.
    pub(super) fn abort_recall(recalling: &Recalling, out: &mut Vec<Command>) {
        out.push(Command::Abort { id: recalling.id });
        out.push(Command::Abort { id: recalling.timer });
    }

    /// The run ends between two rounds, and none has begun.
    pub(super) fn interrupt_recall(&mut self, out: &mut Vec<Command>) {
        if let Phase::Recalling(recalling) = &*self.phase {
            Self::abort_recall(recalling, out);
            self.finish(Stop::UserInterrupt, out);
        }
    }

    /// The messages of the next request: the view of the history, behind what stands before it. Costs what is new.
    pub(super) fn fronted(&mut self) -> History {
        let view = self.view();
        if self.front.context.is_empty() {
            return view;
        }
        let compactions = self.compactions();
        // Between compactions the view only grows.
        let made = self.front.made.take().filter(|made| made.compactions == compactions && made.taken <= view.len());
        let mut made = made.unwrap_or_else(|| {
            let mut messages = History::new();
            for message in self.front.messages(None).into_iter().filter(|message| message.role == Role::User) {
                messages.push(message);
            }
            Made { compactions, taken: 0, messages }
        });
        for entry in view.entries().iter().skip(made.taken) {
            made.messages.push_entry(entry.clone());
        }
        made.taken = view.len();
        let messages = made.messages.clone();
        self.front.made = Some(made);
        messages
    }

    /// The instructions with what is trusted of memory.
    pub(super) fn fronted_system(&self) -> Option<std::sync::Arc<Message>> {
        let messages = self.front.messages(self.config.system.as_deref());
        messages.into_iter().find(|message| message.role == Role::System)
    }
}

/// What a person asks; nothing for results of tools and pictures.
fn asked(message: &Message) -> Option<String> {
    let wrote = message.role == Role::User && message.content.iter().any(|block| matches!(block, Block::Text(_)));
    let words = Some(message.prose()).filter(|text| wrote && !text.trim().is_empty())?;
    Some(words.chars().take(ASKED).collect())
}
