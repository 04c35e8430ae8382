//! One request to a service of the web that answers in JSON: a search engine, for one.
//!
//! The address is the user's own, so it may be private; keys travel in headers, which are never sent on to where an
//! answer redirects, and never get into an error's words. Bodies are bounded, unpacked or not.

use std::fmt;

use reqwest::{
    Method, Request,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};
use serde::Deserialize;

use super::{
    answer::retry_after,
    fetch::{body, check, execute, parse},
    http::Client,
    options::limit,
};
use loopwright_base::error::{Error, Fault, Result};

/// A request to a web service.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebCall {
    /// The address.
    pub url: String,
    /// Parameters that are added to the address's query.
    #[serde(default)]
    pub query: Vec<(String, String)>,
    /// Headers, keys among them.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The body, as JSON text; with one it is a POST.
    #[serde(default)]
    pub body: Option<String>,
    /// Seconds for the whole call.
    #[serde(default = "default_timeout")]
    pub timeout: f64,
    /// Bytes that are read of the answer; a longer one is an error.
    #[serde(default = "default_max_bytes")]
    pub max_bytes: usize,
    /// Hosts of this machine and of private networks may be asked.
    #[serde(default)]
    pub allow_private: bool,
}

fn default_timeout() -> f64 {
    20.0
}

fn default_max_bytes() -> usize {
    4 << 20
}

impl fmt::Debug for WebCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers, body and query may hold keys.
        f.debug_struct("WebCall").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// The answer of a web service.
#[derive(Clone, Debug, PartialEq)]
pub struct WebAnswer {
    /// The HTTP status; not only 200.
    pub status: u16,
    /// Seconds that the service asks to wait.
    pub retry_after: Option<f64>,
    /// The body.
    pub body: Vec<u8>,
}

fn call_error(code: &'static str, message: impl Into<String>) -> Error {
    Error::new(Fault::Provider, code, message)
}

/// Makes a request.
pub async fn web_call(client: &Client, call: &WebCall) -> Result<WebAnswer> {
    match tokio::time::timeout(limit(call.timeout), send(client, call)).await {
        Ok(outcome) => outcome.map_err(|error| Error { guilt: Fault::Provider, ..error }),
        Err(_) => Err(call_error("timeout", format!("no answer within {} s", call.timeout))),
    }
}

/// Seconds until the limits that are used up begin anew, where a service tells them as lists: `x-ratelimit-remaining:
/// 0, 1000` with `x-ratelimit-reset: 1, 1419704`.
fn window_end(headers: &HeaderMap) -> Option<f64> {
    let numbers = |name: &str| -> Option<Vec<f64>> {
        let list = headers.get(name)?.to_str().ok()?;
        list.split(',').take(8).map(|one| one.trim().parse::<f64>().ok().filter(|number| *number >= 0.0)).collect()
    };
    let resets = numbers("x-ratelimit-reset")?;
    let left = numbers("x-ratelimit-remaining").unwrap_or_default();
    let used_up = resets.iter().zip(&left).filter(|(_, left)| **left < 1.0).map(|(reset, _)| *reset);
    // Some count from 1970: nobody waits for that long, and it is no answer to how long.
    used_up.reduce(f64::max).or(resets.first().copied()).filter(|seconds| *seconds < 1e9)
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
            return Err(call_error("invalid_value", format!("the header {name:?} can't be sent: check the key")));
        };
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    if let Some(body) = &call.body {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        *request.body_mut() = Some(body.clone().into());
    }
    let answer = execute(client, call.allow_private, request).await?;
    let status = answer.status();
    if status.is_redirection() {
        return Err(call_error("redirected", format!("{host} points elsewhere ({status}); a key is not sent there"))
            .hint("give the address that it points to"));
    }
    let retry_after = retry_after(answer.headers()).or_else(|| window_end(answer.headers()));
    let (bytes, truncated) = body(answer, &host, call.max_bytes).await?;
    if truncated {
        return Err(call_error("too_large", format!("{host} answered with more than {} bytes", call.max_bytes)));
    }
    Ok(WebAnswer { status: status.as_u16(), retry_after, body: bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_window_is_that_of_the_limit_that_is_used_up() {
        let end = |remaining: Option<&'static str>, reset: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("x-ratelimit-reset", HeaderValue::from_static(reset));
            if let Some(remaining) = remaining {
                headers.insert("x-ratelimit-remaining", HeaderValue::from_static(remaining));
            }
            window_end(&headers)
        };
        assert_eq!(end(Some("0, 1000"), "1, 1419704"), Some(1.0));
        assert_eq!(end(Some("1, 0"), "1, 1419704"), Some(1_419_704.0));
        assert_eq!(end(None, "2, 1419704"), Some(2.0));
        assert_eq!(end(None, "1790000000"), None);
        assert_eq!(end(Some("0"), "soon"), None);
    }
}
