//! A streamed answer, event by event.
//!
//! Every delta grows the field that the whole answer has in its place, also where the kind of block or delta is
//! unknown. Events that the protocol does not allow end the stream with a failure; memory is bounded by
//! [`MAX_ANSWER_BYTES`].

use std::collections::{HashMap, HashSet};

use super::{
    block::{Place, decode_block, given_id, made_id},
    response::{self, assemble, failure},
};
use crate::{Decode, excerpt, failure_kind, invalid, object::write_invalid, searches};
use loopwright_base::{
    error::{Failure, FailureKind},
    json::{Fields, Raw},
    message::{Block, StopReason, ToolUse, Usage},
    request::{Delta, Response},
};

/// All that an answer holds may not cost more memory than this.
const MAX_ANSWER_BYTES: usize = 256 << 20;

/// What a block of nothing costs in memory, about; and a field.
const BLOCK_BYTES: usize = 512;
const FIELD_BYTES: usize = 64;

/// A block may not have more fields that grow than this; the known ones have three.
const MAX_GROWING: usize = 32;

/// Decodes the events of one answer.
#[derive(Debug, Default)]
pub struct StreamDecoder {
    /// The fields of the answer, once `message_start` has come.
    fields: Option<Fields>,
    blocks: Vec<Slot>,
    /// The places of blocks by the numbers that the server gives them.
    places: HashMap<u64, usize>,
    bytes: usize,
    done: bool,
    /// Whether the reason why the answer stops has come.
    ended: bool,
    failed: Option<Failure>,
    /// Whether the usage in `fields` is newer than what was last asked for.
    reports: bool,
}

#[derive(Debug)]
enum Slot {
    Open(Box<Open>),
    Closed(Block),
}

/// What a block is, as far as its deltas are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    ToolUse,
    Provider,
}

/// A block that still grows.
#[derive(Debug)]
struct Open {
    kind: Kind,
    /// The block as it began.
    raw: Raw,
    fields: Fields,
    growing: Vec<(String, Grown)>,
    /// The pieces of `input`.
    json: String,
    citations: Vec<Raw>,
}

#[derive(Debug)]
enum Grown {
    Text(String),
    Value(Raw),
}

impl Decode for StreamDecoder {
    fn event(&mut self, name: &str, data: &str, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        if let Some(failure) = &self.failed {
            return Err(failure.clone());
        }
        if self.done || (name == "ping" && data.is_empty()) {
            return Ok(());
        }
        let ended = self.ended;
        let result = self.take(name, data, deltas);
        if let Err(failure) = &result
            && !ended
        {
            self.failed = Some(failure.clone());
        }
        result
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn is_ended(&self) -> bool {
        (self.done || self.ended) && self.failed.is_none()
    }

    fn finish(&mut self) -> Result<Response, Failure> {
        if let Some(failure) = &self.failed {
            return Err(failure.clone());
        }
        if !self.done && !self.ended {
            return Err(Failure::new(FailureKind::Cut, "the stream broke off before the end of the answer"));
        }
        let fields =
            self.fields.take().ok_or_else(|| Failure::new(FailureKind::Internal, "a stream was finished twice"))?;
        let content = std::mem::take(&mut self.blocks)
            .into_iter()
            .map(|slot| match slot {
                Slot::Open(open) => open.close(),
                Slot::Closed(block) => block,
            })
            .collect();
        Ok(assemble(fields, content))
    }

    fn reported(&mut self) -> Option<Usage> {
        std::mem::take(&mut self.reports).then(|| response::reported(self.fields.as_ref()?)).flatten()
    }

    /// What of the answer may stand in a history. An answer of which only the usage is known has no content.
    fn partial(&self) -> Option<Response> {
        let fields = self.fields.clone()?;
        let mut content: Vec<Block> = self.blocks.iter().filter_map(Slot::so_far).collect();
        // The wire refuses its own tool uses without their results.
        let answered: HashSet<String> = content
            .iter()
            .filter_map(|block| if let Block::Provider(block) = block { block.field("tool_use_id") } else { None })
            .collect();
        content.retain(|block| match block {
            Block::Provider(block) if block.is_tool_use() => block.field("id").is_some_and(|id| answered.contains(&id)),
            _ => true,
        });
        while matches!(content.last(), Some(Block::Thinking(_))) {
            content.pop();
        }
        let mut response = assemble(fields, content);
        if response.stop == StopReason::Other(String::new()) {
            response.stop = StopReason::Other("cut".into());
        }
        let nothing = response.message.content.is_empty() && response.usage.total() == 0;
        (!nothing).then_some(response)
    }
}

impl StreamDecoder {
    fn take(&mut self, name: &str, data: &str, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        let mut event = match Fields::parse(data) {
            Ok(event) => event,
            Err(_) if name == "error" => {
                let words = excerpt(data);
                return Err(Failure::new(failure_kind(200, "", words), format!("the provider broke off: {words}")));
            }
            Err(_) => return Err(invalid(format!("an event of the stream is no JSON object: {}", excerpt(data)))),
        };
        let kind = event.take_str("type").unwrap_or_else(|| name.to_owned());
        match kind.as_str() {
            "message_start" => self.start(&mut event, deltas),
            "content_block_start" => {
                if self.fields.is_none() {
                    return Err(invalid("a block begins before the answer"));
                }
                let raw = event.take("content_block").ok_or_else(|| invalid("a block begins with nothing"))?;
                // Indexes only say what belongs together: some servers count from 1, some leave numbers out. A block
                // that begins under the number of one that is open ends that.
                let next = self.blocks.len();
                let before = index(&event).and_then(|index| self.places.insert(index, next));
                if let Some(at) = before
                    && let Some(slot) = self.blocks.get_mut(at)
                {
                    slot.close(at, deltas);
                }
                self.open(raw, deltas)
            }
            "content_block_delta" => {
                let index = self.place(&event);
                let delta = object(event.take("delta"), "a delta")?;
                self.grow(index, delta, deltas)
            }
            "content_block_stop" => {
                let at = self.place(&event).unwrap_or(usize::MAX);
                if let Some(slot) = self.blocks.get_mut(at) {
                    slot.close(at, deltas);
                }
                Ok(())
            }
            "message_delta" => self.change(event),
            "message_stop" => {
                if self.fields.is_none() {
                    return Err(invalid("the answer ends before it began"));
                }
                for (at, slot) in self.blocks.iter_mut().enumerate() {
                    slot.close(at, deltas);
                }
                self.done = true;
                Ok(())
            }
            "error" => Err(failure(&event)),
            // `ping`, and events to come.
            _ => Ok(()),
        }
    }

    /// The block that an event is for: the last one, where it has no number.
    fn place(&self, event: &Fields) -> Option<usize> {
        match index(event) {
            Some(index) => self.places.get(&index).copied(),
            None => self.blocks.len().checked_sub(1),
        }
    }

    fn spend(&mut self, bytes: usize) -> Result<(), Failure> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_ANSWER_BYTES {
            return Err(invalid(format!("the answer takes more than {} MiB", MAX_ANSWER_BYTES >> 20)));
        }
        Ok(())
    }

    fn start(&mut self, event: &mut Fields, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        if self.fields.is_some() {
            return Err(invalid("the answer begins twice"));
        }
        let mut fields = object(event.take("message"), "the answer")?;
        // Empty with the provider itself; others may put what they have.
        let content: Vec<Raw> = fields.take("content").and_then(|raw| raw.to().ok()).unwrap_or_default();
        self.spend(size(&fields))?;
        self.fields = Some(fields);
        self.reports = true;
        for raw in content {
            let at = self.blocks.len();
            self.places.insert(at as u64, at);
            self.open(raw, deltas)?;
            if let Some(slot) = self.blocks.last_mut() {
                slot.close(at, deltas);
            }
        }
        Ok(())
    }

    fn open(&mut self, raw: Raw, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        let fields = Fields::parse(raw.text()).map_err(|_| invalid("a block of the answer is no object"))?;
        self.spend(BLOCK_BYTES + size(&fields))?;
        let name = fields.get_str("type").ok_or_else(|| invalid("a block of the answer has no type"))?;
        let block = self.blocks.len();
        let kind = match name.as_str() {
            "text" => Kind::Text,
            "thinking" => Kind::Thinking,
            "tool_use" => match (given_id(&fields), fields.get_str("name")) {
                (Some(id), Some(name)) => {
                    let id = if id.is_empty() { made_id(block) } else { id };
                    deltas.push(Delta::ToolUse { block, id, name });
                    Kind::ToolUse
                }
                _ => Kind::Provider,
            },
            _ => Kind::Provider,
        };
        let opened = |key| fields.get_str(key).filter(|text| !text.is_empty());
        match kind {
            Kind::Text => deltas.extend(opened("text").map(|text| Delta::Text { block, text })),
            Kind::Thinking => deltas.extend(opened("thinking").map(|text| Delta::Reasoning { block, text })),
            // Reasoning that can't be read is no tool.
            Kind::Provider if name != "redacted_thinking" => {
                let tool = fields.get_str("name").unwrap_or_default();
                deltas.push(Delta::Provider { block, kind: name, name: tool });
            }
            _ => {}
        }
        self.blocks.push(Slot::Open(Box::new(Open {
            kind,
            raw,
            fields,
            growing: Vec::new(),
            json: String::new(),
            citations: Vec::new(),
        })));
        Ok(())
    }

    fn grow(&mut self, index: Option<usize>, mut delta: Fields, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        self.spend(size(&delta))?;
        let block = index.unwrap_or(usize::MAX);
        let Some(Slot::Open(open)) = self.blocks.get_mut(block) else {
            return Err(invalid(format!("a delta is for block {}, which is not open", say(index))));
        };
        let name = delta.take_str("type").ok_or_else(|| invalid("a delta has no type"))?;
        let fits = match name.as_str() {
            "text_delta" => matches!(open.kind, Kind::Text | Kind::Provider),
            "thinking_delta" | "signature_delta" => matches!(open.kind, Kind::Thinking | Kind::Provider),
            "input_json_delta" => matches!(open.kind, Kind::ToolUse | Kind::Provider),
            "citations_delta" => matches!(open.kind, Kind::Text | Kind::Provider),
            _ => true,
        };
        if !fits {
            return Err(invalid(format!("block {block} can't take a {name}")));
        }
        match (name.as_str(), open.kind) {
            ("text_delta", Kind::Text) => {
                if let Some(text) = piece(&mut delta, "text")? {
                    open.append("text", &text)?;
                    deltas.push(Delta::Text { block, text });
                }
            }
            ("thinking_delta", Kind::Thinking) => {
                if let Some(text) = piece(&mut delta, "thinking")? {
                    open.append("thinking", &text)?;
                    deltas.push(Delta::Reasoning { block, text });
                }
            }
            ("input_json_delta", _) => {
                if let Some(text) = piece(&mut delta, "partial_json")? {
                    open.json.push_str(&text);
                    if open.kind == Kind::ToolUse {
                        deltas.push(Delta::Arguments { block, text });
                    }
                }
            }
            ("citations_delta", _) => open.citations.extend(delta.take("citation")),
            ("signature_delta", _) => {
                if let Some(signature) = delta.take("signature") {
                    open.replace("signature", signature)?;
                }
            }
            _ => {
                for (key, value) in delta.iter() {
                    match value.string() {
                        Some(text) => open.append(key, &text)?,
                        None => open.replace(key, value.clone())?,
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes the fields that are only known at the end.
    fn change(&mut self, mut event: Fields) -> Result<(), Failure> {
        // What is known is gone through again, so it counts again: no number of changes costs more than the limit.
        self.spend(size(&event) + self.fields.as_ref().map_or(0, size))?;
        let Some(fields) = &mut self.fields else {
            return Err(invalid("the answer changes before it began"));
        };
        let delta = match event.take("delta") {
            Some(raw) => object(Some(raw), "a change of the answer")?,
            None => Fields::new(),
        };
        if let Some(raw) = event.take("usage").filter(|raw| !raw.is_null()) {
            let new = object(Some(raw), "the usage")?;
            let old = fields.get("usage").and_then(|raw| Fields::parse(raw.text()).ok());
            fields.set("usage", merge(&old.unwrap_or_default(), &new).to_raw());
            self.reports = true;
        }
        *fields = merge(fields, &delta);
        // Fields beside `delta` belong to the answer too, such as `context_management`.
        *fields = merge(fields, &event);
        fields.take("content");
        self.ended |= delta.get_str("stop_reason").is_some();
        Ok(())
    }
}

/// `new` over `old`; a `null` does not hide what was known.
fn merge(old: &Fields, new: &Fields) -> Fields {
    let places: HashMap<String, usize> = old.iter().enumerate().map(|(at, (key, _))| (key.to_owned(), at)).collect();
    let mut members: Vec<(String, Raw)> = old.iter().map(|(key, value)| (key.to_owned(), value.clone())).collect();
    for (key, value) in new.iter() {
        match places.get(key).and_then(|at| members.get_mut(*at)) {
            Some(member) if !value.is_null() => member.1 = value.clone(),
            Some(_) => {}
            None => members.push((key.to_owned(), value.clone())),
        }
    }
    members.into_iter().collect()
}

fn size(fields: &Fields) -> usize {
    fields.iter().map(|(key, value)| FIELD_BYTES + key.len() + value.text().len()).sum()
}

fn index(event: &Fields) -> Option<u64> {
    event.get("index").and_then(|raw| raw.to().ok())
}

fn say(index: Option<usize>) -> String {
    index.map_or_else(|| "?".into(), |index| index.to_string())
}

fn object(raw: Option<Raw>, what: &str) -> Result<Fields, Failure> {
    raw.and_then(|raw| Fields::parse(raw.text()).ok()).ok_or_else(|| invalid(format!("{what} is no object")))
}

/// A piece of text; `None` if it is empty, missing or null.
fn piece(delta: &mut Fields, key: &str) -> Result<Option<String>, Failure> {
    match delta.take(key) {
        Some(raw) if !raw.is_null() => match raw.string() {
            Some(text) => Ok(Some(text).filter(|text| !text.is_empty())),
            None => Err(invalid(format!("a delta's `{key}` is no text"))),
        },
        _ => Ok(None),
    }
}

impl Slot {
    fn close(&mut self, at: usize, deltas: &mut Vec<Delta>) {
        if let Self::Open(open) = self {
            let announced = open.kind == Kind::ToolUse && !open.json.is_empty();
            let block = open.close();
            if let Block::ToolUse(call) = &block
                && !announced
                && call.input.text() != "{}"
            {
                deltas.push(Delta::Arguments { block: at, text: call.input.text().to_owned() });
            }
            if let Block::Provider(block) = &block
                && let Ok(fields) = Fields::parse(block.raw.text())
            {
                deltas.extend(searches::of_block(&fields, at).map(Delta::Search));
            }
            *self = Self::Closed(block);
        }
    }

    /// What may stand in a history if nothing more comes.
    fn so_far(&self) -> Option<Block> {
        match self {
            Self::Closed(Block::Thinking(thinking)) => {
                let whole = thinking.redacted.is_some() || thinking.signature.as_ref().is_some_and(|s| !s.is_empty());
                whole.then(|| Block::Thinking(thinking.clone()))
            }
            Self::Closed(block) => Some(block.clone()),
            Self::Open(open) if open.kind == Kind::Text => {
                let block = open.close();
                matches!(&block, Block::Text(text) if !text.text.is_empty()).then_some(block)
            }
            Self::Open(_) => None,
        }
    }
}

impl Open {
    fn growing(&mut self, key: &str) -> Result<&mut Grown, Failure> {
        let at = match self.growing.iter().position(|(name, _)| name == key) {
            Some(at) => at,
            None if self.growing.len() < MAX_GROWING => {
                let begun = self.fields.get_str(key).unwrap_or_default();
                self.growing.push((key.to_owned(), Grown::Text(begun)));
                self.growing.len() - 1
            }
            None => return Err(invalid("a block of the answer grows in too many fields")),
        };
        self.growing
            .get_mut(at)
            .map(|(_, grown)| grown)
            .ok_or_else(|| Failure::new(FailureKind::Internal, "a growing field was lost"))
    }

    fn append(&mut self, key: &str, piece: &str) -> Result<(), Failure> {
        match self.growing(key)? {
            Grown::Text(text) => text.push_str(piece),
            value @ Grown::Value(_) => *value = Grown::Text(piece.to_owned()),
        }
        Ok(())
    }

    fn replace(&mut self, key: &str, value: Raw) -> Result<(), Failure> {
        *self.growing(key)? = Grown::Value(value);
        Ok(())
    }

    /// The block, whole.
    fn close(&self) -> Block {
        let mut fields = self.fields.clone();
        for (key, grown) in &self.growing {
            match grown {
                Grown::Text(text) => fields.put(key, text),
                Grown::Value(value) => fields.set(key, value.clone()),
            }
        }
        if !self.citations.is_empty() {
            let begun: Vec<Raw> = fields.get("citations").and_then(|raw| raw.to().ok()).unwrap_or_default();
            let all: Vec<&Raw> = begun.iter().chain(&self.citations).collect();
            fields.put("citations", &all);
        }
        let mut invalid = None;
        if !self.json.trim().is_empty() {
            let call = ToolUse::from_text("", "", self.json.clone());
            if let (Some(text), Kind::Provider) = (&call.invalid, self.kind) {
                let mut input = String::new();
                write_invalid(&mut input, text);
                fields.set("input", Raw::parse(input).unwrap_or_else(|_| Raw::empty_object()));
            } else {
                fields.set("input", call.input);
                invalid = call.invalid;
            }
        }
        if fields == self.fields && invalid.is_none() {
            return decode_block(&self.raw, Place::Response);
        }
        let mut block = decode_block(&fields.to_raw(), Place::Response);
        if let Block::ToolUse(call) = &mut block {
            call.invalid = invalid;
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What ends a stream that has little room left and goes on with `event` for ever.
    fn flood(event: impl Fn(usize) -> String) -> (usize, Failure) {
        let mut decoder = StreamDecoder::default();
        let mut feed = |data: &str| decoder.event("", data, &mut Vec::new());
        feed(r#"{"type":"message_start","message":{}}"#).unwrap();
        feed(r#"{"type":"content_block_start","index":0,"content_block":{"type":"text"}}"#).unwrap();
        decoder.bytes = MAX_ANSWER_BYTES - 100_000;
        (1..10_000)
            .find_map(|at| Some((at, decoder.event("", &event(at), &mut Vec::new()).err()?)))
            .expect("nothing stops the flood")
    }

    /// A stream whose pings are torn is torn.
    #[test]
    fn a_ping_is_read_like_any_event() {
        let fed = |data: &str| StreamDecoder::default().event("ping", data, &mut Vec::new());
        assert!(["", "{}", r#"{"type":"ping"}"#].iter().all(|data| fed(data).is_ok()));
        let torn = fed(r#"{"type":"pi"#).unwrap_err();
        assert!(torn.kind == FailureKind::InvalidBody && torn.message.contains(r#"{"type":"pi"#), "{torn:?}");
    }

    #[test]
    fn an_endless_answer_ends_in_bounded_memory() {
        let piece = "x".repeat(1000);
        let text = |_| {
            let delta = format!(r#"{{"type":"text_delta","text":"{piece}"}}"#);
            format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#)
        };
        let blocks = |at| format!(r#"{{"type":"content_block_start","index":{at},"content_block":{{"type":"text"}}}}"#);
        let changes = |at| format!(r#"{{"type":"message_delta","delta":{{"k{at}":1}},"usage":{{}}}}"#);
        for (at, failure) in [flood(text), flood(blocks), flood(changes)] {
            assert_eq!(failure.kind, FailureKind::InvalidBody);
            assert!(failure.message.contains("256 MiB"), "{}", failure.message);
            assert!((10..300).contains(&at), "{at}");
        }
    }
}
