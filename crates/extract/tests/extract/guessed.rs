//! Nothing that was guessed is complete (row E6 of the faults), and it is said why.

use loopwright_extract::ProblemKind;
use serde_json::json;

use crate::reading::{Setup, read};

fn setups() -> [Setup; 3] {
    let schema = json!({"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}}});
    [Setup::tools(&[("f", schema)]), Setup::names(&["f"]), Setup::auto()]
}

#[track_caller]
fn unclear(text: &str) {
    for setup in setups() {
        let reading = read(text, &setup);
        assert!(reading.calls.iter().all(|call| !call.complete), "{text}: {reading:?}");
        let said = [ProblemKind::Malformed, ProblemKind::Incomplete].iter().any(|kind| reading.has(*kind));
        assert!(said, "{text}: {reading:?}");
    }
}

#[track_caller]
fn clear(text: &str, arguments: &serde_json::Value) {
    for setup in setups() {
        let reading = read(text, &setup);
        assert_eq!(reading.called(), [("f", arguments.clone())], "{text}: {reading:?}");
        assert!(reading.calls[0].complete, "{text}: {reading:?}");
    }
}

/// The arguments as three dialects write them.
fn written(arguments: &str) -> [String; 3] {
    [
        format!("<tool_call>{{\"name\":\"f\",\"arguments\":{arguments}}}</tool_call>"),
        format!("[TOOL_CALLS]f[ARGS]{arguments}"),
        format!("<|python_tag|>{{\"name\":\"f\",\"parameters\":{arguments}}}"),
    ]
}

#[test]
fn e6_what_stands_for_nothing_completes_no_call() {
    for arguments in [
        "{all of it}",
        "{\"q\"}",
        "{\"q\":\"a\",\"n\"}",
        "{\"q\":\"a\",\"n\":}",
        "{\"q\":...}",
        "{...}",
        "{\"q\":\"a\",...}",
        "{q}",
        "{\"q\": , \"n\": 1}",
    ] {
        for text in written(arguments) {
            unclear(&text);
        }
    }
    unclear("<tool_call>{\"name\":\"f\",\"arguments\":{all of it}</tool_call>");
}

#[test]
fn e6_members_beside_a_name_without_arguments_complete_no_call() {
    for members in ["\"q\":\"a\"", "\"q\":\"a\",\"n\":1", "\"query\":{\"a\":1}"] {
        unclear(&format!("<tool_call>{{\"name\":\"f\",{members}}}</tool_call>"));
        unclear(&format!("<tool_call>{{{members},\"name\":\"f\"}}</tool_call>"));
    }
    clear("<tool_call>{\"name\":\"f\"}</tool_call>", &json!({}));
    clear("<tool_call>{\"name\":\"f\",\"id\":\"1\"}</tool_call>", &json!({}));
    clear("<tool_call>{\"name\":\"f\",\"arguments\":{\"q\":\"a\"},\"id\":\"1\"}</tool_call>", &json!({"q": "a"}));
}

#[test]
fn e6_quotes_that_do_not_pair_off_complete_no_call() {
    for arguments in ["{\"q\": \"yes\", then left\"}", "{\"q\":\"5\" pipe\"}", "{\"q\":\"say \"hi now\"}"] {
        for text in written(arguments) {
            unclear(&text);
        }
    }
    for call in ["f(q='print('hi')')", "f(q=\"a \"b c\")", "f(q='a 'b' c 'd', n=1)"] {
        unclear(&format!("<|tool_call_start|>[{call}]<|tool_call_end|>"));
        unclear(&format!("<|python_start|>[{call}]<|python_end|>"));
    }
}

#[test]
fn e6_what_is_only_written_otherwise_is_complete() {
    for (arguments, value) in [
        ("{'q':'a'}", json!({"q": "a"})),
        ("{\"q\":\"say \"hi\" now\"}", json!({"q": "say \"hi\" now"})),
        ("{'q':'it's'}", json!({"q": "it's"})),
        ("{q:\"a\"}", json!({"q": "a"})),
        ("{\"q\":\"a\",}", json!({"q": "a"})),
        ("{\"q\":None}", json!({"q": null})),
        ("{\"q\":\"a\" /* so */}", json!({"q": "a"})),
        ("{\"q\"=\"a\"}", json!({"q": "a"})),
    ] {
        clear(&written(arguments)[0], &value);
    }
    clear("<|tool_call_start|>[f(q='it's')]<|tool_call_end|>", &json!({"q": "it's"}));
    clear("<|tool_call_start|>[f(q='a' 'b')]<|tool_call_end|>", &json!({"q": "ab"}));
}
