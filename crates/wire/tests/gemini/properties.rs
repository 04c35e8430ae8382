//! Whatever is read comes back as it was, or is a typed failure: for requests, answers and streams of any shape.

use loopwright_base::{
    message::Block,
    request::{Delta, Response},
};
use loopwright_wire::{self as wire, stream::Stream};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{WIRE, sse};

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

fn any_part() -> impl Strategy<Value = Value> {
    let sign = |part: Value| {
        (0..4u8).prop_map(move |kind| {
            let mut part = part.clone();
            if let Some(members) = part.as_object_mut() {
                match kind {
                    0 => drop(members.insert("thoughtSignature".into(), json!("sig"))),
                    1 => drop(members.insert("new".into(), json!({"x": [1.5]}))),
                    _ => {}
                }
            }
            part
        })
    };
    prop_oneof![
        6 => "[a-cé🦊 ]{0,9}".prop_map(|text| json!({"text": text})),
        3 => "[a-c ]{0,6}".prop_map(|text| json!({"text": text, "thought": true})),
        1 => Just(json!({"text": "x", "thought": false})),
        2 => object(&[("id", json!("c1")), ("name", json!("f")), ("args", json!({"a": 1}))])
            .prop_map(|inner| json!({"functionCall": inner})),
        2 => object(&[("id", json!("c1")), ("name", json!("f")), ("response", json!({"output": "o"}))])
            .prop_map(|inner| json!({"functionResponse": inner})),
        1 => object(&[("name", json!("f")), ("response", json!({"error": {"a": 1}}))])
            .prop_map(|inner| json!({"functionResponse": inner})),
        1 => object(&[("mimeType", json!("image/png")), ("data", json!("AA")), ("displayName", json!("n"))])
            .prop_map(|inner| json!({"inlineData": inner})),
        1 => object(&[("mimeType", json!("image/png")), ("fileUri", json!("files/a"))])
            .prop_map(|inner| json!({"fileData": inner})),
        1 => Just(json!({"executableCode": {"code": "1"}})),
        1 => scalar(),
    ]
    .prop_flat_map(sign)
}

fn any_content(role: &'static str) -> impl Strategy<Value = Value> {
    (prop::collection::vec(any_part(), 0..6), object(&[("role", json!(role)), ("parts", json!(0))])).prop_map(
        |(parts, mut content)| {
            if content.get("parts") == Some(&json!(0)) {
                content["parts"] = Value::from(parts);
            }
            content
        },
    )
}

fn any_answer() -> impl Strategy<Value = Value> {
    let finish = prop::sample::select(vec!["STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "NEW"]);
    (any_content("model"), finish, any::<u8>()).prop_flat_map(|(content, finish, more)| {
        let candidate = object(&[
            ("content", content),
            ("finishReason", json!(finish)),
            ("index", json!(0)),
            ("groundingMetadata", json!({"webSearchQueries": ["q"]})),
        ]);
        candidate.prop_flat_map(move |candidate| {
            let mut candidates = vec![candidate];
            if more % 8 == 0 {
                candidates.push(json!({"index": 1, "content": {"parts": [{"text": "b"}]}}));
            }
            object(&[
                ("candidates", Value::from(candidates)),
                ("usageMetadata", json!({"promptTokenCount": 3, "thoughtsTokenCount": more})),
                ("modelVersion", json!("m")),
                ("responseId", json!("r")),
                ("promptFeedback", json!({})),
            ])
        })
    })
}

fn run(response: &Response, piece: usize, bytes: usize) -> (Response, Vec<Delta>) {
    let text = sse(response, piece);
    let (mut stream, mut deltas) = (Stream::new(WIRE), Vec::new());
    for chunk in text.as_bytes().chunks(bytes) {
        stream.feed(chunk, &mut deltas).unwrap();
    }
    (stream.finish(&mut deltas).unwrap(), deltas)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_answer_is_lossless_or_a_failure(body in any_answer(), piece in 1usize..6, bytes in 1usize..90) {
        let Ok(response) = wire::decode_response(WIRE, &body.to_string()) else { return Ok(()) };
        let back: Value = serde_json::from_str(&wire::encode_response(WIRE, &response)).unwrap();
        prop_assert_eq!(back, body.clone());
        let canonical = serde_json::to_string(&response).unwrap();
        prop_assert_eq!(serde_json::from_str::<Response>(&canonical).unwrap(), response.clone());
        if body["candidates"][0]["finishReason"].as_str().is_some_and(|word| !word.is_empty()) {
            let (streamed, deltas) = run(&response, piece, bytes);
            prop_assert_eq!(&streamed, &response);
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
        contents in prop::collection::vec(prop_oneof![any_content("user"), any_content("model")], 0..5),
        body in object(&[
            ("systemInstruction", json!({"parts": [{"text": "s"}]})),
            ("tools", json!([{"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT"}}]}])),
            ("toolConfig", json!({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}})),
            ("generationConfig", json!({"temperature": 1, "topP": 0.5, "stopSequences": ["x"], "maxOutputTokens": 5,
                "thinkingConfig": {"thinkingLevel": "low", "includeThoughts": true},
                "responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}})),
            ("cachedContent", json!("c")),
        ]),
    ) {
        let mut body = body;
        body["contents"] = Value::from(contents);
        let Ok(request) = wire::decode_request(WIRE, &body.to_string()) else { return Ok(()) };
        let back: Value = serde_json::from_str(&wire::encode_request(WIRE, &request).unwrap()).unwrap();
        prop_assert_eq!(back, body);
    }

    #[test]
    fn no_bytes_make_it_panic(text in ".{0,200}") {
        let _ = wire::decode_request(WIRE, &text);
        let _ = wire::decode_response(WIRE, &text);
        let (mut stream, mut deltas) = (Stream::new(WIRE), Vec::new());
        let _ = stream.feed(format!("data: {text}\n\n").as_bytes(), &mut deltas);
        let _ = stream.finish(&mut deltas);
    }
}
