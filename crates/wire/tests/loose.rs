//! Streams of servers that are looser than the protocol: what can be understood is, and what was said stands.
#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use loopwright_base::{
    error::FailureKind,
    message::{Block, Message, Role, StopReason, ToolResult, Wire},
    request::{Delta, Request, Response},
};
use loopwright_wire::{decode_response, encode_request, stream_decoder};
use serde_json::{Value, json};

type Streamed = (Result<Response, loopwright_base::error::Failure>, Vec<Delta>);

/// What a stream of these events gives; a text is sent as it is.
fn streamed(wire: Wire, events: &[Value]) -> Streamed {
    let mut decoder = stream_decoder(wire);
    let mut deltas = Vec::new();
    for event in events {
        let data = event.as_str().map_or_else(|| event.to_string(), str::to_owned);
        if let Err(failure) = decoder.event("", &data, &mut deltas) {
            return (Err(failure), deltas);
        }
    }
    (decoder.finish(), deltas)
}

fn chat(deltas: &[Value], finish: Option<&str>) -> Streamed {
    let chunk = |delta: &Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        json!({"choices": [choice]})
    };
    let mut events: Vec<Value> = deltas.iter().map(|delta| chunk(delta, None)).collect();
    events.extend(finish.map(|finish| chunk(&json!({}), Some(finish))));
    events.push(json!("[DONE]"));
    streamed(Wire::OpenaiChat, &events)
}

fn calls(response: &Response) -> Vec<(&str, &str)> {
    response.message.tool_uses().map(|call| (call.name.as_str(), call.arguments_text())).collect()
}

/// The calls that the deltas tell of, put together.
fn told(deltas: &[Delta]) -> Vec<(String, String)> {
    let mut calls: Vec<(usize, String, String)> = Vec::new();
    for delta in deltas {
        match delta {
            Delta::ToolUse { block, name, .. } => calls.push((*block, name.clone(), String::new())),
            Delta::Arguments { block, text } => {
                calls.iter_mut().find(|(at, ..)| at == block).unwrap().2.push_str(text);
            }
            _ => {}
        }
    }
    calls.into_iter().map(|(_, name, arguments)| (name, arguments)).collect()
}

#[test]
fn w10_pieces_of_one_call_are_one_call() {
    let piece = |index: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: Option<&str>| {
        let mut call = json!({"type": "function", "function": {}});
        for (key, value) in [("index", index.map(Value::from)), ("id", id.map(Value::from))] {
            if let Some(value) = value {
                call[key] = value;
            }
        }
        for (key, value) in [("name", name), ("arguments", arguments)] {
            if let Some(value) = value {
                call["function"][key] = value.into();
            }
        }
        json!({"tool_calls": [call]})
    };
    let (f, g) = (("f", r#"{"a":1}"#), ("g", r#"{"b":2}"#));
    for (what, pieces, expected) in [
        (
            "a known id under another index",
            vec![piece(Some(0), Some("x"), Some("f"), Some(r#"{"a""#)), piece(Some(1), Some("x"), None, Some(":1}"))],
            vec![f],
        ),
        (
            "two calls that were given one id",
            vec![
                piece(Some(0), Some("x"), Some("f"), Some("")),
                piece(Some(0), Some("x"), None, Some(r#"{"a":1}"#)),
                piece(Some(1), Some("x"), Some("g"), Some(r#"{"b":"#)),
                piece(Some(1), None, None, Some("2}")),
            ],
            vec![f, g],
        ),
        (
            "a new index without a name",
            vec![piece(Some(0), Some("x"), Some("f"), Some(r#"{"a""#)), piece(Some(1), None, None, Some(":1}"))],
            vec![f],
        ),
        (
            "a new id without a name",
            vec![piece(None, Some("x"), Some("f"), Some(r#"{"a""#)), piece(None, Some("y"), None, Some(":1}"))],
            vec![f],
        ),
        (
            "a name in pieces",
            vec![
                piece(Some(0), Some("x"), Some("wea"), None),
                piece(Some(0), None, Some("ther"), None),
                piece(Some(0), None, None, Some("{}")),
            ],
            vec![("weather", "{}")],
        ),
        (
            "a name that grows",
            vec![
                piece(Some(0), Some("x"), Some("wea"), Some("")),
                piece(Some(0), Some("x"), Some("weather"), Some("{}")),
            ],
            vec![("weather", "{}")],
        ),
        (
            "two calls by turns, their indexes mixed up",
            vec![
                piece(Some(0), Some("x"), Some("f"), Some(r#"{"a""#)),
                piece(Some(1), Some("y"), Some("g"), Some(r#"{"b""#)),
                piece(Some(1), Some("x"), None, Some(":1}")),
                piece(Some(0), Some("y"), None, Some(":2}")),
            ],
            vec![f, g],
        ),
        (
            "whole calls, one index",
            vec![piece(Some(0), Some("x"), Some("f"), Some(f.1)), piece(Some(0), Some("y"), Some("g"), Some(g.1))],
            vec![f, g],
        ),
        (
            "calls without arguments",
            vec![piece(Some(0), Some("x"), Some("f"), None), piece(Some(1), Some("y"), Some("g"), Some(g.1))],
            vec![("f", "{}"), g],
        ),
        (
            "a name in every piece",
            vec![
                piece(Some(0), Some("x"), Some("f"), Some(r#"{"a""#)),
                piece(Some(0), Some("x"), Some("f"), Some(":1}")),
            ],
            vec![f],
        ),
    ] {
        let (response, deltas) = chat(&pieces, Some("tool_calls"));
        let response = response.unwrap();
        assert_eq!(calls(&response), expected, "{what}");
        let told: Vec<_> = told(&deltas)
            .into_iter()
            .map(|(name, text)| (name, if text.is_empty() { "{}".into() } else { text }))
            .collect();
        let expected: Vec<_> = expected.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        assert_eq!(told, expected, "{what}");
    }
}

#[test]
fn w13_an_answer_without_a_finish_reason_counts_if_the_stream_says_its_end() {
    let (response, _) = chat(&[json!({"content": "Hi."})], None);
    let response = response.unwrap();
    assert_eq!((response.message.prose().as_str(), response.stop), ("Hi.", StopReason::EndTurn));
    let call = json!({"tool_calls": [{"index": 0, "id": "x", "function": {"name": "f", "arguments": "{}"}}]});
    assert_eq!(chat(&[call], None).0.unwrap().stop, StopReason::ToolUse);
    for nothing in [vec![], vec![json!({"role": "assistant"})], vec![json!({"reasoning": "Hm."})]] {
        assert_eq!(chat(&nothing, None).0.unwrap_err().kind, FailureKind::Cut, "{nothing:?}");
    }
    // A stream that only breaks off has no end.
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": "Hi."}, "finish_reason": null}]});
    assert_eq!(streamed(Wire::OpenaiChat, &[chunk]).0.unwrap_err().kind, FailureKind::Cut);
}

#[test]
fn w14_blocks_of_a_result_are_not_glued() {
    let result = |texts: &[&str]| {
        let content = texts.iter().map(|text| Block::text(*text)).collect();
        ToolResult { content, ..ToolResult::text("x", "f", "") }
    };
    for (texts, read) in [
        (&["total: 1", "0 errors"][..], "total: 1\n0 errors"),
        (&["a\n", "b"], "a\nb"),
        (&["a", " b"], "a b"),
        (&["", "a", "", "b"], "a\nb"),
        (&["a"], "a"),
    ] {
        assert_eq!(result(texts).prose(), read);
        let mut request = Request { model: "m".into(), ..Request::default() };
        request.messages.push(Message::new(Role::User, vec![Block::ToolResult(result(texts))]));
        let body: Value = serde_json::from_str(&encode_request(Wire::OpenaiChat, &request).unwrap()).unwrap();
        assert_eq!(body["messages"][0]["content"], read);
    }
}

#[test]
fn w17_last_events_that_hold_nothing_take_nothing_back() {
    let text = |event: &str| json!({"type": event, "output_index": 0, "content_index": 0, "delta": "Hi.", "text": ""});
    let call = json!({"type": "function_call", "id": "fc", "call_id": "x", "name": "f", "arguments": ""});
    let completed = |output: Value| {
        let response = json!({"id": "r", "status": "completed", "output": output});
        json!({"type": "response.completed", "response": response})
    };
    let bare = json!({"type": "message", "id": "m", "role": "assistant", "content": []});
    for output in [json!([]), json!([bare]), json!([{"type": "message", "id": "m", "role": "assistant"}]), Value::Null]
    {
        let (response, deltas) = streamed(
            Wire::OpenaiResponses,
            &[
                json!({"type": "response.output_item.added", "output_index": 0, "item": bare}),
                text("response.output_text.delta"),
                text("response.output_text.done"),
                json!({"type": "response.output_item.done", "output_index": 0, "item": bare}),
                completed(output.clone()),
            ],
        );
        assert_eq!(response.unwrap().message.prose(), "Hi.", "{output}");
        assert_eq!(deltas.len(), 1, "{deltas:?}");
    }
    for thin in [call.clone(), json!({"type": "function_call", "id": "fc"})] {
        let (response, deltas) = streamed(
            Wire::OpenaiResponses,
            &[
                json!({"type": "response.output_item.added", "output_index": 0, "item": call}),
                json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{\"a\":1}"}),
                json!({"type": "response.function_call_arguments.done", "output_index": 0, "arguments": ""}),
                json!({"type": "response.output_item.done", "output_index": 0, "item": thin}),
                completed(json!([thin])),
            ],
        );
        assert_eq!(calls(&response.unwrap()), [("f", r#"{"a":1}"#)]);
        assert_eq!(told(&deltas), [("f".to_owned(), r#"{"a":1}"#.to_owned())]);
    }
}

#[test]
fn w18_numbers_of_blocks_only_say_what_belongs_together() {
    let start =
        |at: Option<u64>, block: Value| json!({"type": "content_block_start", "index": at, "content_block": block});
    let delta = |at: Option<u64>, delta: Value| json!({"type": "content_block_delta", "index": at, "delta": delta});
    let text = |at: Option<u64>, text: &str| delta(at, json!({"type": "text_delta", "text": text}));
    let json_of = |at: Option<u64>, text: &str| delta(at, json!({"type": "input_json_delta", "partial_json": text}));
    let stop = |at: Option<u64>| json!({"type": "content_block_stop", "index": at});
    let words = || json!({"type": "text", "text": ""});
    let call = || json!({"type": "tool_use", "id": "x", "name": "f", "input": {}});
    for (what, first, second) in [
        ("gaps", Some(0), Some(7)),
        ("from one", Some(1), Some(2)),
        ("the same", Some(0), Some(0)),
        ("none", None, None),
    ] {
        for ends in [true, false] {
            let mut events =
                vec![json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}})];
            events.extend([start(first, words()), text(first, "Hi."), stop(first)]);
            if !ends {
                // Overlapping: the second begins before the first ends.
                events.pop();
            }
            events.extend([start(second, call()), json_of(second, r#"{"a":1}"#), stop(second)]);
            if !ends {
                events.push(stop(first));
            }
            events.push(
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}}),
            );
            events.push(json!({"type": "message_stop"}));
            let (response, deltas) = streamed(Wire::Anthropic, &events);
            let response = response.unwrap_or_else(|failure| panic!("{what} {ends}: {}", failure.message));
            assert_eq!(response.message.prose(), "Hi.", "{what}");
            assert_eq!(calls(&response), [("f", r#"{"a":1}"#)], "{what} {ends}");
            assert_eq!(told(&deltas), [("f".to_owned(), r#"{"a":1}"#.to_owned())], "{what}");
        }
    }
}

#[test]
fn w19_other_words_for_the_end_are_understood_and_kept() {
    for (word, stop) in [
        ("max_tokens", StopReason::MaxTokens),
        ("MAX_TOKENS", StopReason::MaxTokens),
        ("model_length", StopReason::ContextWindow),
        ("SAFETY", StopReason::ContentFilter),
        ("eos", StopReason::Other("eos".into())),
    ] {
        let message = json!({"role": "assistant", "content": "Hi."});
        let body = json!({"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": word}]});
        let response = decode_response(Wire::OpenaiChat, &body.to_string()).unwrap();
        assert_eq!(response.stop, StopReason::Other(word.to_owned()));
        assert_eq!(response.stop.understood(), stop, "{word}");
    }
    assert_eq!(StopReason::EndTurn.understood(), StopReason::EndTurn);
}
