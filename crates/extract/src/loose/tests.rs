//! Loose calls read in every split: strings between markers, bare keys, what is mended and what is not.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    super::{
        recorder::{Fed, Recorder, everywhere, feed},
        signature::Signatures,
    },
    *,
};

const QUOTE: &str = "<|\"|>";

fn signatures() -> Signatures {
    let mut signatures = Signatures::default();
    let parameters = [("zip".to_owned(), Kind::String), ("count".to_owned(), Kind::Integer)];
    signatures.insert("typed", Signature { parameters: parameters.into_iter().collect(), ..Signature::default() });
    signatures
}

fn read_with(quote: &'static str, text: &[u8]) -> Fed {
    everywhere(&|| Box::new(Loose::new(quote)), &|| Recorder::new(signatures()), text)
}

fn read(text: &str) -> Fed {
    read_with(QUOTE, text.as_bytes())
}

#[test]
fn calls_of_both_families() {
    let fed =
        read(r#"call:get_weather{city:<|"|>Oslo, {"x"}<tool_call|><|"|>,n:42,o:{a:[1,2.5,-3e2],b:{}},b:true,z:null}"#);
    assert_eq!(fed.step, Step::Done);
    assert_eq!(fed.told.calls[0].name, "get_weather");
    assert_eq!((fed.told.calls[0].complete, fed.told.calls[0].repaired.len()), (Some(true), 0));
    assert_eq!(
        fed.told.calls[0].value(),
        json!({"city": "Oslo, {\"x\"}<tool_call|>", "n": 42, "o": {"a": [1, 2.5, -300.0], "b": {}}, "b": true, "z": null})
    );
    let text = b"\ncall:f{a:<escape>x\n\"y\"\\<escape>, b : [<escape><escape> , 1,] }\n";
    let fed = read_with("<escape>", text);
    assert_eq!(fed.told.calls[0].value(), json!({"a": "x\n\"y\"\\", "b": ["", 1]}));
    assert_eq!(fed.told.bytes, text.len() - 1);
}

#[test]
fn several_calls_and_what_follows() {
    let fed = read("call:f{}call:a.b-c{x:1}, call:f{}<tool_call|>");
    assert_eq!((fed.step, fed.told.calls.len()), (Step::Done, 3));
    assert_eq!(fed.told.bytes, 33);
    assert_eq!(fed.told.calls[1].name, "a.b-c");
    for (text, taken) in [("call:f{} call: me", 8), ("call:f{}\n", 8), ("call:f{},", 8), ("call:f {} x", 9)] {
        let fed = read(text);
        assert_eq!((fed.step, fed.told.bytes), (Step::Done, taken), "{text}");
    }
}

#[test]
fn json_strings_and_quoted_keys() {
    let fed = read(r#"call:f{"a\/b":"x \" <|\"|> \u003c|\"|> \ud83d\ude80 \\",<|"|>k:1<|"|>:2}"#);
    assert_eq!(fed.told.calls[0].value(), json!({"a/b": "x \" <|\"|> <|\"|> 🚀 \\", "k:1": 2}));
    assert!(fed.told.calls[0].repaired.is_empty());
}

#[test]
fn what_is_mended_says_so() {
    for (text, value) in [
        ("call:f{city:New York,when:12:30}", json!({"city": "New York", "when": "12:30"})),
        ("call:typed{zip:02134}", json!({"zip": "02134"})),
        ("call:typed{zip:12345}", json!({"zip": "12345"})),
        (r#"call:f{a:"x\d \ud83d"}"#, json!({"a": "x\\d \u{FFFD}"})),
    ] {
        let fed = read(text);
        assert_eq!((fed.step, fed.told.calls[0].value()), (Step::Done, value), "{text}");
        assert!(!fed.told.calls[0].repaired.is_empty(), "{text}");
    }
    let fed = read(r#"call:typed{count:<|"|>5<|"|>}"#);
    assert_eq!(
        (fed.told.calls[0].value(), &fed.told.calls[0].wrong),
        (json!({"count": "5"}), &vec!["count".to_owned()])
    );
}

#[test]
fn what_is_no_call_is_given_back() {
    for text in ["", "call", "call:", "call:f", "call:{}", "{\"name\":1}", "recall:f{}"] {
        let fed = read(text);
        assert!(matches!(fed.step, Step::Failed(_)), "{text}");
        assert_eq!((fed.told.bytes, fed.told.calls.len()), (0, 0), "{text}");
    }
}

#[test]
fn broken_and_open_calls() {
    for text in [
        "call:f{a}",
        "call:f{a:}",
        "call:f{:1}",
        "call:f{a:1]",
        "call:f{a:[1}",
        "call:f{a:1<tool_call|>",
        "call:f{,}",
        "call:f{{}}",
        "call:f{a:\"x\"y}",
        "call:f{a:[,]}",
    ] {
        let fed = read(text);
        // What is left of it ends at its own brace, if it has one.
        let (step, complete) = (fed.step, fed.told.calls[0].complete);
        if text.ends_with('}') {
            assert_eq!((step, complete, fed.told.bytes), (Step::Done, Some(false), text.len()), "{text}");
        } else {
            assert!(matches!(step, Step::Failed(_)), "{text}: {:?}", fed.told);
            assert_eq!(complete, None, "{text}");
        }
    }
    for text in ["call:f{", "call:f{a:<|\"|>x<|\"", "call:f{a:[1", "call:f{a:1", "call:f{a:\"x\\u00"] {
        let fed = read(text);
        assert_eq!((fed.step, fed.told.calls[0].complete), (Step::Done, Some(false)), "{text}");
        assert_eq!(fed.told.bytes, text.len(), "{text}");
    }
    let deep = format!("call:f{{a:{}", "[".repeat(100_000));
    let fed = feed(&mut Loose::new(QUOTE), Recorder::new(signatures()), [deep.as_bytes()]);
    assert_eq!(fed.step, Step::Failed("nested too deep"));
}

#[test]
fn strings_flow_while_they_are_open() {
    let text = format!("call:f{{a:<|\"|>{}", "a < b <| c\n".repeat(10_000));
    let fed = feed(&mut Loose::new(QUOTE), Recorder::new(signatures()), text.as_bytes().chunks(4));
    assert!(fed.held < 16 && fed.told.deltas > 20_000, "{} {}", fed.held, fed.told.deltas);
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::String(text) if text.contains(QUOTE) || text.ends_with('<') || text.ends_with("<|") => {
            out.push_str(&json!(text).to_string());
        }
        Value::String(text) => out.extend([QUOTE, text, QUOTE]),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (at, (key, item)) in fields.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                out.extend([key, ":"]);
                write(item, out);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[<|\">,:{}\\[\\]a]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{1,5}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_comes_through(value in value()) {
        let mut text = "call:f{a:".to_owned();
        write(&value, &mut text);
        text.push_str(",b:1}");
        let fed = read(&text);
        prop_assert_eq!(fed.step, Step::Done);
        prop_assert!(fed.told.calls[0].repaired.is_empty());
        prop_assert_eq!(fed.told.calls[0].value(), json!({"a": value, "b": 1}));
    }

    #[test]
    fn any_bytes_are_survived(
        text in "(call:f)?\\{a:[<|\">,:{}\\[\\]a1.\\\\u \\n\u{e9}-]{0,24}",
        bytes in prop::collection::vec(any::<u8>(), 0..24),
    ) {
        read(&text);
        read_with(QUOTE, &[b"call:f{a:<|\"|>", &bytes[..]].concat());
        read_with(QUOTE, &[b"call:f{", &bytes[..]].concat());
    }
}
