//! The Anthropic Messages wire (<https://docs.anthropic.com/en/api/messages>).
//!
//! What this wire writes and we do not know goes back to it unchanged: unknown blocks as provider blocks, unknown
//! fields as extra fields. What other wires wrote and this one would refuse is left out or put into a form it takes.

mod block;
mod emit;
mod request;
mod response;
mod stream;

pub use block::{encode_message, is_inside, mended};
pub use emit::encode_stream;
pub use request::{decode_request, encode_request};
pub use response::{decode_response, encode_response};
pub use stream::StreamDecoder;

use loopwright_base::{
    error::{Error, Result},
    json::{Fields, Raw},
    message::{Extra, Message, Wire},
};

/// A key among extra fields that is never sent: how something was written where our own shape has no place for that.
const NOTE: &str = "loopwright:written";

/// The key under which text that is no JSON goes back inside `input`, as the provider's documentation asks.
const INVALID: &str = "INVALID_JSON";

/// One element of a history.
pub fn decode_message(raw: &Raw) -> Result<Message> {
    block::decode_message(raw)
        .map_err(|what| Error::usage("invalid_message", what).hint("mend the message at that place"))
}

/// Extra fields even if there are none, to say that this wire wrote it.
fn marked(fields: Fields) -> Extra {
    Extra { wire: Wire::Anthropic, fields }
}

/// The extra fields that belong to this wire.
fn own(extra: Option<&Extra>) -> Option<&Fields> {
    Extra::for_wire(extra, Wire::Anthropic)
}

/// What was noted about how something was written.
fn note(fields: Option<&Fields>) -> Fields {
    fields.and_then(|fields| fields.get(NOTE)).and_then(|raw| Fields::parse(raw.text()).ok()).unwrap_or_default()
}

/// The name on the wire of a member that is kept; `None` for our note.
fn wire_key(key: &str) -> Option<&str> {
    (key != NOTE).then_some(key)
}
