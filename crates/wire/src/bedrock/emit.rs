//! Answers as the events that the provider would stream: for servers in tests.
//!
//! Reading the events back gives the same response, whatever the size of the pieces.

use serde_json::{Value, json};

use super::{
    block::{BlockPlace, CITED, fits, write_block},
    members_of, own,
    response::ConverseWriter,
};
use crate::{notes::wire_key, object::Object};
use loopwright_base::{
    json::{Fields, Raw},
    message::{Block, Text, Thinking, ToolUse},
    request::Response,
    text::pieces,
};

/// The events (name, data) of the answer, what grows in pieces of about `piece` bytes. No data holds a line break.
pub fn encode_stream(response: &Response, piece: usize) -> Vec<(String, String)> {
    let write = ConverseWriter::new(response);
    let mut list = EventList::default();
    let mut start = Object::new();
    write.role(&mut start);
    start.rest(Some(&write.message()), wire_key);
    list.push("messageStart", start.end());
    for block in response.message.content.iter().filter(|block| fits(block, BlockPlace::AsItCame)) {
        list.push_block(block, piece);
    }
    list.push("messageStop", stop_event(&write));
    list.push("metadata", metadata_event(&write));
    list.events
}

/// The events of an answer that is being written.
#[derive(Default)]
struct EventList {
    events: Vec<(String, String)>,
    /// The number of the block that is written.
    index: usize,
}

impl EventList {
    fn push(&mut self, name: &str, data: String) {
        // Between the tokens of JSON a line break is as good as a space; inside strings there are none.
        let data = if data.contains(['\n', '\r']) { data.replace(['\n', '\r'], " ") } else { data };
        self.events.push((name.to_owned(), data));
    }

    fn push_delta(&mut self, delta: &str) {
        self.push("contentBlockDelta", format!("{{\"delta\":{delta},\"contentBlockIndex\":{}}}", self.index));
    }

    fn push_start(&mut self, start: &str) {
        self.push("contentBlockStart", format!("{{\"start\":{start},\"contentBlockIndex\":{}}}", self.index));
    }

    fn push_block(&mut self, block: &Block, piece: usize) {
        match block {
            Block::Text(text) if grows(text) => self.push_text(text, piece),
            Block::Thinking(thinking) if is_bare(thinking) => self.push_thinking(thinking, piece),
            Block::ToolUse(call) if is_bare_call(call) => self.push_call(call, piece),
            block => {
                let mut whole = String::new();
                write_block(&mut whole, block, BlockPlace::AsItCame);
                self.push_start(&whole);
            }
        }
        self.push("contentBlockStop", format!("{{\"contentBlockIndex\":{}}}", self.index));
        self.index += 1;
    }

    fn push_text(&mut self, text: &Text, piece: usize) {
        for piece in texts(&text.text, piece) {
            self.push_delta(Raw::of(&json!({"text": piece})).text());
        }
        let cited = members_of(own(text.extra.as_deref()), CITED);
        let citations: Vec<Raw> = cited.get("citations").and_then(|raw| raw.to().ok()).unwrap_or_default();
        for citation in citations {
            self.push_delta(&format!("{{\"citation\":{}}}", citation.text()));
        }
    }

    fn push_thinking(&mut self, thinking: &Thinking, piece: usize) {
        let mut push = |inner: Value| self.push_delta(Raw::of(&json!({ "reasoningContent": inner })).text());
        for piece in texts(&thinking.text, piece).filter(|_| thinking.redacted.is_none()) {
            push(json!({"text": piece}));
        }
        for (key, value) in [("signature", &thinking.signature), ("redactedContent", &thinking.redacted)] {
            if let Some(value) = value {
                push(json!({key: value}));
            }
        }
    }

    fn push_call(&mut self, call: &ToolUse, piece: usize) {
        let mut start = members_of(own(call.extra.as_deref()), CALL);
        start.put("toolUseId", &call.id);
        start.put("name", &call.name);
        self.push_start(&format!("{{\"{CALL}\":{}}}", start.to_raw().text()));
        for piece in texts(call.arguments_text(), piece) {
            self.push_delta(Raw::of(&json!({CALL: {"input": piece}})).text());
        }
    }
}

fn stop_event(write: &ConverseWriter<'_>) -> String {
    let mut stop = Object::new();
    write.stop(&mut stop);
    if let Some(raw) = write.extra.and_then(|fields| fields.get(RESPONSE_FIELDS)) {
        stop.raw(RESPONSE_FIELDS, raw.text());
    }
    stop.end()
}

fn metadata_event(write: &ConverseWriter<'_>) -> String {
    let mut metadata = Object::new();
    write.usage(&mut metadata);
    let mut output = members_of(write.extra, "output");
    output.take("message");
    if !output.is_empty() {
        metadata.raw("output", output.to_raw().text());
    }
    let beside = ["output", RESPONSE_FIELDS, "stopReason"];
    metadata.rest(write.extra, |key| wire_key(key).filter(|key| !beside.contains(key)));
    metadata.end()
}

/// The member of a block that is a call.
const CALL: &str = "toolUse";
/// What a model says beside the wire's own fields; it comes with the end.
const RESPONSE_FIELDS: &str = "additionalModelResponseFields";

/// The pieces of a text; of an empty one, it.
fn texts(text: &str, piece: usize) -> impl Iterator<Item = &str> {
    text.is_empty().then_some("").into_iter().chain(pieces(text, piece.max(1)))
}

/// Whether a text comes in pieces: nothing stands beside it but citations.
fn grows(text: &Text) -> bool {
    let Some(fields) = own(text.extra.as_deref()) else { return true };
    let cited = members_of(Some(fields), CITED);
    let list = cited.get("citations").and_then(|raw| raw.to::<Vec<Raw>>().ok());
    fields.len() == 1 && cited.len() == 1 && list.is_some_and(|list| !list.is_empty())
}

/// Whether a thought comes in pieces: nothing stands beside it.
fn is_bare(thinking: &Thinking) -> bool {
    own(thinking.extra.as_deref()).is_none_or(Fields::is_empty)
}

/// Whether a call comes in pieces: nothing stands beside it but members of its own.
fn is_bare_call(call: &ToolUse) -> bool {
    own(call.extra.as_deref()).is_none_or(|fields| fields.len() == 1 && fields.get(CALL).is_some())
}
