//! Messages and the history, both ways.
//!
//! What is sent is legal by construction: turns alternate, results stand first, a document has words beside it. A
//! message that came from this wire stays as it is.

use super::{
    WIRE,
    block::{BlockPlace, decode_block, fits, write_blocks},
    marked, own, parsed,
};
use crate::{
    notes::{NOTE, note, wire_key},
    object::Object,
    turns::TurnShape,
};
use loopwright_base::{
    error::{Error, Result},
    json::{Fields, Raw},
    message::{Block, Form, Message, Role},
};

/// The words beside a document that came without any, which the wire wants.
const BESIDE: &str = "(a document)";

/// How this wire writes turns.
pub(super) static TURNS: TurnShape = TurnShape {
    wire: WIRE,
    pieces: "content",
    assistant: "assistant",
    encode: encode_message,
    renamed: |_, _| None,
    opening: r#"{"role":"user","content":[{"text":"Go on."}]}"#,
};

/// One message as a message of a request; empty if nothing of it may be sent.
pub fn encode_message(message: &Message) -> String {
    write(message, BlockPlace::Sent)
}

/// The message for whoever keeps a history in the form of this wire.
pub fn encode_as_it_came(message: &Message) -> String {
    write(message, BlockPlace::AsItCame)
}

/// One message of a history.
pub fn decode_message(raw: &Raw) -> Result<Message> {
    decode(raw).map_err(|what| Error::usage("invalid_message", what).hint("mend the message at that place"))
}

/// A message of a request, or what is wrong with it. It is marked, so that it goes out as it came.
pub(super) fn decode(raw: &Raw) -> Result<Message, String> {
    let mut fields = parsed(raw).ok_or("is no object")?;
    let role = if fields.get_str("role").as_deref() == Some("assistant") { Role::Assistant } else { Role::User };
    let content = take_content(&mut fields);
    let mut written = Fields::new();
    if fields.get("role").is_none() {
        written.put("role", "absent");
    } else if matches!(fields.get_str("role").as_deref(), Some("user" | "assistant")) {
        fields.take("role");
    }
    if content.is_none() {
        written.put("content", "absent");
    }
    if !written.is_empty() {
        fields.set(NOTE, written.to_raw());
    }
    Ok(Message { extra: Some(Box::new(marked(fields))), ..Message::new(role, content.unwrap_or_default()) })
}

/// Takes the blocks of a message, if there is a list of them.
pub(super) fn take_content(fields: &mut Fields) -> Option<Vec<Block>> {
    let blocks: Vec<Raw> = fields.take_as("content")?;
    Some(blocks.iter().map(decode_block).collect())
}

fn write(message: &Message, place: BlockPlace) -> String {
    let fields = own(message.extra.as_deref());
    let written = note(fields);
    let place = if fields.is_some() { BlockPlace::AsItCame } else { place };
    let is_result = |block: &&Block| matches!(block, Block::ToolResult(_));
    let is_text = |block: &Block| matches!(block, Block::Text(_)) && fits(block, place);
    let mut blocks: Vec<&Block> = message.content.iter().collect();
    let beside = Block::text(BESIDE);
    if place == BlockPlace::Sent {
        if message.role == Role::Assistant {
            // Models refuse an answer that ends with reasoning: one that broke off there.
            blocks.retain(|block| fits(block, place));
            while matches!(blocks.last(), Some(Block::Thinking(_))) {
                blocks.pop();
            }
        }
        blocks.sort_by_key(|block| !is_result(block));
        let has_document = blocks.iter().any(|block| matches!(block, Block::Document(_)));
        if has_document && !blocks.iter().any(|block| is_text(block)) {
            blocks.push(&beside);
        }
    }
    let mut content = String::new();
    write_blocks(&mut content, blocks, place);
    if content == "[]" && fields.is_none() && place == BlockPlace::Sent {
        return String::new();
    }
    let mut object = Object::with_capacity(content.len() + 40);
    if written.get("role").is_none() && fields.and_then(|fields| fields.get("role")).is_none() {
        object.text("role", TURNS.role_of(message));
    }
    // The content stands last, so that more can be put behind it.
    object.rest(fields, |key| wire_key(key).filter(|key| *key != "content"));
    if written.get("content").is_none() {
        object.raw("content", &content);
    } else if let Some(raw) = fields.and_then(|fields| fields.get("content")) {
        object.raw("content", raw.text());
    }
    object.end()
}

/// The list of the system's blocks; `None` if there is nothing to send.
pub(super) fn system_blocks(messages: &[&Message]) -> Option<String> {
    let as_it_came = matches!(messages, [message] if own(message.extra.as_deref()).is_some());
    let place = if as_it_came { BlockPlace::AsItCame } else { BlockPlace::Sent };
    let mut blocks = String::new();
    write_blocks(&mut blocks, messages.iter().flat_map(|message| &message.content), place);
    (blocks != "[]" || as_it_came).then_some(blocks)
}

/// The system's blocks as a message.
pub(super) fn decode_system(raw: &Raw) -> Option<Message> {
    let blocks: Vec<Raw> = raw.to().ok()?;
    let content = blocks.iter().map(decode_block).collect();
    let extra = Some(Box::new(marked(Fields::new())));
    Some(Message { extra, form: Form::Auto, ..Message::new(Role::System, content) })
}

/// Whether the message is an instruction: the wire has them beside the history.
pub(super) fn is_system(message: &Message) -> bool {
    matches!(message.role, Role::System | Role::Developer)
}
