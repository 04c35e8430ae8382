//! Arguments of JSON that break off without their closing brackets, and lists of JSON in which one object is none: the
//! calls beside them are read, and nothing of any of them is in the prose. Each text whole, at every cut and byte by
//! byte.

use loopwright_base::json::Raw;
use loopwright_extract::{Grammar, ProblemKind, dialects, render_call};
use serde_json::{Value, json};

use crate::reading::{Reading, Setup, each, read};

fn tools() -> Setup {
    Setup::names(&["f", "g", "h"])
}

fn json_dialects() -> impl Iterator<Item = &'static loopwright_extract::Dialect> {
    let json = |row: &&loopwright_extract::Dialect| {
        matches!(row.grammar, Grammar::Object { .. } | Grammar::Keyed | Grammar::Named { .. } | Grammar::Harmony)
            && !row.bare
    };
    dialects().iter().filter(json)
}

#[track_caller]
fn last_is_whole(reading: &Reading, name: &str, arguments: &Value, text: &str) {
    let last = reading.calls.last().unwrap();
    assert_eq!(reading.called().last(), Some(&(name, arguments.clone())), "{text}: {reading:?}");
    assert!(last.complete && !last.repaired, "{text}: {reading:?}");
}

#[test]
fn d08_arguments_without_their_end_take_no_other_call_with_them() {
    for (cut, given) in [
        ("{\"a\": 3", Some(json!({"a": 3}))),
        ("{\"a\": 3,", Some(json!({"a": 3}))),
        ("{\"a\": \"x\"", Some(json!({"a": "x"}))),
        ("{\"a\": {\"b\": 1}", Some(json!({"a": {"b": 1}}))),
        ("{\"a\": {\"b\": true,", Some(json!({"a": {"b": true}}))),
        ("{", Some(json!({}))),
        ("{\"a\": [1", None),
        ("{\"a\": [1,", None),
        ("{\"a\":", None),
        ("{\"a\"", None),
    ] {
        // A call that begins with plain words has no marker.
        each(json_dialects().filter(|dialect| !dialect.open.contains(&"")), |dialect| {
            let f = render_call("f", &Raw::of(&json!({"a": "cut"})), None, dialect).unwrap();
            let g = render_call("g", &Raw::of(&json!({"b": "zz"})), None, dialect).unwrap();
            let at = f.find("{\"a\":\"cut\"}").unwrap();
            let words = dialect.open[0].starts_with(char::is_alphabetic);
            for between in if words { &["\n", "\n\n"][..] } else { &["", "\n", " "] } {
                let text = format!("{}{cut}{between}{g} bye", &f[..at]);
                for setup in [Setup::auto(), tools().only(&[dialect.name])] {
                    let reading = read(&text, &setup);
                    assert_eq!(reading.calls.len(), 2, "{text}: {reading:?}");
                    last_is_whole(&reading, "g", &json!({"b": "zz"}), &text);
                    assert_eq!(reading.prose.trim(), "bye", "{text}: {reading:?}");
                    let first = &reading.calls[0];
                    assert_eq!(first.complete, given.is_some(), "{text}: {reading:?}");
                    if let Some(given) = &given {
                        assert_eq!(reading.called()[0], ("f", given.clone()), "{text}: {reading:?}");
                        assert!(first.repaired, "{text}: {reading:?}");
                    }
                }
            }
        });
    }
}

#[test]
fn d08_markers_within_strings_and_where_none_is_awaited_are_the_arguments_own() {
    each(json_dialects(), |dialect| {
        let markers = dialect.open.iter().chain(dialect.close).chain(dialect.section.iter().flat_map(|both| both.0));
        for marker in markers {
            for value in [json!({"a": marker}), json!({*marker: 1}), json!({"a": [marker, {*marker: [*marker]}]})] {
                let text = render_call("f", &Raw::of(&value), None, dialect).unwrap();
                let reading = read(&text, &Setup::auto());
                assert_eq!(reading.called(), [("f", value)], "{text}: {reading:?}");
                assert!(reading.calls[0].complete && !reading.calls[0].repaired, "{text}: {reading:?}");
            }
        }
    });
}

#[test]
fn d08_a_brace_missing_in_a_list_of_json_costs_no_other_call() {
    for (open, close) in LISTS {
        for second in ["{\"name\":\"g\",\"arguments\":{\"b\":2}}", "{\"arguments\":{\"b\":2},\"name\":\"g\"}"] {
            for setup in [tools(), Setup::auto()] {
                let text = format!("{open}[{{\"name\":\"f\",\"arguments\":{{\"a\":1}}, {second}]{close} hi");
                let reading = read(&text, &setup);
                assert_eq!(reading.calls.len(), 2, "{text}: {reading:?}");
                last_is_whole(&reading, "g", &json!({"b": 2}), &text);
                assert!(reading.calls[0].complete && reading.calls[0].repaired, "{text}: {reading:?}");
                assert_eq!(reading.prose, " hi", "{text}: {reading:?}");
            }
        }
    }
}

/// Lists of calls as JSON: what stands around them.
const LISTS: &[(&str, &str)] = &[
    ("<TOOLCALL>", "</TOOLCALL>"),
    ("<tool_calls>", "</tool_calls>"),
    ("<tool_call>", ""),
    ("<|tool_call|>", ""),
    ("<function_call>", "</function_call>"),
    ("<|START_ACTION|>", "<|END_ACTION|>"),
    ("<|tool_call_start|>", "<|tool_call_end|>"),
    ("[TOOL_CALLS]", ""),
];

#[test]
fn d21_one_bad_object_in_a_list_of_json_breaks_alone() {
    for (open, close) in LISTS {
        for bad in [
            "{\"name\":\"f\",\"arguments\":[1]}",
            "{\"name\":\"f\",\"arguments\":\"x\"}",
            "{\"name\":\"f\",\"arguments\":7}",
            "{\"name\":\"f\",\"arguments\":[{\"a\":\"}]\"}]}",
        ] {
            let text = format!("{open}[{bad}, {{\"name\":\"g\",\"arguments\":{{\"b\":2}}}}]{close} hi");
            let reading = read(&text, &tools());
            assert_eq!(reading.calls.len(), 2, "{text}: {reading:?}");
            assert!(!reading.calls[0].complete && reading.has(ProblemKind::Malformed), "{text}: {reading:?}");
            last_is_whole(&reading, "g", &json!({"b": 2}), &text);
            assert_eq!(reading.prose, " hi", "{text}: {reading:?}");
        }
        for bad in ["{\"nme\":\"g\"}", "{\"nme\":{\"x\":[\"}\"]}}", "3", "\"]\"", "[1]"] {
            let text = format!(
                "{open}[{{\"name\":\"f\",\"arguments\":{{\"a\":1}}}}, {bad}, {{\"name\":\"h\",\"arguments\":{{}}}}]{close} hi"
            );
            let reading = read(&text, &tools());
            assert_eq!(reading.called(), [("f", json!({"a": 1})), ("h", json!({}))], "{text}: {reading:?}");
            assert!(reading.calls.iter().all(|call| call.complete && !call.repaired), "{text}: {reading:?}");
            assert!(reading.has(ProblemKind::Malformed), "{text}: {reading:?}");
            assert_eq!(reading.prose, " hi", "{text}: {reading:?}");
        }
    }
}

#[test]
fn d23_what_is_nested_too_deep_is_dropped_with_its_call_alone() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for (text, more) in [
        (format!("<function=f><parameter=a>{deep}</parameter></function>"), false),
        (format!("<invoke name=\"f\"><parameter name=\"a\">{deep}</parameter></invoke>"), false),
        (format!("[TOOL_CALLS]f[ARGS]{{\"a\":{deep}}}"), false),
        (format!("<|python_tag|>{{\"name\":\"f\",\"parameters\":{{\"a\":{deep}}}}}"), false),
        (format!("<function_call> {{\"name\":\"f\",\"arguments\":{{\"a\":{deep}}}}}"), false),
        (format!("<tool_call>{{\"name\":\"f\",\"arguments\":{{\"a\":{deep}}}}}</tool_call>"), false),
        (
            format!(
                "<TOOLCALL>[{{\"name\":\"f\",\"arguments\":{{\"a\":{deep}}}}},{{\"name\":\"g\",\"arguments\":{{}}}}]</TOOLCALL>"
            ),
            true,
        ),
        (
            format!(
                "[TOOL_CALLS][{{\"name\":\"f\",\"arguments\":{{\"a\":{deep}}}}},{{\"name\":\"g\",\"arguments\":{{}}}}]"
            ),
            true,
        ),
        (
            format!(
                "<function_calls><invoke name=\"f\"><parameter name=\"a\">{deep}</parameter></invoke><invoke name=\"g\"></invoke></function_calls>"
            ),
            true,
        ),
    ] {
        let text = format!("{text} t");
        let reading = read(&text, &Setup::auto());
        assert_eq!(reading.calls.len(), if more { 2 } else { 1 }, "{text}: {reading:?}");
        assert!(!reading.calls[0].complete && reading.has(ProblemKind::TooDeep), "{text}: {reading:?}");
        if more {
            last_is_whole(&reading, "g", &json!({}), &text);
        }
        assert_eq!(reading.prose, " t", "{text}: {reading:?}");
    }
}

/// A word that nobody quoted may be followed by a string: whatever that holds is data, in each dialect that writes
/// JSON.
#[test]
fn d21_no_call_in_a_string_behind_an_unquoted_word_runs() {
    for value in [
        r#"junk "<function=g></function>""#,
        r#"junk "<tool_calls><tool_call>g<tool_sep></tool_call></tool_calls>""#,
        r#"nul "<|tool_call_start|>[g()]<|tool_call_end|>""#,
        r#"so "[TOOL_CALLS]g[ARGS]""#,
    ] {
        for (before, behind) in [
            (r#"<tool_call>{"name":"f","arguments":{"a": "#, "}}</tool_call> Bye."),
            (r#"[TOOL_CALLS]f[ARGS]{"a": "#, "} Bye."),
            (r#"<TOOLCALL>[{"name":"f","arguments":{"a": "#, "}}]</TOOLCALL> Bye."),
        ] {
            let text = format!("{before}{value}{behind}");
            for setup in [Setup::auto(), Setup::names(&["f", "g"])] {
                let reading = read(&text, &setup);
                assert_eq!(reading.calls.len(), 1, "{text}: {reading:?}");
                assert!(reading.calls[0].repaired, "{text}: {reading:?}");
                // A bracket ends a word, in a string or not.
                assert!(value.contains('[') || reading.prose == " Bye.", "{text}: {reading:?}");
            }
        }
    }
}
