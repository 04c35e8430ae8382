//! The proxy of a request, by the usual variables.
//!
//! Hosts and domains, addresses, networks and `host:port` may be excepted. An invalid address of a proxy is an error
//! that names the variable.

use std::net::IpAddr;

use reqwest::Url;

use super::{endpoint::without_secrets, options::ClientOptions};
use loopwright_base::error::{Failure, FailureKind};

/// The proxies of a client, and the exceptions from them.
#[derive(Clone)]
pub(super) struct Proxies {
    /// Proxies, each with the variable that it comes from.
    known: Vec<(&'static str, Url)>,
    except: Vec<ProxyException>,
}

/// A host that is reached without a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ProxyException {
    Everything,
    /// A domain and all below it, at this port or at all.
    Domain(String, Option<u16>),
    /// Addresses with the same first bits, at this port or at all.
    Network(IpAddr, u32, Option<u16>),
}

impl Proxies {
    pub(super) fn new(options: &ClientOptions) -> Result<Self, Failure> {
        let known: Result<_, Failure> =
            options.proxies().map(|(name, address)| Ok((name, read(name, address)?))).collect();
        let entries = options.no_proxy.as_deref().unwrap_or_default().split([',', ' ', '\t']);
        Ok(Self { known: known?, except: entries.filter_map(|entry| ProxyException::read(entry.trim())).collect() })
    }

    /// The proxy for `url`, with the variable that it comes from.
    pub(super) fn of(&self, url: &Url) -> Option<(&'static str, &Url)> {
        if self.known.is_empty() || self.except.iter().any(|except| except.holds(url)) {
            return None;
        }
        let serves = |variable| match variable {
            "HTTPS_PROXY" => url.scheme() == "https",
            "HTTP_PROXY" => url.scheme() == "http",
            _ => true,
        };
        self.known.iter().find(|(variable, _)| serves(*variable)).map(|(variable, proxy)| (*variable, proxy))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

/// The address of a proxy, with or without `http://`.
fn read(variable: &str, address: &str) -> Result<Url, Failure> {
    let whole = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
    let known = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"];
    Url::parse(&whole).ok().filter(|url| known.contains(&url.scheme()) && url.has_host()).ok_or_else(|| {
        let shown = without_secrets(address);
        let message = format!("{variable} is no address of a proxy: {shown:?}; write http://host:port");
        Failure::new(FailureKind::Usage, message)
    })
}

impl ProxyException {
    fn read(entry: &str) -> Option<Self> {
        let entry = entry.to_ascii_lowercase();
        if entry == "*" {
            return Some(Self::Everything);
        }
        // What follows the last colon is a port, but not within an address of IPv6.
        let (host, port) = match entry.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port.parse().ok()?)),
            _ => (entry.as_str(), None),
        };
        let (plain, bits) = host.split_once('/').map_or((host, None), |(plain, bits)| (plain, Some(bits)));
        if let Ok(address) = plain.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            let all = if address.is_ipv4() { 32 } else { 128 };
            let bits = bits.map_or(Ok(all), str::parse).ok().filter(|bits| *bits <= all)?;
            return Some(Self::Network(address, bits, port));
        }
        let domain = host.trim_start_matches("*.").trim_matches('.');
        (!domain.is_empty()).then(|| Self::Domain(domain.to_owned(), port))
    }

    fn holds(&self, url: &Url) -> bool {
        let at = |port: &Option<u16>| port.is_none_or(|port| url.port_or_known_default() == Some(port));
        let host = url.host_str().unwrap_or_default().trim_end_matches('.');
        match self {
            Self::Everything => true,
            Self::Domain(domain, port) => {
                let below = host.strip_suffix(domain.as_str());
                below.is_some_and(|rest| rest.is_empty() || rest.ends_with('.')) && at(port)
            }
            Self::Network(network, bits, port) => {
                let address = host.trim_start_matches('[').trim_end_matches(']').parse();
                address.is_ok_and(|address| same_prefix(address, *network, *bits)) && at(port)
            }
        }
    }
}

/// Returns whether the first `bits` of two addresses are the same.
fn same_prefix(left: IpAddr, right: IpAddr, bits: u32) -> bool {
    match (left, right) {
        (IpAddr::V4(left), IpAddr::V4(right)) => {
            (u32::from(left) ^ u32::from(right)).checked_shr(32 - bits).is_none_or(|differs| differs == 0)
        }
        (IpAddr::V6(left), IpAddr::V6(right)) => {
            (u128::from(left) ^ u128::from(right)).checked_shr(128 - bits).is_none_or(|differs| differs == 0)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(pairs: &[(&str, &str)]) -> Result<Proxies, Failure> {
        Proxies::new(&ClientOptions::from_env(|name| {
            pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        }))
    }

    fn through(proxies: &Proxies, url: &str) -> Option<&'static str> {
        proxies.of(&Url::parse(url).unwrap()).map(|(variable, _)| variable)
    }

    #[test]
    fn each_scheme_has_its_proxy() {
        let all =
            proxies(&[("HTTPS_PROXY", "https://s:1"), ("http_proxy", "h:1"), ("ALL_PROXY", "socks5://a:1")]).unwrap();
        assert_eq!(through(&all, "https://x.example"), Some("HTTPS_PROXY"));
        assert_eq!(through(&all, "http://x.example"), Some("HTTP_PROXY"));
        let one = proxies(&[("HTTPS_PROXY", "s:1")]).unwrap();
        assert_eq!(through(&one, "http://x.example"), None);
        let rest = proxies(&[("HTTPS_PROXY", "s:1"), ("all_proxy", "a:1")]).unwrap();
        assert_eq!(through(&rest, "http://x.example"), Some("ALL_PROXY"));
        assert!(proxies(&[]).unwrap().is_empty());
    }

    #[test]
    fn hosts_networks_and_ports_are_excepted() {
        for (except, past, through_it) in [
            ("*", "http://anything.example", None),
            ("example.org, localhost ,x", "http://localhost:8000", Some("http://notlocalhost")),
            ("a.example b.example", "http://b.example", Some("http://c.example")),
            (".corp.example", "https://corp.example", Some("https://scorp.example")),
            ("corp.example", "https://deep.in.corp.example:1", Some("https://corp.example.org")),
            ("*.corp.example", "https://a.corp.example", Some("https://corp.example.org")),
            ("CORP.example", "https://corp.EXAMPLE", None),
            ("localhost:8000", "http://localhost:8000/v1", Some("http://localhost:8001/v1")),
            ("api.example:443", "https://api.example", Some("http://api.example")),
            ("127.0.0.0/8", "http://127.9.9.9", Some("http://128.0.0.1")),
            ("10.1.2.3", "http://10.1.2.3:99", Some("http://10.1.2.4")),
            ("10.1.2.3:99", "http://10.1.2.3:99", Some("http://10.1.2.3:98")),
            ("0.0.0.0/0", "http://8.8.8.8", Some("http://[::1]")),
            ("::1", "http://[::1]:5", Some("http://[::2]")),
            ("[::1]:5", "http://[::1]:5", Some("http://[::1]:6")),
            ("fd00::/8", "http://[fd12::1]", Some("http://[fe80::1]")),
        ] {
            let all = proxies(&[("ALL_PROXY", "p:1"), ("NO_PROXY", except)]).unwrap();
            assert_eq!(through(&all, past), None, "{except}: {past}");
            if let Some(url) = through_it {
                assert_eq!(through(&all, url), Some("ALL_PROXY"), "{except}: {url}");
            }
        }
        for nonsense in ["", ",,", "10.0.0.0/99", "10.0.0.0/x", "h:port", "h:99999", ".", ":::", "[", "/"] {
            let all = proxies(&[("ALL_PROXY", "p:1"), ("NO_PROXY", nonsense)]).unwrap();
            assert_eq!(through(&all, "http://10.0.0.1"), Some("ALL_PROXY"), "{nonsense}");
        }
    }

    #[test]
    fn what_is_no_proxy_is_named_without_its_password() {
        for wrong in ["ftp://me:hunter22@h:1", "http://", "::::", "http://me:hunter22@"] {
            let failure = proxies(&[("HTTP_PROXY", wrong)]).err().unwrap();
            assert_eq!(failure.kind, FailureKind::Usage);
            assert!(failure.message.starts_with("HTTP_PROXY is no address"), "{}", failure.message);
            assert!(!failure.message.contains("hunter22"), "{}", failure.message);
        }
    }
}
