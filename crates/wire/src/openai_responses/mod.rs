//! The Responses API: requests, answers and streams, in both directions.
//!
//! The wire speaks in items (messages, reasoning, calls, results); we speak in messages of blocks. An answer's items
//! become one message and go back in the next request as they came; items and parts that are not understood stay as
//! they were written. Decode then encode gives equal JSON.

mod item;
mod part;
mod replay;
mod request;
mod response;
mod stream;

pub use item::{encode_as_it_came, encode_message};
pub use replay::encode_stream;
pub use request::{decode_request, encode_request};
pub use response::{decode_response, encode_response};
pub use stream::StreamDecoder;

use loopwright_base::{
    error::Failure,
    json::Fields,
    message::{Extra, Wire},
};

/// The wire of this codec.
const WIRE: Wire = Wire::OpenaiResponses;

// What the common shape can't say stands among the extra fields under names that no wire uses.

/// On a text: it opens a message item with these fields, or (`true`) goes on with the one before.
const ITEM: &str = "$item";
/// On a text: unknown parts of its item that stand before it.
const BEFORE: &str = "$before";
/// On a text: unknown parts of its item that follow it.
const AFTER: &str = "$after";
/// On reasoning without other fields, a file without a name, a tool without `strict`: it was written so.
const BARE: &str = "$bare";
/// On a call: it came without an id of its own.
const NO_ID: &str = "$no_id";
/// On a request or response: it was decoded from this wire, so that nothing is added.
const EXACT: &str = "$exact";
/// On a request: `input` was a bare string (`"text"`) or absent (`null`). On a response: `output` was absent.
const LIST: &str = "$list";
/// On a request: numbers as they were written (`1` and `1.0` are not the same).
const TEMPERATURE: &str = "$temperature";
/// See [`TEMPERATURE`].
const TOP_P: &str = "$top_p";

/// Whether `key` is one of our marks, which never go to the wire.
fn is_mark(key: &str) -> bool {
    matches!(key, ITEM | BEFORE | AFTER | BARE | NO_ID | EXACT | LIST | TEMPERATURE | TOP_P)
}

/// The name on the wire of a member that is kept; `None` for our marks.
fn wire_key(key: &str) -> Option<&str> {
    (!is_mark(key)).then_some(key)
}

/// Whether an object of the wire uses one of our marks: it can't be taken apart then.
fn is_marked(fields: &Fields) -> bool {
    fields.iter().any(|(key, _)| is_mark(key))
}

/// The extra fields of this wire.
fn ours(extra: Option<&Extra>) -> Option<&Fields> {
    Extra::for_wire(extra, WIRE)
}

/// What an error object inside an answer means.
fn failure_of(error: &Fields, what: &str) -> Failure {
    let code = error.get_str("code").or_else(|| error.get_str("type")).unwrap_or_default();
    let message = error.get_str("message").unwrap_or_default();
    // The status says 200 here, whatever happened.
    let status = if code == "context_length_exceeded" { 400 } else { 200 };
    let kind = super::failure_kind(status, &code, &message);
    let said = match (code.is_empty(), message.is_empty()) {
        (_, true) if code.is_empty() => "no details given".to_owned(),
        (_, true) => code,
        (true, false) => message,
        (false, false) => format!("{message} ({code})"),
    };
    Failure::new(kind, format!("{what}: {said}"))
}
