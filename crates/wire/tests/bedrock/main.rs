//! The codec of Bedrock's Converse: requests, answers, streams and their frames, failures.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod answers;
mod frames;
mod properties;
mod requests;

use loopwright_base::{
    error::Failure,
    message::Wire,
    request::{Delta, Request, Response},
};
use loopwright_wire::{self as wire, frames::encode_frame, stream::Stream};
use serde_json::{Value, json};

pub(crate) const WIRE: Wire = Wire::Bedrock;

pub(crate) fn encode(request: &Request) -> Value {
    serde_json::from_str(&wire::encode_request(WIRE, request).unwrap()).unwrap()
}

pub(crate) fn decode(body: &Value) -> Response {
    wire::decode_response(WIRE, &body.to_string()).unwrap()
}

/// An answer of these blocks, as the API writes it.
pub(crate) fn answer(content: &Value, stop: &str) -> Value {
    json!({
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": stop,
        "usage": {"inputTokens": 7, "outputTokens": 5, "totalTokens": 12},
        "metrics": {"latencyMs": 551}
    })
}

/// An answer as the codec itself streams it, what grows in pieces of that many bytes.
pub(crate) fn packed(response: &Response, piece: usize) -> Vec<u8> {
    wire::encode_stream(WIRE, response, piece).iter().flat_map(|(name, data)| encode_frame(name, data)).collect()
}

/// The outcome of these events, and the deltas.
pub(crate) fn stream(events: &[(&str, Value)]) -> (Result<Response, Failure>, Vec<Delta>) {
    let bytes: Vec<u8> = events.iter().flat_map(|(name, data)| encode_frame(name, &data.to_string())).collect();
    read(&bytes, usize::MAX)
}

/// The outcome of these bytes, cut into chunks, and the deltas.
pub(crate) fn read(bytes: &[u8], chunk: usize) -> (Result<Response, Failure>, Vec<Delta>) {
    let (mut stream, mut deltas) = (Stream::new(WIRE), Vec::new());
    for chunk in bytes.chunks(chunk.max(1)) {
        if let Err(failure) = stream.feed(chunk, &mut deltas) {
            return (Err(failure), deltas);
        }
    }
    let outcome = stream.finish(&mut deltas);
    (outcome, deltas)
}
