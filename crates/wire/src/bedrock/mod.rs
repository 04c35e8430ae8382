//! Amazon Bedrock's Converse API (<https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html>).
//!
//! The wire speaks in messages (`user`, `assistant`) of content blocks, each an object whose one member says what it
//! is. A block that is not exactly what the documentation describes stays whole as a provider block; what else is not
//! understood stays among the extra fields. Decode then encode gives equal JSON. The model's name and whether the
//! answer is streamed belong to the address.

mod block;
mod emit;
mod media;
mod message;
mod request;
mod response;
mod stream;
mod tools;

pub use emit::encode_stream;
pub use message::{decode_message, encode_as_it_came, encode_message};
pub use request::{decode_request, encode_request};
pub use response::{decode_response, encode_response};
pub use stream::EventDecoder;

use crate::object::{members_of, parsed};
use loopwright_base::{
    json::Fields,
    message::{Extra, Wire},
};

/// The wire of this codec.
const WIRE: Wire = Wire::Bedrock;
/// The end of what a model remembers of a prompt.
const CACHE_POINT: &str = r#"{"cachePoint":{"type":"default"}}"#;
/// Such an end that is remembered for an hour.
const HOUR_POINT: &str = r#"{"cachePoint":{"type":"default","ttl":"1h"}}"#;

/// The extra fields that belong to this wire.
fn own(extra: Option<&Extra>) -> Option<&Fields> {
    Extra::for_wire(extra, WIRE)
}

/// Extra fields even if there are none, to say that this wire wrote it.
fn marked(fields: Fields) -> Extra {
    Extra { wire: WIRE, fields }
}
