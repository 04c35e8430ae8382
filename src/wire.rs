//! The codecs, for whoever wants them alone. All values cross as JSON text in the canonical form.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use super::{
    bridge, errors,
    messages::{json_of, read},
};
use loopwright_base::{
    error::Failure,
    message::{Message, Wire},
    request::{Delta, Request, Response},
};
use loopwright_machine::turn;
use loopwright_wire::{self as wire, stream::Stream};

/// The wire of that name; `openai-chat`, as models are named, is as good as `openai_chat`.
pub(super) fn named(name: &str) -> PyResult<Wire> {
    Wire::named(&name.replace('-', "_")).ok_or_else(|| {
        let message = format!("there is no wire {name:?}");
        let hint = "use \"anthropic\", \"openai_chat\", \"openai_responses\", \"gemini\" or \"bedrock\"";
        errors::usage("unknown_wire", message, hint)
    })
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
    Ok(json_of(&request))
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
    Ok(json_of(&response))
}

/// One message as the element (or elements, separated by commas) of a wire's history.
#[pyfunction]
pub(super) fn encode_message(wire: &str, message: &str) -> PyResult<String> {
    let message: Message = read(message, "message")?;
    Ok(wire::encode_message_as_it_came(named(wire)?, &message))
}

/// A streamed answer from its bytes, in whatever pieces: the answer and the deltas, in the canonical form.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 hands lists over
pub(super) fn decode_stream(wire: &str, chunks: Vec<Vec<u8>>) -> PyResult<(String, String)> {
    let mut stream = Stream::new(named(wire)?);
    let mut deltas = Vec::new();
    let feed = || {
        for chunk in chunks {
            stream.feed(&chunk, &mut deltas)?;
        }
        stream.finish(&mut deltas)
    };
    let response = feed().map_err(|failure| errors::exception(&failure.to_error()))?;
    deltas.retain(|delta| !matches!(delta, Delta::Search(_) | Delta::Batch { .. }));
    Ok((json_of(&response), json_of(&deltas)))
}

/// A request, checked and in the canonical form.
#[pyfunction]
pub(super) fn canonical_request(request: &str) -> PyResult<String> {
    read::<Request>(request, "request").map(|request| json_of(&request))
}

/// A response, checked and in the canonical form.
#[pyfunction]
pub(super) fn canonical_response(response: &str) -> PyResult<String> {
    read::<Response>(response, "response").map(|response| json_of(&response))
}

/// The answer as the events (name, data) that a wire would stream, text cut into pieces of about `piece` bytes.
#[pyfunction]
pub(super) fn encode_stream(wire: &str, response: &str, piece: usize) -> PyResult<Vec<(String, String)>> {
    let response: Response = read(response, "response")?;
    Ok(wire::encode_stream(named(wire)?, &response, piece))
}

/// What an HTTP answer that is no success means: the exception, and the failure as JSON text.
#[pyfunction]
#[pyo3(signature = (status, body, retry_after=None))]
pub(super) fn decode_failure(py: Python<'_>, status: u16, body: &str, retry_after: Option<f64>) -> (Py<PyAny>, String) {
    let failure = wire::decode_failure(status, retry_after, body);
    let json = json_of(&failure);
    (failed(&failure).into_value(py).into_any(), json)
}

fn failed(failure: &Failure) -> PyErr {
    errors::exception(&failure.to_error())
}

/// A streamed answer, decoded as its bytes come.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct StreamDecoder(Mutex<Stream>);

impl StreamDecoder {
    fn stream(&self) -> std::sync::MutexGuard<'_, Stream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl StreamDecoder {
    #[new]
    fn new(wire: &str) -> PyResult<Self> {
        named(wire).map(|wire| Self(Mutex::new(Stream::new(wire))))
    }

    /// Takes bytes, cut anywhere; gives what is new.
    fn feed<'py>(&self, py: Python<'py>, chunk: &[u8]) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut deltas = Vec::new();
        // Nothing of Python is touched under the lock: whoever waits for it would keep the interpreter from a halt.
        let fed = self.stream().feed(chunk, &mut deltas);
        fed.map_err(|failure| failed(&failure))?;
        bridge::delta_objects(py, deltas)
    }

    /// Whether the wire's last event has been seen.
    #[getter]
    fn done(&self) -> bool {
        self.stream().is_done()
    }

    /// The bytes have ended: the answer in the canonical form, and what became new at the very end.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<(String, Vec<Bound<'py, PyAny>>)> {
        let mut deltas = Vec::new();
        let finished = self.stream().finish(&mut deltas);
        let response = finished.map_err(|failure| failed(&failure))?;
        Ok((json_of(&response), bridge::delta_objects(py, deltas)?))
    }

    /// What has come so far and is whole enough to stand in a history.
    fn partial(&self) -> Option<String> {
        self.stream().partial().map(|response| json_of(&response))
    }
}

/// Text of at most `most` characters: head, tail, and a line that says what was left out.
#[pyfunction]
pub(super) fn limit_output(text: &str, most: usize) -> String {
    turn::limit_output(text, most)
}

/// Whether a provider's word for what went wrong with its search means the search, and not how it was asked.
#[pyfunction]
pub(super) fn search_is_down(error: &str) -> bool {
    turn::search_is_down(error)
}
