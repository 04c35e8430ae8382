use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::signature::Signatures;

fn tools(schema: &Value) -> Signatures {
    let mut tools = Signatures::default();
    tools.add("f", schema);
    tools
}

fn schema() -> Value {
    json!({"properties": {
        "n": {"type": "integer"},
        "x": {"type": ["number", "null"]},
        "b": {"type": "boolean"},
        "s": {"type": "string"},
        "l": {"type": "array", "items": {"type": "integer"}},
        "o": {"type": "object", "properties": {"n": {"type": "integer"}, "\"q": {"type": "boolean"}}},
        "any": {},
    }})
}

/// What is said of arguments, in pieces of so many bytes, and what is found: `?` for what was kept.
fn said(json: &str, size: usize) -> (String, Vec<String>) {
    let tools = tools(&schema());
    let (mut types, mut out) = (Types::new(), String::new());
    let mut pieces = json;
    while !pieces.is_empty() {
        let cut = (size..pieces.len()).find(|at| pieces.is_char_boundary(*at)).unwrap_or(pieces.len());
        let (piece, rest) = pieces.split_at(cut);
        out.push_str(types.push(piece, tools.get("f").unwrap()));
        pieces = rest;
    }
    let findings = types.findings().into_iter().map(|finding| match finding {
        Finding::Type { place, read, .. } => format!("{place}{}", if read { "" } else { "?" }),
        Finding::Wrapped => "wrapped".to_owned(),
        Finding::Doubt(_) => "doubt".to_owned(),
    });
    (out, findings.collect())
}

#[test]
fn e07_what_plainly_means_the_declared_type_is_read_and_told() {
    for (json, made, findings) in [
        (r#"{"n": "7"}"#, r#"{"n": 7}"#, &["n"][..]),
        (r#"{"n": "07", "s": "07"}"#, r#"{"n": 7, "s": "07"}"#, &["n"]),
        (r#"{"n": " 12 "}"#, r#"{"n": 12}"#, &["n"]),
        (r#"{"n": "000"}"#, r#"{"n": 0}"#, &["n"]),
        (r#"{"n": "1.5"}"#, r#"{"n": "1.5"}"#, &["n?"]),
        (r#"{"n": 1.5, "x": 1.5}"#, r#"{"n": 1.5, "x": 1.5}"#, &["n?"]),
        (r#"{"n": "seven"}"#, r#"{"n": "seven"}"#, &["n?"]),
        (r#"{"n": "7\n"}"#, r#"{"n": "7\n"}"#, &["n?"]),
        (r#"{"n": ""}"#, r#"{"n": ""}"#, &["n?"]),
        (r#"{"x": "null", "b": "True"}"#, r#"{"x": null, "b": true}"#, &["x", "b"]),
        (r#"{"b": "yes", "x": true}"#, r#"{"b": "yes", "x": true}"#, &["b?", "x?"]),
        (r#"{"s": 7, "any": "7"}"#, r#"{"s": "7", "any": "7"}"#, &["s"]),
        (r#"{"s":-1.50,"n":7}"#, r#"{"s":"-1.50","n":7}"#, &["s"]),
        (r#"{"s": null, "n": null}"#, r#"{"s": null, "n": null}"#, &["s?", "n?"]),
        (r#"{"l": [1, "2", "x"]}"#, r#"{"l": [1, 2, "x"]}"#, &["l[]", "l[]?"]),
        (r#"{"o": {"n": "3", "\"q": "false"}}"#, r#"{"o": {"n": 3, "\"q": false}}"#, &["o.n", "o.\"q"]),
        (r#"{"o": "{}", "l": {}}"#, r#"{"o": "{}", "l": {}}"#, &["o?", "l?"]),
        (r#"{"none": {"n": "7"}}"#, r#"{"none": {"n": "7"}}"#, &[]),
    ] {
        for size in [1, 2, 3, 100] {
            let findings: Vec<String> = findings.iter().map(|&finding| finding.to_owned()).collect();
            assert_eq!(said(json, size), (made.to_owned(), findings), "{json} by {size}");
        }
    }
}

#[test]
fn e07_arguments_in_an_argument_are_taken_out_if_they_are_the_tools() {
    for (json, made, findings) in [
        (r#"{"arguments": {"n": 1}}"#, r#"{"n": 1}"#, &["wrapped"][..]),
        (r#"{ "parameters" : { "n" : "1", "o": {"n": 2} } }"#, r#"{  "n" : 1, "o": {"n": 2}  }"#, &["n", "wrapped"]),
        (r#"{"arguments": {"none": 1}}"#, r#"{"arguments": {"none": 1}}"#, &[]),
        (r#"{"arguments": {}}"#, r#"{"arguments": {}}"#, &[]),
        (r#"{"arguments": {"n{": 1}, "n": "1"}"#, r#"{"arguments": {"n{": 1}, "n": 1}"#, &["n"]),
        (r#"{"arguments": "{\"n\": 1}"}"#, r#"{"arguments": "{\"n\": 1}"}"#, &[]),
        (r#"{"arguments": [{"n": 1}]}"#, r#"{"arguments": [{"n": 1}]}"#, &[]),
        (r#"{"arguments": {"arguments": {"n": 1}}}"#, r#"{"arguments": {"arguments": {"n": 1}}}"#, &[]),
        (r#"{"arguments": {"n": 1}, "s": "x"}"#, r#"{"n": 1, "s": "x"}"#, &["doubt"]),
        (r#"{"n": 1, "arguments": {"n": 2}}"#, r#"{"n": 1, "arguments": {"n": 2}}"#, &[]),
    ] {
        for size in [1, 2, 5, 100] {
            let findings: Vec<String> = findings.iter().map(|&finding| finding.to_owned()).collect();
            assert_eq!(said(json, size), (made.to_owned(), findings), "{json} by {size}");
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f32>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
        "[a\"\\\\ 0-9é{}\\[\\],:]{0,6}".prop_map(Value::from),
        prop::sample::select(vec!["7", "true", "null", "07"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let name = prop::sample::select(vec!["n", "x", "b", "s", "l", "o", "any", "\"q", "arguments", "é\\"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..5)
                .prop_map(|members| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_said_is_json_however_it_is_cut(value in any_json(), size in 1_usize..9, pretty in any::<bool>()) {
        let value = json!({"o": value.clone(), "n": 1, "any": value});
        let json = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let whole = said(&json, json.len());
        prop_assert!(serde_json::from_str::<Value>(&whole.0).is_ok(), "{}", whole.0);
        prop_assert_eq!(&said(&json, size), &whole);
        // What fits is what it was.
        if whole.1.is_empty() {
            prop_assert_eq!(&whole.0, &json);
        }
        prop_assert!(said(&whole.0, size).1.iter().all(|finding| finding.ends_with('?')), "{}", whole.0);
    }

    #[test]
    fn anything_is_taken(text in ".{0,60}", size in 1_usize..9) {
        let whole = said(&text, text.len().max(1));
        prop_assert_eq!(said(&text, size), whole);
    }
}
