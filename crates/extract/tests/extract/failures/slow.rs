//! Time grew with the square of the input. Looks at bytes are counted here, which is the same on every machine; what
//! they take is measured in `benches/extract`, shape by shape.

use loopwright_extract::Events;
use serde_json::{Value, json};

use super::{coder, hermes};
use crate::reading::Setup;

/// Feeds `text` in pieces of `size` bytes; gives how many looks at bytes that took, and the most events one piece
/// brought.
fn looks(text: &str, size: usize) -> (u64, usize) {
    let mut parser = Setup::auto().parser();
    let mut events = Events::new();
    let mut most = 0;
    for piece in text.as_bytes().chunks(size) {
        events.clear();
        parser.feed(piece, &mut events);
        most = most.max(events.len());
    }
    events.clear();
    parser.finish(&mut events);
    (parser.touched(), most)
}

/// Four looks at each byte at most, in a short text and in one eight times as long, and no more events for a piece.
#[track_caller]
fn linear(text: impl Fn(usize) -> String, small: usize, size: usize) {
    let mut most = Vec::new();
    for bytes in [small, 8 * small] {
        let text = text(bytes);
        let (looks, events) = looks(&text, size);
        let allowed = 4 * text.len() as u64;
        assert!(looks <= allowed, "{looks} looks at {} bytes", text.len());
        most.push(events);
    }
    assert!(most[1] <= most[0] + 16, "the events of one piece grow with the text: {most:?}");
}

fn of_json(n: usize) -> String {
    hermes("write", &json!({"path": "a.txt", "content": "line of text \"quoted\"\n".repeat(n / 24)}))
}

#[test]
fn pi_7698_six_hundred_kilobytes_of_arguments() {
    linear(of_json, 75_000, 4);
}

#[test]
fn pi_9062_a_hundred_thousand_deltas_of_one_character() {
    linear(of_json, 15_000, 1);
}

#[test]
fn pi_9063_deltas_of_one_character_in_a_call_of_elements() {
    linear(|n| coder("write", &[("content", &"<p>text</p>\n".repeat(n / 12))]), 15_000, 1);
}

#[test]
fn oh_my_pi_3946_a_long_list_of_edits() {
    let edits = |n: usize| Value::from((0..n / 30).map(|at| json!({"at": at, "text": "x"})).collect::<Vec<_>>());
    linear(|n| hermes("edit", &json!({"edits": edits(n)})), 40_000, 4);
}

#[test]
fn libs_709_many_calls_in_one_reply() {
    linear(|n| hermes("f", &json!({"a": 1})).repeat((n / 64).min(100)) + &"word ".repeat(n / 5), 40_000, 4);
}

#[test]
fn lmdeploy_4802_the_buffer_is_not_read_again_for_each_delta() {
    linear(
        |n| format!("<tool_call>\n{{\"name\": \"f\", \"arguments\": {{\"a\": [{}", "[1,2],".repeat(n / 6)),
        40_000,
        3,
    );
}

#[test]
fn baml_2165_not_everything_again_on_each_event() {
    linear(|n| hermes("f", &(0..n / 20).map(|at| (format!("key{at}"), json!("v"))).collect()), 40_000, 1);
}

#[test]
fn json_repair_203_broken_json_of_35_kilobytes() {
    linear(
        |n| format!("<tool_call>{{\"name\": \"f\", \"arguments\": {{\"a\": \"{}", "\\\" { [ , } ] ".repeat(n / 14)),
        40_000,
        4,
    );
    linear(|n| format!("<tool_call>{{name: 'f', arguments: {{a: [{}", "{'b': 1,, ".repeat(n / 10)), 5_000, 4);
}

#[test]
fn llama_index_22334_no_pattern_that_explodes() {
    linear(|n| "<tool_call".repeat(n / 10), 40_000, 4);
    linear(|n| "<tool_call>".repeat(n / 11), 40_000, 4);
    linear(|n| " ".repeat(n) + "<tool_call>" + &" ".repeat(n), 40_000, 4);
    linear(|n| "```\n<tool_call>\n".repeat(n / 16), 40_000, 4);
    linear(|n| "`".repeat(n), 40_000, 4);
    linear(|n| "{".repeat(n), 40_000, 4);
    linear(|n| "<think>".repeat(n / 7), 40_000, 4);
}

#[test]
fn vllm_37384_no_limit_of_eight_kilobytes_and_no_rebuilding() {
    let kimi = |n: usize| {
        let arguments = json!({"text": "x".repeat(n)});
        format!(
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.write:0<|tool_call_argument_begin|>{arguments}<|tool_call_end|><|tool_calls_section_end|>"
        )
    };
    let reading = crate::reading::pieces(kimi(100_000).as_bytes().chunks(7), &Setup::auto());
    assert_eq!(reading.called()[0].1["text"].as_str().map(str::len), Some(100_000));
    assert!(reading.calls[0].complete);
    linear(kimi, 40_000, 4);
}
