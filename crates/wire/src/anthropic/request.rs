//! Requests, both ways.
//!
//! The history is never taken apart to be written: each message remembers its text, and the body is one concatenation
//! with `messages` last, so the bytes of a prompt's prefix stay the same while the history grows.

use std::borrow::Cow;

use super::{
    NOTE,
    block::{content, decode_message, encode_in_request, ended_with_space, is_foreign_system, take_content},
    marks::{MARK, mark},
    note, own, wire_key,
};
use crate::{
    numbers::{number, take_number},
    object::Object,
};
use loopwright_base::{
    error::{Error, Result},
    json::{Fields, Raw},
    message::{Extra, Message, Role, Wire},
    request::{Caching, Effort, FunctionTool, OutputSchema, Request, Tool, ToolChoice, WebSearch},
};
use loopwright_models::profile::BodyRules;

/// The wire insists on a limit; this is ours where none was asked for.
const MAX_TOKENS: u64 = 16_000;

/// The member that says which version a body is of, where no header does.
const VERSION: &str = "anthropic_version";
const WEB_SEARCH: &str = "web_search_20250305";

/// The body of a request to `/v1/messages`.
///
/// Instructions that stand first in the history and did not come from this wire join the top-level `system`. A
/// parameter of the request that is not set leaves the field of that name among the extra fields as it is.
pub fn encode_request(rules: &BodyRules, request: &Request) -> Result<String> {
    let fields = own(request.extra.as_deref());
    let written = note(fields);
    let extra = |key: &str| fields.and_then(|fields| fields.get(key));
    let is_addressed = rules.model_in_address || (request.model.is_empty() && extra(VERSION).is_some());
    if request.model.is_empty() && !is_addressed {
        return Err(Error::usage("missing_model", "the request names no model").hint("set the model's name"));
    }
    let entries = request.messages.entries();
    let first = entries.iter().take_while(|entry| is_foreign_system(entry.message())).count();
    // The wire wants at least one message: instructions alone are sent as the user's.
    let (leading, rest) = entries.split_at(if first < entries.len() { first } else { 0 });
    let mut messages: Vec<_> = rest.iter().map(|entry| entry.written(Wire::Anthropic, encode_in_request)).collect();
    if let Some((slot, last)) = messages.last_mut().zip(rest.last().and_then(|last| ended_with_space(last.message()))) {
        *slot = Cow::Owned(encode_in_request(&last));
    }

    let mut body = Object::with_capacity(messages.iter().map(|text| text.len() + 1).sum::<usize>() + 4096);
    for (key, value) in rules.fixed.iter().filter(|(key, _)| extra(key).is_none()) {
        body.member(key, Raw::of(value).text());
    }
    if !is_addressed {
        body.text("model", &request.model);
    }
    match request.max_tokens {
        Some(limit) => body.raw("max_tokens", &limit.to_string()),
        None if extra("max_tokens").is_some() || written.get("max_tokens").is_some() => {}
        None => body.raw("max_tokens", &MAX_TOKENS.to_string()),
    }
    let system: Vec<&Message> =
        request.system.as_deref().into_iter().chain(leading.iter().map(|entry| &**entry.message())).collect();
    if let Some(system) = content(&system) {
        body.raw("system", &system);
    }
    let tools: Vec<String> = request.tools.iter().filter_map(encode_tool).collect();
    if !tools.is_empty() {
        body.list("tools", &tools);
    }
    if let Some(choice) = encode_tool_choice(request, !tools.is_empty()) {
        body.raw("tool_choice", &choice);
    }
    for (key, value) in [("temperature", request.temperature), ("top_p", request.top_p)] {
        if let Some(value) = value {
            body.raw(key, &number(key, value, &written)?);
        }
    }
    if !request.stop.is_empty() {
        body.raw("stop_sequences", Raw::of(&request.stop).text());
    }
    if let Some(config) = output_config(request, extra("output_config")) {
        body.raw("output_config", &config);
    }
    if !request.cache.is_off() && extra(MARK).is_none_or(|raw| !raw.is_object()) {
        body.raw(MARK, mark(request.cache == Caching::Hour));
    }
    if let Some(stream) = request.stream {
        body.raw("stream", if stream { "true" } else { "false" });
    }
    body.rest(fields, |key| wire_key(key).filter(|key| *key != "messages"));
    body.list("messages", &messages);
    Ok(body.end())
}

/// A body that was sent to `/v1/messages` or `/v1/messages/count_tokens`.
pub fn decode_request(body: &str) -> Result<Request> {
    let mut fields = Fields::parse(body).map_err(|error| invalid(format!("the request is no JSON object: {error}")))?;
    let model = take_model(&mut fields)?;
    let messages: Vec<Raw> =
        fields.take_as("messages").ok_or_else(|| invalid("the request has no list of `messages`"))?;
    let messages = messages
        .iter()
        .enumerate()
        .map(|(at, raw)| decode_message(raw).map_err(|what| invalid(format!("messages[{at}] {what}"))))
        .collect::<Result<_>>()?;
    let mut written = Fields::new();
    let max_tokens = fields.take_as("max_tokens");
    if max_tokens.is_none() && fields.get("max_tokens").is_none() {
        written.put("max_tokens", "absent");
    }
    let (content, form) = take_content(&mut fields, "system");
    let system = (!content.is_empty()).then(|| Message { form, ..Message::new(Role::System, content) }.into());
    let tools: Option<Vec<Raw>> = fields.get("tools").and_then(|raw| raw.to().ok());
    let tools: Vec<Tool> = tools.unwrap_or_default().iter().map(decode_tool).collect();
    if !tools.is_empty() {
        fields.take("tools");
    }
    let choice = fields.get("tool_choice").and_then(decode_tool_choice);
    if choice.is_some() {
        fields.take("tool_choice");
    }
    let (tool_choice, parallel_tool_calls) = choice.unzip();
    let temperature = take_number(&mut fields, "temperature", &mut written);
    let top_p = take_number(&mut fields, "top_p", &mut written);
    let stop: Vec<String> = fields.get("stop_sequences").and_then(|raw| raw.to().ok()).unwrap_or_default();
    if !stop.is_empty() {
        fields.take("stop_sequences");
    }
    let (effort, output) = take_output_config(&mut fields);
    let mut marked = |hour: bool| serde_json::from_str(mark(hour)).is_ok_and(|mark| fields.take_if(MARK, &mark));
    let cache = match (marked(false), marked(true)) {
        (true, _) => Caching::Usual,
        (_, true) => Caching::Hour,
        _ => Caching::Off,
    };
    let stream = fields.take_as("stream");
    if !written.is_empty() {
        fields.set(NOTE, written.to_raw());
    }
    Ok(Request {
        tool_format: None,
        read_markup: false,
        model,
        system,
        messages,
        tools: tools.into(),
        tool_choice,
        parallel_tool_calls: parallel_tool_calls.flatten(),
        max_tokens,
        temperature,
        top_p,
        stop,
        effort,
        output,
        cache,
        stream,
        extra: Extra::of(Wire::Anthropic, fields),
    })
}

/// Takes the name of the model. Clouds have it in the address, and the version of the wire in the body.
fn take_model(fields: &mut Fields) -> Result<String> {
    let is_addressed = fields.get("model").is_none() && fields.get(VERSION).is_some();
    let model = fields.take_str("model").or_else(|| is_addressed.then(String::new));
    model.ok_or_else(|| invalid("the request has no `model`"))
}

fn invalid(message: impl Into<String>) -> Error {
    Error::usage("invalid_request", message).hint("mend the request at that place")
}

fn encode_tool(tool: &Tool) -> Option<String> {
    match tool {
        Tool::Provider { wire, raw } => (*wire == Wire::Anthropic).then(|| raw.text().to_owned()),
        Tool::Function(tool) => {
            let mut object = Object::new();
            object.text("name", &tool.name);
            if let Some(description) = &tool.description {
                object.text("description", description);
            }
            object.raw("input_schema", tool.schema.text());
            if let Some(strict) = tool.strict {
                object.raw("strict", if strict { "true" } else { "false" });
            }
            object.rest(own(tool.extra.as_deref()), wire_key);
            Some(object.end())
        }
        Tool::WebSearch(search) => {
            let mut object = Object::new();
            object.text("type", WEB_SEARCH);
            object.text("name", "web_search");
            if let Some(uses) = search.max_uses {
                object.raw("max_uses", &uses.to_string());
            }
            for (key, domains) in
                [("allowed_domains", &search.allowed_domains), ("blocked_domains", &search.blocked_domains)]
            {
                if !domains.is_empty() {
                    object.raw(key, Raw::of(domains).text());
                }
            }
            Some(object.end())
        }
    }
}

fn decode_tool(raw: &Raw) -> Tool {
    function_tool(raw)
        .map(Tool::Function)
        .or_else(|| web_search(raw).map(Tool::WebSearch))
        .unwrap_or_else(|| Tool::Provider { wire: Wire::Anthropic, raw: raw.clone() })
}

fn function_tool(raw: &Raw) -> Option<FunctionTool> {
    let mut fields = Fields::parse(raw.text()).ok()?;
    // The type `custom` may be written or not; it stays as it was.
    if fields.get("type").is_some_and(|kind| kind.string().as_deref() != Some("custom")) {
        return None;
    }
    Some(FunctionTool {
        name: fields.take_str("name")?,
        schema: fields.take("input_schema")?,
        description: fields.take_str("description"),
        strict: fields.take_as("strict"),
        extra: Extra::of(Wire::Anthropic, fields),
    })
}

/// Web search with nothing but what our own shape can hold.
fn web_search(raw: &Raw) -> Option<WebSearch> {
    let mut fields = Fields::parse(raw.text()).ok()?;
    if fields.take_str("type")? != WEB_SEARCH || fields.take_str("name")? != "web_search" {
        return None;
    }
    let max_uses = fields.take_as("max_uses");
    let mut domains = |key| fields.take_as(key).filter(|domains: &Vec<String>| !domains.is_empty());
    let (allowed, blocked) = (domains("allowed_domains"), domains("blocked_domains"));
    let search = WebSearch {
        max_uses,
        allowed_domains: allowed.unwrap_or_default(),
        blocked_domains: blocked.unwrap_or_default(),
    };
    let same = encode_tool(&Tool::WebSearch(search.clone())).and_then(|text| Fields::parse(&text).ok())?;
    // An empty list was taken above but would not be written.
    (fields.is_empty() && same.len() == Fields::parse(raw.text()).ok()?.len()).then_some(search)
}

fn encode_tool_choice(request: &Request, tools: bool) -> Option<String> {
    let choice = match &request.tool_choice {
        Some(choice) => choice,
        // Several uses in one answer are what the wire does unless told.
        None if tools && request.parallel_tool_calls == Some(false) && !has_raw_choice(request) => &ToolChoice::Auto,
        None => return None,
    };
    let mut object = Object::new();
    match choice {
        ToolChoice::Auto => object.text("type", "auto"),
        ToolChoice::None => object.text("type", "none"),
        ToolChoice::Any => object.text("type", "any"),
        ToolChoice::Tool(name) => {
            object.text("type", "tool");
            object.text("name", name);
        }
    }
    // The wire refuses the switch where no tool may be used.
    if let Some(parallel) = request.parallel_tool_calls.filter(|_| *choice != ToolChoice::None) {
        object.raw("disable_parallel_tool_use", if parallel { "false" } else { "true" });
    }
    Some(object.end())
}

fn has_raw_choice(request: &Request) -> bool {
    own(request.extra.as_deref()).is_some_and(|fields| fields.get("tool_choice").is_some())
}

fn decode_tool_choice(raw: &Raw) -> Option<(ToolChoice, Option<bool>)> {
    let mut fields = Fields::parse(raw.text()).ok()?;
    let choice = match fields.take_str("type")?.as_str() {
        "auto" => ToolChoice::Auto,
        "any" => ToolChoice::Any,
        "none" => ToolChoice::None,
        "tool" => ToolChoice::Tool(fields.take_str("name")?),
        _ => return None,
    };
    let disabled: Option<bool> =
        if choice == ToolChoice::None { None } else { fields.take_as("disable_parallel_tool_use") };
    fields.is_empty().then_some((choice, disabled.map(|disabled| !disabled)))
}

fn output_config(request: &Request, extra: Option<&Raw>) -> Option<String> {
    if request.effort.is_none() && request.output.is_none() {
        return None;
    }
    let mut config = Object::new();
    if let Some(effort) = request.effort {
        config.text("effort", effort.name());
    }
    if let Some(output) = &request.output {
        let mut format = Object::new();
        format.text("type", "json_schema");
        format.raw("schema", output.schema.text());
        config.raw("format", &format.end());
    }
    config.rest(extra.and_then(|raw| Fields::parse(raw.text()).ok()).as_ref(), wire_key);
    Some(config.end())
}

/// Takes what our own shape can hold and leaves the rest.
fn take_output_config(fields: &mut Fields) -> (Option<Effort>, Option<OutputSchema>) {
    let Some(mut config) = fields.get("output_config").and_then(|raw| Fields::parse(raw.text()).ok()) else {
        return (None, None);
    };
    let effort = [Effort::Low, Effort::Medium, Effort::High]
        .into_iter()
        .find(|effort| config.get_str("effort").as_deref() == Some(effort.name()));
    if effort.is_some() {
        config.take("effort");
    }
    let output = config.get("format").and_then(output_schema);
    if output.is_some() {
        config.take("format");
    }
    if effort.is_some() || output.is_some() {
        if config.is_empty() {
            fields.take("output_config");
        } else {
            fields.set("output_config", config.to_raw());
        }
    }
    (effort, output)
}

fn output_schema(raw: &Raw) -> Option<OutputSchema> {
    let mut format = Fields::parse(raw.text()).ok()?;
    if format.take_str("type")? != "json_schema" {
        return None;
    }
    let schema = format.take("schema")?;
    // The wire has no name for a schema; other wires insist on one.
    format.is_empty().then(|| OutputSchema { name: "output".into(), schema, strict: None, description: None })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use loopwright_base::message::Form;

    #[test]
    fn w30_an_answer_that_is_gone_on_with_ends_without_white_space() {
        let said = Message::assistant("First. \n");
        let content = |messages: &[&Message]| {
            let messages = messages.iter().map(|message| (*message).clone()).collect();
            let request = Request { model: "m".into(), messages, ..Request::default() };
            let body = encode_request(&BodyRules::default(), &request).unwrap();
            let body: serde_json::Value = serde_json::from_str(&body).unwrap();
            body["messages"][1]["content"].clone()
        };
        let user = Message::user("go");
        assert_eq!(content(&[&user, &said]), "First.");
        assert_eq!(content(&[&user, &said, &user]), "First. \n", "in the middle it stays");
        let came = Message { form: Form::Text, ..said.clone() };
        assert_eq!(content(&[&user, &came]), "First. \n", "what came so stays");
    }
}
