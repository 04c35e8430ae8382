//! Answers, both ways.
//!
//! A whole answer and the events of a stream are gathered by one reader, so both give the same response. Extra fields
//! hold only what writing would not bring back by itself. An answer names neither itself nor its model.

use super::{
    WIRE,
    block::{BlockPlace, write_blocks},
    members_of,
    message::take_content,
    own, parsed,
};
use crate::{
    excerpt,
    failure::ErrorWords,
    invalid,
    notes::{NOTE, note, wire_key},
    object::Object,
};
use loopwright_base::{
    error::{Failure, FailureKind},
    json::{Fields, Raw},
    message::{Block, Extra, Message, Role, StopReason, Usage},
    request::Response,
};

/// Words for an end at which the model wrote nothing that could be used: sampling again may do.
const FAILED_SAMPLING: [&str; 2] = ["malformed_model_output", "malformed_tool_use"];
/// Members that an answer has, and one that was read may lack.
const STOP: &str = "stopReason";
const USAGE: &str = "usage";
const CONTENT: &str = "content";
const ROLE: &str = "role";

/// A whole answer to `converse`.
pub fn decode_response(body: &str) -> Result<Response, Failure> {
    let mut fields =
        Fields::parse(body).map_err(|_| invalid(format!("the answer is no JSON object: {}", excerpt(body))))?;
    let Some(mut output) = fields.get("output").and_then(parsed) else {
        return Err(match fields.get("message") {
            Some(_) => carried_failure(body),
            None => invalid(format!("the answer has no output: {}", excerpt(body))),
        });
    };
    let mut message = output
        .take("message")
        .as_ref()
        .and_then(parsed)
        .ok_or_else(|| invalid(format!("the answer's output is no message: {}", excerpt(body))))?;
    fields.take("output");
    let content = take_content(&mut message);
    let mut answer = ConverseAnswer { has_content: content.is_some(), message, output, ..ConverseAnswer::default() };
    answer.blocks = content.unwrap_or_default();
    answer.take(&fields)?;
    Ok(answer.response())
}

/// An error that came with status 200: as an event of a stream, or in place of an answer.
pub(super) fn carried_failure(text: &str) -> Failure {
    let said = ErrorWords::read(text);
    let status = said.status;
    let words = if said.code.is_empty() { "an error" } else { &said.code };
    let message = format!("the provider broke off with {words}: {}", said.message);
    Failure { status, ..said.failure(status.unwrap_or(200), message) }
}

/// What has come of an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct ConverseAnswer {
    /// The fields beside the output.
    pub(super) top: Fields,
    /// The fields of the output beside its message.
    pub(super) output: Fields,
    /// The fields of the message beside its content.
    pub(super) message: Fields,
    pub(super) blocks: Vec<Block>,
    pub(super) has_content: bool,
}

impl ConverseAnswer {
    /// Takes fields that stand beside the output.
    pub(super) fn take(&mut self, fields: &Fields) -> Result<(), Failure> {
        for (key, value) in fields.iter() {
            self.top.set(key, value.clone());
        }
        if let Some(word) = self.top.get_str(STOP).filter(|word| FAILED_SAMPLING.contains(&word.as_str())) {
            let what = format!("the model wrote nothing that can be used ({word})");
            let hint = "try again, or offer tools with fewer and simpler parameters";
            return Err(Failure::new(FailureKind::InvalidBody, what).hint(hint));
        }
        Ok(())
    }

    /// Whether the reason why the answer stops has come.
    pub(super) fn is_ended(&self) -> bool {
        self.top.get_str(STOP).is_some_and(|word| !word.is_empty())
    }

    /// The usage, once it has come.
    pub(super) fn usage(&self) -> Option<Usage> {
        self.top.get(USAGE).and_then(parsed).map(|counts| read_usage(&counts))
    }

    /// The response of all that has come.
    pub(super) fn response(mut self) -> Response {
        let mut absent: Vec<&str> = [STOP, USAGE].into_iter().filter(|key| self.top.get(key).is_none()).collect();
        absent.extend((self.message.get(ROLE).is_none()).then_some(ROLE));
        absent.extend((!self.has_content).then_some(CONTENT));
        let usage = self.usage().unwrap_or_default();
        if self.top.get(USAGE).is_some_and(|raw| raw.value() == write_usage(&usage).value()) {
            self.top.take(USAGE);
        }
        let message = Message::new(Role::Assistant, self.blocks);
        let word = self.top.get_str(STOP);
        let stop = stop_reason(word.as_deref(), &message);
        if word.as_deref() == Some(stop_name(&stop)) {
            self.top.take(STOP);
        }
        self.message.take_if(ROLE, &serde_json::json!("assistant"));
        if !self.message.is_empty() {
            self.output.set("message", in_order(&self.message).to_raw());
        }
        if !self.output.is_empty() {
            self.top.set("output", in_order(&self.output).to_raw());
        }
        if !absent.is_empty() {
            self.top.put(NOTE, &serde_json::json!({ "absent": absent }));
        }
        let extra = Extra::of(WIRE, in_order(&self.top));
        let (id, model) = (String::new(), String::new());
        Response { id, model, message, stop, usage, extra, adapted: Vec::new() }
    }
}

/// The members in one order, whatever the order of the answer or of a stream's events.
fn in_order(fields: &Fields) -> Fields {
    let mut members: Vec<(String, Raw)> = fields.iter().map(|(key, value)| (key.to_owned(), value.clone())).collect();
    members.sort_by(|a, b| a.0.cmp(&b.0));
    members.into_iter().collect()
}

fn stop_reason(word: Option<&str>, message: &Message) -> StopReason {
    match word {
        Some("end_turn") => StopReason::EndTurn,
        Some("tool_use") => StopReason::ToolUse,
        None if message.tool_uses().next().is_some() => StopReason::ToolUse,
        Some("max_tokens") => StopReason::MaxTokens,
        Some("stop_sequence") => StopReason::StopSequence,
        word => StopReason::Other(word.unwrap_or_default().to_owned()).understood(),
    }
}

fn stop_name(stop: &StopReason) -> &str {
    match stop {
        StopReason::EndTurn | StopReason::PauseTurn => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::StopSequence => "stop_sequence",
        StopReason::Refusal | StopReason::ContentFilter => "content_filtered",
        StopReason::ContextWindow => "model_context_window_exceeded",
        StopReason::Other(name) => name,
    }
}

/// The wire counts what was read from the cache, and written to it, beside the rest of the prompt.
fn read_usage(counts: &Fields) -> Usage {
    let count = |key: &str| counts.get(key).and_then(|raw| raw.to::<u64>().ok()).unwrap_or_default();
    let (cache_read, cache_write) = (count("cacheReadInputTokens"), count("cacheWriteInputTokens"));
    Usage {
        input: count("inputTokens").saturating_add(cache_read).saturating_add(cache_write),
        output: count("outputTokens"),
        cache_read,
        cache_write,
        cache_write_hour: written_for_an_hour(counts).min(cache_write),
        ..Usage::default()
    }
}

/// The tokens of `cacheDetails` that are kept for an hour.
fn written_for_an_hour(counts: &Fields) -> u64 {
    let details: Vec<Raw> = counts.get(DETAILS).and_then(|raw| raw.to().ok()).unwrap_or_default();
    let details = details.iter().filter_map(|detail| Fields::parse(detail.text()).ok());
    let hours = details.filter(|detail| detail.get_str("ttl").as_deref() == Some("1h"));
    hours.filter_map(|detail| detail.get("inputTokens")?.to::<u64>().ok()).fold(0, u64::saturating_add)
}

/// The member of the counts that lists what was written to the cache by the time for which it is kept.
const DETAILS: &str = "cacheDetails";

fn write_usage(usage: &Usage) -> Raw {
    let mut counts = Fields::new();
    counts.put("inputTokens", &usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write));
    counts.put("outputTokens", &usage.output);
    counts.put("totalTokens", &usage.total());
    for (key, count) in [("cacheReadInputTokens", usage.cache_read), ("cacheWriteInputTokens", usage.cache_write)] {
        if count > 0 {
            counts.put(key, &count);
        }
    }
    if usage.cache_write_hour > 0 {
        counts.put(DETAILS, &serde_json::json!([{ "ttl": "1h", "inputTokens": usage.cache_write_hour }]));
    }
    counts.to_raw()
}

/// The answer as `converse` would write it.
pub fn encode_response(response: &Response) -> String {
    let write = ConverseWriter::new(response);
    let mut object = Object::new();
    let mut output = Object::onto(object.open("output"));
    let mut message = Object::onto(output.open("message"));
    write.role(&mut message);
    message.rest(Some(&write.message()), wire_key);
    if !(write.lacks(CONTENT) && response.message.content.is_empty()) {
        write_blocks(message.open(CONTENT), &response.message.content, BlockPlace::AsItCame);
    }
    output.close(message);
    output.rest(Some(&members_of(write.extra, "output")), wire_key);
    object.close(output);
    write.stop(&mut object);
    write.usage(&mut object);
    object.rest(write.extra, wire_key);
    object.end()
}

/// Writes parts of an answer as they were, where they were something unusual.
pub(super) struct ConverseWriter<'a> {
    response: &'a Response,
    pub(super) extra: Option<&'a Fields>,
    absent: Vec<String>,
}

impl<'a> ConverseWriter<'a> {
    pub(super) fn new(response: &'a Response) -> Self {
        let extra = own(response.extra.as_deref());
        Self { response, extra, absent: note(extra).take_as("absent").unwrap_or_default() }
    }

    fn lacks(&self, key: &str) -> bool {
        self.absent.iter().any(|absent| absent == key)
    }

    fn kept(&self, key: &str) -> Option<&'a Raw> {
        self.extra.and_then(|fields| fields.get(key))
    }

    /// The fields of the message that were kept.
    pub(super) fn message(&self) -> Fields {
        members_of(Some(&members_of(self.extra, "output")), "message")
    }

    pub(super) fn role(&self, object: &mut Object) {
        if !self.lacks(ROLE) && self.message().get(ROLE).is_none() {
            object.text(ROLE, "assistant");
        }
    }

    pub(super) fn stop(&self, object: &mut Object) {
        let stop = &self.response.stop;
        let is_word =
            |raw: &&Raw| raw.string().is_none_or(|word| stop_reason(Some(&word), &self.response.message) == *stop);
        match self.kept(STOP) {
            Some(raw) if is_word(&raw) => object.raw(STOP, raw.text()),
            None if self.lacks(STOP) => {}
            _ => object.text(STOP, stop_name(stop)),
        }
    }

    pub(super) fn usage(&self, object: &mut Object) {
        let usage = &self.response.usage;
        let same = |raw: &&Raw| parsed(raw).map_or_else(Usage::default, |counts| read_usage(&counts)) == *usage;
        match self.kept(USAGE) {
            Some(raw) if same(&raw) => object.raw(USAGE, raw.text()),
            None if self.lacks(USAGE) && *usage == Usage::default() => {}
            _ => object.raw(USAGE, write_usage(usage).text()),
        }
    }
}
