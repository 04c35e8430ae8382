//! Requests: odd forms come back, our own are what servers want, what can't be sent is refused.

use loopwright_base::{
    json::Fields,
    message::{Block, Extra, Form, Media, MediaSource, Message, Role, Thinking, ToolResult, ToolUse, Wire},
    request::{Effort, Request, Tool, ToolChoice, WebSearch},
};
use loopwright_wire as wire;
use serde_json::{Value, json};

use crate::WIRE;

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
        source: MediaSource::Base64 { media_type: "image/png".into(), data: "AA".into() },
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
        (Block::Image(media(MediaSource::File("f".into()))), Role::User, "unsupported_source"),
        (Block::Document(media(MediaSource::File(String::new()))), Role::User, "invalid_source"),
        (Block::Image(media(MediaSource::Url("u".into()))), Role::Assistant, "unsupported_block"),
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
