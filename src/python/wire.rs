//! The codecs, for whoever wants them alone. All values cross as JSON text in the canonical form.

use pyo3::prelude::*;

use super::errors;
use crate::core::{
    machine::turn,
    message::{Message, ToolResult, Wire},
    request::{Request, Response},
    wire::{self, stream::Stream},
};

/// The wire of that name.
pub(super) fn named(name: &str) -> PyResult<Wire> {
    Wire::named(name).ok_or_else(|| {
        let message = format!("there is no wire {name:?}; use anthropic, openai_chat or openai_responses");
        errors::usage("unknown_wire", message)
    })
}

fn read<'a, T: serde::Deserialize<'a>>(text: &'a str, what: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| errors::usage("invalid_value", format!("invalid {what}: {error}")))
}

fn text<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// The body that a wire wants for a request.
#[pyfunction]
pub(super) fn encode_request(wire: &str, request: &str) -> PyResult<String> {
    let request: Request = read(request, "request")?;
    wire::encode_request(named(wire)?, &request).map_err(|error| errors::exception(&error))
}

/// A request body of a wire in the canonical form.
#[pyfunction]
pub(super) fn decode_request(wire: &str, body: &str) -> PyResult<String> {
    let request = wire::decode_request(named(wire)?, body).map_err(|error| errors::exception(&error))?;
    Ok(text(&request))
}

/// The answer as a wire would write it.
#[pyfunction]
pub(super) fn encode_response(wire: &str, response: &str) -> PyResult<String> {
    let response: Response = read(response, "response")?;
    Ok(wire::encode_response(named(wire)?, &response))
}

/// An answer of a wire in the canonical form.
#[pyfunction]
pub(super) fn decode_response(wire: &str, body: &str) -> PyResult<String> {
    let response =
        wire::decode_response(named(wire)?, body).map_err(|failure| errors::exception(&failure.to_error()))?;
    Ok(text(&response))
}

/// One message as the element (or elements, separated by commas) of a wire's history.
#[pyfunction]
pub(super) fn encode_message(wire: &str, message: &str) -> PyResult<String> {
    let message: Message = read(message, "message")?;
    Ok(wire::encode_message(named(wire)?, &message))
}

/// A streamed answer from its bytes, in whatever pieces: the answer and the deltas, in the canonical form.
#[pyfunction]
pub(super) fn decode_stream(wire: &str, chunks: Vec<Vec<u8>>) -> PyResult<(String, String)> {
    let mut stream = Stream::new(named(wire)?);
    let mut deltas = Vec::new();
    let mut feed = || {
        for chunk in &chunks {
            stream.feed(chunk, &mut deltas)?;
        }
        stream.finish(&mut deltas)
    };
    let response = feed().map_err(|failure| errors::exception(&failure.to_error()))?;
    Ok((text(&response), text(&deltas)))
}

/// Text of at most `most` characters: head, tail, and a line that says what was left out.
#[pyfunction]
pub(super) fn limit_output(text: &str, most: usize) -> String {
    turn::limit_output(text, most)
}

/// A tool result as fenced text, for models without native tool calls.
#[pyfunction]
pub(super) fn render_result(result: &str) -> PyResult<String> {
    let result: ToolResult = read(result, "tool result")?;
    Ok(turn::render_result(&result))
}
