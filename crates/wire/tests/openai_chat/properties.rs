//! Whatever is read comes back as it was, or is a typed failure: for requests, answers and streams of any shape.

use loopwright_base::{
    message::{Block, ToolUse},
    request::{Delta, Request, Response},
};
use loopwright_wire::{self as wire, stream::Stream};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{WIRE, calls, finish, sse, stream};

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
                    Delta::Provider { .. } | Delta::Search(_) | Delta::Batch { .. } => {}
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
