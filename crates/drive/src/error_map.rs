//! Failures of connections, requests and bodies, from the chain of causes that the HTTP stack gives.
//!
//! Addresses with their queries never get into the words; only host and port do.

use std::{error::Error as StdError, io};

use reqwest::Url;

use super::{
    descriptors::{are_exhausted, is_exhaustion},
    options::Timeouts,
};
use loopwright_base::error::{Failure, FailureKind, UNKNOWN_ISSUER};

/// The failure of a request that could not be sent, or to which no answer began.
pub(super) fn send_failure(error: &reqwest::Error, host: &str, limits: &Timeouts) -> Failure {
    if let Some(tls) = find::<rustls::Error>(error) {
        return Failure::new(FailureKind::Tls, format!("TLS with {host} failed: {}", tls_words(tls)));
    }
    if causes(error).filter_map(|cause| cause.downcast_ref()).any(is_exhaustion)
        || (error.is_connect() && are_exhausted())
    {
        let message = format!("{NO_CONNECTION}{host}: all files that this process may have open are open");
        return Failure::new(FailureKind::TooManyOpenFiles, message);
    }
    if error.is_connect() {
        return if error.is_timeout() {
            Failure::new(
                FailureKind::Timeout,
                format!("{NO_CONNECTION}{host} within {} s (connect limit)", limits.connect),
            )
        } else {
            Failure::new(FailureKind::Connect, format!("{NO_CONNECTION}{host}: {}", root_words(error)))
        };
    }
    if error.is_builder() {
        return Failure::new(FailureKind::Usage, format!("the request to {host} can't be made: {}", root_words(error)));
    }
    if find::<hyper::Error>(error).is_some_and(hyper::Error::is_parse) {
        return Failure::new(
            FailureKind::InvalidBody,
            format!("{host} does not answer in HTTP: {}", root_words(error)),
        );
    }
    let failure = Failure::new(
        FailureKind::Cut,
        format!("{host} closed the connection before it answered: {}", root_words(error)),
    );
    if error.url().is_some_and(|url| url.scheme() == "http") {
        return failure.hint("try again; if it stays like that, look whether the address should begin with https://");
    }
    failure.hint("try again; if it stays like that, look what stands between here and the server")
}

/// Returns whether the connection itself was closed before an answer came. A stream of HTTP/2 that its server ends
/// alone leaves the connection standing, and is an answer of a kind.
pub(super) fn is_closed_unanswered(error: &reqwest::Error) -> bool {
    use io::ErrorKind as Kind;
    if error.is_connect() || error.is_timeout() || find::<rustls::Error>(error).is_some() {
        return false;
    }
    let unfinished = |error: &hyper::Error| error.is_incomplete_message() || error.is_canceled();
    let broken = |error: &io::Error| {
        matches!(error.kind(), Kind::ConnectionReset | Kind::ConnectionAborted | Kind::BrokenPipe | Kind::UnexpectedEof)
    };
    find::<hyper::Error>(error).is_some_and(unfinished) || find::<io::Error>(error).is_some_and(broken)
}

/// The failure of a body that broke off.
pub(super) fn body_failure(error: &reqwest::Error, host: &str) -> Failure {
    Failure::new(FailureKind::Cut, format!("the answer of {host} broke off: {}", root_words(error)))
}

/// Errors of a proxy that lets nobody in without a user and a password, or not with these.
const PROXY_REFUSALS: [&str; 3] = [
    "proxy authorization required",
    "SOCKS error: credentials not accepted",
    "SOCKS error: server does not support user/pass authentication",
];

/// The failure of a request that went through `proxy`, which `variable` names.
pub(super) fn proxy_failure(mut failure: Failure, variable: &str, proxy: &Url) -> Failure {
    let unreached = matches!(failure.kind, FailureKind::Connect | FailureKind::Timeout)
        && failure.message.starts_with(NO_CONNECTION);
    if failure.status == Some(407) || (unreached && PROXY_REFUSALS.iter().any(|words| failure.message.contains(words)))
    {
        failure.kind = FailureKind::Usage;
        let (scheme, status) = (proxy.scheme(), if proxy.scheme().starts_with("http") { " (407)" } else { "" });
        failure.message = if proxy.username().is_empty() {
            format!(
                "the proxy that {variable} names wants a user and a password{status}; write them into its address, \
                 {scheme}://USER:PASSWORD@HOST:PORT"
            )
        } else {
            format!(
                "the proxy that {variable} names does not take the user and the password of its address{status}; \
                 correct them: {scheme}://USER:PASSWORD@HOST:PORT"
            )
        };
    } else if unreached {
        failure.message = format!("{} ({variable} is set)", failure.message);
        if failure.kind == FailureKind::Connect {
            let port = proxy.port_or_known_default().map_or_else(String::new, |port| format!(":{port}"));
            failure = if proxy.scheme() == "socks5" && failure.message.contains(LOOKUP_FAILED) {
                failure
                    .hint(format!("check the base URL; {variable} has names looked up here, socks5h:// by the proxy"))
            } else {
                failure.hint(format!(
                    "check the base URL, and that the proxy {}{port} runs; hosts in NO_PROXY are reached without it",
                    proxy.host_str().unwrap_or_default()
                ))
            };
        }
    }
    failure
}

const NO_CONNECTION: &str = "no connection to ";
/// The standard library's words for a name that could not be looked up.
const LOOKUP_FAILED: &str = "failed to lookup address information";

fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    // A chain of causes is a few long; a limit costs nothing.
    std::iter::successors(Some(error), |&error| {
        // An I/O error hides what it wraps: its `source` is that of the wrapped error.
        match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped as &(dyn StdError + 'static)),
            None => error.source(),
        }
    })
    .take(16)
}

/// The cause of type `E`, if there is one.
pub(super) fn find<E: StdError + 'static>(error: &reqwest::Error) -> Option<&E> {
    causes(error).find_map(|cause| cause.downcast_ref::<E>())
}

fn tls_words(error: &rustls::Error) -> String {
    match error {
        // Trusted is one that signs others if it is named itself.
        error if super::tls::is_signer(error) => UNKNOWN_ISSUER.to_owned(),
        rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer) => UNKNOWN_ISSUER.to_owned(),
        rustls::Error::InvalidCertificate(
            rustls::CertificateError::NotValidForName | rustls::CertificateError::NotValidForNameContext { .. },
        ) => "its certificate is for another name".to_owned(),
        rustls::Error::InvalidCertificate(
            rustls::CertificateError::Expired | rustls::CertificateError::ExpiredContext { .. },
        ) => "its certificate has expired".to_owned(),
        rustls::Error::InvalidMessage(_) => "it does not speak TLS; is the address http:// instead?".to_owned(),
        other => other.to_string(),
    }
}

/// The innermost cause in words: `Connection refused (os error 111)` and the like.
fn root_words(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(String::new, |cause| cause.to_string().chars().take(300).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_only_the_proxy_knows_is_told_apart() {
        for (proxy, says) in [("socks5://h:1", "socks5h://"), ("socks5h://h:1", "the proxy h:1 runs")] {
            let failure =
                Failure::new(FailureKind::Connect, format!("{NO_CONNECTION}x:80: {LOOKUP_FAILED}: no such name"));
            let failure = proxy_failure(failure, "ALL_PROXY", &Url::parse(proxy).unwrap());
            assert!(failure.message.contains("(ALL_PROXY is set)"), "{}", failure.message);
            assert!(failure.hint.unwrap().contains(says), "{proxy}");
        }
    }
}
