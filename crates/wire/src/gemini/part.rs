//! Parts of contents, both ways.
//!
//! A part holds one kind of data and, beside it, `thought`, `thoughtSignature` and what is to come. Calls may have no
//! id: they get one by which we and other wires tell them apart, and which is never sent.

use std::{borrow::Cow, collections::VecDeque};

use serde_json::json;
use xxhash_rust::xxh3::xxh3_64;

use super::{WIRE, marked, members_of, own, parsed};
use crate::{
    document_text,
    names::function_name,
    notes::{NOTE, note, wire_key},
    object::{Object, write_invalid},
};
use loopwright_base::{
    json::{Fields, Raw, nested_deeper},
    message::{Block, Extra, Form, Media, MediaSource, ProviderBlock, Text, Thinking, ToolResult, ToolUse},
};

/// The members of a part that hold its data; a part has one of them.
const DATA: [&str; 5] = ["text", "inlineData", "fileData", "functionCall", "functionResponse"];
/// The beginning of ids that were made up here.
const MADE: &str = "gemini_call_";
/// The name of a tool whose call is not known.
const UNNAMED: &str = "unknown_tool";
/// A result that is nested deeper goes out as text: the API reads objects by a recursion that ends soon.
const DEEPEST_RESULT: usize = 30;
/// The note of a call without arguments, or with `null`.
const ARGS: &str = "args";

/// How a part is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartPlace {
    /// In a request: what the wire would refuse is left out or put into a form it takes.
    Sent,
    /// As it came from the wire, or as the provider would write it.
    AsItCame,
}

/// Ids for calls that came without one, and for their results.
#[derive(Clone, Debug)]
pub(super) struct CallIds {
    seed: String,
    next: usize,
    /// Name and id of calls without an id whose results have not come.
    waiting: VecDeque<(String, String)>,
}

impl CallIds {
    /// The ids of the answer of that id.
    pub(super) fn of_answer(id: &str) -> Self {
        Self { seed: format!("{:016x}", xxh3_64(id.as_bytes())), next: 0, waiting: VecDeque::new() }
    }

    /// The ids of a history.
    pub(super) fn of_history() -> Self {
        Self { seed: "history".to_owned(), next: 0, waiting: VecDeque::new() }
    }

    fn call(&mut self, name: &str) -> String {
        let id = format!("{MADE}{}_{}", self.seed, self.next);
        self.next += 1;
        self.waiting.push_back((name.to_owned(), id.clone()));
        id
    }

    /// The id of the first call of that name that waits: results stand in the order of their calls.
    fn result(&mut self, name: &str) -> String {
        let found = self.waiting.iter().position(|(waiting, _)| waiting == name);
        if let Some((_, id)) = found.and_then(|at| self.waiting.remove(at)) {
            return id;
        }
        self.next += 1;
        format!("{MADE}{}_{}", self.seed, self.next - 1)
    }
}

/// Whether the wire is told the id.
fn is_sent(id: &str) -> bool {
    !id.is_empty() && !id.starts_with(MADE)
}

/// The block that a part is.
pub(super) fn decode_part(raw: &Raw, ids: &mut CallIds) -> Block {
    parsed(raw)
        .and_then(|fields| known(fields, ids))
        .unwrap_or_else(|| Block::Provider(ProviderBlock { wire: WIRE, raw: raw.clone() }))
}

fn known(fields: Fields, ids: &mut CallIds) -> Option<Block> {
    let mut data = DATA.into_iter().filter(|key| fields.get(key).is_some());
    let (Some(kind), None, None) = (data.next(), data.next(), fields.get(NOTE)) else { return None };
    match kind {
        "text" => text(fields),
        "inlineData" => inline(fields),
        "fileData" => file(fields),
        "functionCall" => call(fields, ids),
        _ => result(fields, ids),
    }
}

fn text(mut fields: Fields) -> Option<Block> {
    let text = fields.take_str("text")?;
    if !fields.take_if("thought", &json!(true)) {
        return Some(Block::Text(Text { text, extra: Extra::of(WIRE, fields) }));
    }
    let signature = fields.take_str("thoughtSignature");
    Some(Block::Thinking(Thinking { text, signature, redacted: None, extra: Some(Box::new(marked(fields))) }))
}

fn inline(mut fields: Fields) -> Option<Block> {
    let mut data = parsed(&fields.take("inlineData")?)?;
    let media_type = data.take_str("mimeType")?;
    let is_image = media_type.starts_with("image/");
    let source = MediaSource::Base64 { media_type, data: data.take_str("data")? };
    let name = data.take_str("displayName");
    // The API takes names of inline data where it wrote them; ours stay here.
    let extra = if name.is_some() { Some(Box::new(marked(fields))) } else { Extra::of(WIRE, fields) };
    data.is_empty().then(|| media(is_image, Media { source, name, extra }))
}

fn file(mut fields: Fields) -> Option<Block> {
    let mut data = parsed(&fields.take("fileData")?)?;
    let uri = data.take_str("fileUri")?;
    let name = data.take_str("displayName");
    let is_image = data.get_str("mimeType").is_some_and(|kind| kind.starts_with("image/"));
    let source = if uri.contains("://") { MediaSource::Url(uri) } else { MediaSource::File(uri) };
    if !data.is_empty() {
        fields.set("fileData", data.to_raw());
    }
    Some(media(is_image, Media { source, name, extra: Some(Box::new(marked(fields))) }))
}

fn media(is_image: bool, media: Media) -> Block {
    if is_image { Block::Image(media) } else { Block::Document(media) }
}

fn call(mut fields: Fields, ids: &mut CallIds) -> Option<Block> {
    let mut inner = parsed(&fields.take("functionCall")?)?;
    let name = inner.take_str("name")?;
    let input = match inner.take("args") {
        // Gateways pass on what a model wrote, which is not always an object.
        Some(raw) if !raw.is_null() => raw,
        args => {
            fields.put(NOTE, &json!({ARGS: if args.is_some() { "null" } else { "absent" }}));
            Raw::empty_object()
        }
    };
    let id = take_id(&mut inner).unwrap_or_else(|| ids.call(&name));
    if !inner.is_empty() {
        fields.set("functionCall", inner.to_raw());
    }
    Some(Block::ToolUse(ToolUse { id, name, input, invalid: None, extra: Extra::of(WIRE, fields) }))
}

fn take_id(inner: &mut Fields) -> Option<String> {
    inner.get_str("id").filter(|id| is_sent(id))?;
    inner.take_str("id")
}

fn result(mut fields: Fields, ids: &mut CallIds) -> Option<Block> {
    let mut inner = parsed(&fields.take("functionResponse")?)?;
    let name = inner.take_str("name")?;
    let response = inner.take("response")?;
    let members = parsed(&response)?;
    let only = members.iter().next().filter(|_| members.len() == 1);
    let (text, form, is_error) = match only.map(|(key, value)| (key, value.string())) {
        Some((key @ ("output" | "error"), Some(text))) => (text, Form::Text, key == "error"),
        only => (response.text().to_owned(), Form::Parts, only.is_some_and(|(key, _)| key == "error")),
    };
    let id = take_id(&mut inner).unwrap_or_else(|| ids.result(&name));
    if !inner.is_empty() {
        fields.set("functionResponse", inner.to_raw());
    }
    let content = vec![Block::text(text)];
    Some(Block::ToolResult(ToolResult {
        id,
        name,
        content,
        form,
        is_error,
        failure: None,
        extra: Extra::of(WIRE, fields),
    }))
}

/// Whether the wire takes the block here.
pub(super) fn fits(block: &Block, place: PartPlace) -> bool {
    match block {
        Block::Provider(provider) => provider.wire == WIRE,
        // A thought goes back to the wire it came from alone.
        Block::Thinking(thinking) => {
            thinking.redacted.is_none() && (place == PartPlace::AsItCame || own(thinking.extra.as_deref()).is_some())
        }
        Block::Text(text) => {
            place == PartPlace::AsItCame || !text.text.is_empty() || own(text.extra.as_deref()).is_some()
        }
        _ => true,
    }
}

/// Appends the block as a part. The caller has asked whether it [`fits`].
pub(super) fn write_part(out: &mut String, block: &Block, place: PartPlace) {
    if let Block::Provider(provider) = block {
        out.push_str(provider.raw.text());
        return;
    }
    let mut object = Object::onto(out);
    let extra = match block {
        Block::Text(text) => {
            object.text("text", &text.text);
            &text.extra
        }
        Block::Thinking(thinking) => {
            object.text("text", &thinking.text);
            object.raw("thought", "true");
            let foreign = thinking.extra.as_ref().is_some_and(|extra| extra.wire != WIRE);
            if let Some(signature) = thinking.signature.as_ref().filter(|_| !foreign) {
                object.text("thoughtSignature", signature);
            }
            &thinking.extra
        }
        Block::Image(media) | Block::Document(media) => {
            write_media(&mut object, media);
            &media.extra
        }
        Block::ToolUse(call) => {
            write_call(object.open("functionCall"), call, place);
            &call.extra
        }
        Block::ToolResult(result) => {
            write_result(object.open("functionResponse"), result, place);
            &result.extra
        }
        Block::Provider(_) => &None,
    };
    // Members of the data itself are kept under its name, which is written by now.
    object.rest(own(extra.as_deref()), wire_key);
    *out = object.end();
}

fn write_media(object: &mut Object, media: &Media) {
    let written = own(media.extra.as_deref());
    match &media.source {
        MediaSource::Base64 { media_type, data } => {
            let mut inner = Object::onto(object.open("inlineData"));
            inner.text("mimeType", media_type);
            inner.text("data", data);
            if let Some(name) = media.name.as_ref().filter(|_| written.is_some()) {
                inner.text("displayName", name);
            }
            object.close(inner);
        }
        MediaSource::Text { media_type, data } => {
            object.text("text", &document_text(media.name.as_deref(), media_type, data));
        }
        MediaSource::Url(uri) | MediaSource::File(uri) => {
            let mut inner = Object::onto(object.open("fileData"));
            if let Some(kind) = media_type_of(uri).filter(|_| written.is_none()) {
                inner.text("mimeType", kind);
            }
            inner.text("fileUri", uri);
            if let Some(name) = media.name.as_ref().filter(|_| written.is_some()) {
                inner.text("displayName", name);
            }
            inner.rest(Some(&members_of(written, "fileData")), wire_key);
            object.close(inner);
        }
    }
}

/// The media type that the end of an address speaks of.
fn media_type_of(uri: &str) -> Option<&'static str> {
    let path = uri.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    Some(match path.rsplit_once('.')?.1 {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "gif" => "image/gif",
        "pdf" => "application/pdf",
        _ => return None,
    })
}

fn written_name(name: &str, place: PartPlace) -> Cow<'_, str> {
    match place {
        PartPlace::AsItCame => Cow::Borrowed(name),
        PartPlace::Sent if name.is_empty() => Cow::Borrowed(UNNAMED),
        PartPlace::Sent => function_name(name),
    }
}

fn write_call(out: &mut String, call: &ToolUse, place: PartPlace) {
    let written = own(call.extra.as_deref());
    let mut inner = Object::onto(out);
    if is_sent(&call.id) {
        inner.text("id", &call.id);
    }
    inner.text("name", &written_name(&call.name, place));
    if call.invalid.is_some() || (place == PartPlace::Sent && !call.input.is_object()) {
        write_invalid(inner.open("args"), call.arguments_text());
    } else {
        let bare = place == PartPlace::AsItCame && call.input.text() == "{}";
        match note(written).get_str(ARGS).filter(|_| bare).as_deref() {
            Some("absent") => {}
            Some("null") => inner.raw("args", "null"),
            _ => inner.raw("args", call.input.text()),
        }
    }
    inner.rest(Some(&members_of(written, "functionCall")), wire_key);
    *out = inner.end();
}

fn write_result(out: &mut String, result: &ToolResult, place: PartPlace) {
    let mut inner = Object::onto(out);
    if is_sent(&result.id) {
        inner.text("id", &result.id);
    }
    inner.text("name", &written_name(&result.name, place));
    let text = result.prose();
    if is_response(result, &text) {
        inner.raw("response", text.trim());
    } else {
        let mut response = Object::onto(inner.open("response"));
        response.text(if result.is_error { "error" } else { "output" }, &text);
        inner.close(response);
    }
    inner.rest(Some(&members_of(own(result.extra.as_deref()), "functionResponse")), wire_key);
    *out = inner.end();
}

/// Whether the text of a result is the object that the wire wants. Of a failure, only one that says that it is one.
fn is_response(result: &ToolResult, text: &str) -> bool {
    if result.form == Form::Text || !text.trim_start().starts_with('{') {
        return false;
    }
    let Ok(members) = Fields::parse(text) else { return false };
    let flat = result.form == Form::Parts || !nested_deeper(text, DEEPEST_RESULT);
    flat && (!result.is_error || (members.len() == 1 && members.get("error").is_some()))
}
