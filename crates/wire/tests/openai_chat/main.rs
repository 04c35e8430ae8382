//! The Chat Completions codec: what servers are known to write beside the protocol, what is sent, what is refused.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod answers;
mod properties;
mod requests;
mod speed;
mod streams;

use std::fmt::Write as _;

use loopwright_base::{
    error::Failure,
    message::Wire,
    request::{Delta, Response},
};
use loopwright_wire::stream::Stream;
use serde_json::{Value, json};

const WIRE: Wire = Wire::OpenaiChat;

fn sse(chunks: &[Value]) -> String {
    let mut text = String::new();
    for chunk in chunks {
        match chunk {
            Value::String(data) => write!(text, "data: {data}\n\n").unwrap(),
            chunk => write!(text, "data: {chunk}\n\n").unwrap(),
        }
    }
    text
}

fn stream(chunks: &[Value]) -> (Result<Response, Failure>, Vec<Delta>) {
    let (mut stream, mut deltas) = (Stream::new(WIRE), Vec::new());
    if let Err(failure) = stream.feed(sse(chunks).as_bytes(), &mut deltas) {
        return (Err(failure), deltas);
    }
    (stream.finish(&mut deltas), deltas)
}

fn delta(delta: &Value) -> Value {
    json!({"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": delta}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn calls(response: &Response) -> Vec<(&str, &str, &str)> {
    response.message.tool_uses().map(|call| (call.id.as_str(), call.name.as_str(), call.arguments_text())).collect()
}
