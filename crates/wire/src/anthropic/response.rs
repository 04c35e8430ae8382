//! Whole answers, both ways.
//!
//! A stream ends in the same [`assemble`] as a whole answer, so both give the same response. Extra fields hold only
//! what writing would not bring back by itself.

use super::{
    NOTE,
    block::{Place, decode_blocks, fits, give_ids, write_blocks},
    note, own, wire_key,
};
use crate::{excerpt, failure_kind, invalid, object::Object};
use loopwright_base::{
    error::Failure,
    json::{Fields, Raw},
    message::{Block, Extra, Message, Role, StopReason, Usage, Wire},
    request::Response,
};

/// A whole answer to `/v1/messages`.
pub fn decode_response(body: &str) -> Result<Response, Failure> {
    let mut fields =
        Fields::parse(body).map_err(|_| invalid(format!("the answer is no JSON object: {}", excerpt(body))))?;
    if fields.get_str("type").as_deref() == Some("error") {
        return Err(failure(&fields));
    }
    let content = fields
        .take("content")
        .and_then(|raw| decode_blocks(&raw, Place::Response))
        .ok_or_else(|| invalid(format!("the answer has no list `content`: {}", excerpt(body))))?;
    Ok(assemble(fields, content))
}

/// The answer as `/v1/messages` would write it.
pub fn encode_response(response: &Response) -> String {
    let mut object = Object::new();
    let blocks = response.message.content.iter().filter(|block| fits(block, Place::Response));
    for (key, value) in head(response) {
        object.raw(key, value.text());
    }
    write_blocks(object.open("content"), blocks, Place::Response);
    for (key, value) in tail(response) {
        object.raw(key, value.text());
    }
    object.rest(own(response.extra.as_deref()), wire_key);
    object.end()
}

/// An error object that came with status 200: as an event of a stream, or in place of an answer.
pub(super) fn failure(fields: &Fields) -> Failure {
    let error = fields.get("error").and_then(|raw| Fields::parse(raw.text()).ok()).unwrap_or_default();
    let code = error.get_str("type").unwrap_or_default();
    let words = error.get_str("message").unwrap_or_else(|| "no details given".into());
    let message = format!("the provider broke off with {}: {words}", if code.is_empty() { "an error" } else { &code });
    Failure { request_id: fields.get_str("request_id"), ..Failure::new(failure_kind(200, &code, &words), message) }
}

/// The response of the answer's fields (all but `content`) and its content.
pub(super) fn assemble(mut fields: Fields, mut content: Vec<Block>) -> Response {
    give_ids(&mut content);
    let absent: Vec<&str> = ["id", "type", "role", "model", "stop_reason", "stop_sequence", "usage"]
        .into_iter()
        .filter(|key| fields.get(key).is_none())
        .collect();
    for (key, usual) in [("type", "message"), ("role", "assistant")] {
        if fields.get_str(key).as_deref() == Some(usual) {
            fields.take(key);
        }
    }
    let id = fields.take_str("id").unwrap_or_default();
    let model = fields.take_str("model").unwrap_or_default();
    let stop = match fields.get("stop_reason").and_then(Raw::string).filter(|reason| !reason.is_empty()) {
        Some(reason) => {
            fields.take("stop_reason");
            stop_reason(reason)
        }
        None => StopReason::Other(String::new()),
    };
    for key in ["stop_reason", "stop_sequence"] {
        if fields.get(key).is_some_and(Raw::is_null) {
            fields.take(key);
        }
    }
    let mut usage = Usage::default();
    if let Some(counts) = counts(&fields) {
        usage = read_usage(&counts);
        let counts = counts.to_raw();
        if counts == write_usage(&usage) {
            fields.take("usage");
        } else {
            fields.set("usage", counts);
        }
    }
    if !absent.is_empty() {
        let mut written = Fields::new();
        written.put("absent", &absent);
        fields.set(NOTE, written.to_raw());
    }
    // In one order, whatever the order of the answer or of a stream's events.
    let mut sorted: Vec<(String, Raw)> = fields.iter().map(|(key, value)| (key.to_owned(), value.clone())).collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    let extra = Extra::of(Wire::Anthropic, sorted.into_iter().collect());
    Response { id, model, message: Message::new(Role::Assistant, content), stop, usage, extra, adapted: Vec::new() }
}

fn counts(fields: &Fields) -> Option<Fields> {
    Fields::parse(fields.get("usage")?.text()).ok()
}

/// The usage that the fields of an answer report.
pub(super) fn reported(fields: &Fields) -> Option<Usage> {
    Some(read_usage(&counts(fields)?))
}

/// The fields before the content.
pub(super) fn head(response: &Response) -> Vec<(&'static str, Raw)> {
    let write = Writer::new(response);
    [
        write.field("id", Raw::of(&response.id), response.id.is_empty()),
        write.field("type", Raw::of("message"), true),
        write.field("role", Raw::of("assistant"), true),
        write.field("model", Raw::of(&response.model), response.model.is_empty()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The fields after the content that every answer has.
pub(super) fn tail(response: &Response) -> Vec<(&'static str, Raw)> {
    let write = Writer::new(response);
    let unknown = response.stop == StopReason::Other(String::new());
    let reason = if unknown { Raw::null() } else { Raw::of(stop_name(&response.stop)) };
    let stop = if unknown { write.field("stop_reason", reason, true) } else { Some(("stop_reason", reason)) };
    let counts = write.extra.and_then(|fields| fields.get("usage"));
    let same = counts.is_some_and(|raw| {
        Fields::parse(raw.text()).map_or(response.usage == Usage::default(), |raw| read_usage(&raw) == response.usage)
    });
    let usage = if same || counts.is_none() {
        write.field("usage", write_usage(&response.usage), response.usage == Usage::default())
    } else {
        Some(("usage", write_usage(&response.usage)))
    };
    [stop, write.field("stop_sequence", Raw::null(), true), usage].into_iter().flatten().collect()
}

/// Writes fields as they were, where they were something unusual.
struct Writer<'a> {
    extra: Option<&'a Fields>,
    absent: Vec<String>,
}

impl<'a> Writer<'a> {
    fn new(response: &'a Response) -> Self {
        let extra = own(response.extra.as_deref());
        Self { extra, absent: note(extra).take_as("absent").unwrap_or_default() }
    }

    fn field(&self, key: &'static str, value: Raw, is_default: bool) -> Option<(&'static str, Raw)> {
        if let Some(raw) = self.extra.and_then(|fields| fields.get(key)) {
            return Some((key, raw.clone()));
        }
        let leave_out = is_default && self.absent.iter().any(|absent| absent == key);
        (!leave_out).then_some((key, value))
    }
}

fn stop_reason(name: String) -> StopReason {
    match name.as_str() {
        "end_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "pause_turn" => StopReason::PauseTurn,
        "refusal" => StopReason::Refusal,
        "model_context_window_exceeded" => StopReason::ContextWindow,
        _ => StopReason::Other(name),
    }
}

fn stop_name(stop: &StopReason) -> &str {
    match stop {
        StopReason::EndTurn => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::StopSequence => "stop_sequence",
        StopReason::PauseTurn => "pause_turn",
        // The wire has one word for both.
        StopReason::Refusal | StopReason::ContentFilter => "refusal",
        StopReason::ContextWindow => "model_context_window_exceeded",
        StopReason::Other(name) => name,
    }
}

fn count(fields: &Fields, key: &str) -> u64 {
    fields.get(key).and_then(|raw| raw.to().ok()).unwrap_or_default()
}

fn object(fields: &Fields, key: &str) -> Fields {
    fields.get(key).and_then(|raw| Fields::parse(raw.text()).ok()).unwrap_or_default()
}

/// The member of `cache_creation` that counts what is kept for an hour.
const HOUR: &str = "ephemeral_1h_input_tokens";

/// The wire counts cached tokens apart; our `input` holds them all.
fn read_usage(counts: &Fields) -> Usage {
    let cache_read = count(counts, "cache_read_input_tokens");
    let cache_write = count(counts, "cache_creation_input_tokens");
    let runs = object(counts, "server_tool_use");
    Usage {
        input: count(counts, "input_tokens").saturating_add(cache_read).saturating_add(cache_write),
        output: count(counts, "output_tokens"),
        cache_read,
        cache_write,
        cache_write_hour: count(&object(counts, "cache_creation"), HOUR).min(cache_write),
        reasoning: count(&object(counts, "output_tokens_details"), "thinking_tokens"),
        provider_tool_uses: runs.iter().filter_map(|(_, runs)| runs.to::<u64>().ok()).fold(0, u64::saturating_add),
    }
}

fn write_usage(usage: &Usage) -> Raw {
    let mut counts = Fields::new();
    counts.put("input_tokens", &usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write));
    counts.put("cache_creation_input_tokens", &usage.cache_write);
    counts.put("cache_read_input_tokens", &usage.cache_read);
    counts.put("output_tokens", &usage.output);
    if usage.cache_write_hour > 0 {
        let minutes = usage.cache_write.saturating_sub(usage.cache_write_hour);
        let kept = serde_json::json!({ "ephemeral_5m_input_tokens": minutes, HOUR: usage.cache_write_hour });
        counts.put("cache_creation", &kept);
    }
    if usage.provider_tool_uses > 0 {
        counts.put("server_tool_use", &serde_json::json!({ "web_search_requests": usage.provider_tool_uses }));
    }
    if usage.reasoning > 0 {
        counts.put("output_tokens_details", &serde_json::json!({ "thinking_tokens": usage.reasoning }));
    }
    counts.to_raw()
}
