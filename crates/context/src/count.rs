//! How much of the budget a message takes.
//!
//! The room asks for counts through one small trait, so that an exact tokenizer, an anchored estimate or a caller's own
//! function serve alike. Whatever counts, it must always give the same number for the same message.

use std::sync::Arc;

use loopwright_base::message::{Block, Media, MediaSource, Message};
use loopwright_tokens::{LearnedRatios, TokenCounter};

/// Tokens of texts and messages.
pub trait Count {
    /// Tokens of a text.
    fn text(&mut self, text: &str) -> usize;

    /// Tokens of a message, with what its role and its blocks cost beside their text.
    fn message(&mut self, message: &Message) -> usize {
        message_by_texts(message, &mut |text| self.text(text))
    }

    /// Tokens of a request beside its messages.
    fn base(&mut self) -> usize {
        0
    }

    /// How many times larger than the truth a count may well be: 1 for an exact one, more for an upper bound.
    fn slack(&self) -> f64 {
        1.0
    }

    /// Which share of a count the truth is at least: a report below that is not believed.
    fn least(&self) -> f64 {
        1.0 / self.slack().max(1.0)
    }

    /// The message, of `tokens` by [`Self::message`], by what was learned since: for what the provider has not seen
    /// yet.
    fn by_now(&mut self, _message: &Message, tokens: usize) -> usize {
        tokens
    }

    /// The provider reported so many tokens for these messages, as a part of a request.
    fn learn(&mut self, _messages: &[Arc<Message>], _reported: usize) {}

    /// So many counters that count as this one does, for as many threads, until [`Self::join`]; none where it can't.
    fn parts(&mut self, _many: usize) -> Vec<&mut (dyn Count + Send)> {
        Vec::new()
    }

    /// The parts are no longer needed; what they remember is taken over.
    fn join(&mut self) {}

    /// What was learned, to be saved.
    fn learned(&self) -> Option<LearnedRatios> {
        None
    }

    /// Goes on from what was learned before.
    fn set_learned(&mut self, _learned: Option<LearnedRatios>) {}
}

/// Exactly where the model's vocabulary is public, otherwise by the upper bound: what fits by these counts fits.
impl Count for TokenCounter {
    fn text(&mut self, text: &str) -> usize {
        self.text_at_most(text)
    }

    fn message(&mut self, message: &Message) -> usize {
        self.message_at_most(message)
    }

    fn base(&mut self) -> usize {
        self.base_at_most()
    }

    fn slack(&self) -> f64 {
        self.tokenizer().slack()
    }

    fn least(&self) -> f64 {
        self.tokenizer().least()
    }

    fn by_now(&mut self, message: &Message, tokens: usize) -> usize {
        if self.learned().is_some() { self.message_at_most_by_now(message) } else { tokens }
    }

    fn learn(&mut self, messages: &[Arc<Message>], reported: usize) {
        if !self.tokenizer().is_exact() {
            let counted = self.since(0, messages.iter().map(|message| &**message));
            Self::learn(self, counted, reported);
        }
    }

    fn parts(&mut self, many: usize) -> Vec<&mut (dyn Count + Send)> {
        Self::parts(self, many).iter_mut().map(|part| part as &mut (dyn Count + Send)).collect()
    }

    fn join(&mut self) {
        Self::join(self);
    }

    fn learned(&self) -> Option<LearnedRatios> {
        Self::learned(self).cloned()
    }

    fn set_learned(&mut self, learned: Option<LearnedRatios>) {
        Self::set_learned(self, learned);
    }
}

/// Four bytes are a token: a stand-in where no tokenizer is at hand.
#[derive(Clone, Copy, Debug, Default)]
pub struct BytesPerFour;

impl Count for BytesPerFour {
    fn text(&mut self, text: &str) -> usize {
        text.len().div_ceil(4)
    }
}

/// What a message costs beside its text.
pub const MESSAGE_OVERHEAD: usize = 4;
/// What a tool use or a result costs beside its text.
pub const CALL_OVERHEAD: usize = 8;
/// What a picture costs, where nothing better is known.
pub const IMAGE_TOKENS: usize = 1_500;

/// Tokens of a message as the sum of its texts and a fixed price for everything else.
pub fn message_by_texts(message: &Message, text: &mut dyn FnMut(&str) -> usize) -> usize {
    message.content.iter().fold(MESSAGE_OVERHEAD, |sum, block| sum.saturating_add(block_tokens(block, text)))
}

fn block_tokens(block: &Block, text: &mut dyn FnMut(&str) -> usize) -> usize {
    match block {
        Block::Text(words) => text(&words.text),
        Block::Image(_) => IMAGE_TOKENS,
        Block::Document(media) => document_tokens(media, text),
        Block::Thinking(thinking) => {
            text(&thinking.text)
                + thinking.signature.as_deref().map_or(0, &mut *text)
                + thinking.redacted.as_deref().map_or(0, &mut *text)
        }
        Block::ToolUse(call) => CALL_OVERHEAD + text(&call.name) + text(call.arguments_text()),
        Block::ToolResult(result) => {
            // Results do not nest, so this goes one step deep.
            result.content.iter().filter(|part| !matches!(part, Block::ToolResult(_))).fold(
                CALL_OVERHEAD,
                |sum, part| {
                    let tokens = match part {
                        Block::Text(words) => text(&words.text),
                        Block::Image(_) => IMAGE_TOKENS,
                        Block::Document(media) => document_tokens(media, text),
                        Block::Provider(block) => text(block.raw.text()),
                        Block::Thinking(_) | Block::ToolUse(_) | Block::ToolResult(_) => 0,
                    };
                    sum.saturating_add(tokens)
                },
            )
        }
        Block::Provider(block) => text(block.raw.text()),
    }
}

fn document_tokens(media: &Media, text: &mut dyn FnMut(&str) -> usize) -> usize {
    match &media.source {
        MediaSource::Text { data, .. } => text(data),
        MediaSource::Base64 { data, .. } => IMAGE_TOKENS.max(data.len() / 16),
        MediaSource::Url(_) | MediaSource::File(_) => IMAGE_TOKENS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_base::message::{Role, ToolResult, ToolUse};

    #[test]
    fn c30_sums_are_exact_or_above() {
        let call = |id: &str| Block::ToolUse(ToolUse::from_text(id, "read", r#"{"path":"a.rs"}"#.into()));
        let messages = vec![
            Message::user("Find out why src/main.rs fails, please."),
            Message::new(Role::Assistant, vec![Block::text("A moment."), call("a")]),
            Message::new(
                Role::User,
                vec![Block::ToolResult(ToolResult::text("a", "read", "fn main() { 日本 }".repeat(40)))],
            ),
        ];
        for model in ["gpt-4o", "gpt-4", "claude-sonnet-4-5", "claude-opus-4-7", "unheard-of"] {
            let mut counter = TokenCounter::for_model(model);
            let whole = counter.messages(&messages);
            let parts =
                messages.iter().fold(counter.base(), |sum, message| sum + Count::message(&mut counter, message));
            assert!(
                parts >= whole.upper_bound && parts <= whole.upper_bound + messages.len(),
                "{model}: {parts} {whole:?}"
            );
            if whole.margin == 0 {
                assert_eq!(parts, whole.tokens, "{model}");
            }
        }
    }

    #[test]
    fn every_block_costs_something() {
        let mut count = BytesPerFour;
        assert_eq!(count.message(&Message::user("12345678")), MESSAGE_OVERHEAD + 2);
        let call = Block::ToolUse(ToolUse::from_text("a", "read", r#"{"path":"a.rs"}"#.into()));
        assert_eq!(count.message(&Message::new(Role::Assistant, vec![call])), MESSAGE_OVERHEAD + CALL_OVERHEAD + 1 + 4);
    }
}
