//! Options of a client: trusted roots, proxies, the breaker's numbers, and time limits for a call.
//!
//! The usual variables of the environment are read in one place, here.

use std::{
    fmt,
    path::PathBuf,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use super::endpoint::without_secrets;

/// The place of extra trusted roots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RootSource {
    /// A file of certificates in PEM form.
    File(PathBuf),
    /// A directory of such files.
    Directory(PathBuf),
}

/// Options of a client. `Default` takes nothing from the environment.
#[derive(Clone)]
pub struct ClientOptions {
    /// Roots to trust besides the built-in ones, each with the name of the variable or argument it came from.
    pub roots: Vec<(String, RootSource)>,
    /// The proxy for `http` addresses.
    pub http_proxy: Option<String>,
    /// The proxy for `https` addresses.
    pub https_proxy: Option<String>,
    /// The proxy for all addresses that have no other.
    pub all_proxy: Option<String>,
    /// Hosts that are reached without a proxy, separated by commas.
    pub no_proxy: Option<String>,
    /// Failures in a row after which a host is left alone.
    pub breaker_threshold: u32,
    /// Seconds for which a host is left alone.
    pub breaker_cooldown: f64,
    /// Seconds of the minute that limits of requests and tokens hold for: against a server whose minute is another.
    pub minute: f64,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            roots: Vec::new(),
            http_proxy: None,
            https_proxy: None,
            all_proxy: None,
            no_proxy: None,
            breaker_threshold: 3,
            breaker_cooldown: 30.0,
            minute: 60.0,
        }
    }
}

impl fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |proxy: &Option<String>| proxy.as_deref().map(without_secrets);
        f.debug_struct("ClientOptions")
            .field("roots", &self.roots)
            .field("http_proxy", &shown(&self.http_proxy))
            .field("https_proxy", &shown(&self.https_proxy))
            .field("all_proxy", &shown(&self.all_proxy))
            .field("no_proxy", &self.no_proxy)
            .field("breaker_threshold", &self.breaker_threshold)
            .field("breaker_cooldown", &self.breaker_cooldown)
            .field("minute", &self.minute)
            .finish()
    }
}

impl ClientOptions {
    /// Reads `SSL_CERT_FILE`, `SSL_CERT_DIR`, `REQUESTS_CA_BUNDLE`, `CURL_CA_BUNDLE`, `HTTP_PROXY`, `HTTPS_PROXY`,
    /// `ALL_PROXY`, `NO_PROXY` from `env` (the last four in lower case too, which wins).
    pub fn from_env(env: impl Fn(&str) -> Option<String>) -> Self {
        let env = |name: &str| env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let mut roots = Vec::new();
        for name in ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"] {
            roots.extend(env(name).map(|path| (name.to_owned(), RootSource::File(path.into()))));
        }
        if let Some(paths) = env("SSL_CERT_DIR") {
            roots.extend(
                std::env::split_paths(&paths)
                    .filter(|path| !path.as_os_str().is_empty())
                    .map(|path| ("SSL_CERT_DIR".to_owned(), RootSource::Directory(path))),
            );
        }
        let either = |lower: &str| env(lower).or_else(|| env(&lower.to_uppercase()));
        // A CGI server puts the client's `Proxy:` header into HTTP_PROXY: there, only the lower case can be trusted.
        let http_proxy = if env("REQUEST_METHOD").is_some() { env("http_proxy") } else { either("http_proxy") };
        Self {
            roots,
            http_proxy,
            https_proxy: either("https_proxy"),
            all_proxy: either("all_proxy"),
            no_proxy: either("no_proxy"),
            ..Self::default()
        }
    }

    /// Trusts the certificates in `path` as well.
    #[must_use]
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.roots.push(("ca_file".to_owned(), RootSource::File(path.into())));
        self
    }

    /// The proxies with the variables they come from, the most particular first.
    pub(super) fn proxies(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [("HTTPS_PROXY", &self.https_proxy), ("HTTP_PROXY", &self.http_proxy), ("ALL_PROXY", &self.all_proxy)]
            .into_iter()
            .filter_map(|(name, proxy)| proxy.as_deref().map(|proxy| (name, proxy)))
    }
}

/// Time limits of one call, in seconds. A limit that is not positive or not finite does not limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Timeouts {
    /// Seconds until the connection stands, TLS included.
    pub connect: f64,
    /// Seconds until the answer begins.
    pub first_byte: f64,
    /// Seconds between two pieces of the answer.
    pub idle: f64,
    /// Seconds for the whole call.
    pub total: f64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: 10.0, first_byte: 60.0, idle: 60.0, total: 90.0 }
    }
}

/// No limit, in practice: the runtime's timers end here.
const NO_LIMIT: Duration = Duration::from_secs(86400 * 365);

/// A limit as a duration.
pub(super) fn limit(seconds: f64) -> Duration {
    if seconds > 0.0 {
        Duration::try_from_secs_f64(seconds).map_or(NO_LIMIT, |limit| limit.min(NO_LIMIT))
    } else {
        NO_LIMIT
    }
}

/// The limits of a call and the times at which they pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadlines {
    pub(super) limits: Timeouts,
    /// The time at which the whole call must be over.
    total: Instant,
    /// The time at which the answer must have begun; after that, at which the next piece must have come.
    next: Instant,
    begun: bool,
}

impl Deadlines {
    pub(super) fn start(limits: Timeouts) -> Self {
        let now = Instant::now();
        Self { limits, total: now + limit(limits.total), next: now + limit(limits.first_byte), begun: false }
    }

    /// The connection stands, and the answer has yet to begin: what has passed of the whole call stays so.
    pub(super) fn begin_answer(&mut self, limits: Timeouts) {
        (self.limits, self.begun) = (limits, false);
        self.next = Instant::now() + limit(limits.first_byte);
    }

    /// Records a piece of the answer. Returns the limit that has passed all the same: a server that sends all the time
    /// is not idle, but may take too long.
    pub(super) fn record_piece(&mut self) -> Option<String> {
        let now = Instant::now();
        self.begun = true;
        self.next = now + limit(self.limits.idle);
        self.passed_at(now)
    }

    /// The time at which the next limit passes.
    pub(super) fn next(&self) -> Instant {
        self.total.min(self.next)
    }

    /// The limit that has passed, in words; `None` if there is time left.
    pub(super) fn passed(&self) -> Option<String> {
        self.passed_at(Instant::now())
    }

    fn passed_at(&self, now: Instant) -> Option<String> {
        if now < self.next() {
            None
        } else if now >= self.total {
            Some(format!("the call took longer than {} s (total limit)", self.limits.total))
        } else if self.begun {
            Some(format!("nothing came for {} s (idle limit)", self.limits.idle))
        } else {
            Some(format!("no answer began within {} s (first-byte limit)", self.limits.first_byte))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_variables_are_read() {
        let options = ClientOptions::from_env(|name| {
            Some(
                match name {
                    "SSL_CERT_FILE" => "/a.pem",
                    "SSL_CERT_DIR" => "/b:/c",
                    "CURL_CA_BUNDLE" => "/d.pem",
                    "HTTPS_PROXY" => "http://me:hunter22@p:1",
                    "http_proxy" => "http://lower:1",
                    "HTTP_PROXY" => "http://upper:1",
                    _ => return None,
                }
                .to_owned(),
            )
        });
        assert_eq!(options.http_proxy.as_deref(), Some("http://lower:1"));
        assert_eq!(options.roots.len(), 4);
        assert_eq!(options.roots[1], ("CURL_CA_BUNDLE".to_owned(), RootSource::File("/d.pem".into())));
        assert_eq!(options.roots[3], ("SSL_CERT_DIR".to_owned(), RootSource::Directory("/c".into())));
        let shown = format!("{options:?}");
        assert!(!shown.contains("hunter22") && shown.contains("p:1"), "{shown}");
        let cgi = ClientOptions::from_env(|name| {
            ["HTTP_PROXY", "REQUEST_METHOD"].contains(&name).then(|| "http://evil".to_owned())
        });
        assert_eq!(cgi.http_proxy, None);
    }

    #[test]
    fn limits_that_do_not_limit() {
        for seconds in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(limit(seconds), NO_LIMIT, "{seconds}");
        }
        assert_eq!(limit(0.5), Duration::from_millis(500));
        let some: Timeouts = serde_json::from_str(r#"{"idle": 1}"#).unwrap();
        assert_eq!(some, Timeouts { idle: 1.0, ..Timeouts::default() });
        assert!((some.total - 90.0).abs() < f64::EPSILON, "90 seconds a round unless told otherwise");
    }
}
