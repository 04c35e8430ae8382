//! Tools and the choice among them, both ways.

use super::{CACHE_POINT, WIRE, own, parsed};
use crate::{names::legal_name, notes::wire_key, object::Object};
use loopwright_base::{
    error::{Error, Result},
    json::{Fields, Raw},
    message::{Extra, Message},
    request::{FunctionTool, Request, Tool, ToolChoice},
};

const CONFIG: &str = "toolConfig";
/// The note of a request without tools.
pub(super) const NO_TOOLS: &str = "no_tools";

/// The member `toolConfig` of a request; `None` if there is nothing to say.
///
/// The wire has no word for "call no tool": then no tool is told of. But calls in a history need a tool of their name.
pub(super) fn encode_config(request: &Request, extra: Option<&Fields>, written: &Fields) -> Result<Option<String>> {
    let kept = extra.and_then(|fields| fields.get(CONFIG)).and_then(parsed).unwrap_or_default();
    let is_kept = extra.is_some_and(|fields| fields.get(CONFIG).is_some());
    let forbidden = request.tool_choice == Some(ToolChoice::None);
    let has_calls = request.messages.iter().any(|message: &Message| message.tool_uses().next().is_some());
    let mut tools = if forbidden && !has_calls { Vec::new() } else { encode_tools(&request.tools)? };
    if tools.iter().all(|tool| tool == CACHE_POINT) && has_calls && !is_kept {
        let is_bare = written.get(NO_TOOLS).is_some();
        let mut names: Vec<&str> =
            request.messages.iter().flat_map(Message::tool_uses).map(|call| &*call.name).collect();
        names.sort_unstable();
        names.dedup();
        tools.extend(names.into_iter().filter(|_| !is_bare).map(bare_tool));
    }
    let mut config = Object::new();
    if !tools.is_empty() {
        config.list("tools", &tools);
        if let Some(choice) = request.tool_choice.as_ref().and_then(encode_choice) {
            config.raw("toolChoice", &choice);
        }
    }
    config.rest(Some(&kept), wire_key);
    Ok((!config.is_empty()).then(|| config.end()))
}

fn encode_tools(tools: &[Tool]) -> Result<Vec<String>> {
    let mut all = Vec::with_capacity(tools.len());
    for tool in tools {
        match tool {
            Tool::Function(tool) => all.push(encode_function(tool)),
            Tool::WebSearch(_) => {
                return Err(Error::usage("unsupported_option", "Bedrock's Converse has no web search of its own")
                    .hint("offer a tool of yours, or give the provider's as a provider tool"));
            }
            Tool::Provider { wire, raw } if *wire == WIRE => all.push(raw.text().to_owned()),
            Tool::Provider { .. } => {}
        }
    }
    Ok(all)
}

fn encode_function(tool: &FunctionTool) -> String {
    let mut spec = Object::new();
    spec.text("name", &tool.name);
    if let Some(description) = tool.description.as_ref().filter(|text| !text.is_empty()) {
        spec.text("description", description);
    }
    spec.raw("inputSchema", &format!("{{\"json\":{}}}", tool.schema.text()));
    if let Some(strict) = tool.strict {
        spec.raw("strict", if strict { "true" } else { "false" });
    }
    let fields = own(tool.extra.as_deref());
    spec.rest(fields, wire_key);
    format!("{{\"toolSpec\":{}}}", spec.end())
}

/// A tool that stands for calls in a history that nobody offers any more.
fn bare_tool(name: &str) -> String {
    let schema = Raw::of(&serde_json::json!({"type": "object"}));
    let name = legal_name(name).into_owned();
    encode_function(&FunctionTool { name, description: None, schema, strict: None, extra: None })
}

fn encode_choice(choice: &ToolChoice) -> Option<String> {
    Some(match choice {
        ToolChoice::Auto => r#"{"auto":{}}"#.to_owned(),
        ToolChoice::Any => r#"{"any":{}}"#.to_owned(),
        ToolChoice::Tool(name) => format!("{{\"tool\":{{\"name\":{}}}}}", Raw::of(name).text()),
        ToolChoice::None => return None,
    })
}

/// Takes tools and the choice out of `toolConfig`, and leaves the rest; whether there are tools at all.
pub(super) fn take_config(fields: &mut Fields, request: &mut Request) -> bool {
    let Some(mut config) = fields.get(CONFIG).and_then(parsed) else { return fields.get(CONFIG).is_some() };
    let list: Option<Vec<Raw>> = config.get("tools").and_then(|raw| raw.to().ok());
    let Some(list) = list.filter(|list| !list.is_empty()) else { return true };
    config.take("tools");
    request.tools = list.iter().map(decode_tool).collect();
    request.tool_choice = config.get("toolChoice").and_then(decode_choice);
    if request.tool_choice.is_some() {
        config.take("toolChoice");
    }
    if config.is_empty() {
        fields.take(CONFIG);
    } else {
        fields.set(CONFIG, config.to_raw());
    }
    true
}

fn decode_tool(raw: &Raw) -> Tool {
    let tool = parsed(raw).and_then(decode_function).map(Tool::Function);
    tool.unwrap_or_else(|| Tool::Provider { wire: WIRE, raw: raw.clone() })
}

fn decode_function(mut fields: Fields) -> Option<FunctionTool> {
    let mut spec = parsed(&fields.take("toolSpec")?).filter(|_| fields.is_empty())?;
    let mut schema = parsed(&spec.take("inputSchema")?)?;
    let (name, description) = (spec.take_str("name")?, spec.take_str("description"));
    let schema = schema.take("json").filter(|_| schema.is_empty())?;
    if description.as_deref() == Some("") {
        return None;
    }
    let strict = spec.take_as("strict");
    Some(FunctionTool { name, description, schema, strict, extra: Extra::of(WIRE, spec) })
}

fn decode_choice(raw: &Raw) -> Option<ToolChoice> {
    let mut fields = parsed(raw)?;
    let empty = serde_json::json!({});
    let choice = if fields.take_if("auto", &empty) {
        ToolChoice::Auto
    } else if fields.take_if("any", &empty) {
        ToolChoice::Any
    } else {
        let mut tool = parsed(&fields.take("tool")?)?;
        ToolChoice::Tool(tool.take_str("name").filter(|_| tool.is_empty())?)
    };
    fields.is_empty().then_some(choice)
}

/// Puts a mark of the cache at the end of a list that is JSON already.
pub(super) fn push_cache_point(list: &mut String, point: &str) {
    if list.pop() == Some(']') {
        if !list.ends_with('[') {
            list.push(',');
        }
        list.push_str(point);
    }
    list.push(']');
}
