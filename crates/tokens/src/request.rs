//! Texts that a provider writes into a request beside what was given: instructions about tools, about reasoning, about
//! formats.
//!
//! Anthropic publishes some of these numbers and reports the rest with each answer; those here are from recorded
//! requests. They are guesses, so they widen the margin and count twice in an upper bound.

use super::{json::Json, model::Tokenizer};

/// Tokens that tools of the provider's own add to the instructions, by the prefixes of their types.
const NATIVE: [(&str, f64); 10] = [
    ("advisor", 2_000.0),
    ("code_execution", 1_900.0),
    ("memory", 1_200.0),
    ("web_search", 2_000.0),
    ("web_fetch", 600.0),
    ("computer", 750.0),
    ("text_editor", 750.0),
    ("bash", 300.0),
    ("tool_search", 200.0),
    ("mcp_toolset", 2_500.0),
];
const NATIVE_UNKNOWN: f64 = 1_500.0;
/// Tokens of the instructions about citations.
const CITATIONS: f64 = 600.0;
/// Tokens of the tools of a server that only the provider asks.
const SERVER: f64 = 2_500.0;

/// Tokens that tools add beside their own text.
pub(super) fn tools(tokenizer: &Tokenizer, tools: &[Json]) -> f64 {
    if tools.is_empty() {
        return 0.0;
    }
    let native_tool_tokens = if tokenizer.anthropic { tools.iter().map(native).sum() } else { 0.0 };
    tokenizer.instructions[0] + native_tool_tokens
}

fn native(tool: &Json) -> f64 {
    let own = tool.get("raw").unwrap_or(tool);
    let kind = own.get("type").and_then(Json::as_str).unwrap_or("function");
    let described = ["input_schema", "parameters", "schema", "function"].iter().any(|key| own.get(key).is_some());
    if described || matches!(kind, "function" | "custom") {
        return 0.0;
    }
    NATIVE.iter().find(|(name, _)| kind.starts_with(name)).map_or(NATIVE_UNKNOWN, |(_, tokens)| *tokens)
}

/// Tokens that an option of a request adds.
pub(super) fn option_tokens(tokenizer: &Tokenizer, key: &str, value: &Json) -> f64 {
    if !tokenizer.anthropic {
        return 0.0;
    }
    match key {
        // Instructions are others where a tool has to be used.
        "tool_choice" if matches!(value.get("type").and_then(Json::as_str), Some("any" | "tool")) => {
            tokenizer.instructions[1] - tokenizer.instructions[0]
        }
        "thinking" if value.get("type").and_then(Json::as_str) == Some("enabled") => 28.0,
        "output_config" => {
            let has = |key: &str| value.get(key).is_some_and(|value| !value.is_null());
            let format = if has("format") { 120.0 } else { 0.0 };
            format + if has("task_budget") { 36.0 } else { 0.0 }
        }
        "output_format" => 120.0,
        "context_management" => 60.0,
        "mcp_servers" => SERVER * value.as_array().map_or(0, <[Json]>::len) as f64,
        _ => 0.0,
    }
}

/// Tokens of a document of text beside its text.
pub(super) const fn document(tokenizer: &Tokenizer) -> f64 {
    if tokenizer.anthropic { 32.0 } else { 0.0 }
}

/// Tokens that a document or a search result with citations adds; the first of a request adds them.
pub(super) fn citations(tokenizer: &Tokenizer, part: &Json) -> f64 {
    part.get("citations").map_or(0.0, |citations| citation_tokens(tokenizer, citations))
}

/// Tokens that citations add, by the value of `citations`.
pub(super) fn citation_tokens(tokenizer: &Tokenizer, citations: &Json) -> f64 {
    let asked = citations.get("enabled").is_some_and(Json::is_true);
    if tokenizer.anthropic && asked { CITATIONS } else { 0.0 }
}

/// The schema of an answer, which counts as text on every wire.
pub(super) fn schema<'a>(key: &str, value: &'a Json) -> Option<&'a Json> {
    match key {
        "output_format" | "response_format" => Some(value).filter(|value| value.as_object().is_some()),
        "output_config" | "text" => value.get("format").filter(|format| format.get("schema").is_some()),
        _ => None,
    }
}
