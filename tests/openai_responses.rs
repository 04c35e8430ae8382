//! The codec of the Responses API where recordings are silent: our own requests, refusals and failures, thin and
//! contradictory streams, and input that nobody should send.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::Arc;

use loopwright::core::{
    error::{FailureKind, Guilt},
    json::{Fields, Raw},
    message::{
        Block, Extra, Media, Message, Role, Source, StopReason, Text, Thinking, ToolFailure, ToolResult, ToolUse,
        Usage, Wire,
    },
    request::{Delta, Effort, FunctionTool, OutputSchema, Request, Response, Tool, ToolChoice, WebSearch},
    wire::{self, Decode, openai_responses::StreamDecoder},
};
use proptest::prelude::*;
use serde_json::{Value, json};

const WIRE: Wire = Wire::OpenaiResponses;

fn extra(fields: &Value) -> Option<Box<Extra>> {
    Extra::of(WIRE, Fields::parse(&fields.to_string()).unwrap())
}

fn encode(request: &Request) -> Value {
    serde_json::from_str(&wire::encode_request(WIRE, request).unwrap()).unwrap()
}

/// The items that a message becomes.
fn items(message: &Message) -> Value {
    serde_json::from_str(&format!("[{}]", wire::encode_message(WIRE, message))).unwrap()
}

fn decode(body: &Value) -> Response {
    wire::decode_response(WIRE, &body.to_string()).unwrap()
}

fn answer(output: &Value) -> Value {
    json!({"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": output})
}

type Streamed = (Result<Response, loopwright::core::error::Failure>, Vec<Delta>, Option<Response>);

/// The outcome, the deltas, and what could be kept if it ended here.
fn stream(events: &[Value]) -> Streamed {
    let mut decoder = StreamDecoder::default();
    let mut deltas = Vec::new();
    for event in events {
        if let Err(failure) = decoder.event("", &event.to_string(), &mut deltas) {
            return (Err(failure), deltas, decoder.partial());
        }
    }
    let partial = decoder.partial();
    (decoder.finish(), deltas, partial)
}

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
        cache: true,
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
        assert_eq!(error.guilt, Guilt::Usage);
        error.message
    };
    assert!(refused(Request { stop: vec!["END".into()], ..Request::default() }).contains("`stop`"));
    let search = WebSearch { blocked_domains: vec!["example.org".into()], ..WebSearch::default() };
    let tools = Arc::new([Tool::WebSearch(search)]);
    assert!(refused(Request { tools, ..Request::default() }).contains("`blocked_domains`"));
    let image = Media { source: Source::Url("https://example.org/a.png".into()), name: None, extra: None };
    let system = Some(Arc::new(Message::new(Role::System, vec![Block::Image(image)])));
    assert!(refused(Request { system, ..Request::default() }).contains("image"));
    for body in ["", "[]", "{\"input\":7}", "{\"input\":[7]}", "{\"$exact\":1}"] {
        assert_eq!(wire::decode_request(WIRE, body).unwrap_err().guilt, Guilt::Usage, "{body}");
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
    pictures.content.push(image(Source::Base64 { media_type: "image/png".into(), data: "AAAA".into() }));
    let failure = ToolFailure { kind: "timeout".into(), message: "slow".into(), hint: None };
    let message = Message::new(
        Role::User,
        vec![
            Block::text("see"),
            Block::ToolResult(ToolResult::failed("c1", "add", failure)),
            Block::ToolResult(pictures),
            image(Source::File("file_1".into())),
            Block::Document(Media {
                source: Source::Base64 { media_type: "application/pdf".into(), data: "BBBB".into() },
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

/// A stream with reasoning, a search, a call and text, as the API writes it.
fn rich() -> (Vec<Value>, Value) {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "enc", "summary": [
        {"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}]});
    let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed"});
    let message = json!({"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
        "content": [{"type": "output_text", "text": "Grüße", "annotations": []}]});
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "add", "arguments": "{\"a\":1}",
        "status": "completed"});
    let mut body = answer(&json!([reasoning, search, message, call]));
    body["usage"] = json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 17});
    let mut events = vec![
        json!({"type": "response.created", "response": {"id": "resp_1", "model": "m", "status": "in_progress", "output": []}}),
        json!({"type": "response.in_progress", "response": {"id": "resp_1", "output": []}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs_1", "summary": []}}),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 0, "part": {}}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "On"}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "e."}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 1, "delta": "Two."}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": reasoning}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "web_search_call", "id": "ws_1", "status": "in_progress"}}),
        json!({"type": "response.web_search_call.searching", "output_index": 1, "item_id": "ws_1"}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": search}),
        json!({"type": "response.output_item.added", "output_index": 2, "item": {"type": "message", "id": "msg_1", "role": "assistant", "content": []}}),
        json!({"type": "response.content_part.added", "output_index": 2, "content_index": 0, "part": {"type": "output_text", "text": ""}}),
        json!({"type": "response.output_text.delta", "output_index": 2, "content_index": 0, "delta": "Grü"}),
        json!({"type": "response.output_text.delta", "output_index": 2, "content_index": 0, "delta": "ße"}),
        json!({"type": "response.output_text.done", "output_index": 2, "content_index": 0, "text": "Grüße"}),
        json!({"type": "response.output_item.done", "output_index": 2, "item": message}),
        json!({"type": "response.output_item.added", "output_index": 3, "item": {"type": "function_call", "call_id": "c1", "name": "add", "arguments": ""}}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 3, "delta": "{\"a\""}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 3, "delta": ":1}"}),
        json!({"type": "response.function_call_arguments.done", "output_index": 3, "arguments": "{\"a\":1}"}),
        json!({"type": "response.output_item.done", "output_index": 3, "item": call}),
    ];
    events.push(json!({"type": "response.completed", "response": body}));
    (events, body)
}

#[test]
fn a_stream_gives_the_whole_answer_and_shows_all_of_it() {
    let (events, body) = rich();
    let (response, deltas, _) = stream(&events);
    let whole = decode(&body);
    assert_eq!(response.unwrap(), whole);
    let usage = Usage { input: 10, output: 7, cache_read: 4, cache_write: 0, reasoning: 5, provider_tool_uses: 1 };
    assert_eq!(whole.usage, usage);
    let text = |text: &str| text.to_owned();
    assert_eq!(
        deltas,
        [
            Delta::Reasoning { block: 0, text: text("On") },
            Delta::Reasoning { block: 0, text: text("e.") },
            Delta::Reasoning { block: 0, text: text("\n\n") },
            Delta::Reasoning { block: 0, text: text("Two.") },
            Delta::Provider { block: 1, kind: text("web_search_call"), name: String::new() },
            Delta::Text { block: 2, text: text("Grü") },
            Delta::Text { block: 2, text: text("ße") },
            Delta::ToolUse { block: 3, id: text("c1"), name: text("add") },
            Delta::Arguments { block: 3, text: text("{\"a\"") },
            Delta::Arguments { block: 3, text: text(":1}") },
        ]
    );
}

#[test]
fn a_stream_that_breaks_off_keeps_what_is_whole() {
    let (events, body) = rich();
    let whole = decode(&body).message.content;
    for end in 0..events.len() - 1 {
        let (response, _, partial) = stream(&events[..end]);
        assert_eq!(response.unwrap_err().kind, FailureKind::Cut);
        let blocks = partial.map(|partial| partial.message.content).unwrap_or_default();
        let count = match end {
            0..8 => 0,
            8..11 => 1,
            11..14 => 2,
            14..22 => 3,
            _ => 4,
        };
        assert_eq!(blocks.len(), count, "after {end} events");
        match end {
            14 => assert_eq!(blocks[2], Block::text("Grü")),
            17.. => assert_eq!(blocks, whole[..count]),
            _ => {}
        }
    }
    // Reasoning that lost its proof takes the ids of what follows with it.
    let mut events = events;
    events[7]["item"]["encrypted_content"] = Value::Null;
    let (_, _, partial) = stream(&events[..events.len() - 1]);
    let sent = items(&partial.unwrap().message);
    assert_eq!(sent[1].get("id"), None);
    assert_eq!(sent[2].get("id"), None);
}

#[test]
fn thin_streams_are_put_together() {
    let (events, body) = rich();
    let whole = decode(&body);
    for last in [json!({}), json!({"output": []}), json!({"id": "resp_1", "status": "completed", "output": null})] {
        // With deltas, without, and without whole items.
        for keep in [&["added", "delta", "item.done"][..], &["item.done"], &["item.added", "part.added", "delta"]] {
            let mut thin: Vec<Value> = events[..events.len() - 1].to_vec();
            thin.retain(|event| {
                let kind = event["type"].as_str().unwrap();
                kind == "response.created" || keep.iter().any(|keep| kind.ends_with(keep))
            });
            thin.push(json!({"type": "response.completed", "response": last}));
            let (response, deltas, _) = stream(&thin);
            let response = response.unwrap();
            assert_eq!((response.id.as_str(), response.model.as_str()), ("resp_1", "m"));
            assert_eq!(response.stop, StopReason::ToolUse);
            assert_eq!(response.message.prose(), "Grüße");
            assert_eq!(response.message.tool_uses().next().unwrap().input.text(), "{\"a\":1}");
            if keep.contains(&"item.done") {
                assert_eq!(response.message, whole.message);
            }
            let shown: String = deltas
                .iter()
                .filter_map(|delta| if let Delta::Text { text, .. } = delta { Some(text.as_str()) } else { None })
                .collect();
            assert_eq!(shown, "Grüße");
        }
    }
}

#[test]
fn streams_without_indexes_are_told_apart_by_their_items() {
    let (events, body) = rich();
    let mut bare = events.clone();
    let ids = ["rs_1", "ws_1", "msg_1", "c1"];
    for event in &mut bare {
        let event = event.as_object_mut().unwrap();
        let at = event.remove("output_index").and_then(|at| at.as_u64());
        event.remove("content_index");
        if let Some(at) = at {
            event.insert("item_id".into(), json!(ids[at as usize]));
        }
    }
    let (response, deltas, _) = stream(&bare);
    assert_eq!(response.unwrap(), decode(&body));
    assert_eq!(deltas, stream(&events).1);
    // With neither, and nothing announced but the call.
    bare.retain(|event| {
        let kind = event["type"].as_str().unwrap();
        kind.ends_with("delta") || kind.ends_with("completed") || event["item"]["call_id"].is_string()
    });
    let mut body = body;
    body["output"].as_array_mut().unwrap().remove(1);
    for event in &mut bare {
        event.as_object_mut().unwrap().remove("item_id");
    }
    bare.last_mut().unwrap()["response"] = body.clone();
    let (response, deltas, _) = stream(&bare);
    assert_eq!(response.unwrap(), decode(&body));
    assert_eq!(deltas.len(), 9);
}

#[test]
fn streams_that_contradict_themselves_or_fail() {
    let (events, _) = rich();
    let broken = |change: &dyn Fn(&mut Vec<Value>)| {
        let mut events = events.clone();
        change(&mut events);
        stream(&events).0.unwrap_err().kind
    };
    assert_eq!(
        broken(&|events| events.last_mut().unwrap()["response"]["output"][2]["content"][0]["text"] = json!("Nein")),
        FailureKind::InvalidBody
    );
    assert_eq!(
        broken(&|events| events.last_mut().unwrap()["response"]["output"][3]["arguments"] = json!("{\"a\":2}")),
        FailureKind::InvalidBody
    );
    assert_eq!(
        broken(&|events| drop(events.last_mut().unwrap()["response"]["output"].as_array_mut().unwrap().pop())),
        FailureKind::InvalidBody
    );
    assert_eq!(broken(&|events| drop(events.remove(17))), FailureKind::InvalidBody);
    assert_eq!(broken(&|events| events[13]["delta"] = json!(7)), FailureKind::InvalidBody);
    assert_eq!(broken(&|events| events[13]["output_index"] = json!(-1)), FailureKind::InvalidBody);
    let failed = |error: Value| stream(&[events[0].clone(), error]).0.unwrap_err().kind;
    let error = json!({"code": "rate_limit_exceeded", "message": "slow down"});
    assert_eq!(failed(json!({"type": "response.failed", "response": {"error": error}})), FailureKind::RateLimited);
    assert_eq!(failed(json!({"type": "error", "code": "server_error", "message": "x"})), FailureKind::Server);
    assert_eq!(failed(json!({"type": "error", "error": error})), FailureKind::RateLimited);
    assert_eq!(failed(json!({"error": error})), FailureKind::RateLimited);
    assert_eq!(failed(json!({"type": "response.failed"})), FailureKind::Server);
    let mut decoder = StreamDecoder::default();
    assert_eq!(decoder.event("", "[1]", &mut Vec::new()).unwrap_err().kind, FailureKind::InvalidBody);
    assert!(decoder.is_done());
    assert_eq!(decoder.finish().unwrap_err().kind, FailureKind::InvalidBody);
}

#[test]
fn answers_of_other_origin_are_written_whole() {
    let content = vec![
        Block::Thinking(Thinking { text: "hm".into(), ..Thinking::default() }),
        Block::Text(Text { text: "Grüße aus \u{1f680}".into(), extra: None }),
        Block::ToolUse(ToolUse::from_text("c1", "add", "{\"a\":1}".into())),
    ];
    let usage = Usage { input: 5, output: 6, cache_read: 2, cache_write: 1, reasoning: 3, provider_tool_uses: 0 };
    let response = Response {
        id: "resp_7".into(),
        model: "m".into(),
        message: Message::new(Role::Assistant, content),
        stop: StopReason::ToolUse,
        usage,
        extra: None,
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

/// JSON that looks like the wire's, and often is not.
fn scraps() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "",
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "web_search_call",
        "compaction",
        "user",
        "assistant",
        "system",
        "output_text",
        "input_text",
        "input_image",
        "input_file",
        "refusal",
        "summary_text",
        "completed",
        "incomplete",
        "max_output_tokens",
        "auto",
        "required",
        "function",
        "json_schema",
        "low",
        "ü",
        "data:image/png;base64,AA",
        "https://example.org",
        "{\"a\":1}",
        " {} ",
        "{",
        "$item",
    ]);
    let leaf = prop_oneof![
        4 => word.prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => prop::sample::select(vec![json!(0), json!(1), json!(1.0), json!(0.7), json!(-1), json!(u64::MAX), json!(1e300)]),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let key = prop::sample::select(vec![
            "type",
            "role",
            "content",
            "text",
            "id",
            "status",
            "call_id",
            "name",
            "arguments",
            "output",
            "summary",
            "encrypted_content",
            "image_url",
            "file_id",
            "file_data",
            "filename",
            "file_url",
            "detail",
            "refusal",
            "annotations",
            "format",
            "effort",
            "schema",
            "strict",
            "parameters",
            "description",
            "filters",
            "new",
            "allowed_domains",
            "error",
            "code",
            "response",
            "item",
            "part",
            "delta",
            "$item",
            "$bare",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

/// An item that is often right.
fn item() -> impl Strategy<Value = Value> {
    let part = prop_oneof![
        2 => "[a-zü ]{0,5}".prop_map(|text| json!({"type": "output_text", "text": text})),
        1 => "[a-z]{0,5}".prop_map(|text| json!({"type": "input_text", "text": text, "new": null})),
        1 => Just(json!({"type": "refusal", "refusal": "no"})),
        1 => Just(json!({"type": "input_file", "file_data": "data:a/b;base64,AA"})),
        1 => Just(json!({"type": "input_image", "image_url": null, "file_id": "f", "detail": "auto"})),
        1 => scraps(),
    ];
    let parts = prop::collection::vec(part, 0..4);
    prop_oneof![
        (parts.clone(), "(assistant|user|system|x)", "(message|)").prop_map(|(content, role, kind)| {
            let mut item = json!({"id": "msg", "role": role, "content": content});
            if !kind.is_empty() {
                item["type"] = json!(kind);
            }
            item
        }),
        scraps().prop_map(|text| json!({"role": "user", "content": text})),
        ("[a-z]{0,3}", "( ?\\{\\} ?|\\{\"a\":[0-9]{0,2}\\}|[a-z{]{0,3})").prop_map(|(id, arguments)| {
            json!({"type": "function_call", "id": "fc", "call_id": id, "name": "f", "arguments": arguments})
        }),
        scraps().prop_map(
            |arguments| json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": arguments})
        ),
        parts.prop_map(|output| json!({"type": "function_call_output", "call_id": "c", "output": output})),
        (scraps(), scraps()).prop_map(|(summary, proof)| {
            json!({"type": "reasoning", "summary": summary, "encrypted_content": proof})
        }),
        Just(json!({"type": "reasoning", "encrypted_content": "enc"})),
        Just(json!({"type": "reasoning"})),
        Just(json!({"type": "web_search_call", "id": "ws"})),
        scraps(),
    ]
}

fn request() -> impl Strategy<Value = Value> {
    let input = prop_oneof![prop::collection::vec(item(), 0..5).prop_map(Value::from), scraps(), Just(json!("hi")),];
    let key = prop::sample::select(vec![
        "model",
        "instructions",
        "temperature",
        "top_p",
        "max_output_tokens",
        "tool_choice",
        "parallel_tool_calls",
        "stream",
        "store",
        "include",
        "reasoning",
        "text",
        "tools",
        "metadata",
    ]);
    let others = prop::collection::vec((key, scraps()), 0..6);
    (prop::option::of(input), others).prop_map(|(input, others)| {
        let mut body: serde_json::Map<String, Value> = others.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
        body.extend(input.map(|input| ("input".to_owned(), input)));
        Value::Object(body)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    /// A request is refused, or comes back equal.
    #[test]
    fn no_request_is_changed(body in request()) {
        if let Ok(request) = wire::decode_request(WIRE, &body.to_string()) {
            prop_assert_eq!(&encode(&request), &body);
            let text = serde_json::to_string(&request).unwrap();
            prop_assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), request);
        }
    }

    /// An answer is refused, or comes back equal, from a stream of ours too.
    #[test]
    fn no_answer_is_changed(output in prop::collection::vec(item(), 0..5), piece in 0_usize..9) {
        let body = answer(&Value::from(output));
        if let Ok(response) = wire::decode_response(WIRE, &body.to_string()) {
            let written = wire::encode_response(WIRE, &response);
            prop_assert_eq!(&serde_json::from_str::<Value>(&written).unwrap(), &body);
            let events = wire::encode_stream(WIRE, &response, piece);
            let events: Vec<Value> = events.iter().map(|(_, data)| serde_json::from_str(data).unwrap()).collect();
            prop_assert_eq!(stream(&events).0, Ok(decode(&body)));
        }
    }

    /// Events in any order, with anything in them, give an answer or a typed failure.
    #[test]
    fn no_stream_makes_it_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..5, scraps()), 0..12),
    ) {
        let (mut events, _) = rich();
        for (at, what, scrap) in changes {
            let at = at.index(events.len());
            match what {
                0 => drop(events.remove(at)),
                1 => { let event = events[at].clone(); events.push(event); }
                2 => { let last = events.len() - 1; events.swap(at, last); }
                3 => events[at]["output_index"] = scrap,
                _ => {
                    let key = ["item", "part", "delta", "response", "content_index", "type"][at % 6];
                    events[at][key] = scrap;
                }
            }
            if events.is_empty() { break; }
        }
        let (response, deltas, partial) = stream(&events);
        if let Ok(response) = response {
            let text: String = deltas
                .iter()
                .filter_map(|delta| if let Delta::Text { text, .. } = delta { Some(text.as_str()) } else { None })
                .collect();
            prop_assert_eq!(text.len(), response.message.prose().len());
        }
        if let Some(partial) = partial {
            prop_assert!(!partial.message.content.is_empty());
            wire::encode_message(WIRE, &partial.message);
        }
    }
}
