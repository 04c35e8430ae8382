//! Content blocks, both ways.

use std::borrow::Cow;

use serde_json::json;

use super::{
    WIRE, marked,
    media::{decode_media, write_media},
    members_of, own, parsed,
};
use crate::{
    document_text,
    names::{legal_id, legal_name},
    notes::{NOTE, note, wire_key},
    object::{Object, push_list, write_invalid},
};
use loopwright_base::{
    json::{Fields, Raw},
    message::{Block, Extra, MediaSource, ProviderBlock, Text, Thinking, ToolResult, ToolUse},
};

/// The members of a block that hold what we know; a block has one of them.
const KINDS: [&str; 7] = ["text", "image", "document", "toolUse", "toolResult", "reasoningContent", "citationsContent"];
/// The longest id of a call.
const LONGEST_ID: usize = 64;
/// A result may not be blank.
const EMPTY_RESULT: &str = r#"[{"text":"(empty)"}]"#;
/// The note of a result's text that came as JSON, and of a status that was written.
const JSON: &str = "json";
const STATUS: &str = "status";

/// How a block is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockPlace {
    /// In a request: what the wire would refuse is left out or put into a form it takes.
    Sent,
    /// As it came from the wire, or as the provider would write it.
    AsItCame,
}

/// The block that an object is.
pub(super) fn decode_block(raw: &Raw) -> Block {
    parsed(raw).and_then(known).unwrap_or_else(|| Block::Provider(ProviderBlock { wire: WIRE, raw: raw.clone() }))
}

/// The part of a result that an object is: results do not nest.
fn decode_part(raw: &Raw) -> Block {
    let fields = parsed(raw).filter(|fields| fields.len() == 1);
    match fields.as_ref().and_then(|fields| fields.iter().next()) {
        Some(("text" | "image" | "document", _)) => decode_block(raw),
        Some((JSON, value)) => {
            let extra = Fields::from_iter([(NOTE.to_owned(), Raw::of(&json!({JSON: true})))]);
            Block::Text(Text { text: value.text().to_owned(), extra: Extra::of(WIRE, extra) })
        }
        _ => Block::Provider(ProviderBlock { wire: WIRE, raw: raw.clone() }),
    }
}

fn known(fields: Fields) -> Option<Block> {
    let mut kinds = KINDS.into_iter().filter(|key| fields.get(key).is_some());
    let (Some(kind), None, None) = (kinds.next(), kinds.next(), fields.get(NOTE)) else { return None };
    match kind {
        "text" => text(fields),
        "image" => decode_media("image", fields),
        "document" => decode_media("document", fields),
        "toolUse" => call(fields),
        "toolResult" => result(fields),
        "reasoningContent" => reasoning(fields),
        _ => cited(fields),
    }
}

fn text(mut fields: Fields) -> Option<Block> {
    let text = fields.take_str("text")?;
    Some(Block::Text(Text { text, extra: Extra::of(WIRE, fields) }))
}

/// Text with citations; the citations stay among the extra fields.
fn cited(mut fields: Fields) -> Option<Block> {
    let mut inner = parsed(&fields.take(CITED)?)?;
    let content: Vec<Fields> = inner.take_as("content")?;
    let [mut only] = <[Fields; 1]>::try_from(content).ok()?;
    let text = only.take_str("text").filter(|_| only.is_empty())?;
    fields.set(CITED, inner.to_raw());
    Some(Block::Text(Text { text, extra: Extra::of(WIRE, fields) }))
}

/// The member of a text with citations.
pub(super) const CITED: &str = "citationsContent";

fn reasoning(mut fields: Fields) -> Option<Block> {
    let mut inner = parsed(&fields.take("reasoningContent")?)?;
    let mut thinking = Thinking::default();
    if let Some(raw) = inner.take("reasoningText") {
        let mut said = parsed(&raw)?;
        thinking.text = said.take_str("text")?;
        thinking.signature = said.take_str("signature");
        if !said.is_empty() {
            return None;
        }
    } else {
        thinking.redacted = Some(inner.take_str("redactedContent")?);
    }
    thinking.extra = Some(Box::new(marked(fields)));
    inner.is_empty().then_some(Block::Thinking(thinking))
}

fn call(mut fields: Fields) -> Option<Block> {
    let mut inner = parsed(&fields.take("toolUse")?)?;
    // A tool that the provider runs is none of ours.
    if inner.get("type").is_some() {
        return None;
    }
    let (id, name, input) = (inner.take_str("toolUseId")?, inner.take_str("name")?, inner.take("input")?);
    if !inner.is_empty() {
        fields.set("toolUse", inner.to_raw());
    }
    Some(Block::ToolUse(ToolUse { id, name, input, invalid: None, extra: Extra::of(WIRE, fields) }))
}

fn result(mut fields: Fields) -> Option<Block> {
    let mut inner = parsed(&fields.take("toolResult")?)?;
    if inner.get("type").is_some() {
        return None;
    }
    let id = inner.take_str("toolUseId")?;
    let parts: Vec<Raw> = inner.take_as("content")?;
    let is_error = inner.take_if(STATUS, &json!("error"));
    if inner.take_if(STATUS, &json!("success")) {
        fields.put(NOTE, &json!({STATUS: true}));
    }
    if !inner.is_empty() {
        fields.set("toolResult", inner.to_raw());
    }
    let content = parts.iter().map(decode_part).collect();
    Some(Block::ToolResult(ToolResult {
        content,
        is_error,
        extra: Extra::of(WIRE, fields),
        ..ToolResult::text(id, "", "")
    }))
}

/// Whether the wire takes the block here.
pub(super) fn fits(block: &Block, place: BlockPlace) -> bool {
    let as_it_came = place == BlockPlace::AsItCame;
    match block {
        Block::Provider(provider) => provider.wire == WIRE,
        // A thought goes back to the wire it came from alone, and only if it proves that it is one.
        Block::Thinking(thinking) => {
            let proved = thinking.signature.is_some() || thinking.redacted.is_some();
            as_it_came || (proved && own(thinking.extra.as_deref()).is_some())
        }
        Block::Text(text) => as_it_came || !text.text.trim().is_empty(),
        _ => true,
    }
}

/// Appends a list of blocks.
pub(super) fn write_blocks<'a>(out: &mut String, blocks: impl IntoIterator<Item = &'a Block>, place: BlockPlace) {
    let fitting = blocks.into_iter().filter(|block| fits(block, place));
    push_list(
        out,
        fitting.map(|block| {
            let mut text = String::new();
            write_block(&mut text, block, place);
            text
        }),
    );
}

/// Appends a block. The caller has asked whether it [`fits`].
pub(super) fn write_block(out: &mut String, block: &Block, place: BlockPlace) {
    if let Block::Provider(provider) = block {
        out.push_str(provider.raw.text());
        return;
    }
    let mut object = Object::onto(out);
    let extra = match block {
        Block::Text(text) => {
            write_text(&mut object, text);
            &text.extra
        }
        Block::Thinking(thinking) => {
            write_thinking(&mut object, thinking);
            &thinking.extra
        }
        Block::Image(media) => {
            write_media(&mut object, "image", media);
            &media.extra
        }
        Block::Document(media) => {
            match &media.source {
                MediaSource::Text { media_type, data } if own(media.extra.as_deref()).is_none() => {
                    object.text("text", &document_text(media.name.as_deref(), media_type, data));
                }
                _ => write_media(&mut object, "document", media),
            }
            &media.extra
        }
        Block::ToolUse(call) => {
            write_call(object.open("toolUse"), call, place);
            &call.extra
        }
        Block::ToolResult(result) => {
            write_result(object.open("toolResult"), result, place);
            &result.extra
        }
        Block::Provider(_) => &None,
    };
    // Members of what a block holds are kept under its name, which is written by now.
    object.rest(own(extra.as_deref()), wire_key);
    *out = object.end();
}

fn write_text(object: &mut Object, text: &Text) {
    let written = own(text.extra.as_deref());
    let raw = note(written).get(JSON).and_then(|_| Raw::parse(text.text.as_str()).ok());
    if let Some(raw) = raw {
        object.raw(JSON, raw.text());
    } else if written.is_some_and(|fields| fields.get(CITED).is_some()) {
        let mut inner = Object::onto(object.open(CITED));
        inner.list("content", [format!("{{\"text\":{}}}", Raw::of(&text.text).text())]);
        inner.rest(Some(&members_of(written, CITED)), wire_key);
        object.close(inner);
    } else {
        object.text("text", &text.text);
    }
}

fn write_thinking(object: &mut Object, thinking: &Thinking) {
    let mut inner = Object::onto(object.open("reasoningContent"));
    if let Some(redacted) = &thinking.redacted {
        inner.text("redactedContent", redacted);
    } else {
        let mut said = Object::onto(inner.open("reasoningText"));
        said.text("text", &thinking.text);
        let foreign = thinking.extra.as_ref().is_some_and(|extra| extra.wire != WIRE);
        if let Some(signature) = thinking.signature.as_ref().filter(|_| !foreign) {
            said.text("signature", signature);
        }
        inner.close(said);
    }
    object.close(inner);
}

/// The id and the name of a call as they go out: its result has the same id.
fn sent<'t>(text: &'t str, place: BlockPlace, legal: impl Fn(&'t str) -> Cow<'t, str>) -> Cow<'t, str> {
    if place == BlockPlace::AsItCame { Cow::Borrowed(text) } else { legal(text) }
}

fn write_call(out: &mut String, call: &ToolUse, place: BlockPlace) {
    let mut inner = Object::onto(out);
    inner.text("toolUseId", &sent(&call.id, place, |id| legal_id(id, LONGEST_ID)));
    inner.text("name", &sent(&call.name, place, legal_name));
    if call.invalid.is_some() || (place == BlockPlace::Sent && !call.input.is_object()) {
        write_invalid(inner.open("input"), call.arguments_text());
    } else {
        inner.raw("input", call.input.text());
    }
    inner.rest(Some(&members_of(own(call.extra.as_deref()), "toolUse")), wire_key);
    *out = inner.end();
}

fn write_result(out: &mut String, result: &ToolResult, place: BlockPlace) {
    let written = own(result.extra.as_deref());
    let mut inner = Object::onto(out);
    inner.text("toolUseId", &sent(&result.id, place, |id| legal_id(id, LONGEST_ID)));
    let mut content = String::new();
    write_blocks(&mut content, &result.content, place);
    let is_blank = content == "[]" && place == BlockPlace::Sent;
    inner.raw("content", if is_blank { EMPTY_RESULT } else { &content });
    if result.is_error {
        inner.text(STATUS, "error");
    } else if note(written).get(STATUS).is_some() {
        inner.text(STATUS, "success");
    }
    inner.rest(Some(&members_of(written, "toolResult")), wire_key);
    *out = inner.end();
}
