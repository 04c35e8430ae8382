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

/// Appends `text` as a JSON string.
fn push_string(out: &mut String, text: &str) {
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// Writes one JSON object, member by member, at the end of a text.
struct Object<'a> {
    out: &'a mut String,
    keys: Vec<&'static str>,
}

impl<'a> Object<'a> {
    fn begin(out: &'a mut String) -> Self {
        out.push('{');
        Self { out, keys: Vec::with_capacity(8) }
    }

    /// Writes the key; the caller writes the value.
    fn key(&mut self, key: &'static str) -> &mut String {
        if !self.keys.is_empty() {
            self.out.push(',');
        }
        self.keys.push(key);
        push_string(self.out, key);
        self.out.push(':');
        self.out
    }

    fn string(&mut self, key: &'static str, value: &str) {
        push_string(self.key(key), value);
    }

    fn json(&mut self, key: &'static str, value: &str) {
        self.key(key).push_str(value);
    }

    /// Writes the members that are not there yet; notes of ours are not for the wire.
    fn rest(&mut self, fields: Option<&Fields>) {
        self.rest_but(fields, NOTE);
    }

    /// The same, without a member that is still to come.
    fn rest_but(&mut self, fields: Option<&Fields>, later: &str) {
        let Some(fields) = fields else { return };
        let mut empty = self.keys.is_empty();
        for (key, value) in fields.iter() {
            if key == NOTE || key == later || self.keys.contains(&key) {
                continue;
            }
            if !std::mem::take(&mut empty) {
                self.out.push(',');
            }
            push_string(self.out, key);
            self.out.push(':');
            self.out.push_str(value.text());
        }
    }

    fn end(self) {
        self.out.push('}');
    }
}

/// Elements as the text of a JSON array.
fn array<'a>(elements: impl IntoIterator<Item = &'a Raw>) -> String {
    let mut out = String::from("[");
    for element in elements {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(element.text());
    }
    out.push(']');
    out
}
