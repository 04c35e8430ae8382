//! Chat Completions, and all who speak it: `OpenAI`, `OpenRouter`, Ollama, vLLM, llama.cpp and many more.
//!
//! What a server writes is decoded generously (missing ids, arguments as objects, `stop` beside tool calls), and what
//! it wrote is written back exactly. A field that the common shape can't hold is kept in [`Extra`]; whatever would come
//! back in another form is kept as its original, which is written again as long as it still says the same.
//!
//! Choices made here:
//! - The limit of output has the name that the host's profile says. Without one it is `max_completion_tokens` for
//!   models named `o1…`, `o3…`, `o4…` and `gpt-5…` (a vendor's prefix such as `openai/` is no part of the name) and
//!   `max_tokens` for all others, which is what compatible servers know. A decoded request keeps the name it came with.
//! - A streamed request asks for usage. A decoded request that did not ask stays as it was.
//! - A tool message takes text only: images and documents of tool results follow in a user message.
//! - Reasoning goes back only if it came from this wire, under the name it had (`reasoning` or `reasoning_content`);
//!   whoever sends a request has left out what its host does not want.
//! - `null`s, empty lists, `annotations` and the like beside an answer's text stay with the [`Response`]; only what a
//!   server wants back (`reasoning_details`, fields of tool calls) stays with the message.
//! - A list of parts as a model's content becomes one text and one reasoning, as it would in a stream.
//! - In a stream the padding `obfuscation` and choices beside the first are dropped, and a call of a kind that is no
//!   function (`custom`) is a failure.
//! - Calls without an id get `call_0`, `call_1`, … by place; a repeated id gets a suffix (`a`, `a_2`).

mod chunks;
mod gather;
mod message;
mod object;
mod parse;
mod request;
mod response;
mod stream;

pub use self::{
    message::{encode_as_it_came, encode_message, mended, says_beside, thinking},
    stream::StreamDecoder,
};

use loopwright_base::{
    error::{Failure, Result},
    json::Raw,
    message::{Extra, Message, Wire},
    request::{Request, Response},
};
use loopwright_models::profile::Profile;

const WIRE: Wire = Wire::OpenaiChat;

/// The request as the body of `POST /chat/completions`.
pub fn encode_request(request: &Request) -> Result<String> {
    request::encode(&Profile::default(), request)
}

/// [`encode_request`] for a host of this profile.
pub fn encode_for(profile: &Profile, request: &Request) -> Result<String> {
    request::encode(profile, request)
}

/// A body of `POST /chat/completions` as our own types.
pub fn decode_request(body: &str) -> Result<Request> {
    request::decode(body)
}

/// One element of a history.
pub fn decode_message(raw: &Raw) -> Result<Message> {
    message::decode(raw)
}

/// A whole answer.
pub fn decode_response(body: &str) -> Result<Response, Failure> {
    response::decode(body)
}

/// The answer as a server of this wire writes it.
pub fn encode_response(response: &Response) -> String {
    response::encode(response)
}

/// The answer as the chunks of a stream, text cut into pieces of about `piece` bytes.
pub fn encode_stream(response: &Response, piece: usize) -> Vec<(String, String)> {
    chunks::encode(response, piece)
}

/// The fields of `extra` that belong to this wire.
fn own(extra: Option<&Extra>) -> Option<&loopwright_base::json::Fields> {
    Extra::for_wire(extra, WIRE)
}
