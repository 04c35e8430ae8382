//! An answer as the chunks of a stream, for servers that speak this wire.
//!
//! What a [`StreamDecoder`](super::StreamDecoder) makes of the chunks is the answer they were made from.

use loopwright_base::{
    json::{Fields, Raw},
    message::{Block, ToolUse},
    request::Response,
    text::pieces,
};

use super::{
    super::object::Object,
    message::{is_refusal, reasoning_field},
    object::{inner, quoted, wire_key},
    own,
    response::{beside_message, finish_name, top_members, usage_text},
};

/// The answer as chunks.
pub(super) fn encode(response: &Response, piece: usize) -> Vec<(String, String)> {
    let extra = own(response.extra.as_deref());
    let (mut choice, beside, _) = beside_message(extra);
    // The only choice of a stream has the index 0, whatever it had in a list.
    choice.take("index");
    let top = top_members(extra);
    let mut events = Vec::new();
    let mut send = |choices: &str, usage: Option<&str>, members: Option<&Fields>| {
        let mut chunk = Object::with_capacity(choices.len() + 160);
        if !response.id.is_empty() {
            chunk.text("id", &response.id);
        }
        chunk.raw("object", "\"chat.completion.chunk\"");
        chunk.raw("created", top.get("created").map_or("0", Raw::text));
        if !response.model.is_empty() {
            chunk.text("model", &response.model);
        }
        chunk.raw("choices", choices);
        if let Some(usage) = usage {
            chunk.raw("usage", usage);
        }
        chunk.rest(members, wire_key);
        events.push((String::new(), chunk.end()));
    };
    let delta = |body: &str| format!(r#"[{{"index":0,"delta":{body},"finish_reason":null}}]"#);

    let mut head = Object::new();
    head.raw("role", "\"assistant\"");
    head.rest(own(response.message.extra.as_deref()), wire_key);
    // A second spelling of the reasoning would be taken for the first.
    head.rest(Some(&beside), |key| wire_key(key).filter(|key| !matches!(*key, "reasoning" | "reasoning_content")));
    send(&delta(&head.end()), None, Some(&top));
    let mut calls = 0;
    for block in &response.message.content {
        let (field, text) = match block {
            Block::Text(text) if is_refusal(text) => ("refusal", &text.text),
            Block::Text(text) => ("content", &text.text),
            Block::Thinking(thinking) => {
                (reasoning_field(thinking, true).unwrap_or("reasoning_content"), &thinking.text)
            }
            Block::ToolUse(call) => {
                for body in call_pieces(call, calls, piece) {
                    send(&delta(&format!(r#"{{"tool_calls":[{body}]}}"#)), None, None);
                }
                calls += 1;
                continue;
            }
            _ => continue,
        };
        for piece in pieces(text, piece) {
            send(&delta(&format!("{{{}:{}}}", quoted(field), quoted(piece))), None, None);
        }
    }
    let mut last = Object::new();
    last.raw("index", "0");
    last.raw("delta", "{}");
    last.text("finish_reason", finish_name(&response.stop));
    last.rest(Some(&choice), wire_key);
    send(&format!("[{}]", last.end()), None, None);
    if let Some(usage) = usage_text(response, extra) {
        send("[]", Some(&usage), None);
    }
    events.push((String::new(), "[DONE]".to_owned()));
    events
}

/// A tool call as elements of `tool_calls`: its head, then its arguments.
fn call_pieces(call: &ToolUse, index: usize, piece: usize) -> Vec<String> {
    let extra = own(call.extra.as_deref());
    let mut function = Object::new();
    function.text("name", &call.name);
    function.text("arguments", "");
    function.rest(inner(extra, "function").as_ref(), wire_key);
    let mut head = Object::new();
    head.raw("index", &index.to_string());
    head.text("id", &call.id);
    head.text("type", "function");
    head.raw("function", &function.end());
    head.rest(extra, wire_key);
    let arguments = pieces(call.arguments_text(), piece)
        .map(|piece| format!(r#"{{"index":{index},"function":{{"arguments":{}}}}}"#, quoted(piece)));
    std::iter::once(head.end()).chain(arguments).collect()
}
