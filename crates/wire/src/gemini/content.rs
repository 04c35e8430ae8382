//! Contents and the history, both ways.
//!
//! What is sent is legal by construction: turns alternate, and results stand first. A content that came from this wire
//! stays as it is.

use std::collections::HashMap;

use super::{
    WIRE, marked, own, parsed,
    part::{CallIds, PartPlace, decode_part, fits, write_part},
};
use crate::{
    notes::{NOTE, note, wire_key},
    object::{Object, push_list},
    turns::TurnShape,
};
use loopwright_base::{
    error::{Error, Result},
    json::{Fields, Raw},
    message::{Block, Message, Role, ToolResult},
};

/// How this wire writes turns.
pub(super) static TURNS: TurnShape = TurnShape {
    wire: WIRE,
    pieces: "parts",
    assistant: "model",
    encode: encode_message,
    renamed: with_names,
    opening: r#"{"role":"user","parts":[{"text":"Go on."}]}"#,
};

/// One message as a content of a request; empty if nothing of it may be sent.
pub fn encode_message(message: &Message) -> String {
    write(message, PartPlace::Sent)
}

/// The message for whoever keeps a history in the form of this wire.
pub fn encode_as_it_came(message: &Message) -> String {
    write(message, PartPlace::AsItCame)
}

/// One content of a history.
pub fn decode_message(raw: &Raw) -> Result<Message> {
    decode_content(raw, &mut CallIds::of_history())
        .map_err(|what| Error::usage("invalid_message", what).hint("mend the message at that place"))
}

/// A content of a request, or what is wrong with it. It is marked, so that it goes out as it came.
pub(super) fn decode_content(raw: &Raw, ids: &mut CallIds) -> Result<Message, String> {
    let mut fields = parsed(raw).ok_or("is no object")?;
    let role = match fields.get_str("role").as_deref() {
        Some("model") => Role::Assistant,
        _ => Role::User,
    };
    let content = take_parts(&mut fields, ids);
    let mut written = Fields::new();
    if fields.get("role").is_none() {
        written.put("role", "absent");
    } else if matches!(fields.get_str("role").as_deref(), Some("user" | "model")) {
        fields.take("role");
    }
    if content.is_none() {
        written.put("parts", "absent");
    }
    if !written.is_empty() {
        fields.set(NOTE, written.to_raw());
    }
    Ok(Message { extra: Some(Box::new(marked(fields))), ..Message::new(role, content.unwrap_or_default()) })
}

/// Takes the parts of a content, if there is a list of them.
pub(super) fn take_parts(fields: &mut Fields, ids: &mut CallIds) -> Option<Vec<Block>> {
    let parts: Vec<Raw> = fields.take_as("parts")?;
    Some(parts.iter().map(|part| decode_part(part, ids)).collect())
}

/// Appends a list of parts.
pub(super) fn write_parts<'a>(out: &mut String, blocks: impl IntoIterator<Item = &'a Block>, place: PartPlace) {
    let fitting = blocks.into_iter().filter(|block| fits(block, place));
    push_list(
        out,
        fitting.map(|block| {
            let mut part = String::new();
            write_part(&mut part, block, place);
            part
        }),
    );
}

fn is_result(block: &Block) -> bool {
    matches!(block, Block::ToolResult(_))
}

/// Pictures and documents of a result: an object can't hold them, so they stand beside it.
fn media_of(block: &Block) -> impl Iterator<Item = &Block> {
    let content = if let Block::ToolResult(result) = block { result.content.as_slice() } else { &[] };
    content.iter().filter(|part| part.is_media())
}

fn write(message: &Message, place: PartPlace) -> String {
    let fields = own(message.extra.as_deref());
    let written = note(fields);
    let place = if fields.is_some() { PartPlace::AsItCame } else { place };
    let blocks: Vec<&Block> = if place == PartPlace::AsItCame {
        message.content.iter().flat_map(|block| std::iter::once(block).chain(media_of(block))).collect()
    } else {
        let results = message.content.iter().filter(|block| is_result(block));
        let media = message.content.iter().flat_map(media_of);
        results.chain(media).chain(message.content.iter().filter(|block| !is_result(block))).collect()
    };
    let mut parts = String::new();
    write_parts(&mut parts, blocks, place);
    if parts == "[]" && fields.is_none() && place == PartPlace::Sent {
        return String::new();
    }
    let mut object = Object::with_capacity(parts.len() + 32);
    if written.get("role").is_none() && fields.and_then(|fields| fields.get("role")).is_none() {
        object.text("role", TURNS.role_of(message));
    }
    // The parts stand last, so that more can be put behind them.
    object.rest(fields, |key| wire_key(key).filter(|key| *key != "parts"));
    if written.get("parts").is_none() {
        object.raw("parts", &parts);
    } else if let Some(raw) = fields.and_then(|fields| fields.get("parts")) {
        object.raw("parts", raw.text());
    }
    object.end()
}

/// The system instruction of messages; `None` if there is nothing to send.
pub(super) fn system_instruction(messages: &[&Message]) -> Option<String> {
    if let [message] = messages
        && own(message.extra.as_deref()).is_some()
    {
        return Some(encode_as_it_came(message));
    }
    let mut parts = String::new();
    write_parts(&mut parts, messages.iter().flat_map(|message| &message.content), PartPlace::Sent);
    (parts != "[]").then(|| format!("{{\"parts\":{parts}}}"))
}

/// A system instruction.
pub(super) fn decode_system(raw: &Raw) -> Option<Message> {
    let mut message = decode_content(raw, &mut CallIds::of_history()).ok()?;
    let fields = message.extra.as_mut().map(|extra| &mut extra.fields)?;
    // Its role says nothing; it stays as it was.
    if let Some(role) = parsed(raw)?.take("role") {
        fields.set("role", role);
    }
    message.role = Role::System;
    Some(message)
}

/// Whether the message is an instruction that did not come from this wire, which has none inside a history.
pub(super) fn is_system(message: &Message) -> bool {
    matches!(message.role, Role::System | Role::Developer)
}

/// The message with the names of the calls that its results answer, where it has others: the tool that ran may have
/// been found under another name than the model wrote.
fn with_names(message: &Message, names: &HashMap<&str, &str>) -> Option<Message> {
    let right = |result: &ToolResult| names.get(&*result.id).copied().filter(|name| *name != result.name);
    if own(message.extra.as_deref()).is_some() || message.tool_results().all(|result| right(result).is_none()) {
        return None;
    }
    let mut message = message.clone();
    for block in &mut message.content {
        if let Block::ToolResult(result) = block
            && let Some(name) = right(result)
        {
            name.clone_into(&mut result.name);
        }
    }
    Some(message)
}
