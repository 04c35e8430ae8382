//! Requests, written and read.
//!
//! The body is put together from texts: each message is written once in its life, so that a longer history costs a
//! copy of bytes, and what was sent before stays the same to the byte.

use std::{borrow::Cow, sync::Arc};

use serde_json::json;

use super::{BARE, EXACT, LIST, TEMPERATURE, TOP_P, WIRE, is_mark, is_marked, item, ours, wire_key};
use crate::{names::legal_name, object::Object};
use loopwright_base::{
    error::{Error, Result},
    json::{Fields, Raw},
    message::{Block, Extra, Form, Message, Role},
    request::{Effort, FunctionTool, History, OutputSchema, Request, Tool, ToolChoice, WebSearch},
};

/// The request as the body of `POST /responses`.
pub fn encode_request(request: &Request) -> Result<String> {
    if !request.stop.is_empty() {
        return Err(Error::usage("unsupported", "the OpenAI Responses API has no `stop` sequences")
            .hint("leave `stop` empty, or use the Chat Completions API"));
    }
    let extra = ours(request.extra.as_deref());
    let has = |key: &str| extra.is_some_and(|extra| extra.get(key).is_some());
    let exact = has(EXACT);
    let mut body = Object::new();

    if !request.model.is_empty() || !(exact || has("model")) {
        body.text("model", &request.model);
    }
    if let Some(system) = &request.system {
        body.text("instructions", &instructions(system)?);
    }
    write_input(&mut body, &request.messages, extra);
    let tools = request.tools.iter().filter_map(|tool| encode_tool(tool).transpose()).collect::<Result<Vec<_>>>()?;
    if !tools.is_empty() {
        body.list("tools", &tools);
    }
    if let Some(choice) = &request.tool_choice {
        match choice {
            ToolChoice::Auto => body.text("tool_choice", "auto"),
            ToolChoice::None => body.text("tool_choice", "none"),
            ToolChoice::Any => body.text("tool_choice", "required"),
            ToolChoice::Tool(name) => {
                body.raw("tool_choice", Raw::of(&json!({"type": "function", "name": name})).text());
            }
        }
    }
    if let Some(parallel) = request.parallel_tool_calls {
        body.raw("parallel_tool_calls", if parallel { "true" } else { "false" });
    }
    if let Some(limit) = request.max_tokens {
        body.raw("max_output_tokens", &limit.to_string());
    }
    number(&mut body, "temperature", request.temperature, extra.and_then(|extra| extra.get(TEMPERATURE)));
    number(&mut body, "top_p", request.top_p, extra.and_then(|extra| extra.get(TOP_P)));
    if let Some(effort) = request.effort {
        merged(&mut body, "reasoning", "effort", Raw::of(effort.name()).text(), extra);
    }
    if let Some(output) = &request.output {
        merged(&mut body, "text", "format", &encode_format(output), extra);
    }
    if let Some(stream) = request.stream {
        body.raw("stream", if stream { "true" } else { "false" });
    }
    if !exact {
        // Answers are not left on the provider's server, unless the request builds on what is there.
        let stateful = ["store", "previous_response_id", "conversation", "background"].into_iter().any(has);
        if !stateful {
            body.raw("store", "false");
        }
        // What is not stored must come along to be sent back.
        if request.effort.is_some() && !has("include") {
            body.raw("include", r#"["reasoning.encrypted_content"]"#);
        }
        let uses = request.tools.iter().find_map(|tool| match tool {
            Tool::WebSearch(search) => search.max_uses,
            Tool::Function(_) | Tool::Provider { .. } => None,
        });
        if let Some(uses) = uses
            && !has("max_tool_calls")
        {
            body.raw("max_tool_calls", &uses.to_string());
        }
    }
    body.rest(extra, wire_key);
    Ok(body.end())
}

/// A number as it was written, if it is still the same number.
fn number(body: &mut Object, key: &'static str, number: Option<f64>, written: Option<&Raw>) {
    let Some(number) = number else { return };
    let same = |raw: &&Raw| raw.to::<f64>().is_ok_and(|old| old.to_bits() == number.to_bits());
    let raw = written.filter(same).cloned().unwrap_or_else(|| Raw::of(&number));
    body.raw(key, raw.text());
}

/// An object of which one member is ours and the others are extra fields.
fn merged(body: &mut Object, key: &'static str, inner: &'static str, json: &str, extra: Option<&Fields>) {
    let others: Option<Fields> = extra.and_then(|extra| extra.get(key)).and_then(|raw| raw.to().ok());
    let mut object = Object::new();
    object.raw(inner, json);
    object.rest(others.as_ref(), wire_key);
    body.raw(key, &object.end());
}

fn instructions(system: &Message) -> Result<String> {
    let mut text = String::new();
    for block in &system.content {
        match block {
            Block::Text(block) => {
                if !text.is_empty() {
                    text.push_str("\n\n");
                }
                text.push_str(&block.text);
            }
            other => {
                let what = format!("`instructions` are text alone, not a block of type {}", other.kind());
                return Err(Error::usage("unsupported", what).hint("put it into a user's message"));
            }
        }
    }
    Ok(text)
}

fn write_input(body: &mut Object, messages: &History, extra: Option<&Fields>) {
    let entries = messages.entries();
    match extra.and_then(|extra| extra.get(LIST)) {
        Some(form) if form.is_null() && entries.is_empty() => return,
        Some(form) if !form.is_null() => {
            if let [entry] = entries
                && let [Block::Text(text)] = entry.message().content.as_slice()
                && entry.message().role == Role::User
            {
                body.text("input", &text.text);
                return;
            }
        }
        // An `input` that was null.
        None if entries.is_empty() && extra.is_some_and(|extra| extra.get("input").is_some()) => return,
        _ => {}
    }
    let exact = extra.is_some_and(|extra| extra.get(EXACT).is_some());
    // Whether something of the model's is written behind: reasoning at an end is refused.
    let mut goes_on = false;
    let items = entries.iter().rev().map(|entry| {
        let text = if exact {
            Cow::Owned(item::encode_as_it_came(entry.message()))
        } else if item::ends_with_reasoning(entry.message()) && !goes_on {
            Cow::Owned(item::encode_message(&item::without_last_reasoning(entry.message())))
        } else {
            entry.written(WIRE, item::encode_message)
        };
        if !text.is_empty() {
            goes_on = entry.message().role == Role::Assistant;
        }
        text
    });
    let items: Vec<Cow<'_, str>> = items.collect();
    body.list("input", items.into_iter().rev());
}

fn encode_tool(tool: &Tool) -> Result<Option<String>> {
    Ok(match tool {
        Tool::Function(tool) => Some(encode_function(tool)),
        Tool::WebSearch(search) => Some(encode_search(search)?),
        Tool::Provider { wire, raw } => (*wire == WIRE).then(|| raw.text().to_owned()),
    })
}

fn encode_function(tool: &FunctionTool) -> String {
    let extra = ours(tool.extra.as_deref());
    let mut object = Object::new();
    object.text("type", "function");
    object.text("name", &tool.name);
    if let Some(description) = &tool.description {
        object.text("description", description);
    }
    object.raw("parameters", tool.schema.text());
    match tool.strict {
        Some(strict) => object.raw("strict", if strict { "true" } else { "false" }),
        // Left out, this API would take it for true, and refuse or rewrite the schemas of most tools.
        None if !extra.is_some_and(|extra| extra.get(BARE).is_some() || extra.get("strict").is_some()) => {
            object.raw("strict", "false");
        }
        None => {}
    }
    object.rest(extra, wire_key);
    object.end()
}

fn encode_search(search: &WebSearch) -> Result<String> {
    if !search.blocked_domains.is_empty() {
        return Err(Error::usage("unsupported", "the web search of OpenAI Responses has no `blocked_domains`")
            .hint("name the allowed domains instead"));
    }
    let mut object = Object::new();
    object.text("type", "web_search");
    if !search.allowed_domains.is_empty() {
        object.raw("filters", Raw::of(&json!({"allowed_domains": search.allowed_domains})).text());
    }
    Ok(object.end())
}

fn encode_format(output: &OutputSchema) -> String {
    let mut format = Object::new();
    format.text("type", "json_schema");
    format.text("name", &legal_name(&output.name));
    if let Some(description) = &output.description {
        format.text("description", description);
    }
    format.raw("schema", output.schema.text());
    if let Some(strict) = output.strict {
        format.raw("strict", if strict { "true" } else { "false" });
    }
    format.end()
}

/// A body of `POST /responses` (or `/responses/compact`) as our own types.
pub fn decode_request(body: &str) -> Result<Request> {
    let invalid = |what: String| Error::usage("invalid_request", what).hint("mend the request at that place");
    let mut fields =
        Fields::parse(body).map_err(|error| invalid(format!("the request body is no JSON object: {error}")))?;
    if let Some((key, _)) = fields.iter().find(|(key, _)| is_mark(key)) {
        return Err(invalid(format!("the request has an unknown field {key:?}")));
    }
    let mut request = Request::default();
    fields.put(EXACT, &true);

    if fields.get_str("model").is_some_and(|model| !model.is_empty()) {
        request.model = fields.take_str("model").unwrap_or_default();
    }
    if let Some(text) = fields.take_str("instructions") {
        let mut system = Message::text(Role::System, text);
        system.form = Form::Text;
        request.system = Some(Arc::new(system));
    }
    match fields.get("input").cloned() {
        None => fields.set(LIST, Raw::null()),
        Some(raw) if raw.is_null() => {}
        Some(raw) => {
            fields.take("input");
            if let Some(text) = raw.string() {
                fields.put(LIST, "text");
                let mut message = Message::user(text);
                message.form = Form::Text;
                request.messages.push(message);
            } else {
                let items: Vec<Raw> =
                    raw.to().map_err(|_| invalid("`input` is neither a string nor a list of items".to_owned()))?;
                for (n, raw) in items.iter().enumerate() {
                    let message =
                        item::decode_input(raw).ok_or_else(|| invalid(format!("`input[{n}]` is no object")))?;
                    request.messages.push(message);
                }
            }
        }
    }
    let tools: Option<Vec<Raw>> = fields.get("tools").and_then(|tools| tools.to().ok());
    if let Some(tools) = tools.filter(|tools| !tools.is_empty()) {
        fields.take("tools");
        request.tools = tools.into_iter().map(decode_tool).collect();
    }
    request.tool_choice = decode_choice(&mut fields);
    request.parallel_tool_calls = fields.take_as("parallel_tool_calls");
    request.max_tokens = fields.take_as("max_output_tokens");
    request.stream = fields.take_as("stream");
    request.temperature = decode_number(&mut fields, "temperature", TEMPERATURE);
    request.top_p = decode_number(&mut fields, "top_p", TOP_P);
    request.effort = take_inner(&mut fields, "reasoning", "effort", |raw| {
        [Effort::Low, Effort::Medium, Effort::High]
            .into_iter()
            .find(|effort| raw.string().as_deref() == Some(effort.name()))
    });
    request.output = take_inner(&mut fields, "text", "format", decode_format);
    request.extra = Extra::of(WIRE, fields);
    Ok(request)
}

/// Takes one member out of an object that is a member, if it can be understood; the rest stays.
fn take_inner<T>(fields: &mut Fields, key: &str, inner: &str, read: impl FnOnce(&Raw) -> Option<T>) -> Option<T> {
    let mut object: Fields = fields.get(key)?.to().ok()?;
    if is_marked(&object) {
        return None;
    }
    let value = read(object.get(inner)?)?;
    object.take(inner);
    // What is left goes to the end, as it would if the request were written and read again.
    fields.take(key);
    if !object.is_empty() {
        fields.set(key, object.to_raw());
    }
    Some(value)
}

fn decode_number(fields: &mut Fields, key: &str, mark: &str) -> Option<f64> {
    let raw = fields.get(key)?.clone();
    let number: f64 = raw.to().ok()?;
    fields.take(key);
    if Raw::of(&number) != raw {
        fields.set(mark, raw);
    }
    Some(number)
}

fn decode_choice(fields: &mut Fields) -> Option<ToolChoice> {
    let raw = fields.get("tool_choice")?;
    let choice = match raw.string().as_deref() {
        Some("auto") => ToolChoice::Auto,
        Some("none") => ToolChoice::None,
        Some("required") => ToolChoice::Any,
        Some(_) => return None,
        None => {
            let choice: Fields = raw.to().ok()?;
            if choice.len() != 2 || choice.get_str("type")? != "function" {
                return None;
            }
            ToolChoice::Tool(choice.get_str("name")?)
        }
    };
    fields.take("tool_choice");
    Some(choice)
}

fn decode_tool(raw: Raw) -> Tool {
    function_tool(&raw).or_else(|| web_search(&raw)).unwrap_or(Tool::Provider { wire: WIRE, raw })
}

fn function_tool(raw: &Raw) -> Option<Tool> {
    let mut fields = Fields::parse(raw.text()).ok()?;
    if is_marked(&fields) || fields.take_str("type")? != "function" {
        return None;
    }
    let name = fields.take_str("name")?;
    let schema = fields.take("parameters")?;
    let description = fields.take_str("description");
    let strict = fields.take_as("strict");
    if strict.is_none() && fields.get("strict").is_none() {
        fields.put(BARE, &true);
    }
    Some(Tool::Function(FunctionTool { name, description, schema, strict, extra: Extra::of(WIRE, fields) }))
}

fn web_search(raw: &Raw) -> Option<Tool> {
    let mut fields = Fields::parse(raw.text()).ok()?;
    if fields.take_str("type")? != "web_search" {
        return None;
    }
    let mut allowed_domains: Vec<String> = Vec::new();
    if let Some(filters) = fields.take("filters") {
        let mut filters: Fields = filters.to().ok()?;
        allowed_domains = filters.take_as("allowed_domains")?;
        if allowed_domains.is_empty() || !filters.is_empty() {
            return None;
        }
    }
    fields.is_empty().then(|| Tool::WebSearch(WebSearch { allowed_domains, ..WebSearch::default() }))
}

fn decode_format(raw: &Raw) -> Option<OutputSchema> {
    let mut format: Fields = raw.to().ok()?;
    if format.take_str("type")? != "json_schema" {
        return None;
    }
    let output = OutputSchema {
        name: format.take_str("name")?,
        schema: format.take("schema")?,
        strict: format.take_as("strict"),
        description: format.take_str("description"),
    };
    format.is_empty().then_some(output)
}
