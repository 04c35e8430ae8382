//! What a provider's refusal means: the kind of failure, its words, how long to wait.

use serde_json::Value;

use crate::excerpt;
use loopwright_base::{
    error::{Failure, FailureKind},
    json::{Fields, Raw},
};

/// An error as a body of any provider tells it.
#[derive(Debug, Default)]
pub(crate) struct ErrorBody {
    /// The status that stands in the body, where one does.
    pub(crate) status: Option<u16>,
    /// The provider's code.
    pub(crate) code: String,
    pub(crate) message: String,
    /// Seconds that the provider asks to wait.
    pub(crate) retry_after: Option<f64>,
    pub(crate) request_id: Option<String>,
}

impl ErrorBody {
    /// The error in a body: an `error` object or string, `message`, `detail`, also as the only element of a list; a
    /// body that is no JSON is quoted, shortened.
    pub(crate) fn read(body: &str) -> Self {
        let listed = Raw::parse(body.trim()).ok().filter(Raw::is_array).and_then(|list| list.to::<Vec<Raw>>().ok());
        let fields = match listed.as_deref() {
            Some([first, ..]) => Fields::parse(first.text()),
            _ => Fields::parse(body),
        };
        let fields = fields.unwrap_or_default();
        let error = fields.get("error").and_then(|raw| Fields::parse(raw.text()).ok());
        let words = |fields: &Fields, keys: &[&str]| keys.iter().find_map(|key| fields.get_str(key));
        let inner = |keys: &[&str]| error.as_ref().and_then(|error| words(error, keys));
        let message = inner(&["message", "detail", "type"])
            .or_else(|| words(&fields, &["error", "message", "detail"]))
            .unwrap_or_else(|| {
                let short = excerpt(body);
                if short.is_empty() { "no details given" } else { short }.to_owned()
            });
        let google = error.as_ref().map(GoogleError::read).unwrap_or_default();
        let code = inner(&CODES).or(google.code).or_else(|| words(&fields, &CODES)).unwrap_or_default();
        let request_id = words(&fields, &["request_id"]);
        Self { status: google.status, code, message, retry_after: google.retry_after, request_id }
    }
}

/// Members that hold a provider's code.
const CODES: [&str; 2] = ["code", "type"];

/// What an error of Google's APIs tells beside its words: its code is a number.
#[derive(Debug, Default)]
struct GoogleError {
    status: Option<u16>,
    code: Option<String>,
    retry_after: Option<f64>,
}

impl GoogleError {
    fn read(error: &Fields) -> Self {
        let details: Vec<Raw> = error.get("details").and_then(|raw| raw.to().ok()).unwrap_or_default();
        let details: Vec<Value> = details.iter().map(Raw::value).collect();
        let detail = |key: &str| details.iter().find_map(|detail| detail.get(key)?.as_str());
        let word = error.get_str("status");
        let number = error.get("code").and_then(|raw| raw.to::<u16>().ok()).filter(|code| (400..600).contains(code));
        Self {
            status: number.or_else(|| status_of(word.as_deref()?)),
            code: detail("reason").map(str::to_owned).or(word),
            retry_after: detail("retryDelay").and_then(seconds),
        }
    }
}

/// A duration as Google's APIs write it: `12s`, `0.5s`.
fn seconds(text: &str) -> Option<f64> {
    text.strip_suffix('s')?.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0)
}

/// Canonical codes of Google's APIs and their HTTP status.
const CANONICAL: [(&str, u16); 10] = [
    ("INVALID_ARGUMENT", 400),
    ("UNAUTHENTICATED", 401),
    ("PERMISSION_DENIED", 403),
    ("NOT_FOUND", 404),
    ("ABORTED", 409),
    ("RESOURCE_EXHAUSTED", 429),
    ("FAILED_PRECONDITION", 400),
    ("INTERNAL", 500),
    ("UNAVAILABLE", 503),
    ("DEADLINE_EXCEEDED", 504),
];

fn status_of(word: &str) -> Option<u16> {
    CANONICAL.iter().find(|(known, _)| *known == word).map(|(_, status)| *status)
}

/// The canonical code that Google's APIs have for an HTTP status, or for its like.
pub fn canonical_code(status: u16) -> &'static str {
    let known = CANONICAL.iter().find(|(_, known)| *known == status).map(|(word, _)| *word);
    known.unwrap_or(if status < 500 { "FAILED_PRECONDITION" } else { "INTERNAL" })
}

/// What an HTTP answer that is no success means, whichever provider wrote it. How long to wait is in the header or, on
/// some wires, in the body; what a 200 means is in the body alone.
pub fn decode_failure(status: u16, retry_after: Option<f64>, body: &str) -> Failure {
    let error = ErrorBody::read(body);
    let kind = failure_kind(error.status.filter(|_| status == 200).unwrap_or(status), &error.code, &error.message);
    Failure {
        kind,
        message: format!("the provider answered {status}: {}", error.message),
        status: Some(status),
        retry_after: retry_after.or(error.retry_after),
        request_id: error.request_id,
        should_retry: None,
        hint: None,
    }
}

/// How providers say that a request does not fit into the model's window.
const TOO_LONG: [&str; 12] = [
    "context_length",
    "context length",
    "context limit",
    "context window",
    "context size",
    "exceed_context",
    "maximum context",
    "prompt is too long",
    "input is too long",
    "input token count",
    "too many input tokens",
    "maximum prompt length",
];

/// The kind of a failure from its status, the provider's code and its words.
pub fn failure_kind(status: u16, code: &str, message: &str) -> FailureKind {
    let lower = message.to_lowercase();
    let says = |needles: &[&str]| needles.iter().any(|needle| code.contains(needle) || lower.contains(needle));
    if says(&["insufficient_quota", "billing_error", "credit balance is too low"]) {
        return FailureKind::Quota;
    }
    // Google answers 400 to a key that it does not know.
    if code.contains("API_KEY_INVALID") {
        return FailureKind::Auth;
    }
    // A stream tells of it behind a 200; llama.cpp once did with a 500.
    if matches!(status, 200 | 400 | 413 | 422 | 500) && says(&TOO_LONG) {
        return FailureKind::ContextTooLong;
    }
    // One line for each range of the protocol reads better than one for each kind.
    #[allow(clippy::match_same_arms)]
    match status {
        401 => FailureKind::Auth,
        402 => FailureKind::Quota,
        403 => FailureKind::Permission,
        404 => FailureKind::NotFound,
        429 => FailureKind::RateLimited,
        503 | 529 => FailureKind::Overloaded,
        408 | 409 | 425 | 500..=599 => FailureKind::Server,
        // An error event inside a stream has no status of its own; its code says what it is.
        200 if says(&["overloaded"]) => FailureKind::Overloaded,
        200 if says(&["rate_limit"]) => FailureKind::RateLimited,
        200 if says(&["invalid_request", "invalid_prompt"]) => FailureKind::BadRequest,
        200 if says(&["authentication"]) => FailureKind::Auth,
        200 if code.contains("permission") => FailureKind::Permission,
        200 if code.contains("not_found") => FailureKind::NotFound,
        200 if code.contains("too_large") => FailureKind::BadRequest,
        200 => FailureKind::Server,
        300..=399 => FailureKind::NotFound,
        _ => FailureKind::BadRequest,
    }
}
