//! Descriptions that say nothing: some providers refuse an empty one, and no model learns from it.

use std::sync::LazyLock;

use loopwright_base::{
    json::{Fields, Raw},
    request::{FunctionTool, OutputSchema, Request, Tool},
};
use memchr::memmem::Finder;
use serde_json::value::RawValue;

const DESCRIPTION: &str = "description";
static QUOTED: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"description\""));
/// Keywords whose members are named by the user, each of them a schema.
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Keywords whose values are data.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];
/// Schemas nested deeper are nobody's; this walk calls itself.
const DEEPEST: usize = 64;

/// The request without empty descriptions of tools and in schemas; `None` if it has none.
pub(crate) fn without_blank_descriptions(request: &Request) -> Option<Request> {
    let output = request.output.as_ref().and_then(|output| {
        let schema = schema(&output.schema);
        let is_blank = output.description.as_deref().is_some_and(is_blank);
        (schema.is_some() || is_blank).then(|| OutputSchema {
            schema: schema.unwrap_or_else(|| output.schema.clone()),
            description: output.description.clone().filter(|words| !self::is_blank(words)),
            ..output.clone()
        })
    });
    if output.is_none() && !request.tools.iter().any(|given| tool(given).is_some()) {
        return None;
    }
    let tools = request.tools.iter().map(|given| tool(given).unwrap_or_else(|| given.clone()));
    let output = output.or_else(|| request.output.clone());
    Some(Request { tools: tools.collect(), output, ..request.clone() })
}

fn is_blank(words: &str) -> bool {
    words.trim().is_empty()
}

fn tool(tool: &Tool) -> Option<Tool> {
    let Tool::Function(tool) = tool else { return None };
    let schema = schema(&tool.schema);
    let blank = tool.description.as_deref().is_some_and(is_blank);
    (schema.is_some() || blank).then(|| {
        Tool::Function(FunctionTool {
            schema: schema.unwrap_or_else(|| tool.schema.clone()),
            description: tool.description.clone().filter(|words| !is_blank(words)),
            ..tool.clone()
        })
    })
}

/// The schema without empty descriptions; `None` if it has none.
fn schema(raw: &Raw) -> Option<Raw> {
    // Almost none has any, and to look is cheap.
    let is_blank_behind = |at: usize| {
        let rest = raw.text().get(at + QUOTED.needle().len()..).unwrap_or_default().trim_start();
        let words = rest.strip_prefix(':').and_then(|rest| rest.trim_start().strip_prefix('"'));
        words.is_some_and(|words| words.trim_start().starts_with('"'))
    };
    if !QUOTED.find_iter(raw.text().as_bytes()).any(is_blank_behind) {
        return None;
    }
    let changed = part(raw, false, DEEPEST);
    (changed != *raw).then_some(changed)
}

/// A part of a schema, or the schemas by name that stand under a keyword.
fn part(raw: &Raw, named: bool, depth: usize) -> Raw {
    if depth == 0 {
        return raw.clone();
    }
    if let Ok(items) = raw.to::<Vec<&RawValue>>() {
        let items: Vec<Raw> = items.into_iter().map(|item| part(&Raw::copied(item), false, depth - 1)).collect();
        return Raw::of(&items);
    }
    let Ok(fields) = Fields::parse(raw.text()) else { return raw.clone() };
    let says = |(key, value): &(&str, &Raw)| {
        named || *key != DESCRIPTION || value.string().is_none_or(|words| !is_blank(&words))
    };
    let member = |(key, value): (&str, &Raw)| {
        let value = if !named && DATA.contains(&key) {
            value.clone()
        } else {
            part(value, !named && NAMED.contains(&key), depth - 1)
        };
        (key.to_owned(), value)
    };
    fields.iter().filter(says).map(member).collect::<Fields>().to_raw()
}

#[cfg(test)]
mod tests {
    use loopwright_base::message::Wire;

    use super::*;

    #[test]
    fn w21_descriptions_that_say_nothing_are_left_out_on_every_wire() {
        let given = r#"{"type": "object", "description": "", "properties": {
            "description": {"type": "string", "description": " "},
            "n": {"anyOf": [{"type": "integer", "description": ""}, {"type": "null"}], "default": {"description":""}}},
            "$defs": {"x": {"description": "", "type": "string", "enum": ["", "description"]}}}"#;
        let schema = Raw::parse(given).unwrap();
        let tool = FunctionTool {
            name: "f".into(),
            description: Some(String::new()),
            schema: schema.clone(),
            strict: None,
            extra: None,
        };
        let output = OutputSchema { name: "o".into(), schema, strict: None, description: Some("  ".into()) };
        let mut request = Request {
            model: "m".into(),
            messages: [loopwright_base::message::Message::user("go")].into_iter().collect(),
            tools: [Tool::Function(tool)].into_iter().collect(),
            ..Request::default()
        };
        for wire in [Wire::Anthropic, Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Gemini] {
            let body = crate::encode_to_send(wire, &request).unwrap();
            let blank = |text: &str| text.matches("\"description\":\"").count();
            assert_eq!(blank(&body), 1, "the value of a default stays, on {}: {body}", wire.name());
            assert!(body.contains(r#""description":{"type":"string"}"#), "{body}");
        }
        request.output = Some(output);
        let body = crate::encode_to_send(Wire::OpenaiChat, &request).unwrap();
        assert_eq!(body.matches("\"description\":\"").count(), 2, "{body}");
        request.tools = Vec::new().into();
        request.output = None;
        assert!(without_blank_descriptions(&request).is_none());
    }
}
