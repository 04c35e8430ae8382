//! What a tool's JSON schema says of its parameters, as far as typing raw text needs it. Promises: any JSON is taken
//! for a schema; cycles, depth and sheer size end in `Any`, never in a panic or in much time.

use std::{collections::HashMap, sync::Arc};

use serde_json::{Map, Value};

use super::{
    references::{Document, Target, has_address},
    schema::check_schema,
    tool_name::{folded, stripped, unmarked, without_namespaces},
};
use loopwright_base::error::{Error, Result};

/// The type that a schema declares for one parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Exactly a string: its text is never parsed.
    String,
    /// An integer of any size; digits stay as written.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// `null` alone.
    Null,
    /// An array of these.
    Array(Box<Kind>),
    /// An object with these properties.
    Object(Signature),
    /// One of several (`anyOf`, `["string", "null"]`, enums of mixed types).
    OneOf(Vec<Kind>),
    /// Nothing declared.
    Any,
}

impl Kind {
    /// In words, as what a value isn't.
    pub(super) fn in_words(&self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::Null => "null",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
            Self::OneOf(_) => "of a declared type",
            Self::Any => "a value",
        }
    }
}

/// The parameters of one tool, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signature {
    /// Declared parameters.
    pub parameters: HashMap<String, Kind>,
    /// What `additionalProperties` says of all others.
    pub others: Option<Box<Kind>>,
}

impl Signature {
    /// What is declared of one parameter; `None` if nothing is.
    pub fn kind(&self, parameter: &str) -> Option<&Kind> {
        self.parameters.get(parameter).or(self.others.as_deref())
    }
}

/// The tools that a model was told of, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signatures {
    /// Each tool's parameters; shared, since every reply has a parser of its own.
    tools: Arc<HashMap<String, Signature>>,
    /// The one tool of a name as it is easily mistaken; `None` where there are several.
    folded: Arc<HashMap<String, Option<String>>>,
}

impl Signatures {
    /// Adds a tool, if its schema is one; what is wrong with it is an error that names tool and place.
    pub fn declare(&mut self, name: &str, schema: &Value) -> Result<()> {
        check_schema(schema).map_err(|fault| {
            let shown: String = name.chars().take(100).collect();
            let message = format!("the schema of {shown:?} is no JSON schema: {fault}");
            Error::usage("invalid_tool", message).hint(fault.hint)
        })?;
        self.add(name, schema);
        Ok(())
    }

    /// Adds a tool, whatever its schema says: what isn't understood declares nothing.
    pub fn add(&mut self, name: &str, schema: &Value) {
        let mut reader = Reader { document: Document::new(schema), left: MAX_SCHEMAS };
        let signature = match reader.kind(schema, schema, 0) {
            Kind::Object(signature) => signature,
            // An object or nothing, one of several objects: whatever any of them says.
            Kind::OneOf(kinds) => kinds.into_iter().fold(Signature::default(), |mut all, kind| {
                if let Kind::Object(one) = kind {
                    one.parameters.into_iter().for_each(|(name, kind)| join(&mut all, name, kind));
                }
                all
            }),
            _ => Signature::default(),
        };
        self.insert(name, signature);
    }

    pub(super) fn insert(&mut self, name: &str, signature: Signature) {
        let only = Some(name.to_owned());
        let folded = Arc::make_mut(&mut self.folded).entry(folded(name)).or_insert_with(|| only.clone());
        if *folded != only {
            *folded = None;
        }
        Arc::make_mut(&mut self.tools).insert(name.to_owned(), signature);
    }

    /// The tool's parameters, if it was declared.
    pub fn get(&self, name: &str) -> Option<&Signature> {
        self.tools.get(name)
    }

    /// The declared tool that a name means, in the reply of a model: the tool itself, or the only one that is left of
    /// the name without what models put around names. `None` if there is none, or more than one.
    pub fn meant(&self, name: &str) -> Option<&str> {
        if let Some((known, _)) = self.tools.get_key_value(name) {
            return Some(known);
        }
        let bare = stripped(name);
        let bare = unmarked(bare).unwrap_or(bare);
        let exact = without_namespaces(bare).find_map(|name| self.tools.get_key_value(name));
        if let Some((known, _)) = exact {
            return Some(known);
        }
        let mut found: Option<&str> = None;
        for name in without_namespaces(bare) {
            let folded = folded(name);
            match self.folded.get(&folded).filter(|_| !folded.is_empty()) {
                None => {}
                Some(Some(known)) if found.is_none_or(|found| found == known) => found = Some(known),
                Some(_) => return None,
            }
        }
        found
    }
}

/// The tool that a name in a text means, or the name: models put the namespace of their training before it. All else
/// that is put around a name would be mended in silence here.
pub(super) fn resolved<'a>(tools: Option<&Signatures>, name: &'a str) -> &'a str {
    let knows = |name: &str| tools.is_some_and(|tools| tools.get(name).is_some());
    match name.strip_prefix("functions.") {
        Some(short) if !knows(name) && knows(short) => short,
        _ => name,
    }
}

/// Adds a parameter that another alternative may have declared already.
fn join(signature: &mut Signature, name: String, kind: Kind) {
    let known = signature.parameters.remove(&name);
    let kind = match known {
        Some(known) => one_of([known, kind]),
        None => kind,
    };
    signature.parameters.insert(name, kind);
}

/// How many schemas of one tool are read: references may multiply them.
const MAX_SCHEMAS: usize = 4096;
/// How deep they are read.
const MAX_DEPTH: usize = 24;
/// How many alternatives of one parameter are told apart.
const MAX_KINDS: usize = 64;

struct Reader<'a> {
    document: Document<'a>,
    left: usize,
}

impl<'a> Reader<'a> {
    /// What a schema says; `base` is the nearest around it that has an address of its own.
    fn kind(&mut self, value: &'a Value, base: &'a Value, depth: usize) -> Kind {
        let Value::Object(schema) = value else { return Kind::Any };
        let base = if has_address(schema) { value } else { base };
        if self.left == 0 || depth > MAX_DEPTH {
            return Kind::Any;
        }
        self.left -= 1;
        let kind = self.stated(schema, base, depth);
        let nullable = schema.get("nullable") == Some(&Value::Bool(true));
        if nullable { one_of([kind, Kind::Null]) } else { kind }
    }

    fn stated(&mut self, schema: &'a Map<String, Value>, base: &'a Value, depth: usize) -> Kind {
        // All of these hold at once; the first that says something decides, and objects add up.
        let mut kind = match schema.get("type") {
            Some(Value::String(name)) => self.named(name, schema, base, depth),
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str).take(MAX_KINDS);
                one_of(names.map(|name| self.named(name, schema, base, depth)).collect::<Vec<_>>())
            }
            _ => Kind::Any,
        };
        if kind == Kind::Any
            && let Some(value) = schema.get("const")
        {
            kind = of_value(value);
        }
        if kind == Kind::Any
            && let Some(Value::Array(values)) = schema.get("enum")
        {
            kind = one_of(values.iter().map(of_value));
        }
        if let Some(Value::String(reference)) = schema.get("$ref")
            && let Target::Here(target) = self.document.resolve(base, reference)
        {
            let target = self.kind(target, base, depth + 1);
            kind = both(kind, target);
        }
        if let Some(Value::Array(all)) = schema.get("allOf") {
            for one in all {
                let one = self.kind(one, base, depth + 1);
                kind = both(kind, one);
            }
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(any)) = schema.get(key) {
                let kinds: Vec<_> = any.iter().take(MAX_KINDS).map(|one| self.kind(one, base, depth + 1)).collect();
                kind = either(kind, kinds);
            }
        }
        if kind == Kind::Any {
            if schema.contains_key("properties") {
                return self.named("object", schema, base, depth);
            }
            if schema.contains_key("items") || schema.contains_key("prefixItems") {
                return self.named("array", schema, base, depth);
            }
        }
        kind
    }

    fn named(&mut self, name: &str, schema: &'a Map<String, Value>, base: &'a Value, depth: usize) -> Kind {
        match name {
            "string" | "str" => Kind::String,
            "integer" | "int" => Kind::Integer,
            "number" | "float" => Kind::Number,
            "boolean" | "bool" => Kind::Boolean,
            "null" => Kind::Null,
            "array" | "list" => {
                let items = schema.get("items").map_or(Kind::Any, |items| self.kind(items, base, depth + 1));
                Kind::Array(Box::new(items))
            }
            "object" | "dict" => {
                let mut signature = Signature::default();
                if let Some(Value::Object(properties)) = schema.get("properties") {
                    for (name, property) in properties {
                        signature.parameters.insert(name.clone(), self.kind(property, base, depth + 1));
                    }
                }
                signature.others = match schema.get("additionalProperties") {
                    Some(others @ Value::Object(_)) => match self.kind(others, base, depth + 1) {
                        Kind::Any => None,
                        kind => Some(Box::new(kind)),
                    },
                    _ => None,
                };
                Kind::Object(signature)
            }
            _ => Kind::Any,
        }
    }
}

fn of_value(value: &Value) -> Kind {
    match value {
        Value::Null => Kind::Null,
        Value::Bool(_) => Kind::Boolean,
        Value::Number(number) if number.is_f64() => Kind::Number,
        Value::Number(_) => Kind::Integer,
        Value::String(_) => Kind::String,
        Value::Array(_) => Kind::Array(Box::new(Kind::Any)),
        Value::Object(_) => Kind::Object(Signature::default()),
    }
}

/// One of these: flat, each once; anything if one of them is.
fn one_of(kinds: impl IntoIterator<Item = Kind>) -> Kind {
    let mut flat: Vec<Kind> = Vec::new();
    for kind in kinds {
        let kinds = match kind {
            Kind::Any => return Kind::Any,
            Kind::OneOf(kinds) => kinds,
            kind => vec![kind],
        };
        for kind in kinds {
            if flat.len() < MAX_KINDS && !flat.contains(&kind) {
                flat.push(kind);
            }
        }
    }
    match flat.len() {
        0 => Kind::Any,
        1 => flat.pop().unwrap_or(Kind::Any),
        _ => Kind::OneOf(flat),
    }
}

/// What two schemas say that both hold.
fn both(one: Kind, other: Kind) -> Kind {
    match (one, other) {
        (Kind::Object(mut one), Kind::Object(other)) => {
            for (name, kind) in other.parameters {
                let known = one.parameters.remove(&name).unwrap_or(Kind::Any);
                one.parameters.insert(name, both(known, kind));
            }
            one.others = one.others.or(other.others);
            Kind::Object(one)
        }
        (Kind::Any, kind) | (kind, _) => kind,
    }
}

/// What a schema and its alternatives say.
fn either(kind: Kind, alternatives: Vec<Kind>) -> Kind {
    match kind {
        Kind::Any => one_of(alternatives),
        Kind::Object(mut all) => {
            // The alternatives of an object mostly say which properties go together.
            for alternative in alternatives {
                if let Kind::Object(one) = alternative {
                    for (name, kind) in one.parameters {
                        all.parameters.entry(name).or_insert(kind);
                    }
                }
            }
            Kind::Object(all)
        }
        kind => kind,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn of(property: &Value) -> Kind {
        kinds(&json!({"type": "object", "properties": {"a": property}})).parameters.remove("a").unwrap()
    }

    fn kinds(schema: &Value) -> Signature {
        let mut signatures = Signatures::default();
        signatures.add("f", schema);
        signatures.get("f").unwrap().clone()
    }

    #[test]
    fn types_as_schemas_write_them() {
        let some = |kinds: &[Kind]| Kind::OneOf(kinds.to_vec());
        let array = |kind| Kind::Array(Box::new(kind));
        for (schema, kind) in [
            (json!({"type": "string"}), Kind::String),
            (json!({"type": ["integer", "null"]}), some(&[Kind::Integer, Kind::Null])),
            (json!({"type": "number", "nullable": true}), some(&[Kind::Number, Kind::Null])),
            (
                json!({"anyOf": [{"type": "string"}, {"anyOf": [{"type": "null"}, {"type": "string"}]}]}),
                some(&[Kind::String, Kind::Null]),
            ),
            (json!({"oneOf": [{"type": "boolean"}]}), Kind::Boolean),
            (json!({"anyOf": [{"type": "string"}, {}]}), Kind::Any),
            (json!({"enum": ["a", "b"]}), Kind::String),
            (json!({"enum": ["a", 1, 1.5, null]}), some(&[Kind::String, Kind::Integer, Kind::Number, Kind::Null])),
            (json!({"type": "string", "enum": ["a", null]}), Kind::String),
            (json!({"const": true}), Kind::Boolean),
            (json!({"items": {"type": "integer"}}), array(Kind::Integer)),
            (json!({"type": "array"}), array(Kind::Any)),
            (json!({"allOf": [{"description": "x"}, {"type": "integer"}]}), Kind::Integer),
            (json!({"properties": {}}), Kind::Object(Signature::default())),
            (json!({"type": "strange"}), Kind::Any),
            (json!(true), Kind::Any),
            (json!([1]), Kind::Any),
        ] {
            assert_eq!(of(&schema), kind, "{schema}");
        }
    }

    #[test]
    fn references_are_followed() {
        let schema = json!({
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/Name"}, "b": {"$ref": "#/definitions/a~1b"}, "c": {"$ref": "#/nowhere"}, "d": {"$ref": "other.json"}},
            "$defs": {"Name": {"allOf": [{"$ref": "#/$defs/Text"}]}, "Text": {"type": "string"}},
            "definitions": {"a/b": {"type": "integer"}},
            "additionalProperties": {"type": "boolean"},
        });
        let signature = kinds(&schema);
        let kind = |name: &str| signature.kind(name).unwrap();
        assert_eq!(
            [kind("a"), kind("b"), kind("c"), kind("z")],
            [&Kind::String, &Kind::Integer, &Kind::Any, &Kind::Boolean]
        );
    }

    #[test]
    fn objects_add_up() {
        let schema = json!({
            "allOf": [{"properties": {"a": {"type": "string"}}}, {"$ref": "#/$defs/B"}],
            "anyOf": [{"properties": {"c": {"type": "null"}}}, {"required": ["a"]}],
            "$defs": {"B": {"type": "object", "properties": {"b": {"type": "integer"}}}},
        });
        let signature = kinds(&schema);
        assert_eq!(signature.kind("a"), Some(&Kind::String));
        assert_eq!(signature.kind("b"), Some(&Kind::Integer));
        assert_eq!(signature.kind("c"), Some(&Kind::Null));
        let either =
            json!({"oneOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"type": "integer"}}}]});
        assert_eq!(kinds(&either).kind("a"), Some(&Kind::OneOf(vec![Kind::String, Kind::Integer])));
    }

    #[test]
    fn hostile_schemas_end() {
        let cycle = json!({"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}, "c": {"type": "array", "items": {"$ref": "#"}}}});
        assert!(matches!(kinds(&cycle).kind("a"), Some(Kind::Object(_))));
        let itself = json!({"$ref": "#", "anyOf": [{"$ref": "#"}, {"$ref": "#"}], "allOf": [{"$ref": "#"}]});
        assert_eq!(kinds(&itself), Signature::default());
        let mut deep = json!({"type": "string"});
        for _ in 0..1_000 {
            deep = json!({"type": "array", "items": deep});
        }
        assert!(matches!(of(&deep), Kind::Array(_)));
        let wide: Vec<Value> = (0..100_000).map(|n| json!({"const": n.to_string()})).collect();
        assert_eq!(of(&json!({"anyOf": wide})), Kind::String);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

        #[test]
        fn any_json_is_taken(text in r##"(\{"(type|anyOf|allOf|\$ref|properties|items|enum)":("object"|"#"|\["string","null"\]|\[\{"type":"integer"\}\]|\{"a":\{"\$ref":"#"\}\}|1)\}|null|3)"##) {
            let schema: Value = serde_json::from_str(&text).unwrap();
            kinds(&schema);
            of(&schema);
        }
    }
}
