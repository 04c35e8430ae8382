//! Whether a JSON schema is one, in any draft from 4 to 2020-12. Promises: whatever such a schema may say is taken,
//! unknown keywords and references to elsewhere too; what none may say is named with its place. Time is linear, nothing
//! recurses.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
};

use serde_json::Value;

use super::references::{Document, Target, has_address};

/// What is wrong with what should be a JSON schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSchema {
    /// Where: a JSON pointer, behind `#`.
    pub at: String,
    /// What stands there, and what should.
    pub what: String,
    /// What to do.
    pub hint: String,
}

impl fmt::Display for NoSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}: {}", self.at, self.what)
    }
}

impl std::error::Error for NoSchema {}

/// Names of types: those of JSON schema, then those that descriptions of Python functions use for them.
const TYPES: &[&str] = &["string", "integer", "number", "boolean", "null", "array", "object"];
const ALIASES: &[&str] = &["str", "int", "float", "bool", "list", "dict", "any"];

/// Looks a schema over; gives the first thing in it that no schema may say.
pub fn check_schema(schema: &Value) -> Result<(), NoSchema> {
    let mut check =
        Check { document: Document::new(schema), nodes: Vec::new(), known: HashMap::new(), rest: Vec::new() };
    check.add(None, Step::Top, schema, schema);
    while let Some((node, schema, base)) = check.rest.pop() {
        check.schema(node, schema, base)?;
    }
    check.circles()
}

/// How one comes from a schema to a part of it.
#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Top,
    Key(&'a str),
    Keys(&'a str, &'a str),
    Item(&'a str, usize),
    /// By a reference, whose pointer says where it is.
    Reference(&'a str),
}

#[derive(Debug)]
struct Node<'a> {
    from: Option<usize>,
    step: Step<'a>,
    /// What must hold of the very same value: references, and all of `allOf`.
    same: Vec<(&'a Value, &'a str)>,
}

struct Check<'a> {
    document: Document<'a>,
    nodes: Vec<Node<'a>>,
    /// Schemas by where they are kept.
    known: HashMap<*const Value, usize>,
    /// What is to be looked at, with the nearest schema around it that has an address.
    rest: Vec<(usize, &'a Value, &'a Value)>,
}

/// What a keyword's value has to be.
type Rule = fn(&Value) -> bool;

/// Keywords whose value is one schema.
const ONE: &[&str] = &[
    "additionalProperties",
    "additionalItems",
    "propertyNames",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];
/// Keywords whose value is a list of schemas.
const SEVERAL: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords whose value maps names to schemas.
const NAMED: &[&str] = &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Keywords whose value is plain, and what it has to be.
const PLAIN: &[(&[&str], Rule, &str)] = &[
    (&["enum"], Value::is_array, "a list of values"),
    (&["pattern", "format"], Value::is_string, "text"),
    (&["uniqueItems"], Value::is_boolean, "true or false"),
    (&["minimum", "maximum"], Value::is_number, "a number"),
    (&["exclusiveMinimum", "exclusiveMaximum"], |value| value.is_number() || value.is_boolean(), "a number"),
    (&["multipleOf"], |value| value.as_f64().is_some_and(|number| number > 0.0), "a number above 0"),
    (
        &[
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "minProperties",
            "maxProperties",
            "minContains",
            "maxContains",
        ],
        |value| value.as_f64().is_some_and(|number| number >= 0.0 && number.fract() == 0.0),
        "a whole number from 0 up",
    ),
];

impl<'a> Check<'a> {
    fn add(&mut self, from: Option<usize>, step: Step<'a>, schema: &'a Value, base: &'a Value) {
        if let Entry::Vacant(known) = self.known.entry(std::ptr::from_ref(schema)) {
            known.insert(self.nodes.len());
            self.rest.push((self.nodes.len(), schema, base));
            self.nodes.push(Node { from, step, same: Vec::new() });
        }
    }

    fn schema(&mut self, node: usize, schema: &'a Value, base: &'a Value) -> Result<(), NoSchema> {
        let fields = match schema {
            Value::Object(fields) => fields,
            Value::Bool(_) => return Ok(()),
            other => return Err(self.fault(node, &[], other, "a schema: an object, true or false")),
        };
        let base = if has_address(fields) { schema } else { base };
        for (key, value) in fields {
            let key = key.as_str();
            if ONE.contains(&key) {
                self.add(Some(node), Step::Key(key), value, base);
            } else if key == "items" {
                match value {
                    Value::Array(items) => self.list(node, key, items, base),
                    one => self.add(Some(node), Step::Key(key), one, base),
                }
            } else if SEVERAL.contains(&key) {
                match value {
                    Value::Array(all) if !all.is_empty() => self.list(node, key, all, base),
                    other => return Err(self.fault(node, &[key], other, "a list of schemas, and not empty")),
                }
            } else if NAMED.contains(&key) {
                let Value::Object(map) = value else {
                    return Err(self.fault(node, &[key], value, "an object of names and schemas"));
                };
                for (name, part) in map {
                    self.add(Some(node), Step::Keys(key, name), part, base);
                }
            } else {
                self.plain(node, key, value, base)?;
            }
        }
        Ok(())
    }

    fn list(&mut self, node: usize, key: &'a str, all: &'a [Value], base: &'a Value) {
        for (at, one) in all.iter().enumerate() {
            self.add(Some(node), Step::Item(key, at), one, base);
        }
        if key == "allOf"
            && let Some(node) = self.nodes.get_mut(node)
        {
            node.same.extend(all.iter().map(|one| (one, key)));
        }
    }

    fn plain(&mut self, node: usize, key: &'a str, value: &'a Value, base: &'a Value) -> Result<(), NoSchema> {
        match key {
            "type" => self.types(node, value),
            "required" => self.names(node, &[key], value),
            "dependentRequired" | "dependencies" => {
                let Value::Object(map) = value else {
                    return Err(self.fault(node, &[key], value, "an object of names and what they depend on"));
                };
                for (name, part) in map {
                    if key == "dependentRequired" || part.is_array() {
                        self.names(node, &[key, name], part)?;
                    } else {
                        self.add(Some(node), Step::Keys(key, name), part, base);
                    }
                }
                Ok(())
            }
            "$ref" | "$dynamicRef" | "$recursiveRef" => self.reference(node, key, value, base),
            "$id" | "$anchor" | "$dynamicAnchor" | "$schema" if !value.is_string() => {
                Err(self.fault(node, &[key], value, "text"))
            }
            _ => match PLAIN.iter().find(|(keys, ..)| keys.contains(&key)) {
                Some((_, holds, what)) if !holds(value) => Err(self.fault(node, &[key], value, what)),
                _ => Ok(()),
            },
        }
    }

    fn types(&self, node: usize, value: &Value) -> Result<(), NoSchema> {
        let known = |name: &str| TYPES.contains(&name) || ALIASES.contains(&name);
        let what = "the name of a type, or a list of such names";
        match value {
            Value::String(name) if known(name) => Ok(()),
            Value::Array(names) if !names.is_empty() => {
                for (at, name) in names.iter().enumerate() {
                    if !name.as_str().is_some_and(known) {
                        return Err(self.fault(node, &["type", &at.to_string()], name, what));
                    }
                }
                Ok(())
            }
            other => Err(self.fault(node, &["type"], other, what)),
        }
    }

    fn names(&self, node: usize, keys: &[&str], value: &Value) -> Result<(), NoSchema> {
        let what = "a list of names of properties";
        let Value::Array(names) = value else { return Err(self.fault(node, keys, value, what)) };
        match names.iter().position(|name| !name.is_string()) {
            None => Ok(()),
            Some(at) => {
                let at_text = at.to_string();
                let keys: Vec<&str> = keys.iter().copied().chain([at_text.as_str()]).collect();
                Err(self.fault(node, &keys, names.get(at).unwrap_or(value), what))
            }
        }
    }

    fn reference(&mut self, node: usize, key: &'a str, value: &'a Value, base: &'a Value) -> Result<(), NoSchema> {
        let Value::String(reference) = value else {
            return Err(self.fault(node, &[key], value, "a reference: text such as \"#/$defs/name\""));
        };
        match self.document.resolve(base, reference) {
            Target::Here(target) => {
                self.add(None, Step::Reference(reference), target, base);
                if key == "$ref"
                    && let Some(node) = self.nodes.get_mut(node)
                {
                    node.same.push((target, key));
                }
                Ok(())
            }
            Target::Elsewhere => Ok(()),
            // What a dynamic reference means is known where the schema is used.
            Target::Nowhere if key != "$ref" => Ok(()),
            Target::Nowhere => Err(NoSchema {
                at: self.place(node, &[key]),
                what: format!("nothing stands at {}", shown(value)),
                hint: "put what it names under \"$defs\", or take the reference out".to_owned(),
            }),
        }
    }

    /// Schemas that refer to themselves with nothing between: no value could ever be held against them.
    fn circles(&self) -> Result<(), NoSchema> {
        let mut state = vec![0u8; self.nodes.len()];
        for first in 0..self.nodes.len() {
            let mut path = vec![(first, 0)];
            while let Some((node, next)) = path.last_mut() {
                let (node, at) = (*node, *next);
                *next += 1;
                if at == 0 && state.get(node) != Some(&0) {
                    path.pop();
                    continue;
                }
                if let Some(state) = state.get_mut(node) {
                    *state = 1;
                }
                let same = self.nodes.get(node).and_then(|node| node.same.get(at));
                let Some((target, key)) = same else {
                    if let Some(state) = state.get_mut(node) {
                        *state = 2;
                    }
                    path.pop();
                    continue;
                };
                let Some(&target) = self.known.get(&std::ptr::from_ref(*target)) else { continue };
                if state.get(target) == Some(&1) {
                    return Err(NoSchema {
                        at: self.place(node, &[key]),
                        what: "the schema refers to itself, with nothing between".to_owned(),
                        hint: "refer to it from below a keyword such as \"properties\" or \"items\"".to_owned(),
                    });
                }
                path.push((target, 0));
            }
        }
        Ok(())
    }

    fn fault(&self, node: usize, keys: &[&str], found: &Value, wanted: &str) -> NoSchema {
        let key = keys.first().copied().unwrap_or_default();
        let hint = match key {
            "type" => format!("write one of {}", TYPES.join(", ")),
            "required" if found.is_boolean() => {
                "name the property in the \"required\" list of the object that holds it".to_owned()
            }
            "required" => "write a list of names, such as [\"city\"]".to_owned(),
            "" => "write a JSON schema, such as {\"type\": \"string\"}".to_owned(),
            _ => format!("write {wanted}, or leave {key:?} out"),
        };
        NoSchema { at: self.place(node, keys), what: format!("{} is not {wanted}", shown(found)), hint }
    }

    /// The JSON pointer of what stands below a schema.
    fn place(&self, node: usize, keys: &[&str]) -> String {
        let mut steps = Vec::new();
        let mut at = Some(node);
        while let Some(node) = at.and_then(|at| self.nodes.get(at)) {
            steps.push(node.step);
            at = node.from;
        }
        let mut place = String::from("#");
        let mut go = |key: &str| {
            place.push('/');
            place.push_str(&key.replace('~', "~0").replace('/', "~1"));
        };
        let mut pointer = None;
        for step in steps.into_iter().rev() {
            match step {
                Step::Top => {}
                Step::Key(key) => go(key),
                Step::Keys(key, name) => {
                    go(key);
                    go(name);
                }
                Step::Item(key, at) => {
                    go(key);
                    go(&at.to_string());
                }
                Step::Reference(reference) => pointer = Some(reference),
            }
        }
        for key in keys {
            go(key);
        }
        match pointer {
            Some(pointer) => format!("{}{}", pointer.trim_end_matches('/'), place.trim_start_matches('#')),
            None => place,
        }
    }
}

/// A value in a few characters.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(all) if !all.is_empty() => "a list".to_owned(),
        Value::Object(all) if !all.is_empty() => "an object".to_owned(),
        Value::String(text) if text.chars().count() > 60 => {
            format!("{:?}…", text.chars().take(60).collect::<String>())
        }
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn refused(schema: &Value, at: &str) {
        match check_schema(schema) {
            Ok(()) => panic!("{schema} was taken"),
            Err(fault) => assert_eq!(fault.at, at, "{schema}: {fault}"),
        }
    }

    #[test]
    fn d08_what_is_no_schema_is_named_with_its_place() {
        for (schema, at) in [
            (json!({"properties": 5}), "#/properties"),
            (json!({"type": "zzz"}), "#/type"),
            (json!({"type": "STRING"}), "#/type"),
            (json!({"type": []}), "#/type"),
            (json!({"type": ["string", 5]}), "#/type/1"),
            (json!({"required": "a"}), "#/required"),
            (json!({"required": ["a", 1]}), "#/required/1"),
            (json!({"properties": {"a": {"type": "string", "required": true}}}), "#/properties/a/required"),
            (json!({"properties": {"a/b": {"~": 1, "type": "text"}}}), "#/properties/a~1b/type"),
            (json!({"properties": {"a": "string"}}), "#/properties/a"),
            (json!({"properties": {"a": null}}), "#/properties/a"),
            (json!({"items": 5}), "#/items"),
            (json!({"items": [{}, 5]}), "#/items/1"),
            (json!({"anyOf": {"type": "string"}}), "#/anyOf"),
            (json!({"anyOf": []}), "#/anyOf"),
            (json!({"allOf": [{"oneOf": [1]}]}), "#/allOf/0/oneOf/0"),
            (json!({"additionalProperties": "no"}), "#/additionalProperties"),
            (json!({"enum": "a"}), "#/enum"),
            (json!({"minLength": -1}), "#/minLength"),
            (json!({"maxItems": 1.5}), "#/maxItems"),
            (json!({"minimum": "1"}), "#/minimum"),
            (json!({"multipleOf": 0}), "#/multipleOf"),
            (json!({"$defs": {"a": {"type": 1}}}), "#/$defs/a/type"),
            (json!({"dependentRequired": {"a": "b"}}), "#/dependentRequired/a"),
            (json!({"$ref": 5}), "#/$ref"),
            (json!({"$ref": "#/$defs/none"}), "#/$ref"),
            (json!({"properties": {"a": {"$ref": "#none"}}}), "#/properties/a/$ref"),
            (json!({"properties": {"a": {"$ref": "#/other/x"}}, "other": {"x": {"type": "y"}}}), "#/other/x/type"),
            (
                json!({"properties": {"a": {"$ref": "#/properties/b/default"}, "b": {"default": 5}}}),
                "#/properties/b/default",
            ),
            (json!({"$ref": "#"}), "#/$ref"),
            (json!({"properties": {"a": {"$ref": "#/properties/a"}}}), "#/properties/a/$ref"),
            (json!({"allOf": [{"$ref": "#"}]}), "#/allOf/0/$ref"),
            (json!(null), "#"),
            (json!("object"), "#"),
            (json!([{}]), "#"),
            (json!(5), "#"),
        ] {
            refused(&schema, at);
        }
        let two = json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}});
        let fault = check_schema(&two).unwrap_err();
        assert!(fault.at.starts_with("#/$defs/") && fault.what.contains("itself"), "{fault}");
        assert_eq!(
            check_schema(&json!({"type": "zzz"})).unwrap_err().to_string(),
            "at #/type: \"zzz\" is not the name of a type, or a list of such names"
        );
    }

    #[test]
    fn d08_every_schema_is_taken() {
        for schema in [
            json!(true),
            json!(false),
            json!({}),
            json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false}),
            json!({"type": ["string", "null"], "nullable": true, "x-order": 1, "whatever": {"type": "zzz"}}),
            json!({"properties": {"a": true, "b": false, "type": {"type": "string"}, "$ref": {"type": "string"}, "properties": {}, "required": {"type": "array"}}}),
            json!({"enum": ["zzz", {"type": "zzz"}, 5], "const": {"properties": 5}, "default": {"type": "zzz"}, "examples": [{"required": "a"}]}),
            json!({"items": [{"type": "string"}, true], "additionalItems": false}),
            json!({"prefixItems": [{}], "items": false, "contains": {}, "minContains": 0, "unevaluatedItems": {}}),
            json!({"minimum": -1.5, "exclusiveMinimum": true, "exclusiveMaximum": 5, "multipleOf": 0.1, "minLength": 2.0, "uniqueItems": true}),
            json!({"if": {"required": ["a"]}, "then": true, "else": {"not": {}}, "propertyNames": {"pattern": "^a"}}),
            json!({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}, "dependentRequired": {"a": []}, "dependentSchemas": {"a": true}}),
            json!({"$defs": {"a": {"properties": {"next": {"$ref": "#/$defs/a"}}}}, "$ref": "#/$defs/a"}),
            json!({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}),
            json!({"definitions": {"p q": {"type": "integer"}}, "properties": {"a": {"$ref": "#/definitions/p%20q"}}}),
            json!({"$ref": "https://json-schema.org/draft/2020-12/schema"}),
            json!({"properties": {"a": {"$ref": "other.json#/definitions/x"}, "b": {"$dynamicRef": "#node"}, "c": {"$recursiveRef": "#"}}}),
            json!({"$defs": {"a": {"$anchor": "here", "type": "string"}}, "$ref": "#here"}),
            json!({"definitions": {"a": {"$id": "#old", "type": "string"}}, "items": {"$ref": "#old"}}),
            json!({"$id": "https://e.org/a", "$defs": {"b": {"$id": "b", "properties": {"x": {"$ref": "#/$defs/c"}}, "$defs": {"c": {}}}}}),
            json!({"components": {"schemas": {"A": {"type": "string"}}}, "$ref": "#/components/schemas/A"}),
            json!({"anyOf": [{"$ref": "#/$defs/v"}], "$defs": {"v": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/v"}}]}}}),
            json!({"properties": {"a": {"type": "str"}, "b": {"type": "dict"}}}),
        ] {
            if let Err(fault) = check_schema(&schema) {
                panic!("{schema}: {fault}");
            }
        }
    }

    #[test]
    fn d08_hostile_schemas_take_linear_time() {
        let chain: serde_json::Map<_, _> =
            (0..20_000).map(|n| (n.to_string(), json!({"$ref": format!("#/$defs/{}", n + 1)}))).collect();
        let mut schema = json!({"$defs": chain});
        refused(&schema, "#/$defs/19999/$ref");
        schema["$defs"]["20000"] = json!({});
        assert_eq!(check_schema(&schema), Ok(()));
        let many: Vec<_> =
            (0..20_000).map(|n| json!({"$ref": format!("#a{n}"), "$anchor": format!("a{}", n + 1)})).collect();
        assert!(check_schema(&json!({"anyOf": many})).is_err());
        let mut deep = json!({"type": "zzz"});
        for _ in 0..2_000 {
            deep = json!({"items": deep});
        }
        assert!(check_schema(&deep).unwrap_err().at.ends_with("/items/type"));
    }

    proptest! {
        #[test]
        fn any_json_is_judged(text in r##"\{"(type|anyOf|allOf|\$ref|properties|items|enum|required|\$defs)":("object"|"#"|"#/anyOf/0"|\["string","null"\]|\[\{"\$ref":"#"\}\]|\{"a":\{"\$ref":"#"\}\}|1|\[\])\}"##) {
            let schema: Value = serde_json::from_str(&text).unwrap();
            if let Err(fault) = check_schema(&schema) {
                prop_assert!(fault.at.starts_with('#') && !fault.hint.is_empty());
            }
        }
    }
}
