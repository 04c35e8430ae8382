//! The codec of the Gemini API: requests, answers, streams and failures, and what moves between it and other wires.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod answers;
mod crossing;
mod properties;
mod requests;

use loopwright_base::{
    error::Failure,
    json::Fields,
    message::{Extra, Wire},
    request::{Delta, Request, Response},
};
use loopwright_wire::{self as wire, Decode, gemini::ChunkDecoder};
use serde_json::{Value, json};

pub(crate) const WIRE: Wire = Wire::Gemini;

pub(crate) fn extra(fields: &Value) -> Option<Box<Extra>> {
    Extra::of(WIRE, Fields::parse(&fields.to_string()).unwrap())
}

pub(crate) fn encode(request: &Request) -> Value {
    serde_json::from_str(&wire::encode_request(WIRE, request).unwrap()).unwrap()
}

pub(crate) fn decode(body: &Value) -> Response {
    wire::decode_response(WIRE, &body.to_string()).unwrap()
}

pub(crate) fn refused(body: &Value) -> Failure {
    wire::decode_response(WIRE, &body.to_string()).unwrap_err()
}

/// An answer of these parts, as the API writes it.
pub(crate) fn answer(parts: &Value, finish: &str) -> Value {
    json!({
        "candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": finish, "index": 0}],
        "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 5, "totalTokenCount": 12},
        "modelVersion": "gemini-2.5-flash",
        "responseId": "r1"
    })
}

/// An answer as the codec itself streams it, in pieces of that many bytes.
pub(crate) fn sse(response: &Response, piece: usize) -> String {
    wire::encode_stream(WIRE, response, piece).iter().fold(String::new(), |mut text, (_, data)| {
        for part in ["data: ", data, "\r\n\r\n"] {
            text.push_str(part);
        }
        text
    })
}

/// The outcome, the deltas, and what could be kept if it ended here.
pub(crate) fn stream(chunks: &[Value]) -> (Result<Response, Failure>, Vec<Delta>, Option<Response>) {
    let mut decoder = ChunkDecoder::default();
    let mut deltas = Vec::new();
    for chunk in chunks {
        if let Err(failure) = decoder.event("", &chunk.to_string(), &mut deltas) {
            return (Err(failure), deltas, decoder.partial());
        }
    }
    let partial = decoder.partial();
    (decoder.finish(), deltas, partial)
}
