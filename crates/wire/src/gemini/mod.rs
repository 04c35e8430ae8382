//! Google's Gemini API, `generateContent` and `streamGenerateContent` (<https://ai.google.dev/api/generate-content>).
//!
//! The wire speaks in contents (`user`, `model`) of parts. A part that is not exactly what the documentation describes
//! stays whole as a provider block; what else is not understood stays among the extra fields. The signature of a
//! thought stays on the very part it came with. Decode then encode gives equal JSON.

mod config;
mod content;
mod emit;
mod part;
mod request;
mod response;
mod stream;
mod tools;

pub use content::{decode_message, encode_as_it_came, encode_message};
pub use emit::encode_stream;
pub use request::{decode_request, encode_request};
pub use response::{decode_response, encode_response};
pub use stream::ChunkDecoder;

use crate::object::{members_of, parsed};
use loopwright_base::{
    json::Fields,
    message::{Extra, Wire},
};

/// The wire of this codec.
const WIRE: Wire = Wire::Gemini;

/// The extra fields that belong to this wire.
fn own(extra: Option<&Extra>) -> Option<&Fields> {
    Extra::for_wire(extra, WIRE)
}

/// Extra fields even if there are none, to say that this wire wrote it.
fn marked(fields: Fields) -> Extra {
    Extra { wire: WIRE, fields }
}
