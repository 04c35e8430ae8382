//! Codecs: requests to bytes, bytes to answers, for each wire protocol, without I/O.
//!
//! Every codec works in both directions (a client encodes requests and decodes answers, a test server does the
//! reverse), and every direction is lossless: decode then encode gives semantically equal JSON. A stream gives the
//! same [`Response`] as the whole answer would, wherever its bytes were cut.
//!
//! ```
//! use loopwright_base::{message::{Message, Wire}, request::Request};
//! use loopwright_wire::encode_request;
//!
//! let request = Request { model: "gpt-4o".into(), messages: [Message::user("Hi.")].into_iter().collect(), ..Request::default() };
//! assert!(encode_request(Wire::OpenaiChat, &request)?.contains("\"Hi.\""));
//! # Ok::<(), loopwright_base::error::Error>(())
//! ```

// No clock, socket, file, thread or random source: what would reach for one is forbidden here.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
// Nothing that comes from outside may end a process.
#![cfg_attr(
    not(test),
    warn(clippy::expect_used, clippy::panic, clippy::todo, clippy::unimplemented, clippy::unreachable)
)]

pub mod anthropic;
pub mod bedrock;
mod counts;
mod failure;
pub mod frames;
pub mod gemini;
mod halves;
mod names;
mod notes;
mod numbers;
mod object;
pub mod offline;
pub mod openai_chat;
pub mod openai_responses;
pub mod schema;
pub mod searches;
pub mod sse;
pub mod stream;
mod turns;

pub use failure::{canonical_code, decode_failure, decode_inner_failure, exception_name, exception_of, failure_kind};

use serde_json::Value;

use loopwright_base::{
    error::{Error, Failure, FailureKind, Result},
    json::{Raw, nested_deeper},
    message::{Message, Usage, Wire},
    request::{Delta, Request, Response},
    text::first,
};
use loopwright_extract as extract;
use loopwright_models::profile::{BodyRules, Profile};

/// A document of text, for wires that take no files of text: what it is called and where it ends can still be read.
fn document_text(name: Option<&str>, media_type: &str, data: &str) -> String {
    let [name, media_type] = [name.unwrap_or("document"), media_type].map(|text| Value::from(text).to_string());
    format!("<document name={name} type={media_type}>\n{data}\n</document>")
}

/// What every stream decoder does: events in, deltas out, one response at the end.
pub trait Decode: Send {
    /// Takes one server-sent event: its name (empty if none was given) and its data. Appends what is new to `deltas`.
    /// A failure inside the stream (an error event, data that is no JSON) ends it.
    fn event(&mut self, name: &str, data: &str, deltas: &mut Vec<Delta>) -> Result<(), Failure>;

    /// Whether the event that ends a stream on this wire has been seen.
    fn is_done(&self) -> bool;

    /// Whether the end of the answer was said, by the reason why it stops: what may still come (usage, the mark that
    /// the stream is over) is no part of what the model said, and nothing that goes wrong from here on takes that back.
    fn is_ended(&self) -> bool;

    /// The whole answer. A stream that broke off before its end was said is a failure of kind `cut`.
    fn finish(&mut self) -> Result<Response, Failure>;

    /// The usage that the provider has reported since this was last asked, for an answer that is stopped on the way.
    /// Wires that report it only with the end have nothing to say.
    fn reported(&mut self) -> Option<Usage> {
        None
    }

    /// What has come so far, for an answer that breaks off: only what is whole enough to stand in a history
    /// (no half-written tool uses, no reasoning without its signature). `None` if there is nothing.
    fn partial(&self) -> Option<Response>;
}

/// The request as the body that `wire` wants. Fails with guilt `usage` where the wire has no form for something.
pub fn encode_request(wire: Wire, request: &Request) -> Result<String> {
    let spoken = extract::spoken(request);
    let request = spoken.as_ref().unwrap_or(request);
    match wire {
        Wire::Anthropic => anthropic::encode_request(&BodyRules::default(), request),
        Wire::OpenaiChat => openai_chat::encode_request(request),
        Wire::OpenaiResponses => openai_responses::encode_request(request),
        Wire::Gemini => gemini::encode_request(request),
        Wire::Bedrock => bedrock::encode_request(None, request),
        Wire::Offline => offline::encode_request(request),
    }
}

/// The request as the body that is sent to a provider: as `wire` wants it, schemas that the provider enforces in its
/// subset.
pub fn encode_to_send(wire: Wire, request: &Request) -> Result<String> {
    encode_for(&Profile::default(), wire, request)
}

/// [`encode_to_send`] for a host of this profile.
pub fn encode_for(profile: &Profile, wire: Wire, request: &Request) -> Result<String> {
    let described = schema::without_blank_descriptions(request);
    let request = described.as_ref().unwrap_or(request);
    let limited = (wire == Wire::Anthropic).then(|| anthropic::marks::limited(request)).flatten();
    let request = limited.as_ref().unwrap_or(request);
    let fitted = schema::fitted(wire, request);
    let request = fitted.as_ref().unwrap_or(request);
    let spoken = extract::spoken(request);
    let request = spoken.as_ref().unwrap_or(request);
    match wire {
        Wire::OpenaiChat => openai_chat::encode_for(profile, request),
        Wire::Anthropic => anthropic::encode_request(&profile.body, request),
        Wire::Bedrock => bedrock::encode_request(profile.body.cache_marks, request),
        _ => encode_request(wire, request),
    }
}

/// A message that was read from a history, freed of what kept it as it came where a provider would refuse it so; `None`
/// where nothing did.
pub fn freed(message: &Message) -> Option<Message> {
    let mended = openai_chat::mended(message).map(|(mended, _)| mended);
    anthropic::freed(mended.as_ref().unwrap_or(message)).or(mended)
}

/// A request body of `wire` as our own types.
pub fn decode_request(wire: Wire, body: &str) -> Result<Request> {
    match wire {
        Wire::Anthropic => anthropic::decode_request(body),
        Wire::OpenaiChat => openai_chat::decode_request(body),
        Wire::OpenaiResponses => openai_responses::decode_request(body),
        Wire::Gemini => gemini::decode_request(body),
        Wire::Bedrock => bedrock::decode_request(body),
        Wire::Offline => offline::decode_request(body),
    }
}

/// A whole answer of `wire` as our own types. A byte order mark before it is passed over.
pub fn decode_response(wire: Wire, body: &str) -> Result<Response, Failure> {
    let body = &*halves::whole(body.strip_prefix('\u{feff}').unwrap_or(body));
    flat(body)?;
    match wire {
        Wire::Anthropic => anthropic::decode_response(body),
        Wire::OpenaiChat => openai_chat::decode_response(body),
        Wire::OpenaiResponses => openai_responses::decode_response(body),
        Wire::Gemini => gemini::decode_response(body),
        Wire::Bedrock => bedrock::decode_response(body),
        Wire::Offline => offline::decode_response(body),
    }
}

/// No answer of a model is nested deeper; what is would end whoever looks at it by a function that calls itself.
const DEEPEST: usize = 400;

/// Refuses JSON that is nested too deep.
fn flat(text: &str) -> Result<(), Failure> {
    if nested_deeper(text, DEEPEST) {
        let what = format!("the answer is nested deeper than {DEEPEST}");
        return Err(Failure::new(FailureKind::InvalidBody, what));
    }
    Ok(())
}

/// The answer as `wire` would write it.
pub fn encode_response(wire: Wire, response: &Response) -> String {
    match wire {
        Wire::Anthropic => anthropic::encode_response(response),
        Wire::OpenaiChat => openai_chat::encode_response(response),
        Wire::OpenaiResponses => openai_responses::encode_response(response),
        Wire::Gemini => gemini::encode_response(response),
        Wire::Bedrock => bedrock::encode_response(response),
        Wire::Offline => offline::encode_response(response),
    }
}

/// The answer as the events (name, data) that `wire` would stream, text cut into pieces of about `piece` bytes.
pub fn encode_stream(wire: Wire, response: &Response, piece: usize) -> Vec<(String, String)> {
    match wire {
        Wire::Anthropic => anthropic::encode_stream(response, piece),
        Wire::OpenaiChat => openai_chat::encode_stream(response, piece),
        Wire::OpenaiResponses => openai_responses::encode_stream(response, piece),
        Wire::Gemini => gemini::encode_stream(response, piece),
        Wire::Bedrock => bedrock::encode_stream(response, piece),
        Wire::Offline => Vec::new(),
    }
}

/// A decoder for a stream of `wire`.
pub fn stream_decoder(wire: Wire) -> Box<dyn Decode> {
    match wire {
        Wire::Anthropic | Wire::Offline => Box::new(anthropic::StreamDecoder::default()),
        Wire::OpenaiChat => Box::new(openai_chat::StreamDecoder::default()),
        Wire::OpenaiResponses => Box::new(openai_responses::StreamDecoder::default()),
        Wire::Gemini => Box::new(gemini::ChunkDecoder::default()),
        Wire::Bedrock => Box::new(bedrock::EventDecoder::default()),
    }
}

/// One message in the form of `wire`: the JSON text of the element, or comma-separated elements, of its history.
pub fn encode_message(wire: Wire, message: &Message) -> String {
    match wire {
        Wire::Anthropic | Wire::Offline => anthropic::encode_message(message),
        Wire::OpenaiChat => openai_chat::encode_message(message),
        Wire::OpenaiResponses => openai_responses::encode_message(message),
        Wire::Gemini => gemini::encode_message(message),
        Wire::Bedrock => bedrock::encode_message(message),
    }
}

/// [`encode_message`] for whoever keeps a history in the form of `wire`: names and ids stay as the model wrote them,
/// though no request could carry them.
pub fn encode_message_as_it_came(wire: Wire, message: &Message) -> String {
    match wire {
        Wire::Anthropic | Wire::Offline => anthropic::encode_message(message),
        Wire::OpenaiChat => openai_chat::encode_as_it_came(message),
        Wire::OpenaiResponses => openai_responses::encode_as_it_came(message),
        Wire::Gemini => gemini::encode_as_it_came(message),
        Wire::Bedrock => bedrock::encode_as_it_came(message),
    }
}

/// One element of the history of `wire`. On Chat Completions a tool's message is a user's message of one result.
pub fn decode_message(wire: Wire, raw: &Raw) -> Result<Message> {
    match wire {
        Wire::Anthropic | Wire::Offline => anthropic::decode_message(raw),
        Wire::OpenaiChat => openai_chat::decode_message(raw),
        Wire::Gemini => gemini::decode_message(raw),
        Wire::Bedrock => bedrock::decode_message(raw),
        Wire::OpenaiResponses => {
            Err(Error::usage("unsupported_shape", "items of the Responses wire are no messages by themselves")
                .hint("give messages of ours, of Anthropic or of Chat Completions"))
        }
    }
}

/// A failure for an answer that breaks the protocol.
fn invalid(message: impl Into<String>) -> Failure {
    Failure::new(FailureKind::InvalidBody, message)
}

/// The beginning of what a provider sent, for messages.
fn excerpt(text: &str) -> &str {
    first(text.trim(), 200)
}
