//! Histories that move between the wires: signatures and unknown blocks go to the wire they came from
//! alone, and are there again when the history comes back to it.

use loopwright_base::{
    json::{Fields, Raw},
    message::{
        Block, Extra, Media, MediaSource, Message, ProviderBlock, Role, Text, Thinking, ToolFailure, ToolResult,
        ToolUse, Wire,
    },
    request::Request,
};
use loopwright_wire as wire;
use proptest::prelude::*;
use serde_json::Value;

const WIRES: [Wire; 5] = [Wire::Anthropic, Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Gemini, Wire::Bedrock];

/// What only `wire` may be sent: its secret words are its name.
fn secret(wire: Wire) -> String {
    format!("secret-of-{}", wire.name())
}

fn extra(wire: Wire) -> Option<Box<Extra>> {
    let fields = Fields::parse(&format!(r#"{{"thoughtSignature":"{}"}}"#, secret(wire))).unwrap();
    Extra::of(wire, fields)
}

/// A turn of a model behind `wire`: thoughts with a signature, an unknown block, words, parallel calls.
fn turn(wire: Wire, number: usize, calls: usize, fails: bool) -> [Message; 2] {
    let thinking = Thinking {
        text: "hm".into(),
        signature: Some(secret(wire)),
        redacted: None,
        extra: Some(Box::new(Extra { wire, fields: Fields::new() })),
    };
    let raw = Raw::parse(format!(r#"{{"type":"future","new":"{}"}}"#, secret(wire))).unwrap();
    let mut content = vec![
        Block::Thinking(thinking),
        Block::Text(Text { text: format!("words {number}"), extra: None }),
        Block::Provider(ProviderBlock { wire, raw }),
    ];
    let mut results = Vec::new();
    for place in 0..calls {
        let id = format!("call_{number}_{place}");
        let mut call = ToolUse::from_text(id.clone(), "look", format!("{{\"at\":{place}}}"));
        call.extra = extra(wire).filter(|_| place == 0 && wire == Wire::Gemini);
        content.push(Block::ToolUse(call));
        results.push(Block::ToolResult(if fails && place == 0 {
            let failure = ToolFailure { kind: "timeout".into(), message: "slow".into(), hint: None };
            ToolResult::failed(id, "look", failure)
        } else {
            let source = MediaSource::Base64 { media_type: "image/png".into(), data: "AAAA".into() };
            let picture = Block::Image(Media { source, name: None, extra: None });
            ToolResult {
                content: vec![Block::text(format!("result {place}")), picture],
                ..ToolResult::text(id, "look", "")
            }
        }));
    }
    if results.is_empty() {
        results.push(Block::text("and then?"));
    }
    [Message::new(Role::Assistant, content), Message::new(Role::User, results)]
}

fn encode(wire: Wire, request: &Request) -> String {
    wire::encode_request(wire, request).unwrap()
}

/// The calls and results of a body: each result answers a call that stands before it.
fn assert_paired(body: &str) {
    let body: Value = serde_json::from_str(body).unwrap();
    let contents = body["contents"].as_array().unwrap();
    assert_eq!(contents[0]["role"], "user");
    for pair in contents.windows(2) {
        assert_ne!(pair[0]["role"], pair[1]["role"], "{body:#}");
        let of = |content: &Value, kind: &str| -> Vec<(Value, Value)> {
            let parts = content["parts"].as_array().unwrap().iter().filter_map(|part| part.get(kind));
            parts.map(|inner| (inner["id"].clone(), inner["name"].clone())).collect()
        };
        assert_eq!(of(&pair[0], "functionCall"), of(&pair[1], "functionResponse"), "{body:#}");
        let results = of(&pair[1], "functionResponse").len();
        let first = pair[1]["parts"].as_array().unwrap().iter().take(results);
        assert!(first.into_iter().all(|part| part.get("functionResponse").is_some()), "{body:#}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn w3_histories_cross_wires_with_signatures_and_unknown_blocks_intact(
        turns in prop::collection::vec((0..5usize, 0..4usize, any::<bool>()), 1..6),
    ) {
        let mut request = Request { model: "m".into(), ..Request::default() };
        request.messages.push(Message::user("go"));
        for (number, (at, calls, fails)) in turns.iter().enumerate() {
            for message in turn(WIRES[*at], number, *calls, *fails) {
                request.messages.push(message);
            }
        }
        let saved = serde_json::to_string(&request).unwrap();
        let first: Vec<String> = WIRES.iter().map(|wire| encode(*wire, &request)).collect();
        for (wire, body) in WIRES.iter().zip(&first) {
            for other in WIRES {
                let sent = turns.iter().filter(|(at, ..)| WIRES[*at] == other).count();
                let found = body.matches(&secret(other)).count();
                if *wire != other {
                    prop_assert_eq!(found, 0, "{} is told what is {}'s: {}", wire.name(), other.name(), body);
                } else if other == Wire::Gemini {
                    let signed = turns.iter().filter(|(at, calls, _)| WIRES[*at] == other && *calls > 0).count();
                    prop_assert_eq!(found, 2 * sent + signed, "{}", body);
                } else {
                    prop_assert!(found >= sent, "{}: {}", wire.name(), body);
                }
            }
            if *wire == Wire::Gemini {
                assert_paired(body);
            }
        }
        // Through the canonical form, and over every other wire in between: nothing was lost on the way.
        let back: Request = serde_json::from_str(&saved).unwrap();
        for (wire, body) in WIRES.iter().rev().zip(first.iter().rev()) {
            prop_assert_eq!(&encode(*wire, &back), body);
        }
        prop_assert_eq!(serde_json::to_string(&back).unwrap(), saved);
    }
}
