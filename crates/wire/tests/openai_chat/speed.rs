//! Time: small for what is common, in proportion for what is long. The limits leave room for slow machines and for
//! builds without optimisation; the measured numbers are printed.

use loopwright_base::{message::Message, request::Request};
use loopwright_wire::{self as wire, stream::Stream};
use serde_json::json;

use crate::{WIRE, delta, sse};

#[test]
fn long_streams_take_time_in_proportion() {
    // A name beside every piece, arguments that look whole after each: the worst for telling calls apart.
    let run = |pieces: usize| {
        let piece = delta(&json!({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "\\\"}"}}]}));
        let bytes = sse(&[piece]);
        let (mut stream, mut deltas) = (Stream::new(WIRE), Vec::new());
        let start = std::time::Instant::now();
        for _ in 0..pieces {
            stream.feed(bytes.as_bytes(), &mut deltas).unwrap();
        }
        start.elapsed().as_secs_f64()
    };
    run(2_000);
    let (short, long) = (run(10_000), run(80_000));
    println!("10k pieces {short:.3} s, 80k pieces {long:.3} s");
    assert!(long < short * 8.0 * 3.0, "{short} {long}");
}

#[test]
fn a_chunk_is_decoded_and_a_long_history_joined_in_microseconds() {
    let chunk = r#"{"id":"chatcmpl-Dx0Xq5Xx9rHB2ehcHZCRDsnuymUXc","object":"chat.completion.chunk","created":1782955818,"model":"gpt-4o-mini-2024-07-18","service_tier":"default","system_fingerprint":"fp_d0469e1700","choices":[{"index":0,"delta":{"content":" capital"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"oHb"}"#;
    let bytes = format!("data: {chunk}\n\n");
    let rounds = 20_000;
    let (mut stream, mut deltas) = (Stream::new(WIRE), Vec::new());
    let start = std::time::Instant::now();
    for _ in 0..rounds {
        stream.feed(bytes.as_bytes(), &mut deltas).unwrap();
        deltas.clear();
    }
    let chunk = start.elapsed().as_secs_f64() / f64::from(rounds) * 1e6;
    let mut request = Request { model: "m".into(), ..Request::default() };
    for turn in 0..500 {
        request.messages.push(Message::user(format!("question {turn} ").repeat(20)));
        request.messages.push(Message::assistant(format!("answer {turn} ").repeat(40)));
    }
    let body = wire::encode_request(WIRE, &request).unwrap();
    let start = std::time::Instant::now();
    for _ in 0..100 {
        assert_eq!(std::hint::black_box(wire::encode_request(WIRE, &request).unwrap()).len(), body.len());
    }
    let joined = start.elapsed().as_secs_f64() / 100.0 * 1e6;
    println!(
        "a chunk in {chunk:.2} us; {} messages, {} bytes again in {joined:.1} us",
        request.messages.len(),
        body.len()
    );
    assert!(chunk < if cfg!(debug_assertions) { 500.0 } else { 50.0 }, "{chunk} us");
    assert!(joined < if cfg!(debug_assertions) { 50_000.0 } else { 5_000.0 }, "{joined} us");
}

#[test]
fn the_typical_answer_is_decoded_in_microseconds() {
    let body = r#"{"id":"chatcmpl-C7GRePTkJTuqqIeMkeTufGjUlOeDt","object":"chat.completion","created":1755847546,"model":"gpt-4o-2024-08-06","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_qkJ5pxpAXuEdMLTHIwrUk9Q4","type":"function","function":{"name":"get_upper_case","arguments":"{\"text\":\"Dummy PDF file\"}"}}],"refusal":null},"logprobs":null,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":281,"completion_tokens":17,"total_tokens":298}}"#;
    let rounds = 20_000;
    let best = (0..5)
        .map(|_| {
            let start = std::time::Instant::now();
            for _ in 0..rounds {
                std::hint::black_box(wire::decode_response(WIRE, std::hint::black_box(body)).unwrap());
            }
            start.elapsed().as_secs_f64() / f64::from(rounds) * 1e6
        })
        .fold(f64::MAX, f64::min);
    println!("{} bytes in {best:.2} us", body.len());
    // Room for slow machines and for builds without optimisation.
    assert!(best < if cfg!(debug_assertions) { 500.0 } else { 50.0 }, "{best} us");
}
