//! The items of a history or an answer: messages, reasoning, calls, results, and what only the provider knows.
//!
//! Decoding gives blocks, writing gives the same items again. Each item is looked at once.

use std::borrow::Cow;

use super::{
    super::{names, object::Object},
    AFTER, BARE, BEFORE, ITEM, NO_ID, WIRE, is_marked, ours,
    part::{self, INPUT_TEXT, OUTPUT_TEXT},
    wire_key,
};
use loopwright_base::{
    json::{Fields, Raw},
    message::{
        Block, Extra, Form, Message, ProviderBlock, Role, Text, Thinking, ToolResult, ToolUse, is_empty_arguments,
    },
};

/// What joins the parts of one reasoning item.
pub(super) const PARAGRAPH: &str = "\n\n";

/// One item of a request's input, as a message of its own; `None` if it is no object.
pub(super) fn decode_input(raw: &Raw) -> Option<Message> {
    let fields = Fields::parse(raw.text()).ok()?;
    let kind = fields.get_str("type");
    let known = if is_marked(&fields) {
        None
    } else {
        match kind.as_deref() {
            None if fields.get("type").is_none() => decode_message(fields),
            Some("message") => decode_message(fields),
            Some("function_call") => {
                tool_use(fields).map(|call| Message::new(Role::Assistant, vec![Block::ToolUse(call)]))
            }
            Some("function_call_output") => {
                tool_result(fields).map(|result| Message::new(Role::User, vec![Block::ToolResult(result)]))
            }
            // Without its proof, reasoning is a mere reference to what the server stored.
            Some("reasoning") if fields.get_str("encrypted_content").is_some() => {
                Some(Message::new(Role::Assistant, vec![Block::Thinking(thinking(fields))]))
            }
            _ => None,
        }
    };
    Some(known.unwrap_or_else(|| {
        let role = if kind.is_some_and(|kind| kind.ends_with("_output")) { Role::User } else { Role::Assistant };
        Message::new(role, vec![provider(raw)])
    }))
}

fn provider(raw: &Raw) -> Block {
    Block::Provider(ProviderBlock { wire: WIRE, raw: raw.clone() })
}

fn decode_message(mut fields: Fields) -> Option<Message> {
    let role = Role::named(&fields.take_str("role")?)?;
    let content = fields.take("content")?;
    let (content, form) = if let Some(text) = content.string() {
        (vec![Block::text(text)], Form::Text)
    } else {
        (part::decode_all(&content.to::<Vec<Raw>>().ok()?, plain_text(role)), Form::Parts)
    };
    Some(Message { form, extra: Extra::of(WIRE, fields), ..Message::new(role, content) })
}

/// The type of text parts that goes without saying.
const fn plain_text(role: Role) -> &'static str {
    match role {
        Role::Assistant => OUTPUT_TEXT,
        Role::System | Role::Developer | Role::User => INPUT_TEXT,
    }
}

/// Appends the blocks of one item of an answer. Fails with words where a call can't be understood: leaving it out
/// would change what the model asked for.
pub(super) fn decode_output(raw: &Raw, blocks: &mut Vec<Block>) -> Result<(), String> {
    let mut fields = Fields::parse(raw.text()).map_err(|_| "an item of the output is no object".to_owned())?;
    if is_marked(&fields) {
        blocks.push(provider(raw));
        return Ok(());
    }
    match fields.get_str("type").as_deref() {
        Some("message") => {
            if !output_message(fields, blocks) {
                blocks.push(provider(raw));
            }
        }
        Some("function_call") => {
            if fields.get("arguments").is_none() {
                fields.set("arguments", Raw::null());
            }
            let known = call_name(&fields);
            let has_id = fields.get("call_id").is_some();
            if let Some(name) = known.filter(|_| !has_id) {
                fields.put("call_id", &name);
            }
            let mut call = tool_use(fields).ok_or_else(|| "a function_call lacks its call_id or name".to_owned())?;
            if !has_id && let Some(extra) = &mut call.extra {
                extra.fields.put(NO_ID, &true);
            }
            blocks.push(Block::ToolUse(call));
        }
        Some("reasoning") => blocks.push(Block::Thinking(thinking(fields))),
        _ => blocks.push(provider(raw)),
    }
    Ok(())
}

/// A text part of a message item, and the unknown parts behind it.
struct Known {
    text: String,
    fields: Fields,
    after: Vec<Raw>,
}

/// Takes apart a message item of the model; `false` if nothing in it is text.
fn output_message(mut fields: Fields, blocks: &mut Vec<Block>) -> bool {
    // Some servers leave the role out; another role comes with a compaction.
    if !(fields.get("role").is_none() || fields.get_str("role").as_deref() == Some("assistant")) {
        return false;
    }
    let Some(parts) = fields.get("content").and_then(|content| content.to::<Vec<Raw>>().ok()) else { return false };
    let mut before = Vec::new();
    let mut known: Vec<Known> = Vec::new();
    for raw in parts {
        match (part::decode_text(&raw, OUTPUT_TEXT), known.last_mut()) {
            (Some((text, fields)), _) => known.push(Known { text, fields, after: Vec::new() }),
            (None, Some(last)) => last.after.push(raw),
            (None, None) => before.push(raw),
        }
    }
    if known.is_empty() {
        return false;
    }
    fields.take("content");
    let mut item = fields.to_raw();
    for Known { text, mut fields, after } in known {
        fields.set(ITEM, std::mem::replace(&mut item, Raw::of(&true)));
        if !before.is_empty() {
            fields.put(BEFORE, &std::mem::take(&mut before));
        }
        if !after.is_empty() {
            fields.put(AFTER, &after);
        }
        blocks.push(Block::Text(Text { text, extra: Extra::of(WIRE, fields) }));
    }
    true
}

/// The id of a call; some servers give the item's alone.
pub(super) fn call_name(fields: &Fields) -> Option<String> {
    fields.get_str("call_id").or_else(|| fields.get_str("id").filter(|_| fields.get("call_id").is_none()))
}

fn tool_use(mut fields: Fields) -> Option<ToolUse> {
    fields.take("type");
    let id = fields.take_str("call_id")?;
    let name = fields.take_str("name")?;
    let arguments = fields.take("arguments")?;
    let mut call = from_arguments(id, name, &arguments);
    if arguments.string().as_deref() != Some(call.arguments_text()) {
        fields.set("arguments", arguments);
    }
    call.extra = Extra::of(WIRE, fields);
    Some(call)
}

/// A call from its arguments: JSON in a string, or (some servers) JSON as it is.
fn from_arguments(id: String, name: String, arguments: &Raw) -> ToolUse {
    let text = arguments.string().unwrap_or_else(|| arguments.text().to_owned());
    ToolUse::from_text(id, name, text)
}

fn tool_result(mut fields: Fields) -> Option<ToolResult> {
    fields.take("type");
    let id = fields.take_str("call_id")?;
    let output = fields.take("output")?;
    let (content, form) = if let Some(text) = output.string() {
        (vec![Block::text(text)], Form::Text)
    } else {
        (part::decode_all(&output.to::<Vec<Raw>>().ok()?, INPUT_TEXT), Form::Parts)
    };
    let extra = Extra::of(WIRE, fields);
    Some(ToolResult { id, name: String::new(), content, form, is_error: false, failure: None, extra })
}

fn thinking(mut fields: Fields) -> Thinking {
    fields.take("type");
    let signature = fields.take_str("encrypted_content");
    let mut text = String::new();
    for key in ["summary", "content"] {
        for part in fields.get(key).and_then(|list| list.to::<Vec<Raw>>().ok()).unwrap_or_default() {
            let words = Fields::parse(part.text()).ok().and_then(|part| part.get_str("text")).unwrap_or_default();
            if !words.is_empty() && !text.is_empty() {
                text.push_str(PARAGRAPH);
            }
            text.push_str(&words);
        }
    }
    if fields.is_empty() {
        fields.put(BARE, &true);
    }
    Thinking { text, signature, redacted: None, extra: Extra::of(WIRE, fields) }
}

/// One message as items for a request's history, separated by commas; empty if nothing of it can go there.
pub fn encode_message(message: &Message) -> String {
    Writer { kept: Kept::Signed, ids: true, items: Vec::new(), open: None, message }.write().join(",")
}

/// Returns whether reasoning is the last that goes out of a model's message.
pub(super) fn ends_with_reasoning(message: &Message) -> bool {
    let is_sent = |block: &&Block| match block {
        Block::Thinking(thinking) => thinking.signature.is_some() && ours(thinking.extra.as_deref()).is_some(),
        Block::Provider(block) => block.wire == WIRE,
        _ => true,
    };
    message.role == Role::Assistant && matches!(message.content.iter().rfind(is_sent), Some(Block::Thinking(_)))
}

/// The message of a model that broke off while it reasoned, without that: the provider refuses reasoning that nothing
/// of the model's follows.
pub(super) fn without_last_reasoning(message: &Message) -> Message {
    let mut message = message.clone();
    while ends_with_reasoning(&message) {
        message.content.pop();
    }
    message
}

/// One message as items of a request that was decoded.
pub fn encode_as_it_came(message: &Message) -> String {
    Writer { kept: Kept::AsItCame, ids: true, items: Vec::new(), open: None, message }.write().join(",")
}

/// One message as the items of an answer: all of it.
pub(super) fn encode_output(message: &Message) -> Vec<String> {
    Writer { kept: Kept::All, ids: true, items: Vec::new(), open: None, message }.write()
}

/// Which reasoning is written.
#[derive(Clone, Copy, PartialEq)]
enum Kept {
    /// What the provider can accept back.
    Signed,
    /// The same, of a request that came so: names and ids stay.
    AsItCame,
    All,
}

struct Writer<'a> {
    kept: Kept,
    /// Whether items keep their ids. An item whose reasoning is missing is refused if its id gives it away.
    ids: bool,
    items: Vec<String>,
    open: Option<OpenItem>,
    message: &'a Message,
}

/// A message item that may get more parts.
struct OpenItem {
    fields: Option<Fields>,
    parts: Vec<String>,
}

impl Writer<'_> {
    fn write(mut self) -> Vec<String> {
        let message = self.message;
        let results_first = message.role != Role::Assistant;
        if results_first {
            message.tool_results().for_each(|result| self.items.push(encode_result(result, self.kept)));
        }
        for block in &message.content {
            match block {
                Block::Text(text) => self.text(text),
                Block::ToolResult(_) if results_first => {}
                Block::ToolResult(result) => self.item(encode_result(result, self.kept)),
                Block::ToolUse(call) => {
                    let item = encode_call(call, self.ids, self.kept);
                    self.item(item);
                }
                Block::Thinking(thinking) => self.thinking(thinking),
                Block::Provider(block) if message.form != Form::Parts => {
                    if block.wire == WIRE {
                        self.item(block.raw.text().to_owned());
                    }
                }
                Block::Image(_) | Block::Document(_) | Block::Provider(_) => {
                    if let Some(part) = part::encode(block, plain_text(message.role)) {
                        self.part(part);
                    }
                }
            }
        }
        if message.content.is_empty() && message.form == Form::Parts {
            self.open = Some(OpenItem { fields: None, parts: Vec::new() });
        }
        self.close();
        self.items
    }

    fn item(&mut self, item: String) {
        self.close();
        self.items.push(item);
    }

    fn part(&mut self, part: String) {
        self.open.get_or_insert_with(|| OpenItem { fields: None, parts: Vec::new() }).parts.push(part);
    }

    fn text(&mut self, text: &Text) {
        let extra = ours(text.extra.as_deref());
        match extra.and_then(|extra| extra.get(ITEM)) {
            Some(item) if item.is_object() => {
                self.close();
                self.open = Some(OpenItem { fields: Some(item.to().unwrap_or_default()), parts: Vec::new() });
            }
            None if self.open.as_ref().is_some_and(|open| open.fields.is_some()) => self.close(),
            Some(_) | None => {}
        }
        let others = |key: &str| -> Vec<Raw> {
            extra.and_then(|extra| extra.get(key)).and_then(|list| list.to().ok()).unwrap_or_default()
        };
        for raw in others(BEFORE) {
            self.part(raw.text().to_owned());
        }
        self.part(part::encode_text(text, plain_text(self.message.role)));
        for raw in others(AFTER) {
            self.part(raw.text().to_owned());
        }
    }

    fn thinking(&mut self, thinking: &Thinking) {
        let extra = ours(thinking.extra.as_deref());
        if self.kept != Kept::All {
            if extra.is_none() {
                // Reasoning of another provider.
                return;
            }
            if thinking.signature.is_none() {
                self.ids = false;
                return;
            }
        }
        let mut item = Object::new();
        item.text("type", "reasoning");
        if extra.is_none() {
            let mut part = Object::new();
            part.text("type", "summary_text");
            part.text("text", &thinking.text);
            item.list("summary", Some(part.end()).filter(|_| !thinking.text.is_empty()));
        }
        if let Some(signature) = &thinking.signature {
            item.text("encrypted_content", signature);
        }
        item.rest(extra, wire_key);
        self.item(item.end());
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let message = self.message;
        let mut item = Object::new();
        if let Some(fields) = &open.fields {
            item.rest(Some(fields), |key| wire_key(key).filter(|key| *key != "content" && (self.ids || *key != "id")));
            item.list("content", &open.parts);
        } else {
            let extra = ours(message.extra.as_deref());
            if extra.is_none() && message.role == Role::Assistant && message.form == Form::Auto {
                item.text("type", "message");
            }
            item.text("role", message.role.name());
            match self.bare_text() {
                Some(text) => item.text("content", text),
                None => item.list("content", &open.parts),
            }
            item.rest(extra, wire_key);
        }
        self.items.push(item.end());
    }

    /// The text of a message that is best written as a bare string.
    fn bare_text(&self) -> Option<&str> {
        let message = self.message;
        let mut parts = message.content.iter().filter(|block| !matches!(block, Block::ToolResult(_)));
        let (Some(Block::Text(text)), None) = (parts.next(), parts.next()) else { return None };
        let bare = match message.form {
            Form::Text => true,
            Form::Parts => false,
            Form::Auto => message.role != Role::Assistant,
        };
        (bare && part::is_plain(text)).then_some(text.text.as_str())
    }
}

/// The longest id of a call that the provider takes back.
const LONGEST_ID: usize = 64;

/// An id as it may stand: in a request as the provider takes it, in an answer as it is.
fn id_in(kept: Kept, id: &str) -> Cow<'_, str> {
    if kept == Kept::Signed { names::legal_id(id, LONGEST_ID) } else { Cow::Borrowed(id) }
}

fn encode_call(call: &ToolUse, ids: bool, kept: Kept) -> String {
    let extra = ours(call.extra.as_deref());
    let mut item = Object::new();
    item.text("type", "function_call");
    if kept == Kept::Signed || extra.is_none_or(|extra| extra.get(NO_ID).is_none()) {
        item.text("call_id", &id_in(kept, &call.id));
    }
    let name = if kept == Kept::Signed { names::legal_name(&call.name) } else { Cow::Borrowed(&*call.name) };
    item.text("name", &name);
    // The arguments may have been changed since: what was written stands only for what it said.
    let written = extra.and_then(|extra| extra.get("arguments")).filter(|written| {
        let same = from_arguments(String::new(), String::new(), written);
        let is_nothing = written.is_null() || written.string().is_some_and(|text| is_empty_arguments(&text));
        !(is_nothing && kept == Kept::Signed) && same.input == call.input && same.invalid == call.invalid
    });
    match written {
        Some(written) => item.raw("arguments", written.text()),
        None => item.text("arguments", call.arguments_text()),
    }
    item.rest(extra, |key| wire_key(key).filter(|key| ids || *key != "id"));
    item.end()
}

fn encode_result(result: &ToolResult, kept: Kept) -> String {
    let mut item = Object::new();
    item.text("type", "function_call_output");
    item.text("call_id", &id_in(kept, &result.id));
    let bare = match (result.form, result.content.as_slice()) {
        (Form::Auto, []) => Some(""),
        (Form::Auto | Form::Text, [Block::Text(text)]) if part::is_plain(text) => Some(text.text.as_str()),
        _ => None,
    };
    if let Some(text) = bare {
        item.text("output", text);
    } else {
        let parts = result.content.iter().filter_map(|block| part::encode(block, INPUT_TEXT));
        item.list("output", parts);
    }
    item.rest(ours(result.extra.as_deref()), wire_key);
    item.end()
}
