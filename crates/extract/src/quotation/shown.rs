//! What a request shows the model, beside instructions and what it said itself.

use std::{borrow::Cow, sync::OnceLock};

use serde_json::Value;

use super::{
    super::dialect::{Dialect, Grammar},
    lines::Texts,
    plain::{LINE, Plain},
};
use loopwright_base::{
    base64,
    marks::memory_in,
    message::{Block, Media, MediaSource, Message, Role},
    request::Request,
};

/// What the model was shown with a request. Read when it is first asked for.
#[derive(Debug)]
pub struct Shown<'a> {
    request: Cow<'a, Request>,
    texts: OnceLock<Texts>,
}

impl<'a> Shown<'a> {
    /// What `request` shows.
    pub const fn new(request: &'a Request) -> Self {
        Self { request: Cow::Borrowed(request), texts: OnceLock::new() }
    }

    /// What `request` shows, which is kept.
    pub const fn kept(request: Request) -> Self {
        Self { request: Cow::Owned(request), texts: OnceLock::new() }
    }

    /// The request.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Whether this form of a call stands in it. Where a text broke off, the closers may be missing.
    pub(super) fn holds(&self, form: &[u8], dialect: &Dialect) -> bool {
        let texts = self.texts.get_or_init(|| texts(&self.request));
        let form = String::from_utf8_lossy(form);
        if texts.holds(&Plain::of(form.as_bytes()), |_| true) {
            return true;
        }
        let Some((open, outermost)) = unclosed(&form, dialect) else { return false };
        let closers = Plain::of(form.get(open.len()..).unwrap_or_default().as_bytes());
        let outermost = Some(Plain::of(outermost.as_bytes())).filter(|closer| closer.text.len() > 1);
        let openers = dialect.open.iter().chain(dialect.section.iter().flat_map(|section| section.0));
        let openers: Vec<_> = openers.map(|opener| Plain::of(opener.as_bytes())).collect();
        texts.holds(&Plain::of(open.as_bytes()), |at| {
            let rest = texts.plain.get(at..texts.end(at));
            let standing = rest.iter().zip(&closers.text).take_while(|(one, other)| one == other).count();
            if !texts.plain.has(at + standing, LINE) {
                return false;
            }
            let find = |plain: &Plain| memchr::memmem::find(rest, &plain.text);
            let next = openers.iter().filter(|opener| !opener.text.is_empty()).filter_map(find).min();
            let closer = outermost.as_ref().and_then(find);
            // A closer that stands behind the next opener is that call's.
            closer.is_none_or(|closer| next.is_some_and(|next| next < closer))
        })
    }
}

/// A form without all that closes it, and the outermost of that.
fn unclosed<'a>(form: &'a str, dialect: &Dialect) -> Option<(&'a str, &'a str)> {
    let (mut open, mut outermost) = (form.trim_end(), None);
    loop {
        let closers = dialect.close.iter().chain(dialect.section.iter().flat_map(|section| section.1));
        let quote = if let Grammar::Loose { quote } = dialect.grammar { quote } else { "" };
        let shorter = closers
            .chain([&dialect.message_end, &quote])
            .filter(|closer| !closer.is_empty())
            .find_map(|closer| open.strip_suffix(closer))
            .or_else(|| without_element(open, dialect))
            .or_else(|| open.strip_suffix(['}', ']', ')', '"', '\'', '`']));
        let Some(shorter) = shorter else { return outermost.map(|outermost| (open, outermost)) };
        outermost = outermost.or_else(|| open.get(shorter.len()..));
        open = shorter.trim_end();
    }
}

/// A text without the closing element at its end.
fn without_element<'a>(text: &'a str, dialect: &Dialect) -> Option<&'a str> {
    if matches!(dialect.grammar, Grammar::Attributes) {
        let (open, key) = text.strip_suffix("<|sep|>")?.rsplit_once("<|close|>")?;
        return (key == "argument").then_some(open);
    }
    let (open, name) = text.strip_suffix('>')?.rsplit_once("</")?;
    let open = match dialect.grammar {
        Grammar::Nested { prefix } => open.strip_suffix(prefix).unwrap_or(open),
        _ => open,
    };
    (!name.contains(['<', '>'])).then_some(open)
}

fn texts(request: &Request) -> Texts {
    let mut shown = Vec::new();
    // What is trusted of memory stands among the instructions.
    let system = request.system.as_deref().map(Message::prose);
    if let Some(memory) = system.as_deref().and_then(memory_in) {
        shown.push(memory.into());
    }
    for message in request.messages.iter() {
        blocks(&message.content, message.role == Role::User, &mut shown);
    }
    let mut texts = Texts::default();
    for text in &shown {
        texts.take(text);
    }
    texts.apart();
    for text in &shown {
        if let Some(strings) = strings(text) {
            sides(&strings, &mut texts);
            texts.take(&strings);
        }
        sides(text, &mut texts);
    }
    texts
}

/// Takes what is not the model's own, and no instruction.
fn blocks<'a>(content: &'a [Block], users: bool, shown: &mut Vec<Cow<'a, str>>) {
    for block in content {
        match block {
            Block::Text(own) if users => shown.push(own.text.as_str().into()),
            Block::Document(media) | Block::Image(media) => document(media, shown),
            Block::ToolResult(result) => blocks(&result.content, true, shown),
            // Pages that the provider has read stand in the model's own message.
            Block::Provider(block) if !block.is_tool_use() => shown.push(block.raw.text().into()),
            _ => {}
        }
    }
}

fn document<'a>(media: &'a Media, shown: &mut Vec<Cow<'a, str>>) {
    match &media.source {
        MediaSource::Text { data, .. } => shown.push(data.as_str().into()),
        MediaSource::Base64 { media_type, data } if !media_type.starts_with("image/") => {
            shown.extend(base64::text(data, media_type.starts_with("text/")).map(Into::into));
        }
        MediaSource::Url(address) => shown.push(address.as_str().into()),
        MediaSource::Base64 { .. } | MediaSource::File(_) => {}
    }
    shown.extend(media.name.as_deref().map(Into::into));
    // Titles and the like.
    let fields = media.extra.iter().flat_map(|extra| extra.fields.iter());
    shown.extend(fields.map(|(_, value)| value.text().into()));
}

/// The strings of JSON, or of lines of JSON, each on lines of its own: a tool may give a file as a list of its lines.
fn strings(text: &str) -> Option<String> {
    fn collect(value: &Value, all: &mut String) {
        match value {
            Value::String(text) => {
                all.push_str(text);
                all.push('\n');
            }
            Value::Array(values) => values.iter().for_each(|value| collect(value, all)),
            Value::Object(fields) => fields.values().for_each(|value| collect(value, all)),
            _ => {}
        }
    }
    let parse =
        |text: &str| text.trim_start().starts_with(['{', '[']).then(|| serde_json::from_str(text).ok()).flatten();
    let mut all = String::new();
    match parse(text) {
        Some(json) => collect(&json, &mut all),
        None => text.lines().filter_map(parse).for_each(|json| collect(&json, &mut all)),
    }
    (!all.is_empty()).then_some(all)
}

/// Takes both sides of a diff, each by itself.
fn sides(text: &str, texts: &mut Texts) {
    if !text.starts_with("@@ ") && !text.contains("\n@@ ") {
        return;
    }
    for sign in ['+', '-'] {
        let lines = text.lines().filter_map(|line| line.strip_prefix([' ', sign]));
        texts.take(&lines.flat_map(|line| [line, "\n"]).collect::<String>());
    }
}
