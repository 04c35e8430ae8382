//! Answers, whole and streamed, and what the provider says when there is none.

use loopwright_base::{
    error::FailureKind,
    message::{Block, StopReason, Usage},
    request::{Delta, Response},
};
use loopwright_wire as wire;
use serde_json::{Value, json};

use crate::{WIRE, answer, decode, packed, read, stream};

fn round_trip(body: &Value) -> Response {
    let response = decode(body);
    let back: Value = serde_json::from_str(&wire::encode_response(WIRE, &response)).unwrap();
    assert_eq!(back, *body);
    let canonical = serde_json::to_string(&response).unwrap();
    assert_eq!(serde_json::from_str::<Response>(&canonical).unwrap(), response);
    response
}

fn rich() -> Value {
    let mut body = answer(
        &json!([
            {"reasoningContent": {"reasoningText": {"text": "Let me see", "signature": "c2lnbg=="}}},
            {"reasoningContent": {"redactedContent": "cmVkYWN0ZWQ="}},
            {"text": "Grüße 🦊, world"},
            {"citationsContent": {"content": [{"text": "It says so."}], "citations": [{"title": "t", "source": "s"}]}},
            {"image": {"format": "png", "source": {"bytes": "AAAA"}}},
            {"toolUse": {"toolUseId": "tooluse_1", "name": "add", "input": {"a": 1.50}}},
            {"toolUse": {"toolUseId": "tooluse_2", "name": "now", "input": {}}},
            {"toolUse": {"toolUseId": "s1", "name": "nova_code", "type": "server_tool_use", "input": {"code": "1"}}},
            {"toolResult": {"toolUseId": "s1", "type": "nova_code_result", "content": [{"json": {"out": "1"}}]}},
            {"future": {"new": true}},
        ]),
        "tool_use",
    );
    body["usage"] = json!({"inputTokens": 3, "outputTokens": 9, "totalTokens": 22, "cacheReadInputTokens": 8,
        "cacheWriteInputTokens": 2, "cacheDetails": [{"ttl": "5m", "inputTokens": 2}]});
    body["trace"] = json!({"guardrail": {"inputAssessment": {"g": {"topicPolicy": {"topics": []}}}}});
    body["performanceConfig"] = json!({"latency": "standard"});
    body["additionalModelResponseFields"] = json!({"stop_sequence": null});
    body
}

#[test]
fn a_whole_answer_is_read_and_written_without_loss() {
    let response = round_trip(&rich());
    assert_eq!(response.stop, StopReason::ToolUse);
    let usage = Usage { input: 13, output: 9, cache_read: 8, cache_write: 2, ..Usage::default() };
    assert_eq!(response.usage, usage);
    assert_eq!(response.message.prose(), "Grüße 🦊, worldIt says so.");
    let calls: Vec<_> = response.message.tool_uses().map(|call| (&*call.id, call.arguments_text())).collect();
    assert_eq!(calls, [("tooluse_1", r#"{"a":1.50}"#.replace("1.50", "1.5").as_str()), ("tooluse_2", "{}")]);
    let Block::Thinking(thinking) = &response.message.content[0] else { panic!("no thought") };
    assert_eq!((&*thinking.text, thinking.signature.as_deref()), ("Let me see", Some("c2lnbg==")));
    let Block::Thinking(hidden) = &response.message.content[1] else { panic!("no thought") };
    assert_eq!(hidden.redacted.as_deref(), Some("cmVkYWN0ZWQ="));
}

#[test]
fn a_stream_gives_the_whole_answer_in_every_chunking() {
    let whole = decode(&rich());
    for piece in [1, 2, 5, 1000] {
        for chunk in [1, 3, 64, 100_000] {
            let (streamed, deltas) = read(&packed(&whole, piece), chunk);
            assert_eq!(streamed.unwrap(), whole, "{piece} {chunk}");
            let shown: String = deltas
                .iter()
                .filter_map(|delta| if let Delta::Text { text, .. } = delta { Some(text.as_str()) } else { None })
                .collect();
            assert_eq!(shown, whole.message.prose());
        }
    }
}

#[test]
fn a_stream_as_the_service_writes_it_is_read() {
    let at = |index: u64, delta: Value| {
        ("contentBlockDelta", json!({"delta": delta, "contentBlockIndex": index, "p": "abcd"}))
    };
    let mut events = vec![
        ("messageStart", json!({"role": "assistant", "p": "abcdefgh"})),
        at(0, json!({"reasoningContent": {"text": "Hm, "}})),
        at(0, json!({"reasoningContent": {"text": "two."}})),
        at(0, json!({"reasoningContent": {"signature": "c2ln"}})),
        ("contentBlockStop", json!({"contentBlockIndex": 0, "p": "ab"})),
        at(1, json!({"text": "I add"})),
        at(1, json!({"text": " them."})),
        ("contentBlockStop", json!({"contentBlockIndex": 1})),
        (
            "contentBlockStart",
            json!({"start": {"toolUse": {"toolUseId": "t1", "name": "add"}}, "contentBlockIndex": 2}),
        ),
        at(2, json!({"toolUse": {"input": ""}})),
        at(2, json!({"toolUse": {"input": "{\"a\":"}})),
        at(2, json!({"toolUse": {"input": "1}"}})),
        ("contentBlockStop", json!({"contentBlockIndex": 2})),
        (
            "contentBlockStart",
            json!({"start": {"toolUse": {"toolUseId": "t2", "name": "now"}}, "contentBlockIndex": 4}),
        ),
        ("contentBlockStop", json!({"contentBlockIndex": 4})),
        (
            "contentBlockStart",
            json!({"start": {"toolUse": {"toolUseId": "s", "name": "web", "type": "server_tool_use"}},
                "contentBlockIndex": 5}),
        ),
        at(5, json!({"toolUse": {"input": "{}"}})),
        ("contentBlockStart", json!({"start": {"image": {"format": "png"}}, "contentBlockIndex": 6})),
        at(6, json!({"image": {"source": {"bytes": "AAAA"}}})),
        ("somethingNew", json!({"x": 1})),
        ("messageStop", json!({"stopReason": "tool_use", "p": "abc"})),
        (
            "metadata",
            json!({"usage": {"inputTokens": 7, "outputTokens": 5, "totalTokens": 12},
            "metrics": {"latencyMs": 551}, "trace": {"guardrail": {}}, "p": "abc"}),
        ),
    ];
    let (response, deltas) = stream(&events);
    let mut response = response.unwrap();
    let Block::Provider(ran) = response.message.content.remove(4) else { panic!("no tool of the provider") };
    let ran = ran.raw.value();
    assert_eq!(ran, json!({"toolUse": {"toolUseId": "s", "name": "web", "type": "server_tool_use", "input": {}}}));
    let mut same = answer(
        &json!([
            {"reasoningContent": {"reasoningText": {"text": "Hm, two.", "signature": "c2ln"}}},
            {"text": "I add them."},
            {"toolUse": {"toolUseId": "t1", "name": "add", "input": {"a": 1}}},
            {"toolUse": {"toolUseId": "t2", "name": "now", "input": {}}},
            {"image": {"format": "png", "source": {"bytes": "AAAA"}}},
        ]),
        "tool_use",
    );
    same["trace"] = json!({"guardrail": {}});
    assert_eq!(response, decode(&same));
    assert!(deltas.contains(&Delta::ToolUse { block: 2, id: "t1".into(), name: "add".into() }));
    assert!(deltas.contains(&Delta::Reasoning { block: 0, text: "Hm, ".into() }));
    assert!(
        deltas.iter().any(
            |delta| matches!(delta, Delta::Provider { block: 4, kind, name } if kind == "toolUse" && name == "web")
        )
    );

    // The usage never came: the answer stands. The end never came: it does not.
    events.pop();
    assert_eq!(stream(&events).0.unwrap().stop, StopReason::ToolUse);
    events.pop();
    assert_eq!(stream(&events).0.unwrap_err().kind, FailureKind::Cut);
}

#[test]
fn ends_are_told_in_one_vocabulary_and_kept() {
    for (word, stop) in [
        ("end_turn", StopReason::EndTurn),
        ("max_tokens", StopReason::MaxTokens),
        ("stop_sequence", StopReason::StopSequence),
        ("guardrail_intervened", StopReason::ContentFilter),
        ("content_filtered", StopReason::ContentFilter),
        ("model_context_window_exceeded", StopReason::ContextWindow),
        ("refusal", StopReason::Refusal),
        ("new_word", StopReason::Other("new_word".into())),
    ] {
        assert_eq!(round_trip(&answer(&json!([{"text": "x"}]), word)).stop, stop, "{word}");
    }
    for word in ["malformed_tool_use", "malformed_model_output"] {
        let body = answer(&json!([{"text": "x"}]), word).to_string();
        let failure = wire::decode_response(WIRE, &body).unwrap_err();
        assert_eq!((failure.kind, failure.is_transient()), (FailureKind::InvalidBody, true), "{word}");
        let (outcome, _) =
            stream(&[("messageStart", json!({"role": "assistant"})), ("messageStop", json!({"stopReason": word}))]);
        assert_eq!(outcome.unwrap_err().kind, FailureKind::InvalidBody);
    }
}

#[test]
fn exceptions_are_told_by_their_kind_wherever_they_stand() {
    for (name, status, kind) in [
        ("throttlingException", 429, FailureKind::RateLimited),
        ("serviceUnavailableException", 503, FailureKind::Overloaded),
        ("internalServerException", 500, FailureKind::Server),
        ("modelStreamErrorException", 424, FailureKind::Server),
        ("validationException", 400, FailureKind::BadRequest),
        ("unknownThing", 200, FailureKind::Server),
    ] {
        let begin = ("messageStart", json!({"role": "assistant"}));
        let text = ("contentBlockDelta", json!({"delta": {"text": "so far"}, "contentBlockIndex": 0}));
        let (outcome, deltas) = stream(&[begin, text, ("exception", json!({"__type": name, "message": "no luck"}))]);
        let failure = outcome.unwrap_err();
        assert_eq!((failure.kind, failure.code.as_deref()), (kind, Some(name)), "{}", failure.message);
        assert_eq!(failure.status, (status != 200).then_some(status));
        assert!(failure.message.contains("no luck"), "{}", failure.message);
        assert_eq!(deltas.len(), 1);
    }
    let long = json!({"message": "Input is too long for requested model."}).to_string();
    for (status, body, kind) in [
        (400, long.as_str(), FailureKind::ContextTooLong),
        (
            403,
            r#"{"__type":"com.amazon.coral.service#UnrecognizedClientException","message":"The token is invalid."}"#,
            FailureKind::Auth,
        ),
        (403, r#"{"message":"no access"}"#, FailureKind::Permission),
        (424, r#"{"__type":"ModelErrorException","message":"x"}"#, FailureKind::Server),
        (429, r#"{"__type":"ThrottlingException","Message":"Too many tokens"}"#, FailureKind::RateLimited),
        (
            400,
            r#"{"__type":"ValidationException","message":"The provided model identifier is invalid."}"#,
            FailureKind::BadRequest,
        ),
    ] {
        let failure = wire::decode_failure(status, None, body);
        assert_eq!((failure.kind, failure.status), (kind, Some(status)), "{body}");
    }
    let failure = wire::decode_failure(403, None, r#"{"__type":"a.b#AccessDeniedException","message":"m"}"#);
    assert_eq!(failure.code.as_deref(), Some("AccessDeniedException"));
    assert_eq!(wire::exception_name("ThrottlingException:http://internal.amazon.com/x/"), "ThrottlingException");
    let carried = wire::decode_response(WIRE, r#"{"__type":"ThrottlingException","message":"m"}"#).unwrap_err();
    assert_eq!(carried.kind, FailureKind::RateLimited);
    for wrong in ["[]", "{}", r#"{"output": 1}"#, r#"{"output": {}}"#, ""] {
        assert_eq!(wire::decode_response(WIRE, wrong).unwrap_err().kind, FailureKind::InvalidBody, "{wrong}");
    }
}

/// A server may announce text and reasoning, which the service does not, with nothing or with a first piece.
#[test]
fn a_block_that_is_announced_is_the_same_block() {
    let at = |name: &'static str, index: u64, key: &str, value: Value| {
        (name, json!({"contentBlockIndex": index, key: value}))
    };
    let written = |text: Value, thought: Value| {
        let (response, _) = stream(&[
            ("messageStart", json!({"role": "assistant"})),
            at("contentBlockStart", 0, "start", thought),
            at("contentBlockDelta", 0, "delta", json!({"reasoningContent": {"text": "Hm."}})),
            at("contentBlockStart", 1, "start", text),
            at("contentBlockDelta", 1, "delta", json!({"text": "Hello"})),
            ("messageStop", json!({"stopReason": "end_turn"})),
        ]);
        response.unwrap().message
    };
    let plain = written(json!({}), json!({}));
    assert_eq!(plain.prose(), "Hello");
    assert!(matches!(&plain.content[..], [Block::Thinking(thought), Block::Text(_)] if thought.text == "Hm."));
    assert_eq!(written(json!({"text": ""}), json!({})), plain);
    assert_eq!(written(json!({"text": "Oh. "}), json!({})).prose(), "Oh. Hello");
}
