//! Tools and the choice among them, both ways.
//!
//! All functions that stand together are one tool of the wire; a tool of the provider is one of its own.

use serde_json::Value;

use super::{WIRE, members_of, own, parsed};
use crate::{
    notes::{NOTE, note, wire_key},
    object::{Object, push_list},
};
use loopwright_base::{
    error::{Error, Result},
    json::{Fields, Raw},
    message::Extra,
    request::{FunctionTool, Tool, ToolChoice, WebSearch},
};

const FUNCTIONS: &str = "functionDeclarations";
const SEARCH: &str = r#"{"googleSearch":{}}"#;
/// The note of a function that begins a list of its own, though one stands before it.
const LIST: &str = "list";
/// The note of a function without parameters.
const BARE: &str = "bare";

/// The tools as the wire lists them.
pub(super) fn encode_tools(tools: &[Tool]) -> Result<Vec<String>> {
    let mut all = Vec::new();
    let mut functions: Vec<String> = Vec::new();
    for tool in tools {
        let begins = matches!(tool, Tool::Function(tool) if note(own(tool.extra.as_deref())).get(LIST).is_some());
        if begins || !matches!(tool, Tool::Function(_)) {
            end_list(&mut all, &mut functions);
        }
        match tool {
            Tool::Function(tool) => functions.push(encode_function(tool)),
            Tool::WebSearch(search) if *search == WebSearch::default() => all.push(SEARCH.to_owned()),
            Tool::WebSearch(_) => {
                return Err(Error::usage(
                    "unsupported_option",
                    "web search of Gemini can be limited neither in number nor to domains",
                )
                .hint("drop the limits, or use another wire"));
            }
            Tool::Provider { wire, raw } if *wire == WIRE => all.push(raw.text().to_owned()),
            Tool::Provider { .. } => {}
        }
    }
    end_list(&mut all, &mut functions);
    Ok(all)
}

fn end_list(all: &mut Vec<String>, functions: &mut Vec<String>) {
    if !functions.is_empty() {
        let mut tool = Object::new();
        tool.list(FUNCTIONS, functions.drain(..));
        all.push(tool.end());
    }
}

fn encode_function(tool: &FunctionTool) -> String {
    let fields = own(tool.extra.as_deref());
    let mut object = Object::new();
    object.text("name", &tool.name);
    if let Some(description) = &tool.description {
        object.text("description", description);
    }
    // A schema in the provider's own form goes back in it, as long as it says the same.
    let own_form = fields.and_then(|fields| fields.get("parameters"));
    if let Some(raw) = own_form.filter(|raw| lowered(raw) == tool.schema) {
        object.raw("parameters", raw.text());
    } else if note(fields).get(BARE).is_none() || tool.schema != bare() {
        object.raw("parametersJsonSchema", tool.schema.text());
    }
    object.rest(fields, |key| wire_key(key).filter(|key| *key != "parameters"));
    object.end()
}

/// The schema of a function without parameters.
fn bare() -> Raw {
    Raw::of(&serde_json::json!({"type": "object", "properties": {}}))
}

/// A schema of the provider's own form (`"type": "OBJECT"`) as JSON schema.
fn lowered(raw: &Raw) -> Raw {
    fn lower(value: &mut Value) {
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    match value {
                        Value::String(kind) if key == "type" => *kind = kind.to_ascii_lowercase(),
                        value => lower(value),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(lower),
            _ => {}
        }
    }
    let mut value = raw.value();
    lower(&mut value);
    Raw::of(&value)
}

/// The tools of a list.
pub(super) fn decode_tools(raw: &Raw) -> Option<Vec<Tool>> {
    let mut tools: Vec<Tool> = Vec::new();
    for raw in raw.to::<Vec<Raw>>().ok()? {
        match decode_functions(&raw) {
            Some(functions) => {
                let follows = matches!(tools.last(), Some(Tool::Function(_)));
                for (place, mut tool) in functions.into_iter().enumerate() {
                    if place == 0 && follows {
                        let mut fields = own(tool.extra.as_deref()).cloned().unwrap_or_default();
                        let mut written = note(Some(&fields));
                        written.put(LIST, &true);
                        fields.set(NOTE, written.to_raw());
                        tool.extra = Extra::of(WIRE, fields);
                    }
                    tools.push(Tool::Function(tool));
                }
            }
            None if raw.text() == SEARCH => tools.push(Tool::WebSearch(WebSearch::default())),
            None => tools.push(Tool::Provider { wire: WIRE, raw }),
        }
    }
    Some(tools)
}

/// The functions of a tool that is nothing but functions.
fn decode_functions(raw: &Raw) -> Option<Vec<FunctionTool>> {
    let mut fields = parsed(raw)?;
    let list: Vec<Raw> = fields.take_as(FUNCTIONS)?;
    if list.is_empty() || !fields.is_empty() {
        return None;
    }
    list.iter().map(decode_function).collect()
}

fn decode_function(raw: &Raw) -> Option<FunctionTool> {
    let mut fields = parsed(raw)?;
    if fields.get(NOTE).is_some() {
        return None;
    }
    let name = fields.take_str("name")?;
    let description = fields.take_str("description");
    let schema = match (fields.take("parametersJsonSchema"), fields.get("parameters")) {
        (Some(schema), None) => schema,
        (None, Some(parameters)) if parameters.is_object() => lowered(parameters),
        (None, None) => {
            fields.put(NOTE, &serde_json::json!({BARE: true}));
            bare()
        }
        _ => return None,
    };
    Some(FunctionTool { name, description, schema, strict: None, extra: Extra::of(WIRE, fields) })
}

/// The `toolConfig` of a choice; what else stands in it is kept.
pub(super) fn encode_choice(choice: &ToolChoice, extra: Option<&Fields>) -> String {
    let (mode, name) = match choice {
        ToolChoice::Auto => ("AUTO", None),
        ToolChoice::None => ("NONE", None),
        ToolChoice::Any => ("ANY", None),
        ToolChoice::Tool(name) => ("ANY", Some(name)),
    };
    let mut config = Object::new();
    let mut calling = Object::onto(config.open("functionCallingConfig"));
    calling.text("mode", mode);
    if let Some(name) = name {
        push_list(calling.open("allowedFunctionNames"), [Raw::of(name).text()]);
    }
    config.close(calling);
    config.rest(Some(&members_of(extra, "toolConfig")), wire_key);
    config.end()
}

/// Takes the choice out of `toolConfig`, if our own shape can hold it.
pub(super) fn take_choice(fields: &mut Fields) -> Option<ToolChoice> {
    let mut config = parsed(fields.get("toolConfig")?)?;
    let mut calling = parsed(&config.take("functionCallingConfig")?)?;
    let names: Option<Vec<String>> = calling.take_as("allowedFunctionNames");
    let mode = calling.take_str("mode")?;
    let choice = match (mode.as_str(), names.as_deref()) {
        ("AUTO", None) => ToolChoice::Auto,
        ("NONE", None) => ToolChoice::None,
        ("ANY", None) => ToolChoice::Any,
        ("ANY", Some([name])) => ToolChoice::Tool(name.clone()),
        _ => return None,
    };
    if !calling.is_empty() {
        return None;
    }
    if config.is_empty() {
        fields.take("toolConfig");
    } else {
        fields.set("toolConfig", config.to_raw());
    }
    Some(choice)
}
