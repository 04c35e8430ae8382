//! Context windows of models, by beginnings of their names: a table, so that a new model is a new line of
//! `windows.toml`.

use std::{collections::BTreeMap, ops::Bound, sync::LazyLock};

use super::{provider::json_of, quirks::starts};

static WINDOWS: LazyLock<BTreeMap<String, usize>> = LazyLock::new(|| {
    // A test holds that the table can be read.
    json_of(include_str!("windows.toml")).ok().and_then(|table| serde_json::from_value(table).ok()).unwrap_or_default()
});

/// The window that is assumed for an unknown model.
pub const UNKNOWN_WINDOW: usize = 32_768;

/// The tokens of a model's window, by its name with or without what stands before it (`openai:`,
/// `openrouter/anthropic/`, `us.anthropic.`).
pub fn window_of(model: &str) -> Option<usize> {
    let model = model.to_ascii_lowercase();
    let found = starts(&model).filter_map(|name| {
        // Of the beginnings of a name the longest stands nearest before it.
        let near = WINDOWS.range::<str, _>((Bound::Unbounded, Bound::Included(name))).rev();
        let mut near = near.take_while(|(known, _)| known.as_bytes().first() == name.as_bytes().first());
        near.find(|(known, _)| name.starts_with(known.as_str()))
    });
    found.max_by_key(|(known, _)| known.len()).map(|(_, tokens)| *tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read() {
        let table = include_str!("windows.toml");
        assert_eq!(WINDOWS.len(), table.lines().filter(|line| line.starts_with('"')).count());
    }

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
