//! Answers as the events that the provider would stream, for test servers: in the order, and with the fields, that
//! the official clients count on.

use serde_json::json;

use super::{
    part::{REFUSAL, text_key},
    response::{encode_parts, join},
};
use crate::object::Object;
use loopwright_base::{
    json::{Fields, Raw},
    request::Response,
    text::pieces,
};

/// The answer as events (name, data), text cut into pieces of about `piece` bytes.
pub fn encode_stream(response: &Response, piece: usize) -> Vec<(String, String)> {
    let (head, items) = encode_parts(response);
    let mut script = Script { events: Vec::new(), piece: piece.max(1) };
    let begun = begun(&head);
    script.send("response.created", |event| event.raw("response", &begun));
    script.send("response.in_progress", |event| event.raw("response", &begun));
    for (n, text) in items.iter().flatten().enumerate() {
        if let Ok(item) = Fields::parse(text) {
            script.item(n, &item, text);
        }
    }
    let last = match head.get_str("status").as_deref() {
        Some("incomplete") => "response.incomplete",
        _ => "response.completed",
    };
    script.send(last, |event| event.raw("response", &join(&head, items.as_deref())));
    script.events
}

/// The answer as it is when nothing of it has been written.
fn begun(head: &Fields) -> String {
    let mut begun = head.clone();
    begun.put("status", "in_progress");
    begun.put("output", &json!([]));
    for key in ["usage", "incomplete_details", "completed_at"] {
        if begun.get(key).is_some() {
            begun.set(key, Raw::null());
        }
    }
    begun.to_raw().text().to_owned()
}

struct Script {
    events: Vec<(String, String)>,
    piece: usize,
}

impl Script {
    fn send(&mut self, kind: &str, fill: impl FnOnce(&mut Object)) {
        let mut event = Object::new();
        event.text("type", kind);
        event.raw("sequence_number", &self.events.len().to_string());
        fill(&mut event);
        // JSON has line breaks between tokens alone, where a space does the same; events want one line.
        self.events.push((kind.to_owned(), event.end().replace(['\n', '\r'], " ")));
    }

    fn item(&mut self, n: usize, item: &Fields, text: &str) {
        let kind = item.get_str("type").unwrap_or_default();
        let id = item.get_str("id").unwrap_or_default();
        let mut begun = item.clone();
        if begun.get("status").is_some() {
            begun.put("status", "in_progress");
        }
        match kind.as_str() {
            "message" => begun.put("content", &json!([])),
            "function_call" => begun.put("arguments", ""),
            "reasoning" => {
                begun.put("summary", &json!([]));
                if begun.get("content").is_some_and(Raw::is_array) {
                    begun.put("content", &json!([]));
                }
            }
            _ => {}
        }
        let place = Place { output: n, id: &id };
        self.send("response.output_item.added", |event| {
            event.raw("output_index", &n.to_string());
            event.raw("item", begun.to_raw().text());
        });
        match kind.as_str() {
            // Only what the model itself says is streamed.
            "message" if item.get("role").is_none_or(|role| role.string().as_deref() == Some("assistant")) => {
                for (at, part) in list(item, "content").iter().enumerate() {
                    self.part(&place, at, part);
                }
            }
            "function_call" => {
                if let Some(arguments) = item.get_str("arguments") {
                    self.arguments(&place, &arguments, item);
                }
            }
            "reasoning" => {
                for (at, part) in list(item, "summary").iter().enumerate() {
                    self.summary(&place, at, part);
                }
                for (at, part) in list(item, "content").iter().enumerate() {
                    self.reasoning(&place, at, part);
                }
            }
            _ => {}
        }
        self.send("response.output_item.done", |event| {
            event.raw("output_index", &n.to_string());
            event.raw("item", text);
        });
    }

    fn part(&mut self, place: &Place<'_>, at: usize, part: &Raw) {
        let fields: Fields = part.to().unwrap_or_default();
        let key = text_key(&fields.get_str("type").unwrap_or_default());
        let text = key.and_then(|key| Some((key, fields.get_str(key)?)));
        let mut begun = fields.clone();
        if let Some((key, _)) = &text {
            begun.put(key, "");
            for list in ["annotations", "logprobs"] {
                if begun.get(list).is_some_and(Raw::is_array) {
                    begun.put(list, &json!([]));
                }
            }
        }
        let begun = if text.is_some() { begun.to_raw() } else { part.clone() };
        self.send("response.content_part.added", |event| {
            place.write(event, "content_index", at);
            event.raw("part", begun.text());
        });
        if let Some((key, text)) = &text {
            let kind = if *key == REFUSAL { "refusal" } else { "output_text" };
            for piece in pieces(text, self.piece) {
                self.send(&format!("response.{kind}.delta"), |event| {
                    place.write(event, "content_index", at);
                    event.text("delta", piece);
                    if kind == "output_text" {
                        event.raw("logprobs", "[]");
                    }
                });
            }
            for (n, annotation) in list(&fields, "annotations").iter().enumerate() {
                self.send("response.output_text.annotation.added", |event| {
                    place.write(event, "content_index", at);
                    event.raw("annotation_index", &n.to_string());
                    event.raw("annotation", annotation.text());
                });
            }
            self.send(&format!("response.{kind}.done"), |event| {
                place.write(event, "content_index", at);
                event.text(key, text);
                if kind == "output_text" {
                    event
                        .raw("logprobs", fields.get("logprobs").filter(|list| list.is_array()).map_or("[]", Raw::text));
                }
            });
        }
        self.send("response.content_part.done", |event| {
            place.write(event, "content_index", at);
            event.raw("part", part.text());
        });
    }

    fn arguments(&mut self, place: &Place<'_>, arguments: &str, item: &Fields) {
        for piece in pieces(arguments, self.piece) {
            self.send("response.function_call_arguments.delta", |event| {
                place.write_item(event);
                event.text("delta", piece);
            });
        }
        self.send("response.function_call_arguments.done", |event| {
            place.write_item(event);
            event.text("name", &item.get_str("name").unwrap_or_default());
            event.text("arguments", arguments);
        });
    }

    fn summary(&mut self, place: &Place<'_>, at: usize, part: &Raw) {
        let text = part.to::<Fields>().ok().and_then(|part| part.get_str("text")).unwrap_or_default();
        self.send("response.reasoning_summary_part.added", |event| {
            place.write(event, "summary_index", at);
            event.raw("part", r#"{"type":"summary_text","text":""}"#);
        });
        for piece in pieces(&text, self.piece) {
            self.send("response.reasoning_summary_text.delta", |event| {
                place.write(event, "summary_index", at);
                event.text("delta", piece);
            });
        }
        self.send("response.reasoning_summary_text.done", |event| {
            place.write(event, "summary_index", at);
            event.text("text", &text);
        });
        self.send("response.reasoning_summary_part.done", |event| {
            place.write(event, "summary_index", at);
            event.raw("part", part.text());
        });
    }

    fn reasoning(&mut self, place: &Place<'_>, at: usize, part: &Raw) {
        let text = part.to::<Fields>().ok().and_then(|part| part.get_str("text")).unwrap_or_default();
        self.send("response.content_part.added", |event| {
            place.write(event, "content_index", at);
            event.raw("part", r#"{"type":"reasoning_text","text":""}"#);
        });
        for piece in pieces(&text, self.piece) {
            self.send("response.reasoning_text.delta", |event| {
                place.write(event, "content_index", at);
                event.text("delta", piece);
            });
        }
        self.send("response.reasoning_text.done", |event| {
            place.write(event, "content_index", at);
            event.text("text", &text);
        });
        self.send("response.content_part.done", |event| {
            place.write(event, "content_index", at);
            event.raw("part", part.text());
        });
    }
}

/// Where an event belongs.
struct Place<'a> {
    output: usize,
    id: &'a str,
}

impl Place<'_> {
    fn write_item(&self, event: &mut Object) {
        event.text("item_id", self.id);
        event.raw("output_index", &self.output.to_string());
    }

    fn write(&self, event: &mut Object, key: &'static str, at: usize) {
        self.write_item(event);
        event.raw(key, &at.to_string());
    }
}

fn list(fields: &Fields, key: &str) -> Vec<Raw> {
    fields.get(key).and_then(|list| list.to().ok()).unwrap_or_default()
}
