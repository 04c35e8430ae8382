//! What stood in a string was taken for structure.

use serde_json::json;

use super::{coder, hermes, one};
use crate::reading::{Setup, read};

#[test]
fn vllm_45167_closer_inside_a_string_is_data() {
    let arguments = json!({"text": "write </tool_call> to close", "n": 1});
    let reading = one(&format!("A{}B", hermes("note", &arguments)), "note", &arguments);
    assert_eq!(reading.prose, "AB");
    assert!(!reading.calls[0].repaired);
}

#[test]
fn vllm_48353_opener_and_closer_inside_a_string_are_data() {
    let arguments = json!({"text": hermes("rm", &json!({"path": "/"})), "after": "</tool_call>"});
    one(&hermes("note", &arguments), "note", &arguments);
}

#[test]
fn vllm_44060_a_parameters_closer_inside_a_value_is_data() {
    let text = "<minimax:tool_call>\n<invoke name=\"write\">\n<parameter name=\"text\">a = \"</parameter>\"; b</parameter>\n<parameter name=\"n\">1</parameter>\n</invoke>\n</minimax:tool_call>";
    one(text, "write", &json!({"text": "a = \"</parameter>\"; b", "n": 1}));
}

#[test]
fn rapid_mlx_1515_a_calls_closer_inside_a_value_is_data() {
    let value = "the tag </function> and the tag </tool_call> too";
    one(&coder("write", &[("text", value)]), "write", &json!({"text": value}));
}

#[test]
fn rapid_mlx_1542_another_dialects_markup_inside_a_value_is_data() {
    let value = hermes("f", &json!({"a": 1}));
    one(&coder("write", &[("text", &value)]), "write", &json!({"text": value}));
    let value = "<think>no</think><|tool_call_begin|>[TOOL_CALLS]";
    one(&coder("write", &[("text", value)]), "write", &json!({"text": value}));
}

#[test]
fn llama_cpp_15162_a_closing_parameter_can_be_written() {
    for value in ["</parameter>", "x</parameter>y", "</parameter></parameter>", "\n</parameter>\n", "</parameter"] {
        one(&coder("write", &[("text", value), ("n", "2")]), "write", &json!({"text": value, "n": 2}));
    }
}

#[test]
fn ollama_16937_braces_in_strings_count_for_nothing() {
    for value in ["}", "{", "}}}}", "{{{{", "\"}", "\\\"}", "\\", "a } b { c", "[", "]]"] {
        let arguments = json!({"code": value, "more": [value, {"x": value}]});
        one(&hermes("run", &arguments), "run", &arguments);
        let bare = format!("{{\"name\": \"run\", \"arguments\": {arguments}}}");
        let reading = read(&bare, &Setup::names(&["run"]).bare());
        assert_eq!(reading.called(), [("run", arguments)]);
    }
}

#[test]
fn vllm_21544_brace_expansion_in_a_command() {
    let arguments = json!({"command": "mkdir -p test/{test1,test2"});
    one(&hermes("bash", &arguments), "bash", &arguments);
    one(&coder("bash", &[("command", "mkdir -p test/{test1,test2")]), "bash", &arguments);
    one("[TOOL_CALLS]bash[ARGS]{\"command\": \"mkdir -p test/{test1,test2\"}", "bash", &arguments);
}
