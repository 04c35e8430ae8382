//! What came out depended on where the text was cut.

use loopwright_base::message::ToolUse;
use loopwright_extract::{dialects, render_calls};
use serde_json::json;

use super::{coder, hermes, no_call, one};
use crate::reading::{Setup, pieces, read};

#[test]
fn sglang_31915_two_calls_lose_nothing_at_any_cut() {
    let first = hermes("get_weather", &json!({"city": "Paris", "unit": "c"}));
    let second = hermes("get_time", &json!({"zone": "Europe/Paris"}));
    let reading = read(&format!("{first}\n{second}"), &Setup::auto());
    let expected =
        [("get_weather", json!({"city": "Paris", "unit": "c"})), ("get_time", json!({"zone": "Europe/Paris"}))];
    assert_eq!(reading.called(), expected);
    // Three cuts, all of them.
    let text = format!("{first}{second}");
    for one in (0..text.len()).step_by(3) {
        for two in (one..text.len()).step_by(5) {
            let cut = [&text.as_bytes()[..one], &text.as_bytes()[one..two], &text.as_bytes()[two..]];
            assert_eq!(pieces(cut, &Setup::auto()).called(), expected, "cut at {one} and {two}");
        }
    }
}

#[test]
fn sglang_31915_the_second_call_of_step_3_keeps_its_parameters() {
    let call = |name: &str, key: &str, value: &str| {
        format!(
            "<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"{name}\"><steptml:parameter name=\"{key}\">{value}</steptml:parameter></steptml:invoke><｜tool_call_end｜>"
        )
    };
    let text = format!("<｜tool_calls_begin｜>{}{}<｜tool_calls_end｜>", call("f", "a", "x"), call("g", "b", "y"));
    assert_eq!(read(&text, &Setup::auto()).called(), [("f", json!({"a": "x"})), ("g", json!({"b": "y"}))]);
}

#[test]
fn sglang_37634_one_increment_with_several_calls() {
    let call =
        |name: &str, n: usize| ToolUse::from_text("", name, json!({"n": n, "text": format!("call {n}")}).to_string());
    for dialect in dialects() {
        let calls = [call("f", 1), call("g", 2), call("f", 3)];
        let text = render_calls(&calls, dialect).unwrap();
        let schema = json!({"properties": {"n": {"type": "integer"}, "text": {"type": "string"}}});
        let setup = Setup::tools(&[("f", schema.clone()), ("g", schema)]);
        let setup = if dialect.bare { setup.bare() } else { setup };
        let expected = [
            ("f", json!({"n": 1, "text": "call 1"})),
            ("g", json!({"n": 2, "text": "call 2"})),
            ("f", json!({"n": 3, "text": "call 3"})),
        ];
        assert_eq!(read(&text, &setup).called(), expected, "{}: {text}", dialect.name);
    }
}

#[test]
fn sglang_37634_prose_and_calls_in_one_increment() {
    let text = format!("First.{}Then.{}Done.", hermes("f", &json!({})), hermes("g", &json!({"a": [1]})));
    let reading = read(&text, &Setup::auto());
    assert_eq!(reading.called(), [("f", json!({})), ("g", json!({"a": [1]}))]);
    assert_eq!(reading.prose, "First.Then.Done.");
}

#[test]
fn vllm_57490_the_marker_of_internlm_is_cut() {
    let text = "Sure.<|action_start|><|plugin|>\n{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Paris\"}}<|action_end|>";
    let reading = one(text, "get_weather", &json!({"city": "Paris"}));
    assert_eq!(reading.prose, "Sure.");
    for size in [1, 8] {
        assert_eq!(pieces(text.as_bytes().chunks(size), &Setup::auto()), reading, "pieces of {size}");
    }
}

#[test]
fn vllm_57504_the_second_half_of_the_marker_is_cut() {
    for between in ["", " ", "\n"] {
        let text =
            format!("<|action_start|>{between}<|plugin|>{{\"name\": \"f\", \"parameters\": {{}}}}<|action_end|>");
        assert_eq!(one(&text, "f", &json!({})).prose, "");
    }
}

#[test]
fn vllm_57551_the_beginning_of_a_marker_alone_is_text() {
    no_call("<|action_start");
    no_call("a <|action_start|> b");
    no_call("<|action_start|><|interpreter|>print(1)");
}

#[test]
fn exo_2233_markers_are_not_alone_in_their_chunk() {
    let call = hermes("get_weather", &json!({"city": "Oslo"}));
    let text = format!("Let me look. {call} Done.");
    for cut in [["Let me look. <tool", "_call>"], ["Let me look. ", "<tool_call>"]] {
        let rest = &text[cut.concat().len()..];
        let reading = pieces([cut[0].as_bytes(), cut[1].as_bytes(), rest.as_bytes()], &Setup::auto());
        assert_eq!(reading.called(), [("get_weather", json!({"city": "Oslo"}))]);
        assert_eq!(reading.prose, "Let me look.  Done.");
    }
    assert_eq!(one(&text, "get_weather", &json!({"city": "Oslo"})).prose, "Let me look.  Done.");
}

#[test]
fn lmdeploy_4755_nothing_after_the_call_is_lost() {
    let text = format!("{}\n\nThat is all <b>there</b> is <", hermes("f", &json!({"a": "<"})));
    assert_eq!(one(&text, "f", &json!({"a": "<"})).prose, "\n\nThat is all <b>there</b> is <");
}

#[test]
fn vllm_mlx_509_elements_in_chunks_of_all_sizes() {
    let first = coder("get_weather", &[("city", "San Francisco"), ("notes", "two\nlines")]);
    let text = format!("{first}\n{}", coder("get_time", &[("zone", "PST")]));
    let expected = [
        ("get_weather", json!({"city": "San Francisco", "notes": "two\nlines"})),
        ("get_time", json!({"zone": "PST"})),
    ];
    for size in [1, 2, 3, 5, 17, 64, 4096] {
        assert_eq!(pieces(text.as_bytes().chunks(size), &Setup::auto()).called(), expected, "chunks of {size}");
    }
    assert_eq!(read(&text, &Setup::auto()).called(), expected);
}

#[test]
fn baml_3137_no_delta_repeats_what_was_said() {
    let text = "The therapeutic_approach is <thera>peutic</thera>, and therapeutic_approach it stays.";
    no_call(text);
    let call = hermes("note", &json!({"therapeutic_approach": "therapeutic_approach", "a": "therapeutic"}));
    let reading = one(&call, "note", &json!({"therapeutic_approach": "therapeutic_approach", "a": "therapeutic"}));
    assert_eq!(reading.calls[0].arguments.matches("therapeutic_approach").count(), 2);
}

#[test]
fn smg_2271_a_completion_is_never_swallowed_whole() {
    for text in [
        "<tool_call",
        "<tool_call>",
        "<tool_call> is how calls begin, and then the answer goes on for a while.",
        "[TOOL_CALLS] are special",
        "<function=",
        "<|channel|>",
    ] {
        let reading = read(text, &Setup::auto());
        assert_eq!(reading.calls, [], "{text}");
        assert_eq!(reading.prose, text);
    }
}

#[test]
fn smg_2525_a_lone_bracket_at_the_end_is_kept() {
    for text in ["a <", "1 <", "<", "x [", "<｜", "◁", "<|", "if a <\n", "`", "``", "```", "a\n> "] {
        no_call(text);
    }
}

#[test]
fn markup_ends_an_object_that_was_no_call() {
    let mut setup = Setup::tools(&[("f", json!({"type": "object"}))]);
    setup.policy.bare_json = true;
    let call = r#"{"name": "f", "arguments": {}}"#;
    for begun in ["[", "{", "[1, {", "x\n["] {
        for marker in ["</think>", "<think>so</think>"] {
            // Cut anywhere, the same comes out; and what comes behind it is a call.
            let reading = read(&format!("{begun}\n{marker}\n{call}"), &setup);
            assert_eq!(reading.called(), [("f", json!({}))], "{begun} {marker}");
            read(&format!("{begun}\n{marker}\n{{"), &setup);
        }
        // Without it the call is a part of the object.
        assert_eq!(read(&format!("{begun}\nx\n{call}"), &setup).calls, [], "{begun}");
    }
    // In a string a marker is a part of the string.
    let told = format!("{{\"a\": \"</think>\\n\",\n\"b\":\n{call}}}");
    assert_eq!(read(&told, &setup).calls, []);
}
