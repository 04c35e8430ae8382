//! Providers that are known by name: their addresses, wires and variables.
//!
//! One table; adding a provider that speaks a known protocol is one row.

use reqwest::Url;

use loopwright_base::message::Wire;
use loopwright_models::quirks::served_by;

/// The rule for a provider's key.
#[derive(Clone, Copy, Debug)]
pub(super) enum KeyRule {
    /// The key is needed, from the first of these variables that is set if not given otherwise.
    Needed(&'static [&'static str]),
    /// The key is sent only if given by hand.
    NotNeeded,
}

/// A provider.
#[derive(Debug)]
pub(super) struct Provider {
    pub(super) name: &'static str,
    pub(super) wire: Wire,
    pub(super) base: &'static str,
    pub(super) base_variable: Option<&'static str>,
    pub(super) key: KeyRule,
}

const fn row(
    name: &'static str,
    wire: Wire,
    base: &'static str,
    base_variable: Option<&'static str>,
    key: KeyRule,
) -> Provider {
    Provider { name, wire, base, base_variable, key }
}

use KeyRule::{Needed, NotNeeded};

const OPENAI: &str = "https://api.openai.com/v1";
const OPENAI_BASE: Option<&str> = Some("OPENAI_BASE_URL");
const OPENAI_KEY: KeyRule = Needed(&["OPENAI_API_KEY"]);

const GEMINI: Provider = row(
    "gemini",
    Wire::Gemini,
    "https://generativelanguage.googleapis.com/v1beta",
    Some("GEMINI_BASE_URL"),
    Needed(&["GEMINI_API_KEY", "GOOGLE_API_KEY"]),
);

pub(super) static PROVIDERS: [Provider; 10] = [
    row(
        "anthropic",
        Wire::Anthropic,
        "https://api.anthropic.com/v1",
        Some("ANTHROPIC_BASE_URL"),
        Needed(&["ANTHROPIC_API_KEY"]),
    ),
    GEMINI,
    row("openai", Wire::OpenaiResponses, OPENAI, OPENAI_BASE, OPENAI_KEY),
    row("openai-chat", Wire::OpenaiChat, OPENAI, OPENAI_BASE, OPENAI_KEY),
    row("openai-responses", Wire::OpenaiResponses, OPENAI, OPENAI_BASE, OPENAI_KEY),
    row(
        "openrouter",
        Wire::OpenaiChat,
        "https://openrouter.ai/api/v1",
        Some("OPENROUTER_BASE_URL"),
        Needed(&["OPENROUTER_API_KEY"]),
    ),
    row("ollama", Wire::OpenaiChat, "http://localhost:11434/v1", Some("OLLAMA_HOST"), NotNeeded),
    row("vllm", Wire::OpenaiChat, "http://localhost:8000/v1", Some("VLLM_BASE_URL"), NotNeeded),
    row("llamacpp", Wire::OpenaiChat, "http://localhost:8080/v1", Some("LLAMACPP_BASE_URL"), NotNeeded),
    row("offline", Wire::Offline, "", None, NotNeeded),
];

impl Provider {
    /// The protocol spoken at `base`: others that follow its protocols speak Chat Completions.
    pub(super) fn wire_at(&self, base: &Url) -> Wire {
        if self.name == "openai" && base.host_str() != Some("api.openai.com") { Wire::OpenaiChat } else { self.wire }
    }
}

/// The methods of Gemini's API, behind the name of a model.
const WHOLE: &str = ":generateContent";
const STREAMED: &str = ":streamGenerateContent";

/// The address that requests of `wire` go to. A base without any path gets `/v1`; a base that is the whole address
/// already stays as it is; a query stays. On Gemini the last segment names the model, escaped.
pub(super) fn full_url(mut base: Url, wire: Wire, model: &str) -> Url {
    base.set_fragment(None);
    let path = base.path().trim_end_matches('/').to_owned();
    let versioned = path.split('/').any(is_version);
    let last = match wire {
        Wire::Anthropic => "/messages",
        Wire::OpenaiResponses => "/responses",
        Wire::OpenaiChat | Wire::Offline => "/chat/completions",
        Wire::Gemini => {
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
    };
    if !path.ends_with(last) {
        // Anthropic's base URLs leave the version out also behind a gateway's path, OpenAI's do not.
        let version = if !versioned && (path.is_empty() || wire == Wire::Anthropic) { "/v1" } else { "" };
        base.set_path(&format!("{path}{version}{last}"));
    }
    base
}

/// The address for a streamed answer, where that is another one.
pub(super) fn streaming_url(mut whole: Url, wire: Wire) -> Url {
    if wire == Wire::Gemini
        && let Some(path) = whole.path().strip_suffix(WHOLE).map(|path| format!("{path}{STREAMED}"))
    {
        whole.set_path(&path);
        whole.query_pairs_mut().append_pair("alt", "sse");
    }
    whole
}

/// The model that a path of Gemini's API names, as it stands there, and whether it asks for a stream.
pub(super) fn gemini_method(path: &str) -> Option<(String, bool)> {
    let last = path.rsplit('/').next()?;
    let whole = last.strip_suffix(WHOLE).map(|model| (model, false));
    let (model, stream) = whole.or_else(|| last.strip_suffix(STREAMED).map(|model| (model, true)))?;
    Some((model.to_owned(), stream))
}

fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// `OLLAMA_HOST` as a URL: Ollama takes a host, a port, both, or a URL, and 0.0.0.0 is the address it listens on.
pub(super) fn ollama_host(text: &str) -> String {
    let text = text.trim();
    if text.contains("://") {
        return text.to_owned();
    }
    let (host, path) = text.split_once('/').unwrap_or((text, ""));
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
        _ => (host.trim_end_matches(':'), "11434"),
    };
    let host = match host {
        "" => "localhost",
        "0.0.0.0" => "127.0.0.1",
        "[::]" => "[::1]",
        host => host,
    };
    format!("http://{host}:{port}/{path}")
}

/// The provider that probably serves a model of this name.
pub(super) fn guess(model: &str) -> Option<&'static str> {
    match served_by(model) {
        Some(provider) if provider != "ollama" => Some(provider),
        _ if model.contains('/') => Some("openrouter"),
        local => local,
    }
}

/// The known name that is nearest to a mistyped one.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let lower: String = name.to_lowercase().chars().take(32).collect();
    let alias = match lower.as_str() {
        "claude" => Some("anthropic"),
        "gpt" | "chatgpt" => Some("openai"),
        "google" => Some("gemini"),
        "llama.cpp" | "llama-cpp" | "llama_cpp" => Some("llamacpp"),
        _ => None,
    };
    alias.or_else(|| {
        let (distance, near) = PROVIDERS.iter().map(|known| (edits(&lower, known.name), known.name)).min()?;
        (distance <= 1 + near.len() / 4).then_some(near)
    })
}

/// The edit distance of two names.
fn edits(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.chars().count()).collect();
    for (above, a) in left.chars().enumerate() {
        let mut corner = above;
        let mut before = above + 1;
        for (cell, b) in row.iter_mut().skip(1).zip(right.chars()) {
            let best = (corner + usize::from(a != b)).min(before + 1).min(*cell + 1);
            corner = *cell;
            *cell = best;
            before = best;
        }
        if let Some(first) = row.first_mut() {
            *first = above + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}
