//! Streams of servers that are looser than the protocol: what can be understood is, and what was said stands.
#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use loopwright_base::{
    error::FailureKind,
    json::unfit,
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

#[test]
fn w17_arguments_before_their_call_are_held_back() {
    let named = |index: bool, kind: &str, mut event: Value| {
        event["type"] = json!(kind);
        if index {
            event["output_index"] = json!(0);
        }
        event
    };
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{\"a\":1}"});
    let begun = json!({"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": ""});
    for index in [true, false] {
        let delta = |text: &str| {
            named(index, "response.function_call_arguments.delta", json!({"item_id": "fc_1", "delta": text}))
        };
        let added = named(index, "response.output_item.added", json!({"item": begun}));
        let done = named(index, "response.output_item.done", json!({"item": call}));
        let whole = |output: Value| json!({"status": "completed", "output": output});
        let end = |output: Value| json!({"type": "response.completed", "response": whole(output)});
        for events in [
            vec![delta("{\"a\""), added.clone(), delta(":1}"), done.clone(), end(json!([call]))],
            vec![delta("{\"a\""), delta(":1}"), added.clone(), done.clone(), end(json!([]))],
            vec![delta("{\"a\""), delta(":1}"), done.clone(), end(json!([call]))],
            vec![delta("{\"a\":1}"), end(json!([call]))],
        ] {
            let (response, deltas) = streamed(Wire::OpenaiResponses, &events);
            assert_eq!(calls(&response.unwrap()), [("f", "{\"a\":1}")], "{events:?}");
            assert_eq!(told(&deltas), [("f".to_owned(), "{\"a\":1}".to_owned())], "{deltas:?}");
        }
    }
}

#[test]
fn w23_usage_is_found_wherever_it_stands() {
    let counts = json!({"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12});
    let choice = json!({"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"});
    let chunk = |delta: Value, finish: Value| json!({"index": 0, "delta": delta, "finish_reason": finish});
    let words = json!({"choices": [chunk(json!({"content": "Hi"}), Value::Null)]});
    let mut last = chunk(json!({}), json!("stop"));
    last["usage"] = counts.clone();
    let mut inside = choice.clone();
    inside["usage"] = counts.clone();
    let groq = json!({"id": "req_1", "usage": counts});
    let wholes = [
        json!({"choices": [inside]}),
        json!({"choices": [inside], "usage": null}),
        json!({"choices": [choice], "x_groq": groq}),
        json!({"choices": [choice], "usage": counts}),
    ];
    for body in wholes {
        let response = decode_response(Wire::OpenaiChat, &body.to_string()).unwrap();
        assert_eq!((response.usage.input, response.usage.output), (7, 5), "{body}");
        let again: Value =
            serde_json::from_str(&loopwright_wire::encode_response(Wire::OpenaiChat, &response)).unwrap();
        assert_eq!(again, body, "what came is written again, and nothing else");
    }
    let end = chunk(json!({}), json!("stop"));
    for events in [
        vec![words.clone(), json!({"choices": [last]})],
        vec![words.clone(), json!({"choices": [end], "x_groq": groq})],
        vec![words.clone(), json!({"choices": [end]}), json!({"choices": [], "usage": counts})],
    ] {
        let (response, _) = streamed(Wire::OpenaiChat, &events);
        let usage = response.unwrap().usage;
        assert_eq!((usage.input, usage.output), (7, 5), "{events:?}");
    }
}

#[test]
fn w23_one_bad_detail_takes_no_other_number_with_it() {
    for (counts, read) in [
        (json!({"prompt_tokens": 7, "completion_tokens": 5, "prompt_tokens_details": "none"}), (7, 5, 0)),
        (
            json!({"prompt_tokens": 7, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": -1}}),
            (7, 5, 0),
        ),
        (
            json!({"prompt_tokens": 7, "completion_tokens": "5", "prompt_tokens_details": {"cached_tokens": 3}}),
            (7, 0, 3),
        ),
        (json!({"prompt_tokens": 7.0, "completion_tokens": 5, "server_tool_use": []}), (7, 5, 0)),
        (json!({"prompt_tokens": 7, "completion_tokens": 5, "cached_tokens": 3}), (7, 5, 3)),
        (
            json!({"prompt_tokens": 7, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": "x"}}),
            (7, 5, 0),
        ),
        (json!("many"), (0, 0, 0)),
    ] {
        let choice = json!({"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"});
        let body = json!({"choices": [choice], "usage": counts}).to_string();
        let usage = decode_response(Wire::OpenaiChat, &body).unwrap().usage;
        assert_eq!((usage.input, usage.output, usage.cache_read), read, "{body}");
    }
}

#[test]
fn w27_a_call_without_an_id_gets_one() {
    for id in [Value::Null, json!(""), json!("absent")] {
        let mut call = json!({"type": "tool_use", "id": id, "name": "f", "input": {"a": 1}});
        if id == "absent" {
            call.as_object_mut().unwrap().remove("id");
        }
        let content = json!([{"type": "text", "text": "so"}, call, call]);
        let body = json!({"type": "message", "role": "assistant", "model": "m", "id": "1", "content": content,
            "stop_reason": "tool_use", "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}});
        let whole = decode_response(Wire::Anthropic, &body.to_string()).unwrap();
        let ids = |response: &Response| response.message.tool_uses().map(|call| call.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&whole), ["call_1", "call_2"], "{body}");
        let again: Value = serde_json::from_str(&loopwright_wire::encode_response(Wire::Anthropic, &whole)).unwrap();
        assert_eq!(again["content"], content, "what came is written again");
        let mut head = body.clone();
        head["content"] = json!([]);
        let mut events = vec![json!({"type": "message_start", "message": head})];
        for (at, block) in content.as_array().unwrap().iter().enumerate() {
            events.push(json!({"type": "content_block_start", "index": at, "content_block": block}));
            events.push(json!({"type": "content_block_stop", "index": at}));
        }
        events.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}}));
        events.push(json!({"type": "message_stop"}));
        let (streamed, deltas) = streamed(Wire::Anthropic, &events);
        assert_eq!(ids(&streamed.unwrap()), ["call_1", "call_2"]);
        let told: Vec<&str> = deltas
            .iter()
            .filter_map(|delta| match delta {
                Delta::ToolUse { id, .. } => Some(id.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(told, ["call_1", "call_2"]);
        // It goes back as one that has an id.
        let mut request = Request { model: "m".into(), ..Request::default() };
        request.messages.push(Message::user("go"));
        request.messages.push(whole.message);
        assert!(encode_request(Wire::Anthropic, &request).unwrap().contains(r#""id":"call_1""#));
    }
    let call = json!({"type": "function_call", "id": "fc_1", "name": "f", "arguments": "{}"});
    let body = json!({"id": "1", "object": "response", "status": "completed", "output": [call]});
    let response = decode_response(Wire::OpenaiResponses, &body.to_string()).unwrap();
    assert_eq!(response.message.tool_uses().next().unwrap().id, "fc_1");
    let again: Value =
        serde_json::from_str(&loopwright_wire::encode_response(Wire::OpenaiResponses, &response)).unwrap();
    assert_eq!(again, body);
}

/// An answer with one call, whose arguments are this JSON, on each wire.
fn answers(arguments: &str) -> Vec<(Wire, String)> {
    let text = serde_json::to_string(arguments).unwrap();
    let chat = format!(
        r#"{{"choices":[{{"message":{{"role":"assistant","content":null,"tool_calls":[{{"id":"c","type":"function",
        "function":{{"name":"f","arguments":{text}}}}}]}},"finish_reason":"tool_calls"}}]}}"#
    );
    let responses = format!(
        r#"{{"id":"1","object":"response","status":"completed","output":[
        {{"type":"function_call","call_id":"c","name":"f","arguments":{text}}}]}}"#
    );
    let anthropic = format!(
        r#"{{"id":"1","type":"message","role":"assistant","content":[
        {{"type":"tool_use","id":"c","name":"f","input":{arguments}}}],"stop_reason":"tool_use","usage":{{}}}}"#
    );
    let gemini = format!(
        r#"{{"candidates":[{{"content":{{"role":"model","parts":[
        {{"functionCall":{{"name":"f","args":{arguments}}}}}]}},"finishReason":"STOP"}}]}}"#
    );
    vec![
        (Wire::OpenaiChat, chat),
        (Wire::OpenaiResponses, responses),
        (Wire::Anthropic, anthropic),
        (Wire::Gemini, gemini),
    ]
}

#[test]
fn w31_arguments_that_are_null_are_none_on_every_wire() {
    for (wire, body) in answers("null") {
        let response = decode_response(wire, &body).unwrap();
        assert_eq!(calls(&response), [("f", "{}")], "{}", wire.name());
        assert!(response.message.tool_uses().all(|call| call.invalid.is_none()));
    }
}

#[test]
fn w31_half_of_a_character_is_the_same_on_every_wire() {
    for (arguments, is_unfit) in
        [(r#"{"a":"x\ud83d"}"#, true), (r#"{"a":{"\ude00":1}}"#, true), (r#"{"a":"\ud83d\ude00"}"#, false)]
    {
        for (wire, body) in answers(arguments) {
            let response = decode_response(wire, &body).unwrap();
            let call = response.message.tool_uses().next().unwrap();
            assert!(call.invalid.is_none(), "{}: {call:?}", wire.name());
            assert_eq!(unfit(call.input.text()).is_some(), is_unfit, "{}: {call:?}", wire.name());
        }
    }
    // Elsewhere it is replaced: prose is shown, whatever it holds.
    let content = r#"[{"type":"text","text":"say \"input\": {x\ud83d}"}]"#;
    let body = format!(r#"{{"role":"assistant","content":{content},"stop_reason":"end_turn","usage":{{}}}}"#);
    let prose = decode_response(Wire::Anthropic, &body).unwrap().message.prose();
    assert_eq!(prose, "say \"input\": {x\u{FFFD}}");
}
