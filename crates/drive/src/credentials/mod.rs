//! Credentials that are more than a key: they are found when an endpoint is made, and authorise every request.

mod aws;
mod google;

use std::sync::Arc;

use reqwest::{Request, Url};

use super::{endpoint::Secret, http::Client};
use loopwright_base::{
    error::{Error, Failure, FailureKind, Result},
    json::Fields,
};
use loopwright_models::provider::CredentialSource;

/// The variables of an environment.
pub(super) type Env<'e> = &'e dyn Fn(&str) -> Option<String>;

/// Credentials of an endpoint.
#[derive(Clone)]
pub(super) enum Credentials {
    Aws(Arc<aws::Signer>),
    Google(Arc<google::Account>),
}

impl Credentials {
    /// The credentials that the environment names; `None` if it names none. They are for `service`, in a region if the
    /// addresses have one.
    pub(super) fn find(
        source: CredentialSource,
        env: Env<'_>,
        service: &str,
        region: Option<&str>,
    ) -> Result<Option<Self>> {
        match source {
            CredentialSource::Aws => {
                Ok(aws::Signer::find(env, service, region)?.map(|signer| Self::Aws(Arc::new(signer))))
            }
            CredentialSource::Google => Ok(google::Account::find(env)?.map(|account| Self::Google(Arc::new(account)))),
        }
    }

    /// Signs a request, or adds its token.
    pub(super) async fn authorize(&self, client: &Client, request: &mut Request) -> Result<(), Failure> {
        match self {
            Self::Aws(signer) => signer.authorize(client, request).await,
            Self::Google(account) => account.authorize(client, request).await,
        }
    }

    /// Forgets what was given out for a time, where a provider does not take it any more; whether there was anything.
    pub(super) async fn renew(&self, failure: &Failure) -> bool {
        match self {
            Self::Aws(signer) => failure.kind == FailureKind::Auth && signer.forget().await,
            Self::Google(account) => failure.status == Some(401) && account.forget().await,
        }
    }

    /// The texts that must not be seen.
    pub(super) fn secrets(&self) -> Vec<Secret> {
        match self {
            Self::Aws(signer) => signer.secrets(),
            Self::Google(account) => account.secrets(),
        }
    }
}

/// A setting of addresses that credentials hold: a project, a region.
pub(super) fn setting(source: CredentialSource, name: &str, env: Env<'_>) -> Option<String> {
    match (source, name) {
        (CredentialSource::Aws, "region") => aws::region(env),
        (CredentialSource::Google, "project") => google::project(env),
        _ => None,
    }
}

/// How to give credentials by variables.
pub(super) const fn hint(source: CredentialSource) -> &'static str {
    match source {
        CredentialSource::Google => "or GOOGLE_APPLICATION_CREDENTIALS=account.json",
        CredentialSource::Aws => "or AWS_ACCESS_KEY_ID=... and AWS_SECRET_ACCESS_KEY=..., or AWS_PROFILE=...",
    }
}

/// The size of the longest file or answer with credentials, in bytes.
const MAX_BYTES: usize = 256 << 10;

/// Reads a file of credentials.
fn read_file(from: &str, path: &str) -> Result<String> {
    let shown = |why: &dyn std::fmt::Display| {
        Error::usage("invalid_credentials", format!("{from} names {path:?}, which can't be read: {why}"))
            .hint("give the path of a file that this process may read")
    };
    let length = std::fs::metadata(path).map_err(|error| shown(&error))?.len();
    if length > MAX_BYTES as u64 {
        return Err(shown(&"it is too large to be one of credentials"));
    }
    std::fs::read_to_string(path).map_err(|error| shown(&error))
}

/// Sends a request to a server that gives out credentials, with `direct` past every proxy, and reads the object that it
/// answers with.
async fn ask_for(client: &Client, request: Request, direct: bool, what: &str) -> Result<Fields, Failure> {
    let host = request.url().host_str().unwrap_or_default().to_owned();
    let connections = client.connections_to(request.url(), direct)?;
    let mut answer = connections.execute(request).await.map_err(|error| {
        let why = if error.is_timeout() { "it did not answer in time" } else { "no connection" };
        Failure::new(FailureKind::Connect, format!("{what} could not be had from {host}: {why}"))
    })?;
    let status = answer.status();
    let mut body = Vec::new();
    while let Ok(Some(piece)) = answer.chunk().await {
        body.extend_from_slice(&piece);
        if body.len() > MAX_BYTES {
            break;
        }
    }
    let fields = std::str::from_utf8(&body).ok().and_then(|text| Fields::parse(text).ok());
    match fields {
        Some(fields) if status.is_success() => Ok(fields),
        fields => {
            let said = |key: &str| fields.as_ref().and_then(|fields| fields.get_str(key));
            let words: Vec<String> =
                ["error", "code", "error_description", "message"].iter().filter_map(|k| said(k)).collect();
            let words = if words.is_empty() { "no details given".to_owned() } else { words.join(": ") };
            let kind = match status.as_u16() {
                429 => FailureKind::RateLimited,
                500.. => FailureKind::Server,
                200..300 => FailureKind::InvalidBody,
                _ => FailureKind::Auth,
            };
            let words: String = words.chars().take(400).collect();
            Err(Failure::new(kind, format!("{what} could not be had: {host} answered {}: {words}", status.as_u16())))
        }
    }
}

/// Returns whether secrets may be sent to an address: by TLS, or on this machine.
fn is_safe(url: &Url) -> bool {
    url.scheme() == "https" || super::endpoint::is_loopback(url)
}
