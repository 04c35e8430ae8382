//! Requests and whole answers.

use std::sync::Arc;

use loopwright_base::{
    error::{FailureKind, Fault},
    json::Raw,
    message::{
        Block, Media, MediaSource, Message, Role, StopReason, Text, Thinking, ToolFailure, ToolResult, ToolUse, Usage,
        Wire,
    },
    request::{Caching, Effort, FunctionTool, OutputSchema, Request, Response, Tool, ToolChoice, WebSearch},
};
use loopwright_wire as wire;
use serde_json::{Value, json};

use crate::{WIRE, answer, decode, encode, extra, items, stream};

#[test]
fn our_own_request_has_what_the_api_needs() {
    let request = Request {
        model: "gpt-x".into(),
        system: Some(Arc::new(Message::text(Role::System, "Be brief."))),
        messages: [Message::user("hi"), Message::assistant("hello"), Message::user("go")].into_iter().collect(),
        tools: Arc::new([
            Tool::Function(FunctionTool {
                name: "add".into(),
                description: Some("Adds.".into()),
                schema: Raw::parse(r#"{"type":"object"}"#).unwrap(),
                strict: None,
                extra: None,
            }),
            Tool::WebSearch(WebSearch {
                max_uses: Some(3),
                allowed_domains: vec!["example.org".into()],
                blocked_domains: Vec::new(),
            }),
            Tool::Provider { wire: Wire::Anthropic, raw: Raw::parse(r#"{"type":"bash_20250124"}"#).unwrap() },
            Tool::Provider { wire: WIRE, raw: Raw::parse(r#"{"type":"image_generation"}"#).unwrap() },
        ]),
        tool_choice: Some(ToolChoice::Tool("add".into())),
        parallel_tool_calls: Some(false),
        max_tokens: Some(100),
        temperature: Some(0.5),
        top_p: Some(1.0),
        effort: Some(Effort::High),
        output: Some(OutputSchema {
            name: "out".into(),
            schema: Raw::parse(r#"{"type":"object"}"#).unwrap(),
            strict: Some(true),
            description: None,
        }),
        cache: Caching::Usual,
        stream: Some(true),
        extra: extra(&json!({"reasoning": {"summary": "auto"}, "metadata": {"k": "v"}})),
        ..Request::default()
    };
    let expected = json!({
        "model": "gpt-x",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": "hi"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hello"}]},
            {"role": "user", "content": "go"},
        ],
        "tools": [
            {"type": "function", "name": "add", "description": "Adds.", "parameters": {"type": "object"}, "strict": false},
            {"type": "web_search", "filters": {"allowed_domains": ["example.org"]}},
            {"type": "image_generation"},
        ],
        "tool_choice": {"type": "function", "name": "add"},
        "parallel_tool_calls": false,
        "max_output_tokens": 100,
        "temperature": 0.5,
        "top_p": 1.0,
        "reasoning": {"effort": "high", "summary": "auto"},
        "text": {"format": {"type": "json_schema", "name": "out", "schema": {"type": "object"}, "strict": true}},
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "max_tool_calls": 3,
        "metadata": {"k": "v"},
    });
    assert_eq!(encode(&request), expected);
    assert_eq!(encode(&wire::decode_request(WIRE, &expected.to_string()).unwrap()), expected);

    let stateful = Request { extra: extra(&json!({"previous_response_id": "resp_0"})), ..Request::default() };
    assert_eq!(encode(&stateful).get("store"), None);
}

#[test]
fn what_the_wire_can_not_say_is_refused_by_name() {
    let refused = |request: Request| {
        let error = wire::encode_request(WIRE, &request).unwrap_err();
        assert_eq!(error.guilt, Fault::Usage);
        error.message
    };
    assert!(refused(Request { stop: vec!["END".into()], ..Request::default() }).contains("`stop`"));
    let search = WebSearch { blocked_domains: vec!["example.org".into()], ..WebSearch::default() };
    let tools = Arc::new([Tool::WebSearch(search)]);
    assert!(refused(Request { tools, ..Request::default() }).contains("`blocked_domains`"));
    let image = Media { source: MediaSource::Url("https://example.org/a.png".into()), name: None, extra: None };
    let system = Some(Arc::new(Message::new(Role::System, vec![Block::Image(image)])));
    assert!(refused(Request { system, ..Request::default() }).contains("image"));
    for body in ["", "[]", "{\"input\":7}", "{\"input\":[7]}", "{\"$exact\":1}"] {
        assert_eq!(wire::decode_request(WIRE, body).unwrap_err().guilt, Fault::Usage, "{body}");
    }
}

#[test]
fn blocks_become_items_in_order() {
    let mut signed = Thinking { text: "hm".into(), signature: Some("enc".into()), ..Thinking::default() };
    signed.extra = extra(&json!({"id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}));
    let foreign = Thinking { text: "other".into(), signature: Some("sig".into()), ..Thinking::default() };
    let message = Message::new(
        Role::Assistant,
        vec![
            Block::Thinking(signed),
            Block::Thinking(foreign),
            Block::text("I add."),
            Block::text("Now."),
            Block::ToolUse(ToolUse::from_text("c1", "add", "{\"a\": 1}".into())),
            Block::text("Done."),
        ],
    );
    let text = |text: &str| json!({"type": "output_text", "text": text});
    assert_eq!(
        items(&message),
        json!([
            {"type": "reasoning", "id": "rs_1", "encrypted_content": "enc", "summary": [{"type": "summary_text", "text": "hm"}]},
            {"type": "message", "role": "assistant", "content": [text("I add."), text("Now.")]},
            {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{\"a\": 1}"},
            {"type": "message", "role": "assistant", "content": [text("Done.")]},
        ])
    );

    let image = |source| Block::Image(Media { source, name: None, extra: None });
    let mut pictures = ToolResult::text("c2", "look", "two");
    pictures.content.push(image(MediaSource::Base64 { media_type: "image/png".into(), data: "AAAA".into() }));
    let failure = ToolFailure { kind: "timeout".into(), message: "slow".into(), hint: None };
    let message = Message::new(
        Role::User,
        vec![
            Block::text("see"),
            Block::ToolResult(ToolResult::failed("c1", "add", failure)),
            Block::ToolResult(pictures),
            image(MediaSource::File("file_1".into())),
            Block::Document(Media {
                source: MediaSource::Base64 { media_type: "application/pdf".into(), data: "BBBB".into() },
                name: None,
                extra: None,
            }),
        ],
    );
    assert_eq!(
        items(&message),
        json!([
            {"type": "function_call_output", "call_id": "c1", "output": r#"{"error":{"kind":"timeout","message":"slow"}}"#},
            {"type": "function_call_output", "call_id": "c2", "output": [
                {"type": "input_text", "text": "two"},
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
            ]},
            {"role": "user", "content": [
                {"type": "input_text", "text": "see"},
                {"type": "input_image", "file_id": "file_1"},
                {"type": "input_file", "file_data": "data:application/pdf;base64,BBBB", "filename": "document.pdf"},
            ]},
        ])
    );
    let only_foreign = Thinking { text: "other".into(), ..Thinking::default() };
    let only_foreign = Message::new(Role::Assistant, vec![Block::Thinking(only_foreign)]);
    assert_eq!(wire::encode_message(WIRE, &only_foreign), "");
    let request = Request {
        messages: [Message::user("a"), only_foreign, Message::user("b")].into_iter().collect(),
        ..Request::default()
    };
    assert_eq!(encode(&request)["input"].as_array().unwrap().len(), 2);
}

#[test]
fn reasoning_without_proof_stays_here_and_no_id_points_to_it() {
    let output = json!([
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": null},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "commentary",
         "content": [{"type": "output_text", "text": "a", "annotations": [], "logprobs": []},
                     {"type": "output_text", "text": "b", "annotations": []}]},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": " {} ", "status": "completed"},
    ]);
    let response = decode(&answer(&output));
    assert_eq!(serde_json::from_str::<Value>(&wire::encode_response(WIRE, &response)).unwrap(), answer(&output));
    let mut sent: Vec<Value> = output.as_array().unwrap()[1..].to_vec();
    for item in &mut sent {
        item.as_object_mut().unwrap().remove("id");
    }
    assert_eq!(items(&response.message), json!(sent));

    // The same with its proof goes back whole.
    let mut output = output;
    output[0]["encrypted_content"] = json!("enc");
    assert_eq!(items(&decode(&answer(&output)).message), output);
}

#[test]
fn edited_blocks_are_sent_as_edited() {
    let output = json!([
        {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "secret"}]},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{ \"a\": 1 } "},
    ]);
    let mut message = decode(&answer(&output)).message;
    assert_eq!(items(&message), output);
    let [Block::Text(text), Block::ToolUse(call)] = message.content.as_mut_slice() else { panic!() };
    "hidden".clone_into(&mut text.text);
    call.input = Raw::parse("{\"a\":2}").unwrap();
    message.content.insert(1, Block::text("added"));
    let sent = items(&message);
    assert_eq!(sent[0]["content"][0]["text"], "hidden");
    assert_eq!(
        sent[1],
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "added"}]})
    );
    assert_eq!(sent[2]["arguments"], "{\"a\":2}");
}

#[test]
fn why_an_answer_ended() {
    let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{\"a\""});
    let refusal = json!({"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]});
    let stop = |output: Value, change: Value| {
        let mut body = answer(&output);
        for (key, value) in change.as_object().unwrap() {
            body[key] = value.clone();
        }
        let response = decode(&body);
        assert_eq!(serde_json::from_str::<Value>(&wire::encode_response(WIRE, &response)).unwrap(), body);
        (response.stop, response.message)
    };
    let incomplete = |reason: &str| json!({"status": "incomplete", "incomplete_details": {"reason": reason}});
    assert_eq!(stop(json!([]), json!({})).0, StopReason::EndTurn);
    let (reason, message) = stop(json!([call]), json!({}));
    assert_eq!(reason, StopReason::ToolUse);
    assert_eq!(message.tool_uses().next().unwrap().invalid.as_deref(), Some("{\"a\""));
    let (reason, message) = stop(json!([refusal]), json!({}));
    assert_eq!((reason, message.prose().as_str()), (StopReason::Refusal, "No."));
    assert_eq!(items(&message), json!([refusal]));
    assert_eq!(stop(json!([call]), incomplete("max_output_tokens")).0, StopReason::MaxTokens);
    assert_eq!(stop(json!([]), incomplete("content_filter")).0, StopReason::ContentFilter);
    assert_eq!(stop(json!([]), incomplete("new")).0, StopReason::Other("new".into()));
    assert_eq!(stop(json!([]), json!({"status": "cancelled"})).0, StopReason::Other("cancelled".into()));
    assert_eq!(stop(Value::Null, json!({"status": "queued"})).0, StopReason::Other("queued".into()));

    let failed = |body: Value| wire::decode_response(WIRE, &body.to_string()).unwrap_err().kind;
    let error = |code: &str| json!({"status": "failed", "output": [], "error": {"code": code, "message": "m"}});
    assert_eq!(failed(error("server_error")), FailureKind::Server);
    assert_eq!(failed(error("rate_limit_exceeded")), FailureKind::RateLimited);
    assert_eq!(failed(error("context_length_exceeded")), FailureKind::ContextTooLong);
    assert_eq!(failed(json!({"status": "failed", "output": []})), FailureKind::Server);
    assert_eq!(failed(json!({"error": "busy"})), FailureKind::Server);
    assert_eq!(failed(json!({"id": "x"})), FailureKind::InvalidBody);
    assert_eq!(failed(json!({"output": 1})), FailureKind::InvalidBody);
    assert_eq!(failed(answer(&json!([3]))), FailureKind::InvalidBody);
    assert_eq!(failed(answer(&json!([{"type": "function_call", "name": "f"}]))), FailureKind::InvalidBody);
    for body in ["", "null", "[]", "<html>"] {
        assert_eq!(wire::decode_response(WIRE, body).unwrap_err().kind, FailureKind::InvalidBody);
    }
}

#[test]
fn tools_of_the_provider_are_counted_and_unknown_parts_kept() {
    let output = json!([
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
        {"type": "mcp_call", "id": "mcp_1", "name": "read", "server_label": "s", "arguments": "{}", "output": "x"},
        {"type": "mcp_list_tools", "id": "mcpl_1", "tools": []},
        {"type": "custom_tool_call", "call_id": "c", "name": "n", "input": "x"},
        {"type": "message", "id": "msg_1", "role": "assistant", "content": [
            {"type": "new_part", "x": 1.50}, {"type": "output_text", "text": "a"}, {"type": "new_part", "y": [null]},
            {"type": "refusal", "refusal": "b"}, {"type": "new_part"}]},
        {"type": "message", "id": "msg_2", "role": "assistant", "content": []},
        {"type": "message", "id": "msg_3", "role": "assistant", "content": [{"type": "new_part"}]},
        {"type": "brand_new", "deep": {"a": [1, {"b": null}]}},
    ]);
    let response = decode(&answer(&output));
    assert_eq!(response.usage.provider_tool_uses, 2);
    assert_eq!(response.message.prose(), "ab");
    assert_eq!(items(&response.message), output);
    assert_eq!(serde_json::from_str::<Value>(&wire::encode_response(WIRE, &response)).unwrap(), answer(&output));
    for piece in [1, 100] {
        let events = wire::encode_stream(WIRE, &response, piece);
        let events: Vec<Value> = events.iter().map(|(_, data)| serde_json::from_str(data).unwrap()).collect();
        assert_eq!(stream(&events).0.unwrap().message.prose(), "ab");
    }
}

#[test]
fn answers_of_other_origin_are_written_whole() {
    let content = vec![
        Block::Thinking(Thinking { text: "hm".into(), ..Thinking::default() }),
        Block::Text(Text { text: "Grüße aus \u{1f680}".into(), extra: None }),
        Block::ToolUse(ToolUse::from_text("c1", "add", "{\"a\":1}".into())),
    ];
    let usage = Usage {
        input: 5,
        output: 6,
        cache_read: 2,
        cache_write: 1,
        cache_write_hour: 0,
        reasoning: 3,
        provider_tool_uses: 0,
    };
    let response = Response {
        id: "resp_7".into(),
        model: "m".into(),
        message: Message::new(Role::Assistant, content),
        stop: StopReason::ToolUse,
        usage,
        extra: None,
        adapted: Vec::new(),
    };
    let body: Value = serde_json::from_str(&wire::encode_response(WIRE, &response)).unwrap();
    let back = decode(&body);
    assert_eq!((&back.id, &back.model, &back.stop, back.usage), (&response.id, &response.model, &response.stop, usage));
    assert_eq!(back.message.prose(), response.message.prose());
    for item in body["output"].as_array().unwrap() {
        assert!(item["id"].is_string(), "{item}");
    }
    let events = wire::encode_stream(WIRE, &response, 3);
    let events: Vec<Value> = events.iter().map(|(_, data)| serde_json::from_str(data).unwrap()).collect();
    assert_eq!(stream(&events).0.unwrap(), back);

    for stop in [StopReason::MaxTokens, StopReason::ContentFilter, StopReason::Refusal, StopReason::Other("x".into())] {
        let message = Message::assistant("No.");
        let response = Response { message, stop: stop.clone(), ..response.clone() };
        let back = wire::decode_response(WIRE, &wire::encode_response(WIRE, &response)).unwrap();
        assert_eq!((back.stop, back.message.prose().as_str()), (stop, "No."));
    }
}
