//! Answers, whole and streamed, and what providers say when there is none.

use loopwright_base::{
    error::FailureKind,
    message::{Block, StopReason, Usage},
    request::{Delta, ProviderSearch, Response, SearchEnd},
};
use loopwright_wire::{self as wire, Decode, gemini::ChunkDecoder, searches, stream::Stream};
use serde_json::{Value, json};

use crate::{WIRE, answer, decode, refused, sse, stream};

fn round_trip(body: &Value) -> Response {
    let response = decode(body);
    let back: Value = serde_json::from_str(&wire::encode_response(WIRE, &response)).unwrap();
    assert_eq!(back, *body);
    response
}

/// The answer read from what the codec itself streams, in pieces and bytes of that many.
fn streamed(response: &Response, piece: usize, bytes: usize) -> Response {
    let text = sse(response, piece);
    let (mut stream, mut deltas) = (Stream::new(WIRE), Vec::new());
    for chunk in text.as_bytes().chunks(bytes) {
        stream.feed(chunk, &mut deltas).unwrap();
    }
    stream.finish(&mut deltas).unwrap()
}

fn rich() -> Value {
    let mut body = answer(
        &json!([
            {"text": "Let me", "thought": true}, {"text": "see", "thought": true, "thoughtSignature": "s0"},
            {"text": "Grüße 🦊, "}, {"text": "world"}, {"text": "", "thoughtSignature": "s1"},
            {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
            {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
            {"functionCall": {"name": "add", "args": {"a": 1}}, "thoughtSignature": "s2"},
            {"functionCall": {"name": "add", "args": {"a": 1}}},
            {"functionCall": {"id": "x7", "name": "now", "args": {}}},
            {"functionCall": {"name": "bare"}},
        ]),
        "STOP",
    );
    body["candidates"][0]["groundingMetadata"] = json!({"webSearchQueries": ["q"], "groundingChunks": [{}, {}]});
    body["candidates"][0]["safetyRatings"] = json!([{"category": "C"}]);
    body["usageMetadata"] = json!({"promptTokenCount": 10, "cachedContentTokenCount": 4, "candidatesTokenCount": 3,
        "thoughtsTokenCount": 2, "toolUsePromptTokenCount": 1, "totalTokenCount": 16,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 10}]});
    body
}

#[test]
fn a_whole_answer_is_read_and_written_without_loss() {
    let response = round_trip(&rich());
    assert_eq!((&*response.id, &*response.model, &response.stop), ("r1", "gemini-2.5-flash", &StopReason::ToolUse));
    let usage = Usage {
        input: 11,
        output: 5,
        cache_read: 4,
        cache_write: 0,
        cache_write_hour: 0,
        reasoning: 2,
        provider_tool_uses: 0,
    };
    assert_eq!(response.usage, usage);
    let calls: Vec<_> = response.message.tool_uses().collect();
    assert_eq!(calls.iter().map(|call| &call.id).collect::<std::collections::HashSet<_>>().len(), 4);
    assert_eq!(calls[2].id, "x7");
    assert_eq!(calls[0].extra.as_ref().unwrap().fields.get_str("thoughtSignature").as_deref(), Some("s2"));
    assert_eq!(decode(&rich()), response, "ids that were made up are the same ones every time");
    let end = Some(SearchEnd { results: Some(2), error: None });
    let search = ProviderSearch { id: "r1".into(), query: Some("q".into()), end };
    assert_eq!(searches::of_response(&response), [search]);
    let mut other = rich();
    other["responseId"] = json!("r2");
    assert_ne!(decode(&other).message.tool_uses().next().unwrap().id, calls[0].id);
}

#[test]
fn a_stream_gives_the_whole_answer_in_every_chunking() {
    let whole = decode(&rich());
    for piece in [1, 2, 5, 1000] {
        for bytes in [1, 3, 64, 100_000] {
            assert_eq!(streamed(&whole, piece, bytes), whole, "{piece} {bytes}");
        }
    }
    assert_eq!(wire::decode_response(WIRE, &format!("[{}]", rich())).unwrap(), whole, "without alt=sse");
}

#[test]
fn a_stream_of_the_api_is_shown_as_it_comes() {
    let chunk = |parts: Value| {
        json!({"candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}],
        "usageMetadata": {"promptTokenCount": 7}, "modelVersion": "gemini-2.5-flash", "responseId": "r1"})
    };
    let mut last = answer(&json!([{"text": ""}]), "STOP");
    last["candidates"][0]["groundingMetadata"] = json!({"webSearchQueries": ["q"]});
    let mut chunks = vec![
        chunk(json!([{"text": "Hm", "thought": true}])),
        chunk(json!([{"text": ".", "thought": true}])),
        chunk(json!([{"text": "He"}])),
        chunk(json!([{"text": "y"}])),
        chunk(json!([{"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "s"},
                {"functionCall": {"name": "g", "args": {}}}])),
        last,
    ];
    let (response, deltas, partial) = stream(&chunks);
    let response = response.unwrap();
    let ids: Vec<String> = response.message.tool_uses().map(|call| call.id.clone()).collect();
    let text = str::to_owned;
    let search =
        ProviderSearch { id: text("r1"), query: Some(text("q")), end: Some(SearchEnd { results: None, error: None }) };
    assert_eq!(
        deltas,
        [
            Delta::Reasoning { block: 0, text: text("Hm") },
            Delta::Reasoning { block: 0, text: text(".") },
            Delta::Text { block: 1, text: text("He") },
            Delta::Text { block: 1, text: text("y") },
            Delta::ToolUse { block: 2, id: ids[0].clone(), name: text("f") },
            Delta::Arguments { block: 2, text: text("{\"a\":1}") },
            Delta::ToolUse { block: 3, id: ids[1].clone(), name: text("g") },
            Delta::Search(search),
        ]
    );
    assert_eq!((response.message.prose(), response.stop, response.usage.output), (text("Hey"), StopReason::ToolUse, 5));
    assert_eq!(partial.unwrap().message.prose(), "Hey");
    // It broke off: the words are kept, and the answer is not taken for whole.
    chunks.pop();
    let (failure, _, partial) = stream(&chunks);
    assert_eq!(failure.unwrap_err().kind, FailureKind::Cut);
    assert_eq!(partial.unwrap().message.content, [Block::text("Hey")]);
}

#[test]
fn w19_an_answer_is_whole_once_its_finish_reason_was_said() {
    let (mut stream, mut deltas) = (Stream::new(WIRE), Vec::new());
    let chunk = answer(&json!([{"text": "Hi"}]), "STOP");
    stream.feed(format!("data: {chunk}\n\n").as_bytes(), &mut deltas).unwrap();
    assert!(stream.is_ended() && !stream.is_done(), "usage and sources may still come");
    // What breaks behind the end takes nothing back.
    stream.feed(b"data: {\"candida\n\n", &mut deltas).unwrap();
    assert_eq!(stream.finish(&mut deltas).unwrap(), decode(&chunk));
    assert_eq!(stream.reported(), None);
}

#[test]
fn usage_is_told_while_the_answer_streams() {
    let mut decoder = ChunkDecoder::default();
    assert_eq!(decoder.reported(), None);
    decoder.event("", r#"{"usageMetadata":{"promptTokenCount":7}}"#, &mut Vec::new()).unwrap();
    assert_eq!(decoder.reported().map(|usage| usage.input), Some(7));
    assert_eq!(decoder.reported(), None);
}

#[test]
fn w19_the_words_for_the_end_are_mapped() {
    let parts = json!([{"text": "x"}]);
    for (word, stop) in [
        ("STOP", StopReason::EndTurn),
        ("MAX_TOKENS", StopReason::MaxTokens),
        ("SAFETY", StopReason::ContentFilter),
        ("RECITATION", StopReason::ContentFilter),
        ("BLOCKLIST", StopReason::ContentFilter),
        ("PROHIBITED_CONTENT", StopReason::ContentFilter),
        ("SPII", StopReason::ContentFilter),
        ("IMAGE_SAFETY", StopReason::ContentFilter),
        ("LANGUAGE", StopReason::Other("LANGUAGE".into())),
        ("OTHER", StopReason::Other("OTHER".into())),
        ("SOMETHING_NEW", StopReason::Other("SOMETHING_NEW".into())),
    ] {
        let response = round_trip(&answer(&parts, word));
        assert_eq!(response.stop, stop, "{word}");
        assert_eq!(streamed(&response, 1, 7), response, "{word}");
    }
    let filtered = json!({"candidates": [{"finishReason": "SAFETY", "index": 0, "safetyRatings": []}]});
    assert_eq!(round_trip(&filtered).stop, StopReason::ContentFilter);
}

#[test]
fn w19_a_malformed_call_is_a_failed_sampling_that_can_be_tried_again() {
    for word in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"] {
        let body = json!({"candidates": [{"content": {"role": "model"}, "finishReason": word,
            "finishMessage": "Malformed function call: print(add(1))"}], "responseId": "r"});
        let streamed = stream(&[answer(&json!([{"text": "I"}]), ""), body.clone()]).0.unwrap_err();
        for failure in [refused(&body), streamed] {
            assert!(failure.is_transient() && failure.hint.is_some(), "{failure:?}");
            assert!(failure.message.contains(word) && failure.message.contains("print(add(1))"), "{failure:?}");
        }
    }
}

#[test]
fn w19_a_blocked_prompt_is_a_filtered_answer() {
    for candidates in [None, Some(json!([]))] {
        let mut body = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
            "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 0, "totalTokenCount": 7},
            "responseId": "r"});
        if let Some(candidates) = candidates {
            body["candidates"] = candidates;
        }
        let response = round_trip(&body);
        assert_eq!((&response.stop, response.message.content.len()), (&StopReason::ContentFilter, 0));
        assert_eq!(stream(&[body]).0.unwrap(), response);
        assert_eq!(streamed(&response, 1, 5), response);
    }
    assert_eq!(refused(&json!({"usageMetadata": {}})).kind, FailureKind::InvalidBody);
}

#[test]
fn answers_of_unusual_shape_survive() {
    for body in [
        json!({"candidates": [{"content": {"parts": [{"text": "x"}]}}]}),
        json!({"candidates": [{"content": {}, "finishReason": "STOP", "index": 3}], "new": [1]}),
        json!({"candidates": [{"content": null, "finishReason": "STOP"}]}),
        json!({"candidates": [{"content": {"parts": [], "role": "user", "new": 1}, "finishReason": null}]}),
        json!({"candidates": [{"content": {"role": "model"}, "finishReason": 3}],
            "responseId": 4, "modelVersion": null}),
        json!({"candidates": [{"content": {"parts": [{"text": "a"}], "role": "model"}, "finishReason": "STOP"},
            {"content": {"parts": [{"text": "b"}]}, "index": 1}], "usageMetadata": {}, "createTime": "t"}),
    ] {
        let response = round_trip(&body);
        if body["candidates"][0]["finishReason"].is_string() {
            assert_eq!(streamed(&response, 1, 9), response, "{body}");
        }
    }
}

#[test]
fn w16_errors_are_read_in_every_form() {
    let error = |code: u16, status: &str, details: Value| {
        let error = json!({"code": code, "message": "words", "status": status, "details": details});
        json!({ "error": error })
    };
    let retry = |delay: &str| {
        json!([{"@type": "type.googleapis.com/google.rpc.Help"},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}])
    };
    for (code, status, kind) in [
        (400, "INVALID_ARGUMENT", FailureKind::BadRequest),
        (401, "UNAUTHENTICATED", FailureKind::Auth),
        (403, "PERMISSION_DENIED", FailureKind::Permission),
        (404, "NOT_FOUND", FailureKind::NotFound),
        (429, "RESOURCE_EXHAUSTED", FailureKind::RateLimited),
        (500, "INTERNAL", FailureKind::Server),
        (503, "UNAVAILABLE", FailureKind::Overloaded),
        (504, "DEADLINE_EXCEEDED", FailureKind::Server),
    ] {
        let body = error(code, status, retry("12.5s"));
        let listed = json!([body]);
        for text in [body.to_string(), listed.to_string(), format!("\n{listed}\n")] {
            let failure = wire::decode_failure(code, None, &text);
            assert_eq!((failure.kind, failure.retry_after), (kind, Some(12.5)), "{text}");
            assert_eq!(failure.message, format!("the provider answered {code}: words"));
            // Behind a 200, the body says what it is.
            assert_eq!(wire::decode_failure(200, None, &text).kind, kind);
        }
        let failure = stream(&[body]).0.unwrap_err();
        assert_eq!((failure.kind, failure.retry_after), (kind, Some(12.5)));
        let worded = json!({"error": {"message": "words", "status": status}});
        assert_eq!(refused(&worded).kind, kind, "{status}");
    }
    for (delay, seconds) in [("0.5s", Some(0.5)), ("12s", Some(12.0)), ("-1s", None), ("infs", None), ("1m", None)] {
        let text = error(429, "RESOURCE_EXHAUSTED", retry(delay)).to_string();
        assert_eq!(wire::decode_failure(429, None, &text).retry_after, seconds, "{delay}");
        assert_eq!(wire::decode_failure(429, Some(3.0), &text).retry_after, Some(3.0), "the header comes first");
    }
    let key = error(400, "INVALID_ARGUMENT", json!([{"reason": "API_KEY_INVALID", "domain": "googleapis.com"}]));
    assert_eq!(wire::decode_failure(400, None, &key.to_string()).kind, FailureKind::Auth);
    let long = json!({"error": {"code": 400, "status": "INVALID_ARGUMENT",
        "message": "The input token count (9) exceeds the maximum number of tokens allowed (8)."}});
    assert_eq!(wire::decode_failure(400, None, &long.to_string()).kind, FailureKind::ContextTooLong);
}

#[test]
fn what_is_no_answer_is_a_failure() {
    for text in ["", "x", "[1]", "[]", r#"{"candidates":3}"#, r#"{"candidates":[1]}"#, "{}", "[[]]"] {
        wire::decode_response(WIRE, text).unwrap_err();
        let mut decoder = ChunkDecoder::default();
        let ended = decoder.event("", text, &mut Vec::new());
        assert!(ended.is_err() || decoder.finish().is_err(), "{text}");
    }
}
