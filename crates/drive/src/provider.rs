//! The addresses of providers: from a base URL or a variable of the environment to the address of requests.

use reqwest::Url;

use loopwright_base::message::Wire;

/// The methods of Gemini's API, behind the name of a model.
const WHOLE: &str = ":generateContent";
const STREAMED: &str = ":streamGenerateContent";

/// Methods behind the name of a model, in addresses that have one: of a whole answer, and of a streamed one.
const METHODS: [(Wire, &str, &str); 3] = [
    (Wire::Gemini, WHOLE, STREAMED),
    (Wire::Anthropic, ":rawPredict", ":streamRawPredict"),
    (Wire::Bedrock, "/converse", "/converse-stream"),
];

/// The end of the addresses of a wire's requests; on Gemini it stands behind the model's name.
const fn end_of(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "/messages",
        Wire::OpenaiResponses => "/responses",
        Wire::OpenaiChat | Wire::Bedrock | Wire::Offline => "/chat/completions",
        Wire::Gemini => WHOLE,
    }
}

/// The address of another interface beside that of `wire`'s requests: with another end.
pub(super) fn beside(mut url: Url, wire: Wire, end: &str) -> Option<Url> {
    let path = format!("{}{end}", url.path().strip_suffix(end_of(wire))?);
    url.set_path(&path);
    Some(url)
}

/// The address that requests of `wire` go to. A base without any path gets `/v1`; a base that is the whole address
/// already stays as it is; a query stays. On Gemini the last segment names the model, escaped.
pub(super) fn full_url(mut base: Url, wire: Wire, model: &str) -> Url {
    base.set_fragment(None);
    let path = base.path().trim_end_matches('/').to_owned();
    let versioned = path.split('/').any(is_version);
    let last = end_of(wire);
    if wire == Wire::Gemini {
        // A whole address is one of another model, most likely.
        let is_whole = path.ends_with(WHOLE) || path.ends_with(STREAMED);
        let path = if is_whole { path.rsplit_once('/').map_or("", |(before, _)| before) } else { &path };
        let path = path.strip_suffix("/models").unwrap_or(path);
        base.set_path(&format!("{path}{}/models", if versioned { "" } else { "/v1beta" }));
        if let Ok(mut segments) = base.path_segments_mut() {
            segments.push(&format!("{}{WHOLE}", model.strip_prefix("models/").unwrap_or(model)));
        }
        return base;
    }
    if !path.ends_with(last) {
        // Anthropic's base URLs leave the version out also behind a gateway's path, OpenAI's do not.
        let version = if !versioned && (path.is_empty() || wire == Wire::Anthropic) { "/v1" } else { "" };
        base.set_path(&format!("{path}{version}{last}"));
    }
    base
}

/// The address for a streamed answer, where that is another one.
pub(super) fn streaming_url(mut whole: Url, wire: Wire) -> Url {
    let streamed = METHODS
        .iter()
        .filter(|(known, ..)| *known == wire)
        .find_map(|(_, method, streamed)| Some(format!("{}{streamed}", whole.path().strip_suffix(method)?)));
    if let Some(path) = streamed {
        whole.set_path(&path);
        if wire == Wire::Gemini {
            whole.query_pairs_mut().append_pair("alt", "sse");
        }
    }
    whole
}

/// What a path says that names the model.
pub(super) struct Addressed {
    pub(super) wire: Wire,
    /// The model, as it stands in the path.
    pub(super) model: String,
    pub(super) stream: bool,
}

/// What a path says, if it names the model.
pub(super) fn addressed(path: &str) -> Option<Addressed> {
    METHODS.iter().find_map(|(wire, whole, streamed)| {
        let (before, stream) = path
            .strip_suffix(whole)
            .map(|before| (before, false))
            .or(path.strip_suffix(streamed).map(|b| (b, true)))?;
        Some(Addressed { wire: *wire, model: before.rsplit('/').next()?.to_owned(), stream })
    })
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
