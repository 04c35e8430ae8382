//! Whether a value is what a JSON schema asks for, as far as choosing between candidates and telling a model what is
//! wrong needs it: all that JSON Schema asserts from draft 4 to 2020-12, but `format`, which asserts nothing, and what
//! depends on which other keywords looked at a key (`unevaluated…`). What it doesn't know it doesn't judge.

mod members;
mod same;

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value};

use self::same::{multiple, same};
use super::references::{Document, Target};

/// How many problems are told.
const MOST: usize = 16;
/// How deep schemas are followed: references may go in circles.
const DEEPEST: usize = 160;
/// How many steps a check may take: alternatives multiply.
const STEPS: usize = 1 << 20;
/// How large a pattern may become.
const LARGEST_PATTERN: usize = 1 << 20;

/// One thing in which a value isn't what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Misfit {
    /// Where: `answer`, `answer.items[2].name`.
    pub at: String,
    /// What should be there.
    pub what: String,
}

/// What doesn't fit; empty if all does.
pub(super) fn misfits(value: &Value, schema: &Value) -> Vec<Misfit> {
    let mut check = Check {
        document: Document::new(schema),
        found: Vec::new(),
        path: "answer".to_owned(),
        steps: STEPS,
        quiet: 0,
        bad: 0,
        gave_up: false,
        patterns: BTreeMap::new(),
    };
    check.value(value, schema, 0);
    check.found
}

struct Check<'a> {
    document: Document<'a>,
    found: Vec<Misfit>,
    path: String,
    steps: usize,
    /// Inside alternatives problems are counted, not told.
    quiet: usize,
    bad: usize,
    /// Something wasn't looked at to its end.
    gave_up: bool,
    /// The patterns that were met; `None` where one says what can't be judged here.
    patterns: BTreeMap<&'a str, Option<Regex>>,
}

impl<'a> Check<'a> {
    fn say(&mut self, what: impl FnOnce() -> String) {
        self.bad += 1;
        if self.quiet == 0 && self.found.len() < MOST {
            self.found.push(Misfit { at: self.path.clone(), what: what() });
        }
    }

    /// Checks one part of the value.
    fn part(&mut self, name: impl FnOnce(&mut String), value: &Value, schema: &'a Value, depth: usize) {
        let length = self.path.len();
        if self.quiet == 0 {
            name(&mut self.path);
        }
        self.value(value, schema, depth);
        self.path.truncate(length);
    }

    /// How many things are wrong with `value` under an alternative; `None` if that can't be known.
    fn tried(&mut self, value: &Value, schema: &'a Value, depth: usize) -> Option<usize> {
        let (before, gave_up) = (std::mem::take(&mut self.bad), std::mem::take(&mut self.gave_up));
        self.quiet += 1;
        self.value(value, schema, depth);
        self.quiet -= 1;
        let unknown = std::mem::replace(&mut self.gave_up, gave_up);
        self.gave_up |= unknown;
        let bad = std::mem::replace(&mut self.bad, before);
        (bad > 0 || !unknown).then_some(bad)
    }

    fn value(&mut self, value: &Value, schema: &'a Value, depth: usize) {
        let schema = match schema {
            Value::Bool(false) => return self.say(|| "must not be there".to_owned()),
            Value::Object(schema) => schema,
            _ => return,
        };
        if self.steps == 0 || depth > DEEPEST {
            self.gave_up = true;
            return;
        }
        self.steps -= 1;
        if let Some(Value::String(reference)) = schema.get("$ref")
            && let Target::Here(target) = self.document.resolve(self.document.root, reference)
        {
            self.value(value, target, depth + 1);
        }
        if !self.typed(value, schema) {
            return;
        }
        if let Some(constant) = schema.get("const")
            && !same(value, constant)
        {
            self.say(|| format!("must be {}", shown(constant)));
        }
        if let Some(Value::Array(all)) = schema.get("enum")
            && !all.iter().any(|one| same(value, one))
        {
            self.say(|| {
                let listed: Vec<_> = all.iter().take(12).map(shown).collect();
                format!("must be one of {}{}", listed.join(", "), if all.len() > 12 { ", …" } else { "" })
            });
        }
        match value {
            Value::Object(_) => self.object(value, schema, depth),
            Value::Array(items) => self.array(items, schema, depth),
            Value::String(text) => {
                let length = text.chars().count() as u64;
                self.bounds(length, schema, ["minLength", "maxLength"], "characters");
                if let Some(Value::String(pattern)) = schema.get("pattern")
                    && self.matches(pattern, text) == Some(false)
                {
                    self.say(|| format!("must match the pattern {pattern:?}"));
                }
            }
            Value::Number(number) => self.number(number, schema),
            Value::Null | Value::Bool(_) => {}
        }
        if let Some(Value::Array(all)) = schema.get("allOf") {
            for one in all {
                self.value(value, one, depth + 1);
            }
        }
        if let Some(Value::Array(any)) = schema.get("anyOf") {
            self.alternatives(value, any, depth);
        }
        if let Some(Value::Array(any)) = schema.get("oneOf") {
            self.one(value, any, depth);
        }
        if let Some(not) = schema.get("not")
            && self.tried(value, not, depth + 1) == Some(0)
        {
            self.say(|| "must not be what its schema excludes".to_owned());
        }
        if let Some(condition) = schema.get("if") {
            let branch = match self.tried(value, condition, depth + 1) {
                Some(0) => schema.get("then"),
                Some(_) => schema.get("else"),
                None => None,
            };
            if let Some(branch) = branch {
                self.value(value, branch, depth + 1);
            }
        }
    }

    /// One alternative must fit, and no other.
    fn one(&mut self, value: &Value, any: &'a [Value], depth: usize) {
        let mut fits = 0;
        for one in any {
            match self.tried(value, one, depth + 1) {
                Some(0) => fits += 1,
                Some(_) => {}
                None => return,
            }
        }
        match fits {
            0 => self.alternatives(value, any, depth),
            1 => {}
            _ => self.say(|| format!("must fit one alternative alone, not {fits} of them")),
        }
    }

    /// Whether the pattern is found in the text, where that can be judged.
    fn matches(&mut self, pattern: &'a str, text: &str) -> Option<bool> {
        let compiled = self
            .patterns
            .entry(pattern)
            .or_insert_with(|| regex::RegexBuilder::new(pattern).size_limit(LARGEST_PATTERN).build().ok());
        compiled.as_ref().map(|pattern| pattern.is_match(text))
    }

    /// The alternative that is nearest says what is wrong.
    fn alternatives(&mut self, value: &Value, any: &'a [Value], depth: usize) {
        let mut nearest = None;
        for one in any {
            // An alternative of another type is never the nearest while there is one of this type.
            let other = one.get("type").is_some_and(|name| !is_any(value, name));
            match self.tried(value, one, depth + 1) {
                None | Some(0) => return,
                Some(bad) if nearest.is_none_or(|(least, _)| (other, bad) < least) => {
                    nearest = Some(((other, bad), one));
                }
                _ => {}
            }
        }
        match nearest {
            Some(((false, _), one)) => self.value(value, one, depth + 1),
            _ => self.say(|| {
                let names = any.iter().filter_map(|one| one.get("type").map(named));
                let names: Vec<_> = names.collect();
                if names.len() == any.len() && !names.is_empty() {
                    format!("must be {}", names.join(" or "))
                } else {
                    "fits none of the alternatives".to_owned()
                }
            }),
        }
    }

    fn typed(&mut self, value: &Value, schema: &Map<String, Value>) -> bool {
        let Some(name) = schema.get("type") else { return true };
        if is_any(value, name) || (value.is_null() && schema.get("nullable") == Some(&Value::Bool(true))) {
            return true;
        }
        self.say(|| format!("must be {}, not {}", named(name), kind(value)));
        false
    }

    fn bounds(&mut self, length: u64, schema: &Map<String, Value>, keys: [&str; 2], of: &str) {
        let bound = |key| schema.get(key).and_then(Value::as_u64);
        if let Some(least) = bound(keys[0]).filter(|least| length < *least) {
            self.say(|| format!("must have at least {least} {of}, not {length}"));
        }
        if let Some(most) = bound(keys[1]).filter(|most| length > *most) {
            self.say(|| format!("must have at most {most} {of}, not {length}"));
        }
    }

    fn number(&mut self, number: &serde_json::Number, schema: &Map<String, Value>) {
        if let Some(Value::Number(step)) = schema.get("multipleOf")
            && !multiple(number, step)
        {
            self.say(|| format!("must be a multiple of {step}"));
        }
        let Some(number) = number.as_f64() else { return };
        let bound = |key| schema.get(key).and_then(Value::as_f64);
        // Draft 4 says only whether the bound itself is excluded.
        let strict = |key| schema.get(key) == Some(&Value::Bool(true));
        let rules: [(&str, &str, Holds, &str); 4] = [
            ("minimum", "exclusiveMinimum", |number, bound| number >= bound, "at least"),
            ("maximum", "exclusiveMaximum", |number, bound| number <= bound, "at most"),
            ("exclusiveMinimum", "", |number, bound| number > bound, "more than"),
            ("exclusiveMaximum", "", |number, bound| number < bound, "less than"),
        ];
        for (key, exclusive, holds, words) in rules {
            if let Some(bound) = bound(key) {
                if !holds(number, bound) {
                    self.say(|| format!("must be {words} {bound}"));
                } else if strict(exclusive) && number.to_bits() == bound.to_bits() {
                    self.say(|| format!("must not be {bound} itself"));
                }
            }
        }
    }
}

/// Whether a number keeps a bound.
type Holds = fn(f64, f64) -> bool;

fn is_any(value: &Value, name: &Value) -> bool {
    match name {
        Value::String(name) => is(value, name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(|name| is(value, name)),
        _ => true,
    }
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "integer" => match value {
            Value::Number(number) => {
                number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
            }
            _ => false,
        },
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn named(name: &Value) -> String {
    match name {
        Value::String(name) => match name.as_str() {
            "integer" => "an integer".to_owned(),
            "array" => "an array".to_owned(),
            "object" => "an object".to_owned(),
            "null" => "null".to_owned(),
            other => format!("a {other}"),
        },
        Value::Array(names) => names.iter().map(named).collect::<Vec<_>>().join(" or "),
        _ => "anything".to_owned(),
    }
}

/// A value of a schema, cut where it is long.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 40 { text } else { text.chars().take(39).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(value: &Value, schema: &Value) -> Vec<String> {
        misfits(value, schema).into_iter().map(|misfit| format!("{} {}", misfit.at, misfit.what)).collect()
    }

    #[test]
    fn what_fits_says_nothing_and_what_does_not_says_where() {
        let schema = json!({
            "type": "object",
            "required": ["plan", "score"],
            "additionalProperties": false,
            "properties": {
                "plan": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/step"}},
                "score": {"type": "integer", "minimum": 0, "maximum": 10},
                "mood": {"enum": ["good", "bad"]},
                "note": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]},
            },
            "$defs": {"step": {
                "type": "object",
                "required": ["do"],
                "properties": {"do": {"type": "string"}, "then": {"type": "array", "items": {"$ref": "#/$defs/step"}}},
            }},
        });
        let good = json!({"plan": [{"do": "x", "then": [{"do": "y"}]}], "score": 3, "mood": "good", "note": null});
        assert_eq!(told(&good, &schema), Vec::<String>::new());
        assert!(told(&json!({"plan": [{"do": "x"}], "score": 3.0}), &schema).is_empty());
        let bad = json!({"plan": [{"do": 1, "then": [{}]}], "score": 11.5, "mood": "ok", "note": "long", "more": 1});
        assert_eq!(
            told(&bad, &schema),
            [
                "answer.mood must be one of \"good\", \"bad\"",
                "answer must not hold \"more\"",
                "answer.note must have at most 3 characters, not 4",
                "answer.plan[0].do must be a string, not a number",
                "answer.plan[0].then[0] lacks \"do\"",
                "answer.score must be an integer, not a number",
            ]
        );
        assert_eq!(told(&json!([]), &schema), ["answer must be an object, not an array"]);
        assert_eq!(
            told(&json!({"plan": [], "score": 1, "note": 5}), &schema),
            ["answer.note must be a string or null", "answer.plan must have at least 1 items, not 0"]
        );
    }

    #[test]
    fn what_draft_4_to_2020_12_assert_is_judged() {
        let part = |schema: Value| json!({"properties": {"a": schema}});
        for (schema, good, bad) in [
            (json!({"not": {"required": ["a"]}}), json!({"b": 1}), json!({"a": 1})),
            (json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}), json!({"a": 1}), json!({"a": 1, "b": 1})),
            (json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}), json!({"b": 1}), json!({"c": 1})),
            (part(json!({"pattern": "^x\\d"})), json!({"a": "x1"}), json!({"a": "ax1"})),
            (part(json!({"uniqueItems": true})), json!({"a": [1, 2, "1", [1]]}), json!({"a": [1, 1.0]})),
            (
                part(json!({"uniqueItems": true})),
                json!({"a": [{"x": 1}]}),
                json!({"a": [{"x": 1, "y": 2}, {"y": 2, "x": 1.0}]}),
            ),
            (part(json!({"multipleOf": 0.1})), json!({"a": 0.3}), json!({"a": 0.35})),
            (part(json!({"multipleOf": 7})), json!({"a": 49.0}), json!({"a": 50})),
            (json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}}), json!({"c": 1}), json!({"a": 1})),
            (json!({"if": {"required": ["a"]}, "else": {"required": ["b"]}}), json!({"a": 1}), json!({"c": 1})),
            (json!({"propertyNames": {"maxLength": 2}}), json!({"ab": 1}), json!({"abc": 1})),
            (part(json!({"contains": {"const": 1}})), json!({"a": [2, 1]}), json!({"a": [2]})),
            (
                part(json!({"contains": {}, "minContains": 2, "maxContains": 2})),
                json!({"a": [2, 1]}),
                json!({"a": [1, 2, 3]}),
            ),
            (json!({"dependentRequired": {"a": ["b"]}}), json!({"a": 1, "b": 1}), json!({"a": 1})),
            (json!({"dependencies": {"a": ["b"]}}), json!({"c": 1}), json!({"a": 1})),
            (json!({"dependencies": {"a": {"required": ["b"]}}}), json!({"c": 1}), json!({"a": 1})),
            (json!({"dependentSchemas": {"a": {"maxProperties": 1}}}), json!({"a": 1}), json!({"a": 1, "b": 2})),
            (json!({"const": {"a": 1.0}}), json!({"a": 1}), json!({"a": 2})),
            (json!({"enum": [{"a": [1]}]}), json!({"a": [1.0]}), json!({"a": [1, 1]})),
            (
                json!({"const": 9_007_199_254_740_993_i64}),
                json!(9_007_199_254_740_993_i64),
                json!(9_007_199_254_740_992_i64),
            ),
            (
                json!({"patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": false}),
                json!({"x": 1}),
                json!({"y": 1}),
            ),
            (json!({"patternProperties": {"^x": {"type": "integer"}}}), json!({"y": "1"}), json!({"xy": "1"})),
            (
                part(json!({"items": [{"type": "integer"}], "additionalItems": false})),
                json!({"a": [1]}),
                json!({"a": [1, 2]}),
            ),
            (part(json!({"maximum": 3, "exclusiveMaximum": true})), json!({"a": 2}), json!({"a": 3})),
        ] {
            assert_eq!(told(&good, &schema), Vec::<String>::new(), "{schema}");
            assert!(!told(&bad, &schema).is_empty(), "{schema}: {bad}");
        }
        // What can't be judged isn't.
        for schema in [json!({"pattern": "(?=x)"}), json!({"not": {"$ref": "#"}}), json!({"format": "date"})] {
            assert_eq!(told(&json!("y"), &schema), Vec::<String>::new(), "{schema}");
        }
    }

    #[test]
    fn circles_and_blown_up_alternatives_end() {
        let circle = json!({"$ref": "#"});
        assert!(told(&json!(1), &circle).is_empty());
        let mut value = json!(1);
        for _ in 0..100 {
            value = json!([value]);
        }
        let twice =
            json!({"anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"items": {"$ref": "#"}, "minItems": 2}]});
        assert!(misfits(&value, &twice).len() <= MOST);
    }
}
