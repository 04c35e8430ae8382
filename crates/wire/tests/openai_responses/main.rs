//! The codec of the Responses API where recordings are silent: our own requests, refusals and failures, thin and
//! contradictory streams, and input that nobody should send.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod messages;
mod scraps;
mod streams;

use loopwright_base::{
    error::Failure,
    json::Fields,
    message::{Extra, Message, Wire},
    request::{Delta, Request, Response},
};
use loopwright_wire::{self as wire, Decode, openai_responses::StreamDecoder};
use serde_json::{Value, json};

pub(crate) const WIRE: Wire = Wire::OpenaiResponses;

pub(crate) fn extra(fields: &Value) -> Option<Box<Extra>> {
    Extra::of(WIRE, Fields::parse(&fields.to_string()).unwrap())
}

pub(crate) fn encode(request: &Request) -> Value {
    serde_json::from_str(&wire::encode_request(WIRE, request).unwrap()).unwrap()
}

/// The items that a message becomes.
pub(crate) fn items(message: &Message) -> Value {
    serde_json::from_str(&format!("[{}]", wire::encode_message(WIRE, message))).unwrap()
}

pub(crate) fn decode(body: &Value) -> Response {
    wire::decode_response(WIRE, &body.to_string()).unwrap()
}

pub(crate) fn answer(output: &Value) -> Value {
    json!({"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": output})
}

pub(crate) type Streamed = (Result<Response, Failure>, Vec<Delta>, Option<Response>);

/// The outcome, the deltas, and what could be kept if it ended here.
pub(crate) fn stream(events: &[Value]) -> Streamed {
    let mut decoder = StreamDecoder::default();
    let mut deltas = Vec::new();
    for event in events {
        if let Err(failure) = decoder.event("", &event.to_string(), &mut deltas) {
            return (Err(failure), deltas, decoder.partial());
        }
    }
    let partial = decoder.partial();
    (decoder.finish(), deltas, partial)
}
