//! Streams, however servers cut them, end them or break them.

use loopwright_base::{
    error::FailureKind,
    message::{Message, StopReason},
    request::Delta,
};
use loopwright_wire::{self as wire, stream::Stream};
use serde_json::{Value, json};

use crate::{WIRE, calls, delta, finish, sse, stream};

#[test]
fn tool_calls_however_they_are_cut() {
    let piece = |value: Value| delta(&json!({"tool_calls": [value]}));
    let call = |index: Value, id: Value, name: Value, arguments: Value| {
        let mut call = json!({"function": {"name": name, "arguments": arguments}});
        for (key, value) in [("index", index), ("id", id)] {
            if value != json!("absent") {
                call[key] = value;
            }
        }
        piece(call)
    };
    let no = || json!("absent");
    let expected = [("a", "f", "{\"x\":1}"), ("b", "g", "{\"y\":2}")];
    let streams = [
        // By index, interleaved; id and name repeated.
        vec![
            call(json!(0), json!("a"), json!("f"), json!("")),
            call(json!(1), json!("b"), json!("g"), json!("{\"y\"")),
            call(json!(0), json!("a"), json!("f"), json!("{\"x\":")),
            call(json!(1), json!(""), json!(null), json!(":2}")),
            call(json!(0), json!(null), json!(null), json!("1}")),
        ],
        // No index: by id, then by place.
        vec![
            call(no(), json!("a"), json!("f"), json!("{\"x\"")),
            call(no(), no(), json!(null), json!(":1}")),
            call(no(), json!("b"), json!("g"), json!("{\"y\"")),
            call(no(), json!("b"), json!(""), json!(":2}")),
        ],
        // Whole calls under one index.
        vec![
            call(json!(0), json!("a"), json!("f"), json!("{\"x\":1}")),
            call(json!(0), json!("b"), json!("g"), json!({"y": 2})),
        ],
        // The id before the name, both calls in one chunk.
        vec![
            delta(&json!({"role": "assistant", "content": "", "tool_calls": [
                {"index": 0, "id": "a", "type": "function"}, {"index": 1, "id": "b", "function": {}}]})),
            call(json!(0), no(), json!("f"), json!("{\"x\":1}")),
            call(json!(1), no(), json!("g"), json!("{\"y\":2}")),
        ],
    ];
    for mut chunks in streams {
        chunks.push(finish("stop"));
        let (response, deltas) = stream(&chunks);
        let response = response.unwrap();
        assert_eq!(calls(&response), expected, "{chunks:#?}");
        assert_eq!(response.stop, StopReason::ToolUse);
        assert_eq!(response.message.content.len(), 2);
        assert_eq!(deltas.iter().filter(|delta| matches!(delta, Delta::ToolUse { .. })).count(), 2);
    }
    // Neither index nor ids, whole calls.
    let (response, _) = stream(&[
        call(no(), no(), json!("f"), json!("{\"x\":1}")),
        call(no(), json!(""), json!("f"), json!("{\"x\":1}")),
        finish("tool_calls"),
    ]);
    assert_eq!(calls(&response.unwrap()), [("call_0", "f", "{\"x\":1}"), ("call_1", "f", "{\"x\":1}")]);
}

#[test]
fn a_stream_ends_well_or_not_at_all() {
    let text = delta(&json!({"content": "hi"}));
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}});
    for end in [
        vec![finish("stop")],
        vec![finish("stop"), json!("[DONE]")],
        vec![usage.clone(), finish("stop")],
        vec![finish("stop"), usage.clone(), json!("[DONE]"), json!("rubbish")],
    ] {
        let chunks: Vec<Value> = std::iter::once(text.clone()).chain(end.clone()).collect();
        let (response, _) = stream(&chunks);
        let response = response.unwrap();
        assert_eq!((response.message.prose().as_str(), &response.stop), ("hi", &StopReason::EndTurn));
        assert_eq!(response.usage.input, if end.contains(&usage) { 3 } else { 0 });
    }
    for end in [vec![], vec![usage]] {
        let chunks: Vec<Value> = std::iter::once(text.clone()).chain(end).collect();
        assert_eq!(stream(&chunks).0.unwrap_err().kind, FailureKind::Cut);
    }
    assert_eq!(stream(&[]).0.unwrap_err().kind, FailureKind::Cut);
}

#[test]
fn reasoning_refusals_and_the_rest_of_a_stream() {
    let (response, deltas) = stream(&[
        delta(&json!({"role": "assistant", "content": "", "refusal": null, "reasoning": "h", "reasoning_content": "h",
            "reasoning_details": [{"type": "reasoning.text", "text": "h", "index": 0, "signature": null}]})),
        delta(
            &json!({"reasoning": "m", "reasoning_details": [{"type": "reasoning.text", "text": "m", "index": 0, "signature": "s"}]}),
        ),
        delta(&json!({"content": "a"})),
        json!({"x_new": 1, "choices": [{"index": 0, "delta": {"content": "b"}, "logprobs": {"content": [{"token": "b"}]}}]}),
        json!({"obfuscation": "zz", "choices": [{"index": 0, "delta": {"content": "c"}, "logprobs": {"content": [{"token": "c"}]}}]}),
        json!({"choices": [{"index": 1, "delta": {"content": "another choice"}, "finish_reason": "length"}]}),
        finish("stop"),
    ]);
    let response = response.unwrap();
    let sent: Value = serde_json::from_str(&wire::encode_message(WIRE, &response.message)).unwrap();
    assert_eq!(
        sent,
        json!({"role": "assistant", "reasoning": "hm", "content": "abc", "reasoning_details": [
        {"type": "reasoning.text", "text": "hm", "index": 0, "signature": "s"}]})
    );
    let written: Value = serde_json::from_str(&wire::encode_response(WIRE, &response)).unwrap();
    assert_eq!(written["choices"][0]["logprobs"], json!({"content": [{"token": "b"}, {"token": "c"}]}));
    assert_eq!((&written["x_new"], &written["object"]), (&json!(1), &json!("chat.completion")));
    assert!(written.get("obfuscation").is_none());
    let reasoning: String = deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::Reasoning { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(reasoning, "hm");
    let (response, _) =
        stream(&[delta(&json!({"refusal": "I "})), delta(&json!({"refusal": "can't"})), finish("stop")]);
    let response = response.unwrap();
    assert_eq!((response.message.prose().as_str(), response.stop), ("I can't", StopReason::Refusal));
}

#[test]
fn what_is_left_of_a_stream_that_broke_off() {
    let (mut stream, mut deltas) = (Stream::new(WIRE), Vec::new());
    assert!(stream.partial().is_none());
    let call = json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}}]});
    stream.feed(sse(&[delta(&json!({"reasoning": "hm"})), delta(&call)]).as_bytes(), &mut deltas).unwrap();
    assert!(stream.partial().is_none());
    stream.feed(sse(&[delta(&json!({"content": "so far"}))]).as_bytes(), &mut deltas).unwrap();
    assert_eq!(stream.partial().unwrap().message, Message::assistant("so far"));
    assert_eq!(deltas.last(), Some(&Delta::Text { block: 2, text: "so far".into() }));
}

#[test]
fn hostile_chunks_are_typed_failures() {
    for chunk in [
        delta(&json!({"tool_calls": [{"index": 1e30, "id": "a", "function": {"name": "f"}}]})),
        delta(&json!({"tool_calls": [{"index": -1}]})),
        delta(&json!({"tool_calls": [{"index": "0"}]})),
        delta(&json!({"tool_calls": [7]})),
        delta(&json!({"tool_calls": {}})),
        delta(&json!({"tool_calls": [{"type": "custom", "custom": {}}]})),
        delta(&json!({"content": 5})),
        delta(&json!({"content": [5]})),
        delta(&json!({"refusal": {}})),
        delta(&json!([])),
        json!({"choices": [{"finish_reason": 5, "delta": {}}]}),
        json!({"choices": {}}),
        json!([]),
        json!("7"),
        json!("rubbish"),
        json!(format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000))),
        Value::Object((0..1_000).map(|n| (format!("k{n}"), json!(n))).collect()),
    ] {
        let (response, _) = stream(&[chunk.clone(), finish("stop")]);
        assert_eq!(response.unwrap_err().kind, FailureKind::InvalidBody, "{:.200}", chunk.to_string());
    }
    let many = (0..5_000).map(|n| json!({"id": format!("c{n}"), "function": {"name": "f"}})).collect::<Vec<_>>();
    // How many of them run is not for the wire to say.
    let (response, _) = stream(&[delta(&json!({"tool_calls": many})), finish("tool_calls")]);
    assert_eq!(response.unwrap().message.tool_uses().count(), 5_000);
    let far = delta(&json!({"tool_calls": [{"index": 1_000_000_000, "id": "a", "function": {"name": "f"}}]}));
    assert_eq!(stream(&[far, finish("tool_calls")]).0.unwrap().message.tool_uses().count(), 1);
    // A failure stays.
    let (mut stream, mut deltas) = (Stream::new(WIRE), Vec::new());
    assert!(stream.feed(b"data: 1\n\n", &mut deltas).is_err());
    assert!(stream.feed(sse(&[finish("stop")]).as_bytes(), &mut deltas).is_err());
    assert!(stream.finish(&mut deltas).is_err());
}
