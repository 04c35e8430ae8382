//! The rules of the Anthropic codec: what is sent, what is left out, and what a hostile or broken server may do.

#![allow(clippy::unwrap_used)] // a test stops where something is wrong
#![allow(clippy::needless_pass_by_value)] // `json!` makes values

use loopwright_base::{
    error::{Failure, FailureKind, Fault},
    json::{Fields, Raw},
    message::{
        Block, Extra, Form, Media, MediaSource, Message, ProviderBlock, Role, StopReason, Thinking, ToolFailure,
        ToolResult, ToolUse, Usage, Wire,
    },
    request::{Caching, Delta, Effort, FunctionTool, OutputSchema, Request, Response, Tool, ToolChoice, WebSearch},
};
use loopwright_wire::{
    decode_request, decode_response, encode_message, encode_request, encode_response, encode_stream, stream::Stream,
    stream_decoder,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const WIRE: Wire = Wire::Anthropic;

fn ask(messages: Vec<Message>) -> Request {
    Request { model: "m".into(), messages: messages.into_iter().collect(), ..Request::default() }
}

fn body(request: &Request) -> Value {
    serde_json::from_str(&encode_request(WIRE, request).unwrap()).unwrap()
}

fn sent(message: &Message) -> Value {
    let text = encode_message(WIRE, message);
    if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() }
}

fn raw(value: &Value) -> Raw {
    Raw::of(value)
}

fn foreign() -> Option<Box<Extra>> {
    Extra::of(Wire::OpenaiResponses, Fields::parse(r#"{"phase":"x"}"#).unwrap())
}

fn provider(wire: Wire, value: &Value) -> Block {
    Block::Provider(ProviderBlock { wire, raw: raw(value) })
}

/// Feeds events and gives the answer.
fn stream(events: &[Value]) -> Result<(Response, Vec<Delta>), Failure> {
    let mut decoder = stream_decoder(WIRE);
    let mut deltas = Vec::new();
    for event in events {
        decoder.event(event["type"].as_str().unwrap_or(""), &event.to_string(), &mut deltas)?;
    }
    decoder.finish().map(|response| (response, deltas))
}

fn begin() -> Value {
    json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 7, "output_tokens": 1}}})
}

fn open(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn grow(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn close(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn end(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
               "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]
}

/// An answer of these events between its beginning and its end.
fn answer(events: &[Value]) -> Result<(Response, Vec<Delta>), Failure> {
    stream(&[&[begin()], events, &end("end_turn")].concat())
}

#[test]
fn a02_a_request_has_a_limit_and_the_providers_own_search() {
    let mut request = ask(vec![Message::user("hi")]);
    request.system = Some(Message::text(Role::System, "be brief").into());
    request.tools = vec![
        Tool::WebSearch(WebSearch { max_uses: Some(3), allowed_domains: vec!["a.org".into()], ..WebSearch::default() }),
        Tool::Function(FunctionTool {
            name: "add".into(),
            description: Some("Adds.".into()),
            schema: raw(&json!({"type": "object"})),
            strict: Some(true),
            extra: foreign(),
        }),
        Tool::Provider { wire: Wire::OpenaiResponses, raw: raw(&json!({"type": "file_search"})) },
    ]
    .into();
    assert_eq!(
        body(&request),
        json!({
            "model": "m",
            "max_tokens": 16000,
            "system": "be brief",
            "tools": [
                {"type": "web_search_20250305", "name": "web_search", "max_uses": 3, "allowed_domains": ["a.org"]},
                {"name": "add", "description": "Adds.", "input_schema": {"type": "object"}, "strict": true},
            ],
            "messages": [{"role": "user", "content": "hi"}],
        })
    );
    let back = decode_request(WIRE, &encode_request(WIRE, &request).unwrap()).unwrap();
    assert_eq!(back.tools[0], request.tools[0]);
}

#[test]
fn every_parameter_has_its_place() {
    let mut request = ask(vec![Message::user("hi")]);
    request.max_tokens = Some(5);
    request.temperature = Some(0.5);
    request.top_p = Some(1.0);
    request.stop = vec!["END".into()];
    request.effort = Some(Effort::High);
    request.output = Some(OutputSchema {
        name: "n".into(),
        schema: raw(&json!({"type": "object"})),
        strict: None,
        description: None,
    });
    request.cache = Caching::Usual;
    request.stream = Some(true);
    request.tool_choice = Some(ToolChoice::Tool("add".into()));
    request.parallel_tool_calls = Some(false);
    request.extra = Extra::of(WIRE, Fields::parse(r#"{"thinking":{"type":"adaptive"},"model":"x"}"#).unwrap());
    let written = body(&request);
    assert_eq!(
        written,
        json!({
            "model": "m", "max_tokens": 5, "temperature": 0.5, "top_p": 1.0, "stop_sequences": ["END"], "stream": true,
            "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": {"type": "object"}}},
            "cache_control": {"type": "ephemeral"}, "thinking": {"type": "adaptive"},
            "tool_choice": {"type": "tool", "name": "add", "disable_parallel_tool_use": true},
            "messages": [{"role": "user", "content": "hi"}],
        })
    );
    let back = decode_request(WIRE, &written.to_string()).unwrap();
    assert_eq!((back.effort, back.cache, back.stream), (Some(Effort::High), Caching::Usual, Some(true)));
    assert_eq!((back.tool_choice, back.parallel_tool_calls), (request.tool_choice.clone(), Some(false)));
    assert_eq!(back.output.unwrap().schema, request.output.as_ref().unwrap().schema);

    // One switch alone: only where there are tools.
    request.tool_choice = None;
    assert_eq!(body(&request).get("tool_choice"), None);
    request.tools = vec![Tool::WebSearch(WebSearch::default())].into();
    assert_eq!(body(&request)["tool_choice"], json!({"type": "auto", "disable_parallel_tool_use": true}));

    request.temperature = Some(f64::NAN);
    assert_eq!(encode_request(WIRE, &request).unwrap_err().guilt, Fault::Usage);
    request.temperature = None;
    request.model.clear();
    assert_eq!(encode_request(WIRE, &request).unwrap_err().guilt, Fault::Usage);
}

#[test]
fn what_other_wires_wrote_is_left_out() {
    let thinking = |signature: Option<&str>, extra| {
        Block::Thinking(Thinking { text: "hm".into(), signature: signature.map(str::to_owned), redacted: None, extra })
    };
    let mut message = Message::new(
        Role::Assistant,
        vec![
            thinking(None, None),
            thinking(Some(""), None),
            thinking(Some("gAAA"), foreign()),
            thinking(Some("sig"), None),
            provider(Wire::OpenaiResponses, &json!({"type": "web_search_call"})),
            Block::text(" \n"),
            provider(WIRE, &json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}})),
            Block::Image(Media { source: MediaSource::Url("https://a.org/x".into()), name: None, extra: foreign() }),
        ],
    );
    message.extra = foreign();
    assert_eq!(
        sent(&message),
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "image", "source": {"type": "url", "url": "https://a.org/x"}},
        ]})
    );
}

#[test]
fn messages_without_content_are_not_sent() {
    let signed = Thinking { text: "hm".into(), signature: Some("s".into()), ..Thinking::default() };
    let empty = [
        Message::new(Role::Assistant, vec![]),
        Message::assistant(""),
        Message::new(Role::Assistant, vec![Block::Thinking(Thinking { text: "hm".into(), ..Thinking::default() })]),
        // An answer that broke off while it reasoned: the wire refuses reasoning at the end.
        Message::new(Role::Assistant, vec![Block::Thinking(signed), Block::text("\n")]),
        Message::new(Role::Assistant, vec![provider(Wire::OpenaiChat, &json!({"type": "refusal"}))]),
    ];
    for message in &empty {
        assert_eq!(encode_message(WIRE, message), "", "{message:?}");
    }
    let mut messages = vec![Message::user("a")];
    messages.extend(empty);
    messages.push(Message::user("b"));
    assert_eq!(
        body(&ask(messages))["messages"],
        json!([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}])
    );
}

#[test]
fn instructions_in_the_history_are_never_a_role_that_the_wire_did_not_write() {
    let mut request = ask(vec![
        Message::text(Role::System, "one"),
        Message::text(Role::Developer, "two"),
        Message::user("hi"),
        Message::text(Role::System, "three"),
    ]);
    request.system = Some(Message::text(Role::System, "zero").into());
    let written = body(&request);
    assert_eq!(
        written["system"],
        json!([{"type": "text", "text": "zero"}, {"type": "text", "text": "one"}, {"type": "text", "text": "two"}])
    );
    assert_eq!(written["messages"], json!([{"role": "user", "content": "hi"}, {"role": "user", "content": "three"}]));
    let alone = body(&ask(vec![Message::text(Role::System, "one")]));
    assert_eq!((alone.get("system"), &alone["messages"]), (None, &json!([{"role": "user", "content": "one"}])));
    let own = json!({"model": "m", "max_tokens": 1, "messages": [{"role": "system", "content": "kept"}]});
    assert_eq!(body(&decode_request(WIRE, &own.to_string()).unwrap()), own);
}

#[test]
fn tool_results_stand_first_and_their_ids_are_legal() {
    let mut bad = ToolUse::from_text("functions.add:0", "add", "{\"a\": ".into());
    bad.extra = foreign();
    let list = ToolUse::from_text("call_1|fc_1", "add", "[1]".into());
    let calls = Message::new(Role::Assistant, vec![Block::ToolUse(bad), Block::ToolUse(list)]);
    let denied = ToolFailure { kind: "denied".into(), message: "no".into(), hint: None };
    let results = Message::new(
        Role::User,
        vec![
            Block::text("go on"),
            Block::ToolResult(ToolResult::text("functions.add:0", "add", "")),
            Block::ToolResult(ToolResult::failed("call_1|fc_1", "add", denied)),
        ],
    );
    let (calls, results) = (sent(&calls), sent(&results));
    assert_eq!(calls["content"][0]["input"], json!({"INVALID_JSON": "{\"a\": "}));
    assert_eq!(calls["content"][1]["input"], json!({"INVALID_JSON": "[1]"}));
    for at in 0..2 {
        let id = calls["content"][at]["id"].as_str().unwrap();
        assert!(id.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)), "{id}");
        assert_eq!(results["content"][at]["tool_use_id"], id);
    }
    assert_eq!(results["content"][0]["content"], "");
    assert_eq!(results["content"][1]["is_error"], true);
    assert_eq!(results["content"][2], json!({"type": "text", "text": "go on"}));
}

#[test]
fn documents_of_text_have_the_one_type_that_the_wire_takes() {
    let source = MediaSource::Text { media_type: "text/markdown".into(), data: "# a".into() };
    let message =
        Message::new(Role::User, vec![Block::Document(Media { source, name: Some("a.md".into()), extra: None })]);
    assert_eq!(
        sent(&message)["content"][0],
        json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "# a"}, "title": "a.md"})
    );
}

#[test]
fn a_growing_history_does_not_change_what_stands_before() {
    let mut request = ask(vec![Message::user("a"), Message::assistant("b")]);
    request.tools = vec![Tool::WebSearch(WebSearch::default())].into();
    let mut before = encode_request(WIRE, &request).unwrap();
    for turn in 0..20 {
        request.messages.push(Message::new(
            Role::Assistant,
            vec![Block::ToolUse(ToolUse::from_text(format!("t{turn}"), "f", "{\"x\": 1.0}".into()))],
        ));
        request
            .messages
            .push(Message::new(Role::User, vec![Block::ToolResult(ToolResult::text(format!("t{turn}"), "f", "ü"))]));
        let after = encode_request(WIRE, &request).unwrap();
        let prefix = before.strip_suffix("]}").unwrap();
        assert!(after.starts_with(prefix));
        before = after;
    }
}

#[test]
fn unusual_requests_are_lossless() {
    let parts = [
        json!({"max_tokens": null}),
        json!({"max_tokens": 1.5}),
        json!({"temperature": 1, "top_p": 0.25}),
        json!({"temperature": null, "top_p": "x"}),
        json!({"system": ""}),
        json!({"system": []}),
        json!({"system": null}),
        json!({"system": [{"type": "text", "text": "", "cache_control": {"type": "ephemeral"}}]}),
        json!({"tools": []}),
        json!({"tools": null}),
        json!({"tools": ["x", {"name": "n"}, {"name": "n", "input_schema": true}, {"type": "custom", "name": "n", "input_schema": {}},
            {"name": "n", "input_schema": {}, "description": null, "strict": null, "cache_control": {"type": "ephemeral"}}]}),
        json!({"tools": [{"type": "web_search_20250305", "name": "web_search"},
            {"type": "web_search_20250305", "name": "web_search", "max_uses": null},
            {"type": "web_search_20250305", "name": "web_search", "allowed_domains": []},
            {"type": "web_search_20250305", "name": "search"}, {"type": "bash_20250124", "name": "bash"}]}),
        json!({"tool_choice": {"type": "auto", "disable_parallel_tool_use": true}}),
        json!({"tool_choice": {"type": "any", "disable_parallel_tool_use": false}}),
        json!({"tool_choice": {"type": "none"}}),
        json!({"tool_choice": {"type": "none", "disable_parallel_tool_use": true}}),
        json!({"tool_choice": {"type": "tool", "name": "x", "new": 1}}),
        json!({"tool_choice": {"type": "tool"}}),
        json!({"tool_choice": null}),
        json!({"stop_sequences": []}),
        json!({"stop_sequences": ["a", 1]}),
        json!({"stop_sequences": ["a"]}),
        json!({"output_config": {}}),
        json!({"output_config": null}),
        json!({"output_config": {"effort": "low", "new": 1}}),
        json!({"output_config": {"effort": "max"}}),
        json!({"output_config": {"format": {"type": "json_schema", "schema": {}, "name": "x"}}}),
        json!({"output_config": {"effort": null, "format": {"type": "json_schema", "schema": null}}}),
        json!({"cache_control": {"type": "ephemeral", "ttl": "1h"}}),
        json!({"cache_control": {"type": "ephemeral"}}),
        json!({"cache_control": null}),
        json!({"stream": null}),
        json!({"metadata": {"user_id": "u"}, "container": null, "service_tier": "auto", "top_k": 5}),
    ];
    let messages = [
        json!({"role": "user", "content": ""}),
        json!({"role": "user", "content": " "}),
        json!({"role": "assistant", "content": []}),
        json!({"role": "assistant"}),
        json!({"role": "assistant", "content": null}),
        json!({"role": "system", "content": [{"type": "tool_addition", "tool": {}}], "new": 1}),
        json!({"role": "user", "content": [1, null, "x", [], {}, {"type": 5}, {"type": "future", "x": 1}]}),
        json!({"role": "user", "content": [{"type": "text"}, {"type": "text", "text": null}, {"type": "text", "text": ""}]}),
        json!({"role": "user", "content": [{"type": "text", "text": "x", "citations": null, "cache_control": {"type": "ephemeral"}}]}),
        json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}, {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking", "thinking": "x", "signature": null}, {"type": "thinking", "thinking": "x", "signature": "s", "new": 1},
            {"type": "redacted_thinking"}, {"type": "redacted_thinking", "data": "d"}]}),
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a:b", "name": "n", "input": {}},
            {"type": "tool_use", "id": "a", "name": "n", "input": [1]}, {"type": "tool_use", "id": "a", "name": "n"},
            {"type": "tool_use", "id": "a", "name": "n", "input": {"x": 1.50}, "caller": {"type": "direct"}}]}),
        json!({"role": "user", "content": [{"type": "text", "text": "first"}, {"type": "tool_result", "tool_use_id": "a"},
            {"type": "tool_result", "tool_use_id": "a", "content": ""}, {"type": "tool_result", "tool_use_id": "a", "content": []},
            {"type": "tool_result", "tool_use_id": "a", "content": null}, {"type": "tool_result", "tool_use_id": "a.b", "content": "x"},
            {"type": "tool_result", "tool_use_id": "a", "content": "x", "is_error": false},
            {"type": "tool_result", "tool_use_id": "a", "content": "x", "is_error": true, "cache_control": {"type": "ephemeral"}},
            {"type": "tool_result", "tool_use_id": "a", "is_error": null, "content": [{"type": "text", "text": ""},
                {"type": "tool_reference", "tool_name": "t"}, {"type": "tool_result", "tool_use_id": "b", "content": []},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}]}]}),
        json!({"role": "user", "content": [{"type": "image", "source": {"type": "file", "file_id": "f"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA==", "new": 1}},
            {"type": "image", "source": null}, {"type": "image", "source": {"type": "url", "url": "u"}, "title": "t"},
            {"type": "document", "source": {"type": "url", "url": "u"}, "title": "t", "context": "c", "citations": {"enabled": true}},
            {"type": "document", "source": {"type": "text", "media_type": "text/markdown", "data": "x"}},
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}},
            {"type": "document", "source": {"type": "content", "content": []}}, {"type": "document", "source": {"type": "url", "url": "u"}, "title": null}]}),
    ];
    let check = |request: &Value| {
        let decoded = decode_request(WIRE, &request.to_string()).unwrap();
        assert_eq!(&body(&decoded), request);
        let own: Request = serde_json::from_str(&serde_json::to_string(&decoded).unwrap()).unwrap();
        assert_eq!(own, decoded);
        assert_eq!(&body(&own), request);
    };
    for part in &parts {
        let mut request = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
        request.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
        check(&request);
    }
    for message in &messages {
        check(&json!({"model": "m", "max_tokens": 1, "messages": [message]}));
    }
    check(&json!({"model": "m", "messages": messages}));
}

#[test]
fn what_was_decoded_may_be_changed() {
    let sent = json!({"model": "m", "temperature": 1, "max_tokens": null, "output_config": {"effort": "low", "new": 1},
        "tools": [], "messages": [{"role": "user", "content": "hi"}]});
    let mut request = decode_request(WIRE, &sent.to_string()).unwrap();
    request.temperature = Some(2.0);
    request.max_tokens = Some(3);
    request.effort = Some(Effort::High);
    request.tools = vec![Tool::WebSearch(WebSearch::default())].into();
    let written = body(&request);
    assert_eq!(written["temperature"], 2.0);
    assert_eq!(written["max_tokens"], 3);
    assert_eq!(written["output_config"], json!({"effort": "high", "new": 1}));
    assert_eq!(written["tools"].as_array().unwrap().len(), 1);
    request.temperature = None;
    assert_eq!(body(&request).get("temperature"), None);
}

#[test]
fn bodies_that_are_no_requests_are_refused() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    for text in ["", "[]", "{", "{}", r#"{"model":"m"}"#, r#"{"messages":[]}"#, r#"{"model":"m","messages":{}}"#, &deep]
    {
        assert_eq!(decode_request(WIRE, text).unwrap_err().guilt, Fault::Usage);
    }
    for message in ["1", "{}", r#"{"role":"tool"}"#, r#"{"role":null}"#] {
        let text = format!(r#"{{"model":"m","messages":[{message}]}}"#);
        assert!(decode_request(WIRE, &text).unwrap_err().message.contains("messages[0]"));
    }
    // Depth alone is no fault and no danger.
    let text = format!(r#"{{"model":"m","messages":[{{"role":"user","content":[{deep}]}}],"x":{deep}}}"#);
    let request = decode_request(WIRE, &text).unwrap();
    assert!(encode_request(WIRE, &request).unwrap().contains(&deep));
    let nested = r#"{"type":"tool_result","tool_use_id":"a","content":["#.repeat(10_000) + &"]}".repeat(10_000);
    let text = format!(r#"{{"model":"m","messages":[{{"role":"user","content":[{nested}]}}]}}"#);
    assert!(encode_request(WIRE, &decode_request(WIRE, &text).unwrap()).unwrap().contains(&nested));
}

#[test]
fn unusual_answers_are_lossless() {
    let usual = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 2}});
    let parts = [
        json!({}),
        json!({"stop_reason": null}),
        json!({"stop_reason": "compaction", "context_management": {"applied_edits": []}}),
        json!({"stop_reason": "stop_sequence", "stop_sequence": "END"}),
        json!({"stop_reason": "refusal", "stop_details": {"type": "refusal", "category": null}}),
        json!({"stop_reason": "model_context_window_exceeded", "container": {"id": "c", "expires_at": "t"}, "a": 1, "z": 2}),
        json!({"usage": null}),
        json!({"usage": {"input_tokens": 3, "output_tokens": 4, "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 1},
            "output_tokens_details": {"thinking_tokens": 1}, "service_tier": "standard", "cache_read_input_tokens": null}}),
        json!({"type": "completion", "role": "model", "id": 5, "model": null}),
        json!({"content": [{"type": "text", "text": ""}, {"type": "text", "text": " ü€🚀 ", "citations": [{"type": "x", "n": 1}, 2]},
            {"type": "text", "text": "x", "citations": null}, {"type": "text"}, {"type": "text", "text": null, "citations": [1]},
            {"type": "thinking"}, {"type": "thinking", "thinking": null, "signature": "s"}, {"type": "text", "text": 5},
            {"type": "tool_use", "id": "a", "name": "n"}, {"type": "tool_use", "id": "a", "name": "n", "input": null},
            {"type": "thinking", "thinking": "hm"}, {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking", "thinking": "hm ü", "signature": "s", "new": true}, {"type": "redacted_thinking", "data": "d"},
            {"type": "tool_use", "id": "a:b", "name": "n", "input": {}}, {"type": "tool_use", "id": "", "name": "n", "input": [1, "ü"]},
            {"type": "tool_use", "id": "a", "name": "n", "input": {"x": "🚀"}, "caller": {"type": "direct"}},
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "ü"}},
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
            {"type": "mcp_tool_use", "id": "s", "name": "x", "input": null},
            {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"type": "web_search_result", "encrypted_content": "x"}]},
            {"type": "compaction", "content": "so far"}, {"type": "future"},
            {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "x"}]}]}),
    ];
    let mut answers: Vec<Value> = parts
        .iter()
        .map(|part| {
            let mut answer = usual.clone();
            answer.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
            answer
        })
        .collect();
    for key in ["id", "type", "role", "model", "stop_reason", "stop_sequence", "usage"] {
        let mut answer = usual.clone();
        answer.as_object_mut().unwrap().remove(key);
        answers.push(answer);
    }
    for answer in &answers {
        let response = decode_response(WIRE, &answer.to_string()).unwrap();
        assert_eq!(&serde_json::from_str::<Value>(&encode_response(WIRE, &response)).unwrap(), answer);
        let own: Response = serde_json::from_str(&serde_json::to_string(&response).unwrap()).unwrap();
        assert_eq!(own, response);
        for piece in [0, 1, 3, 1000] {
            let mut decoder = stream_decoder(WIRE);
            for (name, data) in encode_stream(WIRE, &response, piece) {
                assert!(!data.contains('\n'));
                decoder.event(&name, &data, &mut Vec::new()).unwrap();
            }
            assert_eq!(decoder.finish().unwrap(), response, "pieces of {piece}");
        }
        // Where there is white space between the tokens, the answer is still the same.
        let response = decode_response(WIRE, &serde_json::to_string_pretty(answer).unwrap()).unwrap();
        assert_eq!(&serde_json::from_str::<Value>(&encode_response(WIRE, &response)).unwrap(), answer);
        let mut decoder = stream_decoder(WIRE);
        for (name, data) in encode_stream(WIRE, &response, 5) {
            assert!(!data.contains('\n'));
            decoder.event(&name, &data, &mut Vec::new()).unwrap();
        }
        let again: Value = serde_json::from_str(&encode_response(WIRE, &decoder.finish().unwrap())).unwrap();
        assert_eq!(&again, answer);
    }
}

#[test]
fn an_answer_of_our_own_needs_no_extra() {
    let mut invalid = ToolUse::from_text("t2", "f", " {\"a\" ".into());
    invalid.extra = Extra::of(WIRE, Fields::parse(r#"{"caller":1}"#).unwrap());
    let cached = Usage { cache_read: 4, cache_write: 3, cache_write_hour: 1, ..Usage::default() };
    let response = Response {
        id: "msg_x".into(),
        model: "m".into(),
        message: Message::new(
            Role::Assistant,
            vec![
                Block::text("hello"),
                Block::ToolUse(ToolUse::from_text("t1", "f", "{\"x\": 1}".into())),
                Block::ToolUse(invalid.clone()),
                Block::ToolUse(ToolUse::from_text("t3", "f", String::new())),
            ],
        ),
        stop: StopReason::ToolUse,
        usage: Usage { input: 10, output: 5, reasoning: 2, provider_tool_uses: 1, ..cached },
        extra: None,
        adapted: Vec::new(),
    };
    let mut decoder = stream_decoder(WIRE);
    for (name, data) in encode_stream(WIRE, &response, 2) {
        decoder.event(&name, &data, &mut Vec::new()).unwrap();
    }
    assert_eq!(decoder.finish().unwrap(), response);
    let whole = decode_response(WIRE, &encode_response(WIRE, &response)).unwrap();
    assert_eq!((whole.usage, whole.extra.as_ref()), (response.usage, None));
    // Only a stream can hold text that is no JSON.
    assert!(whole.message.tool_uses().any(|call| call.input.text() == r#"{"INVALID_JSON":" {\"a\" "}"#));

    let mut changed = decode_response(
        WIRE,
        r#"{"content":[],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1,"service_tier":"x"}}"#,
    )
    .unwrap();
    changed.usage.output = 2;
    changed.stop = StopReason::ContextWindow;
    let written: Value = serde_json::from_str(&encode_response(WIRE, &changed)).unwrap();
    assert_eq!(written["usage"]["output_tokens"], 2);
    assert_eq!(written["stop_reason"], "model_context_window_exceeded");
}

#[test]
fn answers_that_are_none_are_failures() {
    for text in ["", "null", "[]", "{}", r#"{"content":"x"}"#, "<html>", "{\"content\":[}"] {
        assert_eq!(decode_response(WIRE, text).unwrap_err().kind, FailureKind::InvalidBody, "{text}");
    }
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#;
    let failure = decode_response(WIRE, error).unwrap_err();
    assert_eq!((failure.kind, failure.request_id.as_deref()), (FailureKind::Overloaded, Some("req_1")));
}

#[test]
fn a16_every_kind_of_delta_grows_its_block() {
    let (response, deltas) = answer(&[
        open(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        grow(0, json!({"type": "thinking_delta", "thinking": "h"})),
        json!({"type": "ping"}),
        json!({"type": "from_the_future", "index": 99}),
        grow(0, json!({"type": "thinking_delta", "thinking": "m"})),
        grow(0, json!({"type": "signature_delta", "signature": "replaced by the next"})),
        grow(0, json!({"type": "signature_delta", "signature": "sig"})),
        close(0),
        open(1, json!({"type": "text", "text": "A", "citations": []})),
        grow(1, json!({"type": "text_delta", "text": "b"})),
        grow(1, json!({"type": "text_delta", "text": ""})),
        grow(1, json!({"type": "citations_delta", "citation": {"n": 1}})),
        grow(1, json!({"type": "citations_delta", "citation": {"n": 2}})),
        grow(1, json!({"type": "mood_delta", "mood": "hap", "level": 1})),
        grow(1, json!({"type": "mood_delta", "mood": "py", "level": 2})),
        close(1),
        open(2, json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})),
        grow(2, json!({"type": "input_json_delta", "partial_json": "{\"query\": "})),
        grow(2, json!({"type": "input_json_delta", "partial_json": "\"x\"}"})),
        close(2),
        open(3, json!({"type": "compaction", "content": null})),
        grow(3, json!({"type": "compaction_delta", "content": "sum"})),
        grow(3, json!({"type": "compaction_delta", "content": "mary"})),
        close(3),
        // Some servers give the arguments whole, or never; or forget to close.
        open(4, json!({"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}})),
        close(4),
        open(5, json!({"type": "tool_use", "id": "t", "name": "f"})),
        close(5),
        open(6, json!({"type": "tool_use", "id": "t", "name": "f", "input": {}})),
        grow(6, json!({"type": "input_json_delta", "partial_json": "{\"a\""})),
    ])
    .unwrap();
    assert_eq!(response.usage, Usage { input: 7, output: 9, ..Usage::default() });
    assert_eq!(response.stop, StopReason::EndTurn);
    let written: Value = serde_json::from_str(&encode_response(WIRE, &response)).unwrap();
    assert_eq!(
        written["content"],
        json!([
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "text", "text": "Ab", "citations": [{"n": 1}, {"n": 2}], "mood": "happy", "level": 2},
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
            {"type": "compaction", "content": "summary"},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
            {"type": "tool_use", "id": "t", "name": "f"},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"INVALID_JSON": "{\"a\""}},
        ])
    );
    let calls: Vec<&ToolUse> = response.message.tool_uses().collect();
    assert_eq!(calls[1].input.text(), "{}");
    let back = sent(&response.message);
    assert_eq!(back["content"][5]["input"], json!({}), "what is sent back has all that the wire wants");
    assert_eq!(calls[2].invalid.as_deref(), Some("{\"a\""));
    let text: String = deltas
        .iter()
        .filter_map(|delta| if let Delta::Text { block: 1, text } = delta { Some(text.as_str()) } else { None })
        .collect();
    assert_eq!(text, "Ab");
    assert!(deltas.contains(&Delta::Arguments { block: 4, text: "{\"a\":1}".into() }));
    assert!(deltas.contains(&Delta::Provider { block: 2, kind: "server_tool_use".into(), name: "web_search".into() }));
}

#[test]
fn events_that_the_protocol_does_not_allow_are_failures() {
    let text = || open(0, json!({"type": "text", "text": ""}));
    let bad = [
        vec![text()],
        vec![json!({"type": "message_stop"})],
        vec![json!({"type": "message_delta", "delta": {}})],
        vec![json!({"type": "message_start"})],
        vec![json!({"type": "message_start", "message": []})],
        vec![begin(), begin()],
        vec![begin(), json!({"type": "content_block_start", "index": 0})],
        vec![begin(), open(0, json!("text"))],
        vec![begin(), open(0, json!({"text": ""}))],
        vec![begin(), grow(0, json!({"type": "text_delta", "text": "x"}))],
        vec![begin(), text(), grow(7, json!({"type": "text_delta", "text": "x"}))],
        vec![begin(), text(), grow(0, json!(null))],
        vec![begin(), text(), grow(0, json!({"text": "x"}))],
        vec![begin(), text(), grow(0, json!({"type": "text_delta", "text": 5}))],
        vec![begin(), text(), grow(0, json!({"type": "thinking_delta", "thinking": "x"}))],
        vec![begin(), text(), grow(0, json!({"type": "input_json_delta", "partial_json": "x"}))],
        vec![begin(), text(), close(0), grow(0, json!({"type": "text_delta", "text": "x"}))],
        vec![begin(), json!({"type": "message_delta", "delta": 5})],
        vec![begin(), json!({"type": "message_delta", "delta": {}, "usage": [1]})],
        vec![begin(), json!([1])],
        vec![begin(), json!("x")],
    ];
    for events in bad {
        let mut decoder = stream_decoder(WIRE);
        let results: Vec<_> = events
            .iter()
            .map(|event| decoder.event("", &event.to_string(), &mut Vec::new()).map_err(|failure| failure.kind))
            .collect();
        assert_eq!(results.last(), Some(&Err(FailureKind::InvalidBody)), "{events:?}");
        // It stays failed.
        assert_eq!(
            decoder.event("", &json!({"type": "message_stop"}).to_string(), &mut Vec::new()).map_err(|f| f.kind),
            Err(FailureKind::InvalidBody)
        );
        assert_eq!(decoder.finish().unwrap_err().kind, FailureKind::InvalidBody);
    }
    let growing: Vec<Value> = (0..100).map(|n| grow(0, json!({"type": "x_delta", format!("k{n}"): "x"}))).collect();
    assert_eq!(answer(&[vec![text()], growing].concat()).unwrap_err().kind, FailureKind::InvalidBody);
}

#[test]
fn errors_inside_a_stream_have_their_kind() {
    for (code, kind) in [
        ("overloaded_error", FailureKind::Overloaded),
        ("rate_limit_error", FailureKind::RateLimited),
        ("invalid_request_error", FailureKind::BadRequest),
        ("api_error", FailureKind::Server),
    ] {
        let error = json!({"type": "error", "error": {"type": code, "message": "words"}, "request_id": "r"});
        let failure = stream(&[begin(), error]).unwrap_err();
        assert_eq!((failure.kind, failure.request_id.as_deref()), (kind, Some("r")));
        assert!(failure.message.contains(code) && failure.message.contains("words"));
    }
    let mut decoder = stream_decoder(WIRE);
    let failure = decoder.event("error", "upstream overloaded", &mut Vec::new()).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Overloaded);
    assert_eq!(stream(&[begin(), open(0, json!({"type": "text", "text": "x"}))]).unwrap_err().kind, FailureKind::Cut);
    assert_eq!(stream(&[]).unwrap_err().kind, FailureKind::Cut);
}

#[test]
fn what_has_come_so_far_is_legal() {
    let mut decoder = stream_decoder(WIRE);
    assert_eq!(decoder.partial(), None);
    let mut feed = |event: Value| decoder.event("", &event.to_string(), &mut Vec::new()).unwrap();
    for event in [
        begin(),
        open(0, json!({"type": "thinking", "thinking": "unsigned"})),
        close(0),
        open(1, json!({"type": "thinking", "thinking": "signed", "signature": "s"})),
        close(1),
        open(2, json!({"type": "text", "text": "a"})),
        close(2),
        open(3, json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}})),
        close(3),
        open(4, json!({"type": "web_search_tool_result", "tool_use_id": "s1", "content": []})),
        close(4),
        open(5, json!({"type": "server_tool_use", "id": "s2", "name": "web_search", "input": {}})),
        close(5),
        open(6, json!({"type": "tool_use", "id": "t1", "name": "f", "input": {}})),
        close(6),
        open(7, json!({"type": "text", "text": "b"})),
        grow(7, json!({"type": "text_delta", "text": "c"})),
        open(8, json!({"type": "tool_use", "id": "t2", "name": "f", "input": {}})),
        grow(8, json!({"type": "input_json_delta", "partial_json": "{}"})),
        open(9, json!({"type": "redacted_thinking", "data": "d"})),
        close(9),
    ] {
        feed(event);
    }
    let partial = decoder.partial().unwrap();
    let written: Value = serde_json::from_str(&encode_response(WIRE, &partial)).unwrap();
    assert_eq!(
        written["content"],
        json!([
            {"type": "thinking", "thinking": "signed", "signature": "s"},
            {"type": "text", "text": "a"},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
            {"type": "tool_use", "id": "t1", "name": "f", "input": {}},
            {"type": "text", "text": "bc"},
        ])
    );
    assert_eq!((partial.stop, partial.usage.input), (StopReason::Other("cut".into()), 7));
}

/// Events of a real shape, with anything in the places that matter.
fn any_event() -> impl Strategy<Value = Value> {
    let any = prop_oneof![
        Just(json!(null)),
        Just(json!("x")),
        Just(json!(5)),
        Just(json!({})),
        Just(json!([1])),
        Just(json!({"type": "text", "text": "ü"})),
        any::<i64>().prop_map(|n| json!(n)),
    ];
    let block = prop_oneof![
        Just(json!({"type": "text", "text": "a"})),
        Just(json!({"type": "thinking", "thinking": "", "signature": ""})),
        Just(json!({"type": "tool_use", "id": "t", "name": "f", "input": {}})),
        Just(json!({"type": "server_tool_use", "id": "s", "name": "f", "input": {}})),
        Just(json!({"type": "redacted_thinking", "data": "d"})),
        any.clone(),
    ];
    let delta = prop_oneof![
        "[a-zü€🚀 ]{0,6}".prop_map(|text| json!({"type": "text_delta", "text": text})),
        "[a-z]{0,6}".prop_map(|text| json!({"type": "thinking_delta", "thinking": text})),
        Just(json!({"type": "signature_delta", "signature": "s"})),
        "[\\[\\]{}a\":1,]{0,6}".prop_map(|text| json!({"type": "input_json_delta", "partial_json": text})),
        any.clone().prop_map(|any| json!({"type": "citations_delta", "citation": any})),
        any.clone().prop_map(|any| json!({"type": "future_delta", "type2": any, "text": any})),
        any.clone(),
    ];
    let index = prop_oneof![8 => (0u64..4).prop_map(|n| json!(n)), 1 => any.clone()];
    prop_oneof![
        1 => Just(begin()),
        4 => (index.clone(), block).prop_map(|(index, block)|
            json!({"type": "content_block_start", "index": index, "content_block": block})),
        8 => (index.clone(), delta).prop_map(|(index, delta)|
            json!({"type": "content_block_delta", "index": index, "delta": delta})),
        4 => index.prop_map(|index| json!({"type": "content_block_stop", "index": index})),
        1 => (any.clone(), any.clone()).prop_map(|(delta, usage)|
            json!({"type": "message_delta", "delta": delta, "usage": usage})),
        1 => Just(json!({"type": "message_stop"})),
        1 => any.clone().prop_map(|error| json!({"type": "error", "error": error})),
        1 => any,
    ]
}

/// JSON of any shape, with the words of the wire as keys and values.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "type",
        "text",
        "thinking",
        "signature",
        "redacted_thinking",
        "data",
        "tool_use",
        "tool_result",
        "id",
        "name",
        "input",
        "tool_use_id",
        "content",
        "is_error",
        "image",
        "document",
        "source",
        "base64",
        "media_type",
        "url",
        "file",
        "file_id",
        "title",
        "role",
        "user",
        "assistant",
        "system",
        "cache_control",
        "usage",
        "index",
        "",
        " ",
    ]);
    let leaf = prop_oneof![
        4 => word.clone().prop_map(|word| json!(word)),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(|it| json!(it)),
        1 => any::<i32>().prop_map(|it| json!(it)),
    ];
    leaf.prop_recursive(4, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((word.clone(), inner), 0..6)
                .prop_map(|members| members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

/// Blocks that are nearly right.
fn any_block() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec![
        "text",
        "image",
        "document",
        "thinking",
        "redacted_thinking",
        "tool_use",
        "tool_result",
        "server_tool_use",
    ]);
    (kind, "[a-z.: ]{0,3}", any_json(), any_json(), prop::bool::ANY).prop_map(|(kind, text, one, two, odd)| {
        let mut block = json!({"type": kind, "text": text, "thinking": text, "signature": text, "data": text,
            "id": text, "tool_use_id": text, "name": text, "input": {"x": two}, "content": one,
            "source": {"type": "url", "url": text}, "title": two});
        if odd {
            block[if kind == "tool_use" { "input" } else { "text" }] = one;
        }
        block
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_events_make_the_decoder_panic(first in prop::bool::weighted(0.9), events in prop::collection::vec(any_event(), 0..24)) {
        let mut decoder = stream_decoder(WIRE);
        let mut deltas = Vec::new();
        if first {
            decoder.event("", &begin().to_string(), &mut deltas).unwrap();
        }
        for event in &events {
            let _ = decoder.event(event["type"].as_str().unwrap_or(""), &event.to_string(), &mut deltas);
            if let Some(partial) = decoder.partial() {
                encode_message(WIRE, &partial.message);
            }
        }
        let done = decoder.is_done();
        let result = decoder.finish();
        if let Ok(response) = &result {
            prop_assert!(done);
            let again = decode_response(WIRE, &encode_response(WIRE, response));
            if response.message.tool_uses().all(|call| call.invalid.is_none()) {
                prop_assert_eq!(again.as_ref(), Ok(response));
            }
        } else {
            prop_assert!(decoder.finish().is_err());
        }
    }

    #[test]
    fn answers_out_of_order_are_answers_or_failures(
        blocks in prop::collection::vec(any_block(), 0..4),
        mutations in prop::collection::vec((0..4u8, any::<prop::sample::Index>(), any_event()), 0..3),
    ) {
        let whole = json!({"id": "i", "type": "message", "role": "assistant", "model": "m", "content": blocks,
            "stop_reason": "end_turn", "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 2}});
        let whole = decode_response(WIRE, &whole.to_string()).unwrap();
        let mut events: Vec<String> = encode_stream(WIRE, &whole, 2).into_iter().map(|(_, data)| data).collect();
        for (kind, at, event) in &mutations {
            let at = at.index(events.len());
            match kind {
                0 => drop(events.remove(at)),
                1 => events.insert(at, events[at].clone()),
                2 => events.swap(at, 0),
                _ => events[at] = event.to_string(),
            }
        }
        let mut decoder = stream_decoder(WIRE);
        for event in &events {
            let _ = decoder.event("", event, &mut Vec::new());
        }
        match decoder.finish() {
            Ok(response) if mutations.is_empty() => prop_assert_eq!(response, whole),
            Ok(response) => {
                if response.message.tool_uses().all(|call| call.invalid.is_none()) {
                    prop_assert_eq!(decode_response(WIRE, &encode_response(WIRE, &response)).unwrap(), response);
                }
            }
            Err(failure) => {
                prop_assert!(!mutations.is_empty(), "{}", failure.message);
                prop_assert!(matches!(failure.kind, FailureKind::InvalidBody | FailureKind::Cut | FailureKind::Server));
            }
        }
    }

    #[test]
    fn no_text_makes_the_decoder_panic(events in prop::collection::vec(("[a-z_]{0,4}|ping|error|message_start", ".{0,40}"), 0..8)) {
        let mut decoder = stream_decoder(WIRE);
        for (name, data) in &events {
            let _ = decoder.event(name, data, &mut Vec::new());
        }
        let _ = decoder.finish();
    }

    #[test]
    fn cuts_change_nothing_in_mutated_streams(events in prop::collection::vec(any_event(), 0..12), at in any::<prop::sample::Index>()) {
        let all: Vec<u8> = std::iter::once(begin()).chain(events).flat_map(|event| format!("data: {event}\r\n\r\n").into_bytes()).collect();
        let read = |pieces: &[&[u8]]| {
            let mut stream = Stream::new(WIRE);
            let mut deltas = Vec::new();
            let fed = pieces.iter().try_for_each(|piece| stream.feed(piece, &mut deltas));
            let partial = stream.partial();
            (fed.and_then(|()| stream.finish(&mut deltas)), partial, deltas)
        };
        let at = at.index(all.len());
        prop_assert_eq!(read(&[&all]), read(&[&all[..at], &all[at..]]));
    }

    #[test]
    fn any_content_is_lossless(blocks in prop::collection::vec(prop_oneof![any_block(), any_json()], 1..5), more in any_json()) {
        let request = json!({"model": "m", "messages": [{"role": "user", "content": blocks}, {"role": "assistant", "content": more}], "system": more});
        let decoded = decode_request(WIRE, &request.to_string()).unwrap();
        prop_assert_eq!(&body(&decoded), &request);
        let response = json!({"id": "i", "type": "message", "role": "assistant", "model": "m", "content": blocks, "stop_reason": "end_turn",
            "stop_sequence": null, "usage": more});
        let decoded = decode_response(WIRE, &response.to_string()).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Value>(&encode_response(WIRE, &decoded)).unwrap(), &response);
        // What the model says goes into the history, whatever it is.
        encode_message(WIRE, &decoded.message);
    }

    #[test]
    fn own_forms_never_make_an_illegal_message(texts in prop::collection::vec("[a ]{0,2}", 0..4), form in prop::sample::select(vec![Form::Auto, Form::Text, Form::Parts]), role in prop::sample::select(vec![Role::System, Role::Developer, Role::User, Role::Assistant])) {
        let message = Message { form, ..Message::new(role, texts.iter().map(|text| Block::text(text.as_str())).collect()) };
        let text = encode_message(WIRE, &message);
        if texts.iter().all(|text| text.trim().is_empty()) {
            prop_assert_eq!(text, "");
        } else {
            let written: Value = serde_json::from_str(&text).unwrap();
            prop_assert!(written["role"] == "user" || written["role"] == "assistant");
            prop_assert!(written["content"].as_str().is_none_or(|text| !text.trim().is_empty()));
            for block in written["content"].as_array().into_iter().flatten() {
                prop_assert!(!block["text"].as_str().unwrap().trim().is_empty());
            }
        }
    }
}
