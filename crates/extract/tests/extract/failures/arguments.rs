//! Names and arguments were lost, invented or changed.

use loopwright_extract::ProblemKind;
use serde_json::{Value, json};

use super::{coder, hermes, one};
use crate::reading::{Setup, read};

#[test]
fn vllm_22694_arguments_before_the_name() {
    let text =
        "<tool_call>\n{\"arguments\": {\"city\": \"Oslo\", \"name\": \"no\"}, \"name\": \"get_weather\"}\n</tool_call>";
    one(text, "get_weather", &json!({"city": "Oslo", "name": "no"}));
}

#[test]
fn vllm_28806_no_parameters() {
    for text in [
        "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>",
        "<tool_call>\n{\"name\": \"now\"}\n</tool_call>",
        "<tool_call>\n{\"name\": \"now\", \"arguments\": null}\n</tool_call>",
        "<tool_call>\n{\"name\": \"now\", \"arguments\": \"\"}\n</tool_call>",
        "<tool_call>\n<function=now>\n</function>\n</tool_call>",
        "<tool_call><function=now></function></tool_call>",
        "<tool_call>now\n</tool_call>",
        "<tool_call>now</tool_call>",
        "<function_calls><invoke name=\"now\"></invoke></function_calls>",
        "<|tool_call>call:now{}<tool_call|>",
        "<|tool_call_start|>[now()]<|tool_call_end|>",
        "<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
        "[TOOL_CALLS]now{}",
        "<|channel|>commentary to=functions.now <|constrain|>json<|message|>{}<|call|>",
    ] {
        let reading = one(text, "now", &json!({}));
        assert_eq!(reading.prose, "", "{text}");
    }
}

#[test]
fn vllm_41739_broken_arguments_are_mended_or_marked_never_passed_on() {
    for broken in [
        "{\"a\": 1,}",
        "{\"a\": 'x'}",
        "{a: 1}",
        "{\"a\": True}",
        "{\"a\": \"line\nbreak\"}",
        "{\"a\": 1 \"b\": 2}",
        "{\"a\": [1, 2}",
        "{\"a\": }",
    ] {
        let text = format!("<tool_call>\n{{\"name\": \"f\", \"arguments\": {broken}}}\n</tool_call>");
        let reading = read(&text, &Setup::auto());
        for call in &reading.calls {
            // That a complete call is JSON is checked for all readings.
            assert!(!call.complete || call.repaired, "{broken}: {call:?}");
        }
        let told = reading.has(ProblemKind::Repaired)
            || reading.has(ProblemKind::Malformed)
            || reading.has(ProblemKind::Incomplete);
        assert!(told, "{broken}: {reading:?}");
        // Where nothing may be mended, nothing broken runs.
        let strict = read(&text, &Setup::auto().with(|policy| policy.repair = false));
        assert!(strict.calls.iter().all(|call| !call.complete && !call.repaired), "{broken}: {strict:?}");
    }
}

#[test]
fn vllm_55497_an_unfinished_call_ends_with_its_reply() {
    let reading = read("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"unfinished", &Setup::auto());
    assert_eq!(reading.calls.len(), 1);
    assert!(!reading.calls[0].complete && reading.has(ProblemKind::Incomplete), "{reading:?}");
    // The next reply is read as if nothing had been.
    one(&hermes("f", &json!({"a": 1})), "f", &json!({"a": 1}));
}

#[test]
fn vllm_39771_one_bad_parameter_spoils_no_other_call() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}});
    let text = format!("{}{}", coder("f", &[("n", "not a number"), ("s", "x")]), coder("f", &[("n", "7"), ("s", "y")]));
    let reading = read(&text, &Setup::tools(&[("f", schema)]));
    assert_eq!(reading.called(), [("f", json!({"n": "not a number", "s": "x"})), ("f", json!({"n": 7, "s": "y"}))]);
    assert!(reading.has(ProblemKind::WrongType));
    // A broken call between whole ones.
    let whole = hermes("f", &json!({"a": 1}));
    let reading = read(
        &format!("{whole}<tool_call>{{\"name\": \"f\", \"arguments\": ]]]}}</tool_call>\n{whole}"),
        &Setup::auto(),
    );
    let complete: Vec<_> = reading.calls.iter().filter(|call| call.complete && !call.repaired).collect();
    assert_eq!(complete.len(), 2, "{reading:?}");
}

/// The schema of one parameter `v`, and what `raw` becomes.
fn typed(schema: &Value, raw: &str) -> Value {
    let setup = Setup::tools(&[("f", json!({"type": "object", "properties": {"v": schema}}))]);
    let reading = read(&coder("f", &[("v", raw)]), &setup);
    reading.called()[0].1["v"].clone()
}

#[test]
fn smg_1841_values_have_their_declared_type() {
    assert_eq!(typed(&json!({"type": "string"}), "123"), json!("123"));
    assert_eq!(typed(&json!({"type": "string"}), "true"), json!("true"));
    assert_eq!(typed(&json!({"type": "string"}), "null"), json!("null"));
    assert_eq!(typed(&json!({"type": "integer"}), "123"), json!(123));
    assert_eq!(typed(&json!({"type": "number"}), "1.5"), json!(1.5));
    assert_eq!(typed(&json!({"type": "boolean"}), "true"), json!(true));
    assert_eq!(typed(&json!({"type": "array"}), "[1, \"a\"]"), json!([1, "a"]));
    assert_eq!(typed(&json!({"type": "object"}), "{\"a\": 1}"), json!({"a": 1}));
    assert_eq!(typed(&json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), "null"), Value::Null);
    assert_eq!(typed(&json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), "5"), json!(5));
}

#[test]
fn smg_1841_large_integers_stay_exact() {
    let setup = Setup::tools(&[("f", json!({"properties": {"v": {"type": "integer"}}}))]);
    let digits = "123456789012345678901234567890";
    let reading = read(&coder("f", &[("v", digits)]), &setup);
    assert!(reading.calls[0].arguments.contains(digits), "{reading:?}");
    let text = format!("<tool_call>{{\"name\": \"f\", \"arguments\": {{\"v\": {digits}}}}}</tool_call>");
    assert!(read(&text, &setup).calls[0].arguments.contains(digits));
}

#[test]
fn kilocode_4131_a_string_that_looks_like_json_stays_a_string() {
    let content = "{\"compilerOptions\": {\"strict\": true}}";
    assert_eq!(typed(&json!({"type": "string"}), content), json!(content));
    one(&hermes("write", &json!({"content": content})), "write", &json!({"content": content}));
}

#[test]
fn continue_8973_a_list_in_a_string_stays_a_string() {
    assert_eq!(typed(&json!({"type": "string"}), "[1, 2, 3]"), json!("[1, 2, 3]"));
    assert_eq!(typed(&json!({"type": ["string", "null"]}), "[1]"), json!("[1]"));
}

#[test]
fn pi_free_244_quotes_of_a_string_are_its_own() {
    assert_eq!(typed(&json!({"type": "string"}), "\"quoted\""), json!("\"quoted\""));
    assert_eq!(typed(&json!({"type": "string"}), "1e5"), json!("1e5"));
}
