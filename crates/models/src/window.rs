//! Context windows of models, by prefixes of their names.
//!
//! A table, so that a new model is a new line. Where a provider takes fewer tokens of input than its window has, that
//! number stands here. Of two matching prefixes the longer one counts.

use super::quirks::longest_beginning;

/// Prefixes of models' names, and the tokens of their windows.
pub const WINDOWS: &[(&str, usize)] = &[
    // Anthropic: a million from the generation of 4.6 on (Haiku apart).
    ("claude-", 200_000),
    ("claude-2.0", 100_000),
    ("claude-instant", 100_000),
    ("claude-opus-4-6", 1_000_000),
    ("claude-opus-4.6", 1_000_000),
    ("claude-opus-4-7", 1_000_000),
    ("claude-opus-4.7", 1_000_000),
    ("claude-opus-4-8", 1_000_000),
    ("claude-opus-4.8", 1_000_000),
    ("claude-opus-5", 1_000_000),
    ("claude-sonnet-4-6", 1_000_000),
    ("claude-sonnet-4.6", 1_000_000),
    ("claude-sonnet-5", 1_000_000),
    ("claude-fable-5", 1_000_000),
    // OpenAI: of 400,000 an input may take 272,000.
    ("gpt-5", 272_000),
    ("gpt-5-chat", 128_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4.5", 128_000),
    ("gpt-4o", 128_000),
    ("chatgpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4-1106", 128_000),
    ("gpt-4-0125", 128_000),
    ("gpt-4-32k", 32_768),
    ("gpt-4", 8_192),
    ("gpt-3.5-turbo", 16_385),
    ("gpt-35-turbo", 16_385),
    ("gpt-oss", 131_072),
    ("o1", 200_000),
    ("o1-mini", 128_000),
    ("o1-preview", 128_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
    ("codex-mini", 200_000),
    // Google.
    ("gemini-1.5-pro", 2_097_152),
    ("gemini-", 1_048_576),
    ("gemma-3", 131_072),
    ("gemma-2", 8_192),
    // Others.
    ("deepseek-", 65_536),
    ("deepseek-v3.1", 131_072),
    ("deepseek-v3.2", 131_072),
    ("grok-3", 131_072),
    ("grok-4", 256_000),
    ("grok-code", 256_000),
    ("kimi-k2", 131_072),
    ("glm-4.5", 131_072),
    ("glm-4.6", 200_000),
    ("qwen3-coder", 262_144),
    ("qwen-max", 32_768),
    ("llama-3.1", 131_072),
    ("llama-3.2", 131_072),
    ("llama-3.3", 131_072),
    ("mistral-large", 131_072),
    ("mistral-medium", 131_072),
    ("devstral", 131_072),
    ("command-r", 131_072),
    ("command-a", 262_144),
];

/// The window that is assumed for an unknown model.
pub const UNKNOWN_WINDOW: usize = 32_768;

/// The tokens of a model's window, by its name with or without what stands before it (`openai:`,
/// `openrouter/anthropic/`, `us.anthropic.`).
pub fn window_of(model: &str) -> Option<usize> {
    let beginning = longest_beginning(model, WINDOWS.iter().map(|(beginning, _)| *beginning))?;
    WINDOWS.iter().find(|(known, _)| *known == beginning).map(|(_, tokens)| *tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c26_windows_by_name() {
        for (model, window) in [
            ("gpt-4o-mini", Some(128_000)),
            ("gpt-4", Some(8_192)),
            ("gpt-4-0613", Some(8_192)),
            ("GPT-4.1-nano", Some(1_047_576)),
            ("openai:gpt-5.1", Some(272_000)),
            ("ft:gpt-4o-2024-08-06:mine::x", Some(128_000)),
            ("openrouter/anthropic/claude-sonnet-4.5", Some(200_000)),
            ("us.anthropic.claude-opus-4-6-v1:0", Some(1_000_000)),
            ("claude-sonnet-4-20250514", Some(200_000)),
            ("o3-mini", Some(200_000)),
            ("meta-llama/llama-3.3-70b-instruct", Some(131_072)),
            ("my-own-model", None),
            ("", None),
            ("π:é.", None),
        ] {
            assert_eq!(window_of(model), window, "{model}");
        }
    }
}
