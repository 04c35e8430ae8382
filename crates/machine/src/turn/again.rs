//! Calls that an earlier attempt at the same question made: asked for once more they are answered by the result they
//! had.
//!
//! A call that succeeded, of a tool that may change something, is not run again with the same arguments. Tools that
//! only read are: what they read may have changed.

use serde::{Deserialize, Serialize};

use super::{TurnConfig, round::Round};
use crate::CallRecord;
use loopwright_base::{
    json::Raw,
    message::{Block, Message, ToolResult, ToolUse},
    request::History,
};

/// A call that was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MadeCall {
    /// Its id in the history, where its result stands.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments.
    pub input: Raw,
}

/// The calls among `records` that succeeded, with the arguments that they ran with, and those that the model wrote.
pub fn made_calls(records: &[CallRecord], history: &History) -> Vec<MadeCall> {
    let done: std::collections::BTreeMap<&str, &CallRecord> =
        records.iter().filter(|record| record.failure.is_none()).map(|record| (record.id.as_str(), record)).collect();
    let made =
        |id: &str, name: &str, input: &Raw| MadeCall { id: id.to_owned(), name: name.to_owned(), input: input.clone() };
    let mut all: Vec<MadeCall> = done.values().map(|record| made(&record.id, &record.name, &record.input)).collect();
    for call in history.iter().flat_map(Message::tool_uses) {
        if done.get(call.id.as_str()).is_some_and(|record| record.name == call.name && record.input != call.input) {
            all.push(made(&call.id, &call.name, &call.input));
        }
    }
    all
}

impl TurnConfig {
    /// The result of a call that was made before this turn began.
    pub(super) fn made_before(&self, history: &History, call: &ToolUse) -> Option<ToolResult> {
        let mut same = self.made.iter().filter(|made| made.name == call.name).peekable();
        same.peek()?;
        if self.tool(&call.name).is_none_or(|tool| tool.read_only) {
            return None;
        }
        let value = call.input.value();
        let made = same.find(|made| made.input == call.input || made.input.value() == value)?;
        let results = history.iter().flat_map(Message::tool_results);
        let mut result =
            results.filter(|result| result.id == made.id && !result.is_error).last().cloned().unwrap_or_else(|| {
                ToolResult::text(
                    &call.id,
                    &call.name,
                    "this call was made in an earlier attempt, and is not made again",
                )
            });
        result.id.clone_from(&call.id);
        result.content.retain(|block| !matches!(block, Block::ToolUse(_) | Block::ToolResult(_)));
        Some(result)
    }

    /// What is told of calls of a round that are not made again.
    pub(super) fn words_on_made(&self, history: &History, round: &Round) -> Vec<String> {
        let had = |call: &ToolUse| !self.made.is_empty() && self.made_before(history, call).is_some();
        let made = round.calls.iter().filter(|pending| pending.result.is_some() && had(&pending.call));
        let word = |name: &str| {
            format!("{name} was called again with the same arguments: it got the result of the earlier attempt")
        };
        made.map(|pending| word(&pending.call.name)).collect()
    }
}
