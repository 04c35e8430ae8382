//! An answer that is asked for as a call of a tool: a call that succeeds ends the turn with it.
//!
//! The model is told of one that fails, and of words in its place, until its attempts are used up. The call stands in
//! the history with its result, as any other.

use serde::{Deserialize, Serialize};

use super::{
    super::{Command, Limit, Stop},
    TurnConfig, TurnMachine,
};
use loopwright_base::{
    error::Error,
    message::{Block, Message, Role, ToolFailure, ToolResult, ToolUse},
    request::{Request, ToolChoice},
    text::clip,
};

/// How a tool answers its turn: a call of it is the answer, and ends the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerTool {
    /// How often the model may answer until an answer is taken.
    pub attempts: u32,
    /// Whether the tool's result is the answer; otherwise the arguments of its call are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gives: bool,
}

impl TurnConfig {
    /// The tool whose call is the answer.
    fn answer_tool(&self) -> Option<(&str, AnswerTool)> {
        self.tools.iter().find_map(|tool| Some((tool.name.as_str(), tool.answer?)))
    }

    /// Whether a call is one of a tool that answers the turn.
    pub(super) fn is_answer(&self, call: &ToolUse) -> bool {
        self.tool(&call.name).is_some_and(|tool| tool.answer.is_some())
    }

    /// The limit that is ahead of these calls. None forbids an answer, which no request has to follow: it runs alone.
    pub(super) fn limit_of_calls(
        &self,
        limit: Option<Limit>,
        calls: &[ToolUse],
        broken: &mut [Option<ToolFailure>],
    ) -> Option<Limit> {
        let limit = limit?;
        if !calls.iter().any(|call| self.is_answer(call)) {
            return Some(limit);
        }
        for (_, broken) in calls.iter().zip(broken).filter(|(call, _)| !self.is_answer(call)) {
            broken.get_or_insert_with(|| ToolFailure {
                kind: "not_run".into(),
                message: "the budget of the run is used up".into(),
                hint: None,
            });
        }
        None
    }
}

impl TurnMachine {
    /// The choice of a request that has nothing left but the answer: forced, where no other tool may be called.
    pub(super) fn answer_choice(&self, request: &Request) -> Option<ToolChoice> {
        let (name, _) = self.config.answer_tool()?;
        let due = self.tools.off || self.tools.answer_due || request.tools.len() == 1;
        due.then(|| ToolChoice::Tool(name.to_owned()))
    }

    /// Takes the answer that is among the results of a round, if there is one.
    pub(super) fn takes_answer(&mut self, blocks: &[Block]) -> bool {
        let Some((name, tool)) = self.config.answer_tool() else { return false };
        let Some(result) = results_of(blocks, name).find(|result| !result.is_error) else { return false };
        let calls = &self.outcome.tool_calls;
        let answer = if tool.gives {
            // Notes for the model come first.
            result.content.iter().rev().find_map(|block| match block {
                Block::Text(text) => Some(text.text.clone()),
                _ => None,
            })
        } else {
            calls.iter().rev().find(|call| call.id == result.id).map(|call| call.input.text().to_owned())
        };
        self.core.reply = Some(answer.unwrap_or_default());
        true
    }

    /// Counts an answer among the results of a round that was not taken; gives the error that ends the turn once that
    /// was the last one.
    pub(super) fn counts_answer(&mut self, blocks: &[Block]) -> Option<Error> {
        let (name, tool) = self.config.answer_tool()?;
        let failure = results_of(blocks, name).find_map(|result| result.failure.clone())?;
        self.tools.wrong_answers += 1;
        let last = self.tools.wrong_answers >= tool.attempts;
        last.then(|| {
            let error = Error::model("invalid_output", failure.message);
            match failure.hint {
                Some(hint) => error.hint(hint),
                None => error,
            }
        })
    }

    /// Words came in the place of the answer: the model is told how it is given; or the turn ends.
    pub(super) fn asks_for_answer(&mut self, prose: &str, out: &mut Vec<Command>) -> bool {
        let Some((name, tool)) = self.config.answer_tool().filter(|_| !self.tools.left_out) else { return false };
        let word = format!("[Words are not taken as the answer. Give it by a call of {name}.]");
        let message = format!("the answer is no call of {name:?}: {}", clip(prose.trim(), 200));
        self.tools.wrong_answers += 1;
        if self.tools.wrong_answers >= tool.attempts {
            let error = Error::model("invalid_output", message);
            self.fail(error.hint("ask a model that calls tools, or say mode=\"text\""), out);
        } else if let Some(limit) = self.next_request_exceeds() {
            self.stop_at(limit, out);
        } else {
            self.tools.answer_due = true;
            self.history.push(Message::new(Role::User, vec![Block::text(word)]));
            self.ask(out);
        }
        true
    }

    /// Ends the turn with the answer that was taken.
    pub(super) fn finish_answered(&mut self, blocks: Vec<Block>, out: &mut Vec<Command>) {
        self.history.push(Message::new(Role::User, blocks));
        self.finish(Stop::Natural, out);
    }
}

/// The results of calls of a tool.
fn results_of<'a>(blocks: &'a [Block], name: &str) -> impl Iterator<Item = &'a ToolResult> {
    blocks.iter().filter_map(move |block| match block {
        Block::ToolResult(result) if result.name == name => Some(result),
        _ => None,
    })
}
