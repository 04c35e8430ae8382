//! Rendering of replies: the bytes of an HTTP answer, and its end.

use std::time::Duration;

use serde_json::{Value, json};

use super::script::{Answer, Fault, Reply};
use loopwright_base::message::Wire;
use loopwright_wire::{
    canonical_code, encode_response, encode_stream, exception_of,
    frames::{EXCEPTION, encode_frame},
};

/// The end of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The regular end; the connection can be used again.
    Whole,
    /// The connection is reset.
    Reset,
    /// Silence: nothing more comes, and the connection stays open.
    Silence,
    /// The connection is closed.
    Closed,
}

/// An answer ready to be sent.
#[derive(Debug)]
pub(super) struct Rendered {
    /// The status line and headers; empty if there are none.
    pub(super) head: Vec<u8>,
    /// The pieces of the body.
    pub(super) pieces: Vec<Vec<u8>>,
    /// Each piece goes out as a chunk, with its length before it; else the head says how long all are.
    pub(super) chunked: bool,
    /// The delay between two pieces.
    pub(super) delay: Duration,
    /// Each piece is a write of its own.
    pub(super) separate_writes: bool,
    pub(super) ending: Ending,
}

impl Rendered {
    /// The status; none of what is no HTTP.
    pub(super) fn status(&self) -> Option<u16> {
        let head = std::str::from_utf8(&self.head).ok()?;
        head.split(' ').nth(1)?.parse().ok()
    }

    /// The same with these headers, behind its others.
    pub(super) fn with_headers(mut self, headers: &[(String, String)]) -> Self {
        // What has no head is no HTTP.
        if let Some(end) = self.head.len().checked_sub(2) {
            let lines = headers.iter().flat_map(|(name, value)| [name, ": ", value, "\r\n"]).collect::<String>();
            self.head.splice(end..end, lines.into_bytes());
        }
        self
    }
}

/// The wire, model and options that a request asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplyRequest<'a> {
    pub(super) wire: Wire,
    pub(super) stream: bool,
    pub(super) model: &'a str,
    pub(super) number: usize,
}

/// Writes an answer of `status` whose body is `body`.
pub(super) fn whole(status: u16, content_type: &str, number: usize, headers: &[(&str, &str)], body: &str) -> Rendered {
    let mut head = head(status, content_type, number, headers);
    head.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
    Rendered {
        head,
        pieces: vec![body.as_bytes().to_vec()],
        chunked: false,
        delay: Duration::ZERO,
        separate_writes: false,
        ending: Ending::Whole,
    }
}

/// An error in the provider's shape.
pub(super) fn error(wire: Wire, status: u16, message: &str, number: usize, headers: &[(&str, &str)]) -> Rendered {
    whole(status, "application/json", number, headers, &error_body(wire, status, message, number))
}

/// The refusal of a request that takes too many tokens of a minute.
pub(super) fn too_many_tokens(wire: Wire, message: &str, number: usize) -> Rendered {
    match wire {
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Offline => {
            let error = json!({"message": message, "type": "tokens", "param": null, "code": "rate_limit_exceeded"});
            whole(429, "application/json", number, &[], &json!({ "error": error }).to_string())
        }
        Wire::Anthropic | Wire::Gemini | Wire::Bedrock => error(wire, 429, message, number, &[]),
    }
}

fn error_body(wire: Wire, status: u16, message: &str, number: usize) -> String {
    let anthropic = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    };
    let openai = match status {
        401 => "authentication_error",
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    };
    match wire {
        Wire::Anthropic => {
            let error = json!({"type": anthropic, "message": message});
            json!({"type": "error", "error": error, "request_id": format!("req_{number}")}).to_string()
        }
        Wire::Gemini => gemini_error(status, message).to_string(),
        Wire::Bedrock => bedrock_error(status, message).to_string(),
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Offline => {
            json!({"error": {"message": message, "type": openai, "param": null, "code": null}}).to_string()
        }
    }
}

fn gemini_error(status: u16, message: &str) -> Value {
    json!({"error": {"code": status, "message": message, "status": canonical_code(status)}})
}

fn bedrock_error(status: u16, message: &str) -> Value {
    json!({"__type": exception_of(status), "message": message})
}

/// A reply to what was asked.
pub(super) fn reply(reply: &Reply, asked: ReplyRequest<'_>) -> Rendered {
    let ReplyRequest { wire, stream, number, .. } = asked;
    match &reply.fault {
        Some(Fault::Status { status, retry_after, message, should_retry }) => {
            let message = message.as_deref().unwrap_or("a fault of the script");
            let after = retry_after.as_deref().map(|after| ("retry-after", after));
            let again = should_retry.map(|again| ("x-should-retry", if again { "true" } else { "false" }));
            let headers: Vec<_> = after.into_iter().chain(again).collect();
            return error(wire, *status, message, number, &headers);
        }
        Some(Fault::Redirect { location }) => {
            return whole(307, "text/plain", number, &[("location", location)], "elsewhere");
        }
        Some(Fault::NotJson) => {
            let page = "<!doctype html><html><body><h1>It works!</h1></body></html>";
            return whole(200, "text/html; charset=utf-8", number, &[], page);
        }
        Some(Fault::EmptyBody) => {
            return whole(200, if stream { "text/event-stream" } else { "application/json" }, number, &[], "");
        }
        Some(Fault::ErrorEvent { .. }) if !stream => {
            return error(wire, 500, "a fault of the script", number, &[]);
        }
        Some(Fault::NotHttp) => {
            return Rendered {
                head: Vec::new(),
                pieces: vec![b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()],
                chunked: false,
                delay: Duration::ZERO,
                separate_writes: false,
                ending: Ending::Closed,
            };
        }
        Some(Fault::Hang | Fault::Close) => {
            let ending = if reply.fault == Some(Fault::Hang) { Ending::Silence } else { Ending::Closed };
            return Rendered {
                head: Vec::new(),
                pieces: Vec::new(),
                chunked: false,
                delay: Duration::ZERO,
                separate_writes: false,
                ending,
            };
        }
        _ => {}
    }
    let (status, content_type, mut pieces) = body(reply, asked);
    let mut ending = Ending::Whole;
    let cut = |pieces: &mut Vec<Vec<u8>>, events: usize| pieces.truncate(events);
    match reply.fault {
        Some(Fault::CutAfter { events }) => {
            cut(&mut pieces, events);
            ending = Ending::Reset;
        }
        Some(Fault::StallAfter { events }) => {
            cut(&mut pieces, events);
            ending = Ending::Silence;
        }
        Some(Fault::EndAfter { events }) => cut(&mut pieces, events),
        Some(Fault::ErrorEvent { after_events }) => {
            cut(&mut pieces, after_events);
            pieces.push(error_event(wire, after_events));
        }
        Some(Fault::BrokenJson) => {
            let mut all = pieces.concat();
            all.truncate(all.len() / 2);
            pieces = vec![all];
        }
        Some(Fault::CutBytes { bytes }) => {
            let mut all = pieces.concat();
            all.truncate(bytes);
            pieces = vec![all];
            ending = Ending::Reset;
        }
        _ => {}
    }
    let (chunk, delay) = match reply.fault {
        Some(Fault::SlowBytes { bytes, delay_ms }) => (Some(bytes), delay_ms),
        _ => (reply.chunk, reply.chunk_delay_ms),
    };
    if let Some(chunk) = chunk {
        pieces = pieces.concat().chunks(chunk.max(1)).map(<[u8]>::to_vec).collect();
    }
    // A length can only be given for a body that will come whole, in one piece.
    let chunked = pieces.len() != 1 || ending != Ending::Whole;
    let mut head = head(status, &content_type, number, &[]);
    if chunked {
        head.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
    } else {
        let length: usize = pieces.iter().map(Vec::len).sum();
        head.extend_from_slice(format!("content-length: {length}\r\n\r\n").as_bytes());
    }
    let delay = Duration::from_millis(delay);
    Rendered { head, pieces, chunked, delay, separate_writes: chunk.is_some() || !delay.is_zero(), ending }
}

fn body(reply: &Reply, asked: ReplyRequest<'_>) -> (u16, String, Vec<Vec<u8>>) {
    let ReplyRequest { wire, stream, model, number } = asked;
    let Some(mut response) = reply.answer.response() else {
        let Answer::Recorded { status, content_type, body } = &reply.answer else {
            return (500, "text/plain".to_owned(), Vec::new());
        };
        let pieces = if content_type.starts_with("text/event-stream") {
            body.split_inclusive("\n\n").map(|event| event.as_bytes().to_vec()).collect()
        } else {
            vec![body.as_bytes().to_vec()]
        };
        return (*status, content_type.clone(), pieces);
    };
    if response.model.is_empty() {
        model.clone_into(&mut response.model);
    }
    if response.id.is_empty() {
        let prefix = match wire {
            Wire::Anthropic => "msg_",
            Wire::OpenaiResponses => "resp_",
            Wire::Gemini => "gemini-",
            Wire::Bedrock => "bedrock-",
            Wire::OpenaiChat | Wire::Offline => "chatcmpl-",
        };
        response.id = format!("{prefix}{number}");
    }
    if !stream {
        let body = encode_response(wire, &response).into_bytes();
        return (200, "application/json".to_owned(), vec![body]);
    }
    let events = encode_stream(wire, &response, reply.piece.max(1));
    if wire == Wire::Bedrock {
        let frames = events.iter().map(|(name, data)| encode_frame(name, data)).collect();
        return (200, "application/vnd.amazon.eventstream".to_owned(), frames);
    }
    let pieces = events.iter().map(|(name, data)| event(name, data)).collect();
    (200, "text/event-stream; charset=utf-8".to_owned(), pieces)
}

fn event(name: &str, data: &str) -> Vec<u8> {
    let mut text = String::with_capacity(name.len() + data.len() + 20);
    if !name.is_empty() {
        text.push_str("event: ");
        text.push_str(name);
        text.push('\n');
    }
    for line in data.split('\n') {
        text.push_str("data: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    text.into_bytes()
}

fn error_event(wire: Wire, place: usize) -> Vec<u8> {
    let message = "a fault of the script";
    match wire {
        Wire::Anthropic => {
            let error = json!({"type": "overloaded_error", "message": message});
            event("error", &json!({"type": "error", "error": error}).to_string())
        }
        Wire::OpenaiResponses => {
            let error = json!({"type": "error", "code": "server_error", "message": message, "param": null,
                "sequence_number": place});
            event("error", &error.to_string())
        }
        Wire::Gemini => event("", &gemini_error(503, message).to_string()),
        Wire::Bedrock => encode_frame(EXCEPTION, &bedrock_error(503, message).to_string()),
        Wire::OpenaiChat | Wire::Offline => {
            let error = json!({"message": message, "type": "server_error", "code": "server_error"});
            event("", &json!({ "error": error }).to_string())
        }
    }
}

/// A piece as a chunk.
pub(super) fn chunk_of(piece: &[u8]) -> Vec<u8> {
    // A chunk of no bytes would end the body.
    if piece.is_empty() {
        return Vec::new();
    }
    let mut framed = format!("{:x}\r\n", piece.len()).into_bytes();
    framed.extend_from_slice(piece);
    framed.extend_from_slice(b"\r\n");
    framed
}

fn head(status: u16, content_type: &str, number: usize, headers: &[(&str, &str)]) -> Vec<u8> {
    let reason = reqwest::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let mut head = format!(
        "HTTP/1.1 {status} {}\r\ncontent-type: {content_type}\r\nrequest-id: req_{number}\r\n",
        reason.unwrap_or("Unknown"),
    );
    for (name, value) in headers {
        // A line break in a script's value would end the head early.
        let value = value.replace(['\r', '\n'], " ");
        for part in [name, ": ", &value, "\r\n"] {
            head.push_str(part);
        }
    }
    head.into_bytes()
}
