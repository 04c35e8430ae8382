//! One message in both directions.
//!
//! A user's message of ours may hold several tool results, media and text; on this wire those are several messages. A
//! decoded message is written back as the JSON it was, whatever form that had.

use std::borrow::Cow;

use loopwright_base::{
    error::{Error, Result},
    json::{Fields, Raw, quote},
    message::{
        Block, Extra, Form, Media, MediaSource, Message, ProviderBlock, Role, Text, Thinking, ToolResult, ToolUse,
    },
};

use super::{
    super::{
        document_text,
        names::{self, legal_name},
        object::{Object, push_list},
    },
    WIRE,
    object::{FIELD, ORIGINAL, REFUSAL, inner, kept, same_json, wire_key},
    own,
    response::WANTED_BACK,
};

/// The message as one or more comma-separated elements of `messages`.
///
/// A user's message with tool results becomes one `tool` message for each and then, if there is more to say or to
/// show, a `user` message. All results of one answer must stand in one message: nothing may come between them.
///
/// Names and ids that servers of this wire would refuse are made legal, and so is a refusal without content.
pub fn encode_message(message: &Message) -> String {
    if refuses_alone(message) {
        return encode_message(&with_spoken_refusal(message));
    }
    if holds_illegal_names(message) { write(&with_legal_names(message)) } else { encode_as_it_came(message) }
}

/// The message as it was decoded, names and ids included.
pub fn encode_as_it_came(message: &Message) -> String {
    if let Some(raw) = own(message.extra.as_deref()).and_then(|fields| fields.get(ORIGINAL))
        && decode(raw).is_ok_and(|again| again == *message)
    {
        return raw.text().to_owned();
    }
    write(message)
}

/// Whether all that a model's message says is that it refuses. Servers that gave it without content want some back.
pub(super) fn refuses_alone(message: &Message) -> bool {
    let is_said = |block: &Block| match block {
        Block::Text(text) => !is_refusal(text),
        Block::Provider(block) => block.wire == WIRE,
        Block::Thinking(_) => false,
        Block::Image(_) | Block::Document(_) | Block::ToolUse(_) | Block::ToolResult(_) => true,
    };
    message.role == Role::Assistant && texts(message).any(is_refusal) && !message.content.iter().any(is_said)
}

/// The message with its refusal as what it says.
fn with_spoken_refusal(message: &Message) -> Message {
    let spoken = |block: &Block| match block {
        Block::Text(text) => Block::text(text.text.as_str()),
        block => block.clone(),
    };
    Message { form: Form::Auto, ..message.with_content(message.content.iter().map(spoken).collect()) }
}

/// The message as a request has it: with [`BETWEEN`] before the words of a user behind results.
pub(super) fn encode_in_request(message: &Message) -> String {
    if says_more_than_results(message) {
        user(&with_legal_names(message), Some(BETWEEN))
    } else {
        encode_message(message)
    }
}

/// Whether a user's message has words or pictures beside results.
pub(super) fn says_more_than_results(message: &Message) -> bool {
    message.role == Role::User && message.tool_results().next().is_some() && !ends_with_result(message)
}

/// The longest id of a call that OpenAI takes back over this wire.
const LONGEST_ID: usize = 40;

fn legal_id(id: &str) -> Cow<'_, str> {
    names::legal_id(id, LONGEST_ID)
}

/// Whether a message has names or ids that servers of this wire would refuse in a request.
pub(super) fn holds_illegal_names(message: &Message) -> bool {
    message.content.iter().any(|block| match block {
        Block::ToolUse(call) => {
            matches!(legal_name(&call.name), Cow::Owned(_)) || matches!(legal_id(&call.id), Cow::Owned(_))
        }
        Block::ToolResult(result) => matches!(legal_id(&result.id), Cow::Owned(_)),
        _ => false,
    })
}

fn with_legal_names(message: &Message) -> Message {
    let mut message = message.clone();
    for block in &mut message.content {
        match block {
            Block::ToolUse(call) => {
                call.name = legal_name(&call.name).into_owned();
                call.id = legal_id(&call.id).into_owned();
            }
            Block::ToolResult(result) => result.id = legal_id(&result.id).into_owned(),
            _ => {}
        }
    }
    message
}

fn write(message: &Message) -> String {
    match message.role {
        Role::User => user(message, None),
        Role::System | Role::Developer => {
            let blocks: Vec<&Block> = message.content.iter().collect();
            spoken(message, &blocks)
        }
        Role::Assistant => {
            let mut object = Object::with_capacity(256);
            object.text("role", "assistant");
            answer(&mut object, message, false);
            object.rest(own(message.extra.as_deref()), wire_key);
            object.end()
        }
    }
}

/// Whether this wire has a form for the message.
pub(super) fn check(message: &Message) -> Result<()> {
    let refuse = |block: &Block| {
        let (role, kind) = (message.role.name(), block.kind());
        let message = format!("Chat Completions takes no {kind} block in a message of {role}");
        Err(Error::usage("unsupported_block", message).hint("put it into a user's message, or say it as text"))
    };
    for block in &message.content {
        match (message.role, block) {
            (_, Block::Text(_) | Block::Thinking(_) | Block::Provider(_)) | (Role::Assistant, Block::ToolUse(_)) => {}
            (Role::User, Block::Image(media)) => check_image(media)?,
            (Role::User, Block::Document(media)) => check_document(media)?,
            (Role::User, Block::ToolResult(result)) => {
                for block in &result.content {
                    match block {
                        Block::Text(_) | Block::Thinking(_) | Block::Provider(_) => {}
                        Block::Image(media) => check_image(media)?,
                        Block::Document(media) => check_document(media)?,
                        Block::ToolUse(_) | Block::ToolResult(_) => return refuse(block),
                    }
                }
            }
            _ => return refuse(block),
        }
    }
    Ok(())
}

fn check_image(media: &Media) -> Result<()> {
    match &media.source {
        MediaSource::Base64 { .. } => Ok(()),
        MediaSource::Url(url) if !url.is_empty() => Ok(()),
        MediaSource::Url(_) => {
            Err(Error::usage("invalid_source", "the image's address is empty").hint("give its address, or its bytes"))
        }
        MediaSource::File(_) | MediaSource::Text { .. } => Err(Error::usage(
            "unsupported_source",
            "Chat Completions takes images inline or at an address, not as a file or text",
        )
        .hint("give the bytes in base64")),
    }
}

fn check_document(media: &Media) -> Result<()> {
    match &media.source {
        MediaSource::File(text) | MediaSource::Url(text) if text.is_empty() => {
            Err(Error::usage("invalid_source", "the document has neither a file id nor an address")
                .hint("give its address, or its bytes"))
        }
        _ => Ok(()),
    }
}

/// Tool results first, then whatever else there is.
fn user(message: &Message, between: Option<&str>) -> String {
    let results = message.tool_results().count();
    if results == 0 {
        let blocks: Vec<&Block> = message.content.iter().collect();
        return spoken(message, &blocks);
    }
    let mut out = String::new();
    let mut labels = Vec::new();
    for result in message.tool_results() {
        if !out.is_empty() {
            out.push(',');
        }
        out.push_str(&tool_message(result));
        if result.content.iter().any(Block::is_media) {
            labels.push((Block::text(format!("Content of the tool result {}:", result.id)), result));
        }
    }
    let mut blocks: Vec<&Block> = Vec::new();
    for (label, result) in &labels {
        blocks.push(label);
        blocks.extend(result.content.iter().filter(|block| block.is_media()));
    }
    blocks.extend(message.content.iter().filter(|block| !matches!(block, Block::ToolResult(_))));
    if blocks.iter().any(|block| is_spoken(block)) {
        out.push(',');
        if let Some(between) = between {
            out.push_str(between);
            out.push(',');
        }
        out.push_str(&spoken(message, &blocks));
    }
    out
}

/// What stands between the results of tools and the words of a user: servers that check the order of roles (Mistral,
/// all who use its tokenizer) refuse a user right behind a tool. It goes by the two messages alone, so prefixes stay.
pub(super) const BETWEEN: &str = r#"{"role":"assistant","content":"I have the results."}"#;

/// Whether nothing of a message can be said here: it was reasoning alone, or that of another provider. Servers refuse a
/// message without content and calls.
pub(super) fn says_nothing(message: &Message) -> bool {
    let is_result = |block: &Block| matches!(block, Block::ToolResult(_));
    if message.role == Role::User {
        let is_silent = !message.content.iter().any(|block| is_spoken(block) || is_result(block));
        return is_silent && own(message.extra.as_deref()).is_none();
    }
    let is_said = |block: &Block| match block {
        Block::Text(text) => !text.text.is_empty(),
        Block::Provider(block) => block.wire == WIRE,
        Block::Thinking(_) => false,
        Block::Image(_) | Block::Document(_) | Block::ToolUse(_) | Block::ToolResult(_) => true,
    };
    // Of its members, those that prove reasoning prove nothing alone; any other may stand for content, as `audio` does.
    let proves = |key: &str| key.starts_with('@') || WANTED_BACK.contains(&key);
    message.role == Role::Assistant
        && !message.content.iter().any(is_said)
        && own(message.extra.as_deref()).is_none_or(|fields| fields.iter().all(|(key, _)| proves(key)))
}

/// Whether what is written of a message ends with a result of a tool.
pub(super) fn ends_with_result(message: &Message) -> bool {
    let says_more = |block: &Block| match block {
        Block::ToolResult(result) => result.content.iter().any(Block::is_media),
        block => is_spoken(block),
    };
    message.role == Role::User && message.tool_results().next().is_some() && !message.content.iter().any(says_more)
}

/// Whether what is written of a message begins with the words of a user.
pub(super) fn begins_with_words(message: &Message) -> bool {
    message.role == Role::User && message.tool_results().next().is_none()
}

/// Whether the block has a form among the parts of a user's message.
fn is_spoken(block: &Block) -> bool {
    match block {
        Block::Text(_) | Block::Image(_) | Block::Document(_) => true,
        Block::Provider(block) => block.wire == WIRE,
        Block::Thinking(_) | Block::ToolUse(_) | Block::ToolResult(_) => false,
    }
}

fn tool_message(result: &ToolResult) -> String {
    let mut object = Object::with_capacity(128);
    object.text("role", "tool");
    object.text("tool_call_id", &result.id);
    // A list without parts is refused.
    let as_parts = result.form == Form::Parts
        && !result.content.iter().any(Block::is_media)
        && result.content.iter().any(is_spoken);
    if as_parts {
        let blocks: Vec<&Block> = result.content.iter().collect();
        parts(object.open("content"), &blocks);
    } else {
        let mut text = result.prose();
        if text.is_empty() && result.content.iter().any(Block::is_media) {
            text.push_str("The content follows in the next message.");
        } else if text.is_empty()
            && let Some(failure) = &result.failure
        {
            text.clone_from(&failure.message);
        }
        object.text("content", &text);
    }
    object.rest(own(result.extra.as_deref()), wire_key);
    object.end()
}

/// A message of a user or of instructions.
fn spoken(message: &Message, blocks: &[&Block]) -> String {
    let mut object = Object::with_capacity(128);
    object.text("role", message.role.name());
    let blocks: Vec<&Block> = blocks.iter().copied().filter(|block| is_spoken(block)).collect();
    let bare = match (message.form, blocks.as_slice()) {
        (Form::Parts, _) => false,
        (_, []) => true,
        (_, [Block::Text(text)]) => own(text.extra.as_deref()).is_none(),
        (form, blocks) => form == Form::Text && blocks.iter().all(|block| matches!(block, Block::Text(_))),
    };
    let content = object.open("content");
    if bare {
        let mut prose = String::new();
        for block in blocks {
            if let Block::Text(text) = block {
                prose.push_str(&text.text);
            }
        }
        quote(content, &prose);
    } else {
        parts(content, &blocks);
    }
    object.rest(own(message.extra.as_deref()), wire_key);
    object.end()
}

/// A list of parts, without blocks that have no form here.
fn parts(out: &mut String, blocks: &[&Block]) {
    let part = |block: &&Block| match block {
        Block::Text(text) => text_part(&text.text, own(text.extra.as_deref())),
        Block::Image(media) => image_part(media),
        Block::Document(media) => document_part(media),
        Block::Provider(block) => block.raw.text().to_owned(),
        Block::Thinking(_) | Block::ToolUse(_) | Block::ToolResult(_) => String::new(),
    };
    push_list(out, blocks.iter().filter(|block| is_spoken(block)).map(part));
}

fn text_part(text: &str, extra: Option<&Fields>) -> String {
    let mut object = Object::with_capacity(text.len() + 40);
    object.text("type", "text");
    object.text("text", text);
    object.rest(extra, wire_key);
    object.end()
}

/// Fields of the part stand in `extra` as they are, those of the inner object under its name.
fn image_part(media: &Media) -> String {
    let extra = own(media.extra.as_deref());
    let mut image = Object::new();
    match &media.source {
        MediaSource::Url(url) => image.text("url", url),
        MediaSource::Base64 { media_type, data } => image.text("url", &data_url(media_type, data)),
        // `check` lets none of these through.
        MediaSource::File(_) | MediaSource::Text { .. } => {}
    }
    image.rest(inner(extra, "image_url").as_ref(), wire_key);
    let mut part = Object::new();
    part.text("type", "image_url");
    part.raw("image_url", &image.end());
    part.rest(extra, wire_key);
    part.end()
}

fn document_part(media: &Media) -> String {
    let extra = own(media.extra.as_deref());
    let mut file = Object::new();
    match &media.source {
        MediaSource::Text { media_type, data } => {
            return text_part(&document_text(media.name.as_deref(), media_type, data), extra);
        }
        MediaSource::File(id) => file.text("file_id", id),
        // Only some servers fetch; the others say so.
        MediaSource::Url(url) => file.text("file_data", url),
        MediaSource::Base64 { media_type, data } => {
            file.text("file_data", &data_url(media_type, data));
            if media.name.is_none() {
                // A file without a name is refused.
                file.text("filename", if media_type == "application/pdf" { "document.pdf" } else { "document" });
            }
        }
    }
    if let Some(name) = &media.name {
        file.text("filename", name);
    }
    file.rest(inner(extra, "file").as_ref(), wire_key);
    let mut part = Object::new();
    part.text("type", "file");
    part.raw("file", &file.end());
    part.rest(extra, wire_key);
    part.end()
}

fn data_url(media_type: &str, data: &str) -> String {
    format!("data:{media_type};base64,{data}")
}

/// Reasoning, content, refusal and tool calls of a model's message. Reasoning without a field of this wire is written
/// only where `all_reasoning` asks for it: in an answer, never in a request.
pub(super) fn answer(object: &mut Object, message: &Message, all_reasoning: bool) {
    for field in ["reasoning", "reasoning_content"] {
        let words: String = message
            .content
            .iter()
            .filter_map(|block| match block {
                Block::Thinking(thinking) => Some(thinking),
                _ => None,
            })
            .filter(|thinking| reasoning_field(thinking, all_reasoning) == Some(field))
            .map(|thinking| thinking.text.as_str())
            .collect();
        if !words.is_empty() {
            object.text(field, &words);
        }
    }
    content(object, message);
    let refusal: String = texts(message).filter(|text| is_refusal(text)).map(|text| text.text.as_str()).collect();
    if !refusal.is_empty() {
        object.text("refusal", &refusal);
    }
    let mut calls = Vec::new();
    for block in &message.content {
        match block {
            Block::ToolUse(call) => calls.push(tool_call(call)),
            Block::Provider(block) if block.wire == WIRE && is_call(block) => calls.push(block.raw.text().to_owned()),
            _ => {}
        }
    }
    if !calls.is_empty() {
        object.list("tool_calls", calls);
    }
}

/// The field in which reasoning stands on this wire, if it may stand there.
pub(super) fn reasoning_field(thinking: &Thinking, all: bool) -> Option<&'static str> {
    match own(thinking.extra.as_deref()).and_then(|fields| fields.get_str(FIELD)).as_deref() {
        Some("reasoning") => Some("reasoning"),
        Some("reasoning_content") => Some("reasoning_content"),
        _ => all.then_some("reasoning_content"),
    }
}

fn texts(message: &Message) -> impl Iterator<Item = &Text> {
    message.content.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text),
        _ => None,
    })
}

/// Whether the text came in the field `refusal`.
pub(super) fn is_refusal(text: &Text) -> bool {
    own(text.extra.as_deref()).is_some_and(|fields| fields.get(REFUSAL).is_some())
}

/// Whether the raw block is an element of `tool_calls` rather than a part: such have an id and a member named as their
/// type.
fn is_call(block: &ProviderBlock) -> bool {
    let fields = Fields::parse(block.raw.text()).unwrap_or_default();
    fields.get("id").is_some() && fields.get_str("type").is_some_and(|kind| fields.get(&kind).is_some())
}

fn content(object: &mut Object, message: &Message) {
    let is_part = |block: &Block| match block {
        Block::Text(text) => !is_refusal(text),
        Block::Provider(block) => block.wire == WIRE && !is_call(block),
        _ => false,
    };
    let has_extra = |block: &Block| match block {
        Block::Text(text) => own(text.extra.as_deref()).is_some(),
        block => matches!(block, Block::Provider(_)),
    };
    let mut blocks = message.content.iter().filter(|block| is_part(block)).peekable();
    if blocks.peek().is_none() {
        // Nothing said is `null` beside tool calls or a refusal, and must be a string where it is all there is.
        let silent = message.content.iter().any(|block| match block {
            Block::ToolUse(_) => true,
            Block::Text(text) => is_refusal(text),
            Block::Provider(block) => block.wire == WIRE,
            _ => false,
        });
        object.raw("content", if silent { "null" } else { "\"\"" });
        return;
    }
    let blocks: Vec<&Block> = blocks.collect();
    if message.form == Form::Parts || blocks.iter().any(|block| has_extra(block)) {
        parts(object.open("content"), &blocks);
    } else {
        // Models that mark citations write their prose in several blocks; servers of this wire want one string.
        let prose: String = texts(message).filter(|text| !is_refusal(text)).map(|text| text.text.as_str()).collect();
        object.text("content", &prose);
    }
}

fn tool_call(call: &ToolUse) -> String {
    let extra = own(call.extra.as_deref());
    let arguments = call.arguments_text();
    let mut function = Object::with_capacity(arguments.len() + call.name.len() + 48);
    function.text("name", &call.name);
    function.text("arguments", arguments);
    function.rest(inner(extra, "function").as_ref(), wire_key);
    let function = function.end();
    let mut object = Object::with_capacity(function.len() + call.id.len() + 48);
    object.text("id", &call.id);
    object.text("type", "function");
    object.raw("function", &function);
    object.rest(extra, wire_key);
    object.end()
}

/// One element of `messages`.
pub(super) fn decode(raw: &Raw) -> Result<Message> {
    let mut message = read(raw)?;
    if !same_json(&write(&message), raw.text()) {
        let mut fields = message.extra.take().map(|extra| extra.fields).unwrap_or_default();
        fields.set(ORIGINAL, raw.clone());
        message.extra = Extra::of(WIRE, fields);
    }
    Ok(message)
}

/// A message that was kept as it came and would be refused so, as it is taken; and what was wrong.
pub fn mended(message: &Message) -> Option<(Message, Vec<&'static str>)> {
    let extra = own(message.extra.as_deref())?;
    let raw = match extra.get(ORIGINAL) {
        Some(raw) => raw.clone(),
        None if extra.get("tool_calls").is_some() || extra.get("tool_call_id").is_some() => {
            Raw::parse(write(message)).ok()?
        }
        None => return None,
    };
    let mut fields = Fields::parse(raw.text()).ok()?;
    let role = fields.get_str("role")?;
    let mut said = Vec::new();
    let content = fields.get("content");
    if role == "tool" && content.is_none_or(|content| content.is_null() || content.is_empty_array()) {
        fields.put("content", "");
        said.push("its content is nothing, which the provider would refuse; it is empty text now");
    } else if role == "assistant" && content.is_some_and(Raw::is_empty_array) && !message.content.is_empty() {
        fields.set("content", Raw::null());
        said.push("its content is an empty list, which the provider would refuse; it is null now");
    }
    if role != "tool" && fields.take("tool_call_id").is_some() {
        said.push("it has a tool_call_id, which only a tool's message may have; it has none now");
    }
    let calls = fields.get("tool_calls").filter(|_| role != "tool");
    if calls.is_some_and(Raw::is_null) {
        fields.take("tool_calls");
        said.push("its tool_calls are null, which the provider would refuse; it has none now");
    } else if calls.is_some_and(Raw::is_empty_array) {
        fields.take("tool_calls");
        said.push("its tool_calls are an empty list, which the provider would refuse; it has none now");
    } else if let Some(calls) = calls.filter(|_| role == "assistant").and_then(|calls| calls.to::<Vec<Raw>>().ok()) {
        let mended: Vec<Option<Raw>> = calls.iter().map(mended_call).collect();
        if mended.iter().any(Option::is_some) {
            let calls = calls.into_iter().zip(mended).map(|(call, mended)| mended.unwrap_or(call));
            fields.put("tool_calls", &calls.collect::<Vec<Raw>>());
            said.push(
                "a tool use of it lacks its type, or arguments as text, without which the provider would refuse it; it has them now",
            );
        }
    }
    if said.is_empty() {
        return None;
    }
    decode(&fields.to_raw()).ok().map(|message| (message, said))
}

/// Whether a model's message says something in a member that only this wire has, beside content and tool uses: audio of
/// an answer, or a call of the kind that was before tools.
pub fn says_beside(message: &Message) -> bool {
    let says = |fields: &Fields| {
        ["audio", "function_call"].iter().any(|name| fields.get(name).is_some_and(|value| !value.is_null()))
    };
    message.role == Role::Assistant && own(message.extra.as_deref()).is_some_and(says)
}

/// A call of a function that lacks what every such call has, with it.
fn mended_call(raw: &Raw) -> Option<Raw> {
    let mut fields = Fields::parse(raw.text()).ok()?;
    let mut function = Fields::parse(fields.get("function")?.text()).ok()?;
    let typed = fields.get_str("type").is_some();
    let arguments = match function.get("arguments") {
        None => Some("{}".to_owned()),
        Some(raw) if raw.is_null() => Some("{}".to_owned()),
        Some(raw) if raw.string().is_none() => Some(raw.text().to_owned()),
        Some(_) => None,
    };
    if typed && arguments.is_none() {
        return None;
    }
    if !typed {
        fields.put("type", "function");
    }
    if let Some(arguments) = arguments {
        function.put("arguments", &arguments);
        fields.set("function", function.to_raw());
    }
    Some(fields.to_raw())
}

fn read(raw: &Raw) -> Result<Message> {
    let mut fields = Fields::parse(raw.text()).map_err(|error| {
        Error::usage("invalid_message", format!("a message must be an object: {error}"))
            .hint("give a JSON object with role and content")
    })?;
    let role = fields.take_str("role").ok_or_else(|| {
        Error::usage("invalid_message", "a message has no role").hint("give it one: system, user, assistant or tool")
    })?;
    if role == "tool" {
        return Ok(read_tool(fields));
    }
    let role = Role::named(&role).ok_or_else(|| {
        Error::usage("unknown_role", format!("a message has the unknown role {role:?}"))
            .hint("roles are system, developer, user, assistant and tool")
    })?;
    let mut message = Message::new(role, Vec::new());
    let assistant = role == Role::Assistant;
    if assistant && let Some(thinking) = take_reasoning(&mut fields) {
        message.content.push(Block::Thinking(thinking));
    }
    if let Some(content) = fields.take("content") {
        (message.form, message.content) = {
            let (form, mut blocks) = read_content(&content, role == Role::User);
            message.content.append(&mut blocks);
            (form, message.content)
        };
    }
    if assistant {
        if let Some(refusal) = fields.take_str("refusal") {
            message.content.push(Block::Text(refusal_text(refusal)));
        }
        if let Some(calls) = fields.take_as::<Vec<Raw>>("tool_calls") {
            message.content.extend(calls.iter().map(read_call));
        }
    }
    message.extra = Extra::of(WIRE, kept(&fields));
    Ok(message)
}

fn take_reasoning(fields: &mut Fields) -> Option<Thinking> {
    ["reasoning", "reasoning_content"].into_iter().find_map(|field| {
        let text = fields.get_str(field).filter(|text| !text.is_empty())?;
        fields.take(field);
        Some(thinking(text, field))
    })
}

/// Reasoning as the member `field` of a message has it.
pub fn thinking(text: String, field: &str) -> Thinking {
    let mut note = Fields::new();
    note.put(FIELD, field);
    Thinking { text, signature: None, redacted: None, extra: Extra::of(WIRE, note) }
}

/// Text that came in the field `refusal`.
pub(super) fn refusal_text(text: String) -> Text {
    let mut note = Fields::new();
    note.put(REFUSAL, &true);
    Text { text, extra: Extra::of(WIRE, note) }
}

/// A tool's message; its fields beyond text and id belong to the result.
fn read_tool(mut fields: Fields) -> Message {
    let id = fields.take_str("tool_call_id").unwrap_or_default();
    let (form, content) = match fields.take("content") {
        // Of no parts the wire wants empty text: what came as an empty list is kept as it came.
        Some(content) if content.is_empty_array() => (Form::Auto, Vec::new()),
        Some(content) => read_content(&content, true),
        None => (Form::Auto, Vec::new()),
    };
    let result = ToolResult {
        id,
        name: fields.get_str("name").unwrap_or_default(),
        content,
        form,
        is_error: false,
        failure: None,
        extra: Extra::of(WIRE, kept(&fields)),
    };
    Message::new(Role::User, vec![Block::ToolResult(result)])
}

/// A bare string, or parts. Only users show pictures and documents; with others such parts stay as they are.
pub(super) fn read_content(content: &Raw, media: bool) -> (Form, Vec<Block>) {
    if let Some(text) = content.string() {
        let blocks = if text.is_empty() { Vec::new() } else { vec![Block::text(text)] };
        return (Form::Auto, blocks);
    }
    let Ok(parts) = content.to::<Vec<Raw>>() else { return (Form::Auto, Vec::new()) };
    let blocks = parts
        .into_iter()
        .map(|part| read_part(&part, media).unwrap_or(Block::Provider(ProviderBlock { wire: WIRE, raw: part })));
    (Form::Parts, blocks.collect())
}

/// A part that the common shape can hold.
fn read_part(part: &Raw, media: bool) -> Option<Block> {
    let mut fields = Fields::parse(part.text()).ok()?;
    let kind = fields.take_str("type")?;
    match kind.as_str() {
        "text" => {
            let text = fields.take_str("text")?;
            Some(Block::Text(Text { text, extra: Extra::of(WIRE, kept(&fields)) }))
        }
        "image_url" if media => {
            let mut image = Fields::parse(fields.take("image_url")?.text()).ok()?;
            let url = image.take_str("url")?;
            let source = split_data_url(&url).unwrap_or(MediaSource::Url(url));
            Some(Block::Image(Media { source, name: None, extra: nested(&fields, "image_url", &image) }))
        }
        "file" if media => {
            let mut file = Fields::parse(fields.take("file")?.text()).ok()?;
            let name = file.take_str("filename");
            let source = match (file.take_str("file_id"), file.take_str("file_data")) {
                (Some(id), None) => MediaSource::File(id),
                (None, Some(data)) => split_data_url(&data).unwrap_or(MediaSource::Url(data)),
                _ => return None,
            };
            Some(Block::Document(Media { source, name, extra: nested(&fields, "file", &file) }))
        }
        _ => None,
    }
}

/// Fields of a part and, under `key`, those of its inner object.
fn nested(outer: &Fields, key: &str, rest: &Fields) -> Option<Box<Extra>> {
    let mut fields = kept(outer);
    if !rest.is_empty() {
        fields.set(key, kept(rest).to_raw());
    }
    Extra::of(WIRE, fields)
}

fn split_data_url(url: &str) -> Option<MediaSource> {
    let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some(MediaSource::Base64 { media_type: media_type.to_owned(), data: data.to_owned() })
}

/// An element of a request's `tool_calls`.
fn read_call(raw: &Raw) -> Block {
    fn function(raw: &Raw) -> Option<ToolUse> {
        let mut fields = Fields::parse(raw.text()).ok()?;
        let mut function = Fields::parse(fields.take("function")?.text()).ok()?;
        let arguments = match function.take("arguments") {
            None => String::new(),
            Some(raw) => raw.string().unwrap_or_else(|| raw.text().to_owned()),
        };
        let id = fields.take_str("id").unwrap_or_default();
        let mut call = ToolUse::from_text(id, function.take_str("name").unwrap_or_default(), arguments);
        fields.take("type");
        call.extra = nested(&fields, "function", &function);
        Some(call)
    }
    function(raw).map_or_else(|| Block::Provider(ProviderBlock { wire: WIRE, raw: raw.clone() }), Block::ToolUse)
}
