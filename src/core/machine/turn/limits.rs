//! How the turn keeps to its budget: what the next request may use, and what the model is told before it ends.

use super::{ToolConfig, TurnMachine};
use crate::core::{
    machine::{Command, Limit},
    message::{Block, Source},
};

/// Tokens of a picture: about what the providers count for a large one.
const PICTURE: u64 = 1_600;

impl TurnMachine {
    /// The limit that forbids another request.
    pub(super) fn next_request_exceeds(&self) -> Option<Limit> {
        self.spent.next_request_exceeds(&self.config.budget, self.elapsed(), self.prompt_estimate())
    }

    /// The limit that forbids another attempt at a request that counts already.
    pub(super) fn next_attempt_exceeds(&self) -> Option<Limit> {
        self.spent.next_attempt_exceeds(&self.config.budget, self.elapsed(), self.prompt_estimate())
    }

    /// Tokens of the next prompt: text at four bytes each, pictures at a flat rate, because the bytes of a picture say
    /// nothing about its tokens. Asked for only where a budget of tokens needs it.
    pub(super) fn prompt_estimate(&self) -> u64 {
        if self.config.budget.tokens.is_none() {
            return 0;
        }
        let tools: usize = if self.without_tools { 0 } else { self.config.tools.iter().map(tool_bytes).sum() };
        let system = self.config.system.as_ref().map_or(0, String::len);
        let (messages, bytes) = self.prompt();
        let (pictures, picture_bytes) = messages
            .map(|message| inline_pictures(&message.content))
            .fold((0_u64, 0_usize), |(count, bytes), (more, more_bytes)| {
                (count.saturating_add(more), bytes.saturating_add(more_bytes))
            });
        let text = bytes.saturating_sub(picture_bytes) + system + tools + self.front.bytes();
        // What roles may still use is not there for the turn.
        ((text / 4) as u64).saturating_add(pictures.saturating_mul(PICTURE)).saturating_add(self.desk.reserved())
    }

    /// The limit that forbids going on after this reply.
    pub(super) fn limit_ahead(&self, no_calls: bool) -> Option<Limit> {
        let rounds =
            (!no_calls && self.spent.tool_rounds >= self.config.budget.tool_rounds).then_some(Limit::ToolRounds);
        // The tools of the last iteration would run for nothing: no request could carry their results.
        rounds.or_else(|| self.next_request_exceeds())
    }

    pub(super) fn stop_at(&mut self, limit: Limit, out: &mut Vec<Command>) {
        let used = match limit {
            Limit::Iterations => format!("{} model requests", self.config.budget.iterations),
            Limit::ToolRounds => format!("{} tool rounds", self.config.budget.tool_rounds),
            Limit::WallTime => format!("{} seconds", self.config.budget.wall_time),
            Limit::Tokens => format!("{} tokens", self.config.budget.tokens.unwrap_or_default()),
            Limit::Cost => format!("a cost of {}", self.config.budget.cost.unwrap_or_default()),
        };
        self.warn(out, limit.stop().name(), format!("the budget of {used} is used up; the result is partial"));
        self.finish(limit.stop(), out);
    }

    /// What the model is told about the rounds that are left.
    /// The fewer there are, the plainer it gets.
    pub(super) fn word_about_budget(&mut self) -> Option<String> {
        let rounds_left = self.config.budget.tool_rounds.saturating_sub(self.spent.tool_rounds);
        let requests_left = self.config.budget.iterations.saturating_sub(self.spent.iterations);
        let tool_rounds_left = rounds_left.min(requests_left.saturating_sub(1));
        if tool_rounds_left == 0 {
            self.tools_off = true;
            return Some("[No tool rounds are left. Answer now, with what you have.]".to_owned());
        }
        if tool_rounds_left > self.config.wind_down.max(1) {
            return None;
        }
        Some(match tool_rounds_left {
            1 => "[One tool round is left. Answer now unless one more call is indispensable.]".to_owned(),
            2 => "[Two tool rounds are left. Call only what the answer still lacks, then answer.]".to_owned(),
            left => format!("[{left} tool rounds are left. Keep to what the answer needs.]"),
        })
    }
}

/// Bytes of a tool's definition.
pub(super) fn tool_bytes(tool: &ToolConfig) -> usize {
    tool.name.len() + tool.description.as_ref().map_or(0, String::len) + tool.schema.text().len()
}

/// How many pictures the blocks hold inline, those of results included, and their bytes.
fn inline_pictures(blocks: &[Block]) -> (u64, usize) {
    let inside = blocks.iter().flat_map(|block| match block {
        Block::ToolResult(result) => result.content.as_slice(),
        _ => &[],
    });
    blocks.iter().chain(inside).fold((0, 0), |(count, bytes), block| match block {
        Block::Image(image) => match &image.source {
            Source::Base64 { data, .. } => (count + 1, bytes + data.len()),
            _ => (count + 1, bytes),
        },
        _ => (count, bytes),
    })
}
