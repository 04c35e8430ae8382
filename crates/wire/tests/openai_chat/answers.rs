//! Whole answers, as protocol and servers write them.

use loopwright_base::{
    error::FailureKind,
    message::{Block, Message, StopReason, Thinking, Usage},
    request::Response,
};
use loopwright_wire as wire;
use serde_json::{Value, json};

use crate::{WIRE, calls, delta, stream};

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
    let kept: Value = serde_json::from_str(&wire::encode_message_as_it_came(WIRE, &response.message)).unwrap();
    assert_eq!(kept, json!({"role": "assistant", "content": null, "refusal": "I can't"}));
    // A request whose message has no content is refused.
    let sent: Value = serde_json::from_str(&wire::encode_message(WIRE, &response.message)).unwrap();
    assert_eq!(sent, json!({"role": "assistant", "content": "I can't"}));
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
        (json!({"choices": [{"finish_reason": "error", "message": {"content": "ha"}}]}), FailureKind::Server),
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

/// Every answer that differs from the usual one in a single place comes back with that difference.
#[test]
fn one_thing_off_at_a_time() {
    let call = json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    for message in [
        json!({"role": "assistant", "content": null, "refusal": null, "tool_calls": [call]}),
        json!({"role": "assistant", "content": "text", "refusal": null, "reasoning": "hm"}),
    ] {
        let finish = if message["content"].is_null() { "tool_calls" } else { "stop" };
        let usual = json!({"id": "i", "object": "o", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2}});
        let kept = |body: &Value| serde_json::to_string(&answer(body)).unwrap().contains("@choices");
        assert!(!kept(&usual));
        let mut tried = 0;
        for place in [
            "",
            "/choices/0",
            "/choices/0/message",
            "/choices/0/message/tool_calls/0",
            "/choices/0/message/tool_calls/0/function",
        ] {
            let Some(members) = usual.pointer(place).and_then(Value::as_object) else { continue };
            for key in members.keys().map(String::as_str).chain(["index", "unknown", "@unknown"]) {
                for value in
                    [None, Some(json!(null)), Some(json!("")), Some(json!(3)), Some(json!([])), Some(json!({"x": 1}))]
                {
                    let mut body = usual.clone();
                    let members = body.pointer_mut(place).unwrap().as_object_mut().unwrap();
                    match value {
                        Some(value) => members.insert(key.to_owned(), value),
                        None => members.remove(key),
                    };
                    match wire::decode_response(WIRE, &body.to_string()) {
                        Ok(_) => {
                            answer(&body);
                            tried += 1;
                        }
                        Err(failure) => assert_eq!(failure.kind, FailureKind::InvalidBody, "{place}/{key}"),
                    }
                }
            }
        }
        assert!(tried > 80, "{tried}");
    }
}
