//! The Chat Completions codec: what servers are known to write beside the protocol, what is sent, what is refused.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fmt::Write as _;

use loopwright::core::{
    error::{Failure, FailureKind},
    json::Fields,
    message::{
        Block, Extra, Form, Media, Message, Role, Source, StopReason, Thinking, ToolResult, ToolUse, Usage, Wire,
    },
    request::{Delta, Effort, Request, Response, Tool, ToolChoice, WebSearch},
    wire::{self, stream::Stream},
};
use proptest::prelude::*;
use serde_json::{Value, json};

const WIRE: Wire = Wire::OpenaiChat;

fn body(request: &Request) -> Value {
    serde_json::from_str(&wire::encode_request(WIRE, request).unwrap()).unwrap()
}

fn round_trips(value: &Value) -> Request {
    let request = wire::decode_request(WIRE, &value.to_string()).unwrap();
    assert_eq!(body(&request), *value, "{request:#?}");
    let own: Request = serde_json::from_str(&serde_json::to_string(&request).unwrap()).unwrap();
    assert_eq!(own, request);
    request
}

#[test]
fn odd_forms_come_back_as_they_were() {
    let request = round_trips(&json!({
        "model": "openai/gpt-4o", "temperature": 1, "top_p": 0.25, "stop": "END", "max_tokens": 10,
        "max_completion_tokens": 9, "reasoning_effort": "minimal", "tool_choice": {"type": "function", "function": {"name": "f"}},
        "response_format": {"type": "json_object"}, "stream": true, "n": 1, "@x": 1, "@@y": [],
        "web_search_options": {"search_context_size": "low"}, "tools": [
            {"type": "function", "function": {"name": "bare"}},
            {"type": "function", "function": {"name": "f", "parameters": {}, "strict": null, "x": 1}, "y": 2},
            {"type": "custom", "custom": {"name": "c"}}],
        "messages": [
            {"role": "developer", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}], "name": "n"},
            {"role": "system", "content": ""},
            {"role": "user", "content": []},
            {"role": "user", "name": "Ann", "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}, "z": 0},
                {"type": "image_url", "image_url": {"url": "https://e.org/a.png"}},
                {"type": "image_url", "image_url": "https://e.org/a.png"},
                {"type": "file", "file": {"file_id": "f1"}},
                {"type": "file", "file": {"file_data": "data:application/pdf;base64,AA"}},
                {"type": "file", "file": {"file_data": "data:application/pdf;base64,AA", "filename": "a.pdf"}},
                {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}]},
            {"role": "assistant"},
            {"role": "assistant", "content": null, "refusal": "no"},
            {"role": "assistant", "content": "", "annotations": [], "audio": {"id": "a"}, "reasoning": "hm", "reasoning_content": "hm"},
            {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "b"}], "tool_calls": []},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "f", "arguments": ""}, "extra_content": {"g": 1}},
                {"id": "1", "function": {"name": "f", "arguments": {"a": 1}}},
                {"type": "function", "function": {"name": "f", "arguments": "{\"a\":", "q": 1}},
                {"id": "3", "type": "custom", "custom": {"name": "c", "input": "x"}}, 5, {}]},
            {"role": "tool", "tool_call_id": "1", "content": "r", "name": "f"},
            {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "r"}]},
            {"role": "tool", "content": null}
        ]
    }));
    assert_eq!(request.max_tokens, Some(9));
    assert_eq!(request.stop, ["END"]);
    assert_eq!(request.tools.len(), 4);
    assert_eq!(request.tool_choice, Some(ToolChoice::Tool("f".into())));
    assert_eq!(request.system.as_ref().unwrap().role, Role::Developer);
    for model in ["o3-mini", "gpt-4o"] {
        for limit in ["max_tokens", "max_completion_tokens"] {
            let request = round_trips(&json!({"model": model, (limit): 7, "messages": [], "tools": [], "stop": null}));
            assert_eq!(request.max_tokens, Some(7));
        }
    }
    round_trips(&json!({"messages": [], "stream": false, "stream_options": null, "max_tokens": null, "model": ""}));
    round_trips(&json!({"messages": [], "stream": true, "stream_options": {"include_usage": true}}));
    round_trips(&json!({"messages": [], "stream": true, "stream_options": {"include_usage": false}}));
}

#[test]
fn what_is_changed_after_decoding_counts() {
    let text = json!({"model": "o1", "max_tokens": 5, "stop": "a", "temperature": 1, "reasoning_effort": "none",
        "messages": [{"role": "user", "content": null}]});
    let mut request = wire::decode_request(WIRE, &text.to_string()).unwrap();
    request.max_tokens = Some(6);
    request.stop = vec![];
    request.temperature = None;
    request.effort = Some(Effort::High);
    let mut message = request.messages.iter().next().unwrap().clone();
    message.content.push(Block::text("new"));
    request.messages = [message].into_iter().collect();
    assert_eq!(
        body(&request),
        json!({"model": "o1", "max_tokens": 6, "reasoning_effort": "high",
            "messages": [{"role": "user", "content": "new"}]})
    );
}

#[test]
fn our_own_requests() {
    let mut request = Request { model: "openai/o3-mini".into(), max_tokens: Some(3), ..Request::default() };
    request.stream = Some(true);
    request.tools = vec![Tool::WebSearch(WebSearch::default())].into();
    request.messages.push(Message::user("hi"));
    assert_eq!(
        body(&request),
        json!({"model": "openai/o3-mini", "max_completion_tokens": 3, "stream": true, "web_search_options": {},
            "stream_options": {"include_usage": true}, "messages": [{"role": "user", "content": "hi"}]})
    );
    request.model = "llama3".into();
    assert_eq!(body(&request)["max_tokens"], 3);
    request.tools = vec![Tool::WebSearch(WebSearch { max_uses: Some(1), ..WebSearch::default() })].into();
    assert_eq!(wire::encode_request(WIRE, &request).unwrap_err().code, "unsupported_option");
}

#[test]
fn several_results_with_media_become_several_messages() {
    let image = Block::Image(Media {
        source: Source::Base64 { media_type: "image/png".into(), data: "AA".into() },
        name: None,
        extra: None,
    });
    let mut shown = ToolResult::text("b", "g", "");
    shown.content = vec![image];
    let message = Message::new(
        Role::User,
        vec![Block::ToolResult(ToolResult::text("a", "f", "one")), Block::ToolResult(shown), Block::text("and now?")],
    );
    let sent: Value = serde_json::from_str(&format!("[{}]", wire::encode_message(WIRE, &message))).unwrap();
    assert_eq!(
        sent,
        json!([
            {"role": "tool", "tool_call_id": "a", "content": "one"},
            {"role": "tool", "tool_call_id": "b", "content": "The content follows in the next message."},
            {"role": "user", "content": [
                {"type": "text", "text": "Content of the tool result b:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
                {"type": "text", "text": "and now?"}]}
        ])
    );
}

#[test]
fn what_other_wires_left_stays_there() {
    let mut call = ToolUse::from_text("c", "f", "{}".into());
    call.extra = Extra::of(Wire::Anthropic, Fields::parse(r#"{"caller":1}"#).unwrap());
    let message = Message::new(
        Role::Assistant,
        vec![
            Block::Thinking(Thinking { text: "secret".into(), signature: Some("s".into()), ..Thinking::default() }),
            Block::text("a"),
            Block::text("b"),
            Block::ToolUse(call),
        ],
    );
    let sent: Value = serde_json::from_str(&wire::encode_message(WIRE, &message)).unwrap();
    assert_eq!(
        sent,
        json!({"role": "assistant", "content": "ab", "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]})
    );
    let mut quiet = Message::new(Role::Assistant, vec![]);
    quiet.form = Form::Auto;
    assert_eq!(wire::encode_message(WIRE, &quiet), r#"{"role":"assistant","content":""}"#);
}

#[test]
fn appending_keeps_every_byte_before() {
    let mut request =
        Request { model: "m".into(), system: Some(Message::text(Role::System, "s").into()), ..Request::default() };
    let mut before = wire::encode_request(WIRE, &request).unwrap();
    for turn in 0..5 {
        request.messages.push(Message::user(format!("q{turn}")));
        request.messages.push(Message::assistant("a"));
        let after = wire::encode_request(WIRE, &request).unwrap();
        assert!(after.starts_with(before.trim_end_matches("]}")));
        before = after;
    }
}

#[test]
fn what_the_wire_cannot_take_is_refused() {
    let with = |block: Block, role| Request {
        messages: [Message::new(role, vec![block])].into_iter().collect(),
        ..Request::default()
    };
    let media = |source| Media { source, name: None, extra: None };
    for (block, role, code) in [
        (Block::Image(media(Source::File("f".into()))), Role::User, "unsupported_source"),
        (Block::Document(media(Source::File(String::new()))), Role::User, "invalid_source"),
        (Block::Image(media(Source::Url("u".into()))), Role::Assistant, "unsupported_block"),
        (Block::ToolUse(ToolUse::from_text("c", "f", String::new())), Role::User, "unsupported_block"),
        (Block::ToolResult(ToolResult::text("c", "f", "")), Role::System, "unsupported_block"),
    ] {
        assert_eq!(wire::encode_request(WIRE, &with(block, role)).unwrap_err().code, code);
    }
    for body in ["", "[]", "{}", r#"{"messages":{}}"#, r#"{"messages":[1]}"#, r#"{"messages":[{}]}"#] {
        assert!(wire::decode_request(WIRE, body).is_err(), "{body}");
    }
    assert_eq!(wire::decode_request(WIRE, r#"{"messages":[{"role":"robot"}]}"#).unwrap_err().code, "unknown_role");
}

// Answers.

fn answer(body: &Value) -> Response {
    let response = wire::decode_response(WIRE, &body.to_string()).unwrap();
    let written: Value = serde_json::from_str(&wire::encode_response(WIRE, &response)).unwrap();
    assert_eq!(written, *body, "{response:#?}");
    let own: Response = serde_json::from_str(&serde_json::to_string(&response).unwrap()).unwrap();
    assert_eq!(own, response);
    response
}

fn choice(message: &Value, finish: &Value) -> Response {
    answer(&json!({"choices": [{"message": message, "finish_reason": finish}]}))
}

fn sse(chunks: &[Value]) -> String {
    let mut text = String::new();
    for chunk in chunks {
        match chunk {
            Value::String(data) => write!(text, "data: {data}\n\n").unwrap(),
            chunk => write!(text, "data: {chunk}\n\n").unwrap(),
        }
    }
    text
}

fn stream(chunks: &[Value]) -> (Result<Response, Failure>, Vec<Delta>) {
    let (mut stream, mut deltas) = (Stream::new(WIRE), Vec::new());
    if let Err(failure) = stream.feed(sse(chunks).as_bytes(), &mut deltas) {
        return (Err(failure), deltas);
    }
    (stream.finish(&mut deltas), deltas)
}

fn delta(delta: &Value) -> Value {
    json!({"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": delta}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn calls(response: &Response) -> Vec<(&str, &str, &str)> {
    response.message.tool_uses().map(|call| (call.id.as_str(), call.name.as_str(), call.arguments_text())).collect()
}

#[test]
fn the_usual_answer_is_kept_once() {
    let response = answer(&json!({"id": "i", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "logprobs": null, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "unmistakable", "refusal": null, "annotations": [], "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}},
            {"index": 1, "message": {"role": "assistant", "content": "other"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7, "cost": 0.5,
            "prompt_tokens_details": {"cached_tokens": 3}, "completion_tokens_details": {"reasoning_tokens": 1}}}));
    let own = serde_json::to_string(&response).unwrap();
    assert_eq!(own.matches("unmistakable").count(), 1, "{own}");
    assert_eq!(response.usage, Usage { input: 5, output: 2, cache_read: 3, reasoning: 1, ..Usage::default() });
    // Beside the message the answer keeps what a server must not be sent back.
    assert_eq!(response.message.extra, None);
}

#[test]
fn what_servers_write_beside_the_protocol() {
    let call = |id: Value, arguments: Value| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}});
    // `stop` beside tool calls, an empty text.
    let message = json!({"role": "assistant", "content": "", "tool_calls": [call(json!("a"), json!("{\"x\": 1}"))]});
    let response = choice(&message, &json!("stop"));
    assert_eq!((&response.stop, response.message.content.len()), (&StopReason::ToolUse, 1));
    // No ids, the same id twice, arguments as an object, an index.
    let mut indexed = call(json!("a"), json!({"x": 2}));
    indexed["index"] = json!(1);
    let list = [call(json!(null), json!("")), call(json!("a"), json!(" {} ")), indexed, call(json!("a_2"), json!("{"))];
    let response = choice(&json!({"role": "assistant", "tool_calls": list}), &json!("tool_calls"));
    assert_eq!(
        calls(&response),
        [("call_0", "f", "{}"), ("a", "f", "{}"), ("a_2", "f", "{\"x\":2}"), ("a_2_2", "f", "{")]
    );
    assert_eq!(response.message.tool_uses().last().unwrap().invalid.as_deref(), Some("{"));
    let sent: Value = serde_json::from_str(&wire::encode_message(WIRE, &response.message)).unwrap();
    assert_eq!(sent["tool_calls"][0]["id"], "call_0");
    assert_eq!(sent["tool_calls"][2]["function"]["arguments"], "{\"x\":2}");
    // Empty lists of calls.
    assert_eq!(
        choice(&json!({"role": "assistant", "content": "x", "tool_calls": []}), &json!("stop")).stop,
        StopReason::EndTurn
    );
    // The form before tool calls.
    let old = json!({"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}});
    let response = choice(&old, &json!("function_call"));
    assert_eq!((calls(&response), &response.stop), (vec![("call_0", "f", "{}")], &StopReason::ToolUse));
    // A call of a kind that is not ours.
    let custom = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "n", "input": "i"}}]});
    let response = choice(&custom, &json!("tool_calls"));
    assert!(matches!(&response.message.content[..], [Block::Provider(block)] if block.kind() == "custom"));
    let sent: Value = serde_json::from_str(&wire::encode_message(WIRE, &response.message)).unwrap();
    assert_eq!(sent["tool_calls"], custom["tool_calls"]);
    // Content as parts; no role, no finish reason, no content.
    let parts = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
    assert_eq!(choice(&json!({"content": parts}), &json!(null)).message.prose(), "ab");
    choice(&json!({"content": [{"type": "hologram"}]}), &json!("eos"));
    assert!(choice(&json!({}), &json!(null)).message.content.is_empty());
    assert_eq!(
        choice(&json!({"role": "assistant", "content": "x"}), &json!("eos")).stop,
        StopReason::Other("eos".into())
    );
}

#[test]
fn refusals_are_text_that_says_so() {
    let response = choice(&json!({"role": "assistant", "content": null, "refusal": "I can't"}), &json!("stop"));
    assert_eq!((response.message.prose().as_str(), &response.stop), ("I can't", &StopReason::Refusal));
    assert!(!serde_json::to_string(&response).unwrap().contains("@choices"));
    let sent: Value = serde_json::from_str(&wire::encode_message(WIRE, &response.message)).unwrap();
    assert_eq!(sent, json!({"role": "assistant", "content": null, "refusal": "I can't"}));
    let both = choice(&json!({"role": "assistant", "content": "Well.", "refusal": "No."}), &json!("length"));
    assert_eq!((both.message.prose().as_str(), both.stop), ("Well.No.", StopReason::MaxTokens));
}

#[test]
fn reasoning_goes_back_under_its_name() {
    for field in ["reasoning", "reasoning_content"] {
        let details = json!([{"type": "reasoning.encrypted", "data": "zz"}]);
        let message = json!({"role": "assistant", "content": "a", (field): "hm", "reasoning_details": details});
        let response = choice(&message, &json!("stop"));
        assert!(matches!(&response.message.content[0], Block::Thinking(thinking) if thinking.text == "hm"));
        let sent: Value = serde_json::from_str(&wire::encode_message(WIRE, &response.message)).unwrap();
        assert_eq!(sent, message);
    }
    let both = json!({"role": "assistant", "content": "a", "reasoning": "hm", "reasoning_content": "hm"});
    assert_eq!(choice(&both, &json!("stop")).message.content.len(), 2);
}

#[test]
fn an_edited_answer_is_written_as_edited() {
    let body = json!({"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "", "tool_calls": [
        {"function": {"name": "f", "arguments": {}}}]}}], "usage": {"prompt_tokens": 1}});
    let mut response = answer(&body);
    response.message = Message::assistant("new");
    response.stop = StopReason::EndTurn;
    response.usage.output = 9;
    let written: Value = serde_json::from_str(&wire::encode_response(WIRE, &response)).unwrap();
    assert_eq!(written["choices"][0]["message"], json!({"role": "assistant", "content": "new"}));
    assert_eq!(written["usage"]["completion_tokens"], 9);
    // An answer of our own has all that clients look for.
    response.extra = None;
    response.message.content.push(Block::Thinking(Thinking { text: "hm".into(), ..Thinking::default() }));
    let written: Value = serde_json::from_str(&wire::encode_response(WIRE, &response)).unwrap();
    assert_eq!(written["object"], "chat.completion");
    assert_eq!(written["choices"][0]["index"], 0);
    assert_eq!(written["choices"][0]["message"]["reasoning_content"], "hm");
}

#[test]
fn errors_under_status_200() {
    for (body, kind) in [
        (json!({"error": {"message": "slow down", "code": 429}}), FailureKind::RateLimited),
        (json!({"error": {"message": "boom", "type": "server_error", "code": null}}), FailureKind::Server),
        (json!({"error": "model overloaded"}), FailureKind::Overloaded),
        (
            json!({"error": {"message": "maximum context length", "code": 400}, "choices": []}),
            FailureKind::ContextTooLong,
        ),
        (json!({"object": "error", "message": "bad", "type": "BadRequestError", "code": 400}), FailureKind::BadRequest),
        (
            json!({"choices": [{"finish_reason": "error", "message": {}, "error": {"code": 502, "message": "x"}}]}),
            FailureKind::Server,
        ),
        (json!({"choices": []}), FailureKind::InvalidBody),
        (json!({"choices": [{}]}), FailureKind::InvalidBody),
        (json!({"choices": 5}), FailureKind::InvalidBody),
        (json!({"choices": [{"message": {"tool_calls": {}}}]}), FailureKind::InvalidBody),
        (json!([]), FailureKind::InvalidBody),
        (json!({}), FailureKind::InvalidBody),
    ] {
        assert_eq!(wire::decode_response(WIRE, &body.to_string()).unwrap_err().kind, kind, "{body}");
        if kind != FailureKind::InvalidBody {
            let (response, deltas) = stream(&[delta(&json!({"content": "half"})), body.clone()]);
            assert_eq!(response.unwrap_err().kind, kind, "{body}");
            assert_eq!(deltas.len(), 1);
        }
    }
    for body in ["", "<html>", "null", "{", "\u{0}"] {
        assert_eq!(wire::decode_response(WIRE, body).unwrap_err().kind, FailureKind::InvalidBody, "{body}");
    }
}

// Streams.

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
    for end in [vec![], vec![json!("[DONE]")], vec![usage]] {
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
        delta(&json!({"tool_calls": [{"index": 1_000_000_000, "id": "a", "function": {"name": "f"}}]})),
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
    assert_eq!(stream(&[delta(&json!({"tool_calls": many}))]).0.unwrap_err().kind, FailureKind::InvalidBody);
    // A failure stays.
    let (mut stream, mut deltas) = (Stream::new(WIRE), Vec::new());
    assert!(stream.feed(b"data: 1\n\n", &mut deltas).is_err());
    assert!(stream.feed(sse(&[finish("stop")]).as_bytes(), &mut deltas).is_err());
    assert!(stream.finish(&mut deltas).is_err());
}

/// Values that chunks are made of, right and wrong.
fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => "[a-c{}\":\\\\é ]{0,6}".prop_map(Value::from),
        2 => prop_oneof![Just(json!("call_0")), Just(json!("a_2")), Just(json!("function")), Just(json!("{}"))],
        1 => Just(Value::Null),
        1 => (-1i64..3).prop_map(Value::from),
        1 => Just(json!(1_000_000_000u64)),
        1 => Just(json!([])),
        1 => Just(json!({})),
        1 => Just(json!({"type": "text", "text": "t"})),
        1 => Just(json!([{"type": "text", "text": "t"}])),
    ]
}

/// A member that is there `often` (in a hundred), and of any shape now and then.
fn member(
    key: &'static str,
    often: u32,
    value: impl Strategy<Value = Value> + 'static,
) -> BoxedStrategy<Option<(String, Value)>> {
    let value = prop_oneof![50 => value, 1 => scalar()];
    prop::option::weighted(f64::from(often) / 100.0, value.prop_map(move |value| (key.to_owned(), value))).boxed()
}

fn object(members: Vec<BoxedStrategy<Option<(String, Value)>>>) -> BoxedStrategy<Value> {
    members.prop_map(|members| Value::Object(members.into_iter().flatten().collect())).boxed()
}

fn words() -> BoxedStrategy<Value> {
    prop_oneof![6 => "[a-cé ]{1,4}".prop_map(Value::from), 1 => Just(json!("")), 2 => Just(Value::Null)].boxed()
}

fn any_call() -> impl Strategy<Value = Value> {
    let arguments = prop_oneof![
        Just(json!("")),
        Just(json!("{}")),
        Just(json!(" {}")),
        Just(json!("{\"a\":")),
        Just(json!("1}")),
        Just(json!({"a": 1}))
    ];
    let id = prop_oneof![
        Just(json!("a")),
        Just(json!("b")),
        Just(json!("a_2")),
        Just(json!("call_0")),
        Just(json!("")),
        Just(json!(null))
    ];
    let function =
        object(vec![member("name", 80, words()), member("arguments", 90, arguments), member("new", 5, scalar())]);
    object(vec![
        member("index", 60, (0i64..3).prop_map(Value::from)),
        member("id", 70, id),
        member("type", 80, Just(json!("function"))),
        member("function", 95, function),
        member("extra_content", 5, scalar()),
    ])
}

fn any_message() -> impl Strategy<Value = Value> {
    let details = prop::collection::vec(
        object(vec![
            member("type", 90, Just(json!("reasoning.text"))),
            member("text", 90, words()),
            member("index", 90, (0i64..2).prop_map(Value::from)),
        ]),
        0..3,
    );
    object(vec![
        member("role", 97, Just(json!("assistant"))),
        member("content", 90, words()),
        member("refusal", 30, prop_oneof![3 => Just(Value::Null), 1 => words()]),
        member("reasoning", 20, words()),
        member("reasoning_content", 20, words()),
        member("reasoning_details", 10, details.prop_map(Value::from)),
        member("tool_calls", 40, prop::collection::vec(any_call(), 0..4).prop_map(Value::from)),
        member("@note", 5, scalar()),
    ])
}

fn any_body(said: &'static str) -> impl Strategy<Value = Value> {
    let finish = prop_oneof![
        4 => Just(json!("stop")), 4 => Just(json!("tool_calls")), 1 => Just(json!("length")), 4 => Just(json!(null))
    ];
    let choice = object(vec![
        member("index", 80, prop_oneof![20 => Just(json!(0)), 1 => Just(json!(1))]),
        member(said, 98, any_message()),
        member("finish_reason", 90, finish),
        member("logprobs", 10, Just(json!({"content": [{"token": "t"}]}))),
        member("@original", 5, scalar()),
    ]);
    let choices = prop_oneof![9 => Just(1..2usize), 1 => Just(0..3)]
        .prop_flat_map(move |count| prop::collection::vec(choice.clone(), count));
    object(vec![
        member("id", 90, words()),
        member("object", 90, Just(json!("chat.completion"))),
        member("model", 90, words()),
        member("usage", 50, (0u64..9).prop_map(|n| json!({"prompt_tokens": n, "completion_tokens_details": null}))),
        member("choices", 97, choices.prop_map(Value::from)),
        member("@choices", 5, scalar()),
    ])
}

fn any_request() -> impl Strategy<Value = Value> {
    fn one_of(values: &[Value]) -> BoxedStrategy<Value> {
        prop::sample::select(values.to_vec()).boxed()
    }
    let part = one_of(&[
        json!({"type": "text", "text": "t"}),
        json!({"type": "text", "text": "t", "cache_control": {"type": "ephemeral"}}),
        json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA", "detail": "low"}}),
        json!({"type": "image_url", "image_url": {"url": "https://e.org/a"}, "@x": 1}),
        json!({"type": "file", "file": {"file_data": "data:a/b;base64,AA", "filename": "n"}}),
        json!({"type": "file", "file": {"file_id": "i", "file_data": ""}}),
        json!({"type": "input_audio", "input_audio": {}}),
        json!({"type": "text"}),
        json!(1),
    ]);
    let content = prop_oneof![words(), prop::collection::vec(part, 0..3).prop_map(Value::from)];
    let other = object(vec![
        member("role", 99, one_of(&[json!("user"), json!("system"), json!("developer"), json!("tool")])),
        member("content", 95, content),
        member("tool_call_id", 50, words()),
        member("name", 20, words()),
    ]);
    let tool = one_of(&[
        json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}, "strict": true, "description": ""}}),
        json!({"type": "function", "function": {"name": "f", "parameters": null}}),
        json!({"function": {"name": "f", "x": 1}}),
        json!({"type": "custom", "custom": {"name": "f"}}),
        json!({"type": "function"}),
    ]);
    let numbers =
        one_of(&[json!(0), json!(1), json!(1.0), json!(0.7), json!(-0.0), json!(1e300), json!(1e-9), json!(null)]);
    let flags = one_of(&[json!(true), json!(false), json!(null)]);
    let limits = one_of(&[json!(5), json!(5.0), json!(null), json!(u64::MAX)]);
    let schema = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "strict": null}});
    object(vec![
        member("model", 90, one_of(&[json!("m"), json!("o3"), json!("openai/gpt-5-mini"), json!("")])),
        member(
            "messages",
            99,
            prop::collection::vec(prop_oneof![other, any_message().boxed()], 0..5).prop_map(Value::from),
        ),
        member("tools", 40, prop::collection::vec(tool, 0..3).prop_map(Value::from)),
        member(
            "tool_choice",
            40,
            one_of(&[
                json!("auto"),
                json!("any"),
                json!("required"),
                json!("none"),
                json!(null),
                json!({"type": "function", "function": {"name": "f"}}),
                json!({"type": "allowed_tools"}),
            ]),
        ),
        member("temperature", 40, numbers.clone()),
        member("top_p", 40, numbers),
        member("stop", 40, one_of(&[json!("a"), json!(["a"]), json!([]), json!(null), json!(["a", "b"])])),
        member("parallel_tool_calls", 30, flags.clone()),
        member("stream", 60, flags),
        member("stream_options", 40, one_of(&[json!({"include_usage": true}), json!({}), json!(null)])),
        member("max_tokens", 40, limits.clone()),
        member("max_completion_tokens", 40, limits),
        member("reasoning_effort", 40, one_of(&[json!("low"), json!("minimal"), json!(null)])),
        member("response_format", 40, one_of(&[schema, json!({"type": "json_object"}), json!(null)])),
        member("web_search_options", 20, one_of(&[json!({}), json!({"search_context_size": "low"}), json!(null)])),
        member("@note", 5, scalar()),
        member("n", 20, scalar()),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_answer_is_lossless_or_a_failure(body in any_body("message")) {
        match wire::decode_response(WIRE, &body.to_string()) {
            Err(failure) => prop_assert!(!failure.message.is_empty()),
            Ok(response) => {
                let written: Value = serde_json::from_str(&wire::encode_response(WIRE, &response)).unwrap();
                prop_assert_eq!(written, body);
                let own: Response = serde_json::from_str(&serde_json::to_string(&response).unwrap()).unwrap();
                prop_assert_eq!(&own, &response);
                let mut ids: Vec<_> = response.message.tool_uses().map(|call| &call.id).collect();
                let count = ids.len();
                ids.sort();
                ids.dedup();
                prop_assert_eq!(ids.len(), count);
                // As a stream it is the same answer.
                let chunks: Vec<Value> =
                    wire::encode_stream(WIRE, &response, 2).into_iter().map(|(_, data)| json!(data)).collect();
                let again = stream(&chunks).0.unwrap();
                let foreign = response.message.content.iter().any(|block| matches!(block, Block::Provider(_)));
                if !foreign && calls(&response).iter().all(|(_, name, _)| !name.is_empty()) {
                    prop_assert_eq!(&again.message.content, &response.message.content);
                    prop_assert_eq!((&again.id, &again.model), (&response.id, &response.model));
                    prop_assert_eq!((&again.stop, again.usage), (&response.stop, response.usage));
                }
                // What goes back is JSON, and we can read it.
                let request = format!(r#"{{"messages":[{}]}}"#, wire::encode_message(WIRE, &response.message));
                prop_assert!(wire::decode_request(WIRE, &request).is_ok());
            }
        }
    }

    #[test]
    fn any_chunks_give_an_answer_or_a_failure(
        chunks in prop::collection::vec(any_body("delta"), 0..8),
        flips in prop_oneof![3 => Just(vec![]), 1 => prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3)],
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = sse(&chunks).into_bytes();
        bytes.extend_from_slice(sse(&[finish("stop")]).as_bytes());
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let run = |pieces: &[&[u8]]| {
            let (mut stream, mut deltas) = (Stream::new(WIRE), Vec::new());
            let fed = pieces.iter().try_for_each(|piece| stream.feed(piece, &mut deltas));
            let partial = stream.partial();
            (fed.and_then(|()| stream.finish(&mut deltas)), deltas, partial)
        };
        let whole = run(&[&bytes]);
        let (before, after) = bytes.split_at(cut.index(bytes.len()));
        prop_assert_eq!(&run(&[before, after]), &whole);
        if let (Ok(response), deltas, _) = whole {
            let mut texts = vec![String::new(); response.message.content.len()];
            for delta in deltas {
                match delta {
                    Delta::Text { block, text } | Delta::Reasoning { block, text } | Delta::Arguments { block, text } => {
                        texts[block].push_str(&text);
                    }
                    Delta::ToolUse { block, id, name } => {
                        let Block::ToolUse(call) = &response.message.content[block] else { panic!("{block}") };
                        prop_assert_eq!((id, name), (call.id.clone(), call.name.clone()));
                    }
                    Delta::Provider { .. } => {}
                }
            }
            for (block, text) in response.message.content.iter().zip(texts) {
                match block {
                    Block::Text(expected) => prop_assert_eq!(&expected.text, &text),
                    Block::Thinking(expected) => prop_assert_eq!(&expected.text, &text),
                    Block::ToolUse(call) => {
                        prop_assert_eq!(call, &ToolUse { extra: call.extra.clone(), ..ToolUse::from_text(&call.id, &call.name, text) });
                    }
                    other => panic!("{other:?}"),
                }
            }
            // The answer is one that this wire can write: a stream of it gives it again.
            let again = wire::encode_stream(WIRE, &response, 3);
            let chunks: Vec<Value> = again.into_iter().map(|(_, data)| json!(data)).collect();
            let again = stream(&chunks).0.unwrap();
            prop_assert_eq!(&again.message.prose(), &response.message.prose());
            // A call is shown once its name is known: calls without one come last.
            if calls(&response).iter().all(|(_, name, _)| !name.is_empty()) {
                prop_assert_eq!(calls(&again), calls(&response));
            }
            prop_assert_eq!(again.usage, response.usage);
        }
    }

    #[test]
    fn any_request_is_lossless_or_refused(body in any_request()) {
        if let Ok(request) = wire::decode_request(WIRE, &body.to_string()) {
            let sent: Value = serde_json::from_str(&wire::encode_request(WIRE, &request).unwrap()).unwrap();
            prop_assert_eq!(&sent, &body);
            let own: Request = serde_json::from_str(&serde_json::to_string(&request).unwrap()).unwrap();
            prop_assert_eq!(&own, &request);
            // What is ours is ours: with the notes of the wire taken away it can still be sent.
            let mut bare = request;
            bare.extra = None;
            prop_assert!(wire::encode_request(WIRE, &bare).is_ok());
        }
    }

    #[test]
    fn no_bytes_make_it_panic(text in ".{0,200}") {
        let _ = wire::decode_response(WIRE, &text);
        let _ = wire::decode_request(WIRE, &text);
        let _ = Stream::new(WIRE).feed(text.as_bytes(), &mut Vec::new());
    }
}

#[test]
fn long_streams_take_time_in_proportion() {
    // A name beside every piece, arguments that look whole after each: the worst for telling calls apart.
    let run = |pieces: usize| {
        let piece = delta(&json!({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "\\\"}"}}]}));
        let bytes = sse(&[piece]);
        let (mut stream, mut deltas) = (Stream::new(WIRE), Vec::new());
        let start = std::time::Instant::now();
        for _ in 0..pieces {
            stream.feed(bytes.as_bytes(), &mut deltas).unwrap();
        }
        start.elapsed().as_secs_f64()
    };
    run(2_000);
    let (short, long) = (run(10_000), run(80_000));
    println!("10k pieces {short:.3} s, 80k pieces {long:.3} s");
    assert!(long < short * 8.0 * 3.0, "{short} {long}");
}

#[test]
fn a_chunk_is_decoded_and_a_long_history_joined_in_microseconds() {
    let chunk = r#"{"id":"chatcmpl-Dx0Xq5Xx9rHB2ehcHZCRDsnuymUXc","object":"chat.completion.chunk","created":1782955818,"model":"gpt-4o-mini-2024-07-18","service_tier":"default","system_fingerprint":"fp_d0469e1700","choices":[{"index":0,"delta":{"content":" capital"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"oHb"}"#;
    let bytes = format!("data: {chunk}\n\n");
    let rounds = 20_000;
    let (mut stream, mut deltas) = (Stream::new(WIRE), Vec::new());
    let start = std::time::Instant::now();
    for _ in 0..rounds {
        stream.feed(bytes.as_bytes(), &mut deltas).unwrap();
        deltas.clear();
    }
    let chunk = start.elapsed().as_secs_f64() / f64::from(rounds) * 1e6;
    let mut request = Request { model: "m".into(), ..Request::default() };
    for turn in 0..500 {
        request.messages.push(Message::user(format!("question {turn} ").repeat(20)));
        request.messages.push(Message::assistant(format!("answer {turn} ").repeat(40)));
    }
    let body = wire::encode_request(WIRE, &request).unwrap();
    let start = std::time::Instant::now();
    for _ in 0..100 {
        assert_eq!(std::hint::black_box(wire::encode_request(WIRE, &request).unwrap()).len(), body.len());
    }
    let joined = start.elapsed().as_secs_f64() / 100.0 * 1e6;
    println!(
        "a chunk in {chunk:.2} us; {} messages, {} bytes again in {joined:.1} us",
        request.messages.len(),
        body.len()
    );
    assert!(chunk < if cfg!(debug_assertions) { 500.0 } else { 50.0 }, "{chunk} us");
    assert!(joined < if cfg!(debug_assertions) { 50_000.0 } else { 5_000.0 }, "{joined} us");
}

#[test]
fn the_typical_answer_is_decoded_in_microseconds() {
    let body = r#"{"id":"chatcmpl-C7GRePTkJTuqqIeMkeTufGjUlOeDt","object":"chat.completion","created":1755847546,"model":"gpt-4o-2024-08-06","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_qkJ5pxpAXuEdMLTHIwrUk9Q4","type":"function","function":{"name":"get_upper_case","arguments":"{\"text\":\"Dummy PDF file\"}"}}],"refusal":null},"logprobs":null,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":281,"completion_tokens":17,"total_tokens":298}}"#;
    let rounds = 20_000;
    let best = (0..5)
        .map(|_| {
            let start = std::time::Instant::now();
            for _ in 0..rounds {
                std::hint::black_box(wire::decode_response(WIRE, std::hint::black_box(body)).unwrap());
            }
            start.elapsed().as_secs_f64() / f64::from(rounds) * 1e6
        })
        .fold(f64::MAX, f64::min);
    println!("{} bytes in {best:.2} us", body.len());
    // Room for slow machines and for builds without optimisation.
    assert!(best < if cfg!(debug_assertions) { 500.0 } else { 50.0 }, "{best} us");
}
