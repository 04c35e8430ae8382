//! What nobody should send: nothing of it is changed on its way, and nothing makes a decoder panic.

use loopwright_base::request::{Delta, Request};
use loopwright_wire as wire;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{WIRE, answer, decode, encode, stream, streams::rich};

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
            // Servers may trim, and may not show everything; but nothing is shown that is not in the answer.
            let letters = |text: &str| text.chars().filter(|char| !char.is_whitespace()).count();
            let shown = deltas.iter().map(|delta| if let Delta::Text { text, .. } = delta { letters(text) } else { 0 });
            prop_assert!(shown.sum::<usize>() <= letters(&response.message.prose()));
        }
        if let Some(partial) = partial {
            prop_assert!(!partial.message.content.is_empty());
            wire::encode_message(WIRE, &partial.message);
        }
    }
}
