//! One page of the web: fetched with bounds on size, time and redirections.
//!
//! Addresses come from models, so they are hostile: only http and https, and no host of this machine or of the network
//! behind it, unless that is allowed; and no page that its site does not want fetched. What is checked is the address
//! that is connected to, at every redirection, so that a name which resolves differently the second time gains nothing.

use std::{
    collections::HashMap,
    fmt::{self, Write as _},
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use reqwest::{
    Method, Request, Url,
    dns::{Name, Resolve, Resolving},
    header::{self, HeaderValue},
};
use serde::{Deserialize, Serialize};

use super::{
    address::{is_metadata_address, is_other_protocol_port, is_private},
    error_map,
    http::{Client, ClientOptions, Timeouts},
    options::limit,
    page::{
        self,
        body::Body,
        robots::{self, Robots},
    },
    stale_connection,
};
use loopwright_base::error::{Error, Failure, FailureKind, Fault, Result};

/// Limits of one fetch: size, time, redirections, and the hosts that may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FetchOptions {
    /// At most this much of the body is read; the rest is left out.
    pub max_bytes: usize,
    /// Seconds for all of it, redirections included.
    pub timeout: f64,
    /// Redirections that are followed at most.
    pub max_redirects: usize,
    /// Hosts of this machine and of private networks may be asked; link-local addresses and the metadata services of
    /// clouds never are.
    pub allow_private: bool,
    /// `robots.txt` is fetched first and obeyed.
    pub robots: bool,
    /// Only text is read; any other content type is refused before its body comes.
    pub text_only: bool,
    /// A longer body is an error instead of being cut.
    pub refuse_longer: bool,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            max_bytes: 2 << 20,
            timeout: 20.0,
            max_redirects: 5,
            allow_private: false,
            robots: true,
            text_only: false,
            refuse_longer: false,
        }
    }
}

/// A page as the server sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The last address, after redirections.
    pub url: String,
    /// The status; not only 200.
    pub status: u16,
    /// The content type, as the server wrote it.
    pub content_type: Option<String>,
    /// The body, or its beginning.
    pub body: Bytes,
    /// There was more of the body than `max_bytes`.
    pub truncated: bool,
}

/// Fetches `url`.
pub async fn fetch_page(client: &Client, url: &str, options: &FetchOptions) -> Result<Page> {
    match tokio::time::timeout(limit(options.timeout), follow(client, url, options)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(fetch_error("timeout", format!("the page did not come within {} s", options.timeout))),
    }
}

fn fetch_error(code: &'static str, message: impl Into<String>) -> Error {
    Error::new(Fault::Tool, code, message)
}

/// The client for pages, whose failures are no mistakes of the user.
fn connections(client: &Client, allow_private: bool) -> Result<reqwest::Client> {
    client.pages(allow_private).map_err(|failure| failure.to_error())
}

async fn follow(client: &Client, url: &str, options: &FetchOptions) -> Result<Page> {
    let mut url = parse(url.trim())?;
    for _ in 0..=options.max_redirects {
        check_port(&url)?;
        check(client.options(), &url, options.allow_private).await?;
        if options.robots {
            check_robots(client, &url, options).await?;
        }
        match step(client, &url, options, ACCEPTED).await? {
            FetchStep::Done(answer) => {
                if options.text_only && answer.status().is_success() {
                    let content_type = answer.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
                    page::check_type(url.as_str(), content_type)?;
                }
                return read(answer, url, options).await;
            }
            FetchStep::Moved(target) => url = target,
        }
    }
    Err(fetch_error(
        "too_many_redirects",
        format!("more than {} redirections, the last to {url}", options.max_redirects),
    ))
}

const ACCEPTED: &str = "text/html,application/xhtml+xml,text/plain,application/json;q=0.9,*/*;q=0.5";

enum FetchStep {
    Done(reqwest::Response),
    Moved(Url),
}

/// Sends one request and returns the page or the next address.
async fn step(client: &Client, url: &Url, options: &FetchOptions, accept: &'static str) -> Result<FetchStep> {
    let mut request = Request::new(Method::GET, url.clone());
    let headers = request.headers_mut();
    headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip, deflate"));
    let answer = execute(client, options.allow_private, request).await?;
    // Not 304 and 300, which are redirections by name only.
    let moved = matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(target) = answer.headers().get(header::LOCATION).filter(|_| moved) else {
        return Ok(FetchStep::Done(answer));
    };
    let target = url
        .join(&location_text(target.as_bytes()))
        .map_err(|_| fetch_error("invalid_url", format!("{url} points to what is no URL")))?;
    parse(target.as_str()).map(FetchStep::Moved)
}

/// The text of a `Location` header: servers write it raw, in UTF-8 or in what they take for it, and mean these bytes.
fn location_text(location: &[u8]) -> String {
    let mut text = String::with_capacity(location.len());
    for byte in location.trim_ascii() {
        if byte.is_ascii() {
            text.push(char::from(*byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// Refuses what the site does not want fetched.
async fn check_robots(client: &Client, url: &Url, options: &FetchOptions) -> Result<()> {
    let origin = url.origin().ascii_serialization();
    let robots = if let Some(robots) = client.robots().cached(&origin) {
        robots
    } else {
        let robots = Arc::new(fetch_robots(client, &origin, options).await?);
        client.robots().insert(origin, robots.clone());
        robots
    };
    let path = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
    if robots.allows(&path) {
        return Ok(());
    }
    let host = url.host_str().unwrap_or_default();
    let why = if *robots == Robots::Nothing {
        format!("{host} could not say what may be fetched: its robots.txt answers with an error")
    } else {
        format!("{host} does not want {} fetched: its robots.txt says so", url.path())
    };
    Err(fetch_error("robots", why)
        .hint("look for another page; what robots.txt says can be passed over only by choice"))
}

async fn fetch_robots(client: &Client, origin: &str, options: &FetchOptions) -> Result<Robots> {
    let mut url = parse(&format!("{origin}/robots.txt"))?;
    for _ in 0..=options.max_redirects.min(5) {
        check_port(&url)?;
        check(client.options(), &url, options.allow_private).await?;
        match step(client, &url, options, "text/plain,*/*;q=0.5").await? {
            FetchStep::Moved(target) => url = target,
            FetchStep::Done(answer) => {
                let status = answer.status();
                if status.is_server_error() || status.as_u16() == 429 {
                    return Ok(Robots::Nothing);
                }
                if !status.is_success() {
                    return Ok(Robots::All);
                }
                let options = FetchOptions { max_bytes: robots::MAX_BYTES, refuse_longer: false, ..*options };
                // A file that can't be unpacked says nothing.
                let Ok(page) = read(answer, url, &options).await else { return Ok(Robots::All) };
                return Ok(Robots::parse(&String::from_utf8_lossy(&page.body), AGENT));
            }
        }
    }
    // What moves about is as good as not there.
    Ok(Robots::All)
}

/// Our name in `robots.txt`.
const AGENT: &str = "loopwright";

pub(super) fn parse(text: &str) -> Result<Url> {
    let mut url = Url::parse(text).map_err(|error| {
        fetch_error("invalid_url", format!("{text:?} is no URL: {error}")).hint("write https://host/path")
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(
            fetch_error("invalid_url", format!("{text:?} is neither http nor https")).hint("write https://host/path")
        );
    }
    // Neither names nor passwords are sent on behalf of a model.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    Ok(url)
}

/// Refuses ports that mail servers, shells and the like listen on: what a page asks of them they might do.
fn check_port(url: &Url) -> Result<()> {
    match url.port() {
        Some(port) if is_other_protocol_port(port) => {
            let host = url.host_str().unwrap_or_default();
            let message = format!("{host}:{port}: no pages are asked of this port, which is that of another protocol");
            Err(fetch_error("blocked_port", message).hint("pages are mostly at ports 80 and 443"))
        }
        _ => Ok(()),
    }
}

/// Refuses addresses written as numbers, which are never looked up; and, where a proxy does the looking up, names
/// that we know to be private.
pub(super) async fn check(client: &ClientOptions, url: &Url, allow_private: bool) -> Result<()> {
    let host = url.host_str().unwrap_or_default();
    let refused = if let Ok(address) = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
        refuses_address(address, allow_private)
    } else if client.proxies().next().is_some() {
        let found = tokio::net::lookup_host((host, 0)).await;
        found.is_ok_and(|mut found| found.any(|address| refuses_address(address.ip(), allow_private)))
    } else {
        false
    };
    if refused { Err(private_address(host, allow_private)) } else { Ok(()) }
}

/// Returns whether an address is refused. Addresses come from models and from pages, which may lead anywhere: whoever
/// allows a network of their own does not mean what each machine tells itself.
fn refuses_address(address: IpAddr, allow_private: bool) -> bool {
    if allow_private { is_metadata_address(address) } else { is_private(address) }
}

fn private_address(host: &str, allow_private: bool) -> Error {
    if allow_private {
        fetch_error("private_address", format!("{host} is a link-local address, or one of a metadata service"))
            .hint("no page is fetched from there, also where private addresses are allowed")
    } else {
        fetch_error("private_address", format!("{host} is an address of this machine or of a private network"))
            .hint("only public addresses are fetched unless private ones are allowed")
    }
}

/// Sends a request for a page. An answer that a proxy on the way gives for itself is an error.
pub(super) async fn execute(client: &Client, allow_private: bool, request: Request) -> Result<reqwest::Response> {
    let url = request.url().clone();
    let host = url.host_str().unwrap_or_default();
    let proxy = client.proxy_of(&url);
    let copy = request.try_clone();
    let again = || copy.as_ref()?.try_clone();
    let mut failure = match stale_connection::execute(&connections(client, allow_private)?, request, again).await {
        Ok(answer) if proxy.is_some() && answer.status().as_u16() == 407 => {
            Failure { status: Some(407), ..Failure::new(FailureKind::Connect, "the proxy wants to know who asks") }
        }
        Ok(answer) => return Ok(answer),
        Err(error) if error_map::find::<RefusedAddress>(&error).is_some() => {
            return Err(private_address(host, allow_private));
        }
        Err(error) => error_map::send_failure(&error, host, &CONNECT),
    };
    let code = failure.kind.name();
    if let Some((variable, proxy)) = proxy {
        failure = error_map::proxy_failure(failure, variable, &proxy);
    }
    let error = fetch_error(code, failure.message);
    Err(match failure.hint {
        Some(hint) => error.hint(hint),
        None => error,
    })
}

const CONNECT: Timeouts = Timeouts { connect: 10.0, first_byte: 0.0, idle: 0.0, total: 0.0 };

async fn read(answer: reqwest::Response, url: Url, options: &FetchOptions) -> Result<Page> {
    let status = answer.status().as_u16();
    let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let content_type = header(header::CONTENT_TYPE);
    let (body, truncated) = body(answer, url.host_str().unwrap_or_default(), options.max_bytes).await?;
    if truncated && options.refuse_longer {
        let message = format!("{url} is longer than {} bytes", options.max_bytes);
        return Err(fetch_error("too_large", message).hint("allow more bytes, or let it be cut"));
    }
    Ok(Page { url: url.into(), status, content_type, body: body.into(), truncated })
}

/// The body of an answer, unpacked: at most `most` bytes of it, and whether there were more.
pub(super) async fn body(mut answer: reqwest::Response, host: &str, most: usize) -> Result<(Vec<u8>, bool)> {
    let encoding = answer.headers().get(header::CONTENT_ENCODING).and_then(|value| value.to_str().ok());
    let mut body = Body::new(encoding, most, host)?;
    while let Some(piece) = answer.chunk().await.map_err(|error| {
        let failure = error_map::body_failure(&error, host);
        fetch_error(failure.kind.name(), failure.message)
    })? {
        if !body.take(&piece)? {
            break;
        }
    }
    body.end()
}

/// The rules of sites that were fetched, by origin.
#[derive(Debug, Default)]
pub(super) struct RobotsCache(Mutex<HashMap<String, (Instant, Arc<Robots>)>>);

/// The age at which a site's rules are fetched again.
const ROBOTS_AGE: Duration = Duration::from_secs(24 * 3600);
/// The age at which a failed fetch of a site's rules is tried again.
const ROBOTS_RETRY_AGE: Duration = Duration::from_secs(60);
/// Sites whose rules are remembered at most.
const MAX_SITES: usize = 1024;

impl RobotsCache {
    fn cached(&self, origin: &str) -> Option<Arc<Robots>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (when, robots) = known.get(origin)?;
        let age = if **robots == Robots::Nothing { ROBOTS_RETRY_AGE } else { ROBOTS_AGE };
        (when.elapsed() < age).then(|| robots.clone())
    }

    fn insert(&self, origin: String, robots: Arc<Robots>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_SITES
            && let Some(oldest) = known.iter().min_by_key(|(_, (when, _))| *when).map(|(origin, _)| origin.clone())
        {
            known.remove(&oldest);
        }
        known.insert(origin, (Instant::now(), robots));
    }

    /// Forgets the rules of the hosts that are meant.
    pub(super) fn forget(&self, is_meant: &impl Fn(&str) -> bool) {
        let host = |origin: &str| origin.rsplit_once("//").is_some_and(|(_, host)| is_meant(host));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|origin, _| !host(origin));
    }
}

impl Client {
    /// The connections that pages are fetched over; none of them is shared with models.
    fn pages(&self, allow_private: bool) -> Result<reqwest::Client, loopwright_base::error::Failure> {
        self.page_connections(allow_private, limit(CONNECT.connect), |builder, options| {
            let proxies = options.proxies().filter_map(|(_, proxy)| {
                let whole = if proxy.contains("://") { proxy.to_owned() } else { format!("http://{proxy}") };
                Url::parse(&whole).ok()?.host_str().map(str::to_owned)
            });
            builder.dns_resolver(Arc::new(FilteringResolver { proxies: proxies.collect(), allow_private }))
        })
    }
}

/// A resolver that returns only addresses that may be asked; connections are made to these and no others.
struct FilteringResolver {
    /// Proxies that the user chose; they may be anywhere.
    proxies: Vec<String>,
    allow_private: bool,
}

impl Resolve for FilteringResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let trusted = self.proxies.iter().any(|proxy| proxy == name.as_str());
        let allow_private = self.allow_private;
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let some = !found.is_empty();
            let allowed: Vec<SocketAddr> =
                found.into_iter().filter(|address| trusted || !refuses_address(address.ip(), allow_private)).collect();
            if allowed.is_empty() && some {
                return Err(RefusedAddress.into());
            }
            Ok(Box::new(allowed.into_iter()) as Box<dyn Iterator<Item = SocketAddr> + Send>)
        })
    }
}

/// The error for a name that has refused addresses alone.
#[derive(Debug)]
struct RefusedAddress;

impl fmt::Display for RefusedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("only addresses that are not asked")
    }
}

impl std::error::Error for RefusedAddress {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_written_as_numbers_of_any_kind_are_read_as_addresses() {
        for url in "http://2130706433/ http://0x7f000001/ http://0x7f.1/ http://017700000001/ http://127.1/ \
             http://0177.0.0.01/ http://127.0.0.1./ http://%31%32%37.0.0.1/ http://１２７.0.0.1/ \
             http://example.com@127.0.0.1/ http://user:password@0x7f.0.0.1:80/ http://[::ffff:7f00:1]/ \
             http://127。0。0。1/ http:\\\\127.0.0.1\\ http://0/"
            .split(' ')
        {
            let url = parse(url).unwrap();
            let host = url.host_str().unwrap().trim_start_matches('[').trim_end_matches(']');
            let address: IpAddr = host.parse().unwrap_or_else(|_| panic!("{url}"));
            assert!(is_private(address), "{url}");
            assert!(url.username().is_empty() && url.password().is_none());
        }
        for url in "http://0x7f.1.1.1.1/ http://256.1.1.1/ http://1.2.3.4.5/ file:///etc/passwd http://".split(' ') {
            assert!(parse(url).is_err(), "{url}");
        }
    }

    #[test]
    fn what_a_redirection_writes_raw_is_what_it_means() {
        let base = Url::parse("http://a.example/x").unwrap();
        let to = |location: &[u8]| base.join(&location_text(location)).unwrap().to_string();
        assert_eq!(to("/größe?q=ü".as_bytes()), "http://a.example/gr%C3%B6%C3%9Fe?q=%C3%BC");
        assert_eq!(to(b"/gr\xf6\xdfe"), "http://a.example/gr%F6%DFe");
        assert_eq!(to("http://bücher.example/ä".as_bytes()), "http://xn--bcher-kva.example/%C3%A4");
        assert_eq!(to(b" /done%20so "), "http://a.example/done%20so");
    }
}
