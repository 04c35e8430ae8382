//! One request to a service of the web that answers in JSON: a search engine, for one.
//!
//! The address is the user's own, so it may be private; keys travel in headers, which are never sent on to where an
//! answer redirects, and never get into an error's words. Bodies are bounded, unpacked or not.

use std::fmt;

use reqwest::{
    Method, Request,
    header::{self, HeaderName, HeaderValue},
};
use serde::Deserialize;

use super::{
    fetch::{body, broken, check, connections, parse},
    http::Client,
    options::limit,
};
use crate::core::error::{Error, Guilt, Result};

/// A request.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebCall {
    /// Where to.
    pub url: String,
    /// Parameters that are added to its query.
    #[serde(default)]
    pub query: Vec<(String, String)>,
    /// Headers, keys among them.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The body, as JSON text; with one it is a POST.
    #[serde(default)]
    pub body: Option<String>,
    /// Seconds for all of it.
    #[serde(default = "patience")]
    pub timeout: f64,
    /// At most this much of the answer is read; a longer one is an error.
    #[serde(default = "enough")]
    pub max_bytes: usize,
    /// Whether hosts of this machine and of private networks may be asked.
    #[serde(default)]
    pub allow_private: bool,
}

fn patience() -> f64 {
    20.0
}

fn enough() -> usize {
    4 << 20
}

impl fmt::Debug for WebCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers, body and query may hold keys.
        f.debug_struct("WebCall").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// What came back.
#[derive(Clone, Debug, PartialEq)]
pub struct WebAnswer {
    /// The status; not only 200.
    pub status: u16,
    /// Seconds that the service asks us to wait.
    pub retry_after: Option<f64>,
    /// The body.
    pub body: Vec<u8>,
}

fn wrong(code: &'static str, message: impl Into<String>) -> Error {
    Error::new(Guilt::Provider, code, message)
}

/// Makes a request.
pub async fn web_call(client: &Client, call: &WebCall) -> Result<WebAnswer> {
    match tokio::time::timeout(limit(call.timeout), send(client, call)).await {
        Ok(outcome) => outcome.map_err(|error| Error { guilt: Guilt::Provider, ..error }),
        Err(_) => Err(wrong("timeout", format!("no answer within {} s", call.timeout))),
    }
}

async fn send(client: &Client, call: &WebCall) -> Result<WebAnswer> {
    let mut url = parse(call.url.trim())?;
    if !call.query.is_empty() {
        url.query_pairs_mut().extend_pairs(&call.query);
    }
    let host = url.host_str().unwrap_or_default().to_owned();
    check(client.options(), &url, call.allow_private).await?;
    let method = if call.body.is_some() { Method::POST } else { Method::GET };
    let mut request = Request::new(method, url.clone());
    let headers = request.headers_mut();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip, deflate"));
    for (name, value) in &call.headers {
        let (Ok(header), Ok(mut value)) = (HeaderName::try_from(name.as_str()), HeaderValue::try_from(value.as_str()))
        else {
            return Err(wrong("invalid_value", format!("the header {name:?} can't be sent: check the key")));
        };
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    if let Some(body) = &call.body {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        *request.body_mut() = Some(body.clone().into());
    }
    let answer =
        connections(client, call.allow_private)?.execute(request).await.map_err(|error| broken(&error, &url))?;
    let status = answer.status();
    if status.is_redirection() {
        return Err(wrong("redirected", format!("{host} points elsewhere ({status}); a key is not sent there"))
            .hint("give the address that it points to"));
    }
    let retry_after = answer.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = retry_after.and_then(|value| value.trim().parse::<f64>().ok()).filter(|value| *value >= 0.0);
    let (bytes, truncated) = body(answer, &host, call.max_bytes).await?;
    if truncated {
        return Err(wrong("too_large", format!("{host} answered with more than {} bytes", call.max_bytes)));
    }
    Ok(WebAnswer { status: status.as_u16(), retry_after, body: bytes })
}
