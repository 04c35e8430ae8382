//! The Anthropic Messages wire (<https://docs.anthropic.com/en/api/messages>).
//!
//! What this wire writes and we do not know goes back to it unchanged: unknown blocks as provider blocks, unknown
//! fields as extra fields. What other wires wrote and this one would refuse is left out or put into a form it takes.

mod block;
mod emit;
pub(crate) mod marks;
mod request;
mod response;
mod rolling_marks;
mod stream;

pub use block::{encode_message, freed, is_inside, mended, unsigned};
pub use emit::encode_stream;
pub use request::{decode_request, encode_request};
pub use response::{decode_response, encode_response};
pub use rolling_marks::with_marks;
pub use stream::StreamDecoder;

use crate::notes::{NOTE, note, wire_key};
use loopwright_base::{
    error::{Error, Result},
    json::{Fields, Raw},
    message::{Extra, Message, Wire},
};

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
