//! Answers as the events that the provider would stream: for servers in tests.
//!
//! Reading the events back gives the same response, whatever the size of the pieces.

use super::{
    NOTE,
    block::{is_compact_array, response_block},
    own,
    response::{head, tail},
};
use crate::object::Object;
use loopwright_base::{
    json::{Fields, Raw},
    message::Block,
    request::Response,
    text::pieces,
};

/// The fields that the provider sends with `message_delta`, null or missing before.
const LATE: [&str; 4] = ["stop_reason", "stop_sequence", "stop_details", "container"];

/// The events (name, data) of the answer, its text in pieces of about `piece` bytes. No data holds a line break.
pub fn encode_stream(response: &Response, piece: usize) -> Vec<(String, String)> {
    let mut events = Events { piece: piece.max(1), list: Vec::new() };
    events.begin(response);
    events.push("ping", |_| {});
    let blocks = response.message.content.iter().filter_map(|block| Some((block, response_block(block)?)));
    for (index, (block, text)) in blocks.enumerate() {
        events.block(index, block, &text);
    }
    events.end(response);
    events.list
}

struct Events {
    piece: usize,
    list: Vec<(String, String)>,
}

impl Events {
    fn push(&mut self, name: &str, write: impl FnOnce(&mut Object)) {
        let mut object = Object::new();
        object.text("type", name);
        write(&mut object);
        let mut data = object.end();
        // Between the tokens of JSON a line break is as good as a space; inside strings there are none.
        if data.contains(['\n', '\r']) {
            data = data.replace(['\n', '\r'], " ");
        }
        self.list.push((name.to_owned(), data));
    }

    fn begin(&mut self, response: &Response) {
        let mut known = head(response);
        known.push(("content", Raw::of::<[(); 0]>(&[])));
        known.extend(tail(response));
        let extra = own(response.extra.as_deref()).into_iter().flat_map(Fields::iter);
        let rest = extra.filter(|(key, _)| *key != NOTE && !known.iter().any(|(name, _)| name == key));
        let members = known.iter().map(|(key, value)| (*key, value)).chain(rest);
        let mut fields: Fields = members.map(|(key, value)| (key.to_owned(), value.clone())).collect();
        for key in LATE {
            if fields.get(key).is_some() {
                fields.set(key, Raw::null());
            }
        }
        self.push("message_start", |event| event.raw("message", fields.to_raw().text()));
    }

    fn end(&mut self, response: &Response) {
        let mut change = Fields::new();
        let mut usage = None;
        for (key, value) in tail(response) {
            if LATE.contains(&key) {
                change.set(key, value);
            } else {
                usage = Some(value).filter(Raw::is_object);
            }
        }
        if let Some(extra) = own(response.extra.as_deref()) {
            for key in LATE {
                if let (None, Some(value)) = (change.get(key), extra.get(key)) {
                    change.set(key, value.clone());
                }
            }
        }
        self.push("message_delta", |event| {
            event.raw("delta", change.to_raw().text());
            if let Some(usage) = usage {
                event.raw("usage", usage.text());
            }
        });
        self.push("message_stop", |_| {});
    }

    /// A block: begun with what does not grow, then piece by piece.
    fn block(&mut self, index: usize, block: &Block, text: &str) {
        let mut begun = Fields::parse(text).unwrap_or_default();
        let mut deltas = Vec::new();
        match block {
            Block::Text(text) => {
                if !text.text.is_empty() {
                    begun.put("text", "");
                }
                self.cut(&mut deltas, "text_delta", "text", &text.text);
                let citations = begun.get("citations").cloned();
                let list: Option<Vec<Raw>> = citations.as_ref().and_then(|raw| raw.to().ok());
                if let (Some(raw), Some(list)) = (citations, list)
                    && is_compact_array(&raw, &list)
                {
                    begun.put::<[(); 0]>("citations", &[]);
                    deltas.extend(list.iter().map(|citation| delta("citations_delta", "citation", citation)));
                }
            }
            Block::Thinking(thinking) if thinking.redacted.is_none() => {
                if !thinking.text.is_empty() {
                    begun.put("thinking", "");
                }
                self.cut(&mut deltas, "thinking_delta", "thinking", &thinking.text);
                if let Some(signature) = begun.get("signature").cloned().filter(|raw| raw.text() != "\"\"") {
                    begun.put("signature", "");
                    deltas.push(delta("signature_delta", "signature", &signature));
                }
            }
            Block::ToolUse(call) if begun.get("input").is_some_and(Raw::is_object) => {
                begun.set("input", Raw::empty_object());
                self.input(&mut deltas, call.arguments_text());
            }
            Block::Provider(provider) if provider.is_tool_use() && begun.to_raw() == provider.raw => {
                let input = begun.get("input").cloned().filter(Raw::is_object);
                if let Some(input) = input {
                    begun.set("input", Raw::empty_object());
                    self.input(&mut deltas, input.text());
                }
            }
            _ => {}
        }
        let begun = if deltas.is_empty() { text.to_owned() } else { begun.to_raw().text().to_owned() };
        let number = index.to_string();
        self.push("content_block_start", |event| {
            event.raw("index", &number);
            event.raw("content_block", &begun);
        });
        for delta in deltas {
            self.push("content_block_delta", |event| {
                event.raw("index", &number);
                event.raw("delta", &delta);
            });
        }
        self.push("content_block_stop", |event| event.raw("index", &number));
    }

    /// Like the provider, `{}` is one empty piece.
    fn input(&self, deltas: &mut Vec<String>, text: &str) {
        if text == "{}" {
            deltas.push(delta("input_json_delta", "partial_json", &Raw::of("")));
        } else {
            self.cut(deltas, "input_json_delta", "partial_json", text);
        }
    }

    fn cut(&self, deltas: &mut Vec<String>, kind: &str, key: &'static str, text: &str) {
        for piece in pieces(text, self.piece) {
            deltas.push(delta(kind, key, &Raw::of(piece)));
        }
    }
}

fn delta(kind: &str, key: &'static str, value: &Raw) -> String {
    let mut object = Object::new();
    object.text("type", kind);
    object.raw(key, value.text());
    object.end()
}
