//! Requests, both ways.
//!
//! The model's name and whether the answer is streamed belong to the address, not to the body. The contents stand last,
//! so the bytes of a prompt's prefix stay the same while the history grows.

use super::{
    WIRE,
    config::{encode_config, take_config},
    content::{TURNS, decode_content, decode_system, is_system, system_instruction},
    own,
    part::CallIds,
    tools::{decode_tools, encode_choice, encode_tools, take_choice},
};
use crate::{
    notes::{NOTE, note, wire_key},
    object::Object,
};
use loopwright_base::{
    error::{Error, Result},
    json::{Fields, Raw},
    message::{Extra, Message},
    request::Request,
};

/// Before the name of a model, where a body names one.
const MODELS: &str = "models/";

/// The body of a request to `models/{model}:generateContent` or `:streamGenerateContent`.
///
/// Instructions that stand first in the history join the system instruction; later ones are sent as the user's. A
/// parameter of the request that is not set leaves the field of that name among the extra fields as it is.
pub fn encode_request(request: &Request) -> Result<String> {
    let fields = own(request.extra.as_deref());
    let written = note(fields);
    let entries = request.messages.entries();
    let first = entries.iter().take_while(|entry| is_system(entry.message())).count();
    // The wire wants at least one content: instructions alone are sent as the user's.
    let (leading, rest) = entries.split_at(if first < entries.len() { first } else { 0 });
    let contents = TURNS.turns(rest);

    let mut body = Object::with_capacity(contents.iter().map(|text| text.len() + 1).sum::<usize>() + 4096);
    if let Some(name) = written.get_str("model") {
        let same = name.strip_prefix(MODELS).unwrap_or(&name) == request.model;
        body.text("model", &if same { name } else { format!("{MODELS}{}", request.model) });
    }
    let system: Vec<&Message> =
        request.system.as_deref().into_iter().chain(leading.iter().map(|entry| &**entry.message())).collect();
    if let Some(system) = system_instruction(&system) {
        body.raw("systemInstruction", &system);
    }
    let tools = encode_tools(&request.tools)?;
    if !tools.is_empty() {
        body.list("tools", &tools);
    }
    if let Some(choice) = &request.tool_choice {
        body.raw("toolConfig", &encode_choice(choice, fields));
    }
    if let Some(config) = encode_config(request, fields, &written)? {
        body.raw("generationConfig", &config);
    }
    body.rest(fields, |key| wire_key(key).filter(|key| *key != "contents"));
    body.list("contents", &contents);
    Ok(body.end())
}

/// A body that was sent to `generateContent` or `streamGenerateContent`. The model's name is not in it, or seldom.
pub fn decode_request(body: &str) -> Result<Request> {
    let mut fields = Fields::parse(body).map_err(|error| invalid(format!("the request is no JSON object: {error}")))?;
    let list: Vec<Raw> = fields.take_as("contents").ok_or_else(|| invalid("the request has no list of `contents`"))?;
    let mut ids = CallIds::of_history();
    let content = |(at, raw): (usize, &Raw)| {
        decode_content(raw, &mut ids).map_err(|what| invalid(format!("contents[{at}] {what}")))
    };
    let messages = list.iter().enumerate().map(content).collect::<Result<_>>()?;
    let mut request = Request { messages, ..Request::default() };
    let mut written = Fields::new();
    if let Some(name) = fields.take_str("model") {
        name.strip_prefix(MODELS).unwrap_or(&name).clone_into(&mut request.model);
        written.put("model", &name);
    }
    if let Some(system) = fields.get("systemInstruction").and_then(decode_system) {
        fields.take("systemInstruction");
        request.system = Some(system.into());
    }
    if let Some(tools) = fields.get("tools").and_then(decode_tools)
        && !tools.is_empty()
    {
        fields.take("tools");
        request.tools = tools.into();
    }
    request.tool_choice = take_choice(&mut fields);
    take_config(&mut fields, &mut request, &mut written);
    if !written.is_empty() {
        fields.set(NOTE, written.to_raw());
    }
    request.extra = Extra::of(WIRE, fields);
    Ok(request)
}

fn invalid(message: impl Into<String>) -> Error {
    Error::usage("invalid_request", message).hint("mend the request at that place")
}
