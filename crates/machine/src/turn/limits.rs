//! How the turn keeps to its budget: what the next request may use, and what the model is told before it ends.

use super::{ToolConfig, TurnMachine};
use crate::{Command, Limit};
use loopwright_base::message::{Block, MediaSource};

/// Tokens of a picture: about what the providers count for a large one.
const PICTURE: u64 = 1_600;
/// Tokens of an answer that money must be there for.
const LEAST_PAID: u64 = 16;
/// The part of the time that is the last.
const LAST_OF_TIME: f64 = 0.05;

impl TurnMachine {
    /// The limit that forbids another request.
    pub(super) fn next_request_exceeds(&self) -> Option<Limit> {
        let limit =
            self.core.spent.next_request_exceeds(&self.config.budget, self.core.elapsed(), self.prompt_estimate());
        limit.or_else(|| self.too_dear())
    }

    /// The limit that forbids another attempt at a request that counts already.
    pub(super) fn next_attempt_exceeds(&self) -> Option<Limit> {
        let limit =
            self.core.spent.next_attempt_exceeds(&self.config.budget, self.core.elapsed(), self.prompt_estimate());
        limit.or_else(|| self.too_dear())
    }

    /// Tokens of the next prompt: text at four bytes each, pictures at a flat rate, because the bytes of a picture say
    /// nothing about its tokens. Asked for only where a budget of tokens needs it.
    pub(super) fn prompt_estimate(&self) -> u64 {
        let money = self.config.budget.cost.is_some() && self.config.price.is_some();
        if self.config.budget.tokens.is_none() && !money {
            return 0;
        }
        let tools: usize = if self.tools.left_out { 0 } else { self.shown_tools().map(tool_bytes).sum() };
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
            (!no_calls && self.core.spent.tool_rounds >= self.config.budget.tool_rounds).then_some(Limit::ToolRounds);
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
            Limit::Approvals => format!("{} questions to a person", self.config.budget.approvals),
        };
        self.warn(out, limit.stop().name(), format!("the budget of {used} is used up; the result is partial"));
        self.finish(limit.stop(), out);
    }

    /// What the model is told about the rounds that are left.
    /// The fewer there are, the plainer it gets.
    pub(super) fn word_about_budget(&mut self) -> Option<String> {
        let rounds_left = self.config.budget.tool_rounds.saturating_sub(self.core.spent.tool_rounds);
        let requests_left = self.config.budget.iterations.saturating_sub(self.core.spent.iterations);
        let tool_rounds_left = rounds_left.min(requests_left.saturating_sub(1));
        if tool_rounds_left == 0 {
            self.tools.off = true;
            return Some("[No tool rounds are left. Answer now, with what you have.]".to_owned());
        }
        if let Some(word) = self.nearly_spent() {
            return Some(word.to_owned());
        }
        if tool_rounds_left > self.config.wind_down.max(1) {
            return self.nobody_left_to_ask().map(str::to_owned);
        }
        Some(match tool_rounds_left {
            1 => "[One tool round is left. Answer now unless one more call is indispensable.]".to_owned(),
            2 => "[Two tool rounds are left. Call only what the answer still lacks, then answer.]".to_owned(),
            left => format!("[{left} tool rounds are left. Keep to what the answer needs.]"),
        })
    }

    /// What the model is told where tokens, money or time are enough for about one more request, by what those so far
    /// have used.
    fn nearly_spent(&self) -> Option<&'static str> {
        let (budget, spent) = (&self.config.budget, &self.core.spent);
        let requests = f64::from(spent.iterations.max(1));
        let prompt = self.prompt_estimate();
        // Prompts grow: the next request takes at least what the average one did and its prompt asks for; where twice
        // that is not left there is no other after it.
        let near = |used: f64, most: f64, asks: f64| most - used < 2.0 * (used / requests).max(asks);
        let asks = prompt.saturating_add(LEAST_PAID) as f64;
        if budget.tokens.is_some_and(|most| near(spent.usage.total() as f64, most as f64, asks)) {
            return Some("[The tokens are nearly used up. Answer now, with what you have.]");
        }
        let asks = self
            .config
            .price
            .map_or(0.0, |price| (prompt as f64 * price.input + LEAST_PAID as f64 * price.output) * 1e-6);
        if budget.cost.is_some_and(|most| spent.cost.is_some_and(|cost| near(cost, most, asks))) {
            return Some("[The money is nearly used up. Answer now, with what you have.]");
        }
        // No round took longer than the run: most runs need not ask all of their rounds, again after each.
        let (left, elapsed) = (budget.wall_time - self.core.elapsed(), self.core.elapsed());
        let longest = || self.outcome.iterations.iter().map(|one| one.duration).fold(0.0, f64::max);
        if left < budget.wall_time * LAST_OF_TIME || (left < 2.0 * elapsed && left < 2.0 * longest()) {
            return Some("[The time is nearly up. Answer now, with what you have.]");
        }
        None
    }

    /// What the model is told where nobody will be asked any more.
    const fn nobody_left_to_ask(&self) -> Option<&'static str> {
        if self.core.spent.approvals == 0 || self.core.spent.approvals < self.config.budget.approvals {
            return None;
        }
        Some(
            "[Nobody will be asked about calls any more. Answer with what you have, or go on without calls that need a \
             person to agree.]",
        )
    }

    /// Tokens that an answer may have, so that neither the tokens nor the money of the budget are passed.
    pub(super) fn room_for_answer(&self) -> Option<u64> {
        let budget = &self.config.budget;
        let prompt = self.prompt_estimate();
        let by_tokens = budget
            .tokens
            .map(|tokens| tokens.saturating_sub(self.core.spent.usage.total()).saturating_sub(prompt).max(1));
        let by_cost = self.tokens_for_money(prompt).map(|tokens| tokens.max(1));
        by_tokens.into_iter().chain(by_cost).min()
    }

    /// Tokens of an answer that the money that is left pays for, after a prompt of so many; `None` without a limit, or
    /// where answers cost nothing.
    fn tokens_for_money(&self, prompt: u64) -> Option<u64> {
        let most = self.config.budget.cost?;
        let price = self.config.price.as_ref()?;
        if price.output <= 0.0 {
            return None;
        }
        let left = most - self.core.spent.cost.unwrap_or(0.0) - prompt as f64 * price.input * 1e-6;
        Some((left.max(0.0) / (price.output * 1e-6)) as u64)
    }

    /// Whether the money that is left pays for no answer.
    pub(super) fn too_dear(&self) -> Option<Limit> {
        let tokens = self.tokens_for_money(self.prompt_estimate())?;
        (tokens < LEAST_PAID).then_some(Limit::Cost)
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
            MediaSource::Base64 { data, .. } => (count + 1, bytes + data.len()),
            _ => (count + 1, bytes),
        },
        _ => (count, bytes),
    })
}
