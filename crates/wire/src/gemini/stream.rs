//! A streamed answer, chunk by chunk: each is an answer of its own shape with what is new of the parts.
//!
//! The first part of a chunk goes on with the last text (or thought) if both are bare: a part with a signature stands
//! alone, as it came. There is no last event: an answer is whole once its finish reason was said.

use super::{own, response::GatheredAnswer};
use crate::{Decode, excerpt, invalid, searches, stream::tell};
use loopwright_base::{
    error::{Failure, FailureKind},
    json::{Fields, Raw},
    message::{Block, StopReason, Usage},
    request::{Delta, Response},
};

/// The chunks of an answer may not be longer than this together.
const MAX_STREAM_BYTES: usize = 256 << 20;

/// Decodes the chunks of one answer.
#[derive(Debug, Default)]
pub struct ChunkDecoder {
    answer: GatheredAnswer,
    bytes: usize,
    failed: Option<Failure>,
    /// Whether a search of the provider was told of.
    searched: bool,
    /// The usage that was asked for last.
    reported: Option<Usage>,
}

impl Decode for ChunkDecoder {
    fn event(&mut self, _name: &str, data: &str, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        if let Some(failure) = &self.failed {
            return Err(failure.clone());
        }
        let ended = self.is_ended();
        let taken = self.take(data.trim(), deltas);
        if let Err(failure) = &taken
            && !ended
        {
            self.failed = Some(failure.clone());
        }
        taken
    }

    fn is_done(&self) -> bool {
        false
    }

    fn is_ended(&self) -> bool {
        self.failed.is_none() && self.answer.is_ended()
    }

    fn finish(&mut self) -> Result<Response, Failure> {
        if let Some(failure) = &self.failed {
            return Err(failure.clone());
        }
        if !self.answer.is_ended() {
            return Err(Failure::new(FailureKind::Cut, "the stream ended without a finish reason"));
        }
        Ok(std::mem::take(&mut self.answer).response())
    }

    fn reported(&mut self) -> Option<Usage> {
        let usage = self.answer.usage().filter(|usage| self.reported != Some(*usage))?;
        self.reported = Some(usage);
        Some(usage)
    }

    /// All parts but the thoughts and calls: those are whole, but what they were for has not come.
    fn partial(&self) -> Option<Response> {
        if !self.answer.has_candidate {
            return None;
        }
        let mut answer = self.answer.clone();
        answer.blocks.retain(|block| matches!(block, Block::Text(text) if !text.text.is_empty()));
        (!answer.blocks.is_empty()).then(|| Response { stop: StopReason::Other("cut".to_owned()), ..answer.response() })
    }
}

impl ChunkDecoder {
    fn take(&mut self, data: &str, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        self.bytes = self.bytes.saturating_add(data.len());
        if self.bytes > MAX_STREAM_BYTES {
            return Err(invalid(format!("the answer takes more than {} MiB", MAX_STREAM_BYTES >> 20)));
        }
        let fields =
            Fields::parse(data).map_err(|_| invalid(format!("a chunk is no JSON object: {}", excerpt(data))))?;
        let parts = self.answer.take_chunk(fields, data)?;
        for (place, part) in parts.iter().enumerate() {
            self.part(part, place == 0, deltas);
        }
        if !self.searched
            && let Some(metadata) = self.answer.candidate.get("groundingMetadata")
            && let Some(search) =
                searches::of_grounding(&self.answer.top.get_str("responseId").unwrap_or_default(), metadata)
        {
            self.searched = true;
            deltas.push(Delta::Search(search));
        }
        Ok(())
    }

    fn part(&mut self, part: &Raw, first: bool, deltas: &mut Vec<Delta>) {
        let new = self.answer.decode(part);
        let block = self.answer.blocks.len();
        if first
            && let Some(last) = self.answer.blocks.last_mut()
            && let Some(delta) = grown(last, &new, block.saturating_sub(1))
        {
            tell(delta, deltas);
            return;
        }
        tell_block(&new, part, block, deltas);
        self.answer.blocks.push(new);
    }
}

/// Puts the text of `new` behind that of `last`, if it goes on with it, and gives what is new.
pub(super) fn grown(last: &mut Block, new: &Block, block: usize) -> Option<Delta> {
    match (last, new) {
        (Block::Text(last), Block::Text(new))
            if [&*last, new].iter().all(|text| own(text.extra.as_deref()).is_none()) =>
        {
            last.text.push_str(&new.text);
            Some(Delta::Text { block, text: new.text.clone() })
        }
        (Block::Thinking(last), Block::Thinking(new))
            if [&*last, new].iter().all(|thinking| {
                thinking.signature.is_none() && own(thinking.extra.as_deref()).is_none_or(Fields::is_empty)
            }) =>
        {
            last.text.push_str(&new.text);
            Some(Delta::Reasoning { block, text: new.text.clone() })
        }
        _ => None,
    }
}

/// Tells of a block that came whole.
fn tell_block(new: &Block, part: &Raw, block: usize, deltas: &mut Vec<Delta>) {
    match new {
        Block::Text(text) => tell(Delta::Text { block, text: text.text.clone() }, deltas),
        Block::Thinking(thinking) => tell(Delta::Reasoning { block, text: thinking.text.clone() }, deltas),
        Block::ToolUse(call) => {
            deltas.push(Delta::ToolUse { block, id: call.id.clone(), name: call.name.clone() });
            if call.input.text() != "{}" {
                deltas.push(Delta::Arguments { block, text: call.input.text().to_owned() });
            }
        }
        Block::Provider(_) => {
            let kind = Fields::parse(part.text()).ok().and_then(|fields| {
                let key = fields.iter().map(|(key, _)| key).find(|key| !key.starts_with("thought"))?;
                Some(key.to_owned())
            });
            deltas.push(Delta::Provider { block, kind: kind.unwrap_or_default(), name: String::new() });
        }
        Block::Image(_) | Block::Document(_) | Block::ToolResult(_) => {}
    }
}
