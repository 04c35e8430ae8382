//! An answer from what its stream has shown: whole, where the last event is thin, and as far as it came, where it
//! breaks off.

use std::collections::HashSet;

use serde_json::json;

use super::{Item, Kind, StreamDecoder, kind_of, names};
use crate::openai_responses::{
    WIRE, item,
    part::{OUTPUT_TEXT, REFUSAL},
};
use loopwright_base::{
    json::{Fields, Raw},
    message::{Block, Extra, Message, Role, StopReason, Text, Usage, is_empty_arguments},
    request::Response,
};

/// Adds the blocks of a finished item as far as they can stand in a history; `false` if it was reasoning without
/// proof, after which the ids of items would point to what is missing.
fn push_done(done: &Raw, without_id: bool, blocks: &mut Vec<Block>) -> bool {
    let Ok(mut fields) = Fields::parse(done.text()) else { return true };
    match fields.get_str("type").as_deref() {
        Some("reasoning") if fields.get_str("encrypted_content").is_none() => return false,
        Some("function_call") if fields.get_str("status").as_deref() == Some("incomplete") => return true,
        Some("function_call" | "message") if without_id => {
            fields.take("id");
        }
        _ => {}
    }
    let mut decoded = Vec::new();
    if item::decode_output(&fields.to_raw(), &mut decoded).is_ok() {
        decoded.retain(|block| !matches!(block, Block::ToolUse(call) if call.invalid.is_some()));
        blocks.append(&mut decoded);
    }
    true
}

impl StreamDecoder {
    /// What can stand in a history of an answer that broke off.
    pub(super) fn so_far(&self) -> Option<Response> {
        let mut blocks = Vec::new();
        let mut reasoning_lost = false;
        for item in self.items.values() {
            match &item.done {
                Some(done) => reasoning_lost |= !push_done(done, reasoning_lost, &mut blocks),
                None => blocks.extend(self.unfinished(item)),
            }
        }
        // Reasoning with nothing behind it is refused in a history.
        while matches!(blocks.last(), Some(Block::Thinking(_))) {
            blocks.pop();
        }
        let created = self.created.as_ref().and_then(|raw| Fields::parse(raw.text()).ok()).unwrap_or_default();
        (!blocks.is_empty()).then(|| Response {
            id: created.get_str("id").unwrap_or_default(),
            model: created.get_str("model").unwrap_or_default(),
            message: Message::new(Role::Assistant, blocks),
            stop: StopReason::Other("cut".to_owned()),
            usage: Usage::default(),
            extra: None,
            adapted: Vec::new(),
        })
    }

    /// Completes an answer whose last event holds no output from what came before.
    pub(super) fn fill(&self, kind: &str, fields: &mut Fields) {
        let output: Vec<Raw> = self.items.values().filter_map(|item| self.whole(item)).collect();
        fields.put("output", &output);
        if fields.get("status").is_none() {
            fields.put("status", if kind == "response.incomplete" { "incomplete" } else { "completed" });
        }
        let created: Fields = self.created.as_ref().and_then(|raw| raw.to().ok()).unwrap_or_default();
        let known: HashSet<&str> = fields.iter().map(|(key, _)| key).collect();
        let missing: Vec<(String, Raw)> = created
            .iter()
            .filter(|(key, _)| !known.contains(key))
            .map(|(key, value)| (key.to_owned(), value.clone()))
            .collect();
        let all = fields.iter().map(|(key, value)| (key.to_owned(), value.clone())).chain(missing);
        *fields = all.collect();
    }

    /// An item as its last event has it, with what was streamed of it where that event holds nothing.
    pub(super) fn filled(&self, place: u64, raw: Raw) -> Raw {
        let Ok(fields) = Fields::parse(raw.text()) else { return raw };
        let place = names(&fields).find_map(|name| self.places.get(&name).copied()).unwrap_or(place);
        let Some(item) = self.items.get(&place).filter(|item| item.kind == kind_of(&fields)) else { return raw };
        let is_empty = |value: &Raw| value.is_null() || value.is_empty_array() || value.text() == "\"\"";
        let holds = |key: &str| fields.get(key).is_some_and(|value| !is_empty(value));
        let no_arguments = fields.get("arguments").is_none_or(|value| is_empty(value) && !value.is_empty_array());
        let shown: String =
            item.parts.values().filter_map(|block| self.shown.get(*block)).map(|shown| shown.text.as_str()).collect();
        let is_thin = match item.kind {
            Kind::Text => !holds("content") && !shown.is_empty(),
            Kind::Call => {
                (no_arguments && !is_empty_arguments(&shown) && shown.trim() != "{}")
                    || ["name", "call_id"].iter().any(|key| fields.get(key).is_none())
            }
            Kind::Refusal | Kind::Reasoning | Kind::Provider => false,
        };
        if !is_thin {
            return raw;
        }
        let mut all: Fields = item.added.as_ref().and_then(|raw| raw.to().ok()).unwrap_or_default();
        for (key, value) in fields.iter().filter(|(_, value)| !is_empty(value)) {
            all.set(key, value.clone());
        }
        let begun = Item { added: Some(all.to_raw()), done: None, ..item.clone() };
        self.whole(&begun).unwrap_or(raw)
    }

    /// The item as it would be in the answer.
    fn whole(&self, item: &Item) -> Option<Raw> {
        if let Some(done) = &item.done {
            return Some(done.clone());
        }
        let mut fields: Fields = item.added.as_ref().and_then(|raw| raw.to().ok()).unwrap_or_default();
        match item.kind {
            Kind::Text => {
                let parts: Vec<_> = item
                    .parts
                    .values()
                    .filter_map(|block| self.shown.get(*block))
                    .map(|shown| match shown.kind {
                        Kind::Refusal => json!({"type": REFUSAL, "refusal": shown.text}),
                        _ => json!({"type": OUTPUT_TEXT, "text": shown.text}),
                    })
                    .collect();
                fields.put("type", "message");
                fields.put("role", "assistant");
                fields.put("content", &parts);
            }
            Kind::Call => fields.put("arguments", &self.shown.get(*item.parts.get(&0)?)?.text),
            Kind::Reasoning if item.added.is_none() => {
                let text = &self.shown.get(*item.parts.get(&0)?)?.text;
                fields.put("type", "reasoning");
                fields.put("summary", &[json!({"type": "summary_text", "text": text})]);
            }
            Kind::Refusal | Kind::Reasoning | Kind::Provider => {}
        }
        Some(fields.to_raw())
    }

    /// The text of a message that is still being written, without the id of what it would have become.
    fn unfinished(&self, item: &Item) -> impl Iterator<Item = Block> {
        let parts = item.parts.values().filter_map(|block| self.shown.get(*block));
        parts.filter(|shown| !shown.text.is_empty()).filter_map(|shown| {
            let extra = match shown.kind {
                Kind::Text => None,
                Kind::Refusal => Extra::of(WIRE, [("type".to_owned(), Raw::of(REFUSAL))].into_iter().collect()),
                Kind::Reasoning | Kind::Call | Kind::Provider => return None,
            };
            Some(Block::Text(Text { text: shown.text.clone(), extra }))
        })
    }
}
