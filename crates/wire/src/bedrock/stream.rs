//! A streamed answer, event by event: a message begins, its blocks begin, grow and end, it stops, its usage follows.
//!
//! Blocks that grow are put together piece by piece; what else begins is a block that may get more members. Texts and
//! thoughts begin with their first piece.

use std::collections::HashMap;

use super::{
    WIRE,
    block::{CITED, decode_block},
    marked, parsed,
    response::{ConverseAnswer, carried_failure},
};
use crate::{Decode, excerpt, frames::EXCEPTION, invalid, stream::tell};
use loopwright_base::{
    error::{Failure, FailureKind},
    json::{Fields, Raw},
    message::{Block, Extra, StopReason, Text, Thinking, ToolUse, Usage},
    request::{Delta, Response},
};

/// The events of an answer may not be longer than this together.
const MAX_STREAM_BYTES: usize = 256 << 20;
/// Filling that keeps the length of an event from telling what it holds.
const PADDING: &str = "p";

/// A block that is being put together.
#[derive(Clone, Debug)]
enum Growing {
    Text {
        text: String,
        citations: Vec<Raw>,
    },
    Thinking(Thinking),
    Call {
        id: String,
        name: String,
        arguments: String,
        rest: Fields,
    },
    /// A block that came whole, or by members: then the arguments of a tool are a text until its end.
    Other {
        raw: Raw,
        grew: bool,
    },
}

/// Decodes the events of one answer.
#[derive(Debug, Default)]
pub struct EventDecoder {
    answer: ConverseAnswer,
    blocks: Vec<Growing>,
    by_index: HashMap<u64, usize>,
    bytes: usize,
    failed: Option<Failure>,
    done: bool,
    /// The usage that was asked for last.
    reported: Option<Usage>,
}

impl Decode for EventDecoder {
    fn event(&mut self, name: &str, data: &str, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        if let Some(failure) = &self.failed {
            return Err(failure.clone());
        }
        let ended = self.is_ended();
        let taken = self.take(name, data, deltas);
        if let Err(failure) = &taken
            && !ended
        {
            self.failed = Some(failure.clone());
        }
        taken
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn is_ended(&self) -> bool {
        self.failed.is_none() && self.answer.is_ended()
    }

    fn finish(&mut self) -> Result<Response, Failure> {
        if let Some(failure) = &self.failed {
            return Err(failure.clone());
        }
        if !self.answer.is_ended() {
            return Err(Failure::new(FailureKind::Cut, "the stream ended without a stop reason"));
        }
        let mut answer = std::mem::take(&mut self.answer);
        answer.blocks = std::mem::take(&mut self.blocks).into_iter().map(Growing::block).collect();
        Ok(answer.response())
    }

    fn reported(&mut self) -> Option<Usage> {
        let usage = self.answer.usage().filter(|usage| self.reported != Some(*usage))?;
        self.reported = Some(usage);
        Some(usage)
    }

    /// The texts alone: reasoning without its signature and calls without their end can't stand in a history.
    fn partial(&self) -> Option<Response> {
        let said = |block: &&Growing| matches!(block, Growing::Text { text, .. } if !text.is_empty());
        let blocks: Vec<Block> = self.blocks.iter().filter(said).cloned().map(Growing::block).collect();
        let answer = ConverseAnswer { blocks, ..self.answer.clone() };
        (!answer.blocks.is_empty()).then(|| Response { stop: StopReason::Other("cut".to_owned()), ..answer.response() })
    }
}

impl EventDecoder {
    fn take(&mut self, name: &str, data: &str, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        self.bytes = self.bytes.saturating_add(data.len());
        if self.bytes > MAX_STREAM_BYTES {
            return Err(invalid(format!("the answer takes more than {} MiB", MAX_STREAM_BYTES >> 20)));
        }
        if name == EXCEPTION {
            return Err(carried_failure(data));
        }
        let mut fields =
            Fields::parse(data).map_err(|_| invalid(format!("an event is no JSON object: {}", excerpt(data))))?;
        fields.take(PADDING);
        match name {
            "messageStart" => {
                self.answer.has_content = true;
                for (key, value) in fields.iter() {
                    self.answer.message.set(key, value.clone());
                }
            }
            "contentBlockStart" | "contentBlockDelta" => {
                let index = fields.get("contentBlockIndex").and_then(|raw| raw.to::<u64>().ok()).unwrap_or_default();
                if let Some(start) = fields.get("start") {
                    self.start(index, start, deltas);
                } else if let Some(delta) = fields.get("delta").and_then(parsed) {
                    self.grow(index, &delta, deltas);
                }
            }
            "messageStop" => self.answer.take(&fields)?,
            "metadata" => {
                if let Some(output) = fields.take("output").as_ref().and_then(parsed) {
                    self.answer.output = output;
                }
                self.answer.take(&fields)?;
                self.done = self.answer.is_ended();
            }
            // A block's end says nothing that the next event would not, and what is to come is not known.
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, index: u64, block: Growing) -> usize {
        self.answer.has_content = true;
        self.by_index.insert(index, self.blocks.len());
        self.blocks.push(block);
        self.blocks.len() - 1
    }

    fn start(&mut self, index: u64, raw: &Raw, deltas: &mut Vec<Delta>) {
        let start = parsed(raw);
        // Text begins with its first piece; a server may announce it, as such a piece.
        if let Some(first) = start.as_ref().filter(|start| start.len() == 1 && start.get_str("text").is_some()) {
            return self.grow(index, first, deltas);
        }
        let only = start.filter(|start| start.len() == 1);
        let mut call = only.and_then(|start| start.get("toolUse").and_then(parsed));
        if let Some(rest) = call.as_mut().filter(|call| call.get("input").is_none() && call.get("type").is_none())
            && let (Some(id), Some(name)) = (rest.take_str("toolUseId"), rest.take_str("name"))
        {
            let (rest, arguments) = (std::mem::take(rest), String::new());
            let block = self.add(index, Growing::Call { id: id.clone(), name: name.clone(), arguments, rest });
            deltas.push(Delta::ToolUse { block, id, name });
            return;
        }
        let block = self.add(index, Growing::Other { raw: raw.clone(), grew: false });
        tell_block(&decode_block(raw), raw, block, deltas);
    }

    fn grow(&mut self, index: u64, delta: &Fields, deltas: &mut Vec<Delta>) {
        let block = match self.by_index.get(&index) {
            Some(block) => *block,
            None => match Growing::begin(delta) {
                Some(growing) => self.add(index, growing),
                None => return,
            },
        };
        if let Some(growing) = self.blocks.get_mut(block) {
            // One that was announced with nothing is what its first piece says.
            if matches!(growing, Growing::Other { raw, grew: false } if parsed(raw).is_some_and(|raw| raw.is_empty())) {
                *growing = Growing::begin(delta).unwrap_or_else(|| growing.clone());
            }
            growing.grow(block, delta, deltas);
        }
    }
}

impl Growing {
    /// The block that begins with this piece.
    fn begin(delta: &Fields) -> Option<Self> {
        let (kind, _) = delta.iter().next()?;
        Some(match kind {
            "text" | "citation" => Self::Text { text: String::new(), citations: Vec::new() },
            "reasoningContent" => {
                Self::Thinking(Thinking { extra: Some(Box::new(marked(Fields::new()))), ..Thinking::default() })
            }
            kind => {
                let fields = Fields::from_iter([(kind.to_owned(), Raw::empty_object())]);
                Self::Other { raw: fields.to_raw(), grew: false }
            }
        })
    }

    fn grow(&mut self, block: usize, delta: &Fields, deltas: &mut Vec<Delta>) {
        match self {
            Self::Text { text, citations } => {
                if let Some(new) = delta.get_str("text") {
                    text.push_str(&new);
                    tell(Delta::Text { block, text: new }, deltas);
                }
                citations.extend(delta.get("citation").cloned());
            }
            Self::Thinking(thinking) => {
                let Some(piece) = delta.get("reasoningContent").and_then(parsed) else { return };
                let put = |whole: &mut Option<String>, new: Option<String>| {
                    if let Some(new) = new {
                        whole.get_or_insert_default().push_str(&new);
                    }
                };
                put(&mut thinking.signature, piece.get_str("signature"));
                put(&mut thinking.redacted, piece.get_str("redactedContent"));
                if let Some(new) = piece.get_str("text") {
                    thinking.text.push_str(&new);
                    tell(Delta::Reasoning { block, text: new }, deltas);
                }
            }
            Self::Call { arguments, .. } => {
                let Some(new) = delta.get("toolUse").and_then(parsed).and_then(|piece| piece.get_str("input")) else {
                    return;
                };
                arguments.push_str(&new);
                if !new.is_empty() {
                    deltas.push(Delta::Arguments { block, text: new });
                }
            }
            Self::Other { raw, grew } => {
                let mut fields = parsed(raw).unwrap_or_default();
                for (key, piece) in delta.iter() {
                    let mut inner = fields.get(key).and_then(parsed).unwrap_or_default();
                    add_members(&mut inner, piece);
                    fields.set(key, inner.to_raw());
                }
                (*raw, *grew) = (fields.to_raw(), true);
            }
        }
    }

    fn block(self) -> Block {
        match self {
            Self::Text { text, citations } => {
                let mut fields = Fields::new();
                if !citations.is_empty() {
                    fields.put(CITED, &serde_json::json!({ "citations": citations }));
                }
                Block::Text(Text { text, extra: Extra::of(WIRE, fields) })
            }
            Self::Thinking(thinking) => Block::Thinking(thinking),
            Self::Call { id, name, arguments, rest } => {
                let mut extra = Fields::new();
                if !rest.is_empty() {
                    extra.set("toolUse", rest.to_raw());
                }
                Block::ToolUse(ToolUse { extra: Extra::of(WIRE, extra), ..ToolUse::from_text(id, name, arguments) })
            }
            Self::Other { raw, grew: false } => decode_block(&raw),
            Self::Other { raw, grew: true } => {
                let mut fields = parsed(&raw).unwrap_or_default();
                if let Some(mut call) = fields.get("toolUse").and_then(parsed)
                    && let Some(input) = call.get_str("input").and_then(|text| Raw::parse(text).ok())
                {
                    call.set("input", input);
                    fields.set("toolUse", call.to_raw());
                }
                decode_block(&fields.to_raw())
            }
        }
    }
}

/// Puts a piece into the member of a block that came by members: an object's members, and the items of a list behind
/// those of its content. The arguments of a tool that the provider runs come as text.
fn add_members(inner: &mut Fields, piece: &Raw) {
    if let Some(items) = piece.is_array().then(|| piece.to::<Vec<Raw>>().ok()).flatten() {
        let mut content: Vec<Raw> = inner.take_as("content").unwrap_or_default();
        content.extend(items);
        inner.put("content", &content);
        return;
    }
    for (key, value) in parsed(piece).iter().flat_map(Fields::iter) {
        let text = value.string().filter(|_| key == "input");
        let before = inner.get(key).and_then(Raw::string).filter(|_| key == "input");
        match text {
            Some(text) => inner.put(key, &(before.unwrap_or_default() + &text)),
            None => inner.set(key, value.clone()),
        }
    }
}

/// Tells of a block that came whole.
fn tell_block(new: &Block, raw: &Raw, block: usize, deltas: &mut Vec<Delta>) {
    match new {
        Block::Text(text) => tell(Delta::Text { block, text: text.text.clone() }, deltas),
        Block::Thinking(thinking) => tell(Delta::Reasoning { block, text: thinking.text.clone() }, deltas),
        Block::ToolUse(call) => {
            deltas.push(Delta::ToolUse { block, id: call.id.clone(), name: call.name.clone() });
            deltas.push(Delta::Arguments { block, text: call.arguments_text().to_owned() });
        }
        Block::Provider(_) => {
            let fields = parsed(raw).unwrap_or_default();
            let kind = fields.iter().next().map(|(key, _)| key.to_owned()).unwrap_or_default();
            let name = fields.get(&kind).and_then(parsed).and_then(|inner| inner.get_str("name")).unwrap_or_default();
            deltas.push(Delta::Provider { block, kind, name });
        }
        Block::Image(_) | Block::Document(_) | Block::ToolResult(_) => {}
    }
}
