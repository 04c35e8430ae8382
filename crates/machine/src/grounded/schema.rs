//! Answers that are JSON: they must conform to a schema, and their texts are checked against the sources like any
//! answer.
//!
//! Of JSON schema it knows what answers are made of: types, properties, required and additional ones, items, enums,
//! constants, bounds and lengths, and alternatives. What it does not know it does not check.

use std::fmt::Write as _;

use loopwright_base::text::clip;
use serde_json::Value;

use super::{
    config::{Lengths, Profile},
    verify::{Evidence, Issue, Severity, Verification, verify},
};

/// Violations that are reported at most.
const MAX_VIOLATIONS: usize = 8;

/// An answer in JSON without the code fence that a model may have put around it.
pub(super) fn without_fence(answer: &str) -> &str {
    let bare = answer.trim();
    let inner = bare.strip_prefix("```json").or_else(|| bare.strip_prefix("```"));
    inner.map_or(bare, |inner| inner.trim_end().strip_suffix("```").unwrap_or(inner).trim())
}

/// Holds an answer in JSON against its schema and the evidence.
pub(super) fn verify_json(answer: &str, schema: &Value, evidence: &Evidence<'_>, lengths: &Lengths) -> Verification {
    let value: Value = match serde_json::from_str(without_fence(answer)) {
        Ok(value) => value,
        Err(error) => {
            let plain = verify(answer, evidence, Profile::Plain, lengths);
            if plain.abstains {
                return plain;
            }
            let message = format!("the answer is no JSON: {error}");
            let issues = vec![Issue { severity: Severity::Error, code: "INVALID_JSON", message }];
            return Verification { issues, abstains: false, cited: Vec::new(), claims: Vec::new() };
        }
    };
    let mut problems = Vec::new();
    check(&value, schema, "$", &mut problems);
    let mut text = String::new();
    leaves(&value, "", &mut text);
    let short = Lengths { short: 0, long: 0, ..*lengths };
    let mut found = verify(&text, evidence, Profile::Plain, &short);
    let violations = problems.into_iter().take(MAX_VIOLATIONS).map(|message| Issue {
        severity: Severity::Error,
        code: "SCHEMA",
        message,
    });
    found.issues.splice(0..0, violations);
    found
}

/// The mistake in a schema itself, and its place: a rule that no JSON schema has would pass any answer.
pub(super) fn schema_mistake(schema: &Value) -> Option<String> {
    const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
    const SCHEMAS: [&str; 3] = ["items", "additionalProperties", "not"];
    const LISTS: [&str; 3] = ["anyOf", "oneOf", "allOf"];
    const NAMED: [&str; 3] = ["properties", "$defs", "definitions"];
    const COUNTS: [&str; 4] = ["minLength", "maxLength", "minItems", "maxItems"];
    const NUMBERS: [&str; 2] = ["minimum", "maximum"];
    let mut waiting = vec![(schema, "$".to_owned())];
    while let Some((schema, at)) = waiting.pop() {
        let rules = match schema {
            Value::Object(rules) => rules,
            Value::Bool(_) => continue,
            _ => return Some(format!("{at} is no schema: a schema is an object, or true or false")),
        };
        match rules.get("type") {
            Some(Value::String(name)) if TYPES.contains(&name.as_str()) => {}
            Some(Value::Array(names)) if !names.is_empty() => {
                let known = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
                if let Some(place) = names.iter().position(|name| !known(name)) {
                    return Some(format!("{at}.type[{place}] is no type of JSON; there are {}", TYPES.join(", ")));
                }
            }
            Some(kind) => {
                let kind = clip(&kind.to_string(), 80);
                return Some(format!("{at}.type is {kind}, which is no type of JSON; there are {}", TYPES.join(", ")));
            }
            None => {}
        }
        for (name, rule) in rules {
            let here = format!("{at}.{name}");
            match (name.as_str(), rule) {
                // A list of schemas for the first items was written so once.
                ("items", Value::Array(each)) => {
                    waiting.extend(each.iter().enumerate().map(|(place, one)| (one, format!("{here}[{place}]"))));
                }
                (name, _) if SCHEMAS.contains(&name) => waiting.push((rule, here)),
                (name, Value::Array(each)) if LISTS.contains(&name) && !each.is_empty() => {
                    waiting.extend(each.iter().enumerate().map(|(place, one)| (one, format!("{here}[{place}]"))));
                }
                (name, _) if LISTS.contains(&name) => return Some(format!("{here} is no list of schemas")),
                (name, Value::Object(each)) if NAMED.contains(&name) => {
                    waiting.extend(each.iter().map(|(name, one)| (one, format!("{here}.{name}"))));
                }
                (name, _) if NAMED.contains(&name) => return Some(format!("{here} is no object of schemas")),
                ("required", Value::Array(names)) if names.iter().all(Value::is_string) => {}
                ("required", _) => return Some(format!("{here} is no list of names")),
                ("enum", Value::Array(_)) => {}
                ("enum", _) => return Some(format!("{here} is no list of values")),
                (name, _) if COUNTS.contains(&name) && !rule.is_u64() => {
                    return Some(format!("{here} is no whole number from 0"));
                }
                (name, _) if NUMBERS.contains(&name) && !rule.is_number() => {
                    return Some(format!("{here} is no number"));
                }
                _ => {}
            }
        }
    }
    None
}

/// Each text and number on a line of its own.
fn leaves(value: &Value, name: &str, out: &mut String) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => {
            // A number can cite nothing: it is held against all sources, as one in a heading. Writing to a string does
            // not fail.
            let _ = write!(out, "# {name} {number}\n\n");
        }
        Value::String(text) => {
            let _ = write!(out, "{text}\n\n");
        }
        Value::Array(items) => items.iter().for_each(|item| leaves(item, name, out)),
        Value::Object(fields) => fields.iter().for_each(|(name, field)| leaves(field, name, out)),
    }
}

fn check(value: &Value, schema: &Value, at: &str, problems: &mut Vec<String>) {
    if problems.len() > MAX_VIOLATIONS {
        return;
    }
    let Some(rules) = schema.as_object() else { return };
    let number = |name: &str| rules.get(name).and_then(Value::as_f64);
    if let Some(kind) = rules.get("type") {
        let fits = match kind {
            Value::String(name) => is(value, name),
            Value::Array(names) => names.iter().filter_map(Value::as_str).any(|name| is(value, name)),
            _ => true,
        };
        if !fits {
            problems.push(format!("{at} is not of type {kind}"));
            return;
        }
    }
    if let Some(options) = rules.get("enum").and_then(Value::as_array)
        && !options.contains(value)
    {
        problems.push(format!("{at} is none of {}", Value::from(options.clone())));
    }
    if rules.get("const").is_some_and(|only| only != value) {
        problems.push(format!("{at} is not {}", rules.get("const").unwrap_or(&Value::Null)));
    }
    for (name, all) in [("anyOf", false), ("oneOf", false), ("allOf", true)] {
        let Some(options) = rules.get(name).and_then(Value::as_array) else { continue };
        let fits = |option: &Value| {
            let mut found = Vec::new();
            check(value, option, at, &mut found);
            found.is_empty()
        };
        if if all { !options.iter().all(fits) } else { !options.iter().any(fits) } {
            problems.push(format!("{at} does not keep to {name}"));
        }
    }
    let mut bound = |size: f64, least: &str, most: &str, what: &str| {
        if number(least).is_some_and(|least| size < least) || number(most).is_some_and(|most| size > most) {
            problems.push(format!("{at}: {what} is out of bounds"));
        }
    };
    match value {
        Value::Number(_) => bound(value.as_f64().unwrap_or(0.0), "minimum", "maximum", "the number"),
        Value::String(text) => bound(text.chars().count() as f64, "minLength", "maxLength", "the length"),
        Value::Array(items) => {
            bound(items.len() as f64, "minItems", "maxItems", "the number of items");
            if let Some(each) = rules.get("items") {
                for (place, item) in items.iter().enumerate() {
                    check(item, each, &format!("{at}[{place}]"), problems);
                }
            }
        }
        Value::Object(fields) => {
            let known = rules.get("properties").and_then(Value::as_object);
            for name in rules.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
            {
                if !fields.contains_key(name) {
                    problems.push(format!("{at} lacks {name:?}"));
                }
            }
            for (name, field) in fields {
                let below = format!("{at}.{name}");
                match (known.and_then(|known| known.get(name)), rules.get("additionalProperties")) {
                    (None, Some(Value::Bool(false))) => problems.push(format!("{at} must not hold {name:?}")),
                    (Some(rule), _) | (None, Some(rule)) => check(field, rule, &below, problems),
                    (None, None) => {}
                }
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_base::sources::Source;

    #[test]
    fn x15_a_schema_that_is_none_is_refused_by_its_place() {
        let of = |schema: Value| schema_mistake(&schema).unwrap_or_default();
        for (schema, place) in [
            (serde_json::json!({"type": "strnig"}), "$.type"),
            (serde_json::json!({"type": ["string", "nul"]}), "$.type[1]"),
            (serde_json::json!({"type": 7}), "$.type"),
            (serde_json::json!({"type": []}), "$.type"),
            (serde_json::json!({"properties": {"a": {"type": "int"}}}), "$.properties.a.type"),
            (serde_json::json!({"items": {"properties": {"b": {"type": "text"}}}}), "$.items.properties.b.type"),
            (serde_json::json!({"anyOf": [{"type": "string"}, {"type": "x"}]}), "$.anyOf[1].type"),
            (serde_json::json!({"additionalProperties": {"type": "x"}}), "$.additionalProperties.type"),
            (serde_json::json!({"$defs": {"c": {"type": "x"}}}), "$.$defs.c.type"),
            (serde_json::json!({"properties": {"a": "string"}}), "$.properties.a"),
            (serde_json::json!({"properties": ["a"]}), "$.properties"),
            (serde_json::json!({"required": "a"}), "$.required"),
            (serde_json::json!({"enum": "a"}), "$.enum"),
            (serde_json::json!({"minLength": -1}), "$.minLength"),
            (serde_json::json!({"maximum": "9"}), "$.maximum"),
            (serde_json::json!({"items": 3}), "$.items"),
        ] {
            assert!(of(schema.clone()).starts_with(&format!("{place} ")), "{schema}: {}", of(schema.clone()));
        }
        for schema in [
            serde_json::json!({}),
            serde_json::json!({"type": ["string", "null"], "items": true, "additionalProperties": false}),
            serde_json::json!({"properties": {"type": {"type": "string"}, "enum": {"enum": [1]}}, "x-mine": {"type": 3}}),
            serde_json::json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}, "default": {"type": "none"}}),
        ] {
            assert_eq!(schema_mistake(&schema), None, "{schema}");
        }
    }

    #[test]
    fn x15_an_answer_may_be_json_of_a_schema() {
        let sources = [Source {
            reference: "a.md".into(),
            line: 1,
            end_line: 1,
            text: "It holds ten pages.".into(),
            ..Source::default()
        }];
        let evidence = Evidence { question: "How many pages?", sources: &sources, tools: &[], unseen: false };
        let schema = serde_json::json!({
            "type": "object", "required": ["answer", "pages"], "additionalProperties": false,
            "properties": {"answer": {"type": "string", "minLength": 3}, "pages": {"type": "integer", "maximum": 99}},
        });
        let codes = |answer: &str| -> Vec<&str> {
            verify_json(answer, &schema, &evidence, &Lengths::default()).issues.iter().map(|one| one.code).collect()
        };
        assert!(!codes(r#"{"answer": "It holds 10 pages. [1]", "pages": 10}"#).contains(&"SCHEMA"));
        assert!(
            verify_json(
                r#"{"answer": "It holds 10 pages. [1]", "pages": 10}"#,
                &schema,
                &evidence,
                &Lengths::default()
            )
            .passed()
        );
        assert_eq!(codes("It holds 10 pages. [1]"), ["INVALID_JSON"]);
        assert!(codes(r#"{"answer": "It holds 10 pages. [1]"}"#).contains(&"SCHEMA"));
        assert!(codes(r#"{"answer": "It holds 10 pages. [1]", "pages": "10", "x": 1}"#).contains(&"SCHEMA"));
        assert!(codes(r#"{"answer": "It holds 10 pages. [1]", "pages": 11}"#).contains(&"UNSUPPORTED"));
        assert!(codes(r#"{"answer": "It holds 10 pages.", "pages": 10}"#).contains(&"UNCITED"));
    }
}
