//! Whatever is read comes back as it was, or is a typed failure: for requests, answers and streams of any shape.

use loopwright_base::{
    message::Block,
    request::{Delta, Response},
};
use loopwright_wire::{self as wire, stream::Stream};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{WIRE, packed, read};

/// Values in places where nobody expects them.
fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[a-c{}\":\\\\é ]{0,6}".prop_map(Value::from),
        Just(Value::Null),
        (-1i64..3).prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([{"text": "t"}])),
    ]
}

/// An object of some of these members, now and then of any shape.
fn object(members: &[(&'static str, Value)]) -> BoxedStrategy<Value> {
    let members: Vec<_> = members
        .iter()
        .map(|(key, value)| {
            let key = *key;
            let value = prop_oneof![30 => Just(value.clone()), 1 => scalar()];
            prop::option::weighted(0.8, value).prop_map(move |value| value.map(|value| (key.to_owned(), value)))
        })
        .collect();
    members.prop_map(|members| Value::Object(members.into_iter().flatten().collect::<Map<_, _>>())).boxed()
}

fn any_block() -> impl Strategy<Value = Value> {
    let more = |block: Value| {
        (0..6u8).prop_map(move |kind| {
            let mut block = block.clone();
            if let (Some(members), 0) = (block.as_object_mut(), kind) {
                members.insert("new".into(), json!({"x": [1.5]}));
            }
            block
        })
    };
    let inside = |key: &'static str, inner: BoxedStrategy<Value>| inner.prop_map(move |inner| json!({key: inner}));
    prop_oneof![
        6 => "[a-cé🦊 ]{0,9}".prop_map(|text| json!({"text": text})),
        2 => "[a-c ]{0,6}".prop_map(|text| {
            json!({"reasoningContent": {"reasoningText": {"text": text, "signature": "s"}}})
        }),
        1 => inside("reasoningContent", object(&[("reasoningText", json!({"text": "t"}))])),
        1 => inside("reasoningContent", object(&[("redactedContent", json!("cg=="))])),
        2 => inside("toolUse", object(&[("toolUseId", json!("c1")), ("name", json!("f")), ("input", json!({"a": 1}))])),
        1 => inside("toolUse", object(&[("toolUseId", json!("c1")), ("type", json!("server_tool_use"))])),
        2 => inside("toolResult", object(&[("toolUseId", json!("c1")), ("status", json!("success")),
            ("content", json!([{"text": "o"}, {"json": {"a": [1.50]}}, {"toolResult": {}}]))])),
        1 => inside("citationsContent", object(&[("content", json!([{"text": "c"}])), ("citations", json!([{}]))])),
        1 => inside("image", object(&[("format", json!("png")), ("source", json!({"bytes": "AA"}))])),
        1 => inside("image", object(&[("format", json!("png")), ("source", json!({"s3Location": {"uri": "s3:"}}))])),
        1 => inside("document", object(&[("name", json!("n")), ("source", json!({"text": "t"}))])),
        1 => Just(json!({"cachePoint": {"type": "default"}})),
        1 => scalar(),
    ]
    .prop_flat_map(more)
}

fn any_message(role: &'static str) -> impl Strategy<Value = Value> {
    (prop::collection::vec(any_block(), 0..6), object(&[("role", json!(role)), ("content", json!(0))])).prop_map(
        |(blocks, mut message)| {
            if message.get("content") == Some(&json!(0)) {
                message["content"] = Value::from(blocks);
            }
            message
        },
    )
}

fn any_answer() -> impl Strategy<Value = Value> {
    let stop = prop::sample::select(vec!["end_turn", "tool_use", "max_tokens", "guardrail_intervened", "new"]);
    (any_message("assistant"), stop, any::<u8>()).prop_flat_map(|(message, stop, more)| {
        object(&[
            ("output", json!({"message": message})),
            ("stopReason", json!(stop)),
            ("usage", json!({"inputTokens": more, "outputTokens": 2, "totalTokens": 3, "cacheReadInputTokens": 1})),
            ("metrics", json!({"latencyMs": 3})),
            ("trace", json!({"guardrail": {}})),
            ("additionalModelResponseFields", json!({"a": 1})),
        ])
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_answer_is_lossless_or_a_failure(body in any_answer(), piece in 1usize..6, chunk in 1usize..90) {
        let Ok(response) = wire::decode_response(WIRE, &body.to_string()) else { return Ok(()) };
        let back: Value = serde_json::from_str(&wire::encode_response(WIRE, &response)).unwrap();
        prop_assert_eq!(back, body.clone());
        let canonical = serde_json::to_string(&response).unwrap();
        prop_assert_eq!(serde_json::from_str::<Response>(&canonical).unwrap(), response.clone());
        // In a stream, a call without arguments is one that begins.
        let begins = |block: &Value| block["toolUse"].is_object() && block["toolUse"].get("input").is_none();
        let content = body["output"]["message"]["content"].as_array();
        let usual = body["stopReason"].is_string() && content.is_some_and(|content| !content.iter().any(begins));
        if usual && body["stopReason"] != "" {
            let (streamed, deltas) = read(&packed(&response, piece), chunk);
            prop_assert_eq!(&streamed.unwrap(), &response);
            let mut texts = vec![String::new(); response.message.content.len()];
            for delta in deltas {
                if let Delta::Text { block, text } | Delta::Reasoning { block, text } = delta {
                    texts[block].push_str(&text);
                }
            }
            for (block, text) in response.message.content.iter().zip(texts) {
                match block {
                    Block::Text(block) => prop_assert_eq!(&block.text, &text),
                    Block::Thinking(block) => prop_assert_eq!(&block.text, &text),
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn any_request_is_lossless_or_refused(
        messages in prop::collection::vec(prop_oneof![any_message("user"), any_message("assistant")], 0..5),
        body in object(&[
            ("system", json!([{"text": "s"}, {"cachePoint": {"type": "default"}}])),
            ("toolConfig", json!({"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}],
                "toolChoice": {"tool": {"name": "f"}}})),
            ("inferenceConfig", json!({"temperature": 1, "topP": 0.5, "stopSequences": ["x"], "maxTokens": 5})),
            ("outputConfig", json!({"effort": "low"})),
            ("guardrailConfig", json!({"guardrailIdentifier": "g"})),
        ]),
    ) {
        let mut body = body;
        body["messages"] = Value::from(messages);
        let Ok(request) = wire::decode_request(WIRE, &body.to_string()) else { return Ok(()) };
        let back: Value = serde_json::from_str(&wire::encode_request(WIRE, &request).unwrap()).unwrap();
        prop_assert_eq!(back, body);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), text in ".{0,200}") {
        let _ = wire::decode_request(WIRE, &text);
        let _ = wire::decode_response(WIRE, &text);
        for bytes in [bytes, wire::frames::encode_frame("contentBlockDelta", &text)] {
            let (mut stream, mut deltas) = (Stream::new(WIRE), Vec::new());
            let _ = stream.feed(&bytes, &mut deltas);
            let _ = stream.finish(&mut deltas);
        }
    }
}
