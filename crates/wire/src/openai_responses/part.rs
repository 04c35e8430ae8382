//! The parts of a message or result: text, images, files.
//!
//! A part that can't be taken apart and put together again exactly is left to the caller to keep as it is.

use super::{
    super::{document_text, object::Object},
    BARE, WIRE, is_marked, ours, wire_key,
};
use loopwright_base::{
    json::{Fields, Raw},
    message::{Block, Extra, Media, MediaSource, ProviderBlock, Text},
};

/// The type of a text part that goes without saying.
pub(super) const INPUT_TEXT: &str = "input_text";
/// The same where the model speaks.
pub(super) const OUTPUT_TEXT: &str = "output_text";
/// A text part by which the model refuses.
pub(super) const REFUSAL: &str = "refusal";

/// The member that holds the text of a text part of type `kind`; `None` for other parts.
pub(super) fn text_key(kind: &str) -> Option<&'static str> {
    match kind {
        INPUT_TEXT | OUTPUT_TEXT | "text" => Some("text"),
        REFUSAL => Some(REFUSAL),
        _ => None,
    }
}

/// A text part, and the fields left over. `plain` is the type that goes without saying.
pub(super) fn decode_text(raw: &Raw, plain: &str) -> Option<(String, Fields)> {
    let mut fields = Fields::parse(raw.text()).ok()?;
    let kind = fields.get_str("type")?;
    if is_marked(&fields) {
        return None;
    }
    let text = fields.take_str(text_key(&kind)?)?;
    if kind == plain {
        fields.take("type");
    }
    Some((text, fields))
}

/// Any part as a block; what is not understood becomes a provider's block.
pub(super) fn decode(raw: &Raw, plain: &str) -> Block {
    if let Some((text, fields)) = decode_text(raw, plain) {
        return Block::Text(Text { text, extra: Extra::of(WIRE, fields) });
    }
    decode_media(raw).unwrap_or_else(|| Block::Provider(ProviderBlock { wire: WIRE, raw: raw.clone() }))
}

/// All parts of a list.
pub(super) fn decode_all(parts: &[Raw], plain: &str) -> Vec<Block> {
    parts.iter().map(|part| decode(part, plain)).collect()
}

fn decode_media(raw: &Raw) -> Option<Block> {
    let mut fields = Fields::parse(raw.text()).ok()?;
    if is_marked(&fields) {
        return None;
    }
    match fields.take_str("type")?.as_str() {
        "input_image" => {
            let source = match fields.take_str("image_url") {
                Some(url) => from_data_url(&url).unwrap_or(MediaSource::Url(url)),
                None => MediaSource::File(fields.take_str("file_id")?),
            };
            Some(Block::Image(Media { source, name: None, extra: Extra::of(WIRE, fields) }))
        }
        "input_file" => {
            let source = match fields.take_str("file_data") {
                Some(data) => from_data_url(&data)?,
                None => match fields.take_str("file_url") {
                    Some(url) => MediaSource::Url(url),
                    None => MediaSource::File(fields.take_str("file_id")?),
                },
            };
            let name = fields.take_str("filename");
            if name.is_none() && matches!(source, MediaSource::Base64 { .. }) {
                fields.put(BARE, &true);
            }
            Some(Block::Document(Media { source, name, extra: Extra::of(WIRE, fields) }))
        }
        _ => None,
    }
}

fn from_data_url(url: &str) -> Option<MediaSource> {
    let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    let exact = !media_type.is_empty() && !media_type.contains([';', ',']);
    exact.then(|| MediaSource::Base64 { media_type: media_type.to_owned(), data: data.to_owned() })
}

/// Whether the text says all, so that a bare string can stand for it.
pub(super) fn is_plain(text: &Text) -> bool {
    ours(text.extra.as_deref()).is_none()
}

/// A text part.
pub(super) fn encode_text(text: &Text, plain: &str) -> String {
    let extra = ours(text.extra.as_deref());
    let kind = extra.and_then(|extra| extra.get_str("type")).unwrap_or_else(|| plain.to_owned());
    let key = text_key(&kind).unwrap_or("text");
    let mut part = Object::new();
    part.text("type", &kind);
    part.text(key, &text.text);
    part.rest(extra, wire_key);
    part.end()
}

/// A block as a part; `None` for blocks that are none, or belong to another wire.
pub(super) fn encode(block: &Block, plain: &str) -> Option<String> {
    match block {
        Block::Text(text) => Some(encode_text(text, plain)),
        Block::Image(media) => Some(encode_image(media, plain)),
        Block::Document(media) => Some(encode_file(media, plain)),
        Block::Provider(block) if block.wire == WIRE => Some(block.raw.text().to_owned()),
        Block::Thinking(_) | Block::ToolUse(_) | Block::ToolResult(_) | Block::Provider(_) => None,
    }
}

fn encode_image(media: &Media, plain: &str) -> String {
    let mut part = Object::new();
    part.text("type", "input_image");
    match &media.source {
        MediaSource::Base64 { media_type, data } => part.text("image_url", &format!("data:{media_type};base64,{data}")),
        MediaSource::Url(url) => part.text("image_url", url),
        MediaSource::File(id) => part.text("file_id", id),
        MediaSource::Text { data, .. } => return encode_text(&Text { text: data.clone(), extra: None }, plain),
    }
    part.rest(ours(media.extra.as_deref()), wire_key);
    part.end()
}

fn encode_file(media: &Media, plain: &str) -> String {
    let extra = ours(media.extra.as_deref());
    let mut part = Object::new();
    part.text("type", "input_file");
    let mut default_name = None;
    match &media.source {
        MediaSource::Base64 { media_type, data } => {
            part.text("file_data", &format!("data:{media_type};base64,{data}"));
            // The API wants a name beside inline data.
            if extra.and_then(|extra| extra.get(BARE)).is_none() {
                default_name = Some(if media_type == "application/pdf" { "document.pdf" } else { "document" });
            }
        }
        MediaSource::Url(url) => part.text("file_url", url),
        MediaSource::File(id) => part.text("file_id", id),
        MediaSource::Text { media_type, data } => {
            let text = document_text(media.name.as_deref(), media_type, data);
            return encode_text(&Text { text, extra: None }, plain);
        }
    }
    if let Some(name) = media.name.as_deref().or(default_name) {
        part.text("filename", name);
    }
    part.rest(extra, wire_key);
    part.end()
}
