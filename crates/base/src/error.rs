//! Errors, by fault: who has to act.
//!
//! Every error says what was wrong, where, and what to do. A bug of ours never looks like a mistake of a tool.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};

use super::parameter::Parameter;

/// The party that has to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The caller: a wrong argument, a missing key, an illegal event.
    Usage,
    /// The model: an answer that can't be used.
    Model,
    /// A tool.
    Tool,
    /// The provider, or the way to it.
    Provider,
    /// The engine itself.
    Internal,
}

/// An error: what was wrong, where, and what to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Error {
    /// The party that has to act.
    pub guilt: Fault,
    /// A stable name for programs: `missing_key`, `rate_limited`, `invalid_body`, …
    pub code: Cow<'static, str>,
    /// The description, with the place.
    pub message: String,
    /// The hint: what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Data of the provider's answer beside its words, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Box<ProviderReply>>,
}

/// Data of a provider's refusal, for programs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProviderReply {
    /// The HTTP status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Seconds that the provider asks to wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<f64>,
    /// The provider's id of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// The result of a function that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `guilt`.
    pub fn new(guilt: Fault, code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { guilt, code: code.into(), message: message.into(), hint: None, answered: None }
    }

    /// An error of the caller.
    pub fn usage(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(Fault::Usage, code, message)
    }

    /// An error of the model.
    pub fn model(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(Fault::Model, code, message)
    }

    /// An error of the provider.
    pub fn provider(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(Fault::Provider, code, message)
    }

    /// An internal error of the engine.
    pub fn internal(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(Fault::Internal, code, message)
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

/// The kind of a failed model call, by which the machine decides whether to retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The key is missing or wrong (401).
    Auth,
    /// The key may not do this (403).
    Permission,
    /// No such model or path (404).
    NotFound,
    /// The request is wrong (400, 413, 422).
    BadRequest,
    /// The request is longer than the context window.
    ContextTooLong,
    /// The provider's filter refuses what the request says.
    ContentFilter,
    /// Too many requests (429).
    RateLimited,
    /// The provider is overloaded (503, 529).
    Overloaded,
    /// The provider failed (408, 409, 425, other 5xx, an error event in a stream).
    Server,
    /// The quota is used up (402, `insufficient_quota`).
    Quota,
    /// A time limit of the client passed: connect, first byte, idle or total.
    Timeout,
    /// No connection: refused, unreachable, name unknown.
    Connect,
    /// TLS failed: the certificate is not trusted.
    Tls,
    /// The answer broke off.
    Cut,
    /// The answer does not conform to the protocol.
    InvalidBody,
    /// The circuit breaker of this host is open: nothing was sent.
    BreakerOpen,
    /// The call was cancelled by its caller.
    Cancelled,
    /// The request can't be made for this wire.
    Usage,
    /// An internal fault of the engine.
    Internal,
    /// The provider takes no such block: a picture, a document. Nothing was sent.
    UnsupportedBlock,
}

impl FailureKind {
    /// Returns whether the same request may succeed later.
    pub const fn is_transient(self) -> bool {
        matches!(
            self,
            Self::RateLimited
                | Self::Overloaded
                | Self::Server
                | Self::Timeout
                | Self::Connect
                | Self::Cut
                | Self::InvalidBody
                | Self::BreakerOpen
        )
    }

    /// A stable name for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Permission => "permission",
            Self::NotFound => "not_found",
            Self::BadRequest => "bad_request",
            Self::ContextTooLong => "context_too_long",
            Self::ContentFilter => "content_filter",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::Server => "server",
            Self::Quota => "quota",
            unanswered => unanswered.name_unanswered(),
        }
    }

    /// The name of a failure that is not what a provider said.
    const fn name_unanswered(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Cut => "cut",
            Self::InvalidBody => "invalid_body",
            Self::BreakerOpen => "breaker_open",
            Self::Cancelled => "cancelled",
            Self::Usage => "usage",
            Self::UnsupportedBlock => "unsupported_block",
            _ => "internal",
        }
    }

    /// The party that has to act.
    pub const fn guilt(self) -> Fault {
        match self {
            Self::Auth | Self::Usage | Self::UnsupportedBlock => Fault::Usage,
            Self::Internal => Fault::Internal,
            _ => Fault::Provider,
        }
    }
}

/// The words for a certificate whose signer is unknown: a matter of local trust.
pub const UNKNOWN_ISSUER: &str = "its certificate is signed by nobody we trust";

/// A model call that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of the failure.
    pub kind: FailureKind,
    /// The description; never holds a key.
    pub message: String,
    /// The HTTP status, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Seconds that the provider asks to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<f64>,
    /// The provider's id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The provider's word on whether the same request may succeed later (`x-should-retry`), where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub should_retry: Option<bool>,
    /// The hint, where it does not follow from the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The provider's code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The parameter of the request that the provider names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    /// The text of a call or of JSON that the model wrote and its server could not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<String>,
}

impl Failure {
    /// A failure of `kind`.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            kind,
            message,
            status: None,
            retry_after: None,
            request_id: None,
            should_retry: None,
            hint: None,
            code: None,
            param: None,
            generation: None,
        }
    }

    /// The parameter that the provider refuses, where the request may go without it or with another name of it.
    pub fn refused_parameter(&self) -> Option<Parameter> {
        let parameter = self.param.as_deref().filter(|_| self.kind == FailureKind::BadRequest)?;
        // A limit that is too high is no limit of another name.
        let is_unknown = || {
            let code = self.code.as_deref().unwrap_or_default();
            ["unsupported", "unknown", "forbidden"].iter().any(|word| code.contains(word))
                || self.message.contains("not supported")
        };
        Parameter::named(parameter).filter(|parameter| *parameter != Parameter::Limit || is_unknown())
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns whether the same request may succeed later. The provider knows best, but a request that is too long
    /// stays too long.
    pub fn is_transient(&self) -> bool {
        match self.kind {
            FailureKind::ContextTooLong => false,
            kind => self.should_retry.unwrap_or_else(|| kind.is_transient()),
        }
    }

    /// Converts the failure to an error.
    pub fn to_error(&self) -> Error {
        let mut error = Error::new(self.kind.guilt(), self.kind.name(), self.message.clone());
        let retry_after = self.retry_after.filter(|seconds| seconds.is_finite());
        let answered = ProviderReply { status: self.status, retry_after, request_id: self.request_id.clone() };
        error.answered = (answered != ProviderReply::default()).then(|| Box::new(answered));
        if let Some(hint) = &self.hint {
            return error.hint(hint.clone());
        }
        match self.kind {
            FailureKind::RateLimited | FailureKind::Overloaded | FailureKind::Server
                if self.retry_after.is_some_and(|seconds| seconds > 0.0 && seconds.is_finite()) =>
            {
                let seconds = self.retry_after.unwrap_or_default();
                error.hint(format!("try again after the {seconds} s that it asks for"))
            }
            FailureKind::Auth => error.hint("check the API key in the environment"),
            FailureKind::NotFound => error.hint("check the model's name and the base URL"),
            FailureKind::Connect => error.hint("check the base URL and that the server runs"),
            FailureKind::Tls if self.message.contains(UNKNOWN_ISSUER) => {
                error.hint("set SSL_CERT_FILE to the CA that signed the server's certificate")
            }
            FailureKind::Tls => error.hint("check the base URL, and the certificate with whoever runs the server"),
            FailureKind::ContextTooLong => error.hint("shorten the history or choose a model with a larger window"),
            FailureKind::ContentFilter => {
                error.hint("the provider's filter refuses the prompt: change it, or name a fallback model")
            }
            FailureKind::Quota => error.hint("check plan and billing with the provider"),
            FailureKind::RateLimited | FailureKind::Overloaded => error.hint("try again later"),
            FailureKind::Permission => error.hint("check what the API key may use with the provider"),
            FailureKind::BadRequest => error.hint("the provider refuses the request itself: change what it names"),
            FailureKind::Server => {
                error.hint("the trouble is the provider's: try again later, or name a fallback model")
            }
            FailureKind::Timeout => error.hint("raise the limit in timeouts, or ask for less at once"),
            FailureKind::Cut => {
                error.hint("try again; if it keeps breaking off, look for a proxy that ends long answers")
            }
            FailureKind::InvalidBody if self.generation.is_some() => {
                error.hint("try again, or take another model: its server could not read what it wrote")
            }
            FailureKind::InvalidBody => error.hint("check that the base URL is that of an API of this provider"),
            FailureKind::BreakerOpen => {
                error.hint("wait half a minute, or name a fallback model; it is tried by itself then")
            }
            FailureKind::Cancelled | FailureKind::Usage | FailureKind::Internal | FailureKind::UnsupportedBlock => {
                error
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_to_wait_is_said_where_the_provider_says_it() {
        let mut failure = Failure::new(FailureKind::RateLimited, "too many requests");
        assert_eq!(failure.to_error().hint.as_deref(), Some("try again later"));
        failure.retry_after = Some(61.0);
        assert_eq!(failure.to_error().hint.as_deref(), Some("try again after the 61 s that it asks for"));
        // A journal can't tell of it, and a replay says the same.
        failure.retry_after = Some(f64::INFINITY);
        assert_eq!(failure.to_error().hint.as_deref(), Some("try again later"));
    }
}
