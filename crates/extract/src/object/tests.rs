//! Objects read whole: names, arguments, lists, repairs, limits.

use super::{super::probe::*, *};

const NAME: &[&str] = &["name", "tool_name", "function", "tool"];
const ARGUMENTS: &[&str] = &["arguments", "parameters", "args", "input"];

fn object() -> Box<dyn Body> {
    Box::new(Object::new(NAME, ARGUMENTS, false))
}

fn read(text: &str) -> (Vec<Heard>, Step) {
    let (probe, step) = every_way(&object, &Probe::new(), text.as_bytes());
    for call in probe.calls.iter().filter(|call| call.complete == Some(true)) {
        assert!(serde_json::from_str::<serde_json::Map<_, _>>(&call.json).is_ok(), "{}", call.json);
    }
    (probe.calls, step)
}

fn one(text: &str) -> Heard {
    let (mut calls, _) = read(text);
    assert_eq!(calls.len(), 1, "{text}");
    calls.remove(0)
}

#[track_caller]
fn clean(text: &str, name: &str, json: &str) {
    let call = one(text);
    assert_eq!((call.name.as_str(), call.json.as_str(), call.complete), (name, json, Some(true)), "{text}");
    assert_eq!(call.mends, Vec::<&str>::new(), "{text}");
}

#[track_caller]
fn mended(text: &str, json: &str) {
    let call = one(text);
    assert_eq!((call.json.as_str(), call.complete), (json, Some(true)), "{text}");
    assert!(!call.mends.is_empty(), "{text}");
}

#[test]
fn keys_stand_in_any_order_and_under_any_alias() {
    clean(r#"{"name": "f", "arguments": {"a": 1}}"#, "f", r#"{"a": 1}"#);
    clean(r#"{"arguments": {"a": [1, {"b": "}"}]}, "name": "f"}"#, "f", r#"{"a": [1, {"b": "}"}]}"#);
    clean(r#"{"tool_name": "f", "parameters": {}}"#, "f", "{}");
    clean(
        r#"{"type": "function", "x": {"name": "no", "arguments": {}}, "name": "f", "args": {"k": "v"}}"#,
        "f",
        r#"{"k": "v"}"#,
    );
    clean(r#"{"type":"function","function":{"name":"f","arguments":{"a":"\n"}}}"#, "f", r#"{"a":"\n"}"#);
    clean(r#"{"n\u0061me": "f", "arguments": {"a": "\ud83d\ude80"}}"#, "f", r#"{"a": "\ud83d\ude80"}"#);
    let call = one(r#"{"id": "call_1", "name": "f", "arguments": {}}"#);
    assert_eq!(call.id.as_deref(), Some("call_1"));
    let call = one(r#"{"name": "f", "id": "call_2", "arguments": {}}"#);
    assert_eq!(call.id.as_deref(), Some("call_2"));
}

#[test]
fn calls_without_arguments_get_an_empty_object() {
    for text in [
        r#"{"name": "f"}"#,
        r#"{"name": "f", "arguments": null}"#,
        r#"{"name": "f", "arguments": ""}"#,
        r#"{"arguments": "", "name": "f"}"#,
        r#"{"name": "f", "arguments": "{}"}"#,
        r#"{"name": "f", "arguments": None}"#,
    ] {
        clean(text, "f", "{}");
    }
}

#[test]
fn arguments_in_a_string_are_unwrapped() {
    clean(r#"{"name": "f", "arguments": "{\"a\": \"x\\ny \\\"q\\\"\"}"}"#, "f", r#"{"a": "x\ny \"q\""}"#);
    clean(r#"{"name": "f", "arguments": "{\"a\": \"\ud83d\ude80\"}", "id": 3}"#, "f", r#"{"a": "🚀"}"#);
    mended(r#"{"name": "f", "arguments": "{"a": "x"}"}"#, r#"{"a": "x"}"#);
    mended(r#"{"name": "f", "arguments": "{\"a\": [1"}"#, r#"{"a": [1]}"#);
    mended("{\"name\": \"f\", \"arguments\": \"{\\\"a\\\": \\\"x\\ny\\\"}\"}", r#"{"a": "x\ny"}"#);
}

#[test]
fn several_calls_follow_each_other_in_each_way() {
    for text in [
        r#"[{"name":"f","arguments":{}},{"name":"g","arguments":{"a":1}}]"#,
        "{\"name\":\"f\",\"arguments\":{}}\n{\"name\":\"g\",\"arguments\":{\"a\":1}}\n",
        r#"{"name":"f","arguments":{}}; {"name":"g","arguments":{"a":1}}"#,
        r#"{"name":"f","arguments":{}},{"name":"g","arguments":{"a":1}}"#,
        r#"[{"name":"f","arguments":{}}, {"arguments":{"a":1},"name":"g"}] </tool_calls>"#,
    ] {
        let (calls, step) = read(text);
        assert_eq!(step, Step::Done);
        let said: Vec<_> = calls.iter().map(|call| (call.name.as_str(), call.json.as_str(), call.complete)).collect();
        assert_eq!(said, [("f", "{}", Some(true)), ("g", r#"{"a":1}"#, Some(true))], "{text}");
    }
}

#[test]
fn what_follows_the_object_is_tolerated() {
    for tail in ["}", "}}\n", "\n</tool_call>", "</tool_call>", " and text", "\n\n", "]"] {
        let (calls, step) = read(&format!(r#"{{"name":"f","arguments":{{"a":1}}}}{tail}"#));
        assert_eq!((calls.len(), step), (1, Step::Done), "{tail}");
        assert_eq!(calls[0].json, r#"{"a":1}"#);
    }
    // Missing braces are mended where the closing marker came, and only there.
    mended("{\"name\":\"f\",\"arguments\":{\"a\":1}\n</tool_call>", "{\"a\":1}");
    mended("{\"name\":\"f\",\"arguments\":{\"a\":[1,{\"b\":2\n</tool_call>", "{\"a\":[1,{\"b\":2\n}]}");
    let cut = one(r#"{"name":"f","arguments":{"a":[1,2"#);
    assert_eq!((cut.json.as_str(), cut.complete), (r#"{"a":[1,"#, Some(false)));
}

#[test]
fn markers_in_strings_are_data() {
    clean(
        r#"{"name":"f","arguments":{"a":"</tool_call> <tool_call> }{ [\"","b":"```"}}"#,
        "f",
        r#"{"a":"</tool_call> <tool_call> }{ [\"","b":"```"}"#,
    );
}

#[test]
fn broken_arguments_are_mended_without_contradiction() {
    for (broken, whole) in [
        (r#"{"a": "he said "hi" to me", "b": 1}"#, r#"{"a": "he said \"hi\" to me", "b": 1}"#),
        (r#"{"a": "print("x")"}"#, r#"{"a": "print(\"x\")"}"#),
        ("{\"a\": \"two\nlines\"}", r#"{"a": "two\nlines"}"#),
        (r#"{"a": 1, "b": [1, 2, ], }"#, r#"{"a": 1, "b": [1, 2 ] }"#),
        (r"{'a': 'it\'s', 'b': True, c: None}", r#"{"a": "it's", "b": true, "c": null}"#),
        (r#"{"a": 'it's', "b": "x"}"#, r#"{"a": "it's", "b": "x"}"#),
        (
            r#"{"a": 1 /* one */, // two
 "b": 2}"#,
            "{\"a\": 1 , \n \"b\": 2}",
        ),
        (r#"{"a": "x" "b": "y"}"#, r#"{"a": "x" ,"b": "y"}"#),
        (r#"{"a": "\ud83d", "b": "\ude80 x"}"#, r#"{"a": "\ufffd", "b": "\ufffd x"}"#),
        (r#"{"a": "\ud83d\ud83d\ude80"}"#, r#"{"a": "\ufffd\ud83d\ude80"}"#),
        (r#"{"a": "C:\users\dir"}"#, r#"{"a": "C:\\users\\dir"}"#),
        (r#"{"a": 007, "b": 0x1F, "c": +1, "d": .5, "e": NaN}"#, r#"{"a": 7, "b": 31, "c": 1, "d": 0.5, "e": null}"#),
        (r#"{"a": hello world, "b": "x" + "y"}"#, r#"{"a": "hello world", "b": "xy"}"#),
        ("{“a”: “b”, \"c\": ‘d’}", r#"{"a": "b", "c": "d"}"#),
        (r#"{"a" 1, "b": [1 2], "c": {"d": [1, 2}}"#, r#"{"a" :1, "b": [1 ,2], "c": {"d": [1, 2]}}"#),
        (r#"{\"a\": \"b\"}"#, r#"{"a": "b"}"#),
    ] {
        for text in [
            format!(r#"{{"name": "f", "arguments": {broken}}}"#),
            format!(r#"{{"arguments": {broken}, "name": "f"}}"#),
            format!("{{\"name\": \"f\", \"arguments\": {broken}}}\n</tool_call>"),
        ] {
            mended(&text, whole);
        }
    }
}

#[test]
fn repairs_can_be_forbidden_and_limits_hold() {
    let forbid = Probe { repairs: false, ..Probe::new() };
    let (probe, step) = every_way(&object, &forbid, br#"{"name": "f", "arguments": {"a": 'x'}}"#);
    // It is read to its end all the same, so that the calls beside it are.
    assert_eq!((probe.calls[0].json.as_str(), step), ("{\"a\": ", Step::Done));
    assert_eq!(probe.calls[0].complete, Some(false));
    let shallow = Probe { deepest: 3, ..Probe::new() };
    let (probe, step) = every_way(&object, &shallow, br#"{"name": "f", "arguments": {"a": [[[1]]]}}"#);
    assert_eq!((probe.calls[0].json.as_str(), step), ("{\"a\": [[", Step::Done));
    let narrow = Probe { room: 20, ..Probe::new() };
    let (_, step) = every_way(&object, &narrow, br#"{"arguments": {"a": "0123456789012345678901"}, "name": "f"}"#);
    assert_eq!(step, Step::Failed(TOO_LARGE));
}

#[test]
fn what_is_no_call_fails_before_one_begins() {
    for text in ["hello", "", "{\"a\": 1}", "[1]", r#"{"arguments": {}}"#, r#"{"name": {"x": 1}}"#] {
        let (calls, step) = read(text);
        assert!(calls.is_empty() && matches!(step, Step::Failed(_)), "{text}: {step:?}");
    }
    let (calls, step) = read(r#"{"name": "f", "arguments": "Paris"}"#);
    assert_eq!((calls.len(), calls[0].complete, step), (1, Some(false), Step::Done));
}

#[test]
fn calls_keyed_by_their_name() {
    let keyed: &dyn Fn() -> Box<dyn Body> = &|| Box::new(Keyed::new());
    for text in [r#"[{"f": {"a": 1}}, {"g": {}}]"#, r#"{"f": {"a": 1}, "g": {}}"#, r#"{"f": {"a": 1}}{"g": null}"#] {
        let (probe, step) = every_way(keyed, &Probe::new(), text.as_bytes());
        assert_eq!(step, Step::Done);
        let said: Vec<_> = probe.calls.iter().map(|call| (call.name.as_str(), call.json.as_str())).collect();
        assert_eq!(said, [("f", r#"{"a": 1}"#), ("g", "{}")], "{text}");
    }
}
