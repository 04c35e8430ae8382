//! One page of the web: fetched with bounds on size, time and redirections.
//!
//! Addresses come from models, so they are hostile: only http and https, and no host of this machine or of the
//! network behind it, unless that is allowed. What is checked is the address that is connected to, at every
//! redirection, so that a name which resolves differently the second time gains nothing.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use bytes::Bytes;
use reqwest::{
    Method, Request, Url,
    dns::{Name, Resolve, Resolving},
    header::{self, HeaderValue},
};
use serde::{Deserialize, Serialize};

use super::{
    http::{Client, ClientOptions, Timeouts},
    options::limit,
    trouble,
};
use crate::core::error::{Error, Guilt, Result};

/// How much of a page, how long, and where from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FetchOptions {
    /// At most this much of the body is read; the rest is left out.
    pub max_bytes: usize,
    /// Seconds for all of it, redirections included.
    pub timeout: f64,
    /// How often a redirection is followed.
    pub max_redirects: usize,
    /// Whether hosts of this machine and of private networks may be asked.
    pub allow_private: bool,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self { max_bytes: 2 << 20, timeout: 20.0, max_redirects: 5, allow_private: false }
    }
}

/// A page as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Where it was at last, after redirections.
    pub url: String,
    /// The status; not only 200.
    pub status: u16,
    /// The content type, as the server wrote it.
    pub content_type: Option<String>,
    /// The body, or its beginning.
    pub body: Bytes,
    /// Whether there was more.
    pub truncated: bool,
}

/// Fetches `url`.
pub async fn fetch_page(client: &Client, url: &str, options: &FetchOptions) -> Result<Page> {
    match tokio::time::timeout(limit(options.timeout), follow(client, url, options)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(wrong("timeout", format!("the page did not come within {} s", options.timeout))),
    }
}

fn wrong(code: &'static str, message: impl Into<String>) -> Error {
    Error::new(Guilt::Tool, code, message)
}

async fn follow(client: &Client, url: &str, options: &FetchOptions) -> Result<Page> {
    let pages = client.pages(options.allow_private).map_err(|failure| failure.to_error())?;
    let mut url = parse(url.trim())?;
    for _ in 0..=options.max_redirects {
        check(client.options(), &url, options.allow_private).await?;
        let mut request = Request::new(Method::GET, url.clone());
        request.headers_mut().insert(
            header::ACCEPT,
            HeaderValue::from_static("text/html,application/xhtml+xml,text/plain,application/json;q=0.9,*/*;q=0.5"),
        );
        let answer = pages.execute(request).await.map_err(|error| broken(&error, &url))?;
        let status = answer.status();
        let target = answer.headers().get(header::LOCATION).filter(|_| {
            // Not 304 and 300, which are redirections by name only.
            matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
        });
        let Some(target) = target else {
            return read(answer, url, options.max_bytes).await;
        };
        let target = target
            .to_str()
            .ok()
            .and_then(|target| url.join(target).ok())
            .ok_or_else(|| wrong("invalid_url", format!("{url} points to what is no URL")))?;
        url = parse(target.as_str())?;
    }
    Err(wrong("too_many_redirects", format!("more than {} redirections, the last to {url}", options.max_redirects)))
}

fn parse(text: &str) -> Result<Url> {
    let mut url = Url::parse(text).map_err(|error| {
        wrong("invalid_url", format!("{text:?} is no URL: {error}")).hint("write https://host/path")
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("invalid_url", format!("{text:?} is neither http nor https")).hint("write https://host/path"));
    }
    // Neither names nor passwords are sent on behalf of a model.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    Ok(url)
}

/// Refuses addresses written as numbers, which are never looked up; and, where a proxy does the looking up, names
/// that we know to be private.
async fn check(client: &ClientOptions, url: &Url, allow_private: bool) -> Result<()> {
    if allow_private {
        return Ok(());
    }
    let host = url.host_str().unwrap_or_default();
    let private = if let Ok(address) = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
        is_private(address)
    } else if client.proxies().next().is_some() {
        let found = tokio::net::lookup_host((host, 0)).await;
        found.is_ok_and(|mut found| found.any(|address| is_private(address.ip())))
    } else {
        false
    };
    if private { Err(private_address(host)) } else { Ok(()) }
}

fn private_address(host: &str) -> Error {
    wrong("private_address", format!("{host} is an address of this machine or of a private network"))
        .hint("only public addresses are fetched unless private ones are allowed")
}

fn broken(error: &reqwest::Error, url: &Url) -> Error {
    let host = url.host_str().unwrap_or_default();
    if trouble::find::<Refused>(error).is_some() {
        return private_address(host);
    }
    let failure = trouble::sending(error, host, &CONNECT);
    let code = failure.kind.name();
    wrong(code, failure.message)
}

const CONNECT: Timeouts = Timeouts { connect: 10.0, first_byte: 0.0, idle: 0.0, total: 0.0 };

async fn read(mut answer: reqwest::Response, url: Url, most: usize) -> Result<Page> {
    let status = answer.status().as_u16();
    let content_type = answer.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.map(str::to_owned);
    let mut body = Vec::new();
    let mut truncated = false;
    while let Some(piece) = answer.chunk().await.map_err(|error| {
        let failure = trouble::receiving(&error, url.host_str().unwrap_or_default());
        wrong(failure.kind.name(), failure.message)
    })? {
        let room = most - body.len();
        body.extend_from_slice(piece.get(..room).unwrap_or(&piece));
        if piece.len() > room {
            truncated = true;
            break;
        }
    }
    Ok(Page { url: url.into(), status, content_type, body: body.into(), truncated })
}

impl Client {
    /// The connections that pages are fetched over; none of them is shared with models.
    fn pages(&self, allow_private: bool) -> Result<reqwest::Client, crate::core::error::Failure> {
        self.page_connections(allow_private, limit(CONNECT.connect), |builder, options| {
            if allow_private {
                return builder;
            }
            let proxies = options.proxies().filter_map(|(_, proxy)| {
                let whole = if proxy.contains("://") { proxy.to_owned() } else { format!("http://{proxy}") };
                Url::parse(&whole).ok()?.host_str().map(str::to_owned)
            });
            builder.dns_resolver(Arc::new(PublicOnly { proxies: proxies.collect() }))
        })
    }
}

/// Looks names up and gives only public addresses; connections are made to what it gives.
struct PublicOnly {
    /// The person who runs this chose them, wherever they are.
    proxies: Vec<String>,
}

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let trusted = self.proxies.iter().any(|proxy| proxy == name.as_str());
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let some = !found.is_empty();
            let public: Vec<SocketAddr> =
                found.into_iter().filter(|address| trusted || !is_private(address.ip())).collect();
            if public.is_empty() && some {
                return Err(Refused.into());
            }
            Ok(Box::new(public.into_iter()) as Box<dyn Iterator<Item = SocketAddr> + Send>)
        })
    }
}

/// The name has private addresses alone.
#[derive(Debug)]
struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("only private addresses")
    }
}

impl std::error::Error for Refused {}

/// Whether an address is of this machine, of a private or link-local network, or of no single host at all.
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_documentation()
        || a == 0
        // Shared by carriers; protocol assignments; benchmarks; reserved.
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (18..20).contains(&b))
        || a >= 240
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // IPv4 in the clothes of IPv6: mapped, NAT64, 6to4.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            let ([first, second], [third, fourth]) = (high.to_be_bytes(), low.to_be_bytes());
            is_private_v4(Ipv4Addr::new(first, second, third, fourth))
        }
        // Loopback, unspecified and what once was compatible with IPv4; local NAT64; Teredo, which hides its address;
        // documentation.
        [0, 0, 0, 0, 0, 0, ..] | [0x64, 0xff9b, 1, ..] | [0x2001, 0 | 0xdb8, ..] => true,
        // Unique local, link-local, site-local, multicast.
        [first, ..] => {
            first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfe80 || first & 0xffc0 == 0xfec0 || first & 0xff00 == 0xff00
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_known_in_every_form() {
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "240.0.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
            "2001::1",
            "fec0::1",
        ] {
            assert!(is_private(address.parse().unwrap()), "{address}");
        }
        for address in
            ["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
        {
            assert!(!is_private(address.parse().unwrap()), "{address}");
        }
    }
}
