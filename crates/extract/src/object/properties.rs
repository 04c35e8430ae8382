//! Objects read in pieces: no cut can be seen, nothing panics.

use proptest::prelude::*;

use super::{super::probe::*, *};

fn make(kind: u8) -> Box<dyn Body> {
    match kind {
        0 => Box::new(Object::new(&["name", "function"], &["arguments", "parameters"], false)),
        1 => Box::new(Keyed::new()),
        2 => Box::new(super::super::named::Named::new("", &["[ARGS]", ""], false, false, "[CALL_ID]")),
        _ => Box::new(super::super::named::Named::new("function<｜tool▁sep｜>", &["\n"], true, true, "")),
    }
}

/// Text that is JSON-like often enough.
pub(crate) fn scraps() -> impl Strategy<Value = Vec<u8>> {
    let scrap = prop_oneof![
        prop::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"",
            "'",
            "\\",
            "\n",
            " ",
            "\t",
            "\"name\"",
            "\"arguments\"",
            "\"a\": ",
            "\"f\"",
            "1",
            "-0.5e3",
            "007",
            "true",
            "null",
            "None",
            "NaN",
            "abc",
            "x y",
            "//",
            "/*",
            "*/",
            "#",
            "...",
            "…",
            "“",
            "”",
            "’",
            "`",
            "```",
            "```json",
            "</tool_call>",
            "<|end|>",
            "<｜x",
            "\\u",
            "\\ud83d",
            "\\ude80",
            "\\n",
            "\\\"",
            "🚀",
            "é",
            "\u{0}",
            "\u{feff}",
            "\u{a0}",
            "：",
            "，",
            ";",
            "+",
            "(",
            ")",
            "=",
            "=>",
            "{}",
            "{\"a\": 1}",
            "{\"name\": \"f\", \"arguments\": {",
            "f[ARGS]{",
            "functions.f:0",
            "null}",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 1..4),
        "[ -~]{1,6}".prop_map(String::into_bytes),
    ];
    prop::collection::vec(scrap, 0..24).prop_map(|scraps| scraps.concat())
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<f64>().prop_map(serde_json::Value::from),
        "\\PC{0,12}".prop_map(serde_json::Value::from),
        any::<String>().prop_map(serde_json::Value::from),
        prop::sample::select(vec!["</tool_call>", "\"}", "{\"a\": 1}", "\\", "a\", \"b\": ", "```"])
            .prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
            prop::collection::vec((".{0,8}", inner), 0..5)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

fn sound(kind: u8, text: &[u8], deepest: usize) {
    let probe = Probe { deepest, ..Probe::new() };
    let (probe, _) = every_way(&|| make(kind), &probe, text);
    for call in probe.calls {
        if call.complete == Some(true) {
            let read = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&call.json);
            // A number may be too large for serde_json's tree, never wrong.
            if let Err(error) = read {
                assert!(error.to_string().contains("out of range"), "{error}: {}", call.json);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn scraps_are_read_the_same_cut_anywhere(kind in 0u8..4, text in scraps()) {
        sound(kind, &text, 5);
    }

    #[test]
    fn broken_arguments_come_out_as_json(text in scraps()) {
        let text = [b"{\"name\": \"f\", \"arguments\": {", text.as_slice(), b"}}\n</tool_call>"].concat();
        sound(0, &text, 100);
    }

    #[test]
    fn calls_pass_byte_for_byte(value in json(), pretty in any::<bool>(), first in any::<bool>()) {
        let arguments = serde_json::json!({ "v": value });
        let text = if pretty { format!("{arguments:#}") } else { arguments.to_string() };
        let call = if first {
            format!("{{\"name\": \"f\", \"arguments\": {text}}}")
        } else {
            format!("{{\"arguments\": {text}, \"name\": \"f\"}}")
        };
        let (probe, step) = every_way(&|| make(0), &Probe::new(), call.as_bytes());
        prop_assert_eq!(step, Step::Done);
        prop_assert_eq!(&probe.calls[0].json, &text);
        prop_assert!(probe.calls[0].mends.is_empty());
        prop_assert_eq!(probe.calls[0].complete, Some(true));
        // The same, in a string.
        let call = serde_json::json!({"name": "f", "arguments": text}).to_string();
        let (probe, _) = every_way(&|| make(0), &Probe::new(), call.as_bytes());
        prop_assert_eq!(&probe.calls[0].json, &text);
    }

    #[test]
    fn a_mutated_call_never_contradicts_itself(value in json(), at in any::<prop::sample::Index>(), with in scraps(), drop in 0usize..3) {
        let mut call = format!("{{\"name\": \"f\", \"arguments\": {}}}", serde_json::json!({ "v": value })).into_bytes();
        let at = at.index(call.len());
        let end = (at + drop).min(call.len());
        call.splice(at..end, with.into_iter().take(6));
        sound(0, &call, 128);
    }
}

#[test]
fn d17_an_equals_sign_at_the_end_is_read_the_same_cut_anywhere() {
    for kind in 0..4 {
        for text in [
            "1\"{A=A",
            "{\"name\": \"f\", \"arguments\": {A=A",
            "f[ARGS]{A=A",
            "{\"name\": \"f\", \"arguments\": 1\"{A=A",
        ] {
            sound(kind, text.as_bytes(), 5);
        }
    }
}
