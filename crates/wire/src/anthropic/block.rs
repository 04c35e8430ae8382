//! Blocks and messages, both ways.
//!
//! A block that is not exactly what the wire's documentation describes is kept whole as a provider block, so reading
//! never fails. Writing for a request leaves out what the wire would refuse; writing an answer leaves out nothing.

use std::borrow::Cow;

use super::{NOTE, marked, own, wire_key};
use crate::{
    names,
    object::{Object, push_list, write_invalid},
};
use loopwright_base::{
    json::{Fields, Raw, quote},
    message::{
        Block, Extra, Form, Media, MediaSource, Message, ProviderBlock, Role, Text, Thinking, ToolResult, ToolUse, Wire,
    },
};

/// Notes on blocks: blank text that was sent nevertheless, and what stood in the place of text or input.
const BLANK: &str = "blank";
/// A note on reasoning without a signature: its host takes it back so.
const UNSIGNED: &str = "unsigned";
const NULL: &str = "null";
const ABSENT: &str = "absent";

const PLAIN: &str = "text/plain";

/// Where a block stands: what the model said is taken as it is, what is sent must be what the wire takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Request,
    Response,
}

/// The block that `raw` is.
pub(super) fn decode_block(raw: &Raw, place: Place) -> Block {
    Fields::parse(raw.text())
        .ok()
        .and_then(|fields| known(fields, place))
        .unwrap_or_else(|| Block::Provider(ProviderBlock { wire: Wire::Anthropic, raw: raw.clone() }))
}

/// The elements of an array of blocks.
pub(super) fn decode_blocks(raw: &Raw, place: Place) -> Option<Vec<Block>> {
    let elements: Vec<Raw> = raw.to().ok()?;
    Some(elements.iter().map(|element| decode_block(element, place)).collect())
}

fn known(mut fields: Fields, place: Place) -> Option<Block> {
    let kind = fields.take_str("type")?;
    match kind.as_str() {
        "text" => text(fields, place),
        "image" => media(fields, false).map(Block::Image),
        "document" => media(fields, true).map(Block::Document),
        "thinking" => thinking(fields, place),
        "redacted_thinking" => {
            let redacted = Some(fields.take_str("data")?);
            Some(Block::Thinking(Thinking {
                text: String::new(),
                signature: None,
                redacted,
                extra: Some(Box::new(marked(fields))),
            }))
        }
        "tool_use" => tool_use(fields, place),
        "tool_result" => tool_result(fields, place),
        _ => None,
    }
}

fn text(mut fields: Fields, place: Place) -> Option<Block> {
    let text = take_text(&mut fields, "text", place)?;
    if place == Place::Request && is_blank(&text) {
        fields.put(NOTE, BLANK);
    }
    Some(Block::Text(Text { text, extra: Extra::of(Wire::Anthropic, fields) }))
}

/// Takes text. In answers some servers leave it out, or write null, where there is none.
fn take_text(fields: &mut Fields, key: &str, place: Place) -> Option<String> {
    if let Some(text) = fields.take_str(key) {
        return Some(text);
    }
    if place == Place::Request || fields.get(key).is_some_and(|raw| !raw.is_null()) {
        return None;
    }
    let was_there = fields.take(key).is_some();
    note_gap(fields, was_there);
    Some(String::new())
}

fn note_gap(fields: &mut Fields, was_there: bool) {
    fields.put(NOTE, if was_there { NULL } else { ABSENT });
}

/// What stood in the place of a value that a response did not give.
fn gap(extra: Option<&Extra>, place: Place) -> Option<String> {
    let note = own(extra).and_then(|fields| fields.get_str(NOTE)).filter(|_| place == Place::Response)?;
    let of_id = NO_ID.iter().find_map(|(_, of_id)| note.strip_suffix(of_id));
    Some(of_id.map_or(note.as_str(), str::trim_end).to_owned())
}

/// Writes the id of a call, or what stood in its place if that is noted.
fn write_id(object: &mut Object, call: &ToolUse, place: Place) {
    let note = own(call.extra.as_deref()).and_then(|fields| fields.get_str(NOTE)).filter(|_| place == Place::Response);
    match note.and_then(|note| NO_ID.iter().find(|(_, of_id)| note.ends_with(of_id)).map(|(text, _)| *text)) {
        Some("") => {}
        Some(text) => object.raw("id", text),
        None => object.text("id", &written_id(&call.id, place)),
    }
}

/// Writes a value, or what stood in its place if there is still none.
fn write_or_gap(object: &mut Object, key: &'static str, value: &str, extra: Option<&Extra>, place: Place) {
    match gap(extra, place).as_deref() {
        Some(ABSENT) if value == "{}" || value == "\"\"" => {}
        Some(NULL) if value == "{}" || value == "\"\"" => object.raw(key, "null"),
        _ => object.raw(key, value),
    }
}

fn thinking(mut fields: Fields, place: Place) -> Option<Block> {
    let text = take_text(&mut fields, "thinking", place)?;
    let signature = fields.take_str("signature");
    if signature.is_none() && fields.get("signature").is_some() {
        return None;
    }
    // Reasoning without a signature is never sent; what was sent nevertheless stays as it is.
    if place == Place::Request && signature.as_deref().unwrap_or_default().is_empty() {
        return None;
    }
    Some(Block::Thinking(Thinking { text, signature, redacted: None, extra: Some(Box::new(marked(fields))) }))
}

/// Notes on what stood in the place of a call's id, where there was none.
const NO_ID: [(&str, &str); 3] = [("", "absent id"), ("null", "null id"), ("\"\"", "empty id")];

/// The id that an answer gives a call, empty where it gives none; `None` if it is something else.
pub(super) fn given_id(fields: &Fields) -> Option<String> {
    match fields.get("id") {
        Some(raw) if !raw.is_null() => raw.string(),
        _ => Some(String::new()),
    }
}

/// Takes the id of a call, with the note on what stood in its place where an answer gives none.
fn take_id(fields: &mut Fields, place: Place) -> Option<(String, Option<&'static str>)> {
    let id = if place == Place::Response { given_id(fields) } else { fields.get_str("id") }?;
    let written = fields.take("id");
    let written = written.as_ref().map_or("", Raw::text);
    let gap = NO_ID.iter().find(|(text, _)| *text == written && place == Place::Response);
    Some((id, gap.map(|(_, note)| *note)))
}

/// The calls of an answer that have no id get one, by their place.
pub(super) fn give_ids(content: &mut [Block]) {
    for (at, block) in content.iter_mut().enumerate() {
        if let Block::ToolUse(call) = block
            && call.id.is_empty()
        {
            call.id = made_id(at);
        }
    }
}

/// The id of the call at that place of an answer, where the server gives none.
pub(super) fn made_id(at: usize) -> String {
    format!("call_{at}")
}

fn tool_use(mut fields: Fields, place: Place) -> Option<Block> {
    let (id, no_id) = take_id(&mut fields, place)?;
    let name = fields.take_str("name")?;
    let had_input = fields.get("input").is_some();
    let mut input = fields.take("input").unwrap_or_default();
    if input.is_null() && place == Place::Response {
        note_gap(&mut fields, had_input);
        input = Raw::empty_object();
    }
    // What would be sent differently from how it is stays as it is.
    if place == Place::Request && (!input.is_object() || matches!(legal_id(&id), Cow::Owned(_))) {
        return None;
    }
    if let Some(note) = no_id {
        let of_input = fields.get_str(NOTE).unwrap_or_default();
        fields.put(NOTE, format!("{of_input} {note}").trim_start());
    }
    Some(Block::ToolUse(ToolUse { id, name, input, invalid: None, extra: Extra::of(Wire::Anthropic, fields) }))
}

fn tool_result(mut fields: Fields, place: Place) -> Option<Block> {
    let id = fields.take_str("tool_use_id")?;
    if place == Place::Request && matches!(legal_id(&id), Cow::Owned(_)) {
        return None;
    }
    let (content, form) = match fields.take("content") {
        None => (Vec::new(), Form::Auto),
        Some(raw) if raw.is_null() && place == Place::Response => {
            note_gap(&mut fields, true);
            (Vec::new(), Form::Auto)
        }
        Some(raw) => {
            if let Some(text) = raw.string() {
                (vec![Block::text(text)], Form::Text)
            } else {
                let elements: Vec<Raw> = raw.to().ok()?;
                (elements.iter().map(|element| result_part(element, place)).collect(), Form::Parts)
            }
        }
    };
    let is_error = fields.take_if("is_error", &serde_json::Value::Bool(true));
    let extra = Extra::of(Wire::Anthropic, fields);
    Some(Block::ToolResult(ToolResult { id, name: String::new(), content, form, is_error, failure: None, extra }))
}

/// A part of a result. Results do not nest, so neither does this.
fn result_part(raw: &Raw, place: Place) -> Block {
    let plain = |raw: &Raw| {
        let fields = Fields::parse(raw.text()).ok()?;
        let kind = fields.get_str("type")?;
        if matches!(kind.as_str(), "text" | "image" | "document") { known(fields, place) } else { None }
    };
    plain(raw).unwrap_or_else(|| Block::Provider(ProviderBlock { wire: Wire::Anthropic, raw: raw.clone() }))
}

fn media(mut fields: Fields, titled: bool) -> Option<Media> {
    let mut source = Fields::parse(fields.take("source")?.text()).ok()?;
    let from = match source.take_str("type")?.as_str() {
        "base64" => MediaSource::Base64 { media_type: source.take_str("media_type")?, data: source.take_str("data")? },
        "text" if source.get_str("media_type").as_deref() == Some(PLAIN) => {
            MediaSource::Text { media_type: source.take_str("media_type")?, data: source.take_str("data")? }
        }
        "url" => MediaSource::Url(source.take_str("url")?),
        "file" => MediaSource::File(source.take_str("file_id")?),
        _ => return None,
    };
    if !source.is_empty() {
        return None;
    }
    let name = if titled { fields.take_str("title") } else { None };
    Some(Media { source: from, name, extra: Extra::of(Wire::Anthropic, fields) })
}

/// The wire refuses text of white space alone.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// The wire takes ids of `[a-zA-Z0-9_-]+` alone, of any length; other providers have colons, dots and bars in theirs.
fn legal_id(id: &str) -> Cow<'_, str> {
    names::legal_id(id, usize::MAX)
}

/// A tool use or result that was left as it is, since it would be sent differently (or refused), as it would be sent.
pub fn mended(block: &ProviderBlock) -> Option<Block> {
    if block.wire != Wire::Anthropic {
        return None;
    }
    match known(Fields::parse(block.raw.text()).ok()?, Place::Response)? {
        Block::ToolUse(mut call) => {
            call.id = legal_id(&call.id).into_owned();
            if !call.input.is_object() {
                // As it is written, so that it is counted as it is written.
                let mut object = String::new();
                write_invalid(&mut object, call.input.text());
                call.input = Raw::parse(object).unwrap_or_else(|_| Raw::empty_object());
            }
            call.extra = None;
            Some(Block::ToolUse(call))
        }
        Block::ToolResult(mut result) => {
            result.id = legal_id(&result.id).into_owned();
            Some(Block::ToolResult(result))
        }
        _ => None,
    }
}

/// The message freed of what stood in it as it came, though the wire would refuse it so: blank text, calls and results
/// with other ids, reasoning without a signature, and the order in which they stood. `None` where it has none of that.
pub fn freed(message: &Message) -> Option<Message> {
    let mut own_message = Cow::Borrowed(message);
    for (at, block) in message.content.iter().enumerate() {
        if let Some(freed) = freed_block(block)
            && let Some(slot) = own_message.to_mut().content.get_mut(at)
        {
            *slot = freed;
        }
    }
    let in_order = if message.role == Role::Assistant {
        let last = own_message.content.iter().rfind(|block| fits(block, Place::Request));
        !matches!(last, Some(Block::Thinking(_)))
    } else {
        own_message.content.is_sorted_by_key(|block| !matches!(block, Block::ToolResult(_)))
    };
    if message.form == Form::Parts && !in_order {
        own_message.to_mut().form = Form::Auto;
    }
    match own_message {
        Cow::Owned(message) => Some(message),
        Cow::Borrowed(_) => None,
    }
}

fn freed_block(block: &Block) -> Option<Block> {
    let bare = |extra: &Option<Box<Extra>>| {
        let mut fields = own(extra.as_deref())?.clone();
        fields.take(NOTE)?;
        Some(Extra::of(Wire::Anthropic, fields))
    };
    match block {
        Block::Text(text) => bare(&text.extra).map(|extra| Block::Text(Text { text: text.text.clone(), extra })),
        Block::ToolResult(result) => {
            let parts: Vec<Option<Block>> = result.content.iter().map(freed_block).collect();
            parts.iter().any(Option::is_some).then(|| {
                let content =
                    result.content.iter().zip(parts).map(|(part, freed)| freed.unwrap_or_else(|| part.clone()));
                Block::ToolResult(ToolResult { content: content.collect(), ..result.clone() })
            })
        }
        Block::Provider(raw) if raw.wire == Wire::Anthropic => {
            match known(Fields::parse(raw.raw.text()).ok()?, Place::Response)? {
                Block::ToolUse(call) => {
                    let extra = bare(&call.extra).unwrap_or_else(|| call.extra.clone());
                    Some(Block::ToolUse(ToolUse { extra, ..call }))
                }
                Block::ToolResult(result) => {
                    let result = Block::ToolResult(result);
                    Some(freed_block(&result).unwrap_or(result))
                }
                thinking @ Block::Thinking(_) => Some(thinking),
                _ => None,
            }
        }
        _ => None,
    }
}

fn written_id(id: &str, place: Place) -> Cow<'_, str> {
    if place == Place::Request { legal_id(id) } else { Cow::Borrowed(id) }
}

fn is_signed(thinking: &Thinking) -> bool {
    thinking.signature.as_ref().is_some_and(|signature| !signature.is_empty())
}

/// Reasoning without a signature as a host is given it that takes it back so; `None` for any other.
pub fn unsigned(thinking: &Thinking) -> Option<Thinking> {
    let foreign = thinking.extra.as_ref().is_some_and(|extra| extra.wire != Wire::Anthropic);
    if foreign || thinking.redacted.is_some() || is_signed(thinking) {
        return None;
    }
    let mut fields = own(thinking.extra.as_deref()).cloned().unwrap_or_default();
    fields.put(NOTE, UNSIGNED);
    Some(Thinking { extra: Extra::of(Wire::Anthropic, fields), ..thinking.clone() })
}

/// Whether the wire takes the block here.
pub(super) fn fits(block: &Block, place: Place) -> bool {
    match block {
        Block::Provider(provider) => provider.wire == Wire::Anthropic,
        Block::Thinking(thinking) => {
            let foreign = thinking.extra.as_ref().is_some_and(|extra| extra.wire != Wire::Anthropic);
            if thinking.redacted.is_some() {
                return !foreign;
            }
            let noted = own(thinking.extra.as_deref()).and_then(|fields| fields.get_str(NOTE));
            place == Place::Response || ((is_signed(thinking) || noted.as_deref() == Some(UNSIGNED)) && !foreign)
        }
        Block::Text(text) => {
            place == Place::Response
                || !is_blank(&text.text)
                || own(text.extra.as_deref()).is_some_and(|fields| fields.get_str(NOTE).as_deref() == Some(BLANK))
        }
        _ => true,
    }
}

/// Appends the block as the wire writes it. The caller has asked whether it [`fits`].
fn write_block(out: &mut String, block: &Block, place: Place) {
    if let Block::Provider(provider) = block {
        out.push_str(provider.raw.text());
        return;
    }
    let mut object = Object::onto(out);
    let extra = match block {
        Block::Text(text) => {
            object.text("type", "text");
            write_or_gap(&mut object, "text", Raw::of(&text.text).text(), text.extra.as_deref(), place);
            &text.extra
        }
        Block::Image(media) => {
            object.text("type", "image");
            write_source(object.open("source"), &media.source);
            &media.extra
        }
        Block::Document(media) => {
            object.text("type", "document");
            write_source(object.open("source"), &media.source);
            if let Some(name) = &media.name {
                object.text("title", name);
            }
            &media.extra
        }
        Block::Thinking(thinking) => {
            if let Some(data) = &thinking.redacted {
                object.text("type", "redacted_thinking");
                object.text("data", data);
            } else {
                object.text("type", "thinking");
                let text = Raw::of(&thinking.text);
                write_or_gap(&mut object, "thinking", text.text(), thinking.extra.as_deref(), place);
                let foreign = thinking.extra.as_ref().is_some_and(|extra| extra.wire != Wire::Anthropic);
                if let Some(signature) = thinking.signature.as_ref().filter(|_| !foreign) {
                    object.text("signature", signature);
                }
            }
            &thinking.extra
        }
        Block::ToolUse(call) => {
            object.text("type", "tool_use");
            write_id(&mut object, call, place);
            object.text("name", &call.name);
            if call.invalid.is_none() && (call.input.is_object() || place == Place::Response) {
                write_or_gap(&mut object, "input", call.input.text(), call.extra.as_deref(), place);
            } else {
                write_invalid(object.open("input"), call.arguments_text());
            }
            &call.extra
        }
        Block::ToolResult(result) => {
            object.text("type", "tool_result");
            object.text("tool_use_id", &written_id(&result.id, place));
            if let Some(text) = as_string(&result.content, result.form) {
                object.text("content", &text);
            } else if result.content.iter().any(|part| fits(part, place))
                || (result.content.is_empty() && result.form == Form::Parts)
            {
                let parts = result.content.iter().filter(|part| fits(part, place));
                // A result inside a result is nothing that any codec reads; it would make this recursive.
                write_blocks(object.open("content"), parts.filter(|part| !matches!(part, Block::ToolResult(_))), place);
            }
            if result.content.is_empty() && gap(result.extra.as_deref(), place).as_deref() == Some(NULL) {
                object.raw("content", "null");
            }
            if result.is_error {
                object.raw("is_error", "true");
            }
            &result.extra
        }
        Block::Provider(_) => &None,
    };
    object.rest(own(extra.as_deref()), wire_key);
    *out = object.end();
}

fn write_source(out: &mut String, source: &MediaSource) {
    let mut object = Object::onto(out);
    match source {
        MediaSource::Base64 { media_type, data } => {
            object.text("type", "base64");
            object.text("media_type", media_type);
            object.text("data", data);
        }
        MediaSource::Text { data, .. } => {
            object.text("type", "text");
            // The wire knows no other type of text.
            object.text("media_type", PLAIN);
            object.text("data", data);
        }
        MediaSource::Url(url) => {
            object.text("type", "url");
            object.text("url", url);
        }
        MediaSource::File(id) => {
            object.text("type", "file");
            object.text("file_id", id);
        }
    }
    *out = object.end();
}

/// Appends blocks as an array.
pub(super) fn write_blocks<'a>(out: &mut String, blocks: impl IntoIterator<Item = &'a Block>, place: Place) {
    out.push('[');
    for (at, block) in blocks.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_block(out, block, place);
    }
    out.push(']');
}

/// One block of an answer; `None` if it is foreign to the wire.
pub(super) fn response_block(block: &Block) -> Option<String> {
    fits(block, Place::Response).then(|| {
        let mut out = String::new();
        write_block(&mut out, block, Place::Response);
        out
    })
}

/// The text of a block that is nothing but text.
fn plain(block: &Block) -> Option<&str> {
    let Block::Text(text) = block else { return None };
    let bare = own(text.extra.as_deref()).is_none_or(|fields| fields.iter().all(|(key, _)| key == NOTE));
    bare.then_some(text.text.as_str())
}

/// The content as a bare string, where it was one or may be one.
fn as_string(blocks: &[Block], form: Form) -> Option<Cow<'_, str>> {
    if form == Form::Parts || blocks.is_empty() || (form == Form::Auto && blocks.len() > 1) {
        return None;
    }
    match blocks {
        [block] => plain(block).map(Cow::Borrowed),
        _ => blocks.iter().map(plain).collect::<Option<String>>().map(Cow::Owned),
    }
}

/// The blocks of a message that are sent, in an order that the wire takes.
fn sent(message: &Message) -> Vec<&Block> {
    let mut blocks: Vec<&Block> = message.content.iter().filter(|block| fits(block, Place::Request)).collect();
    if message.form == Form::Auto {
        if message.role == Role::Assistant {
            // The wire refuses an answer that ends with reasoning: one that broke off there.
            while matches!(blocks.last(), Some(Block::Thinking(_))) {
                blocks.pop();
            }
        } else {
            // The wire wants results before anything else.
            blocks.sort_by_key(|block| !matches!(block, Block::ToolResult(_)));
        }
    }
    blocks
}

/// The model's message without the white space at its end; `None` if there is none, or if it came so. Where an answer
/// shall be gone on with, as after a pause, the wire refuses a text that ends with it.
pub(super) fn ended_with_space(message: &Message) -> Option<Message> {
    let is_ours = message.role == Role::Assistant && message.form == Form::Auto;
    let last = message.content.iter().rposition(|block| fits(block, Place::Request)).filter(|_| is_ours)?;
    let Some(Block::Text(text)) = message.content.get(last) else { return None };
    let trimmed = text.text.trim_end();
    (trimmed.len() < text.text.len()).then(|| {
        let mut content = message.content.clone();
        content.splice(last..=last, [Block::Text(Text { text: trimmed.to_owned(), extra: text.extra.clone() })]);
        message.with_content(content)
    })
}

/// The content of messages as one JSON value: a bare string or an array; `None` if there is nothing to send.
pub(super) fn content(messages: &[&Message]) -> Option<String> {
    let mut out = String::new();
    if let [message] = messages {
        let blank = message.content.iter().all(|block| !fits(block, Place::Request));
        if !blank && let Some(text) = as_string(&message.content, message.form) {
            quote(&mut out, &text);
            return Some(out);
        }
    }
    let blocks: Vec<&Block> = messages.iter().flat_map(|message| sent(message)).collect();
    if blocks.is_empty() {
        return None;
    }
    write_blocks(&mut out, blocks, Place::Request);
    Some(out)
}

/// Whether this wire takes the message as instructions inside the history: only if it came so. Other instructions
/// that stand first go to the top-level `system`; later ones are sent as the user's, which every model takes.
pub(super) fn is_foreign_system(message: &Message) -> bool {
    matches!(message.role, Role::System | Role::Developer) && own(message.extra.as_deref()).is_none()
}

/// Whether the message goes out as instructions inside the history, which not every model takes.
pub fn is_inside(message: &Message) -> bool {
    matches!(message.role, Role::System | Role::Developer) && !is_foreign_system(message)
}

/// One message of the history; empty if nothing of it may be sent, as the wire refuses messages without content.
///
/// Left out are: blocks and fields of other wires, reasoning without its signature, blank text, reasoning at the end.
/// Instructions that did not come from this wire are sent as the user's.
///
/// Names of tools stay as they are; [`encode_in_request`] makes them legal.
pub fn encode_message(message: &Message) -> String {
    let fields = own(message.extra.as_deref());
    let kept = |key| fields.and_then(|fields| fields.get(key));
    let content = content(&[message]).or_else(|| kept("content").map(|raw| raw.text().to_owned()));
    if content.is_none() && kept(NOTE).is_none() {
        return String::new();
    }
    let role = if is_foreign_system(message) { Role::User } else { message.role };
    let mut object = Object::with_capacity(content.as_ref().map_or(0, String::len) + 32);
    object.text("role", role.name());
    if let Some(content) = content {
        object.raw("content", &content);
    }
    object.rest(fields, wire_key);
    object.end()
}

/// The message as a request has it: with names of tools that the provider takes.
pub(super) fn encode_in_request(message: &Message) -> String {
    let illegal =
        |block: &Block| matches!(block, Block::ToolUse(call) if matches!(names::legal_name(&call.name), Cow::Owned(_)));
    if !message.content.iter().any(illegal) {
        return encode_message(message);
    }
    let mut message = message.clone();
    for block in &mut message.content {
        if let Block::ToolUse(call) = block {
            call.name = names::legal_name(&call.name).into_owned();
        }
    }
    encode_message(&message)
}

/// A message of the history, or what is wrong with it.
pub(super) fn decode_message(raw: &Raw) -> Result<Message, String> {
    let mut fields = Fields::parse(raw.text()).map_err(|_| "is no object".to_owned())?;
    let role = fields.take_str("role").ok_or("has no role")?;
    let role = Role::named(&role).ok_or_else(|| format!("has an unknown role {role:?}"))?;
    let (content, form) = take_content(&mut fields, "content");
    if content.is_empty() && fields.get("content").is_none() {
        fields.put(NOTE, "no content");
    }
    // A mark, even if empty, says that the wire itself wrote instructions here.
    let extra = if matches!(role, Role::System | Role::Developer) {
        Some(Box::new(marked(fields)))
    } else {
        Extra::of(Wire::Anthropic, fields)
    };
    Ok(Message { form, extra, ..Message::new(role, content) })
}

/// Takes content that is a string or a list with something in it; anything else stays among the fields.
pub(super) fn take_content(fields: &mut Fields, key: &str) -> (Vec<Block>, Form) {
    if let Some(text) = fields.take_str(key) {
        let mut bare = Fields::new();
        if is_blank(&text) {
            bare.put(NOTE, BLANK);
        }
        return (vec![Block::Text(Text { text, extra: Extra::of(Wire::Anthropic, bare) })], Form::Text);
    }
    match fields.get(key).and_then(|raw| decode_blocks(raw, Place::Request)) {
        Some(blocks) if !blocks.is_empty() => {
            fields.take(key);
            (blocks, Form::Parts)
        }
        _ => (Vec::new(), Form::Auto),
    }
}

/// Whether the array `raw` is written as its elements one after the other, without white space between.
pub(super) fn is_compact_array(raw: &Raw, elements: &[Raw]) -> bool {
    let mut array = String::new();
    push_list(&mut array, elements.iter().map(Raw::text));
    array == raw.text()
}
