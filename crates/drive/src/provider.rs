//! The addresses of providers: from a base URL or a variable of the environment to the address of requests.

use reqwest::Url;

use loopwright_base::message::Wire;

/// The address that requests of `wire` go to. A base without any path gets `/v1`; a base that is the whole address
/// already stays as it is; a query stays.
pub(super) fn full_url(mut base: Url, wire: Wire) -> Url {
    let last = match wire {
        Wire::Anthropic => "/messages",
        Wire::OpenaiResponses => "/responses",
        Wire::OpenaiChat | Wire::Offline => "/chat/completions",
    };
    let path = base.path().trim_end_matches('/').to_owned();
    if !path.ends_with(last) {
        // Anthropic's base URLs leave the version out also behind a gateway's path, OpenAI's do not.
        let versioned = path.split('/').any(is_version);
        let version = if !versioned && (path.is_empty() || wire == Wire::Anthropic) { "/v1" } else { "" };
        base.set_path(&format!("{path}{version}{last}"));
    }
    base.set_fragment(None);
    base
}

fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// The URL that a host alone, a port alone, both or a URL stand for, as Ollama's variable has them; the port is else
/// that of `base`. 0.0.0.0 is an address to listen on.
pub(super) fn url_of_host(text: &str, base: &str) -> String {
    let text = text.trim();
    if text.contains("://") {
        return text.to_owned();
    }
    let (host, path) = text.split_once('/').unwrap_or((text, ""));
    let usual = Url::parse(base).ok().and_then(|url| url.port_or_known_default()).unwrap_or(80).to_string();
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
        _ => (host.trim_end_matches(':'), usual.as_str()),
    };
    let host = match host {
        "" => "localhost",
        "0.0.0.0" => "127.0.0.1",
        "[::]" => "[::1]",
        host => host,
    };
    format!("http://{host}:{port}/{path}")
}
