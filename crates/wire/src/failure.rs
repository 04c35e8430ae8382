//! What a provider says where it gives no answer: its words, its code, the parameter that it names.
//!
//! The shapes of all providers are read here: an `error` object or string, a list of one, `message` and `detail` as
//! text or as a list of what does not fit, the answer of a provider behind a router, and a body that is no JSON.

use std::{collections::HashSet, sync::LazyLock};

use serde_json::Value;

use loopwright_base::{
    error::{Failure, FailureKind},
    json::{Fields, Raw},
    lists::{Lists, lists},
    parameter::Parameter,
    text::first,
};

use crate::excerpt;

/// The words of an error may not be longer.
const WORDS: usize = 2_000;
/// A router quotes the provider behind it, which may be a router.
const BEHIND: usize = 3;

/// Where the words of an error stand, and its code.
const TEXT: [&str; 3] = ["message", "detail", "Message"];
const CODE: [&str; 2] = ["code", "type"];

/// What an error object says.
#[derive(Debug, Default)]
pub(crate) struct ErrorWords {
    pub(crate) message: String,
    pub(crate) code: String,
    pub(crate) param: Option<String>,
    /// What the model had written, where the provider could not read it.
    pub(crate) generation: Option<String>,
    /// The status that stands in the body: of a provider behind a router, of an API of Google's.
    pub(crate) status: Option<u16>,
    /// Seconds that the provider asks to wait.
    retry_after: Option<f64>,
    request_id: Option<String>,
}

impl ErrorWords {
    /// Reads a body, or the error inside an answer.
    pub(crate) fn read(text: &str) -> Self {
        let mut said = Self::read_object(text, BEHIND);
        if said.message.is_empty() {
            let short = excerpt(text);
            if short.is_empty() { "no details given" } else { short }.clone_into(&mut said.message);
        }
        said.message.truncate(first(&said.message, WORDS).len());
        said
    }

    fn read_object(text: &str, behind: usize) -> Self {
        let listed = serde_json::from_str::<Vec<Raw>>(text).ok();
        let text = listed.as_ref().and_then(|all| all.first()).map_or(text, Raw::text);
        let Ok(outer) = Fields::parse(text) else {
            return Self { message: serde_json::from_str(text).unwrap_or_default(), ..Self::default() };
        };
        let error = outer.get("error").and_then(|raw| Fields::parse(raw.text()).ok());
        let inner = error.as_ref().unwrap_or(&outer);
        let word = |keys: &[&str]| keys.iter().find_map(|key| inner.get_str(key).filter(|word| !word.is_empty()));
        let beside = |keys: &[&str]| keys.iter().find_map(|key| outer.get_str(key));
        let google = GoogleError::read(inner);
        let exception = || word(&["__type"]).map(|name| exception_name(&name).to_owned());
        let own = word(&CODE).or(google.code).or_else(exception).or_else(|| beside(&CODE)).unwrap_or_default();
        // Azure says more of it one level down.
        let below = inner.get("innererror").and_then(|raw| Fields::parse(raw.text()).ok());
        let below = below.and_then(|error| error.get_str("code")).filter(|code| own.is_empty() || is_filtered(code));
        let code = below.filter(|_| !is_filtered(&own)).unwrap_or(own);
        let unread = UNREAD.contains(&code.as_str()).then(String::new);
        let mut said = Self {
            message: word(&TEXT).or_else(|| outer.get_str("error")).or_else(|| beside(&TEXT)).unwrap_or_default(),
            status: google.status.or_else(|| status_of_exception(&code)),
            code,
            param: word(&["param"]),
            generation: word(&["failed_generation"]).or(unread),
            retry_after: google.retry_after,
            request_id: outer.get_str("request_id"),
        };
        if let Some(unfit) = [inner, &outer].into_iter().find_map(Unfit::of) {
            said.param = said.param.or(Some(unfit.place));
            said.code = unfit.kind;
            said.message = unfit.message;
        }
        if said.message.is_empty() {
            said.message.clone_from(&said.code);
        }
        if let Some(raw) = answer_behind(inner).filter(|raw| behind > 0 && !raw.trim().is_empty()) {
            let reason = Self::read_object(&raw, behind - 1);
            let words = if reason.message.is_empty() { excerpt(&raw).to_owned() } else { reason.message };
            said.message = if said.message.is_empty() { words } else { format!("{}: {words}", said.message) };
            said.code = if reason.code.is_empty() { said.code } else { reason.code };
            said.param = reason.param.or(said.param);
            said.generation = reason.generation.or(said.generation);
        }
        said
    }

    /// The failure of an answer with this status, whose message is `message`.
    pub(crate) fn failure(self, status: u16, message: String) -> Failure {
        let kind = failure_kind(status, &self.code, &self.message);
        let words = || Parameter::in_words(&self.message).map(|parameter| parameter.name().to_owned());
        let refused = kind == FailureKind::BadRequest;
        Failure {
            param: self.param.or_else(|| words().filter(|_| refused)),
            code: Some(self.code).filter(|code| !code.is_empty()),
            generation: self.generation,
            retry_after: self.retry_after,
            request_id: self.request_id,
            ..Failure::new(kind, message)
        }
    }
}

/// What the provider behind a router has answered.
fn answer_behind(error: &Fields) -> Option<String> {
    let metadata = Fields::parse(error.get("metadata")?.text()).ok()?;
    let raw = metadata.get("raw")?;
    Some(raw.string().unwrap_or_else(|| raw.text().to_owned()))
}

/// The first member of a request that does not fit, as servers say that check requests by a schema of theirs.
struct Unfit {
    kind: String,
    place: String,
    message: String,
}

impl Unfit {
    fn of(error: &Fields) -> Option<Self> {
        let list = |fields: &Fields, key: &str| fields.get(key).and_then(|raw| raw.to::<Vec<Fields>>().ok());
        let inside = |key: &str| error.get(key).and_then(|raw| Fields::parse(raw.text()).ok());
        let found = list(error, "detail")
            .or_else(|| list(error, "message"))
            .or_else(|| inside("message").and_then(|fields| list(&fields, "detail")))?;
        let first = found.into_iter().next()?;
        let place: Vec<Raw> = first.get("loc")?.to().ok()?;
        let parts = place.iter().map(|part| part.string().unwrap_or_else(|| part.text().to_owned()));
        let place = parts.skip_while(|part| part == "body").collect::<Vec<_>>().join(".");
        let words = first.get_str("msg").unwrap_or_default();
        Some(Self {
            kind: first.get_str("type").unwrap_or_default(),
            message: if place.is_empty() { words } else { format!("{place}: {words}") },
            place,
        })
    }
}

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

/// The names of errors and their HTTP status: exceptions of AWS, of which those that a stream holds begin with a small
/// letter, and the types of Anthropic.
static EXCEPTIONS: LazyLock<Lists> = LazyLock::new(|| lists(include_str!("exceptions.toml")));

/// The name of an exception without its namespace and what a header puts behind it:
/// `com.amazon.coral.service#ValidationException:http://…`.
pub fn exception_name(code: &str) -> &str {
    let name = code.rsplit_once('#').map_or(code, |(_, name)| name);
    name.split_once(':').map_or(name, |(name, _)| name)
}

fn status_of_exception(code: &str) -> Option<u16> {
    let is = |names: &&HashSet<String>| names.iter().any(|known| known.eq_ignore_ascii_case(code));
    EXCEPTIONS.iter().find(|(_, names)| is(names)).and_then(|(status, _)| status.parse().ok())
}

/// The exception of Bedrock for an HTTP status, or for its like.
pub fn exception_of(status: u16) -> &'static str {
    match status {
        403 | 401 => "AccessDeniedException",
        404 => "ResourceNotFoundException",
        408 => "ModelTimeoutException",
        424 => "ModelErrorException",
        429 => "ThrottlingException",
        400..500 => "ValidationException",
        503 | 529 => "ServiceUnavailableException",
        _ => "InternalServerException",
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
/// some wires, in the body; what a 200 means is in the body alone, and the status that it names is the failure's.
pub fn decode_failure(status: u16, retry_after: Option<f64>, body: &str) -> Failure {
    let said = ErrorWords::read(body);
    let meant = said.status.filter(|_| status == 200).unwrap_or(status);
    let how = if meant == status { status.to_string() } else { format!("{status} with an error of status {meant}") };
    let message = format!("the provider answered {how}: {}", said.message);
    let failure = said.failure(meant, message);
    Failure { status: Some(meant), retry_after: retry_after.or(failure.retry_after), ..failure }
}

/// The failure that an error inside an answer tells of, as in a stream or a batch: it has a status where the error
/// names one, as routers do of the provider behind them.
pub fn decode_inner_failure(body: &str) -> Failure {
    let said = ErrorWords::read(body);
    let status = said.status;
    let message = format!("the provider answered with an error: {}", said.message);
    Failure { status, ..said.failure(status.unwrap_or(200), message) }
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

/// How providers say that a request has more bytes, or more tokens at once, than they take.
const TOO_LARGE: [&str; 3] = ["request_too_large", "request too large", "request entity too large"];

/// Codes of providers' filters, and the words of one that has no code for it.
const FILTERED: [&str; 3] = ["content_filter", "ResponsibleAIPolicyViolation", "content_policy_violation"];
const FILTERED_WORDS: &str = "content filtering policy";

fn is_filtered(code: &str) -> bool {
    FILTERED.contains(&code)
}

/// Codes of what the model wrote and its server could not read: a call, JSON.
const UNREAD: [&str; 2] = ["tool_use_failed", "json_validate_failed"];

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
    // Where one request alone goes beyond the limit of a minute, some answer 429: it does so again later.
    if status == 413 || (matches!(status, 200 | 400 | 422 | 429) && says(&TOO_LARGE)) {
        return FailureKind::RequestTooLarge;
    }
    if matches!(status, 200 | 400 | 403 | 422) && (is_filtered(code) || lower.contains(FILTERED_WORDS)) {
        return FailureKind::ContentFilter;
    }
    if matches!(status, 200 | 400 | 422) && UNREAD.contains(&code) {
        return FailureKind::InvalidBody;
    }
    // One line for each range of the protocol reads better than one for each kind.
    #[allow(clippy::match_same_arms)]
    match status {
        401 => FailureKind::Auth,
        // AWS answers 403 to a signature and to a token that it does not take.
        400 | 403 if status_of_exception(code) == Some(401) => FailureKind::Auth,
        402 => FailureKind::Quota,
        403 => FailureKind::Permission,
        404 => FailureKind::NotFound,
        429 => FailureKind::RateLimited,
        503 | 529 => FailureKind::Overloaded,
        408 | 409 | 424 | 425 | 500..=599 => FailureKind::Server,
        // An error event inside a stream has no status of its own; its code says what it is.
        200 if says(&["overloaded"]) => FailureKind::Overloaded,
        200 if says(&["rate_limit"]) => FailureKind::RateLimited,
        200 if says(&["invalid_request", "invalid_prompt"]) => FailureKind::BadRequest,
        200 if says(&["authentication"]) => FailureKind::Auth,
        200 if code.contains("permission") => FailureKind::Permission,
        200 if code.contains("not_found") => FailureKind::NotFound,
        200 => FailureKind::Server,
        300..=399 => FailureKind::NotFound,
        _ => FailureKind::BadRequest,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// An error as OpenAI writes it.
    fn openai(message: &str, param: Option<&str>, code: Option<&str>) -> String {
        json!({"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}})
            .to_string()
    }

    #[test]
    fn w6_codes_and_parameters_are_read_from_every_shape() {
        let unfit = |place: &[&str], kind: &str, words: &str| json!([{"type": kind, "loc": place, "msg": words}]);
        let place = ["body", "stream_options", "include_usage"];
        let mistral = json!({"object": "error", "type": "invalid_request_error", "param": null, "code": null,
            "message": {"detail": unfit(&place, "extra_forbidden", "Extra inputs are not permitted")}});
        let vllm = json!({"detail": unfit(&["body", "messages", "0", "content"], "missing", "Field required")});
        let google = json!([{"error": {"code": 400, "message": "API key not valid", "status": "INVALID_ARGUMENT"}}]);
        let kind = "invalid_request_error";
        for (body, code, param, says) in [
            (
                openai("'temperature' does not support 0.2", Some("temperature"), Some("unsupported_value")),
                "unsupported_value",
                Some("temperature"),
                "does not support 0.2",
            ),
            (
                mistral.to_string(),
                "extra_forbidden",
                Some("stream_options.include_usage"),
                "stream_options.include_usage: Extra inputs",
            ),
            (vllm.to_string(), "missing", Some("messages.0.content"), "Field required"),
            (openai("This response_format type is unavailable", None, None), kind, Some("response_format"), "unavail"),
            (openai("json mode cannot be combined with tools", None, None), kind, Some("response_format"), "json mode"),
            (openai("tools are not supported", None, None), kind, None, "tools are"),
            (google.to_string(), "INVALID_ARGUMENT", None, "API key"),
            (r#"{"error":"model does not support tools"}"#.to_owned(), "", None, "does not support tools"),
            ("<html>Bad</html>".to_owned(), "", None, "<html>"),
            (String::new(), "", None, "no details given"),
        ] {
            let failure = decode_failure(400, None, &body);
            assert_eq!(failure.kind, FailureKind::BadRequest, "{body}");
            assert_eq!(failure.code.as_deref().unwrap_or_default(), code, "{body}");
            assert_eq!(failure.param.as_deref(), param, "{body}");
            assert!(failure.message.contains(says), "{}", failure.message);
        }
    }

    #[test]
    fn w6_a_call_that_its_server_could_not_read_is_a_failed_sampling() {
        let written = "<function=f>{}</function>";
        let error = json!({"message": "Failed to call a function.", "type": "invalid_request_error",
            "code": "tool_use_failed", "failed_generation": written});
        let failure = decode_failure(400, None, &json!({ "error": error }).to_string());
        assert_eq!((failure.kind, failure.is_transient()), (FailureKind::InvalidBody, true));
        assert_eq!(failure.generation.as_deref(), Some(written));
        let bare = decode_failure(400, None, &openai("no", None, Some("json_validate_failed")));
        assert_eq!((bare.generation.as_deref(), bare.is_transient()), (Some(""), true));
    }

    #[test]
    fn w25_a_filter_of_the_provider_is_told_by_its_code() {
        let azure = |code: Option<&str>, below: &str| {
            let inner = json!({"code": below, "content_filter_result": {"hate": {"filtered": true}}});
            json!({"error": {"message": "The response was filtered due to the prompt triggering policy.",
                "type": null, "param": "prompt", "code": code, "status": 400, "innererror": inner}})
            .to_string()
        };
        let anthropic = json!({"type": "error", "error": {"type": "invalid_request_error",
            "message": "Output blocked by content filtering policy"}});
        for (body, code) in [
            (azure(Some("content_filter"), "ResponsibleAIPolicyViolation"), "content_filter"),
            (azure(None, "ResponsibleAIPolicyViolation"), "ResponsibleAIPolicyViolation"),
            (azure(Some("400"), "ResponsibleAIPolicyViolation"), "ResponsibleAIPolicyViolation"),
            (anthropic.to_string(), "invalid_request_error"),
        ] {
            let failure = decode_failure(400, None, &body);
            assert_eq!(failure.kind, FailureKind::ContentFilter, "{body}");
            assert_eq!(failure.code.as_deref(), Some(code), "{body}");
            assert!(!failure.is_transient() && failure.refused_parameter().is_none());
        }
        let other = decode_failure(400, None, &azure(Some("invalid_prompt"), "SomethingElse"));
        assert_eq!((other.kind, other.code.as_deref()), (FailureKind::BadRequest, Some("invalid_prompt")));
    }

    #[test]
    fn w26_a_request_that_is_too_large_has_a_kind_of_its_own() {
        let anthropic = json!({"type": "error", "error": {"type": "request_too_large",
            "message": "Request exceeds the maximum allowed number of bytes."}});
        let tokens = "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40122.";
        for (status, body) in [
            (413, anthropic.to_string()),
            (413, "<html><h1>413 Request Entity Too Large</h1></html>".to_owned()),
            (429, openai(tokens, None, Some("rate_limit_exceeded"))),
            (413, openai(tokens, None, Some("rate_limit_exceeded"))),
            (400, openai("Request too large", None, None)),
            (200, anthropic.to_string()),
        ] {
            let failure = decode_failure(status, None, &body);
            assert_eq!(failure.kind, FailureKind::RequestTooLarge, "{status} {body}");
            assert!(!failure.is_transient() && failure.kind.is_too_long());
        }
        let long = openai("prompt is too long: 250000 tokens > 200000 maximum", None, None);
        assert_eq!(decode_failure(413, None, &long).kind, FailureKind::ContextTooLong);
        let often = openai("Rate limit reached for gpt-4o", None, Some("rate_limit_exceeded"));
        assert_eq!(decode_failure(429, None, &often).kind, FailureKind::RateLimited);
    }

    #[test]
    fn an_error_inside_an_answer_has_the_status_that_it_names() {
        for (code, status, kind) in [
            ("invalid_request_error", Some(400), FailureKind::BadRequest),
            ("authentication_error", Some(401), FailureKind::Auth),
            ("permission_error", Some(403), FailureKind::Permission),
            ("not_found_error", Some(404), FailureKind::NotFound),
            ("request_too_large", Some(413), FailureKind::RequestTooLarge),
            ("rate_limit_error", Some(429), FailureKind::RateLimited),
            ("api_error", Some(500), FailureKind::Server),
            ("timeout_error", Some(504), FailureKind::Server),
            ("overloaded_error", Some(529), FailureKind::Overloaded),
            ("something_else", None, FailureKind::Server),
        ] {
            let body = json!({"type": "error", "error": {"type": code, "message": "m"}}).to_string();
            let inner = decode_inner_failure(&body);
            assert_eq!((inner.status, inner.kind), (status, kind), "{code}");
            // What a gateway puts behind a 200 means the same.
            let behind = decode_failure(200, None, &body);
            assert_eq!((behind.status, behind.kind), (Some(status.unwrap_or(200)), kind), "{code}");
        }
    }

    #[test]
    fn w12_the_reason_behind_a_router_is_told_and_decides() {
        let router = |raw: &Value| {
            let metadata = json!({"raw": raw, "provider_name": "X"});
            json!({"error": {"message": "Provider returned error", "code": 400, "metadata": metadata}})
        };
        let behind = json!({"error": {"message": "This model's maximum context length is 8192 tokens", "code": "x"}});
        for raw in [json!(behind.to_string()), behind, json!("prompt is too long")] {
            let failure = decode_failure(400, None, &router(&raw).to_string());
            assert_eq!(failure.kind, FailureKind::ContextTooLong, "{}", failure.message);
            assert!(failure.message.starts_with("the provider answered 400: Provider returned error: "));
        }
        // Escapes double with each level.
        let deep = (0..8).fold(json!("end"), |raw, _| json!(router(&raw).to_string()));
        assert!(decode_failure(400, None, &router(&deep).to_string()).message.len() < 4_000);
    }
}
