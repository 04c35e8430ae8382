//! One call ran twice, or two became one.

use serde_json::json;

use super::{coder, hermes};
use crate::reading::{Setup, read};

#[test]
fn onyx_8325_nested_objects_are_no_calls_of_their_own() {
    let arguments = json!({"name": "inner", "arguments": {"name": "f", "arguments": {}}, "list": [{"name": "f", "arguments": {"x": 1}}]});
    let text = format!("{{\"name\": \"f\", \"arguments\": {arguments}}}");
    let setup = Setup::names(&["f", "inner"]).bare();
    assert_eq!(read(&text, &setup).called(), [("f", arguments.clone())]);
    assert_eq!(read(&hermes("f", &arguments), &setup).called(), [("f", arguments.clone())]);
    // Nor those of an object that is none itself.
    let text = format!("{{\"note\": {arguments}}}");
    let reading = read(&text, &setup);
    assert_eq!((reading.calls.len(), reading.prose), (0, text));
}

#[test]
fn d09_zeroclaw_1243_a_call_in_markers_is_not_also_bare() {
    let text = hermes("f", &json!({"a": 1}));
    assert_eq!(read(&text, &Setup::names(&["f"]).bare()).calls.len(), 1);
    let text = "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>\n";
    assert_eq!(read(text, &Setup::names(&["f"]).bare()).calls.len(), 1);
    let text = format!("```json\n{{\"name\": \"f\", \"arguments\": {{}}}}\n```\n{text}");
    assert_eq!(read(&text, &Setup::names(&["f"]).bare()).calls.len(), 1);
}

#[test]
fn open_chat_studio_1672_one_call_one_event() {
    let text = format!("{}\n", coder("f", &[("a", "{\"name\": \"f\", \"arguments\": {\"a\": 1}}")]));
    let reading = read(&text, &Setup::names(&["f"]).bare());
    assert_eq!(reading.calls.len(), 1);
    let ends: Vec<_> = reading.calls.iter().map(|call| (call.span.start, call.span.end)).collect();
    assert_eq!(ends, [(0, text.len() - 1)]);
}

#[test]
fn nanocoder_347_identical_calls_are_both_kept() {
    let call = hermes("next_page", &json!({}));
    let reading = read(&format!("{call}{call}\n{call}"), &Setup::auto());
    assert_eq!(reading.called(), vec![("next_page", json!({})); 3]);
    assert!(reading.calls.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start));
}

#[test]
fn deeperseeker_12_a_repeat_in_one_list_is_kept() {
    let call = "{\"name\": \"f\", \"arguments\": {\"a\": 1}}";
    let reading = read(&format!("<tool_calls>[{call}, {call}]</tool_calls>"), &Setup::auto());
    assert_eq!(reading.called(), vec![("f", json!({"a": 1})); 2]);
}
