//! Tools and schemas as `OpenAI` writes them into a request: tools as declarations in TypeScript, schemas as JSON.
//!
//! The form of the declarations is that of its `harmony` format, which is public; what its API reports of older models
//! is the count of this text, too. It is a guess all the same, so a count says how far it may be off, and what is at
//! most stays what the definitions take as they are given.

use super::{
    Json,
    count::{Sum, TokenCounter},
    json::Members,
    request,
};

/// Tokens of a tool's definition beside its name, description and schema, where nobody knows how it is written.
const PER_TOOL: f64 = 8.0;
/// Tokens of declarations in a message of their own.
const ALONE: f64 = 3.0;
/// Tokens of declarations behind the instructions.
const JOINED: f64 = -1.0;
/// The depth to which references that lead into one another are followed.
const DEPTH: usize = 16;
/// The factor by which declarations may be longer than the definitions: references can multiply.
const LONGER: usize = 8;
/// The length that declarations may always have.
const SHORT: usize = 1024;

impl TokenCounter {
    /// Adds the tools of a request.
    pub(super) fn add_tools(&mut self, sum: &mut Sum, tools: &[Json], request: &Members) {
        sum.guessed += request::tools(self.tokenizer(), tools);
        if !self.tokenizer().is_exact() {
            // How they are written is within what such a count may be off anyway.
            for tool in tools {
                sum.fixed(PER_TOOL);
                self.add_value(sum, tool);
            }
            return;
        }
        let mut given = 0.0;
        let mut declared = Some(Declarations::default());
        for tool in tools {
            sum.fixed(PER_TOOL);
            let (tokens, bytes) = self.add_given(sum, tool);
            let tokens = PER_TOOL + tokens;
            let Some(function) = function(tool) else {
                sum.unsure(tokens * 0.5);
                continue;
            };
            given += tokens;
            declared = declared.and_then(|declared| declared.with(function, bytes));
        }
        match declared.and_then(Declarations::text) {
            Some(text) => {
                let written = self.tokens(&text) as f64 + if is_instructed(request) { JOINED } else { ALONE };
                sum.written_as(given, written, 0.1);
            }
            None => sum.unsure(given * 0.5),
        }
    }

    /// Adds the schema of an answer, or the object around one.
    pub(super) fn add_schema(&mut self, sum: &mut Sum, format: &Json) {
        let (given, _) = self.add_given(sum, format);
        if !self.tokenizer().is_exact() {
            return;
        }
        match format.get("json_schema").unwrap_or(format).get("schema") {
            Some(schema) => {
                let written = self.tokens(&without_closing(schema).to_string()) as f64;
                sum.written_as(given, written, 0.2);
            }
            None => sum.unsure(given * 0.5),
        }
    }
}

/// Returns whether a request has instructions.
fn is_instructed(request: &Members) -> bool {
    let own = ["system", "instructions"].iter().any(|key| request.get(key).is_some_and(|given| !given.is_null()));
    let role = |message: &Json| matches!(message.get("role").and_then(Json::as_str), Some("system" | "developer"));
    let lists = ["messages", "input"].iter().filter_map(|key| request.get(key)?.as_array());
    own || lists.flatten().any(role)
}

/// The definition of a function, on either wire.
fn function(tool: &Json) -> Option<&Members> {
    let kind = tool.get("type").and_then(Json::as_str).unwrap_or("function");
    let function = tool.get("function").unwrap_or(tool).as_object()?;
    (kind == "function" && function.get("name").and_then(Json::as_str).is_some()).then_some(function)
}

/// A schema without the member that forbids additional properties, which is not sent on.
fn without_closing(schema: &Json) -> Json {
    match schema {
        Json::Object(members) => {
            let kept = members.iter().filter(|(key, _)| *key != "additionalProperties");
            Json::Object(kept.map(|(key, value)| (key.to_owned(), without_closing(value))).collect())
        }
        Json::List(items) => Json::List(items.iter().map(without_closing).collect()),
        plain => plain.clone(),
    }
}

/// Declarations of functions, as they are written one by one.
#[derive(Default)]
struct Declarations {
    out: String,
    most: usize,
    /// References that are being followed: one that leads back to itself is not written again.
    open: Vec<String>,
}

impl Declarations {
    /// Adds a function, whose definition has so many bytes; `None` if that would be too long.
    fn with(mut self, function: &Members, bytes: usize) -> Option<Self> {
        self.most += bytes * LONGER;
        if self.out.is_empty() {
            self.most += SHORT;
            self.out.push_str("# Tools\n\n## functions\n\nnamespace functions {\n\n");
        }
        self.comment(text_of(function, "description").unwrap_or_default());
        let name = text_of(function, "name").unwrap_or_default();
        let parameters = function.get("parameters").and_then(Json::as_object);
        match parameters.and_then(|schema| Some((schema, members_of(schema)?))) {
            Some((schema, members)) => {
                self.put(&format!("type {name} = (_: {{\n"));
                self.members(schema, members, schema, 0);
                self.put("}) => any;\n\n");
            }
            None => self.put(&format!("type {name} = () => any;\n\n")),
        }
        (self.out.len() <= self.most).then_some(self)
    }

    fn text(self) -> Option<String> {
        (!self.out.is_empty()).then(|| self.out + "} // namespace functions")
    }

    fn put(&mut self, text: &str) {
        if self.out.len() <= self.most {
            self.out.push_str(text);
        }
    }

    fn comment(&mut self, text: &str) {
        for line in text.lines() {
            self.put("// ");
            self.put(line);
            self.put("\n");
        }
    }

    fn members(&mut self, schema: &Members, members: &Members, whole: &Members, depth: usize) {
        let required = schema.get("required").and_then(Json::as_array).unwrap_or_default();
        for (name, schema) in members.iter() {
            if self.out.len() > self.most {
                return;
            }
            let own = schema.as_object();
            self.comment(own.and_then(|own| text_of(own, "description")).unwrap_or_default());
            let optional = if required.iter().any(|each| each.as_str() == Some(name)) { "" } else { "?" };
            self.put(&format!("{name}{optional}: "));
            self.kind(schema, whole, depth + 1);
            match own.and_then(|own| own.get("default")) {
                Some(Json::Text(text)) => self.put(&format!(", // default: {text}\n")),
                Some(value) if !value.is_null() => self.put(&format!(", // default: {value}\n")),
                _ => self.put(",\n"),
            }
        }
    }

    fn kind(&mut self, schema: &Json, whole: &Members, depth: usize) {
        let Some(own) = schema.as_object().filter(|_| depth < DEPTH && self.out.len() <= self.most) else {
            return self.put("any");
        };
        if let Some(target) = text_of(own, "$ref") {
            let mut steps = target.split('/').skip(1);
            let found = steps.next().and_then(|first| steps.try_fold(whole.get(first)?, |value, step| value.get(step)));
            let Some(found) = found.filter(|_| self.open.iter().all(|open| open != target)) else {
                return self.put("any");
            };
            self.open.push(target.to_owned());
            self.kind(found, whole, depth + 1);
            self.open.pop();
            return;
        }
        let alternatives = ["anyOf", "oneOf"].iter().find_map(|key| own.get(key)?.as_array());
        if let Some(kinds) = alternatives {
            return self.either(kinds, |this, kind| this.kind(kind, whole, depth + 1));
        }
        if let Some(values) = own.get("enum").and_then(Json::as_array) {
            return self.either(values, |this, value| this.put(&value.to_string()));
        }
        if let Some(value) = own.get("const") {
            return self.put(&value.to_string());
        }
        match own.get("type") {
            Some(Json::List(names)) => self.either(names, |this, name| this.named(name.as_str(), own, whole, depth)),
            name => self.named(name.and_then(Json::as_str), own, whole, depth),
        }
    }

    fn either(&mut self, each: &[Json], mut put: impl FnMut(&mut Self, &Json)) {
        for (at, one) in each.iter().enumerate() {
            if at > 0 {
                self.put(" | ");
            }
            put(self, one);
        }
    }

    fn named(&mut self, name: Option<&str>, own: &Members, whole: &Members, depth: usize) {
        match (name, members_of(own)) {
            (Some("string"), _) => self.put("string"),
            (Some("number" | "integer"), _) => self.put("number"),
            (Some("boolean"), _) => self.put("boolean"),
            (Some("null"), _) => self.put("null"),
            (Some("array"), _) => {
                match own.get("items") {
                    Some(items) => self.kind(items, whole, depth + 1),
                    None => self.put("any"),
                }
                self.put("[]");
            }
            (_, Some(members)) => {
                self.put("{\n");
                self.members(own, members, whole, depth);
                self.put("}");
            }
            (Some("object"), None) => self.put("object"),
            _ => self.put("any"),
        }
    }
}

/// The members that an object is said to hold, if it holds some.
fn members_of(schema: &Members) -> Option<&Members> {
    schema.get("properties")?.as_object().filter(|members| members.iter().next().is_some())
}

fn text_of<'a>(members: &'a Members, key: &str) -> Option<&'a str> {
    members.get(key)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn declared(tools: &str) -> Option<String> {
        let Ok(Json::List(tools)) = Json::parse(tools) else { return None };
        let each = |all: Declarations, tool: &Json| all.with(function(tool)?, tool.to_string().len());
        let declared = tools.iter().try_fold(Declarations::default(), each);
        declared.and_then(Declarations::text)
    }

    #[test]
    fn c30_functions_are_declared_in_typescript() {
        let tools = r##"[
            {"type": "function", "function": {"name": "now", "description": "", "parameters": {"type": "object", "properties": {}}}},
            {"type": "function", "name": "book", "description": "Books a table.\nSays no if it is late.", "parameters": {
                "$defs": {"Guest": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
                "type": "object", "required": ["at", "guests"], "properties": {
                    "at": {"type": "string", "description": "When"},
                    "guests": {"type": "array", "items": {"$ref": "#/$defs/Guest"}},
                    "kind": {"type": "string", "enum": ["in", "out"], "default": "in"},
                    "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
                    "count": {"type": ["integer", "null"]}
                }}}
        ]"##;
        let expected = r#"# Tools

## functions

namespace functions {

type now = () => any;

// Books a table.
// Says no if it is late.
type book = (_: {
// When
at: string,
guests: {
name: string,
}[],
kind?: "in" | "out", // default: in
note?: string | null,
count?: number | null,
}) => any;

} // namespace functions"#;
        assert_eq!(declared(tools).unwrap(), expected);
    }

    #[test]
    fn c30_references_that_multiply_or_go_in_circles_end() {
        let more = |to: String| {
            let to = json!({"$ref": to});
            json!({"type": "object", "properties": {"a": to, "b": to, "c": to, "d": to, "e": to}})
        };
        let mut defs = serde_json::Map::new();
        for at in 0..40 {
            defs.insert(format!("d{at}"), more(format!("#/$defs/d{}", (at + 1) % 40)));
        }
        let parameters = json!({"$defs": defs, "type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}});
        let tool = json!({"type": "function", "function": {"name": "f", "parameters": parameters}});
        assert_eq!(declared(&json!([tool]).to_string()), None, "too long to be what is sent");
        let found = TokenCounter::for_model("gpt-4o").json(&Json::from(&json!({"messages": [], "tools": [tool]})));
        assert!(found.margin > 0 && found.upper_bound >= found.tokens);
        let itself = json!({"name": "f", "parameters": {"$defs": {"d": {"$ref": "#/$defs/d"}},
            "type": "object", "properties": {"x": {"$ref": "#/$defs/d"}, "y": {"$ref": "#"}, "z": {"$ref": "nowhere"}}}});
        assert!(declared(&json!([itself]).to_string()).unwrap().contains("x?: any,\ny?: any,\nz?: any,\n"));
    }
}
