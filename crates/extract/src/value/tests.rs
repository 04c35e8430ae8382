use proptest::prelude::*;

use super::{testing::Recorder, *};
use crate::signature::Signatures;

/// What becomes of a text: JSON, whether it is of the wrong type, whether it was mended.
fn made(kind: &Kind, text: impl AsRef<[u8]>) -> (String, bool, bool) {
    let text = text.as_ref();
    let one = |cuts: &[usize]| {
        let mut sink = Recorder::new(Signatures::default());
        sink.start("f", None, 0);
        let mut value = Value::new();
        value.begin(Forms::of(kind), "", 0, &mut sink);
        let mut at = 0;
        for cut in cuts {
            at += value.push(&text[at..*cut], true, &mut sink);
        }
        at += value.push(&text[at..], false, &mut sink);
        assert_eq!(at, text.len());
        value.end(0, "a", Some(kind), &mut sink).unwrap();
        assert_eq!(sink.used, text.len());
        let call = &sink.calls[0];
        (call.json.clone(), !call.wrong.is_empty(), !call.repaired.is_empty())
    };
    let whole = one(&[]);
    for cut in 0..text.len() {
        assert_eq!(one(&[cut]), whole, "cut at {cut}");
    }
    assert_eq!(one(&(0..text.len()).collect::<Vec<_>>()), whole);
    whole
}

fn list() -> Kind {
    Kind::Array(Box::new(Kind::Any))
}

#[test]
fn what_fits_is_kept_as_written() {
    for (kind, text, json) in [
        (Kind::String, "{\"a\": 1}", r#""{\"a\": 1}""#),
        (Kind::String, "12", "\"12\""),
        (Kind::String, "\u{1}\t\\é\u{7f}", "\"\\u0001\\t\\\\é\u{7f}\""),
        (Kind::Integer, " 12345678901234567890123\n", "12345678901234567890123"),
        (Kind::Integer, "-5.0", "-5.0"),
        (Kind::Number, "1e400", "1e400"),
        (Kind::Number, "-0", "-0"),
        (Kind::Boolean, "True", "true"),
        (Kind::Boolean, "false", "false"),
        (Kind::Null, "None", "null"),
        (list(), " [1, {\"a\": 1e400}] ", "[1, {\"a\": 1e400}]"),
        (Kind::Any, "42", "42"),
        (Kind::Any, "042", "\"042\""),
        (Kind::Any, "4.", "\"4.\""),
        (Kind::Any, "true", "true"),
        (Kind::Any, "True", "\"True\""),
        (Kind::Any, "nullable", "\"nullable\""),
        (Kind::Any, "\"x\"", r#""\"x\"""#),
        (Kind::Any, " {\"a\": []}\n", "{\"a\": []}"),
        (Kind::Any, "{not json}", "\"{not json}\""),
        (Kind::Any, "", "\"\""),
        (Kind::OneOf(vec![Kind::String, Kind::Null]), "null", "null"),
        (Kind::OneOf(vec![Kind::String, Kind::Null]), "None", "\"None\""),
        (Kind::OneOf(vec![Kind::String, Kind::Null]), "42", "\"42\""),
        (Kind::OneOf(vec![Kind::String, Kind::Integer]), "42", "42"),
        (Kind::OneOf(vec![Kind::String, Kind::Integer]), "4.2", "\"4.2\""),
        (Kind::OneOf(vec![Kind::String, list()]), "[1, 2]", "[1, 2]"),
        (Kind::OneOf(vec![Kind::String, list()]), "[1, 2", "\"[1, 2\""),
        (Kind::OneOf(vec![Kind::Integer, Kind::Null]), "None", "null"),
    ] {
        assert_eq!(made(&kind, text), (json.to_owned(), false, false), "{kind:?}: {text}");
    }
}

#[test]
fn what_does_not_fit_is_kept_and_said() {
    for (kind, text, json) in [
        (Kind::Integer, "1_000", "\"1_000\""),
        (Kind::Integer, "5.5", "5.5"),
        (Kind::Integer, "", "\"\""),
        (Kind::Boolean, "yes", "\"yes\""),
        (Kind::Boolean, "1", "1"),
        (Kind::Number, "NaN", "\"NaN\""),
        (list(), "x", "\"x\""),
        (list(), "{\"a\": 1}", "{\"a\": 1}"),
        (Kind::OneOf(vec![Kind::Integer, Kind::Null]), "x", "\"x\""),
    ] {
        assert_eq!(made(&kind, text), (json.to_owned(), true, false), "{kind:?}: {text}");
    }
}

#[test]
fn what_is_almost_json_is_mended() {
    for (text, json) in [("[1, 2,]", "[1, 2]"), ("['a', True]", "[\"a\", true]")] {
        let (made, wrong, mended) = made(&list(), text);
        let (made, json): (serde_json::Value, serde_json::Value) =
            (serde_json::from_str(&made).unwrap(), serde_json::from_str(json).unwrap());
        assert_eq!((made, wrong, mended), (json, false, true), "{text}");
    }
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    assert_eq!(made(&Kind::String, b"a\xffb\xe2\x82"), ("\"a\u{fffd}b\u{fffd}\"".to_owned(), false, false));
    assert_eq!(made(&Kind::Any, b"{\xff}\xf0\x9f"), ("\"{\u{fffd}}\u{fffd}\"".to_owned(), false, false));
}

#[test]
fn depth_is_bounded() {
    let text = "[".repeat(100_000) + &"]".repeat(100_000);
    let mut sink = Recorder::new(Signatures::default());
    sink.start("f", None, 0);
    let mut value = Value::new();
    value.begin(Forms::ANY, "", 0, &mut sink);
    value.push(text.as_bytes(), false, &mut sink);
    assert_eq!(value.end(0, "a", None, &mut sink), Ok(()));
}

fn kinds() -> impl Strategy<Value = Kind> {
    let one = prop::sample::select(vec![
        Kind::String,
        Kind::Integer,
        Kind::Number,
        Kind::Boolean,
        Kind::Null,
        Kind::Any,
        list(),
        Kind::Object(crate::signature::Signature::default()),
    ]);
    prop_oneof![one.clone(), prop::collection::vec(one, 1..3).prop_map(Kind::OneOf)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_text_makes_json(kind in kinds(), text in "([-0-9.eE+]{1,4}|true|null|None|[\\[\\]{}\"',:\\\\]|[a-f]| |\n|\\PC){0,8}") {
        let (json, _, mended) = made(&kind, &text);
        serde_json::from_str::<serde::de::IgnoredAny>(&json).unwrap();
        if let Ok(serde_json::Value::String(string)) = serde_json::from_str(&json)
            && !mended
        {
            prop_assert_eq!(&string, &text);
        }
        prop_assert!(kind != Kind::String || json.starts_with('"'));
    }
}
