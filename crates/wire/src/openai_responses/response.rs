//! Whole answers, read and written.
//!
//! The items of the output become the blocks of one message; everything else that the answer says about itself stays
//! among the extra fields, so that it is written again as it was.

use serde_json::json;

use super::{EXACT, LIST, WIRE, failure_of, is_mark, item, ours, part::REFUSAL, wire_key};
use crate::{counts::Counts, invalid, object::Object};
use loopwright_base::{
    error::{Failure, FailureKind, Result},
    json::{Fields, Raw},
    message::{Block, Extra, Message, Role, StopReason, Usage},
    request::Response,
};

/// A whole answer as our own types.
pub fn decode_response(body: &str) -> Result<Response, Failure> {
    let fields = Fields::parse(body).map_err(|error| invalid(format!("the answer is no JSON object: {error}")))?;
    decode_fields(fields)
}

/// A whole answer from its members.
pub(super) fn decode_fields(mut fields: Fields) -> Result<Response, Failure> {
    if let Some((key, _)) = fields.iter().find(|(key, _)| is_mark(key)) {
        return Err(invalid(format!("the answer has an unknown field {key:?}")));
    }
    let status = fields.get_str("status");
    let error: Option<Fields> = fields.get("error").filter(|error| error.is_object()).and_then(|error| error.to().ok());
    if status.as_deref() == Some("failed") || error.is_some() {
        return Err(failure_of(&error.unwrap_or_default(), "the model's answer failed"));
    }
    if let Some(error) = fields.get_str("error") {
        return Err(Failure::new(FailureKind::Server, format!("the model's answer failed: {error}")));
    }

    let mut blocks = Vec::new();
    match fields.get("output") {
        Some(output) if output.is_null() => {}
        Some(output) => {
            let items: Vec<Raw> = output.to().map_err(|_| invalid("the `output` of the answer is no list"))?;
            for (n, raw) in items.iter().enumerate() {
                item::decode_output(raw, &mut blocks).map_err(|what| invalid(format!("output[{n}]: {what}")))?;
            }
            fields.take("output");
        }
        // A background answer may come before its output; anything else without output is no answer.
        None if status.is_some() => fields.set(LIST, Raw::null()),
        None => return Err(invalid("the answer has no `output`")),
    }

    let usage = usage(&fields, &blocks);
    let stop = stop_reason(status.as_deref(), &fields, &blocks);
    let mut name = |key: &str| {
        let filled = fields.get_str(key).is_some_and(|name| !name.is_empty());
        if filled { fields.take_str(key).unwrap_or_default() } else { String::new() }
    };
    let (id, model) = (name("id"), name("model"));
    fields.put(EXACT, &true);
    let message = Message::new(Role::Assistant, blocks);
    Ok(Response { id, model, message, stop, usage, extra: Extra::of(WIRE, fields), adapted: Vec::new() })
}

fn is_refusal(block: &Block) -> bool {
    match block {
        Block::Text(text) => {
            ours(text.extra.as_deref()).and_then(|extra| extra.get_str("type")).as_deref() == Some(REFUSAL)
        }
        _ => false,
    }
}

fn stop_reason(status: Option<&str>, fields: &Fields, blocks: &[Block]) -> StopReason {
    match status {
        Some("incomplete") => {
            let details: Option<Fields> = fields.get("incomplete_details").and_then(|details| details.to().ok());
            let reason = details.and_then(|details| details.get_str("reason"));
            match reason.as_deref() {
                Some("max_output_tokens" | "max_tokens") => StopReason::MaxTokens,
                Some("content_filter") => StopReason::ContentFilter,
                Some(other) => StopReason::Other(other.to_owned()),
                None => StopReason::Other("incomplete".to_owned()),
            }
        }
        Some(status @ ("queued" | "in_progress" | "cancelled")) => StopReason::Other(status.to_owned()),
        _ if blocks.iter().any(|block| matches!(block, Block::ToolUse(_))) => StopReason::ToolUse,
        _ if blocks.iter().any(is_refusal) => StopReason::Refusal,
        _ => StopReason::EndTurn,
    }
}

fn usage(fields: &Fields, blocks: &[Block]) -> Usage {
    let usage = fields.get("usage").map_or_else(Counts::default, |usage| Counts::read(usage.text()));
    let (input, output) = (usage.inner("input_tokens_details"), usage.inner("output_tokens_details"));
    let count = |counts: &Counts<'_>, key: &str| counts.count(key).unwrap_or(0);
    Usage {
        input: count(&usage, "input_tokens"),
        output: count(&usage, "output_tokens"),
        cache_read: count(&input, "cached_tokens"),
        cache_write: count(&input, "cache_write_tokens"),
        cache_write_hour: 0,
        reasoning: count(&output, "reasoning_tokens"),
        provider_tool_uses: blocks.iter().filter(|block| is_provider_run(block)).count() as u64,
    }
}

/// Whether the block is a tool that the provider ran (not one which it asks us to run).
fn is_provider_run(block: &Block) -> bool {
    let Block::Provider(block) = block else { return false };
    matches!(
        block.kind().as_str(),
        "web_search_call" | "file_search_call" | "code_interpreter_call" | "image_generation_call" | "mcp_call"
    )
}

/// The answer as the provider would write it.
pub fn encode_response(response: &Response) -> String {
    let (head, items) = encode_parts(response);
    join(&head, items.as_deref())
}

/// The answer apart: all members but `output`, and the items of the output. `None` where there is no output.
pub(super) fn encode_parts(response: &Response) -> (Fields, Option<Vec<String>>) {
    let extra = ours(response.extra.as_deref());
    if extra.is_some_and(|extra| extra.get(EXACT).is_some()) {
        return encode_exact(response, extra);
    }
    let mut head = Fields::new();
    head.put("id", if response.id.is_empty() { "resp_0" } else { response.id.as_str() });
    head.put("object", "response");
    head.put("created_at", &0);
    let (status, reason) = match &response.stop {
        StopReason::MaxTokens => ("incomplete", Some("max_output_tokens")),
        StopReason::ContentFilter => ("incomplete", Some("content_filter")),
        StopReason::ContextWindow => ("incomplete", Some("context_window")),
        StopReason::Other(status) if matches!(status.as_str(), "queued" | "in_progress" | "cancelled") => {
            (status.as_str(), None)
        }
        StopReason::Other(reason) => ("incomplete", Some(reason.as_str())),
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::StopSequence
        | StopReason::PauseTurn
        | StopReason::Refusal => ("completed", None),
    };
    head.put("status", status);
    head.set("error", Raw::null());
    head.put("incomplete_details", &reason.map(|reason| json!({"reason": reason})));
    head.set("instructions", Raw::null());
    head.put("model", &response.model);
    head.put("parallel_tool_calls", &true);
    head.put("tool_choice", "auto");
    head.put("tools", &json!([]));
    head.put("metadata", &json!({}));
    let usage = &response.usage;
    head.put(
        "usage",
        &json!({
            "input_tokens": usage.input,
            "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": usage.total(),
        }),
    );
    for (key, value) in extra.into_iter().flat_map(Fields::iter) {
        head.set(key, value.clone());
    }
    (head, Some(complete_items(response)))
}

fn encode_exact(response: &Response, extra: Option<&Fields>) -> (Fields, Option<Vec<String>>) {
    let both = [("id", &response.id), ("model", &response.model)];
    let named = both.into_iter().filter(|(_, name)| !name.is_empty());
    let ours = named.clone().map(|(key, name)| (key.to_owned(), Raw::of(name)));
    let rest = extra.into_iter().flat_map(Fields::iter);
    let rest = rest.filter(|(key, _)| !is_mark(key) && named.clone().all(|(name, _)| name != *key));
    let head: Fields = ours.chain(rest.map(|(key, value)| (key.to_owned(), value.clone()))).collect();
    let absent = extra.is_some_and(|extra| extra.get(LIST).is_some() || extra.get("output").is_some());
    let items = item::encode_output(&response.message);
    (head, (!absent || !items.is_empty()).then_some(items))
}

/// The items of an answer that did not come from this wire, with the fields that clients of it count on.
fn complete_items(response: &Response) -> Vec<String> {
    let mut message = response.message.clone();
    if response.stop == StopReason::Refusal && !message.content.iter().any(is_refusal) {
        let last = message.content.iter_mut().rev().find_map(|block| match block {
            Block::Text(text) => Some(text),
            _ => None,
        });
        if let Some(text) = last {
            let fields = [("type".to_owned(), Raw::of(REFUSAL))].into_iter().collect();
            text.extra = Extra::of(WIRE, fields);
        }
    }
    let suffix = response.id.strip_prefix("resp_").unwrap_or(&response.id);
    let items = item::encode_output(&message).into_iter().enumerate();
    items
        .map(|(n, text)| {
            let Ok(mut item) = Fields::parse(&text) else { return text };
            let kind = item.get_str("type").unwrap_or_default();
            let prefix = match kind.as_str() {
                "message" => "msg",
                "reasoning" => "rs",
                "function_call" => "fc",
                _ => return text,
            };
            if item.get("id").is_none() {
                item.put("id", &format!("{prefix}_{suffix}_{n}"));
            }
            if kind != "reasoning" && item.get("status").is_none() {
                item.put("status", "completed");
            }
            let parts: Option<Vec<Fields>> = item.get("content").and_then(|content| content.to().ok());
            if let Some(mut parts) = parts.filter(|_| kind == "message") {
                for part in &mut parts {
                    if part.get_str("type").as_deref() == Some("output_text") && part.get("annotations").is_none() {
                        part.put("annotations", &json!([]));
                    }
                }
                item.put("content", &parts);
            }
            item.to_raw().text().to_owned()
        })
        .collect()
}

/// The members and the items as one object.
pub(super) fn join(head: &Fields, items: Option<&[String]>) -> String {
    let mut object = Object::new();
    match items {
        Some(items) => {
            object.rest(Some(head), |key| wire_key(key).filter(|key| *key != "output"));
            object.list("output", items);
        }
        None => object.rest(Some(head), wire_key),
    }
    object.end()
}
