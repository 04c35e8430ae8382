//! Requests, both ways.
//!
//! The model's name and whether the answer is streamed belong to the address, not to the body. The messages stand last,
//! so the bytes of a prompt's prefix stay the same while the history grows.

use serde_json::json;

use super::{
    CACHE_POINT, HOUR_POINT, WIRE, members_of,
    message::{TURNS, decode, decode_system, is_system, system_blocks},
    own, parsed,
    tools::{NO_TOOLS, encode_config, push_cache_point, take_config},
};
use crate::{
    notes::{NOTE, note, wire_key},
    numbers::{number, take_number},
    object::Object,
};
use loopwright_base::{
    error::{Error, Result},
    json::{Fields, Raw},
    message::{Extra, Message},
    request::{Caching, Effort, OutputSchema, Request},
};
use loopwright_models::quirks::{keeps_for_an_hour, takes_cache_points};

const INFERENCE: &str = "inferenceConfig";
const OUTPUT: &str = "outputConfig";
const EFFORTS: [Effort; 3] = [Effort::Low, Effort::Medium, Effort::High];

/// The body of a request to `model/{model}/converse` or `/converse-stream`. Whether it may have marks of the cache is
/// said by `marks`, and else by the model's name: that of an application's profile says nothing.
///
/// Instructions that stand first in the history join the system's; later ones are sent as the user's. A parameter of
/// the request that is not set leaves the field of that name among the extra fields as it is.
pub fn encode_request(marks: Option<usize>, request: &Request) -> Result<String> {
    let fields = own(request.extra.as_deref());
    let written = note(fields);
    let entries = request.messages.entries();
    let first = entries.iter().take_while(|entry| is_system(entry.message())).count();
    // The wire wants at least one message: instructions alone are sent as the user's.
    let (leading, rest) = entries.split_at(if first < entries.len() { first } else { 0 });
    let mut messages = TURNS.turns(rest);
    let system: Vec<&Message> =
        request.system.as_deref().into_iter().chain(leading.iter().map(|entry| &**entry.message())).collect();
    let mut system = system_blocks(&system);
    let config = encode_config(request, fields, &written)?;
    if !request.cache.is_off()
        && marks.map_or_else(|| takes_cache_points(&request.model), |marks| marks > 0)
        && !has_marks(system.as_deref(), &messages, config.as_deref())
    {
        let hour = request.cache == Caching::Hour && keeps_for_an_hour(&request.model);
        let point = if hour { HOUR_POINT } else { CACHE_POINT };
        if let Some(system) = &mut system {
            push_cache_point(system, point);
        }
        // At the end, and at that of the request before: from a mark back, only some blocks are searched for what was
        // kept, and a round of many calls is longer. Turns alternate, so the answer stands between the two.
        for turn in messages.iter_mut().rev().step_by(2).take(2).filter(|turn| turn.ends_with("]}")) {
            let text = turn.to_mut();
            text.pop();
            push_cache_point(text, point);
            text.push('}');
        }
    }

    let mut body = Object::with_capacity(messages.iter().map(|text| text.len() + 1).sum::<usize>() + 4096);
    if let Some(system) = system {
        body.raw("system", &system);
    }
    if let Some(config) = config {
        body.raw("toolConfig", &config);
    }
    for (key, config) in [(INFERENCE, inference(request, fields, &written)?), (OUTPUT, output(request, fields))] {
        if let Some(config) = config {
            body.raw(key, &config);
        }
    }
    body.rest(fields, |key| wire_key(key).filter(|key| *key != "messages"));
    body.list("messages", &messages);
    Ok(body.end())
}

/// Whether somebody has set marks of the cache already: then all of them are theirs.
fn has_marks(system: Option<&str>, messages: &[impl AsRef<str>], config: Option<&str>) -> bool {
    let mut texts = messages.iter().map(AsRef::as_ref).chain(system).chain(config);
    texts.any(|text| text.contains(CACHE_POINT.trim_end_matches('}')))
}

fn inference(request: &Request, extra: Option<&Fields>, written: &Fields) -> Result<Option<String>> {
    let kept = members_of(extra, INFERENCE);
    let mut config = Object::new();
    if let Some(limit) = request.max_tokens {
        config.raw("maxTokens", &limit.to_string());
    }
    for (key, value) in [("temperature", request.temperature), ("topP", request.top_p)] {
        if let Some(value) = value {
            config.raw(key, &number(key, value, written)?);
        }
    }
    if !request.stop.is_empty() {
        config.raw("stopSequences", Raw::of(&request.stop).text());
    }
    config.rest(Some(&kept), wire_key);
    Ok((!config.is_empty()).then(|| config.end()))
}

/// How the answer shall be: its schema, as a text, and the effort of reasoning.
fn output(request: &Request, extra: Option<&Fields>) -> Option<String> {
    let kept = members_of(extra, OUTPUT);
    let mut config = Object::new();
    if let Some(output) = &request.output {
        config.raw("textFormat", text_format(output).text());
    }
    if let Some(effort) = request.effort {
        config.text("effort", effort.name());
    }
    config.rest(Some(&kept), wire_key);
    (!config.is_empty()).then(|| config.end())
}

fn text_format(output: &OutputSchema) -> Raw {
    let mut schema = json!({"schema": output.schema.text(), "name": output.name});
    if let Some(description) = &output.description {
        schema["description"] = description.as_str().into();
    }
    Raw::of(&json!({"type": "json_schema", "structure": {"jsonSchema": schema}}))
}

/// A body that was sent to `converse` or `converse-stream`.
pub fn decode_request(body: &str) -> Result<Request> {
    let mut fields = Fields::parse(body).map_err(|error| invalid(format!("the request is no JSON object: {error}")))?;
    let list: Vec<Raw> = fields.take_as("messages").ok_or_else(|| invalid("the request has no list of `messages`"))?;
    let message = |(at, raw): (usize, &Raw)| decode(raw).map_err(|what| invalid(format!("messages[{at}] {what}")));
    let messages = list.iter().enumerate().map(message).collect::<Result<_>>()?;
    let mut request = Request { messages, ..Request::default() };
    let mut written = Fields::new();
    if let Some(system) = fields.get("system").and_then(decode_system) {
        fields.take("system");
        request.system = Some(system.into());
    }
    if !take_config(&mut fields, &mut request) {
        written.put(NO_TOOLS, &true);
    }
    take_inference(&mut fields, &mut request, &mut written);
    take_output(&mut fields, &mut request);
    if !written.is_empty() {
        fields.set(NOTE, written.to_raw());
    }
    request.extra = Extra::of(WIRE, fields);
    Ok(request)
}

fn take_inference(fields: &mut Fields, request: &mut Request, written: &mut Fields) {
    let Some(mut config) = fields.get(INFERENCE).and_then(parsed) else { return };
    let members = config.len();
    request.max_tokens = config.take_as("maxTokens");
    request.temperature = take_number(&mut config, "temperature", written);
    request.top_p = take_number(&mut config, "topP", written);
    let stop: Vec<String> = config.get("stopSequences").and_then(|raw| raw.to().ok()).unwrap_or_default();
    if !stop.is_empty() {
        config.take("stopSequences");
        request.stop = stop;
    }
    put_back(fields, INFERENCE, &config, members);
}

fn take_output(fields: &mut Fields, request: &mut Request) {
    let Some(mut config) = fields.get(OUTPUT).and_then(parsed) else { return };
    let members = config.len();
    request.output = config.get("textFormat").and_then(output_schema);
    if request.output.is_some() {
        config.take("textFormat");
    }
    request.effort = EFFORTS.into_iter().find(|effort| config.take_if("effort", &json!(effort.name())));
    put_back(fields, OUTPUT, &config, members);
}

/// Keeps the rest of an object of which something may have been taken.
fn put_back(fields: &mut Fields, key: &str, rest: &Fields, members: usize) {
    if rest.is_empty() && members > 0 {
        fields.take(key);
    } else {
        fields.set(key, rest.to_raw());
    }
}

fn output_schema(raw: &Raw) -> Option<OutputSchema> {
    let structure = members_of(parsed(raw).as_ref(), "structure");
    let format = members_of(Some(&structure), "jsonSchema");
    let schema = Raw::parse(format.get_str("schema")?).ok()?;
    let (name, description) = (format.get_str("name")?, format.get_str("description"));
    let output = OutputSchema { name, schema, strict: None, description };
    // Whatever else stands there has no place in our own shape.
    (text_format(&output).value() == raw.value()).then_some(output)
}

fn invalid(message: impl Into<String>) -> Error {
    Error::usage("invalid_request", message).hint("mend the request at that place")
}
