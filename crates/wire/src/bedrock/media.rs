//! Pictures and documents, both ways: a format, and bytes in base64, a place in S3 or a text.

use std::sync::LazyLock;

use xxhash_rust::xxh3::xxh3_64;

use super::{marked, members_of, own, parsed};
use crate::{notes::wire_key, object::Object};
use loopwright_base::{
    json::Fields,
    lists::{Lists, lists},
    message::{Block, Extra, Media, MediaSource},
};

/// The member that names a place in S3.
const PLACE: &str = "s3Location";

static FORMATS: LazyLock<Lists> = LazyLock::new(|| lists(include_str!("formats.toml")));

/// The media type of a format, the shortest of its names where it has several: `image/jpeg` is longer than `image/jpg`,
/// so that the longest is right.
fn media_type(kind: &str, format: &str) -> Option<String> {
    FORMATS.get(&format!("{kind}.{format}"))?.iter().max_by_key(|known| known.len()).cloned()
}

fn format_of(kind: &str, media_type: &str) -> Option<&'static str> {
    let formats = FORMATS.iter().filter_map(|(name, types)| Some((name.strip_prefix(kind)?.strip_prefix('.')?, types)));
    formats.filter(|(_, types)| types.contains(media_type)).map(|(format, _)| format).next()
}

/// The format that the end of an address speaks of.
fn format_of_address(kind: &str, address: &str) -> Option<&'static str> {
    let end = address.rsplit_once('.')?.1.to_ascii_lowercase();
    let end = if end == "jpg" { "jpeg" } else { end.as_str() };
    let name = format!("{kind}.{end}");
    FORMATS.get_key_value(&name).map(|(name, _)| &name[kind.len() + 1..])
}

/// The picture or document under `kind` in the members of a block; `None` if there is more to it than we can hold.
pub(super) fn decode_media(kind: &'static str, mut fields: Fields) -> Option<Block> {
    let mut inner = parsed(&fields.take(kind)?)?;
    let mut source = parsed(&inner.take("source")?)?;
    let name = inner.take_str("name");
    let mut is_native = false;
    let held = if let Some(data) = source.take_str("bytes") {
        let media_type = media_type(kind, &inner.take_str("format")?)?;
        MediaSource::Base64 { media_type, data }
    } else if let Some(mut place) = source.take(PLACE).as_ref().and_then(parsed) {
        is_native = true;
        let uri = place.take_str("uri")?;
        if !place.is_empty() {
            inner.set(PLACE, place.to_raw());
        }
        MediaSource::File(uri)
    } else {
        is_native = true;
        let media_type = inner.get_str("format").and_then(|format| media_type(kind, &format));
        MediaSource::Text {
            media_type: media_type.unwrap_or_else(|| "text/plain".to_owned()),
            data: source.take_str("text")?,
        }
    };
    if !source.is_empty() {
        return None;
    }
    if !inner.is_empty() {
        fields.set(kind, inner.to_raw());
    }
    // A name that the wire wrote is one that it takes.
    let extra =
        if is_native || name.is_some() { Some(Box::new(marked(fields))) } else { Extra::of(super::WIRE, fields) };
    let media = Media { source: held, name, extra };
    Some(if kind == "image" { Block::Image(media) } else { Block::Document(media) })
}

/// Appends a picture or document as the member `kind` of a block.
pub(super) fn write_media(object: &mut Object, kind: &'static str, media: &Media) {
    let written = own(media.extra.as_deref());
    let kept = members_of(written, kind);
    let mut inner = Object::onto(object.open(kind));
    let format = match &media.source {
        MediaSource::Base64 { media_type, .. } => format_of(kind, media_type),
        MediaSource::Url(address) | MediaSource::File(address) if written.is_none() => format_of_address(kind, address),
        _ => None,
    };
    let usual = if kind == "image" { "png" } else { "txt" };
    let is_bytes = matches!(media.source, MediaSource::Base64 { .. });
    if let Some(format) = format.or_else(|| (is_bytes || written.is_none()).then_some(usual)) {
        inner.text("format", format);
    }
    match (&media.name, written) {
        (Some(name), Some(_)) => inner.text("name", name),
        (name, None) if kind == "document" => inner.text("name", &legal_name(name.as_deref(), &media.source)),
        _ => {}
    }
    write_source(&mut inner, &media.source, &kept);
    inner.rest(Some(&kept), |key| wire_key(key).filter(|key| *key != PLACE));
    object.close(inner);
}

fn write_source(inner: &mut Object, held: &MediaSource, kept: &Fields) {
    let mut source = Object::onto(inner.open("source"));
    match held {
        MediaSource::Base64 { data, .. } => source.text("bytes", data),
        MediaSource::Text { data, .. } => source.text("text", data),
        MediaSource::Url(uri) | MediaSource::File(uri) => {
            let mut place = Object::onto(source.open(PLACE));
            place.text("uri", uri);
            place.rest(Some(&members_of(Some(kept), PLACE)), wire_key);
            source.close(place);
        }
    }
    inner.close(source);
}

/// The name of a document as the wire takes it: of letters, digits, single spaces, hyphens and brackets, none twice.
fn legal_name(name: Option<&str>, source: &MediaSource) -> String {
    let legal = |c: char| c.is_ascii_alphanumeric() || "-()[]".contains(c);
    let mut made = String::new();
    for c in name.unwrap_or("document").chars().take(100) {
        match if legal(c) { c } else { ' ' } {
            ' ' if made.is_empty() || made.ends_with(' ') => {}
            c => made.push(c),
        }
    }
    let (MediaSource::Base64 { data, .. }
    | MediaSource::Text { data, .. }
    | MediaSource::Url(data)
    | MediaSource::File(data)) = source;
    format!("{} {:08x}", made.trim_end(), xxh3_64(data.as_bytes()) >> 32).trim_start().to_owned()
}
